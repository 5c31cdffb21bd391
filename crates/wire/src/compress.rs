//! Length of TCP/IP headers that are sent as differences from the packet before.
//!
//! Follows RFC 1144 §3.2 and its appendix: which fields must not change, how changes are coded, the two special cases.
//! Differs: lengths only, as packets here are structs; the checksum is assumed to find every header that was rebuilt wrongly.
//! Leaves out the later schemes (RFC 2507, ROHC), which also compress options and IPv6; IPv6 packets go uncompressed.

use crate::packet::{Ip, Packet, Transport, Version};
use crate::tcp::{Flags, TcpHeader};

/// Number of connections whose last header is remembered (RFC 1144's default).
const SLOTS: usize = 16;

/// State of the compressing end of a link.
#[derive(Debug, Clone, Default)]
pub struct Compressor {
    /// IP header, TCP header and payload length of each connection's last packet, most recently used first.
    contexts: Vec<(Ip, TcpHeader, u32)>,
}

/// The fields of a header that RFC 1144 sends as differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaFields {
    identification: u16,
    seq: u32,
    ack: u32,
    window: u16,
}

impl DeltaFields {
    /// The fields of a packet's header; `None` if it is of a kind that is not compressed.
    pub fn of(packet: &Packet) -> Option<Self> {
        of_v4(packet).map(|tcp| Self::from((&packet.ip, tcp)))
    }

    /// These fields with the differences of `other` added `times` times.
    pub fn plus(self, other: Self, times: u32) -> Self {
        let add = |a: u32, b: u32| a.wrapping_add(b.wrapping_mul(times));
        let short = |a: u16, b: u16| a.wrapping_add(b.wrapping_mul(times as u16));
        Self {
            identification: short(self.identification, other.identification),
            seq: add(self.seq, other.seq),
            ack: add(self.ack, other.ack),
            window: short(self.window, other.window),
        }
    }
}

impl From<(&Ip, &TcpHeader)> for DeltaFields {
    fn from((ip, tcp): (&Ip, &TcpHeader)) -> Self {
        Self { identification: ip.identification, seq: tcp.seq, ack: tcp.ack, window: tcp.window }
    }
}

fn same_connection(a: (&Ip, &TcpHeader), b: (&Ip, &TcpHeader)) -> bool {
    (a.0.source, a.0.destination, a.1.source_port, a.1.destination_port)
        == (b.0.source, b.0.destination, b.1.source_port, b.1.destination_port)
}

/// The TCP header of an IPv4 packet, the only kind that RFC 1144 compresses.
fn of_v4(packet: &Packet) -> Option<&TcpHeader> {
    match &packet.transport {
        Transport::Tcp(tcp) if packet.ip.version == Version::V4 => Some(tcp),
        _ => None,
    }
}

impl Compressor {
    /// Length of the packet with its header compressed against the last one of its connection, bytes; `None` if it must go uncompressed.
    pub fn compressed_len(&self, packet: &Packet) -> Option<u32> {
        let tcp = of_v4(packet)?;
        let place = self.contexts.iter().position(|c| same_connection((&c.0, &c.1), (&packet.ip, tcp)))?;
        let (ip, last, last_payload) = &self.contexts[place];
        let plain = tcp.flags.has(Flags::ACK) && tcp.flags.0 & !(Flags::ACK | Flags::PSH).0 == 0;
        let unchanged = ip.ttl == packet.ip.ttl && ip.ecn == packet.ip.ecn;
        let options = TcpHeader { seq: 0, ack: 0, window: 0, flags: tcp.flags, ..*last }
            == TcpHeader { seq: 0, ack: 0, window: 0, ..*tcp };
        if !plain || !unchanged || !options {
            return None;
        }
        let difference = |new: u32, old: u32| Some(new.wrapping_sub(old)).filter(|d| *d <= 0xffff);
        let (seq, ack) = (difference(tcp.seq, last.seq)?, difference(tcp.ack, last.ack)?);
        let window = tcp.window.wrapping_sub(last.window) as u32;
        if (seq, ack, window) == (0, 0, 0) && (packet.payload_len == 0 || *last_payload > 0) {
            // A retransmission or a duplicate acknowledgment goes uncompressed, which repairs the state after a loss.
            return None;
        }
        let coded = |d: u32| {
            if d == 0 {
                0
            } else if d < 256 {
                1
            } else {
                3
            }
        };
        let special = window == 0 && seq == *last_payload && seq > 0 && (ack == 0 || ack == seq);
        let changes = if special { 0 } else { coded(seq) + coded(ack) + coded(window) };
        let identification = packet.ip.identification.wrapping_sub(ip.identification) as u32;
        let identification = if identification == 1 { 0 } else { coded(identification).max(1) };
        // The change mask, the connection number if it differs from the last packet's, and the TCP checksum.
        Some(1 + (place > 0) as u32 + 2 + changes + identification + packet.payload_len)
    }

    /// Differences of a packet's header from the last one of its connection.
    pub fn difference(&self, packet: &Packet) -> Option<DeltaFields> {
        let tcp = of_v4(packet)?;
        let last = self.contexts.iter().find(|c| same_connection((&c.0, &c.1), (&packet.ip, tcp)))?;
        let last = DeltaFields::from((&last.0, &last.1));
        Some(DeltaFields::of(packet)?.plus(last, 1u32.wrapping_neg()))
    }

    /// Forgets the connection of a packet, whose next one goes uncompressed.
    pub fn forget(&mut self, packet: &Packet) {
        let Some(tcp) = of_v4(packet) else { return };
        self.contexts.retain(|c| !same_connection((&c.0, &c.1), (&packet.ip, tcp)));
    }

    /// Records that the packet has been sent, compressed or not.
    pub fn sent(&mut self, packet: &Packet) {
        let Some(tcp) = of_v4(packet) else { return };
        self.contexts.retain(|c| !same_connection((&c.0, &c.1), (&packet.ip, tcp)));
        self.contexts.truncate(SLOTS - 1);
        self.contexts.insert(0, (packet.ip, *tcp, packet.payload_len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::tcp::Timestamps;

    fn packet(port: u16, identification: u16, seq: u32, ack: u32, payload_len: u32) -> Packet {
        let [source, destination] = [1, 2].map(|n| [10, 0, 0, n].into());
        Packet {
            ip: Ip { identification, ..Ip::new(Version::V4, source, destination) },
            transport: Transport::Tcp(TcpHeader {
                source_port: port,
                destination_port: 9,
                seq,
                ack,
                flags: Flags::ACK,
                window: 1000,
                ..TcpHeader::default()
            }),
            payload_len,
        }
    }

    fn header(compressor: &mut Compressor, packet: Packet) -> Option<u32> {
        let len = compressor.compressed_len(&packet);
        compressor.sent(&packet);
        len.map(|len| len - packet.payload_len)
    }

    // RFC 1144 §3.2.2 and §3.2.3.
    #[test]
    fn headers_have_the_lengths_of_rfc_1144() {
        let c = &mut Compressor::default();
        assert_eq!(header(c, packet(1, 1, 1, 1, 512)), None, "the first is whole");
        assert_eq!(header(c, packet(1, 2, 513, 1, 512)), Some(3), "data one way: only the checksum");
        assert_eq!(header(c, packet(1, 3, 1025, 1, 1)), Some(3));
        assert_eq!(
            header(c, packet(1, 4, 1026, 2, 1)),
            Some(3),
            "echoed characters: seq and ack by what was sent"
        );
        assert_eq!(header(c, packet(1, 6, 1027, 3, 1)), Some(4), "and another packet in between");
        assert_eq!(header(c, packet(1, 7, 1028, 200, 0)), Some(5), "seq and ack, a byte each");
        assert_eq!(
            header(c, packet(1, 8, 1028, 3120, 0)),
            Some(6),
            "an acknowledgment of two large segments"
        );
        assert_eq!(header(c, packet(1, 9, 1028, 3120, 0)), None, "a duplicate");
        assert_eq!(header(c, packet(1, 10, 513, 3120, 512)), None, "a repeat");
        assert_eq!(header(c, packet(2, 1, 1, 1, 0)), None, "another connection");
        assert_eq!(header(c, packet(1, 11, 1025, 3120, 512)), Some(4), "its number, when it changes");
    }

    #[test]
    fn what_changes_beside_goes_whole() {
        let c = &mut Compressor::default();
        header(c, packet(1, 1, 1, 1, 100));
        let change = |by: fn(&mut Packet)| {
            let mut next = packet(1, 2, 101, 1, 100);
            by(&mut next);
            c.compressed_len(&next)
        };
        assert_eq!(change(|_| {}), Some(103));
        assert_eq!(change(|p| p.ip.ecn = Ecn::Marked), None);
        assert_eq!(change(|p| p.ip.ttl = 63), None);
        assert_eq!(
            change(|p| if let Transport::Tcp(t) = &mut p.transport {
                t.flags |= Flags::FIN
            }),
            None
        );
        assert_eq!(
            change(|p| if let Transport::Tcp(t) = &mut p.transport {
                t.flags |= Flags::PSH
            }),
            Some(103)
        );
        assert_eq!(
            change(|p| if let Transport::Tcp(t) = &mut p.transport {
                t.window = 990
            }),
            Some(106 + 1)
        );
        assert_eq!(
            change(|p| if let Transport::Tcp(t) = &mut p.transport {
                t.seq = 70_000
            }),
            None
        );
        let stamped = |p: &mut Packet| {
            if let Transport::Tcp(t) = &mut p.transport {
                t.timestamps = Some(Timestamps { value: 1, echo: 1 });
            }
        };
        assert_eq!(change(stamped), None, "options that differ");
    }

    #[test]
    fn a_lost_header_is_found_by_applying_the_next_differences_twice() {
        let c = &mut Compressor::default();
        let packets = [1u16, 2, 3, 4].map(|n| packet(1, n, 1 + 512 * u32::from(n), 7, 512));
        packets[..3].iter().for_each(|p| c.sent(p));
        let carried = c.difference(&packets[3]).unwrap();
        let [first, _, third, fourth] = packets.map(|p| DeltaFields::of(&p).unwrap());
        assert_eq!((third.plus(carried, 1), first.plus(carried, 3)), (fourth, fourth));
        assert_ne!(first.plus(carried, 2), fourth);
        assert_eq!(c.compressed_len(&packets[3]), Some(515));
        c.forget(&packets[0]);
        assert_eq!((c.compressed_len(&packets[3]), c.difference(&packets[3])), (None, None));
    }

    #[test]
    fn sixteen_connections_are_remembered() {
        for (connections, compressed) in [(16, true), (17, false)] {
            let c = &mut Compressor::default();
            (0..connections).for_each(|port| c.sent(&packet(port, 1, 1, 1, 10)));
            assert_eq!(c.compressed_len(&packet(0, 2, 11, 1, 10)).is_some(), compressed);
        }
    }

    #[test]
    fn packets_of_ipv6_go_whole_and_displace_nothing() {
        let c = &mut Compressor::default();
        let of_v6 = |port| {
            let mut packet = packet(port, 2, 1, 1, 10);
            packet.ip.version = Version::V6;
            packet
        };
        c.sent(&packet(1, 1, 1, 1, 10));
        for port in 0..20 {
            assert_eq!((c.compressed_len(&of_v6(port)), c.sent(&of_v6(port))), (None, ()));
        }
        assert_eq!(c.compressed_len(&packet(1, 2, 11, 1, 10)), Some(13));
    }
}
