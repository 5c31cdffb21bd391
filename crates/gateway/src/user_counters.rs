//! Counters of users: their connections and bytes, by address.
//!
//! Follows the conventions of Prometheus for names. Differs: the number of users is bounded, and the others are counted together.
//! Leaves out users of the far end, whom their own gateway counts.

use crate::user::User;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Users that are counted by address: the first ones.
const COUNTED: usize = 256;

/// Counters of a user.
#[derive(Debug, Clone, Copy, Default)]
struct UserCounts {
    connections: u64,
    to_server: u64,
    to_client: u64,
}

/// Counters of all users.
#[derive(Debug, Clone, Default)]
pub struct UserCounters {
    users: BTreeMap<User, UserCounts>,
    others: UserCounts,
}

impl UserCounters {
    /// Counts a connection, and its bytes to the server and to the client.
    pub fn add(&mut self, user: User, [to_server, to_client]: [u64; 2]) {
        let known = self.users.len() < COUNTED || self.users.contains_key(&user);
        let counts = if known { self.users.entry(user).or_default() } else { &mut self.others };
        counts.connections += 1;
        counts.to_server += to_server;
        counts.to_client += to_client;
    }

    /// The counters in Prometheus' text format.
    pub fn prometheus(&self, out: &mut String) {
        let named = self.users.iter().map(|(user, counts)| (user.to_string(), counts));
        let all: Vec<_> = named.chain([("others".to_owned(), &self.others)]).collect();
        let _ = writeln!(
            out,
            "# HELP skyhop_gateway_user_connections_total Connections of users here; the first {COUNTED} users have a label.\n\
             # TYPE skyhop_gateway_user_connections_total counter"
        );
        for (user, counts) in &all {
            let _ = writeln!(
                out,
                "skyhop_gateway_user_connections_total{{user=\"{user}\"}} {}",
                counts.connections
            );
        }
        let _ = writeln!(
            out,
            "# HELP skyhop_gateway_user_bytes_total Bytes of the connections of users.\n\
             # TYPE skyhop_gateway_user_bytes_total counter"
        );
        for (user, counts) in &all {
            for (direction, bytes) in [("to-server", counts.to_server), ("to-client", counts.to_client)] {
                let _ = writeln!(
                    out,
                    "skyhop_gateway_user_bytes_total{{user=\"{user}\",direction=\"{direction}\"}} {bytes}"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_beyond_the_bound_are_counted_together() {
        let mut counters = UserCounters::default();
        for n in 0..300_u32 {
            counters.add(User::of(std::net::Ipv4Addr::from(n).into(), &[]), [1, 10]);
        }
        counters.add(User::of([0, 0, 0, 1].into(), &[]), [1, 10]);
        let mut out = String::new();
        counters.prometheus(&mut out);
        assert!(out.contains("user_connections_total{user=\"0.0.0.1\"} 2\n"), "{out}");
        assert!(out.contains("user_bytes_total{user=\"others\",direction=\"to-client\"} 440\n"), "{out}");
        assert!(out.lines().count() < 3 * 260);
    }
}
