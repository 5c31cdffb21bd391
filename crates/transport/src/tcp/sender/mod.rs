//! The sending half: the next segment that recovery, windows, pace and data allow.
//!
//! Follows RFC 9293 §3.8, RFC 3042 (limited transmit), RFC 5681 §4.1 (idle times).
//! Differs: after a timeout sending restarts at `snd_una`, as in BSD and ns-2, but skips selectively acknowledged data.
//! Leaves out Nagle's algorithm, since a simulated application writes all its data at once; and the reactions to acknowledgments
//! and timeouts (`ack_clock`).

mod ack_clock;

use super::config::{AfterIdle, Config, Law, LossRecovery};
use super::flight::NextSegment;
use super::pacing::Pacer;
use super::path_mtu::ProbeTurn;
use super::recovery::pipe::PipeTurn;
use super::recovery::vegas;
use super::rtt::RttSamples;
use super::send_buffer::SendBuffer;
use ack_clock::AckClock;
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

/// Counters of the sending half.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderStats {
    /// Segments with payload, SYN or FIN, including retransmissions.
    pub segments_sent: u64,
    /// Retransmitted segments among `segments_sent`.
    pub segments_retransmitted: u64,
    /// Payload bytes, including retransmissions.
    pub bytes_sent: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits; each reduced the window once.
    pub fast_retransmits: u64,
    /// Reductions of the window for marks (RFC 3168).
    pub ecn_reductions: u64,
    /// Reductions of the window that proved needless and were undone.
    pub undone: u64,
    /// Segments reported by the receiver as duplicates (RFC 2883).
    pub duplicates_reported: u64,
    /// RTT samples.
    pub rtt: RttSamples,
}

/// The sending half: the machines that acknowledgments change, and what leaves.
#[derive(Debug)]
pub(crate) struct Sender {
    pub clock: AckClock,
    pub buffer: SendBuffer,
    pub pacer: Pacer,
    segments_sent: u64,
    segments_retransmitted: u64,
    bytes_sent: u64,
    /// Reports of duplicates, and the segments that they name.
    duplicates_reported: u64,
    segments_duplicated: u64,
}

impl Sender {
    pub fn new(config: Config) -> Self {
        Self {
            buffer: SendBuffer::new(&config),
            clock: AckClock::new(config),
            pacer: Pacer::default(),
            segments_sent: 0,
            segments_retransmitted: 0,
            bytes_sent: 0,
            duplicates_reported: 0,
            segments_duplicated: 0,
        }
    }

    /// Sets the source of random delays and waits.
    pub fn set_chance(&mut self, chance: Stream) {
        self.pacer.chance = Some(chance);
    }

    /// Settles the size of a full segment, once both ends have announced theirs (RFC 6691).
    pub fn settle_size(&mut self, most: u32, options: u32) {
        self.clock.settle_size(most, options, self.pacer.chance.clone());
    }

    pub fn stats(&self) -> SenderStats {
        let counts = self.clock.counts();
        SenderStats {
            segments_sent: self.segments_sent,
            segments_retransmitted: self.segments_retransmitted,
            bytes_sent: self.bytes_sent,
            timeouts: counts.timeouts,
            fast_retransmits: counts.fast_retransmits,
            ecn_reductions: counts.ecn_reductions,
            undone: self.clock.undone(),
            duplicates_reported: self.duplicates_reported,
            rtt: self.clock.rtt_samples(),
        }
    }

    /// Records that the SYN was sent or repeated.
    pub fn sent_syn(&mut self, now: Time) {
        let again = self.clock.snd_max() > 0;
        self.segments_sent += 1;
        self.segments_retransmitted += again as u64;
        self.clock.sent_syn(now, again);
    }

    /// Marks data that were sent with the SYN and refused as not sent.
    pub fn take_back(&mut self) {
        self.segments_retransmitted += 1;
        self.clock.take_back();
        self.pacer.hold_at = None;
    }

    /// Stops the timers, since nothing more is sent.
    pub fn stop_timers(&mut self) {
        self.clock.stop_timers();
        self.pacer.hold_at = None;
    }

    /// Prepares for the SACK blocks of an acknowledgment.
    pub fn begin_ack(&mut self) {
        self.pacer.released = false;
        self.clock.begin_ack();
    }

    /// Handles a report that the receiver got [start, end) twice (RFC 2883). Returns true if a retransmission may be the cause: there have
    /// been as many of them, as the network duplicates segments, too (RFC 3708 §3; Linux: `tcp_dsack_seen`).
    pub fn duplicate_reported(&mut self, start: u64, end: u64) -> bool {
        let segments = (end - start).div_ceil(self.clock.smss().into());
        self.duplicates_reported += 1;
        self.segments_duplicated += segments;
        let repeated = self.segments_duplicated <= self.segments_retransmitted;
        if repeated {
            self.clock.duplicate_reported(end, segments as u32);
        }
        repeated
    }

    /// Handles a cumulative acknowledgment of new data.
    pub fn handle_ack(&mut self, now: Time, ack: u64, sample: Option<Span>, dsack: bool) {
        self.clock.handle_ack(now, ack, sample, dsack);
        if self.buffer.withheld > 0 {
            let cwnd = self.clock.cwnd();
            let full = self.clock.flight.in_window() >= cwnd;
            self.buffer.make_room(self.clock.snd_una(), self.clock.smss(), cwnd, full);
        }
    }

    /// Handles a retransmission timeout.
    pub fn handle_timeout(&mut self, now: Time) {
        self.pacer.released = false;
        self.clock.handle_timeout(now);
    }

    /// Updates counters and machines for a segment that has been sent.
    fn note_sent(&mut self, now: Time, segment: NextSegment) {
        self.pacer.last_sent = now;
        self.segments_sent += 1;
        self.segments_retransmitted += (segment.seq < self.clock.snd_max()) as u64;
        self.bytes_sent += segment.len as u64;
        self.clock.sent(now, segment);
        let config = self.clock.config();
        if config.pacing_possible() {
            // BBR version 1 paces the measured quantity, which is payload, as Linux does.
            let payload_only = config.variant.law() == Law::Bbr1;
            let headers = if payload_only { 0 } else { u64::from(config.headers()) };
            let bytes = segment.end() - segment.seq + headers;
            self.pacer.pace(now, bytes, self.clock.srtt(), self.clock.congestion());
        }
    }

    /// Decides on the use of the next new data for the search of the path; `left` is the space left in the congestion window.
    fn probe_turn(&mut self, now: Time, left: u64) -> ProbeTurn {
        let unsent = self.buffer.unsent(self.clock.snd_max());
        self.clock.probe_turn(now, left, unsent)
    }

    pub fn write(&mut self, bytes: u64) {
        self.buffer.write(bytes, self.clock.snd_una(), self.clock.smss());
    }

    pub fn all_acknowledged(&self) -> bool {
        self.buffer.all_acknowledged(self.clock.snd_una())
    }

    pub fn fin_acknowledged(&self) -> bool {
        self.buffer.fin_acknowledged(self.clock.snd_una())
    }

    /// Payload bytes acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.clock.snd_una().saturating_sub(1).min(self.buffer.data_end - 1)
    }

    /// Records data sent with the SYN, at most `room` bytes.
    pub fn sent_with_syn(&mut self, now: Time, room: u32, fin: bool) -> NextSegment {
        let whole = self.segment_at(1);
        // The end that answers a SYN knows the peer's window.
        let room = if self.clock.snd_wnd() > 0 {
            room.min(self.clock.right_edge().saturating_sub(1) as u32)
        } else {
            room
        };
        let len = whole.len.min(room);
        let segment = NextSegment { len, fin: fin && whole.fin && len == whole.len, ..whole };
        if len == 0 && !segment.fin {
            return NextSegment::NOTHING;
        }
        // The SYN has been counted.
        self.segments_sent -= 1;
        self.sent(now, segment)
    }

    /// The next segment that recovery, windows, pace and data allow.
    pub fn poll(&mut self, now: Time) -> Option<NextSegment> {
        let next = self.poll_next(now);
        if next.is_none() {
            self.clock.validate_window(self.segments_sent);
        }
        next
    }

    fn poll_next(&mut self, now: Time) -> Option<NextSegment> {
        if self.clock.take_window_probe() && self.clock.snd_nxt() < self.buffer.end() {
            return Some(self.probe_window(now));
        }
        let allowed = !self.clock.config().pacing_possible() || self.pace_allows(now);
        if !allowed {
            return None;
        }
        if self.clock.flight.tracked && self.clock.flight.how.pipe() {
            if self.clock.recovery.rack.probe_due {
                return self.poll_probe(now);
            }
            return if self.ready(now) { self.poll_pipe(now) } else { None };
        }
        if let Some(seq) = self.clock.recovery.counting.due.take()
            && seq < self.clock.snd_max()
        {
            let segment = self.allowed_at(seq.max(self.clock.snd_una()));
            self.clock.recovery.counting.retransmitted_to = segment.end();
            return Some(self.sent(now, segment));
        }
        if let Some(segment) = self.clock.poll_repeat() {
            return Some(self.sent(now, segment));
        }
        if self.ready(now) { self.poll_counting(now) } else { None }
    }

    /// Next transmission of a recovery that counts duplicates, from `snd_nxt` on.
    fn poll_counting(&mut self, now: Time) -> Option<NextSegment> {
        let timer_runs = self.clock.retransmission_at().is_some();
        let AckClock { flight, recovery, .. } = &mut self.clock;
        let next = flight.next_missing();
        flight.snd_nxt = next;
        if next >= self.buffer.end() || vegas::waits(&recovery.counting, flight, timer_runs) {
            return None;
        }
        let limit = self.clock.counted_limit();
        let mut segment = self.allowed_at(next);
        if self.clock.seeks_pmtu() && next == self.clock.snd_max() {
            match self.probe_turn(now, limit.saturating_sub(next)) {
                ProbeTurn::Probe(probe) => segment = probe,
                ProbeTurn::Wait => return None,
                ProbeTurn::Pass => {}
            }
        }
        let fits = segment.fit(limit, self.clock.config().silly_window_avoidance);
        if !fits || self.clock.recovery.counting.burst_spent() {
            return None;
        }
        if segment.data_end() > self.clock.right_edge() {
            self.clock.ask_for_window(now);
            return None;
        }
        self.clock.recovery.counting.released += 1;
        Some(self.sent(now, segment))
    }

    /// Next transmission of a recovery with a pipe: lost segments, then new data, within the windows.
    fn poll_pipe(&mut self, now: Time) -> Option<NextSegment> {
        let limits = self.clock.pipe_limits();
        if self.clock.recovery.pipe.waits(limits.timer_runs, &self.clock.flight) {
            return None;
        }
        if self.clock.recovery.asks_for_new() {
            let mss = self.clock.smss() as u64;
            if self.clock.recovery.pipe.has_room(mss, limits, &self.clock.flight)
                && let Some(segment) = self.poll_new(now)
            {
                return Some(segment);
            }
            if self.clock.recovery.awaits_new(self.clock.snd_max()) {
                return None;
            }
        }
        let turn = self.clock.recovery.pipe.next(limits, &mut self.clock.flight);
        if let PipeTurn::Again(index) = turn {
            return Some(self.send_again(now, index));
        }
        if turn == PipeTurn::Nothing {
            return None;
        }
        if turn == PipeTurn::New
            && let Some(segment) = self.poll_new(now)
        {
            return Some(segment);
        }
        let index = self.clock.recovery.pipe.last_resort(&self.clock.flight)?;
        Some(self.send_again(now, index))
    }

    /// A retransmission of the segment with this index.
    fn send_again(&mut self, now: Time, index: usize) -> NextSegment {
        let segment = self.clock.recovery.send_again(now, index, &mut self.clock.flight);
        self.note_sent(now, segment);
        // RACK detects retransmissions that are lost again; the timer gives each of them its time, as Linux does for the oldest.
        if index == 0 && self.clock.flight.how == LossRecovery::Rack {
            self.clock.restart_timer(now);
        }
        segment
    }

    /// RFC 8985 §7.3: the probe of the tail: new data if the peer's window has room, else the last segment again.
    fn poll_probe(&mut self, now: Time) -> Option<NextSegment> {
        self.clock.recovery.rack.probe_due = false;
        let end = self.clock.snd_max();
        let (probe, repeat) = match self.poll_new(now) {
            Some(segment) => (segment, false),
            None if self.clock.flight.segments.back().is_none_or(|s| s.sacked) => return None,
            None => (self.send_again(now, self.clock.flight.segments.len() - 1), true),
        };
        self.clock.recovery.rack.sent_probe(if repeat { end } else { self.clock.snd_max() }, repeat);
        Some(probe)
    }

    /// New data, if there are any and the peer's window has room; the congestion window has been checked.
    fn poll_new(&mut self, now: Time) -> Option<NextSegment> {
        self.clock.flight.snd_nxt = self.clock.snd_max();
        if self.clock.snd_nxt() >= self.buffer.end() {
            if self.clock.flight.segments.pipe < self.clock.cwnd() {
                // draft-ietf-ccwg-bbr-06 §4.1.2.4: data delivered now say nothing about the path.
                self.clock.flight.segments.limit_by_application();
            }
            return None;
        }
        if self.clock.seeks_pmtu() {
            let room = self.clock.cwnd().saturating_sub(self.clock.flight.segments.pipe);
            match self.probe_turn(now, room) {
                ProbeTurn::Probe(probe) => return Some(self.sent(now, probe)),
                ProbeTurn::Wait => return None,
                ProbeTurn::Pass => {}
            }
        }
        let mut segment = self.allowed_at(self.clock.snd_nxt());
        if !self.clock.config().silly_window_avoidance {
            let limit = segment.seq
                + self.clock.recovery.pipe.room_for_new(self.clock.pipe_limits(), &self.clock.flight);
            segment.fit(limit, false);
        }
        if segment.data_end() > self.clock.right_edge() {
            self.clock.ask_for_window(now);
            return None;
        }
        Some(self.sent(now, segment))
    }

    /// A probe of the peer's closed window.
    fn probe_window(&mut self, now: Time) -> NextSegment {
        let mut segment = self.segment_at(self.clock.snd_nxt());
        (segment.len, segment.fin) = (segment.len.min(1), segment.len == 0);
        // Not `sent`: a probe refused by the closed window is no loss, so no timer runs for it.
        self.segments_sent += 1;
        self.bytes_sent += segment.len as u64;
        self.clock.window_probed(now, segment);
        segment
    }

    /// Returns true if the pace allows a packet now; otherwise sets the timer.
    fn pace_allows(&mut self, now: Time) -> bool {
        // Only a host with something to send needs the timer.
        if !self.pacer.waits(now) || !self.would_send() {
            return true;
        }
        self.pacer.hold();
        false
    }

    /// Returns true if the host may send now, after the window's change for an idle time that ends here.
    fn ready(&mut self, now: Time) -> bool {
        if self.held_up(now) {
            return false;
        }
        if self.clock.config().after_idle != AfterIdle::Keep {
            self.note_idle(now);
        }
        true
    }

    /// Notices the end of an idle time, which goes on while the windows let no data out: calls in between change nothing.
    fn note_idle(&mut self, now: Time) {
        self.pacer.acknowledged(self.clock.snd_una());
        let silent = self.clock.snd_una() == self.clock.snd_max()
            && self.bytes_sent > 0
            && self.buffer.unsent(self.clock.snd_max()) > 0
            && self.would_send();
        if silent {
            self.clock.end_silence(now, &mut self.pacer);
        }
    }

    /// Returns true if the host's own random delay must still pass before a packet is sent.
    fn held_up(&mut self, now: Time) -> bool {
        if self.clock.config().overhead == Span::ZERO || self.pacer.released || !self.would_send() {
            return false;
        }
        // As in ns-2, whose agents answer duplicates at once.
        if self.clock.recovery.answers_duplicate(self.clock.cwnd(), &self.clock.flight) {
            return false;
        }
        self.pacer.begin_overhead(now, self.clock.config().overhead);
        true
    }

    /// Returns true if the windows would allow a packet.
    pub(super) fn would_send(&self) -> bool {
        if self.clock.flight.how.pipe() {
            let limits = self.clock.pipe_limits();
            return self.clock.recovery.pipe.would_send(&self.buffer, limits, &self.clock.flight);
        }
        if self.clock.recovery.counting.due.is_some() {
            return true;
        }
        let next = self.clock.flight.next_missing();
        let end = self.allowed_at(next).data_end();
        next < self.buffer.end() && end <= self.clock.counted_limit() && end <= self.clock.right_edge()
    }

    /// The segment that begins at `seq`, whatever the peer's window.
    fn segment_at(&self, seq: u64) -> NextSegment {
        // A retransmission of another size than the original would bring nothing new.
        let repeat_whole = self.clock.size_limit().is_some();
        self.clock.flight.segment_at(seq, &self.buffer, repeat_whole)
    }

    /// The segment that begins at `seq`, cut to the peer's window if it may be.
    #[inline]
    fn allowed_at(&self, seq: u64) -> NextSegment {
        self.clock.cut_to_window(self.segment_at(seq))
    }

    /// Records that this segment is sent.
    fn sent(&mut self, now: Time, segment: NextSegment) -> NextSegment {
        self.clock.track(now, segment);
        self.note_sent(now, segment);
        segment
    }
}
