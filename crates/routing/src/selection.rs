//! The links that paths may use, and their administrative costs.
//!
//! Follows administrative costs set by a network's owner: a path over a less preferred constellation is taken only if there is no other.
//! Leaves out load: a full constellation is as good as an empty one.

use skyhop_topology::{LinkKind, LinkState, Topology};

/// The usable links, and their costs in addition to length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The only constellation whose links are used, without ground links; all links if `None`.
    only: Option<usize>,
    /// For each constellation, the cost of a link between a terminal and a satellite; missing entries are 0.
    costs: Vec<f64>,
}

/// Cost of a terminal's link to the second preferred constellation: larger than the cost of any path, in seconds and in links.
const SECOND: f64 = 1e3;
/// Ratio between the costs of successive preferences: larger than the number of times that any path goes up and down.
const NEXT: f64 = 16.0;

impl Selection {
    /// The links of one constellation.
    pub fn within(fleet: usize) -> Self {
        Self { only: Some(fleet), costs: Vec::new() }
    }

    /// All links, with constellations by rank: 0 is the most preferred.
    pub fn preferring(ranks: &[usize]) -> Self {
        let cost = |rank: &usize| match *rank {
            0 => 0.0,
            rank => SECOND * NEXT.powi(rank as i32 - 1),
        };
        Self { only: None, costs: ranks.iter().map(cost).collect() }
    }

    /// The only constellation whose links are used, if there is one.
    pub fn only(&self) -> Option<usize> {
        self.only
    }

    /// Returns true if paths may use a link.
    #[inline]
    pub(crate) fn has(&self, link: &LinkState, topology: &Topology) -> bool {
        let Some(only) = self.only else { return true };
        match link.kind {
            LinkKind::Fibre | LinkKind::Ground => false,
            // The far end of a GSL and both ends of an ISL are satellites.
            _ => topology.fleets().index_of(link.b) == only,
        }
    }

    /// The cost of a link in addition to its length.
    #[inline]
    pub(crate) fn cost(&self, link: &LinkState, topology: &Topology) -> f64 {
        if self.costs.is_empty() || link.kind != LinkKind::Gsl {
            return 0.0;
        }
        self.costs.get(topology.fleets().index_of(link.b)).copied().unwrap_or(0.0)
    }
}
