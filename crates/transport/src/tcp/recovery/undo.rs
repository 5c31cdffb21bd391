//! Undo of spurious loss signals: a recovery for segments that were only late, a premature timeout.
//!
//! Follows RFC 3522 and 4015 (by timestamps), RFC 3708 (by reports of duplicates) and RFC 5682 (F-RTO with SACK), as Linux 6.18
//! combines them: `tcp_init_undo`, `tcp_may_undo`, `tcp_try_undo_partial`, `tcp_try_undo_dsack`, `tcp_process_loss`,
//! `tcp_undo_cwnd_reduction`.
//! Differs from RFC 9438 §4.9: CUBIC's plateau is the restored window and not the one before, as in Linux.
//! Leaves out recoveries that count duplicates, and those of ns-2.

use super::super::config::LossRecovery;
use super::super::congestion::Before;
use super::super::flight::{Flight, NextSegment};
use super::super::sender::Sender;
use super::super::timestamps::clock;
use super::pipe::RecoveryPhase;
use skyhop_units::{Span, Time};

#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Oldest byte outstanding at the latest reduction; `None` if no reduction can be undone.
    marker: Option<u64>,
    /// The window before the reduction; `None` if a mark also required the reduction.
    before: Option<Before>,
    /// Time of the first retransmission since the reduction.
    repeated_at: Option<Time>,
    /// Retransmissions that the peer has not reported as duplicates; `None` before the first.
    repeats: Option<u32>,
    /// RTT by the peer's echo of a timestamp in the acknowledgment being handled.
    pub echoed: Option<Span>,
    /// F-RTO: true while originals that arrive after the timeout show that it was premature.
    frto: bool,
    /// F-RTO step 2b: true while new data, and no retransmissions, are sent until the next acknowledgment.
    asking: bool,
    /// Oldest byte outstanding at the latest timeout.
    timed_out_at: u64,
}

impl Undo {
    /// Records a retransmission.
    pub fn on_repeat(&mut self, now: Time) {
        self.repeated_at.get_or_insert(now);
        self.repeats = Some(self.repeats.unwrap_or(0) + 1);
    }

    /// Records a mark: the reduction was required.
    pub fn on_mark(&mut self) {
        self.before = None;
    }

    /// Records that the peer has received all up to `end` twice, `segments` of them.
    pub fn on_duplicate(&mut self, end: u64, segments: u32) {
        if let (Some(marker), Some(repeats)) = (self.marker, self.repeats)
            && end > marker
        {
            self.repeats = Some(repeats.saturating_sub(segments));
        }
    }

    /// Records a reduction of the window `before`, with `una` the oldest outstanding byte and `repeats` retransmissions in flight.
    fn begin(&mut self, una: u64, repeats: u32, before: Before) {
        (self.marker, self.before) = (Some(una), Some(before));
        self.repeats = Some(repeats).filter(|n| *n > 0);
        (self.repeated_at, self.frto) = (None, false);
    }

    /// Verdict on the latest reduction by an acknowledgment that has moved `snd_una` by `newly`, in a recovery of this phase that
    /// ends at
    /// `recover`.
    fn judge(
        &mut self,
        now: Time,
        newly: u64,
        sacked_new: bool,
        phase: RecoveryPhase,
        recover: u64,
        flight: &Flight,
    ) -> UndoVerdict {
        let una = flight.snd_una;
        let all_needless = self.repeats == Some(0);
        let late = newly > 0 && self.late(now);
        match phase {
            RecoveryPhase::Open if all_needless => return UndoVerdict::Needless { unmark: false },
            RecoveryPhase::Fast if una >= recover && (all_needless || late) => {
                return UndoVerdict::Needless { unmark: false };
            }
            RecoveryPhase::Open => {}
            RecoveryPhase::Fast if una >= recover => {}
            // Other retransmissions are still to be acknowledged.
            RecoveryPhase::Fast if late && flight.segments.repeats_in_flight() > 0 => {
                return UndoVerdict::Wait;
            }
            RecoveryPhase::Fast if late || all_needless => return UndoVerdict::Needless { unmark: late },
            RecoveryPhase::Fast => {}
            RecoveryPhase::Timeout => {
                let original = flight.segments.progress.original.is_some_and(|end| end <= recover);
                if (newly > 0 && (all_needless || late)) || (self.frto && original) {
                    return UndoVerdict::Needless { unmark: true };
                } else if self.frto && flight.snd_max > recover {
                    self.frto = !sacked_new && newly > 0;
                } else if self.frto && newly > 0 && una < recover {
                    self.asking = true;
                }
            }
        }
        UndoVerdict::Stands
    }

    /// RFC 3522 §3.2: returns true if the peer answers a segment that left before any retransmission.
    fn late(&self, now: Time) -> bool {
        let Some(at) = self.repeated_at else { return true };
        let since = Span::from_millis(clock(now).wrapping_sub(clock(at)) as u64);
        self.echoed.is_some_and(|rtt| rtt > since)
    }
}

/// Verdict on a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UndoVerdict {
    Stands,
    /// It may have been needless; losses are not searched for yet.
    Wait,
    /// It was needless. With `unmark`, segments marked as lost are unmarked.
    Needless {
        unmark: bool,
    },
}

impl Sender {
    /// Prepares the state for recoveries that can undo a reduction.
    pub(in crate::tcp) fn prepare_undo(&mut self) {
        let can = matches!(self.flight.how, LossRecovery::Rack | LossRecovery::Rfc6675);
        self.undo = (self.config.undo && can).then(Box::default);
    }

    /// Records a reduction that is about to be made.
    pub(super) fn begin_undo(&mut self) {
        if self.undo.is_none() {
            return;
        }
        let (repeats, before) = (self.flight.segments.repeats_in_flight(), self.congestion.before());
        if let Some(undo) = &mut self.undo {
            undo.begin(self.flight.snd_una, repeats, before);
        }
    }

    /// Returns true if a timeout reduces the window: not if it or a recovery has done so for the same data (`tcp_enter_loss`; RFC
    /// 5681 §3.1 keeps ssthresh, too).
    pub(in crate::tcp) fn timeout_reduces(&mut self) -> bool {
        let Some(undo) = &self.undo else { return true };
        let (phase, una) = (self.pipe.phase, self.flight.snd_una);
        let again = phase == RecoveryPhase::Timeout && una == undo.timed_out_at;
        let reduces = phase == RecoveryPhase::Open
            || una >= self.pipe.recover
            || (phase == RecoveryPhase::Timeout && !again);
        if reduces {
            self.begin_undo();
        }
        let frto = (phase == RecoveryPhase::Open || again) && self.path.probe.is_none();
        if let Some(undo) = &mut self.undo {
            (undo.frto, undo.asking, undo.timed_out_at) = (frto, false, una);
        }
        reduces
    }

    /// Handles an acknowledgment of `newly` bytes with its SACK blocks. Returns true if losses are not to be searched for yet.
    pub(super) fn try_undo(&mut self, now: Time, newly: u64, sacked_new: bool) -> bool {
        let Some(undo) = &mut self.undo else { return false };
        undo.asking = false;
        if undo.marker.is_none() {
            return false;
        }
        match undo.judge(now, newly, sacked_new, self.pipe.phase, self.pipe.recover, &self.flight) {
            UndoVerdict::Stands => {}
            UndoVerdict::Wait => return true,
            UndoVerdict::Needless { unmark } => self.undo_reduction(unmark),
        }
        false
    }

    /// F-RTO step 2b: new data, if there are any and the windows have room. `None` if retransmissions are due.
    pub(super) fn poll_frto(&mut self, now: Time) -> Option<Option<NextSegment>> {
        if !self.undo.as_ref().is_some_and(|undo| undo.asking) || self.pipe.phase != RecoveryPhase::Timeout {
            return None;
        }
        if self.has_room(self.flight.mss as u64)
            && let Some(segment) = self.poll_new(now)
        {
            return Some(Some(segment));
        }
        if self.flight.snd_max > self.pipe.recover {
            return Some(None);
        }
        if let Some(undo) = &mut self.undo {
            (undo.asking, undo.frto) = (false, false);
        }
        None
    }

    /// Undoes a needless reduction. With `unmark`, segments marked as lost are unmarked.
    fn undo_reduction(&mut self, unmark: bool) {
        let Some(undo) = &mut self.undo else { return };
        (undo.marker, undo.frto) = (None, false);
        if let Some(before) = undo.before.take() {
            self.congestion.undo(before);
            self.stats.undone += 1;
        }
        if unmark {
            self.flight.segments.unmark_lost();
        }
        let pipe = &mut self.pipe;
        (pipe.phase, pipe.prr, pipe.recover) = (RecoveryPhase::Open, None, self.flight.snd_una);
        pipe.settle();
    }
}
