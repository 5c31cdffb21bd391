//! An association: many streams and datagrams over one path, with one congestion control, one pace, and one loop of POLLs.
//!
//! Follows docs/stp.md §15. The path is a [`Connection`] whose source is `outgoing`; arriving packets go to `incoming`.
//! Differs from many connections: the state of the path serves all streams, and the next stream is chosen when a packet leaves.
//! Leaves out addresses, keys and several paths.

mod budgets;
mod datagrams;
mod idle;
mod incoming;
mod outgoing;
mod owners;
mod packing;
mod ranges;
mod reassembly;
mod rounds;
mod sending;
mod urgent;

use super::config::{Config, Congestion};
use super::connection::Connection;
use super::events::Event;
use super::opening::Ends;
use super::sender::Stats;
use super::source::Source;
use crate::limits::{Cause, HoldState, Limits};
use budgets::LEAST_WINDOW;
pub use budgets::{Budgets, DatagramDelay};
pub use datagrams::DatagramStats;
use incoming::{Came, Incoming};
use outgoing::{Outgoing, SendingProgress, largest_datagram};
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{Class, Features, Frame, Frames, HEADER_LEN, Packet, Payload, Reason};
use std::collections::{BTreeSet, VecDeque};

/// Smallest packet for an association: the least payload of docs/stp.md §15.1, a header and a POLL.
const LEAST_PACKET: u32 = 256 + HEADER_LEN as u32 + 4;

/// Resets that may wait to be sent, beyond one for each stream, before packets that would cause more are refused.
const RESETS: u64 = 1024;

/// Events for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrunkEvent {
    /// The peer has answered, or a BGN has arrived.
    Connected,
    /// The peer accepts more streams than when opening one last failed.
    MayOpen,
    /// The peer has opened a stream.
    Opened(u64),
    /// Number of bytes of a stream that have come into order since the last event of this kind.
    Received(u64, u64),
    /// All data written to a stream so far have arrived.
    AllAcknowledged(u64),
    /// The unsent data of a stream have fallen to the amount given to [`Trunk::want_room`].
    Writable(u64),
    /// All data of the peer in a stream have arrived in order; no more will follow.
    PeerFinished(u64),
    /// Both directions of a stream have ended, have arrived and were read.
    Closed(u64),
    /// The peer has reset a stream.
    Reset(u64, Reason),
    /// A datagram has arrived.
    Datagram,
    /// The association has ended, with all its streams: `Finished` if both ends have closed it.
    Ended(Reason),
}

/// Counters of an association, in addition to its path's [`Stats`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrunkStats {
    /// Streams opened by this end.
    pub opened: u64,
    /// Streams opened by the peer.
    pub accepted: u64,
    /// Packets that exceeded a budget and were dropped as a whole.
    pub refused: u64,
    /// Data bytes sent again under another number, because the path's packets had become smaller.
    pub split: u64,
    /// Counters of its datagrams.
    pub datagrams: DatagramStats,
}

/// One end of an association.
#[derive(Debug)]
pub struct Trunk<P> {
    path: Connection<Frames<P>, Outgoing<P>>,
    incoming: Incoming<P>,
    budgets: Budgets,
    events: VecDeque<TrunkEvent>,
    /// Streams that are neither closed nor reset.
    live: BTreeSet<u64>,
    /// The lowest bit of the numbers of this end's streams.
    own: u64,
    changes: u64,
    closing: bool,
    over: bool,
    stats: TrunkStats,
}

impl<P: Payload> Trunk<P> {
    /// An end that opens the association; `first` is the number of its first SD (24 bits).
    pub fn connect(config: Config, budgets: Budgets, ends: Ends, first: u32) -> Self {
        Self::new(config, budgets, ends, first, true)
    }

    /// An end that waits for a BGN to its port.
    pub fn listen(config: Config, budgets: Budgets, ends: Ends, first: u32) -> Self {
        Self::new(config, budgets, ends, first, false)
    }

    fn new(mut config: Config, budgets: Budgets, ends: Ends, first: u32, initiator: bool) -> Self {
        config.packet_size = config.packet_size.max(LEAST_PACKET);
        config.base_size = config.base_size.max(LEAST_PACKET);
        config.features = config.features.with(Features::COMPACT).with(Features::REPORT);
        config.window = config.window.max(LEAST_WINDOW);
        let budgets = budgets.at_least();
        let packet = config.max_payload() as usize;
        let own = u64::from(!initiator);
        let incoming = Incoming::new(&budgets, config.window, 1 - own);
        let mut outgoing = Outgoing::new(&budgets, Self::assumed(&config), packet);
        incoming.budgets(&budgets).into_iter().for_each(|frame| outgoing.tell(frame));
        Self {
            path: Connection::new(config, ends, first, initiator, outgoing),
            incoming,
            budgets,
            events: VecDeque::new(),
            live: BTreeSet::new(),
            own,
            changes: 0,
            closing: false,
            over: false,
            stats: TrunkStats::default(),
        }
    }

    /// Bytes that the peer is assumed to accept in all, and in each stream, until it announces more. The least, unless an end with a
    /// guaranteed rate was told how many SDs the peer takes at first: what goes beyond the peer's limits would be refused for ever.
    fn assumed(config: &Config) -> [u64; 2] {
        let promised = config.congestion == Congestion::Rate && config.max_rate.is_some();
        let told = promised && config.initial_credit > Config::default().initial_credit;
        let bytes = if told { u64::from(config.initial_credit) * u64::from(config.max_payload()) } else { 0 };
        [bytes.max(LEAST_WINDOW), bytes.max(Budgets::LEAST.first_window)]
    }

    /// Counters of the path: packets, POLLs, lists, round trips.
    pub fn path_stats(&self) -> Stats {
        self.path.stats()
    }
    /// Counters of streams and datagrams.
    pub fn stats(&self) -> TrunkStats {
        let (out, arrived) = (self.path.source(), &self.incoming.datagrams);
        let datagrams =
            DatagramStats { received: arrived.received, unread: arrived.unread, ..out.datagrams.stats };
        TrunkStats { split: out.split, datagrams, ..self.stats }
    }
    /// The pace in network-layer bits per second; `None` without one.
    pub fn rate_bps(&self) -> Option<f64> {
        self.path.rate_bps()
    }
    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        self.path.window()
    }
    /// Bytes sent and neither acknowledged nor reported missing, headers of frames included.
    pub fn in_flight(&self) -> u64 {
        self.path.in_flight()
    }
    /// The largest number of bytes that were in flight at a time.
    pub fn in_flight_max(&self) -> u64 {
        self.path.in_flight_max()
    }
    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Option<Span> {
        self.path.srtt()
    }
    /// Largest packet size known to pass, STP's header included, bytes.
    pub fn packet_size(&self) -> u32 {
        self.path.packet_size()
    }
    /// The rate reached and the round-trip time, for a later association over this path.
    pub fn saved(&self) -> Option<super::SavedRate> {
        self.path.saved()
    }
    /// The present limit of sending, as results name it: `pacing`, `congestion_window`, `receive_window`, `recovery`, `application`,
    /// `handshake`; `turn` while the host serves its other associations.
    pub fn limited_by(&self) -> &'static str {
        if self.path.waits_for_turn() {
            return "turn";
        }
        match self.path.held_by() {
            HoldState::Held(cause) => cause.name(),
            HoldState::Idle | HoldState::Over => Cause::Application.name(),
        }
    }
    /// Holds data back, or no longer: the host shares a rate among its associations. Answers and POLLs leave all the same.
    pub fn hold_back(&mut self, held: bool) {
        self.path.hold_back(held);
    }
    /// Returns true if data only wait for [`Trunk::hold_back`] since the last poll; no timer is set for them.
    pub fn waits_for_turn(&self) -> bool {
        self.path.waits_for_turn()
    }
    /// Returns true if both ends know of each other.
    pub fn established(&self) -> bool {
        self.path.established()
    }
    /// Returns true if it has ended; it may still answer copies.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Number of streams that are neither closed nor reset.
    pub fn streams(&self) -> usize {
        self.live.len()
    }
    /// Bytes that streams hold, unread and behind gaps.
    pub fn held_bytes(&self) -> u64 {
        self.incoming.held()
    }
    /// Bytes that received data take: of streams, unread and behind gaps, and of datagrams, with a cost for each of them. At most
    /// [`Budgets::bytes_at_most`], apart from streams that this end opens.
    pub fn held_with_cost(&self) -> u64 {
        self.incoming.held_with_cost()
    }
    /// Returns true if streams hold more than `eighths` of the memory for all of them.
    pub fn holds_more_than(&self, eighths: u64) -> bool {
        self.is_more_than(self.held_bytes(), eighths)
    }
    /// Returns true if `bytes` are more than `eighths` of the memory for all streams.
    pub fn is_more_than(&self, bytes: u64, eighths: u64) -> bool {
        self.incoming.is_more_than(bytes, eighths)
    }
    /// Bytes of all streams that have not been sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.path.source().unsent()
    }
    /// Packets and pieces held by the sending half.
    pub fn held(&self) -> usize {
        self.path.held().0
    }
    /// Bytes of a stream that have not been sent.
    pub fn unsent(&self, id: u64) -> u64 {
        self.path.source().stream(id).map_or(0, |stream| stream.unsent())
    }
    /// Bytes written to a stream and not known to have arrived.
    pub fn unacknowledged(&self, id: u64) -> u64 {
        self.path.source().stream(id).map_or(0, |stream| stream.unacknowledged())
    }
    /// Bytes of a stream in order that have not been read.
    pub fn readable(&self, id: u64) -> u64 {
        self.incoming.stream(id).map_or(0, |stream| stream.readable())
    }

    /// Returns true if the peer accepts another stream.
    pub fn may_open(&self) -> bool {
        !self.closing && !self.over && self.stats.opened < self.path.source().may_open()
    }

    /// Opens a stream; `None` if the peer accepts no more of them, or the association is ending.
    pub fn open(&mut self, class: Class) -> Option<u64> {
        if !self.may_open() {
            self.path.source_mut().want_streams();
            return None;
        }
        let id = 2 * self.stats.opened + self.own;
        self.stats.opened += 1;
        self.live.insert(id);
        self.incoming.open(id);
        self.path.source_mut().open(id, class, true);
        Some(id)
    }

    /// Queues data to be sent in a stream. Returns the part for which the send buffer has no room.
    pub fn write(&mut self, id: u64, mut data: P) -> Option<P> {
        let stream = self.path.source().stream(id).filter(|stream| stream.ending == sending::Ending::Open)?;
        let room = self.budgets.send_buffer.saturating_sub(stream.unacknowledged());
        let taken = if data.len() as u64 <= room {
            Some(std::mem::take(&mut data))
        } else {
            (room > 0).then(|| data.split_to(room as usize))
        };
        if let Some(taken) = taken.filter(|taken| !taken.is_empty()) {
            self.path.source_mut().write(id, taken);
        }
        (!data.is_empty()).then_some(data)
    }

    /// Requests one [`TrunkEvent::Writable`], when at most `most` bytes of a stream are unsent. Data that reach the sender later
    /// can still be ordered by priority, so a relay should write only enough to keep the path busy.
    pub fn want_room(&mut self, id: u64, most: u64) {
        self.path.source_mut().want_room(id, most);
        self.arrived();
    }

    /// Reads data of a stream in order: at most `most` bytes, and at most a piece.
    pub fn read(&mut self, id: u64, most: usize) -> Option<P> {
        let data = self.incoming.read(id, most)?;
        self.settle(id);
        self.tell_credit(id);
        Some(data)
    }

    /// Bounds the data of a stream that may wait here or be on their way, for a reader that is slower than the path: `most` bytes, at
    /// least 16 KiB, from the next read on. Credit is not withdrawn: what has been announced may still arrive.
    pub fn limit_window(&mut self, id: u64, most: u64) {
        self.incoming.limit_window(id, most.max(Budgets::LEAST.first_window));
    }

    /// Makes a stream one of an owner's, whose streams share what they receive here with each other first: three quarters at most of the
    /// memory that other owners leave. An owner is a small number; 0 stands for none, and each stream then counts for itself. Until
    /// [`Trunk::unreserve`] the stream counts as if it held its initial window.
    pub fn assign(&mut self, id: u64, owner: u32) {
        self.incoming.assign(id, owner);
    }

    /// Counts only what a stream holds from now on: its peer has answered.
    pub fn unreserve(&mut self, id: u64) {
        self.incoming.unreserve(id);
    }

    /// Returns true if the memory that other owners leave allows another stream of an owner.
    pub fn admits(&self, owner: u32) -> bool {
        self.incoming.admits(owner)
    }

    /// Bytes that the streams of an owner hold, unread and behind gaps.
    pub fn held_by(&self, owner: u32) -> u64 {
        self.incoming.held_by(owner)
    }

    /// Closes a stream for writing; data already written are still sent.
    pub fn shutdown(&mut self, id: u64) {
        self.path.source_mut().end(id);
    }

    /// Withdraws data that were written to a stream and not sent, and closes this direction.
    pub fn stop_writing(&mut self, id: u64) {
        self.path.source_mut().stop(id);
    }

    /// Resets a stream, and tells the peer.
    pub fn reset(&mut self, id: u64, reason: Reason) {
        let end = self.path.source_mut().forget(id);
        self.incoming.break_off(id);
        if self.live.remove(&id) {
            let frame = Frame::Reset { id, reason: reason.number().max(1), end: end.unwrap_or(0) };
            self.path.source_mut().tell(frame);
            // Until the peer has ended it too, it counts as open.
            if !self.incoming.is_broken(id) {
                self.incoming.release(id);
            }
            self.tell_credit(id);
        }
        self.finish();
    }

    /// The class of a stream's sending half.
    pub fn class(&self, id: u64) -> Option<Class> {
        self.path.source().stream(id).map(|stream| stream.turn.class)
    }

    /// Changes a stream's class, at both ends.
    pub fn prioritize(&mut self, id: u64, class: Class) {
        self.path.source_mut().classify(id, class, None);
        if self.incoming.stream(id).is_some() {
            self.changes += 1;
            self.path.source_mut().tell(Frame::Class { id, change: self.changes, class });
        }
    }

    /// Queues a datagram to be sent before `until`. Returns false if it is empty, or too large for a packet.
    pub fn send_datagram(&mut self, channel: u64, data: P, until: Time) -> bool {
        let most = largest_datagram(self.path.max_payload(), channel);
        if data.len() > most {
            self.path.want_larger();
        }
        if data.is_empty() || data.len() > most || self.closing || self.over {
            return false;
        }
        let outgoing = self.path.source_mut();
        outgoing.datagrams.push(channel, data, until);
        outgoing.datagrams_wait();
        true
    }

    /// Reads the oldest datagram that has arrived, with its channel.
    pub fn read_datagram(&mut self) -> Option<(u64, P)> {
        self.read_datagram_at().map(|(channel, _, data)| (channel, data))
    }

    /// Reads the oldest datagram that has arrived, with its channel and its offset among all datagrams of the peer.
    pub fn read_datagram_at(&mut self) -> Option<(u64, u64, P)> {
        let datagram = self.incoming.datagrams.read()?;
        self.tell_datagram_credit();
        Some(datagram)
    }

    /// Sets the class of datagrams.
    pub fn prioritize_datagrams(&mut self, class: Class) {
        self.path.source_mut().classify_datagrams(class);
    }

    /// Opens no more streams, and ends the association when all have ended.
    pub fn close(&mut self) {
        self.closing = true;
        self.finish();
    }

    /// Breaks the association, and tells the peer.
    pub fn abort(&mut self) {
        self.path.reset();
        self.ended(Reason::Aborted, false);
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<TrunkEvent> {
        self.events.pop_front()
    }

    /// The fields of the network layer with which a packet from [`Trunk::poll_transmit`] is to be sent.
    pub fn network_fields(&self, packet: &Packet<Frames<P>>) -> super::NetworkFields {
        self.path.network_fields(packet)
    }

    /// Returns true if queues may mark this end's packets.
    pub fn is_ecn_capable(&self) -> bool {
        self.path.is_ecn_capable()
    }

    /// Handles a packet from the peer whose ECN field is unknown.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet<Frames<P>>) {
        self.handle_arrival(now, packet, Ecn::NotCapable);
    }

    /// Handles a packet from the peer, with the ECN field of its network header.
    pub fn handle_arrival(&mut self, now: Time, packet: &Packet<Frames<P>>, field: Ecn) {
        self.handle_parts(now, packet, packet.data.clone(), field);
    }

    /// Like [`Self::handle_arrival`], without a copy of the data.
    pub fn handle_owned(&mut self, now: Time, mut packet: Packet<Frames<P>>, field: Ecn) {
        let data = packet.data.take();
        self.handle_parts(now, &packet, data, field);
    }

    fn handle_parts(&mut self, now: Time, packet: &Packet<Frames<P>>, data: Option<Frames<P>>, field: Ecn) {
        self.incoming.advance(now);
        let came = data.is_some();
        // A peer that takes no answers gets no more of them to wait.
        let many = self.path.source().resets() as u64 > self.budgets.streams + RESETS;
        let data = data
            .filter(|frames| self.incoming.takes(frames) && !(many && self.incoming.causes_resets(frames)));
        let refused = came && data.is_none();
        self.stats.refused += u64::from(refused);
        // A POLL in a refused packet asks for packets before it, and an END comes again with its repeat.
        match refused.then(|| without_end(packet)).flatten() {
            Some(packet) => self.path.handle_parts(now, &packet, data, field),
            None => self.path.handle_parts(now, packet, data, field),
        }
        while let Some(frames) = self.path.take() {
            frames.0.into_iter().for_each(|frame| self.receive(frame));
        }
        self.path.source_mut().give_each();
        // The peer now has less credit, so that a smaller increase is worth announcing: nothing else may cause the announcement
        // later.
        for frame in self.incoming.shared_credit() {
            self.path.source_mut().tell(frame);
        }
        self.collect();
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.path.handle_timeout(now);
        self.collect();
    }

    /// The next packet to send; `None` when there are no more.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet<Frames<P>>> {
        let payload = self.path.max_payload();
        self.path.source_mut().begin(now, payload);
        self.finish();
        let packet = self.path.poll_transmit(now);
        self.collect();
        packet
    }

    /// Time at which [`Trunk::handle_timeout`] and [`Trunk::poll_transmit`] are due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.path.poll_timeout()
    }

    /// Starts counting the association's time by limiting cause.
    pub fn count_limits(&mut self, now: Time) {
        self.path.count_limits(now);
    }

    /// Time of the association's data by limiting cause, if [`Trunk::count_limits`] was called.
    pub fn limits(&self) -> &Limits {
        self.path.limits()
    }

    /// Informs that there is a path to the peer and back, or none.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        self.path.set_path_up(now, up);
    }

    fn receive(&mut self, frame: Frame<P>) {
        match frame {
            Frame::Stream { id, opening, offset, end, data } => {
                if let Some(class) = opening {
                    self.accept(id, class);
                }
                self.piece(id, offset, data, end);
            }
            Frame::Ends { ids } => ids.into_iter().for_each(|id| self.piece(id, 0, None, true)),
            Frame::Reset { id, reason, end } => self.reset_by_peer(id, reason, end),
            Frame::Class { id, change, class } => {
                self.path.source_mut().classify(id, class, Some(change));
            }
            Frame::Datagram { channel, offset, data } => {
                self.incoming.datagrams.push(channel, offset, data);
                if self.events.back() != Some(&TrunkEvent::Datagram) {
                    self.events.push_back(TrunkEvent::Datagram);
                }
                self.tell_datagram_credit();
            }
            Frame::DatagramsBefore { offset } => {
                self.incoming.datagrams.before(offset);
                self.tell_datagram_credit();
            }
            credit => self.path.source_mut().credit(&credit),
        }
    }

    fn accept(&mut self, id: u64, class: Class) {
        // After this end's END nothing can be answered: the peer resets the stream at that END.
        if !self.over && !self.path.source().is_closed() && self.incoming.accept(id) {
            self.stats.accepted += 1;
            self.live.insert(id);
            self.path.source_mut().open(id, class, false);
            self.events.push_back(TrunkEvent::Opened(id));
        }
    }

    fn piece(&mut self, id: u64, offset: u64, data: Option<P>, end: bool) {
        match self.incoming.piece(id, offset, data, end) {
            Came::Nothing => {}
            Came::InOrder(bytes) => match self.events.back_mut() {
                Some(TrunkEvent::Received(last, sum)) if *last == id => *sum += bytes,
                _ => self.events.push_back(TrunkEvent::Received(id, bytes)),
            },
            Came::Contradiction => {
                self.reset(id, Reason::Protocol);
                self.events.push_back(TrunkEvent::Reset(id, Reason::Protocol));
                return;
            }
        }
        if self.incoming.finishes(id) {
            self.events.push_back(TrunkEvent::PeerFinished(id));
            self.settle(id);
        }
    }

    fn reset_by_peer(&mut self, id: u64, reason: u8, end: u64) {
        let receiving = self.incoming.reset(id, end);
        let sent = self.path.source_mut().forget(id);
        if receiving || sent.is_some() {
            let answer = Frame::Reset { id, reason, end: sent.unwrap_or(0) };
            self.path.source_mut().tell(answer);
            if self.live.remove(&id) {
                self.incoming.release(id);
                self.events.push_back(TrunkEvent::Reset(id, Reason::from_number(reason)));
            }
        }
        self.tell_credit(id);
        self.finish();
    }

    /// Removes the halves of a stream that have ended.
    fn settle(&mut self, id: u64) {
        self.incoming.forget_if_over(id);
        let over = self.incoming.stream(id).is_none() && self.path.source().stream(id).is_none();
        if over && self.live.remove(&id) {
            self.incoming.release(id);
            self.events.push_back(TrunkEvent::Closed(id));
            self.tell_credit(id);
            self.finish();
        }
    }

    fn tell_credit(&mut self, id: u64) {
        for frame in self.incoming.credit(id) {
            self.path.source_mut().tell(frame);
        }
    }

    fn tell_datagram_credit(&mut self) {
        if let Some(limit) = self.incoming.datagrams.credit() {
            self.path.source_mut().tell(Frame::CreditDatagrams { limit });
        }
    }

    /// Ends the association if that was requested and no stream is left.
    fn finish(&mut self) {
        if self.closing && self.live.is_empty() && self.path.source().is_empty() {
            self.path.source_mut().close();
            self.path.shutdown();
        }
    }

    /// Collects the path's events.
    fn collect(&mut self) {
        while let Some(event) = self.path.poll_event() {
            match event {
                Event::Connected => self.events.push_back(TrunkEvent::Connected),
                Event::Received(_) | Event::AllAcknowledged => {}
                Event::PeerFinished | Event::Closed | Event::Reset(_) => {
                    self.arrived();
                    self.path_ends(event);
                }
            }
        }
        self.arrived();
        self.finish();
    }

    /// Passes acknowledged contents to their streams.
    fn arrived(&mut self) {
        while let Some(progress) = self.path.source_mut().progress() {
            match progress {
                SendingProgress::Arrived(id) => self.events.push_back(TrunkEvent::AllAcknowledged(id)),
                SendingProgress::Complete(id) => self.settle(id),
                SendingProgress::Writable(id) => self.events.push_back(TrunkEvent::Writable(id)),
                SendingProgress::MayOpen => self.events.push_back(TrunkEvent::MayOpen),
            }
        }
    }

    fn path_ends(&mut self, event: Event) {
        match event {
            Event::PeerFinished => self.peer_ends(),
            Event::Closed => self.ended(Reason::Finished, true),
            Event::Reset(reason) => self.ended(reason, true),
            _ => {}
        }
    }

    /// Handles the peer's end: it has no stream left and opens none, so a stream just opened by this end finds no peer. One that has ended
    /// in both directions stays until it is read.
    fn peer_ends(&mut self) {
        for id in self.live.clone() {
            let ended = self.path.source().stream(id).is_none_or(|stream| stream.ending.is_sent());
            self.path.source_mut().forget(id);
            if ended && self.incoming.stream(id).is_some_and(|stream| stream.finished) {
                continue;
            }
            self.live.remove(&id);
            self.incoming.break_off(id);
            self.events.push_back(TrunkEvent::Reset(id, Reason::Refused));
        }
        self.close();
    }

    fn ended(&mut self, reason: Reason, tell: bool) {
        for id in std::mem::take(&mut self.live) {
            self.incoming.break_off(id);
        }
        self.path.source_mut().clear();
        if !std::mem::replace(&mut self.over, true) && tell {
            self.events.push_back(TrunkEvent::Ended(reason));
        }
    }
}

/// A packet without its END, if it has one that refers to its data.
fn without_end<P: Payload>(packet: &Packet<Frames<P>>) -> Option<Packet<Frames<P>>> {
    let end = packet.control.as_ref()?.end?;
    (end.reason == Reason::Finished).then(|| {
        let mut rest = Packet { data: None, ..packet.clone() };
        if let Some(control) = &mut rest.control {
            control.end = None;
        }
        rest
    })
}
