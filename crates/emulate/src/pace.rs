//! Times at which the loop rests, sleeps and stays awake: a machine that is handed the time and the frames of each round.
//!
//! Follows interrupt moderation of network cards: packets that come one by one wait a little, so that they are read and written together.
//! Differs from it: something that is due alone is waited for awake, as a sleeper wakes late, while that takes a small share of all time.
//! Leaves out the clock and the sleeping.

use skyhop_units::{Span, Time};

/// The rest after a round, and the least of it, however long the round has taken.
const REST: Span = Span::from_micros(30);
const LEAST_REST: Span = Span::from_micros(5);
/// Length of a round while many packets come. What is due within `EARLY` is done at once then, so that packets are as much early
/// as late.
const PERIOD: Span = Span::from_micros(130);
const EARLY: Span = Span::from_micros(65);
/// A loop that never sleeps is ended by the system, and a short rest may be over before the system has put the loop to sleep. So after so
/// long without a real one it takes one.
const LONGEST_WORK: Span = Span::from_millis(500);
const REAL_REST: Span = Span::from_micros(200);
/// Frames in so long from which on many come.
const MANY: u64 = 6;
const WINDOW: Span = Span::from_millis(1);
/// The part of what a sleeper was late that counts for the next: an eighth.
const SMOOTHING: u64 = 8;
/// Time before something is due, and waited for awake, from which all of it is done but for writing it.
const READY: Span = Span::from_micros(15);
/// Time for which the loop stays awake before something is due: longer than a sleeper is usually late; the share of all time that it
/// may stay awake, and how much of that it may save up.
const AWAKE: Span = Span::from_micros(120);
const AWAKE_SHARE: u64 = 20;
const AWAKE_MOST: Span = Span::from_millis(2);

/// The pace of a loop.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    /// Frames read and written when the window began, and when that was.
    frames: u64,
    window: Time,
    busy: bool,
    /// Smoothed lateness of a sleeper, ns.
    oversleep: u64,
    /// A packet is due so soon that it is waited for awake.
    ready: bool,
    /// The last rest that was long enough to be one.
    rested: Time,
    /// The last round was followed by another without a rest.
    swept: bool,
    /// Time left for staying awake, and when it was last counted.
    awake: Span,
    counted: Time,
}

/// The way to wait for what is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The loop sleeps until then.
    Asleep(Time),
    /// Asleep until the first instant, awake until the second.
    Awake(Time, Time),
}

impl Pace {
    /// Time before it is due from which something may be done.
    pub fn early(&self) -> Span {
        match (self.busy, self.ready) {
            (true, _) => EARLY,
            (false, true) => READY,
            (false, false) => Span::ZERO,
        }
    }

    /// True if what was done early is written early too, and not when it is due.
    pub fn writes_early(&self) -> bool {
        self.busy
    }

    /// A round is over, with so many frames in all rounds. True if ports are to be looked at once more before the rest: a host's answer to
    /// an echo is there when the echo is written. Never twice in a row.
    pub fn handle_round(&mut self, now: Time, frames: u64) -> bool {
        self.ready = false;
        let window = now.since(self.window);
        if frames >= self.frames + MANY || window >= WINDOW {
            self.busy = (frames - self.frames) * WINDOW.as_nanos() >= MANY * window.as_nanos();
            (self.frames, self.window) = (frames, now);
        }
        self.swept = !self.busy && !self.swept;
        self.swept
    }

    /// Rest after a round that began at `began`.
    pub fn rest(&mut self, began: Time, now: Time) -> Span {
        let rest = match self.busy {
            true => PERIOD.saturating_sub(Span::from_nanos(self.oversleep)),
            false => REST,
        };
        let rest = (began + rest).since(now).max(LEAST_REST);
        if rest >= REST / 2 {
            self.rested = now;
        } else if now.since(self.rested) > LONGEST_WORK {
            self.rested = now;
            return REAL_REST;
        }
        rest
    }

    /// A rest took so much longer than it was to.
    pub fn overslept(&mut self, late: Span) {
        self.oversleep = (self.oversleep * (SMOOTHING - 1) + late.min(PERIOD).as_nanos()) / SMOOTHING;
    }

    /// True if packets come one by one, so that it matters when each came.
    pub fn one_by_one(&self) -> bool {
        !self.busy
    }

    /// Wait for packets that are due at `due`, if nothing else is due at `other` before.
    pub fn wait(&mut self, now: Time, due: Time, other: Time) -> Wait {
        let more = Span::from_nanos(now.since(self.counted).as_nanos() / AWAKE_SHARE);
        (self.awake, self.counted) = ((self.awake + more).min(AWAKE_MOST), now);
        if self.busy {
            return Wait::Asleep(other.min(Time::ZERO + due.since(Time::ZERO + EARLY)));
        }
        match due < other && self.awake >= AWAKE {
            true => Wait::Awake(
                Time::ZERO + due.since(Time::ZERO + AWAKE),
                Time::ZERO + due.since(Time::ZERO + READY),
            ),
            false => Wait::Asleep(due.min(other)),
        }
    }

    /// The loop has been awake for so long, and what it was awake for is next.
    pub fn was_awake(&mut self, time: Span) {
        self.ready = true;
        self.awake = self.awake.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::ZERO + Span::from_micros(n)
    }

    #[test]
    fn a_loop_always_rests_and_looks_once_more_at_most_every_other_round() {
        let mut pace = Pace::default();
        let looks = [1, 2, 3, 4].map(|round| pace.handle_round(us(round * 500), round));
        assert_eq!(looks, [true, false, true, false]);
        assert_eq!(
            (pace.rest(us(0), us(10)), pace.rest(us(0), us(500))),
            (Span::from_micros(20), LEAST_REST)
        );
        // Rounds that leave no time for a rest are followed by one every half second all the same.
        let real = (1..=20_000).filter(|n| pace.rest(us(n * 100), us(n * 100 + 99)) == REAL_REST).count();
        assert_eq!(real, 3);
    }

    /// Six frames in a millisecond are many, also if each round has one.
    #[test]
    fn frames_that_follow_each_other_closely_are_done_together() {
        for (apart, busy) in [(100, true), (160, true), (180, false), (5_000, false)] {
            let mut pace = Pace::default();
            (1..=100).for_each(|n| {
                pace.handle_round(us(n * apart), n);
            });
            assert_eq!((pace.writes_early(), pace.one_by_one()), (busy, !busy), "{apart} us apart");
            let early = if busy { EARLY } else { Span::ZERO };
            assert_eq!(pace.early(), early);
            // A round begins one period after the one before, however late a sleeper is; of what is due, half a period early.
            for _ in 0..100 {
                pace.overslept(Span::from_micros(50));
            }
            let rest = if busy { 130 - 50 - 10 } else { 30 - 10 };
            let rests = pace.rest(us(1_000_000), us(1_000_010)).as_nanos() / 1000;
            assert_eq!(rests, rest, "{apart} us apart");
            let due = us(2_000_000);
            let wait = pace.wait(us(1_000_100), due, Time::MAX);
            assert_eq!(wait == Wait::Asleep(us(2_000_000 - 65)), busy);
        }
    }

    #[test]
    fn it_is_awake_for_a_twentieth_of_its_time_at_most() {
        let mut pace = Pace::default();
        let (mut now, mut awake) = (us(0), Span::ZERO);
        let end = us(10_000_000);
        while now < end {
            let due = now + Span::from_micros(200);
            now = match pace.wait(now, due, Time::MAX) {
                Wait::Asleep(until) => until,
                Wait::Awake(from, until) => {
                    assert_eq!((due.since(until), due.since(from)), (READY, AWAKE));
                    pace.was_awake(AWAKE);
                    assert_eq!((pace.early(), pace.writes_early()), (READY, false));
                    awake += AWAKE;
                    due
                }
            };
        }
        let share = awake.as_secs_f64() / end.as_secs_f64();
        assert!((0.049..=0.0501).contains(&share), "{share}");
        // The pace sleeps until the next thing that is due.
        assert_eq!(pace.wait(us(20_000_000), us(20_000_300), us(20_000_100)), Wait::Asleep(us(20_000_100)));
    }
}
