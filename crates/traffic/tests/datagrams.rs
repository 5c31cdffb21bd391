//! Constant and on-off sources: the amount that they send, and the variance of an aggregate by time scale.
//!
//! Follows Willinger et al. 1997: on and off times with a Pareto tail of index a give an aggregate with H = (3 - a) / 2.
//! Differs: H is estimated from the slope of variance against time scale, which is somewhat too low.
//! Leaves out the network.

use skyhop_chance::Seed;
use skyhop_traffic::{Datagrams, Distribution};
use skyhop_units::{Rate, Time};

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

/// Number of datagrams in each second.
fn per_second(mut source: Datagrams, seconds: usize) -> Vec<f64> {
    let mut counts = vec![0.0; seconds];
    source.start(Time::ZERO);
    while let Some(at) = source.poll_timeout() {
        let second = (at.as_nanos() / 1_000_000_000) as usize;
        if second >= seconds {
            break;
        }
        assert!(source.poll_transmit(at));
        counts[second] += 1.0;
    }
    counts
}

#[test]
fn a_constant_rate_does_not_drift() {
    // 3 Mbit/s in packets of 1000 B: 2.666... ms apart, 375 a second and 1,350,000 an hour.
    let counts = per_second(Datagrams::constant(rate(3_000_000), 1000), 3600);
    assert_eq!(counts.iter().sum::<f64>(), 1_350_000.0);
    assert!(counts.iter().all(|count| *count == 375.0));
    let mut source = Datagrams::constant(rate(1), 1);
    source.start(Time::ZERO);
    assert!(source.poll_transmit(Time::ZERO) && !source.poll_transmit(Time::from_nanos(7_999_999_999)));
    assert_eq!(source.poll_timeout(), Some(Time::from_nanos(8_000_000_000)));
}

fn by_turns(times: &Distribution, sources: u32, seed: u64) -> Datagrams {
    let stream = |k| Seed(seed).stream(&format!("source/{k}"));
    Datagrams::by_turns(rate(80_000), 1000, times, times, (0..sources).map(stream))
}

#[test]
fn sources_that_are_on_half_of_the_time_send_half() {
    let times = Distribution::Exponential { mean: 2.0 };
    let counts = per_second(by_turns(&times, 50, 1), 4000);
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    // Ten a second each; a burst of 2 s on average has half a packet more than its time at that rate.
    assert!((250.0 * 0.98..250.0 * 1.06).contains(&mean), "{mean} a second");
}

/// The Hurst parameter by the variance of means over 2^k seconds, which falls as the scale to the power 2 H - 2.
fn hurst(counts: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = (3..=9)
        .map(|k| {
            let scale = 1usize << k;
            let means: Vec<f64> =
                counts.chunks_exact(scale).map(|c| c.iter().sum::<f64>() / scale as f64).collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / means.len() as f64;
            ((scale as f64).ln(), variance.ln())
        })
        .collect();
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    1.0 + slope / 2.0
}

#[test]
fn heavy_tails_make_many_sources_vary_on_all_time_scales() {
    const SECONDS: usize = 1 << 15;
    let h = |times: &Distribution| {
        let seeds = [1, 2, 3];
        seeds.map(|seed| hurst(&per_second(by_turns(times, 60, seed), SECONDS))).iter().sum::<f64>() / 3.0
    };
    let heavy = h(&Distribution::Pareto { least: 0.3, shape: 1.4 });
    let light = h(&Distribution::Exponential { mean: 1.05 });
    println!("H {heavy:.3} of 0.8 with Pareto times, {light:.3} of 0.5 with exponential ones");
    assert!((0.70..0.88).contains(&heavy), "{heavy}");
    assert!((0.45..0.58).contains(&light), "{light}");
}
