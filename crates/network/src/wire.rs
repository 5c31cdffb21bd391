//! One direction of a link in a network: the link machine, its ends, and its medium.
//!
//! Follows the `link` crate's contract; the medium is an argument of each call.
//! Leaves out the meaning of packets.

use crate::compression::Compression;
use crate::reconstruction::Reconstructor;
use skyhop_link::{Link, Medium};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Amount, Rate, Span, Time};
use skyhop_wire::aal5;

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
    /// Reconstruction of acknowledgments at the far end, if there is one.
    pub reconstructor: Option<Box<Reconstructor>>,
    /// True if packets cross the link in ATM cells.
    pub cells: bool,
    /// MTU, bytes; `u32::MAX` for no limit.
    pub mtu: u32,
    /// True if no error is sent for packets larger than the MTU.
    pub black_hole: bool,
    /// Number of packets dropped because they were larger than the MTU.
    pub too_large: u64,
    /// Number of packets that crossed in fragments.
    pub fragmented: u64,
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
