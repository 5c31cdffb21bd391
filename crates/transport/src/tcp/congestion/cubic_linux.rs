//! CUBIC with the arithmetic of Linux 6.18.
//!
//! Follows RFC 9438 as in `tcp_cubic.c`: the window and its targets are whole segments, a target is computed once per tick of 4 ms
//! (CONFIG_HZ = 250), and the window grows by a segment for each `cnt` that arrive. Rounded towards the old maximum, a target is
//! half a segment above that of [`super::cubic`], 3 % of a window of 17.
//! Differs from the RFC as Linux does: the estimate of Reno's window never grows faster than by alpha (§4.3), the target is one
//! smallest round-trip time ahead (§4.4), and before the first loss the window grows by at least a twentieth per round-trip time.
//! Leaves out the phase of the kernel's clock: ticks are counted from the start of the simulation.

use super::{Acked, Window};
use skyhop_units::{Span, Time};

/// C, segments per cubic second (in units of 1/1024).
const C: f64 = 410.0 / 1024.0;
/// Beta, in units of 1/1024.
const BETA: u64 = 717;
/// Acknowledged segments, in eighths and per segment of the window, by which Reno's estimate grows by a segment.
const FRIENDLY: u64 = 15;
/// Tick of the kernel's clock.
const TICK: Span = Span::from_millis(4);
/// Age at which the target of an unchanged window is computed again.
const TARGET_AGE: Span = Span::from_millis(28);
/// Time after a reduction in which round-trip times are not measured.
const SETTLING: Span = Span::from_secs(1);

/// CUBIC's state; counts are in segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinuxCubic {
    /// Number of arriving segments by which the window grows by one; 0 before the first target.
    cnt: u64,
    /// Segments acknowledged towards the next growth.
    credit: u64,
    /// Window before the latest reduction, lowered by fast convergence; 0 if there was none.
    last_max: u64,
    epoch: Option<KernelEpoch>,
    /// Window and time of the latest target.
    target_of: Option<(u64, Time)>,
    rtt_min: Option<Span>,
    latest: Time,
}

#[derive(Debug, Clone)]
struct KernelEpoch {
    start: Time,
    /// Time to reach `origin` (equation 2), s.
    k: f64,
    origin: u64,
    /// Estimate of Reno's window, and segments that have arrived towards its next growth.
    w_est: u64,
    arrived: u64,
}

/// Time of the latest tick.
fn tick(at: Time) -> Time {
    Time::from_nanos(at.as_nanos() / TICK.as_nanos() * TICK.as_nanos())
}

impl LinuxCubic {
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.latest = acked.now;
        self.measure(acked);
        if !acked.limited {
            return;
        }
        let mss = window.mss;
        let mut segments = acked.cumulative.div_ceil(mss as u64);
        if window.slow_start() {
            let room = ((window.ssthresh as f64 - window.cwnd) / mss).max(0.0).ceil() as u64;
            let grown = segments.min(room);
            window.cwnd += grown as f64 * mss;
            segments -= grown;
        }
        if segments > 0 {
            self.update((window.cwnd / mss) as u64, segments, tick(acked.now));
            window.cwnd += self.growth(segments) as f64 * mss;
        }
    }

    fn measure(&mut self, acked: &Acked) {
        let settled = self.epoch.as_ref().is_none_or(|epoch| acked.now.since(epoch.start) >= SETTLING);
        if let Some(rtt) = acked.rtt.filter(|_| settled) {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Sets `cnt` for a window of `cwnd`.
    fn update(&mut self, cwnd: u64, segments: u64, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.arrived += segments;
        }
        if let Some((of, at)) = self.target_of
            && of == cwnd
            && now.since(at) <= TARGET_AGE
        {
            return;
        }
        let fresh = self.epoch.is_some() && self.target_of.is_some_and(|(_, at)| at == now);
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = last_max.max(cwnd);
            let k = ((origin - cwnd) as f64 / C).cbrt();
            KernelEpoch { start: now, k, origin, w_est: cwnd, arrived: segments }
        });
        if !fresh {
            self.target_of = Some((cwnd, now));
            let t = now.since(epoch.start) + self.rtt_min.unwrap_or(Span::ZERO);
            let off = t.as_secs_f64() - epoch.k;
            let distance = (C * off.abs().powi(3)) as u64;
            let target =
                if off < 0.0 { epoch.origin.saturating_sub(distance) } else { epoch.origin + distance };
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if self.last_max == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        let step = cwnd * FRIENDLY / 8;
        while epoch.arrived > step {
            epoch.arrived -= step;
            epoch.w_est += 1;
        }
        if epoch.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (epoch.w_est - cwnd));
        }
        // The window grows by at most half in a round-trip time.
        self.cnt = self.cnt.max(2);
    }

    /// Segments by which the window grows.
    fn growth(&mut self, segments: u64) -> u64 {
        let mut grown = 0;
        // Credit left from a larger `cnt` counts as one segment.
        if self.credit >= self.cnt {
            self.credit = 0;
            grown += 1;
        }
        self.credit += segments;
        grown += self.credit / self.cnt;
        self.credit %= self.cnt;
        grown
    }

    /// Excludes time with nothing in flight.
    pub fn on_silence(&mut self, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + now.since(self.latest)).min(now);
        }
    }

    pub fn on_loss(&mut self, window: &mut Window) {
        let cwnd = (window.cwnd / window.mss) as u64;
        // §4.7, fast convergence.
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        (self.epoch, self.credit) = (None, 0);
        window.cut_to((cwnd * BETA / 1024) as f64 * window.mss);
    }

    /// Forgets everything after a timeout.
    pub fn on_timeout(&mut self) {
        *self = Self { latest: self.latest, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    /// Acknowledges a window's segments in round trips of `rtt_ms`, from `from` seconds on, without a loss.
    fn rounds(
        cubic: &mut LinuxCubic,
        window: &mut Window,
        rtt_ms: u64,
        from: f64,
        count: u32,
        mut each: impl FnMut(u32, f64),
    ) {
        let rtt_s = rtt_ms as f64 / 1e3;
        for round in 0..count {
            let n = (window.cwnd / window.mss) as u64;
            for i in 0..n {
                let mut a = acked(1000, rtt_ms);
                let at = from + rtt_s * (f64::from(round) + i as f64 / n as f64);
                a.now = Time::ZERO + Span::from_secs_f64(at);
                cubic.on_ack(window, &a);
            }
            each(round, window.cwnd / window.mss);
        }
    }

    /// Above the old window, where Reno is faster than the cubic function, RFC 9438 §4.3 grows by a segment per round-trip time;
    /// Linux continues with 8/15.
    #[test]
    fn grows_by_alpha_above_the_old_window_too() {
        let (mut c, mut w) = (LinuxCubic::default(), window(20_000));
        c.on_loss(&mut w);
        assert_eq!(w.ssthresh, 14_000);
        w.cwnd = w.ssthresh as f64;
        let mut at = [0.0; 60];
        // Round-trip times of 10 ms, for which the cubic function is far behind.
        rounds(&mut c, &mut w, 10, 0.0, 60, |round, cwnd| at[round as usize] = cwnd);
        assert!((at[5] - 14.0 - 6.0 * 8.0 / 15.0).abs() < 2.5, "{}", at[5]);
        assert!(((at[59] - at[19]) / 40.0 - 8.0 / 15.0).abs() < 0.06, "{at:?}");
    }

    /// The window grows by a twentieth per round-trip time before the first loss, and again after a timeout.
    #[test]
    fn does_not_wait_for_the_cubic_where_nothing_is_known() {
        let (mut c, mut w) = (LinuxCubic::default(), window(100_000));
        w.ssthresh = 100_000;
        let second = |c: &mut LinuxCubic, w: &mut Window, from: f64| {
            w.cwnd = 100_000.0;
            rounds(c, w, 200, from, 5, |_, _| {});
            w.cwnd / w.mss - 100.0
        };
        // 100 times 1.05 to the fifth, less 100; otherwise the estimate of Reno's window.
        let grown = second(&mut c, &mut w, 1.0);
        assert!((grown - 28.0).abs() < 3.0, "{grown}");
        w.cwnd = 100_000.0;
        c.on_loss(&mut w);
        w.ssthresh = 90_000;
        let grown = second(&mut c, &mut w, 2.0);
        assert!(grown < 6.0, "{grown} {c:?}");
        c.on_timeout();
        assert!((second(&mut c, &mut w, 4.0) - 28.0).abs() < 3.0);
    }

    /// Targets are whole segments, rounded towards the old maximum: the window is at least the cubic function's whole segments, and
    /// less than three above.
    #[test]
    fn the_window_is_the_cubic_rounded_up() {
        let (mut c, mut w) = (LinuxCubic::default(), window(400_000));
        c.on_loss(&mut w);
        w.cwnd = w.ssthresh as f64;
        assert_eq!(w.ssthresh, 280_000);
        let k = (120.0 / C).cbrt();
        rounds(&mut c, &mut w, 40, 0.0, 100, |round, cwnd| {
            let t = 0.04 * f64::from(round + 1);
            let cubic = 400.0 - C * (k - t).powi(3);
            // At the start a round-trip time allows growth by at most half.
            assert!(round < 5 || (cubic - 1.0..cubic + 2.5).contains(&cwnd), "{round}: {cwnd} for {cubic}");
        });
    }

    #[test]
    fn fast_convergence_and_silence() {
        let (mut c, mut w) = (LinuxCubic::default(), window(100_000));
        c.on_loss(&mut w);
        w.cwnd = 80_000.0;
        c.on_loss(&mut w);
        assert_eq!((c.last_max, w.ssthresh), (80 * 1741 / 2048, 56_000));
        w.cwnd = 56_000.0;
        rounds(&mut c, &mut w, 100, 1.0, 1, |_, _| {});
        let start = c.epoch.as_ref().map(|epoch| epoch.start);
        c.on_silence(c.latest + Span::from_secs(5));
        assert_eq!(c.epoch.map(|epoch| epoch.start), start.map(|start| start + Span::from_secs(5)));
    }
}
