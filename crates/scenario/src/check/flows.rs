//! Checks of flows: names, times and sizes.
//!
//! Follows RFC 791 (65,535 bytes in a packet).
//! Differs: TCP's own limits are in `tcp.rs`.
//! Leaves out where flows run, which [`crate::network`] finds out.

use super::{Findings, name_is_plain};
use crate::error::quoted;
use crate::model::{Flow, Scenario, Traffic, Transport};
use crate::path::KeyPath;
use skyhop_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// The most flows: each is two hosts' state.
const MOST_FLOWS: usize = 100_000;
/// The largest ping: an IPv4 packet less its header and the echo's.
const LARGEST_PING: Bytes = Bytes::new(65_535 - 28);

pub(super) fn check(scenario: &Scenario, out: &mut Findings) {
    let flows = KeyPath::default().key("flows");
    let count = scenario.flows.len();
    out.require(count > 0, || flows.clone(), || "no flows; expected at least one".into());
    out.require(
        count <= MOST_FLOWS,
        || flows.clone(),
        || format!("{count} flows; expected at most {MOST_FLOWS}"),
    );

    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let at = flows.index(i);
        if let Some(name) = &flow.name {
            name_is_plain(name, || at.key("name"), out);
        }
        let name = scenario.flow_name(i);
        if let Some(first) = seen.get(&name) {
            let key = if flow.name.is_some() { at.key("name") } else { at.clone() };
            let given = if flow.name.is_some() { "" } else { ", which it gets for having none" };
            out.push(|| key, || format!("name {}{given} is that of flows.{first} already", quoted(&name)));
        } else {
            seen.insert(name, i);
        }
        times(scenario, flow, &at, out);
        traffic(flow.traffic, &at.key("traffic"), out);
        match (&flow.transport, flow.traffic) {
            (_, Traffic::Ping { .. }) => {}
            (Transport::Tcp(t), Traffic::Bulk { .. }) => super::tcp::check(t, &at.key("transport"), out),
        }
    }
}

fn times(scenario: &Scenario, flow: &Flow, at: &KeyPath, out: &mut Findings) {
    let end = Time::ZERO + scenario.duration;
    let start = flow.start;
    // A duration of zero was reported, and is not the flow's fault.
    out.require(
        start < end || end == Time::ZERO,
        || at.key("start"),
        || format!("start at {start} is not before the end of the run at {end}"),
    );
    if let Some(stop) = flow.stop {
        out.require(
            stop > start,
            || at.key("stop"),
            || format!("stop at {stop} is not after start at {start}"),
        );
    }
}

fn traffic(traffic: Traffic, at: &KeyPath, out: &mut Findings) {
    match traffic {
        Traffic::Bulk { size } => out.require(
            size != Some(Bytes::new(0)),
            || at.key("size"),
            || "size of 0 B transfers nothing; leave it out for a transfer without end".into(),
        ),
        Traffic::Ping { interval, size } => {
            out.require(
                interval > Span::ZERO,
                || at.key("interval"),
                || "interval of 0 s never ends; expected more than 0 s".into(),
            );
            out.require(
                size <= LARGEST_PING,
                || at.key("size"),
                || format!("size of {size} does not fit an IP packet; expected at most {LARGEST_PING}"),
            );
        }
    }
}
