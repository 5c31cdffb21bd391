//! Accounts: the number of packets that a sender has handed to the network, by outcome.
//!
//! At every instant, sent + duplicated = delivered + dropped + lost + in flight.

/// The outcome of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// The packet reached the end of its route.
    Delivered,
    /// A node discarded it: full queue, early drop, link down, no path, or larger than an MTU.
    Dropped,
    /// Errors on a link, or a handover, lost it.
    Lost,
}

/// Packet counters of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Packets handed to the network, including routers' ICMP errors about them.
    pub sent: u64,
    /// Copies made by links.
    pub duplicated: u64,
    /// Packets that reached the end of their route.
    pub delivered: u64,
    /// Packets dropped by a node.
    pub dropped: u64,
    /// Packets lost on a link.
    pub lost: u64,
    /// Bytes with headers that entered first links, in each direction.
    pub bytes: [u64; 2],
}

impl Account {
    /// Packets in the network.
    pub fn in_flight(&self) -> u64 {
        self.sent + self.duplicated - self.delivered - self.dropped - self.lost
    }

    pub(crate) fn end(&mut self, fate: PacketFate) {
        match fate {
            PacketFate::Delivered => self.delivered += 1,
            PacketFate::Dropped => self.dropped += 1,
            PacketFate::Lost => self.lost += 1,
        }
    }
}
