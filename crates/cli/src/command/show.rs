//! Results as tables for people.
//!
//! Follows the order of the summary: the run, its flows, its links.
//! Differs from the summary: rounded, and without values that are not compared by eye.
//! Leaves out tables without rows, such as pings in a run without any.

use crate::engine::Done;
use crate::statistics::{self, Estimate};
use crate::table::{TextTable, count, or_dash, rate, share, size, time};
use skyhop_record::Meta;
use skyhop_results::{
    CompletionsResult, DatagramResult, DirectionResult, FlowKind, FlowResult, LimitsResult, OneEndResult,
    PingResult, ProgramsResult, RunResult, TransferResult,
};
use std::time::Duration;

/// Largest number of links in a table; a constellation has thousands.
const MOST_LINKS: usize = 12;

/// The tables of one run.
pub fn run(done: &Done) -> String {
    let result = &done.result;
    let mut out = head(
        &result.scenario,
        &format!("seed {}", result.seed),
        Duration::from_secs_f64(done.meta.wall_s.max(0.0)),
    );
    out += &format!(
        "simulated {}, {} events, {} packet hops\n",
        time(result.simulated_s),
        count(result.events),
        count(result.packet_hops)
    );
    let populations = super::populations::tables(result);
    let tables = populations.into_iter().chain(flows(result.listed())).chain(associations(result));
    for table in tables.chain(splices(result)).chain(uplinks(result)).chain(links(result)) {
        out.push('\n');
        out += &table.text();
    }
    if result.links.len() > MOST_LINKS {
        out += &format!("and {} more links\n", result.links.len() - MOST_LINKS);
    }
    out
}

fn head(name: &str, seeds: &str, wall: Duration) -> String {
    format!("{name}: {seeds}, {} on the clock\n", time(wall.as_secs_f64()))
}

/// Tables of transfers, pages, datagrams and pings.
pub fn flows<'a>(flows: impl IntoIterator<Item = &'a FlowResult>) -> Vec<TextTable> {
    let mut transfers = transfer_table("flow");
    let mut pings = TextTable::new([
        "ping",
        "sent",
        "arrived",
        "answered",
        "delay min",
        "mean",
        "max",
        "rtt min",
        "mean",
        "max",
    ]);
    let mut completions = TextTable::new([
        "pages, transfers",
        "begun",
        "done",
        "failed",
        "goodput",
        "connections",
        "done in, min",
        "median",
        "mean",
        "95 %",
        "max",
        "limited by",
    ]);
    let mut datagrams = TextTable::new([
        "datagrams",
        "sent",
        "arrived",
        "lost",
        "goodput",
        "delay min",
        "mean",
        "max",
        "jitter",
    ]);
    let mut one_end = TextTable::new([
        "program, simulated",
        "goodput",
        "delivered",
        "connections",
        "segments",
        "repeated",
        "timeouts",
        "rtt mean",
        "lost",
        "delay mean",
        "limited by",
    ]);
    let mut programs = TextTable::new(["programs", "sent", "arrived", "lost", "delay min", "mean", "max"]);
    for flow in flows {
        match &flow.kind {
            FlowKind::Completions(c) => completions_row(&mut completions, flow, c),
            FlowKind::Datagrams(d) => datagrams_row(&mut datagrams, &flow.name, d),
            FlowKind::Transfer(t) if flow.association.is_some() => stream_row(&mut transfers, flow, t),
            FlowKind::Transfer(t) => transfer_row(&mut transfers, &flow.name, t, flow.limits.as_ref()),
            FlowKind::Ping(p) => ping_row(&mut pings, &flow.name, p),
            FlowKind::Programs(p) => programs_row(&mut programs, &flow.name, p),
            FlowKind::OneEnd(o) => one_end_row(&mut one_end, flow, o),
        }
    }
    [transfers, completions, datagrams, pings, programs, one_end]
        .into_iter()
        .filter(|t| !t.cells().1.is_empty())
        .collect()
}

/// A table of transfers with `what` as the heading of its first column.
pub fn transfer_table(what: &str) -> TextTable {
    TextTable::new([
        what,
        "goodput",
        "completed",
        "delivered",
        "segments",
        "repeated",
        "timeouts",
        "rtt min",
        "mean",
        "max",
        "limited by",
    ])
}

/// A row of a table of transfers.
pub fn transfer_row(table: &mut TextTable, name: &str, t: &TransferResult, limits: Option<&LimitsResult>) {
    table.row([
        name.to_owned(),
        rate(t.goodput_bps),
        or_dash(t.completed_s.map(time)),
        size(t.bytes_delivered as f64),
        count(t.segments_sent),
        count(t.segments_retransmitted),
        count(t.timeouts),
        or_dash(t.rtt_min_s.map(time)),
        or_dash(t.rtt_mean_s.map(time)),
        or_dash(t.rtt_max_s.map(time)),
        or_dash(limits.and_then(limited_by)),
    ]);
}

/// A row of a table of transfers for a flow whose packets belong to an association.
fn stream_row(table: &mut TextTable, flow: &FlowResult, t: &TransferResult) {
    let dash = || or_dash(None);
    table.row([
        flow.name.clone(),
        rate(t.goodput_bps),
        or_dash(t.completed_s.map(time)),
        size(t.bytes_delivered as f64),
        dash(),
        dash(),
        dash(),
        dash(),
        dash(),
        dash(),
        or_dash(flow.limits.as_ref().and_then(limited_by)),
    ]);
}

/// The cause with the most time, and its share: "receive window 93 %".
fn limited_by(limits: &LimitsResult) -> Option<String> {
    let cause = limits.limited_by()?;
    let share = 100.0 * limits.share(cause)?;
    Some(format!("{} {share:.0} %", cause.name().replace('_', " ")))
}

fn ping_row(table: &mut TextTable, name: &str, p: &PingResult) {
    let [delays, rtts] =
        [[p.delay_min_s, p.delay_mean_s, p.delay_max_s], [p.rtt_min_s, p.rtt_mean_s, p.rtt_max_s]]
            .map(|values| values.map(|v| or_dash(v.map(time))));
    let ([d0, d1, d2], [r0, r1, r2]) = (delays, rtts);
    table.row([
        name.to_owned(),
        count(p.sent),
        count(p.received),
        count(p.answers_received),
        d0,
        d1,
        d2,
        r0,
        r1,
        r2,
    ]);
}

fn splices(result: &RunResult) -> Option<TextTable> {
    let mut table =
        TextTable::new(["splice", "connections", "broken", "forward", "return", "held at most", "of one"]);
    for splice in &result.splices {
        table.row([
            splice.name.clone(),
            count(splice.connections),
            count(splice.connections_broken),
            size(splice.forward_bytes as f64),
            size(splice.return_bytes as f64),
            size(splice.held_max_bytes as f64),
            size(splice.connection_held_max_bytes as f64),
        ]);
    }
    (!result.splices.is_empty()).then_some(table)
}

fn uplinks(result: &RunResult) -> Option<TextTable> {
    let mut table = TextTable::new([
        "uplink",
        "capacity",
        "constant",
        "by rate",
        "by volume",
        "free",
        "used",
        "requests",
        "access delay",
    ]);
    for uplink in &result.uplinks {
        table.row([
            uplink.name.clone(),
            rate(uplink.capacity_bps),
            share(uplink.constant_share),
            share(uplink.rate_based_share),
            share(uplink.volume_based_share),
            share(uplink.free_share),
            share(uplink.used_share),
            count(uplink.requests),
            or_dash(uplink.access_delay_mean_s.map(time)),
        ]);
    }
    (!result.uplinks.is_empty()).then_some(table)
}

fn associations(result: &RunResult) -> Option<TextTable> {
    let mut table = TextTable::new([
        "association",
        "streams",
        "at once",
        "delivered",
        "segments",
        "repeated",
        "timeouts",
        "rtt min",
        "mean",
        "max",
        "forward",
        "back",
    ]);
    for association in &result.associations {
        table.row([
            association.name.clone(),
            count(association.streams),
            count(association.streams_max),
            size(association.bytes_delivered as f64),
            count(association.segments_sent),
            count(association.segments_retransmitted),
            count(association.timeouts),
            or_dash(association.rtt_min_s.map(time)),
            or_dash(association.rtt_mean_s.map(time)),
            or_dash(association.rtt_max_s.map(time)),
            size(association.forward_bytes as f64),
            size(association.return_bytes as f64),
        ]);
    }
    (!result.associations.is_empty()).then_some(table)
}

fn completions_row(table: &mut TextTable, flow: &FlowResult, c: &CompletionsResult) {
    let shown = [
        c.completion_min_s,
        c.completion_median_s,
        c.completion_mean_s,
        c.completion_p95_s,
        c.completion_max_s,
    ];
    let [least, median, mean, p95, most] = shown.map(|v| or_dash(v.map(time)));
    let (begun, done, failed) = (count(c.started), count(c.completed), count(c.failed));
    let (goodput, connections) = (rate(c.goodput_bps), count(c.connections));
    let limited = or_dash(flow.limits.as_ref().and_then(limited_by));
    let name = flow.name.clone();
    table.row([name, begun, done, failed, goodput, connections, least, median, mean, p95, most, limited]);
}

fn datagrams_row(table: &mut TextTable, name: &str, d: &DatagramResult) {
    let [least, mean, most, jitter] =
        [d.delay_min_s, d.delay_mean_s, d.delay_max_s, d.jitter_mean_s].map(|v| or_dash(v.map(time)));
    let (sent, received, lost) = (count(d.sent), count(d.received), or_dash(d.loss.map(share)));
    table.row([name.to_owned(), sent, received, lost, rate(d.goodput_bps), least, mean, most, jitter]);
}

fn programs_row(table: &mut TextTable, name: &str, p: &ProgramsResult) {
    let [least, mean, most] = [p.delay_min_s, p.delay_mean_s, p.delay_max_s].map(|v| or_dash(v.map(time)));
    let lost = or_dash(p.loss.map(share));
    table.row([name.to_owned(), count(p.sent), count(p.received), lost, least, mean, most]);
}

fn one_end_row(table: &mut TextTable, flow: &FlowResult, o: &OneEndResult) {
    let limited = flow.limits.as_ref().and_then(LimitsResult::limited_by);
    table.row([
        flow.name.clone(),
        rate(o.goodput_bps),
        size(o.bytes_delivered as f64),
        count(o.connections),
        count(o.segments_sent),
        count(o.segments_retransmitted),
        count(o.timeouts),
        or_dash(o.rtt_mean_s.map(time)),
        or_dash(o.loss.map(share)),
        or_dash(o.delay_mean_s.map(time)),
        or_dash(limited.map(|cause| cause.name().replace('_', " "))),
    ]);
}

/// The results of an emulation: its flows and links, and its lateness.
pub fn emulation(result: &RunResult, meta: &Meta) -> String {
    let mut text = String::from("\n");
    for table in flows(result.listed()).into_iter().chain(links(result)) {
        text += &format!("{}\n", table.text());
    }
    let late = |of: &str, key: &str| or_dash(meta.emulation[of][key].as_f64().map(time));
    let packets = meta.emulation["release"]["count"].as_u64().unwrap_or(0);
    text + &format!(
        "{} of wall clock; {} packets left {} late in the median and {} at most in 99 of 100; {} of CPU\n",
        time(meta.wall_s),
        count(packets),
        late("release", "late_p50_s"),
        late("release", "late_p99_s"),
        or_dash(meta.emulation["cpu_s"].as_f64().map(time)),
    )
}

fn links(result: &RunResult) -> Option<TextTable> {
    let mut table =
        TextTable::new(["link", "direction", "packets", "size", "busy", "dropped", "lost", "longest queue"]);
    let mut row = |name: &str, direction: &str, d: &DirectionResult| {
        table.row([
            name.to_owned(),
            direction.to_owned(),
            count(d.packets),
            size(d.bytes as f64),
            share(d.utilisation),
            count(d.packets_dropped),
            count(d.packets_lost),
            count(d.queue_max_packets),
        ]);
    };
    // If not all fit, the busiest come first.
    let mut links: Vec<_> = result.links.iter().collect();
    if links.len() > MOST_LINKS {
        links.sort_by_key(|l| std::cmp::Reverse(l.forward.bytes + l.reverse.bytes));
    }
    for link in links.into_iter().take(MOST_LINKS) {
        row(&link.name, "forward", &link.forward);
        row("", "reverse", &link.reverse);
    }
    (!table.cells().1.is_empty()).then_some(table)
}

type MetricOf = (&'static str, &'static str, fn(f64) -> String);

/// Metrics of which means over seeds are shown, their headings, and their formats.
const MEANS: [MetricOf; 14] = [
    ("goodput_bps", "goodput", rate),
    ("completed_s", "completed", time),
    ("completed", "pages or transfers done", number),
    ("completion_median_s", "done in, median", time),
    ("completion_mean_s", "done in, mean", time),
    ("completion_p95_s", "done in, 95 %", time),
    ("segments_retransmitted", "segments repeated", number),
    ("timeouts", "timeouts", number),
    ("delay_mean_s", "one-way delay, mean", time),
    ("delay_max_s", "one-way delay, max", time),
    ("rtt_min_s", "rtt, min", time),
    ("rtt_mean_s", "rtt, mean", time),
    ("packets_dropped", "packets dropped", number),
    ("packets_lost", "packets lost", number),
];

fn number(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x:.0}") } else { crate::table::digits(x) }
}

/// The tables of runs with several seeds.
pub fn seeds(runs: &[RunResult], wall: Duration) -> String {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return String::new() };
    let mut out = head(&first.scenario, &format!("seeds {} to {}", first.seed, last.seed), wall);
    let mut table = TextTable::new(["flow", "metric", "mean", "95 % interval", "min", "max", "runs"]);
    for flow in statistics::flows(runs) {
        let mut name = flow.name.as_str();
        for (key, what, write) in MEANS {
            // For a population it is the mean over its flows.
            let means = |k: &String| k == key || k.strip_suffix(".mean") == Some(key);
            let Some((_, e)) = flow.metrics.iter().find(|(k, _)| means(k)) else { continue };
            let Estimate { mean, half_width, min, max, count } = *e;
            let interval =
                half_width.map(|h| format!("{} to {}", write((mean - h).max(0.0)), write(mean + h)));
            let runs =
                if count < runs.len() { format!("{count} of {}", runs.len()) } else { count.to_string() };
            table.row([
                name.into(),
                what.into(),
                write(mean),
                or_dash(interval),
                write(min),
                write(max),
                runs,
            ]);
            name = "";
        }
    }
    out.push('\n');
    out + &table.text()
}
