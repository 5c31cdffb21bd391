//! Packets that come later than the distance says: jitter, and reordering.
//!
//! Follows netem and NIST Net: a random delay for every packet, from a distribution by its mean and deviation, each correlated with the one
//! before; and a share of packets that are held back while others pass.
//! Differs: order is kept unless it is asked for. A correlation leaves the distribution as it is, where theirs, of uniform numbers,
//! narrows it; a packet never comes earlier than the distance says.
//! Leaves out delays that follow a clock, which [`crate::Timeline`] holds.

use crate::distribution::Shape;
use skyhop_chance::Stream;
use skyhop_units::Span;

/// A random delay of each packet, beside propagation.
#[derive(Debug, Clone, PartialEq)]
pub struct Jitter {
    /// Its distribution.
    pub shape: Shape,
    /// Correlation of a packet's delay with that of the packet before: 0 is none, 1 and -1 are not reached.
    pub correlation: f64,
    /// Whether packets pass each other by it.
    pub reorders: bool,
}

impl Jitter {
    /// Delays that do not depend on each other, and keep order.
    pub fn new(shape: Shape) -> Self {
        Self { shape, correlation: 0.0, reorders: false }
    }
}

/// Delays as they are drawn.
pub(crate) struct Delays {
    jitter: Jitter,
    chance: Stream,
    /// Normally distributed, from packet to packet correlated: what distributions are worked out from.
    last: Option<[f64; 2]>,
}

impl Delays {
    pub fn new(jitter: Jitter, chance: Stream) -> Self {
        Self { jitter, chance, last: None }
    }

    pub fn reorders(&self) -> bool {
        self.jitter.reorders
    }

    /// The delay of the next packet.
    pub fn draw(&mut self) -> Span {
        let Jitter { shape, correlation, .. } = &self.jitter;
        let delay_s = if *correlation == 0.0 && !shape.is_normal() {
            shape.quantile(self.chance.uniform())
        } else {
            let rho = *correlation;
            let fresh = normal_pair(&mut self.chance);
            let next = match self.last {
                Some(last) => [0, 1].map(|i| rho * last[i] + (1.0 - rho * rho).sqrt() * fresh[i]),
                None => fresh,
            };
            self.last = Some(next);
            shape.of_normal(next)
        };
        Span::from_secs_f64(delay_s.max(0.0))
    }
}

/// Two independent normal numbers (Box and Muller 1958).
fn normal_pair(chance: &mut Stream) -> [f64; 2] {
    let radius = (-2.0 * (1.0 - chance.uniform()).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * chance.uniform()).sin_cos();
    [radius * cos, radius * sin]
}

/// Packets that are held back while those behind them pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// Probability that a packet is held back.
    pub probability: f64,
    /// For how long.
    pub delay: Span,
}
