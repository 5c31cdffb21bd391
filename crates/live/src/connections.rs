//! All connections of a host: slots with names, the assignment of packets, timers, and turns to send.
//!
//! Slots are reused; a generation distinguishes a name for an earlier connection.
//! Leaves out the packets of a turn (`channels`).

use crate::connection::{Conn, Key, PeerChannel};
use crate::memory::HostMemory;
use crate::timers::{ConnectionTimers, Lateness};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// The name of a connection: a slot and the slot's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub slot: usize,
    pub generation: u64,
}

/// A connection that the host and the application share.
pub(crate) type SharedConn = Arc<Mutex<Conn>>;

/// Takes the lock of a connection.
pub(crate) fn lock(conn: &Mutex<Conn>) -> MutexGuard<'_, Conn> {
    // A panic of another thread has left the machine between two steps; its state is still one that a peer could have caused.
    conn.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Default)]
struct ConnSlot {
    generation: u64,
    conn: Option<SharedConn>,
    key: Option<Key>,
    timer: Option<Time>,
    dirty: bool,
}

/// The connections of a channel, and their budget.
struct Channel {
    slots: BTreeSet<usize>,
    memory: Arc<HostMemory>,
}

/// The table.
pub(crate) struct Connections {
    slots: Vec<ConnSlot>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    channels: BTreeMap<PeerChannel, Channel>,
    timers: ConnectionTimers,
    dirty: VecDeque<usize>,
    memory: Arc<HostMemory>,
    max: usize,
}

impl Connections {
    /// A table for at most so many connections, which share a budget.
    pub fn new(memory: Arc<HostMemory>, max: usize) -> Self {
        Connections {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            channels: BTreeMap::new(),
            timers: ConnectionTimers::default(),
            dirty: VecDeque::new(),
            memory,
            max,
        }
    }

    /// The number of connections.
    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if there is no place for another one.
    pub fn is_full(&self) -> bool {
        self.len() >= self.max
    }

    /// Returns true if one channel has as many of the places as it may have.
    pub fn is_full_for(&self, channel: PeerChannel) -> bool {
        self.of_channel(channel) >= self.max / 4 * 3
    }

    /// The number of connections of a channel.
    pub fn of_channel(&self, channel: PeerChannel) -> usize {
        self.channels.get(&channel).map_or(0, |channel| channel.slots.len())
    }

    /// The slots of a channel's connections.
    pub fn slots_of(&self, channel: PeerChannel) -> Vec<usize> {
        self.channels.get(&channel).map_or_else(Vec::new, |channel| channel.slots.iter().copied().collect())
    }

    /// The budget of all.
    pub fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    /// The budget of a channel's connections.
    pub fn memory_of(&self, channel: PeerChannel) -> Arc<HostMemory> {
        let known = self.channels.get(&channel).map(|channel| channel.memory.clone());
        known.unwrap_or_else(|| HostMemory::share(&self.memory))
    }

    /// A slot for a connection.
    pub fn insert(&mut self, conn: Conn) -> Name {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(ConnSlot::default());
            self.slots.len() - 1
        });
        self.slots[slot].conn = Some(Arc::new(Mutex::new(conn)));
        Name { slot, generation: self.slots[slot].generation }
    }

    /// Frees a slot, with its timer and key.
    pub fn remove(&mut self, slot: usize) {
        if self.slots[slot].conn.take().is_none() {
            return;
        }
        self.unbind(slot);
        let freed = &mut self.slots[slot];
        freed.generation += 1;
        self.free.push(slot);
        if let Some(timer) = freed.timer.take() {
            self.timers.remove(timer, slot);
        }
    }

    /// The connection in a slot.
    pub fn get(&self, slot: usize) -> Option<&SharedConn> {
        self.slots.get(slot)?.conn.as_ref()
    }

    /// The connection in a slot, locked.
    pub fn locked(&self, slot: usize) -> Option<MutexGuard<'_, Conn>> {
        self.get(slot).map(|conn| lock(conn))
    }

    /// The connection of a name, if its slot has not been used again.
    pub fn named(&self, name: Name) -> Option<&SharedConn> {
        let slot = self.slots.get(name.slot)?;
        if slot.generation == name.generation { slot.conn.as_ref() } else { None }
    }

    /// The name of the connection in a slot.
    pub fn name(&self, slot: usize) -> Name {
        Name { slot, generation: self.slots[slot].generation }
    }

    /// All connections.
    pub fn iter(&self) -> impl Iterator<Item = &SharedConn> {
        self.slots.iter().filter_map(|slot| slot.conn.as_ref())
    }

    /// Assigns a key to the connection's packets, in place of an earlier one.
    pub fn bind(&mut self, slot: usize, key: Key) {
        self.unbind(slot);
        let memory = self.memory_of(key.channel);
        let Some(mut conn) = self.slots[slot].conn.as_ref().map(|conn| lock(conn)) else { return };
        conn.bind(key.channel, &memory);
        drop(conn);
        self.slots[slot].key = Some(key);
        self.by_key.insert(key, slot);
        let channel = self.channels.entry(key.channel);
        channel.or_insert_with(|| Channel { slots: BTreeSet::new(), memory }).slots.insert(slot);
    }

    fn unbind(&mut self, slot: usize) {
        let Some(key) = self.slots[slot].key.take() else { return };
        self.by_key.remove(&key);
        if let Some(channel) = self.channels.get_mut(&key.channel) {
            channel.slots.remove(&slot);
            if channel.slots.is_empty() {
                self.channels.remove(&key.channel);
            }
        }
    }

    /// The slot to which packets with this key belong.
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Gives a turn to a connection that may have something to send.
    pub fn touch(&mut self, slot: usize) {
        let touched = &mut self.slots[slot];
        if touched.conn.is_some() && !std::mem::replace(&mut touched.dirty, true) {
            self.dirty.push_back(slot);
        }
    }

    /// The slot whose turn is next.
    pub fn next_turn(&mut self) -> Option<usize> {
        // If the slot has been reused, its present connection gets the turn, and may have nothing to send.
        let slot = self.dirty.pop_front()?;
        self.slots[slot].dirty = false;
        Some(slot)
    }

    /// Ends the turn of a connection that has nothing more to send. Returns true if it is over.
    pub fn rest(&mut self, now: Time, slot: usize) -> bool {
        let Some(mut conn) = self.locked(slot) else { return false };
        conn.take_events();
        let due = conn.poll_timeout();
        if conn.is_over() && due.is_none() {
            return true;
        }
        // A timer in the past would make the loop run without rest.
        let due = due.map(|at| at.max(now + Span::from_micros(20)));
        conn.turn.schedule(due);
        drop(conn);
        self.set_timer(slot, due);
        false
    }

    /// Sets a connection's timer, in place of an earlier one.
    fn set_timer(&mut self, slot: usize, due: Option<Time>) {
        let set = &mut self.slots[slot];
        if set.conn.is_none() || set.timer == due {
            return;
        }
        if let Some(before) = std::mem::replace(&mut set.timer, due) {
            self.timers.remove(before, slot);
        }
        if let Some(at) = due {
            self.timers.insert(at, slot);
        }
    }

    /// Time of the first timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first()
    }

    /// Serves the timers that are due at `now`; their connections get a turn.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(slot) = self.take_due(now) {
            if let Some(mut conn) = self.locked(slot) {
                conn.handle_timeout(now);
            }
            self.touch(slot);
        }
    }

    /// Removes the first timer that is due by `now`; returns its slot.
    fn take_due(&mut self, now: Time) -> Option<usize> {
        let slot = self.timers.take_due(now)?;
        self.slots[slot].timer = None;
        Some(slot)
    }

    /// Lateness of the timers served so far.
    pub fn lateness(&self) -> Lateness {
        self.timers.lateness()
    }

    /// Returns true if all connections have ended, also for their peers, and no turn is left.
    pub fn at_rest(&self, now: Time) -> bool {
        self.all(|conn| conn.machine.settled(now))
    }

    /// Returns true if all connections have ended and have all answers, and no turn is left.
    pub fn may_leave(&self, now: Time) -> bool {
        self.all(|conn| conn.machine.may_leave(now))
    }

    fn all(&self, ended: impl Fn(&Conn) -> bool) -> bool {
        let ended = |conn: &SharedConn| {
            let conn = lock(conn);
            ended(&conn) || conn.has_failed()
        };
        self.dirty.is_empty() && self.iter().all(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Most, PeerPath, Standing};
    use skyhop_transport::stp;
    use std::net::SocketAddr;

    fn peer() -> SocketAddr {
        "192.0.2.1:13989".parse().expect("an address")
    }

    fn conn() -> Conn {
        let machine = stp::Connection::connect(stp::Config::default(), stp::Ends::default(), 1);
        let most = Most { received: 1 << 20, written: 1 << 20 };
        let (path, memory) = (PeerPath::new(peer(), 28, false), HostMemory::new(1 << 20));
        Conn::new(machine, path, Standing::opened_here(), (&memory, 1 << 10), most).expect("there is memory")
    }

    fn key(local_port: u16) -> Key {
        Key { channel: PeerChannel::Plain(peer()), local_port, remote_port: 1, instance: 0 }
    }

    #[test]
    fn a_slot_is_used_again_and_the_name_before_finds_nothing() {
        let mut table = Connections::new(HostMemory::new(1 << 20), 16);
        let first = table.insert(conn());
        table.remove(first.slot);
        let second = table.insert(conn());
        assert_eq!((second.slot, table.len()), (first.slot, 1));
        assert!(table.named(first).is_none());
        assert!(table.named(second).is_some());
        // A second removal of a free slot must not free it twice.
        table.remove(second.slot);
        table.remove(second.slot);
        let (a, b) = (table.insert(conn()), table.insert(conn()));
        assert_ne!(a.slot, b.slot);
    }

    #[test]
    fn a_connection_has_one_key_and_takes_it_along() {
        let mut table = Connections::new(HostMemory::new(1 << 20), 16);
        let slot = table.insert(conn()).slot;
        table.bind(slot, key(1));
        table.bind(slot, key(2));
        assert_eq!((table.find(&key(1)), table.find(&key(2))), (None, Some(slot)));
        assert_eq!(table.slots_of(PeerChannel::Plain(peer())), [slot]);
        table.remove(slot);
        assert_eq!(table.find(&key(2)), None);
        assert_eq!(table.of_channel(PeerChannel::Plain(peer())), 0);
    }

    #[test]
    fn a_table_and_three_quarters_of_it_for_one_channel_may_be_full() {
        let mut table = Connections::new(HostMemory::new(1 << 20), 4);
        for port in 0..4 {
            assert!(!table.is_full() && table.is_full_for(key(0).channel) == (port == 3));
            let slot = table.insert(conn()).slot;
            table.bind(slot, key(port));
        }
        assert!(table.is_full());
        table.remove(0);
        assert!(!table.is_full() && table.len() == 3);
    }

    #[test]
    fn timers_come_in_order_once_and_a_new_one_takes_the_place_of_the_old() {
        let at = Time::from_nanos;
        let mut table = Connections::new(HostMemory::new(1 << 20), 16);
        let [a, b, c] = [(); 3].map(|()| table.insert(conn()).slot);
        table.set_timer(a, Some(at(30)));
        table.set_timer(b, Some(at(10)));
        table.set_timer(c, Some(at(15)));
        table.set_timer(a, Some(at(20)));
        table.remove(c);
        assert_eq!(table.poll_timeout(), Some(at(10)));
        assert_eq!(table.take_due(at(9)), None);
        assert_eq!(table.take_due(at(25)), Some(b));
        assert_eq!(table.take_due(at(25)), Some(a));
        assert_eq!((table.take_due(at(99)), table.poll_timeout()), (None, None));
        // An expired timer is forgotten: the same time can be set again.
        table.set_timer(b, Some(at(10)));
        assert_eq!(table.poll_timeout(), Some(at(10)));
        table.set_timer(b, None);
        assert_eq!(table.poll_timeout(), None);
    }

    #[test]
    fn who_is_touched_twice_has_one_turn_and_turns_come_in_order() {
        let mut table = Connections::new(HostMemory::new(1 << 20), 16);
        let [a, b] = [(); 2].map(|()| table.insert(conn()).slot);
        for slot in [b, a, b] {
            table.touch(slot);
        }
        assert!(!table.at_rest(Time::ZERO));
        assert_eq!([table.next_turn(), table.next_turn(), table.next_turn()], [Some(b), Some(a), None]);
        table.touch(b);
        assert_eq!(table.next_turn(), Some(b));
    }
}
