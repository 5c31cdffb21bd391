//! RACK-TLP: a segment is lost when one sent later has arrived and enough time has passed; a probe detects losses at the tail.
//!
//! Follows RFC 8985 §6 (RACK) and §7 (TLP); steps are cited below.
//! Differs: segments are kept in the order of their sending, so that an acknowledgment examines only those that may be lost.
//! Leaves out the adaptation of the reordering window without DSACK, for which the RFC needs timestamps.

use super::super::flight::Flight;
use super::super::retransmission_timer::RetransmissionTimer;
use super::super::segments::Segments;
use skyhop_units::{Span, Time};

/// §7.2: largest delay of the acknowledgment of a single segment.
const MAX_ACK_DELAY: Span = Span::from_millis(200);

#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Sending time and end of the latest segment delivered, and its RTT.
    newest: Option<(Time, u64)>,
    rtt: Span,
    pub reordering_seen: bool,
    /// §6.2 step 4: factor by which the reordering window is widened, and the number of recoveries for which it remains.
    multiplier: u32,
    persist: u32,
    dsack_round: Option<u64>,
    /// Time at which the next segment is old enough to be lost.
    pub reorder_at: Option<Time>,
    pub probe_at: Option<Time>,
    /// §7.3: one past the highest byte sent at the probe, and true if the probe was a retransmission.
    probe: Option<(u64, bool)>,
    pub probe_due: bool,
    /// §7.3: true if an RTT was measured since the last probe.
    pub measured: bool,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: None,
            rtt: Span::ZERO,
            reordering_seen: false,
            multiplier: 1,
            persist: 0,
            dsack_round: None,
            reorder_at: None,
            probe_at: None,
            probe: None,
            probe_due: false,
            measured: true,
        }
    }
}

impl Rack {
    pub fn on_timeout(&mut self) {
        (self.reorder_at, self.probe_at, self.probe, self.probe_due) = (None, None, None, false);
    }

    /// §6.2 step 4: handles a report that the receiver got a segment twice, so that a retransmission was needless: widens the
    /// reordering window, at most once per RTT.
    pub fn on_dsack(&mut self, snd_max: u64) {
        if self.dsack_round.is_none() {
            self.dsack_round = Some(snd_max);
            self.multiplier += 1;
            self.persist = 16;
        }
    }

    /// §6.2 steps 1 to 3, for the data delivered by an acknowledgment.
    pub fn update(&mut self, now: Time, flight: &Flight) {
        // Steps 1 and 2; `Segments` has excluded samples that may be a retransmission's (§6.2 step 2).
        if let Some((sent_at, _, end)) = flight.segments.progress.newest {
            if self.newest.is_none_or(|newest| (sent_at, end) > newest) {
                self.newest = Some((sent_at, end));
            }
            self.rtt = now.since(sent_at);
        }
        // Step 3.
        self.reordering_seen |= flight.segments.progress.reordered.is_some();
        if self.dsack_round.is_some_and(|round| flight.snd_una >= round) {
            self.dsack_round = None;
        }
    }

    /// §6.2 step 4: time by which a segment may be later than its successors, from the smallest RTT and the smoothed one.
    fn reordering_window(
        &self,
        flight: &Flight,
        repairing: bool,
        min: Option<Span>,
        srtt: Option<Span>,
    ) -> Span {
        if !self.reordering_seen {
            let many = flight.segments.sacked >= flight.threshold as u64 * flight.mss as u64;
            if repairing || many {
                return Span::ZERO;
            }
        }
        let quarter = min.unwrap_or(Span::ZERO) / 4 * self.multiplier as u64;
        quarter.min(srtt.unwrap_or(quarter))
    }

    /// §6.2 step 5: segments sent before the newest delivered one and at least `patience` old are lost. Returns true if any newly
    /// are; for those that will be, the reordering timer is set.
    #[inline(always)]
    fn detect(&mut self, now: Time, patience: Span, segments: &mut Segments) -> bool {
        self.reorder_at = None;
        let Some((newest_at, newest_end)) = self.newest else { return false };
        let mut found = false;
        while let Some(&(start, at)) = segments.order.front() {
            let index = segments.starting_at(start);
            let current = index.and_then(|i| segments.get(i));
            let Some(segment) = current.filter(|s| !s.sacked && s.in_pipe && s.sent_at == at) else {
                segments.order.pop_front();
                continue;
            };
            if (at, segment.end) >= (newest_at, newest_end) {
                break;
            }
            let lost_at = at + patience;
            if lost_at > now {
                self.reorder_at = Some(lost_at);
                break;
            }
            segments.order.pop_front();
            if let Some(index) = index {
                segments.mark_lost(index);
                found = true;
            }
        }
        found
    }

    /// §7.2: after new data or an acknowledgment, plans a probe if losses at the tail would go unnoticed: not later than the
    /// retransmission timer, which the probe postpones.
    pub fn plan(
        &mut self,
        now: Time,
        flight: &Flight,
        repairing: bool,
        srtt: Option<Span>,
        rto_at: Option<Time>,
    ) {
        let fits = !repairing
            && flight.segments.sacked == 0
            && self.probe.is_none()
            && self.measured
            && flight.len() > 0
            && rto_at.is_some();
        self.probe_at = None;
        if !fits {
            return;
        }
        let Some(srtt) = srtt else { return };
        let lone = flight.len() <= flight.mss as u64;
        let wait = srtt * 2 + if lone { MAX_ACK_DELAY } else { Span::ZERO };
        self.probe_at = rto_at.map(|rto| rto.min(now + wait));
    }

    /// §7.4.2: evaluates the probe at an acknowledgment of all below `una`. Returns true if the probe has repaired a loss.
    pub fn resolve(&mut self, una: u64, dsack: bool, duplicate: bool) -> bool {
        let Some((end, repeat)) = self.probe else { return false };
        if una < end {
            return false;
        }
        let repaired = repeat && !dsack && una > end;
        if !repeat || dsack || duplicate || repaired {
            self.probe = None;
        }
        repaired
    }

    /// Age at which a segment is lost, once one sent later has arrived or the timer has expired.
    pub fn patience(&self, repairing: bool, flight: &Flight, timer: &RetransmissionTimer) -> Span {
        let srtt = timer.rtt.smoothed();
        // Before the first sample of data, the RTT is that of the handshake.
        let rtt = Some(self.rtt).filter(|rtt| *rtt > Span::ZERO).or(srtt);
        let min = timer.rtt.samples.min.into_iter().chain(flight.segments.min_rtt).min();
        rtt.unwrap_or(Span::ZERO) + self.reordering_window(flight, repairing, min, srtt)
    }

    /// §6.2 step 5. Returns true if segments are newly lost.
    pub fn find_losses(
        &mut self,
        now: Time,
        repairing: bool,
        flight: &mut Flight,
        timer: &mut RetransmissionTimer,
    ) -> bool {
        let patience = self.patience(repairing, flight, timer);
        let found = self.detect(now, patience, &mut flight.segments);
        if let Some(lost_at) = self.reorder_at {
            timer.defer(lost_at);
        }
        found
    }

    /// §7.3: handles the expiry of the probe timer.
    pub fn handle_probe_timer(&mut self) {
        (self.probe_at, self.probe_due) = (None, true);
    }

    /// Records the probe, with all below `end` sent; `repeat` if it was a retransmission.
    pub fn sent_probe(&mut self, end: u64, repeat: bool) {
        self.probe = Some((end, repeat));
        self.measured = false;
        // Sending it has planned another, which would be a second one in flight.
        self.probe_at = None;
    }

    /// Records the end of a recovery (§6.2 step 4): the wider reordering window lasts for sixteen of them.
    pub fn recovered(&mut self) {
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::LossRecovery;
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Ten segments of 1000 bytes, a millisecond apart from 100 ms on.
    fn flight() -> Flight {
        let mut flight = Flight::new(LossRecovery::Rack, 3, 1000);
        for n in 0..10 {
            flight.segments.push(at(100 + n), 1 + n * 1000, 1001 + n * 1000, true);
        }
        (flight.snd_una, flight.snd_nxt, flight.snd_max) = (1, 10_001, 10_001);
        flight
    }

    // RFC 8985 §6.2: the fourth arrives after 100 ms; those before it are lost a quarter of an RTT after they were due.
    #[test]
    fn what_was_sent_before_the_newest_delivered_is_lost_in_time() {
        let (mut rack, mut flight) = (Rack::default(), flight());
        flight.segments.sack(at(203), 3001, 4001);
        rack.update(at(203), &flight);
        assert_eq!((rack.rtt, rack.newest), (Span::from_millis(100), Some((at(103), 4001))));
        let rtt = Some(Span::from_millis(100));
        let window = rack.reordering_window(&flight, false, rtt, rtt);
        assert_eq!(window, Span::from_millis(25));
        assert_eq!(
            rack.reordering_window(&flight, true, rtt, rtt),
            Span::ZERO,
            "in recovery there is no patience"
        );
        let patience = rack.rtt + window;
        assert!(!rack.detect(at(203), patience, &mut flight.segments));
        assert_eq!(rack.reorder_at, Some(at(225)));
        assert!(rack.detect(at(226), patience, &mut flight.segments));
        assert_eq!((flight.segments.lost_waiting, rack.reorder_at), (2000, Some(at(227))));
        assert!(rack.detect(at(500), patience, &mut flight.segments));
        assert_eq!((flight.segments.lost_waiting, rack.reorder_at), (3000, None), "none behind the newest");
    }

    // §6.2 step 4: a DSACK widens the window once a round trip, for sixteen recoveries.
    #[test]
    fn a_needless_repeat_widens_the_window_for_sixteen_recoveries() {
        let (mut rack, mut flight) = (Rack::default(), flight());
        rack.on_dsack(flight.snd_max);
        rack.on_dsack(flight.snd_max);
        let rtt = Some(Span::from_millis(100));
        assert_eq!(rack.reordering_window(&flight, false, rtt, rtt), Span::from_millis(50));
        flight.snd_una = 10_001;
        rack.update(at(300), &flight);
        rack.on_dsack(20_001);
        assert_eq!(rack.reordering_window(&flight, false, rtt, rtt), Span::from_millis(75));
        for n in 0..16 {
            assert_eq!(rack.multiplier, 3, "{n}");
            rack.recovered();
        }
        assert_eq!(rack.multiplier, 1);
    }

    // §7.2 and §7.4.2: two round trips; a repeat that is acknowledged, and no duplicate reported, has repaired a loss.
    #[test]
    fn a_probe_of_the_tail_waits_two_round_trips_and_tells_of_a_loss() {
        let (mut rack, flight) = (Rack::default(), flight());
        let srtt = Some(Span::from_millis(100));
        rack.plan(at(110), &flight, false, srtt, Some(at(1000)));
        assert_eq!(rack.probe_at, Some(at(310)));
        rack.plan(at(110), &flight, false, srtt, Some(at(250)));
        assert_eq!(rack.probe_at, Some(at(250)), "not later than the timer");
        rack.plan(at(110), &flight, true, srtt, Some(at(1000)));
        assert_eq!(rack.probe_at, None);
        for (una, dsack, repaired) in [(10_001, false, false), (11_001, true, false), (11_001, false, true)] {
            rack.probe = Some((10_001, true));
            assert_eq!(rack.resolve(una, dsack, false), repaired);
        }
    }
}
