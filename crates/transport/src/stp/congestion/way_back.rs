//! Delay that the return path adds to a round trip: answers that wait behind other packets sent there.
//!
//! Follows docs/stp.md §8.3: a report has the POLL's arrival by the receiver's clock, so the two directions can be separated except
//! for a constant; the smallest time seen on the return path is the path's, and the excess is no queue of this sender.
//! Differs from LEDBAT's one-way delay (RFC 6817): the clocks' difference cancels in the round trip, so a handover is still
//! visible.
//! Leaves out the forward path, which the rate law uses (`delay`).

use super::answer::PollAnswer;
use skyhop_units::{Span, Time};

/// Time for which the smallest value is used.
const LIFE: Span = Span::from_secs(30);
/// Largest relative drift of two clocks: the minimum grows by it until it is measured again.
const DRIFT: f64 = 200e-6;
/// A change beyond drift, microseconds.
const STEP: i64 = 1000;

#[derive(Debug, Default)]
pub(super) struct WayBack {
    /// The smallest time of an answer by two clocks, microseconds, and when it arrived.
    least: Option<(i64, Time)>,
}

/// Time of an answer by two clocks; it includes their constant difference.
fn took(answer: &PollAnswer) -> i64 {
    let came = (answer.sent_at + answer.rtt).as_nanos() / 1000;
    came as i64 - answer.clock_us as i64
}

impl WayBack {
    /// Returns the change of the minimum, microseconds, if it exceeds the clocks' drift.
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

    /// The path has changed: times of the old return path do not apply.
    pub fn restart(&mut self, answer: &PollAnswer) {
        self.least = Some((took(answer), answer.sent_at + answer.rtt));
    }

    /// Wait of this answer on the return path.
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

    /// An answer to a POLL with these times in ms in each direction, by a receiver's clock that is an hour ahead and fast by `fast`
    /// millionths.
    fn answer(sent_ms: u64, there: u64, back: u64, fast: f64) -> PollAnswer {
        let came_ms = sent_ms + there;
        PollAnswer {
            sent_at: Time::from_nanos(sent_ms * 1_000_000),
            rtt: Span::from_millis(there + back),
            sent: 0,
            arrived: 0,
            clock_us: 3_600_000_000 + (came_ms as f64 * 1000.0 * (1.0 + fast * 1e-6)) as u64,
            late: 0,
            unused: Span::ZERO,
            next: 0,
            bytes: 0.0,
            marked: 0,
        }
    }

    /// docs/stp.md §8.3: a wait on the return path is distinguished from one on the forward path, whatever the clocks show.
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

    /// docs/stp.md §8.3: clocks that drift apart do not appear as a queue, in either direction.
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

    /// docs/stp.md §8.3: a shorter return path is accepted at once, a longer one after 30 s.
    #[test]
    fn the_least_follows_the_path() {
        let mut way = WayBack::default();
        way.add(&answer(0, 300, 300, 0.0));
        assert_eq!(way.add(&answer(200, 300, 20, 0.0)), -280_000);
        assert_eq!(way.add(&answer(400, 300, 300, 0.0)), 0);
        assert_eq!(way.add(&answer(31_000, 300, 300, 0.0)), 280_000);
    }
}
