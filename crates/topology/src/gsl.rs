//! Ground-satellite links: which satellite serves a terminal.
//!
//! Follows HT 6.2 and ns-2: a terminal looks for another satellite once its own is no longer above the mask.
//! Differs: after no satellite at all was above the mask, the next choice is the highest under every policy.
//! Left out: load, capacity and spot beams of the satellite.

use skyhop_orbit::visibility::elevation_rad;
use skyhop_orbit::{Ecef, Planes, Vec3, highest_elevation};

use crate::link::{LinkState, NodeId};
use crate::rules::{Handover, Rules};

/// A terminal's place and zenith, which do not change between updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub(crate) place: Ecef,
    pub(crate) up: Vec3,
}

/// The state of a GSL with satellites that may serve at `positions`. `attached` is whether the terminal holds the
/// satellite of `link`, as it may do before the first update.
pub(crate) fn at(
    link: LinkState,
    site: Site,
    attached: bool,
    planes: &Planes,
    rules: &Rules,
    positions: &[Option<Ecef>],
) -> LinkState {
    let visible = |satellite: u32| {
        positions[satellite as usize]
            .is_some_and(|position| elevation_rad(site.place, site.up, position) > rules.elevation_mask_rad)
    };
    let kept = match rules.handover {
        _ if !attached => None,
        _ if visible(link.b.0) => Some(link.b.0),
        Handover::FollowPlane => follower(planes, link.b.0).filter(|&satellite| visible(satellite)),
        Handover::HighestOnLoss => None,
    };
    let chosen = kept.or_else(|| {
        highest_elevation(site.place, site.up, positions, rules.elevation_mask_rad)
            .map(|(satellite, _)| satellite)
    });
    match chosen {
        Some(satellite) => LinkState { b: NodeId(satellite), up: true, ..link },
        None => LinkState { up: false, ..link },
    }
}

fn follower(planes: &Planes, satellite: u32) -> Option<u32> {
    let (plane, slot) = planes.plane_slot(satellite)?;
    let members = planes.members(plane);
    Some(members[(slot as usize + members.len() - 1) % members.len()])
}
