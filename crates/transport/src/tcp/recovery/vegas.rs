//! Vegas' loss recovery: a duplicate triggers a check of the oldest segment's age, in addition to the count.
//!
//! Follows Brakmo and Peterson (JSAC 1995, 3.1) in the form of ns-2's agent.
//! Differs: a segment's age and the number of its transmissions come from `Segments`.
//! Leaves out limited transmit, which ns-2's Vegas lacks too.

use super::super::config::LossRecovery;
use super::super::sender::Sender;
use skyhop_units::Time;

impl Sender {
    /// Latest sending time of the oldest segment, and the number of times it was sent.
    fn oldest(&self) -> Option<(Time, u16)> {
        self.flight.segments.front().map(|s| (s.sent_at, s.sent))
    }

    /// Returns true if the oldest segment is older than the fine-grained timeout.
    fn expired(&mut self, now: Time) -> bool {
        let Some((sent_at, _)) = self.oldest() else { return false };
        let age = now.since(sent_at).as_secs_f64();
        self.congestion.vegas().is_some_and(|(vegas, _)| age >= vegas.timeout_s)
    }

    /// Like [`Vegas::expired`]; other variants have no such timeout.
    pub(in crate::tcp) fn vegas_expired(&mut self, now: Time) -> bool {
        self.flight.how == LossRecovery::Vegas && self.expired(now)
    }

    pub(super) fn vegas_duplicate(&mut self, now: Time) -> bool {
        let (mss, threshold) = (self.flight.mss as f64, self.flight.threshold);
        let expired = self.expired(now);
        if !expired && self.counting.duplicates != threshold {
            if self.counting.duplicates > threshold {
                self.congestion.inflate(self.flight.mss as u64);
            }
            return false;
        }
        if self.counting.timed_out && self.flight.snd_una <= self.counting.recover {
            return false;
        }
        let Some((sent_at, sent)) = self.oldest() else { return false };
        // ns-2's Vegas doubles its coarse timer, too.
        self.timer.rtt.back_off();
        self.counting.timed_out = false;
        self.counting.recover = self.flight.snd_max;
        self.counting.worried =
            2.min((self.flight.snd_nxt - self.flight.snd_una).div_ceil(self.flight.mss as u64) as u32 + 1);
        let window = (self.window() as f64 / mss).floor();
        let duplicates = self.counting.duplicates as f64;
        let Some((vegas, w)) = self.congestion.vegas() else { return false };
        vegas.timeout_s *= if sent > 1 { 2.0 } else { 1.125 };
        // A window that has been reduced since the segment was sent is not reduced again.
        if vegas.changed_at.is_none_or(|at| at < sent_at) {
            vegas.after = match window {
                ..=3.0 => 2.0,
                _ if sent > 1 => (window / 2.0).floor(),
                _ => window - (window / 4.0).floor(),
            };
            w.cwnd = (vegas.after + duplicates) * mss;
            vegas.changed_at = Some(now);
        }
        self.counting.due = Some(self.flight.snd_una);
        if sent == 1 {
            self.counting.duplicates = threshold;
        }
        true
    }

    pub(super) fn vegas_ack(&mut self, now: Time, newly: u64, duplicates: u32) {
        let mss = self.flight.mss as f64;
        let threshold = self.flight.threshold;
        if let Some((vegas, window)) = self.congestion.vegas()
            && duplicates > threshold
            && vegas.after > 0.0
            && window.cwnd > vegas.after * mss
        {
            window.cwnd = vegas.after * mss;
            window.ssthresh = 2 * mss as u64;
        }
        self.grow(now, newly);
        if self.counting.worried > 0 {
            self.counting.worried -= 1;
            if self.expired(now) {
                self.counting.duplicates = threshold;
                self.counting.due = Some(self.flight.snd_una);
            } else {
                self.counting.worried = 0;
            }
        }
    }

    /// ns-2's Vegas sends nothing new between the first duplicate and the threshold.
    pub(in crate::tcp) fn vegas_waits(&self) -> bool {
        // Without a running timer nothing would end the wait.
        (1..self.flight.threshold).contains(&self.counting.duplicates) && self.timer.at.is_some()
    }
}
