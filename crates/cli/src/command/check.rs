//! `skyhop check`: what a scenario means, or what is wrong with it.
//!
//! Follows the way of a run up to its first event, so that what passes here can be run.
//! Differs from a run: nothing happens.
//! Leaves out opinions on the scenario.

use crate::args::Check;
use crate::engine;
use crate::failure::Failure;
use crate::table::count;
use skyhop_scenario::network::{Direction, Network, Route, resolve};
use skyhop_scenario::{Loaded, Scenario};
use std::fmt::Write;

/// Checks a scenario and says how its flows run.
pub fn check(args: &Check) -> Result<(), Failure> {
    let loaded = engine::load(&args.file, &args.sets)?;
    engine::build(&loaded, loaded.scenario.seed)?;
    super::warn(&loaded, false);
    super::print(&meaning(&args.file.display().to_string(), &loaded))
}

fn meaning(file: &str, loaded: &Loaded) -> String {
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
    // It resolved when it was loaded.
    let Ok(network) = resolve(scenario) else { return out };
    let names: Vec<&String> = scenario.links.keys().collect();
    for (i, route) in network.routes.iter().enumerate().take(MOST_FLOWS) {
        let way = way(&network, &names, route);
        let _ = writeln!(out, "  {}: {way}", scenario.flow_name(i));
    }
    if network.routes.len() > MOST_FLOWS {
        let _ = writeln!(out, "  and {} more flows", count((network.routes.len() - MOST_FLOWS) as u64));
    }
    out + &delays(scenario, &network)
}

/// `server -access-> access~satellite -satellite-> user`; a link crossed backwards has its arrow on the left.
fn way(network: &Network, names: &[&String], route: &Route) -> String {
    match route {
        Route::Space { from, to } => format!("{from} ~ constellation ~ {to}"),
        Route::Spread { from, to, hops } => {
            let (from, to) = (&network.nodes[*from], &network.nodes[*to]);
            format!("{from} ~ {} on several ways ~ {to}", plural(hops.len(), "link"))
        }
        Route::Links { from, hops, .. } => {
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

/// The RTT that propagation alone gives the first flow, which is what people get wrong by a factor of two.
fn delays(scenario: &Scenario, network: &Network) -> String {
    let Some(Route::Links { hops, .. }) = network.routes.first() else { return String::new() };
    let links: Vec<_> = scenario.links.values().collect();
    let round_trip = hops.iter().map(|(link, _)| {
        let link = links[*link];
        link.delay + link.reverse.as_ref().and_then(|r| r.delay).unwrap_or(link.delay)
    });
    let round_trip = round_trip.fold(skyhop_units::Span::ZERO, |sum, d| sum + d);
    format!("  {}: {round_trip} there and back, without queues\n", scenario.flow_name(0))
}

fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", count(n as u64), if n == 1 { "" } else { "s" })
}
