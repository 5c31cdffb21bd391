//! TCP's parameters.
//!
//! Follows the names of the RFCs that define them; what a current kernel adds has the names of this file.
//! Differs from a kernel's: buffers are counted in payload bytes, not in memory.
//! Leaves out per-route metrics.
//!
//! A list of parameters, so that it has as many fields as there are of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::Span;
use skyhop_wire::Version;

/// A TCP by its loss recovery and the law of its congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// A loss empties the window: slow start from the oldest hole on, what arrived is sent again too (4.3BSD).
    Tahoe,
    /// Fast retransmit and fast recovery that ends with the first new acknowledgment (RFC 2001).
    Reno,
    /// Recovery lasts until all that was outstanding is acknowledged; the timer restarts at the first partial acknowledgment only
    /// (RFC 6582, "impatient").
    #[serde(rename = "newreno")]
    NewReno,
    /// As `newreno`, but the timer restarts at each partial acknowledgment (HT 4.2.3).
    #[serde(rename = "newreno-slow-but-steady")]
    NewRenoSlowButSteady,
    /// Selective acknowledgments for repeats, Reno for the window (HT 4.2.3).
    SackReno,
    /// Selective acknowledgments with NewReno's recovery: the seven rules of HK's appendix.
    #[serde(rename = "sack-newreno")]
    SackNewReno,
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
    /// BBR version 3 (draft-ietf-ccwg-bbr-06) over RACK-TLP: a model of bandwidth and RTT paces what is sent; losses below 2 % do
    /// not slow it down.
    Bbr,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00) over RACK-TLP, as Linux ships it as `bbr`; `"linux-bbr"`
    /// means it too. Keeps two bandwidth-delay products in flight, whatever is lost.
    #[serde(alias = "linux-bbr")]
    #[schemars(extend("aliases" = ["linux-bbr"]))]
    Bbr1,
}

/// Loss detection and repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Recovery")]
pub enum LossRecovery {
    /// Loss recovery of variant `reno`.
    Reno,
    /// Loss recovery of variant `newreno`.
    #[serde(rename = "newreno")]
    NewReno,
    /// Loss recovery of variant `newreno-slow-but-steady`.
    #[serde(rename = "newreno-slow-but-steady")]
    NewRenoSlowButSteady,
    /// Loss recovery of variant `sack-reno`.
    SackReno,
    /// Loss recovery of variant `sack-newreno`.
    #[serde(rename = "sack-newreno")]
    SackNewReno,
    /// Loss recovery of variant `sack`.
    Rfc6675,
    /// Loss recovery of variant `sack1`.
    Sack1,
    /// Loss recovery of variant `fack`.
    Fack,
    /// RACK-TLP (RFC 8985), as variant `cubic`.
    Rack,
    /// Tahoe's, which is its own only: counting duplicates, and everything from the hole on is sent again.
    #[serde(skip)]
    Tahoe,
    /// Vegas' fine-grained timeouts on duplicates, which are its own only.
    #[serde(skip)]
    Vegas,
}

/// The law of the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Reno's law (RFC 5681).
    Reno,
    /// Vegas' law.
    Vegas,
    /// CUBIC (RFC 9438).
    Cubic,
    /// Hybla.
    Hybla,
    /// BBR version 3.
    Bbr,
    /// BBR version 1.
    Bbr1,
}

impl Variant {
    /// Default loss recovery of this variant.
    pub fn recovery(self) -> LossRecovery {
        match self {
            Variant::Tahoe => LossRecovery::Tahoe,
            Variant::Reno => LossRecovery::Reno,
            Variant::NewReno => LossRecovery::NewReno,
            Variant::NewRenoSlowButSteady => LossRecovery::NewRenoSlowButSteady,
            Variant::SackReno => LossRecovery::SackReno,
            Variant::SackNewReno => LossRecovery::SackNewReno,
            Variant::Sack | Variant::Hybla => LossRecovery::Rfc6675,
            Variant::Sack1 => LossRecovery::Sack1,
            Variant::Fack => LossRecovery::Fack,
            Variant::Vegas => LossRecovery::Vegas,
            Variant::Cubic | Variant::Bbr | Variant::Bbr1 => LossRecovery::Rack,
        }
    }

    /// The law of this variant's window.
    pub fn law(self) -> Law {
        match self {
            Variant::Vegas => Law::Vegas,
            Variant::Cubic => Law::Cubic,
            Variant::Hybla => Law::Hybla,
            Variant::Bbr => Law::Bbr,
            Variant::Bbr1 => Law::Bbr1,
            _ => Law::Reno,
        }
    }

    /// Returns true if it is Reno's window over a recovery of its own, so that its name means nothing where the host has another.
    pub fn is_recovery(self) -> bool {
        self.law() == Law::Reno && !matches!(self, Variant::Tahoe | Variant::Reno)
    }
}

impl Law {
    /// Returns true if it is a model of the path, which has to know what has been delivered, and paces.
    pub fn needs_model(self) -> bool {
        matches!(self, Law::Bbr | Law::Bbr1)
    }
}

impl LossRecovery {
    /// Returns true if it lives on selective acknowledgments.
    pub fn sack(self) -> bool {
        use LossRecovery::*;
        matches!(self, SackReno | SackNewReno | Rfc6675 | Sack1 | Fack | Rack)
    }

    /// Returns true if what is in flight is known segment by segment, so that a pipe and not the count of duplicates says what
    /// may be sent.
    pub(crate) fn pipe(self) -> bool {
        use LossRecovery::*;
        matches!(self, Rfc6675 | Sack1 | Fack | Rack)
    }
}

/// Growth of a Reno's window in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Increase {
    /// One segment a round trip.
    One,
    /// `k` segments a round trip, at most one an acknowledgment (HT 4.1.5).
    By(f64),
    /// The sending rate grows by `c` segments a second each second: c rtt^2 segments a round trip, at most one an
    /// acknowledgment (HT 4.1.4, after Floyd).
    ConstantRate(f64),
}

/// Policy for acknowledging data that arrived in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayedAck {
    /// Each segment at once.
    None,
    /// Every second segment, or a lone one after this time.
    OneShot(Span),
    /// Every second segment, or a lone one at the next beat of a clock with this period.
    Heartbeat(Span),
    /// Every second segment, or a lone one after a time that follows the intervals between segments, as in Linux.
    Adaptive {
        /// The shortest time: a smoothed interval below it counts as this. 40 ms in Linux.
        least: Span,
        /// The longest. 200 ms in Linux.
        most: Span,
    },
}

/// Exit from slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hystart {
    /// Slow start ends with a loss or a mark.
    Off,
    /// Slow start ends when RTTs grow (HyStart++, RFC 9406), as in Windows.
    Rfc9406,
    /// Slow start ends when RTTs grow or acknowledgments arrive in a train as long as half an RTT (HyStart), as in Linux.
    Linux,
}

/// Opening of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// The three-way handshake (RFC 9293).
    Handshake,
    /// T/TCP (RFC 1644): a server that knows the client's last connection takes data with the SYN.
    Transactions {
        /// The hosts have spoken before.
        known: bool,
    },
    /// TCP Fast Open (RFC 7413): a server takes data with a SYN that shows its cookie.
    FastOpen {
        /// The hosts have spoken before.
        known: bool,
    },
}

/// The congestion window after a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterIdle {
    /// The whole window may go at once.
    Keep,
    /// Slow start from the initial window (RFC 5681 4.1).
    Restart,
    /// Half of it for each timeout that has passed, but no less than the initial window (RFC 2861), as Linux has it.
    Decay,
    /// The whole window, spread over an RTT (Visweswaraiah and Heidemann 1997).
    Spread,
}

/// Discovery of the path's MTU: the largest packet that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathMtu {
    /// No discovery: routers' messages are ignored, and packets that are too large never arrive.
    None,
    /// Routers' messages (RFC 1191).
    Icmp,
    /// Probes (RFC 4821, RFC 8899): from 1200 B on, smaller in a black hole, then larger, one at a time. Routers' messages help.
    Probe,
}

/// State of the path saved by an earlier connection (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Its smallest round trip.
    pub rtt: Span,
    /// Its congestion window, bytes.
    pub cwnd: u64,
}

/// Parameters of a connection. The defaults suit a 1.5 Mbit/s geostationary path of 600 ms.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Loss recovery and the law of the window.
    pub variant: Variant,
    /// Another way of finding and repairing losses than the variant's own.
    pub recovery: Option<LossRecovery>,
    /// Version of the network layer beneath.
    pub ip: Version,
    /// Largest payload plus options of a segment, as announced to the peer (RFC 6691).
    pub mss: u32,
    /// Discovery of the path's MTU.
    pub path_mtu: PathMtu,
    /// MTU of this end's own link, bytes, if it is known: larger packets are never sent.
    pub link_mtu: Option<u32>,
    /// Receive window, bytes; where it tunes itself, the first.
    pub window: u64,
    /// The receive window tunes itself up to this, bytes (dynamic right-sizing, as in Linux): twice of what arrives in a
    /// round trip, and more while that grows. Not above `window`: it is fixed.
    pub window_max: u64,
    /// The most payload that is written and not acknowledged at first, bytes: what the application offers beyond waits outside.
    /// `u64::MAX` is without limit.
    pub send_buffer: u64,
    /// The send buffer grows with the congestion window up to this, bytes: `send_buffer` is for ten segments, half as much
    /// again for BBR. Not above `send_buffer`: it is fixed.
    pub send_buffer_max: u64,
    /// Congestion window after the handshake, bytes.
    pub initial_window: u64,
    /// First slow-start threshold, bytes; `None` is without limit.
    pub initial_ssthresh: Option<u64>,
    /// Duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// Raise the threshold when a repeat proves to have been needless (DSACK), as RFC 4653 and Linux do.
    pub adaptive_reordering: bool,
    /// New data on the duplicates before that (RFC 3042).
    pub limited_transmit: bool,
    /// When recovery ends, take the whole of ssthresh at once (RFC 6582 step 3, option 2) and not what is outstanding
    /// plus a segment (option 1).
    pub burst_after_recovery: bool,
    /// The most new segments that one acknowledgment may release during fast recovery; `None` is without limit.
    pub recovery_burst: Option<u32>,
    /// Growth of a Reno in congestion avoidance.
    pub increase: Increase,
    /// Count bytes and not acknowledgments, up to so many segments an acknowledgment (RFC 3465: L is 1 or 2).
    pub byte_counting: Option<u32>,
    /// Windows grow as in Linux: by what an acknowledgment tells of first, so that bytes that SACK has told of before do not count again;
    /// and CUBIC's as `congestion/cubic.rs` says.
    pub linux_windows: bool,
    /// Leave slow start before it overflows the queue; for laws whose slow start is Reno's.
    pub hystart: Hystart,
    /// Reduce the window in proportion to what arrives (RFC 9937) and not by silence.
    pub rate_reduction: bool,
    /// Take back a reduction of the window, and a timeout's slow start, that prove to have been needless: by timestamps
    /// (RFC 3522, 4015), by reports of duplicates (RFC 3708), or by F-RTO (RFC 5682). With the recoveries RACK and RFC 6675.
    pub undo: bool,
    /// Spread a window over its round trip.
    pub pacing: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Opening of the connection.
    pub open: Open,
    /// The window after a silence.
    pub after_idle: AfterIdle,
    /// Connections between two hosts begin with what others have learnt (RFC 9040).
    pub share: bool,
    /// Acknowledgments may be marked, and become fewer by it (Balakrishnan 1997, RFC 3449 §5.1.1); needs `ecn`.
    pub ack_congestion: bool,
    /// Saved state from which to start (RFC 9959).
    pub resume: Option<Saved>,
    /// True if the timestamps option is offered.
    pub timestamps: bool,
    /// SACK blocks in an acknowledgment, 1 to 4.
    pub sack_blocks: u8,
    /// Report what arrived twice (RFC 2883).
    pub dsack: bool,
    /// Policy for acknowledging data.
    pub delayed_ack: DelayedAck,
    /// Segments in order that are acknowledged together, if acknowledgments are delayed.
    pub ack_every: u32,
    /// Acknowledge at once what fills a gap (RFC 5681 §4.2).
    pub ack_gap_fillers: bool,
    /// Segments that are acknowledged one by one at the start, after a silence of a timeout and after a duplicate, at most
    /// half a window's (Linux: 16); while it is not 0, also each that lets a window grow which tunes itself.
    pub quick_acks: u32,
    /// Duplicates of what a recovery or a timeout has sent again begin no other recovery (RFC 6582 §3.2, step 1); for recoveries
    /// that count duplicates.
    pub avoid_multiple_fast_retransmits: bool,
    /// A segment waits for room for all of it (RFC 9293 §3.8.6.2.1); otherwise a part of it uses up the window to the byte.
    pub silly_window_avoidance: bool,
    /// The window grows even where the peer's is the smaller, as in ns-2.
    pub grow_unused: bool,
    /// The window grows only where it was what held the sender up in the last round trip, as in Linux; not for laws that own
    /// their window.
    pub validate_window: bool,
    /// A halved window keeps its fraction of a segment, as in ns-2; for laws that are Reno's.
    pub precise_halving: bool,
    /// A host's own delay: each chance to send waits a random time up to this, to break phase effects (ns-2's
    /// `overhead_`).
    pub overhead: Span,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Smallest of what a timeout has above the smoothed round trip (Linux: 200 ms). Where there is one, the variation is
    /// measured over round trips and not over samples, as there.
    pub rto_variation_min: Span,
    /// Largest retransmission timeout.
    pub rto_max: Span,
    /// Step of the clock that measures round trips.
    pub rto_granularity: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            variant: Variant::SackNewReno,
            recovery: None,
            ip: Version::V4,
            mss: 1460,
            path_mtu: PathMtu::Icmp,
            link_mtu: None,
            window: 256_000,
            window_max: 0,
            send_buffer: u64::MAX,
            send_buffer_max: u64::MAX,
            initial_window: 2920,
            initial_ssthresh: None,
            dupack_threshold: 3,
            adaptive_reordering: false,
            limited_transmit: true,
            burst_after_recovery: false,
            recovery_burst: None,
            increase: Increase::One,
            byte_counting: None,
            linux_windows: false,
            hystart: Hystart::Off,
            rate_reduction: false,
            undo: false,
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
            delayed_ack: DelayedAck::OneShot(Span::from_millis(200)),
            ack_every: 2,
            ack_gap_fillers: true,
            quick_acks: 0,
            avoid_multiple_fast_retransmits: true,
            silly_window_avoidance: true,
            grow_unused: false,
            validate_window: false,
            precise_halving: false,
            overhead: Span::ZERO,
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_variation_min: Span::ZERO,
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
        }
    }
}

impl Config {
    /// Bytes of the headers of IP and TCP without options.
    pub const fn headers(&self) -> u32 {
        self.ip.header_len() + 20
    }

    /// The shift that lets the window field announce the largest window (RFC 7323 §2.2), 0 to 14.
    pub fn window_scale(&self) -> u8 {
        let largest = self.window.max(self.window_max);
        (0..14).find(|scale| largest >> scale <= 65_535).unwrap_or(14)
    }

    /// Loss detection and repair.
    pub fn recovery(&self) -> LossRecovery {
        self.recovery.unwrap_or(self.variant.recovery())
    }

    /// Returns true if packets may have to wait for their turn by a rate.
    pub(crate) fn pacing_possible(&self) -> bool {
        self.pacing
            || self.after_idle == AfterIdle::Spread
            || self.resume.is_some()
            || self.variant.law().needs_model()
            || self.variant.law() == Law::Hybla
    }

    /// Returns true if SACK is offered and accepted.
    pub fn sack(&self) -> bool {
        self.recovery().sack()
    }
}
