//! All connections of a gateway: their slots, streams, turns and timers, and the readiness of their sockets.
//!
//! Follows epoll(7): sockets are reported once for each change. A slot is reused, and its generation distinguishes successive connections.
//! Leaves out the work of a connection in its turn.

use crate::flow::{SplitConnection, StreamName};
use crate::kernel::KernelSocket;
use crate::poller_keys::{FAR, FIRST_FLOW, USER};
use polling::{Event as PollEvent, PollMode, Poller};
use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

#[derive(Debug, Default)]
struct FlowSlot {
    generation: u64,
    flow: Option<SplitConnection>,
    used: bool,
    queued: bool,
    timer: Option<Time>,
}

/// The table.
#[derive(Debug)]
pub struct Flows {
    poller: Arc<Poller>,
    /// Connections for which this process has file descriptors.
    pub files_max: usize,
    slots: Vec<FlowSlot>,
    free: Vec<usize>,
    by_stream: BTreeMap<StreamName, usize>,
    timers: BTreeSet<(Time, usize)>,
    turns: VecDeque<usize>,
    /// Connections that wait until the peer's limit of streams allows one more.
    wait_for_stream: VecDeque<usize>,
}

impl Flows {
    /// No connections yet.
    pub fn new(poller: Arc<Poller>) -> Self {
        Flows {
            poller,
            files_max: usize::MAX,
            slots: Vec::new(),
            free: Vec::new(),
            by_stream: BTreeMap::new(),
            timers: BTreeSet::new(),
            turns: VecDeque::new(),
            wait_for_stream: VecDeque::new(),
        }
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of connections that there may be, if the file allows so many.
    pub fn most(&self, configured: usize) -> usize {
        configured.min(self.files_max)
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
    pub fn get(&self, slot: usize) -> Option<&SplitConnection> {
        self.slots.get(slot)?.flow.as_ref()
    }

    /// A connection in its slot, mutably.
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

    /// Makes a connection wait until an association allows one more stream.
    pub fn wait_for_stream(&mut self, slot: usize) {
        self.wait_for_stream.push_back(slot);
    }

    /// Gives a turn to the connections that wait for a stream.
    pub fn try_streams(&mut self) {
        for slot in std::mem::take(&mut self.wait_for_stream) {
            self.touch(slot);
        }
    }

    /// Notes that the far gateway has closed its direction of a stream.
    pub fn finish_stream(&mut self, slot: usize) {
        if let Some(flow) = self.get_mut(slot) {
            flow.finished = true;
        }
        self.touch(slot);
    }

    /// Watches the sockets of a connection.
    pub fn watch_all(&self, slot: usize, flow: &SplitConnection) -> io::Result<()> {
        [(FAR, &flow.socket), (USER, &flow.user)].into_iter().try_for_each(|(end, socket)| {
            socket.as_ref().map_or(Ok(()), |socket| self.watch(slot, end, socket))
        })
    }

    /// Watches a socket of a connection.
    pub fn watch(&self, slot: usize, end: usize, socket: &KernelSocket) -> io::Result<()> {
        let key = FIRST_FLOW + 2 * slot + end;
        // SAFETY: a socket is removed from the poller before it is closed.
        unsafe { self.poller.add_with_mode(socket, PollEvent::all(key), PollMode::Edge) }
    }

    /// Ends the watch of a socket.
    pub fn unwatch(&self, socket: &KernelSocket) {
        let _ = self.poller.delete(socket);
    }

    /// Handles an event of a connection's socket.
    pub fn handle_ready(&mut self, event: &PollEvent) {
        let (slot, end) = ((event.key - FIRST_FLOW) / 2, (event.key - FIRST_FLOW) % 2);
        let Some(flow) = self.get_mut(slot) else { return };
        let socket = if end == USER { &mut flow.user } else { &mut flow.socket };
        if let Some(socket) = socket {
            socket.readable |= event.readable;
            socket.writable |= event.writable;
            self.touch(slot);
        }
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
