//! The outcome of an emulation: results of the network, and their validity.
//!
//! Follows the simulator's summary, with an additional key `emulation`.
//! Leaves out the end of a run.

use crate::about::{About, EmulationOutcome, Furnished};
use crate::driver::EmulationLoop;
use crate::namespace::parameter;
use crate::plan::{EmulatedHost, HostPlan};
use crate::port::{Port, PortCounts};
use crate::verdict::{Missed, RunLateness, objections};
use serde_json::{Map, Value, json};
use skyhop_record::Meta;
use skyhop_results::{Cause, FlowKind, FlowResult, LimitsResult, OneEndResult, ProgramsResult};
use skyhop_units::{Rate, Span, Time};

/// The outcome of a run whose loop has ended.
pub(crate) fn outcome(
    about: About<'_>,
    (driver, cpu_s, real_time): (EmulationLoop, f64, bool),
    mut missed: Missed,
    exit_code: u8,
) -> EmulationOutcome {
    let About { loaded, options, scenario, plan, offloads, capture, shared, hosts } = about;
    let (simulation, ports, lateness, beside, paths) = driver.into_parts();
    missed.no_room += beside.no_room;
    for port in &ports {
        missed.no_room += port.counts.no_room;
        missed.not_taken += port.counts.not_taken;
    }
    let mut objections = objections(&options.limits, &lateness, &missed);
    let now = simulation.now();
    let mut result = simulation.finish();
    result.scenario.clone_from(&loaded.name);
    for end in beside.ends() {
        let start = scenario.flows[end.flow as usize].start;
        one_end(&mut result.flows[end.flow as usize], end.host.result(start, now));
    }
    // The transport of a flow is that of its programs.
    let theirs: Vec<_> = plan.flows.iter().map(|flow| format!("flows.{}.transport", flow.flow)).collect();
    let said = loaded.warnings.iter().filter(|said| !theirs.iter().any(|key| said.key.starts_with(key)));
    result.warnings.splice(0..0, said.map(ToString::to_string));
    let attached = hosts.iter().filter_map(|host| host.attached.as_ref());
    result.warnings.extend(attached.flat_map(|one| one.warnings.iter().cloned()));
    let mut about = json!({
        "user": plan.hosts[plan.user].name,
        "server": plan.hosts[plan.server].name,
        "command": options.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "exit_code": exit_code,
        "real_time": real_time,
        "offloads": offloads.name(),
        "tcp_congestion_control": options.tcp.clone().or_else(|| kernels_own(&plan, &hosts)),
        "cpu_s": cpu_s,
        "late_limit_s": options.limits.late.as_secs_f64(),
    });
    let changes = shared.made();
    if !changes.is_empty() {
        let one = |(at, sets): &(Time, Vec<String>)| json!({ "at_s": at.as_secs_f64(), "set": sets });
        about["changes"] = changes.iter().map(one).collect();
    }
    if !scenario.record.pcap.is_empty() {
        let word = "record.pcap is for runs of the simulator; --pcap captures the packets of hosts";
        result.warnings.push(word.into());
    }
    if let Some(capture) = capture {
        let (not_captured, wrong) = capture.finish();
        about["not_captured_packets"] = json!(not_captured);
        if let Some(why) = wrong {
            result.warnings.push(format!("the capture ends early: {why}"));
        } else if not_captured > 0 {
            result.warnings.push(format!(
                "{not_captured} packets are not in the capture: it was not written fast enough"
            ));
        }
    }
    if now == Time::ZERO {
        objections.push("the run had no duration".into());
    }
    let emulation = summary((&plan, &hosts), &ports, &lateness, &missed, &objections, about);
    let sets = loaded.sets.iter().map(|(path, value)| format!("{path}={value}")).collect();
    let meta = Meta {
        scenario_sha256: loaded.sha256.clone(),
        wall_s: now.as_secs_f64(),
        sets,
        resolved: serde_json::to_value(loaded.written()).unwrap_or_default(),
        emulation,
    };
    let traces = paths.files(|flow| scenario.flow_name(flow));
    EmulationOutcome { result, meta, exit_code, objections, lateness, traces }
}

/// A flow's result with the counters of its simulated end.
fn one_end(flow: &mut FlowResult, (simulated, limits): (OneEndResult, Option<[Span; Cause::COUNT]>)) {
    let FlowKind::Programs(met) = &flow.kind else { return };
    let ProgramsResult { sent, received, loss, delay_min_s, delay_mean_s, delay_max_s } = *met;
    let met = OneEndResult { sent, received, loss, delay_min_s, delay_mean_s, delay_max_s, ..simulated };
    flow.kind = FlowKind::OneEnd(met);
    flow.limits = limits.map(|spent| LimitsResult { spent_ns: spent.map(Span::as_nanos), bottleneck: None });
}

/// The kernel's default congestion control for programs; `None` if all hosts are devices.
fn kernels_own(plan: &HostPlan, hosts: &[Furnished]) -> Option<String> {
    hosts[plan.at?].namespace.within(|| parameter("ipv4/tcp_congestion_control")).ok()?
}

/// The key `emulation` of `summary.json`.
fn summary(
    (plan, hosts): (&HostPlan, &[Furnished]),
    ports: &[Port],
    lateness: &RunLateness,
    missed: &Missed,
    objections: &[String],
    about: Value,
) -> Value {
    let mut root = Map::new();
    root.insert("valid".into(), json!(objections.is_empty()));
    root.insert("objections".into(), json!(objections));
    if let Value::Object(about) = about {
        root.extend(about);
    }
    for (name, histogram) in [("release", &lateness.release), ("wake", &lateness.wake)] {
        let at = |share| histogram.quantile(share).map(Span::as_secs_f64);
        let buckets: Vec<_> = histogram.buckets().map(|(end_s, count)| json!([end_s, count])).collect();
        let one = json!({
            "count": histogram.count(),
            "late_mean_s": histogram.mean_s(),
            "late_p50_s": at(0.5),
            "late_p99_s": at(0.99),
            "late_p999_s": at(0.999),
            "late_max_s": (histogram.count() > 0).then(|| histogram.max().as_secs_f64()),
            "below_s": buckets,
        });
        root.insert(name.into(), one);
    }
    root.insert("late_looks".into(), json!(lateness.looks));
    let Missed { before_read, no_room, not_taken } = missed;
    root.insert("missed_before_read_packets".into(), json!(before_read));
    root.insert("missed_no_room_packets".into(), json!(no_room));
    root.insert("missed_not_taken_packets".into(), json!(not_taken));
    let one = |((host, port), furnished): ((&EmulatedHost, &Port), &Furnished)| {
        let PortCounts {
            read_packets,
            read_bytes,
            read_frames,
            written_packets,
            written_bytes,
            written_frames,
            elsewhere,
            malformed,
            ..
        } = port.counts;
        let mut value = json!({
            "address": host.v4,
            "address_v6": host.v6(),
            "read_packets": read_packets,
            "read_bytes": read_bytes,
            "read_frames": read_frames,
            "written_packets": written_packets,
            "written_bytes": written_bytes,
            "written_frames": written_frames,
            "elsewhere_packets": elsewhere,
            "malformed_frames": malformed,
            "joins": port.joins(),
            "interface_bps": furnished.interface.map(Rate::as_bps),
        });
        if let Furnished { attached: Some(attached), tun, .. } = furnished {
            let first = |v6: bool| attached.addresses.iter().find(|address| address.is_ipv6() == v6);
            (value["address"], value["address_v6"]) = (json!(first(false)), json!(first(true)));
            (value["device"], value["tun"]) = (json!(host.device), json!(tun));
        }
        (host.name.clone(), value)
    };
    root.insert("hosts".into(), plan.hosts.iter().zip(ports).zip(hosts).map(one).collect());
    Value::Object(root)
}
