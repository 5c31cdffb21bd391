//! The network as one machine, and what it knows of itself.
//!
//! Follows the sans-IO contract; `forward.rs` holds what packets meet.
//! Leaves out hosts, applications, and the order of events, which whoever drives it decides by the agenda that both share.

use crate::account::Account;
use crate::agenda::{Agenda, Rank, Slot};
use crate::build::Built;
use crate::capture::{Capture, Captured};
use crate::constellation::satellite_named;
use crate::error::BuildError;
use crate::failures;
use crate::links::Links;
use crate::mesh::Mesh;
use crate::moving::Whereabouts;
use crate::mtu;
use crate::outlook::{Epoch, Outlook};
use crate::packets::Packets;
use crate::route::{Route, Way};
use crate::space::Space;
use crate::watch::Watch;
use skyhop_chance::Seed;
use skyhop_results::{
    AddressResult, DirectionResult, FailureResult, HandoverResult, LinkResult, RoutingResult,
};
use skyhop_scenario::network::SkyWay;
use skyhop_scenario::{Files, Scenario, network as plan};
use skyhop_topology::NodeId;
use skyhop_units::{Amount, Rate, Time};
use std::collections::BTreeMap;

/// Links, satellites, routes, and the packets among them.
pub struct Network {
    pub(crate) links: Links,
    pub(crate) mesh: Option<Box<Mesh>>,
    pub(crate) packets: Packets,
    pub(crate) captured: Captured,
    pub(crate) watch: Watch,
    pub(crate) clocks: Clocks,
    /// The wire whose arrivals are being delivered.
    pub(crate) draining: Option<u32>,
    pub(crate) packet_hops: u64,
    /// All links of satellites have just been looked at.
    pub(crate) surveyed: bool,
}

/// Slots of the agenda behind those of the wires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    /// Satellites that move.
    pub space: Slot,
    /// Links that go out by the clock.
    pub outages: Slot,
}

impl Clocks {
    fn of(links: &Links, agenda: &mut Agenda) -> Self {
        for wire in 0..links.wires.len() as u32 {
            agenda.add(Rank::link(wire));
        }
        let [space, outages] = [0, 1].map(|number| agenda.add(Rank::clock(number)));
        if links.space.is_some() {
            agenda.wake(space, Time::ZERO);
        }
        Self { space, outages }
    }
}

impl Network {
    /// The network of a checked scenario, whose paths are `plan`, at time 0. `files` are the files that it names. Its slots are
    /// the agenda's first.
    ///
    /// # Errors
    ///
    /// Orbits, elements, traces and names that only building finds wrong.
    pub fn new(
        scenario: &Scenario,
        plan: &plan::Network,
        files: &Files,
        seed: Seed,
        agenda: &mut Agenda,
    ) -> Result<Self, BuildError> {
        let Built { links, mesh, captured } = crate::build::build(scenario, plan, files, seed)?;
        let clocks = Clocks::of(&links, agenda);
        Ok(Self {
            watch: Watch::of(&links.wires),
            links,
            mesh,
            packets: Packets::new(),
            captured,
            clocks,
            draining: None,
            packet_hops: 0,
            surveyed: false,
        })
    }

    /// One account more, and its number.
    pub fn open_account(&mut self) -> u32 {
        self.packets.accounts.push(Account::default());
        self.packets.accounts.len() as u32 - 1
    }

    /// One route more, and its number. One that is watched is told of by [`Network::poll_route_change`].
    pub fn add_route(&mut self, route: Route, watched: bool) -> u32 {
        if let (Way::Pinned(pinned), Some(space)) = (&route.way, &mut self.links.space) {
            pinned.fleets().for_each(|fleet| space.pin(fleet));
        }
        self.watch.add(watched.then_some(&route.way), self.mesh.as_deref_mut());
        self.packets.routes.push(route);
        self.packets.routes.len() as u32 - 1
    }

    /// The tag of the next packet that was dropped or lost, of routes whose driver is told.
    pub fn poll_ended(&mut self) -> Option<u32> {
        self.packets.ended.pop_front()
    }

    /// The tag of the next packet of which a link has made one more, of routes whose driver is told: both will end.
    pub fn poll_copied(&mut self) -> Option<u32> {
        self.packets.copied.pop_front()
    }

    /// Whether a slot is the network's own, and its timeouts go to [`Network::handle_timeout`].
    #[inline]
    pub fn owns(&self, slot: Slot) -> bool {
        slot <= self.clocks.outages
    }

    /// Whether a slot of the network's is a clock that changes links and routes, and no link.
    #[inline]
    pub fn is_clock(&self, slot: Slot) -> bool {
        slot >= self.clocks.space
    }

    /// The packets of an account.
    pub fn account(&self, account: u32) -> Account {
        self.packets.accounts[account as usize]
    }

    /// The satellite of that name, or that place in its plane.
    ///
    /// # Errors
    ///
    /// A name that no satellite has, with the nearest.
    pub fn satellite(&self, name: &str) -> Result<NodeId, String> {
        let space = self.links.space.as_ref().ok_or("there are no satellites")?;
        satellite_named(&space.topology, name)
    }

    /// The terminal of that name, or the node of a link that is one graph with the satellites.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.links.space.as_ref()?.topology.node_named(name)
    }

    /// All terminals and nodes on the ground of a scenario with satellites, by name.
    pub fn nodes_by_name(&self) -> BTreeMap<String, NodeId> {
        let topology = self.links.space.as_ref().map(|space| &space.topology);
        let all = topology.into_iter().flat_map(|topology| {
            let placed = topology.constellation().len()..topology.nodes();
            placed.map(|index| NodeId(index as u32)).map(|node| (topology.node_name(node), node))
        });
        all.collect()
    }

    /// Whether packets of at most `largest` bytes may be larger than a link on the way carries. A sender that knows the MTU of
    /// its own link sends none above that.
    pub fn is_narrow(&self, way: &Way, largest: u32, knows_own: bool) -> bool {
        mtu::is_narrow(way, &self.links, largest, knows_own)
    }

    /// MTU of the first link of a way, as its end knows it.
    pub fn own_mtu(&self, way: &Way, backward: bool) -> Option<u32> {
        mtu::own_mtu(way, backward, &self.links)
    }

    /// The same of a route.
    pub fn own_mtu_of(&self, route: u32, backward: bool) -> Option<u32> {
        self.own_mtu(&self.packets.routes[route as usize].way, backward)
    }

    /// One-way delay in seconds of propagation from end to end of a route through satellites, and satellites on it, as it
    /// stands. `None` if there is no path, or the route is another.
    pub fn path(&mut self, route: u32) -> Option<(f64, usize)> {
        self.links.space.as_mut()?.path(&self.packets.routes[route as usize].way, false)
    }

    /// The parts of a route through satellites as it stands, and its round trip; `None` as for [`Network::path`].
    pub fn sky_way(&mut self, route: u32) -> Option<SkyWay> {
        self.links.space.as_mut()?.sky_way(&self.packets.routes[route as usize].way)
    }

    /// The same network ahead of time, with the routes that it has. From now on this one sees satellites move only by the epochs
    /// that [`Outlook::next`] gives and [`Network::look_ahead`] takes: an epoch that is late leaves everything as it was. `None` if
    /// there are no satellites.
    pub fn outlook(&mut self, now: Time) -> Option<Outlook> {
        let ends = |route: &Route| match &route.way {
            Way::Space(ends) => ends.to_vec(),
            Way::Pinned(pinned) => pinned.steps.iter().flatten().map(|step| step.to).collect(),
            Way::Wires(_) | Way::Mesh(_) => Vec::new(),
        };
        let destinations = self.packets.routes.iter().flat_map(ends).collect();
        Some(self.links.space.as_mut()?.outlook(destinations, now))
    }

    /// Takes an epoch that is to come, in their order.
    pub fn look_ahead(&mut self, epoch: Epoch) {
        if let Some(space) = &mut self.links.space {
            space.look_ahead(epoch);
        }
    }

    /// How many epochs were due and not there.
    pub fn late_looks(&self) -> u64 {
        self.links.space.as_ref().map_or(0, Space::late_looks)
    }

    /// Whether all links of satellites were looked at since this was last asked.
    pub fn take_surveyed(&mut self) -> bool {
        std::mem::take(&mut self.surveyed)
    }

    /// Wires whose ends stay where they are; those of satellites have higher numbers. Link k has wires 2k and 2k + 1.
    pub fn fixed_wires(&self) -> u32 {
        2 * self.links.fixed() as u32
    }

    /// Name of a wire's link.
    pub fn link_name(&self, wire: u32) -> &str {
        &self.links.names[wire as usize / 2]
    }

    /// Packets that wait for a wire.
    pub fn waiting(&mut self, wire: u32, now: Time) -> usize {
        self.links.waiting(wire, now)
    }

    /// A wire's rate and what its queue holds, as the scenario has them.
    pub fn capacity(&self, wire: u32) -> (Rate, Amount) {
        let wire = &self.links.wires[wire as usize];
        (wire.rate, wire.queue_limit)
    }

    /// Names of the captured link directions: the interfaces of a capture.
    pub fn captured(&self) -> &[String] {
        self.captured.names()
    }

    /// Hands packets of captured links to `capture`.
    pub fn set_capture(&mut self, capture: Box<dyn Capture + Send>) {
        self.captured.set(capture);
    }

    /// Packets that left a link, summed over links.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Most packets that were ever in the network at once: what memory grows with.
    pub fn most_frames(&self) -> usize {
        self.packets.frames.capacity()
    }

    /// Whether no packet has been made or lost track of: sent + duplicated = delivered + dropped + lost + in flight, and what is
    /// in flight is what the links hold. An error says what differs.
    pub fn check_conservation(&self) -> Result<(), String> {
        let (exist, in_flight) = (self.packets.frames.len(), self.packets.in_flight());
        let held: usize = self.links.wires.iter().map(|w| w.link.held()).sum();
        if in_flight == exist as u64 && held == exist {
            return Ok(());
        }
        Err(format!("accounts have {in_flight} packets in flight, links hold {held}, {exist} exist"))
    }

    /// What one wire has carried until `end`.
    pub fn direction_result(&self, wire: u32, end: Time) -> DirectionResult {
        self.links.result(wire as usize, end)
    }

    /// Links in order of their names; of satellites' links those that packets have seen.
    pub fn link_results(&self, end: Time) -> Vec<LinkResult> {
        let mut links = Vec::new();
        for (index, name) in self.links.names.iter().enumerate() {
            let [forward, reverse] = [2 * index, 2 * index + 1].map(|wire| self.links.result(wire, end));
            let seen = [&forward, &reverse].iter().any(|d| d.packets + d.dropped_packets > 0);
            if index < self.links.fixed() || seen {
                links.push(LinkResult { name: name.clone(), forward, reverse });
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        links
    }

    /// Terminals that move, by index and name.
    pub fn moving(&self) -> Vec<(usize, String)> {
        self.links.space.as_ref().map_or_else(Vec::new, Space::moving)
    }

    /// Where a terminal is at `now`; `None` if there is no such terminal.
    pub fn whereabouts(&self, terminal: usize, now: Time) -> Option<Whereabouts> {
        self.links.space.as_ref()?.whereabouts(terminal, now)
    }

    /// Changes of the addresses of terminals that move, and their cost.
    pub fn address_results(&self) -> Vec<AddressResult> {
        self.links.space.as_ref().map_or_else(Vec::new, Space::address_results)
    }

    /// Changes of satellite by terminal.
    pub fn handover_results(&self) -> Vec<HandoverResult> {
        self.links.space.as_ref().map_or(Vec::new(), Space::handover_results)
    }

    /// What of a constellation failed before `end`.
    pub fn failure_results(&self, end: Time) -> Vec<FailureResult> {
        let results = |space: &Space| failures::results(&space.outages, &space.topology, end.as_secs_f64());
        self.links.space.as_ref().map_or(Vec::new(), results)
    }

    /// What routing through a constellation took.
    pub fn routing_result(&self) -> Option<RoutingResult> {
        self.links.space.as_ref().map(Space::routing_result)
    }

    /// What a user should know before trusting the numbers.
    pub fn warnings(&self, now: Time) -> Vec<String> {
        let mut warnings = self.links.space.as_ref().map_or(Vec::new(), |space| space.warnings(now));
        warnings.extend(mtu::warnings(&self.links));
        warnings
    }
}
