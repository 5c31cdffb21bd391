//! Connections without an association whose peers' addresses are not proven yet.
//!
//! Follows TCP's queue of SYNs: bounded, and the oldest is replaced by the newest.
//! Differs: one that is proven, or over, leaves at once, so that only the others count.

use crate::connections::Name;
use crate::seen::{Begun, SeenBegins};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of connections; a further one replaces the oldest.
const UNPROVEN_MAX: usize = 1024;
/// Number of connections up to which the application gets them before their addresses are proven.
const UNPROVEN_FEW: usize = 16;
/// Receive window of a connection, bytes: if it is the only one, one of a few, and one of many. A peer may send the second amount before
/// it has an answer.
const UNPROVEN_WINDOWS: [u64; 3] = [16 << 20, 96 << 10, 4 << 10];

/// The connections, the oldest first.
#[derive(Debug)]
pub(crate) struct Unproven {
    seen: SeenBegins,
    begun: BTreeMap<Name, Begun>,
    /// In order of beginning, with some that have left; never more than twice as many as there are, and a few.
    order: VecDeque<Name>,
    max: usize,
}

impl Unproven {
    /// No connections, on a host with `memory` bytes for all, of which each keeps `least` in each direction.
    pub fn new(memory: u64, least: u64) -> Self {
        // They keep a quarter of the budget at most.
        let max = UNPROVEN_MAX.min((memory / 8 / least) as usize).max(1);
        Unproven { seen: SeenBegins::default(), begun: BTreeMap::new(), order: VecDeque::new(), max }
    }

    /// Returns true if a BGN is seen for the first time, as far as is remembered.
    pub fn first_seen(&mut self, begun: Begun) -> bool {
        self.seen.first_seen(begun)
    }

    /// Allows a BGN to arrive once more.
    pub fn forget(&mut self, begun: &Begun) {
        self.seen.forget(begun);
    }

    /// Returns true if the application gets the next one before its address is proven.
    pub fn are_few(&self) -> bool {
        self.begun.len() < UNPROVEN_FEW
    }

    /// Receive window of the next one, bytes.
    pub fn window(&self) -> u64 {
        match self.begun.len() {
            0 => UNPROVEN_WINDOWS[0],
            1..UNPROVEN_FEW => UNPROVEN_WINDOWS[1],
            _ => UNPROVEN_WINDOWS[2],
        }
    }

    /// Adds the connection of a BGN. Returns the oldest, if it has to make room: a host that claims many addresses takes no places of
    /// proven ones.
    pub fn push(&mut self, name: Name, begun: Begun) -> Option<Name> {
        let oldest = if self.begun.len() >= self.max { self.pop() } else { None };
        self.begun.insert(name, begun);
        self.order.push_back(name);
        if self.order.len() > 2 * self.begun.len() + 16 {
            self.order.retain(|name| self.begun.contains_key(name));
        }
        oldest
    }

    fn pop(&mut self) -> Option<Name> {
        loop {
            let name = self.order.pop_front()?;
            if let Some(begun) = self.begun.remove(&name) {
                // A peer that does have the address repeats its BGN.
                self.seen.forget(&begun);
                return Some(name);
            }
        }
    }

    /// A connection's address is proven, or it is over.
    pub fn remove(&mut self, name: Name) {
        self.begun.remove(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: Begun = (std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1, 2, 3);

    fn name(slot: usize) -> Name {
        Name { slot, generation: 1 }
    }

    #[test]
    fn those_that_are_proven_do_not_count() {
        let mut unproven = Unproven::new(16, 1);
        // The first is never proven, all others are at once.
        for slot in 0..10_000 {
            assert_eq!(unproven.push(name(slot), BEGUN), None);
            if slot > 0 {
                unproven.remove(name(slot));
            }
            assert!(unproven.begun.len() <= 2 && unproven.order.len() <= 20);
        }
        assert_eq!(unproven.push(name(10_000), BEGUN), None);
        assert_eq!(unproven.push(name(10_001), BEGUN), Some(name(0)));
        assert_eq!(unproven.push(name(10_002), BEGUN), Some(name(10_000)));
        assert_eq!(unproven.begun.len(), 2);
    }

    #[test]
    fn a_bgn_counts_again_when_its_connection_has_made_room() {
        // An eighth of the budget is not enough for one, which is allowed all the same.
        let mut unproven = Unproven::new(7, 1);
        assert!(unproven.first_seen(BEGUN) && !unproven.first_seen(BEGUN));
        assert_eq!(unproven.push(name(0), BEGUN), None);
        assert_eq!(unproven.push(name(1), (BEGUN.0, 1, 2, 4)), Some(name(0)));
        assert!(unproven.first_seen(BEGUN));
    }

    #[test]
    fn the_more_there_are_the_smaller_are_their_windows() {
        let mut unproven = Unproven::new(1 << 30, 1);
        let windows: Vec<_> = (0..18)
            .map(|slot| {
                let next = (unproven.window(), unproven.are_few());
                assert_eq!(unproven.push(name(slot), BEGUN), None);
                next
            })
            .collect();
        assert_eq!(
            (windows[0], windows[1], windows[15]),
            ((16 << 20, true), (96 << 10, true), (96 << 10, true))
        );
        assert_eq!(windows[16..], [(4 << 10, false); 2]);
    }
}
