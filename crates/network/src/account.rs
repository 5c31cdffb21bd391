//! Accounts: how many packets a sender has handed to the network, and how they ended.
//!
//! Follows the rule that sent + duplicated = delivered + dropped + lost + in flight at every instant.

/// How a packet's way through the network ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has come to the end of its route.
    Delivered,
    /// A queue was full, or there was no way on.
    Dropped,
    /// A link has lost it.
    Lost,
}

/// The packets of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Packets handed to the network, routers' messages about them included.
    pub sent: u64,
    /// Copies that links have made of them.
    pub duplicated: u64,
    /// Packets that came to the end of their route.
    pub delivered: u64,
    /// Packets that a node dropped.
    pub dropped: u64,
    /// Packets that a link lost.
    pub lost: u64,
    /// Bytes with headers that entered first links, there and back.
    pub bytes: [u64; 2],
}

impl Account {
    /// Packets in the network.
    pub fn in_flight(&self) -> u64 {
        self.sent + self.duplicated - self.delivered - self.dropped - self.lost
    }

    pub(crate) fn end(&mut self, fate: Fate) {
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::Dropped => self.dropped += 1,
            Fate::Lost => self.lost += 1,
        }
    }
}
