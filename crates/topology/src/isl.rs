//! Inter-satellite links: those that are possible, and those that are up.
//!
//! Follows HT 6.2 and ns-2: latitude limit, grazing altitude, and the hand-off of cross-seam links.
//! Differs: satellites without a position (decayed elements) take their links down.
//! Left out: slewing limits beyond the latitude and longitude thresholds, and link budgets.

use std::collections::BTreeSet;

use skyhop_orbit::constellation::longitude_difference_rad;
use skyhop_orbit::planes::PlaneShell;
use skyhop_orbit::{Constellation, Ecef, Planes};

use crate::link::{LinkKind, LinkState, NodeId};
use crate::rules::{CrossSeam, Rules};
use crate::shells;

/// A rule of the caller's that decides which of the possible ISLs are up; called at each update, never per packet.
///
/// ```
/// use std::sync::Arc;
/// use skyhop_orbit::{Ecef, preset};
/// use skyhop_topology::{LinkKind, LinkRule, LinkState, Rules, Topology};
///
/// /// Only planes; no links between them in the southern hemisphere.
/// #[derive(Debug)]
/// struct NorthOnly;
///
/// impl LinkRule for NorthOnly {
///     fn is_up(&self, link: LinkState, ends: (Ecef, Ecef), _t_s: f64) -> bool {
///         link.up && (link.kind == LinkKind::IntraPlane || ends.0.0.z.min(ends.1.0.z) > 0.0)
///     }
/// }
///
/// let mut topology = Topology::new(preset::iridium(), Vec::new(), Rules::iridium())?;
/// topology.update(0.0);
/// let up = |topology: &Topology| topology.links().iter().filter(|link| link.up).count();
/// let before = up(&topology);
/// topology.set_link_rule(Arc::new(NorthOnly));
/// topology.update(10.0);
/// assert!(up(&topology) < before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LinkRule: std::fmt::Debug + Send + Sync {
    /// Returns true if the ISL with ends at `ends` is up; `link.up` is the decision of the built-in rules.
    fn is_up(&self, link: LinkState, ends: (Ecef, Ecef), t_s: f64) -> bool;
}

/// All ISLs that the rules make possible, in state down: within planes, between planes, across the seam, between shells.
///
/// Each group is ordered by plane, slot, and distance in slots or planes, so numbers are the same in every run.
pub(crate) fn possible(constellation: &Constellation, rules: &Rules) -> Vec<LinkState> {
    let planes = constellation.planes();
    let mut pairs = BTreeSet::new();
    let mut links = Vec::new();
    let mut add = |a: u32, b: u32, kind| {
        // In a small pattern two satellites may be neighbours on both sides; they have one link.
        if a != b && pairs.insert((a.min(b), a.max(b))) {
            links.push(LinkState { a: NodeId(a), b: NodeId(b), up: false, kind });
        }
    };
    for plane in 0..planes.len() {
        let members = planes.members(plane);
        for (slot, &satellite) in members.iter().enumerate() {
            for ahead in 1..=rules.intra_plane_neighbours as usize {
                add(satellite, members[(slot + ahead) % members.len()], LinkKind::IntraPlane);
            }
        }
    }
    for plane in 0..planes.len() {
        for east in 1..=rules.inter_plane_neighbours {
            for (a, b) in planes.facing_east(plane, east) {
                add(a, b, LinkKind::InterPlane);
            }
        }
    }
    if let Some(seam) = rules.cross_seam {
        for shell in planes.shells().iter().filter(|shell| has_seam(shell)) {
            links.extend(across_seam(constellation, shell, seam));
        }
    }
    if rules.inter_shell {
        links.extend(shells::possible(planes));
    }
    links
}

/// Returns true if a shell has a seam: a star pattern with at least three planes.
fn has_seam(shell: &PlaneShell) -> bool {
    !shell.wraps && shell.planes.len() > 2
}

fn across_seam(constellation: &Constellation, shell: &PlaneShell, seam: CrossSeam) -> Vec<LinkState> {
    let planes = constellation.planes();
    let peers = planes.members(shell.planes.end - 1);
    let first_peer = |slot: usize, owner: u32| match seam.first_slot {
        Some(first) => peers[(i64::from(first) - slot as i64).rem_euclid(peers.len() as i64) as usize],
        None => nearest(constellation, owner, peers),
    };
    let link = |(slot, &owner): (usize, &u32)| LinkState {
        a: NodeId(owner),
        b: NodeId(first_peer(slot, owner)),
        up: false,
        kind: LinkKind::CrossSeam,
    };
    planes.members(shell.planes.start).iter().enumerate().map(link).collect()
}

fn nearest(constellation: &Constellation, satellite: u32, others: &[u32]) -> u32 {
    let distance = |other: u32| {
        let ends = constellation.position_ecef(satellite, 0.0).zip(constellation.position_ecef(other, 0.0));
        ends.map_or(f64::INFINITY, |(a, b)| a.distance_m(b))
    };
    let best = others.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
    best.unwrap_or(satellite)
}

/// Number of connected groups of `satellites` satellites joined by the ISLs of `links`, up or down: 1 if all can reach all, the
/// number of satellites if there are no ISLs.
pub fn groups(satellites: usize, links: &[LinkState]) -> usize {
    let mut parent: Vec<usize> = (0..satellites).collect();
    let mut groups = parent.len();
    for link in links.iter().filter(|l| !matches!(l.kind, LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground))
    {
        let (a, b) = (root(&mut parent, link.a.index()), root(&mut parent, link.b.index()));
        groups -= usize::from(a != b);
        parent[a] = b;
    }
    groups
}

fn root(parent: &mut [usize], mut one: usize) -> usize {
    while parent[one] != one {
        parent[one] = parent[parent[one]];
        one = parent[one];
    }
    one
}

/// The new state of an ISL, given the positions of the satellites.
pub(crate) fn at(
    link: LinkState,
    constellation: &Constellation,
    rules: &Rules,
    positions: &[Option<Ecef>],
) -> LinkState {
    let b = match link.kind {
        LinkKind::CrossSeam => handed_off(link, constellation.planes(), positions),
        _ => link.b,
    };
    let up = positions[link.a.index()]
        .zip(positions[b.index()])
        .is_some_and(|(a, b)| is_up(link.kind, a, b, constellation, rules));
    LinkState { b, up, ..link }
}

/// The peer of a cross-seam link: the present one, or its follower if that is nearer. It moves one step per update, as in ns-2.
fn handed_off(link: LinkState, planes: &Planes, positions: &[Option<Ecef>]) -> NodeId {
    let Some((plane, slot)) = planes.plane_slot(link.b.0) else { return link.b };
    let members = planes.members(plane);
    let follower = members[(slot as usize + members.len() - 1) % members.len()];
    let from_owner = |peer: u32| {
        positions[link.a.index()].zip(positions[peer as usize]).map(|(owner, peer)| owner.distance_m(peer))
    };
    match (from_owner(link.b.0), from_owner(follower)) {
        (Some(present), Some(next)) if next < present => NodeId(follower),
        (None, Some(_)) => NodeId(follower),
        _ => link.b,
    }
}

pub(crate) fn is_up(kind: LinkKind, a: Ecef, b: Ecef, constellation: &Constellation, rules: &Rules) -> bool {
    if a.distance_m(b) > rules.max_isl_range_m {
        return false;
    }
    let clear = a.grazing_radius_m(b) >= constellation.earth().radius_m + rules.grazing_altitude_m;
    let low = || {
        a.latitude_rad().abs() <= rules.isl_latitude_limit_rad
            && b.latitude_rad().abs() <= rules.isl_latitude_limit_rad
    };
    let apart = |threshold| longitude_difference_rad(a.longitude_rad(), b.longitude_rad()) >= threshold;
    match kind {
        LinkKind::IntraPlane => clear,
        LinkKind::InterPlane => clear && low(),
        LinkKind::CrossSeam => {
            clear && low() && rules.cross_seam.is_some_and(|seam| apart(seam.longitude_threshold_rad))
        }
        LinkKind::InterShell => clear,
        LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground => false,
    }
}
