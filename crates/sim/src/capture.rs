//! Where a run's packets go when somebody wants to see them.
//!
//! Follows what a capture on an interface sees: each packet when its first bit leaves.
//! Differs: packets that a full queue drops are never seen, as on a real wire.
//! Leaves out file formats, which the `record` crate holds.

use skyhop_units::Time;
use skyhop_wire::{Packet, stp};

/// Takes the packets of captured link directions, in order of time.
pub trait Capture {
    /// A packet of `interface` (an index into [`crate::Simulation::captured`]) whose first bit leaves at `at`, and the STP
    /// packet that is its payload, if it is one.
    fn packet(
        &mut self,
        interface: u32,
        at: Time,
        packet: &Packet,
        inside: Option<&stp::Packet<stp::Length>>,
    );
}
