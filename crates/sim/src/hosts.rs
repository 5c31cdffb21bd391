//! Hosts: applications, the ends of their connections and the splices between them, and the packets that they send.
//!
//! Follows the sans-IO contract: one input, then events to the application, its actions, packets out, and the timer.
//! Differs from a real host: both ends of a flow are accessible, and an application reads arriving data at once.
//! Leaves out associations (`streams`, `gateways`, `carrying`), and links, which the simulation steps.

use crate::arrivals::ProgramArrivals;
use crate::associations::RunAssociations;
use crate::cache::Decision;
use crate::conversation::Conversation;
use crate::datagrams::DatagramFlow;
use crate::endpoint::{Event, FlowEndpoint};
use crate::flow::{App, AppStream, FlowState};
use crate::ids::{Actor, ConversationId};
use crate::observe::Observer;
use crate::programs::Programs;
use crate::schedule::Schedule;
use crate::slots::Owner;
use crate::splice::{Divider, Joint, SpliceCounts, count};
use crate::stp::StpEnd;
use crate::unfinished::Unfinished;
use skyhop_network::{Delivery, Frame, Inside, Network};
use skyhop_splice::Side;
use skyhop_traffic::{Action, AppNotice, Application, End};
use skyhop_units::Time;
use skyhop_wire::{Packet, Transport};

/// The flows of a run, and the splices on their paths.
pub(crate) struct Hosts {
    flows: Vec<FlowState>,
    /// Actors of one flow that have something to do at this instant.
    touched: Vec<(ConversationId, Actor)>,
    /// Splices by name, and their counters.
    places: Vec<SpliceCounts>,
    unfinished: Unfinished,
    /// Packets for programs.
    arrivals: ProgramArrivals,
}

/// The consequence of a packet's arrival.
pub(crate) enum HostArrival {
    /// An actor of a connection has something to do.
    Touched,
    /// The packet has been counted.
    Counted,
    /// The packet says nothing about the end of its flow.
    Ignored,
    /// The packet had an answer that has arrived already, which is rare.
    Deliver(Delivery),
    /// The packet is a datagram that an association carries on.
    Carried(Delivery),
}

/// The reason for which an end or a splice has stopped acting.
pub(crate) enum HostAct {
    /// It has sent a packet that has arrived already, which is rare; it has more to do.
    Deliver(Delivery),
    /// It acts together with an association: it is an end of a stream, or a connection at a gateway.
    Share,
    /// Its connection has ended and is to be forgotten.
    End,
    /// It waits for a packet or its timer.
    Wait,
}

/// The consequence of the start, the stop or a timer of a flow's application.
pub(crate) enum AppAct {
    /// Ends of its connections have something to do.
    Touched,
    /// Datagrams may be due.
    Datagrams,
    /// It has sent a packet that has arrived already, which is rare.
    Deliver(Delivery),
    /// It waits.
    Wait,
}

impl Hosts {
    /// The hosts of a scenario's flows; `places` are its splices, in order of name.
    pub fn new(flows: Vec<FlowState>, places: Vec<SpliceCounts>) -> Self {
        let (touched, arrivals) = (Vec::new(), ProgramArrivals::default());
        Self { touched, places, unfinished: Unfinished::new(flows.len()), flows, arrivals }
    }

    /// All flows.
    pub fn flows(&self) -> &[FlowState] {
        &self.flows
    }

    /// A flow.
    pub fn flow(&self, index: usize) -> &FlowState {
        &self.flows[index]
    }

    /// The splices, in order of name.
    pub fn places(&self) -> &[SpliceCounts] {
        &self.places
    }

    /// Returns true if every flow has finished.
    #[inline]
    pub fn all_finished(&self) -> bool {
        self.unfinished.none()
    }

    /// The application of a flow over connections.
    pub fn stream(&mut self, flow: u32) -> Option<&mut AppStream> {
        match &mut self.flows.get_mut(flow as usize)?.app {
            App::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// A connection of a flow.
    pub fn conversation(&mut self, (flow, id): (u32, ConversationId)) -> Option<&mut Conversation> {
        self.stream(flow)?.conversations.get_mut(id)
    }

    /// A splice of a flow's connection, and the counters of the splices of its name.
    pub fn joint(
        &mut self,
        (flow, id): (u32, ConversationId),
        leg: u8,
    ) -> Option<(&mut Joint, &mut SpliceCounts)> {
        let App::Stream(stream) = &mut self.flows[flow as usize].app else { return None };
        let joint = &mut stream.conversations.get_mut(id)?.joints[leg as usize];
        let place = &mut self.places[joint.place as usize];
        Some((joint, place))
    }

    /// A flow of datagrams.
    pub fn datagrams(&mut self, flow: u32) -> Option<&mut DatagramFlow> {
        match &mut self.flows.get_mut(flow as usize)?.app {
            App::Datagrams(sending) => Some(sending),
            _ => None,
        }
    }

    /// A flow of programs.
    pub fn programs(&self, flow: usize) -> Option<&Programs> {
        match &self.flows.get(flow)?.app {
            App::Programs(programs) => Some(programs),
            _ => None,
        }
    }

    /// Packets for programs, and for ends that the driver simulates.
    pub fn arrivals(&mut self) -> &mut ProgramArrivals {
        &mut self.arrivals
    }

    /// Returns true if a packet for an end that the driver simulates has arrived.
    pub fn holds_any(&self) -> bool {
        self.arrivals.holds_any()
    }

    /// The first route of a flow.
    pub fn route(&self, flow: usize) -> Option<u32> {
        Some(self.flows.get(flow)?.routes.start)
    }

    /// All connections of the flows whose connections are streams of associations.
    pub fn conversations_over_associations(&mut self) -> impl Iterator<Item = &mut Conversation> {
        let over = self.flows.iter_mut().filter(|flow| flow.association.is_some());
        let streams = over.filter_map(|flow| match &mut flow.app {
            App::Stream(stream) => Some(stream),
            _ => None,
        });
        streams.flat_map(|stream| stream.conversations.all_mut())
    }

    /// Notes that an actor of a connection has something to do.
    pub fn touch(&mut self, id: ConversationId, actor: Actor) {
        self.touched.push((id, actor));
    }

    /// The next actor that has something to do.
    #[inline]
    pub fn next_touched(&mut self) -> Option<(ConversationId, Actor)> {
        self.touched.pop()
    }

    /// A program's packet from an end of its flow. `None` if the flow is not one of programs.
    pub fn program_frame(
        &mut self,
        now: Time,
        (flow, backward): (u32, bool),
        numbers: [u32; 2],
        packet: Packet,
    ) -> Option<Frame> {
        let of = &mut self.flows[flow as usize];
        let App::Programs(programs) = &mut of.app else { return None };
        programs.sent(backward);
        Some(Frame::new(of.routes.start, backward, numbers, now, packet))
    }

    /// Holds packets for the `to` of a flow of programs, or for its `from`.
    pub fn hold(&mut self, flow: usize, to: bool) {
        if let Some(App::Programs(programs)) = self.flows.get_mut(flow).map(|flow| &mut flow.app) {
            programs.held = Some(!to);
        }
    }

    /// Informs the ends of a leg of a flow that its path is up or down.
    pub fn set_path_up(&mut self, now: Time, (flow, leg): (u32, u8), up: bool) {
        let legs = self.flows[flow as usize].legs();
        if let Some(stream) = self.stream(flow) {
            stream.conversations.set_path_up(leg as usize, legs, now, up);
        }
    }

    /// Handles a packet at the end of a leg of a flow.
    // Inlined, as it runs once per packet: the consequence is then a branch of the caller, and no value.
    #[inline(always)]
    pub fn handle_arrival(
        &mut self,
        (index, leg): (usize, u8),
        delivery: Delivery,
        schedule: &mut Schedule,
        network: &mut Network,
        observer: &mut Observer,
    ) -> HostArrival {
        let now = schedule.now();
        let flow = &mut self.flows[index];
        match &mut flow.app {
            App::Stream(stream) => {
                let frame = network.delivered(&delivery);
                let last = flow.routes.len() as u8 - 1;
                let actor = match (frame.backward, leg) {
                    (true, 0) => Actor::End(End::Client),
                    (true, leg) => Actor::Splice(leg - 1),
                    (false, leg) if leg == last => Actor::End(End::Server),
                    (false, leg) => Actor::Splice(leg),
                };
                let id = ConversationId { place: frame.tag, generation: frame.stream };
                // A packet for a connection that has been removed is ignored.
                match stream.conversations.get_mut(id) {
                    Some(conversation) if conversation.takes_tcp(actor, &frame.packet) => {
                        conversation.handle_tcp(now, actor, frame.backward, &frame.packet);
                        network.end(delivery);
                    }
                    Some(conversation) => {
                        if let (frame, Some(Inside::Connection(stp))) = network.take(delivery) {
                            let field = frame.packet.ip.ecn;
                            conversation.handle_stp(now, actor, frame.backward, (&stp, field));
                        }
                    }
                    None => drop(network.take(delivery)),
                }
                self.touched.push((id, actor));
                HostArrival::Touched
            }
            App::Ping(ping) => {
                let (frame, _) = network.take(delivery);
                let Transport::Icmp(echo) = frame.packet.transport else { return HostArrival::Ignored };
                if !ping.twins.is_first(&frame) {
                    return HostArrival::Ignored;
                }
                let took = now.since(frame.sent_at);
                if echo.reply {
                    ping.round_trip.add(took);
                    return HostArrival::Counted;
                }
                ping.forward.add(took);
                observer.add(ping.series, frame.sent_at, took.as_secs_f64());
                let answer = ping.packet(true, echo.sequence);
                let answer = flow.frame(0, true, frame.sent_at, answer);
                schedule.send(network, answer, None).map_or(HostArrival::Counted, HostArrival::Deliver)
            }
            App::Programs(programs) => {
                let flipped = network.flipped(&delivery);
                let (frame, _) = network.take(delivery);
                programs.arrived(&frame, now);
                let hold = programs.held == Some(frame.backward);
                self.arrivals.add(index as u32, &frame, now, flipped, hold);
                HostArrival::Ignored
            }
            App::Datagrams(sending) => {
                let frame = network.delivered(&delivery);
                let told = frame.backward || matches!(frame.packet.transport, Transport::TooLarge(_));
                if !told && leg + 1 != flow.routes.len() as u8 {
                    return HostArrival::Carried(delivery);
                }
                let (frame, _) = network.take(delivery);
                // A source of datagrams does not reduce their size when it is told of a smaller MTU.
                if !told
                    && sending.twins.is_first(&frame)
                    && sending.arrived(frame.sent_at, now, observer.interval())
                {
                    let took = now.since(frame.sent_at);
                    observer.add(sending.series, frame.sent_at, took.as_secs_f64());
                }
                HostArrival::Counted
            }
        }
    }

    /// Notes that a flow may have finished.
    pub fn settle(&mut self, now: Time, flow: usize, network: &Network, associations: &RunAssociations) {
        let Self { flows, unfinished, .. } = self;
        let finished = |flow: usize| {
            let flow = &flows[flow];
            flow.finished(now, &network.account(flow.account)) && associations.carry_none(flow, network)
        };
        if finished(flow) {
            unfinished.advance(finished);
        }
    }

    /// Counts datagrams as lost whose association has nothing in the network any more.
    pub fn settle_datagrams(&mut self, network: &Network, associations: &RunAssociations) {
        for flow in &mut self.flows {
            if associations.carry_none(flow, network)
                && let App::Datagrams(sending) = &mut flow.app
            {
                sending.counts.lost += sending.counts.pending();
            }
        }
    }

    /// Starts or stops a flow, or wakes its application.
    pub fn handle_app(&mut self, index: usize, schedule: &mut Schedule, network: &mut Network) -> AppAct {
        let now = schedule.now();
        let flow = &mut self.flows[index];
        let begins = !std::mem::replace(&mut flow.started, true);
        let stops = !begins && !flow.stopped && flow.stop.is_some_and(|stop| now >= stop);
        flow.stopped |= stops;
        match &mut flow.app {
            App::Stream(stream) => {
                if begins {
                    stream.application.start(now);
                } else if stops {
                    stream.application.stop(now);
                } else {
                    stream.application.handle_timeout(now);
                }
                self.carry_out(index, schedule, network);
                AppAct::Touched
            }
            App::Programs(_) => AppAct::Wait,
            App::Ping(_) | App::Datagrams(_) if flow.stopped => AppAct::Wait,
            App::Ping(ping) => {
                let request = ping.packet(false, ping.next as u16);
                ping.next += 1;
                let next = ping.ping.at(flow.start, ping.next);
                schedule.wake_application(index, flow.stop.map_or(next, |stop| next.min(stop)));
                let request = flow.frame(0, false, now, request);
                schedule.send(network, request, None).map_or(AppAct::Wait, AppAct::Deliver)
            }
            App::Datagrams(sending) => {
                if begins {
                    sending.source.start(now);
                }
                AppAct::Datagrams
            }
        }
    }

    /// Sends the datagrams of a flow that are due, and wakes its application at the time of the next. Returns a datagram that has
    /// arrived already, which is rare; then more may be due.
    pub fn send_datagrams(
        &mut self,
        index: usize,
        schedule: &mut Schedule,
        network: &mut Network,
    ) -> Option<Delivery> {
        let flow = &mut self.flows[index];
        let App::Datagrams(sending) = &mut flow.app else { return None };
        let now = schedule.now();
        while let Some(packet) = sending.poll_transmit(now) {
            let numbers = ConversationId::NONE.numbers();
            let frame = Frame::new(flow.routes.start, false, numbers, now, packet);
            if let Some(delivery) = schedule.send(network, frame, None) {
                return Some(delivery);
            }
        }
        if let Some(at) = [sending.source.poll_timeout(), flow.stop].into_iter().flatten().min() {
            schedule.wake_application(index, at);
        }
        None
    }

    /// Handles the expiry of a timer of a connection's end or splice. Returns false if the flow has no connections.
    pub fn handle_timeout(&mut self, now: Time, index: usize, id: ConversationId, actor: Actor) -> bool {
        let App::Stream(stream) = &mut self.flows[index].app else { return false };
        if let Some(conversation) = stream.conversations.get_mut(id) {
            match actor {
                Actor::End(end) => conversation.ends[end as usize].handle_timeout(now),
                Actor::Splice(leg) => match &mut conversation.joints[leg as usize].divider {
                    Divider::Splice(splice) => splice.handle_timeout(now),
                    Divider::Gateway(gateway) => gateway.end.handle_timeout(now),
                },
            }
        }
        self.touched.push((id, actor));
        true
    }

    /// Carries out the actions of an application, and marks the ends concerned as touched.
    fn carry_out(&mut self, index: usize, schedule: &mut Schedule, network: &Network) {
        let now = schedule.now();
        let Self { flows, touched, .. } = self;
        let flow = &mut flows[index];
        let (legs, first) = (flow.legs(), flow.routes.start);
        let App::Stream(stream) = &mut flow.app else { return };
        while let Some(action) = stream.application.poll_action() {
            let conversations = &mut stream.conversations;
            let (connection, end) = match action {
                Action::Open { connection } => {
                    let id = conversations.open(now, connection, |id, actor| {
                        let rank = id.rank(index as u32, actor);
                        schedule.add(rank, Owner::Actor(index as u32, id, actor))
                    });
                    for leg in (0..legs).filter(|leg| network.is_out(first + *leg as u32)) {
                        if let Some(conversation) = conversations.get_mut(id) {
                            conversation.set_path_up(leg, legs, now, false);
                        }
                    }
                    touched.push((id, Actor::End(End::Client)));
                    continue;
                }
                Action::Write { connection, end, .. }
                | Action::Shutdown { connection, end }
                | Action::StopWriting { connection, end } => (connection, end),
            };
            // The connection has been removed: there is no end to write to.
            let Some(id) = conversations.find(connection) else { continue };
            let Some(conversation) = conversations.get_mut(id) else { continue };
            let (cache, done) = match conversation.joints.is_empty() {
                true => (None, false),
                false => conversation.divert(now, &action),
            };
            if let Some(host) = cache {
                touched.push((id, host));
            }
            if done {
                continue;
            }
            let side = &mut conversation.ends[end as usize];
            match action {
                Action::Open { .. } => {}
                Action::Write { bytes, .. } => side.write(bytes),
                Action::Shutdown { .. } => side.shutdown(),
                Action::StopWriting { .. } => side.stop_writing(),
            }
            if !touched.contains(&(id, Actor::End(end))) {
                touched.push((id, Actor::End(end)));
            }
        }
        let stop = flow.stop.filter(|_| !flow.stopped);
        if let Some(at) = [stream.application.poll_timeout(), stop].into_iter().flatten().min() {
            schedule.wake_application(index, at);
        }
    }

    /// Drains an end of a connection: events go to the application, packets to the network, and the timer is set.
    #[inline]
    pub fn drive_end(
        &mut self,
        (index, id, end): (usize, ConversationId, End),
        schedule: &mut Schedule,
        network: &mut Network,
    ) -> HostAct {
        let now = schedule.now();
        loop {
            let flow = &mut self.flows[index];
            let App::Stream(stream) = &mut flow.app else { return HostAct::Wait };
            let Some(conversation) = stream.conversations.get_mut(id) else { return HostAct::Wait };
            let told = tell(&mut stream.application, conversation, end, now);
            if told && stream.application.wants() {
                self.carry_out(index, schedule, network);
                continue;
            }
            let (leg, backward) = match end {
                End::Client => (0, false),
                End::Server => ((flow.routes.len() - 1) as u8, true),
            };
            let route = flow.routes.start + u32::from(leg);
            match &mut conversation.ends[end as usize] {
                FlowEndpoint::Tcp(tcp) => {
                    if let Some(packet) = tcp.poll_transmit(now) {
                        let frame = Frame::new(route, backward, id.numbers(), now, packet);
                        match schedule.send(network, frame, None) {
                            Some(delivery) => return HostAct::Deliver(delivery),
                            None => continue,
                        }
                    }
                }
                FlowEndpoint::Stp(stp) => {
                    let StpEnd::Alone(stp) = &mut **stp else { return HostAct::Share };
                    if let Some(packet) = stp.machine.poll_transmit(now) {
                        let fields = stp.machine.network_fields(&packet);
                        let outside = stp.envelope.wrap(&packet, fields);
                        let frame = Frame::new(route, backward, id.numbers(), now, outside);
                        match schedule.send(network, frame, Some(Inside::Connection(packet))) {
                            Some(delivery) => return HostAct::Deliver(delivery),
                            None => continue,
                        }
                    }
                }
            }
            if let Some(at) = conversation.ends[end as usize].poll_timeout() {
                schedule.wake(conversation.slots[end as usize], at.max(now));
            }
            return if conversation.over() && !stream.keeps() { HostAct::End } else { HostAct::Wait };
        }
    }

    /// Drains a splice: counters are updated, packets go to the network, and the timer is set.
    pub fn drive_splice(
        &mut self,
        (index, id, leg): (usize, ConversationId, u8),
        schedule: &mut Schedule,
        network: &mut Network,
    ) -> HostAct {
        let now = schedule.now();
        loop {
            let flow = &mut self.flows[index];
            let App::Stream(stream) = &mut flow.app else { return HostAct::Wait };
            let Some(conversation) = stream.conversations.get_mut(id) else { return HostAct::Wait };
            let joint = &mut conversation.joints[leg as usize];
            let place = &mut self.places[joint.place as usize];
            let Divider::Splice(splice) = &mut joint.divider else { return HostAct::Share };
            let finished = count(splice, &mut joint.held, place);
            if let Some(cache) = &mut joint.cache {
                let connection = conversation.connection;
                let decision = cache.decide(now, splice);
                let notice = match decision {
                    Some(Decision::Hit(bytes)) => {
                        place.result.hits += 1;
                        Some(AppNotice::Delivered { connection, end: End::Server, bytes })
                    }
                    Some(Decision::Miss) => {
                        place.result.misses += 1;
                        continue;
                    }
                    // The client has finished, and there is no server yet to receive that.
                    None if finished && !splice.begun(Side::Server) => {
                        Some(AppNotice::PeerFinished { connection, end: End::Server })
                    }
                    None => None,
                };
                if let Some(notice) = notice {
                    stream.application.handle(now, notice);
                    self.carry_out(index, schedule, network);
                    continue;
                }
            }
            let start = flow.routes.start;
            let frame = |side, packet| {
                let (leg, backward) = match side {
                    Side::Client => (leg, true),
                    Side::Server => (leg + 1, false),
                };
                Frame::new(start + u32::from(leg), backward, id.numbers(), now, packet)
            };
            if let Some((side, packet)) = splice.poll_transmit(now) {
                match schedule.send(network, frame(side, packet), None) {
                    Some(delivery) => return HostAct::Deliver(delivery),
                    None => continue,
                }
            }
            if let Some((side, packet, fields)) = splice.poll_transmit_stp(now)
                && let Some(envelope) = &mut joint.envelopes[side as usize]
            {
                let outside = envelope.wrap(&packet, fields);
                match schedule.send(network, frame(side, outside), Some(Inside::Connection(packet))) {
                    Some(delivery) => return HostAct::Deliver(delivery),
                    None => continue,
                }
            }
            if let Some(at) = splice.poll_timeout() {
                schedule.wake(joint.slot, at.max(now));
            }
            return HostAct::Wait;
        }
    }

    /// Removes a connection that has ended, and releases its slots. Returns it, as its splices may have places in associations.
    pub fn forget(
        &mut self,
        (index, id): (usize, ConversationId),
        schedule: &mut Schedule,
    ) -> Option<Conversation> {
        let App::Stream(stream) = &mut self.flows[index].app else { return None };
        let conversation = stream.conversations.forget(id, schedule.now())?;
        for joint in &conversation.joints {
            self.places[joint.place as usize].held -= joint.held;
        }
        for slot in conversation.slots.into_iter().chain(conversation.joints.iter().map(|j| j.slot)) {
            schedule.release(slot);
        }
        Some(conversation)
    }
}

/// Passes the events of an end to the application. Returns false if there are none.
fn tell(application: &mut Application, conversation: &mut Conversation, end: End, now: Time) -> bool {
    let connection = conversation.connection;
    let side = &mut conversation.ends[end as usize];
    let mut told = false;
    while let Some(event) = side.poll_event() {
        told = true;
        let notice = match event {
            Event::Connected => AppNotice::Opened { connection, end },
            Event::Received(bytes) => {
                side.read();
                AppNotice::Delivered { connection, end, bytes }
            }
            // Before its FIN is acknowledged, an end knows only that a splice has all data.
            Event::AllAcknowledged if !conversation.joints.is_empty() && side.closing() => {
                conversation.unsure[end as usize] = true;
                continue;
            }
            Event::AllAcknowledged => {
                AppNotice::AllAcknowledged { connection, end, bytes: side.acknowledged() }
            }
            Event::PeerFinished => AppNotice::PeerFinished { connection, end },
            Event::Reset => AppNotice::Reset { connection, end },
            Event::Closed => continue,
        };
        application.handle(now, notice);
    }
    if conversation.unsure[end as usize] {
        let notice = if side.fin_acknowledged() {
            AppNotice::AllAcknowledged { connection, end, bytes: side.acknowledged() }
        } else if side.closed() {
            AppNotice::Reset { connection, end }
        } else {
            return told;
        };
        conversation.unsure[end as usize] = false;
        application.handle(now, notice);
        told = true;
    }
    told
}
