//! The receiving half: puts packets in order, and reports missing ones.
//!
//! Follows HT §5.1.1 and Q.2110's VR(R), VR(H), VR(MR); docs/stp.md §7.
//! Differs: the application's unread data count against the window, and those behind gaps against a bound in bytes.
//! Leaves out the times at which packets may be sent.

use super::answers::{PendingAnswers, ReceivedBefore};
use super::config::Config;
use super::credit::OfferedCredit;
use super::ecn::{COUNTED_MARKS, ReceivedMarks};
use super::gap_reports::GapReports;
use super::missing::MissingRanges;
use super::receive_buffer::{HoldBound, ReceiveBuffer};
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{Contents, Features, Payload, Stat, Ustat, wire_number};

/// Counts of the packets that have arrived.
#[derive(Debug, Default)]
pub(super) struct ArrivalCounts {
    /// Packets received, without duplicates.
    received: u64,
    pub duplicates: u64,
    /// Packets beyond the announced limit.
    pub refused: u64,
    /// Bytes delivered in order.
    pub delivered: u64,
    /// Counts of ECN, if the ends agreed on it.
    marks: Option<ReceivedMarks>,
}

#[derive(Debug)]
pub(super) struct PathReceiver<P> {
    pub buffer: ReceiveBuffer<P>,
    credit: OfferedCredit,
    missing: MissingRanges,
    gap_reports: GapReports,
    answers: PendingAnswers,
    pub counts: ArrivalCounts,
    /// One past the last number of the peer.
    end: Option<u64>,
    /// Time that an answer waits while a gap may close.
    reordering_delay: Span,
    compact: bool,
}

impl<P: Payload> PathReceiver<P> {
    /// Reads data in order: at most `most` bytes, and at most a packet. The peer is told of new room.
    pub fn read(&mut self, most: usize) -> Option<P> {
        let data = self.buffer.read(most);
        if self.credit.has_reopened(self.buffer.unread(), self.buffer.high) {
            self.answers.repeat(self.buffer.next);
        }
        data
    }
}

impl<P: Contents> PathReceiver<P> {
    pub fn new(config: &Config, first: u64, ordered: bool, features: Features) -> Self {
        let bytes = config.window.max(u64::from(config.max_payload()));
        let bound = HoldBound { bytes, packet_cost: 0, next_packet: 0 };
        let compact = features.has(Features::COMPACT);
        let marks = features.has(COUNTED_MARKS).then(ReceivedMarks::default);
        Self {
            buffer: ReceiveBuffer::new(first, bound, ordered),
            credit: OfferedCredit::new(first, config.window_packets()),
            missing: MissingRanges::default(),
            gap_reports: GapReports::new(config, compact),
            answers: PendingAnswers::new(compact, features.has(Features::REPORT)),
            counts: ArrivalCounts { marks, ..ArrivalCounts::default() },
            end: None,
            reordering_delay: config.reordering_delay,
            compact,
        }
    }

    /// VR(MR): the first number that is not accepted. Data that wait for the application count, which bounds memory.
    pub fn limit(&self) -> u64 {
        self.credit.limit(self.buffer.unread())
    }

    /// Changes the window, in packets. The peer is told of one that is much larger.
    pub fn set_window(&mut self, packets: u64) {
        let unread = self.buffer.unread();
        self.credit.set_window(packets, unread);
        if self.credit.has_widened(unread, self.buffer.next) {
            self.answers.repeat(self.buffer.next);
        }
    }

    /// Returns true if everything up to the peer's END is in order.
    pub fn complete(&self) -> bool {
        self.end == Some(self.buffer.next)
    }

    /// Handles a packet of data. Returns the number of bytes that it brought into order.
    pub fn on_data(&mut self, now: Time, number: u64, data: P, field: Ecn) -> u64 {
        if number < self.buffer.next || self.end.is_some_and(|end| number >= end) {
            self.counts.duplicates += 1;
            return 0;
        }
        if number >= self.limit() || !self.buffer.has_room(number, data.len() as u64, number + 1) {
            self.counts.refused += 1;
            return 0;
        }
        if number >= self.buffer.high {
            if number > self.buffer.high {
                self.gap(number);
            }
            self.buffer.extend(number + 1);
        } else if !self.missing.fill(number) {
            self.counts.duplicates += 1;
            return 0;
        }
        self.counts.received += 1;
        if let Some(marks) = &mut self.counts.marks {
            marks.add(field);
        }
        let bytes = self.buffer.insert(number, data);
        self.counts.delivered += bytes;
        self.gap_reports.on_data(now, self.counts.received, &self.missing);
        bytes
    }

    /// Adds a gap from VR(H) to `end`.
    fn gap(&mut self, end: u64) {
        self.missing.add(self.buffer.high, end);
        self.gap_reports.found(self.buffer.high, end, self.counts.received);
    }

    /// Raises VR(H) to the number before which the peer has sent all packets.
    fn reach(&mut self, behind: u64) {
        if behind > self.buffer.high {
            self.gap(behind);
            self.buffer.extend(behind);
        }
    }

    /// Returns true if a POLL is to be answered. One that asks only for packets that came before is a copy of an earlier one, unless it is
    /// newer: later packets may have passed it.
    pub fn asks_anew(&self, echo: u32, behind: u64) -> bool {
        behind >= self.buffer.next || self.answers.is_newer(echo)
    }

    /// Handles a POLL; `behind` is the number of its sender's next new packet.
    pub fn on_poll(&mut self, now: Time, echo: u32, behind: u64) {
        self.reach(behind.min(self.limit()).min(self.buffer.high_most()));
        let wait = if self.gap_reports.has_fresh() { self.reordering_delay } else { Span::ZERO };
        let (received, marks) = (self.counts.received, self.counts.marks.unwrap_or_default());
        self.answers.on_poll(echo, wait, ReceivedBefore { at: now, received, marks }, self.buffer.high);
    }

    /// Handles an END: the peer will send nothing from `end` on. Returns false if that contradicts earlier arrivals.
    pub fn on_end(&mut self, end: u64) -> bool {
        if self.end.is_some_and(|known| known != end) || end < self.buffer.high || end > self.limit() {
            return self.end == Some(end);
        }
        if end > self.buffer.high && !self.buffer.has_room_for_gap(end) {
            // The peer repeats it.
            return true;
        }
        self.end = Some(end);
        self.reach(end);
        true
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        [self.answers.poll_timeout(), self.gap_reports.poll_timeout()].into_iter().flatten().min()
    }

    /// Returns true if an answer or a report is due, or waits for a packet.
    pub fn has_answers(&self, now: Time) -> bool {
        self.answers.has_parts() || self.poll_timeout().is_some_and(|at| at <= now)
    }

    /// The next part, of at most `room` bytes, of the answer to the last POLL, if it is due.
    pub fn stat(&mut self, now: Time, room: usize) -> Option<Stat> {
        let limit = self.limit();
        if let Some(upto) = self.answers.list(now, room, self.buffer.next, limit, &self.missing) {
            self.credit.announce(limit);
            self.gap_reports.on_list(now, upto);
        }
        self.answers.take_part()
    }

    /// A report of gaps that are due and have not been reported yet.
    pub fn ustat(&mut self, now: Time, room: usize) -> Option<Ustat> {
        let gaps = self.gap_reports.take(now, room, &self.missing)?;
        let limit = self.limit();
        self.credit.announce(limit);
        Some(Ustat {
            next: wire_number(self.buffer.next),
            credit: wire_number(limit),
            gaps,
            compact: self.compact,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::PayloadLength;

    /// docs/stp.md §7: later packets may have passed a POLL, so that it asks only for what has come. A copy is not answered.
    #[test]
    fn a_poll_that_was_passed_is_answered() {
        let (config, now) = (Config::default(), Time::from_nanos(1_000_000_000));
        let mut receiver: PathReceiver<PayloadLength> = PathReceiver::new(&config, 0, true, Features::REPORT);
        for number in [1, 2, 3, 0] {
            receiver.on_data(now, number, PayloadLength(500), Ecn::NotCapable);
        }
        // The POLL came with the first packet, which was the last to come.
        assert!(receiver.asks_anew(7000, 1));
        receiver.on_poll(now, 7000, 1);
        assert!(!receiver.asks_anew(7000, 1) && !receiver.asks_anew(6000, 1));
        assert!(receiver.asks_anew(6000, 4) && receiver.asks_anew(7001, 1));
    }
}
