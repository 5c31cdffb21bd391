//! Distributions of delays, each given by its quantiles.
//!
//! Follows NIST Net and netem in the choice of distributions: normal, Pareto of shape 3, a mixture of a quarter normal and three
//! quarters Pareto, and tables whose entries are equally likely. Mean and deviation are as requested.
//! Differs: quantiles are computed and not looked up, so that tails are not cut off at four deviations.
//! Leaves out correlation between packets, which is in `lateness`.

use skyhop_units::Span;
use std::sync::Arc;

/// A distribution of delays. Its mean and deviation are those before negative values are set to zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Uniform from 0 to `most`.
    Uniform {
        /// Largest delay.
        most: Span,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean delay.
        mean: Span,
    },
    /// Normally distributed.
    Normal {
        /// Mean delay.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
    /// Pareto of shape 3.
    Pareto {
        /// Mean delay.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
    /// A quarter normal and three quarters Pareto.
    ParetoNormal {
        /// Mean delay.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
    /// Values of a table.
    Table {
        /// Values for mean 0 and deviation 1, ascending and equally likely.
        table: Arc<[f64]>,
        /// Mean delay.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
}

/// Mean of the Pareto distribution of shape 3 and scale 1, and its standard deviation, the root of 3/4.
const PARETO_MEAN: f64 = 1.5;
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6;
/// Weights of the normal and the Pareto part of the mixture.
const NORMAL_PART: f64 = 0.25;
const PARETO_PART: f64 = 0.75;

impl Shape {
    /// Returns true if the distribution is computed from normal numbers alone.
    pub(crate) fn is_normal(&self) -> bool {
        matches!(self, Shape::Normal { .. } | Shape::ParetoNormal { .. })
    }

    /// The quantile `at` of the distribution, seconds.
    pub(crate) fn quantile(&self, at: f64) -> f64 {
        match self {
            Shape::Uniform { most } => most.as_secs_f64() * at,
            Shape::Exponential { mean } => -mean.as_secs_f64() * (1.0 - at).ln(),
            Shape::Pareto { mean, deviation } => scaled(*mean, *deviation, pareto(1.0 - at)),
            Shape::Table { table, mean, deviation } => {
                let last = table.len().saturating_sub(1);
                let entry = table.get(((at * table.len() as f64) as usize).min(last));
                scaled(*mean, *deviation, entry.copied().unwrap_or(0.0))
            }
            Shape::Normal { .. } | Shape::ParetoNormal { .. } => 0.0,
        }
    }

    /// A delay computed from two independent normal numbers, seconds.
    pub(crate) fn of_normal(&self, [first, second]: [f64; 2]) -> f64 {
        match self {
            Shape::Normal { mean, deviation } => scaled(*mean, *deviation, first),
            Shape::ParetoNormal { mean, deviation } => {
                let of_both = (NORMAL_PART.powi(2) + (PARETO_PART * PARETO_DEVIATION).powi(2)).sqrt();
                let mixed = NORMAL_PART * second + PARETO_PART * PARETO_DEVIATION * pareto(below(-first));
                scaled(*mean, *deviation, mixed / of_both)
            }
            _ => self.quantile(below(first)),
        }
    }
}

fn scaled(mean: Span, deviation: Span, x: f64) -> f64 {
    mean.as_secs_f64() + deviation.as_secs_f64() * x
}

/// The value of the Pareto distribution, scaled to mean 0 and deviation 1, that is exceeded with probability `above`.
fn pareto(above: f64) -> f64 {
    (above.max(1e-15).powf(-1.0 / 3.0) - PARETO_MEAN) / PARETO_DEVIATION
}

/// The standard normal distribution function at `z`: a series (Marsaglia 2004), and in the tail a continued fraction (Laplace).
pub(crate) fn below(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    if z.abs() > 4.0 {
        let fraction = (1..=40).rev().fold(z.abs(), |rest, n| z.abs() + f64::from(n) / rest);
        let tail = density / fraction;
        return if z > 0.0 { 1.0 - tail } else { tail };
    }
    let (mut term, mut sum, mut n) = (z, z, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        n += 2.0;
        term *= z * z / n;
        sum += term;
    }
    0.5 + density * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    // Tables of the normal distribution.
    #[test]
    fn shares_of_the_normal_distribution_are_those_of_the_tables() {
        for (z, share) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (-1.0, 0.158_655_253_931_457),
            (1.959_963_984_540_054, 0.975),
            (3.0, 0.998_650_101_968_37),
            (-4.5, 3.397_673_124_730_06e-6),
            (-6.0, 9.865_876_450_376_98e-10),
        ] {
            let found = below(z);
            assert!((found / share - 1.0).abs() < 1e-9, "{z}: {found} against {share}");
        }
        // The two ways meet.
        assert!((below(-4.000_001) / below(-4.0) - 1.0).abs() < 1e-5);
    }
}
