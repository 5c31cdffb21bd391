//! Warns of constant-rate traffic of neighbouring terminals that exceeds a satellite's shared capacity.
//!
//! Follows docs/traps.md: the sum of `cbr` flows, headers included, at the instant where it is largest, against `gsl.shared` of
//! their constellation.
//! Differs from a run, which knows each terminal's satellite: terminals within two degrees of latitude and longitude are assumed
//! to share one.
//! Leaves out elastic traffic, terminals far apart, and gateways, which share nothing.

use crate::error::quoted;
use crate::finding::FindingList;
use crate::fleets::PlacedFleet;
use crate::model::{Scenario, Terminal, Traffic};
use crate::network::{Direction, NetworkPlan, RoutePlan};
use crate::rates::Rates;
use skyhop_units::{Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// Side of a cell, degrees: 220 km, much less than the footprint of any satellite.
const CELL_DEG: f64 = 2.0;

/// Start and end of a flow, and its load, bit/s.
type Offer = (Time, Time, f64);

/// The offered traffic of each terminal, by name.
type Offers<'a> = BTreeMap<&'a str, Vec<Offer>>;

pub(super) fn more_than_shared(scenario: &Scenario, network: &NetworkPlan, out: &mut FindingList) {
    let behind = terminals_of_nodes(scenario, network);
    for (fleet, direction) in scenario
        .fleets()
        .flat_map(|fleet| [Direction::Forward, Direction::Reverse].map(|d| (fleet.clone(), d)))
    {
        let Some(most) = fleet.model.gsl.shared(direction) else { continue };
        let key = if direction == Direction::Forward { "up" } else { "down" };
        let mut offers = offers(scenario, network, &behind, direction);
        // A terminal that may choose another constellation is not counted.
        let only = |terminal: &Terminal| {
            fleet.is_seen_by(terminal)
                && scenario.fleets().filter(|one| one.is_seen_by(terminal)).count() == 1
        };
        offers.retain(|name, _| scenario.terminals.get(*name).is_some_and(only));
        let Some((terminals, bps)) = largest(scenario, &fleet, &offers, direction) else { continue };
        if bps <= most.as_bps() as f64 {
            continue;
        }
        let at = fleet.at.key("gsl").key("shared").key(key);
        let message = || {
            let (count, first) = (terminals.len(), quoted(terminals[0]));
            let neighbours = match count {
                1 => format!("the cbr flows of {first}"),
                _ => format!("the cbr flows of {count} neighbouring terminals, such as {first},"),
            };
            format!(
                "{neighbours} offer {:.1} Mbit/s at once, headers included, and a satellite has {most} for all of its terminals: \
                    the excess is queued and dropped",
                bps / 1e6
            )
        };
        out.push(|| at, message);
    }
}

/// For each node, the terminal that is the fewest links away.
fn terminals_of_nodes<'a>(scenario: &'a Scenario, network: &'a NetworkPlan) -> BTreeMap<&'a str, &'a str> {
    let mut around = vec![Vec::new(); network.nodes.len()];
    for ends in &network.links {
        around[ends.a].push(ends.b);
        around[ends.b].push(ends.a);
    }
    let terminal =
        |node: usize| scenario.terminals.get_key_value(&network.nodes[node]).map(|(name, _)| name.as_str());
    let mut behind: Vec<Option<&str>> = (0..network.nodes.len()).map(terminal).collect();
    let mut left: VecDeque<usize> = (0..behind.len()).filter(|node| behind[*node].is_some()).collect();
    while let Some(node) = left.pop_front() {
        for &next in &around[node] {
            if behind[next].is_none() {
                behind[next] = behind[node];
                left.push_back(next);
            }
        }
    }
    let nodes = network.nodes.iter().zip(behind);
    nodes.filter_map(|(node, terminal)| Some((node.as_str(), terminal?))).collect()
}

/// The load that each terminal sends up, or that is sent down to it.
fn offers<'a>(
    scenario: &'a Scenario,
    network: &'a NetworkPlan,
    behind: &BTreeMap<&'a str, &'a str>,
    direction: Direction,
) -> Offers<'a> {
    let end = Time::ZERO + scenario.duration;
    let mut offers = Offers::new();
    for (flow, route) in scenario.flows.iter().zip(&network.routes) {
        let (Traffic::Cbr { rate, size }, RoutePlan::Space { from, to }) = (&flow.traffic, route) else {
            continue;
        };
        let terminal = |end: &'a String| behind.get(end.as_str()).copied().unwrap_or(end.as_str());
        let (from, to) = (terminal(from), terminal(to));
        // Between nodes behind the same terminal packets stay on the ground.
        if from == to {
            continue;
        }
        let bps =
            rate.as_bps() as f64 * (size.get() + flow.ip.header_len() + 8) as f64 / size.get().max(1) as f64;
        let stop = flow.stop.map_or(end, |stop| stop.min(end));
        let own = if direction == Direction::Forward { from } else { to };
        offers.entry(own).or_default().push((flow.start, stop, bps));
    }
    offers.retain(|name, _| scenario.terminals.get(*name).is_some_and(|terminal| !terminal.gateway));
    offers
}

/// The neighbouring terminals of one beam with the largest load at an instant, and the load.
fn largest<'a>(
    scenario: &Scenario,
    fleet: &PlacedFleet,
    offers: &Offers<'a>,
    direction: Direction,
) -> Option<(Vec<&'a str>, f64)> {
    let mut best: Option<(Vec<&str>, f64)> = None;
    // Neighbours on both sides of an edge are within one cell of a shifted grid.
    for shift in [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5)] {
        let mut cells: BTreeMap<(i64, i64, Option<&str>), Vec<&str>> = BTreeMap::new();
        for name in offers.keys() {
            // A moving terminal does not keep its neighbours.
            let Some(Terminal { lat: Some(lat), lon: Some(lon), beam, .. }) = scenario.terminals.get(*name)
            else {
                continue;
            };
            let cell = |deg: f64, shift: f64| (deg / CELL_DEG + shift).floor() as i64;
            let east = lon.as_deg().rem_euclid(360.0);
            let key = (cell(lat.as_deg(), shift.0), cell(east, shift.1), beam.as_deref());
            cells.entry(key).or_default().push(*name);
        }
        for names in cells.into_values() {
            let bps = at_once(
                names.iter().flat_map(|name| capped(scenario, fleet, name, &offers[name], direction)),
            );
            if best.as_ref().is_none_or(|(_, most)| bps > *most) {
                best = Some((names, bps));
            }
        }
    }
    best
}

/// The offered traffic of a terminal, capped at its own rate.
fn capped(
    scenario: &Scenario,
    fleet: &PlacedFleet,
    name: &str,
    offers: &[Offer],
    direction: Direction,
) -> Vec<Offer> {
    let terminal = scenario.terminals.get(name).map(|terminal| (name, terminal));
    let own = Rates::of_gsl(fleet.model, &fleet.at, terminal, direction).rate;
    let all = at_once(offers.iter().copied());
    let share = own.map_or(1.0, |own: Rate| (own.as_bps() as f64 / all).min(1.0));
    offers.iter().map(|(from, to, bps)| (*from, *to, bps * share)).collect()
}

/// The largest sum of loads at one instant.
fn at_once(offers: impl Iterator<Item = Offer>) -> f64 {
    let mut changes: Vec<(Time, bool, f64)> =
        offers.flat_map(|(from, to, bps)| [(from, true, bps), (to, false, -bps)]).collect();
    // A load that ends makes room before another begins.
    changes.sort_by_key(|(at, begins, _)| (*at, *begins));
    let sums = changes.iter().scan(0.0, |sum, (_, _, change)| {
        *sum += change;
        Some(*sum)
    });
    sums.fold(0.0, f64::max)
}
