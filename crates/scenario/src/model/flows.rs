//! Flows: who sends what to whom, and over which transport.
//!
//! Follows the names that the RFCs give to TCP's parameters.
//! Differs from a kernel's settings: nothing is tuned on the way, a run has what its scenario says.
//! Leaves out what an application computes; it offers bytes at times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Bytes, Span, Time};

/// What one pair of hosts sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What the results call it; "flow-1", "flow-2" in the file's order if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender: a terminal, or a node named by a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The links crossed in order, between the sender and the receiver: ["server", "satellite", "user"].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// The transport; a ping has none.
    #[serde(default)]
    pub transport: Transport,
    /// What the application offers.
    pub traffic: Traffic,
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// When the application stops offering; the end of the run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

/// The transport protocol and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp(Tcp),
}

impl Default for Transport {
    fn default() -> Self {
        Transport::Tcp(Tcp::default())
    }
}

/// TCP's parameters. The defaults suit one bulk flow over a 1.5 Mbit/s geostationary path of 600 ms (112.5 kB in flight), with room for its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Loss recovery and congestion avoidance.
    pub variant: Variant,
    /// Largest payload of a segment.
    pub mss: Bytes,
    /// Receive window: the buffer of each end. A faster path wants rate times RTT and its queue.
    pub window: Bytes,
    /// Congestion window after the handshake: segments or bytes.
    pub initial_window: Amount,
    /// First slow-start threshold; without limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// Duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// Send new data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// When recovery ends, reopen the window to ssthresh at once, and not to what is outstanding plus one segment (RFC 6582 step 3, option 2 and not 1). HT figure 4.16 shows what that does.
    pub burst_after_recovery: bool,
    /// The most new segments that one acknowledgment may release during fast recovery; without limit if left out (ns-2's NewReno takes 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_burst: Option<u32>,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// SACK blocks in an acknowledgment, 1 to 4 (3 with timestamps).
    pub sack_blocks: u8,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Timeout before the first RTT sample (RFC 6298).
    pub rto_initial: Span,
    /// Smallest timeout.
    pub rto_min: Span,
    /// Largest timeout.
    pub rto_max: Span,
    /// Step in which the sender's clock measures RTTs.
    pub rto_granularity: Span,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp {
            variant: Variant::default(),
            mss: Bytes::new(1460),
            window: Bytes::new(256_000),
            initial_window: Amount::Packets(2),
            initial_ssthresh: None,
            dupack_threshold: 3,
            limited_transmit: true,
            burst_after_recovery: false,
            recovery_burst: None,
            timestamps: false,
            sack_blocks: 3,
            delayed_ack: DelayedAck::default(),
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
        }
    }
}

/// A TCP by its loss recovery and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Fast retransmit and fast recovery that ends with the first new acknowledgment (RFC 2001).
    Reno,
    /// Recovery lasts until all that was outstanding is acknowledged; the timer restarts at the first partial acknowledgment only (RFC 6582, "impatient").
    Newreno,
    /// As `newreno`, but the timer restarts at each partial acknowledgment (HT 4.2.3).
    NewrenoSlowButSteady,
    /// Selective acknowledgments with NewReno's recovery: the seven rules of HK's appendix.
    #[default]
    SackNewreno,
}

/// When a receiver acknowledges data that arrived in order. Out-of-order data and gap fillers are acknowledged at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DelayedAck {
    /// Every segment at once.
    None,
    /// Every second segment, or a lone one when `timeout` has passed since it arrived.
    OneShot {
        /// How long a lone segment waits.
        #[serde(default = "default_delack")]
        timeout: Span,
    },
    /// Every second segment, or a lone one at the next beat of a clock that ticks every `period` (BSD).
    Heartbeat {
        /// The beat.
        #[serde(default = "default_delack")]
        period: Span,
    },
}

fn default_delack() -> Span {
    Span::from_millis(200)
}

impl Default for DelayedAck {
    fn default() -> Self {
        DelayedAck::OneShot { timeout: default_delack() }
    }
}

/// What an application offers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// A transfer of `size`, or without end.
    Bulk {
        /// How much; without end if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
    },
    /// Echo requests, answered by the receiver. The delays reported are one way, from sender to receiver; RTTs are reported beside them.
    Ping {
        /// From one request to the next.
        #[serde(default = "default_ping_interval")]
        interval: Span,
        /// Payload of a request.
        #[serde(default = "default_ping_size")]
        size: Bytes,
    },
}

fn default_ping_interval() -> Span {
    Span::from_secs(1)
}
fn default_ping_size() -> Bytes {
    Bytes::new(56)
}
