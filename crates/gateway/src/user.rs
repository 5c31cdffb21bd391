//! A user of a gateway: an address of IPv4, or a range of IPv6; and the limits of the file for it.
//!
//! Follows RFC 6177 and RFC 7934: a host of IPv6 has as many addresses of its /64 as it likes, so that one who counts by address counts
//! nothing. Differs for ranges that the file names: a longer one is a user of its own.
//! Leaves out what is counted by users.

use crate::prefix::{Prefix, plain};
use crate::quotas::Quota;
use crate::user_limits::UserLimits;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The bits of an IPv6 address by which users are told apart.
const IPV6_USER: u8 = 64;

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    range: Prefix,
}

impl User {
    /// The user who has an address: its longest range in the first entry of the file that has it, if that is longer than [`IPV6_USER`].
    pub fn of(address: IpAddr, entries: &[UserLimits]) -> Self {
        let address = plain(address);
        let bits = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => {
                let mut ranges = entries.iter().map(|entry| entry.longest_with(address));
                ranges.find_map(|bits| bits).unwrap_or(0).max(IPV6_USER)
            }
        };
        User { range: Prefix::of(address, bits) }
    }

    /// Returns true if all addresses of the user are in a range.
    pub fn is_in(&self, range: &Prefix) -> bool {
        range.has(&self.range)
    }

    /// The limits of the user: those of the first entry that has the user's addresses.
    pub fn limits(self, entries: &[UserLimits]) -> Option<&UserLimits> {
        entries
            .iter()
            .find(|entry| entry.addresses.is_empty() || entry.addresses.iter().any(|range| self.is_in(range)))
    }

    /// The quota of the user.
    pub fn quota(self, entries: &[UserLimits]) -> Option<&Quota> {
        self.limits(entries)?.quota.as_ref()
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range.only() {
            Some(address) => address.fmt(f),
            None => self.range.fmt(f),
        }
    }
}

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(User { range: text.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Rate;

    fn entry(ranges: &[&str]) -> UserLimits {
        let addresses = ranges.iter().map(|range| range.parse().unwrap()).collect();
        UserLimits { addresses, rates: [None; 2], quota: None, connections: 1 }
    }

    fn shown(address: &str, entries: &[UserLimits]) -> String {
        let user = User::of(address.parse().unwrap(), entries);
        assert_eq!(user.to_string().parse::<User>().unwrap(), user);
        user.to_string()
    }

    #[test]
    fn an_ipv6_user_has_a_64_and_an_ipv4_user_an_address() {
        assert_eq!(shown("10.1.0.7", &[]), "10.1.0.7");
        assert_eq!(shown("::ffff:10.1.0.7", &[]), "10.1.0.7");
        for address in ["2001:db8:1:2::", "2001:db8:1:2::7", "2001:db8:1:2:ffff:1:2:3"] {
            assert_eq!(shown(address, &[entry(&[])]), "2001:db8:1:2::/64");
        }
        assert_eq!(shown("2001:db8:1:3::7", &[entry(&["2001:db8::/32", "::/0"])]), "2001:db8:1:3::/64");
    }

    #[test]
    fn longer_ranges_of_the_file_are_users_of_their_own() {
        let (one, part, all) = (entry(&["2001:db8::7"]), entry(&["2001:db8::/80"]), entry(&[]));
        let entries = [one.clone(), part.clone(), all.clone()];
        for (address, user) in [
            ("2001:db8::7", "2001:db8::7"),
            ("2001:db8::8", "2001:db8::/80"),
            ("2001:db8::", "2001:db8::/80"),
            ("2001:db8::1:0:0:8", "2001:db8::/64"),
        ] {
            assert_eq!(shown(address, &entries), user);
        }
        // The first entry holds, and the longest range in it.
        assert_eq!(shown("2001:db8::7", &[part, one.clone(), all.clone()]), "2001:db8::/80");
        assert_eq!(shown("2001:db8::7", &[entry(&["2001:db8::/48"]), one, all]), "2001:db8::/64");
        assert_eq!(shown("2001:db8::7", &[entry(&["2001:db8::/48", "2001:db8::7"])]), "2001:db8::7");
    }

    #[test]
    fn the_first_entry_with_the_address_holds() {
        let rate = Rate::from_bps;
        let entries = [
            UserLimits {
                addresses: vec!["10.1.0.7/32".parse().unwrap()],
                rates: [rate(1), None],
                quota: None,
                connections: 1,
            },
            UserLimits { addresses: Vec::new(), rates: [rate(2), rate(3)], quota: None, connections: 2 },
        ];
        let rates = |entries: &[UserLimits], last| {
            User::of([10, 1, 0, last].into(), entries).limits(entries).map(|of| of.rates)
        };
        assert_eq!(rates(&entries, 7), Some([rate(1), None]));
        assert_eq!(rates(&entries, 8), Some([rate(2), rate(3)]));
        assert_eq!(rates(&entries[..1], 8), None);
    }

    #[test]
    fn all_addresses_of_a_user_have_the_limits_of_one_entry() {
        let entry = |ranges: &[&str], connections| UserLimits {
            addresses: ranges.iter().map(|range| range.parse().unwrap()).collect(),
            rates: [None; 2],
            quota: None,
            connections,
        };
        let entries = [entry(&["2001:db8::/80"], 1), entry(&["2001:db8::/48"], 2), entry(&[], 3)];
        for (address, connections) in [
            ("2001:db8::7", 1),
            ("2001:db8:0:0:1::7", 2),
            ("2001:db8:0:9::7", 2),
            ("2001:db8:1::7", 3),
            ("10.1.0.7", 3),
        ] {
            let user = User::of(address.parse().unwrap(), &entries);
            assert_eq!(user.limits(&entries).map(|limits| limits.connections), Some(connections), "{user}");
        }
    }
}
