//! Loss recovery that tracks data in flight: RFC 6675, ns-2's Sack1, FACK, and the common part of RACK-TLP.
//!
//! Follows RFC 6675 §5 and §5.1; Mathis and Mahdavi (1996); ns-2's agents for Sack1 and FACK, whose peculiarities are noted below.
//! Differs: a segment counts as in flight at most once, so that a late segment is not counted twice after its retransmission.
//! Leaves out FACK's overdamping and rampdown, which are options of ns-2 that are off by default.

use super::super::config::{Config, LossRecovery};
use super::super::congestion::CongestionControl;
use super::super::flight::Flight;
use super::super::retransmission_timer::RetransmissionTimer;
use super::super::send_buffer::SendBuffer;
use super::prr::Prr;
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

/// The contents of an acknowledgment for a pipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct PipeAck {
    /// Bytes acknowledged cumulatively.
    pub newly: u64,
    /// True if SACK blocks reported data for the first time.
    pub sacked_new: bool,
}

impl PipeAck {
    /// RFC 6675 §2: a duplicate is one that selectively acknowledges new data. Others answer needless retransmissions.
    pub fn duplicate(&self) -> bool {
        self.newly == 0 && self.sacked_new
    }
}

/// The next transmission that a pipe allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PipeTurn {
    Nothing,
    /// The lost segment with this index again.
    Again(usize),
    /// New data, or if there are none the last resort.
    New,
    /// RFC 6675 NextSeg rules 3 and 4, since new data must wait.
    LastResort,
}

/// The limits of a pipe at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PipeLimits {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// One past the last byte that the peer allows.
    pub edge: u64,
    /// True if the retransmission timer runs: without it nothing would end a wait for duplicates.
    pub timer_runs: bool,
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
    prr: Option<Prr>,
    /// Bytes in flight when the acknowledgment being handled arrived, and true if it selectively acknowledged new data.
    pub prior: u64,
    pub sacked_new: bool,
    /// True if segments wait for room for all of them, if the first duplicates send new data, and if the window is reduced in
    /// proportion to the data delivered.
    whole_segments: bool,
    limited_transmit: bool,
    rate_reduction: bool,
}

impl Pipe {
    pub fn new(config: &Config) -> Self {
        Self {
            whole_segments: config.silly_window_avoidance,
            limited_transmit: config.limited_transmit,
            rate_reduction: config.rate_reduction,
            ..Self::default()
        }
    }

    /// Returns true if losses are being repaired.
    #[inline]
    pub fn repairing(&self) -> bool {
        self.phase != RecoveryPhase::Open
    }

    /// Starts a repair without a congestion signal.
    pub(super) fn without_signal(&mut self, flight: &Flight) {
        if !self.repairing() {
            (self.phase, self.recover, self.timed_out) = (RecoveryPhase::Timeout, flight.snd_max, false);
        }
        let segments = flight.segments.pipe / u64::from(flight.mss);
        (self.stalled, self.sack1_pipe) = (false, segments as i64);
    }

    /// Ends a recovery that proved needless, when all below `una` is acknowledged: nothing is left to repair.
    pub(super) fn reopen(&mut self, una: u64) {
        (self.phase, self.prr, self.recover) = (RecoveryPhase::Open, None, una);
        (self.force, self.stalled, self.duplicates) = (false, false, 0);
    }

    /// Counts an acknowledgment of `newly` bytes, after its SACK blocks.
    pub(super) fn count(&mut self, newly: u64, flight: &mut Flight) -> PipeAck {
        let ack = PipeAck { newly, sacked_new: std::mem::take(&mut self.sacked_new) };
        if newly > 0 && flight.how == LossRecovery::Sack1 {
            flight.scoreboard.clear();
        }
        if newly > 0 {
            self.duplicates = 0;
        } else if ack.duplicate() {
            self.duplicates += 1;
        }
        ack
    }

    /// Handles a SACK block.
    pub fn selectively_acknowledged(&mut self, now: Time, start: u64, end: u64, flight: &mut Flight) {
        if self.sends_all_again(flight) {
            let known = flight.scoreboard.total();
            flight.scoreboard.insert(start, end);
            self.sacked_new |= flight.scoreboard.total() > known;
        } else {
            self.sacked_new |= flight.segments.sack(now, start, end);
        }
    }

    /// Returns true if newly found losses start a recovery.
    pub fn may_begin(&self, flight: &Flight) -> bool {
        // ns-2's FACK starts another recovery after a timeout, too.
        let may = match flight.how {
            LossRecovery::Fack if self.timed_out => self.phase != RecoveryPhase::Fast,
            _ => !self.repairing(),
        };
        may && self.past_recovery_point(flight)
    }

    /// Returns true if all data outstanding at the last signal are acknowledged. ns-2's Sack1 requires more after a timeout, and
    /// nothing after a recovery; its FACK never requires it.
    fn past_recovery_point(&self, flight: &Flight) -> bool {
        let (una, recover) = (flight.snd_una, self.recover);
        match flight.how {
            LossRecovery::Fack => true,
            LossRecovery::Sack1 => recover == 0 || una > recover,
            _ => recover == 0 || una >= recover,
        }
    }

    /// After a timeout, ns-2's Sack1 uses blocks only to decide which duplicates count.
    fn sends_all_again(&self, flight: &Flight) -> bool {
        flight.how == LossRecovery::Sack1 && self.phase == RecoveryPhase::Timeout && self.timed_out
    }

    /// Returns true if ns-2's FACK waits: outside of recovery it neither sends nor grows while the peer holds data above a hole.
    fn fack_waits(&self, timer_runs: bool, flight: &Flight) -> bool {
        flight.how == LossRecovery::Fack
            && (self.phase == RecoveryPhase::Open || (self.phase == RecoveryPhase::Timeout && self.timed_out))
            && flight.segments.sacked > 0
            && timer_runs
    }

    /// Measures the RTT of an acknowledgment that starts or continues a repair as ns-2's FACK does: by the echo of the segment that
    /// came last in order, so that it includes the time of the repair. Returns false for other acknowledgments.
    pub fn fack_ages(
        &mut self,
        now: Time,
        ack: u64,
        flight: &Flight,
        timer: &mut RetransmissionTimer,
    ) -> bool {
        if ack > flight.snd_una
            && let Some(front) = flight.segments.front()
        {
            self.echo_at = front.sent_at;
        }
        self.fack_next = self.fack_next.max(ack).max(flight.segments.highest_sacked);
        let repairing = self.phase == RecoveryPhase::Fast || flight.segments.highest_sacked > ack;
        if !repairing || flight.snd_una == 0 {
            return false;
        }
        if timer.timed.is_some_and(|timed| ack >= timed.end) {
            timer.timed = None;
            timer.rtt.reset_backoff();
        }
        timer.rtt.smooth(now.since(self.echo_at));
        true
    }

    /// Leaves the recovery if it has ended. Returns true if it was a fast one.
    pub(super) fn leave(&mut self, now: Time, flight: &Flight, congestion: &mut CongestionControl) -> bool {
        let over = match flight.how {
            // ns-2's FACK requires a segment sent after the signal, and an acknowledgment without SACK blocks.
            LossRecovery::Fack if self.phase == RecoveryPhase::Fast => {
                flight.snd_una > self.recover && flight.segments.sacked == 0
            }
            _ => flight.snd_una >= self.recover,
        };
        if !over {
            return false;
        }
        let fast = std::mem::take(&mut self.phase) == RecoveryPhase::Fast;
        if fast && flight.how == LossRecovery::Sack1 {
            self.recover = 0;
        }
        (self.stalled, self.timed_out) = (false, false);
        self.duplicates = 0;
        if fast {
            if self.prr.take().is_some() {
                // RFC 6937 §3: the algorithm has brought the window there already, except for data not sent.
                congestion.set(congestion.ssthresh());
            }
            congestion.on_recovery_exit(now);
        } else if congestion.owns_recovery() {
            congestion.on_recovery_exit(now);
        }
        fast
    }

    /// Marks segments that are lost by now, for recoveries other than RACK. Returns true if that is a congestion signal.
    pub(super) fn find_losses(&mut self, ack: PipeAck, flight: &mut Flight) -> bool {
        let mss = flight.mss as u64;
        let by_count = ack.duplicate() && self.duplicates >= flight.threshold;
        let repairing = self.repairing();
        if flight.how == LossRecovery::Rfc6675 {
            let edge = flight.segments.rfc6675_edge(flight.threshold, mss);
            let signal = edge > flight.snd_una || by_count;
            if repairing || (signal && self.past_recovery_point(flight)) {
                flight.segments.mark_lost_below(edge);
                if by_count && self.duplicates == flight.threshold {
                    mark_front_lost(flight);
                }
            }
            return signal;
        }
        let signal = match flight.how {
            LossRecovery::Sack1 => by_count,
            _ => flight.segments.highest_sacked >= flight.snd_una + (flight.threshold as u64 + 1) * mss,
        };
        if self.phase == RecoveryPhase::Fast || (signal && self.past_recovery_point(flight)) {
            // Every hole below the highest segment received.
            flight.segments.mark_lost_below(flight.segments.highest_sacked);
            if signal && !repairing {
                mark_front_lost(flight);
            }
        }
        if flight.how == LossRecovery::Fack && self.phase == RecoveryPhase::Fast {
            // With nothing outstanding no timer runs, and nothing would end the wait.
            let lost = repeat_was_lost(flight);
            self.stalled = (self.stalled || lost) && flight.snd_una < flight.snd_max;
        }
        signal
    }

    /// Starts a fast recovery, after the window has been told of the loss. `in_network` is RFC 9937's RecoverFS.
    pub fn begin(&mut self, in_network: u64, flight: &Flight, congestion: &mut CongestionControl) {
        let mss = flight.mss as u64;
        self.phase = RecoveryPhase::Fast;
        self.recover = if flight.how == LossRecovery::Fack { self.fack_next } else { flight.snd_max };
        self.force = true;
        self.rescued = false;
        // The acknowledgment that starts it is subtracted below, and the retransmission that it sends is not counted.
        self.sack1_pipe = (flight.len() / mss) as i64 - flight.threshold as i64;
        if congestion.owns_recovery() {
            return;
        }
        if self.rate_reduction {
            self.prr = Some(Prr::begin(in_network));
            return;
        }
        let cwnd = match flight.how {
            // ns-2's FACK starts with one segment and opens by slow start, while the data in flight fall to meet it.
            LossRecovery::Fack => mss,
            _ => congestion.reduced(),
        };
        congestion.set(cwnd);
    }

    /// Reduces the window during a recovery. Returns the bytes by which an acknowledgment of `newly` opens it otherwise, if it does.
    /// It has started a recovery if `began`, and ended one if `repaired`.
    pub fn adjust_window(
        &mut self,
        newly: u64,
        (began, repaired): (bool, bool),
        timer_runs: bool,
        flight: &Flight,
        congestion: &mut CongestionControl,
    ) -> Option<u64> {
        if self.phase == RecoveryPhase::Fast && flight.how == LossRecovery::Sack1 {
            self.sack1_pipe -= 1 + (newly > 0) as i64;
        }
        // In ns-2 the acknowledgment that ends recovery does not open Sack1's window, nor the one that starts it FACK's.
        let shut = match flight.how {
            LossRecovery::Sack1 => repaired,
            LossRecovery::Fack => began || self.fack_waits(timer_runs, flight),
            _ => false,
        };
        if shut {
            return None;
        }
        let mss = flight.mss as u64;
        let progress = &flight.segments.progress;
        if congestion.owns_recovery() {
            return (progress.delivered > 0 || progress.lost > 0).then_some(newly);
        }
        match self.phase {
            RecoveryPhase::Fast if flight.how == LossRecovery::Fack => Some(mss),
            RecoveryPhase::Fast => {
                if let Some(prr) = &mut self.prr {
                    let safe = newly > 0 && progress.lost == 0;
                    let ssthresh = congestion.ssthresh();
                    let cwnd = prr.on_ack(progress.delivered, safe, flight.segments.pipe, ssthresh, mss);
                    congestion.set(cwnd.max(mss));
                }
                None
            }
            RecoveryPhase::Timeout | RecoveryPhase::Open => Some(newly).filter(|newly| *newly > 0),
        }
    }

    /// Returns true if an acknowledgment of `newly` bytes restarts the retransmission timer.
    pub fn restarts_timer(&self, newly: u64, flight: &Flight) -> bool {
        // FACK's agent in ns-2 restarts the timer for every acknowledgment except those without news.
        newly > 0
            || (flight.how == LossRecovery::Fack
                && (self.phase == RecoveryPhase::Fast || flight.segments.sacked > 0))
    }

    /// Handles a retransmission timeout.
    pub(super) fn on_timeout(&mut self, flight: &Flight) {
        // ns-2's FACK continues a recovery that it was in.
        if flight.how != LossRecovery::Fack || self.phase != RecoveryPhase::Fast {
            (self.phase, self.recover) = (RecoveryPhase::Timeout, flight.snd_max);
        }
        self.duplicates = 0;
        (self.fack_next, self.timed_out) = (flight.snd_una, true);
        self.stalled = false;
        self.prr = None;
        self.force = true;
    }

    /// Returns true if nothing may be sent until an acknowledgment or the timer.
    #[inline]
    pub fn waits(&self, timer_runs: bool, flight: &Flight) -> bool {
        self.stalled || self.fack_waits(timer_runs, flight)
    }

    /// Next transmission: lost segments, then new data, within the windows.
    pub fn next(&mut self, limits: PipeLimits, flight: &mut Flight) -> PipeTurn {
        let forced = self.force;
        if flight.segments.lost_waiting > 0
            && let Some(index) = flight.segments.next_lost()
        {
            let Some(segment) = flight.segments.get(index) else { return PipeTurn::Nothing };
            // A probe of a closed window is sent again when the window is open. A FIN takes no room in it.
            let (data_end, len) = (flight.data_end(segment.end), segment.len());
            if data_end <= limits.edge && (forced || self.has_room(len, limits, flight)) {
                self.force = false;
                return PipeTurn::Again(index);
            }
            return PipeTurn::Nothing;
        }
        self.force = false;
        if !self.has_room(self.least_new(flight), limits, flight) {
            return PipeTurn::Nothing;
        }
        if self.holds_new(limits, flight) { PipeTurn::LastResort } else { PipeTurn::New }
    }

    /// Smallest room in the congestion window for which new data are sent, bytes.
    #[inline]
    fn least_new(&self, flight: &Flight) -> u64 {
        if self.whole_segments { flight.mss as u64 } else { 1 }
    }

    /// Room in the congestion window for new data, bytes; at least 1, since there is some.
    pub fn room_for_new(&self, limits: PipeLimits, flight: &Flight) -> u64 {
        let cwnd = limits.cwnd;
        let room = match flight.how {
            // ns-2's Sack1 counts segments while it repairs, and from the oldest outstanding one before.
            LossRecovery::Sack1 if self.phase == RecoveryPhase::Fast => flight.mss as u64,
            LossRecovery::Sack1 if limits.timer_runs => {
                (cwnd + self.beyond_window(flight)).saturating_sub(flight.len())
            }
            _ => cwnd.saturating_sub(flight.in_window()),
        };
        room.max(1)
    }

    /// Bytes beyond the window that duplicates let ns-2's Sack1 send before it repairs anything.
    fn beyond_window(&self, flight: &Flight) -> u64 {
        let most = if self.limited_transmit { flight.threshold - 1 } else { 0 };
        u64::from(self.duplicates.min(most)) * flight.mss as u64
    }

    /// Returns true if new data must wait although the pipe has room.
    fn holds_new(&self, limits: PipeLimits, flight: &Flight) -> bool {
        let PipeLimits { cwnd, timer_runs, .. } = limits;
        let least = self.least_new(flight);
        let holding = !self.repairing() && self.duplicates > 0 && timer_runs;
        match flight.how {
            // Before a repair, ns-2's Sack1 counts from the oldest outstanding segment; each duplicate allows one more.
            LossRecovery::Sack1 if !self.repairing() && timer_runs => {
                flight.len() + least > cwnd + self.beyond_window(flight)
            }
            _ => holding && !self.limited_transmit && flight.len() + least > cwnd,
        }
    }

    /// Returns true if the next segment is sent for a duplicate: limited transmit, or the retransmission that starts a recovery.
    pub(super) fn answers_duplicate(&self, cwnd: u64, flight: &Flight) -> bool {
        match self.phase {
            RecoveryPhase::Fast => self.force,
            RecoveryPhase::Timeout => false,
            RecoveryPhase::Open => {
                self.limited_transmit
                    && (1..flight.threshold).contains(&self.duplicates)
                    && flight.len() + flight.mss as u64 > cwnd
            }
        }
    }

    /// Returns true if the window has room for `bytes` more.
    pub fn has_room(&self, bytes: u64, limits: PipeLimits, flight: &Flight) -> bool {
        let cwnd = limits.cwnd;
        if flight.how == LossRecovery::Sack1 && self.phase == RecoveryPhase::Fast {
            return self.sack1_pipe < (cwnd / flight.mss as u64) as i64;
        }
        let pipe = flight.segments.pipe;
        if self.sends_all_again(flight) && self.duplicates > 0 && limits.timer_runs {
            let few = self.limited_transmit && self.duplicates < flight.threshold;
            return few && pipe + bytes <= cwnd + u64::from(self.duplicates) * flight.mss as u64;
        }
        // A short segment may fit where a full one would not; an empty pipe takes any.
        pipe + bytes <= cwnd || pipe == 0
    }

    /// Returns true if the windows would allow a segment.
    pub fn would_send(&self, buffer: &SendBuffer, limits: PipeLimits, flight: &Flight) -> bool {
        if self.waits(limits.timer_runs, flight) {
            return false;
        }
        if self.force || !self.has_room(self.least_new(flight), limits, flight) {
            return self.force;
        }
        let rest = buffer.unsent(flight.snd_max);
        flight.segments.lost_waiting > 0
            || (rest > 0
                && flight.snd_max + rest.min(flight.mss as u64) <= limits.edge
                && !self.holds_new(limits, flight))
    }

    /// RFC 6675 NextSeg rules 3 and 4: in recovery, without new data to send, a segment that may be lost. Returns its index.
    pub fn last_resort(&mut self, flight: &Flight) -> Option<usize> {
        if self.phase != RecoveryPhase::Fast || flight.how != LossRecovery::Rfc6675 || self.rescued {
            return None;
        }
        // Rule 4: once, the highest segment that is not selectively acknowledged; rule 3's segments lie below it and are found in
        // turn.
        let segments = &flight.segments;
        let index = (0..segments.len()).rev().find(|i| segments.get(*i).is_some_and(|s| !s.sacked))?;
        self.rescued = true;
        segments.get(index).filter(|s| s.sent <= 1).map(|_| index)
    }

    /// The number above which deliveries show that a retransmission of the segment at `start` was lost: that of the next new byte,
    /// except for FACK.
    pub(super) fn next_of_repeat(&self, start: u64, flight: &Flight) -> u64 {
        match flight.how {
            // Data retransmitted after a timeout count as sent for the first time, until the peer holds data beyond them.
            LossRecovery::Fack if start >= self.fack_next => 0,
            LossRecovery::Fack => self.fack_next,
            _ => flight.snd_max,
        }
    }

    /// Counts bytes sent up to `end`, new or retransmitted.
    #[inline]
    pub(super) fn sent(&mut self, end: u64, bytes: u64) {
        self.sack1_pipe += 1;
        self.fack_next = self.fack_next.max(end);
        if let Some(prr) = &mut self.prr {
            prr.sent(bytes);
        }
    }
}

fn mark_front_lost(flight: &mut Flight) {
    if flight.segments.front().is_some_and(|s| s.sent == 1) {
        flight.segments.mark_lost(0);
    }
}

/// Returns true if data sent after a retransmission have arrived and the retransmission has not.
fn repeat_was_lost(flight: &mut Flight) -> bool {
    let highest = flight.segments.highest_sacked;
    while let Some(&(start, at)) = flight.segments.order.front() {
        let index = flight.segments.starting_at(start);
        let segment = index.and_then(|i| flight.segments.get(i)).copied();
        match segment {
            Some(s) if !s.sacked && s.sent_at == at => return s.next_at < highest,
            _ => flight.segments.order.pop_front(),
        };
    }
    false
}
