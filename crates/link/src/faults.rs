//! Packets that arrive twice, and packets that arrive corrupted.
//!
//! Follows RFC 5560 (duplication) and netem: independent probabilities, and one flipped bit in a corrupted packet.
//! Differs: both happen at the receiving end of the link, so that a copy takes no time of the transmitter; a lost or corrupted
//! packet has no copy.
//! Leaves out the bytes: an emulator flips the drawn bit, and a simulator counts the packet as lost, since its checksum would fail.

use skyhop_chance::Stream;
use skyhop_units::Span;
use std::num::NonZeroU32;

/// Parameters of duplication.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplication {
    /// Probability that an arriving packet has a copy.
    pub probability: f64,
    /// Time between the packet and its copy; the copy may be overtaken.
    pub delay: Span,
}

/// Parameters of corruption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corruption {
    /// Probability that one bit of a packet is flipped.
    pub probability: f64,
}

impl Corruption {
    /// The flipped bit of a packet of `size` bytes, uniformly drawn; `None` if the packet is intact.
    pub(crate) fn draw(self, size: u32, chance: &mut Stream) -> Option<FlippedBit> {
        if !chance.happens(self.probability) {
            return None;
        }
        let bits = u64::from(size) * 8;
        let at = (u128::from(chance.bits()) * u128::from(bits)) >> 64;
        NonZeroU32::new(u32::try_from(at + 1).unwrap_or(u32::MAX)).map(FlippedBit)
    }
}

/// The position of a flipped bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlippedBit(NonZeroU32);

impl FlippedBit {
    /// Number of the bit; the highest bit of the first byte is 0.
    pub const fn bit(self) -> u32 {
        self.0.get() - 1
    }

    /// Flips the bit in `bytes`; in the last byte if the packet is shorter than the size given to the link.
    pub fn flip(self, bytes: &mut [u8]) {
        let at = (self.bit() as usize / 8).min(bytes.len().saturating_sub(1));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x80 >> (self.bit() % 8);
        }
    }
}
