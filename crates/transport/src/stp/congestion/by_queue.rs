//! Losses by the queue beside which they came: what a longer queue loses more of is due to it, and not to the channel.
//!
//! Follows docs/stp.md §8.3 rule 4.
//! Differs from a comparison with an empty queue: beside others a queue may never be empty.
//! Leaves out the channel's share of losses (`losses`) and the reaction (`delay`).

use super::counted::Counted;

/// Delays of the queue are classed by half octaves from this one on, seconds.
const SHORTEST: f64 = 0.0005;
const CLASSES: usize = 24;
/// Number of classes that are compared with the shorter ones: those beyond may have been overloads, which say nothing of this queue.
const ALIKE: usize = 4;
/// Standard deviations, and packets in addition, by which losses beside longer queues must exceed their share.
const BEYOND: (f64, f64) = (3.0, 1.0);

#[derive(Debug, Default)]
pub(super) struct LossesByQueue {
    classes: [Counted; CLASSES],
}

impl LossesByQueue {
    fn class(queue: f64) -> usize {
        let octaves = (queue / SHORTEST).max(1.0).log2();
        ((2.0 * octaves) as usize).min(CLASSES - 1)
    }

    /// Counts a sample whose longest queue was so many seconds. After an overload any later loss beside such a queue would seem to come
    /// with it.
    pub fn add(&mut self, lost: f64, sent: f64, queue: f64) {
        if !(Counted { lost, sent }).is_overload() {
            self.classes[Self::class(queue)].add(lost, sent);
        }
    }

    /// Part of the packets that is lost beside shorter queues than this.
    pub fn part_beside_shorter(&self, queue: f64) -> f64 {
        Counted::sum(&self.classes[..Self::class(queue)]).part()
    }

    /// Returns true if more was lost beside queues of this length, up to four times as long, than chance explains if the channel were
    /// the cause: then losses would be divided among these and the shorter ones as the packets are.
    pub fn grow_with_queue(&self, queue: f64) -> bool {
        let class = Self::class(queue);
        let end = (class + ALIKE).min(CLASSES);
        let (shorter, longer) =
            (Counted::sum(&self.classes[..class]), Counted::sum(&self.classes[class..end]));
        let lost = shorter.lost + longer.lost;
        let part = longer.sent / (shorter.sent + longer.sent).max(1.0);
        let deviation = (lost * part * (1.0 - part)).sqrt();
        longer.lost > lost * part + BEYOND.0 * deviation + BEYOND.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_only_a_longer_queue_has_are_its_own() {
        let mut losses = LossesByQueue::default();
        (0..20).for_each(|_| losses.add(0.0, 150.0, 0.002));
        let seen = (1..20).find(|_| {
            losses.add(1.0, 150.0, 0.007);
            losses.grow_with_queue(0.007)
        });
        assert!(seen.is_some_and(|n| (3..=8).contains(&n)), "{seen:?}");
        // The queue that lost nothing is not to blame, nor is one of which nothing is known.
        assert!(!losses.grow_with_queue(0.002));
        assert!(!losses.grow_with_queue(1.0));
    }

    #[test]
    fn the_channel_loses_as_much_beside_shorter_queues() {
        let mut losses = LossesByQueue::default();
        assert_eq!(losses.part_beside_shorter(0.03), 0.05);
        (0..10).for_each(|n| losses.add(f64::from(n % 2), 100.0, 0.005));
        losses.add(50.0, 1000.0, 0.03);
        assert!((losses.part_beside_shorter(0.03) - 0.006).abs() < 5e-4);
    }

    /// An overload before, by an outage or a promise that was wrong, does not make losses of the channel those of a queue.
    #[test]
    fn an_overload_says_nothing_of_queues() {
        let mut losses = LossesByQueue::default();
        losses.add(200.0, 400.0, 0.08);
        (0..40).for_each(|n| losses.add(f64::from(n % 2), 50.0, [0.001, 0.006, 0.04][n as usize / 2 % 3]));
        for queue in [0.001, 0.006, 0.04, 0.08] {
            assert!(!losses.grow_with_queue(queue), "{queue}");
        }
        // Three packets of fifty are no overload.
        (0..10).for_each(|_| losses.add(3.0, 50.0, 0.08));
        assert!(losses.grow_with_queue(0.08));
    }

    #[test]
    fn without_a_shorter_queue_nothing_can_be_said() {
        let mut losses = LossesByQueue::default();
        (0..100).for_each(|_| losses.add(3.0, 150.0, 0.007));
        assert!(!losses.grow_with_queue(0.007));
    }
}
