//! A packet as bytes, with correct lengths and checksums.
//!
//! Follows RFC 791, 793, 792, 1191 and 768; the headers are written by etherparse.
//! Differs: the payload is zeros unless it is given, because a simulated payload is a length.
//! Leaves out fragments: a packet above 65,535 bytes is refused by the scenario.

use crate::options;
use crate::packet::{Ecn, Ipv4, Packet, TooLarge, Transport};
use crate::tcp::TcpHeader;
use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpEcn, IpNumber, Ipv4Header, UdpHeader};

/// Appends the packet's bytes to `out`: all headers, and as much of the payload as keeps the packet within `snap_len` bytes.
/// Checksums cover the whole payload. Returns the packet's full length.
pub fn emit(packet: &Packet, snap_len: usize, out: &mut Vec<u8>) -> u32 {
    emit_with(packet, &vec![0u8; packet.payload_len as usize], snap_len, out)
}

/// The same with the bytes of the payload, of which there are `payload_len`.
pub fn emit_with(packet: &Packet, bytes: &[u8], snap_len: usize, out: &mut Vec<u8>) -> u32 {
    let start = out.len();
    let payload = bytes.len();
    debug_assert_eq!(payload, packet.payload_len as usize);
    let transport_len = (packet.wire_len() - 20 - packet.payload_len) as usize;
    let protocol = match packet.transport {
        Transport::Tcp(_) => IpNumber::TCP,
        Transport::Icmp(_) | Transport::TooLarge(_) => IpNumber::ICMP,
        Transport::Udp(_) => IpNumber::UDP,
        Transport::Other(number) => IpNumber(number),
    };
    let length = u16::try_from(transport_len + payload).unwrap_or(u16::MAX - 20);
    let ip = ip_header(&packet.ip, protocol, length);
    out.extend_from_slice(&ip.to_bytes());
    match &packet.transport {
        Transport::Tcp(tcp) => {
            let mut header = tcp_header(tcp);
            header.checksum = header.calc_checksum_ipv4(&ip, bytes).unwrap_or_default();
            out.extend_from_slice(&header.to_bytes());
        }
        Transport::Icmp(echo) => {
            let id = IcmpEchoHeader { id: echo.identifier, seq: echo.sequence };
            let kind = if echo.reply { Icmpv4Type::EchoReply(id) } else { Icmpv4Type::EchoRequest(id) };
            out.extend_from_slice(&Icmpv4Header::with_checksum(kind, bytes).to_bytes());
        }
        Transport::TooLarge(too_large) => {
            let TooLarge { next_hop_mtu, .. } = *too_large;
            let quoted = quoted(too_large);
            let kind = DestUnreachableHeader::FragmentationNeeded { next_hop_mtu };
            let kind = Icmpv4Type::DestinationUnreachable(kind);
            out.extend_from_slice(&Icmpv4Header::with_checksum(kind, &quoted).to_bytes());
            out.extend_from_slice(&quoted);
        }
        Transport::Udp(udp) => {
            let ports = (udp.source_port, udp.destination_port);
            // It fits, or it does not fit an IP packet either, which the scenario refuses.
            if let Ok(header) = UdpHeader::with_ipv4_checksum(ports.0, ports.1, &ip, bytes) {
                out.extend_from_slice(&header.to_bytes());
            }
        }
        Transport::Other(_) => {}
    }
    out.extend_from_slice(bytes);
    let full = out.len() - start;
    out.truncate(start + full.min(snap_len));
    full as u32
}

/// A network header, for `length` bytes behind it.
fn ip_header(ip: &Ipv4, protocol: IpNumber, length: u16) -> Ipv4Header {
    let (source, destination) = (ip.source.octets(), ip.destination.octets());
    let mut header = Ipv4Header::new(length, ip.ttl, protocol, source, destination).unwrap_or_default();
    header.identification = ip.identification;
    header.ecn = IpEcn::from(ip.ecn);
    header.dont_fragment = true;
    header.header_checksum = header.calc_header_checksum();
    header
}

/// What a router quotes of a packet.
fn quoted(too_large: &TooLarge) -> Vec<u8> {
    let protocol = IpNumber(too_large.protocol);
    let ip = ip_header(&too_large.ip, protocol, too_large.total_len.saturating_sub(20));
    let mut bytes = ip.to_bytes().to_vec();
    bytes.extend_from_slice(&too_large.first);
    bytes
}

fn tcp_header(tcp: &TcpHeader) -> etherparse::TcpHeader {
    let mut header = etherparse::TcpHeader::new(tcp.source_port, tcp.destination_port, tcp.seq, tcp.window);
    header.acknowledgment_number = tcp.ack;
    header.fin = tcp.flags.has(crate::Flags::FIN);
    header.syn = tcp.flags.has(crate::Flags::SYN);
    header.rst = tcp.flags.has(crate::Flags::RST);
    header.psh = tcp.flags.has(crate::Flags::PSH);
    header.ack = tcp.flags.has(crate::Flags::ACK);
    header.ece = tcp.flags.has(crate::Flags::ECE);
    header.cwr = tcp.flags.has(crate::Flags::CWR);
    // Options come to 40 bytes at most: endpoints leave out SACK blocks that have no room.
    let _ = header.set_options_raw(options::emit(tcp).as_slice());
    header
}

impl From<Ecn> for IpEcn {
    fn from(ecn: Ecn) -> Self {
        match ecn {
            Ecn::NotCapable => IpEcn::ZERO,
            Ecn::Capable1 => IpEcn::ONE,
            Ecn::Capable0 => IpEcn::TWO,
            Ecn::Marked => IpEcn::THREE,
        }
    }
}
