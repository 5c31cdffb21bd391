//! A node in the queue of a search.
//!
//! Follows Dijkstra (1959): the node of least cost is settled first.
//! Differs: nodes of equal cost are settled by number, so that ties are broken in the same way in every run.
//! Left out: decreasing a key in place; a node found again at a lower cost is queued again.

use std::cmp::Ordering;

use skyhop_topology::NodeId;

/// A node reached by a search, ordered so that a heap gives the lowest cost first, then the lowest node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) cost: f64,
    pub(crate) node: NodeId,
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then_with(|| other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reached {}
