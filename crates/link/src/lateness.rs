//! Packets that come later than the distance says: jitter, which keeps their order, and reordering, which does not.
//!
//! Follows netem's two: a random delay for every packet, and a share of packets that are held back while others pass.
//! Differs from netem, where jitter reorders by accident: here order is kept unless it is asked for.
//! Leaves out correlation between packets; a timeline of delays has that.

use skyhop_chance::Stream;
use skyhop_units::Span;

/// A random delay of each packet, beside propagation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Jitter {
    /// Uniform from nothing to this.
    Uniform {
        /// The most.
        most: Span,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean.
        mean: Span,
    },
}

impl Jitter {
    pub(crate) fn draw(self, chance: &mut Stream) -> Span {
        match self {
            Jitter::Uniform { most } => Span::from_secs_f64(most.as_secs_f64() * chance.uniform()),
            Jitter::Exponential { mean } => {
                Span::from_secs_f64(-mean.as_secs_f64() * (1.0 - chance.uniform()).ln())
            }
        }
    }
}

/// Packets that are held back while those behind them pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// Probability that a packet is held back.
    pub probability: f64,
    /// For how long.
    pub delay: Span,
}
