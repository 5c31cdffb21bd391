//! Numbers of the users of an association, by which it accounts for the memory of their streams.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rule itself is `stp::Trunk::assign`.
//! A number is the smallest that is free, because the association keeps a list by number.

use std::collections::BTreeMap;

/// A user's number, and the user's connections.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    number: u32,
    connections: usize,
}

/// The users of one association. `U` names a user: an address.
#[derive(Debug)]
pub struct OwnerNumbers<U> {
    users: BTreeMap<U, Numbered>,
    free: Vec<u32>,
}

impl<U> Default for OwnerNumbers<U> {
    fn default() -> Self {
        Self { users: BTreeMap::new(), free: Vec::new() }
    }
}

impl<U: Ord + Copy> OwnerNumbers<U> {
    /// The number of a user, 0 if the user has no connection.
    pub fn number(&self, user: U) -> u32 {
        self.users.get(&user).map_or(0, |of| of.number)
    }

    /// Adds a connection of a user. Returns the user's number.
    pub fn enter(&mut self, user: U) -> u32 {
        let next = self.users.len() as u32 + self.free.len() as u32 + 1;
        let of = self.users.entry(user).or_insert_with(|| {
            let number = self.free.pop().unwrap_or(next);
            Numbered { number, connections: 0 }
        });
        of.connections += 1;
        of.number
    }

    /// Removes a connection of a user.
    pub fn leave(&mut self, user: U) {
        let Some(of) = self.users.get_mut(&user) else { return };
        of.connections -= 1;
        if of.connections == 0 {
            self.free.push(of.number);
            self.users.remove(&user);
        }
    }

    /// Returns true if there is no connection.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_different_numbers_and_a_free_one_is_given_again() {
        let mut owners = OwnerNumbers::default();
        assert_eq!(owners.number('a'), 0);
        assert_eq!(['a', 'b', 'a', 'c'].map(|user| owners.enter(user)), [1, 2, 1, 3]);
        owners.leave('a');
        assert_eq!((owners.number('a'), owners.number('b')), (1, 2));
        owners.leave('a');
        owners.leave('a');
        assert_eq!((owners.number('a'), owners.enter('d'), owners.enter('e')), (0, 1, 4));
        for user in ['b', 'c', 'd', 'e'] {
            owners.leave(user);
        }
        assert!(owners.is_empty());
        let mut numbers: Vec<u32> = ('p'..'w').map(|user| owners.enter(user)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=7).collect::<Vec<_>>());
    }
}
