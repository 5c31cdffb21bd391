//! STP: the satellite transport protocol and its parameters.
//!
//! Follows HT chapter 5 and docs/stp.md, whose names and defaults these are.
//! Differs: what is left out depends on `format`: the papers' protocol, or what docs/stp.md adds to it.
//! Leaves out keys and encryption, which a simulated packet does not need.

use super::Ip;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_transport::stp::{Class, Congestion};
use skyhop_units::{Amount, Bytes, Rate, Span};

/// STP's parameters. With `format = "plain"` it is the papers' protocol: packets of 1000 bytes straight over IP, TCP's window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stp {
    /// What packets look like; what other keys are when they are left out depends on it.
    pub format: StpFormat,
    /// The protocol that carries the packets: udp (28 bytes of headers, 48 with IPv6) or ip (20, 40). udp if left out; ip if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<StpOver>,
    /// Largest packet with STP's header and without what carries it. 1440 B if left out; 980 B if plain, with IP's header 1000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// What the receiver holds at most, in order and behind gaps: bytes or packets.
    pub window: Amount,
    /// How the sender finds its rate. delay if left out; window if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// What may leave before the first answer: packets or bytes. 10 packets if left out; 1 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Amount>,
    /// Packets that may leave before the peer has said what it takes.
    pub initial_credit: u32,
    /// Where slow start ends at first, for congestion "window"; at the first loss if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// The least that the network allows, IP's headers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// The most that the network allows, IP's headers and retransmissions included. Congestion "rate" sends at it whatever happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// Part of the RTT over which a window's packets are spread.
    pub spread: f64,
    /// Step of the timer that releases packets; each at its own time if 0.
    pub granularity: Span,
    /// POLLs per RTT when the window is large.
    pub polls_per_rtt: u32,
    /// Window in packets below which the last packet of each burst carries a POLL, and no timer sends any.
    pub poll_threshold: u32,
    /// POLLs of the timer are no closer than this. 10 ms if left out; 0 ms if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_min: Option<Span>,
    /// Packets behind a gap, the one that shows it included, before a USTAT reports it.
    pub ustat_threshold: u32,
    /// How long a USTAT waits for more gaps. 20 ms if left out; 0 ms if plain, where a USTAT has one gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ustat_delay: Option<Span>,
    /// How long a STAT waits for packets that its POLL has overtaken. 2 ms if left out; 0 ms if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_delay: Option<Span>,
    /// Copies of what is resent when nothing new waits or that was lost before, at most. 2 if left out; 0 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_copies: Option<u32>,
    /// Packets with which a BGN goes out at first. 3 if left out; 1 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin_copies: Option<u32>,
    /// For congestion "delay": RTTs above the smallest by this much mean a queue.
    pub queue_target: Span,
    /// Timeout of BGN before the first RTT sample.
    pub rto_initial: Span,
    /// Smallest timeout of BGN, END and POLLs without answer.
    pub rto_min: Span,
    /// Largest timeout.
    pub rto_max: Span,
    /// Without an answer for so long the connection is given up.
    pub silence: Span,
    /// How often an idle connection polls; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<Span>,
    /// How long a closed connection still answers.
    pub linger: Span,
    /// What an earlier connection over the same path has found, to begin from (RFC 9959).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<StpSaved>,
    /// The association whose streams this flow's connections are: flows between the same two ends that name the same one share its congestion control, its pace and its POLLs, and have the same of every other key here but `priority` and `weight`. Connections by themselves if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub association: Option<String>,
    /// Which of an association's streams go first: 0 to 7, 0 before all others. 3 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub priority: Option<u8>,
    /// Share of a stream among those of its priority: 1 to 255. 16 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub weight: Option<u8>,
}

impl Default for Stp {
    fn default() -> Self {
        Stp {
            format: StpFormat::Full,
            over: None,
            packet_size: None,
            window: Amount::Bytes(Bytes::new(64 << 20)),
            congestion: None,
            initial_window: None,
            initial_credit: 64,
            initial_ssthresh: None,
            min_rate: None,
            max_rate: None,
            spread: 1.0,
            granularity: Span::ZERO,
            polls_per_rtt: 3,
            poll_threshold: 10,
            poll_interval_min: None,
            ustat_threshold: 3,
            ustat_delay: None,
            reordering_delay: None,
            tail_copies: None,
            begin_copies: None,
            queue_target: Span::from_millis(10),
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(60),
            silence: Span::from_secs(120),
            keep_alive: None,
            linger: Span::from_secs(30),
            saved: None,
            association: None,
            priority: None,
            weight: None,
        }
    }
}

/// What STP's packets look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StpFormat {
    /// Lists of gaps in a short form, several gaps to a USTAT, the receiver's clock in STATs.
    #[default]
    Full,
    /// The papers': whole numbers in lists, one gap to a USTAT.
    Plain,
}

/// What carries STP's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StpOver {
    /// UDP.
    Udp,
    /// IP, with protocol number 253 (RFC 3692).
    Ip,
}

/// What an earlier connection has found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StpSaved {
    /// Its smallest RTT.
    pub rtt: Span,
    /// The rate that it reached, IP's headers included.
    pub rate: Rate,
}

/// Bytes of STP's header.
pub const STP_HEADER: u64 = 12;

impl Stp {
    /// Whether it is the papers' protocol.
    pub fn plain(&self) -> bool {
        self.format == StpFormat::Plain
    }

    /// What carries the packets.
    pub fn over(&self) -> StpOver {
        self.over.unwrap_or(if self.plain() { StpOver::Ip } else { StpOver::Udp })
    }

    /// Bytes of the headers beneath STP's.
    pub fn headers_beneath(&self, ip: Ip) -> u64 {
        match self.over() {
            StpOver::Udp => ip.header_len() + 8,
            StpOver::Ip => ip.header_len(),
        }
    }

    /// The largest packet, STP's header included.
    pub fn packet_size(&self) -> Bytes {
        self.packet_size.unwrap_or(Bytes::new(if self.plain() { 980 } else { 1440 }))
    }

    /// The most data of a packet, bytes.
    pub fn max_payload(&self) -> u64 {
        self.packet_size().get().saturating_sub(STP_HEADER)
    }

    /// The class of its streams, if they are those of an association.
    pub fn class(&self) -> Class {
        let usual = Class::default();
        Class {
            priority: self.priority.unwrap_or(usual.priority),
            weight: self.weight.unwrap_or(usual.weight),
        }
    }

    /// The same without what streams of one association may differ in.
    pub fn shared(&self) -> Self {
        Self { priority: None, weight: None, ..self.clone() }
    }

    /// How the sender finds its rate.
    pub fn congestion(&self) -> Congestion {
        self.congestion.unwrap_or(if self.plain() { Congestion::Window } else { Congestion::Delay })
    }
}
