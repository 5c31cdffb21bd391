//! Validation of the congestion window, which grows only if it limited the sender.
//!
//! Follows Linux 6.18: `tcp_cwnd_validate`, `tcp_is_cwnd_limited` (RFC 2861; RFC 7661 has the same aim); or the peer's window
//! alone.
//! Differs: checked when nothing more may be sent, after each run of segments and not after each call of the kernel's.
//! Leaves out `tcp_cwnd_application_limited`, which does not apply while acknowledgments arrive; and laws that control their window
//! entirely, which check its use themselves.

use super::config::LossRecovery;
use super::congestion::Acked;
use super::recovery::pipe::RecoveryPhase;
use super::sender::Sender;
use skyhop_units::{Span, Time};

#[derive(Debug, Clone, Default)]
pub(crate) struct WindowUse {
    /// True if the window was full in this RTT; otherwise `most` bytes were outstanding. The RTT ends when `round_end` is
    /// acknowledged.
    full: bool,
    most: u64,
    round_end: u64,
    /// Segments sent at the last check.
    sent: u64,
}

impl WindowUse {
    /// Returns true if the window may grow. In slow start half of it in use suffices, since it doubles.
    pub fn limits(&self, slow_start: bool, cwnd: u64) -> bool {
        self.full || (slow_start && cwnd < 2 * self.most)
    }

    fn note(&mut self, full: bool, outstanding: u64, una: u64, next: u64) {
        if una >= self.round_end || full || (!self.full && outstanding > self.most) {
            (self.full, self.most, self.round_end) = (full, outstanding, next);
        }
    }
}

impl Sender {
    /// Grows the window by an acknowledgment of `newly` bytes.
    pub(super) fn grow(&mut self, now: Time, newly: u64) {
        // A window that the peer's does not let be used would grow without evidence.
        let validate = self.config.validate_window && !self.congestion.owns_recovery();
        if self.congestion.cwnd() >= self.peer.window && !self.config.grow_unused && !validate {
            return;
        }
        let mut acked = Acked {
            now,
            cumulative: newly,
            delivered: newly,
            lost: 0,
            lost_in_all: self.flight.segments.lost,
            rtt: None,
            srtt: self.timer.rtt.smoothed(),
            prior_in_flight: self.flight.len() + newly,
            in_flight: self.flight.len(),
            una: self.flight.snd_una,
            next: self.flight.snd_nxt,
            limited: true,
            in_recovery: false,
            rate: None,
        };
        if self.flight.tracked {
            let progress = self.flight.segments.progress;
            // ns-2's Vegas times the segment that is acknowledged last in any case.
            acked.rtt = match self.flight.how {
                LossRecovery::Vegas => progress.last_rtt,
                _ => progress.rtt().or(progress.echoed),
            };
            acked.delivered = progress.delivered;
            if self.config.linux_windows {
                // As in Linux: data that SACK has reported do not count again when the end of a repair acknowledges them.
                acked.cumulative = newly.min(progress.delivered);
            }
            acked.lost = progress.lost;
            acked.in_recovery = self.pipe.phase == RecoveryPhase::Fast;
            if self.flight.how.pipe() {
                (acked.prior_in_flight, acked.in_flight) = (self.pipe.prior, self.flight.segments.pipe);
            }
            // In slow start half a window in use suffices, since it will double. BBR has no slow start, and twice the window that
            // it needs.
            let in_use = acked.prior_in_flight + 3 * self.flight.mss as u64;
            let doubles = self.congestion.slow_start() && !self.congestion.owns_recovery();
            let slack = if doubles { 2 } else { 1 };
            acked.limited = in_use * slack >= self.congestion.cwnd();
            if self.congestion.owns_recovery() {
                if self.congestion.probing_rtt() {
                    self.flight.segments.app_limited =
                        (self.flight.segments.delivered + self.flight.segments.pipe).max(1);
                }
                let min_rtt = self.flight.segments.min_rtt.unwrap_or(Span::ZERO);
                acked.rate = self.flight.segments.rate_sample(now, min_rtt);
            }
        }
        if validate {
            acked.limited = self.usage.limits(self.congestion.slow_start(), self.congestion.cwnd());
            if !acked.limited {
                return self.congestion.on_unused(&acked);
            }
        }
        self.congestion.on_ack(&acked);
    }

    /// Records that nothing more may be sent for now.
    #[inline(never)]
    pub(super) fn note_use(&mut self) {
        let cwnd = self.congestion.cwnd();
        let outstanding = self.flight.len();
        let in_flight = self.flight.in_window();
        let full = in_flight + self.flight.mss as u64 > cwnd;
        let sent =
            std::mem::replace(&mut self.usage.sent, self.stats.segments_sent) != self.stats.segments_sent;
        if !sent && !full {
            return;
        }
        self.usage.note(full, outstanding, self.flight.snd_una, self.flight.snd_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // tcp_cwnd_validate and tcp_is_cwnd_limited, by hand.
    #[test]
    fn a_full_window_counts_for_a_round_trip_and_half_of_one_in_slow_start() {
        let mut u = WindowUse::default();
        assert!(!u.limits(true, 10_000));
        u.note(false, 5_000, 0, 5_000);
        assert!(!u.limits(true, 10_000) && u.limits(true, 9_999) && !u.limits(false, 9_999));
        // The largest value of the round trip counts.
        u.note(false, 4_000, 1_000, 6_000);
        assert_eq!((u.most, u.round_end), (5_000, 5_000));
        u.note(false, 6_000, 2_000, 8_000);
        assert_eq!((u.most, u.round_end), (6_000, 8_000));
        // Full once: that holds until the data sent by then are acknowledged.
        u.note(true, 9_000, 3_000, 12_000);
        u.note(false, 2_000, 11_999, 13_999);
        assert!(u.limits(false, 1 << 40));
        u.note(false, 1_999, 12_000, 13_999);
        assert!(!u.limits(false, 10_000) && !u.limits(true, 10_000));
    }
}
