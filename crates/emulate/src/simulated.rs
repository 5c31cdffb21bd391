//! A simulated host at the end of a flow whose other end is a program: skyhop's own TCP with bytes, ports with services, and ping
//! replies.
//!
//! Follows RFC 9293 §3.10.7.1 (a reset for a closed port) and RFC 792 and RFC 4443 (echo). The end that opens connections in the
//! simulator opens them here. Differs from a host of the simulator: the peer's packets are bytes, with checksums that may be wrong.
//! Leaves out UDP, port-unreachable messages, and IPv6 addresses outside 2001:db8::/96.

use crate::answers::{Responder, ServerFetch};
use crate::plan::{EmulatedHost, HalfFlow};
use skyhop_chance::{Seed, Stream};
use skyhop_network::BuildError;
use skyhop_results::{Cause, OneEndResult};
use skyhop_scenario::{Files, Scenario, Traffic, Transport as Transmission};
use skyhop_sim::{Exchanges, tcp_config};
use skyhop_transport::tcp::{Carry, Config, Event, RttSamples, State};
use skyhop_units::{Span, Time};
use skyhop_wire::{
    Echo, Ecn, Flags, Ip, Packet, TcpHeader, Transport, Version, emit_with, parse_with_payload,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Largest number of simultaneous connections.
const MOST: usize = 10_000;
/// Time from a refused connection to the next attempt, since programs take a moment to listen.
const AGAIN: Span = Span::from_millis(200);
/// Limits of the bytes that an application may have written and the peer not acknowledged.
const WRITTEN: std::ops::RangeInclusive<u64> = 4 << 20..=256 << 20;

/// Key of a connection: true for IPv6, the peer's socket, and the own port.
type ConnectionKey = (bool, SocketAddrV4, u16);

/// A connection and its application.
#[derive(Debug)]
struct Talk {
    carry: Carry,
    answer: Responder,
    /// True if the time of its sender is counted by limiting cause.
    sends: bool,
    /// Bytes received and bytes acknowledged.
    moved: u64,
    connected: bool,
    finished: bool,
}

/// The client of a simulated host.
#[derive(Debug)]
pub enum Client {
    /// Sends parts of a transfer, each over its own connection.
    Push {
        /// Bytes of each part that has not been started.
        parts: VecDeque<u64>,
        /// Number of parts that have not arrived.
        left: u32,
    },
    /// Sends one request after another.
    Ask {
        /// Number of exchanges left.
        left: u64,
        /// Start of the present exchange.
        began: Option<Time>,
    },
}

/// Parameters of a simulated host.
pub struct Made {
    /// Its own address and the peer's.
    pub ends: [Ipv4Addr; 2],
    /// The peer's name.
    pub peer: String,
    /// Configuration of its TCP.
    pub config: Config,
    /// Largest size of its packets, bytes.
    pub mtu: u32,
    /// Random stream of initial sequence numbers.
    pub chance: Stream,
    /// Number of bytes sent to clients of port 19.
    pub source: u64,
    /// Sizes and times of requests, if the flow has any.
    pub exchanges: Option<Exchanges>,
    /// Its client, and the client's start.
    pub client: Option<(Client, Time)>,
}

/// A simulated host.
pub struct SimulatedHost {
    made: Made,
    talks: BTreeMap<ConnectionKey, Talk>,
    /// Packets that belong to no connection.
    out: VecDeque<Vec<u8>>,
    /// Time of its client's next action.
    due: Option<Time>,
    next_port: u16,
    counted: ConnectionCounts,
}

/// Counters of its connections.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionCounts {
    connections: u64,
    delivered: [u64; 2],
    segments: u64,
    repeated: u64,
    timeouts: u64,
    rtt: RttSamples,
    limits: Option<[Span; Cause::COUNT]>,
    began: Option<Time>,
    last: Option<Time>,
    completed: Option<Time>,
    exchanges: [u64; 2],
    took: Span,
}

impl ConnectionCounts {
    fn add(&mut self, talk: &Talk, now: Time) {
        let machine = talk.carry.machine();
        let stats = machine.stats();
        self.delivered[0] += machine.delivered();
        self.delivered[1] += machine.acknowledged();
        self.segments += stats.segments_sent;
        self.repeated += stats.segments_retransmitted;
        self.timeouts += stats.timeouts;
        self.rtt.merge(stats.rtt);
        if talk.sends && talk.connected {
            let spent = machine.limits().spent(now);
            let all = self.limits.get_or_insert([Span::ZERO; Cause::COUNT]);
            all.iter_mut().zip(spent).for_each(|(sum, one)| *sum += one);
        }
    }
}

/// The simulated end of a flow, with packets of at most `mtu` bytes.
///
/// # Errors
///
/// A file that does not hold a distribution.
pub fn host(
    half: &HalfFlow,
    peer: &EmulatedHost,
    (scenario, files, seed): (&Scenario, &Files, u64),
    mtu: u32,
) -> Result<SimulatedHost, BuildError> {
    let flow = &scenario.flows[half.flow];
    let keys = match &flow.transport {
        Transmission::Tcp(keys) => (**keys).clone(),
        _ => {
            return Err(BuildError::new(
                &format!("flows.{}.transport", half.flow),
                "a simulated end speaks TCP",
            ));
        }
    };
    let name = scenario.flow_name(half.flow);
    let end = if half.to { "server" } else { "client" };
    let exchanges = match &flow.traffic {
        Traffic::Bulk { .. } => None,
        _ => Some(Exchanges::of(scenario, files, seed, half.flow)?),
    };
    let client = (!half.to).then(|| match (&flow.traffic, &exchanges) {
        (Traffic::Bulk { size, connections }, _) => {
            let count = u64::from((*connections).max(1));
            let part =
                |i| size.map_or(u64::MAX, |size| size.get() / count + u64::from(i < size.get() % count));
            Client::Push { parts: (0..count).map(part).collect(), left: *connections }
        }
        (_, exchanges) => {
            let count = exchanges.as_ref().and_then(Exchanges::count);
            Client::Ask { left: count.unwrap_or(u64::MAX), began: None }
        }
    });
    let source = match &flow.traffic {
        Traffic::Bulk { size: Some(size), .. } => size.get(),
        _ => u64::MAX,
    };
    Ok(SimulatedHost::new(Made {
        ends: [half.simulated.v4, peer.v4],
        peer: peer.name.clone(),
        config: tcp_config(&keys, flow.ip),
        mtu,
        chance: Seed(seed).stream(&format!("flow/{name}/{end}/initial-sequence")),
        source,
        exchanges,
        client: client.map(|client| (client, flow.start)),
    }))
}

impl SimulatedHost {
    /// A host without connections.
    pub fn new(made: Made) -> Self {
        let due = made.client.as_ref().map(|(_, start)| *start);
        let (talks, out) = (BTreeMap::new(), VecDeque::new());
        Self { made, talks, out, due, next_port: 49_152, counted: ConnectionCounts::default() }
    }

    /// Handles a packet, as bytes.
    pub fn handle_bytes(&mut self, now: Time, bytes: &[u8]) {
        // Anything but a whole packet is dropped, as by any host.
        let Ok((packet, payload)) = parse_with_payload(bytes) else { return };
        if packet.ip.destination != self.made.ends[0] {
            return;
        }
        match &packet.transport {
            Transport::Tcp(tcp) => self.segment(now, &packet, tcp, payload),
            Transport::Icmp(echo) if !echo.reply => {
                let transport = Transport::Icmp(Echo { reply: true, ..*echo });
                let mut answer = Vec::new();
                emit_with(
                    &Packet { ip: back(&packet.ip), transport, ..packet },
                    payload,
                    usize::MAX,
                    &mut answer,
                );
                self.out.push_back(answer);
            }
            _ => {}
        }
    }

    /// A router's message about a packet of this host.
    pub fn handle_message(&mut self, now: Time, message: &Packet) {
        let Transport::TooLarge(about) = &message.transport else { return };
        let Some((own, theirs, _)) = about.segment() else { return };
        let key = (is_v6(about.ip.version), SocketAddrV4::new(about.ip.destination, theirs), own);
        if let Some(talk) = self.talks.get_mut(&key) {
            talk.carry.handle_packet(now, message, &[]);
            self.step(now, key);
        }
    }

    fn segment(&mut self, now: Time, packet: &Packet, tcp: &TcpHeader, payload: &[u8]) {
        let remote = SocketAddrV4::new(packet.ip.source, tcp.source_port);
        let key = (is_v6(packet.ip.version), remote, tcp.destination_port);
        let opens = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST);
        // RFC 6191: a connection in TIME-WAIT is replaced by its next one.
        if opens && self.talks.get(&key).is_some_and(|talk| over(&talk.carry)) {
            self.forget(now, key);
        }
        if opens
            && !self.talks.contains_key(&key)
            && self.talks.len() < MOST
            && let Some(answer) = Responder::at(tcp.destination_port, self.made.source)
            && let Some(carry) =
                Carry::accept(self.config(packet.ip.version), packet, self.made.chance.bits() as u32)
        {
            self.open(now, key, carry, answer);
        }
        match self.talks.get_mut(&key) {
            Some(talk) => {
                talk.carry.handle_packet(now, packet, payload);
                self.step(now, key);
            }
            None if tcp.flags.has(Flags::RST) => {}
            None => self.out.push_back(reset(packet, tcp)),
        }
    }

    fn config(&self, version: Version) -> Config {
        let Made { config, mtu, .. } = &self.made;
        let mss = config.mss.min(mtu.saturating_sub(version.header_len() + 20).max(1));
        Config { ip: version, mss, link_mtu: Some(*mtu), ..config.clone() }
    }

    fn open(&mut self, now: Time, key: ConnectionKey, carry: Carry, answer: Responder) {
        let buffer = self.made.config.send_buffer_max.saturating_mul(2);
        let mut carry = carry.with_capacity(buffer.clamp(*WRITTEN.start(), *WRITTEN.end()) as usize);
        let sends = answer.sends();
        if sends {
            carry.count_limits(now);
        }
        self.counted.began.get_or_insert(now);
        self.talks.insert(key, Talk { carry, answer, sends, moved: 0, connected: false, finished: false });
    }

    /// Opens a connection to the peer.
    fn connect(&mut self, now: Time, port: u16, answer: Responder) {
        let [own, peer] = self.made.ends;
        let remote = SocketAddrV4::new(peer, port);
        let config = self.config(self.made.config.ip);
        let v6 = is_v6(config.ip);
        while self.talks.contains_key(&(v6, remote, self.next_port)) {
            self.next_port = next(self.next_port);
        }
        let local = SocketAddrV4::new(own, self.next_port);
        self.next_port = next(self.next_port);
        let carry = Carry::connect(config, local, remote, self.made.chance.bits() as u32);
        self.open(now, (v6, remote, local.port()), carry, answer);
    }

    /// Lets the client act.
    fn act(&mut self, now: Time) {
        let Some((client, _)) = &mut self.made.client else { return };
        match client {
            Client::Push { parts, .. } => {
                for part in std::mem::take(parts) {
                    self.connect(now, 9, Responder::Source(part));
                }
            }
            Client::Ask { left, began } => {
                let Some(exchanges) = &mut self.made.exchanges else { return };
                *began = Some(now);
                *left -= 1;
                let fetch = ServerFetch::new(&self.made.peer, exchanges.reply(), exchanges.persistent());
                let idle = self
                    .talks
                    .iter_mut()
                    .find(|(_, talk)| talk.connected && !talk.finished && !over(&talk.carry));
                match idle {
                    Some((key, talk)) => {
                        talk.answer = Responder::Fetch(fetch);
                        let key = *key;
                        self.step(now, key);
                    }
                    None => self.connect(now, 80, Responder::Fetch(fetch)),
                }
            }
        }
    }

    /// Passes events to a connection's application and lets it act.
    fn step(&mut self, now: Time, key: ConnectionKey) {
        let Some(talk) = self.talks.get_mut(&key) else { return };
        let mut reset = false;
        while let Some(event) = talk.carry.poll_event() {
            match event {
                Event::Connected => {
                    talk.connected = true;
                    self.counted.connections += 1;
                }
                Event::PeerFinished => talk.finished = true,
                Event::Reset => reset = true,
                Event::Received(_) | Event::AllAcknowledged | Event::Closed => {}
            }
        }
        let machine = talk.carry.machine();
        let moved = machine.delivered() + machine.acknowledged();
        if std::mem::replace(&mut talk.moved, moved) != moved {
            self.counted.last = Some(now);
        }
        if !reset && talk.connected {
            talk.answer.step(now, &mut talk.carry, talk.finished, self.made.exchanges.as_mut());
        }
        if self.made.client.is_some() {
            self.progress(now, key, reset);
        }
        if self.talks.get(&key).is_some_and(|talk| talk.carry.machine().state() == State::Closed) {
            self.forget(now, key);
        }
    }

    /// Updates the client after an event of its connection.
    fn progress(&mut self, now: Time, key: ConnectionKey, reset: bool) {
        let (Some((client, _)), Some(talk)) = (&mut self.made.client, self.talks.get_mut(&key)) else {
            return;
        };
        let refused = reset && !talk.connected;
        match (client, &mut talk.answer) {
            (Client::Push { parts, .. }, Responder::Source(part)) if refused => {
                parts.push_back(*part);
                self.due = Some(now + AGAIN);
            }
            (Client::Push { left, .. }, Responder::Source(0)) if talk.carry.machine().fin_acknowledged() => {
                // It counts once, and remains as a source of no bytes.
                talk.answer = Responder::Sink;
                *left -= 1;
                if *left == 0 {
                    self.counted.completed = Some(now);
                }
            }
            (Client::Ask { left, began }, Responder::Fetch(fetch)) if began.is_some() => {
                let again = refused && !fetch.wrong;
                if again {
                    *left += 1;
                    (*began, self.due) = (None, Some(now + AGAIN));
                } else if fetch.done() || fetch.wrong || reset || talk.finished {
                    let failed = !fetch.done();
                    let exchanges = self.made.exchanges.as_mut();
                    let think = exchanges.map_or(AGAIN, Exchanges::think);
                    self.counted.exchanges[usize::from(failed)] += 1;
                    if let (Some(began), false) = (began.take(), failed) {
                        self.counted.took += now.since(began);
                    }
                    self.due = (*left > 0).then(|| now + think);
                    if *left == 0 {
                        talk.carry.shutdown();
                    }
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self, now: Time, key: ConnectionKey) {
        if let Some(talk) = self.talks.remove(&key) {
            self.counted.add(&talk, now);
        }
    }

    /// Appends the next packet to `out`. Returns false if there is none.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if let Some(answer) = self.out.pop_front() {
            out.extend_from_slice(&answer);
            return true;
        }
        self.talks.values_mut().any(|talk| talk.carry.transmit(now, out))
    }

    /// Time of the next call of [`SimulatedHost::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let of =
            |talk: &Talk| [talk.carry.poll_timeout(), talk.answer.poll_timeout()].into_iter().flatten().min();
        self.talks.values().filter_map(of).chain(self.due).min()
    }

    /// Handles the timers that are due at [`SimulatedHost::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        if self.due.take_if(|due| *due <= now).is_some() {
            self.act(now);
        }
        let keys: Vec<ConnectionKey> = self.talks.keys().copied().collect();
        for key in keys {
            if let Some(talk) = self.talks.get_mut(&key) {
                if talk.carry.poll_timeout().is_some_and(|at| at <= now) {
                    talk.carry.handle_timeout(now);
                }
                self.step(now, key);
            }
        }
    }

    /// Counters from `start` to `now`, and the time of its senders by limiting cause.
    pub fn result(&self, start: Time, now: Time) -> (OneEndResult, Option<[Span; Cause::COUNT]>) {
        let mut all = self.counted;
        self.talks.values().for_each(|talk| all.add(talk, now));
        let bytes = all.delivered[0].max(all.delivered[1]);
        let lasted_s = match (all.began, all.last) {
            (Some(began), Some(last)) => last.since(began).as_secs_f64(),
            _ => 0.0,
        };
        let [completed, failed] = all.exchanges;
        let asks = matches!(self.made.client, Some((Client::Ask { .. }, _)));
        let RttSamples { count, sum, min, max, .. } = all.rtt;
        let result = OneEndResult {
            goodput_bps: if lasted_s > 0.0 { bytes as f64 * 8.0 / lasted_s } else { 0.0 },
            completed_s: all.completed.map(|at| at.since(start).as_secs_f64()),
            completed: asks.then_some(completed),
            failed: asks.then_some(failed),
            connections: all.connections,
            completion_mean_s: (completed > 0).then(|| all.took.as_secs_f64() / completed as f64),
            bytes_delivered: bytes,
            segments_sent: all.segments,
            segments_retransmitted: all.repeated,
            timeouts: all.timeouts,
            rtt_min_s: min.map(Span::as_secs_f64),
            rtt_mean_s: (count > 0).then(|| sum.as_secs_f64() / count as f64),
            rtt_max_s: max.map(Span::as_secs_f64),
            ..OneEndResult::default()
        };
        (result, all.limits)
    }
}

/// Returns true if a connection has ended and has nothing left to send.
fn over(carry: &Carry) -> bool {
    matches!(carry.machine().state(), State::TimeWait | State::Closed)
}

fn is_v6(version: Version) -> bool {
    version == Version::V6
}

fn next(port: u16) -> u16 {
    if port == u16::MAX { 49_152 } else { port + 1 }
}

/// The IP header of an answer.
fn back(ip: &Ip) -> Ip {
    Ip {
        source: ip.destination,
        destination: ip.source,
        ttl: 64,
        ecn: Ecn::NotCapable,
        identification: 0,
        ..*ip
    }
}

/// A reset for a segment of no connection (RFC 9293 §3.10.7.1).
fn reset(packet: &Packet, tcp: &TcpHeader) -> Vec<u8> {
    let len =
        packet.payload_len + u32::from(tcp.flags.has(Flags::SYN)) + u32::from(tcp.flags.has(Flags::FIN));
    let (seq, ack, flags) = match tcp.flags.has(Flags::ACK) {
        true => (tcp.ack, 0, Flags::RST),
        false => (0, tcp.seq.wrapping_add(len), Flags::RST | Flags::ACK),
    };
    let header = TcpHeader {
        source_port: tcp.destination_port,
        destination_port: tcp.source_port,
        seq,
        ack,
        flags,
        ..TcpHeader::default()
    };
    let answer = Packet { ip: back(&packet.ip), transport: Transport::Tcp(header), payload_len: 0 };
    let mut bytes = Vec::new();
    emit_with(&answer, &[], usize::MAX, &mut bytes);
    bytes
}
