//! Bytes read as a packet.
//!
//! Follows RFC 791, 793, 792, 1191 and 768, and RFC 8200 and 4443 for IPv6; the headers are read by etherparse, checksums are verified.
//! Differs: unknown TCP options are skipped, and the payload is kept as its length.
//! Leaves out fragments and extension headers, which are refused.

use crate::address::from_v6;
use crate::options;
use crate::packet::{Echo, Ecn, Ip, Packet, TooLarge, Transport, Udp, Version};
use crate::tcp::{Flags, TcpHeader};
use etherparse::err::ValueTooBigError;
use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{
    IcmpEchoHeader, Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, IpNumber, Ipv4Header, Ipv4Slice,
    Ipv6Header, TcpSlice, UdpHeader, UdpSlice,
};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The error for bytes that are not a packet skyhop carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end too early, or a length field is wrong.
    Malformed(String),
    /// The checksum of a header does not match.
    Checksum(&'static str),
    /// A protocol, version or fragment that skyhop does not handle.
    Unsupported(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Malformed(why) => write!(f, "malformed packet: {why}"),
            ParseError::Checksum(header) => write!(f, "bad {header} checksum"),
            ParseError::Unsupported(what) => write!(f, "unsupported: {what}"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads one packet of IPv4, or of IPv6 between addresses in 2001:db8::/96.
pub fn parse(bytes: &[u8]) -> Result<Packet, ParseError> {
    parse_with(bytes, from_v6)
}

/// [`parse`], and the payload, which is the end of the packet; bytes after the length in the IP header are padding.
pub fn parse_with_payload(bytes: &[u8]) -> Result<(Packet, &[u8]), ParseError> {
    let packet = parse(bytes)?;
    let (at, header) = match packet.ip.version {
        Version::V4 => (2, 0),
        Version::V6 => (4, Version::V6.header_len() as usize),
    };
    let length = bytes.get(at..at + 2).map_or(0, |b| usize::from(u16::from_be_bytes([b[0], b[1]])));
    let end = header + length;
    let payload = end.checked_sub(packet.payload_len as usize).and_then(|start| bytes.get(start..end));
    Ok((packet, payload.ok_or_else(|| malformed("a length that is not its own"))?))
}

/// [`parse`] with `address`, which maps an IPv6 address to the 32 bits used here.
pub(crate) fn parse_with(
    bytes: &[u8],
    address: fn([u8; 16]) -> Option<Ipv4Addr>,
) -> Result<Packet, ParseError> {
    match bytes.first().map(|first| first >> 4) {
        Some(6) => parse_v6(bytes, address),
        _ => parse_v4(bytes),
    }
}

fn malformed(why: impl fmt::Display) -> ParseError {
    ParseError::Malformed(why.to_string())
}

fn parse_v4(bytes: &[u8]) -> Result<Packet, ParseError> {
    let ip = Ipv4Slice::from_slice(bytes).map_err(malformed)?;
    let header = ip.header().to_header();
    if header.calc_header_checksum() != header.header_checksum {
        return Err(ParseError::Checksum("IPv4 header"));
    }
    if header.is_fragmenting_payload() {
        return Err(ParseError::Unsupported("fragment".into()));
    }
    let body = ip.payload().payload;
    let (transport, payload_len) = match ip.payload().ip_number {
        IpNumber::TCP => tcp(body, |tcp, payload| tcp.calc_checksum_ipv4(&header, payload))?,
        IpNumber::ICMP => icmp_v4(body)?,
        // A UDP checksum of zero means that there is none (RFC 768).
        IpNumber::UDP => udp(body, true, |udp, payload| udp.calc_checksum_ipv4(&header, payload))?,
        other => return Err(ParseError::Unsupported(format!("IP protocol {}", other.0))),
    };
    Ok(Packet { ip: v4(&header), transport, payload_len: payload_len as u32 })
}

fn parse_v6(bytes: &[u8], address: fn([u8; 16]) -> Option<Ipv4Addr>) -> Result<Packet, ParseError> {
    let (header, rest) = Ipv6Header::from_slice(bytes).map_err(malformed)?;
    let len = usize::from(header.payload_length);
    let body =
        rest.get(..len).ok_or_else(|| malformed(format!("{} of {len} bytes of payload", rest.len())))?;
    let ip = v6(&header, address)?;
    let (transport, payload_len) = match header.next_header {
        IpNumber::TCP => tcp(body, |tcp, payload| tcp.calc_checksum_ipv6(&header, payload))?,
        IpNumber::IPV6_ICMP => icmp_v6(body, &header, address)?,
        // RFC 8200 §8.1: in IPv6 the UDP checksum is mandatory.
        IpNumber::UDP => udp(body, false, |udp, payload| udp.calc_checksum_ipv6(&header, payload))?,
        other => return Err(ParseError::Unsupported(format!("IP protocol {}", other.0))),
    };
    Ok(Packet { ip, transport, payload_len: payload_len as u32 })
}

type LengthError = ValueTooBigError<usize>;

/// A TCP header and the length of the payload after it, bytes.
fn tcp(
    body: &[u8],
    sum: impl Fn(&etherparse::TcpHeader, &[u8]) -> Result<u16, LengthError>,
) -> Result<(Transport, usize), ParseError> {
    let slice = TcpSlice::from_slice(body).map_err(malformed)?;
    let header = slice.to_header();
    if sum(&header, slice.payload()).map_err(malformed)? != header.checksum {
        return Err(ParseError::Checksum("TCP"));
    }
    Ok((Transport::Tcp(tcp_header(&header)), slice.payload().len()))
}

/// A UDP header and the length of the payload after it, bytes.
fn udp(
    body: &[u8],
    may_have_none: bool,
    sum: impl Fn(&UdpHeader, &[u8]) -> Result<u16, LengthError>,
) -> Result<(Transport, usize), ParseError> {
    let slice = UdpSlice::from_slice(body).map_err(malformed)?;
    let header = slice.to_header();
    let none = may_have_none && header.checksum == 0;
    if !none && sum(&header, slice.payload()).map_err(malformed)? != header.checksum {
        return Err(ParseError::Checksum("UDP"));
    }
    let UdpHeader { source_port, destination_port, .. } = header;
    Ok((Transport::Udp(Udp { source_port, destination_port }), slice.payload().len()))
}

fn echo(reply: bool, header: IcmpEchoHeader) -> Transport {
    Transport::Icmp(Echo { reply, identifier: header.id, sequence: header.seq })
}

fn icmp_v4(body: &[u8]) -> Result<(Transport, usize), ParseError> {
    let slice = Icmpv4Slice::from_slice(body).map_err(malformed)?;
    match slice.icmp_type() {
        Icmpv4Type::EchoRequest(header) => Ok((echo(false, header), slice.payload().len())),
        Icmpv4Type::EchoReply(header) => Ok((echo(true, header), slice.payload().len())),
        Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { next_hop_mtu }) => {
            let (quoted, rest) = Ipv4Header::from_slice(slice.payload()).map_err(malformed)?;
            let (total_len, protocol) = (quoted.total_len, quoted.protocol.0);
            let behind = usize::from(total_len).checked_sub(quoted.header_len());
            let first = first(rest, behind, 8, total_len)?;
            let too_large = TooLarge { next_hop_mtu, ip: v4(&quoted), total_len, protocol, first };
            // A router may quote more than eight bytes.
            Ok((Transport::TooLarge(too_large), 0))
        }
        other => Err(ParseError::Unsupported(format!("ICMP {other:?}"))),
    }
}

fn icmp_v6(
    body: &[u8],
    header: &Ipv6Header,
    address: fn([u8; 16]) -> Option<Ipv4Addr>,
) -> Result<(Transport, usize), ParseError> {
    let slice = Icmpv6Slice::from_slice(body).map_err(malformed)?;
    if !slice.is_checksum_valid(header.source, header.destination) {
        return Err(ParseError::Checksum("ICMPv6"));
    }
    match slice.icmp_type() {
        Icmpv6Type::EchoRequest(header) => Ok((echo(false, header), slice.payload().len())),
        Icmpv6Type::EchoReply(header) => Ok((echo(true, header), slice.payload().len())),
        Icmpv6Type::PacketTooBig { mtu } => {
            let (quoted, rest) = Ipv6Header::from_slice(slice.payload()).map_err(malformed)?;
            let behind = usize::from(quoted.payload_length);
            let total_len = u16::try_from(40 + behind).unwrap_or(u16::MAX);
            let first = first(rest, Some(usize::from(total_len) - 40), 20, total_len)?;
            let (next_hop_mtu, ip) = (u16::try_from(mtu).unwrap_or(u16::MAX), v6(&quoted, address)?);
            let too_large = TooLarge { next_hop_mtu, ip, total_len, protocol: quoted.next_header.0, first };
            Ok((Transport::TooLarge(too_large), 0))
        }
        other => Err(ParseError::Unsupported(format!("ICMPv6 type {}", other.type_u8()))),
    }
}

/// Up to `most` quoted bytes after the IP header, which says that the packet had `behind`. Fails if fewer than eight are quoted.
fn first(rest: &[u8], behind: Option<usize>, most: usize, total_len: u16) -> Result<[u8; 20], ParseError> {
    if rest.len() < 8 {
        return Err(malformed("it quotes less than eight bytes"));
    }
    let Some(behind) = behind.filter(|behind| *behind >= 8) else {
        return Err(malformed(format!("it quotes a packet of {total_len} bytes")));
    };
    let mut first = [0; 20];
    let known = rest.len().min(behind).min(most);
    first[..known].copy_from_slice(&rest[..known]);
    Ok(first)
}

/// The ECN field, the two low bits of the traffic class.
pub(crate) fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        _ => Ecn::Marked,
    }
}

fn v4(header: &Ipv4Header) -> Ip {
    Ip {
        version: Version::V4,
        source: header.source.into(),
        destination: header.destination.into(),
        identification: header.identification,
        ttl: header.time_to_live,
        ecn: ecn(header.ecn.value()),
        may_fragment: !header.dont_fragment,
    }
}

fn v6(header: &Ipv6Header, address: fn([u8; 16]) -> Option<Ipv4Addr>) -> Result<Ip, ParseError> {
    let node = |bytes: [u8; 16]| {
        let elsewhere = || ParseError::Unsupported(format!("address {}", Ipv6Addr::from(bytes)));
        address(bytes).ok_or_else(elsewhere)
    };
    Ok(Ip {
        version: Version::V6,
        source: node(header.source)?,
        destination: node(header.destination)?,
        identification: 0,
        ttl: header.hop_limit,
        ecn: ecn(header.traffic_class),
        may_fragment: false,
    })
}

pub(crate) fn tcp_header(tcp: &etherparse::TcpHeader) -> TcpHeader {
    let bit = |on: bool, flag: Flags| if on { flag } else { Flags(0) };
    let mut header = TcpHeader {
        source_port: tcp.source_port,
        destination_port: tcp.destination_port,
        seq: tcp.sequence_number,
        ack: tcp.acknowledgment_number,
        flags: bit(tcp.fin, Flags::FIN)
            | bit(tcp.syn, Flags::SYN)
            | bit(tcp.rst, Flags::RST)
            | bit(tcp.psh, Flags::PSH)
            | bit(tcp.ack, Flags::ACK)
            | bit(tcp.ece, Flags::ECE)
            | bit(tcp.cwr, Flags::CWR),
        window: tcp.window_size,
        ..TcpHeader::default()
    };
    options::parse(tcp.options.as_slice(), &mut header);
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::tcp::{Opening, SackBlocks, Timestamps};

    fn segment(payload_len: u32) -> Packet {
        let mut sack = SackBlocks::default();
        sack.push(5000, 6000);
        sack.push(8000, 9000);
        sack.push(20_000, 21_000);
        Packet {
            ip: Ip { identification: 7, ..Ip::new(Version::V4, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()) },
            transport: Transport::Tcp(TcpHeader {
                source_port: 49_152,
                destination_port: 9,
                seq: 0xffff_ff00,
                ack: 12,
                flags: Flags::ACK | Flags::PSH,
                window: 512,
                timestamps: Some(Timestamps { value: 1, echo: 2 }),
                sack,
                ..TcpHeader::default()
            }),
            payload_len,
        }
    }

    #[test]
    fn a_message_that_quotes_less_than_a_header_and_eight_bytes_is_refused() {
        for (total_len, fine) in [(0, false), (7, false), (27, false), (28, true), (1500, true)] {
            let too_large = TooLarge { total_len, ..TooLarge::quoting(&segment(900), 576) };
            let packet = Packet { transport: Transport::TooLarge(too_large), payload_len: 0, ..segment(0) };
            let mut bytes = Vec::new();
            emit(&packet, usize::MAX, &mut bytes);
            // The quoted header lies behind an IP header and eight bytes of ICMP; both checksums are made right again.
            bytes[30..32].copy_from_slice(&u16::to_be_bytes(total_len));
            bytes[38..40].fill(0);
            bytes[22..24].fill(0);
            let sum = |part: &[u8]| {
                let mut sum: u32 = part.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
                sum = (sum >> 16) + (sum & 0xffff);
                (!(sum + (sum >> 16)) as u16).to_be_bytes()
            };
            let quoted = sum(&bytes[28..48]);
            bytes[38..40].copy_from_slice(&quoted);
            let whole = sum(&bytes[20..56]);
            bytes[22..24].copy_from_slice(&whole);
            let read = parse(&bytes);
            assert_eq!(read.is_ok(), fine, "{total_len}: {read:?}");
            assert!(fine || matches!(&read, Err(ParseError::Malformed(why)) if why.contains("quotes")));
        }
    }

    /// A SYN with the longest options that an endpoint sends, FIN, and data.
    fn opened(opening: Opening) -> Packet {
        let syn = TcpHeader {
            flags: Flags::SYN | Flags::FIN,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 9, echo: 0 }),
            opening: Some(opening),
            ..TcpHeader::default()
        };
        Packet { transport: Transport::Tcp(syn), ..segment(100) }
    }

    #[test]
    fn options_that_nobody_knows_are_skipped_and_lengths_that_lie_end_them() {
        let read = |bytes: &[u8]| {
            let mut header = TcpHeader::default();
            options::parse(bytes, &mut header);
            header
        };
        // 254 is for experiments (RFC 4727).
        assert_eq!(read(&[254, 4, 9, 9, 1, 2, 4, 5, 180]).mss, Some(1460));
        for lie in
            [&[254u8, 0, 2, 4, 5, 180][..], &[2, 4, 5], &[2], &[34, 10, 1, 2], &[5, 9, 0, 0, 0, 1, 0, 0, 0]]
        {
            assert_eq!(read(lie), TcpHeader::default(), "{lie:?}");
        }
        assert_eq!(read(&[0, 2, 4, 5, 180]), TcpHeader::default());
    }

    #[test]
    fn what_is_emitted_parses_back() {
        for packet in [
            segment(0),
            segment(1),
            segment(1460),
            {
                let mut syn = segment(0);
                syn.transport = Transport::Tcp(TcpHeader {
                    flags: Flags::SYN,
                    mss: Some(1460),
                    window_scale: Some(7),
                    sack_permitted: true,
                    timestamps: Some(Timestamps { value: 9, echo: 0 }),
                    ..TcpHeader::default()
                });
                syn
            },
            opened(Opening::Count(7)),
            opened(Opening::NewCount(u32::MAX)),
            opened(Opening::EchoedCount { count: 8, echo: 9 }),
            opened(Opening::CookieRequest),
            opened(Opening::Cookie(0x0102_0304_0506_0708)),
            {
                let mut marked = segment(1000);
                marked.ip.ecn = Ecn::Marked;
                if let Transport::Tcp(tcp) = &mut marked.transport {
                    tcp.flags |= Flags::ECE | Flags::CWR;
                }
                marked
            },
        ] {
            let mut bytes = Vec::new();
            let full = emit(&packet, usize::MAX, &mut bytes);
            assert_eq!(full, packet.wire_len());
            assert_eq!(bytes.len(), full as usize);
            assert_eq!(parse(&bytes), Ok(packet));
        }
        let echo = Packet {
            transport: Transport::Icmp(Echo { reply: true, identifier: 3, sequence: 65_535 }),
            ..segment(56)
        };
        let mut bytes = Vec::new();
        assert_eq!(emit(&echo, usize::MAX, &mut bytes), 84);
        assert_eq!(parse(&bytes), Ok(echo));
        let segment_of_1500 = segment(1436);
        for (quoted, mtu) in
            [(segment_of_1500, 576), (segment_of_1500, 0), (datagram(1472), 1400), (echo, 68)]
        {
            let transport = Transport::TooLarge(TooLarge::quoting(&quoted, mtu));
            let message = Packet { transport, ..segment(0) };
            let mut bytes = Vec::new();
            assert_eq!(emit(&message, usize::MAX, &mut bytes), 56);
            assert_eq!((bytes.len(), parse(&bytes)), (56, Ok(message)));
            // RFC 1191 4: type 3, code 4, two bytes unused, two of MTU; then the packet's own beginning.
            assert_eq!((bytes[20], bytes[21], &bytes[24..26]), (3, 4, &[0, 0][..]));
            assert_eq!(u16::from_be_bytes([bytes[26], bytes[27]]), mtu);
            let mut original = Vec::new();
            emit(&quoted, usize::MAX, &mut original);
            let known = if matches!(quoted.transport, Transport::Tcp(_)) { 28 } else { 22 };
            assert_eq!(bytes[28..28 + known], original[..known]);
            // Routers may quote more, and none less.
            bytes.truncate(54);
            assert!(parse(&bytes).is_err());
        }
        assert_eq!(TooLarge::quoting(&segment_of_1500, 576).segment(), Some((49_152, 9, 0xffff_ff00)));
        assert_eq!(TooLarge::quoting(&echo, 576).segment(), None);
        for size in [0, 1, 1000, 65_507] {
            let datagram = datagram(size);
            let mut bytes = Vec::new();
            assert_eq!(emit(&datagram, usize::MAX, &mut bytes), 28 + size);
            assert_eq!((bytes.len() as u32, parse(&bytes)), (28 + size, Ok(datagram)));
        }
    }

    fn datagram(payload_len: u32) -> Packet {
        let ports = Udp { source_port: 49_152, destination_port: 9 };
        Packet { transport: Transport::Udp(ports), payload_len, ..segment(0) }
    }

    // RFC 768: the sum of pseudo header, header and data in words of 16 bits, complemented. Worked out by hand for ten
    // zeros from 10.0.0.1:49152 to 10.0.0.2:9.
    #[test]
    fn the_checksum_of_a_datagram_is_that_of_the_rfc() {
        let mut bytes = Vec::new();
        emit(&datagram(10), usize::MAX, &mut bytes);
        let words = [0x0a00, 0x0001, 0x0a00, 0x0002, 17, 18, 49_152, 9, 18u32];
        let sum: u32 = words.iter().sum();
        let expected = !((sum & 0xffff) + (sum >> 16)) as u16;
        assert_eq!(u16::from_be_bytes([bytes[26], bytes[27]]), expected);
        assert_eq!(u16::from_be_bytes([bytes[24], bytes[25]]), 18, "length");
    }

    #[test]
    fn a_flipped_bit_of_a_datagram_is_noticed() {
        let mut bytes = Vec::new();
        emit(&datagram(64), usize::MAX, &mut bytes);
        for i in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[i] ^= 0x10;
            assert_ne!(parse(&wrong), Ok(datagram(64)), "byte {i}");
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut bytes = Vec::new();
        emit(&segment(100), usize::MAX, &mut bytes);
        for i in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[i] ^= 0x10;
            assert_ne!(parse(&wrong), Ok(segment(100)), "byte {i}");
        }
    }

    #[test]
    fn snap_length_cuts_bytes_and_not_the_length() {
        let mut bytes = Vec::new();
        assert_eq!(emit(&segment(1000), 96, &mut bytes), 1000 + 20 + 20 + 36);
        assert_eq!(bytes.len(), 96);
    }
}
