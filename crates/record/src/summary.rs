//! `summary.json`: one run on a page, with stable keys.
//!
//! SI units are in the keys (`goodput_bps`, `rtt_min_s`); a value that was not measured is null, not zero.
//! Keys of flows, links, splices, handovers and routing are those of their metrics (`skyhop_results`), in order.
//! Differs from serialisation of the result's types: names come first, and parts that a run does not have are omitted.
//! Leaves out the series, which are in `series.parquet`.

use serde_json::{Map, Value, json};
use skyhop_results::population::{MemberSpread, tally};
use skyhop_results::{
    AddressResult, AssociationResult, Cause, DirectionResult, FailureResult, FlowMetric, FlowResult,
    HandoverResult, LinkResult, Measure, Metric, PopulationResult, RoutingResult, RunResult, SpliceResult,
    Type, UplinkResult,
};

/// Largest number of texts that are listed for a population.
const MOST_TEXTS: usize = 10;

/// Data that are needed to run again, and data that the run itself does not know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// SHA-256 of the scenario's text, in lower-case hexadecimal.
    pub scenario_sha256: String,
    /// Duration of the run by the wall clock, s.
    pub wall_s: f64,
    /// Overrides in the order given, each "path=value".
    pub sets: Vec<String>,
    /// The scenario with defaults for all keys that its file omits.
    pub resolved: Value,
    /// Properties of an emulation; null for a simulation.
    pub emulation: Value,
}

/// The summary of a run. Its keys are in a fixed order.
pub fn summary_json(result: &RunResult, meta: &Meta) -> Value {
    let mut root = Map::new();
    root.insert("scenario".into(), json!(result.scenario));
    root.insert("scenario_sha256".into(), json!(meta.scenario_sha256));
    root.insert("seed".into(), json!(result.seed));
    root.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    root.insert("simulated_s".into(), json!(result.simulated_s));
    root.insert("wall_s".into(), json!(meta.wall_s));
    root.insert("events".into(), json!(result.events));
    root.insert("packet_hops".into(), json!(result.packet_hops));
    root.insert("flows".into(), result.listed().map(|f| (f.name.clone(), flow(f))).collect());
    if !result.populations.is_empty() {
        let all = result.populations.iter();
        let one = |p: &PopulationResult| (p.name.clone(), population(p.members(result)));
        root.insert("populations".into(), all.map(one).collect());
    }
    root.insert("links".into(), result.links.iter().map(|l| (l.name.clone(), link(l))).collect());
    if !result.uplinks.is_empty() {
        let one = |u| entries(UplinkResult::METRICS, u).collect::<Value>();
        root.insert("uplinks".into(), result.uplinks.iter().map(|u| (u.name.clone(), one(u))).collect());
    }
    if !result.splices.is_empty() {
        root.insert(
            "splices".into(),
            result
                .splices
                .iter()
                .map(|s| (s.name.clone(), entries(SpliceResult::METRICS, s).collect::<Value>()))
                .collect(),
        );
    }
    if !result.associations.is_empty() {
        let one = |a| entries(AssociationResult::METRICS, a).collect::<Value>();
        let all = result.associations.iter().map(|a| (a.name.clone(), one(a)));
        root.insert("associations".into(), all.collect());
    }
    if !result.handovers.is_empty() {
        let one = |h| entries(HandoverResult::METRICS, h).collect::<Value>();
        let all = result.handovers.iter().map(|h| (h.terminal.clone(), one(h)));
        root.insert("handovers".into(), all.collect());
    }
    if !result.addresses.is_empty() {
        let one = |a| entries(AddressResult::METRICS, a).collect::<Value>();
        let all = result.addresses.iter().map(|a| (a.terminal.clone(), one(a)));
        root.insert("addresses".into(), all.collect());
    }
    if !result.failures.is_empty() {
        root.insert("failures".into(), failures(&result.failures));
    }
    if let Some(found) = &result.routing {
        root.insert("routing".into(), entries(RoutingResult::METRICS, found).collect::<Value>());
    }
    if !meta.emulation.is_null() {
        root.insert("emulation".into(), meta.emulation.clone());
    }
    root.insert("warnings".into(), json!(result.warnings));
    if !meta.sets.is_empty() {
        root.insert("set".into(), json!(meta.sets));
    }
    if !meta.resolved.is_null() {
        root.insert("resolved".into(), meta.resolved.clone());
    }
    Value::Object(root)
}

/// The text of a summary in files and on screen: indented, with a final newline.
pub fn summary_text(summary: &Value) -> String {
    format!("{summary:#}\n")
}

/// A population: its size, and the distribution of each metric over it.
fn population(members: &[FlowResult]) -> Value {
    let mut out = Map::new();
    out.insert("count".into(), json!(members.len()));
    for metric in FlowMetric::all() {
        if metric.kind == Type::Text {
            let found = tally(metric, members).into_iter().take(MOST_TEXTS);
            let found: Map<String, Value> = found.map(|(text, n)| (text.to_owned(), json!(n))).collect();
            if !found.is_empty() {
                out.insert(metric.name.clone(), Value::Object(found));
            }
        } else if let Some(spread) = MemberSpread::of(metric, members) {
            let mut one = Map::new();
            one.insert("count".into(), json!(spread.count));
            one.extend(spread.numbers().into_iter().skip(1).map(|(name, x)| (name.into(), json!(x))));
            one.insert("worst".into(), json!({ "flow": spread.worst.0, "value": spread.worst.1 }));
            out.insert(metric.name.clone(), Value::Object(one));
        }
    }
    Value::Object(out)
}

fn flow(flow: &FlowResult) -> Value {
    let mut out: Map<String, Value> = flow.kind.measures().into_iter().map(entry).collect();
    if let Some(limits) = &flow.limits {
        out.insert("limited_by".into(), json!(limits.limited_by().map(Cause::name)));
        let share = |cause: Cause| (cause.name().to_owned(), json!(limits.share(cause)));
        out.insert("limited_share".into(), Cause::ALL.into_iter().map(share).collect());
        out.insert("bottleneck".into(), json!(limits.bottleneck));
    }
    out.extend(entries(FlowResult::METRICS, flow));
    if let Some(association) = &flow.association {
        let shared = |(name, value): (&String, &mut Value)| {
            if flow.shares(name) {
                *value = Value::Null;
            }
        };
        out.iter_mut().for_each(shared);
        out.insert("association".into(), json!(association));
    }
    if flow.packets_duplicated > 0 {
        out.insert("packets_duplicated".into(), json!(flow.packets_duplicated));
    }
    Value::Object(out)
}

fn link(link: &LinkResult) -> Value {
    let direction = |direction| entries(DirectionResult::METRICS, direction).collect::<Value>();
    json!({ "forward": direction(&link.forward), "reverse": direction(&link.reverse) })
}

/// Metrics that are 0 for most links, and omitted then.
const RARE: [&str; 2] = ["packets_duplicated", "packets_corrupted"];

/// Names and values of a result's metrics.
fn entries<'a, T>(metrics: &'a [Metric<T>], of: &'a T) -> impl Iterator<Item = (String, Value)> + 'a {
    let all = metrics.iter().map(|metric| entry((metric.name, (metric.get)(of))));
    all.filter(|(name, value)| !RARE.contains(&name.as_str()) || *value != json!(0))
}

fn entry((name, value): (&'static str, Measure<'_>)) -> (String, Value) {
    let value = match value {
        Measure::Count(n) => json!(n),
        Measure::Real(x) => json!(x),
        Measure::Text(text) => json!(text),
    };
    (name.to_owned(), value)
}

/// The number of failures, and the first thousand of them.
fn failures(all: &[FailureResult]) -> Value {
    const LISTED: usize = 1000;
    let one = |f: &FailureResult| json!({ f.kind: f.name, "from_s": f.from_s, "until_s": f.until_s });
    let count = |kind: &str| all.iter().filter(|f| f.kind == kind).count();
    json!({
        "satellites": count("satellite"),
        "links": count("link"),
        "stations": count("station"),
        "listed": all.iter().take(LISTED).map(one).collect::<Vec<_>>(),
    })
}
