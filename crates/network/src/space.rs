//! The moving part of a network: satellites, their links, and the paths through them.
//!
//! Follows HT 6.2: links and routes are updated every `update_interval`, delays are those at the instant of sending.
//! Differs: routes are computed when a packet first needs them after a change.
//! Leaves out routing (`domains.rs`) and the times of updates (`moving_topology.rs`).

use crate::apart::{stale, why_apart};
use crate::constellation::{satellites_of, without_failures};
use crate::domains::RoutingDomains;
use crate::error::BuildError;
use crate::failures;
use crate::ground::GroundGraph;
use crate::moving::Whereabouts;
use crate::moving_topology::MovingTopology;
use crate::outlook::{FutureEpochs, NetworkEpoch, Outlook};
use crate::pinned::{PinnedStep, StepOver};
use crate::route::Way;
use crate::routes::Stuck;
use crate::space_path::SpacePath;
use crate::transitions::Transitions;
use crate::wire::Wire;
use crate::wire_numbers::WireNumbers;
use skyhop_chance::Seed;
use skyhop_results::{AddressResult, FailureResult, HandoverResult, RoutingResult};
use skyhop_routing::Hop;
use skyhop_scenario::network::SkyWay;
use skyhop_scenario::{self as scenario, Files};
use skyhop_topology::{LinkChange, LinkId, LinkKind, NodeId, Outage, Topology};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;
use std::collections::BTreeSet;

pub(crate) struct Space {
    topology: MovingTopology,
    /// The failures, with their times.
    outages: Vec<Outage>,
    routes: RoutingDomains,
    /// Epochs computed by another thread, if there is one.
    ahead: Option<Box<FutureEpochs>>,
    transitions: Transitions,
    /// Packets without a path that left a terminal while both ends held a satellite.
    apart: u64,
    numbers: WireNumbers,
}

impl Space {
    pub fn build(
        scenario: &scenario::Scenario,
        files: &Files,
        ground: GroundGraph,
        first_wire: usize,
        seed: Seed,
    ) -> Result<Self, BuildError> {
        let satellites = satellites_of(scenario, files)?;
        let (mut topology, outages) = without_failures(satellites, scenario, files, ground, seed)?;
        // With several constellations there are no asynchronous checks.
        let clock = scenario.fleets().find_map(|fleet| Some((fleet.model.handover_check?, fleet)));
        if let Some((period, fleet)) = clock {
            let dither_s = fleet.model.handover_check_dither.as_secs_f64();
            let chance = seed.stream("constellation/handover-check");
            topology
                .check_asynchronously(period.as_secs_f64(), dither_s, chance)
                .map_err(|e| BuildError::new(&fleet.at.key("handover_check").to_string(), e))?;
        }
        let routes = RoutingDomains::new(scenario, &topology, seed);
        let numbers = WireNumbers::new(first_wire, &topology);
        let transitions = Transitions::new(&topology, seed);
        let update_interval =
            scenario.fleets().map(|fleet| fleet.model.update_interval).min().unwrap_or_default();
        Ok(Self {
            topology: MovingTopology::new(topology, &outages, routes.tells_failures(), update_interval),
            outages,
            routes,
            ahead: None,
            transitions,
            apart: 0,
            numbers,
        })
    }

    /// The topology at its last update.
    #[inline]
    pub fn topology(&self) -> &Topology {
        self.topology.actual()
    }

    /// Updates links and handovers to `now`; returns the changes, and true if all links were updated. [`Space::apply`] applies a
    /// change to its wires.
    pub fn update(&mut self, now: Time) -> (Vec<LinkChange>, bool) {
        if let Some(ahead) = &mut self.ahead {
            let epoch = ahead.take(now);
            return epoch.map_or((Vec::new(), false), |epoch| self.enter(epoch));
        }
        let (changes, whole) = self.topology.update(now);
        if whole || !changes.is_empty() {
            self.routes.refresh(&self.topology, &changes);
        }
        (changes, whole)
    }

    /// Changes to an epoch that was computed ahead.
    fn enter(&mut self, epoch: NetworkEpoch) -> (Vec<LinkChange>, bool) {
        let NetworkEpoch { whole, changes, topology, tables, .. } = epoch;
        self.topology = topology;
        if whole || !changes.is_empty() {
            self.routes.refresh(&self.topology, &changes);
            if let Some(tables) = tables {
                self.routes.take_tables(tables);
            }
        }
        (changes, whole)
    }

    /// A copy of the network to run ahead of time. From now on this one makes no updates of its own.
    pub fn outlook(&mut self, destinations: BTreeSet<NodeId>, now: Time) -> Outlook {
        // A network before its start updates at once.
        let next = if self.topology.is_new() { Time::ZERO } else { self.next_look(now) };
        self.ahead = Some(Box::new(FutureEpochs::new(next)));
        Outlook {
            topology: self.topology.clone(),
            next,
            tables: self.routes.empty_tables().map(|tables| (tables, destinations)),
        }
    }

    /// Takes a future epoch; see [`Space::outlook`].
    pub fn look_ahead(&mut self, epoch: NetworkEpoch) {
        if let Some(ahead) = &mut self.ahead {
            ahead.add(epoch);
        }
    }

    /// Number of epochs that were late.
    pub fn late_looks(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |ahead| ahead.late())
    }

    /// The numbers of the links' wires.
    pub fn wire_numbers(&self) -> WireNumbers {
        self.numbers
    }

    /// Returns true if there are ground links.
    pub fn has_ground(&self) -> bool {
        GroundGraph::is_in(self.topology())
    }

    /// Time of the next update.
    pub fn next_look(&self, now: Time) -> Time {
        match &self.ahead {
            Some(ahead) => ahead.next_look(now),
            None => self.topology.next_look(now),
        }
    }

    /// Pauses links that are being acquired; see [`Transitions::hold`].
    pub fn hold(&mut self, now: Time, wires: &mut [Wire], dropped: impl FnMut(u32)) -> Vec<u32> {
        self.transitions.hold(self.topology.actual(), self.numbers, now, wires, dropped)
    }

    /// Position and satellite of a terminal at `now`; `None` if there is no such terminal.
    pub fn whereabouts(&self, terminal: usize, now: Time) -> Option<Whereabouts> {
        let handovers = self.transitions.handovers(terminal)?;
        let address_changes = self.routes.address_changes(terminal);
        Whereabouts::of(terminal, self.topology(), now, handovers, address_changes)
    }

    pub fn address_results(&self) -> Vec<AddressResult> {
        self.routes.address_results()
    }

    pub fn handover_results(&self) -> Vec<HandoverResult> {
        self.transitions.results(self.topology())
    }

    /// Applies the change of a link to its two wires; packets that waited on what went down are passed to `dropped`.
    pub fn apply(
        &mut self,
        change: &LinkChange,
        now: Time,
        wires: &mut [Wire],
        mut dropped: impl FnMut(u32),
    ) {
        let at = self.numbers.of(change.link);
        let (was, is) = (change.was, change.is);
        self.transitions.count(change, self.topology.actual(), now, &mut wires[at..at + 2], &mut dropped);
        let acquiring = is.kind == LinkKind::Gsl && self.topology.actual().is_acquiring(change.link);
        let there = is.up || acquiring;
        for (index, from, to) in [(at, is.a, is.b), (at + 1, is.b, is.a)] {
            let wire = &mut wires[index];
            let old = wire.medium(Some(self.topology.actual()));
            // On the uplink, a terminal's packets wait for its next satellite; on the downlink, they wait in the satellite that
            // has lost it.
            let moved = wire.link.is_up() && there && (wire.from, wire.to) != (from, to);
            if (was.up && !there) || (moved && wire.from != from) {
                wire.link.set_down(now, &old, &mut dropped);
            }
            wire.link.set_peer(now, to.0, &old);
            (wire.from, wire.to) = (from, to);
            if there {
                wire.link.set_up();
            }
        }
    }

    /// Starts routing the packet of frame `id`.
    #[inline]
    pub fn begin(&mut self, id: u32, destination: NodeId, now: Time) {
        self.routes.begin(id, self.topology.actual(), destination, now);
    }

    /// Returns true if nodes may route by an older state than the present one.
    pub fn lag(&self) -> bool {
        self.routes.lag()
    }

    /// Registers that frame `copy` is a copy of frame `id`.
    pub fn duplicate(&mut self, id: u32, copy: u32) {
        self.routes.duplicate(id, copy);
    }

    /// The wire by which packets leave `node` on a link.
    #[inline]
    fn wire_from(&self, link: LinkId, node: NodeId) -> u32 {
        self.numbers.leaving(node, link, &self.topology().links()[link.index()])
    }

    /// Prepares for a step of a pinned path over one constellation, or over any.
    pub fn pin(&mut self, over: Option<u32>) {
        self.routes.pin(over);
    }

    /// The wire from `node` towards `destination`, for a packet and its frame number.
    #[inline(always)]
    pub fn next_wire(
        &mut self,
        node: NodeId,
        destination: NodeId,
        packet: (u32, &Packet),
        now: Time,
    ) -> Result<u32, Stuck> {
        let link = self.routes.next_hop(&self.topology, node, destination, packet, now)?;
        Ok(self.wire_from(link, node))
    }

    /// The wires from `node` on all paths towards `destination`.
    pub fn next_wires(&mut self, node: NodeId, destination: NodeId) -> Vec<u32> {
        let links = self.routes.next_links(self.topology.actual(), node, destination);
        links.into_iter().map(|link| self.wire_from(link, node)).collect()
    }

    /// As [`Space::next_wire`] on a step of a pinned path, over one constellation or any.
    pub fn next_wire_over(
        &mut self,
        over: Option<u32>,
        ends: [NodeId; 2],
        packet: (u32, &Packet),
        now: Time,
    ) -> Result<u32, Stuck> {
        let link = self.routes.next_hop_over(over, &self.topology, ends, packet, now)?;
        Ok(self.wire_from(link, ends[0]))
    }

    /// A direction of a path at present; `None` if there is none, or it uses no satellites.
    fn path_of(&mut self, way: &Way, backward: bool) -> Option<SpacePath> {
        let mut path = SpacePath::default();
        match way {
            Way::Space(ends) => {
                let [from, to] = [ends[usize::from(backward)], ends[usize::from(!backward)]];
                path.extend(from, self.routes.hops(&self.topology, [from, to])?);
            }
            Way::Pinned(pinned) => {
                let mut at = pinned.ends[usize::from(backward)];
                for &PinnedStep { over, to } in &pinned.steps[usize::from(backward)] {
                    match over {
                        StepOver::Wire(wire) => {
                            path.extend(at, [Hop { link: self.numbers.link_of(wire), to }])
                        }
                        StepOver::Space(over) => {
                            path.extend(at, self.routes.hops_over(over, &self.topology, [at, to])?);
                        }
                    }
                    at = to;
                }
            }
            Way::Wires(_) | Way::Mesh(_) => return None,
        }
        Some(path)
    }

    /// One-way propagation delay of a path at present, s, and the number of satellites on it.
    pub fn path(&mut self, way: &Way, backward: bool) -> Option<(f64, usize)> {
        let path = self.path_of(way, backward)?;
        let delay_s = path.delay_s(self.topology(), self.topology.looked_at().as_secs_f64())?;
        Some((delay_s, path.satellites(self.topology())))
    }

    /// The wires of a path at present, if packets get through now; `None` if there is no path, or a link of it is being acquired.
    pub fn way(&mut self, way: &Way) -> Option<Vec<u32>> {
        let path = self.path_of(way, false)?;
        if !path.is_open(self.topology()) {
            return None;
        }
        path.wires(self.topology(), self.numbers)
    }

    /// The wires of a direction of a path at present, also those that are being acquired; `None` if there is no path.
    pub fn wires_now(&mut self, way: &Way, backward: bool) -> Option<Vec<u32>> {
        self.path_of(way, backward)?.wires(self.topology(), self.numbers)
    }

    /// The parts of a path at present.
    pub fn sky_way(&mut self, way: &Way) -> Option<SkyWay> {
        let rtt_s = self.path(way, false)?.0 + self.path(way, true)?.0;
        let passes = self.path_of(way, false)?.segments(self.topology(), self.numbers)?;
        Some(SkyWay { rtt: Span::from_micros((1e6 * rtt_s) as u64), passes })
    }

    /// Counts a packet that goes no further on its pinned path.
    pub fn strand(&mut self, why: Stuck) {
        self.routes.stuck(why);
    }

    /// Counts a packet that goes no further than `node`.
    pub fn stuck(&mut self, why: Stuck, node: NodeId, destination: NodeId) {
        self.routes.stuck(why);
        let topology = self.topology.actual();
        let holds = |end: NodeId| {
            let links = topology.terminal_index(end).into_iter().flat_map(|end| topology.gsls(end));
            links.filter_map(|link| topology.link(link)).any(|link| link.up)
        };
        self.apart += u64::from(why == Stuck::NoPath && holds(node) && holds(destination));
    }

    /// Warnings about the satellites, at the end of a run.
    pub fn warnings(&self, now: Time) -> Vec<String> {
        let constellation = self.topology().constellation();
        let mut warnings: Vec<String> = stale(constellation).into_iter().collect();
        // Satellites that fail by the scenario still have a position.
        let gone = constellation.positions_ecef(now.as_secs_f64(), &mut Vec::new());
        if gone > 0 {
            warnings.push(format!(
                "{gone} satellites had no position at the end: their elements are too old or they have decayed"
            ));
        }
        if self.apart > 0 {
            warnings.push(format!(
                "{} packets found no path although both ends held satellites: {}",
                self.apart,
                why_apart(self.topology())
            ));
        }
        warnings
    }

    /// The failures that begin before `end`, in order of time.
    pub fn failure_results(&self, end: Time) -> Vec<FailureResult> {
        failures::results(&self.outages, self.topology(), end.as_secs_f64())
    }

    pub fn routing_result(&self) -> RoutingResult {
        self.routes.result(self.topology())
    }
}
