//! The command's clock: how long something has taken, and a pause.
//!
//! Differs from the time of machines, which are handed theirs: people and peers wait by this one, and no result but `wall_s` hangs on it.

use std::time::{Duration, Instant};

/// Something that began at an instant.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

#[expect(clippy::disallowed_methods, reason = "the command tells people how long things take")]
impl Stopwatch {
    /// It begins now.
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// How long ago that was.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "what is waited for says nothing when it is there")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
