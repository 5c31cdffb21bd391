//! CUBIC congestion avoidance.
//!
//! Follows RFC 9438 §4.1 to §4.8 with C = 0.4 and beta = 0.7; equations have their numbers.
//! Differs: the window's fraction is kept in bytes, and acknowledged segments are counted in bytes. [`super::cubic_linux`] is
//! Linux's.
//! Leaves out §4.9, spurious congestion signals.

use super::{Acked, Window};
use skyhop_units::{Span, Time};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Alpha of equation 4, which gives Reno's average window with CUBIC's decrease.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// W_max, segments.
    w_max: f64,
    /// The window before the latest reduction.
    cwnd_prior: f64,
    epoch: Option<CubicEpoch>,
}

#[derive(Debug, Clone)]
struct CubicEpoch {
    start: Time,
    /// Time to reach w_max again (equation 2), s.
    k: f64,
    w_est: f64,
    /// Time of the latest growth; time in which the window did not limit the sender is excluded (§4.2).
    last: Time,
}

impl Cubic {
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked, bytes: f64) {
        let mss = window.mss;
        if window.slow_start() {
            window.cwnd += bytes;
            self.epoch = None;
            return;
        }
        let cwnd = window.cwnd / mss;
        let now = acked.now;
        if self.epoch.is_none() {
            self.w_max = self.w_max.max(cwnd);
            let k = ((self.w_max - cwnd).max(0.0) / C).cbrt();
            self.epoch = Some(CubicEpoch { start: now, k, w_est: cwnd, last: now });
        }
        if !acked.limited {
            return self.on_unused(now);
        }
        let Some(epoch) = &mut self.epoch else { return };
        epoch.last = now;
        let t = now.since(epoch.start).as_secs_f64();
        let rtt = acked.srtt.or(acked.rtt).unwrap_or(Span::ZERO).as_secs_f64();
        let segments = bytes / mss;
        // Equation 4 and the text after it: Reno's own alpha once the old window is reached.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * segments / cwnd;
        let at = |t: f64| C * (t - epoch.k).powi(3) + self.w_max;
        if at(t) < epoch.w_est {
            // §4.3, the Reno-friendly region.
            window.cwnd = (epoch.w_est * mss).max(window.cwnd);
            return;
        }
        // §4.4 and §4.5: one round-trip time ahead, but at most half as much again.
        let target = at(t + rtt);
        window.cwnd += (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd * segments * mss;
    }

    /// Excludes time in which the window did not limit the sender.
    pub fn on_unused(&mut self, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += now.since(epoch.last);
            epoch.last = now;
        }
    }

    pub fn on_loss(&mut self, window: &mut Window, _now: Time, in_use: u64) {
        let cwnd = in_use as f64 / window.mss;
        // §4.7, fast convergence: a window that did not reach the last maximum makes room for others.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        // §4.6, equation 5.
        window.cut_to(in_use as f64 * BETA);
    }

    pub fn on_recovery_exit(&mut self, window: &Window, now: Time) {
        let cwnd = window.cwnd / window.mss;
        // Equation 2: the epoch begins with the reduced window.
        let k = ((self.w_max - cwnd).max(0.0) / C).cbrt();
        self.epoch = Some(CubicEpoch { start: now, k, w_est: cwnd, last: now });
    }

    /// §4.8: slow start after a timeout, then an epoch from its end with K = 0; earlier windows do not count.
    pub fn on_timeout(&mut self) {
        self.epoch = None;
        self.w_max = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    // RFC 9438 §4.2: W_cubic(0) = beta W_max when the window is cut, W_cubic(K) = W_max, and beyond it grows convexly.
    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        let (mut c, mut w) = (Cubic::default(), window(1_000_000));
        w.ssthresh = 1_000_000;
        c.on_loss(&mut w, Time::ZERO, 1_000_000);
        assert_eq!(w.ssthresh, 700_000);
        w.cwnd = 700_000.0;
        c.on_recovery_exit(&w, Time::ZERO);
        let k = c.epoch.as_ref().unwrap().k;
        // K = cbrt(W_max (1 - beta) / C) = cbrt(1000 * 0.3 / 0.4).
        assert!((k - 750f64.cbrt()).abs() < 1e-9, "{k}");
        let mut at_k = 0.0;
        let mut at_2k = 0.0;
        let mut t = 0.0;
        while t < 2.0 * k {
            t += 0.1;
            let acks = (w.cwnd / w.mss) as u64;
            for _ in 0..acks {
                let mut a = acked(1000, 100);
                a.now = Time::ZERO + Span::from_secs_f64(t);
                a.srtt = Some(Span::from_millis(100));
                c.on_ack(&mut w, &a, 1000.0);
            }
            if t <= k {
                at_k = w.cwnd / w.mss;
            }
            at_2k = w.cwnd / w.mss;
        }
        assert!((985.0..=1001.0).contains(&at_k), "{at_k} segments at K");
        assert!((1280.0..=1320.0).contains(&at_2k), "{at_2k}: C K^3 = 300 above the maximum at 2 K");
    }

    // §5.1, table 1 (equation 8): with alpha as here, average windows are sqrt(alpha/2 (1+beta)/(1-beta) / p), which is Reno's.
    #[test]
    fn alpha_makes_the_estimate_renos_average() {
        let aimd = |alpha: f64, beta: f64| (alpha / 2.0 * (1.0 + beta) / (1.0 - beta)).sqrt();
        assert!((aimd(ALPHA, BETA) - aimd(1.0, 0.5)).abs() < 1e-12);
        assert!((ALPHA - 0.5294).abs() < 1e-4);
    }

    /// Mean window and last window of a cycle of `one_in` segments that begins at `beta` times `maximum`.
    fn cycle(one_in: f64, rtt_s: f64, maximum: f64) -> (f64, f64) {
        let (mut c, mut w) = (Cubic::default(), window((maximum * 1000.0) as u64));
        c.on_loss(&mut w, Time::ZERO, (maximum * 1000.0) as u64);
        w.cwnd = w.ssthresh as f64;
        c.on_recovery_exit(&w, Time::ZERO);
        let (mut sent, mut rounds) = (0.0, 0.0);
        while sent < one_in {
            let n = (w.cwnd / w.mss) as u64;
            for i in 0..n {
                let mut a = acked(1000, 100);
                // Acknowledgments spread over the round trip.
                a.now = Time::ZERO + Span::from_secs_f64(rtt_s * (rounds + i as f64 / n as f64));
                a.srtt = Some(Span::from_secs_f64(rtt_s));
                c.on_ack(&mut w, &a, 1000.0);
            }
            (sent, rounds) = (sent + n as f64, rounds + 1.0);
        }
        (sent / rounds, w.cwnd / w.mss)
    }

    // §5.1, equation 7, tables 1 and 2: a loss every 1/p segments over round trips of 0.1 and 0.01 s. The average is
    // 1 - (1 - beta)/4 of the maximum in the cubic region and 0.85 of it in Reno's, so a cycle that begins there has to end there.
    // 1e-2 is for whole segments too rough: `tests/rfc9438_tables.rs` has it.
    #[test]
    fn cycles_of_tables_1_and_2_return_to_their_maximum_with_the_printed_average() {
        let table_1 = [(1e-3, 38.0), (1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0), (1e-7, 33325.0)];
        let table_2 = [(1e-3, 38.0), (1e-4, 120.0), (1e-5, 379.0), (1e-6, 1200.0), (1e-7, 5926.0)];
        for (rtt_s, table) in [(0.1, table_1), (0.01, table_2)] {
            for (p, printed) in table {
                let reno = (1.5f64 / p).sqrt();
                let share = if printed > 1.05 * reno { 1.0 - (1.0 - BETA) / 4.0 } else { 0.85 };
                let (mean, end) = cycle(1.0 / p, rtt_s, printed / share);
                let text =
                    format!("RTT {rtt_s}, p = {p}: {mean:.1} segments, printed {printed}, ends at {end:.1}");
                println!("{text}");
                // Two segments, or 3 %. Where the averages of both regions are close, the table has the greater one, but a cycle
                // the greater window at each time, which is more than either.
                let cubic = 1.054 * (rtt_s / p).powf(0.75);
                let between = (0.8..1.25).contains(&(cubic / reno));
                let tolerance = if between { 0.08 } else { f64::max(2.0 / printed, 0.03) };
                assert!((mean / printed - 1.0).abs() < tolerance, "{text}");
                assert!((end * share / printed - 1.0).abs() < tolerance, "{text}");
            }
        }
    }

    // §4.8 and §4.10: after a timeout, and after a slow start ended by HyStart++, K = 0 and W_max is the window at which congestion
    // avoidance begins: convex growth C t^3 from there.
    #[test]
    fn after_slow_start_the_epoch_begins_at_its_own_maximum() {
        let begin = |c: &mut Cubic, w: &mut Window| {
            let mut a = acked(1000, 100);
            a.now = Time::ZERO + Span::from_secs(1);
            c.on_ack(w, &a, 1000.0);
            let epoch = c.epoch.as_ref().unwrap();
            (epoch.k, c.w_max, epoch.w_est)
        };
        let (mut c, mut w) = (Cubic::default(), window(500_000));
        w.ssthresh = 500_000;
        assert!(matches!(begin(&mut c, &mut w), (0.0, 500.0, e) if (500.0..500.1).contains(&e)));
        c.on_loss(&mut w, Time::ZERO, 900_000);
        c.on_timeout();
        assert_eq!(w.ssthresh, 630_000);
        w.cwnd = 630_000.0;
        assert!(matches!(begin(&mut c, &mut w), (0.0, 630.0, e) if (630.0..630.1).contains(&e)));
        // A reduction without a timeout keeps it.
        c.on_loss(&mut w, Time::ZERO, 700_000);
        w.cwnd = 490_000.0;
        c.on_recovery_exit(&w, Time::ZERO);
        assert_eq!(c.w_max, 700.0);
    }

    // §4.7: a flow that is cut before its last maximum keeps a smaller maximum.
    #[test]
    fn fast_convergence() {
        let (mut c, mut w) = (Cubic::default(), window(1_000_000));
        c.on_loss(&mut w, Time::ZERO, 1_000_000);
        c.on_loss(&mut w, Time::ZERO, 800_000);
        assert!((c.w_max - 800.0 * 0.85).abs() < 1e-9, "{}", c.w_max);
    }
}
