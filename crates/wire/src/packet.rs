//! A packet: headers as structs, payload as a length.
//!
//! Follows RFC 791 and RFC 8200 for what the network layer carries.
//! Differs: lengths and checksums are not fields; they follow from the rest. Addresses are 32 bits in both versions, which number
//! nodes; in bytes those of IPv6 are in 2001:db8::/96.
//! Leaves out payload bytes, which no simulated host reads.

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
    /// CE: a queue has marked the packet.
    Marked = 3,
}

/// Version of the Internet Protocol; its discriminant is the length of the header, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Version {
    /// RFC 791.
    #[default]
    V4 = 20,
    /// RFC 8200.
    V6 = 40,
}

impl Version {
    /// Length of the header without options and extensions, bytes.
    #[inline]
    pub const fn header_len(self) -> u32 {
        self as u32
    }

    /// The packet size that every link must carry, bytes (RFC 791; RFC 8200 §5).
    pub const fn least_mtu(self) -> u32 {
        match self {
            Version::V4 => 68,
            Version::V6 => 1280,
        }
    }
}

/// The network header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    /// Version.
    pub version: Version,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Identification; IPv6 has none.
    pub identification: u16,
    /// Time to live, which IPv6 calls the hop limit.
    pub ttl: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// True without the bit "don't fragment" (RFC 791 §3.1); of IPv6, if the sender fragments to what every path carries.
    pub may_fragment: bool,
}

impl Ip {
    /// The header as hosts send it: a time to live of 64, "don't fragment", no ECN, an identification of 0.
    #[inline]
    pub fn new(version: Version, source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        let (identification, ttl, ecn, may_fragment) = (0, 64, Ecn::NotCapable, false);
        Self { version, source, destination, identification, ttl, ecn, may_fragment }
    }
}

/// An echo request or reply of ICMP or ICMPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// True for a reply, false for a request.
    pub reply: bool,
    /// Number of the pinging process, so that a host can tell replies to several apart.
    pub identifier: u16,
    /// Sequence number of the request.
    pub sequence: u16,
}

/// The error that a router returns for a packet larger than the next link's MTU that must not be fragmented: ICMP "fragmentation
/// needed" (RFC 792; RFC 1191 §4), which quotes the packet's IP header and eight bytes more, or ICMPv6 "packet too big" (RFC 4443
/// §3.2), which quotes as much as fits 1280 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// MTU of the next link, bytes; 0 from a router that is older than RFC 1191.
    pub next_hop_mtu: u16,
    /// Network header of the packet that was too large.
    pub ip: Ip,
    /// Total length of that packet, bytes.
    pub total_len: u16,
    /// Protocol number of that packet: 6 is TCP.
    pub protocol: u8,
    /// The first bytes after its IP header: for TCP both ports and the sequence number, and in IPv6 the whole header without
    /// options. Bytes that are not quoted or not known are 0.
    pub first: [u8; 20],
}

impl TooLarge {
    /// The error that a router returns for `packet`, which is larger than the MTU of the next link.
    pub fn quoting(packet: &Packet, next_hop_mtu: u16) -> Self {
        let pair = |a: u16, b: u16| u32::from(a) << 16 | u32::from(b);
        let version = packet.ip.version;
        let icmp = |of_v4: [u32; 2], of_v6: u32, second: u32| match version {
            Version::V4 => (1, [of_v4[0] << 24 | of_v4[1] << 16, second, 0, 0]),
            Version::V6 => (58, [of_v6 << 24, second, 0, 0]),
        };
        let (protocol, words) = match &packet.transport {
            Transport::Tcp(tcp) => {
                let control =
                    (tcp.header_len() / 4) << 28 | u32::from(tcp.flags.0) << 16 | u32::from(tcp.window);
                (6, [pair(tcp.source_port, tcp.destination_port), tcp.seq, tcp.ack, control])
            }
            // A checksum is not a field here, so that of the packet itself is not quoted.
            Transport::Udp(udp) => {
                (17, [pair(udp.source_port, udp.destination_port), (8 + packet.payload_len) << 16, 0, 0])
            }
            Transport::Icmp(echo) => {
                let kinds = if echo.reply { (0, 129) } else { (8, 128) };
                icmp([kinds.0, 0], kinds.1, pair(echo.identifier, echo.sequence))
            }
            Transport::TooLarge(_) => icmp([3, 4], 2, 0),
            // Its payload is not here to be quoted.
            Transport::Other(number) => (*number, [0; 4]),
        };
        let mut first = [0; 20];
        let known = if version == Version::V4 { 2 } else { 4 };
        for (room, word) in first.chunks_mut(4).zip(&words[..known]) {
            room.copy_from_slice(&word.to_be_bytes());
        }
        let total_len = packet.wire_len().min(65_535) as u16;
        Self { next_hop_mtu, ip: packet.ip, total_len, protocol, first }
    }

    /// Length of the quoted part of the packet, bytes.
    pub const fn quoted_len(&self) -> u32 {
        match self.ip.version {
            Version::V4 => 20 + 8,
            Version::V6 => {
                let (room, total) = (1280 - 40 - 8, self.total_len as u32);
                if total < room { total } else { room }
            }
        }
    }

    /// Source port, destination port and sequence number of the quoted TCP segment; `None` if another protocol is quoted.
    pub fn segment(&self) -> Option<(u16, u16, u32)> {
        let [a, b, c, d, e, f, g, h, ..] = self.first;
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        (self.protocol == 6).then(|| (ports.0, ports.1, u32::from_be_bytes([e, f, g, h])))
    }
}

/// A UDP header (RFC 768) without its length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// The header of the transport layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// An ICMP echo request or reply.
    Icmp(Echo),
    /// An ICMP error for a packet that was too large.
    TooLarge(TooLarge),
    /// A UDP datagram.
    Udp(Udp),
    /// Another protocol, by its number; everything after the network header is payload.
    Other(u8),
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Network header.
    pub ip: Ip,
    /// Transport header.
    pub transport: Transport,
    /// Length of the payload after the transport header, bytes.
    pub payload_len: u32,
}

impl Packet {
    /// Length of network header, transport header and payload, bytes. The link adds its framing.
    #[inline]
    pub const fn wire_len(&self) -> u32 {
        let transport = match &self.transport {
            Transport::Tcp(tcp) => tcp.header_len(),
            Transport::Icmp(_) | Transport::Udp(_) => 8,
            Transport::Other(_) => 0,
            // The ICMP header and the quoted part of the packet.
            Transport::TooLarge(message) => 8 + message.quoted_len(),
        };
        self.ip.version.header_len() + transport + self.payload_len
    }
}
