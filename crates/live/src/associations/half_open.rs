//! Half-open associations: answered, and not yet proven by a sealed packet of their initiators.
//!
//! Follows TCP's queue of SYNs; bounded, the oldest replaced first.
//! Differs: one first packet may have come from several addresses, any of which may be its sender's.
//! Leaves out cookies, which keep strangers out (`cookie`).

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
#[derive(Default)]
pub(crate) struct HalfOpens {
    by_id: BTreeMap<u32, HalfOpen>,
    since: VecDeque<(Time, u32)>,
    /// By the first packet's ephemeral key and source address.
    by_hello: BTreeMap<([u8; 32], SocketAddr), u32>,
}

impl HalfOpens {
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

    /// Remembers one; the oldest go where there are `most`.
    pub fn insert(&mut self, now: Time, id: u32, half_open: HalfOpen, most: usize) {
        while self.by_id.len() >= most {
            let Some((_, oldest)) = self.since.pop_front() else { break };
            self.remove(oldest);
        }
        self.by_hello.insert((half_open.ephemeral, half_open.association.peer), id);
        self.since.push_back((now, id));
        self.by_id.insert(id, half_open);
    }

    /// Forgets one.
    pub fn remove(&mut self, id: u32) -> Option<HalfOpen> {
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

    /// Forgets those that are older than `timeout`.
    pub fn expire(&mut self, now: Time, timeout: Span) {
        while let Some((since, id)) = self.since.front().copied() {
            if now.since(since) < timeout && self.by_id.contains_key(&id) {
                break;
            }
            self.since.pop_front();
            self.remove(id);
        }
    }

    /// Time since which the oldest is there.
    pub fn oldest(&self) -> Option<Time> {
        self.since.front().map(|(since, _)| *since)
    }
}
