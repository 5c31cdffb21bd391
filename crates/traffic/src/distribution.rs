//! Distributions of sizes, times and numbers: standard ones, mixtures, and measured ones from files.
//!
//! Follows HT 3.2.1, where every random quantity of the web comes from a distribution.
//! Differs: parametric distributions beside measured ones; draws may be capped and rounded up.
//! Leaves out units; the owner decides whether a value is bytes, seconds or a number.

use crate::Measured;
use skyhop_chance::Stream;
use std::sync::Arc;

/// A distribution of non-negative values.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// A constant.
    Fixed(f64),
    /// Uniform between two values.
    Uniform {
        /// Lower bound.
        least: f64,
        /// Upper bound.
        most: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Lognormal.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Weibull.
    Weibull {
        /// Scale: 63 % of the draws are below it.
        scale: f64,
        /// Shape: below 1 the tail is heavier than that of an exponential.
        shape: f64,
    },
    /// Pareto: a draw exceeds x with probability (least / x)^shape.
    Pareto {
        /// Lower bound.
        least: f64,
        /// Tail index: at 2 and below the variance is infinite, at 1 and below the mean.
        shape: f64,
    },
    /// A mixture of lognormals: weight, median, sigma of each.
    Lognormals(&'static [(f64, f64, f64)]),
    /// A measured distribution.
    Measured(Arc<Measured>),
    /// A distribution whose draws are capped at a value.
    Cut(Box<Distribution>, f64),
    /// A distribution whose draws are rounded up to whole numbers, at least 1.
    Whole(Box<Distribution>),
}

impl Distribution {
    /// Draws a value.
    pub fn draw(&self, chance: &mut Stream) -> f64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { least, most } => least + (most - least) * chance.uniform(),
            Distribution::Exponential { mean } => mean * -libm::log(above_zero(chance)),
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * normal(chance)),
            Distribution::Weibull { scale, shape } => {
                scale * libm::pow(-libm::log(above_zero(chance)), 1.0 / shape)
            }
            Distribution::Pareto { least, shape } => least * libm::pow(above_zero(chance), -1.0 / shape),
            Distribution::Lognormals(parts) => {
                let mut left = chance.uniform();
                let z = normal(chance);
                let part = parts.iter().find(|part| {
                    left -= part.0;
                    left < 0.0
                });
                part.or(parts.last()).map_or(0.0, |(_, median, sigma)| median * libm::exp(sigma * z))
            }
            Distribution::Measured(measured) => measured.at(chance.uniform()),
            Distribution::Cut(inner, most) => inner.draw(chance).min(*most),
            Distribution::Whole(inner) => inner.draw(chance).ceil().max(1.0),
        }
    }

    /// Draws a value as a whole number, at least 1: bytes of a transfer, files of a page.
    pub fn draw_whole(&self, chance: &mut Stream) -> u64 {
        // A larger size would overflow the counters of a connection; a scenario that asks for it is refused or capped.
        const MOST: f64 = 1e15;
        self.draw(chance).ceil().clamp(1.0, MOST) as u64
    }

    /// Probability that a draw is at most `x`.
    pub fn share_up_to(&self, x: f64) -> f64 {
        let lognormal = |median: f64, sigma: f64| {
            let z = libm::log(x.max(f64::MIN_POSITIVE) / median) / sigma;
            0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
        };
        match self {
            Distribution::Fixed(value) => f64::from(x >= *value),
            Distribution::Uniform { least, most } if most > least => {
                ((x - least) / (most - least)).clamp(0.0, 1.0)
            }
            Distribution::Uniform { least, .. } => f64::from(x >= *least),
            Distribution::Exponential { mean } => 1.0 - libm::exp(-x.max(0.0) / mean),
            Distribution::Lognormal { median, sigma } => lognormal(*median, *sigma),
            Distribution::Weibull { scale, shape } => 1.0 - libm::exp(-libm::pow(x.max(0.0) / scale, *shape)),
            Distribution::Pareto { least, shape } => 1.0 - libm::pow(least / x.max(*least), *shape),
            Distribution::Lognormals(parts) => {
                parts.iter().map(|(weight, median, sigma)| weight * lognormal(*median, *sigma)).sum()
            }
            Distribution::Measured(measured) => measured.share_up_to(x),
            Distribution::Cut(inner, most) => {
                if x >= *most {
                    1.0
                } else {
                    inner.share_up_to(x)
                }
            }
            Distribution::Whole(inner) => {
                if x < 1.0 {
                    0.0
                } else {
                    inner.share_up_to(x.floor())
                }
            }
        }
    }

    /// The mean, by formula where there is one, else by numerical integration; infinite if it does not exist.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Fixed(value) => *value,
            Distribution::Uniform { least, most } => (least + most) / 2.0,
            Distribution::Exponential { mean } => *mean,
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Distribution::Weibull { scale, shape } => scale * libm::tgamma(1.0 + 1.0 / shape),
            Distribution::Pareto { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Distribution::Pareto { least, shape } => least * shape / (shape - 1.0),
            Distribution::Lognormals(parts) => {
                parts.iter().map(|(w, m, s)| w * m * libm::exp(s * s / 2.0)).sum()
            }
            Distribution::Measured(measured) => measured.mean(),
            Distribution::Cut(inner, most) => inner.mean_up_to(*most),
            Distribution::Whole(inner) => {
                // The mean of a rounded-up value is the sum of the probabilities of exceeding 0, 1, 2, ...; far out rounding has
                // no effect.
                const FAR: f64 = 10_000.0;
                let near: f64 = (1..FAR as u32).map(|k| 1.0 - inner.share_up_to(f64::from(k))).sum();
                let beyond = inner.mean() - inner.mean_up_to(FAR);
                1.0 + near + beyond.max(0.0)
            }
        }
    }

    /// Mean of the draws capped at `most`: the integral of the probability of exceeding x, in geometric steps.
    fn mean_up_to(&self, most: f64) -> f64 {
        const STEPS: u32 = 40_000;
        let first = most * 1e-9;
        let ratio = libm::pow(1e9, 1.0 / f64::from(STEPS));
        let above = |x: f64| 1.0 - self.share_up_to(x);
        let (mut x, mut at, mut sum) = (first, above(first), first);
        for _ in 0..STEPS {
            let next = x * ratio;
            let there = above(next);
            sum += (next - x) * (at + there) / 2.0;
            (x, at) = (next, there);
        }
        sum
    }
}

/// Uniform in (0, 1].
fn above_zero(chance: &mut Stream) -> f64 {
    1.0 - chance.uniform()
}

/// A standard normal draw from two uniform ones (Box and Muller 1958).
fn normal(chance: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(above_zero(chance)));
    radius * libm::cos(std::f64::consts::TAU * chance.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;

    fn all() -> Vec<Distribution> {
        vec![
            Distribution::Fixed(7.0),
            Distribution::Uniform { least: 2.0, most: 5.0 },
            Distribution::Exponential { mean: 3.0 },
            Distribution::Lognormal { median: 20.0, sigma: 0.8 },
            Distribution::Weibull { scale: 4.0, shape: 0.7 },
            Distribution::Pareto { least: 2.0, shape: 2.5 },
            Distribution::Lognormals(&[(0.3, 2.0, 0.5), (0.7, 50.0, 0.4)]),
            Distribution::Cut(Box::new(Distribution::Pareto { least: 1.0, shape: 1.2 }), 1000.0),
            Distribution::Whole(Box::new(Distribution::Weibull { scale: 2.9, shape: 0.76 })),
            Distribution::Whole(Box::new(Distribution::Cut(
                Box::new(Distribution::Lognormal { median: 0.96, sigma: 1.34 }),
                65.0,
            ))),
        ]
    }

    #[test]
    fn draws_have_the_mean_that_is_said() {
        for distribution in all() {
            let mut chance = Seed(3).stream("mean");
            let n = 400_000;
            let mean = (0..n).map(|_| distribution.draw(&mut chance)).sum::<f64>() / f64::from(n);
            let ratio = mean / distribution.mean();
            assert!((0.98..1.02).contains(&ratio), "{distribution:?}: {mean} of {}", distribution.mean());
        }
    }

    // Kolmogorov: for n draws the largest difference exceeds 1.63 / sqrt(n) with probability 1 %, and is hardly ever below 0.3 /
    // sqrt(n) for independent draws.
    #[test]
    fn draws_are_distributed_as_is_said() {
        for distribution in all().into_iter().skip(1).take(6) {
            let mut chance = Seed(4).stream("shares");
            let n = 20_000;
            let mut draws: Vec<f64> = (0..n).map(|_| distribution.draw(&mut chance)).collect();
            draws.sort_by(f64::total_cmp);
            let apart = draws.iter().enumerate().map(|(i, x)| {
                let share = distribution.share_up_to(*x);
                (share - i as f64 / n as f64).abs().max((share - (i + 1) as f64 / n as f64).abs())
            });
            let scaled = apart.fold(0.0, f64::max) * (n as f64).sqrt();
            assert!((0.3..1.63).contains(&scaled), "{distribution:?}: {scaled}");
        }
    }

    #[test]
    fn a_tail_without_mean_says_so_and_its_draws_stay_countable() {
        let wild = Distribution::Pareto { least: 1.0, shape: 0.1 };
        assert_eq!(wild.mean(), f64::INFINITY);
        let mut chance = Seed(5).stream("wild");
        let draws: Vec<u64> = (0..10_000).map(|_| wild.draw_whole(&mut chance)).collect();
        assert!(draws.iter().all(|d| (1..=1_000_000_000_000_000).contains(d)));
        assert!(draws.contains(&1_000_000_000_000_000));
    }
}
