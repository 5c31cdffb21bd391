//! The counts of the BGNs that a host sends.
//!
//! Follows HT §5.1.1: a connection's count distinguishes its BGN from earlier ones; here it grows with the clock, so that a restart
//! repeats none.
//! Leaves out the BGNs of others (`seen`).

use skyhop_units::Time;

/// The counts of BGNs.
pub(crate) struct Openings {
    /// Count of the last BGN from here.
    count: u32,
    /// Wall-clock time of [`Time::ZERO`], ms since 1970.
    epoch_ms: u64,
}

impl Openings {
    /// Counts for a host at time `now`, which is `wall_ms` since 1970.
    pub fn new(now: Time, wall_ms: u64) -> Self {
        let epoch_ms = wall_ms.wrapping_sub(now.as_nanos() / 1_000_000);
        // Counts start at the clock's value, since they are compared like sequence numbers, for which 0 is ahead of half of all
        // years.
        let count = ((wall_ms / 16) as u32).wrapping_sub(1);
        Openings { count, epoch_ms }
    }

    /// Count of the next BGN from here: it grows with the clock by one per sixteen milliseconds, and never repeats.
    pub fn next_count(&mut self, now: Time) -> u32 {
        let ms = self.epoch_ms.wrapping_add(now.as_nanos() / 1_000_000);
        let by_clock = (ms / 16) as u32;
        let next = self.count.wrapping_add(1);
        self.count = if by_clock.wrapping_sub(next) as i32 > 0 { by_clock } else { next };
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;

    const WALL_MS: u64 = 1_700_000_000_000;

    #[test]
    fn counts_follow_the_clock_and_never_stand_still() {
        let mut openings = Openings::new(Time::ZERO, WALL_MS);
        let first = openings.next_count(Time::ZERO);
        assert_eq!(first, (WALL_MS / 16) as u32);
        assert_eq!(openings.next_count(Time::ZERO), first.wrapping_add(1));
        assert_eq!(openings.next_count(Time::ZERO + Span::from_millis(160)), first.wrapping_add(10));
        // A host that opens connections faster than the clock continues from its last count.
        (0..100).for_each(|_| _ = openings.next_count(Time::ZERO));
        assert_eq!(openings.next_count(Time::ZERO + Span::from_millis(320)), first.wrapping_add(111));
    }

    #[test]
    fn a_restart_does_not_repeat_counts() {
        let mut before = Openings::new(Time::ZERO, WALL_MS);
        let last = before.next_count(Time::ZERO + Span::from_secs(60));
        // The machine's clock restarts, the wall clock does not.
        let mut after = Openings::new(Time::ZERO, WALL_MS + 61_000);
        assert!(after.next_count(Time::ZERO).wrapping_sub(last) as i32 > 0);
    }
}
