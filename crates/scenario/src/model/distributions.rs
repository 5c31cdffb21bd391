//! Distributions of sizes, times and numbers, as a scenario writes them.
//!
//! Follows HT 3.2.1, where distributions dictate every random quantity of the web.
//! Differs: one spelling for all; what has a unit has it in the file too.
//! Leaves out drawing, which the `traffic` crate does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Span};

/// What is drawn between two values of a measured distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// The upper of the two: only values of the file.
    Step,
    /// On the line from one to the other.
    #[default]
    Line,
}

macro_rules! distribution {
    ($(#[$doc:meta])* $name:ident of $value:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum $name {
            /// Always the same.
            Fixed {
                /// Which.
                value: $value,
            },
            /// Evenly between two values.
            Uniform {
                /// The least.
                least: $value,
                /// The most.
                most: $value,
            },
            /// Exponential.
            Exponential {
                /// The mean.
                mean: $value,
            },
            /// The logarithm is normal.
            Lognormal {
                /// Half of the draws are below.
                median: $value,
                /// Standard deviation of the natural logarithm.
                sigma: f64,
                /// Where draws are cut; nowhere if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// Weibull.
            Weibull {
                /// 63 % of the draws are below.
                scale: $value,
                /// Below 1 the tail is heavier than that of an exponential.
                shape: f64,
                /// Where draws are cut; nowhere if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// Pareto: draws above x have probability (least / x)^shape.
            Pareto {
                /// The least.
                least: $value,
                /// The tail's index; at 2 and below the variance is infinite, at 1 and below the mean.
                shape: f64,
                /// Where draws are cut; nowhere if left out.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                most: Option<$value>,
            },
            /// The fit to what Bruce Mah measured of the web in 1995.
            Mah,
            /// As in a file: lines of value (bytes, seconds or a number), count, and share of the draws at or below the value.
            Measured {
                /// The file, relative to the scenario's folder.
                file: String,
                /// What is drawn between two values.
                #[serde(default)]
                between: Between,
            },
        }

        impl $name {
            /// The file that it names.
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
