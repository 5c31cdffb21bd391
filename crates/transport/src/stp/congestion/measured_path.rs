//! The path as answers show it: round trips without a queue, what left and arrived, and the queue's delay.
//!
//! Follows docs/stp.md §8.3, rules 1 to 3.
//! Differs from the smallest round trip alone: jitter, and one packet that waits for another, are no queue.
//! Leaves out the queue that a rate aims at, and the reaction to a longer one (`delay`).

use super::answer::PollAnswer;
use super::floor::{Floor, TellingLosses};
use super::samples::PollSamples;
use skyhop_units::{Span, Time};

/// Part of the round trip without a queue for which round trips, and what arrives, show the path as it is now.
pub(super) const LATELY: f64 = 0.4;
/// Time for which they are compared, as a multiple of the jitter, and the same where packets pass each other.
const COMPARED: (f64, f64) = (4.0, 16.0);
/// Part of the time in which packets left, in which they come at the end of an outage.
const WAITED: f64 = 0.1;

#[derive(Debug, Default)]
pub(super) struct MeasuredPath {
    pub floor: Floor,
    pub samples: PollSamples,
}

impl MeasuredPath {
    /// Adds an answer, and what losses tell meanwhile. Returns true if the path has become longer.
    pub fn add(&mut self, now: Time, answer: PollAnswer, telling: TellingLosses) -> bool {
        match self.samples.add(answer) {
            Some(moved) => self.floor.shift(moved),
            None => self.floor.restart(now, answer.rtt),
        }
        let rtt = self.samples.rtt(&answer);
        let risen = self.floor.add(now, answer.sent_at, rtt, &self.samples, telling);
        if risen {
            self.samples.restart();
            self.floor.restart(now, answer.rtt);
        }
        risen
    }

    /// Takes the smallest round trip of POLLs sent since `from` for that of a longer path. Returns false if there is none.
    pub fn lengthen(&mut self, now: Time, from: Time) -> bool {
        let Some(rtt) = self.samples.least_rtt(from, 64) else { return false };
        // The way back begins anew with the last answer, whose wait is then a part of each round trip.
        let waited = Span::from_secs_f64(self.samples.waited());
        self.samples.restart();
        self.floor.restart(now, rtt + waited);
        true
    }

    /// Queue's delay as measured by POLLs sent since `from`, seconds.
    pub fn queue(&self, from: Time) -> Option<f64> {
        let late = self.samples.last()?.sent_at;
        // Round trips that are long by chance are no queue: the more they differ, the more of them are compared.
        let compared = if self.samples.reorders() { COMPARED.1 } else { COMPARED.0 };
        let span = Span::from_secs_f64((LATELY * self.floor.seconds()).max(compared * self.samples.unrest()));
        self.shortest_queue(from.max(Time::from_nanos(late.as_nanos().saturating_sub(span.as_nanos()))))
    }

    /// Queue's delay at the end of an increase that began at `since`, seconds: the smaller measurement of the last two POLLs, or of more
    /// if jitter is large.
    pub fn rising_queue(&self, since: Time) -> f64 {
        let late = self.samples.last().map_or(Time::ZERO, |last| last.sent_at);
        let span = Span::from_secs_f64(COMPARED.0 * self.samples.unrest());
        let from = since.max(Time::from_nanos(late.as_nanos().saturating_sub(span.as_nanos())));
        let least = self.samples.least_rtt(since, 2).min(self.samples.least_rtt(from, 64));
        least.and_then(|rtt| self.beyond_floor(rtt)).unwrap_or(0.0)
    }

    /// Shortest queue that POLLs sent since `from` have measured, seconds.
    pub fn shortest_queue(&self, from: Time) -> Option<f64> {
        self.beyond_floor(self.samples.least_rtt(from, 64)?)
    }

    /// Longest queue that they have measured, seconds.
    pub fn longest_queue(&self, from: Time) -> Option<f64> {
        self.beyond_floor(self.samples.most_rtt(from, 64)?)
    }

    /// Queue that the POLL of an answer has measured, seconds.
    pub fn queue_of(&self, answer: &PollAnswer) -> Option<f64> {
        self.beyond_floor(self.samples.rtt(answer))
    }

    fn beyond_floor(&self, rtt: Span) -> Option<f64> {
        Some(rtt.saturating_sub(self.floor.get()?).as_secs_f64())
    }

    /// Largest delay that jitter adds to each round trip where packets keep their order and follow each other closely, seconds, if a
    /// packet takes `packet` seconds. Where they pass each other, the shortest round trips are those without jitter.
    pub fn jitter(&self, packet: f64) -> f64 {
        if self.samples.reorders() { 0.0 } else { self.floor.jitter(packet) }
    }

    /// Longest delay that is no sign of a queue, seconds, if a packet takes `packet` seconds.
    pub fn little(&self, packet: f64) -> f64 {
        // One packet may wait for another. A queue that fills and drains causes jitter too, so only a part of the jitter is subtracted.
        0.001 + packet + self.floor.seconds() / 256.0 + 0.5 * self.samples.unrest()
    }

    /// Returns true if packets came much faster than they left: they have waited for the end of an outage, and not in a queue.
    pub fn have_waited(&self) -> bool {
        self.samples.last_two().is_some_and(|two| two.arrived_in < WAITED * two.left_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 100 ms after answers to POLLs that left 20 ms apart and took so long.
    fn after(rtts_ms: &[u64]) -> MeasuredPath {
        let mut path = MeasuredPath::default();
        for (n, &rtt) in (0u64..).zip(rtts_ms) {
            let (sent_at, rtt) = (Time::from_nanos(n * 20_000_000), Span::from_millis(rtt));
            path.add(sent_at + rtt, PollAnswer::of(sent_at, rtt, 10 * n), TellingLosses::Overloads);
        }
        path
    }

    #[test]
    fn the_queue_is_what_the_last_round_trips_have_beyond_the_floor() {
        let path = after(&[100, 104, 108, 112, 116, 120]);
        let ms = |queue: Option<f64>| queue.map(|queue| (queue * 1e3).round());
        // Those of the last 40 ms, and of all.
        assert_eq!(ms(path.queue(Time::ZERO)), Some(12.0));
        assert_eq!(ms(path.shortest_queue(Time::ZERO)), Some(0.0));
        assert_eq!(ms(path.longest_queue(Time::ZERO)), Some(20.0));
        assert_eq!(ms(Some(path.rising_queue(Time::ZERO))), Some(16.0));
        assert_eq!(ms(path.samples.last().and_then(|last| path.queue_of(last))), Some(20.0));
        assert_eq!(MeasuredPath::default().queue(Time::ZERO), None);
    }

    #[test]
    fn a_path_that_is_longer_both_ways_has_no_queue() {
        let mut path = after(&[100, 100, 100]);
        // By 10 ms each way.
        for n in 3..20 {
            let (sent_at, rtt) = (Time::from_nanos(n * 20_000_000), Span::from_millis(120));
            let mut answer = PollAnswer::of(sent_at, rtt, 10 * n);
            answer.clock_us -= 10_000;
            path.add(sent_at + rtt, answer, TellingLosses::Overloads);
        }
        let ms = |seconds: f64| (seconds * 1e3).round();
        assert_eq!((ms(path.floor.seconds()), ms(path.samples.waited())), (100.0, 10.0));
        assert!(path.lengthen(Time::from_nanos(400_000_000), Time::from_nanos(100_000_000)));
        assert_eq!((ms(path.floor.seconds()), ms(path.samples.waited())), (120.0, 0.0));
        assert_eq!(path.queue(Time::ZERO).map(ms), Some(0.0));
    }

    #[test]
    fn packets_that_come_together_have_waited() {
        assert!(!after(&[100, 104]).have_waited());
        assert!(after(&[300, 281]).have_waited());
    }
}
