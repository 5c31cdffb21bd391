//! BBR version 3: the window and the pace follow a model of the path, its bandwidth and its round trip, and not losses alone.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3 to §5.6, with its constants; names are the draft's.
//! Differs: a host without offload (the send quantum is a segment), extra_acked remembered by halves of its ten rounds, no reaction to RFC 3168 marks.
//! Leaves out undoing for spurious losses, and the loss bound within a single large acknowledgment (§5.5.10.2's interpolation).

use super::{Acked, Window};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PACING_MARGIN: f64 = 0.99;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Debug)]
pub(crate) struct Bbr {
    chance: Option<Stream>,
    state: State,
    mss: f64,
    initial_cwnd: f64,
    /// Bytes delivered in all.
    delivered: f64,
    pacing_rate: f64,
    // Rounds (§5.5.1).
    next_round_delivered: u64,
    total_delivered: u64,
    round_start: bool,
    round_count: u64,
    rounds_since_probe_up: u64,
    // Bandwidth (§5.5.3): the best of this cycle and of the one before.
    max_bw_filter: [f64; 2],
    // The pipe is full (§5.3.1.2).
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    // Round trips (§5.3.4.3).
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Span>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: f64,
    // Bounds, bytes; infinite if there is none (§5.5.10).
    inflight_longterm: f64,
    inflight_shortterm: f64,
    bw_shortterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    loss_events_in_round: u32,
    // Probing (§5.3.3).
    ack_phase: AckPhase,
    cycle_stamp: Time,
    bw_probe_wait_s: f64,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    // Aggregation (§5.5.9).
    extra_acked: [f64; 2],
    extra_acked_round: u64,
    extra_acked_delivered: f64,
    extra_acked_start: Time,
}

impl Bbr {
    pub fn new(window: &Window, chance: Option<Stream>) -> Self {
        Self {
            chance,
            state: State::Startup,
            mss: window.mss,
            initial_cwnd: window.cwnd,
            delivered: 0.0,
            // Until a round trip is known: the initial window in a millisecond (§5.6.2).
            pacing_rate: STARTUP_PACING_GAIN * window.cwnd / 1e-3,
            next_round_delivered: 0,
            total_delivered: 0,
            round_start: false,
            round_count: 0,
            rounds_since_probe_up: 0,
            max_bw_filter: [0.0; 2],
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_events_in_round: 0,
            ack_phase: AckPhase::Init,
            cycle_stamp: Time::ZERO,
            bw_probe_wait_s: 2.0,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            extra_acked: [0.0; 2],
            extra_acked_round: 0,
            extra_acked_delivered: 0.0,
            extra_acked_start: Time::ZERO,
        }
    }

    pub fn on_established(&mut self, window: &Window, now: Time, rtt: Option<Span>) {
        self.probe_rtt_min_stamp = now;
        self.min_rtt_stamp = now;
        self.extra_acked_start = now;
        if let Some(rtt) = rtt.filter(|rtt| *rtt > Span::ZERO) {
            (self.min_rtt, self.probe_rtt_min_delay) = (Some(rtt), Some(rtt));
            self.pacing_rate = STARTUP_PACING_GAIN * window.cwnd / rtt.as_secs_f64();
        }
    }

    /// Bytes a second.
    pub fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    fn min_pipe(&self) -> f64 {
        4.0 * self.mss
    }

    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            Some(rtt) => gain * bw * rtt.as_secs_f64(),
            None => self.initial_cwnd,
        }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        let quantised = self.bdp(bw, gain).max(3.0 * self.mss).max(self.min_pipe());
        quantised + if self.state == State::Up { 2.0 * self.mss } else { 0.0 }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// §5.2.1: all of an acknowledgment.
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let now = acked.now;
        self.delivered += acked.delivered as f64;
        self.total_delivered += acked.delivered;
        self.take_sample(acked);
        self.update_aggregation(window, acked);
        self.check_full_pipe(acked);
        self.check_drain(acked);
        self.update_cycle(window, acked);
        self.update_min_rtt(now, acked.rtt);
        self.check_probe_rtt(window, acked);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) =
                acked.rate.map_or((0.0, 0.0), |s| (s.rate.unwrap_or(0.0), s.delivered as f64));
        }
        self.set_pacing_rate(None);
        self.set_cwnd(window, acked);
    }

    /// §5.5.1, §5.5.5, §5.5.10.3: rounds, bandwidth, and what losses say.
    fn take_sample(&mut self, acked: &Acked) {
        (self.round_start, self.loss_round_start) = (false, false);
        if acked.lost > 0 {
            self.loss_in_round = true;
            self.loss_events_in_round += 1;
        }
        let Some(sample) = acked.rate else { return };
        if sample.prior_delivered >= self.next_round_delivered {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.round_start = true;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.max_bw() || !sample.app_limited)
        {
            self.max_bw_filter[0] = self.max_bw_filter[0].max(rate);
        }
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.total_delivered;
            self.loss_round_start = true;
        }
        if self.bw_probe_sample && self.too_high(acked) {
            self.handle_inflight_too_high(acked);
        }
        if self.loss_round_start {
            self.check_startup_high_loss(acked);
            // Not while probing, which is expected to lose.
            let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
            if !probing && self.loss_in_round {
                let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { self.max_bw() };
                let inflight = if self.inflight_shortterm.is_finite() {
                    self.inflight_shortterm
                } else {
                    acked.prior_in_flight as f64
                };
                self.bw_shortterm = self.bw_latest.max(BETA * bw);
                self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
            }
            self.loss_in_round = false;
            self.loss_events_in_round = 0;
        }
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.total_delivered;
    }

    fn too_high(&self, acked: &Acked) -> bool {
        acked.rate.is_some_and(|s| s.lost as f64 > s.tx_in_flight as f64 * LOSS_THRESH)
    }

    fn target_inflight(&self) -> f64 {
        self.bdp(self.max_bw(), 1.0)
    }

    fn handle_inflight_too_high(&mut self, acked: &Acked) {
        self.prev_probe_too_high = true;
        self.bw_probe_sample = false;
        if let Some(sample) = acked.rate
            && !sample.app_limited
        {
            self.inflight_longterm = (sample.tx_in_flight as f64).max(self.target_inflight() * BETA);
        }
        if self.state == State::Up {
            self.start_down(acked.now);
        }
    }

    /// §5.3.1.3: losses beyond a share, and in enough places, say that the pipe is full, too.
    fn check_startup_high_loss(&mut self, acked: &Acked) {
        if self.state == State::Startup
            && !self.full_bw_reached
            && self.loss_events_in_round >= STARTUP_FULL_LOSS_COUNT
            && self.too_high(acked)
        {
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp(self.max_bw(), 1.0).max(self.inflight_latest);
        }
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// §5.3.1.2: three rounds without a quarter more of bandwidth.
    fn check_full_pipe(&mut self, acked: &Acked) {
        let Some(sample) = acked.rate else { return };
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        let rate = sample.rate.unwrap_or(0.0);
        if rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_drain(&mut self, acked: &Acked) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && acked.in_flight as f64 <= self.inflight(self.max_bw(), 1.0) {
            self.start_down(acked.now);
        }
    }

    fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        let mut draw = || self.chance.as_mut().map_or(0.5, Stream::uniform);
        self.rounds_since_probe_up = (draw() >= 0.5) as u64;
        self.bw_probe_wait_s = 2.0 + draw();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.loss_events_in_round = 0;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    fn start_refill(&mut self) {
        self.reset_short_term();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, window: &Window, acked: &Acked) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = acked.rate.and_then(|s| s.rate).unwrap_or(0.0);
        self.state = State::Up;
        self.raise_slope(window);
    }

    fn raise_slope(&mut self, window: &Window) {
        let growth = (1u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (window.cwnd / growth).max(self.mss);
    }

    /// §5.3.3.9: UpdateProbeBWCyclePhase.
    fn update_cycle(&mut self, window: &Window, acked: &Acked) {
        if !self.full_bw_reached || self.adapt_long_term(window, acked) {
            return;
        }
        let in_flight = acked.in_flight as f64;
        match self.state {
            State::Down if self.time_to_probe(window, acked.now) => self.start_refill(),
            State::Down
                if in_flight <= self.with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0) =>
            {
                self.state = State::Cruise;
            }
            State::Cruise if self.time_to_probe(window, acked.now) => self.start_refill(),
            State::Refill if self.round_start => {
                self.bw_probe_sample = true;
                self.start_up(window, acked);
            }
            State::Up => self.go_down_in_time(window, acked),
            _ => {}
        }
    }

    fn time_to_probe(&self, window: &Window, now: Time) -> bool {
        let waited = now.since(self.cycle_stamp).as_secs_f64() > self.bw_probe_wait_s;
        let reno_rounds = (self.target_inflight().min(window.cwnd) / self.mss).min(63.0);
        waited || self.rounds_since_probe_up as f64 >= reno_rounds
    }

    fn go_down_in_time(&mut self, window: &Window, acked: &Acked) {
        if self.time_to_go_down(window, acked) {
            self.prev_probe_too_high = false;
            self.start_down(acked.now);
        }
    }

    fn time_to_go_down(&mut self, window: &Window, acked: &Acked) -> bool {
        if self.prev_probe_too_high && acked.in_flight as f64 >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if acked.limited && window.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = acked.rate.and_then(|s| s.rate).unwrap_or(0.0);
            return false;
        }
        self.full_bw_now
    }

    fn with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(self.mss);
        (self.inflight_longterm - headroom).max(self.min_pipe())
    }

    /// AdaptLongTermModel. True if it has decided on a transition.
    fn adapt_long_term(&mut self, window: &Window, acked: &Acked) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.in_probe_bw() && acked.rate.is_some_and(|s| !s.app_limited) {
                self.max_bw_filter = [0.0, self.max_bw_filter[0]];
            }
            if self.in_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if self.too_high(acked) || self.inflight_longterm.is_infinite() {
            return false;
        }
        if let Some(sample) = acked.rate {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight as f64);
        }
        if self.state == State::Up && acked.limited && window.cwnd >= self.inflight_longterm {
            self.bw_probe_up_acked += acked.delivered as f64;
            if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
                let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
                self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
                self.inflight_longterm += delta * self.mss;
            }
            if self.round_start {
                self.raise_slope(window);
            }
        }
        false
    }

    fn update_min_rtt(&mut self, now: Time, rtt: Option<Span>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|min| rtt < min))
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (Some(rtt), now);
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|min| delay < min))
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(delay), self.probe_rtt_min_stamp);
        }
    }

    /// §5.3.4.3: CheckProbeRTT.
    fn check_probe_rtt(&mut self, window: &mut Window, acked: &Acked) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(window, acked.in_recovery);
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_done {
                None if acked.in_flight as f64 <= self.probe_rtt_cwnd() => {
                    self.probe_rtt_done = Some(acked.now + PROBE_RTT_DURATION);
                    self.probe_rtt_round_done = false;
                    self.start_round();
                }
                Some(done) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && acked.now > done {
                        self.leave_probe_rtt(window, acked.now);
                    }
                }
                None => {}
            }
        }
        if acked.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, window: &mut Window, now: Time) {
        self.probe_rtt_min_stamp = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(self.min_pipe())
    }

    fn save_cwnd(&mut self, window: &Window, in_recovery: bool) {
        let keep = in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if keep { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    /// Whether its samples say little of the bandwidth now (§5.3.4.3).
    pub fn probing_rtt(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn update_aggregation(&mut self, window: &Window, acked: &Acked) {
        let interval = acked.now.since(self.extra_acked_start).as_secs_f64();
        let mut expected = self.bw() * interval;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_start = acked.now;
            expected = 0.0;
        }
        self.extra_acked_delivered += acked.delivered as f64;
        let extra = (self.extra_acked_delivered - expected).clamp(0.0, window.cwnd);
        let half = if self.full_bw_reached { 5 } else { 1 };
        if self.round_count >= self.extra_acked_round + half {
            self.extra_acked = [0.0, self.extra_acked[0]];
            self.extra_acked_round = self.round_count;
        }
        self.extra_acked[0] = self.extra_acked[0].max(extra);
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }

    fn set_pacing_rate(&mut self, gain: Option<f64>) {
        let rate = gain.unwrap_or(self.pacing_gain()) * self.bw() * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §5.6.4: SetCwnd.
    fn set_cwnd(&mut self, window: &mut Window, acked: &Acked) {
        let extra = self.extra_acked[0].max(self.extra_acked[1]);
        let most = self.inflight(self.bw(), self.cwnd_gain()) + extra;
        let delivered = acked.delivered as f64;
        if self.full_bw_reached {
            window.cwnd = (window.cwnd + delivered).min(most);
        } else if window.cwnd < most || self.delivered < self.initial_cwnd {
            window.cwnd += delivered;
        }
        window.cwnd = window.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            _ => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.inflight_shortterm).max(self.min_pipe()));
    }

    /// Recovery or a timeout begins: the window is kept in mind, and what losses say is in the samples.
    pub fn on_loss(&mut self, window: &Window) {
        self.save_cwnd(window, false);
    }

    pub fn on_recovery_exit(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    pub fn set_mss(&mut self, mss: f64) {
        self.mss = mss;
    }

    /// §5.4.1: sending begins again after a silence.
    pub fn on_idle_restart(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.extra_acked_start = now;
        if self.in_probe_bw() {
            self.set_pacing_rate(Some(1.0));
        } else if self.state == State::ProbeRtt && self.probe_rtt_done.is_some_and(|done| now > done) {
            self.leave_probe_rtt(window, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    /// §5.3.3.6, ProbeInflightLongtermUpward: a segment more for each `probe_up_acked_per_inc` bytes, the rest kept; and each
    /// round of it half as many bytes for a segment, one segment's at least.
    #[test]
    fn the_long_term_bound_grows_by_a_segment_for_each_increment_and_keeps_the_rest() {
        let window = window(100_000);
        let mut bbr = Bbr::new(&window, None);
        (bbr.state, bbr.inflight_longterm) = (State::Up, 50_000.0);
        bbr.raise_slope(&window);
        assert_eq!(bbr.probe_up_acked_per_inc, 100_000.0);
        bbr.probe_up_acked_per_inc = 10_000.0;
        let mut bytes = 0;
        for step in [9_000, 900, 99, 1, 25_000, 4_999, 1, 100_000, 3_000, 3_000, 3_000, 1_000] {
            bytes += step;
            bbr.adapt_long_term(&window, &acked(step, 600));
            let segments = (bytes / 10_000) as f64;
            assert_eq!(bbr.inflight_longterm, 50_000.0 + 1000.0 * segments, "after {bytes} bytes");
            assert_eq!(bbr.bw_probe_up_acked, (bytes % 10_000) as f64, "after {bytes} bytes");
        }
        // Not while the window is not what limits the sender, nor in another state.
        let before = bbr.inflight_longterm;
        bbr.adapt_long_term(&window, &Acked { limited: false, ..acked(50_000, 600) });
        bbr.state = State::Cruise;
        bbr.adapt_long_term(&window, &acked(50_000, 600));
        assert_eq!(bbr.inflight_longterm, before);
        bbr.round_start = true;
        bbr.state = State::Up;
        for per_increment in [50_000.0, 25_000.0, 12_500.0, 6_250.0, 3_125.0, 1_562.5, 1_000.0, 1_000.0] {
            bbr.adapt_long_term(&window, &acked(1, 600));
            assert_eq!(bbr.probe_up_acked_per_inc, per_increment);
        }
    }
}
