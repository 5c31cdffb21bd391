//! All minimum-hop paths at once, and each node's turn among its next hops.
//!
//! Follows WP: any minimum-hop path to the destination, chosen at each satellite by round robin, packet by packet.
//! Differs: also by a hash of the flow, which keeps a flow in order (ECMP, RFC 2992); also over permanent links.
//! Left out: shares weighted by load or link rate.

use skyhop_topology::{LinkId, LinkKind, LinkState, NodeId, Topology};

use crate::router::Hop;
use crate::selection::Selection;

/// Next hops over minimum-hop paths, as of the last [`Multipath::refresh`].
///
/// A node's next hops for a destination are those of its links on some minimum-hop path, in the order of link numbers. Each node
/// has one turn per destination: the first packet takes the first link, the next packet the second, whatever flow they belong to.
/// Turns survive a refresh.
///
/// ```
/// use skyhop_routing::Multipath;
/// use skyhop_topology::NodeId;
///
/// // A square: two ways round.
/// let mut square = Multipath::over(4, &[(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| [NodeId(a), NodeId(b)]));
/// let (from, to) = (NodeId(0), NodeId(3));
/// let turns = [0; 4].map(|_| square.next_in_turn(from, to).unwrap().to);
/// assert_eq!(turns, [1, 2, 1, 2].map(NodeId));
/// assert_eq!(square.paths(from, to), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Multipath {
    /// True if GSLs that are being acquired count as up.
    through_gaps: bool,
    selection: Selection,
    /// For each node, true if it forwards packets.
    relays: Vec<bool>,
    /// Links of node k are `edges[starts[k]..starts[k + 1]]`, by link number.
    starts: Vec<u32>,
    edges: Vec<Hop>,
    tables: Vec<NextHopTable>,
    /// Number of links from each node to the destination of a search.
    distance: Vec<u32>,
    queue: Vec<NodeId>,
}

/// The next hops of all nodes towards one destination.
#[derive(Debug, Clone, Default)]
struct NextHopTable {
    /// Next hops of node k are `hops[starts[k]..starts[k + 1]]`; empty until first needed.
    starts: Vec<u32>,
    hops: Vec<Hop>,
    /// For each node, index of the next hop in its rotation.
    turns: Vec<u32>,
}

impl NextHopTable {
    #[inline]
    fn at(&self, node: NodeId) -> &[Hop] {
        match self.starts.get(node.index()..node.index() + 2) {
            Some(&[start, end]) => &self.hops[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// Larger than every distance.
const UNREACHED: u32 = u32::MAX;

impl Multipath {
    /// No paths, until the first refresh.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts GSLs that are being acquired as up, for a network whose packets wait for a terminal's next satellite.
    pub fn through_gaps(self) -> Self {
        Self { through_gaps: true, ..self }
    }

    /// Uses only the links of a selection; all of them have equal cost.
    pub fn selecting(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Paths over permanent links, given by their ends in the order of their numbers; all of the `nodes` forward packets.
    pub fn over(nodes: usize, links: &[[NodeId; 2]]) -> Self {
        let mut paths = Self::new();
        paths.relays.resize(nodes, true);
        paths.connect(|each| {
            for (number, [a, b]) in (0u32..).zip(links) {
                each(LinkId(number), *a, *b);
            }
        });
        paths
    }

    /// Takes the links that are up now, and discards all paths.
    pub fn refresh(&mut self, topology: &Topology) {
        self.relays.clear();
        self.relays.extend((0..topology.nodes() as u32).map(|node| topology.relays(NodeId(node))));
        let through_gaps = self.through_gaps;
        let selection = self.selection.clone();
        self.connect(|each| {
            for (number, link) in (0u32..).zip(topology.links()) {
                let LinkState { a, b, up, kind, .. } = *link;
                let acquired = kind == LinkKind::Gsl && topology.is_acquiring(LinkId(number));
                if (up || (through_gaps && acquired)) && selection.has(link, topology) {
                    each(LinkId(number), a, b);
                }
            }
        });
    }

    /// Takes the turns over from `before`, which this replaces.
    pub fn continues(&mut self, before: &mut Self) {
        for (table, old) in self.tables.iter_mut().zip(&mut before.tables) {
            table.turns = std::mem::take(&mut old.turns);
        }
    }

    /// Builds the rows of edges; `links` passes each link to a function, by number.
    fn connect(&mut self, links: impl Fn(&mut dyn FnMut(LinkId, NodeId, NodeId))) {
        let nodes = self.relays.len();
        self.starts.clear();
        self.starts.resize(nodes + 2, 0);
        links(&mut |_, a, b| {
            self.starts[a.index() + 2] += 1;
            self.starts[b.index() + 2] += 1;
        });
        for node in 2..self.starts.len() {
            self.starts[node] += self.starts[node - 1];
        }
        self.edges.clear();
        self.edges.resize(self.starts[nodes + 1] as usize, Hop { link: LinkId(0), to: NodeId(0) });
        links(&mut |link, a, b| {
            for (from, to) in [(a, b), (b, a)] {
                // Counted two places further on, each start moves to its own place while its edges are filled in.
                let next = &mut self.starts[from.index() + 1];
                self.edges[*next as usize] = Hop { link, to };
                *next += 1;
            }
        });
        self.starts.pop();
        self.tables.resize(nodes, NextHopTable::default());
        self.tables.iter_mut().for_each(|table| table.starts.clear());
    }

    /// Links of `node` on some minimum-hop path to `destination`, by number; empty if there is no path or `node` is the
    /// destination.
    pub fn next_hops(&mut self, node: NodeId, destination: NodeId) -> &[Hop] {
        self.table(destination).map_or(&[], |table| table.at(node))
    }

    /// The next hop whose turn it is at `node`.
    #[inline]
    pub fn next_in_turn(&mut self, node: NodeId, destination: NodeId) -> Option<Hop> {
        let table = self.table(destination)?;
        let (first, rest) = table.at(node).split_first()?;
        // A single next hop needs no turn, and most nodes have one.
        if rest.is_empty() {
            return Some(*first);
        }
        let (hop, next) = match rest.get((table.turns[node.index()] as usize).wrapping_sub(1)) {
            Some(hop) => (*hop, table.turns[node.index()] + 1),
            None => (*first, 1),
        };
        table.turns[node.index()] = next;
        Some(hop)
    }

    /// The next hop of the flow with this hash: the same for all its packets while the network does not change.
    #[inline]
    pub fn next_of_flow(&mut self, node: NodeId, destination: NodeId, hash: u64) -> Option<Hop> {
        let hops = self.next_hops(node, destination);
        // If all nodes used the same bits, each would forward everything from one neighbour on the same link.
        let here = scramble(hash ^ u64::from(node.0));
        hops.get(((u128::from(here) * hops.len() as u128) >> 64) as usize).copied()
    }

    /// Number of minimum-hop paths.
    pub fn paths(&mut self, from: NodeId, to: NodeId) -> u64 {
        let Some(table) = self.table(to).map(|table| &*table) else { return 0 };
        // Only nodes on a path are visited, at increasing distance; counts of nodes that are equally far are merged.
        let mut reached = std::collections::BTreeMap::from([(from, 1u64)]);
        let mut arrived = 0u64;
        while !reached.is_empty() {
            let mut next = std::collections::BTreeMap::new();
            for (node, ways) in reached {
                if node == to {
                    arrived = arrived.saturating_add(ways);
                    continue;
                }
                for hop in table.at(node) {
                    let sum: &mut u64 = next.entry(hop.to).or_insert(0);
                    *sum = sum.saturating_add(ways);
                }
            }
            reached = next;
        }
        arrived
    }

    /// The nodes of the path by the first next hop at each node, including both ends; `None` if there is no path.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let mut nodes = vec![from];
        let mut at = from;
        while at != to {
            at = self.next_hops(at, to).first()?.to;
            nodes.push(at);
        }
        Some(nodes)
    }

    /// The links of [`Self::path`], each with the node that it leads to.
    pub fn hops(&mut self, from: NodeId, to: NodeId) -> Option<Vec<Hop>> {
        let (mut hops, mut at) = (Vec::new(), from);
        while at != to {
            let hop = *self.next_hops(at, to).first()?;
            at = hop.to;
            hops.push(hop);
        }
        Some(hops)
    }

    #[inline]
    fn table(&mut self, destination: NodeId) -> Option<&mut NextHopTable> {
        if self.tables.get(destination.index())?.starts.is_empty() {
            self.search(destination);
        }
        self.tables.get_mut(destination.index())
    }

    /// Breadth-first search backwards from the destination.
    fn search(&mut self, destination: NodeId) {
        let nodes = self.relays.len();
        let relays = |node: NodeId| self.relays[node.index()] || node == destination;
        let edges = |node: usize| &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize];
        self.distance.clear();
        self.distance.resize(nodes, UNREACHED);
        self.distance[destination.index()] = 0;
        self.queue.clear();
        self.queue.push(destination);
        let mut done = 0;
        while let Some(&node) = self.queue.get(done) {
            done += 1;
            if !relays(node) {
                continue;
            }
            for edge in edges(node.index()) {
                if self.distance[edge.to.index()] == UNREACHED {
                    self.distance[edge.to.index()] = self.distance[node.index()] + 1;
                    self.queue.push(edge.to);
                }
            }
        }
        let table = &mut self.tables[destination.index()];
        table.turns.resize(nodes, 0);
        table.hops.clear();
        table.starts.push(0);
        for node in 0..nodes {
            let here = self.distance[node];
            let closer = |to: NodeId| here != UNREACHED && self.distance[to.index()] < here;
            table.hops.extend(edges(node).iter().filter(|edge| relays(edge.to) && closer(edge.to)));
            table.starts.push(table.hops.len() as u32);
        }
    }
}

/// A hash of `n` in which every bit depends on every bit of `n` (Steele et al. 2014, splitmix64).
pub fn scramble(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mesh of the reference: 3 by 3, with `right` links before `down` links.
    fn mesh() -> Multipath {
        let mut links: Vec<[NodeId; 2]> = Vec::new();
        let node = |row: u32, column: u32| NodeId(3 * row + column);
        for row in 0..3 {
            links.extend((0..2).map(|column| [node(row, column), node(row, column + 1)]));
        }
        for column in 0..3 {
            links.extend((0..2).map(|row| [node(row, column), node(row + 1, column)]));
        }
        Multipath::over(9, &links)
    }

    #[test]
    fn a_square_mesh_has_six_paths_from_corner_to_corner() {
        let mut mesh = mesh();
        assert_eq!(mesh.paths(NodeId(0), NodeId(8)), 6);
        assert_eq!(mesh.paths(NodeId(8), NodeId(0)), 6);
        assert_eq!(mesh.paths(NodeId(0), NodeId(2)), 1);
        assert_eq!(mesh.paths(NodeId(4), NodeId(4)), 1);
        assert_eq!(mesh.path(NodeId(0), NodeId(8)).unwrap(), [0, 1, 2, 5, 8].map(NodeId));
        assert_eq!(mesh.next_hops(NodeId(8), NodeId(8)), []);
    }

    #[test]
    fn each_node_takes_turns_of_its_own_and_per_destination() {
        let mut mesh = mesh();
        let mut turn = |from: u32, to: u32| mesh.next_in_turn(NodeId(from), NodeId(to)).unwrap().to.0;
        assert_eq!([turn(0, 8), turn(0, 8), turn(0, 8)], [1, 3, 1]);
        assert_eq!([turn(4, 8), turn(4, 8)], [5, 7], "its own turn");
        assert_eq!([turn(0, 5), turn(0, 8)], [1, 3], "a turn per destination");
        assert_eq!([turn(8, 0), turn(8, 0)], [7, 5], "left first, by number");
    }

    #[test]
    fn turns_spread_packets_as_evenly_as_paths_allow() {
        let mut mesh = mesh();
        let mut visits = [0; 9];
        for _ in 0..400 {
            let mut at = NodeId(0);
            while at != NodeId(8) {
                visits[at.index()] += 1;
                at = mesh.next_in_turn(at, NodeId(8)).unwrap().to;
            }
        }
        // Nodes with two next hops halve the packets; nodes at the edge have one.
        assert_eq!(visits, [400, 200, 100, 200, 200, 200, 100, 200, 0]);
    }

    #[test]
    fn a_flow_keeps_its_way_and_flows_use_all_ways() {
        let mut mesh = mesh();
        let mut way = |hash: u64| {
            let mut nodes = vec![NodeId(0)];
            while *nodes.last().unwrap() != NodeId(8) {
                nodes.push(mesh.next_of_flow(*nodes.last().unwrap(), NodeId(8), hash).unwrap().to);
            }
            nodes
        };
        let mut count = std::collections::BTreeMap::new();
        for flow in 0..4000 {
            let hash = scramble(flow);
            let nodes = way(hash);
            assert_eq!(way(hash), nodes);
            *count.entry(nodes).or_insert(0) += 1;
        }
        assert_eq!(count.len(), 6);
        // Two of the six paths have one choice less, and 1000 flows; the others 500. Five standard deviations are 100 to 140.
        let mut counts: Vec<i32> = count.into_values().collect();
        counts.sort_unstable();
        assert!(counts[..4].iter().all(|n| (400..=600).contains(n)), "{counts:?}");
        assert!(counts[4..].iter().all(|n| (860..=1140).contains(n)), "{counts:?}");
    }

    #[test]
    fn nodes_that_are_cut_off_have_no_next_hop() {
        let mut two = Multipath::over(4, &[[NodeId(0), NodeId(1)], [NodeId(2), NodeId(3)]]);
        assert_eq!(two.next_in_turn(NodeId(0), NodeId(3)), None);
        assert_eq!(two.next_of_flow(NodeId(0), NodeId(3), 7), None);
        assert_eq!((two.path(NodeId(0), NodeId(3)), two.paths(NodeId(0), NodeId(3))), (None, 0));
        assert_eq!(two.next_in_turn(NodeId(0), NodeId(9)), None);
    }
}
