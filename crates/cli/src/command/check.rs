//! `skyhop check`: describes a scenario, or prints its mistakes.
//!
//! Follows a run up to its first event, so that a scenario that passes can be run.
//! Differs from a run: nothing is simulated. Rates and round trips are nominal, at the start.
//! Leaves out the effect of schedules, traces and other flows on a path.

use super::satellites::in_a_line;
use crate::args::Check;
use crate::engine;
use crate::failure::Failure;
use crate::table::count;
use skyhop_scenario::check::about;
use skyhop_scenario::network::{Direction, FlowLeg, NetworkPlan, Over, RoutePlan, resolve};
use skyhop_scenario::{Loaded, Scenario, Scheme};
use skyhop_sim::LegWays;
use skyhop_units::Depth;
use std::fmt::Write;

/// Checks a scenario and describes the paths of its flows.
pub fn check(args: &Check) -> Result<(), Failure> {
    let mut loaded = engine::load(&args.file, &args.sets)?;
    let ways = engine::build(&loaded, loaded.scenario.seed)?;
    loaded.warnings.extend(loaded.path_warnings(&|flow, leg| ways.get(&(flow, leg)).cloned()));
    super::warn(&loaded, false);
    if args.resolved {
        return super::print(&loaded.resolved());
    }
    super::print(&meaning(&args.file.display().to_string(), &loaded, &ways))
}

fn meaning(file: &str, loaded: &Loaded, ways: &LegWays) -> String {
    const MOST_FLOWS: usize = 10;
    let scenario = &loaded.scenario;
    let mut parts = vec![plural(scenario.flows.len(), "flow")];
    if !scenario.links.is_empty() {
        parts.push(plural(scenario.links.len(), "link"));
    }
    if !scenario.terminals.is_empty() {
        parts.push(plural(scenario.terminals.len(), "terminal"));
    }
    let mut out = format!("{file}: ok: {}, {} at most\n", parts.join(", "), scenario.duration);
    // Paths were resolved when the scenario was loaded.
    let Ok(network) = resolve(scenario) else { return out };
    let names: Vec<&String> = scenario.links.keys().collect();
    let fleets: Vec<&str> = scenario.fleets().map(|fleet| fleet.name).collect();
    let crossings = network.crossings(scenario);
    // The first flow of a population represents all of them.
    let members = |i: usize| scenario.members.iter().find(|members| members.flows.contains(&i));
    let shown = |i: &usize| members(*i).is_none_or(|members| members.flows.start == *i);
    let all = network.routes.len() - scenario.members.iter().map(|m| m.flows.len() - 1).sum::<usize>();
    for i in (0..network.routes.len()).filter(shown).take(MOST_FLOWS) {
        let way = way(&network, &names, &fleets, &network.routes[i]);
        let _ = match members(i) {
            None => writeln!(out, "  {}: {way}", scenario.flow_name(i)),
            Some(all) => {
                writeln!(out, "  {}: {}, the first {way}", all.name, plural(all.flows.len(), "flow"))
            }
        };
        for leg in network.legs(scenario, i, &crossings[i], &|flow, leg| ways.get(&(flow, leg)).cloned()) {
            out += &capacity(&leg);
        }
    }
    if all > MOST_FLOWS {
        let _ = writeln!(out, "  and {} more flows", count((all - MOST_FLOWS) as u64));
    }
    let satellites = in_a_line(loaded).map_or_else(String::new, |line| format!("  constellation: {line}\n"));
    out + &satellites + &schemes(scenario, &network) + &emulated(scenario)
}

/// The scenario's settings for an emulation: real ends of flows, and nodes that are devices.
fn emulated(scenario: &Scenario) -> String {
    const MOST: usize = 10;
    let mut out = String::new();
    let said = scenario.flows.iter().enumerate().filter(|(_, flow)| !flow.real.none());
    for (i, flow) in said.clone().take(MOST) {
        let [from, to] = flow.ends();
        let ends = match flow.real.simulated_to() {
            None => format!("{from} and {to} are programs' ends"),
            Some(true) => format!("{from} is a program's end, {to} is simulated"),
            Some(false) => format!("{to} is a program's end, {from} is simulated"),
        };
        let _ = writeln!(out, "  emulated: {}: {ends}", scenario.flow_name(i));
    }
    let more = said.count().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(out, "  emulated: and {} more flows", count(more as u64));
    }
    for (name, node) in &scenario.nodes {
        if let Some(device) = &node.device {
            let _ = writeln!(out, "  emulated: {name}: machines behind {device}");
        }
    }
    out
}

/// The scheme of each of several constellations, and of a single one unless it is shortest paths.
fn schemes(scenario: &Scenario, network: &NetworkPlan) -> String {
    let steps = network.routes.iter().flat_map(|route| match route {
        RoutePlan::Pinned { steps, .. } => &steps[..],
        _ => &[],
    });
    let pinned = steps.map(|step| step.over).collect::<Vec<_>>();
    let mut out = String::new();
    for (index, fleet) in scenario.fleets().enumerate() {
        let scheme = fleet.model.scheme.unwrap_or(scenario.routing.scheme);
        let name = match scenario.constellations.is_empty() {
            true if scheme == Scheme::Shortest => continue,
            true => "constellation".to_owned(),
            false => format!("constellation {}", fleet.name),
        };
        let through =
            |over: &Over| matches!(over, Over::Fleet(fleet) if *fleet == index) || matches!(over, Over::Any);
        let shortest = !scheme.knows_all() && pinned.iter().any(through);
        let paths = if shortest { "; paths pinned through it take shortest ways" } else { "" };
        let _ = writeln!(out, "  {name}: routed by \"{}\"{paths}", scheme.name());
    }
    out
}

/// A path such as `server -access-> access~satellite -satellite-> user`; a link crossed backwards has its arrow on the left.
fn way(network: &NetworkPlan, names: &[&String], fleets: &[&str], route: &RoutePlan) -> String {
    match route {
        RoutePlan::Space { from, to } => format!("{from} ~ constellation ~ {to}"),
        RoutePlan::Pinned { from, steps } => {
            let mut out = from.clone();
            for step in steps {
                let over = match step.over {
                    Over::Link(link, Direction::Forward) => format!("-{}->", names[link]),
                    Over::Link(link, Direction::Reverse) => format!("<-{}-", names[link]),
                    Over::Fleet(fleet) => format!("~ {} ~", fleets[fleet]),
                    Over::Any => "~ constellation ~".into(),
                };
                let _ = write!(out, " {over} {}", step.to);
            }
            out
        }
        RoutePlan::Spread { from, to, hops } => {
            let (from, to) = (&network.nodes[*from], &network.nodes[*to]);
            format!("{from} ~ {} on several ways ~ {to}", plural(hops.len(), "link"))
        }
        RoutePlan::Links { from, hops, .. } => {
            let mut out = network.nodes[*from].clone();
            for (link, direction) in hops {
                let ends = network.links[*link];
                let (node, arrow) = match direction {
                    Direction::Forward => (ends.b, format!("-{}->", names[*link])),
                    Direction::Reverse => (ends.a, format!("<-{}-", names[*link])),
                };
                let _ = write!(out, " {arrow} {}", network.nodes[node]);
            }
            out
        }
    }
}

/// The numbers that limit the goodput of one connection.
fn capacity(leg: &FlowLeg) -> String {
    let product = leg.product();
    let share = if product > 0 { 100.0 * leg.queue_bytes() as f64 / product as f64 } else { f64::INFINITY };
    let queue = match leg.queue.limit() {
        Depth::Time(_) => format!("{} ({})", leg.queue.limit(), about(leg.queue_bytes())),
        Depth::Amount(_) => leg.queue.limit().to_string(),
    };
    let window = leg.window().map_or_else(String::new, |window| format!(", window up to {}", about(window)));
    let share = if share.is_finite() { format!(", {share:.0} % of the product") } else { String::new() };
    format!(
        "    narrowest {} at {}, rtt {}, product {}{window}, queue {queue}{share}\n",
        leg.bottleneck,
        leg.rate,
        leg.rtt,
        about(product),
    )
}

fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", count(n as u64), if n == 1 { "" } else { "s" })
}
