//! The users of a gateway, and their shares of the link.
//!
//! Follows deficit round robin by weights (docs/stp.md §15.6): a user's weight is divided among the user's connections, so that
//! first users, then their connections share the link.
//! Leaves out rates of single users (`user_rates`).

use std::collections::{BTreeMap, BTreeSet};

/// A stream: the ID of its association, and its own.
pub type StreamName = (u32, u64);

/// The weight of a single connection of a user.
const WHOLE: usize = 128;

/// The connections of each user, by association. `U` names a user: an address.
#[derive(Debug)]
pub struct Users<U> {
    streams: BTreeSet<(U, StreamName)>,
    counts: BTreeMap<(u32, U), usize>,
}

impl<U> Default for Users<U> {
    fn default() -> Self {
        Self { streams: BTreeSet::new(), counts: BTreeMap::new() }
    }
}

fn weight(connections: usize) -> u8 {
    (WHOLE / connections.max(1)).max(1) as u8
}

impl<U: Ord + Copy> Users<U> {
    /// Adds a connection of a user. Returns its weight, and true if that of the user's other connections has changed.
    pub fn add(&mut self, user: U, stream: StreamName) -> (u8, bool) {
        self.streams.insert((user, stream));
        let count = self.counts.entry((stream.0, user)).or_default();
        *count += 1;
        (weight(*count), weight(*count) != weight(*count - 1) && *count > 1)
    }

    /// Removes a connection. Returns the new weight of the user's other connections if it has changed.
    pub fn remove(&mut self, user: U, stream: StreamName) -> Option<u8> {
        if !self.streams.remove(&(user, stream)) {
            return None;
        }
        let count = self.counts.get_mut(&(stream.0, user))?;
        *count -= 1;
        let (before, now) = (weight(*count + 1), weight(*count));
        if *count == 0 {
            self.counts.remove(&(stream.0, user));
            return None;
        }
        (before != now).then_some(now)
    }

    /// The connections of a user in an association.
    pub fn streams(&self, user: U, link: u32) -> impl Iterator<Item = StreamName> {
        self.streams.range((user, (link, 0))..=(user, (link, u64::MAX))).map(|(_, stream)| *stream)
    }

    /// The number of users with connections.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns true if there is no connection.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_connections_have_one_whole_together() {
        let mut users = Users::default();
        let [one, other] = [1_u32, 2];
        assert_eq!(users.add(one, (7, 0)), (128, false));
        assert_eq!(users.add(one, (7, 2)), (64, true));
        assert_eq!(users.add(other, (7, 4)), (128, false));
        assert_eq!(users.add(one, (8, 0)), (128, false), "another association");
        assert_eq!(users.streams(one, 7).collect::<Vec<_>>(), [(7, 0), (7, 2)]);
        assert_eq!(users.remove(one, (7, 0)), Some(128));
        assert_eq!(users.remove(one, (7, 0)), None, "twice");
        assert_eq!((users.remove(one, (7, 2)), users.len()), (None, 2));
        for count in 0..1000 {
            let (weight, _) = users.add(one, (7, 2 * count));
            assert!(weight >= 1 && usize::from(weight) <= 128 / (count as usize + 1).min(128));
        }
    }
}
