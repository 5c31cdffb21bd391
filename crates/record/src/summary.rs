//! `summary.json`: one run in a page, with keys that stay.
//!
//! SI units are in the keys (`goodput_bps`, `rtt_min_s`); what was not measured is null and not zero.
//! Differs from serialising the result's types: the order and the spelling here are a promise to users' scripts.
//! Leaves out the series, which are in `series.parquet`.

use serde_json::{Map, Value, json};
use skyhop_sim::results::{
    Cause, DirectionResult, FailureResult, FlowKind, FlowResult, HandoverResult, LinkResult, RoutingResult,
    RunResult, SpliceResult,
};

/// What a result needs to be run again, and what the run itself cannot know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// SHA-256 of the scenario's text, in lower-case hexadecimal.
    pub scenario_sha256: String,
    /// What the run took on the wall clock, s.
    pub wall_s: f64,
    /// Overrides in the order given, each "path=value".
    pub sets: Vec<String>,
    /// The scenario with every key that its file left out.
    pub resolved: Value,
}

/// The summary of a run. Its keys come in a fixed order.
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
    root.insert("flows".into(), result.flows.iter().map(|f| (f.name.clone(), flow(f))).collect());
    root.insert("links".into(), result.links.iter().map(|l| (l.name.clone(), link(l))).collect());
    if !result.splices.is_empty() {
        root.insert("splices".into(), result.splices.iter().map(|s| (s.name.clone(), splice(s))).collect());
    }
    if !result.handovers.is_empty() {
        let all = result.handovers.iter().map(|h| (h.terminal.clone(), handovers(h)));
        root.insert("handovers".into(), all.collect());
    }
    if !result.failures.is_empty() {
        root.insert("failures".into(), failures(&result.failures));
    }
    if let Some(found) = &result.routing {
        root.insert("routing".into(), routing(found));
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

/// The text of a summary as it is written and printed: indented, with a final newline.
pub fn summary_text(summary: &Value) -> String {
    format!("{summary:#}\n")
}

fn flow(flow: &FlowResult) -> Value {
    let mut out = match &flow.kind {
        FlowKind::Transfer(t) => json!({
            "goodput_bps": t.goodput_bps,
            "completed_s": t.completed_s,
            "bytes_delivered": t.bytes_delivered,
            "segments_sent": t.segments_sent,
            "segments_retransmitted": t.segments_retransmitted,
            "timeouts": t.timeouts,
            "rtt_min_s": t.rtt_min_s,
            "rtt_mean_s": t.rtt_mean_s,
            "rtt_max_s": t.rtt_max_s,
        }),
        FlowKind::Ping(p) => json!({
            "sent": p.sent,
            "received": p.received,
            "delay_min_s": p.delay_min_s,
            "delay_mean_s": p.delay_mean_s,
            "delay_max_s": p.delay_max_s,
            "answers_received": p.answers_received,
            "rtt_min_s": p.rtt_min_s,
            "rtt_mean_s": p.rtt_mean_s,
            "rtt_max_s": p.rtt_max_s,
        }),
        FlowKind::Completions(c) => json!({
            "goodput_bps": c.goodput_bps,
            "started": c.started,
            "completed": c.completed,
            "failed": c.failed,
            "files": c.files,
            "connections": c.connections,
            "completion_min_s": c.completion_min_s,
            "completion_mean_s": c.completion_mean_s,
            "completion_median_s": c.completion_median_s,
            "completion_p95_s": c.completion_p95_s,
            "completion_max_s": c.completion_max_s,
            "bytes_delivered": c.bytes_delivered,
            "segments_sent": c.segments_sent,
            "segments_retransmitted": c.segments_retransmitted,
            "timeouts": c.timeouts,
            "rtt_min_s": c.rtt_min_s,
            "rtt_mean_s": c.rtt_mean_s,
            "rtt_max_s": c.rtt_max_s,
        }),
        FlowKind::Datagrams(d) => json!({
            "goodput_bps": d.goodput_bps,
            "bytes_delivered": d.bytes_delivered,
            "sent": d.sent,
            "received": d.received,
            "reordered": d.reordered,
            "loss": d.loss,
            "delay_min_s": d.delay_min_s,
            "delay_mean_s": d.delay_mean_s,
            "delay_max_s": d.delay_max_s,
            "jitter_s": d.jitter_s,
            "jitter_mean_s": d.jitter_mean_s,
        }),
    };
    if let Some(limits) = &flow.limits {
        out["limited_by"] = json!(limits.limited_by().map(Cause::name));
        let share = |cause: Cause| (cause.name().to_owned(), json!(limits.share(cause)));
        out["limited_share"] = Cause::ALL.into_iter().map(share).collect();
        out["bottleneck"] = json!(limits.bottleneck);
    }
    out["forward_bytes"] = json!(flow.forward_bytes);
    out["return_bytes"] = json!(flow.return_bytes);
    out["packets_sent"] = json!(flow.packets_sent);
    out["packets_delivered"] = json!(flow.packets_delivered);
    out["packets_dropped"] = json!(flow.packets_dropped);
    out["packets_lost"] = json!(flow.packets_lost);
    out["packets_in_flight"] = json!(flow.packets_in_flight);
    out
}

fn link(link: &LinkResult) -> Value {
    json!({ "forward": direction(&link.forward), "reverse": direction(&link.reverse) })
}

fn splice(s: &SpliceResult) -> Value {
    json!({
        "connections": s.connections,
        "connections_broken": s.connections_broken,
        "hits": s.hits,
        "misses": s.misses,
        "forward_bytes": s.forward_bytes,
        "backward_bytes": s.backward_bytes,
        "held_max_bytes": s.held_max_bytes,
        "connection_held_max_bytes": s.connection_held_max_bytes,
    })
}

fn handovers(h: &HandoverResult) -> Value {
    json!({ "handovers": h.handovers, "gap_s": h.gap_s, "packets_lost": h.packets_lost })
}

/// How many, and each of the first thousand.
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

fn routing(r: &RoutingResult) -> Value {
    json!({
        "scheme": r.scheme,
        "state_entries_max": r.state_entries_max,
        "state_entries_mean": r.state_entries_mean,
        "topology_changes": r.topology_changes,
        "announcements": r.announcements,
        "messages": r.messages,
        "convergence_max_s": r.convergence_max_s,
        "stranded_dead_end": r.stranded_dead_end,
        "stranded_no_path": r.stranded_no_path,
        "stranded_link_down": r.stranded_link_down,
        "stranded_hop_limit": r.stranded_hop_limit,
    })
}

fn direction(d: &DirectionResult) -> Value {
    json!({
        "packets": d.packets,
        "bytes": d.bytes,
        "dropped_packets": d.dropped_packets,
        "lost_packets": d.lost_packets,
        "filtered_packets": d.filtered_packets,
        "too_large_packets": d.too_large_packets,
        "marked_packets": d.marked_packets,
        "utilisation": d.utilisation,
        "queue_max_packets": d.queue_max_packets,
    })
}
