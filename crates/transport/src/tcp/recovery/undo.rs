//! Undo of spurious loss signals: a recovery for segments that were only late, a premature timeout.
//!
//! Follows RFC 3522 and 4015 (by timestamps), RFC 3708 (by reports of duplicates) and RFC 5682 (F-RTO with SACK), as Linux 6.18
//! combines them: `tcp_init_undo`, `tcp_may_undo`, `tcp_try_undo_partial`, `tcp_try_undo_dsack`, `tcp_process_loss`,
//! `tcp_undo_cwnd_reduction`.
//! Differs from RFC 9438 §4.9: CUBIC's plateau is the restored window and not the one before, as in Linux.
//! Leaves out recoveries that count duplicates, and those of ns-2.

use super::super::congestion::{Before, CongestionControl};
use super::super::flight::Flight;
use super::super::timestamps::clock;
use super::pipe::{Pipe, PipeAck, RecoveryPhase};
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
    /// Number of reductions undone.
    pub undone: u64,
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

    /// Records a reduction of the window that is about to be made.
    pub fn begin(&mut self, flight: &Flight, congestion: &CongestionControl) {
        (self.marker, self.before) = (Some(flight.snd_una), Some(congestion.before()));
        self.repeats = Some(flight.segments.repeats_in_flight()).filter(|n| *n > 0);
        (self.repeated_at, self.frto) = (None, false);
    }

    /// Handles a timeout, while a probe of the path's MTU is outstanding or not. Returns true if it reduces the window: not if it or
    /// a recovery has done so for the same data (`tcp_enter_loss`; RFC 5681 §3.1 keeps ssthresh, too).
    pub fn on_timeout(
        &mut self,
        probing: bool,
        pipe: &Pipe,
        flight: &Flight,
        congestion: &CongestionControl,
    ) -> bool {
        let (phase, una) = (pipe.phase, flight.snd_una);
        let again = phase == RecoveryPhase::Timeout && una == self.timed_out_at;
        let reduces = phase == RecoveryPhase::Open
            || una >= pipe.recover
            || (phase == RecoveryPhase::Timeout && !again);
        if reduces {
            self.begin(flight, congestion);
        }
        self.frto = (phase == RecoveryPhase::Open || again) && !probing;
        (self.asking, self.timed_out_at) = (false, una);
        reduces
    }

    /// Handles an acknowledgment with its SACK blocks. Returns true if losses are not to be searched for yet.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        ack: PipeAck,
        pipe: &mut Pipe,
        flight: &mut Flight,
        congestion: &mut CongestionControl,
    ) -> bool {
        self.asking = false;
        if self.marker.is_none() {
            return false;
        }
        match self.judge(now, ack, pipe, flight) {
            UndoVerdict::Stands => false,
            UndoVerdict::Wait => true,
            UndoVerdict::Needless { unmark } => {
                (self.marker, self.frto) = (None, false);
                if let Some(before) = self.before.take() {
                    congestion.undo(before);
                    self.undone += 1;
                }
                if unmark {
                    flight.segments.unmark_lost();
                }
                pipe.reopen(flight.snd_una);
                false
            }
        }
    }

    /// Verdict on the latest reduction by an acknowledgment.
    fn judge(&mut self, now: Time, ack: PipeAck, pipe: &Pipe, flight: &Flight) -> UndoVerdict {
        let (una, recover, newly) = (flight.snd_una, pipe.recover, ack.newly);
        let all_needless = self.repeats == Some(0);
        let late = newly > 0 && self.late(now);
        match pipe.phase {
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
                    self.frto = !ack.sacked_new && newly > 0;
                } else if self.frto && newly > 0 && una < recover {
                    self.asking = true;
                }
            }
        }
        UndoVerdict::Stands
    }

    /// Returns true in F-RTO step 2b: new data are sent, if there are any and the windows have room, before retransmissions.
    pub fn asks_for_new(&self, pipe: &Pipe) -> bool {
        self.asking && pipe.phase == RecoveryPhase::Timeout
    }

    /// Handles a lack of new data to send in F-RTO step 2b. Returns true if some have been sent since the timeout, so that their
    /// acknowledgments are awaited; otherwise F-RTO ends, and retransmissions are due.
    pub fn awaits_new(&mut self, pipe: &Pipe, snd_max: u64) -> bool {
        if snd_max > pipe.recover {
            return true;
        }
        (self.asking, self.frto) = (false, false);
        false
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
