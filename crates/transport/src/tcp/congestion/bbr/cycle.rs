//! The cycle of PROBE_BW: the wait before a bandwidth probe, the acknowledgments that answer it, and its growth.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3.3.5, §5.3.3.6 (ProbeInflightLongtermUpward) and §5.3.3.9.
//! Leaves out the states (`bbr`).

use skyhop_units::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Start of the phase, and the time until the next probe.
    stamp: Time,
    wait_s: f64,
    /// Rounds of the probe, bytes acknowledged in it, and the number of bytes that allow another segment.
    up_rounds: u32,
    pub up_acked: f64,
    pub acked_per_inc: f64,
    /// True if the present samples belong to a probe.
    pub sampling: bool,
    /// True if the latest probe exceeded the limit, or was ended before it could.
    pub too_high: bool,
    pub precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            stamp: Time::ZERO,
            wait_s: 2.0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_inc: f64::INFINITY,
            sampling: false,
            too_high: false,
            precautionary: false,
        }
    }
}

impl Cycle {
    /// Starts a cycle; the next probe is `wait_s` away.
    pub fn begin(&mut self, now: Time, wait_s: f64) {
        (self.stamp, self.wait_s) = (now, wait_s);
        self.acked_per_inc = f64::INFINITY;
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// Returns true if the wait has ended.
    pub fn waited(&self, now: Time) -> bool {
        now.since(self.stamp).as_secs_f64() > self.wait_s
    }

    /// Starts the phase that fills the pipe before a probe.
    pub fn refill(&mut self) {
        (self.up_rounds, self.up_acked) = (0, 0.0);
        self.precautionary = false;
        self.ack_phase = AckPhase::Refilling;
    }

    /// Handles the start of a round. Returns true if the last answers to a probe have arrived.
    pub fn on_round(&mut self) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.sampling = false;
                self.ack_phase = AckPhase::Init;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Halves, in each round of a probe, the number of bytes that allow another segment, down to a segment's size.
    pub fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = (1u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_per_inc = (cwnd / growth).max(mss);
    }

    /// Counts bytes acknowledged while the window limited the probe. Returns the additional segments that may be in flight.
    pub fn on_acked(&mut self, bytes: u64) -> f64 {
        self.up_acked += bytes as f64;
        if self.up_acked < self.acked_per_inc {
            return 0.0;
        }
        let segments = (self.up_acked / self.acked_per_inc).floor();
        self.up_acked -= segments * self.acked_per_inc;
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_units::Span;

    #[test]
    fn a_probe_waits_its_time_and_its_answers_end_with_a_round_after_it() {
        let mut cycle = Cycle::default();
        cycle.begin(Time::ZERO, 2.5);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        assert!(!cycle.waited(at(2500)) && cycle.waited(at(2501)));
        cycle.sampling = true;
        assert!(cycle.on_round() && !cycle.sampling && !cycle.on_round());
        cycle.precautionary = true;
        cycle.refill();
        assert!(!cycle.on_round() && cycle.ack_phase == AckPhase::Refilling && !cycle.precautionary);
        cycle.ack_phase = AckPhase::ProbeStarting;
        assert!(!cycle.on_round() && cycle.ack_phase == AckPhase::ProbeFeedback);
    }
}
