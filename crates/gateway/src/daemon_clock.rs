//! The clock of a gateway's thread, from which all machines are handed the time.
//!
//! Follows CLOCK_MONOTONIC of clock_gettime(2) for timers, and CLOCK_REALTIME for the periods of quotas.
//! Differs from the system's clocks: it begins with the thread. Leaves out waiting (`daemon`).

use skyhop_units::{Span, Time};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time of the start: not zero, which would look like "never".
pub const STARTED: Time = Time::from_nanos(1_000_000_000);

/// The clock.
#[derive(Debug, Clone, Copy)]
pub struct DaemonClock {
    started: Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the gateway's one clock, from which all machines are handed the time"
)]
impl DaemonClock {
    /// A clock that begins now, at [`STARTED`].
    pub fn start() -> Self {
        DaemonClock { started: Instant::now() }
    }

    /// The time.
    pub fn now(self) -> Time {
        STARTED + Span::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Seconds since 1970; 0 if the host's clock is set before that.
    pub fn wall_s(self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}
