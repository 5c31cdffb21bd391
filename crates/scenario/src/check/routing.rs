//! Checks of routing and failures: keys of another scheme, failures of objects that do not exist.
//!
//! Follows the schemes of HT 6.3, 6.5 and 6.6, which route among satellites; only those with global knowledge use gateways.
//! Differs: satellites and links that fail are looked up where orbits are computed.
//! Leaves out whether a convergence time is realistic.

use crate::error::{expected, quoted};
use crate::finding::FindingList;
use crate::model::{Metric, Scenario, Scheme, Spread};
use crate::path::KeyPath;
use skyhop_units::{Bytes, Span};

pub(super) fn check(scenario: &Scenario, out: &mut FindingList) {
    let routing = &scenario.routing;
    let at = KeyPath::default().key("routing");
    let name = routing.scheme.name();
    let shortest = routing.scheme == Scheme::Shortest;
    // These schemes know the whole network, including links and gateways.
    let global = routing.scheme.knows_all();
    let those = Scheme::ALL.iter().filter(|scheme| scheme.knows_all()).map(|scheme| scheme.name());
    let those = those.collect::<Vec<_>>().join(", ");
    out.require(
        global || scenario.has_satellites(),
        || at.key("scheme"),
        || format!("scheme \"{name}\" without a constellation; expected one of {those}"),
    );
    out.require(
        routing.scheme == Scheme::Multipath || routing.spread == Spread::default(),
        || at.key("spread"),
        || format!("scheme \"{name}\" has no spread; expected \"multipath\" with spread"),
    );
    out.require(
        routing.divert_at.is_none() || routing.spread == Spread::Congestion,
        || at.key("divert_at"),
        || "divert_at without spread \"congestion\"; expected both or neither".into(),
    );
    out.require(
        routing.divert_at != Some(0),
        || at.key("divert_at"),
        || "divert_at is 0; expected at least 1 packet that waits".into(),
    );
    out.require(
        shortest || routing.metric == Metric::default() || routing.scheme == Scheme::Multipath,
        || at.key("metric"),
        || format!("scheme \"{name}\" has no metric; expected \"shortest\" with metric"),
    );
    let radius = routing.failure_radius;
    let geographic = scenario.fleets().any(|fleet| fleet.model.scheme == Some(Scheme::Geographic));
    out.require(
        radius > 0,
        || at.key("failure_radius"),
        || "failure_radius is 0; expected at least 1, the ends of the failed link".into(),
    );
    out.require(
        radius == 1 || geographic || routing.scheme == Scheme::Geographic,
        || at.key("failure_radius"),
        || format!("scheme \"{name}\" has no failure_radius; expected \"geographic\" with failure_radius"),
    );
    let several_there = !scenario.constellations.is_empty();
    for (key, given) in
        [("mobility", routing.mobility.is_some()), ("address_delay", routing.address_delay.is_some())]
    {
        let message = || match several_there {
            true => format!(
                "{key} with several constellations; expected it with [constellation] and \"hybrid\", \"geographic\" or \"central\""
            ),
            false => format!(
                "scheme \"{name}\" has no {key}; expected \"hybrid\", \"geographic\" or \"central\" with {key}"
            ),
        };
        out.require(!global || !given, || at.key(key), message);
    }
    out.require(
        routing.upload_entry.is_none() || routing.scheme == Scheme::Central,
        || at.key("upload_entry"),
        || format!("scheme \"{name}\" has no upload_entry; expected \"central\" with upload_entry"),
    );
    out.require(
        routing.upload_entry != Some(Bytes::new(0)),
        || at.key("upload_entry"),
        || "upload_entry is 0 B; expected at least 1 B, such as \"3 B\"".into(),
    );
    let gateway = scenario.terminals.iter().find(|(_, terminal)| terminal.gateway);
    if let Some((gateway, _)) = gateway.filter(|_| !global) {
        out.push(
            || at.key("scheme"),
            || {
                format!(
                    "scheme \"{name}\" cannot route through gateway {}; expected one of {those}",
                    quoted(gateway)
                )
            },
        );
    }
    several(scenario, out);
    own_schemes(scenario, out);
    failures(scenario, out);
    random_failures(scenario, out);
}

/// Checks that several constellations have a scheme with global knowledge, and that preferred constellations exist.
fn several(scenario: &Scenario, out: &mut FindingList) {
    let routing = &scenario.routing;
    let at = KeyPath::default().key("routing");
    let scheme = routing.scheme.name();
    out.require(
        scenario.constellations.is_empty() || routing.scheme.knows_all(),
        || at.key("scheme"),
        || match scenario.constellations.keys().collect::<Vec<_>>()[..] {
            [only] => format!("scheme \"{scheme}\" applies within a constellation; expected it in constellations.{only}.scheme"),
            ref all => format!("scheme \"{scheme}\" stays in one constellation, and there are {}; expected \"shortest\" or \
                \"multipath\", or constellations.NAME.scheme for one of them", all.len()),
        },
    );
    out.require(
        routing.prefer.is_empty() || routing.scheme == Scheme::Shortest,
        || at.key("prefer"),
        || format!("scheme \"{scheme}\" has no prefer; expected \"shortest\" with prefer"),
    );
    for (i, name) in routing.prefer.iter().enumerate() {
        let at = || at.key("prefer").index(i);
        let names = || scenario.constellations.keys().map(String::as_str);
        out.require(scenario.constellations.contains_key(name), at, || {
            format!("unknown constellation {}{}", quoted(name), expected(name, names()))
        });
        let before = routing.prefer[..i].contains(name);
        out.require(!before, at, || format!("{} is preferred twice; expected once", quoted(name)));
    }
    let most = 4;
    out.require(
        routing.prefer.len() <= most,
        || at.key("prefer"),
        || format!("{} constellations; expected at most {most}", routing.prefer.len()),
    );
}

/// Checks the schemes of single constellations: shortest paths must lead from one to another.
fn own_schemes(scenario: &Scenario, out: &mut FindingList) {
    let across = scenario.routing.scheme;
    for fleet in scenario.fleets() {
        let Some(scheme) = fleet.model.scheme else { continue };
        let at = || fleet.at.key("scheme");
        let name = scheme.name();
        if scenario.constellations.is_empty() {
            out.push(at, || {
                format!("scheme \"{name}\" of the only constellation; expected it in routing.scheme")
            });
        } else if scheme == Scheme::Multipath {
            let message = "scheme \"multipath\" spreads over the whole network; expected \"shortest\", \"hybrid\", \"geographic\" \
                or \"central\"";
            out.push(at, || message.into());
        } else if across == Scheme::Multipath {
            let message = || {
                format!(
                    "scheme \"{name}\" within a constellation, and \"multipath\" over all; expected routing.scheme = \"shortest\" with it"
                )
            };
            out.push(at, message);
        }
    }
}

fn random_failures(scenario: &Scenario, out: &mut FindingList) {
    let Some(model) = scenario.random_failures else { return };
    let at = KeyPath::default().key("random_failures");
    if !scenario.has_satellites() {
        out.push(|| at.clone(), || "failures without a constellation; add [constellation]".into());
    }
    // Failures are drawn before the run; a thousand per second for each of many links would not fit memory.
    for (key, mean) in [
        ("satellite_mtbf", model.satellite_mtbf),
        ("isl_mtbf", model.isl_mtbf),
        ("station_mtbf", model.station_mtbf),
        ("mttr", model.mttr),
    ] {
        let least = if key == "mttr" { Span::from_millis(1) } else { Span::from_secs(1) };
        if let Some(mean) = mean.filter(|mean| *mean < least) {
            out.push(
                || at.key(key),
                || format!("mean time of {mean} is too short; expected at least {least}"),
            );
        }
    }
    let means = [model.satellite_mtbf, model.isl_mtbf, model.station_mtbf];
    if model.mttr.is_none() && means.iter().any(Option::is_some) {
        let message = "missing key \"mttr\"; expected a time with its unit, such as \"600 ms\"";
        out.push(|| at.clone(), || message.into());
    }
    for (key, share) in [("satellite_share", model.satellite_share), ("isl_share", model.isl_share)] {
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            out.push(|| at.key(key), || format!("{share} is not a share; expected 0 to 1"));
        }
    }
}

fn failures(scenario: &Scenario, out: &mut FindingList) {
    let all = KeyPath::default().key("failures");
    if !scenario.has_satellites() && !scenario.failures.is_empty() {
        out.push(|| all.clone(), || "failures without a constellation; add [constellation]".into());
    }
    for (i, failure) in scenario.failures.iter().enumerate() {
        let at = all.index(i);
        let what =
            [("satellite", &failure.satellite), ("link", &failure.link), ("station", &failure.station)];
        let given: Vec<&str> = what.iter().filter(|(_, name)| name.is_some()).map(|(key, _)| *key).collect();
        match given.as_slice() {
            [] => {
                out.push(|| at.clone(), || "nothing fails; expected one of satellite, link, station".into())
            }
            [_] => {}
            [_, second, ..] => out.push(
                || at.key(second),
                || format!("both {}; expected one failure for each", given.join(" and ")),
            ),
        }
        if let Some(name) = failure.station.as_ref().filter(|name| !scenario.terminals.contains_key(*name)) {
            let names = scenario.terminals.keys().map(String::as_str);
            let message = || format!("unknown terminal {}{}", quoted(name), expected(name, names));
            out.push(|| at.key("station"), message);
        }
        if let Some(until) = failure.until.filter(|until| *until <= failure.from) {
            out.push(
                || at.key("until"),
                || format!("repaired at {until}, which is not after {}, when it fails", failure.from),
            );
        }
    }
}
