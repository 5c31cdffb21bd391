//! The round trip without a queue, called the floor, and how a longer path is distinguished from a queue.
//!
//! Follows docs/stp.md §8.3: the smallest round trip of the last thirty seconds, or of fifty round trips if that is longer; a longer
//! path is accepted within two round trips.
//! Differs from a minimum over time alone: after a handover round trips are longer but even, and packets arrive at the rate at which
//! they were sent; with a queue round trips continue to grow.
//! Leaves out the reaction to a queue (`delay`).

use super::jitter::FloorJitter;
use super::samples::PollSamples;
use super::still::{RateRound, StillQueue};
use skyhop_units::{Span, Time};

/// Minimum time for which the smallest round trip is used.
const LIFE: Span = Span::from_secs(30);
/// Further increases after which longer round trips are attributed to a queue.
const STEPS: u32 = 1;

/// Round trips before the floor expires in which the queue is drained, so that the floor can be measured again.
const LOOK: u64 = 6;

/// Number of lives for which the floor is used while others fill the queue, which would otherwise become a part of the path, and the
/// least round trip, relative to the floor, that shows their queue.
const FILLED: (u64, f64) = (10, 1.125);

/// Round trips after a queue was found in which a jump is attributed to that queue.
const APART: f64 = 20.0;

/// Losses beside longer round trips that tell of a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TellingLosses {
    /// Chance loses packets or lets them pass each other.
    None,
    /// More than chance loses, whoever fills the queue.
    Overloads,
    /// Other flows fill the queue, which stands.
    Any,
}

/// Time for which `least` is used as the floor.
fn life(least: Span) -> Span {
    LIFE.max(Span::from_nanos(least.as_nanos().saturating_mul(50)))
}

#[derive(Debug, Default)]
pub(super) struct Floor {
    least: Option<(Span, Time)>,
    last: Option<Span>,
    /// Departure of the first POLL whose round trip was longer by a step, and the number of increases since.
    step: Option<(Time, u32)>,
    /// True after too many increases: longer round trips are attributed to a queue until they are short again.
    grows: bool,
    /// Time at which a step was last attributed to a queue.
    queued: Option<Time>,
    jitter: FloorJitter,
    still: StillQueue,
}

impl Floor {
    pub fn get(&self) -> Option<Span> {
        self.least.map(|(rtt, _)| rtt)
    }

    pub fn seconds(&self) -> f64 {
        self.get().map_or(0.1, |rtt| rtt.as_secs_f64()).max(1e-4)
    }

    /// Largest jitter of the path, seconds, if a packet of this flow takes `packet` seconds.
    pub fn jitter(&self, packet: f64) -> f64 {
        self.jitter.seconds(packet)
    }

    /// Returns true if the floor is about to expire: this flow must drain its queue so that the floor can be measured again.
    pub fn due(&self, now: Time) -> bool {
        self.least.is_some_and(|(least, at)| {
            now.since(at)
                > life(least).saturating_sub(Span::from_nanos(least.as_nanos().saturating_mul(LOOK)))
        })
    }

    /// Adapts to a return path that is longer than assumed by `moved` microseconds, or shorter if it is negative.
    pub fn shift(&mut self, moved: i64) {
        let moves = |rtt: &mut Span| {
            let us = (rtt.as_nanos() / 1000) as i64 + moved;
            *rtt = Span::from_micros(us.max(1) as u64);
        };
        if moved != 0 {
            self.least.iter_mut().for_each(|(rtt, _)| moves(rtt));
            self.last.iter_mut().for_each(moves);
        }
    }

    /// Starts again with the round trip of a new path.
    pub fn restart(&mut self, now: Time, rtt: Span) {
        self.least = Some((rtt, now));
        self.still.restart();
    }

    /// Adds a round trip, and true if it `lost` more than the channel does. Returns the highest rate of the last ones if what seemed a
    /// queue is a part of the path, which carries `capacity` and whose round trips differ by `grain` seconds whatever happens.
    pub fn add_round(&mut self, round: RateRound, lost: bool, capacity: f64, grain: f64) -> Option<f64> {
        self.still.add(round, lost);
        self.still.is_path(self.seconds(), capacity, grain)
    }

    /// Returns true if the round trip has grown by a step whose cause is unknown.
    pub fn steps(&self) -> bool {
        self.step.is_some()
    }

    /// Attributes longer round trips to a queue until they are short again.
    pub fn is_queued(&mut self, now: Time) {
        (self.step, self.grows, self.queued) = (None, true, Some(now));
    }

    /// Adds the round trip of a POLL that was sent at `sent_at`, whose answer is the last of `samples`, and what losses tell meanwhile.
    /// Returns true if the floor has risen because the path is longer.
    pub fn add(
        &mut self,
        now: Time,
        sent_at: Time,
        rtt: Span,
        samples: &PollSamples,
        telling: TellingLosses,
    ) -> bool {
        let before = self.last.replace(rtt).unwrap_or(rtt).as_secs_f64();
        let Some((least, at)) = self.least else {
            self.least = Some((rtt, now));
            return false;
        };
        self.jitter.add(samples, least.min(rtt));
        let stands = telling == TellingLosses::Any && rtt.as_secs_f64() > FILLED.1 * least.as_secs_f64();
        let lives = if stands { FILLED.0 } else { 1 };
        if rtt <= least || now.since(at).as_nanos() > life(least).as_nanos().saturating_mul(lives) {
            (self.least, self.step, self.grows) = (Some((rtt, now)), None, false);
            return false;
        }
        if rtt.saturating_sub(least).as_nanos() <= least.as_nanos() / 256 {
            self.least = Some((least, now));
        }
        let (this, least) = (rtt.as_secs_f64(), least.as_secs_f64());
        // Packets may wait for one that jitter has delayed by as much.
        let jitter = if samples.reorders() { 0.0 } else { self.jitter(0.0) };
        let long = this > 1.2 * least + 0.005 + 4.0 * samples.unrest() + jitter;
        if !long {
            (self.step, self.grows) = (None, false);
            return false;
        }
        match self.step {
            None if this > 1.15 * before && !self.grows && !self.rests(now, least) => {
                self.step = Some((sent_at, 0))
            }
            Some((_, often)) if this > 1.1 * before + 0.001 => {
                self.grows = often >= STEPS;
                self.queued = self.grows.then_some(now).or(self.queued);
                self.step = (!self.grows).then_some((sent_at, often + 1));
            }
            Some((since, _)) => return self.confirm(now, since, samples, telling),
            None => {}
        }
        false
    }

    /// Returns true if a step was attributed to a queue recently, so that the next one is too.
    fn rests(&self, now: Time, least: f64) -> bool {
        self.queued.is_some_and(|at| now.since(at).as_secs_f64() < APART * least)
    }

    /// Raises the floor if the path is longer: for half of a new round trip the round trips were even, and packets arrived at the rate
    /// at which they were sent. That is true of a full queue, too, but such a queue loses packets. Returns true if it did.
    fn confirm(&mut self, now: Time, since: Time, samples: &PollSamples, telling: TellingLosses) -> bool {
        let (Some(low), Some(high)) = (samples.least_rtt(since, 64), samples.most_rtt(since, 64)) else {
            return false;
        };
        let half = Span::from_nanos(low.as_nanos() / 2);
        if let Some(sample) = samples.latest(half, since) {
            let even = high.saturating_sub(low).as_secs_f64() < 0.1 * low.as_secs_f64() + 0.002;
            let as_sent = sample.arrived_in < 1.1 * sample.left_in + 0.002;
            self.step = None;
            let overflows = match telling {
                TellingLosses::None => false,
                TellingLosses::Overloads => sample.is_overload(),
                TellingLosses::Any => sample.lost() > 0,
            };
            self.grows = !(even && as_sent) || overflows;
            if !self.grows {
                (self.least, self.queued) = (Some((low, now)), None);
                return true;
            }
            self.queued = Some(now);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::PollAnswer;
    use super::*;

    /// Adds round trips of POLLs that are sent every `every` ms; returns the floor, and the number of round trips before it rose.
    fn feed(rtts: &[(u64, usize)], every: u64) -> (f64, Option<usize>) {
        feed_beside(rtts, every, TellingLosses::Overloads, 1.0)
    }

    /// The same if such losses tell of a queue, and a part of the packets arrives.
    fn feed_beside(
        rtts: &[(u64, usize)],
        every: u64,
        telling: TellingLosses,
        part: f64,
    ) -> (f64, Option<usize>) {
        let (floor, risen) = fed(rtts, every, telling, part);
        (floor.seconds(), risen)
    }

    fn fed(rtts: &[(u64, usize)], every: u64, telling: TellingLosses, part: f64) -> (Floor, Option<usize>) {
        let (mut floor, mut samples) = (Floor::default(), PollSamples::default());
        let (mut at, mut risen, mut count) = (0u64, None, 0);
        for &(rtt, often) in rtts {
            for _ in 0..often {
                let (sent_at, rtt) = (Time::from_nanos(at * 1_000_000), Span::from_millis(rtt));
                let sent = at * 10;
                let arrived = (part * sent as f64) as u64;
                samples.add(PollAnswer { arrived, ..PollAnswer::of(sent_at, rtt, sent) });
                count += 1;
                if floor.add(sent_at + rtt, sent_at, rtt, &samples, telling) {
                    risen = Some(count);
                }
                at += every;
            }
        }
        (floor, risen)
    }

    /// A queue that swings is taken for jitter until round trips are shorter by more than it swung, at once or in steps.
    #[test]
    fn a_floor_that_was_a_queue_shows_no_jitter() {
        let swings: Vec<(u64, usize)> = (0..30).flat_map(|_| [(260, 1), (275, 1)]).collect();
        assert!(fed(&swings, 20, TellingLosses::Overloads, 1.0).0.jitter(0.0) > 0.015);
        let drains = |steps: &[u64]| [swings.clone(), steps.iter().map(|&rtt| (rtt, 1)).collect()].concat();
        for steps in [&[60][..], &[250, 240, 230, 220, 205], &[230, 245, 200]] {
            assert_eq!(
                fed(&drains(steps), 20, TellingLosses::Overloads, 1.0).0.jitter(0.0),
                0.0,
                "{steps:?}"
            );
        }
        assert!(fed(&drains(&[255, 250]), 20, TellingLosses::Overloads, 1.0).0.jitter(0.0) > 0.015);
    }

    /// docs/stp.md §8.3 rule 2: jitter that keeps the order makes a round trip longer by up to *J*, though those before it were even.
    #[test]
    fn jitter_is_no_step() {
        let jittered: Vec<(u64, usize)> =
            (0..16).flat_map(|_| [117, 100, 111, 118, 100, 115, 101, 109]).map(|rtt| (rtt, 1)).collect();
        let steps = |rtt: u64| {
            let rtts = [jittered.clone(), vec![(110, 20), (rtt, 1)]].concat();
            let (floor, _) = fed(&rtts, 20, TellingLosses::Overloads, 1.0);
            assert!(floor.jitter(0.0) > 0.045);
            floor.steps()
        };
        assert!(!steps(165));
        assert!(steps(250));
    }

    /// docs/stp.md §8.3: a handover from 40 to 600 ms is accepted within two of the new round trips, and one from 600 to 40 at once.
    #[test]
    fn a_step_is_believed_and_a_queue_is_not() {
        let (floor, risen) = feed(&[(40, 50), (600, 60)], 20);
        assert_eq!(floor, 0.6);
        assert!(risen.is_some_and(|at| (at - 50) * 20 <= 1200), "{risen:?}");
        assert_eq!(feed(&[(600, 10), (40, 2)], 20).0, 0.04);
        let queue: Vec<(u64, usize)> = (0..60).map(|n| (40 + 20 * n, 1)).collect();
        assert_eq!(feed(&queue, 20), (0.04, None));
    }

    /// docs/stp.md §8.3 rule 2: while others fill the queue, their queue is no part of the path after 30 s, nor because it is full.
    #[test]
    fn the_queue_of_others_does_not_become_a_part_of_the_path() {
        let stands = |often| [(40, 50), (45, 1), (50, 1), (56, 1), (62, 1), (68, 1), (75, 1), (80, often)];
        assert_eq!(feed_beside(&stands(2000), 20, TellingLosses::Any, 1.0), (0.04, None));
        assert_eq!(feed(&stands(2000), 20).0, 0.08);
        let full = [(40, 50), (80, 60)];
        assert_eq!(feed_beside(&full, 20, TellingLosses::Any, 0.97), (0.04, None));
        // A path that is longer loses nothing.
        assert_eq!(feed_beside(&full, 20, TellingLosses::Any, 1.0).0, 0.08);
        assert_eq!(feed_beside(&full, 20, TellingLosses::Overloads, 0.97).0, 0.08);
        // Nor does a queue that others overload, even if this flow sees none of them yet; but a channel may lose as much.
        assert_eq!(feed_beside(&full, 20, TellingLosses::Overloads, 0.8), (0.04, None));
        assert_eq!(feed_beside(&full, 20, TellingLosses::None, 0.8).0, 0.08);
        // 300 s later the path is taken to be longer.
        assert_eq!(feed_beside(&stands(16_000), 20, TellingLosses::Any, 1.0).0, 0.08);
    }
}
