//! RACK-TLP: a segment is lost when one sent later has arrived and time enough has passed; a probe finds losses at the tail.
//!
//! Follows RFC 8985 §6 (RACK) and §7 (TLP); steps are named below.
//! Differs: segments are kept in the order of their sending, so that an acknowledgment looks only at those that may be lost.
//! Leaves out the adaptation of the reordering window without DSACK, which the RFC leaves to timestamps.

use super::super::sender::{Outgoing, Sender};
use super::pipe::Phase;
use skyhop_units::{Span, Time};

/// §7.2: how long a receiver may wait with the acknowledgment of a lone segment.
const MAX_ACK_DELAY: Span = Span::from_millis(200);

#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Sending time and end of the latest segment delivered, and its round trip.
    newest: Option<(Time, u64)>,
    rtt: Span,
    pub reordering_seen: bool,
    /// §6.2 step 4: how much the reordering window has been widened, and for how many recoveries more.
    multiplier: u32,
    persist: u32,
    dsack_round: Option<u64>,
    /// When the next segment is old enough to be lost.
    pub reorder_at: Option<Time>,
    pub probe_at: Option<Time>,
    /// §7.3: one past the highest sent when the probe was, and whether it was a repeat.
    probe: Option<(u64, bool)>,
    pub probe_due: bool,
    /// §7.3: a round trip was measured since the last probe.
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
}

impl Sender {
    /// §6.2 step 4: the receiver got a segment twice, so a repeat was needless: a wider window for a while.
    pub(in crate::tcp) fn rack_dsack(&mut self) {
        let rack = &mut self.pipe.rack;
        if rack.dsack_round.is_none() {
            rack.dsack_round = Some(self.flight.snd_max);
            rack.multiplier += 1;
            rack.persist = 16;
        }
    }

    /// §6.2 steps 1 to 5, for what an acknowledgment has delivered. True if anything is newly lost.
    pub(super) fn rack_losses(&mut self, now: Time) -> bool {
        let rack = &mut self.pipe.rack;
        // Steps 1 and 2; `Segments` has left out samples that may be a repeat's (§6.2 step 2).
        if let Some((sent_at, _, end)) = self.flight.segments.progress.newest {
            if rack.newest.is_none_or(|newest| (sent_at, end) > newest) {
                rack.newest = Some((sent_at, end));
            }
            rack.rtt = now.since(sent_at);
        }
        // Step 3.
        rack.reordering_seen |= self.flight.segments.progress.reordered.is_some();
        if rack.dsack_round.is_some_and(|round| self.flight.snd_una >= round) {
            rack.dsack_round = None;
        }
        self.detect_by_time(now)
    }

    /// §6.2 step 4: how much later than its successors a segment may come.
    fn reordering_window(&self) -> Span {
        let rack = &self.pipe.rack;
        if !rack.reordering_seen {
            let many = self.flight.segments.sacked >= self.flight.threshold as u64 * self.flight.mss as u64;
            if self.pipe.phase != Phase::Open || many {
                return Span::ZERO;
            }
        }
        let quarter = self.min_rtt().unwrap_or(Span::ZERO) / 4 * rack.multiplier as u64;
        quarter.min(self.timer.rtt.smoothed().unwrap_or(quarter))
    }

    /// How long after its sending a segment is lost, when one sent later has arrived or the timer has run out.
    pub(super) fn rack_patience(&self) -> Span {
        // Before the first sample of data the handshake's says how long a round trip is.
        let rtt = Some(self.pipe.rack.rtt).filter(|rtt| *rtt > Span::ZERO).or(self.timer.rtt.smoothed());
        rtt.unwrap_or(Span::ZERO) + self.reordering_window()
    }

    /// §6.2 step 5.
    pub(in crate::tcp) fn detect_by_time(&mut self, now: Time) -> bool {
        self.pipe.rack.reorder_at = None;
        let Some((newest_at, newest_end)) = self.pipe.rack.newest else { return false };
        let patience = self.rack_patience();
        let mut found = false;
        while let Some(&(start, at)) = self.flight.segments.order.front() {
            let index = self.flight.segments.starting_at(start);
            let current = index.and_then(|i| self.flight.segments.get(i)).copied();
            let Some(segment) = current.filter(|s| !s.sacked && s.in_pipe && s.sent_at == at) else {
                self.flight.segments.order.pop_front();
                continue;
            };
            if (at, segment.end) >= (newest_at, newest_end) {
                break;
            }
            let lost_at = at + patience;
            if lost_at > now {
                self.pipe.rack.reorder_at = Some(lost_at);
                // In Linux one timer serves both, so that the retransmission timer does not cut this wait short.
                self.timer.at = self.timer.at.map(|rto| rto.max(lost_at + self.config.rto_granularity));
                break;
            }
            self.flight.segments.order.pop_front();
            if let Some(index) = index {
                self.flight.segments.mark_lost(index);
                found = true;
            }
        }
        found
    }

    /// The reordering timer has run out (§6.3).
    pub(in crate::tcp) fn handle_reorder_timer(&mut self, now: Time) {
        // What the latest acknowledgment has told belongs to no recovery that begins now.
        self.flight.segments.progress = Default::default();
        let found = self.detect_by_time(now) && !self.only_probe_lost(now);
        if found && self.timer.at.is_some() {
            // What is found is repaired as the window lets it go, for which it has the time of a timer (Linux's `tcp_rearm_rto`).
            self.timer.restart(now);
        }
        if found && self.pipe.phase == Phase::Open && self.flight.snd_una >= self.pipe.recover {
            self.enter_recovery(now);
        }
    }

    /// §7.2: after new data or an acknowledgment, a probe is planned where losses at the tail would go unnoticed.
    pub(in crate::tcp) fn plan_probe(&mut self, now: Time) {
        let fits = self.pipe.phase == Phase::Open
            && self.flight.segments.sacked == 0
            && self.pipe.rack.probe.is_none()
            && self.pipe.rack.measured
            && self.flight.len() > 0
            && self.timer.at.is_some();
        self.pipe.rack.probe_at = None;
        if !fits {
            return;
        }
        let Some(srtt) = self.timer.rtt.smoothed() else { return };
        let lone = self.flight.len() <= self.flight.mss as u64;
        let wait = srtt * 2 + if lone { MAX_ACK_DELAY } else { Span::ZERO };
        // Not later than the timer: the probe goes in its place, and puts it off.
        self.pipe.rack.probe_at = self.timer.at.map(|rto| rto.min(now + wait));
    }

    /// §7.3: the probe timer has run out.
    pub(in crate::tcp) fn handle_probe_timer(&mut self, now: Time) {
        self.pipe.rack.probe_at = None;
        self.pipe.rack.probe_due = true;
        self.timer.restart(now);
    }

    /// The probe itself: new data if the peer's window has room, else the last segment again.
    pub(in crate::tcp) fn poll_probe(&mut self, now: Time) -> Option<Outgoing> {
        self.pipe.rack.probe_due = false;
        let end = self.flight.snd_max;
        let (probe, repeat) = match self.poll_new(now) {
            Some(segment) => (segment, false),
            None if self.flight.segments.back().is_none_or(|s| s.sacked) => return None,
            None => (self.send_again(now, self.flight.segments.len() - 1), true),
        };
        self.pipe.rack.probe = Some((if repeat { end } else { self.flight.snd_max }, repeat));
        self.pipe.rack.measured = false;
        // Sending it has planned another, which would be a second one in flight.
        self.pipe.rack.probe_at = None;
        Some(probe)
    }

    /// §7.4.2: what an acknowledgment says of the probe. True if it has repaired a loss, which is a signal.
    pub(in crate::tcp) fn resolve_probe(&mut self, dsack: bool, duplicate: bool) -> bool {
        let Some((end, repeat)) = self.pipe.rack.probe else { return false };
        if self.flight.snd_una < end {
            return false;
        }
        let repaired = repeat && !dsack && self.flight.snd_una > end;
        if !repeat || dsack || duplicate || repaired {
            self.pipe.rack.probe = None;
        }
        repaired && self.pipe.phase == Phase::Open
    }

    /// A recovery is over (§6.2 step 4): the wider reordering window lasts for sixteen of them.
    pub(in crate::tcp) fn rack_recovered(&mut self) {
        let rack = &mut self.pipe.rack;
        if rack.persist > 0 {
            rack.persist -= 1;
            if rack.persist == 0 {
                rack.multiplier = 1;
            }
        }
    }
}
