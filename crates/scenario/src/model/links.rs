//! Links on the ground and in free space: rates, queues, losses.
//!
//! Follows the terms of ns-2's manual and of the RFCs for queues.
//! Differs: one key is a value for both directions; `reverse` has the differences of the way back.
//! Leaves out coding.

use super::uplinks::OnDemand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Bytes, Depth, Rate, Span, Time};

/// A link with two directions. Forward is the direction in which the first path crosses it, or from the first to the second of `between`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes at its ends; taken from the paths if left out. In the name of many links, such as "lan-*", and in its ends the
    /// star stands for the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// Number of links, in whose names the star is 1, 2, etc.; if left out there is one for each node that matches an end of `between`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// Queue in front of the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// Loss model of the link.
    #[serde(default)]
    pub loss: Loss,
    /// Changes by the clock, interval by interval: rates, losses, delays, outages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Interval>,
    /// Name of a trace file, relative to the scenario's folder: a table of changes by the clock, with columns t_s and any of
    /// rate_bps, delay_s, loss, bit_error_rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Time after which the schedule or trace repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// Random delay of each packet in addition to propagation; packets keep their order unless `reorders` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Reordering: packets that are held back while others pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Duplication: packets that arrive twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplication: Option<Duplication>,
    /// Corruption: packets that arrive with a flipped bit, which checksums detect. They are lost, and also counted as corrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// True to send TCP/IPv4 headers as differences from the packet before, 3 to 10 bytes in place of 40 (RFC 1144); after a loss
    /// on the link a connection's headers cannot be restored until one is sent uncompressed.
    #[serde(default)]
    pub header_compression: bool,
    /// True if the far end applies a header's differences a second time if the checksum fails, as if the lost packet before it had had the
    /// same (the twice algorithm, RFC 2507 §10.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub header_twice: bool,
    /// True if the far end requests an uncompressed header over the reverse direction when it cannot restore one (RFC 2507 §10.2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub header_requests: bool,
    /// Bytes for which each acknowledgment stands behind the link: if arriving ones cover more, the missing ones are generated there,
    /// evenly spaced (ACK reconstruction, RFC 3449 §5.3.3), in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_reconstruction: Option<Bytes>,
    /// Form in which packets cross the link, which decides the bytes that each takes.
    #[serde(default, skip_serializing_if = "Framing::is_default")]
    pub framing: Framing,
    /// Uplink in whose slots the forward direction sends, and the capacity that it may have there, at most `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<OnDemand>,
    /// MTU: the largest packet that the link carries, IP header included; without limit if left out. Larger ones are dropped, and
    /// the sender is informed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// True if the sender is not informed of packets larger than `mtu` (an ICMP black hole).
    #[serde(default)]
    pub mtu_black_hole: bool,
    /// Differences of the reverse direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

impl Link {
    /// Propagation delays, forward and reverse.
    pub fn delays(&self) -> [Span; 2] {
        let back = self.reverse.as_ref().and_then(|reverse| reverse.delay);
        [self.delay, back.unwrap_or(self.delay)]
    }
}

/// Form in which packets cross a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// As they are: a packet takes the bytes that it has.
    #[default]
    Ip,
    /// In cells of 53 bytes by AAL5, with LLC/SNAP and the trailer, 8 bytes each (RFC 2684, ITU-T I.363.5).
    Aal5,
}

impl Framing {
    fn is_default(&self) -> bool {
        *self == Framing::default()
    }
}

/// The reverse direction of a link; keys that are left out are as in the forward direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Queue in front of the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Loss model of the direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Changes by the clock; none if the list is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<Interval>>,
    /// Name of a trace file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Random delay of each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Reordering: packets that are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Duplication: packets that arrive twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplication: Option<Duplication>,
    /// Corruption: packets that arrive with a flipped bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// MTU of the direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

/// An interval of a link's schedule; keys that are left out are as outside of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval.
    pub to: Time,
    /// Rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Loss model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Outage of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
}

/// The effect of an outage on packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outage {
    /// The transmitter is not aware of it: everything that it sends is lost.
    Lose,
    /// The transmitter is aware and stops; packets wait.
    Wait,
}

/// A random delay; negative values count as zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// Uniform from 0 to `most`.
    Uniform {
        /// Largest delay.
        most: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean delay.
        mean: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// Normally distributed.
    Normal {
        /// Mean delay, before negative values count as zero.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// Pareto-distributed with shape 3.
    Pareto {
        /// Mean delay, before negative values count as zero.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// A quarter normal and three quarters that Pareto distribution, as in NIST Net.
    ParetoNormal {
        /// Mean delay, before negative values count as zero.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reorders: bool,
    },
    /// From a table in the form of NIST Net and netem: equally likely integers, of which 8192 is one standard deviation.
    Table {
        /// Name of the file with the table, relative to the scenario's folder.
        file: String,
        /// Mean delay, before negative values count as zero.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
        /// Correlation between the delays of successive packets, between -1 and 1.
        #[serde(default, skip_serializing_if = "is_none")]
        correlation: f64,
        /// True if packets may overtake each other.
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

    /// The correlation, and true if packets may overtake each other.
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
    /// Time that the packet is held back.
    pub delay: Span,
}

/// Packets that arrive twice (RFC 5560).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplication {
    /// Probability that a packet which arrives has a copy, from 0 to 1.
    pub probability: f64,
    /// Time between the packet and its copy.
    #[serde(default)]
    pub delay: Span,
}

/// Packets that arrive with a flipped bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// Probability that a packet has a flipped bit, from 0 to 1.
    pub probability: f64,
}

/// A queue discipline and its limit. The limit includes the packet on the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail {
        /// Capacity, including the packet on the transmitter: packets, bytes with headers, or a time at the link's rate (at least
        /// 10 packets of 1500 B).
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Random early detection (Floyd and Jacobson 1993): packets are dropped or marked by the average queue length, with the
    /// parameters of ns-2.
    Red {
        /// Capacity, including the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Average length below which no packet is dropped: packets or bytes, without the packet on the transmitter.
        min: Amount,
        /// Average length at which the probability of a drop is `max_p`, in the unit of `min`.
        max: Amount,
        /// Weight of a new sample in the average, w_q.
        #[serde(default = "default_red_weight")]
        weight: f64,
        /// Probability of a drop at `max`.
        #[serde(default = "default_red_max_p")]
        max_p: f64,
        /// True if the probability rises from `max_p` at `max` to 1 at twice `max`, and does not jump.
        #[serde(default)]
        gentle: bool,
        /// True to spread drops.
        #[serde(default = "yes")]
        wait: bool,
        /// True to mark packets of flows with `ecn`, in place of dropping them.
        #[serde(default)]
        ecn: bool,
        /// Typical packet size, by which idle time is counted.
        #[serde(default = "default_red_mean_packet")]
        mean_packet: Bytes,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Derivative random drop, as in NIST Net: the probability of a drop rises linearly with the present queue length.
    Drd {
        /// Capacity, including the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Length up to which no packet is dropped: packets or bytes, without the packet on the transmitter.
        min: Amount,
        /// Length from which the probability is `max_p`, in the unit of `min`.
        max: Amount,
        /// Largest probability of a drop.
        #[serde(default = "default_drd_max_p")]
        max_p: f64,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Controlled delay (RFC 8289): packets are dropped or marked at the head when the queueing delay has exceeded `target` for an
    /// `interval`.
    Codel {
        /// Capacity, including the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Acceptable queueing delay.
        #[serde(default = "default_target")]
        target: Span,
        /// Time for which the delay may exceed the target: about the RTT of the flows.
        #[serde(default = "default_interval")]
        interval: Span,
        /// True to mark packets of flows with `ecn`, in place of dropping them.
        #[serde(default)]
        ecn: bool,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Flow queues with controlled delay (RFC 8290).
    FqCodel {
        /// Capacity of all queues together, including the packet on the transmitter.
        #[serde(default = "default_fq_limit")]
        limit: Depth,
        /// Acceptable queueing delay.
        #[serde(default = "default_target")]
        target: Span,
        /// Time for which the delay may exceed the target.
        #[serde(default = "default_interval")]
        interval: Span,
        /// True to mark packets of flows with `ecn`, in place of dropping them.
        #[serde(default = "yes")]
        ecn: bool,
        /// Bytes that a flow may send in one round.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
        /// Number of queues; flows with the same hash share one.
        #[serde(default = "default_fq_queues")]
        #[schemars(range(min = 1, max = 65536))]
        queues: u32,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Deficit round robin (Shreedhar and Varghese 1995): flows take turns by bytes; packets are dropped from the longest queue.
    Drr {
        /// Capacity of all queues together, including the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Bytes that a flow may send in one round.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// Strict priority: band 0 first, then band 1; the band of a flow is its `priority`.
    Priority {
        /// Capacity of each band, including the packet on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Number of bands; packets of a higher band number wait in the last.
        #[serde(default = "default_bands")]
        #[schemars(range(min = 1, max = 255))]
        bands: u8,
        /// True if a later pure acknowledgment replaces a waiting one of its connection (RFC 3449).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ack_filter: bool,
    },
    /// The buffer of an ATM switch for UBR and UBR+ (Kota et al. 1999): packets are trains of cells, each flow is a virtual channel.
    Ubr {
        /// Capacity in cells, including those on the transmitter.
        #[serde(default = "default_queue_limit")]
        limit: Depth,
        /// Rule by which cells are dropped.
        #[serde(default)]
        policy: UbrPolicy,
        /// R: share of the capacity above which whole packets are dropped.
        #[serde(default = "default_ubr_share")]
        threshold: f64,
        /// Z: factor of a flow's fair share, above which its packets are dropped.
        #[serde(default = "default_ubr_share")]
        scale: f64,
        /// Order in which cells leave.
        #[serde(default, skip_serializing_if = "UbrService::is_default")]
        service: UbrService,
        /// Way in which cells are simulated; those that wait by channel leave one by one in either case.
        #[serde(default, skip_serializing_if = "UbrCells::is_default")]
        cells: UbrCells,
        /// Rate of the input ports, at which the cells of a packet come, so that those of several packets mix; needs `cells` of
        /// "each" or a `service` by channels. Without it they meet the buffer together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port_rate: Option<Rate>,
        /// Rate that flows have at least beside those of `priority` 0, which go first otherwise (Goyal et al. 1997); without it
        /// priorities make no difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guaranteed_rate: Option<Rate>,
    },
}

/// Order in which cells leave an ATM switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UbrService {
    /// First come, first served.
    #[default]
    Fifo,
    /// A queue for each flow, and a cell of each in turn.
    Channels,
}

impl UbrService {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Way in which cells are simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UbrCells {
    /// The cells of a packet as one train.
    #[default]
    Trains,
    /// Each by itself.
    Each,
}

impl UbrCells {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Rule by which an ATM switch drops cells. R is `threshold`, Z is `scale`, K the capacity, X its cells, X_i those of the packet's
/// flow, N_a the flows with cells in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UbrPolicy {
    /// Each cell that finds the buffer full is dropped (plain UBR); a packet without its last cell spoils the next of its flow.
    TailDrop,
    /// After a packet's first dropped cell all others are dropped, except the last (Romanow and Floyd 1995).
    PartialPacketDiscard,
    /// The whole packet is dropped if X > R K when its first cell arrives; else as partial-packet-discard (Romanow and Floyd 1995).
    #[default]
    EarlyPacketDiscard,
    /// The whole packet is dropped if X > R K and X_i > Z X / N_a; else as partial-packet-discard (Goyal et al. 1998).
    SelectiveDrop,
    /// The whole packet is dropped if X > R K and X_i N_a / X > Z (K - R K) / (X - R K); else as partial-packet-discard (Heinanen and
    /// Kilkki 1998).
    FairBufferAllocation,
}

impl Queue {
    /// Capacity of the queue.
    pub fn limit(&self) -> Depth {
        match self {
            Queue::DropTail { limit, .. }
            | Queue::Red { limit, .. }
            | Queue::Drd { limit, .. }
            | Queue::Codel { limit, .. }
            | Queue::FqCodel { limit, .. }
            | Queue::Drr { limit, .. }
            | Queue::Priority { limit, .. }
            | Queue::Ubr { limit, .. } => *limit,
        }
    }

    /// Returns true if a later acknowledgment replaces an earlier one.
    pub fn ack_filter(&self) -> bool {
        match self {
            Queue::DropTail { ack_filter, .. }
            | Queue::Red { ack_filter, .. }
            | Queue::Drd { ack_filter, .. }
            | Queue::Codel { ack_filter, .. }
            | Queue::FqCodel { ack_filter, .. }
            | Queue::Drr { ack_filter, .. }
            | Queue::Priority { ack_filter, .. } => *ack_filter,
            Queue::Ubr { .. } => false,
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
fn default_ubr_share() -> f64 {
    0.8
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
/// The round-trip time for which a router's buffer is usually sized (Villamizar and Song 1994; Appenzeller et al. 2004).
fn default_queue_limit() -> Depth {
    Depth::Time(Span::from_millis(250))
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail { limit: default_queue_limit(), ack_filter: false }
    }
}

/// Loss of packets up to a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeLoss {
    /// Largest packet size, headers included.
    pub up_to: Bytes,
    /// Probability that a packet is lost, from 0 to 1.
    pub probability: f64,
}

/// The loss model of a link. A lost packet has used the link's time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// No losses.
    #[default]
    None,
    /// Independent bit errors; a packet with one is lost: 1 - (1 - bit_error_rate)^bits.
    BitErrors {
        /// Probability that a bit is received wrongly, from 0 to 1.
        bit_error_rate: f64,
    },
    /// Independent packet losses of equal probability.
    Packets {
        /// Probability that a packet is lost, from 0 to 1.
        probability: f64,
    },
    /// Independent packet losses, by the size of the packet.
    BySize {
        /// Upper bounds of size, with headers, ascending, each with the probability of loss up to it; larger packets have the last.
        sizes: Vec<SizeLoss>,
    },
    /// Losses in bursts by the clock (Gilbert and Elliott): a good and a bad state, each for exponentially distributed times.
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
    /// Losses in bursts by packets (Gilbert and Elliott): the state may change before each packet.
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
    /// Losses of given packets, counted from 1 as this direction sends them; in a schedule's interval, as sent in it.
    List {
        /// Numbers of the lost packets, ascending.
        packets: Vec<u64>,
    },
}
