//! The network at an instant: the links that orbits promise, and those that have failed.
//!
//! Follows HT 6.5.2, whose satellites know their own and their neighbours' positions and the state of links.
//! Differs: published links are separate from working links, which shows what a scheme can compute and what it must be told. Left
//! out: the passage of time while a packet is in flight.

use std::borrow::Cow;
use std::ops::Range;

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, LinkKind, NodeId, Rules, Topology};

use crate::graph::{Edge, Graph};

/// Links that do not work although orbits and rules bring them up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    down: Vec<bool>,
}

impl Failures {
    /// No failures.
    pub fn none() -> Self {
        Self::default()
    }

    /// Each ISL fails with probability `share`; `uniform` draws from [0, 1), once for each ISL in order of number.
    pub fn drawn(topology: &Topology, share: f64, mut uniform: impl FnMut() -> f64) -> Self {
        let fails =
            |kind| !matches!(kind, LinkKind::Gsl | LinkKind::Fibre | LinkKind::Ground) && uniform() < share;
        Self { down: topology.links().iter().map(|link| link.kind).map(fails).collect() }
    }

    /// Makes a link fail.
    pub fn fail(&mut self, link: LinkId) {
        self.down.resize(self.down.len().max(link.index() + 1), false);
        self.down[link.index()] = true;
    }

    /// Repairs a link.
    pub fn repair(&mut self, link: LinkId) {
        if let Some(down) = self.down.get_mut(link.index()) {
            *down = false;
        }
    }

    /// Returns true if a link has failed.
    pub fn contains(&self, link: LinkId) -> bool {
        self.down.get(link.index()).copied().unwrap_or(false)
    }

    /// The failed links by number.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        (0u32..).zip(&self.down).filter(|(_, down)| **down).map(|(link, _)| LinkId(link))
    }
}

/// A topology with its failures and all positions at one instant.
#[derive(Debug, Clone)]
pub struct View<'a> {
    topology: &'a Topology,
    failures: &'a Failures,
    t_s: f64,
    positions: Cow<'a, [Option<Ecef>]>,
    published: Cow<'a, Graph>,
    only: Option<usize>,
}

impl<'a> View<'a> {
    /// The links of the topology's last update, with distances at `t_s`.
    pub fn new(topology: &'a Topology, failures: &'a Failures, t_s: f64) -> Self {
        let mut positions = Vec::new();
        topology.positions_ecef(t_s, &mut positions);
        let links: Vec<_> = (0u32..)
            .zip(topology.links())
            .filter(|(_, link)| link.up)
            .filter_map(|(number, link)| {
                let length_m =
                    topology.light_m(link.kind, positions[link.a.index()]?, positions[link.b.index()]?);
                Some((LinkId(number), link.a, link.b, length_m))
            })
            .collect();
        let published = Graph::new(topology.nodes(), topology.constellation().len(), &links)
            .with_gateways(topology.gateways().to_vec());
        let (positions, published) = (positions.into(), Cow::Owned(published));
        Self { topology, failures, t_s, positions, published, only: None }
    }

    /// A view of borrowed positions and links; see [`crate::Snapshot`].
    pub(crate) fn of(
        topology: &'a Topology,
        failures: &'a Failures,
        t_s: f64,
        positions: &'a [Option<Ecef>],
        published: &'a Graph,
    ) -> Self {
        let (positions, published) = (Cow::Borrowed(positions), Cow::Borrowed(published));
        Self { topology, failures, t_s, positions, published, only: None }
    }

    /// The same view, limited to one constellation.
    pub(crate) fn only(self, only: Option<usize>) -> Self {
        Self { only, ..self }
    }

    /// The rules of the links: those of the constellation that the view is limited to, else of the first.
    pub fn rules(&self) -> &'a Rules {
        self.topology.fleets().rules(self.only.unwrap_or(0))
    }

    /// The satellites of the view: all, or those of one constellation.
    pub fn members(&self) -> Range<u32> {
        match self.only {
            Some(fleet) => self.topology.fleets().satellites(fleet),
            None => 0..self.satellites() as u32,
        }
    }

    /// The topology.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The links that have failed.
    pub fn failures(&self) -> &'a Failures {
        self.failures
    }

    /// The instant of all distances, s.
    pub fn t_s(&self) -> f64 {
        self.t_s
    }

    /// Number of satellites, which are nodes 0 and on, including those outside the view.
    pub fn satellites(&self) -> usize {
        self.topology.constellation().len()
    }

    /// Position of a node, from a published orbit or an address.
    pub fn position(&self, node: NodeId) -> Option<Ecef> {
        self.positions.get(node.index()).copied().flatten()
    }

    /// All links that orbits and rules bring up. Any node can compute these, except GSLs.
    pub fn published(&self) -> &Graph {
        &self.published
    }

    /// The working links of a node, which it observes itself.
    pub fn working(&self, node: NodeId) -> impl Iterator<Item = &Edge> {
        self.published.at(node).iter().filter(|edge| !self.failures.contains(edge.link))
    }

    /// The working links of a node that lead to a satellite: for a satellite its ISLs.
    pub fn working_isls(&self, node: NodeId) -> impl Iterator<Item = &Edge> {
        self.working(node).filter(|edge| self.topology.is_satellite(edge.to))
    }

    /// The satellite that serves a terminal, by its first antenna that has one; for a satellite, itself.
    pub fn serving(&self, node: NodeId) -> Option<NodeId> {
        if self.topology.is_satellite(node) {
            return Some(node);
        }
        // A gateway may have fibre only.
        self.working_isls(node).map(|edge| edge.to).next()
    }

    /// Propagation delay over `length_m` at the speed of light, s.
    pub fn delay_s(&self, length_m: f64) -> f64 {
        length_m / self.topology.constellation().earth().c_m_s
    }
}
