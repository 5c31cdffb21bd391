//! A packet: headers as structs, payload as a length.
//!
//! Follows RFC 791 for what the network layer carries.
//! Differs: lengths and checksums are not fields; they follow from the rest.
//! Leaves out payload bytes, which no simulated host looks at.

use crate::tcp::TcpHeader;
use std::net::Ipv4Addr;

/// Explicit congestion notification (RFC 3168 §5), as the two bits stand in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0).
    Capable0 = 2,
    /// A queue has marked the packet.
    Marked = 3,
}

/// The network layer's share of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4 {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Identification.
    pub identification: u16,
    /// Time to live.
    pub ttl: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
}

/// An ICMP echo request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Whether this is the answer.
    pub reply: bool,
    /// Tells one pinging process from another.
    pub identifier: u16,
    /// Number of the request.
    pub sequence: u16,
}

/// A router's word that a packet was larger than the next link's MTU and must not be cut up (RFC 792; RFC 1191 §4). It
/// quotes the packet: its IP header, and the first eight bytes behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// MTU of the next link, bytes; 0 from a router that is older than RFC 1191.
    pub next_hop_mtu: u16,
    /// The packet's network layer.
    pub ip: Ipv4,
    /// Its total length, bytes.
    pub total_len: u16,
    /// Its protocol: 6 is TCP.
    pub protocol: u8,
    /// What came behind: of TCP both ports and the sequence number.
    pub first: [u8; 8],
}

impl TooLarge {
    /// What a router quotes of `packet`, which does not fit the next link.
    pub fn quoting(packet: &Packet, next_hop_mtu: u16) -> Self {
        let pair = |a: u16, b: u16| u32::from(a) << 16 | u32::from(b);
        let (protocol, words) = match &packet.transport {
            Transport::Tcp(tcp) => (6, [pair(tcp.source_port, tcp.destination_port), tcp.seq]),
            // A checksum is not a field here, so that of the packet itself is not quoted.
            Transport::Udp(udp) => {
                (17, [pair(udp.source_port, udp.destination_port), (8 + packet.payload_len) << 16])
            }
            Transport::Icmp(echo) => {
                (1, [if echo.reply { 0 } else { 8 << 24 }, pair(echo.identifier, echo.sequence)])
            }
            Transport::TooLarge(_) => (1, [3 << 24 | 4 << 16, 0]),
            // Its payload is not here to be quoted.
            Transport::Other(number) => (*number, [0, 0]),
        };
        let mut first = [0; 8];
        first[..4].copy_from_slice(&words[0].to_be_bytes());
        first[4..].copy_from_slice(&words[1].to_be_bytes());
        let total_len = packet.wire_len().min(65_535) as u16;
        Self { next_hop_mtu, ip: packet.ip, total_len, protocol, first }
    }

    /// Source port, destination port and sequence number of a TCP segment that is quoted.
    pub fn segment(&self) -> Option<(u16, u16, u32)> {
        let [a, b, c, d, e, f, g, h] = self.first;
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        (self.protocol == 6).then(|| (ports.0, ports.1, u32::from_be_bytes([e, f, g, h])))
    }
}

/// The header of a datagram (RFC 768), less its length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// What the packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// An echo.
    Icmp(Echo),
    /// A router's word that a packet was too large.
    TooLarge(TooLarge),
    /// A datagram.
    Udp(Udp),
    /// Another protocol by its number; all behind the network layer's header is payload.
    Other(u8),
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Network layer.
    pub ip: Ipv4,
    /// Transport layer.
    pub transport: Transport,
    /// Bytes of payload behind the transport header.
    pub payload_len: u32,
}

impl Packet {
    /// Bytes on the wire: network and transport headers and payload. Link framing is the link's business.
    #[inline]
    pub const fn wire_len(&self) -> u32 {
        let transport = match &self.transport {
            Transport::Tcp(tcp) => tcp.header_len(),
            Transport::Icmp(_) | Transport::Udp(_) => 8,
            Transport::Other(_) => 0,
            // Its own header, and what it quotes.
            Transport::TooLarge(_) => 8 + 20 + 8,
        };
        20 + transport + self.payload_len
    }
}
