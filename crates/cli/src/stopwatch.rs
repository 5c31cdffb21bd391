//! The command's clock: elapsed time, and a pause.
//!
//! Differs from the time of machines, which is an argument: this one is for people and peers, and of the results only `wall_s`
//! depends on it.

use std::time::{Duration, Instant};

/// The instant at which something began.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

#[expect(clippy::disallowed_methods, reason = "the command tells people how long things take")]
impl Stopwatch {
    /// A stopwatch that starts now.
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Sleeps.
#[expect(clippy::disallowed_methods, reason = "what is waited for says nothing when it is there")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
