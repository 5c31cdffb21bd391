//! A packet as bytes, with correct lengths and checksums.
//!
//! Follows RFC 791, 793, 792 and 768; the headers are written by etherparse.
//! Differs: the payload is zeros unless it is given, because a simulated payload is a length.
//! Leaves out fragments: a packet above 65,535 bytes is refused by the scenario.

use crate::options;
use crate::packet::{Ecn, Packet, Transport};
use crate::tcp::TcpHeader;
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
        Transport::Icmp(_) => IpNumber::ICMP,
        Transport::Udp(_) => IpNumber::UDP,
        Transport::Other(number) => IpNumber(number),
    };
    let length = u16::try_from(transport_len + payload).unwrap_or(u16::MAX - 20);
    let (source, destination) = (packet.ip.source.octets(), packet.ip.destination.octets());
    let mut ip = Ipv4Header::new(length, packet.ip.ttl, protocol, source, destination).unwrap_or_default();
    ip.identification = packet.ip.identification;
    ip.ecn = IpEcn::from(packet.ip.ecn);
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
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
