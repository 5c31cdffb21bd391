//! The IP payload of a frame in a capture, and its replacement.
//!
//! Follows RFC 791, RFC 8200 and RFC 768; frames of Ethernet with VLANs, of Linux's "any", of loopbacks, and bare IP.
//! Differs from a host: a wrong checksum is accepted, because captures are made before the network card computes it.
//! Leaves out fragments, tunnels and TCP.

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, UdpHeader, ether_type, ip_number};
use std::net::{IpAddr, SocketAddr};

/// The payload of an IP packet: a UDP datagram, or a protocol without ports here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source; the port is 0 without UDP.
    pub source: SocketAddr,
    /// Destination.
    pub destination: SocketAddr,
    /// The captured part of the payload.
    pub payload: &'a [u8],
    /// True if that is the whole payload.
    pub whole: bool,
}

/// Offsets of the parts of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    ip: usize,
    udp: Option<usize>,
    payload: usize,
}

/// The datagram in a frame of this link type, if there is one.
pub(super) fn find(link_type: u16, frame: &[u8], original: u32) -> Option<(Datagram<'_>, Places)> {
    let sliced = slice(link_type, frame)?;
    let (ip, addresses): (usize, [IpAddr; 2]) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            let at = header.slice().as_ptr() as usize - frame.as_ptr() as usize;
            (at, [header.source_addr().into(), header.destination_addr().into()])
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            let at = header.slice().as_ptr() as usize - frame.as_ptr() as usize;
            (at, [header.source_addr().into(), header.destination_addr().into()])
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let carried = sliced.ip_payload()?;
    if carried.fragmented {
        return None;
    }
    let at = carried.payload.as_ptr() as usize - frame.as_ptr() as usize;
    let bytes = carried.payload;
    // A frame that was truncated where IP's length is unknown is incomplete too.
    let whole = !carried.incomplete && original as usize <= frame.len();
    let (udp, ports, payload, whole) = match carried.ip_number {
        ip_number::UDP => {
            let (header, rest) = bytes.split_at_checked(UdpHeader::LEN)?;
            let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
            let len = usize::from(number(4)).checked_sub(UdpHeader::LEN)?;
            let known = &rest[..rest.len().min(len)];
            (Some(at), [number(0), number(2)], known, known.len() == len)
        }
        ip_number::TCP | ip_number::ICMP | ip_number::IPV6_ICMP => return None,
        _ => (None, [0, 0], bytes, whole),
    };
    let [source, destination] = [0, 1].map(|i| SocketAddr::new(addresses[i], ports[i]));
    let places = Places { ip, udp, payload: udp.map_or(at, |at| at + UdpHeader::LEN) };
    Some((Datagram { source, destination, payload, whole }, places))
}

fn slice(link_type: u16, frame: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    // Linux headers with an EtherType.
    let cooked = |at: usize, len: usize| {
        let kind = EtherType(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let known = [
            ether_type::IPV4,
            ether_type::IPV6,
            ether_type::VLAN_TAGGED_FRAME,
            ether_type::PROVIDER_BRIDGING,
        ];
        known.contains(&kind).then_some(())?;
        Some(LaxSlicedPacket::from_ether_type(kind, frame.get(len..)?))
    };
    match link_type {
        // NULL and LOOP: four bytes with a number of the operating system's, which IP's version makes redundant.
        0 | 108 => LaxSlicedPacket::from_ip(frame.get(4..)?).ok(),
        1 => LaxSlicedPacket::from_ethernet(frame).ok(),
        // RAW, under three numbers, and IPV4 and IPV6.
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(frame).ok(),
        // LINUX_SLL and LINUX_SLL2.
        113 => cooked(14, 16),
        276 => cooked(0, 20),
        _ => None,
    }
}

/// The frame with `contents` as its payload, and matching lengths and checksums. `None` if that is too long for IP, which it is
/// not if it is shorter than the old payload.
pub(super) fn replace(frame: &[u8], places: Places, number: u16, contents: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(places.payload + contents.len());
    out.extend_from_slice(&frame[..places.payload]);
    out.extend_from_slice(contents);
    let total = u16::try_from(out.len() - places.ip).ok()?;
    let four = frame[places.ip] >> 4 == 4;
    if four {
        let header = usize::from(frame[places.ip] & 15) * 4;
        let ip = &mut out[places.ip..];
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        // Packets that the kernel cuts out of one have consecutive identifications.
        let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number);
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[10..12].fill(0);
        let sum = etherparse::checksum::Sum16BitWords::new().add_slice(&ip[..header]).ones_complement();
        // The sum is in the byte order of this machine.
        ip[10..12].copy_from_slice(&sum.to_ne_bytes());
    } else {
        out[places.ip + 4..places.ip + 6].copy_from_slice(&(total.checked_sub(40)?).to_be_bytes());
    }
    if let Some(at) = places.udp {
        let (length, unchecked) = ((out.len() - at) as u16, frame[at + 6..at + 8] == [0, 0]);
        out[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
        // A UDP datagram over IPv4 without a checksum gets none.
        if !(four && unchecked) {
            let (header, _) = UdpHeader::from_slice(&out[at..]).ok()?;
            let address = |from: usize, len: usize| &out[places.ip + from..places.ip + from + len];
            let sum = if four {
                let [a, b] = [12, 16].map(|from| address(from, 4).try_into().expect("four bytes"));
                header.calc_checksum_ipv4_raw(a, b, contents)
            } else {
                let [a, b] = [8, 24].map(|from| address(from, 16).try_into().expect("sixteen bytes"));
                header.calc_checksum_ipv6_raw(a, b, contents)
            };
            out[at + 6..at + 8].copy_from_slice(&sum.ok()?.to_be_bytes());
        }
    }
    Some(out)
}
