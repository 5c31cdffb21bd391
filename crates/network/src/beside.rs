//! STP packets inside frames, stored separately by the frames' numbers.
//!
//! Differs from a field of the frame: most frames have none and stay small.

use skyhop_wire::stp::{Frames, Packet, PayloadLength};

/// An STP packet whose header is in a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Inside {
    /// A packet of a single connection: its data are an application's.
    Connection(Packet<PayloadLength>),
    /// A packet of an association: its data are frames of many streams (docs/stp.md §15.2).
    Association(Packet<Frames<PayloadLength>>),
}

#[derive(Default)]
pub(crate) struct StpPackets {
    stp: Vec<Option<Inside>>,
}

impl StpPackets {
    pub fn put(&mut self, id: u32, packet: Inside) {
        let index = id as usize;
        if index >= self.stp.len() {
            self.stp.resize(index + 1, None);
        }
        self.stp[index] = Some(packet);
    }

    pub fn get(&self, id: u32) -> Option<&Inside> {
        self.stp.get(id as usize)?.as_ref()
    }

    /// Removes and returns the packet of frame `id`, whose number may then be reused.
    #[inline]
    pub fn take(&mut self, id: u32) -> Option<Inside> {
        self.stp.get_mut(id as usize)?.take()
    }
}
