//! Checks of links: names, queues, losses, and whether the flows' packets fit their queues.
//!
//! Follows the model: a queue's limit includes the packet on the transmitter.
//! Differs from the check of a single value: a queue in bytes is compared with the packets that cross it.
//! Leaves out rates and delays, of which every value is valid.

use super::name;
use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::{
    Corruption, Duplication, Interval, Ip, Jitter, Loss, Queue, Reordering, Scenario, SizeLoss, Traffic,
    Transport, UbrCells, UbrService,
};
use crate::network::{Direction, NetworkPlan, Over, RoutePlan};
use crate::path::KeyPath;
use skyhop_units::{Amount, Bytes, Depth, Rate, Span, Time};
use std::collections::BTreeSet;

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let links = KeyPath::default().key("links");
    for (name, link) in &scenario.links {
        let at = links.key(name);
        name::is_plain(name, || at.clone(), out);
        queue(link.queue, &at, out);
        guaranteed(link.queue, link.rate, &at, out);
        loss(&link.loss, &at, out);
        let late = (link.jitter.as_ref(), link.reordering);
        mtu(link.mtu, &at, out);
        mtu(link.reverse.as_ref().and_then(|reverse| reverse.mtu), &at.key("reverse"), out);
        out.require(
            !link.mtu_black_hole
                || link.mtu.is_some()
                || link.reverse.as_ref().is_some_and(|r| r.mtu.is_some()),
            || at.key("mtu_black_hole"),
            || "mtu_black_hole without an mtu; expected both".into(),
        );
        for (key, on) in [("header_twice", link.header_twice), ("header_requests", link.header_requests)] {
            out.require(
                !on || link.header_compression,
                || at.key(key),
                || format!("{key} without header_compression; expected header_compression = true"),
            );
        }
        out.require(
            link.ack_reconstruction.is_none_or(|every| (1..=1 << 20).contains(&every.get())),
            || at.key("ack_reconstruction"),
            || {
                let every = link.ack_reconstruction.unwrap_or_default();
                format!("an acknowledgment for every {every}; expected 1 B to 1048576 B, such as \"2920 B\", two segments")
            },
        );
        faults(&at, link.duplication, link.corruption, out);
        extras(&at, link.repeat, (&link.schedule, link.trace.as_deref()), late, out);
        if let Some(reverse) = &link.reverse {
            let at = at.key("reverse");
            reverse.queue.iter().for_each(|q| {
                queue(*q, &at, out);
                guaranteed(*q, reverse.rate.unwrap_or(link.rate), &at, out);
            });
            reverse.loss.iter().for_each(|l| loss(l, &at, out));
            faults(&at, reverse.duplication, reverse.corruption, out);
            let timeline = (reverse.schedule.as_deref().unwrap_or_default(), reverse.trace.as_deref());
            // A value repeated in `reverse` is reported at the link.
            let repeat = link.repeat.filter(|_| reverse.trace.is_some() || reverse.schedule.is_some());
            extras(
                &at,
                repeat.filter(|_| !timeline.0.is_empty() || timeline.1.is_some()),
                timeline,
                (reverse.jitter.as_ref(), reverse.reordering),
                out,
            );
        }
        for (i, node) in link.between.iter().flatten().enumerate() {
            name::is_plain(node, || at.key("between").index(i), out);
        }
    }
    pcap(scenario, out);
}

/// Checks an MTU. RFC 791: every link carries 68 bytes, and no packet has more than 65,535.
fn mtu(mtu: Option<Bytes>, at: &KeyPath, out: &mut FindingList) {
    let Some(mtu) = mtu else { return };
    let fits = (68..=65_535).contains(&mtu.get());
    out.require(fits, || at.key("mtu"), || format!("mtu of {mtu}; expected 68 B to 65535 B (RFC 791)"));
}

pub(super) fn queue(queue: Queue, at: &KeyPath, out: &mut FindingList) {
    let limit = queue.limit();
    let at = |key: &'static str| at.key("queue").key(key);
    let nothing = match limit {
        Depth::Amount(amount) => amount.in_bytes(1) == 0,
        Depth::Time(span) => span == Span::ZERO,
    };
    out.require(
        !nothing,
        || at("limit"),
        || format!("limit of {limit}; expected at least 1 packet, the one in transmission"),
    );
    if let Queue::Red { min, max, .. } | Queue::Drd { min, max, .. } = queue {
        thresholds([min, max], limit, &at, out);
    }
    let mut probability = |key: &'static str, p: f64| {
        out.require(
            p > 0.0 && p <= 1.0,
            || at(key),
            || format!("{p} is not a share; expected more than 0 and at most 1"),
        );
    };
    match queue {
        Queue::DropTail { .. } | Queue::Priority { .. } => {}
        Queue::Drd { max_p, .. } => probability("max_p", max_p),
        Queue::Red { weight, max_p, mean_packet, .. } => {
            probability("weight", weight);
            probability("max_p", max_p);
            out.require(mean_packet.get() > 0, || at("mean_packet"), || "no packet has 0 bytes".into());
        }
        Queue::Codel { target, interval, .. } | Queue::FqCodel { target, interval, .. } => {
            out.require(
                target > Span::ZERO,
                || at("target"),
                || "target of 0 s; expected more than 0 s".into(),
            );
            out.require(
                interval > target,
                || at("interval"),
                || format!("interval of {interval} is not longer than target, which is {target}"),
            );
            if let Queue::FqCodel { quantum, .. } = queue {
                quantum_fits(quantum, || at("quantum"), out);
            }
        }
        Queue::Drr { quantum, .. } => quantum_fits(quantum, || at("quantum"), out),
        Queue::Ubr { limit, threshold, scale, service, cells, port_rate, .. } => {
            probability("threshold", threshold);
            probability("scale", scale);
            let by_cell = service == UbrService::Channels || cells == UbrCells::Each;
            out.require(
                port_rate.is_none() || by_cell,
                || at("port_rate"),
                || "port_rate for trains, the cells of which come together; expected cells = \"each\" beside it".into(),
            );
            let cells = match limit {
                Depth::Amount(Amount::Packets(_)) => 0,
                Depth::Amount(Amount::Bytes(bytes)) => bytes.get() / 53,
                Depth::Time(_) => u64::MAX,
            };
            out.require(
                cells > 0,
                || at("limit"),
                || format!("limit of {limit} for a buffer of cells; expected cells, bytes or a time: \"2300 cells\""),
            );
        }
    }
}

/// Checks that a switch guarantees no more than its link has.
fn guaranteed(queue: Queue, rate: Rate, at: &KeyPath, out: &mut FindingList) {
    let Queue::Ubr { guaranteed_rate: Some(guaranteed), .. } = queue else { return };
    out.require(
        guaranteed < rate,
        || at.key("queue").key("guaranteed_rate"),
        || format!("guaranteed_rate of {guaranteed} leaves nothing for priority 0; expected less than the rate, which is {rate}"),
    );
}

/// Checks two queue lengths, which must have the same unit and ascend.
fn thresholds(
    [min, max]: [Amount; 2],
    limit: Depth,
    at: &impl Fn(&'static str) -> KeyPath,
    out: &mut FindingList,
) {
    let alike = matches!(min, Amount::Bytes(_)) == matches!(max, Amount::Bytes(_));
    out.require(alike, || at("max"), || format!("{max} and a min of {min} cannot be compared"));
    out.require(
        !alike || min.in_bytes(1) < max.in_bytes(1),
        || at("min"),
        || format!("min of {min} is not below max, which is {max}"),
    );
    let within = match limit {
        Depth::Amount(limit) => {
            matches!(limit, Amount::Bytes(_)) != matches!(max, Amount::Bytes(_))
                || max.in_bytes(1) <= limit.in_bytes(1)
        }
        Depth::Time(_) => true,
    };
    out.require(
        !alike || within,
        || at("max"),
        || format!("max of {max} is above the limit of {limit}, so that the queue overflows first"),
    );
}

fn quantum_fits(quantum: Bytes, at: impl Fn() -> KeyPath, out: &mut FindingList) {
    out.require((1..=1_000_000_000).contains(&quantum.get()), at, || {
        format!("quantum of {quantum}; expected 1 B to 1 GB, best a packet")
    });
}

pub(super) fn loss(loss: &Loss, at: &KeyPath, out: &mut FindingList) {
    let at_sizes = at.key("loss").key("sizes");
    let at = |key: &'static str| at.key("loss").key(key);
    let mut probability = |key: &'static str, p: f64| {
        out.require((0.0..=1.0).contains(&p), || at(key), || format!("probability {p} is outside 0 to 1"));
    };
    match *loss {
        Loss::None => {}
        Loss::BitErrors { bit_error_rate } => probability("bit_error_rate", bit_error_rate),
        Loss::Packets { probability: p } => probability("probability", p),
        Loss::BySize { ref sizes } => {
            let at = |i: usize, key: &'static str| at("sizes").index(i).key(key);
            out.require(!sizes.is_empty(), || at_sizes.clone(), || "no sizes; expected at least one".into());
            for (i, SizeLoss { up_to, probability: p }) in sizes.iter().enumerate() {
                let fits = (0.0..=1.0).contains(p);
                out.require(fits, || at(i, "probability"), || format!("probability {p} is outside 0 to 1"));
                let before = i.checked_sub(1).map_or(Bytes::new(0), |i| sizes[i].up_to);
                out.require(
                    *up_to > before,
                    || at(i, "up_to"),
                    || format!("{up_to} is not more than {before}; expected increasing sizes"),
                );
            }
        }
        Loss::GilbertElliott { good, bad, loss_good, loss_bad } => {
            probability("loss_good", loss_good);
            probability("loss_bad", loss_bad);
            for (key, span) in [("good", good), ("bad", bad)] {
                out.require(
                    span > Span::ZERO,
                    || at(key),
                    || "mean time of 0 s; expected more than 0 s".into(),
                );
            }
        }
        Loss::GilbertElliottPackets { to_bad, to_good, loss_good, loss_bad } => {
            probability("to_bad", to_bad);
            probability("to_good", to_good);
            probability("loss_good", loss_good);
            probability("loss_bad", loss_bad);
        }
        Loss::List { ref packets } => {
            let mut before = 0;
            for (i, &number) in packets.iter().enumerate() {
                let place = || at("packets").index(i);
                out.require(number > 0, place, || {
                    "packet 0; expected 1 or more, since packets are counted from 1".into()
                });
                out.require(number == 0 || number > before, place, || {
                    format!("{number} is not after {before}; expected each number once, in order")
                });
                before = before.max(number);
            }
        }
    }
}

/// Checks intervals, which must not be empty or overlap, and must change something.
fn schedule(intervals: &[Interval], repeat: Option<Span>, at: &KeyPath, out: &mut FindingList) {
    let at = at.key("schedule");
    let mut order: Vec<(usize, &Interval)> = intervals.iter().enumerate().collect();
    for (i, interval) in &order {
        let Interval { from, to, rate, delay, loss: ref lost, outage } = **interval;
        let at = at.index(*i);
        out.require(from < to, || at.key("to"), || format!("{to} is not after from, which is {from}"));
        let says = rate.is_some() || delay.is_some() || lost.is_some() || outage.is_some();
        out.require(says, || at.clone(), || "changes nothing; expected rate, delay, loss or outage".into());
        lost.iter().for_each(|lost| loss(lost, &at, out));
        let beyond = repeat.is_some_and(|repeat| to > Time::ZERO + repeat);
        out.require(!beyond, || at.key("to"), || format!("{to} is after the schedule begins again"));
    }
    order.sort_by_key(|(_, interval)| interval.from);
    for pair in order.windows(2) {
        let [(before, a), (after, b)] = pair else { continue };
        out.require(
            a.to <= b.from,
            || at.index(*after).key("from"),
            || {
                let Interval { from, to, .. } = a;
                format!("{} is within interval {before}, which is from {from} to {to}", b.from)
            },
        );
    }
}

/// Checks the schedule or the trace of a link.
pub(super) fn clock(
    at: &KeyPath,
    repeat: Option<Span>,
    (intervals, trace): (&[Interval], Option<&str>),
    out: &mut FindingList,
) {
    schedule(intervals, repeat, at, out);
    out.require(
        trace.is_none() || intervals.is_empty(),
        || at.key("trace"),
        || "both trace and schedule; expected one of them".into(),
    );
    out.require(
        repeat.is_none() || trace.is_some() || !intervals.is_empty(),
        || at.key("repeat"),
        || "repeat without a schedule or a trace; expected one of them, or no repeat".into(),
    );
    out.require(repeat != Some(Span::ZERO), || at.key("repeat"), || "0 s; expected more than 0 s".into());
}

/// Checks jitter, reordering, and the schedule or the trace.
fn extras(
    at: &KeyPath,
    repeat: Option<Span>,
    timeline: (&[Interval], Option<&str>),
    (late, reordering): (Option<&Jitter>, Option<Reordering>),
    out: &mut FindingList,
) {
    clock(at, repeat, timeline, out);
    late.iter().for_each(|late| jitter(late, &at.key("jitter"), out));
    if let Some(Reordering { probability: p, .. }) = reordering {
        let at = || at.key("reordering").key("probability");
        out.require((0.0..=1.0).contains(&p), at, || format!("probability {p} is outside 0 to 1"));
    }
}

/// Checks a random delay: it is below an hour, and its correlation is below 1.
fn jitter(jitter: &Jitter, at: &KeyPath, out: &mut FindingList) {
    let mut within = |at: KeyPath, span: Span| {
        let most = Span::from_secs(3600);
        out.require(span <= most, || at.clone(), || format!("{span}; expected at most {most}"));
    };
    match jitter {
        Jitter::Uniform { most: span, .. } | Jitter::Exponential { mean: span, .. } => {
            within(at.clone(), *span)
        }
        Jitter::Normal { mean, deviation, .. }
        | Jitter::Pareto { mean, deviation, .. }
        | Jitter::ParetoNormal { mean, deviation, .. }
        | Jitter::Table { mean, deviation, .. } => {
            within(at.key("mean"), *mean);
            within(at.key("deviation"), *deviation);
        }
    }
    let (correlation, _) = jitter.sequence();
    let fits = correlation > -1.0 && correlation < 1.0;
    out.require(
        fits,
        || at.key("correlation"),
        || format!("correlation {correlation} is not between -1 and 1"),
    );
}

/// Checks duplication and corruption.
fn faults(at: &KeyPath, twice: Option<Duplication>, corrupted: Option<Corruption>, out: &mut FindingList) {
    let mut probability = |key: &'static str, p: f64| {
        let at = || at.key(key).key("probability");
        out.require((0.0..=1.0).contains(&p), at, || format!("probability {p} is outside 0 to 1"));
    };
    twice.iter().for_each(|twice| probability("duplication", twice.probability));
    corrupted.iter().for_each(|corrupted| probability("corruption", corrupted.probability));
    if let Some(Duplication { delay, .. }) = twice {
        let most = Span::from_secs(3600);
        let at = || at.key("duplication").key("delay");
        out.require(delay <= most, at, || format!("{delay}; expected at most {most}"));
    }
}

/// Checks the links to be captured. A constellation's link is named by its kind and its ends: `isl:0.1-0.2`, `gsl:new-york`.
fn pcap(scenario: &Scenario, out: &mut FindingList) {
    let space = scenario.has_satellites();
    for (i, name) in scenario.record.pcap.iter().enumerate() {
        let isl = name.strip_prefix("isl:").filter(|_| space);
        let gsl = name.strip_prefix("gsl:").filter(|_| space);
        let at = || KeyPath::default().key("record").key("pcap").index(i);
        let fibre = name.strip_prefix("fibre:").filter(|_| space);
        if fibre.is_some() {
            // The pairs joined by fibre are known when the network is built.
        } else if let Some(terminal) = gsl {
            let terminal = terminal_of(scenario, terminal);
            let names = scenario.terminals.keys().map(String::as_str);
            out.require(scenario.terminals.contains_key(terminal), at, || {
                format!("unknown terminal {}{}", quoted(terminal), expected(terminal, names))
            });
        } else if let Some(ends) = isl {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
            out.require(!ends.is_empty() && ends.chars().all(plain), at, || {
                format!("{} does not name two satellites; expected a name such as isl:0.1-0.2", quoted(name))
            });
        } else if name != "*" && !scenario.links.contains_key(name) {
            let patterns: &[&str] =
                if space { &["*", "isl:0.1-0.2", "gsl:TERMINAL", "fibre:GATEWAY-GATEWAY"] } else { &["*"] };
            let names = scenario.links.keys().map(String::as_str).chain(patterns.iter().copied());
            out.push(at, || format!("unknown link {}{}", quoted(name), expected(name, names)));
        }
    }
}

/// The links, out of `links`, that a flow's packets may cross; all of them if satellites choose the path.
fn on_the_way(route: &RoutePlan, links: usize) -> Vec<usize> {
    let over = |over: &Over| match over {
        Over::Link(link, _) => *link..*link + 1,
        Over::Fleet(_) => 0..0,
        Over::Any => 0..links,
    };
    match route {
        RoutePlan::Links { hops, .. } | RoutePlan::Spread { hops, .. } => {
            hops.iter().map(|(link, _)| *link).collect()
        }
        RoutePlan::Pinned { steps, .. } => steps.iter().flat_map(|step| over(&step.over)).collect(),
        RoutePlan::Space { .. } => (0..links).collect(),
    }
}

/// Checks that flows over IPv6 cross links that carry 1280 bytes: an end ignores a smaller MTU from a router, so full packets
/// would never arrive.
pub(super) fn check_ipv6(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let least = Bytes::new(1280);
    let links: Vec<_> = scenario.links.iter().collect();
    let mut told = BTreeSet::new();
    for (i, route) in network.routes.iter().enumerate() {
        if scenario.flows[i].ip != Ip::V6 {
            continue;
        }
        for link in on_the_way(route, links.len()) {
            let (name, link) = links[link];
            let at = KeyPath::default().key("links").key(name);
            let reverse = link.reverse.as_ref().and_then(|reverse| reverse.mtu);
            for (mtu, at) in [(link.mtu, at.clone()), (reverse, at.key("reverse"))] {
                let Some(mtu) = mtu.filter(|mtu| *mtu < least) else { continue };
                if told.insert(at.to_string()) {
                    out.push(
                        || at.key("mtu"),
                        || {
                            let flow = scenario.flow_name(i);
                            format!(
                                "mtu of {mtu} on the path of flow \"{flow}\", whose ip is v6; expected at least 1280 B (RFC 8200), or \
                                 ip = \"v4\""
                            )
                        },
                    );
                }
            }
        }
    }
}

/// Warns of links that compress IPv4 headers only, on the path of flows over IPv6 with such headers.
pub(super) fn warnings(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let compressing = scenario.links.iter().enumerate().filter(|(_, (_, link))| link.header_compression);
    for (index, (name, _)) in compressing {
        let crosses =
            |(_, route): &(usize, &RoutePlan)| on_the_way(route, scenario.links.len()).contains(&index);
        let of_v6 = |(i, _): &(usize, &RoutePlan)| {
            let flow = &scenario.flows[*i];
            flow.ip == Ip::V6 && flow.traffic.has_connections() && matches!(flow.transport, Transport::Tcp(_))
        };
        let mut flows = network.routes.iter().enumerate().filter(of_v6).filter(crosses);
        if let Some((flow, _)) = flows.next() {
            out.push(
                || KeyPath::default().key("links").key(name).key("header_compression"),
                || {
                    let flow = scenario.flow_name(flow);
                    format!("flow \"{flow}\" is IPv6's, whose headers RFC 1144 does not compress: its packets go whole")
                },
            );
        }
    }
}

/// The terminal in the name of its link: the second of several antennas is `gsl:new-york.1`, and among several constellations
/// `gsl:new-york.leo.1`.
fn terminal_of<'a>(scenario: &Scenario, link: &'a str) -> &'a str {
    let mut terminal = link;
    let shorter = |name: &'a str, is_behind: &dyn Fn(&str) -> bool| {
        let (before, behind) = name.rsplit_once('.')?;
        is_behind(behind).then_some(before)
    };
    let antenna = |behind: &str| behind.parse::<u16>().is_ok();
    let fleet = |behind: &str| scenario.constellations.contains_key(behind);
    for behind in [&antenna as &dyn Fn(&str) -> bool, &fleet] {
        if !scenario.terminals.contains_key(terminal) {
            terminal = shorter(terminal, behind).unwrap_or(terminal);
        }
    }
    terminal
}

/// Checks that a queue is larger than one packet of each flow; otherwise it would drop all of them.
pub(super) fn check_fit(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let links: Vec<_> = scenario.links.iter().collect();
    for (i, (flow, route)) in scenario.flows.iter().zip(&network.routes).enumerate() {
        let size = match (&flow.traffic, &flow.transport) {
            (Traffic::Ping { size, .. } | Traffic::Cbr { size, .. } | Traffic::OnOff { size, .. }, _) => {
                size.get() + flow.ip.header_len() + 8
            }
            // Streams over UDP are refused elsewhere.
            (_, transport) => transport
                .packet(flow.ip)
                .map_or(flow.ip.header_len() + 8, |(payload, headers)| payload + headers),
        };
        let (RoutePlan::Links { hops, .. } | RoutePlan::Spread { hops, .. }) = route else { continue };
        for (link, direction) in hops {
            let (name, link) = links[*link];
            let reverse = link.reverse.as_ref().filter(|_| *direction == Direction::Reverse);
            let own = reverse.and_then(|r| r.queue);
            let rate = reverse.and_then(|r| r.rate).unwrap_or(link.rate);
            let Amount::Bytes(limit) = own.unwrap_or(link.queue).limit().at(rate) else { continue };
            let at = KeyPath::default().key("links").key(name);
            let at = if own.is_some() { at.key("reverse") } else { at };
            out.require(
                limit.get() >= size,
                || at.key("queue").key("limit"),
                || {
                    let size = Bytes::new(size);
                    format!(
                        "limit of {limit} is less than a packet of flow \"{}\" ({size})",
                        scenario.flow_name(i)
                    )
                },
            );
        }
    }
}
