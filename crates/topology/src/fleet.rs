//! Several constellations in one network: each has its own satellites, link rules and names; numbers are consecutive.
//!
//! Follows the numbering of [`Constellation::mixed`]: satellites and planes of the second follow those of the first.
//! Differs: satellites' names count from zero in each constellation, after its name if there are several.
//! Leaves out links from one constellation to another; they share terminals only.

use std::ops::Range;

use skyhop_orbit::{Constellation, EarthModel, MixtureError};

use crate::isl;
use crate::link::{LinkState, NodeId};
use crate::rules::Rules;

/// A constellation and the rules of its links.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Name of the constellation; not used if there is only one.
    pub name: String,
    /// Its satellites.
    pub constellation: Constellation,
    /// The rules of its links.
    pub rules: Rules,
}

/// A constellation with the ranges of its numbers.
#[derive(Debug, Clone)]
struct NumberedFleet {
    fleet: Fleet,
    satellites: Range<u32>,
    /// Indices of its ISLs.
    isls: Range<usize>,
}

/// All constellations of a network, at least one.
#[derive(Debug, Clone)]
pub struct Fleets {
    first: NumberedFleet,
    others: Vec<NumberedFleet>,
}

impl Fleets {
    /// The constellations in order, and the links that their rules make possible; `None` if there is no constellation.
    pub(crate) fn new(fleets: Vec<Fleet>) -> Option<(Self, Vec<LinkState>)> {
        let (mut satellites, mut links) = (0u32, Vec::new());
        let place =
            |fleet: Fleet| {
                let first = satellites;
                satellites += fleet.constellation.len() as u32;
                let begin = links.len();
                links.extend(isl::possible(&fleet.constellation, &fleet.rules).into_iter().map(|link| {
                    LinkState { a: NodeId(link.a.0 + first), b: NodeId(link.b.0 + first), ..link }
                }));
                NumberedFleet { fleet, satellites: first..satellites, isls: begin..links.len() }
            };
        let mut placed = fleets.into_iter().map(place);
        let first = placed.next()?;
        let others = placed.collect();
        Some((Self { first, others }, links))
    }

    /// The satellites of all constellations as one.
    pub(crate) fn mixed(&self) -> Result<Constellation, MixtureError> {
        let all = Constellation::mixed(self.iter().map(|fleet| fleet.constellation.clone()).collect())?;
        Ok(all.with_earth(common_earth(self.iter().map(|fleet| &fleet.constellation))))
    }

    fn placed(&self) -> impl Iterator<Item = &NumberedFleet> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The constellations in order.
    pub fn iter(&self) -> impl Iterator<Item = &Fleet> {
        self.placed().map(|placed| &placed.fleet)
    }

    /// Number of constellations, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    fn at(&self, satellite: NodeId) -> (usize, &NumberedFleet) {
        let behind = self.others.partition_point(|placed| placed.satellites.start <= satellite.0);
        (behind, behind.checked_sub(1).map_or(&self.first, |index| &self.others[index]))
    }

    /// Index of a satellite's constellation.
    pub fn index_of(&self, satellite: NodeId) -> usize {
        self.at(satellite).0
    }

    /// The constellation with this index, or the first if there is none.
    fn numbered(&self, index: usize) -> &NumberedFleet {
        index.checked_sub(1).and_then(|index| self.others.get(index)).unwrap_or(&self.first)
    }

    /// The rules of a constellation.
    pub fn rules(&self, index: usize) -> &Rules {
        &self.numbered(index).fleet.rules
    }

    /// Interval between updates of the network, s: the shortest of the constellations'.
    pub fn update_interval_s(&self) -> f64 {
        self.iter().map(|fleet| fleet.rules.update_interval_s).fold(f64::INFINITY, f64::min)
    }

    /// The rules of a satellite's constellation.
    pub fn rules_of(&self, satellite: NodeId) -> &Rules {
        &self.at(satellite).1.fleet.rules
    }

    /// Numbers of the satellites of a constellation.
    pub fn satellites(&self, index: usize) -> Range<u32> {
        self.numbered(index).satellites.clone()
    }

    /// Indices of the ISLs of a constellation.
    pub(crate) fn isls(&self, index: usize) -> Range<usize> {
        self.numbered(index).isls.clone()
    }

    /// Name of a constellation; `None` if it is the only one.
    pub(crate) fn name(&self, index: usize) -> Option<&str> {
        (self.len() > 1).then(|| self.numbered(index).fleet.name.as_str())
    }

    /// Returns true if a satellite may serve terminals. Where there are planes, satellites outside of them are spares.
    pub(crate) fn serves(&self, satellite: NodeId) -> bool {
        let (_, NumberedFleet { fleet, satellites, .. }) = self.at(satellite);
        let planes = fleet.constellation.planes();
        fleet.rules.spares_serve
            || planes.is_empty()
            || planes.plane_slot(satellite.0 - satellites.start).is_some()
    }

    /// Name of a satellite, such as `3.4`, or `leo:3.4` among several constellations.
    pub fn satellite_name(&self, satellite: NodeId) -> String {
        let (index, NumberedFleet { fleet, satellites, .. }) = self.at(satellite);
        let name = fleet.constellation.name(satellite.0.wrapping_sub(satellites.start));
        self.name(index).map_or(name.clone(), |fleet| format!("{fleet}:{name}"))
    }

    /// Plane and slot of a satellite within its constellation, or its name if it has none.
    pub(crate) fn place_name(&self, satellite: NodeId) -> String {
        let (_, NumberedFleet { fleet, satellites, .. }) = self.at(satellite);
        let local = satellite.0.wrapping_sub(satellites.start);
        match fleet.constellation.plane_slot(local) {
            Some((plane, slot)) => format!("{plane}.{slot}"),
            None => fleet.constellation.name(local),
        }
    }

    /// Prefix of a satellite in the names of links, such as `leo:`; empty with one constellation.
    pub(crate) fn prefix(&self, satellite: NodeId) -> String {
        self.name(self.index_of(satellite)).map_or(String::new(), |name| format!("{name}:"))
    }
}

/// The Earth model for the terminals of several constellations: their common one, or the WGS 84 ellipsoid if they differ.
pub fn common_earth<'a>(constellations: impl Iterator<Item = &'a Constellation>) -> EarthModel {
    let mut earths = constellations.map(|constellation| *constellation.earth());
    let first = earths.next().unwrap_or(EarthModel::WGS84);
    if earths.all(|earth| earth == first) { first } else { EarthModel::WGS84 }
}
