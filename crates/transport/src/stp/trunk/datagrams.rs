//! Datagrams: an outgoing queue that drops late ones, and an incoming queue of limited size.
//!
//! Follows docs/stp.md §15.7.
//! Differs from a socket's: credit keeps the sender from filling the receiver's queue, so that drops happen at the sender.
//! Leaves out fragments: a datagram fits one packet, or is refused.

use super::rounds::Turn;
use skyhop_units::Time;
use skyhop_wire::stp::{Class, Payload};
use std::collections::VecDeque;

/// Counters of datagrams by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramStats {
    /// Datagrams accepted from the application.
    pub written: u64,
    /// Datagrams sent, each counted once.
    pub sent: u64,
    /// Datagrams dropped before they were sent: they were late, or the queue was full.
    pub late: u64,
    /// Datagrams received from the peer.
    pub received: u64,
    /// Datagrams dropped because the application did not read them.
    pub unread: u64,
}

#[derive(Debug)]
struct WaitingDatagram<P> {
    until: Time,
    channel: u64,
    data: P,
}

/// Datagrams that wait to be sent.
#[derive(Debug)]
pub(super) struct Departures<P> {
    queue: VecDeque<WaitingDatagram<P>>,
    bytes: u64,
    most: u64,
    /// Bytes sent so far.
    pub next: u64,
    /// First offset that the peer does not accept.
    pub limit: u64,
    pub turn: Turn,
    pub stats: DatagramStats,
}

impl<P: Payload> Departures<P> {
    pub fn new(most: u64, limit: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
            most,
            next: 0,
            limit,
            turn: Turn::new(Class::default()),
            stats: DatagramStats::default(),
        }
    }

    /// Appends a datagram; the oldest are dropped to make room for it.
    pub fn push(&mut self, channel: u64, data: P, until: Time) {
        self.stats.written += 1;
        self.bytes += data.len() as u64;
        self.queue.push_back(WaitingDatagram { until, channel, data });
        while self.bytes > self.most && self.queue.len() > 1 {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(dropped) = self.queue.pop_front() {
            self.bytes -= dropped.data.len() as u64;
            self.stats.late += 1;
        }
    }

    /// Drops datagrams that are late.
    pub fn expire(&mut self, now: Time) {
        let before = self.queue.len();
        let bytes = &mut self.bytes;
        self.queue.retain(|waiting| {
            let kept = waiting.until > now;
            *bytes -= if kept { 0 } else { waiting.data.len() as u64 };
            kept
        });
        self.stats.late += (before - self.queue.len()) as u64;
    }

    /// Channel and size of the first datagram, if the peer accepts it.
    pub fn first(&self) -> Option<(u64, usize)> {
        let first = self.queue.front()?;
        let len = first.data.len();
        (self.next + len as u64 <= self.limit).then_some((first.channel, len))
    }

    /// Bytes that could be sent.
    pub fn ready(&self) -> u64 {
        if self.first().is_some() { self.bytes.min(self.limit - self.next) } else { 0 }
    }

    /// Removes the first datagram; returns it with its channel and offset.
    pub fn take(&mut self) -> Option<(u64, u64, P)> {
        let WaitingDatagram { channel, data, .. } = self.queue.pop_front()?;
        let offset = self.next;
        self.bytes -= data.len() as u64;
        self.next += data.len() as u64;
        self.stats.sent += 1;
        Some((channel, offset, data))
    }

    /// Drops the first datagram, which no longer fits any packet of the path.
    pub fn refuse_first(&mut self) {
        self.drop_first();
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn clear(&mut self) {
        while !self.queue.is_empty() {
            self.drop_first();
        }
    }
}

/// Datagrams that have arrived and have not been read.
#[derive(Debug)]
pub(super) struct Arrivals<P> {
    queue: VecDeque<(u64, P)>,
    bytes: u64,
    most: u64,
    /// One past the highest byte that the peer has sent.
    high: u64,
    told: u64,
    pub received: u64,
    pub unread: u64,
}

impl<P: Payload> Arrivals<P> {
    pub fn new(most: u64) -> Self {
        Self { queue: VecDeque::new(), bytes: 0, most, high: 0, told: most, received: 0, unread: 0 }
    }

    /// Adds an arriving datagram; the oldest are dropped to make room for it.
    pub fn push(&mut self, channel: u64, offset: u64, data: P) {
        self.received += 1;
        self.before(offset + data.len() as u64);
        self.bytes += data.len() as u64;
        self.queue.push_back((channel, data));
        // Small ones cost more memory than their bytes.
        while (self.bytes > self.most || self.queue.len() as u64 > self.most.div_ceil(32))
            && let Some((_, data)) = self.queue.pop_front()
        {
            self.bytes -= data.len() as u64;
            self.unread += 1;
        }
    }

    /// Records that all datagrams before `offset` have been sent.
    pub fn before(&mut self, offset: u64) {
        self.high = self.high.max(offset);
    }

    pub fn read(&mut self) -> Option<(u64, P)> {
        let (channel, data) = self.queue.pop_front()?;
        self.bytes -= data.len() as u64;
        Some((channel, data))
    }

    /// Credit to be announced to the peer, if it is enough for a frame.
    pub fn credit(&mut self) -> Option<u64> {
        let limit = self.high + self.most.saturating_sub(self.bytes);
        let worth = limit >= self.told.saturating_add(self.most.div_ceil(2));
        worth.then(|| {
            self.told = limit;
            limit
        })
    }
}
