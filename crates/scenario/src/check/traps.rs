//! Warns of valid scenarios that answer another question than the one asked: windows, buffers and queues that do not fit the path.
//!
//! Follows docs/traps.md, which has an example of each and its cost.
//! Differs from a check: the scenario runs, and each warning says what to write.
//! Leaves out traps that only a run can show; the results say what limited each flow.

use super::KeyPath;
use crate::error::quoted;
use crate::finding::FindingList;
use crate::model::{Host, Queue, Scenario, Stp, Tcp, Traffic, Transport};
use crate::network::{FlowLeg, NetworkPlan, SkyWay};
use skyhop_transport::stp::Congestion;
use skyhop_transport::tcp::{Law, Variant};
use skyhop_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;

/// Share of the bandwidth-delay product below which a drop-tail queue halves the goodput of loss-based TCPs.
const SHORT_QUEUE: f64 = 0.06;
/// CoDel's `interval` should be the worst usual RTT (RFC 8289 §4.4); at half of it, CoDel drops without a standing queue.
const LONG_RTT: u64 = 2;

/// One connection of a flow (up to a splice), with the size of its transfer.
struct Case<'a> {
    flow: usize,
    leg: FlowLeg<'a>,
    tcp: &'a Tcp,
    /// Smallest rate of all legs of the flow, which each of them must carry.
    rate: Rate,
    /// Bytes of one connection; `None` without end.
    size: Option<u64>,
    connections: u64,
}

/// Warnings for all flows. `way` returns the path of a flow's leg through satellites, both by index, if it is known.
pub fn traps(
    scenario: &Scenario,
    network: &NetworkPlan,
    way: &dyn Fn(usize, usize) -> Option<SkyWay>,
) -> Vec<crate::Finding> {
    let mut out = FindingList::default();
    let crossings = network.crossings(scenario);
    let mut cases = Vec::new();
    for (flow, crossings) in crossings.iter().enumerate() {
        if let (Traffic::Bulk { size, connections }, [first, ..]) =
            (&scenario.flows[flow].traffic, &network.legs(scenario, flow, crossings, way)[..])
        {
            cannot_complete(scenario, flow, *size, first, &mut out);
            let connections = u64::from(*connections).max(1);
            let size = size.map(|size| size.get() / connections);
            let legs = network.legs(scenario, flow, crossings, way);
            let rate = legs.iter().map(|leg| leg.rate).min().unwrap_or(first.rate);
            for leg in legs {
                match leg.transport {
                    Transport::Tcp(tcp) => cases.push(Case { flow, leg, tcp, rate, size, connections }),
                    Transport::Stp(stp) => {
                        broken_promise(&leg, stp, &mut out);
                        needed_promise(&leg, stp, &mut out);
                    }
                    Transport::Udp => {}
                }
            }
        }
    }
    small_windows(scenario, &cases, &mut out);
    for case in &cases {
        unused_window(scenario, case, &mut out);
        short_queue(case, &mut out);
        hasty_interval(case, &mut out);
        thin_return(case, &mut out);
        early_timeout(case, &mut out);
    }
    out.list
}

/// Warns of variants, and of lists of them in a sweep, whose names imply a recovery that the host does not have.
pub(super) fn names(scenario: &Scenario, out: &mut FindingList) {
    let mut told = |path: KeyPath, host: Host, variant: Variant| {
        out.push(
            || path,
            || {
                let (variant, host) = (word(&variant), word(&host));
                format!(
                    "variant {variant} is a loss recovery, which host {host} does not use: it has reno's window and recovers by rack; \
                        write host = \"1999\" for that variant, or set recovery"
                )
            },
        );
    };
    let odd = |tcp: &Tcp| tcp.host != Host::Y1999 && tcp.variant.is_recovery();
    for (i, flow) in scenario.flows.iter().enumerate() {
        if let Transport::Tcp(tcp) = &flow.transport
            && odd(tcp)
            && tcp.recovery == Host::Linux.tcp(Some(tcp.variant), None).recovery
        {
            told(key(&format!("flows.{i}.transport")).key("variant"), tcp.host, tcp.variant);
        }
    }
    let Some(sweep) = &scenario.sweep else { return };
    for (group, lists) in [("grid", &sweep.grid), ("zip", &sweep.zip)] {
        for (path, values) in lists.iter().filter(|(path, _)| path.ends_with("transport.variant")) {
            let says_host = |other: &String| other.ends_with("host") || other.ends_with("transport.recovery");
            let host = flow_host(scenario, path);
            if host == Host::Y1999 || sweep.grid.keys().chain(sweep.zip.keys()).any(says_host) {
                continue;
            }
            let variant = values.iter().find_map(|value| {
                let variant: Variant = value.clone().try_into().ok()?;
                variant.is_recovery().then_some(variant)
            });
            if let Some(variant) = variant {
                told(key("sweep").key(group).key(path), host, variant);
            }
        }
    }
}

/// The host of the flow named by a dotted path such as `flows.download.transport.variant`.
fn flow_host(scenario: &Scenario, path: &str) -> Host {
    let name = path.split('.').nth(1).unwrap_or_default();
    let named = |i: usize| scenario.flow_name(i) == name || i.to_string() == name;
    let flow = (0..scenario.flows.len()).find(|i| named(*i));
    match flow.map(|i| &scenario.flows[i].transport) {
        Some(Transport::Tcp(tcp)) => tcp.host,
        _ => scenario.host,
    }
}

/// Warns of flows with a common bottleneck whose windows together are below its rate times RTT.
fn small_windows(scenario: &Scenario, cases: &[Case], out: &mut FindingList) {
    let mut together: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        together.entry(case.leg.bottleneck.as_str()).or_default().push(case);
    }
    for sharing in together.values() {
        let all: u64 = sharing.iter().filter_map(|case| Some(case.leg.window()? * case.connections)).sum();
        for case in sharing {
            let (leg, Some(window)) = (&case.leg, case.leg.window()) else { continue };
            let product = case.rate.bytes_in(leg.rtt).get();
            let short = case.size.is_some_and(|size| size <= window);
            // A lost segment stays in both buffers for one more round trip; a sender that does not slow down at losses could fill them.
            let repaired = leg.lossy && case.tcp.variant.law().needs_model();
            let needed = if repaired { 2 * product } else { product };
            if all >= needed || short || leg.rtt == Span::ZERO {
                continue;
            }
            let most = (window * case.connections) as f64 * 8.0 / leg.rtt.as_secs_f64();
            let most = if repaired { most / 2.0 } else { most };
            let wanted = round_up(needed + leg.queue_bytes().min(product));
            let repaired = if repaired { ", and twice that while losses are repaired" } else { "" };
            let path = key(&leg.transport_key);
            out.push(
                || path,
                || {
                    format!(
                        "flow {} may have {} outstanding on {}, but {} times an RTT of {} is {}{repaired}: at most about {:.3} \
                            Mbit/s; write {}",
                        quoted(&scenario.flow_name(case.flow)),
                        about(window * case.connections),
                        leg.bottleneck,
                        case.rate,
                        leg.rtt,
                        about(product),
                        most / 1e6,
                        cure(case, wanted),
                    )
                },
            );
        }
    }
}

/// The keys and values that allow `wanted` bytes to be outstanding.
fn cure(case: &Case, wanted: u64) -> String {
    let (leg, tcp) = (&case.leg, case.tcp);
    let mss = tcp.mss.get();
    let wanted_text = Bytes::new(wanted);
    let mut keys = Vec::new();
    match leg.receive_buffer {
        Some(buffer) if buffer < wanted => keys.push(format!("buffer = \"{wanted_text}\" in the splice")),
        Some(_) => {}
        None if tcp.window_max.in_bytes(mss) < wanted => {
            let name = if tcp.window == tcp.window_max { "window" } else { "window_max" };
            keys.push(format!("{name} = \"{wanted_text}\""));
        }
        None => {}
    }
    if leg.send_buffer.is_some_and(|buffer| buffer < wanted) {
        keys.push(format!("buffer = \"{wanted_text}\" in the splice"));
    } else if let (None, Some(buffer)) = (leg.send_buffer, tcp.send_buffer_max)
        && buffer.in_bytes(mss) < wanted
    {
        let name = if tcp.send_buffer == tcp.send_buffer_max { "send_buffer" } else { "send_buffer_max" };
        keys.push(format!("{name} = \"{wanted_text}\""));
    }
    keys.join(" and ")
}

/// Warns of a window that was given and that the send buffer of a host as shipped keeps from use: such a flow never fills the queue, and
/// shares it with others as no flow does that is limited by its congestion window alone.
fn unused_window(scenario: &Scenario, case: &Case, out: &mut FindingList) {
    let (leg, tcp) = (&case.leg, case.tcp);
    let shipped = tcp.host.tcp(Some(tcp.variant), tcp.recovery);
    let in_splice = leg.send_buffer.or(leg.receive_buffer).is_some();
    if in_splice || tcp.window_max == shipped.window_max || tcp.send_buffer_max != shipped.send_buffer_max {
        return;
    }
    let (window, mss) = (tcp.window_max.in_bytes(tcp.mss.get()), tcp.mss.get());
    let Some(buffer) = tcp.send_buffer_max.map(|buffer| buffer.in_bytes(mss)) else { return };
    let full = leg.product() + leg.queue_bytes();
    // A buffer below the product has a warning of its own.
    if buffer >= window.min(full) || buffer < leg.product() || case.size.is_some_and(|size| size <= buffer) {
        return;
    }
    out.push(
        || key(&leg.transport_key),
        || {
            format!(
                "flow {} has a window of {}, but the sender keeps {} at most, send_buffer_max of host {}: it cannot fill the queue of \
                    {}, of which it has {} at most; write send_buffer_max = \"{}\"",
                quoted(&scenario.flow_name(case.flow)),
                about(window),
                about(buffer),
                word(&tcp.host),
                leg.bottleneck,
                about(buffer.saturating_sub(leg.product())),
                tcp.window_max,
            )
        },
    );
}

/// Bytes rounded to four digits.
pub fn about(bytes: u64) -> Bytes {
    let step = 10_u64.pow(bytes.max(1).ilog10().saturating_sub(3));
    Bytes::new((bytes + step / 2) / step * step)
}

/// Rounded up to two digits, so that the suggested value is short.
fn round_up(bytes: u64) -> u64 {
    let step = 10_u64.pow(bytes.max(1).ilog10().saturating_sub(1));
    bytes.div_ceil(step) * step
}

fn short_queue(case: &Case, out: &mut FindingList) {
    let leg = &case.leg;
    let follows_losses = !case.tcp.variant.law().needs_model() && case.tcp.variant.law() != Law::Vegas;
    let drops = matches!(
        leg.queue,
        Queue::DropTail { .. } | Queue::Drr { .. } | Queue::Priority { .. } | Queue::Ubr { .. }
    );
    let (queue, product) = (leg.queue_bytes(), leg.product());
    let reaches = leg.window().is_some_and(|window| window > product + queue)
        && case.size.is_none_or(|size| size > product + queue);
    if !follows_losses || !drops || !reaches || queue as f64 >= SHORT_QUEUE * product as f64 {
        return;
    }
    out.push(
        || key(&leg.bottleneck).key("queue").key("limit"),
        || {
            format!(
                "queue of {} is {:.1} % of rate times RTT, {}: the link is idle after each loss, as this TCP reduces its window; \
                    write limit = \"{}\"",
                leg.queue.limit(),
                queue as f64 / product as f64 * 100.0,
                about(product),
                Bytes::new(round_up(product)),
            )
        },
    );
}

fn hasty_interval(case: &Case, out: &mut FindingList) {
    let leg = &case.leg;
    let (Queue::Codel { interval, .. } | Queue::FqCodel { interval, .. }) = leg.queue else { return };
    if interval * LONG_RTT >= leg.rtt || case.tcp.variant == Variant::Bbr {
        return;
    }
    out.push(
        || key(&leg.bottleneck).key("queue").key("interval"),
        || {
            format!(
                "interval of {interval} is below the RTT of {}: packets are dropped before the sender can react; write interval \
                    = \"{}\" and target = \"{}\"",
                leg.rtt,
                leg.rtt,
                leg.rtt / 20,
            )
        },
    );
}

/// Warns of acknowledgments that exceed the return path's capacity (the normalised bandwidth ratio of RFC 3449 §2).
fn thin_return(case: &Case, out: &mut FindingList) {
    let (leg, tcp) = (&case.leg, case.tcp);
    let plain = leg.ip.header_len() + 20;
    let headers = if tcp.timestamps { plain + 12 } else { plain };
    let acks_per_s =
        leg.rate.as_bps() as f64 / 8.0 / (tcp.mss.get() + plain) as f64 / f64::from(tcp.ack_every);
    let needed = acks_per_s * headers as f64 * 8.0;
    let has = leg.return_rate.as_bps() as f64;
    if needed <= 1.2 * has || case.size.is_some_and(|size| size < 100 * tcp.mss.get()) {
        return;
    }
    let every = (needed * f64::from(tcp.ack_every) / has).ceil();
    out.push(
        || key(&leg.transport_key),
        || {
            format!(
                "acknowledgments for {} need {:.0} kbit/s, but the return path has {}: they fill its queue and are dropped; write \
                    ack_every = {every}, or reduce acknowledgments in another way (docs/tcp.md)",
                leg.rate,
                needed / 1e3,
                leg.return_rate,
            )
        },
    );
}

fn early_timeout(case: &Case, out: &mut FindingList) {
    let (leg, tcp) = (&case.leg, case.tcp);
    if leg.rtt <= tcp.rto_initial {
        return;
    }
    out.push(
        || key(&leg.transport_key),
        || {
            format!(
                "RTT of {} is above rto_initial, {}: every SYN is sent twice, as by real hosts; write rto_initial = \"3 s\" to \
                    avoid it",
                leg.rtt, tcp.rto_initial
            )
        },
    );
}

/// Warns of a promised rate that the network does not have.
fn broken_promise(leg: &FlowLeg, stp: &Stp, out: &mut FindingList) {
    let Some(promised) = stp.max_rate.filter(|_| stp.congestion() == Congestion::Rate) else { return };
    if promised <= leg.rate {
        return;
    }
    out.push(
        || key(&leg.transport_key).key("max_rate"),
        || {
            let (name, rate) = (&leg.bottleneck, leg.rate);
            format!(
                "max_rate of {promised} is above the rate of {name}, {rate}: the excess is dropped and sent again; write max_rate \
                    = \"{rate}\", or congestion = \"delay\""
            )
        },
    );
}

/// Warns of a rate that follows delay over slots that follow the rate.
fn needed_promise(leg: &FlowLeg, stp: &Stp, out: &mut FindingList) {
    if !leg.asks_for_rate || stp.congestion() != Congestion::Delay {
        return;
    }
    out.push(
        || key(&leg.transport_key),
        || {
            let rate = leg.rate;
            format!(
                "slots beyond the constant assignment follow what was sent a second ago, and this transport sends less while packets wait \
                    for them: alone it takes up to three times as long as a TCP; write congestion = \"rate\" and as max_rate what the \
                    terminal may count on, of at most {rate}"
            )
        },
    );
}

/// Warns of a transfer that cannot complete within the run even at the full rate of its narrowest link.
fn cannot_complete(
    scenario: &Scenario,
    flow: usize,
    size: Option<Bytes>,
    leg: &FlowLeg,
    out: &mut FindingList,
) {
    let Some(size) = size else { return };
    let left = scenario.duration.as_secs_f64()
        - scenario.flows[flow].start.since(skyhop_units::Time::ZERO).as_secs_f64();
    let least = size.bits() as f64 / leg.rate.as_bps() as f64;
    if least <= left || left <= 0.0 || scenario.flows[flow].stop.is_some() {
        return;
    }
    out.push(
        || key("flows").index(flow).key("traffic").key("size"),
        || {
            format!(
                "{size} take {least:.1} s at the {} of {}, but only {left:.1} s are left: the transfer cannot complete; write a longer \
                    duration or a smaller size",
                leg.rate, leg.bottleneck
            )
        },
    );
}

fn word<T: serde::Serialize>(value: &T) -> String {
    let word = serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned));
    quoted(&word.unwrap_or_default())
}

/// The path of a dotted key written by this crate, in which numbers are array elements.
fn key(dotted: &str) -> KeyPath {
    dotted.split('.').fold(KeyPath::default(), |path, step| match step.parse() {
        Ok(n) => path.index(n),
        Err(_) => path.key(step),
    })
}
