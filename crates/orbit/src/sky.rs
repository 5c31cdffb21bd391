//! All satellites at an instant, sorted so that those above a terminal are found without testing each.
//!
//! Follows from the footprint: a satellite in view differs in latitude by no more than its footprint's half angle.
//! Differs: only the latitude narrows the search, which leaves a fifth of the work for a low shell and is simple for all.
//! Left out: updates; each instant needs a new sky.

use crate::earth::EarthModel;
use crate::footprint::Footprint;
use crate::vec3::{Ecef, Vec3};
use crate::visibility::elevation_rad;

/// Satellites sorted by latitude.
#[derive(Debug, Clone, Default)]
pub struct Sky {
    /// Latitude, number and position, sorted by latitude.
    satellites: Vec<(f64, u32, Ecef)>,
    highest_m: f64,
    earth_radius_m: f64,
}

/// Largest angle between the zenith and the direction from the Earth's centre, on an ellipsoid like the Earth.
const PLUMB_LINE_RAD: f64 = 0.004;

impl Sky {
    /// The sky of satellites at `positions`, without unavailable ones.
    pub fn new(earth: &EarthModel, positions: &[Option<Ecef>]) -> Self {
        let mut satellites: Vec<(f64, u32, Ecef)> = (0u32..)
            .zip(positions)
            .filter_map(|(number, place)| place.map(|place| (place.latitude_rad(), number, place)))
            .filter(|(latitude, ..)| latitude.is_finite())
            .collect();
        satellites.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let highest_m = satellites.iter().map(|(.., place)| place.0.norm()).fold(0.0, f64::max);
        Self { satellites, highest_m, earth_radius_m: earth.radius_m }
    }

    /// Satellites above `mask_rad` for a terminal at `place` with zenith `up`, and their elevations, in no order.
    pub fn in_view(&self, place: Ecef, up: Vec3, mask_rad: f64) -> impl Iterator<Item = (u32, f64)> + '_ {
        let ground_m = self.earth_radius_m.min(place.0.norm());
        let footprint = Footprint::new(ground_m, self.highest_m, mask_rad - PLUMB_LINE_RAD);
        let (latitude, reach) = (place.latitude_rad(), footprint.half_angle_rad + PLUMB_LINE_RAD);
        let first = self.satellites.partition_point(|(other, ..)| *other < latitude - reach);
        let sin_mask = mask_rad.sin();
        self.satellites[first..]
            .iter()
            .take_while(move |(other, ..)| *other <= latitude + reach)
            .filter(move |(.., satellite)| {
                let to = satellite.0 - place.0;
                to.dot(up) > sin_mask * to.norm()
            })
            .map(move |(_, number, satellite)| (*number, elevation_rad(place, up, *satellite)))
    }

    /// Number of satellites above `mask_rad`.
    pub fn count(&self, place: Ecef, up: Vec3, mask_rad: f64) -> usize {
        self.in_view(place, up, mask_rad).count()
    }
}
