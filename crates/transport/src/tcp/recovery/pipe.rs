//! Loss recovery that tracks data in flight: RFC 6675, ns-2's Sack1, FACK, and the common part of RACK-TLP.
//!
//! Follows RFC 6675 §5 and §5.1; Mathis and Mahdavi (1996); ns-2's agents for Sack1 and FACK, whose peculiarities are noted below.
//! Differs: a segment counts as in flight at most once, so that a late segment is not counted twice after its retransmission.
//! Leaves out FACK's overdamping and rampdown, which are options of ns-2 that are off by default.

use super::super::config::LossRecovery;
use super::super::flight::NextSegment;
use super::super::sender::Sender;
use super::prr::Prr;
use super::rack::Rack;
use skyhop_units::Time;

/// Phase of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RecoveryPhase {
    #[default]
    Open,
    /// A fast recovery.
    Fast,
    /// A recovery by slow start after a timeout.
    Timeout,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Pipe {
    pub phase: RecoveryPhase,
    /// RecoveryPoint: one past the highest byte sent when the recovery began; no new one starts below it.
    pub recover: u64,
    /// Duplicates since the last new acknowledgment.
    pub duplicates: u32,
    /// True if the first retransmission is sent regardless of the window.
    force: bool,
    /// True if RFC 6675 NextSeg rule 4 has been used.
    rescued: bool,
    /// Data in flight as counted by ns-2's Sack1, segments.
    sack1_pipe: i64,
    /// FACK: true if a retransmission was lost again, so that nothing is sent until the timer expires.
    stalled: bool,
    /// True if a timeout's retransmissions are not all acknowledged.
    timed_out: bool,
    /// FACK: sending time of the segment whose timestamp the peer echoes, the last that arrived in order.
    echo_at: Time,
    /// FACK: one past the highest byte sent, retransmitted after a timeout, or held by the peer: ns-2's `t_seqno_`.
    fack_next: u64,
    pub prr: Option<Prr>,
    pub rack: Rack,
    /// Bytes in flight when the acknowledgment being handled arrived, and true if it selectively acknowledged new data.
    pub prior: u64,
    pub sacked_new: bool,
}

impl Pipe {
    /// Ends the recovery: nothing is left to repair.
    pub(super) fn settle(&mut self) {
        (self.force, self.stalled, self.duplicates) = (false, false, 0);
    }

    /// Starts a repair without a congestion signal; `segments` are in flight.
    pub fn without_signal(&mut self, segments: i64, snd_max: u64) {
        if self.phase == RecoveryPhase::Open {
            (self.phase, self.recover, self.timed_out) = (RecoveryPhase::Timeout, snd_max, false);
        }
        (self.stalled, self.sack1_pipe) = (false, segments);
        self.rack.on_timeout();
    }
}

impl Sender {
    /// Handles an acknowledgment of `newly` bytes, after its SACK blocks. Returns true if the timer is to be restarted.
    pub(in crate::tcp) fn pipe_ack(&mut self, now: Time, newly: u64) -> bool {
        let sacked_new = std::mem::take(&mut self.pipe.sacked_new);
        if newly > 0 && self.flight.how == LossRecovery::Sack1 {
            self.flight.scoreboard.clear();
        }
        // RFC 6675 §2: a duplicate is one that selectively acknowledges new data. Others answer needless retransmissions.
        let counts = newly == 0 && sacked_new;
        if newly > 0 {
            self.pipe.duplicates = 0;
        } else if counts {
            self.pipe.duplicates += 1;
        }
        if self.config.adaptive_reordering {
            self.flight.adapt_to_reordering();
        }
        if self.undo.is_some() && self.try_undo(now, newly, sacked_new) {
            return newly > 0;
        }
        let repaired = self.pipe.phase != RecoveryPhase::Open && self.leave_recovery(now);
        let newly_lost = self.find_losses(now, counts) && !self.only_probe_lost(now);
        // ns-2's FACK starts another recovery after a timeout, too.
        let may = match self.flight.how {
            LossRecovery::Fack if self.pipe.timed_out => self.pipe.phase != RecoveryPhase::Fast,
            _ => self.pipe.phase == RecoveryPhase::Open,
        };
        let began = newly_lost && may && self.past_recovery_point();
        if began {
            self.enter_recovery(now);
        }
        if self.pipe.phase == RecoveryPhase::Fast && self.flight.how == LossRecovery::Sack1 {
            self.pipe.sack1_pipe -= 1 + (newly > 0) as i64;
        }
        // In ns-2 the acknowledgment that ends recovery does not open Sack1's window, nor the one that starts it FACK's.
        let shut = match self.flight.how {
            LossRecovery::Sack1 => repaired,
            LossRecovery::Fack => began || self.fack_waits(),
            _ => false,
        };
        if !shut {
            self.adjust_window(now, newly);
        }
        // FACK's agent in ns-2 restarts the timer for every acknowledgment except those without news.
        newly > 0
            || (self.flight.how == LossRecovery::Fack
                && (self.pipe.phase == RecoveryPhase::Fast || self.flight.segments.sacked > 0))
    }

    /// Returns true if all data outstanding at the last signal are acknowledged. ns-2's Sack1 requires more after a timeout, and
    /// nothing after a recovery; its FACK never requires it.
    fn past_recovery_point(&self) -> bool {
        let (una, recover) = (self.flight.snd_una, self.pipe.recover);
        match self.flight.how {
            LossRecovery::Fack => true,
            LossRecovery::Sack1 => recover == 0 || una > recover,
            _ => recover == 0 || una >= recover,
        }
    }

    /// After a timeout, ns-2's Sack1 uses blocks only to decide which duplicates count.
    pub(in crate::tcp) fn sends_all_again(&self) -> bool {
        self.flight.how == LossRecovery::Sack1
            && self.pipe.phase == RecoveryPhase::Timeout
            && self.pipe.timed_out
    }

    /// Returns true if ns-2's FACK waits: outside of recovery it neither sends nor grows while the peer holds data above a hole.
    fn fack_waits(&self) -> bool {
        // Without a running timer nothing would end the wait.
        self.flight.how == LossRecovery::Fack
            && (self.pipe.phase == RecoveryPhase::Open
                || (self.pipe.phase == RecoveryPhase::Timeout && self.pipe.timed_out))
            && self.flight.segments.sacked > 0
            && self.timer.at.is_some()
    }

    /// Measures the RTT of an acknowledgment that starts or continues a repair as ns-2's FACK does: by the echo of the segment that
    /// came last in order, so that it includes the time of the repair. Returns false for other acknowledgments.
    pub(in crate::tcp) fn fack_ages(&mut self, now: Time, ack: u64) -> bool {
        if ack > self.flight.snd_una
            && let Some(front) = self.flight.segments.front()
        {
            self.pipe.echo_at = front.sent_at;
        }
        self.pipe.fack_next = self.pipe.fack_next.max(ack).max(self.flight.segments.highest_sacked);
        let repairing = self.pipe.phase == RecoveryPhase::Fast || self.flight.segments.highest_sacked > ack;
        if !repairing || self.flight.snd_una == 0 {
            return false;
        }
        if self.timer.timed.is_some_and(|timed| ack >= timed.end) {
            self.timer.timed = None;
            self.timer.rtt.reset_backoff();
        }
        self.timer.rtt.smooth(now.since(self.pipe.echo_at));
        true
    }

    /// Leaves fast recovery if it has ended. Returns true if so.
    fn leave_recovery(&mut self, now: Time) -> bool {
        let over = match self.flight.how {
            // ns-2's FACK requires a segment sent after the signal, and an acknowledgment without SACK blocks.
            LossRecovery::Fack if self.pipe.phase == RecoveryPhase::Fast => {
                self.flight.snd_una > self.pipe.recover && self.flight.segments.sacked == 0
            }
            _ => self.flight.snd_una >= self.pipe.recover,
        };
        if !over {
            return false;
        }
        let fast = std::mem::take(&mut self.pipe.phase) == RecoveryPhase::Fast;
        if fast && self.flight.how == LossRecovery::Sack1 {
            self.pipe.recover = 0;
        }
        (self.pipe.stalled, self.pipe.timed_out) = (false, false);
        self.pipe.duplicates = 0;
        if fast {
            if self.pipe.prr.take().is_some() {
                // RFC 6937 §3: the algorithm has brought the window there already, except for data not sent.
                self.congestion.set(self.congestion.ssthresh());
            }
            self.congestion.on_recovery_exit(now);
        } else if self.congestion.owns_recovery() {
            self.congestion.on_recovery_exit(now);
        }
        fast
    }

    /// Marks segments that are lost by now. Returns true if that is a congestion signal.
    fn find_losses(&mut self, now: Time, counts: bool) -> bool {
        let mss = self.flight.mss as u64;
        let by_count = counts && self.pipe.duplicates >= self.flight.threshold;
        let repairing = self.pipe.phase != RecoveryPhase::Open;
        match self.flight.how {
            LossRecovery::Rfc6675 => {
                let edge = self.flight.segments.rfc6675_edge(self.flight.threshold, mss);
                let signal = edge > self.flight.snd_una || by_count;
                if repairing || (signal && self.past_recovery_point()) {
                    self.flight.segments.mark_lost_below(edge);
                    if by_count && self.pipe.duplicates == self.flight.threshold {
                        self.mark_front_lost();
                    }
                }
                signal
            }
            LossRecovery::Sack1 | LossRecovery::Fack => {
                let signal = match self.flight.how {
                    LossRecovery::Sack1 => by_count,
                    _ => {
                        self.flight.segments.highest_sacked
                            >= self.flight.snd_una + (self.flight.threshold as u64 + 1) * mss
                    }
                };
                if self.pipe.phase == RecoveryPhase::Fast || (signal && self.past_recovery_point()) {
                    // Every hole below the highest segment received.
                    self.flight.segments.mark_lost_below(self.flight.segments.highest_sacked);
                    if signal && !repairing {
                        self.mark_front_lost();
                    }
                }
                if self.flight.how == LossRecovery::Fack && self.pipe.phase == RecoveryPhase::Fast {
                    // With nothing outstanding no timer runs, and nothing would end the wait.
                    let lost = self.repeat_was_lost();
                    self.pipe.stalled =
                        (self.pipe.stalled || lost) && self.flight.snd_una < self.flight.snd_max;
                }
                signal
            }
            _ => self.rack_losses(now),
        }
    }

    fn mark_front_lost(&mut self) {
        if self.flight.segments.front().is_some_and(|s| s.sent == 1) {
            self.flight.segments.mark_lost(0);
        }
    }

    /// Returns true if data sent after a retransmission have arrived and the retransmission has not.
    fn repeat_was_lost(&mut self) -> bool {
        let highest = self.flight.segments.highest_sacked;
        while let Some(&(start, at)) = self.flight.segments.order.front() {
            let index = self.flight.segments.starting_at(start);
            let segment = index.and_then(|i| self.flight.segments.get(i)).copied();
            match segment {
                Some(s) if !s.sacked && s.sent_at == at => return s.next_at < highest,
                _ => self.flight.segments.order.pop_front(),
            };
        }
        false
    }

    pub(super) fn enter_recovery(&mut self, now: Time) {
        let mss = self.flight.mss as u64;
        let in_use = self.halved();
        // RFC 9937 §6.1: data in the network when the acknowledgment arrived that started this.
        let recover_fs = self.flight.snd_max - self.flight.snd_una - self.flight.segments.sacked
            + self.flight.segments.progress.delivered;
        self.begin_undo();
        self.signal_loss(now, in_use);
        self.stats.fast_retransmits += 1;
        self.timer.timed = None;
        self.timer.restart(now);
        let pipe = &mut self.pipe;
        pipe.phase = RecoveryPhase::Fast;
        pipe.recover =
            if self.flight.how == LossRecovery::Fack { pipe.fack_next } else { self.flight.snd_max };
        pipe.force = true;
        pipe.rescued = false;
        // The acknowledgment that starts it is subtracted below, and the retransmission that it sends is not counted.
        pipe.sack1_pipe =
            ((self.flight.snd_max - self.flight.snd_una) / mss) as i64 - self.flight.threshold as i64;
        if self.congestion.owns_recovery() {
            return;
        }
        if self.config.rate_reduction {
            pipe.prr = Some(Prr::begin(recover_fs));
            return;
        }
        let cwnd = match self.flight.how {
            // ns-2's FACK starts with one segment and opens by slow start, while the data in flight fall to meet it.
            LossRecovery::Fack => mss,
            _ => self.congestion.reduced(),
        };
        self.congestion.set(cwnd);
    }

    fn adjust_window(&mut self, now: Time, newly: u64) {
        let mss = self.flight.mss as u64;
        let delivered = self.flight.segments.progress.delivered;
        if self.congestion.owns_recovery() {
            if delivered > 0 || self.flight.segments.progress.lost > 0 {
                self.grow(now, newly);
            }
            return;
        }
        match self.pipe.phase {
            RecoveryPhase::Fast => {
                if self.flight.how == LossRecovery::Fack {
                    self.grow(now, self.flight.mss as u64);
                } else if let Some(prr) = &mut self.pipe.prr {
                    let safe = newly > 0 && self.flight.segments.progress.lost == 0;
                    let ssthresh = self.congestion.ssthresh();
                    let cwnd = prr.on_ack(delivered, safe, self.flight.segments.pipe, ssthresh, mss);
                    self.congestion.set(cwnd.max(mss));
                }
            }
            RecoveryPhase::Timeout | RecoveryPhase::Open if newly > 0 => self.grow(now, newly),
            _ => {}
        }
    }

    /// Handles a retransmission timeout.
    pub(in crate::tcp) fn pipe_timeout(&mut self, now: Time) {
        let keep = matches!(self.flight.how, LossRecovery::Rfc6675 | LossRecovery::Rack);
        // RFC 6675 §5.1: selective acknowledgments may be kept, unless the peer asks for data that it reported (RFC 2018 §8).
        // ns-2's agents forget them.
        let forget = !keep || self.flight.segments.front().is_some_and(|s| s.sacked);
        if forget {
            self.flight.segments.forget_sacks();
        }
        if self.flight.how == LossRecovery::Rack && !forget {
            self.flight.segments.mark_old_lost(now, self.rack_patience());
        } else {
            self.flight.segments.mark_all_lost();
        }
        if self.flight.how == LossRecovery::Fack {
            self.flight.segments.lose_again();
        }
        let pipe = &mut self.pipe;
        // ns-2's FACK continues a recovery that it was in.
        if self.flight.how != LossRecovery::Fack || pipe.phase != RecoveryPhase::Fast {
            (pipe.phase, pipe.recover) = (RecoveryPhase::Timeout, self.flight.snd_max);
        }
        pipe.duplicates = 0;
        (pipe.fack_next, pipe.timed_out) = (self.flight.snd_una, true);
        pipe.stalled = false;
        pipe.prr = None;
        pipe.force = true;
        pipe.rack.on_timeout();
    }

    /// Next transmission: lost segments, then new data, within the windows.
    pub(in crate::tcp) fn poll_pipe(&mut self, now: Time) -> Option<NextSegment> {
        if self.pipe.stalled || self.fack_waits() {
            return None;
        }
        if self.undo.is_some()
            && let Some(turn) = self.poll_frto(now)
        {
            return turn;
        }
        let forced = self.pipe.force;
        if self.flight.segments.lost_waiting > 0
            && let Some(index) = self.flight.segments.next_lost()
        {
            let segment = *self.flight.segments.get(index)?;
            // A probe of a closed window is sent again when the window is open. A FIN takes no room in it.
            let data_end = self.flight.data_end(segment.end);
            if data_end <= self.peer.edge && (forced || self.has_room(segment.len())) {
                self.pipe.force = false;
                return Some(self.send_again(now, index));
            }
            return None;
        }
        self.pipe.force = false;
        if !self.has_room(self.least_new()) {
            return None;
        }
        let held = self.holds_new();
        if !held && let Some(segment) = self.poll_new(now) {
            return Some(segment);
        }
        self.last_resort(now)
    }

    /// Smallest room in the congestion window for which new data are sent, bytes.
    fn least_new(&self) -> u64 {
        if self.config.silly_window_avoidance { self.flight.mss as u64 } else { 1 }
    }

    /// Room in the congestion window for new data, bytes; at least 1, since there is some.
    pub(in crate::tcp) fn room_for_new(&self) -> u64 {
        let (cwnd, in_window) = (self.congestion.cwnd(), self.flight.in_window());
        let room = match self.flight.how {
            // ns-2's Sack1 counts segments while it repairs, and from the oldest outstanding one before.
            LossRecovery::Sack1 if self.pipe.phase == RecoveryPhase::Fast => self.flight.mss as u64,
            LossRecovery::Sack1 if self.timer.at.is_some() => {
                (cwnd + self.beyond_window()).saturating_sub(self.flight.len())
            }
            _ => cwnd.saturating_sub(in_window),
        };
        room.max(1)
    }

    /// Bytes beyond the window that duplicates let ns-2's Sack1 send before it repairs anything.
    fn beyond_window(&self) -> u64 {
        let most = if self.config.limited_transmit { self.flight.threshold - 1 } else { 0 };
        u64::from(self.pipe.duplicates.min(most)) * self.flight.mss as u64
    }

    /// Returns true if new data must wait although the pipe has room.
    fn holds_new(&self) -> bool {
        let least = self.least_new();
        // Without a running timer nothing would end the wait.
        let holding =
            self.pipe.phase == RecoveryPhase::Open && self.pipe.duplicates > 0 && self.timer.at.is_some();
        match self.flight.how {
            // Before a repair, ns-2's Sack1 counts from the oldest outstanding segment; each duplicate allows one more.
            LossRecovery::Sack1 if self.pipe.phase == RecoveryPhase::Open && self.timer.at.is_some() => {
                self.flight.len() + least > self.congestion.cwnd() + self.beyond_window()
            }
            _ => {
                holding && !self.config.limited_transmit && self.flight.len() + least > self.congestion.cwnd()
            }
        }
    }

    /// Returns true if the next segment is sent for a duplicate: limited transmit, or the retransmission that starts a recovery.
    pub(in crate::tcp) fn answers_duplicate(&self) -> bool {
        if !self.flight.how.pipe() {
            return self.counting.answers_duplicate(self.congestion.cwnd(), &self.flight);
        }
        match self.pipe.phase {
            RecoveryPhase::Fast => self.pipe.force,
            RecoveryPhase::Timeout => false,
            RecoveryPhase::Open => {
                self.config.limited_transmit
                    && (1..self.flight.threshold).contains(&self.pipe.duplicates)
                    && self.flight.len() + self.flight.mss as u64 > self.congestion.cwnd()
            }
        }
    }

    /// Returns true if the window has room for `bytes` more.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let cwnd = self.congestion.cwnd();
        if self.flight.how == LossRecovery::Sack1 && self.pipe.phase == RecoveryPhase::Fast {
            return self.pipe.sack1_pipe < (cwnd / self.flight.mss as u64) as i64;
        }
        if self.sends_all_again() && self.pipe.duplicates > 0 && self.timer.at.is_some() {
            let few = self.config.limited_transmit && self.pipe.duplicates < self.flight.threshold;
            return few
                && self.flight.segments.pipe + bytes
                    <= cwnd + u64::from(self.pipe.duplicates) * self.flight.mss as u64;
        }
        // A short segment may fit where a full one would not; an empty pipe takes any.
        self.flight.segments.pipe + bytes <= cwnd || self.flight.segments.pipe == 0
    }

    /// Returns true if the windows would allow a segment.
    pub(in crate::tcp) fn pipe_would_send(&self) -> bool {
        let mss = self.flight.mss as u64;
        if self.pipe.stalled || self.fack_waits() {
            return false;
        }
        if self.pipe.force || !self.has_room(self.least_new()) {
            return self.pipe.force;
        }
        let rest = self.buffer.unsent(self.flight.snd_max);
        self.flight.segments.lost_waiting > 0
            || (rest > 0 && self.flight.snd_max + rest.min(mss) <= self.peer.edge && !self.holds_new())
    }

    /// RFC 6675 NextSeg rules 3 and 4: in recovery, without new data to send, segments that may be lost.
    fn last_resort(&mut self, now: Time) -> Option<NextSegment> {
        if self.pipe.phase != RecoveryPhase::Fast
            || self.flight.how != LossRecovery::Rfc6675
            || self.pipe.rescued
        {
            return None;
        }
        // Rule 4: once, the highest segment that is not selectively acknowledged; rule 3's segments lie below it and are found in
        // turn.
        let mut index = self.flight.segments.len();
        while index > 0 {
            index -= 1;
            let segment = self.flight.segments.get(index)?;
            if !segment.sacked {
                self.pipe.rescued = true;
                if segment.sent > 1 {
                    return None;
                }
                return Some(self.send_again(now, index));
            }
        }
        None
    }

    /// A retransmission of the segment with this index.
    pub(super) fn send_again(&mut self, now: Time, index: usize) -> NextSegment {
        let mut next = self.flight.snd_max;
        if self.flight.how == LossRecovery::Fack {
            // Data retransmitted after a timeout count as sent for the first time, until the peer holds data beyond them.
            let first = self.flight.segments.get(index).is_some_and(|s| s.start >= self.pipe.fack_next);
            next = if first { 0 } else { self.pipe.fack_next };
        }
        self.flight.segments.sent_again(now, index, next);
        let (start, end) = self.flight.segments.get(index).map_or((0, 0), |s| (s.start, s.end));
        if let Some(undo) = &mut self.undo
            && self.pipe.phase != RecoveryPhase::Open
        {
            undo.on_repeat(now);
        }
        let outgoing = self.flight.segment_of(start, end);
        self.note_sent(now, outgoing);
        // RACK detects retransmissions that are lost again; the timer gives each of them its time, as Linux does for the oldest.
        if index == 0 && self.flight.how == LossRecovery::Rack {
            self.timer.restart(now);
        }
        outgoing
    }

    /// Counts bytes sent, new or retransmitted.
    pub(in crate::tcp) fn pipe_sent(&mut self, end: u64, bytes: u64) {
        self.pipe.sack1_pipe += 1;
        self.pipe.fack_next = self.pipe.fack_next.max(end);
        if let Some(prr) = &mut self.pipe.prr {
            prr.sent(bytes);
        }
    }
}
