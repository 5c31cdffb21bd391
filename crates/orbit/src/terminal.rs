//! A terminal: a named place on the ground.
//!
//! Follows HT 3.2.3 (fixed to the turning Earth); latitude is geodetic on the Earth model in use.
//! Differs: on a spherical model geodetic is geocentric, which is what ns-2 means by latitude.
//! Left out: motion; a ship or an aircraft has a [`crate::Course`].

use std::f64::consts::FRAC_PI_2;
use std::fmt;

use crate::earth::EarthModel;
use crate::vec3::{Ecef, Vec3};

/// A ground terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Terminal {
    /// Name in links and reports.
    pub name: String,
    /// Geodetic latitude, -pi/2 to pi/2.
    pub latitude_rad: f64,
    /// East longitude, -pi to 2 pi.
    pub longitude_rad: f64,
    /// Height above the Earth model's surface in metres.
    pub height_m: f64,
}

impl Terminal {
    /// A terminal on the surface, from degrees.
    pub fn from_degrees(
        name: impl Into<String>,
        latitude_deg: f64,
        longitude_deg: f64,
    ) -> Result<Self, TerminalError> {
        let terminal = Self {
            name: name.into(),
            latitude_rad: latitude_deg.to_radians(),
            longitude_rad: longitude_deg.to_radians(),
            height_m: 0.0,
        };
        terminal.check()?;
        Ok(terminal)
    }

    /// Fails if the coordinates are out of range; topologies call it on the terminals that they are given.
    pub fn check(&self) -> Result<(), TerminalError> {
        let name = || self.name.clone();
        // A small tolerance: 90 degrees may not survive conversion exactly.
        if !(0.0..=FRAC_PI_2 + 1e-12).contains(&self.latitude_rad.abs()) {
            return Err(TerminalError::Latitude { name: name(), latitude_rad: self.latitude_rad });
        }
        let (west_deg, east_deg) = LONGITUDES_DEG;
        if !(west_deg.to_radians() - 1e-12..=east_deg.to_radians() + 1e-12).contains(&self.longitude_rad) {
            return Err(TerminalError::Longitude { name: name(), longitude_rad: self.longitude_rad });
        }
        if !(MIN_HEIGHT_M..=MAX_HEIGHT_M).contains(&self.height_m) {
            return Err(TerminalError::Height { name: name(), height_m: self.height_m });
        }
        Ok(())
    }

    /// Position of the terminal.
    pub fn position_ecef(&self, earth: &EarthModel) -> Ecef {
        earth.surface(self.latitude_rad, self.longitude_rad, self.height_m)
    }

    /// The zenith: the unit normal of the surface.
    pub fn up(&self) -> Vec3 {
        let (sin_lat, cos_lat) = self.latitude_rad.sin_cos();
        let (sin_lon, cos_lon) = self.longitude_rad.sin_cos();
        Vec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat)
    }
}

/// Lowest and highest longitude in degrees, east positive: -180 to 180 and 0 to 360 are both accepted.
pub const LONGITUDES_DEG: (f64, f64) = (-180.0, 360.0);
/// Lowest height of a terminal in metres, below any dry land.
pub const MIN_HEIGHT_M: f64 = -1e3;
/// Highest height of a terminal in metres, where space begins.
pub const MAX_HEIGHT_M: f64 = 100e3;

/// The error for a terminal with invalid coordinates.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalError {
    /// The latitude is beyond a pole.
    Latitude {
        /// Name of the terminal.
        name: String,
        /// Latitude given, radians.
        latitude_rad: f64,
    },
    /// The longitude is outside [`LONGITUDES_DEG`].
    Longitude {
        /// Name of the terminal.
        name: String,
        /// Longitude given, radians.
        longitude_rad: f64,
    },
    /// The height is below any dry land, or in space.
    Height {
        /// Name of the terminal.
        name: String,
        /// Height given, metres.
        height_m: f64,
    },
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latitude { name, latitude_rad } => write!(
                f,
                "latitude of {} deg for terminal \"{name}\"; expected -90 to 90 deg",
                latitude_rad.to_degrees()
            ),
            Self::Longitude { name, longitude_rad } => write!(
                f,
                "longitude of {} deg for terminal \"{name}\"; expected -180 to 360 deg",
                longitude_rad.to_degrees()
            ),
            Self::Height { name, height_m } => write!(
                f,
                "height of {height_m} m for terminal \"{name}\"; expected {MIN_HEIGHT_M} to {MAX_HEIGHT_M} m"
            ),
        }
    }
}

impl std::error::Error for TerminalError {}
