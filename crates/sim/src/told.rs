//! Events and counters that all ends of connections have in common.
//!
//! Follows TCP's events, for which applications are written.
//! Differs from `endpoint`, which knows the ends; these types are known to the ends.
//! Leaves out the events of splices.

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
    /// Time by the cause that limited it.
    pub limits: [Span; Cause::COUNT],
}

/// An event of either protocol, for the application.
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
