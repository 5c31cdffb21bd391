//! Turns to send, and timers, of associations.
//!
//! Each association is in the queue at most once and has at most one timer.
//! Leaves out sending in a turn.

use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug, Default)]
pub(super) struct Turns {
    queue: VecDeque<u32>,
    queued: BTreeSet<u32>,
    timers: BTreeSet<(Time, u32)>,
    due: BTreeMap<u32, Time>,
}

impl Turns {
    /// Gives an association a turn.
    pub fn touch(&mut self, id: u32) {
        if self.queued.insert(id) {
            self.queue.push_back(id);
        }
    }

    /// Removes and returns the association whose turn is next.
    pub fn next(&mut self) -> Option<u32> {
        let id = self.queue.pop_front()?;
        self.queued.remove(&id);
        Some(id)
    }

    /// Sets an association's timer, in place of an earlier one.
    pub fn set_timer(&mut self, id: u32, at: Option<Time>) {
        let before = match at {
            Some(at) => self.due.insert(id, at),
            None => self.due.remove(&id),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, id));
        }
        self.timers.extend(at.map(|at| (at, id)));
    }

    /// Time of the first timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Removes and returns an association whose timer is due by `now`.
    pub fn take_due(&mut self, now: Time) -> Option<u32> {
        let (at, id) = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
        self.timers.remove(&(at, id));
        self.due.remove(&id);
        Some(id)
    }

    /// Removes an association's turn and timer.
    pub fn remove(&mut self, id: u32) {
        self.set_timer(id, None);
        if self.queued.remove(&id) {
            self.queue.retain(|other| *other != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_and_one_timer_each() {
        let at = Time::from_nanos;
        let mut turns = Turns::default();
        [2, 1, 2].into_iter().for_each(|id| turns.touch(id));
        turns.set_timer(1, Some(at(30)));
        turns.set_timer(2, Some(at(20)));
        turns.set_timer(1, Some(at(10)));
        assert_eq!(turns.poll_timeout(), Some(at(10)));
        assert_eq!((turns.take_due(at(9)), turns.take_due(at(15))), (None, Some(1)));
        turns.remove(2);
        assert_eq!((turns.next(), turns.next(), turns.take_due(at(99))), (Some(1), None, None));
        turns.set_timer(1, Some(at(10)));
        assert_eq!(turns.take_due(at(10)), Some(1), "a time that has run out can be set again");
    }
}
