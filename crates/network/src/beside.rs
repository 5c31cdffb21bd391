//! What lies beside frames, by their numbers: the inside of STP's packets.
//!
//! Differs from a field of the frame: most frames have nothing beside them and stay small.

use skyhop_wire::stp::{Frames, Length, Packet};

/// The inside of a packet of STP's.
#[derive(Debug, Clone, PartialEq)]
pub enum Inside {
    /// Of a connection by itself: its data are an application's.
    Connection(Packet<Length>),
    /// Of an association: its data are frames of many streams (docs/stp.md §15.2).
    Association(Packet<Frames<Length>>),
}

#[derive(Default)]
pub(crate) struct Beside {
    stp: Vec<Option<Inside>>,
}

impl Beside {
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

    /// Leaves nothing beside the frame, whose number may be used again.
    #[inline]
    pub fn take(&mut self, id: u32) -> Option<Inside> {
        self.stp.get_mut(id as usize)?.take()
    }
}
