//! Associations in a run: applications' requests go in, packets and events come out.
//!
//! Follows the sans-IO contract, as `hosts` does for connections: one input, then events, packets and timers.
//! Differs: an event of an association belongs to one of many flows, whose application acts before the next packet leaves.
//! Leaves out the owners of streams, which the association knows.

use crate::association::{AssociationState, Owned};
use crate::endpoint::{Event, FlowEndpoint};
use crate::flow::{App, FlowState};
use crate::ids::{Actor, ConversationId};
use crate::simulation::Simulation;
use crate::stp::StpEnd;
use crate::stream::{SendPhase, StreamEnd, StreamEnding};
use skyhop_network::{Delivery, Frame, Inside};
use skyhop_traffic::End;
use skyhop_transport::stp::TrunkEvent;
use skyhop_wire::stp::{Frame as StreamFrame, Frames, Packet, PayloadLength};

/// The end of a stream, if the end is one.
fn as_stream(end: &mut FlowEndpoint) -> Option<&mut StreamEnd> {
    match end {
        FlowEndpoint::Stp(end) => match &mut **end {
            StpEnd::Stream(end) => Some(end),
            StpEnd::Alone(_) => None,
        },
        FlowEndpoint::Tcp(_) => None,
    }
}

/// The end of a stream at a side of its association.
fn end_at(flows: &mut [FlowState], (flow, id): Owned, side: usize) -> Option<(End, &mut StreamEnd)> {
    let App::Stream(stream) = &mut flows.get_mut(flow as usize)?.app else { return None };
    let conversation = stream.conversations.get_mut(id)?;
    let ends = [End::Client, End::Server].into_iter().zip(&mut conversation.ends);
    ends.filter_map(|(which, end)| Some((which, as_stream(end)?)))
        .find(|(_, end)| usize::from(end.side) == side)
}

impl Simulation {
    /// Passes an application's requests at an end of a stream to its association, and marks the association to be driven.
    #[inline(never)]
    pub(crate) fn flush_stream(&mut self, index: usize, id: ConversationId, end: End) {
        let now = self.schedule.now();
        let App::Stream(stream) = &mut self.flows[index].app else { return };
        let Some(conversation) = stream.conversations.get_mut(id) else { return };
        let [client, server] = &mut conversation.ends;
        let (Some(client), Some(server)) = (as_stream(client), as_stream(server)) else { return };
        let number = client.of.association;
        let association = &mut self.associations[number as usize];
        if end == End::Client && client.asked == Some(false) {
            client.asked = Some(true);
            association.begin(now, client.side, !self.network.is_out(association.route));
            association.hold(now, client, SendPhase::Opening);
            association.hold(now, server, SendPhase::Listening);
            if association.open((index as u32, id), client, true) {
                client.tell(Event::Connected);
                association.hold(now, client, SendPhase::Idle);
                self.touched.push((id, Actor::End(End::Client)));
            }
        }
        association.flush(now, if end == End::Client { client } else { server });
        if !std::mem::replace(&mut association.due, true) {
            self.due.push(number);
        }
        if conversation.over() && !stream.keeps() {
            self.forget(index, id);
        }
    }

    /// Handles a packet of an association at the end of its route.
    #[inline(never)]
    pub(crate) fn deliver_to_association(&mut self, number: u32, delivery: Delivery) {
        let (frame, inside) = self.network.take(delivery);
        let association = &mut self.associations[number as usize];
        // STP ignores routers' messages, since it probes the path. A packet of an earlier association has no owner.
        let Some(Inside::Association(packet)) = inside else { return };
        if frame.tag != association.generation {
            return;
        }
        let field = frame.packet.ip.ecn;
        association.handle_packet(self.schedule.now(), usize::from(!frame.backward), (&packet, field));
        self.drive(number);
    }

    /// Handles the expiry of an association's timer.
    pub(crate) fn handle_association(&mut self, number: u32, side: u8) {
        let association = &mut self.associations[number as usize];
        if std::mem::take(&mut association.opens_early) {
            association.begin(self.schedule.now(), side, !self.network.is_out(association.route));
        }
        association.handle_timeout(self.schedule.now(), usize::from(side));
        while let Some((owner, leg)) =
            self.associations[number as usize].turns[usize::from(side)].take_due(self.schedule.now())
        {
            self.touch_gateway(owner, leg);
        }
        self.drive(number);
    }

    fn drive(&mut self, number: u32) {
        if !std::mem::replace(&mut self.associations[number as usize].due, true) {
            self.due.push(number);
        }
        self.drive_associations();
    }

    /// Drains associations that have something to do: events to applications, packets to the network, and timers.
    pub(crate) fn drive_associations(&mut self) {
        while let Some(number) = self.due.pop() {
            loop {
                let association = &mut self.associations[number as usize];
                if let Some((side, event)) = association.poll_event() {
                    self.handle_event(number, side, event);
                    continue;
                }
                let Some((side, packet, outside)) = association.poll_transmit(self.schedule.now()) else {
                    [0, 1].into_iter().for_each(|side| self.note_datagrams(number, side, None));
                    break;
                };
                let (route, tag) = (association.route, association.generation);
                self.note_sent(number, side, &packet);
                self.note_datagrams(number, side, Some(&packet));
                let frame = Frame::new(route, side == 1, [tag, tag], self.schedule.now(), outside);
                let inside = Some(Inside::Association(packet));
                if let Some(delivery) = self.schedule.send(&mut self.network, frame, inside) {
                    self.deliver(delivery);
                }
            }
            let association = &mut self.associations[number as usize];
            association.due = false;
            for (slot, at) in association.slots.into_iter().zip(association.timeouts()) {
                if let Some(at) = at {
                    self.schedule.wake(slot, at.max(self.schedule.now()));
                }
            }
        }
    }

    /// Records that streams with nothing left to send now wait for arrival.
    fn note_sent(&mut self, number: u32, side: usize, packet: &Packet<Frames<PayloadLength>>) {
        let Self { associations, flows, schedule, .. } = self;
        let association = &mut associations[number as usize];
        for frame in packet.data.iter().flat_map(|frames| &frames.0) {
            if let StreamFrame::Stream { id, data: Some(_), .. } = frame
                && association.all_sent(side, *id)
                && let Some(owner) = association.owner(*id)
                && let Some((_, end)) = end_at(flows, owner, side)
            {
                association.hold(schedule.now(), end, SendPhase::Sent);
            }
        }
    }

    /// Handles an event of one side of an association.
    fn handle_event(&mut self, number: u32, side: usize, event: TrunkEvent) {
        let association = &mut self.associations[number as usize];
        let (id, done) = match event {
            TrunkEvent::Connected => return,
            TrunkEvent::Datagram => return self.read_datagrams(number, side),
            TrunkEvent::MayOpen => return self.open_waiting(number, side),
            TrunkEvent::Ended(_) => return self.break_off(number),
            TrunkEvent::Opened(id)
            | TrunkEvent::Received(id, _)
            | TrunkEvent::AllAcknowledged(id)
            | TrunkEvent::Writable(id)
            | TrunkEvent::PeerFinished(id) => (id, false),
            TrunkEvent::Closed(id) | TrunkEvent::Reset(id, _) => (id, true),
        };
        let owner = if done { association.done(id, side) } else { association.owner(id) };
        let Some(owner) = owner else { return };
        let Some((which, end)) = end_at(&mut self.flows, owner, side) else {
            return self.tell_gateway(number, (side, owner), Some(event));
        };
        match event {
            // An application's end writes whatever it has at once.
            TrunkEvent::Writable(_) => return,
            TrunkEvent::Opened(_) => {
                end.id = Some(id);
                end.tell(Event::Connected);
                association.hold(self.schedule.now(), end, SendPhase::Idle);
                // Data were written before the stream was known.
                association.flush(self.schedule.now(), end);
            }
            TrunkEvent::Received(..) => {
                let bytes = association.read(side, id);
                end.delivered += bytes;
                end.tell(Event::Received(bytes));
            }
            TrunkEvent::AllAcknowledged(_) => {
                let waits = association.unacknowledged(side, id);
                end.acknowledged = end.written.saturating_sub(waits);
                if waits == 0 {
                    let closed = end.ending == StreamEnding::Told;
                    association.hold(
                        self.schedule.now(),
                        end,
                        if closed { SendPhase::Over } else { SendPhase::Idle },
                    );
                }
                end.tell(Event::AllAcknowledged);
            }
            TrunkEvent::PeerFinished(_) => end.tell(Event::PeerFinished),
            TrunkEvent::Closed(_) => finish(association, end, self.schedule.now(), Event::Closed),
            TrunkEvent::Reset(..) => finish(association, end, self.schedule.now(), Event::Reset),
            _ => {}
        }
        self.tell_stream(owner, which);
    }

    /// Passes an event to the application of a stream's end, and carries out its actions.
    fn tell_stream(&mut self, (flow, id): Owned, end: End) {
        self.touched.push((id, Actor::End(end)));
        self.drive_touched(flow as usize);
        self.settle(flow as usize);
    }

    /// Gives numbers to waiting streams after the peer has accepted more.
    fn open_waiting(&mut self, number: u32, side: usize) {
        loop {
            let association = &mut self.associations[number as usize];
            let Some(owner) = association.next_waiting(side) else { return };
            let Some((which, end)) = end_at(&mut self.flows, owner, side) else {
                if self.open_gateway(number, (side, owner), false) {
                    self.tell_gateway(number, (side, owner), None);
                    continue;
                }
                return;
            };
            if !association.open(owner, end, false) {
                return;
            }
            end.tell(Event::Connected);
            association.hold(self.schedule.now(), end, SendPhase::Idle);
            association.flush(self.schedule.now(), end);
            self.tell_stream(owner, which);
        }
    }

    /// Handles the failure of an association, and with it of all its streams.
    #[inline(never)]
    fn break_off(&mut self, number: u32) {
        let association = &mut self.associations[number as usize];
        let owners = association.broken();
        for owner in &owners {
            for side in [0, 1] {
                if let Some((_, end)) = end_at(&mut self.flows, *owner, side) {
                    finish(association, end, self.schedule.now(), Event::Reset);
                }
            }
        }
        association.end();
        self.lose_datagrams(number);
        for owner in owners {
            for (side, end) in [End::Client, End::Server].into_iter().enumerate() {
                match end_at(&mut self.flows, owner, side) {
                    Some(_) => self.tell_stream(owner, end),
                    None => self.lose_gateway(number, (side, owner)),
                }
            }
        }
    }

    /// Updates the counters of streams from their associations.
    #[inline(never)]
    pub(crate) fn refresh_streams(&mut self, now: skyhop_units::Time) {
        for flow in self.flows.iter_mut().filter(|flow| flow.association.is_some()) {
            let App::Stream(stream) = &mut flow.app else { continue };
            for end in stream.conversations.all_mut().flat_map(|conversation| &mut conversation.ends) {
                if let Some(end) = as_stream(end) {
                    self.associations[end.of.association as usize].refresh(now, end);
                }
            }
        }
    }
}

/// Handles the end of one half of a stream, which has no further events.
fn finish(association: &AssociationState, end: &mut StreamEnd, now: skyhop_units::Time, event: Event) {
    if !std::mem::replace(&mut end.over, true) {
        association.hold(now, end, SendPhase::Over);
        end.in_flight = 0;
        end.tell(event);
    }
}
