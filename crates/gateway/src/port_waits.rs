//! Connections that wait for a local port towards a server, in the order in which they came.
//!
//! Follows docs/gateway.md, "Many connections to one server". Differs from the kernel, which gives a free port to whoever asks first.
//! Leaves out attempts, which `connector` makes: only the first of each server tries.

use skyhop_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Waiting connections of all servers.
#[derive(Debug, Default)]
pub struct PortWaits {
    servers: BTreeMap<SocketAddr, ServerWaits>,
}

/// Waiting connections to a server: the time at which each came, and its slot.
#[derive(Debug, Default)]
struct ServerWaits {
    waiting: BTreeSet<(Time, usize)>,
    /// There was no free port; the next attempt is not before this time.
    until: Time,
}

impl PortWaits {
    /// Returns true if a connection that came at `since` may try: none before it waits, and the last attempt is long enough ago.
    pub fn may_try(&self, now: Time, to: SocketAddr, since: Time, slot: usize) -> bool {
        self.servers.get(&to).is_none_or(|server| server.until <= now) && self.is_first(to, since, slot)
    }

    /// Returns true if no connection to the server that came before this one waits.
    pub fn is_first(&self, to: SocketAddr, since: Time, slot: usize) -> bool {
        let first = self.servers.get(&to).and_then(|server| server.waiting.first());
        first.is_none_or(|first| (since, slot) <= *first)
    }

    /// Adds a connection, if it does not wait yet.
    pub fn wait(&mut self, to: SocketAddr, since: Time, slot: usize) {
        self.servers.entry(to).or_default().waiting.insert((since, slot));
    }

    /// Notes that no port was free; no connection tries before `until`.
    pub fn note_lack(&mut self, to: SocketAddr, until: Time) {
        self.servers.entry(to).or_default().until = until;
    }

    /// Takes a connection out. Returns the slot of the next one, which may try at once, if this one was the first.
    pub fn leave(&mut self, to: SocketAddr, since: Time, slot: usize) -> Option<usize> {
        let server = self.servers.get_mut(&to)?;
        let was_first = server.waiting.first() == Some(&(since, slot));
        server.waiting.remove(&(since, slot));
        let Some(&(_, next)) = server.waiting.first() else {
            self.servers.remove(&to);
            return None;
        };
        if was_first {
            server.until = Time::ZERO;
        }
        was_first.then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;

    #[test]
    fn connections_are_served_in_the_order_in_which_they_came() {
        let mut waits = PortWaits::default();
        let [server, other]: [SocketAddr; 2] = ["192.0.2.1:80", "192.0.2.2:80"].map(|to| to.parse().unwrap());
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let may = |waits: &PortWaits, now, since, slot| waits.may_try(at(now), server, at(since), slot);
        assert!(may(&waits, 5, 5, 9), "nobody waits");
        for (ms, slot) in [(5, 9), (1, 4), (3, 2), (3, 2)] {
            waits.wait(server, at(ms), slot);
        }
        waits.note_lack(server, at(100));
        waits.wait(other, at(0), 1);
        assert!(!may(&waits, 99, 1, 4), "soon after an attempt");
        assert!(may(&waits, 100, 1, 4) && !may(&waits, 100, 3, 2), "the first alone");
        assert!(!may(&waits, 100, 7, 0), "a new one is the last");
        assert_eq!(waits.leave(server, at(3), 2), None, "it was not the first");
        assert_eq!(waits.leave(server, at(1), 4), Some(9));
        assert!(may(&waits, 50, 5, 9), "a port was free a moment ago");
        assert_eq!(waits.leave(server, at(1), 4), None, "twice");
        assert_eq!(waits.leave(server, at(5), 9), None);
        assert_eq!(waits.leave(other, at(0), 1), None);
        assert!(waits.servers.is_empty());
    }
}
