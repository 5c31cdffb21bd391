//! Permanent nodes and links on the ground: the LAN behind a terminal, the Internet behind a gateway.
//!
//! Differs from fibre: a link has the delay that it is given, and its ends need no place on the Earth.
//! Leaves out the traffic on the links.

use std::collections::{BTreeMap, BTreeSet};

use crate::link::NodeId;

/// A permanent link on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct GroundLink {
    /// Name of the link.
    pub name: String,
    /// The nodes at its ends: terminals, or ground nodes, whose numbers follow the terminals'.
    pub ends: [NodeId; 2],
    /// Propagation delay from the first end to the second, and back, s.
    pub delay_s: [f64; 2],
}

/// The ground nodes and ground links of a network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ground {
    nodes: Vec<String>,
    links: Vec<GroundLink>,
    /// The shortest delay from a node to each neighbour, s.
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

    /// Delay from `a` to `b` over the shortest ground link between them, s; `None` if there is none.
    pub fn delay_s(&self, a: NodeId, b: NodeId) -> Option<f64> {
        self.delays.get(&[a, b]).copied()
    }

    /// Returns true if a ground link ends at `node`.
    pub fn touches(&self, node: NodeId) -> bool {
        self.touched.contains(&node)
    }
}
