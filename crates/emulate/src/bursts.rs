//! Frames read from devices, in buffers, until none of their packets is in flight.
//!
//! A packet's tag is the number of its frame and its index in that frame.
//! Differs from a queue: frames leave in any order. Buffers have four sizes and are reused, so that nothing is allocated per packet
//! once the path is full.
//! Leaves out the network's knowledge of a packet, and shrinking.

use crate::offload::{FrameShape, MAX_HEADERS, MAX_SEGMENTS, complete};

const SIZES: [usize; 4] = [256, 2048, 16_384, 65_600];
const INDEX_BITS: u32 = MAX_SEGMENTS.trailing_zeros();
const MOST: usize = 1 << (32 - INDEX_BITS);

/// Tag of a packet in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(pub u32);

impl Tag {
    /// Tag of packet `index` of frame `burst`.
    pub fn new(burst: u32, index: u32) -> Self {
        Self(burst << INDEX_BITS | index)
    }

    /// Number of the frame.
    pub fn burst(self) -> u32 {
        self.0 >> INDEX_BITS
    }

    /// Index of the packet in its frame.
    pub fn index(self) -> u32 {
        self.0 & (MAX_SEGMENTS - 1)
    }
}

struct SizeClass {
    buffers: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

struct Burst {
    shape: FrameShape,
    class: u8,
    buffer: u32,
    len: u32,
    left: u32,
}

/// Frames with packets in flight.
pub struct Bursts {
    classes: [SizeClass; SIZES.len()],
    bursts: Vec<Burst>,
    free: Vec<u32>,
    bytes: usize,
    most_bytes: usize,
}

impl Bursts {
    /// A store of frames with at most `most_bytes` of buffers.
    pub fn new(most_bytes: usize) -> Self {
        let classes = SIZES.map(|_| SizeClass { buffers: Vec::new(), free: Vec::new() });
        Self { classes, bursts: Vec::new(), free: Vec::new(), bytes: 0, most_bytes }
    }

    /// Stores a frame of `shape`. `None` if there is no room for it.
    pub fn insert(&mut self, frame: &[u8], shape: FrameShape) -> Option<u32> {
        if self.free.is_empty() && self.bursts.len() == MOST {
            return None;
        }
        let class = SIZES.iter().position(|size| *size >= frame.len())?;
        let SizeClass { buffers, free } = &mut self.classes[class];
        let buffer = match free.pop() {
            Some(buffer) => buffer,
            None if self.bytes + SIZES[class] > self.most_bytes => return None,
            None => {
                self.bytes += SIZES[class];
                buffers.push(vec![0; SIZES[class]].into());
                buffers.len() as u32 - 1
            }
        };
        buffers[buffer as usize][..frame.len()].copy_from_slice(frame);
        let (len, left) = (frame.len() as u32, shape.count());
        let burst = Burst { shape, class: class as u8, buffer, len, left };
        Some(match self.free.pop() {
            Some(place) => {
                self.bursts[place as usize] = burst;
                place
            }
            None => {
                self.bursts.push(burst);
                self.bursts.len() as u32 - 1
            }
        })
    }

    /// A frame and its shape.
    pub fn get(&self, burst: u32) -> (&FrameShape, &[u8]) {
        let Burst { shape, class, buffer, len, .. } = &self.bursts[burst as usize];
        (shape, &self.classes[*class as usize].buffers[*buffer as usize][..*len as usize])
    }

    /// A packet as bytes, with its checksum completed.
    pub fn whole(&self, tag: Tag) -> Vec<u8> {
        let (shape, frame) = self.get(tag.burst());
        let ends = [tag.index(); 2];
        let mut room = [0; MAX_HEADERS];
        let (len, offload) = shape.headers(frame, ends, &mut room);
        let mut packet = room[..len].to_vec();
        packet.extend_from_slice(&frame[shape.payload(ends[0], ends[1])]);
        complete(&offload, &mut packet);
        packet
    }

    /// Records that `packets` of a frame are no longer in flight.
    pub fn release(&mut self, burst: u32, packets: u32) {
        let Burst { class, buffer, left, .. } = &mut self.bursts[burst as usize];
        *left -= packets;
        if *left == 0 {
            self.classes[*class as usize].free.push(*buffer);
            self.free.push(burst);
        }
    }

    /// Records that a packet of a frame was duplicated.
    pub fn copied(&mut self, burst: u32) {
        self.bursts[burst as usize].left += 1;
    }

    /// Number of frames with packets in flight.
    pub fn len(&self) -> usize {
        self.bursts.len() - self.free.len()
    }

    /// Returns true if no frame has packets in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::Offload;

    #[test]
    fn buffers_are_used_again_and_bounded() {
        let mut bursts = Bursts::new(5 * 2048);
        let shape = |bytes: &[u8]| FrameShape::of(Offload::default(), bytes).unwrap();
        let one = [0x45u8; 1500];
        let all: Vec<u32> = (0..5).map(|_| bursts.insert(&one, shape(&one)).unwrap()).collect();
        assert_eq!(bursts.insert(&one, shape(&one)), None, "no room for a sixth");
        bursts.release(all[3], 1);
        let again = bursts.insert(&[0x60; 1400], shape(&[0x60; 1400])).unwrap();
        assert_eq!((again, bursts.get(again).1.len(), bursts.get(again).1[0]), (all[3], 1400, 0x60));
        assert_eq!(bursts.insert(&[0x45; 70_000], shape(&[0x45; 70_000])), None, "larger than IP's packets");
        for burst in all {
            bursts.release(burst, 1);
        }
        assert!(bursts.is_empty());
    }

    #[test]
    fn tags_name_frame_and_place() {
        for (burst, index) in [(0, 0), (7, 2047), (MOST as u32 - 1, 1)] {
            let tag = Tag::new(burst, index);
            assert_eq!((tag.burst(), tag.index()), (burst, index));
        }
    }
}
