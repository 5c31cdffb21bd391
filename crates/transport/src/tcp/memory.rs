//! A host's memory of another from one connection to the next.
//!
//! Follows RFC 1644 §3 (the cache of connection counts) and RFC 7413 §4.1 (cookies, with the peer's MSS), RFC 9040 (the path).
//! Differs: plain values that whoever opens connections keeps; a cookie is a number made from the client's address, no secret.
//! Leaves out expiry, and the count of refusals after which RFC 7413 would stop trying.

use super::config::{Config, Open};
use super::connection::Connection;
use skyhop_units::Span;
use std::net::Ipv4Addr;

/// A host's knowledge of another before it opens a connection, and afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// The number of this host's last connection that was opened (RFC 1644's CC_GEN).
    pub count: u32,
    /// The peer knows `count`, so that a higher one opens a connection at once (CCsent).
    pub count_known: bool,
    /// The number of the peer's last connection (cache.CC).
    pub peer_count: Option<u32>,
    /// Fast Open cookie of the server.
    pub cookie: Option<u64>,
    /// The segment size that the peer announced, bytes.
    pub mss: Option<u32>,
    /// The largest packet that the path was found to carry, bytes.
    pub path_mtu: Option<u32>,
    /// State of the path from the last connection, for those with `share`.
    pub path: Option<PathMemory>,
}

/// State that connections over the same path can share (RFC 9040, tables 1 and 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMemory {
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Slow-start threshold, bytes, once there was a loss.
    pub ssthresh: Option<u64>,
    /// Congestion window that a new connection may begin with, bytes.
    pub cwnd: u64,
}

/// Divides the windows of connections that are open between two hosts among them and one more (RFC 9040 §8: an ensemble).
/// Together they send no more than before. Returns what a new one begins with; `None` if there is none open.
pub fn divide(open: &mut [&mut Connection]) -> Option<u64> {
    let count = open.len() as u64;
    let total: u64 = open.iter().map(|connection| connection.cwnd()).sum();
    for connection in open.iter_mut() {
        connection.scale_window(count, count + 1);
    }
    (count > 0).then(|| total / (count + 1))
}

impl Memory {
    /// Memory that an earlier connection between the two with the same parameters would have left.
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

    /// Takes in what another connection between the two hosts has left.
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

    /// True if `count` is above the last one, and so not of an old segment (RFC 1644 §2.2).
    pub(super) fn accepts(&self, count: u32) -> bool {
        self.peer_count.is_some_and(|last| count.wrapping_sub(last) as i32 > 0)
    }
}

/// The cookie that a server grants to a client: the same for each of the client's connections (RFC 7413 §4.1.2).
pub(super) fn cookie(client: Ipv4Addr) -> u64 {
    let mixed = (u64::from(u32::from(client)) ^ 0x5eed_c00c_1e00_0001).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}
