//! Careful Resume: a connection starts near the window of an earlier one over the same path, and retreats if that was too large.
//!
//! Follows RFC 9959 §3 and §4: reconnaissance, unvalidated, validating, safe retreat, normal.
//! Differs: the saved state is part of the configuration; the scenario decides on its validity.
//! Leaves out saving at the end of a connection, and rate-based senders, which have their own models.

use super::super::config::{Config, Saved};
use super::{Acked, Window};
use skyhop_units::Span;

#[derive(Debug, Clone, Copy, PartialEq)]
enum ResumePhase {
    Reconnaissance,
    /// The jump is being sent; ends when the jump is in flight, or its first byte is acknowledged.
    Unvalidated {
        first: u64,
    },
    /// Waits until all data sent in the unvalidated phase are acknowledged.
    Validating {
        last: u64,
    },
    /// After a loss: the window is the validated part, until data sent before are acknowledged.
    Retreat {
        last: u64,
    },
    Normal,
}

#[derive(Debug, Clone)]
pub(crate) struct CarefulResume {
    saved: Saved,
    phase: ResumePhase,
    /// Acknowledged bytes that confirm the initial window.
    confirm: f64,
    confirmed: f64,
    /// Bytes acknowledged since the unvalidated phase began, and before.
    pipe_size: f64,
    highest_sent: u64,
    jumped_at: u64,
}

impl CarefulResume {
    pub fn new(saved: Saved, config: &Config) -> Self {
        Self {
            saved,
            phase: ResumePhase::Reconnaissance,
            confirm: config.initial_window as f64,
            confirmed: 0.0,
            pipe_size: 0.0,
            highest_sent: 0,
            jumped_at: 0,
        }
    }

    /// Returns true if packets are to be spread over an RTT (§4.2: the jump must not be a burst).
    pub fn paced(&self) -> bool {
        matches!(self.phase, ResumePhase::Unvalidated { .. })
    }

    /// Handles an acknowledgment. Returns true if this method has set the window.
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) -> bool {
        self.highest_sent = self.highest_sent.max(acked.next);
        match self.phase {
            ResumePhase::Normal => false,
            ResumePhase::Reconnaissance => {
                self.confirmed += acked.cumulative as f64;
                if let Some(rtt) = acked.rtt.or(acked.srtt)
                    && !self.like_before(rtt)
                {
                    self.phase = ResumePhase::Normal;
                    return false;
                }
                // §4.1: the initial window has arrived, and the RTT is close to the saved one.
                if self.confirmed < self.confirm || acked.rtt.or(acked.srtt).is_none() {
                    return false;
                }
                // §4.2: half of the saved window, if that is more.
                let jump = self.saved.cwnd as f64 / 2.0;
                if jump <= window.cwnd {
                    self.phase = ResumePhase::Normal;
                    return false;
                }
                self.pipe_size = acked.in_flight as f64;
                self.jumped_at = acked.next;
                window.cwnd = jump;
                self.phase = ResumePhase::Unvalidated { first: acked.next };
                true
            }
            ResumePhase::Unvalidated { first } => {
                self.pipe_size += acked.cumulative as f64;
                if acked.una > first || acked.in_flight as f64 >= window.cwnd - window.mss {
                    // §4.3: the unvalidated data are in flight. The window is the data in flight, not the whole jump, but never less
                    // than the initial window, which has arrived: a window below a packet would send nothing again.
                    let least = self.confirm.max(window.mss);
                    let in_flight = (acked.prior_in_flight as f64).max(self.pipe_size);
                    window.cwnd = in_flight.max(least).min(window.cwnd);
                    self.phase = ResumePhase::Validating { last: self.highest_sent };
                }
                true
            }
            ResumePhase::Validating { last } => {
                self.pipe_size += acked.cumulative as f64;
                if acked.una >= last {
                    self.phase = ResumePhase::Normal;
                    return false;
                }
                // §4.3: grows as acknowledgments arrive, beyond the jump as in slow start.
                window.cwnd = window.cwnd.max(self.pipe_size);
                true
            }
            ResumePhase::Retreat { last } => {
                // §4.4: sets ssthresh when all of it is acknowledged.
                self.pipe_size += acked.cumulative as f64;
                if acked.una >= last {
                    window.ssthresh = ((self.pipe_size / 2.0) as u64).max(2 * window.mss as u64);
                    self.phase = ResumePhase::Normal;
                }
                false
            }
        }
    }

    /// Handles a loss. Returns true if it has set the window and ssthresh.
    pub fn on_loss(&mut self, window: &mut Window, _in_flight: u64) -> bool {
        match self.phase {
            ResumePhase::Unvalidated { .. } | ResumePhase::Validating { .. } => {
                // §4.4: half of the acknowledged data, at least the initial window.
                let half = (self.pipe_size / 2.0).max(2.0 * window.mss);
                window.ssthresh = half as u64 / window.mss as u64 * window.mss as u64;
                self.phase = ResumePhase::Retreat { last: self.highest_sent };
                true
            }
            ResumePhase::Reconnaissance => {
                self.phase = ResumePhase::Normal;
                false
            }
            _ => false,
        }
    }

    /// §4.1: an RTT below half or above ten times the saved one belongs to another path.
    fn like_before(&self, rtt: Span) -> bool {
        let (rtt, saved) = (rtt.as_secs_f64(), self.saved.rtt.as_secs_f64());
        rtt >= saved / 2.0 && rtt <= 10.0 * saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    fn resume(saved_cwnd: u64) -> CarefulResume {
        let saved = Saved { rtt: Span::from_millis(600), cwnd: saved_cwnd };
        CarefulResume::new(saved, &Config { initial_window: 10_000, mss: 1000, ..Config::default() })
    }

    /// `n` acknowledgments of 1000 bytes each, for data before `next`.
    fn acks(r: &mut CarefulResume, w: &mut Window, n: u64, rtt_ms: u64, una: &mut u64, next: u64) {
        for _ in 0..n {
            *una += 1000;
            let mut a = acked(1000, rtt_ms);
            (a.una, a.next, a.in_flight) = (*una, next, next - *una);
            a.prior_in_flight = a.in_flight + 1000;
            r.on_ack(w, &a);
        }
    }

    #[test]
    fn the_window_jumps_to_half_of_what_was_saved_once_the_initial_window_has_arrived() {
        let (mut r, mut w, mut una) = (resume(400_000), window(10_000), 0);
        acks(&mut r, &mut w, 9, 610, &mut una, 10_000);
        assert_eq!(w.cwnd, 10_000.0);
        acks(&mut r, &mut w, 1, 610, &mut una, 10_000);
        assert_eq!(w.cwnd, 200_000.0);
        assert!(r.paced());
        // The jump is acknowledged: validated, and back to normal with the window that has proved to fit.
        acks(&mut r, &mut w, 200, 610, &mut una, 210_000);
        assert_eq!(r.phase, ResumePhase::Normal);
        assert!((190_000.0..=210_000.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn another_round_trip_is_another_path() {
        for rtt_ms in [299, 6_001] {
            let (mut r, mut w, mut una) = (resume(400_000), window(10_000), 0);
            acks(&mut r, &mut w, 10, rtt_ms, &mut una, 10_000);
            assert_eq!((r.phase, w.cwnd), (ResumePhase::Normal, 10_000.0), "{rtt_ms} ms");
        }
        for rtt_ms in [301, 5_999] {
            let (mut r, mut w, mut una) = (resume(400_000), window(10_000), 0);
            acks(&mut r, &mut w, 10, rtt_ms, &mut una, 10_000);
            assert_eq!(w.cwnd, 200_000.0, "{rtt_ms} ms");
        }
    }

    #[test]
    fn a_loss_among_the_unvalidated_retreats_to_half_of_what_arrived() {
        let (mut r, mut w, mut una) = (resume(400_000), window(10_000), 0);
        acks(&mut r, &mut w, 10, 600, &mut una, 10_000);
        acks(&mut r, &mut w, 60, 600, &mut una, 210_000);
        assert!(r.on_loss(&mut w, 150_000));
        // 60 segments of the jump have arrived.
        assert_eq!(w.ssthresh, 30_000);
    }
}
