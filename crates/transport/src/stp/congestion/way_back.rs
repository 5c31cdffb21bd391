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
/// Largest relative drift of two clocks: a time that has grown by no more is a minimum again.
const DRIFT: f32 = 200e-6;
/// Tenths of a millisecond over which minima show the drift, and the longest time between two of them: after a longer one, what is left
/// of a wait would count as drift.
const SHOWS: (u16, Span) = (40_000, Span::from_secs(1));
/// A change beyond drift, microseconds.
const STEP: i64 = 1000;

#[derive(Debug, Default)]
pub(super) struct WayBack {
    /// The smallest time of an answer by two clocks, microseconds, and when it arrived.
    least: Option<(i64, Time)>,
    /// Microseconds by which minima have grown that follow each other, in so many tenths of a millisecond.
    grown: (i16, u16),
    /// The drift that they have shown: while packets wait on the way back, nothing shows it.
    drift: f32,
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
            self.restart(answer);
            return 0;
        };
        let since = now.since(at);
        let waits = took > crept(least, since, DRIFT);
        if waits && since <= LIFE {
            return 0;
        }
        let moved = took - least;
        self.least = Some((took, now));
        if waits || moved < -STEP || since > SHOWS.1 {
            self.grown = (0, 0);
        } else {
            self.measure_drift(moved, since);
        }
        if moved.abs() > STEP { moved } else { 0 }
    }

    fn measure_drift(&mut self, moved: i64, since: Span) {
        let (grown, over) = self.grown;
        // Both are small: at most 1 ms in a second.
        self.grown = (grown.saturating_add(moved as i16), over + (since.as_nanos() / 100_000) as u16);
        if self.grown.1 >= SHOWS.0 {
            self.drift = (f32::from(self.grown.0) * 1e-2 / f32::from(self.grown.1)).clamp(-DRIFT, DRIFT);
            self.grown = (0, 0);
        }
    }

    /// The path has changed: times of the old return path do not apply.
    pub fn restart(&mut self, answer: &PollAnswer) {
        self.least = Some((took(answer), answer.sent_at + answer.rtt));
        self.grown = (0, 0);
    }

    /// Wait of this answer on the return path.
    pub fn waited(&self, answer: &PollAnswer) -> Span {
        let Some((least, at)) = self.least else { return Span::ZERO };
        let came = answer.sent_at + answer.rtt;
        let waited = took(answer) - crept(least, came.since(at), self.drift);
        Span::from_micros(waited.max(0) as u64).min(answer.rtt)
    }
}

fn crept(least: i64, since: Span, drift: f32) -> i64 {
    least + (since.as_secs_f64() * 1e6 * f64::from(drift)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer to a POLL with these times in ms in each direction, by a receiver's clock that is an hour ahead and fast by `fast`
    /// millionths.
    fn answer(sent_ms: u64, there: u64, back: u64, fast: f64) -> PollAnswer {
        let came_ms = sent_ms + there;
        let sent_at = Time::from_nanos(sent_ms * 1_000_000);
        let clock_us = 3_600_000_000 + (came_ms as f64 * 1000.0 * (1.0 + fast * 1e-6)) as u64;
        PollAnswer { clock_us, ..PollAnswer::of(sent_at, Span::from_millis(there + back), 0) }
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

    /// docs/stp.md §8.3: packets that wait on the way back all the time do not appear as a queue on the way there, whether the clocks
    /// drift or not. The minimum grew by 4 ms in these 20 s, as if they drifted by the most.
    #[test]
    fn a_way_back_that_is_never_idle_is_no_queue() {
        for fast in [-100.0, -20.0, 0.0, 20.0, 100.0] {
            let mut way = WayBack::default();
            for n in 0..600 {
                let waits = if n < 200 { 0 } else { 10 + n % 7 };
                let answer = answer(50 * n, 25, 25 + waits, fast);
                assert_eq!(way.add(&answer), 0, "{fast}");
                let there = answer.rtt.saturating_sub(way.waited(&answer)).as_secs_f64() * 1e3;
                assert!((there - 50.0).abs() < 0.1, "{fast}, {n}: {there:.3} ms");
            }
        }
    }

    /// docs/stp.md §8.3: a minimum that has still waited, after a long time without one, is no drift: the round trip there stays as it is.
    #[test]
    fn the_rest_of_a_wait_is_no_drift() {
        let mut way = WayBack::default();
        let waits = |n| if n < 200 { 0 } else { 10 + n % 7 };
        for n in 0..600 {
            way.add(&answer(50 * n, 25, 25 + waits(n), 0.0));
        }
        assert_eq!(way.add(&answer(30_000, 25, 25 + 2, 0.0)), 2000);
        for n in 601..1100 {
            let wait = if n < 660 { 2 } else { waits(n) };
            let answer = answer(50 * n, 25, 25 + wait, 0.0);
            assert_eq!(way.add(&answer), 0);
            let there = answer.rtt.saturating_sub(way.waited(&answer)).as_secs_f64() * 1e3;
            assert!((there - 52.0).abs() < 0.1, "{n}: {there:.3} ms");
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
