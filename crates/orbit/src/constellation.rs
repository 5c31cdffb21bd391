//! A constellation: satellites from any source, with one way to ask where they are.
//!
//! Follows HT 3.2.3: a node's position is a function of time, asked for whenever a packet needs it.
//! Differs: sources are an enum, so that asking for all positions is one loop and not a call per satellite.
//! Left out: mixtures of sources (a GEO ring above a shell) in one constellation.

use std::f64::consts::{PI, TAU};

use crate::catalogue::Catalogue;
use crate::circular::CircularOrbits;
use crate::earth::EarthModel;
use crate::elements::{ElementSet, ElementsError};
use crate::epoch::Epoch;
use crate::planes::Planes;
use crate::shell::{Shell, ShellError};
use crate::vec3::Ecef;
use crate::{omm, tle};

/// Satellites numbered from zero, over one Earth, with t = 0 at the constellation's epoch.
#[derive(Debug, Clone)]
pub struct Constellation {
    earth: EarthModel,
    source: Source,
    planes: Planes,
}

#[derive(Debug, Clone)]
enum Source {
    Circular(CircularOrbits),
    Geostationary(CircularOrbits),
    Catalogue(Catalogue),
}

impl Constellation {
    /// A shell of circular orbits; satellite p.s has index p * satellites_per_plane + s and that name.
    pub fn from_shell(earth: EarthModel, shell: &Shell) -> Result<Self, ShellError> {
        let orbits = shell.orbits(&earth)?;
        let planes = Planes::regular(shell.planes, shell.satellites_per_plane, shell.wraps());
        Ok(Self { earth, source: Source::Circular(orbits), planes })
    }

    /// Geostationary satellites at east longitudes in radians, named `geo-0` and on. They form no planes.
    /// One whose longitude is not finite is seen by no terminal.
    pub fn geostationary(earth: EarthModel, longitudes_rad: &[f64]) -> Self {
        let mut orbits = CircularOrbits::geostationary(&earth);
        for &longitude_rad in longitudes_rad {
            orbits.push(earth.geostationary_radius_m(), 0.0, 0.0, longitude_rad);
        }
        let planes = Planes::none(longitudes_rad.len());
        Self { earth, source: Source::Geostationary(orbits), planes }
    }

    /// Satellites of a TLE file. `epoch` is t = 0; by default the newest epoch of the elements.
    pub fn from_tle(file: &[u8], epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        Self::from_elements(tle::parse(file)?, epoch)
    }

    /// Satellites of an OMM JSON file. `epoch` as in [`Self::from_tle`].
    pub fn from_omm(file: &[u8], epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        Self::from_elements(omm::parse(file)?, epoch)
    }

    /// Satellites of parsed elements, over the WGS 84 ellipsoid. `epoch` as in [`Self::from_tle`].
    pub fn from_elements(sets: Vec<ElementSet>, epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        let catalogue = Catalogue::new(sets, epoch)?;
        let planes = Planes::infer(&catalogue.orbits_at_epoch());
        Ok(Self { earth: EarthModel::WGS84, source: Source::Catalogue(catalogue), planes })
    }

    /// The same satellites over another Earth for terminals and the speed of light; orbits stay as they are.
    pub fn with_earth(self, earth: EarthModel) -> Self {
        Self { earth, ..self }
    }

    /// The Earth that terminals stand on.
    pub fn earth(&self) -> &EarthModel {
        &self.earth
    }

    /// UTC of t = 0; `None` for invented constellations, which have no date.
    pub fn epoch(&self) -> Option<Epoch> {
        match &self.source {
            Source::Catalogue(catalogue) => Some(catalogue.epoch()),
            Source::Circular(_) | Source::Geostationary(_) => None,
        }
    }

    /// Number of satellites, unavailable ones included.
    pub fn len(&self) -> usize {
        match &self.source {
            Source::Circular(orbits) | Source::Geostationary(orbits) => orbits.len(),
            Source::Catalogue(catalogue) => catalogue.len(),
        }
    }

    /// Whether there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A satellite's name: `plane.slot` in a shell, the catalogue's name for elements.
    pub fn name(&self, satellite: u32) -> String {
        match &self.source {
            Source::Circular(_) => match self.planes.plane_slot(satellite) {
                Some((plane, slot)) => format!("{plane}.{slot}"),
                None => format!("satellite-{satellite}"),
            },
            Source::Geostationary(_) => format!("geo-{satellite}"),
            Source::Catalogue(catalogue) => {
                let elements = catalogue.elements(satellite as usize);
                elements.map_or_else(|| format!("satellite-{satellite}"), |set| set.name.clone())
            }
        }
    }

    /// Plane and slot of a satellite that takes part in the pattern; see [`Planes`].
    pub fn plane_slot(&self, satellite: u32) -> Option<(u32, u32)> {
        self.planes.plane_slot(satellite)
    }

    /// The planes.
    pub fn planes(&self) -> &Planes {
        &self.planes
    }

    /// The elements behind it, if it came from a catalogue.
    pub fn catalogue(&self) -> Option<&Catalogue> {
        match &self.source {
            Source::Catalogue(catalogue) => Some(catalogue),
            Source::Circular(_) | Source::Geostationary(_) => None,
        }
    }

    /// Where a satellite is at `t_s`; `None` if it is unavailable or does not exist.
    pub fn position_ecef(&self, satellite: u32, t_s: f64) -> Option<Ecef> {
        match &self.source {
            Source::Circular(orbits) | Source::Geostationary(orbits) => {
                orbits.position_ecef(satellite as usize, t_s)
            }
            Source::Catalogue(catalogue) => catalogue.position_ecef(satellite as usize, t_s),
        }
    }

    /// Where all satellites are at `t_s`; `out` is replaced. Returns how many are unavailable.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) -> usize {
        match &self.source {
            Source::Circular(orbits) | Source::Geostationary(orbits) => orbits.positions_ecef(t_s, out),
            Source::Catalogue(catalogue) => catalogue.positions_ecef(t_s, out),
        }
        out.iter().filter(|position| position.is_none()).count()
    }
}

/// The difference between two longitudes in radians, 0 to pi.
pub fn longitude_difference_rad(a_rad: f64, b_rad: f64) -> f64 {
    let apart = (a_rad - b_rad).rem_euclid(TAU);
    if apart > PI { TAU - apart } else { apart }
}
