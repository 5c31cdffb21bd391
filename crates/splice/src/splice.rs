//! Two connections, and the data between them.
//!
//! Follows HT 4.3.1: early acknowledgment, a buffer for data that the far end does not have, the FIN end to end.
//! Differs: bytes stay in the receive window of their side until the other side has acknowledged them, so that one bound covers all
//! data for which the splice is responsible, and the window provides back-pressure.
//! Leaves out payload; [`Event::Moved`] and [`Event::Released`] give the numbers of bytes that the owner must append and may drop.

use crate::answers::Answers;
use crate::config::{Close, Config, Protocol, ServerOpening, Side};
use crate::leg::Leg;
use skyhop_chance::Stream;
use skyhop_transport::stp::{self, Ends, NetworkFields, Packet as StpPacket, PayloadLength};
use skyhop_transport::tcp::{self, Connection, LossRecovery};
use skyhop_units::Time;
use skyhop_wire::stp::{UDP_PORT, kind};
use skyhop_wire::{Ecn, Flags, Packet, TcpHeader, Transport};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

/// An event for the driver of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake on this side is complete.
    Opened(Side),
    /// More bytes have arrived in order from this side and wait to be sent on the other: the owner must keep them.
    Moved {
        /// The side that they came from.
        from: Side,
        /// Number of bytes.
        bytes: u64,
    },
    /// The other side has acknowledged more bytes, the oldest of those kept for it: the owner may drop them. On the client's side
    /// this includes the owner's answers.
    Released {
        /// The side that they came from; the server for the owner's answers.
        from: Side,
        /// Number of bytes.
        bytes: u64,
    },
    /// This side has sent its FIN after all of its data, and the owner has decided on all of them.
    Finished(Side),
    /// Both directions are closed, and each end knows that the other has everything.
    Closed,
    /// This side refused, reset or fell silent; the other side has been reset.
    Broken(Side),
}

/// Counters of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes that arrived in order from the client's side and from the server's.
    pub moved: [u64; 2],
    /// Bytes taken from each side that the other side has acknowledged.
    pub released: [u64; 2],
    /// Bytes from the client that the owner took and did not forward.
    pub consumed: u64,
    /// Bytes of the owner's answers.
    pub answered: u64,
    /// Largest number of bytes held at once for each direction.
    pub held_max: [u64; 2],
}

/// The client's first packet.
#[derive(Debug, Clone)]
enum First {
    Syn(Packet),
    /// A BGN.
    Begin(StpPacket<PayloadLength>, Ecn),
}

/// One connection, split in two.
#[derive(Debug)]
pub struct Splice {
    config: Config,
    initial: [u32; 2],
    chance: [Option<Stream>; 2],
    legs: [Option<Leg>; 2],
    /// The client's first packet, once it has arrived.
    first: Option<First>,
    /// Addresses of client and server, if given; else those of the client's SYN are used.
    addresses: Option<[SocketAddrV4; 2]>,
    /// The server's SYN-ACK, whose numbers and options the client's leg takes over.
    answer: Option<TcpHeader>,
    /// For each side, true if its FIN has been passed to the other.
    finished: [bool; 2],
    /// Time since which each side has owed an answer in silence.
    silent_since: [Option<Time>; 2],
    /// For each side, the number of its bytes that the other side had acknowledged at the last check.
    acknowledged: [u64; 2],
    over: bool,
    answers: Answers,
    /// Bytes forwarded to the server, if the client's data wait for decisions.
    forwarded: u64,
    stats: Stats,
    events: VecDeque<Event>,
}

impl Splice {
    /// A splice that waits for a SYN. `initial` are the initial sequence numbers towards the client and the server; with an
    /// end-to-end opening those of the ends are used.
    pub fn new(config: Config, initial: [u32; 2]) -> Self {
        Self {
            config,
            initial,
            chance: [None, None],
            legs: [None, None],
            first: None,
            addresses: None,
            answer: None,
            finished: [false; 2],
            silent_since: [None; 2],
            acknowledged: [0; 2],
            over: false,
            answers: Answers::default(),
            forwarded: 0,
            stats: Stats::default(),
            events: VecDeque::new(),
        }
    }

    /// Sets the random stream of each side.
    pub fn with_chance(mut self, chance: [Stream; 2]) -> Self {
        self.chance = chance.map(Some);
        self
    }

    /// Sets the addresses of client and server, which the network layer knows and an STP packet does not contain. Required if the
    /// client's side is STP.
    pub fn with_addresses(mut self, addresses: [SocketAddrV4; 2]) -> Self {
        self.addresses = Some(addresses);
        self
    }

    /// Bytes held for the direction that begins at `from`: arrived there, in order or not, and not acknowledged by the other
    /// side. Never more than the buffer.
    pub fn held_from(&self, from: Side) -> u64 {
        self.legs[from as usize].as_ref().map_or(0, Leg::held)
    }

    /// Bytes held in both directions.
    pub fn held(&self) -> u64 {
        self.held_from(Side::Client) + self.held_from(Side::Server)
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns true if the splice has ended.
    pub fn over(&self) -> bool {
        self.over && self.legs.iter().flatten().all(Leg::over)
    }

    /// The TCP connection with a side, if there is one.
    pub fn connection(&self, side: Side) -> Option<&Connection> {
        match self.legs[side as usize].as_ref()? {
            Leg::Tcp(tcp) => Some(tcp),
            Leg::Stp(_) => None,
        }
    }

    /// The STP connection with a side, if there is one.
    pub fn stp_connection(&self, side: Side) -> Option<&stp::Connection<PayloadLength>> {
        match self.legs[side as usize].as_ref()? {
            Leg::Tcp(_) => None,
            Leg::Stp(stp) => Some(stp),
        }
    }

    /// Returns true if a connection with a side exists or has existed.
    pub fn begun(&self, side: Side) -> bool {
        self.legs[side as usize].is_some()
    }

    /// Takes a packet from a side that uses TCP.
    pub fn handle_packet(&mut self, now: Time, side: Side, packet: &Packet) {
        let tcp = match &packet.transport {
            Transport::Tcp(tcp) => tcp,
            Transport::TooLarge(_) => {
                if let Some(Leg::Tcp(leg)) = &mut self.legs[side as usize] {
                    leg.handle_packet(now, packet);
                }
                return self.pump(now);
            }
            Transport::Icmp(_) | Transport::Udp(_) | Transport::Other(_) => return,
        };
        match &mut self.legs[side as usize] {
            Some(Leg::Tcp(leg)) => {
                let syn_ack = Flags::SYN | Flags::ACK;
                if side == Side::Server
                    && self.config.opening == ServerOpening::EndToEnd
                    && tcp.flags.has(syn_ack)
                {
                    self.answer.get_or_insert(*tcp);
                }
                leg.handle_packet(now, packet);
                self.heard(now, side);
            }
            None if side == Side::Client && self.first.is_none() && is_opening(tcp) => {
                self.open(now, First::Syn(*packet));
            }
            _ => {}
        }
        self.pump(now);
    }

    /// Takes a packet from a side that uses STP, with the ECN field of its network header.
    pub fn handle_stp(&mut self, now: Time, side: Side, packet: &StpPacket<PayloadLength>, field: Ecn) {
        match &mut self.legs[side as usize] {
            Some(Leg::Stp(leg)) => {
                leg.handle_arrival(now, packet, field);
                self.heard(now, side);
            }
            None if side == Side::Client && self.first.is_none() && packet.kind() & kind::BGN != 0 => {
                self.open(now, First::Begin(packet.clone(), field));
            }
            _ => {}
        }
        self.pump(now);
    }

    /// Records that a side that owed an answer has sent a packet.
    fn heard(&mut self, now: Time, side: Side) {
        if self.silent_since[side as usize].is_some() {
            self.silent_since[side as usize] = Some(now);
        }
    }

    /// Handles the timeout of [`Splice::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        for side in Side::BOTH {
            if let Some(leg) = &mut self.legs[side as usize] {
                leg.handle_timeout(now);
            }
            if self.gives_up_at(side).is_some_and(|at| at <= now) {
                self.broken(now, side);
            }
        }
        self.pump(now);
    }

    /// Time of the next timeout.
    pub fn poll_timeout(&self) -> Option<Time> {
        let legs = self.legs.iter().flatten().filter_map(Leg::poll_timeout);
        legs.chain(Side::BOTH.into_iter().filter_map(|side| self.gives_up_at(side))).min()
    }

    /// The next packet to send on a side that uses TCP, and the side; `None` if there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Side, Packet)> {
        for side in Side::BOTH {
            let Some(Leg::Tcp(leg)) = &mut self.legs[side as usize] else { continue };
            if let Some(packet) = leg.poll_transmit(now) {
                self.watch(now, side);
                return Some((side, packet));
            }
        }
        None
    }

    /// The next packet to send on a side that uses STP, the side, and the packet's fields of the network layer; `None` if there is none.
    pub fn poll_transmit_stp(
        &mut self,
        now: Time,
    ) -> Option<(Side, StpPacket<PayloadLength>, NetworkFields)> {
        for side in Side::BOTH {
            let Some(Leg::Stp(leg)) = &mut self.legs[side as usize] else { continue };
            if let Some(packet) = leg.poll_transmit(now) {
                let fields = leg.network_fields(&packet);
                self.watch(now, side);
                return Some((side, packet, fields));
            }
        }
        None
    }

    /// The next event; `None` if there is none.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Number of the client's bytes that wait for a decision of the owner; 0 unless [`Config::asks`].
    pub fn waiting(&self) -> u64 {
        if !self.config.asks {
            return 0;
        }
        self.stats.moved[Side::Client as usize] - self.forwarded - self.stats.consumed
    }

    /// Forwards up to `bytes` of the waiting bytes to the server, and opens a connection if there is none. Returns their number.
    pub fn forward(&mut self, now: Time, bytes: u64) -> u64 {
        let bytes = bytes.min(self.waiting());
        if bytes > 0 && !self.over {
            self.open_onwards();
            self.forwarded += bytes;
            self.write(Side::Server, bytes);
            self.pump(now);
        }
        bytes
    }

    /// Takes up to `bytes` of the waiting bytes, which the server will not see. Returns their number.
    pub fn consume(&mut self, now: Time, bytes: u64) -> u64 {
        let bytes = bytes.min(self.waiting());
        if let Some(leg) = &mut self.legs[Side::Client as usize] {
            leg.read_up_to(bytes);
        }
        self.stats.consumed += bytes;
        self.pump(now);
        bytes
    }

    /// Sends the owner's bytes to the client, after those that came from the server before.
    pub fn answer(&mut self, now: Time, bytes: u64) {
        if let Some(leg) = &mut self.legs[Side::Client as usize] {
            leg.write(bytes);
            self.answers.written(true, bytes);
            self.stats.answered += bytes;
        }
        self.pump(now);
    }

    /// Sends a FIN after the answers, if there is no connection to a server.
    pub fn finish_answers(&mut self, now: Time) {
        if let ([Some(client), None], true) = (&mut self.legs, self.config.asks) {
            client.shutdown();
        }
        self.pump(now);
    }

    /// Handles the client's SYN or BGN.
    fn open(&mut self, now: Time, first: First) {
        self.first = Some(first);
        if self.config.opening != ServerOpening::EndToEnd {
            self.begin_client(now, None);
        }
        if self.config.opening != ServerOpening::Data {
            self.open_onwards();
        }
    }

    /// Creates the client's leg and passes the client's first packet to it.
    fn begin_client(&mut self, now: Time, offer: Option<&TcpHeader>) {
        let Some(first) = self.first.clone() else { return };
        let mut leg = self.leg(Side::Client, offer);
        match (&mut leg, &first) {
            (Leg::Tcp(leg), First::Syn(syn)) => leg.handle_packet(now, syn),
            (Leg::Stp(leg), First::Begin(begin, field)) => leg.handle_arrival(now, begin, *field),
            // The packet is not of the side's protocol: it is not answered.
            _ => return,
        }
        self.legs[Side::Client as usize] = Some(leg);
    }

    fn open_onwards(&mut self) {
        if self.legs[Side::Server as usize].is_none() {
            let offer = match self.first {
                Some(First::Syn(Packet { transport: Transport::Tcp(syn), .. })) => Some(syn),
                Some(_) => None,
                None => return,
            };
            self.legs[Side::Server as usize] = Some(self.leg(Side::Server, offer.as_ref()));
        }
    }

    /// A new leg to `side`. `offer` is the SYN or SYN-ACK from the other side, whose numbers and options it takes over in an
    /// end-to-end opening.
    fn leg(&mut self, side: Side, offer: Option<&TcpHeader>) -> Leg {
        let mut protocol = self.config.sides[side as usize].clone();
        let mut initial = self.initial[side as usize];
        if let (Some(offer), ServerOpening::EndToEnd, Protocol::Tcp(tcp)) =
            (offer, self.config.opening, &mut protocol)
        {
            initial = offer.seq;
            offer_no_more(tcp, offer);
        }
        let (opens, mut addresses) = (side == Side::Server, self.addresses());
        if !opens {
            addresses.reverse();
        }
        let chance = self.chance[side as usize].take();
        let mut leg = match protocol {
            Protocol::Tcp(mut config) => {
                let [local, remote] = addresses;
                (config.window, config.window_max) = (self.config.buffer, 0);
                (config.send_buffer, config.send_buffer_max) = (u64::MAX, u64::MAX);
                let end = match opens {
                    true => Connection::connect(*config, local, remote, initial),
                    false => Connection::listen(*config, local, remote, initial),
                };
                Leg::Tcp(Box::new(match chance {
                    Some(chance) => end.with_chance(chance),
                    None => end,
                }))
            }
            Protocol::Stp(mut config) => {
                config.window = self.config.buffer;
                // STP listeners have a port of their own.
                addresses[if opens { 1 } else { 0 }].set_port(UDP_PORT);
                let ends = Ends {
                    local_port: addresses[0].port(),
                    remote_port: addresses[1].port(),
                    instance: (initial >> 16) as u16,
                    count: initial,
                };
                Leg::Stp(Box::new(match opens {
                    true => stp::Connection::connect(*config, ends, initial),
                    false => stp::Connection::listen(*config, ends, initial),
                }))
            }
        };
        leg.hold_fin(self.config.close == Close::EndToEnd);
        leg
    }

    /// Addresses of client and server: the splice has none of its own.
    fn addresses(&self) -> [SocketAddrV4; 2] {
        if let Some(addresses) = self.addresses {
            return addresses;
        }
        let ports = match &self.first {
            Some(First::Syn(Packet { ip, transport: Transport::Tcp(syn), .. })) => {
                return [
                    SocketAddrV4::new(ip.source, syn.source_port),
                    SocketAddrV4::new(ip.destination, syn.destination_port),
                ];
            }
            Some(First::Begin(begin, _)) => [begin.source_port, begin.destination_port],
            _ => unreachable!("a leg is made when there is a SYN or a BGN"),
        };
        ports.map(|port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))
    }

    /// Answers the client after the server has answered.
    fn answer_client(&mut self, now: Time) {
        let Some(answer) = self.answer else { return };
        if self.legs[Side::Client as usize].is_none() {
            self.begin_client(now, Some(&answer));
        }
    }

    /// Passes the events of each side to the other.
    fn pump(&mut self, now: Time) {
        for side in Side::BOTH {
            while let Some(event) = self.legs[side as usize].as_mut().and_then(Leg::poll_event) {
                self.take_event(now, side, event);
            }
        }
        for side in Side::BOTH {
            self.release(now, side);
        }
        for side in Side::BOTH {
            self.watch(now, side);
        }
        let done = |leg: &Leg| leg.over() && leg.fin_acknowledged();
        let legs = self.legs.iter().flatten();
        let whole = legs.clone().count() == 2 || self.config.asks && self.legs[0].is_some();
        if !self.over && whole && legs.clone().all(done) {
            self.over = true;
            self.events.push_back(Event::Closed);
        }
    }

    fn take_event(&mut self, now: Time, side: Side, event: tcp::Event) {
        match event {
            tcp::Event::Connected => {
                self.events.push_back(Event::Opened(side));
                if side == Side::Server {
                    self.answer_client(now);
                }
            }
            tcp::Event::Received(bytes) => {
                if side == Side::Client && !self.config.asks {
                    self.open_onwards();
                }
                self.stats.moved[side as usize] += bytes;
                if !(self.config.asks && side == Side::Client) {
                    self.write(side.other(), bytes);
                }
                match self.events.back_mut() {
                    Some(Event::Moved { from, bytes: n }) if *from == side => *n += bytes,
                    _ => self.events.push_back(Event::Moved { from: side, bytes }),
                }
            }
            tcp::Event::PeerFinished => self.finish(side),
            tcp::Event::Reset => self.broken(now, side),
            // A peer that forgot the connection before it acknowledged everything may not have received everything.
            tcp::Event::Closed => {
                if self.legs[side as usize].as_ref().is_some_and(|leg| !leg.fin_acknowledged()) {
                    self.broken(now, side);
                }
            }
            tcp::Event::AllAcknowledged => {}
        }
    }

    /// Handles a FIN of `side` in order: a FIN is queued after its data on the other side.
    fn finish(&mut self, side: Side) {
        // Data without a decision come before the FIN.
        let undecided = side == Side::Client && self.waiting() > 0;
        if self.over || undecided || std::mem::replace(&mut self.finished[side as usize], true) {
            return;
        }
        self.events.push_back(Event::Finished(side));
        if side == Side::Client && !self.config.asks {
            self.open_onwards();
        }
        if let Some(other) = &mut self.legs[side.other() as usize] {
            other.shutdown();
        }
    }

    /// Frees the bytes that the other side has acknowledged, and lets the FIN through.
    fn release(&mut self, now: Time, side: Side) {
        let other = self.legs[side.other() as usize].as_ref();
        let acknowledged = other.map_or(0, Leg::acknowledged);
        // All requests of the client were answered here, so there is no other side to tell.
        let done = other.map_or(self.config.asks, Leg::fin_acknowledged);
        let fresh = acknowledged - self.acknowledged[side as usize];
        self.acknowledged[side as usize] = acknowledged;
        if fresh > 0 {
            self.events.push_back(Event::Released { from: side, bytes: fresh });
        }
        let own = if side == Side::Server { self.answers.acknowledged(fresh) } else { 0 };
        let Some(leg) = &mut self.legs[side as usize] else { return };
        let held_max = &mut self.stats.held_max[side as usize];
        *held_max = leg.held().max(*held_max);
        self.stats.released[side as usize] += leg.read_up_to(fresh - own);
        if self.over || !leg.fin_waits() {
            return;
        }
        if done && self.finished[side as usize] {
            leg.release_fin(now);
            while let Some(event) = self.legs[side as usize].as_mut().and_then(Leg::poll_event) {
                self.take_event(now, side, event);
            }
        } else {
            self.finish(side);
        }
    }

    /// Handles the failure of a side: the other side is reset, and nothing is closed cleanly.
    fn broken(&mut self, now: Time, side: Side) {
        if self.over {
            return;
        }
        self.over = true;
        // A client whose server never answered is still owed an answer.
        if self.legs[Side::Client as usize].is_none() {
            self.begin_client(now, None);
        }
        for leg in self.legs.iter_mut().flatten() {
            leg.reset();
        }
        self.events.push_back(Event::Broken(side));
    }

    fn write(&mut self, side: Side, bytes: u64) {
        if let Some(leg) = &mut self.legs[side as usize] {
            leg.write(bytes);
            if self.config.asks && side == Side::Client {
                self.answers.written(false, bytes);
            }
        }
    }

    /// Records the time since which a side has owed an answer.
    fn watch(&mut self, now: Time, side: Side) {
        let waits = self.legs[side as usize].as_ref().is_some_and(Leg::waits_for_peer);
        let since = &mut self.silent_since[side as usize];
        *since = if waits { Some(since.unwrap_or(now)) } else { None };
    }

    fn gives_up_at(&self, side: Side) -> Option<Time> {
        self.silent_since[side as usize].map(|since| since + self.config.give_up)
    }
}

fn is_opening(tcp: &TcpHeader) -> bool {
    tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST)
}

/// Removes the options that the far end has not offered, so that both ends agree as if nothing were between them.
fn offer_no_more(config: &mut tcp::Config, offer: &TcpHeader) {
    config.mss = config.mss.min(offer.mss.map_or(536, u32::from)).max(1);
    config.timestamps &= offer.timestamps.is_some();
    config.ecn &= offer.flags.has(Flags::ECE);
    if !offer.sack_permitted && config.sack() {
        config.variant = tcp::Variant::NewReno;
        config.recovery = Some(LossRecovery::NewReno);
    }
}
