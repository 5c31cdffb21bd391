//! STP: the satellite transport protocol and its parameters.
//!
//! Follows HT chapter 5 and docs/stp.md, whose names and defaults these are.
//! Differs: defaults depend on `format`: the papers' protocol, or docs/stp.md's extension of it.
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
    /// Packet format, on which the defaults of other keys depend.
    pub format: StpFormat,
    /// Protocol that carries the packets: udp (28 bytes of headers, 48 with IPv6), sealed-udp (56, 76) or ip (20, 40). udp if left out; ip
    /// if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<StpOver>,
    /// Largest packet with STP's header, without lower headers. 1440 B if left out, 1412 B if sealed; 980 B if plain, which is 1000 B with
    /// IP's header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Receive window, for data in order and after gaps: bytes or packets.
    pub window: Amount,
    /// Congestion control. delay if left out; window if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// True for data packets that queues may mark in place of dropping them. true if left out; false if plain, or with congestion
    /// "window", which do not obey marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Amount that may be sent before the first answer: packets or bytes. 10 packets if left out; 1 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Amount>,
    /// Number of packets that may be sent before the peer has announced its window.
    pub initial_credit: u32,
    /// Initial slow-start threshold, for congestion "window"; until the first loss if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// Lowest rate that the network allows, IP headers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Highest rate that the network allows, IP headers and retransmissions included. Congestion "rate" always sends at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// Part of the RTT over which the packets of a window are spread.
    pub spread: f64,
    /// Step of the timer that releases packets; each at its own time if 0.
    pub granularity: Span,
    /// Number of POLLs per RTT for a large window.
    pub polls_per_rtt: u32,
    /// Window, in packets, below which the last packet of each burst has a POLL, and the timer sends none.
    pub poll_threshold: u32,
    /// Smallest time between POLLs of the timer. 10 ms if left out; 0 ms if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_min: Option<Span>,
    /// Number of packets after a gap, including the one that reveals it, before a USTAT reports it.
    pub ustat_threshold: u32,
    /// Time that a USTAT waits for more gaps. 20 ms if left out; 0 ms if plain, where a USTAT has one gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ustat_delay: Option<Span>,
    /// Time that a STAT waits for packets that its POLL has overtaken. 2 ms if left out; 0 ms if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_delay: Option<Span>,
    /// Largest number of copies of a retransmission, if no new data wait or it was lost before. 2 if left out; 0 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_copies: Option<u32>,
    /// Number of packets in which the first BGN is sent. 3 if left out; 1 if plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin_copies: Option<u32>,
    /// Queueing delay, as RTT above the smallest, that counts as a queue; for congestion "delay".
    pub queue_target: Span,
    /// Timeout of BGN before the first RTT sample.
    pub rto_initial: Span,
    /// Smallest timeout of BGN, END and POLLs without answer.
    pub rto_min: Span,
    /// Largest timeout.
    pub rto_max: Span,
    /// Time without an answer after which the connection is given up.
    pub silence: Span,
    /// Interval between POLLs of an idle connection; none if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<Span>,
    /// Time for which a closed connection still answers.
    pub linger: Span,
    /// State of an earlier connection over the same path, to start from (RFC 9959).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<StpSaved>,
    /// Association whose streams are this flow's connections. Flows between the same two ends that name the same association share
    /// its congestion control, pace and POLLs, and must agree in every key here but `priority` and `weight`. Single connections if
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub association: Option<String>,
    /// Priority of the stream in an association: 0 to 7, 0 before all others. 3 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub priority: Option<u8>,
    /// Share of the stream among those of its priority: 1 to 255. 16 if left out.
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
            ecn: None,
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

/// The format of STP's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StpFormat {
    /// Gaps in lists of the short form, several in one USTAT, and the receiver's clock in STATs.
    #[default]
    Full,
    /// The papers' format: whole numbers in lists, one gap in a USTAT.
    Plain,
}

/// Bytes that a seal adds to a packet: 12 of header, 16 of tag.
const SEAL: u64 = 28;

/// The protocol that carries STP's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StpOver {
    /// UDP.
    Udp,
    /// UDP, each packet sealed as hosts with keys seal it: a header and a tag of 28 bytes together.
    SealedUdp,
    /// IP, with protocol number 253 (RFC 3692).
    Ip,
}

/// State of an earlier connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StpSaved {
    /// Its smallest RTT.
    pub rtt: Span,
    /// Its largest rate, IP headers included.
    pub rate: Rate,
}

/// Length of STP's header, bytes.
pub const STP_HEADER: u64 = 12;

impl Stp {
    /// Returns true for the papers' protocol.
    pub fn plain(&self) -> bool {
        self.format == StpFormat::Plain
    }

    /// The protocol that carries the packets.
    pub fn over(&self) -> StpOver {
        self.over.unwrap_or(if self.plain() { StpOver::Ip } else { StpOver::Udp })
    }

    /// Length of the headers below STP's, bytes.
    pub fn headers_beneath(&self, ip: Ip) -> u64 {
        match self.over() {
            StpOver::Udp => ip.header_len() + 8,
            StpOver::SealedUdp => ip.header_len() + 8 + SEAL,
            StpOver::Ip => ip.header_len(),
        }
    }

    /// Largest packet, with STP's header.
    pub fn packet_size(&self) -> Bytes {
        let usual = match self.over() {
            _ if self.plain() => 980,
            StpOver::SealedUdp => 1440 - SEAL,
            StpOver::Udp | StpOver::Ip => 1440,
        };
        self.packet_size.unwrap_or(Bytes::new(usual))
    }

    /// Largest payload of a packet, bytes.
    pub fn max_payload(&self) -> u64 {
        self.packet_size().get().saturating_sub(STP_HEADER)
    }

    /// The class of its streams, if it has an association.
    pub fn class(&self) -> Class {
        let usual = Class::default();
        Class {
            priority: self.priority.unwrap_or(usual.priority),
            weight: self.weight.unwrap_or(usual.weight),
        }
    }

    /// The same without the keys in which streams of one association may differ.
    pub fn shared(&self) -> Self {
        Self { priority: None, weight: None, ..self.clone() }
    }

    /// Returns true if data packets are ECN-capable.
    pub fn ecn(&self) -> bool {
        self.ecn.unwrap_or(self.may_use_ecn())
    }

    /// Returns true if the format has counts of marks, and congestion control obeys them.
    pub fn may_use_ecn(&self) -> bool {
        !self.plain() && self.congestion() != Congestion::Window
    }

    /// The congestion control.
    pub fn congestion(&self) -> Congestion {
        self.congestion.unwrap_or(if self.plain() { Congestion::Window } else { Congestion::Delay })
    }
}
