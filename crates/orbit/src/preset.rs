//! Constellations known by name in the literature.
//!
//! Follows the publication that each preset of [`PRESETS`] names; HT's and WP's fly over ns-2's Earth, others over WGS 84.
//! Differs: where a publication leaves the phasing between planes open, neighbours are staggered by half a slot.
//! Left out: constellations as they fly today, which come as elements.

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
    /// Name of the preset.
    pub name: &'static str,
    /// A second name that finds it.
    pub alias: Option<&'static str>,
    /// A description in a few words.
    pub about: &'static str,
    /// The source of its parameters, and assumptions.
    pub source: &'static str,
    /// The Earth model that it is defined over.
    pub earth: EarthModel,
    /// Lowest elevation at which a satellite serves, degrees.
    pub elevation_mask_deg: f64,
    /// Links between its satellites.
    pub isls: Isls,
    /// Number of satellites that a terminal holds at once, if the publication gives it (HT 6.2, WP); otherwise all in view.
    pub antennas: Option<u16>,
    /// The beginning of its satellites' names in catalogues.
    pub catalogued: Option<&'static str>,
    /// Its orbits.
    pub layout: Layout,
}

/// The inter-satellite links of a system, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isls {
    /// Number of satellites ahead in the plane.
    pub intra_plane: u32,
    /// Number of planes to the east.
    pub inter_plane: u32,
    /// True if there are links across a star pattern's seam.
    pub cross_seam: bool,
}

/// The orbits of a preset's satellites.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// Circular orbits in evenly spaced planes.
    Shells(&'static [PlacedShell]),
    /// Geostationary orbits at these east longitudes in degrees.
    Ring(&'static [f64]),
    /// Individual orbits, plane by plane.
    Orbits {
        /// Number of planes.
        planes: u32,
        /// Number of satellites in each plane.
        satellites_per_plane: u32,
        /// Returns the orbits over an Earth model.
        orbits: fn(&EarthModel) -> Vec<Kepler>,
    },
}

impl Preset {
    /// The preset of this name; capitals, spaces and hyphens do not matter.
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

/// Geostationary satellites at the given east longitudes (radians) over the WGS 84 ellipsoid, named `geo-0`, `geo-1`, ….
pub fn geo(longitudes_rad: &[f64]) -> Constellation {
    Constellation::geostationary(EarthModel::WGS84, longitudes_rad)
}

/// The error for a name that is not a preset's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresetError {
    /// The name is unknown.
    Unknown {
        /// The name given.
        name: String,
        /// The most similar name of a preset.
        nearest: Option<&'static str>,
    },
    /// The literature names the system but does not give its orbits.
    Undescribed {
        /// The system.
        name: &'static str,
        /// The missing parameters.
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
