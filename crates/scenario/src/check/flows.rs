//! Checks of flows: names, times and sizes.
//!
//! Follows RFC 791 (65,535 bytes in a packet).
//! Differs: TCP's limits are in `tcp.rs`.
//! Leaves out the paths of flows, which [`crate::network`] resolves.

use super::name;
use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::{Flow, Numbers, Scenario, Sizes, Times, Traffic, Transport};
use crate::path::KeyPath;
use skyhop_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// Largest number of flows: each needs the state of two hosts.
const MOST_FLOWS: usize = 100_000;
/// Largest ping or datagram: an IPv4 packet without its header and that of ICMP or UDP.
const LARGEST_DATAGRAM: Bytes = Bytes::new(65_535 - 28);
/// Largest number of connections of a browser, and of sources of a flow.
const MOST_CONNECTIONS: u32 = 1000;
const MOST_SOURCES: u32 = 100_000;

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
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
            name::is_plain(name, || at.key("name"), out);
        }
        let name = scenario.flow_name(i);
        if let Some(first) = seen.get(&name) {
            let key = if flow.name.is_some() { at.key("name") } else { at.clone() };
            let given = if flow.name.is_some() { "" } else { ", which it gets for having none" };
            out.push(|| key, || format!("name {}{given} is taken by flows.{first}", quoted(&name)));
        } else {
            seen.insert(name, i);
        }
        when(scenario, flow, &at, out);
        traffic(scenario, &flow.traffic, &at.key("traffic"), out);
        one_real_end(flow, &at, out);
        match (&flow.transport, &flow.traffic) {
            (_, Traffic::Ping { .. }) => {}
            (_, traffic) if traffic.in_datagrams() => {}
            (Transport::Tcp(t), _) => super::tcp::check(t, &at.key("transport"), out),
            (Transport::Stp(t), _) => super::stp::check(t, &at.key("transport"), out),
            (Transport::Udp, _) => out.push(
                || at.key("transport").key("kind"),
                || {
                    "udp carries traffic of kind cbr or on-off; expected tcp or stp for this kind of traffic"
                        .into()
                },
            ),
        }
    }
}

fn when(scenario: &Scenario, flow: &Flow, at: &KeyPath, out: &mut FindingList) {
    let end = Time::ZERO + scenario.duration;
    let start = flow.start;
    // A duration of zero has been reported already.
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
    out.require(
        flow.resequencing != Some(Span::ZERO),
        || at.key("resequencing"),
        || "resequencing of 0 s, which lets no packet wait; expected more than 0 s".into(),
    );
    let of_association = matches!(&flow.transport, Transport::Stp(stp) if stp.association.is_some());
    out.require(
        flow.resequencing.is_none() || !of_association,
        || at.key("resequencing"),
        || {
            "packets of an association, which are not a flow's alone; expected resequencing without one"
                .into()
        },
    );
}

fn traffic(scenario: &Scenario, traffic: &Traffic, at: &KeyPath, out: &mut FindingList) {
    match traffic {
        Traffic::Bulk { size, .. } => out.require(
            *size != Some(Bytes::new(0)),
            || at.key("size"),
            || "size of 0 B transfers nothing; leave it out for a transfer without end".into(),
        ),
        Traffic::Ping { interval, size } => {
            out.require(
                *interval > Span::ZERO,
                || at.key("interval"),
                || "interval of 0 s; expected more than 0 s".into(),
            );
            fits_a_packet(*size, 0, at, out);
        }
        Traffic::Web {
            request,
            reply,
            files,
            stay,
            think,
            server_time,
            connections,
            persistent,
            pipelining,
            pages,
        } => {
            sizes(request, &at.key("request"), out);
            sizes(reply, &at.key("reply"), out);
            numbers(files, &at.key("files"), out);
            numbers(stay, &at.key("stay"), out);
            times(think, &at.key("think"), true, out);
            times(server_time, &at.key("server_time"), false, out);
            out.require(
                (1..=MOST_CONNECTIONS).contains(connections),
                || at.key("connections"),
                || format!("{connections} connections; expected 1 to {MOST_CONNECTIONS}"),
            );
            out.require(
                *persistent || !*pipelining,
                || at.key("pipelining"),
                || "pipelining needs persistent connections; expected persistent = true".into(),
            );
            some("pages", *pages, at, out);
        }
        Traffic::RequestResponse { request, reply, think, server_time, persistent, half_close, count } => {
            out.require(
                !*persistent || !*half_close,
                || at.key("half_close"),
                || "a connection that is closed with its first request cannot be persistent; expected half_close = false".into(),
            );
            sizes(request, &at.key("request"), out);
            sizes(reply, &at.key("reply"), out);
            times(think, &at.key("think"), true, out);
            times(server_time, &at.key("server_time"), false, out);
            some("count", *count, at, out);
        }
        Traffic::Poisson { arrivals_per_s, load, link, size, count } => {
            sizes(size, &at.key("size"), out);
            some("count", *count, at, out);
            arrivals(scenario, *arrivals_per_s, *load, link.as_deref(), size, at, out);
        }
        Traffic::Batches { request, reply, requests, gap, every, count } => {
            sizes(request, &at.key("request"), out);
            sizes(reply, &at.key("reply"), out);
            numbers(requests, &at.key("requests"), out);
            times(gap, &at.key("gap"), false, out);
            out.require(
                *every >= Span::from_millis(1),
                || at.key("every"),
                || format!("a batch every {every}; expected at least 1 ms"),
            );
            some("count", *count, at, out);
        }
        Traffic::Fetch { file, size, piece, request } => {
            for (key, bytes) in [("size", size), ("piece", piece), ("request", request)] {
                out.require(
                    bytes.get() > 0,
                    || at.key(key),
                    || format!("{key} of 0 B; expected more than 0 B"),
                );
            }
            let others = scenario.flows.iter().filter_map(|flow| match &flow.traffic {
                Traffic::Fetch { file: other, size, piece, .. } if other == file => Some((size, piece)),
                _ => None,
            });
            if let Some((first, pieces)) = others.into_iter().next() {
                out.require(
                    (first, pieces) == (size, piece),
                    || at.key("size"),
                    || {
                        format!(
                            "file \"{file}\" of {size} in pieces of {piece}, and in a flow before of {first} in pieces of {pieces}; \
                             expected the same"
                        )
                    },
                );
            }
        }
        Traffic::Cbr { rate, size } => datagrams(*rate, *size, at, out),
        Traffic::OnOff { rate, size, on, off, sources } => {
            datagrams(*rate, *size, at, out);
            times(on, &at.key("on"), false, out);
            times(off, &at.key("off"), false, out);
            out.require(
                (1..=MOST_SOURCES).contains(sources),
                || at.key("sources"),
                || format!("{sources} sources; expected 1 to {MOST_SOURCES}"),
            );
        }
    }
}

/// Checks a flow of which one end is a real program's: the other must be one that a program can talk to.
fn one_real_end(flow: &Flow, at: &KeyPath, out: &mut FindingList) {
    let Some(to) = flow.real.simulated_to() else { return };
    let (real, key) = (if to { "from" } else { "to" }, || at.key("real"));
    let tcp = matches!(flow.transport, Transport::Tcp(_));
    let kinds = match &flow.traffic {
        Traffic::Bulk { .. } | Traffic::RequestResponse { .. } => None,
        Traffic::Web { .. } if to => None,
        _ if to => Some("bulk, web or request-response"),
        _ => Some("bulk or request-response"),
    };
    if let Some(kinds) = kinds {
        out.push(key, || {
            format!("\"{real}\" leaves a simulated end, which needs traffic of kind {kinds}; expected that, or real = true")
        });
    } else {
        out.require(tcp, key, || {
            format!("\"{real}\" leaves a simulated end, which speaks TCP with a program; expected transport of kind tcp, or real = true")
        });
    }
}

fn fits_a_packet(size: Bytes, least: u64, at: &KeyPath, out: &mut FindingList) {
    out.require(
        size <= LARGEST_DATAGRAM,
        || at.key("size"),
        || format!("size of {size} does not fit an IP packet; expected at most {LARGEST_DATAGRAM}"),
    );
    out.require(
        size.get() >= least,
        || at.key("size"),
        || format!("size of {size}; expected at least {least} B"),
    );
}

fn datagrams(rate: Rate, size: Bytes, at: &KeyPath, out: &mut FindingList) {
    // More than one packet per nanosecond would all be sent at once.
    const FASTEST_BPS: u64 = 1_000_000_000_000;
    fits_a_packet(size, 1, at, out);
    out.require(
        rate.as_bps() <= FASTEST_BPS,
        || at.key("rate"),
        || format!("rate of {rate}; expected at most 1 Tbit/s"),
    );
}

/// Requires a number to be greater than zero.
fn some(key: &str, count: Option<u64>, at: &KeyPath, out: &mut FindingList) {
    out.require(
        count != Some(0),
        || at.key(key),
        || format!("{key} of 0; expected at least 1, or leave it out for no limit"),
    );
}

fn arrivals(
    scenario: &Scenario,
    arrivals_per_s: Option<f64>,
    load: Option<f64>,
    link: Option<&str>,
    size: &Sizes,
    at: &KeyPath,
    out: &mut FindingList,
) {
    match (arrivals_per_s, load) {
        (Some(rate), None) => {
            // Ten million per second are more than a machine simulates in a day.
            out.require(
                rate > 0.0 && rate <= 1e7,
                || at.key("arrivals_per_s"),
                || format!("{rate} arrivals a second; expected above 0, at most 10000000"),
            );
            out.require(
                link.is_none(),
                || at.key("link"),
                || "link without load; expected with load only".into(),
            );
        }
        (None, Some(load)) => {
            out.require(
                load > 0.0 && load <= 10.0,
                || at.key("load"),
                || format!("load of {load}; expected a share above 0, such as 0.2, at most 10"),
            );
            let known = || scenario.links.keys().map(String::as_str);
            match link {
                None => out.push(
                    || at.clone(),
                    || "a load is a share of a link's rate; expected link, the link's name".into(),
                ),
                Some(link) if !scenario.links.contains_key(link) => out.push(
                    || at.key("link"),
                    || format!("unknown link {}{}", quoted(link), expected(link, known())),
                ),
                Some(_) => {}
            }
            out.require(
                !matches!(size, Sizes::Pareto { shape, most: None, .. } if *shape <= 1.0),
                || at.key("size").key("shape"),
                || "a Pareto distribution with shape of 1 or less has no mean, and a load needs one; expected above 1, or most".into(),
            );
        }
        (Some(_), Some(_)) => {
            out.push(|| at.clone(), || "both \"arrivals_per_s\" and \"load\"; expected one of them".into());
        }
        (None, None) => {
            out.push(
                || at.clone(),
                || "transfers without a rate; expected \"arrivals_per_s\", or \"load\" and \"link\"".into(),
            );
        }
    }
}

/// A distribution of any unit: its parameters, and the format of its values.
struct Drawn<'a, T> {
    shape: Option<(&'static str, f64)>,
    scale: Option<(&'static str, T)>,
    range: Option<(T, T)>,
    file: Option<&'a str>,
}

macro_rules! drawn {
    ($of:ident, $distribution:expr, $nothing:expr) => {
        match $distribution {
            $of::Fixed { .. } | $of::Mah => Drawn { shape: None, scale: None, range: None, file: None },
            $of::Uniform { least, most } => {
                Drawn { shape: None, scale: None, range: Some((*least, *most)), file: None }
            }
            $of::Exponential { mean } => {
                Drawn { shape: None, scale: Some(("mean", *mean)), range: None, file: None }
            }
            $of::Lognormal { median, sigma, most } => Drawn {
                shape: Some(("sigma", *sigma)),
                scale: Some(("median", *median)),
                range: most.map(|most| ($nothing, most)),
                file: None,
            },
            $of::Weibull { scale, shape, most } => Drawn {
                shape: Some(("shape", *shape)),
                scale: Some(("scale", *scale)),
                range: most.map(|most| ($nothing, most)),
                file: None,
            },
            $of::Pareto { least, shape, most } => Drawn {
                shape: Some(("shape", *shape)),
                scale: Some(("least", *least)),
                range: most.map(|most| (*least, most)),
                file: None,
            },
            $of::Measured { file, .. } => {
                Drawn { shape: None, scale: None, range: None, file: Some(file.as_str()) }
            }
        }
    };
}

impl<T: PartialOrd + std::fmt::Display + Copy> Drawn<'_, T> {
    fn check(&self, nothing: T, at: &KeyPath, out: &mut FindingList) {
        // Below this, draws of a thousandth of a byte and of a century alternate; above, no two are alike.
        if let Some((key, shape)) = self.shape {
            out.require(
                (0.05..=20.0).contains(&shape),
                || at.key(key),
                || format!("{key} of {shape}; expected 0.05 to 20"),
            );
        }
        if let Some((key, scale)) = self.scale {
            out.require(
                scale > nothing,
                || at.key(key),
                || format!("{key} of {scale}; expected more than {nothing}"),
            );
        }
        if let Some((least, most)) = self.range {
            out.require(
                most > least,
                || at.key("most"),
                || format!("most of {most}; expected more than {least}"),
            );
        }
        if let Some(file) = self.file {
            out.require(!file.is_empty(), || at.key("file"), || "file without a name".into());
        }
    }
}

fn sizes(sizes: &Sizes, at: &KeyPath, out: &mut FindingList) {
    drawn!(Sizes, sizes, Bytes::new(0)).check(Bytes::new(0), at, out);
    out.require(
        !matches!(sizes, Sizes::Fixed { value } if value.get() == 0),
        || at.key("value"),
        || "value of 0 B; expected at least 1 B".into(),
    );
}

fn numbers(numbers: &Numbers, at: &KeyPath, out: &mut FindingList) {
    drawn!(Numbers, numbers, 0.0).check(0.0, at, out);
    if let Numbers::Fixed { value } = numbers {
        out.require(
            (1.0..=1e4).contains(value),
            || at.key("value"),
            || format!("value of {value}; expected 1 to 10000"),
        );
    }
}

/// Checks a distribution of times; `measured` is true if Mah measured this quantity.
fn times(times: &Times, at: &KeyPath, measured: bool, out: &mut FindingList) {
    drawn!(Times, times, Span::ZERO).check(Span::ZERO, at, out);
    out.require(
        measured || *times != Times::Mah,
        || at.key("kind"),
        || "mah has think times only; expected another kind".into(),
    );
}
/// Mean number of pages below which the results have little meaning.
const A_HANDFUL: f64 = 5.0;
/// Mean of the think times measured in 1995, s.
pub const MAH_THINKING_S: f64 = 1635.0;

/// Warns of browsers that think for so long that they load next to nothing.
pub fn warnings(scenario: &Scenario, out: &mut FindingList) {
    for (i, flow) in scenario.flows.iter().enumerate() {
        let Traffic::Web { think, pages, .. } = &flow.traffic else { continue };
        let until = flow.stop.map_or(scenario.duration, |stop| stop.since(Time::ZERO)).min(scenario.duration);
        let lasts_s = until.saturating_sub(flow.start.since(Time::ZERO)).as_secs_f64();
        let Some(mean_s) = mean_s(think) else { continue };
        if lasts_s >= A_HANDFUL * mean_s || pages.is_some_and(|pages| (pages as f64) < A_HANDFUL) {
            continue;
        }
        let of = if matches!(think, Times::Mah) {
            " (kind \"mah\"; half of the times are below 17 s)"
        } else {
            ""
        };
        out.push(
            || KeyPath::default().key("flows").index(i).key("traffic").key("think"),
            || {
                format!(
                    "thinking takes {mean_s:.0} s in the mean{of} and the flow lasts {lasts_s:.0} s: few pages, and another number \
                     with another seed; for a network under load write think = {{ kind = \"exponential\", mean = \"10 s\" }}"
                )
            },
        );
    }
}

/// Mean of a distribution of times, before capping; `None` for one from a file.
fn mean_s(times: &Times) -> Option<f64> {
    match times {
        Times::Fixed { value } => Some(value.as_secs_f64()),
        Times::Uniform { least, most } => Some((least.as_secs_f64() + most.as_secs_f64()) / 2.0),
        Times::Exponential { mean } => Some(mean.as_secs_f64()),
        Times::Lognormal { median, sigma, .. } => Some(median.as_secs_f64() * (sigma * sigma / 2.0).exp()),
        Times::Mah => Some(MAH_THINKING_S),
        // A tail without a mean is as long as the run; files are read later.
        Times::Weibull { .. } | Times::Pareto { .. } | Times::Measured { .. } => None,
    }
}
