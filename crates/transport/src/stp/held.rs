//! The limit of a sending end that may not send anything more at an instant.
//!
//! Follows docs/stp.md §6 and §8 for the conditions of sending; docs/results.md has the priorities and their reasons.
//! Differs from TCP's: retransmissions are paced like all packets, so a pace comes before recovery.
//! Leaves out durations, which [`Limits`] counts, and the state of the path.

use super::connection::Connection;
use super::source::Source;
use crate::limits::{Cause, HoldState, Limits};
use skyhop_units::Time;
use skyhop_wire::stp::Contents;

/// Probing gain (docs/stp.md §8.3): an estimated rate that fills the receive window to 1/1.2 of its size cannot find a higher one.
const PROBING_GAIN: f64 = 1.2;

impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Starts counting the time by limiting cause: from the application's call to connect, or to listen.
    pub fn count_limits(&mut self, now: Time) {
        self.limits.begin(now);
    }

    /// Time of this end's data by limiting cause, if [`Connection::count_limits`] was called.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Informs that there is a path to the peer and back, or none; initially there is one.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        self.limits.set_path_up(now, up);
    }

    /// The present limit, at a time when nothing may leave.
    pub(super) fn held_by(&self) -> HoldState {
        if self.closing.is_closed() || self.closing.ends.acked {
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
            // The END in flight is the last part of the data.
            let cause = HoldState::Held(Cause::Application);
            return if self.closing.is_shut_down() { cause } else { HoldState::Idle };
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
            // With a promised rate, a used-up window would have been noticed before.
            (Some(_), _) if self.controller.is_promised() => Cause::Pacing,
            (Some(rate), Some(srtt)) if (credit as f64) < PROBING_GAIN * rate * srtt.as_secs_f64() => {
                Cause::ReceiveWindow
            }
            (Some(_), _) => Cause::Pacing,
            // The credit of the last answer is spread over the round-trip time.
            (None, _) if credit <= self.controller.window() => Cause::ReceiveWindow,
            (None, _) => Cause::CongestionWindow,
        }
    }
}
