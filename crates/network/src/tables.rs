//! Global routing tables of nodes: one path to each destination, or all minimum-hop paths.
//!
//! Follows HT 6.3 for shortest paths, WP for round robin over several, RFC 2992 for the hash of a flow.
//! Differs: the table of a destination is computed when a packet first needs it after a change.
//! Leaves out partial knowledge, which the schemes of `routes.rs` have.

use skyhop_chance::Seed;
use skyhop_routing::multipath::{Multipath, scramble};
use skyhop_routing::{Hop, PathMetric, Router, Selection};
use skyhop_scenario::{self as scenario, Spread};
use skyhop_topology::{NodeId, Topology};
use skyhop_wire::{Packet, Transport};

/// The rule by which nodes spread packets over next hops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sharing {
    spread: Spread,
    /// Salt of the hash, different for each seed, as outsiders do not know a network's hash.
    salt: u64,
}

impl Sharing {
    pub fn new(spread: Spread, seed: Seed) -> Self {
        Self { spread, salt: seed.stream("routing/flow-hash").bits() }
    }

    /// The next hop of `packet` at `node`.
    #[inline]
    pub fn next_hop(
        self,
        paths: &mut Multipath,
        node: NodeId,
        destination: NodeId,
        packet: &Packet,
    ) -> Option<Hop> {
        match self.spread {
            Spread::Packets => paths.next_in_turn(node, destination),
            Spread::Flows => paths.next_of_flow(node, destination, self.hash(packet)),
            Spread::Congestion => paths.next_hops(node, destination).first().copied(),
        }
    }

    /// Hash of addresses, protocol and ports, or of an echo's identifier.
    fn hash(self, packet: &Packet) -> u64 {
        let (protocol, [from, to]) = match &packet.transport {
            Transport::Tcp(tcp) => (6, [tcp.source_port, tcp.destination_port]),
            Transport::Icmp(echo) => (1, [echo.identifier, 0]),
            Transport::TooLarge(_) => (1, [0, 0]),
            Transport::Udp(udp) => (17, [udp.source_port, udp.destination_port]),
            Transport::Other(number) => (u64::from(*number), [0, 0]),
        };
        let [source, destination] =
            [packet.ip.source, packet.ip.destination].map(|ip| u64::from(ip.to_bits()));
        let hosts = scramble(self.salt ^ (source << 32 | destination));
        scramble(hosts ^ (u64::from(from) << 24 | u64::from(to) << 8 | protocol))
    }
}

/// The tables of all nodes.
#[derive(Debug, Clone)]
pub(crate) enum NodeTables {
    /// One path to each destination.
    Single(Router),
    /// All minimum-hop paths.
    Several(Multipath, Sharing),
}

impl NodeTables {
    pub fn new(model: &scenario::Routing, selection: &Selection, sharing: Sharing) -> Self {
        let selection = selection.clone();
        match model.scheme {
            scenario::Scheme::Multipath => {
                Self::Several(Multipath::new().through_gaps().selecting(selection), sharing)
            }
            _ => Self::Single(Router::new(metric(model)).through_gaps().selecting(selection)),
        }
    }

    /// Takes the links that are up now, with distances at `t_s`.
    pub fn refresh(&mut self, topology: &Topology, t_s: f64) {
        match self {
            Self::Single(router) => router.refresh(topology, t_s),
            Self::Several(paths, _) => paths.refresh(topology),
        }
    }

    /// Takes the round-robin turns over from `before`, which this replaces.
    pub fn continues(&mut self, before: &mut Self) {
        if let (Self::Several(paths, _), Self::Several(before, _)) = (self, before) {
            paths.continues(before);
        }
    }

    #[inline]
    pub fn next_hop(&mut self, node: NodeId, destination: NodeId, packet: &Packet) -> Option<Hop> {
        match self {
            Self::Single(router) => router.next_hop(node, destination),
            Self::Several(paths, sharing) => sharing.next_hop(paths, node, destination, packet),
        }
    }

    /// The next hops on all paths; none with single paths.
    pub fn next_hops(&mut self, node: NodeId, destination: NodeId) -> &[Hop] {
        match self {
            Self::Single(_) => &[],
            Self::Several(paths, _) => paths.next_hops(node, destination),
        }
    }

    /// Computes the routes to a destination in advance.
    pub fn search(&mut self, destination: NodeId) {
        let anywhere = NodeId(0);
        match self {
            Self::Single(router) => {
                router.next_hop(anywhere, destination);
            }
            Self::Several(paths, _) => {
                paths.next_hops(anywhere, destination);
            }
        }
    }

    /// The links of the path, or of the first of several.
    pub fn hops(&mut self, from: NodeId, to: NodeId) -> Option<Vec<Hop>> {
        match self {
            Self::Single(router) => router.hops(from, to),
            Self::Several(paths, _) => paths.hops(from, to),
        }
    }
}

/// The metric of global tables.
pub fn metric(model: &scenario::Routing) -> PathMetric {
    match (model.scheme, model.metric) {
        (scenario::Scheme::Multipath, _) | (_, scenario::Metric::Hops) => PathMetric::Hops,
        (_, scenario::Metric::Delay) => PathMetric::Delay,
    }
}
