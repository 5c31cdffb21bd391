//! Nodes, links and their states.
//!
//! Follows HT 2.2.1: intraplane, interplane and cross-seam ISLs, and GSLs between satellites and terminals.
//! Differs: a link that moves (cross-seam ISL, GSL) keeps its number and changes its far end.
//! Left out: what a link does to packets; that is `skyhop-link`.

/// A satellite, a terminal or a node on the ground: satellites are numbered from 0, those of the second constellation
/// behind those of the first, terminals follow, then the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index into arrays over all nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link that exists now or may exist later: ISLs are numbered first, constellation by constellation, then one GSL
/// per antenna of each terminal, then fibre between stations, then links on the ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// As an index into [`crate::Topology::links`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a link joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// Two satellites of one plane.
    IntraPlane,
    /// Satellites of planes flying the same way.
    InterPlane,
    /// Satellites of the counter-rotating planes on both sides of a star pattern's seam.
    CrossSeam,
    /// Satellites of neighbouring shells.
    InterShell,
    /// A terminal and its satellite.
    Gsl,
    /// Two stations on the ground.
    Fibre,
    /// Nodes on the ground, by a link with a delay of its own.
    Ground,
}

/// A link at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// The end that owns the link and never changes: the terminal of a GSL, the plane-0 satellite across the seam, the
    /// satellite of the smaller of two shells.
    pub a: NodeId,
    /// The other end. While a GSL is down, the satellite it was on last.
    pub b: NodeId,
    /// Whether packets can use it.
    pub up: bool,
    /// What it joins.
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
pub struct Change {
    /// Which.
    pub link: LinkId,
    /// Before the update.
    pub was: LinkState,
    /// After it.
    pub is: LinkState,
}
