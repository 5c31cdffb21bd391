//! Routes: from where to where packets go, and whose they are.
//!
//! Follows the scenario's resolution of paths; a flow that is spliced has a route for each part of its path.
//! Leaves out next hops, which links, tables and schemes find.

use crate::pinned::Pinned;
use skyhop_topology::NodeId;

/// The way of a route's packets.
#[derive(Debug, Clone)]
pub enum Way {
    /// Wires in order, there and back.
    Wires([Box<[u32]>; 2]),
    /// From node to node of links that stay, on several ways, hop by hop.
    Mesh([NodeId; 2]),
    /// From terminal to terminal, hop by hop.
    Space([NodeId; 2]),
    /// Step by step, over links and through constellations.
    Pinned(Box<Pinned>),
}

/// A route: packets are sent along it, there or back.
#[derive(Debug, Clone)]
pub struct Route {
    /// Where it leads.
    pub way: Way,
    /// The account that its packets are counted on.
    pub account: u32,
    /// Band of its packets in queues that have bands.
    pub priority: u8,
    /// Whether its packets may be larger than the MTU of a link on the way.
    pub narrow: bool,
    /// True if its driver keeps something beside each packet, and is told by [`crate::Network::poll_ended`] of those that end on the way. A
    /// router's message has the tag of the packet that it is about, and ends in its place.
    pub told: bool,
    /// Whether bytes that enter its first link are counted, there and back.
    pub counted: [bool; 2],
}

impl Route {
    /// Where packets enter; a way of wires says so itself.
    pub(crate) fn entrance(&self, backward: bool) -> NodeId {
        match &self.way {
            Way::Wires(_) => NodeId(0),
            Way::Mesh(ends) | Way::Space(ends) => ends[backward as usize],
            Way::Pinned(pinned) => pinned.ends[backward as usize],
        }
    }
}
