//! Words that all ends of connections have for what happened to them, and for what they have counted.
//!
//! Follows TCP's events, which are what applications were written for.
//! Differs from `endpoint`, which knows the ends: they know these.
//! Leaves out what a splice is told.

use skyhop_transport::Cause;
use skyhop_transport::stp;
use skyhop_transport::tcp::RttSamples;
use skyhop_units::Span;

pub(crate) use skyhop_transport::tcp::Event;

/// Counters of a sending end.
pub(crate) struct SentCounts {
    pub segments: u64,
    pub segments_retransmitted: u64,
    pub timeouts: u64,
    pub rtt: RttSamples,
    /// Time by what held it up.
    pub limits: [Span; Cause::COUNT],
}

/// The application learns the same of either.
pub(crate) fn event(event: stp::Event) -> Event {
    match event {
        stp::Event::Connected => Event::Connected,
        stp::Event::Received(bytes) => Event::Received(bytes),
        stp::Event::AllAcknowledged => Event::AllAcknowledged,
        stp::Event::PeerFinished => Event::PeerFinished,
        stp::Event::Closed => Event::Closed,
        stp::Event::Reset(_) => Event::Reset,
    }
}
