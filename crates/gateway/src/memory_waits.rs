//! Connections that wait for their user's memory, in the order in which they came.
//!
//! Follows docs/gateway.md, "Memory", and dynamic thresholds (Choudhury and Hahne 1998) for the places of those that hold memory while they
//! wait: a user may have as many as are left free.
//! Leaves out the memory itself and the clock (`user_memory`): only the first of each user tries.

use crate::user::User;
use std::collections::BTreeMap;

/// A user in an association.
pub type LinkUser = (u32, User);

/// The place of a waiting connection: its user, and how many connections came before it.
pub type WaitPlace = (LinkUser, u64);

/// Waiting connections of all users in all associations: their places, and their slots.
#[derive(Debug, Default)]
pub struct MemoryWaits {
    came: u64,
    users: BTreeMap<LinkUser, BTreeMap<u64, usize>>,
    of_links: BTreeMap<u32, usize>,
}

impl MemoryWaits {
    /// Returns true if a connection may try: no other of its user that came before it waits.
    pub fn may_try(&self, of: LinkUser, place: Option<WaitPlace>) -> bool {
        let first = self.users.get(&of).and_then(BTreeMap::first_key_value);
        first.is_none_or(|(first, _)| place == Some((of, *first)))
    }

    /// Adds a connection, if its user has less than are left of `most` in its association.
    pub fn enter(&mut self, of: LinkUser, slot: usize, most: usize) -> Option<WaitPlace> {
        let mine = self.users.get(&of).map_or(0, BTreeMap::len);
        let all = self.of_links.get(&of.0).copied().unwrap_or(0);
        if mine >= most.saturating_sub(all) {
            return None;
        }
        self.came += 1;
        self.users.entry(of).or_default().insert(self.came, slot);
        *self.of_links.entry(of.0).or_default() += 1;
        Some((of, self.came))
    }

    /// Takes a connection out. Returns the slot of the next one, which may try at once, if this one was the first.
    pub fn leave(&mut self, (of, nth): WaitPlace) -> Option<usize> {
        let waiting = self.users.get_mut(&of)?;
        let was_first = waiting.first_key_value().is_some_and(|(first, _)| *first == nth);
        waiting.remove(&nth)?;
        let next = waiting.first_key_value().map(|(_, slot)| *slot);
        if next.is_none() {
            self.users.remove(&of);
        }
        if let Some(all) = self.of_links.get_mut(&of.0) {
            *all -= 1;
            if *all == 0 {
                self.of_links.remove(&of.0);
            }
        }
        next.filter(|_| was_first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: u32 = 7;

    fn user(last: u8) -> LinkUser {
        (LINK, User::of([10, 1, 0, last].into(), &[]))
    }

    #[test]
    fn connections_of_a_user_try_in_the_order_in_which_they_came() {
        let mut waits = MemoryWaits::default();
        assert!(waits.may_try(user(2), None), "nobody waits");
        let places = [9, 4, 2].map(|slot| waits.enter(user(2), slot, usize::MAX));
        assert_eq!(places.map(|place| waits.may_try(user(2), place)), [true, false, false]);
        assert!(!waits.may_try(user(2), None), "a new one is the last");
        assert!(waits.may_try(user(3), None) && waits.may_try((8, user(2).1), None), "of others");
        let [first, second, third] = places.map(|place| place.expect("a place"));
        assert_eq!(waits.leave(second), None, "it was not the first");
        assert_eq!(waits.leave(first), Some(2));
        assert_eq!(waits.leave(first), None, "twice");
        assert_eq!(waits.leave(third), None);
        assert!(waits.users.is_empty() && waits.of_links.is_empty());
    }

    #[test]
    fn a_user_leaves_places_to_others() {
        let mut waits = MemoryWaits::default();
        let fill = |waits: &mut MemoryWaits, of| {
            let places = (0..100).filter_map(|slot| waits.enter(of, slot, 16));
            places.collect::<Vec<_>>()
        };
        let mine = fill(&mut waits, user(2));
        assert_eq!((mine.len(), fill(&mut waits, user(3)).len()), (8, 4));
        assert_eq!(fill(&mut waits, (8, user(2).1)).len(), 8, "another association");
        waits.leave(mine[3]);
        assert_eq!(fill(&mut waits, user(3)).len(), 1);
        assert_eq!(fill(&mut waits, user(2)).len(), 0);
    }
}
