//! A socket and a stream as the two sides of a join.
//!
//! Follows `skyhop_splice::join`. Differs between the two: a kernel accepts data up to its buffer, a stream only as much as keeps
//! the path busy, so that later data of higher priority can still be sent first.
//! Leaves out opening and failures, except of a read.

use crate::kernel::KernelSocket;
use bytes::{Bytes, BytesMut};
use skyhop_splice::join::{Input, SplitSide};
use skyhop_transport::stp::Trunk;

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

/// A stream's side.
pub struct StreamSide<'a> {
    pub trunk: &'a mut Trunk<Bytes>,
    pub id: u64,
    /// Limit of bytes that wait to be sent.
    pub unsent_max: u64,
    /// The peer has ended its direction.
    pub finished: bool,
    /// The far gateway has not answered yet, so its data are not the server's.
    pub unanswered: bool,
}

/// Bytes passed to the kernel in one call: copying packets together costs less than a call for each.
const WRITE_MAX: usize = 64 << 10;

impl StreamSide<'_> {
    /// A piece joined with those after it that are also in order.
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

/// Less room does not justify a call of the kernel.
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
