//! The counts of BGNs: of those that this host sends, and of those without an association that it has seen.
//!
//! Follows HT §5.1.1: a connection's count distinguishes its BGN from earlier ones; here it grows with the clock, so that a restart
//! repeats none.
//! Differs: without an association a BGN counts once, since anyone can replay it.

use skyhop_units::Time;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

/// Number of BGNs that are remembered.
pub(crate) const REMEMBERED: usize = 16_384;

/// Identity of a BGN without an association: address, port and instance of the peer, and its count.
pub(crate) type Begun = (IpAddr, u16, u16, u32);

/// The counts of BGNs.
pub(crate) struct Openings {
    /// Count of the last BGN from here.
    count: u32,
    /// Wall-clock time of [`Time::ZERO`], ms since 1970.
    epoch_ms: u64,
    seen: BTreeSet<Begun>,
    /// The BGNs seen, oldest first.
    order: VecDeque<Begun>,
}

impl Openings {
    /// Counts for a host at time `now`, which is `wall_ms` since 1970.
    pub fn new(now: Time, wall_ms: u64) -> Self {
        let epoch_ms = wall_ms.wrapping_sub(now.as_nanos() / 1_000_000);
        // Counts start at the clock's value, since they are compared like sequence numbers, for which 0 is ahead of half of all
        // years.
        let count = ((wall_ms / 16) as u32).wrapping_sub(1);
        Openings { count, epoch_ms, seen: BTreeSet::new(), order: VecDeque::new() }
    }

    /// Count of the next BGN from here: it grows with the clock by one per sixteen milliseconds, and never repeats.
    pub fn next_count(&mut self, now: Time) -> u32 {
        let ms = self.epoch_ms.wrapping_add(now.as_nanos() / 1_000_000);
        let by_clock = (ms / 16) as u32;
        let next = self.count.wrapping_add(1);
        self.count = if by_clock.wrapping_sub(next) as i32 > 0 { by_clock } else { next };
        self.count
    }

    /// Allows a BGN to arrive once more.
    pub fn forget(&mut self, begun: &Begun) {
        self.seen.remove(begun);
    }

    /// Returns true if a BGN without an association is seen for the first time, as far as is remembered.
    pub fn first_seen(&mut self, begun: Begun) -> bool {
        if !self.seen.insert(begun) {
            return false;
        }
        self.order.push_back(begun);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
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

    #[test]
    fn a_bgn_counts_once_until_so_many_others_have_come() {
        let begun = |count: u32| (IpAddr::from([192, 0, 2, 1]), 1, 2, count);
        let mut openings = Openings::new(Time::ZERO, WALL_MS);
        assert!((0..REMEMBERED as u32).all(|count| openings.first_seen(begun(count))));
        assert!(!openings.first_seen(begun(0)), "remembered");
        assert!(openings.first_seen(begun(REMEMBERED as u32)), "one more");
        assert!(!openings.first_seen(begun(1)), "the second oldest is remembered");
        assert!(openings.first_seen(begun(0)), "the oldest is not");
        assert_eq!(openings.seen.len(), REMEMBERED);
    }
}
