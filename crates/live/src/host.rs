//! A host's associations and connections, stepped by a driver: it takes datagrams and the time, and returns batches of packets.
//!
//! Follows HT §5.1.1 for the assignment of packets; a BGN without a listener is answered by an END.
//! Differs: without an association, at most three times the bytes received from an address are sent there before it is proven, a BGN
//! counts once, and if many addresses are unproven the application gets their connections when they are proven.
//! Leaves out the socket and the thread (`driver`), and evidence against a connection (`refusals`).

use crate::associations;
use crate::backlog::Backlog;
use crate::batch::Batch;
use crate::channels::{PeerChannels, TurnEnd};
use crate::connection::{Conn, Failed, Key, Most, PeerChannel, PeerPath, Standing};
use crate::connections::{Connections, Name, SharedConn, lock};
use crate::entropy::Entropy;
use crate::fullness::FullReason;
use crate::handshake::{Hello, RefusalReason, parse_refusal};
use crate::memory::HostMemory;
use crate::openings::Openings;
use crate::options::{Notice, Options, Security};
use crate::refusals;
use crate::socket::{Carrier, Trouble, TroubleKind};
use crate::unproven::Unproven;
use bytes::Bytes;
use skyhop_transport::stp::Ends;
use skyhop_units::Time;
use skyhop_wire::Ecn;
use skyhop_wire::stp::{Packet, parse};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

/// A host.
pub(crate) struct StpHost {
    options: Options,
    channels: PeerChannels,
    connections: Connections,
    backlog: Backlog,
    openings: Openings,
    /// Connections whose peers' addresses are not proven.
    unproven: Unproven,
    /// Set if the socket is no longer usable.
    broken: Option<Failed>,
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
        let connections = Connections::new(HostMemory::new(options.memory), options.connections_max);
        let own_port = (options.carrier != Carrier::Udp).then(|| local.port());
        let backlog = Backlog::new(options.backlog, own_port);
        let unproven = Unproven::new(options.memory, options.least_kept());
        let channels = PeerChannels::new(now, &options.security, &entropy);
        StpHost {
            options,
            channels,
            connections,
            backlog,
            openings: Openings::new(now, wall_ms, entropy),
            unproven,
            broken: None,
        }
    }

    fn most(&self) -> Most {
        Most { received: self.options.stp.window, written: self.options.send_buffer as u64 }
    }

    /// Returns true if all connections have ended and have all answers.
    pub fn may_leave(&self, now: Time) -> bool {
        self.connections.may_leave(now) && self.has_said_all()
    }

    /// Returns true if all connections have ended, also for their peers.
    pub fn at_rest(&self, now: Time) -> bool {
        self.connections.at_rest(now) && self.has_said_all()
    }

    /// Allows others to connect.
    pub fn listen(&mut self) {
        self.backlog.open();
        self.channels.listen();
    }

    /// Opens a connection to a port of a peer.
    pub fn connect(&mut self, now: Time, peer: SocketAddr, port: u16) -> io::Result<(Name, SharedConn)> {
        if let Some(broken) = &self.broken {
            return Err(broken.error());
        }
        if self.connections.is_full() {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "this host has as many connections as it may",
            ));
        }
        let machine = self.openings.active(now, self.options.stp_for(peer), port);
        let path = PeerPath::new(peer, self.options.overhead(peer), false);
        let memory = (self.connections.memory(), self.options.least_kept());
        let Some(conn) = Conn::new(machine, path, Standing::opened_here(), memory, self.most()) else {
            let message = format!(
                "this host's connections hold {} of the {} bytes that they may: there is no room for one more",
                self.connections.memory().used(),
                self.options.memory
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, message));
        };
        let name = self.connections.insert(conn);
        let conn = self.connections.named(name).expect("just put there").clone();
        match self.channels.open(now, peer, name.slot) {
            Ok(Some(channel)) => self.start(now, name.slot, channel),
            Ok(None) => {}
            Err(error) => {
                self.connections.remove(name.slot);
                return Err(error);
            }
        }
        Ok((name, conn))
    }

    /// Assigns a channel to a connection, for its packets.
    fn start(&mut self, now: Time, slot: usize, channel: PeerChannel) {
        let Some(conn) = self.connections.locked(slot) else { return };
        let Ends { local_port, remote_port, instance, .. } = conn.machine.ends();
        drop(conn);
        self.bind(now, slot, Key { channel, local_port, remote_port, instance });
        // An application that is woken before finds no channel, and waits again.
        if let Some(mut conn) = self.connections.locked(slot) {
            conn.wake_opened();
        }
        self.connections.touch(slot);
    }

    fn bind(&mut self, now: Time, slot: usize, key: Key) {
        self.connections.bind(slot, key);
        self.channels.set_used(now, key.channel, true);
    }

    /// Removes a connection, and marks its association as unused if it was the last one.
    fn remove(&mut self, now: Time, slot: usize) {
        let channel = self.connections.locked(slot).and_then(|conn| conn.path.channel());
        self.unproven.remove(self.connections.name(slot));
        self.connections.remove(slot);
        if let Some(channel) = channel.filter(|channel| self.connections.of_channel(*channel) == 0) {
            self.channels.set_used(now, channel, false);
        }
    }

    /// Ready with a connection for the application and its peer's address, or with an error if there will never be one.
    pub fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<io::Result<(Name, SharedConn, SocketAddr)>> {
        if let Some(accepted) = self.accept() {
            return Poll::Ready(Ok(accepted));
        }
        if let Some(broken) = &self.broken {
            return Poll::Ready(Err(broken.error()));
        }
        self.backlog.wait(cx);
        Poll::Pending
    }

    fn accept(&mut self) -> Option<(Name, SharedConn, SocketAddr)> {
        while let Some(name) = self.backlog.pop() {
            let Some(shared) = self.connections.named(name).cloned() else { continue };
            let mut conn = lock(&shared);
            if conn.has_failed() {
                // It was refused, for its version or by its own END, before the application accepted it.
                drop(conn);
                self.let_go(name);
                continue;
            }
            let peer = conn.path.peer();
            conn.take();
            drop(conn);
            self.connections.touch(name.slot);
            return Some((name, shared, peer));
        }
        None
    }

    /// Handles a datagram from the network: its source, which of this host's addresses it is for, its ECN field, and its bytes. Returns
    /// true if it requires an answer, which must be taken before the next datagram, since a second one would replace it.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        (from, to, field): (SocketAddr, Option<IpAddr>, Ecn),
        datagram: &mut [u8],
    ) -> bool {
        let len = datagram.len();
        let arrived = self.channels.handle_datagram(now, (from, to), datagram);
        self.take_events(now);
        let Some((channel, contents)) = arrived else { return false };
        let Ok(packet) = parse(&datagram[contents]) else {
            if matches!(channel, PeerChannel::Plain(_)) {
                self.handle_foreign(from, to, datagram);
            }
            return false;
        };
        let asks = packet.poll.is_some();
        self.deliver(now, channel, (from, to, field), len, packet);
        asks
    }

    /// Handles a datagram that is no packet of STP: perhaps from a peer that encrypts.
    fn handle_foreign(&mut self, from: SocketAddr, to: Option<IpAddr>, datagram: &[u8]) {
        if let Some((_, echo, reason)) = parse_refusal(datagram) {
            refusals::count(&self.connections, from, echo, reason);
        } else if let Some(hello) = Hello::parse(datagram)
            && self.backlog.is_open()
            && self.channels.refuse_hello(&hello, from, to)
        {
            self.notice(&Notice::Refused(from, RefusalReason::PlainOnly));
        }
    }

    fn deliver(
        &mut self,
        now: Time,
        channel: PeerChannel,
        (from, to, field): (SocketAddr, Option<IpAddr>, Ecn),
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
            None => match self.begin(now, &key, from, to, &packet) {
                Some(slot) => slot,
                None => return,
            },
        };
        // An allocation for each packet: one that waits must not keep others in memory.
        let packet = packet.map(Bytes::copy_from_slice);
        let Some(mut conn) = self.connections.locked(slot) else { return };
        let proven = conn.handle_packet(now, (to, field), len, &packet);
        drop(conn);
        if proven {
            self.unproven.remove(self.connections.name(slot));
            self.offer(slot);
        }
        self.connections.touch(slot);
    }

    /// Handles a packet of no connection: a BGN opens one if the application listens.
    fn begin(
        &mut self,
        now: Time,
        key: &Key,
        from: SocketAddr,
        to: Option<IpAddr>,
        packet: &Packet<&[u8]>,
    ) -> Option<usize> {
        let begin = packet.control.as_ref()?.begin?;
        let plain = matches!(key.channel, PeerChannel::Plain(_));
        // A host that never listens stays silent: over IP it also sees the packets that it has sent to itself.
        self.backlog.is_open().then_some(())?;
        if !self.backlog.is_at(key.local_port) {
            self.channels.refuse(key, from, to);
            return None;
        }
        if let Some(why) = self.is_full_for(key.channel) {
            self.refuse_as_full(now, why, key, from, to);
            return None;
        }
        let begun = (from.ip(), key.remote_port, key.instance, begin.count);
        if plain && !self.unproven.first_seen(begun) {
            return None;
        }
        let mut config = self.options.stp_for(from);
        let at_once = !plain || self.unproven.are_few();
        let window = if plain { self.unproven.window() } else { self.backlog.window() };
        let (memory, least) = (self.connections.memory_of(key.channel), self.options.least_kept());
        config.window = config.window.min(window).min(memory.fair().max(least));
        let machine = self.openings.passive(config, key.local_port);
        let path = PeerPath::new(from, self.options.overhead(from), plain);
        let memory = (&memory, least);
        let Some(conn) = Conn::new(machine, path, Standing::opened_by_peer(), memory, self.most()) else {
            if plain {
                // It may come again when there is room.
                self.unproven.forget(&begun);
            }
            self.refuse_as_full(now, FullReason::Memory, key, from, to);
            return None;
        };
        let name = self.connections.insert(conn);
        self.bind(now, name.slot, *key);
        if plain && let Some(oldest) = self.unproven.push(name, begun) {
            self.displace(now, oldest.slot);
        }
        if at_once {
            self.offer(name.slot);
        }
        Some(name.slot)
    }

    /// The reason for which there is no place for another connection of this channel.
    fn is_full_for(&self, channel: PeerChannel) -> Option<FullReason> {
        if self.backlog.is_full() {
            Some(FullReason::Backlog)
        } else if self.connections.is_full() {
            Some(FullReason::Connections)
        } else if self.connections.is_full_for(channel) {
            Some(FullReason::Association)
        } else {
            None
        }
    }

    /// Refuses a connection for which there is no place.
    fn refuse_as_full(
        &mut self,
        now: Time,
        why: FullReason,
        key: &Key,
        from: SocketAddr,
        reply_from: Option<IpAddr>,
    ) {
        if self.backlog.refuse(now, why) {
            self.notice(&Notice::Full(from, why));
        }
        self.channels.refuse(key, from, reply_from);
    }

    /// The application may take a connection, if it has not been told of it before.
    fn offer(&mut self, slot: usize) {
        let Some(mut conn) = self.connections.locked(slot) else { return };
        if !conn.list(self.backlog.window()) {
            return;
        }
        drop(conn);
        if self.backlog.push(self.connections.name(slot)) {
            return;
        }
        if let Some(mut conn) = self.connections.locked(slot) {
            conn.refuse();
        }
        self.connections.touch(slot);
    }

    /// Ends the connection of an unproven address that makes room for another.
    fn displace(&mut self, now: Time, slot: usize) {
        if let Some(mut conn) = self.connections.locked(slot) {
            let message = "the peer has not proven its address, and others came";
            conn.fail(Failed::new(io::ErrorKind::TimedOut, message));
        }
        self.remove(now, slot);
    }

    fn take_events(&mut self, now: Time) {
        while let Some(event) = self.channels.poll_event() {
            match event {
                associations::Event::Opened { id, peer, key } => {
                    for slot in self.channels.take_waiting(id) {
                        self.start(now, slot, PeerChannel::Sealed(id));
                    }
                    self.notice(&Notice::Opened(peer, key));
                }
                associations::Event::Failed { id, why } => {
                    refusals::fail(&self.connections, self.channels.take_waiting(id), why);
                }
                associations::Event::Unanswered { peer } => {
                    if let Security::Sealed(config) = &self.options.security {
                        self.notice(&Notice::Unanswered(peer, config.opening));
                    }
                }
                associations::Event::Lost { id, instead } => self.lose(now, id, instead),
                associations::Event::Ended { id } => refusals::doubt(&mut self.connections, now, id),
                associations::Event::Moved { id, peer } => {
                    for slot in self.connections.slots_of(PeerChannel::Sealed(id)) {
                        if let Some(mut conn) = self.connections.locked(slot) {
                            conn.path.move_to(peer);
                        }
                    }
                    self.notice(&Notice::Moved(peer));
                }
                associations::Event::Refused { from, reason } => self.notice(&Notice::Refused(from, reason)),
                associations::Event::Keys(line) => self.channels.log_keys(line),
            }
        }
    }

    /// Handles a peer's loss of an association with all of its connections. Connections of which the peer never knew begin again in another
    /// association.
    fn lose(&mut self, now: Time, id: u32, instead: u32) {
        for slot in self.connections.slots_of(PeerChannel::Sealed(id)) {
            if self.connections.locked(slot).is_some_and(|conn| conn.is_news_to_peer()) {
                self.start(now, slot, PeerChannel::Sealed(instead));
                continue;
            }
            refusals::reset(&self.connections, slot, "the peer was restarted, and this connection is lost");
            self.connections.touch(slot);
        }
    }

    pub fn notice(&self, notice: &Notice) {
        if let Some(take) = &self.options.notices {
            take(notice);
        }
    }

    /// Handles an error that the network reported to the kernel.
    pub fn handle_trouble(&mut self, now: Time, trouble: &Trouble) {
        if trouble.kind == TroubleKind::Unreachable {
            self.channels.handle_unreachable(now, trouble.to, &trouble.quote);
            self.take_events(now);
        }
        refusals::weigh(&mut self.connections, &self.channels, now, trouble, self.options.least_mtu());
    }

    /// Handles the interface's report that it does not carry datagrams of so many bytes to a peer.
    pub fn handle_too_big(&mut self, peer: SocketAddr, len: usize) {
        refusals::too_big(&self.connections, &self.channels, peer, len, self.options.least_mtu());
    }

    /// Serves the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.channels.handle_timeout(now);
        self.take_events(now);
        self.connections.handle_timeout(now);
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.connections.poll_timeout().into_iter().chain(self.channels.poll_timeout()).min()
    }

    /// Appends packets to the batch until it is full or there are none. Returns true if there are more.
    pub fn fill(&mut self, now: Time, batch: &mut Batch) -> bool {
        self.channels.fill(batch);
        while !batch.is_full() {
            let Some(slot) = self.connections.next_turn() else { return false };
            if self.send_turn(now, slot, batch) {
                self.connections.touch(slot);
            }
        }
        true
    }

    /// Serves a connection's turn to send. Returns true if it may have more.
    fn send_turn(&mut self, now: Time, slot: usize, batch: &mut Batch) -> bool {
        let Some(shared) = self.connections.get(slot).cloned() else { return false };
        let mut conn = lock(&shared);
        conn.turn.begin();
        let Some(channel) = conn.path.channel() else {
            let over = conn.is_over();
            drop(conn);
            if over {
                self.remove(now, slot);
            }
            return false;
        };
        let end = self.channels.send_turn(now, channel, &mut conn, batch);
        drop(conn);
        match end {
            TurnEnd::Spent => return true,
            TurnEnd::Rest => {
                if self.connections.rest(now, slot) {
                    self.remove(now, slot);
                }
            }
            TurnEnd::Stranded => {
                refusals::reset(&self.connections, slot, "the association with the peer is over");
                if self.connections.locked(slot).is_some_and(|conn| conn.is_over()) {
                    self.connections.remove(slot);
                }
            }
        }
        false
    }

    /// Ends all associations; nothing more is sent in them.
    pub fn say_goodbye(&mut self) {
        self.channels.end_all();
    }

    /// Returns true if nothing waits to be sent beside connections.
    pub fn has_said_all(&self) -> bool {
        self.channels.has_said_all()
    }

    /// Takes the lines for the key log.
    pub fn take_key_lines(&mut self) -> Vec<String> {
        self.channels.take_key_lines()
    }

    /// The channels to peers.
    pub fn channels(&self) -> &PeerChannels {
        &self.channels
    }

    /// All connections.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Connections that wait to be accepted.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Fails all connections, after the socket has failed.
    pub fn break_down(&mut self, failed: &Failed) {
        for conn in self.connections.iter() {
            lock(conn).fail(failed.clone());
        }
        self.broken = Some(failed.clone());
        self.backlog.wake();
    }

    /// Handles a call of the application on a connection.
    pub fn handle_told(&mut self, name: Name) {
        if self.connections.named(name).is_some() {
            self.connections.touch(name.slot);
        }
    }

    /// Handles the release of a connection by the application.
    pub fn let_go(&mut self, name: Name) {
        let Some(mut conn) = self.connections.named(name).map(|conn| lock(conn)) else { return };
        conn.release();
        let nowhere = conn.path.channel().is_none();
        if nowhere {
            drop(conn);
            self.channels.wait_no_more(name.slot);
            self.connections.remove(name.slot);
        } else {
            conn.take_events();
            drop(conn);
            self.connections.touch(name.slot);
        }
    }
}
