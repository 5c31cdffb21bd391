//! A host with associations that carry streams: it takes datagrams and the time, and returns batches of packets and events.
//!
//! Follows docs/stp.md §15: each open association gets a [`Trunk`], opened by the end that opened the association.
//! Differs from `host`, which has many connections to a peer: here there is one path, and the owner sees streams only.
//! Leaves out the socket, the clock and the thread, and the owner of streams.

mod buffers;
mod link;
mod shared_rate;
mod turns;

use crate::associations::{self, Associations};
use crate::attempts::AssociationFailure;
use crate::batch::Batch;
use crate::entropy::{Entropy, random};
use crate::handshake::RefusalReason;
use crate::keys::{Keys, PublicKey};
use crate::memory::{Holding, HostMemory, MEMORY_LEAST};
use crate::seal::{HEADER_LEN, OVERHEAD};
use crate::socket::{Trouble, TroubleKind};
use buffers::PacketBuffers;
use bytes::Bytes;
pub use link::Link;
use shared_rate::SharedRate;
use skyhop_transport::stp::{self, Budgets, Ends, Frames, Trunk, TrunkEvent};
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{Features, Packet, Reason, UDP_PORT, emit, parse};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use turns::Turns;

/// Configuration of the host.
#[derive(Debug, Clone)]
pub struct Config {
    /// Keys, and parameters of opening associations.
    pub associations: associations::Config,
    /// Parameters of STP. `packet_size`, `base_size` and `overhead` are computed from the MTU.
    pub stp: stp::Config,
    /// Budgets of each association.
    pub budgets: Budgets,
    /// Highest rate of all associations together.
    pub rate: Option<Rate>,
    /// Most bytes that all associations hold together of received data, with a cost for each stream. Each is promised a sixteenth
    /// of what is free when it opens, as far as its window and budgets go; where not even the least is free (84 kB), it is refused.
    pub memory: u64,
    /// Highest rates to single peers, by key, in place of STP's `max_rate`.
    pub rates: BTreeMap<PublicKey, Rate>,
    /// Largest packet of the network layer, bytes.
    pub mtu: u32,
    /// Packet size at which the search for the path's MTU begins.
    pub mtu_base: u32,
}

impl Config {
    /// The default parameters with these keys: idle associations poll, to keep NAT bindings alive and to notice dead peers.
    pub fn new(keys: Keys) -> Self {
        Config {
            associations: associations::Config::new(keys),
            stp: stp::Config {
                granularity: Span::from_millis(1),
                keep_alive: Some(Span::from_secs(15)),
                ..stp::Config::default()
            },
            budgets: Budgets::default(),
            rate: None,
            memory: 1 << 30,
            rates: BTreeMap::new(),
            mtu: 1500,
            mtu_base: 1280,
        }
    }

    fn stp_for(&self, peer: SocketAddr) -> stp::Config {
        let overhead = headers(peer) + OVERHEAD as u32;
        let base_size = self.mtu_base.min(self.mtu) - overhead;
        let features = self.stp.features.with(Features::ECN);
        stp::Config { packet_size: self.mtu - overhead, base_size, overhead, features, ..self.stp.clone() }
    }
}

/// Bytes of the headers of IP and UDP.
fn headers(peer: SocketAddr) -> u32 {
    8 + if peer.is_ipv4() { 20 } else { 40 }
}

/// An event of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An association is open, and streams may be opened in it.
    Up {
        /// Its number.
        id: u32,
        /// Address of the peer.
        peer: SocketAddr,
        /// The peer's public key, if the hosts have pairs of keys.
        key: Option<PublicKey>,
    },
    /// An association requested by this host was not opened.
    Failed {
        /// The number that [`Engine::connect`] returned.
        id: u32,
        /// Reason.
        why: AssociationFailure,
    },
    /// An event of the streams of an association.
    Stream(u32, TrunkEvent),
    /// An association has ended, with all its streams.
    Down {
        /// Its number.
        id: u32,
        /// Reason.
        reason: Reason,
    },
    /// The peer's address has changed.
    Moved {
        /// The association's number.
        id: u32,
        /// New address of the peer.
        peer: SocketAddr,
    },
    /// A peer was refused.
    Refused {
        /// Its source address, which is not proven.
        from: SocketAddr,
        /// Reason.
        reason: RefusalReason,
    },
}

/// A packet of an association in the clear, as it was before it was sealed or after it was opened.
#[derive(Debug, Clone, Copy)]
pub struct TappedPacket<'a> {
    /// When it was sent or came.
    pub at: Time,
    /// The peer.
    pub peer: SocketAddr,
    /// True if it is this host's.
    pub outgoing: bool,
    /// The packet of STP.
    pub packet: &'a [u8],
}

/// A reader of all packets.
pub type PacketTap = Box<dyn FnMut(&TappedPacket<'_>)>;

/// Largest number of small packets that wait to be sent.
const OUTGOING_MAX: usize = 1024;
/// Packets of an association in one turn.
const TURN: usize = 64;
/// Time after which an association is forgotten if the peer has opened no trunk.
const SILENT: Span = Span::from_secs(30);
/// Interval of searches for such associations.
const SWEEP: Span = Span::from_secs(5);

/// A host with associations that carry streams.
pub struct Engine {
    config: Config,
    associations: Associations,
    links: BTreeMap<u32, Link>,
    turns: Turns,
    shared: SharedRate,
    outgoing: VecDeque<(SocketAddr, Option<IpAddr>, Vec<u8>)>,
    events: VecDeque<Event>,
    entropy: Arc<dyn Entropy>,
    swept_at: Time,
    tap: Option<PacketTap>,
    memory: Arc<HostMemory>,
    buffers: PacketBuffers,
    /// Associations that were refused because the memory was used up.
    refused: u64,
}

impl Engine {
    /// A host without associations, whose clock says `now`.
    pub fn new(now: Time, config: Config, entropy: Arc<dyn Entropy>) -> Self {
        Engine {
            associations: Associations::new(now, config.associations.clone(), entropy.clone()),
            shared: SharedRate::new(config.rate),
            memory: HostMemory::new(config.memory.max(MEMORY_LEAST)),
            buffers: PacketBuffers::default(),
            refused: 0,
            config,
            links: BTreeMap::new(),
            turns: Turns::default(),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            entropy,
            swept_at: now,
            tap: None,
        }
    }

    /// Starts opening an association with a peer; an event reports the result. `None` if the key is invalid.
    pub fn connect(&mut self, now: Time, peer: SocketAddr) -> Option<u32> {
        self.associations.connect(now, peer)
    }

    /// Replaces the peers' keys, and ends associations with peers that are no longer among them.
    pub fn set_keys(&mut self, keys: Keys) {
        if let Keys::Pair { peers, .. } = &keys {
            let revoked =
                self.links.iter().filter(|(_, link)| link.key.is_some_and(|key| !peers.contains(&key)));
            let revoked: Vec<u32> = revoked.map(|(id, _)| *id).collect();
            for id in revoked {
                self.abort(id);
                self.events.push_back(Event::Down { id, reason: Reason::Refused });
            }
        }
        self.associations.set_keys(keys);
    }

    /// Replaces the rate of all associations together, at once, and those of single peers, for associations opened later.
    pub fn set_rates(&mut self, rate: Option<Rate>, rates: BTreeMap<PublicKey, Rate>) {
        self.shared.set(rate);
        self.config.stp.max_rate = rate;
        self.config.rates = rates;
    }

    /// From now on all packets go to this reader too.
    pub fn set_tap(&mut self, tap: Option<PacketTap>) {
        self.tap = tap;
    }

    /// An association that is open.
    pub fn link(&self, id: u32) -> Option<&Link> {
        self.links.get(&id)
    }

    /// All open associations, by number.
    pub fn links(&self) -> impl Iterator<Item = (u32, &Link)> {
        self.links.iter().map(|(id, link)| (*id, link))
    }

    /// The streams of an association, mutably; it then gets a turn to send.
    pub fn trunk(&mut self, id: u32) -> Option<&mut Trunk<Bytes>> {
        let link = self.links.get_mut(&id)?;
        self.turns.touch(id);
        Some(&mut link.trunk)
    }

    /// Counters of sealed packets and of handshakes.
    pub fn counters(&self) -> crate::association::Counters {
        self.associations.counters()
    }

    /// Bytes that all associations hold of received data, with a cost for each stream.
    pub fn memory(&self) -> u64 {
        self.memory.used()
    }

    /// Associations that were refused because the memory was used up.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Ends an association at once, and informs the peer if it can be reached.
    pub fn abort(&mut self, id: u32) {
        if let Some(link) = self.links.get_mut(&id) {
            link.trunk.abort();
            self.turns.touch(id);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Handles a datagram from the network: its source, which of this host's addresses it is for, its ECN field, and its bytes. Returns
    /// true if it requires an answer, which must be taken before the next datagram.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        (from, to, field): (SocketAddr, Option<IpAddr>, Ecn),
        datagram: &mut [u8],
    ) -> bool {
        let len = datagram.len() as u64;
        let opened = self.associations.handle_datagram(now, from, datagram);
        while let Some((peer, packet)) = self.associations.poll_transmit() {
            self.queue(peer, to, packet);
        }
        self.take_events(now);
        let Some((id, contents)) = opened else { return false };
        if let Some(tap) = &mut self.tap {
            tap(&TappedPacket { at: now, peer: from, outgoing: false, packet: &datagram[contents.clone()] });
        }
        let Ok(packet) = parse(&datagram[contents]) else { return false };
        let asks = packet.poll.is_some();
        let Some(packet) = framed(&self.buffers, packet) else { return false };
        let Some(link) = self.links.get_mut(&id) else { return false };
        link.reply_from = to.filter(|_| !link.initiator);
        link.traffic.received(len);
        link.trunk.handle_owned(now, packet, field);
        link.recount();
        self.settle(id);
        self.turns.touch(id);
        asks
    }

    /// Handles the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.associations.poll_timeout().is_some_and(|at| at <= now) {
            self.associations.handle_timeout(now);
        }
        while let Some((peer, packet)) = self.associations.poll_transmit() {
            self.queue(peer, None, packet);
        }
        self.take_events(now);
        if now.since(self.swept_at) >= SWEEP {
            self.sweep(now);
        }
        while let Some(id) = self.turns.take_due(now) {
            if let Some(link) = self.links.get_mut(&id) {
                link.trunk.handle_timeout(now);
            }
            self.settle(id);
            self.turns.touch(id);
        }
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        let sweep = (!self.links.is_empty()).then(|| self.swept_at + SWEEP);
        let others =
            self.associations.poll_timeout().into_iter().chain(sweep).chain(self.shared.poll_timeout());
        self.turns.poll_timeout().into_iter().chain(others).min()
    }

    /// Handles a network error reported by the kernel. A packet that was too large concerns the search for the path's MTU.
    pub fn handle_trouble(&mut self, now: Time, trouble: Trouble) {
        if trouble.kind == TroubleKind::Unreachable {
            self.associations.handle_unreachable(now, trouble.to, &trouble.quote);
            self.take_events(now);
        }
    }

    /// Appends packets to the batch until it is full or there are no more. Returns true if there may be more.
    pub fn fill(&mut self, now: Time, batch: &mut Batch) -> bool {
        while let Some((to, from, packet)) = self.outgoing.pop_front() {
            let start = batch.buffer.len();
            batch.buffer.extend_from_slice(&packet);
            batch.push(to, from, start);
        }
        while !batch.is_full() {
            let head = self.shared.next(now);
            let Some(id) = head.or_else(|| self.turns.next()) else { return false };
            if self.send_turn(now, id, head.is_some(), batch) {
                self.turns.touch(id);
            }
        }
        true
    }

    /// Gives an association its turn; `at_head` if it has waited for a turn of the shared rate.
    fn send_turn(&mut self, now: Time, id: u32, at_head: bool, batch: &mut Batch) -> bool {
        let (Some(link), Some(association)) = (self.links.get_mut(&id), self.associations.get_mut(id)) else {
            return false;
        };
        for sent in 0..TURN {
            let yields = sent >= shared_rate::PACKETS && self.shared.is_wanted();
            link.trunk.hold_back(yields || self.shared.holds(now, at_head));
            let Some(packet) = link.trunk.poll_transmit(now) else {
                if link.trunk.waits_for_turn() {
                    self.shared.wait(id);
                }
                // The owner may have read.
                link.recount();
                self.rest(now, id);
                return false;
            };
            let fields = link.trunk.network_fields(&packet);
            let start = batch.buffer.len();
            batch.buffer.resize(start + HEADER_LEN, 0);
            emit(&packet, &mut batch.buffer);
            if let Some(tap) = &mut self.tap {
                let packet = &batch.buffer[start + HEADER_LEN..];
                tap(&TappedPacket { at: now, peer: association.peer, outgoing: true, packet });
            }
            association.seal(&mut batch.buffer, start);
            let bytes = batch.buffer.len() - start;
            link.traffic.sent(bytes as u64);
            self.shared.sent(now, bytes + headers(association.peer) as usize);
            batch.push_fields(association.peer, link.reply_from, start, fields);
        }
        self.settle(id);
        true
    }

    /// Ends the turn of an association that has nothing more to send.
    fn rest(&mut self, now: Time, id: u32) {
        self.settle(id);
        let Some(link) = self.links.get(&id) else { return };
        let due = link.trunk.poll_timeout();
        if link.trunk.is_over() && due.is_none() {
            return self.forget(id);
        }
        // A timer in the past would make a busy loop.
        self.turns.set_timer(id, due.map(|at| at.max(now + Span::from_micros(20))));
    }

    fn queue(&mut self, to: SocketAddr, from: Option<IpAddr>, packet: Vec<u8>) {
        if self.outgoing.len() < OUTGOING_MAX {
            self.outgoing.push_back((to, from, packet));
        }
    }

    fn random_u32(&self) -> u32 {
        u32::from_be_bytes(random(&*self.entropy))
    }

    fn take_events(&mut self, now: Time) {
        while let Some(event) = self.associations.poll_event() {
            match event {
                associations::Event::Opened { id, peer, key } => self.begin(now, id, peer, key),
                associations::Event::Failed { id, why } => self.events.push_back(Event::Failed { id, why }),
                associations::Event::Unanswered { .. } => {}
                associations::Event::Lost { id, .. } => self.end(id, Reason::Aborted),
                associations::Event::Ended { id } => {
                    self.associations.forget(id);
                    self.end(id, Reason::Aborted);
                }
                associations::Event::Moved { id, peer } => {
                    if let Some(link) = self.links.get_mut(&id) {
                        link.peer = peer;
                    }
                    self.events.push_back(Event::Moved { id, peer });
                }
                associations::Event::Refused { from, reason } => {
                    self.events.push_back(Event::Refused { from, reason });
                }
                associations::Event::Keys(_) => {}
            }
        }
    }

    fn begin(&mut self, now: Time, id: u32, peer: SocketAddr, key: Option<PublicKey>) {
        let initiator = self.associations.get_mut(id).is_some_and(|association| association.initiator());
        let mut config = self.config.stp_for(peer);
        config.max_rate = key.and_then(|key| self.config.rates.get(&key).copied()).or(config.max_rate);
        let (budgets, window) = self.config.budgets.within(config.window, self.memory.fair() / 4);
        config.window = window;
        let Some(receiving) = Holding::begin(&self.memory, budgets.bytes_at_most(window)) else {
            return self.refuse(id, peer, initiator);
        };
        let first = self.random_u32();
        let trunk = if initiator {
            let ends = Ends {
                local_port: UDP_PORT,
                remote_port: UDP_PORT,
                instance: self.random_u32() as u16,
                count: self.random_u32(),
            };
            Trunk::connect(config, budgets, ends, first)
        } else {
            Trunk::listen(config, budgets, Ends { local_port: UDP_PORT, ..Ends::default() }, first)
        };
        self.associations.set_used(now, id, true);
        self.links.insert(id, Link::new(now, trunk, peer, key, initiator, receiving));
        self.turns.touch(id);
    }

    /// Ends an association for which there is no memory.
    fn refuse(&mut self, id: u32, peer: SocketAddr, initiator: bool) {
        self.refused += 1;
        self.associations.end(id);
        let reason = RefusalReason::Full;
        self.events.push_back(if initiator {
            Event::Failed { id, why: AssociationFailure::Refused(reason) }
        } else {
            Event::Refused { from: peer, reason }
        });
    }

    /// Handles the events of an association's streams.
    fn settle(&mut self, id: u32) {
        let Some(link) = self.links.get_mut(&id) else { return };
        while let Some(event) = link.trunk.poll_event() {
            match event {
                TrunkEvent::Connected => {
                    let (peer, key) = (link.peer, link.key);
                    self.events.push_back(Event::Up { id, peer, key });
                }
                TrunkEvent::Ended(reason) => self.events.push_back(Event::Down { id, reason }),
                event => self.events.push_back(Event::Stream(id, event)),
            }
        }
    }

    /// Removes an association without a message to the peer.
    fn end(&mut self, id: u32, reason: Reason) {
        if let Some(link) = self.links.get(&id)
            && !link.trunk.is_over()
        {
            self.events.push_back(Event::Down { id, reason });
        }
        self.forget(id);
    }

    fn forget(&mut self, id: u32) {
        self.links.remove(&id);
        self.shared.remove(id);
        self.turns.remove(id);
        self.associations.end(id);
    }

    /// Forgets associations in which no trunk was ever opened.
    fn sweep(&mut self, now: Time) {
        self.swept_at = now;
        let silent = |link: &Link| !link.trunk.established() && now.since(link.since) >= SILENT;
        let silent: Vec<u32> =
            self.links.iter().filter(|(_, link)| silent(link)).map(|(id, _)| *id).collect();
        for id in silent {
            self.end(id, Reason::Silent);
        }
    }
}

/// A packet with its frames parsed. Each packet's data have an allocation of their own: otherwise data that a stream holds for long
/// would keep the whole packet in memory.
fn framed(buffers: &PacketBuffers, packet: Packet<&[u8]>) -> Option<Packet<Frames<Bytes>>> {
    let frames = match packet.data {
        None => None,
        Some(data) => {
            let whole = buffers.copy(data);
            let frames = Frames::parse(&whole).ok()?;
            Some(frames.map(|data| whole.slice_ref(data)))
        }
    };
    Some(packet.map(|_| frames.unwrap_or_default()))
}
