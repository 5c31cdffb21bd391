//! The clock that a network is stepped by.

use rustix::time::{ClockId, Timespec, clock_gettime};
use skyhop_units::{Span, Time};

/// Nanoseconds of the monotonic clock since an instant, which is the run's beginning.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    zero: u64,
}

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

fn monotonic() -> u64 {
    read(ClockId::Monotonic)
}

impl RunClock {
    /// A run begins now.
    pub fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// Time of the run now.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic() - self.zero)
    }

    /// An instant of the clock of the day, in nanoseconds, as it is set now; the run's beginning for one before it.
    pub fn of_day(&self, ns: u64) -> Time {
        // The two clocks are never read at the same instant: the day's is between.
        let before = monotonic();
        let ago = read(ClockId::Realtime).saturating_sub(ns);
        let now = before.midpoint(monotonic());
        Time::from_nanos((now - self.zero).saturating_sub(ago))
    }

    /// Sleeps so long, and at least so long that others may run.
    pub fn sleep(&self, span: Span) {
        let ns = span.as_nanos().max(1);
        let wait = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        // Interrupted is rested.
        let _ = rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &wait);
    }

    /// Sleeps until a time of the run.
    pub fn sleep_until(&self, at: Time) {
        // Interrupted is awake.
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &self.absolute(at));
    }

    /// The same instant on the monotonic clock.
    pub fn absolute(&self, at: Time) -> Timespec {
        let ns = self.zero.saturating_add(at.as_nanos());
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
    }
}
