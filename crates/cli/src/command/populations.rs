//! Tables of populations of flows, with a line for each.
//!
//! Follows the tables of single flows, with percentiles over the members in place of one value.
//! Differs from the summary, which has all metrics.
//! Leaves out members, which `--members` lists.

use crate::table::{TextTable, count, or_dash, rate, share, time};
use skyhop_results::population::{MemberSpread, tally};
use skyhop_results::{FlowKind, FlowMetric, FlowResult, PopulationResult, RunResult};

/// The tables of a run's populations, one for each kind of flow.
pub fn tables(result: &RunResult) -> Vec<TextTable> {
    let mut transfers = TextTable::new([
        "flows",
        "count",
        "completed",
        "goodput 5 %",
        "median",
        "95 %",
        "completed in 5 %",
        "median",
        "95 %",
        "worst",
        "limited by",
    ]);
    let mut completions = TextTable::new([
        "pages, transfers of flows",
        "count",
        "begun",
        "done",
        "failed",
        "goodput 5 %",
        "median",
        "95 %",
        "mean done in 5 %",
        "median",
        "95 %",
        "worst",
    ]);
    let mut datagrams = TextTable::new([
        "datagrams of flows",
        "count",
        "sent",
        "arrived",
        "lost 5 %",
        "median",
        "95 %",
        "mean delay 5 %",
        "median",
        "95 %",
        "worst",
    ]);
    let mut pings = TextTable::new([
        "pings of flows",
        "count",
        "sent",
        "arrived",
        "mean delay 5 %",
        "median",
        "95 %",
        "mean rtt 5 %",
        "median",
        "95 %",
        "worst",
    ]);
    for population in &result.populations {
        let of = PopulationMembers { population, flows: population.members(result) };
        match of.flows.first().map(|flow| &flow.kind) {
            Some(FlowKind::Transfer(_)) => of.transfers(&mut transfers),
            Some(FlowKind::Completions(_)) => of.completions(&mut completions),
            Some(FlowKind::Datagrams(_)) => of.datagrams(&mut datagrams),
            Some(FlowKind::Ping(_)) => of.pings(&mut pings),
            // A flow left to programs is never part of a population.
            Some(FlowKind::Programs(_) | FlowKind::OneEnd(_)) | None => {}
        }
    }
    let all = [transfers, completions, datagrams, pings].into_iter();
    all.filter(|table| !table.cells().1.is_empty()).collect()
}

struct PopulationMembers<'a> {
    population: &'a PopulationResult,
    flows: &'a [FlowResult],
}

impl PopulationMembers<'_> {
    fn head(&self) -> [String; 2] {
        [self.population.name.clone(), count(self.flows.len() as u64)]
    }

    fn metric(name: &str) -> Option<&'static FlowMetric> {
        FlowMetric::all().iter().find(|metric| metric.name == name)
    }

    fn spread(&self, name: &str) -> Option<MemberSpread<'_>> {
        MemberSpread::of(Self::metric(name)?, self.flows)
    }

    /// Percentiles of a metric as text.
    fn three(&self, name: &str, write: fn(f64) -> String) -> [String; 3] {
        let spread = self.spread(name);
        let at =
            |value: fn(&MemberSpread) -> f64| or_dash(spread.as_ref().map(|spread| write(value(spread))));
        [at(|s| s.p5), at(|s| s.p50), at(|s| s.p95)]
    }

    /// The sum of a metric over the members.
    fn sum(&self, name: &str) -> String {
        let values = self.flows.iter().filter_map(|flow| Self::metric(name)?.of(flow).number());
        count(values.sum::<f64>() as u64)
    }

    /// The worst member by the first metric, or by the second if no member has the first.
    fn worst(&self, names: [&str; 2]) -> String {
        let worst = |name: &str| self.spread(name).map(|spread| spread.worst.0.to_owned());
        or_dash(worst(names[0]).or_else(|| worst(names[1])))
    }

    /// The most frequent limit of members: "receive window, 62 % of them".
    fn limited_by(&self) -> Option<String> {
        let all = tally(Self::metric("limited_by")?, self.flows);
        let (cause, found) = all.first()?;
        let share = 100.0 * *found as f64 / self.flows.len() as f64;
        Some(format!("{}, {share:.0} % of them", cause.replace('_', " ")))
    }

    fn transfers(&self, table: &mut TextTable) {
        let ([name, flows], [g5, g50, g95]) = (self.head(), self.three("goodput_bps", rate));
        let [c5, c50, c95] = self.three("completed_s", time);
        let completed = count(self.spread("completed_s").map_or(0, |spread| spread.count));
        let worst = self.worst(["completed_s", "goodput_bps"]);
        let limited = or_dash(self.limited_by());
        table.row([name, flows, completed, g5, g50, g95, c5, c50, c95, worst, limited]);
    }

    fn completions(&self, table: &mut TextTable) {
        let ([name, flows], [g5, g50, g95]) = (self.head(), self.three("goodput_bps", rate));
        let [c5, c50, c95] = self.three("completion_mean_s", time);
        let [begun, done, failed] = ["started", "completed", "failed"].map(|name| self.sum(name));
        let worst = self.worst(["completion_mean_s", "goodput_bps"]);
        table.row([name, flows, begun, done, failed, g5, g50, g95, c5, c50, c95, worst]);
    }

    fn datagrams(&self, table: &mut TextTable) {
        let ([name, flows], [l5, l50, l95]) = (self.head(), self.three("loss", share));
        let [d5, d50, d95] = self.three("delay_mean_s", time);
        let [sent, received] = ["sent", "received"].map(|name| self.sum(name));
        let worst = self.worst(["loss", "delay_mean_s"]);
        table.row([name, flows, sent, received, l5, l50, l95, d5, d50, d95, worst]);
    }

    fn pings(&self, table: &mut TextTable) {
        let ([name, flows], [d5, d50, d95]) = (self.head(), self.three("delay_mean_s", time));
        let [r5, r50, r95] = self.three("rtt_mean_s", time);
        let [sent, received] = ["sent", "received"].map(|name| self.sum(name));
        let worst = self.worst(["delay_mean_s", "received"]);
        table.row([name, flows, sent, received, d5, d50, d95, r5, r50, r95, worst]);
    }
}
