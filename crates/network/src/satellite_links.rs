//! The parameters of constellations' links: by constellation, kind, terminal, or name.
//!
//! Follows [`Rates`], which decides which table applies.
//! Differs: links are looked up by their names in results, here where the links exist.
//! Leaves out ground links, whose tables name them.

use crate::constellation::unknown;
use crate::direction::LinkDirection;
use crate::error::BuildError;
use skyhop_scenario::network::Direction;
use skyhop_scenario::rates::Rates;
use skyhop_scenario::{self as scenario, Files};
use skyhop_topology::{LinkId, LinkKind, LinkState, Topology};
use std::collections::BTreeMap;

/// Forward and reverse directions.
type BothWays = [LinkDirection; 2];

/// Directions of one constellation's links.
struct OfFleet {
    isl: BothWays,
    fibre: BothWays,
    gsl: BothWays,
    /// Directions of each terminal's links that have a table of their own.
    terminals: Vec<Option<BothWays>>,
}

/// Directions of all links in a network of constellations.
pub(crate) struct SatelliteLinks {
    fleets: Vec<OfFleet>,
    /// Directions of links with a table of their own.
    links: BTreeMap<LinkId, BothWays>,
}

impl SatelliteLinks {
    /// The directions of a scenario's constellations, whose network is `topology`.
    ///
    /// # Errors
    ///
    /// Unreadable traces, and names of links that never exist.
    pub fn of(scenario: &scenario::Scenario, topology: &Topology, files: &Files) -> Result<Self, BuildError> {
        let of = |fleet: scenario::PlacedFleet<'_>| OfFleet::of(&fleet, scenario, topology, files);
        let fleets = scenario.fleets().map(of).collect::<Result<_, _>>()?;
        let mut links = BTreeMap::new();
        let names: Vec<String> = match scenario.fleets().all(|fleet| fleet.model.overrides.is_empty()) {
            true => Vec::new(),
            false => (0..topology.first_ground_link().0).map(|link| topology.name(LinkId(link))).collect(),
        };
        for (number, fleet) in scenario.fleets().enumerate() {
            for (i, own) in fleet.model.overrides.iter().enumerate() {
                let table = fleet.at.key("overrides").index(i);
                let found = names.iter().position(|name| *name == own.link);
                let found = found.filter(|&link| fleet_of(&topology.links()[link], topology) == number);
                let Some(found) = found else {
                    let message = unknown("link", &own.link, &names);
                    return Err(BuildError::new(&table.key("link").to_string(), message));
                };
                let state = &topology.links()[found];
                let parameters = |direction| {
                    let rates = rates(&fleet, scenario, state.kind, terminal(state, topology), direction);
                    LinkDirection::of(&rates.with(own, &table, direction), files)
                };
                links.insert(LinkId(found as u32), both_ways(parameters)?);
            }
        }
        Ok(Self { fleets, links })
    }

    /// Forward and reverse directions of a link.
    pub fn both_ways(&self, link: LinkId, state: &LinkState, topology: &Topology) -> &BothWays {
        if let Some(own) = self.links.get(&link) {
            return own;
        }
        let fleet = &self.fleets[fleet_of(state, topology)];
        match state.kind {
            LinkKind::Gsl => {
                let own = topology.terminal_index(state.a).and_then(|index| fleet.terminals[index].as_ref());
                own.unwrap_or(&fleet.gsl)
            }
            LinkKind::Fibre => &fleet.fibre,
            _ => &fleet.isl,
        }
    }
}

impl OfFleet {
    fn of(
        fleet: &scenario::PlacedFleet<'_>,
        scenario: &scenario::Scenario,
        topology: &Topology,
        files: &Files,
    ) -> Result<Self, BuildError> {
        let of_kind = |kind, terminal: Option<&str>| {
            both_ways(|direction| {
                LinkDirection::of(&rates(fleet, scenario, kind, terminal, direction), files)
            })
        };
        let own = |terminal: &skyhop_orbit::Terminal| {
            let own = scenario.terminals.get(&terminal.name).is_some_and(|terminal| terminal.gsl.is_some());
            own.then(|| of_kind(LinkKind::Gsl, Some(&terminal.name))).transpose()
        };
        Ok(Self {
            isl: of_kind(LinkKind::IntraPlane, None)?,
            fibre: of_kind(LinkKind::Fibre, None)?,
            gsl: of_kind(LinkKind::Gsl, None)?,
            terminals: topology.terminals().iter().map(own).collect::<Result<_, _>>()?,
        })
    }
}

/// Index of the constellation that a link belongs to; 0 for fibre.
fn fleet_of(state: &LinkState, topology: &Topology) -> usize {
    if topology.is_satellite(state.b) { topology.fleets().index_of(state.b) } else { 0 }
}

/// Name of the terminal at a link's first end; `None` for an ISL.
fn terminal<'a>(state: &LinkState, topology: &'a Topology) -> Option<&'a str> {
    topology.terminal_index(state.a).map(|index| &*topology.terminals()[index].name)
}

/// Rate, queue, losses and schedule of a kind of link, or of a terminal's link, from the scenario's tables.
fn rates<'a>(
    fleet: &scenario::PlacedFleet<'a>,
    scenario: &'a scenario::Scenario,
    kind: LinkKind,
    terminal: Option<&str>,
    direction: Direction,
) -> Rates<'a> {
    let scenario::PlacedFleet { at, model, .. } = fleet;
    match kind {
        LinkKind::Gsl => {
            let terminal = terminal.and_then(|name| scenario.terminals.get_key_value(name));
            let terminal = terminal.map(|(name, terminal)| (name.as_str(), terminal));
            Rates::of_gsl(model, at, terminal, direction)
        }
        LinkKind::Fibre => Rates::of_kind(&model.fibre, at.key("fibre")),
        _ => Rates::of_kind(&model.isl, at.key("isl")),
    }
}

fn both_ways(
    parameters: impl Fn(Direction) -> Result<LinkDirection, BuildError>,
) -> Result<BothWays, BuildError> {
    Ok([parameters(Direction::Forward)?, parameters(Direction::Reverse)?])
}
