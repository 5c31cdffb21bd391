//! State that a host keeps about another between connections.
//!
//! Follows RFC 1644 §3 (the cache of connection counts) and RFC 7413 §4.1 (cookies, with the peer's MSS), RFC 9040 (the path).
//! Differs: the owner of connections keeps plain values; a cookie is a number computed from the client's address without a secret.
//! Leaves out expiry, and the count of refusals after which RFC 7413 would stop trying.

use super::config::{Config, Open};
use skyhop_units::Span;
use std::net::Ipv4Addr;

/// State about another host, before a connection is opened and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Number of this host's last connection (RFC 1644's CC_GEN).
    pub count: u32,
    /// True if the peer knows `count`, so that a higher one opens a connection at once (CCsent).
    pub count_known: bool,
    /// Number of the peer's last connection (cache.CC).
    pub peer_count: Option<u32>,
    /// Fast Open cookie of the server.
    pub cookie: Option<u64>,
    /// Segment size announced by the peer, bytes.
    pub mss: Option<u32>,
    /// Largest packet size that the path was found to carry, bytes.
    pub path_mtu: Option<u32>,
    /// State of the path from the last connection, if connections share it (`share`).
    pub path: Option<PathMemory>,
}

/// State that connections over the same path can share (RFC 9040, tables 1 and 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMemory {
    /// Smoothed RTT.
    pub srtt: Span,
    /// Slow-start threshold, bytes, if there was a loss.
    pub ssthresh: Option<u64>,
    /// Initial congestion window of a new connection, bytes.
    pub cwnd: u64,
}

impl Memory {
    /// State that an earlier connection between the two hosts with the same parameters would have left.
    pub(super) fn first(config: &Config, client: Ipv4Addr) -> Self {
        let nothing = Self::default();
        match config.open {
            Open::Transactions { known: true } => {
                Self { count_known: true, peer_count: Some(0), mss: Some(config.mss), ..nothing }
            }
            Open::FastOpen { known: true } => {
                Self { cookie: Some(cookie(client)), mss: Some(config.mss), ..nothing }
            }
            _ => nothing,
        }
    }

    /// Merges the state that another connection between the two hosts has left.
    pub fn merge(&mut self, other: Memory) {
        let later = |a: u32, b: u32| if a.wrapping_sub(b) as i32 > 0 { a } else { b };
        self.count = later(self.count, other.count);
        self.count_known |= other.count_known;
        self.peer_count = match (self.peer_count, other.peer_count) {
            (Some(a), Some(b)) => Some(later(a, b)),
            (a, b) => a.or(b),
        };
        self.cookie = other.cookie.or(self.cookie);
        self.mss = other.mss.or(self.mss);
        self.path_mtu = other.path_mtu.or(self.path_mtu);
        self.path = other.path.or(self.path);
    }

    /// Returns true if `count` is above the last one, so that the segment is not an old one (RFC 1644 §2.2).
    pub(super) fn accepts(&self, count: u32) -> bool {
        self.peer_count.is_some_and(|last| count.wrapping_sub(last) as i32 > 0)
    }
}

/// The cookie that a server grants to a client: the same for all connections of the client (RFC 7413 §4.1.2).
pub(super) fn cookie(client: Ipv4Addr) -> u64 {
    let mixed = (u64::from(u32::from(client)) ^ 0x5eed_c00c_1e00_0001).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}
