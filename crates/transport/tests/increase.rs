//! Growth by K and at a constant rate, acknowledgment by acknowledgment, as in HT 4.1.4 and 4.1.5, with their bound.
//!
//! The thesis: cwnd += min(c rtt^2 / cwnd, 1 segment) for each acknowledgment; K in the place of c rtt^2 for increase by K.
//! Differs: the constant rate accumulates fractions up to a segment (deviations.md), so windows are compared within one segment.
//! Leaves out the effect on other flows: `crates/sim/tests/fairness.rs` and `henderson.rs`.

use crate::script::{Script, config};
use skyhop_transport::tcp::{Config, Increase, Variant};
use skyhop_units::Span;

const VARIANTS: [Variant; 4] = [Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Fack];

/// Windows in segments, at first and after each of `rounds` round trips of congestion avoidance, and the largest increase by an
/// acknowledgment.
fn windows(variant: Variant, increase: Increase, rtt_ms: u64, start: u64, rounds: usize) -> (Vec<f64>, f64) {
    let config =
        Config { increase, initial_ssthresh: Some(start * 1000), window: 1 << 30, ..config(variant, start) };
    let mut s = Script::over(config, Span::from_millis(rtt_ms));
    let mut flight = s.send(1 << 20);
    let (mut all, mut most) = (vec![s.end.cwnd() as f64 / 1000.0], 0u64);
    for _ in 0..rounds {
        s.now += Span::from_millis(rtt_ms);
        let mut next = Vec::new();
        for n in flight {
            let before = s.end.cwnd();
            next.extend(s.ack(n + 1));
            most = most.max(s.end.cwnd() - before);
        }
        flight = next;
        all.push(s.end.cwnd() as f64 / 1000.0);
    }
    (all, most as f64 / 1000.0)
}

/// The thesis's two lines of pseudocode: `k` is K, or c rtt^2.
fn pseudocode(k: f64, start: u64, rounds: usize) -> Vec<f64> {
    let mut cwnd = start as f64;
    let mut all = vec![cwnd];
    for _ in 0..rounds {
        for _ in 0..cwnd as u64 {
            cwnd += f64::min(k / cwnd, 1.0);
        }
        all.push(cwnd);
    }
    all
}

/// ns-2's rounding, which the constant rate has: fractions accumulate, and the excess over a segment is discarded.
fn gathered(k: f64, start: u64, rounds: usize) -> Vec<f64> {
    let (mut cwnd, mut sum) = (start, 0.0);
    let mut all = vec![cwnd as f64];
    for _ in 0..rounds {
        let acks = cwnd;
        for _ in 0..acks {
            sum += k;
            if sum > cwnd as f64 {
                (cwnd, sum) = (cwnd + 1, 0.0);
            }
        }
        all.push(cwnd as f64);
    }
    all
}

fn near(ours: &[f64], theirs: &[f64], by: f64) -> bool {
    ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= by)
}

#[test]
fn ht_4_1_5_increase_by_k_adds_k_segments_a_round_trip() {
    for variant in VARIANTS {
        for k in [1.0, 2.0, 4.0, 8.0] {
            let increase = if k == 1.0 { Increase::One } else { Increase::By(k) };
            let (ours, most) = windows(variant, increase, 600, 20, 5);
            let theirs = pseudocode(k, 20, 5);
            assert!(near(&ours, &theirs, 0.01), "{variant:?}, {k}: {ours:?} {theirs:?}");
            // Five times K, less what the window grows by within the round trip: at most an eighth for 8 of 20.
            let grown = ours[5] - ours[0];
            assert!((4.1 * k..=5.0 * k).contains(&grown), "{variant:?}, {k}: {grown} segments");
            assert!((k / 20.0 - 0.001..=k / 20.0).contains(&most), "{variant:?}, {k}: {most}");
        }
    }
}

// "Never more bursty than a TCP connection in slow start": one segment an acknowledgment, while K is more than the window.
#[test]
fn ht_4_1_4_the_bound_is_one_segment_an_acknowledgment() {
    for (increase, k) in [(Increase::By(8.0), 8.0), (Increase::ConstantRate(100.0), 36.0)] {
        for variant in VARIANTS {
            let (ours, most) = windows(variant, increase, 600, 2, 6);
            let theirs = pseudocode(k, 2, 6);
            let rounded =
                if matches!(increase, Increase::By(_)) { theirs.clone() } else { gathered(k, 2, 6) };
            assert!(near(&ours, &rounded, 0.01), "{variant:?}, {increase:?}: {ours:?} {rounded:?}");
            assert_eq!(most, 1.0, "{variant:?}, {increase:?}");
            // 2, 4, 8: as slow start, until the window is K. Beyond it the rounding costs half at most.
            assert_eq!(ours[..3], [2.0, 4.0, 8.0], "{variant:?}, {increase:?}");
            for (ours, theirs) in ours.windows(2).zip(theirs.windows(2)) {
                let (grown, formula) = (ours[1] - ours[0], theirs[1] - theirs[0]);
                assert!((0.5 * formula - 1.0..=formula + 1.0).contains(&grown), "{increase:?}: {ours:?}");
            }
        }
    }
}

// c = 4 is as aggressive as a usual connection of 500 ms, 100 as one of 100 ms, 1600 as one of 25 ms.
#[test]
fn ht_4_1_4_a_constant_has_the_round_trip_of_a_usual_connection() {
    for (c, rtt_ms) in [(4.0, 500), (25.0, 200), (100.0, 100), (400.0, 50)] {
        for variant in VARIANTS {
            let (usual, _) = windows(variant, Increase::One, rtt_ms, 20, 6);
            let (ours, most) = windows(variant, Increase::ConstantRate(c), rtt_ms, 20, 6);
            assert!(near(&ours, &usual, 1.0), "{variant:?}, {c}: {ours:?} {usual:?}");
            assert!((5.0..=6.0).contains(&(ours[6] - ours[0])), "{variant:?}, {c}: {ours:?}");
            assert_eq!(most, 1.0, "a whole segment at a time");
        }
    }
}

// The policy's name: the rate grows by c segments a second each second, whatever the round trip.
#[test]
fn ht_4_1_4_rates_grow_alike_at_any_round_trip() {
    for (c, rtt_ms) in [(50.0, 100u64), (50.0, 200), (50.0, 400), (50.0, 600), (10.0, 600)] {
        // A window that the bound does not touch.
        let start = (c * (rtt_ms as f64 / 1e3).powi(2)).max(20.0) as u64 + 10;
        let rounds = 12;
        let (ours, _) = windows(Variant::Sack, Increase::ConstantRate(c), rtt_ms, start, rounds);
        let rtt_s = rtt_ms as f64 / 1e3;
        let growth = (ours[rounds] - ours[0]) / rtt_s / (rounds as f64 * rtt_s);
        println!("c = {c}, RTT {rtt_ms} ms: {growth:.1} segments a second each second");
        // A window that falls short of a whole number of K's loses up to half of an acknowledgment's share.
        assert!((0.7 * c..=1.02 * c).contains(&growth), "{growth} segments/s^2 at {rtt_ms} ms, c = {c}");
    }
}
