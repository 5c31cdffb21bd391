//! Round trips that stay long while the rate changes: the path has become longer by less than a step that is looked at.
//!
//! Follows docs/stp.md §8.3 rule 2: a queue follows the rate of those that fill it, and a path becomes longer both ways.
//! Differs from a look (`floor`): the rate is not lowered for it, since it has changed already.
//! Leaves out the rate after that (`delay`).

/// Number of round trips that are compared.
const ROUNDS: usize = 4;
/// Factors by which the shortest queue, and the change that the rate should have made to a queue, exceed the change that was seen.
const STILL: (f64, f64) = (4.0, 8.0);
/// Resolution of a round trip, seconds.
const GRAIN: f64 = 1e-4;
/// Shortest delay each way that both ways may have become longer by, seconds; and by what these differ at most: seconds, and a part of the
/// delay, of which so many seconds count.
const BOTH: f64 = 0.002;
const ALIKE: (f64, f64, f64) = (0.0005, 1.0 / 16.0, 0.002);

/// A round trip: the delay that seemed a queue, and what its answer seemed to wait on the way back, seconds, and the rate at which packets
/// were sent, bytes per second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RateRound {
    pub queue: f64,
    pub back: f64,
    pub rate: f64,
}

impl RateRound {
    /// Returns true if both ways may have become longer by the same: two queues are seldom as long as each other.
    fn is_longer_both_ways(&self) -> bool {
        let differs = ALIKE.0 + (ALIKE.1 * self.queue).min(ALIKE.2);
        self.queue > BOTH && (self.queue - self.back).abs() < differs
    }
}

#[derive(Debug, Default)]
struct RateRounds {
    kept: [RateRound; ROUNDS],
    len: usize,
}

/// The last round trips, boxed, since most associations of a host are idle.
#[derive(Debug, Default)]
pub(super) struct StillQueue(Option<Box<RateRounds>>);

impl StillQueue {
    /// Adds a round trip. What was lost may have filled a queue, so that rates before it say nothing.
    pub fn add(&mut self, round: RateRound, lost: bool) {
        let RateRounds { kept, len } = &mut **self.0.get_or_insert_default();
        if lost {
            *len = 0;
        } else if *len == ROUNDS {
            kept.rotate_left(1);
            *len -= 1;
        }
        kept[*len] = round;
        *len += 1;
    }

    pub fn restart(&mut self) {
        self.0 = None;
    }

    /// Returns the highest rate, if it changed so much that a queue would have, over a path that carries `capacity` bytes per second and
    /// whose round trips differ by `grain` seconds whatever happens, and are `floor` seconds without a queue; or if the way back has become
    /// longer by as much.
    pub fn is_path(&self, floor: f64, capacity: f64, grain: f64) -> Option<f64> {
        let RateRounds { kept, len: ROUNDS } = **self.0.as_ref()? else { return None };
        let range = |of: fn(&RateRound) -> f64| {
            kept.iter()
                .map(of)
                .fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)))
        };
        let (shortest, longest) = range(|round| round.queue);
        let (least, most) = range(|round| round.rate);
        let seen = longest - shortest + grain + GRAIN;
        let expected = floor * (most - least) / capacity.max(most);
        let still = shortest > STILL.0 * seen && expected > STILL.1 * seen;
        (still || kept.iter().all(RateRound::is_longer_both_ways)).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate that is found over a path of 50 ms and 1 MB/s, by whose packets round trips differ by 0.1 ms.
    fn found(rounds: &[(f64, f64)]) -> Option<f64> {
        let mut still = StillQueue::default();
        rounds.iter().for_each(|&(queue, rate)| still.add(RateRound { queue, back: 0.0, rate }, false));
        still.is_path(0.05, 1e6, 1e-4)
    }

    #[test]
    fn a_queue_that_does_not_follow_the_rate_is_a_part_of_the_path() {
        assert_eq!(found(&[(0.005, 1e6), (0.005, 8e5), (0.0051, 6e5), (0.005, 3e5)]), Some(1e6));
        // Three round trips may be chance.
        assert_eq!(found(&[(0.005, 1e6), (0.005, 6e5), (0.005, 3e5)]), None);
        // A queue that goes with the rate, or comes.
        assert_eq!(found(&[(0.02, 1e6), (0.015, 8e5), (0.01, 6e5), (0.005, 3e5)]), None);
        assert_eq!(found(&[(0.005, 1e6), (0.005, 8e5), (0.005, 6e5), (0.011, 3e5)]), None);
        // A rate that is even says nothing.
        assert_eq!(found(&[(0.005, 1e6), (0.005, 9.9e5), (0.005, 9.8e5), (0.005, 9.7e5)]), None);
        // No queue is no part of the path.
        assert_eq!(found(&[(0.0001, 1e6), (0.0001, 6e5), (0.0001, 3e5), (0.0001, 3e5)]), None);
        // Only the last round trips count.
        assert_eq!(found(&[(0.02, 1e6), (0.005, 1e6), (0.005, 8e5), (0.005, 6e5), (0.005, 3e5)]), Some(1e6));
    }

    /// Of a path whose packets take so long that the rate says nothing.
    #[test]
    fn a_path_that_is_longer_by_as_much_both_ways_has_no_queue() {
        let found = |rounds: &[(f64, f64)]| {
            let mut still = StillQueue::default();
            rounds.iter().for_each(|&(queue, back)| still.add(RateRound { queue, back, rate: 1e4 }, false));
            still.is_path(0.2, 1e6, 0.015)
        };
        assert_eq!(
            found(&[(0.0348, 0.0348), (0.0362, 0.0348), (0.0348, 0.0348), (0.0349, 0.0348)]),
            Some(1e4)
        );
        // Three may be chance, and one that differs is enough; very little is no path.
        assert_eq!(found(&[(0.0348, 0.0348); 3]), None);
        assert_eq!(found(&[(0.0348, 0.0348), (0.0375, 0.0348), (0.0348, 0.0348), (0.0349, 0.0348)]), None);
        assert_eq!(found(&[(0.0348, 0.0348), (0.0348, 0.032), (0.0348, 0.0348), (0.0349, 0.0348)]), None);
        assert_eq!(found(&[(0.0019, 0.0019); 4]), None);
    }

    #[test]
    fn round_trips_before_a_loss_do_not_count() {
        let mut still = StillQueue::default();
        for (rate, lost) in [(1e6, false), (6e5, false), (3e5, true), (3e5, false), (3e5, false)] {
            still.add(RateRound { queue: 0.005, back: 0.0, rate }, lost);
        }
        assert_eq!(still.is_path(0.05, 1e6, 1e-4), None);
        still.add(RateRound { queue: 0.005, back: 0.0, rate: 8e5 }, false);
        assert_eq!(still.is_path(0.05, 1e6, 1e-4), Some(8e5));
    }
}
