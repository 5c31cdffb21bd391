//! The clock that a network is stepped by.

use rustix::time::{ClockId, Timespec, clock_gettime};
use skyhop_units::Time;

/// Nanoseconds of the monotonic clock since an instant, which is the run's beginning.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: u64,
}

fn monotonic() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

impl Clock {
    /// A run begins now.
    pub fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// How far the run is.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic() - self.zero)
    }

    /// Sleeps until then.
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
