//! The limit of a sender that may not send anything more at an instant.
//!
//! Follows the order in which RFC 9293 §3.8 and RFC 5681 limit sending; docs/results.md has the priorities and their reasons.
//! Differs from Linux's chronograph: a pace that spreads a window counts as that window, and recovery is a separate cause.
//! Leaves out durations, which [`Limits`] counts, and the state of the path.

use super::connection::Connection;
use super::recovery::pipe::RecoveryPhase;
use super::sender::Sender;
use crate::limits::{Cause, HoldState, Limits};
use skyhop_units::Time;

/// Probing gain of BBR (draft-ietf-ccwg-bbr-06 §5.6.1): an estimated rate that fills the peer's window to 1/1.25 of its size cannot
/// find a higher one.
const PROBING_GAIN: f64 = 1.25;

impl Connection {
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
}

impl Sender {
    /// The present limit, apart from the handshake, at a time when `poll` returns nothing.
    #[inline]
    pub(super) fn held_by(&self) -> HoldState {
        let repairing = self.clock.recovery.unfinished(&self.clock.flight);
        // Set whenever the pace or the host's delay has held something back.
        if repairing || self.pacer.hold_at.is_some() {
            return self.held_in_between(repairing);
        }
        self.held_by_windows()
    }

    #[inline]
    fn held_by_windows(&self) -> HoldState {
        if self.clock.flight.snd_max >= self.buffer.end() {
            return match self.clock.flight.snd_una >= self.buffer.end() {
                _ if self.buffer.withheld > 0 => HoldState::Held(Cause::SendBuffer),
                true if self.buffer.fin_queued() => HoldState::Over,
                true => HoldState::Idle,
                false => HoldState::Held(Cause::Application),
            };
        }
        // If both windows are used up, the cause is the peer's: the congestion window stops growing there.
        let next = (self.clock.flight.mss as u64).min(self.buffer.unsent(self.clock.flight.snd_max));
        HoldState::Held(match self.clock.flight.snd_max + next > self.clock.peer.edge {
            true => Cause::ReceiveWindow,
            false => Cause::CongestionWindow,
        })
    }

    #[inline(never)]
    fn held_in_between(&self, repairing: bool) -> HoldState {
        if self.clock.flight.snd_una >= self.buffer.end() && self.buffer.withheld == 0 {
            return self.held_by_windows();
        }
        // A model of the path that losses do not reduce is paced during repairs, too.
        let by_model =
            self.clock.congestion.owns_recovery() && self.clock.recovery.pipe.phase != RecoveryPhase::Timeout;
        if repairing && !by_model {
            return HoldState::Held(Cause::Recovery);
        }
        if self.pacer.hold_at.is_none() || !self.would_send() {
            return if repairing { HoldState::Held(Cause::Recovery) } else { self.held_by_windows() };
        }
        HoldState::Held(self.held_by_pace())
    }

    /// The limit behind a pace that holds back a packet which the windows allow.
    fn held_by_pace(&self) -> Cause {
        let srtt = self.clock.timer.rtt.smoothed();
        let rate = self.clock.congestion.pacing_rate(srtt).filter(|_| self.clock.config.pacing_possible());
        let (Some(srtt), Some(rate)) = (srtt, rate) else {
            // The host's own delay.
            return Cause::Pacing;
        };
        if self.clock.congestion.owns_recovery() {
            let in_a_round_trip = rate * srtt.as_secs_f64();
            return match (self.clock.peer.window as f64) < PROBING_GAIN * in_a_round_trip {
                true => Cause::ReceiveWindow,
                false => Cause::Pacing,
            };
        }
        // The window that the pace spreads over the RTT.
        match self.clock.peer.window <= self.clock.congestion.cwnd() {
            true => Cause::ReceiveWindow,
            false => Cause::CongestionWindow,
        }
    }
}
