//! Random early detection: packets are dropped or marked before the queue is full, with a probability given by its average length.
//!
//! Follows Floyd and Jacobson 1993 and the parameters of RED in ns-2's manual; `wait` is from Floyd 1997, `gentle` from 2000.
//! Differs: thresholds in bytes make it measure in bytes; the packet on the transmitter counts for the limit but not in the
//! average, as in ns-2.
//! Leaves out adaptive RED.

use super::{Fifo, Limit, Next, Waiting};
use skyhop_chance::Stream;
use skyhop_units::{Amount, Bytes, Rate, Span, Time};

/// Parameters of RED.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Average length below which no packet is dropped; if it and `max` are in bytes, lengths are measured in bytes.
    pub min: Amount,
    /// Average length at which the probability of a drop is `max_p`.
    pub max: Amount,
    /// Weight of a new sample in the average, w_q.
    pub weight: f64,
    /// Probability of a drop at `max`.
    pub max_p: f64,
    /// True if the probability rises from `max_p` at `max` to 1 at twice `max`, and does not jump.
    pub gentle: bool,
    /// True to spread drops: after one, as many packets pass as would make the next certain before it may come.
    pub wait: bool,
    /// True to mark ECN-capable packets below `max` in place of dropping them.
    pub ecn: bool,
    /// Typical packet size: the unit in which idle time ages the average and in which byte counts scale the probability.
    pub mean_packet: Bytes,
}

pub(crate) struct Red<T> {
    config: RedConfig,
    pub fifo: Fifo<T>,
    chance: Stream,
    average: f64,
    /// Packets and bytes since the last drop or mark.
    since_drop: (f64, f64),
    /// True if the average was above `min` at the last packet.
    above: bool,
    /// Start of the current idle period; `None` while busy.
    idle_since: Option<Time>,
    mean_time: Span,
}

impl<T: Copy> Red<T> {
    pub fn new(config: RedConfig, rate: Rate, chance: Stream) -> Self {
        Red {
            config,
            fifo: Fifo::default(),
            chance,
            average: 0.0,
            since_drop: (0.0, 0.0),
            above: false,
            idle_since: Some(Time::ZERO),
            mean_time: rate.serialisation(config.mean_packet),
        }
    }

    /// Queues a packet, marked if need be. Returns false if it is dropped: the queue is full, or the verdict is a drop.
    pub fn offer(&mut self, mut packet: Waiting<T>, sending: Option<u32>) -> bool {
        let waits = match self.config.min {
            Amount::Packets(_) => self.fifo.len() as f64,
            Amount::Bytes(_) => self.fifo.bytes as f64,
        };
        self.update(packet.since, waits);
        let full = !self.config.limit.admits(self.fifo.len() as u64, self.fifo.bytes, packet.size, sending);
        let verdict = self.verdict(&packet);
        if full || verdict != Verdict::Pass {
            self.since_drop = (0.0, 0.0);
        }
        if full || verdict == Verdict::Forced {
            return false;
        }
        if verdict == Verdict::Early {
            if !(self.config.ecn && packet.label.ecn) {
                return false;
            }
            packet.marked = true;
        }
        self.fifo.push(packet);
        true
    }

    /// Updates the average at an arrival; idle time counts as as many empty samples as packets could have been sent in it.
    fn update(&mut self, now: Time, waits: f64) {
        if let Some(since) = self.idle_since.take() {
            let passed = now.since(since).as_nanos() / self.mean_time.as_nanos().max(1);
            self.average *= (1.0 - self.config.weight).powi(i32::try_from(passed).unwrap_or(i32::MAX));
        }
        self.average += self.config.weight * (waits - self.average);
    }

    fn verdict(&mut self, packet: &Waiting<T>) -> Verdict {
        let RedConfig { gentle, max_p, wait, .. } = self.config;
        let [min, max] = [self.config.min, self.config.max].map(value);
        self.since_drop.0 += 1.0;
        self.since_drop.1 += packet.size as f64;
        if self.average < min || self.fifo.len() <= 1 {
            self.above = false;
            return Verdict::Pass;
        }
        if self.average >= if gentle { 2.0 * max } else { max } {
            return Verdict::Forced;
        }
        if !std::mem::replace(&mut self.above, true) {
            // The first packet above the threshold begins the count.
            self.since_drop = (1.0, packet.size as f64);
            return Verdict::Pass;
        }
        let p = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else {
            max_p + (1.0 - max_p) * (self.average - max) / max
        };
        let mean = self.config.mean_packet.get() as f64;
        let counts_bytes = matches!(self.config.min, Amount::Bytes(_));
        let passed = if counts_bytes { self.since_drop.1 / mean } else { self.since_drop.0 } * p;
        let spread = match wait {
            true if passed < 1.0 => 0.0,
            true if passed < 2.0 => p / (2.0 - passed),
            false if passed < 1.0 => p / (1.0 - passed),
            _ => 1.0,
        };
        let scale = if counts_bytes { packet.size as f64 / mean } else { 1.0 };
        if self.chance.happens((spread * scale).min(1.0)) { Verdict::Early } else { Verdict::Pass }
    }

    pub fn pop(&mut self, now: Time) -> Option<Next<T>> {
        let next = self.fifo.pop();
        if next.is_none() {
            self.idle_since.get_or_insert(now);
        }
        next.map(Next::from)
    }
}

fn value(amount: Amount) -> f64 {
    match amount {
        Amount::Packets(n) => n as f64,
        Amount::Bytes(n) => n.get() as f64,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Pass,
    Early,
    Forced,
}
