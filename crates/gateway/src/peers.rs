//! The peers of a gateway: a hub's terminals, or the one hub of a terminal.
//!
//! Follows docs/gateway.md. A terminal opens the association and reopens it when it is lost; a hub waits.
//! Differs from a list of addresses: a key identifies a peer, whose latest association replaces an earlier one.
//! Leaves out streams.

use crate::config::{Config, Role, Terminal};
use crate::prefix::Prefix;
use crate::quotas::{Quota, Quotas};
use skyhop_live::keys::PublicKey;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The first and the longest pause before a lost association is reopened.
const RETRY_MIN: Span = Span::from_millis(500);
const RETRY_MAX: Span = Span::from_secs(15);

/// Replaced associations within a minute by which two terminals with one key are recognized: a terminal that restarts replaces one.
const DOUBLED: u32 = 4;
const MINUTE: Span = Span::from_secs(60);

/// The state of a terminal's attempt to reach the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HubAttempt {
    /// The next attempt is at this time.
    At(Time),
    /// An attempt is under way, with this association's ID.
    Under(u32),
    /// The association is open.
    Done,
}

/// The hub, as a terminal sees it.
#[derive(Debug)]
struct Hub {
    address: SocketAddr,
    attempt: HubAttempt,
    pause: Span,
}

/// A peer with its association.
#[derive(Debug)]
struct Peer {
    key: Option<PublicKey>,
    prefixes: Vec<Prefix>,
    link: Option<u32>,
    quota: Option<Quota>,
    /// Bytes carried by its association that are already counted.
    counted: u64,
    /// Associations that were replaced while they were open, and the time of the first in the last minute.
    replaced: (u32, Time),
}

impl Peer {
    fn new(key: Option<PublicKey>) -> Self {
        Peer { key, prefixes: Vec::new(), link: None, quota: None, counted: 0, replaced: (0, Time::ZERO) }
    }
}

/// The peers, by name.
#[derive(Debug)]
pub struct Peers {
    hub: Option<Hub>,
    peers: BTreeMap<String, Peer>,
    /// The terminals' usage of their quotas.
    pub quotas: Quotas,
}

/// The name of the hub in a terminal's list of peers.
pub const HUB: &str = "hub";

impl Peers {
    /// The peers of a file; a terminal has the hub's address in `hub`.
    pub fn new(now: Time, config: &Config, hub: Option<SocketAddr>) -> Self {
        let mut peers = Peers {
            hub: hub.map(|address| Hub { address, attempt: HubAttempt::At(now), pause: RETRY_MIN }),
            peers: BTreeMap::new(),
            quotas: Quotas::default(),
        };
        if config.role == Role::Terminal {
            peers.peers.insert(HUB.into(), Peer::new(None));
        }
        peers.set_terminals(&config.terminals);
        peers
    }

    /// Replaces the terminals; those that stay keep their associations.
    pub fn set_terminals(&mut self, terminals: &BTreeMap<String, Terminal>) {
        self.peers.retain(|name, peer| match terminals.get(name) {
            Some(terminal) => peer.key == Some(terminal.key),
            None => name == HUB && peer.key.is_none(),
        });
        for (name, terminal) in terminals {
            let peer = self.peers.entry(name.clone()).or_insert_with(|| Peer::new(Some(terminal.key)));
            peer.quota = terminal.quota;
            peer.prefixes.clone_from(&terminal.prefixes);
        }
    }

    /// The hub's address, if an association is to be opened now.
    pub fn wants(&self, now: Time) -> Option<SocketAddr> {
        self.hub
            .as_ref()
            .filter(|hub| matches!(hub.attempt, HubAttempt::At(at) if at <= now))
            .map(|hub| hub.address)
    }

    /// Records that an attempt is under way, with its ID.
    pub fn tries(&mut self, id: u32) {
        if let Some(hub) = &mut self.hub {
            hub.attempt = HubAttempt::Under(id);
        }
    }

    /// Postpones the attempt.
    pub fn postpone(&mut self, now: Time) {
        if let Some(hub) = &mut self.hub {
            hub.attempt = HubAttempt::At(now + RETRY_MIN);
        }
    }

    /// The time of the next attempt.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.hub.as_ref()?.attempt {
            HubAttempt::At(at) => Some(at),
            _ => None,
        }
    }

    /// Records an open association. Returns the peer's name and the association that it replaces; `None` if no peer has this key.
    pub fn up(&mut self, now: Time, id: u32, key: Option<PublicKey>) -> Option<(String, Option<u32>)> {
        let (name, peer) = match &mut self.hub {
            Some(hub) => {
                (hub.attempt, hub.pause) = (HubAttempt::Done, RETRY_MIN);
                self.peers.iter_mut().next()?
            }
            None => self.peers.iter_mut().find(|(_, peer)| peer.key == key)?,
        };
        let before = peer.link.replace(id).filter(|before| *before != id);
        peer.counted = 0;
        if before.is_some() {
            let (count, since) = &mut peer.replaced;
            if now.since(*since) > MINUTE {
                (*count, *since) = (0, now);
            }
            *count += 1;
        }
        Some((name.clone(), before))
    }

    /// Returns true if a peer has replaced its association so often that there must be two of it.
    pub fn is_doubled(&self, name: &str) -> bool {
        self.peers.get(name).is_some_and(|peer| peer.replaced.0 == DOUBLED)
    }

    /// Records the end of an association, or a failed attempt. Returns the peer's name if it has no association now.
    pub fn down(&mut self, now: Time, id: u32) -> Option<String> {
        let mut lost = None;
        for (name, peer) in &mut self.peers {
            if peer.link == Some(id) {
                peer.link = None;
                lost = Some(name.clone());
            }
        }
        if let Some(hub) = &mut self.hub
            && (hub.attempt == HubAttempt::Under(id) || (hub.attempt == HubAttempt::Done && lost.is_some()))
        {
            hub.attempt = HubAttempt::At(now + hub.pause);
            hub.pause = (hub.pause * 2).min(RETRY_MAX);
        }
        lost
    }

    /// Counts the bytes that associations have carried, which `carried` returns by ID; `wall` is the wall clock's time.
    pub fn count(&mut self, wall: u64, carried: impl Fn(u32) -> u64) {
        for (name, peer) in &mut self.peers {
            let (Some(quota), Some(link)) = (&peer.quota, peer.link) else { continue };
            let all = carried(link);
            self.quotas.carried(wall, name, quota, all.saturating_sub(peer.counted));
            peer.counted = all;
        }
    }

    /// Returns true if the terminal of an association has used up its quota.
    pub fn is_over_quota(&self, link: u32) -> bool {
        let peer = self.peers.iter().find(|(_, peer)| peer.link == Some(link));
        peer.and_then(|(name, peer)| Some(self.quotas.used(name) >= peer.quota?.bytes)).unwrap_or(false)
    }

    /// A terminal's quota, and its usage.
    pub fn quota(&self, name: &str) -> Option<(u64, u64)> {
        let quota = self.peers.get(name)?.quota?;
        Some((quota.bytes, self.quotas.used(name)))
    }

    /// The association that leads to an address: for a terminal the hub's, for a hub that of the terminal with this user.
    pub fn link_to(&self, address: IpAddr) -> Option<u32> {
        match &self.hub {
            Some(_) => self.link_of(HUB),
            // Two terminals may have the same users while a key is being replaced.
            None => self.peers.values().filter(|peer| contains(peer, address)).find_map(|peer| peer.link),
        }
    }

    /// The association with a peer.
    pub fn link_of(&self, name: &str) -> Option<u32> {
        self.peers.get(name)?.link
    }

    /// Returns true if the peer of an association has users with this address.
    pub fn has_user(&self, link: u32, address: IpAddr) -> bool {
        self.peers.values().any(|peer| peer.link == Some(link) && contains(peer, address))
    }

    /// The name of the peer of an association.
    pub fn name_of(&self, link: u32) -> Option<&str> {
        self.peers.iter().find(|(_, peer)| peer.link == Some(link)).map(|(name, _)| name.as_str())
    }

    /// All names, with their open associations.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.peers.iter().map(|(name, peer)| (name.as_str(), peer.link))
    }

    /// Returns true if at least one association is open.
    pub fn any_up(&self) -> bool {
        self.peers.values().any(|peer| peer.link.is_some())
    }
}

fn contains(peer: &Peer, address: IpAddr) -> bool {
    peer.prefixes.iter().any(|prefix| prefix.contains(address))
}
