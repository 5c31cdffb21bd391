//! Checks of flows whose connections are streams of one association: the keys that must agree.
//!
//! Follows docs/stp.md §15: one path, one congestion control, one pace; streams differ in priority and weight only.
//! Differs from a host, where an association has one address: here each of its flows names it, so that they may contradict each other.
//! Leaves out datagrams of an association, associations of real programs, and those that a splice would end.

use crate::error::quoted;
use crate::finding::FindingList;
use crate::model::{Flow, Scenario, Stp, Transport};
use crate::network::{Direction, NetworkPlan, RoutePlan};
use crate::path::KeyPath;
use serde_json::Value;
use skyhop_units::Bytes;
use std::collections::BTreeMap;

/// Smallest packet of docs/stp.md §15.1: a header and a POLL.
pub(super) const SMALLEST_PACKET: Bytes = Bytes::new(272);
/// Smallest window of an end over all streams, bytes (docs/stp.md §15.8).
const SMALLEST_WINDOW: u64 = 64 << 10;

/// The flows of each association, in the order of the file.
type FlowsByAssociation<'a> = BTreeMap<&'a str, Vec<(usize, &'a Flow, &'a Stp)>>;

fn transport_of(flow: usize) -> KeyPath {
    KeyPath::default().key("flows").index(flow).key("transport")
}

fn members(scenario: &Scenario) -> FlowsByAssociation<'_> {
    let mut members = FlowsByAssociation::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Transport::Stp(stp) = &flow.transport
            && let Some(name) = &stp.association
        {
            members.entry(name).or_default().push((index, flow, stp));
        }
    }
    members
}

/// Checks each flow, and pairs of flows of one association, before their paths are known.
pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Transport::Stp(stp) = &flow.transport {
            one(flow, stp, &KeyPath::default().key("flows").index(index), out);
        }
    }
    for (name, splice) in &scenario.splices {
        let at = KeyPath::default().key("splices").key(name);
        for (key, transport) in [("transport", &splice.transport), ("transport_back", &splice.transport_back)]
        {
            let Some(Transport::Stp(stp)) = transport else { continue };
            let named = [
                ("association", stp.association.is_some()),
                ("priority", stp.priority.is_some()),
                ("weight", stp.weight.is_some()),
            ];
            for (inner, _) in named.into_iter().filter(|(_, given)| *given) {
                out.push(
                    || at.key(key).key(inner),
                    || match inner {
                        "association" => {
                            "the association of a splice is a key of the splice; expected association beside transport".into()
                        }
                        _ => format!("the gateways choose the {inner} of a stream; expected no {inner} here"),
                    },
                );
            }
        }
    }
    for (name, flows) in members(scenario) {
        let (first, others) = flows.split_at(1);
        for (index, flow, stp) in others {
            alike(scenario, name, first[0], (*index, flow, stp), out);
        }
    }
}

/// Checks the keys of a stream.
fn one(flow: &Flow, stp: &Stp, at: &KeyPath, out: &mut FindingList) {
    let transport = at.key("transport");
    for (key, given) in [("priority", stp.priority.is_some()), ("weight", stp.weight.is_some())] {
        out.require(
            !given || stp.association.is_some(),
            || transport.key(key),
            || format!("{key} without an association; expected association too, or no {key}"),
        );
    }
    out.require(
        stp.priority.is_none_or(|priority| priority <= 7),
        || transport.key("priority"),
        || format!("priority of {}; expected 0 to 7, of which 0 goes first", stp.priority.unwrap_or(0)),
    );
    out.require(
        stp.weight != Some(0),
        || transport.key("weight"),
        || "weight of 0 never sends; expected 1 to 255".into(),
    );
    let Some(name) = &stp.association else { return };
    super::name::is_plain(name, || transport.key("association"), out);
    out.require(
        flow.traffic.has_connections(),
        || transport.key("association"),
        || "an association carries connections, and this traffic has none; expected traffic of another kind, or no association".into(),
    );
    out.require(
        flow.real.none(),
        || at.key("real"),
        || "programs cannot use an association; expected no real here, or no association".into(),
    );
    out.require(
        !stp.plain(),
        || transport.key("format"),
        || "format \"plain\" has no associations; expected format \"full\", or no association".into(),
    );
    let packet = stp.packet_size();
    out.require(
        packet >= SMALLEST_PACKET,
        || transport.key("packet_size"),
        || {
            format!(
                "packets of {packet} are too small for an association; expected at least {SMALLEST_PACKET}"
            )
        },
    );
    out.require(
        stp.window.in_bytes(stp.max_payload()) >= SMALLEST_WINDOW,
        || transport.key("window"),
        || {
            let least = Bytes::new(SMALLEST_WINDOW);
            format!("window of {} for all streams of an association; expected at least {least}", stp.window)
        },
    );
}

/// Checks that two flows of an association agree.
fn alike(
    scenario: &Scenario,
    name: &str,
    (first, one, ours): (usize, &Flow, &Stp),
    (index, flow, theirs): (usize, &Flow, &Stp),
    out: &mut FindingList,
) {
    let at = KeyPath::default().key("flows").index(index);
    let with = || format!("flow {} of association {}", quoted(&scenario.flow_name(first)), quoted(name));
    out.require(
        one.ip == flow.ip,
        || at.key("ip"),
        || format!("an IP version other than that of {}; expected the same", with()),
    );
    out.require(
        one.priority == flow.priority,
        || at.key("priority"),
        || {
            let (here, there) = (flow.priority, one.priority);
            format!("packets in band {here}, and those of {} in band {there}; expected the same", with())
        },
    );
    let (ours, theirs) = (ours.shared(), theirs.shared());
    if ours == theirs {
        return;
    }
    let keys = |stp: &Stp| match serde_json::to_value(stp) {
        Ok(Value::Object(keys)) => keys,
        _ => serde_json::Map::new(),
    };
    let (ours, theirs) = (keys(&ours), keys(&theirs));
    let differs = ours.keys().chain(theirs.keys()).find(|key| ours.get(*key) != theirs.get(*key));
    let Some(key) = differs else { return };
    let said = |keys: &serde_json::Map<String, Value>| match keys.get(key) {
        Some(value) => value.to_string(),
        None => "none".into(),
    };
    out.push(
        || if theirs.contains_key(key) { transport_of(index).key(key) } else { transport_of(index) },
        || {
            format!(
                "{key} of {}, and {} has {}; expected the same, since they share one congestion control",
                said(&theirs),
                with(),
                said(&ours)
            )
        },
    );
}

/// Checks that the flows of an association have the same path.
pub(super) fn check_ways(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let members = members(scenario);
    if members.is_empty() {
        return;
    }
    let crossings = network.crossings(scenario);
    for (name, flows) in members {
        for (index, ..) in &flows {
            out.require(
                crossings[*index].is_empty(),
                || transport_of(*index).key("association"),
                || {
                    format!(
                        "association {} on a path that splices divide; expected a path without splices, or no association",
                        quoted(name)
                    )
                },
            );
        }
        let (first, one, _) = flows[0];
        for (index, flow, _) in &flows[1..] {
            let other = &network.routes[*index];
            let ends = |flow: &Flow| {
                let [from, to] = flow.ends();
                format!("{} and {}", quoted(from), quoted(to))
            };
            let already = quoted(&scenario.flow_name(first));
            let at = || transport_of(*index).key("association");
            match joins(network, &network.routes[first], other) {
                Joins::SameWay => {}
                Joins::OtherEnds => out.push(at, || {
                    format!(
                        "association {} joins {} already, by flow {already}; expected the same two ends here, which are {}, or \
                         another name",
                        quoted(name),
                        ends(one),
                        ends(flow)
                    )
                }),
                Joins::OtherWay => out.push(at, || {
                    format!(
                        "association {} has the path of flow {already}, and this flow has another; expected the same",
                        quoted(name)
                    )
                }),
            }
        }
    }
}

/// The relation between the paths of two flows.
enum Joins {
    SameWay,
    OtherWay,
    OtherEnds,
}

/// Compares the paths of two flows, in the same direction or opposite ones.
fn joins(network: &NetworkPlan, one: &RoutePlan, other: &RoutePlan) -> Joins {
    if one == other {
        return Joins::SameWay;
    }
    let [ours, theirs] = [one, other].map(|route| network.ends(route));
    if ours != theirs && ours != [theirs[1], theirs[0]] {
        return Joins::OtherEnds;
    }
    let backward = |hops: &[(usize, Direction)]| -> Vec<(usize, Direction)> {
        hops.iter().rev().map(|(link, direction)| (*link, direction.opposite())).collect()
    };
    let same = match (one, other) {
        (RoutePlan::Links { hops: ours, .. }, RoutePlan::Links { hops: theirs, .. }) => {
            *theirs == backward(ours)
        }
        (RoutePlan::Spread { .. }, RoutePlan::Spread { .. })
        | (RoutePlan::Space { .. }, RoutePlan::Space { .. }) => true,
        _ => false,
    };
    if same { Joins::SameWay } else { Joins::OtherWay }
}
