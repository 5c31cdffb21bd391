//! The view of satellites from a terminal: elevation, azimuth, slant range and Doppler shift.
//!
//! Follows HT 2.2.1: a satellite can serve a terminal while its elevation is above the mask.
//! Differs: elevation is measured from the surface normal, so it holds on a sphere and on an ellipsoid.
//! Left out: refraction, terrain and antenna limits.

use crate::earth::EarthModel;
use crate::terminal::Terminal;
use crate::vec3::{Ecef, Motion, Vec3};

/// A satellite as seen from a terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Angle above the horizon, -pi/2 to pi/2.
    pub elevation_rad: f64,
    /// Azimuth, clockwise from north, 0 to 2 pi.
    pub azimuth_rad: f64,
    /// Slant range in metres.
    pub slant_range_m: f64,
}

/// The view of a satellite from `terminal`.
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

/// Elevation of a satellite in radians, from a terminal at `place` with zenith `up`.
pub fn elevation_rad(place: Ecef, up: Vec3, satellite: Ecef) -> f64 {
    elevation_of(up, satellite.0 - place.0)
}

/// Range rate of a satellite from a place on the ground, in m/s; negative while it approaches.
pub fn range_rate_m_s(place: Ecef, satellite: &Motion) -> f64 {
    let to = satellite.position.0 - place.0;
    to.dot(satellite.velocity_m_s) / to.norm()
}

/// Doppler shift in Hz of a carrier at `frequency_hz`, to first order: positive while the satellite approaches.
pub fn doppler_hz(range_rate_m_s: f64, frequency_hz: f64, c_m_s: f64) -> f64 {
    -frequency_hz * range_rate_m_s / c_m_s
}

/// Rate of a satellite's elevation in rad/s, for a terminal at `place` with zenith `up`.
pub fn elevation_rate_rad_s(place: Ecef, up: Vec3, satellite: &Motion) -> f64 {
    let (to, velocity) = (satellite.position.0 - place.0, satellite.velocity_m_s);
    let (range2, above) = (to.dot(to), to.dot(up));
    let across = to.cross(up).norm();
    // The derivative of the arctangent; at the zenith, where it does not exist, the rate is zero.
    if across == 0.0 {
        0.0
    } else {
        (velocity.dot(up) * range2 - above * to.dot(velocity)) / (range2 * across)
    }
}

/// The satellite of highest elevation above `mask_rad`, and that elevation; the lowest index among equals.
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
