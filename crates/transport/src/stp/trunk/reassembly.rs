//! The receiving half of a stream: puts pieces in order by their offset.
//!
//! Follows docs/stp.md §15.3 to §15.5: pieces may arrive in any order, repeatedly, and with other boundaries.
//! Differs from a connection's receiver: only bytes are numbered, and missing ones are not listed.
//! Leaves out the limit of all streams together (`incoming`).

use super::super::ready::ReadyData;
use skyhop_units::Time;
use skyhop_wire::stp::Payload;
use std::collections::BTreeMap;

/// Size below which neighbouring pieces are joined, so that they do not keep the buffers of whole packets alive and cost little
/// more than their bytes.
const SMALL: usize = 720;

/// Appends a piece to its neighbour if both are small. Returns the remainder.
fn join<P: Payload>(before: Option<&mut P>, data: P) -> Option<P> {
    match before {
        Some(before) if before.len() < SMALL && data.len() < SMALL => before.join(data, 2 * SMALL),
        _ => Some(data),
    }
    .filter(|rest| !rest.is_empty())
}

#[derive(Debug)]
pub(super) struct Reassembly<P> {
    ready: ReadyData<P>,
    /// Offset up to which all data are in order.
    pub next: u64,
    /// One past the highest byte that has arrived.
    pub high: u64,
    behind: BTreeMap<u64, P>,
    /// The first byte that is not accepted, as announced or about to be announced.
    pub limit: u64,
    /// Largest window, whatever memory is left.
    pub most: u64,
    /// Offset at which the direction ends.
    pub end: Option<u64>,
    /// True if the application knows that it has ended.
    pub finished: bool,
    /// The owner of the stream's memory.
    pub owner: u32,
    /// True if an initial window counts as held.
    pub reserved: bool,
    /// Time of its opening, or of the last data.
    pub arrived: Time,
    /// True if that is long ago.
    pub idle: bool,
}

impl<P: Payload> Reassembly<P> {
    pub fn new(limit: u64, now: Time) -> Self {
        Self {
            ready: ReadyData::default(),
            next: 0,
            high: 0,
            behind: BTreeMap::new(),
            limit,
            most: u64::MAX,
            end: None,
            finished: false,
            owner: 0,
            reserved: false,
            arrived: now,
            idle: false,
        }
    }

    pub fn readable(&self) -> u64 {
        self.ready.bytes()
    }

    /// Bytes that the application has read.
    pub fn consumed(&self) -> u64 {
        self.next - self.ready.bytes()
    }

    /// Number of pieces behind gaps.
    pub fn pieces(&self) -> usize {
        self.behind.len()
    }

    /// Returns true if a piece contradicts the known end.
    pub fn contradicts(&self, offset: u64, len: u64, end: bool) -> bool {
        let upto = offset + len;
        self.end.is_some_and(|known| upto > known || (end && upto != known)) || (end && upto < self.high)
    }

    /// Inserts a piece. Returns the number of bytes that came into order.
    pub fn insert(&mut self, offset: u64, data: Option<P>, end: bool) -> u64 {
        let len = data.as_ref().map_or(0, |data| data.len() as u64);
        self.high = self.high.max(offset + len);
        if end {
            self.end = Some(offset + len);
        }
        let before = self.next;
        if let Some(data) = data {
            let data = if data.len() < SMALL { data.owned() } else { data };
            if offset == self.next && self.behind.is_empty() {
                self.append(data);
            } else {
                self.put(offset, data);
            }
        }
        self.next - before
    }

    fn append(&mut self, data: P) {
        self.next += data.len() as u64;
        self.ready.push_joined(data, join);
    }

    fn put(&mut self, mut offset: u64, mut data: P) {
        let old = self.next.saturating_sub(offset).min(data.len() as u64);
        drop(data.split_to(old as usize));
        offset += old;
        while !data.is_empty() {
            let before = self.behind.range(..=offset).next_back();
            let covered = before.map_or(0, |(at, piece)| (at + piece.len() as u64).saturating_sub(offset));
            let piece = if covered > 0 {
                let covered = covered.min(data.len() as u64);
                drop(data.split_to(covered as usize));
                offset += covered;
                continue;
            } else {
                let after = self.behind.range(offset..).next();
                let free = after.map_or(data.len() as u64, |(at, _)| (at - offset).min(data.len() as u64));
                data.split_to(free as usize)
            };
            let upto = offset + piece.len() as u64;
            let before = self.behind.range_mut(..offset).next_back();
            let adjacent = before.filter(|(at, before)| *at + before.len() as u64 == offset);
            if let Some(rest) = join(adjacent.map(|(_, before)| before), piece) {
                self.behind.insert(upto - rest.len() as u64, rest);
            }
            offset = upto;
        }
        while let Some(entry) = self.behind.first_entry()
            && *entry.key() == self.next
        {
            let data = entry.remove();
            self.append(data);
        }
    }

    /// Reads data in order: at most `most` bytes, and at most a piece.
    pub fn read(&mut self, most: usize) -> Option<P> {
        self.ready.read(most)
    }

    /// Returns true if all data have come into order, and the application has not been informed.
    pub fn finishes(&mut self) -> bool {
        self.end == Some(self.next) && !std::mem::replace(&mut self.finished, true)
    }

    /// Returns true if the application has read all data.
    pub fn over(&self) -> bool {
        self.finished && self.ready.pieces() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use skyhop_chance::Seed;

    /// Pieces of any boundaries, in any order, any number of times, come out once, in order and unaltered.
    #[test]
    fn any_pieces_in_any_order() {
        let mut chance = Seed(3).stream("reassembly");
        let mut some = move |most: u64| chance.bits() % most;
        for case in 0..2000 {
            let all: Vec<u8> = (0..1 + some(300)).map(|n| (n * 7 + case) as u8).collect();
            let mut stream = Reassembly::new(u64::MAX, Time::ZERO);
            let mut read = Vec::new();
            let mut reported = 0;
            for step in 0..10_000 {
                let from = some(all.len() as u64 + 1);
                let len = if step > 300 { all.len() as u64 } else { some(20) }.min(all.len() as u64 - from);
                let end = from + len == all.len() as u64;
                let data = Bytes::copy_from_slice(&all[from as usize..(from + len) as usize]);
                assert!(!stream.contradicts(from, len, end));
                reported += stream.insert(from, (len > 0).then_some(data), end);
                while some(3) > 0
                    && let Some(data) = stream.read(1 + some(30) as usize)
                {
                    read.extend_from_slice(&data);
                }
                let held: usize = stream.behind.values().map(|data| data.len()).sum();
                assert!(held as u64 + stream.next <= stream.high, "held twice");
                if stream.finishes() {
                    break;
                }
            }
            while let Some(data) = stream.read(usize::MAX) {
                read.extend_from_slice(&data);
            }
            assert_eq!((read, reported), (all.clone(), all.len() as u64), "case {case}");
            assert!(stream.over() && stream.contradicts(all.len() as u64, 1, false));
            assert!(stream.contradicts(0, all.len() as u64 - 1, true));
        }
    }
}
