//! A direction of a link as the simulator holds it: the machine, where it leads, and what it crosses.
//!
//! Follows the `link` crate's contract; the medium is handed to it at each call.
//! Differs between worlds only in what drives it.
//! Leaves out what the packets mean.

use skyhop_link::{Link, Medium};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Amount, Rate, Span, Time};
use skyhop_wire::{Compressor, Packet};
use std::collections::BTreeSet;

pub(crate) struct Wire {
    pub link: Link<u32>,
    /// Fixed delay, or `None` if the ends move.
    pub delay: Option<Span>,
    pub from: NodeId,
    pub to: NodeId,
    /// Index among the captured interfaces.
    pub capture: Option<u32>,
    /// Headers go as differences.
    pub compression: Option<Box<Compression>>,
    /// The largest packet that it carries, bytes; `u32::MAX` is without limit.
    pub mtu: u32,
    /// Nobody is told of larger ones.
    pub black_hole: bool,
    /// Larger ones that were dropped before it.
    pub too_large: u64,
    /// Its rate and what its queue holds, as the scenario has them.
    pub rate: Rate,
    pub queue_limit: Amount,
}

/// Header compression on a wire, both of its ends (RFC 1144).
#[derive(Default)]
pub(crate) struct Compression {
    compressor: Compressor,
    /// Compressed packets in the queue or under way.
    under_way: BTreeSet<u32>,
    /// Connections, by account and number, of which a packet was lost: differences mean nothing until a whole header comes.
    broken: Vec<(u32, u32)>,
}

impl Compression {
    /// Bytes of the packet if its header can be compressed.
    pub fn compressed_len(&self, packet: &Packet) -> Option<u32> {
        self.compressor.compressed_len(packet)
    }

    /// The link has taken the packet.
    pub fn taken(&mut self, id: u32, packet: &Packet, compressed: bool) {
        self.compressor.sent(packet);
        if compressed {
            self.under_way.insert(id);
        } else {
            self.under_way.remove(&id);
        }
    }

    /// A packet has come to the end of the wire, or would have. Whether it is lost, there or already on its way.
    pub fn loses(&mut self, id: u32, connection: (u32, u32), lost: bool) -> bool {
        let compressed = self.under_way.remove(&id);
        let broken = self.broken.contains(&connection);
        match (lost, compressed) {
            (true, _) if !broken => self.broken.push(connection),
            (false, true) => return broken,
            (false, false) if broken => self.broken.retain(|c| *c != connection),
            _ => {}
        }
        lost
    }
}

impl Wire {
    /// What the wire crosses; `topology` knows where moving ends are.
    pub fn medium<'a>(&self, topology: Option<&'a Topology>) -> WireMedium<'a> {
        match (self.delay, topology) {
            (None, Some(topology)) => WireMedium::Moving { topology, from: self.from, to: self.to },
            (delay, _) => WireMedium::Fixed(delay.unwrap_or(Span::ZERO)),
        }
    }
}

/// What a packet crosses: a fixed span, or the distance between two ends at the instant it leaves.
pub(crate) enum WireMedium<'a> {
    Fixed(Span),
    Moving { topology: &'a Topology, from: NodeId, to: NodeId },
}

impl Medium for WireMedium<'_> {
    fn one_way_delay(&self, at: Time) -> Span {
        match self {
            WireMedium::Fixed(delay) => *delay,
            WireMedium::Moving { topology, from, to } => {
                // A satellite whose elements have decayed has no position; what was sent to it arrives at once and
                // finds no way on.
                let distance_m = topology.distance_m(*from, *to, at.as_secs_f64()).unwrap_or(0.0);
                Span::from_secs_f64(distance_m / topology.constellation().earth().c_m_s)
            }
        }
    }
}
