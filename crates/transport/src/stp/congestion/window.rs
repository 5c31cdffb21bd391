//! TCP's window, counted in bytes.
//!
//! Follows HT §5.1.2 and RFC 5681 §3.1; RFC 9959 §4 for the saved window of an earlier connection.
//! Differs: slow start is never entered again, as no timer expires; unanswered POLLs halve the window instead, until an answer to
//! such a POLL shows that it was only late (as RFC 4015 undoes a spurious timeout).
//! Leaves out spreading the window over the round trip (`timers`).

use super::super::config::{Config, SavedRate};
use super::AnswerSignals;

/// Products of the highest rate and the round trip that the window may have: answers come three times a round trip, and what they permit
/// is spread over another.
const FLIGHT: f64 = 2.5;

/// A saved window on trial (RFC 9959 §4.3 to §4.5).
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// One past the last number sent from the saved window.
    end: u64,
    /// Bytes that have arrived since (PipeSize).
    proven: f64,
    /// Losses have shown that the saved window is too large.
    retreats: bool,
}

#[derive(Debug)]
pub(in super::super) struct WindowControl {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    /// A loss below this number belongs to a window that was already reduced.
    recover: u64,
    saved: Option<SavedRate>,
    /// The window, threshold and `recover` before the first of the unconfirmed timeouts.
    before_silence: Option<(f64, f64, u64)>,
    /// The trial of a saved window.
    trial: Option<Trial>,
    /// The retreat from a trial is complete, and the window grows although its losses are not repaired yet.
    regrows: bool,
    bounds: (f64, f64),
}

impl WindowControl {
    pub fn new(config: &Config) -> Self {
        let bytes = |rate: Option<skyhop_units::Rate>, none: f64| {
            rate.map_or(none, |rate| rate.as_bps() as f64 / 8.0)
        };
        Self {
            mss: f64::from(config.max_payload()),
            cwnd: config.initial_window as f64,
            ssthresh: config.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64),
            recover: 0,
            saved: config.saved,
            before_silence: None,
            trial: None,
            regrows: false,
            bounds: (bytes(config.min_rate, 0.0), bytes(config.max_rate, f64::INFINITY)),
        }
    }

    pub fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn cut(&mut self, next: u64) {
        self.ssthresh = (self.cwnd / 2.0).max(2.0 * self.mss);
        self.cwnd = self.ssthresh;
        self.recover = next;
    }

    pub fn on_feedback(&mut self, signals: &AnswerSignals) -> bool {
        let AnswerSignals { feedback, acked, next, .. } = *signals;
        let bytes = feedback.acked as f64;
        if let Some(trial) = &mut self.trial {
            trial.proven += bytes;
        }
        if feedback.rtt.is_some()
            && let Some((cwnd, ssthresh, recover)) = self.before_silence.take()
            && feedback.late
            && feedback.lost_number.is_none()
        {
            (self.cwnd, self.ssthresh, self.recover) = (self.cwnd.max(cwnd), ssthresh, recover);
        }
        if feedback.lost_number.is_some_and(|number| number >= self.recover) {
            self.saved = None;
            self.regrows = false;
            self.cut(next);
            if let Some(trial) = &mut self.trial {
                // At most half of the confirmed data, until the state of all data sent is known.
                self.cwnd = (trial.proven / 2.0).clamp(2.0 * self.mss, self.cwnd);
                self.ssthresh = self.cwnd;
                (trial.retreats, trial.end) = (true, next);
            }
            return true;
        }
        match self.trial {
            Some(trial) if trial.retreats && feedback.seen.max(acked) >= trial.end => {
                // The bytes of a round trip are the capacity of the path; half of that is as safe as after any loss.
                self.ssthresh = (trial.proven / 2.0).max(2.0 * self.mss);
                self.trial = None;
                self.regrows = true;
            }
            Some(trial) if acked >= trial.end => self.trial = None,
            _ => {}
        }
        if acked < self.recover && !self.regrows {
            return false;
        }
        if signals.busy {
            self.cwnd += if self.cwnd < self.ssthresh { bytes } else { self.mss * bytes / self.cwnd };
        }
        if let (Some(saved), Some(rtt)) = (self.saved, feedback.rtt) {
            self.saved = None;
            // RFC 9959 §4.2: half of the saved window, if the path resembles the saved one.
            let (then, rtt) = (saved.rtt.as_secs_f64(), rtt.as_secs_f64());
            let jump = saved.rate.as_bps() as f64 / 8.0 * rtt / 2.0;
            if rtt >= then / 2.0 && rtt <= 10.0 * then && jump > self.cwnd {
                self.cwnd = jump;
                let end = next + (jump / self.mss) as u64;
                self.trial = Some(Trial { end, proven: 0.0, retreats: false });
            }
        }
        if let Some(srtt) = signals.srtt {
            let (least, most) = self.bounds;
            let srtt = srtt.as_secs_f64();
            // The pace keeps the highest rate, if the window leaves room for data whose answers are not here yet.
            let most = (FLIGHT * most * srtt).max(2.0 * self.mss).max(least * srtt);
            self.cwnd = self.cwnd.clamp(least * srtt, most);
        }
        false
    }

    pub fn on_silence(&mut self, next: u64) {
        self.before_silence.get_or_insert((self.cwnd, self.ssthresh, self.recover));
        self.cut(next);
    }
}
