//! Loss detection and repair: the machines of both methods, and the choice between them.
//!
//! Follows two methods: counting duplicates (from Tahoe to HK's SACK rules), and tracking segments in flight (RFC 6675, FACK,
//! RACK).
//! Differs from a kernel: all of them coexist, and each connection uses one.
//! Leaves out the growth of the window (`congestion`), and what a loss means for it and for the timer (`ack_clock`).

pub(crate) mod counting;
pub(crate) mod pipe;
mod prr;
pub(crate) mod rack;
pub(crate) mod undo;
pub(crate) mod vegas;

use super::config::{Config, LossRecovery};
use super::congestion::CongestionControl;
use super::flight::{Flight, NextSegment};
use super::retransmission_timer::RetransmissionTimer;
use counting::Counting;
use pipe::Pipe;
use rack::Rack;
use skyhop_units::Time;
use undo::Undo;

/// The state of loss recovery. The flight says which of it a connection uses.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub counting: Counting,
    pub pipe: Pipe,
    pub rack: Rack,
    pub undo: Option<Box<Undo>>,
    may_undo: bool,
    adaptive_reordering: bool,
}

/// The findings of a pipe at an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PipeFindings {
    /// True if losses were found that are a congestion signal.
    pub signal: bool,
    /// True if a fast recovery has ended.
    pub repaired: bool,
}

impl Recovery {
    pub fn new(config: &Config, how: LossRecovery) -> Self {
        let mut recovery = Self {
            counting: Counting::new(config),
            pipe: Pipe::new(config),
            rack: Rack::default(),
            undo: None,
            may_undo: config.undo,
            adaptive_reordering: config.adaptive_reordering,
        };
        recovery.prepare_undo(how);
        recovery
    }

    /// Prepares the state for recoveries that can undo a reduction.
    pub fn prepare_undo(&mut self, how: LossRecovery) {
        let can = matches!(how, LossRecovery::Rack | LossRecovery::Rfc6675);
        self.undo = (self.may_undo && can).then(Box::default);
    }

    /// Returns true if losses are being repaired.
    pub fn repairing(&self) -> bool {
        self.counting.active || self.pipe.repairing()
    }

    /// Returns true until all data outstanding at the signal are acknowledged, even if a variant ends its recovery earlier.
    #[inline]
    pub fn unfinished(&self, flight: &Flight) -> bool {
        match flight.how.pipe() {
            true => self.pipe.repairing(),
            false => flight.snd_una < self.counting.recover,
        }
    }

    /// Handles an acknowledgment of `newly` bytes, after its SACK blocks, for recoveries with a pipe: undoes a needless reduction,
    /// ends a recovery, and marks losses. Returns nothing if losses are not to be searched for yet.
    pub fn examine(
        &mut self,
        now: Time,
        newly: u64,
        flight: &mut Flight,
        timer: &mut RetransmissionTimer,
        congestion: &mut CongestionControl,
    ) -> Option<PipeFindings> {
        let ack = self.pipe.count(newly, flight);
        if self.adaptive_reordering {
            flight.adapt_to_reordering();
        }
        if let Some(undo) = &mut self.undo
            && undo.on_ack(now, ack, &mut self.pipe, flight, congestion)
        {
            return None;
        }
        let repaired = self.pipe.repairing() && self.pipe.leave(now, flight, congestion);
        let signal = if flight.how == LossRecovery::Rack {
            self.rack.update(now, flight);
            self.find_late(now, flight, timer)
        } else {
            self.pipe.find_losses(ack, flight)
        };
        Some(PipeFindings { signal, repaired })
    }

    /// Marks segments that are lost by their age (RFC 8985 §6.2 step 5). Returns true if any newly are.
    pub fn find_late(&mut self, now: Time, flight: &mut Flight, timer: &mut RetransmissionTimer) -> bool {
        self.rack.find_losses(now, self.pipe.repairing(), flight, timer)
    }

    /// RFC 8985 §7.2: plans a probe after data were sent or acknowledged.
    pub fn plan_probe(&mut self, now: Time, flight: &Flight, timer: &RetransmissionTimer) {
        self.rack.plan(now, flight, self.pipe.repairing(), timer.rtt.smoothed(), timer.at);
    }

    /// Records that [`Config::undo`] may have to restore the present window.
    pub fn begin_undo(&mut self, flight: &Flight, congestion: &CongestionControl) {
        if let Some(undo) = &mut self.undo {
            undo.begin(flight, congestion);
        }
    }

    /// Returns true if a timeout reduces the window; `probing` if a probe of the path's MTU is outstanding.
    pub fn timeout_reduces(
        &mut self,
        probing: bool,
        flight: &Flight,
        congestion: &CongestionControl,
    ) -> bool {
        match &mut self.undo {
            Some(undo) => undo.on_timeout(probing, &self.pipe, flight, congestion),
            None => true,
        }
    }

    /// Handles a retransmission timeout.
    pub fn on_timeout(&mut self, now: Time, flight: &mut Flight, timer: &RetransmissionTimer) {
        if !flight.how.pipe() {
            return self.counting.on_timeout(flight);
        }
        let keep = matches!(flight.how, LossRecovery::Rfc6675 | LossRecovery::Rack);
        // RFC 6675 §5.1: selective acknowledgments may be kept, unless the peer asks for data that it reported (RFC 2018 §8).
        // ns-2's agents forget them.
        let forget = !keep || flight.segments.front().is_some_and(|s| s.sacked);
        if forget {
            flight.segments.forget_sacks();
        }
        if flight.how == LossRecovery::Rack && !forget {
            let patience = self.rack.patience(self.pipe.repairing(), flight, timer);
            flight.segments.mark_old_lost(now, patience);
        } else {
            flight.segments.mark_all_lost();
        }
        if flight.how == LossRecovery::Fack {
            flight.segments.lose_again();
        }
        self.pipe.on_timeout(flight);
        self.rack.on_timeout();
    }

    /// Repairs outstanding data that no congestion has lost: segments marked as lost, or for recoveries that count duplicates all.
    pub fn repair_without_signal(&mut self, flight: &mut Flight) {
        if flight.how.pipe() {
            self.pipe.without_signal(flight);
            self.rack.on_timeout();
        } else {
            self.counting.on_timeout(flight);
        }
    }

    /// Handles the failure of a probe of the path's MTU, whose data are sent again.
    pub fn repair_probe(&mut self, flight: &mut Flight) {
        if flight.how.pipe() {
            self.repair_without_signal(flight);
        } else {
            self.counting.probe_repaired = true;
        }
    }

    /// Handles a report that the receiver got data up to `end` twice, `segments` of them (RFC 2883).
    pub fn duplicate_reported(&mut self, end: u64, segments: u32, flight: &mut Flight) {
        if let Some(undo) = &mut self.undo {
            undo.on_duplicate(end, segments);
        }
        flight.segments.progress.answers_repeat();
        if flight.how == LossRecovery::Rack {
            self.rack.on_dsack(flight.snd_max);
        } else if self.adaptive_reordering {
            flight.adapt_to_duplicate();
        }
    }

    /// Returns true if the next segment is sent for a duplicate.
    pub fn answers_duplicate(&self, cwnd: u64, flight: &Flight) -> bool {
        match flight.how.pipe() {
            true => self.pipe.answers_duplicate(cwnd, flight),
            false => self.counting.answers_duplicate(cwnd, flight),
        }
    }

    /// Returns true if new data are to be sent before retransmissions, since they show if a timeout was needless (F-RTO).
    pub fn asks_for_new(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.asks_for_new(&self.pipe))
    }

    /// Handles a lack of new data while they are asked for. Returns true if nothing is to be sent.
    pub fn awaits_new(&mut self, snd_max: u64) -> bool {
        self.undo.as_mut().is_some_and(|undo| undo.awaits_new(&self.pipe, snd_max))
    }

    /// Sends the segment with this index again.
    pub fn send_again(&mut self, now: Time, index: usize, flight: &mut Flight) -> NextSegment {
        let start = flight.segments.get(index).map_or(0, |s| s.start);
        let next = self.pipe.next_of_repeat(start, flight);
        flight.segments.sent_again(now, index, next);
        if let Some(undo) = &mut self.undo
            && self.pipe.repairing()
        {
            undo.on_repeat(now);
        }
        let end = flight.segments.get(index).map_or(start, |s| s.end);
        flight.segment_of(start, end)
    }

    /// Records the sending of `bytes` up to `end`, new or again.
    #[inline]
    pub fn sent(&mut self, now: Time, end: u64, bytes: u64, flight: &Flight, timer: &RetransmissionTimer) {
        if flight.how.pipe() {
            self.pipe.sent(end, bytes);
            if flight.how == LossRecovery::Rack {
                self.plan_probe(now, flight, timer);
            }
        }
    }
}
