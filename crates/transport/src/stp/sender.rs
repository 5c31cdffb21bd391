//! The sending half: numbers packets, keeps them until they are acknowledged, retransmits those reported missing.
//!
//! Follows HT §5.1.1 and Q.2110's VT(S), VT(A), VT(MS); docs/stp.md §6: packets have no timers; a POLL's time decides.
//! Differs: data are cut into packets when they are sent, so that small writes share a packet.
//! Leaves out the times (`timers`) and the number (`congestion`) of packets.

use super::config::Config;
use super::congestion::{Feedback, PollAnswer};
use super::copies::{RepeatCopies, RepeatRisk};
use super::ecn::ReportedMarks;
use super::polls::{OutstandingPolls, Poll, SentBefore};
use super::reordering::Reordering;
use super::reported::ReportedTotals;
use super::source::{Source, WrittenData};
use crate::tcp::RttSamples;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Contents, Payload, Report, Stat, Ustat, expand, wire_number};
use std::collections::{BTreeSet, VecDeque};

/// Counters of packets sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// SDs sent, including retransmissions.
    pub packets_sent: u64,
    /// Retransmitted SDs among `packets_sent`.
    pub packets_retransmitted: u64,
    /// Data bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// POLLs sent, alone and with data.
    pub polls_sent: u64,
    /// POLLs sent in a packet of their own, among `polls_sent`.
    pub polls_alone: u64,
    /// Parts of STATs sent.
    pub stats_sent: u64,
    /// Number of USTATs sent.
    pub ustats_sent: u64,
    /// Bytes of packets without data, STP's header included.
    pub control_bytes_sent: u64,
    /// Packets without data.
    pub control_packets_sent: u64,
    /// SDs that had arrived before.
    pub duplicates_received: u64,
    /// Packets with impossible or outdated numbers.
    pub ignored: u64,
    /// Reductions of window or rate for losses.
    pub reductions: u64,
    /// POLLs that were not answered within the timeout.
    pub timeouts: u64,
    /// Samples of the round-trip time.
    pub rtt: RttSamples,
}

#[derive(Debug)]
struct SendSlot<P> {
    /// The data; `None` once they are known to have arrived.
    data: Option<P>,
    /// The last POLL sent before the packet's latest transmission.
    last_poll: u64,
    sent_at: Time,
    sent: u32,
    queued: bool,
    /// True if a report named the packet and it was not sent again, as it may only be late.
    awaited: bool,
    /// True if a further copy of a retransmission was sent.
    copied: bool,
}

#[derive(Debug)]
pub(super) struct PathSender<P, S = WrittenData<P>> {
    pub source: S,
    slots: VecDeque<SendSlot<P>>,
    /// VT(A): the oldest unacknowledged number.
    pub acked: u64,
    /// VT(S): the next new number.
    pub next: u64,
    /// VT(MS): the first number that the peer does not accept.
    pub limit: u64,
    retransmit: BTreeSet<u64>,
    copies: RepeatCopies,
    /// Number of SDs reported missing, each report counted.
    reported: u64,
    /// The first number that was sent at the rate on trial.
    pub trial: u64,
    /// Bytes sent that are neither known to have arrived nor waiting for retransmission.
    pub in_flight: u64,
    /// The largest number of them.
    pub in_flight_max: u64,
    /// Bytes known to have arrived.
    pub acked_bytes: u64,
    pub polls: OutstandingPolls,
    reported_totals: ReportedTotals,
    pub reordering: Reordering,
    pub marks: ReportedMarks,
    pub max_payload: usize,
    overhead: u32,
    pub stats: Stats,
}

impl<P: Payload> PathSender<P> {
    pub fn write(&mut self, data: P) {
        self.source.write(data, self.max_payload);
    }
}

impl<P: Contents, S: Source<P>> PathSender<P, S> {
    pub fn new(config: &Config, first: u64, source: S) -> Self {
        Self {
            source,
            slots: VecDeque::new(),
            acked: first,
            next: first,
            limit: first + config.early_packets(),
            retransmit: BTreeSet::new(),
            copies: RepeatCopies::default(),
            reported: 0,
            trial: 0,
            in_flight: 0,
            in_flight_max: 0,
            acked_bytes: 0,
            polls: OutstandingPolls::default(),
            reported_totals: ReportedTotals::default(),
            reordering: Reordering::default(),
            marks: ReportedMarks::default(),
            max_payload: config.max_payload().min(config.base_size.saturating_sub(12).max(1)) as usize,
            overhead: config.overhead + skyhop_wire::stp::HEADER_LEN as u32,
            stats: Stats::default(),
        }
    }

    /// Bytes that have not been sent for the first time.
    pub fn unsent(&self) -> u64 {
        self.source.waiting()
    }

    /// Returns true if packets are not acknowledged in order.
    pub fn outstanding(&self) -> bool {
        self.acked < self.next
    }

    /// Bytes sent and not known to have arrived, including those that wait for retransmission.
    pub fn outstanding_bytes(&self) -> u64 {
        self.slots.iter().filter_map(|slot| slot.data.as_ref()).map(|data| data.len() as u64).sum()
    }

    /// Returns true if the peer accepts any of the outstanding packets: early data may lie beyond its window.
    pub fn moves(&self) -> bool {
        self.acked < self.next.min(self.limit)
    }

    pub fn has_retransmissions(&self) -> bool {
        !self.retransmit.is_empty()
    }

    /// Returns true if there is a packet that the peer accepts, new or to be sent again.
    pub fn has_packets(&self) -> bool {
        self.has_new() || self.has_retransmissions()
    }

    /// Returns true if data wait that the peer does not accept.
    pub fn lacks_credit(&self) -> bool {
        self.unsent() > 0 && self.next >= self.limit
    }

    /// Returns true if the window has room for another packet of data.
    pub fn fits(&self, window: u64) -> bool {
        // A POLL that all else depends on is sent in any case: data in flight may lie beyond the peer's window and never be answered.
        self.in_flight == 0 || self.oldest_waits() || self.in_flight + self.next_size() <= window
    }

    /// Returns true if the window has at most `packets`, so that the last packet of each burst carries the POLL.
    pub fn is_small(&self, window: u64, packets: u32) -> bool {
        window / self.max_payload.max(1) as u64 <= u64::from(packets)
    }

    /// Returns true if the next new packet, of `room` bytes and sent now, would be the last for the time being. A window of at most
    /// `small` packets ends a burst.
    pub fn would_be_last(&self, room: usize, window: u64, small: u32) -> bool {
        let room = room as u64;
        self.unsent() <= room
            || self.next + 1 >= self.limit
            || (self.is_small(window, small) && self.in_flight + 2 * room > window)
    }

    /// Number of packets that wait to be sent again.
    pub fn repeats(&self) -> u64 {
        self.retransmit.len() as u64
    }

    /// Returns true if the oldest packet has been retransmitted, or waits to be: the receiver cannot deliver any after it.
    pub fn repairs_oldest(&self) -> bool {
        self.slots.front().is_some_and(|slot| slot.sent > 1 || slot.queued)
    }

    /// Returns true if the oldest packet waits for retransmission.
    pub fn oldest_waits(&self) -> bool {
        self.retransmit.first() == Some(&self.acked)
    }

    /// Returns true if there is a new packet that the peer accepts.
    pub fn has_new(&self) -> bool {
        self.unsent() > 0 && self.next < self.limit
    }

    /// Number of packets that a large window would release now.
    pub fn waiting(&self) -> u64 {
        let fresh = self.unsent().div_ceil(self.max_payload as u64).min(self.limit.saturating_sub(self.next));
        self.repeats() + fresh
    }

    /// Upper bound of the size of the next packet of data, bytes.
    pub fn next_size(&self) -> u64 {
        (self.max_payload as u64).min(if self.retransmit.is_empty() { self.unsent() } else { u64::MAX })
    }

    /// The lowest missing packet for retransmission, of at most `room` bytes if its contents can be split.
    pub fn take_retransmission(
        &mut self,
        now: Time,
        room: usize,
        copies: Option<(u32, Span)>,
    ) -> Option<(u64, P)> {
        let number = self.retransmit.pop_first()?;
        let stamp = self.polls.last_stamp();
        let slot = &mut self.slots[(number - self.acked) as usize];
        slot.queued = false;
        (slot.last_poll, slot.sent_at) = (stamp, now);
        slot.sent = slot.sent.saturating_add(1);
        let data = self.source.again(slot.data.take()?, room);
        slot.data = Some(data.clone());
        self.in_flight += data.len() as u64;
        if let Some((left, apart)) = copies {
            self.copies.follow(now, number, left, apart);
        }
        self.count(&data);
        self.stats.packets_retransmitted += 1;
        Some((number, data))
    }

    /// Returns true if the next packet to be retransmitted has been before.
    fn repaired_before(&self) -> bool {
        let next = self.retransmit.first().and_then(|number| self.slots.get((number - self.acked) as usize));
        next.is_some_and(|slot| slot.sent > 1)
    }

    /// Further copies, at most `most`, of the next retransmission.
    pub fn copies(&self, most: u32) -> u32 {
        let risk = RepeatRisk {
            loss: self.loss(),
            outstanding: self.next - self.acked,
            window: self.limit.saturating_sub(self.acked),
            sent: self.stats.packets_sent,
            again: self.repaired_before(),
            last: self.unsent() == 0,
        };
        self.copies.wanted(most, risk)
    }

    /// Share of the packets that the peer has reported missing.
    fn loss(&self) -> f64 {
        (self.reported as f64 / self.stats.packets_sent.max(1) as f64).min(0.9)
    }

    /// The next further copy that is due, if its packet is still missing.
    pub fn take_copy(&mut self, now: Time) -> Option<(u64, P)> {
        while let Some((number, at)) = self.copies.next() {
            let slot = number.checked_sub(self.acked).and_then(|at| self.slots.get_mut(at as usize));
            let Some(slot) = slot.filter(|slot| !slot.queued && slot.data.is_some()) else {
                self.copies.skip();
                continue;
            };
            if at > now {
                return None;
            }
            let data = slot.data.take()?;
            let before = data.len() as u64;
            slot.copied = true;
            let data = self.source.again(data, self.max_payload);
            slot.data = Some(data.clone());
            self.in_flight = self.in_flight - before + data.len() as u64;
            self.count(&data);
            self.copies.count(now, data.len() as f64 + f64::from(self.overhead));
            self.stats.packets_retransmitted += 1;
            return Some((number, data));
        }
        None
    }

    /// Lets a copy of the last packet leave, if it has not arrived and no other copy waits.
    pub fn copy_last(&mut self, now: Time) {
        let waits = |slot: &SendSlot<P>| slot.data.is_some() && !slot.queued;
        if self.slots.back().is_some_and(waits) && self.copies.next().is_none() {
            self.copies.follow(now, self.next - 1, 1, Span::ZERO);
        }
    }

    /// Time of the next further copy.
    pub fn copy_at(&self) -> Option<Time> {
        self.copies.next().map(|(_, at)| at)
    }

    /// The next new packet, of at most `room` bytes.
    pub fn take_new(&mut self, now: Time, room: usize) -> Option<(u64, P)> {
        if !self.has_new() {
            return None;
        }
        let room = room.min(self.max_payload);
        let data = self.source.take(room)?;
        let number = self.next;
        self.next += 1;
        self.in_flight += data.len() as u64;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        self.slots.push_back(SendSlot {
            data: Some(data.clone()),
            last_poll: self.polls.last_stamp(),
            sent_at: now,
            sent: 1,
            queued: false,
            awaited: false,
            copied: false,
        });
        self.count(&data);
        Some((number, data))
    }

    /// Network-layer bytes of all SDs sent, without copies.
    pub fn network_bytes(&self) -> f64 {
        let overhead = self.stats.packets_sent as f64 * f64::from(self.overhead);
        self.stats.bytes_sent as f64 + overhead - self.copies.bytes
    }

    fn count(&mut self, data: &P) {
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += data.len() as u64;
    }

    /// Timestamp of a new POLL. `rides` if it is in the newest packet of data.
    pub fn poll(&mut self, now: Time, rides: bool, unused: Span) -> u32 {
        let (sent, next) = (self.stats.packets_sent - self.copies.sent, self.next);
        let stamp = self.polls.send(now, SentBefore { sent, next, bytes: self.network_bytes(), unused });
        self.polls.last_acked(self.acked);
        if rides && let Some(slot) = self.slots.back_mut() {
            slot.last_poll = stamp;
        }
        self.stats.polls_sent += 1;
        stamp as u32
    }

    /// Handles a STAT; `None` if it is outdated or impossible.
    pub fn on_stat(&mut self, now: Time, stat: &Stat) -> Option<Feedback> {
        let poll = self.polls.named(stat.echo)?;
        let next = expand(stat.next, self.acked)?;
        let from = expand(stat.from, next)?;
        let upto = expand(stat.upto, from)?;
        // A USTAT may have passed this list, so that VT(A) is greater by now.
        if next < poll.acked() || next > from || from > upto || upto > self.next {
            return None;
        }
        let mut gaps = Vec::with_capacity(stat.gaps.len());
        for gap in &stat.gaps {
            let (start, end) = (expand(gap.start, from)?, expand(gap.end, from)?);
            if start < from || end > upto || start >= end {
                return None;
            }
            gaps.push((start, end));
        }
        let mut feedback = Feedback::default();
        self.credit(stat.credit, next);
        let delayed = stat.report.map_or(0, |report| report.delayed);
        // The list has what arrived while the answer waited, too.
        let listed = poll.stamp.saturating_add(delayed.into());
        self.acknowledge(next, listed, &mut feedback);
        feedback.seen = upto;
        let mut gaps = gaps.into_iter().peekable();
        for number in from.max(self.acked)..upto {
            while gaps.next_if(|&(_, end)| end <= number).is_some() {}
            if gaps.peek().is_some_and(|&(start, _)| start <= number) {
                self.missing(number, |slot| slot.last_poll < poll.stamp, Some(poll.sent_at), &mut feedback);
            } else {
                self.arrived(number, listed, &mut feedback);
            }
        }
        if !poll.answered {
            feedback.rtt = Some(now.since(poll.sent_at).saturating_sub(Span::from_micros(delayed.into())));
            feedback.late = poll.lost;
        }
        self.acked_bytes += feedback.acked;
        if let Some(rtt) = feedback.rtt {
            feedback.answer = self.answer(now, &poll, rtt, stat.report);
        }
        self.polls.answer(&poll);
        Some(feedback)
    }

    /// Measurement of the path by this answer: from the receiver's report, or else from its time and the packets that it
    /// acknowledges.
    fn answer(&mut self, now: Time, poll: &Poll, rtt: Span, report: Option<Report>) -> Option<PollAnswer> {
        let size = self.stats.bytes_sent as f64 / self.stats.packets_sent.max(1) as f64;
        let (arrived, clock) = match report {
            Some(report) => (report.received, report.at),
            None => ((self.acked_bytes as f64 / size.max(1.0)) as u32, (now.as_nanos() / 1000) as u32),
        };
        let (arrived, clock_us) = self.reported_totals.extend(now, arrived, clock)?;
        let marked = self.marks.take(report, arrived, self.stats.packets_sent);
        let SentBefore { sent, next, bytes, unused } = poll.before;
        Some(PollAnswer {
            sent_at: poll.sent_at,
            rtt,
            sent,
            arrived: arrived + self.reordering.needless(),
            clock_us,
            late: self.reordering.late(),
            next,
            unused,
            bytes,
            marked,
        })
    }

    /// Handles a USTAT; `None` if it is outdated or impossible.
    pub fn on_ustat(&mut self, now: Time, ustat: &Ustat) -> Option<Feedback> {
        let next = expand(ustat.next, self.acked)?;
        if next < self.acked || next > self.next {
            return None;
        }
        let mut gaps = Vec::with_capacity(ustat.gaps.len());
        for gap in &ustat.gaps {
            let (start, end) = (expand(gap.start, next)?, expand(gap.end, next)?);
            if start < next || end > self.next || start >= end {
                return None;
            }
            gaps.push((start, end));
        }
        let mut feedback = Feedback::default();
        self.credit(ustat.credit, next);
        // A retransmission within the last smallest round-trip time cannot have caused this report.
        let least =
            self.stats.rtt.min.map_or(u64::MAX, |rtt| now.as_nanos().saturating_sub(rtt.as_nanos()) / 1000);
        self.acknowledge(next, least, &mut feedback);
        feedback.seen = next;
        for (start, end) in gaps {
            for number in start..end {
                // A USTAT names new gaps: a retransmitted packet in it can only be from a copy of the report.
                self.missing(number, |slot| slot.sent == 1, None, &mut feedback);
            }
        }
        self.acked_bytes += feedback.acked;
        Some(feedback)
    }

    /// Acknowledges all before `next`, as was known of what had left before the time `stamp`.
    fn acknowledge(&mut self, next: u64, stamp: u64, feedback: &mut Feedback) {
        while self.acked < next.min(self.next) {
            self.arrived(self.acked, stamp, feedback);
            self.slots.pop_front();
            self.acked += 1;
        }
    }

    /// Raises the limit up to which the peer accepts packets; it never moves back.
    pub fn credit(&mut self, wire: u32, near: u64) {
        if let Some(limit) = expand(wire, near) {
            self.limit = self.limit.max(limit);
        }
    }

    fn arrived(&mut self, number: u64, stamp: u64, feedback: &mut Feedback) {
        let slot = &mut self.slots[(number - self.acked) as usize];
        let Some(data) = slot.data.take() else { return };
        // A retransmission that left later was needless: of a packet that was only late, or of one whose copy came.
        let needless = slot.sent > 1 && !slot.queued && slot.last_poll >= stamp;
        if needless {
            self.reordering.count_needless();
        }
        if slot.awaited || (needless && !slot.copied) {
            self.reordering.count_late();
        }
        feedback.acked += data.len() as u64;
        // Packets larger than the path is known to carry may have come in fragments.
        if data.len() <= self.max_payload {
            feedback.largest.arrived = feedback.largest.arrived.max(data.len());
        }
        if std::mem::take(&mut slot.queued) {
            self.retransmit.remove(&number);
        } else {
            self.in_flight -= data.len() as u64;
        }
        self.source.arrived(data);
    }

    /// Handles a packet that is missing in a list, whose POLL left at `asked_at`, or in a USTAT. `since` tells if it had been sent
    /// before.
    fn missing(
        &mut self,
        number: u64,
        since: impl Fn(&SendSlot<P>) -> bool,
        asked_at: Option<Time>,
        feedback: &mut Feedback,
    ) {
        let Some(slot) = number.checked_sub(self.acked).and_then(|at| self.slots.get_mut(at as usize)) else {
            return;
        };
        let Some(data) = &slot.data else { return };
        if slot.queued || !since(slot) {
            return;
        }
        slot.awaited = self.reordering.may_be_late(slot.sent_at, asked_at);
        if slot.awaited {
            return;
        }
        slot.queued = true;
        self.reported += 1;
        self.in_flight -= data.len() as u64;
        feedback.lost += data.len() as u64;
        let on_trial = slot.sent == 1 && number >= self.trial;
        feedback.lost_on_trial += u32::from(on_trial);
        let largest = &mut feedback.largest;
        if data.len() > self.max_payload {
            // It left before packets became smaller.
        } else if slot.sent > 1 {
            largest.missed_again = largest.missed_again.max(data.len());
        } else if !self.source.repeats(data) {
            largest.missed_once = largest.missed_once.max(data.len());
        }
        feedback.lost_number = feedback.lost_number.max(Some(number));
        self.retransmit.insert(number);
    }

    /// Acknowledges all data, as an ENDAK does.
    pub fn acknowledge_all(&mut self) -> Feedback {
        let mut feedback = Feedback::default();
        self.acknowledge(self.next, u64::MAX, &mut feedback);
        self.acked_bytes += feedback.acked;
        feedback
    }

    /// Packets kept for retransmission, and pieces not yet sent.
    pub fn held(&self) -> usize {
        self.slots.len() + self.source.pieces()
    }

    pub fn last_number(&self) -> u32 {
        wire_number(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::{Gap, PayloadLength};

    /// A list of an answer to this POLL: N(R), and gaps before `upto`.
    fn list(echo: u64, next: u32, upto: u32, gaps: &[(u32, u32)]) -> Stat {
        let gaps = gaps.iter().map(|&(start, end)| Gap { start, end }).collect();
        Stat {
            echo: echo as u32,
            next,
            credit: next + 100,
            from: next,
            upto,
            gaps,
            report: None,
            compact: true,
        }
    }

    /// docs/stp.md §6.2: what is missing and left within the window before the POLL is sent again when the next list names it, too.
    #[test]
    fn a_packet_that_may_be_late_is_not_sent_again() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut sender: PathSender<PayloadLength> =
            PathSender::new(&Config::default(), 0, WrittenData::default());
        sender.write(PayloadLength(2000));
        for at in [0, 10, 20, 30] {
            assert!(sender.take_new(ms(at), 500).is_some());
        }
        sender.poll(ms(30), false, Span::ZERO);
        sender.poll(ms(60), false, Span::ZERO);
        sender.reordering.begin_report(Span::from_millis(15));
        // Two are missing and the third may be late; the last one has come.
        sender.on_stat(ms(630), &list(30_000, 1, 4, &[(1, 3)])).expect("is new");
        assert_eq!((sender.repeats(), sender.reordering.waits(), sender.reordering.late()), (1, true, 0));
        sender.reordering.begin_report(Span::from_millis(15));
        // A USTAT does not tell how late it is. N(R) of the next list is older than that of the USTAT.
        let gaps = vec![Gap { start: 2, end: 3 }];
        sender.on_ustat(ms(640), &Ustat { next: 1, credit: 101, gaps, compact: true }).expect("is new");
        assert_eq!(sender.repeats(), 1);
        sender
            .on_stat(ms(660), &list(60_000, 0, 3, &[(1, 3)]))
            .expect("an older N(R) is no reason to ignore it");
        assert_eq!((sender.repeats(), sender.reordering.waits(), sender.acked), (2, false, 1));
        // Both come before they are sent again.
        sender.poll(ms(700), false, Span::ZERO);
        sender.on_stat(ms(1300), &list(700_000, 4, 4, &[])).expect("is new");
        assert_eq!((sender.repeats(), sender.acked, sender.in_flight), (0, 4, 0));
    }

    /// One that a list has named and that came without having been sent again was only late.
    #[test]
    fn what_comes_without_a_repeat_was_late() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut sender: PathSender<PayloadLength> =
            PathSender::new(&Config::default(), 0, WrittenData::default());
        sender.write(PayloadLength(1000));
        assert!(sender.take_new(ms(0), 500).is_some() && sender.take_new(ms(1), 500).is_some());
        sender.poll(ms(1), false, Span::ZERO);
        sender.reordering.begin_report(Span::from_millis(15));
        sender.on_stat(ms(600), &list(1000, 0, 2, &[(0, 1)])).expect("is new");
        sender.poll(ms(601), false, Span::ZERO);
        sender.on_stat(ms(1200), &list(601_000, 2, 2, &[])).expect("is new");
        assert_eq!((sender.reordering.late(), sender.reordering.needless()), (1, 0));
    }

    /// docs/stp.md §6.1: a copy leaves as a packet does, and neither the POLL after it nor the bytes that it is compared with count it.
    #[test]
    fn a_copy_is_sent_and_not_a_part_of_any_sample() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut sender: PathSender<PayloadLength> =
            PathSender::new(&Config::default(), 0, WrittenData::default());
        sender.write(PayloadLength(500));
        assert!(sender.take_new(ms(0), 500).is_some());
        let ustat = Ustat { next: 0, credit: 100, gaps: vec![Gap { start: 0, end: 1 }], compact: true };
        sender.on_ustat(ms(600), &ustat).expect("a new gap");
        sender.take_retransmission(ms(600), 500, Some((2, Span::from_millis(40)))).expect("is missing");
        let bytes = sender.network_bytes();
        assert!(sender.take_copy(ms(639)).is_none());
        assert!(sender.take_copy(ms(640)).is_some() && sender.take_copy(ms(680)).is_some());
        assert_eq!((sender.copy_at(), sender.stats.packets_sent), (None, 4));
        let stamp = sender.poll(ms(700), false, Span::ZERO);
        let before = sender.polls.named(stamp).expect("was sent").before;
        assert_eq!((before.sent, before.bytes, sender.network_bytes()), (2, bytes, bytes));
    }
}
