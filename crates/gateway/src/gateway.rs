//! A gateway: connections, streams and associations as they come and go.
//!
//! Follows HT 4.3.1 and docs/stp.md §16: the client's data ride behind the preamble, ends and resets pass from end to end.
//! Differs from the simulated splice: the path's acknowledgments and retransmissions are the association's, whose streams share it.
//! Leaves out waiting and the clock, which are the daemon's, and acceptance, which its listeners do.

use crate::config::{Config, Role, SourceAddress};
use crate::counters::Counters;
use crate::flow::{Phase, SplitConnection};
use crate::flows::Flows;
use crate::kernel::KernelSocket;
use crate::names::Names;
use crate::peers::Peers;
use crate::prefix::{is_special, plain};
use crate::sides::{KernelSide, StreamSide};
use crate::socks::{self, Asked, Socks};
use crate::users::Users;
use bytes::{Bytes, BytesMut};
use polling::{Event as PollEvent, PollMode, Poller};
use skyhop_live::engine::{self, Engine, Link};
use skyhop_live::entropy::SystemEntropy;
use skyhop_splice::join::Progress;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Budgets, Class, Congestion, Reason, TrunkEvent};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

/// The poller's keys from here on are connections.
pub const FIRST_FLOW: usize = 1024;
/// Connections that get a turn before the association's socket is looked after again.
const TURNS: usize = 64;
/// Bytes of a connection that may wait to leave: the most, and the least if there are very many.
const UNSENT_MAX: u64 = 512 << 10;
const UNSENT_MIN: u64 = 16 << 10;
/// Bytes after which a connection yields to others.
const BULK: u64 = 256 << 10;
/// Priorities of connections that are new, and of those that have carried much.
const NEW: u8 = 3;
const LONG: u8 = 5;
/// A program says within this where it wants to go, and a far gateway completes its preamble.
const ASKING_MAX: Span = Span::from_secs(30);
/// How soon an acknowledgment is looked for again, and how long that may become.
const LOOK_MIN: Span = Span::from_millis(2);
const LOOK_MAX: Span = Span::from_millis(256);

/// The end of a connection's turn.
enum Fate {
    Stays,
    /// More at once.
    Again,
    Over(End),
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Both ends have everything.
    Closed,
    /// The socket here is reset, and so is the stream.
    Reset,
    /// The association is gone.
    Lost,
    /// The client is not served: here, or by the far gateway.
    Refused(Answer),
    /// The far gateway's client is not served, and is told so.
    Answered(Answer),
}

/// The gateway.
pub struct Gateway {
    pub config: Config,
    pub engine: Engine,
    pub flows: Flows,
    pub peers: Peers,
    pub counters: Counters,
    pub users: Users,
    /// Streams that were refused, and are reset at this time if the far end has not done so.
    refused: VecDeque<(Time, u32, u64)>,
    /// Connections that wait for the peer to take more streams.
    waiting: VecDeque<usize>,
    /// Connections that this process has files for.
    pub files_max: usize,
    poller: Arc<Poller>,
    names: Names,
    arena: BytesMut,
    /// Lines for the log.
    pub log: VecDeque<String>,
}

/// Configuration of associations.
fn engine_config(config: &Config) -> engine::Config {
    let mut engine = engine::Config::new(config.keys.clone());
    engine.associations.accepts = config.role == Role::Hub;
    engine.mtu = config.mtu;
    engine.mtu_base = engine.mtu_base.min(config.mtu);
    engine.stp.window = config.memory;
    // A side that only receives asks first, and then waits: both are within the time that the file sets.
    engine.stp.keep_alive = Some(config.silence / 4);
    engine.stp.silence = config.silence / 4 * 3;
    engine.stp.max_rate = config.rate;
    engine.rates = config.rates();
    if config.promised {
        engine.stp.congestion = Congestion::Rate;
    }
    engine.budgets = Budgets {
        stream_window: (config.memory / 4) * 3,
        // So that hundreds of clients that read nothing leave room for those that do.
        first_window: (config.memory / 1024).clamp(16 << 10, 256 << 10),
        streams: config.connections as u64,
        ..Budgets::default()
    };
    engine
}

impl Gateway {
    /// A gateway without connections.
    pub fn new(now: Time, config: Config, hub: Option<SocketAddr>, poller: Arc<Poller>) -> io::Result<Self> {
        let waker = poller.clone();
        let names = Names::start(move || _ = waker.notify())?;
        Ok(Gateway {
            engine: Engine::new(now, engine_config(&config), Arc::new(SystemEntropy)),
            flows: Flows::default(),
            peers: Peers::new(now, &config, hub),
            counters: Counters::default(),
            users: Users::default(),
            refused: VecDeque::new(),
            waiting: VecDeque::new(),
            files_max: usize::MAX,
            poller,
            names,
            arena: BytesMut::new(),
            log: VecDeque::new(),
            config,
        })
    }

    /// Takes another configuration; what is open stays, unless its terminal has gone.
    pub fn reload(&mut self, config: Config) {
        self.peers.set_terminals(&config.terminals);
        self.engine.set_keys(config.keys.clone());
        self.engine.set_rates(config.rates());
        self.config = config;
    }

    /// Returns true if there is room for one more connection.
    pub fn has_room(&self) -> bool {
        self.flows.len() < self.config.connections.min(self.files_max)
    }

    /// A client's connection to `to`, intercepted or forwarded.
    pub fn accept(
        &mut self,
        now: Time,
        socket: KernelSocket,
        client: SocketAddr,
        to: Destination,
        transparent: bool,
    ) {
        let source = transparent.then_some(client);
        let preamble = Preamble { destination: to, source };
        let mut flow = SplitConnection::opened(now, Phase::Waiting(preamble.clone()), socket, client);
        flow.destination = Some(preamble.destination);
        self.insert(now, flow);
    }

    /// A program that will say where it wants to go.
    pub fn accept_socks(&mut self, now: Time, socket: KernelSocket, client: SocketAddr) {
        let password = self.config.socks.as_ref().and_then(|(_, password)| password.clone());
        let mut flow = SplitConnection::opened(now, Phase::Asking(Socks::new(password)), socket, client);
        flow.replies = true;
        let slot = self.insert(now, flow);
        if let Some(slot) = slot {
            self.flows.set_timer(slot, Some(now + ASKING_MAX));
        }
    }

    fn insert(&mut self, now: Time, flow: SplitConnection) -> Option<usize> {
        self.counters.opened += 1;
        let slot = self.flows.insert(flow);
        let flow = self.flows.take(slot)?;
        match flow.socket.as_ref().map_or(Ok(()), |socket| self.watch(slot, socket)) {
            Ok(()) => {
                self.flows.put(slot, flow);
                Some(slot)
            }
            Err(e) => {
                self.log.push_back(format!("poller: {e}"));
                self.finish(now, slot, flow, End::Reset);
                None
            }
        }
    }

    /// Has the poller tell of a connection's socket.
    fn watch(&self, slot: usize, socket: &KernelSocket) -> io::Result<()> {
        // SAFETY: a socket is taken out of the poller before it is closed.
        unsafe { self.poller.add_with_mode(socket, PollEvent::all(FIRST_FLOW + slot), PollMode::Edge) }
    }

    /// The poller has news of a connection's socket.
    pub fn handle_ready(&mut self, event: &PollEvent) {
        let slot = event.key - FIRST_FLOW;
        if let Some(socket) = self.flows.get_mut(slot).and_then(|flow| flow.socket.as_mut()) {
            socket.readable |= event.readable;
            socket.writable |= event.writable;
            self.flows.touch(slot);
        }
    }

    /// The clock has moved on.
    pub fn handle_timeout(&mut self, now: Time) {
        self.engine.handle_timeout(now);
        self.flows.handle_timeout(now);
        if let Some(hub) = self.peers.wants(now) {
            // A hub that was restarted has said so in an association of its own, which is about to take the place of the lost one.
            let coming = |link: &Link| link.initiator && !link.trunk.established() && !link.trunk.is_over();
            if self.engine.links().any(|(_, link)| coming(link)) {
                self.peers.postpone(now);
            } else if let Some(id) = self.engine.connect(now, hub) {
                self.peers.tries(id);
            } else {
                self.log.push_back("the hub's key is no key".into());
                self.peers.postpone(now);
            }
        }
        while let Some((_, link, stream)) = self.refused.front().copied().filter(|(at, ..)| *at <= now) {
            self.refused.pop_front();
            if let Some(trunk) = self.engine.trunk(link) {
                trunk.reset(stream, Reason::Aborted);
            }
        }
        self.take_events(now);
    }

    /// When something is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        let refused = self.refused.front().map(|(at, ..)| *at);
        [self.engine.poll_timeout(), self.flows.poll_timeout(), self.peers.poll_timeout(), refused]
            .into_iter()
            .flatten()
            .min()
    }

    /// Gives connections their turns. True if some are left.
    pub fn work(&mut self, now: Time) -> bool {
        while let Some((name, addresses)) = self.names.found() {
            if let Some(slot) = self.flows.named(name) {
                self.resolved(now, slot, addresses);
            }
        }
        self.take_events(now);
        for _ in 0..TURNS {
            let Some(slot) = self.flows.next() else { return false };
            self.turn(now, slot);
        }
        self.take_events(now);
        self.flows.waiting() > 0
    }

    fn turn(&mut self, now: Time, slot: usize) {
        let Some(mut flow) = self.flows.take(slot) else { return };
        match self.step(now, slot, &mut flow) {
            Fate::Stays => self.flows.put(slot, flow),
            Fate::Again => {
                self.flows.put(slot, flow);
                self.flows.touch(slot);
            }
            Fate::Over(end) => self.finish(now, slot, flow, end),
        }
    }

    fn step(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        loop {
            let went_on = match &flow.phase {
                Phase::Asking(_) => self.ask(now, slot, flow),
                Phase::Waiting(_) => self.open(slot, flow),
                Phase::Opening => self.hear(flow),
                Phase::Reading(_) => self.read_preamble(now, slot, flow),
                Phase::Resolving => Ok(false),
                Phase::Connecting(_) => self.connected(now, slot, flow),
                Phase::Open => Ok(false),
            };
            match went_on {
                Ok(true) => {}
                Ok(false) => break,
                Err(end) => return Fate::Over(end),
            }
        }
        match flow.phase {
            Phase::Opening | Phase::Open => self.pump(now, slot, flow),
            _ => Fate::Stays,
        }
    }

    /// A program's request. Each of these steps returns true if the next can follow.
    fn ask(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Phase::Asking(program), Some(socket)) = (&mut flow.phase, &mut flow.socket) else {
            return Ok(false);
        };
        let read = match socket.read(512, &mut self.arena) {
            Ok(Some(bytes)) if bytes.is_empty() => return Err(End::Reset),
            Ok(Some(bytes)) => bytes,
            Ok(None) if now.since(flow.since) >= ASKING_MAX => return Err(End::Refused(Answer::TimedOut)),
            Ok(None) => return Ok(false),
            Err(_) => return Err(End::Reset),
        };
        let asked = program.handle(&read);
        let out = std::mem::take(&mut program.out);
        if !out.is_empty() {
            // A few bytes at the beginning of a connection always find room.
            socket.write(out.into());
        }
        match asked {
            Asked::More => Ok(true),
            Asked::Refused => Err(End::Refused(Answer::NotUnderstood)),
            Asked::Connect(destination) => {
                flow.destination = Some(destination.clone());
                let preamble = Preamble { destination, source: None };
                let Phase::Asking(program) = std::mem::replace(&mut flow.phase, Phase::Waiting(preamble))
                else {
                    return Err(End::Reset);
                };
                let early = Bytes::from(program.rest());
                if !early.is_empty() {
                    flow.join.preload(early);
                }
                self.flows.set_timer(slot, None);
                Ok(true)
            }
        }
    }

    /// Opens the stream of a client's connection.
    fn open(&mut self, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let Phase::Waiting(preamble) = &flow.phase else { return Ok(false) };
        let link = match &preamble.destination {
            Destination::Address(address) => self.peers.link_to(address.ip()),
            Destination::Name(..) if self.config.role == Role::Terminal => {
                self.peers.link_of(crate::peers::HUB)
            }
            Destination::Name(..) => None,
        };
        let link = link.ok_or(End::Refused(Answer::Unreachable))?;
        let trunk = self.engine.trunk(link).ok_or(End::Refused(Answer::Unreachable))?;
        let Some(id) = trunk.open(Class { priority: NEW, ..Class::default() }) else {
            self.waiting.push_back(slot);
            return Ok(false);
        };
        let mut bytes = Vec::new();
        preamble.emit(&mut bytes);
        trunk.write(id, bytes.into());
        flow.stream = Some((link, id));
        let user = match (&preamble.destination, self.config.role) {
            (Destination::Address(to), Role::Hub) => Some(to.ip()),
            _ => flow.client.map(|client| client.ip()),
        };
        flow.user = user;
        flow.phase = Phase::Opening;
        self.flows.bind(slot, (link, id));
        if let Some(user) = user {
            let (weight, others) = self.users.add(user, (link, id));
            flow.weight = weight;
            if let Some(trunk) = self.engine.trunk(link) {
                trunk.prioritize(id, Class { priority: NEW, weight });
            }
            if others {
                self.share(user, link, weight);
            }
        }
        Ok(true)
    }

    /// Gives all connections of a user this weight.
    fn share(&mut self, user: IpAddr, link: u32, weight: u8) {
        let Some(trunk) = self.engine.trunk(link) else { return };
        for stream in self.users.streams(user, link) {
            let flow = self.flows.of_stream(stream).and_then(|slot| self.flows.get_mut(slot));
            let bulk = flow.is_some_and(|flow| {
                flow.weight = weight;
                flow.bulk
            });
            trunk.prioritize(stream.1, Class { priority: if bulk { LONG } else { NEW }, weight });
        }
    }

    /// The far gateway's answer.
    fn hear(&mut self, flow: &mut SplitConnection) -> Result<bool, End> {
        let (link, id) = flow.stream.ok_or(End::Reset)?;
        let trunk = self.engine.trunk(link).ok_or(End::Lost)?;
        let Some(answer) = trunk.read(id, 1) else {
            return if flow.finished { Err(End::Refused(Answer::NotUnderstood)) } else { Ok(false) };
        };
        let answer = Answer::from_number(answer[0]);
        if answer != Answer::Connected {
            return Err(End::Refused(answer));
        }
        if let (true, Some(socket)) = (flow.replies, &mut flow.socket) {
            socket.write(Bytes::copy_from_slice(&socks::reply(answer)));
        }
        flow.phase = Phase::Open;
        Ok(true)
    }

    /// The preamble of a stream that the far gateway has opened. Nothing behind it is read.
    fn read_preamble(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Phase::Reading(bytes), Some((link, id))) = (&mut flow.phase, flow.stream) else {
            return Ok(false);
        };
        let trunk = self.engine.trunk(link).ok_or(End::Lost)?;
        let preamble = loop {
            match Preamble::parse(bytes) {
                Ok(Some((preamble, _))) => break preamble,
                Ok(None) => {}
                Err(_) => return Err(End::Answered(Answer::NotUnderstood)),
            }
            let wanted = match bytes.first_chunk::<3>() {
                Some(&[_, high, low]) if bytes.len() >= 4 => 4 + usize::from(u16::from_be_bytes([high, low])),
                _ => 4,
            };
            match trunk.read(id, wanted - bytes.len()) {
                Some(more) => bytes.extend_from_slice(&more),
                None if flow.finished || now.since(flow.since) >= ASKING_MAX => {
                    return Err(End::Answered(Answer::NotUnderstood));
                }
                None => return Ok(false),
            }
        };
        flow.destination = Some(preamble.destination.clone());
        flow.client = preamble.source;
        // This one is among them already.
        if self.flows.len() > self.config.connections.min(self.files_max) {
            return Err(End::Answered(Answer::Full));
        }
        match preamble.destination {
            Destination::Address(address) => self.connect(now, slot, flow, vec![address]),
            Destination::Name(name, port) => {
                if !self.names.ask(self.flows.name(slot), name, port) {
                    return Err(End::Answered(Answer::Full));
                }
                flow.phase = Phase::Resolving;
                Ok(false)
            }
        }
    }

    fn resolved(&mut self, now: Time, slot: usize, addresses: Vec<SocketAddr>) {
        let Some(mut flow) = self.flows.take(slot) else { return };
        let begun = match addresses.is_empty() {
            true => Err(End::Answered(Answer::NoSuchName)),
            false => self.connect(now, slot, &mut flow, addresses),
        };
        match begun {
            Ok(_) => {
                self.flows.put(slot, flow);
                self.flows.touch(slot);
            }
            Err(end) => self.finish(now, slot, flow, end),
        }
    }

    /// Begins a connection to the first of these addresses that is allowed and can be tried; others remain for later.
    fn connect(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        mut addresses: Vec<SocketAddr>,
    ) -> Result<bool, End> {
        let mut answer = Answer::Unreachable;
        while !addresses.is_empty() {
            let to = addresses.remove(0);
            let to = SocketAddr::new(plain(to.ip()), to.port());
            if !self.allowed(to) {
                answer = Answer::Forbidden;
                continue;
            }
            let link = flow.stream.map_or(0, |(link, _)| link);
            let source = flow.client.filter(|client| {
                self.config.source == SourceAddress::Client
                    && client.is_ipv4() == to.is_ipv4()
                    && self.peers.has_user(link, client.ip())
            });
            match KernelSocket::connect(to, source) {
                Ok(socket) => {
                    self.watch(slot, &socket).map_err(|_| End::Answered(Answer::Full))?;
                    flow.socket = Some(socket);
                    flow.phase = Phase::Connecting(addresses);
                    self.flows.set_timer(slot, Some(now + self.config.connect_timeout));
                    return Ok(false);
                }
                Err(e) => answer = answer_to(&e),
            }
        }
        Err(End::Answered(answer))
    }

    /// Returns true if connections may go there: to no special address and none of this host's, unless the file says so. A terminal
    /// connects to what the file names only.
    fn allowed(&self, to: SocketAddr) -> bool {
        let named = self.config.allow.iter().any(|prefix| prefix.contains(to.ip()));
        let open = self.config.role == Role::Hub && !is_special(to.ip()) && !is_own(to.ip());
        to.port() != 0 && (named || open)
    }

    fn connected(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Phase::Connecting(others), Some(socket)) = (&mut flow.phase, &flow.socket) else {
            return Ok(false);
        };
        let failed = if socket.writable {
            socket.take_error().map(|e| answer_to(&e))
        } else if now.since(flow.since) >= self.config.connect_timeout {
            Some(Answer::TimedOut)
        } else {
            return Ok(false);
        };
        let others = std::mem::take(others);
        let Some(answer) = failed else {
            let (link, id) = flow.stream.ok_or(End::Reset)?;
            let trunk = self.engine.trunk(link).ok_or(End::Lost)?;
            trunk.write(id, Bytes::copy_from_slice(&[Answer::Connected.number()]));
            flow.phase = Phase::Open;
            self.flows.set_timer(slot, None);
            return Ok(true);
        };
        if let Some(socket) = flow.socket.take() {
            let _ = self.poller.delete(&socket);
        }
        if others.is_empty() || answer == Answer::TimedOut {
            return Err(End::Answered(answer));
        }
        self.connect(now, slot, flow, others)
    }

    /// Carries what can be carried.
    fn pump(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let (Some((link, id)), Some(socket)) = (flow.stream, &mut flow.socket) else {
            return Fate::Over(End::Reset);
        };
        let unsent_max =
            (self.config.memory / 4 / (self.flows.len() as u64).max(1)).clamp(UNSENT_MIN, UNSENT_MAX);
        let Some(trunk) = self.engine.trunk(link) else { return Fate::Over(End::Lost) };
        let unanswered = matches!(flow.phase, Phase::Opening);
        let (finished, opener) = (flow.finished, flow.opener);
        let mut kernel = KernelSide { socket, arena: &mut self.arena };
        let mut stream = StreamSide { trunk, id, unsent_max, finished, unanswered };
        let progress = if opener {
            flow.join.pump(&mut kernel, &mut stream)
        } else {
            flow.join.pump(&mut stream, &mut kernel)
        };
        if kernel.socket.has_failed() {
            return Fate::Over(End::Reset);
        }
        if opener && !flow.bulk && flow.join.carried().iter().sum::<u64>() > BULK {
            flow.bulk = true;
            trunk.prioritize(id, Class { priority: LONG, weight: flow.weight });
        }
        match progress {
            Progress::Waits => Fate::Stays,
            Progress::More => Fate::Again,
            Progress::Closed => Fate::Over(End::Closed),
            Progress::Broken(_) => Fate::Over(End::Reset),
            Progress::WaitsForAcknowledgment => {
                let pause = (LOOK_MIN * (1 << flow.looks.min(7))).min(LOOK_MAX);
                flow.looks += 1;
                self.flows.set_timer(slot, Some(now + pause));
                Fate::Stays
            }
        }
    }

    /// Ends a connection, and counts how.
    fn finish(&mut self, now: Time, slot: usize, flow: SplitConnection, end: End) {
        let [up, down] = flow.join.carried();
        let [from_link, to_link] = if flow.opener { [down, up] } else { [up, down] };
        self.counters.bytes[0] += from_link;
        self.counters.bytes[1] += to_link;
        self.flows.remove(slot, flow.stream);
        if let (Some(user), Some(stream)) = (flow.user, flow.stream)
            && let Some(weight) = self.users.remove(user, stream)
        {
            self.share(user, stream.0, weight);
        }
        let (mut socket, stream) = (flow.socket, flow.stream);
        if let Some(socket) = &socket {
            let _ = self.poller.delete(socket);
        }
        match end {
            End::Closed => {
                self.counters.closed += 1;
                if let Some(socket) = socket.take() {
                    socket.close();
                }
                return;
            }
            End::Reset => self.counters.reset += 1,
            End::Lost => self.counters.lost += 1,
            End::Refused(answer) => {
                self.counters.refuse(answer);
                // A program that asked in words reads the answer, which a reset could overtake.
                if flow.replies
                    && let Some(mut socket) = socket.take()
                {
                    if !matches!(flow.phase, Phase::Asking(_)) {
                        socket.write(Bytes::copy_from_slice(&socks::reply(answer)));
                    }
                    socket.close();
                }
            }
            End::Answered(answer) => {
                self.counters.refuse(answer);
                if let Some((link, id)) = stream
                    && let Some(trunk) = self.engine.trunk(link)
                {
                    trunk.write(id, Bytes::copy_from_slice(&[answer.number()]));
                    trunk.shutdown(id);
                    self.refused.push_back((now + ASKING_MAX, link, id));
                }
                return;
            }
        }
        // A socket that is left is dropped, which resets it.
        if let Some((link, id)) = stream
            && let Some(trunk) = self.engine.trunk(link)
        {
            trunk.reset(id, Reason::Aborted);
        }
    }

    fn take_events(&mut self, now: Time) {
        while let Some(event) = self.engine.poll_event() {
            match event {
                engine::Event::Up { id, peer, key } => self.up(now, id, peer, key),
                engine::Event::Down { id, reason } => self.down(now, id, &format!("{reason:?}")),
                engine::Event::Failed { id, why } => self.down(now, id, &why.to_string()),
                engine::Event::Stream(link, event) => self.handle_stream(now, link, event),
                engine::Event::Moved { id, peer } => {
                    let name = self.peers.name_of(id).unwrap_or("?").to_owned();
                    self.log.push_back(format!("{name}: has moved to {peer}"));
                }
                engine::Event::Refused { from, reason } => {
                    self.log.push_back(format!("{from}: refused: {reason}"));
                }
            }
        }
    }

    fn up(&mut self, now: Time, id: u32, peer: SocketAddr, key: Option<skyhop_live::keys::PublicKey>) {
        let Some((name, before)) = self.peers.up(id, key) else {
            // Its key was taken out of the file in the meantime.
            return self.engine.abort(id);
        };
        self.log.push_back(format!("{name}: association open with {peer}"));
        if let Some(before) = before {
            self.engine.abort(before);
            self.lose(now, before);
        }
    }

    fn down(&mut self, now: Time, id: u32, why: &str) {
        if let Some(name) = self.peers.down(now, id) {
            self.log.push_back(format!("{name}: association lost: {why}"));
        } else if self.config.role == Role::Terminal {
            self.log.push_back(format!("hub: no association: {why}"));
        }
        self.lose(now, id);
    }

    /// All connections of an association are reset; those that wait for a stream of it look for another.
    fn lose(&mut self, now: Time, link: u32) {
        for slot in self.flows.of_link(link) {
            if let Some(flow) = self.flows.take(slot) {
                self.finish(now, slot, flow, End::Lost);
            }
        }
        self.try_waiting();
    }

    /// Gives a turn to the connections that wait for a stream.
    fn try_waiting(&mut self) {
        for slot in std::mem::take(&mut self.waiting) {
            self.flows.touch(slot);
        }
    }

    fn handle_stream(&mut self, now: Time, link: u32, event: TrunkEvent) {
        let id = match event {
            TrunkEvent::Opened(id) => {
                self.counters.accepted += 1;
                let slot = self.flows.insert(SplitConnection::accepted(now, (link, id)));
                return self.flows.set_timer(slot, Some(now + ASKING_MAX));
            }
            TrunkEvent::MayOpen => return self.try_waiting(),
            TrunkEvent::Received(id, _)
            | TrunkEvent::AllAcknowledged(id)
            | TrunkEvent::Writable(id)
            | TrunkEvent::PeerFinished(id)
            | TrunkEvent::Reset(id, _) => id,
            TrunkEvent::Connected | TrunkEvent::Closed(_) | TrunkEvent::Datagram | TrunkEvent::Ended(_) => {
                return;
            }
        };
        let Some(slot) = self.flows.of_stream((link, id)) else { return };
        match event {
            TrunkEvent::Reset(..) => {
                if let Some(flow) = self.flows.take(slot) {
                    self.finish(now, slot, flow, End::Reset);
                }
            }
            TrunkEvent::PeerFinished(_) => {
                if let Some(flow) = self.flows.get_mut(slot) {
                    flow.finished = true;
                }
                self.flows.touch(slot);
            }
            _ => self.flows.touch(slot),
        }
    }
}

/// Returns true if the address is one of this host's: nobody else can bind to it.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn answer_to(e: &io::Error) -> Answer {
    match e.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Answer::Refused,
        io::ErrorKind::TimedOut => Answer::TimedOut,
        io::ErrorKind::PermissionDenied => Answer::Forbidden,
        _ => Answer::Unreachable,
    }
}
