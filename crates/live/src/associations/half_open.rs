//! Half-open associations: answered, and not yet proven by a sealed packet of their initiators.
//!
//! Follows TCP's queue of SYNs; bounded, the oldest replaced first.
//! Differs: one first packet may have come from several addresses, any of which may be its sender's.
//! Leaves out cookies, which keep strangers out (`admission`).

use crate::association::Association;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The lowest address, at which a range of the table begins.
const LOWEST: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// A half-open association.
pub(crate) struct HalfOpen {
    pub association: Association,
    pub answer: Vec<u8>,
    pub ephemeral: [u8; 32],
    /// Line for the key log, if there is one.
    pub line: Option<String>,
}

/// The half-open associations of a host.
pub(crate) struct HalfOpens {
    /// Largest number of them.
    most: usize,
    /// Time after which one is forgotten.
    timeout: Span,
    by_id: BTreeMap<u32, HalfOpen>,
    since: VecDeque<(Time, u32)>,
    /// By the first packet's ephemeral key and source address.
    by_hello: BTreeMap<([u8; 32], SocketAddr), u32>,
}

impl HalfOpens {
    /// None yet; at most `most` are kept, each for `timeout`.
    pub fn new(most: usize, timeout: Span) -> Self {
        let (by_id, since, by_hello) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        HalfOpens { most, timeout, by_id, since, by_hello }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn contains(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut HalfOpen> {
        self.by_id.get_mut(&id)
    }

    /// The one with this number, if its first packet came from this address.
    pub fn is_from(&self, id: u32, from: SocketAddr) -> bool {
        self.by_id.get(&id).is_some_and(|half_open| half_open.association.peer == from)
    }

    /// The one whose first packet has this ephemeral key, and came from this address.
    pub fn of_hello(&self, ephemeral: [u8; 32], from: SocketAddr) -> Option<&HalfOpen> {
        self.by_hello.get(&(ephemeral, from)).and_then(|id| self.by_id.get(id))
    }

    fn with_ephemeral(&self, ephemeral: [u8; 32]) -> impl Iterator<Item = u32> + use<'_> {
        let range = self.by_hello.range((ephemeral, LOWEST)..);
        range.take_while(move |((of, _), _)| *of == ephemeral).map(|(_, id)| *id)
    }

    /// Returns true if a first packet with this ephemeral key is known, from any address.
    pub fn knows(&self, ephemeral: [u8; 32]) -> bool {
        self.with_ephemeral(ephemeral).next().is_some()
    }

    /// Remembers one; the oldest make room.
    pub fn insert(&mut self, now: Time, id: u32, half_open: HalfOpen) {
        while self.by_id.len() >= self.most {
            let Some((_, oldest)) = self.since.pop_front() else { break };
            self.remove(oldest);
        }
        self.by_hello.insert((half_open.ephemeral, half_open.association.peer), id);
        self.since.push_back((now, id));
        self.by_id.insert(id, half_open);
    }

    /// Forgets one.
    fn remove(&mut self, id: u32) -> Option<HalfOpen> {
        let half_open = self.by_id.remove(&id)?;
        self.by_hello.remove(&(half_open.ephemeral, half_open.association.peer));
        Some(half_open)
    }

    /// Takes the one that is proven, and forgets those of copies of its first packet.
    pub fn take(&mut self, id: u32) -> Option<HalfOpen> {
        let half_open = self.remove(id)?;
        for copy in self.with_ephemeral(half_open.ephemeral).collect::<Vec<_>>() {
            self.remove(copy);
        }
        Some(half_open)
    }

    /// Forgets those whose time is over.
    pub fn expire(&mut self, now: Time) {
        while let Some((since, id)) = self.since.front().copied() {
            if now.since(since) < self.timeout && self.by_id.contains_key(&id) {
                break;
            }
            self.since.pop_front();
            self.remove(id);
        }
    }

    /// Time at which the oldest is forgotten.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.since.front().map(|(since, _)| *since + self.timeout)
    }
}
