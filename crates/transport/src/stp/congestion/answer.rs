//! An answered POLL, of which the samples of the rate are made (docs/stp.md §8.3).

use skyhop_units::{Span, Time};

/// An answered POLL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct PollAnswer {
    pub sent_at: Time,
    pub rtt: Span,
    /// SDs sent before it, repeats included.
    pub sent: u64,
    /// Different SDs that had arrived when it came, and the receiver's clock then, in microseconds.
    pub arrived: u64,
    pub clock_us: u64,
    /// Repeats of packets that were only late.
    pub needless: u64,
    /// VT(S) when it left.
    pub next: u64,
    /// Network-layer bytes of a packet.
    pub size: f64,
}
