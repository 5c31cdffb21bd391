//! A run: the network, stepped from event to event.
//!
//! Follows the sans-IO contract of links and endpoints: one input, then drain, then wait.
//! Differs from the emulator to come only in who says what time it is.
//! Leaves out everything that is not the order of events.

use crate::agenda::{Agenda, Rank, Slot};
use crate::build::{Built, build};
use crate::capture::Capture;
use crate::conversation::{ConversationId, Host};
use crate::error::BuildError;
use crate::flow::{App, Flow, Way};
use crate::frames::Frames;
use crate::mesh::Mesh;
use crate::observe::Sampled;
use crate::routes::Stuck;
use crate::sample::Samples;
use crate::space::Space;
use crate::splice::Place;
use crate::stp::Carried;
use crate::unfinished::Unfinished;
use crate::ways::Ways;
use crate::wire::Wire;
use skyhop_chance::Seed;
use skyhop_link::{Ack, Label};
use skyhop_scenario::{Files, Scenario};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Span, Time};
use skyhop_wire::{Ecn, Flags, Packet, Transport};

/// A packet in the network.
pub(crate) struct Frame {
    pub flow: u32,
    /// Which of the flow's connections it belongs to.
    pub conversation: ConversationId,
    /// Links crossed so far on this leg.
    pub hop: u16,
    /// Leg of the flow's way.
    pub leg: u8,
    /// Whether it goes towards end 0.
    pub backward: bool,
    /// When its flow's end 0 began the exchange it belongs to (a ping's request).
    pub sent_at: Time,
    pub packet: Packet,
}

impl Frame {
    /// What queues may know of the packet. Connections and directions are flows of their own.
    fn label(&self, priority: u8) -> Label {
        let pair = self.conversation.connection_hash() ^ self.flow.wrapping_mul(0x9e37_79b1);
        Label {
            flow: pair.wrapping_mul(2) | u32::from(self.backward),
            band: priority,
            ecn: self.packet.ip.ecn != Ecn::NotCapable,
            ack: self.ack(),
        }
    }

    /// What a filter may know of it if it only acknowledges.
    fn ack(&self) -> Ack {
        let Transport::Tcp(tcp) = &self.packet.transport else { return Ack::No };
        let Flags(more) = Flags::SYN | Flags::FIN | Flags::RST;
        if self.packet.payload_len > 0 || tcp.flags.0 & more != 0 || !tcp.flags.has(Flags::ACK) {
            return Ack::No;
        }
        let Flags(marks) = Flags::ECE | Flags::CWR;
        let marked = tcp.flags.0 & marks != 0 || self.packet.ip.ecn == Ecn::Marked;
        if marked || !tcp.sack.is_empty() { Ack::Kept(tcp.ack) } else { Ack::Plain(tcp.ack) }
    }
}

/// Whom a slot of the agenda wakes; links have the slots below all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Satellites that move.
    Space,
    /// The clock of samples.
    Samples,
    /// Links that go out by the clock.
    Outages,
    /// A flow's application.
    App(u32),
    /// An end of a connection, or a splice of it.
    Host(u32, ConversationId, Host),
    /// Nobody at present.
    Nobody,
}

/// More links than any path has: a packet that has crossed them is going round in circles while routes change.
const MOST_HOPS: u16 = 255;

/// A scenario being simulated.
pub struct Simulation {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) agenda: Agenda,
    /// Who has the slots behind those of the links.
    pub(crate) owners: Vec<Owner>,
    /// Slots that nobody has.
    pub(crate) spare: Vec<Slot>,
    pub(crate) frames: Frames<Frame>,
    /// What is inside those of STP.
    pub(crate) carried: Carried,
    pub(crate) wires: Vec<Wire>,
    pub(crate) link_names: Vec<String>,
    pub(crate) flows: Vec<Flow>,
    /// Ends and splices of connections that have something to do at this instant.
    pub(crate) touched: Vec<(ConversationId, Host)>,
    /// Splices by name, and what they have counted.
    pub(crate) places: Vec<Place>,
    /// Links that stay, if flows are spread over them.
    pub(crate) mesh: Option<Box<Mesh>>,
    pub(crate) space: Option<Space>,
    pub(crate) ways: Ways,
    captured: Vec<String>,
    capture: Option<Box<dyn Capture>>,
    pub(crate) samples: Samples,
    pub(crate) sampled: Sampled,
    pub(crate) sample_interval: Span,
    pub(crate) events: u64,
    pub(crate) packet_hops: u64,
    pub(crate) unfinished: Unfinished,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn topology(space: &Option<Space>) -> Option<&Topology> {
    space.as_ref().map(|space| &space.topology)
}

/// Round trips by index of flow and leg.
pub type LegRtts = std::collections::BTreeMap<(usize, usize), Span>;

impl Simulation {
    /// Builds the network of a checked scenario. `files` are the files that it names.
    pub fn new(scenario: &Scenario, files: &Files, seed: u64) -> Result<Self, BuildError> {
        let Built { wires, link_names, flows, mut mesh, space, captured } =
            build(scenario, files, Seed(seed))?;
        let mut agenda = Agenda::default();
        for wire in 0..wires.len() as u32 {
            agenda.add(Rank::link(wire));
        }
        let clocks = [(Owner::Space, Rank::clock(0)), (Owner::Samples, Rank::LAST)];
        let apps = (0..flows.len() as u32).map(|flow| (Owner::App(flow), Rank::application(flow)));
        let owners: Vec<Owner> = clocks
            .into_iter()
            .chain(apps)
            .map(|(owner, rank)| {
                agenda.add(rank);
                owner
            })
            .collect();
        let mut simulation = Self {
            name: scenario.name.clone().unwrap_or_default(),
            seed,
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            agenda,
            owners,
            spare: Vec::new(),
            touched: Vec::new(),
            places: scenario.splices.keys().map(|name| Place::new(name)).collect(),
            frames: Frames::new(),
            carried: Carried::default(),
            unfinished: Unfinished::new(flows.len()),
            ways: Ways::new(&flows, &wires, mesh.as_deref_mut()),
            wires,
            link_names,
            flows,
            mesh,
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
            simulation.agenda.wake(simulation.app_slot(index), start);
        }
        if !simulation.sampled.transfers.is_empty() || !simulation.sampled.queues.is_empty() {
            simulation.agenda.wake(simulation.sample_slot(), Time::ZERO);
        }
        simulation.watch_outages();
        Ok(simulation)
    }

    /// Takes no samples: a run among a hundred thousand is looked at by its totals.
    pub fn without_series(&mut self) {
        self.sampled = Sampled::default();
        self.agenda.cancel(self.sample_slot());
    }

    /// Propagation there and back, over the satellites that carry them now, of the legs of the first hundred flows through the
    /// constellation: by index of flow and leg. Those without a route have none.
    pub fn leg_rtts(&mut self) -> LegRtts {
        const MOST: usize = 100;
        let Some(space) = &mut self.space else { return LegRtts::new() };
        let legs = self
            .flows
            .iter()
            .enumerate()
            .flat_map(|(flow, f)| f.legs.iter().enumerate().map(move |(leg, way)| ((flow, leg), way)));
        let through = legs.filter_map(|(at, way)| match *way {
            Way::Space([from, to]) => Some((at, space.path(from, to)?)),
            _ => None,
        });
        through.take(MOST).map(|(at, (delay_s, _))| (at, Span::from_micros((2e6 * delay_s) as u64))).collect()
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
        self.now >= self.end || self.unfinished.none()
    }

    /// Names of the captured link directions: the interfaces of a capture.
    pub fn captured(&self) -> &[String] {
        &self.captured
    }

    /// Hands packets of captured links to `capture`.
    pub fn set_capture(&mut self, capture: Box<dyn Capture>) {
        self.capture = Some(capture);
    }

    /// Runs until `until`, the end, or until every flow has completed.
    pub fn run_until(&mut self, until: Time) {
        while !self.unfinished.none() {
            if !self.step_by(until) {
                self.now = self.now.max(until.min(self.end));
                return;
            }
        }
    }

    /// Does the next event. False if there is none before the end.
    pub fn step(&mut self) -> bool {
        !self.unfinished.none() && self.step_by(self.end)
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

    fn space_slot(&self) -> Slot {
        self.wires.len() as Slot
    }

    pub(crate) fn sample_slot(&self) -> Slot {
        self.space_slot() + 1
    }

    pub(crate) fn app_slot(&self, flow: usize) -> Slot {
        self.space_slot() + 2 + flow as Slot
    }

    fn handle(&mut self, slot: Slot) {
        let wires = self.wires.len() as Slot;
        if slot < wires {
            return self.handle_wire(slot);
        }
        match self.owners[(slot - wires) as usize] {
            Owner::Host(flow, conversation, host) => self.handle_host(flow as usize, conversation, host),
            Owner::App(flow) => self.handle_app(flow as usize),
            Owner::Space => self.handle_space(),
            Owner::Samples => self.handle_samples(),
            Owner::Outages => self.handle_outages(),
            Owner::Nobody => {}
        }
    }

    /// A link has something for us: arrivals, and transmissions if it is captured.
    fn handle_wire(&mut self, index: Slot) {
        loop {
            let wire = &mut self.wires[index as usize];
            let medium = wire.medium(topology(&self.space));
            let Some(arrival) = wire.link.poll_arrival(self.now, &medium) else { break };
            self.packet_hops += 1;
            if arrival.marked {
                self.frames[arrival.packet].packet.ip.ecn = Ecn::Marked;
            }
            let lost = match &mut wire.compression {
                None => arrival.lost,
                Some(compression) => {
                    let frame = &self.frames[arrival.packet];
                    compression.loses(arrival.packet, (frame.flow, frame.conversation), arrival.lost)
                }
            };
            if lost {
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
        while let Some(discarded) = wire.link.poll_discarded() {
            let frame = self.frames.remove(discarded);
            self.flows[frame.flow as usize].dropped += 1;
        }
        if let Some(interface) = wire.capture {
            let medium = wire.medium(topology(&self.space));
            while let Some(sent) = wire.link.poll_sent(self.now, &medium) {
                if let Some(capture) = &mut self.capture {
                    let frame = &mut self.frames[sent.packet];
                    if sent.marked {
                        frame.packet.ip.ecn = Ecn::Marked;
                    }
                    // What is neither TCP nor without a connection is STP's.
                    let stream = matches!(self.flows[frame.flow as usize].app, App::Stream(_));
                    let stp = stream && !matches!(frame.packet.transport, Transport::Tcp(_));
                    let inside = self.carried.get(sent.packet).filter(|_| stp);
                    capture.packet(interface, sent.at, &frame.packet, inside);
                }
            }
        }
        if let Some(at) = wire.link.poll_timeout() {
            self.agenda.wake(index, at);
        }
    }

    /// A packet is at `node`: it has arrived, or goes out on the next link.
    pub(crate) fn forward(&mut self, id: u32, node: NodeId) {
        let frame = &self.frames[id];
        let flow = &mut self.flows[frame.flow as usize];
        let next = match &flow.legs[frame.leg as usize] {
            Way::Wires(wires) => match wires[frame.backward as usize].get(frame.hop as usize) {
                Some(&wire) => wire,
                None => return self.deliver(id),
            },
            Way::Mesh(ends) => {
                let destination = ends[!frame.backward as usize];
                if node == destination {
                    return self.deliver(id);
                }
                let next =
                    self.mesh.as_mut().and_then(|mesh| mesh.next_wire(node, destination, &frame.packet));
                let Some(next) = next else { unreachable!("a flow over a mesh has a way") };
                next
            }
            Way::Space(ends) => {
                let destination = ends[!frame.backward as usize];
                if node == destination {
                    return self.deliver(id);
                }
                let Some(space) = &mut self.space else { unreachable!("a flow through space has one") };
                let next = match frame.hop < MOST_HOPS {
                    true => space.next_wire(node, destination, (id, &frame.packet), self.now),
                    false => Err(Stuck::HopLimit),
                };
                match next {
                    Ok(wire) => wire,
                    Err(why) => {
                        space.stuck(why, node, destination);
                        flow.dropped += 1;
                        self.frames.remove(id);
                        return;
                    }
                }
            }
        };
        let wire = &mut self.wires[next as usize];
        let whole = frame.packet.wire_len();
        if frame.hop == 0 {
            // What a splice sends is not its ends'.
            let first = if frame.backward { flow.legs.len() - 1 } else { 0 };
            if frame.leg as usize == first {
                flow.bytes[frame.backward as usize] += u64::from(whole);
            }
        }
        if flow.narrow && whole > wire.mtu {
            return self.too_large(id, next);
        }
        let compressed = wire.compression.as_ref().and_then(|c| c.compressed_len(&frame.packet));
        let size = compressed.unwrap_or(whole);
        let label = if wire.link.reads_labels() { frame.label(flow.priority) } else { Label::default() };
        let medium = wire.medium(topology(&self.space));
        if wire.link.handle_packet(self.now, id, size, label, &medium).is_err() {
            flow.dropped += 1;
            self.frames.remove(id);
            return;
        }
        if let Some(compression) = &mut wire.compression {
            compression.taken(id, &frame.packet, compressed.is_some());
        }
        self.after_wire(next);
    }

    /// Satellites have moved: links, handovers, and the paths of flows.
    fn handle_space(&mut self) {
        let (now, slot) = (self.now, self.space_slot());
        let Some(space) = &mut self.space else { return };
        let (changes, whole) = space.update(now);
        let moved = !changes.is_empty() || space.routes.lag();
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
            if let [Way::Space([from, to])] = self.flows[flow as usize].legs[..]
                && let Some((delay, satellites)) = space.path(from, to)
            {
                self.samples.add(series, now, delay);
                self.samples.add(series + 1, now, satellites as f64);
            }
        }
        for wire in awake {
            self.after_wire(wire);
        }
        if moved {
            self.look_at_ways(true);
        }
    }
}
