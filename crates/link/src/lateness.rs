//! Additional delay of packets: jitter and reordering.
//!
//! Follows netem and NIST Net: a random delay for each packet, from a distribution given by mean and deviation and correlated
//! with the delay of the packet before; and a share of packets that are held back while others pass.
//! Differs: order is kept unless reordering is requested. A correlation does not change the distribution, whereas theirs, of
//! uniform numbers, narrows it; a packet never arrives before its propagation delay.
//! Leaves out delays that change with time, which are in [`crate::Timeline`].

use crate::distribution::Shape;
use skyhop_chance::Stream;
use skyhop_units::Span;

/// A random delay of each packet in addition to propagation.
#[derive(Debug, Clone, PartialEq)]
pub struct Jitter {
    /// Distribution of the delay.
    pub shape: Shape,
    /// Correlation between the delays of successive packets, above -1 and below 1; 0 for none.
    pub correlation: f64,
    /// True if packets may overtake each other.
    pub reorders: bool,
}

impl Jitter {
    /// Independent delays that keep packets in order.
    pub fn new(shape: Shape) -> Self {
        Self { shape, correlation: 0.0, reorders: false }
    }
}

/// Generator of the delays of successive packets.
pub(crate) struct Delays {
    jitter: Jitter,
    chance: Stream,
    /// The correlated normal numbers of the last packet, from which delays are computed.
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

/// Two independent standard normal numbers (Box and Muller 1958).
fn normal_pair(chance: &mut Stream) -> [f64; 2] {
    let radius = (-2.0 * (1.0 - chance.uniform()).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * chance.uniform()).sin_cos();
    [radius * cos, radius * sin]
}

/// Parameters of reordering.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// Probability that a packet is held back.
    pub probability: f64,
    /// Time that the packet is held back.
    pub delay: Span,
}
