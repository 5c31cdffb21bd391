//! Hosts: applications, the ends of their connections, and the packets between them and the network.
//!
//! Follows the sans-IO contract: one input, then events to the application, its actions, packets out, and the timer.
//! Differs from a real host: both ends of a flow are accessible, and an application reads arriving data at once.
//! Leaves out links, which the simulation steps.

use crate::cache::Decision;
use crate::carrying::carries_none;
use crate::conversation::Conversation;
use crate::endpoint::{Event, FlowEndpoint};
use crate::flow::App;
use crate::ids::{Actor, ConversationId};
use crate::route_owners::RouteOwner;
use crate::simulation::Simulation;
use crate::slots::Owner;
use crate::splice::{Divider, count};
use crate::stp::StpEnd;
use skyhop_network::{Delivery, Frame, Inside};
use skyhop_splice::Side;
use skyhop_traffic::{Action, AppNotice, Application, End};
use skyhop_units::Time;
use skyhop_wire::{Packet, Transport};

impl Simulation {
    /// Handles a packet at the end of its route.
    pub(crate) fn deliver(&mut self, delivery: Delivery) {
        let frame = self.network.delivered(&delivery);
        let (index, leg) = match self.routes.owner(frame.route) {
            RouteOwner::Flow(flow, leg) => (flow as usize, leg),
            RouteOwner::Association(number) => return self.deliver_to_association(number, delivery),
        };
        let flow = &mut self.flows[index];
        match &mut flow.app {
            App::Stream(stream) => {
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
                        conversation.handle_tcp(self.schedule.now(), actor, frame.backward, &frame.packet);
                        self.network.end(delivery);
                    }
                    Some(conversation) => {
                        if let (frame, Some(Inside::Connection(stp))) = self.network.take(delivery) {
                            let field = frame.packet.ip.ecn;
                            conversation.handle_stp(
                                self.schedule.now(),
                                actor,
                                frame.backward,
                                (&stp, field),
                            );
                        }
                    }
                    None => drop(self.network.take(delivery)),
                }
                self.touched.push((id, actor));
                self.drive_touched(index);
            }
            App::Ping(ping) => {
                let (frame, _) = self.network.take(delivery);
                let Transport::Icmp(echo) = frame.packet.transport else { return };
                if !ping.twins.is_first(&frame) {
                    return;
                }
                let took = self.schedule.now().since(frame.sent_at);
                if echo.reply {
                    ping.round_trip.add(took);
                } else {
                    ping.forward.add(took);
                    self.observer.add(ping.series, frame.sent_at, took.as_secs_f64());
                    let answer = ping.packet(true, echo.sequence);
                    self.send(index, ConversationId::NONE, 0, true, frame.sent_at, answer, None);
                }
            }
            App::Programs(programs) => {
                let bits = self.network.flipped(&delivery);
                let (frame, _) = self.network.take(delivery);
                programs.arrived(&frame, self.schedule.now());
                let hold = programs.held == Some(frame.backward);
                return self.arrivals.add(index as u32, &frame, self.schedule.now(), bits, hold);
            }
            App::Datagrams(sending) => {
                let (frame, _) = self.network.take(delivery);
                let told = frame.backward || matches!(frame.packet.transport, Transport::TooLarge(_));
                if told {
                    // A source of datagrams does not reduce their size.
                } else if leg + 1 != flow.routes.len() as u8 {
                    self.carry_datagram(index, leg, &frame);
                } else if sending.twins.is_first(&frame)
                    && sending.arrived(frame.sent_at, self.schedule.now(), self.observer.interval())
                {
                    let took = self.schedule.now().since(frame.sent_at);
                    self.observer.add(sending.series, frame.sent_at, took.as_secs_f64());
                }
            }
        }
        self.settle(index);
    }

    /// Notes that a flow may have finished.
    pub(crate) fn settle(&mut self, flow: usize) {
        let Self { flows, network, associations, schedule, .. } = self;
        let now = schedule.now();
        let finished = |flow: usize| {
            let flow = &flows[flow];
            flow.finished(now, &network.account(flow.account)) && carries_none(flow, associations, network)
        };
        if finished(flow) {
            self.unfinished.advance(finished);
        }
    }

    /// Starts or stops a flow, or wakes its application.
    pub(crate) fn handle_app(&mut self, index: usize) {
        let now = self.schedule.now();
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
                self.drive_associations();
            }
            App::Programs(_) => {}
            App::Ping(_) if flow.stopped => {}
            App::Ping(ping) => {
                let request = ping.packet(false, ping.next as u16);
                ping.next += 1;
                let next = ping.ping.at(flow.start, ping.next);
                self.schedule.wake_application(index, flow.stop.map_or(next, |stop| next.min(stop)));
                self.send(index, ConversationId::NONE, 0, false, now, request, None);
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

    /// Sends the datagrams that are due, and schedules the next.
    fn send_datagrams(&mut self, index: usize) {
        loop {
            let flow = &mut self.flows[index];
            let App::Datagrams(sending) = &mut flow.app else { return };
            if let Some(packet) = sending.poll_transmit(self.schedule.now()) {
                self.send(index, ConversationId::NONE, 0, false, self.schedule.now(), packet, None);
                continue;
            }
            if let Some(at) = [sending.source.poll_timeout(), flow.stop].into_iter().flatten().min() {
                self.schedule.wake_application(index, at);
            }
            return;
        }
    }

    /// Handles the expiry of a timer of a connection's end or splice.
    pub(crate) fn handle_actor(&mut self, index: usize, id: ConversationId, actor: Actor) {
        let App::Stream(stream) = &mut self.flows[index].app else { return };
        if let Some(conversation) = stream.conversations.get_mut(id) {
            match actor {
                Actor::End(end) => conversation.ends[end as usize].handle_timeout(self.schedule.now()),
                Actor::Splice(leg) => match &mut conversation.joints[leg as usize].divider {
                    Divider::Splice(splice) => splice.handle_timeout(self.schedule.now()),
                    Divider::Gateway(gateway) => gateway.end.handle_timeout(self.schedule.now()),
                },
            }
        }
        self.touched.push((id, actor));
        self.drive_touched(index);
        self.settle(index);
    }

    /// Carries out the actions of an application, and marks the ends concerned as touched.
    pub(crate) fn carry_out(&mut self, index: usize) {
        loop {
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(action) = stream.application.poll_action() else { break };
            let conversations = &mut stream.conversations;
            let (connection, end) = match action {
                Action::Open { connection } => {
                    let schedule = &mut self.schedule;
                    let id = conversations.open(schedule.now(), connection, |id, actor| {
                        let rank = id.rank(index as u32, actor);
                        schedule.add(rank, Owner::Actor(index as u32, id, actor))
                    });
                    let legs = self.flows[index].legs();
                    let first = self.flows[index].routes.start;
                    for leg in (0..legs).filter(|leg| self.network.is_out(first + *leg as u32)) {
                        let App::Stream(stream) = &mut self.flows[index].app else { return };
                        if let Some(conversation) = stream.conversations.get_mut(id) {
                            conversation.set_path_up(leg, legs, self.schedule.now(), false);
                        }
                    }
                    self.touched.push((id, Actor::End(End::Client)));
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
                false => conversation.divert(self.schedule.now(), &action),
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
            if !self.touched.contains(&(id, Actor::End(end))) {
                self.touched.push((id, Actor::End(end)));
            }
        }
        let App::Stream(stream) = &self.flows[index].app else { return };
        let flow = &self.flows[index];
        let stop = flow.stop.filter(|_| !flow.stopped);
        if let Some(at) = [stream.application.poll_timeout(), stop].into_iter().flatten().min() {
            self.schedule.wake_application(index, at);
        }
    }

    /// Drains the touched ends: events to the application, packets to the network, and the timer.
    pub(crate) fn drive_touched(&mut self, index: usize) {
        while let Some((id, actor)) = self.touched.pop() {
            let end = match actor {
                Actor::End(end) => end,
                Actor::Splice(leg) => {
                    self.drive_splice(index, id, leg);
                    continue;
                }
            };
            loop {
                let flow = &mut self.flows[index];
                let App::Stream(stream) = &mut flow.app else { return };
                let Some(conversation) = stream.conversations.get_mut(id) else { break };
                let told = tell(&mut stream.application, conversation, end, self.schedule.now());
                if told && stream.application.wants() {
                    self.carry_out(index);
                    continue;
                }
                let leg = if end == End::Client { 0 } else { flow.routes.len() - 1 } as u8;
                match &mut conversation.ends[end as usize] {
                    FlowEndpoint::Tcp(tcp) => {
                        if let Some(packet) = tcp.poll_transmit(self.schedule.now()) {
                            self.send(index, id, leg, end == End::Server, self.schedule.now(), packet, None);
                            continue;
                        }
                    }
                    FlowEndpoint::Stp(stp) => {
                        let StpEnd::Alone(stp) = &mut **stp else {
                            self.flush_stream(index, id, end);
                            break;
                        };
                        if let Some(packet) = stp.machine.poll_transmit(self.schedule.now()) {
                            let field = stp.machine.ecn_field(&packet);
                            let outside = stp.envelope.wrap(&packet, field);
                            let inside = Some(Inside::Connection(packet));
                            self.send(
                                index,
                                id,
                                leg,
                                end == End::Server,
                                self.schedule.now(),
                                outside,
                                inside,
                            );
                            continue;
                        }
                    }
                }
                if let Some(at) = conversation.ends[end as usize].poll_timeout() {
                    self.schedule.wake(conversation.slots[end as usize], at.max(self.schedule.now()));
                }
                if conversation.over() && !stream.keeps() {
                    self.forget(index, id);
                }
                break;
            }
        }
    }

    /// Drains a splice: counters, packets to the network, and the timer.
    fn drive_splice(&mut self, index: usize, id: ConversationId, leg: u8) {
        loop {
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(conversation) = stream.conversations.get_mut(id) else { return };
            let joint = &mut conversation.joints[leg as usize];
            let place = &mut self.places[joint.place as usize];
            let Divider::Splice(splice) = &mut joint.divider else {
                return self.drive_gateway(index, id, leg);
            };
            let finished = count(splice, &mut joint.held, place);
            if let Some(cache) = &mut joint.cache {
                let connection = conversation.connection;
                let decision = cache.decide(self.schedule.now(), splice);
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
                    stream.application.handle(self.schedule.now(), notice);
                    self.carry_out(index);
                    continue;
                }
            }
            let way = |side| match side {
                Side::Client => (leg, true),
                Side::Server => (leg + 1, false),
            };
            if let Some((side, packet)) = splice.poll_transmit(self.schedule.now()) {
                let (leg, backward) = way(side);
                self.send(index, id, leg, backward, self.schedule.now(), packet, None);
                continue;
            }
            if let Some((side, packet, field)) = splice.poll_transmit_stp(self.schedule.now())
                && let Some(envelope) = &mut joint.envelopes[side as usize]
            {
                let (leg, backward) = way(side);
                let outside = envelope.wrap(&packet, field);
                let inside = Some(Inside::Connection(packet));
                self.send(index, id, leg, backward, self.schedule.now(), outside, inside);
                continue;
            }
            if let Some(at) = splice.poll_timeout() {
                self.schedule.wake(joint.slot, at.max(self.schedule.now()));
            }
            return;
        }
    }

    /// Removes a connection that has ended, and releases its slots.
    pub(crate) fn forget(&mut self, index: usize, id: ConversationId) {
        let App::Stream(stream) = &mut self.flows[index].app else { return };
        let Some(conversation) = stream.conversations.forget(id, self.schedule.now()) else { return };
        for (leg, joint) in conversation.joints.iter().enumerate() {
            self.places[joint.place as usize].held -= joint.held;
            self.leave_association(((index as u32, id), leg as u8), joint);
        }
        for slot in conversation.slots.into_iter().chain(conversation.joints.iter().map(|j| j.slot)) {
            self.schedule.release(slot);
        }
    }

    /// Sends an actor's packet into the network, with the STP packet inside it, if any.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    pub(crate) fn send(
        &mut self,
        index: usize,
        conversation: ConversationId,
        leg: u8,
        backward: bool,
        sent_at: Time,
        packet: Packet,
        stp: Option<Inside>,
    ) {
        let route = self.flows[index].routes.start + u32::from(leg);
        let frame = Frame::new(route, backward, conversation.numbers(), sent_at, packet);
        if let Some(delivery) = self.schedule.send(&mut self.network, frame, stp) {
            self.deliver(delivery);
        }
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
