//! Checks of flows: names, times, sizes and the limits of TCP.
//!
//! Follows RFC 791 (65,535 bytes in a packet), RFC 7323 (windows up to 2^30 bytes) and RFC 2018 (SACK blocks).
//! Differs: a segment may hold at most 65,000 bytes, so that every header and option has room.
//! Leaves out where flows run, which [`crate::network`] finds out.

use super::{Findings, name_is_plain};
use crate::error::quoted;
use crate::model::{DelayedAck, Flow, Scenario, Tcp, Traffic, Transport};
use crate::path::KeyPath;
use skyhop_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// The most flows: each is two hosts' state.
const MOST_FLOWS: usize = 100_000;
/// The largest payload of a segment.
const LARGEST_MSS: Bytes = Bytes::new(65_000);
/// The largest window that can be announced: 65,535 shifted by 14 (RFC 7323, 2.3).
const LARGEST_WINDOW: Bytes = Bytes::new(65_535 << 14);
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
            (Transport::Tcp(t), Traffic::Bulk { .. }) => tcp(t, &at.key("transport"), out),
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

fn tcp(tcp: &Tcp, at: &KeyPath, out: &mut Findings) {
    let (mss, window) = (tcp.mss, tcp.window);
    out.require(
        mss >= Bytes::new(1) && mss <= LARGEST_MSS,
        || at.key("mss"),
        || {
            format!(
                "mss of {mss}; expected 1 B to {LARGEST_MSS}, so that headers fit the IP packet's 65535 B"
            )
        },
    );
    out.require(
        window >= mss,
        || at.key("window"),
        || format!("window of {window} is less than the mss of {mss}; no full segment could be sent"),
    );
    out.require(window <= LARGEST_WINDOW, || at.key("window"), || {
        format!("window of {window} cannot be announced; expected at most {LARGEST_WINDOW} (65535 B shifted by 14)")
    });
    out.require(
        tcp.initial_window.in_bytes(1) > 0,
        || at.key("initial_window"),
        || format!("initial window of {} sends nothing; expected at least 1 segment", tcp.initial_window),
    );
    if let Some(ssthresh) = tcp.initial_ssthresh {
        out.require(
            ssthresh.in_bytes(1) > 0,
            || at.key("initial_ssthresh"),
            || format!("threshold of {ssthresh}; expected at least 1 segment"),
        );
    }
    out.require(
        tcp.dupack_threshold > 0,
        || at.key("dupack_threshold"),
        || "threshold of 0 would repeat every segment; expected at least 1".into(),
    );
    out.require(
        tcp.recovery_burst != Some(0),
        || at.key("recovery_burst"),
        || "burst of 0 segments would send nothing new; expected at least 1".into(),
    );
    let most = if tcp.timestamps { 3 } else { 4 };
    out.require(
        (1..=most).contains(&tcp.sack_blocks),
        || at.key("sack_blocks"),
        || {
            let why = if tcp.timestamps { " beside timestamps" } else { "" };
            format!("{} SACK blocks do not fit; expected 1 to {most}{why}", tcp.sack_blocks)
        },
    );
    let (key, wait) = match tcp.delayed_ack {
        DelayedAck::None => ("kind", Span::MAX),
        DelayedAck::OneShot { timeout } => ("timeout", timeout),
        DelayedAck::Heartbeat { period } => ("period", period),
    };
    out.require(
        wait > Span::ZERO,
        || at.key("delayed_ack").key(key),
        || format!("{key} of 0 s; expected more than 0 s, or kind \"none\" to acknowledge at once"),
    );
    for (key, timeout) in [("rto_initial", tcp.rto_initial), ("rto_max", tcp.rto_max)] {
        out.require(
            timeout > Span::ZERO,
            || at.key(key),
            || "timeout of 0 s never ends; expected more than 0 s".into(),
        );
    }
    out.require(
        tcp.rto_min <= tcp.rto_max,
        || at.key("rto_min"),
        || format!("rto_min of {} is above rto_max of {}", tcp.rto_min, tcp.rto_max),
    );
}
