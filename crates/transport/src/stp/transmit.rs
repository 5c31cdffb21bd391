//! Transmission: one packet at a time, filled with all contents that fit.
//!
//! Follows HT §5.1.1 (combinations), §5.1.2 (BGN with data, POLL on data); docs/stp.md §3.4 and §6.
//! Differs: answers leave at once and are not paced; they share a packet with new data if such a packet leaves now.
//! Leaves out the limits of pace and window (`timers`, `congestion`).

use super::connection::Connection;
use super::source::Source;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Begin, Contents, Control, End, HEADER_LEN, Packet, Reason, wire_number};

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
            self.timers.progress(now);
        }
    }

    /// Control contents that answer the peer.
    fn answers(&mut self, now: Time) -> Rare {
        let due = self.receiver.as_ref().is_some_and(|receiver| receiver.has_answers(now));
        if !(due || self.opening.answer_due || self.closing.ends.answer_due) {
            return None;
        }
        let mut control = Box::<Control>::default();
        if std::mem::take(&mut self.opening.answer_due) {
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
            self.timers.progress(now);
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
        self.report();
        self.linger(now);
        self.arm(now);
        Some(packet)
    }

    fn compose(&mut self, now: Time, mut control: Rare) -> Option<Packet<P>> {
        let answers = control.is_some();
        let may_send = self.pace_allows(now) && self.fits() && self.allowed(wire_len(&control));
        self.timers.want_poll |= self.begins_to_wait();
        let small = wire_len(&control) <= self.mtu.size as usize / SHARE;
        // A retransmission has its size already, and is sent alone.
        if may_send && !answers {
            let room = self.mtu.room();
            if let Some((number, data)) = self.sender.take_retransmission(now, room, self.copies()) {
                let packet = self.packet(wire_number(number), Some(data), None, control);
                self.paced(now, packet.wire_len());
                // The last retransmission carries a POLL for its arrival (Q.2110 allows this).
                self.timers.want_poll |= !self.sender.has_retransmissions() && !self.sender.has_new();
                return Some(packet);
            }
            if let Some((number, data)) = self.sender.take_copy(now) {
                let packet = self.packet(wire_number(number), Some(data), None, control);
                self.paced(now, packet.wire_len());
                return Some(packet);
            }
        }
        if may_send && small && !self.sender.has_retransmissions() && self.sender.has_new() {
            return self.compose_data(now, control);
        }
        if !answers && let Some(packet) = self.compose_probe(now) {
            return Some(packet);
        }
        let opens = self.opening.is_due();
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

    fn compose_data(&mut self, now: Time, mut control: Rare) -> Option<Packet<P>> {
        let room = self.mtu.room().saturating_sub(wire_len(&control));
        self.resume_data(now);
        let polls = self.poll_rides(room.min(self.sender.max_payload));
        if self.opening.rides(polls, self.config.begin_copies) {
            self.put_begin(now, &mut control);
        }
        let room = self.mtu.room().saturating_sub(wire_len(&control) + 4 * usize::from(polls)).max(1);
        let (number, data) = self.sender.take_new(room)?;
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
        let size = self.mtu.wanted(now).filter(|_| self.established() && self.sender.outstanding())?;
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
        let follows = self.timers.poll_sent(now);
        let unused = self.timers.unused + self.unused(now);
        let stamp = self.sender.poll(now, rides, unused);
        if follows {
            self.sender.polls.last_follows();
        }
        stamp
    }

    /// Further copies of a retransmission that all else depends on, and the interval between them.
    fn copies(&self) -> Option<(u32, Span)> {
        let apart = Span::from_nanos(self.timers.srtt()?.as_nanos() / 16);
        let most = self.config.tail_copies;
        let wanted = match most {
            0 => 0,
            // A packet that is lost repeatedly blocks the receiver's window.
            _ if self.sender.repaired_before() && self.sender.few_copies(most) => most,
            _ if self.sender.unsent() == 0 => self.sender.copies_wanted(most),
            _ => 0,
        };
        (wanted > 0).then_some((wanted, apart))
    }
}
