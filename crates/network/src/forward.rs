//! Forwarding of packets from node to node, from a send to deliveries one by one.
//!
//! Follows the agenda's order of events; deliveries are returned one at a time, so that hosts act between two arrivals.
//! Leaves out links and routing.

use crate::account::PacketFate;
use crate::agenda::{Agenda, Slot};
use crate::beside::Inside;
use crate::compression::{HeaderRequest, REQUEST_B, WHOLE_B};
use crate::frame::{Delivery, Frame};
use crate::links::Links;
use crate::mtu::{in_fragments, message};
use crate::network::Network;
use crate::packets::Packets;
use crate::pinned::{Pinned, PinnedStep, StepOver};
use crate::route::{Route, Way};
use crate::routes::Stuck;
use crate::space::Space;
use skyhop_link::{Arrival, FlippedBit, Label};
use skyhop_topology::NodeId;
use skyhop_units::{Bytes, Span, Time};
use skyhop_wire::{Ecn, Ip, Packet, Transport, Version};
use std::net::Ipv4Addr;

/// Hop limit, larger than the length of any path: a packet beyond it is in a loop while routes change.
const MOST_HOPS: u16 = 255;

impl Network {
    /// Schedules the network's clocks; called when all routes have been added.
    pub fn start(&mut self, agenda: &mut Agenda) {
        if self.watch.has_clock() {
            agenda.wake(self.clocks.outages, Time::ZERO);
        }
    }

    /// Sends a packet from the beginning of its route, or from the end if it goes backward. Returns it, or a router's error that
    /// it was too large, if that is delivered at the first node already.
    #[inline(always)]
    pub fn send(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        frame: Frame,
        stp: Option<Inside>,
    ) -> Option<Delivery> {
        let (route, backward) = (frame.route, frame.backward);
        let id = self.packets.begin(frame, stp);
        let route = &self.packets.routes[route as usize];
        let node = route.entrance(backward);
        match (&route.way, &mut self.links.space) {
            (Way::Space(ends), Some(space)) => space.begin(id, ends[!backward as usize], now),
            (Way::Pinned(_), _) => self.packets.steps.begin(id, 0),
            _ => {}
        }
        if let Some(edges) = &mut self.edges {
            let frame = &self.packets.frames[id];
            edges.enter(id, frame.route, frame.backward);
        }
        self.forward(now, agenda, id, node).map(Delivery)
    }

    /// Handles the timeout of a link or of a clock. Returns the first packet delivered; [`Network::poll_delivery`] returns the
    /// others.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time, agenda: &mut Agenda, slot: Slot) -> Option<Delivery> {
        if slot < self.clocks.space {
            if slot == self.clocks.edges
                && let Some(edges) = &mut self.edges
            {
                edges.handle_timeout(now);
            }
            return self.drain(now, agenda, slot);
        }
        if slot == self.clocks.space {
            self.handle_space(now, agenda);
        } else if slot == self.clocks.outages {
            self.handle_outages(now, agenda);
        } else {
            self.handle_frames(now, agenda);
        }
        None
    }

    /// The next packet that has reached the end of its route.
    pub fn poll_delivery(&mut self, now: Time, agenda: &mut Agenda) -> Option<Delivery> {
        let index = self.draining.take()?;
        self.drain(now, agenda, index)
    }

    /// The packet of a delivery.
    #[inline]
    pub fn delivered(&self, delivery: &Delivery) -> &Frame {
        &self.packets.frames[delivery.0]
    }

    /// Removes a delivered packet from the network, with the STP packet inside it, if any.
    #[inline(always)]
    pub fn take(&mut self, delivery: Delivery) -> (Frame, Option<Inside>) {
        self.packets.take(delivery.0)
    }

    /// Like [`Network::take`], for a packet without an STP packet, when its driver has finished with it.
    #[inline(always)]
    pub fn end(&mut self, delivery: Delivery) {
        self.packets.end_bare(delivery.0);
    }

    /// Takes the arrivals of a wire, up to the first packet that is at the end of its route.
    #[inline]
    fn drain(&mut self, now: Time, agenda: &mut Agenda, index: u32) -> Option<Delivery> {
        if self.edges.is_some() {
            if let Some(delivery) = self.leave_next(now, agenda, index) {
                return Some(delivery);
            }
            if index == self.clocks.edges {
                return None;
            }
        }
        loop {
            if self.links.wires[index as usize].reconstructor.is_some()
                && let Some(delivery) = self.reconstructed(now, agenda, index)
            {
                return Some(delivery);
            }
            let (wire, medium) = self.links.wire(index);
            let Some(arrival) = wire.link.poll_arrival(now, &medium) else { break };
            self.packet_hops = self.packet_hops.wrapping_add(1);
            let frame = &mut self.packets.frames[arrival.packet];
            if arrival.marked {
                frame.packet.ip.ecn = Ecn::Marked;
            }
            let lost = match &mut wire.compression {
                None => arrival.lost,
                Some(_) => match self.restore(now, agenda, index, (arrival.packet, arrival.lost)) {
                    Some(lost) => lost,
                    None => continue,
                },
            };
            let frame = &mut self.packets.frames[arrival.packet];
            if lost {
                match self.lose(now, agenda, index, (arrival.packet, arrival.peer), arrival.corrupted) {
                    Some(delivery) => return Some(delivery),
                    None => continue,
                }
            }
            frame.hop = frame.hop.wrapping_add(1);
            if arrival.duplicated {
                self.duplicate(now, index, (arrival.packet, arrival.peer), arrival.marked);
            }
            if self.links.wires[index as usize].reconstructor.is_some()
                && self.reconstruct(now, index, arrival.packet)
            {
                continue;
            }
            if let Some(id) = self.forward(now, agenda, arrival.packet, NodeId(arrival.peer))
                && let Some(id) = self.leave(now, agenda, id)
            {
                self.draining = Some(index);
                return Some(Delivery(id));
            }
        }
        self.after_wire(now, agenda, index);
        None
    }

    /// Restores the header of a packet that has arrived on wire `index`. Returns true if it is lost, on the wire or by that; `None`
    /// if it was a request for a whole header, which ends here.
    #[inline(never)]
    fn restore(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        index: u32,
        (id, lost): (u32, bool),
    ) -> Option<bool> {
        let Packets { frames, routes, .. } = &mut self.packets;
        let wire = &mut self.links.wires[index as usize];
        let compression = wire.compression.as_mut()?;
        if let Some(message) = compression.take_message(id) {
            self.packets.discard(id, if lost { PacketFate::Lost } else { PacketFate::Delivered });
            let asked = self.links.wires[index as usize ^ 1].compression.as_mut().filter(|_| !lost);
            if let Some((asked, request)) = asked.zip(message) {
                asked.refresh(now, request);
                self.send_message(now, agenda, index ^ 1, (WHOLE_B, None));
            }
            return None;
        }
        let frame = &frames[id];
        let connection = (routes[frame.route as usize].account, frame.stream);
        let takes = wire.delay.unwrap_or(Span::ZERO)
            + wire.rate.serialisation(Bytes::new(frame.packet.wire_len().into()));
        let left = Time::ZERO + now.since(Time::ZERO + takes);
        let restored = compression.arrives([now, left], id, connection, &frame.packet, lost);
        if restored.asks {
            let request = (connection, frame.packet);
            self.send_message(now, agenda, index ^ 1, (REQUEST_B, Some(request)));
        }
        Some(restored.lost)
    }

    /// Sends a message of the link's own ends on wire `index`, of so many bytes.
    #[inline(never)]
    fn send_message(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        index: u32,
        message: (u32, Option<HeaderRequest>),
    ) {
        let route = match self.control {
            Some(route) => route,
            None => {
                let account = self.open_account();
                let way = Way::Wires([Box::default(), Box::default()]);
                let route =
                    Route { way, account, priority: 0, narrow: false, told: false, counted: [false; 2] };
                let number = self.add_route(route, false);
                *self.control.insert(number)
            }
        };
        // Its bytes are the link's own, so that nothing reads the header.
        let ip = Ip { ttl: 1, ..Ip::new(Version::V4, Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED) };
        let packet = Packet { ip, transport: Transport::Other(0), payload_len: 0 };
        let id = self.packets.begin(Frame::new(route, false, [0, 0], now, packet), None);
        let (wire, medium) = self.links.wire(index);
        let (bytes, message) = message;
        if wire.link.handle_packet(now, id, bytes, Label::default(), &medium).is_err() {
            self.packets.discard(id, PacketFate::Dropped);
            return;
        }
        if let Some(compression) = &mut wire.compression {
            compression.send(id, message);
        }
        self.after_wire(now, agenda, index);
    }

    /// A packet has reached the end of its route. Returns the one that leaves there, if any.
    #[inline(always)]
    fn leave(&mut self, now: Time, agenda: &mut Agenda, id: u32) -> Option<u32> {
        match self.edges {
            None => Some(id),
            Some(_) => self.resequence(now, agenda, id),
        }
    }

    #[inline(never)]
    fn resequence(&mut self, now: Time, agenda: &mut Agenda, id: u32) -> Option<u32> {
        let edges = self.edges.as_mut()?;
        let frame = &self.packets.frames[id];
        edges.leave(now, id, frame.route, frame.backward);
        if let Some(at) = edges.poll_timeout() {
            agenda.wake(self.clocks.edges, at);
        }
        edges.poll()
    }

    /// The next packet that an edge releases; `index` is the wire that is being drained.
    #[inline(never)]
    fn leave_next(&mut self, now: Time, agenda: &mut Agenda, index: u32) -> Option<Delivery> {
        let edges = self.edges.as_mut()?;
        let next = edges.poll();
        match next {
            Some(_) => self.draining = Some(index),
            None => {
                if let Some(at) = edges.poll_timeout() {
                    agenda.wake(self.clocks.edges, at.max(now));
                }
            }
        }
        next.map(Delivery)
    }

    /// Holds an acknowledgment behind those that are missing before it, which are made. Returns false if it goes on at once.
    #[inline(never)]
    fn reconstruct(&mut self, now: Time, index: u32, id: u32) -> bool {
        let frame = &self.packets.frames[id];
        let route = &self.packets.routes[frame.route as usize];
        // Packets of programs have bytes, which are not made here.
        if route.told {
            return false;
        }
        let stream = (route.account, frame.stream, frame.backward);
        let ack = frame.label(route.account, route.priority).ack;
        let Some(box_) = &mut self.links.wires[index as usize].reconstructor else { return false };
        let Some(missing) = box_.handle(now, stream, ack) else { return false };
        for (number, at) in missing.numbers {
            let copy = self.packets.acknowledging(id, number);
            if let Some(edges) = &mut self.edges {
                edges.forget(copy);
            }
            box_.hold(stream, at, copy);
        }
        box_.hold(stream, missing.last.unwrap_or(now), id);
        true
    }

    /// Sends on the acknowledgments that are due behind wire `index`, up to the first that is at the end of its route.
    #[inline(never)]
    fn reconstructed(&mut self, now: Time, agenda: &mut Agenda, index: u32) -> Option<Delivery> {
        loop {
            let wire = &mut self.links.wires[index as usize];
            let (to, id) = (wire.to, wire.reconstructor.as_mut()?.poll(now)?);
            if let Some(id) = self.forward(now, agenda, id, to)
                && let Some(id) = self.leave(now, agenda, id)
            {
                self.draining = Some(index);
                return Some(Delivery(id));
            }
        }
    }

    /// Handles a packet lost to errors: it ends here, unless only one bit is flipped and the driver wants such packets.
    #[inline(never)]
    fn lose(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        index: u32,
        (packet, peer): (u32, u32),
        corrupted: Option<FlippedBit>,
    ) -> Option<Delivery> {
        let whole = self.links.wires[index as usize].compression.is_none();
        if !(whole && self.packets.keep(packet, corrupted)) {
            self.packets.discard(packet, PacketFate::Lost);
            return None;
        }
        let id = self.forward(now, agenda, packet, NodeId(peer))?;
        let id = self.leave(now, agenda, id)?;
        self.draining = Some(index);
        Some(Delivery(id))
    }

    /// Handles a packet that the link has duplicated: makes the copy, which arrives on the same link.
    #[inline(never)]
    fn duplicate(&mut self, now: Time, index: u32, (packet, peer): (u32, u32), marked: bool) {
        let copy = self.packets.duplicate(packet);
        if let Some(edges) = &mut self.edges {
            edges.forget(copy);
        }
        if let Some(space) = &mut self.links.space {
            space.duplicate(packet, copy);
        }
        // The arrival is rebuilt from the parts that matter, which avoids a copy of the others.
        let original = Arrival { packet, peer, marked, lost: false, duplicated: true, corrupted: None };
        self.links.wires[index as usize].link.duplicate(now, &original, copy);
    }

    /// Makes packets with flipped bits continue, for a driver that has their bytes: it must ask [`Network::flipped`] at each
    /// delivery.
    pub fn keep_corrupted(&mut self) {
        self.packets.flipped.get_or_insert_default();
    }

    /// The flipped bits of a packet that has reached the end of its route.
    pub fn flipped(&mut self, delivery: &Delivery) -> Vec<FlippedBit> {
        self.packets.flipped.as_mut().and_then(|flipped| flipped.remove(&delivery.0)).unwrap_or_default()
    }

    /// Handles a packet at `node`: sends it on the next link, or returns its number if it is at the end of its route. The number
    /// returned is another's if a router's error about it is delivered.
    fn forward(&mut self, now: Time, agenda: &mut Agenda, id: u32, node: NodeId) -> Option<u32> {
        let Packets { frames, routes, accounts, steps, .. } = &mut self.packets;
        let frame = &frames[id];
        let route = &routes[frame.route as usize];
        let next = match &route.way {
            Way::Wires(wires) => match wires[frame.backward as usize].get(frame.hop as usize) {
                Some(&wire) => wire,
                None => return Some(id),
            },
            Way::Mesh(ends) => {
                let destination = ends[!frame.backward as usize];
                if node == destination {
                    return Some(id);
                }
                let next =
                    self.mesh.as_mut().and_then(|mesh| mesh.next_wire(node, destination, &frame.packet));
                let Some(next) = next else { unreachable!("a route over a mesh has a way") };
                match self.divert_at {
                    Some(at) => {
                        let ways = self.mesh.as_mut().map(|mesh| mesh.next_wires(node, destination));
                        divert(next, ways.unwrap_or_default(), at, &mut self.links, now)
                    }
                    None => next,
                }
            }
            Way::Pinned(pinned) => {
                let at = steps.of(id);
                match next_of_pinned(pinned, at, (id, frame), node, &mut self.links.space, now) {
                    Some(Ok(wire)) => wire,
                    Some(Err(why)) => return self.strand(id, why),
                    None => return Some(id),
                }
            }
            Way::Space(ends) => {
                let destination = ends[!frame.backward as usize];
                if node == destination {
                    return Some(id);
                }
                let Some(space) = &mut self.links.space else {
                    unreachable!("a route through space has one")
                };
                let next = match frame.hop < MOST_HOPS {
                    true => space.next_wire(node, destination, (id, &frame.packet), now),
                    false => Err(Stuck::HopLimit),
                };
                match next {
                    Ok(wire) => match self.divert_at {
                        Some(at) => {
                            let ways = space.next_wires(node, destination);
                            divert(wire, ways, at, &mut self.links, now)
                        }
                        None => wire,
                    },
                    Err(why) => {
                        space.stuck(why, node, destination);
                        self.packets.discard(id, PacketFate::Dropped);
                        return None;
                    }
                }
            }
        };
        let (wire, medium) = self.links.wire(next);
        let whole = frame.packet.wire_len();
        if frame.hop == 0 && route.counted[frame.backward as usize] {
            accounts[route.account as usize].bytes[frame.backward as usize] += u64::from(whole);
        }
        let mut sent = whole;
        if route.narrow && whole > wire.mtu {
            if !frame.packet.ip.may_fragment {
                // No error is sent about an error, so that this ends.
                let (message, router) = self.too_large(id, next)?;
                return self.forward(now, agenda, message, router);
            }
            wire.fragmented += 1;
            sent = in_fragments(&frame.packet, wire.mtu);
        }
        let compressed = wire.compression.as_ref().and_then(|c| c.compressed_len(&frame.packet));
        let size = wire.framed(compressed.unwrap_or(sent));
        let label = match wire.link.reads_labels() {
            true => frame.label(route.account, route.priority),
            false => Label::default(),
        };
        if wire.link.handle_packet(now, id, size, label, &medium).is_err() {
            self.packets.discard(id, PacketFate::Dropped);
            return None;
        }
        if let Some(compression) = &mut wire.compression {
            compression.taken(id, &frame.packet, compressed.is_some());
        }
        self.after_wire(now, agenda, next);
        None
    }

    /// Drops a packet that cannot continue on its pinned path, even if other paths exist.
    #[inline(never)]
    fn strand(&mut self, id: u32, why: Stuck) -> Option<u32> {
        if let Some(space) = &mut self.links.space {
            space.strand(why);
        }
        self.packets.discard(id, PacketFate::Dropped);
        None
    }

    /// Drops a packet that is larger than the MTU of wire `next`. Returns the router's error about it and the router, if one is sent.
    fn too_large(&mut self, id: u32, next: u32) -> Option<(u32, NodeId)> {
        let wire = &mut self.links.wires[next as usize];
        wire.too_large += 1;
        let (mtu, from, black_hole) = (wire.mtu, wire.from, wire.black_hole);
        if black_hole || matches!(self.packets.frames[id].packet.transport, Transport::TooLarge(_)) {
            self.packets.discard(id, PacketFate::Dropped);
            return None;
        }
        let frame = self.packets.hand_on(id, PacketFate::Dropped);
        let route = &self.packets.routes[frame.route as usize];
        let hop = match &route.way {
            // The packet has crossed as many links as lie before the router.
            Way::Wires([there, _]) => there.len() as u16 - frame.hop,
            // It is made inside the network, and not sent by an end.
            Way::Mesh(_) | Way::Space(_) | Way::Pinned(_) => 1,
        };
        let turned = match &route.way {
            Way::Pinned(pinned) => Some(pinned.turned(*self.packets.steps.of(id))),
            _ => None,
        };
        let packet = message(from, mtu, &frame.packet);
        let message =
            Frame { hop, backward: !frame.backward, twin: false, sent_at: frame.sent_at, packet, ..frame };
        let message = self.packets.begin(message, None);
        if let Some(edges) = &mut self.edges {
            edges.forget(message);
        }
        if let Some(step) = turned {
            self.packets.steps.begin(message, step);
        }
        Some((message, from))
    }

    /// Reports transmissions, and schedules the wire's next event.
    pub(crate) fn after_wire(&mut self, now: Time, agenda: &mut Agenda, index: u32) {
        let link = &self.links.wires[index as usize].link;
        if link.reports() {
            return self.report(now, agenda, index);
        }
        if let Some(at) = link.poll_timeout() {
            agenda.wake(index, at);
        }
    }

    /// Like [`Self::after_wire`], for a link with something to report, or with a shared transmitter.
    #[inline(never)]
    fn report(&mut self, now: Time, agenda: &mut Agenda, index: u32) {
        self.tell(now, agenda, index);
        while let Some(other) = self.links.turn(now, index) {
            self.tell(now, agenda, other);
        }
        let next = self.links.shared.as_mut().and_then(|shared| shared.next_look(now, index));
        if let Some(at) = next {
            agenda.wake(index, at);
        }
    }

    /// Ends the packets that the queue discarded, passes transmissions to the capture, and schedules the wire's next event.
    fn tell(&mut self, now: Time, agenda: &mut Agenda, index: u32) {
        let (wire, medium) = self.links.wire(index);
        while let Some(discarded) = wire.link.poll_discarded() {
            self.packets.discard(discarded, PacketFate::Dropped);
        }
        if let Some(interface) = wire.capture {
            while let Some(sent) = wire.link.poll_sent(now, &medium) {
                // Messages about headers are the link's own.
                if wire.compression.as_ref().is_some_and(|compression| compression.is_message(sent.packet)) {
                    continue;
                }
                let Packets { frames, beside, .. } = &mut self.packets;
                let frame = &mut frames[sent.packet];
                if sent.marked {
                    frame.packet.ip.ecn = Ecn::Marked;
                }
                self.captured.packet(interface, sent.at, &frame.packet, beside.get(sent.packet));
            }
        }
        if let Some(at) = wire.link.poll_timeout() {
            agenda.wake(index, at);
        }
        if let Some(at) = wire.reconstructor.as_ref().and_then(|box_| box_.poll_timeout()) {
            agenda.wake(index, at);
        }
    }

    /// Updates links, handovers and routes after satellites have moved.
    fn handle_space(&mut self, now: Time, agenda: &mut Agenda) {
        let Self { links, packets, .. } = self;
        let moved = links.look(now, |id| {
            packets.discard(id, PacketFate::Dropped);
        });
        let Some(moved) = moved else { return };
        agenda.wake(self.clocks.space, moved.next);
        let uplinks = self.links.uplinks.as_ref();
        if let (Some(slot), Some(at)) = (self.clocks.frames, uplinks.and_then(|u| u.next_frame())) {
            agenda.wake(slot, at.max(now));
        }
        self.surveyed |= moved.whole;
        for wire in moved.awake {
            self.after_wire(now, agenda, wire);
        }
        if moved.paths {
            self.look_at_ways(now, true);
        }
    }

    /// Handles the beginning of frames of uplinks.
    fn handle_frames(&mut self, now: Time, agenda: &mut Agenda) {
        let (awake, next) = self.links.begin_frames(now);
        for wire in awake {
            self.after_wire(now, agenda, wire);
        }
        if let (Some(slot), Some(at)) = (self.clocks.frames, next) {
            agenda.wake(slot, at);
        }
    }

    /// Handles the start or end of a scheduled outage of a link.
    fn handle_outages(&mut self, now: Time, agenda: &mut Agenda) {
        if let Some(next) = self.watch.next_outage(now, &self.links.wires) {
            agenda.wake(self.clocks.outages, next);
        }
        self.look_at_ways(now, false);
        self.look_at_ways(now, true);
    }

    /// Updates the state of the watched routes: those over satellites, or the others.
    fn look_at_ways(&mut self, now: Time, over_satellites: bool) {
        let Self { watch, links, packets, mesh, .. } = self;
        watch.look(now, over_satellites, &packets.routes, links, mesh.as_deref_mut());
    }

    /// The next change of a watched route: its number, and true if packets get through now.
    pub fn poll_route_change(&mut self) -> Option<(u32, bool)> {
        self.watch.poll_change()
    }

    /// Returns true if a watched route is out.
    pub fn is_out(&self, route: u32) -> bool {
        self.watch.is_out(route)
    }

    /// The wires that a watched route has used, from its beginning to its end.
    pub fn wires_of(&self, route: u32) -> impl Iterator<Item = u32> {
        self.watch.wires_of(route)
    }
}

/// The wire of `ways` for which fewest packets wait, if `at` or more wait for the planned one (WP: a router diverts what it would
/// have to drop); the planned one if none has fewer.
#[inline(never)]
fn divert(planned: u32, ways: Vec<u32>, at: u32, links: &mut Links, now: Time) -> u32 {
    let waiting = links.waiting(planned, now);
    if waiting < at as usize {
        return planned;
    }
    let counted = ways.into_iter().map(|wire| (links.waiting(wire, now), wire));
    counted
        .min_by_key(|(waiting, _)| *waiting)
        .filter(|(fewest, _)| *fewest < waiting)
        .map_or(planned, |(_, wire)| wire)
}

/// The next wire of the packet of frame `id` on a pinned path, at `node` after step `at`; `None` at the end of the path.
#[inline(never)]
fn next_of_pinned(
    pinned: &Pinned,
    at: &mut u8,
    (id, frame): (u32, &Frame),
    node: NodeId,
    space: &mut Option<Space>,
    now: Time,
) -> Option<Result<u32, Stuck>> {
    let PinnedStep { over, to } = pinned.step(frame.backward, at, node)?;
    let over = match over {
        StepOver::Wire(wire) => return Some(Ok(wire)),
        StepOver::Space(over) => over,
    };
    let Some(space) = space else { unreachable!("a way through space has one") };
    Some(match frame.hop < MOST_HOPS {
        true => space.next_wire_over(over, [node, to], (id, &frame.packet), now),
        false => Err(Stuck::HopLimit),
    })
}
