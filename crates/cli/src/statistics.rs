//! Means and confidence intervals over runs with different seeds.
//!
//! Follows Student's t: mean +- t(0.975, n - 1) * s / sqrt(n), with the quantile from statrs.
//! Differs from a table of factors: it works for any number of runs, from two on.
//! Leaves out tests of hypotheses, and means of metrics that not every run has.

use serde_json::{Map, Value, json};
use skyhop_record::{Meta, summary_json};
use skyhop_results::RunResult;
use skyhop_results::population::MemberSpread;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of a sample, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; `None` for a single value.
    pub half_width: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub count: usize,
}

impl Estimate {
    /// The estimate from `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = values.iter().sum::<f64>() / n;
        let half_width = (count > 1).then(|| {
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            t_quantile(0.975, n - 1.0) * (variance / n).sqrt()
        });
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Estimate { mean, half_width, min, max, count })
    }

    fn json(&self) -> Value {
        json!({
            "mean": self.mean,
            "ci95_half_width": self.half_width,
            "min": self.min,
            "max": self.max,
            "runs": self.count,
        })
    }
}

/// The `p` quantile of Student's t with `freedom` degrees of freedom.
fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// The metrics of a flow or a population over all runs, in the order of the summary.
pub struct FlowStatistics {
    /// Name of the flow.
    pub name: String,
    /// Metrics by their keys in the summary.
    pub metrics: Vec<(String, Estimate)>,
}

/// Means over the flows of all runs. A metric that a run does not have (an unfinished transfer's time) is averaged over the others.
pub fn flows(results: &[RunResult]) -> Vec<FlowStatistics> {
    let summaries: Vec<Value> = results.iter().map(|r| summary_json(r, &Meta::default())).collect();
    let Some(first) = summaries.first().and_then(|s| s["flows"].as_object()) else { return Vec::new() };
    let populations = summaries[0]["populations"].as_object().into_iter().flatten();
    let of_populations = populations.map(|(name, population)| {
        let mut metrics = Vec::new();
        for (metric, spread) in population.as_object().into_iter().flatten() {
            for part in MemberSpread::NUMBERS.iter().filter(|part| spread.get(**part).is_some()) {
                let value = |s: &Value| s["populations"][name][metric][part].as_f64();
                let values: Vec<f64> = summaries.iter().filter_map(value).collect();
                let key = format!("{metric}.{part}");
                metrics.extend(Estimate::of(&values).map(|estimate| (key, estimate)));
            }
        }
        FlowStatistics { name: name.clone(), metrics }
    });
    let singles = first.iter().map(|(name, flow)| {
        let mut metrics = Vec::new();
        let mut add = |key: String, get: &dyn Fn(&Value) -> Option<f64>| {
            let values: Vec<f64> = summaries.iter().filter_map(|s| get(&s["flows"][name])).collect();
            metrics.extend(Estimate::of(&values).map(|estimate| (key, estimate)));
        };
        for (key, value) in flow.as_object().into_iter().flatten() {
            match value.as_object() {
                // Named like the columns of the tables.
                Some(shares) => {
                    for cause in shares.keys() {
                        add(format!("limited_{cause}"), &|flow| flow[key][cause].as_f64());
                    }
                }
                None => add(key.clone(), &|flow| flow[key].as_f64()),
            }
        }
        FlowStatistics { name: name.clone(), metrics }
    });
    of_populations.chain(singles).collect()
}

/// The summary of runs with several seeds.
pub fn summary(results: &[RunResult], meta: &Meta) -> Value {
    let mut flows_json = Map::new();
    for flow in flows(results) {
        let metrics: Map<String, Value> =
            flow.metrics.iter().map(|(key, e)| (key.clone(), e.json())).collect();
        flows_json.insert(flow.name, Value::Object(metrics));
    }
    let first = results.first();
    let mut warnings: Vec<&String> = results.iter().flat_map(|r| &r.warnings).collect();
    warnings.sort();
    warnings.dedup();
    let mut out = json!({
        "scenario": first.map(|r| &r.scenario),
        "scenario_sha256": meta.scenario_sha256,
        "seeds": results.iter().map(|r| r.seed).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "wall_s": meta.wall_s,
        "flows": flows_json,
        "warnings": warnings,
    });
    if !meta.sets.is_empty() {
        out["set"] = json!(meta.sets);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // From textbook tables of t, two-sided 95 %.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, t) in
            [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262), (29.0, 2.045), (1000.0, 1.962)]
        {
            assert!(
                (t_quantile(0.975, freedom) - t).abs() < 5e-4,
                "{freedom}: {}",
                t_quantile(0.975, freedom)
            );
        }
    }

    #[test]
    fn an_interval_is_t_times_the_standard_error() {
        // Mean 3, s = sqrt(2.5), n = 5: 2.776 * 0.7071 = 1.963.
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((e.mean, e.min, e.max, e.count), (3.0, 1.0, 5.0, 5));
        assert!((e.half_width.unwrap() - 1.963).abs() < 1e-3);
        assert_eq!(Estimate::of(&[7.0]).unwrap().half_width, None);
        assert_eq!(Estimate::of(&[7.0, 7.0, 7.0]).unwrap().half_width, Some(0.0));
        assert_eq!(Estimate::of(&[]), None);
    }
}
