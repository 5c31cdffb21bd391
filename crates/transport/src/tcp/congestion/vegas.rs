//! Vegas: the window follows its share of the queue, as estimated from RTTs.
//!
//! Follows Brakmo and Peterson (JSAC 1995) in the form of ns-2's agent, with alpha 1, beta 3 and gamma 1 segments.
//! Differs from ns-2: the smallest RTT does not include the SYN's, whose 40 bytes take less time on the link.
//! Leaves out additions of later versions (ageing of the base RTT).

use super::{Acked, Window};
use skyhop_units::{Span, Time};

const ALPHA: i64 = 1;
const BETA: i64 = 3;
const GAMMA: i64 = 1;

#[derive(Debug, Clone, Default)]
pub(crate) struct Vegas {
    /// The round ends when more than this is acknowledged.
    round_from: u64,
    round_began: Time,
    /// Sum and number of RTT samples in the round, s.
    sum_s: f64,
    count: u32,
    base_s: Option<f64>,
    /// True in every other round of slow start, in which the window doubles.
    doubling: bool,
    /// Initial window, until the first acknowledgment.
    initial: Option<f64>,
    /// Segments by which each acknowledgment opens the window until the end of the round.
    increment: f64,
    /// Fine-grained timeout: eight times the smoothed RTT, four times its variation, and their result, s.
    srtt8: f64,
    var4: f64,
    pub timeout_s: f64,
    /// Time of the window's last change after a loss.
    pub changed_at: Option<Time>,
    /// Window to return to after a fast retransmit, segments.
    pub after: f64,
}

impl Vegas {
    /// Starts the data phase at `next`.
    pub fn begin(&mut self, window: &mut Window, now: Time, next: u64) {
        (self.round_from, self.round_began) = (next, now);
        // ns-2's agent sends one segment first, and sets its initial window at its acknowledgment.
        self.initial = Some(std::mem::replace(&mut window.cwnd, window.mss));
        self.timeout_s = f64::INFINITY;
    }

    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let mss = window.mss;
        if let Some(initial) = self.initial.take() {
            window.cwnd = initial;
        }
        let outstanding = acked.next.saturating_sub(acked.una) as f64 / mss;
        // ns-2 counts from the last packet acknowledged, not from the next one.
        let unacknowledged = outstanding + 1.0;
        if acked.una > self.round_from {
            let rtt = match self.count {
                0 => acked.now.since(self.round_began).as_secs_f64(),
                n => self.sum_s / n as f64,
            };
            (self.sum_s, self.count) = (0.0, 0);
            let in_round = acked.next.saturating_sub(self.round_from) as f64 / mss;
            if rtt > 0.0 {
                self.end_of_round(window, rtt, in_round, unacknowledged);
            }
            (self.round_from, self.round_began) = (acked.next, acked.now);
        }
        if self.increment == 1.0 && !window.slow_start() {
            self.increment = 0.0;
        }
        // Not while the sender does not use the window.
        if self.increment > 0.0 && window.cwnd / mss - unacknowledged <= 2.0 {
            window.cwnd += self.increment * mss;
        }
        if let Some(rtt) = acked.rtt {
            self.sample(rtt);
        }
    }

    fn end_of_round(&mut self, window: &mut Window, rtt: f64, in_round: f64, unacknowledged: f64) {
        let mss = window.mss;
        if in_round <= 1.0 || self.base_s.is_none_or(|base| rtt < base) {
            self.base_s = Some(rtt);
        }
        let base = self.base_s.unwrap_or(rtt);
        let (expected, actual) = (unacknowledged / base, in_round / rtt);
        let queued = ((expected - actual) * base + 0.5) as i64;
        if window.slow_start() {
            self.doubling = !self.doubling;
            self.increment = 0.0;
            if !self.doubling {
                return;
            }
            if queued > GAMMA {
                window.ssthresh = 2 * mss as u64;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(2.0 * mss);
            } else {
                self.increment = 1.0;
            }
        } else if queued > BETA {
            window.cwnd = (window.cwnd - mss).max(2.0 * mss);
            self.increment = 0.0;
        } else if queued < ALPHA {
            self.increment = mss / window.cwnd;
        } else {
            self.increment = 0.0;
        }
    }

    /// Adds the RTT sample of a segment sent once.
    fn sample(&mut self, rtt: Span) {
        let rtt = rtt.as_secs_f64();
        self.sum_s += rtt;
        self.count += 1;
        if self.base_s.is_none_or(|base| rtt < base) {
            self.base_s = Some(rtt);
        }
        if self.srtt8 == 0.0 {
            (self.srtt8, self.var4) = (8.0 * rtt, rtt);
        }
        let n = rtt - self.srtt8 / 8.0;
        self.srtt8 += n;
        self.var4 += n.abs() - self.var4 / 4.0;
        // At most twice the smoothed RTT: ns-2 halves the sum of two and the variation.
        self.timeout_s = (self.srtt8 / 4.0 + self.var4) / 2.0 * (17.0 / 16.0);
    }

    pub fn on_timeout(&mut self, window: &mut Window, now: Time) {
        window.cwnd = 2.0 * window.mss;
        self.after = 0.0;
        self.changed_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    /// A path of `base_ms` that holds ten segments; more of them wait in its queue. Returns the final window in segments.
    fn settle(base_ms: f64, start: u64, rounds: u32) -> f64 {
        let (mut v, mut w) = (Vegas::default(), window(start * 1000));
        w.ssthresh = 2_000;
        v.begin(&mut w, Time::ZERO, 1);
        v.initial = None;
        w.cwnd = (start * 1000) as f64;
        let (mut una, mut now_ms) = (1u64, 0.0);
        let fits = 10.0;
        for round in 0..rounds {
            let n = (w.cwnd / w.mss).floor();
            // The first round meets an empty path.
            let rtt_ms = if round == 0 { base_ms } else { base_ms * (n / fits).max(1.0) };
            now_ms += rtt_ms;
            for _ in 0..n as u64 {
                una += 1000;
                let mut a = acked(1000, rtt_ms as u64);
                a.now = Time::ZERO + Span::from_secs_f64(now_ms / 1e3);
                (a.una, a.next) = (una, una + (n as u64 - 1) * 1000);
                v.on_ack(&mut w, &a);
            }
        }
        w.cwnd / w.mss
    }

    // Brakmo and Peterson §3.2: between alpha and beta segments wait in the queue.
    #[test]
    fn one_to_three_segments_wait_in_the_queue() {
        for (start, base_ms) in [(4, 100.0), (30, 100.0), (12, 600.0)] {
            let cwnd = settle(base_ms, start, 200);
            assert!((10.0..=14.5).contains(&cwnd), "from {start}: {cwnd} segments over a path of ten");
        }
    }
}
