//! Aggregation of acknowledgments: bytes delivered beyond the estimated bandwidth, for which the window needs room.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.5.9.
//! Differs: the maximum is kept for each half of the ten rounds.
//! Leaves out nothing of it.

use skyhop_units::Time;

#[derive(Debug)]
pub(super) struct Aggregation {
    /// Maximum of the present half, and of the one before.
    extra: [f64; 2],
    round: u64,
    delivered: f64,
    start: Time,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self { extra: [0.0; 2], round: 0, delivered: 0.0, start: Time::ZERO }
    }
}

impl Aggregation {
    /// Starts the interval over which deliveries are compared with the bandwidth.
    pub fn since(&mut self, now: Time) {
        self.start = now;
    }

    /// Largest excess over the expected delivery, bytes.
    pub fn extra(&self) -> f64 {
        self.extra[0].max(self.extra[1])
    }

    /// Handles the delivery of `delivered` bytes at a bandwidth of `bw`; at most `cwnd` of the excess counts. The maximum of each
    /// `half` rounds is kept; the present one is `round`.
    #[inline]
    pub fn on_ack(&mut self, now: Time, delivered: u64, bw: f64, cwnd: f64, round: u64, half: u64) {
        let interval = now.since(self.start).as_secs_f64();
        let mut expected = bw * interval;
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.start = now;
            expected = 0.0;
        }
        self.delivered += delivered as f64;
        let extra = (self.delivered - expected).clamp(0.0, cwnd);
        if round >= self.round + half {
            self.extra = [0.0, self.extra[0]];
            self.round = round;
        }
        self.extra[0] = self.extra[0].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;

    #[test]
    fn a_bunch_counts_beyond_the_rate_and_is_remembered_for_two_halves() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut aggregation = Aggregation::default();
        aggregation.since(at(0));
        // 1000 bytes per second: 500 in 100 ms, then counting restarts at that acknowledgment.
        aggregation.on_ack(at(100), 500, 1000.0, 1e6, 0, 5);
        assert_eq!(aggregation.extra(), 500.0);
        aggregation.on_ack(at(200), 300, 1000.0, 1e6, 1, 5);
        assert_eq!(aggregation.extra(), 700.0);
        // Delivered in time: no excess but the acknowledgment itself.
        aggregation.on_ack(at(5000), 100, 1000.0, 1e6, 2, 5);
        assert_eq!(aggregation.extra(), 700.0);
        aggregation.on_ack(at(9000), 5000, 1000.0, 2000.0, 5, 5);
        assert_eq!((aggregation.extra, aggregation.round), ([2000.0, 700.0], 5));
        aggregation.on_ack(at(90_000), 10, 1000.0, 2000.0, 9, 5);
        aggregation.on_ack(at(91_000), 10, 1000.0, 2000.0, 10, 5);
        assert_eq!(aggregation.extra, [10.0, 2000.0]);
    }
}
