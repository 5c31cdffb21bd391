//! The event queue.
//!
//! Every link direction and every host has one slot, and each slot is in the queue at most once.
//! Differs from ns-2 and ns-3, which queue an event for every packet: this queue grows with links, not with packets.
//! Leaves out removal: a stale entry is skipped when it comes up.
//!
//! Ties: entries for the same instant come out in the order of their slots' ranks, which the scenario fixes: changes of the
//! network first; then flows by number, and each flow's connections in order of opening, so that a timer that expires when a
//! packet arrives has expired; then links by number; then samples.

use skyhop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of a link direction, a host or a clock.
pub type Slot = u32;

/// Order of a slot among those with the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Rank of a slot that comes after all others.
    pub const LAST: Self = Self((1 << RANK_BITS) - 1);

    /// Rank of the edges of the network, which comes with the links'.
    pub const EDGES: Self = Self::link(u32::MAX);

    /// Rank of a clock that changes the network.
    pub const fn clock(number: u8) -> Self {
        Self(number as u64)
    }

    /// Rank of a flow's application.
    pub const fn application(flow: u32) -> Self {
        Self::host(flow, 0, 0)
    }

    /// Rank of an end of a flow's connection, or of a splice. Beyond 131,072 flows, as many connections of a flow, or 13 splices,
    /// numbers repeat, and the slot decides.
    pub const fn host(flow: u32, connection: u32, part: u8) -> Self {
        let (flow, connection) = (flow as u64 & 0x1_ffff, connection as u64 & 0x1_ffff);
        Self(1 << (RANK_BITS - 2) | flow << 21 | connection << 4 | (part & 0xf) as u64)
    }

    /// Rank of a link direction.
    pub const fn link(number: u32) -> Self {
        Self(2 << (RANK_BITS - 2) | number as u64)
    }
}

/// Time, rank and slot in one number, so that one comparison orders two entries.
type AgendaEntry = u128;

const SLOT_BITS: u32 = 24;
const RANK_BITS: u32 = 40;

const fn time(entry: AgendaEntry) -> Time {
    Time::from_nanos((entry >> 64) as u64)
}

const fn slot(entry: AgendaEntry) -> Slot {
    entry as Slot & ((1 << SLOT_BITS) - 1)
}

/// The event queue.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<AgendaEntry>>,
    /// True if the first entry has been handed out and is still in the heap: the next one replaces it, which is cheaper than a
    /// removal and an insertion.
    done: bool,
    wanted: Vec<Wanted>,
}

/// Time of a slot's wake-up.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    at: Time,
    /// Rank and slot, the lower half of the slot's entries.
    key: u64,
}

impl Agenda {
    /// Adds a slot.
    pub fn add(&mut self, rank: Rank) -> Slot {
        let slot = self.wanted.len() as Slot;
        assert!(slot < 1 << SLOT_BITS, "16 million links and hosts take more memory than there is");
        self.wanted.push(Wanted { at: Time::MAX, key: 0 });
        self.reuse(slot, rank);
        slot
    }

    /// Gives a slot without a wake-up a new rank for another use.
    pub fn reuse(&mut self, slot: Slot, rank: Rank) {
        self.wanted[slot as usize].key = rank.0 << SLOT_BITS | u64::from(slot);
    }

    /// Cancels the wake-up of `slot`.
    pub fn cancel(&mut self, slot: Slot) {
        self.wanted[slot as usize].at = Time::MAX;
    }

    /// Wakes `slot` at `at`, or at its earlier time if it has one.
    #[inline]
    pub fn wake(&mut self, slot: Slot, at: Time) {
        let wanted = &mut self.wanted[slot as usize];
        if at < wanted.at {
            wanted.at = at;
            let entry = Reverse((at.as_nanos() as u128) << 64 | wanted.key as u128);
            if !std::mem::take(&mut self.done) {
                self.heap.push(entry);
            } else if let Some(mut first) = self.heap.peek_mut() {
                *first = entry;
            }
        }
    }

    /// The next slot, if its time is `until` or earlier. Its wake-up is removed.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Slot)> {
        if std::mem::take(&mut self.done) {
            self.heap.pop();
        }
        loop {
            let &Reverse(first) = self.heap.peek()?;
            if time(first) > until {
                return None;
            }
            let wanted = &mut self.wanted[slot(first) as usize];
            // The key is compared too, as the slot may have been reused.
            if wanted.at == time(first) && wanted.key == first as u64 {
                wanted.at = Time::MAX;
                self.done = true;
                return Some((time(first), slot(first)));
            }
            self.heap.pop();
        }
    }

    /// Time of the next wake-up; `None` if there is none.
    pub fn next_at(&mut self) -> Option<Time> {
        if std::mem::take(&mut self.done) {
            self.heap.pop();
        }
        loop {
            let &Reverse(first) = self.heap.peek()?;
            let wanted = &self.wanted[slot(first) as usize];
            if wanted.at == time(first) && wanted.key == first as u64 {
                return Some(wanted.at);
            }
            self.heap.pop();
        }
    }

    /// Number of entries in the queue, including stale ones.
    #[allow(clippy::len_without_is_empty)]
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
    fn ties_come_out_by_rank_however_they_went_in() {
        let ranks = [
            Rank::clock(0),
            Rank::clock(1),
            Rank::application(0),
            Rank::host(0, 0, 1),
            Rank::host(0, 1, 1),
            Rank::host(0, 1, 2),
            Rank::application(9),
            Rank::link(0),
            Rank::link(70_000),
            Rank::LAST,
        ];
        assert!(ranks.is_sorted());
        for turn in 0..ranks.len() {
            let mut agenda = Agenda::default();
            let mut slots: Vec<_> = ranks.iter().rev().map(|rank| agenda.add(*rank)).collect();
            slots.rotate_left(turn);
            slots.iter().for_each(|slot| agenda.wake(*slot, ms(5)));
            let order: Vec<Slot> = std::iter::from_fn(|| agenda.pop(Time::MAX)).map(|e| e.1).collect();
            assert_eq!(order, (0..ranks.len() as Slot).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_slot_is_woken_once_and_at_the_earliest_time_asked_for() {
        let mut agenda = Agenda::default();
        for number in 0..2 {
            agenda.add(Rank::link(number));
        }
        agenda.wake(0, ms(9));
        agenda.wake(0, ms(3));
        agenda.wake(0, ms(7));
        agenda.wake(1, ms(5));
        assert_eq!(agenda.pop(ms(2)), None);
        assert_eq!(agenda.next_at(), Some(ms(3)));
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop(Time::MAX)).collect();
        assert_eq!(order, [(ms(3), 0), (ms(5), 1)]);
    }

    #[test]
    fn what_was_wanted_before_and_is_wanted_again_comes_once() {
        let mut agenda = Agenda::default();
        agenda.add(Rank::link(0));
        agenda.wake(0, ms(9));
        agenda.wake(0, ms(3));
        assert_eq!(agenda.pop(Time::MAX), Some((ms(3), 0)));
        agenda.wake(0, ms(9));
        assert_eq!(agenda.next_at(), Some(ms(9)));
        assert_eq!(agenda.pop(Time::MAX), Some((ms(9), 0)));
        assert_eq!(agenda.next_at(), None);
        assert_eq!(agenda.pop(Time::MAX), None);
    }

    #[test]
    fn what_was_wanted_of_a_slot_is_not_what_another_wants_of_it_later() {
        let mut agenda = Agenda::default();
        let (used_again, other) = (agenda.add(Rank::host(0, 0, 1)), agenda.add(Rank::host(1, 0, 1)));
        agenda.wake(used_again, ms(5));
        agenda.cancel(used_again);
        agenda.reuse(used_again, Rank::host(2, 0, 1));
        agenda.wake(used_again, ms(5));
        agenda.wake(other, ms(5));
        let order: Vec<Slot> = std::iter::from_fn(|| agenda.pop(Time::MAX)).map(|e| e.1).collect();
        assert_eq!(order, [other, used_again]);
    }
}
