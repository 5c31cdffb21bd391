//! A graph of links by node: neighbours, links and lengths.
//!
//! Follows Dijkstra (1959), searched backwards from the destination, so that one search serves all nodes.
//! Differs: edges are stored in compressed sparse rows (CSR), and a search may exclude links and nodes.
//! Left out: changes in place; the graph is rebuilt when the network changes.

use std::collections::BinaryHeap;

use skyhop_topology::{LinkId, NodeId};

use crate::reached::Reached;
use crate::router::Hop;

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Number of the link.
    pub link: LinkId,
    /// The node at its end.
    pub to: NodeId,
    /// Length, metres.
    pub length_m: f64,
}

/// Links in both directions, sorted by node and then by link number.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Edges of node k are `edges[starts[k]..starts[k + 1]]`.
    starts: Vec<usize>,
    edges: Vec<Edge>,
    relays: usize,
    /// For each node after the first `relays`, true if it forwards packets too; nodes past its end do not.
    gateways: Vec<bool>,
}

impl Graph {
    /// The graph of `links`, given as (link, one end, other end, length in metres), over `nodes` nodes. The first `relays` nodes
    /// forward packets: satellites do, terminals do not.
    pub fn new(nodes: usize, relays: usize, links: &[(LinkId, NodeId, NodeId, f64)]) -> Self {
        let mut starts = vec![0; nodes + 2];
        for (_, a, b, _) in links {
            starts[a.index() + 2] += 1;
            starts[b.index() + 2] += 1;
        }
        for node in 2..starts.len() {
            starts[node] += starts[node - 1];
        }
        let nowhere = Edge { link: LinkId(0), to: NodeId(0), length_m: 0.0 };
        let mut edges = vec![nowhere; starts[nodes + 1]];
        for &(link, a, b, length_m) in links {
            for (from, to) in [(a, b), (b, a)] {
                // Counts are stored two places further on, so that each start moves to its place while its edges are filled in.
                let next = &mut starts[from.index() + 1];
                edges[*next] = Edge { link, to, length_m };
                *next += 1;
            }
        }
        starts.pop();
        Self { starts, edges, relays, gateways: Vec::new() }
    }

    /// Adds gateways: for each node after the satellites, in order, true if it forwards packets too.
    pub fn with_gateways(self, gateways: Vec<bool>) -> Self {
        Self { gateways, ..self }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns true if a node forwards packets.
    pub fn relays(&self, node: NodeId) -> bool {
        let beyond = node.index().checked_sub(self.relays);
        beyond.is_none_or(|station| self.gateways.get(station) == Some(&true))
    }

    /// The edges that begin at a node.
    pub fn at(&self, node: NodeId) -> &[Edge] {
        match self.starts.get(node.index()..node.index() + 2) {
            Some(&[start, end]) => &self.edges[start..end],
            _ => &[],
        }
    }

    /// Least-cost paths from every node to `destination`. `cost` returns the cost of an edge, or `None` if it may not be used.
    pub fn tree(&self, destination: NodeId, cost: impl Fn(&Edge) -> Option<f64>) -> Tree {
        let mut tree = Tree { costs: vec![f64::INFINITY; self.nodes()], next: vec![None; self.nodes()] };
        let Some(at_destination) = tree.costs.get_mut(destination.index()) else { return tree };
        *at_destination = 0.0;
        let mut queue = BinaryHeap::from([Reached { cost: 0.0, node: destination }]);
        while let Some(Reached { cost: reached, node }) = queue.pop() {
            if reached > tree.costs[node.index()] || !(self.relays(node) || node == destination) {
                continue;
            }
            for edge in self.at(node) {
                let Some(step) = cost(edge) else { continue };
                let through = reached + step;
                if through < tree.costs[edge.to.index()] {
                    tree.costs[edge.to.index()] = through;
                    tree.next[edge.to.index()] = Some(Hop { link: edge.link, to: node });
                    queue.push(Reached { cost: through, node: edge.to });
                }
            }
        }
        tree
    }
}

/// Least-cost paths to one destination.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    costs: Vec<f64>,
    next: Vec<Option<Hop>>,
}

impl Tree {
    /// Cost of the path from `node`; infinite if there is none.
    pub fn cost(&self, node: NodeId) -> f64 {
        self.costs.get(node.index()).copied().unwrap_or(f64::INFINITY)
    }

    /// The first hop of the path from `node`; `None` if there is no path or `node` is the destination.
    pub fn next_hop(&self, node: NodeId) -> Option<Hop> {
        self.next.get(node.index()).copied().flatten()
    }

    /// Number of nodes that can reach the destination, including itself.
    pub fn reached(&self) -> usize {
        self.costs.iter().filter(|cost| cost.is_finite()).count()
    }
}
