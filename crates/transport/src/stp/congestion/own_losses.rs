//! A test of losses without a queue: a rate that the path is sure to carry tells whether the channel causes them.
//!
//! Follows docs/stp.md §8.3, rule 4: a policer, or a link with room for a few packets, loses what exceeds its rate and shows no queue.
//! Differs from BBR's long-term estimate of a policer's rate: the losses at a lower rate decide, and not how even the rates are.
//! Leaves out the rate afterwards (`delay`).

use super::counted::Counted;
use skyhop_units::{Span, Time};

/// Part of the packets lost from which on the channel is tested.
const LEAST: f64 = 0.06;
/// Most that a test takes for usual.
const MOST: f64 = 0.6;
/// Rounds in a row that lost packets, after which it is tested: bursts of losses leave rounds between them.
const ROUNDS: u32 = 8;
/// Part of the usual losses below which a round or a test lost few.
const FEW: f64 = 1.0 / 3.0;
/// Losses expected in a test, so that chance explains too few of them once in ten thousand tests.
const EXPECTED: f64 = 30.0;
/// Part of what arrived that is sent in a test.
const CARRIED: f64 = 0.95;
/// Shortest and longest test, in round trips.
pub(super) const LASTS: (f64, f64) = (4.0, 64.0);
/// Time to the next test, and for which losses are the rate's own after one that lost few, at first and at most.
const OWN: (Span, Span) = (Span::from_secs(30), Span::from_secs(480));
/// Part of the rate at such a test below which others are the cause, as for all the time that would have followed.
const OTHERS: f64 = 0.6;

/// A test that goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunningTest {
    pub since: Time,
    /// The rate before.
    pub rate: f64,
    part: f64,
}

impl RunningTest {
    /// Packets that tell enough.
    pub fn packets(&self) -> u64 {
        (EXPECTED / self.part).ceil() as u64
    }

    /// The rate of the test.
    pub fn lower(&self) -> f64 {
        CARRIED * (1.0 - self.part) * self.rate
    }
}

#[derive(Debug, Default)]
pub(super) struct OwnLosses {
    /// Rounds in a row that lost packets, and their packets.
    rounds: u32,
    lossy: Counted,
    /// The POLL up to which rounds are counted.
    pub counted: Time,
    pub running: Option<RunningTest>,
    /// The end of the time in which losses are the rate's own, its length, and the rate at its begin.
    own: Option<(Time, f64)>,
    own_for: Span,
    /// The earliest time of the next test.
    next: Time,
}

impl OwnLosses {
    /// Counts a round without a queue that lost so many of so many packets, and begins a test of `rate` if many have.
    pub fn add(&mut self, now: Time, rate: f64, (lost, sent): (f64, f64)) -> Option<RunningTest> {
        if lost < FEW * LEAST * sent {
            self.restart();
            return None;
        }
        self.rounds += 1;
        self.lossy.add(lost, sent);
        let part = (self.lossy.lost / self.lossy.sent).min(MOST);
        if self.rounds < ROUNDS || part < LEAST || now < self.next {
            return None;
        }
        self.restart();
        self.running = Some(RunningTest { since: now, rate, part });
        self.running
    }

    /// Ends a test that tells nothing.
    pub fn give_up(&mut self, now: Time) {
        (self.running, self.next) = (None, now + OWN.0);
    }

    /// Begins to count rounds anew.
    pub fn restart(&mut self) {
        (self.rounds, self.lossy) = (0, Counted::default());
    }

    /// Ends the test with what was lost at its rate. Returns true if that is so little that the losses are the rate's own.
    pub fn end(&mut self, now: Time, lost: f64, sent: f64) -> bool {
        let Some(test) = self.running.take() else { return false };
        let own = lost < FEW * test.part * sent;
        self.own_for = if own { (self.own_for + self.own_for).clamp(OWN.0, OWN.1) } else { Span::ZERO };
        self.own = own.then(|| (now + self.own_for, test.lower()));
        self.next = now + self.own_for.max(OWN.0);
        own
    }

    /// True while losses without a queue are the rate's own; no longer if it has fallen far since.
    pub fn owns(&mut self, now: Time, rate: f64) -> bool {
        self.own = self.own.filter(|(until, tested)| now < *until && rate >= OTHERS * tested);
        self.own.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// A test of a rate of 1000, of which a tenth is lost.
    fn begun() -> OwnLosses {
        let mut channel = OwnLosses::default();
        for _ in 1..ROUNDS {
            assert_eq!(channel.add(at(1), 1000.0, (10.0, 100.0)), None);
        }
        let test = channel.add(at(1), 1000.0, (10.0, 100.0)).expect("a test");
        assert_eq!((test.packets(), test.lower().round()), (300, 855.0));
        channel
    }

    #[test]
    fn bursts_of_losses_are_not_tested() {
        let mut channel = OwnLosses::default();
        for round in 0..10 * ROUNDS {
            let lost = if round % ROUNDS == 0 { 0.0 } else { 30.0 };
            assert_eq!(channel.add(at(1), 1000.0, (lost, 100.0)), None);
        }
        channel.restart();
        for _ in 0..2 * ROUNDS {
            assert_eq!(channel.add(at(1), 1000.0, (5.0, 100.0)), None, "little is lost");
        }
    }

    #[test]
    fn losses_that_go_with_the_rate_are_its_own_for_a_time() {
        let mut channel = begun();
        assert!(channel.end(at(2), 9.0, 300.0) && channel.running.is_none());
        assert!(channel.owns(at(31), 800.0) && !channel.owns(at(32), 800.0));
        let mut again = begun();
        (again.own_for, again.next) = (OWN.0, at(0));
        assert!(again.end(at(2), 0.0, 300.0));
        assert!(again.owns(at(61), 800.0), "twice as long");
        assert!(!again.owns(at(3), 500.0) && !again.owns(at(4), 800.0), "others are the cause");
    }

    #[test]
    fn losses_at_a_lower_rate_are_the_channels() {
        let mut channel = begun();
        assert!(!channel.end(at(2), 11.0, 300.0) && !channel.owns(at(3), 1000.0));
    }
}
