//! The clock of a run and its event queue: the present, the end, and the owner of each slot of the hosts.
//!
//! Follows the sans-IO contract: machines say when they want to be called again, and the schedule says whose turn is next.
//! Differs from the agenda, which knows neither the present nor the owners of slots.
//! Leaves out the events themselves, which the simulation passes to their owners.

use crate::slots::{HostSlots, Owner};
use skyhop_chance::Seed;
use skyhop_network::{Agenda, Delivery, Frame, Inside, Network, Rank, Slot};
use skyhop_scenario::Link;
use skyhop_units::Time;

/// Virtual time, and the events that are due.
pub(crate) struct Schedule {
    now: Time,
    end: Time,
    agenda: Agenda,
    slots: HostSlots,
    /// Number of events so far.
    events: u64,
}

impl Schedule {
    /// The schedule of a run that begins now; `agenda` has the slots of the network and of hosts.
    pub fn new(agenda: Agenda, slots: HostSlots, end: Time) -> Self {
        Self { now: Time::ZERO, end, agenda, slots, events: 0 }
    }

    /// Virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Latest end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Ends the run now.
    pub fn end_now(&mut self) {
        self.end = self.now;
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Number of entries in the event queue.
    pub fn len(&self) -> usize {
        self.agenda.len()
    }

    /// Begins the next event if it is due by `until`. An event at the very end does not belong to the run: ten seconds of one ping a
    /// second are ten pings.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<Slot> {
        let last = Time::from_nanos(self.end.as_nanos().saturating_sub(1));
        let (now, slot) = self.agenda.pop(until.min(last))?;
        self.now = now;
        self.events = self.events.wrapping_add(1);
        Some(slot)
    }

    /// Lets time pass until `until`, or to the end: there are no events before.
    pub fn pass(&mut self, until: Time) {
        self.now = self.now.max(until.min(self.end));
    }

    /// Sets the time to that of an input from outside the run.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// Time of the next event; `None` if there is none.
    pub fn next_at(&mut self) -> Option<Time> {
        self.agenda.next_at()
    }

    /// The owner of a slot; `None` for a slot of the network.
    #[inline]
    pub fn owner(&self, slot: Slot) -> Option<Owner> {
        self.slots.owner(slot)
    }

    /// Wakes `slot` at `at`, or at its earlier time if it has one.
    #[inline]
    pub fn wake(&mut self, slot: Slot, at: Time) {
        self.agenda.wake(slot, at);
    }

    /// Wakes a flow's application at `at`, or at its earlier time if it has one.
    pub fn wake_application(&mut self, flow: usize, at: Time) {
        self.agenda.wake(self.slots.application(flow), at);
    }

    /// Cancels the wake-up of the clock of samples.
    pub fn stop_samples(&mut self) {
        self.agenda.cancel(self.slots.samples());
    }

    /// A slot for an owner.
    pub fn add(&mut self, rank: Rank, owner: Owner) -> Slot {
        self.slots.add(&mut self.agenda, rank, owner)
    }

    /// Takes a slot from its owner, which is not woken any more.
    pub fn release(&mut self, slot: Slot) {
        self.slots.release(&mut self.agenda, slot);
    }

    /// Sends a packet into the network now, as [`Network::send`].
    #[inline]
    pub fn send(&mut self, network: &mut Network, frame: Frame, inside: Option<Inside>) -> Option<Delivery> {
        network.send(self.now, &mut self.agenda, frame, inside)
    }

    /// Handles a timeout of the network now, as [`Network::handle_timeout`].
    #[inline]
    pub fn handle_network(&mut self, network: &mut Network, slot: Slot) -> Option<Delivery> {
        network.handle_timeout(self.now, &mut self.agenda, slot)
    }

    /// The next packet that has reached the end of its route now, as [`Network::poll_delivery`].
    #[inline]
    pub fn poll_delivery(&mut self, network: &mut Network) -> Option<Delivery> {
        network.poll_delivery(self.now, &mut self.agenda)
    }

    /// Changes rate, delay and losses of a link from now on, as [`Network::change_link`].
    pub fn change_link(&mut self, network: &mut Network, index: usize, links: [&Link; 2], seed: Seed) {
        network.change_link(self.now, &mut self.agenda, index, links, seed);
    }
}
