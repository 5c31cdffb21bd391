//! What changes on a link by the clock: rate, loss, delay, outages.
//!
//! Follows measured paths, whose rate and delay are steps in time, and fades and sun outages that are known beforehand.
//! Differs from setting a link anew: the packet on the transmitter at a change goes on at the new rate, to the nanosecond.
//! Leaves out what is drawn by chance, which [`crate::Loss`] holds.

use crate::Loss;
use skyhop_units::{Bytes, Rate, Span, Time};

/// What holds from an instant on, until the next; what is `None` is the link's own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Since when.
    pub from: Time,
    /// Rate of the transmitter.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Span>,
    /// What the link loses; the state of one step's loss is not the next one's.
    pub loss: Option<Loss>,
    /// Whether the link is out, and what that does.
    pub outage: Option<Outage>,
}

impl Step {
    fn out(&self) -> bool {
        let certain = matches!(self.loss, Some(Loss::Packets { probability }) if probability >= 1.0);
        self.outage.is_some() || certain
    }
}

/// What an outage does to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// The transmitter does not know: all that is sent is lost.
    Lose,
    /// The transmitter knows and stops; packets wait.
    Wait,
}

/// Centuries after any run, and far from overflow.
const NEVER: Time = Time::from_nanos(u64::MAX / 4);

/// Steps in order of time; before the first of them the link is as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    steps: Vec<Step>,
    /// After this long the steps begin again.
    period: Option<Span>,
}

impl Timeline {
    /// A timeline of `steps`, sorted by time. With a `period` it begins again each time that is over.
    pub fn new(mut steps: Vec<Step>, period: Option<Span>) -> Self {
        steps.sort_by_key(|step| step.from);
        Timeline { steps, period: period.filter(|p| *p > Span::ZERO) }
    }

    /// No step's rate is above `most`.
    pub(crate) fn limit(&mut self, most: Rate) {
        for step in &mut self.steps {
            step.rate = step.rate.map(|rate| rate.min(most));
        }
    }

    /// The step at `at`, and until when it holds.
    fn at(&self, at: Time) -> (Option<usize>, Time) {
        let (begin, within) = match self.period {
            Some(period) => {
                let rounds = at.as_nanos() / period.as_nanos();
                (Time::ZERO + period * rounds, Time::from_nanos(at.as_nanos() % period.as_nanos()))
            }
            None => (Time::ZERO, at),
        };
        let next = self.steps.partition_point(|step| step.from <= within);
        let until = match (self.steps.get(next), self.period) {
            (Some(step), None) => step.from,
            (Some(step), Some(period)) if step.from < Time::ZERO + period => {
                begin + step.from.since(Time::ZERO)
            }
            (_, Some(period)) => begin + period,
            (None, None) => Time::MAX,
        };
        (next.checked_sub(1), until)
    }

    /// When the last bit of a packet leaves whose first leaves at `at` at the earliest, and whether it was lost to an outage.
    pub(crate) fn leaves(&self, at: Time, size: u32, rate: Rate) -> (Time, bool) {
        // Bits times nanoseconds a second: whole numbers at any rate.
        let mut left = Bytes::new(size as u64).bits() as u128 * 1_000_000_000;
        let (mut now, mut lost) = (at, false);
        let mut waits_since = None;
        loop {
            let (step, until) = self.at(now);
            let step = step.map(|i| &self.steps[i]);
            let outage = step.and_then(|s| s.outage);
            if outage == Some(Outage::Wait) {
                let since = *waits_since.get_or_insert(now);
                if until == Time::MAX || self.period.is_some_and(|period| now.since(since) > period) {
                    // Nothing will ever leave again.
                    return (NEVER, true);
                }
                now = until;
                continue;
            }
            waits_since = None;
            lost |= outage == Some(Outage::Lose);
            let bps = u128::from(step.and_then(|s| s.rate).unwrap_or(rate).as_bps());
            let room = u128::from(until.since(now).as_nanos()) * bps;
            if room >= left || until == Time::MAX {
                let span = left.div_ceil(bps.max(1));
                return (now + Span::from_nanos(u64::try_from(span).unwrap_or(u64::MAX / 8)), lost);
            }
            left -= room;
            now = until;
        }
    }

    /// The delay at `at`, if it is not the link's own.
    pub(crate) fn delay(&self, at: Time) -> Option<Span> {
        self.at(at).0.and_then(|i| self.steps[i].delay)
    }

    /// What is lost at `at`, if it is not the link's own.
    pub(crate) fn loss(&mut self, at: Time) -> Option<&mut Loss> {
        let step = self.at(at).0?;
        self.steps[step].loss.as_mut()
    }

    /// Whether nothing gets through at `at`: an outage, or a step in which every packet is lost.
    pub fn out(&self, at: Time) -> bool {
        self.at(at).0.is_some_and(|step| self.steps[step].out())
    }

    /// When that next changes after `at`; `None` if it never does.
    pub fn next_outage(&self, at: Time) -> Option<Time> {
        let out = self.out(at);
        let mut next = at;
        // Each step once, and the one that it began in again.
        for _ in 0..=self.steps.len() + 1 {
            next = self.at(next).1;
            if next == Time::MAX {
                return None;
            }
            if self.out(next) != out {
                return Some(next);
            }
        }
        None
    }

    /// Whether anything can be lost in any step: a link without a stream loses nothing.
    pub fn loses(&self) -> bool {
        self.steps.iter().any(|step| step.loss.as_ref().is_some_and(Loss::loses))
    }
}
