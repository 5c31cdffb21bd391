//! A gateway: its connections, streams and associations.
//!
//! Follows HT 4.3.1 and docs/stp.md §16: the client's data follow the preamble at once; FIN and RST are passed from end to end.
//! Differs from the simulated splice: the association acknowledges and retransmits for all of its streams.
//! Leaves out waiting and the clock (`daemon`), and accepting connections (its listeners).

use crate::config::{Config, Role};
use crate::connector::Connector;
use crate::dscp::Dscp;
use crate::fate::{End, Fate};
use crate::flow::{ASKING_MAX, Phase, SplitConnection};
use crate::gateway_core::GatewayCore;
use crate::handshakes::Handshakes;
use crate::kernel::KernelSocket;
use crate::memory_shortage::{FULL, MUCH, RELIEVED, most_holding};
use crate::peer_links::open_stream;
use crate::quotas::Quotas;
use crate::sides::KernelSide;
use crate::socks::{self, Asked, Socks};
use crate::udp::UdpRelay;
use crate::user_shares::{UserShares, user_of};
use bytes::{Bytes, BytesMut};
use polling::Poller;
use skyhop_live::engine::Event;
use skyhop_splice::gateway::{self, StreamSide};
use skyhop_splice::join::Progress;
use skyhop_splice::preamble::{Answer, Carries, Destination, Preamble};
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Turns of connections before the association's socket is served again.
const TURNS: usize = 64;

/// The gateway.
pub struct Gateway {
    pub core: GatewayCore,
    pub users: UserShares,
    pub(crate) connector: Connector,
    /// Handshakes of clients that wait for the server's answer.
    pub(crate) handshakes: Handshakes,
    /// Buffers into which sockets are read: one for each direction, if both ends are the kernel's.
    pub(crate) arenas: [BytesMut; 2],
    pub udp: UdpRelay,
}

impl Gateway {
    /// A gateway without connections.
    pub fn new(now: Time, config: Config, hub: Option<SocketAddr>, poller: Arc<Poller>) -> io::Result<Self> {
        let waker = poller.clone();
        Ok(Gateway {
            core: GatewayCore::new(now, config, hub, poller.clone()),
            users: UserShares::default(),
            connector: Connector::start(move || _ = waker.notify())?,
            handshakes: Handshakes::default(),
            arenas: [BytesMut::new(), BytesMut::new()],
            udp: UdpRelay::new(poller),
        })
    }

    /// Applies a new configuration; open connections stay, unless their terminal was removed.
    pub fn reload(&mut self, config: Config) {
        self.core.reload(config);
    }

    /// The usage that is kept in a file: a hub's is that of its terminals, that of other gateways is their users'.
    pub fn quotas(&self) -> &Quotas {
        if self.core.config.role == Role::Hub {
            &self.core.links.peers.quotas
        } else {
            &self.users.quotas.quotas
        }
    }

    pub fn quotas_mut(&mut self) -> &mut Quotas {
        if self.core.config.role == Role::Hub {
            &mut self.core.links.peers.quotas
        } else {
            &mut self.users.quotas.quotas
        }
    }

    /// Returns true if there is room for one more connection.
    pub fn has_room(&self) -> bool {
        self.core.flows.len() < self.core.connections_max()
            && !self.users.memory.unsent.is_used_up(self.core.config.memory)
    }

    /// Returns true if connections may be accepted: handshakes that were held have their room already.
    pub fn may_accept(&self) -> bool {
        self.has_room() || self.handshakes.len() > 0
    }

    /// Accepts a client's connection to `to`, intercepted or forwarded.
    pub fn accept(
        &mut self,
        now: Time,
        socket: KernelSocket,
        client: SocketAddr,
        to: Destination,
        transparent: bool,
    ) {
        if let (Role::Alone, Destination::Address(to)) = (self.core.config.role, &to) {
            return self.accept_alone(now, socket, client, *to);
        }
        let dscp = socket.dscp();
        let marked = (dscp != Dscp::default()).then_some(dscp.number());
        let source = transparent.then_some(client);
        let preamble = Preamble { source, dscp: marked, ..Preamble::to(to.clone()) };
        self.mark(&socket, self.core.config.dscp.back(dscp));
        let mut flow = SplitConnection::opened(now, Phase::Waiting(preamble), socket, client);
        (flow.destination, flow.class.dscp) = (Some(to), dscp);
        self.insert(now, flow);
    }

    /// Accepts a program that will send its destination.
    pub fn accept_socks(&mut self, now: Time, socket: KernelSocket, client: SocketAddr) {
        let password = self.core.config.socks.as_ref().and_then(|(_, password)| password.clone());
        let mut flow = SplitConnection::opened(now, Phase::Asking(Socks::new(password)), socket, client);
        flow.replies = true;
        let slot = self.insert(now, flow);
        if let Some(slot) = slot {
            self.core.flows.set_timer(slot, Some(now + ASKING_MAX));
        }
    }

    pub(crate) fn insert(&mut self, now: Time, mut flow: SplitConnection) -> Option<usize> {
        self.core.journal.counters.opened += 1;
        self.users.opened(flow.client, &mut flow.claims, &self.core.config.users);
        let slot = self.core.flows.insert(flow);
        let flow = self.core.flows.take(slot)?;
        match self.core.flows.watch_all(slot, &flow) {
            Ok(()) => {
                self.core.flows.put(slot, flow);
                Some(slot)
            }
            Err(e) => {
                self.core.journal.say(format!("poller: {e}"));
                self.finish(now, slot, flow, End::Reset);
                None
            }
        }
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Time) {
        self.core.links.handle_timeout(now, &mut self.core.journal);
        self.core.flows.handle_timeout(now);
        while let Some(slot) = self.users.take_due(now) {
            self.core.flows.touch(slot);
        }
        self.udp.sweep(now, &mut self.core);
        self.relieve_due(now);
        self.take_events(now);
    }

    /// Handles an event of a socket for datagrams.
    pub fn handle_datagrams(&mut self, now: Time, key: usize) {
        self.udp.handle_ready(now, key, &mut self.core);
    }

    /// The time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        [
            self.core.links.poll_timeout(),
            self.core.flows.poll_timeout(),
            self.users.poll_timeout(),
            self.udp.flows.poll_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Gives connections their turns. Returns true if some are left.
    pub fn work(&mut self, now: Time) -> bool {
        while let Some((name, addresses)) = self.connector.found() {
            if let Some(slot) = self.core.flows.named(name) {
                self.resolved(now, slot, addresses);
            }
        }
        self.take_events(now);
        for _ in 0..TURNS {
            let Some(slot) = self.core.flows.next() else { return false };
            self.turn(now, slot);
        }
        self.take_events(now);
        self.core.flows.waiting() > 0
    }

    fn turn(&mut self, now: Time, slot: usize) {
        let Some(mut flow) = self.core.flows.take(slot) else { return };
        match self.step(now, slot, &mut flow) {
            Fate::Stays => self.core.flows.put(slot, flow),
            Fate::Again => {
                self.core.flows.put(slot, flow);
                self.core.flows.touch(slot);
            }
            Fate::Over(end) => self.finish(now, slot, flow, end),
        }
    }

    fn step(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        loop {
            let went_on = match &flow.phase {
                Phase::Asking(_) => self.ask(now, slot, flow),
                Phase::Waiting(_) if flow.opener => self.open(now, slot, flow),
                Phase::Waiting(_) => self.admit(now, slot, flow),
                Phase::Intercepted(to) => {
                    let to = *to;
                    self.connect_alone(now, slot, flow, to)
                }
                Phase::Opening => self.hear(now, slot, flow),
                Phase::Completing(until) if now >= *until => Err(End::Refused(Answer::TimedOut)),
                Phase::Completing(_) => Ok(false),
                Phase::Reading(_) => self.read_preamble(now, flow),
                Phase::Resolving => Ok(false),
                Phase::Connecting(_) => self.connector.connected(now, slot, flow, &mut self.core),
                Phase::Open => Ok(false),
            };
            match went_on {
                Ok(true) => {}
                Ok(false) => break,
                Err(end) => return Fate::Over(end),
            }
        }
        match flow.phase {
            Phase::Opening | Phase::Open if flow.socket.is_some() => self.pump(now, slot, flow),
            _ => Fate::Stays,
        }
    }

    /// Reads the preamble of a stream that the far gateway has opened.
    fn read_preamble(&mut self, now: Time, flow: &mut SplitConnection) -> Result<bool, End> {
        let Some((link, id)) = flow.stream else { return Ok(false) };
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        let Some(preamble) = flow.read_preamble(now, trunk)? else { return Ok(false) };
        if self.core.links.peers.is_over_quota(link) {
            return Err(End::Answered(Answer::OverQuota));
        }
        if preamble.carries == Carries::Datagrams {
            self.udp.accept(now, (link, id), &preamble, &mut self.core)?;
            return Err(End::HandedOver);
        }
        // The count includes this connection.
        if self.core.flows.len() > self.core.connections_max() {
            return Err(End::Answered(Answer::Full));
        }
        flow.phase = Phase::Waiting(preamble);
        Ok(true)
    }

    /// Begins the connection to the server, once there is memory for another one of its user.
    fn admit(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Some(destination), Some((link, _))) = (flow.destination.clone(), flow.stream) else {
            return Ok(false);
        };
        let from_hub = self.core.config.role == Role::Terminal;
        if let Some(user) = user_of(&destination, flow.client, from_hub, &self.core.config.users) {
            if !self.users.memory.admits(now, slot, flow, (link, user), &mut self.core)? {
                return Ok(false);
            }
            self.users.memory.own(flow, user, &mut self.core);
        }
        self.connector.begin(now, slot, flow, destination, &mut self.core)
    }

    fn resolved(&mut self, now: Time, slot: usize, addresses: Vec<SocketAddr>) {
        let Some(mut flow) = self.core.flows.take(slot) else { return };
        match self.connector.resolved(now, slot, &mut flow, addresses, &mut self.core) {
            Ok(_) => {
                self.core.flows.put(slot, flow);
                self.core.flows.touch(slot);
            }
            Err(end) => self.finish(now, slot, flow, end),
        }
    }

    /// Reads a program's request. Each of these steps returns true if the next can follow.
    fn ask(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Phase::Asking(program), Some(socket)) = (&mut flow.phase, &mut flow.socket) else {
            return Ok(false);
        };
        let read = match socket.read(512, &mut self.arenas[0]) {
            Ok(Some(bytes)) if bytes.is_empty() => return Err(End::Reset),
            Ok(Some(bytes)) => bytes,
            Ok(None) if now.since(flow.since) >= ASKING_MAX => return Err(End::Refused(Answer::TimedOut)),
            Ok(None) => return Ok(false),
            Err(_) => return Err(End::Reset),
        };
        let asked = program.handle(&read);
        let out = std::mem::take(&mut program.out);
        if !out.is_empty() {
            // The first few bytes of a connection always fit.
            socket.write(out.into());
        }
        match asked {
            Asked::More => Ok(true),
            Asked::Refused => Err(End::Refused(Answer::NotUnderstood)),
            Asked::Connect(destination) => {
                flow.destination = Some(destination.clone());
                let preamble = Preamble::to(destination);
                let Phase::Asking(program) = std::mem::replace(&mut flow.phase, Phase::Waiting(preamble))
                else {
                    return Err(End::Reset);
                };
                let early = Bytes::from(program.rest());
                if !early.is_empty() {
                    flow.join.preload(early);
                }
                self.core.flows.set_timer(slot, None);
                Ok(true)
            }
        }
    }

    /// Opens the stream of a client's connection.
    fn open(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let Phase::Waiting(preamble) = &flow.phase else { return Ok(false) };
        if let Some(answer) = self.users.refusal(&flow.claims, &self.core.config.users) {
            return Err(End::Refused(answer));
        }
        let link = self.core.links.link_to(&preamble.destination, self.core.config.role);
        let link = link.ok_or(End::Refused(Answer::Unreachable))?;
        let user = user_of(
            &preamble.destination,
            flow.client,
            self.core.config.role == Role::Hub,
            &self.core.config.users,
        );
        if let Some(user) = user
            && !self.users.memory.admits(now, slot, flow, (link, user), &mut self.core)?
        {
            return Ok(false);
        }
        let Phase::Waiting(preamble) = &flow.phase else { return Ok(false) };
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Refused(Answer::Unreachable))?;
        let Some(id) = open_stream(trunk, flow.class.with(&self.core.config.dscp), preamble) else {
            self.core.flows.wait_for_stream(slot);
            return Ok(false);
        };
        flow.stream = Some((link, id));
        flow.phase = Phase::Opening;
        self.core.flows.bind(slot, (link, id));
        self.core.flows.set_timer(slot, None);
        if let Some(user) = user {
            self.users.joins(flow, user, &mut self.core);
        }
        Ok(true)
    }

    /// Marks a socket's packets with a code point, unless it is zero.
    pub(crate) fn mark(&self, socket: &KernelSocket, dscp: Dscp) {
        if dscp != Dscp::default() {
            // A socket that cannot be marked still works.
            let _ = socket.mark(dscp);
        }
    }

    /// Reads the far gateway's answer.
    fn hear(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (link, id) = flow.stream.ok_or(End::Reset)?;
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        let Some(answer) = trunk.read(id, 1) else {
            return if flow.finished { Err(End::Refused(Answer::NotUnderstood)) } else { Ok(false) };
        };
        trunk.unreserve(id);
        let answer = Answer::from_number(answer[0]);
        if answer != Answer::Connected {
            return Err(End::Refused(answer));
        }
        if flow.socket.is_none() {
            self.complete(now, slot, flow);
            return Ok(false);
        }
        if let (true, Some(socket)) = (flow.replies, &mut flow.socket) {
            socket.write(Bytes::copy_from_slice(&socks::reply(answer)));
        }
        flow.phase = Phase::Open;
        Ok(true)
    }

    /// Copies as much as both ends can take.
    pub(crate) fn pump(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        if flow.user.is_some() {
            return self.pump_alone(now, slot, flow);
        }
        let most = self.users.allowed(now, slot, &flow.claims, &self.core.config.users);
        let before = flow.join.carried();
        let Some((link, id)) = flow.stream else { return Fate::Over(End::Reset) };
        let unsent_max = gateway::unsent_max(self.core.config.memory, self.core.flows.len() as u64);
        let Some(trunk) = self.core.links.engine.trunk(link) else { return Fate::Over(End::Lost) };
        let window = self.users.window(slot, &flow.claims, &self.core.config.users, trunk.srtt());
        let Some(socket) = &mut flow.socket else { return Fate::Over(End::Reset) };
        let unanswered = matches!(flow.phase, Phase::Opening);
        let (finished, opener) = (flow.finished, flow.opener);
        let mut kernel = KernelSide { socket, arena: &mut self.arenas[0] };
        let mut stream = StreamSide { trunk, id, unsent_max, finished, window, unanswered };
        let progress = if opener {
            flow.join.pump(&mut kernel, &mut stream, most)
        } else {
            flow.join.pump(&mut stream, &mut kernel, most)
        };
        if kernel.socket.has_failed() {
            return Fate::Over(End::Reset);
        }
        if opener && flow.class.carried(flow.join.carried().iter().sum()) {
            trunk.prioritize(id, flow.class.with(&self.core.config.dscp));
        }
        let bytes = flow.carried_since(before);
        self.users.passed(now, slot, &flow.claims, &self.core.config.users, (bytes, most));
        self.fate(now, slot, flow, progress)
    }

    /// Resets connections that hold much of an association's memory, where it has been used up for long.
    fn relieve_due(&mut self, now: Time) {
        let engine = &self.core.links.engine;
        let holds = |link, eighths| engine.link(link).map(|link| link.trunk.holds_more_than(eighths));
        for link in self.users.shortage.search(now, holds) {
            self.relieve(now, link);
        }
    }

    fn relieve(&mut self, now: Time, link: u32) {
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
        let connections = self.core.flows.of_link(link).into_iter().filter_map(|slot| {
            let flow = self.core.flows.get(slot)?;
            Some((flow.claims.owner?, trunk.readable(flow.stream?.1), slot))
        });
        let most = most_holding(connections, |held| trunk.is_more_than(held, MUCH));
        let Some((user, slots)) = most else { return };
        for slot in slots {
            if !self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(RELIEVED)) {
                return;
            }
            let Some(flow) = self.core.flows.take(slot) else { continue };
            self.core.journal.reset_for_memory(user);
            self.finish(now, slot, flow, End::Reset);
        }
    }

    /// Maps a join's progress to the connection's fate.
    pub(crate) fn fate(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        progress: Progress,
    ) -> Fate {
        match progress {
            Progress::Waits => Fate::Stays,
            Progress::More => Fate::Again,
            Progress::Closed => Fate::Over(End::Closed),
            Progress::Broken(_) => Fate::Over(End::Reset),
            Progress::WaitsForAcknowledgment => {
                self.core.flows.set_timer(slot, Some(now + flow.checks.next_pause()));
                Fate::Stays
            }
        }
    }

    /// Ends a connection, and counts the cause.
    pub(crate) fn finish(&mut self, now: Time, slot: usize, mut flow: SplitConnection, end: End) {
        let [up, down] = flow.join.carried();
        self.core.journal.carried(flow.opener, [up, down]);
        self.core.flows.remove(slot, flow.stream);
        self.connector.ended(now, slot, &flow, &mut self.core.flows);
        self.give_up_held(now, &flow, end);
        self.users.ended(now, slot, &mut flow, &mut self.core);
        if end == End::HandedOver {
            return;
        }
        if let Some(user) = flow.claims.here {
            self.core.journal.counters.users.add(user, [up, down]);
        }
        let (mut socket, user, stream) = (flow.socket, flow.user, flow.stream);
        for socket in [&socket, &user].into_iter().flatten() {
            self.core.flows.unwatch(socket);
        }
        match end {
            End::Closed => {
                self.core.journal.counters.closed += 1;
                [socket, user].into_iter().flatten().for_each(KernelSocket::close);
                return;
            }
            End::HandedOver => return,
            End::Reset => self.core.journal.counters.reset += 1,
            End::Lost => self.core.journal.counters.lost += 1,
            End::Refused(answer) => {
                self.core.journal.refuse(answer, matches!(flow.phase, Phase::Opening));
                // A SOCKS program reads the answer first, which a reset could overtake.
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
                self.core.journal.counters.refuse(answer);
                if let Some(stream) = stream {
                    self.core.links.refuse(now, stream, answer);
                }
                return;
            }
        }
        // Dropping the socket resets its connection.
        if let Some(stream) = stream {
            self.core.links.reset(stream);
        }
    }

    fn take_events(&mut self, now: Time) {
        while let Some(event) = self.core.links.engine.poll_event() {
            match event {
                Event::Up { id, peer, key } => {
                    if let Some(before) = self.core.links.up(now, id, (peer, key), &mut self.core.journal) {
                        self.lose(now, before);
                    }
                }
                Event::Down { id, reason } => self.down(now, id, &format!("{reason:?}")),
                Event::Failed { id, why } => self.down(now, id, &why.to_string()),
                Event::Stream(link, event) => self.handle_stream(now, link, event),
                Event::Moved { id, peer } => self.core.links.moved(id, peer, &mut self.core.journal),
                Event::Refused { from, reason } => {
                    self.core.journal.say(format!("{from}: refused: {reason}"));
                }
            }
        }
    }

    fn down(&mut self, now: Time, id: u32, why: &str) {
        self.core.links.down(now, id, self.core.config.role, why, &mut self.core.journal);
        self.lose(now, id);
    }

    /// Resets all connections of an association; those that wait for a stream of it try another.
    fn lose(&mut self, now: Time, link: u32) {
        for slot in self.core.flows.of_link(link) {
            if let Some(flow) = self.core.flows.take(slot) {
                self.finish(now, slot, flow, End::Lost);
            }
        }
        self.udp.lose(link, &mut self.core);
        self.core.flows.try_streams();
    }

    fn handle_stream(&mut self, now: Time, link: u32, event: TrunkEvent) {
        let id = match event {
            TrunkEvent::Opened(id) => {
                self.core.journal.counters.accepted += 1;
                let slot = self.core.flows.insert(SplitConnection::accepted(now, (link, id)));
                return self.core.flows.set_timer(slot, Some(now + ASKING_MAX));
            }
            TrunkEvent::MayOpen => return self.core.flows.try_streams(),
            TrunkEvent::Received(id, _) => {
                if self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(FULL)) {
                    self.users.shortage.begins(now, link);
                }
                id
            }
            TrunkEvent::AllAcknowledged(id)
            | TrunkEvent::Writable(id)
            | TrunkEvent::PeerFinished(id)
            | TrunkEvent::Reset(id, _) => id,
            TrunkEvent::Datagram => return self.udp.read(now, link, &mut self.core),
            TrunkEvent::Connected | TrunkEvent::Closed(_) | TrunkEvent::Ended(_) => return,
        };
        let Some(slot) = self.core.flows.of_stream((link, id)) else {
            return self.udp.handle_stream(now, (link, id), event, &mut self.core);
        };
        match event {
            TrunkEvent::Reset(..) => {
                if let Some(flow) = self.core.flows.take(slot) {
                    self.finish(now, slot, flow, End::Reset);
                }
            }
            TrunkEvent::PeerFinished(_) => self.core.flows.finish_stream(slot),
            _ => self.core.flows.touch(slot),
        }
    }
}
