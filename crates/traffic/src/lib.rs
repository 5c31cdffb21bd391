//! What applications offer: how much, and when.
//!
//! Follows HT 4.2.3 (long transfers) and 6.3 (a packet every so often to see the delay).
//! Differs: an application here only says what it wants next; hosts carry it out.
//! Leaves out web models, constant rates and everything with think times.

use skyhop_units::{Span, Time};

/// A transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bulk {
    /// Bytes to send; `None` is without end.
    pub size: Option<u64>,
}

impl Bulk {
    /// What a transfer without end is taken to be: more than any run can send, and still far from overflow.
    pub const ENDLESS: u64 = 1 << 62;

    /// Bytes to offer at the start.
    pub fn offer(&self) -> u64 {
        self.size.unwrap_or(Self::ENDLESS)
    }
}

/// Echo requests at even intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// From one request to the next.
    pub interval: Span,
    /// Payload of a request, bytes.
    pub size: u32,
}

impl Ping {
    /// When request `n` (from 0) is sent, if the first is sent at `start`.
    pub fn at(&self, start: Time, n: u64) -> Time {
        start + self.interval * n
    }
}
