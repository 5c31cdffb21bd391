//! Two connections and what goes from one to the other.
//!
//! Follows HT 4.3.1: early acknowledgment, a buffer for what the far end has not got, the FIN end to end.
//! Differs: bytes stay in the receive window of the side they came from until the other side has acknowledged them, so that
//! one bound holds for everything the splice answers for, and back-pressure is the window itself.
//! Leaves out payload; [`Event::Moved`] and [`Event::Released`] tell its owner what to append and what to drop.

use crate::answers::Answers;
use crate::config::{Close, Config, Opening, Protocol, Side};
use crate::leg::Leg;
use skyhop_chance::Stream;
use skyhop_transport::stp::{self, Ends, Length, Packet as StpPacket};
use skyhop_transport::tcp::{self, Connection, LossRecovery};
use skyhop_units::Time;
use skyhop_wire::stp::{UDP_PORT, kind};
use skyhop_wire::{Flags, Packet, TcpHeader, Transport};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

/// What whoever drives a splice learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake on this side is done.
    Opened(Side),
    /// So many bytes more have come into order from this side and wait to be sent by the other: keep them.
    Moved {
        /// Whose bytes.
        from: Side,
        /// How many.
        bytes: u64,
    },
    /// The other side has acknowledged so many bytes more, the oldest of those kept for it: forget them. To the client's
    /// side that counts answers of the splice's owner as well.
    Released {
        /// Whose bytes, or in whose place.
        from: Side,
        /// How many.
        bytes: u64,
    },
    /// This side has sent its FIN behind all that it had, and all that waited for a word is decided on.
    Finished(Side),
    /// Both directions are closed, and each end knows that the other has all.
    Closed,
    /// This side refused, broke off or fell silent; the other side has been reset.
    Broken(Side),
}

/// What a splice has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes that came into order from the client's side and from the server's.
    pub moved: [u64; 2],
    /// Of those, what the other side has acknowledged.
    pub released: [u64; 2],
    /// Of the client's, what was taken out and not handed on.
    pub consumed: u64,
    /// Bytes that the splice's owner has answered with.
    pub answered: u64,
    /// The most bytes held at once for each direction.
    pub held_max: [u64; 2],
}

/// What a client opens with.
#[derive(Debug, Clone)]
enum First {
    Syn(Packet),
    /// A BGN.
    Begin(StpPacket<Length>),
}

/// One connection, split in two.
#[derive(Debug)]
pub struct Splice {
    config: Config,
    initial: [u32; 2],
    chance: [Option<Stream>; 2],
    legs: [Option<Leg>; 2],
    /// What the client opened with.
    first: Option<First>,
    /// The client's address and the server's, if they were told; else they are those of the client's SYN.
    addresses: Option<[SocketAddrV4; 2]>,
    /// The server's numbers and options, if they are to be the client's leg's.
    answer: Option<TcpHeader>,
    /// Whether the FIN of this side has been handed to the other.
    finished: [bool; 2],
    /// Since when a side has owed an answer without a word.
    silent_since: [Option<Time>; 2],
    /// What the other side had acknowledged of this one's, when it was last looked at.
    acknowledged: [u64; 2],
    over: bool,
    answers: Answers,
    /// Bytes handed on to the server, if the client's wait for a word.
    forwarded: u64,
    stats: Stats,
    events: VecDeque<Event>,
}

impl Splice {
    /// A splice that waits for a SYN. `initial` are the initial sequence numbers with the client's side and the server's; a
    /// splice whose opening is end to end has those of the ends instead.
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

    /// Gives each side a stream for what is random in it.
    pub fn with_chance(mut self, chance: [Stream; 2]) -> Self {
        self.chance = chance.map(Some);
        self
    }

    /// Tells it the client's address and the server's, which the network layer knows and an STP packet does not say. A splice
    /// whose client speaks STP needs them.
    pub fn with_addresses(mut self, addresses: [SocketAddrV4; 2]) -> Self {
        self.addresses = Some(addresses);
        self
    }

    /// Bytes held at present for the direction that begins at `from`: arrived there, in order or not, and not acknowledged
    /// by the other side. Never more than the buffer.
    pub fn held_from(&self, from: Side) -> u64 {
        self.legs[from as usize].as_ref().map_or(0, Leg::held)
    }

    /// Bytes held at present, both directions.
    pub fn held(&self) -> u64 {
        self.held_from(Side::Client) + self.held_from(Side::Server)
    }

    /// What has been counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Whether nothing more will come of it.
    pub fn over(&self) -> bool {
        self.over && self.legs.iter().flatten().all(Leg::over)
    }

    /// The TCP connection with a side, once there is one.
    pub fn connection(&self, side: Side) -> Option<&Connection> {
        match self.legs[side as usize].as_ref()? {
            Leg::Tcp(tcp) => Some(tcp),
            Leg::Stp(_) => None,
        }
    }

    /// The STP connection with a side, once there is one.
    pub fn stp_connection(&self, side: Side) -> Option<&stp::Connection<Length>> {
        match self.legs[side as usize].as_ref()? {
            Leg::Tcp(_) => None,
            Leg::Stp(stp) => Some(stp),
        }
    }

    /// Whether there is a connection with a side, or has been.
    pub fn begun(&self, side: Side) -> bool {
        self.legs[side as usize].is_some()
    }

    /// A packet from a side that speaks TCP.
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
                if side == Side::Server && self.config.opening == Opening::EndToEnd && tcp.flags.has(syn_ack)
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

    /// A packet from a side that speaks STP.
    pub fn handle_stp(&mut self, now: Time, side: Side, packet: &StpPacket<Length>) {
        match &mut self.legs[side as usize] {
            Some(Leg::Stp(leg)) => {
                leg.handle_packet(now, packet);
                self.heard(now, side);
            }
            None if side == Side::Client && self.first.is_none() && packet.kind() & kind::BGN != 0 => {
                self.open(now, First::Begin(packet.clone()));
            }
            _ => {}
        }
        self.pump(now);
    }

    /// A side that owed an answer has said something.
    fn heard(&mut self, now: Time, side: Side) {
        if self.silent_since[side as usize].is_some() {
            self.silent_since[side as usize] = Some(now);
        }
    }

    /// The clock has reached [`Splice::poll_timeout`].
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

    /// When to call [`Splice::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Time> {
        let legs = self.legs.iter().flatten().filter_map(Leg::poll_timeout);
        legs.chain(Side::BOTH.into_iter().filter_map(|side| self.gives_up_at(side))).min()
    }

    /// The next packet to send, and to which of the sides that speak TCP, until there is none.
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

    /// The next packet to send, and to which of the sides that speak STP, until there is none.
    pub fn poll_transmit_stp(&mut self, now: Time) -> Option<(Side, StpPacket<Length>)> {
        for side in Side::BOTH {
            let Some(Leg::Stp(leg)) = &mut self.legs[side as usize] else { continue };
            if let Some(packet) = leg.poll_transmit(now) {
                self.watch(now, side);
                return Some((side, packet));
            }
        }
        None
    }

    /// What has happened, until there is nothing.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Bytes from the client for which nobody has said what becomes of them, if the splice asks.
    pub fn waiting(&self) -> u64 {
        if !self.config.asks {
            return 0;
        }
        self.stats.moved[Side::Client as usize] - self.forwarded - self.stats.consumed
    }

    /// Hands so many of the bytes that wait on to the server, to which a connection is opened if there is none. Returns how
    /// many that was.
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

    /// Takes so many of the bytes that wait out: the server will not see them. Returns how many that was.
    pub fn consume(&mut self, now: Time, bytes: u64) -> u64 {
        let bytes = bytes.min(self.waiting());
        if let Some(leg) = &mut self.legs[Side::Client as usize] {
            leg.read_up_to(bytes);
        }
        self.stats.consumed += bytes;
        self.pump(now);
        bytes
    }

    /// Sends bytes of the owner's to the client, behind those that came from the server before.
    pub fn answer(&mut self, now: Time, bytes: u64) {
        if let Some(leg) = &mut self.legs[Side::Client as usize] {
            leg.write(bytes);
            self.answers.written(true, bytes);
            self.stats.answered += bytes;
        }
        self.pump(now);
    }

    /// Sends a FIN behind the answers, if there is no server that will.
    pub fn finish_answers(&mut self, now: Time) {
        if let ([Some(client), None], true) = (&mut self.legs, self.config.asks) {
            client.shutdown();
        }
        self.pump(now);
    }

    /// The client's SYN or BGN.
    fn open(&mut self, now: Time, first: First) {
        self.first = Some(first);
        if self.config.opening != Opening::EndToEnd {
            self.begin_client(now, None);
        }
        if self.config.opening != Opening::Data {
            self.open_onwards();
        }
    }

    /// Makes the client's leg and gives it what the client opened with.
    fn begin_client(&mut self, now: Time, offer: Option<&TcpHeader>) {
        let Some(first) = self.first.clone() else { return };
        let mut leg = self.leg(Side::Client, offer);
        match (&mut leg, &first) {
            (Leg::Tcp(leg), First::Syn(syn)) => leg.handle_packet(now, syn),
            (Leg::Stp(leg), First::Begin(begin)) => leg.handle_packet(now, begin),
            // It speaks something else than what is spoken on its side: nobody answers.
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

    /// The leg to `side`. `offer` is the SYN or its answer from the other side, whose numbers and options it takes over if
    /// the opening is end to end.
    fn leg(&mut self, side: Side, offer: Option<&TcpHeader>) -> Leg {
        let mut protocol = self.config.sides[side as usize].clone();
        let mut initial = self.initial[side as usize];
        if let (Some(offer), Opening::EndToEnd, Protocol::Tcp(tcp)) =
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
                // STP's listeners have a port of their own.
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

    /// The client's address and the server's: the splice has none of its own.
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
            Some(First::Begin(begin)) => [begin.source_port, begin.destination_port],
            _ => unreachable!("a leg is made when there is a SYN or a BGN"),
        };
        ports.map(|port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))
    }

    /// The server has answered, and so the client can be.
    fn answer_client(&mut self, now: Time) {
        let Some(answer) = self.answer else { return };
        if self.legs[Side::Client as usize].is_none() {
            self.begin_client(now, Some(&answer));
        }
    }

    /// Carries what has happened on one side over to the other.
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
            // A peer that forgot the connection before it acknowledged all has not got all, as far as anybody knows.
            tcp::Event::Closed => {
                if self.legs[side as usize].as_ref().is_some_and(|leg| !leg.fin_acknowledged()) {
                    self.broken(now, side);
                }
            }
            tcp::Event::AllAcknowledged => {}
        }
    }

    /// The FIN of `side` is in order: one goes behind its data on the other side.
    fn finish(&mut self, side: Side) {
        // What nobody has decided on yet comes before the end.
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

    /// Makes room for what the other side has acknowledged, and lets the FIN through.
    fn release(&mut self, now: Time, side: Side) {
        let other = self.legs[side.other() as usize].as_ref();
        let acknowledged = other.map_or(0, Leg::acknowledged);
        // A client whose requests were all answered here has nobody else to tell.
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

    /// A side is gone: the other is told, and nothing is closed cleanly.
    fn broken(&mut self, now: Time, side: Side) {
        if self.over {
            return;
        }
        self.over = true;
        // A client that the server never answered is owed an answer all the same.
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

    /// Notes since when a side has owed an answer.
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

/// Leaves out what the far end has not offered, so that both ends agree as if nobody were between them.
fn offer_no_more(config: &mut tcp::Config, offer: &TcpHeader) {
    config.mss = config.mss.min(offer.mss.map_or(536, u32::from)).max(1);
    config.timestamps &= offer.timestamps.is_some();
    config.ecn &= offer.flags.has(Flags::ECE);
    if !offer.sack_permitted && config.sack() {
        config.variant = tcp::Variant::NewReno;
        config.recovery = Some(LossRecovery::NewReno);
    }
}
