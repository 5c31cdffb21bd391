//! A packet in the network, and what queues may know of it.
//!
//! Follows RFC 9293 for what only acknowledges, RFC 3168 for marks.
//! Leaves out flows and connections: a frame names its route, and what its sender calls it.

use skyhop_link::{Ack, Label};
use skyhop_units::Time;
use skyhop_wire::{Ecn, Flags, Packet, Transport};

/// A packet on a route.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Its route.
    pub route: u32,
    /// Number of the connection that it belongs to, among those of its account: queues and header compression tell them apart.
    pub stream: u32,
    /// A number that its sender wants back.
    pub tag: u32,
    /// Links crossed so far.
    pub(crate) hop: u16,
    /// Whether it goes towards the beginning of its route.
    pub backward: bool,
    /// Whether a link has made two of it, of which this is one.
    pub twin: bool,
    /// When its sender began the exchange that it belongs to (a ping's request).
    pub sent_at: Time,
    /// Headers and length.
    pub packet: Packet,
}

/// A packet at the end of its route, which the network holds until its driver has looked at it: it is to be handed to
/// [`crate::Network::take`].
#[derive(Debug)]
#[must_use]
pub struct Delivery(pub(crate) u32);

impl Frame {
    /// A packet that has not left yet.
    #[inline]
    pub fn new(route: u32, backward: bool, [stream, tag]: [u32; 2], sent_at: Time, packet: Packet) -> Self {
        Self { route, stream, tag, hop: 0, backward, twin: false, sent_at, packet }
    }

    /// What queues may know of the packet. Connections and directions are flows of their own.
    pub(crate) fn label(&self, account: u32, priority: u8) -> Label {
        let pair = self.stream.wrapping_mul(0x85eb_ca6b) ^ account.wrapping_mul(0x9e37_79b1);
        Label {
            flow: pair.wrapping_mul(2) | u32::from(self.backward),
            band: priority,
            ecn: self.packet.ip.ecn != Ecn::NotCapable,
            ack: self.ack(),
        }
    }

    /// What a filter may know of it if it only acknowledges.
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
