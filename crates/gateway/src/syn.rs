//! A client's SYN that waits for the server's answer, and the packet that says what becomes of it.
//!
//! Follows RFC 791, RFC 8200 and RFC 9293. Differs from the packet as it came: it ends behind TCP's header, its checksums are complete,
//! and its hop limit is the verdict, by which the firewall knows accepted SYNs from refused ones.
//! Leaves out IPv6 extension headers and fragments.

use crate::dscp::Dscp;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The treatment of a SYN that the daemon gives back to the firewall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynVerdict {
    /// The kernel's listener answers it.
    Accept,
    /// The client gets a RST.
    Reset,
    /// The client gets an ICMP message: the server cannot be reached.
    Unreachable,
    /// The client gets an ICMP message: the connection is forbidden.
    Prohibited,
}

impl SynVerdict {
    /// All verdicts.
    pub const ALL: [SynVerdict; 4] =
        [SynVerdict::Accept, SynVerdict::Reset, SynVerdict::Unreachable, SynVerdict::Prohibited];

    /// The hop limit of the packet.
    pub fn hop_limit(self) -> u8 {
        match self {
            SynVerdict::Accept => 64,
            SynVerdict::Reset => 1,
            SynVerdict::Unreachable => 2,
            SynVerdict::Prohibited => 3,
        }
    }
}

/// Length of IPv6's header, and of the shortest of IPv4 and TCP.
const V6_LEN: usize = 40;
const LEAST: usize = 20;
const TCP: u8 = 6;

/// A SYN, up to the end of TCP's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syn {
    pub client: SocketAddr,
    pub server: SocketAddr,
    pub dscp: Dscp,
    packet: Vec<u8>,
    /// Place of TCP's header.
    tcp: usize,
}

impl Syn {
    /// Reads a packet, of which data behind TCP's header may be missing. `None` if it is not a SYN.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let (tcp, dscp, client, server) = match packet.first()? >> 4 {
            4 => {
                let header = packet.get(..LEAST)?;
                let tcp = usize::from(header[0] & 15) * 4;
                let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
                if header[9] != TCP || tcp < LEAST || fragment != 0 {
                    return None;
                }
                let address = |at: usize| {
                    IpAddr::V4(Ipv4Addr::from(*header[at..].first_chunk::<4>().expect("within 20 bytes")))
                };
                (tcp, header[1], address(12), address(16))
            }
            6 => {
                let header = packet.get(..V6_LEN)?;
                if header[6] != TCP {
                    return None;
                }
                let address = |at: usize| {
                    IpAddr::V6(Ipv6Addr::from(*header[at..].first_chunk::<16>().expect("within 40 bytes")))
                };
                (V6_LEN, header[0] << 4 | header[1] >> 4, address(8), address(24))
            }
            _ => return None,
        };
        let header = packet.get(tcp..)?;
        let len = usize::from(header.get(12)? >> 4) * 4;
        let syn = header[13] & 0x17 == 2;
        if !syn || len < LEAST {
            return None;
        }
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        Some(Syn {
            client: SocketAddr::new(client, port(0)),
            server: SocketAddr::new(server, port(2)),
            dscp: Dscp::of_byte(dscp),
            packet: packet.get(..tcp + len)?.to_vec(),
            tcp,
        })
    }

    /// The packet with this verdict.
    pub fn with(&self, verdict: SynVerdict) -> Vec<u8> {
        let mut packet = self.packet.clone();
        let (len, tcp_len) = (packet.len() as u16, (packet.len() - self.tcp) as u16);
        let addresses = match self.client {
            SocketAddr::V4(_) => {
                packet[2..4].copy_from_slice(&len.to_be_bytes());
                packet[8] = verdict.hop_limit();
                packet[10..12].fill(0);
                let sum = checksum(&[&packet[..self.tcp]]);
                packet[10..12].copy_from_slice(&sum);
                12..LEAST
            }
            SocketAddr::V6(_) => {
                packet[4..6].copy_from_slice(&tcp_len.to_be_bytes());
                packet[7] = verdict.hop_limit();
                8..V6_LEN
            }
        };
        // A device with checksum offload has left this one to be completed.
        let at = self.tcp + 16;
        packet[at..at + 2].fill(0);
        let pseudo = [tcp_len.to_be_bytes(), [0, TCP]].concat();
        let sum = checksum(&[&packet[addresses], &pseudo, &packet[self.tcp..]]);
        packet[at..at + 2].copy_from_slice(&sum);
        packet
    }
}

/// The Internet checksum (RFC 1071) of parts of even length.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.as_chunks::<2>().0);
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A SYN from 10.1.0.2 port 44960 to 10.9.9.9 port 80 with TCP's option of the MSS, CS1, and three bytes of data.
    fn v4() -> Vec<u8> {
        let mut packet = vec![0x45, 0x20, 0, 47, 1, 2, 0x40, 0, 63, 6, 0, 0, 10, 1, 0, 2, 10, 9, 9, 9];
        packet.extend([
            0xaf, 0xa0, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x60, 0xc2, 0xff, 0xff, 1, 2, 0, 0, 2, 4, 5, 180,
        ]);
        packet.extend(b"abc");
        packet
    }

    fn v6() -> Vec<u8> {
        let mut packet = vec![0x62, 0, 0, 0, 0, 27, 6, 63];
        packet.extend(Ipv6Addr::new(0xfd01, 0, 0, 0, 0, 0, 0, 2).octets());
        packet.extend(Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 9).octets());
        packet.extend(&v4()[20..]);
        packet
    }

    #[test]
    fn addresses_and_code_point_are_read() {
        for (packet, client, server) in
            [(v4(), "10.1.0.2:44960", "10.9.9.9:80"), (v6(), "[fd01::2]:44960", "[fd09::9]:80")]
        {
            let syn = Syn::parse(&packet).expect("a SYN");
            assert_eq!((syn.client.to_string(), syn.server.to_string()), (client.into(), server.into()));
            assert_eq!(syn.dscp.number(), 8);
        }
    }

    #[test]
    fn the_packet_has_complete_checksums_and_its_verdict() {
        for (packet, tcp, hops) in [(v4(), 20, 8), (v6(), 40, 7)] {
            let syn = Syn::parse(&packet).expect("a SYN");
            for verdict in SynVerdict::ALL {
                let out = syn.with(verdict);
                assert_eq!((out.len(), out[hops]), (tcp + 24, verdict.hop_limit()), "without data");
                let addresses = if tcp == 20 { &out[12..20] } else { &out[8..40] };
                assert_eq!(checksum(&[addresses, &[0, 24, 0, 6], &out[tcp..]]), [0, 0]);
                if tcp == 20 {
                    assert_eq!((checksum(&[&out[..20]]), &out[2..4]), ([0, 0], &[0, 44][..]));
                } else {
                    assert_eq!(out[4..6], [0, 24]);
                }
                assert_eq!(
                    Syn::parse(&out).map(|again| (again.client, again.server)),
                    Some((syn.client, syn.server))
                );
            }
        }
    }

    #[test]
    fn other_packets_are_not_taken() {
        let changed = |at: usize, to: u8| {
            let mut packet = v4();
            packet[at] = to;
            Syn::parse(&packet)
        };
        assert_eq!(changed(33, 0x12), None, "SYN and ACK");
        assert_eq!(changed(33, 0x04), None, "RST");
        assert_eq!(changed(9, 17), None, "UDP");
        assert_eq!(changed(7, 1), None, "a fragment");
        assert_eq!(changed(6, 0x60), None, "the first of several fragments");
        assert_eq!(changed(0, 0x44), None, "a header that is too short");
        assert_eq!(changed(32, 0xf0), None, "options beyond the captured bytes");
        assert!(changed(33, 0xc2).is_some(), "with ECN");
    }

    proptest! {
        #[test]
        fn no_packet_makes_it_fail(mut packet in proptest::collection::vec(any::<u8>(), 0..140), v6: bool) {
            if let Some(first) = packet.first_mut() {
                *first = *first & 15 | if v6 { 0x60 } else { 0x40 };
            }
            if let Some(syn) = Syn::parse(&packet) {
                prop_assert!(syn.with(SynVerdict::Accept).len() <= packet.len());
            }
        }
    }
}
