//! The path's rate, learnt from what arrives and how fast; less of it when the round trip grows.
//!
//! Follows HT §5.3's wish (back off when the round trip lengthens) and RFC 9959 §4 (a jump is half of what is believed, and proven first).
//! Differs from BBR: the first packets leave back to back, and the spacing at the receiver is the first belief in the path's rate;
//! probes stop at once when a queue shows. docs/stp.md §8.3 has the rules with their numbers.
//! Leaves out fairness beside flows that fill the queue, to which it gives way.

use super::super::config::{Config, Saved};
use super::super::sender::Delivery;
use super::Signals;
use skyhop_units::{Span, Time};

/// Parts of the rate in turn, one smoothed round trip each.
const GAINS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 1.2, 0.8, 1.0, 1.0];
/// The step before the probe.
const BEFORE_PROBE: usize = 3;
/// A sample of fewer packets says too little.
const ENOUGH: u32 = 8;
/// What part of a rate must arrive for it to count as carried.
const CARRIED: f64 = 0.85;
/// How long a smallest round trip is believed.
const MIN_RTT_LIFE: Span = Span::from_secs(10);
/// How far two parts of a train may differ and still tell the same rate.
const AGREE: f64 = 0.1;
/// Losses above this part are congestion if less arrives, too.
const LOSSY: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// No rate is known: slow start.
    Start,
    /// The rate doubles until `believed` is reached or the path carries no more.
    Ramp { believed: Option<f64>, since: Time },
    /// Around what arrives.
    Cruise { step: usize, since: Time, draining: bool },
}

impl Phase {
    /// Whether a rate on trial has just been chosen.
    fn begins(self, now: Time) -> bool {
        matches!(self, Phase::Ramp { since, .. } if since == now)
    }
}

#[derive(Debug)]
pub(in super::super) struct Delay {
    mss: f64,
    cwnd: f64,
    phase: Phase,
    rate: f64,
    /// The largest deliveries of late, and when.
    best: f64,
    best_at: Time,
    min_rtt: Option<(Span, Time)>,
    /// Acknowledged and lost bytes of this round, since when, and whether the round before lost much.
    round: (f64, f64, Time),
    lossy: bool,
    /// What the first part of the first train said of the path's rate.
    train: Option<f64>,
    /// Bytes that have arrived before any rate was known, and how many are to before a saved rate is tried.
    heard: u64,
    first_bytes: u64,
    /// The first number sent at the rate on trial, and the bytes lost since.
    trial: (u64, f64),
    saved: Option<Saved>,
    bounds: (f64, f64),
    queue_target: Span,
    poll_interval_min: Span,
}

impl Delay {
    pub fn new(config: &Config) -> Self {
        let bytes = |rate: Option<skyhop_units::Rate>, none: f64| {
            rate.map_or(none, |rate| rate.as_bps() as f64 / 8.0)
        };
        Self {
            mss: f64::from(config.max_payload()),
            cwnd: config.initial_window as f64,
            phase: Phase::Start,
            rate: 0.0,
            best: 0.0,
            best_at: Time::ZERO,
            min_rtt: None,
            round: (0.0, 0.0, Time::ZERO),
            lossy: false,
            train: None,
            heard: 0,
            first_bytes: config.initial_window,
            trial: (0, 0.0),
            saved: config.saved,
            bounds: (bytes(config.min_rate, 0.0), bytes(config.max_rate, f64::INFINITY)),
            queue_target: config.queue_target,
            poll_interval_min: config.poll_interval_min,
        }
    }

    pub fn window(&self) -> u64 {
        match (self.phase, self.min_rtt) {
            (Phase::Start, _) | (_, None) => self.cwnd as u64,
            // Answers come a few times a round trip, and what is lost needs another one. Over a path that is shorter than the
            // distance of POLLs, it is that distance which has to be filled.
            (_, Some((rtt, _))) => {
                (2.5 * self.rate * rtt.max(self.poll_interval_min).as_secs_f64() + 10.0 * self.mss) as u64
            }
        }
    }

    pub fn rate(&self) -> Option<f64> {
        (self.phase != Phase::Start).then_some(self.rate)
    }

    pub fn learning(&self) -> bool {
        !matches!(self.phase, Phase::Cruise { .. })
    }

    pub fn reached(&self) -> Option<f64> {
        match self.phase {
            Phase::Cruise { .. } => Some(self.best),
            _ => None,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        let least = self.min_rtt.map_or(0.0, |(rtt, _)| 2.0 * self.mss / rtt.as_secs_f64().max(1e-6));
        self.rate = rate.clamp(self.bounds.0, self.bounds.1.max(self.bounds.0)).max(least);
    }

    fn cruise(&mut self, now: Time, best: f64, draining: bool) {
        (self.best, self.best_at) = (best, now);
        self.phase = Phase::Cruise { step: BEFORE_PROBE, since: now, draining };
        self.set_rate(if draining { 0.75 * best } else { best });
    }

    pub fn on_silence(&mut self) {
        self.cwnd = (self.cwnd / 2.0).max(2.0 * self.mss);
        if self.phase != Phase::Start {
            self.best /= 2.0;
            self.set_rate(self.rate / 2.0);
        }
    }

    /// Whether a round trip shows a queue of `part` of what is tolerated.
    fn queued(&self, rtt: Option<Span>, part: f64) -> bool {
        let (Some(rtt), Some((least, _))) = (rtt, self.min_rtt) else { return false };
        let tolerated = (least.as_secs_f64() / 4.0).max(self.queue_target.as_secs_f64());
        rtt.saturating_sub(least).as_secs_f64() > part * tolerated
    }

    pub fn on_feedback(&mut self, signals: &Signals) -> bool {
        let Signals { now, feedback, srtt, busy, .. } = *signals;
        if let Some(rtt) = feedback.rtt
            && self.min_rtt.is_none_or(|(least, at)| rtt <= least || now.since(at) > MIN_RTT_LIFE)
        {
            self.min_rtt = Some((rtt, now));
        }
        self.round.0 += feedback.acked as f64;
        self.round.1 += feedback.lost as f64;
        // Losses are heard of before what has arrived beside them; only a whole round tells their part.
        if now.since(self.round.2) > srtt.unwrap_or(Span::ZERO) && feedback.acked > 0 {
            let (acked, lost, _) = self.round;
            self.lossy = lost > LOSSY * (acked + lost) && lost > 4.0 * self.mss;
            self.round = (0.0, 0.0, now);
        }
        let lossy = self.lossy;
        let before = self.rate;
        if self.overshoots(signals) {
            return true;
        }
        match self.phase {
            Phase::Start => self.start(now, signals),
            Phase::Ramp { believed, since } => {
                self.ramp(now, feedback.rtt, feedback.delivery, believed, since, busy)
            }
            Phase::Cruise { .. } => self.steady(now, srtt, feedback.rtt, feedback.delivery, lossy, busy),
        }
        if self.phase.begins(now) {
            self.trial = (signals.next, 0.0);
        }
        self.rate < before && lossy
    }

    /// The safe retreat of RFC 9959 §4.5: a rate on trial ends as soon as reports say that much of it is lost, be POLLs lost with it.
    fn overshoots(&mut self, signals: &Signals) -> bool {
        let Signals { now, feedback, .. } = *signals;
        let (Phase::Ramp { .. }, Some(last)) = (self.phase, feedback.lost_number) else { return false };
        let (first, lost) = &mut self.trial;
        if last < *first {
            return false;
        }
        *lost += feedback.lost as f64;
        let part = *lost / ((last - *first + 1) as f64 * self.mss);
        let too_much = *lost >= f64::from(ENOUGH) * self.mss && part > 1.0 - CARRIED;
        if too_much {
            self.saved = None;
            self.cruise(now, self.rate * (1.0 - part).max(0.0), true);
        }
        too_much
    }

    fn start(&mut self, now: Time, signals: &Signals) {
        let feedback = &signals.feedback;
        self.cwnd += feedback.acked as f64;
        self.heard += feedback.acked;
        if feedback.lost > 0 {
            // RFC 9959 §4: what was saved counts only if the first data come through without loss.
            self.saved = None;
        }
        let Some(rtt) = feedback.rtt else { return };
        let alike = self.saved.filter(|saved| {
            rtt.as_nanos() >= saved.rtt.as_nanos() / 2 && rtt.as_nanos() <= saved.rtt.as_nanos() * 10
        });
        let saved = alike.map(|saved| saved.rate.as_bps() as f64 / 8.0);
        let train = Self::spacing(feedback.delivery);
        // A path that spaces packets to less than half of what was saved has become narrower.
        let saved = saved.filter(|saved| train.is_none_or(|train| 2.0 * train > *saved));
        let rate = match (train, saved) {
            (Some(train), saved) => saved.map_or(0.0, |saved| train.min(saved / 2.0)).max(train / 2.0),
            (None, saved) => {
                match (feedback.delivery.filter(|d| d.packets >= ENOUGH && d.span.as_nanos() > 0), saved) {
                    // Paced, and all of it came through: twice as much is the next step.
                    (Some(d), saved) => {
                        (2.0 * d.bytes / d.span.as_secs_f64()).max(saved.map_or(0.0, |saved| saved / 2.0))
                    }
                    (None, Some(saved)) if self.heard >= self.first_bytes => saved / 2.0,
                    (None, _) => return,
                }
            }
        };
        self.train = train;
        let believed = train.into_iter().chain(saved).reduce(f64::max);
        let rate = rate.max(self.cwnd / rtt.as_secs_f64().max(1e-6));
        self.set_rate(rate.min(believed.unwrap_or(f64::INFINITY)));
        self.phase = Phase::Ramp { believed, since: now };
    }

    /// The rate that the slowest link has given to packets which left together.
    fn spacing(delivery: Option<Delivery>) -> Option<f64> {
        let d = delivery?;
        let apart =
            d.packets >= 3 && d.left_in.as_nanos() * 2 < d.span.as_nanos() && d.span.as_nanos() >= 20_000;
        apart.then(|| d.bytes / d.span.as_secs_f64())
    }

    fn ramp(
        &mut self,
        now: Time,
        rtt: Option<Span>,
        delivery: Option<Delivery>,
        believed: Option<f64>,
        since: Time,
        busy: bool,
    ) {
        // The second part of the first train follows the first at once.
        if let (Some(one), Some(two)) = (self.train, Self::spacing(delivery)) {
            self.train = None;
            let least = one.min(two);
            // Two parts that agree: nothing came between the packets. Else half: what it is must first be proven.
            let agree = (one - two).abs() <= AGREE * one.max(two);
            self.set_rate(if agree { least } else { self.rate.min(least / 2.0) });
            self.phase =
                Phase::Ramp { believed: believed.into_iter().chain([least]).reduce(f64::max), since: now };
            return;
        }
        let of_this_rate =
            delivery.filter(|d| d.sent_from >= since && d.packets >= ENOUGH && d.span.as_nanos() > 0);
        let Some(d) = of_this_rate else {
            // A queue that stands before this rate's packets have come back is of our making too.
            if self.queued(rtt, 2.0) {
                // What has arrived is what the path carries.
                let proven = delivery.filter(|d| d.packets >= ENOUGH && d.span.as_nanos() > 0);
                let proven = proven.map_or(f64::INFINITY, |d| d.bytes / d.span.as_secs_f64());
                self.cruise(now, proven.min(self.rate / 2.0), true);
            }
            return;
        };
        let arrives = d.bytes / d.span.as_secs_f64();
        let left = d.bytes / d.left_in.as_secs_f64().max(1e-9);
        if self.queued(rtt, 1.0) || (arrives < CARRIED * self.rate && left >= CARRIED * self.rate) {
            self.cruise(now, arrives, true);
        } else if believed.is_some_and(|believed| self.rate >= 0.99 * believed.min(self.bounds.1)) {
            self.cruise(now, self.rate, false);
        } else if busy && arrives >= CARRIED * self.rate {
            self.set_rate((2.0 * self.rate).min(believed.unwrap_or(f64::INFINITY)));
            self.phase = Phase::Ramp { believed, since: now };
        }
    }

    fn steady(
        &mut self,
        now: Time,
        srtt: Option<Span>,
        rtt: Option<Span>,
        delivery: Option<Delivery>,
        lossy: bool,
        busy: bool,
    ) {
        let Phase::Cruise { mut step, mut since, mut draining } = self.phase else { return };
        let srtt = srtt.unwrap_or(Span::from_millis(100));
        let queued = self.queued(rtt, 1.0);
        if let Some(d) = delivery.filter(|d| d.packets >= ENOUGH && d.span.as_nanos() > 0) {
            let (arrives, left) =
                (d.bytes / d.span.as_secs_f64(), d.bytes / d.left_in.as_secs_f64().max(1e-9));
            let life = Span::from_nanos(srtt.as_nanos() * 10);
            let stale = now.since(self.best_at) > life && busy;
            // The path has become narrower: the past does not count.
            let narrower = (queued || lossy) && arrives < CARRIED * left.min(self.best);
            if arrives > 1.05 * self.best {
                // A probe found more: the next one follows soon.
                (step, since) = (BEFORE_PROBE, now);
            }
            if arrives > self.best || stale || narrower {
                (self.best, self.best_at) = (arrives, now);
            }
            draining |= narrower;
        }
        draining = (draining || queued) && self.queued(rtt.or(Some(srtt)), 0.5);
        if now.since(since) >= srtt {
            step = (step + 1) % GAINS.len();
            since = now;
        }
        self.phase = Phase::Cruise { step, since, draining };
        let gain = if draining { GAINS[step].min(0.75) } else { GAINS[step] };
        self.set_rate(gain * self.best);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sender::Feedback;
    use super::*;

    /// docs/stp.md §8.3: until a rate is known, each byte acknowledged opens the window by one.
    #[test]
    fn the_start_opens_the_window_by_what_arrives() {
        let mut delay = Delay::new(&Config { initial_window: 10_000, ..Config::default() });
        let mut expected = 10_000;
        for (n, acked) in [1_000, 1, 0, 2_500, 10_000].into_iter().enumerate() {
            expected += acked;
            let feedback = Feedback { acked, ..Feedback::default() };
            let now = Time::from_nanos(n as u64 * 1_000_000);
            let signals =
                Signals { now, feedback, srtt: None, acked: n as u64, next: n as u64 + 1, busy: true };
            assert!(!delay.on_feedback(&signals));
            assert_eq!((delay.window(), delay.rate()), (expected, None));
        }
    }

    /// docs/stp.md §8.3: a queue that stands before the rate on trial has come back halves it, or takes what is proven if that is less;
    /// three quarters of that drain the queue.
    #[test]
    fn a_queue_ahead_of_the_first_answers_halves_the_rate() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        // Of packets that left before the rate on trial: 100 kB in so many milliseconds.
        let earlier = |span| Delivery {
            bytes: 100_000.0,
            packets: 100,
            span: Span::from_millis(span),
            left_in: Span::from_millis(span),
            sent_from: ms(500),
        };
        for (delivery, expected) in
            [(None, 500_000.0), (Some(earlier(400)), 250_000.0), (Some(earlier(100)), 500_000.0)]
        {
            let mut delay = Delay::new(&Config::default());
            delay.min_rtt = Some((Span::from_millis(600), Time::ZERO));
            delay.rate = 1e6;
            delay.phase = Phase::Ramp { believed: None, since: ms(1000) };
            // A quarter of the path's delay is tolerated, and twice that until an answer has come.
            delay.ramp(ms(1300), Some(Span::from_millis(890)), delivery, None, ms(1000), true);
            assert_eq!((delay.learning(), delay.rate), (true, 1e6));
            delay.ramp(ms(1300), Some(Span::from_millis(910)), delivery, None, ms(1000), true);
            assert_eq!((delay.reached(), delay.rate), (Some(expected), 0.75 * expected));
        }
    }
}
