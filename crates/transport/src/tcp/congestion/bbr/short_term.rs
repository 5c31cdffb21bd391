//! Short-term bounds: the delivery of the latest round with losses, until the next bandwidth probe.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.5.10.3.
//! Differs: the losses of a round are counted by acknowledgments that report any.
//! Leaves out the long-term bound of data in flight, which is in `bbr`.

use crate::tcp::segments::RateSample;

pub(super) const BETA: f64 = 0.7;

#[derive(Debug)]
pub(super) struct ShortTerm {
    /// Bytes in flight and bytes per second; infinite without a bound.
    pub inflight: f64,
    pub bw: f64,
    /// Maxima of the latest round.
    bw_latest: f64,
    pub inflight_latest: f64,
    /// The round ends when data are delivered that were sent after this many bytes had been.
    round_delivered: u64,
    pub round_start: bool,
    loss_in_round: bool,
    pub loss_events: u32,
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self {
            inflight: f64::INFINITY,
            bw: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            round_delivered: 0,
            round_start: false,
            loss_in_round: false,
            loss_events: 0,
        }
    }
}

impl ShortTerm {
    /// Handles an acknowledgment; `losses` is true if it reports any.
    #[inline]
    pub fn on_ack(&mut self, losses: bool) {
        self.round_start = false;
        if losses {
            self.loss_in_round = true;
            self.loss_events += 1;
        }
    }

    /// Handles a rate sample; `delivered` bytes had been delivered so far.
    #[inline]
    pub fn on_sample(&mut self, sample: &RateSample, delivered: u64) {
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        if sample.prior_delivered >= self.round_delivered {
            self.round_delivered = delivered;
            self.round_start = true;
        }
    }

    /// Ends a round. If it had losses that were `unexpected`, the bounds follow its delivery, starting from `max_bw` and
    /// `in_flight` where there were none.
    pub fn end_round(&mut self, unexpected: bool, max_bw: f64, in_flight: u64) {
        if unexpected && self.loss_in_round {
            let bw = if self.bw.is_finite() { self.bw } else { max_bw };
            let inflight = if self.inflight.is_finite() { self.inflight } else { in_flight as f64 };
            self.bw = self.bw_latest.max(BETA * bw);
            self.inflight = self.inflight_latest.max(BETA * inflight);
        }
        self.loss_in_round = false;
        self.loss_events = 0;
    }

    /// Starts the next round with this sample.
    pub fn begin_round(&mut self, sample: Option<RateSample>) {
        (self.bw_latest, self.inflight_latest) =
            sample.map_or((0.0, 0.0), |s| (s.rate.unwrap_or(0.0), s.delivered as f64));
    }

    /// Forgets the loss signals of the round.
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.loss_events = 0;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// Removes the bounds.
    pub fn reset_bounds(&mut self) {
        (self.bw, self.inflight) = (f64::INFINITY, f64::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // §5.5.10.3: 0.7 of the bound, or the delivery of the round if that is more.
    #[test]
    fn a_round_with_losses_bounds_by_what_it_delivered() {
        let sample = |rate, delivered, prior_delivered| RateSample {
            rate: Some(rate),
            app_limited: false,
            prior_delivered,
            tx_in_flight: 0,
            lost: 0,
            delivered,
        };
        let mut short = ShortTerm::default();
        short.on_ack(false);
        short.on_sample(&sample(1000.0, 500, 0), 800);
        assert!(short.round_start);
        short.end_round(true, 2000.0, 1000);
        assert!(short.bw.is_infinite() && short.inflight.is_infinite(), "no losses");
        short.begin_round(None);
        short.on_ack(true);
        short.on_sample(&sample(1000.0, 900, 799), 1600);
        assert!(!short.round_start, "sent before the round began");
        short.on_sample(&sample(1000.0, 900, 800), 1600);
        short.end_round(false, 2000.0, 1000);
        assert!(short.bw.is_infinite(), "losses that were expected");
        short.on_ack(true);
        short.end_round(true, 2000.0, 1000);
        assert_eq!((short.bw, short.inflight, short.loss_events), (1400.0, 900.0, 0));
        short.reset_signals();
        short.on_ack(true);
        short.end_round(true, 9000.0, 9000);
        assert_eq!((short.bw, short.inflight), (0.7 * 1400.0, 0.7 * 900.0));
        short.reset_bounds();
        assert!(short.bw.is_infinite() && short.inflight.is_infinite());
    }
}
