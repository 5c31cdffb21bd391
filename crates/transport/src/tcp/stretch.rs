//! A range of a stream's bytes by offset: data that may have to be retransmitted, or that wait to be read.
//!
//! Follows RFC 9293 §3.4, which numbers each byte; offsets have 64 bits and are never used again.
//! Differs from a ring: the bytes are one slice, which moves to the front when half of its room is free, so that each byte moves
//! once on average. Leaves out the record of gaps, which their writer keeps.

use std::ops::Range;

/// Bytes from one offset to another.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Offset of the first byte held.
    start: u64,
    /// Its index in `bytes`.
    head: usize,
    bytes: Vec<u8>,
}

impl Stretch {
    /// An empty stretch; its first byte will have offset `start`.
    pub fn new(start: u64) -> Self {
        Self { start, head: 0, bytes: Vec::new() }
    }

    /// Offset of the first byte held.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// One past the last byte held.
    pub fn end(&self) -> u64 {
        self.start + self.len() as u64
    }

    /// Bytes from the first to the last, gaps included.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.head
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes bytes at an offset that has not been released; beyond the end it leaves a gap.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let at = self.head + (offset - self.start) as usize;
        if self.bytes.len() < at + bytes.len() {
            self.bytes.resize(at + bytes.len(), 0);
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The bytes of a range that is held.
    pub fn get(&self, range: Range<u64>) -> &[u8] {
        let at = |offset: u64| self.head + (offset - self.start) as usize;
        &self.bytes[at(range.start)..at(range.end)]
    }

    /// Releases all bytes below `to`.
    pub fn release(&mut self, to: u64) {
        let to = to.clamp(self.start, self.end());
        self.head += (to - self.start) as usize;
        self.start = to;
        if self.head > self.bytes.len() / 2 {
            self.bytes.drain(..self.head);
            self.head = 0;
        }
    }

    /// Removes all bytes from `to` on.
    pub fn truncate(&mut self, to: u64) {
        let keep = to.clamp(self.start, self.end()) - self.start;
        self.bytes.truncate(self.head + keep as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_stretch_is_a_window_over_a_stream(steps in prop::collection::vec((0u8..4, 0u64..300), 1..200)) {
            let value = |offset: u64| (offset % 251) as u8;
            let mut stretch = Stretch::new(1);
            let mut most = 0;
            for (what, n) in steps {
                let (start, end) = (stretch.start(), stretch.end());
                match what {
                    0 => stretch.append(&(end..end + n).map(value).collect::<Vec<_>>()),
                    // A gap of zeros, which is then filled.
                    1 => {
                        stretch.write(end + n, &[value(end + n)]);
                        prop_assert!(stretch.get(end..end + n).iter().all(|byte| *byte == 0));
                        stretch.write(end, &(end..end + n).map(value).collect::<Vec<_>>());
                    }
                    2 => stretch.release((start + n).min(end)),
                    _ => stretch.truncate(end.saturating_sub(n)),
                }
                let held = stretch.get(stretch.start()..stretch.end());
                prop_assert_eq!(held.len(), stretch.len());
                prop_assert!((stretch.start()..).zip(held).all(|(offset, byte)| *byte == value(offset)));
                most = most.max(stretch.len());
                prop_assert!(stretch.bytes.len() <= 2 * most, "no more room is lost than was used");
            }
        }
    }
}
