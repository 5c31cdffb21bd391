//! Permanent links with several paths between nodes: the choice of a path for each packet.
//!
//! Follows WP's multipath routing, over the links of a scenario.
//! Differs from the constellation's routes: links do not change, so each destination's table is computed once.
//! Leaves out failed links: packets are still sent into a link that is out.

use crate::tables::Sharing;
use skyhop_routing::{Hop, Multipath};
use skyhop_scenario::network::NetworkPlan;
use skyhop_topology::NodeId;
use skyhop_wire::Packet;
use std::collections::BTreeSet;

/// A network of permanent links, over all of whose shortest paths flows are spread.
pub(crate) struct Mesh {
    paths: Multipath,
    sharing: Sharing,
    /// The node at which each link begins.
    begins: Vec<NodeId>,
}

impl Mesh {
    pub fn new(network: &NetworkPlan, sharing: Sharing) -> Self {
        let node = |index: usize| NodeId(index as u32);
        let links: Vec<[NodeId; 2]> = network.links.iter().map(|ends| [node(ends.a), node(ends.b)]).collect();
        let begins = links.iter().map(|[a, _]| *a).collect();
        Self { paths: Multipath::over(network.nodes.len(), &links), sharing, begins }
    }

    /// The wire for `packet` from `node` towards `destination`. There is one, as a scenario with unconnected nodes is refused.
    #[inline]
    pub fn next_wire(&mut self, node: NodeId, destination: NodeId, packet: &Packet) -> Option<u32> {
        let hop = self.sharing.next_hop(&mut self.paths, node, destination, packet)?;
        let reverse = self.begins[hop.link.index()] != node;
        Some(2 * hop.link.0 + reverse as u32)
    }

    /// The wires from `node` on all paths towards `destination`.
    pub fn next_wires(&mut self, node: NodeId, destination: NodeId) -> Vec<u32> {
        let wire = |hop: &Hop| 2 * hop.link.0 + u32::from(self.begins[hop.link.index()] != node);
        self.paths.next_hops(node, destination).iter().map(wire).collect()
    }

    /// The wires on all paths from one node to another that use none for which `skip` returns true; empty if there is no such
    /// path.
    pub fn wires(&mut self, from: NodeId, to: NodeId, skip: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let (mut wires, mut joined) = (BTreeSet::new(), from == to);
        let (mut seen, mut left) = (BTreeSet::from([from]), vec![from]);
        while let Some(node) = left.pop() {
            for hop in self.paths.next_hops(node, to).to_vec() {
                let wire = 2 * hop.link.0 + (self.begins[hop.link.index()] != node) as u32;
                if skip(wire) {
                    continue;
                }
                wires.insert(wire);
                joined |= hop.to == to;
                if seen.insert(hop.to) {
                    left.push(hop.to);
                }
            }
        }
        if joined { wires } else { BTreeSet::new() }
    }
}
