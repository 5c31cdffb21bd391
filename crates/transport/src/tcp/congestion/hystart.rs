//! HyStart++: ends slow start before the queue overflows.
//!
//! Follows RFC 9406 §4.2, with its constants (§4.3).
//! Differs: an acknowledgment without an RTT sample counts for growth.
//! Leaves out pacing, which the RFC leaves to the implementation.

use super::{Acked, Window};
use skyhop_units::Span;

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// §4.3: segments that an acknowledgment may add without pacing.
const L: f64 = 8.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct HyStart {
    /// The round ends when this is acknowledged.
    window_end: Option<u64>,
    last_round_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    /// In conservative slow start: the RTT that started it, and the rounds so far.
    css: Option<(Span, u32)>,
    /// True after the first slow start, in which alone it acts.
    done: bool,
    /// True if segments are paced, so that L has no limit.
    paced: bool,
}

impl HyStart {
    pub fn new(paced: bool) -> Self {
        Self { paced, ..Self::default() }
    }

    /// Handles an acknowledgment in slow start. Returns the window's growth; `None` if HyStart++ no longer acts.
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) -> Option<f64> {
        if self.done {
            return None;
        }
        if self.window_end.is_none_or(|end| acked.una >= end) {
            let rounds = self.window_end.is_some();
            self.window_end = Some(acked.next);
            if rounds && let Some((_, n)) = &mut self.css {
                *n += 1;
                if *n >= CSS_ROUNDS {
                    window.ssthresh = window.cwnd as u64;
                    self.done = true;
                    return Some(0.0);
                }
            }
            self.last_round_min = self.round_min.take();
            self.samples = 0;
        }
        if let Some(rtt) = acked.rtt {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        let enough = self.samples >= N_RTT_SAMPLE;
        match (self.css, self.round_min, self.last_round_min) {
            (None, Some(now), Some(last)) if enough => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if now >= last + threshold {
                    self.css = Some((now, 0));
                }
            }
            // The growth was transient: back to slow start.
            (Some((baseline, _)), Some(now), _) if enough && now < baseline => self.css = None,
            _ => {}
        }
        let most = if self.paced { f64::INFINITY } else { L * window.mss };
        let grow = (acked.cumulative as f64).min(most);
        Some(if self.css.is_some() { grow / CSS_GROWTH_DIVISOR } else { grow })
    }

    /// Handles the end of slow start by a loss or a mark.
    pub fn end(&mut self) {
        self.done = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    fn round(h: &mut HyStart, w: &mut Window, n: u64, rtt_ms: u64) -> f64 {
        let before = w.cwnd;
        for i in 0..10 {
            let mut a = acked(1000, rtt_ms);
            (a.una, a.next) = (n * 10_000 + i * 1000 + 1000, (n + 1) * 10_000 + i * 1000 + 1000);
            if let Some(grow) = h.on_ack(w, &a) {
                w.cwnd += grow;
            }
        }
        w.cwnd - before
    }

    // RFC 9406 §4.2: slow start until a round's smallest round trip exceeds the last one's by RttThresh, then five rounds at
    // a quarter of the pace, then congestion avoidance.
    #[test]
    fn growing_round_trips_lead_through_conservative_slow_start_to_the_end() {
        let (mut h, mut w) = (HyStart::default(), window(10_000));
        assert_eq!(round(&mut h, &mut w, 0, 100), 10_000.0);
        // 100 / 8 = 12.5 ms is the threshold: 112 ms is below it, 113 ms above.
        assert_eq!(round(&mut h, &mut w, 1, 112), 10_000.0);
        let slower = round(&mut h, &mut w, 2, 127);
        assert!((2_500.0..10_000.0).contains(&slower), "{slower}: from the eighth sample on a quarter");
        for n in 3..7 {
            assert_eq!(round(&mut h, &mut w, n, 130), 2_500.0);
            assert_eq!(w.ssthresh, u64::MAX);
        }
        round(&mut h, &mut w, 7, 130);
        assert!(w.ssthresh <= w.cwnd as u64, "five rounds are over");
    }

    #[test]
    fn a_passing_growth_returns_to_slow_start() {
        let (mut h, mut w) = (HyStart::default(), window(10_000));
        round(&mut h, &mut w, 0, 100);
        round(&mut h, &mut w, 1, 120);
        assert_eq!(round(&mut h, &mut w, 2, 125), 2_500.0);
        round(&mut h, &mut w, 3, 101);
        assert_eq!(round(&mut h, &mut w, 4, 101), 10_000.0);
    }

    // §4.2: the threshold is limited to 4 to 16 ms.
    #[test]
    fn the_threshold_is_bounded() {
        for (base, less, enough) in [(10, 13, 14), (600, 615, 616)] {
            for (rtt, css) in [(less, false), (enough, true)] {
                let (mut h, mut w) = (HyStart::default(), window(10_000));
                round(&mut h, &mut w, 0, base);
                round(&mut h, &mut w, 1, rtt);
                assert_eq!(h.css.is_some(), css, "{base} to {rtt} ms");
            }
        }
    }

    // §4.2: fewer than N_RTT_SAMPLE = 8 samples of a round do not count.
    #[test]
    fn seven_samples_are_too_few() {
        for (samples, css) in [(7, false), (8, true)] {
            let (mut h, mut w) = (HyStart::default(), window(10_000));
            round(&mut h, &mut w, 0, 100);
            for i in 0..samples {
                let mut a = acked(1000, 200);
                (a.una, a.next) = (10_000 + i * 1000 + 1000, 20_000);
                h.on_ack(&mut w, &a);
            }
            assert_eq!(h.css.is_some(), css, "{samples} samples");
        }
    }

    // §4.2 and §4.3: min(N, L SMSS) for an acknowledgment of N, a quarter of it in conservative slow start; L is 8, and without
    // limit with pacing.
    #[test]
    fn an_acknowledgment_of_many_adds_eight_segments_or_all_of_them_if_paced() {
        for (paced, grown) in [(false, 8_000.0), (true, 20_000.0)] {
            let (mut h, mut w) = (HyStart::new(paced), window(100_000));
            let mut a = acked(20_000, 100);
            (a.una, a.next) = (20_000, 120_000);
            assert_eq!(h.on_ack(&mut w, &a), Some(grown));
            h.css = Some((Span::from_millis(100), 0));
            (a.una, a.next) = (40_000, 120_000);
            assert_eq!(h.on_ack(&mut w, &a), Some(grown / 4.0));
        }
    }
}
