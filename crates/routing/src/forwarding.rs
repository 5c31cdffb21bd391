//! Forwarding state of a whole constellation: the next hop from every satellite to every ground station.
//!
//! Follows Hypatia's satgenpy (`algorithm_free_one_only_over_isls`): ISLs are always up, a station may use every satellite in
//! range, paths are shortest and have no station in between.
//! Differs: one search per station, with distance buckets, in place of all pairs. Left out: interfaces and their rates.

use skyhop_orbit::{Constellation, Ecef};
use skyhop_topology::{LinkId, NodeId};

use crate::graph::Graph;

/// Next hops for a fixed set of stations, recomputed step by step.
#[derive(Debug, Clone)]
pub struct Forwarding {
    constellation: Constellation,
    stations: Vec<Ecef>,
    gsl_range_m: f64,
    isls: Vec<(u32, u32)>,
    /// ISLs of satellite k are `neighbours[starts[k]..starts[k + 1]]`: other end and length in metres.
    starts: Vec<usize>,
    neighbours: Vec<(u32, f64)>,
    /// Number of the ISL of each entry of `neighbours`.
    numbers: Vec<u32>,
    lengths_m: Vec<f64>,
    positions: Vec<Option<Ecef>>,
    /// Next hop by station, then satellite.
    next: Vec<u32>,
    away_m: Vec<f64>,
    /// Satellites in range of each station, with their distances, nearest first.
    in_range: Vec<Vec<(u32, f64)>>,
    buckets: Vec<Vec<u32>>,
}

/// The next hop of a satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationHop {
    /// Another satellite.
    Satellite(u32),
    /// The station, by the downlink.
    Station,
}

const NOWHERE: u32 = u32::MAX;
const DOWN: u32 = u32::MAX - 1;
/// Width of a bucket, metres. ISLs shorter than this only make some satellites be visited twice.
const BUCKET_M: f64 = 500e3;

impl Forwarding {
    /// Stations use satellites within `gsl_range_m`; satellites are joined by `isls` at any distance. ISLs to satellites that do
    /// not exist are ignored.
    pub fn new(
        constellation: Constellation,
        isls: Vec<(u32, u32)>,
        stations: Vec<Ecef>,
        gsl_range_m: f64,
    ) -> Self {
        let count = constellation.len();
        let exists = |&(a, b): &(u32, u32)| a.max(b) < count as u32 && a != b;
        let isls: Vec<(u32, u32)> = isls.into_iter().filter(exists).collect();
        let mut rows = vec![Vec::new(); count];
        for (number, &(a, b)) in (0u32..).zip(&isls) {
            rows[a as usize].push((b, number));
            rows[b as usize].push((a, number));
        }
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        Self {
            starts: std::iter::once(0).chain(ends).collect(),
            neighbours: rows.iter().flatten().map(|&(other, _)| (other, f64::INFINITY)).collect(),
            numbers: rows.iter().flatten().map(|&(_, number)| number).collect(),
            lengths_m: Vec::new(),
            positions: Vec::new(),
            next: vec![NOWHERE; stations.len() * count],
            away_m: vec![f64::INFINITY; stations.len() * count],
            in_range: vec![Vec::new(); stations.len()],
            buckets: Vec::new(),
            constellation,
            stations,
            gsl_range_m,
            isls,
        }
    }

    /// The ISLs of a +Grid of `planes` planes with `per_plane` satellites: to the next slot, and to the same slot of the next
    /// plane, both all the way round.
    pub fn plus_grid(planes: u32, per_plane: u32) -> Vec<(u32, u32)> {
        let at = |plane: u32, slot: u32| (plane % planes) * per_plane + slot % per_plane;
        let of =
            |plane, slot| [(at(plane, slot), at(plane, slot + 1)), (at(plane, slot), at(plane + 1, slot))];
        (0..planes).flat_map(|plane| (0..per_plane).flat_map(move |slot| of(plane, slot))).collect()
    }

    /// Recomputes positions, lengths and next hops for `t_s`.
    pub fn step(&mut self, t_s: f64) {
        self.constellation.positions_ecef(t_s, &mut self.positions);
        let length_m = |&(a, b): &(u32, u32)| {
            let ends = self.positions[a as usize].zip(self.positions[b as usize]);
            ends.map_or(f64::INFINITY, |(a, b)| a.distance_m(b))
        };
        self.lengths_m.clear();
        self.lengths_m.extend(self.isls.iter().map(length_m));
        for ((_, reach_m), &isl) in self.neighbours.iter_mut().zip(&self.numbers) {
            *reach_m = self.lengths_m[isl as usize];
        }
        for station in 0..self.stations.len() {
            self.look(station);
            self.search(station);
        }
    }

    fn look(&mut self, station: usize) {
        let place = self.stations[station];
        let range2 = self.gsl_range_m * self.gsl_range_m;
        let in_range = &mut self.in_range[station];
        in_range.clear();
        for (satellite, position) in (0u32..).zip(&self.positions) {
            let Some(apart) = position.map(|position| position.0 - place.0) else { continue };
            let distance2 = apart.dot(apart);
            if distance2 <= range2 {
                in_range.push((satellite, distance2.sqrt()));
            }
        }
        in_range.sort_by(|a, b| a.1.total_cmp(&b.1));
    }

    /// Computes distances from a station. Buckets are emptied in order; within one, a satellite that turns out to be nearer is
    /// visited again, so that the result is exact for any width.
    fn search(&mut self, station: usize) {
        let count = self.positions.len();
        let next = &mut self.next[station * count..(station + 1) * count];
        let away_m = &mut self.away_m[station * count..(station + 1) * count];
        next.fill(NOWHERE);
        away_m.fill(f64::INFINITY);
        let buckets = &mut self.buckets;
        let put = |buckets: &mut Vec<Vec<u32>>, satellite: u32, away_m: f64| {
            let bucket = (away_m / BUCKET_M) as usize;
            if bucket >= buckets.len() {
                buckets.resize(bucket + 1, Vec::new());
            }
            buckets[bucket].push(satellite);
        };
        for &(satellite, distance_m) in &self.in_range[station] {
            next[satellite as usize] = DOWN;
            away_m[satellite as usize] = distance_m;
            put(buckets, satellite, distance_m);
        }
        let mut bucket = 0;
        while bucket < buckets.len() {
            while let Some(satellite) = buckets[bucket].pop() {
                let here_m = away_m[satellite as usize];
                // It was found at a smaller distance since, and handled in an earlier bucket.
                if (here_m / BUCKET_M) as usize != bucket {
                    continue;
                }
                let row = self.starts[satellite as usize]..self.starts[satellite as usize + 1];
                for &(other, reach_m) in &self.neighbours[row] {
                    let through_m = here_m + reach_m;
                    if through_m < away_m[other as usize] {
                        away_m[other as usize] = through_m;
                        next[other as usize] = satellite;
                        put(buckets, other, through_m);
                    }
                }
            }
            bucket += 1;
        }
    }

    /// Satellites, stations and the links of the last step as a graph for other searches: satellites are numbered before
    /// stations, ISLs before GSLs.
    pub fn graph(&self) -> Graph {
        let isls = self.isls.iter().zip(&self.lengths_m).map(|(&(a, b), &length_m)| (a, b, length_m));
        let stations = self.satellites() as u32..;
        let gsls = stations.zip(&self.in_range).flat_map(|(station, in_range)| {
            in_range.iter().map(move |&(satellite, length_m)| (station, satellite, length_m))
        });
        let links: Vec<_> = (0u32..)
            .zip(isls.chain(gsls))
            .filter(|(_, (_, _, length_m))| length_m.is_finite())
            .map(|(number, (a, b, length_m))| (LinkId(number), NodeId(a), NodeId(b), length_m))
            .collect();
        Graph::new(self.satellites() + self.stations.len(), self.satellites(), &links)
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.constellation.len()
    }

    /// Next hop of a satellite towards a station; `None` if there is no path.
    pub fn next(&self, satellite: u32, station: usize) -> Option<StationHop> {
        let count = self.satellites();
        match *self.next.get(station * count..(station + 1) * count)?.get(satellite as usize)? {
            NOWHERE => None,
            DOWN => Some(StationHop::Station),
            other => Some(StationHop::Satellite(other)),
        }
    }

    /// Length of the path from a satellite down to a station in metres; infinite if there is none.
    pub fn length_m(&self, satellite: u32, station: usize) -> f64 {
        let count = self.satellites();
        let row = self.away_m.get(station * count..(station + 1) * count);
        row.and_then(|row| row.get(satellite as usize).copied()).unwrap_or(f64::INFINITY)
    }

    /// The first satellite of the path from one station to another, and the length of the whole path in metres.
    pub fn first(&self, from: usize, to: usize) -> Option<(u32, f64)> {
        let through = |&(satellite, up_m): &(u32, f64)| (satellite, up_m + self.length_m(satellite, to));
        let best = self.in_range.get(from)?.iter().map(through).min_by(|a, b| a.1.total_cmp(&b.1))?;
        best.1.is_finite().then_some(best)
    }

    /// The satellites of the shortest path between two stations, and its length in metres.
    pub fn path(&self, from: usize, to: usize) -> Option<(Vec<u32>, f64)> {
        let (first, length_m) = self.first(from, to)?;
        let mut satellites = vec![first];
        while let StationHop::Satellite(next) = self.next(*satellites.last()?, to)? {
            satellites.push(next);
        }
        Some((satellites, length_m))
    }
}
