//! A hub without terminals: both ends of a split connection are the kernel's TCP, and its users need no gateway.
//!
//! Follows HT figure 4.22 and HK section VI ("on the user side no gateway at all"): the hub's TCP towards the users has buffers and
//! congestion control for the satellite link, and servers have a short path to it.
//! Differs from a pair of gateways: the users' receive windows limit the data in flight, and their acknowledgments are unchanged. Only
//! what has not been sent counts as memory: what a client does not read stays unsent.
//! Leaves out shares of the link, which the kernel's connections settle by congestion control.

use crate::flow::SplitConnection;
use crate::gateway::{End, Fate, Gateway, allowed};
use crate::kernel::{KernelSocket, SocketTuning};
use crate::sides::KernelSide;
use skyhop_units::Time;
use std::net::SocketAddr;

/// Limits of the unsent bytes of a connection in the kernel.
const UNSENT_MIN: u64 = 4 << 10;
const UNSENT_MAX: u64 = 256 << 10;
/// Connections that a user may always have.
const ALWAYS: u64 = 16;

/// Bytes of a new connection that may wait in the kernel, for `mine` connections of its user among `all`, including it: a quarter of the
/// memory for all, and three quarters of that for a user. A client that does not read holds as much.
fn unsent_max(memory: u64, all: u64, mine: u64) -> u64 {
    let part = (memory / 4 / all.max(1)).min(memory / 16 * 3 / mine.max(1));
    part.clamp(UNSENT_MIN, UNSENT_MAX)
}

/// Number of connections for which there is memory.
pub(crate) fn connections_max(memory: u64) -> u64 {
    memory / UNSENT_MIN
}

/// Returns true if a user may have `mine` connections among `all`: three quarters at most of what other users leave.
fn may_have(memory: u64, all: u64, mine: u64) -> bool {
    let left = connections_max(memory).saturating_sub(all - mine);
    mine <= (left / 4 * 3).max(ALWAYS)
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
        let config = &self.config;
        let (all, mine) = (self.flows.len() as u64, self.user_memory.connections_of(client.ip()));
        let tuning = SocketTuning {
            congestion: config.congestion.as_deref(),
            buffer: config.memory / 4,
            unsent: unsent_max(config.memory, all + 1, mine + 1),
            rate: config.rate,
        };
        if let Err(e) = socket.tune(&tuning) {
            self.log.push_back(format!("a connection towards users: {e}"));
        }
        let dscp = socket.dscp();
        self.mark(&socket, self.config.dscp.back(dscp));
        let flow = SplitConnection { dscp, ..SplitConnection::intercepted(now, socket, client, to) };
        self.insert(now, flow);
    }

    /// Returns true if there is memory for a connection, which is among its user's already.
    pub(crate) fn has_memory_alone(&self, flow: &SplitConnection) -> bool {
        let Some(user) = flow.user_here() else { return true };
        may_have(self.config.memory, self.flows.len() as u64, self.user_memory.connections_of(user))
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
            for users in [1, 2, 10] {
                let (mut all, mut held, mut counts) = (0, 0, vec![0; users]);
                let mut of_users = vec![0; users];
                // Each user opens as many as it may, the first one all of them at first.
                for user in 0..users {
                    while all < connections_max(memory) && may_have(memory, all + 1, counts[user] + 1) {
                        (all, counts[user]) = (all + 1, counts[user] + 1);
                        let unsent = unsent_max(memory, all, counts[user]);
                        (held, of_users[user]) = (held + unsent, of_users[user] + unsent);
                    }
                }
                assert!(held <= memory * 2, "{held} of {memory} by {counts:?}");
                let most = connections_max(memory);
                assert!((most / 4 * 3 - 1..=most / 4 * 3).contains(&counts[0]), "{counts:?} of {most}");
                let second = counts.get(1).copied().unwrap_or(ALWAYS);
                assert!(second >= ((most - counts[0]) / 4 * 3).min(ALWAYS), "{counts:?} of {most}");
            }
        }
        assert_eq!(unsent_max(64 << 20, 1, 1), UNSENT_MAX);
        assert_eq!(unsent_max(64 << 20, 1000, 100), 16_777);
        assert_eq!(unsent_max(64 << 20, 1000, 1000), 12_582);
    }
}
