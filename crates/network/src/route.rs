//! Routes: the path of a flow's packets, and their account.
//!
//! Follows the scenario's resolution of paths; a spliced flow has a route for each part of its path.
//! Leaves out next hops, which come from links, tables and schemes.

use crate::pinned::Pinned;
use skyhop_topology::NodeId;

/// The path of a route's packets.
#[derive(Debug, Clone)]
pub enum Way {
    /// Wires in order, forward and backward.
    Wires([Box<[u32]>; 2]),
    /// Between two nodes of permanent links, over several paths, hop by hop.
    Mesh([NodeId; 2]),
    /// Between two terminals through satellites, hop by hop.
    Space([NodeId; 2]),
    /// Step by step, over links and through constellations.
    Pinned(Box<Pinned>),
}

/// A route, along which packets are sent forward or backward.
#[derive(Debug, Clone)]
pub struct Route {
    /// The path.
    pub way: Way,
    /// The account that counts its packets.
    pub account: u32,
    /// Priority band of its packets, in queues with bands.
    pub priority: u8,
    /// True if its packets may exceed the MTU of a link on the path.
    pub narrow: bool,
    /// True if its driver keeps data for each packet, and needs the tags of those that end before their destination
    /// ([`crate::Network::poll_ended`]). A router's error takes over the tag of the packet that it is about.
    pub told: bool,
    /// For each direction, true if bytes that enter its first link are counted.
    pub counted: [bool; 2],
}

impl Route {
    /// The node where packets enter; unused for a path of wires.
    pub(crate) fn entrance(&self, backward: bool) -> NodeId {
        match &self.way {
            Way::Wires(_) => NodeId(0),
            Way::Mesh(ends) | Way::Space(ends) => ends[backward as usize],
            Way::Pinned(pinned) => pinned.ends[backward as usize],
        }
    }
}
