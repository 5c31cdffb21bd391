//! Limits of single users: highest rates, quotas, and connections.
//!
//! Follows docs/gateway.md: the first entry that has a user's addresses holds, and each user of it has these limits for itself.
//! Leaves out keeping them, which is done by `splice::user_rates`, `user_quotas` and `user_memory`.

use crate::prefix::Prefix;
use crate::quotas::Quota;
use crate::user::User;
use skyhop_units::Rate;
use std::net::IpAddr;

/// The limits of each user of some ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct UserLimits {
    /// The users' addresses; all if there are none.
    pub addresses: Vec<Prefix>,
    /// Highest rates to servers, and from servers.
    pub rates: [Option<Rate>; 2],
    /// Bytes in a period, to servers and from servers together.
    pub quota: Option<Quota>,
    /// Open connections.
    pub connections: usize,
}

impl UserLimits {
    /// The bits of the longest of its ranges with an address; 0 if they are all addresses, and nothing if none has it.
    pub fn longest_with(&self, address: IpAddr) -> Option<u8> {
        let ranges = self.addresses.iter().filter(|range| range.contains(address));
        ranges.map(Prefix::bits).max().or(self.addresses.is_empty().then_some(0))
    }
}

/// The limits of a user: those of the first entry that has the user's addresses.
pub fn limits_of(entries: &[UserLimits], user: User) -> Option<&UserLimits> {
    entries
        .iter()
        .find(|entry| entry.addresses.is_empty() || entry.addresses.iter().any(|range| user.is_in(range)))
}

/// The quota of a user.
pub fn quota_of(entries: &[UserLimits], user: User) -> Option<&Quota> {
    limits_of(entries, user)?.quota.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            limits_of(entries, User::of([10, 1, 0, last].into(), entries)).map(|of| of.rates)
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
            assert_eq!(
                limits_of(&entries, user).map(|limits| limits.connections),
                Some(connections),
                "{user}"
            );
        }
    }
}
