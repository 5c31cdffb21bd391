//! Streams in a run: applications' requests go to their association, and the association's events to applications.
//!
//! Follows the sans-IO contract, as `hosts` does for connections: one input, then events, packets and timers.
//! Differs: an event of an association belongs to one of many flows, whose application acts before the next packet leaves.
//! Leaves out the owners of streams, which the association knows, and the order of turns, which the simulation decides.

use crate::association::{AssociationState, Owned};
use crate::associations::RunAssociations;
use crate::carrying;
use crate::endpoint::{Event, FlowEndpoint};
use crate::gateways;
use crate::hosts::Hosts;
use crate::ids::Actor;
use crate::schedule::Schedule;
use crate::stp::StpEnd;
use crate::stream::{SendPhase, StreamEnd, StreamEnding};
use skyhop_network::{Delivery, Frame, Inside, Network};
use skyhop_traffic::End;
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::Time;
use skyhop_wire::stp::{Frame as StreamFrame, Frames, Packet, PayloadLength};

/// The owner of an association's event, who acts next.
pub(crate) enum EventOwner {
    /// The event has been handled.
    None,
    /// An end of a stream, which has been told.
    Stream(Owned, End),
    /// A connection or the datagrams of a flow at a gateway, which have not been told.
    Gateway(Owned),
    /// The datagrams that have arrived.
    Datagrams,
    /// The streams that wait for a number.
    Waiting,
    /// All streams: the association has failed.
    Everyone,
}

/// The reason for which an association has stopped acting.
pub(crate) enum AssociationAct {
    /// An event of one of its sides, which somebody must handle first.
    Event(usize, TrunkEvent),
    /// It has sent a packet that has arrived already, which is rare; it has more to do.
    Deliver(Delivery),
    /// It waits for a packet or its timer.
    Wait,
}

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
fn end_at(hosts: &mut Hosts, owner: Owned, side: usize) -> Option<(End, &mut StreamEnd)> {
    let conversation = hosts.conversation(owner)?;
    let ends = [End::Client, End::Server].into_iter().zip(&mut conversation.ends);
    ends.filter_map(|(which, end)| Some((which, as_stream(end)?)))
        .find(|(_, end)| usize::from(end.side) == side)
}

/// Passes an application's requests at an end of a stream to its association, which is to be driven. Returns true if the connection
/// has ended and is to be forgotten.
#[inline(never)]
pub(crate) fn flush(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    network: &Network,
    now: Time,
    (owner, end): (Owned, End),
) -> bool {
    let Some(stream) = hosts.stream(owner.0) else { return false };
    let keeps = stream.keeps();
    let Some(conversation) = stream.conversations.get_mut(owner.1) else { return false };
    let [client, server] = &mut conversation.ends;
    let (Some(client), Some(server)) = (as_stream(client), as_stream(server)) else { return false };
    let number = client.of.association;
    let association = associations.at(number);
    let mut opened = false;
    if end == End::Client && client.asked == Some(false) {
        client.asked = Some(true);
        association.begin(now, client.side, network);
        association.hold(now, client, SendPhase::Opening);
        association.hold(now, server, SendPhase::Listening);
        opened = association.open(owner, client, true);
        if opened {
            client.tell(Event::Connected);
            association.hold(now, client, SendPhase::Idle);
        }
    }
    association.flush(now, if end == End::Client { client } else { server });
    let over = conversation.over() && !keeps;
    if opened {
        hosts.touch(owner.1, Actor::End(End::Client));
    }
    associations.mark_due(number);
    over
}

/// Drains an association up to the next event: its packets go to the network.
pub(crate) fn drive(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    schedule: &mut Schedule,
    network: &mut Network,
    number: u32,
) -> AssociationAct {
    let now = schedule.now();
    let association = associations.at(number);
    loop {
        if let Some((side, event)) = association.poll_event() {
            return AssociationAct::Event(side, event);
        }
        let Some((side, packet, outside)) = association.poll_transmit(now) else {
            [0, 1].into_iter().for_each(|side| carrying::note(hosts, association, side, None));
            return AssociationAct::Wait;
        };
        let (route, tag) = (association.route, association.generation);
        note_sent(hosts, association, now, (side, &packet));
        carrying::note(hosts, association, side, Some(&packet));
        let frame = Frame::new(route, side == 1, [tag, tag], now, outside);
        if let Some(delivery) = schedule.send(network, frame, Some(Inside::Association(packet))) {
            return AssociationAct::Deliver(delivery);
        }
    }
}

/// Records that streams with nothing left to send now wait for arrival.
fn note_sent(
    hosts: &mut Hosts,
    association: &mut AssociationState,
    now: Time,
    (side, packet): (usize, &Packet<Frames<PayloadLength>>),
) {
    for frame in packet.data.iter().flat_map(|frames| &frames.0) {
        if let StreamFrame::Stream { id, data: Some(_), .. } = frame
            && association.all_sent(side, *id)
            && let Some(owner) = association.owner(*id)
            && let Some((_, end)) = end_at(hosts, owner, side)
        {
            association.hold(now, end, SendPhase::Sent);
        }
    }
}

/// Handles an event of one side of an association. Returns its owner.
pub(crate) fn handle_event(
    hosts: &mut Hosts,
    association: &mut AssociationState,
    now: Time,
    (side, event): (usize, TrunkEvent),
) -> EventOwner {
    let (id, done) = match event {
        TrunkEvent::Connected => return EventOwner::None,
        TrunkEvent::Datagram => return EventOwner::Datagrams,
        TrunkEvent::MayOpen => return EventOwner::Waiting,
        TrunkEvent::Ended(_) => return EventOwner::Everyone,
        TrunkEvent::Opened(id)
        | TrunkEvent::Received(id, _)
        | TrunkEvent::AllAcknowledged(id)
        | TrunkEvent::Writable(id)
        | TrunkEvent::PeerFinished(id) => (id, false),
        TrunkEvent::Closed(id) | TrunkEvent::Reset(id, _) => (id, true),
    };
    let owner = if done { association.done(id, side) } else { association.owner(id) };
    let Some(owner) = owner else { return EventOwner::None };
    let Some((which, end)) = end_at(hosts, owner, side) else { return EventOwner::Gateway(owner) };
    match event {
        // An application's end writes whatever it has at once.
        TrunkEvent::Writable(_) => return EventOwner::None,
        TrunkEvent::Opened(_) => {
            end.id = Some(id);
            end.tell(Event::Connected);
            association.hold(now, end, SendPhase::Idle);
            // Data were written before the stream was known.
            association.flush(now, end);
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
                association.hold(now, end, if closed { SendPhase::Over } else { SendPhase::Idle });
            }
            end.tell(Event::AllAcknowledged);
        }
        TrunkEvent::PeerFinished(_) => end.tell(Event::PeerFinished),
        TrunkEvent::Closed(_) => finish(association, end, now, Event::Closed),
        TrunkEvent::Reset(..) => finish(association, end, now, Event::Reset),
        _ => {}
    }
    EventOwner::Stream(owner, which)
}

/// Gives a number to the first stream that waits for the peer to accept more. Returns its owner, unless the peer accepts no more.
pub(crate) fn open_next(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    now: Time,
    (number, side): (u32, usize),
) -> EventOwner {
    let association = associations.at(number);
    let Some(owner) = association.next_waiting(side) else { return EventOwner::None };
    let Some((which, end)) = end_at(hosts, owner, side) else {
        let opened = gateways::open(hosts, associations, number, (side, owner), false);
        return if opened { EventOwner::Gateway(owner) } else { EventOwner::None };
    };
    if !association.open(owner, end, false) {
        return EventOwner::None;
    }
    end.tell(Event::Connected);
    association.hold(now, end, SendPhase::Idle);
    association.flush(now, end);
    EventOwner::Stream(owner, which)
}

/// Ends an association that has failed, and with it all its streams, whose owners are returned.
#[inline(never)]
pub(crate) fn break_off(hosts: &mut Hosts, association: &mut AssociationState, now: Time) -> Vec<Owned> {
    let owners = association.broken();
    for owner in &owners {
        for side in [0, 1] {
            if let Some((_, end)) = end_at(hosts, *owner, side) {
                finish(association, end, now, Event::Reset);
            }
        }
    }
    association.end();
    carrying::lose_all(hosts, association);
    owners
}

/// Returns true if the owner has an end of a stream at a side of its association.
pub(crate) fn has_end(hosts: &mut Hosts, owner: Owned, side: usize) -> bool {
    end_at(hosts, owner, side).is_some()
}

/// Updates the counters of streams from their associations.
#[inline(never)]
pub(crate) fn refresh(hosts: &mut Hosts, associations: &RunAssociations, now: Time) {
    for conversation in hosts.conversations_over_associations() {
        for end in &mut conversation.ends {
            if let Some(end) = as_stream(end) {
                associations.get(end.of.association).refresh(now, end);
            }
        }
    }
}

/// Handles the end of one half of a stream, which has no further events.
fn finish(association: &AssociationState, end: &mut StreamEnd, now: Time, event: Event) {
    if !std::mem::replace(&mut end.over, true) {
        association.hold(now, end, SendPhase::Over);
        end.in_flight = 0;
        end.tell(event);
    }
}
