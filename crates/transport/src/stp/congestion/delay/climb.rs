//! Increases of the rate by delay: the steps, how each is judged, and how it ends.
//!
//! Follows docs/stp.md §8.3 rule 6, and RFC 9959 §4.5 for the retreat after losses.
//! Leaves out the trains before the first increase (`opening`) and when an increase begins (`delay`).

use super::super::AnswerSignals;
use super::super::samples::{ENOUGH, PollSample};
use super::{CARRIED, Delay, NOISE, RatePhase, RateTrial};
use skyhop_units::{Span, Time};

/// Largest factors of successive increases of the rate while there is no queue. The number of those that are smaller for a faster flow,
/// and the smallest part that is then added in the first.
pub(super) const STEPS: [f64; 4] = [1.1, 1.3, 1.6, 2.0];
const GENTLE: (usize, f64) = (2, 0.015);
/// Window in packets below which one step of an increase is enough to try the remembered rate: a sample takes a round trip there.
const FEW: f64 = 16.0;

/// Packets sent at a rate on trial from which on their losses end it, or as many as are in a round trip: a short outage loses fewer.
const TRIED: f64 = 32.0;

/// Factor up to which a rate is the same as another.
const SAME: f64 = 1.01;
/// Factor of the rate that trains have shown over this one from which on an increase doubles at once.
const FAR: f64 = 4.0;

impl Delay {
    pub(super) fn begin_climb(&mut self, signals: &AnswerSignals, rate: f64, aim: Option<f64>, step: usize) {
        self.losses.abandon_test();
        self.set_rate(rate);
        self.phase = RatePhase::Climb { aim, since: signals.now, step };
        self.trial =
            RateTrial { first: signals.next, rate: self.rate, factor: STEPS[step], ..RateTrial::default() };
    }

    /// Raises the rate by this step.
    pub(super) fn step_up(&mut self, signals: &AnswerSignals, step: usize) {
        // So far below what trains have shown, twice the rate hardly lengthens a queue.
        let far = FAR * self.rate < self.lookout.shown(signals.now, self.path.floor.seconds());
        let step = if far { STEPS.len() - 1 } else { step };
        let factor = self.factor(step);
        self.begin_climb(signals, factor * self.rate, None, step);
        self.trial.factor = factor;
    }

    /// Factor of a step. In a round trip the first adds no more to a full path than half of the queue's target, 1/sqrt(w) of a round
    /// trip: more than that overflows short queues. Where packets pass each other, so little could not be seen to arrive. Where few
    /// packets are in a round trip, a step adds what Reno adds while it is judged.
    pub(super) fn factor(&self, step: usize) -> f64 {
        let packets = self.packets();
        let reno = (1.0 + ENOUGH as f64 / (packets * packets)).min(STEPS[STEPS.len() - 1]);
        let most = STEPS[0] - 1.0;
        if step >= GENTLE.0 || self.path.samples.reorders() {
            return STEPS[step].max(reno);
        }
        let part = packets.sqrt().recip().clamp(GENTLE.1, most) / most;
        (1.0 + part * (STEPS[step] - 1.0)).max(reno)
    }

    /// The safe retreat of RFC 9959 §4.5: a trial of a rate ends once reports of loss exceed the bound, even if POLLs were lost as well.
    pub(super) fn overshoots(&mut self, signals: &AnswerSignals) -> bool {
        let AnswerSignals { now, feedback, .. } = *signals;
        // Losses of an outage say nothing about the rate.
        let (RatePhase::Climb { .. }, Some(last), false) = (self.phase, feedback.lost_number, self.silent)
        else {
            return false;
        };
        if last < self.trial.first {
            return false;
        }
        self.trial.lost += feedback.lost_on_trial;
        self.trial.sent = self.trial.sent.max((last - self.trial.first + 1) as u32);
        let (lost, sent) = (f64::from(self.trial.lost), f64::from(self.trial.sent));
        let part = (lost / sent).min(0.9);
        // If the path reorders packets, reports include packets that are only late.
        let too_much = sent >= self.tried()
            && !self.path.samples.reorders()
            && self.losses.beyond(lost, sent)
            && part > 1.0 - CARRIED + self.losses.usual();
        if too_much {
            self.opening.saved = None;
            self.confirmed.lower(self.rate);
            // The rate may be lower by now, to look at the cause of a longer round trip. The losses tell of a queue, so the rate before is
            // not restored.
            let rest = self.trial.rate.max(self.rate) * (1.0 - part);
            self.cruise(now, rest.min(self.rate));
            self.held = self.held.map(|held| held.min(rest));
        }
        too_much
    }

    /// Packets of the rate on trial that are enough to judge its losses. It may be lower by now, to look at a longer round trip.
    fn tried(&self) -> f64 {
        (self.trial.rate.max(self.rate) * self.path.floor.seconds() / self.mss).min(TRIED)
    }

    pub(super) fn climb(&mut self, signals: &AnswerSignals, aim: Option<f64>, since: Time, step: usize) {
        let AnswerSignals { now, busy, .. } = *signals;
        if self.path.floor.steps() {
            return;
        }
        let floor = self.path.floor.seconds();
        let grain = (floor / 3.0).max(NOISE * self.path.samples.unrest());
        let Some(sample) = self.path.samples.latest(Span::from_secs_f64(grain), since) else {
            let doubles = aim.is_none() && step + 1 == STEPS.len();
            if doubles && self.doubles_on(Span::from_secs_f64(grain), since) {
                return self.begin_climb(signals, STEPS[step] * self.rate, None, step);
            }
            // The increase also ends if a queue persists before packets sent at this rate are acknowledged.
            let limit = (floor / 4.0).max(self.queue_target.as_secs_f64()).max(2.0 * self.target());
            if self.path.queue(self.known).is_some_and(|queue| queue > limit) {
                match self.path.samples.latest(Span::from_secs_f64(grain), Time::ZERO) {
                    Some(sample) if !sample.full() => self.untried(now),
                    arrives => {
                        let rate = arrives.map_or(self.rate / 2.0, |sample| sample.arrives().min(self.rate));
                        self.cruise(now, self.drained(signals, rate));
                    }
                }
            }
            return;
        };
        let judged = if sample.lost() > 0 {
            let packets = ENOUGH.max(self.tried() as u64);
            self.path.samples.latest_of(packets, Span::from_secs_f64(grain), since)
        } else {
            Some(sample)
        };
        let Some(sample) = judged else { return };
        let (arrives, leaves) = (self.carried(&sample), sample.leaves());
        let queue = self.path.rising_queue(since);
        let limit = self.climbs_below();
        let fresh = self.is_fresh(&sample);
        if fresh && !sample.full() {
            self.round = now;
        }
        let free = self.is_free(now, sample.sent_from);
        if fresh && self.losses.judge(now, &sample, free) {
            // The increase caused the losses: the next one waits longer.
            self.climbs_wait = (2 * self.climbs_wait).clamp(4, 32);
            // Few arrive for lack of data, too.
            let least = if sample.full() { 0.0 } else { self.rate / self.trial.factor };
            let arrives = arrives.max(least).min(self.rate);
            self.confirmed.lower(arrives);
            return self.cruise(now, 0.95 * arrives);
        }
        if fresh && self.blames_queue(now, &sample) {
            self.marked(signals);
            return;
        }
        if !sample.full() {
            // The rate is on trial until there are data for it.
            if queue > limit {
                self.untried(now);
            }
            return;
        }
        // At least half of the rate added by this step must arrive, unless there is no queue that could hold it: the shorter of two
        // queues does not show what has come since.
        let most = aim.map_or(self.trial.factor, |_| 2.0);
        let none = self.shows_none(&sample);
        let added = arrives >= self.rate * (1.0 + most) / (2.0 * most) || none;
        let carried = (added && arrives >= CARRIED * leaves) || (none && self.loses_by_chance(&sample));
        if queue > limit || (!carried && leaves > CARRIED * self.rate) {
            self.confirmed.replace(arrives);
            if aim.is_some() {
                self.confirmed.remember(now, arrives);
            }
            self.cruise(now, self.drained(signals, arrives));
        } else if aim.is_some_and(|aim| self.rate >= 0.99 * aim.min(self.bounds.highest)) {
            self.confirmed.confirm(now, arrives.min(self.rate));
            if !self.trusts(now) {
                self.cruise(now, self.rate);
            }
        } else if (busy || aim.is_some()) && leaves >= CARRIED * self.rate {
            self.confirmed.confirm(now, arrives.min(self.rate));
            self.climbs_wait = 0;
            self.cap = f64::INFINITY;
            if self.trusts(now) {
                return;
            }
            if self.rate >= self.bounds.highest {
                return self.cruise(now, self.rate);
            }
            let next = (step + 1).min(STEPS.len() - 1);
            let before = self.confirmed.highest();
            // A rate that was confirmed before the path's rate fell is tried again at once, but where packets arrive as chance has it.
            let sure = step >= 1 || !self.varies_by_chance() || self.rate * floor < FEW * self.mss;
            match aim {
                None if sure && before > 2.0 * STEPS[next] * self.rate => {
                    self.begin_climb(signals, before / 2.0, Some(before), next);
                }
                Some(aim) => self.begin_climb(signals, (2.0 * self.rate).min(aim), Some(aim), next),
                // A step beyond that rate would overshoot it each time.
                None if self.is_steady()
                    && before > SAME * self.rate
                    && before < self.factor(next) * self.rate =>
                {
                    let factor = before / self.rate;
                    self.begin_climb(signals, before, None, 0);
                    self.trial.factor = factor;
                }
                None => self.step_up(signals, next),
            }
        }
    }

    /// Returns true if all packets of a round trip have arrived without a queue, fewer than a sample has: what doubles goes on, as in slow
    /// start.
    fn doubles_on(&self, grain: Span, since: Time) -> bool {
        let packets = (self.packets().ceil() as u64).max(2);
        let Some(sample) = self.path.samples.latest_of(packets, grain, since) else { return false };
        sample.full() && sample.lost() == 0 && self.shows_none(&sample)
    }

    /// Returns true if no POLL of the sample has met a quarter of the queue at which an increase ends.
    fn shows_none(&self, sample: &PollSample) -> bool {
        let longest = self.path.longest_queue(sample.sent_from);
        longest.is_some_and(|longest| longest < 0.25 * self.climbs_below())
    }

    /// Returns true if a longer round trip is a queue, and no jitter.
    pub(super) fn is_steady(&self) -> bool {
        self.jitter() == 0.0 && !self.path.samples.reorders()
    }

    /// Ends an increase for which there were too few data: the rate is the last that was confirmed. If none was, the increase goes on.
    fn untried(&mut self, now: Time) {
        if self.confirmed.rate() > 0.0 {
            self.cruise(now, self.rate.min(self.confirmed.rate()));
        }
    }
}
