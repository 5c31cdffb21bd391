//! A rate that follows delay: estimated from the rate at which packets arrive, and reduced when a queue persists.
//!
//! Follows HT §5.3 (back off when the round trip lengthens), Swift (the tolerated queue is longer for a slower flow) and RFC 9959 §4
//! (a saved rate is confirmed before it is used). docs/stp.md §8.3 has the rules and constants, and why they converge and are fair.
//! Differs from BBR: the rate falls while a queue persists, and losses count if they grow with the rate.
//! Leaves out the first trains (`opening`), increases (`climb`), silences (`silences`) and the window that competes with flows that fill
//! the queue (`compete`).

mod climb;
mod confirmed;
mod least;
mod marked;
mod opening;
mod own;
mod promise;
mod silences;
#[cfg(test)]
mod tests;

use super::super::config::Config;
use super::AnswerSignals;
use super::compete::{CubicWindow, Rival};
use super::floor::TellingLosses;
use super::lookout::Lookout;
use super::losses::{ENOUGH as JUDGED, LossJudge};
use super::marks::MarkJudge;
use super::measured_path::{LATELY, MeasuredPath};
use super::samples::PollSample;
use super::start::{OpeningTrains, StartTrain};
use super::still::RateRound;
use confirmed::ConfirmedRates;
use least::LeastRate;
use promise::Doubt;
use skyhop_units::{Rate, Span, Time};

/// Minimum share of a rate that must arrive for the rate to count as carried by the path.
const CARRIED: f64 = 0.85;
/// Target delay of the queue: this many round trips divided by the square root of the window in packets.
const TARGET: f64 = 2.0;
/// Packets of this flow below which losses shorten the target no further.
const SHORTEST: f64 = 2.0;
/// Share of the difference from the target delay that the rate corrects in one round trip, for a queue below and above the target.
const PULL: (f64, f64) = (0.5, 1.0);
/// Part of what arrives that is sent after losses of the rate's own making without a queue: there is none to drain.
const OWN_KEPT: f64 = 0.97;
/// Factor that bounds the rate after a check found that round trips have grown because of a queue.
const QUEUED: f64 = 0.7;
/// Share of losses on the channel above which a loss without a queue may be due to chance.
const LOSSY: f64 = 0.005;
/// Round trips without a queue after which no other flow is assumed to compete, on such a channel.
const ALONE: f64 = 8.0;
/// Smallest length of a sample, as a multiple of the jitter.
const NOISE: f64 = 8.0;
/// Part of the largest jitter that is no sign of a queue, even if each round trip of a sample is as long.
const LITTLE: f64 = 0.6;
/// Longest time by which one packet passes another, as a multiple of the jitter.
const PASSES: f64 = 4.0;
/// Factor by which packets of a flow leave a queue faster than they came into it, if no such rate was confirmed.
const TOGETHER: f64 = 2.0;
/// Bytes in flight as a multiple of the window, where a POLL goes three times a round trip.
const LUMPS: f64 = 1.35;
/// Factor by which packets leave the queue faster than they came, and by which the remembered rate exceeds the present one, if the path
/// is taken to carry more than before.
const WIDER: (f64, f64) = (2.0, 4.0);

/// Packets in a round trip up to which the rate is the least, or hardly more.
const LEAST: f64 = 2.5;

/// Packets in whose time round trips differ, whatever the path: alone, and beside others, whose slow queue seems a longer path.
const DIFFER: (f64, f64) = (0.5, 2.0);
/// Time of a packet, seconds, while no rate is known.
const UNKNOWN: f64 = 1.0;
/// Part of the round trip without a queue, and seconds beyond the time of a packet, by which successive round trips differ where slots are
/// assigned on demand; and the factor by which the rate then falls in a round trip at most.
const UNEVEN: f64 = 1.0 / 32.0;
const SLOTS: f64 = 0.01;
const FALLS: f64 = 0.9;

#[derive(Debug, Clone, Copy, PartialEq)]
enum RatePhase {
    /// The rate is unknown: the first packets are sent together.
    Start,
    /// The rate is the promised one.
    Promised(Doubt),
    /// A longer train tests `rate` until `until`; `left` bytes may still be in flight.
    Proof { train: StartTrain, rate: f64, left: f64, until: Time },
    /// The rate increases up to `aim`, or until there is a queue; `step` is an index of [`STEPS`].
    Climb { aim: Option<f64>, since: Time, step: usize },
    /// The rate follows the arrival rate and the queue's delay.
    Cruise { since: Time },
    /// The rate follows CUBIC's window. Until `look` the rate is lower, to check that the queue drains; `deep` if a loss came with a queue.
    Compete { cubic: CubicWindow, look: Option<Time>, deep: bool },
}

/// A rate on trial.
#[derive(Debug, Clone, Copy, Default)]
struct RateTrial {
    rate: f64,
    /// The first number sent at it, and the packets from there to the highest that is known to be lost.
    first: u64,
    sent: u32,
    /// Packets lost from the first one on.
    lost: u32,
    /// Factor over the rate before.
    factor: f64,
}

/// The configured lowest and highest rate.
#[derive(Debug)]
struct RateBounds {
    lowest: f64,
    highest: f64,
    /// True if the path is said to carry the highest.
    promised: bool,
}

impl RateBounds {
    fn new(config: &Config) -> Self {
        let bytes = |rate: Rate| rate.as_bps() as f64 / 8.0;
        // A highest rate of zero is none, as in `CongestionController::new`.
        let highest = config.max_rate.filter(|rate| rate.as_bps() > 0);
        Self {
            lowest: config.min_rate.map_or(0.0, bytes),
            highest: highest.map_or(f64::INFINITY, bytes),
            promised: false,
        }
    }
}

#[derive(Debug)]
pub(in super::super) struct Delay {
    mss: f64,
    opening: OpeningTrains,
    lookout: Lookout,
    phase: RatePhase,
    rate: f64,
    confirmed: ConfirmedRates,
    /// Maximum number of bytes in flight while the rate is not confirmed.
    cap: f64,
    /// Round trips without losses before the rate increases again.
    climbs_wait: u32,
    /// The rate before the round trip grew by a step, while the cause of the step is unknown.
    held: Option<f64>,
    /// The rate at which packets left the persistent queue.
    share: Option<f64>,
    path: MeasuredPath,
    losses: LossJudge,
    marks: MarkJudge,
    rival: Rival,
    /// Time at which a round trip was last judged.
    round: Time,
    trial: RateTrial,
    /// POLLs that left earlier show a queue from which the rate was derived, or have waited for the end of a silence.
    known: Time,
    /// True if POLLs were unanswered since the last answer.
    silent: bool,
    bounds: RateBounds,
    least: LeastRate,
    queue_target: Span,
    poll_interval_min: Span,
}

impl Delay {
    pub fn new(config: &Config) -> Self {
        let mss = f64::from(config.max_payload());
        Self {
            mss,
            opening: OpeningTrains::new(config),
            // A saved rate is tried without a train.
            lookout: Lookout::new(config.saved.is_none()),
            phase: RatePhase::Start,
            rate: 0.0,
            confirmed: ConfirmedRates::default(),
            cap: f64::INFINITY,
            climbs_wait: 0,
            held: None,
            share: None,
            path: MeasuredPath::default(),
            losses: LossJudge::default(),
            marks: MarkJudge::default(),
            rival: Rival::default(),
            round: Time::ZERO,
            trial: RateTrial::default(),
            known: Time::ZERO,
            silent: false,
            bounds: RateBounds::new(config),
            least: LeastRate::new(mss.max(f64::from(config.packet_size + config.overhead) - mss)),
            queue_target: config.queue_target,
            poll_interval_min: config.poll_interval_min,
        }
    }

    pub fn window(&self) -> u64 {
        let window = match self.phase {
            RatePhase::Start => self.opening.cwnd,
            RatePhase::Promised(_) => f64::INFINITY,
            RatePhase::Proof { left, .. } => left,
            // Answers come in lumps. Losses end a flow's growth late; marks do so early, so that the window may be used in full.
            RatePhase::Compete { cubic, .. } => {
                let lumps = if self.marks.any() { LUMPS } else { 1.0 };
                // Over a shorter round trip answers are as far apart as POLLs.
                let rtt = self.path.samples.last_rtt().map_or(f64::INFINITY, |rtt| rtt.as_secs_f64());
                lumps
                    * cubic.window
                    * self.mss
                    * (self.poll_interval_min.as_secs_f64() / rtt.max(1e-6)).max(1.0)
            }
            // A few answers arrive in a round trip, and a repair takes another round trip. On a path shorter than the interval of POLLs
            // the window must cover that interval.
            _ => {
                let rtt = self.path.floor.seconds().max(self.poll_interval_min.as_secs_f64());
                // While a queue drains, the window is the rate out of the queue times the round trip through it. A smaller window would
                // leave a gap behind the queue; a larger one would fill a path whose rate has fallen before the sender knows of it.
                let through = self.path.samples.last_rtt().map_or(rtt, |rtt| rtt.as_secs_f64());
                // An answer's wait on the return path is not a part of this queue, but the window must cover it.
                let waited = self.path.samples.waited();
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

    /// The configured maximum rate, or infinity.
    pub fn highest(&self) -> f64 {
        self.bounds.highest
    }

    /// The last answer's wait on the way back, seconds.
    pub fn waited(&self) -> f64 {
        self.path.samples.waited()
    }

    pub fn learning(&self) -> bool {
        match self.phase {
            RatePhase::Promised(doubt) => doubt.is_urgent(),
            RatePhase::Cruise { .. } | RatePhase::Compete { .. } => false,
            _ => true,
        }
    }

    pub fn on_trial_from(&self) -> u64 {
        self.trial.first
    }

    /// Longest time by which one packet passes another; zero if none has of late.
    pub fn reordering_window(&self) -> Span {
        if self.path.samples.reorders() {
            Span::from_secs_f64(PASSES * self.path.samples.unrest())
        } else {
            Span::ZERO
        }
    }

    /// Returns true while the rate is the promised one.
    pub fn keeps_promise(&self) -> bool {
        matches!(self.phase, RatePhase::Promised(_))
    }

    pub fn reached(&self) -> Option<f64> {
        match self.phase {
            RatePhase::Cruise { .. } | RatePhase::Compete { .. } => {
                Some(self.confirmed.rate().min(self.rate))
            }
            _ => None,
        }
    }

    /// Returns true if a POLL belongs on the new packet of this number.
    pub fn asks(&self, number: u64, first: u64) -> bool {
        match self.phase {
            RatePhase::Start => {
                let from = if self.opening.first == u64::MAX { first } else { self.opening.first };
                let packets = self.opening.first_packets;
                let cuts = |begun: u64| [0, packets / 2, packets - 1].contains(&number.wrapping_sub(begun));
                cuts(from) || self.opening.resumed.is_some_and(cuts)
            }
            RatePhase::Proof { train, .. } => train.asks(number),
            RatePhase::Promised(_) => Self::asks_of_promise(number - first),
            _ => false,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        // The least rate keeps measurements coming. Where a queue is longer than the path they can be more than it carries.
        let floor = self.path.floor.seconds();
        let queue = self.path.queue(Time::ZERO).filter(|queue| *queue > floor).unwrap_or(0.0);
        let least = self.least.over((floor + queue).max(self.poll_interval_min.as_secs_f64()));
        let least = self.share.map_or(least, |share| share.clamp(least / 2.0, least));
        self.rate = rate.max(least).clamp(self.bounds.lowest, self.bounds.highest.max(self.bounds.lowest));
    }

    /// Sends even less than the least rate while most of it is lost, though no queue is seen: others may have filled it before this flow
    /// began.
    fn lower_least(&mut self, now: Time) {
        let follows = matches!(
            self.phase,
            RatePhase::Climb { .. } | RatePhase::Cruise { .. } | RatePhase::Compete { .. }
        );
        if !follows || self.packets() > LEAST {
            return;
        }
        let span = Span::from_secs_f64(0.7 * self.path.floor.seconds());
        if let Some(sample) = self.least.judge(now, &self.path.samples, span) {
            let rate = self.rate.min(self.carried(&sample));
            match self.phase {
                RatePhase::Cruise { .. } => self.set_rate(rate),
                _ => self.cruise(now, rate),
            }
        }
    }

    fn cruise(&mut self, now: Time, rate: f64) {
        self.cap = f64::INFINITY;
        self.share = None;
        self.losses.abandon_test();
        self.phase = RatePhase::Cruise { since: now };
        self.set_rate(rate);
    }

    /// Target delay of the queue, seconds, including jitter.
    fn target(&self) -> f64 {
        (self.fair_target() + self.allowance()).max(self.jitter())
    }

    /// Largest delay of the queue at which the rate may begin to increase, seconds.
    fn begins_below(&self) -> f64 {
        (0.5 * (self.fair_target() + self.allowance())).max(self.jitter())
    }

    /// Largest delay of the queue at which an increase goes on, seconds.
    fn climbs_below(&self) -> f64 {
        (0.5 * self.fair_target() + self.allowance()).max(self.jitter())
    }

    /// Largest jitter that keeps the order, at this flow's rate, seconds.
    fn jitter(&self) -> f64 {
        self.path.jitter(self.packet_at(self.rate))
    }

    /// Part of the target that jitter of round trips without a queue needs, seconds.
    fn allowance(&self) -> f64 {
        1.5 * self.path.samples.unrest()
    }

    /// Packets in a round trip without a queue, one at least.
    fn packets(&self) -> f64 {
        (self.rate * self.path.floor.seconds() / self.mss).max(1.0)
    }

    /// Target delay without jitter, seconds: shorter for a faster flow, so that all flows converge to the same rate.
    fn fair_target(&self) -> f64 {
        let floor = self.path.floor.seconds();
        let fair = (TARGET * floor / self.packets().sqrt()).min(floor / 2.0);
        // A queue shorter than two of this flow's packets cannot be kept: each packet is one.
        let least = (SHORTEST * floor / self.packets()).min(fair);
        (fair * self.losses.scale).max(least).max(0.001)
    }

    /// Time of one packet on the path, as far as it is known, seconds.
    fn packet(&self) -> f64 {
        self.packet_at(self.rate.max(self.confirmed.rate()))
    }

    fn packet_at(&self, rate: f64) -> f64 {
        if rate > 0.0 { self.mss / rate } else { UNKNOWN }
    }

    /// Returns true if no POLL sent since `from` has measured a queue. A delay that jitter explains is none, unless losses come with it.
    fn empty(&self, from: Time) -> bool {
        let by_jitter = |queue| queue < LITTLE * self.jitter() && !self.losses.grow_with_queue(queue);
        self.path
            .longest_queue(from)
            .is_some_and(|queue| queue < self.path.little(self.packet()) || by_jitter(queue))
    }

    /// This flow's share of the path, if each POLL of the sample has measured a queue. The channel may have lost packets behind the queue:
    /// they count, up to the highest rate confirmed of late.
    fn share_of_queue(&self, sample: &PollSample) -> Option<f64> {
        let stands = self.path.shortest_queue(sample.sent_from)? > self.path.little(self.packet());
        stands.then(|| self.carried(sample).max(sample.arrives_and_lost().min(self.confirmed.highest())))
    }

    /// Returns true if a queue is the cause of what a sample lost, as losses come with it: that counts as a mark.
    fn blames_queue(&mut self, now: Time, sample: &PollSample) -> bool {
        let queue = self.path.longest_queue(sample.sent_from).unwrap_or(0.0);
        self.losses.count_by_queue(sample, queue);
        !self.varies_by_chance() && self.losses.blames_queue(now, sample, queue)
    }

    pub fn on_feedback(&mut self, signals: &AnswerSignals) -> bool {
        let AnswerSignals { now, feedback, .. } = *signals;
        // A window that was not used has not been shown to be too small (RFC 7661 §4.3).
        let opens = self.phase == RatePhase::Start && (signals.busy || self.opening.is_closed());
        self.opening.cwnd += if opens { feedback.acked as f64 } else { 0.0 };
        self.opening.heard += feedback.acked;
        if let RatePhase::Proof { left, .. } = &mut self.phase {
            *left -= feedback.acked as f64;
            self.trial.lost += feedback.lost_on_trial;
        }
        if self.overshoots(signals) {
            return true;
        }
        let Some(answer) = feedback.answer else { return false };
        let telling = match self.phase {
            _ if self.varies_by_chance() => TellingLosses::None,
            RatePhase::Compete { .. } => TellingLosses::Any,
            _ => TellingLosses::Overloads,
        };
        let risen = self.path.add(now, answer, telling);
        match self.phase {
            RatePhase::Promised(_) if risen => self.pardon(now),
            // There is no rate yet that could be held, and the first packets wait for each other.
            RatePhase::Promised(_) | RatePhase::Start => {}
            // A short train has left before its answers, and what left before a long one met the first packets' queue.
            RatePhase::Proof { train, .. }
                if train.is_short(self.path.floor.seconds()) || answer.sent_at < train.begins => {}
            _ => self.hold(risen),
        }
        if std::mem::take(&mut self.silent) && self.end_silence(signals) {
            return false;
        }
        if self.has_outwaited(&answer) {
            self.path.samples.forget();
            return false;
        }
        self.look(signals);
        let before = self.rate;
        self.lower_least(now);
        if self.is_marked(now, &answer) && self.marked(signals) {
            return true;
        }
        match self.phase {
            RatePhase::Start => self.start(signals),
            RatePhase::Promised(doubt) => self.promised(signals, doubt),
            RatePhase::Proof { train, rate, until, .. } => self.prove(signals, train, rate, until),
            RatePhase::Climb { aim, since, step } => self.climb(signals, aim, since, step),
            RatePhase::Cruise { since } => self.steady(signals, since),
            RatePhase::Compete { .. } => self.compete(signals),
        }
        self.rate < CARRIED * before
    }

    /// Reduces the rate to a quarter while the cause of a longer round trip is unknown, and restores it if the path has become longer.
    fn hold(&mut self, risen: bool) {
        let waited = self.path.have_waited();
        match (self.held, self.path.floor.steps()) {
            (None, true) if !waited => {
                self.held = Some(self.rate);
                self.set_rate(self.rate / 4.0);
            }
            (Some(rate), true) if waited => {
                self.held = None;
                self.set_rate(rate);
            }
            (Some(rate), false) => {
                self.held = None;
                let latest = self.path.samples.latest(Span::ZERO, Time::ZERO);
                if risen || waited || !latest.is_some_and(|sample| sample.full()) {
                    self.set_rate(rate);
                } else {
                    // The cause was a queue: this flow's share of the path is the part of its rate that arrives. The samples at a quarter
                    // of the rate are dropped, since they do not show the share at the whole rate.
                    let short = self
                        .path
                        .samples
                        .latest(Span::from_secs_f64(LATELY * self.path.floor.seconds()), Time::ZERO);
                    let part = short.map_or(0.5, |sample| sample.arrives() / sample.leaves().max(1.0));
                    self.set_rate(rate * part.clamp(0.25, QUEUED));
                    self.path.samples.forget();
                }
            }
            _ => {}
        }
    }

    /// Returns true if the channel loses packets or lets them pass each other, so that a loss may be due to chance.
    fn varies_by_chance(&self) -> bool {
        self.losses.usual() > LOSSY || self.path.samples.reorders()
    }

    /// Rate at which packets arrive, corrected for the channel's losses. What has waited for the most delayed of its packets arrives
    /// together, and shows no rate that was never sent.
    fn carried(&self, sample: &PollSample) -> f64 {
        let known = (TOGETHER * sample.leaves()).max(self.confirmed.ever());
        (sample.arrives() / (1.0 - self.losses.usual())).min(known)
    }

    /// Rate at which the queue reaches its target within a few round trips, if `rate` is this flow's share of the path.
    fn drained(&self, signals: &AnswerSignals, rate: f64) -> f64 {
        let Some(answer) = self.path.samples.last() else { return rate };
        let Some(last) = self.path.queue_of(answer) else { return rate };
        // Time that the bytes sent since that POLL need to leave the bottleneck, without the time that has passed.
        let left = (signals.bytes - answer.bytes).max(0.0) / rate.max(1.0);
        let coming = left - signals.now.since(answer.sent_at).as_secs_f64();
        let seen = self.path.queue(Time::ZERO).unwrap_or(0.0).min(last);
        let target = if self.path.floor.due(signals.now) { 0.0 } else { self.target() };
        let surplus = (target - (seen + coming).max(0.0)) / self.path.floor.seconds();
        pulled(rate, surplus)
    }

    fn steady(&mut self, signals: &AnswerSignals, since: Time) {
        let AnswerSignals { now, busy, .. } = *signals;
        if self.path.floor.steps() {
            return;
        }
        let floor = self.path.floor.seconds();
        let rtt = signals.srtt.map_or(floor, |srtt| srtt.as_secs_f64().max(floor));
        if let Some(test) = self.losses.test.as_ref().and_then(|test| test.running) {
            return self.test_channel(now, test, rtt);
        }
        let grain = Span::from_secs_f64((0.7 * floor).max(NOISE * self.path.samples.unrest()));
        let Some(sample) = self.path.samples.latest(grain, Time::ZERO) else { return };
        let (arrives, leaves) = (self.carried(&sample), sample.leaves());
        let (queue, target) = (self.path.queue(Time::ZERO).unwrap_or(0.0), self.target());
        let whole = now.since(self.round).as_secs_f64() >= rtt;
        if whole && self.begins_test(now, grain) {
            return;
        }
        // Where few packets are in a round trip, losses of the rate's own are judged over several.
        let judged = if sample.sent < JUDGED && self.losses.owns(now, self.rate) {
            self.path.samples.latest_of(JUDGED, grain, self.round)
        } else {
            Some(sample)
        };
        if whole && let Some(judged) = judged.filter(|judged| self.is_fresh(judged)) {
            self.round = now;
            if self.judge(signals, &judged, queue, target) {
                return;
            }
        }
        let free = queue < self.begins_below();
        if free && self.share.is_none() {
            // The least rate is higher since a queue has gone, or the path is shorter.
            self.set_rate(self.rate);
        }
        let settled = sample.sent_from >= since;
        if !free {
            // The rate at which this flow's packets leave a queue is its share of the path.
            let short = Span::from_secs_f64((LATELY * floor).max(NOISE * self.path.samples.unrest()));
            let short = self.path.samples.latest(short, Time::ZERO);
            if !short.unwrap_or(sample).full() {
                // All that was sent arrives: the path may carry more, and the queue is not of this rate's making.
                return;
            }
            let share = short.map_or(arrives, |sample| self.carried(&sample));
            if queue > target {
                self.share = Some(share);
            }
            let least = self.least_after(&sample, rtt);
            self.set_rate(self.drained(signals, share).max(least));
        } else if let Some(share) = self.share.take() {
            // The queue has drained: its packets left at the path's rate.
            self.set_rate(share);
        } else if settled && busy && self.rival.calm_for() >= self.climbs_wait {
            // There is no queue: the path carries the present rate, and may carry more.
            if sample.full() {
                self.confirmed.confirm(now, arrives.min(leaves));
            }
            let carried = arrives >= CARRIED * leaves || self.loses_by_chance(&sample);
            let below = self.rate < self.bounds.highest;
            if carried && leaves >= CARRIED * self.rate && !self.trusts(now) && below {
                self.step_up(signals, 0);
            }
        }
    }

    /// Rate below which one sample does not lower it: slots that are assigned on demand follow what left a round trip before, and round
    /// trips vary with them, but not by jitter alone.
    fn least_after(&self, sample: &PollSample, rtt: f64) -> f64 {
        let even = (UNEVEN * self.path.floor.seconds()).max(SLOTS + self.packet());
        let uneven = self.path.samples.unrest() > even && self.is_steady();
        let Some([before, last]) = self.path.samples.last_answers().filter(|_| uneven && sample.lost() == 0)
        else {
            return 0.0;
        };
        self.rate * FALLS.powf(last.sent_at.since(before.sent_at).as_secs_f64() / rtt)
    }

    /// Returns true if a sample may be judged. One that lacked data reaches far back, and no packet is to count twice.
    fn is_fresh(&self, sample: &PollSample) -> bool {
        sample.full() || sample.sent_from + self.path.floor.get().unwrap_or_default() >= self.round
    }

    /// Returns true if chance explains what a sample lost that has too few packets for its losses to be learnt.
    fn loses_by_chance(&self, sample: &PollSample) -> bool {
        let (lost, sent) = (sample.lost(), sample.sent);
        sent < JUDGED && 2 * lost <= sent && !self.losses.beyond(lost as f64, sent as f64)
    }

    /// Judges losses and the queue once in a round trip. Returns true if the phase has changed.
    fn judge(&mut self, signals: &AnswerSignals, sample: &PollSample, queue: f64, target: f64) -> bool {
        let now = signals.now;
        let floor = self.path.floor.seconds();
        let longer = self.add_round(sample, queue);
        let free = self.is_free(now, sample.sent_from);
        if self.losses.judge(now, sample, free) {
            self.congested(signals, sample);
            return true;
        }
        if self.blames_queue(now, sample) {
            return self.marked(signals);
        }
        self.rival.calm();
        if let Some(rate) = longer {
            self.lengthen(signals, sample, rate);
            return true;
        }
        if queue > floor / 8.0 && (queue > 1.5 * target || self.rival.starves(self.rate)) {
            let carried = self.carried(sample);
            if let Some(before) = self.rival.stands(self.rate, queue, carried, self.varies_by_chance()) {
                self.rivals(now, 0.7 * before, true);
                return true;
            }
        } else {
            self.rival.gone();
        }
        false
    }

    /// Notes a round trip with what seemed a queue. Returns the highest rate of the last ones if that is a part of the path.
    fn add_round(&mut self, sample: &PollSample, queue: f64) -> Option<f64> {
        let lost = self.losses.exceed_shorter(sample, queue);
        let packets = if matches!(self.phase, RatePhase::Compete { .. }) { DIFFER.1 } else { DIFFER.0 };
        let round = RateRound { queue, back: self.path.samples.waited(), rate: sample.leaves() };
        let grain = packets * self.packet();
        self.path.floor.add_round(round, lost, self.confirmed.highest(), grain)
    }

    /// Takes what seemed a queue for a part of the path, over which half of `rate` is sent, and then all of it.
    fn lengthen(&mut self, signals: &AnswerSignals, sample: &PollSample, rate: f64) {
        if !self.path.lengthen(signals.now, sample.sent_from) {
            return;
        }
        // The rates of samples that lacked data are those of the application.
        let rate = if sample.full() { rate } else { rate.max(self.rate) };
        self.rival.gone();
        // A share of a queue that was none is no bound of what may be in flight.
        self.share = None;
        self.begin_climb(signals, rate / 2.0, Some(rate), 0);
    }

    /// Reduces the rate after losses from congestion, to the arrival rate; after repeated losses it begins to compete with other flows.
    fn congested(&mut self, signals: &AnswerSignals, sample: &PollSample) {
        let arrives = self.carried(sample);
        if sample.full() {
            self.confirmed.lower(arrives);
        }
        let own = self.losses.owns(signals.now, self.rate) && self.empty(sample.sent_from);
        let others = if sample.is_overload() || own {
            self.rival.overload();
            false
        } else {
            self.rival.lost(self.share_of_queue(sample))
        };
        if others {
            self.rivals(signals.now, 0.7 * self.rate, false);
        } else {
            // At least the share that RFC 9438 keeps, since the arrival rate may be low for lack of data, and the queue's delay may
            // have reduced the rate already.
            let kept = if own { OWN_KEPT } else { 0.85 };
            self.cruise(signals.now, (kept * arrives).max(0.7 * self.rate));
        }
    }

    fn rivals(&mut self, now: Time, rate: f64, deep: bool) {
        let rtt = self.path.samples.last().map_or(0.1, |answer| answer.rtt.as_secs_f64());
        let cubic = CubicWindow::cut_to(now, rate * rtt / self.mss);
        self.rival = Rival::default();
        self.losses.abandon_test();
        self.phase = RatePhase::Compete { cubic, look: None, deep };
        self.set_rate(1.05 * cubic.window * self.mss / rtt);
    }

    fn compete(&mut self, signals: &AnswerSignals) {
        let AnswerSignals { now, busy, .. } = *signals;
        let RatePhase::Compete { mut cubic, mut look, mut deep } = self.phase else { return };
        let floor = self.path.floor.seconds();
        let rtt = signals.srtt.map_or(floor, |srtt| srtt.as_secs_f64().max(floor));
        let queue = self.path.queue(Time::ZERO).unwrap_or(0.0);
        let sample = self.path.samples.latest(Span::from_secs_f64(rtt), Time::ZERO);
        if busy && sample.is_none_or(|sample| sample.full()) {
            cubic.grow(now, rtt);
        } else {
            cubic.pause(now);
        }
        let chance = self.varies_by_chance();
        if now.since(self.round).as_secs_f64() >= rtt
            && let Some(sample) = sample.filter(|sample| self.is_fresh(sample))
        {
            self.round = now;
            if let Some(rate) = self.add_round(&sample, queue) {
                self.lengthen(signals, &sample, rate);
                return;
            }
            let empty = self.empty(sample.sent_from);
            let _ = self.losses.judge(now, &sample, empty);
            // Without a queue a few losses are the channel's.
            let lost = self.losses.any(&sample) && (!empty || self.losses.is_too_much(&sample));
            if lost && sample.sent_from >= cubic.cut_at() {
                deep |= queue > self.target();
                cubic.cut(now);
                look = (deep && cubic.is_to_look()).then(|| now + Span::from_secs_f64(2.0 * rtt));
            }
        }
        let small = queue < 0.5 * self.target();
        let free = cubic.window > 1.5 * cubic.w_max && small;
        let emptied = look.is_some() && small;
        // After so many round trips without a queue no other flow fills it.
        let while_alone = Span::from_secs_f64(ALONE * rtt);
        let begun = Time::from_nanos(now.as_nanos().saturating_sub(while_alone.as_nanos()));
        let alone = chance && cubic.cut_at() < begun && self.empty(begun);
        // A queue that went much faster than it was fed, and without a loss, has left at a rate that the path did not have before.
        let widened = small
            && self.confirmed.highest() > WIDER.1 * self.rate
            && sample
                .is_some_and(|sample| sample.arrives() > WIDER.0 * sample.leaves() && sample.lost() == 0);
        if free || emptied || alone || widened {
            let arrives = sample.filter(PollSample::full).map_or(self.rate, |sample| sample.arrives());
            self.cruise(now, if widened { arrives.min(self.rate) } else { arrives });
            return;
        }
        look = look.filter(|until| now < *until);
        let mut rate = 1.05 * cubic.window * self.mss / rtt;
        if look.is_some() {
            // Check that the queue drains when this flow sends less.
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
