//! What has been sent and is not yet acknowledged, segment by segment, with when each was sent and what became of it.
//!
//! Follows RFC 6675 §2 (pipe), RFC 8985 §5 (per-segment times) and draft-ietf-ccwg-bbr-06 §4.1 (delivery-rate samples).
//! Differs: one flag says whether a segment counts as in flight, so that the pipe is a sum kept up and never recounted.
//! Leaves out splitting: a segment of which a part is selectively acknowledged waits for the rest.

use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// A segment in the range of snd_una to snd_max.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    pub sent_at: Time,
    /// Times sent.
    pub sent: u16,
    pub sacked: bool,
    /// Thought lost since it was last sent, or after an earlier sending.
    pub lost: bool,
    /// Counted in the pipe.
    pub in_pipe: bool,
    /// The connection's state when it was last sent, for a rate sample.
    pub delivered: u64,
    pub delivered_at: Time,
    pub first_sent_at: Time,
    pub app_limited: bool,
    /// snd_max when it was last sent again.
    pub next_at: u64,
    /// In flight just after it was sent, and lost until then.
    pub in_flight: u64,
    pub lost_before: u64,
}

impl Segment {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// What one acknowledgment says of the path (draft-ietf-ccwg-bbr-06 §4.1.2.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateSample {
    /// Bytes a second; `None` if the interval is shorter than the smallest round trip.
    pub rate: Option<f64>,
    pub app_limited: bool,
    /// C.delivered when the segment was sent.
    pub prior_delivered: u64,
    /// In flight when it was sent.
    pub tx_in_flight: u64,
    /// Lost between its sending and now.
    pub lost: u64,
    /// Delivered between its sending and now.
    pub delivered: u64,
}

/// Sums over one acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Bytes newly delivered, selectively or cumulatively.
    pub delivered: u64,
    /// Bytes newly found lost.
    pub lost: u64,
    /// The newly delivered segment that was sent last: when, whether only once, its end.
    pub newest: Option<(Time, bool, u64)>,
    /// The round trip of the newest segment sent only once.
    pub rtt: Option<Span>,
    /// Whether a segment below another delivered earlier has come, sent only once: reordering, in bytes.
    pub reordered: Option<u64>,
    /// The segment for the rate sample: delivered, delivered_at, first_sent_at, sent_at, app-limited, in flight, lost.
    sample: Option<Segment>,
}

/// Of which sendings the order is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keep {
    #[default]
    Nothing,
    Repeats,
    All,
}

#[derive(Debug, Default)]
pub(crate) struct Segments {
    ring: VecDeque<Segment>,
    /// Bytes that count as in flight.
    pub pipe: u64,
    /// Bytes selectively acknowledged.
    pub sacked: u64,
    /// Bytes lost and not yet sent again.
    pub lost_waiting: u64,
    /// No segment below this waits to be sent again.
    next_lost: u64,
    /// One past the highest byte selectively acknowledged.
    pub highest_sacked: u64,
    /// All unsacked segments below this are known lost; see `mark_lost_below`.
    lost_edge: u64,
    /// Order of sending, for losses found by time: start and when. Stale entries are skipped.
    pub order: VecDeque<(u64, Time)>,
    pub keep: Keep,
    /// The smallest round trip: a repeat acknowledged sooner than this was not what the peer answered (RFC 8985 §6.2).
    pub min_rtt: Option<Span>,
    /// C.delivered, C.delivered_time, C.first_send_time.
    pub delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// C.lost.
    pub lost: u64,
    /// C.app_limited: the delivered count beyond which samples count again.
    pub app_limited: u64,
    pub progress: Progress,
}

impl Segments {
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    pub fn get(&self, index: usize) -> Option<&Segment> {
        self.ring.get(index)
    }

    pub fn front(&self) -> Option<&Segment> {
        self.ring.front()
    }

    pub fn back(&self) -> Option<&Segment> {
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

    /// A segment has been sent for the first time.
    pub fn push(&mut self, now: Time, start: u64, end: u64, in_pipe: bool) {
        self.stamp(now);
        if in_pipe {
            self.pipe += end - start;
        }
        let mut segment = Segment {
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

    /// A segment has been sent again.
    pub fn sent_again(&mut self, now: Time, index: usize, snd_max: u64) {
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
        segment.next_at = snd_max;
        self.note(&mut segment, now);
        self.ring[index] = segment;
    }

    /// After a silence the interval of rate samples begins anew (§4.1.2.2).
    fn stamp(&mut self, now: Time) {
        if self.pipe == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
    }

    fn note(&mut self, segment: &mut Segment, now: Time) {
        segment.delivered = self.delivered;
        segment.delivered_at = self.delivered_at;
        segment.first_sent_at = self.first_sent_at;
        segment.app_limited = self.app_limited > 0;
        segment.in_flight = self.pipe;
        segment.lost_before = self.lost;
        if self.keep == Keep::All || (self.keep == Keep::Repeats && segment.sent > 1) {
            self.order.push_back((segment.start, now));
        }
    }

    /// Bytes [start, end) are selectively acknowledged. True if any segment is newly so.
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

    /// Everything below `una` is acknowledged.
    pub fn acknowledge(&mut self, now: Time, una: u64) {
        while let Some(segment) = self.ring.front_mut() {
            if segment.start >= una {
                break;
            }
            if segment.end > una {
                // The peer took a part: what is left is a segment of its own.
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

    fn deliver(&mut self, now: Time, segment: &Segment) {
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
        if once {
            let rtt = now.since(segment.sent_at);
            progress.rtt = Some(progress.rtt.map_or(rtt, |r| r.min(rtt)));
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

    /// Takes a segment for lost: out of the pipe, and to be sent again.
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

    /// Takes all below `edge` for lost that is neither selectively acknowledged nor lost already. What has been sent again
    /// since stays in flight.
    pub fn mark_lost_below(&mut self, edge: u64) {
        if edge <= self.lost_edge {
            return;
        }
        let mut index = self.index_of(self.lost_edge);
        while self.ring.get(index).is_some_and(|s| s.end <= edge) {
            if self.ring[index].sent == 1 {
                self.mark_lost(index);
            }
            index += 1;
        }
        self.lost_edge = edge;
    }

    /// RFC 6675 §4 IsLost: below this, so much is selectively acknowledged above that what is missing is lost.
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

    /// A timeout: everything that is not selectively acknowledged is taken for lost.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.ring.len() {
            self.mark_lost(index);
        }
        self.lost_edge = self.ring.back().map_or(self.lost_edge, |s| s.end);
        self.order.clear();
    }

    /// A timeout by RFC 8985 §6.3: the oldest is lost, and of the others what was sent a round trip ago or earlier.
    pub fn mark_old_lost(&mut self, now: Time, patience: Span) {
        for index in 0..self.ring.len() {
            if index == 0 || self.ring[index].sent_at + patience <= now {
                self.mark_lost(index);
            }
        }
    }

    /// Forgets what was selectively acknowledged (RFC 2018 §8).
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

    /// The lowest segment that waits to be sent again.
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
