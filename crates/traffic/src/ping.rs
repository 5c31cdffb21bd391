//! Echo requests at even intervals.
//!
//! Follows HT 6.3: a packet every so often, to see the delay.
//! Differs: the answers are counted too.
//! Leaves out the echo itself, which hosts answer.

use skyhop_units::{Span, Time};

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
