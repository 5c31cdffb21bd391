//! Echo requests at a constant interval.
//!
//! Follows HT 6.3: periodic packets to measure the delay.
//! Differs: replies are counted too.
//! Leaves out the replies themselves, which hosts send.

use skyhop_units::{Span, Time};

/// Echo requests at a constant interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Time between requests.
    pub interval: Span,
    /// Payload of a request, bytes.
    pub size: u32,
}

impl Ping {
    /// Time of request `n` (from 0), if the first is sent at `start`.
    pub fn at(&self, start: Time, n: u64) -> Time {
        start + self.interval * n
    }
}
