//! What lies beside frames, by their numbers: the inside of STP's packets.
//!
//! Differs from a field of the frame: most frames have nothing beside them and stay small.

use skyhop_wire::stp::{Length, Packet};

#[derive(Default)]
pub(crate) struct Beside {
    stp: Vec<Option<Packet<Length>>>,
}

impl Beside {
    pub fn put(&mut self, id: u32, packet: Packet<Length>) {
        let index = id as usize;
        if index >= self.stp.len() {
            self.stp.resize(index + 1, None);
        }
        self.stp[index] = Some(packet);
    }

    pub fn get(&self, id: u32) -> Option<&Packet<Length>> {
        self.stp.get(id as usize)?.as_ref()
    }

    /// Leaves nothing beside the frame, whose number may be used again.
    #[inline]
    pub fn take(&mut self, id: u32) -> Option<Packet<Length>> {
        self.stp.get_mut(id as usize)?.take()
    }
}
