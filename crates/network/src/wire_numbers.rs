//! Numbers of the wires of a topology's links, two for each.
//!
//! Follows the order of wires in a network: those of links between fixed ends come first, then those of satellites.
//! Differs from the order of links in the topology, where ground links, which have fixed ends, come last.

use skyhop_topology::{LinkId, LinkState, NodeId, Topology};

/// The numbers of the wires of a topology's links.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireNumbers {
    /// Index of the first wire of link 0; link k has two wires from there, except ground links.
    first_wire: usize,
    first_ground_link: LinkId,
}

impl WireNumbers {
    /// The numbers where `first_wire` wires precede those of satellites.
    pub fn new(first_wire: usize, topology: &Topology) -> Self {
        Self { first_wire, first_ground_link: topology.first_ground_link() }
    }

    /// Number of links between fixed ends.
    pub fn fixed_links(self) -> usize {
        self.first_wire / 2
    }

    /// The first of a link's two wires.
    #[inline]
    pub fn of(self, link: LinkId) -> usize {
        match self.ground_link(link) {
            None => self.first_wire + 2 * link.index(),
            Some(ground) => 2 * ground,
        }
    }

    /// The wire by which packets leave `node` on a link.
    #[inline]
    pub fn leaving(self, node: NodeId, link: LinkId, state: &LinkState) -> u32 {
        self.of(link) as u32 + u32::from(state.a != node)
    }

    /// Number of a link among ground links; `None` for other links.
    #[inline]
    pub fn ground_link(self, link: LinkId) -> Option<usize> {
        link.0.checked_sub(self.first_ground_link.0).map(|ground| ground as usize)
    }

    /// The ground link of a wire between fixed ends.
    pub fn link_of(self, wire: u32) -> LinkId {
        LinkId(self.first_ground_link.0 + wire / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ground_links_have_the_first_wires_and_satellites_those_after_all_fixed_ones() {
        // In the topology three links of satellites precede three ground links.
        let numbers = WireNumbers { first_wire: 6, first_ground_link: LinkId(3) };
        assert_eq!([0, 2, 3, 5].map(|link| numbers.of(LinkId(link))), [6, 10, 0, 4]);
        assert_eq!([2, 3, 4].map(|link| numbers.ground_link(LinkId(link))), [None, Some(0), Some(1)]);
        assert_eq!([0, 1, 2, 3].map(|wire| numbers.link_of(wire).0), [3, 3, 4, 4]);
        assert_eq!(numbers.fixed_links(), 3);
    }
}
