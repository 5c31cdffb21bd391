//! A socket as a side of a join.
//!
//! Follows `skyhop_splice::join`; the other side is [`skyhop_splice::gateway::StreamSide`].
//! Leaves out opening and failures, except of a read.

use crate::kernel::KernelSocket;
use bytes::{Bytes, BytesMut};
use skyhop_splice::join::{Input, SplitSide};
use std::collections::VecDeque;

/// The kernel's side, with the memory into which it reads.
pub struct KernelSide<'a> {
    pub socket: &'a mut KernelSocket,
    pub arena: &'a mut BytesMut,
}

impl SplitSide<Bytes> for KernelSide<'_> {
    fn read(&mut self, most: u64, pieces: &mut VecDeque<Bytes>) -> Input {
        match self.socket.read(most, self.arena) {
            Ok(Some(data)) if data.is_empty() => Input::End,
            Ok(Some(data)) => {
                pieces.push_back(data);
                Input::Data
            }
            Ok(None) => Input::Nothing,
            Err(_) => Input::Broken,
        }
    }

    fn room(&mut self) -> u64 {
        if self.socket.writable { u64::MAX } else { 0 }
    }

    fn write(&mut self, pieces: &mut VecDeque<Bytes>) {
        self.socket.write_pieces(pieces);
    }

    fn shutdown(&mut self) {
        self.socket.shutdown();
    }

    fn all_acknowledged(&mut self) -> bool {
        self.socket.unacknowledged() == 0
    }
}
