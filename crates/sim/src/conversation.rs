//! The connections of a flow: opening, look-up, removal.
//!
//! Follows RFC 9293's view that a connection is a pair of sockets: each has its own ports and sequence numbers.
//! Differs from a host's table of sockets: both ends are stored together, and the application numbers the connections.
//! Leaves out packets, which the simulation moves.

use crate::cache::Diverted;
use crate::endpoint::{EndProtocol, FlowEndpoint, SentCounts};
use crate::ids::{Actor, ConversationId};
use crate::splice::{Divider, Joint, Splicing};
use crate::stp::StpEnd;
use crate::stream::{StreamEnd, StreamOf};
use skyhop_chance::{Seed, Stream};
use skyhop_network::Slot;
use skyhop_splice::Side;
use skyhop_traffic::{Action, End};
use skyhop_transport::Cause;
use skyhop_transport::stp::{Packet as StpPacket, PayloadLength};
use skyhop_transport::tcp::{Memory, PathMemory, RttSamples, State, divide};
use skyhop_units::{Span, Time};
use skyhop_wire::{Ecn, Packet, Transport};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;

/// A connection: both ends, and the splices between them.
pub(crate) struct Conversation {
    /// The application's number for it.
    pub connection: u32,
    /// The client's end and the server's.
    pub ends: [FlowEndpoint; 2],
    /// Their slots in the agenda.
    pub slots: [Slot; 2],
    /// Splices, beginning with the one next to the client.
    pub joints: Vec<Joint>,
    /// Ends whose data a splice has acknowledged but not their FIN: they do not know yet that all data have arrived.
    pub unsure: [bool; 2],
    generation: u32,
}

impl Conversation {
    /// Returns true if it has ended and has no further event.
    pub fn over(&self) -> bool {
        self.ends.iter().all(FlowEndpoint::over)
    }

    /// Carries out the part of an action that concerns a cache. Returns the cache's splice if it has something to do now, and true
    /// if nothing is left for the end that was addressed.
    pub fn divert(&mut self, now: Time, action: &Action) -> (Option<Actor>, bool) {
        let mut all = self.joints.iter_mut().enumerate();
        let cached = all.find_map(|(leg, joint)| match &mut joint.divider {
            Divider::Splice(splice) => Some((leg, splice, joint.cache.as_mut()?)),
            Divider::Gateway(_) => None,
        });
        let Some((leg, splice, cache)) = cached else { return (None, false) };
        let Diverted { touched, done } = cache.divert(now, action, splice);
        (touched.then_some(Actor::Splice(leg as u8)), done)
    }

    /// Returns true if a packet for one of its actors is a TCP segment, or an ICMP message about one.
    #[inline]
    pub fn takes_tcp(&self, actor: Actor, packet: &Packet) -> bool {
        match actor {
            Actor::End(end) => matches!(self.ends[end as usize], FlowEndpoint::Tcp(_)),
            Actor::Splice(_) => matches!(packet.transport, Transport::Tcp(_) | Transport::TooLarge(_)),
        }
    }

    /// Handles a TCP segment that arrives at one of its actors, or a router's message about one.
    #[inline]
    pub fn handle_tcp(&mut self, now: Time, actor: Actor, backward: bool, packet: &Packet) {
        match actor {
            Actor::End(end) => {
                if let FlowEndpoint::Tcp(tcp) = &mut self.ends[end as usize] {
                    tcp.handle_packet(now, packet);
                }
            }
            Actor::Splice(leg) => match &mut self.joints[leg as usize].divider {
                Divider::Splice(splice) => splice.handle_packet(now, side(backward), packet),
                Divider::Gateway(gateway) => gateway.end.handle_packet(now, packet),
            },
        }
    }

    /// Handles an STP packet that arrives at one of its actors, with the ECN field of its network header.
    pub fn handle_stp(
        &mut self,
        now: Time,
        actor: Actor,
        backward: bool,
        (packet, field): (&StpPacket<PayloadLength>, Ecn),
    ) {
        match actor {
            Actor::End(end) => {
                if let FlowEndpoint::Stp(stp) = &mut self.ends[end as usize]
                    && let StpEnd::Alone(stp) = &mut **stp
                {
                    stp.machine.handle_arrival(now, packet, field);
                }
            }
            Actor::Splice(leg) => {
                // A gateway's association has packets of its own.
                if let Divider::Splice(splice) = &mut self.joints[leg as usize].divider {
                    splice.handle_stp(now, side(backward), packet, field);
                }
            }
        }
    }

    /// Informs the ends of a leg, out of `legs`, that its path is up or down.
    pub fn set_path_up(&mut self, leg: usize, legs: usize, now: Time, up: bool) {
        let [client, server] = &mut self.ends;
        if leg == 0 {
            client.set_path_up(now, up);
        }
        if leg + 1 == legs {
            server.set_path_up(now, up);
        }
    }
}

/// The side of a splice at which a packet arrives.
fn side(backward: bool) -> Side {
    if backward { Side::Server } else { Side::Client }
}

/// Totals over all connections, including those that have been removed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Payload delivered in order, to the client and to the server.
    pub delivered: [u64; 2],
    /// Highest sequence numbers received, by the client and by the server, bytes; `None` over STP.
    pub sequence_max: [Option<u64>; 2],
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub timeouts: u64,
    pub rtt: RttSamples,
    /// Time of the sending ends by the cause that limited them.
    pub limits: [Span; Cause::COUNT],
}

impl Totals {
    fn add(&mut self, conversation: &Conversation) {
        for (total, end) in self.delivered.iter_mut().zip(&conversation.ends) {
            *total += end.delivered();
        }
        for (total, end) in self.sequence_max.iter_mut().zip(&conversation.ends) {
            *total = end.sequence_max().map(|highest| total.unwrap_or(0) + highest);
        }
    }

    /// Counters of the ends that send the flow's payload.
    fn add_sender(&mut self, end: &FlowEndpoint, now: Time) {
        let SentCounts { segments, segments_retransmitted, timeouts, rtt, limits } = end.sent(now);
        self.segments_sent += segments;
        self.segments_retransmitted += segments_retransmitted;
        self.timeouts += timeouts;
        self.rtt.merge(rtt);
        self.limits.iter_mut().zip(limits).for_each(|(total, span)| *total += span);
    }

    /// Mean of the RTT samples.
    pub fn rtt_mean_s(&self) -> Option<f64> {
        (self.rtt.count > 0).then(|| self.rtt.sum.as_secs_f64() / self.rtt.count as f64)
    }

    /// Smallest and largest RTT sample.
    pub fn rtt_min_max_s(&self) -> [Option<f64>; 2] {
        [self.rtt.min, self.rtt.max].map(|span| span.map(Span::as_secs_f64))
    }
}

/// Parameters of a flow's connections.
pub(crate) struct Sockets {
    /// Protocols of the client's and the server's end; they differ if a splice is between them.
    pub protocols: [EndProtocol; 2],
    /// MTU of each end's own link.
    pub mtus: [Option<u32>; 2],
    /// True if a link on the path may have a smaller MTU than a packet's size; the MTU found is then remembered.
    pub narrow: bool,
    pub addresses: [SocketAddrV4; 2],
    pub seed: Seed,
    /// Name of the flow, for its random streams.
    pub name: String,
    /// Number of the flow, for its ports.
    pub flow: u32,
    /// Initial sequence numbers of the client and of the server.
    pub initial_sequence: [Stream; 2],
    /// Its splices, from the client on.
    pub splicing: Vec<Splicing>,
    /// Present if its connections are streams of an association.
    pub stream: Option<StreamOf>,
}

impl Sockets {
    /// The client's address and the server's.
    fn addresses_of(&self, connection: u32) -> [SocketAddrV4; 2] {
        let mut addresses = self.addresses;
        if connection > 0 {
            // Later connections have ports below those of the first, and the flow's own port at the server.
            addresses[0].set_port((1024 + (connection - 1) % 48_128) as u16);
            addresses[1].set_port((10_000 + self.flow % 50_000) as u16);
        }
        addresses
    }

    fn connect(&mut self, connection: u32) -> [FlowEndpoint; 2] {
        if let Some(of) = self.stream {
            return [true, false]
                .map(|client| FlowEndpoint::Stp(Box::new(StpEnd::Stream(StreamEnd::new(of, client)))));
        }
        let addresses = self.addresses_of(connection);
        let mut stream = format!("flow/{}", self.name);
        if connection > 0 {
            stream = format!("{stream}/connection/{connection}");
        }
        let [client, server] = &self.protocols;
        let mut end = |protocol: &EndProtocol, end, name| {
            let chance = self.seed.stream(&format!("{stream}/{name}"));
            protocol.end(
                end,
                addresses,
                connection,
                self.initial_sequence[end as usize].bits() as u32,
                chance,
            )
        };
        let ends = [end(client, End::Client, "sender"), end(server, End::Server, "receiver")];
        let [client, server] = ends;
        [client.over_link(self.mtus[0]), server.over_link(self.mtus[1])]
    }
}

/// A flow's connections.
pub(crate) struct Conversations {
    sockets: Sockets,
    /// The ends that send the flow's payload.
    senders: &'static [End],
    places: Vec<Option<Conversation>>,
    free: Vec<u32>,
    by_connection: BTreeMap<u32, ConversationId>,
    opened: u32,
    forgotten: Totals,
    /// State that each end's host keeps about the other, beginning with the first connection.
    memory: Option<[Memory; 2]>,
}

impl Conversations {
    pub fn new(sockets: Sockets, senders: &'static [End]) -> Self {
        Self {
            sockets,
            senders,
            places: Vec::new(),
            free: Vec::new(),
            by_connection: BTreeMap::new(),
            opened: 0,
            forgotten: Totals::default(),
            memory: None,
        }
    }

    /// Opens a connection at `now`. `slot` allocates slots of the agenda for its ends.
    pub fn open(
        &mut self,
        now: Time,
        connection: u32,
        mut slot: impl FnMut(ConversationId, Actor) -> Slot,
    ) -> ConversationId {
        let generation = self.opened;
        self.opened += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        let id = ConversationId { place, generation };
        let slots = [End::Client, End::Server].map(|end| slot(id, Actor::End(end)));
        let mut ends = self.sockets.connect(connection);
        let narrow = self.sockets.narrow;
        if self.sockets.protocols.iter().all(|protocol| protocol.remembers(narrow)) {
            ends = self.remember(ends);
        }
        for end in self.senders {
            ends[*end as usize].count_limits(now);
        }
        let seed = self.sockets.seed;
        let addresses = self.sockets.addresses_of(connection);
        let splicing = self.sockets.splicing.iter_mut().enumerate();
        let joints = splicing
            .map(|(leg, splicing)| Joint {
                divider: splicing.open(connection, addresses, seed),
                envelopes: splicing.envelopes(addresses),
                slot: slot(id, Actor::Splice(leg as u8)),
                cache: splicing.cache(connection, seed),
                place: splicing.place,
                held: 0,
            })
            .collect();
        self.places[place as usize] =
            Some(Conversation { connection, ends, slots, joints, unsure: [false; 2], generation });
        self.by_connection.insert(connection, id);
        id
    }

    /// Gives the ends of a new connection the state that earlier ones have left.
    fn remember(&mut self, ends: [FlowEndpoint; 2]) -> [FlowEndpoint; 2] {
        let ends = match &mut self.memory {
            None => ends,
            Some(hosts) => {
                for (end, memory) in hosts.iter_mut().enumerate() {
                    let mut open = Vec::new();
                    for conversation in self.places.iter_mut().flatten() {
                        let FlowEndpoint::Tcp(tcp) = &mut conversation.ends[end] else { continue };
                        memory.merge(tcp.memory());
                        if tcp.state() == State::Established {
                            open.push(tcp);
                        }
                    }
                    if let Some(path) = memory.path {
                        memory.path = Some(PathMemory { cwnd: divide(&mut open).unwrap_or(0), ..path });
                    }
                }
                let [client, server] = *hosts;
                let [a, b] = ends;
                [a.with_memory(client), b.with_memory(server)]
            }
        };
        self.memory = Some(ends.each_ref().map(FlowEndpoint::memory));
        ends
    }

    /// The conversation of a key; `None` if it has been removed.
    pub fn get(&self, id: ConversationId) -> Option<&Conversation> {
        self.places.get(id.place as usize)?.as_ref().filter(|c| c.generation == id.generation)
    }

    /// The conversation of a key, mutably; `None` if it has been removed.
    pub fn get_mut(&mut self, id: ConversationId) -> Option<&mut Conversation> {
        self.places.get_mut(id.place as usize)?.as_mut().filter(|c| c.generation == id.generation)
    }

    /// The conversation that has the number `connection` in the application.
    pub fn find(&self, connection: u32) -> Option<ConversationId> {
        self.by_connection.get(&connection).copied()
    }

    /// All conversations that are kept.
    pub fn all(&self) -> impl Iterator<Item = &Conversation> {
        self.places.iter().flatten()
    }

    /// All conversations that are kept, mutably.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Conversation> {
        self.places.iter_mut().flatten()
    }

    /// Removes a conversation; its counters remain.
    pub fn forget(&mut self, id: ConversationId, now: Time) -> Option<Conversation> {
        self.get(id)?;
        let conversation = self.places[id.place as usize].take()?;
        self.free.push(id.place);
        self.by_connection.remove(&conversation.connection);
        let mut totals = self.forgotten;
        self.count(&conversation, now, &mut totals);
        self.forgotten = totals;
        for (memory, end) in self.memory.iter_mut().flatten().zip(&conversation.ends) {
            memory.merge(end.memory());
        }
        Some(conversation)
    }

    /// Returns true if every conversation has ended.
    pub fn all_over(&self) -> bool {
        self.places.iter().flatten().all(Conversation::over)
    }

    /// Informs the ends of a leg, out of `legs`, that its path is up or down.
    pub fn set_path_up(&mut self, leg: usize, legs: usize, now: Time, up: bool) {
        for conversation in self.places.iter_mut().flatten() {
            conversation.set_path_up(leg, legs, now, up);
        }
    }

    /// Protocol of the end that sends the flow's data, or of the end that receives them.
    pub fn protocol(&self, sends: bool) -> &EndProtocol {
        &self.sockets.protocols[usize::from((self.senders == [End::Client]) != sends)]
    }

    /// The ends that send the flow's payload.
    pub fn senders(&self) -> &'static [End] {
        self.senders
    }

    /// Totals over all conversations up to `now`.
    pub fn totals(&self, now: Time) -> Totals {
        let mut totals = self.forgotten;
        for conversation in self.places.iter().flatten() {
            self.count(conversation, now, &mut totals);
        }
        totals
    }

    fn count(&self, conversation: &Conversation, now: Time, totals: &mut Totals) {
        totals.add(conversation);
        for end in self.senders {
            totals.add_sender(&conversation.ends[*end as usize], now);
        }
    }
}
