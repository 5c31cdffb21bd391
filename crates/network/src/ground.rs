//! Scenario links that end at terminals, as part of the constellation's network.
//!
//! If a link ends at a terminal, links and satellites are one graph, by the scenario's rule.
//! Leaves out scenarios in which they do not meet: links keep nodes and routes of their own there.

use skyhop_scenario::Scenario;
use skyhop_scenario::network::{Ends, NetworkPlan};
use skyhop_topology::{GroundLink, NodeId, Topology};
use std::collections::BTreeMap;

/// Nodes that are not terminals, and all links.
#[derive(Default)]
pub(crate) struct GroundGraph {
    nodes: Vec<String>,
    /// Name, names of the ends, and delay in each direction in seconds.
    links: Vec<(String, [String; 2], [f64; 2])>,
}

impl GroundGraph {
    /// The ground of a scenario whose links meet its satellites; empty otherwise.
    pub fn of(scenario: &Scenario, plan: &NetworkPlan) -> Self {
        if !plan.meets_satellites {
            return Self::default();
        }
        let plain = |name: &&String| !scenario.terminals.contains_key(*name);
        let link = |((name, link), ends): ((&String, &skyhop_scenario::Link), &Ends)| {
            let ends = [ends.a, ends.b].map(|node| plan.nodes[node].clone());
            (name.clone(), ends, link.delays().map(|delay| delay.as_secs_f64()))
        };
        Self {
            nodes: plan.nodes.iter().filter(plain).cloned().collect(),
            links: scenario.links.iter().zip(&plan.links).map(link).collect(),
        }
    }

    /// Returns true if a topology has ground links.
    pub fn is_in(topology: &Topology) -> bool {
        topology.first_ground_link().index() < topology.links().len()
    }

    /// Adds these nodes and links to a topology.
    pub fn join(self, topology: Topology) -> Topology {
        if self.links.is_empty() {
            return topology;
        }
        let first = topology.nodes();
        let Self { nodes, links } = self;
        let terminals = (0u32..).zip(topology.terminals()).map(|(index, terminal)| {
            (terminal.name.as_str(), NodeId(topology.constellation().len() as u32 + index))
        });
        let plain =
            nodes.iter().enumerate().map(|(index, name)| (name.as_str(), NodeId((first + index) as u32)));
        let numbers: BTreeMap<&str, NodeId> = plain.chain(terminals).collect();
        let node = |name: &String| numbers.get(name.as_str()).copied().unwrap_or(NodeId(0));
        let link = |(name, ends, delay_s): (String, [String; 2], [f64; 2])| {
            let ends = ends.each_ref().map(node);
            GroundLink { name, ends, delay_s }
        };
        let links: Vec<GroundLink> = links.into_iter().map(link).collect();
        topology.with_ground(nodes, links)
    }
}
