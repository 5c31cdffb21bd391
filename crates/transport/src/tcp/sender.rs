//! The sending half: what is sent next, what acknowledgments and timeouts mean for it.
//!
//! Follows RFC 9293 §3.8, RFC 6298 §5 (the timer), Karn's rule, RFC 3042 (limited transmit), RFC 3168 §6.1 (marks).
//! Differs: after a timeout sending starts again at `snd_una`, as in BSD and ns-2, but skips what is selectively acknowledged.
//! Leaves out Nagle's algorithm: a simulated application offers what it has at once.

use super::config::{AfterIdle, Config, LossRecovery, PathMtu, Variant};
use super::congestion::Congestion;
use super::memory::PathMemory;
use super::path_mtu::{Path, Turn};
use super::recovery::counting::Counting;
use super::recovery::pipe::{Phase, Pipe};
use super::recovery::undo::Undo;
use super::rtt::{RttEstimator, RttSamples};
use super::scoreboard::Ranges;
use super::segments::{Keep, Segments};
use super::send_buffer::SendBuffer;
use super::timing::Timed;
use super::window_use::WindowUse;
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

/// Counters of the sending half.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderStats {
    /// Segments with payload, SYN or FIN, repeats included.
    pub segments_sent: u64,
    /// Of those, the repeats.
    pub segments_retransmitted: u64,
    /// Payload bytes, repeats included.
    pub bytes_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits: the window was cut once for each.
    pub fast_retransmits: u64,
    /// Reductions of the window for marks (RFC 3168).
    pub ecn_reductions: u64,
    /// Reductions of the window that proved to be needless and were taken back.
    pub undone: u64,
    /// Segments that the receiver reported to have got twice (RFC 2883).
    pub duplicates_reported: u64,
    /// Round trips measured.
    pub rtt: RttSamples,
}

/// A segment to send: [seq, seq + len), and whether a FIN follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
}

impl Outgoing {
    pub const NOTHING: Self = Self { seq: 1, len: 0, fin: false };

    fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.fin as u64
    }
}

/// Offsets count from the initial sequence number: the SYN is 0, data begins at 1.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) config: Config,
    /// How losses are found and repaired, once the peer's options are known.
    pub(super) how: LossRecovery,
    /// Duplicates that signal a loss; it may grow.
    pub(super) threshold: u32,
    /// Oldest byte not acknowledged.
    pub snd_una: u64,
    /// Next to send; behind `snd_max` after a timeout.
    pub snd_nxt: u64,
    /// One past the highest sent.
    pub snd_max: u64,
    /// One past the last byte the application has written, as far as the buffer has room.
    pub(super) data_end: u64,
    /// Whether a FIN follows the data.
    pub(super) fin: bool,
    pub(super) buffer: SendBuffer,
    pub(super) usage: WindowUse,
    /// One past the last byte the peer allows.
    pub(super) window_edge: u64,
    pub(super) peer_window: u64,
    /// The largest window the peer has ever offered.
    largest_window: u64,
    /// Payload of a full segment.
    pub(super) mss: u32,
    pub(super) path: Path,
    pub(super) congestion: Congestion,
    pub(super) scoreboard: Ranges,
    pub(super) counting: Counting,
    pub(super) pipe: Pipe,
    pub(super) undo: Option<Box<Undo>>,
    pub(super) segments: Segments,
    /// Whether segments are kept track of one by one.
    pub(super) tracked: bool,
    pub(super) rtt: RttEstimator,
    /// The segment being timed.
    pub(super) timed: Option<Timed>,
    pub rto_at: Option<Time>,
    pub persist_at: Option<Time>,
    /// The next packet may leave, by the pace; or the host's own delay is over.
    pub hold_at: Option<Time>,
    pub(super) pace_from: Time,
    /// The host's delay has passed, and what the windows allow may go.
    pub(super) released: bool,
    /// When the last segment left; and while a window is spread over a round trip, one past the highest sent before it.
    pub(super) last_sent: Time,
    pub(super) spread_until: Option<u64>,
    pub(super) chance: Option<Stream>,
    probe: bool,
    /// Probes since the window closed.
    probes: u32,
    /// One past the highest sent at the last reduction for a mark.
    marked: u64,
    /// RFC 3168 §6.1.2: the next new segment says that the window has been reduced.
    pub cwr_due: bool,
    pub(super) stats: SenderStats,
}

impl Sender {
    pub fn new(config: Config) -> Self {
        let mss = config.mss;
        let mut sender = Self {
            how: config.recovery(),
            threshold: config.dupack_threshold,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            data_end: 1,
            fin: false,
            buffer: SendBuffer::new(&config),
            usage: WindowUse::default(),
            window_edge: 1,
            peer_window: 0,
            largest_window: 0,
            mss,
            path: Path::new(&config),
            congestion: Congestion::new(&config, mss, None),
            scoreboard: Ranges::default(),
            counting: Counting::default(),
            pipe: Pipe::default(),
            undo: None,
            segments: Segments::default(),
            tracked: false,
            rtt: RttEstimator::new(&config),
            timed: None,
            rto_at: None,
            persist_at: None,
            hold_at: None,
            pace_from: Time::ZERO,
            released: false,
            last_sent: Time::ZERO,
            spread_until: None,
            chance: None,
            probe: false,
            probes: 0,
            marked: 0,
            cwr_due: false,
            stats: SenderStats::default(),
            config,
        };
        sender.choose();
        sender
    }

    /// Where random delays and waits come from.
    pub fn set_chance(&mut self, chance: Stream) {
        self.chance = Some(chance);
    }

    fn choose(&mut self) {
        self.tracked = self.how.pipe() || self.how == LossRecovery::Vegas;
        self.segments.keep = match self.how {
            LossRecovery::Rack => Keep::All,
            LossRecovery::Fack => Keep::Repeats,
            _ => Keep::Nothing,
        };
        self.prepare_undo();
    }

    /// Settles the payload of a full segment, once both ends have named theirs.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1);
        self.congestion = Congestion::new(&self.config, self.mss, self.chance.clone());
    }

    /// The peer has no selective acknowledgments.
    pub fn without_sack(&mut self) {
        if !self.how.sack() {
            return;
        }
        self.how =
            if self.how == LossRecovery::SackReno { LossRecovery::Reno } else { LossRecovery::NewReno };
        self.config.recovery = Some(self.how);
        if self.config.variant.law().needs_model() {
            // Its model needs to know what has been delivered.
            self.config.variant = Variant::NewReno;
        }
        self.choose();
    }

    pub fn write(&mut self, bytes: u64) {
        // Behind a FIN there is nothing.
        if self.fin_queued() {
            return;
        }
        if self.buffer.is_off() {
            self.data_end = self.data_end.saturating_add(bytes);
        } else {
            self.buffer.withheld = self.buffer.withheld.saturating_add(bytes);
            self.refill();
        }
    }

    pub fn forget_unsent(&mut self) {
        if !self.fin_queued() {
            self.data_end = self.snd_max.max(1);
            self.buffer.withheld = 0;
        }
    }

    pub fn finish(&mut self) {
        (self.buffer.closed, self.fin) = (true, self.buffer.withheld == 0);
    }

    /// One past everything that will ever be sent, FIN included.
    pub(super) fn end(&self) -> u64 {
        self.data_end + self.fin as u64
    }

    /// Where the FIN stands, if there is one.
    pub(super) fn fin_at(&self) -> Option<u64> {
        self.fin.then_some(self.data_end)
    }

    pub fn fin_queued(&self) -> bool {
        self.fin || self.buffer.closed
    }

    /// Whether all that was written has been sent.
    pub fn nothing_more(&self) -> bool {
        self.snd_max >= self.data_end && self.buffer.withheld == 0
    }

    pub fn all_acknowledged(&self) -> bool {
        self.snd_una >= self.data_end && self.buffer.withheld == 0
    }

    pub fn fin_acknowledged(&self) -> bool {
        self.fin && self.snd_una > self.data_end
    }

    /// Sequence numbers written and not yet sent.
    pub(super) fn unsent(&self) -> u64 {
        self.end().saturating_sub(self.snd_max)
    }

    pub fn in_flight(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Payload bytes acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.snd_una.saturating_sub(1).min(self.data_end - 1)
    }

    /// What the windows allow at most, bytes.
    pub(super) fn window(&self) -> u64 {
        self.congestion.cwnd().min(self.peer_window)
    }

    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.rtt.samples.min.into_iter().chain(self.segments.min_rtt).min()
    }

    pub fn stats(&self) -> SenderStats {
        SenderStats { rtt: self.rtt.samples, ..self.stats }
    }

    /// The peer's window, from a segment that acknowledged up to `ack`.
    pub fn set_window(&mut self, ack: u64, window: u64) {
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        self.window_edge = self.window_edge.max(ack + window);
        if self.window_edge > self.snd_nxt {
            (self.persist_at, self.probes) = (None, 0);
        }
    }

    /// Begins with what another connection has learnt of the path.
    pub fn begin_with(&mut self, path: PathMemory) {
        self.rtt.seed(path.srtt);
        self.config.initial_window = self.config.initial_window.max(path.cwnd);
        self.config.initial_ssthresh = path.ssthresh.or(self.config.initial_ssthresh);
    }

    /// What another connection may begin with, if connections share.
    pub fn learnt(&self) -> Option<PathMemory> {
        let srtt = self.rtt.smoothed().filter(|_| self.config.share)?;
        let ssthresh = Some(self.congestion.ssthresh()).filter(|s| *s < u64::MAX);
        Some(PathMemory { srtt, ssthresh, cwnd: 0 })
    }

    pub fn scale_window(&mut self, share: u64, of: u64) {
        let cwnd = self.congestion.cwnd() * share / of.max(1);
        self.congestion.set(cwnd.max(self.mss as u64));
    }

    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// The SYN has been sent or sent again.
    pub fn sent_syn(&mut self, now: Time) {
        self.stats.segments_sent += 1;
        if self.snd_max > 0 {
            self.stats.segments_retransmitted += 1;
            self.timed = None;
        } else {
            self.timed = Some(Timed::new(1, now));
        }
        self.snd_nxt = self.snd_nxt.max(1);
        self.snd_max = self.snd_max.max(1);
        self.rto_at = Some(now + self.rtt.rto());
    }

    /// The SYN is acknowledged.
    pub fn established(&mut self, now: Time, sample: Option<Span>) {
        self.measure(now, 1, sample);
        self.snd_una = self.snd_una.max(1);
        self.rto_at = (self.snd_max > 1).then(|| now + self.rtt.rto());
        self.congestion.on_established(now, self.rtt.samples.min, self.snd_una);
    }

    /// What goes with the SYN, of at most `room` bytes.
    pub fn sent_with_syn(&mut self, now: Time, room: u32, fin: bool) -> Outgoing {
        let whole = self.segment_at(1);
        // Who answers a SYN knows the peer's window.
        let room =
            if self.peer_window > 0 { room.min(self.window_edge.saturating_sub(1) as u32) } else { room };
        let len = whole.len.min(room);
        let segment = Outgoing { len, fin: fin && whole.fin && len == whole.len, ..whole };
        if len == 0 && !segment.fin {
            return Outgoing::NOTHING;
        }
        // The SYN is counted already.
        self.stats.segments_sent -= 1;
        self.sent(now, segment)
    }

    /// What went with the SYN has been refused, or all but its beginning: it is as if it had not been sent.
    pub fn take_back(&mut self) {
        (self.snd_nxt, self.snd_max) = (self.snd_una, self.snd_una);
        self.segments.take_back();
        self.choose();
        self.stats.segments_retransmitted += 1;
        self.stop_timers();
    }

    /// What is outstanding goes again from its beginning, without a word of losses: the SYN before it was lost.
    fn send_all_again(&mut self, now: Time) {
        if self.how.pipe() {
            self.pipe_timeout(now);
        } else {
            self.recover_timeout();
        }
    }

    /// The next segment that recovery, the windows, the pace and the data allow.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        let next = self.poll_next(now);
        if next.is_none() && self.config.validate_window {
            self.note_use();
        }
        next
    }

    fn poll_next(&mut self, now: Time) -> Option<Outgoing> {
        if std::mem::take(&mut self.probe) && self.snd_nxt < self.end() {
            return Some(self.probe_window(now));
        }
        if self.config.after_idle != AfterIdle::Keep {
            self.note_idle(now);
        }
        let allowed = !self.config.pacing_possible() || self.pace_allows(now);
        if !allowed {
            return None;
        }
        if self.tracked && self.how.pipe() {
            if self.pipe.rack.probe_due {
                return self.poll_probe(now);
            }
            // Copied out of the way of `poll_pipe`, which is asked only if the host is ready.
            return if self.held_up(now) { None } else { self.poll_pipe(now) };
        }
        if let Some(seq) = self.counting.due.take()
            && seq < self.snd_max
        {
            let segment = self.cut_to_window(self.segment_at(seq.max(self.snd_una)));
            self.counting.retransmitted_to = segment.end();
            return Some(self.sent(now, segment));
        }
        if self.path.repeat.is_some()
            && let Some(segment) = self.poll_probe_repeat()
        {
            return Some(self.sent(now, segment));
        }
        if self.held_up(now) {
            return None;
        }
        self.poll_counting(now)
    }

    fn poll_counting(&mut self, now: Time) -> Option<Outgoing> {
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        if self.snd_nxt < self.snd_max {
            self.snd_nxt = self.scoreboard.next_gap(self.snd_nxt).min(self.snd_max);
        }
        if self.snd_nxt >= self.end() || (self.how == LossRecovery::Vegas && self.vegas_waits()) {
            return None;
        }
        let allowed =
            self.congestion.cwnd() + self.counting.limited_transmit(&self.config, self.threshold, self.mss);
        let mut segment = self.cut_to_window(self.segment_at(self.snd_nxt));
        if self.path.seeking && self.snd_nxt == self.snd_max {
            match self.probe_turn(now, (self.snd_una.max(1) + allowed).saturating_sub(self.snd_max)) {
                Turn::Probe(probe) => segment = probe,
                Turn::Wait => return None,
                Turn::Pass => {}
            }
        }
        let segment_end = segment.seq + segment.len as u64;
        if segment_end > self.snd_una.max(1) + allowed || self.counting.burst_spent(&self.config) {
            return None;
        }
        if segment_end > self.window_edge {
            self.ask_for_window(now);
            return None;
        }
        self.counting.released += 1;
        Some(self.sent(now, segment))
    }

    /// New data, if there is any and the peer's window has room; the congestion window has been asked.
    pub(super) fn poll_new(&mut self, now: Time) -> Option<Outgoing> {
        self.snd_nxt = self.snd_max;
        if self.snd_nxt >= self.end() {
            if self.segments.pipe < self.congestion.cwnd() {
                // draft-ietf-ccwg-bbr-06 §4.1.2.4: what is delivered now says nothing of the path.
                self.segments.app_limited = (self.segments.delivered + self.segments.pipe).max(1);
            }
            return None;
        }
        if self.path.seeking {
            let room = self.congestion.cwnd().saturating_sub(self.segments.pipe);
            match self.probe_turn(now, room) {
                Turn::Probe(probe) => return Some(self.sent(now, probe)),
                Turn::Wait => return None,
                Turn::Pass => {}
            }
        }
        let segment = self.cut_to_window(self.segment_at(self.snd_nxt));
        if segment.seq + segment.len as u64 > self.window_edge {
            self.ask_for_window(now);
            return None;
        }
        Some(self.sent(now, segment))
    }

    /// §3.8.6.1: nothing is under way that would bring a new window, so ask for one.
    fn ask_for_window(&mut self, now: Time) {
        if self.rto_at.is_none() && self.persist_at.is_none() {
            self.persist_at = Some(now + self.rtt.rto());
        }
    }

    fn probe_window(&mut self, now: Time) -> Outgoing {
        let mut segment = self.segment_at(self.snd_nxt);
        (segment.len, segment.fin) = (segment.len.min(1), segment.len == 0);
        // Not `sent`: a probe that the closed window turns away is no loss, so no timer runs for it.
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += segment.len as u64;
        self.timed = None;
        if self.tracked && segment.seq >= self.snd_max {
            // Not in flight: it is sent again when there is room.
            self.segments.push(now, segment.seq, segment.seq + 1, false);
        }
        self.snd_max = self.snd_max.max(segment.seq + 1);
        segment
    }

    /// Nothing more is to be sent.
    pub fn stop_timers(&mut self) {
        (self.rto_at, self.persist_at, self.hold_at) = (None, None, None);
        self.pipe.rack.on_timeout();
    }

    /// The segment that begins at `seq`: up to a full one, not past what is selectively acknowledged.
    pub(super) fn segment_at(&self, seq: u64) -> Outgoing {
        let mut end = (seq + self.mss as u64).min(self.data_end);
        if !self.scoreboard.is_empty()
            && let Some(start) = self.scoreboard.next_start(seq)
        {
            end = end.min(start);
        }
        // A repeat whose size is not that of the first time brings nothing new.
        if self.path.limit < u32::MAX && seq < self.snd_max {
            end = end.min(self.snd_max);
        }
        Outgoing { seq, len: (end.max(seq) - seq) as u32, fin: self.fin && end == self.data_end }
    }

    /// §3.8.6.2.1: less than a full segment is sent into a window too small for one if it is half of the largest seen.
    pub(super) fn cut_to_window(&self, segment: Outgoing) -> Outgoing {
        let usable = self.window_edge.saturating_sub(segment.seq);
        if usable > 0 && usable < segment.len as u64 && usable >= self.largest_window / 2 {
            return Outgoing { len: usable as u32, fin: false, ..segment };
        }
        segment
    }

    fn sent(&mut self, now: Time, segment: Outgoing) -> Outgoing {
        if self.tracked {
            if segment.seq >= self.snd_max {
                if self.segments.pipe == 0 && self.segments.delivered > 0 && self.segments.app_limited > 0 {
                    self.congestion.on_idle_restart(now);
                }
                self.segments.push(now, segment.seq, segment.end(), true);
            } else if let Some(index) = self.segments.starting_at(segment.seq) {
                self.segments.sent_again(now, index, self.snd_max);
            }
        }
        self.note_sent(now, segment);
        segment
    }

    /// Counters, sequence numbers and timers of a segment that has been sent.
    pub(super) fn note_sent(&mut self, now: Time, segment: Outgoing) {
        let end = segment.end();
        self.last_sent = now;
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += segment.len as u64;
        if segment.seq < self.snd_max {
            self.stats.segments_retransmitted += 1;
            self.time_no_repeat(segment.seq, end);
            if self.path.probe.is_some_and(|(start, to, _)| segment.seq < to && end > start) {
                self.abandon_probe();
            }
        } else if self.timed.is_none() && !self.config.timestamps {
            self.timed = Some(Timed::new(end, now));
        }
        if segment.seq <= self.snd_nxt {
            self.snd_nxt = self.snd_nxt.max(end);
        }
        self.snd_max = self.snd_max.max(end);
        if self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.rto());
        }
        if self.how.pipe() {
            self.pipe_sent(end, end - segment.seq);
            if self.how == LossRecovery::Rack {
                self.plan_probe(now);
            }
        }
        if self.config.pacing_possible() {
            self.pace(now, end - segment.seq);
        }
    }

    /// Before an acknowledgment's blocks are taken in.
    pub fn begin_ack(&mut self) {
        self.released = false;
        if self.tracked {
            self.segments.progress = Default::default();
            self.pipe.prior = self.segments.pipe;
        }
    }

    /// Takes in one SACK block.
    pub fn selectively_acknowledged(&mut self, now: Time, start: u64, end: u64) {
        if !self.how.sack() || start >= end || start < self.snd_una || end > self.snd_max {
            return;
        }
        if self.sends_all_again() {
            let known = self.scoreboard.total();
            self.scoreboard.insert(start, end);
            self.pipe.sacked_new |= self.scoreboard.total() > known;
        } else if self.how.pipe() {
            self.pipe.sacked_new |= self.segments.sack(now, start, end);
        } else {
            self.scoreboard.insert(start, end);
        }
    }

    /// A cumulative acknowledgment of new data.
    pub fn handle_ack(&mut self, now: Time, ack: u64, sample: Option<Span>, dsack: bool) {
        let newly = ack - self.snd_una;
        self.counting.released = 0;
        if let Some(undo) = &mut self.undo {
            undo.echoed = sample;
        }
        // Most acknowledgments measure nothing where one segment a round trip is timed.
        let timed = self.timed.is_some_and(|timed| ack >= timed.end);
        if timed || sample.is_some() || self.how == LossRecovery::Fack {
            self.measure(now, ack, sample);
        }
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        if !self.scoreboard.is_empty() {
            self.scoreboard.remove_below(ack);
        }
        if self.tracked {
            self.segments.acknowledge(now, ack);
            self.note_rtt(sample);
        }
        self.rtt.acknowledged(self.snd_una, self.snd_nxt);
        let restart_timer =
            if self.how.pipe() { self.pipe_ack(now, newly) } else { self.recover_ack(now, newly) };
        if self.config.path_mtu == PathMtu::Probe {
            self.note_size(now, ack, newly);
        }
        // RFC 6298 (5.2), (5.3).
        if self.snd_una == self.snd_max {
            self.rto_at = None;
        } else if restart_timer {
            self.rto_at = Some(now + self.rtt.rto());
        }
        if self.how == LossRecovery::Rack {
            self.after_rack(now, dsack, false);
        }
        if self.buffer.withheld > 0 {
            self.make_room();
        }
    }

    /// An acknowledgment of nothing new cumulatively: a duplicate by RFC 5681, or one with news in its SACK blocks.
    pub fn handle_duplicate(&mut self, now: Time, duplicate: bool, dsack: bool) {
        self.counting.released = 0;
        if self.how.pipe() {
            if self.how == LossRecovery::Fack {
                self.fack_ages(now, self.snd_una);
            }
            self.note_rtt(None);
            if self.pipe_ack(now, 0) && self.rto_at.is_some() {
                self.rto_at = Some(now + self.rtt.rto());
            }
            if self.how == LossRecovery::Rack {
                self.after_rack(now, dsack, duplicate);
            }
        } else if duplicate && self.recover_duplicate(now) {
            self.stats.fast_retransmits += 1;
            self.timed = None;
            self.rto_at = Some(now + self.rtt.rto());
        }
    }

    fn after_rack(&mut self, now: Time, dsack: bool, duplicate: bool) {
        if self.resolve_probe(dsack, duplicate) {
            let in_use = self.window();
            self.signal_loss(now, in_use);
            if !self.congestion.owns_recovery() {
                self.congestion.set(self.congestion.ssthresh());
            }
            self.congestion.on_recovery_exit(now);
        }
        self.plan_probe(now);
    }

    /// Something was lost: `in_use` is what the windows allowed.
    pub(super) fn signal_loss(&mut self, now: Time, in_use: u64) {
        let in_flight = if self.how.pipe() { self.pipe.prior } else { self.in_flight() };
        self.abandon_probe();
        self.congestion.on_loss(now, in_use, in_flight);
        if self.how == LossRecovery::Rack {
            self.rack_recovered();
        }
    }

    /// RFC 3168 §6.1.2: the peer has seen a mark. The window is cut as by a loss, once a round trip, and nothing is sent again.
    pub fn handle_mark(&mut self, now: Time) {
        if let Some(undo) = &mut self.undo {
            undo.on_mark();
        }
        let repairing = self.counting.active || self.pipe.phase != Phase::Open;
        if self.snd_una < self.marked || repairing {
            return;
        }
        let in_use = self.window();
        self.signal_loss(now, in_use);
        if !self.congestion.owns_recovery() {
            self.congestion.set(self.congestion.ssthresh());
        }
        self.congestion.on_recovery_exit(now);
        self.marked = self.snd_max;
        self.cwr_due = true;
        self.stats.ecn_reductions += 1;
    }

    /// RFC 2883: the receiver got [start, end) twice.
    pub fn duplicate_reported(&mut self, start: u64, end: u64) {
        self.stats.duplicates_reported += 1;
        if let Some(undo) = &mut self.undo {
            undo.on_duplicate(end, (end - start).div_ceil(self.mss as u64) as u32);
        }
        self.segments.progress.answers_repeat();
        if self.how == LossRecovery::Rack {
            self.rack_dsack();
        } else if self.config.adaptive_reordering {
            self.threshold = (self.threshold + 1).min(MOST_DUPLICATES);
        }
    }

    /// Segments that came late, as Linux finds them: the threshold becomes what would have been patient enough.
    pub(super) fn detect_reordering(&mut self) {
        if let Some(distance) = self.segments.progress.reordered
            && self.config.adaptive_reordering
        {
            let segments = distance.div_ceil(self.mss as u64) as u32;
            self.threshold = self.threshold.max(segments.min(MOST_DUPLICATES));
        }
    }

    /// The retransmission timer has run out.
    pub fn handle_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.released = false;
        self.rtt.back_off();
        self.timed = None;
        self.rto_at = Some(now + self.rtt.rto());
        if self.snd_una == 0 {
            // The SYN is sent again; a lost SYN says little about the path's capacity.
            if self.snd_max > 1 {
                self.send_all_again(now);
            }
            self.snd_nxt = 0;
            return;
        }
        if self.config.path_mtu == PathMtu::Probe {
            self.suspect_size();
        }
        // What recovery has added to the window stands for packets that have left the network already.
        let inflated = self.counting.active;
        let in_use = if inflated { self.window().min(self.congestion.reduced()) } else { self.window() };
        if self.undo.is_none() || self.timeout_reduces() {
            self.congestion.on_timeout(now, in_use);
        } else {
            self.congestion.begin_again(now);
        }
        if self.how.pipe() {
            self.pipe_timeout(now);
        } else {
            self.recover_timeout();
        }
    }

    /// The persist timer has run out: a byte asks for the window.
    pub fn handle_persist(&mut self, now: Time) {
        self.probe = true;
        self.probes = (self.probes + 1).min(16);
        self.persist_at = Some(now + (self.rtt.rto() * (1 << self.probes)).min(self.config.rto_max));
    }
}

/// The most duplicates that an adapted threshold waits for, as in Linux.
const MOST_DUPLICATES: u32 = 300;
