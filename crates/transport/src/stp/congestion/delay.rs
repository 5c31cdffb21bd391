//! The path's rate, learnt from what arrives and how fast; less of it when a queue stands.
//!
//! Follows HT §5.3's wish (back off when the round trip lengthens), Swift's target (a queue that a slower flow tolerates longer) and
//! RFC 9959 §4 (a jump is proven first). docs/stp.md §8.3 has the rules with their numbers, why they converge and why they are fair.
//! Differs from BBR: no rate is kept against a standing queue, and losses count where they grow with the rate.
//! Leaves out the window beside flows that fill the queue (`compete`).

use super::super::config::Config;
use super::AnswerSignals;
use super::compete::{CubicWindow, Rival};
use super::floor::Floor;
use super::losses::LossJudge;
use super::samples::{PollSample, PollSamples};
use super::start::{OpeningTrains, StartTrain, TRAINS, TrainResult};
use skyhop_units::{Span, Time};

/// Least share of a rate that must arrive for the path to count as carrying it.
const CARRIED: f64 = 0.85;
/// A queue's target: this many round trips over the square root of the window in packets.
const TARGET: f64 = 2.0;
/// Gain of the rate towards its target, for a queue below and above it: the part of the difference that one round trip makes up for.
const PULL: (f64, f64) = (0.5, 1.0);
/// A train's length beside the one before: if its parts agreed, and if not.
const LONGER: (u64, u64) = (12, 4);
/// Factor that bounds the rate after a check found that round trips have grown because of a queue.
const QUEUED: f64 = 0.7;
/// A channel that loses more: what is lost where nothing waited may be chance.
const LOSSY: f64 = 0.005;
/// Round trips without any queue after which there is no rival, on such a channel.
const ALONE: f64 = 8.0;
/// The rate's steps while no queue shows.
const STEPS: [f64; 4] = [1.1, 1.3, 1.6, 2.0];
/// Time for which the highest rate is remembered.
const MEMORY: Span = Span::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq)]
enum RatePhase {
    /// The rate is unknown: the first packets leave together.
    Start,
    /// A longer train, at this rate; bytes of it that have not been acknowledged.
    Proof { train: StartTrain, rate: f64, left: f64, until: Time },
    /// The rate goes up to `aim`, or until a queue shows; `step` says how fast.
    Ramp { aim: Option<f64>, since: Time, step: usize },
    /// The rate follows what arrives and the size of the queue.
    Cruise { since: Time },
    /// The rate follows CUBIC. Losses are counted by round trips; a check of the queue lasts until `look`.
    Compete { cubic: CubicWindow, look: Option<Time>, deep: bool },
}

#[derive(Debug)]
pub(in super::super) struct Delay {
    mss: f64,
    opening: OpeningTrains,
    phase: RatePhase,
    rate: f64,
    /// The highest rate that has arrived without a queue, and when.
    proven: (f64, Time),
    /// Packets that may be in flight at a rate that is not proven.
    cap: f64,
    /// Calm round trips before the rate climbs again.
    climbs_wait: u32,
    /// The highest rate ever proven, and when: it is tried again where the path seems to have become wide again.
    memory: (f64, Time),
    /// The rate before a step of the round trip that is being looked at.
    held: Option<f64>,
    /// The rate at which packets came out of the standing queue.
    share: Option<f64>,
    floor: Floor,
    samples: PollSamples,
    losses: LossJudge,
    rival: Rival,
    /// Time of the last judged round trip.
    round: Time,
    /// The first number sent at the rate on trial, and the packets lost since.
    trial: (u64, f64),
    silent: bool,
    bounds: (f64, f64),
    queue_target: Span,
    poll_interval_min: Span,
}

impl Delay {
    pub fn new(config: &Config) -> Self {
        let bytes = |rate: Option<skyhop_units::Rate>, none: f64| {
            rate.map_or(none, |rate| rate.as_bps() as f64 / 8.0)
        };
        let mss = f64::from(config.max_payload());
        Self {
            mss,
            opening: OpeningTrains::new(config),
            phase: RatePhase::Start,
            rate: 0.0,
            proven: (0.0, Time::ZERO),
            cap: f64::INFINITY,
            climbs_wait: 0,
            memory: (0.0, Time::ZERO),
            held: None,
            share: None,
            floor: Floor::default(),
            samples: PollSamples::default(),
            losses: LossJudge::default(),
            rival: Rival::default(),
            round: Time::ZERO,
            trial: (0, 0.0),
            silent: false,
            bounds: (bytes(config.min_rate, 0.0), bytes(config.max_rate, f64::INFINITY)),
            queue_target: config.queue_target,
            poll_interval_min: config.poll_interval_min,
        }
    }

    pub fn window(&self) -> u64 {
        let window = match self.phase {
            RatePhase::Start => self.opening.cwnd,
            RatePhase::Proof { left, .. } => left,
            RatePhase::Compete { cubic, .. } => cubic.window * self.mss,
            // Answers come a few times a round trip, and what is lost needs another one. Over a path that is shorter than the
            // distance of POLLs, it is that distance which has to be filled.
            _ => {
                let rtt = self.floor.seconds().max(self.poll_interval_min.as_secs_f64());
                // While a queue drains it is its rate that counts, over the round trip through it: a window of less would leave a gap
                // behind the queue, and one of more would fill a path that has become narrower before that is heard of.
                let through = self.samples.last_rtt().map_or(rtt, |rtt| rtt.as_secs_f64());
                // The wait of an answer on the way back is not in this queue, and is counted nevertheless.
                let waited = self.samples.waited();
                let window = match self.share.filter(|_| self.held.is_none()) {
                    Some(share) => share * (1.7 * through.max(rtt) + waited),
                    None => self.rate * (2.5 * rtt + waited),
                };
                (window + 10.0 * self.mss).min(self.cap)
            }
        };
        window.max(2.0 * self.mss) as u64
    }

    pub fn rate(&self) -> Option<f64> {
        (self.phase != RatePhase::Start).then_some(self.rate)
    }

    pub fn learning(&self) -> bool {
        !matches!(self.phase, RatePhase::Cruise { .. } | RatePhase::Compete { .. })
    }

    pub fn reached(&self) -> Option<f64> {
        match self.phase {
            RatePhase::Cruise { .. } | RatePhase::Compete { .. } => Some(self.proven.0.min(self.rate)),
            _ => None,
        }
    }

    /// Returns true if a POLL belongs on the new packet of this number.
    pub fn asks(&self, number: u64, first: u64) -> bool {
        match self.phase {
            RatePhase::Start => number - first == self.opening.first_packets / 2,
            RatePhase::Proof { train, .. } => train.asks(number),
            _ => false,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        let least = 2.0 * self.mss / self.floor.seconds();
        self.rate = rate.clamp(self.bounds.0, self.bounds.1.max(self.bounds.0)).max(least);
    }

    fn ramp(&mut self, signals: &AnswerSignals, rate: f64, aim: Option<f64>, step: usize) {
        self.set_rate(rate);
        self.phase = RatePhase::Ramp { aim, since: signals.now, step };
        self.trial = (signals.next, 0.0);
    }

    fn cruise(&mut self, now: Time, rate: f64) {
        self.cap = f64::INFINITY;
        self.share = None;
        self.phase = RatePhase::Cruise { since: now };
        self.set_rate(rate);
    }

    /// POLLs go unanswered: what is known is kept for when they are again.
    pub fn on_silence(&mut self) {
        self.opening.cwnd = (self.opening.cwnd / 2.0).max(2.0 * self.mss);
        self.silent = true;
    }

    /// Queue that is tolerated, seconds, apart from jitter.
    fn target(&self) -> f64 {
        self.fair_target() + self.allowance()
    }

    /// Jitter of round trips without a queue, seconds.
    fn allowance(&self) -> f64 {
        1.5 * self.samples.unrest()
    }

    /// Queue that is tolerated, seconds: less for a faster flow, so that all flows converge to the same rate.
    fn fair_target(&self) -> f64 {
        let floor = self.floor.seconds();
        let window = (self.rate * floor / self.mss).max(1.0);
        let fair = (TARGET * floor / window.sqrt()).min(floor / 2.0);
        (fair * self.losses.scale).max(0.001)
    }

    /// The queue that POLLs sent since `from` have seen, seconds.
    fn queue(&self, from: Time) -> Option<f64> {
        let floor = self.floor.get()?;
        let late = self.samples.last()?.sent_at;
        let third = Span::from_secs_f64(self.floor.seconds() * 0.4);
        let from = from.max(Time::from_nanos(late.as_nanos().saturating_sub(third.as_nanos())));
        Some(self.samples.least_rtt(from, 64)?.saturating_sub(floor).as_secs_f64())
    }

    /// Returns true if no POLL that left since `from` has seen a queue.
    fn empty(&self, from: Time) -> bool {
        let seen = self.samples.most_rtt(from, 64).zip(self.floor.get());
        // Jitter of a queue that is filled and emptied is no excuse: a quarter of it is.
        let little = 0.001 + self.floor.seconds() / 256.0 + 0.5 * self.samples.unrest();
        seen.is_some_and(|(rtt, floor)| rtt.saturating_sub(floor).as_secs_f64() < little)
    }

    /// The queue at the end of a climb: what the last two POLLs have both seen.
    fn rising(&self, since: Time) -> f64 {
        let seen = self.samples.least_rtt(since, 2).zip(self.floor.get());
        seen.map_or(0.0, |(rtt, floor)| rtt.saturating_sub(floor).as_secs_f64())
    }

    pub fn on_feedback(&mut self, signals: &AnswerSignals) -> bool {
        let AnswerSignals { now, feedback, .. } = *signals;
        self.opening.cwnd += if self.phase == RatePhase::Start { feedback.acked as f64 } else { 0.0 };
        self.opening.heard += feedback.acked;
        if let RatePhase::Proof { left, .. } = &mut self.phase {
            *left -= feedback.acked as f64;
            if feedback.lost_number >= Some(self.trial.0) {
                self.trial.1 += feedback.lost as f64 / self.mss;
            }
        }
        if self.overshoots(signals) {
            return true;
        }
        let Some(answer) = feedback.answer else { return false };
        self.floor.shift(self.samples.add(answer));
        let rtt = self.samples.rtt(&answer);
        let risen = self.floor.add(now, answer.sent_at, rtt, &self.samples);
        if risen {
            self.samples.restart();
            self.floor.restart(now, answer.rtt);
        }
        self.hold(risen);
        if std::mem::take(&mut self.silent) && self.resume(signals) {
            return false;
        }
        let before = self.rate;
        match self.phase {
            RatePhase::Start => self.start(signals),
            RatePhase::Proof { train, rate, until, .. } => self.prove(signals, train, rate, until),
            RatePhase::Ramp { aim, since, step } => self.climb(signals, aim, since, step),
            RatePhase::Cruise { since } => self.steady(signals, since),
            RatePhase::Compete { .. } => self.compete(signals),
        }
        self.rate < CARRIED * before
    }

    /// While round trips have grown by a step, and may be a queue, a quarter of the rate; all of it if the path has become longer.
    fn hold(&mut self, risen: bool) {
        match (self.held, self.floor.steps()) {
            (None, true) => {
                self.held = Some(self.rate);
                self.set_rate(self.rate / 4.0);
            }
            (Some(rate), false) => {
                self.held = None;
                if risen {
                    self.set_rate(rate);
                } else {
                    // A queue, which leaves to this flow the part of its rate that arrives. A quarter's share says nothing of the whole's.
                    let short =
                        self.samples.latest(Span::from_secs_f64(0.4 * self.floor.seconds()), Time::ZERO);
                    let part = short.map_or(0.5, |sample| sample.arrives() / sample.leaves().max(1.0));
                    self.set_rate(rate * part.clamp(0.25, QUEUED));
                    self.samples.forget();
                }
            }
            _ => {}
        }
    }

    /// After silence: half of the rate that was proven for a round trip, then that (RFC 9959 §4).
    fn resume(&mut self, signals: &AnswerSignals) -> bool {
        let rate = match self.phase {
            RatePhase::Start => return false,
            RatePhase::Proof { train, rate, .. } if rate.is_infinite() => {
                self.train(signals, train.packets() / 2, rate, false);
                return true;
            }
            RatePhase::Proof { rate, .. } => rate,
            // POLLs were lost, and the data between them were not.
            _ if self.samples.last_two().is_some_and(|two| 2 * two.arrived > two.sent) => return false,
            RatePhase::Ramp { aim: Some(aim), .. } => aim.max(self.proven.0),
            _ => self.proven.0.max(self.rate / 2.0),
        };
        self.samples.forget();
        self.ramp(signals, rate / 2.0, Some(rate), 0);
        true
    }

    /// The safe retreat of RFC 9959 §4.5: a rate on trial ends as soon as reports say that much of it is lost, be POLLs lost with it.
    fn overshoots(&mut self, signals: &AnswerSignals) -> bool {
        let AnswerSignals { now, feedback, .. } = *signals;
        // Losses of an outage say nothing about the rate.
        let (RatePhase::Ramp { .. }, Some(last), false) = (self.phase, feedback.lost_number, self.silent)
        else {
            return false;
        };
        let (first, lost) = &mut self.trial;
        if last < *first {
            return false;
        }
        *lost += feedback.lost as f64 / self.mss;
        let (lost, sent) = (*lost, (last - *first + 1) as f64);
        let part = (lost / sent).min(0.9);
        // Where packets pass each other, reports name late ones.
        let too_much = !self.samples.reorders()
            && self.losses.beyond(lost, sent)
            && part > 1.0 - CARRIED + self.losses.usual();
        if too_much {
            self.opening.saved = None;
            self.proven.0 = self.proven.0.min(self.rate);
            self.cruise(now, self.rate * (1.0 - part));
        }
        too_much
    }

    fn start(&mut self, signals: &AnswerSignals) {
        let Some(answer) = self.samples.last().copied() else { return };
        if signals.feedback.lost > 0 {
            // RFC 9959 §4: what was saved counts only if the first data come through without loss.
            self.opening.saved = None;
        }
        if self.opening.first == u64::MAX {
            self.opening.first = answer.next - answer.sent.min(answer.next);
        }
        if answer.sent < self.opening.first_packets {
            return;
        }
        let train = StartTrain {
            first: self.opening.first,
            end: self.opening.first + self.opening.first_packets,
            leaves_in: 0.0,
        };
        let said = train.read(&self.samples);
        let rtt = answer.rtt;
        let alike = self.opening.saved.filter(|saved| {
            rtt.as_nanos() >= saved.rtt.as_nanos() / 2 && rtt.as_nanos() <= saved.rtt.as_nanos() * 10
        });
        let saved = alike.map(|saved| saved.rate.as_bps() as f64 / 8.0);
        match (said, saved) {
            // A path that spaces packets to less than half of what was saved has become narrower.
            (TrainResult::Rate(rate), Some(saved)) if 2.0 * rate > saved => {
                self.ramp(signals, rate.min(saved / 2.0), Some(rate.max(saved)), 0);
            }
            (TrainResult::Unsure(_) | TrainResult::More(_), Some(saved))
                if 5 * self.opening.heard >= 2 * self.opening.cwnd as u64 =>
            {
                self.ramp(signals, saved / 2.0, Some(saved), 0);
            }
            (TrainResult::Rate(rate), _) => {
                self.train(signals, LONGER.0 * self.opening.first_packets, rate, true)
            }
            (TrainResult::Unsure(rate), _) => {
                let rate = rate.unwrap_or(f64::INFINITY);
                self.train(signals, LONGER.1 * self.opening.first_packets, rate, false);
            }
            (TrainResult::More(rate), _) => {
                self.train(signals, LONGER.1 * self.opening.first_packets, rate, false)
            }
        }
    }

    /// The next train leaves, faster than the path is thought to be.
    fn train(&mut self, signals: &AnswerSignals, packets: u64, rate: f64, sure: bool) {
        let floor = self.floor.seconds();
        let (packets, pace) = self.opening.next(packets, rate, floor, sure);
        let leaves_in = packets as f64 * self.mss / pace;
        let train = StartTrain { first: signals.next, end: signals.next + packets, leaves_in };
        let until = signals.now + Span::from_secs_f64(1.2 * floor + self.samples.waited() + 3.0 * leaves_in);
        self.set_rate(pace);
        self.trial = (signals.next, 0.0);
        self.phase = RatePhase::Proof {
            train,
            rate,
            left: signals.in_flight as f64 + (packets + 1) as f64 * self.mss,
            until,
        };
    }

    fn prove(&mut self, signals: &AnswerSignals, train: StartTrain, rate: f64, until: Time) {
        let Some(answer) = self.samples.last().copied() else { return };
        let all = answer.next >= train.end
            || (answer.next == signals.next && !signals.busy)
            || signals.now >= until;
        let said = train.read(&self.samples);
        let packets = train.packets();
        let floor = self.floor.seconds();
        // A train that fills the path has said all that a train can.
        let long = |rate: f64| packets as f64 * self.mss > rate * floor / 4.0;
        let crowded = self.trial.1 > 0.25 * packets as f64;
        match said {
            // A train that keeps the path busy need not have ended; of a short one the end tells who else has come.
            TrainResult::Rate(rate) if train.leaves_in > floor / 4.0 => self.believe(signals, packets, rate),
            _ if !all => {}
            TrainResult::Rate(rate) => self.believe(signals, packets, rate),
            // Others have come at the same time: what came through, and no more.
            TrainResult::Unsure(Some(rate)) | TrainResult::More(rate) if crowded => {
                self.believe(signals, packets, rate / 2.0)
            }
            // Too few come through in order to be measured: from what a round trip has carried, doubling.
            TrainResult::Unsure(None) if crowded || self.opening.trains > TRAINS => {
                self.ramp(signals, packets as f64 * self.mss / floor, None, STEPS.len() - 1);
            }
            TrainResult::Unsure(Some(rate)) if long(rate) || self.opening.trains > TRAINS => {
                self.believe(signals, packets, rate);
            }
            TrainResult::More(rate) if long(rate) => {
                self.cap = f64::INFINITY;
                self.ramp(signals, rate, None, STEPS.len() - 1);
            }
            TrainResult::Unsure(Some(rate)) => self.train(signals, LONGER.1 * packets, rate, false),
            TrainResult::More(more) => self.train(signals, LONGER.1 * packets, 2.0 * more, false),
            TrainResult::Unsure(None) => self.train(signals, 2 * packets, rate, false),
        }
    }

    fn believe(&mut self, signals: &AnswerSignals, packets: u64, rate: f64) {
        self.cap = 100.0 * packets as f64 * self.mss;
        self.ramp(signals, rate, Some(rate), 0);
    }

    fn climb(&mut self, signals: &AnswerSignals, aim: Option<f64>, since: Time, step: usize) {
        let AnswerSignals { now, busy, .. } = *signals;
        if self.floor.steps() {
            return;
        }
        let floor = self.floor.seconds();
        let grain = (floor / 3.0).max(4.0 * self.samples.unrest());
        let Some(sample) = self.samples.latest(Span::from_secs_f64(grain), since) else {
            // A queue that stands before this rate's packets have come back is of our making too.
            let limit = (floor / 4.0).max(self.queue_target.as_secs_f64()).max(2.0 * self.target());
            if self.queue(Time::ZERO).is_some_and(|queue| queue > limit) {
                let arrives = self.samples.latest(Span::from_secs_f64(grain), Time::ZERO);
                let rate = arrives.map_or(self.rate / 2.0, |sample| sample.arrives().min(self.rate));
                self.cruise(now, self.drained(signals, rate));
            }
            return;
        };
        let (arrives, leaves) = (self.carried(&sample), sample.leaves());
        let queue = self.rising(since);
        let limit = 0.5 * self.fair_target() + self.allowance();
        if self.losses.judge(now, &sample, self.empty(sample.sent_from)) {
            // The climb's own doing: the next one waits longer.
            self.climbs_wait = (2 * self.climbs_wait).clamp(4, 32);
            let arrives = self.carried(&sample).min(self.rate);
            self.proven.0 = self.proven.0.min(arrives);
            return self.cruise(now, 0.95 * arrives);
        }
        // Half or more of the rate that this step has added arrives, or a queue takes it.
        let most = aim.map_or(STEPS[step], |_| 2.0);
        let added = arrives >= self.rate * (1.0 + most) / (2.0 * most) || queue < 0.25 * limit;
        if queue > limit || (!(added && arrives >= CARRIED * leaves) && leaves > CARRIED * self.rate) {
            self.proven = (arrives, now);
            if aim.is_some() {
                self.memory = (arrives, now);
            }
            self.cruise(now, self.drained(signals, arrives));
        } else if aim.is_some_and(|aim| self.rate >= 0.99 * aim.min(self.bounds.1)) {
            self.prove_rate(now, arrives.min(self.rate));
            self.cruise(now, self.rate);
        } else if busy && leaves >= CARRIED * self.rate {
            self.prove_rate(now, arrives.min(self.rate));
            self.climbs_wait = 0;
            let next = (step + 1).min(STEPS.len() - 1);
            let before = self.memory.0;
            let (rate, aim) = match aim {
                None if step >= 1 && before > 2.0 * STEPS[next] * self.rate => (before / 2.0, Some(before)),
                Some(aim) => ((2.0 * self.rate).min(aim), Some(aim)),
                None => (STEPS[next] * self.rate, None),
            };
            // A rate that was proven before a fall is tried again at once.
            self.ramp(signals, rate, aim, next);
        } else if !busy {
            self.cruise(now, self.rate);
        }
    }

    fn prove_rate(&mut self, now: Time, rate: f64) {
        self.proven = (self.proven.0.max(rate), now);
        if rate >= self.memory.0 || now.since(self.memory.1) > MEMORY {
            self.memory = (rate, now);
        }
    }

    /// Rate at which packets arrive, corrected for the channel's losses.
    fn carried(&self, sample: &PollSample) -> f64 {
        sample.arrives() / (1.0 - self.losses.usual())
    }

    /// A rate at which the queue goes to its target within a few round trips, if `rate` is what the path gives to this flow.
    fn drained(&self, signals: &AnswerSignals, rate: f64) -> f64 {
        let (Some(answer), Some(floor)) = (self.samples.last(), self.floor.get()) else { return rate };
        // Bytes sent since that POLL that would not have come out by now, even without a queue.
        let left = signals.sent.saturating_sub(answer.sent) as f64 * answer.size / rate.max(1.0);
        let coming = left - signals.now.since(answer.sent_at).as_secs_f64();
        let seen = self
            .queue(Time::ZERO)
            .unwrap_or(0.0)
            .min(self.samples.rtt(answer).saturating_sub(floor).as_secs_f64());
        let target = if self.floor.due(signals.now) { 0.0 } else { self.target() };
        let surplus = (target - (seen + coming).max(0.0)) / floor.as_secs_f64().max(1e-4);
        pulled(rate, surplus)
    }

    fn steady(&mut self, signals: &AnswerSignals, since: Time) {
        let AnswerSignals { now, busy, .. } = *signals;
        if self.floor.steps() {
            return;
        }
        let floor = self.floor.seconds();
        let rtt = signals.srtt.map_or(floor, |srtt| srtt.as_secs_f64().max(floor));
        let grain = Span::from_secs_f64((0.7 * floor).max(4.0 * self.samples.unrest()));
        let Some(sample) = self.samples.latest(grain, Time::ZERO) else { return };
        let (arrives, leaves) = (self.carried(&sample), sample.leaves());
        let (queue, target) = (self.queue(Time::ZERO).unwrap_or(0.0), self.target());
        let whole = now.since(self.round).as_secs_f64() >= rtt;
        if whole {
            self.round = now;
            if self.judge(signals, &sample, queue, target) {
                return;
            }
        }
        let free = queue < target / 2.0;
        let settled = sample.sent_from >= since;
        if !free {
            // The rate out of a queue is this flow's share of the path.
            let short = self.samples.latest(Span::from_secs_f64(0.4 * floor), Time::ZERO);
            let share = short.map_or(arrives, |sample| self.carried(&sample));
            if queue > target {
                self.share = Some(share);
            }
            self.set_rate(self.drained(signals, share));
        } else if let Some(share) = self.share.take() {
            // The queue is gone: what came out of it is what the path takes.
            self.set_rate(share);
        } else if settled && busy && self.rival.calm_for() >= self.climbs_wait {
            // Nothing is held back: what leaves is what the path takes, and it may take more.
            self.prove_rate(now, arrives.min(leaves));
            if arrives >= CARRIED * leaves && leaves >= CARRIED * self.rate {
                self.ramp(signals, STEPS[0] * self.rate, None, 0);
            }
        }
    }

    /// Once a round trip: losses, and a queue that stands. Returns whether the phase has changed.
    fn judge(&mut self, signals: &AnswerSignals, sample: &PollSample, queue: f64, target: f64) -> bool {
        let now = signals.now;
        let floor = self.floor.seconds();
        if self.losses.judge(now, sample, self.empty(sample.sent_from)) {
            self.congested(signals, sample);
            return true;
        }
        self.rival.calm();
        if queue > floor / 8.0 && (queue > 1.5 * target || self.rival.starves(self.rate)) {
            if let Some(before) = self.rival.stands(self.rate, queue) {
                self.rivals(now, 0.7 * before, true);
                return true;
            }
        } else {
            self.rival.gone();
        }
        false
    }

    /// Losses that the rate has made: the channel carries what arrives, and if that happens again, another flow takes the rest.
    fn congested(&mut self, signals: &AnswerSignals, sample: &PollSample) {
        let arrives = self.carried(sample);
        self.proven.0 = self.proven.0.min(arrives);
        if self.rival.lost() {
            self.rivals(signals.now, 0.7 * self.rate, false);
        } else {
            // No less than RFC 9438 leaves: what arrived may have been little for want of data. The queue's law may have cut already.
            self.cruise(signals.now, (0.85 * arrives).max(0.7 * self.rate));
        }
    }

    fn rivals(&mut self, now: Time, rate: f64, deep: bool) {
        let rtt = self.samples.last().map_or(0.1, |answer| answer.rtt.as_secs_f64());
        let cubic = CubicWindow::cut_to(now, rate * rtt / self.mss);
        self.rival = Rival::default();
        self.phase = RatePhase::Compete { cubic, look: None, deep };
        self.set_rate(1.05 * cubic.window * self.mss / rtt);
    }

    fn compete(&mut self, signals: &AnswerSignals) {
        let AnswerSignals { now, .. } = *signals;
        let RatePhase::Compete { mut cubic, mut look, mut deep } = self.phase else { return };
        let floor = self.floor.seconds();
        let rtt = signals.srtt.map_or(floor, |srtt| srtt.as_secs_f64().max(floor));
        let queue = self.queue(Time::ZERO).unwrap_or(0.0);
        let sample = self.samples.latest(Span::from_secs_f64(rtt), Time::ZERO);
        cubic.grow(now, rtt);
        let chance = self.losses.usual() > LOSSY || self.samples.reorders();
        if now.since(self.round).as_secs_f64() >= rtt
            && let Some(sample) = sample
        {
            self.round = now;
            let empty = self.empty(sample.sent_from);
            let _ = self.losses.judge(now, &sample, empty);
            // Where nothing waited, on a channel that loses, it takes more than chance.
            let lost = self.losses.any(&sample)
                && (!(chance && empty) || self.losses.beyond(sample.lost() as f64, sample.sent as f64));
            if lost && sample.sent_from >= cubic.cut_at() {
                deep |= queue > self.target();
                cubic.cut(now);
                look = deep.then(|| now + Span::from_secs_f64(2.0 * rtt));
            }
        }
        let small = queue < 0.5 * self.target();
        let free = cubic.window > 1.5 * cubic.w_max && small;
        let emptied = look.is_some() && small;
        // No queue for so long: nobody fills one.
        let while_alone = Span::from_secs_f64(ALONE * rtt);
        let begun = Time::from_nanos(now.as_nanos().saturating_sub(while_alone.as_nanos()));
        let alone = chance && cubic.cut_at() < begun && self.empty(begun);
        if free || emptied || alone {
            let rate = sample.map_or(self.rate, |sample| sample.arrives());
            self.cruise(now, rate);
            return;
        }
        look = look.filter(|until| now < *until);
        let mut rate = 1.05 * cubic.window * self.mss / rtt;
        if look.is_some() {
            // A look: whether the queue goes when this flow gives way.
            rate *= 0.75;
        }
        self.phase = RatePhase::Compete { cubic, look, deep };
        self.set_rate(rate);
    }
}

/// A share of the path, corrected for a queue that is shorter than its target by `surplus` round trips.
fn pulled(share: f64, surplus: f64) -> f64 {
    let pull = if surplus > 0.0 { PULL.0 } else { PULL.1 };
    share * (1.0 + pull * surplus).clamp(0.5, 1.25)
}

#[cfg(test)]
mod tests {
    use super::super::super::sender::Feedback;
    use super::super::answer::PollAnswer;
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// An answer to a POLL that left at `sent_ms`, when so many packets had left and arrived.
    fn answer(sent_ms: u64, rtt_ms: u64, sent: u64, arrived: u64) -> AnswerSignals {
        let answer = PollAnswer {
            sent_at: ms(sent_ms),
            rtt: Span::from_millis(rtt_ms),
            sent,
            arrived,
            clock_us: (sent_ms + rtt_ms) * 1000,
            needless: 0,
            next: sent,
            size: 1000.0,
        };
        let feedback = Feedback { answer: Some(answer), ..Feedback::default() };
        let srtt = Some(Span::from_millis(600));
        AnswerSignals {
            now: ms(sent_ms + rtt_ms),
            feedback,
            srtt,
            acked: sent,
            next: sent,
            sent,
            in_flight: 0,
            busy: true,
        }
    }

    fn cruising(rate: f64) -> Delay {
        let mut delay = Delay::new(&Config::default());
        delay.rate = rate;
        delay.proven = (rate, Time::ZERO);
        delay.phase = RatePhase::Cruise { since: Time::ZERO };
        delay
    }

    /// docs/stp.md §8.3: until a rate is known, each byte acknowledged opens the window by one.
    #[test]
    fn the_start_opens_the_window_by_what_arrives() {
        let mut delay = Delay::new(&Config { initial_window: 10_000, ..Config::default() });
        let mut expected = 10_000;
        for (n, acked) in [1_000, 1, 0, 2_500, 10_000].into_iter().enumerate() {
            expected += acked;
            let feedback = Feedback { acked, ..Feedback::default() };
            let n = n as u64;
            let signals = AnswerSignals {
                now: ms(n),
                feedback,
                srtt: None,
                acked: n,
                next: n + 1,
                sent: n + 1,
                in_flight: 0,
                busy: true,
            };
            assert!(!delay.on_feedback(&signals));
            assert_eq!((delay.window(), delay.rate()), (expected, None));
        }
    }

    /// docs/stp.md §8.3: with six packets a round trip and three POLLs, a sample takes several round trips, and the rate rises all
    /// the same.
    #[test]
    fn a_low_rate_is_not_a_trap() {
        let mut delay = cruising(10_000.0);
        for n in 0..40u64 {
            delay.on_feedback(&answer(200 * n, 600, 100 + 2 * n, 100 + 2 * n));
        }
        assert!(delay.rate > 10_500.0, "{}", delay.rate);
    }

    /// docs/stp.md §8.3: silence takes nothing of what was proven; half of it is tried, and then that.
    #[test]
    fn after_silence_the_proven_rate_is_tried() {
        let mut delay = cruising(1e6);
        delay.on_feedback(&answer(0, 600, 1000, 1000));
        for _ in 0..10 {
            delay.on_silence();
        }
        delay.on_feedback(&answer(60_000, 600, 2000, 1100));
        assert_eq!(delay.rate, 0.5e6);
        assert!(
            matches!(delay.phase, RatePhase::Ramp { aim: Some(aim), .. } if aim == 1e6),
            "{:?}",
            delay.phase
        );
    }

    /// docs/stp.md §8.3: a slower flow tolerates a longer queue, as the root of the rates, so that there is one equilibrium: equal rates.
    #[test]
    fn the_target_falls_as_the_root_of_the_rate() {
        let target = |rate: f64| {
            let mut delay = cruising(rate);
            delay.on_feedback(&answer(0, 600, 1000, 1000));
            delay.rate = rate;
            delay.fair_target()
        };
        let (slow, fast) = (target(1e6), target(4e6));
        assert!((slow / fast - 2.0).abs() < 0.01 && fast > 0.01, "{slow} {fast}");
    }

    /// docs/stp.md §8.3: flows of one fluid queue, each with its share of what comes out of it and its own target, heard of a round
    /// trip late.
    #[test]
    fn the_fluid_model_comes_to_equal_rates() {
        let (path, d) = (12.5e6, 0.6);
        let mut flows: Vec<Delay> = [1, 2, 3, 5, 7, 10, 15, 20, 25, 30]
            .map(|part| {
                let mut delay = cruising(1e6);
                delay.on_feedback(&answer(0, 600, 1000, 1000));
                delay.rate = path * f64::from(part) / 118.0;
                delay
            })
            .into();
        let (mut queue, mut heard) = (0.0f64, 0.0f64);
        for _ in 0..120 {
            let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
            for flow in &mut flows {
                flow.rate = pulled(path * flow.rate / sum, (flow.fair_target() - heard) / d);
            }
            heard = queue;
            let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
            queue = (queue + (sum / path - 1.0) * d).max(0.0);
        }
        let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
        let jain = sum * sum / (10.0 * flows.iter().map(|flow| flow.rate * flow.rate).sum::<f64>());
        assert!(jain > 0.99 && (0.95..1.05).contains(&(sum / path)), "{jain} {sum}");
        assert!((queue / flows[0].fair_target() - 1.0).abs() < 0.1, "{queue}");
    }
}
