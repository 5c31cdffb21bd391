//! An answered POLL, from which samples of the rate are formed (docs/stp.md §8.3).

use skyhop_units::{Span, Time};

/// An answered POLL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct PollAnswer {
    pub sent_at: Time,
    pub rtt: Span,
    /// SDs sent before the POLL, including repeats.
    pub sent: u64,
    /// Different SDs that had arrived when the POLL arrived, and the receiver's clock at that time, in microseconds.
    pub arrived: u64,
    pub clock_us: u64,
    /// Packets that were reported missing by then and were only late.
    pub late: u64,
    /// VT(S) when the POLL was sent.
    pub next: u64,
    /// Time that the pace has offered until the POLL left and that was not used, for lack of data or because the host was late.
    pub unused: Span,
    /// Network-layer bytes of the SDs sent before the POLL: packets that carry requests are shorter than those of bulk data.
    pub bytes: f64,
    /// SDs that had arrived with a mark of a queue (CE).
    pub marked: u64,
}

#[cfg(test)]
impl PollAnswer {
    /// An answer without losses: before its POLL `sent` packets of 1000 bytes had left, and all of them had arrived when it did.
    pub(in super::super) fn of(sent_at: Time, rtt: Span, sent: u64) -> Self {
        Self {
            sent_at,
            rtt,
            sent,
            arrived: sent,
            clock_us: (sent_at + rtt).as_nanos() / 1000,
            late: 0,
            next: sent,
            unused: Span::ZERO,
            bytes: 1000.0 * sent as f64,
            marked: 0,
        }
    }
}
