//! Warnings of `skyhop delay` and `skyhop route` about answers that may mislead.
//!
//! Examines the networks of the questions, and never changes an answer.
//! Differs from an error: the numbers are right, but may not be what the user expects.
//! Leaves out stale elements, which are reported when they are read.

use super::satellites::LoadedSatellites;
use super::values::TimesArgs;
use crate::failure::Failure;
use skyhop_network::apart::why_apart;
use skyhop_orbit::Terminal;
use skyhop_routing::{PathMetric, RoutedTopology};
use skyhop_topology::{NodeId, Topology};

/// Warns of packets without a path although both ends held a satellite.
pub fn tell_apart(topology: &Topology, [from, to]: [NodeId; 2], apart: u64, packets: u64) {
    if apart == 0 {
        return;
    }
    let (a, b) = (topology.node_name(from), topology.node_name(to));
    eprintln!(
        "warning: {a} to {b}: {apart} of {packets} packets found no path although both ends hold satellites: {}",
        why_apart(topology)
    );
}

/// The path at `t_s` if each terminal held all satellites in view: its delay in ms and its number of satellites.
pub fn with_all_in_view(topology: &Topology, ends: [&str; 2], t_s: f64) -> Option<(f64, usize)> {
    let [from, to] = [topology.terminal_named(ends[0])?, topology.terminal_named(ends[1])?];
    let mut network = RoutedTopology::at(topology.clone(), PathMetric::Delay, t_s);
    network.route(t_s);
    let walk = network.walk(from, to, t_s)?;
    Some((walk.delay_s * 1e3, network.satellites(&walk)))
}

/// Warns of pairs whose packets take twice as long as if terminals held all satellites in view.
pub fn tell_detours(
    loaded: &LoadedSatellites,
    terminals: &[Terminal],
    topology: &Topology,
    pairs: &[[NodeId; 2]],
    times: TimesArgs,
    delay_ms: impl Fn(usize, f64) -> Option<f64>,
) -> Result<(), Failure> {
    const LOOKS: u32 = 12;
    // One orbit contains all geometries; later ones only repeat them.
    const MOST_S: f64 = 6000.0;
    let few =
        |node: &NodeId| topology.terminal_index(*node).is_some_and(|end| topology.gsls(end).count() == 1);
    if !pairs.iter().flatten().any(few) {
        return Ok(());
    }
    let all = loaded.all_in_view(terminals)?;
    for (index, ends) in pairs.iter().enumerate() {
        let names = ends.map(|end| topology.node_name(end));
        let mut both: Vec<(f64, f64, usize)> = Vec::new();
        for look in 0..LOOKS {
            let after_s = times.duration_s.min(MOST_S) * f64::from(look) / f64::from(LOOKS);
            let t_s = times.start_s + (after_s / times.step_s).floor() * times.step_s;
            let Some(held_ms) = delay_ms(index, t_s) else { continue };
            if let Some((least_ms, satellites)) = with_all_in_view(&all, [&names[0], &names[1]], t_s) {
                both.push((held_ms, least_ms, satellites));
            }
        }
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(held_ms, least_ms, satellites)) = both.get(both.len() / 2) else { continue };
        if held_ms > 2.0 * least_ms {
            eprintln!(
                "warning: {} to {}: {held_ms:.2} ms with one satellite for each terminal, and {least_ms:.2} ms over {satellites} \
                    with all in view; --antennas all",
                names[0], names[1]
            );
        }
    }
    Ok(())
}
