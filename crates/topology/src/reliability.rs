//! Random failures: the satellites, links and stations that fail, and the times.
//!
//! Follows HT 6.5, which lets a share of the links fail; times to failure and to repair are exponential.
//! Left out: failures with a common cause, as in a launch.

use skyhop_chance::Stream;

use crate::failures::{Failing, Outage};
use crate::link::{LinkId, LinkKind};
use crate::topology::Topology;

/// Mean times between failures, and to repair. All times are exponential and independent; an infinite mean is an object that
/// never fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reliability {
    /// Mean time between failures of a satellite, s.
    pub satellite_mtbf_s: f64,
    /// Mean time between failures of an ISL, s.
    pub isl_mtbf_s: f64,
    /// Mean time between failures of a terminal or gateway, s.
    pub station_mtbf_s: f64,
    /// Mean time to repair, s.
    pub mttr_s: f64,
}

impl Reliability {
    /// Draws the failures until `until_s`, with everything working at 0: satellites first, then ISLs, then stations. A mean below
    /// a millisecond counts as a millisecond, and NaN as infinity.
    pub fn draw(&self, topology: &Topology, until_s: f64, chance: &mut Stream) -> Vec<Outage> {
        let satellites = (0..topology.constellation().len() as u32).map(Failing::Satellite);
        let isls = isls(topology);
        let stations = (0..topology.terminals().len() as u32).map(Failing::Station);
        let mut outages = Vec::new();
        for (what, mtbf_s) in satellites
            .map(|what| (what, self.satellite_mtbf_s))
            .chain(isls.map(|what| (what, self.isl_mtbf_s)))
            .chain(stations.map(|what| (what, self.station_mtbf_s)))
        {
            // Failures with no time in between would never end.
            let mut draw = |mean_s: f64| -mean_s.max(1e-3) * (1.0 - chance.uniform()).ln();
            if mtbf_s == f64::INFINITY || mtbf_s.is_nan() {
                continue;
            }
            let mut from_s = draw(mtbf_s);
            while from_s < until_s {
                let to_s = from_s + draw(self.mttr_s);
                outages.push(Outage { what, from_s, to_s });
                from_s = to_s + draw(mtbf_s);
            }
        }
        outages
    }
}

/// Failures for the whole run of a random share of the satellites and of the ISLs, each rounded to a whole number.
pub fn failed_share(topology: &Topology, [satellites, isls]: [f64; 2], chance: &mut Stream) -> Vec<Outage> {
    let all = (0..topology.constellation().len() as u32).map(Failing::Satellite).collect();
    let mut failed = drawn(all, satellites, chance);
    failed.extend(drawn(self::isls(topology).collect(), isls, chance));
    failed.into_iter().map(|what| Outage { what, from_s: 0.0, to_s: f64::INFINITY }).collect()
}

fn isls(topology: &Topology) -> impl Iterator<Item = Failing> {
    let of_orbit = |kind| !matches!(kind, LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground);
    let links = (0u32..).zip(topology.links()).filter(move |(_, link)| of_orbit(link.kind));
    links.map(|(number, _)| Failing::Link(LinkId(number)))
}

/// A random subset of `all`: `share` of it, rounded to a whole number, each element equally likely.
fn drawn(mut all: Vec<Failing>, share: f64, chance: &mut Stream) -> Vec<Failing> {
    let count = (share.clamp(0.0, 1.0) * all.len() as f64).round() as usize;
    for i in 0..count {
        let other = i + (chance.uniform() * (all.len() - i) as f64) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    all
}
