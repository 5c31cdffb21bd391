//! What a terminal sees: elevation, azimuth and slant range of satellites.
//!
//! Follows HT 2.2.1: a satellite can serve a terminal while its elevation is above the mask.
//! Differs: elevation is measured from the surface's normal, so it holds on a sphere and on an ellipsoid.
//! Left out: refraction, terrain and antenna limits.

use crate::earth::EarthModel;
use crate::terminal::Terminal;
use crate::vec3::{Ecef, Vec3};

/// A satellite as seen from a terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Angle above the horizon, -pi/2 to pi/2.
    pub elevation_rad: f64,
    /// Compass direction, clockwise from north, 0 to 2 pi.
    pub azimuth_rad: f64,
    /// Distance in metres.
    pub slant_range_m: f64,
}

/// How `terminal` sees a satellite.
pub fn look(earth: &EarthModel, terminal: &Terminal, satellite: Ecef) -> Look {
    let up = terminal.up();
    let to = satellite.0 - terminal.position_ecef(earth).0;
    let (sin_lon, cos_lon) = terminal.longitude_rad.sin_cos();
    let east = Vec3::new(-sin_lon, cos_lon, 0.0);
    let north = up.cross(east);
    Look {
        elevation_rad: elevation_of(up, to),
        azimuth_rad: to.dot(east).atan2(to.dot(north)).rem_euclid(std::f64::consts::TAU),
        slant_range_m: to.norm(),
    }
}

/// Elevation of a satellite in radians, from a terminal at `place` whose zenith is `up`.
pub fn elevation_rad(place: Ecef, up: Vec3, satellite: Ecef) -> f64 {
    elevation_of(up, satellite.0 - place.0)
}

/// The satellite of highest elevation above `mask_rad` and that elevation; the lowest index among equals.
pub fn highest_elevation(
    place: Ecef,
    up: Vec3,
    satellites: &[Option<Ecef>],
    mask_rad: f64,
) -> Option<(u32, f64)> {
    let mut best: Option<(u32, f64)> = None;
    for (index, satellite) in (0u32..).zip(satellites) {
        let Some(satellite) = *satellite else { continue };
        let elevation = elevation_rad(place, up, satellite);
        if elevation > best.map_or(mask_rad, |(_, highest)| highest) {
            best = Some((index, elevation));
        }
    }
    best
}

fn elevation_of(up: Vec3, to: Vec3) -> f64 {
    // The arctangent stays exact near the zenith, where the arcsine of the same ratio loses half its digits.
    to.dot(up).atan2(to.cross(up).norm())
}
