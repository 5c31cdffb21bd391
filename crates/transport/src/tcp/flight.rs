//! Data sent and not acknowledged: the send sequence space, and the peer's reports of it.
//!
//! Follows RFC 9293 §3.3.1 (SND.UNA, SND.NXT) and RFC 6675 §2 (the scoreboard); `snd_max` is BSD's.
//! Differs: a recovery that counts duplicates has a scoreboard of ranges, one with a pipe has segments.
//! Leaves out the peer's window (`peer_window`) and the choice of segments (`sender`).

use super::config::LossRecovery;
use super::scoreboard::Ranges;
use super::segments::{Keep, Segments};
use super::send_buffer::SendBuffer;
use skyhop_units::Time;

/// Largest duplicate threshold reached by adaptation, as in Linux.
const MOST_DUPLICATES: u32 = 300;

/// A segment to send: [seq, seq + len), and true if a FIN follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextSegment {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
}

impl NextSegment {
    pub const NOTHING: Self = Self { seq: 1, len: 0, fin: false };

    /// One past its last sequence number.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.fin as u64
    }

    /// One past its last byte.
    #[inline]
    pub fn data_end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Returns true if the congestion window, which ends at `limit`, has room for this segment: for all of it, or, if it need not be
    /// `whole`, for a part, to which it is cut.
    #[inline]
    pub fn fit(&mut self, limit: u64, whole: bool) -> bool {
        if self.data_end() <= limit {
            return true;
        }
        if whole || limit <= self.seq {
            return false;
        }
        (self.len, self.fin) = ((limit - self.seq) as u32, false);
        true
    }
}

/// The send sequence space. Offsets count from the initial sequence number: the SYN is 0, data begin at 1.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Loss recovery, once the peer's options are known; it determines the state kept of each segment.
    pub how: LossRecovery,
    /// Number of duplicates that signal a loss; it may grow.
    pub threshold: u32,
    /// Oldest unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send; below `snd_max` after a timeout.
    pub snd_nxt: u64,
    /// One past the highest byte sent.
    pub snd_max: u64,
    /// Sequence number of the FIN, once it has been sent.
    fin_at: Option<u64>,
    /// Payload of a full segment.
    pub mss: u32,
    pub scoreboard: Ranges,
    pub segments: Segments,
    /// True if segments are tracked individually.
    pub tracked: bool,
}

impl Flight {
    pub fn new(how: LossRecovery, threshold: u32, mss: u32) -> Self {
        let mut flight = Self {
            how,
            threshold,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            fin_at: None,
            mss,
            scoreboard: Ranges::default(),
            segments: Segments::default(),
            tracked: false,
        };
        flight.repair_by(how);
        flight
    }

    /// Changes the loss recovery.
    pub fn repair_by(&mut self, how: LossRecovery) {
        self.how = how;
        self.tracked = how.pipe() || how == LossRecovery::Vegas;
        self.segments.keep = match how {
            LossRecovery::Rack => Keep::All,
            LossRecovery::Fack => Keep::Repeats,
            _ => Keep::Nothing,
        };
    }

    /// Marks all outstanding data as not sent.
    pub fn take_back(&mut self) {
        (self.snd_nxt, self.snd_max) = (self.snd_una, self.snd_una);
        self.segments.take_back();
    }

    /// The segment that begins at `seq`: at most a full one, and not beyond data that are selectively acknowledged. With
    /// `repeat_whole` sent data are not mixed with new data.
    #[inline]
    pub fn segment_at(&self, seq: u64, buffer: &SendBuffer, repeat_whole: bool) -> NextSegment {
        let mut end = (seq + self.mss as u64).min(buffer.data_end);
        if !self.scoreboard.is_empty()
            && let Some(start) = self.scoreboard.next_start(seq)
        {
            end = end.min(start);
        }
        if repeat_whole && seq < self.snd_max {
            end = end.min(self.snd_max);
        }
        NextSegment { seq, len: (end.max(seq) - seq) as u32, fin: buffer.fin && end == buffer.data_end }
    }

    /// Updates the sequence numbers for a segment that has been sent.
    #[inline]
    pub fn sent(&mut self, segment: NextSegment) {
        let end = segment.end();
        if segment.fin {
            self.fin_at = Some(segment.data_end());
        }
        if segment.seq <= self.snd_nxt {
            self.snd_nxt = self.snd_nxt.max(end);
        }
        self.snd_max = self.snd_max.max(end);
    }

    /// Updates the sequence numbers for a probe of a closed window, of one byte or the FIN: it is sent again from `snd_nxt`.
    pub fn probed(&mut self, segment: NextSegment) {
        if segment.fin {
            self.fin_at = Some(segment.data_end());
        }
        self.snd_max = self.snd_max.max(segment.seq + 1);
    }

    /// The segment with the sequence numbers [start, end).
    #[inline]
    pub fn segment_of(&self, start: u64, end: u64) -> NextSegment {
        let fin = self.fin_at.is_some_and(|at| end > at);
        NextSegment { seq: start, len: (end - start) as u32 - fin as u32, fin }
    }

    /// One past the last byte below `end`, which may include the FIN.
    #[inline]
    pub fn data_end(&self, end: u64) -> u64 {
        self.fin_at.map_or(end, |fin| end.min(fin))
    }

    /// Cuts the segments tracked individually to the present size. With `lose`, larger ones are known not to have passed.
    pub fn cut(&mut self, lose: bool) {
        self.segments.cut(self.mss.into(), self.fin_at, lose);
    }

    /// The next byte to send of those that the peer has not reported, without a pipe.
    #[inline]
    pub fn next_missing(&self) -> u64 {
        let next = self.snd_nxt.max(self.snd_una);
        if next < self.snd_max { self.scoreboard.next_gap(next).min(self.snd_max) } else { next }
    }

    /// Records the sending of a segment among those tracked individually.
    #[inline]
    pub fn track(&mut self, now: Time, segment: NextSegment) {
        if segment.seq >= self.snd_max {
            self.segments.push(now, segment.seq, segment.end(), true);
        } else if let Some(index) = self.segments.starting_at(segment.seq) {
            self.segments.sent_again(now, index, self.snd_max);
        }
    }

    /// Sequence numbers outstanding.
    #[inline]
    pub fn len(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// RFC 9937 §6.1, RecoverFS: data in the network when the latest acknowledgment arrived.
    pub fn in_network(&self) -> u64 {
        self.len() - self.segments.sacked + self.segments.progress.delivered
    }

    /// Bytes that count against the congestion window: the outstanding ones, or the pipe if it is known.
    #[inline]
    pub fn in_window(&self) -> u64 {
        if self.how.pipe() { self.segments.pipe } else { self.len() }
    }

    /// Raises the threshold after late segments, as Linux does: to the number of duplicates that would have sufficed.
    pub fn adapt_to_reordering(&mut self) {
        if let Some(distance) = self.segments.progress.reordered {
            let segments = distance.div_ceil(self.mss as u64) as u32;
            self.threshold = self.threshold.max(segments.min(MOST_DUPLICATES));
        }
    }

    /// Raises the threshold by one after a needless retransmission.
    pub fn adapt_to_duplicate(&mut self) {
        self.threshold = (self.threshold + 1).min(MOST_DUPLICATES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_was_never_sent_and_the_way_of_repair_stays() {
        let mut flight = Flight::new(LossRecovery::Rack, 3, 1000);
        (flight.snd_una, flight.snd_nxt, flight.snd_max) = (1, 1001, 1001);
        flight.segments.push(Time::ZERO, 1, 1001, true);
        assert_eq!((flight.len(), flight.in_window()), (1000, 1000));
        flight.take_back();
        assert_eq!((flight.len(), flight.in_window(), flight.snd_nxt), (0, 0, 1));
        assert_eq!((flight.segments.keep, flight.tracked), (Keep::All, true));
    }

    #[test]
    fn the_threshold_grows_to_what_lateness_asks_for_and_no_further_than_300() {
        let mut flight = Flight::new(LossRecovery::Sack1, 3, 1000);
        for (reordered, threshold) in [(None, 3), (Some(2000), 3), (Some(4001), 5), (Some(1_000_000), 300)] {
            flight.segments.progress.reordered = reordered;
            flight.adapt_to_reordering();
            assert_eq!(flight.threshold, threshold);
        }
        flight.adapt_to_duplicate();
        assert_eq!(flight.threshold, 300);
    }
}
