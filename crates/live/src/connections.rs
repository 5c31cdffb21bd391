//! All connections of a host: slots with names, the assignment of packets, timers, and turns to send.
//!
//! Slots are reused; a generation distinguishes a name for an earlier connection.
//! Leaves out sending in a turn (`host`).

use crate::connection::{Conn, Key, PeerChannel};
use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A connection as its owner names it: a slot and the slot's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    pub slot: usize,
    pub generation: u64,
}

struct ConnSlot {
    generation: u64,
    conn: Option<Conn>,
}

/// The table of connections. Only its methods change a connection's `key`, `timer` and `dirty`.
#[derive(Default)]
pub(crate) struct Connections {
    slots: Vec<ConnSlot>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    timers: BTreeSet<(Time, usize)>,
    dirty: VecDeque<usize>,
}

impl Connections {
    /// Number of connections.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Adds a connection and returns its slot.
    pub fn insert(&mut self, conn: Conn) -> Name {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(ConnSlot { generation: 0, conn: None });
            self.slots.len() - 1
        });
        self.slots[slot].conn = Some(conn);
        Name { slot, generation: self.slots[slot].generation }
    }

    /// Frees a slot, with its timer and key.
    pub fn remove(&mut self, slot: usize) {
        let Some(conn) = self.slots[slot].conn.take() else { return };
        self.slots[slot].generation += 1;
        self.free.push(slot);
        if let Some(timer) = conn.timer {
            self.timers.remove(&(timer, slot));
        }
        if let Some(key) = conn.key {
            self.by_key.remove(&key);
        }
    }

    /// The connection in a slot.
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut Conn> {
        self.slots.get_mut(slot)?.conn.as_mut()
    }

    /// The connection of a name, unless its slot has been reused.
    pub fn named(&mut self, name: Name) -> Option<&mut Conn> {
        let slot = self.slots.get_mut(name.slot)?;
        if slot.generation == name.generation { slot.conn.as_mut() } else { None }
    }

    /// All connections.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conn> {
        self.slots.iter_mut().filter_map(|slot| slot.conn.as_mut())
    }

    /// The slots in use.
    pub fn slots(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    /// Assigns packets with this key to this connection.
    pub fn bind(&mut self, slot: usize, key: Key) {
        let Some(conn) = self.slots[slot].conn.as_mut() else { return };
        conn.channel = Some(key.channel);
        if let Some(before) = conn.key.replace(key) {
            self.by_key.remove(&before);
        }
        self.by_key.insert(key, slot);
    }

    /// The slot to which packets with this key belong.
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Channels in use by connections.
    pub fn channels(&self) -> BTreeSet<PeerChannel> {
        self.by_key.keys().map(|key| key.channel).collect()
    }

    /// Gives a turn to a connection that may have something to send.
    pub fn touch(&mut self, slot: usize) {
        if let Some(conn) = self.slots[slot].conn.as_mut()
            && !std::mem::replace(&mut conn.dirty, true)
        {
            self.dirty.push_back(slot);
        }
    }

    /// The slot whose turn is next.
    pub fn next_turn(&mut self) -> Option<usize> {
        let slot = self.dirty.pop_front()?;
        if let Some(conn) = self.slots[slot].conn.as_mut() {
            conn.dirty = false;
        }
        Some(slot)
    }

    /// Sets a connection's timer, in place of an earlier one.
    pub fn set_timer(&mut self, slot: usize, due: Option<Time>) {
        let Some(conn) = self.slots[slot].conn.as_mut().filter(|conn| conn.timer != due) else { return };
        if let Some(before) = std::mem::replace(&mut conn.timer, due) {
            self.timers.remove(&(before, slot));
        }
        self.timers.extend(due.map(|at| (at, slot)));
    }

    /// Time of the first timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Removes the first timer that is due by `now`; returns its time and slot.
    pub fn take_due(&mut self, now: Time) -> Option<(Time, usize)> {
        let first = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
        self.timers.pop_first();
        if let Some(conn) = self.slots[first.1].conn.as_mut() {
            conn.timer = None;
        }
        Some(first)
    }

    /// Returns true if all connections have ended and no turn is left.
    pub fn at_rest(&self) -> bool {
        let rests =
            |slot: &ConnSlot| slot.conn.as_ref().is_none_or(|c| c.machine.over() || c.failed.is_some());
        self.dirty.is_empty() && self.slots.iter().all(rests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_transport::stp;
    use std::net::SocketAddr;

    fn peer() -> SocketAddr {
        "192.0.2.1:13989".parse().expect("an address")
    }

    fn conn() -> Conn {
        let machine = stp::Connection::connect(stp::Config::default(), stp::Ends::default(), 1);
        Conn::new(machine, peer(), 28)
    }

    fn key(local_port: u16) -> Key {
        Key { channel: PeerChannel::Plain(peer()), local_port, remote_port: 1, instance: 0 }
    }

    #[test]
    fn a_slot_is_used_again_and_the_name_before_finds_nothing() {
        let mut table = Connections::default();
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
        let mut table = Connections::default();
        let slot = table.insert(conn()).slot;
        table.bind(slot, key(1));
        table.bind(slot, key(2));
        assert_eq!((table.find(&key(1)), table.find(&key(2))), (None, Some(slot)));
        assert_eq!(table.channels(), BTreeSet::from([PeerChannel::Plain(peer())]));
        table.remove(slot);
        assert_eq!(table.find(&key(2)), None);
        assert!(table.channels().is_empty());
    }

    #[test]
    fn timers_come_in_order_once_and_a_new_one_takes_the_place_of_the_old() {
        let at = Time::from_nanos;
        let mut table = Connections::default();
        let [a, b, c] = [(); 3].map(|()| table.insert(conn()).slot);
        table.set_timer(a, Some(at(30)));
        table.set_timer(b, Some(at(10)));
        table.set_timer(c, Some(at(15)));
        table.set_timer(a, Some(at(20)));
        table.remove(c);
        assert_eq!(table.poll_timeout(), Some(at(10)));
        assert_eq!(table.take_due(at(9)), None);
        assert_eq!(table.take_due(at(25)), Some((at(10), b)));
        assert_eq!(table.take_due(at(25)), Some((at(20), a)));
        assert_eq!((table.take_due(at(99)), table.poll_timeout()), (None, None));
        // An expired timer is forgotten: the same time can be set again.
        table.set_timer(b, Some(at(10)));
        assert_eq!(table.poll_timeout(), Some(at(10)));
        table.set_timer(b, None);
        assert_eq!(table.poll_timeout(), None);
    }

    #[test]
    fn who_is_touched_twice_has_one_turn_and_turns_come_in_order() {
        let mut table = Connections::default();
        let [a, b] = [(); 2].map(|()| table.insert(conn()).slot);
        for slot in [b, a, b] {
            table.touch(slot);
        }
        assert!(!table.at_rest());
        assert_eq!([table.next_turn(), table.next_turn(), table.next_turn()], [Some(b), Some(a), None]);
        table.touch(b);
        assert_eq!(table.next_turn(), Some(b));
    }
}
