//! Links that stay, with several ways between their nodes: which packet takes which.
//!
//! Follows WP's multipath routing, over links that a scenario states.
//! Differs from the constellation's routes: nothing changes, so each destination's table is worked out once.
//! Leaves out links that fail.

use crate::tables::Sharing;
use skyhop_routing::Multipath;
use skyhop_scenario::network::Network;
use skyhop_topology::NodeId;
use skyhop_wire::Packet;

/// A network of links that stay, over all of whose shortest ways flows are spread.
pub(crate) struct Mesh {
    paths: Multipath,
    sharing: Sharing,
    /// The node where each link begins.
    begins: Vec<NodeId>,
}

impl Mesh {
    pub fn new(network: &Network, sharing: Sharing) -> Self {
        let node = |index: usize| NodeId(index as u32);
        let links: Vec<[NodeId; 2]> = network.links.iter().map(|ends| [node(ends.a), node(ends.b)]).collect();
        let begins = links.iter().map(|[a, _]| *a).collect();
        Self { paths: Multipath::over(network.nodes.len(), &links), sharing, begins }
    }

    /// The wire that `packet` takes from `node` towards `destination`; a scenario whose nodes are not joined is refused.
    #[inline]
    pub fn next_wire(&mut self, node: NodeId, destination: NodeId, packet: &Packet) -> Option<u32> {
        let hop = self.sharing.next_hop(&mut self.paths, node, destination, packet)?;
        let reverse = self.begins[hop.link.index()] != node;
        Some(2 * hop.link.0 + reverse as u32)
    }
}
