//! Checks of gateways: two splices with one association between them.
//!
//! Follows docs/gateway.md: a hub and a terminal, TCP outside, one association inside, the same flows at both.
//! Differs from a host, where a terminal names its hub: here both name their association, so that a partner may be missing.
//! Leaves out the keys that every splice has (`splices`).

use super::name;
use crate::error::quoted;
use crate::finding::FindingList;
use crate::model::{Flow, Scenario, Splice, SpliceKind, SpliceUdp, Stp, Transport};
use crate::network::NetworkPlan;
use crate::path::KeyPath;
use skyhop_units::Bytes;
use std::collections::BTreeMap;

/// Smallest memory of a gateway's connections, as in its file.
const SMALLEST_MEMORY: Bytes = Bytes::new(1 << 20);

fn key(name: &str) -> KeyPath {
    KeyPath::default().key("splices").key(name)
}

/// The splices of each association, in order of name.
fn pairs(scenario: &Scenario) -> BTreeMap<&str, Vec<(&str, &Splice)>> {
    let mut pairs: BTreeMap<&str, Vec<(&str, &Splice)>> = BTreeMap::new();
    for (name, splice) in &scenario.splices {
        if let Some(association) = &splice.association {
            pairs.entry(association).or_default().push((name, splice));
        }
    }
    pairs
}

/// Checks each pair before the paths of flows are known.
pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    for (association, splices) in pairs(scenario) {
        for (name, splice) in &splices {
            one(name, splice, out);
        }
        let carrying: Vec<&str> = splices
            .iter()
            .filter(|(_, splice)| splice.udp == Some(SpliceUdp::Carry))
            .map(|(name, _)| *name)
            .collect();
        for name in carrying.iter().skip(1) {
            out.push(
                || key(name).key("udp"),
                || {
                    let first = carrying[0];
                    format!(
                        "splices.{first} carries the datagrams of both directions already; expected udp at one of the two, the terminal"
                    )
                },
            );
        }
        let (first, _) = splices[0];
        match &splices[..] {
            [] => {}
            [_] => out.push(
                || key(first).key("association"),
                || {
                    let association = quoted(association);
                    format!(
                        "no other splice names association {association}; expected two, one at each end of it"
                    )
                },
            ),
            [(_, near), (other, far)] => alike(first, near, (other, far), out),
            [_, _, others @ ..] => {
                for (name, _) in others {
                    out.push(
                        || key(name).key("association"),
                        || {
                            format!(
                                "association {} has two splices already; expected another name",
                                quoted(association)
                            )
                        },
                    );
                }
            }
        }
        let flows = scenario.flows.iter().enumerate();
        let streams = |flow: &Flow| matches!(&flow.transport, Transport::Stp(stp) if stp.association.as_deref() == Some(association));
        if let Some((index, _)) = flows.into_iter().find(|(_, flow)| streams(flow)) {
            out.push(
                || KeyPath::default().key("flows").index(index).key("transport").key("association"),
                || {
                    format!(
                        "association {} is that of splices.{first}; expected another name",
                        quoted(association)
                    )
                },
            );
        }
    }
}

fn one(name: &str, splice: &Splice, out: &mut FindingList) {
    let at = key(name);
    if let Some(association) = &splice.association {
        name::is_plain(association, || at.key("association"), out);
    }
    out.require(
        splice.kind == SpliceKind::Split,
        || at.key("kind"),
        || "an association joins gateways that split; expected kind \"split\", or no association".into(),
    );
    let alone = [
        ("transport_back", splice.transport_back.is_some(), "transport, which is the association's"),
        ("opens", splice.opens.is_some(), "none, since a gateway connects to the server when it is asked to"),
    ];
    for (inner, _, expected) in alone.into_iter().filter(|(_, given, _)| *given) {
        out.push(|| at.key(inner), || format!("{inner} beside an association; expected {expected}"));
    }
    match &splice.transport {
        Some(Transport::Stp(stp)) => transport(stp, &at.key("transport"), out),
        Some(other) => out.push(
            || at.key("transport").key("kind"),
            || format!("an association of {}; expected stp", other.kind()),
        ),
        None => out.push(
            || at.clone(),
            || "an association without transport; expected transport = { kind = \"stp\" }".into(),
        ),
    }
    out.require(
        splice.buffer >= SMALLEST_MEMORY,
        || at.key("buffer"),
        || {
            let buffer = splice.buffer;
            format!(
                "buffer of {buffer} for all connections of a gateway; expected at least {SMALLEST_MEMORY}, or leave it out for \"64 MB\""
            )
        },
    );
}

fn transport(stp: &Stp, at: &KeyPath, out: &mut FindingList) {
    out.require(
        !stp.plain(),
        || at.key("format"),
        || "format \"plain\" has no associations; expected format \"full\"".into(),
    );
    let (packet, least) = (stp.packet_size(), super::association::SMALLEST_PACKET);
    out.require(
        packet >= least,
        || at.key("packet_size"),
        || format!("packets of {packet} are too small for an association; expected at least {least}"),
    );
}

/// Checks that both ends send the same kind of packets. Each has its own rate.
fn alike(first: &str, near: &Splice, (other, far): (&str, &Splice), out: &mut FindingList) {
    let (Some(Transport::Stp(ours)), Some(Transport::Stp(theirs))) = (&near.transport, &far.transport) else {
        return;
    };
    let at = || key(other).key("transport");
    out.require(
        ours.over() == theirs.over(),
        || at().key("over"),
        || format!("the other end, splices.{first}, sends over another protocol; expected the same"),
    );
    out.require(
        ours.packet_size() == theirs.packet_size(),
        || at().key("packet_size"),
        || {
            let (here, there) = (theirs.packet_size(), ours.packet_size());
            format!("packets of {here}, and of {there} at splices.{first}; expected the same")
        },
    );
    out.require(
        near.at != far.at,
        || key(other).key("at"),
        || format!("both ends of an association are at {}; expected two nodes", quoted(&far.at)),
    );
}

/// Checks gateways against the paths of flows: both ends split the same flows, and nothing is between them.
pub(super) fn check_ways(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let names: Vec<(&String, &Splice)> = scenario.splices.iter().collect();
    if names.iter().all(|(_, splice)| splice.association.is_none()) {
        return;
    }
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, crossed) in network.crossings(scenario).iter().enumerate() {
        let flow = &scenario.flows[index];
        let called = || quoted(&scenario.flow_name(index));
        let at = || KeyPath::default().key("flows").index(index);
        for crossing in crossed {
            let (name, splice) = names[crossing.splice];
            let Some(association) = &splice.association else { continue };
            out.require(
                crossing.inner.is_some(),
                || key(name).key("association"),
                || {
                    let association = quoted(association);
                    format!(
                        "flow {} does not pass both splices of association {association}, one after the other; \
                         expected flows that do, named in \"flows\" of both",
                        called()
                    )
                },
            );
            out.require(
                crossing.inner == Some(0)
                    || flow.traffic.in_datagrams()
                    || matches!(flow.transport, Transport::Tcp(_)),
                || at().key("transport").key("kind"),
                || format!("gateways with an association split tcp; expected tcp, or no flow {} in splices.{name}", called()),
            );
            let leader = *first.entry(association).or_insert(index);
            let leads = &scenario.flows[leader];
            let with = || {
                format!("flow {} of association {}", quoted(&scenario.flow_name(leader)), quoted(association))
            };
            out.require(
                leads.ip == flow.ip,
                || at().key("ip"),
                || format!("an IP version other than that of {}; expected the same", with()),
            );
            out.require(
                leads.priority == flow.priority,
                || at().key("priority"),
                || {
                    let (here, there) = (flow.priority, leads.priority);
                    format!(
                        "packets in band {here}, and those of {} in band {there}; expected the same",
                        with()
                    )
                },
            );
        }
    }
}
