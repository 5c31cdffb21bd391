//! IPv6 addresses and flow labels, made from the 32 bits that an address has here.
//!
//! Follows RFC 3849 (2001:db8::/32 is for examples) and RFC 6437 §3 (a flow label is a hash of the fields that identify a flow).
//! Differs from a host: the hash has no secret, because a run must be reproducible.
//! Leaves out every address outside 2001:db8::/96.

use crate::packet::{Packet, Transport};
use std::net::Ipv4Addr;

const PREFIX: [u8; 12] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];

/// The IPv6 form of an address: 10.0.0.1 is 2001:db8::a00:1.
pub(crate) fn to_v6(address: Ipv4Addr) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(&PREFIX);
    bytes[12..].copy_from_slice(&address.octets());
    bytes
}

/// The 32 bits of an address in 2001:db8::/96; `None` for any other address.
pub(crate) fn from_v6(address: [u8; 16]) -> Option<Ipv4Addr> {
    let rest: [u8; 4] = *address.strip_prefix(&PREFIX)?.first_chunk()?;
    Some(rest.into())
}

/// The 32-bit FNV-1a hash of `parts`, with a final mix for the high bits, which FNV-1a fills badly.
pub(crate) fn hash(parts: &[&[u8]]) -> u32 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (sum ^ (sum >> 32)) as u32
}

/// The 20-bit flow label: never 0, and the same for all packets of a connection in one direction.
pub(crate) fn flow_label(packet: &Packet, protocol: u8) -> u32 {
    let ports = match &packet.transport {
        Transport::Tcp(tcp) => [tcp.source_port, tcp.destination_port],
        Transport::Udp(udp) => [udp.source_port, udp.destination_port],
        Transport::Icmp(echo) => [echo.identifier, 0],
        Transport::TooLarge(_) | Transport::Other(_) => [0, 0],
    };
    let (source, destination) = (packet.ip.source.octets(), packet.ip.destination.octets());
    let [a, b] = ports.map(u16::to_be_bytes);
    hash(&[&source, &destination, &[protocol], &a, &b]) % 0xf_ffff + 1
}
