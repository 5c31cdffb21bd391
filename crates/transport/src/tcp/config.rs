//! TCP's parameters.
//!
//! Follows the names of the RFCs that define them; parameters of current kernels have names of this file.
//! Differs from a kernel's: buffers are counted in payload bytes, not in memory.
//! Leaves out per-route metrics.
//!
//! [`Config`] is a list of parameters, which explains its number of fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::Span;
use skyhop_wire::Version;

/// A TCP: its loss recovery, and the law of its congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// A loss empties the window: slow start from the oldest hole, in which data that have arrived are sent again too (4.3BSD).
    Tahoe,
    /// Fast retransmit, and a fast recovery that ends with the first new acknowledgment (RFC 2001).
    Reno,
    /// Recovery lasts until all data outstanding at the signal are acknowledged; the timer restarts at the first partial
    /// acknowledgment only (RFC 6582, "impatient").
    #[serde(rename = "newreno")]
    NewReno,
    /// As `newreno`, but the timer restarts at each partial acknowledgment (HT 4.2.3).
    #[serde(rename = "newreno-slow-but-steady")]
    NewRenoSlowButSteady,
    /// Retransmissions by selective acknowledgments, Reno's window (HT 4.2.3).
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
    /// The window is set once per RTT by the estimated number of segments in the queue (Brakmo and Peterson 1995), as in ns-2.
    Vegas,
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406), RACK-TLP (RFC 8985) and proportional rate reduction (RFC 6937).
    Cubic,
    /// Hybla (Caini and Firrincieli 2004): grows as if the RTT were 25 ms.
    Hybla,
    /// BBR version 3 (draft-ietf-ccwg-bbr-06) over RACK-TLP: paced by a model of bandwidth and RTT; losses below 2 % do not slow it
    /// down.
    Bbr,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00) over RACK-TLP, as shipped by Linux as `bbr`; `"linux-bbr"` is
    /// another name. It keeps two bandwidth-delay products in flight, whatever the losses.
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
    /// Loss recovery of variant `tahoe` only: duplicates are counted, and everything from the hole on is sent again.
    #[serde(skip)]
    Tahoe,
    /// Loss recovery of variant `vegas` only: fine-grained timeouts on duplicates.
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

    /// Returns true if it is Reno's window with a recovery of its own, so that its name means nothing with the recovery of another
    /// host.
    pub fn is_recovery(self) -> bool {
        self.law() == Law::Reno && !matches!(self, Variant::Tahoe | Variant::Reno)
    }
}

impl Law {
    /// Returns true if it models the path, for which it needs delivery rates and pacing.
    pub fn needs_model(self) -> bool {
        matches!(self, Law::Bbr | Law::Bbr1)
    }
}

impl LossRecovery {
    /// Returns true if it requires selective acknowledgments.
    pub fn sack(self) -> bool {
        use LossRecovery::*;
        matches!(self, SackReno | SackNewReno | Rfc6675 | Sack1 | Fack | Rack)
    }

    /// Returns true if segments in flight are tracked individually, so that a pipe, not the number of duplicates, limits sending.
    pub(crate) fn pipe(self) -> bool {
        use LossRecovery::*;
        matches!(self, Rfc6675 | Sack1 | Fack | Rack)
    }
}

/// Growth of Reno's window in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Increase {
    /// One segment per round-trip time.
    One,
    /// `k` segments per round-trip time, at most one per acknowledgment (HT 4.1.5).
    By(f64),
    /// Growth of the sending rate by `c` segments per second each second: c rtt^2 segments per round-trip time, at most one per
    /// acknowledgment (HT 4.1.4, after Floyd).
    ConstantRate(f64),
}

/// Policy for acknowledging data that arrive in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayedAck {
    /// Each segment at once.
    None,
    /// Every second segment, or a single one after this time.
    OneShot(Span),
    /// Every second segment, or a single one at the next tick of a clock with this period.
    Heartbeat(Span),
    /// Every second segment, or a single one after a time that adapts to the spacing of segments, as in Linux.
    Adaptive {
        /// Shortest time; a smoothed interval below it counts as this. 40 ms in Linux.
        least: Span,
        /// Longest time. 200 ms in Linux.
        most: Span,
    },
}

/// Algorithm that ends slow start before a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hystart {
    /// None: slow start ends with a loss or a mark.
    Off,
    /// HyStart++ (RFC 9406), as in Windows: slow start ends when RTTs grow.
    Rfc9406,
    /// HyStart, as in Linux: slow start ends when RTTs grow or a train of acknowledgments is as long as half an RTT.
    Linux,
}

/// Establishment of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// The three-way handshake (RFC 9293).
    Handshake,
    /// T/TCP (RFC 1644): a server that knows the client's last connection accepts data with the SYN.
    Transactions {
        /// True if the hosts have communicated before.
        known: bool,
    },
    /// TCP Fast Open (RFC 7413): a server accepts data with a SYN that has its cookie.
    FastOpen {
        /// True if the hosts have communicated before.
        known: bool,
    },
}

/// The congestion window after an idle time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterIdle {
    /// Unchanged; the whole window may be sent at once.
    Keep,
    /// Slow start from the initial window (RFC 5681 §4.1).
    Restart,
    /// Halved for each timeout that has passed, but not below the initial window (RFC 2861), as in Linux.
    Decay,
    /// Unchanged, but spread over an RTT (Visweswaraiah and Heidemann 1997).
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
    /// Probes (RFC 4821, RFC 8899): from 1200 B, smaller in a black hole, then larger, one at a time; and routers' messages.
    Probe,
}

/// State of the path saved by an earlier connection (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Smallest round-trip time.
    pub rtt: Span,
    /// Congestion window, bytes.
    pub cwnd: u64,
}

/// Parameters of a connection. The defaults suit a 1.5 Mbit/s geostationary path of 600 ms.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Loss recovery and the law of the window.
    pub variant: Variant,
    /// Loss recovery, if it is not the variant's own.
    pub recovery: Option<LossRecovery>,
    /// Version of IP.
    pub ip: Version,
    /// Largest payload plus options of a segment, as announced to the peer (RFC 6691).
    pub mss: u32,
    /// Discovery of the path's MTU.
    pub path_mtu: PathMtu,
    /// MTU of this end's own link, bytes, if it is known: larger packets are never sent.
    pub link_mtu: Option<u32>,
    /// Receive window, bytes; the initial one if it tunes itself.
    pub window: u64,
    /// Largest receive window to which it tunes itself, bytes (dynamic right-sizing, as in Linux): twice the data that arrive in a
    /// round-trip time, and more while they grow. Constant if this is not above `window`.
    pub window_max: u64,
    /// Send buffer: largest number of bytes written and not acknowledged, initially; further data wait in the application.
    /// `u64::MAX` for no limit.
    pub send_buffer: u64,
    /// Largest send buffer to which it grows with the congestion window, bytes: `send_buffer` is for ten segments, and half as much
    /// again for BBR. Constant if this is not above `send_buffer`.
    pub send_buffer_max: u64,
    /// Congestion window after the handshake, bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold, bytes; `None` for no limit.
    pub initial_ssthresh: Option<u64>,
    /// Number of duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// True to raise that threshold when a retransmission proves needless (DSACK), as RFC 4653 and Linux do.
    pub adaptive_reordering: bool,
    /// True to send new data on the first duplicates (RFC 3042).
    pub limited_transmit: bool,
    /// True to reopen the window to ssthresh at the end of recovery (RFC 6582 step 3, option 2), and not to the outstanding data
    /// plus a segment (option 1).
    pub burst_after_recovery: bool,
    /// Largest number of new segments that one acknowledgment may release during fast recovery; `None` for no limit.
    pub recovery_burst: Option<u32>,
    /// Growth of Reno's window in congestion avoidance.
    pub increase: Increase,
    /// Byte counting in place of counting acknowledgments, at most this many segments for each (RFC 3465: L is 1 or 2).
    pub byte_counting: Option<u32>,
    /// True for growth as in Linux: bytes count once, when SACK or an acknowledgment first reports them; CUBIC's as in
    /// `congestion/cubic_linux.rs`.
    pub linux_windows: bool,
    /// Algorithm that ends slow start before the queue overflows; for laws with Reno's slow start.
    pub hystart: Hystart,
    /// True for proportional rate reduction in recovery (RFC 9937).
    pub rate_reduction: bool,
    /// True to undo a reduction of the window, and a timeout's slow start, that prove needless: by timestamps (RFC 3522, 4015),
    /// duplicate reports (RFC 3708), or F-RTO (RFC 5682). For recoveries RACK and RFC 6675.
    pub undo: bool,
    /// True to spread a window over its round-trip time.
    pub pacing: bool,
    /// True for explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Establishment of the connection.
    pub open: Open,
    /// Effect of an idle time on the congestion window.
    pub after_idle: AfterIdle,
    /// True if connections between two hosts start from the state of others (RFC 9040).
    pub share: bool,
    /// True if acknowledgments may be marked, and then become fewer (Balakrishnan 1997, RFC 3449 §5.1.1); needs `ecn`.
    pub ack_congestion: bool,
    /// Saved state from which to start (RFC 9959).
    pub resume: Option<Saved>,
    /// True if the timestamps option is offered.
    pub timestamps: bool,
    /// Number of SACK blocks in an acknowledgment, 1 to 4.
    pub sack_blocks: u8,
    /// True to report duplicate segments (RFC 2883).
    pub dsack: bool,
    /// Policy for acknowledging data.
    pub delayed_ack: DelayedAck,
    /// Number of in-order segments per acknowledgment, if acknowledgments are delayed.
    pub ack_every: u32,
    /// Lone acknowledgments into which one is divided, each of a part of the bytes (HT 4.1.6; Savage et al. 1999).
    pub ack_division: u32,
    /// True to acknowledge at once a segment that fills a gap (RFC 5681 §4.2).
    pub ack_gap_fillers: bool,
    /// Number of segments acknowledged individually at the start, after an idle time of a timeout and after a duplicate, at most
    /// half a window's (Linux: 16). If it is not 0, each segment by which a self-tuning window grows is also acknowledged at once.
    pub quick_acks: u32,
    /// True if duplicates of data sent again by a recovery or a timeout begin no other recovery (RFC 6582 §3.2, step 1); for
    /// recoveries that count duplicates.
    pub avoid_multiple_fast_retransmits: bool,
    /// True if a segment waits for room for all of it (RFC 9293 §3.8.6.2.1); otherwise parts of segments use up the window to the
    /// byte.
    pub silly_window_avoidance: bool,
    /// True if the window grows even beyond the peer's, as in ns-2.
    pub grow_unused: bool,
    /// True if the window grows only if it limited the sender in the last round-trip time, as in Linux; not for laws that control
    /// it entirely.
    pub validate_window: bool,
    /// True if a halved window keeps its fraction of a segment, as in ns-2; for Reno's laws.
    pub precise_halving: bool,
    /// True if a loss halves the data sent and not yet acknowledged (RFC 2581 §3.1), and not the window as in BSD and ns-2; for laws that
    /// halve it.
    pub halve_flight: bool,
    /// Largest random delay of a host before each transmission, which breaks phase effects (ns-2's `overhead_`).
    pub overhead: Span,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Smallest difference between the timeout and the smoothed round-trip time (Linux: 200 ms). If there is one, the variation is
    /// measured over round trips and not over samples, as in Linux.
    pub rto_variation_min: Span,
    /// Largest retransmission timeout.
    pub rto_max: Span,
    /// Granularity of the clock that measures round-trip times.
    pub rto_granularity: Span,
    /// Time between the ticks at which the retransmission timer may expire, counted from time 0 (4.4BSD's slow timer); zero if it is
    /// exact.
    pub rto_tick: Span,
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
            ack_division: 1,
            ack_gap_fillers: true,
            quick_acks: 0,
            avoid_multiple_fast_retransmits: true,
            silly_window_avoidance: true,
            grow_unused: false,
            validate_window: false,
            precise_halving: false,
            halve_flight: false,
            overhead: Span::ZERO,
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_variation_min: Span::ZERO,
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
            rto_tick: Span::ZERO,
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

    /// Returns true if pacing may delay packets.
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
