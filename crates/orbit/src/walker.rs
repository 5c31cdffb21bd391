//! Walker's notation for patterns of circular orbits: `53: 1584/72/39`.
//!
//! Follows Walker, "Satellite Constellations", J. Brit. Interplanetary Soc. 37 (1984): i: t/p/f.
//! Differs: one notation serves star patterns as well as delta patterns (Ballard's rosettes), which differ in spacing.
//! Left out: the altitude, which is not part of Walker's notation but of a shell.

use std::f64::consts::{PI, TAU};
use std::fmt;
use std::str::FromStr;

use crate::shell::{Phasing, Shell};

/// A pattern: inclination, satellites, planes and phasing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walker {
    /// Inclination i.
    pub inclination_rad: f64,
    /// Number of satellites t, a multiple of the planes.
    pub satellites: u32,
    /// Number of planes p.
    pub planes: u32,
    /// Phasing f, 0 to p - 1: each plane is ahead of its western neighbour by f * 360 degrees / t.
    pub phasing: u32,
}

impl Walker {
    /// A pattern from degrees and Walker's three numbers.
    pub fn new(inclination_deg: f64, t: u32, p: u32, f: u32) -> Result<Self, WalkerError> {
        if p == 0 || t == 0 || !t.is_multiple_of(p) {
            return Err(WalkerError::Planes { satellites: t, planes: p });
        }
        if f >= p {
            return Err(WalkerError::Phasing { phasing: f, planes: p });
        }
        Ok(Self { inclination_rad: inclination_deg.to_radians(), satellites: t, planes: p, phasing: f })
    }

    /// The delta pattern (rosette): nodes spaced over 360 degrees.
    pub fn delta(&self, altitude_m: f64) -> Shell {
        self.shell(altitude_m, TAU)
    }

    /// The star pattern: nodes spaced over 180 degrees, with a seam between the last plane and the first.
    pub fn star(&self, altitude_m: f64) -> Shell {
        self.shell(altitude_m, PI)
    }

    fn shell(&self, altitude_m: f64, around_rad: f64) -> Shell {
        Shell {
            planes: self.planes,
            satellites_per_plane: self.satellites / self.planes.max(1),
            altitude_m,
            inclination_rad: self.inclination_rad,
            raan_spacing_rad: around_rad / f64::from(self.planes),
            phasing: Phasing::Walker(f64::from(self.phasing)),
            argument_decimals: None,
        }
    }
}

impl FromStr for Walker {
    type Err = WalkerError;

    fn from_str(text: &str) -> Result<Self, WalkerError> {
        let error = || WalkerError::Notation { text: text.chars().take(40).collect() };
        let (inclination, pattern) = text.split_once(':').ok_or_else(error)?;
        let inclination_deg: f64 = inclination.trim().parse().map_err(|_| error())?;
        let numbers =
            pattern.split('/').map(|number| number.trim().parse().ok()).collect::<Option<Vec<u32>>>();
        match numbers.as_deref() {
            Some(&[t, p, f]) if inclination_deg.is_finite() => Self::new(inclination_deg, t, p, f),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Walker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inclination_rad, satellites, planes, phasing } = self;
        write!(f, "{}: {satellites}/{planes}/{phasing}", (inclination_rad.to_degrees() * 1e9).round() / 1e9)
    }
}

/// The error for a text or numbers that are no Walker pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkerError {
    /// A text that is not in Walker's notation.
    Notation {
        /// The text.
        text: String,
    },
    /// A number of satellites that is not a multiple of the planes.
    Planes {
        /// t.
        satellites: u32,
        /// p.
        planes: u32,
    },
    /// A phasing of p or more, which is equivalent to a smaller one.
    Phasing {
        /// f.
        phasing: u32,
        /// p.
        planes: u32,
    },
}

impl fmt::Display for WalkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notation { text } => write!(f, "pattern \"{text}\"; expected i: t/p/f like 53: 1584/72/39"),
            Self::Planes { satellites, planes } => {
                write!(f, "{satellites} satellites in {planes} planes; expected a multiple of the planes")
            }
            Self::Phasing { phasing, planes } => {
                write!(f, "phasing of {phasing}; expected 0 to {}", planes.saturating_sub(1))
            }
        }
    }
}

impl std::error::Error for WalkerError {}
