//! Constellations that the literature knows by name.
//!
//! Follows the publication that each preset of [`PRESETS`] names; HT's and WP's fly over ns-2's Earth, others over WGS 84.
//! Differs: where a publication leaves the phasing between planes open, neighbours are staggered by half a slot.
//! Left out: constellations as they really fly today, which come as elements.

mod table;

use std::fmt;

use crate::constellation::Constellation;
use crate::earth::EarthModel;
use crate::elliptic::{Drift, Kepler};
use crate::planes::Planes;
use crate::shell::PlacedShell;
use skyhop_text::spelling;

pub use table::{IRIDIUM, PRESETS, TELEDESIC, UNDESCRIBED};

/// A published constellation.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    /// Another name that finds it.
    pub alias: Option<&'static str>,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Where its parameters are from, and what is assumed.
    pub source: &'static str,
    /// The Earth it flies over.
    pub earth: EarthModel,
    /// Lowest elevation of service in degrees.
    pub elevation_mask_deg: f64,
    /// Links between its satellites.
    pub isls: Isls,
    /// How many satellites a terminal holds at once, if its publication says so (HT 6.2, WP); otherwise all in view.
    pub antennas: Option<u16>,
    /// What the names of its satellites begin with in catalogues.
    pub catalogued: Option<&'static str>,
    /// Its orbits.
    pub layout: Layout,
}

/// Which inter-satellite links a system has, each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isls {
    /// Satellites ahead in the plane.
    pub intra_plane: u32,
    /// Planes to the east.
    pub inter_plane: u32,
    /// Whether there are links across a star pattern's seam.
    pub cross_seam: bool,
}

/// Where a preset's satellites fly.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// Circular orbits in even planes.
    Shells(&'static [PlacedShell]),
    /// Geostationary, at these east longitudes in degrees.
    Ring(&'static [f64]),
    /// Orbits of their own, plane by plane.
    Orbits {
        /// Number of planes.
        planes: u32,
        /// Satellites in each.
        satellites_per_plane: u32,
        /// The orbits over an Earth.
        orbits: fn(&EarthModel) -> Vec<Kepler>,
    },
}

impl Preset {
    /// The preset of this name, however its capitals and spaces are written.
    pub fn find(name: &str) -> Result<&'static Self, PresetError> {
        let plain = spelling::plain(name);
        if let Some(preset) = PRESETS.iter().find(|p| p.name == plain || p.alias == Some(plain.as_str())) {
            return Ok(preset);
        }
        if let Some((name, missing)) = UNDESCRIBED.iter().find(|(name, _)| *name == plain) {
            return Err(PresetError::Undescribed { name, missing });
        }
        let names = PRESETS.iter().flat_map(|preset| [Some(preset.name), preset.alias]).flatten();
        let nearest = spelling::nearest(&plain, names);
        Err(PresetError::Unknown { name: name.chars().take(40).collect(), nearest })
    }

    /// The satellites.
    pub fn constellation(&self) -> Constellation {
        match self.layout {
            Layout::Shells(shells) => {
                Constellation::from_shells(self.earth, shells).expect("a preset's shells are valid")
            }
            Layout::Ring(longitudes_deg) => {
                let longitudes_rad: Vec<f64> = longitudes_deg.iter().map(|deg| deg.to_radians()).collect();
                Constellation::geostationary(self.earth, &longitudes_rad)
            }
            Layout::Orbits { planes, satellites_per_plane, orbits } => {
                let planes = Planes::regular(planes, satellites_per_plane, false, 0);
                Constellation::from_kepler(self.earth, &orbits(&self.earth), planes, Drift::None)
                    .expect("a preset's orbits are valid")
            }
        }
    }

    /// Number of satellites.
    pub fn satellites(&self) -> u32 {
        match self.layout {
            Layout::Shells(shells) => {
                shells.iter().map(|p| p.shell.planes * p.shell.satellites_per_plane).sum()
            }
            Layout::Ring(longitudes_deg) => longitudes_deg.len() as u32,
            Layout::Orbits { planes, satellites_per_plane, .. } => planes * satellites_per_plane,
        }
    }
}

/// Iridium over ns-2's Earth.
pub fn iridium() -> Constellation {
    Constellation::from_shell(EarthModel::NS2, &IRIDIUM).expect("the preset is a valid shell")
}

/// Teledesic over ns-2's Earth.
pub fn teledesic() -> Constellation {
    Constellation::from_shell(EarthModel::NS2, &TELEDESIC).expect("the preset is a valid shell")
}

/// Geostationary satellites at the given east longitudes (radians) over the WGS 84 ellipsoid, named `geo-0` and on.
pub fn geo(longitudes_rad: &[f64]) -> Constellation {
    Constellation::geostationary(EarthModel::WGS84, longitudes_rad)
}

/// No preset of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresetError {
    /// Nobody knows it.
    Unknown {
        /// The name given.
        name: String,
        /// The most similar name there is.
        nearest: Option<&'static str>,
    },
    /// The literature names the system but does not say where its satellites fly.
    Undescribed {
        /// The system.
        name: &'static str,
        /// What is not known.
        missing: &'static str,
    },
}

impl fmt::Display for PresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                write!(f, "unknown constellation \"{name}\"")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
                    None => {
                        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                        write!(f, "; expected {}", names.join(", "))
                    }
                }
            }
            Self::Undescribed { name, missing } => {
                write!(f, "constellation \"{name}\" has no preset: {missing}")
            }
        }
    }
}

impl std::error::Error for PresetError {}
