//! Shortest paths to a destination from all nodes at once.
//!
//! Follows HT 6.3 and Dijkstra (1959), with distances at one instant as in ns-2's routing genie.
//! Differs: searched backwards from the destination, so that one search serves all nodes; terminals never relay, gateways do.
//! Left out: loads and link rates as weights, and a bucket queue for constellations of thousands.

use std::collections::BinaryHeap;

use skyhop_orbit::Ecef;
use skyhop_topology::{LinkId, LinkKind, LinkState, NodeId, Topology};

use crate::reached::Reached;
use crate::selection::Selection;

/// The quantity that a path minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMetric {
    /// Propagation delay at the instant of the last refresh.
    Delay,
    /// Number of links.
    Hops,
}

/// The next link of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The link to take.
    pub link: LinkId,
    /// The node at its end.
    pub to: NodeId,
}

/// Next hops over the links of a topology, as of the last [`Router::refresh`].
///
/// Ties are broken in the same way in every run. The search settles nodes of equal cost by number, and a node keeps the first of
/// several equally good next hops: that of the neighbour nearest to the destination, then of the lowest neighbour, then of the
/// lowest link.
#[derive(Debug, Clone)]
pub struct Router {
    metric: PathMetric,
    /// True if GSLs that are being acquired count as up.
    through_gaps: bool,
    selection: Selection,
    /// For each node, true if it forwards packets.
    relays: Vec<bool>,
    /// Links of node k are `edges[starts[k]..starts[k + 1]]`, by link number.
    starts: Vec<usize>,
    edges: Vec<ReverseEdge>,
    positions: Vec<Option<Ecef>>,
    /// For each destination, the next hop of every node; empty until first needed.
    tables: Vec<Vec<Option<Hop>>>,
    costs: Vec<f64>,
    /// Predecessors in the search for one path.
    back: Vec<NodeId>,
    c_m_s: f64,
    queue: BinaryHeap<Reached>,
}

#[derive(Debug, Clone, Copy)]
struct ReverseEdge {
    link: LinkId,
    to: NodeId,
    weight: f64,
}

impl Router {
    /// A router without links until it is refreshed.
    pub fn new(metric: PathMetric) -> Self {
        Self {
            metric,
            through_gaps: false,
            selection: Selection::default(),
            relays: Vec::new(),
            starts: Vec::new(),
            edges: Vec::new(),
            positions: Vec::new(),
            tables: Vec::new(),
            costs: Vec::new(),
            back: Vec::new(),
            c_m_s: 1.0,
            queue: BinaryHeap::new(),
        }
    }

    /// Counts GSLs that are being acquired as up, for a network whose packets wait for a terminal's next satellite.
    pub fn through_gaps(self) -> Self {
        Self { through_gaps: true, ..self }
    }

    /// Uses only the links of a selection, with its costs.
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// The quantity that paths minimise.
    pub fn metric(&self) -> PathMetric {
        self.metric
    }

    /// Takes the links that are up now, with distances at `t_s`, and discards all routes.
    pub fn refresh(&mut self, topology: &Topology, t_s: f64) {
        topology.positions_ecef(t_s, &mut self.positions);
        let nodes = topology.nodes();
        self.relays.clear();
        self.relays.extend((0..nodes as u32).map(|node| topology.relays(NodeId(node))));
        let c_m_s = topology.constellation().earth().c_m_s;
        self.c_m_s = c_m_s;
        let (positions, through_gaps, selection) = (&self.positions, self.through_gaps, &self.selection);
        let usable = || {
            let counts = move |number: u32, link: &LinkState| {
                let acquired = link.kind == LinkKind::Gsl && topology.is_acquiring(LinkId(number));
                (link.up || (through_gaps && acquired)) && selection.has(link, topology)
            };
            (0u32..).zip(topology.links()).filter(move |(number, link)| counts(*number, link)).filter_map(
                |(number, link)| {
                    let length_m = topology.light_of_link_m(LinkId(number), link, positions)?;
                    Some((LinkId(number), link, length_m))
                },
            )
        };
        self.starts.clear();
        self.starts.resize(nodes + 2, 0);
        for (_, link, _) in usable() {
            self.starts[link.a.index() + 2] += 1;
            self.starts[link.b.index() + 2] += 1;
        }
        for node in 2..self.starts.len() {
            self.starts[node] += self.starts[node - 1];
        }
        let nowhere = ReverseEdge { link: LinkId(0), to: NodeId(0), weight: 0.0 };
        self.edges.clear();
        self.edges.resize(self.starts[nodes + 1], nowhere);
        for (number, link, [there_m, back_m]) in usable() {
            let cost = selection.cost(link, topology);
            // Searches go backwards: a packet crosses an edge towards the node that owns it.
            for (from, to, length_m) in [(link.a, link.b, back_m), (link.b, link.a, there_m)] {
                let weight = cost
                    + match self.metric {
                        PathMetric::Delay => length_m / c_m_s,
                        PathMetric::Hops => 1.0,
                    };
                // Counts are stored two places further on, so that each start moves to its place while its edges are filled in.
                let next = &mut self.starts[from.index() + 1];
                self.edges[*next] = ReverseEdge { link: number, to, weight };
                *next += 1;
            }
        }
        self.starts.pop();
        self.tables.resize(nodes, Vec::new());
        self.tables.iter_mut().for_each(Vec::clear);
    }

    /// The next hop from `node` towards `destination`; `None` if there is no path or `node` is the destination.
    pub fn next_hop(&mut self, node: NodeId, destination: NodeId) -> Option<Hop> {
        if self.tables.get(destination.index())?.is_empty() {
            self.search(destination);
        }
        *self.tables[destination.index()].get(node.index())?
    }

    /// The nodes of the path, including both ends, by the present next hops; `None` if there is no path.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        if from.index() >= self.tables.len() {
            return None;
        }
        let mut nodes = vec![from];
        let mut at = from;
        while at != to {
            at = self.next_hop(at, to)?.to;
            nodes.push(at);
        }
        Some(nodes)
    }

    /// The links of [`Self::path`], each with the node that it leads to.
    pub fn hops(&mut self, from: NodeId, to: NodeId) -> Option<Vec<Hop>> {
        if from.index() >= self.tables.len() {
            return None;
        }
        let (mut hops, mut at) = (Vec::new(), from);
        while at != to {
            let hop = self.next_hop(at, to)?;
            at = hop.to;
            hops.push(hop);
        }
        Some(hops)
    }

    /// The path by [`PathMetric::Delay`] from a search directed at `from` (A*), which is not stored; among equally long paths it may
    /// differ from [`Self::path`]. For a few pairs in a large network.
    pub fn path_between(&mut self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        if from.index().max(to.index()) >= self.tables.len() || self.metric != PathMetric::Delay {
            return self.path(from, to);
        }
        let goal = self.positions[from.index()]?;
        let c_m_s = self.c_m_s;
        let positions = &self.positions;
        // No path is shorter than the straight line.
        let ahead = |node: NodeId| positions[node.index()].map_or(0.0, |at| at.distance_m(goal) / c_m_s);
        self.costs.clear();
        self.costs.resize(self.tables.len(), f64::INFINITY);
        self.back.resize(self.tables.len(), NodeId(0));
        self.costs[to.index()] = 0.0;
        self.queue.clear();
        self.queue.push(Reached { cost: ahead(to), node: to });
        while let Some(Reached { cost, node }) = self.queue.pop() {
            if node == from {
                let mut nodes = vec![from];
                let mut at = from;
                while at != to {
                    at = self.back[at.index()];
                    nodes.push(at);
                }
                return Some(nodes);
            }
            let here = self.costs[node.index()];
            if cost > here + ahead(node) || !(self.relays[node.index()] || node == to) {
                continue;
            }
            for edge in &self.edges[self.starts[node.index()]..self.starts[node.index() + 1]] {
                let through = here + edge.weight;
                if through < self.costs[edge.to.index()] {
                    self.costs[edge.to.index()] = through;
                    self.back[edge.to.index()] = node;
                    self.queue.push(Reached { cost: through + ahead(edge.to), node: edge.to });
                }
            }
        }
        None
    }

    fn search(&mut self, destination: NodeId) {
        let nodes = self.tables.len();
        let table = &mut self.tables[destination.index()];
        table.resize(nodes, None);
        self.costs.clear();
        self.costs.resize(nodes, f64::INFINITY);
        self.costs[destination.index()] = 0.0;
        self.queue.clear();
        self.queue.push(Reached { cost: 0.0, node: destination });
        while let Some(Reached { cost, node }) = self.queue.pop() {
            let relays = self.relays[node.index()] || node == destination;
            if cost > self.costs[node.index()] || !relays {
                continue;
            }
            for edge in &self.edges[self.starts[node.index()]..self.starts[node.index() + 1]] {
                let through = cost + edge.weight;
                if through < self.costs[edge.to.index()] {
                    self.costs[edge.to.index()] = through;
                    table[edge.to.index()] = Some(Hop { link: edge.link, to: node });
                    self.queue.push(Reached { cost: through, node: edge.to });
                }
            }
        }
    }
}
