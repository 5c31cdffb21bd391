//! Derivative random drop: packets are dropped at random with a probability that depends on the current length of the queue.
//!
//! Follows NIST Net's DRD (Gaynor 1996): no drops below a minimum length, then a probability that rises linearly up to a maximum
//! length and stays there; NIST Net's largest probability is 0.95.
//! Differs: the packet on the transmitter does not count towards the two lengths, as with RED here.
//! Leaves out marks.

use super::{Fifo, Limit, Next, Waiting};
use skyhop_chance::Stream;
use skyhop_units::Amount;

/// Parameters of derivative random drop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrdConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Length up to which no packet is dropped.
    pub min: Amount,
    /// Length from which the probability is `max_p`, in the unit of `min`.
    pub max: Amount,
    /// Largest probability of a drop.
    pub max_p: f64,
}

impl DrdConfig {
    /// Probability of a drop while `packets` wait with `bytes`.
    fn probability(&self, packets: usize, bytes: u64) -> f64 {
        let length = match self.min {
            Amount::Packets(_) => packets as f64,
            Amount::Bytes(_) => bytes as f64,
        };
        let [min, max] = [self.min, self.max].map(|amount| match amount {
            Amount::Packets(n) => n as f64,
            Amount::Bytes(n) => n.get() as f64,
        });
        if length >= max { self.max_p } else { self.max_p * ((length - min) / (max - min)).max(0.0) }
    }
}

pub(crate) struct Drd<T> {
    config: DrdConfig,
    pub fifo: Fifo<T>,
    chance: Stream,
}

impl<T: Copy> Drd<T> {
    pub fn new(config: DrdConfig, chance: Stream) -> Self {
        Drd { config, fifo: Fifo::default(), chance }
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>) -> bool {
        let (packets, bytes) = (self.fifo.len(), self.fifo.bytes);
        let drops = self.chance.happens(self.config.probability(packets, bytes));
        let takes = !drops && self.config.limit.admits(packets as u64, bytes, packet.size, sending);
        if takes {
            self.fifo.push(packet);
        }
        takes
    }

    pub fn pop(&mut self) -> Option<Next<T>> {
        self.fifo.pop().map(Next::from)
    }
}
