//! Loss recovery by counting duplicates: the effect of duplicate and partial acknowledgments on the window, and their
//! retransmissions.
//!
//! Follows RFC 5681 §3.2 (Reno), RFC 6582 (NewReno), 4.3BSD (Tahoe) and the seven rules of HK's appendix (SACK); the rules are
//! cited by number. Differs: Reno too ignores duplicates below `recover` (RFC 6582's remedy for false fast retransmits), as in
//! ns-2.
//! Leaves out the state of single segments, which `pipe.rs` has.

use super::super::config::{Config, LossRecovery};
use super::super::sender::Sender;
use skyhop_units::Time;

/// State of fast recovery.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counting {
    /// Rule 1: `snd_recover`. Recovery ends when this is acknowledged, and does not begin again below it.
    pub recover: u64,
    /// True during recovery.
    pub active: bool,
    /// Duplicates since the last new acknowledgment.
    pub duplicates: u32,
    /// True if a partial acknowledgment has been seen in this recovery.
    partial_seen: bool,
    /// One past the last byte retransmitted in this recovery.
    pub retransmitted_to: u64,
    /// True while a probe of the path's MTU is repaired: each duplicate stands for data that left the network, but no loss is
    /// meant.
    pub probe_repaired: bool,
    /// The segment to send next, regardless of the window.
    pub due: Option<u64>,
    /// Number of new segments released since the last acknowledgment.
    pub released: u32,
    /// For Vegas: number of acknowledgments at which the age of the oldest segment is still checked.
    pub worried: u32,
    /// True if the latest reduction was by a timeout.
    pub timed_out: bool,
}

impl Counting {
    /// Returns true if the latest acknowledgment has released as many new segments as allowed.
    pub fn burst_spent(&self, config: &Config) -> bool {
        self.active && config.recovery_burst.is_some_and(|most| self.released >= most)
    }

    /// Bytes that may be sent beyond cwnd before the duplicates signal a loss.
    pub fn limited_transmit(&self, config: &Config, threshold: u32, mss: u32) -> u64 {
        if self.probe_repaired {
            return self.duplicates as u64 * mss as u64;
        }
        if config.limited_transmit
            && !self.active
            && self.duplicates < threshold
            && config.recovery() != LossRecovery::Vegas
        {
            self.duplicates.min(threshold - 1) as u64 * mss as u64
        } else {
            0
        }
    }
}

impl Sender {
    /// Handles a duplicate acknowledgment. Returns true if it started a recovery.
    pub(in crate::tcp) fn recover_duplicate(&mut self, now: Time) -> bool {
        let mss = self.flight.mss as u64;
        self.counting.duplicates += 1;
        if self.counting.probe_repaired || (self.path.probe.is_some() && self.duplicates_ask_for_probe(now)) {
            return false;
        }
        if self.flight.how == LossRecovery::Vegas {
            return self.vegas_duplicate(now);
        }
        if self.counting.active {
            self.repair_or_inflate(mss);
            return false;
        }
        if self.counting.duplicates != self.flight.threshold || !self.past_recover() {
            return false;
        }
        let in_use = self.halved();
        self.signal_loss(now, in_use);
        if self.flight.how == LossRecovery::Tahoe {
            // Everything from the hole on is sent again, by slow start.
            self.congestion.set(mss);
            self.counting.recover = self.flight.snd_max;
            self.counting.timed_out = false;
            self.flight.snd_nxt = self.flight.snd_una;
            return true;
        }
        // Rule 2, and RFC 5681 §3.2 steps 2 and 3.
        self.congestion.set(self.congestion.reduced() + self.flight.threshold as u64 * mss);
        self.counting.recover = self.flight.snd_max;
        self.counting.timed_out = false;
        self.counting.active = true;
        self.counting.partial_seen = false;
        // A Reno that starts a second recovery for the same window does not repeat the retransmissions of the first.
        if self.flight.how != LossRecovery::SackReno {
            self.counting.retransmitted_to = self.flight.snd_una;
        }
        self.counting.retransmitted_to = self.counting.retransmitted_to.max(self.flight.snd_una);
        self.counting.due = Some(self.flight.snd_una);
        true
    }

    /// Handles a new acknowledgment of `newly` bytes. Returns true if the retransmission timer is to be restarted.
    pub(in crate::tcp) fn recover_ack(&mut self, now: Time, newly: u64) -> bool {
        let mss = self.flight.mss as u64;
        let duplicates = std::mem::take(&mut self.counting.duplicates);
        self.counting.probe_repaired = false;
        if self.flight.how == LossRecovery::Vegas {
            self.vegas_ack(now, newly, duplicates);
            return true;
        }
        if !self.counting.active {
            self.grow(now, newly);
            return true;
        }
        if matches!(self.flight.how, LossRecovery::Reno | LossRecovery::SackReno) {
            self.counting.active = false;
            self.congestion.set(self.congestion.reduced());
            self.end_recovery(now, newly);
            return true;
        }
        if self.flight.snd_una >= self.counting.recover {
            self.counting.active = false;
            let outstanding = self.flight.snd_max - self.flight.snd_una;
            // Rule 3, which is RFC 6582 step 3 (1): no burst when the window reopens. The RFC also allows (2), ssthresh.
            let limit = if self.config.burst_after_recovery { u64::MAX } else { outstanding.max(mss) + mss };
            self.congestion.set(self.congestion.reduced().min(limit));
            self.end_recovery(now, newly);
            return true;
        }
        // Rule 4: a partial acknowledgment indicates the next hole.
        self.congestion.deflate(newly);
        self.congestion.inflate(mss);
        if !self.flight.how.sack() {
            self.counting.due = Some(self.flight.snd_una);
        } else if let Some(hole) = self.eligible() {
            self.counting.due = Some(hole);
        } else if self.flight.snd_una >= self.counting.retransmitted_to {
            // Beyond rule 5: the hole is within three segments of the highest received, and with so small a window no further
            // acknowledgment would arrive to indicate it. Everything sent before the last retransmission has arrived or is lost, so
            // the partial acknowledgment identifies it.
            self.counting.due = Some(self.flight.snd_una);
        }
        let first = !std::mem::replace(&mut self.counting.partial_seen, true);
        first || self.flight.how != LossRecovery::NewReno
    }

    /// Ends a recovery. In ns-2 the acknowledgment that ends it opens the window like any other.
    fn end_recovery(&mut self, now: Time, newly: u64) {
        self.congestion.on_recovery_exit(now);
        if self.config.precise_halving {
            self.grow(now, newly);
        }
    }

    /// Handles a retransmission timeout.
    pub(in crate::tcp) fn recover_timeout(&mut self) {
        self.counting.recover = self.flight.snd_max;
        self.counting.active = false;
        self.counting.duplicates = 0;
        self.counting.probe_repaired = false;
        self.counting.due = None;
        self.counting.timed_out = true;
        self.counting.retransmitted_to = self.flight.snd_una;
        // RFC 6675 §5.1: selective acknowledgments may be kept, unless the peer has discarded the data, which it has if it asks for
        // data that it reported (RFC 2018 §8).
        if self.flight.scoreboard.containing(self.flight.snd_una).is_some() {
            self.flight.scoreboard.clear();
        }
        self.flight.snd_nxt = self.flight.snd_una;
    }

    /// Rule 6: an acknowledgment retransmits an eligible segment, or else opens the window by one.
    fn repair_or_inflate(&mut self, mss: u64) {
        if self.flight.how.sack()
            && let Some(hole) = self.eligible()
        {
            self.counting.due = Some(hole);
        } else {
            self.congestion.inflate(mss);
        }
    }

    /// Rule 5: the lowest byte not yet retransmitted that the receiver lacks while it holds a segment three further on, or for
    /// which three successive duplicates have asked.
    fn eligible(&self) -> Option<u64> {
        let hole = self.flight.scoreboard.next_gap(self.counting.retransmitted_to.max(self.flight.snd_una));
        let beyond = self.flight.threshold as u64 * self.flight.mss as u64;
        let passed = self.flight.scoreboard.highest().is_some_and(|highest| hole + beyond < highest);
        let asked_for = hole == self.flight.snd_una && self.counting.duplicates >= self.flight.threshold;
        ((passed || asked_for) && hole < self.counting.recover).then_some(hole)
    }

    /// Returns true if duplicates may start a recovery: more than `recover` is acknowledged (RFC 6582 §3.2 step 2), since the
    /// receiver answers each needless retransmission with a duplicate, the last of them at `recover` itself.
    fn past_recover(&self) -> bool {
        use LossRecovery::*;
        if !self.config.avoid_multiple_fast_retransmits {
            return true;
        }
        let (recover, timed_out) = (self.counting.recover, self.counting.timed_out);
        match self.flight.how {
            // HK's rule 2 has "at least"; its retransmissions fill holes only, except after a timeout.
            SackNewReno => self.flight.snd_una >= recover + timed_out as u64,
            // HT's SACK-Reno lacks NewReno's remedy: each three duplicates reduce the window, except after a timeout.
            SackReno => !timed_out || self.flight.snd_una > recover,
            _ => self.flight.snd_una > recover || recover == 0,
        }
    }
}
