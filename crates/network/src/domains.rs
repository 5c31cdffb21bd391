//! The routing domains of the moving part, each with its own scheme or links: the whole network, satellites of one scheme, and
//! constellations on pinned paths.
//!
//! Follows RFC 1136 for the word: nodes of one routing procedure. Where a scheme has the satellites, packets enter its domain at
//! the uplink, and leave it at the terminal (egress) that the path over the whole network gives.
//! Leaves out the routes within a domain, which are in `routes.rs`.

use crate::addresses::MovingAddresses;
use crate::ground::GroundGraph;
use crate::moving_topology::MovingTopology;
use crate::routes::{Routes, Stuck};
use crate::tables::NodeTables;
use skyhop_chance::Seed;
use skyhop_results::{AddressResult, RoutingResult};
use skyhop_routing::{Hop, Selection};
use skyhop_scenario as scenario;
use skyhop_topology::{LinkChange, LinkId, NodeId, Topology};
use skyhop_units::Time;
use skyhop_wire::Packet;

/// The routes of all domains.
pub(crate) struct RoutingDomains {
    /// Routes over the whole network; with `across`, those of the scheme among satellites.
    main: Routes,
    /// For each constellation with its own scheme, the routes within it; empty if none has one.
    own: Vec<Option<Routes>>,
    /// Routes over links and satellites together, where a scheme routes among satellites and links end at terminals.
    across: Option<Box<Routes>>,
    /// Routes within single constellations, by number, for pinned paths.
    within: Vec<(Option<u32>, Routes)>,
    pinning: Pinning,
}

/// The parameters for routes within a constellation.
struct Pinning {
    routing: scenario::Routing,
    seed: Seed,
}

impl RoutingDomains {
    /// The domains of a scenario over its topology.
    pub fn new(scenario: &scenario::Scenario, topology: &Topology, seed: Seed) -> Self {
        let joined = GroundGraph::is_in(topology) && !scenario.routing.scheme.knows_all();
        let across =
            joined.then(|| Box::new(Routes::new(&scenario::Routing::default(), Selection::default(), seed)));
        let mut main = Routes::new(&scenario.routing, preferred(scenario), seed);
        main.addresses = MovingAddresses::of(topology, &scenario.routing);
        Self {
            main,
            own: own_schemes(scenario, seed),
            across,
            within: Vec::new(),
            pinning: Pinning { routing: scenario.routing.clone(), seed },
        }
    }

    /// Returns true if failed links must be distinguished from those that orbits switch off.
    pub fn tells_failures(&self) -> bool {
        !self.own.is_empty() || Routes::tells_failures(&self.pinning.routing)
    }

    /// Returns true if packets use one scheme among satellites and another over the whole network.
    #[inline]
    fn is_layered(&self) -> bool {
        self.across.is_some() || !self.own.is_empty()
    }

    /// Returns true if nodes may route by an older state than the present one.
    pub fn lag(&self) -> bool {
        !self.own.is_empty() || self.main.lag()
    }

    /// Takes a change of the network or of distances.
    pub fn refresh(&mut self, topology: &MovingTopology, changes: &[LinkChange]) {
        let others = self.within.iter_mut().map(|(_, routes)| routes).chain(self.own.iter_mut().flatten());
        for routes in std::iter::once(&mut self.main).chain(others).chain(self.across.as_deref_mut()) {
            routes.refresh(topology.promised(), topology.actual(), changes, topology.looked_at());
        }
    }

    /// Tables without routes, if nodes have global tables without delay.
    pub fn empty_tables(&self) -> Option<NodeTables> {
        self.main.empty_tables()
    }

    /// Takes tables that were computed elsewhere for the present network.
    pub fn take_tables(&mut self, tables: NodeTables) {
        self.main.take_tables(tables);
    }

    /// Prepares for a step of a pinned path over one constellation, or over any. Such steps use shortest paths even if satellites
    /// have another scheme.
    pub fn pin(&mut self, over: Option<u32>) {
        let Pinning { routing, seed } = &self.pinning;
        let global = routing.scheme.knows_all();
        if (global && over.is_none()) || self.within.iter().any(|(known, _)| *known == over) {
            return;
        }
        let selection = over.map_or(Selection::default(), |fleet| Selection::within(fleet as usize));
        let routing = if global { routing.clone() } else { scenario::Routing::default() };
        self.within.push((over, Routes::new(&routing, selection, *seed)));
    }

    /// Starts routing the packet of frame `id`. If ground links come first, that is done at its uplink.
    #[inline]
    pub fn begin(&mut self, id: u32, topology: &Topology, destination: NodeId, now: Time) {
        if self.across.is_none() {
            self.main.begin(id, topology, destination, now);
        }
    }

    /// Registers that frame `copy` is a copy of frame `id`.
    pub fn duplicate(&mut self, id: u32, copy: u32) {
        for routes in std::iter::once(&mut self.main).chain(self.own.iter_mut().flatten()) {
            routes.duplicate(id, copy);
        }
    }

    /// The next link from `node` towards `destination`, for a packet and its frame number.
    #[inline(always)]
    pub fn next_hop(
        &mut self,
        topology: &MovingTopology,
        node: NodeId,
        destination: NodeId,
        packet: (u32, &Packet),
        now: Time,
    ) -> Result<LinkId, Stuck> {
        if self.is_layered() {
            return self.next_hop_across(topology, node, destination, packet, now);
        }
        self.main.next_hop(topology.actual(), node, destination, packet, now, topology.looked_at())
    }

    /// As [`RoutingDomains::next_hop`] where a scheme has the satellites: it routes from the terminal of the uplink to that of the
    /// downlink, which the path over the whole network gives.
    #[inline(never)]
    fn next_hop_across(
        &mut self,
        topology: &MovingTopology,
        node: NodeId,
        destination: NodeId,
        packet: (u32, &Packet),
        now: Time,
    ) -> Result<LinkId, Stuck> {
        let (topology, looked_at) = (topology.actual(), topology.looked_at());
        if topology.is_satellite(node) {
            let (all, inside) = self.layers(topology, node);
            let egress = inside.as_ref().and_then(|inside| inside.egress(packet.0)).unwrap_or(destination);
            return inside.unwrap_or(all).next_hop(topology, node, egress, packet, now, looked_at);
        }
        let hops = self.all().hops(topology, node, destination, looked_at).ok_or(Stuck::NoPath)?;
        let first = hops.first().ok_or(Stuck::NoPath)?.to;
        let (all, inside) = self.layers(topology, first);
        let first_hop = inside.filter(|_| topology.is_satellite(first)).unwrap_or(all);
        let link = first_hop.next_hop(topology, node, destination, packet, now, looked_at)?;
        let next = topology.link(link).and_then(|state| state.other(node));
        if let Some(satellite) = next.filter(|next| topology.is_satellite(*next)) {
            let (all, inside) = self.layers(topology, satellite);
            if let Some(inside) = inside {
                let egress = egress(all, topology, satellite, &hops, destination, looked_at);
                inside.begin(packet.0, topology, egress.unwrap_or(destination), now);
            }
        }
        Ok(link)
    }

    /// The routes over the whole network.
    fn all(&mut self) -> &mut Routes {
        self.across.as_deref_mut().unwrap_or(&mut self.main)
    }

    /// The routes over the whole network, and those of the scheme in charge of `satellite`, if different.
    #[inline]
    fn layers(&mut self, topology: &Topology, satellite: NodeId) -> (&mut Routes, Option<&mut Routes>) {
        match &mut self.across {
            Some(across) => (across, Some(&mut self.main)),
            None => {
                let own = self.own.get_mut(topology.fleets().index_of(satellite));
                (&mut self.main, own.and_then(Option::as_mut))
            }
        }
    }

    /// Links from `node` on all paths towards `destination` that are up, by the nodes' global tables.
    pub fn next_links(&mut self, topology: &Topology, node: NodeId, destination: NodeId) -> Vec<LinkId> {
        self.main.next_links(topology, node, destination)
    }

    /// As [`RoutingDomains::next_hop`] on a step of a pinned path, over one constellation or any.
    pub fn next_hop_over(
        &mut self,
        over: Option<u32>,
        topology: &MovingTopology,
        [node, destination]: [NodeId; 2],
        packet: (u32, &Packet),
        now: Time,
    ) -> Result<LinkId, Stuck> {
        let (actual, looked_at) = (topology.actual(), topology.looked_at());
        self.over(over).next_hop(actual, node, destination, packet, now, looked_at)
    }

    /// The routes over one constellation, by number, or over the whole network.
    #[inline]
    fn over(&mut self, over: Option<u32>) -> &mut Routes {
        let own = self.within.iter_mut().find(|(known, _)| *known == over);
        own.map_or(&mut self.main, |(_, routes)| routes)
    }

    /// The links from one terminal to another as packets take them, each with the node that it leads to: by the scheme among
    /// satellites, and over ground links before and after them.
    pub fn hops(&mut self, topology: &MovingTopology, [from, to]: [NodeId; 2]) -> Option<Vec<Hop>> {
        let (topology, looked_at) = (topology.actual(), topology.looked_at());
        let ways = self.all().hops(topology, from, to, looked_at)?;
        if !self.is_layered() {
            return Some(ways);
        }
        let (mut hops, mut up, mut begin) = (Vec::new(), None, from);
        for hop in ways {
            let (_, inside) = self.layers(topology, up.map_or(hop.to, |(_, satellite)| satellite));
            match (up, topology.is_satellite(hop.to), inside) {
                (None, true, Some(_)) => up = Some((begin, hop.to)),
                (None, ..) => hops.push(hop),
                (Some(_), true, _) => {}
                (Some((begin, _)), false, inside) => {
                    hops.extend(inside?.hops(topology, begin, hop.to, looked_at)?);
                    up = None;
                }
            }
            begin = hop.to;
        }
        Some(hops)
    }

    /// As [`RoutingDomains::hops`] for a step of a pinned path.
    pub fn hops_over(
        &mut self,
        over: Option<u32>,
        topology: &MovingTopology,
        [from, to]: [NodeId; 2],
    ) -> Option<Vec<Hop>> {
        self.over(over).hops(topology.actual(), from, to, topology.looked_at())
    }

    /// Counts a packet that goes no further.
    pub fn stuck(&mut self, why: Stuck) {
        self.main.stuck(why);
    }

    /// Number of address changes of a terminal so far.
    pub fn address_changes(&self, terminal: usize) -> u64 {
        self.main.addresses.as_ref().map_or(0, |addresses| addresses.changes(terminal))
    }

    pub fn address_results(&self) -> Vec<AddressResult> {
        self.main.addresses.as_ref().map_or_else(Vec::new, |addresses| addresses.results())
    }

    pub fn result(&self, topology: &Topology) -> RoutingResult {
        self.main.result(topology)
    }
}

/// The terminal at which a packet that enters at `satellite` leaves the satellites: at the end of the hops in `planned`, or of the
/// present path from there if the terminal's knowledge was out of date and it took an antenna of another constellation.
fn egress(
    all: &mut Routes,
    topology: &Topology,
    satellite: NodeId,
    planned: &[Hop],
    destination: NodeId,
    looked_at: Time,
) -> Option<NodeId> {
    let fleet = |node| topology.is_satellite(node).then(|| topology.fleets().index_of(node));
    let as_planned = planned.first().is_some_and(|first| fleet(first.to) == fleet(satellite));
    let down = |hops: &[Hop]| hops.iter().map(|hop| hop.to).find(|node| !topology.is_satellite(*node));
    match as_planned {
        true => down(planned),
        false => all.hops(topology, satellite, destination, looked_at).as_deref().and_then(down),
    }
}

/// For each constellation with its own scheme, the routes within it; empty if none has one.
fn own_schemes(scenario: &scenario::Scenario, seed: Seed) -> Vec<Option<Routes>> {
    let own = |(index, fleet): (usize, scenario::PlacedFleet<'_>)| {
        let scheme = fleet.model.scheme.filter(|scheme| *scheme != scenario.routing.scheme)?;
        let routing = scenario::Routing { scheme, ..scenario.routing.clone() };
        Some(Routes::new(&routing, Selection::within(index), seed))
    };
    let own: Vec<Option<Routes>> = scenario.fleets().enumerate().map(own).collect();
    if own.iter().all(Option::is_none) { Vec::new() } else { own }
}

/// All links, with the scenario's preferences among constellations.
fn preferred(scenario: &scenario::Scenario) -> Selection {
    let prefer = &scenario.routing.prefer;
    if prefer.is_empty() {
        return Selection::default();
    }
    let rank = |fleet: scenario::PlacedFleet<'_>| {
        prefer.iter().position(|name| name == fleet.name).unwrap_or(prefer.len())
    };
    Selection::preferring(&scenario.fleets().map(rank).collect::<Vec<_>>())
}
