//! The files of the web that Kota et al. 1999 §4.1 describe, drawn a million times.
//!
//! Follows table 2: five classes of nine sizes, chosen by "a Poisson distribution with mean 5" (docs/deviations.md, satellite ATM).
//! Differs: laws are computed here anew, and read as the file that `papers/satellite_atm.py` writes.
//! Leaves out the requests, which follow the same law without classes.

use skyhop_chance::Seed;
use skyhop_traffic::{Distribution, Interpolation, Measured};
use std::sync::Arc;

const KB: f64 = 1024.0;
/// Share of a class, and the step between its sizes, bytes.
const CLASSES: [(f64, f64); 5] =
    [(0.2, KB / 10.0), (0.28, KB), (0.4, 10.0 * KB), (0.112, 100.0 * KB), (0.008, 1000.0 * KB)];

fn poisson(mean: f64) -> [f64; 10] {
    let mut share = (-mean).exp();
    std::array::from_fn(|k| {
        share *= if k == 0 { 1.0 } else { mean / k as f64 };
        share
    })
}

/// Shares of 1 to 9 where 0 counts as 1, and more than 9 as 9.
fn clamped(mean: f64) -> [f64; 9] {
    let all = poisson(mean);
    let mut law: [f64; 9] = std::array::from_fn(|k| all[k + 1]);
    law[0] += all[0];
    law[8] += 1.0 - all.iter().sum::<f64>();
    law
}

/// Shares of 1 to 9 of a Poisson distribution without the rest.
fn cut(parameter: f64) -> [f64; 9] {
    let all = poisson(parameter);
    let sum: f64 = all[1..].iter().sum();
    std::array::from_fn(|k| all[k + 1] / sum)
}

fn mean(law: &[f64; 9]) -> f64 {
    law.iter().zip(1..).map(|(share, k)| share * k as f64).sum()
}

fn files(law: &[f64; 9]) -> Distribution {
    let mut sizes: Vec<(f64, f64)> = CLASSES
        .iter()
        .flat_map(|(share, step)| law.iter().zip(1..).map(move |(part, k)| (step * k as f64, share * part)))
        .collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut total, mut text) = (0.0, String::new());
    for (number, (size, share)) in sizes.iter().enumerate() {
        total += share;
        text += &format!("{size} {number} {total:.9}\n");
    }
    Distribution::Measured(Arc::new(Measured::parse(text.as_bytes(), Interpolation::Step).unwrap()))
}

#[test]
fn a_million_files_have_the_mean_of_each_reading() {
    // The parameter whose rest has a mean of 5.
    let (mut low, mut high) = (4.0, 6.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if mean(&cut(middle)) < 5.0 { low = middle } else { high = middle }
    }
    for (law, printed_kb, printed_mbps) in [(clamped(5.0), 116.4, 47.2), (cut(low), 117.5, 48.1)] {
        let of_a_file = files(&law);
        let load = 100.0 * mean(&law) * of_a_file.mean() * 8.0 / 10.0 / 1e6;
        assert!((of_a_file.mean() / KB - printed_kb).abs() < 0.05, "{} KB", of_a_file.mean() / KB);
        assert!((load - printed_mbps).abs() < 0.05, "{load} Mbit/s");
        // A file of several MB in a hundred makes the mean of a million spread by 0.4 %.
        let ratios = (1..=10).map(|seed| {
            let mut chance = Seed(seed).stream("files");
            let sum: f64 = (0..1_000_000).map(|_| of_a_file.draw(&mut chance)).sum();
            sum / 1e6 / of_a_file.mean()
        });
        let ratios: Vec<f64> = ratios.collect();
        assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.016), "{ratios:?}");
        assert!((ratios.iter().sum::<f64>() / 10.0 - 1.0).abs() < 0.005, "{ratios:?}");
    }
}
