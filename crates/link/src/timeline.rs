//! Rate, loss, delay and outages of a link as functions of time.
//!
//! Follows measured paths, whose rate and delay are steps in time, and predictable fades and sun outages.
//! Differs from reconfiguring a link: a packet on the transmitter at a change continues at the new rate, exact to the nanosecond.
//! Leaves out random changes, which are in [`crate::Loss`].

use crate::Loss;
use skyhop_units::{Bytes, Rate, Span, Time};

/// The state of a link from one instant to the next step; where a field is `None` the link's own value holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Start of the step.
    pub from: Time,
    /// Rate of the transmitter.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Span>,
    /// Loss model; its state does not carry over to the next step.
    pub loss: Option<Loss>,
    /// Outage, and its effect on packets; `None` if the link works.
    pub outage: Option<Outage>,
}

impl Step {
    fn out(&self) -> bool {
        let certain = matches!(self.loss, Some(Loss::Packets { probability }) if probability >= 1.0);
        self.outage.is_some() || certain
    }
}

/// Effect of an outage on packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// The transmitter is not aware of it: everything sent is lost.
    Lose,
    /// The transmitter is aware and stops; packets wait.
    Wait,
}

/// A time that no run reaches, yet far from overflow.
const NEVER: Time = Time::from_nanos(u64::MAX / 4);

/// Steps in order of time; before the first, the link has its own values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    steps: Vec<Step>,
    /// Time after which the steps repeat.
    period: Option<Span>,
}

impl Timeline {
    /// A timeline of `steps`, sorted by time, which repeats after `period` if there is one.
    pub fn new(mut steps: Vec<Step>, period: Option<Span>) -> Self {
        steps.sort_by_key(|step| step.from);
        Timeline { steps, period: period.filter(|p| *p > Span::ZERO) }
    }

    /// Limits the rate of each step to `most`.
    pub(crate) fn limit(&mut self, most: Rate) {
        for step in &mut self.steps {
            step.rate = step.rate.map(|rate| rate.min(most));
        }
    }

    /// Index of the step at `at`, if any, and the time until which it holds.
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

    /// Time at which the last bit of a packet leaves if its first leaves no earlier than `at`, and true if an outage loses it.
    pub(crate) fn leaves(&self, at: Time, size: u32, rate: Rate) -> (Time, bool) {
        // In bits times nanoseconds per second, which are whole numbers at any rate.
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
                    // No packet will ever leave again.
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

    /// Returns true if the transmitter stops at `at`, because it is aware of an outage.
    pub(crate) fn waits(&self, at: Time) -> bool {
        self.at(at).0.is_some_and(|step| self.steps[step].outage == Some(Outage::Wait))
    }

    /// Returns true if an outage loses what leaves at `at`.
    pub(crate) fn loses_at(&self, at: Time) -> bool {
        self.at(at).0.is_some_and(|step| self.steps[step].outage == Some(Outage::Lose))
    }

    /// The propagation delay at `at`; `None` if the link's own holds.
    pub(crate) fn delay(&self, at: Time) -> Option<Span> {
        self.at(at).0.and_then(|i| self.steps[i].delay)
    }

    /// The rate at `at`; `None` if the link's own holds.
    pub(crate) fn rate(&self, at: Time) -> Option<Rate> {
        self.at(at).0.and_then(|i| self.steps[i].rate)
    }

    /// The outage at `at`, a step that loses every packet among them.
    pub(crate) fn outage(&self, at: Time) -> Option<Outage> {
        let step = &self.steps[self.at(at).0?];
        step.outage.or_else(|| step.out().then_some(Outage::Lose))
    }

    /// The loss model at `at`; `None` if the link's own holds.
    pub(crate) fn loss(&mut self, at: Time) -> Option<&mut Loss> {
        let step = self.at(at).0?;
        self.steps[step].loss.as_mut()
    }

    /// Returns true if no packet gets through at `at`: during an outage, or a step that loses every packet.
    pub fn out(&self, at: Time) -> bool {
        self.at(at).0.is_some_and(|step| self.steps[step].out())
    }

    /// The first time after `at` at which [`Timeline::out`] changes; `None` if it never does.
    pub fn next_outage(&self, at: Time) -> Option<Time> {
        let out = self.out(at);
        let mut next = at;
        // Each step once, and the first of them once more.
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

    /// The largest rate of a step; `None` if no step has one.
    pub(crate) fn fastest(&self) -> Option<Rate> {
        self.steps.iter().filter_map(|step| step.rate).max()
    }

    /// Returns true if some step has a loss model that can lose packets, for which the link needs a random stream.
    pub fn loses(&self) -> bool {
        self.steps.iter().any(|step| step.loss.as_ref().is_some_and(Loss::loses))
    }
}
