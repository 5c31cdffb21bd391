//! The receiving half: puts packets in order, and reports missing ones.
//!
//! Follows HT §5.1.1 and Q.2110's VR(R), VR(H), VR(MR); docs/stp.md §7.
//! Differs: the application's unread data count against the window, and those behind gaps against a bound in bytes.
//! Leaves out the times at which packets may be sent.

use super::config::Config;
use super::ecn::ReceivedMarks;
use super::missing::MissingRanges;
use super::receive_buffer::{HoldBound, ReceiveBuffer};
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{Contents, Gap, Payload, Report, Stat, Ustat, wire_number};
use std::collections::VecDeque;

/// Largest number of USTATs between two lists in the plain format, where each USTAT names one gap: otherwise they could fill a slow
/// or very lossy reverse path.
const PLAIN_USTATS: u32 = 5;

/// An answer that is due: the POLL's timestamp, and the state when the POLL arrived.
#[derive(Debug, Clone, Copy)]
struct PendingAnswer {
    at: Time,
    echo: u32,
    /// `None` if it was answered before and is repeated for its credit.
    asked: Option<Time>,
    received: u64,
    marks: ReceivedMarks,
    /// Number at which the list ends.
    upto: u64,
}

/// A gap that may still close by reordering.
#[derive(Debug, Clone, Copy)]
struct Fresh {
    start: u64,
    end: u64,
    /// Number of packets received before the one that revealed it.
    received: u64,
}

#[derive(Debug)]
pub(super) struct PathReceiver<P> {
    pub buffer: ReceiveBuffer<P>,
    window: u64,
    /// VR(MR) of a window that was larger: an edge never moves back.
    edge: u64,
    missing: MissingRanges,
    fresh: VecDeque<Fresh>,
    ripe: Vec<(u64, u64)>,
    ustat_at: Option<Time>,
    /// Number of USTATs since the last list, which names all gaps.
    ustats: u32,
    answer: Option<PendingAnswer>,
    /// Timestamp of the last POLL.
    last_echo: Option<u32>,
    /// Parts of an answer that wait for a packet each.
    parts: VecDeque<Stat>,
    /// Packets received, without duplicates.
    pub received: u64,
    pub duplicates: u64,
    /// Packets beyond the announced limit.
    pub refused: u64,
    /// Bytes delivered in order.
    pub delivered: u64,
    /// One past the last number of the peer.
    pub end: Option<u64>,
    /// The limit last announced to the peer.
    told: u64,
    threshold: u64,
    ustat_delay: Span,
    reordering_delay: Span,
    pub compact: bool,
    pub report: bool,
    /// Counts of ECN, if the ends agreed on it.
    pub marks: Option<ReceivedMarks>,
}

impl<P: Payload> PathReceiver<P> {
    /// Reads data in order: at most `most` bytes, and at most a packet. The peer is told of new room.
    pub fn read(&mut self, most: usize) -> Option<P> {
        let data = self.buffer.read(most);
        if self.reopened() {
            self.tell();
        }
        data
    }
}

impl<P: Contents> PathReceiver<P> {
    pub fn new(config: &Config, first: u64, ordered: bool) -> Self {
        let bytes = config.window.max(u64::from(config.max_payload()));
        let bound = HoldBound { bytes, packet_cost: 0, next_packet: 0 };
        Self {
            buffer: ReceiveBuffer::new(first, bound, ordered),
            window: config.window_packets(),
            edge: first,
            missing: MissingRanges::default(),
            fresh: VecDeque::new(),
            ripe: Vec::new(),
            ustat_at: None,
            ustats: 0,
            answer: None,
            last_echo: None,
            parts: VecDeque::new(),
            received: 0,
            duplicates: 0,
            refused: 0,
            delivered: 0,
            end: None,
            told: first,
            threshold: u64::from(config.ustat_threshold.max(1)),
            ustat_delay: config.ustat_delay,
            reordering_delay: config.reordering_delay,
            compact: false,
            report: false,
            marks: None,
        }
    }

    /// VR(MR): the first number that is not accepted. Data that wait for the application count, which bounds memory.
    pub fn limit(&self) -> u64 {
        self.edge.max(self.buffer.unread() + self.window)
    }

    /// Changes the window, in packets. The peer is told of one that is much larger.
    pub fn set_window(&mut self, packets: u64) {
        self.edge = self.limit();
        self.window = packets;
        if self.widened() {
            self.tell();
        }
    }

    /// Returns true if everything up to the peer's END is in order.
    pub fn complete(&self) -> bool {
        self.end == Some(self.buffer.next)
    }

    /// Handles a packet of data. Returns the number of bytes that it brought into order.
    pub fn on_data(&mut self, now: Time, number: u64, data: P, field: Ecn) -> u64 {
        if number < self.buffer.next || self.end.is_some_and(|end| number >= end) {
            self.duplicates += 1;
            return 0;
        }
        if number >= self.limit() || !self.buffer.has_room(number, data.len() as u64, number + 1) {
            self.refused += 1;
            return 0;
        }
        if number >= self.buffer.high {
            if number > self.buffer.high {
                self.gap(self.buffer.high, number);
            }
            self.buffer.extend(number + 1);
        } else if !self.missing.fill(number) {
            self.duplicates += 1;
            return 0;
        }
        self.received += 1;
        if let Some(marks) = &mut self.marks {
            marks.add(field);
        }
        let bytes = self.buffer.insert(number, data);
        self.delivered += bytes;
        self.ripen(now);
        bytes
    }

    fn gap(&mut self, start: u64, end: u64) {
        self.missing.add(start, end);
        self.fresh.push_back(Fresh { start, end, received: self.received });
    }

    /// Raises VR(H) to the number before which the peer has sent all packets.
    fn reach(&mut self, behind: u64) {
        if behind > self.buffer.high {
            self.gap(self.buffer.high, behind);
            self.buffer.extend(behind);
        }
    }

    fn ripen(&mut self, now: Time) {
        while let Some(&fresh) = self.fresh.front()
            && self.received - fresh.received >= self.threshold
        {
            self.fresh.pop_front();
            let missing: Vec<_> = self.missing.between(fresh.start, fresh.end).collect();
            if !missing.is_empty() {
                let delay = if self.compact { self.ustat_delay } else { Span::ZERO };
                self.ustat_at.get_or_insert(now + delay);
                self.ripe.extend(missing);
            }
        }
    }

    /// Handles a POLL; `behind` is the number of its sender's next new packet.
    pub fn on_poll(&mut self, now: Time, echo: u32, behind: u64) {
        self.last_echo = Some(echo);
        self.reach(behind.min(self.limit()).min(self.buffer.high_most()));
        let wait = if self.fresh.is_empty() { Span::ZERO } else { self.reordering_delay };
        let at = self.answer.map_or(now + wait, |answer| answer.at.min(now + wait));
        self.answer = Some(PendingAnswer {
            at,
            echo,
            asked: Some(now),
            received: self.received,
            marks: self.marks.unwrap_or_default(),
            upto: self.buffer.high,
        });
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
        [self.answer.map(|answer| answer.at), self.ustat_at].into_iter().flatten().min()
    }

    /// Returns true if an answer is due, or waits for a packet.
    pub fn answers(&self, now: Time) -> bool {
        !self.parts.is_empty() || self.poll_timeout().is_some_and(|at| at <= now)
    }

    /// The next part, of at most `room` bytes, of the answer to the last POLL, if it is due.
    pub fn stat(&mut self, now: Time, room: usize) -> Option<Stat> {
        self.list(now, room);
        self.parts.pop_front()
    }

    /// Appends the answer to the last POLL, if it is due, in parts of at most `room` bytes.
    fn list(&mut self, now: Time, room: usize) {
        let Some(answer) = self.answer.take_if(|answer| answer.at <= now) else { return };
        self.told = self.limit();
        let report = answer.asked.filter(|_| self.report).map(|asked| Report {
            received: answer.received as u32,
            at: (asked.as_nanos() / 1000) as u32,
            delayed: (now.since(asked).as_nanos() / 1000) as u32,
            marks: answer.marks.counts(),
        });
        let upto = answer.upto.max(self.buffer.next);
        let mut stat = Stat {
            echo: answer.echo,
            next: wire_number(self.buffer.next),
            credit: wire_number(self.told),
            from: wire_number(self.buffer.next),
            upto: wire_number(upto),
            gaps: Vec::new(),
            report,
            compact: self.compact,
        };
        // All fields but the list take less than 48 bytes, and 40 without counts of ECN.
        let fields = if answer.marks.counts().is_some() { 48 } else { 40 };
        let (room, mut len, mut before) = (room.saturating_sub(fields), 0, stat.from);
        for (start, end) in self.missing.between(self.buffer.next, upto) {
            let gap = Gap { start: wire_number(start), end: wire_number(end) };
            let mut one = if stat.compact { gap.wire_len(before) } else { 8 };
            if len + one > room && len > 0 {
                let full = Stat { upto: gap.start, gaps: std::mem::take(&mut stat.gaps), ..stat.clone() };
                self.parts.push_back(full);
                stat.from = gap.start;
                one = if stat.compact { gap.wire_len(gap.start) } else { 8 };
                len = 0;
            }
            stat.gaps.push(gap);
            (len, before) = (len + one, gap.end);
        }
        self.parts.push_back(stat);
        // Gaps in the list need no USTAT; the POLL's time tells the peer which of them it has resent since.
        self.fresh.retain(|fresh| fresh.start >= upto);
        if !self.compact {
            self.ripe.retain(|&(start, _)| start >= upto);
            self.ustats = 0;
            self.ustat_at = (!self.ripe.is_empty()).then_some(now);
        }
    }

    /// A report of gaps that are due and have not been reported yet.
    pub fn ustat(&mut self, now: Time, room: usize) -> Option<Ustat> {
        self.ustat_at.take_if(|at| *at <= now)?;
        if !self.compact && self.ustats >= PLAIN_USTATS {
            return None;
        }
        let most = if self.compact { (room.saturating_sub(20) / 8).clamp(1, 1024) } else { 1 };
        let ripe = std::mem::take(&mut self.ripe);
        let mut still: Vec<(u64, u64)> =
            ripe.iter().flat_map(|&(start, end)| self.missing.between(start, end)).collect();
        if still.len() > most {
            self.ripe = still.split_off(most);
            self.ustat_at = Some(now);
        }
        if still.is_empty() {
            return None;
        }
        self.told = self.limit();
        self.ustats += 1;
        let gaps = still.iter().map(|&(start, end)| Gap { start: wire_number(start), end: wire_number(end) });
        Some(Ustat {
            next: wire_number(self.buffer.next),
            credit: wire_number(self.told),
            gaps: gaps.collect(),
            compact: self.compact,
        })
    }

    /// Returns true if the application has read so much since the latest report that the peer should be told.
    fn reopened(&self) -> bool {
        let limit = self.limit();
        // The peer has used up its announced credit, as far as this end can see, and half of the window is free again.
        self.buffer.high >= self.told && limit - self.told >= self.window.div_ceil(2)
    }

    /// Returns true if half of the window has never been told.
    fn widened(&self) -> bool {
        self.limit().saturating_sub(self.told.max(self.buffer.next)) >= self.window.div_ceil(2)
    }

    /// Answers the last POLL once more, so that the peer learns of new room.
    fn tell(&mut self) {
        if let Some(echo) = self.last_echo
            && self.answer.is_none()
        {
            let (at, upto) = (Time::ZERO, self.buffer.next);
            let (received, marks) = (self.received, ReceivedMarks::default());
            self.answer = Some(PendingAnswer { at, echo, asked: None, received, marks, upto });
        }
    }
}
