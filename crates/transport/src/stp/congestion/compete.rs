//! Competition with flows that fill the queue: how they are recognized, and the window that competes with them.
//!
//! Follows RFC 9438 §4 (CUBIC: the window's growth by time, its decrease by 0.7, Reno's estimate beside it).
//! Differs: one decrease a round trip, for losses beyond those of the channel, and no slow start.
//! Leaves out the decision when this window applies (`delay`).

use skyhop_units::Time;

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// Round trips for which a queue must persist, although the rate falls, before other flows are taken for its cause.
const STANDS: u32 = 6;
/// Reductions for losses before other flows are taken for their cause, and round trips without a loss after which the count is reset.
const CUTS: u32 = 3;
const CALM: u32 = 32;

/// Evidence of other flows that fill the queue.
#[derive(Debug, Default)]
pub(super) struct Rival {
    /// Round trips for which a queue has persisted, the rate when it began, and its delay then, seconds.
    stood: u32,
    before: f64,
    queue: f64,
    /// Recent reductions for losses, and round trips since the last one.
    cuts: u32,
    calm: u32,
}

impl Rival {
    /// Records a round trip without congestion.
    pub fn calm(&mut self) {
        self.calm += 1;
        if self.calm > CALM {
            self.cuts = 0;
        }
    }

    /// Round trips since the last reduction for losses.
    pub fn calm_for(&self) -> u32 {
        self.calm
    }

    /// Records a reduction of the rate for losses. Returns true if there were [`CUTS`] of them.
    pub fn lost(&mut self) -> bool {
        (self.cuts, self.calm) = (self.cuts + 1, 0);
        self.cuts >= CUTS
    }

    /// Records a queue at the end of a round trip. Returns the rate when the queue began, if it has persisted for [`STANDS`] round trips
    /// and has not become shorter.
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

    /// Returns true if a queue has persisted although the rate was halved.
    pub fn starves(&self, rate: f64) -> bool {
        self.stood > 0 && rate < self.before / 2.0
    }

    /// Records a round trip without a queue.
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
    /// A window that starts as if it had just been reduced to `window` packets.
    pub fn cut_to(now: Time, window: f64) -> Self {
        let window = window.max(4.0);
        let w_max = window / BETA;
        let k = ((w_max - window) / C).cbrt();
        Self { window, w_max, estimate: window, epoch: now, k, grown: now }
    }

    /// Time of the latest reduction.
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
        // The window that Reno would have (RFC 9438 §4.3).
        let alpha = if self.estimate >= self.w_max { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.estimate += alpha * part;
        self.window = self.window.max(self.estimate);
    }
}
