//! The network of a scenario: nodes, links with two ends, and the path of each flow.
//!
//! Follows the paths in the file's order: forward is the direction in which the first path crosses a link.
//! Differs from a routing protocol: paths over links are found once, before the run.
//! Leaves out constellations, whose links come and go; their flows have ends but no path.

mod capacity;
mod paths;
mod pinned;
mod shortest;
mod splices;
#[cfg(test)]
mod tests;

pub use capacity::{FlowLeg, SatelliteSegment, SkyWay};
pub use pinned::{Over, PathStep};
pub use splices::Crossing;

use crate::finding::{Finding, FindingList};
use crate::model::Scenario;
use std::collections::BTreeMap;

/// Nodes, links and routes, all by index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkPlan {
    /// Names of the nodes that links join, in the order of their first use in `between` and paths. A node between two links that
    /// has no name is called after them, such as `access~satellite`.
    pub nodes: Vec<String>,
    /// Links in order of name, as in [`Scenario::links`].
    pub links: Vec<Ends>,
    /// Names of the links.
    pub link_names: Vec<String>,
    /// Path of each flow, in the order of [`Scenario::flows`].
    pub routes: Vec<RoutePlan>,
    /// True if a link ends at a terminal: links and satellites are then one graph, in which routes follow the network at each
    /// instant.
    pub meets_satellites: bool,
}

/// The ends of a link: forward is from `a` to `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Index of the node where forward begins.
    pub a: usize,
    /// Index of the node where forward ends.
    pub b: usize,
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From `a` to `b`.
    Forward,
    /// From `b` to `a`.
    Reverse,
}

impl Direction {
    /// The other direction.
    pub const fn opposite(self) -> Self {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }
}

/// The path of a flow's packets from its sender to its receiver. Replies take the same path or paths back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutePlan {
    /// Over permanent links.
    Links {
        /// Index of the sender's node.
        from: usize,
        /// Index of the receiver's node.
        to: usize,
        /// Links by index, each with the direction in which it is crossed.
        hops: Vec<(usize, Direction)>,
    },
    /// Over all minimum-hop paths; each node chooses for each packet, or for each flow.
    Spread {
        /// Index of the sender's node.
        from: usize,
        /// Index of the receiver's node.
        to: usize,
        /// Every link on such a path, each with the direction in which it is crossed.
        hops: Vec<(usize, Direction)>,
    },
    /// Through satellites, step by step as the flow's path gives.
    Pinned {
        /// Name of the sender's terminal or node.
        from: String,
        /// The steps in order, at least one.
        steps: Vec<PathStep>,
    },
    /// Through satellites, between terminals or between nodes of links in the same graph.
    Space {
        /// Name of the sender's terminal or node.
        from: String,
        /// Name of the receiver's terminal or node.
        to: String,
    },
}

impl NetworkPlan {
    /// Names of the ends of a path, sender first.
    pub fn ends<'a>(&'a self, route: &'a RoutePlan) -> [&'a str; 2] {
        match route {
            RoutePlan::Links { from, to, .. } | RoutePlan::Spread { from, to, .. } => {
                [*from, *to].map(|node| self.nodes[node].as_str())
            }
            RoutePlan::Pinned { from, steps } => [from, steps.last().map_or(from, |step| &step.to)],
            RoutePlan::Space { from, to } => [from, to],
        }
    }
}

/// The network of a scenario, or the mistakes in its paths.
pub fn resolve(scenario: &Scenario) -> Result<NetworkPlan, Vec<Finding>> {
    let mut out = FindingList::default();
    match resolve_into(scenario, &mut out) {
        Some(network) if out.list.is_empty() => Ok(network),
        _ => Err(out.list),
    }
}

/// As [`resolve`]; `None` if it noted a finding.
pub(crate) fn resolve_into(scenario: &Scenario, out: &mut FindingList) -> Option<NetworkPlan> {
    let before = out.list.len() + out.more;
    let mut builder = NetworkBuilder {
        scenario,
        names: scenario.links.keys().map(String::as_str).collect(),
        numbers: scenario.links.keys().enumerate().map(|(i, name)| (name.as_str(), i)).collect(),
        nodes: Vec::new(),
        node_numbers: BTreeMap::new(),
        ends: vec![None; scenario.links.len()],
        routes: vec![None; scenario.flows.len()],
        out,
    };
    builder.stated_ends();
    builder.paths();
    builder.unused_links(before);
    builder.shortest_ways(before);
    let NetworkBuilder { nodes, ends, routes, out, .. } = builder;
    if out.list.len() + out.more > before {
        return None;
    }
    // Anything missing in these two was noted above.
    Some(NetworkPlan {
        meets_satellites: meets(scenario, &nodes),
        nodes,
        links: ends.into_iter().collect::<Option<_>>()?,
        link_names: scenario.links.keys().cloned().collect(),
        routes: routes.into_iter().collect::<Option<_>>()?,
    })
}

fn meets(scenario: &Scenario, nodes: &[String]) -> bool {
    nodes.iter().any(|node| scenario.terminals.contains_key(node))
}

struct NetworkBuilder<'a> {
    scenario: &'a Scenario,
    /// Names of links by number.
    names: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
    nodes: Vec<String>,
    node_numbers: BTreeMap<String, usize>,
    ends: Vec<Option<Ends>>,
    routes: Vec<Option<RoutePlan>>,
    out: &'a mut FindingList,
}

impl NetworkBuilder<'_> {
    /// The number of the node `name`, a new one if it was not named before.
    fn node(&mut self, name: &str) -> usize {
        if let Some(&number) = self.node_numbers.get(name) {
            return number;
        }
        self.nodes.push(name.to_owned());
        self.node_numbers.insert(name.to_owned(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }
}
