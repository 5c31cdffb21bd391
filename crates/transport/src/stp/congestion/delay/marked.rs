//! The reaction of the rate by delay to marks of queues (CE), and to losses that come with a queue.
//!
//! Follows docs/stp.md §8.3 rules 4 and 11, and RFC 8511 for the factor of a mark, which an AQM sets before its queue is long.
//! Differs: a mark has no part in what the channel loses, and one is enough.
//! Leaves out the marks that count (`marks`), and the losses that do (`by_queue`).

use super::super::AnswerSignals;
use super::super::answer::PollAnswer;
use super::super::measured_path::LATELY;
use super::super::samples::PollSample;
use super::{Delay, RatePhase};
use skyhop_units::{Span, Time};

/// Factor of the arrival rate after a mark (RFC 8511 §3), and once the queue has gone.
const KEPT: (f64, f64) = (0.85, 0.95);
/// Least and most round trips without a mark before the next increase, if an increase caused one.
const WAITS: (u32, u32) = (2, 8);
/// Lower bound of the reduction, as a part of the rate.
const LEAST: f64 = 0.7;

impl Delay {
    /// Returns true if marks lower the rate. On a path that marks everything they do not.
    pub fn obeys_marks(&self) -> bool {
        self.marks.obeyed()
    }

    /// Returns true if an answer tells of marks that count.
    pub(super) fn is_marked(&mut self, now: Time, answer: &PollAnswer) -> bool {
        let free = self.empty(self.marks.judged_until());
        // While a longer round trip is looked at, a quarter of the rate is sent, except beside others.
        let looks = self.held.is_some() && !matches!(self.phase, RatePhase::Compete { .. });
        self.marks.judge(now, answer, free) && !looks
    }

    /// Reduces the rate after a mark, or a loss that counts as one. Returns false if the phase goes on.
    pub(super) fn marked(&mut self, signals: &AnswerSignals) -> bool {
        let now = signals.now;
        self.losses.wants_shorter();
        let grain = Span::from_secs_f64(LATELY * self.path.floor.seconds());
        let sample =
            self.path.samples.latest(grain, Time::ZERO).or(self.path.samples.latest(Span::ZERO, Time::ZERO));
        // A sample that lacked data does not show how much the path carries.
        let full = sample.filter(PollSample::full);
        let arrives = full.map_or(self.rate, |sample| self.carried(&sample)).min(self.rate);
        let competes = match self.phase {
            RatePhase::Cruise { .. } if self.marks.any() => self.rival.marked(),
            RatePhase::Cruise { .. } => {
                let share = sample.and_then(|sample| self.share_of_queue(&sample));
                self.rival.lost(share)
            }
            _ => false,
        };
        let rate = (KEPT.0 * arrives).max(LEAST * self.rate);
        match self.phase {
            // The train still shows the rate, and half of it is used.
            RatePhase::Start | RatePhase::Proof { .. } => {
                self.opening.saved = None;
                self.opening.marked = true;
                return false;
            }
            RatePhase::Promised(_) => {
                let Some(sample) = sample else { return false };
                self.give_up(signals, &sample);
                self.set_rate(rate.min(self.rate));
            }
            RatePhase::Climb { .. } => {
                // The increase caused the mark: the next one waits longer.
                self.climbs_wait = (2 * self.climbs_wait).clamp(WAITS.0, WAITS.1);
                self.drain(now, rate, arrives);
            }
            RatePhase::Cruise { .. } if competes => {
                self.confirmed.lower(arrives);
                self.rivals(now, rate, false);
            }
            RatePhase::Cruise { .. } => self.drain(now, rate, arrives),
            RatePhase::Compete { mut cubic, look, deep } => {
                cubic.cut(now);
                self.phase = RatePhase::Compete { cubic, look, deep };
                self.compete(signals);
            }
        }
        true
    }

    /// Cruises at `rate` until the queue has gone, then at a little less than what has arrived.
    fn drain(&mut self, now: Time, rate: f64, arrives: f64) {
        self.confirmed.lower(arrives);
        self.cruise(now, rate);
        self.share = Some(KEPT.1 * arrives);
    }
}
