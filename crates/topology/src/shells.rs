//! Links between neighbouring shells: the choice of the satellites that they join.
//!
//! Each satellite of the smaller shell holds one of the other. It keeps it while the two are in range and the line between them
//! clears the atmosphere, and then takes the nearest that no other holds.
//! Differs from links within a shell: satellites of two shells drift past each other, so that no pair lasts.
//! Leaves out the slew rate of antennas that follow a satellite of another shell, and shells that are not neighbours in the list.

use std::collections::BTreeSet;

use skyhop_orbit::planes::PlaneShell;
use skyhop_orbit::{Ecef, Planes};

use crate::link::{LinkKind, LinkState, NodeId};

/// One link, in state down, for each satellite of the smaller of two neighbouring shells.
pub(crate) fn possible(planes: &Planes) -> Vec<LinkState> {
    let mut links = Vec::new();
    for pair in planes.shells().windows(2) {
        let [few, many] = by_size(planes, [&pair[0], &pair[1]]);
        let first = members(planes, many).next();
        let link =
            |a| Some(LinkState { a: NodeId(a), b: NodeId(first?), up: false, kind: LinkKind::InterShell });
        links.extend(members(planes, few).filter_map(link));
    }
    links
}

/// The new state of the inter-shell links `wanted`, given the positions of the satellites. `clear` returns true if a link may
/// pass between two positions.
pub(crate) fn at(
    wanted: &[LinkState],
    planes: &Planes,
    positions: &[Option<Ecef>],
    clear: impl Fn(Ecef, Ecef) -> bool,
) -> Vec<LinkState> {
    let place = |node: NodeId| positions[node.index()];
    let stands = |link: &LinkState| place(link.a).zip(place(link.b)).is_some_and(|(a, b)| clear(a, b));
    let shell = |node: NodeId| {
        let (plane, _) = planes.plane_slot(node.0)?;
        planes.shells().iter().position(|shell| shell.planes.contains(&plane))
    };
    let mut links: Vec<LinkState> =
        wanted.iter().map(|link| LinkState { up: link.up && stands(link), ..*link }).collect();
    // A satellite of a middle shell has a peer in each of the neighbouring shells.
    let mut taken: BTreeSet<(Option<usize>, NodeId)> =
        links.iter().filter(|link| link.up).map(|link| (shell(link.a), link.b)).collect();
    for link in links.iter_mut().filter(|link| !link.up) {
        let Some(from) = place(link.a) else { continue };
        let (own, other) = (shell(link.a), shell(link.b));
        let Some(other) = other.map(|other| &planes.shells()[other]) else { continue };
        let free = members(planes, other).map(NodeId).filter(|&peer| !taken.contains(&(own, peer)));
        let near = free.filter_map(|peer| {
            let to = place(peer).filter(|&to| clear(from, to))?;
            Some((from.distance_m(to), peer))
        });
        if let Some((_, peer)) = near.min_by(|a, b| a.0.total_cmp(&b.0)) {
            taken.insert((own, peer));
            *link = LinkState { b: peer, up: true, ..*link };
        }
    }
    links
}

fn by_size<'a>(planes: &Planes, [a, b]: [&'a PlaneShell; 2]) -> [&'a PlaneShell; 2] {
    if members(planes, b).count() < members(planes, a).count() { [b, a] } else { [a, b] }
}

fn members(planes: &Planes, shell: &PlaneShell) -> impl Iterator<Item = u32> {
    shell.planes.clone().flat_map(|plane| planes.members(plane).iter().copied())
}
