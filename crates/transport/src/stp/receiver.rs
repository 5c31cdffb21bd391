//! The receiving half: puts packets in order, and reports missing ones.
//!
//! Follows HT §5.1.1 and Q.2110's VR(R), VR(H), VR(MR); docs/stp.md §7.
//! Differs: the application's unread data count against the window, and those behind gaps against a bound in bytes.
//! Leaves out the times at which packets may be sent.

use super::config::Config;
use super::ecn::ReceivedMarks;
use super::missing::MissingRanges;
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

/// Bound on the data that wait for the application, including those behind gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct HoldBound {
    /// The bound, bytes.
    pub bytes: u64,
    /// Bytes that count for each packet held or missing, in addition to its data. With zero the bound holds for data alone, and the next
    /// packet in order may exceed it.
    pub packet_cost: u64,
    /// Bytes that packets behind a gap leave free, so that the packet which closes the gap has room.
    pub next_packet: u64,
}

#[derive(Debug)]
pub(super) struct PathReceiver<P> {
    /// VR(R): all packets before it have arrived.
    pub next: u64,
    /// VR(H): one past the highest number that has arrived or was announced.
    pub high: u64,
    window: u64,
    /// VR(MR) of a window that was larger: an edge never moves back.
    edge: u64,
    /// The numbers from `next` to `high`.
    slots: VecDeque<Option<P>>,
    /// Packets in order; the first may have been read in part.
    ready: VecDeque<P>,
    pub ready_bytes: u64,
    /// Bytes held behind gaps.
    behind_bytes: u64,
    bound: HoldBound,
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
    /// True if packets are put in order before they are passed on.
    ordered: bool,
    pub compact: bool,
    pub report: bool,
    /// Counts of ECN, if the ends agreed on it.
    pub marks: Option<ReceivedMarks>,
}

impl<P: Payload> PathReceiver<P> {
    /// Reads data in order: at most `most` bytes, and at most a packet. The peer is told of new room.
    pub fn read(&mut self, most: usize) -> Option<P> {
        let data = self.read_ready(most);
        if self.reopened() {
            self.tell();
        }
        data
    }

    fn read_ready(&mut self, most: usize) -> Option<P> {
        let front = self.ready.front_mut()?;
        let taken = if front.len() <= most {
            self.ready.pop_front()?
        } else if most == 0 {
            return None;
        } else {
            front.split_to(most)
        };
        self.ready_bytes -= taken.len() as u64;
        Some(taken)
    }
}

impl<P: Contents> PathReceiver<P> {
    pub fn new(config: &Config, first: u64, ordered: bool) -> Self {
        Self {
            next: first,
            high: first,
            window: config.window_packets(),
            edge: first,
            slots: VecDeque::new(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            behind_bytes: 0,
            bound: HoldBound {
                bytes: config.window.max(u64::from(config.max_payload())),
                packet_cost: 0,
                next_packet: 0,
            },
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
            ordered,
            compact: false,
            report: false,
            marks: None,
        }
    }

    /// VR(MR): the first number that is not accepted. Data that wait for the application count, which bounds memory.
    pub fn limit(&self) -> u64 {
        self.edge.max(self.next - self.ready.len() as u64 + self.window)
    }

    /// Changes the window, in packets. The peer is told of one that is much larger.
    pub fn set_window(&mut self, packets: u64) {
        self.edge = self.limit();
        self.window = packets;
        if self.widened() {
            self.tell();
        }
    }

    /// Another bound on what is held. Packets beyond it count as lost.
    pub fn hold_at_most(&mut self, bound: HoldBound) {
        self.bound = bound;
    }

    /// Bytes held, and the cost of each packet that is held or missing.
    pub fn held_with_cost(&self, packet_cost: u64) -> u64 {
        self.held_bytes() + packet_cost * self.held() as u64
    }

    /// Returns true if there is room for data, and for the numbers before `high`.
    fn has_room(&self, number: u64, bytes: u64, high: u64) -> bool {
        let HoldBound { bytes: most, packet_cost, next_packet } = self.bound;
        if packet_cost == 0 {
            // Packets of the agreed size fit if their number does; the peer may have sent larger ones, before agreement or by mistake.
            return if number == self.next {
                self.ready_bytes == 0 || self.ready_bytes + bytes <= most
            } else {
                self.held_bytes() + bytes <= most
            };
        }
        let left = if number == self.next { 0 } else { next_packet };
        let numbers = high.saturating_sub(self.high);
        self.held_with_cost(packet_cost) + packet_cost * numbers + bytes + left <= most
    }

    /// Packets held: in order for the application, and behind gaps.
    pub fn held(&self) -> usize {
        self.ready.len() + self.slots.len()
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> u64 {
        self.ready_bytes + self.behind_bytes
    }

    /// Returns true if everything up to the peer's END is in order.
    pub fn complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Handles a packet of data. Returns the number of bytes that it brought into order.
    pub fn on_data(&mut self, now: Time, number: u64, data: P, field: Ecn) -> u64 {
        if number < self.next || self.end.is_some_and(|end| number >= end) {
            self.duplicates += 1;
            return 0;
        }
        if number >= self.limit() || !self.has_room(number, data.len() as u64, number + 1) {
            self.refused += 1;
            return 0;
        }
        if number >= self.high {
            if number > self.high {
                self.gap(self.high, number);
            }
            self.extend(number + 1);
        } else if !self.missing.fill(number) {
            self.duplicates += 1;
            return 0;
        }
        self.received += 1;
        if let Some(marks) = &mut self.marks {
            marks.add(field);
        }
        let bytes = if self.ordered { self.put_in_order(number, data) } else { self.hand_on(number, data) };
        self.ready_bytes += bytes;
        self.delivered += bytes;
        self.ripen(now);
        bytes
    }

    /// Stores a packet until all before it have arrived. Returns the number of bytes that came into order.
    fn put_in_order(&mut self, number: u64, data: P) -> u64 {
        self.behind_bytes += data.len() as u64;
        self.slots[(number - self.next) as usize] = Some(data);
        let mut bytes = 0;
        while let Some(slot) = self.slots.front_mut()
            && let Some(data) = slot.take()
        {
            self.slots.pop_front();
            self.next += 1;
            bytes += data.len() as u64;
            self.ready.push_back(data);
        }
        self.behind_bytes -= bytes;
        bytes
    }

    /// Passes a packet on at once, and only records its arrival.
    fn hand_on(&mut self, number: u64, data: P) -> u64 {
        self.slots[(number - self.next) as usize] = Some(P::default());
        while let Some(Some(_)) = self.slots.front() {
            self.slots.pop_front();
            self.next += 1;
        }
        let bytes = data.len() as u64;
        self.ready.push_back(data);
        bytes
    }

    fn gap(&mut self, start: u64, end: u64) {
        self.missing.add(start, end);
        self.fresh.push_back(Fresh { start, end, received: self.received });
    }

    fn extend(&mut self, high: u64) {
        self.slots.resize((high - self.next) as usize, None);
        self.high = high;
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
        let mut behind = behind.min(self.limit());
        let HoldBound { bytes, packet_cost, next_packet } = self.bound;
        let room = bytes.saturating_sub(self.held_with_cost(packet_cost) + next_packet);
        if let Some(numbers) = room.checked_div(packet_cost) {
            behind = behind.min(self.high + numbers);
        }
        if behind > self.high {
            self.gap(self.high, behind);
            self.extend(behind);
        }
        let wait = if self.fresh.is_empty() { Span::ZERO } else { self.reordering_delay };
        let at = self.answer.map_or(now + wait, |answer| answer.at.min(now + wait));
        self.answer = Some(PendingAnswer {
            at,
            echo,
            asked: Some(now),
            received: self.received,
            marks: self.marks.unwrap_or_default(),
            upto: self.high,
        });
    }

    /// Handles an END: the peer will send nothing from `end` on. Returns false if that contradicts earlier arrivals.
    pub fn on_end(&mut self, end: u64) -> bool {
        if self.end.is_some_and(|known| known != end) || end < self.high || end > self.limit() {
            return self.end == Some(end);
        }
        if self.bound.packet_cost > 0 && end > self.high && !self.has_room(end, 0, end) {
            // The peer repeats it.
            return true;
        }
        self.end = Some(end);
        if end > self.high {
            self.gap(self.high, end);
            self.extend(end);
        }
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
        let upto = answer.upto.max(self.next);
        let mut stat = Stat {
            echo: answer.echo,
            next: wire_number(self.next),
            credit: wire_number(self.told),
            from: wire_number(self.next),
            upto: wire_number(upto),
            gaps: Vec::new(),
            report,
            compact: self.compact,
        };
        // All fields but the list take less than 48 bytes, and 40 without counts of ECN.
        let fields = if answer.marks.counts().is_some() { 48 } else { 40 };
        let (room, mut len, mut before) = (room.saturating_sub(fields), 0, stat.from);
        for (start, end) in self.missing.between(self.next, upto) {
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
            next: wire_number(self.next),
            credit: wire_number(self.told),
            gaps: gaps.collect(),
            compact: self.compact,
        })
    }

    /// The next packet, in order of arrival.
    pub fn take(&mut self) -> Option<P> {
        let taken = self.ready.pop_front()?;
        self.ready_bytes -= taken.len() as u64;
        Some(taken)
    }

    /// Returns true if the application has read so much since the latest report that the peer should be told.
    fn reopened(&self) -> bool {
        let limit = self.limit();
        // The peer has used up its announced credit, as far as this end can see, and half of the window is free again.
        self.high >= self.told && limit - self.told >= self.window.div_ceil(2)
    }

    /// Returns true if half of the window has never been told.
    fn widened(&self) -> bool {
        self.limit().saturating_sub(self.told.max(self.next)) >= self.window.div_ceil(2)
    }

    /// Answers the last POLL once more, so that the peer learns of new room.
    fn tell(&mut self) {
        if let Some(echo) = self.last_echo
            && self.answer.is_none()
        {
            let (at, upto) = (Time::ZERO, self.next);
            let (received, marks) = (self.received, ReceivedMarks::default());
            self.answer = Some(PendingAnswer { at, echo, asked: None, received, marks, upto });
        }
    }
}
