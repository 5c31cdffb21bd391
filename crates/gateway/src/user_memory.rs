//! Memory and connections of single users: the share of an association's memory, new connections that wait for it, and the end of those
//! that keep it.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rule of the shares is `stp::Trunk::assign`.
//! Differs from the limit of an association, which stops all of its connections: a user whose data are not read stops alone. The first
//! data of a connection cannot be refused, and the kernel's buffers hide for a while that nobody reads; so connections that have not
//! read for a while are reset when the memory of an association is nearly used up.
//! Leaves out the kernel's buffers towards clients and servers.

use crate::flow::{Phase, SplitConnection};
use crate::gateway::{End, Gateway};
use crate::user_limits::limits_of;
use skyhop_live::engine::Link;
use skyhop_splice::owners::OwnerNumbers;
use skyhop_splice::preamble::{Answer, Destination};
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};

/// The pause before a connection for which its user has no memory is tried again.
const PAUSE: Span = Span::from_millis(100);
/// Used memory, in eighths, beyond which connections that do not read are reset, and the part that is then aimed at.
const FULL: u64 = 7;
const RELIEVED: u64 = 6;
/// The time without a read after which a connection may be reset, and the time after which it is not being read: as long as such
/// connections of the user who holds most are too young, those of others stay.
const UNREAD_MAX: Span = Span::from_secs(10);
const UNREAD_MIN: Span = Span::from_secs(2);
/// The interval of searches for such connections.
const SEARCH: Span = Span::from_secs(1);

/// The user of a connection, if known: the terminal's end of it, whichever gateway opens it.
pub(crate) fn user_of(to: &Destination, client: Option<SocketAddr>, from_hub: bool) -> Option<IpAddr> {
    match to {
        Destination::Address(to) if from_hub => Some(to.ip()),
        _ => client.map(|client| client.ip()),
    }
}

/// The users of all associations.
#[derive(Debug, Default)]
pub struct UserMemory {
    links: BTreeMap<u32, OwnerNumbers<IpAddr>>,
    /// Connections of each user here.
    connections: BTreeMap<IpAddr, usize>,
    /// The time of the next search for connections that do not read, while an association's memory is nearly used up.
    search_at: Option<Time>,
}

impl UserMemory {
    /// Counts a connection that a user here has opened.
    pub fn opened(&mut self, flow: &SplitConnection) {
        if let Some(user) = flow.user_here() {
            *self.connections.entry(user).or_default() += 1;
        }
    }

    /// Takes a connection that has ended out of the count.
    pub fn ended(&mut self, flow: &SplitConnection) {
        let Some(user) = flow.user_here() else { return };
        if let Entry::Occupied(mut count) = self.connections.entry(user) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The number of a user in an association, 0 without a connection.
    pub fn number(&self, link: u32, user: IpAddr) -> u32 {
        self.links.get(&link).map_or(0, |owners| owners.number(user))
    }

    /// The time of the next search for connections that do not read.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.search_at
    }

    fn enter(&mut self, link: u32, user: IpAddr) -> u32 {
        self.links.entry(link).or_default().enter(user)
    }

    fn leave(&mut self, link: u32, user: IpAddr) {
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
        let Some(user) = flow.user_here().filter(|_| !self.config.users.is_empty()) else { return false };
        let count = self.user_memory.connections.get(&user).copied().unwrap_or(0);
        limits_of(&self.config.users, user).is_some_and(|limits| count > limits.connections)
    }

    /// Returns true if a user's share of an association's memory allows another connection.
    pub(crate) fn has_memory(&mut self, link: u32, user: IpAddr) -> bool {
        let number = self.user_memory.number(link, user);
        self.engine.trunk(link).is_none_or(|trunk| trunk.admits(number))
    }

    /// Counts what a connection's stream holds as its user's.
    pub(crate) fn own_memory(&mut self, flow: &mut SplitConnection, user: IpAddr) {
        let Some((link, id)) = flow.stream else { return };
        let number = self.user_memory.enter(link, user);
        flow.owner = Some(user);
        if let Some(trunk) = self.engine.trunk(link) {
            trunk.assign(id, number);
        }
    }

    /// Takes a connection that has ended out of its user's memory.
    pub(crate) fn disown_memory(&mut self, flow: &SplitConnection) {
        let (Some(user), Some((link, id))) = (flow.owner, flow.stream) else { return };
        self.user_memory.leave(link, user);
        if let Some(trunk) = self.engine.trunk(link) {
            trunk.assign(id, 0);
        }
    }

    /// Makes a client's connection wait until its user's other connections have been read, at most as long as for a server.
    pub(crate) fn wait_for_memory(
        &mut self,
        now: Time,
        slot: usize,
        flow: &SplitConnection,
        user: IpAddr,
    ) -> Result<bool, End> {
        let ends = flow.since + self.config.connect_timeout;
        if now >= ends {
            return Err(End::Refused(Answer::Full));
        }
        self.counters.memory_waits += 1;
        if self.counters.memory_waits == 1 {
            self.log.push_back(format!(
                "{user}: connections that do not read hold this user's part of `memory`: new ones wait"
            ));
        }
        debug_assert!(matches!(flow.phase, Phase::Waiting(_)));
        self.flows.set_timer(slot, Some(ends.min(now + PAUSE)));
        Ok(false)
    }

    /// Notes that an association may be short of memory.
    pub(crate) fn watch_memory(&mut self, now: Time, link: u32) {
        let full = self.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(FULL));
        if full && self.user_memory.search_at.is_none() {
            self.user_memory.search_at = Some(now + SEARCH);
        }
    }

    /// Relieves the associations that are short of memory, if the time has come.
    pub(crate) fn relieve_due(&mut self, now: Time) {
        if self.user_memory.search_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        let short = |(id, link): (u32, &Link)| link.trunk.holds_more_than(FULL).then_some(id);
        let short: Vec<u32> = self.engine.links().filter_map(short).collect();
        for link in short {
            self.relieve(now, link);
            self.watch_memory(now, link);
        }
    }

    /// Resets connections of an association that have not read for a while: those of the user who holds most first, and of them those
    /// that hold most.
    fn relieve(&mut self, now: Time, link: u32) {
        let Some(trunk) = self.engine.trunk(link) else { return };
        let mut of_users: BTreeMap<Option<IpAddr>, u64> = BTreeMap::new();
        let mut unread = Vec::new();
        for slot in self.flows.of_link(link) {
            let Some(flow) = self.flows.get_mut(slot) else { continue };
            let held = flow.stream.map_or(0, |(_, id)| trunk.readable(id));
            if flow.owner.is_some() {
                *of_users.entry(flow.owner).or_default() += held;
            }
            if held > 0 && now.since(flow.read_at) >= UNREAD_MIN {
                unread.push((slot, flow.owner, held));
            }
        }
        let of_user = |owner, held| of_users.get(&owner).copied().unwrap_or(held);
        unread.sort_by_key(|(slot, owner, held)| {
            std::cmp::Reverse((of_user(*owner, *held), *owner, *held, *slot))
        });
        for (slot, owner, _) in unread {
            if !self.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(RELIEVED)) {
                return;
            }
            let Some(flow) = self.flows.take(slot) else { continue };
            if now.since(flow.read_at) < UNREAD_MAX {
                return self.flows.put(slot, flow);
            }
            self.counters.memory_resets += 1;
            if self.counters.memory_resets == 1 {
                let whose = owner.map_or(String::new(), |user| format!(" of {user}"));
                self.log
                    .push_back(format!("`memory` is used up: connections{whose} that do not read are reset"));
            }
            self.finish(now, slot, flow, End::Reset);
        }
    }
}
