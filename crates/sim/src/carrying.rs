//! Datagrams of flows at the gateways of an association, which carries them as its own datagrams.
//!
//! Follows docs/gateway.md, "Datagrams, QUIC and DNS": the rules are the daemon's (`skyhop_splice::datagrams`), the queue is the
//! association's.
//! Differs: the gateway where a datagram arrives opens the stream, also if it is the hub, whose users have asked before; a flow keeps
//! its stream while it is idle; a link's copies of a datagram are not carried twice.
//! Leaves out refusals, and a gateway's limit of flows.

use crate::association::{AssociationState, Owned};
use crate::associations::RunAssociations;
use crate::carried::{CarriedCounts, CarriedDatagram, CarriedFate, DatagramCarrier};
use crate::datagrams::DatagramFlow;
use crate::hosts::Hosts;
use crate::ids::ConversationId;
use skyhop_network::{Delivery, Frame, Network};
use skyhop_splice::datagrams::{DatagramWay, FIRST};
use skyhop_transport::stp::{Class, Frames, Packet, PayloadLength, TrunkEvent};
use skyhop_units::Time;

/// Length of the far gateway's answer.
const ANSWER: u64 = 1;

/// The counts of a flow's datagrams, and their passage through an association.
fn carrier_of(
    hosts: &mut Hosts,
    flow: u32,
    number: u32,
) -> Option<(&mut CarriedCounts, &mut DatagramCarrier)> {
    let DatagramFlow { counts, carriers, .. } = hosts.datagrams(flow)?;
    Some((counts, carriers.iter_mut().find(|carrier| carrier.association == number)?))
}

fn count(hosts: &mut Hosts, datagram: CarriedDatagram, fate: CarriedFate) {
    if let Some(sending) = hosts.datagrams(datagram.flow) {
        sending.counts.add(fate);
    }
}

/// Passes a datagram that has arrived at the gateway after a leg to the association.
pub(crate) fn enter(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    network: &mut Network,
    now: Time,
    (flow, leg, delivery): (u32, u8, Delivery),
) {
    let (frame, _) = network.take(delivery);
    let Some(sending) = hosts.datagrams(flow) else { return };
    let DatagramFlow { source, counts, carriers, .. } = sending;
    let Some(carrier) = carriers.iter_mut().find(|carrier| carrier.leg == leg + 1) else { return };
    if !carrier.twins.is_first(&frame) {
        return;
    }
    counts.entered += 1;
    let (number, side) = (carrier.association, usize::from(carrier.side));
    let association = associations.at(number);
    association.begin(now, carrier.side, network);
    if carrier.stream.is_none() {
        let class = Class { priority: FIRST.priority, ..Class::default() };
        carrier.stream = association.open_at_once((flow, ConversationId::NONE), side, class);
        if let (Some(id), Some(trunk)) = (carrier.stream, association.trunk(side)) {
            trunk.write(id, PayloadLength(carrier.preamble));
            carrier.written = carrier.preamble;
        }
    }
    let sent_at = frame.sent_at;
    let datagram = CarriedDatagram { flow, sent_at, identification: frame.packet.ip.identification };
    let size = u64::from(source.size());
    match carrier.stream.and_then(|id| association.send_datagram(now, (side, id), size, datagram)) {
        Some((DatagramWay::Datagram, _)) => {}
        Some((DatagramWay::Stream, bytes)) => {
            carrier.written += bytes;
            carrier.large.push_back((carrier.written, datagram));
        }
        Some((DatagramWay::Refused, _)) | None => counts.late += 1,
    }
    associations.mark_due(number);
}

/// Notes the datagrams that have left the queue of one side of an association, in a packet or without one.
#[inline]
pub(crate) fn note(
    hosts: &mut Hosts,
    association: &mut AssociationState,
    side: usize,
    packet: Option<&Packet<Frames<PayloadLength>>>,
) {
    if association.datagrams[side].waits() {
        association.datagrams_leave(side, packet, |datagram, fate| count(hosts, datagram, fate));
    }
}

/// The next packet of a datagram that has arrived at one side of an association, which sends it on.
#[inline(never)]
pub(crate) fn poll_arrived(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    now: Time,
    (number, side): (u32, usize),
) -> Option<Frame> {
    let association = associations.at(number);
    loop {
        let tell = |datagram, fate| count(hosts, datagram, fate);
        let (channel, datagram) = association.read_datagram(side, tell)?;
        let Some((counts, carrier)) = carrier_of(hosts, datagram.flow, number) else { continue };
        if carrier.accepted && carrier.stream == Some(channel) {
            return deliver(hosts, number, datagram);
        }
        // It is lost unless the preamble of its stream comes soon.
        counts.lost += 1;
        association.datagrams[1 - side].early.keep(now, channel, datagram);
    }
}

/// The packet in which the far gateway sends a datagram on.
pub(crate) fn deliver(hosts: &mut Hosts, number: u32, datagram: CarriedDatagram) -> Option<Frame> {
    let (counts, carrier) = carrier_of(hosts, datagram.flow, number)?;
    counts.delivered += 1;
    let leg = carrier.leg + 1;
    let packet = hosts.datagrams(datagram.flow)?.packet(datagram.identification);
    let flow = hosts.flow(datagram.flow as usize);
    Some(flow.frame(leg, false, datagram.sent_at, packet))
}

/// Passes an event of an association to the flow of datagrams to which the stream belongs. Returns the datagrams that are to be sent
/// on; `None` if the stream is another's.
pub(crate) fn tell(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    number: u32,
    (side, owner): (usize, Owned),
    event: TrunkEvent,
) -> Option<Vec<CarriedDatagram>> {
    let (counts, carrier) = carrier_of(hosts, owner.0, number)?;
    let association = associations.at(number);
    let mut ready = Vec::new();
    let Some(id) = carrier.stream else { return Some(ready) };
    if event == TrunkEvent::PeerFinished(id) || matches!(event, TrunkEvent::Reset(reset, _) if reset == id) {
        counts.lost += carrier.end();
        return Some(ready);
    }
    let bytes = association.read(side, id);
    if side == usize::from(carrier.side) {
        return Some(ready);
    }
    carrier.read += bytes;
    if !carrier.accepted && carrier.read >= carrier.preamble {
        carrier.accepted = true;
        if let Some(trunk) = association.trunk(side) {
            trunk.write(id, PayloadLength(ANSWER));
        }
        ready = association.datagrams[1 - side].early.take(id);
        counts.lost -= ready.len() as u64;
    }
    while let Some(datagram) = carrier.whole() {
        ready.push(datagram);
    }
    associations.mark_due(number);
    Some(ready)
}

/// Ends the passage of a flow's datagrams with its association. Returns false if the flow has none.
pub(crate) fn lose(hosts: &mut Hosts, number: u32, flow: u32) -> bool {
    let Some((counts, carrier)) = carrier_of(hosts, flow, number) else { return false };
    counts.lost += carrier.end();
    true
}

/// Forgets the datagrams of an association that has ended.
pub(crate) fn lose_all(hosts: &mut Hosts, association: &mut AssociationState) {
    for side in &mut association.datagrams {
        side.end(|datagram, fate| count(hosts, datagram, fate));
    }
}
