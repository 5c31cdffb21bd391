//! The clock by which a network is stepped.

use rustix::time::{ClockId, Timespec, clock_gettime};
use skyhop_units::{Span, Time};

/// Nanoseconds of the monotonic clock since the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    zero: u64,
}

/// Readings of two clocks within so many nanoseconds of each other count as simultaneous.
const CLOSE_NS: u64 = 5_000;

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

fn monotonic() -> u64 {
    #[cfg(test)]
    if let Some(ns) = stepped::read() {
        return ns;
    }
    read(ClockId::Monotonic)
}

impl RunClock {
    /// Starts the clock of a run now.
    pub fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// Present time of the run.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic() - self.zero)
    }

    /// Time of the run at an instant of the wall clock, in nanoseconds, as it is set now; the start of the run for an earlier
    /// instant.
    pub fn of_day(&self, ns: u64) -> Time {
        // The two clocks cannot be read at the same instant: the wall clock is read between two readings of the other, and again if
        // the thread was interrupted there.
        let compare = || {
            let before = monotonic();
            let of_day = read(ClockId::Realtime);
            let after = monotonic();
            (after - before, before.midpoint(after), of_day)
        };
        let mut closest = compare();
        for _ in 0..3 {
            if closest.0 < CLOSE_NS {
                break;
            }
            closest = closest.min(compare());
        }
        let (_, now, of_day) = closest;
        Time::from_nanos((now - self.zero).saturating_sub(of_day.saturating_sub(ns)))
    }

    /// Sleeps for `span`, and at least long enough that other threads may run.
    pub fn sleep(&self, span: Span) {
        let ns = span.as_nanos().max(1);
        let wait = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        // An interrupted sleep counts.
        let _ = rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &wait);
    }

    /// Sleeps until a time of the run.
    pub fn sleep_until(&self, at: Time) {
        // An interrupted sleep ends.
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &self.absolute(at));
    }

    /// The instant of the monotonic clock at a time of the run.
    pub fn absolute(&self, at: Time) -> Timespec {
        let ns = self.zero.saturating_add(at.as_nanos());
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
    }
}

/// A monotonic clock for tests, which moves only when it is read: each reading is a step after the one before.
#[cfg(test)]
pub(crate) mod stepped {
    use skyhop_units::Span;
    use std::cell::Cell;

    thread_local! {
        /// The next reading, ns, and the step; `None` for the real clock.
        static NEXT: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    }

    /// Sets the next reading of this thread's clock, and the step.
    pub(crate) fn set(next: Span, step: Span) {
        NEXT.set(Some((next.as_nanos(), step.as_nanos())));
    }

    pub(super) fn read() -> Option<u64> {
        let (ns, step) = NEXT.get()?;
        NEXT.set(Some((ns + step, step)));
        Some(ns)
    }
}
