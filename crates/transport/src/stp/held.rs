//! The limit of a sending end that has nothing more to send at an instant.
//!
//! Follows docs/stp.md §6 and §8 in what lets a packet leave; docs/results.md has the priorities and their reasons.
//! Differs from TCP's: repairs go at the pace like everything else, so a pace comes before them.
//! Leaves out how long, which [`Limits`] counts, and whether the path is there.

use super::congestion::CongestionController;
use super::connection::Connection;
use super::source::Source;
use crate::limits::{Cause, HoldState, Limits};
use skyhop_units::Time;
use skyhop_wire::stp::Contents;

/// An estimated rate that fills the receive window to this part of it cannot find a higher one: it probes with 1.2 times what
/// arrives (docs/stp.md §8.3).
const PROBING_GAIN: f64 = 1.2;

impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Counts from now on what holds this end's data up: from the application's call to connect, or to listen.
    pub fn count_limits(&mut self, now: Time) {
        self.limits.begin(now);
    }

    /// Time of this end's data by limit, if [`Connection::count_limits`] was called.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tells that there is a path to the peer and back, or none, as the driver of this end knows; there is one at first.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        self.limits.set_path_up(now, up);
    }

    /// The present limit. Asked when nothing leaves.
    pub(super) fn held_by(&self) -> HoldState {
        if self.closed || self.end_acked {
            return HoldState::Over;
        }
        // Packets may leave before the peer has answered.
        if self.would_send() {
            return HoldState::Held(self.held_by_pace());
        }
        if !self.established() {
            return HoldState::Held(Cause::Handshake);
        }
        let sender = &self.sender;
        if sender.unsent() == 0 && !sender.outstanding() {
            // The END that is on its way is the last of it.
            let cause = HoldState::Held(Cause::Application);
            return if self.write_closed { cause } else { HoldState::Idle };
        }
        HoldState::Held(
            if sender.repairs_oldest() || sender.has_retransmissions() || self.timers.unanswered() {
                Cause::Recovery
            } else if sender.unsent() == 0 {
                Cause::Application
            } else if sender.next >= sender.limit {
                Cause::ReceiveWindow
            } else {
                Cause::CongestionWindow
            },
        )
    }

    fn held_by_pace(&self) -> Cause {
        // The peer's credit, beyond the data that it has in order.
        let credit = self.sender.limit.saturating_sub(self.sender.acked) * self.sender.max_payload as u64;
        match (self.controller.rate(), self.timers.srtt()) {
            // A promise is what it is; a window used up would have been noticed before.
            (Some(_), _) if matches!(self.controller, CongestionController::Rate(_)) => Cause::Pacing,
            (Some(rate), Some(srtt)) if (credit as f64) < PROBING_GAIN * rate * srtt.as_secs_f64() => {
                Cause::ReceiveWindow
            }
            (Some(_), _) => Cause::Pacing,
            // The credit of the last answer is spread over the round trip.
            (None, _) if credit <= self.controller.window() => Cause::ReceiveWindow,
            (None, _) => Cause::CongestionWindow,
        }
    }
}
