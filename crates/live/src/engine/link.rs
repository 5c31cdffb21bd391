//! One association of a host, with its streams.
//!
//! Follows docs/stp.md §15. Leaves out sealing, which `associations` does.

use crate::keys::PublicKey;
use crate::memory::Holding;
use bytes::Bytes;
use skyhop_transport::stp::Trunk;
use skyhop_units::Time;
use std::net::{IpAddr, SocketAddr};

/// Datagrams of an association, and their bytes including the seal, without the headers of IP and UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramCounts {
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Bytes of those datagrams.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub packets_received: u64,
    /// Bytes of those datagrams.
    pub bytes_received: u64,
}

impl DatagramCounts {
    pub(super) fn sent(&mut self, bytes: u64) {
        self.packets_sent += 1;
        self.bytes_sent += bytes;
    }

    pub(super) fn received(&mut self, bytes: u64) {
        self.packets_received += 1;
        self.bytes_received += bytes;
    }
}

/// An association.
#[derive(Debug)]
pub struct Link {
    /// Its streams.
    pub trunk: Trunk<Bytes>,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The peer's public key, if the hosts have pairs of keys.
    pub key: Option<PublicKey>,
    /// True if this host opened it.
    pub initiator: bool,
    /// Time at which it was opened.
    pub since: Time,
    /// Counters of both directions.
    pub traffic: DatagramCounts,
    /// This host's address as known to the peer.
    pub(super) reply_from: Option<IpAddr>,
    /// Memory of received data.
    pub(super) receiving: Holding,
}

impl Link {
    pub(super) fn new(
        since: Time,
        trunk: Trunk<Bytes>,
        peer: SocketAddr,
        key: Option<PublicKey>,
        initiator: bool,
        receiving: Holding,
    ) -> Self {
        let traffic = DatagramCounts::default();
        Link { trunk, peer, key, initiator, since, traffic, reply_from: None, receiving }
    }

    /// Counts anew what is held.
    pub(super) fn recount(&mut self) {
        self.receiving.set(self.trunk.held_with_cost());
    }
}
