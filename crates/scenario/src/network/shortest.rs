//! Flows with ends but no path: the minimum-hop path, or terminals of the constellation.
//!
//! Follows breadth-first search; among paths of equal length, the first in order of link names is taken, or all are.
//! Differs from one search per flow: flows that end behind the same node share one, so 1,000 pairs need two searches.
//! Leaves out rates and delays as metrics.

use super::{Direction, Ends, NetworkBuilder, RoutePlan};
use crate::error::{expected, quoted};
use crate::model::{Group, Scheme};
use crate::path::KeyPath;
use skyhop_text::spelling::hint;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// For each node, its links and the node at the other end of each, in order of link names.
type Neighbours = Vec<Vec<(usize, usize)>>;

impl NetworkBuilder<'_> {
    /// Finds the path of each flow that has none.
    ///
    /// After an earlier finding some links have no ends, and the lack of a path is then not reported.
    pub(super) fn shortest_ways(&mut self, before: usize) {
        let whole = self.out.list.len() + self.out.more == before;
        if super::meets(self.scenario, &self.nodes) {
            return self.through_one_graph(whole);
        }
        let neighbours = self.neighbours();
        // A node with one link is behind its neighbour, through which every path to it leads.
        let gate = |node: usize| match neighbours[node].as_slice() {
            [(_, next)] => *next,
            _ => node,
        };
        let mut groups: BTreeMap<usize, Vec<(usize, usize, usize)>> = BTreeMap::new();
        for i in 0..self.scenario.flows.len() {
            if let Some((from, to)) = self.ends_of(i, whole) {
                groups.entry(gate(to)).or_default().push((i, from, to));
            }
        }
        for (gate, flows) in groups {
            let distance = distances(&neighbours, gate);
            for (i, from, to) in flows {
                match walk(&neighbours, &distance, gate, from, to) {
                    Some(links) => {
                        let several = self.scenario.routing.scheme == Scheme::Multipath;
                        let all = several.then(|| every(&neighbours, &distance, gate, from, to));
                        // With a single path there are no turns to take.
                        let all = all.filter(|all| all.len() > links.len());
                        let spread = all.is_some();
                        let hops = all.unwrap_or(links).into_iter();
                        let hops = hops.map(|(link, node)| (link, self.direction(link, node))).collect();
                        let route = if spread {
                            RoutePlan::Spread { from, to, hops }
                        } else {
                            RoutePlan::Links { from, to, hops }
                        };
                        self.routes[i] = Some(route);
                    }
                    None if !whole => {}
                    None => {
                        let (from, to) = (quoted(&self.nodes[from]), quoted(&self.nodes[to]));
                        let at = || KeyPath::default().key("flows").index(i).key("to");
                        self.out.push(at, || format!("no path from {from} to {to} over the links"));
                    }
                }
            }
        }
    }

    /// Handles flows without a path in a scenario whose links meet its satellites: routes are found during the run, and each end
    /// must be joined to a terminal.
    fn through_one_graph(&mut self, whole: bool) {
        let joined = self.joined_to_terminals();
        for i in 0..self.scenario.flows.len() {
            let flow = &self.scenario.flows[i];
            let ends = (flow.from.as_ref().map(Group::name), flow.to.as_ref().map(Group::name));
            let ((Some(from), Some(to)), None) = (ends, &flow.path) else {
                // Notes what is missing.
                self.ends_of(i, whole);
                continue;
            };
            if from == to {
                self.ends_of(i, whole);
                continue;
            }
            let at = KeyPath::default().key("flows").index(i);
            let mut known = true;
            for (key, end) in [("from", from), ("to", to)] {
                match self.place(end, whole, || at.key(key)) {
                    None => known = false,
                    Some(Some(node)) if !joined[node] => {
                        known = false;
                        self.out.push(
                            || at.key(key),
                            || format!("no path from {} to a terminal over the links", quoted(end)),
                        );
                    }
                    Some(_) => {}
                }
            }
            if known {
                self.routes[i] = Some(RoutePlan::Space { from: from.to_owned(), to: to.to_owned() });
            }
        }
    }

    fn neighbours(&self) -> Neighbours {
        let mut neighbours: Neighbours = vec![Vec::new(); self.nodes.len()];
        for (link, ends) in self.ends.iter().enumerate() {
            if let Some(Ends { a, b }) = *ends {
                neighbours[a].push((link, b));
                neighbours[b].push((link, a));
            }
        }
        neighbours
    }

    /// For each node, true if links lead from it to a terminal.
    fn joined_to_terminals(&self) -> Vec<bool> {
        let mut joined: Vec<bool> =
            self.nodes.iter().map(|node| self.scenario.terminals.contains_key(node)).collect();
        let mut left: VecDeque<usize> = (0..joined.len()).filter(|node| joined[*node]).collect();
        let neighbours = self.neighbours();
        while let Some(node) = left.pop_front() {
            for &(_, next) in &neighbours[node] {
                if !std::mem::replace(&mut joined[next], true) {
                    left.push_back(next);
                }
            }
        }
        joined
    }

    fn direction(&self, link: usize, from: usize) -> Direction {
        if self.ends[link].is_some_and(|ends| ends.a == from) {
            Direction::Forward
        } else {
            Direction::Reverse
        }
    }

    /// The nodes at the ends of a flow without a path. A flow between terminals gets its route here.
    fn ends_of(&mut self, i: usize, whole: bool) -> Option<(usize, usize)> {
        let flow = &self.scenario.flows[i];
        if flow.path.is_some() {
            return None;
        }
        let at = KeyPath::default().key("flows").index(i);
        let ends = (flow.from.as_ref().map(Group::name), flow.to.as_ref().map(Group::name));
        let (Some(from), Some(to)) = ends else {
            let missing = match ends {
                (Some(_), None) => "flow with \"from\" but without \"to\"",
                (None, Some(_)) => "flow with \"to\" but without \"from\"",
                _ => "flow without ends; expected \"path\", or \"from\" and \"to\"",
            };
            self.out.push(|| at, || missing.into());
            return None;
        };
        if from == to {
            self.out.push(
                || at.key("to"),
                || format!("flow from {} to itself; expected another end", quoted(from)),
            );
            return None;
        }
        let from_at = self.place(from, whole, || at.key("from"));
        let to_at = self.place(to, whole, || at.key("to"));
        match (from_at?, to_at?) {
            (Some(a), Some(b)) => Some((a, b)),
            (None, None) => {
                self.routes[i] = Some(RoutePlan::Space { from: from.to_owned(), to: to.to_owned() });
                None
            }
            (a, _) => {
                let (terminal, node) = if a.is_none() { (from, to) } else { (to, from) };
                let (terminal, node) = (quoted(terminal), quoted(node));
                // A misspelt terminal at the end of a link is another node.
                let terminals = || self.scenario.terminals.keys().map(String::as_str);
                let near = self.nodes.iter().find_map(|node| {
                    let meant = hint(node, terminals());
                    Some(format!("{} where a link has {}?", meant.strip_suffix('?')?, quoted(node)))
                });
                let near = near.unwrap_or_default();
                self.out.push(|| at.key("to"), || {
                    format!("{terminal} is a terminal, and no link leads from {node} to one; expected a link with a terminal in its \
                        \"between\"{near}")
                });
                None
            }
        }
    }

    /// The node called `name`; `Some(None)` for a terminal, `None` if there is neither.
    fn place(&mut self, name: &str, whole: bool, at: impl FnOnce() -> KeyPath) -> Option<Option<usize>> {
        if self.scenario.terminals.contains_key(name) {
            return Some(None);
        }
        if let Some(&node) = self.node_numbers.get(name) {
            return Some(Some(node));
        }
        if !whole {
            return None;
        }
        let plain = |node: &&str| !node.contains('~') && !self.scenario.terminals.contains_key(*node);
        let nodes = self.nodes.iter().map(String::as_str).filter(plain);
        let all = self.scenario.terminals.keys().map(String::as_str).chain(nodes);
        self.out.push(at, || format!("unknown end {}{}", quoted(name), expected(name, all)));
        None
    }
}

/// Number of links from each node to `target`.
fn distances(neighbours: &Neighbours, target: usize) -> Vec<Option<u32>> {
    let mut distance = vec![None; neighbours.len()];
    distance[target] = Some(0);
    let mut queue = VecDeque::from([(target, 0)]);
    while let Some((node, d)) = queue.pop_front() {
        for &(_, next) in &neighbours[node] {
            if distance[next].is_none() {
                distance[next] = Some(d + 1);
                queue.push_back((next, d + 1));
            }
        }
    }
    distance
}

/// The links crossed, each with the node where it is entered: down to `gate`, then to `to` if that is behind it.
fn walk(
    neighbours: &Neighbours,
    distance: &[Option<u32>],
    gate: usize,
    from: usize,
    to: usize,
) -> Option<Vec<(usize, usize)>> {
    let mut hops = Vec::new();
    let mut node = from;
    let mut left = distance[from]?;
    while node != gate {
        let closer = |d: Option<u32>| d.is_some_and(|d| d < left);
        let &(link, next) = neighbours[node].iter().find(|(_, next)| closer(distance[*next]))?;
        hops.push((link, node));
        node = next;
        left = left.saturating_sub(1);
    }
    if node != to {
        let &(link, _) = neighbours[node].iter().find(|(_, next)| *next == to)?;
        hops.push((link, node));
    }
    Some(hops)
}

/// The links of all minimum-hop paths, each with the node where it is entered.
fn every(
    neighbours: &Neighbours,
    distance: &[Option<u32>],
    gate: usize,
    from: usize,
    to: usize,
) -> Vec<(usize, usize)> {
    let mut hops = Vec::new();
    // Nodes at equal distance are handled together.
    let mut here = BTreeSet::from([from]);
    while !here.is_empty() && here != BTreeSet::from([gate]) {
        let mut next = BTreeSet::new();
        for &node in &here {
            let closer = |d: Option<u32>| d.is_some() && d < distance[node];
            for &(link, other) in neighbours[node].iter().filter(|(_, other)| closer(distance[*other])) {
                hops.push((link, node));
                next.insert(other);
            }
        }
        here = next;
    }
    if to != gate {
        hops.extend(neighbours[gate].iter().filter(|(_, next)| *next == to).map(|(link, _)| (*link, gate)));
    }
    hops
}
