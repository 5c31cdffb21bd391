//! One direction of a path: a queue, a transmitter, and everything that the Internet does to packets.
//!
//! Follows `skyhop_link` for the order of things: queue, transmitter, errors, delay.
//! Differs: packets are bytes and time is handed in, so that a thread with a clock and a test without one use the same path.
//! Leaves out how packets come and go.

use skyhop_chance::{Seed, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the path does, each way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub rate_bps: f64,
    pub delay: Duration,
    pub queue_bytes: f64,
    pub lost: f64,
    pub duplicated: f64,
    pub reordered: f64,
    pub corrupted: f64,
}

/// 100 Mbit/s, a round trip of 600 ms, a queue of one bandwidth-delay product, and errors both ways.
pub const PATH: Path = Path {
    rate_bps: 100e6,
    delay: Duration::from_millis(300),
    queue_bytes: 7.5e6,
    lost: 0.01,
    duplicated: 0.001,
    reordered: 0.01,
    corrupted: 0.01,
};

/// What it has done, both ways.
#[derive(Debug, Default)]
pub struct Done {
    pub forwarded: AtomicU64,
    pub lost: AtomicU64,
    pub duplicated: AtomicU64,
    pub reordered: AtomicU64,
    pub corrupted: AtomicU64,
    pub overflown: AtomicU64,
}

/// One direction.
pub struct Direction {
    path: Path,
    chance: Stream,
    free_at: Duration,
    number: u64,
    packets: BinaryHeap<Reverse<(Duration, u64, Vec<u8>)>>,
    /// How late each packet left.
    pub late: Vec<Duration>,
}

impl Direction {
    pub fn new(path: Path, seed: u64, name: &str) -> Self {
        let chance = Seed(seed).stream(name);
        Direction {
            path,
            chance,
            free_at: Duration::ZERO,
            number: 0,
            packets: BinaryHeap::new(),
            late: Vec::new(),
        }
    }

    /// A datagram comes.
    pub fn take(&mut self, now: Duration, packet: &[u8], done: &Done) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let waits = self.free_at.saturating_sub(now);
        if waits.as_secs_f64() * self.path.rate_bps / 8.0 > self.path.queue_bytes {
            count(&done.overflown);
            return;
        }
        // With the headers of UDP and IP, as a link would count.
        let serialisation = (packet.len() + 28) as f64 * 8.0 / self.path.rate_bps;
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(serialisation);
        if self.chance.happens(self.path.lost) {
            count(&done.lost);
            return;
        }
        let mut packet = packet.to_vec();
        if self.chance.happens(self.path.corrupted) {
            count(&done.corrupted);
            let at = (self.chance.uniform() * packet.len() as f64) as usize;
            packet[at] ^= 1 << (self.chance.bits() % 8);
        }
        let mut due = self.free_at + self.path.delay;
        if self.chance.happens(self.path.reordered) {
            count(&done.reordered);
            due += Duration::from_secs_f64(0.003 * self.chance.uniform());
        }
        if self.chance.happens(self.path.duplicated) {
            count(&done.duplicated);
            self.number += 1;
            self.packets.push(Reverse((due + Duration::from_millis(1), self.number, packet.clone())));
        }
        self.number += 1;
        self.packets.push(Reverse((due, self.number, packet)));
    }

    /// When the next datagram leaves.
    pub fn due(&self) -> Option<Duration> {
        self.packets.peek().map(|Reverse((due, ..))| *due)
    }

    /// The next datagram that leaves by now.
    pub fn next(&mut self, now: Duration, done: &Done) -> Option<Vec<u8>> {
        let due = self.due().filter(|due| *due <= now)?;
        self.late.push(now - due);
        done.forwarded.fetch_add(1, Ordering::Relaxed);
        self.packets.pop().map(|Reverse((_, _, packet))| packet)
    }
}
