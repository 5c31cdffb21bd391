//! Memory of single users: the share of an association's memory, or of a hub's that is alone, and new connections that wait for it.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rule of the shares is `stp::Trunk::assign`.
//! Differs from the limit of an association, which stops all of its connections: a user whose data are not read stops alone.
//! Leaves out the kernel's buffers towards clients and servers, and the end of connections that hold too much (`memory_shortage`).

use crate::config::Role;
use crate::fate::End;
use crate::flow::SplitConnection;
use crate::gateway_core::GatewayCore;
use crate::memory_waits::{LinkUser, MemoryWaits};
use crate::unsent::UnsentBytes;
use crate::user::User;
use skyhop_splice::gateway::waiting_max;
use skyhop_splice::owners::OwnerNumbers;
use skyhop_splice::preamble::Answer;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// The pause before the first connection that waits for its user's memory is tried again.
const PAUSE: Span = Span::from_millis(100);

/// The number that stands for an association where there is none.
pub const NO_LINK: u32 = 0;

/// The memory of all users.
#[derive(Debug, Default)]
pub struct UserMemory {
    /// Users whose connections share the memory of an association.
    owners: BTreeMap<u32, OwnerNumbers<User>>,
    /// Connections that wait.
    waits: MemoryWaits,
    /// Data in the kernel towards users, if there is no far gateway.
    pub unsent: UnsentBytes,
}

impl UserMemory {
    /// Returns true if a user's share of an association's memory allows another connection.
    fn has_room(&self, (link, user): LinkUser, core: &mut GatewayCore) -> bool {
        if core.config.role == Role::Alone {
            return self.unsent.admits(core.config.memory, user);
        }
        let number = self.owners.get(&link).map_or(0, |owners| owners.number(user));
        core.links.engine.trunk(link).is_none_or(|trunk| trunk.admits(number))
    }

    /// Counts what a connection's stream holds as its user's.
    pub fn own(&mut self, flow: &mut SplitConnection, user: User, core: &mut GatewayCore) {
        let Some((link, id)) = flow.stream else { return };
        let number = self.owners.entry(link).or_default().enter(user);
        flow.claims.owner = Some(user);
        if let Some(trunk) = core.links.engine.trunk(link) {
            trunk.assign(id, number);
        }
    }

    /// Takes a connection that has ended out of its user's memory, and out of those that wait for it.
    pub fn ended(&mut self, now: Time, flow: &mut SplitConnection, core: &mut GatewayCore) {
        self.leave_waits(now, flow, core);
        if let (Some(user), Some((link, id))) = (flow.claims.owner, flow.stream) {
            self.leave(link, user);
            if let Some(trunk) = core.links.engine.trunk(link) {
                trunk.assign(id, 0);
            }
        }
        if let Some(user) = flow.claims.here {
            self.unsent.set_full(user, &mut flow.claims.unsent, false);
        }
    }

    fn leave(&mut self, link: u32, user: User) {
        if let Some(owners) = self.owners.get_mut(&link) {
            owners.leave(user);
            if owners.is_empty() {
                self.owners.remove(&link);
            }
        }
    }

    /// Returns true if there is memory for a connection, of which no other of its user waits before it. If there is none, it waits, at
    /// most as long as for a server: a client's at its socket, and that of a stream that the far gateway has opened with what the
    /// stream's first window holds.
    pub fn admits(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        (link, user): LinkUser,
        core: &mut GatewayCore,
    ) -> Result<bool, End> {
        // The association may be another one by now.
        if flow.claims.waits_in.is_some_and(|(of, _)| of != (link, user)) {
            self.leave_waits(now, flow, core);
        }
        let first = self.waits.may_try((link, user), flow.claims.waits_in);
        if first && self.has_room((link, user), core) {
            if self.leave_waits(now, flow, core) && !flow.opener {
                // The server has its own time to answer.
                flow.since = now;
            }
            return Ok(true);
        }
        let full = match flow.stream {
            Some(_) => End::Answered(Answer::Full),
            None => End::Refused(Answer::Full),
        };
        let ends = flow.since + core.config.connect_timeout;
        if now >= ends {
            return Err(full);
        }
        if flow.claims.waits_in.is_none() {
            let most = flow.stream.map_or(usize::MAX, |_| waiting_max(core.config.memory));
            flow.claims.waits_in = self.waits.enter((link, user), slot, most);
            if flow.claims.waits_in.is_none() {
                return Err(full);
            }
            core.journal.waits_for_memory(user);
        }
        core.flows.set_timer(slot, Some(if first { ends.min(now + PAUSE) } else { ends }));
        Ok(false)
    }

    /// Ends a connection's wait for memory, and lets the next one of its user try. Returns true if it waited.
    fn leave_waits(&mut self, now: Time, flow: &mut SplitConnection, core: &mut GatewayCore) -> bool {
        let Some(place) = flow.claims.waits_in.take() else { return false };
        if let Some(next) = self.waits.leave(place) {
            core.flows.set_timer(next, Some(now));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dscp::Dscp;
    use crate::gateway_core::tests::alone;
    use crate::unsent::UnsentLimit;
    use skyhop_splice::preamble::Destination;
    use std::net::SocketAddr;

    #[test]
    fn connections_of_a_user_without_memory_wait_in_order_and_are_refused_in_the_end() {
        let (mut memory, mut core) =
            (UserMemory::default(), alone("memory = \"1 MiB\"\nconnect_timeout = \"10 s\""));
        let [client, other_client] = [2, 3].map(|last| SocketAddr::from(([10, 1, 0, last], 4000)));
        let [user, other] = [client, other_client].map(|client| User::of(client.ip(), &[]));
        let at = |seconds| Time::from_nanos(1) + Span::from_secs(seconds);
        let [(mut first, one), (mut second, two)] = [(); 2].map(|()| {
            let slot = core.flows.insert(new(client));
            (core.flows.take(slot).expect("a connection"), slot)
        });
        assert_eq!(memory.admits(at(0), one, &mut first, (NO_LINK, user), &mut core), Ok(true));
        let mut held: Vec<UnsentLimit> = Vec::new();
        while memory.unsent.admits(1 << 20, user) {
            let mut limit = memory.unsent.limit(1 << 20, user);
            memory.unsent.set_full(user, &mut limit, true);
            held.push(limit);
        }
        let admits =
            |memory: &mut UserMemory, core: &mut GatewayCore, now, slot, flow: &mut SplitConnection| {
                memory.admits(now, slot, flow, (NO_LINK, user), core)
            };
        assert_eq!(admits(&mut memory, &mut core, at(1), one, &mut first), Ok(false));
        assert_eq!(core.flows.poll_timeout(), Some(at(1) + PAUSE), "the first tries again soon");
        assert_eq!(admits(&mut memory, &mut core, at(1), two, &mut second), Ok(false));
        assert_eq!(core.journal.counters.memory_waits, 2);
        assert_eq!(memory.admits(at(1), 9, &mut new(other_client), (NO_LINK, other), &mut core), Ok(true));
        held.iter_mut().for_each(|limit| memory.unsent.set_full(user, limit, false));
        assert_eq!(
            admits(&mut memory, &mut core, at(2), two, &mut second),
            Ok(false),
            "the other came first"
        );
        memory.ended(at(3), &mut first, &mut core);
        core.flows.set_timer(one, None);
        assert_eq!(core.flows.poll_timeout(), Some(at(3)), "the next one tries at once");
        assert_eq!(admits(&mut memory, &mut core, at(3), two, &mut second), Ok(true));
        held.iter_mut().for_each(|limit| memory.unsent.set_full(user, limit, true));
        let full = Err(End::Refused(Answer::Full));
        assert_eq!(
            admits(&mut memory, &mut core, at(10), two, &mut second),
            full,
            "after the time for a server"
        );
    }

    fn new(client: SocketAddr) -> SplitConnection {
        let to = Destination::Address(SocketAddr::from(([192, 0, 2, 1], 80)));
        SplitConnection::forwarded(Time::from_nanos(1), client, to, Dscp::default(), true)
    }
}
