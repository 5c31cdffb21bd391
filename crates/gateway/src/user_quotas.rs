//! Quotas of single users: bytes of their connections per period.
//!
//! Follows `quotas`, which has the periods, with users' addresses in place of terminals' names.
//! Differs: the data of the connections count, without headers and retransmissions, as they do for a user's rate.
//! Leaves out datagrams, and the wall clock and the file, which the daemon handles.

use crate::quotas::Quotas;
use crate::user::User;
use crate::user_limits::UserLimits;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Users with metrics of their own: the first ones, by address.
const SHOWN: usize = 256;

/// The usage of all users who have a quota.
#[derive(Debug, Default)]
pub struct UserQuotas {
    /// The usage of each, by address.
    pub quotas: Quotas,
    /// Bytes since the last count.
    recent: BTreeMap<User, u64>,
}

impl UserQuotas {
    /// Adds bytes to the usage of a user.
    pub fn passed(&mut self, user: User, bytes: u64) {
        if bytes > 0 {
            *self.recent.entry(user).or_default() += bytes;
        }
    }

    /// Counts the bytes that have passed until `wall` on the wall's clock, and begins the periods that are due.
    pub fn count(&mut self, wall: u64, entries: &[UserLimits]) {
        for user in self.quotas.names().filter_map(|name| name.parse().ok()) {
            self.recent.entry(user).or_default();
        }
        for (user, bytes) in std::mem::take(&mut self.recent) {
            let name = user.to_string();
            match user.quota(entries) {
                Some(quota) => self.quotas.carried(wall, &name, quota, bytes),
                // The file no longer gives a quota.
                None => self.quotas.forget(&name),
            }
            if self.quotas.used(&name) == 0 {
                self.quotas.forget(&name);
            }
        }
    }

    /// Bytes that a user has used in the period.
    pub fn used(&self, user: User) -> u64 {
        self.quotas.used(&user.to_string()) + self.recent.get(&user).copied().unwrap_or(0)
    }

    /// Returns true if a user has used up the quota.
    pub fn is_over(&self, entries: &[UserLimits], user: User) -> bool {
        user.quota(entries).is_some_and(|quota| self.used(user) >= quota.bytes)
    }

    /// Users, their quotas and their usage: the first ones by address.
    pub fn shown<'a>(&'a self, entries: &'a [UserLimits]) -> impl Iterator<Item = (User, u64, u64)> + 'a {
        let users = self.quotas.names().filter_map(|name| name.parse().ok());
        users.take(SHOWN).filter_map(|user: User| Some((user, user.quota(entries)?.bytes, self.used(user))))
    }

    /// The quotas and the usage in Prometheus' text format.
    pub fn prometheus(&self, entries: &[UserLimits], out: &mut String) {
        for (name, help) in [
            ("user_quota_bytes", "Bytes that the user's connections may carry in the period."),
            ("user_quota_used_bytes", "Bytes that the user's connections have carried in the period."),
        ] {
            let _ = writeln!(out, "# HELP skyhop_gateway_{name} {help}\n# TYPE skyhop_gateway_{name} gauge");
            for (user, quota, used) in self.shown(entries) {
                let value = if name == "user_quota_bytes" { quota } else { used };
                let _ = writeln!(out, "skyhop_gateway_{name}{{user=\"{user}\"}} {value}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotas::Quota;
    use skyhop_units::Span;

    fn user(last: u16) -> User {
        let [high, low] = last.to_be_bytes();
        User::of([10, 1 + high, 0, low].into(), &[])
    }

    fn entries(bytes: u64) -> Vec<UserLimits> {
        let quota = Some(Quota { bytes, period: Span::from_secs(100) });
        let addresses = vec!["10.1.0.0/24".parse().unwrap()];
        vec![UserLimits { addresses, rates: [None; 2], quota, connections: 1 }]
    }

    #[test]
    fn each_user_has_the_quota_and_gets_it_again_in_the_next_period() {
        let entries = entries(1000);
        let [one, other, free] = [1, 2, 257].map(user);
        let mut users = UserQuotas::default();
        users.passed(one, 600);
        users.passed(one, 399);
        users.passed(other, 10);
        assert!(!users.is_over(&entries, one));
        users.passed(one, 1);
        // Before it is counted, too.
        assert_eq!([one, other, free].map(|user| users.is_over(&entries, user)), [true, false, false]);
        users.count(5_000, &entries);
        assert_eq!([one, other, free].map(|user| users.used(user)), [1000, 10, 0]);
        users.count(5_099, &entries);
        assert!(users.is_over(&entries, one));
        // Without a connection in between.
        users.count(5_100, &entries);
        assert_eq!((users.is_over(&entries, one), users.used(one)), (false, 0));
        assert_eq!(users.quotas, Quotas::default(), "users without usage are forgotten");
    }

    #[test]
    fn usage_is_shown_and_a_quota_that_is_removed_is_forgotten() {
        let limits = entries(1000);
        let mut users = UserQuotas::default();
        for last in 0..=255_u8 {
            users.passed(user(last.into()), 7);
            users.passed(user(last.into()), 1);
        }
        users.passed(user(257), 5);
        users.count(5_000, &limits);
        assert_eq!(users.used(user(257)), 0, "without a quota");
        let mut out = String::new();
        users.prometheus(&limits, &mut out);
        assert!(out.contains("skyhop_gateway_user_quota_bytes{user=\"10.1.0.9\"} 1000\n"), "{out}");
        assert!(out.contains("skyhop_gateway_user_quota_used_bytes{user=\"10.1.0.9\"} 8\n"), "{out}");
        assert_eq!(out.lines().count(), 2 * (2 + SHOWN));
        users.count(5_001, &[]);
        assert_eq!(users.quotas, Quotas::default());
    }
}
