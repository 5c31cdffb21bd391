//! The interface for capturing the packets of a run.
//!
//! Follows a capture on an interface: each packet appears when its first bit leaves.
//! Differs: packets dropped by a full queue do not appear, as on a real wire.
//! Leaves out file formats, which the `record` crate holds.

use crate::beside::Inside;
use crate::error::BuildError;
use crate::links::Links;
use skyhop_units::Time;
use skyhop_wire::Packet;

/// A captured direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedDirection {
    /// The link's name, and `/forward` or `/reverse`.
    pub name: String,
    /// True if packets cross it in ATM cells.
    pub cells: bool,
}

/// Receives the packets of captured link directions, in order of time.
pub trait Capture {
    /// Takes a packet of `interface` (an index into [`crate::Network::captured`]) whose first bit leaves at `at`, and the STP
    /// packet that is its payload, if there is one.
    fn packet(&mut self, interface: u32, at: Time, packet: &Packet, inside: Option<&Inside>);
}

/// The captured link directions, and the receiver of their packets.
pub(crate) struct Captured {
    directions: Vec<CapturedDirection>,
    to: Option<Box<dyn Capture + Send>>,
}

impl Captured {
    /// Marks the links named in `wanted`, or all if one is `*`. Fails for a name that no link has.
    pub fn of(wanted: &[String], links: &mut Links) -> Result<Self, BuildError> {
        let mut directions = Vec::new();
        for (index, name) in links.names.iter().enumerate() {
            if !wanted.iter().any(|p| p == "*" || p == name) {
                continue;
            }
            for (wire, direction) in [(2 * index, "forward"), (2 * index + 1, "reverse")] {
                let wire = &mut links.wires[wire];
                wire.capture = Some(directions.len() as u32);
                wire.link.capture();
                directions.push(CapturedDirection { name: format!("{name}/{direction}"), cells: wire.cells });
            }
        }
        if let Some(missing) = wanted.iter().find(|p| *p != "*" && !links.names.contains(p)) {
            return Err(BuildError::new("record.pcap", format!("no link \"{missing}\" in this network")));
        }
        Ok(Self { directions, to: None })
    }

    pub fn directions(&self) -> &[CapturedDirection] {
        &self.directions
    }

    pub fn set(&mut self, capture: Box<dyn Capture + Send>) {
        self.to = Some(capture);
    }

    pub fn packet(&mut self, interface: u32, at: Time, packet: &Packet, inside: Option<&Inside>) {
        if let Some(capture) = &mut self.to {
            capture.packet(interface, at, packet, inside);
        }
    }
}
