//! A real host's packet, read as one that the network can carry.
//!
//! Follows RFC 791, RFC 8200, RFC 3168 (marks), RFC 1624 (a checksum after a change), RFC 6438 (flows by label where ports are hidden).
//! Differs from [`crate::parse`]: an unknown or broken transport is no error, but another protocol of the same length. Checksums
//! are not verified: many are left to the network card, and it is the receiver that must refuse a packet that was altered.
//! Leaves out packets that are not IP or are truncated.

use crate::address::{from_v6, hash};
use crate::packet::{Echo, Ip, Packet, Transport, Udp, Version};
use crate::parse::{ParseError, ecn, tcp_header};
use etherparse::TcpSlice;
use std::net::Ipv4Addr;

/// A packet and the hash of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Headers, and a length equal to that of the bytes. IPv6 addresses outside 2001:db8::/96 are hashed to 32 bits.
    pub packet: Packet,
    /// Hash of addresses, protocol and ports, or of addresses, protocol and flow label; the same for all packets of a flow in one
    /// direction.
    pub flow: u32,
}

/// Reads one IPv4 or IPv6 packet. Bytes after the length that its header gives are padding.
///
/// # Errors
///
/// Bytes that do not begin with an IP header, or are fewer than the header says.
pub fn observe(bytes: &[u8]) -> Result<Observed, ParseError> {
    let (packet, flow) = match bytes.first().map(|first| first >> 4) {
        Some(4) => of_v4(bytes)?,
        Some(6) => of_v6(bytes)?,
        _ => return Err(ParseError::Unsupported("what is neither IPv4 nor IPv6".into())),
    };
    Ok(Observed { packet, flow })
}

/// Sets the ECN field to "congestion experienced" in a packet that [`observe`] has read; checksums stay right.
pub fn mark(bytes: &mut [u8]) {
    match bytes.first().map(|first| first >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] |= 3;
            let new = u16::from_be_bytes([bytes[0], bytes[1]]);
            let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
            // RFC 1624 equation 3.
            let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
            total = (total & 0xffff) + (total >> 16);
            total = (total & 0xffff) + (total >> 16);
            bytes[10..12].copy_from_slice(&(!(total as u16)).to_be_bytes());
        }
        // The traffic class lies across two bytes.
        Some(6) if bytes.len() >= 40 => bytes[1] |= 3 << 4,
        _ => {}
    }
}

fn folded(address: [u8; 16]) -> Option<Ipv4Addr> {
    Some(from_v6(address).unwrap_or_else(|| Ipv4Addr::from(hash(&[&address]))))
}

fn short(version: &str) -> ParseError {
    ParseError::Malformed(format!("shorter than its {version} header says"))
}

fn of_v4(bytes: &[u8]) -> Result<(Packet, u32), ParseError> {
    let header: &[u8; 20] = bytes.first_chunk().ok_or_else(|| short("IPv4"))?;
    let header_len = usize::from(header[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header_len < 20 || total < header_len || bytes.len() < total {
        return Err(short("IPv4"));
    }
    let [source, destination] =
        [12, 16].map(|at| [header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let protocol = header[9];
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let ports = if fragment { &[] } else { ports(protocol, &bytes[header_len..total]) };
    let ip = Ip {
        version: Version::V4,
        source: source.into(),
        destination: destination.into(),
        identification: u16::from_be_bytes([header[4], header[5]]),
        ttl: header[8],
        ecn: ecn(header[1]),
        may_fragment: header[6] & 0x40 == 0,
    };
    let body = (!fragment).then(|| &bytes[header_len..total]);
    Ok((packet(ip, protocol, body, total), hash(&[&source, &destination, &[protocol], ports])))
}

fn of_v6(bytes: &[u8]) -> Result<(Packet, u32), ParseError> {
    let header: &[u8; 40] = bytes.first_chunk().ok_or_else(|| short("IPv6"))?;
    let total = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    if bytes.len() < total {
        return Err(short("IPv6"));
    }
    let address = |at: usize| header[at..].first_chunk::<16>().copied().unwrap_or_default();
    let [source, destination] = [8, 24].map(address);
    let protocol = header[6];
    let ports = ports(protocol, &bytes[40..total]);
    let label = [header[1] & 15, header[2], header[3]];
    let apart = if ports.is_empty() { &label[..] } else { ports };
    let ip = Ip {
        version: Version::V6,
        source: folded(source).unwrap_or(Ipv4Addr::UNSPECIFIED),
        destination: folded(destination).unwrap_or(Ipv4Addr::UNSPECIFIED),
        identification: 0,
        ttl: header[7],
        ecn: ecn(header[0] << 4 | header[1] >> 4),
        may_fragment: false,
    };
    let packet = packet(ip, protocol, Some(&bytes[40..total]), total);
    Ok((packet, hash(&[&source, &destination, &[protocol], apart])))
}

/// The packet of `total` bytes with header `ip`; its transport is parsed from `body` where that is understood.
fn packet(ip: Ip, protocol: u8, body: Option<&[u8]>, total: usize) -> Packet {
    let payload_len = total as u32 - ip.version.header_len();
    let other = Packet { ip, transport: Transport::Other(protocol), payload_len };
    let Some(transport) = body.and_then(|body| understood(ip.version, protocol, body)) else { return other };
    // IP and TCP options that the structs cannot hold, and their padding, count as payload.
    let headers = Packet { ip, transport, payload_len: 0 }.wire_len();
    match (total as u32).checked_sub(headers) {
        Some(payload_len) => Packet { ip, transport, payload_len },
        None => other,
    }
}

/// The transport header in `body`. ICMP errors stay an unknown protocol, as the packet that they quote is not the network's.
fn understood(version: Version, protocol: u8, body: &[u8]) -> Option<Transport> {
    Some(match (protocol, version) {
        (6, _) => {
            let slice = TcpSlice::from_slice(body).ok()?;
            Transport::Tcp(tcp_header(&slice.to_header()))
        }
        (17, _) => {
            let [a, b, c, d, _, _, _, _] = *body.first_chunk()?;
            let [source_port, destination_port] = [[a, b], [c, d]].map(u16::from_be_bytes);
            Transport::Udp(Udp { source_port, destination_port })
        }
        (1, Version::V4) | (58, Version::V6) => {
            let [kind, 0, _, _, a, b, c, d] = *body.first_chunk()? else { return None };
            let reply = match kind {
                0 | 129 => true,
                8 | 128 => false,
                _ => return None,
            };
            let [identifier, sequence] = [[a, b], [c, d]].map(u16::from_be_bytes);
            Transport::Icmp(Echo { reply, identifier, sequence })
        }
        _ => return None,
    })
}

/// The bytes of both ports, if the protocol has ports: TCP, UDP, DCCP, SCTP or UDP-Lite.
fn ports(protocol: u8, body: &[u8]) -> &[u8] {
    if matches!(protocol, 6 | 17 | 33 | 132 | 136) { body.get(..4).unwrap_or_default() } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_linuxs_padding_are_understood() {
        let mut bytes = vec![0u8; 20 + 20 + 24];
        (bytes[0], bytes[3], bytes[8], bytes[9]) = (0x45, 64, 64, 6);
        bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        bytes[20..24].copy_from_slice(&[0, 80, 200, 1]);
        (bytes[32], bytes[33]) = (11 << 4, 0x10);
        // Two blanks before the timestamps and two before the blocks.
        bytes[40..44].copy_from_slice(&[1, 1, 8, 10]);
        bytes[52..56].copy_from_slice(&[1, 1, 5, 10]);
        bytes[59] = 9;
        bytes[63] = 19;
        let observed = observe(&bytes).unwrap();
        let Transport::Tcp(tcp) = observed.packet.transport else { panic!("{observed:?}") };
        assert_eq!((tcp.source_port, tcp.destination_port, observed.packet.wire_len()), (80, 51_201, 64));
        assert!(tcp.timestamps.is_some() && !tcp.sack.is_empty());
        // A header that is longer than the packet is invalid.
        bytes[32] = 15 << 4;
        assert!(matches!(observe(&bytes).unwrap().packet.transport, Transport::Other(6)));
    }
}
