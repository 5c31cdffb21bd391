//! A shell: equal circular orbits in evenly spaced planes.
//!
//! Follows HT 2.2.1 and 6.2 and Walker's notation (star and delta patterns differ only in RAAN spacing).
//! Differs: stagger is a separate rule beside Walker's phasing, because ns-2 offsets only the odd planes.
//! Left out: eccentricity and J2 drift, which are [`crate::elliptic`]'s, and uneven planes.

use std::f64::consts::{PI, TAU};
use std::fmt;

use crate::circular::CircularOrbits;
use crate::earth::EarthModel;
use crate::elliptic::Kepler;

/// The phase of a plane's satellites relative to plane 0 at t = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phasing {
    /// Odd planes are ahead by this fraction of the spacing in the plane, even ones by nothing. ns-2, and HT's greatest coverage,
    /// take 0.5.
    OddPlanes(f64),
    /// Walker's F: plane p is ahead by p * F * 360 degrees / (number of satellites).
    Walker(f64),
}

/// A shell of `planes` x `satellites_per_plane` satellites. Satellite p.s has index p * satellites_per_plane + s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shell {
    /// Number of orbital planes.
    pub planes: u32,
    /// Number of satellites in each plane.
    pub satellites_per_plane: u32,
    /// Height above the equatorial radius in metres.
    pub altitude_m: f64,
    /// Inclination in radians; above pi/2 the orbit is retrograde.
    pub inclination_rad: f64,
    /// Angle between the ascending nodes of neighbouring planes in radians. Plane 0 has its node at angle zero.
    pub raan_spacing_rad: f64,
    /// Stagger between planes.
    pub phasing: Phasing,
    /// Number of decimals of a degree to which arguments of latitude at t = 0 are rounded. Only the Iridium preset does so, since
    /// ns-2's script was written with rounded angles.
    pub argument_decimals: Option<u8>,
}

impl Shell {
    /// Argument of latitude of satellite p.s at t = 0, in radians. Slot s + 1 is ahead of slot s.
    pub fn argument_rad(&self, plane: u32, slot: u32) -> f64 {
        let spacing_deg = 360.0 / f64::from(self.satellites_per_plane);
        let ahead_deg = match self.phasing {
            Phasing::OddPlanes(fraction) => f64::from(plane % 2) * fraction * spacing_deg,
            Phasing::Walker(factor) => f64::from(plane) * factor * spacing_deg / f64::from(self.planes),
        };
        let argument_deg = f64::from(slot) * spacing_deg + ahead_deg;
        match self.argument_decimals {
            Some(decimals) => {
                let scale = 10f64.powi(i32::from(decimals));
                ((argument_deg * scale).round() / scale).to_radians()
            }
            None => argument_deg.to_radians(),
        }
    }

    /// Returns true if the nodes go all the way round, so that the last plane is a neighbour of plane 0 without a seam.
    pub fn wraps(&self) -> bool {
        let around_rad = f64::from(self.planes) * self.raan_spacing_rad.abs();
        (around_rad - TAU).abs() < 0.5 * self.raan_spacing_rad.abs()
    }

    /// Slots by which a delta pattern is ahead after one round of planes; see [`crate::planes::PlaneShell::wrap_shift`].
    pub fn wrap_shift(&self) -> u32 {
        match self.phasing {
            Phasing::Walker(factor) if self.wraps() => {
                factor.round().rem_euclid(f64::from(self.satellites_per_plane)) as u32
            }
            _ => 0,
        }
    }

    /// The orbits of all satellites, plane by plane.
    pub fn orbits(&self, earth: &EarthModel) -> Result<CircularOrbits, ShellError> {
        PlacedShell::from(*self).orbits(earth)
    }

    /// The same orbits as Kepler's elements, for [`crate::Constellation::from_kepler`] and its drift.
    pub fn kepler(&self, earth: &EarthModel) -> Result<Vec<Kepler>, ShellError> {
        self.check()?;
        let orbit = |plane, slot| Kepler {
            semi_major_axis_m: earth.radius_m + self.altitude_m,
            eccentricity: 0.0,
            inclination_rad: self.inclination_rad,
            raan_rad: f64::from(plane) * self.raan_spacing_rad,
            argument_of_perigee_rad: 0.0,
            mean_anomaly_rad: self.argument_rad(plane, slot),
        };
        let slots = |plane| (0..self.satellites_per_plane).map(move |slot| (plane, slot));
        Ok((0..self.planes).flat_map(slots).map(|(plane, slot)| orbit(plane, slot)).collect())
    }

    fn check(&self) -> Result<(), ShellError> {
        let count = u64::from(self.planes) * u64::from(self.satellites_per_plane);
        if count == 0 || count > MAX_SATELLITES {
            return Err(ShellError::Count { planes: self.planes, per_plane: self.satellites_per_plane });
        }
        if !(MIN_ALTITUDE_M..=MAX_ALTITUDE_M).contains(&self.altitude_m) {
            return Err(ShellError::Altitude { altitude_m: self.altitude_m });
        }
        if !(0.0..=PI).contains(&self.inclination_rad) {
            return Err(ShellError::Inclination { inclination_rad: self.inclination_rad });
        }
        if !(-TAU..=TAU).contains(&self.raan_spacing_rad) {
            return Err(ShellError::RaanSpacing { raan_spacing_rad: self.raan_spacing_rad });
        }
        let phase = match self.phasing {
            Phasing::OddPlanes(value) | Phasing::Walker(value) => value,
        };
        if !phase.is_finite() {
            return Err(ShellError::Phasing { phase });
        }
        Ok(())
    }
}

/// A shell with its position among other shells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedShell {
    /// The shell.
    pub shell: Shell,
    /// RAAN of plane 0 at t = 0.
    pub raan_rad: f64,
    /// Angle by which all its satellites are ahead.
    pub argument_rad: f64,
}

impl From<Shell> for PlacedShell {
    fn from(shell: Shell) -> Self {
        Self { shell, raan_rad: 0.0, argument_rad: 0.0 }
    }
}

impl PlacedShell {
    /// The orbits of all satellites, plane by plane.
    pub fn orbits(&self, earth: &EarthModel) -> Result<CircularOrbits, ShellError> {
        let shell = &self.shell;
        shell.check()?;
        let radius_m = earth.radius_m + shell.altitude_m;
        let mut orbits = CircularOrbits::new(earth, radius_m);
        for plane in 0..shell.planes {
            let raan_rad = self.raan_rad + f64::from(plane) * shell.raan_spacing_rad;
            for slot in 0..shell.satellites_per_plane {
                let argument_rad = self.argument_rad + shell.argument_rad(plane, slot);
                orbits.push(radius_m, shell.inclination_rad, raan_rad, argument_rad);
            }
        }
        Ok(orbits)
    }
}

const MAX_SATELLITES: u64 = 1_000_000;
const MIN_ALTITUDE_M: f64 = 100e3;
const MAX_ALTITUDE_M: f64 = 1000e6;

/// The error for a shell that cannot be built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShellError {
    /// No satellites, or too many.
    Count {
        /// Number of planes asked for.
        planes: u32,
        /// Number of satellites per plane asked for.
        per_plane: u32,
    },
    /// An altitude below any orbit, or beyond the Moon.
    Altitude {
        /// Altitude asked for, metres.
        altitude_m: f64,
    },
    /// An inclination out of range.
    Inclination {
        /// Inclination asked for, radians.
        inclination_rad: f64,
    },
    /// An angle between planes that is out of range.
    RaanSpacing {
        /// Spacing asked for, radians.
        raan_spacing_rad: f64,
    },
    /// A phasing that is not a number.
    Phasing {
        /// Phasing asked for.
        phase: f64,
    },
}

impl fmt::Display for ShellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { planes, per_plane } => {
                write!(f, "shell of {planes} x {per_plane} satellites; expected 1 to {MAX_SATELLITES} in all")
            }
            Self::Altitude { altitude_m } => write!(
                f,
                "altitude of {} km; expected {} to {} km",
                altitude_m / 1e3,
                MIN_ALTITUDE_M / 1e3,
                MAX_ALTITUDE_M / 1e3
            ),
            Self::Inclination { inclination_rad } => {
                write!(f, "inclination of {} deg; expected 0 to 180 deg", inclination_rad.to_degrees())
            }
            Self::RaanSpacing { raan_spacing_rad } => {
                write!(f, "raan spacing of {} deg; expected -360 to 360 deg", raan_spacing_rad.to_degrees())
            }
            Self::Phasing { phase } => write!(f, "phasing of {phase}; expected a finite number"),
        }
    }
}

impl std::error::Error for ShellError {}
