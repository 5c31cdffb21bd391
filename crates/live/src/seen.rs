//! The BGNs without an association that a host has seen.
//!
//! Follows HT §5.1.1: a connection's count distinguishes its BGN from earlier ones.
//! Differs: such a BGN counts once, since anyone can replay it.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

/// Number of BGNs that are remembered.
const REMEMBERED: usize = 16_384;

/// Identity of a BGN without an association: address, port and instance of the peer, and its count.
pub(crate) type Begun = (IpAddr, u16, u16, u32);

/// The last BGNs.
#[derive(Debug, Default)]
pub(crate) struct SeenBegins {
    seen: BTreeSet<Begun>,
    /// The same, oldest first.
    order: VecDeque<Begun>,
}

impl SeenBegins {
    /// Allows a BGN to arrive once more.
    pub fn forget(&mut self, begun: &Begun) {
        self.seen.remove(begun);
    }

    /// Returns true if a BGN without an association is seen for the first time, as far as is remembered.
    pub fn first_seen(&mut self, begun: Begun) -> bool {
        if !self.seen.insert(begun) {
            return false;
        }
        self.order.push_back(begun);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bgn_counts_once_until_so_many_others_have_come() {
        let begun = |count: u32| (IpAddr::from([192, 0, 2, 1]), 1, 2, count);
        let mut begins = SeenBegins::default();
        assert!((0..REMEMBERED as u32).all(|count| begins.first_seen(begun(count))));
        assert!(!begins.first_seen(begun(0)), "remembered");
        assert!(begins.first_seen(begun(REMEMBERED as u32)), "one more");
        assert!(!begins.first_seen(begun(1)), "the second oldest is remembered");
        assert!(begins.first_seen(begun(0)), "the oldest is not");
        assert_eq!(begins.seen.len(), REMEMBERED);
    }
}
