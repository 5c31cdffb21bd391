//! Competition with flows that fill the queue: how they are recognized, and the window that competes with them.
//!
//! Follows RFC 9438 §4 (CUBIC: the window's growth by time, its decrease by 0.7, Reno's estimate beside it).
//! Differs: one decrease a round trip, for losses beyond those of the channel, and no slow start.
//! Leaves out the decision when this window applies (`delay`).

use skyhop_units::{Span, Time};

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// Round trips for which a queue must persist, although the rate falls, before other flows are taken for its cause.
const STANDS: u32 = 6;
/// Round trips that are enough if this flow's share of what leaves the queue has fallen below this part of what it was in the first.
const TAKEN: (u32, f64) = (3, 0.9);
/// Number of reductions of which one is followed by a look whether the queue goes with it: others gain by each look.
const LOOKS: u32 = 4;
/// Reductions for losses before other flows are taken for their cause, and round trips without a loss after which the count is reset.
const CUTS: u32 = 3;
const CALM: u32 = 32;
/// Part of the largest of the shares at these reductions that the last must be below: alone, a flow has the path's rate at each.
const LESS: f64 = 0.97;

/// Evidence of other flows that fill the queue.
#[derive(Debug, Default)]
pub(super) struct Rival {
    /// Round trips for which a queue has persisted, its delay in the first of them, seconds, this flow's share of what left it then, and
    /// the most that it had, which is at least its rate when the queue began.
    stood: u32,
    queue: f64,
    share: f64,
    before: f64,
    /// Recent reductions for losses, the largest share of the path that this flow had at one of them, and round trips since the last.
    cuts: u32,
    most: f64,
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

    /// Records a reduction of the rate for losses, and the rate at which this flow's packets left the queue, if there was one. Returns
    /// true if there were [`CUTS`] of them, and that rate has fallen.
    pub fn lost(&mut self, share: Option<f64>) -> bool {
        if self.cuts == 0 {
            self.most = 0.0;
        }
        self.most = self.most.max(share.unwrap_or(0.0));
        (self.cuts, self.calm) = (self.cuts + 1, 0);
        self.cuts >= CUTS && share.is_some_and(|share| share < LESS * self.most)
    }

    /// Records a reduction of the rate for an overload, which is no evidence of others.
    pub fn overload(&mut self) {
        self.calm = 0;
    }

    /// Records a reduction of the rate for a mark. Returns true if there were [`CUTS`] of them, whatever the shares.
    pub fn marked(&mut self) -> bool {
        (self.cuts, self.calm) = (self.cuts + 1, 0);
        self.cuts >= CUTS
    }

    /// Records a queue at the end of a round trip, and the rate at which this flow's packets left it, which may vary by `chance`. Returns
    /// the most that the flow had, if the queue has persisted for [`STANDS`] round trips, or while others took more of it, and has not
    /// become shorter.
    pub fn stands(&mut self, rate: f64, queue: f64, share: f64, chance: bool) -> Option<f64> {
        if self.stood == 0 {
            (self.before, self.queue, self.share) = (rate, queue, share);
        }
        // The rate swings while the queue does not go with it, so that a single value may be far below what the flow had.
        self.before = self.before.max(share);
        self.stood += 1;
        let taken = self.stood >= TAKEN.0 && !chance && share < TAKEN.1 * self.share;
        if self.stood < STANDS && !taken {
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
    /// Reductions so far.
    cuts: u32,
    estimate: f64,
    epoch: Time,
    k: f64,
    grown: Time,
    /// Time since the reduction in which the window was not used.
    unused: Span,
}

impl CubicWindow {
    /// A window that starts as if it had just been reduced to `window` packets.
    pub fn cut_to(now: Time, window: f64) -> Self {
        let window = window.max(4.0);
        let w_max = window / BETA;
        let k = ((w_max - window) / C).cbrt();
        Self { window, w_max, cuts: 0, estimate: window, epoch: now, k, grown: now, unused: Span::ZERO }
    }

    /// Time of the latest reduction.
    pub fn cut_at(&self) -> Time {
        self.epoch
    }

    /// Returns true if the flow is to look whether the queue goes with the latest reduction.
    pub fn is_to_look(&self) -> bool {
        self.cuts.is_multiple_of(LOOKS)
    }

    pub fn cut(&mut self, now: Time) {
        self.cuts += 1;
        // Fast convergence (RFC 9438 §4.7).
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(4.0);
        self.estimate = self.window;
        self.k = ((self.w_max - self.window).max(0.0) / C).cbrt();
        (self.epoch, self.grown, self.unused) = (now, now, Span::ZERO);
    }

    /// Lets time pass without growth, as the window was not used (RFC 9438 §5.8).
    pub fn pause(&mut self, now: Time) {
        self.unused += now.since(self.grown);
        self.grown = now;
    }

    pub fn grow(&mut self, now: Time, rtt: f64) {
        let since = now.since(self.grown).as_secs_f64();
        self.grown = now;
        let part = since / rtt.max(1e-3);
        let t = now.since(self.epoch).saturating_sub(self.unused).as_secs_f64() + rtt;
        let target = (self.w_max + C * (t - self.k).powi(3)).clamp(self.window, 1.5 * self.window);
        self.window += (target - self.window) * part.min(1.0);
        // The window that Reno would have (RFC 9438 §4.3).
        let alpha = if self.estimate >= self.w_max { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.estimate += alpha * part;
        self.window = self.window.max(self.estimate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips after which others are recognized, by this flow's share of what leaves the queue in each.
    fn recognized_after(shares: &[f64], queue: impl Fn(usize) -> f64) -> Option<usize> {
        let mut rival = Rival::default();
        (0..shares.len()).find(|n| rival.stands(10.0, queue(*n), shares[*n], false).is_some()).map(|n| n + 1)
    }

    #[test]
    fn others_are_recognized_sooner_if_they_take_a_part_of_the_queue() {
        let stands = |_| 0.1;
        assert_eq!(recognized_after(&[8.0; 7], stands), Some(6));
        assert_eq!(recognized_after(&[8.0, 7.9, 7.3, 7.3, 7.3, 7.3], stands), Some(6));
        assert_eq!(recognized_after(&[8.0, 7.5, 7.1], stands), Some(3));
        assert_eq!(recognized_after(&[8.0, 7.5, 7.3, 7.1], stands), Some(4));
        // A queue that goes was this flow's own.
        let goes = |n: usize| 0.1 - 0.02 * n as f64;
        assert_eq!(recognized_after(&[8.0, 7.5, 7.1], goes), None);
        assert_eq!(recognized_after(&[8.0; 6], goes), None);
    }

    /// The rate swings beside others: what counts is the most that the flow had while the queue stood.
    #[test]
    fn the_most_that_left_the_queue_is_kept() {
        let mut rival = Rival::default();
        let shares = [8.0, 20.0, 3.0];
        let kept = shares.map(|share| rival.stands(5.0, 0.1, share, false));
        assert_eq!(kept, [None, None, Some(20.0)]);
        let mut rival = Rival::default();
        let kept = [(); 6].map(|()| rival.stands(10.0, 0.1, 9.0, true));
        assert_eq!(kept[5], Some(10.0));
        assert!(kept[..5].iter().all(Option::is_none));
    }

    /// A flow that is alone has the path's rate at each reduction, as a measurement shows it; beside others it has less and less.
    #[test]
    fn reductions_tell_of_others_if_less_arrives() {
        let seen = |shares: &[f64]| {
            let mut rival = Rival::default();
            shares.iter().position(|share| rival.lost(Some(*share))).map(|n| n + 1)
        };
        assert_eq!(seen(&[10.0, 9.8, 10.1, 9.9, 10.0, 9.85]), None);
        assert_eq!(seen(&[10.0, 9.0, 8.5]), Some(3));
        assert_eq!(seen(&[10.0, 10.0, 10.0, 9.5]), Some(4));
        // Without a queue the flow's own rate arrives.
        let mut rival = Rival::default();
        assert!([Some(10.0), None, None, None].iter().all(|share| !rival.lost(*share)));
        // Long ago counts no more.
        let mut rival = Rival::default();
        (0..2).for_each(|_| assert!(!rival.lost(Some(20.0))));
        (0..=CALM).for_each(|_| rival.calm());
        assert!((0..3).all(|_| !rival.lost(Some(10.0))));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let at = |ms| Time::from_nanos(ms * 1_000_000);
        let run = |idle_ms: u64| {
            let mut cubic = CubicWindow::cut_to(Time::ZERO, 100.0);
            (0..40).for_each(|n| cubic.grow(at(100 * n), 0.1));
            cubic.pause(at(3900 + idle_ms));
            assert!((100.0..150.0).contains(&cubic.window), "{}", cubic.window);
            (40..60).for_each(|n| cubic.grow(at(100 * n + idle_ms), 0.1));
            cubic.window
        };
        assert!((run(600_000) - run(0)).abs() < 1e-6);
    }

    #[test]
    fn one_reduction_of_four_is_followed_by_a_look() {
        let mut cubic = CubicWindow::cut_to(Time::ZERO, 100.0);
        let looks = [(); 8].map(|()| {
            cubic.cut(Time::ZERO);
            cubic.is_to_look()
        });
        assert_eq!(looks, [false, false, false, true, false, false, false, true]);
    }
}
