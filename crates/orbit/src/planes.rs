//! Orbital planes: which satellites fly behind one another, and which planes are side by side.
//!
//! Follows the layout of a shell where there is one; catalogued satellites are sorted into planes at t = 0.
//! Differs: nothing of this is in any paper; the rules are below, with [`Planes::infer`].
//! Left out: several shells in one file (only the commonest orbit forms planes), and planes that change later.

use std::f64::consts::{PI, TAU};

use crate::catalogue::OrbitAtEpoch;

/// Satellites by plane and slot. Slot s + 1 flies ahead of slot s; plane p + 1 is east of plane p.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    members: Vec<Vec<u32>>,
    places: Vec<Option<(u32, u32)>>,
    /// Argument of latitude at t = 0 per satellite; empty where slots correspond by number.
    arguments_rad: Vec<f64>,
    wraps: bool,
}

/// Satellites whose mean motion is further than this share from the median are spares or on their way.
const MEAN_MOTION_TOLERANCE: f64 = 1e-3;
/// Satellites inclined further than this from the median belong elsewhere.
const INCLINATION_TOLERANCE_RAD: f64 = 0.5 * PI / 180.0;
/// Nodes closer than this are never in different planes.
const LEAST_PLANE_SPACING_RAD: f64 = 0.2 * PI / 180.0;
/// A step this much wider than the next smaller one separates planes rather than satellites of one plane.
const PLANE_STEP_RATIO: f64 = 3.0;

impl Planes {
    /// The planes of a shell, whose satellites are numbered plane by plane. `wraps` as [`Planes::wraps`].
    pub fn regular(planes: u32, satellites_per_plane: u32, wraps: bool) -> Self {
        let members = (0..planes)
            .map(|plane| (0..satellites_per_plane).map(|slot| plane * satellites_per_plane + slot).collect())
            .collect();
        Self::from_members(members, (planes * satellites_per_plane) as usize, Vec::new(), wraps)
    }

    /// No planes, for `satellites` that fly on their own.
    pub fn none(satellites: usize) -> Self {
        Self::from_members(Vec::new(), satellites, Vec::new(), false)
    }

    /// Sorts catalogued satellites into planes.
    ///
    /// 1. Only satellites near the median mean motion (0.1 %) and inclination (0.5 degrees) take part. Spares and
    ///    decaying objects stay out and get no ISLs.
    /// 2. RAANs at t = 0 are sorted. The steps between neighbours fall into small ones within a plane and large ones
    ///    between planes; the split is at the greatest ratio between consecutive sorted steps.
    /// 3. Planes are numbered eastwards, beginning after the widest step: for a star pattern that is the seam. If it
    ///    is under 1.5 times the median step there is no seam and the last plane neighbours the first.
    /// 4. Within a plane the order is by argument of latitude. A plane with more than the usual number (the median
    ///    over planes) holds a parked spare: of the two satellites closest together, and closer than half a slot,
    ///    the one whose mean motion is further from the median leaves, until the number is right.
    pub fn infer(orbits: &[Option<OrbitAtEpoch>]) -> Self {
        let known: Vec<(u32, OrbitAtEpoch)> =
            (0u32..).zip(orbits).filter_map(|(index, orbit)| orbit.map(|orbit| (index, orbit))).collect();
        let Some(mean_motion) = median(known.iter().map(|(_, orbit)| orbit.mean_motion_rev_day)) else {
            return Self::none(orbits.len());
        };
        let mut working = known;
        working.retain(|(_, orbit)| {
            (orbit.mean_motion_rev_day / mean_motion - 1.0).abs() <= MEAN_MOTION_TOLERANCE
        });
        let inclination = median(working.iter().map(|(_, orbit)| orbit.inclination_rad)).unwrap_or_default();
        working.retain(|(_, orbit)| (orbit.inclination_rad - inclination).abs() <= INCLINATION_TOLERANCE_RAD);
        working.sort_by(|a, b| a.1.raan_rad.total_cmp(&b.1.raan_rad).then(a.0.cmp(&b.0)));

        let Some((mut planes, wraps)) = split_by_raan(&working) else { return Self::none(orbits.len()) };
        let usual = median(planes.iter().map(|plane| plane.len() as f64)).unwrap_or_default() as usize;
        for plane in &mut planes {
            plane.sort_by(|a, b| a.1.argument_rad.total_cmp(&b.1.argument_rad).then(a.0.cmp(&b.0)));
            while plane.len() > usual && drop_parked(plane, usual, mean_motion) {}
        }
        let members = planes.iter().map(|plane| plane.iter().map(|(index, _)| *index).collect()).collect();
        let arguments = orbits.iter().map(|orbit| orbit.map_or(0.0, |orbit| orbit.argument_rad)).collect();
        Self::from_members(members, orbits.len(), arguments, wraps)
    }

    fn from_members(members: Vec<Vec<u32>>, satellites: usize, arguments_rad: Vec<f64>, wraps: bool) -> Self {
        let mut places = vec![None; satellites];
        for (plane, slots) in (0u32..).zip(&members) {
            for (slot, &satellite) in (0u32..).zip(slots) {
                places[satellite as usize] = Some((plane, slot));
            }
        }
        Self { members, places, arguments_rad, wraps }
    }

    /// Number of planes.
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Whether there are no planes.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Satellites of a plane in slot order; empty for a plane that does not exist.
    pub fn members(&self, plane: u32) -> &[u32] {
        self.members.get(plane as usize).map_or(&[], Vec::as_slice)
    }

    /// Plane and slot of a satellite, if it has them.
    pub fn plane_slot(&self, satellite: u32) -> Option<(u32, u32)> {
        self.places.get(satellite as usize).copied().flatten()
    }

    /// Whether the last plane neighbours plane 0 in the same direction of flight (a delta pattern); if not, a seam
    /// lies between them (a star pattern).
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// Which satellites of two planes face each other, as (satellite of `plane`, satellite of `other`).
    ///
    /// In a shell, those of equal slot. Catalogued satellites are paired by phase at t = 0 and keep that partner: for
    /// planes of equal size by the shift of slots with the least total phase difference (the smallest such shift),
    /// otherwise each of the smaller plane, in slot order, takes the nearest in phase that is still free.
    pub fn facing(&self, plane: u32, other: u32) -> Vec<(u32, u32)> {
        let (left, right) = (self.members(plane), self.members(other));
        if self.arguments_rad.is_empty() {
            return left.iter().copied().zip(right.iter().copied()).collect();
        }
        if left.len() > right.len() {
            return self.facing(other, plane).into_iter().map(|(b, a)| (a, b)).collect();
        }
        if left.len() < right.len() {
            let mut free = right.to_vec();
            return left.iter().map(|&a| (a, self.take_nearest(a, &mut free))).collect();
        }
        let shifted =
            |shift: usize| (0..left.len()).map(move |s| (left[s], right[(s + shift) % right.len()]));
        let cost = |shift: usize| shifted(shift).map(|(a, b)| self.phase_apart(a, b)).sum::<f64>();
        let best = (0..left.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
        best.map_or_else(Vec::new, |shift| shifted(shift).collect())
    }

    fn take_nearest(&self, satellite: u32, free: &mut Vec<u32>) -> u32 {
        let nearest = (0..free.len())
            .min_by(|&a, &b| {
                self.phase_apart(satellite, free[a]).total_cmp(&self.phase_apart(satellite, free[b]))
            })
            .expect("the larger plane has satellites left");
        free.remove(nearest)
    }

    fn phase_apart(&self, a: u32, b: u32) -> f64 {
        let apart = (self.arguments_rad[a as usize] - self.arguments_rad[b as usize]).rem_euclid(TAU);
        apart.min(TAU - apart)
    }
}

type Member = (u32, OrbitAtEpoch);

/// Cuts satellites sorted by RAAN into planes, and says whether they go all the way round.
fn split_by_raan(sorted: &[Member]) -> Option<(Vec<Vec<Member>>, bool)> {
    let step = |index: usize| {
        let next = sorted[(index + 1) % sorted.len()].1.raan_rad;
        (next - sorted[index].1.raan_rad).rem_euclid(TAU)
    };
    let mut steps: Vec<f64> = (0..sorted.len()).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let ratio = |index: &usize| {
        steps[index + 1].max(LEAST_PLANE_SPACING_RAD) / steps[*index].max(LEAST_PLANE_SPACING_RAD)
    };
    let split = (0..steps.len().saturating_sub(1)).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    if ratio(&split) < PLANE_STEP_RATIO {
        return None;
    }
    let between = &steps[split + 1..];
    let widest = *between.last()?;
    let wraps = between.len() > 2 && widest < 1.5 * between[between.len() / 2];
    let start = (0..sorted.len()).find(|&index| step(index) == widest)? + 1;
    let mut planes = vec![Vec::new()];
    for offset in 0..sorted.len() {
        let index = (start + offset) % sorted.len();
        planes.last_mut()?.push(sorted[index]);
        if step(index) >= between[0] && offset + 1 < sorted.len() {
            planes.push(Vec::new());
        }
    }
    Some((planes, wraps))
}

/// Takes the spare of the closest pair out of a plane sorted by argument; `false` if no two are suspiciously close.
fn drop_parked(plane: &mut Vec<Member>, usual: usize, mean_motion: f64) -> bool {
    let gap = |index: usize| {
        let next = plane[(index + 1) % plane.len()].1.argument_rad;
        (next - plane[index].1.argument_rad).rem_euclid(TAU)
    };
    let Some(closest) = (0..plane.len()).min_by(|&a, &b| gap(a).total_cmp(&gap(b))) else { return false };
    if usual == 0 || gap(closest) > 0.5 * TAU / usual as f64 {
        return false;
    }
    let partner = (closest + 1) % plane.len();
    let off = |index: usize| (plane[index].1.mean_motion_rev_day - mean_motion).abs();
    plane.remove(if off(closest) > off(partner) { closest } else { partner });
    true
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
