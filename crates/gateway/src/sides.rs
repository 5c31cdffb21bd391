//! A socket as a side of a join.
//!
//! Follows `skyhop_splice::join`; the other side is [`skyhop_splice::gateway::StreamSide`].
//! Leaves out opening and failures, except of a read.

use crate::kernel::KernelSocket;
use bytes::{Bytes, BytesMut};
use skyhop_splice::join::{Input, SplitSide};

/// The kernel's side, with the memory into which it reads.
pub struct KernelSide<'a> {
    pub socket: &'a mut KernelSocket,
    pub arena: &'a mut BytesMut,
}

impl SplitSide<Bytes> for KernelSide<'_> {
    fn read(&mut self, most: u64) -> Input<Bytes> {
        match self.socket.read(most, self.arena) {
            Ok(Some(data)) if data.is_empty() => Input::End,
            Ok(Some(data)) => Input::Data(data),
            Ok(None) => Input::Nothing,
            Err(_) => Input::Broken,
        }
    }

    fn room(&mut self) -> u64 {
        if self.socket.writable { u64::MAX } else { 0 }
    }

    fn write(&mut self, data: Bytes) -> Option<Bytes> {
        self.socket.write(data)
    }

    fn shutdown(&mut self) {
        self.socket.shutdown();
    }

    fn all_acknowledged(&mut self) -> bool {
        self.socket.unacknowledged() == 0
    }
}
