//! Options of an endpoint.
//!
//! Follows HT §5.1 for the protocol's options (`stp`); the others belong to hosts: keys, sizes, timeouts.
//! Differs: packet sizes are those of the network layer, from which STP's are computed.
//! Leaves out addresses.

use crate::associations;
use crate::fullness::FullReason;
use crate::handshake::RefusalReason;
use crate::keys::PublicKey;
use crate::memory::{MEMORY_LEAST, least_kept};
use crate::seal::OVERHEAD;
use crate::socket::Carrier;
use skyhop_transport::stp;
use skyhop_units::Span;
use skyhop_wire::stp::Features;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Peers that are allowed.
#[derive(Debug, Clone)]
pub enum Security {
    /// Hosts that have the key; all packets are sealed.
    Sealed(Box<associations::Config>),
    /// All hosts, without encryption: for measurement.
    Insecure,
}

/// A notice about peers or the endpoint, for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// An association with a peer was opened.
    Opened(SocketAddr, Option<PublicKey>),
    /// A peer has not answered yet, and is asked for the given time.
    Unanswered(SocketAddr, Span),
    /// A peer's address has changed.
    Moved(SocketAddr),
    /// A peer was refused.
    Refused(SocketAddr, RefusalReason),
    /// A peer's connection was refused because there was no place for it; one notice in ten seconds.
    Full(SocketAddr, FullReason),
    /// The kernel allows a smaller buffer than requested: bytes allowed, bytes requested.
    SmallBuffer(usize, usize),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Opened(peer, _) => write!(f, "{peer}: association open"),
            Notice::Unanswered(peer, opening) => {
                write!(f, "{peer}: no answer yet; it is asked for {opening}")
            }
            Notice::Moved(peer) => write!(f, "{peer}: new address of a peer"),
            Notice::Refused(peer, reason) => write!(f, "{peer}: refused: {reason}"),
            Notice::Full(peer, why) => write!(f, "{peer}: connection refused: {why}"),
            Notice::SmallBuffer(given, asked) => write!(
                f,
                "the kernel holds {given} bytes of incoming packets, {asked} were asked for; raise net.core.rmem_max if packets \
                 get lost"
            ),
        }
    }
}

/// Receiver of notices; called by the endpoint's thread, so it should be quick.
pub type NoticeHandler = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Configuration of an endpoint.
#[derive(Clone)]
pub struct Options {
    /// Peers that are allowed.
    pub security: Security,
    /// Carrier of packets.
    pub carrier: Carrier,
    /// Parameters of STP. `packet_size` and `overhead` are computed from `mtu`.
    pub stp: stp::Config,
    /// Largest packet of the network layer, bytes.
    pub mtu: u32,
    /// Packet size at which the search for the path's MTU begins; without it `mtu` is assumed for the path.
    pub mtu_base: Option<u32>,
    /// Largest number of bytes written to a connection and not acknowledged; further writes wait. The buffer grows up to this with use.
    pub send_buffer: usize,
    /// Most bytes that all connections hold together, written or received, with the cost of each packet. Where it is used up, packets
    /// count as lost, and further connections are refused.
    pub memory: u64,
    /// The kernel's buffers, bytes.
    pub socket_buffer: usize,
    /// Largest number of connections that wait to be accepted.
    pub backlog: usize,
    /// Largest number of connections.
    pub connections_max: usize,
    /// File of secrets, a line each, with which a capture can be decrypted.
    pub key_log: Option<PathBuf>,
    /// Receiver of notices.
    pub notices: Option<NoticeHandler>,
}

/// Smallest MTU: the IPv4 packet that every host accepts (RFC 791).
pub const MTU_MIN: u32 = 576;
/// Largest IP packet.
pub const MTU_MAX: u32 = 65_535;

impl Options {
    /// The default options with this security.
    pub fn new(security: Security) -> Self {
        Options {
            security,
            carrier: Carrier::Udp,
            // A sleeping thread wakes late; the machine compensates for lateness up to this.
            stp: stp::Config { granularity: Span::from_millis(1), ..stp::Config::default() },
            mtu: 1500,
            // Every IPv6 path carries that much, and nearly every IPv4 path.
            mtu_base: Some(1280),
            send_buffer: 64 << 20,
            memory: 512 << 20,
            socket_buffer: 4 << 20,
            backlog: 128,
            connections_max: 16_384,
            key_log: None,
            notices: None,
        }
    }

    /// Size of the headers below STP: network layer, UDP, seal, bytes.
    pub(crate) fn overhead(&self, peer: SocketAddr) -> u32 {
        let network = if peer.is_ipv4() { 20 } else { 40 };
        let carrier = if self.carrier == Carrier::Udp { 8 } else { 0 };
        let seal = if matches!(self.security, Security::Sealed(_)) { OVERHEAD as u32 } else { 0 };
        network + carrier + seal
    }

    /// STP's parameters for a peer.
    pub(crate) fn stp_for(&self, peer: SocketAddr) -> stp::Config {
        let overhead = self.overhead(peer);
        let base_size = self.mtu_base.map_or(u32::MAX, |base| base.min(self.mtu) - overhead);
        // A raw socket does not tell the field of each packet.
        let counts = self.carrier == Carrier::Udp && self.stp.features.has(Features::REPORT);
        let features = if counts { self.stp.features.with(Features::ECN) } else { self.stp.features };
        stp::Config { packet_size: self.mtu - overhead, base_size, overhead, features, ..self.stp.clone() }
    }

    /// Memory that each connection keeps in each direction, bytes.
    pub(crate) fn least_kept(&self) -> u64 {
        least_kept(self.memory, self.connections_max, self.mtu)
    }

    /// Smallest MTU that a path must have, bytes of the network layer.
    pub(crate) fn least_mtu(&self) -> u32 {
        self.mtu_base.unwrap_or(self.mtu).min(self.mtu)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        for mtu in self.mtu_base.into_iter().chain([self.mtu]) {
            if !(MTU_MIN..=MTU_MAX).contains(&mtu) {
                let message = format!("an MTU of {mtu} bytes; {MTU_MIN} to {MTU_MAX} are possible");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        // Of an association's share, seven eighths are for growth.
        let least = MEMORY_LEAST.max(4 * self.least_kept());
        if self.memory < least {
            let message =
                format!("a budget of {} bytes is too small for one stream, which needs {least}", self.memory);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }
}
