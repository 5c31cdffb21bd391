//! A packet in the network, and the label that queues read.
//!
//! Follows RFC 9293 for pure acknowledgments, RFC 3168 for marks.
//! Leaves out flows and connections: a frame has the number of its route, and a tag for its sender.

use skyhop_link::{Ack, Label};
use skyhop_units::Time;
use skyhop_wire::{Ecn, Flags, Packet, Transport};

/// A packet on a route.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Number of the route.
    pub route: u32,
    /// Number of the connection within its account, by which queues and header compression distinguish connections.
    pub stream: u32,
    /// A number for the sender, which gets it back.
    pub tag: u32,
    /// Number of links crossed.
    pub(crate) hop: u16,
    /// True if it goes towards the beginning of its route.
    pub backward: bool,
    /// True if a link has duplicated the packet; set on both copies.
    pub twin: bool,
    /// Time at which its sender began the exchange that it belongs to (a ping's request).
    pub sent_at: Time,
    /// Headers and length.
    pub packet: Packet,
}

/// A packet at the end of its route, kept by the network until its driver passes it to [`crate::Network::take`].
#[derive(Debug)]
#[must_use]
pub struct Delivery(pub(crate) u32);

impl Frame {
    /// A packet before its first link.
    #[inline]
    pub fn new(route: u32, backward: bool, [stream, tag]: [u32; 2], sent_at: Time, packet: Packet) -> Self {
        Self { route, stream, tag, hop: 0, backward, twin: false, sent_at, packet }
    }

    /// The label of the packet for queues. Each connection and direction is a flow of its own.
    pub(crate) fn label(&self, account: u32, priority: u8) -> Label {
        let pair = self.stream.wrapping_mul(0x85eb_ca6b) ^ account.wrapping_mul(0x9e37_79b1);
        Label {
            flow: pair.wrapping_mul(2) | u32::from(self.backward),
            band: priority,
            ecn: self.packet.ip.ecn != Ecn::NotCapable,
            ack: self.ack(),
        }
    }

    /// Classification of the packet for the acknowledgment filter.
    fn ack(&self) -> Ack {
        let Transport::Tcp(tcp) = &self.packet.transport else { return Ack::No };
        let Flags(more) = Flags::SYN | Flags::FIN | Flags::RST;
        if self.packet.payload_len > 0 || tcp.flags.0 & more != 0 || !tcp.flags.has(Flags::ACK) {
            return Ack::No;
        }
        let Flags(marks) = Flags::ECE | Flags::CWR;
        let marked = tcp.flags.0 & marks != 0 || self.packet.ip.ecn == Ecn::Marked;
        if marked || !tcp.sack.is_empty() { Ack::Kept(tcp.ack) } else { Ack::Plain(tcp.ack) }
    }
}
