//! Validation of the congestion window, which grows only if it limited the sender.
//!
//! Follows Linux 6.18: `tcp_cwnd_validate`, `tcp_is_cwnd_limited` (RFC 2861; RFC 7661 has the same aim); or the peer's window
//! alone.
//! Differs: checked when nothing more may be sent, after each run of segments and not after each call of the kernel's.
//! Leaves out `tcp_cwnd_application_limited`, which does not apply while acknowledgments arrive; and laws that control their window
//! entirely, which check its use themselves.

use super::config::{Config, LossRecovery};
use super::congestion::{Acked, CongestionControl};
use super::flight::Flight;
use skyhop_units::{Span, Time};

/// An acknowledgment that may open the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpeningAck {
    pub now: Time,
    /// Bytes acknowledged cumulatively.
    pub newly: u64,
    pub srtt: Option<Span>,
    /// True during a fast recovery, and the bytes in flight before the acknowledgment; for recoveries with a pipe.
    pub in_recovery: bool,
    pub prior: u64,
    /// The peer's window, bytes.
    pub peer_window: u64,
}

/// Evidence that the window was used, and the rules about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowUse {
    validate: bool,
    grow_unused: bool,
    linux_windows: bool,
    /// True if the window was full in this RTT; otherwise `most` bytes were outstanding. The RTT ends when `round_end` is
    /// acknowledged.
    full: bool,
    most: u64,
    round_end: u64,
    /// Segments sent at the last check.
    sent: u64,
}

impl WindowUse {
    pub fn new(config: &Config) -> Self {
        Self {
            validate: config.validate_window,
            grow_unused: config.grow_unused,
            linux_windows: config.linux_windows,
            ..Self::default()
        }
    }

    /// Grows the window by an acknowledgment.
    pub fn grow(&self, ack: OpeningAck, flight: &mut Flight, congestion: &mut CongestionControl) {
        // A window that the peer's does not let be used would grow without evidence.
        let validate = self.validate && !congestion.owns_recovery();
        if congestion.cwnd() >= ack.peer_window && !self.grow_unused && !validate {
            return;
        }
        let OpeningAck { now, newly, srtt, .. } = ack;
        let mut acked = Acked {
            now,
            cumulative: newly,
            delivered: newly,
            lost: 0,
            lost_in_all: flight.segments.lost,
            rtt: None,
            srtt,
            prior_in_flight: flight.len() + newly,
            in_flight: flight.len(),
            una: flight.snd_una,
            next: flight.snd_nxt,
            limited: true,
            in_recovery: false,
            rate: None,
        };
        if flight.tracked {
            let progress = flight.segments.progress;
            // ns-2's Vegas times the segment that is acknowledged last in any case.
            acked.rtt = match flight.how {
                LossRecovery::Vegas => progress.last_rtt,
                _ => progress.rtt().or(progress.echoed),
            };
            acked.delivered = progress.delivered;
            if self.linux_windows {
                // As in Linux: data that SACK has reported do not count again when the end of a repair acknowledges them.
                acked.cumulative = newly.min(progress.delivered);
            }
            acked.lost = progress.lost;
            acked.in_recovery = ack.in_recovery;
            if flight.how.pipe() {
                (acked.prior_in_flight, acked.in_flight) = (ack.prior, flight.segments.pipe);
            }
            // In slow start half a window in use suffices, since it will double. BBR has no slow start, and twice the window that
            // it needs.
            let in_use = acked.prior_in_flight + 3 * flight.mss as u64;
            let doubles = congestion.slow_start() && !congestion.owns_recovery();
            let slack = if doubles { 2 } else { 1 };
            acked.limited = in_use * slack >= congestion.cwnd();
            if congestion.owns_recovery() {
                if congestion.probing_rtt() {
                    flight.segments.limit_by_application();
                }
                let min_rtt = flight.segments.min_rtt.unwrap_or(Span::ZERO);
                acked.rate = flight.segments.rate_sample(now, min_rtt);
            }
        }
        if validate {
            acked.limited = self.limits(congestion.slow_start(), congestion.cwnd());
            if !acked.limited {
                return congestion.on_unused(&acked);
            }
        }
        congestion.on_ack(&acked);
    }

    /// Records that nothing more may be sent for now, after `segments_sent` in all.
    #[inline(never)]
    pub fn check(&mut self, segments_sent: u64, cwnd: u64, flight: &Flight) {
        let full = flight.in_window() + flight.mss as u64 > cwnd;
        let sent = std::mem::replace(&mut self.sent, segments_sent) != segments_sent;
        if sent || full {
            self.note(full, flight.len(), flight.snd_una, flight.snd_max);
        }
    }

    /// Returns true if the window may grow. In slow start half of it in use suffices, since it doubles.
    fn limits(&self, slow_start: bool, cwnd: u64) -> bool {
        self.full || (slow_start && cwnd < 2 * self.most)
    }

    fn note(&mut self, full: bool, outstanding: u64, una: u64, next: u64) {
        if una >= self.round_end || full || (!self.full && outstanding > self.most) {
            (self.full, self.most, self.round_end) = (full, outstanding, next);
        }
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
