//! A run: the network and its hosts, stepped from event to event.
//!
//! Follows the sans-IO contract of networks and endpoints: one input, then drain, then wait.
//! Differs from an emulator only in the source of time. An emulator sends packets of programs at one end of a flow and receives them
//! at the other; the other flows of its run are simulated, in the same queues.
//! Leaves out everything but the order of events: who acts after whom.

use crate::association::Owned;
use crate::associations::RunAssociations;
use crate::bottlenecks::flow_results;
use crate::build::{RunLabel, RunParts, build};
use crate::carrying;
use crate::flow::App;
use crate::gateways;
use crate::hosts::{AppAct, HostAct, HostArrival, Hosts};
use crate::ids::{Actor, ConversationId};
use crate::observe::Observer;
use crate::programs::{Arrived, Programs};
use crate::route_owners::{LegWays, RouteOwner, RouteOwners};
use crate::schedule::Schedule;
use crate::slots::Owner;
use crate::streams::{self, AssociationAct, EventOwner};
use skyhop_chance::Seed;
use skyhop_link::FlippedBit;
use skyhop_network::{BuildError, Capture, Delivery, Frame, Network, NetworkEpoch, Outlook, PathNow, Slot};
use skyhop_results::RunResult;
use skyhop_scenario::{Files, Link, Scenario};
use skyhop_traffic::End;
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::{Rate, Time};
use skyhop_wire::Packet;
use std::net::Ipv4Addr;

/// Largest number of warnings reported, since each of ten thousand flows may have one.
const MOST_WARNINGS: usize = 50;

/// A scenario being simulated.
pub struct Simulation {
    label: RunLabel,
    schedule: Schedule,
    network: Network,
    routes: RouteOwners,
    hosts: Hosts,
    associations: RunAssociations,
    observer: Observer,
}

impl Simulation {
    /// Builds the network of a checked scenario. `files` are the files that it names.
    ///
    /// # Errors
    ///
    /// Mistakes that appear only here: in orbits, elements, traces and measured distributions.
    pub fn new(scenario: &Scenario, files: &Files, seed: u64) -> Result<Self, BuildError> {
        Self::with_programs(scenario, files, seed, &[])
    }

    /// Like [`Simulation::new`], with flows that are left to programs, by index: their packets enter by [`Simulation::send_for`]
    /// and leave by [`Simulation::poll_arrival`].
    ///
    /// # Errors
    ///
    /// As for [`Simulation::new`]; also a flow of programs that a splice divides.
    pub fn with_programs(
        scenario: &Scenario,
        files: &Files,
        seed: u64,
        programs: &[usize],
    ) -> Result<Self, BuildError> {
        let parts = build(scenario, files, seed, programs)?;
        let RunParts { label, schedule, network, routes, hosts, associations, observer } = parts;
        Ok(Self { label, schedule, network, routes, hosts, associations, observer })
    }

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
        self.schedule.now() >= self.schedule.end() || self.hosts.all_finished()
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
        while !self.hosts.all_finished() {
            if !self.step_by(until) {
                return self.schedule.pass(until);
            }
        }
    }

    /// Like [`Simulation::run_until`], but stops at an instant at which a packet arrives at an end whose packets are held.
    pub fn run_until_held(&mut self, until: Time) {
        while !self.hosts.holds_any() && !self.hosts.all_finished() {
            if !self.step_by(until) {
                return self.schedule.pass(until);
            }
        }
    }

    /// Handles the next event. Returns false if there is none before the end.
    pub fn step(&mut self) -> bool {
        !self.hosts.all_finished() && self.step_by(self.schedule.end())
    }

    /// Ends the run and returns its results.
    pub fn finish(mut self) -> RunResult {
        let end = if self.hosts.all_finished() { self.schedule.now() } else { self.schedule.end() };
        streams::refresh(&mut self.hosts, &self.associations, end);
        self.hosts.settle_datagrams(&self.network, &self.associations);
        let mut warnings = Vec::new();
        for flow in self.hosts.flows() {
            if let App::Stream(stream) = &flow.app
                && stream.broken()
            {
                warnings.push(format!("flow {} was reset by its peer", flow.name));
            }
        }
        warnings.extend(self.network.warnings(self.schedule.now()));
        let flows = flow_results(self.hosts.flows(), &self.network, end, &mut warnings);
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
            associations: self.associations.results(|account| self.network.account(account)),
            splices: self.hosts.places().iter().map(|place| place.result.clone()).collect(),
            series: self.observer.finish(self.hosts.flows()),
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

    /// Sends a program's packet from an end of its flow: `from`, or `to` if `backward`. `tag` identifies it until it arrives or is
    /// returned by [`Simulation::poll_ended`]. `stream` distinguishes the programs' connections, for queues that serve flows
    /// separately.
    ///
    /// Before, [`Simulation::run_until`] must have advanced the time to `now`.
    pub fn send_for(
        &mut self,
        now: Time,
        (flow, backward): (u32, bool),
        [stream, tag]: [u32; 2],
        packet: Packet,
    ) {
        let frame = self.hosts.program_frame(now, (flow, backward), [stream, tag], packet);
        if let Some(frame) = frame {
            self.schedule.set_now(now);
            self.send(frame);
        }
    }

    /// The next packet for a program.
    pub fn poll_arrival(&mut self) -> Option<Arrived> {
        self.hosts.arrivals().poll()
    }

    /// Holds packets for the `to` of a flow of programs, or for its `from`: that end is simulated by the driver, which acts at the
    /// instants at which [`Simulation::run_until_held`] stops.
    pub fn hold(&mut self, flow: usize, to: bool) {
        self.hosts.hold(flow, to);
    }

    /// The next packet for an end whose packets are held, with its flipped bits.
    pub fn poll_held(&mut self) -> Option<(Arrived, Vec<FlippedBit>)> {
        self.hosts.arrivals().poll_held()
    }

    /// The tag of the next program's packet that was dropped or lost.
    pub fn poll_ended(&mut self) -> Option<u32> {
        self.network.poll_ended()
    }

    /// The tag of the next program's packet that a link has duplicated: both copies arrive, or are returned by
    /// [`Simulation::poll_ended`].
    pub fn poll_copied(&mut self) -> Option<u32> {
        self.network.poll_copied()
    }

    /// The flipped bits of the next packet from [`Simulation::poll_arrival`] that is corrupted.
    pub fn poll_flipped(&mut self) -> Option<Vec<FlippedBit>> {
        self.hosts.arrivals().poll_flipped()
    }

    /// Time of the next event; `None` if there is none.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        self.schedule.next_at()
    }

    /// Addresses of the ends of a flow of programs.
    pub fn addresses(&self, flow: usize) -> Option<[Ipv4Addr; 2]> {
        self.hosts.programs(flow).map(|programs| programs.ends)
    }

    /// MTU of the first link of a flow, as known to its `from`, or to its `to` if `backward`.
    pub fn own_mtu(&self, flow: usize, backward: bool) -> Option<u32> {
        let route = self.hosts.route(flow)?;
        self.network.own_mtu_of(route, backward)
    }

    /// The largest rate at which packets of a flow ever leave its `from`, or its `to`; `None` if that is not known before they do.
    pub fn own_rate(&self, flow: usize, backward: bool) -> Option<Rate> {
        let route = self.hosts.route(flow)?;
        self.network.own_rate_of(route, backward)
    }

    /// The path of a flow of programs, as in [`skyhop_network::Network::path`]: its one-way delay, s, and the number of its
    /// satellites. `None` without satellites.
    pub fn path(&mut self, flow: usize) -> Option<(f64, usize)> {
        let route = self.hosts.route(flow)?;
        self.network.path(route)
    }

    /// A direction of a flow's path now, as one link; `None` if its links are chosen anew for each packet.
    pub fn path_now(&mut self, flow: usize, backward: bool) -> Option<PathNow> {
        let route = self.hosts.route(flow)?;
        self.network.path_now(route, backward, self.schedule.now())
    }

    /// A copy of the satellites that runs ahead in another thread; from then on epochs must come by [`Simulation::look_ahead`].
    /// `None` without satellites.
    pub fn outlook(&mut self) -> Option<Outlook> {
        self.network.outlook(self.schedule.now())
    }

    /// Takes a future epoch; they must come in order.
    pub fn look_ahead(&mut self, epoch: NetworkEpoch) {
        self.network.look_ahead(epoch);
    }

    /// Number of epochs that were late.
    pub fn late_looks(&self) -> u64 {
        self.network.late_looks()
    }

    /// Changes rate, delay and losses of link `index` of the scenario from now on.
    pub fn change_link(&mut self, index: usize, links: [&Link; 2]) {
        let seed = Seed(self.label.seed);
        self.schedule.change_link(&mut self.network, index, links, seed);
    }

    /// Packets of a flow of programs in each direction: the numbers sent and arrived, and the sum of their one-way delays, s.
    pub fn programs(&self, flow: usize) -> Option<[(u64, u64, f64); 2]> {
        self.hosts.programs(flow).map(Programs::totals)
    }

    /// Links of the scenario by name, each with the packets waiting, dropped and lost, forward and reverse.
    pub fn links_now(&mut self) -> Vec<(String, [[u64; 3]; 2])> {
        let now = self.schedule.now();
        let mut found = Vec::new();
        for link in 0..self.network.fixed_wires() / 2 {
            let both = [0, 1].map(|back| {
                let wire = 2 * link + back;
                let waiting = self.network.waiting(wire, now) as u64;
                let result = self.network.direction_result(wire, now);
                [waiting, result.packets_dropped, result.packets_lost]
            });
            found.push((self.network.link_name(2 * link).to_owned(), both));
        }
        found
    }

    /// Ends the run now.
    pub fn end_now(&mut self) {
        self.schedule.end_now();
    }

    /// Handles the next event if it is due by `until`.
    fn step_by(&mut self, until: Time) -> bool {
        let Some(slot) = self.schedule.pop(until) else { return false };
        match self.schedule.owner(slot) {
            None => self.handle_network(slot),
            Some(Owner::Actor(flow, id, actor)) => self.handle_actor(flow as usize, id, actor),
            Some(Owner::App(flow)) => self.handle_app(flow as usize),
            Some(Owner::Association(number, side)) => self.handle_association(number, side),
            Some(Owner::Samples) => self.take_samples(slot),
            Some(Owner::Nobody) => {}
        }
        // Packets and timers of connections at gateways have work for their associations.
        if self.associations.any_due() {
            self.drive_associations();
        }
        true
    }

    /// Samples windows, queues and splices, and sets the clock of samples.
    fn take_samples(&mut self, slot: Slot) {
        let now = self.schedule.now();
        if !self.associations.all().is_empty() {
            streams::refresh(&mut self.hosts, &self.associations, now);
        }
        let Self { hosts, network, associations, .. } = self;
        let next = self.observer.look(now, hosts.flows(), network, hosts.places(), associations.all());
        self.schedule.wake(slot, next);
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
        let now = self.schedule.now();
        if self.network.take_surveyed() {
            self.observer.look_at_paths(now, self.hosts.flows(), &mut self.network);
        }
        while let Some((route, there)) = self.network.poll_route_change() {
            match self.routes.owner(route) {
                RouteOwner::Flow(flow, leg) => self.hosts.set_path_up(now, (flow, leg), there),
                RouteOwner::Association(number) => self.associations.set_path_up(now, number, there),
            }
        }
    }

    /// Sends a packet into the network that has no STP packet inside it.
    #[inline]
    fn send(&mut self, frame: Frame) {
        if let Some(delivery) = self.schedule.send(&mut self.network, frame, None) {
            self.deliver(delivery);
        }
    }

    /// Handles a packet at the end of its route.
    fn deliver(&mut self, delivery: Delivery) {
        let (index, leg) = match self.routes.owner(self.network.delivered(&delivery).route) {
            RouteOwner::Flow(flow, leg) => (flow as usize, leg),
            RouteOwner::Association(number) => return self.deliver_to_association(number, delivery),
        };
        let Self { hosts, schedule, network, observer, .. } = self;
        match hosts.handle_arrival((index, leg), delivery, schedule, network, observer) {
            HostArrival::Touched => self.drive_touched(index),
            HostArrival::Counted => {}
            HostArrival::Ignored => return,
            HostArrival::Deliver(delivery) => self.deliver(delivery),
            HostArrival::Carried(delivery) => {
                let Self { hosts, associations, network, .. } = self;
                let at = (index as u32, leg, delivery);
                carrying::enter(hosts, associations, network, self.schedule.now(), at);
            }
        }
        self.settle(index);
    }

    /// Handles a packet of an association at the end of its route.
    #[inline(never)]
    fn deliver_to_association(&mut self, number: u32, delivery: Delivery) {
        let now = self.schedule.now();
        if self.associations.handle_arrival(now, number, &mut self.network, delivery) {
            self.drive(number);
        }
    }

    /// Notes that a flow may have finished.
    fn settle(&mut self, flow: usize) {
        self.hosts.settle(self.schedule.now(), flow, &self.network, &self.associations);
    }

    /// Starts or stops a flow, or wakes its application.
    fn handle_app(&mut self, index: usize) {
        match self.hosts.handle_app(index, &mut self.schedule, &mut self.network) {
            AppAct::Touched => {
                self.drive_touched(index);
                self.drive_associations();
            }
            AppAct::Datagrams => {
                let Self { hosts, schedule, network, .. } = self;
                let mut next = hosts.send_datagrams(index, schedule, network);
                while let Some(delivery) = next {
                    self.deliver(delivery);
                    next = self.hosts.send_datagrams(index, &mut self.schedule, &mut self.network);
                }
            }
            AppAct::Deliver(delivery) => self.deliver(delivery),
            AppAct::Wait => {}
        }
        self.settle(index);
    }

    /// Handles the expiry of a timer of a connection's end or splice.
    fn handle_actor(&mut self, index: usize, id: ConversationId, actor: Actor) {
        if self.hosts.handle_timeout(self.schedule.now(), index, id, actor) {
            self.drive_touched(index);
            self.settle(index);
        }
    }

    /// Handles the expiry of an association's timer.
    fn handle_association(&mut self, number: u32, side: u8) {
        let now = self.schedule.now();
        self.associations.handle_timeout(now, (number, side), &self.network);
        while let Some((owner, leg)) = self.associations.take_turn(now, (number, side)) {
            self.touch(owner, Actor::Splice(leg));
        }
        self.drive(number);
    }

    /// Lets an actor of a connection act, which has something to do.
    fn touch(&mut self, (flow, id): Owned, actor: Actor) {
        self.hosts.touch(id, actor);
        self.drive_touched(flow as usize);
        self.settle(flow as usize);
    }

    /// Drains the touched ends and splices of a flow.
    fn drive_touched(&mut self, index: usize) {
        while let Some((id, actor)) = self.hosts.next_touched() {
            match actor {
                Actor::End(end) => self.drive_end(index, id, end),
                Actor::Splice(leg) => self.drive_splice(index, id, leg),
            }
        }
    }

    /// Drains an end of a connection.
    #[inline]
    fn drive_end(&mut self, index: usize, id: ConversationId, end: End) {
        loop {
            match self.hosts.drive_end((index, id, end), &mut self.schedule, &mut self.network) {
                HostAct::Deliver(delivery) => self.deliver(delivery),
                HostAct::Share => {
                    let Self { hosts, associations, network, .. } = self;
                    let (now, owner) = (self.schedule.now(), (index as u32, id));
                    if streams::flush(hosts, associations, network, now, (owner, end)) {
                        self.forget(index, id);
                    }
                    return;
                }
                HostAct::End => return self.forget(index, id),
                HostAct::Wait => return,
            }
        }
    }

    /// Drains a splice, or a connection at a gateway.
    fn drive_splice(&mut self, index: usize, id: ConversationId, leg: u8) {
        loop {
            match self.hosts.drive_splice((index, id, leg), &mut self.schedule, &mut self.network) {
                HostAct::Deliver(delivery) => self.deliver(delivery),
                HostAct::Share => break,
                HostAct::End | HostAct::Wait => return,
            }
        }
        loop {
            let Self { hosts, associations, schedule, network, .. } = self;
            let at = ((index as u32, id), leg);
            match gateways::drive(hosts, associations, schedule, network, at) {
                Some(delivery) => self.deliver(delivery),
                None => return,
            }
        }
    }

    /// Removes a connection that has ended.
    fn forget(&mut self, index: usize, id: ConversationId) {
        let Some(conversation) = self.hosts.forget((index, id), &mut self.schedule) else { return };
        for (leg, joint) in (0..).zip(&conversation.joints) {
            let of = ((index as u32, id), leg);
            gateways::leave(&mut self.associations, self.schedule.now(), of, joint);
        }
    }

    /// Drains an association, and all others that have something to do.
    fn drive(&mut self, number: u32) {
        self.associations.mark_due(number);
        self.drive_associations();
    }

    /// Drains associations that have something to do: events to applications, packets to the network, and timers.
    fn drive_associations(&mut self) {
        while let Some(number) = self.associations.next_due() {
            loop {
                let Self { hosts, associations, schedule, network, .. } = self;
                match streams::drive(hosts, associations, schedule, network, number) {
                    AssociationAct::Event(side, event) => self.handle_event(number, side, event),
                    AssociationAct::Deliver(delivery) => self.deliver(delivery),
                    AssociationAct::Wait => break,
                }
            }
            self.associations.rest(number, &mut self.schedule);
        }
    }

    /// Handles an event of one side of an association.
    fn handle_event(&mut self, number: u32, side: usize, event: TrunkEvent) {
        let (hosts, now) = (&mut self.hosts, self.schedule.now());
        match streams::handle_event(hosts, self.associations.at(number), now, (side, event)) {
            EventOwner::None => {}
            EventOwner::Stream(owner, end) => self.touch(owner, Actor::End(end)),
            EventOwner::Gateway(owner) => self.tell_gateway(number, (side, owner), Some(event)),
            EventOwner::Datagrams => {
                let at = (number, side);
                while let Some(frame) =
                    carrying::poll_arrived(&mut self.hosts, &mut self.associations, now, at)
                {
                    self.send(frame);
                }
            }
            EventOwner::Waiting => self.open_waiting(number, side),
            EventOwner::Everyone => self.break_off(number),
        }
    }

    /// Gives numbers to waiting streams after the peer has accepted more.
    fn open_waiting(&mut self, number: u32, side: usize) {
        loop {
            let Self { hosts, associations, .. } = self;
            match streams::open_next(hosts, associations, self.schedule.now(), (number, side)) {
                EventOwner::Stream(owner, end) => self.touch(owner, Actor::End(end)),
                EventOwner::Gateway(owner) => self.tell_gateway(number, (side, owner), None),
                _ => return,
            }
        }
    }

    /// Handles the failure of an association, and with it of all its streams.
    #[inline(never)]
    fn break_off(&mut self, number: u32) {
        let now = self.schedule.now();
        let owners = streams::break_off(&mut self.hosts, self.associations.at(number), now);
        for owner in owners {
            for (side, end) in [End::Client, End::Server].into_iter().enumerate() {
                match streams::has_end(&mut self.hosts, owner, side) {
                    true => self.touch(owner, Actor::End(end)),
                    false => self.lose_gateway(number, (side, owner)),
                }
            }
        }
    }

    /// Passes an event of the association to the datagrams or the connection at a gateway to which it belongs.
    fn tell_gateway(&mut self, number: u32, (side, owner): (usize, Owned), event: Option<TrunkEvent>) {
        let Self { hosts, associations, .. } = self;
        if let Some(event) = event
            && let Some(ready) = carrying::tell(hosts, associations, number, (side, owner), event)
        {
            for datagram in ready {
                if let Some(frame) = carrying::deliver(&mut self.hosts, number, datagram) {
                    self.send(frame);
                }
            }
            return;
        }
        if let Some(leg) = gateways::tell(hosts, associations, number, (side, owner), event) {
            self.touch(owner, Actor::Splice(leg));
        }
    }

    /// Tells the datagrams or the connection at a gateway that their association is lost.
    fn lose_gateway(&mut self, number: u32, (side, owner): (usize, Owned)) {
        let Self { hosts, associations, .. } = self;
        if carrying::lose(hosts, number, owner.0) {
            return;
        }
        if let Some(leg) = gateways::lose(hosts, associations, number, (side, owner)) {
            self.touch(owner, Actor::Splice(leg));
        }
    }
}
