//! When the loop rests, sleeps and stays awake: a machine that is handed the time and the frames of each round.
//!
//! Follows interrupt moderation of network cards: packets that come one by one wait a little, so that they are read and written together.
//! Differs from it: something that is due alone is waited for awake, as a sleeper wakes late, while that takes a small share of all time.
//! Leaves out the clock and the sleeping.

use skyhop_units::{Span, Time};

/// The rest after a round, and the least of it, however long the round has taken: a loop that never sleeps is ended by the system.
const REST: Span = Span::from_micros(30);
const LEAST_REST: Span = Span::from_micros(5);
/// The rest while many packets come. What is due within `EARLY` is done at once then, so that packets are as much early as late.
const LONG_REST: Span = Span::from_micros(80);
const EARLY: Span = Span::from_micros(40);
/// Frames of a round from which on many come.
const MANY: u64 = 3;
/// How long before something is due the loop stays awake; of which share of all time it may do so, and how much of that it may save up.
const AWAKE: Span = Span::from_micros(50);
const AWAKE_SHARE: u64 = 20;
const AWAKE_MOST: Span = Span::from_millis(1);

/// The pace of a loop.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    /// Frames read and written so far.
    frames: u64,
    busy: bool,
    /// The last round was followed by another without a rest.
    swept: bool,
    /// Time left for staying awake, and when it was last counted.
    awake: Span,
    counted: Time,
}

/// The way to wait for what is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Asleep until then.
    Asleep(Time),
    /// Asleep until the first instant, awake until the second.
    Awake(Time, Time),
}

impl Pace {
    /// How long before it is due something may be done.
    pub fn early(&self) -> Span {
        if self.busy { EARLY } else { Span::ZERO }
    }

    /// A round is over, with so many frames in all rounds. True if ports are to be looked at once more before the rest: a host's answer to
    /// an echo is there when the echo is written. Never twice in a row.
    pub fn handle_round(&mut self, frames: u64) -> bool {
        self.busy = frames >= self.frames + MANY;
        self.frames = frames;
        self.swept = !self.busy && !self.swept;
        self.swept
    }

    /// Until when to rest after a round that began at `began`.
    pub fn rest(&self, began: Time, now: Time) -> Time {
        let rest = if self.busy { LONG_REST } else { REST };
        (began + rest).max(now + LEAST_REST)
    }

    /// How to wait for packets that are due at `due`, if nothing else is due at `other` before.
    pub fn wait(&mut self, now: Time, due: Time, other: Time) -> Wait {
        let more = Span::from_nanos(now.since(self.counted).as_nanos() / AWAKE_SHARE);
        (self.awake, self.counted) = ((self.awake + more).min(AWAKE_MOST), now);
        match due < other && self.awake >= AWAKE {
            true => Wait::Awake(Time::ZERO + due.since(Time::ZERO + AWAKE), due),
            false => Wait::Asleep(due.min(other)),
        }
    }

    /// The loop has been awake for so long.
    pub fn was_awake(&mut self, time: Span) {
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
    fn a_loop_always_sleeps_and_looks_once_more_at_most_every_other_round() {
        let mut pace = Pace::default();
        assert_eq!([1, 2, 3, 4].map(|frames| pace.handle_round(frames)), [true, false, true, false]);
        assert_eq!((pace.rest(us(0), us(10)), pace.rest(us(0), us(500))), (us(30), us(505)));
        // From three frames in a round on, it rests longer and looks no more before.
        assert!(!pace.handle_round(7));
        assert_eq!((pace.rest(us(0), us(10)), pace.early()), (us(80), EARLY));
        assert!(pace.handle_round(9), "two frames are few");
        assert_eq!(pace.early(), Span::ZERO);
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
                    assert_eq!((until, until.since(from)), (due, AWAKE));
                    pace.was_awake(AWAKE);
                    awake += AWAKE;
                    until
                }
            };
        }
        let share = awake.as_secs_f64() / end.as_secs_f64();
        assert!((0.049..=0.0501).contains(&share), "{share}");
        // What else is due first is slept for.
        assert_eq!(pace.wait(us(20_000_000), us(20_000_300), us(20_000_100)), Wait::Asleep(us(20_000_100)));
    }
}
