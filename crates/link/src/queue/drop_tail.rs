//! Drop-tail: first in, first out; packets that do not fit are dropped at the tail.
//!
//! Follows the drop-tail queue of ns-2 as the references use it: a limit of 50 packets is 49 that wait and one being sent.
//! Differs: the limit may be in bytes too, counted with headers; an idle link takes any packet.
//! Leaves out active queue management.

use super::Limit;
use std::collections::VecDeque;

struct Entry<T> {
    packet: T,
    size: u32,
}

pub(crate) struct DropTail<T> {
    limit: Limit,
    waiting: VecDeque<Entry<T>>,
    bytes: u64,
}

impl<T> DropTail<T> {
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: 0 }
    }

    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns true if a packet of `size` bytes fits; `sending` is the size of the packet on the transmitter, if there is one.
    pub fn admits(&self, size: u32, sending: Option<u32>) -> bool {
        self.limit.admits(self.waiting.len() as u64, self.bytes, size, sending)
    }

    pub fn push(&mut self, packet: T, size: u32) {
        self.bytes += size as u64;
        self.waiting.push_back(Entry { packet, size });
    }

    pub fn pop(&mut self) -> Option<(T, u32)> {
        let Entry { packet, size } = self.waiting.pop_front()?;
        self.bytes -= size as u64;
        Some((packet, size))
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}
