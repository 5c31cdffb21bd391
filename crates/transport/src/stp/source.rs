//! Sources of packets' contents: the interface between a path of numbered packets and the data that it carries.
//!
//! Follows docs/stp.md §6, where data are cut into packets when they leave, and §15.5, where a packet sent again may contain less.
//! Differs from a queue of packets: contents are chosen at the moment when the path allows a packet.
//! Leaves out numbers, pacing and POLLs, which belong to the path.

use skyhop_wire::stp::{Contents, Payload, VERSION};
use std::collections::VecDeque;

/// Source of the contents that a path carries.
pub trait Source<P: Contents> {
    /// Version of the packets.
    const VERSION: u8;
    /// True if the receiving half puts packets in order before it passes them on.
    const ORDERED: bool;
    /// True if a retransmitted packet can be split, so that packets can become smaller with the MTU.
    const SPLITS: bool;
    /// Smallest payload of a packet that a peer may set as its limit, bytes.
    const LEAST_PAYLOAD: u16;

    /// Bytes that could be sent for the first time now. Zero exactly if [`Source::take`] returns nothing.
    fn waiting(&self) -> u64;
    /// Contents of the next packet, of at most `room` bytes.
    fn take(&mut self, room: usize) -> Option<P>;
    /// Contents for a retransmission, of at most `room` bytes if they can be split.
    fn again(&mut self, contents: P, room: usize) -> P;
    /// Returns true if all of these contents are sent again when they are lost.
    fn repeats(&self, _contents: &P) -> bool {
        true
    }
    /// Handles the arrival of a packet with these contents.
    fn arrived(&mut self, contents: P);
    /// Drops all data that have not been sent.
    fn clear(&mut self);
    /// Number of pieces that wait to be sent.
    fn pieces(&self) -> usize;
}

/// Data written by the application of a single connection, in order.
#[derive(Debug)]
pub struct WrittenData<P> {
    pieces: VecDeque<P>,
    bytes: u64,
}

impl<P> Default for WrittenData<P> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), bytes: 0 }
    }
}

impl<P: Payload> WrittenData<P> {
    /// Appends `data`; small pieces share a packet of `packet` bytes.
    pub(super) fn write(&mut self, data: P, packet: usize) {
        self.bytes += data.len() as u64;
        let more = match self.pieces.back_mut() {
            Some(last) => last.join(data, packet),
            None => Some(data),
        };
        self.pieces.extend(more.filter(|more| !more.is_empty()));
    }
}

impl<P: Payload> Source<P> for WrittenData<P> {
    const VERSION: u8 = VERSION;
    const ORDERED: bool = true;
    const SPLITS: bool = false;
    const LEAST_PAYLOAD: u16 = 0;

    fn waiting(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self, room: usize) -> Option<P> {
        let mut data = match self.pieces.front_mut() {
            Some(front) if front.len() > room => front.split_to(room),
            _ => self.pieces.pop_front()?,
        };
        while data.len() < room
            && let Some(more) = self.pieces.pop_front()
        {
            if let Some(rest) = data.join(more, room) {
                self.pieces.push_front(rest);
            }
        }
        // A number joins as a whole, and the excess is returned.
        if data.len() > room {
            let packet = data.split_to(room);
            self.pieces.push_front(std::mem::replace(&mut data, packet));
        }
        self.bytes -= data.len() as u64;
        Some(data)
    }

    /// Contents are not split: an SD keeps its bytes (docs/stp.md §6.1).
    fn again(&mut self, contents: P, _room: usize) -> P {
        contents
    }

    fn arrived(&mut self, _contents: P) {}

    fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }

    fn pieces(&self) -> usize {
        self.pieces.len()
    }
}
