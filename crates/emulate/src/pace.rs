//! Times at which the loop rests, sleeps and polls: a machine that is handed the time and the number of frames of each round.
//!
//! Follows interrupt moderation of network cards: packets in close succession wait a little, so that they are read and written
//! together.
//! Differs: the loop polls for a single event that is due, since a sleeper wakes late, as long as that takes a small share of the
//! time.
//! Leaves out the clock and sleeping.

use skyhop_units::{Span, Time};

/// Rest after a round, and its minimum after a long one.
const REST: Span = Span::from_micros(30);
const LEAST_REST: Span = Span::from_micros(5);
/// Length of a round while many packets arrive, and half of it. Events that are due within `EARLY` are then handled at once, and
/// packets that are read count as sent by `EARLY` before, so that both are as much early as late.
const PERIOD: Span = Span::from_micros(158);
const EARLY: Span = Span::from_micros(79);
/// Longest time without a real rest: the system kills a real-time loop that never sleeps, and a short rest may end before the
/// system has put the loop to sleep.
const LONGEST_WORK: Span = Span::from_millis(500);
const REAL_REST: Span = Span::from_micros(200);
/// Number of frames in a window from which there are many.
const MANY: u64 = 6;
const WINDOW: Span = Span::from_millis(1);
/// Smoothing of a sleeper's lateness: an eighth of each new value counts.
const SMOOTHING: u64 = 8;
/// Time before a polled event is due from which it is handled, except for writing it.
const READY: Span = Span::from_micros(40);
/// Time for which the loop polls before an event is due, longer than the usual lateness of a sleeper; the share of the time that it
/// may poll, and the amount that it may save up.
const AWAKE: Span = Span::from_micros(120);
const AWAKE_SHARE: u64 = 20;
const AWAKE_MOST: Span = Span::from_millis(2);

/// The pace of a loop.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    /// Frames read and written at the start of the window, and that start.
    frames: u64,
    window: Time,
    busy: bool,
    /// Smoothed lateness of a sleeper, ns.
    oversleep: u64,
    /// True if the last round ended with waiting for an event or a packet, which then is read at once.
    waited: bool,
    /// True if a packet is due so soon that the loop polls for it.
    ready: bool,
    /// The last rest that was long enough to count.
    rested: Time,
    /// True if the last round was followed by another without a rest.
    swept: bool,
    /// Time left for polling, and when it was last updated.
    awake: Span,
    counted: Time,
}

/// How to wait for the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Sleep until then.
    Asleep(Time),
    /// Sleep until the first instant, poll until the second.
    Awake(Time, Time),
}

impl Pace {
    /// Time by which an event may be handled before it is due.
    pub fn early(&self) -> Span {
        match (self.busy, self.ready) {
            (true, _) => EARLY,
            (false, true) => READY,
            (false, false) => Span::ZERO,
        }
    }

    /// Expected time between the sending of a packet and its reading, if the kernel does not report it.
    pub fn read_after(&self) -> Span {
        if self.busy && !self.waited { EARLY } else { Span::ZERO }
    }

    /// Returns true if packets that are handled early are written early, too.
    pub fn writes_early(&self) -> bool {
        self.busy
    }

    /// Ends a round, with the number of frames in all rounds. Returns true if ports are to be read once more before the rest, since
    /// a host answers an echo as soon as it is written. Never twice in a row.
    pub fn handle_round(&mut self, now: Time, frames: u64) -> bool {
        (self.ready, self.waited) = (false, false);
        let window = now.since(self.window);
        if frames >= self.frames + MANY || window >= WINDOW {
            self.busy = (frames - self.frames) * WINDOW.as_nanos() >= MANY * window.as_nanos();
            (self.frames, self.window) = (frames, now);
        }
        self.swept = !self.busy && !self.swept;
        self.swept
    }

    /// Rest after a round that started at `began`.
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

    /// Records that a rest was longer than intended by `late`.
    pub fn overslept(&mut self, late: Span) {
        self.oversleep = (self.oversleep * (SMOOTHING - 1) + late.min(PERIOD).as_nanos()) / SMOOTHING;
    }

    /// Returns true if packets come one by one, so that the time of each matters.
    pub fn one_by_one(&self) -> bool {
        !self.busy
    }

    /// How to wait for packets that are due at `due`, if nothing else is due before, at `other`.
    pub fn wait(&mut self, now: Time, due: Time, other: Time) -> Wait {
        let more = Span::from_nanos(now.since(self.counted).as_nanos() / AWAKE_SHARE);
        (self.awake, self.counted) = ((self.awake + more).min(AWAKE_MOST), now);
        if self.busy {
            let until = other.min(due.before(EARLY));
            self.waited = until > now;
            return Wait::Asleep(until);
        }
        match due < other && self.awake >= AWAKE {
            true => Wait::Awake(due.before(AWAKE), due.before(READY)),
            false => Wait::Asleep(due.min(other)),
        }
    }

    /// Records that the loop has polled for `time`, and that its event is next.
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
        // After rounds that leave no time for a rest, there is one every half second nevertheless.
        let real = (1..=20_000).filter(|n| pace.rest(us(n * 100), us(n * 100 + 99)) == REAL_REST).count();
        assert_eq!(real, 3);
    }

    /// Six frames in a millisecond are many, even one per round.
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
            // A round starts one period after the one before, however late a sleeper is; due events are handled up to half a period
            // early.
            for _ in 0..100 {
                pace.overslept(Span::from_micros(50));
            }
            let rest = if busy { 158 - 50 - 10 } else { 30 - 10 };
            let rests = pace.rest(us(1_000_000), us(1_000_010)).as_nanos() / 1000;
            assert_eq!(rests, rest, "{apart} us apart");
            let due = us(2_000_000);
            assert_eq!(pace.read_after(), early);
            let wait = pace.wait(us(1_000_100), due, Time::MAX);
            assert_eq!(wait == Wait::Asleep(us(2_000_000 - 79)), busy);
            // It waits for the next packet, and reads it at once.
            assert_eq!(pace.read_after(), Span::ZERO);
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
        // The pace sleeps until the next event.
        assert_eq!(pace.wait(us(20_000_000), us(20_000_300), us(20_000_100)), Wait::Asleep(us(20_000_100)));
    }
}
