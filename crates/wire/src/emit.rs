//! A packet as bytes, with correct lengths and checksums.
//!
//! Follows RFC 791, 793, 792, 1191 and 768, and RFC 8200 and 4443 for IPv6; the headers are written by etherparse.
//! Differs: the payload is zeros unless it is given, because a simulated payload is a length.
//! Leaves out fragments: a packet above 65,535 bytes is refused by the scenario.

use crate::address::{flow_label, to_v6};
use crate::options;
use crate::packet::{Echo, Ecn, Ip, Packet, TooLarge, Transport, Udp, Version};
use crate::tcp::TcpHeader;
use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type, IpEcn, IpNumber, Ipv4Header,
    Ipv6FlowLabel, Ipv6Header, UdpHeader,
};

/// Appends the packet to `out`: all headers, and as much of the payload as keeps it within `snap_len` bytes. Checksums cover the
/// whole payload. Returns the packet's full length.
pub fn emit(packet: &Packet, snap_len: usize, out: &mut Vec<u8>) -> u32 {
    emit_with(packet, &vec![0u8; packet.payload_len as usize], snap_len, out)
}

/// [`emit`] with a given payload; `bytes` is `payload_len` long.
pub fn emit_with(packet: &Packet, bytes: &[u8], snap_len: usize, out: &mut Vec<u8>) -> u32 {
    let start = out.len();
    debug_assert_eq!(bytes.len(), packet.payload_len as usize);
    match packet.ip.version {
        Version::V4 => emit_v4(packet, bytes, out),
        Version::V6 => emit_v6(packet, bytes, out),
    }
    out.extend_from_slice(bytes);
    let full = out.len() - start;
    out.truncate(start + full.min(snap_len));
    full as u32
}

/// Number of bytes after the network header.
fn behind_ip(packet: &Packet) -> u32 {
    packet.wire_len() - packet.ip.version.header_len()
}

fn emit_v4(packet: &Packet, bytes: &[u8], out: &mut Vec<u8>) {
    let protocol = match packet.transport {
        Transport::Tcp(_) => IpNumber::TCP,
        Transport::Icmp(_) | Transport::TooLarge(_) => IpNumber::ICMP,
        Transport::Udp(_) => IpNumber::UDP,
        Transport::Other(number) => IpNumber(number),
    };
    let length = u16::try_from(behind_ip(packet)).unwrap_or(u16::MAX - 20);
    let ip = v4_header(&packet.ip, protocol, length);
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
        Transport::TooLarge(message) => {
            let quoted = quoted(message);
            let kind = DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: message.next_hop_mtu };
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
}

fn emit_v6(packet: &Packet, bytes: &[u8], out: &mut Vec<u8>) {
    let protocol = match packet.transport {
        Transport::Tcp(_) => IpNumber::TCP,
        Transport::Icmp(_) | Transport::TooLarge(_) => IpNumber::IPV6_ICMP,
        Transport::Udp(_) => IpNumber::UDP,
        Transport::Other(number) => IpNumber(number),
    };
    let length = u16::try_from(behind_ip(packet)).unwrap_or(u16::MAX);
    let ip = v6_header(&packet.ip, protocol, flow_label(packet, protocol.0), length);
    out.extend_from_slice(&ip.to_bytes());
    let icmp = |kind: Icmpv6Type, payload: &[u8], out: &mut Vec<u8>| {
        if let Ok(header) = Icmpv6Header::with_checksum(kind, ip.source, ip.destination, payload) {
            out.extend_from_slice(&header.to_bytes());
        }
    };
    match &packet.transport {
        Transport::Tcp(tcp) => {
            let mut header = tcp_header(tcp);
            header.checksum = header.calc_checksum_ipv6(&ip, bytes).unwrap_or_default();
            out.extend_from_slice(&header.to_bytes());
        }
        Transport::Icmp(echo) => {
            let id = IcmpEchoHeader { id: echo.identifier, seq: echo.sequence };
            icmp(
                if echo.reply { Icmpv6Type::EchoReply(id) } else { Icmpv6Type::EchoRequest(id) },
                bytes,
                out,
            );
        }
        Transport::TooLarge(message) => {
            let quoted = quoted(message);
            icmp(Icmpv6Type::PacketTooBig { mtu: message.next_hop_mtu.into() }, &quoted, out);
            out.extend_from_slice(&quoted);
        }
        Transport::Udp(udp) => {
            let ports = (udp.source_port, udp.destination_port);
            if let Ok(header) = UdpHeader::with_ipv6_checksum(ports.0, ports.1, &ip, bytes) {
                out.extend_from_slice(&header.to_bytes());
            }
        }
        Transport::Other(_) => {}
    }
}

/// An IPv4 header in front of `length` bytes.
fn v4_header(ip: &Ip, protocol: IpNumber, length: u16) -> Ipv4Header {
    let (source, destination) = (ip.source.octets(), ip.destination.octets());
    let mut header = Ipv4Header::new(length, ip.ttl, protocol, source, destination).unwrap_or_default();
    header.identification = ip.identification;
    header.ecn = IpEcn::from(ip.ecn);
    header.dont_fragment = !ip.may_fragment;
    header.header_checksum = header.calc_header_checksum();
    header
}

/// An IPv6 header in front of `payload_length` bytes.
fn v6_header(ip: &Ip, next_header: IpNumber, label: u32, payload_length: u16) -> Ipv6Header {
    Ipv6Header {
        // The DSCP is 0, so the traffic class is the ECN field alone.
        traffic_class: ip.ecn as u8,
        flow_label: Ipv6FlowLabel::try_new(label).unwrap_or_default(),
        payload_length,
        next_header,
        hop_limit: ip.ttl,
        source: to_v6(ip.source),
        destination: to_v6(ip.destination),
    }
}

/// The bytes of the packet that an ICMP error quotes; its payload is zeros.
fn quoted(message: &TooLarge) -> Vec<u8> {
    let protocol = IpNumber(message.protocol);
    let behind = u32::from(message.total_len).saturating_sub(message.ip.version.header_len());
    let mut bytes = match message.ip.version {
        Version::V4 => v4_header(&message.ip, protocol, behind as u16).to_bytes().to_vec(),
        Version::V6 => v6_header(&message.ip, protocol, label(message), behind as u16).to_bytes().to_vec(),
    };
    bytes.extend_from_slice(&message.first);
    bytes.resize(message.quoted_len() as usize, 0);
    bytes
}

/// The flow label of the quoted packet.
fn label(message: &TooLarge) -> u32 {
    let word = |at: usize| u16::from_be_bytes([message.first[at], message.first[at + 1]]);
    let transport = match message.protocol {
        6 | 17 => Transport::Udp(Udp { source_port: word(0), destination_port: word(2) }),
        58 => Transport::Icmp(Echo { reply: false, identifier: word(4), sequence: 0 }),
        number => Transport::Other(number),
    };
    flow_label(&Packet { ip: message.ip, transport, payload_len: 0 }, message.protocol)
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
