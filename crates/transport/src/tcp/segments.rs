//! Segments sent and not yet acknowledged, with the sending time and state of each.
//!
//! Follows RFC 6675 §2 (pipe), RFC 8985 §5 (per-segment times) and draft-ietf-ccwg-bbr-06 §4.1 (delivery-rate samples).
//! Differs: one flag says whether a segment counts as in flight, so that the pipe is maintained as a sum and never recounted.
//! Leaves out splitting by the peer: a segment acknowledged selectively in part waits for the remainder.

use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// A segment in the range of snd_una to snd_max.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentSegment {
    pub start: u64,
    pub end: u64,
    pub sent_at: Time,
    /// Number of times it was sent.
    pub sent: u16,
    pub sacked: bool,
    /// True if it counts as lost since its latest transmission, or after an earlier one.
    pub lost: bool,
    /// True if it is counted in the pipe.
    pub in_pipe: bool,
    /// The connection's state at its latest transmission, for a rate sample.
    pub delivered: u64,
    pub delivered_at: Time,
    pub first_sent_at: Time,
    pub app_limited: bool,
    /// snd_max at its latest retransmission; 0 if it was sent as if for the first time.
    pub next_at: u64,
    /// Bytes in flight just after it was sent, and bytes lost until then.
    pub in_flight: u64,
    pub lost_before: u64,
}

impl SentSegment {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// Rate sample of one acknowledgment (draft-ietf-ccwg-bbr-06 §4.1.2.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateSample {
    /// Bytes per second; `None` if the interval is shorter than the smallest RTT.
    pub rate: Option<f64>,
    pub app_limited: bool,
    /// C.delivered when the segment was sent.
    pub prior_delivered: u64,
    /// Bytes in flight when the segment was sent.
    pub tx_in_flight: u64,
    /// Bytes lost between its transmission and now.
    pub lost: u64,
    /// Bytes delivered between its transmission and now.
    pub delivered: u64,
}

/// Sums over one acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckProgress {
    /// Bytes newly delivered, selectively or cumulatively.
    pub delivered: u64,
    /// Bytes newly found lost.
    pub lost: u64,
    /// The newly delivered segment that was sent last: its time, true if it was sent once, and its end.
    pub newest: Option<(Time, bool, u64)>,
    /// RTT of the newest segment sent only once, and true if a retransmitted segment was also delivered.
    rtt: Option<Span>,
    repeated: bool,
    /// RTT by a timestamp, in Linux of an acknowledgment that measures none otherwise.
    pub echoed: Option<Span>,
    /// Lowest end of the segments sent only once.
    pub original: Option<u64>,
    /// Age of the segment delivered last, if it was sent only once.
    pub last_rtt: Option<Span>,
    /// Extent of reordering, bytes: a segment sent only once arrived after a higher one.
    pub reordered: Option<u64>,
    /// The segment for the rate sample: delivered, delivered_at, first_sent_at, sent_at, app-limited, in flight, lost.
    sample: Option<SentSegment>,
}

impl AckProgress {
    /// Records that the peer reports a duplicate of a segment.
    pub fn answers_repeat(&mut self) {
        self.repeated = true;
    }

    /// RTT measured by the acknowledgment. `None` if it delivers a retransmission (Karn's rule, as in Linux): such an answer may
    /// also cover segments whose acknowledgments were lost, and these are as old as the outage.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt.filter(|_| !self.repeated)
    }
}

/// Segments whose order of transmission is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    #[default]
    Nothing,
    Repeats,
    All,
}

#[derive(Debug, Default)]
pub(crate) struct Segments {
    ring: VecDeque<SentSegment>,
    /// Bytes that count as in flight.
    pub pipe: u64,
    /// Number of bytes selectively acknowledged.
    pub sacked: u64,
    /// Bytes lost and not yet retransmitted.
    pub lost_waiting: u64,
    /// No segment below this waits for retransmission.
    next_lost: u64,
    /// One past the highest byte selectively acknowledged.
    pub highest_sacked: u64,
    /// All segments below this that are not selectively acknowledged are known to be lost; see `mark_lost_below`.
    lost_edge: u64,
    /// Order of transmission, for loss detection by time: start and time. Stale entries are skipped.
    pub order: VecDeque<(u64, Time)>,
    pub keep: Keep,
    /// Smallest RTT: a retransmission acknowledged sooner than this was not what the peer answered (RFC 8985 §6.2).
    pub min_rtt: Option<Span>,
    /// C.delivered, C.delivered_time and C.first_send_time of the draft.
    pub delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// C.lost of the draft.
    pub lost: u64,
    /// C.app_limited: the delivered count beyond which samples count again.
    pub app_limited: u64,
    pub progress: AckProgress,
}

impl Segments {
    /// Marks all outstanding data as not sent; totals of the connection stay, since others refer to them.
    pub fn take_back(&mut self) {
        let Segments { keep, min_rtt, delivered, delivered_at, first_sent_at, lost, app_limited, .. } = *self;
        let kept = Segments {
            keep,
            min_rtt,
            delivered,
            delivered_at,
            first_sent_at,
            lost,
            app_limited,
            ..Segments::default()
        };
        *self = kept;
    }

    pub fn len(&self) -> usize {
        self.ring.len()
    }

    pub fn get(&self, index: usize) -> Option<&SentSegment> {
        self.ring.get(index)
    }

    /// Returns true if all is delivered, and the application had nothing more: then the path has been idle.
    #[inline]
    pub fn idle(&self) -> bool {
        self.pipe == 0 && self.delivered > 0 && self.app_limited > 0
    }

    /// Records that data delivered from now on say nothing about the path, until those in flight are delivered.
    pub fn limit_by_application(&mut self) {
        self.app_limited = (self.delivered + self.pipe).max(1);
    }

    pub fn front(&self) -> Option<&SentSegment> {
        self.ring.front()
    }

    pub fn back(&self) -> Option<&SentSegment> {
        self.ring.back()
    }

    /// The first segment that ends beyond `seq`.
    pub fn index_of(&self, seq: u64) -> usize {
        self.ring.partition_point(|s| s.end <= seq)
    }

    /// The segment that begins at `start`.
    pub fn starting_at(&self, start: u64) -> Option<usize> {
        let index = self.index_of(start);
        self.ring.get(index).is_some_and(|s| s.start == start).then_some(index)
    }

    /// Adds a segment sent for the first time.
    pub fn push(&mut self, now: Time, start: u64, end: u64, in_pipe: bool) {
        self.stamp(now);
        if in_pipe {
            self.pipe += end - start;
        }
        let mut segment = SentSegment {
            start,
            end,
            sent_at: now,
            sent: 1,
            sacked: false,
            lost: !in_pipe,
            in_pipe,
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            app_limited: false,
            next_at: end,
            in_flight: 0,
            lost_before: 0,
        };
        if !in_pipe {
            self.lost_waiting += end - start;
            self.next_lost = self.next_lost.min(start);
        }
        self.note(&mut segment, now);
        self.ring.push_back(segment);
    }

    /// Records a retransmission, at which `next` was one past the highest byte sent; 0 if it counts as the first transmission.
    pub fn sent_again(&mut self, now: Time, index: usize, next: u64) {
        self.stamp(now);
        let mut segment = self.ring[index];
        if segment.lost && !segment.in_pipe {
            self.lost_waiting -= segment.len();
        }
        if !segment.in_pipe {
            self.pipe += segment.len();
        }
        segment.in_pipe = true;
        segment.sent = segment.sent.saturating_add(1);
        segment.sent_at = now;
        segment.next_at = next;
        self.note(&mut segment, now);
        self.ring[index] = segment;
    }

    /// Restarts the interval of rate samples after an idle time (§4.1.2.2).
    fn stamp(&mut self, now: Time) {
        if self.pipe == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
    }

    fn note(&mut self, segment: &mut SentSegment, now: Time) {
        segment.delivered = self.delivered;
        segment.delivered_at = self.delivered_at;
        segment.first_sent_at = self.first_sent_at;
        segment.app_limited = self.app_limited > 0;
        segment.in_flight = self.pipe;
        segment.lost_before = self.lost;
        if self.keep == Keep::All || (self.keep == Keep::Repeats && segment.sent > 1 && segment.next_at > 0) {
            self.order.push_back((segment.start, now));
        }
    }

    /// Handles a selective acknowledgment of [start, end). Returns true if any segment is newly covered.
    pub fn sack(&mut self, now: Time, start: u64, end: u64) -> bool {
        let mut index = self.ring.partition_point(|s| s.start < start);
        let mut news = false;
        while let Some(segment) = self.ring.get_mut(index)
            && segment.end <= end
        {
            if !segment.sacked {
                segment.sacked = true;
                let copy = *segment;
                segment.in_pipe = false;
                if copy.end < self.highest_sacked && copy.sent == 1 && !copy.lost {
                    let distance = self.highest_sacked - copy.start;
                    let known = self.progress.reordered.unwrap_or(0);
                    self.progress.reordered = Some(known.max(distance));
                }
                self.sacked += copy.len();
                self.highest_sacked = self.highest_sacked.max(copy.end);
                self.deliver(now, &copy);
                news = true;
            }
            index += 1;
        }
        news
    }

    /// Returns true if the acknowledgment covers a segment that was sent before the last transmission of the oldest one.
    pub fn sacked_before_front(&self, now: Time) -> bool {
        self.progress.rtt().zip(self.front()).is_some_and(|(rtt, front)| rtt > now.since(front.sent_at))
    }

    /// Handles an acknowledgment of everything below `una`.
    pub fn acknowledge(&mut self, now: Time, una: u64) {
        while let Some(segment) = self.ring.front_mut() {
            if segment.start >= una {
                break;
            }
            if segment.end > una {
                // The peer accepted a part: the remainder becomes a segment.
                let taken = una - segment.start;
                if segment.in_pipe {
                    self.pipe -= taken;
                } else if segment.lost && !segment.sacked {
                    self.lost_waiting -= taken;
                }
                if segment.sacked {
                    self.sacked -= taken;
                } else {
                    self.delivered += taken;
                    self.progress.delivered += taken;
                }
                segment.start = una;
                break;
            }
            let copy = *segment;
            self.ring.pop_front();
            if copy.sacked {
                self.sacked -= copy.len();
            } else {
                if self.highest_sacked >= copy.end && copy.sent == 1 && !copy.lost {
                    let known = self.progress.reordered.unwrap_or(0);
                    self.progress.reordered = Some(known.max(self.highest_sacked - copy.start));
                }
                self.deliver(now, &copy);
            }
        }
        self.highest_sacked = self.highest_sacked.max(una);
        self.next_lost = self.next_lost.max(una);
        self.lost_edge = self.lost_edge.max(una);
        if self.ring.is_empty() {
            self.order.clear();
        }
    }

    fn deliver(&mut self, now: Time, segment: &SentSegment) {
        if segment.in_pipe {
            self.pipe -= segment.len();
        } else if segment.lost {
            self.lost_waiting -= segment.len();
        }
        self.delivered += segment.len();
        self.delivered_at = now;
        let progress = &mut self.progress;
        progress.delivered += segment.len();
        let once = segment.sent == 1;
        progress.repeated |= !once;
        progress.last_rtt = once.then(|| now.since(segment.sent_at));
        if once {
            let rtt = now.since(segment.sent_at);
            progress.rtt = Some(progress.rtt.map_or(rtt, |r| r.min(rtt)));
            progress.original = Some(progress.original.map_or(segment.end, |end| end.min(segment.end)));
        }
        if !once && self.min_rtt.is_some_and(|min| now.since(segment.sent_at) < min) {
            return;
        }
        let newer = |(at, _, end): (Time, bool, u64)| (segment.sent_at, segment.end) > (at, end);
        if progress.newest.is_none_or(newer) {
            progress.newest = Some((segment.sent_at, once, segment.end));
            progress.sample = Some(*segment);
        }
    }

    /// The rate sample of this acknowledgment (§4.1.2.3).
    pub fn rate_sample(&mut self, now: Time, min_rtt: Span) -> Option<RateSample> {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let segment = self.progress.sample.take()?;
        self.first_sent_at = segment.sent_at;
        let send_elapsed = segment.sent_at.since(segment.first_sent_at);
        let ack_elapsed = now.since(segment.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - segment.delivered;
        let valid = interval >= min_rtt && interval > Span::ZERO;
        Some(RateSample {
            rate: valid.then(|| delivered as f64 / interval.as_secs_f64()),
            app_limited: segment.app_limited,
            prior_delivered: segment.delivered,
            tx_in_flight: segment.in_flight,
            lost: self.lost - segment.lost_before,
            delivered,
        })
    }

    /// Splits segments with more than `mss` bytes; a FIN, at `fin_at`, counts in addition. Selectively acknowledged segments have
    /// passed and stay. With `lose`, the large segments are known not to have passed: they wait for retransmission, without
    /// counting as lost to congestion.
    pub fn cut(&mut self, mss: u64, fin_at: Option<u64>, lose: bool) {
        let data_end = |s: &SentSegment| fin_at.map_or(s.end, |fin| s.end.min(fin));
        let fits = |s: &SentSegment| s.sacked || data_end(s) <= s.start + mss;
        if self.ring.iter().all(fits) {
            return;
        }
        let mut cut = BTreeMap::new();
        let mut run: Option<SentSegment> = None;
        for mut segment in std::mem::take(&mut self.ring) {
            if fits(&segment) {
                self.push_pieces(run.take(), mss, data_end, &mut cut);
                self.ring.push_back(segment);
                continue;
            }
            cut.insert(segment.start, Vec::new());
            if lose {
                if std::mem::take(&mut segment.in_pipe) {
                    self.pipe -= segment.len();
                    self.lost_waiting += segment.len();
                }
                segment.lost = true;
                self.next_lost = self.next_lost.min(segment.start);
            }
            match &mut run {
                // Full segments and not remainders, if nothing else distinguishes them.
                Some(run) if lose && run.end == segment.start => {
                    (run.end, run.sent) = (segment.end, run.sent.max(segment.sent));
                }
                _ => {
                    self.push_pieces(run.take(), mss, data_end, &mut cut);
                    run = Some(segment);
                }
            }
        }
        self.push_pieces(run, mss, data_end, &mut cut);
        let order = std::mem::take(&mut self.order);
        for (start, at) in order {
            match cut.get(&start) {
                None => self.order.push_back((start, at)),
                Some(_) if lose => {}
                Some(pieces) => self.order.extend(pieces.iter().map(|piece| (*piece, at))),
            }
        }
    }

    fn push_pieces(
        &mut self,
        run: Option<SentSegment>,
        mss: u64,
        data_end: impl Fn(&SentSegment) -> u64,
        cut: &mut BTreeMap<u64, Vec<u64>>,
    ) {
        let Some(run) = run else { return };
        let (mut start, last) = (run.start, data_end(&run));
        let pieces = cut.entry(run.start).or_default();
        while start < last {
            let next = start + mss;
            let end = if next < last { next } else { run.end };
            pieces.push(start);
            self.ring.push_back(SentSegment { start, end, ..run });
            start = if next < last { next } else { last };
        }
    }

    /// Marks a segment as lost: removes it from the pipe, to be sent again.
    pub fn mark_lost(&mut self, index: usize) {
        let segment = &mut self.ring[index];
        if segment.sacked || (segment.lost && !segment.in_pipe) {
            return;
        }
        segment.lost = true;
        let (start, len) = (segment.start, segment.end - segment.start);
        if std::mem::take(&mut segment.in_pipe) {
            self.pipe -= len;
        }
        self.lost_waiting += len;
        self.next_lost = self.next_lost.min(start);
        self.lost += len;
        self.progress.lost += len;
    }

    /// Marks as lost all below `edge` that is neither selectively acknowledged nor lost already. Segments retransmitted since stay
    /// in flight.
    pub fn mark_lost_below(&mut self, edge: u64) {
        if edge <= self.lost_edge {
            return;
        }
        let mut index = self.index_of(self.lost_edge);
        while self.ring.get(index).is_some_and(|s| s.end <= edge) {
            if self.ring[index].sent == 1 || self.ring[index].next_at == 0 {
                self.mark_lost(index);
            }
            index += 1;
        }
        self.lost_edge = edge;
    }

    /// RFC 6675 §4 IsLost: the sequence number below which missing data are lost, since enough above them is selectively
    /// acknowledged.
    pub fn rfc6675_edge(&self, threshold: u32, mss: u64) -> u64 {
        let mut index = self.index_of(self.highest_sacked.saturating_sub(1));
        let (mut runs, mut bytes, mut in_run) = (0, 0, false);
        while let Some(segment) = self.ring.get(index)
            && segment.end > self.lost_edge
        {
            if segment.sacked {
                bytes += segment.len();
                runs += !in_run as u32;
                // Discontiguous runs, or more than threshold - 1 segments' worth of bytes.
                if runs >= threshold || bytes > (threshold as u64 - 1) * mss {
                    return segment.start;
                }
            }
            in_run = segment.sacked;
            if index == 0 {
                break;
            }
            index -= 1;
        }
        0
    }

    /// Handles a timeout: everything that is not selectively acknowledged is lost.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.ring.len() {
            self.mark_lost(index);
        }
        self.lost_edge = self.ring.back().map_or(self.lost_edge, |s| s.end);
        self.order.clear();
    }

    /// After a timeout that forgets all: data sent now may be lost again below the data that the peer then holds.
    pub fn lose_again(&mut self) {
        self.lost_edge = self.ring.front().map_or(self.lost_edge, |s| s.start);
    }

    /// Handles a timeout by RFC 8985 §6.3: the oldest segment is lost, and those sent an RTT ago or earlier.
    pub fn mark_old_lost(&mut self, now: Time, patience: Span) {
        for index in 0..self.ring.len() {
            if index == 0 || self.ring[index].sent_at + patience <= now {
                self.mark_lost(index);
            }
        }
    }

    /// Number of retransmitted segments that are neither acknowledged nor marked as lost since.
    pub fn repeats_in_flight(&self) -> u32 {
        self.ring.iter().filter(|s| s.sent > 1 && s.in_pipe).count() as u32
    }

    /// Marks segments that were thought lost, but were late, as in flight; they may be found lost again.
    pub fn unmark_lost(&mut self) {
        for segment in &mut self.ring {
            if std::mem::take(&mut segment.lost) && !segment.in_pipe && !segment.sacked {
                segment.in_pipe = true;
                let len = segment.end - segment.start;
                self.pipe += len;
                self.lost_waiting -= len;
            }
        }
        self.lost_edge = self.ring.front().map_or(self.lost_edge, |s| s.start);
        if self.keep == Keep::All {
            let mut order: Vec<(Time, u64, u64)> =
                self.ring.iter().filter(|s| s.in_pipe).map(|s| (s.sent_at, s.end, s.start)).collect();
            order.sort_unstable();
            self.order = order.into_iter().map(|(at, _, start)| (start, at)).collect();
        }
    }

    /// Forgets selective acknowledgments (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for segment in &mut self.ring {
            if std::mem::take(&mut segment.sacked) {
                self.sacked -= segment.end - segment.start;
                segment.lost = false;
                segment.in_pipe = true;
                self.pipe += segment.end - segment.start;
            }
        }
        self.highest_sacked = self.ring.front().map_or(0, |s| s.start);
    }

    /// The lowest segment that waits for retransmission.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost_waiting == 0 {
            return None;
        }
        let mut index = self.index_of(self.next_lost);
        while let Some(segment) = self.ring.get(index) {
            if segment.lost && !segment.in_pipe && !segment.sacked {
                self.next_lost = segment.start;
                return Some(index);
            }
            index += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the counters of bytes in flight against sums over the segments.
    fn check(segments: &Segments, from: u64, to: u64) {
        let sum = |of: &dyn Fn(&SentSegment) -> bool| -> u64 {
            segments.ring.iter().filter(|s| of(s)).map(SentSegment::len).sum()
        };
        assert_eq!(segments.pipe, sum(&|s| s.in_pipe));
        assert_eq!(segments.sacked, sum(&|s| s.sacked));
        assert_eq!(segments.lost_waiting, sum(&|s| s.lost && !s.in_pipe && !s.sacked));
        let edges: Vec<u64> = segments.ring.iter().map(|s| s.end).collect();
        let starts: Vec<u64> = segments.ring.iter().map(|s| s.start).collect();
        assert_eq!(starts, [&[from], &edges[..edges.len() - 1]].concat(), "no gap and no overlap");
        assert_eq!(edges.last(), Some(&to));
    }

    #[test]
    fn what_was_late_is_in_flight_again_and_found_in_the_order_of_sending() {
        let mut segments = Segments { keep: Keep::All, ..Segments::default() };
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for n in 0..5 {
            segments.push(at(n), 1 + n * 100, 101 + n * 100, true);
        }
        segments.mark_lost(0);
        segments.mark_lost(1);
        segments.sent_again(at(10), 0, 501);
        segments.sack(at(11), 401, 501);
        segments.mark_lost(2);
        // As detection by time does with segments that it found lost.
        segments.order.drain(..3);
        assert_eq!((segments.repeats_in_flight(), segments.pipe, segments.lost_waiting), (1, 200, 200));
        segments.unmark_lost();
        check(&segments, 1, 501);
        assert_eq!((segments.pipe, segments.lost_waiting, segments.next_lost()), (400, 0, None));
        assert_eq!(segments.order, [(101, at(1)), (201, at(2)), (301, at(3)), (1, at(10))]);
        segments.mark_lost(1);
        assert_eq!(segments.next_lost(), Some(1));
    }

    #[test]
    fn what_is_taken_back_leaves_the_counts_of_the_connection() {
        let mut segments = Segments { keep: Keep::All, ..Segments::default() };
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        segments.push(at(0), 1, 101, true);
        segments.push(at(1), 101, 201, true);
        segments.acknowledge(at(10), 101);
        segments.mark_lost(0);
        assert_eq!((segments.delivered, segments.lost, segments.lost_waiting), (100, 100, 100));
        segments.take_back();
        assert_eq!((segments.delivered, segments.lost, segments.lost_waiting), (100, 100, 0));
        assert_eq!((segments.len(), segments.pipe, segments.keep), (0, 0, Keep::All));
    }

    proptest! {
        #[test]
        fn segments_that_are_cut_add_up_to_what_they_were(
            sizes in prop::collection::vec((1u64..3000, 0u8..5), 1..30),
            mss in 1u64..2000,
            fin in any::<bool>(),
            lose in any::<bool>(),
            keep in any::<bool>(),
        ) {
            let keep_which = if keep { Keep::All } else { Keep::Repeats };
            let mut segments = Segments { keep: keep_which, ..Segments::default() };
            let (mut at, mut now) = (1, Time::ZERO);
            for (size, _) in &sizes {
                now += Span::from_millis(1);
                segments.push(now, at, at + size, true);
                at += size;
            }
            if fin {
                segments.push(now, at, at + 1, true);
            }
            let (data_end, to) = (at, at + u64::from(fin));
            at = 1;
            for (index, (size, fate)) in sizes.iter().enumerate() {
                match fate {
                    0 => _ = segments.sack(now, at, at + size),
                    1 => segments.mark_lost(index),
                    2 => {
                        segments.mark_lost(index);
                        segments.sent_again(now + Span::from_millis(5), index, to);
                    }
                    _ => {}
                }
                at += size;
            }
            check(&segments, 1, to);
            let (sacked, known, pipe) = (segments.sacked, segments.lost, segments.pipe);
            let waiting = segments.lost_waiting;
            let large = |s: &SentSegment| !s.sacked && s.end.min(data_end) > s.start + mss;
            let too_large: u64 =
                segments.ring.iter().filter(|s| large(s) && s.in_pipe).map(SentSegment::len).sum();
            segments.cut(mss, fin.then_some(data_end), lose);
            check(&segments, 1, to);
            prop_assert!(!segments.ring.iter().any(large), "all fit");
            // None of this counts as loss to congestion, and data that have arrived stay.
            prop_assert_eq!((segments.sacked, segments.lost), (sacked, known));
            let moved = if lose { too_large } else { 0 };
            prop_assert_eq!((segments.pipe, segments.lost_waiting), (pipe - moved, waiting + moved));
            // The order contains each segment in flight whose order is kept.
            if keep {
                for s in segments.ring.iter().filter(|s| s.in_pipe) {
                    prop_assert!(segments.order.contains(&(s.start, s.sent_at)), "{:?}", s);
                }
            }
            // The search for retransmissions finds all waiting segments, lowest first.
            let mut last = 0;
            while let Some(index) = segments.next_lost() {
                let start = segments.ring[index].start;
                prop_assert!(start >= last);
                last = start + 1;
                segments.sent_again(now, index, to);
            }
            prop_assert_eq!(segments.lost_waiting, 0);
            segments.acknowledge(now, to);
            prop_assert_eq!((segments.pipe, segments.sacked, segments.len()), (0, 0, 0));
        }
    }
}
