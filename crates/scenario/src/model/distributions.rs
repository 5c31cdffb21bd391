//! Distributions of sizes, times and numbers in a scenario.
//!
//! Follows HT 3.2.1, where every random quantity of the web comes from a distribution.
//! Differs: one spelling for all; values with a unit have it in the file too.
//! Leaves out drawing, which the `traffic` crate does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Span};

/// Interpolation between two values of a measured distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// No interpolation: the upper of the two, so that only values of the file are drawn.
    Step,
    /// Linear interpolation.
    #[default]
    Line,
}

macro_rules! distribution {
    ($(#[$doc:meta])* $name:ident of $value:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum $name {
            /// A constant.
            Fixed {
                /// The value.
                value: $value,
            },
            /// Uniform between two values.
            Uniform {
                /// Lower bound.
                least: $value,
                /// Upper bound.
                most: $value,
            },
            /// Exponential.
            Exponential {
                /// Mean.
                mean: $value,
            },
            /// Lognormal.
            Lognormal {
                /// Median.
                median: $value,
                /// Standard deviation of the natural logarithm.
                sigma: f64,
                /// Cap of the draws; without one if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// Weibull.
            Weibull {
                /// Scale: 63 % of the draws are below it.
                scale: $value,
                /// Shape: below 1 the tail is heavier than that of an exponential.
                shape: f64,
                /// Cap of the draws; without one if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// Pareto: a draw exceeds x with probability (least / x)^shape.
            Pareto {
                /// Lower bound.
                least: $value,
                /// Tail index; at 2 and below the variance is infinite, at 1 and below the mean.
                shape: f64,
                /// Cap of the draws; without one if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// The fit to Bruce Mah's measurements of the web in 1995.
            Mah,
            /// A measured distribution from a file: lines of value (bytes, seconds or a number), count, and share of the draws at
            /// or below the value.
            Measured {
                /// Name of the file, relative to the scenario's folder.
                file: String,
                /// Interpolation between two values.
                #[serde(default)]
                between: Between,
            },
        }

        impl $name {
            /// The file that the distribution names, if any.
            pub fn file(&self) -> Option<&str> {
                match self {
                    $name::Measured { file, .. } => Some(file),
                    _ => None,
                }
            }
        }
    };
}

distribution! {
    /// A distribution of sizes.
    Sizes of Bytes
}
distribution! {
    /// A distribution of times.
    Times of Span
}
distribution! {
    /// A distribution of numbers.
    Numbers of f64
}
