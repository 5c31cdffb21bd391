//! Slots of the agenda for hosts: samples, applications, associations, and ends of connections that come and go.
//!
//! Follows the agenda: each slot has one owner, which is woken when the slot is due.
//! Differs from the network's slots, which keep their owners: the slots of a connection that has ended serve later ones, so that the
//! agenda does not grow with the number of connections.
//! Leaves out the wake-ups, which owners set themselves.

use crate::ids::{Actor, ConversationId};
use skyhop_network::{Agenda, Rank, Slot};

/// The owner of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The clock of samples.
    Samples,
    /// A flow's application.
    App(u32),
    /// An end of a flow's connection, or a splice of it.
    Actor(u32, ConversationId, Actor),
    /// A side of an association.
    Association(u32, u8),
    /// No connection at present.
    Nobody,
}

/// The slots after those of the network: one for samples, one for each flow's application, then all others.
#[derive(Debug)]
pub(crate) struct HostSlots {
    first: Slot,
    owners: Vec<Owner>,
    /// Slots without an owner.
    spare: Vec<Slot>,
}

impl HostSlots {
    /// Slots for samples and for applications with these ranks. The network has all of its slots already.
    pub fn new(agenda: &mut Agenda, applications: impl Iterator<Item = Rank>) -> Self {
        let first = agenda.add(Rank::LAST);
        let mut slots = Self { first, owners: vec![Owner::Samples], spare: Vec::new() };
        for (flow, rank) in (0..).zip(applications) {
            slots.add(agenda, rank, Owner::App(flow));
        }
        slots
    }

    /// The slot of samples.
    pub fn samples(&self) -> Slot {
        self.first
    }

    /// The slot of a flow's application.
    pub fn application(&self, flow: usize) -> Slot {
        self.first + 1 + flow as Slot
    }

    /// A slot for an owner: one that is free, or else a new one.
    pub fn add(&mut self, agenda: &mut Agenda, rank: Rank, owner: Owner) -> Slot {
        if let Some(slot) = self.spare.pop() {
            agenda.reuse(slot, rank);
            self.owners[(slot - self.first) as usize] = owner;
            return slot;
        }
        self.owners.push(owner);
        agenda.add(rank)
    }

    /// Takes a slot from its owner, which is not woken any more.
    pub fn release(&mut self, agenda: &mut Agenda, slot: Slot) {
        agenda.cancel(slot);
        self.owners[(slot - self.first) as usize] = Owner::Nobody;
        self.spare.push(slot);
    }

    /// The owner of a slot; `None` for a slot of the network.
    #[inline]
    pub fn owner(&self, slot: Slot) -> Option<Owner> {
        Some(self.owners[slot.checked_sub(self.first)? as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_traffic::End;
    use skyhop_units::{Span, Time};

    fn end(generation: u32) -> Owner {
        Owner::Actor(0, ConversationId { place: 0, generation }, Actor::End(End::Client))
    }

    #[test]
    fn released_slots_serve_later_connections_and_wake_only_them() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut agenda = Agenda::default();
        let network = agenda.add(Rank::link(0));
        let mut slots = HostSlots::new(&mut agenda, [0, 1].map(Rank::application).into_iter());
        let owners = [network, slots.samples(), slots.application(0), slots.application(1)];
        let owners = owners.map(|slot| slots.owner(slot));
        assert_eq!(owners, [None, Some(Owner::Samples), Some(Owner::App(0)), Some(Owner::App(1))]);
        let mut used = Vec::new();
        for generation in 0..100 {
            // Two connections are open at a time, and each would be woken after its end.
            let slot = slots.add(&mut agenda, Rank::host(0, generation, 1), end(generation));
            agenda.wake(slot, at(u64::from(generation) + 2));
            assert_eq!(slots.owner(slot), Some(end(generation)));
            used.push(slot);
            if let Some(before) = (generation as usize).checked_sub(1) {
                slots.release(&mut agenda, used[before]);
                assert_eq!(slots.owner(used[before]), Some(Owner::Nobody));
            }
        }
        let woken: Vec<_> = std::iter::from_fn(|| agenda.pop(Time::MAX)).collect();
        assert_eq!(woken, [(at(101), used[99])]);
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), 2);
    }
}
