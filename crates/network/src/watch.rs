//! Watched routes: their availability, and the links that they use.
//!
//! Follows schedules, traces and the constellation's changes: a route is out while one of its links is out or is being acquired,
//! or while there is no path.
//! Differs from the knowledge of hosts: this is for results, and no machine acts on it.
//! Leaves out packets.

use crate::links::Links;
use crate::mesh::Mesh;
use crate::route::{Route, Way};
use crate::space::Space;
use crate::wire::Wire;
use skyhop_units::Time;
use std::collections::{BTreeSet, VecDeque};

/// All routes of a run by number, watched or not.
#[derive(Default)]
pub(crate) struct Watch {
    /// Wires with scheduled outages.
    timed: BTreeSet<u32>,
    routes: Vec<Option<Watched>>,
    changes: VecDeque<(u32, bool)>,
}

#[derive(Default)]
struct Watched {
    out: bool,
    /// Wires that the route has used, from its beginning on.
    wires: BTreeSet<u32>,
}

impl Watch {
    /// The state before any route.
    pub fn of(wires: &[Wire]) -> Self {
        let goes_out =
            |wire: &Wire| wire.link.is_out(Time::ZERO) || wire.link.next_outage(Time::ZERO).is_some();
        let timed =
            wires.iter().enumerate().filter(|(_, wire)| goes_out(wire)).map(|(index, _)| index as u32);
        Self { timed: timed.collect(), ..Self::default() }
    }

    /// Adds a route, which is watched if `way` is given.
    pub fn add(&mut self, way: Option<&Way>, mesh: Option<&mut Mesh>) {
        let watched = way.map(|way| Watched {
            out: false,
            wires: match (way, mesh) {
                (Way::Wires([there, _]), _) => there.iter().copied().collect(),
                (Way::Mesh([from, to]), Some(mesh)) => mesh.wires(*from, *to, |_| false),
                _ => BTreeSet::new(),
            },
        });
        self.routes.push(watched);
    }

    /// Returns true if some link has scheduled outages.
    pub fn has_clock(&self) -> bool {
        !self.timed.is_empty()
    }

    /// The next time after `now` at which a scheduled outage begins or ends.
    pub fn next_outage(&self, now: Time, wires: &[Wire]) -> Option<Time> {
        self.timed.iter().filter_map(|&wire| wires[wire as usize].link.next_outage(now)).min()
    }

    pub fn is_out(&self, route: u32) -> bool {
        self.routes[route as usize].as_ref().is_some_and(|watched| watched.out)
    }

    pub fn wires_of(&self, route: u32) -> impl Iterator<Item = u32> {
        self.routes[route as usize].iter().flat_map(|watched| watched.wires.iter().copied())
    }

    pub fn poll_change(&mut self) -> Option<(u32, bool)> {
        self.changes.pop_front()
    }

    /// Updates the watched routes over satellites, or the others.
    pub fn look(
        &mut self,
        now: Time,
        over_satellites: bool,
        routes: &[Route],
        links: &mut Links,
        mut mesh: Option<&mut Mesh>,
    ) {
        let is_out = |wire: &u32| links.wires[*wire as usize].link.is_out(now);
        let out: BTreeSet<u32> = self.timed.iter().copied().filter(is_out).collect();
        for (index, (route, watched)) in routes.iter().zip(&mut self.routes).enumerate() {
            let Some(watched) = watched else { continue };
            let both = links.space.as_ref().is_some_and(Space::has_ground);
            match route.way {
                Way::Space(_) | Way::Pinned(_) if !over_satellites && !both => continue,
                Way::Wires(_) | Way::Mesh(_) if over_satellites => continue,
                _ => {}
            }
            let there = watched.there(&route.way, &out, mesh.as_deref_mut(), links);
            let was_out = std::mem::replace(&mut watched.out, !there);
            if was_out == there {
                self.changes.push_back((index as u32, there));
            }
        }
    }
}

impl Watched {
    /// Returns true if packets get through now, in both directions.
    fn there(&mut self, way: &Way, out: &BTreeSet<u32>, mesh: Option<&mut Mesh>, links: &mut Links) -> bool {
        match (way, mesh, &mut links.space) {
            (Way::Wires(both), ..) => !both.iter().any(|wires| wires.iter().any(|wire| out.contains(wire))),
            // The reverse of a wire has the neighbouring number.
            (Way::Mesh([from, to]), Some(mesh), _) => {
                let skip = |wire: u32| out.contains(&wire) || out.contains(&(wire ^ 1));
                !mesh.wires(*from, *to, skip).is_empty()
            }
            (Way::Space(_) | Way::Pinned(_), _, Some(space)) => match space.way(way) {
                Some(wires) => {
                    let there = !wires.iter().any(|wire| out.contains(wire) || out.contains(&(wire ^ 1)));
                    self.wires.extend(wires);
                    there
                }
                None => false,
            },
            _ => true,
        }
    }
}
