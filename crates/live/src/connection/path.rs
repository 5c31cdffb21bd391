//! Names and traffic of a connection on its way to the peer.
//!
//! Follows HT §5.1.1: ports and an instance distinguish the connections of two hosts.
//! Differs: with encryption, the number of the association takes the place of the peer's address.

use std::net::SocketAddr;

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
