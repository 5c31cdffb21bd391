//! Losses on the wire.
//!
//! Follows TH 4.1: independent bit errors spoil a packet with probability 1 - (1 - bit_error_rate)^bits.
//! Differs from TH table 6.1, which multiplies rate and bits; the two agree where the product is small.
//! Leaves out losses with memory and losses that follow a schedule.

use skyhop_chance::Stream;

/// How packets are lost after they have used the link's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Independent bit errors.
    BitErrors {
        /// Natural logarithm of the probability that a bit is right.
        ln_bit_right: f64,
        /// Size that `probability` was worked out for: most packets of a link have one size.
        size: u32,
        /// Probability that a packet of `size` is spoilt.
        probability: f64,
    },
    /// Independent packet losses.
    Packets {
        /// Probability that a packet is lost.
        probability: f64,
    },
}

impl Loss {
    /// Bit errors at `bit_error_rate`, 0 to 1.
    pub fn bit_errors(bit_error_rate: f64) -> Self {
        Loss::BitErrors { ln_bit_right: (-bit_error_rate).ln_1p(), size: 0, probability: 0.0 }
    }

    /// Whether losses are a matter of chance, so that a stream is needed.
    pub fn is_random(&self) -> bool {
        !matches!(self, Loss::None)
    }

    pub(crate) fn spoils(&mut self, packet: u32, chance: &mut Stream) -> bool {
        match self {
            Loss::None => false,
            Loss::Packets { probability } => chance.happens(*probability),
            Loss::BitErrors { ln_bit_right, size, probability } => {
                if *size != packet {
                    *size = packet;
                    *probability = -(*ln_bit_right * packet as f64 * 8.0).exp_m1();
                }
                chance.happens(*probability)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;

    #[test]
    fn bit_errors_spoil_long_packets_more() {
        // 1 - (1 - 1e-5)^(8 * 1000) = 7.688 % and for 40 bytes 0.3195 %.
        for (size, expected) in [(1000, 0.076_88), (40, 0.003_195)] {
            let mut loss = Loss::bit_errors(1e-5);
            let mut chance = Seed(3).stream("loss");
            let n = 400_000;
            let lost = (0..n).filter(|_| loss.spoils(size, &mut chance)).count() as f64 / n as f64;
            let deviation = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((lost - expected).abs() < 4.0 * deviation, "{size} bytes: {lost} against {expected}");
        }
    }
}
