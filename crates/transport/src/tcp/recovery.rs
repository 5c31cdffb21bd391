//! Loss recovery: what duplicate and partial acknowledgments do to the window and what they send again.
//!
//! Follows RFC 5681 §3.2 (Reno), RFC 6582 (NewReno) and the seven rules of HK's appendix (SACK-NewReno); the rules' numbers stand below.
//! Differs: Reno too ignores duplicates below `recover` (RFC 6582's cure for false fast retransmits), as ns-2's does.
//! Leaves out pipe counting (RFC 6675), proportional rate reduction and detection of reordering.

use super::config::{Config, Variant};
use super::sender::Sender;

/// State of fast recovery.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovery {
    /// Rule 1: `snd_recover`. Recovery ends when this is acknowledged, and does not begin again below it.
    recover: u64,
    /// Whether this is the recovery phase.
    pub active: bool,
    /// Duplicates since the last new acknowledgment.
    duplicates: u32,
    /// Whether a partial acknowledgment has been seen in this phase.
    partial_seen: bool,
    /// One past the last byte sent again in this phase.
    pub retransmitted_to: u64,
    /// The segment to send next, whatever the window.
    pub due: Option<u64>,
    /// New segments released since the last acknowledgment.
    pub released: u32,
}

impl Recovery {
    /// Whether the latest acknowledgment has released as many new segments as it may.
    pub fn burst_spent(&self, config: &Config) -> bool {
        self.active && config.recovery_burst.is_some_and(|most| self.released >= most)
    }

    /// Bytes that may be sent beyond cwnd before the duplicates become a signal.
    pub fn limited_transmit(&self, config: &Config, mss: u32) -> u64 {
        if config.limited_transmit && !self.active && self.duplicates < config.dupack_threshold {
            self.duplicates.min(2) as u64 * mss as u64
        } else {
            0
        }
    }
}

impl Sender {
    /// A duplicate acknowledgment. True if it began a recovery.
    pub(super) fn recover_duplicate(&mut self) -> bool {
        let mss = self.mss as u64;
        self.recovery.duplicates += 1;
        if self.recovery.active {
            self.repair_or_inflate(mss);
            return false;
        }
        if self.recovery.duplicates != self.config.dupack_threshold || !self.past_recover() {
            return false;
        }
        // Rule 2, and RFC 5681 §3.2 steps 2 and 3.
        self.congestion.halve(self.window());
        self.congestion.set(self.congestion.ssthresh() + self.config.dupack_threshold as u64 * mss);
        self.recovery.recover = self.snd_max;
        self.recovery.active = true;
        self.recovery.partial_seen = false;
        self.recovery.retransmitted_to = self.snd_una;
        self.recovery.due = Some(self.snd_una);
        true
    }

    /// A new acknowledgment of `newly` bytes. True if the retransmission timer is to be restarted.
    pub(super) fn recover_ack(&mut self, newly: u64) -> bool {
        let mss = self.mss as u64;
        self.recovery.duplicates = 0;
        if !self.recovery.active {
            // A window that the peer's does not let be used would grow on nothing.
            if self.congestion.cwnd() < self.peer_window {
                self.congestion.on_ack();
            }
            return true;
        }
        if self.config.variant == Variant::Reno {
            self.recovery.active = false;
            self.congestion.set(self.congestion.ssthresh());
            return true;
        }
        if self.snd_una >= self.recovery.recover {
            self.recovery.active = false;
            let outstanding = self.snd_max - self.snd_una;
            // Rule 3, which is RFC 6582 step 3 (1): no burst when the window reopens. The RFC also allows (2), ssthresh.
            let limit = if self.config.burst_after_recovery { u64::MAX } else { outstanding.max(mss) + mss };
            self.congestion.set(self.congestion.ssthresh().min(limit));
            return true;
        }
        // Rule 4: a partial acknowledgment names the next hole.
        self.congestion.deflate(newly);
        self.congestion.inflate(mss);
        if !self.config.sack() {
            self.recovery.due = Some(self.snd_una);
        } else if let Some(hole) = self.eligible() {
            self.recovery.due = Some(hole);
        } else if self.snd_una >= self.recovery.retransmitted_to {
            // Beyond rule 5: the hole lies within three segments of the highest held, and with a window this small no
            // further acknowledgment would come to speak for it. Everything sent before the last repeat has arrived
            // or is lost, so the partial acknowledgment itself says which.
            self.recovery.due = Some(self.snd_una);
        }
        let first = !std::mem::replace(&mut self.recovery.partial_seen, true);
        first || self.config.variant != Variant::NewReno
    }

    /// The retransmission timer has run out.
    pub(super) fn recover_timeout(&mut self) {
        self.recovery.recover = self.snd_max;
        self.recovery.active = false;
        self.recovery.duplicates = 0;
        self.recovery.due = None;
    }

    /// Rule 6: an acknowledgment sends one eligible segment again, or else opens the window by one.
    fn repair_or_inflate(&mut self, mss: u64) {
        if self.config.sack()
            && let Some(hole) = self.eligible()
        {
            self.recovery.due = Some(hole);
        } else {
            self.congestion.inflate(mss);
        }
    }

    /// Rule 5: the lowest byte not yet sent again that the receiver lacks while it holds a segment three further on, or
    /// that three duplicates in a row have asked for.
    fn eligible(&self) -> Option<u64> {
        let hole = self.scoreboard.next_gap(self.recovery.retransmitted_to.max(self.snd_una));
        let beyond = self.config.dupack_threshold as u64 * self.mss as u64;
        let passed = self.scoreboard.highest().is_some_and(|highest| hole + beyond < highest);
        let asked_for = hole == self.snd_una && self.recovery.duplicates >= self.config.dupack_threshold;
        ((passed || asked_for) && hole < self.recovery.recover).then_some(hole)
    }

    /// Whether all that was outstanding at the last cut has been acknowledged (rule 2). Reno and impatient NewReno ask
    /// for one byte more (RFC 6582 step 1), since their duplicates may stem from repeats of data that had arrived.
    fn past_recover(&self) -> bool {
        match self.config.variant {
            Variant::SackNewReno | Variant::NewRenoSlowButSteady => self.snd_una >= self.recovery.recover,
            Variant::Reno | Variant::NewReno => {
                self.snd_una > self.recovery.recover || self.recovery.recover == 0
            }
        }
    }
}
