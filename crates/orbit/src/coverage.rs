//! Number of satellites in view, by latitude and over time.
//!
//! Follows HT 2.2.1 and SaVi's definition of coverage: a place is covered while a satellite is above its mask.
//! Differs: each latitude is sampled at all longitudes, so that few instants are needed.
//! Left out: capacity; one satellite covers any number of terminals.

use std::f64::consts::TAU;

use crate::constellation::Constellation;
use crate::sky::Sky;
use crate::terminal::Terminal;

/// Satellites in view along a circle of latitude, over all sampled longitudes and instants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InView {
    /// The latitude.
    pub latitude_rad: f64,
    /// Smallest number in view.
    pub least: usize,
    /// Mean number in view.
    pub mean: f64,
    /// Largest number in view.
    pub most: usize,
    /// Share of places and instants with at least one satellite in view, 0 to 1.
    pub covered: f64,
}

/// Counts satellites above `mask_rad` at `places` longitudes of each latitude, at each of the instants.
pub fn in_view(
    constellation: &Constellation,
    latitudes_rad: &[f64],
    places: u32,
    times_s: &[f64],
    mask_rad: f64,
) -> Vec<InView> {
    let earth = constellation.earth();
    let mut tallies = vec![(usize::MAX, 0usize, 0usize, 0usize); latitudes_rad.len()];
    let mut positions = Vec::new();
    for &t_s in times_s {
        constellation.positions_ecef(t_s, &mut positions);
        let sky = Sky::new(earth, &positions);
        for (&latitude_rad, (least, sum, most, covered)) in latitudes_rad.iter().zip(&mut tallies) {
            for place in 0..places {
                let longitude_rad = TAU * f64::from(place) / f64::from(places);
                let terminal = Terminal { name: String::new(), latitude_rad, longitude_rad, height_m: 0.0 };
                let count = sky.count(terminal.position_ecef(earth), terminal.up(), mask_rad);
                *least = count.min(*least);
                *sum += count;
                *most = count.max(*most);
                *covered += usize::from(count > 0);
            }
        }
    }
    let samples = (times_s.len() * places as usize).max(1) as f64;
    let of = |(&latitude_rad, (least, sum, most, covered)): (&f64, (usize, usize, usize, usize))| InView {
        latitude_rad,
        least: least.min(most),
        mean: sum as f64 / samples,
        most,
        covered: covered as f64 / samples,
    };
    latitudes_rad.iter().zip(tallies).map(of).collect()
}
