//! Options of an endpoint.
//!
//! Follows HT §5.1 for what belongs to the protocol (`stp`); the rest is of hosts: keys, sizes, patience.
//! Differs: the size of packets is given as the network's, and STP's share of it is worked out here.
//! Leaves out addresses.

use crate::associations;
use crate::handshake::RefusalReason;
use crate::keys::PublicKey;
use crate::seal::OVERHEAD;
use crate::socket::Carrier;
use skyhop_transport::stp;
use skyhop_units::Span;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Peers that are allowed.
#[derive(Debug, Clone)]
pub enum Security {
    /// Hosts that have the key, and everything is sealed.
    Sealed(Box<associations::Config>),
    /// Everybody, and everybody may read along: for measurement.
    Insecure,
}

/// A notice about strangers or the endpoint itself, for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// An association with a peer is open.
    Opened(SocketAddr, Option<PublicKey>),
    /// A peer has another address now.
    Moved(SocketAddr),
    /// A peer was refused.
    Refused(SocketAddr, RefusalReason),
    /// The kernel gives less room for packets than was asked for: bytes given, bytes asked for.
    SmallBuffer(usize, usize),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Opened(peer, _) => write!(f, "{peer}: association open"),
            Notice::Moved(peer) => write!(f, "{peer}: a peer has moved here"),
            Notice::Refused(peer, reason) => write!(f, "{peer}: refused: {reason}"),
            Notice::SmallBuffer(given, asked) => write!(
                f,
                "the kernel holds {given} bytes of incoming packets, {asked} were asked for; raise net.core.rmem_max if packets \
                 get lost"
            ),
        }
    }
}

/// Takes notices; called by the endpoint's thread, so it should be quick.
pub type NoticeHandler = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Configuration of an endpoint.
#[derive(Clone)]
pub struct Options {
    /// Peers that are allowed.
    pub security: Security,
    /// Carrier of packets.
    pub carrier: Carrier,
    /// The protocol. `packet_size` and `overhead` are worked out from `mtu`.
    pub stp: stp::Config,
    /// The largest packet of the network layer, bytes.
    pub mtu: u32,
    /// Packet size at which the search for the path's MTU begins; without it `mtu` is taken to be the path's.
    pub mtu_base: Option<u32>,
    /// Bytes that may be written and not yet be acknowledged; more waits.
    pub send_buffer: usize,
    /// The kernel's buffers, bytes.
    pub socket_buffer: usize,
    /// Connections that wait to be accepted.
    pub backlog: usize,
    /// Connections at most.
    pub connections_max: usize,
    /// An association that was silent for so long is opened anew before it is used again.
    pub association_idle: Duration,
    /// File of secrets, a line each, with which a capture can be decrypted.
    pub key_log: Option<PathBuf>,
    /// Receiver of notices.
    pub notices: Option<NoticeHandler>,
}

/// The least MTU: that of IPv4 which every host takes (RFC 791), less nothing.
pub const MTU_MIN: u32 = 576;
/// The largest packet of IP.
pub const MTU_MAX: u32 = 65_535;

impl Options {
    /// The defaults with this security.
    pub fn new(security: Security) -> Self {
        Options {
            security,
            carrier: Carrier::Udp,
            // A sleeping thread wakes late; within this the machine makes up for it.
            stp: stp::Config { granularity: Span::from_millis(1), ..stp::Config::default() },
            mtu: 1500,
            // Every path of IPv6 carries that much, and hardly one of IPv4 less.
            mtu_base: Some(1280),
            send_buffer: 64 << 20,
            socket_buffer: 4 << 20,
            backlog: 128,
            connections_max: 16_384,
            association_idle: Duration::from_secs(60),
            key_log: None,
            notices: None,
        }
    }

    /// Bytes beneath STP's packet: network layer, UDP, seal.
    pub(crate) fn overhead(&self, peer: SocketAddr) -> u32 {
        let network = if peer.is_ipv4() { 20 } else { 40 };
        let carrier = if self.carrier == Carrier::Udp { 8 } else { 0 };
        let seal = if matches!(self.security, Security::Sealed(_)) { OVERHEAD as u32 } else { 0 };
        network + carrier + seal
    }

    /// The protocol's configuration for a peer.
    pub(crate) fn stp_for(&self, peer: SocketAddr) -> stp::Config {
        let overhead = self.overhead(peer);
        let base_size = self.mtu_base.map_or(u32::MAX, |base| base.min(self.mtu) - overhead);
        stp::Config { packet_size: self.mtu - overhead, base_size, overhead, ..self.stp.clone() }
    }

    /// The least that a path has to carry, bytes of the network layer.
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
        Ok(())
    }
}
