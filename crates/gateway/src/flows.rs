//! All connections of a gateway: their slots, streams, turns and timers.
//!
//! Follows no document; a slot is reused, and its generation distinguishes successive connections.
//! Leaves out the work of a connection in its turn.

use crate::flow::{SplitConnection, StreamName};
use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug, Default)]
struct FlowSlot {
    generation: u64,
    flow: Option<SplitConnection>,
    used: bool,
    queued: bool,
    timer: Option<Time>,
}

/// The table.
#[derive(Debug, Default)]
pub struct Flows {
    slots: Vec<FlowSlot>,
    free: Vec<usize>,
    by_stream: BTreeMap<StreamName, usize>,
    timers: BTreeSet<(Time, usize)>,
    turns: VecDeque<usize>,
}

impl Flows {
    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Inserts a connection into a slot, and gives it a turn.
    pub fn insert(&mut self, flow: SplitConnection) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(FlowSlot::default());
            self.slots.len() - 1
        });
        if let Some(stream) = flow.stream {
            self.by_stream.insert(stream, slot);
        }
        self.slots[slot].flow = Some(flow);
        self.slots[slot].used = true;
        self.touch(slot);
        slot
    }

    /// Takes a connection out for its turn; the caller puts it back or removes it.
    pub fn take(&mut self, slot: usize) -> Option<SplitConnection> {
        self.slots.get_mut(slot)?.flow.take()
    }

    /// Puts a connection back.
    pub fn put(&mut self, slot: usize, flow: SplitConnection) {
        self.slots[slot].flow = Some(flow);
    }

    /// Frees the slot of a connection that was taken out.
    pub fn remove(&mut self, slot: usize, stream: Option<StreamName>) {
        self.set_timer(slot, None);
        let entry = &mut self.slots[slot];
        if !std::mem::take(&mut entry.used) {
            return;
        }
        entry.flow = None;
        entry.generation += 1;
        self.free.push(slot);
        if let Some(stream) = stream {
            self.by_stream.remove(&stream);
        }
    }

    /// A connection in its slot.
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut SplitConnection> {
        self.slots.get_mut(slot)?.flow.as_mut()
    }

    /// The slot and generation of a connection, for answers that arrive later.
    pub fn name(&self, slot: usize) -> (usize, u64) {
        (slot, self.slots[slot].generation)
    }

    /// The slot for a slot and generation, if that connection still exists.
    pub fn named(&self, (slot, generation): (usize, u64)) -> Option<usize> {
        self.slots.get(slot).filter(|entry| entry.used && entry.generation == generation).map(|_| slot)
    }

    /// Records the stream of a connection.
    pub fn bind(&mut self, slot: usize, stream: StreamName) {
        self.by_stream.insert(stream, slot);
    }

    /// The connection of a stream.
    pub fn of_stream(&self, stream: StreamName) -> Option<usize> {
        self.by_stream.get(&stream).copied()
    }

    /// The connections of an association.
    pub fn of_link(&self, link: u32) -> Vec<usize> {
        self.by_stream.range((link, 0)..=(link, u64::MAX)).map(|(_, slot)| *slot).collect()
    }

    /// All connections, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &SplitConnection)> {
        self.slots.iter().enumerate().filter_map(|(slot, entry)| Some((slot, entry.flow.as_ref()?)))
    }

    /// Gives a connection a turn.
    pub fn touch(&mut self, slot: usize) {
        if let Some(entry) = self.slots.get_mut(slot).filter(|entry| entry.used)
            && !std::mem::replace(&mut entry.queued, true)
        {
            self.turns.push_back(slot);
        }
    }

    /// The next connection in turn.
    pub fn next(&mut self) -> Option<usize> {
        let slot = self.turns.pop_front()?;
        self.slots[slot].queued = false;
        Some(slot)
    }

    /// The number of connections that have a turn.
    pub fn waiting(&self) -> usize {
        self.turns.len()
    }

    /// Sets a connection's timer, replacing the one before.
    pub fn set_timer(&mut self, slot: usize, at: Option<Time>) {
        let Some(entry) = self.slots.get_mut(slot) else { return };
        if let Some(before) = std::mem::replace(&mut entry.timer, at) {
            self.timers.remove(&(before, slot));
        }
        self.timers.extend(at.map(|at| (at, slot)));
    }

    /// The earliest expiry of a timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Gives a turn to the connections whose timers have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((at, slot)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, slot));
            self.slots[slot].timer = None;
            self.touch(slot);
        }
    }
}
