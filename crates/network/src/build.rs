//! Builds links and satellites from a scenario.
//!
//! Follows the scenario's own resolution of paths.
//! Differs from a running network: every link that may ever exist is made here.
//! Leaves out reading files.

use crate::capture::Captured;
use crate::direction::LinkDirection;
use crate::error::BuildError;
use crate::ground::GroundGraph;
use crate::links::Links;
use crate::mesh::Mesh;
use crate::mtus::Mtus;
use crate::satellite_links::SatelliteLinks;
use crate::shared::SharedTransmitters;
use crate::space::Space;
use crate::tables::Sharing;
use crate::uplinks::Uplinks;
use skyhop_chance::Seed;
use skyhop_scenario::network::{NetworkPlan, RoutePlan};
use skyhop_scenario::{Files, Scenario};
use skyhop_topology::{LinkId, LinkKind, NodeId};
use skyhop_units::{Span, Time};

pub(crate) struct Built {
    pub links: Links,
    pub mesh: Option<Box<Mesh>>,
    pub captured: Captured,
}

pub(crate) fn build(
    scenario: &Scenario,
    plan: &NetworkPlan,
    files: &Files,
    seed: Seed,
) -> Result<Built, BuildError> {
    let mut links = Links {
        wires: Vec::new(),
        names: Vec::new(),
        space: None,
        shared: None,
        uplinks: Uplinks::of(scenario)?,
        mtus: Mtus::of(&[], 0),
    };
    for ((name, link), ends) in scenario.links.iter().zip(&plan.links) {
        let (a, b) = (NodeId(ends.a as u32), NodeId(ends.b as u32));
        let [there, back] = LinkDirection::both_ways(name, link, files)?;
        let [delay, back_delay] = link.delays();
        links.wires.push(there.wire(name, "forward", Some(delay), a, b, seed));
        links.wires.push(back.wire(name, "reverse", Some(back_delay), b, a, seed));
        links.names.push(name.clone());
        let index = links.wires.len() as u32 - 2;
        links.on_demand(index, there.on_demand(), scenario, None);
    }
    if scenario.has_satellites() {
        let ground = GroundGraph::of(scenario, plan);
        let space = Space::build(scenario, files, ground, links.wires.len(), seed)?;
        let satellite_links = SatelliteLinks::of(scenario, space.topology(), files)?;
        links.shared = SharedTransmitters::of(scenario, space.topology());
        let ground = space.topology().first_ground_link().index();
        for (wires, state) in links.wires.chunks_mut(2).zip(&space.topology().links()[ground..]) {
            (wires[0].from, wires[0].to) = (state.a, state.b);
            (wires[1].from, wires[1].to) = (state.b, state.a);
        }
        for (index, state) in space.topology().links()[..ground].iter().enumerate() {
            let link = LinkId(index as u32);
            let name = space.topology().name(link);
            let [there, back] = satellite_links.both_ways(link, state, space.topology());
            // The ends of fibre do not move.
            let fibre = state.kind == LinkKind::Fibre;
            let delay = fibre.then(|| space.topology().one_way_delay_s(state.a, state.b, 0.0)).flatten();
            let delay = delay.map(Span::from_secs_f64);
            for (parameters, direction, from, to) in
                [(there, "forward", state.a, state.b), (back, "reverse", state.b, state.a)]
            {
                let mut wire = parameters.wire(&name, direction, delay, from, to, seed);
                // All links are down until the first update of the topology.
                wire.link.set_down(Time::ZERO, &skyhop_link::Fixed(Span::ZERO), |_| {});
                if let (Some(shared), LinkKind::Gsl) = (&mut links.shared, state.kind)
                    && let Some(terminal) = space.topology().terminal_index(state.a)
                {
                    let fleet = space.topology().fleets().index_of(state.b);
                    shared.join(links.wires.len(), &mut wire, [terminal, fleet], from == state.a);
                }
                links.wires.push(wire);
            }
            if let (Some(on_demand), Some(terminal)) =
                (there.on_demand(), space.topology().terminal_index(state.a))
            {
                let beam = Uplinks::beam(scenario, &space.topology().terminals()[terminal].name);
                let index = links.wires.len() as u32 - 2;
                links.on_demand(index, Some(on_demand), scenario, Some(beam));
            }
            links.names.push(name);
        }
        links.space = Some(space);
    }
    links.mtus = Mtus::of(&links.wires, 2 * links.fixed());
    let captured = Captured::of(&scenario.record.pcap, &mut links)?;
    let spread = plan.routes.iter().any(|route| matches!(route, RoutePlan::Spread { .. }));
    let sharing = Sharing::new(scenario.routing.spread, seed);
    let mesh = spread.then(|| Box::new(Mesh::new(plan, sharing)));
    Ok(Built { links, mesh, captured })
}
