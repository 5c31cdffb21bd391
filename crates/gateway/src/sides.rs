//! A socket and a stream as the two sides of a join.
//!
//! Follows `skyhop_splice::join`. Differs between the two: a kernel takes what fits its buffer, a stream no more than keeps the path
//! busy, so that what comes later can still go first.
//! Leaves out opening and failures beyond a read's.

use crate::kernel::KernelSocket;
use bytes::{Bytes, BytesMut};
use skyhop_splice::join::{Input, SplitSide};
use skyhop_transport::stp::Trunk;

/// The kernel's side, lent with the memory that it reads into.
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

/// A stream's side.
pub struct StreamSide<'a> {
    pub trunk: &'a mut Trunk<Bytes>,
    pub id: u64,
    /// Bytes that may wait to leave.
    pub unsent_max: u64,
    /// The peer has ended its direction.
    pub finished: bool,
    /// The far gateway's answer has not come, and what it sends is not the server's.
    pub unanswered: bool,
}

/// Bytes that are handed to the kernel in one call: copying packets together costs less than a call for each.
const WRITE_MAX: usize = 64 << 10;

impl StreamSide<'_> {
    /// A piece with those behind it that are in order too.
    fn joined(&mut self, first: Bytes, most: usize) -> Bytes {
        let more = usize::try_from(self.trunk.readable(self.id)).unwrap_or(most).min(most - first.len());
        if more == 0 {
            return first;
        }
        let mut joined = BytesMut::with_capacity(first.len() + more);
        joined.extend_from_slice(&first);
        while joined.len() < most
            && let Some(next) = self.trunk.read(self.id, most - joined.len())
        {
            joined.extend_from_slice(&next);
        }
        joined.freeze()
    }
}

/// Less room is not worth a call of the kernel.
const ROOM_MIN: u64 = 4096;

impl SplitSide<Bytes> for StreamSide<'_> {
    fn read(&mut self, most: u64) -> Input<Bytes> {
        if self.unanswered {
            return Input::Nothing;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(WRITE_MAX);
        match self.trunk.read(self.id, most) {
            Some(data) => Input::Data(self.joined(data, most)),
            None if self.finished => Input::End,
            None => Input::Nothing,
        }
    }

    fn room(&mut self) -> u64 {
        let room = self.unsent_max.saturating_sub(self.trunk.unsent(self.id));
        if room < ROOM_MIN.min(self.unsent_max) {
            self.trunk.want_room(self.id, self.unsent_max / 2);
            return 0;
        }
        room
    }

    fn write(&mut self, data: Bytes) -> Option<Bytes> {
        self.trunk.write(self.id, data)
    }

    fn shutdown(&mut self) {
        self.trunk.shutdown(self.id);
    }

    fn all_acknowledged(&mut self) -> bool {
        self.trunk.unacknowledged(self.id) == 0
    }
}
