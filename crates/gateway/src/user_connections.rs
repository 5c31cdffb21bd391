//! The number of open connections of each user here.
//!
//! Follows docs/gateway.md, "Priorities and shares": the file may limit it. Leaves out the limit (`user_limits`).

use crate::user::User;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The counts.
#[derive(Debug, Default)]
pub struct UserConnections {
    counts: BTreeMap<User, usize>,
}

impl UserConnections {
    /// Connections of a user.
    pub fn of(&self, user: User) -> usize {
        self.counts.get(&user).copied().unwrap_or(0)
    }

    /// Counts a connection.
    pub fn opened(&mut self, user: User) {
        *self.counts.entry(user).or_default() += 1;
    }

    /// Takes a connection that has ended out of the count.
    pub fn ended(&mut self, user: User) {
        if let Entry::Occupied(mut count) = self.counts.entry(user) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_connections_is_forgotten() {
        let [one, other] = [1, 2].map(|last| User::of([10, 1, 0, last].into(), &[]));
        let mut connections = UserConnections::default();
        for user in [one, one, other] {
            connections.opened(user);
        }
        assert_eq!([one, other].map(|user| connections.of(user)), [2, 1]);
        for user in [one, one, one, other] {
            connections.ended(user);
        }
        assert_eq!([one, other].map(|user| connections.of(user)), [0, 0]);
        assert!(connections.counts.is_empty());
    }
}
