//! Gateways in a run: connections that two splices carry as streams of their association.
//!
//! Follows docs/gateway.md: the machine of a connection is `splice`'s, the budgets and priorities are the daemon's.
//! Differs: an association knows the connection of each of its streams, so that nothing is looked up by the preamble.
//! Leaves out datagrams (`carrying`), and a gateway's limit of connections.

use crate::association::{AssociationState, Owned};
use crate::flow::{App, FlowState};
use crate::gateway_joint::GatewayJoint;
use crate::ids::{Actor, ConversationId};
use crate::simulation::Simulation;
use crate::splice::{Divider, Joint};
use crate::user_turns::Turned;
use skyhop_splice::gateway::{priority, unsent_max};
use skyhop_splice::gateway_end::{EndEvent, EndRole};
use skyhop_transport::stp::{Class, Reason, TrunkEvent};
use std::net::Ipv4Addr;

/// The place of a connection's joint at a side of an association, and the joint.
fn joint_at(
    flows: &mut [FlowState],
    number: u32,
    (side, (flow, id)): (usize, Owned),
) -> Option<(u8, &mut Joint)> {
    let App::Stream(stream) = &mut flows.get_mut(flow as usize)?.app else { return None };
    let joints = stream.conversations.get_mut(id)?.joints.iter_mut().enumerate();
    joints
        .filter(|(_, joint)| match &joint.divider {
            Divider::Gateway(own) => own.association == number && usize::from(own.side) == side,
            Divider::Splice(_) => false,
        })
        .map(|(leg, joint)| (leg as u8, joint))
        .next()
}

impl Simulation {
    /// Drains a connection at a gateway: data between its two sides, counters, packets to the end, and the timer.
    pub(crate) fn drive_gateway(&mut self, index: usize, id: ConversationId, leg: u8) {
        loop {
            let owner = (index as u32, id);
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(conversation) = stream.conversations.get_mut(id) else { return };
            let joint = &mut conversation.joints[leg as usize];
            let Divider::Gateway(own) = &mut joint.divider else { return };
            let (number, side) = (own.association, usize::from(own.side));
            let association = &mut self.associations[number as usize];
            let streams = association.trunk(side).map_or(0, |trunk| trunk.streams() as u64);
            let mut read = 0;
            let most = association.turns[side].allowed(self.schedule.now(), own, (owner, leg));
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
            association.turns[side].passed(self.schedule.now(), own, (owner, leg), [most, passed]);
            association.count_delivered(read);
            let place = &mut self.places[joint.place as usize];
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
                self.unshare(number, (side, owner));
            }
            if ask {
                let association = &mut self.associations[number as usize];
                association.begin(self.schedule.now(), side as u8, !self.network.is_out(association.route));
                if self.open_gateway(number, (side, owner), true) {
                    continue;
                }
            }
            self.mark_due(number);
            let App::Stream(stream) = &mut self.flows[index].app else { return };
            let Some(conversation) = stream.conversations.get_mut(id) else { return };
            let joint = &mut conversation.joints[leg as usize];
            let Divider::Gateway(own) = &mut joint.divider else { return };
            let Some(packet) = own.end.poll_transmit(self.schedule.now()) else {
                if let Some(at) = own.end.poll_timeout() {
                    self.schedule.wake(joint.slot, at.max(self.schedule.now()));
                }
                return;
            };
            let (way, backward) = match own.role {
                EndRole::Opener => (leg, true),
                EndRole::Acceptor => (leg + 1, false),
            };
            self.send(index, id, way, backward, self.schedule.now(), packet, None);
        }
    }

    /// Opens a stream for a connection at a gateway. Returns true if it has a number now.
    pub(crate) fn open_gateway(&mut self, number: u32, (side, owner): (usize, Owned), first: bool) -> bool {
        let Self { flows, associations, .. } = self;
        let Some((_, joint)) = joint_at(flows, number, (side, owner)) else { return true };
        let Divider::Gateway(own) = &mut joint.divider else { return true };
        if !own.end.wants_stream() {
            return true;
        }
        let association = &mut associations[number as usize];
        let class = Class { priority: priority(false), ..Class::default() };
        let Some(id) = association.open_stream(owner, side, class, first) else { return false };
        let (weight, others) = association.users[side].add(own.user, (0, id));
        own.shares = true;
        let user = own.user;
        own_memory(association, side, own, id);
        if let Some(trunk) = association.trunk(side) {
            own.end.set_stream(trunk, id);
            trunk.prioritize(id, Class { weight, ..class });
        }
        if others {
            self.share(number, side, user, weight);
        }
        true
    }

    /// Sets the weight of all streams of a user.
    fn share(&mut self, number: u32, side: usize, user: [Ipv4Addr; 2], weight: u8) {
        let association = &mut self.associations[number as usize];
        let streams: Vec<u64> = association.users[side].streams(user, 0).map(|(_, id)| id).collect();
        let Some(trunk) = association.trunk(side) else { return };
        for id in streams {
            if let Some(class) = trunk.class(id) {
                trunk.prioritize(id, Class { weight, ..class });
            }
        }
    }

    /// Takes the stream of a connection that has ended out of its user's share and memory.
    fn unshare(&mut self, number: u32, (side, owner): (usize, Owned)) {
        let Self { flows, associations, .. } = self;
        let Some((_, joint)) = joint_at(flows, number, (side, owner)) else { return };
        let Divider::Gateway(own) = &mut joint.divider else { return };
        if std::mem::take(&mut own.owned) {
            associations[number as usize].owners[side].leave(own.owner);
        }
        if !std::mem::take(&mut own.shares) {
            return;
        }
        let (user, stream) = (own.user, own.end.stream());
        let users = &mut associations[number as usize].users[side];
        if let Some(weight) = stream.and_then(|id| users.remove(user, (0, id))) {
            self.share(number, side, user, weight);
        }
    }

    /// Passes an event of the association to the connection at a gateway to which it belongs.
    pub(crate) fn tell_gateway(
        &mut self,
        number: u32,
        (side, owner): (usize, Owned),
        event: Option<TrunkEvent>,
    ) {
        if let Some(event) = event
            && self.tell_carried(number, (side, owner), event)
        {
            return;
        }
        if let Some(TrunkEvent::Reset(..)) = event {
            self.unshare(number, (side, owner));
        }
        let Self { flows, associations, .. } = self;
        let Some((leg, joint)) = joint_at(flows, number, (side, owner)) else { return };
        let Divider::Gateway(own) = &mut joint.divider else { return };
        match event {
            Some(TrunkEvent::Opened(id)) => {
                own_memory(&mut associations[number as usize], side, own, id);
                if let Some(trunk) = associations[number as usize].trunk(side) {
                    own.end.set_stream(trunk, id);
                }
            }
            Some(TrunkEvent::PeerFinished(_)) => own.end.handle_finished(),
            Some(TrunkEvent::Reset(..)) => own.end.handle_reset(),
            _ => {}
        }
        self.touch_gateway(owner, leg);
    }

    /// Tells a connection at a gateway that its association is lost.
    pub(crate) fn lose_gateway(&mut self, number: u32, (side, owner): (usize, Owned)) {
        if self.lose_carried(number, owner.0) {
            return;
        }
        self.unshare(number, (side, owner));
        let Some((leg, joint)) = joint_at(&mut self.flows, number, (side, owner)) else { return };
        if let Divider::Gateway(own) = &mut joint.divider {
            own.end.handle_reset();
        }
        self.touch_gateway(owner, leg);
    }

    pub(crate) fn touch_gateway(&mut self, (flow, id): Owned, leg: u8) {
        self.touched.push((id, Actor::Splice(leg)));
        self.drive_touched(flow as usize);
        self.settle(flow as usize);
    }

    /// Ends the turns of a connection that is forgotten, and its stream unless that has ended cleanly.
    pub(crate) fn leave_association(&mut self, of: Turned, joint: &Joint) {
        let Divider::Gateway(own) = &joint.divider else { return };
        let association = &mut self.associations[own.association as usize];
        let side = usize::from(own.side);
        if association.turns[side].forget(self.schedule.now(), own, of) {
            self.mark_due(own.association);
        }
        let association = &mut self.associations[own.association as usize];
        if own.owned {
            association.owners[side].leave(own.owner);
        }
        let Some(id) = own.end.stream() else { return };
        if own.shares
            && let Some(weight) = association.users[side].remove(own.user, (0, id))
        {
            self.share(own.association, side, own.user, weight);
        }
        if !own.end.is_over()
            && let Some(trunk) = self.associations[own.association as usize].trunk(side)
        {
            trunk.reset(id, Reason::Aborted);
            self.mark_due(own.association);
        }
    }

    pub(crate) fn mark_due(&mut self, number: u32) {
        if !std::mem::replace(&mut self.associations[number as usize].due, true) {
            self.due.push(number);
        }
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
