//! The network as one machine, and its counters.
//!
//! Follows the sans-IO contract; `forward.rs` has the path of packets.
//! Leaves out hosts, applications, and the order of events, which the driver takes from the agenda that both share.

use crate::account::Account;
use crate::agenda::{Agenda, Rank, Slot};
use crate::build::Built;
use crate::capture::{Capture, Captured, CapturedDirection};
use crate::constellation::satellite_named;
use crate::error::BuildError;
use crate::links::Links;
use crate::mesh::Mesh;
use crate::moving::{Whereabouts, moving_terminals};
use crate::mtu;
use crate::outlook::{NetworkEpoch, Outlook};
use crate::packets::Packets;
use crate::resequencing::Edges;
use crate::route::{Route, Way};
use crate::space::Space;
use crate::watch::Watch;
use crate::wire::Wire;
use skyhop_chance::Seed;
use skyhop_results::{
    AddressResult, DirectionResult, FailureResult, HandoverResult, LinkResult, RoutingResult, UplinkResult,
};
use skyhop_scenario::network::{NetworkPlan, SkyWay};
use skyhop_scenario::{Files, Scenario, Spread};
use skyhop_topology::NodeId;
use skyhop_units::{Amount, Rate, Span, Time};
use std::collections::BTreeMap;

/// Links, satellites, routes, and the packets in them.
pub struct Network {
    pub(crate) links: Links,
    pub(crate) mesh: Option<Box<Mesh>>,
    pub(crate) packets: Packets,
    pub(crate) captured: Captured,
    pub(crate) watch: Watch,
    /// Number of waiting packets at which nodes divert packets to another path, if they do.
    pub(crate) divert_at: Option<u32>,
    pub(crate) clocks: Clocks,
    /// Route of the links' own messages, once there are any.
    pub(crate) control: Option<u32>,
    /// Edges that put packets into order, if any flow has one.
    pub(crate) edges: Option<Box<Edges>>,
    /// The wire whose arrivals are being delivered.
    pub(crate) draining: Option<u32>,
    pub(crate) packet_hops: u64,
    /// True if all satellite links have just been updated.
    pub(crate) surveyed: bool,
}

/// The agenda's slots after those of the wires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    /// Edges at which packets wait for those before them.
    pub edges: Slot,
    /// Updates of satellites.
    pub space: Slot,
    /// Scheduled outages of links.
    pub outages: Slot,
    /// Frames of uplinks, if there are any.
    pub frames: Option<Slot>,
}

impl Clocks {
    fn of(links: &Links, agenda: &mut Agenda) -> Self {
        for wire in 0..links.wires.len() as u32 {
            agenda.add(Rank::link(wire));
        }
        let edges = agenda.add(Rank::EDGES);
        let [space, outages] = [0, 1].map(|number| agenda.add(Rank::clock(number)));
        if links.space.is_some() {
            agenda.wake(space, Time::ZERO);
        }
        let frames = links.uplinks.as_ref().map(|uplinks| {
            let frames = agenda.add(Rank::clock(2));
            if let Some(at) = uplinks.next_frame() {
                agenda.wake(frames, at);
            }
            frames
        });
        Self { edges, space, outages, frames }
    }

    /// The last of the network's slots.
    #[inline]
    fn last(&self) -> Slot {
        self.frames.unwrap_or(self.outages)
    }
}

impl Network {
    /// The network of a checked scenario, whose paths are `plan`, at time 0. `files` are the files that it names. Its slots are
    /// the first of the agenda.
    ///
    /// # Errors
    ///
    /// Invalid orbits, elements, traces and names that only building detects.
    pub fn new(
        scenario: &Scenario,
        plan: &NetworkPlan,
        files: &Files,
        seed: Seed,
        agenda: &mut Agenda,
    ) -> Result<Self, BuildError> {
        let Built { links, mesh, captured } = crate::build::build(scenario, plan, files, seed)?;
        let clocks = Clocks::of(&links, agenda);
        let routing = &scenario.routing;
        let diverts = routing.spread == Spread::Congestion;
        Ok(Self {
            divert_at: diverts.then(|| routing.divert_at.unwrap_or(10)),
            watch: Watch::of(&links.wires),
            links,
            mesh,
            packets: Packets::new(),
            captured,
            clocks,
            control: None,
            edges: None,
            draining: None,
            packet_hops: 0,
            surveyed: false,
        })
    }

    /// Opens an account and returns its number.
    pub fn open_account(&mut self) -> u32 {
        self.packets.accounts.push(Account::default());
        self.packets.accounts.len() as u32 - 1
    }

    /// Adds a route and returns its number. Changes of a watched route are returned by [`Network::poll_route_change`].
    pub fn add_route(&mut self, route: Route, watched: bool) -> u32 {
        if let (Way::Pinned(pinned), Some(space)) = (&route.way, &mut self.links.space) {
            pinned.fleets().for_each(|fleet| space.pin(fleet));
        }
        self.watch.add(watched.then_some(&route.way), self.mesh.as_deref_mut());
        self.packets.routes.push(route);
        self.packets.routes.len() as u32 - 1
    }

    /// Puts the packets of a route into order at both of its ends, where one waits for those before it for at most `wait`.
    pub fn keep_order(&mut self, route: u32, wait: Span) {
        self.edges.get_or_insert_default().add(route, wait);
    }

    /// Tag of the next packet that was dropped or lost, of routes with [`Route::told`].
    pub fn poll_ended(&mut self) -> Option<u32> {
        self.packets.ended.pop_front()
    }

    /// Tag of the next packet that a link has duplicated, of routes with [`Route::told`]; both copies will end.
    pub fn poll_copied(&mut self) -> Option<u32> {
        self.packets.copied.pop_front()
    }

    /// Returns true if a slot is the network's own, whose timeouts go to [`Network::handle_timeout`].
    #[inline]
    pub fn owns(&self, slot: Slot) -> bool {
        slot <= self.clocks.last()
    }

    /// Returns true if a slot of the network's is a clock that changes links and routes, false for a link.
    #[inline]
    pub fn is_clock(&self, slot: Slot) -> bool {
        slot >= self.clocks.space
    }

    /// Counters of an account.
    pub fn account(&self, account: u32) -> Account {
        self.packets.accounts[account as usize]
    }

    /// The satellite of this name, or of this place in its plane.
    ///
    /// # Errors
    ///
    /// A name that no satellite has, with the nearest.
    pub fn satellite(&self, name: &str) -> Result<NodeId, String> {
        let space = self.links.space.as_ref().ok_or("there are no satellites")?;
        satellite_named(space.topology(), name)
    }

    /// The terminal of this name, or the node of a link in the satellites' graph.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.links.space.as_ref()?.topology().node_named(name)
    }

    /// All terminals and ground nodes of a scenario with satellites, by name.
    pub fn nodes_by_name(&self) -> BTreeMap<String, NodeId> {
        let topology = self.links.space.as_ref().map(Space::topology);
        let all = topology.into_iter().flat_map(|topology| {
            let placed = topology.constellation().len()..topology.nodes();
            placed.map(|index| NodeId(index as u32)).map(|node| (topology.node_name(node), node))
        });
        all.collect()
    }

    /// Returns true if packets of at most `largest` bytes may exceed the MTU of a link on the path. A sender that `knows_own`
    /// link's MTU sends none above that.
    pub fn is_narrow(&self, way: &Way, largest: u32, knows_own: bool) -> bool {
        mtu::is_narrow(way, &self.links, largest, knows_own)
    }

    /// MTU of the first link of a path, known to the end there.
    pub fn own_mtu(&self, way: &Way, backward: bool) -> Option<u32> {
        mtu::own_mtu(way, backward, &self.links)
    }

    /// Like [`Network::own_mtu`], for a route.
    pub fn own_mtu_of(&self, route: u32, backward: bool) -> Option<u32> {
        self.own_mtu(&self.packets.routes[route as usize].way, backward)
    }

    /// The largest rate at which packets of a route ever leave its end; `None` if that is not known before they do.
    pub fn own_rate_of(&self, route: u32, backward: bool) -> Option<Rate> {
        mtu::own_rate(&self.packets.routes[route as usize].way, backward, &self.links)
    }

    /// Present one-way propagation delay of a route through satellites, s, and the number of satellites on it. `None` if there is
    /// no path, or the route uses no satellites.
    pub fn path(&mut self, route: u32) -> Option<(f64, usize)> {
        self.links.space.as_mut()?.path(&self.packets.routes[route as usize].way, false)
    }

    /// The parts of a route through satellites at present, and its round-trip time; `None` as for [`Network::path`].
    pub fn sky_way(&mut self, route: u32) -> Option<SkyWay> {
        self.links.space.as_mut()?.sky_way(&self.packets.routes[route as usize].way)
    }

    /// A copy of the network with its present routes, to be run ahead of time. From now on this network updates satellites only
    /// by the epochs that [`Outlook::next`] computes and [`Network::look_ahead`] takes; while an epoch is late nothing changes.
    /// `None` if there are no satellites.
    pub fn outlook(&mut self, now: Time) -> Option<Outlook> {
        let ends = |route: &Route| match &route.way {
            Way::Space(ends) => ends.to_vec(),
            Way::Pinned(pinned) => pinned.steps.iter().flatten().map(|step| step.to).collect(),
            Way::Wires(_) | Way::Mesh(_) => Vec::new(),
        };
        let destinations = self.packets.routes.iter().flat_map(ends).collect();
        Some(self.links.space.as_mut()?.outlook(destinations, now))
    }

    /// Takes a future epoch; they must come in order.
    pub fn look_ahead(&mut self, epoch: NetworkEpoch) {
        if let Some(space) = &mut self.links.space {
            space.look_ahead(epoch);
        }
    }

    /// Number of epochs that were late.
    pub fn late_looks(&self) -> u64 {
        self.links.space.as_ref().map_or(0, Space::late_looks)
    }

    /// Returns true if all satellite links have been updated since the last call.
    pub fn take_surveyed(&mut self) -> bool {
        std::mem::take(&mut self.surveyed)
    }

    /// Number of wires with fixed ends; satellite wires have higher numbers. Link k has wires 2k and 2k + 1.
    pub fn fixed_wires(&self) -> u32 {
        2 * self.links.fixed() as u32
    }

    /// Name of a wire's link.
    pub fn link_name(&self, wire: u32) -> &str {
        &self.links.names[wire as usize / 2]
    }

    /// Number of packets that wait for a wire.
    pub fn waiting(&mut self, wire: u32, now: Time) -> usize {
        self.links.waiting(wire, now)
    }

    /// Rate of a wire and capacity of its queue, by the scenario.
    pub fn capacity(&self, wire: u32) -> (Rate, Amount) {
        let wire = &self.links.wires[wire as usize];
        (wire.rate, wire.queue_limit)
    }

    /// The captured link directions, which are the interfaces of a capture.
    pub fn captured(&self) -> &[CapturedDirection] {
        self.captured.directions()
    }

    /// Sets the receiver of captured packets.
    pub fn set_capture(&mut self, capture: Box<dyn Capture + Send>) {
        self.captured.set(capture);
    }

    /// Packets that left a link, summed over links.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Largest number of packets that were in the network at once, which determines its memory.
    pub fn most_frames(&self) -> usize {
        self.packets.frames.capacity()
    }

    /// Checks conservation of packets: sent + duplicated = delivered + dropped + lost + in flight, and the packets in flight are
    /// those that the links hold. The error says what differs.
    pub fn check_conservation(&self) -> Result<(), String> {
        let (exist, in_flight) = (self.packets.frames.len(), self.packets.in_flight());
        let beyond = |w: &Wire| w.reconstructor.as_ref().map_or(0, |box_| box_.held());
        let on_links: usize = self.links.wires.iter().map(|w| w.link.held() + beyond(w)).sum();
        let held = on_links + self.edges.as_ref().map_or(0, |edges| edges.held());
        if in_flight == exist as u64 && held == exist {
            return Ok(());
        }
        Err(format!("accounts have {in_flight} packets in flight, links hold {held}, {exist} exist"))
    }

    /// The result of one wire up to `end`.
    pub fn direction_result(&self, wire: u32, end: Time) -> DirectionResult {
        self.links.result(wire as usize, end)
    }

    /// Results of links in order of name; of satellite links only those that packets have used.
    pub fn link_results(&self, end: Time) -> Vec<LinkResult> {
        let mut links = Vec::new();
        for (index, name) in self.links.names.iter().enumerate() {
            let [forward, reverse] = [2 * index, 2 * index + 1].map(|wire| self.links.result(wire, end));
            let seen = [&forward, &reverse].iter().any(|d| d.packets + d.packets_dropped > 0);
            if index < self.links.fixed() || seen {
                links.push(LinkResult { name: name.clone(), forward, reverse });
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        links
    }

    /// Index and name of each moving terminal.
    pub fn moving(&self) -> Vec<(usize, String)> {
        self.links.space.as_ref().map_or_else(Vec::new, |space| moving_terminals(space.topology()))
    }

    /// Position of a terminal at `now`; `None` if there is no such terminal.
    pub fn whereabouts(&self, terminal: usize, now: Time) -> Option<Whereabouts> {
        self.links.space.as_ref()?.whereabouts(terminal, now)
    }

    /// Address changes of moving terminals, and their cost.
    pub fn address_results(&self) -> Vec<AddressResult> {
        self.links.space.as_ref().map_or_else(Vec::new, Space::address_results)
    }

    /// Handovers of each terminal.
    pub fn handover_results(&self) -> Vec<HandoverResult> {
        self.links.space.as_ref().map_or(Vec::new(), Space::handover_results)
    }

    /// Slots of uplinks on demand, up to `end`.
    pub fn uplink_results(&mut self, end: Time) -> Vec<UplinkResult> {
        let Links { uplinks, wires, space, .. } = &mut self.links;
        let topology = space.as_ref().map(Space::topology);
        uplinks.as_ref().map_or_else(Vec::new, |uplinks| uplinks.results(end, wires, topology))
    }

    /// Failures in the constellation that began before `end`.
    pub fn failure_results(&self, end: Time) -> Vec<FailureResult> {
        self.links.space.as_ref().map_or(Vec::new(), |space| space.failure_results(end))
    }

    /// Counters of routing through a constellation.
    pub fn routing_result(&self) -> Option<RoutingResult> {
        self.links.space.as_ref().map(Space::routing_result)
    }

    /// Warnings that affect the interpretation of the results.
    pub fn warnings(&self, now: Time) -> Vec<String> {
        let mut warnings = self.links.space.as_ref().map_or(Vec::new(), |space| space.warnings(now));
        warnings.extend(mtu::warnings(&self.links));
        warnings
    }
}
