//! The network as satellites know it, kept while the real network changes.
//!
//! Follows HT 6.5.2: the ISLs that orbits and rules promise, and separately those of them that do not work.
//! Differs: it owns the data that a [`View`] borrows, so that packets are routed by it until the next snapshot takes effect.
//! Left out: satellites with different knowledge at one instant; all have the same snapshot.

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, LinkKind, Topology};

use crate::graph::Graph;
use crate::selection::Selection;
use crate::view::{Failures, View};

/// The knowledge of the network at an instant.
#[derive(Debug, Clone)]
pub struct Snapshot {
    topology: Topology,
    failures: Failures,
    t_s: f64,
    positions: Vec<Option<Ecef>>,
    published: Graph,
    /// The only constellation that schemes see, if there is one.
    only: Option<usize>,
}

impl Snapshot {
    /// ISLs as in `promised`, those missing in `actual` as failed; all other links as in `actual`, without ground links. Both
    /// topologies have the same constellation, terminals and rules and are updated at the same instants; distances are those at
    /// `t_s`.
    pub fn new(promised: &Topology, actual: &Topology, t_s: f64) -> Self {
        Self::of(promised, actual, &Selection::default(), t_s)
    }

    /// As [`Self::new`], over the links of `selection`. Satellites of its excluded constellations keep their numbers and have no
    /// position.
    pub fn of(promised: &Topology, actual: &Topology, selection: &Selection, t_s: f64) -> Self {
        let only = selection.only();
        let mut positions = Vec::new();
        promised.positions_ecef(t_s, &mut positions);
        if let Some(fleet) = only {
            let members = promised.fleets().satellites(fleet);
            let satellites = (0u32..).zip(&mut positions[..promised.constellation().len()]);
            for (_, position) in satellites.filter(|(satellite, _)| !members.contains(satellite)) {
                *position = None;
            }
        }
        let mut failures = Failures::none();
        let mut links = Vec::new();
        for (number, (ought, is)) in (0u32..).zip(promised.links().iter().zip(actual.links())) {
            let link = LinkId(number);
            let isl = !matches!(ought.kind, LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground);
            if ought.kind == LinkKind::Ground {
                // Satellites forward no packets over these.
                continue;
            }
            let state = if isl { ought } else { is };
            // Packets wait for a satellite that is being acquired.
            if !state.up && (isl || !actual.is_acquiring(link)) {
                continue;
            }
            if !selection.has(state, promised) {
                continue;
            }
            let ends = positions[state.a.index()].zip(positions[state.b.index()]);
            let Some((a, b)) = ends else { continue };
            links.push((link, state.a, state.b, promised.light_m(state.kind, a, b)));
            if isl && ought != is {
                failures.fail(link);
            }
        }
        let published = Graph::new(promised.nodes(), promised.constellation().len(), &links)
            .with_gateways(promised.gateways().to_vec());
        Self { topology: promised.clone(), failures, t_s, positions, published, only }
    }

    /// The snapshot as a view for schemes.
    pub fn view(&self) -> View<'_> {
        View::of(&self.topology, &self.failures, self.t_s, &self.positions, &self.published).only(self.only)
    }
}
