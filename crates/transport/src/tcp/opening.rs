//! The opening of a connection beyond the three-way handshake: T/TCP and TCP Fast Open, and how they shorten TIME-WAIT.
//!
//! Follows RFC 1644 (T/TCP: data and FIN on SYNs, connection counts, the test of TAO); RFC 7413 (Fast Open).
//! Differs: data on a SYN that are not accepted are sent again and not kept; a repeated SYN carries none. Without T/TCP TIME-WAIT is
//! twice `rto_min`, since connections are numbered here and ports are not reused.
//! Leaves out T/TCP's half-synchronised states by name; the handshake itself (RFC 9293 §3.5) is in `connection`.

use super::config::Open;
use super::memory::{Memory, cookie};
use super::state::State;
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Opening, TcpHeader};
use std::net::Ipv4Addr;

/// Maximum segment lifetime (RFC 9293 §3.4.2).
const MSL: Span = Span::from_secs(120);

/// State of the handshake, and for T/TCP the numbers in each segment.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    pub memory: Memory,
    /// This connection's number, and the peer's once each segment carries it.
    count: u32,
    peer_count: Option<u32>,
    /// Time at which the first SYN was sent or received.
    pub opened_at: Option<Time>,
    /// The peer's number, until the handshake confirms it.
    unconfirmed: Option<u32>,
    /// A cookie to be granted with the acknowledgment of the SYN.
    grant: Option<u64>,
}

impl Beginning {
    pub fn new(memory: Memory) -> Self {
        let count = memory.count.wrapping_add(1);
        Self { memory: Memory { count, ..memory }, count, ..Self::default() }
    }

    /// The option in each segment after the SYN.
    pub fn in_each_segment(&self) -> Option<Opening> {
        self.peer_count.map(|_| Opening::Count(self.count))
    }

    /// Returns true if `count` belongs to a later connection of the peer.
    pub fn follows(&self, count: u32) -> bool {
        self.peer_count.is_some_and(|last| count.wrapping_sub(last) as i32 > 0)
    }

    /// RFC 1644 §3.4: returns true if a segment belongs to this connection and not to an earlier one between the same ports.
    pub fn belongs(&self, tcp: &TcpHeader) -> bool {
        let exempt = tcp.flags.has(Flags::SYN) || tcp.flags.has(Flags::RST);
        exempt || self.peer_count.is_none_or(|count| tcp.opening == Some(Opening::Count(count)))
    }

    /// Handles the option of a `client`'s SYN. Returns true if it allows opening without a handshake.
    pub fn listen(&mut self, open: Open, opening: Option<Opening>, client: Ipv4Addr) -> bool {
        match (open, opening) {
            (Open::Transactions { .. }, Some(Opening::Count(count))) => {
                let accepted = self.memory.accepts(count);
                self.peer_count = Some(count);
                self.unconfirmed = Some(count);
                accepted
            }
            (Open::Transactions { .. }, Some(Opening::NewCount(count))) => {
                self.memory.peer_count = None;
                self.peer_count = Some(count);
                self.unconfirmed = Some(count);
                false
            }
            (Open::FastOpen { .. }, Some(Opening::Cookie(shown))) => {
                let valid = shown == cookie(client);
                self.grant = (!valid).then(|| cookie(client));
                valid
            }
            (Open::FastOpen { .. }, Some(Opening::CookieRequest)) => {
                self.grant = Some(cookie(client));
                false
            }
            _ => false,
        }
    }

    /// Handles the option of the answer to this end's SYN. Returns false if it answers the SYN of another connection.
    pub fn answered(&mut self, open: Open, opening: Option<Opening>) -> bool {
        match (open, opening) {
            (Open::Transactions { .. }, Some(Opening::EchoedCount { count, echo })) => {
                if echo != self.count {
                    return false;
                }
                self.peer_count = Some(count);
                self.memory.count_known = true;
                self.memory.peer_count = Some(count);
            }
            (Open::FastOpen { .. }, Some(Opening::Cookie(granted))) => self.memory.cookie = Some(granted),
            _ => {}
        }
        true
    }

    /// Records that the handshake, or an acceptable number, has confirmed the peer's number.
    pub fn confirm(&mut self) {
        if let Some(count) = self.unconfirmed.take() {
            self.memory.peer_count = Some(count);
        }
    }

    /// The option of a SYN sent in this state, the `first` one or a repeated one, and true if data may be sent with it.
    pub fn on_syn(&self, open: Open, state: State, first: bool) -> (Option<Opening>, bool) {
        let answering = state != State::SynSent;
        let Self { memory, count, peer_count, grant, .. } = self;
        let count = *count;
        match (open, answering) {
            (Open::Handshake, _) => (None, false),
            (Open::Transactions { .. }, false) if memory.count_known => (Some(Opening::Count(count)), first),
            (Open::Transactions { .. }, false) => (Some(Opening::NewCount(count)), false),
            (Open::Transactions { .. }, true) => {
                let early = first && state != State::SynReceived;
                (peer_count.map(|echo| Opening::EchoedCount { count, echo }), early)
            }
            // RFC 7413 §4.2.1: a SYN that is repeated is a plain one.
            (Open::FastOpen { .. }, false) if !first => (None, false),
            (Open::FastOpen { .. }, false) => match memory.cookie {
                Some(cookie) => (Some(Opening::Cookie(cookie)), true),
                None => (Some(Opening::CookieRequest), false),
            },
            (Open::FastOpen { .. }, true) => (grant.map(Opening::Cookie), false),
        }
    }

    /// Duration of TIME-WAIT, in which segments of the old connection may still arrive. T/TCP's counts distinguish them from those
    /// of the next connection, so that a short connection's wait need only outlast the peer's FIN (RFC 1644 §3.3: 8 RTO).
    pub fn time_wait(&self, now: Time, rto_min: Span, rto: Span) -> Span {
        if self.in_each_segment().is_none() {
            return rto_min * 2;
        }
        if self.short(now) { rto * 8 } else { MSL * 2 }
    }

    /// Returns true if a next connection may replace this one during its TIME-WAIT: with T/TCP, if this one was short.
    pub fn may_be_followed(&self, now: Time) -> bool {
        self.in_each_segment().is_some() && self.short(now)
    }

    /// Returns true if it has lasted less than an MSL, so that counts cannot have wrapped.
    fn short(&self, now: Time) -> bool {
        self.opened_at.is_some_and(|at| now.since(at) < MSL)
    }
}
