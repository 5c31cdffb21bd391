//! The limit of a sending end that may not send anything more at an instant.
//!
//! Follows docs/stp.md §6 and §8 for the conditions of sending; docs/results.md has the priorities and their reasons.
//! Differs from TCP's: retransmissions are paced like all packets, so a pace comes before recovery.
//! Leaves out durations, which [`crate::limits::Limits`] counts, the state of the path, and an end that is not open or has no data.

use super::congestion::CongestionController;
use super::sender::PathSender;
use super::source::Source;
use crate::limits::Cause;
use skyhop_units::Span;
use skyhop_wire::stp::Contents;

/// Probing gain (docs/stp.md §8.3): an estimated rate that fills the receive window to 1/1.2 of its size cannot find a higher one.
const PROBING_GAIN: f64 = 1.2;

/// The limit of data of which only the pace keeps the next packet.
pub(super) fn held_by_pace<P: Contents, S: Source<P>>(
    sender: &PathSender<P, S>,
    controller: &CongestionController,
    srtt: Option<Span>,
) -> Cause {
    // The peer's credit, beyond the data that it has in order.
    let credit = sender.limit.saturating_sub(sender.acked) * sender.max_payload as u64;
    match (controller.rate(), srtt) {
        // With a promised rate, a used-up window would have been noticed before.
        (Some(_), _) if controller.is_promised() => Cause::Pacing,
        (Some(rate), Some(srtt)) if (credit as f64) < PROBING_GAIN * rate * srtt.as_secs_f64() => {
            Cause::ReceiveWindow
        }
        (Some(_), _) => Cause::Pacing,
        // The credit of the last answer is spread over the round-trip time.
        (None, _) if credit <= controller.window() => Cause::ReceiveWindow,
        (None, _) => Cause::CongestionWindow,
    }
}

/// The limit of data that wait, or are in flight. POLLs may have gone `unanswered`.
pub(super) fn held_by_answers<P: Contents, S: Source<P>>(
    sender: &PathSender<P, S>,
    unanswered: bool,
) -> Cause {
    if sender.repairs_oldest() || sender.has_retransmissions() || unanswered {
        Cause::Recovery
    } else if sender.unsent() == 0 {
        Cause::Application
    } else if sender.next >= sender.limit {
        Cause::ReceiveWindow
    } else {
        Cause::CongestionWindow
    }
}
