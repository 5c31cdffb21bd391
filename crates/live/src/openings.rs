//! The active and passive opening of connections: their ports, instances, first sequence numbers, and the counts of the BGNs sent.
//!
//! Follows HT §5.1.1: a connection's count distinguishes its BGN from earlier ones; here it grows with the clock, so that a restart
//! repeats none.
//! Leaves out the BGNs of others (`seen`).

use crate::entropy::{Entropy, random};
use bytes::Bytes;
use skyhop_transport::stp::{self, Ends};
use skyhop_units::Time;
use std::sync::Arc;

/// The openings of a host.
pub(crate) struct Openings {
    entropy: Arc<dyn Entropy>,
    /// Count of the last BGN from here.
    count: u32,
    /// Wall-clock time of [`Time::ZERO`], ms since 1970.
    epoch_ms: u64,
}

impl Openings {
    /// None yet, of a host at time `now`, which is `wall_ms` since 1970.
    pub fn new(now: Time, wall_ms: u64, entropy: Arc<dyn Entropy>) -> Self {
        let epoch_ms = wall_ms.wrapping_sub(now.as_nanos() / 1_000_000);
        // Counts start at the clock's value, since they are compared like sequence numbers, for which 0 is ahead of half of all
        // years.
        let count = ((wall_ms / 16) as u32).wrapping_sub(1);
        Openings { entropy, count, epoch_ms }
    }

    /// A connection to a port of a peer.
    pub fn active(&mut self, now: Time, config: stp::Config, port: u16) -> stp::Connection<Bytes> {
        let ends = Ends {
            // The upper half, so that the first byte of an STP packet from here is never below 128.
            local_port: self.random_u32() as u16 | 0x8000,
            remote_port: port,
            instance: self.random_u32() as u16,
            count: self.next_count(now),
        };
        stp::Connection::connect(config, ends, self.random_u32())
    }

    /// A connection from a peer to a port of this host, which takes its other names from the BGN.
    pub fn passive(&self, config: stp::Config, port: u16) -> stp::Connection<Bytes> {
        let ends = Ends { local_port: port, ..Ends::default() };
        stp::Connection::listen(config, ends, self.random_u32())
    }

    fn random_u32(&self) -> u32 {
        u32::from_be_bytes(random(&*self.entropy))
    }

    /// Count of the next BGN from here: it grows with the clock by one per sixteen milliseconds, and never repeats.
    fn next_count(&mut self, now: Time) -> u32 {
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
    use crate::entropy::SystemEntropy;
    use skyhop_units::Span;

    const WALL_MS: u64 = 1_700_000_000_000;

    fn openings(wall_ms: u64) -> Openings {
        Openings::new(Time::ZERO, wall_ms, Arc::new(SystemEntropy))
    }

    #[test]
    fn a_connection_from_here_has_a_port_of_the_upper_half_and_the_next_count() {
        let mut openings = openings(WALL_MS);
        let all: Vec<_> =
            (0..64).map(|_| openings.active(Time::ZERO, stp::Config::default(), 7).ends()).collect();
        assert!(all.iter().all(|ends| ends.local_port >= 0x8000 && ends.remote_port == 7));
        assert!(all.windows(2).all(|pair| pair[1].count == pair[0].count.wrapping_add(1)));
        // Some of them may have the same names by chance, and never half of them.
        let names: std::collections::BTreeSet<_> =
            all.iter().map(|ends| (ends.local_port, ends.instance)).collect();
        assert!(names.len() > 32);
        assert_eq!(openings.passive(stp::Config::default(), 7).ends().local_port, 7);
    }

    #[test]
    fn counts_follow_the_clock_and_never_stand_still() {
        let mut openings = openings(WALL_MS);
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
        let mut before = openings(WALL_MS);
        let last = before.next_count(Time::ZERO + Span::from_secs(60));
        // The machine's clock restarts, the wall clock does not.
        let mut after = openings(WALL_MS + 61_000);
        assert!(after.next_count(Time::ZERO).wrapping_sub(last) as i32 > 0);
    }
}
