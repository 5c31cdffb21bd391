//! The hybrid geographic protocol of HT: greedy at a distance, link states nearby, a zone at each pole.
//!
//! Follows HT 6.5.2: routing radius with its three constraints, LOW_LATITUDE, POLAR_BORDER and POLAR, tunnels.
//! Differs: positions are not rounded to cells. A border satellite judges the way over the pole by the end of its tunnel, as
//! POLAR satellites do. Left out: tunnels around the tear at the seam, which the thesis tried without success.

use std::collections::BTreeMap;

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkKind, LinkState, NodeId};

use crate::graph::Edge;
use crate::router::Hop;
use crate::scheme::{LinkCause, PacketHeader, RoutingScheme, Scope, Stranded};
use crate::view::View;

/// Routing radius as a function of latitude; the defaults are those of figures 6.21 and 6.22.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Radius {
    /// Radius below the latitude, hops.
    pub low: u32,
    /// Radius above the latitude, hops.
    pub high: u32,
    /// Latitude at which the radius changes.
    pub latitude_rad: f64,
}

impl Default for Radius {
    fn default() -> Self {
        Self { low: 2, high: 3, latitude_rad: 45f64.to_radians() }
    }
}

/// The role of a satellite in the polar zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// LOW_LATITUDE: no role.
    LowLatitude,
    /// POLAR_BORDER: next to a POLAR satellite in its plane, with all links to other planes up.
    PolarBorder,
    /// POLAR: at least one of its links to other planes is off.
    Polar,
}

/// HT's hybrid protocol.
#[derive(Debug, Clone, Default)]
pub struct Hybrid {
    radius: Radius,
    radii: Vec<u32>,
    zones: Vec<Zone>,
    /// For each satellite, true if it is in the zone of the north pole, false of the south pole; `None` at low latitudes.
    north: Vec<Option<bool>>,
    /// For each satellite, true for the satellites whose link states it holds.
    holds: Vec<Vec<bool>>,
    /// Legal paths to a satellite: the next hop of each other satellite.
    legal: BTreeMap<NodeId, Vec<Option<Hop>>>,
}

impl Hybrid {
    /// The protocol with this radius.
    pub fn new(radius: Radius) -> Self {
        Self { radius, ..Self::default() }
    }

    /// Role of a satellite in the polar zones.
    pub fn zone(&self, satellite: NodeId) -> Zone {
        self.zones.get(satellite.index()).copied().unwrap_or(Zone::LowLatitude)
    }

    /// Returns true if two satellites are in the same polar zone.
    fn same_pole(&self, a: NodeId, b: NodeId) -> bool {
        self.north[a.index()].is_some() && self.north[a.index()] == self.north[b.index()]
    }

    fn find_zones(&mut self, view: &View<'_>) {
        let satellites = view.satellites();
        self.zones.clear();
        self.zones.resize(satellites, Zone::LowLatitude);
        let off = |link: &&LinkState| link.kind == LinkKind::InterPlane && !link.up;
        for link in view.topology().links().iter().filter(off) {
            self.zones[link.a.index()] = Zone::Polar;
            self.zones[link.b.index()] = Zone::Polar;
        }
        for satellite in (0..satellites as u32).map(NodeId) {
            let beside = [1, -1].into_iter().filter_map(|step| in_plane(view, satellite, step));
            let borders = |neighbour: NodeId| self.zones[neighbour.index()] == Zone::Polar;
            if self.zone(satellite) == Zone::LowLatitude && beside.into_iter().any(borders) {
                self.zones[satellite.index()] = Zone::PolarBorder;
            }
        }
        let pole = |(index, zone): (usize, &Zone)| {
            let position = view.position(NodeId(index as u32))?;
            (*zone != Zone::LowLatitude).then_some(position.latitude_rad() > 0.0)
        };
        self.north = self.zones.iter().enumerate().map(pole).collect();
    }

    /// Floods each satellite's link states to its radius and through its polar zone.
    fn flood(&mut self, view: &View<'_>) {
        let satellites = view.satellites();
        self.holds.iter_mut().for_each(|held| held.clear());
        self.holds.resize(satellites, Vec::new());
        self.holds.iter_mut().for_each(|held| held.resize(satellites, false));
        let mut hops = vec![u32::MAX; satellites];
        for origin in (0..satellites as u32).map(NodeId) {
            hops.fill(u32::MAX);
            hops[origin.index()] = 0;
            let mut reached = vec![origin];
            let mut index = 0;
            while index < reached.len() {
                let at = reached[index];
                index += 1;
                self.holds[at.index()][origin.index()] = true;
                for edge in view.working_isls(at) {
                    let zone = self.same_pole(at, origin) && self.same_pole(edge.to, origin);
                    let near = hops[at.index()] < self.radii[origin.index()];
                    if (near || zone) && hops[edge.to.index()] == u32::MAX {
                        hops[edge.to.index()] = hops[at.index()] + 1;
                        reached.push(edge.to);
                    }
                }
            }
        }
    }

    /// Minimum-hop paths to `egress` on which every satellite at k hops has a radius of at least k, or is in the polar zone of
    /// the destination. The radius applies to a path that leaves the zone.
    fn legal(&mut self, view: &View<'_>, egress: NodeId) -> &[Option<Hop>] {
        if !self.legal.contains_key(&egress) {
            let mut next = vec![None; view.satellites()];
            let mut hops = vec![u32::MAX; view.satellites()];
            hops[egress.index()] = 0;
            let mut reached = vec![egress];
            let mut index = 0;
            while index < reached.len() {
                let at = reached[index];
                index += 1;
                let away = hops[at.index()] + 1;
                for edge in view.working_isls(at) {
                    let allowed = away <= self.radii[edge.to.index()] || self.same_pole(edge.to, egress);
                    if allowed && hops[edge.to.index()] == u32::MAX {
                        hops[edge.to.index()] = away;
                        next[edge.to.index()] = Some(Hop { link: edge.link, to: at });
                        reached.push(edge.to);
                    }
                }
            }
            self.legal.insert(egress, next);
        }
        &self.legal[&egress]
    }

    /// The next hop of a legal path of which `at` knows every link.
    fn near(&mut self, view: &View<'_>, at: NodeId, egress: NodeId) -> Option<Hop> {
        if !self.holds[at.index()][egress.index()] {
            return None;
        }
        let next = self.legal(view, egress);
        let first = next[at.index()]?;
        let mut path = vec![];
        let mut here = at;
        while let Some(hop) = next[here.index()] {
            path.push(hop.to);
            here = hop.to;
        }
        // A link is known from either end.
        let held = &self.holds[at.index()];
        let known = |pair: &[NodeId]| held[pair[0].index()] || held[pair[1].index()];
        path.windows(2).all(known).then_some(first)
    }

    /// The border satellite at the end of a tunnel from `at` in direction `step`; that of the opposite direction if there is none.
    fn border(&self, view: &View<'_>, at: NodeId, step: i64) -> Option<NodeId> {
        let mut here = in_plane(view, at, step)?;
        while self.zone(here) == Zone::Polar {
            here = in_plane(view, here, step).filter(|&next| next != at)?;
        }
        Some(here)
    }

    /// The next hop of a tunnel through the pole: along the plane to the nearer of its two border satellites.
    fn tunnel(&self, view: &View<'_>, at: NodeId, place: Ecef) -> Option<Hop> {
        let ends = [1, -1].map(|step| {
            let border = self.border(view, at, step)?;
            Some((apart_rad(view, border, place)?, step, border))
        });
        let nearer = ends.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        let (_, step, border) = nearer;
        let mut ahead = Vec::new();
        let mut here = at;
        while here != border {
            here = in_plane(view, here, step)?;
            ahead.push(here);
        }
        // The link that leads furthest without leaving the tunnel.
        let link_to = |to: &NodeId| view.working_isls(at).find(|edge| edge.to == *to);
        ahead.iter().rev().find_map(link_to).map(hop)
    }

    /// The neighbour nearest to the destination, if it is nearer than `at`.
    fn greedy(&self, view: &View<'_>, at: NodeId, place: Ecef) -> Option<Hop> {
        let plane = |satellite: NodeId| view.topology().constellation().plane_slot(satellite.0);
        let leads_to = |edge: &Edge| {
            let same_plane = plane(edge.to).zip(plane(at)).is_some_and(|(a, b)| a.0 == b.0);
            if self.zone(edge.to) != Zone::Polar || !same_plane {
                return Some(edge.to);
            }
            self.border(view, at, if is_ahead(view, at, edge.to) { 1 } else { -1 })
        };
        let nearest = view
            .working_isls(at)
            .filter_map(|edge| Some((apart_rad(view, leads_to(edge)?, place)?, edge)))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.link.cmp(&b.1.link)))?;
        (nearest.0 < apart_rad(view, at, place)?).then(|| hop(nearest.1))
    }
}

impl RoutingScheme for Hybrid {
    fn name(&self) -> &str {
        "hybrid of 1999"
    }

    fn refresh(&mut self, view: &View<'_>) {
        self.legal.clear();
        self.find_zones(view);
        let radius = self.radius;
        let hops = |satellite: u32| {
            let position = view.position(NodeId(satellite));
            let low = position.is_none_or(|position| position.latitude_rad().abs() < radius.latitude_rad);
            if low { radius.low } else { radius.high }
        };
        self.radii = (0..view.satellites() as u32).map(hops).collect();
        self.flood(view);
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
        let egress = view.serving(packet.to).ok_or(Stranded::NoPath)?;
        let near = self.near(view, at, egress);
        let far = || match self.zone(at) {
            Zone::Polar => self.tunnel(view, at, packet.place),
            Zone::PolarBorder | Zone::LowLatitude => self.greedy(view, at, packet.place),
        };
        near.or_else(far).ok_or(Stranded::DeadEnd)
    }

    /// Number of satellites whose link states it holds.
    fn state(&self, _view: &View<'_>, satellite: NodeId) -> usize {
        self.holds.get(satellite.index()).map_or(0, |held| held.iter().filter(|&&held| held).count())
    }

    fn announces(&self, _view: &View<'_>, origin: NodeId, _change: LinkCause) -> Option<Scope> {
        let radius = *self.radii.get(origin.index())?;
        let members: Vec<bool> =
            (0..self.zones.len() as u32).map(|other| self.same_pole(NodeId(other), origin)).collect();
        Some(match members[origin.index()] {
            true => Scope::Zone { radius, members },
            false => Scope::Radius(radius),
        })
    }
}

fn hop(edge: &Edge) -> Hop {
    Hop { link: edge.link, to: edge.to }
}

/// The satellite `step` slots ahead in the plane.
fn in_plane(view: &View<'_>, satellite: NodeId, step: i64) -> Option<NodeId> {
    let planes = view.topology().constellation().planes();
    let (plane, slot) = planes.plane_slot(satellite.0)?;
    let members = planes.members(plane);
    let other = (i64::from(slot) + step).rem_euclid(members.len() as i64);
    Some(NodeId(members[other as usize]))
}

/// Returns true if the shorter direction around the plane from `from` to `to` is forwards.
fn is_ahead(view: &View<'_>, from: NodeId, to: NodeId) -> bool {
    let planes = view.topology().constellation().planes();
    let Some(((plane, a), (_, b))) = planes.plane_slot(from.0).zip(planes.plane_slot(to.0)) else {
        return false;
    };
    let count = planes.members(plane).len() as i64;
    2 * (i64::from(b) - i64::from(a)).rem_euclid(count) < count
}

/// Angle between a satellite and a position at the Earth's centre, rad.
fn apart_rad(view: &View<'_>, satellite: NodeId, place: Ecef) -> Option<f64> {
    let position = view.position(satellite)?;
    Some((position.0.dot(place.0) / (position.0.norm() * place.0.norm())).clamp(-1.0, 1.0).acos())
}
