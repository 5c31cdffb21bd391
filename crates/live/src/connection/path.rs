//! The path of a connection's packets to its peer: the names on them, the addresses, the proof that the peer is there, the traffic.
//!
//! Follows HT §5.1.1 for ports and instances, and RFC 9000 §8.1: at most three times the bytes received from an address are sent there
//! before it is proven. Differs: with encryption, the number of the association takes the place of the peer's address in names.
//! Leaves out the contents of packets, which the machine decides.

use crate::seal::OVERHEAD;
use bytes::Bytes;
use skyhop_wire::stp::Packet;
use std::net::{IpAddr, SocketAddr};

/// Carrier of a connection's packets to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerChannel {
    /// An association.
    Sealed(u32),
    /// Unsealed: only the peer's address.
    Plain(SocketAddr),
}

/// Key of a connection in packets to this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub channel: PeerChannel,
    pub local_port: u16,
    pub remote_port: u16,
    pub instance: u16,
}

/// Traffic of a connection; bytes include the headers of IP and UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Packets sent.
    pub packets_sent: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

/// The path of a connection's packets.
#[derive(Debug)]
pub(crate) struct PeerPath {
    peer: SocketAddr,
    /// This host's address as known to the peer.
    reply_from: Option<IpAddr>,
    /// Carrier of the packets; `None` until the association is open.
    channel: Option<PeerChannel>,
    /// Size of the headers below STP in each packet, bytes.
    overhead: u32,
    /// True for a connection without an association whose peer's address is not proven yet.
    unproven: bool,
    traffic: PacketCounts,
}

impl PeerPath {
    /// A path without a channel, with `overhead` bytes of headers below STP in each packet.
    pub fn new(peer: SocketAddr, overhead: u32, unproven: bool) -> Self {
        let traffic = PacketCounts::default();
        PeerPath { peer, reply_from: None, channel: None, overhead, unproven, traffic }
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Destination and source of the next packet.
    pub fn addresses(&self) -> (SocketAddr, Option<IpAddr>) {
        (self.peer, self.reply_from)
    }

    /// Carrier of the packets; `None` until the association is open.
    pub fn channel(&self) -> Option<PeerChannel> {
        self.channel
    }

    /// Packets and bytes so far.
    pub fn traffic(&self) -> PacketCounts {
        self.traffic
    }

    /// Returns true while the peer has not shown that it is at its address.
    pub fn is_unproven(&self) -> bool {
        self.unproven
    }

    /// Packets take this channel from now on.
    pub fn lead_through(&mut self, channel: PeerChannel) {
        self.channel = Some(channel);
    }

    /// The peer has moved to another address.
    pub fn move_to(&mut self, peer: SocketAddr) {
        self.peer = peer;
    }

    /// Packets leave from this address of the host from now on, or from the one that the kernel chooses.
    pub fn reply_from(&mut self, local: Option<IpAddr>) {
        self.reply_from = local;
    }

    /// Counts a packet that leaves, with the seal if it has one.
    pub fn sent(&mut self, len: usize) {
        self.traffic.packets_sent += 1;
        self.traffic.bytes_sent += self.beneath() + len as u64;
    }

    /// Counts a packet that has arrived, with the seal if it has one.
    pub fn received(&mut self, len: usize) {
        self.traffic.packets_received += 1;
        self.traffic.bytes_received += self.beneath() + len as u64;
    }

    /// Largest packet of STP that may be sent to an unproven address.
    pub fn allowed(&self) -> u64 {
        (3 * self.traffic.bytes_received).saturating_sub(self.traffic.bytes_sent + self.beneath())
    }

    /// Marks the peer's address as proven once the peer has answered a packet sent to it. Returns true if it was unproven before.
    pub fn believe(&mut self, packet: &Packet<Bytes>) -> bool {
        let control = packet.control.as_ref();
        let answers = control.is_some_and(|c| c.stat.is_some() || c.ustat.is_some() || c.end_ack);
        let proven = self.unproven && answers;
        if proven {
            self.unproven = false;
        }
        proven
    }

    /// Size of the headers of IP and UDP, bytes.
    fn beneath(&self) -> u64 {
        let sealed = matches!(self.channel, Some(PeerChannel::Sealed(_)));
        u64::from(self.overhead) - if sealed { OVERHEAD as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::Control;

    fn path(unproven: bool) -> PeerPath {
        PeerPath::new(([192, 0, 2, 1], 13989).into(), 28 + OVERHEAD as u32, unproven)
    }

    fn packet(control: Control) -> Packet<Bytes> {
        Packet {
            source_port: 1,
            destination_port: 2,
            instance: 3,
            seq: 0,
            poll: None,
            data: None,
            control: Some(Box::new(control)),
        }
    }

    #[test]
    fn an_address_gets_three_times_what_came_from_it() {
        let mut path = path(true);
        path.lead_through(PeerChannel::Plain(path.peer()));
        let beneath = 28 + OVERHEAD as u64;
        assert_eq!(path.allowed(), 0);
        path.received(72);
        assert_eq!(path.allowed(), 3 * (beneath + 72) - beneath);
        path.sent(path.allowed() as usize);
        assert_eq!(path.traffic().bytes_sent, 3 * path.traffic().bytes_received);
        assert_eq!((path.allowed(), path.traffic().packets_sent), (0, 1));
    }

    #[test]
    fn a_seal_is_counted_once() {
        let mut path = path(false);
        path.lead_through(PeerChannel::Sealed(7));
        path.received(72 + OVERHEAD);
        path.sent(OVERHEAD);
        let traffic = path.traffic();
        assert_eq!(
            (traffic.bytes_received, traffic.bytes_sent),
            (100 + OVERHEAD as u64, 28 + OVERHEAD as u64)
        );
    }

    #[test]
    fn an_answer_proves_an_address_once() {
        let mut path = path(true);
        assert!(!path.believe(&packet(Control::default())) && path.is_unproven());
        let answer = packet(Control { end_ack: true, ..Control::default() });
        assert!(path.believe(&answer) && !path.is_unproven());
        assert!(!path.believe(&answer));
    }
}
