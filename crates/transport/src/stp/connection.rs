//! One end of a connection: incoming packets, timers, and the application's calls.
//!
//! Follows HT §5.1.1 (packets and their answers, timers) and docs/stp.md §5 to §7.
//! Differs: each direction closes separately, as in TCP.
//! Leaves out outgoing packets (`transmit`), and the state of its machines, each of which has a file.

use super::allowance::Allowance;
use super::closing::Closing;
use super::config::{Config, SavedRate};
use super::congestion::{AnswerSignals, CongestionController, Feedback};
use super::ecn::COUNTED_MARKS;
use super::events::{Event, EventQueue};
use super::mtu::Mtu;
use super::opening::{BeginExchange, Ends};
use super::receive_buffer::HoldBound;
use super::receiver::PathReceiver;
use super::sender::{PathSender, Stats};
use super::source::{Source, WrittenData};
use super::state::State;
use super::timers::Timers;
use crate::limits::Limits;
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{
    Begin, Contents, Control, Features, Packet, Payload, Reason, SEQUENCE_MASK, expand, kind,
};

/// Fields of the network layer of an outgoing packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkFields {
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// True if IP is to fragment the packet where it must: of data that were first sent in a larger packet than the path is known to
    /// carry, of all long packets until a size has been confirmed, and of long answers by an end whose data have not shown as much.
    pub may_fragment: bool,
}

/// One end of a connection: a path of numbered packets, and their contents.
#[derive(Debug)]
pub struct Connection<P, S = WrittenData<P>> {
    pub(super) config: Config,
    pub(super) opening: BeginExchange,
    pub(super) sender: PathSender<P, S>,
    /// The receiving half, once the peer's first number is known.
    pub(super) receiver: Option<PathReceiver<P>>,
    /// Bound on what the receiving half holds, if it is not its window.
    hold_bound: Option<HoldBound>,
    pub(super) controller: CongestionController,
    pub(super) mtu: Mtu,
    pub(super) timers: Timers,
    pub(super) allowance: Allowance,
    pub(super) closing: Closing,
    events: EventQueue,
    pub(super) limits: Limits,
}

impl<P: Payload> Connection<P> {
    /// An end that opens the connection; `first` is the number of its first SD (24 bits).
    pub fn connect(config: Config, ends: Ends, first: u32) -> Self {
        Self::new(config, ends, first, true, WrittenData::default())
    }

    /// An end that waits for a BGN to its port.
    pub fn listen(config: Config, ends: Ends, first: u32) -> Self {
        Self::new(config, ends, first, false, WrittenData::default())
    }

    /// Queues data to be sent. After [`Connection::shutdown`] they are dropped.
    pub fn write(&mut self, data: P) {
        if self.closing.is_shut_down() || self.closing.is_closed() || data.is_empty() {
            return;
        }
        self.events.written();
        self.sender.write(data);
    }

    /// Reads data in order: at most `most` bytes, and at most a packet.
    pub fn read(&mut self, most: usize) -> Option<P> {
        self.receiver.as_mut()?.read(most)
    }
}

impl<P: Contents, S: Source<P>> Connection<P, S> {
    pub(super) fn new(config: Config, ends: Ends, first: u32, initiator: bool, source: S) -> Self {
        let first = u64::from(first & SEQUENCE_MASK);
        Self {
            opening: BeginExchange::new(ends, first, initiator, config.features),
            sender: PathSender::new(&config, first, source),
            receiver: None,
            hold_bound: None,
            controller: CongestionController::new(&config),
            mtu: Mtu::new(&config),
            timers: Timers::default(),
            allowance: Allowance::default(),
            closing: Closing::default(),
            events: EventQueue::default(),
            limits: Limits::default(),
            config,
        }
    }

    /// The state of docs/stp.md §5.
    pub fn state(&self) -> State {
        if self.closing.is_closed() {
            return State::Closed;
        }
        let ends = &self.closing.ends;
        let data = self.sender.stats.packets_sent > 0;
        match (&self.receiver, ends.sent > 0, ends.peer_finished) {
            (None, _, _) if !self.opening.initiator => State::Listen,
            (None, true, _) => State::BgnDataEndSent,
            (None, false, _) if data => State::BgnDataSent,
            (None, false, _) => State::BgnSent,
            (Some(_), true, true) if self.over() => State::Linger,
            (Some(_), true, true) => State::Closing,
            (Some(_), true, false) => State::EndSent,
            (Some(_), false, true) => State::EndReceived,
            (Some(_), false, false) => State::Established,
        }
    }

    /// Ports, instance and count.
    pub fn ends(&self) -> Ends {
        self.opening.ends
    }
    /// Returns true if both ends know of each other.
    pub fn established(&self) -> bool {
        self.opening.is_open()
    }
    /// Counters.
    pub fn stats(&self) -> Stats {
        let mut stats = self.sender.stats;
        if let Some(receiver) = &self.receiver {
            stats.duplicates_received = receiver.counts.duplicates;
            stats.ignored += receiver.counts.refused;
        }
        stats
    }
    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        self.controller.window()
    }
    /// The pace in network-layer bits per second; `None` without one.
    pub fn rate_bps(&self) -> Option<f64> {
        self.controller.rate().map(|rate| rate * 8.0)
    }
    /// Bytes sent and neither acknowledged nor reported missing.
    pub fn in_flight(&self) -> u64 {
        self.sender.in_flight
    }
    /// The largest number of bytes that were in flight at a time.
    pub fn in_flight_max(&self) -> u64 {
        self.sender.in_flight_max
    }
    /// Bytes that the peer is known to have received.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acked_bytes
    }
    /// Bytes written and not known to have arrived.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.unsent() + self.sender.outstanding_bytes()
    }
    /// Bytes written and not sent.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }
    /// Bytes delivered in order so far.
    pub fn delivered(&self) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.counts.delivered)
    }
    /// Bytes in order that the application has not read.
    pub fn readable(&self) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.buffer.ready_bytes())
    }
    /// Bytes that have arrived and have not been read, in order or behind gaps.
    pub fn held_bytes(&self) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.buffer.held_bytes())
    }
    /// Window of received data, bytes.
    pub fn receive_window(&self) -> u64 {
        self.config.window
    }
    /// Changes the window for received data, bytes. It is announced to the peer once it has grown by half; earlier announcements
    /// stay valid.
    pub fn set_receive_window(&mut self, bytes: u64) {
        self.config.window = bytes;
        if let Some(receiver) = &mut self.receiver {
            receiver.set_window(self.config.window_packets());
        }
    }
    /// Bound on what is held of received data, with `packet_cost` bytes (not zero) for each packet that is held or missing; it may be
    /// less than was promised. Packets beyond it count as lost.
    pub fn hold_at_most(&mut self, bytes: u64, packet_cost: u64) {
        let next_packet = u64::from(self.config.max_payload()) + packet_cost;
        let bound = HoldBound { bytes, packet_cost, next_packet };
        self.hold_bound = Some(bound);
        if let Some(receiver) = &mut self.receiver {
            receiver.buffer.bound = bound;
        }
    }
    /// Bytes that a packet may add to those held, with `packet_cost` for each packet that is held or missing, and those that
    /// [`Connection::hold_at_most`] keeps free. The second value is true if nothing goes on without the packet: the application has
    /// read all, and it is the next.
    pub fn would_hold(&self, packet: &Packet<P>, packet_cost: u64) -> (u64, bool) {
        let data = packet.data.as_ref().map_or(0, |data| data.len() as u64);
        let begin = packet.control.as_ref().and_then(|control| control.begin);
        let (next, high, limit) = match (&self.receiver, begin) {
            (Some(receiver), _) => (receiver.buffer.next, receiver.buffer.high, receiver.limit()),
            (None, Some(begin)) => {
                let first = u64::from(begin.first);
                (first, first, first + self.config.window_packets())
            }
            (None, None) => return (0, false),
        };
        let high_after = expand(packet.behind(), next).unwrap_or(high).min(limit);
        let numbers = 1 + high_after.saturating_sub(high);
        let is_next = packet.data.is_some() && expand(packet.seq, next) == Some(next);
        let more = data + packet_cost * numbers + u64::from(self.config.max_payload()) + packet_cost;
        (more, is_next && self.readable() == 0)
    }
    /// Bytes held of received data, with `packet_cost` for each packet that is held or missing.
    pub fn held_with_cost(&self, packet_cost: u64) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.buffer.held_with_cost(packet_cost))
    }
    /// Packets held by the sending and the receiving half.
    pub fn held(&self) -> (usize, usize) {
        (self.sender.held(), self.receiver.as_ref().map_or(0, |receiver| receiver.buffer.held()))
    }
    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Option<Span> {
        self.timers.srtt()
    }
    /// Largest packet size known to pass, STP's header included, bytes. Data first sent in a larger packet keep its size.
    pub fn packet_size(&self) -> u32 {
        self.mtu.size
    }
    /// The fields of the network layer with which a packet from [`Connection::poll_transmit`] is to be sent.
    pub fn network_fields(&self, packet: &Packet<P>) -> NetworkFields {
        let data = packet.data.is_some();
        let probes = packet.control.as_ref().is_some_and(|control| control.padding > 0);
        NetworkFields {
            // A queue that marks data and drops POLLs would keep the marks from being reported.
            ecn: match (data || packet.poll.is_some()) && self.is_ecn_capable() {
                true => Ecn::Capable0,
                false => Ecn::NotCapable,
            },
            may_fragment: !probes && packet.wire_len() > self.mtu.whole(data),
        }
    }
    /// Returns true if queues may mark this end's packets.
    pub fn is_ecn_capable(&self) -> bool {
        self.opening.features.has(COUNTED_MARKS)
            && self.sender.marks.trusted()
            && self.controller.obeys_marks()
    }
    /// State from which a later connection over this path may start.
    pub fn saved(&self) -> Option<SavedRate> {
        let rate = self.controller.reached(self.timers.srtt())? * 8.0;
        Some(SavedRate { rtt: self.sender.stats.rtt.min?, rate: Rate::from_bps(rate as u64)? })
    }

    pub(super) fn source(&self) -> &S {
        &self.sender.source
    }
    pub(super) fn source_mut(&mut self) -> &mut S {
        &mut self.sender.source
    }
    /// Records that contents were refused that are too large for a packet.
    pub(super) fn want_larger(&mut self) {
        self.mtu.want_larger();
    }

    /// Payload of a packet that carries only data, bytes.
    pub(super) fn max_payload(&self) -> usize {
        self.sender.max_payload
    }

    /// The contents of the next packet that has arrived and has not been taken.
    pub(super) fn take(&mut self) -> Option<P> {
        self.receiver.as_mut()?.buffer.take()
    }

    /// Closes the sending direction; data already written are still sent.
    pub fn shutdown(&mut self) {
        self.closing.shutdown();
    }

    /// Withdraws data that were written and not yet sent, and closes this direction.
    pub fn stop_writing(&mut self) {
        self.sender.source.clear();
        self.shutdown();
    }

    /// Holds the peer's END back, with all before it acknowledged, until [`Connection::release_end`]: for a relay, which must not
    /// confirm a whole transfer before the far end has it.
    pub fn hold_end(&mut self, hold: bool) {
        self.closing.ends.held = hold;
    }

    /// Returns true if the peer's END is in order and is held back.
    pub fn end_waits(&self) -> bool {
        self.closing.ends.holds_back(self.receiver.as_ref().is_some_and(PathReceiver::complete))
    }

    /// Answers an END that was held back, and reports it with an event.
    pub fn release_end(&mut self) {
        self.closing.ends.held = false;
        self.finish_peer();
    }

    fn finish_peer(&mut self) {
        let complete = self.receiver.as_ref().is_some_and(PathReceiver::complete);
        if self.closing.ends.finish_peer(complete) {
            self.events.push(Event::PeerFinished);
        }
    }

    /// Returns true if [`Connection::shutdown`] has been called.
    pub fn is_shut_down(&self) -> bool {
        self.closing.is_shut_down()
    }

    /// Returns true if the peer has acknowledged everything and the END.
    pub fn end_acknowledged(&self) -> bool {
        self.closing.ends.acked
    }

    /// Breaks the connection, and tells the peer.
    pub fn reset(&mut self) {
        self.abort(Reason::Aborted);
    }

    fn abort(&mut self, reason: Reason) {
        self.closing.reset(reason, self.opening.may_be_known());
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.poll()
    }

    /// Returns true if both directions are closed and answered; the machine may still answer copies.
    pub fn over(&self) -> bool {
        self.closing.is_closed() || self.closing.lingers()
    }

    /// Returns true if both directions are closed, and the peer knows it or has not asked for a while.
    pub fn settled(&self, now: Time) -> bool {
        let closing = &self.closing;
        closing.is_closed()
            || (closing.lingers() && (closing.ends.peer_knows || self.timers.is_quiet(&self.config, now)))
    }

    /// Returns true if the process may end: as [`Connection::settled`], but an end that has closed first, and has all answers, need
    /// not wait. The peer's own END may then remain without an answer.
    pub fn may_leave(&self, now: Time) -> bool {
        self.settled(now) || (self.closing.lingers() && !self.closing.ends.crossed)
    }

    /// Handles a packet from the peer whose ECN field is unknown.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet<P>) {
        self.handle_arrival(now, packet, Ecn::NotCapable);
    }

    /// Handles a packet from the peer, with the ECN field of its network header.
    pub fn handle_arrival(&mut self, now: Time, packet: &Packet<P>, field: Ecn) {
        self.handle_parts(now, packet, packet.data.clone(), field);
    }

    /// Handles a packet whose data are passed separately, so that they need not be copied.
    pub(super) fn handle_parts(&mut self, now: Time, packet: &Packet<P>, data: Option<P>, field: Ecn) {
        if self.closing.is_closed() {
            return;
        }
        if !self.opening.accepts(packet) {
            self.sender.stats.ignored += 1;
            return;
        }
        let control = packet.control.as_deref();
        if let Some(end) = control.and_then(|control| control.end)
            && end.reason != Reason::Finished
        {
            self.closing.close();
            return self.events.push(Event::Reset(end.reason));
        }
        self.timers.silence.heard(now);
        self.closing.heard();
        if let Some(begin) = control.and_then(|control| control.begin) {
            self.handle_begin(now, packet, begin, data.is_some());
        }
        if let Some(answer) = control.and_then(|control| control.begin_ack) {
            self.handle_begin_ack(now, answer);
        }
        if self.closing.is_closed() || !self.established() {
            return;
        }
        if let Some(control) = control {
            self.handle_reports(now, control);
        }
        self.handle_data(now, packet, data, field);
        self.conclude(now);
    }

    fn handle_begin(&mut self, now: Time, packet: &Packet<P>, begin: Begin, has_data: bool) {
        if self.opening.initiator {
            self.sender.stats.ignored += 1;
            return;
        }
        if self.established() {
            self.opening.on_copy(begin.count, packet.poll.is_some() || !has_data);
            return;
        }
        self.opening.on_begin(packet.instance, packet.source_port, begin.count);
        if begin.version != S::VERSION {
            return self.refuse(Reason::Versions(S::VERSION, S::VERSION));
        }
        self.sender.limit = self.opening.first + u64::from(begin.credit.min(SEQUENCE_MASK >> 1));
        self.open(now, begin);
    }

    /// Breaks the connection with a peer that is known only by the packet that cannot be accepted.
    fn refuse(&mut self, reason: Reason) {
        self.closing.reset(reason, true);
        self.events.push(Event::Reset(Reason::Protocol));
    }

    fn handle_begin_ack(&mut self, now: Time, begin: Begin) {
        if !self.opening.is_answer(&begin) {
            self.sender.stats.ignored += 1;
            return;
        }
        if self.established() {
            return;
        }
        if begin.version != S::VERSION {
            self.abort(Reason::Versions(S::VERSION, S::VERSION));
            self.events.push(Event::Reset(Reason::Protocol));
            return;
        }
        self.sender.limit = self.opening.first;
        self.sender.credit(begin.credit, self.opening.first);
        if let Some(rtt) = self.opening.round_trip(now) {
            self.timers.sample(&self.config, now, rtt, false);
        }
        self.open(now, begin);
        // Answers that came before this one did not count.
        if self.config.features != Features::PLAIN {
            self.timers.poll.heard();
        }
    }

    /// Starts the receiving half, once the peer's first number, features and packet size are known.
    fn open(&mut self, now: Time, begin: Begin) {
        if begin.max_payload < S::LEAST_PAYLOAD {
            return self.refuse(Reason::Protocol);
        }
        self.opening.open(begin.features);
        let (first, features) = (u64::from(begin.first), self.opening.features);
        let mut receiver = PathReceiver::new(&self.config, first, S::ORDERED, features);
        if let Some(bound) = self.hold_bound {
            receiver.buffer.bound = bound;
        }
        self.receiver = Some(receiver);
        self.mtu.limit(begin.max_payload);
        self.sender.max_payload = self.mtu.max_payload();
        self.timers.silence.progress(now);
        self.events.push(Event::Connected);
    }

    fn handle_reports(&mut self, now: Time, control: &Control) {
        self.sender.trial = self.controller.on_trial_from();
        self.sender.reordering.begin_report(self.controller.reordering_window());
        if let Some(stat) = &control.stat {
            match self.sender.on_stat(now, stat) {
                Some(feedback) => {
                    if self.mtu.on_stat(now, stat) {
                        self.sender.max_payload = self.mtu.max_payload();
                    }
                    self.learn(now, feedback, true);
                    // The answer to a POLL that is under way tells more; if there is none, another is to be sent.
                    self.timers.poll.wanted |=
                        self.sender.reordering.waits() && self.sender.polls.awaited() == 0;
                }
                None => self.sender.stats.ignored += 1,
            }
        }
        if let Some(ustat) = &control.ustat {
            match self.sender.on_ustat(now, ustat) {
                Some(feedback) => {
                    if self.config.features != Features::PLAIN {
                        self.timers.poll.heard();
                    }
                    self.learn(now, feedback, false);
                }
                None => self.sender.stats.ignored += 1,
            }
        }
        if control.end_ack && self.closing.ends.on_answer() {
            let feedback = self.sender.acknowledge_all();
            self.learn(now, feedback, true);
        }
    }

    fn learn(&mut self, now: Time, feedback: Feedback, answered: bool) {
        if answered {
            self.timers.poll.answered();
            self.closing.end_timer.answered();
        }
        // Nothing outstanding is within the peer's window, so only an answer can be expected.
        if feedback.acked > 0 || (answered && !self.sender.moves()) {
            self.timers.silence.progress(now);
        }
        if self.mtu.on_feedback(now, &feedback.largest) {
            self.sender.max_payload = self.mtu.max_payload();
        }
        if let Some(rtt) = feedback.rtt {
            self.timers.sample(&self.config, now, rtt, feedback.late);
            self.sender.stats.rtt.add(rtt);
        }
        let window = self.controller.window();
        let signals = AnswerSignals {
            now,
            feedback,
            srtt: self.timers.srtt(),
            acked: self.sender.acked,
            next: self.sender.next,
            bytes: self.sender.network_bytes(),
            in_flight: self.sender.in_flight,
            waiting: self.sender.waiting(),
            repeats: self.sender.repeats(),
            busy: self.sender.waiting() > 0 || self.sender.in_flight + feedback.acked >= window / 2,
            held_back: self.waits_for_turn(),
        };
        if self.controller.on_feedback(&signals) {
            self.sender.stats.reductions += 1;
        }
        self.spread(now);
    }

    fn handle_data(&mut self, now: Time, packet: &Packet<P>, data: Option<P>, field: Ecn) {
        let Some(receiver) = &mut self.receiver else { return };
        let behind = (packet.seq + u32::from(data.is_some())) & SEQUENCE_MASK;
        if let Some(data) = data {
            let received = match expand(packet.seq, receiver.buffer.next) {
                Some(number) => receiver.on_data(now, number, data, field),
                None => 0,
            };
            self.events.received(received);
        }
        let behind = expand(behind, receiver.buffer.next);
        if packet.kind() & kind::END != 0
            && let Some(end) = behind
        {
            if !receiver.on_end(end) {
                self.sender.stats.ignored += 1;
            } else {
                self.closing.ends.ask(receiver.complete());
            }
        }
        if let (Some(echo), Some(behind)) = (packet.poll, behind)
            && receiver.asks_anew(echo, behind)
        {
            receiver.on_poll(now, echo, behind);
            self.closing.ends.ask(receiver.complete());
        }
        self.finish_peer();
    }

    /// Draws the conclusions from a packet that has come or gone: events for the application, LINGER, and the time of the next POLL.
    pub(super) fn conclude(&mut self, now: Time) {
        if self.sender.unsent() == 0 && !self.sender.outstanding() {
            self.events.acknowledged_all();
        }
        if self.closing.lingers() {
            self.events.closed();
            self.closing.linger(now + self.timers.silence.linger(&self.config));
        }
        self.arm(now);
    }
}

/// Data that wait for the proof of an address.
impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Limits the size of the next packet with data, STP's header included, bytes. Without a call there is no limit.
    pub fn allow(&mut self, bytes: u64) {
        self.allowance.set(bytes);
    }

    /// Asks the peer for the proof of its address, whether or not data wait for it.
    pub fn demand_proof(&mut self) {
        self.allowance.demand();
    }

    /// Returns true if data wait only for the proof, or the proof is wanted without them.
    pub(super) fn waits_for_proof(&self) -> bool {
        let next = self.sender.has_packets().then(|| self.sender.next_size());
        self.established() && self.allowance.lacks_proof(next)
    }
}

/// Turns of the host, and the time by limiting cause.
impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Holds data back, or no longer: the host shares a rate among its connections. Answers and POLLs leave all the same.
    pub fn hold_back(&mut self, held: bool) {
        self.timers.pace.hold_back(held);
    }

    /// Returns true if data only wait for [`Connection::hold_back`] since the last poll; no timer is set for them.
    pub fn waits_for_turn(&self) -> bool {
        self.timers.pace.waits_for_turn()
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
}

/// Timers.
impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.closing.is_closed() {
            return;
        }
        let patience = self.timers.poll_patience(&self.config);
        let expires = self.timers.poll.expires(now);
        if expires
            && let Some(since) = self.sender.polls.unanswered_since()
            && now.since(since) >= patience
        {
            // While no rate is known a few lost answers are all there are.
            let all_lost = self.controller.measures_trains() && !self.waits_for_proof();
            self.timers.poll.on_silence(since, all_lost && self.config.features != Features::PLAIN);
            self.sender.stats.timeouts += 1;
            self.limits.timed_out(now, patience);
            self.controller.on_silence(self.sender.next);
            self.sender.polls.give_up(now, patience);
        }
        self.opening.handle_timeout(now);
        self.closing.handle_timeout(now);
        if (expires || self.closing.end_timer.due) && self.doubts_last(now) {
            self.sender.copy_last(now);
        }
        let silent = self.waits_for_peer() && now >= self.timers.silence.ends_at(&self.config);
        if silent && !self.timers.silence.overslept(&self.config, now) {
            self.closing.reset(Reason::Silent, true);
            self.events.push(Event::Reset(Reason::Silent));
        }
    }

    /// Returns true if all data have been sent and the last packet may have been lost (RFC 8985 §7): a copy of it, before the next POLL,
    /// saves the round trip in which that is answered.
    fn doubts_last(&self, now: Time) -> bool {
        let waits = self.sender.unsent() > 0 || self.sender.has_retransmissions();
        let may = self.config.features != Features::PLAIN && !waits && !self.allowance.is_limited();
        may && self.timers.poll.lacks_answer(now, self.timers.srtt(), &self.sender.polls)
    }

    /// Returns true if only a packet from the peer can let this end continue.
    pub(super) fn waits_for_peer(&self) -> bool {
        // An idle peer, or one that accepts nothing, is polled to find out whether it is alive.
        let asks = self.config.keep_alive.is_some() || self.sender.lacks_credit() || self.waits_for_proof();
        let asked = asks && self.sender.polls.last_unanswered() && !self.over();
        !self.closing.is_closed()
            && (self.opening.waits() || self.closing.ends.waits() || asked || self.sender.outstanding())
    }

    /// Time at which [`Connection::handle_timeout`] and [`Connection::poll_transmit`] are due next.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.closing.is_closed() {
            return self.closing.reset_is_due().then_some(Time::ZERO);
        }
        let Timers { pace, poll, silence, .. } = &self.timers;
        let silence = self.waits_for_peer().then(|| silence.ends_at(&self.config));
        let paced = !pace.waits_for_turn();
        let send = (paced && self.would_send()).then(|| pace.release(&self.config));
        let copy = self.sender.copy_at().filter(|_| paced && self.admits(0));
        let copy = copy.map(|at| at.max(pace.release(&self.config)));
        let receiver = self.receiver.as_ref().and_then(|receiver| receiver.poll_timeout());
        let begin = self.opening.poll_timeout();
        let [end, linger] = self.closing.timeouts();
        let raise = self.mtu.raise_at().filter(|_| self.established() && self.sender.outstanding());
        let all = [begin, end, poll.poll_timeout(), send, copy, receiver, silence, linger, raise];
        all.into_iter().flatten().min()
    }
}
