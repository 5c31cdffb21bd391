//! Limits of single users: highest rates, quotas, and connections.
//!
//! Follows docs/gateway.md: the first entry that has a user's address holds, and each address of it has these limits for itself.
//! Leaves out keeping them, which is done by `splice::user_rates`, `user_quotas` and `user_memory`.

use crate::prefix::Prefix;
use crate::quotas::Quota;
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

/// The limits of a user: those of the first entry that has the address.
pub fn limits_of(entries: &[UserLimits], user: IpAddr) -> Option<&UserLimits> {
    entries.iter().find(|entry| {
        entry.addresses.is_empty() || entry.addresses.iter().any(|prefix| prefix.contains(user))
    })
}

/// The quota of a user.
pub fn quota_of(entries: &[UserLimits], user: IpAddr) -> Option<&Quota> {
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
        let rates = |entries, last| limits_of(entries, IpAddr::from([10, 1, 0, last])).map(|of| of.rates);
        assert_eq!(rates(&entries, 7), Some([rate(1), None]));
        assert_eq!(rates(&entries, 8), Some([rate(2), rate(3)]));
        assert_eq!(rates(&entries[..1], 8), None);
    }
}
