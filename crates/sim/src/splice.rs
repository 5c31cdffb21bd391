//! Splices on the paths of flows: built with each connection, driven between its legs, counted by name.
//!
//! Follows the `splice` crate's contract; a frame's leg says to which splice it belongs.
//! Differs from a gateway's table of connections: a splice is stored with the two ends of its connection.
//! Leaves out payload, and a gateway's other tasks.

use crate::cache::Cache;
use crate::config;
use crate::endpoint;
use crate::gateway_joint::{GatewayJoint, GatewayPlace};
use crate::stp::{Envelope, StpCarrier};
use skyhop_chance::{Seed, Stream};
use skyhop_network::Slot;
use skyhop_results::SpliceResult;
use skyhop_scenario as scenario;
use skyhop_splice::{Config, Event, Protocol, ServerOpening, Side, Splice};
use std::net::SocketAddrV4;

/// Parameters of a flow's splices at one node.
pub(crate) struct Splicing {
    /// Index in the order of the scenario's splices.
    pub place: u32,
    /// Present if it is a gateway with an association, which has no machine of its own.
    pub gateway: Option<GatewayPlace>,
    config: Config,
    name: String,
    /// Initial sequence numbers of the sides to the client and to the server.
    initial_sequence: [Stream; 2],
    /// Carrier of STP's packets on each side that uses STP.
    carriers: [Option<StpCarrier>; 2],
    /// Share of requests that its cache answers, if it has one.
    hit_ratio: Option<f64>,
}

impl Splicing {
    pub fn new(
        place: usize,
        splice_name: &str,
        splice: &scenario::Splice,
        flow_name: &str,
        (flow, inner): (&scenario::Flow, Option<usize>),
        seed: Seed,
    ) -> Self {
        let name = format!("splice/{splice_name}/flow/{flow_name}");
        let sides = splice.transports(&flow.transport, inner).map(|transport| {
            match config::protocol(transport, flow.ip) {
                endpoint::EndProtocol::Tcp(config) => (Protocol::Tcp(config), None),
                endpoint::EndProtocol::Stp(config, carrier) => (Protocol::Stp(config), Some(carrier)),
            }
        });
        let carriers = sides.each_ref().map(|(_, carrier)| *carrier);
        let sides = sides.map(|(protocol, _)| protocol);
        let cached = splice.kind == scenario::SpliceKind::Cache;
        Self {
            place: place as u32,
            gateway: None,
            carriers,
            hit_ratio: splice.hit_ratio.filter(|_| cached),
            config: Config {
                sides,
                buffer: splice.buffer.get(),
                opening: match (splice.kind, splice.opens.unwrap_or_default()) {
                    (scenario::SpliceKind::Spoof, _) => ServerOpening::EndToEnd,
                    (scenario::SpliceKind::Cache, _) => ServerOpening::Data,
                    (scenario::SpliceKind::Split, scenario::SpliceOpens::Syn) => ServerOpening::Syn,
                    (scenario::SpliceKind::Split, scenario::SpliceOpens::Data) => ServerOpening::Data,
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

    /// Sets the MTU of each side's own link.
    pub fn with_mtus(mut self, mtus: [Option<u32>; 2]) -> Self {
        for (side, mtu) in self.config.sides.iter_mut().zip(mtus) {
            if let Protocol::Tcp(tcp) = side {
                tcp.link_mtu = mtu;
            }
        }
        self
    }

    /// Cache state of a connection.
    pub fn cache(&self, connection: u32, seed: Seed) -> Option<Box<Cache>> {
        let hits = seed.stream(&format!("{}/connection/{connection}/hits", self.name));
        Some(Box::new(Cache::new(self.hit_ratio?, hits)))
    }

    /// The carriers of a connection's STP packets on each side.
    pub fn envelopes(&self, [client, server]: [SocketAddrV4; 2]) -> [Option<Envelope>; 2] {
        let [back, onwards] = self.carriers;
        [
            back.map(|carrier| Envelope::new(carrier, [server, client])),
            onwards.map(|carrier| Envelope::new(carrier, [client, server])),
        ]
    }

    /// The splice or gateway of a connection.
    pub fn open(&mut self, connection: u32, addresses: [SocketAddrV4; 2], seed: Seed) -> Divider {
        let initial = self.initial_sequence.each_mut().map(|stream| stream.bits() as u32);
        let chance = ["back", "onward"].map(|side| {
            let name = &self.name;
            seed.stream(&match connection {
                0 => format!("{name}/{side}"),
                _ => format!("{name}/connection/{connection}/{side}"),
            })
        });
        match &self.gateway {
            Some(gateway) => {
                Divider::Gateway(Box::new(gateway.open(&self.config, addresses, initial, chance)))
            }
            None => Divider::Splice(
                Splice::new(self.config.clone(), initial).with_chance(chance).with_addresses(addresses),
            ),
        }
    }
}

/// The machine that divides a connection.
// Most are splices, and a gateway's are in a box.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Divider {
    Splice(Splice),
    Gateway(Box<GatewayJoint>),
}

/// A splice of a connection.
pub(crate) struct Joint {
    pub divider: Divider,
    pub envelopes: [Option<Envelope>; 2],
    pub slot: Slot,
    /// Index in the order of the scenario's splices.
    pub place: u32,
    /// Bytes that it held at the last sample.
    pub held: u64,
    /// Its cache, if its kind is `cache`.
    pub cache: Option<Box<Cache>>,
}

/// Counters of the splices of one name.
pub(crate) struct SpliceCounts {
    pub held: u64,
    pub result: SpliceResult,
}

impl SpliceCounts {
    pub fn new(name: &str) -> Self {
        Self { held: 0, result: SpliceResult { name: name.to_owned(), ..SpliceResult::default() } }
    }

    /// Counts the bytes that a connection holds, in place of those before, and the most of each direction.
    pub fn holds(&mut self, before: &mut u64, held: u64, [forward, backward]: [u64; 2]) {
        self.held = self.held - std::mem::replace(before, held) + held;
        let result = &mut self.result;
        result.held_max_bytes = result.held_max_bytes.max(self.held);
        result.connection_held_max_bytes = result.connection_held_max_bytes.max(forward).max(backward);
    }
}

/// Takes a splice's events and counts them. Returns true if the client has finished.
pub(crate) fn count(splice: &mut Splice, before: &mut u64, place: &mut SpliceCounts) -> bool {
    let mut finished = false;
    while let Some(event) = splice.poll_event() {
        let result = &mut place.result;
        match event {
            Event::Opened(Side::Client) => result.connections += 1,
            Event::Moved { from: Side::Client, bytes } => result.forward_bytes += bytes,
            Event::Moved { from: Side::Server, bytes } => result.return_bytes += bytes,
            Event::Broken(_) => result.connections_broken += 1,
            Event::Finished(Side::Client) => finished = true,
            Event::Opened(Side::Server)
            | Event::Released { .. }
            | Event::Finished(Side::Server)
            | Event::Closed => {}
        }
    }
    place.holds(before, splice.held(), splice.stats().held_max);
    finished
}
