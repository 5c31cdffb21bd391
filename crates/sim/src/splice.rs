//! Splices on the ways of flows: made with each connection, driven between its legs, counted by name.
//!
//! Follows the `splice` crate's contract; which packets are its own is what a frame's leg says.
//! Differs from a gateway's table of connections: a splice lies beside the two ends that it stands between.
//! Leaves out payload, and what a gateway does beside splicing.

use crate::agenda::Slot;
use crate::cache::{Cache, Decision};
use crate::config;
use crate::conversation::ConversationId;
use crate::endpoint;
use crate::flow::App;
use crate::results::SpliceResult;
use crate::simulation::Simulation;
use crate::stp::Envelope;
use skyhop_chance::{Seed, Stream};
use skyhop_scenario as scenario;
use skyhop_splice::{Config, Event, Opening, Protocol, Side, Splice};
use skyhop_traffic::{End, Notice};
use std::net::SocketAddrV4;

/// How the splices of a flow at one place are made.
pub(crate) struct Splicing {
    /// Index among the scenario's splices.
    pub place: u32,
    config: Config,
    name: String,
    /// Of the side to the client and of the side to the server.
    initial_sequence: [Stream; 2],
    /// What carries STP on each side, if it speaks that.
    over: [Option<scenario::StpOver>; 2],
    /// Of a cache.
    hit_ratio: Option<f64>,
}

impl Splicing {
    pub fn new(
        place: usize,
        splice_name: &str,
        splice: &scenario::Splice,
        flow_name: &str,
        flow: &scenario::Flow,
        seed: Seed,
    ) -> Self {
        let name = format!("splice/{splice_name}/flow/{flow_name}");
        let sides = splice.transports(&flow.transport).map(|transport| match config::protocol(transport) {
            endpoint::Protocol::Tcp(config) => (Protocol::Tcp(config), None),
            endpoint::Protocol::Stp(config, over) => (Protocol::Stp(config), Some(over)),
        });
        let over = sides.each_ref().map(|(_, over)| *over);
        let sides = sides.map(|(protocol, _)| protocol);
        let cached = splice.kind == scenario::SpliceKind::Cache;
        Self {
            place: place as u32,
            over,
            hit_ratio: splice.hit_ratio.filter(|_| cached),
            config: Config {
                sides,
                buffer: splice.buffer.get(),
                opening: match (splice.kind, splice.opens.unwrap_or_default()) {
                    (scenario::SpliceKind::Spoof, _) => Opening::EndToEnd,
                    (scenario::SpliceKind::Cache, _) => Opening::Data,
                    (scenario::SpliceKind::Split, scenario::SpliceOpens::Syn) => Opening::Syn,
                    (scenario::SpliceKind::Split, scenario::SpliceOpens::Data) => Opening::Data,
                },
                asks: cached,
                close: skyhop_splice::Close::EndToEnd,
                give_up: splice.give_up,
            },
            initial_sequence: ["back", "onward"]
                .map(|side| seed.stream(&format!("{name}/{side}/initial-sequence"))),
            name,
        }
    }

    /// Tells each side the MTU of its own link.
    pub fn with_mtus(mut self, mtus: [Option<u32>; 2]) -> Self {
        for (side, mtu) in self.config.sides.iter_mut().zip(mtus) {
            if let Protocol::Tcp(tcp) = side {
                tcp.link_mtu = mtu;
            }
        }
        self
    }

    /// What a cache knows of a connection.
    pub fn cache(&self, connection: u32, seed: Seed) -> Option<Box<Cache>> {
        let hits = seed.stream(&format!("{}/connection/{connection}/hits", self.name));
        Some(Box::new(Cache::new(self.hit_ratio?, hits)))
    }

    /// What carries STP's packets of a connection on each side.
    pub fn envelopes(&self, [client, server]: [SocketAddrV4; 2]) -> [Option<Envelope>; 2] {
        let [back, onwards] = self.over;
        [
            back.map(|over| Envelope::new(over, [server, client])),
            onwards.map(|over| Envelope::new(over, [client, server])),
        ]
    }

    /// The splice of a connection.
    pub fn open(&mut self, connection: u32, addresses: [SocketAddrV4; 2], seed: Seed) -> Splice {
        let initial = self.initial_sequence.each_mut().map(|stream| stream.bits() as u32);
        let chance = ["back", "onward"].map(|side| {
            let name = &self.name;
            seed.stream(&match connection {
                0 => format!("{name}/{side}"),
                _ => format!("{name}/connection/{connection}/{side}"),
            })
        });
        Splice::new(self.config.clone(), initial).with_chance(chance).with_addresses(addresses)
    }
}

/// A splice of a connection.
pub(crate) struct Joint {
    pub splice: Splice,
    pub envelopes: [Option<Envelope>; 2],
    pub slot: Slot,
    /// Index among the scenario's splices.
    pub place: u32,
    /// What it held when it was last looked at.
    pub held: u64,
    /// What it answers itself, if it is a cache.
    pub cache: Option<Box<Cache>>,
}

/// What the splices of one name have counted.
pub(crate) struct Place {
    pub held: u64,
    pub result: SpliceResult,
}

impl Place {
    pub fn new(name: &str) -> Self {
        Self { held: 0, result: SpliceResult { name: name.to_owned(), ..SpliceResult::default() } }
    }
}

impl Simulation {
    /// Drains a splice: what it counts, packets to the network, and the timer.
    pub(crate) fn drive_splice(&mut self, index: usize, id: ConversationId, leg: u8) {
        loop {
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(conversation) = stream.conversations.get_mut(id) else { return };
            let joint = &mut conversation.joints[leg as usize];
            let place = &mut self.places[joint.place as usize];
            let finished = count(joint, place);
            if let Some(cache) = &mut joint.cache {
                let connection = conversation.connection;
                let decision = cache.decide(self.now, &mut joint.splice);
                let notice = match decision {
                    Some(Decision::Hit(bytes)) => {
                        place.result.hits += 1;
                        Some(Notice::Delivered { connection, end: End::Server, bytes })
                    }
                    Some(Decision::Miss) => {
                        place.result.misses += 1;
                        continue;
                    }
                    // A client that has finished, and no server that would hear of it.
                    None if finished && !joint.splice.begun(Side::Server) => {
                        Some(Notice::PeerFinished { connection, end: End::Server })
                    }
                    None => None,
                };
                if let Some(notice) = notice {
                    stream.application.handle(self.now, notice);
                    self.carry_out(index);
                    continue;
                }
            }
            let way = |side| match side {
                Side::Client => (leg, true),
                Side::Server => (leg + 1, false),
            };
            if let Some((side, packet)) = joint.splice.poll_transmit(self.now) {
                let (leg, backward) = way(side);
                self.inject(index, id, leg, backward, self.now, packet);
                continue;
            }
            if let Some((side, packet)) = joint.splice.poll_transmit_stp(self.now)
                && let Some(envelope) = &mut joint.envelopes[side as usize]
            {
                let (leg, backward) = way(side);
                let outside = envelope.wrap(&packet);
                self.inject_stp(index, id, leg, backward, outside, packet);
                continue;
            }
            if let Some(at) = joint.splice.poll_timeout() {
                self.agenda.wake(joint.slot, at.max(self.now));
            }
            return;
        }
    }
}

/// Counts what has happened. True if the client has finished.
fn count(joint: &mut Joint, place: &mut Place) -> bool {
    let mut finished = false;
    while let Some(event) = joint.splice.poll_event() {
        let result = &mut place.result;
        match event {
            Event::Opened(Side::Client) => result.connections += 1,
            Event::Moved { from: Side::Client, bytes } => result.forward_bytes += bytes,
            Event::Moved { from: Side::Server, bytes } => result.backward_bytes += bytes,
            Event::Broken(_) => result.connections_broken += 1,
            Event::Finished(Side::Client) => finished = true,
            Event::Opened(Side::Server)
            | Event::Released { .. }
            | Event::Finished(Side::Server)
            | Event::Closed => {}
        }
    }
    let held = joint.splice.held();
    place.held = place.held - joint.held + held;
    joint.held = held;
    let result = &mut place.result;
    result.held_max_bytes = result.held_max_bytes.max(place.held);
    let [forward, backward] = joint.splice.stats().held_max;
    result.connection_held_max_bytes = result.connection_held_max_bytes.max(forward).max(backward);
    finished
}
