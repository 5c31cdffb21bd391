//! A run: the network, stepped from event to event.
//!
//! Follows the sans-IO contract of networks and endpoints: one input, then drain, then wait.
//! Differs from an emulator only in the source of time.
//! Leaves out everything but the order of events.

use crate::arrivals::ProgramArrivals;
use crate::association::AssociationState;
use crate::bottlenecks::flow_results;
use crate::flow::{App, FlowState};
use crate::ids::{Actor, ConversationId};
use crate::observe::Observer;
use crate::route_owners::{LegWays, RouteOwner, RouteOwners};
use crate::schedule::Schedule;
use crate::slots::Owner;
use crate::splice::SpliceCounts;
use crate::unfinished::Unfinished;
use skyhop_network::{Capture, Network, Slot};
use skyhop_results::{PopulationResult, RunResult};
use skyhop_units::Time;

/// Largest number of warnings reported, since each of ten thousand flows may have one.
const MOST_WARNINGS: usize = 50;

/// A scenario being simulated.
pub struct Simulation {
    pub(crate) label: RunLabel,
    pub(crate) schedule: Schedule,
    pub(crate) network: Network,
    pub(crate) routes: RouteOwners,
    pub(crate) flows: Vec<FlowState>,
    /// Associations in order of name.
    pub(crate) associations: Vec<AssociationState>,
    /// Flows that have something to do at this instant.
    pub(crate) due: Vec<u32>,
    /// Actors that have something to do at this instant.
    pub(crate) touched: Vec<(ConversationId, Actor)>,
    /// Splices by name, and their counters.
    pub(crate) places: Vec<SpliceCounts>,
    pub(crate) observer: Observer,
    pub(crate) unfinished: Unfinished,
    pub(crate) arrivals: ProgramArrivals,
}

/// The facts of a scenario that its result repeats.
pub(crate) struct RunLabel {
    pub name: String,
    pub seed: u64,
    /// Flows that the scenario defines together.
    pub populations: Vec<PopulationResult>,
    /// True if each of these flows is reported individually.
    pub each_member: bool,
}

impl Simulation {
    /// Takes no samples, for a run of which only the totals are used.
    pub fn without_series(&mut self) {
        self.observer.close();
        self.schedule.stop_samples();
    }

    /// The present paths of the legs of the first hundred flows through satellites, by index of flow and leg. Legs without a path
    /// are omitted.
    pub fn leg_ways(&mut self) -> LegWays {
        self.routes.leg_ways(&mut self.network)
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.schedule.now()
    }

    /// Latest end of the run.
    pub fn end(&self) -> Time {
        self.schedule.end()
    }

    /// Returns true if the end is reached, or every flow has completed.
    pub fn finished(&self) -> bool {
        self.schedule.now() >= self.schedule.end() || self.unfinished.none()
    }

    /// The captured link directions, which are the interfaces of a capture.
    pub fn captured(&self) -> &[skyhop_network::CapturedDirection] {
        self.network.captured()
    }

    /// Sets the receiver of captured packets.
    pub fn set_capture(&mut self, capture: Box<dyn Capture + Send>) {
        self.network.set_capture(capture);
    }

    /// Runs until `until`, the end, or until every flow has completed.
    pub fn run_until(&mut self, until: Time) {
        while !self.unfinished.none() {
            if !self.step_by(until) {
                return self.schedule.pass(until);
            }
        }
    }

    /// Like [`Simulation::run_until`], but stops at an instant at which a packet arrives at an end whose packets are held.
    pub fn run_until_held(&mut self, until: Time) {
        while !self.arrivals.holds_any() && !self.unfinished.none() {
            if !self.step_by(until) {
                return self.schedule.pass(until);
            }
        }
    }

    /// Handles the next event. Returns false if there is none before the end.
    pub fn step(&mut self) -> bool {
        !self.unfinished.none() && self.step_by(self.schedule.end())
    }

    /// Handles the next event if it is due by `until`.
    fn step_by(&mut self, until: Time) -> bool {
        let Some(slot) = self.schedule.pop(until) else { return false };
        let Some(owner) = self.schedule.owner(slot) else {
            self.handle_network(slot);
            if !self.due.is_empty() {
                self.drive_associations();
            }
            return true;
        };
        match owner {
            Owner::Actor(flow, conversation, actor) => self.handle_actor(flow as usize, conversation, actor),
            Owner::App(flow) => self.handle_app(flow as usize),
            Owner::Association(number, side) => self.handle_association(number, side),
            Owner::Samples => {
                let now = self.schedule.now();
                if !self.associations.is_empty() {
                    self.refresh_streams(now);
                }
                let Self { flows, network, places, associations, .. } = self;
                let next = self.observer.look(now, flows, network, places, associations);
                self.schedule.wake(slot, next);
            }
            Owner::Nobody => {}
        }
        // Packets and timers of connections at gateways have work for their associations.
        if !self.due.is_empty() {
            self.drive_associations();
        }
        true
    }

    /// Handles a timeout of the network, and passes delivered packets to hosts.
    fn handle_network(&mut self, slot: Slot) {
        let mut next = self.schedule.handle_network(&mut self.network, slot);
        while let Some(delivery) = next {
            self.deliver(delivery);
            next = self.schedule.poll_delivery(&mut self.network);
        }
        if self.network.is_clock(slot) {
            self.network_changed();
        }
    }

    /// Reacts to an update of satellites, or to the start or end of a link's outage.
    #[inline(never)]
    fn network_changed(&mut self) {
        if self.network.take_surveyed() {
            self.observer.look_at_paths(self.schedule.now(), &self.flows, &mut self.network);
        }
        while let Some((route, there)) = self.network.poll_route_change() {
            let (flow, leg) = match self.routes.owner(route) {
                RouteOwner::Flow(flow, leg) => (flow, leg),
                RouteOwner::Association(number) => {
                    self.associations[number as usize].set_path_up(self.schedule.now(), there);
                    continue;
                }
            };
            let flow = &mut self.flows[flow as usize];
            let legs = flow.legs();
            if let App::Stream(stream) = &mut flow.app {
                stream.conversations.set_path_up(leg as usize, legs, self.schedule.now(), there);
            }
        }
    }

    /// Ends the run and returns its results.
    pub fn finish(mut self) -> RunResult {
        let end = if self.unfinished.none() { self.schedule.now() } else { self.schedule.end() };
        self.refresh_streams(end);
        self.settle_datagrams();
        let mut warnings = Vec::new();
        for flow in &self.flows {
            if let App::Stream(stream) = &flow.app
                && stream.broken()
            {
                warnings.push(format!("flow {} was reset by its peer", flow.name));
            }
        }
        warnings.extend(self.network.warnings(self.schedule.now()));
        let flows = flow_results(&self.flows, &self.network, end, &mut warnings);
        let more = warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            warnings.truncate(MOST_WARNINGS);
            warnings.push(format!("and {more} more warnings"));
        }
        RunResult {
            scenario: self.label.name,
            seed: self.label.seed,
            simulated_s: end.as_secs_f64(),
            events: self.schedule.events(),
            packet_hops: self.network.packet_hops(),
            flows,
            populations: self.label.populations,
            each_member: self.label.each_member,
            links: self.network.link_results(end),
            handovers: self.network.handover_results(),
            uplinks: self.network.uplink_results(end),
            addresses: self.network.address_results(),
            failures: self.network.failure_results(end),
            routing: self.network.routing_result(),
            associations: {
                let result = |one: &AssociationState| one.result(&self.network.account(one.account));
                self.associations.iter().map(result).collect()
            },
            splices: self.places.into_iter().map(|place| place.result).collect(),
            series: self.observer.finish(&self.flows),
            warnings,
        }
    }

    /// Checks conservation of packets: sent + duplicated = delivered + dropped + lost + in flight, and the packets in flight are
    /// those that the links hold. The error says what differs.
    pub fn check_conservation(&self) -> Result<(), String> {
        self.network.check_conservation().map_err(|differs| format!("at {}: {differs}", self.schedule.now()))
    }

    /// Numbers of packets in the network and of entries in the event queue, which determine memory.
    pub fn footprint(&self) -> (usize, usize) {
        (self.network.most_frames(), self.schedule.len())
    }
}
