//! Hybla: the window grows as that of a reference connection with an RTT of 25 ms.
//!
//! Follows Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks" (2004), equations 4 to 6.
//! Differs: rho follows the smallest RTT, and slow start's exponent is at most 16, both as in Linux. As the paper proposes, the
//! first ssthresh is the bandwidth-delay product from packet pairs (Hoe 1996), which are the first acknowledgments of segments that
//! left together; until then slow start is Reno's. From then on a window is paced over an RTT, as the paper also proposes.

use super::{Acked, Window};
use skyhop_units::{Span, Time};

/// RTT of the reference connection, s.
const RTT_0: f64 = 0.025;

#[derive(Debug, Clone, Default)]
pub(crate) struct Hybla {
    min_rtt: Option<Span>,
    pair: PacketPair,
}

/// Estimate of the bottleneck's rate from the spacing of two acknowledgments.
#[derive(Debug, Clone, Default)]
struct PacketPair {
    /// Time of the latest acknowledgment in the same round trip.
    last: Option<Time>,
    /// Rates, bytes per second.
    rates: [f64; 3],
    count: usize,
}

impl PacketPair {
    /// Median rate of three pairs; excludes pairs that are further apart than an eighth of a round-trip time, or that waited at the
    /// receiver.
    fn sample(&mut self, now: Time, bytes: u64, min_rtt: Span) -> Option<f64> {
        let last = self.last.replace(now)?;
        let apart = now.since(last);
        if apart == Span::ZERO || apart > min_rtt / 8 {
            return None;
        }
        self.rates[self.count] = bytes as f64 / apart.as_secs_f64();
        self.count += 1;
        if self.count < self.rates.len() {
            return None;
        }
        self.rates.sort_by(f64::total_cmp);
        Some(self.rates[1])
    }
}

impl Hybla {
    fn rho(&self) -> f64 {
        self.min_rtt.map_or(1.0, |rtt| (rtt.as_secs_f64() / RTT_0).max(1.0))
    }

    pub fn on_rtt(&mut self, _window: &mut Window, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.on_rtt(window, acked.rtt);
        let (rho, mss) = (self.rho(), window.mss);
        if window.ssthresh == u64::MAX {
            window.cwnd += mss;
            if let Some(min_rtt) = self.min_rtt
                && let Some(rate) = self.pair.sample(acked.now, acked.cumulative, min_rtt)
            {
                window.cut_to(rate * min_rtt.as_secs_f64());
            }
            return;
        }
        if window.slow_start() {
            let grown = window.cwnd + (rho.min(16.0).exp2() - 1.0) * mss;
            // One acknowledgment in such a slow start would grow far beyond ssthresh.
            window.cwnd = grown.min((window.ssthresh as f64).max(window.cwnd + mss));
        } else {
            window.cwnd += rho * rho * mss * mss / window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    // Equation 6: each second, the window's rate grows as with an RTT of 25 ms: rho segments per round-trip time for the time, and
    // rho times as many for the rate.
    #[test]
    fn rates_grow_alike_whatever_the_round_trip() {
        let growth = |rtt_ms: u64| {
            let (mut h, mut w) = (Hybla::default(), window(1_000_000));
            w.ssthresh = 0;
            h.on_rtt(&mut w, Some(Span::from_millis(rtt_ms)));
            let rate = |w: &Window| w.cwnd / w.mss / (rtt_ms as f64 / 1e3);
            let before = rate(&w);
            for _ in 0..6_000 / rtt_ms {
                for _ in 0..(w.cwnd / w.mss) as u64 {
                    h.on_ack(&mut w, &acked(1000, rtt_ms));
                }
            }
            (rate(&w) - before) / 6.0
        };
        // 25 ms: one segment more each 25 ms is 40 segments, and 1600 segments per second more, each second.
        for rtt_ms in [25, 100, 600] {
            let grown = growth(rtt_ms);
            // Long RTTs lose a little to growth within a round trip.
            assert!((1_430.0..=1_605.0).contains(&grown), "{rtt_ms} ms: {grown} segments/s each second");
        }
    }

    // Hoe 1996: two segments that left together arrive as far apart as the narrowest link sends them: 2000 bytes each 2 ms are a
    // product of 600 kB at 600 ms. A single acknowledgment yields no rate.
    #[test]
    fn the_first_ssthresh_is_the_product_by_packet_pairs() {
        let (mut h, mut w) = (Hybla::default(), window(4_000));
        h.on_rtt(&mut w, Some(Span::from_millis(600)));
        for at_ms in [0, 200, 600, 602, 604, 1200] {
            let mut a = acked(2000, 600);
            a.now = Time::ZERO + Span::from_millis(at_ms);
            h.on_ack(&mut w, &a);
            assert_eq!(w.ssthresh, u64::MAX, "{at_ms}");
        }
        assert_eq!(w.cwnd, 10_000.0, "a segment each, until the path is known");
        let mut a = acked(2000, 600);
        a.now = Time::ZERO + Span::from_millis(1202);
        h.on_ack(&mut w, &a);
        assert_eq!(w.ssthresh, 600_000);
    }

    #[test]
    fn slow_start_is_that_of_the_reference() {
        let (mut h, mut w) = (Hybla::default(), window(2_000));
        w.ssthresh = 1_000_000;
        h.on_rtt(&mut w, Some(Span::from_millis(75)));
        for _ in 0..2 {
            h.on_ack(&mut w, &acked(1000, 75));
        }
        // rho 3: 2^3 - 1 segments for each; one RTT of 75 ms multiplies by 8, as three of 25 ms do.
        assert!((w.cwnd - 16_000.0).abs() < 1e-6, "{}", w.cwnd);
    }
}
