//! A host's associations and connections, stepped by a driver: it takes datagrams and the time, and returns batches of packets.
//!
//! Follows HT §5.1.1 for the assignment of packets; a BGN to a closed port is answered by an END.
//! Differs: without an association, an unproven address gets at most three times the bytes received from it, and a BGN counts once.
//! Leaves out the socket and the thread (`driver`).

use crate::associations::{self, Associations};
use crate::batch::Batch;
use crate::connection::{Conn, Failed, Key, PeerChannel, Waiters};
use crate::connections::{Connections, Name};
use crate::entropy::{Entropy, random};
use crate::handshake::{ECHO_LEN, Hello, RefusalReason, parse_refusal, refusal_packet};
use crate::openings::Openings;
use crate::options::{Notice, Options, Security};
use crate::seal::HEADER_LEN;
use crate::socket::Trouble;
use bytes::{Bytes, BytesMut};
use skyhop_transport::stp::{self, Ends, Reason};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Control, End, Packet, emit, parse};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Lateness of the timers served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Number of timers served.
    pub timers: u64,
    /// Timers that were more than a millisecond late.
    pub late: u64,
    /// Sum of the lateness.
    pub total: Span,
    /// Largest lateness.
    pub worst: Span,
}

/// A host.
pub(crate) struct StpHost {
    pub options: Options,
    pub associations: Option<Associations>,
    local: SocketAddr,
    connections: Connections,
    /// Connections that wait for an association, by its number.
    waiting: BTreeMap<u32, Vec<usize>>,
    pub listening: bool,
    pub accepted: VecDeque<Name>,
    pub accepters: Waiters,
    /// Small packets that belong to no connection.
    outgoing: VecDeque<(SocketAddr, Option<IpAddr>, Vec<u8>)>,
    openings: Openings,
    swept_at: Time,
    entropy: Arc<dyn Entropy>,
    arena: BytesMut,
    /// Lines for the key log.
    pub key_lines: Vec<String>,
    /// Set if the socket is no longer usable.
    pub broken: Option<Failed>,
    /// Number of the application's handles.
    pub handles: usize,
    pub lateness: Lateness,
}

/// Largest number of refusals and similar packets that wait to be sent.
const OUTGOING_MAX: usize = 1024;
/// Packets of a connection in one turn.
const TURN: usize = 64;
/// Size of a shared allocation, bytes.
const ARENA: usize = 64 << 10;

impl Lateness {
    fn add(&mut self, late: Span) {
        self.timers += 1;
        self.late += u64::from(late > Span::from_millis(1));
        self.total += late;
        self.worst = self.worst.max(late);
    }
}

impl StpHost {
    /// A host at time `now`, which is `wall_ms` since 1970.
    pub fn new(
        now: Time,
        wall_ms: u64,
        options: Options,
        local: SocketAddr,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let associations = match &options.security {
            Security::Sealed(config) => Some(Associations::new(now, (**config).clone(), entropy.clone())),
            Security::Insecure => None,
        };
        StpHost {
            options,
            associations,
            local,
            connections: Connections::default(),
            waiting: BTreeMap::new(),
            listening: false,
            accepted: VecDeque::new(),
            accepters: Waiters::default(),
            outgoing: VecDeque::new(),
            openings: Openings::new(now, wall_ms),
            swept_at: now,
            entropy,
            arena: BytesMut::new(),
            key_lines: Vec::new(),
            broken: None,
            handles: 1,
            lateness: Lateness::default(),
        }
    }

    /// A connection by its name.
    pub fn get_mut(&mut self, name: Name) -> Option<&mut Conn> {
        self.connections.named(name)
    }

    /// Returns true if all connections have ended.
    pub fn at_rest(&self) -> bool {
        self.connections.at_rest() && self.outgoing.is_empty()
    }

    /// Allows others to connect.
    pub fn listen(&mut self) {
        self.listening = true;
        if let Some(associations) = &mut self.associations {
            associations.accept(true);
        }
    }

    /// Opens a connection to a port of a peer.
    pub fn connect(&mut self, now: Time, peer: SocketAddr, port: u16) -> io::Result<Name> {
        if let Some(broken) = &self.broken {
            return Err(broken.error());
        }
        if self.connections.len() >= self.options.connections_max {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "this host has as many connections as it may",
            ));
        }
        let ends = Ends {
            // The upper half, so that the first byte of an STP packet from here is never below 128.
            local_port: self.random_u32() as u16 | 0x8000,
            remote_port: port,
            instance: self.random_u32() as u16,
            count: self.openings.next_count(now),
        };
        let machine = stp::Connection::connect(self.options.stp_for(peer), ends, self.random_u32());
        let overhead = self.options.overhead(peer);
        let name = self.connections.insert(Conn::new(machine, peer, overhead));
        if self.associations.is_none() {
            self.start(name.slot, PeerChannel::Plain(peer));
            return Ok(name);
        }
        match self.known_association(now, peer) {
            Some(id) => self.start(name.slot, PeerChannel::Sealed(id)),
            None => {
                let associations = self.associations.as_mut().expect("seen above");
                let Some(id) = associations.connect(now, peer) else {
                    self.connections.remove(name.slot);
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "the key is no key"));
                };
                self.waiting.insert(id, vec![name.slot]);
            }
        }
        Ok(name)
    }

    /// An open association with the peer that was heard from recently.
    fn known_association(&mut self, now: Time, peer: SocketAddr) -> Option<u32> {
        let idle = Span::from_nanos(self.options.association_idle.as_nanos() as u64);
        let associations = self.associations.as_mut()?;
        let ids: Vec<u32> = associations.ids().collect();
        ids.into_iter().find(|id| {
            associations.get_mut(*id).is_some_and(|a| a.peer == peer && now.since(a.heard_at) < idle)
        })
    }

    fn random_u32(&self) -> u32 {
        u32::from_be_bytes(random(&*self.entropy))
    }

    /// Starts a connection on its channel.
    fn start(&mut self, slot: usize, channel: PeerChannel) {
        let Some(conn) = self.connections.get_mut(slot) else { return };
        // Writers that waited for the connection to open may write now.
        conn.writers.wake();
        conn.finishers.wake();
        let Ends { local_port, remote_port, instance, .. } = conn.machine.ends();
        self.connections.bind(slot, Key { channel, local_port, remote_port, instance });
        self.connections.touch(slot);
    }

    /// Gives a turn to a connection that may have something to send.
    pub fn touch(&mut self, slot: usize) {
        self.connections.touch(slot);
    }

    /// Handles a datagram from the network to one of this host's addresses. Returns true if it requires an answer, which must be
    /// taken before the next datagram, since a second one would replace it.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: Option<IpAddr>,
        datagram: &mut [u8],
    ) -> bool {
        let len = datagram.len();
        let Some(associations) = &mut self.associations else {
            return self.handle_plain(now, from, to, datagram);
        };
        let opened = associations.handle_datagram(now, from, datagram);
        while let Some((peer, packet)) = associations.poll_transmit() {
            self.outgoing.push_back((peer, to, packet));
        }
        self.take_events();
        let Some((id, contents)) = opened else { return false };
        let Ok(packet) = parse(&datagram[contents]) else { return false };
        let asks = packet.poll.is_some();
        self.deliver(now, PeerChannel::Sealed(id), from, to, len, packet);
        asks
    }

    fn handle_plain(&mut self, now: Time, from: SocketAddr, to: Option<IpAddr>, datagram: &[u8]) -> bool {
        if let Ok(packet) = parse(datagram) {
            let asks = packet.poll.is_some();
            self.deliver(now, PeerChannel::Plain(from), from, to, datagram.len(), packet);
            return asks;
        }
        if let Some((_, echo, reason)) = parse_refusal(datagram) {
            self.handle_refusal(from, echo, reason);
            return false;
        }
        if let Some(hello) = Hello::parse(datagram)
            && self.listening
            && self.outgoing.len() < OUTGOING_MAX
        {
            let echo = hello.noise[..ECHO_LEN].try_into().expect("of this length");
            self.outgoing.push_back((from, to, refusal_packet(RefusalReason::PlainOnly, hello.index, &echo)));
            self.notice(&Notice::Refused(from, RefusalReason::PlainOnly));
        }
        false
    }

    /// Handles a refusal by a peer that seals. A single such packet proves nothing; three suffice.
    fn handle_refusal(&mut self, from: SocketAddr, echo: &[u8], reason: RefusalReason) {
        for conn in self.connections.iter_mut().filter(|c| c.peer == from && !c.connected) {
            let ends = conn.machine.ends();
            if echo[..4] == [ends.local_port.to_be_bytes(), ends.remote_port.to_be_bytes()].concat() {
                conn.hints += 1;
                if conn.hints >= 3 {
                    conn.machine.reset();
                    conn.fail(Failed {
                        kind: io::ErrorKind::PermissionDenied,
                        message: format!("{from}: {reason}"),
                    });
                }
            }
        }
    }

    fn deliver(
        &mut self,
        now: Time,
        channel: PeerChannel,
        from: SocketAddr,
        to: Option<IpAddr>,
        len: usize,
        packet: Packet<&[u8]>,
    ) {
        let key = Key {
            channel,
            local_port: packet.destination_port,
            remote_port: packet.source_port,
            instance: packet.instance,
        };
        let slot = match self.connections.find(&key) {
            Some(slot) => slot,
            None => match self.begin(&key, from, to, &packet) {
                Some(slot) => slot,
                None => return,
            },
        };
        let arena = &mut self.arena;
        let packet = packet.map(|data| keep(arena, data));
        let Some(conn) = self.connections.get_mut(slot) else { return };
        conn.traffic.packets_received += 1;
        conn.traffic.bytes_received += conn.beneath() + len as u64;
        conn.believe(&packet);
        // An end that has connected may move: the kernel chooses its source address.
        conn.reply_from = to.filter(|_| conn.accepted);
        conn.machine.handle_packet(now, &packet);
        self.settle(slot);
        self.touch(slot);
    }

    /// Handles a packet of no connection: a BGN opens one if the application listens.
    fn begin(
        &mut self,
        key: &Key,
        from: SocketAddr,
        to: Option<IpAddr>,
        packet: &Packet<&[u8]>,
    ) -> Option<usize> {
        let begin = packet.control.as_ref()?.begin?;
        let plain = matches!(key.channel, PeerChannel::Plain(_));
        // A host that never listens stays silent: over IP it also receives its own packets.
        let listens = self.listening.then_some(key.local_port == self.local.port())?;
        if !listens
            || self.accepted.len() >= self.options.backlog
            || self.connections.len() >= self.options.connections_max
        {
            self.refuse(key, from, to);
            return None;
        }
        if plain {
            let begun = (from.ip(), key.remote_port, key.instance, begin.count);
            if !self.openings.first_seen(begun) {
                return None;
            }
        }
        let ends = Ends { local_port: key.local_port, ..Ends::default() };
        let config = self.options.stp_for(from);
        let machine = stp::Connection::listen(config, ends, self.random_u32());
        let overhead = self.options.overhead(from);
        let mut conn = Conn::new(machine, from, overhead);
        conn.unproven = plain;
        conn.accepted = true;
        let name = self.connections.insert(conn);
        self.connections.bind(name.slot, *key);
        self.accepted.push_back(name);
        self.accepters.wake();
        Some(name.slot)
    }

    /// Answers a BGN to a closed port. The answer is shorter than the BGN.
    fn refuse(&mut self, key: &Key, from: SocketAddr, reply_from: Option<IpAddr>) {
        if self.outgoing.len() >= OUTGOING_MAX {
            return;
        }
        let control = Control { end: Some(End { reason: Reason::Refused }), ..Control::default() };
        let packet = Packet::<Bytes> {
            source_port: key.local_port,
            destination_port: key.remote_port,
            instance: key.instance,
            seq: 0,
            poll: None,
            data: None,
            control: Some(Box::new(control)),
        };
        let mut bytes = Vec::new();
        match key.channel {
            PeerChannel::Plain(_) => emit(&packet, &mut bytes),
            PeerChannel::Sealed(id) => {
                let Some(association) = self.associations.as_mut().and_then(|a| a.get_mut(id)) else {
                    return;
                };
                bytes.resize(HEADER_LEN, 0);
                emit(&packet, &mut bytes);
                association.seal(&mut bytes, 0);
            }
        }
        self.outgoing.push_back((from, reply_from, bytes));
    }

    fn take_events(&mut self) {
        while let Some(event) = self.associations.as_mut().and_then(Associations::poll_event) {
            match event {
                associations::Event::Opened { id, peer, key } => {
                    for slot in self.waiting.remove(&id).unwrap_or_default() {
                        self.start(slot, PeerChannel::Sealed(id));
                    }
                    self.notice(&Notice::Opened(peer, key));
                }
                associations::Event::Failed { id, why } => {
                    let kind = match why {
                        associations::AssociationFailure::Refused(_) => io::ErrorKind::PermissionDenied,
                        associations::AssociationFailure::Unreachable => io::ErrorKind::ConnectionRefused,
                        associations::AssociationFailure::NotStp => io::ErrorKind::InvalidData,
                        associations::AssociationFailure::NoAnswer => io::ErrorKind::TimedOut,
                    };
                    for slot in self.waiting.remove(&id).unwrap_or_default() {
                        if let Some(conn) = self.connections.get_mut(slot) {
                            conn.fail(Failed { kind, message: format!("{}: {why}", conn.peer) });
                        }
                        self.settle(slot);
                    }
                }
                associations::Event::Lost { id, instead } => self.lose(id, instead),
                associations::Event::Moved { id, peer } => {
                    for conn in self.connections.iter_mut() {
                        if conn.channel == Some(PeerChannel::Sealed(id)) {
                            conn.peer = peer;
                        }
                    }
                    self.notice(&Notice::Moved(peer));
                }
                associations::Event::Refused { from, reason } => self.notice(&Notice::Refused(from, reason)),
                associations::Event::Keys(line) => self.key_lines.push(line),
            }
        }
    }

    /// Handles the loss of an association at the peer, and so of all its connections. Connections that the peer never knew are
    /// opened again in another association.
    fn lose(&mut self, id: u32, instead: u32) {
        for slot in self.connections.slots() {
            let Some(conn) = self.connections.get_mut(slot) else { continue };
            if conn.channel != Some(PeerChannel::Sealed(id)) {
                continue;
            }
            if !conn.connected && !conn.accepted {
                self.start(slot, PeerChannel::Sealed(instead));
            } else {
                conn.machine.reset();
                conn.fail(Failed {
                    kind: io::ErrorKind::ConnectionReset,
                    message: format!("{}: the peer was restarted, and this connection is lost", conn.peer),
                });
                self.settle(slot);
                self.touch(slot);
            }
        }
    }

    pub fn notice(&self, notice: &Notice) {
        if let Some(take) = &self.options.notices {
            take(notice);
        }
    }

    /// Handles a network error reported by the kernel.
    pub fn handle_trouble(&mut self, now: Time, trouble: Trouble) {
        let mtu = self.options.least_mtu();
        match trouble {
            Trouble::Unreachable(host) => {
                if let Some(associations) = &mut self.associations {
                    associations.handle_unreachable(now, host);
                    self.take_events();
                }
                let message = "nothing listens at that address and port";
                self.hint(now, |c| c.peer.ip() == host, io::ErrorKind::ConnectionRefused, message);
            }
            Trouble::TooBig(most) if most < mtu => {
                let message =
                    format!("the path carries packets of {most} bytes and not of {mtu}: use --mtu {most}");
                self.hint(now, |_| true, io::ErrorKind::InvalidInput, &message);
            }
            Trouble::TooBig(_) => {}
        }
    }

    /// Handles an error that the interface does not carry datagrams of `len` bytes to a peer, which needs no proof. It does not
    /// matter while the size is only probed.
    pub fn handle_too_big(&mut self, peer: SocketAddr, len: usize) {
        let mtu = self.options.least_mtu();
        if len as u32 + if peer.is_ipv4() { 28 } else { 48 } > mtu {
            return;
        }
        let message = format!(
            "packets of {mtu} bytes are larger than this host's interface carries: use a smaller --mtu"
        );
        for conn in self.connections.iter_mut().filter(|c| c.peer == peer) {
            conn.machine.reset();
            conn.fail(Failed { kind: io::ErrorKind::InvalidInput, message: message.clone() });
        }
    }

    fn hint(&mut self, now: Time, concerned: impl Fn(&Conn) -> bool, kind: io::ErrorKind, message: &str) {
        for slot in self.connections.slots() {
            if let Some(conn) = self.connections.get_mut(slot).filter(|c| concerned(c)) {
                conn.hint(now, kind, format!("{}: {message}", conn.peer));
                self.touch(slot);
            }
        }
    }

    /// Serves the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if let Some(associations) = &mut self.associations
            && associations.poll_timeout().is_some_and(|at| at <= now)
        {
            associations.handle_timeout(now);
        }
        while let Some((peer, packet)) = self.associations.as_mut().and_then(Associations::poll_transmit) {
            self.outgoing.push_back((peer, None, packet));
        }
        self.take_events();
        self.sweep(now);
        while let Some((at, slot)) = self.connections.take_due(now) {
            self.lateness.add(now.since(at));
            if let Some(conn) = self.connections.get_mut(slot) {
                conn.machine.handle_timeout(now);
                conn.judge_hint(now);
                self.settle(slot);
            }
            self.touch(slot);
        }
    }

    /// Forgets associations that have not been used for long.
    fn sweep(&mut self, now: Time) {
        let idle = Span::from_nanos(self.options.association_idle.as_nanos() as u64);
        let Some(associations) = self.associations.as_mut().filter(|_| now.since(self.swept_at) >= idle)
        else {
            return;
        };
        self.swept_at = now;
        let used = self.connections.channels();
        let unused = associations.ids().filter(|id| !used.contains(&PeerChannel::Sealed(*id)));
        for id in unused.collect::<Vec<_>>() {
            // The peer may keep it for as long as `idle`; ten times that is safe.
            if associations.get_mut(id).is_some_and(|a| now.since(a.heard_at) > idle * 10) {
                associations.forget(id);
            }
        }
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        let associations = self.associations.as_ref().and_then(Associations::poll_timeout);
        self.connections.poll_timeout().into_iter().chain(associations).min()
    }

    /// Handles the events of a connection.
    fn settle(&mut self, slot: usize) {
        let enough = (self.options.send_buffer as u64 / 4) * 3;
        if let Some(conn) = self.connections.get_mut(slot) {
            conn.take_events(enough);
        }
    }

    /// Appends packets to the batch until it is full or there are none. Returns true if there are more.
    pub fn fill(&mut self, now: Time, batch: &mut Batch) -> bool {
        while let Some((to, from, packet)) = self.outgoing.pop_front() {
            let start = batch.buffer.len();
            batch.buffer.extend_from_slice(&packet);
            batch.push(to, from, start);
        }
        while !batch.is_full() {
            let Some(slot) = self.connections.next_turn() else { return false };
            if self.send_turn(now, slot, batch) {
                self.touch(slot);
            }
        }
        true
    }

    /// A connection's turn to send. Returns true if it may have more.
    fn send_turn(&mut self, now: Time, slot: usize, batch: &mut Batch) -> bool {
        let Some(conn) = self.connections.get_mut(slot) else { return false };
        let Some(channel) = conn.channel else {
            if conn.is_over() {
                self.connections.remove(slot);
            }
            return false;
        };
        for _ in 0..TURN {
            let Some(packet) = conn.poll_transmit(now) else {
                self.rest(now, slot);
                return false;
            };
            let start = batch.buffer.len();
            let fragments = packet.data.is_some() && packet.wire_len() > conn.machine.packet_size() as usize;
            match channel {
                PeerChannel::Plain(_) => emit(&packet, &mut batch.buffer),
                PeerChannel::Sealed(id) => {
                    // Associations in use by connections are not forgotten.
                    let Some(association) = self.associations.as_mut().and_then(|a| a.get_mut(id)) else {
                        break;
                    };
                    batch.buffer.resize(start + HEADER_LEN, 0);
                    emit(&packet, &mut batch.buffer);
                    association.seal(&mut batch.buffer, start);
                }
            }
            conn.traffic.packets_sent += 1;
            conn.traffic.bytes_sent += conn.beneath() + (batch.buffer.len() - start) as u64;
            if fragments {
                batch.push_fragmentable(conn.peer, conn.reply_from, start);
            } else {
                batch.push(conn.peer, conn.reply_from, start);
            }
        }
        true
    }

    /// Ends the turn of a connection that has nothing more to send.
    fn rest(&mut self, now: Time, slot: usize) {
        self.settle(slot);
        let Some(conn) = self.connections.get_mut(slot) else { return };
        let due = conn.machine.poll_timeout().into_iter().chain(conn.hint_timeout()).min();
        if conn.is_over() && due.is_none() {
            return self.connections.remove(slot);
        }
        // A timer in the past would make a busy loop.
        self.connections.set_timer(slot, due.map(|at| at.max(now + Span::from_micros(20))));
    }

    /// Fails all connections, after the socket has failed.
    pub fn break_down(&mut self, failed: &Failed) {
        for conn in self.connections.iter_mut() {
            conn.fail(failed.clone());
        }
        self.broken = Some(failed.clone());
        self.accepters.wake();
    }

    /// Handles the application's release of a connection.
    pub fn let_go(&mut self, name: Name) {
        let Some(conn) = self.get_mut(name) else { return };
        conn.owned = false;
        if conn.machine.readable() > 0 {
            // As in TCP, the peer learns that not all data were read.
            conn.machine.reset();
        } else {
            conn.machine.shutdown();
        }
        let nowhere = conn.channel.is_none();
        if nowhere {
            self.waiting.values_mut().for_each(|slots| slots.retain(|slot| *slot != name.slot));
            self.connections.remove(name.slot);
        } else {
            self.settle(name.slot);
            self.touch(name.slot);
        }
    }
}

/// Copies data into shared memory: many packets share an allocation, so that a small one does not keep a large one alive.
fn keep(arena: &mut BytesMut, data: &[u8]) -> Bytes {
    if arena.capacity() < data.len() {
        *arena = BytesMut::with_capacity(ARENA.max(data.len()));
    }
    arena.extend_from_slice(data);
    arena.split().freeze()
}
