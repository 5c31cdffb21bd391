//! Which links paths may lead over, and which are wanted less.
//!
//! Follows administrative costs, as a network's owner sets them: a path over what is wanted less is taken where there is no other.
//! Leaves out loads: a constellation that is full is as good as one that is empty.

use skyhop_topology::{LinkKind, LinkState, Topology};

/// Links that count, and their costs beside their length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The one constellation whose links count, without those on the ground; all links if `None`.
    only: Option<usize>,
    /// By constellation, the cost of a link between a terminal and a satellite; 0 of those that are not there.
    costs: Vec<f64>,
}

/// Cost of a terminal's link to the constellation that is wanted second: more than any path has, in seconds as in links.
const SECOND: f64 = 1e3;
/// How many times it a link costs to one that is wanted next: more than any path goes up and down.
const NEXT: f64 = 16.0;

impl Selection {
    /// Links of one constellation.
    pub fn within(fleet: usize) -> Self {
        Self { only: Some(fleet), costs: Vec::new() }
    }

    /// All links, those of constellations by rank: 0 is wanted most.
    pub fn preferring(ranks: &[usize]) -> Self {
        let cost = |rank: &usize| match *rank {
            0 => 0.0,
            rank => SECOND * NEXT.powi(rank as i32 - 1),
        };
        Self { only: None, costs: ranks.iter().map(cost).collect() }
    }

    /// The one constellation whose links count.
    pub fn only(&self) -> Option<usize> {
        self.only
    }

    /// True for a link that paths may lead over.
    #[inline]
    pub(crate) fn has(&self, link: &LinkState, topology: &Topology) -> bool {
        let Some(only) = self.only else { return true };
        match link.kind {
            LinkKind::Fibre | LinkKind::Ground => false,
            // The far end of a GSL and both ends of an ISL are satellites.
            _ => topology.fleets().index_of(link.b) == only,
        }
    }

    /// The cost of a link beside its length.
    #[inline]
    pub(crate) fn cost(&self, link: &LinkState, topology: &Topology) -> f64 {
        if self.costs.is_empty() || link.kind != LinkKind::Gsl {
            return 0.0;
        }
        self.costs.get(topology.fleets().index_of(link.b)).copied().unwrap_or(0.0)
    }
}
