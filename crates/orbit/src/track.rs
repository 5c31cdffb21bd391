//! The view of satellites from a terminal over time: direction, distance and range rate.
//!
//! Follows [`crate::visibility`] at each instant; azimuth from north over east, elevation from the geodetic horizon.
//! Differs from a tracking file: values are not smoothed, and a satellite below the mask has no row.
//! Left out: refraction, and the travel time of light, which is a few metres along the orbit.

use crate::constellation::Constellation;
use crate::course::Course;
use crate::terminal::Terminal;
use crate::vec3::{Motion, Vec3};
use crate::visibility::{Look, look, range_rate_m_s};

/// A satellite seen from a terminal at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sighting {
    /// The instant, s.
    pub t_s: f64,
    /// Number of the satellite.
    pub satellite: u32,
    /// Direction and distance.
    pub look: Look,
    /// Range rate in m/s; negative while the satellite approaches.
    pub range_rate_m_s: f64,
}

/// Satellites above `mask_rad` for a terminal at `t_s`, in the order of `satellites`.
pub fn sightings(
    constellation: &Constellation,
    terminal: &Terminal,
    satellites: impl IntoIterator<Item = u32>,
    mask_rad: f64,
    t_s: f64,
) -> Vec<Sighting> {
    seen(constellation, (terminal, Vec3::default()), satellites, mask_rad, t_s)
}

/// As [`sightings`] for a terminal on a course, whose own velocity is part of the range rate.
pub fn sightings_on_course(
    constellation: &Constellation,
    course: &Course,
    satellites: impl IntoIterator<Item = u32>,
    mask_rad: f64,
    t_s: f64,
) -> Vec<Sighting> {
    let velocity_m_s = course.velocity_m_s(constellation.earth(), t_s);
    seen(constellation, (&course.terminal("", t_s), velocity_m_s), satellites, mask_rad, t_s)
}

fn seen(
    constellation: &Constellation,
    (terminal, own_m_s): (&Terminal, Vec3),
    satellites: impl IntoIterator<Item = u32>,
    mask_rad: f64,
    t_s: f64,
) -> Vec<Sighting> {
    let earth = constellation.earth();
    let place = terminal.position_ecef(earth);
    let of = |satellite: u32| {
        let motion = constellation.motion(satellite, t_s)?;
        let look = look(earth, terminal, motion.position);
        let relative = Motion { velocity_m_s: motion.velocity_m_s - own_m_s, ..motion };
        let range_rate_m_s = range_rate_m_s(place, &relative);
        (look.elevation_rad > mask_rad).then_some(Sighting { t_s, satellite, look, range_rate_m_s })
    };
    satellites.into_iter().filter_map(of).collect()
}
