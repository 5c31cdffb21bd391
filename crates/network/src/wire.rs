//! One direction of a link in a network: the link machine, its ends, and its medium.
//!
//! Follows the `link` crate's contract; the medium is an argument of each call.
//! Leaves out the meaning of packets.

use skyhop_link::{Link, Medium};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Amount, Rate, Span, Time};
use skyhop_wire::{Compressor, Packet, aal5};
use std::collections::BTreeSet;

pub(crate) struct Wire {
    pub link: Link<u32>,
    /// Fixed propagation delay; `None` if an end moves.
    pub delay: Option<Span>,
    pub from: NodeId,
    pub to: NodeId,
    /// Index of its captured interface, if it is captured.
    pub capture: Option<u32>,
    /// Header compression, if it is used.
    pub compression: Option<Box<Compression>>,
    /// True if packets cross the link in ATM cells.
    pub cells: bool,
    /// MTU, bytes; `u32::MAX` for no limit.
    pub mtu: u32,
    /// True if no error is sent for packets larger than the MTU.
    pub black_hole: bool,
    /// Number of packets dropped because they were larger than the MTU.
    pub too_large: u64,
    /// Rate, and capacity of the queue, by the scenario.
    pub rate: Rate,
    pub queue_limit: Amount,
}

impl Wire {
    /// Bytes that a packet of `size` bytes takes on the link.
    #[inline]
    pub fn framed(&self, size: u32) -> u32 {
        if self.cells { in_cells(size) } else { size }
    }
}

/// Bytes of the cells that a packet takes.
#[cold]
fn in_cells(size: u32) -> u32 {
    (aal5::cells_of_packet(size as usize) * aal5::CELL_LEN) as u32
}

/// Header compression on a wire, at both of its ends (RFC 1144).
#[derive(Default)]
pub(crate) struct Compression {
    compressor: Compressor,
    /// Compressed packets in the queue or in flight.
    under_way: BTreeSet<u32>,
    /// Connections, by account and number, that have lost a packet: compressed headers are useless until an uncompressed one comes.
    broken: Vec<(u32, u32)>,
}

impl Compression {
    /// Length of the packet with its header compressed, bytes; `None` if it cannot be.
    pub fn compressed_len(&self, packet: &Packet) -> Option<u32> {
        self.compressor.compressed_len(packet)
    }

    /// Records that the link has accepted the packet.
    pub fn taken(&mut self, id: u32, packet: &Packet, compressed: bool) {
        self.compressor.sent(packet);
        if compressed {
            self.under_way.insert(id);
        } else {
            self.under_way.remove(&id);
        }
    }

    /// Records that a packet has reached the end of the wire, or was lost on it. Returns true if it is lost, on the wire or by
    /// decompression.
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
    /// The medium of the wire; `topology` gives the positions of moving ends.
    pub fn medium<'a>(&self, topology: Option<&'a Topology>) -> WireMedium<'a> {
        match (self.delay, topology) {
            (None, Some(topology)) => WireMedium::Moving { topology, from: self.from, to: self.to },
            (delay, _) => WireMedium::Fixed(delay.unwrap_or(Span::ZERO)),
        }
    }
}

/// The medium of a packet: a fixed delay, or the distance between the ends at the instant it leaves.
pub(crate) enum WireMedium<'a> {
    Fixed(Span),
    Moving { topology: &'a Topology, from: NodeId, to: NodeId },
}

impl Medium for WireMedium<'_> {
    fn one_way_delay(&self, at: Time) -> Span {
        match self {
            WireMedium::Fixed(delay) => *delay,
            WireMedium::Moving { topology, from, to } => {
                // A satellite whose elements have decayed has no position; a packet sent to it arrives at once and finds no path.
                let distance_m = topology.distance_m(*from, *to, at.as_secs_f64()).unwrap_or(0.0);
                Span::from_secs_f64(distance_m / topology.constellation().earth().c_m_s)
            }
        }
    }
}
