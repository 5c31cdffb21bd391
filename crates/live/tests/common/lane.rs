//! One direction of a path with the bytes of its packets: `skyhop_link`, and the packets passed to it.
//!
//! Follows netem for faults: a bit is inverted, a copy has the same bytes.
//! Differs: time is an argument, so that a thread with a clock and a test without one use the same path.
//! Leaves out the transport of packets to and from it.

#![allow(dead_code, reason = "each test has its own use of it")]

use skyhop_chance::Seed;
use skyhop_link::{Corruption, Duplication, Fixed, Label, Limit, Link, Loss, Reordering, Stats};
use skyhop_units::{Amount, Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// The faults of a path, for each direction.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    pub delay: Span,
    pub queue: Bytes,
    /// Bytes before the packet: an inverted bit there destroys the packet.
    pub headers: u32,
    pub lost: f64,
    pub corrupted: f64,
    pub reordering: Reordering,
    pub duplication: Duplication,
}

/// One direction.
pub struct Lane {
    link: Link<u32>,
    medium: Fixed,
    headers: u32,
    packets: BTreeMap<u32, Vec<u8>>,
    next: u32,
    /// Lateness of each packet.
    pub late: Vec<Span>,
}

impl Lane {
    pub fn new(path: Path, seed: u64, name: &str) -> Self {
        let stream = |what: &str| Seed(seed).stream(&format!("{name}/{what}"));
        let Path { rate, delay, queue, headers, lost, corrupted, reordering, duplication } = path;
        let loss = Loss::Packets { probability: lost };
        let link = Link::new(rate, Limit(Amount::Bytes(queue)), loss, Some(stream("loss")))
            .with_reordering(reordering, stream("reordering"))
            .with_duplication(duplication, stream("duplication"))
            .with_corruption(Corruption { probability: corrupted }, stream("corruption"));
        Lane { link, medium: Fixed(delay), headers, packets: BTreeMap::new(), next: 0, late: Vec::new() }
    }

    /// Number of packets affected by each fault.
    pub fn stats(&self) -> Stats {
        self.link.stats()
    }

    fn hold(&mut self, bytes: Vec<u8>) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.packets.insert(self.next, bytes);
        self.next
    }

    /// Accepts a packet.
    pub fn take(&mut self, now: Time, packet: &[u8]) {
        let size = packet.len() as u32 + self.headers;
        let id = self.hold(packet.to_vec());
        if self.link.handle_packet(now, id, size, Label::default(), &self.medium).is_err() {
            self.packets.remove(&id);
        }
    }

    /// Time of the next departure or other event of the link.
    pub fn due(&self) -> Option<Time> {
        self.link.poll_timeout()
    }

    /// The next packet that is due.
    pub fn next(&mut self, now: Time) -> Option<Vec<u8>> {
        loop {
            let due = self.link.poll_timeout()?;
            let arrival = self.link.poll_arrival(now, &self.medium)?;
            self.late.push(now.since(due));
            let mut bytes = self.packets.remove(&arrival.packet).expect("each arrives once");
            if arrival.duplicated {
                let copy = self.hold(bytes.clone());
                self.link.duplicate(now, &arrival, copy);
            }
            match arrival.corrupted {
                Some(bit) => {
                    let mut whole = vec![0; self.headers as usize];
                    whole.append(&mut bytes);
                    bit.flip(&mut whole);
                    if bit.bit() < self.headers * 8 {
                        continue;
                    }
                    bytes = whole.split_off(self.headers as usize);
                }
                None if arrival.lost => continue,
                None => {}
            }
            return Some(bytes);
        }
    }
}
