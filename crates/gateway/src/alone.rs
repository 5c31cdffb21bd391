//! A hub without terminals: both ends of a split connection are the kernel's TCP, and its users need no gateway.
//!
//! Follows HT figure 4.22 and HK section VI ("on the user side no gateway at all"): the hub's TCP towards the users has buffers and
//! congestion control for the satellite link, and servers have a short path to it.
//! Differs from a pair of gateways: the users' receive windows limit the data in flight, and their acknowledgments are unchanged. Only
//! what has not been sent counts as memory: what a client does not read stays unsent.
//! Leaves out shares of the link, which the kernel's connections settle by congestion control.

use crate::flow::SplitConnection;
use crate::gateway::{End, Fate, Gateway};
use crate::kernel::{KernelSocket, SocketTuning};
use crate::sides::KernelSide;
use crate::user::User;
use crate::user_memory::NO_LINK;
use crate::user_turns::allowed;
use skyhop_units::Time;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;

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

    /// The limit of a new connection of a user.
    fn limit(&self, memory: u64, user: User) -> UnsentLimit {
        let bytes = (self.left(memory, user) / PART).clamp(UNSENT_MIN, UNSENT_MAX);
        UnsentLimit { bytes, full: false }
    }

    /// Notes that the kernel takes no more of a connection, or takes some again.
    fn set_full(&mut self, user: User, limit: &mut UnsentLimit, full: bool) {
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

impl Gateway {
    /// Accepts a client's connection to `to`, which arrived over the satellite link.
    pub(crate) fn accept_alone(
        &mut self,
        now: Time,
        socket: KernelSocket,
        client: SocketAddr,
        to: SocketAddr,
    ) {
        let dscp = socket.dscp();
        self.mark(&socket, self.config.dscp.back(dscp));
        let flow = SplitConnection { dscp, ..SplitConnection::intercepted(now, socket, client, to) };
        self.insert(now, flow);
    }

    /// Returns true if there is memory for another connection of a user.
    pub(crate) fn has_memory_alone(&self, user: User) -> bool {
        self.unsent.left(self.config.memory, user) >= SEGMENT + UNSENT_MIN
    }

    /// Begins a client's connection to its server, once there is memory for another one of its user.
    pub(crate) fn connect_alone(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        to: SocketAddr,
    ) -> Result<bool, End> {
        let Some(user) = flow.here else { return Err(End::Reset) };
        if !self.takes_memory(now, slot, flow, (NO_LINK, user))? {
            return Ok(false);
        }
        let config = &self.config;
        flow.unsent = self.unsent.limit(config.memory, user);
        let tuning = SocketTuning {
            congestion: config.congestion.as_deref(),
            buffer: config.memory / 4,
            unsent: flow.unsent.bytes,
            rate: config.rate,
        };
        if let Err(e) = flow.user.as_ref().map_or(Ok(()), |socket| socket.tune(&tuning)) {
            self.log.push_back(format!("a connection towards users: {e}"));
        }
        self.connect(now, slot, flow, vec![to])
    }

    /// Takes a connection that has ended out of the unsent data.
    pub(crate) fn forget_unsent(&mut self, flow: &mut SplitConnection) {
        if let Some(user) = flow.here {
            self.unsent.set_full(user, &mut flow.unsent, false);
        }
    }

    /// Copies data between two sockets of the kernel.
    pub(crate) fn pump_alone(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let most = allowed(&mut self.lines, &self.config, now, slot, flow);
        let before = flow.join.carried();
        let (Some(user), Some(server)) = (&mut flow.user, &mut flow.socket) else {
            return Fate::Over(End::Reset);
        };
        let [up, down] = &mut self.arenas;
        let mut client = KernelSide { socket: user, arena: up };
        let mut server = KernelSide { socket: server, arena: down };
        let progress = flow.join.pump(&mut client, &mut server, most);
        if client.socket.has_failed() || server.socket.has_failed() {
            return Fate::Over(End::Reset);
        }
        let full = !client.socket.writable;
        if let Some(user) = flow.here {
            self.unsent.set_full(user, &mut flow.unsent, full);
        }
        self.passed(now, slot, flow, most, before);
        self.fate(now, slot, flow, progress)
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
                while held.left(memory, user) >= SEGMENT + UNSENT_MIN && !held.is_used_up(memory) {
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
