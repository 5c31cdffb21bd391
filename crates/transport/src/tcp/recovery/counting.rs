//! Loss recovery by counting duplicates: the effect of duplicate and partial acknowledgments on the window, and their
//! retransmissions.
//!
//! Follows RFC 5681 §3.2 (Reno), RFC 6582 (NewReno), 4.3BSD (Tahoe) and the seven rules of HK's appendix (SACK); the rules are
//! cited by number. Differs: Reno too ignores duplicates below `recover` (RFC 6582's remedy for false fast retransmits), as in
//! ns-2.
//! Leaves out the state of single segments, which `pipe.rs` has.

use super::super::config::{Config, LossRecovery};
use super::super::congestion::CongestionControl;
use super::super::flight::Flight;

/// The consequence of a new acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedAck {
    /// No loss is being repaired, so that the window may grow.
    Open,
    /// The recovery has ended.
    Recovered,
    /// A partial acknowledgment: the next hole is due. With `restart` the retransmission timer is restarted.
    Partial { restart: bool },
}

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
    rules: CountingRules,
}

/// The parameters of a connection for this.
#[derive(Debug, Clone, Default)]
struct CountingRules {
    limited_transmit: bool,
    recovery_burst: Option<u32>,
    burst_after_recovery: bool,
    avoid_multiple_fast_retransmits: bool,
}

impl Counting {
    pub fn new(config: &Config) -> Self {
        let rules = CountingRules {
            limited_transmit: config.limited_transmit,
            recovery_burst: config.recovery_burst,
            burst_after_recovery: config.burst_after_recovery,
            avoid_multiple_fast_retransmits: config.avoid_multiple_fast_retransmits,
        };
        Self { rules, ..Self::default() }
    }

    /// Returns true if the latest acknowledgment has released as many new segments as allowed.
    pub fn burst_spent(&self) -> bool {
        self.active && self.rules.recovery_burst.is_some_and(|most| self.released >= most)
    }

    /// Bytes that may be sent beyond cwnd before the duplicates signal a loss.
    pub fn limited_transmit(&self, flight: &Flight) -> u64 {
        let (threshold, mss) = (flight.threshold, flight.mss);
        if self.probe_repaired {
            return self.duplicates as u64 * mss as u64;
        }
        if self.rules.limited_transmit
            && !self.active
            && self.duplicates < threshold
            && flight.how != LossRecovery::Vegas
        {
            self.duplicates.min(threshold - 1) as u64 * mss as u64
        } else {
            0
        }
    }

    /// Returns true if the next segment is sent for a duplicate, beyond the window of `cwnd` bytes.
    pub fn answers_duplicate(&self, cwnd: u64, flight: &Flight) -> bool {
        self.limited_transmit(flight) > 0 && flight.len() + flight.mss as u64 > cwnd
    }

    /// Handles a duplicate acknowledgment, which has been counted. Returns true if it signals a loss.
    pub fn on_duplicate(&mut self, flight: &Flight, congestion: &mut CongestionControl) -> bool {
        if self.active {
            self.repair_or_inflate(flight, congestion);
            return false;
        }
        self.duplicates == flight.threshold && self.past_recover(flight)
    }

    /// Starts a recovery, after the window has been told of the loss.
    pub fn begin(&mut self, flight: &mut Flight, congestion: &mut CongestionControl) {
        let mss = flight.mss as u64;
        self.recover = flight.snd_max;
        self.timed_out = false;
        if flight.how == LossRecovery::Tahoe {
            // Everything from the hole on is sent again, by slow start.
            congestion.set(mss);
            flight.snd_nxt = flight.snd_una;
            return;
        }
        // Rule 2, and RFC 5681 §3.2 steps 2 and 3.
        congestion.set(congestion.reduced() + flight.threshold as u64 * mss);
        self.active = true;
        self.partial_seen = false;
        // A Reno that starts a second recovery for the same window does not repeat the retransmissions of the first.
        if flight.how != LossRecovery::SackReno {
            self.retransmitted_to = flight.snd_una;
        }
        self.retransmitted_to = self.retransmitted_to.max(flight.snd_una);
        self.due = Some(flight.snd_una);
    }

    /// Handles a new acknowledgment of `newly` bytes.
    pub fn on_ack(&mut self, newly: u64, flight: &Flight, congestion: &mut CongestionControl) -> CountedAck {
        let mss = flight.mss as u64;
        if !self.active {
            return CountedAck::Open;
        }
        if matches!(flight.how, LossRecovery::Reno | LossRecovery::SackReno) {
            self.active = false;
            congestion.set(congestion.reduced());
            return CountedAck::Recovered;
        }
        if flight.snd_una >= self.recover {
            self.active = false;
            // Rule 3, which is RFC 6582 step 3 (1): no burst when the window reopens. The RFC also allows (2), ssthresh.
            let limit = if self.rules.burst_after_recovery { u64::MAX } else { flight.len().max(mss) + mss };
            congestion.set(congestion.reduced().min(limit));
            return CountedAck::Recovered;
        }
        // Rule 4: a partial acknowledgment indicates the next hole.
        congestion.deflate(newly);
        congestion.inflate(mss);
        if !flight.how.sack() {
            self.due = Some(flight.snd_una);
        } else if let Some(hole) = self.eligible(flight) {
            self.due = Some(hole);
        } else if flight.snd_una >= self.retransmitted_to {
            // Beyond rule 5: the hole is within three segments of the highest received, and with so small a window no further
            // acknowledgment would arrive to indicate it. Everything sent before the last retransmission has arrived or is lost, so
            // the partial acknowledgment identifies it.
            self.due = Some(flight.snd_una);
        }
        let first = !std::mem::replace(&mut self.partial_seen, true);
        CountedAck::Partial { restart: first || flight.how != LossRecovery::NewReno }
    }

    /// Handles a retransmission timeout.
    pub fn on_timeout(&mut self, flight: &mut Flight) {
        self.recover = flight.snd_max;
        self.active = false;
        self.duplicates = 0;
        self.probe_repaired = false;
        self.due = None;
        self.timed_out = true;
        self.retransmitted_to = flight.snd_una;
        // RFC 6675 §5.1: selective acknowledgments may be kept, unless the peer has discarded the data, which it has if it asks for
        // data that it reported (RFC 2018 §8).
        if flight.scoreboard.containing(flight.snd_una).is_some() {
            flight.scoreboard.clear();
        }
        flight.snd_nxt = flight.snd_una;
    }

    /// Rule 6: an acknowledgment retransmits an eligible segment, or else opens the window by one.
    fn repair_or_inflate(&mut self, flight: &Flight, congestion: &mut CongestionControl) {
        if flight.how.sack()
            && let Some(hole) = self.eligible(flight)
        {
            self.due = Some(hole);
        } else {
            congestion.inflate(flight.mss as u64);
        }
    }

    /// Rule 5: the lowest byte not yet retransmitted that the receiver lacks while it holds a segment three further on, or for
    /// which three successive duplicates have asked.
    fn eligible(&self, flight: &Flight) -> Option<u64> {
        let hole = flight.scoreboard.next_gap(self.retransmitted_to.max(flight.snd_una));
        let beyond = flight.threshold as u64 * flight.mss as u64;
        let passed = flight.scoreboard.highest().is_some_and(|highest| hole + beyond < highest);
        let asked_for = hole == flight.snd_una && self.duplicates >= flight.threshold;
        ((passed || asked_for) && hole < self.recover).then_some(hole)
    }

    /// Returns true if duplicates may start a recovery: more than `recover` is acknowledged (RFC 6582 §3.2 step 2), since the
    /// receiver answers each needless retransmission with a duplicate, the last of them at `recover` itself.
    fn past_recover(&self, flight: &Flight) -> bool {
        use LossRecovery::*;
        if !self.rules.avoid_multiple_fast_retransmits {
            return true;
        }
        let (recover, timed_out) = (self.recover, self.timed_out);
        match flight.how {
            // HK's rule 2 has "at least"; its retransmissions fill holes only, except after a timeout.
            SackNewReno => flight.snd_una >= recover + timed_out as u64,
            // HT's SACK-Reno lacks NewReno's remedy: each three duplicates reduce the window, except after a timeout.
            SackReno => !timed_out || flight.snd_una > recover,
            _ => flight.snd_una > recover || recover == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::Variant;
    use super::*;

    // RFC 6582 §3.2 by hand: ten segments, of which the first and the fourth are lost.
    #[test]
    fn three_duplicates_send_the_hole_again_and_a_partial_acknowledgment_the_next() {
        let config =
            Config { variant: Variant::NewReno, mss: 1000, initial_window: 10_000, ..Config::default() };
        let mut flight = Flight::new(config.recovery(), 3, 1000);
        (flight.snd_una, flight.snd_nxt, flight.snd_max) = (1, 10_001, 10_001);
        let mut congestion = CongestionControl::new(&config, 1000, None);
        let mut counting = Counting::new(&config);
        for n in 1..=3 {
            counting.duplicates = n;
            assert_eq!(counting.on_duplicate(&flight, &mut congestion), n == 3);
        }
        congestion.on_loss(skyhop_units::Time::ZERO, 10_000, 10_000);
        counting.begin(&mut flight, &mut congestion);
        assert_eq!((counting.due.take(), counting.recover, congestion.cwnd()), (Some(1), 10_001, 8000));
        assert!(!counting.on_duplicate(&flight, &mut congestion));
        assert_eq!(congestion.cwnd(), 9000);
        flight.snd_una = 3001;
        let first = counting.on_ack(3000, &flight, &mut congestion);
        assert_eq!((first, counting.due), (CountedAck::Partial { restart: true }, Some(3001)));
        assert_eq!(congestion.cwnd(), 7000);
        flight.snd_una = 4001;
        let second = counting.on_ack(1000, &flight, &mut congestion);
        assert_eq!(second, CountedAck::Partial { restart: false }, "only the first restarts the timer");
        flight.snd_una = 10_001;
        assert_eq!(counting.on_ack(6000, &flight, &mut congestion), CountedAck::Recovered);
        assert_eq!((counting.active, congestion.cwnd()), (false, 2000), "no burst: nothing is outstanding");
    }
}
