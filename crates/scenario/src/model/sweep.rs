//! Sweeps: the values of the scenario that are varied, and the seeds.
//!
//! Follows TH chapters 4 and 5 (grids of rate and delay) and HT 4.1.2 (seeds until the mean is known well enough).
//! Differs from `--set`: each dotted path has a list of values, and every combination is run.
//! Leaves out the distribution of runs over processors and machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The varied parameters. Paths are dotted, as for `--set`: "links.satellite.rate", "flows.download.transport.variant".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// Values by path; every combination is run, in alphabetical order of the paths, where the last path changes fastest.
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
    /// Values by path that change together: the first of each, then the second of each. All lists have equal length.
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub zip: BTreeMap<String, Vec<toml::Value>>,
    /// Number of runs of each combination, with consecutive seeds from the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub seeds: Option<u32>,
    /// True if all combinations have the same seeds, so that they differ less by chance; if false, each has its own seeds, so that
    /// chance averages out over combinations.
    pub common_seeds: bool,
    /// Adds seeds until a mean is known well enough; `seeds` is then the least number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Columns of the table besides the parameters, with * for any text: "*.goodput_bps". All if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<String>>,
}

impl Default for Sweep {
    fn default() -> Self {
        Sweep {
            grid: BTreeMap::new(),
            zip: BTreeMap::new(),
            seeds: None,
            common_seeds: true,
            until: None,
            metrics: None,
        }
    }
}

/// The criterion for enough seeds: the standard error of the mean is within a share of the mean (HT 4.1.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Column of the mean, such as "download.goodput_bps".
    pub metric: String,
    /// The share, such as 0.05.
    pub within: f64,
    /// Largest number of seeds of a combination.
    #[serde(default = "default_most_seeds")]
    #[schemars(range(min = 2))]
    pub most_seeds: u32,
}

fn default_most_seeds() -> u32 {
    100
}
