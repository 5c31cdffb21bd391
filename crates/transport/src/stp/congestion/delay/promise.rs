//! A promised rate: used from the first packet, and given up while the path shows that it carries less.
//!
//! Follows HT §5.2.3 (packets leave at the guaranteed rate); docs/stp.md §8.2 has what counts as evidence.
//! Differs: a promise that is wrong is an upper bound of the rate by delay, and holds again once the path has carried it.
//! Leaves out the plain format, whose answers have no clock: there the promise is kept whatever happens.

use super::super::AnswerSignals;
use super::super::losses::ENOUGH;
use super::super::samples::PollSample;
use super::{CARRIED, Delay, RatePhase};
use skyhop_units::Time;

/// Factor by which packets arrive over a longer time than they left in if the path carries less than the promise.
const STRETCHED: f64 = 1.15;
/// Samples in sequence that show it.
const DOUBTS: u32 = 2;
/// Smallest length of a sample: this part of a round trip, and this multiple of the jitter.
const PART: f64 = 16.0;
const NOISE: f64 = 16.0;
/// Share of the promise that has to arrive for it to hold again.
const KEPT: f64 = 0.99;

/// Evidence against a promise, from samples that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Doubt {
    /// Departure of the POLL at which the next sample begins.
    from: Time,
    /// Samples in sequence that were stretched, or lost packets out of a queue.
    count: u32,
}

impl Doubt {
    /// Returns true if the next samples decide.
    pub fn is_urgent(&self) -> bool {
        self.count > 0
    }
}

impl Delay {
    /// Returns true if a POLL belongs on this packet, counted from the first: half the packets so far lie between two of them, so that
    /// samples exist as soon as answers come.
    pub(super) fn asks_of_promise(number: u64) -> bool {
        let power = 1u64 << number.max(1).ilog2();
        number >= 16 && (number == power || number == power + power / 2)
    }

    /// Judges whether the path keeps the promise.
    pub(super) fn promised(&mut self, signals: &AnswerSignals, mut doubt: Doubt) {
        let Some(last) = self.path.samples.last().copied() else { return };
        let unrest = self.path.samples.unrest();
        let grain =
            (self.path.floor.seconds() / PART).max(NOISE * unrest).max(self.poll_interval_min.as_secs_f64());
        let whole = self.path.samples.since(doubt.from);
        let Some(sample) = whole.filter(|whole| whole.left_in >= grain && whole.sent >= ENOUGH) else {
            return;
        };
        doubt.from = last.sent_at;
        let limit = self.climbs_below();
        let stretched = sample.arrived_in > STRETCHED * sample.left_in + 2.0 * unrest;
        let queued = self.path.shortest_queue(sample.sent_from).is_some_and(|queue| queue > limit);
        // Without a queue, losses are the channel's.
        let crowded = self.losses.judge(signals.now, &sample, !queued);
        let grows = stretched && self.path.rising_queue(sample.sent_from) > limit;
        doubt.count = if grows || crowded { doubt.count + 1 } else { 0 };
        if doubt.count >= DOUBTS {
            return self.give_up(signals, &sample);
        }
        if sample.full() && doubt.count == 0 && sample.leaves() >= CARRIED * self.rate {
            self.confirmed.confirm(signals.now, self.carried(&sample).min(sample.leaves()));
        }
        self.phase = RatePhase::Promised(doubt);
    }

    /// Follows the delay from now on: what arrives is the path's rate.
    pub(super) fn give_up(&mut self, signals: &AnswerSignals, sample: &PollSample) {
        let arrives = self.carried(sample).min(self.rate);
        self.confirmed.replace(arrives);
        self.path.floor.is_queued(signals.now);
        self.cruise(signals.now, self.drained(signals, arrives));
        self.share = Some(arrives);
    }

    /// Returns to the promise if all of it has arrived without a queue.
    pub(super) fn trusts(&mut self, now: Time) -> bool {
        let holds = self.bounds.promised && self.rate >= KEPT * self.bounds.highest;
        if holds {
            self.cruise(now, self.bounds.highest);
            self.pardon(now);
        }
        holds
    }

    /// Begins again after a time without answers, or on a new path: neither says anything about the rate.
    pub(super) fn pardon(&mut self, now: Time) {
        self.phase = RatePhase::Promised(Doubt { from: now, count: 0 });
    }

    /// A rate that begins as the promised one.
    pub(in super::super) fn begin_promised(mut self) -> Self {
        self.bounds.promised = true;
        self.phase = RatePhase::Promised(Doubt::default());
        self.rate = self.bounds.highest.max(self.bounds.lowest);
        self
    }
}
