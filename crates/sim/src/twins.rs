//! Packets that links have doubled, at their receiver: the first of each counts.
//!
//! Follows RFC 5560: a duplicate is told by what is in the packet. Differs: only packets that were doubled are remembered.
//! Leaves out connections, which know their numbers.

use skyhop_network::Frame;
use skyhop_units::Time;
use std::collections::BTreeSet;

/// Doubled packets of which a copy has arrived.
#[derive(Debug, Default)]
pub(crate) struct Twins(BTreeSet<(Time, bool, u16)>);

impl Twins {
    /// Returns true if this packet is the first of several equal ones.
    #[inline]
    pub fn is_first(&mut self, frame: &Frame) -> bool {
        !frame.twin || self.0.insert((frame.sent_at, frame.backward, frame.packet.ip.identification))
    }
}
