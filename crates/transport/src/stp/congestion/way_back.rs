//! Delay that the way back adds to a round trip: answers that wait behind what others send that way.
//!
//! Follows docs/stp.md §8.3: a report tells when the POLL came by the receiver's clock, so the two ways can be told apart but for a
//! constant; the least that the way back was seen to take belongs to the path, and what it takes beyond is no queue of this sender's.
//! Differs from LEDBAT's one-way delay (RFC 6817): the clocks' difference cancels in the round trip, so that a handover still shows.
//! Leaves out the way there, which is what the law is about (`delay`).

use super::answer::PollAnswer;
use skyhop_units::{Span, Time};

/// Time for which the smallest value is believed.
const LIFE: Span = Span::from_secs(30);
/// Two clocks drift apart by less, as a part of the time: the least grows by it until it is seen again.
const DRIFT: f64 = 200e-6;
/// A change that is no drift, microseconds.
const STEP: i64 = 1000;

#[derive(Debug, Default)]
pub(super) struct WayBack {
    /// The least that an answer took by two clocks, microseconds, and when it came.
    least: Option<(i64, Time)>,
}

/// Time of an answer by two clocks; it includes their difference, the same for all.
fn took(answer: &PollAnswer) -> i64 {
    let came = (answer.sent_at + answer.rtt).as_nanos() / 1000;
    came as i64 - answer.clock_us as i64
}

impl WayBack {
    /// Returns by how much the least has changed, microseconds, if not only by the clocks' drift.
    pub fn add(&mut self, answer: &PollAnswer) -> i64 {
        let (now, took) = (answer.sent_at + answer.rtt, took(answer));
        let Some((least, at)) = self.least else {
            self.least = Some((took, now));
            return 0;
        };
        if took > crept(least, at, now) && now.since(at) <= LIFE {
            return 0;
        }
        self.least = Some((took, now));
        let moved = took - least;
        if moved.abs() > STEP { moved } else { 0 }
    }

    /// The path is another one: what the way back took on the old one says nothing.
    pub fn restart(&mut self, answer: &PollAnswer) {
        self.least = Some((took(answer), answer.sent_at + answer.rtt));
    }

    /// Wait of this answer on the way back.
    pub fn waited(&self, answer: &PollAnswer) -> Span {
        let Some((least, at)) = self.least else { return Span::ZERO };
        let waited = took(answer) - crept(least, at, answer.sent_at + answer.rtt);
        Span::from_micros(waited.max(0) as u64).min(answer.rtt)
    }
}

fn crept(least: i64, at: Time, now: Time) -> i64 {
    least + (now.since(at).as_secs_f64() * 1e6 * DRIFT) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer to a POLL that took so many ms each way, by a receiver's clock that is an hour ahead and runs fast by so many millionths.
    fn answer(sent_ms: u64, there: u64, back: u64, fast: f64) -> PollAnswer {
        let came_ms = sent_ms + there;
        PollAnswer {
            sent_at: Time::from_nanos(sent_ms * 1_000_000),
            rtt: Span::from_millis(there + back),
            sent: 0,
            arrived: 0,
            clock_us: 3_600_000_000 + (came_ms as f64 * 1000.0 * (1.0 + fast * 1e-6)) as u64,
            needless: 0,
            next: 0,
            size: 1000.0,
        }
    }

    /// docs/stp.md §8.3: what waits on the way back is told from what waits on the way there, whatever the clocks show.
    #[test]
    fn a_queue_on_the_way_back_is_told_from_one_on_the_way_there() {
        let mut way = WayBack::default();
        for n in 0..10 {
            assert_eq!(way.add(&answer(200 * n, 300, 300, 0.0)), 0);
        }
        let (there, back) = (answer(2000, 400, 300, 0.0), answer(2200, 300, 400, 0.0));
        assert_eq!((way.add(&there), way.waited(&there)), (0, Span::ZERO));
        assert_eq!(way.add(&back), 0);
        assert!((99..=100).contains(&(way.waited(&back).as_nanos() / 1_000_000)), "{:?}", way.waited(&back));
    }

    /// docs/stp.md §8.3: clocks that drift apart make no queue, either way.
    #[test]
    fn a_drift_is_no_queue() {
        for fast in [-150.0, 150.0] {
            let mut way = WayBack::default();
            let mut there = Vec::new();
            for n in 0..600 {
                let answer = answer(200 * n, 300, 300, fast);
                assert_eq!(way.add(&answer), 0, "{fast}");
                there.push(answer.rtt.saturating_sub(way.waited(&answer)).as_nanos() / 1_000_000);
            }
            assert!(there.iter().all(|&ms| ms == 599 || ms == 600), "{fast}: {there:?}");
        }
    }

    /// docs/stp.md §8.3: a way back that has become shorter is believed at once, one that has become longer after 30 s.
    #[test]
    fn the_least_follows_the_path() {
        let mut way = WayBack::default();
        way.add(&answer(0, 300, 300, 0.0));
        assert_eq!(way.add(&answer(200, 300, 20, 0.0)), -280_000);
        assert_eq!(way.add(&answer(400, 300, 300, 0.0)), 0);
        assert_eq!(way.add(&answer(31_000, 300, 300, 0.0)), 280_000);
    }
}
