//! The event queue: who is to be woken when.
//!
//! Every link direction and every host has one slot, and each slot is in the queue at most once.
//! Differs from ns-2 and ns-3, which queue an event for every packet: this queue grows with links, not with packets.
//! Leaves out removal: an entry that a slot no longer means is skipped when it comes up.
//!
//! Ties: entries for the same instant come out in the order in which they were scheduled.

use skyhop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Index of a link direction, a host or a clock.
pub(crate) type Slot = u32;

/// Time, then the number of the entry, then its slot, as one number: one comparison orders two entries.
type Entry = u128;

/// Bits for slots; what is left of 64, 40 bits, numbers entries.
const SLOT_BITS: u32 = 24;

const fn entry(at: Time, number: u64, slot: Slot) -> Entry {
    (at.as_nanos() as u128) << 64 | (number << SLOT_BITS) as u128 | slot as u128
}

const fn time(entry: Entry) -> Time {
    Time::from_nanos((entry >> 64) as u64)
}

const fn slot(entry: Entry) -> Slot {
    entry as Slot & ((1 << SLOT_BITS) - 1)
}

#[derive(Debug)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    /// For each slot, the entry that counts.
    wanted: Vec<Entry>,
    scheduled: u64,
}

impl Agenda {
    pub fn new(slots: usize) -> Self {
        assert!(slots < 1 << SLOT_BITS, "16 million links and hosts take more memory than there is");
        Self { heap: BinaryHeap::new(), wanted: vec![Entry::MAX; slots], scheduled: 0 }
    }

    /// One slot more.
    pub fn add(&mut self) -> Slot {
        assert!(
            self.wanted.len() < 1 << SLOT_BITS,
            "16 million links and hosts take more memory than there is"
        );
        self.wanted.push(Entry::MAX);
        (self.wanted.len() - 1) as Slot
    }

    /// Forgets what `slot` wanted.
    pub fn cancel(&mut self, slot: Slot) {
        self.wanted[slot as usize] = Entry::MAX;
    }

    /// Wakes `slot` at `at`, unless it is to be woken earlier already.
    #[inline]
    pub fn wake(&mut self, slot: Slot, at: Time) {
        let wanted = &mut self.wanted[slot as usize];
        if at < time(*wanted) {
            self.scheduled += 1;
            *wanted = entry(at, self.scheduled, slot);
            self.heap.push(Reverse(*wanted));
        }
    }

    /// The next slot, if it is to be woken by `until`. It is not to be woken again unless somebody says so.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Slot)> {
        loop {
            let &Reverse(first) = self.heap.peek()?;
            if time(first) > until {
                return None;
            }
            self.heap.pop();
            let wanted = &mut self.wanted[slot(first) as usize];
            if *wanted == first {
                *wanted = Entry::MAX;
                return Some((time(first), slot(first)));
            }
        }
    }

    /// Entries in the queue, stale ones included.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    #[test]
    fn ties_come_out_in_the_order_they_went_in() {
        let mut agenda = Agenda::new(100);
        for slot in (0..100).rev() {
            agenda.wake(slot, ms(5));
        }
        let order: Vec<Slot> = std::iter::from_fn(|| agenda.pop(Time::MAX)).map(|e| e.1).collect();
        assert_eq!(order, (0..100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_slot_is_woken_once_and_at_the_earliest_time_asked_for() {
        let mut agenda = Agenda::new(2);
        agenda.wake(0, ms(9));
        agenda.wake(0, ms(3));
        agenda.wake(0, ms(7));
        agenda.wake(1, ms(5));
        assert_eq!(agenda.pop(ms(2)), None);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop(Time::MAX)).collect();
        assert_eq!(order, [(ms(3), 0), (ms(5), 1)]);
    }
}
