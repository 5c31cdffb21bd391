//! Flows that fill the queue: how they show, and their own law.
//!
//! Follows RFC 9438 §4 (CUBIC: the window's growth by time, its decrease by 0.7, Reno's estimate beside it).
//! Differs: one decrease a round trip, for losses beyond those of the channel, and no slow start.
//! Leaves out when this law is in force (`delay`).

use skyhop_units::Time;

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// Round trips that a queue stands against a falling rate before it is taken for another's.
const STANDS: u32 = 6;
/// Cuts for losses before they are another's, and round trips without any that undo them.
const CUTS: u32 = 3;
const CALM: u32 = 32;

/// Evidence of flows that fill the queue.
#[derive(Debug, Default)]
pub(super) struct Rival {
    /// Round trips that a queue has stood, the rate when it began, and its length then.
    stood: u32,
    before: f64,
    queue: f64,
    /// Cuts for losses of late, and round trips since.
    cuts: u32,
    calm: u32,
}

impl Rival {
    /// A round trip without congestion.
    pub fn calm(&mut self) {
        self.calm += 1;
        if self.calm > CALM {
            self.cuts = 0;
        }
    }

    pub fn calm_for(&self) -> u32 {
        self.calm
    }

    /// Notes a cut of the rate for losses. Returns true if there were too many.
    pub fn lost(&mut self) -> bool {
        (self.cuts, self.calm) = (self.cuts + 1, 0);
        self.cuts >= CUTS
    }

    /// Notes a queue at the end of a round trip. Returns the rate when it began, once it has stood for long and is not shorter.
    pub fn stands(&mut self, rate: f64, queue: f64) -> Option<f64> {
        if self.stood == 0 {
            (self.before, self.queue) = (rate, queue);
        }
        self.stood += 1;
        if self.stood < STANDS {
            return None;
        }
        self.stood = 0;
        (queue > 0.7 * self.queue).then_some(self.before)
    }

    /// Returns true if the rate has halved beside a queue, which has not gone with it.
    pub fn starves(&self, rate: f64) -> bool {
        self.stood > 0 && rate < self.before / 2.0
    }

    /// Notes that no queue stands.
    pub fn gone(&mut self) {
        self.stood = 0;
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CubicWindow {
    /// Congestion window, packets.
    pub window: f64,
    pub w_max: f64,
    estimate: f64,
    epoch: Time,
    k: f64,
    grown: Time,
}

impl CubicWindow {
    /// Starts as if the window had just been cut to `window` packets.
    pub fn cut_to(now: Time, window: f64) -> Self {
        let window = window.max(4.0);
        let w_max = window / BETA;
        let k = ((w_max - window) / C).cbrt();
        Self { window, w_max, estimate: window, epoch: now, k, grown: now }
    }

    /// Time of the latest cut.
    pub fn cut_at(&self) -> Time {
        self.epoch
    }

    pub fn cut(&mut self, now: Time) {
        // Fast convergence (RFC 9438 §4.7).
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(4.0);
        self.estimate = self.window;
        self.k = ((self.w_max - self.window).max(0.0) / C).cbrt();
        (self.epoch, self.grown) = (now, now);
    }

    pub fn grow(&mut self, now: Time, rtt: f64) {
        let since = now.since(self.grown).as_secs_f64();
        self.grown = now;
        let part = since / rtt.max(1e-3);
        let t = now.since(self.epoch).as_secs_f64() + rtt;
        let target = (self.w_max + C * (t - self.k).powi(3)).clamp(self.window, 1.5 * self.window);
        self.window += (target - self.window) * part.min(1.0);
        // Where Reno would be (RFC 9438 §4.3).
        let alpha = if self.estimate >= self.w_max { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.estimate += alpha * part;
        self.window = self.window.max(self.estimate);
    }
}
