//! Links on the ground and in free space: rates, queues, losses.
//!
//! Follows the terms of ns-2's manual and of the RFCs for queues.
//! Differs: one key holds a value for both directions, `reverse` what is different on the way back.
//! Leaves out framing, coding and medium access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Bytes, Depth, Rate, Span, Time};

/// A link with two directions. Forward is the direction in which the first path crosses it, or from the first to the second of `between`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes at its ends; found from the paths if left out. In the name of many links, such as "lan-*", and in these the star stands for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// How many links, whose star is 1, 2 and so on; without it there is one for each node that an end of `between` fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// What waits for the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// What the link loses.
    #[serde(default)]
    pub loss: Loss,
    /// What changes by the clock, interval by interval: rates, losses, delays, outages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Interval>,
    /// A file with a table of what changes by the clock, beside the scenario: columns t_s and any of rate_bps, delay_s, loss, bit_error_rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// After this long, schedule or trace begin again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// A random delay of each packet beside propagation; order is kept unless it says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Packets that are held back while others pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Packets that arrive twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplication: Option<Duplication>,
    /// Packets that arrive with a bit that is another, which checksums notice: they are lost, and count as corrupted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// Headers of TCP go as differences from the packet before, 3 to 10 bytes instead of 40 (RFC 1144), those of IPv4; a packet lost on the link breaks its connection's headers until one goes whole.
    #[serde(default)]
    pub header_compression: bool,
    /// The largest packet that it carries, IP header included; without limit if left out. Larger ones are dropped before it, and the sender is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Nobody is told of packets that are larger than `mtu` (an ICMP black hole).
    #[serde(default)]
    pub mtu_black_hole: bool,
    /// What is different in the reverse direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

impl Link {
    /// Propagation delay, forward and reverse.
    pub fn delays(&self) -> [Span; 2] {
        let back = self.reverse.as_ref().and_then(|reverse| reverse.delay);
        [self.delay, back.unwrap_or(self.delay)]
    }
}

/// The reverse direction of a link: whatever is left out is as in the forward direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// What waits for the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// What the direction loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// What changes by the clock; an empty list is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<Interval>>,
    /// A file with a table of what changes by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Random delay of each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Packets that are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Packets that arrive twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplication: Option<Duplication>,
    /// Packets that arrive with a bit that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// The largest packet that the direction carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

/// An interval of a link's schedule, and what holds in it; whatever is left out is as always.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// When it begins.
    pub from: Time,
    /// When it is over.
    pub to: Time,
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// What is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The link is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
}

/// What an outage does to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outage {
    /// The transmitter does not know: all that it sends is lost.
    Lose,
    /// The transmitter knows and stops; packets wait.
    Wait,
}

/// A random delay; what comes to less than nothing is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// Uniform from nothing to `most`.
    Uniform {
        /// The most.
        most: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean.
        mean: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// Normally distributed.
    Normal {
        /// The mean, of what comes to less than nothing too.
        mean: Span,
        /// The standard deviation.
        deviation: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// By Pareto's distribution of shape 3.
    Pareto {
        /// The mean, of what comes to less than nothing too.
        mean: Span,
        /// The standard deviation.
        deviation: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// A quarter normal and three quarters of that Pareto, as in NIST Net.
    ParetoNormal {
        /// The mean, of what comes to less than nothing too.
        mean: Span,
        /// The standard deviation.
        deviation: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// As a table says, of NIST Net's and netem's form: whole numbers of which 8192 are a deviation, each as likely as the others.
    Table {
        /// The file with the table, beside the scenario.
        file: String,
        /// The mean, of what comes to less than nothing too.
        mean: Span,
        /// The standard deviation.
        deviation: Span,
        /// Correlation of a packet's delay with that of the packet before, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// Packets pass each other by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
}

impl Jitter {
    /// The file of a table.
    pub fn file(&self) -> Option<&str> {
        match self {
            Jitter::Table { file, .. } => Some(file),
            _ => None,
        }
    }

    /// Correlation, and whether packets pass each other.
    pub fn sequence(&self) -> (f64, bool) {
        match self {
            Jitter::Uniform { correlation, reorders, .. }
            | Jitter::Exponential { correlation, reorders, .. }
            | Jitter::Normal { correlation, reorders, .. }
            | Jitter::Pareto { correlation, reorders, .. }
            | Jitter::ParetoNormal { correlation, reorders, .. }
            | Jitter::Table { correlation, reorders, .. } => (*correlation, *reorders),
        }
    }
}

fn is_none(correlation: &f64) -> bool {
    *correlation == 0.0
}

/// Packets that are held back while others pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet is held back, from 0 to 1.
    pub probability: f64,
    /// For how long.
    pub delay: Span,
}

/// Packets that arrive twice (RFC 5560).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplication {
    /// Probability that a packet which arrives has a copy, from 0 to 1.
    pub probability: f64,
    /// How much later the copy arrives.
    #[serde(default)]
    pub delay: Span,
}

/// Packets that arrive with a bit that is another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// Probability, from 0 to 1.
    pub probability: f64,
}

/// A queue discipline and its limit. The limit counts what waits and what is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail {
        /// The most that may wait, counting the packet on the transmitter: packets, bytes with headers, or a time at the link's rate (10 packets of 1500 B at least).
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Random early detection (Floyd and Jacobson 1993): dropped or marked by the average of what waits, with the parameters of ns-2.
    Red {
        /// The most that may wait, counting the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Average below which all packets pass: packets or bytes, not counting the packet on the transmitter.
        min: Amount,
        /// Average at which the probability is `max_p`, in the unit of `min`.
        max: Amount,
        /// Weight of a new length in the average: w_q.
        #[serde(default = "default_red_weight")]
        weight: f64,
        /// Probability of a drop at `max`.
        #[serde(default = "default_red_max_p")]
        max_p: f64,
        /// Beyond `max` the probability rises to 1 at twice of it, and not at once.
        #[serde(default)]
        gentle: bool,
        /// Keep drops apart.
        #[serde(default = "yes")]
        wait: bool,
        /// Mark packets of flows with `ecn`, and do not drop them.
        #[serde(default)]
        ecn: bool,
        /// Size of a typical packet, by which idle time is counted.
        #[serde(default = "default_red_mean_packet")]
        mean_packet: Bytes,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Derivative random drop, as in NIST Net: by a probability that rises in a line with what waits now.
    Drd {
        /// The most that may wait, counting the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// What may wait without a drop: packets or bytes, not counting the packet on the transmitter.
        min: Amount,
        /// From which on the probability is `max_p`, in the unit of `min`.
        max: Amount,
        /// The largest probability of a drop.
        #[serde(default = "default_drd_max_p")]
        max_p: f64,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Controlled delay (RFC 8289): dropped or marked at the head after waiting longer than `target` for an `interval`.
    Codel {
        /// The most that may wait, counting the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Time in the queue that is fine.
        #[serde(default = "default_target")]
        target: Span,
        /// How long it may be more: about the RTT of the flows.
        #[serde(default = "default_interval")]
        interval: Span,
        /// Mark packets of flows with `ecn`, and do not drop them.
        #[serde(default)]
        ecn: bool,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Flow queues with controlled delay (RFC 8290).
    FqCodel {
        /// The most that may wait in all queues, counting the packet on the transmitter.
        #[serde(default = "default_fq_limit")]
        limit: Depth,
        /// Time in the queue that is fine.
        #[serde(default = "default_target")]
        target: Span,
        /// How long it may be more.
        #[serde(default = "default_interval")]
        interval: Span,
        /// Mark packets of flows with `ecn`, and do not drop them.
        #[serde(default = "yes")]
        ecn: bool,
        /// Bytes that a flow may send in a round.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
        /// Number of queues; flows whose hashes meet share one.
        #[serde(default = "default_fq_queues")]
        #[schemars(range(min = 1, max = 65536))]
        queues: u32,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Deficit round robin (Shreedhar and Varghese 1995): flows take turns by bytes; the longest queue makes room.
    Drr {
        /// The most that may wait in all queues, counting the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Bytes that a flow may send in a round.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Strict priority: band 0 first, then band 1; a flow's band is its `priority`.
    Priority {
        /// The most that may wait in each band, counting the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Number of bands; later ones are in the last.
        #[serde(default = "default_bands")]
        #[schemars(range(min = 1, max = 255))]
        bands: u8,
        /// A later pure acknowledgment takes the place of an older one of its connection that waits (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
}

impl Queue {
    /// The most that may wait.
    pub fn limit(&self) -> Depth {
        match self {
            Queue::DropTail { limit, .. }
            | Queue::Red { limit, .. }
            | Queue::Drd { limit, .. }
            | Queue::Codel { limit, .. }
            | Queue::FqCodel { limit, .. }
            | Queue::Drr { limit, .. }
            | Queue::Priority { limit, .. } => *limit,
        }
    }

    /// Whether a later acknowledgment takes the place of an older one.
    pub fn ack_filter(&self) -> bool {
        match self {
            Queue::DropTail { ack_filter, .. }
            | Queue::Red { ack_filter, .. }
            | Queue::Drd { ack_filter, .. }
            | Queue::Codel { ack_filter, .. }
            | Queue::FqCodel { ack_filter, .. }
            | Queue::Drr { ack_filter, .. }
            | Queue::Priority { ack_filter, .. } => *ack_filter,
        }
    }
}

fn certain() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}
fn default_red_weight() -> f64 {
    0.002
}
fn default_red_max_p() -> f64 {
    0.1
}
fn default_drd_max_p() -> f64 {
    0.95
}
fn default_red_mean_packet() -> Bytes {
    Bytes::new(500)
}
fn default_target() -> Span {
    Span::from_millis(5)
}
fn default_interval() -> Span {
    Span::from_millis(100)
}
fn default_fq_limit() -> Depth {
    Depth::packets(10_240)
}
fn default_quantum() -> Bytes {
    Bytes::new(1514)
}
fn default_fq_queues() -> u32 {
    1024
}
fn default_bands() -> u8 {
    3
}
/// The round trip that a router's buffer is usually made for (Villamizar and Song 1994; Appenzeller et al. 2004).
fn default_queue_limit() -> Depth {
    Depth::Time(Span::from_millis(250))
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail { limit: default_queue_limit(), ack_filter: false }
    }
}

/// What is lost of packets up to a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeLoss {
    /// The largest size, headers included.
    pub up_to: Bytes,
    /// Probability that a packet is lost, from 0 to 1.
    pub probability: f64,
}

/// How a link loses packets, after they have used its time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Independent bit errors; a packet with one is lost: 1 - (1 - bit_error_rate)^bits.
    BitErrors {
        /// Probability that a bit is wrong, from 0 to 1.
        bit_error_rate: f64,
    },
    /// Independent packet losses, whatever the size.
    Packets {
        /// Probability that a packet is lost, from 0 to 1.
        probability: f64,
    },
    /// Independent packet losses, by the size of the packet.
    BySize {
        /// Sizes with headers, each larger than the one before, and what is lost of packets up to it; larger ones than the last are lost as the last.
        sizes: Vec<SizeLoss>,
    },
    /// Losses in bursts by the clock (Gilbert and Elliott): a good state and a bad one, each for a time that is exponentially distributed.
    GilbertElliott {
        /// Mean time in the good state.
        good: Span,
        /// Mean time in the bad state.
        bad: Span,
        /// Probability that a packet is lost in the good state, from 0 to 1.
        #[serde(default)]
        loss_good: f64,
        /// Probability that a packet is lost in the bad state, from 0 to 1.
        #[serde(default = "certain")]
        loss_bad: f64,
    },
    /// Losses in bursts by packets (Gilbert and Elliott): before each packet the state may change.
    GilbertElliottPackets {
        /// Probability of going from good to bad, from 0 to 1.
        to_bad: f64,
        /// Probability of going from bad to good, from 0 to 1.
        to_good: f64,
        /// Probability that a packet is lost in the good state, from 0 to 1.
        #[serde(default)]
        loss_good: f64,
        /// Probability that a packet is lost in the bad state, from 0 to 1.
        #[serde(default = "certain")]
        loss_bad: f64,
    },
    /// Exactly these packets, counted from 1 as this direction sends them; a schedule's interval counts those sent in it.
    List {
        /// Numbers of the packets that are lost, each larger than the one before.
        packets: Vec<u64>,
    },
}
