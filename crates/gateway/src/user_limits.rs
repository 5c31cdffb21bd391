//! Limits of single users: highest rates, quotas, and connections.
//!
//! Follows docs/gateway.md: the first entry that has a user's addresses holds, and each user of it has these limits for itself.
//! Leaves out finding a user's entry (`user`), and keeping the limits (`user_shares`).

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

impl UserLimits {
    /// The bits of the longest of its ranges with an address; 0 if they are all addresses, and nothing if none has it.
    pub fn longest_with(&self, address: IpAddr) -> Option<u8> {
        let ranges = self.addresses.iter().filter(|range| range.contains(address));
        ranges.map(Prefix::bits).max().or(self.addresses.is_empty().then_some(0))
    }
}
