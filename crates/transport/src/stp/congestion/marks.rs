//! Marks of queues (CE) as congestion: at most one reduction for a round trip, and none on a path that marks everything.
//!
//! Follows RFC 3168 §6.1.2 (one reduction for a round trip) and docs/stp.md §8.3, rule 11.
//! Differs: a path where all packets are marked without a queue says nothing, and its marks are ignored from then on.
//! Leaves out the reduction itself (`delay`).

use super::answer::PollAnswer;
use skyhop_units::Time;

/// Reductions in sequence, with all packets marked and no queue, after which marks are ignored.
const IN_VAIN: u32 = 3;
/// Number of packets without which nothing can be said of all.
const ENOUGH: u64 = 8;

/// The counts at a POLL.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    sent_at: Time,
    marked: u64,
    arrived: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MarkJudge {
    /// The counts up to which marks have had their effect.
    known: Counted,
    /// Time of the last reduction, until a POLL that left after it is answered.
    cut: Option<Time>,
    /// Reductions in sequence that were in vain.
    in_vain: u32,
}

impl MarkJudge {
    /// Returns true if marks are a sign of congestion on this path.
    pub fn obeyed(&self) -> bool {
        self.in_vain < IN_VAIN
    }

    /// Returns true if a queue has marked packets, and marks are obeyed.
    pub fn any(&self) -> bool {
        self.known.marked > 0 && self.obeyed()
    }

    /// Departure of the POLL up to which marks have had their effect.
    pub fn judged_until(&self) -> Time {
        self.known.sent_at
    }

    /// Takes an answer; `free` if no POLL has met a queue since [`MarkJudge::judged_until`]. Returns true if the rate is to be reduced.
    pub fn judge(&mut self, now: Time, answer: &PollAnswer, free: bool) -> bool {
        let counted = Counted { sent_at: answer.sent_at, marked: answer.marked, arrived: answer.arrived };
        if let Some(at) = self.cut {
            // These packets left before the reduction.
            self.known = counted;
            if answer.sent_at >= at {
                self.cut = None;
            }
            return false;
        }
        let marks = counted.marked.saturating_sub(self.known.marked);
        let arrived = counted.arrived.saturating_sub(self.known.arrived);
        if marks == 0 || !self.obeyed() {
            if marks < arrived && self.obeyed() {
                self.in_vain = 0;
            }
            self.known = counted;
            return false;
        }
        if free && marks >= arrived {
            if arrived < ENOUGH {
                return false;
            }
            self.in_vain += 1;
        } else {
            self.in_vain = 0;
        }
        self.known = counted;
        self.cut = Some(now);
        self.obeyed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;

    fn answer(sent_ms: u64, arrived: u64, marked: u64) -> PollAnswer {
        let sent_at = Time::from_nanos(sent_ms * 1_000_000);
        PollAnswer { marked, ..PollAnswer::of(sent_at, Span::from_millis(100), arrived) }
    }

    fn judge(marks: &mut MarkJudge, answer: &PollAnswer, free: bool) -> bool {
        marks.judge(answer.sent_at + answer.rtt, answer, free)
    }

    /// RFC 3168 §6.1.2: marks of packets that left before a reduction cause no other.
    #[test]
    fn one_reduction_for_a_round_trip() {
        let mut marks = MarkJudge::default();
        assert!(!judge(&mut marks, &answer(0, 100, 0), true));
        assert!(judge(&mut marks, &answer(30, 200, 1), false));
        let cuts: Vec<u64> = (2..20)
            .filter(|n| judge(&mut marks, &answer(30 * n, 100 * n, *n), false))
            .map(|n| 30 * n)
            .collect();
        assert_eq!(cuts, [180, 330, 480], "the first POLL after a reduction begins the next round trip");
        assert!(marks.obeyed());
    }

    /// A path that marks each packet, with or without a queue, costs three reductions; one with a queue is obeyed for ever.
    #[test]
    fn marks_on_everything_without_a_queue_say_nothing() {
        for (free, most) in [(true, 2), (false, u32::MAX)] {
            let mut marks = MarkJudge::default();
            let cuts = (1..1000).filter(|n| judge(&mut marks, &answer(30 * n, 20 * n, 20 * n), free)).count();
            assert!(cuts as u32 <= most && cuts >= 2, "{free} {cuts}");
            assert_eq!(marks.obeyed(), !free);
        }
        // Not everything is marked.
        let mut marks = MarkJudge::default();
        assert!((1..1000).filter(|n| judge(&mut marks, &answer(30 * n, 20 * n, 19 * n), true)).count() > 150);
        assert!(marks.obeyed());
    }
}
