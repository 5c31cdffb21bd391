//! Checks of splices: nodes that flows cross, flows that exist, buffers that hold a segment.
//!
//! Follows RFC 7323 for the largest buffer, which is a receive window.
//! Differs: one splice per node, because two would act as one.
//! Leaves out whether a buffer's size makes sense (HT 4.3.1: two to three times rate times delay).

use super::{name, stp, tcp};
use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::{Scenario, Splice, SpliceKind, Transport};
use crate::network::{Crossing, NetworkPlan, RoutePlan};
use crate::path::KeyPath;
use skyhop_units::{Bytes, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of splices: the leg of a packet is stored in a byte.
const MOST_SPLICES: usize = 200;

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let top = KeyPath::default().key("splices");
    let count = scenario.splices.len();
    out.require(
        count <= MOST_SPLICES,
        || top.clone(),
        || format!("{count} splices; expected at most {MOST_SPLICES}"),
    );
    let mut places: BTreeMap<&str, &str> = BTreeMap::new();
    for ((name, splice), carries) in scenario.splices.iter().zip(&scenario.carries_datagrams()) {
        let at = top.key(name);
        name::is_plain(name, || at.clone(), out);
        if let Some(first) = places.insert(&splice.at, name) {
            let place = quoted(&splice.at);
            out.push(
                || at.key("at"),
                || format!("splices.{first} is at {place} already; expected one splice at a node"),
            );
        }
        out.require(
            splice.give_up > Span::ZERO,
            || at.key("give_up"),
            || "give_up of 0 s; expected more than 0 s, such as the 100 s of RFC 1122".into(),
        );
        let opens = match splice.kind {
            SpliceKind::Split => None,
            SpliceKind::Spoof => Some("a spoofing splice forwards the SYN at once"),
            SpliceKind::Cache => Some("a cache connects to the server for files that it does not hold"),
        };
        if let (Some(why), Some(_)) = (opens, splice.opens) {
            out.push(|| at.key("opens"), || format!("{why}; leave opens out, or choose kind \"split\""));
        }
        hit_ratio(splice, &at, out);
        out.require(
            splice.udp.is_none() || splice.association.is_some(),
            || at.key("udp"),
            || "udp without an association, which would carry it; expected association too, or no udp".into(),
        );
        for (key, transport) in [("transport", &splice.transport), ("transport_back", &splice.transport_back)]
        {
            match transport {
                Some(Transport::Tcp(parameters)) => tcp::check(parameters, &at.key(key), out),
                Some(Transport::Stp(parameters)) => {
                    stp::check(parameters, &at.key(key), out);
                    out.require(
                        splice.kind != SpliceKind::Spoof,
                        || at.key(key).key("kind"),
                        || "spoofing forwards segments unchanged; expected tcp, or kind \"split\" with stp on a side".into(),
                    );
                }
                Some(Transport::Udp) => {
                    out.push(
                        || at.key(key).key("kind"),
                        || "udp has no connections to split; expected tcp or stp".into(),
                    );
                }
                None => {}
            }
        }
        buffer(splice, &at, out);
        flows(scenario, (splice, *carries), &at, out);
    }
}

fn hit_ratio(splice: &Splice, at: &KeyPath, out: &mut FindingList) {
    let cache = splice.kind == SpliceKind::Cache;
    match splice.hit_ratio {
        None if cache => {
            out.push(|| at.clone(), || "a cache without hit_ratio; expected a share from 0 to 1".into())
        }
        Some(_) if !cache => out.push(
            || at.key("hit_ratio"),
            || "only a cache has a hit_ratio; leave it out, or choose kind \"cache\"".into(),
        ),
        Some(ratio) => out.require(
            (0.0..=1.0).contains(&ratio),
            || at.key("hit_ratio"),
            || format!("hit_ratio of {ratio} is outside 0 to 1"),
        ),
        None => {}
    }
}

fn buffer(splice: &Splice, at: &KeyPath, out: &mut FindingList) {
    let buffer = splice.buffer;
    out.require(
        buffer > Bytes::new(0),
        || at.key("buffer"),
        || "buffer of 0 B; expected at least a segment".into(),
    );
    let most = tcp::LARGEST_WINDOW;
    out.require(
        buffer <= most,
        || at.key("buffer"),
        || format!("buffer of {buffer} cannot be announced as a window; expected at most {most}"),
    );
}

fn flows(scenario: &Scenario, (splice, carries): (&Splice, bool), at: &KeyPath, out: &mut FindingList) {
    let Some(named) = &splice.flows else { return };
    let at = at.key("flows");
    out.require(
        !named.is_empty(),
        || at.clone(),
        || "no flows to splice; leave the key out for all that cross the node".into(),
    );
    let names: Vec<String> = (0..scenario.flows.len()).map(|i| scenario.flow_name(i)).collect();
    let numbers: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut seen = BTreeSet::new();
    for (i, name) in named.iter().enumerate() {
        let here = || at.index(i);
        out.require(seen.insert(name), here, || format!("flow {} is in the list twice", quoted(name)));
        match numbers.get(name.as_str()).copied() {
            None => out.push(here, || {
                format!("unknown flow {}{}", quoted(name), expected(name, names.iter().map(String::as_str)))
            }),
            Some(flow) if scenario.flows[flow].traffic.in_datagrams() && splice.association.is_some() => {
                out.require(carries, here, || {
                    format!(
                        "flow {} has datagrams, which pass these gateways; expected udp = \"carry\" at one of them, or no such flow",
                        quoted(name)
                    )
                });
            }
            Some(flow) if !scenario.flows[flow].traffic.has_connections() => {
                let why = "ping, cbr and on-off have none";
                out.push(here, || format!("flow {} has no connection to split; {why}", quoted(name)));
            }
            Some(flow) if splice.kind == SpliceKind::Cache && !scenario.flows[flow].traffic.asks() => {
                let name = quoted(name);
                out.push(here, || {
                    format!("flow {name} has no replies to cache; expected traffic of kind web or request-response")
                });
            }
            Some(_) => {}
        }
    }
}

/// Checks splices against the paths of flows.
pub(super) fn check_places(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    if scenario.splices.is_empty() {
        return;
    }
    let ways = Ways { scenario, network, crossings: network.crossings(scenario) };
    for (index, (name, splice)) in scenario.splices.iter().enumerate() {
        let crossed = Crossed { ways: &ways, index, splice, at: KeyPath::default().key("splices").key(name) };
        if crossed.place(out) {
            crossed.flows(out);
            crossed.spoofable(out);
            crossed.holds_a_segment(out);
        }
    }
    ways.one_cache(out);
    ways.one_kind_between(out);
    ways.one_in_space(out);
}

/// The path of every flow, and the splices on it.
struct Ways<'a> {
    scenario: &'a Scenario,
    network: &'a NetworkPlan,
    /// The splices on each flow's path.
    crossings: Vec<Vec<Crossing>>,
}

impl Ways<'_> {
    fn splice(&self, crossing: &Crossing) -> Option<(&String, &Splice)> {
        self.scenario.splices.iter().nth(crossing.splice)
    }

    /// Checks that a flow crosses at most one cache: a second one would see only the misses of the first.
    fn one_cache(&self, out: &mut FindingList) {
        for (flow, crossed) in self.crossings.iter().enumerate() {
            let mut caches =
                crossed.iter().filter_map(|c| self.splice(c)).filter(|(_, s)| s.kind == SpliceKind::Cache);
            if let (Some((first, _)), Some((second, _))) = (caches.next(), caches.next()) {
                out.push(
                    || KeyPath::default().key("splices").key(second).key("kind"),
                    || {
                        format!(
                            "flow \"{}\" crosses the cache splices.{first} too; expected one cache on a path",
                            self.scenario.flow_name(flow)
                        )
                    },
                );
            }
        }
    }

    /// Checks that two splices in a row agree on the transport of the connection between them.
    fn one_kind_between(&self, out: &mut FindingList) {
        for (flow, crossed) in self.crossings.iter().enumerate() {
            for pair in crossed.windows(2) {
                let (Some((near, a)), Some((far, b))) = (self.splice(&pair[0]), self.splice(&pair[1])) else {
                    continue;
                };
                let ends = &self.scenario.flows[flow].transport;
                let (says, hears) = (
                    a.transports(ends, pair[0].inner)[1].kind(),
                    b.transports(ends, pair[1].inner)[0].kind(),
                );
                out.require(
                    says == hears,
                    || KeyPath::default().key("splices").key(far).key("transport_back"),
                    || {
                        let flow = self.scenario.flow_name(flow);
                        format!(
                            "{hears} towards splices.{near}, whose transport is {says}, for flow \"{flow}\"; expected the same kind"
                        )
                    },
                );
            }
        }
    }

    /// Checks that a flow crosses at most one splice, unless ground links on both sides of the satellites give an order.
    fn one_in_space(&self, out: &mut FindingList) {
        if self.network.meets_satellites {
            return;
        }
        for (flow, (route, crossed)) in self.network.routes.iter().zip(&self.crossings).enumerate() {
            if let (RoutePlan::Space { .. }, [first, second, ..]) = (route, crossed.as_slice())
                && let (Some((first, _)), Some((second, _))) = (self.splice(first), self.splice(second))
            {
                out.push(
                    || KeyPath::default().key("splices").key(second).key("flows"),
                    || {
                        let flow = self.scenario.flow_name(flow);
                        format!(
                            "flow \"{flow}\" passes splices.{first} already; expected one splice in the constellation"
                        )
                    },
                );
            }
        }
    }
}

/// A splice and the flows that cross it.
struct Crossed<'a> {
    ways: &'a Ways<'a>,
    index: usize,
    splice: &'a Splice,
    at: KeyPath,
}

impl Crossed<'_> {
    fn by(&self, flow: usize) -> bool {
        self.ways.crossings[flow].iter().any(|c| c.splice == self.index)
    }

    fn crossing(&self) -> impl Iterator<Item = usize> {
        (0..self.ways.crossings.len()).filter(|flow| self.by(*flow))
    }

    /// Returns true if its node exists; notes a finding if no flow crosses it.
    fn place(&self, out: &mut FindingList) -> bool {
        let (scenario, place) = (self.ways.scenario, self.splice.at.as_str());
        let terminals = || scenario.terminals.keys().map(String::as_str);
        let nodes = || self.ways.network.nodes.iter().map(String::as_str).chain(terminals());
        if !nodes().any(|node| node == place) {
            out.push(
                || self.at.key("at"),
                || format!("unknown node {}{}", quoted(place), expected(place, nodes())),
            );
            return false;
        }
        out.require(
            self.crossing().next().is_some() || self.splice.flows.is_some(),
            || self.at.key("at"),
            || {
                let terminal = scenario.terminals.contains_key(place);
                let how = if terminal { "; name the flows that pass it in \"flows\"" } else { "" };
                format!("no flow crosses {} between its ends{how}", quoted(place))
            },
        );
        true
    }

    /// Checks that the flows named by the splice cross it.
    fn flows(&self, out: &mut FindingList) {
        let scenario = self.ways.scenario;
        let names = (0..scenario.flows.len()).filter(|_| self.splice.flows.is_some());
        let numbers: BTreeMap<String, usize> = names.map(|flow| (scenario.flow_name(flow), flow)).collect();
        for (i, flow) in self.splice.flows.iter().flatten().enumerate() {
            out.require(
                numbers.get(flow).is_none_or(|f| self.by(*f)),
                || self.at.key("flows").index(i),
                || {
                    let datagrams = numbers.get(flow).is_some_and(|f| scenario.flows[*f].traffic.in_datagrams());
                    if let (true, Some(association)) = (datagrams, &self.splice.association) {
                        let (flow, association) = (quoted(flow), quoted(association));
                        return format!(
                            "flow {flow} does not pass both splices of association {association}, one after the other, so that \
                             its datagrams are not carried; expected a flow that does, named in \"flows\" of both"
                        );
                    }
                    let place = quoted(&self.splice.at);
                    format!("flow {} does not cross {place} between its ends", quoted(flow))
                },
            );
        }
    }

    /// Checks that only TCP flows are spoofed.
    fn spoofable(&self, out: &mut FindingList) {
        let scenario = self.ways.scenario;
        let stp = |flow: &usize| matches!(scenario.flows[*flow].transport, Transport::Stp(_));
        if self.splice.kind == SpliceKind::Spoof
            && let Some(flow) = self.crossing().find(stp)
        {
            out.push(
                || self.at.key("kind"),
                || {
                    let flow = quoted(&scenario.flow_name(flow));
                    format!("flow {flow} uses stp, which cannot be spoofed; expected kind \"split\"")
                },
            );
        }
    }

    /// Checks that the buffer has room for a full segment of each flow.
    fn holds_a_segment(&self, out: &mut FindingList) {
        let mss = |index: usize| {
            let flow = &self.ways.scenario.flows[index];
            let inner = self.ways.crossings[index].iter().find(|c| c.splice == self.index)?.inner;
            let transports = self.splice.transports(&flow.transport, inner);
            let mss = |transport: &Transport| Some(Bytes::new(transport.packet(flow.ip)?.0));
            transports.into_iter().filter_map(mss).max()
        };
        if let Some(mss) = self.crossing().filter_map(mss).max() {
            let buffer = self.splice.buffer;
            out.require(
                buffer >= mss || buffer == Bytes::new(0),
                || self.at.key("buffer"),
                || format!("buffer of {buffer} is less than the mss of {mss}; no full segment could be held"),
            );
        }
    }
}

/// Warns of keys that have no effect in a splice.
pub(super) fn warnings(scenario: &Scenario, given: impl Fn(&KeyPath) -> bool, out: &mut FindingList) {
    for name in scenario.splices.keys() {
        for transport in ["transport", "transport_back"] {
            let window = KeyPath::default().key("splices").key(name).key(transport).key("window");
            if given(&window) {
                out.push(
                    || window,
                    || "a splice's receive window is its buffer; this key is not used".into(),
                );
            }
        }
    }
}
