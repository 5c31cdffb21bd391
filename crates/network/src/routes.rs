//! Routing of packets by the tables or the scheme that nodes have at present.
//!
//! Follows HT 6.3 and 6.5: shortest paths known to all, or decisions of each satellite.
//! Differs: distances are those of the last change of the network; with a convergence time all nodes route by the state of that
//! time ago. Leaves out announcements as packets: they use no capacity and are never lost.

use crate::addresses::MovingAddresses;
use crate::tables::{NodeTables, Sharing, metric};
use skyhop_chance::Seed;
use skyhop_results::RoutingResult;
use skyhop_routing::flooding::{Flood, announce};
use skyhop_routing::scheme::{LinkCause, PacketHeader};
use skyhop_routing::{
    Centralised, Geographic, Hop, Hybrid, RoutingScheme, Selection, Shortest, Snapshot, Stranded, send,
};
use skyhop_scenario as scenario;
use skyhop_topology::{LinkChange, LinkId, LinkState, NodeId, Topology};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::collections::VecDeque;

/// The reason why a packet goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// The scheme knows no next hop.
    DeadEnd,
    /// There is no path.
    NoPath,
    /// The link in the tables is down, or by now leads elsewhere.
    LinkDown,
    /// The packet has crossed more links than any path has.
    HopLimit,
}

impl From<Stranded> for Stuck {
    fn from(why: Stranded) -> Self {
        match why {
            Stranded::DeadEnd => Self::DeadEnd,
            Stranded::NoPath => Self::NoPath,
        }
    }
}

/// A scheme as an enum, so that forwarding calls it without dynamic dispatch.
enum SchemeKind {
    Shortest(Shortest),
    Hybrid(Box<Hybrid>),
    Geographic(Geographic),
    Central(Box<Centralised>),
}

impl SchemeKind {
    fn new(model: &scenario::Routing) -> Self {
        match model.scheme {
            scenario::Scheme::Shortest | scenario::Scheme::Multipath => {
                Self::Shortest(Shortest::new(metric(model)))
            }
            scenario::Scheme::Hybrid => Self::Hybrid(Box::default()),
            scenario::Scheme::Geographic => Self::Geographic(Geographic::new(model.failure_radius)),
            scenario::Scheme::Central => Self::Central(Box::new(match model.upload_entry {
                Some(_) => Centralised::new().counting(),
                None => Centralised::new(),
            })),
        }
    }

    fn scheme(&mut self) -> &mut dyn RoutingScheme {
        match self {
            Self::Shortest(scheme) => scheme,
            Self::Hybrid(scheme) => &mut **scheme,
            Self::Geographic(scheme) => scheme,
            Self::Central(scheme) => &mut **scheme,
        }
    }

    fn next_hop(&mut self, known: &Snapshot, at: NodeId, header: &mut PacketHeader) -> Result<Hop, Stranded> {
        let view = known.view();
        match self {
            Self::Shortest(scheme) => scheme.next_hop(&view, at, header),
            Self::Hybrid(scheme) => scheme.next_hop(&view, at, header),
            Self::Geographic(scheme) => scheme.next_hop(&view, at, header),
            Self::Central(scheme) => scheme.next_hop(&view, at, header),
        }
    }
}

/// The knowledge by which nodes route.
enum Knowledge {
    /// Shortest paths over all forwarding nodes, including gateways.
    Tables(Box<NodeTables>),
    /// The satellites' knowledge, for the scheme.
    Network(Box<Snapshot>),
}

/// The routing of a run.
pub(crate) struct Routes {
    model: scenario::Routing,
    /// The scheme; `None` with global tables.
    protocol: Option<SchemeKind>,
    /// True if nodes have global tables without delay, the common case.
    direct: bool,
    /// The global tables in effect.
    tables: NodeTables,
    selection: Selection,
    sharing: Sharing,
    /// The knowledge of satellites without global tables; `None` before the first update.
    network: Option<Box<Snapshot>>,
    /// True after the first update.
    begun: bool,
    /// Knowledge that takes effect later, and when.
    coming: VecDeque<(Time, Knowledge)>,
    /// True if global tables without delay must be refreshed from the topology at the next packet.
    stale: bool,
    /// Headers of packets in flight by frame number; they keep their allocations for reuse.
    headers: Vec<PacketHeader>,
    /// Addresses of moving terminals; `None` if no terminal moves.
    pub addresses: Option<Box<MovingAddresses>>,
    changes: u64,
    flood: Flood,
    /// Sum of entries per satellite, number of summands, and maximum.
    entries: (u64, u64, u64),
    stuck: [u64; 4],
}

impl Routes {
    /// Routing over the links of `selection`.
    pub fn new(model: &scenario::Routing, selection: Selection, seed: Seed) -> Self {
        let global = model.scheme.knows_all();
        let sharing = Sharing::new(model.spread, seed);
        Self {
            protocol: (!global).then(|| SchemeKind::new(model)),
            model: model.clone(),
            direct: global && model.convergence == Span::ZERO && model.flooding_hop_delay.is_none(),
            tables: NodeTables::new(model, &selection, sharing),
            selection,
            sharing,
            network: None,
            begun: false,
            coming: VecDeque::new(),
            stale: true,
            headers: Vec::new(),
            addresses: None,
            changes: 0,
            flood: Flood::default(),
            entries: (0, 0, 0),
            stuck: [0; 4],
        }
    }

    /// The node at which the packet of frame `id` leaves the satellites.
    pub fn egress(&self, id: u32) -> Option<NodeId> {
        self.headers.get(id as usize).map(|header| header.to)
    }

    /// Returns true if nodes may route by an older state than the present one, so that a path may appear or vanish between changes.
    pub fn lag(&self) -> bool {
        !self.direct
    }

    /// Returns true if failed links must be distinguished from those that orbits switch off.
    pub fn tells_failures(model: &scenario::Routing) -> bool {
        !model.scheme.knows_all() || model.flooding_hop_delay.is_some()
    }

    /// Takes a change of the network or of distances. `promised` is the network without failures.
    pub fn refresh(&mut self, promised: &Topology, actual: &Topology, changes: &[LinkChange], now: Time) {
        let first = !std::mem::replace(&mut self.begun, true);
        if let Some(addresses) = &mut self.addresses {
            addresses.look(actual, now);
        }
        self.changes += if first { 0 } else { changes.len() as u64 };
        self.stale = true;
        if self.direct {
            return;
        }
        let t_s = now.as_secs_f64();
        let mut delay = self.model.convergence;
        let network = (self.protocol.is_some() || self.model.flooding_hop_delay.is_some())
            .then(|| Box::new(Snapshot::of(promised, actual, &self.selection, t_s)));
        let told = !first && self.model.scheme != scenario::Scheme::Central;
        if let (Some(network), Some(per_hop), true) = (&network, self.model.flooding_hop_delay, told) {
            let flood = self.flood(network, promised, changes, per_hop);
            delay = delay.max(Span::from_secs_f64(flood.converged_s));
            self.flood = self.flood.and(flood);
        }
        let known = match (&self.protocol, network) {
            (Some(_), Some(network)) => Knowledge::Network(network),
            _ => {
                let mut tables = NodeTables::new(&self.model, &self.selection, self.sharing);
                tables.refresh(actual, t_s);
                Knowledge::Tables(Box::new(tables))
            }
        };
        // At first all nodes know the network. News never overtake older news.
        let counts = if first { now } else { now + delay };
        let counts = self.coming.back().map_or(counts, |(before, _)| counts.max(*before));
        self.coming.push_back((counts, known));
        self.advance(now);
    }

    fn flood(&self, network: &Snapshot, promised: &Topology, changes: &[LinkChange], per_hop: Span) -> Flood {
        let view = network.view();
        let mut protocol = SchemeKind::new(&self.model);
        let scheme = protocol.scheme();
        scheme.refresh(&view);
        // Changes by orbits are in the promised network too.
        let published = |change: &LinkChange| {
            let ground = view.topology().terminal_index(change.is.a).is_some();
            ground || promised.link(change.link) == Some(&change.is)
        };
        // The far end of a constellation's link is one of its satellites.
        let all = self.selection.only().is_none();
        let shown = changes.iter().copied();
        let shown = shown.filter(|change| all || view.members().contains(&change.is.b.0));
        let (foreseen, failures): (Vec<LinkChange>, Vec<LinkChange>) = shown.partition(published);
        let per_hop_s = per_hop.as_secs_f64();
        let told = |changes: &[LinkChange], cause| announce(scheme, &view, changes, cause, per_hop_s);
        told(&foreseen, LinkCause::Published).and(told(&failures, LinkCause::Failure))
    }

    /// Brings into effect the knowledge that is due by `now`.
    fn advance(&mut self, now: Time) {
        while self.coming.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, known)) = self.coming.pop_front() else { return };
            match known {
                Knowledge::Tables(mut tables) => {
                    tables.continues(&mut self.tables);
                    self.tables = *tables;
                }
                Knowledge::Network(network) => self.enter(network),
            }
        }
    }

    fn enter(&mut self, network: Box<Snapshot>) {
        let Some(protocol) = &mut self.protocol else { return };
        let view = network.view();
        let scheme = protocol.scheme();
        scheme.refresh(&view);
        for satellite in view.members().map(NodeId) {
            let entries = scheme.state(&view, satellite) as u64;
            let (sum, count, most) = self.entries;
            self.entries = (sum + entries, count + 1, most.max(entries));
        }
        self.network = Some(network);
    }

    /// Starts routing the packet of frame `id`.
    pub fn begin(&mut self, id: u32, topology: &Topology, destination: NodeId, now: Time) {
        if self.protocol.is_none() {
            return;
        }
        let place = match &mut self.addresses {
            Some(addresses) => {
                topology.terminal_index(destination).and_then(|end| addresses.written(end, now))
            }
            None => None,
        };
        let place = place.or_else(|| topology.position_ecef(destination, now.as_secs_f64()));
        let only = self.selection.only();
        let serving = held(topology, destination, only).next().map(|(_, satellite)| satellite);
        let plane = serving.and_then(|satellite| topology.constellation().plane_slot(satellite.0));
        let id = id as usize;
        let nowhere = skyhop_orbit::Ecef(skyhop_orbit::Vec3::new(0.0, 0.0, 0.0));
        while self.headers.len() <= id {
            self.headers.push(PacketHeader {
                to: NodeId(0),
                place: nowhere,
                plane: None,
                carried: Vec::new(),
            });
        }
        let header = &mut self.headers[id];
        header.to = destination;
        header.place = place.unwrap_or(nowhere);
        header.plane = plane.map(|(plane, _)| plane);
        header.carried.clear();
    }

    /// Copies the header of frame `id` to that of its copy.
    pub fn duplicate(&mut self, id: u32, copy: u32) {
        let Some(header) = self.headers.get(id as usize).cloned() else { return };
        let at = copy as usize;
        if at >= self.headers.len() {
            self.headers.resize(at + 1, header);
        } else {
            self.headers[at] = header;
        }
    }

    /// The next link from `node` towards `destination` for the packet of frame `id`.
    #[inline(always)]
    pub fn next_hop(
        &mut self,
        topology: &Topology,
        node: NodeId,
        destination: NodeId,
        (id, packet): (u32, &Packet),
        now: Time,
        updated: Time,
    ) -> Result<LinkId, Stuck> {
        if !self.direct {
            return self.known_hop(topology, node, destination, (id, packet), now);
        }
        if self.stale {
            self.look(topology, updated);
        }
        self.tables.next_hop(node, destination, packet).map(|hop| hop.link).ok_or(Stuck::NoPath)
    }

    /// Links from `node` on all paths towards `destination` that are up, by the nodes' global tables.
    pub fn next_links(&mut self, topology: &Topology, node: NodeId, destination: NodeId) -> Vec<LinkId> {
        let up = |link: &LinkId| topology.link(*link).is_some_and(|state| state.up);
        self.tables.next_hops(node, destination).iter().map(|hop| hop.link).filter(up).collect()
    }

    /// Like [`Routes::next_hop`], by the nodes' knowledge, which may be out of date.
    #[inline(never)]
    fn known_hop(
        &mut self,
        topology: &Topology,
        node: NodeId,
        destination: NodeId,
        (id, packet): (u32, &Packet),
        now: Time,
    ) -> Result<LinkId, Stuck> {
        self.advance(now);
        // The ends of a ground link know its state at once.
        let only = self.selection.only();
        if let Some((link, _)) = held(topology, destination, only).find(|(_, satellite)| *satellite == node) {
            return Ok(link);
        }
        let stands = |link: LinkId| {
            let there = |state: &LinkState| state.up || topology.is_acquiring(link);
            topology.link(link).is_some_and(|state| there(state) && state.other(node).is_some())
        };
        // Schemes run on satellites; a terminal with ground links takes no part.
        let relays = match self.protocol {
            Some(_) => topology.is_satellite(node),
            None => topology.relays(node),
        };
        if let (Some(addresses), Some(network)) = (&mut self.addresses, self.network.as_deref())
            && topology.is_satellite(node)
        {
            let header = &mut self.headers[id as usize];
            if !addresses.arrive(topology, network, node, header, now) {
                return Err(Stuck::DeadEnd);
            }
        }
        let planned = match (&self.network, &mut self.protocol) {
            (_, None) => {
                self.tables.next_hop(node, destination, packet).map(|hop| hop.link).ok_or(Stuck::NoPath)
            }
            (Some(network), Some(protocol)) if relays => {
                let hop = protocol.next_hop(network, node, &mut self.headers[id as usize]);
                hop.map(|hop| hop.link).map_err(Stuck::from)
            }
            _ => Err(Stuck::NoPath),
        };
        match planned {
            Ok(link) if stands(link) => Ok(link),
            // A terminal uses any of its antennas that has a satellite.
            planned if !relays => {
                let held = held(topology, node, only).next().map(|(link, _)| link);
                held.ok_or(planned.err().unwrap_or(Stuck::LinkDown))
            }
            Ok(_) => Err(Stuck::LinkDown),
            Err(why) => Err(why),
        }
    }

    /// Refreshes the global tables from the present network.
    #[inline(never)]
    fn look(&mut self, topology: &Topology, updated: Time) {
        self.tables.refresh(topology, updated.as_secs_f64());
        self.stale = false;
    }

    /// Tables without routes, if nodes have global tables without delay.
    pub fn empty_tables(&self) -> Option<NodeTables> {
        self.direct.then(|| NodeTables::new(&self.model, &self.selection, self.sharing))
    }

    /// Takes tables that were computed elsewhere for the present network.
    pub fn take_tables(&mut self, mut tables: NodeTables) {
        tables.continues(&mut self.tables);
        self.tables = tables;
        self.stale = false;
    }

    /// Counts a packet that goes no further.
    pub fn stuck(&mut self, why: Stuck) {
        self.stuck[why as usize] += 1;
    }

    /// The links of the present path, each with the node that it leads to.
    pub fn hops(&mut self, topology: &Topology, from: NodeId, to: NodeId, now: Time) -> Option<Vec<Hop>> {
        self.advance(now);
        if let (Some(network), Some(protocol)) = (&self.network, &mut self.protocol) {
            let trip = send(protocol.scheme(), &network.view(), from, to);
            let hops = trip.links.iter().zip(&trip.nodes[1..]).map(|(&link, &to)| Hop { link, to });
            return trip.delivered().then(|| hops.collect());
        }
        if self.direct && self.stale {
            self.look(topology, now);
        }
        self.tables.hops(from, to)
    }

    pub fn result(&self, topology: &Topology) -> RoutingResult {
        let (sum, count, most) = self.entries;
        let all = topology.nodes() as u64;
        let (mean, most) = match count {
            // Global tables contain every node.
            0 => (all as f64, all),
            _ => (sum as f64 / count as f64, most),
        };
        let flooded = self.model.flooding_hop_delay.is_some();
        let uploads = match &self.protocol {
            Some(SchemeKind::Central(scheme)) => scheme.uploads(),
            _ => None,
        };
        let entry_b = self.model.upload_entry.map_or(0, |entry| entry.get());
        let [dead_end, no_path, link_down, hop_limit] = self.stuck;
        RoutingResult {
            scheme: self.model.scheme.name(),
            state_entries_max: most,
            state_entries_mean: mean,
            topology_changes: self.changes,
            announcements: flooded.then_some(self.flood.origins),
            messages: flooded.then_some(self.flood.messages),
            convergence_max_s: flooded
                .then_some(self.flood.converged_s.max(self.model.convergence.as_secs_f64())),
            uploads: uploads.map(|uploads| uploads.messages),
            uploaded_entries: uploads.map(|uploads| uploads.entries),
            upload_bytes: uploads.map(|uploads| uploads.entries * entry_b),
            stranded_dead_end: dead_end,
            stranded_no_path: no_path,
            stranded_link_down: link_down,
            stranded_hop_limit: hop_limit,
        }
    }
}

/// The links on which a terminal holds or acquires a satellite; those of one constellation if `only` is given.
fn held(
    topology: &Topology,
    node: NodeId,
    only: Option<usize>,
) -> impl Iterator<Item = (LinkId, NodeId)> + '_ {
    let links = topology.terminal_index(node).into_iter().flat_map(|terminal| topology.gsls(terminal));
    let there = |link: LinkId| {
        let state = topology.link(link)?;
        (state.up || topology.is_acquiring(link)).then_some((link, state.b))
    };
    let shown = move |satellite| only.is_none_or(|only| topology.fleets().index_of(satellite) == only);
    links.filter_map(there).filter(move |(_, satellite)| shown(*satellite))
}
