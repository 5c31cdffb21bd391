//! Checks of the users of a gateway: rates that pass a packet, hosts that have flows, entries that are reached.
//!
//! Follows docs/gateway.md: the least rate, entries in order, and users at one end of an association.
//! Differs from a gateway's file, where users are addresses, known or not: here a host without a flow is a mistake.
//! Leaves out quotas, which are not simulated.

use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::{Scenario, Splice, SpliceUser};
use crate::network::NetworkPlan;
use crate::path::KeyPath;
use skyhop_units::Rate;
use std::collections::{BTreeMap, BTreeSet};

/// The least rate of a user, bit/s, as in a gateway's file.
const LEAST: u64 = 8000;

fn key(splice: &str) -> KeyPath {
    KeyPath::default().key("splices").key(splice).key("users")
}

/// Checks entries before the paths of flows are known.
pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let mut limiting: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, splice) in scenario.splices.iter().filter(|(_, splice)| !splice.users.is_empty()) {
        let at = || key(name);
        match &splice.association {
            None => out.push(at, || {
                "users without an association, which they share; expected association too, or no users".into()
            }),
            Some(association) => {
                if let Some(first) = limiting.insert(association, name) {
                    let message = || {
                        format!(
                            "splices.{first} has the users of this association already; expected users at one of the two, the terminal"
                        )
                    };
                    out.push(at, message);
                }
            }
        }
        entries(splice, &at(), out);
    }
}

fn entries(splice: &Splice, at: &KeyPath, out: &mut FindingList) {
    let mut seen = BTreeSet::new();
    let mut all = false;
    for (number, entry) in splice.users.iter().enumerate() {
        let at = || at.index(number);
        out.require(!all, at, || "an entry before this one is for all hosts; expected it last".into());
        all |= entry.hosts.is_none();
        for (key, rate) in rates(entry) {
            out.require(
                rate.as_bps() >= LEAST,
                || at().key(key),
                || {
                    format!(
                        "{rate} is less than 8 kbit/s, at which a packet takes more than a second; expected at least that"
                    )
                },
            );
        }
        // An entry that limits nothing takes its hosts out of those behind it.
        out.require(rates(entry).next().is_some() || number + 1 < splice.users.len(), at, || {
            "users without a rate; expected up, down or both".into()
        });
        let Some(hosts) = &entry.hosts else { continue };
        out.require(
            !hosts.is_empty(),
            || at().key("hosts"),
            || "no hosts; leave the key out for all hosts".into(),
        );
        for (place, host) in hosts.iter().enumerate() {
            out.require(
                seen.insert(host),
                || at().key("hosts").index(place),
                || {
                    format!(
                        "host {} is in the entries twice, and the first holds; expected it once",
                        quoted(host)
                    )
                },
            );
        }
    }
}

fn rates(entry: &SpliceUser) -> impl Iterator<Item = (&'static str, Rate)> {
    [("up", entry.up), ("down", entry.down)].into_iter().filter_map(|(key, rate)| Some((key, rate?)))
}

/// Checks that each host has a flow through its gateway.
pub(super) fn check_ways(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    if scenario.splices.values().all(|splice| splice.users.is_empty()) {
        return;
    }
    let mut near: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); scenario.splices.len()];
    for (crossed, route) in network.crossings(scenario).iter().zip(&network.routes) {
        for crossing in crossed {
            if let Some(inner) = crossing.inner {
                near[crossing.splice].insert(network.ends(route)[1 - inner]);
            }
        }
    }
    for ((name, splice), near) in scenario.splices.iter().zip(&near) {
        for (number, entry) in splice.users.iter().enumerate() {
            for (place, host) in entry.hosts.iter().flatten().enumerate() {
                let one = SpliceUser { hosts: Some(vec![host.clone()]), up: None, down: None };
                out.require(
                    near.iter().any(|other| one.has(other)),
                    || key(name).index(number).key("hosts").index(place),
                    || {
                        let known = expected(host, near.iter().copied());
                        format!(
                            "no flow through this gateway begins or ends on its side at {}{known}",
                            quoted(host)
                        )
                    },
                );
            }
        }
    }
}
