//! What a terminal sees of satellites over time: where to look, how far, and how fast the distance grows.
//!
//! Follows [`crate::visibility`] at each instant; azimuth from north over east, elevation from the geodetic horizon.
//! Differs from a tracking file: nothing is smoothed, and a satellite below the mask has no row.
//! Left out: refraction and the time that light is on its way, a few metres along the orbit.

use crate::constellation::Constellation;
use crate::terminal::Terminal;
use crate::visibility::{Look, look, range_rate_m_s};

/// A satellite as seen at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sighting {
    /// The instant.
    pub t_s: f64,
    /// The satellite.
    pub satellite: u32,
    /// Where it is.
    pub look: Look,
    /// How fast it moves away in m/s; negative while it comes nearer.
    pub range_rate_m_s: f64,
}

/// Satellites above `mask_rad` as seen from a terminal at `t_s`, in the order of `satellites`.
pub fn sightings(
    constellation: &Constellation,
    terminal: &Terminal,
    satellites: impl IntoIterator<Item = u32>,
    mask_rad: f64,
    t_s: f64,
) -> Vec<Sighting> {
    let earth = constellation.earth();
    let place = terminal.position_ecef(earth);
    let of = |satellite: u32| {
        let motion = constellation.motion(satellite, t_s)?;
        let look = look(earth, terminal, motion.position);
        let range_rate_m_s = range_rate_m_s(place, &motion);
        (look.elevation_rad > mask_rad).then_some(Sighting { t_s, satellite, look, range_rate_m_s })
    };
    satellites.into_iter().filter_map(of).collect()
}
