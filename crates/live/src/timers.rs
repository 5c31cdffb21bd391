//! The timers of a host's connections, and their lateness.
//!
//! Leaves out the timers of associations, whose lateness is not counted (`associations`).

use skyhop_units::{Span, Time};
use std::collections::BTreeSet;

/// Lateness of the timers served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Number of timers served.
    pub timers: u64,
    /// Timers that were more than a millisecond late.
    pub late: u64,
    /// Sum of the lateness.
    pub total: Span,
    /// Largest lateness.
    pub worst: Span,
}

impl Lateness {
    fn add(&mut self, late: Span) {
        self.timers += 1;
        self.late += u64::from(late > Span::from_millis(1));
        self.total += late;
        self.worst = self.worst.max(late);
    }
}

/// The timers, by time and slot.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTimers {
    set: BTreeSet<(Time, usize)>,
    lateness: Lateness,
}

impl ConnectionTimers {
    pub fn insert(&mut self, at: Time, slot: usize) {
        self.set.insert((at, slot));
    }

    pub fn remove(&mut self, at: Time, slot: usize) {
        self.set.remove(&(at, slot));
    }

    /// Time of the first timer.
    pub fn first(&self) -> Option<Time> {
        self.set.first().map(|(at, _)| *at)
    }

    /// Removes the first timer that is due by `now`, which is served then; returns its slot.
    pub fn take_due(&mut self, now: Time) -> Option<usize> {
        let (at, slot) = self.set.first().copied().filter(|(at, _)| *at <= now)?;
        self.set.pop_first();
        self.lateness.add(now.since(at));
        Some(slot)
    }

    /// Lateness of those served so far.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_taken_in_order_when_due_and_their_lateness_is_counted() {
        let at = |us| Time::ZERO + Span::from_micros(us);
        let mut timers = ConnectionTimers::default();
        for (us, slot) in [(3000, 1), (1000, 2), (2000, 3), (2500, 4)] {
            timers.insert(at(us), slot);
        }
        timers.remove(at(2500), 4);
        assert_eq!((timers.first(), timers.take_due(at(999))), (Some(at(1000)), None));
        let taken = [1000, 3001, 4000, 9000].map(|us| timers.take_due(at(us)));
        assert_eq!((taken, timers.first()), ([Some(2), Some(3), Some(1), None], None));
        let (total, worst) = (Span::from_micros(2001), Span::from_micros(1001));
        assert_eq!(timers.lateness(), Lateness { timers: 3, late: 1, total, worst });
    }
}
