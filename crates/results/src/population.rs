//! Statistics over a population of flows: for each metric its count, mean, percentiles and worst member.
//!
//! Follows numpy for percentiles, with linear interpolation between two values.
//! Differs from statistics over seeds: these are flows of one run, which share links.
//! Leaves out the members, which are in [`crate::RunResult::flows`].

use crate::{FlowMetric, FlowResult, Measure, PopulationResult, RunResult, Type};
use std::collections::BTreeMap;

/// The distribution of a metric over the members of a population.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberSpread<'a> {
    /// Number of members with a value.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Name and value of the worst member: the one with the least goodput, the longest time, etc.; no value if it did not complete.
    pub worst: (&'a str, Option<f64>),
}

impl PopulationResult {
    /// The members, in order of their numbers.
    pub fn members<'a>(&self, result: &'a RunResult) -> &'a [FlowResult] {
        &result.flows[self.flows.clone()]
    }
}

impl RunResult {
    /// Flows that are reported individually; members of populations only if [`RunResult::each_member`] is true.
    pub fn listed(&self) -> impl Iterator<Item = &FlowResult> {
        let member = |i: &usize| self.populations.iter().any(|population| population.flows.contains(i));
        let apart = move |(i, _): &(usize, &FlowResult)| self.each_member || !member(i);
        self.flows.iter().enumerate().filter(apart).map(|(_, flow)| flow)
    }

    /// Number `n`, from 0, of the flows that are in no population.
    pub fn single(&self, n: usize) -> Option<&FlowResult> {
        let behind = |index: usize, population: &PopulationResult| match population.flows.start <= index {
            true => index + population.flows.len(),
            false => index,
        };
        self.flows.get(self.populations.iter().fold(n, behind))
    }
}

impl<'a> MemberSpread<'a> {
    /// The distribution of a numeric metric; `None` if no member has a value.
    pub fn of(metric: &FlowMetric, members: &'a [FlowResult]) -> Option<Self> {
        if metric.kind == Type::Text {
            return None;
        }
        let value = |flow: &FlowResult| metric.of(flow).number();
        let mut values: Vec<f64> = members.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let at = |q: f64| quantile(&values, q);
        let (p5, p50, p95) = (at(0.05)?, at(0.5)?, at(0.95)?);
        Some(Self {
            count: values.len() as u64,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p5,
            p50,
            p95,
            worst: worst(metric, members)?,
        })
    }

    /// The numeric parts, by name.
    pub fn numbers(&self) -> [(&'static str, f64); 5] {
        let Self { count, mean, p5, p50, p95, .. } = *self;
        [("count", count as f64), ("mean", mean), ("p5", p5), ("p50", p50), ("p95", p95)]
    }

    /// Names of the numeric parts.
    pub const NUMBERS: [&'static str; 5] = ["count", "mean", "p5", "p50", "p95"];
}

/// Number of occurrences of each text of a metric, the most frequent first.
pub fn tally<'a>(metric: &FlowMetric, members: &'a [FlowResult]) -> Vec<(&'a str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for flow in members {
        if let Measure::Text(Some(text)) = metric.of(flow) {
            *counts.entry(text).or_default() += 1;
        }
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

/// The first of the worst members. A missing time counts as longer than all others.
fn worst<'a>(metric: &FlowMetric, members: &'a [FlowResult]) -> Option<(&'a str, Option<f64>)> {
    let badness = |flow: &FlowResult| match metric.of(flow).number() {
        Some(value) if less_is_worse(&metric.name) => -value,
        Some(value) => value,
        None if metric.name.ends_with("_s") => f64::INFINITY,
        None => f64::NEG_INFINITY,
    };
    let first = members.first()?;
    let worst = members.iter().fold((first, badness(first)), |most, flow| {
        let bad = badness(flow);
        if bad > most.1 { (flow, bad) } else { most }
    });
    Some((&worst.0.name, metric.of(worst.0).number()))
}

/// Returns true for metrics of success, of which a smaller value is worse: amounts delivered or completed.
fn less_is_worse(metric: &str) -> bool {
    const SUCCESS: [&str; 12] = [
        "goodput_bps",
        "bytes_delivered",
        "sequence_max_bytes",
        "sent",
        "received",
        "answers_received",
        "started",
        "completed",
        "files",
        "packets_sent",
        "packets_delivered",
        "forward_bytes",
    ];
    SUCCESS.contains(&metric)
}

/// The quantile `q` of `sorted`, by linear interpolation as in numpy; `None` if it is empty.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let at = q * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowKind, TransferResult};

    #[test]
    fn quantiles_lie_on_the_line_between_their_neighbours() {
        let values: Vec<f64> = (0..=20).map(f64::from).collect();
        assert_eq!([0.0, 0.5, 0.95, 1.0].map(|q| quantile(&values, q)), [0.0, 10.0, 19.0, 20.0].map(Some));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!((quantile(&[3.0], 0.95), quantile(&[], 0.5)), (Some(3.0), None));
    }

    fn flow(name: &str, goodput_bps: f64, completed_s: Option<f64>) -> FlowResult {
        FlowResult {
            association: None,
            name: name.into(),
            kind: FlowKind::Transfer(TransferResult { goodput_bps, completed_s, ..Default::default() }),
            limits: None,
            forward_bytes: 0,
            return_bytes: 0,
            packets_sent: 0,
            packets_duplicated: 0,
            packets_delivered: 0,
            packets_dropped: 0,
            packets_lost: 0,
            packets_in_flight: 0,
        }
    }

    fn metric(name: &str) -> &'static FlowMetric {
        FlowMetric::all().iter().find(|metric| metric.name == name).unwrap()
    }

    #[test]
    fn the_worst_has_the_least_goodput_the_longest_time_or_none_at_all() {
        let mut flows = vec![flow("a", 5.0, Some(1.0)), flow("b", 1.0, Some(9.0)), flow("c", 3.0, Some(2.0))];
        let spread = MemberSpread::of(metric("goodput_bps"), &flows).unwrap();
        assert_eq!((spread.mean, spread.p50, spread.worst), (3.0, 3.0, ("b", Some(1.0))));
        assert_eq!(MemberSpread::of(metric("completed_s"), &flows).unwrap().worst, ("b", Some(9.0)));
        flows.push(flow("d", 4.0, None));
        let spread = MemberSpread::of(metric("completed_s"), &flows).unwrap();
        assert_eq!((spread.count, spread.mean, spread.worst), (3, 4.0, ("d", None)));
        assert_eq!(MemberSpread::of(metric("delay_mean_s"), &flows), None);
        assert_eq!(MemberSpread::of(metric("bottleneck"), &flows), None);
    }
}
