//! Memory and connections of single users: the share of an association's memory, new connections that wait for it, and the end of those
//! that keep it.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rule of the shares is `stp::Trunk::assign`.
//! Differs from the limit of an association, which stops all of its connections: a user whose data are not read stops alone. The first
//! data of a connection cannot be refused, and the kernel's buffers hide for a while that nobody reads; so connections of the user who
//! holds most are reset when the memory of an association is used up for long.
//! Leaves out the kernel's buffers towards clients and servers.

use crate::config::Role;
use crate::fate::End;
use crate::flow::SplitConnection;
use crate::gateway::Gateway;
use crate::memory_waits::{LinkUser, MemoryWaits};
use crate::user::User;
use crate::user_limits::UserLimits;
use skyhop_splice::gateway::waiting_max;
use skyhop_splice::owners::OwnerNumbers;
use skyhop_splice::preamble::{Answer, Destination};
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;

/// The pause before the first connection that waits for its user's memory is tried again.
const PAUSE: Span = Span::from_millis(100);
/// Used memory, in eighths, beyond which an association is short of it, and the part at which a search for connections to reset ends.
const FULL: u64 = 7;
const RELIEVED: u64 = 6;
/// The part of the memory, in eighths, that a user holds at least whose connections are reset.
const MUCH: u64 = 2;
/// The time for which an association may be short of memory.
const FULL_MAX: Span = Span::from_secs(10);
/// The interval of searches while one is.
const SEARCH: Span = Span::from_secs(1);

/// The user of a connection, if known: the terminal's end of it, whichever gateway opens it.
pub(crate) fn user_of(
    to: &Destination,
    client: Option<SocketAddr>,
    from_hub: bool,
    entries: &[UserLimits],
) -> Option<User> {
    let address = match to {
        Destination::Address(to) if from_hub => Some(to.ip()),
        _ => client.map(|client| client.ip()),
    };
    address.map(|address| User::of(address, entries))
}

/// The number that stands for an association where there is none.
pub(crate) const NO_LINK: u32 = 0;

/// The users of all associations.
#[derive(Debug, Default)]
pub struct UserMemory {
    links: BTreeMap<u32, OwnerNumbers<User>>,
    /// Connections of each user here.
    connections: BTreeMap<User, usize>,
    /// Connections that wait.
    waits: MemoryWaits,
    /// Associations that are short of memory, with the times at which they were found so.
    short: BTreeMap<u32, Time>,
    search_at: Option<Time>,
}

impl UserMemory {
    /// Connections of a user here.
    pub fn connections_of(&self, user: User) -> u64 {
        self.connections.get(&user).copied().unwrap_or(0) as u64
    }

    /// Counts a connection that a user here has opened.
    pub fn opened(&mut self, flow: &SplitConnection) {
        if let Some(user) = flow.claims.here {
            *self.connections.entry(user).or_default() += 1;
        }
    }

    /// Takes a connection that has ended out of the count.
    pub fn ended(&mut self, flow: &SplitConnection) {
        let Some(user) = flow.claims.here else { return };
        if let Entry::Occupied(mut count) = self.connections.entry(user) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The number of a user in an association, 0 without a connection.
    pub fn number(&self, link: u32, user: User) -> u32 {
        self.links.get(&link).map_or(0, |owners| owners.number(user))
    }

    /// The time of the next search for connections to reset.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.search_at
    }

    fn enter(&mut self, link: u32, user: User) -> u32 {
        self.links.entry(link).or_default().enter(user)
    }

    fn leave(&mut self, link: u32, user: User) {
        if let Some(owners) = self.links.get_mut(&link) {
            owners.leave(user);
            if owners.is_empty() {
                self.links.remove(&link);
            }
        }
    }
}

impl Gateway {
    /// Returns true if the user of a connection has more connections than the file allows.
    pub(crate) fn has_too_many(&self, flow: &SplitConnection) -> bool {
        let Some(user) = flow.claims.here.filter(|_| !self.core.config.users.is_empty()) else {
            return false;
        };
        let count = self.user_memory.connections_of(user);
        user.limits(&self.core.config.users).is_some_and(|limits| count > limits.connections as u64)
    }

    /// Returns true if a user's share of an association's memory allows another connection.
    fn has_memory(&mut self, link: u32, user: User) -> bool {
        if self.core.config.role == Role::Alone {
            return self.unsent.admits(self.core.config.memory, user);
        }
        let number = self.user_memory.number(link, user);
        self.core.links.engine.trunk(link).is_none_or(|trunk| trunk.admits(number))
    }

    /// Counts what a connection's stream holds as its user's.
    pub(crate) fn own_memory(&mut self, flow: &mut SplitConnection, user: User) {
        let Some((link, id)) = flow.stream else { return };
        let number = self.user_memory.enter(link, user);
        flow.claims.owner = Some(user);
        if let Some(trunk) = self.core.links.engine.trunk(link) {
            trunk.assign(id, number);
        }
    }

    /// Takes a connection that has ended out of its user's memory.
    pub(crate) fn disown_memory(&mut self, flow: &SplitConnection) {
        let (Some(user), Some((link, id))) = (flow.claims.owner, flow.stream) else { return };
        self.user_memory.leave(link, user);
        if let Some(trunk) = self.core.links.engine.trunk(link) {
            trunk.assign(id, 0);
        }
    }

    /// Returns true if there is memory for a connection, of which no other of its user waits before it. If there is none, it waits, at
    /// most as long as for a server: a client's at its socket, and that of a stream that the far gateway has opened with what the
    /// stream's first window holds.
    pub(crate) fn takes_memory(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        (link, user): LinkUser,
    ) -> Result<bool, End> {
        // The association may be another one by now.
        if flow.claims.waits_in.is_some_and(|(of, _)| of != (link, user)) {
            self.leave_memory_waits(now, flow);
        }
        let first = self.user_memory.waits.may_try((link, user), flow.claims.waits_in);
        if first && self.has_memory(link, user) {
            if self.leave_memory_waits(now, flow) && !flow.opener {
                // The server has its own time to answer.
                flow.since = now;
            }
            return Ok(true);
        }
        let full = match flow.stream {
            Some(_) => End::Answered(Answer::Full),
            None => End::Refused(Answer::Full),
        };
        let ends = flow.since + self.core.config.connect_timeout;
        if now >= ends {
            return Err(full);
        }
        if flow.claims.waits_in.is_none() {
            let most = flow.stream.map_or(usize::MAX, |_| waiting_max(self.core.config.memory));
            flow.claims.waits_in = self.user_memory.waits.enter((link, user), slot, most);
            if flow.claims.waits_in.is_none() {
                return Err(full);
            }
            self.core.journal.waits_for_memory(user);
        }
        self.core.flows.set_timer(slot, Some(if first { ends.min(now + PAUSE) } else { ends }));
        Ok(false)
    }

    /// Ends a connection's wait for memory, and lets the next one of its user try. Returns true if it waited.
    pub(crate) fn leave_memory_waits(&mut self, now: Time, flow: &mut SplitConnection) -> bool {
        let Some(place) = flow.claims.waits_in.take() else { return false };
        if let Some(next) = self.user_memory.waits.leave(place) {
            self.core.flows.set_timer(next, Some(now));
        }
        true
    }

    /// Notes that an association may be short of memory.
    pub(crate) fn watch_memory(&mut self, now: Time, link: u32) {
        if self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(FULL)) {
            self.user_memory.short.entry(link).or_insert(now);
            self.user_memory.search_at.get_or_insert(now + SEARCH);
        }
    }

    /// Relieves the associations that have been short of memory for long.
    pub(crate) fn relieve_due(&mut self, now: Time) {
        if self.user_memory.search_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        for (link, since) in std::mem::take(&mut self.user_memory.short) {
            let Some(trunk) = self.core.links.engine.link(link).map(|link| &link.trunk) else { continue };
            // Slow readers free a little of it again and again.
            if !trunk.holds_more_than(RELIEVED) {
                continue;
            }
            if now.since(since) >= FULL_MAX && trunk.holds_more_than(FULL) {
                self.relieve(now, link);
            }
            self.user_memory.short.insert(link, since);
            self.user_memory.search_at = Some(now + SEARCH);
        }
    }

    /// Resets connections of the user who holds most of an association's memory, if there are others and the user holds much: those with
    /// most data that wait to be read first. A slow reader is no better for the others than one who does not read.
    fn relieve(&mut self, now: Time, link: u32) {
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
        let mut of_users: BTreeMap<User, (u64, Vec<(u64, usize)>)> = BTreeMap::new();
        for slot in self.core.flows.of_link(link) {
            let Some(flow) = self.core.flows.get_mut(slot) else { continue };
            let (Some((_, id)), Some(user)) = (flow.stream, flow.claims.owner) else { continue };
            let (held, connections) = of_users.entry(user).or_default();
            *held += trunk.readable(id);
            connections.push((trunk.readable(id), slot));
        }
        let others = of_users.len() > 1;
        let most = of_users.into_iter().max_by_key(|(_, (held, _))| *held);
        let Some((user, (_, mut connections))) =
            most.filter(|(_, (held, _))| others && trunk.is_more_than(*held, MUCH))
        else {
            return;
        };
        connections.sort_unstable_by(|one, other| other.cmp(one));
        for (_, slot) in connections {
            if !self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(RELIEVED)) {
                return;
            }
            let Some(flow) = self.core.flows.take(slot) else { continue };
            self.core.journal.reset_for_memory(user);
            self.finish(now, slot, flow, End::Reset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_at_the_terminals_end_whichever_gateway_opens() {
        let [user, server] = [[10, 1, 0, 2], [198, 51, 100, 7]].map(|ip| SocketAddr::from((ip, 80)));
        let from_user = Destination::Address(server);
        let name_of = |to: &Destination, client, from_hub| {
            user_of(to, client, from_hub, &[]).map(|user| user.to_string())
        };
        let its = Some(user.ip().to_string());
        assert_eq!(name_of(&from_user, Some(user), false), its);
        assert_eq!(name_of(&from_user, None, false), None);
        assert_eq!(name_of(&Destination::Address(user), Some(server), true), its);
        let name = Destination::Name("server".into(), 80);
        assert_eq!(name_of(&name, Some(user), false), its);
    }
}
