//! Stations on the ground: a terminal with its antennas, or a gateway.
//!
//! Follows HT 2.2.1 for terminals; gateways relay between satellites and the ground network (a bent pipe).
//! Differs: every gateway may be joined to every other by fibre along the great circle.
//! Left out: beams, antenna patterns, and the true routes of cables.

use skyhop_orbit::Terminal;

use crate::link::NodeId;

/// A terminal or gateway of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Name and position.
    pub terminal: Terminal,
    /// Number of satellites that it can hold at once, at least 1. Each antenna has its own link.
    pub antennas: u16,
    /// True if it forwards packets of others.
    pub gateway: bool,
}

impl Station {
    /// A number of antennas large enough for all satellites in view of every constellation that flies or was planned.
    pub const ALL_IN_VIEW: u16 = 256;

    /// A terminal with one antenna.
    pub fn terminal(terminal: Terminal) -> Self {
        Self { terminal, antennas: 1, gateway: false }
    }

    /// A gateway with `antennas` antennas.
    pub fn gateway(terminal: Terminal, antennas: u16) -> Self {
        Self { terminal, antennas, gateway: true }
    }
}

/// Fibre between gateways.
#[derive(Debug, Clone, PartialEq)]
pub enum Fibre {
    /// No fibre.
    None,
    /// Fibre from every gateway to every other.
    Mesh,
    /// Fibre between these pairs of stations, by index.
    Between(Vec<(usize, usize)>),
}

impl Fibre {
    /// The pairs of stations that fibre joins, each once, lower index first.
    pub(crate) fn pairs(&self, stations: &[Station]) -> Vec<(usize, usize)> {
        let gateways = || (0..stations.len()).filter(|&station| stations[station].gateway);
        let mut pairs: Vec<(usize, usize)> = match self {
            Self::None => Vec::new(),
            Self::Mesh => gateways().flat_map(|a| gateways().map(move |b| (a, b))).collect(),
            Self::Between(pairs) => pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect(),
        };
        pairs.retain(|(a, b)| a < b);
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// The nodes of a pair of stations, which follow `satellites` satellites.
pub(crate) fn nodes((a, b): (usize, usize), satellites: u32) -> (NodeId, NodeId) {
    (NodeId(satellites + a as u32), NodeId(satellites + b as u32))
}
