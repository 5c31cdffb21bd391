//! A path through satellites at an instant, hop by hop.
//!
//! Follows the routes of that instant, and the links of the last update.
//! Differs from the path of a packet, which meets later links in a later state.
//! Leaves out the choice of hops, which is in `domains.rs`.

use crate::wire_numbers::WireNumbers;
use skyhop_routing::Hop;
use skyhop_scenario::network::{Direction, SatelliteSegment};
use skyhop_topology::{LinkKind, NodeId, Topology};

/// The hops of a path, each with the node where it begins.
#[derive(Debug, Default)]
pub(crate) struct SpacePath {
    hops: Vec<(NodeId, Hop)>,
}

impl SpacePath {
    /// Continues the path over `hops`, the first of which begins at `from`.
    pub fn extend(&mut self, mut from: NodeId, hops: impl IntoIterator<Item = Hop>) {
        for hop in hops {
            self.hops.push((from, hop));
            from = hop.to;
        }
    }

    /// One-way propagation delay at `t_s`, s.
    pub fn delay_s(&self, topology: &Topology, t_s: f64) -> Option<f64> {
        let delay_s = |&(from, hop): &(NodeId, Hop)| topology.link_delay_s(hop.link, from, hop.to, t_s);
        self.hops.iter().map(delay_s).sum()
    }

    /// Number of satellites.
    pub fn satellites(&self, topology: &Topology) -> usize {
        self.hops.iter().filter(|(_, hop)| topology.is_satellite(hop.to)).count()
    }

    /// The wires of the path.
    pub fn wires(&self, topology: &Topology, numbers: WireNumbers) -> Option<Vec<u32>> {
        let wire =
            |&(from, hop): &(NodeId, Hop)| Some(numbers.leaving(from, hop.link, topology.link(hop.link)?));
        self.hops.iter().map(wire).collect()
    }

    /// Returns true if packets get through now, false if a link is being acquired.
    pub fn is_open(&self, topology: &Topology) -> bool {
        self.hops.iter().all(|&(from, hop)| {
            topology.link(hop.link).is_some_and(|state| state.up && state.other(from) == Some(hop.to))
        })
    }

    /// The parts of the path: links, fibre, and constellations between two terminals.
    pub fn segments(&self, topology: &Topology, numbers: WireNumbers) -> Option<Vec<SatelliteSegment>> {
        let (mut passes, mut up) = (Vec::new(), None);
        for &(from, hop) in &self.hops {
            let state = topology.link(hop.link)?;
            let ends = [from, hop.to].map(|node| topology.is_satellite(node));
            match state.kind {
                LinkKind::Ground => {
                    let forward = state.a == from;
                    let direction = if forward { Direction::Forward } else { Direction::Reverse };
                    passes.push(SatelliteSegment::Link(numbers.ground_link(hop.link)?, direction));
                }
                LinkKind::Fibre => passes.push(SatelliteSegment::Fibre),
                _ if !ends[0] => up = Some((from, false)),
                _ if ends[1] => up = up.map(|(terminal, _)| (terminal, true)),
                _ => {
                    let (terminal, isls) = up.take()?;
                    let fleet = topology.fleets().index_of(from);
                    let ends = [terminal, hop.to].map(|node| topology.node_name(node));
                    passes.push(SatelliteSegment::Fleet { fleet, ends, isls });
                }
            }
        }
        Some(passes)
    }
}
