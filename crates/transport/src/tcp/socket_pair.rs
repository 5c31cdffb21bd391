//! The pair of sockets that identifies a connection, in each packet that it sends and in routers' messages about them.
//!
//! Follows RFC 9293 §3.4, RFC 791 §3.2 (identification) and RFC 5927 §4.1 (messages that quote a segment).
//! Differs: the identification counts the connection's packets, and not all of the host's.
//! Leaves out TCP's header, but for its ports.

use skyhop_wire::{Ip, Packet, TcpHeader, TooLarge, Transport, Version};
use std::net::SocketAddrV4;

/// The sockets of both ends, and the IP header of this end's packets.
#[derive(Debug)]
pub(super) struct SocketPair {
    pub local: SocketAddrV4,
    pub remote: SocketAddrV4,
    version: Version,
    identification: u16,
}

impl SocketPair {
    pub fn new(version: Version, local: SocketAddrV4, remote: SocketAddrV4) -> Self {
        Self { local, remote, version, identification: 0 }
    }

    /// A TCP header with the ports.
    #[inline]
    pub fn header(&self) -> TcpHeader {
        TcpHeader {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            ..TcpHeader::default()
        }
    }

    /// The next packet, with this header and payload.
    #[inline]
    pub fn packet(&mut self, header: TcpHeader, payload_len: u32) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        let ip = Ip {
            identification: self.identification,
            ..Ip::new(self.version, *self.local.ip(), *self.remote.ip())
        };
        Packet { ip, transport: Transport::Tcp(header), payload_len }
    }

    /// Returns true if a packet is one of the peer's, or a message about one of this end's.
    pub fn concerns(&self, packet: &Packet) -> bool {
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let from = SocketAddrV4::new(packet.ip.source, tcp.source_port);
                let to = SocketAddrV4::new(packet.ip.destination, tcp.destination_port);
                (from, to) == (self.remote, self.local)
            }
            Transport::TooLarge(message) => self.quoted_by(message).is_some(),
            Transport::Icmp(_) | Transport::Udp(_) | Transport::Other(_) => false,
        }
    }

    /// The sequence number of the segment that a router's message quotes, if this end may have sent it.
    pub fn quoted_by(&self, message: &TooLarge) -> Option<u32> {
        let (source, destination, seq) = message.segment()?;
        let ends = [(message.ip.source, source), (message.ip.destination, destination)];
        let ours = [self.local, self.remote].map(|end| (*end.ip(), end.port()));
        (ends == ours).then_some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn packets_of_the_peer_and_messages_about_own_ones_belong_to_a_connection() {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 80 + u16::from(n)));
        let mut client = SocketPair::new(Version::V4, a, b);
        let header = TcpHeader { seq: 77, ..client.header() };
        let [first, second] = [0, 1000].map(|len| client.packet(header, len));
        assert_eq!((first.ip.identification, second.ip.identification), (1, 2));
        let message = TooLarge::quoting(&second, 576);
        let told = Packet { transport: Transport::TooLarge(message), ..second };
        // The client, its peer, and another connection of the client's host.
        let others =
            [(b, a), (SocketAddrV4::new(*a.ip(), 9), b)].map(|(a, b)| SocketPair::new(Version::V4, a, b));
        let [peer, other] = &others;
        assert_eq!([&client, peer, other].map(|one| one.concerns(&second)), [false, true, false]);
        assert_eq!([&client, peer, other].map(|one| one.concerns(&told)), [true, false, false]);
        assert_eq!([&client, peer, other].map(|one| one.quoted_by(&message)), [Some(77), None, None]);
    }
}
