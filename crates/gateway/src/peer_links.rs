//! The associations with a gateway's peers: opened, replaced, lost and opened anew, and the streams that are opened and refused in them.
//!
//! Follows docs/gateway.md, "Guarantees", and docs/stp.md §16 for the first bytes of a stream.
//! Differs from `peers`, which has names and keys, and the times of attempts, but no packets.
//! Leaves out the connections in the streams (`gateway`).

use crate::config::{Config, Role};
use crate::flow::StreamName;
use crate::journal::Journal;
use crate::peers::{HUB, Peers};
use crate::refused_streams::RefusedStreams;
use bytes::Bytes;
use skyhop_live::engine::{self, Engine, Link};
use skyhop_live::entropy::SystemEntropy;
use skyhop_live::keys::PublicKey;
use skyhop_splice::gateway;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, Congestion, Reason, Trunk};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;
use std::sync::Arc;

/// The associations, and the peers that they lead to.
pub struct PeerLinks {
    pub engine: Engine,
    pub peers: Peers,
    refused: RefusedStreams,
}

/// Configuration of associations.
fn engine_config(config: &Config) -> engine::Config {
    let mut engine = engine::Config::new(config.keys.clone());
    engine.associations.accepts = config.role == Role::Hub;
    // A terminal begins anew at once; until then its log says nothing.
    engine.associations.opening = Span::from_secs(15);
    engine.mtu = config.mtu;
    engine.mtu_base = engine.mtu_base.min(config.mtu);
    engine.stp.window = config.memory;
    // As much for each terminal as it may have, also while it opens an association in place of one that was lost.
    let each = config.memory.max(config.connections as u64 * (8 << 10));
    engine.memory = each.saturating_mul(8 * config.terminals.len() as u64 + 32);
    // A side that only receives first sends a keep-alive, then waits: both fit within the silence that the file sets.
    engine.stp.keep_alive = Some(config.silence / 4);
    engine.stp.silence = config.silence / 4 * 3;
    engine.stp.max_rate = config.rate;
    engine.rate = config.rate;
    engine.rates = config.rates();
    if config.promised {
        engine.stp.congestion = Congestion::Rate;
    }
    engine.budgets = gateway::budgets(config.memory, config.connections as u64);
    engine
}

impl PeerLinks {
    /// No associations yet; a terminal has the hub's address in `hub`.
    pub fn new(now: Time, config: &Config, hub: Option<SocketAddr>) -> Self {
        PeerLinks {
            engine: Engine::new(now, engine_config(config), Arc::new(SystemEntropy)),
            peers: Peers::new(now, config, hub),
            refused: RefusedStreams::default(),
        }
    }

    /// Applies a new configuration: associations stay, unless their peer was removed.
    pub fn reload(&mut self, config: &Config) {
        self.peers.set_terminals(&config.terminals);
        self.engine.set_keys(config.keys.clone());
        self.engine.set_rates(config.rate, config.rates());
    }

    /// Handles expired timers: of the associations, of the next attempt to reach the hub, and of refused streams.
    pub fn handle_timeout(&mut self, now: Time, journal: &mut Journal) {
        self.engine.handle_timeout(now);
        if let Some(hub) = self.peers.wants(now) {
            // A restarted hub has opened an association itself, which is about to replace the lost one.
            let coming = |link: &Link| link.initiator && !link.trunk.established() && !link.trunk.is_over();
            if self.engine.links().any(|(_, link)| coming(link)) {
                self.peers.postpone(now);
            } else if let Some(id) = self.engine.connect(now, hub) {
                self.peers.tries(id);
            } else {
                journal.say("the hub's key is no key".into());
                self.peers.postpone(now);
            }
        }
        while let Some(stream) = self.refused.take_due(now) {
            self.reset(stream);
        }
    }

    /// The time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.engine.poll_timeout(), self.peers.poll_timeout(), self.refused.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Records an open association. Returns the one that it replaces, whose connections are lost.
    pub fn up(
        &mut self,
        now: Time,
        id: u32,
        (address, key): (SocketAddr, Option<PublicKey>),
        journal: &mut Journal,
    ) -> Option<u32> {
        let Some((name, before)) = self.peers.up(now, id, key) else {
            // Its key has been removed from the file in the meantime.
            self.engine.abort(id);
            return None;
        };
        journal.say(format!("{name}: association open with {address}"));
        if self.peers.is_doubled(&name) {
            journal.say(format!(
                "{name}: its association is replaced again and again: two terminals use its key"
            ));
        }
        if let Some(before) = before {
            self.engine.abort(before);
        }
        before
    }

    /// Records the end of an association, or a failed attempt of a terminal.
    pub fn down(&mut self, now: Time, id: u32, role: Role, why: &str, journal: &mut Journal) {
        if let Some(name) = self.peers.down(now, id) {
            journal.say(format!("{name}: association lost: {why}"));
        } else if role == Role::Terminal {
            journal.say(format!("hub: no association: {why}"));
        }
    }

    /// Records a peer's new address.
    pub fn moved(&self, id: u32, address: SocketAddr, journal: &mut Journal) {
        let name = self.peers.name_of(id).unwrap_or("?");
        journal.say(format!("{name}: has moved to {address}"));
    }

    /// The association that leads to a destination; names are resolved by the hub.
    pub fn link_to(&self, to: &Destination, role: Role) -> Option<u32> {
        match to {
            Destination::Address(address) => self.peers.link_to(address.ip()),
            Destination::Name(..) if role == Role::Terminal => self.peers.link_of(HUB),
            Destination::Name(..) => None,
        }
    }

    /// Opens a stream to a server, if there is an association that leads there, and it allows one more.
    pub fn open(&mut self, server: SocketAddr, class: Class, preamble: &Preamble) -> Option<StreamName> {
        let link = self.peers.link_to(server.ip())?;
        let id = open_stream(self.engine.trunk(link)?, class, preamble)?;
        Some((link, id))
    }

    /// Answers a stream that the far gateway has opened; further data may follow.
    pub fn answer(&mut self, (link, id): StreamName, answer: Answer) {
        if let Some(trunk) = self.engine.trunk(link) {
            trunk.write(id, Bytes::copy_from_slice(&[answer.number()]));
        }
    }

    /// Refuses a stream that the far gateway has opened.
    pub fn refuse(&mut self, now: Time, stream: StreamName, answer: Answer) {
        if let Some(trunk) = self.engine.trunk(stream.0) {
            trunk.write(stream.1, Bytes::copy_from_slice(&[answer.number()]));
            trunk.shutdown(stream.1);
            self.refused.add(now, stream);
        }
    }

    /// Resets a stream.
    pub fn reset(&mut self, (link, id): StreamName) {
        if let Some(trunk) = self.engine.trunk(link) {
            trunk.reset(id, Reason::Aborted);
        }
    }

    /// Counts the bytes that associations have carried, at `wall` of the wall clock.
    pub fn count(&mut self, wall: u64) {
        let engine = &self.engine;
        let carried =
            |id| engine.link(id).map_or(0, |link| link.traffic.bytes_sent + link.traffic.bytes_received);
        self.peers.count(wall, carried);
    }
}

/// Opens a stream that begins with a preamble, if the peer's limit of streams allows one more.
pub fn open_stream(trunk: &mut Trunk<Bytes>, class: Class, preamble: &Preamble) -> Option<u64> {
    let id = trunk.open(class)?;
    let mut bytes = Vec::new();
    preamble.emit(&mut bytes);
    trunk.write(id, bytes.into());
    Some(id)
}
