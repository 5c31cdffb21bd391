//! Packets that links have duplicated, at their receiver: the first copy counts.
//!
//! Follows RFC 5560: a duplicate is recognized by the packet's contents. Differs: only duplicated packets are remembered.
//! Leaves out connections, which recognize duplicates by sequence numbers.

use skyhop_network::Frame;
use skyhop_units::Time;
use std::collections::BTreeSet;

/// Duplicated packets of which one copy has arrived.
#[derive(Debug, Default)]
pub(crate) struct Twins(BTreeSet<(Time, bool, u16)>);

impl Twins {
    /// Returns true if this packet is the first of several equal ones.
    #[inline]
    pub fn is_first(&mut self, frame: &Frame) -> bool {
        !frame.twin || self.0.insert((frame.sent_at, frame.backward, frame.packet.ip.identification))
    }
}
