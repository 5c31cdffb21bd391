//! Jitter of the path, distinguished from the delay of its queues.
//!
//! Follows docs/stp.md §8.3, *J*: remembered from times at which round trips came down to the floor.
//! Differs from the jitter of the latest round trips: where packets keep their order, each waits for the most delayed one before it. The
//! closer they follow each other, the more even are their round trips, and the longer: jitter then looks like a queue that stands.
//! Leaves out jitter where packets pass each other (`samples`).

use super::samples::PollSamples;
use skyhop_units::Span;

/// Round trips of three POLLs are compared if these left within this part of the floor, or this time if it is longer, and if the second
/// is the longest or the shortest: a queue fills or drains for longer.
const WITHIN: (f64, Span) = (0.5, Span::from_millis(22));
/// Number of remembered differences, and the least from which anything is concluded.
const KEPT: usize = 16;
const ENOUGH: usize = 3;
/// Largest jitter as a multiple of the median difference: 2.2 if it is distributed evenly.
const LARGEST: f64 = 3.5;
/// Smallest change before or after a turn, as a part of the other one: less than that is the end of a queue that filled or drained.
const CORNER: f64 = 0.1;
/// Packets of this flow by whose length a queue may change between two POLLs.
const PACKETS: f64 = 2.0;

#[derive(Debug, Default)]
pub(super) struct FloorJitter {
    /// The latest differences of round trips from their linear trend, seconds, their number since the start, and their median.
    differ: [f32; KEPT],
    count: u32,
    median: f32,
    /// Longest floor to which one of these round trips had come down.
    longest_floor: Span,
}

impl FloorJitter {
    /// Compares the last three round trips, if one of them has come down to the floor.
    pub fn add(&mut self, samples: &PollSamples, floor: Span) {
        // Round trips that came down to a floor that was a queue show how that queue changed.
        let (fell, jitter) = (self.longest_floor.saturating_sub(floor).as_secs_f64(), self.seconds(0.0));
        if jitter > 0.0 && fell > jitter {
            *self = Self::default();
        }
        let Some([(from, one), (_, two), (to, three)]) = samples.last_three() else { return };
        let within = Span::from_secs_f64(WITHIN.0 * floor.as_secs_f64()).max(WITHIN.1);
        let differs = (one - 2.0 * two + three).abs() / 2.0;
        let (before, after) = (two - one, three - two);
        let turns =
            before * after < 0.0 && before.abs().min(after.abs()) >= CORNER * before.abs().max(after.abs());
        let even = differs == 0.0;
        if !(turns || even)
            || to.since(from) >= within
            || one.min(two).min(three) - floor.as_secs_f64() > differs
        {
            return;
        }
        self.longest_floor = self.longest_floor.max(floor);
        self.differ[self.count as usize % KEPT] = differs as f32;
        self.count = self.count.saturating_add(1);
        let kept = (self.count as usize).min(KEPT);
        let mut sorted = self.differ;
        sorted[..kept].sort_unstable_by(f32::total_cmp);
        self.median = if kept < ENOUGH { 0.0 } else { sorted[kept / 2] };
    }

    /// Largest jitter, seconds, if a packet of this flow takes `packet` seconds.
    pub fn seconds(&self, packet: f64) -> f64 {
        LARGEST * (f64::from(self.median) - PACKETS * packet).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::PollAnswer;
    use super::*;
    use skyhop_units::Time;

    /// Largest jitter after these round trips, in ms, of POLLs that leave every `every` ms over a path of 40 ms.
    fn after(rtts: impl IntoIterator<Item = f64>, every: u64) -> f64 {
        let (mut jitter, mut samples) = (FloorJitter::default(), PollSamples::default());
        for (n, rtt) in (1..).zip(rtts) {
            let (sent_at, rtt) = (Time::from_nanos(n * every * 1_000_000), Span::from_secs_f64(rtt / 1e3));
            samples.add(PollAnswer::of(sent_at, rtt, 10 * n));
            jitter.add(&samples, Span::from_millis(40));
        }
        jitter.seconds(0.0) * 1e3
    }

    /// Jitter of at most 10 ms.
    fn jittered() -> impl Iterator<Item = f64> {
        [47.0, 40.5, 44.0, 49.0, 41.0, 46.5, 40.0, 43.0].into_iter().cycle().take(24)
    }

    #[test]
    fn jitter_is_remembered_while_packets_follow_each_other_closely() {
        let sparse = after(jittered(), 10);
        assert!((8.0..32.0).contains(&sparse), "{sparse}");
        let dense = [49.0, 49.5, 49.2, 49.6].into_iter().cycle().take(200);
        let remembered = after(jittered().chain(dense), 10);
        assert!((0.8..1.25).contains(&(remembered / sparse)), "{remembered} after {sparse}");
        // Without jitter it is forgotten.
        assert_eq!(after(jittered().chain([40.0; 40]), 10), 0.0);
    }

    #[test]
    fn a_queue_that_changes_slowly_or_stands_is_no_jitter() {
        let fills = (0..12).map(|n| 40.0 + f64::from(n * n) / 8.0);
        assert_eq!(after((0..5).flat_map(|_| fills.clone().chain(fills.clone().rev())), 10), 0.0);
        assert_eq!(after([52.0, 55.0, 51.0, 56.0].into_iter().cycle().take(60), 10), 0.0);
        // A queue that filled and drained is even afterwards.
        let once = [40.0, 40.0, 59.0, 84.0, 40.0, 40.1, 40.1, 40.2];
        assert_eq!(after(once.into_iter().chain([40.3; 3]), 10), 0.0);
        // Between POLLs that are further apart a queue may have filled and drained.
        assert_eq!(after(jittered(), 12), 0.0);
        // Of two differences nothing is concluded.
        assert_eq!(after(jittered().take(4), 10), 0.0);
    }

    /// A queue of few packets changes by about as many between two POLLs.
    #[test]
    fn packets_of_this_flow_explain_a_part() {
        let mut jitter = FloorJitter { median: 0.003, ..FloorJitter::default() };
        assert!((jitter.seconds(0.001) - 0.001 * LARGEST).abs() < 1e-6);
        jitter.median = 0.001;
        assert_eq!(jitter.seconds(0.001), 0.0);
    }
}
