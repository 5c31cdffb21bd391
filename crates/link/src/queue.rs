//! The queue before the transmitter: first in, first out, drop at the tail.
//!
//! Follows the drop-tail queue of ns-2 as the references use it: a limit of 50 packets is 49 that wait and one being sent.
//! Differs: the limit may be in bytes too, counted with headers; an idle link takes any packet.
//! Leaves out active queue management.

use skyhop_units::Amount;
use std::collections::VecDeque;

/// The most a queue may hold, counting the packet on the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Amount);

impl Limit {
    /// A limit of `n` packets.
    pub const fn packets(n: u64) -> Self {
        Limit(Amount::Packets(n))
    }
}

pub(crate) struct Waiting<T> {
    pub packet: T,
    pub size: u32,
}

pub(crate) struct DropTail<T> {
    limit: Limit,
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
}

impl<T> DropTail<T> {
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Whether a packet of `size` fits, when `sent_packets` packets of `sent_bytes` are on the transmitter.
    pub fn admits(&self, size: u32, sent_packets: u64, sent_bytes: u32) -> bool {
        if sent_packets == 0 {
            return true;
        }
        match self.limit.0 {
            Amount::Packets(limit) => self.waiting.len() as u64 + sent_packets < limit,
            Amount::Bytes(limit) => self.bytes + sent_bytes as u64 + size as u64 <= limit.get(),
        }
    }

    pub fn push(&mut self, waiting: Waiting<T>) {
        self.bytes += waiting.size as u64;
        self.waiting.push_back(waiting);
    }

    pub fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.size as u64;
        Some(waiting)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}
