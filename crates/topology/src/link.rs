//! Nodes, links and their states.
//!
//! Follows HT 2.2.1: intraplane, interplane and cross-seam ISLs, and GSLs between satellites and terminals.
//! Differs: a link that moves (cross-seam ISL, GSL) keeps its number and changes its far end.
//! Left out: the effect of a link on packets, which is in `skyhop-link`.

/// A node. Satellites are numbered from 0, constellation by constellation; terminals follow, then ground nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Index into arrays over all nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link that exists now or may exist later. ISLs are numbered first, constellation by constellation, then one GSL per antenna
/// of each terminal, then fibre between stations, then ground links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// Index into [`crate::Topology::links`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a link, by the nodes at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// Between satellites of one plane.
    IntraPlane,
    /// Between satellites of planes in the same direction of flight.
    InterPlane,
    /// Between satellites of the counter-rotating planes on both sides of a star pattern's seam.
    CrossSeam,
    /// Between satellites of neighbouring shells.
    InterShell,
    /// Between a terminal and its satellite.
    Gsl,
    /// Between two stations on the ground.
    Fibre,
    /// Between nodes on the ground, with a given delay.
    Ground,
}

/// The state of a link at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// The end that never changes: the terminal of a GSL, the satellite in plane 0 of a cross-seam link, the satellite of the
    /// smaller shell of an inter-shell link.
    pub a: NodeId,
    /// The other end. While a GSL is down, its last satellite.
    pub b: NodeId,
    /// True if packets can use it.
    pub up: bool,
    /// Kind of the link.
    pub kind: LinkKind,
}

impl LinkState {
    /// The end that is not `node`; `None` if the link does not touch `node`.
    pub fn other(&self, node: NodeId) -> Option<NodeId> {
        match node {
            node if node == self.a => Some(self.b),
            node if node == self.b => Some(self.a),
            _ => None,
        }
    }
}

/// A link that came up, went down or moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkChange {
    /// The link that changed.
    pub link: LinkId,
    /// State before the update.
    pub was: LinkState,
    /// State after the update.
    pub is: LinkState,
}
