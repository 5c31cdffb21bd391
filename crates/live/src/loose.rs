//! Packets of no connection that wait to be sent: messages of associations, and answers to strangers, whose number is limited.
//!
//! Leaves out the limit of answers per second (`answer_limit`).

use crate::batch::Batch;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Number of packets from which no answer is added.
const ANSWERS_MAX: usize = 1024;

/// The packets, with destination and source.
#[derive(Debug, Default)]
pub(crate) struct LoosePackets(VecDeque<(SocketAddr, Option<IpAddr>, Vec<u8>)>);

impl LoosePackets {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if there is room for an answer to a stranger.
    pub fn has_room(&self) -> bool {
        self.0.len() < ANSWERS_MAX
    }

    /// Adds a packet, which leaves from this address of the host, or from the one that the kernel chooses.
    pub fn push(&mut self, to: SocketAddr, from: Option<IpAddr>, packet: Vec<u8>) {
        self.0.push_back((to, from, packet));
    }

    /// Moves all packets to a batch.
    pub fn fill(&mut self, batch: &mut Batch) {
        while let Some((to, from, packet)) = self.0.pop_front() {
            let start = batch.buffer.len();
            batch.buffer.extend_from_slice(&packet);
            batch.push(to, from, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_and_their_number_is_limited_for_strangers() {
        let peer = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let own = IpAddr::from([192, 0, 2, 2]);
        let mut loose = LoosePackets::default();
        loose.push(peer(1), Some(own), vec![1]);
        loose.push(peer(2), None, vec![2, 3]);
        let mut batch = Batch::new(1);
        loose.fill(&mut batch);
        assert!(loose.is_empty() && batch.buffer == [1, 2, 3]);
        let first = batch.next().map(|part| (part.to, part.from));
        batch.advance();
        let second = batch.next().map(|part| (part.to, part.from));
        assert_eq!((first, second), (Some((peer(1), Some(own))), Some((peer(2), None))));
        for _ in 0..ANSWERS_MAX {
            assert!(loose.has_room());
            loose.push(peer(1), None, Vec::new());
        }
        assert!(!loose.has_room() && !loose.is_empty());
    }
}
