//! BBR version 3: the window and the pace follow a model of the path's bandwidth and round-trip time, and not losses alone.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3 to §5.6, with its constants; names are the draft's.
//! Differs: a host without offload (the send quantum is a segment), extra_acked remembered by halves of its ten rounds, no reaction
//! to RFC 3168 marks. Leaves out the undo of spurious losses, and the interpolation of losses within one large acknowledgment
//! (§5.5.10.2).

mod aggregation;
mod cycle;
mod full_pipe;
mod min_rtt;
mod rounds;
mod short_term;

use super::{Acked, Window};
use aggregation::Aggregation;
use cycle::{AckPhase, Cycle};
use full_pipe::FullPipe;
use min_rtt::MinRtt;
use rounds::Rounds;
use short_term::{BETA, ShortTerm};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PACING_MARGIN: f64 = 0.99;
const LOSS_THRESH: f64 = 0.02;
const HEADROOM: f64 = 0.15;
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BbrState {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Debug)]
pub(crate) struct Bbr {
    chance: Option<Stream>,
    state: BbrState,
    mss: f64,
    initial_cwnd: f64,
    pacing_rate: f64,
    rounds: Rounds,
    /// Bandwidth (§5.5.3): the maximum of this cycle and of the one before.
    max_bw_filter: [f64; 2],
    full_pipe: FullPipe,
    rtt: MinRtt,
    /// Earliest end of PROBE_RTT, once few enough bytes are in flight; and true if a round has passed in it.
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: f64,
    /// §5.5.10.2, bytes; infinite without a bound.
    inflight_longterm: f64,
    short_term: ShortTerm,
    cycle: Cycle,
    aggregation: Aggregation,
}

impl Bbr {
    pub fn new(window: &Window, chance: Option<Stream>) -> Self {
        Self {
            chance,
            state: BbrState::Startup,
            mss: window.mss,
            initial_cwnd: window.cwnd,
            // Until a round-trip time is known: the initial window in a millisecond (§5.6.2).
            pacing_rate: STARTUP_PACING_GAIN * window.cwnd / 1e-3,
            rounds: Rounds::default(),
            max_bw_filter: [0.0; 2],
            full_pipe: FullPipe::default(),
            rtt: MinRtt::default(),
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            inflight_longterm: f64::INFINITY,
            short_term: ShortTerm::default(),
            cycle: Cycle::default(),
            aggregation: Aggregation::default(),
        }
    }

    pub fn on_established(&mut self, window: &Window, now: Time, rtt: Option<Span>) {
        let rtt = rtt.filter(|rtt| *rtt > Span::ZERO);
        self.rtt.begin(now, rtt);
        self.aggregation.since(now);
        if let Some(rtt) = rtt {
            self.pacing_rate = STARTUP_PACING_GAIN * window.cwnd / rtt.as_secs_f64();
        }
    }

    /// Pacing rate, bytes per second.
    pub fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    fn bw(&self) -> f64 {
        self.max_bw().min(self.short_term.bw)
    }

    fn min_pipe(&self) -> f64 {
        4.0 * self.mss
    }

    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.rtt.min {
            Some(rtt) => gain * bw * rtt.as_secs_f64(),
            None => self.initial_cwnd,
        }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        let quantised = self.bdp(bw, gain).max(3.0 * self.mss).max(self.min_pipe());
        quantised + if self.state == BbrState::Up { 2.0 * self.mss } else { 0.0 }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, BbrState::Down | BbrState::Cruise | BbrState::Refill | BbrState::Up)
    }

    /// §5.2.1: handles an acknowledgment.
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let now = acked.now;
        self.rounds.delivered += acked.delivered;
        self.take_sample(acked);
        let half = if self.full_pipe.reached { 5 } else { 1 };
        self.aggregation.on_ack(now, acked.delivered, self.bw(), window.cwnd, self.rounds.count, half);
        self.check_full_pipe(acked);
        self.check_drain(acked);
        self.update_cycle(window, acked);
        self.rtt.on_ack(now, acked.rtt);
        self.check_probe_rtt(window, acked);
        if self.short_term.round_start {
            self.short_term.begin_round(acked.rate);
        }
        self.set_pacing_rate(None);
        self.set_cwnd(window, acked);
    }

    /// §5.5.1, §5.5.5, §5.5.10.3: updates rounds, bandwidth and loss bounds.
    fn take_sample(&mut self, acked: &Acked) {
        self.rounds.start = false;
        self.short_term.on_ack(acked.lost > 0);
        let Some(sample) = acked.rate else { return };
        self.rounds.on_sample(sample.prior_delivered);
        if let Some(rate) = sample.rate
            && (rate >= self.max_bw() || !sample.app_limited)
        {
            self.max_bw_filter[0] = self.max_bw_filter[0].max(rate);
        }
        self.short_term.on_sample(&sample, self.rounds.delivered);
        if self.cycle.sampling && self.too_high(acked) {
            self.handle_inflight_too_high(acked);
        }
        if self.short_term.round_start {
            self.check_startup_high_loss(acked);
            // Not while probing, in which losses are expected.
            let probing = matches!(self.state, BbrState::Startup | BbrState::Refill | BbrState::Up);
            self.short_term.end_round(!probing, self.max_bw(), acked.prior_in_flight);
        }
    }

    fn too_high(&self, acked: &Acked) -> bool {
        acked.rate.is_some_and(|s| s.lost as f64 > s.tx_in_flight as f64 * LOSS_THRESH)
    }

    fn target_inflight(&self) -> f64 {
        self.bdp(self.max_bw(), 1.0)
    }

    fn handle_inflight_too_high(&mut self, acked: &Acked) {
        self.cycle.too_high = true;
        self.cycle.sampling = false;
        if let Some(sample) = acked.rate
            && !sample.app_limited
        {
            self.inflight_longterm = (sample.tx_in_flight as f64).max(self.target_inflight() * BETA);
        }
        if self.state == BbrState::Up {
            self.start_down(acked.now);
        }
    }

    /// §5.3.1.3: takes the pipe for full if losses exceed a share in enough places.
    fn check_startup_high_loss(&mut self, acked: &Acked) {
        if self.state == BbrState::Startup
            && !self.full_pipe.reached
            && self.short_term.loss_events >= STARTUP_FULL_LOSS_COUNT
            && self.too_high(acked)
        {
            self.full_pipe.reached = true;
            self.inflight_longterm = self.bdp(self.max_bw(), 1.0).max(self.short_term.inflight_latest);
        }
    }

    fn check_full_pipe(&mut self, acked: &Acked) {
        if let Some(sample) = acked.rate
            && self.rounds.start
            && !sample.app_limited
        {
            self.full_pipe.on_round(sample.rate.unwrap_or(0.0));
        }
    }

    fn check_drain(&mut self, acked: &Acked) {
        if self.state == BbrState::Startup && self.full_pipe.reached {
            self.state = BbrState::Drain;
        }
        if self.state == BbrState::Drain && acked.in_flight as f64 <= self.inflight(self.max_bw(), 1.0) {
            self.start_down(acked.now);
        }
    }

    fn start_down(&mut self, now: Time) {
        self.short_term.reset_signals();
        let mut draw = || self.chance.as_mut().map_or(0.5, Stream::uniform);
        self.rounds.since_probe_up = (draw() >= 0.5) as u64;
        self.cycle.begin(now, 2.0 + draw());
        self.rounds.begin();
        self.state = BbrState::Down;
    }

    fn start_refill(&mut self) {
        self.short_term.reset_bounds();
        self.cycle.refill();
        self.rounds.begin();
        self.state = BbrState::Refill;
    }

    fn start_up(&mut self, window: &Window, acked: &Acked) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.begin();
        self.full_pipe.begin(acked.rate.and_then(|s| s.rate).unwrap_or(0.0));
        self.state = BbrState::Up;
        self.cycle.raise_slope(window.cwnd, self.mss);
    }

    /// §5.3.3.9: UpdateProbeBWCyclePhase.
    fn update_cycle(&mut self, window: &Window, acked: &Acked) {
        if !self.full_pipe.reached || self.adapt_long_term(window, acked) {
            return;
        }
        let in_flight = acked.in_flight as f64;
        match self.state {
            BbrState::Down if self.time_to_probe(window, acked.now) => self.start_refill(),
            BbrState::Down
                if in_flight <= self.with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0) =>
            {
                self.state = BbrState::Cruise;
            }
            BbrState::Cruise if self.time_to_probe(window, acked.now) => self.start_refill(),
            BbrState::Refill if self.rounds.start => {
                self.cycle.sampling = true;
                self.start_up(window, acked);
            }
            BbrState::Up => self.go_down_in_time(window, acked),
            _ => {}
        }
    }

    fn time_to_probe(&self, window: &Window, now: Time) -> bool {
        let waited = self.cycle.waited(now);
        let reno_rounds = (self.target_inflight().min(window.cwnd) / self.mss).min(63.0);
        waited || self.rounds.since_probe_up as f64 >= reno_rounds
    }

    fn go_down_in_time(&mut self, window: &Window, acked: &Acked) {
        if self.time_to_go_down(window, acked) {
            self.cycle.too_high = false;
            self.start_down(acked.now);
        }
    }

    fn time_to_go_down(&mut self, window: &Window, acked: &Acked) -> bool {
        if self.cycle.too_high && acked.in_flight as f64 >= self.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if acked.limited && window.cwnd >= self.inflight_longterm {
            self.full_pipe.begin(acked.rate.and_then(|s| s.rate).unwrap_or(0.0));
            return false;
        }
        self.full_pipe.now
    }

    fn with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(self.mss);
        (self.inflight_longterm - headroom).max(self.min_pipe())
    }

    /// AdaptLongTermModel. Returns true if it has decided on a transition.
    fn adapt_long_term(&mut self, window: &Window, acked: &Acked) -> bool {
        if self.rounds.start && self.cycle.on_round() {
            if self.in_probe_bw() && acked.rate.is_some_and(|s| !s.app_limited) {
                self.max_bw_filter = [0.0, self.max_bw_filter[0]];
            }
            if self.in_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
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
        if self.state == BbrState::Up && acked.limited && window.cwnd >= self.inflight_longterm {
            self.inflight_longterm += self.cycle.on_acked(acked.delivered) * self.mss;
            if self.rounds.start {
                self.cycle.raise_slope(window.cwnd, self.mss);
            }
        }
        false
    }

    /// §5.3.4.3: CheckProbeRTT.
    fn check_probe_rtt(&mut self, window: &mut Window, acked: &Acked) {
        if self.state != BbrState::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.state = BbrState::ProbeRtt;
            self.save_cwnd(window, acked.in_recovery);
            self.probe_rtt_done = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.begin();
        }
        if self.state == BbrState::ProbeRtt {
            match self.probe_rtt_done {
                None if acked.in_flight as f64 <= self.probe_rtt_cwnd() => {
                    self.probe_rtt_done = Some(acked.now + PROBE_RTT_DURATION);
                    self.probe_rtt_round_done = false;
                    self.rounds.begin();
                }
                Some(done) => {
                    self.probe_rtt_round_done |= self.rounds.start;
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
        self.rtt.probed(now);
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.short_term.reset_bounds();
        if self.full_pipe.reached {
            self.start_down(now);
            self.state = BbrState::Cruise;
        } else {
            self.state = BbrState::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(self.min_pipe())
    }

    fn save_cwnd(&mut self, window: &Window, in_recovery: bool) {
        let keep = in_recovery || self.state == BbrState::ProbeRtt;
        self.prior_cwnd = if keep { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    /// Returns true if its samples say little about the bandwidth at present (§5.3.4.3).
    pub fn probing_rtt(&self) -> bool {
        self.state == BbrState::ProbeRtt
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup => STARTUP_PACING_GAIN,
            BbrState::Drain => DRAIN_PACING_GAIN,
            BbrState::Down => 0.9,
            BbrState::Up => 1.25,
            BbrState::Cruise | BbrState::Refill | BbrState::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            BbrState::Up => 2.25,
            BbrState::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }

    fn set_pacing_rate(&mut self, gain: Option<f64>) {
        let rate = gain.unwrap_or(self.pacing_gain()) * self.bw() * PACING_MARGIN;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §5.6.4: SetCwnd.
    fn set_cwnd(&mut self, window: &mut Window, acked: &Acked) {
        let extra = self.aggregation.extra();
        let most = self.inflight(self.bw(), self.cwnd_gain()) + extra;
        let delivered = acked.delivered as f64;
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + delivered).min(most);
        } else if window.cwnd < most || (self.rounds.delivered as f64) < self.initial_cwnd {
            window.cwnd += delivered;
        }
        window.cwnd = window.cwnd.max(self.min_pipe());
        if self.state == BbrState::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            BbrState::Down | BbrState::Refill | BbrState::Up => self.inflight_longterm,
            BbrState::Cruise | BbrState::ProbeRtt => self.with_headroom(),
            _ => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.short_term.inflight).max(self.min_pipe()));
    }

    /// Handles the start of a recovery or a timeout: saves the window. Losses themselves are in the samples.
    pub fn on_loss(&mut self, window: &Window) {
        self.save_cwnd(window, false);
    }

    pub fn on_recovery_exit(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    pub fn set_mss(&mut self, mss: f64) {
        self.mss = mss;
    }

    /// §5.4.1: handles the restart after an idle time.
    pub fn on_idle_restart(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.aggregation.since(now);
        if self.in_probe_bw() {
            self.set_pacing_rate(Some(1.0));
        } else if self.state == BbrState::ProbeRtt && self.probe_rtt_done.is_some_and(|done| now > done) {
            self.leave_probe_rtt(window, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    /// §5.3.3.6, ProbeInflightLongtermUpward: one more segment for each `probe_up_acked_per_inc` bytes, with the remainder kept;
    /// each round of it halves the number of bytes, down to one segment.
    #[test]
    fn the_long_term_bound_grows_by_a_segment_for_each_increment_and_keeps_the_rest() {
        let window = window(100_000);
        let mut bbr = Bbr::new(&window, None);
        (bbr.state, bbr.inflight_longterm) = (BbrState::Up, 50_000.0);
        bbr.cycle.raise_slope(window.cwnd, bbr.mss);
        assert_eq!(bbr.cycle.acked_per_inc, 100_000.0);
        bbr.cycle.acked_per_inc = 10_000.0;
        let mut bytes = 0;
        for step in [9_000, 900, 99, 1, 25_000, 4_999, 1, 100_000, 3_000, 3_000, 3_000, 1_000] {
            bytes += step;
            bbr.adapt_long_term(&window, &acked(step, 600));
            let segments = (bytes / 10_000) as f64;
            assert_eq!(bbr.inflight_longterm, 50_000.0 + 1000.0 * segments, "after {bytes} bytes");
            assert_eq!(bbr.cycle.up_acked, (bytes % 10_000) as f64, "after {bytes} bytes");
        }
        // Not while the window does not limit the sender, nor in another state.
        let before = bbr.inflight_longterm;
        bbr.adapt_long_term(&window, &Acked { limited: false, ..acked(50_000, 600) });
        bbr.state = BbrState::Cruise;
        bbr.adapt_long_term(&window, &acked(50_000, 600));
        assert_eq!(bbr.inflight_longterm, before);
        bbr.rounds.start = true;
        bbr.state = BbrState::Up;
        for per_increment in [50_000.0, 25_000.0, 12_500.0, 6_250.0, 3_125.0, 1_562.5, 1_000.0, 1_000.0] {
            bbr.adapt_long_term(&window, &acked(1, 600));
            assert_eq!(bbr.cycle.acked_per_inc, per_increment);
        }
    }
}
