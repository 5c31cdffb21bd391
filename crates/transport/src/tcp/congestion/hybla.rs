//! Hybla: a long round trip grows its window as a reference connection of 25 ms would.
//!
//! Follows Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks" (2004), equations 4 to 6.
//! Differs: rho follows the smallest round trip, and slow start's exponent is bounded by 16, both as in Linux.
//! The first ssthresh is the product by packet pairs (Hoe 1996, as the paper asks), from the first acknowledgments of segments that left
//! together; until then slow start is Reno's. Paced from then on, a window a round trip, as the paper asks too. Leaves out nothing else.

use super::{Acked, Window};
use skyhop_units::{Span, Time};

/// Round trip of the reference connection.
const RTT_0: f64 = 0.025;

#[derive(Debug, Clone, Default)]
pub(crate) struct Hybla {
    min_rtt: Option<Span>,
    pair: PacketPair,
}

/// The narrowest link, by the distance of two acknowledgments.
#[derive(Debug, Clone, Default)]
struct PacketPair {
    /// Time of the latest acknowledgment, in the same round trip.
    last: Option<Time>,
    /// Bytes a second.
    rates: [f64; 3],
    count: usize,
}

impl PacketPair {
    /// The median of three pairs; those further apart than an eighth of a round trip left apart, or waited at the receiver.
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
            // One acknowledgment of such a slow start would step far over ssthresh.
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

    // Equation 6: in a second, whatever the round trip, a window grows as much of its rate as one of 25 ms:
    // rho segments a round trip times rho of them for the rate.
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
        // 25 ms: a segment more each 25 ms is 40 segments, and 1600 segments a second more, each second.
        for rtt_ms in [25, 100, 600] {
            let grown = growth(rtt_ms);
            // The long ones lose a little to growth within a round trip.
            assert!((1_430.0..=1_605.0).contains(&grown), "{rtt_ms} ms: {grown} segments/s each second");
        }
    }

    // Hoe 1996: two segments that left together arrive as far apart as the narrowest link sends them: 2000 bytes each 2 ms are a product of
    // 600 kB at 600 ms. A lone acknowledgment says nothing.
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
        // rho 3: 2^3 - 1 segments for each; one round trip of 75 ms multiplies by 8 as three of 25 ms do.
        assert!((w.cwnd - 16_000.0).abs() < 1e-6, "{}", w.cwnd);
    }
}
