//! The reactions of the sending half to acknowledgments, marks and timeouts, which clock the data out.
//!
//! Follows RFC 5681 §3 (the window and losses), RFC 6298 §5 (the timer), Karn's rule, RFC 3168 §6.1 (marks), RFC 4821 §7.6 (probes).
//! Differs: the algorithms are in machines that do not know each other; here is what an event means for all of them, in order.
//! Leaves out the choice of the next segment (`sender`).

use super::super::config::{Config, LossRecovery, Variant};
use super::super::congestion::CongestionControl;
use super::super::flight::{Flight, NextSegment};
use super::super::marks::Marks;
use super::super::memory::{Memory, PathMemory};
use super::super::pacing::Pacer;
use super::super::path_mtu::{Path, PathReport, ProbeRoom, ProbeTurn};
use super::super::peer_window::PeerWindow;
use super::super::recovery::counting::CountedAck;
use super::super::recovery::pipe::{PipeLimits, RecoveryPhase};
use super::super::recovery::{Recovery, vegas};
use super::super::retransmission_timer::RetransmissionTimer;
use super::super::rtt::RttSamples;
use super::super::window_use::{OpeningAck, WindowUse};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

/// Counters of congestion signals; `SenderStats` has their meanings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SignalCounts {
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub ecn_reductions: u64,
}

/// The machines that an acknowledgment, a mark or a timeout changes.
#[derive(Debug)]
pub(crate) struct AckClock {
    config: Config,
    pub(super) flight: Flight,
    peer: PeerWindow,
    path: Path,
    congestion: CongestionControl,
    usage: WindowUse,
    pub(super) recovery: Recovery,
    timer: RetransmissionTimer,
    marks: Marks,
    counts: SignalCounts,
}

impl AckClock {
    pub fn new(config: Config) -> Self {
        let mss = config.mss;
        Self {
            flight: Flight::new(config.recovery(), config.dupack_threshold, mss),
            peer: PeerWindow::default(),
            path: Path::new(&config),
            congestion: CongestionControl::new(&config, mss, None),
            usage: WindowUse::new(&config),
            recovery: Recovery::new(&config, config.recovery()),
            timer: RetransmissionTimer::new(&config),
            marks: Marks::default(),
            counts: SignalCounts::default(),
            config,
        }
    }

    /// The configuration, as far as the peer has agreed to it.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// SND.UNA: the oldest unacknowledged byte.
    #[inline]
    pub fn snd_una(&self) -> u64 {
        self.flight.snd_una
    }

    /// SND.NXT: the next byte to send.
    #[inline]
    pub fn snd_nxt(&self) -> u64 {
        self.flight.snd_nxt
    }

    /// One past the highest byte sent.
    #[inline]
    pub fn snd_max(&self) -> u64 {
        self.flight.snd_max
    }

    /// FlightSize (RFC 5681 §2): what is sent and not yet acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.flight.len()
    }

    /// SMSS (RFC 5681 §2): payload of a full segment.
    pub fn smss(&self) -> u32 {
        self.flight.mss
    }

    /// SND.WND: the window that the peer offered last.
    pub fn snd_wnd(&self) -> u64 {
        self.peer.window
    }

    /// The right edge of the peer's window: one past the last byte that it allows.
    #[inline]
    pub fn right_edge(&self) -> u64 {
        self.peer.edge
    }

    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.congestion.cwnd()
    }

    pub fn ssthresh(&self) -> u64 {
        self.congestion.ssthresh()
    }

    /// The law of cwnd and ssthresh, whose pace depends on it.
    #[inline]
    pub fn congestion(&self) -> &CongestionControl {
        &self.congestion
    }

    /// SRTT (RFC 6298 §2), once there is a sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.timer.rtt.smoothed()
    }

    /// RTO (RFC 6298 §2).
    pub fn rto(&self) -> Span {
        self.timer.rtt.rto()
    }

    /// RTT samples so far.
    pub fn rtt_samples(&self) -> RttSamples {
        self.timer.rtt.samples
    }

    /// Time of the next retransmission timeout.
    #[inline]
    pub fn retransmission_at(&self) -> Option<Time> {
        self.timer.at
    }

    /// Time of the next window probe.
    #[inline]
    pub fn persist_at(&self) -> Option<Time> {
        self.peer.persist_at
    }

    /// Time of the tail loss probe (RFC 8985 §7).
    #[inline]
    pub fn tail_loss_probe_at(&self) -> Option<Time> {
        self.recovery.rack.probe_at
    }

    /// Expiry of the reordering timer (RFC 8985 §6.3).
    #[inline]
    pub fn reordering_at(&self) -> Option<Time> {
        self.recovery.rack.reorder_at
    }

    /// Returns true until all data outstanding at the signal of a loss are acknowledged.
    #[inline]
    pub fn repair_unfinished(&self) -> bool {
        self.recovery.unfinished(&self.flight)
    }

    /// Returns true during the repair after a timeout, for recoveries with a pipe.
    pub fn repairs_timeout(&self) -> bool {
        self.recovery.pipe.phase == RecoveryPhase::Timeout
    }

    /// Largest packet, if packets of some size may not pass.
    #[inline]
    pub fn size_limit(&self) -> Option<u32> {
        self.path.limited().then(|| self.path.size())
    }

    /// Largest payload of a SYN.
    pub fn room_in_syn(&self) -> u32 {
        self.path.size_of_syn().saturating_sub(self.config.headers())
    }

    /// RFC 5681 §2: returns true if an acknowledgment of nothing new that offers `window` may be a duplicate, since data are
    /// outstanding and the window is unchanged.
    pub fn may_be_duplicate(&self, window: u64) -> bool {
        self.flight.len() > 0 && self.peer.persist_at.is_none() && window == self.peer.window
    }

    /// Settles the size of a full segment, once both ends have announced theirs (RFC 6691). The window begins anew, with `chance` as
    /// the source of random waits.
    pub fn settle_size(&mut self, most: u32, options: u32, chance: Option<Stream>) {
        self.flight.mss = self.path.settle(most, options, self.config.headers()).max(1);
        self.congestion = CongestionControl::new(&self.config, self.flight.mss, chance);
    }

    /// Sets the MTU of this end's own link, bytes.
    pub fn over_link(&mut self, mtu: Option<u32>) {
        self.config.link_mtu = mtu;
        self.path = Path::new(&self.config);
    }

    /// Sets whether segments carry timestamps, once both ends have said so.
    pub fn use_timestamps(&mut self, on: bool) {
        self.config.timestamps = on;
    }

    /// Sets the peer's window, from a segment that acknowledged up to `ack`.
    #[inline]
    pub fn set_window(&mut self, ack: u64, window: u64) {
        self.peer.set(ack, window, self.flight.snd_nxt);
    }

    /// Counters of congestion signals.
    pub(super) fn counts(&self) -> SignalCounts {
        self.counts
    }

    /// Number of reductions of the window that were undone.
    pub fn undone(&self) -> u64 {
        self.recovery.undo.as_ref().map_or(0, |undo| undo.undone)
    }

    /// Records that the SYN was sent, or sent `again`.
    pub fn sent_syn(&mut self, now: Time, again: bool) {
        if again {
            self.timer.timed = None;
        } else {
            self.timer.time(now, 1);
        }
        self.flight.snd_nxt = self.flight.snd_nxt.max(1);
        self.flight.snd_max = self.flight.snd_max.max(1);
        self.timer.restart(now);
    }

    /// Marks data that were sent with the SYN and refused as not sent.
    pub fn take_back(&mut self) {
        self.flight.take_back();
        self.recovery.prepare_undo(self.flight.how);
        self.stop_timers();
    }

    /// Stops the timers, since nothing more is sent.
    pub fn stop_timers(&mut self) {
        (self.timer.at, self.peer.persist_at) = (None, None);
        self.recovery.rack.on_timeout();
    }

    /// Cuts a segment to the peer's window, if it may be (RFC 9293 §3.8.6.2.1).
    #[inline]
    pub fn cut_to_window(&self, segment: NextSegment) -> NextSegment {
        self.peer.cut(segment, self.flight.snd_max)
    }

    /// Returns true, once, if a probe of the peer's closed window is due.
    #[inline]
    pub fn take_window_probe(&mut self) -> bool {
        self.peer.take_probe()
    }

    /// Records that a probe of the peer's closed window is sent. Its RTT is not measured.
    pub fn window_probed(&mut self, now: Time, segment: NextSegment) {
        self.timer.timed = None;
        if self.flight.tracked && segment.seq >= self.flight.snd_max {
            // Not in flight: it is sent again when there is room.
            self.flight.segments.push(now, segment.seq, segment.seq + 1, false);
        }
        self.flight.probed(segment);
    }

    /// Returns true while larger packets are tried (RFC 4821).
    #[inline]
    pub fn seeks_pmtu(&self) -> bool {
        self.path.seeking
    }

    /// Decides on a probe of the path MTU by the next new data, with `left` bytes of the congestion window and `unsent` ones written.
    pub fn probe_turn(&mut self, now: Time, left: u64, unsent: u64) -> ProbeTurn {
        if self.recovery.repairing() {
            return ProbeTurn::Pass;
        }
        let room = ProbeRoom { left, window: self.window(), edge: self.peer.edge, unsent };
        self.path.probe_turn(now, room, &self.flight)
    }

    /// The data of a failed probe of the path MTU, if they are still to be sent again.
    pub fn poll_repeat(&mut self) -> Option<NextSegment> {
        self.path.poll_repeat(&self.flight)
    }

    /// Notes the use of the congestion window, after `segments_sent` segments in all, when no more may be sent.
    #[inline]
    pub fn validate_window(&mut self, segments_sent: u64) {
        if self.config.validate_window {
            self.usage.check(segments_sent, self.congestion.cwnd(), &self.flight);
        }
    }

    /// Handles the end of an idle time of the application, as configured (RFC 5681 §4.1).
    pub fn end_silence(&mut self, now: Time, pacer: &mut Pacer) {
        pacer.end_silence(now, self.rto(), self.flight.snd_max, &self.config, &mut self.congestion);
    }

    /// Restarts the retransmission timer.
    pub fn restart_timer(&mut self, now: Time) {
        self.timer.restart(now);
    }

    /// Records a segment that is about to be sent, if segments are tracked individually.
    #[inline]
    pub fn track(&mut self, now: Time, segment: NextSegment) {
        if self.flight.tracked {
            if segment.seq >= self.flight.snd_max && self.flight.segments.idle() {
                self.congestion.on_idle_restart(now);
            }
            self.flight.track(now, segment);
        }
    }

    /// Records that a segment has been sent: its RTT may be measured, and the timer runs.
    pub fn sent(&mut self, now: Time, segment: NextSegment) {
        let end = segment.end();
        if segment.seq < self.flight.snd_max {
            self.timer.time_no_repeat(self.flight.how, segment.seq, end);
            self.path.sent_again(segment.seq, end, &mut self.flight);
        } else if !self.config.timestamps {
            self.timer.time(now, end);
        }
        self.flight.sent(segment);
        self.timer.start(now);
        self.recovery.sent(now, end, end - segment.seq, &self.flight, &self.timer);
    }

    /// Prepares for the SACK blocks of an acknowledgment.
    pub fn begin_ack(&mut self) {
        if self.flight.tracked {
            self.flight.segments.progress = Default::default();
            self.recovery.pipe.prior = self.flight.segments.pipe;
        }
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

    /// Starts from the state that other connections have left.
    pub fn begin_with(&mut self, memory: &Memory) {
        if let Some(path) = memory.path {
            self.timer.rtt.seed(path.srtt);
            self.config.initial_window = self.config.initial_window.max(path.cwnd);
            self.config.initial_ssthresh = path.ssthresh.or(self.config.initial_ssthresh);
        }
        if let Some(size) = memory.path_mtu {
            self.path.begin_with(size);
        }
    }

    /// Adds to `memory` the state from which another connection may start.
    pub fn leave(&self, memory: Memory) -> Memory {
        Memory { path: self.learnt(), path_mtu: self.path.found().or(memory.path_mtu), ..memory }
    }

    /// The state of the path, if connections share it.
    fn learnt(&self) -> Option<PathMemory> {
        let srtt = self.timer.rtt.smoothed().filter(|_| self.config.share)?;
        let ssthresh = Some(self.congestion.ssthresh()).filter(|s| *s < u64::MAX);
        Some(PathMemory { srtt, ssthresh, cwnd: 0 })
    }

    pub fn scale_window(&mut self, share: u64, of: u64) {
        let cwnd = self.congestion.cwnd() * share / of.max(1);
        self.congestion.set(cwnd.max(self.flight.mss as u64));
    }

    /// Largest number of outstanding bytes that the windows allow.
    pub fn window(&self) -> u64 {
        self.congestion.cwnd().min(self.peer.window)
    }

    /// The quantity of which a loss leaves half: the windows' allowance, or the data sent and not yet acknowledged, without those of
    /// limited transmit (RFC 5681 §3.2 step 2).
    fn halved(&self) -> u64 {
        if !self.config.halve_flight {
            return self.window();
        }
        let outstanding = self.flight.snd_max - self.flight.snd_una;
        let most = if self.config.limited_transmit { self.flight.threshold.saturating_sub(1) } else { 0 };
        outstanding - outstanding.saturating_sub(self.window()).min(most as u64 * self.flight.mss as u64)
    }

    /// One past the last byte that the congestion window allows, if duplicates are counted.
    pub fn counted_limit(&self) -> u64 {
        let allowed = self.congestion.cwnd() + self.recovery.counting.limited_transmit(&self.flight);
        self.flight.snd_una.max(1) + allowed
    }

    /// The limits of a recovery with a pipe.
    #[inline]
    pub fn pipe_limits(&self) -> PipeLimits {
        let timer_runs = self.timer.at.is_some();
        PipeLimits { cwnd: self.congestion.cwnd(), edge: self.peer.edge, timer_runs }
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
    fn grow(&mut self, now: Time, newly: u64) {
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
            let window = self.window();
            let (counting, flight) = (&mut self.recovery.counting, &self.flight);
            if !vegas::signals_loss(now, counting, flight, &mut self.congestion) {
                return false;
            }
            // ns-2's Vegas doubles its coarse timer, too.
            self.timer.rtt.back_off();
            return vegas::begin(now, window, counting, flight, &mut self.congestion);
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
            self.counts.fast_retransmits += 1;
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
        self.counts.fast_retransmits += 1;
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

    /// RFC 8985 §7.4.2: evaluates the probe of the tail at an acknowledgment, and plans the next.
    fn after_rack(&mut self, now: Time, dsack: bool, duplicate: bool) {
        let repaired = self.recovery.rack.resolve(self.flight.snd_una, dsack, duplicate);
        if repaired && self.recovery.pipe.phase == RecoveryPhase::Open {
            self.reduce(now);
        }
        self.recovery.plan_probe(now, &self.flight, &self.timer);
    }

    /// Signals a loss to the window; `in_use` is the allowance of the windows.
    fn signal_loss(&mut self, now: Time, in_use: u64) {
        let in_flight = if self.flight.how.pipe() { self.recovery.pipe.prior } else { self.flight.len() };
        self.path.abandon(&mut self.flight);
        self.congestion.on_loss(now, in_use, in_flight);
        if self.flight.how == LossRecovery::Rack {
            self.recovery.rack.recovered();
        }
    }

    /// Reduces the window as for a loss, at once and without a repair.
    fn reduce(&mut self, now: Time) {
        let in_use = self.halved();
        self.signal_loss(now, in_use);
        if !self.congestion.owns_recovery() {
            self.congestion.set(self.congestion.ssthresh());
        }
        self.congestion.on_recovery_exit(now);
    }

    /// RFC 3168 §6.1.2: handles the echo of a mark. The window is reduced as for a loss, once per RTT, without a retransmission.
    pub fn handle_mark(&mut self, now: Time) {
        if let Some(undo) = &mut self.recovery.undo {
            undo.on_mark();
        }
        if !self.marks.ask(self.flight.snd_una) || self.recovery.repairing() {
            return;
        }
        self.reduce(now);
        self.marks.reduced(self.flight.snd_max);
        self.counts.ecn_reductions += 1;
    }

    /// RFC 3168 §6.1.2: returns true, once, if a new segment must announce that the window has been reduced.
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.marks.cwr_due)
    }

    /// RFC 2883: handles a report that the receiver got data up to `end` twice, `segments` of them.
    pub fn duplicate_reported(&mut self, end: u64, segments: u32) {
        self.recovery.duplicate_reported(end, segments, &mut self.flight);
    }

    /// Handles a retransmission timeout.
    pub fn handle_timeout(&mut self, now: Time) {
        self.counts.timeouts += 1;
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

    /// §3.8.6.1: starts the persist timer if nothing in flight could bring a new window.
    pub fn ask_for_window(&mut self, now: Time) {
        if self.timer.at.is_none() {
            self.peer.ask(now, self.timer.rtt.rto());
        }
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
    fn only_probe_lost(&mut self, now: Time) -> bool {
        let alone = self.path.only_probe_lost(&self.flight);
        if alone {
            self.probe_failed(now, false);
        }
        alone
    }

    /// Handles a duplicate. Returns true if it is the third that asks for a probe: then that was too large, and the duplicates are
    /// no signal.
    fn duplicates_ask_for_probe(&mut self, now: Time) -> bool {
        // Vegas does not wait for the third.
        let enough = self.recovery.counting.duplicates == self.flight.threshold
            || vegas::expired(now, &self.flight, &mut self.congestion);
        let asks = enough && self.path.probe_begins_at(self.flight.snd_una);
        if asks {
            self.probe_failed(now, false);
        }
        asks
    }
}

#[cfg(test)]
impl AckClock {
    /// The timers: retransmission, persist, tail loss probe, reordering.
    pub fn timers(&mut self) -> [&mut Option<Time>; 4] {
        let Self { timer, peer, recovery, .. } = self;
        [&mut timer.at, &mut peer.persist_at, &mut recovery.rack.probe_at, &mut recovery.rack.reorder_at]
    }
}
