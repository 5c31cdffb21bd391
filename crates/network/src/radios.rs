//! The directions of a constellation's links: by kind, by terminal, by name.
//!
//! Follows [`Rates`], which says which table counts.
//! Differs: links are looked up by the names that results print, here where they exist.
//! Leaves out links on the ground, whose tables name them.

use crate::constellation::unknown;
use crate::error::BuildError;
use crate::radio::Radio;
use skyhop_scenario::network::Direction;
use skyhop_scenario::rates::Rates;
use skyhop_scenario::{self as scenario, Files, KeyPath};
use skyhop_topology::{LinkId, LinkKind, LinkState, Topology};
use std::collections::BTreeMap;

/// Forward and reverse.
type BothWays = [Radio; 2];

/// What every link of a constellation is made of.
pub(crate) struct Radios {
    isl: BothWays,
    fibre: BothWays,
    gsl: BothWays,
    /// Of terminals that have something of their own, by their number.
    terminals: Vec<Option<BothWays>>,
    /// Of links that have.
    links: BTreeMap<LinkId, BothWays>,
}

impl Radios {
    /// Of the constellation `model`, which stands at `at` in its scenario.
    ///
    /// # Errors
    ///
    /// Traces that cannot be read, and links that never exist.
    pub fn of(
        model: &scenario::Constellation,
        at: &KeyPath,
        scenario: &scenario::Scenario,
        topology: &Topology,
        files: &Files,
    ) -> Result<Self, BuildError> {
        let named = |name: &str| scenario.terminals.get_key_value(name);
        let gsl = |name: Option<&str>, direction| {
            let terminal = name.and_then(named).map(|(name, terminal)| (name.as_str(), terminal));
            Rates::of_gsl(model, at, terminal, direction)
        };
        let kind = |kind: LinkKind, name: Option<&str>, direction| match kind {
            LinkKind::Gsl => gsl(name, direction),
            LinkKind::Fibre => Rates::of_kind(&model.fibre, at.key("fibre")),
            LinkKind::IntraPlane | LinkKind::InterPlane | LinkKind::CrossSeam | LinkKind::Ground => {
                Rates::of_kind(&model.isl, at.key("isl"))
            }
        };
        let of_kind = |which, name: Option<&str>| {
            both_ways(|direction| Radio::of(&kind(which, name, direction), files))
        };
        let own = |terminal: &skyhop_orbit::Terminal| {
            let own = named(&terminal.name).is_some_and(|(_, terminal)| terminal.gsl.is_some());
            own.then(|| of_kind(LinkKind::Gsl, Some(&terminal.name))).transpose()
        };
        let mut links = BTreeMap::new();
        let names: Vec<String> = match model.overrides.is_empty() {
            true => Vec::new(),
            false => (0..topology.first_ground_link().0).map(|link| topology.name(LinkId(link))).collect(),
        };
        for (i, own) in model.overrides.iter().enumerate() {
            let table = at.key("overrides").index(i);
            let Some(found) = names.iter().position(|name| *name == own.link) else {
                let message = unknown("link", &own.link, &names);
                return Err(BuildError::new(&table.key("link").to_string(), message));
            };
            let state = &topology.links()[found];
            let terminal = topology.terminal_index(state.a).map(|index| &*topology.terminals()[index].name);
            let radio = |direction| {
                let rates = kind(state.kind, terminal, direction).with(own, &table, direction);
                Radio::of(&rates, files)
            };
            links.insert(LinkId(found as u32), both_ways(radio)?);
        }
        Ok(Self {
            isl: of_kind(LinkKind::IntraPlane, None)?,
            fibre: of_kind(LinkKind::Fibre, None)?,
            gsl: of_kind(LinkKind::Gsl, None)?,
            terminals: topology.terminals().iter().map(own).collect::<Result<_, _>>()?,
            links,
        })
    }

    /// Forward and reverse of a link.
    pub fn both_ways(&self, link: LinkId, state: &LinkState, topology: &Topology) -> &BothWays {
        if let Some(own) = self.links.get(&link) {
            return own;
        }
        match state.kind {
            LinkKind::Gsl => {
                let own = topology.terminal_index(state.a).and_then(|index| self.terminals[index].as_ref());
                own.unwrap_or(&self.gsl)
            }
            LinkKind::Fibre => &self.fibre,
            LinkKind::IntraPlane | LinkKind::InterPlane | LinkKind::CrossSeam | LinkKind::Ground => &self.isl,
        }
    }
}

fn both_ways(radio: impl Fn(Direction) -> Result<Radio, BuildError>) -> Result<BothWays, BuildError> {
    Ok([radio(Direction::Forward)?, radio(Direction::Reverse)?])
}
