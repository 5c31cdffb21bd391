//! Gateways in a run: connections that two splices carry as streams of their association.
//!
//! Follows docs/gateway.md: the machine of a connection is `splice`'s, the budgets and priorities are the daemon's.
//! Differs: an association knows the connection of each of its streams, so that nothing is looked up by the preamble.
//! Leaves out datagrams (`carrying`), and a gateway's limit of connections.

use crate::association::{AssociationState, Owned};
use crate::associations::RunAssociations;
use crate::gateway_joint::GatewayJoint;
use crate::hosts::Hosts;
use crate::schedule::Schedule;
use crate::splice::{Divider, Joint};
use crate::user_turns::Turned;
use skyhop_network::{Delivery, Frame, Network};
use skyhop_splice::gateway::{priority, unsent_max};
use skyhop_splice::gateway_end::{EndEvent, EndRole};
use skyhop_transport::stp::{Class, Reason, TrunkEvent};
use skyhop_units::Time;
use std::net::Ipv4Addr;

/// A connection at a side of an association, and the leg before its joint.
fn joint_at(
    hosts: &mut Hosts,
    number: u32,
    (side, owner): (usize, Owned),
) -> Option<(u8, &mut GatewayJoint)> {
    let joints = hosts.conversation(owner)?.joints.iter_mut().enumerate();
    joints
        .filter_map(|(leg, joint)| match &mut joint.divider {
            Divider::Gateway(own) => Some((leg as u8, &mut **own)),
            Divider::Splice(_) => None,
        })
        .find(|(_, own)| own.association == number && usize::from(own.side) == side)
}

/// Drains a connection at a gateway: data pass between its two sides and are counted, packets go to the end, and the timer is set.
/// Returns a packet that has arrived already, which is rare; then there is more to do.
pub(crate) fn drive(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    schedule: &mut Schedule,
    network: &mut Network,
    (owner, leg): Turned,
) -> Option<Delivery> {
    let now = schedule.now();
    loop {
        let (joint, place) = hosts.joint(owner, leg)?;
        let Divider::Gateway(own) = &mut joint.divider else { return None };
        let (number, side) = (own.association, usize::from(own.side));
        let association = associations.at(number);
        let streams = association.trunk(side).map_or(0, |trunk| trunk.streams() as u64);
        let mut read = 0;
        let most = association.turns[side].allowed(now, own, (owner, leg));
        let rtt = association.trunk(side).and_then(|trunk| trunk.srtt());
        let window = association.turns[side].window(own, (owner, leg), rtt);
        let before = own.end.carried();
        if let Some(trunk) = association.trunk(side) {
            read = own.end.pump(trunk, [unsent_max(own.memory, streams), window], most);
        } else {
            own.end.wait();
        }
        let carried = own.end.carried();
        let passed = [0, 1].map(|way| carried[way] - before[way]);
        association.turns[side].passed(now, own, (owner, leg), [most, passed]);
        association.count_delivered(read);
        let held = own.end.held(association.trunk(side).map(|trunk| &*trunk));
        own.held_max = [0, 1].map(|way| own.held_max[way].max(held[way]));
        place.holds(&mut joint.held, held.iter().sum(), own.held_max);
        place.result.forward_bytes += carried[0] - own.carried[0];
        place.result.return_bytes += carried[1] - own.carried[1];
        own.carried = carried;
        let mut bulk = false;
        while let Some(event) = own.end.poll_event() {
            match event {
                EndEvent::Connected => place.result.connections += 1,
                EndEvent::Closed => {}
                EndEvent::Bulk => bulk = true,
                EndEvent::Broken => place.result.connections_broken += 1,
            }
        }
        if let (true, Some(stream), Some(trunk)) = (bulk, own.end.stream(), association.trunk(side))
            && let Some(class) = trunk.class(stream)
        {
            trunk.prioritize(stream, Class { priority: priority(true), ..class });
        }
        let ask = own.end.wants_stream() && !std::mem::replace(&mut own.asked, true);
        if own.end.is_over() {
            unshare(hosts, associations, number, (side, owner));
        }
        if ask {
            associations.at(number).begin(now, side as u8, network);
            if open(hosts, associations, number, (side, owner), true) {
                continue;
            }
        }
        associations.mark_due(number);
        let start = hosts.flow(owner.0 as usize).routes.start;
        let (joint, _) = hosts.joint(owner, leg)?;
        let Divider::Gateway(own) = &mut joint.divider else { return None };
        let Some(packet) = own.end.poll_transmit(now) else {
            if let Some(at) = own.end.poll_timeout() {
                schedule.wake(joint.slot, at.max(now));
            }
            return None;
        };
        let (way, backward) = match own.role {
            EndRole::Opener => (leg, true),
            EndRole::Acceptor => (leg + 1, false),
        };
        let frame = Frame::new(start + u32::from(way), backward, owner.1.numbers(), now, packet);
        if let Some(delivery) = schedule.send(network, frame, None) {
            return Some(delivery);
        }
    }
}

/// Opens a stream for a connection at a gateway. Returns true if it has a number now.
pub(crate) fn open(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    number: u32,
    (side, owner): (usize, Owned),
    first: bool,
) -> bool {
    let Some((_, own)) = joint_at(hosts, number, (side, owner)) else { return true };
    if !own.end.wants_stream() {
        return true;
    }
    let association = associations.at(number);
    let class = Class { priority: priority(false), ..Class::default() };
    let Some(id) = association.open_stream(owner, side, class, first) else { return false };
    let (weight, others) = association.users[side].add(own.user, (0, id));
    own.shares = true;
    own_memory(association, side, own, id);
    if let Some(trunk) = association.trunk(side) {
        own.end.set_stream(trunk, id);
        trunk.prioritize(id, Class { weight, ..class });
    }
    if others {
        share(association, side, own.user, weight);
    }
    true
}

/// Sets the weight of all streams of a user.
fn share(association: &mut AssociationState, side: usize, user: [Ipv4Addr; 2], weight: u8) {
    let streams: Vec<u64> = association.users[side].streams(user, 0).map(|(_, id)| id).collect();
    let Some(trunk) = association.trunk(side) else { return };
    for id in streams {
        if let Some(class) = trunk.class(id) {
            trunk.prioritize(id, Class { weight, ..class });
        }
    }
}

/// Takes the stream of a connection that has ended out of its user's share and memory.
fn unshare(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    number: u32,
    (side, owner): (usize, Owned),
) {
    let Some((_, own)) = joint_at(hosts, number, (side, owner)) else { return };
    let association = associations.at(number);
    if std::mem::take(&mut own.owned) {
        association.owners[side].leave(own.owner);
    }
    if !std::mem::take(&mut own.shares) {
        return;
    }
    if let Some(weight) = own.end.stream().and_then(|id| association.users[side].remove(own.user, (0, id))) {
        share(association, side, own.user, weight);
    }
}

/// Passes an event of the association to the connection at a gateway to which it belongs. Returns the leg before the gateway, which
/// has something to do.
pub(crate) fn tell(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    number: u32,
    (side, owner): (usize, Owned),
    event: Option<TrunkEvent>,
) -> Option<u8> {
    if let Some(TrunkEvent::Reset(..)) = event {
        unshare(hosts, associations, number, (side, owner));
    }
    let (leg, own) = joint_at(hosts, number, (side, owner))?;
    match event {
        Some(TrunkEvent::Opened(id)) => {
            let association = associations.at(number);
            own_memory(association, side, own, id);
            if let Some(trunk) = association.trunk(side) {
                own.end.set_stream(trunk, id);
            }
        }
        Some(TrunkEvent::PeerFinished(_)) => own.end.handle_finished(),
        Some(TrunkEvent::Reset(..)) => own.end.handle_reset(),
        _ => {}
    }
    Some(leg)
}

/// Tells a connection at a gateway that its association is lost. Returns the leg before the gateway, which has something to do.
pub(crate) fn lose(
    hosts: &mut Hosts,
    associations: &mut RunAssociations,
    number: u32,
    (side, owner): (usize, Owned),
) -> Option<u8> {
    unshare(hosts, associations, number, (side, owner));
    let (leg, own) = joint_at(hosts, number, (side, owner))?;
    own.end.handle_reset();
    Some(leg)
}

/// Ends the turns of a connection that is forgotten, and its stream unless that has ended cleanly.
pub(crate) fn leave(associations: &mut RunAssociations, now: Time, of: Turned, joint: &Joint) {
    let Divider::Gateway(own) = &joint.divider else { return };
    let (number, side) = (own.association, usize::from(own.side));
    let association = associations.at(number);
    let mut due = association.turns[side].forget(now, own, of);
    if own.owned {
        association.owners[side].leave(own.owner);
    }
    if let Some(id) = own.end.stream() {
        if own.shares
            && let Some(weight) = association.users[side].remove(own.user, (0, id))
        {
            share(association, side, own.user, weight);
        }
        if !own.end.is_over()
            && let Some(trunk) = association.trunk(side)
        {
            trunk.reset(id, Reason::Aborted);
            due = true;
        }
    }
    if due {
        associations.mark_due(number);
    }
}

/// Counts the memory of a connection's stream as its user's.
fn own_memory(association: &mut AssociationState, side: usize, own: &mut GatewayJoint, id: u64) {
    own.owned = true;
    let owner = association.owners[side].enter(own.owner);
    if let Some(trunk) = association.trunk(side) {
        trunk.assign(id, owner);
    }
}
