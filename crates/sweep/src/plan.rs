//! The runs of a sweep: points, each with a value for every varied path, and seeds.
//!
//! Follows the scenario's `sweep`: the grid's product times the rows of the zip, the last path changing fastest, then seeds.
//! Differs from a list: a point is computed from its number, so a million of them use no memory.
//! Leaves out the order of execution.

use crate::columns::{Columns, Row};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use skyhop_network::BuildError;
use skyhop_results::RunResult;
use skyhop_scenario::{Errors, Loaded, Scenario, Until};
use skyhop_sim::Simulation;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A combination of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Number of the point, from 0.
    pub number: u64,
    /// Path and value, as for `--set`.
    pub sets: Vec<(String, String)>,
}

/// Lists of values that change together.
struct Axis {
    paths: Vec<String>,
    /// For each step, the value of each path.
    steps: Vec<Vec<toml::Value>>,
}

/// A sweep ready to run.
pub struct Plan {
    base: Loaded,
    /// The scenario that points change, without the lists, which are long if there are many points.
    one: Loaded,
    axes: Vec<Axis>,
    seeds: u32,
    /// Difference between the first seeds of successive points.
    stride: u64,
    until: Option<Until>,
    columns: Columns,
}

/// Number of events between two calls of `go_on`.
const EVENTS_BETWEEN_LOOKS: u32 = 10_000;

impl Plan {
    /// The plan of a scenario with a `sweep`. Fails if a part of it can never run.
    pub fn new(loaded: &Loaded) -> Result<Self, Errors> {
        let wrong = |key: &str, message: String| Errors::from(loaded.problem(key, message));
        let Some(sweep) = &loaded.scenario.sweep else {
            let example = "write [sweep.grid] with a list of values for each dotted path";
            return Err(wrong("sweep", format!("missing table; {example}")));
        };
        let mut axes: Vec<Axis> = Vec::new();
        for (path, values) in &sweep.grid {
            let steps = values.iter().map(|value| vec![value.clone()]).collect();
            axes.push(Axis { paths: vec![path.clone()], steps });
        }
        if let Some(length) = sweep.zip.values().map(Vec::len).next() {
            let step = |i: usize| sweep.zip.values().map(|values| values[i].clone()).collect();
            let steps = (0..length).map(step).collect();
            axes.push(Axis { paths: sweep.zip.keys().cloned().collect(), steps });
        }
        let parameters = axes.iter().flat_map(|axis| {
            axis.paths.iter().enumerate().map(|(i, path)| {
                (path.clone(), axis.steps.iter().map(|step| step[i].clone()).collect::<Vec<_>>())
            })
        });
        let columns = Columns::new(loaded, parameters.collect(), sweep.metrics.as_deref());
        for (i, pattern) in sweep.metrics.iter().flatten().enumerate() {
            if !columns.any_metric(pattern) {
                let key = format!("sweep.metrics.{i}");
                let some = columns.metrics().take(8).collect::<Vec<_>>().join(", ");
                return Err(wrong(&key, format!("no column fits \"{pattern}\"; there are {some}, ...")));
            }
        }
        if let Some(until) = &sweep.until
            && !columns.has_metric(&until.metric)
        {
            let message = match skyhop_text::spelling::nearest(&until.metric, columns.metrics()) {
                Some(near) => format!("no column \"{}\"; did you mean \"{near}\"?", until.metric),
                None => {
                    let some = columns.metrics().take(8).collect::<Vec<_>>().join(", ");
                    format!("no column \"{}\"; there are {some}, ...", until.metric)
                }
            };
            return Err(wrong("sweep.until.metric", message));
        }
        let least = if sweep.until.is_some() { 2 } else { 1 };
        let seeds = sweep.seeds.unwrap_or(least).max(least);
        let most = sweep.until.as_ref().map_or(seeds, |until| until.most_seeds.max(seeds));
        let stride = if sweep.common_seeds { 0 } else { u64::from(most) };
        let (base, one) = (loaded.clone(), loaded.without_sweep());
        Ok(Plan { base, one, axes, seeds, stride, until: sweep.until.clone(), columns })
    }

    /// Number of points; `None` if it overflows.
    pub fn points(&self) -> Option<u64> {
        self.axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.steps.len() as u64))
    }

    /// Smallest number of runs; with `until` there may be more.
    pub fn runs(&self) -> Option<u64> {
        self.points()?.checked_mul(u64::from(self.seeds))
    }

    /// Returns true if seeds are added until a mean is known.
    pub fn is_open_ended(&self) -> bool {
        self.until.is_some()
    }

    /// Number of units of work that parts consist of: runs, or points if seeds are added until a mean is known.
    pub fn units(&self) -> Option<u64> {
        if self.is_open_ended() { self.points() } else { self.runs() }
    }

    /// Columns of the table.
    pub fn schema(&self) -> SchemaRef {
        self.columns.schema()
    }

    /// The scenario that is varied.
    pub fn base(&self) -> &Loaded {
        &self.base
    }

    /// The scenario with its sweep.
    pub(crate) fn scenario(&self) -> &Scenario {
        &self.base.scenario
    }

    /// The point with this number.
    pub fn point(&self, number: u64) -> Point {
        let mut sets = Vec::new();
        for (axis, step) in self.axes.iter().zip(self.steps(number)) {
            let values = &axis.steps[step];
            sets.extend(axis.paths.iter().cloned().zip(values.iter().map(toml::Value::to_string)));
        }
        Point { number, sets }
    }

    /// Index of each axis at a point.
    fn steps(&self, mut number: u64) -> Vec<usize> {
        let mut steps = vec![0; self.axes.len()];
        for (axis, step) in self.axes.iter().zip(&mut steps).rev() {
            let length = axis.steps.len() as u64;
            *step = (number % length) as usize;
            number /= length;
        }
        steps
    }

    /// Runs `units` in order and returns their rows; `None` if `go_on` returned false.
    ///
    /// `go_on` is called at least every few thousand events, with the number of runs done.
    pub fn run(&self, units: Range<u64>, mut go_on: impl FnMut(u64) -> bool) -> Option<RecordBatch> {
        let mut rows = self.columns.rows();
        let each = if self.is_open_ended() { 1 } else { u64::from(self.seeds) };
        let mut unit = units.start;
        while unit < units.end {
            let number = unit / each;
            // The seeds of the point that are among the units: from its first one in them to its last, or to the last of them.
            let from = unit % each;
            let to = if self.is_open_ended() { u64::MAX } else { each.min(from + units.end - unit) };
            unit += if self.is_open_ended() { 1 } else { to - from };
            let point = self.point(number);
            let steps = self.steps(number);
            let values = self.axes.iter().zip(&steps).flat_map(|(axis, step)| &axis.steps[*step]).cloned();
            let values: Vec<toml::Value> = values.collect();
            let loaded = self.one.with(&point.sets);
            let mut known = Known::default();
            for offset in from..to {
                let first = loaded.as_ref().map_or(self.base.scenario.seed, |l| l.scenario.seed);
                let seed = first.saturating_add(self.stride.saturating_mul(number)).saturating_add(offset);
                let outcome = match &loaded {
                    Ok(loaded) => one(loaded, seed, || go_on(0)),
                    Err(errors) => Outcome::Failed(errors.to_string()),
                };
                let outcome = match outcome {
                    Outcome::Stopped => return None,
                    Outcome::Done(result) => Ok(result),
                    Outcome::Failed(why) => Err(why),
                };
                let row = Row { point: number, values: &values, seed, outcome: outcome.as_deref() };
                let metric = rows.push(&row, self.until.as_ref().map(|until| until.metric.as_str()));
                if !go_on(1) {
                    return None;
                }
                known.add(metric);
                let enough = self.until.as_ref().is_some_and(|until| {
                    offset + 1 >= u64::from(until.most_seeds)
                        || outcome.is_err()
                        || offset + 1 >= u64::from(self.seeds) && known.within(until.within)
                });
                if enough {
                    break;
                }
            }
        }
        Some(rows.finish())
    }
}

/// The statistics of a mean.
#[derive(Default)]
struct Known {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Known {
    /// Adds a value by Welford's update; a run without the metric is ignored.
    fn add(&mut self, value: Option<f64>) {
        let Some(value) = value else { return };
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    /// Returns true if the standard error of the mean is within `share` of it.
    fn within(&self, share: f64) -> bool {
        if self.count < 2.0 {
            return false;
        }
        let of_mean = (self.squares / (self.count - 1.0) / self.count).sqrt();
        of_mean <= share * self.mean.abs()
    }
}

enum Outcome {
    Done(Box<RunResult>),
    Failed(String),
    Stopped,
}

/// One run. A failure is reported in its row, even a panic.
fn one(loaded: &Loaded, seed: u64, mut go_on: impl FnMut() -> bool) -> Outcome {
    let run = AssertUnwindSafe(|| -> Result<Option<RunResult>, BuildError> {
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed)?;
        simulation.without_series();
        let mut events = 0;
        while simulation.step() {
            events += 1;
            if events % EVENTS_BETWEEN_LOOKS == 0 && !go_on() {
                return Ok(None);
            }
        }
        Ok(Some(simulation.finish()))
    });
    match catch_unwind(run) {
        Ok(Ok(Some(result))) => Outcome::Done(Box::new(result)),
        Ok(Ok(None)) => Outcome::Stopped,
        Ok(Err(e)) => Outcome::Failed(e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Outcome::Failed(format!("a fault in skyhop: {}", text.unwrap_or_default()))
        }
    }
}
