//! Geographic routing without dead ends: paths on the map that orbits give, detours recorded in the packet.
//!
//! Follows the aim of HT 6.5, and failure-carrying packets (Lakshminarayanan et al., SIGCOMM 2007) around failed links.
//! Differs from HT: the next hop is the first of the best path on the published map, not the neighbour nearest to the
//! destination. Left out: load. `docs/geographic-routing.md` explains why it delivers, and the cost.

use std::collections::BTreeMap;

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, NodeId};

use crate::graph::Tree;
use crate::router::Hop;
use crate::scheme::{LinkCause, PacketHeader, RoutingScheme, Scope, Stranded};
use crate::view::View;

/// Geographic routing over published orbits.
///
/// A satellite knows the orbits and link rules of all (published, a handful of numbers for a shell), its own links, failures
/// within [`Geographic::radius`] hops, and for each terminal in view the satellite that serves it, which the terminal tells to
/// all of them by radio.
///
/// A packet carries the destination's address (its position, and the plane that served it when the sender learned the address,
/// which may be out of date); `carried[0]`, the serving satellite plus one, or zero until a satellite in view of the destination
/// has filled it in; then the numbers of the failed links that it met.
#[derive(Debug, Clone)]
pub struct Geographic {
    radius: u32,
    /// Numbers of the failed links that each satellite knows of.
    known: Vec<Vec<LinkId>>,
    /// Paths on the published map without the links in the packet: a function of published and carried data, cached here so that
    /// it is not computed for every packet.
    paths: BTreeMap<NodeId, BTreeMap<Vec<u32>, Tree>>,
    /// As `paths`, the satellites that may serve a destination whose address has this plane.
    candidates: BTreeMap<(NodeId, Option<u32>), Vec<NodeId>>,
    planes_in_addresses: bool,
}

impl Geographic {
    /// Satellites know of the failed links within `radius` hops. At 1, these are their own, and no message is ever sent.
    pub fn new(radius: u32) -> Self {
        Self {
            radius: radius.max(1),
            known: Vec::new(),
            paths: BTreeMap::new(),
            candidates: BTreeMap::new(),
            planes_in_addresses: true,
        }
    }

    /// Addresses without a plane. All packets still arrive, some of them after a long detour, since a terminal may be served from
    /// the other side of the seam.
    pub fn with_bare_places(self) -> Self {
        Self { planes_in_addresses: false, ..self }
    }

    /// Number of hops within which satellites know of failures.
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// Computes the paths to `target` without the links of `avoid`, unless they are cached.
    fn path(&mut self, view: &View<'_>, target: NodeId, avoid: &[u32]) {
        let paths = self.paths.entry(target).or_default();
        // The key is borrowed from the packet, and copied only when it is new.
        if !paths.contains_key(avoid) {
            let tree = view.published().tree(target, |edge| {
                let usable =
                    view.topology().is_satellite(edge.to) && avoid.binary_search(&edge.link.0).is_err();
                usable.then_some(edge.length_m)
            });
            paths.insert(avoid.to_vec(), tree);
        }
    }

    /// Satellites that may serve the destination: those of the plane in its address, then others, in each group the highest in
    /// its sky first.
    fn targets(&mut self, view: &View<'_>, packet: &PacketHeader) -> &[NodeId] {
        let plane = packet.plane.filter(|_| self.planes_in_addresses);
        self.candidates.entry((packet.to, plane)).or_insert_with(|| {
            let mut targets = candidates(view, packet.to, packet.place);
            targets.sort_by_key(|satellite| {
                let place = view.topology().constellation().plane_slot(satellite.0);
                plane.is_some() && place.map(|(plane, _)| plane) != plane
            });
            targets
        })
    }

    /// The next hop towards a satellite; failed links known at `at` are added to the packet. `None` if there is no path.
    fn towards(
        &mut self,
        view: &View<'_>,
        at: NodeId,
        target: NodeId,
        packet: &mut PacketHeader,
    ) -> Option<Hop> {
        loop {
            self.path(view, target, &packet.carried[1..]);
            let path = self.paths.get(&target)?.get(&packet.carried[1..])?;
            let hop = path.next_hop(at)?;
            let Some(failed) = self.obstacle(at, path) else { return Some(hop) };
            if let Err(place) = packet.carried[1..].binary_search(&failed.0) {
                packet.carried.insert(1 + place, failed.0);
            }
        }
    }

    /// The first link on the path from `at` that `at` knows has failed.
    fn obstacle(&self, at: NodeId, path: &Tree) -> Option<LinkId> {
        let known = &self.known[at.index()];
        let mut here = at;
        while let Some(hop) = path.next_hop(here).filter(|_| !known.is_empty()) {
            if known.binary_search(&hop.link).is_ok() {
                return Some(hop.link);
            }
            here = hop.to;
        }
        None
    }
}

impl RoutingScheme for Geographic {
    fn name(&self) -> &str {
        "geographic"
    }

    fn refresh(&mut self, view: &View<'_>) {
        self.paths.clear();
        self.candidates.clear();
        self.known.clear();
        self.known.resize(view.satellites(), Vec::new());
        for link in view.failures().links() {
            let Some(state) = view.topology().link(link).filter(|state| state.up) else { continue };
            for end in [state.a, state.b].into_iter().filter(|&end| view.topology().is_satellite(end)) {
                for satellite in within(view, end, self.radius - 1) {
                    if self.known[satellite.index()].last() != Some(&link) {
                        self.known[satellite.index()].push(link);
                    }
                }
            }
        }
    }

    fn next_hop(&mut self, view: &View<'_>, at: NodeId, packet: &mut PacketHeader) -> Result<Hop, Stranded> {
        if packet.carried.is_empty() {
            packet.carried.push(0);
        }
        // A satellite in view of the destination knows best; an egress out of view has lost it to a handover.
        if at == packet.to || may_serve(view, at, packet.place).is_some() {
            packet.carried[0] = view.serving(packet.to).ok_or(Stranded::NoPath)?.0 + 1;
        } else if packet.carried[0] == at.0 + 1 {
            packet.carried[0] = 0;
        }
        if let Some(serving) = packet.carried[0].checked_sub(1) {
            return self.towards(view, at, NodeId(serving), packet).ok_or(Stranded::NoPath);
        }
        let mut next = 0;
        while let Some(&target) = self.targets(view, packet).get(next) {
            next += 1;
            if let Some(hop) = self.towards(view, at, target, packet) {
                return Ok(hop);
            }
        }
        Err(Stranded::NoPath)
    }

    /// Number of known failures and of terminals in view.
    fn state(&self, view: &View<'_>, satellite: NodeId) -> usize {
        let terminals = (0..view.topology().terminals().len())
            .filter_map(|terminal| view.topology().terminal_node(terminal))
            .filter(|&terminal| {
                view.position(terminal).is_some_and(|place| may_serve(view, satellite, place).is_some())
            });
        self.known.get(satellite.index()).map_or(0, Vec::len) + terminals.count()
    }

    fn announces(&self, _view: &View<'_>, _origin: NodeId, change: LinkCause) -> Option<Scope> {
        match change {
            LinkCause::Published => None,
            LinkCause::Failure => (self.radius > 1).then(|| Scope::Radius(self.radius - 1)),
        }
    }
}

/// Satellites that may serve a position, the highest in its sky first; for a satellite, itself.
fn candidates(view: &View<'_>, to: NodeId, place: Ecef) -> Vec<NodeId> {
    if view.topology().is_satellite(to) {
        return vec![to];
    }
    let mut candidates: Vec<(f64, NodeId)> = (0..view.satellites() as u32)
        .map(NodeId)
        .filter_map(|satellite| Some((may_serve(view, satellite, place)?, satellite)))
        .collect();
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    candidates.into_iter().map(|(_, satellite)| satellite).collect()
}

/// Angle at the Earth's centre between a satellite and a position, rad; `None` unless the satellite may serve it: it was above
/// the mask at the last update, or soon will be.
pub fn may_serve(view: &View<'_>, satellite: NodeId, place: Ecef) -> Option<f64> {
    let (earth, rules) = (view.topology().constellation().earth(), view.rules());
    let position = view.position(satellite)?;
    let (radius_m, ground_m) = (position.0.norm(), place.0.norm());
    let apart_rad = (position.0.dot(place.0) / (radius_m * ground_m)).clamp(-1.0, 1.0).acos();
    let mask_rad = rules.elevation_mask_rad;
    let footprint_rad = (ground_m * mask_rad.cos() / radius_m).min(1.0).acos() - mask_rad;
    let moved_rad = (earth.mean_motion_rad_s(radius_m) + earth.rotation_rad_s()) * rules.update_interval_s;
    (apart_rad <= footprint_rad + moved_rad + OBLATENESS_RAD).then_some(apart_rad)
}

/// Largest angle between the zenith on the ellipsoid and the direction from its centre, rad.
const OBLATENESS_RAD: f64 = 0.0034;

/// The satellites that announcements from `origin` reach within `hops` hops.
fn within(view: &View<'_>, origin: NodeId, hops: u32) -> Vec<NodeId> {
    let mut reached = vec![origin];
    let mut new = 0..1;
    for _ in 0..hops {
        for index in new.clone() {
            for edge in view.working_isls(reached[index]) {
                if !reached.contains(&edge.to) {
                    reached.push(edge.to);
                }
            }
        }
        new = new.end..reached.len();
    }
    reached
}
