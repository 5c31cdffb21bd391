//! How many satellites are in view, by latitude and over time.
//!
//! Follows HT 2.2.1 and SaVi's idea of coverage: a place is covered while a satellite is above its mask.
//! Differs: places of one latitude are sampled all the way round, so that few instants say much.
//! Left out: capacity; one satellite covers however many terminals.

use std::f64::consts::TAU;

use crate::constellation::Constellation;
use crate::sky::Sky;
use crate::terminal::Terminal;

/// Satellites in view along a circle of latitude, over all its places and all instants looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InView {
    /// The latitude.
    pub latitude_rad: f64,
    /// Fewest.
    pub least: usize,
    /// On average.
    pub mean: f64,
    /// Most.
    pub most: usize,
    /// Share of places and instants with at least one, 0 to 1.
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
