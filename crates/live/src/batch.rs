//! Packets on their way to the kernel, runs of equal size in one piece.
//!
//! Follows UDP's segmentation offload: one call sends up to 64 datagrams to one peer, of which only the last may be shorter.
//! Differs: packets are written where they are sent from; nothing is copied to put them together.
//! Leaves out the sending.

use crate::socket::Part;
use std::net::{IpAddr, SocketAddr};

/// Packets that are ready to go.
#[derive(Debug)]
pub struct Batch {
    /// The packets' bytes, one behind the other.
    pub buffer: Vec<u8>,
    parts: Vec<Part>,
    /// Parts that have gone.
    sent: usize,
    segments_max: usize,
}

/// The kernel takes no more than a datagram's greatest length in one call.
const PART_MAX: usize = 65_000;
/// When the batch is full.
const FULL: usize = 256 << 10;

impl Batch {
    /// An empty batch.
    pub fn new(segments_max: usize) -> Self {
        Batch { buffer: Vec::with_capacity(FULL + PART_MAX), parts: Vec::new(), sent: 0, segments_max }
    }

    /// Returns true if it is time to send.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= FULL
    }

    /// The datagram that was just written behind the others, from `start` on, goes to this peer.
    pub fn push(&mut self, to: SocketAddr, from: Option<IpAddr>, start: usize) {
        self.add(to, from, start, false);
    }

    /// The datagram that was just written goes by itself, and may be fragmented on its way.
    pub fn push_fragmentable(&mut self, to: SocketAddr, from: Option<IpAddr>, start: usize) {
        self.add(to, from, start, true);
    }

    fn add(&mut self, to: SocketAddr, from: Option<IpAddr>, start: usize, fragments: bool) {
        let (end, segments_max) = (self.buffer.len(), self.segments_max);
        let len = end - start;
        if let Some(last) = self.parts.last_mut()
            && (last.to, last.from, last.end) == (to, from, start)
            && len <= last.segment
            && !(fragments || last.fragments)
            // All so far are full: the shorter one ends a part.
            && (last.end - last.start) % last.segment == 0
            && (last.end - last.start) / last.segment < segments_max
            && end - last.start <= PART_MAX
        {
            last.end = end;
            return;
        }
        self.parts.push(Part { to, from, start, end, segment: len, fragments });
    }

    /// The next part to be sent.
    pub fn next(&self) -> Option<&Part> {
        self.parts.get(self.sent)
    }

    /// The next part has gone, or never will.
    pub fn advance(&mut self) {
        self.sent += 1;
        if self.sent == self.parts.len() {
            self.parts.clear();
            self.buffer.clear();
            self.sent = 0;
        }
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_packets_to_one_peer_share_a_part() {
        let peer = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let mut batch = Batch::new(4);
        let push = |batch: &mut Batch, len: usize, port| {
            let start = batch.buffer.len();
            batch.buffer.resize(start + len, 0);
            batch.push(peer(port), None, start);
        };
        // Five of a size are a part of four and one that a shorter one ends; longer ones and other peers begin anew.
        for (len, port) in
            [(100, 1), (100, 1), (100, 1), (100, 1), (100, 1), (40, 1), (40, 1), (60, 1), (60, 2), (60, 1)]
        {
            push(&mut batch, len, port);
        }
        let mut parts = Vec::new();
        while let Some(part) = batch.next() {
            parts.push((part.to.port(), part.segment, part.end - part.start));
            batch.advance();
        }
        assert_eq!(parts, [(1, 100, 400), (1, 100, 140), (1, 40, 40), (1, 60, 60), (2, 60, 60), (1, 60, 60)]);
        assert!(batch.is_empty() && batch.buffer.is_empty());
        for _ in 0..200 {
            push(&mut batch, 60_000, 1);
        }
        assert!(batch.is_full());
        assert_eq!(batch.next().map(|part| part.end - part.start), Some(60_000));
    }
}
