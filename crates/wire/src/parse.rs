//! Bytes as a packet.
//!
//! Follows RFC 791, 793, 792, 1191 and 768; the headers are read by etherparse, checksums are verified.
//! Differs: unknown TCP options are skipped, and the payload is kept as its length.
//! Leaves out fragments and IPv6, which are refused.

use crate::options;
use crate::packet::{Echo, Ecn, Ipv4, Packet, TooLarge, Transport, Udp};
use crate::tcp::{Flags, TcpHeader};
use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{Icmpv4Type, IpNumber, Ipv4Header, Ipv4Slice, TcpSlice, UdpSlice};
use std::fmt;

/// Why bytes are not a packet that skyhop carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// Too short, or a length field that lies.
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

/// Reads one IPv4 packet.
pub fn parse(bytes: &[u8]) -> Result<Packet, ParseError> {
    let malformed = |why: &dyn fmt::Display| ParseError::Malformed(why.to_string());
    let ip = Ipv4Slice::from_slice(bytes).map_err(|e| malformed(&e))?;
    let header = ip.header().to_header();
    if header.calc_header_checksum() != header.header_checksum {
        return Err(ParseError::Checksum("IPv4 header"));
    }
    if header.is_fragmenting_payload() {
        return Err(ParseError::Unsupported("fragment".into()));
    }
    let body = ip.payload().payload;
    let (transport, payload_len) = match ip.payload().ip_number {
        IpNumber::TCP => {
            let slice = TcpSlice::from_slice(body).map_err(|e| malformed(&e))?;
            let tcp = slice.to_header();
            let sum = tcp.calc_checksum_ipv4(&header, slice.payload()).map_err(|e| malformed(&e))?;
            if sum != tcp.checksum {
                return Err(ParseError::Checksum("TCP"));
            }
            (Transport::Tcp(tcp_header(&tcp)), slice.payload().len())
        }
        IpNumber::ICMP => {
            let slice = etherparse::Icmpv4Slice::from_slice(body).map_err(|e| malformed(&e))?;
            let echo = |reply, echo: etherparse::IcmpEchoHeader| {
                Transport::Icmp(Echo { reply, identifier: echo.id, sequence: echo.seq })
            };
            match slice.icmp_type() {
                Icmpv4Type::EchoRequest(header) => (echo(false, header), slice.payload().len()),
                Icmpv4Type::EchoReply(header) => (echo(true, header), slice.payload().len()),
                Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded {
                    next_hop_mtu,
                }) => {
                    let (quoted, first) =
                        Ipv4Header::from_slice(slice.payload()).map_err(|e| malformed(&e))?;
                    let Some(first) = first.first_chunk() else {
                        return Err(ParseError::Malformed("it quotes less than eight bytes".into()));
                    };
                    let (total_len, protocol) = (quoted.total_len, quoted.protocol.0);
                    if usize::from(total_len) < quoted.header_len() + first.len() {
                        return Err(ParseError::Malformed(format!(
                            "it quotes a packet of {total_len} bytes"
                        )));
                    }
                    let too_large =
                        TooLarge { next_hop_mtu, ip: ipv4(&quoted), total_len, protocol, first: *first };
                    // Routers may quote more.
                    (Transport::TooLarge(too_large), 0)
                }
                other => return Err(ParseError::Unsupported(format!("ICMP {other:?}"))),
            }
        }
        IpNumber::UDP => {
            let slice = UdpSlice::from_slice(body).map_err(|e| malformed(&e))?;
            let udp = slice.to_header();
            let sum = udp.calc_checksum_ipv4(&header, slice.payload()).map_err(|e| malformed(&e))?;
            // Zero says that there is none (RFC 768).
            if udp.checksum != 0 && sum != udp.checksum {
                return Err(ParseError::Checksum("UDP"));
            }
            let (source_port, destination_port) = (udp.source_port, udp.destination_port);
            (Transport::Udp(Udp { source_port, destination_port }), slice.payload().len())
        }
        other => return Err(ParseError::Unsupported(format!("IP protocol {}", other.0))),
    };
    Ok(Packet { ip: ipv4(&header), transport, payload_len: payload_len as u32 })
}

fn ipv4(header: &Ipv4Header) -> Ipv4 {
    Ipv4 {
        source: header.source.into(),
        destination: header.destination.into(),
        identification: header.identification,
        ttl: header.time_to_live,
        ecn: match header.ecn.value() {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Marked,
        },
    }
}

fn tcp_header(tcp: &etherparse::TcpHeader) -> TcpHeader {
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
            ip: Ipv4 {
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                identification: 7,
                ttl: 64,
                ecn: Ecn::NotCapable,
            },
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

    /// The SYN with the most options that an endpoint sends, and data.
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
