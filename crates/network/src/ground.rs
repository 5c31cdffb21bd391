//! The links of a scenario whose ends are terminals, as part of its constellation's network.
//!
//! Follows the scenario's rule that links and satellites are one graph as soon as a link ends at a terminal.
//! Leaves out scenarios in which they do not meet: there links keep nodes and routes of their own.

use skyhop_scenario::{Scenario, network as plan};
use skyhop_topology::{GroundLink, NodeId, Topology};

/// Nodes that are no terminals, and all links.
#[derive(Default)]
pub(crate) struct Ground {
    nodes: Vec<String>,
    /// Name, ends by name, delay in seconds.
    links: Vec<(String, [String; 2], f64)>,
}

impl Ground {
    /// Of a scenario whose links meet its satellites; else nothing.
    pub fn of(scenario: &Scenario, plan: &plan::Network) -> Self {
        if !plan.meets_satellites {
            return Self::default();
        }
        let plain = |name: &&String| !scenario.terminals.contains_key(*name);
        let link = |((name, link), ends): ((&String, &skyhop_scenario::Link), &plan::Ends)| {
            let ends = [ends.a, ends.b].map(|node| plan.nodes[node].clone());
            (name.clone(), ends, link.delay.as_secs_f64())
        };
        Self {
            nodes: plan.nodes.iter().filter(plain).cloned().collect(),
            links: scenario.links.iter().zip(&plan.links).map(link).collect(),
        }
    }

    /// The network with these nodes and links on the ground.
    pub fn join(self, topology: Topology) -> Topology {
        if self.links.is_empty() {
            return topology;
        }
        let first = topology.nodes();
        let Self { nodes, links } = self;
        let node = |name: &String| {
            let plain =
                nodes.iter().position(|node| node == name).map(|index| NodeId((first + index) as u32));
            topology.terminal_named(name).or(plain).unwrap_or(NodeId(0))
        };
        let link = |(name, ends, delay_s): (String, [String; 2], f64)| {
            let ends = ends.each_ref().map(node);
            GroundLink { name, ends, delay_s }
        };
        let links = links.into_iter().map(link).collect();
        topology.with_ground(nodes, links)
    }
}
