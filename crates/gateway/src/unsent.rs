//! Data in the kernel towards users, of a hub without terminals.
//!
//! Follows TCP_NOTSENT_LOWAT of tcp(7), and dynamic thresholds (Choudhury and Hahne 1998) for the part of each user.
//! Differs from the kernel's own limits of memory, which know no users: only the data of connections whose limit is reached count.
//! Leaves out the sockets.

use crate::user::User;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Limits of the unsent bytes of a connection in the kernel, apart from the segment that exceeds them.
const UNSENT_MIN: u64 = 4 << 10;
const UNSENT_MAX: u64 = 256 << 10;
/// The longest segment that the kernel begins below the limit.
const SEGMENT: u64 = 64 << 10;
/// Part of the rest of the memory that a connection may have unsent.
const PART: u64 = 16;

/// The unsent data in the kernel towards a user.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnsentLimit {
    bytes: u64,
    /// The kernel takes no more: the data count as held.
    full: bool,
}

impl UnsentLimit {
    /// Bytes of it that may be unsent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Bytes that wait in the kernel for clients, of connections whose limit is reached.
#[derive(Debug, Default)]
pub struct UnsentBytes {
    all: u64,
    of_users: BTreeMap<User, u64>,
}

impl UnsentBytes {
    fn of(&self, user: User) -> u64 {
        self.of_users.get(&user).copied().unwrap_or(0)
    }

    /// Memory for a user that is left: three quarters of what other users leave.
    fn left(&self, memory: u64, user: User) -> u64 {
        let mine = self.of(user);
        (memory.saturating_sub(self.all - mine) / 4 * 3).saturating_sub(mine)
    }

    /// Returns true if there is memory for another connection of a user.
    pub fn admits(&self, memory: u64, user: User) -> bool {
        self.left(memory, user) >= SEGMENT + UNSENT_MIN
    }

    /// The limit of a new connection of a user.
    pub fn limit(&self, memory: u64, user: User) -> UnsentLimit {
        let bytes = (self.left(memory, user) / PART).clamp(UNSENT_MIN, UNSENT_MAX);
        UnsentLimit { bytes, full: false }
    }

    /// Notes that the kernel takes no more of a connection, or takes some again.
    pub fn set_full(&mut self, user: User, limit: &mut UnsentLimit, full: bool) {
        if std::mem::replace(&mut limit.full, full) == full {
            return;
        }
        let bytes = limit.bytes + SEGMENT;
        if full {
            self.all += bytes;
            *self.of_users.entry(user).or_default() += bytes;
        } else if let Entry::Occupied(mut of_user) = self.of_users.entry(user) {
            self.all -= bytes;
            *of_user.get_mut() -= bytes;
            if *of_user.get() == 0 {
                of_user.remove();
            }
        }
    }

    /// Returns true if the memory of all connections is used up.
    pub fn is_used_up(&self, memory: u64) -> bool {
        self.all >= memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_are_not_read_hold_the_memory_at_most_and_a_user_three_quarters() {
        for memory in [1 << 20, 64 << 20] {
            let mut held = UnsentBytes::default();
            let mut limits = Vec::new();
            for user in (1..=10).map(|last| User::of([10, 1, 0, last].into(), &[])) {
                // Each user opens as many as it may, one after another.
                while held.admits(memory, user) && !held.is_used_up(memory) {
                    let mut limit = held.limit(memory, user);
                    held.set_full(user, &mut limit, true);
                    held.set_full(user, &mut limit, true);
                    limits.push((user, limit));
                }
            }
            let first = held.of(User::of([10, 1, 0, 1].into(), &[]));
            let second = held.of(User::of([10, 1, 0, 2].into(), &[]));
            let most = SEGMENT + UNSENT_MAX;
            assert!(held.all <= memory && held.all == held.of_users.values().sum::<u64>(), "{held:?}");
            assert!((memory / 4 * 3 - most..=memory / 4 * 3).contains(&first), "{first} of {memory}");
            assert!(second > memory / 16 && second <= (memory - first) / 4 * 3, "{second} of {memory}");
            for (user, limit) in &mut limits {
                held.set_full(*user, limit, false);
                held.set_full(*user, limit, false);
            }
            assert!(held.all == 0 && held.of_users.is_empty(), "{held:?}");
            assert_eq!(held.limit(64 << 20, User::of([10, 1, 0, 1].into(), &[])).bytes, UNSENT_MAX);
        }
    }
}
