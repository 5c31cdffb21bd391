//! The start of the rate by delay: trains of packets, and when they are believed.
//!
//! Follows docs/stp.md §8.3 rule 5, and RFC 9959 §4 for the saved rate of an earlier connection.
//! Differs from one train: a longer one tests what the first has shown, and one that lacked data shows nothing.
//! Leaves out how a train is read (`start`) and the rate afterwards (`delay`).

use super::super::AnswerSignals;
use super::super::samples::PollSample;
use super::super::start::{StartTrain, TRAINS, TrainResult};
use super::climb::STEPS;
use super::{Delay, RatePhase, RateTrial};
use skyhop_units::{Span, Time};

/// Factor of a train's length over the preceding train: if the parts of that one agreed, and if not.
const LONGER: (u64, u64) = (12, 4);
/// Duration of the first packets from which on they were spread, and not sent together, seconds.
const SPREAD: f64 = 0.001;
/// Part of a round trip from the end of a short train to the POLL that shows who else has begun.
const LATER: f64 = 0.1;
/// Part of the tested rate below which the result of a train suggests that others have begun: two trains at once get half each.
const SLOWER: f64 = 0.5;
/// First step of a climb from a share of the path: it is known, but not exactly.
const SHARED: usize = 1;
/// Part of a train whose loss tells that others came at the same time.
const CROWDED: f64 = 0.25;
/// Part of a train whose loss tells that a path of which nothing is known does not carry such trains.
const NEARLY_ALL: f64 = 0.75;

/// Packets that wait from which on a train is worth its losses.
const MUCH: u64 = 64;
/// Round trips that the packets of a train would take to arrive, as those before it did, from which on the rate doubles instead.
const LONGEST: f64 = 4.0;
/// Round trips that a train at the configured maximum rate lasts, at most.
const BOUNDED: f64 = 1.3;

impl Delay {
    /// Notes that the packet of this number comes after a pause: if those before it lacked data, it begins the first train.
    pub fn resume_data(&mut self, next: u64) {
        let complete = |begun| next >= begun + self.opening.first_packets;
        if !self.opening.resumed.is_some_and(complete) {
            self.opening.resumed = Some(next);
        }
    }

    /// True if the packet of this number leaves with those before it, which came after a pause.
    pub fn leaves_together(&self, number: u64) -> bool {
        let begun = self.opening.resumed.filter(|_| self.phase == RatePhase::Start);
        begun.is_some_and(|begun| number < begun + self.opening.first_packets)
    }

    pub(super) fn start(&mut self, signals: &AnswerSignals) {
        let Some(answer) = self.path.samples.last().copied() else { return };
        if signals.feedback.lost > 0 {
            // RFC 9959 §4: a saved rate is used only if the first data arrive without loss.
            self.opening.saved = None;
        }
        if self.opening.first == u64::MAX {
            self.opening.first = answer.next - answer.sent.min(answer.next);
        }
        if answer.next < self.opening.first + self.opening.first_packets {
            return;
        }
        let mut train = StartTrain {
            first: self.opening.first,
            end: self.opening.first + self.opening.first_packets,
            begins: Time::ZERO,
            leaves_in: 0.0,
        };
        if let Some(sample) = self.path.samples.all_of(train.first + 1, train.end) {
            if !sample.full() {
                // These packets came one by one, so those after the last pause are the train, or the next ones are to be.
                let resumed = self.opening.resumed.take().filter(|begun| *begun > train.first);
                self.opening.first = resumed.unwrap_or(signals.next);
                return;
            }
            train.leaves_in = sample.left_in;
        }
        let begun = self.path.samples.begun(train.first + 1);
        let over_silence = begun.is_some_and(|begun| begun < self.known);
        let most_lost = |sample: &PollSample| {
            let most = sample.sent.max(self.opening.first_packets - 1);
            // The first POLL may have come after packets behind it: then the counts of all that was sent tell that they have arrived.
            2 * sample.lost().min(answer.sent.saturating_sub(answer.arrived)) > most
        };
        if let Some(begun) = begun
            && let Some(sample) = self.path.samples.since(begun).filter(most_lost)
        {
            // The path carries no such trains: the next one tests what arrived of this one, once a later POLL tells that the rest is not
            // only late. For few data, and for few packets in a round trip, that would be too much: the rate doubles.
            if answer.sent_at >= begun + Span::from_secs_f64(LATER * self.path.floor.seconds()) {
                let arrives = sample.arrives();
                let packets = 2 * self.opening.first_packets;
                let long = packets as f64 * self.mss > LONGEST * arrives * self.path.floor.seconds();
                match signals.waiting > MUCH {
                    true if over_silence && !self.opening.renewed => self.opening.renew(signals.next),
                    true if !long => self.train(signals, packets, arrives, false),
                    _ => self.begin_climb(signals, arrives, None, STEPS.len() - 1),
                }
            }
            return;
        }
        let result = match train.read(&self.path.samples) {
            // Packets that were spread over a part of a round trip say nothing of a faster path.
            TrainResult::More(rate) if train.leaves_in > SPREAD && !self.is_maximum(rate) => {
                TrainResult::Unsure(None)
            }
            // An outage makes the parts differ, and the whole train slower.
            TrainResult::Unsure(_)
                if over_silence || train.paused(&self.path.samples, self.path.floor.seconds()) =>
            {
                TrainResult::Unsure(train.fastest(&self.path.samples))
            }
            result => result,
        };
        // If one part was measured, as a POLL was lost, none disagrees.
        let single = self.path.samples.parts(train.first + 1, train.end, Time::MAX).count() == 1;
        let rtt = answer.rtt;
        let alike = self.opening.saved.filter(|saved| {
            rtt.as_nanos() >= saved.rtt.as_nanos() / 2 && rtt.as_nanos() <= saved.rtt.as_nanos() * 10
        });
        let saved = alike.map(|saved| saved.rate.as_bps() as f64 / 8.0);
        match (result, saved) {
            // The path's rate has fallen if packets arrive at less than half of the saved rate.
            (TrainResult::Rate(rate), Some(saved)) if 2.0 * rate > saved => {
                self.begin_climb(signals, rate.min(saved / 2.0), Some(rate.max(saved)), 0);
            }
            (TrainResult::Unsure(_) | TrainResult::More(_), Some(saved))
                if 5 * self.opening.heard >= 2 * self.opening.cwnd as u64 =>
            {
                self.begin_climb(signals, saved / 2.0, Some(saved), 0);
            }
            (TrainResult::Rate(rate), _) => {
                self.train(signals, LONGER.0 * self.opening.first_packets, rate, true)
            }
            (TrainResult::Unsure(Some(rate)), _) if single => {
                self.train(signals, LONGER.0 * self.opening.first_packets, rate, false);
            }
            (TrainResult::Unsure(rate), _) => {
                let rate = rate.unwrap_or(f64::INFINITY);
                self.train(signals, LONGER.1 * self.opening.first_packets, rate, false);
            }
            (TrainResult::More(rate), _) if self.is_maximum(rate) => {
                self.train(signals, LONGER.0 * self.opening.first_packets, rate, true);
            }
            (TrainResult::More(rate), _) => {
                self.train(signals, LONGER.1 * self.opening.first_packets, rate, false)
            }
        }
    }

    /// Sends the next train, faster than the estimated rate of the path.
    pub(super) fn train(&mut self, signals: &AnswerSignals, packets: u64, rate: f64, sure: bool) {
        let floor = self.path.floor.seconds();
        let (packets, pace) = self.opening.next(packets, rate, floor, sure);
        self.train_of(signals, packets, rate, pace);
    }

    /// Sends a train of so many packets at this pace, to test `rate`.
    fn train_of(&mut self, signals: &AnswerSignals, packets: u64, rate: f64, pace: f64) {
        let floor = self.path.floor.seconds();
        // The maximum rate may be less than the pace: then the train need not outlast a round trip by far.
        self.set_rate(pace);
        let fills = (BOUNDED * self.rate * floor / self.mss) as u64;
        let bounded = self.rate < pace && self.rate == self.bounds.highest;
        let packets = if bounded { packets.min(fills.max(2 * self.opening.first_packets)) } else { packets };
        let leaves_in = packets as f64 * self.mss / self.rate;
        let (first, begins) = (signals.next, signals.now);
        let train = StartTrain { first, end: first + packets, begins, leaves_in };
        let until =
            signals.now + Span::from_secs_f64(1.2 * floor + self.path.samples.waited() + 3.0 * leaves_in);
        self.trial = RateTrial { first, rate: self.rate, ..RateTrial::default() };
        self.phase = RatePhase::Proof {
            train,
            rate,
            // Packets that wait to be sent again leave first, and are in flight with the train.
            left: signals.in_flight as f64 + (packets + signals.repeats + 1) as f64 * self.mss,
            until,
        };
    }

    pub(super) fn prove(&mut self, signals: &AnswerSignals, train: StartTrain, rate: f64, until: Time) {
        let Some(answer) = self.path.samples.last().copied() else { return };
        // A queue of others delays the answers to a short train.
        let short = train.is_short(self.path.floor.seconds());
        let waited =
            if short { answer.sent_at + self.path.floor.get().unwrap_or_default() } else { signals.now };
        let all =
            answer.next >= train.end || (answer.next == signals.next && !signals.busy) || waited >= until;
        let result = match train.read(&self.path.samples) {
            TrainResult::Rate(rate) if self.opening.marked => TrainResult::Rate(rate / 2.0),
            result => result,
        };
        let packets = train.packets();
        let floor = self.path.floor.seconds();
        let sent = train.end.min(signals.next) - train.first;
        let most_lost = f64::from(self.trial.lost) > NEARLY_ALL * sent.max(1) as f64;
        // The first packets were lost, too: what waits to be sent again is not to leave at this pace.
        let none = 2 * answer.arrived < self.opening.first_packets;
        let all = all || (none && most_lost && sent >= self.opening.first_packets);
        // A burst of losses may have been the end of one train, but not of two.
        let nothing = (self.opening.trains > 1 || none) && result == TrainResult::Unsure(None);
        if all && nothing && most_lost {
            // Nothing is known but that the path carries less: the rate doubles from these bytes in a round trip.
            let packets = if none { self.opening.first_packets } else { sent };
            return self.begin_climb(signals, packets as f64 * self.mss / floor, None, STEPS.len() - 1);
        }
        if all
            && (signals.next < train.end
                || self.path.samples.all_of(train.first + 1, train.end).is_some_and(|sample| !sample.full()))
        {
            let sample = self.path.samples.latest(Span::from_secs_f64(floor / 2.0), Time::ZERO);
            let most_lost = sample.is_some_and(|sample| 2 * sample.lost() > sample.sent);
            if most_lost || signals.repeats >= self.opening.first_packets {
                // The data have ended, and much of them was lost: more at this pace would be lost as well.
                let rate = self.opening.first_packets as f64 * self.mss / floor;
                return self.begin_climb(signals, rate, None, STEPS.len() - 1);
            }
            let begun = self.path.samples.begun(train.first + 1).filter(|_| signals.held_back);
            let sample = begun.and_then(|begun| self.path.samples.since(begun)).filter(PollSample::full);
            if let Some(sample) = sample {
                // The host, which serves others, has let fewer leave: at that rate the path has been tested.
                return self.begin_climb(signals, self.carried(&sample), None, STEPS.len() - 1);
            }
            // The application had too few data for a train: the next data are another. If all of it was sent in the end, the next one is
            // twice as long, as in slow start, so that data that come little by little are not held up.
            let longer = if signals.next < train.end { 1 } else { 2 };
            return self.train_of(signals, longer * train.packets(), rate, self.rate);
        }
        // A longer train would give no better estimate once a train fills the path.
        let long = |rate: f64| packets as f64 * self.mss > rate * floor / 4.0;
        let late = train.begins + Span::from_secs_f64(train.leaves_in + floor * LATER);
        let mut crowded = f64::from(self.trial.lost) > CROWDED * packets as f64;
        if all && crowded && short {
            // Reports name packets that are only late, too; a later POLL tells how many have come.
            if answer.sent_at < late {
                return;
            }
            let begun = self.path.samples.begun(train.first + 1);
            let lost =
                begun.and_then(|begun| self.path.samples.since(begun)).map(|sample| sample.lost() as f64);
            crowded = lost.is_none_or(|lost| lost > CROWDED * packets as f64);
        }
        // A short train that came out slower than what it tests is judged by a later POLL: others may have begun.
        let slower = match result {
            TrainResult::Rate(seen) | TrainResult::Unsure(Some(seen)) | TrainResult::More(seen) => {
                rate.is_finite() && seen < SLOWER * rate
            }
            TrainResult::Unsure(None) => false,
        };
        if all && slower && short {
            if answer.sent_at < late {
                return;
            }
            if let Some((share, queued)) = self.share_among(&train) {
                self.known = signals.now;
                return self.begin_climb(signals, share, None, if queued { 0 } else { STEPS.len() - 1 });
            }
        }
        // Trains of others disturb the parts of this one; longer trains would only meet more of them.
        let busy = |rate: f64| packets as f64 * self.mss / rate;
        let others = |rate: f64| all && short && self.lookout.others(train.begins, busy(rate), floor) > 0.0;
        match result {
            // The result of a train that keeps the path busy is used before its end; a short one is read to the end, which shows
            // other flows.
            TrainResult::Rate(rate) if train.leaves_in > floor / 4.0 => self.believe(signals, packets, rate),
            _ if !all => {}
            TrainResult::Rate(rate) => self.believe(signals, packets, rate),
            // No longer train could be faster.
            TrainResult::More(rate) if self.is_maximum(rate) && !crowded => {
                self.believe(signals, packets, self.bounds.highest);
            }
            // Other flows started at the same time: half of the rate that arrived.
            TrainResult::Unsure(Some(rate)) | TrainResult::More(rate) if crowded => {
                self.believe(signals, packets, rate / 2.0)
            }
            // Too few packets arrived in order for a measurement: the rate doubles, beginning with the train's bytes in a round trip.
            TrainResult::Unsure(None) if crowded || self.opening.trains > TRAINS => {
                self.begin_climb(signals, packets as f64 * self.mss / floor, None, STEPS.len() - 1);
            }
            TrainResult::Unsure(Some(rate)) if others(rate) || long(rate) || self.opening.trains > TRAINS => {
                self.believe(signals, packets, rate);
            }
            TrainResult::More(rate) if long(rate) => {
                self.cap = f64::INFINITY;
                self.begin_climb(signals, rate, None, STEPS.len() - 1);
            }
            TrainResult::Unsure(Some(rate)) => self.train(signals, LONGER.1 * packets, rate, false),
            TrainResult::More(more) => self.train(signals, LONGER.1 * packets, 2.0 * more, false),
            TrainResult::Unsure(None) => self.train(signals, 2 * packets, rate, false),
        }
    }

    /// The train's share of all that left the bottleneck from the beginning of the queue that it met to the last POLL, if its first or
    /// the last POLL met a queue; and whether the last one did.
    fn share_among(&self, train: &StartTrain) -> Option<(f64, bool)> {
        let (first, last) = (self.path.samples.first_of(train.first + 1)?, self.path.samples.last()?);
        let little = (self.path.floor.seconds() / 32.0).max(0.004) + 4.0 * self.path.samples.unrest();
        let sample = self.path.samples.since(first.sent_at).filter(PollSample::full)?;
        let met = self.path.queue_of(first)?;
        let queued = self.path.queue_of(last)? > little;
        (queued || met > little).then(|| {
            let busy = sample.arrived_in + met;
            (sample.arrives() * sample.arrived_in / busy, queued)
        })
    }

    /// True of the rate of a train that came as it was sent, if that was at the configured maximum.
    fn is_maximum(&self, rate: f64) -> bool {
        rate >= 0.8 * self.bounds.highest
    }

    fn believe(&mut self, signals: &AnswerSignals, packets: u64, rate: f64) {
        self.opening.marked = false;
        let bytes = packets as f64 * self.mss;
        self.cap = 100.0 * bytes;
        let floor = self.path.floor.seconds();
        if let RatePhase::Proof { train, .. } = self.phase
            && train.is_short(floor)
        {
            let share = self.lookout.begin(train.begins, bytes, rate, floor);
            if share < 1.0 {
                return self.begin_climb(signals, rate * share, None, SHARED);
            }
        }
        self.begin_climb(signals, rate, Some(rate), 0);
    }

    /// The interval of POLLs that look for others who begin, if it is time to, while `bytes` wait.
    pub fn look_interval(&self, now: Time, since: Time, bytes: u64) -> Option<Span> {
        self.lookout.interval(now, since, self.path.samples.waited(), bytes as f64 / self.mss)
    }

    /// True while others who begin may be seen.
    pub fn looks(&self) -> bool {
        if !self.lookout.goes_on() {
            return false;
        }
        match self.phase {
            RatePhase::Start => true,
            RatePhase::Proof { train, .. } => train.is_short(self.path.floor.seconds()),
            RatePhase::Climb { .. } => self.lookout.has_begun(),
            _ => false,
        }
    }

    /// Looks for others who begin: each that is seen leaves less of the path to this flow.
    pub(super) fn look(&mut self, signals: &AnswerSignals) {
        if !self.lookout.goes_on() {
            return;
        }
        let Some([before, answer]) = self.path.samples.last_answers() else { return };
        let floor = self.path.floor.seconds();
        self.lookout.add(before, answer, self.path.samples.rtt(answer), floor);
        // A POLL that others have passed was late without a queue.
        if !self.looks() || self.path.samples.reorders() {
            return self.lookout.end();
        }
        if let RatePhase::Climb { .. } = self.phase
            && let Some(rate) = self.lookout.decreases(floor)
            && rate < self.rate
        {
            self.begin_climb(signals, rate, None, SHARED);
        }
    }
}
