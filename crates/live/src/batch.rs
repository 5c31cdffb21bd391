//! Packets for the kernel, with runs of equal size in one piece.
//!
//! Follows UDP's segmentation offload: one call sends up to 64 datagrams to one peer, of which only the last may be shorter.
//! Differs: packets are written directly into the send buffer, without copying.
//! Leaves out the sending.

use crate::socket::Part;
use skyhop_transport::stp::NetworkFields;
use skyhop_wire::Ecn;
use std::net::{IpAddr, SocketAddr};

/// Packets to be sent.
#[derive(Debug)]
pub struct Batch {
    /// Bytes of the packets, in sequence.
    pub buffer: Vec<u8>,
    parts: Vec<Part>,
    /// Number of parts that have been sent.
    sent: usize,
    segments_max: usize,
}

/// Largest size of a part: the kernel accepts at most a datagram's largest length in one call.
const PART_MAX: usize = 65_000;
/// Size at which the batch is full: four parts. With a few more packets they would need a call of their own.
const FULL: usize = 4 * PART_MAX - 12_000;

impl Batch {
    /// An empty batch.
    pub fn new(segments_max: usize) -> Self {
        Batch { buffer: Vec::with_capacity(FULL + PART_MAX), parts: Vec::new(), sent: 0, segments_max }
    }

    /// Returns true if the batch should be sent.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= FULL
    }

    /// Adds the datagram written at the end of the buffer, from `start` on, for this peer.
    pub fn push(&mut self, to: SocketAddr, from: Option<IpAddr>, start: usize) {
        self.add(to, from, start, (false, false));
    }

    /// Adds the datagram written at the end of the buffer, to be sent with these fields of the network layer.
    pub fn push_fields(&mut self, to: SocketAddr, from: Option<IpAddr>, start: usize, fields: NetworkFields) {
        self.add(to, from, start, (fields.may_fragment, fields.ecn == Ecn::Capable0));
    }

    fn add(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        start: usize,
        (fragments, capable): (bool, bool),
    ) {
        let (end, segments_max) = (self.buffer.len(), self.segments_max);
        let len = end - start;
        if let Some(last) = self.parts.last_mut()
            && (last.to, last.from, last.end, last.capable) == (to, from, start, capable)
            && len <= last.segment
            && !(fragments || last.fragments)
            // All others are full: a shorter datagram ends a part.
            && (last.end - last.start) % last.segment == 0
            && (last.end - last.start) / last.segment < segments_max
            && end - last.start <= PART_MAX
        {
            last.end = end;
            return;
        }
        self.parts.push(Part { to, from, start, end, segment: len, fragments, capable });
    }

    /// The next part to be sent.
    pub fn next(&self) -> Option<&Part> {
        self.parts.get(self.sent)
    }

    /// Moves on from a part that was sent, or never will be.
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
        // Five of one size become a part of four, and a part of one with a shorter datagram; longer ones and other peers start new
        // parts.
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
