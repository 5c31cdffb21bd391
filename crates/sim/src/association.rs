//! An association between two hosts: the trunk at each end, and the flow that owns each stream.
//!
//! Follows docs/stp.md §15. The end that opens the first stream opens the association.
//! Differs from hosts: an association that fails at one end ends at both at once, and the next stream opens another.
//! Leaves out the closing handshake: an association stays open until the run ends.

use crate::carried::{CarriedDatagram, CarriedFate, DatagramSide};
use crate::ids::ConversationId;
use crate::stp::{Envelope, StpCarrier};
use crate::stream::{SendPhase, StreamEnd, StreamEnding};
use crate::user_turns::UserTurns;
use skyhop_chance::Stream;
use skyhop_network::{Account, Network, Slot};
use skyhop_results::AssociationResult;
use skyhop_splice::datagrams::{DatagramWay, send_datagram};
use skyhop_splice::owners::OwnerNumbers;
use skyhop_splice::users::Users;
use skyhop_transport::stp::{Budgets, Class, Config, Ends, Frames, Packet, PayloadLength, Trunk, TrunkEvent};
use skyhop_transport::tcp::RttSamples;
use skyhop_units::Time;
use skyhop_wire::Ecn;
use skyhop_wire::stp::UDP_PORT;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Length of the number before a datagram in a stream.
const LENGTH: u64 = 2;

/// The flow and the conversation of a stream.
pub(crate) type Owned = (u32, ConversationId);

/// A stream that has a number.
#[derive(Debug, Clone, Copy)]
struct Listed {
    owner: Owned,
    /// Sides whose machine has finished with the stream.
    over: [bool; 2],
}

/// Streams opened by one side, by number; finished ones at the front are removed.
#[derive(Debug, Default)]
struct Opened {
    first: u64,
    streams: VecDeque<Option<Listed>>,
}

impl Opened {
    fn place(&mut self, id: u64) -> Option<&mut Option<Listed>> {
        let place = (id >> 1).checked_sub(self.first)?;
        self.streams.get_mut(place as usize)
    }

    /// Marks a stream as finished at one side and returns its owner; the entry is removed when both sides have finished.
    fn done(&mut self, id: u64, side: usize) -> Option<Owned> {
        let place = self.place(id)?;
        let listed = place.as_mut()?;
        listed.over[side] = true;
        let Listed { owner, over } = *listed;
        if over == [true; 2] {
            *place = None;
        }
        while let Some(None) = self.streams.front() {
            self.streams.pop_front();
            self.first += 1;
        }
        Some(owner)
    }
}

/// Parameters of an association.
pub(crate) struct Making {
    /// Configuration and budgets of each side.
    pub configs: [(Config, Budgets); 2],
    pub carrier: StpCarrier,
    /// Addresses of its two ends: the `from` of its first flow, and the `to`.
    pub addresses: [SocketAddrV4; 2],
    pub initial_sequence: [Stream; 2],
}

struct AssociationEnd {
    trunk: Trunk<PayloadLength>,
    envelope: Envelope,
}

/// Counters of earlier pairs of trunks, and of streams.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    streams: u64,
    streams_max: u64,
    delivered: u64,
    segments_sent: u64,
    segments_retransmitted: u64,
    timeouts: u64,
    rtt: RttSamples,
}

impl Counted {
    fn add(&mut self, end: &AssociationEnd) {
        let stats = end.trunk.path_stats();
        self.segments_sent += stats.packets_sent;
        self.segments_retransmitted += stats.packets_retransmitted;
        self.timeouts += stats.timeouts;
        self.rtt.merge(stats.rtt);
    }
}

/// An association.
pub(crate) struct AssociationState {
    pub name: String,
    pub route: u32,
    pub account: u32,
    pub slots: [Slot; 2],
    /// Number of associations opened so far; packets of an earlier one are discarded.
    pub generation: u32,
    /// True if it is in the list of associations to be driven.
    pub due: bool,
    making: Making,
    /// Its ends by side: the first flow's `from`, then its `to`.
    ends: Option<Box<[AssociationEnd; 2]>>,
    /// The side that opened it; streams of this side have even numbers.
    initiator: u8,
    /// Streams by the side that opened them.
    opened: [Opened; 2],
    /// Streams that wait until the peer accepts more, by the side that opens them.
    waiting: [VecDeque<Owned>; 2],
    /// True if it joins gateways, which open it before they have connections, and it is not open yet.
    pub opens_early: bool,
    /// Users of each side's streams, if it joins gateways: the two ends of the flows.
    pub users: [Users<[Ipv4Addr; 2]>; 2],
    /// Users of each side's memory, if it joins gateways: the hosts at the terminal's end.
    pub owners: [OwnerNumbers<Ipv4Addr>; 2],
    /// Users of each side with rates of their own, if it joins gateways.
    pub turns: [UserTurns; 2],
    /// Datagrams that each side sends, if it joins gateways.
    pub datagrams: [DatagramSide; 2],
    counted: Counted,
}

impl AssociationState {
    pub fn new(name: String, (route, account): (u32, u32), slots: [Slot; 2], making: Making) -> Self {
        Self {
            name,
            route,
            account,
            slots,
            generation: 0,
            due: false,
            making,
            ends: None,
            initiator: 0,
            opened: Default::default(),
            waiting: Default::default(),
            opens_early: false,
            users: Default::default(),
            owners: Default::default(),
            turns: Default::default(),
            datagrams: Default::default(),
            counted: Counted::default(),
        }
    }

    /// Opens the association from `side`, unless it is open; `network` says whether there is a path.
    pub fn begin(&mut self, now: Time, side: u8, network: &Network) {
        if self.ends.is_some() {
            return;
        }
        let up = !network.is_out(self.route);
        self.generation += 1;
        self.initiator = side;
        self.opened = Default::default();
        let Making { configs, carrier, addresses, initial_sequence } = &mut self.making;
        let mut addresses = *addresses;
        addresses[1 - side as usize].set_port(UDP_PORT);
        let (instance, count) = (self.generation as u16, self.generation);
        let mut end = |own: usize| {
            let (local, remote) = (addresses[own], addresses[1 - own]);
            let ends = Ends { local_port: local.port(), remote_port: remote.port(), instance, count };
            let first = initial_sequence[own].bits() as u32;
            let (config, budgets) = configs[own].clone();
            let mut trunk = if own == side as usize {
                Trunk::connect(config, budgets, ends, first)
            } else {
                Trunk::listen(config, budgets, ends, first)
            };
            trunk.count_limits(now);
            trunk.set_path_up(now, up);
            AssociationEnd { trunk, envelope: Envelope::new(*carrier, [local, remote]) }
        };
        self.ends = Some(Box::new([end(0), end(1)]));
    }

    fn side(&mut self, side: usize) -> Option<&mut AssociationEnd> {
        self.ends.as_mut().map(|ends| &mut ends[side])
    }

    /// The side that opened a stream.
    fn opener(&self, id: u64) -> usize {
        usize::from(self.initiator) ^ (id & 1) as usize
    }

    /// Flow of a stream.
    pub fn owner(&mut self, id: u64) -> Option<Owned> {
        let opener = self.opener(id);
        self.opened[opener].place(id)?.map(|listed| listed.owner)
    }

    /// Flow of a stream with which `side` has finished.
    pub fn done(&mut self, id: u64, side: usize) -> Option<Owned> {
        let opener = self.opener(id);
        self.opened[opener].done(id, side)
    }

    /// Opens a stream for a client's end, unless others wait or the peer accepts no more. Returns true if it has a number now.
    pub fn open(&mut self, owner: Owned, stream: &mut StreamEnd, first: bool) -> bool {
        stream.id = self.open_stream(owner, usize::from(stream.side), stream.of.class, first);
        stream.id.is_some()
    }

    /// Opens a stream for an owner at `side`, unless others wait or the peer accepts no more. Returns its number.
    pub fn open_stream(&mut self, owner: Owned, side: usize, class: Class, first: bool) -> Option<u64> {
        let waits = first && !self.waiting[side].is_empty();
        let id = match self.side(side) {
            Some(end) if !waits => end.trunk.open(class),
            _ => None,
        };
        let Some(id) = id else {
            match first {
                true => self.waiting[side].push_back(owner),
                false => self.waiting[side].push_front(owner),
            }
            return None;
        };
        self.list(owner, side);
        Some(id)
    }

    /// Opens a stream for an owner at `side`, unless the peer accepts no more now. Returns its number.
    pub fn open_at_once(&mut self, owner: Owned, side: usize, class: Class) -> Option<u64> {
        let id = self.side(side)?.trunk.open(class)?;
        self.list(owner, side);
        Some(id)
    }

    fn list(&mut self, owner: Owned, side: usize) {
        self.opened[side].streams.push_back(Some(Listed { owner, over: [false; 2] }));
        self.counted.streams += 1;
        let open = self.side(side).map_or(0, |end| end.trunk.streams() as u64);
        self.counted.streams_max = self.counted.streams_max.max(open);
    }

    /// Passes a datagram of the stream `id` to a side. Returns its way, and the bytes that it takes in the stream if that is its way.
    pub fn send_datagram(
        &mut self,
        now: Time,
        (side, id): (usize, u64),
        size: u64,
        datagram: CarriedDatagram,
    ) -> Option<(DatagramWay, u64)> {
        let Self { ends, datagrams, .. } = self;
        let (trunk, own) = (&mut ends.as_mut()?[side].trunk, &mut datagrams[side]);
        let framed = LENGTH + size;
        let way = send_datagram(now, &mut own.load, trunk, id, PayloadLength(size), || PayloadLength(framed));
        if way == DatagramWay::Datagram {
            own.wait(datagram);
        }
        Some((way, framed))
    }

    /// Notes the datagrams that have left the queue of a side, in a packet or without one.
    pub fn datagrams_leave(
        &mut self,
        side: usize,
        packet: Option<&Packet<Frames<PayloadLength>>>,
        tell: impl FnMut(CarriedDatagram, CarriedFate),
    ) {
        if let Some(ends) = &self.ends {
            self.datagrams[side].leave(ends[side].trunk.stats().datagrams, packet, tell);
        }
    }

    /// Reads the next datagram that has arrived at a side, with the number of its stream.
    pub fn read_datagram(
        &mut self,
        side: usize,
        mut tell: impl FnMut(CarriedDatagram, CarriedFate),
    ) -> Option<(u64, CarriedDatagram)> {
        loop {
            let (channel, offset, _) = self.side(side)?.trunk.read_datagram_at()?;
            if let Some(datagram) = self.datagrams[1 - side].arrive(offset, &mut tell) {
                return Some((channel, datagram));
            }
        }
    }

    /// The trunk at a side, if the association is open.
    pub fn trunk(&mut self, side: usize) -> Option<&mut Trunk<PayloadLength>> {
        self.side(side).map(|end| &mut end.trunk)
    }

    /// Counts bytes read from streams by a gateway.
    pub fn count_delivered(&mut self, bytes: u64) {
        self.counted.delivered += bytes;
    }

    /// The first stream that waits for the peer to accept more.
    pub fn next_waiting(&mut self, side: usize) -> Option<Owned> {
        self.waiting[side].pop_front()
    }

    /// Records that the stream now waits for another event.
    pub fn hold(&self, now: Time, stream: &mut StreamEnd, phase: SendPhase) {
        if let Some(ends) = &self.ends {
            stream.held.change(now, phase, ends[usize::from(stream.side)].trunk.limits());
        }
    }

    /// Passes the application's requests for a stream to the machine.
    pub fn flush(&mut self, now: Time, stream: &mut StreamEnd) {
        let side = usize::from(stream.side);
        let (Some(id), Some(end)) = (stream.id, self.side(side)) else { return };
        if stream.unwritten > 0 {
            let bytes = std::mem::take(&mut stream.unwritten);
            let left = end.trunk.write(id, PayloadLength(bytes)).map_or(0, |left| left.0);
            stream.written += bytes - left;
            self.hold(now, stream, SendPhase::Sending);
        }
        let Some(end) = self.side(side) else { return };
        match stream.ending {
            StreamEnding::Open | StreamEnding::Told => return,
            StreamEnding::Due => end.trunk.shutdown(id),
            StreamEnding::Stopped => {
                stream.written -= end.trunk.unsent(id).min(stream.written);
                end.trunk.stop_writing(id);
                self.hold(now, stream, SendPhase::Sent);
            }
        }
        stream.ending = StreamEnding::Told;
    }

    /// Updates a stream's end from the machine's state at `now`.
    pub fn refresh(&self, now: Time, stream: &mut StreamEnd) {
        let Some(ends) = &self.ends else { return };
        let trunk = &ends[usize::from(stream.side)].trunk;
        stream.held.settle(now, trunk.limits());
        if let Some(id) = stream.id.filter(|_| !stream.over) {
            let waits = trunk.unacknowledged(id);
            stream.acknowledged = stream.written.saturating_sub(waits);
            stream.in_flight = waits.saturating_sub(trunk.unsent(id));
        }
    }

    /// Reads the data that have arrived in a stream. Returns the number of bytes.
    pub fn read(&mut self, side: usize, id: u64) -> u64 {
        let mut bytes = 0;
        if let Some(end) = self.side(side) {
            while let Some(PayloadLength(piece)) = end.trunk.read(id, usize::MAX) {
                bytes += piece;
            }
        }
        self.counted.delivered += bytes;
        bytes
    }

    /// Data of a stream that are not known to have arrived, bytes.
    pub fn unacknowledged(&self, side: usize, id: u64) -> u64 {
        self.ends.as_ref().map_or(0, |ends| ends[side].trunk.unacknowledged(id))
    }

    /// Returns true if a stream has nothing left to send.
    pub fn all_sent(&self, side: usize, id: u64) -> bool {
        self.ends.as_ref().is_none_or(|ends| ends[side].trunk.unsent(id) == 0)
    }

    /// The next event, and the side at which it happened.
    pub fn poll_event(&mut self) -> Option<(usize, TrunkEvent)> {
        let ends = self.ends.as_mut()?;
        ends.iter_mut().enumerate().find_map(|(side, end)| Some((side, end.trunk.poll_event()?)))
    }

    /// The next packet, the side that sends it, and its outer header.
    pub fn poll_transmit(
        &mut self,
        now: Time,
    ) -> Option<(usize, Packet<Frames<PayloadLength>>, skyhop_wire::Packet)> {
        let ends = self.ends.as_mut()?;
        ends.iter_mut().enumerate().find_map(|(side, end)| {
            let packet = end.trunk.poll_transmit(now)?;
            let fields = end.trunk.network_fields(&packet);
            let outside = end.envelope.wrap(&packet, fields);
            Some((side, packet, outside))
        })
    }

    /// Handles a packet that arrives at `side`, with the ECN field of its network header.
    pub fn handle_packet(
        &mut self,
        now: Time,
        side: usize,
        (packet, field): (&Packet<Frames<PayloadLength>>, Ecn),
    ) {
        if let Some(end) = self.side(side) {
            end.trunk.handle_arrival(now, packet, field);
        }
    }

    /// Handles the expiry of a timer of `side`.
    pub fn handle_timeout(&mut self, now: Time, side: usize) {
        if let Some(end) = self.side(side) {
            end.trunk.handle_timeout(now);
        }
    }

    /// Time of the next timeout of either side, or of the next turn of a connection there.
    pub fn timeouts(&self) -> [Option<Time>; 2] {
        [0, 1].map(|side| {
            let trunk = self.ends.as_ref().and_then(|ends| ends[side].trunk.poll_timeout());
            [trunk, self.turns[side].poll_timeout()].into_iter().flatten().min()
        })
    }

    /// Informs both ends that there is a path, or that there is none.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        for end in self.ends.iter_mut().flat_map(|ends| ends.iter_mut()) {
            end.trunk.set_path_up(now, up);
        }
    }

    /// Ends a broken association; returns the owners of its streams, including those that wait for a number.
    pub fn broken(&mut self) -> Vec<Owned> {
        let listed = self.opened.iter_mut().flat_map(|opened| opened.streams.drain(..).flatten());
        let mut all: Vec<Owned> = listed.map(|listed| listed.owner).collect();
        all.extend(self.waiting.iter_mut().flat_map(|waiting| waiting.drain(..)));
        all
    }

    /// Ends the association; its counters remain.
    pub fn end(&mut self) {
        for end in self.ends.iter().flat_map(|ends| ends.iter()) {
            self.counted.add(end);
        }
        self.ends = None;
    }

    /// Bytes that each side may have in flight, and those it has. With a rate in place of a window, the bytes sent in a round trip.
    pub fn windows(&self) -> [[u64; 2]; 2] {
        let of = |end: &AssociationEnd| {
            let trunk = &end.trunk;
            let window = match (trunk.window(), trunk.rate_bps(), trunk.srtt()) {
                (u64::MAX, Some(bps), Some(srtt)) => (bps / 8.0 * srtt.as_secs_f64()) as u64,
                (u64::MAX, ..) => 0,
                (window, ..) => window,
            };
            [window, trunk.in_flight()]
        };
        self.ends.as_ref().map_or([[0; 2]; 2], |ends| ends.each_ref().map(of))
    }

    /// Counters of the association, and the network's counters of its packets.
    pub fn result(&self, account: &Account) -> AssociationResult {
        let mut counted = self.counted;
        for end in self.ends.iter().flat_map(|ends| ends.iter()) {
            counted.add(end);
        }
        let rtt = counted.rtt;
        let seconds = |span: skyhop_units::Span| span.as_secs_f64();
        AssociationResult {
            name: self.name.clone(),
            streams: counted.streams,
            streams_max: counted.streams_max,
            bytes_delivered: counted.delivered,
            segments_sent: counted.segments_sent,
            segments_retransmitted: counted.segments_retransmitted,
            timeouts: counted.timeouts,
            rtt_min_s: rtt.min.map(seconds),
            rtt_mean_s: (rtt.count > 0).then(|| seconds(rtt.sum) / rtt.count as f64),
            rtt_max_s: rtt.max.map(seconds),
            forward_bytes: account.bytes[0],
            return_bytes: account.bytes[1],
            packets_sent: account.sent,
            packets_delivered: account.delivered,
            packets_dropped: account.dropped,
            packets_lost: account.lost,
            packets_in_flight: account.in_flight(),
        }
    }
}
