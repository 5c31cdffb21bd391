//! The clock by which a network is stepped.

use rustix::time::{ClockId, Timespec, clock_gettime};
use skyhop_units::{Span, Time};

/// Nanoseconds of the monotonic clock since the start of the run.
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
        // The two clocks cannot be read at the same instant: the wall clock is read between two readings of the other.
        let before = monotonic();
        let ago = read(ClockId::Realtime).saturating_sub(ns);
        let now = before.midpoint(monotonic());
        Time::from_nanos((now - self.zero).saturating_sub(ago))
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
