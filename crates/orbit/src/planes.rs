//! Orbital planes: the order of satellites within a plane, and the order of planes.
//!
//! Follows the layout of a shell where there is one; catalogued satellites are sorted into planes at t = 0.
//! The rules are ours and documented at [`Planes::infer`]; no paper has any.
//! Left out: planes that change later.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::catalogue::OrbitAtEpoch;

/// Satellites by plane and slot. Slot s + 1 flies ahead of slot s; plane p + 1 is east of plane p. Planes are numbered
/// consecutively through all shells.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    members: Vec<Vec<u32>>,
    places: Vec<Option<(u32, u32)>>,
    /// Argument of latitude at t = 0 of each satellite; empty if all planes of a shell have the same size.
    arguments_rad: Vec<f64>,
    shells: Vec<PlaneShell>,
}

/// A shell: consecutive planes that are neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaneShell {
    /// Numbers of its planes.
    pub planes: Range<u32>,
    /// True if its last plane and its first are neighbours in the same direction of flight.
    pub wraps: bool,
    /// Slots by which the last plane is ahead: its slot s is level with slot s + `wrap_shift` of the first plane.
    pub wrap_shift: u32,
}

/// Satellites whose mean motion differs by more than this share from the median of all are not in the shell.
const SHELL_TOLERANCE: f64 = 7.5e-3;
/// Satellites whose mean motion differs by more than this share from the median of their plane are spares or in transfer.
const PLANE_TOLERANCE: f64 = 5e-4;
/// A satellite of a plane has another of similar mean motion within this difference of RAAN.
const COMPANION_RAAN_RAD: f64 = 1.5 * PI / 180.0;
/// In a file with several shells, each has the satellites within this share of its most frequent mean motion.
const MIXED_SHELL_TOLERANCE: f64 = 1e-3;
/// Least number of satellites of a shell in a file of several, and of a plane.
const LEAST_SHELL: usize = 24;
const LEAST_PLANE: usize = 4;
/// Only near-polar orbits have a seam between planes that meet head-on.
const SEAM_INCLINATION_RAD: f64 = 15.0 * PI / 180.0;
/// Satellites whose inclination differs by more than this from the median are not in the shell.
const INCLINATION_TOLERANCE_RAD: f64 = 0.5 * PI / 180.0;
/// Smallest difference of RAAN between planes.
const LEAST_PLANE_SPACING_RAD: f64 = 0.2 * PI / 180.0;
/// A step that is wider than the next smaller one by this factor separates planes, not satellites of one plane.
const PLANE_STEP_RATIO: f64 = 3.0;

impl Planes {
    /// The planes of a shell whose satellites are numbered plane by plane. `wraps` as in [`Planes::wraps`], `wrap_shift` as in
    /// [`PlaneShell::wrap_shift`].
    pub fn regular(planes: u32, satellites_per_plane: u32, wraps: bool, wrap_shift: u32) -> Self {
        let members = (0..planes)
            .map(|plane| (0..satellites_per_plane).map(|slot| plane * satellites_per_plane + slot).collect())
            .collect();
        let shell = PlaneShell { planes: 0..planes, wraps, wrap_shift };
        let shells = if planes == 0 { Vec::new() } else { vec![shell] };
        Self::from_members(members, (planes * satellites_per_plane) as usize, Vec::new(), shells)
    }

    /// No planes, for `satellites` satellites on separate orbits.
    pub fn none(satellites: usize) -> Self {
        Self::from_members(Vec::new(), satellites, Vec::new(), Vec::new())
    }

    /// Sorts catalogued satellites into planes.
    ///
    /// 1. Only satellites near the median mean motion (0.75 %) and inclination (0.5 degrees) take part, and of those
    ///    only ones with a companion: another of similar mean motion (0.05 %) within 1.5 degrees of RAAN. Single strays
    ///    between planes would obscure the next step.
    /// 2. RAANs at t = 0 are sorted. The steps between neighbours fall into small ones within a plane and large ones
    ///    between planes; the split is at the greatest ratio between consecutive sorted steps.
    /// 3. In each plane only satellites near its own median mean motion (0.05 %) remain: planes of a shell may differ by
    ///    kilometres in altitude, spares and decaying objects by more. They get no ISLs. A group that then has less than
    ///    half the usual number (the median over planes) is no plane.
    /// 4. Planes are numbered eastwards from the widest step: for a star pattern that is the seam. If it is under
    ///    1.5 times the median step there is no seam, and the last plane is a neighbour of the first.
    /// 5. Within a plane the order is by argument of latitude, and slot 0 is chosen so that slots are as level as possible
    ///    with those of plane 0: rows of equal slot then zigzag from plane to plane and do not climb. A plane with more than
    ///    the usual number may hold a parked spare: of the two satellites closest together, if closer than half a slot, the
    ///    one whose mean motion is further from the plane's median is removed, until the number is right.
    ///
    /// If there is no clear step, or the planes would be single satellites or hold less than half of those of rule 1 before
    /// companions were required, the file has several shells. The most frequent orbit of the remaining satellites (mean motion
    /// within 0.1 %, inclination within 0.5 degrees) is a shell of its own, until fewer than 24 satellites share an orbit. Its
    /// planes are found by the same steps of RAAN; they may have any size from 4 satellites on and may still be filling up, so
    /// that a gap is a seam only within 15 degrees of a polar orbit, and no satellite counts as parked. Satellites in no plane
    /// fly on their own.
    pub fn infer(orbits: &[Option<OrbitAtEpoch>]) -> Self {
        let known: Vec<PlaneMember> =
            (0u32..).zip(orbits).filter_map(|(index, orbit)| orbit.map(|orbit| (index, orbit))).collect();
        let Some(usual) = median(known.iter().map(|(_, orbit)| orbit.mean_motion_rev_day)) else {
            return Self::none(orbits.len());
        };
        let one = shell(near(&known, usual, SHELL_TOLERANCE));
        let shells = one.map_or_else(|| several_shells(known), |shell| vec![shell]);
        let arguments = orbits.iter().map(|orbit| orbit.map_or(0.0, |orbit| orbit.argument_rad)).collect();
        let mut members = Vec::new();
        let mut ranges = Vec::new();
        for (mut planes, wraps) in shells {
            let first = members.len() as u32;
            for plane in &mut planes {
                plane.sort_by(|a, b| a.1.argument_rad.total_cmp(&b.1.argument_rad).then(a.0.cmp(&b.0)));
            }
            members.extend(planes.iter().map(|plane| plane.iter().map(|(index, _)| *index).collect()));
            ranges.push(PlaneShell { planes: first..members.len() as u32, wraps, wrap_shift: 0 });
        }
        Self::from_members(members, orbits.len(), arguments, ranges)
    }

    fn from_members(
        members: Vec<Vec<u32>>,
        satellites: usize,
        arguments_rad: Vec<f64>,
        shells: Vec<PlaneShell>,
    ) -> Self {
        let mut planes = Self { members, places: vec![None; satellites], arguments_rad, shells };
        if !planes.arguments_rad.is_empty() {
            planes.level();
        }
        for (plane, slots) in (0u32..).zip(&planes.members) {
            for (slot, &satellite) in (0u32..).zip(slots) {
                planes.places[satellite as usize] = Some((plane, slot));
            }
        }
        planes
    }

    /// Adds the planes of further satellites, whose numbers follow the present ones.
    pub fn append(&mut self, other: Self) {
        let (satellites, planes) = (self.places.len() as u32, self.len());
        if !(self.arguments_rad.is_empty() && other.arguments_rad.is_empty()) {
            self.arguments_rad.resize(self.places.len(), 0.0);
            self.arguments_rad.extend(&other.arguments_rad);
            self.arguments_rad.resize(self.places.len() + other.places.len(), 0.0);
        }
        let renumber = |plane: Vec<u32>| plane.into_iter().map(|member| satellites + member).collect();
        self.members.extend(other.members.into_iter().map(renumber));
        self.places
            .extend(other.places.into_iter().map(|place| place.map(|(plane, slot)| (planes + plane, slot))));
        self.shells.extend(other.shells.into_iter().map(|shell| PlaneShell {
            planes: planes + shell.planes.start..planes + shell.planes.end,
            ..shell
        }));
    }

    /// The shells in order of their planes.
    pub fn shells(&self) -> &[PlaneShell] {
        &self.shells
    }

    /// The shell of a plane.
    pub fn shell_of(&self, plane: u32) -> Option<&PlaneShell> {
        self.shells.iter().find(|shell| shell.planes.contains(&plane))
    }

    /// Number of planes.
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Returns true if there are no planes.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Satellites of a plane in slot order; empty if the plane does not exist.
    pub fn members(&self, plane: u32) -> &[u32] {
        self.members.get(plane as usize).map_or(&[], Vec::as_slice)
    }

    /// Plane and slot of a satellite; `None` if it is in no plane.
    pub fn plane_slot(&self, satellite: u32) -> Option<(u32, u32)> {
        self.places.get(satellite as usize).copied().flatten()
    }

    /// Returns true if the last plane and plane 0 are neighbours in the same direction of flight (a delta pattern) and false if a
    /// seam lies between them (a star pattern). With several shells, true if that holds for each.
    pub fn wraps(&self) -> bool {
        !self.shells.is_empty() && self.shells.iter().all(|shell| shell.wraps)
    }

    /// The pairs of level satellites in a plane and in the plane `distance` further east in its shell; empty across a seam. Past
    /// the last plane of a delta pattern, slots are level after the shell's shift.
    pub fn facing_east(&self, plane: u32, distance: u32) -> Vec<(u32, u32)> {
        let Some(shell) = self.shell_of(plane) else { return Vec::new() };
        let count = shell.planes.end - shell.planes.start;
        let east = plane - shell.planes.start + distance;
        if east < count {
            return self.facing(plane, plane + distance);
        }
        if !shell.wraps {
            return Vec::new();
        }
        let other = shell.planes.start + east % count;
        let (left, right) = (self.members(plane), self.members(other));
        if left.len() != right.len() {
            return self.facing(plane, other);
        }
        let shift = (u64::from(shell.wrap_shift) * u64::from(east / count)) as usize;
        (0..left.len()).map(|slot| (left[slot], right[(slot + shift) % right.len()])).collect()
    }

    /// The pairs of level satellites in two planes, as (satellite of `plane`, satellite of `other`).
    ///
    /// In planes of equal size, pairs have equal slots. Otherwise each satellite of the smaller plane, in slot order, takes the
    /// nearest free one in phase at t = 0, and keeps it.
    pub fn facing(&self, plane: u32, other: u32) -> Vec<(u32, u32)> {
        let (left, right) = (self.members(plane), self.members(other));
        if left.len() == right.len() {
            return left.iter().copied().zip(right.iter().copied()).collect();
        }
        if left.len() > right.len() {
            return self.facing(other, plane).into_iter().map(|(b, a)| (a, b)).collect();
        }
        let mut free = right.to_vec();
        left.iter().map(|&a| (a, self.take_nearest(a, &mut free))).collect()
    }

    /// Renumbers the slots of every plane to be level with those of its shell's first plane.
    fn level(&mut self) {
        for shell in &self.shells {
            let planes = &mut self.members[shell.planes.start as usize..shell.planes.end as usize];
            let Some((first, others)) = planes.split_first_mut() else { continue };
            for plane in others {
                let pairs = if plane.len() == first.len() { plane.len() } else { 1 };
                let cost = |shift: usize| -> f64 {
                    (0..pairs)
                        .map(|s| phase_apart(&self.arguments_rad, first[s], plane[(s + shift) % plane.len()]))
                        .sum()
                };
                let best = (0..plane.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
                plane.rotate_left(best.unwrap_or_default());
            }
        }
    }

    fn take_nearest(&self, satellite: u32, free: &mut Vec<u32>) -> u32 {
        let nearest = (0..free.len())
            .min_by(|&a, &b| {
                phase_apart(&self.arguments_rad, satellite, free[a]).total_cmp(&phase_apart(
                    &self.arguments_rad,
                    satellite,
                    free[b],
                ))
            })
            .expect("the larger plane has satellites left");
        free.remove(nearest)
    }
}

fn phase_apart(arguments_rad: &[f64], a: u32, b: u32) -> f64 {
    let apart = (arguments_rad[a as usize] - arguments_rad[b as usize]).rem_euclid(TAU);
    apart.min(TAU - apart)
}

type PlaneMember = (u32, OrbitAtEpoch);

/// Satellites with a mean motion within a share of `mean_motion`, and an inclination near the median of those.
fn near(members: &[PlaneMember], mean_motion: f64, tolerance: f64) -> Vec<PlaneMember> {
    let mut near: Vec<PlaneMember> = members.to_vec();
    near.retain(|member| mean_motion_off(member, mean_motion) <= tolerance * mean_motion);
    let inclination = median(near.iter().map(|(_, orbit)| orbit.inclination_rad)).unwrap_or_default();
    near.retain(|(_, orbit)| (orbit.inclination_rad - inclination).abs() <= INCLINATION_TOLERANCE_RAD);
    near
}

/// The planes of a shell that hold most of `working`, and true if they go all the way round.
fn shell(mut working: Vec<PlaneMember>) -> Option<(Vec<Vec<PlaneMember>>, bool)> {
    let least = working.len() / 2;
    let mut planes = planes_of(&mut working);
    let most = planes.iter().map(Vec::len).max().unwrap_or_default();
    // Strays are removed first, so that they do not distort the median.
    let usual = median(planes.iter().map(Vec::len).filter(|len| 2 * len > most).map(|len| len as f64));
    let usual = usual.unwrap_or_default() as usize;
    planes.retain(|plane| 2 * plane.len() > usual);
    if usual < 2 || planes.len() < 2 || planes.iter().map(Vec::len).sum::<usize>() < least {
        return None;
    }
    let wraps = begin_after_seam(&mut planes);
    for plane in &mut planes {
        plane.sort_by(|a, b| a.1.argument_rad.total_cmp(&b.1.argument_rad).then(a.0.cmp(&b.0)));
        let mean_motion = plane_mean_motion(plane);
        while plane.len() > usual && drop_parked(plane, usual, mean_motion) {}
    }
    Some((planes, wraps))
}

/// The planes of one shell of several, and true if they go all the way round.
fn part_of_many(mut working: Vec<PlaneMember>) -> Option<(Vec<Vec<PlaneMember>>, bool)> {
    let inclination_rad = median(working.iter().map(|(_, orbit)| orbit.inclination_rad))?;
    let mut planes = planes_of(&mut working);
    planes.retain(|plane| plane.len() >= LEAST_PLANE);
    if planes.len() < 2 {
        return None;
    }
    let wraps = begin_after_seam(&mut planes);
    // Planes that are still being filled leave wide gaps without a seam: on both sides satellites fly in the same direction.
    Some((planes, wraps || (inclination_rad - 0.5 * PI).abs() > SEAM_INCLINATION_RAD))
}

/// Planes by RAAN, without satellites of a different mean motion.
fn planes_of(working: &mut [PlaneMember]) -> Vec<Vec<PlaneMember>> {
    working.sort_by(|a, b| a.1.raan_rad.total_cmp(&b.1.raan_rad).then(a.0.cmp(&b.0)));
    let mut planes = split_by_raan(&with_companions(working));
    for plane in &mut planes {
        let usual = plane_mean_motion(plane);
        plane.retain(|member| mean_motion_off(member, usual) <= PLANE_TOLERANCE * usual);
    }
    planes
}

/// Shells that form planes, the most populous first.
fn several_shells(mut left: Vec<PlaneMember>) -> Vec<(Vec<Vec<PlaneMember>>, bool)> {
    let mut shells = Vec::new();
    loop {
        left.sort_by(|a, b| a.1.mean_motion_rev_day.total_cmp(&b.1.mean_motion_rev_day).then(a.0.cmp(&b.0)));
        let Some(commonest) = left.iter().max_by_key(|member| alike(&left, member).count()) else {
            return shells;
        };
        let alike: Vec<PlaneMember> = alike(&left, commonest).copied().collect();
        if alike.len() < LEAST_SHELL {
            return shells;
        }
        left.retain(|member| alike.iter().all(|(taken, _)| *taken != member.0));
        shells.extend(part_of_many(alike));
    }
}

/// The satellites, sorted by mean motion, whose orbits are similar to that of `one`.
fn alike<'a>(sorted: &'a [PlaneMember], one: &'a PlaneMember) -> impl Iterator<Item = &'a PlaneMember> {
    let reach = MIXED_SHELL_TOLERANCE * one.1.mean_motion_rev_day;
    let mean_motion = |member: &PlaneMember| member.1.mean_motion_rev_day;
    let from = sorted.partition_point(|member| mean_motion(member) < mean_motion(one) - reach);
    let to = sorted.partition_point(|member| mean_motion(member) <= mean_motion(one) + reach);
    let inclined = move |member: &&PlaneMember| {
        (member.1.inclination_rad - one.1.inclination_rad).abs() <= INCLINATION_TOLERANCE_RAD
    };
    sorted[from..to].iter().filter(inclined)
}

/// The satellites, sorted by RAAN, that have a companion.
fn with_companions(sorted: &[PlaneMember]) -> Vec<PlaneMember> {
    let companions = |a: &PlaneMember, b: &PlaneMember| {
        let apart = (a.1.raan_rad - b.1.raan_rad).rem_euclid(TAU);
        apart.min(TAU - apart) <= COMPANION_RAAN_RAD
            && mean_motion_off(a, b.1.mean_motion_rev_day) <= PLANE_TOLERANCE * a.1.mean_motion_rev_day
    };
    let has_companion =
        |member: &&PlaneMember| sorted.iter().any(|other| other.0 != member.0 && companions(member, other));
    sorted.iter().filter(has_companion).copied().collect()
}

/// Splits satellites sorted by RAAN into planes at the large steps.
fn split_by_raan(sorted: &[PlaneMember]) -> Vec<Vec<PlaneMember>> {
    let step = |index: usize| {
        let next = sorted[(index + 1) % sorted.len()].1.raan_rad;
        (next - sorted[index].1.raan_rad).rem_euclid(TAU)
    };
    let mut steps: Vec<f64> = (0..sorted.len()).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let least = LEAST_PLANE_SPACING_RAD;
    let ratio = |index: usize| steps[index + 1].max(least) / steps[index].max(least);
    // Two planes already have two steps between them, so one wide step alone separates nothing.
    let split = (0..steps.len().saturating_sub(2)).max_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
    let Some(split) = split.filter(|&index| ratio(index) >= PLANE_STEP_RATIO) else { return Vec::new() };
    let between = steps[split + 1];
    let last_before = (0..sorted.len()).rev().find(|&index| step(index) >= between).unwrap_or_default();
    let mut planes = Vec::new();
    let mut plane = Vec::new();
    for index in (last_before + 1..sorted.len()).chain(0..=last_before) {
        plane.push(sorted[index]);
        if step(index) >= between {
            planes.push(std::mem::take(&mut plane));
        }
    }
    planes
}

/// Rotates the list of planes to begin after the widest step; returns true if that step is like the others.
fn begin_after_seam(planes: &mut [Vec<PlaneMember>]) -> bool {
    let raan = |index: usize| planes[index % planes.len()][0].1.raan_rad;
    let steps: Vec<f64> = (0..planes.len()).map(|p| (raan(p + 1) - raan(p)).rem_euclid(TAU)).collect();
    let widest = (0..steps.len()).max_by(|&a, &b| steps[a].total_cmp(&steps[b])).unwrap_or_default();
    let typical = median(steps.iter().copied()).unwrap_or_default();
    let wraps = planes.len() > 2 && steps[widest] < 1.5 * typical;
    planes.rotate_left((widest + 1) % steps.len());
    wraps
}

fn plane_mean_motion(plane: &[PlaneMember]) -> f64 {
    median(plane.iter().map(|(_, orbit)| orbit.mean_motion_rev_day)).unwrap_or_default()
}

fn mean_motion_off(member: &PlaneMember, mean_motion_rev_day: f64) -> f64 {
    (member.1.mean_motion_rev_day - mean_motion_rev_day).abs()
}

/// Removes the spare of the closest pair from a plane sorted by argument; `false` if no pair is closer than expected.
fn drop_parked(plane: &mut Vec<PlaneMember>, usual: usize, mean_motion: f64) -> bool {
    let gap = |index: usize| {
        let next = plane[(index + 1) % plane.len()].1.argument_rad;
        (next - plane[index].1.argument_rad).rem_euclid(TAU)
    };
    let Some(closest) = (0..plane.len()).min_by(|&a, &b| gap(a).total_cmp(&gap(b))) else { return false };
    if usual == 0 || gap(closest) > 0.5 * TAU / usual as f64 {
        return false;
    }
    let partner = (closest + 1) % plane.len();
    let off = |index: usize| mean_motion_off(&plane[index], mean_motion);
    plane.remove(if off(closest) > off(partner) { closest } else { partner });
    true
}

/// The median; the lower of two middle values.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}
