//! A run: the network, stepped from event to event.
//!
//! Follows the sans-IO contract of links and endpoints: one input, then drain, then wait.
//! Differs from the emulator to come only in who says what time it is.
//! Leaves out everything that is not the order of events.

use crate::agenda::{Agenda, Slot};
use crate::build::{Built, build};
use crate::capture::Capture;
use crate::error::BuildError;
use crate::flow::{App, Flow, Way};
use crate::frames::Frames;
use crate::results::{DirectionResult, LinkResult, RunResult};
use crate::routes::Stuck;
use crate::sample::Samples;
use crate::space::Space;
use crate::wire::Wire;
use skyhop_chance::Seed;
use skyhop_scenario::Scenario;
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Span, Time};
use skyhop_wire::{Packet, Transport};

/// A packet in the network.
struct Frame {
    flow: u32,
    /// Links crossed so far.
    hop: u16,
    /// Whether it goes from end 1 to end 0.
    backward: bool,
    /// When its flow's end 0 began the exchange it belongs to (a ping's request).
    sent_at: Time,
    packet: Packet,
}

/// More links than any path has: a packet that has crossed them is going round in circles while routes change.
const MOST_HOPS: u16 = 255;

/// A scenario being simulated.
pub struct Simulation {
    name: String,
    seed: u64,
    now: Time,
    end: Time,
    agenda: Agenda,
    frames: Frames<Frame>,
    wires: Vec<Wire>,
    link_names: Vec<String>,
    flows: Vec<Flow>,
    space: Option<Space>,
    captured: Vec<String>,
    capture: Option<Box<dyn Capture>>,
    samples: Samples,
    sampled: Sampled,
    sample_interval: Span,
    events: u64,
    packet_hops: u64,
    unfinished: usize,
    warnings: Vec<String>,
}

fn topology(space: &Option<Space>) -> Option<&Topology> {
    space.as_ref().map(|space| &space.topology)
}

/// Which series belongs to what.
#[derive(Default)]
struct Sampled {
    /// Flow, and its first series: cwnd, ssthresh, in flight, acknowledged, delivered.
    transfers: Vec<(u32, usize)>,
    /// Wire and its queue's series.
    queues: Vec<(u32, usize)>,
    /// Flow, and its first series: path delay, satellites.
    paths: Vec<(u32, usize)>,
}

impl Simulation {
    /// Builds the network of a checked scenario. `elements` is the file that `constellation.tle` or `.omm` names.
    pub fn new(scenario: &Scenario, elements: Option<&[u8]>, seed: u64) -> Result<Self, BuildError> {
        let Built { wires, link_names, flows, space, captured } = build(scenario, elements, Seed(seed))?;
        let slots = wires.len() + 2 * flows.len() + 2;
        let mut simulation = Self {
            name: scenario.name.clone().unwrap_or_default(),
            seed,
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            agenda: Agenda::new(slots),
            frames: Frames::new(),
            unfinished: flows.len(),
            wires,
            link_names,
            flows,
            space,
            captured,
            capture: None,
            samples: Samples::default(),
            sampled: Sampled::default(),
            sample_interval: Span::ZERO,
            events: 0,
            packet_hops: 0,
            warnings: Vec::new(),
        };
        simulation.open_series(scenario);
        if simulation.space.is_some() {
            simulation.agenda.wake(simulation.space_slot(), Time::ZERO);
        }
        for index in 0..simulation.flows.len() {
            let start = simulation.flows[index].start;
            simulation.agenda.wake(simulation.end_slot(index, 0), start);
        }
        if !simulation.sampled.transfers.is_empty() || !simulation.sampled.queues.is_empty() {
            simulation.agenda.wake(simulation.sample_slot(), Time::ZERO);
        }
        Ok(simulation)
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run ends at the latest.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Whether the end is reached, or every flow has completed.
    pub fn finished(&self) -> bool {
        self.now >= self.end || self.unfinished == 0
    }

    /// Names of the captured link directions: the interfaces of a capture.
    pub fn captured(&self) -> &[String] {
        &self.captured
    }

    /// Hands packets of captured links to `capture`.
    pub fn set_capture(&mut self, capture: Box<dyn Capture>) {
        self.capture = Some(capture);
    }

    /// When the next event is due, for whoever steps the run by a clock.
    pub fn next_event(&mut self) -> Option<Time> {
        self.agenda.next()
    }

    /// Runs until `until`, the end, or until every flow has completed.
    pub fn run_until(&mut self, until: Time) {
        while self.unfinished > 0 {
            if !self.step_by(until) {
                self.now = self.now.max(until.min(self.end));
                return;
            }
        }
    }

    /// Does the next event. False if there is none before the end.
    pub fn step(&mut self) -> bool {
        self.unfinished > 0 && self.step_by(self.end)
    }

    /// Does the next event if it is due by `until`. What is due at the very end is not part of the run: ten seconds of
    /// one ping a second are ten pings.
    fn step_by(&mut self, until: Time) -> bool {
        let last = Time::from_nanos(self.end.as_nanos().saturating_sub(1));
        let Some((now, slot)) = self.agenda.pop(until.min(last)) else { return false };
        self.now = now;
        self.events += 1;
        self.handle(slot);
        true
    }

    /// Whether no packet has been made or lost track of: sent = delivered + dropped + lost + in flight, and what is
    /// in flight is what the links hold. An error says what differs.
    pub fn check_conservation(&self) -> Result<(), String> {
        let in_flight: u64 = self.flows.iter().map(Flow::in_flight).sum();
        let held: usize = self.wires.iter().map(|w| w.link.held()).sum();
        if in_flight == self.frames.len() as u64 && held == self.frames.len() {
            return Ok(());
        }
        Err(format!(
            "at {}: flows have {in_flight} packets in flight, links hold {held}, {} exist",
            self.now,
            self.frames.len()
        ))
    }

    /// Packets that exist and entries in the event queue: what memory grows with.
    pub fn footprint(&self) -> (usize, usize) {
        (self.frames.capacity(), self.agenda.len())
    }

    /// Ends the run and returns what it found.
    pub fn finish(mut self) -> RunResult {
        let end = if self.unfinished == 0 { self.now } else { self.end };
        for flow in 0..self.flows.len() {
            if let App::Transfer(transfer) = &self.flows[flow].app
                && transfer.reset
            {
                self.warnings.push(format!("flow {} was reset by its peer", self.flows[flow].name));
            }
        }
        if let Some(space) = &self.space
            && space.topology.unavailable() > 0
        {
            self.warnings.push(format!(
                "{} satellites had no position at the end: their elements are too old or they have decayed",
                space.topology.unavailable()
            ));
        }
        let fixed = self.space.as_ref().map_or(self.wires.len(), |s| s.first_wire);
        let mut links = Vec::new();
        for (index, name) in self.link_names.iter().enumerate() {
            let [forward, reverse] = [2 * index, 2 * index + 1].map(|wire| self.direction_result(wire, end));
            // Of a constellation's links only those are listed that packets have seen.
            if 2 * index < fixed || [&forward, &reverse].iter().any(|d| d.packets + d.dropped_packets > 0) {
                links.push(LinkResult { name: name.clone(), forward, reverse });
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        RunResult {
            scenario: self.name,
            seed: self.seed,
            simulated_s: end.as_secs_f64(),
            events: self.events,
            packet_hops: self.packet_hops,
            flows: self.flows.iter().map(|flow| flow.result(end)).collect(),
            links,
            handovers: self.space.as_ref().map_or(Vec::new(), Space::handover_results),
            routing: self.space.as_ref().map(Space::routing_result),
            series: self.samples.take(),
            warnings: self.warnings,
        }
    }

    fn direction_result(&self, wire: usize, end: Time) -> DirectionResult {
        let link = &self.wires[wire].link;
        let stats = link.stats();
        // What the transmitter still has to send after the end does not count.
        let busy = stats.busy - link.free_at().since(end);
        let seconds = end.as_secs_f64();
        DirectionResult {
            packets: stats.packets,
            bytes: stats.bytes,
            dropped_packets: stats.dropped_packets,
            lost_packets: stats.lost_packets,
            utilisation: if seconds > 0.0 { busy.as_secs_f64() / seconds } else { 0.0 },
            queue_max_packets: stats.queue_max_packets,
        }
    }

    fn end_slot(&self, flow: usize, end: usize) -> Slot {
        (self.wires.len() + 2 * flow + end) as Slot
    }

    fn space_slot(&self) -> Slot {
        (self.wires.len() + 2 * self.flows.len()) as Slot
    }

    fn sample_slot(&self) -> Slot {
        self.space_slot() + 1
    }

    fn handle(&mut self, slot: Slot) {
        let wires = self.wires.len() as Slot;
        if slot < wires {
            self.handle_wire(slot);
        } else if slot < self.space_slot() {
            let end = slot - wires;
            self.handle_end((end / 2) as usize, (end % 2) as usize);
        } else if slot == self.space_slot() {
            self.handle_space();
        } else {
            self.handle_samples();
        }
    }

    /// A link has something for us: arrivals, and transmissions if it is captured.
    fn handle_wire(&mut self, index: Slot) {
        loop {
            let wire = &mut self.wires[index as usize];
            let medium = wire.medium(topology(&self.space));
            let Some(arrival) = wire.link.poll_arrival(self.now, &medium) else { break };
            self.packet_hops += 1;
            if arrival.lost {
                self.flows[self.frames[arrival.packet].flow as usize].lost += 1;
                self.frames.remove(arrival.packet);
            } else {
                self.frames[arrival.packet].hop += 1;
                self.forward(arrival.packet, NodeId(arrival.peer));
            }
        }
        self.after_wire(index);
    }

    /// Reports transmissions and asks to be woken for what is next.
    fn after_wire(&mut self, index: Slot) {
        let wire = &mut self.wires[index as usize];
        if let Some(interface) = wire.capture {
            let medium = wire.medium(topology(&self.space));
            while let Some(sent) = wire.link.poll_sent(self.now, &medium) {
                if let Some(capture) = &mut self.capture {
                    capture.packet(interface, sent.at, &self.frames[sent.packet].packet);
                }
            }
        }
        if let Some(at) = wire.link.poll_timeout() {
            self.agenda.wake(index, at);
        }
    }

    /// A packet is at `node`: it has arrived, or goes out on the next link.
    fn forward(&mut self, id: u32, node: NodeId) {
        let frame = &self.frames[id];
        let flow = &mut self.flows[frame.flow as usize];
        let next = match &flow.way {
            Way::Wires(wires) => match wires[frame.backward as usize].get(frame.hop as usize) {
                Some(&wire) => wire,
                None => return self.deliver(id),
            },
            Way::Space(ends) => {
                let destination = ends[!frame.backward as usize];
                if node == destination {
                    return self.deliver(id);
                }
                let Some(space) = &mut self.space else { unreachable!("a flow through space has one") };
                let next = match frame.hop < MOST_HOPS {
                    true => space.next_wire(node, destination, id, self.now),
                    false => Err(Stuck::HopLimit),
                };
                match next {
                    Ok(wire) => wire,
                    Err(why) => {
                        space.routes.stuck(why);
                        flow.dropped += 1;
                        self.frames.remove(id);
                        return;
                    }
                }
            }
        };
        let size = frame.packet.wire_len();
        let wire = &mut self.wires[next as usize];
        let medium = wire.medium(topology(&self.space));
        if wire.link.handle_packet(self.now, id, size, &medium).is_err() {
            flow.dropped += 1;
            self.frames.remove(id);
            return;
        }
        self.after_wire(next);
    }

    /// A packet has reached its end.
    fn deliver(&mut self, id: u32) {
        let Frame { flow, backward, sent_at, packet, .. } = self.frames.remove(id);
        let index = flow as usize;
        let end = !backward as usize;
        let flow = &mut self.flows[index];
        flow.delivered += 1;
        match &mut flow.app {
            App::Transfer(transfer) => {
                transfer.ends[end].handle_packet(self.now, &packet);
                self.drive(index, end);
            }
            App::Ping(ping) => {
                let Transport::Icmp(echo) = packet.transport else { return };
                let took = self.now.since(sent_at);
                if echo.reply {
                    ping.round_trip.add(took);
                } else {
                    ping.forward.add(took);
                    self.samples.add(ping.series, sent_at, took.as_secs_f64());
                    let answer = ping.packet(true, echo.sequence);
                    self.inject(index, 1, sent_at, answer);
                }
            }
        }
        self.settle(index);
    }

    /// Counts a flow that has just finished.
    fn settle(&mut self, flow: usize) {
        if self.flows[flow].finished(self.now) {
            self.unfinished = self.flows.iter().filter(|f| !f.finished(self.now)).count();
        }
    }

    /// A host's clock: a flow begins or stops, a timer runs out, a request is due.
    fn handle_end(&mut self, index: usize, end: usize) {
        let now = self.now;
        let slot = self.end_slot(index, 0);
        let flow = &mut self.flows[index];
        let stopped = flow.stop.is_some_and(|stop| now >= stop);
        match &mut flow.app {
            App::Transfer(transfer) => {
                if end == 0 && !transfer.started {
                    transfer.started = true;
                    transfer.ends[0].write(transfer.bulk.offer());
                    if transfer.bulk.size.is_some() {
                        transfer.ends[0].shutdown();
                    }
                    if let Some(stop) = flow.stop {
                        self.agenda.wake(slot, stop);
                    }
                } else if end == 0 && stopped {
                    transfer.ends[0].stop_writing();
                }
                transfer.ends[end].handle_timeout(now);
                self.drive(index, end);
            }
            App::Ping(ping) => {
                if stopped {
                    return self.settle(index);
                }
                let request = ping.packet(false, ping.next as u16);
                ping.next += 1;
                let next = ping.ping.at(flow.start, ping.next);
                self.agenda.wake(slot, flow.stop.map_or(next, |stop| next.min(stop)));
                self.inject(index, 0, now, request);
            }
        }
        self.settle(index);
    }

    /// Drains a connection's end: events to the application, packets to the network, and its timer.
    fn drive(&mut self, index: usize, end: usize) {
        loop {
            let App::Transfer(transfer) = &mut self.flows[index].app else { return };
            let answered = transfer.handle_events(end, self.now);
            if let Some(packet) = transfer.ends[end].poll_transmit(self.now) {
                self.inject(index, end, self.now, packet);
            } else if !answered {
                break;
            }
        }
        let slot = self.end_slot(index, end);
        let flow = &self.flows[index];
        let App::Transfer(transfer) = &flow.app else { return };
        let stop = flow.stop.filter(|stop| end == 0 && *stop > self.now);
        if let Some(at) = [transfer.ends[end].poll_timeout(), stop].into_iter().flatten().min() {
            self.agenda.wake(slot, at);
        }
    }

    /// An end hands a packet to the network.
    fn inject(&mut self, index: usize, end: usize, sent_at: Time, packet: Packet) {
        let flow = &mut self.flows[index];
        flow.sent += 1;
        let node = match &flow.way {
            Way::Wires(_) => NodeId(0),
            Way::Space(ends) => ends[end],
        };
        let frame = Frame { flow: index as u32, hop: 0, backward: end == 1, sent_at, packet };
        let id = self.frames.insert(frame);
        if let (Way::Space(ends), Some(space)) = (&flow.way, &mut self.space) {
            space.routes.begin(id, &space.topology, ends[1 - end]);
        }
        self.forward(id, node);
    }

    /// Satellites have moved: links, handovers, and the paths of flows.
    fn handle_space(&mut self) {
        let (now, slot) = (self.now, self.space_slot());
        let Some(space) = &mut self.space else { return };
        let (changes, whole) = space.update(now);
        for change in changes {
            let Self { wires, flows, frames, .. } = self;
            space.apply(&change, now, wires, |id| {
                let frame = frames.remove(id);
                flows[frame.flow as usize].dropped += 1;
            });
        }
        let Self { wires, flows, frames, .. } = self;
        let awake = space.hold(now, wires, |id| {
            let frame = frames.remove(id);
            flows[frame.flow as usize].dropped += 1;
        });
        self.agenda.wake(slot, space.next_look(now));
        let sampled: &[(u32, usize)] = if whole { &self.sampled.paths } else { &[] };
        for &(flow, series) in sampled {
            if let Way::Space([from, to]) = self.flows[flow as usize].way
                && let Some((delay, satellites)) = space.path(from, to)
            {
                self.samples.add(series, now, delay);
                self.samples.add(series + 1, now, satellites as f64);
            }
        }
        for wire in awake {
            self.after_wire(wire);
        }
    }

    fn open_series(&mut self, scenario: &Scenario) {
        let fixed = self.space.as_ref().map_or(self.wires.len(), |s| s.first_wire);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let entity = format!("flow/{}", flow.name);
            if matches!(flow.way, Way::Space(_)) {
                let first = self.samples.open(entity.clone(), "path_delay_s");
                self.samples.open(entity.clone(), "path_satellites");
                self.sampled.paths.push((index as u32, first));
            }
            if let App::Ping(ping) = &mut flow.app {
                ping.series = self.samples.open(entity, "delay_s");
            } else {
                let metrics =
                    ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "acked_bytes", "delivered_bytes"];
                let all = metrics.map(|metric| self.samples.open(entity.clone(), metric));
                self.sampled.transfers.push((index as u32, all[0]));
            }
        }
        for wire in 0..fixed {
            let direction = ["forward", "reverse"][wire % 2];
            let entity = format!("link/{}/{direction}", self.link_names[wire / 2]);
            let series = self.samples.open(entity, "queue_packets");
            self.sampled.queues.push((wire as u32, series));
        }
        // By default two thousand samples of each, fewer where there are many to take.
        let each = self.sampled.transfers.len() * 5 + self.sampled.queues.len();
        let default = scenario.duration / (2_000_000 / each.max(1) as u64).clamp(10, 2000);
        let floor = Span::from_micros(1);
        self.sample_interval = scenario.record.sample_interval.unwrap_or(default).max(floor);
    }

    fn handle_samples(&mut self) {
        let now = self.now;
        for &(flow, series) in &self.sampled.transfers {
            let App::Transfer(transfer) = &self.flows[flow as usize].app else { continue };
            let sender = &transfer.ends[0];
            if !transfer.started {
                continue;
            }
            self.samples.add(series, now, sender.cwnd() as f64);
            if let Some(ssthresh) = sender.ssthresh() {
                self.samples.add(series + 1, now, ssthresh as f64);
            }
            self.samples.add(series + 2, now, sender.in_flight() as f64);
            self.samples.add(series + 3, now, sender.acknowledged() as f64);
            self.samples.add(series + 4, now, transfer.ends[1].delivered() as f64);
        }
        for &(wire, series) in &self.sampled.queues {
            let wire = &mut self.wires[wire as usize];
            let medium = wire.medium(topology(&self.space));
            let waiting = wire.link.waiting(now, &medium);
            self.samples.add(series, now, waiting as f64);
        }
        let slot = self.sample_slot();
        self.agenda.wake(slot, now + self.sample_interval);
    }
}
