//! One end of a TCP connection: data in both directions, and closing.
//!
//! Follows RFC 9293 §3.5 (the handshake) and the state diagram of §3.3.2; names of states and variables are the RFC's.
//! Differs: the application writes and reads byte counts; TIME-WAIT lasts twice `rto_min`.
//! Leaves out simultaneous open and urgent data; `opening` has the options of T/TCP and Fast Open.
//!
//! It has more lines of methods than an object should: a third are the calls of applications and drivers, with their documentation.

use super::agreed::Agreed;
use super::config::{Config, Open};
use super::events::{Event, PendingEvents};
use super::flight::NextSegment;
use super::held::held_by;
use super::marks::MarkEcho;
use super::memory::Memory;
use super::opening::Beginning;
use super::receiver::Receiver;
use super::resets::Resets;
use super::sender::{Sender, SenderStats};
use super::socket_pair::SocketPair;
use super::state::{ConnectionState, Parting, State};
use super::timestamps::{Timestamping, clock};
use crate::limits::{self, Cause, Limits};
use skyhop_chance::Stream;
use skyhop_units::Time;
use skyhop_wire::{Ecn, Flags, Packet, TcpHeader, Timestamps, TooLarge, Transport, expand, wire_number};
use std::net::SocketAddrV4;

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) state: ConnectionState,
    pub(super) sockets: SocketPair,
    pub(super) iss: u32,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    agreed: Agreed,
    timestamps: Timestamping,
    /// Echo of marks by this end.
    echo: MarkEcho,
    resets: Resets,
    events: PendingEvents,
    pub(super) beginning: Beginning,
    /// True if the next pure acknowledgment announces that there will be fewer.
    reduced_acks: bool,
    pub(super) limits: Limits,
}

impl Connection {
    /// An end that opens the connection. `initial_seq` is its initial sequence number.
    pub fn connect(config: Config, local: SocketAddrV4, remote: SocketAddrV4, initial_seq: u32) -> Self {
        Self::new(config, local, remote, initial_seq, ConnectionState::opening())
    }

    /// An end that waits for the peer to open the connection.
    pub fn listen(config: Config, local: SocketAddrV4, remote: SocketAddrV4, initial_seq: u32) -> Self {
        Self::new(config, local, remote, initial_seq, ConnectionState::listening())
    }

    fn new(
        config: Config,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        iss: u32,
        state: ConnectionState,
    ) -> Self {
        let client = if state.get() == State::SynSent { *local.ip() } else { *remote.ip() };
        Self {
            beginning: Beginning::new(Memory::first(&config, client)),
            state,
            sockets: SocketPair::new(config.ip, local, remote),
            iss,
            receiver: Receiver::new(&config),
            agreed: Agreed::offer(&config),
            timestamps: Timestamping::new(config.timestamps),
            echo: MarkEcho::default(),
            sender: Sender::new(config),
            resets: Resets::default(),
            events: PendingEvents::default(),
            reduced_acks: false,
            limits: Limits::default(),
        }
    }

    /// Sets the stream of random numbers for the host's delay and BBR's waits.
    pub fn with_chance(mut self, chance: Stream) -> Self {
        self.sender.set_chance(chance);
        self
    }

    /// Starts from the state that earlier connections between the two hosts have left.
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.beginning = Beginning::new(memory);
        self.sender.clock.begin_with(&memory);
        self
    }

    /// Starts counting the time by limiting cause: from the application's call to connect, or to listen.
    pub fn count_limits(&mut self, now: Time) {
        self.limits.begin(now);
    }

    /// Time of this end's data by limiting cause, if [`Connection::count_limits`] was called.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Informs that there is a path to the peer and back, or none; initially there is one.
    pub fn set_path_up(&mut self, now: Time, up: bool) {
        self.limits.set_path_up(now, up);
    }

    /// Sets the MTU of this end's own link, bytes.
    pub fn over_link(mut self, mtu: Option<u32>) -> Self {
        self.sender.clock.over_link(mtu);
        self
    }

    /// State that this end leaves for a later connection between the two hosts.
    pub fn memory(&self) -> Memory {
        self.sender.clock.leave(self.beginning.memory)
    }

    /// Multiplies the congestion window by `share / of`, but leaves at least a segment.
    pub fn scale_window(&mut self, share: u64, of: u64) {
        self.sender.clock.scale_window(share, of);
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state.get()
    }

    /// Counters of the sending half.
    pub fn stats(&self) -> SenderStats {
        self.sender.stats()
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.sender.clock.cwnd()
    }

    /// Slow-start threshold, bytes; `None` without limit.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.sender.clock.ssthresh()).filter(|s| *s < u64::MAX)
    }

    /// Bytes sent and not yet acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.sender.clock.flight_size()
    }

    /// Payload bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Payload bytes delivered in order to this end.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered
    }

    /// Highest sequence number received, also behind a gap, counted from the first byte of payload.
    pub fn sequence_max(&self) -> u64 {
        self.receiver.sequence_max()
    }

    /// Writes `bytes` more to be sent.
    pub fn write(&mut self, bytes: u64) {
        self.events.wrote();
        self.sender.write(bytes);
    }

    /// Written bytes for which the send buffer has no room: an application that would have to wait has written them.
    pub fn withheld(&self) -> u64 {
        self.sender.buffer.withheld
    }

    /// Reads all data that have arrived in order. Returns their number of bytes.
    pub fn read(&mut self) -> u64 {
        self.receiver.read()
    }

    /// Reads at most `bytes` of the data that have arrived in order; data left keep the window closed. Returns the number of bytes.
    pub fn read_up_to(&mut self, bytes: u64) -> u64 {
        self.receiver.read_up_to(bytes)
    }

    /// Bytes that have arrived and have not been read, in order or not: never more than the receive window.
    pub fn held(&self) -> u64 {
        self.receiver.held()
    }

    /// Holds the peer's FIN back, with all before it acknowledged, until [`Connection::release_fin`]: for a relay, which must not
    /// confirm a whole transfer before the far end has it.
    pub fn hold_fin(&mut self, hold: bool) {
        self.receiver.hold_fin = hold;
    }

    /// Returns true if the peer's FIN is in order and is held back.
    pub fn fin_waits(&self) -> bool {
        self.receiver.fin_waits()
    }

    /// Acknowledges a FIN that was held back, and reports it with an event.
    pub fn release_fin(&mut self, now: Time) {
        self.receiver.hold_fin = false;
        if self.receiver.take_fin() {
            self.peer_finished(now);
        }
    }

    /// Returns true if the peer has acknowledged the FIN, and so all written data.
    pub fn fin_acknowledged(&self) -> bool {
        self.sender.fin_acknowledged()
    }

    /// Breaks the connection: tells the peer, and drops written data (RFC 9293 §3.10.5). There is no event.
    pub fn reset(&mut self) {
        if matches!(self.state(), State::Closed | State::Listen | State::TimeWait) {
            return;
        }
        if self.state() != State::SynSent {
            let seq = wire_number(self.iss, self.sender.clock.snd_max().max(1));
            self.resets.send(seq, wire_number(self.receiver.irs, self.receiver.rcv_nxt));
        }
        self.abandon();
    }

    /// Sends a FIN after all written data; the other direction stays open.
    pub fn shutdown(&mut self) {
        if self.state.close() {
            self.sender.buffer.close();
        }
    }

    /// Withdraws data that were written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        self.sender.buffer.forget_unsent(self.sender.clock.snd_max());
        self.shutdown();
    }

    /// Handles a packet from the network.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let tcp = match &packet.transport {
            Transport::Tcp(tcp) => tcp,
            Transport::TooLarge(message) => return self.handle_too_large(now, message),
            Transport::Icmp(_) | Transport::Udp(_) | Transport::Other(_) => return,
        };
        match self.state() {
            State::Closed => self.resets.refuse(tcp, packet.payload_len),
            State::Listen => self.handle_in_listen(now, tcp, packet.payload_len as u64),
            State::SynSent => self.handle_in_syn_sent(now, tcp, packet.payload_len as u64),
            _ if !self.beginning.belongs(tcp) => {}
            _ => {
                self.take_mark(packet, tcp);
                self.handle_segment(now, tcp, packet.payload_len as u64);
            }
        }
    }

    /// Handles a router's message that a packet was too large.
    fn handle_too_large(&mut self, now: Time, message: &TooLarge) {
        let Some(seq) = self.sockets.quoted_by(message) else { return };
        if matches!(self.state(), State::Closed | State::Listen | State::TimeWait) {
            return;
        }
        // RFC 5927 §4.1: only an outstanding packet can have been too large.
        let outstanding = self.sender.clock.snd_una()..self.sender.clock.snd_max();
        let seq = expand(self.iss, seq, self.sender.clock.snd_una()).filter(|s| outstanding.contains(s));
        if let Some(seq) = seq {
            self.sender.clock.handle_too_large(
                now,
                seq,
                message.next_hop_mtu.into(),
                message.total_len.into(),
            );
        }
    }

    fn handle_in_listen(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        if tcp.flags.has(Flags::RST) || !tcp.flags.has(Flags::SYN) || tcp.flags.has(Flags::ACK) {
            return;
        }
        self.beginning.opened_at = Some(now);
        let open = self.sender.clock.config().open;
        let accepted = self.beginning.listen(open, tcp.opening, *self.sockets.remote.ip());
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

    fn handle_in_syn_sent(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        let snd_max = self.sender.clock.snd_max();
        let ack = expand(self.iss, tcp.ack, 1)
            .filter(|ack| tcp.flags.has(Flags::ACK) && (1..=snd_max).contains(ack));
        if tcp.flags.has(Flags::RST) {
            if ack.is_some() {
                self.abort();
            }
            return;
        }
        let Some(ack) = ack.filter(|_| tcp.flags.has(Flags::SYN)) else { return };
        if !self.beginning.answered(self.sender.clock.config().open, tcp.opening) {
            return;
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
        self.sender.clock.use_timestamps(self.timestamps.on);
        let announced = tcp.mss.map_or(536, u32::from);
        self.beginning.memory.mss = Some(announced);
        // RFC 6691: the announced size does not count options, so they reduce the payload.
        let header = TcpHeader {
            timestamps: self.timestamps.on.then(Timestamps::default),
            opening: self.beginning.in_each_segment(),
            ..TcpHeader::default()
        };
        let most = self.sender.clock.config().mss.min(announced);
        self.sender.settle_size(most, header.options_len());
        if let Some(ts) = tcp.timestamps {
            self.timestamps.recent = ts.value;
        }
    }

    fn connected(&mut self) {
        self.state.established(self.sender.buffer.fin_queued());
        self.events.add(Event::Connected);
        self.beginning.confirm();
    }

    /// The SYN, or its answer, if it is due.
    fn poll_syn(&mut self, now: Time) -> Option<Packet> {
        if self.sender.clock.snd_nxt() > 0 {
            return None;
        }
        let first = self.sender.clock.snd_max() == 0;
        self.beginning.opened_at.get_or_insert(now);
        let answering = self.state() != State::SynSent;
        self.sender.sent_syn(now);
        let config = self.sender.clock.config();
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
        let (opening, with_data) =
            self.beginning.on_syn(self.sender.clock.config().open, self.state(), first);
        header.opening = opening;
        let NextSegment { len, fin, .. } =
            if with_data { self.data_on_syn(now, &header) } else { NextSegment::NOTHING };
        if fin {
            header.flags |= Flags::FIN;
        }
        Some(self.sockets.packet(header, len))
    }

    /// The part of the data, and of the FIN, that fits a SYN.
    fn data_on_syn(&mut self, now: Time, header: &TcpHeader) -> NextSegment {
        let mss = self.beginning.memory.mss.unwrap_or(536).min(self.sender.clock.config().mss);
        let mss = mss.min(self.sender.clock.room_in_syn());
        let fin = matches!(self.sender.clock.config().open, Open::Transactions { .. });
        self.sender.sent_with_syn(now, mss.saturating_sub(header.options_len()), fin)
    }

    /// RFC 3168 §6.1.3: a mark is echoed until the sender reports that it has reduced its window.
    fn take_mark(&mut self, packet: &Packet, tcp: &TcpHeader) {
        if !self.agreed.ecn {
            return;
        }
        let marked = packet.ip.ecn == Ecn::Marked;
        self.echo.take(marked, tcp.flags.has(Flags::CWR));
        self.receiver.acks.now |= marked && packet.payload_len > 0;
    }

    fn handle_segment(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        let len = payload + tcp.flags.has(Flags::SYN) as u64 + tcp.flags.has(Flags::FIN) as u64;
        let Some(seq) = expand(self.receiver.irs, tcp.seq, self.receiver.rcv_nxt) else { return };
        if !self.receiver.acceptable(seq, len) {
            // §3.10.7.4: a segment outside the window is acknowledged, so that the peer learns the window.
            if !tcp.flags.has(Flags::RST) {
                self.receiver.acks.now |= len > 0;
                self.restart_time_wait(now);
            }
            if !(tcp.flags.has(Flags::ACK) && seq <= self.receiver.rcv_nxt && !tcp.flags.has(Flags::RST)) {
                return;
            }
        }
        if tcp.flags.has(Flags::RST) {
            // RFC 5961: only the exact next number resets.
            if seq == self.receiver.rcv_nxt {
                match self.state() {
                    // §3.10.7.4: all data have been exchanged, and the peer has removed the connection.
                    State::Closing | State::LastAck => self.closed(),
                    State::TimeWait => self.state.end(),
                    _ => self.abort(),
                }
            } else if seq > self.receiver.rcv_nxt {
                // The challenge of RFC 5961 §3.2: a genuine peer answers with the exact number.
                self.receiver.acks.now = true;
            }
            return;
        }
        if tcp.flags.has(Flags::SYN) {
            if self.sender.clock.snd_una() == 0 {
                // The SYN again: its answer was lost, and the timer will repeat it.
                return;
            }
            self.receiver.acks.now = true;
            return;
        }
        if !tcp.flags.has(Flags::ACK) {
            return;
        }
        self.timestamps.take(tcp.timestamps, seq);
        if !self.handle_ack(now, tcp, payload) {
            return;
        }
        if self.receiver.adapts {
            self.before_data(now, tcp, payload);
        }
        self.take_data(now, seq, payload, tcp.flags.has(Flags::FIN));
    }

    /// Prepares adaptive acknowledgments and windows for a segment, before its data are handled.
    #[cold]
    #[inline(never)]
    fn before_data(&mut self, now: Time, tcp: &TcpHeader, payload: u64) {
        if payload == 0 {
            return;
        }
        if let (Some(sample), Some(ts)) = (self.timestamps.sample(now, tcp.timestamps), tcp.timestamps) {
            self.receiver.take_echo(ts.echo, sample, payload);
        }
        let (rto, srtt) = (self.sender.clock.rto(), self.sender.clock.srtt());
        self.receiver.acks.know(rto, srtt, tcp.flags.has(Flags::PSH));
    }

    /// Handles a segment's payload.
    fn take_data(&mut self, now: Time, seq: u64, payload: u64, fin: bool) {
        if payload == 0 && !fin {
            return;
        }
        let finished = self.receiver.finished();
        let fresh = self.receiver.handle_data(now, seq, payload, fin);
        if fresh > 0 {
            self.events.received(fresh);
        }
        if !finished && self.receiver.finished() {
            self.peer_finished(now);
        }
    }

    fn peer_finished(&mut self, now: Time) {
        self.events.add(Event::PeerFinished);
        let parting = self.state.fin_received();
        self.part(now, parting);
    }

    /// Handles the acknowledgment field. Returns false if the segment is to be ignored.
    fn handle_ack(&mut self, now: Time, tcp: &TcpHeader, payload: u64) -> bool {
        let Some(ack) = expand(self.iss, tcp.ack, self.sender.clock.snd_una()) else { return false };
        if ack > self.sender.clock.snd_max() {
            // An acknowledgment of data never sent.
            self.receiver.acks.now |= self.resets.challenges(now, payload);
            return false;
        }
        let window = (tcp.window as u64) << self.agreed.scale_in;
        let opens = self.sender.clock.snd_una() == 0;
        if opens {
            if ack < 1 {
                return false;
            }
            let sample = self.timestamps.sample(now, tcp.timestamps);
            self.sender.clock.established(now, sample);
            if self.state() == State::SynReceived {
                self.connected();
            }
        }
        self.sender.begin_ack();
        if self.agreed.ecn && tcp.flags.has(Flags::ECE) && !tcp.flags.has(Flags::SYN) {
            if self.sender.clock.config().ack_congestion && self.sender.clock.flight_size() == 0 {
                // Only acknowledgments are in flight from this end, so one of them was marked.
                let rtt = self.sender.clock.srtt();
                self.receiver.acknowledge_less(now, rtt);
                self.reduced_acks = true;
            } else {
                self.sender.clock.handle_mark(now);
            }
        }
        let dsack = self.take_blocks(now, tcp, ack);
        if ack > self.sender.clock.snd_una() {
            let sample = self.timestamps.sample(now, tcp.timestamps);
            self.sender.clock.set_window(ack, window);
            self.sender.handle_ack(now, ack, sample, dsack);
            self.after_ack(now);
        } else if ack == self.sender.clock.snd_una() {
            // RFC 5681 §2: a duplicate carries no data, does not change the window, and something is outstanding.
            let duplicate = !opens
                && payload == 0
                && !tcp.flags.has(Flags::FIN)
                && self.sender.clock.may_be_duplicate(window);
            self.sender.clock.set_window(ack, window);
            self.sender.clock.handle_duplicate(now, duplicate, dsack);
        }
        true
    }

    /// Handles the SACK blocks. Returns true if the first reports a duplicate (RFC 2883 §4), as it lies below the acknowledgment, or
    /// within the second, and a retransmission may be the cause.
    fn take_blocks(&mut self, now: Time, tcp: &TcpHeader, ack: u64) -> bool {
        let blocks = tcp.sack.as_slice();
        let una = self.sender.clock.snd_una();
        let place =
            |&(left, right): &(u32, u32)| Some((expand(self.iss, left, una)?, expand(self.iss, right, una)?));
        let duplicate = blocks.first().and_then(place).filter(|&(left, right)| {
            let within = blocks.get(1).and_then(place).is_some_and(|(l, r)| l <= left && right <= r);
            left < right && (right <= ack || within)
        });
        let repeated = match duplicate {
            Some((left, right)) if self.agreed.sack => self.sender.duplicate_reported(left, right),
            _ => duplicate.is_some(),
        };
        for block in &blocks[duplicate.is_some() as usize..] {
            if let Some((left, right)) = place(block) {
                self.sender.clock.selectively_acknowledged(now, left, right);
            }
        }
        repeated
    }

    fn after_ack(&mut self, now: Time) {
        if self.sender.all_acknowledged() {
            self.events.acknowledged_all();
        }
        if self.sender.fin_acknowledged() {
            let parting = self.state.fin_acknowledged();
            self.part(now, parting);
        }
    }

    fn part(&mut self, now: Time, parting: Parting) {
        match parting {
            Parting::NotYet => {}
            Parting::TimeWait => {
                self.begin_time_wait(now);
                self.sender.stop_timers();
                self.events.add(Event::Closed);
            }
            Parting::Closed => self.closed(),
        }
    }

    fn begin_time_wait(&mut self, now: Time) {
        let (rto_min, rto) = (self.sender.clock.config().rto_min, self.sender.clock.rto());
        self.state.wait(now + self.beginning.time_wait(now, rto_min, rto));
    }

    fn restart_time_wait(&mut self, now: Time) {
        if self.state() == State::TimeWait {
            self.begin_time_wait(now);
        }
    }

    pub(super) fn closed(&mut self) {
        self.state.end();
        self.sender.stop_timers();
        self.events.add(Event::Closed);
    }

    fn abort(&mut self) {
        self.abandon();
        self.events.add(Event::Reset);
    }

    /// Ends the connection without an event.
    pub(super) fn abandon(&mut self) {
        self.state.end();
        self.sender.stop_timers();
        self.receiver.acks.stop();
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.poll()
    }

    /// The next packet to send; `None` when there are no more.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.next_packet(now);
        if packet.is_none() && self.limits.counts() {
            let state = match self.state() {
                State::Listen | State::SynSent | State::SynReceived => {
                    limits::HoldState::Held(Cause::Handshake)
                }
                State::Closed | State::TimeWait => limits::HoldState::Over,
                _ => held_by(&self.sender),
            };
            self.limits.note(now, state);
        }
        packet
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        match self.state() {
            State::SynSent | State::SynReceived => return self.poll_syn(now),
            State::Listen => return None,
            State::Closed if self.resets.is_due() => {
                let header = self.header(now);
                return self.resets.take(header).map(|reset| self.sockets.packet(reset, 0));
            }
            State::Closed => {}
            // The other end's SYN sufficed to open the connection; its answer is still to be sent, or repeated.
            _ if self.sender.clock.snd_una() == 0 && self.sender.clock.snd_nxt() == 0 => {
                return self.poll_syn(now);
            }
            // An acknowledgment of the FIN that was due in the last state is still sent below.
            _ => {}
        }
        if !matches!(self.state(), State::Closed | State::TimeWait | State::FinWait2)
            && let Some(NextSegment { seq, len, fin }) = self.sender.poll(now)
        {
            let mut header = self.header(now);
            header.seq = wire_number(self.iss, seq);
            if fin {
                header.flags |= Flags::FIN;
            }
            if len > 0
                && (fin || seq + len as u64 == self.sender.clock.snd_max())
                && self.sender.buffer.all_sent(self.sender.clock.snd_max())
            {
                header.flags |= Flags::PSH;
            }
            let fresh = seq + len as u64 + fin as u64 == self.sender.clock.snd_max();
            if self.agreed.ecn && fresh && len > 0 && self.sender.clock.take_cwr() {
                header.flags |= Flags::CWR;
            }
            let mut packet = self.acknowledging(now, header, len);
            // §6.1.5: retransmissions and probes are not marked ECN-capable, nor are packets without data (§6.1.4).
            if self.agreed.ecn && fresh && len > 1 {
                packet.ip.ecn = Ecn::Capable0;
            }
            return Some(packet);
        }
        if self.receiver.acks.now {
            let header = self.header(now);
            return Some(self.acknowledging(now, header, 0));
        }
        None
    }

    fn header(&self, now: Time) -> TcpHeader {
        TcpHeader {
            seq: wire_number(self.iss, self.sender.clock.snd_nxt().max(self.sender.clock.snd_una())),
            timestamps: self.timestamps.option(now),
            opening: self.beginning.in_each_segment(),
            ..self.sockets.header()
        }
    }

    /// Completes a segment with acknowledgment, window and SACK blocks, and records that they were sent.
    fn acknowledging(&mut self, now: Time, mut header: TcpHeader, len: u32) -> Packet {
        header.flags |= Flags::ACK;
        if self.echo.on {
            header.flags |= Flags::ECE;
        }
        let number = self.receiver.acks.number(self.receiver.rcv_nxt, len > 0);
        header.ack = wire_number(self.receiver.irs, number);
        header.window = self.receiver.announce(self.agreed.scale_out);
        if self.agreed.sack {
            let mut room = (40 - header.options_len() as usize - 2) / 8;
            if let Some(limit) = self.sender.clock.size_limit() {
                // Blocks, the two bytes of their option and padding must fit the path and the peer's limit together with the
                // payload.
                let size = 4 + self.sender.clock.config().headers() + header.options_len() + len;
                room = room.min(limit.saturating_sub(size) as usize / 8);
            }
            header.sack =
                self.receiver.sack_blocks(room.min(self.sender.clock.config().sack_blocks as usize));
        }
        self.timestamps.last_ack_sent = number;
        self.receiver.acks.acknowledged(now, len > 0);
        let lone = len == 0 && self.agreed.ecn && self.sender.clock.config().ack_congestion;
        if lone && std::mem::take(&mut self.reduced_acks) {
            header.flags |= Flags::CWR;
        }
        let mut packet = self.sockets.packet(header, len);
        if lone {
            packet.ip.ecn = Ecn::Capable0;
        }
        packet
    }
}
