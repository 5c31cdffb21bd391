//! What stands on the ground: a terminal with its antennas, or a gateway.
//!
//! Follows HT 2.2.1 for terminals; gateways relay between satellites and the network on the ground (a bent pipe).
//! Differs: every gateway may be joined to every other by fibre along the great circle.
//! Left out: beams, antenna patterns, and the routes that cables really take.

use skyhop_orbit::Terminal;

use crate::link::NodeId;

/// A terminal as the network sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Its name and place.
    pub terminal: Terminal,
    /// How many satellites it can hold at once, at least 1. Each antenna has a link of its own.
    pub antennas: u16,
    /// Whether it passes on packets that are not for itself.
    pub gateway: bool,
}

impl Station {
    /// Antennas enough for every satellite in view of any constellation that flies or was planned.
    pub const ALL_IN_VIEW: u16 = 256;

    /// A terminal with one antenna.
    pub fn terminal(terminal: Terminal) -> Self {
        Self { terminal, antennas: 1, gateway: false }
    }

    /// A gateway with that many antennas.
    pub fn gateway(terminal: Terminal, antennas: u16) -> Self {
        Self { terminal, antennas, gateway: true }
    }
}

/// Fibre between gateways.
#[derive(Debug, Clone, PartialEq)]
pub enum Fibre {
    /// None.
    None,
    /// From every gateway to every other.
    Mesh,
    /// Between these stations, by their index.
    Between(Vec<(usize, usize)>),
}

impl Fibre {
    /// The pairs of stations that are joined, each once, lower index first.
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

/// The nodes of a pair of stations after so many satellites.
pub(crate) fn nodes((a, b): (usize, usize), satellites: u32) -> (NodeId, NodeId) {
    (NodeId(satellites + a as u32), NodeId(satellites + b as u32))
}
