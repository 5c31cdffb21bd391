//! TCP: its variants and their parameters.
//!
//! Follows the names that the RFCs give to TCP's parameters, and HT, TH and WP for what they varied.
//! Differs from a kernel's settings: nothing is tuned on the way, a run has what its scenario says.
//! Leaves out socket options that change no packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Amount, Bytes, Span};

/// TCP's parameters. The defaults suit one bulk flow over a 1.5 Mbit/s geostationary path of 600 ms (112.5 kB in flight), with room for its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Loss recovery and the law of the congestion window.
    pub variant: Variant,
    /// Another way of finding and repairing losses than the variant's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Largest payload of a segment.
    pub mss: Bytes,
    /// How the largest packet that the path carries is found, if links have an `mtu`.
    pub path_mtu: PathMtu,
    /// Receive window, the buffer of each end: bytes or segments. A faster path wants rate times RTT and its queue.
    pub window: Amount,
    /// Congestion window after the handshake: segments or bytes. "4380 B" is RFC 2414's with an mss of 1460.
    pub initial_window: Amount,
    /// First slow-start threshold; without limit if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// Duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// Raise the threshold when segments prove to be late and not lost, up to 300. Variants that know segments one by one (sack, sack1, fack) see lateness, the others need `dsack`.
    pub adaptive_reordering: bool,
    /// Send new data on the first duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// When recovery ends, reopen the window to ssthresh at once, and not to what is outstanding plus one segment (RFC 6582 step 3, option 2 and not 1). HT figure 4.16 shows what that does.
    pub burst_after_recovery: bool,
    /// The most new segments that one acknowledgment may release during fast recovery; without limit if left out (ns-2's NewReno takes 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_burst: Option<u32>,
    /// Growth in congestion avoidance, for variants that have Reno's.
    pub increase: Increase,
    /// Count bytes and not acknowledgments, at most this many segments for each: L of RFC 3465, 1 or 2. By acknowledgments if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counting: Option<u32>,
    /// Leave slow start when RTTs grow (HyStart++, RFC 9406); `true` for cubic if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
    /// Proportional rate reduction in recovery (RFC 6937), for sack, hybla and whatever has recovery rack; `true` for cubic if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reduction: Option<bool>,
    /// Spread a window over its RTT: twice its rate in slow start, 1.2 times later.
    pub pacing: bool,
    /// Explicit congestion notification (RFC 3168): packets say that queues may mark them, and a mark cuts the window as a loss does.
    pub ecn: bool,
    /// How connections are opened: with a handshake, or with data on the SYN.
    pub open: Open,
    /// What a silence of more than a timeout does to the congestion window.
    pub after_idle: AfterIdle,
    /// A flow's connections begin with what its earlier ones have learnt: RTT, ssthresh, and a share of the windows that are open (RFC 9040).
    pub share: bool,
    /// Acknowledgments may be marked by queues, and become fewer by it (ACK congestion control, RFC 3449 5.1.1). Needs `ecn` and delayed acknowledgments.
    pub ack_congestion: bool,
    /// What an earlier connection over the same path has learnt, to begin from (Careful Resume, RFC 9959).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// SACK blocks in an acknowledgment, 1 to 4 (3 with timestamps).
    pub sack_blocks: u8,
    /// Report segments that came twice (DSACK, RFC 2883); for variants with SACK.
    pub dsack: bool,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Segments in order that are acknowledged together, if acknowledgments are delayed.
    pub ack_every: u32,
    /// Acknowledge at once what fills a gap.
    pub ack_gap_fillers: bool,
    /// The congestion window grows even beyond what the receiver's lets be used, as in ns-2.
    pub grow_unused: bool,
    /// Half a window keeps its fraction of a segment, and the acknowledgment that ends recovery opens it further, as in ns-2; otherwise windows are cut to whole segments. For variants with Reno's window; sack1 has it in any case.
    pub precise_halving: bool,
    /// A host's own delay: each time it may send, it waits a random time up to this first (ns-2's overhead_), which breaks phase effects of drop-tail queues.
    pub overhead: Span,
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
            recovery: None,
            mss: Bytes::new(1460),
            path_mtu: PathMtu::default(),
            window: Amount::Bytes(Bytes::new(256_000)),
            initial_window: Amount::Packets(2),
            initial_ssthresh: None,
            dupack_threshold: 3,
            adaptive_reordering: false,
            limited_transmit: true,
            burst_after_recovery: false,
            recovery_burst: None,
            increase: Increase::One,
            byte_counting: None,
            hystart: None,
            rate_reduction: None,
            pacing: false,
            ecn: false,
            open: Open::Handshake,
            after_idle: AfterIdle::Keep,
            share: false,
            ack_congestion: false,
            resume: None,
            timestamps: false,
            sack_blocks: 3,
            dsack: false,
            delayed_ack: DelayedAck::default(),
            ack_every: 2,
            ack_gap_fillers: true,
            grow_unused: false,
            precise_halving: false,
            overhead: Span::ZERO,
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
        }
    }
}

/// A TCP by its loss recovery and the law of its congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// A loss empties the window: slow start from the oldest hole on, what arrived is sent again too (4.3BSD).
    Tahoe,
    /// Fast retransmit and fast recovery that ends with the first new acknowledgment (RFC 2001).
    Reno,
    /// Recovery lasts until all that was outstanding is acknowledged; the timer restarts at the first partial acknowledgment only (RFC 6582, "impatient").
    Newreno,
    /// As `newreno`, but the timer restarts at each partial acknowledgment (HT 4.2.3).
    NewrenoSlowButSteady,
    /// Selective acknowledgments for repeats, Reno for the window (HT 4.2.3).
    SackReno,
    /// Selective acknowledgments with NewReno's recovery: the seven rules of HK's appendix.
    #[default]
    SackNewreno,
    /// Selective acknowledgments and the pipe of RFC 6675.
    Sack,
    /// The pipe algorithm of ns-2's Sack1.
    Sack1,
    /// Forward acknowledgments, as in ns-2.
    Fack,
    /// The window follows what it keeps in the queue, by RTTs (Brakmo and Peterson 1995), as in ns-2.
    Vegas,
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406), RACK-TLP (RFC 8985) and proportional rate reduction (RFC 6937).
    Cubic,
    /// Hybla (Caini and Firrincieli 2004): grows as if the RTT were 25 ms.
    Hybla,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06) over RACK-TLP: a model of bandwidth and RTT paces what is sent; losses below 2 % do not slow it down.
    Bbr,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00) over RACK-TLP, as Linux ships it as `bbr`; `"linux-bbr"` means it too. Keeps two bandwidth-delay products in flight, whatever is lost.
    #[serde(alias = "linux-bbr")]
    Bbr1,
}

/// How losses are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// As variant `reno`.
    Reno,
    /// As variant `newreno`.
    Newreno,
    /// As variant `newreno-slow-but-steady`.
    NewrenoSlowButSteady,
    /// As variant `sack-reno`.
    SackReno,
    /// As variant `sack-newreno`.
    SackNewreno,
    /// As variant `sack`.
    Rfc6675,
    /// As variant `sack1`.
    Sack1,
    /// As variant `fack`.
    Fack,
    /// RACK-TLP (RFC 8985), as variant `cubic`.
    Rack,
}

/// How an end finds the largest packet that its path carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathMtu {
    /// Not at all: what routers say is ignored, and packets that are too large never arrive.
    None,
    /// By what routers say (RFC 1191).
    #[default]
    Icmp,
    /// By trying (RFC 4821, RFC 8899): from 1200 B on, smaller in a black hole, and then larger ones one at a time. What routers say helps.
    Probe,
}

/// Growth of the window in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Increase {
    /// One segment an RTT.
    One,
    /// So many segments an RTT, at most one an acknowledgment (HT 4.1.5).
    By {
        /// HT's K.
        segments: f64,
    },
    /// The sending rate grows by c segments a second each second whatever the RTT: c RTT^2 segments an RTT, at most one an acknowledgment (HT 4.1.4).
    ConstantRate {
        /// HT's c.
        c: f64,
    },
}

/// How a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Open {
    /// The three-way handshake: data leave after an RTT.
    Handshake,
    /// T/TCP (RFC 1644): data and FIN go with the SYN, once the server has seen a connection of the client. For the variants of its time, from Tahoe to SACK and FACK.
    TTcp {
        /// The hosts have spoken before, so that the flow's first connection needs no handshake either.
        #[serde(default)]
        known: bool,
    },
    /// TCP Fast Open (RFC 7413): data go with the SYN, once the client has a cookie.
    FastOpen {
        /// The hosts have spoken before, so that the flow's first connection has a cookie.
        #[serde(default)]
        known: bool,
    },
}

/// The congestion window after a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterIdle {
    /// All of it may go at once.
    Keep,
    /// Slow start from the initial window (RFC 5681 4.1).
    Restart,
    /// All of it, spread over an RTT (Visweswaraiah and Heidemann 1997).
    Spread,
}

/// What an earlier connection has learnt of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Its smallest RTT.
    pub rtt: Span,
    /// Its congestion window; half of it is tried.
    pub window: Amount,
}

/// When a receiver acknowledges data that arrived in order. Out-of-order data is acknowledged at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DelayedAck {
    /// Every segment at once.
    None,
    /// Every second segment (see `ack_every`), or a lone one when `timeout` has passed since it arrived.
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
