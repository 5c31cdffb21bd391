//! Transmission: one packet at a time, filled with all contents that fit.
//!
//! Follows HT §5.1.1 (combinations), §5.1.2 (BGN with data, POLL on data); docs/stp.md §3.4 and §6.
//! Differs: answers leave at once and are not paced; they share a packet with new data if such a packet leaves now.
//! Leaves out pace and window (`pace`, `congestion`), and the interval between POLLs (`poll_timer`).

use super::connection::Connection;
use super::held::{held_by_answers, held_by_pace};
use super::pace::{KnownPath, WaitingData};
use super::poll_timer::PollSignals;
use super::source::Source;
use crate::limits::{Cause, HoldState};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Begin, Contents, Control, End, Features, HEADER_LEN, Packet, Reason, wire_number};

/// Part of a round trip without data that is a pause.
const PAUSE: u64 = 16;
/// Packets in a round trip below which the rate alone decides when the next may leave.
const FEW: u64 = 4;
/// Part of a round trip that a further copy of a retransmission waits.
const COPY_PART: u64 = 16;
/// Part of a round trip that a POLL waits for a packet of data.
const RIDE_PART: u64 = 16;
/// Packets that wait from which on others who begin matter.
const LOOKED_FOR: u64 = 40;
/// Most POLLs alone while others are looked for, and how many more for each packet sent: a slow link has no room for more.
const LOOKS: (u64, u64) = (64, 2);
/// Factor of the POLLs' frequency when all data have been sent, since each loss that is found late delays the end of the transfer.
const EAGER_AT_END: u32 = 3;
/// Reports longer than this fraction of a packet are sent alone.
const SHARE: usize = 4;

/// Control contents, boxed since most packets have none.
type Rare = Option<Box<Control>>;

fn wire_len(control: &Rare) -> usize {
    control.as_ref().map_or(0, |control| control.wire_len())
}

/// Adds an END, and with it the ENDAK for the peer's.
fn write_end(control: &mut Rare, answers: bool) {
    let control = control.get_or_insert_default();
    control.end = Some(End { reason: Reason::Finished });
    control.end_ack |= answers;
}

impl<P: Contents, S: Source<P>> Connection<P, S> {
    fn packet(&self, seq: u32, data: Option<P>, poll: Option<u32>, control: Rare) -> Packet<P> {
        Packet {
            source_port: self.opening.ends.local_port,
            destination_port: self.opening.ends.remote_port,
            instance: self.opening.ends.instance,
            seq,
            poll,
            data,
            control,
        }
    }

    fn begin(&self) -> Begin {
        let credit = match &self.receiver {
            Some(receiver) => wire_number(receiver.limit()),
            None => self.config.window_packets() as u32,
        };
        self.opening.begin(S::VERSION, self.config.max_payload(), credit)
    }

    fn put_begin(&mut self, now: Time, control: &mut Rare) {
        control.get_or_insert_default().begin = Some(self.begin());
        let timeout = self.timers.rto(&self.config, self.opening.timer.backoff);
        if self.opening.begin_sent(now, timeout) {
            self.timers.silence.progress(now);
        }
    }

    /// Control contents that answer the peer.
    fn answers(&mut self, now: Time) -> Rare {
        let due = self.receiver.as_ref().is_some_and(|receiver| receiver.has_answers(now));
        if !(due || self.opening.answer_due || self.closing.ends.answer_due) {
            return None;
        }
        let mut control = Box::<Control>::default();
        if self.opening.take_answer() {
            control.begin_ack = Some(self.begin());
        }
        let room = self.mtu.room();
        if let Some(receiver) = &mut self.receiver {
            let left = room.saturating_sub(control.wire_len());
            if let Some(stat) = receiver.stat(now, left) {
                control.stat = Some(stat);
                self.sender.stats.stats_sent += 1;
            }
            let left = room.saturating_sub(control.wire_len());
            if left > room / 2
                && let Some(ustat) = receiver.ustat(now, left)
            {
                control.ustat = Some(ustat);
                self.sender.stats.ustats_sent += 1;
            }
        }
        control.end_ack = self.closing.ends.take_answer();
        (!control.is_empty()).then_some(control)
    }

    /// The next packet to send; `None` when there are no more.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet<P>> {
        let packet = self.next_packet(now);
        if packet.is_none() && self.limits.counts() {
            let state = self.held_by();
            self.limits.note(now, state);
        }
        packet
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet<P>> {
        if let Some(reason) = self.closing.take_reset() {
            let control = Box::new(Control { end: Some(End { reason }), ..Control::default() });
            return Some(self.packet(self.sender.last_number(), None, None, Some(control)));
        }
        if self.closing.is_closed() || !self.opening.may_send() {
            return None;
        }
        // Silence is measured from the time at which the peer first has something to answer.
        if !self.waits_for_peer() {
            self.timers.silence.progress(now);
        }
        let control = self.answers(now);
        let Some(packet) = self.compose(now, control) else {
            // The application may have written data that the peer does not accept yet.
            self.rest(now);
            return None;
        };
        if packet.data.is_none() {
            self.sender.stats.control_packets_sent += 1;
            self.sender.stats.control_bytes_sent += packet.wire_len() as u64;
        }
        self.conclude(now);
        Some(packet)
    }

    fn compose(&mut self, now: Time, mut control: Rare) -> Option<Packet<P>> {
        let answers = control.is_some();
        let may_send = self.timers.pace.allows(&self.config, now) && self.admits(wire_len(&control));
        self.timers.poll.wanted |= self.waits_for_proof() && self.allowance.ask();
        let small = wire_len(&control) <= self.mtu.size as usize / SHARE;
        // A retransmission has its size already, and is sent alone.
        if may_send && !answers {
            let room = self.mtu.room();
            if let Some((number, data)) = self.sender.take_retransmission(now, room, self.copies()) {
                let packet = self.packet(wire_number(number), Some(data), None, control);
                self.paced(now, packet.wire_len());
                // The last retransmission carries a POLL for its arrival (Q.2110 allows this).
                self.timers.poll.wanted |= !self.sender.has_packets();
                return Some(packet);
            }
            if let Some((number, data)) = self.sender.take_copy(now) {
                let room = self.mtu.room().saturating_sub(data.len());
                let control = self.unanswered_opening().filter(|control| control.wire_len() <= room);
                let packet = self.packet(wire_number(number), Some(data), None, control);
                let gap = self.paced(now, packet.wire_len());
                self.timers.pace.copied(gap);
                return Some(packet);
            }
        }
        if may_send && small && !self.sender.has_retransmissions() && self.sender.has_new() {
            return self.compose_data(now, control);
        }
        if !answers && let Some(packet) = self.compose_probe(now) {
            return Some(packet);
        }
        // Without the answer to a BGN none to a POLL counts.
        let extended = self.config.features != Features::PLAIN;
        let opens = self.opening.is_due() || (extended && self.opening.waits() && self.poll_alone(now));
        if opens {
            self.put_begin(now, &mut control);
        }
        // An initiator without data first opens, and ends with the same packet.
        let ends = self.closing.end_is_due(self.sender.unsent());
        if ends {
            self.put_end(now, &mut control);
        }
        let asks = self.poll_alone(now) || (ends && self.sender.outstanding());
        if !(answers || opens || ends || asks) {
            return None;
        }
        if asks && !ends && self.last_word() && self.closing.ends.waits() {
            // Costs four bytes, in case the END was lost.
            write_end(&mut control, self.closing.ends.send());
        }
        let poll = asks.then(|| self.poll(now, false));
        if asks && !(answers || opens || ends) {
            self.sender.stats.polls_alone += 1;
        }
        Some(self.packet(self.sender.last_number(), None, poll, control))
    }

    /// The BGN, or the BGNAK, as long as nothing tells that the peer has it: without it the peer can use no data.
    fn unanswered_opening(&self) -> Rare {
        let mut control = None;
        if self.opening.is_unanswered(self.sender.acked) {
            let begin = Some(self.begin());
            let control: &mut Box<Control> = control.get_or_insert_default();
            match self.opening.initiator {
                true => control.begin = begin,
                false => control.begin_ack = begin,
            }
        }
        control
    }

    fn compose_data(&mut self, now: Time, mut control: Rare) -> Option<Packet<P>> {
        if self.opening.answer_rides(self.sender.acked, self.config.begin_copies) {
            control.get_or_insert_default().begin_ack = Some(self.begin());
        }
        let room = self.mtu.room().saturating_sub(wire_len(&control));
        self.resume_data(now);
        let polls = self.poll_rides(now, room.min(self.sender.max_payload));
        if self.opening.rides(polls, self.config.begin_copies) {
            self.put_begin(now, &mut control);
        }
        let room = self.mtu.room().saturating_sub(wire_len(&control) + 4 * usize::from(polls)).max(1);
        let (number, data) = self.sender.take_new(now, room)?;
        let poll = polls.then(|| self.poll(now, true));
        let ends = self.closing.end_is_due(self.sender.unsent());
        if ends && wire_len(&control) + data.len() + 8 <= self.mtu.room() {
            self.put_end(now, &mut control);
        }
        let packet = self.packet(wire_number(number), Some(data), poll, control);
        self.paced(now, packet.wire_len());
        Some(packet)
    }

    /// A POLL padded to the size being probed, while data are in flight (docs/stp.md §6.4).
    fn compose_probe(&mut self, now: Time) -> Option<Packet<P>> {
        let wish = self.mtu.take_wish() && self.established();
        // The answer to a later POLL tells that a probe is lost.
        self.timers.poll.wanted |=
            wish && self.mtu.is_probing() && self.timers.poll.rests(now, self.timers.srtt());
        let may = wish || (self.established() && self.sender.outstanding());
        let size = self.mtu.wanted(now).filter(|_| may)?;
        if !self.allowance.allows(u64::from(size)) {
            return None;
        }
        let stamp = self.poll(now, false);
        self.mtu.sent(size, stamp);
        let padding = (size as usize).saturating_sub(HEADER_LEN + 4) as u16;
        let control = Box::new(Control { padding, ..Control::default() });
        Some(self.packet(self.sender.last_number(), None, Some(stamp), Some(control)))
    }

    fn put_end(&mut self, now: Time, control: &mut Rare) {
        let timeout = self.timers.rto(&self.config, self.closing.end_timer.backoff);
        write_end(control, self.closing.send_end(now, timeout));
    }

    fn poll(&mut self, now: Time, rides: bool) -> u32 {
        let follows = self.timers.poll.sent(now);
        let unused = self.timers.pace.unused(&self.config, now, self.known_path());
        let stamp = self.sender.poll(now, rides, unused);
        if follows {
            self.sender.polls.last_follows();
        }
        stamp
    }

    /// Further copies of a retransmission that all else depends on, and the interval between them.
    fn copies(&self) -> Option<(u32, Span)> {
        let apart = Span::from_nanos(self.timers.srtt()?.as_nanos() / COPY_PART);
        let wanted = self.sender.copies(self.config.tail_copies);
        (wanted > 0).then_some((wanted, apart))
    }
}

/// Conditions under which packets leave.
impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// Returns true if the window and the limit of an unproven address admit the next data, together with this many bytes of control.
    pub(super) fn admits(&self, control: usize) -> bool {
        self.sender.fits(self.controller.window())
            && self.allowance.allows_data(self.sender.next_size(), control)
    }

    /// Returns true if only the pace keeps data from being sent.
    pub(super) fn would_send(&self) -> bool {
        self.sender.has_packets() && self.admits(0) && self.opening.may_send()
    }

    /// Records that a packet of data of `bytes`, STP's header included, has been sent. Returns the interval that follows it, if the rate
    /// has one.
    fn paced(&mut self, now: Time, bytes: usize) -> Option<Span> {
        let gap = self.gap(bytes);
        let path = self.known_path();
        self.timers.pace.sent(&self.config, now, path, gap);
        gap
    }

    /// The interval that follows a packet of `bytes`, STP's header included; `None` if the window is spread.
    fn gap(&self, bytes: usize) -> Option<Span> {
        self.controller.gap(self.sender.next, bytes as f64 + f64::from(self.config.overhead))
    }

    fn known_path(&self) -> KnownPath {
        KnownPath { srtt: self.timers.srtt(), starts: self.controller.measures_trains() }
    }

    /// Tells the controller, before a rate is known, that data were missing for longer than the packets of a window are apart.
    fn resume_data(&mut self, now: Time) {
        let Some(srtt) = self.timers.srtt() else { return };
        if self.controller.measures_trains()
            && self.timers.pace.paused(&self.config, now).as_nanos() > srtt.as_nanos() / PAUSE
        {
            self.controller.resume_data(self.sender.next);
        }
    }

    /// Records that nothing more leaves now.
    fn rest(&mut self, now: Time) {
        let waiting = WaitingData {
            lacks_room: self.sender.has_packets() && !self.sender.fits(self.controller.window()),
            sends: self.would_send(),
            copies: self.sender.copy_at().is_some_and(|at| at <= now && self.admits(0)),
        };
        self.timers.pace.rest(&self.config, now, waiting);
        self.arm(now);
    }

    /// Spreads the packets that the last answer allows over the round-trip time.
    pub(super) fn spread(&mut self, now: Time) {
        let Some(srtt) = self.timers.srtt() else { return };
        // Where few packets are in a round trip, each that an answer lets leave early would be a part of the rate.
        let gap = self.gap(self.sender.max_payload + HEADER_LEN);
        if let Some(gap) = gap.filter(|gap| gap.as_nanos() > srtt.as_nanos() / FEW) {
            return self.timers.pace.hasten(now, gap);
        }
        let room = self.controller.window().saturating_sub(self.sender.in_flight)
            / self.sender.max_payload.max(1) as u64;
        let (packets, part) = match self.controller.measures_trains() {
            // Before the path is known, waiting twice for each doubling in slow start would cost more than a burst does, and data that
            // come after a pause are not to wait for the next answer.
            true => (room, 0.25),
            false => (room.min(self.sender.waiting()), self.config.spread),
        };
        self.timers.pace.spread(&self.config, now, packets, srtt.as_secs_f64() * part);
    }

    /// Returns true if all data have been sent, so that POLLs only ask for their arrival.
    fn last_word(&self) -> bool {
        self.config.features != Features::PLAIN && self.closing.all_sent(self.sender.unsent())
    }

    /// Returns true if the next new packet of data should carry a POLL.
    fn poll_rides(&self, now: Time, room: usize) -> bool {
        // The first packet measures the round-trip time; others divide a train into parts.
        let (next, first) = (self.sender.next, self.opening.first);
        let asks =
            self.config.features != Features::PLAIN && (next == first || self.controller.asks(next, first));
        let last = self.sender.would_be_last(room, self.controller.window(), self.config.poll_threshold);
        let many = self.timers.srtt().is_some_and(|srtt| self.sender.polls.are_many(now, srtt));
        self.timers.poll.wanted || asks || (last && !many)
    }

    /// Returns true if a POLL must be sent alone.
    fn poll_alone(&self, now: Time) -> bool {
        if !self.timers.poll.wanted {
            return false;
        }
        let part = |srtt: Span| Span::from_nanos(srtt.as_nanos() / RIDE_PART);
        let soon = now + self.timers.srtt().map_or(Span::ZERO, part);
        // A new packet that leaves soon carries it.
        let rides_soon = self.sender.has_new()
            && !self.sender.has_retransmissions()
            && self.admits(0)
            && self.timers.pace.allows(&self.config, soon);
        !rides_soon
    }

    /// Sets the timers that follow from outstanding packets.
    pub(super) fn arm(&mut self, now: Time) {
        let waits = self.waits_for_peer();
        self.timers.silence.wait(now, waits);
        match self.poll_interval(now) {
            Some(interval) => self.timers.poll.arm(now, interval),
            None => self.timers.poll.stop(),
        }
    }

    /// The interval between POLLs; `None` if there is nothing to ask for.
    fn poll_interval(&self, now: Time) -> Option<Span> {
        let (lacks_credit, lacks_proof) = (self.sender.lacks_credit(), self.waits_for_proof());
        if !(self.sender.outstanding() || lacks_credit || lacks_proof) {
            return self.config.keep_alive.filter(|_| self.established() && !self.over());
        }
        let signals = PollSignals {
            // An address that may not be the peer's is polled at growing intervals.
            timeout: match lacks_proof {
                true => self.timers.poll_patience(&self.config),
                false => self.timers.poll_rto(&self.config, now),
            },
            srtt: self.timers.srtt(),
            flows: self.sender.moves()
                && !self.sender.is_small(self.controller.window(), self.config.poll_threshold),
            lacks_credit,
            has_rate: self.controller.rate().is_some(),
            gap: match self.sender.has_new() {
                true => self.gap(self.config.packet_size as usize).unwrap_or_default(),
                false => Span::ZERO,
            },
            eagerness: self.controller.eagerness().max(if self.last_word() { EAGER_AT_END } else { 1 }),
            polls: &self.sender.polls,
            waited: self.controller.waited(),
        };
        let interval = self.timers.poll.interval(&self.config, &signals);
        // More data are to follow, so that the rate matters; and no answer to the opening has been lost, without which others do not count.
        let lost = self.timers.poll.backoff() > 0 && !self.established();
        let waits = lacks_credit || lacks_proof || lost || self.sender.waiting() < LOOKED_FOR;
        let stats = &self.sender.stats;
        let waits = waits || stats.polls_alone > LOOKS.0 + LOOKS.1 * stats.packets_sent;
        if waits || self.config.features == Features::PLAIN || !self.controller.looks() {
            return Some(interval);
        }
        let since = self.sender.polls.unanswered_since();
        let looks = since.and_then(|since| self.controller.look_interval(now, since, self.sender.unsent()));
        Some(looks.map_or(interval, |looks| looks.min(interval)))
    }

    /// The present limit, at a time when nothing may leave.
    pub(super) fn held_by(&self) -> HoldState {
        if self.closing.is_closed() || self.closing.ends.acked {
            return HoldState::Over;
        }
        // Packets may leave before the peer has answered.
        if self.would_send() {
            return HoldState::Held(held_by_pace(&self.sender, &self.controller, self.timers.srtt()));
        }
        if !self.established() {
            return HoldState::Held(Cause::Handshake);
        }
        if self.sender.unsent() == 0 && !self.sender.outstanding() {
            // The END in flight is the last part of the data.
            let cause = HoldState::Held(Cause::Application);
            return if self.closing.is_shut_down() { cause } else { HoldState::Idle };
        }
        HoldState::Held(held_by_answers(&self.sender, self.timers.poll.backoff() > 0))
    }
}
