//! The credit that a receiver offers: the first number that is not accepted.
//!
//! Follows Q.2110's VR(MR) and docs/stp.md §7: the packets that the application has consumed, plus the window.
//! Differs: the peer is told of new room without a POLL once half of the window is free again.
//! Leaves out the bound in bytes (`receive_buffer`).

#[derive(Debug)]
pub(super) struct OfferedCredit {
    /// The window, in packets.
    window: u64,
    /// VR(MR) of a window that was larger: an edge never moves back.
    edge: u64,
    /// The limit last announced to the peer.
    told: u64,
}

impl OfferedCredit {
    pub fn new(first: u64, window: u64) -> Self {
        Self { window, edge: first, told: first }
    }

    /// VR(MR), if the application has read all packets before `unread`.
    pub fn limit(&self, unread: u64) -> u64 {
        self.edge.max(unread + self.window)
    }

    /// Changes the window.
    pub fn set_window(&mut self, packets: u64, unread: u64) {
        self.edge = self.limit(unread);
        self.window = packets;
    }

    /// Records that the peer is told a limit.
    pub fn announce(&mut self, limit: u64) {
        self.told = limit;
    }

    /// Returns true if the application has read so much since the latest report that the peer should be told; `high` is VR(H).
    pub fn has_reopened(&self, unread: u64, high: u64) -> bool {
        // The peer has used up its announced credit, as far as this end can see, and half of the window is free again.
        high >= self.told && self.limit(unread) - self.told >= self.window.div_ceil(2)
    }

    /// Returns true if half of the window has never been told; `next` is VR(R).
    pub fn has_widened(&self, unread: u64, next: u64) -> bool {
        self.limit(unread).saturating_sub(self.told.max(next)) >= self.window.div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_never_moves_back() {
        let mut credit = OfferedCredit::new(5, 10);
        assert_eq!(credit.limit(7), 17);
        credit.set_window(4, 7);
        assert_eq!([credit.limit(8), credit.limit(13), credit.limit(14)], [17, 17, 18]);
    }

    #[test]
    fn the_peer_is_told_of_half_a_window() {
        let mut credit = OfferedCredit::new(5, 10);
        credit.announce(15);
        assert!(!credit.has_reopened(9, 15), "less than half");
        assert!(credit.has_reopened(10, 15) && !credit.has_reopened(10, 14), "the peer has credit left");
        assert!(!credit.has_widened(5, 5));
        credit.set_window(20, 5);
        assert!(credit.has_widened(5, 5) && !credit.has_widened(5, 16), "more than half is used");
        credit.announce(25);
        assert!(!credit.has_widened(5, 5));
    }
}
