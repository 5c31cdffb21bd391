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
    pub const fn wire_len(&self) -> u32 {
        let transport = match &self.transport {
            Transport::Tcp(tcp) => tcp.header_len(),
            Transport::Icmp(_) | Transport::Udp(_) => 8,
            Transport::Other(_) => 0,
        };
        20 + transport + self.payload_len
    }
}
