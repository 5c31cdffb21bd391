//! Establishment of a connection: the three-way handshake, T/TCP and TCP Fast Open.
//!
//! Follows RFC 9293 §3.5; RFC 1644 (T/TCP: data and FIN on SYNs, connection counts, the test of TAO); RFC 7413 (Fast Open).
//! Differs: data on a SYN that are not accepted are sent again and not kept; a repeated SYN carries none.
//! Leaves out T/TCP's half-synchronised states by name; its short TIME-WAIT is in `time_wait`.

use super::config::Open;
use super::connection::Connection;
use super::events::Event;
use super::flight::NextSegment;
use super::memory::{Memory, cookie};
use super::state::State;
use super::timestamps::clock;
use skyhop_units::Time;
use skyhop_wire::{Flags, Opening, Packet, TcpHeader, Timestamps, expand, wire_number};

/// State of the handshake, and for T/TCP the numbers in each segment.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    pub memory: Memory,
    /// This connection's number, and the peer's once each segment carries it.
    count: u32,
    peer_count: Option<u32>,
    /// Time at which the first SYN was sent or received.
    pub opened_at: Option<Time>,
    /// The peer's number, until the handshake confirms it.
    unconfirmed: Option<u32>,
    /// A cookie to be granted with the acknowledgment of the SYN.
    grant: Option<u64>,
}

impl Beginning {
    pub fn new(memory: Memory) -> Self {
        let count = memory.count.wrapping_add(1);
        Self { memory: Memory { count, ..memory }, count, ..Self::default() }
    }

    /// The option in each segment after the SYN.
    pub fn in_each_segment(&self) -> Option<Opening> {
        self.peer_count.map(|_| Opening::Count(self.count))
    }

    /// Returns true if `count` belongs to a later connection of the peer.
    pub fn follows(&self, count: u32) -> bool {
        self.peer_count.is_some_and(|last| count.wrapping_sub(last) as i32 > 0)
    }

    /// RFC 1644 §3.4: returns true if a segment belongs to this connection and not to an earlier one between the same ports.
    pub fn belongs(&self, tcp: &TcpHeader) -> bool {
        let exempt = tcp.flags.has(Flags::SYN) || tcp.flags.has(Flags::RST);
        exempt || self.peer_count.is_none_or(|count| tcp.opening == Some(Opening::Count(count)))
    }
}

impl Connection {
    pub(super) fn handle_in_listen(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        if tcp.flags.has(Flags::RST) || !tcp.flags.has(Flags::SYN) || tcp.flags.has(Flags::ACK) {
            return;
        }
        self.beginning.opened_at = Some(now);
        let accepted = self.take_opening(tcp);
        self.take_syn(tcp);
        self.receiver.acks.now = false;
        self.sender.clock.set_window(0, tcp.window as u64);
        self.state.syn_received();
        if accepted {
            // This end's own SYN is sent with the next packet; from here on all is as after a handshake.
            self.connected();
            self.before_data(now, tcp, payload);
            self.take_data(now, 1, payload, tcp.flags.has(Flags::FIN));
        }
    }

    /// Handles a SYN at a server that supports opening without a handshake. Returns true if the SYN allows that.
    fn take_opening(&mut self, tcp: &TcpHeader) -> bool {
        let client = *self.sockets.remote.ip();
        let beginning = &mut self.beginning;
        match (self.sender.clock.config.open, tcp.opening) {
            (Open::Transactions { .. }, Some(Opening::Count(count))) => {
                let accepted = beginning.memory.accepts(count);
                beginning.peer_count = Some(count);
                beginning.unconfirmed = Some(count);
                accepted
            }
            (Open::Transactions { .. }, Some(Opening::NewCount(count))) => {
                beginning.memory.peer_count = None;
                beginning.peer_count = Some(count);
                beginning.unconfirmed = Some(count);
                false
            }
            (Open::FastOpen { .. }, Some(Opening::Cookie(shown))) => {
                let valid = shown == cookie(client);
                beginning.grant = (!valid).then(|| cookie(client));
                valid
            }
            (Open::FastOpen { .. }, Some(Opening::CookieRequest)) => {
                beginning.grant = Some(cookie(client));
                false
            }
            _ => false,
        }
    }

    pub(super) fn handle_in_syn_sent(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        let snd_max = self.sender.clock.flight.snd_max;
        let ack = expand(self.iss, tcp.ack, 1)
            .filter(|ack| tcp.flags.has(Flags::ACK) && (1..=snd_max).contains(ack));
        if tcp.flags.has(Flags::RST) {
            if ack.is_some() {
                self.abort();
            }
            return;
        }
        let Some(ack) = ack.filter(|_| tcp.flags.has(Flags::SYN)) else { return };
        let beginning = &mut self.beginning;
        match (self.sender.clock.config.open, tcp.opening) {
            (Open::Transactions { .. }, Some(Opening::EchoedCount { count, echo })) => {
                if echo != beginning.count {
                    // The answer to the SYN of another connection.
                    return;
                }
                beginning.peer_count = Some(count);
                beginning.memory.count_known = true;
                beginning.memory.peer_count = Some(count);
            }
            (Open::FastOpen { .. }, Some(Opening::Cookie(granted))) => {
                beginning.memory.cookie = Some(granted)
            }
            _ => {}
        }
        self.take_syn(tcp);
        self.receiver.acks.now = true;
        let sample = self.timestamps.sample(now, tcp.timestamps);
        self.sender.clock.established(now, sample);
        self.sender.clock.set_window(ack, tcp.window as u64);
        self.connected();
        if snd_max > 1 {
            // The SYN had data. Those not accepted are sent again at once, in segments that fit the peer's limit.
            if ack > 1 {
                self.sender.begin_ack();
                self.sender.handle_ack(now, ack, None, false);
                self.after_ack(now);
            }
            if ack < snd_max {
                self.sender.take_back();
            }
        }
        self.before_data(now, tcp, payload);
        self.take_data(now, 1, payload, tcp.flags.has(Flags::FIN));
    }

    /// Handles the options of the peer's SYN.
    fn take_syn(&mut self, tcp: &TcpHeader) {
        self.receiver.start(tcp.seq);
        self.timestamps.on &= tcp.timestamps.is_some();
        self.agreed.meet(tcp);
        if !self.agreed.sack {
            self.sender.clock.without_sack();
        }
        self.sender.clock.config.timestamps = self.timestamps.on;
        let announced = tcp.mss.map_or(536, u32::from);
        self.beginning.memory.mss = Some(announced);
        // RFC 6691: the announced size does not count options, so they reduce the payload.
        let header = TcpHeader {
            timestamps: self.timestamps.on.then(Timestamps::default),
            opening: self.beginning.in_each_segment(),
            ..TcpHeader::default()
        };
        let most = self.sender.clock.config.mss.min(announced);
        self.sender.settle_size(most, header.options_len());
        if let Some(ts) = tcp.timestamps {
            self.timestamps.recent = ts.value;
        }
    }

    pub(super) fn connected(&mut self) {
        self.state.established(self.sender.buffer.fin_queued());
        self.events.add(Event::Connected);
        let beginning = &mut self.beginning;
        if let Some(count) = beginning.unconfirmed.take() {
            beginning.memory.peer_count = Some(count);
        }
    }

    /// The SYN, or its answer, if it is due.
    pub(super) fn poll_syn(&mut self, now: Time) -> Option<Packet> {
        if self.sender.clock.flight.snd_nxt > 0 {
            return None;
        }
        let first = self.sender.clock.flight.snd_max == 0;
        self.beginning.opened_at.get_or_insert(now);
        let answering = self.state() != State::SynSent;
        self.sender.sent_syn(now);
        let config = &self.sender.clock.config;
        let mut header = TcpHeader {
            seq: self.iss,
            flags: Flags::SYN,
            // RFC 7323 §2.2: the window of a SYN is never scaled.
            window: config.window.min(65_535) as u16,
            mss: Some(config.mss.min(65_535) as u16),
            window_scale: self.agreed.announced_scale(answering),
            sack_permitted: self.agreed.sack,
            timestamps: self.timestamps.on.then(|| Timestamps { value: clock(now), echo: 0 }),
            ..self.sockets.header()
        };
        header.flags |= self.agreed.ecn_flags(answering);
        if answering {
            header.flags |= Flags::ACK;
            header.ack = wire_number(self.receiver.irs, self.receiver.rcv_nxt.max(1));
            if let Some(ts) = &mut header.timestamps {
                ts.echo = self.timestamps.recent;
            }
            self.timestamps.last_ack_sent = self.receiver.rcv_nxt.max(1);
            header.window = self.receiver.announce(0);
            self.receiver.acks.acknowledged(now, false);
        }
        let (opening, with_data) = self.opening(answering, first);
        header.opening = opening;
        let NextSegment { len, fin, .. } =
            if with_data { self.data_on_syn(now, &header) } else { NextSegment::NOTHING };
        if fin {
            header.flags |= Flags::FIN;
        }
        Some(self.sockets.packet(header, len))
    }

    /// The option of a SYN, and true if data may be sent with it.
    fn opening(&self, answering: bool, first: bool) -> (Option<Opening>, bool) {
        let Beginning { memory, count, peer_count, grant, .. } = &self.beginning;
        let count = *count;
        match (self.sender.clock.config.open, answering) {
            (Open::Handshake, _) => (None, false),
            (Open::Transactions { .. }, false) if memory.count_known => (Some(Opening::Count(count)), first),
            (Open::Transactions { .. }, false) => (Some(Opening::NewCount(count)), false),
            (Open::Transactions { .. }, true) => {
                let early = first && self.state() != State::SynReceived;
                (peer_count.map(|echo| Opening::EchoedCount { count, echo }), early)
            }
            // RFC 7413 §4.2.1: a SYN that is repeated is a plain one.
            (Open::FastOpen { .. }, false) if !first => (None, false),
            (Open::FastOpen { .. }, false) => match memory.cookie {
                Some(cookie) => (Some(Opening::Cookie(cookie)), true),
                None => (Some(Opening::CookieRequest), false),
            },
            (Open::FastOpen { .. }, true) => (grant.map(Opening::Cookie), false),
        }
    }

    /// The part of the data, and of the FIN, that fits a SYN.
    fn data_on_syn(&mut self, now: Time, header: &TcpHeader) -> NextSegment {
        let mss = self.beginning.memory.mss.unwrap_or(536).min(self.sender.clock.config.mss);
        let mss =
            mss.min(self.sender.clock.path.size_of_syn().saturating_sub(self.sender.clock.config.headers()));
        let fin = matches!(self.sender.clock.config.open, Open::Transactions { .. });
        self.sender.sent_with_syn(now, mss.saturating_sub(header.options_len()), fin)
    }
}
