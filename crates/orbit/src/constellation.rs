//! A constellation: satellites from any source, with one interface for their positions.
//!
//! Follows HT 3.2.3: a node's position is a function of time, computed whenever a packet needs it.
//! Differs: sources are an enum, so that computing all positions is one loop and not a call per satellite.
//! Left out: satellites that join or leave later.

use std::f64::consts::{PI, TAU};
use std::fmt;

use crate::catalogue::Catalogue;
use crate::circular::CircularOrbits;
use crate::earth::EarthModel;
use crate::elements::{ElementSet, ElementsError};
use crate::elliptic::{Drift, EllipticOrbits, Kepler, KeplerError};
use crate::epoch::Epoch;
use crate::planes::Planes;
use crate::shell::{PlacedShell, Shell, ShellError};
use crate::vec3::{Ecef, Motion};
use crate::{omm, tle};

/// Satellites numbered from zero, over one Earth, with t = 0 at the constellation's epoch.
#[derive(Debug, Clone)]
pub struct Constellation {
    earth: EarthModel,
    parts: Vec<SourcePart>,
    planes: Planes,
    satellites: u32,
}

/// Satellites of one source.
#[derive(Debug, Clone)]
struct SourcePart {
    /// Number of the part's first satellite.
    first: u32,
    /// First number in the names of its geostationary satellites.
    names_from: u32,
    source: OrbitSource,
}

#[derive(Debug, Clone)]
enum OrbitSource {
    Circular(CircularOrbits),
    Geostationary(CircularOrbits),
    Elliptic(EllipticOrbits),
    Catalogue(Catalogue),
}

impl Constellation {
    /// A shell of circular orbits; satellite p.s has index p * satellites_per_plane + s and that name.
    pub fn from_shell(earth: EarthModel, shell: &Shell) -> Result<Self, ShellError> {
        Self::from_shells(earth, &[PlacedShell::from(*shell)])
    }

    /// Shells of circular orbits in order. Planes are numbered, and satellites named, through all of them.
    pub fn from_shells(earth: EarthModel, shells: &[PlacedShell]) -> Result<Self, ShellError> {
        let mut all = Self { earth, parts: Vec::new(), planes: Planes::none(0), satellites: 0 };
        for placed in shells {
            let shell = placed.shell;
            let orbits = placed.orbits(&earth)?;
            if all.len() + orbits.len() > MAX_SATELLITES {
                return Err(ShellError::Count {
                    planes: shell.planes,
                    per_plane: shell.satellites_per_plane,
                });
            }
            let planes =
                Planes::regular(shell.planes, shell.satellites_per_plane, shell.wraps(), shell.wrap_shift());
            all.push(OrbitSource::Circular(orbits), planes);
        }
        Ok(all)
    }

    /// Geostationary satellites at east longitudes in radians, named `geo-0`, `geo-1`, …. They form no planes. One whose
    /// longitude is not finite is in view of no terminal.
    pub fn geostationary(earth: EarthModel, longitudes_rad: &[f64]) -> Self {
        let mut orbits = CircularOrbits::geostationary(&earth);
        for &longitude_rad in longitudes_rad {
            orbits.push(earth.geostationary_radius_m(), 0.0, 0.0, longitude_rad);
        }
        Self::of(earth, OrbitSource::Geostationary(orbits), Planes::none(longitudes_rad.len()))
    }

    /// Satellites on ellipses over `earth`, which is a sphere for gravity. They are numbered plane by plane if they form planes;
    /// if not, `planes` is [`Planes::none`].
    pub fn from_kepler(
        earth: EarthModel,
        orbits: &[Kepler],
        planes: Planes,
        drift: Drift,
    ) -> Result<Self, KeplerError> {
        let orbits = EllipticOrbits::new(&earth, orbits, drift)?;
        Ok(Self::of(earth, OrbitSource::Elliptic(orbits), planes))
    }

    /// Satellites of a TLE file. `epoch` is t = 0; by default the newest epoch of the elements.
    pub fn from_tle(file: &[u8], epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        Self::from_elements(tle::parse(file)?, epoch)
    }

    /// Satellites of an OMM file, JSON or CSV. `epoch` as in [`Self::from_tle`].
    pub fn from_omm(file: &[u8], epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        Self::from_elements(omm::parse(file)?, epoch)
    }

    /// Satellites of parsed elements, over the WGS 84 ellipsoid. `epoch` as in [`Self::from_tle`].
    pub fn from_elements(sets: Vec<ElementSet>, epoch: Option<Epoch>) -> Result<Self, ElementsError> {
        let catalogue = Catalogue::new(sets, epoch)?;
        let planes = Planes::infer(&catalogue.orbits_at_epoch());
        Ok(Self::of(EarthModel::WGS84, OrbitSource::Catalogue(catalogue), planes))
    }

    /// Several constellations as one, numbered consecutively, over the first one's Earth.
    ///
    /// Catalogued ones must have the same t = 0; for synthetic ones Greenwich is on the x axis then.
    pub fn mixed(parts: Vec<Self>) -> Result<Self, MixtureError> {
        let mut parts = parts.into_iter();
        let mut all = parts.next().ok_or(MixtureError::Nothing)?;
        for part in parts {
            if let Some((first, other)) = all.epoch().zip(part.epoch()).filter(|(a, b)| a != b) {
                return Err(MixtureError::Epochs { first, other });
            }
            if all.len() + part.len() > MAX_SATELLITES {
                return Err(MixtureError::Count { satellites: all.len() + part.len() });
            }
            let mut planes = Some(part.planes);
            for SourcePart { source, .. } in part.parts {
                // The first source holds all planes; the others have none.
                all.push(source, planes.take().unwrap_or_else(|| Planes::none(0)));
            }
        }
        Ok(all)
    }

    fn of(earth: EarthModel, source: OrbitSource, planes: Planes) -> Self {
        let mut one = Self { earth, parts: Vec::new(), planes: Planes::none(0), satellites: 0 };
        one.push(source, planes);
        one
    }

    fn push(&mut self, source: OrbitSource, planes: Planes) {
        let geostationary = |part: &SourcePart| {
            if let OrbitSource::Geostationary(orbits) = &part.source { orbits.len() } else { 0 }
        };
        let names_from = self.parts.iter().map(geostationary).sum::<usize>() as u32;
        let part = SourcePart { first: self.satellites, names_from, source };
        self.satellites += part.source.len() as u32;
        self.parts.push(part);
        self.planes.append(planes);
    }

    /// The same satellites with another Earth for terminals and the speed of light; orbits do not change.
    pub fn with_earth(self, earth: EarthModel) -> Self {
        Self { earth, ..self }
    }

    /// The Earth model for terminals.
    pub fn earth(&self) -> &EarthModel {
        &self.earth
    }

    /// UTC of t = 0; `None` for synthetic constellations, which have no date.
    pub fn epoch(&self) -> Option<Epoch> {
        self.parts.iter().find_map(|part| match &part.source {
            OrbitSource::Catalogue(catalogue) => Some(catalogue.epoch()),
            _ => None,
        })
    }

    /// Number of satellites, unavailable ones included.
    pub fn len(&self) -> usize {
        self.satellites as usize
    }

    /// Returns true if there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.satellites == 0
    }

    /// Name of a satellite: `plane.slot` in a shell, the catalogue's name for elements.
    pub fn name(&self, satellite: u32) -> String {
        let plain = || format!("satellite-{satellite}");
        let Some((part, index)) = self.part(satellite) else { return plain() };
        match &part.source {
            OrbitSource::Geostationary(_) => format!("geo-{}", part.names_from + index as u32),
            OrbitSource::Catalogue(catalogue) => {
                catalogue.elements(index).map_or_else(plain, |set| set.name.clone())
            }
            OrbitSource::Circular(_) | OrbitSource::Elliptic(_) => match self.planes.plane_slot(satellite) {
                Some((plane, slot)) => format!("{plane}.{slot}"),
                None => plain(),
            },
        }
    }

    /// Plane and slot of a satellite that is part of the pattern; see [`Planes`].
    pub fn plane_slot(&self, satellite: u32) -> Option<(u32, u32)> {
        self.planes.plane_slot(satellite)
    }

    /// The planes.
    pub fn planes(&self) -> &Planes {
        &self.planes
    }

    /// The catalogue, if it is the only source.
    pub fn catalogue(&self) -> Option<&Catalogue> {
        match self.parts.as_slice() {
            [SourcePart { source: OrbitSource::Catalogue(catalogue), .. }] => Some(catalogue),
            _ => None,
        }
    }

    /// The elements of a catalogued satellite.
    pub fn elements(&self, satellite: u32) -> Option<&ElementSet> {
        match self.part(satellite)? {
            (SourcePart { source: OrbitSource::Catalogue(catalogue), .. }, index) => {
                catalogue.elements(index)
            }
            _ => None,
        }
    }

    /// Returns true if all satellites are geostationary.
    pub fn is_geostationary(&self) -> bool {
        !self.is_empty() && self.parts.iter().all(|part| matches!(part.source, OrbitSource::Geostationary(_)))
    }

    /// Orbital period of a satellite, s; from perigee to perigee on an ellipse.
    pub fn period_s(&self, satellite: u32) -> Option<f64> {
        let (part, index) = self.part(satellite)?;
        match &part.source {
            OrbitSource::Circular(orbits) | OrbitSource::Geostationary(orbits) => Some(orbits.period_s()),
            OrbitSource::Elliptic(orbits) => orbits.period_s(index),
            OrbitSource::Catalogue(catalogue) => {
                Some(86_400.0 / catalogue.elements(index)?.mean_motion_rev_day())
            }
        }
    }

    /// Position of a satellite at `t_s`; `None` if it is unavailable or does not exist.
    pub fn position_ecef(&self, satellite: u32, t_s: f64) -> Option<Ecef> {
        let (part, index) = self.part(satellite)?;
        match &part.source {
            OrbitSource::Circular(orbits) | OrbitSource::Geostationary(orbits) => {
                orbits.position_ecef(index, t_s)
            }
            OrbitSource::Elliptic(orbits) => orbits.position_ecef(index, t_s),
            OrbitSource::Catalogue(catalogue) => catalogue.position_ecef(index, t_s),
        }
    }

    /// Position and velocity of a satellite at `t_s` in the rotating frame; `None` as in [`Self::position_ecef`].
    pub fn motion(&self, satellite: u32, t_s: f64) -> Option<Motion> {
        let (part, index) = self.part(satellite)?;
        match &part.source {
            OrbitSource::Circular(orbits) | OrbitSource::Geostationary(orbits) => orbits.motion(index, t_s),
            OrbitSource::Elliptic(orbits) => orbits.motion(index, t_s),
            OrbitSource::Catalogue(catalogue) => catalogue.motion(index, t_s),
        }
    }

    /// Replaces `out` by the positions of all satellites at `t_s`. Returns the number that are unavailable.
    pub fn positions_ecef(&self, t_s: f64, out: &mut Vec<Option<Ecef>>) -> usize {
        out.clear();
        for part in &self.parts {
            match &part.source {
                OrbitSource::Circular(orbits) | OrbitSource::Geostationary(orbits) => {
                    orbits.positions_ecef(t_s, out)
                }
                OrbitSource::Elliptic(orbits) => orbits.positions_ecef(t_s, out),
                OrbitSource::Catalogue(catalogue) => catalogue.positions_ecef(t_s, out),
            }
        }
        out.iter().filter(|position| position.is_none()).count()
    }

    /// The part of a satellite, and its index in it.
    fn part(&self, satellite: u32) -> Option<(&SourcePart, usize)> {
        let after = self.parts.partition_point(|part| part.first <= satellite);
        let part = &self.parts[after.checked_sub(1)?];
        let index = (satellite - part.first) as usize;
        (index < part.source.len()).then_some((part, index))
    }
}

impl OrbitSource {
    fn len(&self) -> usize {
        match self {
            Self::Circular(orbits) | Self::Geostationary(orbits) => orbits.len(),
            Self::Elliptic(orbits) => orbits.len(),
            Self::Catalogue(catalogue) => catalogue.len(),
        }
    }
}

/// The difference between two longitudes in radians, 0 to pi.
pub fn longitude_difference_rad(a_rad: f64, b_rad: f64) -> f64 {
    let apart = (a_rad - b_rad).rem_euclid(TAU);
    if apart > PI { TAU - apart } else { apart }
}

const MAX_SATELLITES: usize = 1_000_000;

/// The error for constellations that cannot be mixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MixtureError {
    /// There is no constellation.
    Nothing,
    /// Too many satellites.
    Count {
        /// Number of satellites.
        satellites: usize,
    },
    /// Two catalogues have different epochs.
    Epochs {
        /// Epoch of the first.
        first: Epoch,
        /// Epoch of another.
        other: Epoch,
    },
}

impl fmt::Display for MixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "0 constellations to mix; expected at least 1"),
            Self::Count { satellites } => {
                write!(f, "{satellites} satellites; expected {MAX_SATELLITES} at most")
            }
            Self::Epochs { first, other } => {
                write!(f, "constellations that begin at {first} and at {other}; expected one epoch")
            }
        }
    }
}

impl std::error::Error for MixtureError {}
