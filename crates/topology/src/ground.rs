//! Nodes and links on the ground that stay: the LAN behind a terminal, the Internet behind a gateway.
//!
//! Differs from fibre: a link has the delay that it is given, and its ends need no place on the Earth.
//! Leaves out what the links carry.

use std::collections::{BTreeMap, BTreeSet};

use crate::link::NodeId;

/// A link that stays where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct GroundLink {
    /// Its name.
    pub name: String,
    /// What it joins: terminals, or nodes on the ground, which are numbered behind the terminals.
    pub ends: [NodeId; 2],
    /// Propagation delay from the first end to the second, and back, s.
    pub delay_s: [f64; 2],
}

/// The nodes and links on the ground of a network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ground {
    nodes: Vec<String>,
    links: Vec<GroundLink>,
    /// From a node to its neighbour, the shortest delay.
    delays: BTreeMap<[NodeId; 2], f64>,
    touched: BTreeSet<NodeId>,
}

impl Ground {
    pub fn new(nodes: Vec<String>, links: Vec<GroundLink>) -> Self {
        let mut ground = Self { nodes, ..Self::default() };
        for link in &links {
            let [a, b] = link.ends;
            for (pair, delay_s) in [[a, b], [b, a]].into_iter().zip(link.delay_s) {
                let shortest_s = ground.delays.entry(pair).or_insert(f64::INFINITY);
                *shortest_s = shortest_s.min(delay_s);
            }
            ground.touched.extend(link.ends);
        }
        Self { links, ..ground }
    }

    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    pub fn links(&self) -> &[GroundLink] {
        &self.links
    }

    /// The delay from a node to another that a link joins to it.
    pub fn delay_s(&self, a: NodeId, b: NodeId) -> Option<f64> {
        self.delays.get(&[a, b]).copied()
    }

    /// Whether a node is the end of a link.
    pub fn touches(&self, node: NodeId) -> bool {
        self.touched.contains(&node)
    }
}
