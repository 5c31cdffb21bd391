//! Packets that arrive twice, and packets that arrive corrupted.
//!
//! Follows RFC 5560 (duplication) and netem's two: independent probabilities, and one bit of a corrupted packet is another.
//! Differs: the receiver's end of the link does it, so that neither a copy nor what has been done to bits takes the transmitter's time; what
//! is lost or corrupted has no copy.
//! Leaves out the bytes: whoever has them is told which bit, and whoever has none takes the packet for lost, as its checksum says.

use skyhop_chance::Stream;
use skyhop_units::Span;
use std::num::NonZeroU32;

/// Packets that arrive twice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplication {
    /// Probability that a packet which arrives has a copy.
    pub probability: f64,
    /// How much later the copy arrives; it keeps no order.
    pub delay: Span,
}

/// Packets that arrive corrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corruption {
    /// Probability that a bit of a packet has become another.
    pub probability: f64,
}

impl Corruption {
    /// The bit of a packet of `size` bytes that has become another, if one has: each as likely as the others.
    pub(crate) fn draw(self, size: u32, chance: &mut Stream) -> Option<FlippedBit> {
        if !chance.happens(self.probability) {
            return None;
        }
        let bits = u64::from(size) * 8;
        let at = (u128::from(chance.bits()) * u128::from(bits)) >> 64;
        NonZeroU32::new(u32::try_from(at + 1).unwrap_or(u32::MAX)).map(FlippedBit)
    }
}

/// A bit of a packet that has become another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlippedBit(NonZeroU32);

impl FlippedBit {
    /// Its number; the highest bit of the first byte is 0.
    pub const fn bit(self) -> u32 {
        self.0.get() - 1
    }

    /// Does to bytes what the link has done; of a packet that is shorter than the link was told, to its last byte.
    pub fn flip(self, bytes: &mut [u8]) {
        let at = (self.bit() as usize / 8).min(bytes.len().saturating_sub(1));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x80 >> (self.bit() % 8);
        }
    }
}
