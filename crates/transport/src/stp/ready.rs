//! Data in order that the application has not read.
//!
//! Follows docs/stp.md §7 and §15.3: a connection and each stream of an association pass on what has come into order.
//! Leaves out what waits behind gaps (`receive_buffer`, `trunk::reassembly`).

use skyhop_wire::stp::{Contents, Payload};
use std::collections::VecDeque;

/// Pieces of data; the first may have been read in part.
#[derive(Debug)]
pub(super) struct ReadyData<P> {
    pieces: VecDeque<P>,
    bytes: u64,
}

impl<P> Default for ReadyData<P> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), bytes: 0 }
    }
}

impl<P> ReadyData<P> {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

impl<P: Contents> ReadyData<P> {
    pub fn push(&mut self, data: P) {
        self.push_joined(data, |_, data| Some(data));
    }

    /// Adds data of which `join` may append a part to the last piece; it returns the remainder.
    pub fn push_joined(&mut self, data: P, join: impl FnOnce(Option<&mut P>, P) -> Option<P>) {
        self.bytes += data.len() as u64;
        let rest = join(self.pieces.back_mut(), data);
        self.pieces.extend(rest);
    }

    /// The next piece, whole.
    pub fn take(&mut self) -> Option<P> {
        let taken = self.pieces.pop_front()?;
        self.bytes -= taken.len() as u64;
        Some(taken)
    }
}

impl<P: Payload> ReadyData<P> {
    /// At most `most` bytes, and at most a piece.
    pub fn read(&mut self, most: usize) -> Option<P> {
        let front = self.pieces.front_mut()?;
        if front.len() <= most {
            return self.take();
        }
        if most == 0 {
            return None;
        }
        let taken = front.split_to(most);
        self.bytes -= taken.len() as u64;
        Some(taken)
    }
}
