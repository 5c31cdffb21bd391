//! The loads of UDP datagrams of a gateway's associations, from which their classes follow.
//!
//! Follows docs/gateway.md; the rule is [`skyhop_splice::datagrams`]'s.
//! Leaves out the datagrams themselves.

use skyhop_splice::datagrams::DatagramLoad;
use std::collections::BTreeMap;

/// The load of each association's datagrams.
#[derive(Debug, Default)]
pub struct UdpLoads {
    loads: BTreeMap<u32, DatagramLoad>,
}

impl UdpLoads {
    /// The load of an association.
    pub fn of(&mut self, link: u32) -> &mut DatagramLoad {
        self.loads.entry(link).or_default()
    }

    pub fn forget(&mut self, link: u32) {
        self.loads.remove(&link);
    }
}
