//! Several paths between two nodes: the k shortest, and all minimum-hop paths.
//!
//! Follows Yen (1971) with Lawler's partition (1972): the paths other than one just found split into disjoint parts.
//! Differs: a part waits in the queue with a lower bound from the tree of shortest paths. Mostly the bound is already a path's;
//! otherwise a search guided by the tree (A*) finds the path. Left out: link-disjoint paths.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use skyhop_topology::{LinkId, NodeId};

use crate::graph::{Edge, Graph, Tree};
use crate::reached::Reached;

/// A path without loops.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopFreePath {
    /// Cost of the path.
    pub cost: f64,
    /// Nodes of the path, including both ends.
    pub nodes: Vec<NodeId>,
    /// Links of the path, one fewer than nodes.
    pub links: Vec<LinkId>,
}

/// Least-cost paths to one destination in order of cost, from any number of sources.
pub struct ShortestPaths<'a, C> {
    graph: &'a Graph,
    cost: C,
    destination: NodeId,
    tree: Tree,
    /// Stamp of the current search: entries of other stamps are stale.
    stamp: u32,
    seen: Vec<u32>,
    done: Vec<u32>,
    costs: Vec<f64>,
    from: Vec<(NodeId, LinkId)>,
}

impl<'a, C: Fn(&Edge) -> Option<f64>> ShortestPaths<'a, C> {
    /// Paths to `destination`. `cost` returns the cost of an edge, the same in both directions, or `None` if it may not be used.
    pub fn new(graph: &'a Graph, destination: NodeId, cost: C) -> Self {
        let nodes = graph.nodes();
        Self {
            tree: graph.tree(destination, &cost),
            graph,
            cost,
            destination,
            stamp: 0,
            seen: vec![0; nodes],
            done: vec![0; nodes],
            costs: vec![0.0; nodes],
            from: vec![(destination, LinkId(0)); nodes],
        }
    }

    /// Up to `k` paths from `from`, best first. The same links give the same paths in every run.
    pub fn from(&mut self, from: NodeId, k: usize) -> Vec<LoopFreePath> {
        let mut found: Vec<LoopFreePath> = Vec::new();
        if from == self.destination || !self.tree.cost(from).is_finite() {
            return found;
        }
        let mut parts = BinaryHeap::new();
        let whole =
            PathSet { prefix: vec![from], links: vec![], spent: 0.0, banned: vec![], bound: 0.0, rest: None };
        parts.extend(self.bounded(whole));
        while found.len() < k
            && let Some(part) = parts.pop()
        {
            let Some(rest) = part.rest.clone().or_else(|| self.along_tree(&part)) else {
                parts.extend(self.search(part));
                continue;
            };
            let route = LoopFreePath {
                cost: part.bound,
                nodes: part.prefix.iter().chain(rest.iter().map(|(node, _)| node)).copied().collect(),
                links: part.links.iter().chain(rest.iter().map(|(_, link)| link)).copied().collect(),
            };
            self.divide(&part, &route, &mut parts);
            found.push(route);
        }
        found
    }

    /// Splits `part` without `route` into parts that leave the route at one of its nodes, by another link.
    fn divide(&self, part: &PathSet, route: &LoopFreePath, parts: &mut BinaryHeap<PathSet>) {
        let first = part.links.len();
        let mut spent = part.spent;
        for index in first..route.links.len() {
            let mut banned = if index == first { part.banned.clone() } else { Vec::new() };
            banned.push(route.links[index]);
            let left = PathSet {
                prefix: route.nodes[..=index].to_vec(),
                links: route.links[..index].to_vec(),
                spent,
                banned,
                bound: 0.0,
                rest: None,
            };
            parts.extend(self.bounded(left));
            let edges = self.graph.at(route.nodes[index]);
            let edge = edges.iter().find(|edge| edge.link == route.links[index]);
            spent += edge.and_then(&self.cost).unwrap_or_default();
        }
    }

    /// The edges by which a path of this part may continue.
    fn exits<'b>(&'b self, part: &'b PathSet) -> impl Iterator<Item = (&'b Edge, f64)> {
        let at = part.prefix[part.prefix.len() - 1];
        self.graph.at(at).iter().filter_map(|edge| {
            let open =
                self.enters(edge.to) && !part.prefix.contains(&edge.to) && !part.banned.contains(&edge.link);
            Some((edge, open.then(|| (self.cost)(edge)).flatten()?))
        })
    }

    fn enters(&self, node: NodeId) -> bool {
        self.graph.relays(node) || node == self.destination
    }

    /// The part with its lower bound; `None` if it has no paths.
    fn bounded(&self, part: PathSet) -> Option<PathSet> {
        let least = self
            .exits(&part)
            .map(|(edge, step)| part.spent + step + self.tree.cost(edge.to))
            .min_by(f64::total_cmp)
            .filter(|bound| bound.is_finite())?;
        Some(PathSet { bound: least, ..part })
    }

    /// The path that costs exactly the bound, unless the tree leads back through the prefix.
    fn along_tree(&self, part: &PathSet) -> Option<Vec<(NodeId, LinkId)>> {
        let (edge, _) = self
            .exits(part)
            .min_by(|a, b| (a.1 + self.tree.cost(a.0.to)).total_cmp(&(b.1 + self.tree.cost(b.0.to))))?;
        let mut rest = vec![(edge.to, edge.link)];
        let mut at = edge.to;
        while let Some(hop) = self.tree.next_hop(at) {
            if part.prefix.contains(&hop.to) {
                return None;
            }
            rest.push((hop.to, hop.link));
            at = hop.to;
        }
        Some(rest)
    }

    /// The part with its best path; `None` if it has no paths.
    fn search(&mut self, part: PathSet) -> Option<PathSet> {
        self.stamp += 1;
        let stamp = self.stamp;
        let at = part.prefix[part.prefix.len() - 1];
        for node in &part.prefix {
            self.done[node.index()] = stamp;
        }
        let mut queue = BinaryHeap::new();
        let exits: Vec<(Edge, f64)> = self.exits(&part).map(|(edge, step)| (*edge, step)).collect();
        for (edge, step) in exits {
            self.reach(&mut queue, at, edge, part.spent + step);
        }
        while let Some(Reached { node, .. }) = queue.pop() {
            if self.done[node.index()] == stamp {
                continue;
            }
            self.done[node.index()] = stamp;
            if node == self.destination {
                let mut rest = Vec::new();
                let mut here = node;
                while here != at {
                    let (before, link) = self.from[here.index()];
                    rest.push((here, link));
                    here = before;
                }
                rest.reverse();
                return Some(PathSet { bound: self.costs[node.index()], rest: Some(rest), ..part });
            }
            let graph = self.graph;
            for edge in graph.at(node) {
                if self.done[edge.to.index()] != stamp
                    && self.enters(edge.to)
                    && let Some(step) = (self.cost)(edge)
                {
                    self.reach(&mut queue, node, *edge, self.costs[node.index()] + step);
                }
            }
        }
        None
    }

    fn reach(&mut self, queue: &mut BinaryHeap<Reached>, from: NodeId, edge: Edge, cost: f64) {
        let to = edge.to.index();
        if self.seen[to] != self.stamp || cost < self.costs[to] {
            self.seen[to] = self.stamp;
            self.costs[to] = cost;
            self.from[to] = (from, edge.link);
            queue.push(Reached { cost: cost + self.tree.cost(edge.to), node: edge.to });
        }
    }
}

/// The paths with a given prefix that continue by a link that is not banned.
#[derive(Debug, Clone)]
struct PathSet {
    prefix: Vec<NodeId>,
    links: Vec<LinkId>,
    /// Cost of the prefix.
    spent: f64,
    banned: Vec<LinkId>,
    /// Lower bound of the cost of the part's paths.
    bound: f64,
    /// The remainder of a path that costs the bound, if one was searched for.
    rest: Option<Vec<(NodeId, LinkId)>>,
}

impl Ord for PathSet {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_cost = other.bound.total_cmp(&self.bound);
        by_cost.then_with(|| other.prefix.cmp(&self.prefix)).then_with(|| other.banned.cmp(&self.banned))
    }
}

impl PartialOrd for PathSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathSet {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathSet {}

/// All minimum-hop paths to one destination.
pub struct FewestHops<'a> {
    graph: &'a Graph,
    tree: Tree,
    usable: Box<dyn Fn(&Edge) -> bool + 'a>,
}

impl<'a> FewestHops<'a> {
    /// Paths to `destination` over `usable` links.
    pub fn new(graph: &'a Graph, destination: NodeId, usable: impl Fn(&Edge) -> bool + 'a) -> Self {
        let tree = graph.tree(destination, |edge| usable(edge).then_some(1.0));
        Self { graph, tree, usable: Box::new(usable) }
    }

    /// All next hops of a node that are on a minimum-hop path, over which it may spread packets.
    pub fn next_hops(&self, node: NodeId) -> impl Iterator<Item = &Edge> {
        let hops = self.tree.cost(node);
        self.graph.at(node).iter().filter(move |edge| {
            let nearer = self.tree.cost(edge.to) + 1.0 == hops;
            let onwards = self.graph.relays(edge.to) || self.tree.cost(edge.to) == 0.0;
            nearer && onwards && (self.usable)(edge)
        })
    }

    /// Number of links on each of the paths; `None` if there is no path.
    pub fn hops(&self, from: NodeId) -> Option<u32> {
        let hops = self.tree.cost(from);
        hops.is_finite().then_some(hops as u32)
    }

    /// Number of paths; `u64::MAX` if it is larger.
    pub fn count(&self, from: NodeId) -> u64 {
        let Some(hops) = self.hops(from) else { return 0 };
        // Level by level, the number of paths to a node is the sum over its predecessors.
        let mut level = std::collections::BTreeMap::from([(from, 1u64)]);
        for _ in 0..hops {
            let mut next = std::collections::BTreeMap::new();
            for (&node, &paths) in &level {
                for edge in self.next_hops(node) {
                    let sum: &mut u64 = next.entry(edge.to).or_default();
                    *sum = sum.saturating_add(paths);
                }
            }
            level = next;
        }
        level.values().fold(0, |sum, &paths| sum.saturating_add(paths))
    }

    /// The nodes of up to `most` paths, in order of their links' numbers.
    pub fn paths(&self, from: NodeId, most: usize) -> Vec<Vec<NodeId>> {
        let mut found = Vec::new();
        if self.hops(from).is_some() && most > 0 {
            self.extend(&mut vec![from], most, &mut found);
        }
        found
    }

    fn extend(&self, path: &mut Vec<NodeId>, most: usize, found: &mut Vec<Vec<NodeId>>) {
        let at = path[path.len() - 1];
        if self.tree.cost(at) == 0.0 {
            found.push(path.clone());
            return;
        }
        for edge in self.next_hops(at) {
            if found.len() >= most {
                return;
            }
            path.push(edge.to);
            self.extend(path, most, found);
            path.pop();
        }
    }
}
