//! What hosts do: applications, the ends of their connections, and the packets between both and the network.
//!
//! Follows the sans-IO contract: one input, then events to the application, its actions, packets out, and the timer.
//! Differs from a real host: both ends of a flow are at hand, and an application takes what arrives at once.
//! Leaves out links, which the simulation steps.

use crate::conversation::{Conversation, ConversationId, Host};
use crate::endpoint::{Endpoint, Event};
use crate::flow::{App, Way};
use crate::simulation::{Frame, Owner, Simulation};
use skyhop_splice::Side;
use skyhop_topology::NodeId;
use skyhop_traffic::{Action, Application, End, Notice};
use skyhop_transport::stp::{Length, Packet as StpPacket};
use skyhop_units::Time;
use skyhop_wire::{Packet, Transport};

impl Simulation {
    /// A packet has reached the end of its leg.
    pub(crate) fn deliver(&mut self, id: u32) {
        let frame = &self.frames[id];
        let (index, backward, leg) = (frame.flow as usize, frame.backward, frame.leg as usize);
        let flow = &mut self.flows[index];
        let last = flow.legs.len() - 1;
        flow.delivered += 1;
        match &mut flow.app {
            App::Stream(stream) => {
                let host = match (backward, leg) {
                    (true, 0) => Host::End(End::Client),
                    (true, leg) => Host::Splice(leg as u8 - 1),
                    (false, leg) if leg == last => Host::End(End::Server),
                    (false, leg) => Host::Splice(leg as u8),
                };
                let conversation = frame.conversation;
                // What comes for a connection that is forgotten is nobody's.
                if let Some(conversation) = stream.conversations.get_mut(conversation) {
                    match host {
                        Host::End(end) => match &mut conversation.ends[end as usize] {
                            Endpoint::Tcp(tcp) => tcp.handle_packet(self.now, &frame.packet),
                            Endpoint::Stp(stp) => {
                                if let Some(packet) = self.carried.take(id) {
                                    stp.machine.handle_packet(self.now, &packet);
                                }
                            }
                        },
                        Host::Splice(leg) => {
                            let side = if backward { Side::Server } else { Side::Client };
                            let splice = &mut conversation.joints[leg as usize].splice;
                            match &frame.packet.transport {
                                Transport::Tcp(_) | Transport::TooLarge(_) => {
                                    splice.handle_packet(self.now, side, &frame.packet)
                                }
                                _ => {
                                    if let Some(packet) = self.carried.take(id) {
                                        splice.handle_stp(self.now, side, &packet);
                                    }
                                }
                            }
                        }
                    }
                }
                self.frames.remove(id);
                self.touched.push((conversation, host));
                self.drive_touched(index);
            }
            App::Ping(ping) => {
                let Frame { sent_at, packet, .. } = self.frames.remove(id);
                let Transport::Icmp(echo) = packet.transport else { return };
                let took = self.now.since(sent_at);
                if echo.reply {
                    ping.round_trip.add(took);
                } else {
                    ping.forward.add(took);
                    self.samples.add(ping.series, sent_at, took.as_secs_f64());
                    let answer = ping.packet(true, echo.sequence);
                    self.inject(index, ConversationId::NONE, 0, true, sent_at, answer);
                }
            }
            App::Datagrams(sending) => {
                let Frame { sent_at, packet, .. } = self.frames.remove(id);
                if matches!(packet.transport, Transport::TooLarge(_)) {
                    // Nobody here makes datagrams smaller.
                } else if sending.arrived(sent_at, self.now, self.sample_interval) {
                    let took = self.now.since(sent_at);
                    self.samples.add(sending.series, sent_at, took.as_secs_f64());
                }
            }
        }
        self.settle(index);
    }

    /// Notes that a flow may have finished.
    fn settle(&mut self, flow: usize) {
        if self.flows[flow].finished(self.now) {
            let Self { flows, now, .. } = self;
            self.unfinished.advance(|flow| flows[flow].finished(*now));
        }
    }

    /// A flow begins or stops, or its application has waited for this.
    pub(crate) fn handle_app(&mut self, index: usize) {
        let (now, slot) = (self.now, self.app_slot(index));
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
                self.carry_out(index);
                self.drive_touched(index);
            }
            App::Ping(_) if flow.stopped => {}
            App::Ping(ping) => {
                let request = ping.packet(false, ping.next as u16);
                ping.next += 1;
                let next = ping.ping.at(flow.start, ping.next);
                self.agenda.wake(slot, flow.stop.map_or(next, |stop| next.min(stop)));
                self.inject(index, ConversationId::NONE, 0, false, now, request);
            }
            App::Datagrams(_) if flow.stopped => {}
            App::Datagrams(sending) => {
                if begins {
                    sending.source.start(now);
                }
                self.send_datagrams(index);
            }
        }
        self.settle(index);
    }

    /// Sends the datagrams that are due, and waits for the next.
    fn send_datagrams(&mut self, index: usize) {
        let slot = self.app_slot(index);
        loop {
            let flow = &mut self.flows[index];
            let App::Datagrams(sending) = &mut flow.app else { return };
            if let Some(packet) = sending.poll_transmit(self.now) {
                self.inject(index, ConversationId::NONE, 0, false, self.now, packet);
                continue;
            }
            if let Some(at) = [sending.source.poll_timeout(), flow.stop].into_iter().flatten().min() {
                self.agenda.wake(slot, at);
            }
            return;
        }
    }

    /// A timer of a connection's end or splice has run out.
    pub(crate) fn handle_host(&mut self, index: usize, id: ConversationId, host: Host) {
        let App::Stream(stream) = &mut self.flows[index].app else { return };
        if let Some(conversation) = stream.conversations.get_mut(id) {
            match host {
                Host::End(end) => conversation.ends[end as usize].handle_timeout(self.now),
                Host::Splice(leg) => conversation.joints[leg as usize].splice.handle_timeout(self.now),
            }
        }
        self.touched.push((id, host));
        self.drive_touched(index);
        self.settle(index);
    }

    /// Does what an application asks for; the ends that have to do with it are touched.
    pub(crate) fn carry_out(&mut self, index: usize) {
        loop {
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(action) = stream.application.poll_action() else { break };
            let conversations = &mut stream.conversations;
            let (connection, end) = match action {
                Action::Open { connection } => {
                    let (owners, spare, agenda) = (&mut self.owners, &mut self.spare, &mut self.agenda);
                    let wires = self.wires.len() as u32;
                    let id = conversations.open(self.now, connection, |id, host| {
                        let rank = id.rank(index as u32, host);
                        let slot = match spare.pop() {
                            Some(slot) => {
                                agenda.reuse(slot, rank);
                                slot
                            }
                            None => {
                                owners.push(Owner::Nobody);
                                agenda.add(rank)
                            }
                        };
                        owners[(slot - wires) as usize] = Owner::Host(index as u32, id, host);
                        slot
                    });
                    let legs = self.flows[index].legs.len();
                    for leg in (0..legs).filter(|leg| self.ways.out(index, *leg)) {
                        let App::Stream(stream) = &mut self.flows[index].app else { return };
                        if let Some(conversation) = stream.conversations.get_mut(id) {
                            conversation.set_path_up(leg, legs, self.now, false);
                        }
                    }
                    self.touched.push((id, Host::End(End::Client)));
                    continue;
                }
                Action::Write { connection, end, .. }
                | Action::Shutdown { connection, end }
                | Action::StopWriting { connection, end } => (connection, end),
            };
            // A connection that is forgotten has nobody to write to.
            let Some(id) = conversations.find(connection) else { continue };
            let Some(conversation) = conversations.get_mut(id) else { continue };
            let (cache, done) = match conversation.joints.is_empty() {
                true => (None, false),
                false => conversation.divert(self.now, &action),
            };
            if let Some(host) = cache {
                self.touched.push((id, host));
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
            if !self.touched.contains(&(id, Host::End(end))) {
                self.touched.push((id, Host::End(end)));
            }
        }
        let App::Stream(stream) = &self.flows[index].app else { return };
        let flow = &self.flows[index];
        let stop = flow.stop.filter(|_| !flow.stopped);
        if let Some(at) = [stream.application.poll_timeout(), stop].into_iter().flatten().min() {
            self.agenda.wake(self.app_slot(index), at);
        }
    }

    /// Drains the ends that have something to do: events to the application, packets to the network, and the timer.
    fn drive_touched(&mut self, index: usize) {
        while let Some((id, host)) = self.touched.pop() {
            let end = match host {
                Host::End(end) => end,
                Host::Splice(leg) => {
                    self.drive_splice(index, id, leg);
                    continue;
                }
            };
            loop {
                let flow = &mut self.flows[index];
                let App::Stream(stream) = &mut flow.app else { return };
                let Some(conversation) = stream.conversations.get_mut(id) else { break };
                let told = tell(&mut stream.application, conversation, end, self.now);
                if told && stream.application.wants() {
                    self.carry_out(index);
                    continue;
                }
                let leg = if end == End::Client { 0 } else { flow.legs.len() - 1 } as u8;
                match &mut conversation.ends[end as usize] {
                    Endpoint::Tcp(tcp) => {
                        if let Some(packet) = tcp.poll_transmit(self.now) {
                            self.inject(index, id, leg, end == End::Server, self.now, packet);
                            continue;
                        }
                    }
                    Endpoint::Stp(stp) => {
                        if let Some(packet) = stp.machine.poll_transmit(self.now) {
                            let outside = stp.envelope.wrap(&packet);
                            self.inject_stp(index, id, leg, end == End::Server, outside, packet);
                            continue;
                        }
                    }
                }
                if let Some(at) = conversation.ends[end as usize].poll_timeout() {
                    self.agenda.wake(conversation.slots[end as usize], at.max(self.now));
                }
                if conversation.over() && !stream.keeps() {
                    self.forget(index, id);
                }
                break;
            }
        }
    }

    /// Forgets a connection that is over, and takes its slots back.
    fn forget(&mut self, index: usize, id: ConversationId) {
        let App::Stream(stream) = &mut self.flows[index].app else { return };
        let Some(conversation) = stream.conversations.forget(id, self.now) else { return };
        for joint in &conversation.joints {
            self.places[joint.place as usize].held -= joint.held;
        }
        for slot in conversation.slots.into_iter().chain(conversation.joints.iter().map(|j| j.slot)) {
            self.agenda.cancel(slot);
            self.owners[slot as usize - self.wires.len()] = Owner::Nobody;
            self.spare.push(slot);
        }
    }

    /// A host hands a packet to the network.
    pub(crate) fn inject(
        &mut self,
        index: usize,
        conversation: ConversationId,
        leg: u8,
        backward: bool,
        sent_at: Time,
        packet: Packet,
    ) {
        let (id, node) = self.frame(index, conversation, leg, backward, sent_at, packet);
        self.forward(id, node);
    }

    /// A host hands an STP packet to the network, in its envelope.
    pub(crate) fn inject_stp(
        &mut self,
        index: usize,
        conversation: ConversationId,
        leg: u8,
        backward: bool,
        outside: Packet,
        inside: StpPacket<Length>,
    ) {
        let (id, node) = self.frame(index, conversation, leg, backward, self.now, outside);
        self.carried.put(id, inside);
        self.forward(id, node);
    }

    /// A new packet's frame, and where it is.
    #[inline(always)]
    fn frame(
        &mut self,
        index: usize,
        conversation: ConversationId,
        leg: u8,
        backward: bool,
        sent_at: Time,
        packet: Packet,
    ) -> (u32, NodeId) {
        let flow = &mut self.flows[index];
        flow.sent += 1;
        let way = &flow.legs[leg as usize];
        let node = match way {
            Way::Wires(_) => NodeId(0),
            Way::Mesh(ends) | Way::Space(ends) => ends[backward as usize],
        };
        let id = self.frames.insert(Frame {
            flow: index as u32,
            conversation,
            hop: 0,
            leg,
            backward,
            sent_at,
            packet,
        });
        if let (Way::Space(ends), Some(space)) = (way, &mut self.space) {
            space.routes.begin(id, &space.topology, ends[!backward as usize]);
        }
        (id, node)
    }
}

/// Tells the application what has happened at an end. False if nothing has.
fn tell(application: &mut Application, conversation: &mut Conversation, end: End, now: Time) -> bool {
    let connection = conversation.connection;
    let side = &mut conversation.ends[end as usize];
    let mut told = false;
    while let Some(event) = side.poll_event() {
        told = true;
        let notice = match event {
            Event::Connected => Notice::Opened { connection, end },
            Event::Received(bytes) => {
                side.read();
                Notice::Delivered { connection, end, bytes }
            }
            // Before its FIN is acknowledged, an end knows only that a splice has it all.
            Event::AllAcknowledged if !conversation.joints.is_empty() && side.closing() => {
                conversation.unsure[end as usize] = true;
                continue;
            }
            Event::AllAcknowledged => Notice::AllAcknowledged { connection, end, bytes: side.acknowledged() },
            Event::PeerFinished => Notice::PeerFinished { connection, end },
            Event::Reset => Notice::Reset { connection, end },
            Event::Closed => continue,
        };
        application.handle(now, notice);
    }
    if conversation.unsure[end as usize] {
        let notice = if side.fin_acknowledged() {
            Notice::AllAcknowledged { connection, end, bytes: side.acknowledged() }
        } else if side.closed() {
            Notice::Reset { connection, end }
        } else {
            return told;
        };
        conversation.unsure[end as usize] = false;
        application.handle(now, notice);
        told = true;
    }
    told
}
