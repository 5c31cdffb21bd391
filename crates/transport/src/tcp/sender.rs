//! The sending half: the next segment, acknowledgments, timeouts.
//!
//! Follows RFC 9293 §3.8, RFC 6298 §5 (the timer), Karn's rule, RFC 3042 (limited transmit), RFC 3168 §6.1 (marks).
//! Differs: after a timeout sending restarts at `snd_una`, as in BSD and ns-2, but skips selectively acknowledged data.
//! Leaves out Nagle's algorithm: a simulated application writes all its data at once.
//!
//! It has three times as many lines of methods as an object should: a recovery changes outstanding data, the window and the timer
//! at once, so each recovery is a file of methods of this type (`recovery`), next to machines that are handed what they need
//! (`flight`, `peer_window`, `pacing`, `retransmission_timer`, `marks`, `recovery/rack`, `recovery/undo`).

use super::config::{AfterIdle, Config, Law, LossRecovery, Variant};
use super::congestion::CongestionControl;
use super::flight::{Flight, NextSegment};
use super::marks::Marks;
use super::memory::PathMemory;
use super::pacing::Pacer;
use super::path_mtu::{Path, PathReport, ProbeRoom, ProbeTurn};
use super::peer_window::PeerWindow;
use super::recovery::counting::CountedAck;
use super::recovery::pipe::{PipeLimits, PipeTurn, RecoveryPhase};
use super::recovery::{Recovery, vegas};
use super::retransmission_timer::RetransmissionTimer;
use super::rtt::RttSamples;
use super::send_buffer::SendBuffer;
use super::window_use::{OpeningAck, WindowUse};
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

/// The machines of the sending half, and the state that they share.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) config: Config,
    pub flight: Flight,
    pub(super) buffer: SendBuffer,
    pub peer: PeerWindow,
    pub(super) path: Path,
    pub(super) congestion: CongestionControl,
    pub(super) usage: WindowUse,
    pub(super) recovery: Recovery,
    pub timer: RetransmissionTimer,
    pub(super) pacer: Pacer,
    pub marks: Marks,
    pub(super) stats: SenderStats,
}

impl Sender {
    pub fn new(config: Config) -> Self {
        let mss = config.mss;
        Self {
            flight: Flight::new(config.recovery(), config.dupack_threshold, mss),
            buffer: SendBuffer::new(&config),
            peer: PeerWindow::default(),
            path: Path::new(&config),
            congestion: CongestionControl::new(&config, mss, None),
            usage: WindowUse::new(&config),
            recovery: Recovery::new(&config, config.recovery()),
            timer: RetransmissionTimer::new(&config),
            pacer: Pacer::default(),
            marks: Marks::default(),
            stats: SenderStats::default(),
            config,
        }
    }

    /// Sets the source of random delays and waits.
    pub fn set_chance(&mut self, chance: Stream) {
        self.pacer.chance = Some(chance);
    }

    /// Sets the payload of a full segment, once both ends have announced theirs.
    pub fn set_mss(&mut self, mss: u32) {
        self.flight.mss = mss.max(1);
        self.congestion = CongestionControl::new(&self.config, self.flight.mss, self.pacer.chance.clone());
    }

    /// Changes to a recovery without selective acknowledgments, which the peer lacks.
    pub fn without_sack(&mut self) {
        if !self.flight.how.sack() {
            return;
        }
        let how = if self.flight.how == LossRecovery::SackReno {
            LossRecovery::Reno
        } else {
            LossRecovery::NewReno
        };
        self.config.recovery = Some(how);
        if self.config.variant.law().needs_model() {
            // Its model needs delivery rates.
            self.config.variant = Variant::NewReno;
        }
        self.flight.repair_by(how);
        self.recovery.prepare_undo(self.flight.how);
    }

    /// Settles the size of a full segment, once both ends have announced theirs (RFC 6691).
    pub fn settle_size(&mut self, most: u32, options: u32) {
        let mss = self.path.settle(most, options, self.config.headers());
        self.set_mss(mss);
    }

    /// Sets the MTU of this end's own link, bytes.
    pub fn over_link(&mut self, mtu: Option<u32>) {
        self.config.link_mtu = mtu;
        self.path = Path::new(&self.config);
    }

    /// Handles a router's message that a packet was too large.
    pub fn handle_too_large(&mut self, now: Time, seq: u64, next_hop_mtu: u32, total_len: u32) {
        match self.path.report(seq, next_hop_mtu, total_len) {
            PathReport::Ignored => {}
            PathReport::ProbeTooLarge => self.probe_failed(now, true),
            PathReport::Smaller => {
                let before = self.flight.mss;
                self.path.apply(&mut self.flight, &mut self.congestion);
                if self.flight.snd_una == 0 {
                    // Data sent with the SYN wait for the SYN's own timer.
                    self.flight.cut(true);
                } else if self.flight.mss < before && self.flight.len() > 0 {
                    self.send_smaller(now);
                }
            }
        }
    }

    /// Sends outstanding data that are too large again at once, in smaller segments. The window is not reduced, since nothing was
    /// lost to congestion (RFC 1191 §6.5).
    fn send_smaller(&mut self, now: Time) {
        self.path.begin_smaller();
        self.flight.cut(true);
        self.recovery.repair_without_signal(&mut self.flight);
        self.timer.timed = None;
        self.timer.restart(now);
    }

    /// Handles the failure of a probe, reported by a router (`told`) or inferred from its loss.
    fn probe_failed(&mut self, now: Time, told: bool) {
        let Some((start, end)) = self.path.fail(told, &mut self.flight) else { return };
        self.recovery.repair_probe(&mut self.flight);
        // Karn's rule for the probe itself; the sample of a later segment includes the repair, which lengthens the timeout.
        self.timer.timed = self.timer.timed.and_then(|timed| timed.unless_sent_again(start, end));
        self.timer.restart(now);
    }

    /// Returns true if only a probe is lost: then it was too large, and its loss is no congestion signal (RFC 4821 §7.6.1).
    pub(super) fn only_probe_lost(&mut self, now: Time) -> bool {
        let alone = self.path.only_probe_lost(&self.flight);
        if alone {
            self.probe_failed(now, false);
        }
        alone
    }

    /// Handles a duplicate. Returns true if it is the third that asks for a probe: then that was too large, and the duplicates are
    /// no signal.
    pub(super) fn duplicates_ask_for_probe(&mut self, now: Time) -> bool {
        // Vegas does not wait for the third.
        let enough = self.recovery.counting.duplicates == self.flight.threshold
            || vegas::expired(now, &self.flight, &mut self.congestion);
        let asks = enough && self.path.probe_begins_at(self.flight.snd_una);
        if asks {
            self.probe_failed(now, false);
        }
        asks
    }

    /// Decides on the use of the next new data for the search of the path; `left` is the space left in the congestion window.
    fn probe_turn(&mut self, now: Time, left: u64) -> ProbeTurn {
        if self.recovery.repairing() {
            return ProbeTurn::Pass;
        }
        let unsent = self.buffer.unsent(self.flight.snd_max);
        let room = ProbeRoom { left, window: self.window(), edge: self.peer.edge, unsent };
        self.path.probe_turn(now, room, &self.flight)
    }

    pub fn write(&mut self, bytes: u64) {
        self.buffer.write(bytes, self.flight.snd_una, self.flight.mss);
    }

    pub fn all_acknowledged(&self) -> bool {
        self.buffer.all_acknowledged(self.flight.snd_una)
    }

    pub fn fin_acknowledged(&self) -> bool {
        self.buffer.fin_acknowledged(self.flight.snd_una)
    }

    /// Payload bytes acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.flight.snd_una.saturating_sub(1).min(self.buffer.data_end - 1)
    }

    /// Largest number of outstanding bytes that the windows allow.
    pub(super) fn window(&self) -> u64 {
        self.congestion.cwnd().min(self.peer.window)
    }

    /// The quantity of which a loss leaves half: the windows' allowance, or the data sent and not yet acknowledged, without those of
    /// limited transmit (RFC 5681 §3.2 step 2).
    pub(super) fn halved(&self) -> u64 {
        if !self.config.halve_flight {
            return self.window();
        }
        let outstanding = self.flight.snd_max - self.flight.snd_una;
        let most = if self.config.limited_transmit { self.flight.threshold.saturating_sub(1) } else { 0 };
        outstanding - outstanding.saturating_sub(self.window()).min(most as u64 * self.flight.mss as u64)
    }

    pub fn stats(&self) -> SenderStats {
        let undone = self.recovery.undo.as_ref().map_or(0, |undo| undo.undone);
        SenderStats { rtt: self.timer.rtt.samples, undone, ..self.stats }
    }

    /// Sets the peer's window, from a segment that acknowledged up to `ack`.
    #[inline]
    pub fn set_window(&mut self, ack: u64, window: u64) {
        self.peer.set(ack, window, self.flight.snd_nxt);
    }

    /// Starts from the state that another connection has measured.
    pub fn begin_with(&mut self, path: PathMemory) {
        self.timer.rtt.seed(path.srtt);
        self.config.initial_window = self.config.initial_window.max(path.cwnd);
        self.config.initial_ssthresh = path.ssthresh.or(self.config.initial_ssthresh);
    }

    /// State from which another connection may start, if connections share it.
    pub fn learnt(&self) -> Option<PathMemory> {
        let srtt = self.timer.rtt.smoothed().filter(|_| self.config.share)?;
        let ssthresh = Some(self.congestion.ssthresh()).filter(|s| *s < u64::MAX);
        Some(PathMemory { srtt, ssthresh, cwnd: 0 })
    }

    pub fn scale_window(&mut self, share: u64, of: u64) {
        let cwnd = self.congestion.cwnd() * share / of.max(1);
        self.congestion.set(cwnd.max(self.flight.mss as u64));
    }

    /// Records that the SYN was sent or repeated.
    pub fn sent_syn(&mut self, now: Time) {
        self.stats.segments_sent += 1;
        if self.flight.snd_max > 0 {
            self.stats.segments_retransmitted += 1;
            self.timer.timed = None;
        } else {
            self.timer.time(now, 1);
        }
        self.flight.snd_nxt = self.flight.snd_nxt.max(1);
        self.flight.snd_max = self.flight.snd_max.max(1);
        self.timer.restart(now);
    }

    /// Handles the acknowledgment of the SYN.
    pub fn established(&mut self, now: Time, sample: Option<Span>) {
        self.measure(now, 1, sample);
        self.flight.snd_una = self.flight.snd_una.max(1);
        self.timer.at = None;
        if self.flight.snd_max > 1 {
            self.timer.restart(now);
        }
        self.congestion.on_established(now, self.timer.rtt.samples.min, self.flight.snd_una);
    }

    /// Records data sent with the SYN, at most `room` bytes.
    pub fn sent_with_syn(&mut self, now: Time, room: u32, fin: bool) -> NextSegment {
        let whole = self.segment_at(1);
        // The end that answers a SYN knows the peer's window.
        let room =
            if self.peer.window > 0 { room.min(self.peer.edge.saturating_sub(1) as u32) } else { room };
        let len = whole.len.min(room);
        let segment = NextSegment { len, fin: fin && whole.fin && len == whole.len, ..whole };
        if len == 0 && !segment.fin {
            return NextSegment::NOTHING;
        }
        // The SYN has been counted.
        self.stats.segments_sent -= 1;
        self.sent(now, segment)
    }

    /// Marks data that were sent with the SYN and refused as not sent.
    pub fn take_back(&mut self) {
        self.flight.take_back();
        self.recovery.prepare_undo(self.flight.how);
        self.stats.segments_retransmitted += 1;
        self.stop_timers();
    }

    /// The next segment that recovery, windows, pace and data allow.
    pub fn poll(&mut self, now: Time) -> Option<NextSegment> {
        let next = self.poll_next(now);
        if next.is_none() && self.config.validate_window {
            self.usage.check(self.stats.segments_sent, self.congestion.cwnd(), &self.flight);
        }
        next
    }

    fn poll_next(&mut self, now: Time) -> Option<NextSegment> {
        if self.peer.take_probe() && self.flight.snd_nxt < self.buffer.end() {
            return Some(self.probe_window(now));
        }
        let allowed = !self.config.pacing_possible() || self.pace_allows(now);
        if !allowed {
            return None;
        }
        if self.flight.tracked && self.flight.how.pipe() {
            if self.recovery.rack.probe_due {
                return self.poll_probe(now);
            }
            // Copied from `poll_pipe`, which is called only if the host is ready.
            return if self.ready(now) { self.poll_pipe(now) } else { None };
        }
        if let Some(seq) = self.recovery.counting.due.take()
            && seq < self.flight.snd_max
        {
            let segment = self.peer.cut(self.segment_at(seq.max(self.flight.snd_una)), self.flight.snd_max);
            self.recovery.counting.retransmitted_to = segment.end();
            return Some(self.sent(now, segment));
        }
        if let Some(segment) = self.path.poll_repeat(&self.flight) {
            return Some(self.sent(now, segment));
        }
        if self.ready(now) { self.poll_counting(now) } else { None }
    }

    fn poll_counting(&mut self, now: Time) -> Option<NextSegment> {
        self.flight.snd_nxt = self.flight.snd_nxt.max(self.flight.snd_una);
        if self.flight.snd_nxt < self.flight.snd_max {
            self.flight.snd_nxt =
                self.flight.scoreboard.next_gap(self.flight.snd_nxt).min(self.flight.snd_max);
        }
        let timer_runs = self.timer.at.is_some();
        if self.flight.snd_nxt >= self.buffer.end()
            || vegas::waits(&self.recovery.counting, &self.flight, timer_runs)
        {
            return None;
        }
        let allowed = self.congestion.cwnd() + self.recovery.counting.limited_transmit(&self.flight);
        let mut segment = self.peer.cut(self.segment_at(self.flight.snd_nxt), self.flight.snd_max);
        if self.path.seeking && self.flight.snd_nxt == self.flight.snd_max {
            match self
                .probe_turn(now, (self.flight.snd_una.max(1) + allowed).saturating_sub(self.flight.snd_max))
            {
                ProbeTurn::Probe(probe) => segment = probe,
                ProbeTurn::Wait => return None,
                ProbeTurn::Pass => {}
            }
        }
        let limit = self.flight.snd_una.max(1) + allowed;
        let fits = segment.fit(limit, self.config.silly_window_avoidance);
        if !fits || self.recovery.counting.burst_spent() {
            return None;
        }
        if segment.data_end() > self.peer.edge {
            self.ask_for_window(now);
            return None;
        }
        self.recovery.counting.released += 1;
        Some(self.sent(now, segment))
    }

    fn pipe_limits(&self) -> PipeLimits {
        let timer_runs = self.timer.at.is_some();
        PipeLimits { cwnd: self.congestion.cwnd(), edge: self.peer.edge, timer_runs }
    }

    /// Next transmission of a recovery with a pipe: lost segments, then new data, within the windows.
    fn poll_pipe(&mut self, now: Time) -> Option<NextSegment> {
        let limits = self.pipe_limits();
        if self.recovery.pipe.waits(limits.timer_runs, &self.flight) {
            return None;
        }
        if self.recovery.asks_for_new() {
            let mss = self.flight.mss as u64;
            if self.recovery.pipe.has_room(mss, limits, &self.flight)
                && let Some(segment) = self.poll_new(now)
            {
                return Some(segment);
            }
            if self.recovery.awaits_new(self.flight.snd_max) {
                return None;
            }
        }
        let turn = self.recovery.pipe.next(limits, &mut self.flight);
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
        let index = self.recovery.pipe.last_resort(&self.flight)?;
        Some(self.send_again(now, index))
    }

    /// A retransmission of the segment with this index.
    fn send_again(&mut self, now: Time, index: usize) -> NextSegment {
        let segment = self.recovery.send_again(now, index, &mut self.flight);
        self.note_sent(now, segment);
        // RACK detects retransmissions that are lost again; the timer gives each of them its time, as Linux does for the oldest.
        if index == 0 && self.flight.how == LossRecovery::Rack {
            self.timer.restart(now);
        }
        segment
    }

    /// RFC 8985 §7.3: the probe of the tail: new data if the peer's window has room, else the last segment again.
    fn poll_probe(&mut self, now: Time) -> Option<NextSegment> {
        self.recovery.rack.probe_due = false;
        let end = self.flight.snd_max;
        let (probe, repeat) = match self.poll_new(now) {
            Some(segment) => (segment, false),
            None if self.flight.segments.back().is_none_or(|s| s.sacked) => return None,
            None => (self.send_again(now, self.flight.segments.len() - 1), true),
        };
        self.recovery.rack.sent_probe(if repeat { end } else { self.flight.snd_max }, repeat);
        Some(probe)
    }

    /// New data, if there are any and the peer's window has room; the congestion window has been checked.
    pub(super) fn poll_new(&mut self, now: Time) -> Option<NextSegment> {
        self.flight.snd_nxt = self.flight.snd_max;
        if self.flight.snd_nxt >= self.buffer.end() {
            if self.flight.segments.pipe < self.congestion.cwnd() {
                // draft-ietf-ccwg-bbr-06 §4.1.2.4: data delivered now say nothing about the path.
                self.flight.segments.limit_by_application();
            }
            return None;
        }
        if self.path.seeking {
            let room = self.congestion.cwnd().saturating_sub(self.flight.segments.pipe);
            match self.probe_turn(now, room) {
                ProbeTurn::Probe(probe) => return Some(self.sent(now, probe)),
                ProbeTurn::Wait => return None,
                ProbeTurn::Pass => {}
            }
        }
        let mut segment = self.peer.cut(self.segment_at(self.flight.snd_nxt), self.flight.snd_max);
        if !self.config.silly_window_avoidance {
            let limit = segment.seq + self.recovery.pipe.room_for_new(self.pipe_limits(), &self.flight);
            segment.fit(limit, false);
        }
        if segment.data_end() > self.peer.edge {
            self.ask_for_window(now);
            return None;
        }
        Some(self.sent(now, segment))
    }

    /// §3.8.6.1: starts the persist timer if nothing in flight could bring a new window.
    fn ask_for_window(&mut self, now: Time) {
        if self.timer.at.is_none() {
            self.peer.ask(now, self.timer.rtt.rto());
        }
    }

    fn probe_window(&mut self, now: Time) -> NextSegment {
        let mut segment = self.segment_at(self.flight.snd_nxt);
        (segment.len, segment.fin) = (segment.len.min(1), segment.len == 0);
        // Not `sent`: a probe refused by the closed window is no loss, so no timer runs for it.
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += segment.len as u64;
        self.timer.timed = None;
        if self.flight.tracked && segment.seq >= self.flight.snd_max {
            // Not in flight: it is sent again when there is room.
            self.flight.segments.push(now, segment.seq, segment.seq + 1, false);
        }
        self.flight.probed(segment);
        segment
    }

    /// Stops the timers, since nothing more is sent.
    pub fn stop_timers(&mut self) {
        (self.timer.at, self.peer.persist_at, self.pacer.hold_at) = (None, None, None);
        self.recovery.rack.on_timeout();
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
        if self.config.after_idle != AfterIdle::Keep {
            self.note_idle(now);
        }
        true
    }

    /// Notices the end of an idle time, which goes on while the windows let no data out: calls in between change nothing.
    fn note_idle(&mut self, now: Time) {
        self.pacer.acknowledged(self.flight.snd_una);
        let silent = self.flight.snd_una == self.flight.snd_max
            && self.stats.bytes_sent > 0
            && self.buffer.unsent(self.flight.snd_max) > 0
            && self.would_send();
        if silent {
            let rto = self.timer.rtt.rto();
            self.pacer.end_silence(now, rto, self.flight.snd_max, &self.config, &mut self.congestion);
        }
    }

    /// Returns true if the host's own random delay must still pass before a packet is sent.
    fn held_up(&mut self, now: Time) -> bool {
        if self.config.overhead == Span::ZERO || self.pacer.released || !self.would_send() {
            return false;
        }
        // As in ns-2, whose agents answer duplicates at once.
        if self.recovery.answers_duplicate(self.congestion.cwnd(), &self.flight) {
            return false;
        }
        self.pacer.begin_overhead(now, self.config.overhead);
        true
    }

    /// Returns true if the windows would allow a packet.
    pub(super) fn would_send(&self) -> bool {
        if self.flight.how.pipe() {
            let unsent = self.buffer.unsent(self.flight.snd_max);
            return self.recovery.pipe.would_send(unsent, self.pipe_limits(), &self.flight);
        }
        if self.recovery.counting.due.is_some() {
            return true;
        }
        let mut next = self.flight.snd_nxt.max(self.flight.snd_una);
        if next < self.flight.snd_max {
            next = self.flight.scoreboard.next_gap(next).min(self.flight.snd_max);
        }
        let segment = self.peer.cut(self.segment_at(next), self.flight.snd_max);
        let end = segment.data_end();
        let allowed = self.congestion.cwnd() + self.recovery.counting.limited_transmit(&self.flight);
        next < self.buffer.end() && end <= self.flight.snd_una.max(1) + allowed && end <= self.peer.edge
    }

    pub(super) fn segment_at(&self, seq: u64) -> NextSegment {
        // A retransmission of another size than the original would bring nothing new.
        self.flight.segment_at(seq, &self.buffer, self.path.limited())
    }

    fn sent(&mut self, now: Time, segment: NextSegment) -> NextSegment {
        if self.flight.tracked {
            if segment.seq >= self.flight.snd_max && self.flight.segments.idle() {
                self.congestion.on_idle_restart(now);
            }
            self.flight.track(now, segment);
        }
        self.note_sent(now, segment);
        segment
    }

    /// Updates counters, sequence numbers and timers for a segment that has been sent.
    pub(super) fn note_sent(&mut self, now: Time, segment: NextSegment) {
        let end = segment.end();
        self.pacer.last_sent = now;
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += segment.len as u64;
        if segment.seq < self.flight.snd_max {
            self.stats.segments_retransmitted += 1;
            self.timer.time_no_repeat(self.flight.how, segment.seq, end);
            self.path.sent_again(segment.seq, end, &mut self.flight);
        } else if !self.config.timestamps {
            self.timer.time(now, end);
        }
        self.flight.sent(segment);
        self.timer.start(now);
        self.recovery.sent(now, end, end - segment.seq, &self.flight, &self.timer);
        if self.config.pacing_possible() {
            // BBR version 1 paces the measured quantity, which is payload, as Linux does.
            let payload_only = self.config.variant.law() == Law::Bbr1;
            let headers = if payload_only { 0 } else { u64::from(self.config.headers()) };
            let srtt = self.timer.rtt.smoothed();
            self.pacer.pace(now, end - segment.seq + headers, srtt, &self.congestion);
        }
    }

    /// Prepares for the SACK blocks of an acknowledgment.
    pub fn begin_ack(&mut self) {
        self.pacer.released = false;
        if self.flight.tracked {
            self.flight.segments.progress = Default::default();
            self.recovery.pipe.prior = self.flight.segments.pipe;
        }
    }

    /// Handles one SACK block.
    pub fn selectively_acknowledged(&mut self, now: Time, start: u64, end: u64) {
        if !self.flight.how.sack() || start >= end || start < self.flight.snd_una || end > self.flight.snd_max
        {
            return;
        }
        if self.flight.how.pipe() {
            self.recovery.pipe.selectively_acknowledged(now, start, end, &mut self.flight);
        } else {
            self.flight.scoreboard.insert(start, end);
        }
    }

    /// Measures the RTT by an acknowledgment of everything below `ack`; `sample` is that by a timestamp, if there is one.
    fn measure(&mut self, now: Time, ack: u64, sample: Option<Span>) {
        if self.flight.how == LossRecovery::Fack
            && self.recovery.pipe.fack_ages(now, ack, &self.flight, &mut self.timer)
        {
            return;
        }
        self.timer.measure(now, ack, sample, &mut self.flight);
    }

    fn note_rtt(&mut self, echoed: Option<Span>) {
        self.recovery.rack.measured |= self.timer.measure_delivery(echoed, &mut self.flight);
    }

    /// Grows the window by an acknowledgment of `newly` bytes.
    pub(super) fn grow(&mut self, now: Time, newly: u64) {
        let ack = OpeningAck {
            now,
            newly,
            srtt: self.timer.rtt.smoothed(),
            in_recovery: self.recovery.pipe.phase == RecoveryPhase::Fast,
            prior: self.recovery.pipe.prior,
            peer_window: self.peer.window,
        };
        self.usage.grow(ack, &mut self.flight, &mut self.congestion);
    }

    /// Handles a cumulative acknowledgment of new data.
    pub fn handle_ack(&mut self, now: Time, ack: u64, sample: Option<Span>, dsack: bool) {
        let newly = ack - self.flight.snd_una;
        self.recovery.counting.released = 0;
        if let Some(undo) = &mut self.recovery.undo {
            undo.echoed = sample;
        }
        // With one timed segment per RTT most acknowledgments measure nothing.
        let timed = self.timer.timed.is_some_and(|timed| ack >= timed.end);
        if timed || sample.is_some() || self.flight.how == LossRecovery::Fack {
            self.measure(now, ack, sample);
        }
        self.flight.snd_una = ack;
        self.flight.snd_nxt = self.flight.snd_nxt.max(ack);
        if !self.flight.scoreboard.is_empty() {
            self.flight.scoreboard.remove_below(ack);
        }
        if self.flight.tracked {
            self.flight.segments.acknowledge(now, ack);
            self.note_rtt(sample);
        }
        self.timer.rtt.acknowledged(self.flight.snd_una, self.flight.snd_nxt);
        let restart_timer =
            if self.flight.how.pipe() { self.pipe_ack(now, newly) } else { self.counted_ack(now, newly) };
        if self.path.probes() {
            self.path.acknowledged(now, newly, &mut self.flight, &mut self.congestion);
        }
        // RFC 6298 (5.2), (5.3).
        if self.flight.snd_una == self.flight.snd_max {
            self.timer.at = None;
        } else if restart_timer {
            self.timer.restart(now);
        }
        if self.flight.how == LossRecovery::Rack {
            self.after_rack(now, dsack, false);
        }
        if self.buffer.withheld > 0 {
            let cwnd = self.congestion.cwnd();
            let full = self.flight.in_window() >= cwnd;
            self.buffer.make_room(self.flight.snd_una, self.flight.mss, cwnd, full);
        }
    }

    /// Handles an acknowledgment of `newly` bytes by a recovery that counts duplicates. Returns true if the timer is to be restarted.
    fn counted_ack(&mut self, now: Time, newly: u64) -> bool {
        let duplicates = std::mem::take(&mut self.recovery.counting.duplicates);
        self.recovery.counting.probe_repaired = false;
        if self.flight.how == LossRecovery::Vegas {
            vegas::deflate(duplicates, &self.flight, &mut self.congestion);
            self.grow(now, newly);
            vegas::check(now, &mut self.recovery.counting, &self.flight, &mut self.congestion);
            return true;
        }
        match self.recovery.counting.on_ack(newly, &self.flight, &mut self.congestion) {
            CountedAck::Open => self.grow(now, newly),
            CountedAck::Recovered => {
                self.congestion.on_recovery_exit(now);
                // In ns-2 the acknowledgment that ends a recovery opens the window like any other.
                if self.config.precise_halving {
                    self.grow(now, newly);
                }
            }
            CountedAck::Partial { restart } => return restart,
        }
        true
    }

    /// Handles a duplicate by a recovery that counts them. Returns true if it started a recovery.
    fn counted_duplicate(&mut self, now: Time) -> bool {
        self.recovery.counting.duplicates += 1;
        if self.recovery.counting.probe_repaired
            || (self.path.probe.is_some() && self.duplicates_ask_for_probe(now))
        {
            return false;
        }
        if self.flight.how == LossRecovery::Vegas {
            if !vegas::signals_loss(now, &self.recovery.counting, &self.flight, &mut self.congestion) {
                return false;
            }
            // ns-2's Vegas doubles its coarse timer, too.
            self.timer.rtt.back_off();
            let window = self.window();
            return vegas::begin(
                now,
                window,
                &mut self.recovery.counting,
                &self.flight,
                &mut self.congestion,
            );
        }
        if !self.recovery.counting.on_duplicate(&self.flight, &mut self.congestion) {
            return false;
        }
        let in_use = self.halved();
        self.signal_loss(now, in_use);
        self.recovery.counting.begin(&mut self.flight, &mut self.congestion);
        true
    }

    /// Handles an acknowledgment without new cumulative data: a duplicate by RFC 5681, or one with new SACK blocks.
    pub fn handle_duplicate(&mut self, now: Time, duplicate: bool, dsack: bool) {
        self.recovery.counting.released = 0;
        if self.flight.how.pipe() {
            if self.flight.how == LossRecovery::Fack {
                self.recovery.pipe.fack_ages(now, self.flight.snd_una, &self.flight, &mut self.timer);
            }
            self.note_rtt(None);
            // Linux (`tcp_clean_rtx_queue`): nothing is known of the oldest segment before an answer to one sent later.
            let earlier =
                self.flight.how == LossRecovery::Rack && self.flight.segments.sacked_before_front(now);
            if self.pipe_ack(now, 0) || earlier {
                self.timer.put_off(now);
            }
            if self.flight.how == LossRecovery::Rack {
                self.after_rack(now, dsack, duplicate);
            }
        } else if duplicate && self.counted_duplicate(now) {
            self.stats.fast_retransmits += 1;
            self.timer.timed = None;
            self.timer.restart(now);
        }
    }

    /// Handles an acknowledgment of `newly` bytes by a recovery with a pipe, after its SACK blocks. Returns true if the timer is to be
    /// restarted.
    fn pipe_ack(&mut self, now: Time, newly: u64) -> bool {
        let Self { recovery, flight, timer, congestion, .. } = self;
        let Some(found) = recovery.examine(now, newly, flight, timer, congestion) else { return newly > 0 };
        let newly_lost = found.signal && !self.only_probe_lost(now);
        let began = newly_lost && self.recovery.pipe.may_begin(&self.flight);
        if began {
            self.enter_recovery(now);
        }
        let turns = (began, found.repaired);
        let timer_runs = self.timer.at.is_some();
        let (flight, congestion) = (&self.flight, &mut self.congestion);
        if let Some(bytes) = self.recovery.pipe.adjust_window(newly, turns, timer_runs, flight, congestion) {
            self.grow(now, bytes);
        }
        self.recovery.pipe.restarts_timer(newly, &self.flight)
    }

    fn enter_recovery(&mut self, now: Time) {
        let in_use = self.halved();
        let in_network = self.flight.in_network();
        self.recovery.begin_undo(&self.flight, &self.congestion);
        self.signal_loss(now, in_use);
        self.stats.fast_retransmits += 1;
        self.timer.timed = None;
        self.timer.restart(now);
        self.recovery.pipe.begin(in_network, &self.flight, &mut self.congestion);
    }

    /// Handles the expiry of the reordering timer (RFC 8985 §6.3).
    pub fn handle_reorder_timer(&mut self, now: Time) {
        // The progress of the latest acknowledgment belongs to no recovery that starts now.
        self.flight.segments.progress = Default::default();
        let late = self.recovery.find_late(now, &mut self.flight, &mut self.timer);
        let found = late && !self.only_probe_lost(now);
        if found && self.timer.at.is_some() {
            // The losses found are repaired as the window allows, with a full timeout (Linux's `tcp_rearm_rto`).
            self.timer.restart(now);
        }
        let pipe = &self.recovery.pipe;
        if found && !pipe.repairing() && self.flight.snd_una >= pipe.recover {
            self.enter_recovery(now);
        }
    }

    /// RFC 8985 §7.3: handles the expiry of the probe timer.
    pub fn handle_probe_timer(&mut self, now: Time) {
        self.recovery.rack.handle_probe_timer();
        self.timer.restart(now);
    }

    fn after_rack(&mut self, now: Time, dsack: bool, duplicate: bool) {
        let repaired = self.recovery.rack.resolve(self.flight.snd_una, dsack, duplicate);
        if repaired && self.recovery.pipe.phase == RecoveryPhase::Open {
            let in_use = self.halved();
            self.signal_loss(now, in_use);
            if !self.congestion.owns_recovery() {
                self.congestion.set(self.congestion.ssthresh());
            }
            self.congestion.on_recovery_exit(now);
        }
        self.recovery.plan_probe(now, &self.flight, &self.timer);
    }

    /// Signals a loss to the window; `in_use` is the allowance of the windows.
    pub(super) fn signal_loss(&mut self, now: Time, in_use: u64) {
        let in_flight = if self.flight.how.pipe() { self.recovery.pipe.prior } else { self.flight.len() };
        self.path.abandon(&mut self.flight);
        self.congestion.on_loss(now, in_use, in_flight);
        if self.flight.how == LossRecovery::Rack {
            self.recovery.rack.recovered();
        }
    }

    /// RFC 3168 §6.1.2: handles the echo of a mark. The window is reduced as for a loss, once per RTT, without a retransmission.
    pub fn handle_mark(&mut self, now: Time) {
        if let Some(undo) = &mut self.recovery.undo {
            undo.on_mark();
        }
        if !self.marks.ask(self.flight.snd_una) || self.recovery.repairing() {
            return;
        }
        let in_use = self.halved();
        self.signal_loss(now, in_use);
        if !self.congestion.owns_recovery() {
            self.congestion.set(self.congestion.ssthresh());
        }
        self.congestion.on_recovery_exit(now);
        self.marks.reduced(self.flight.snd_max);
        self.stats.ecn_reductions += 1;
    }

    /// RFC 2883: handles a report that the receiver got [start, end) twice.
    pub fn duplicate_reported(&mut self, start: u64, end: u64) {
        self.stats.duplicates_reported += 1;
        let segments = (end - start).div_ceil(self.flight.mss as u64) as u32;
        self.recovery.duplicate_reported(end, segments, &mut self.flight);
    }

    /// Handles a retransmission timeout.
    pub fn handle_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.pacer.released = false;
        self.timer.back_off(now);
        if self.flight.snd_una == 0 {
            // The SYN is sent again; a lost SYN says little about the path's capacity.
            if self.flight.snd_max > 1 {
                // Outstanding data are sent again from the beginning, without counting losses.
                self.recovery.on_timeout(now, &mut self.flight, &self.timer);
            }
            self.flight.snd_nxt = 0;
            return;
        }
        if self.path.probes() {
            self.path.timed_out(&mut self.flight, &mut self.congestion);
        }
        // Bytes by which recovery has inflated the window stand for packets that have left the network.
        let inflated = self.recovery.counting.active;
        let in_use = if inflated { self.halved().min(self.congestion.reduced()) } else { self.halved() };
        let probing = self.path.probe.is_some();
        if self.recovery.timeout_reduces(probing, &self.flight, &self.congestion) {
            self.congestion.on_timeout(now, in_use);
        } else {
            self.congestion.begin_again(now);
        }
        self.recovery.on_timeout(now, &mut self.flight, &self.timer);
    }

    /// Handles the expiry of the persist timer: a byte probes the window.
    pub fn handle_persist(&mut self, now: Time) {
        self.peer.handle_persist(now, self.timer.rtt.rto(), self.config.rto_max);
    }
}
