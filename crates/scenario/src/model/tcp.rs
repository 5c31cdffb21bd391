//! TCP: its variants and their parameters.
//!
//! Follows the names that the RFCs give to TCP's parameters, and HT, TH and WP for those that they varied.
//! Differs from a kernel's settings: every key can be set for one flow; the defaults are those of a named host.
//! Leaves out socket options that change no packet.

use super::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_transport::tcp::{AfterIdle, Hystart, LossRecovery, PathMtu, Variant};
use skyhop_units::{Amount, Bytes, Span};

/// Defines [`Tcp`], in which every key has a value, and [`TcpKeys`], in which all are optional. Keys in `optional` may be without a
/// value in both.
macro_rules! tcp_keys {
    (
        keys { $($(#[$doc:meta])* $name:ident: $ty:ty,)* }
        optional { $($(#[$odoc:meta])* $oname:ident: $oty:ty,)* }
    ) => {
        /// TCP's parameters, from the file or from the host's defaults.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "TcpKeys")]
        pub struct Tcp {
            /// The host whose defaults were used.
            pub host: Host,
            /// Congestion control, and with host `1999` loss recovery too.
            pub variant: Variant,
            $($(#[$doc])* pub $name: $ty,)*
            $($(#[$odoc])* #[serde(skip_serializing_if = "Option::is_none")] pub $oname: Option<$oty>,)*
        }

        /// TCP's parameters in a file. Keys that are left out have the defaults of `host`.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct TcpKeys {
            /// The host whose TCP gives the defaults of all other keys. The scenario's `host` if left out.
            pub host: Option<Host>,
            /// Congestion control. With host `1999` it determines loss recovery too; other hosts keep their own.
            pub variant: Option<Variant>,
            $($(#[$doc])* pub $name: Option<$ty>,)*
            $($(#[$odoc])* pub $oname: Option<$oty>,)*
        }

        impl From<TcpKeys> for Tcp {
            fn from(keys: TcpKeys) -> Tcp {
                let host = keys.host.unwrap_or_default();
                let mut base = host.tcp(keys.variant, keys.recovery);
                // A window or buffer given without its limit does not grow.
                base.window_max = keys.window.unwrap_or(base.window_max);
                base.send_buffer_max = keys.send_buffer.or(base.send_buffer_max);
                // A host's window and buffer hold a segment of any size that fits a packet.
                let segment = Amount::Bytes(keys.mss.unwrap_or(base.mss));
                for size in [Some(&mut base.window), base.send_buffer.as_mut()].into_iter().flatten() {
                    if size.in_bytes(1) < segment.in_bytes(1) {
                        *size = segment;
                    }
                }
                Tcp {
                    host,
                    variant: base.variant,
                    $($name: keys.$name.unwrap_or(base.$name),)*
                    $($oname: keys.$oname.or(base.$oname),)*
                }
            }
        }
    };
}

tcp_keys! {
    keys {
        /// Largest payload of a segment.
        mss: Bytes,
        /// Path MTU discovery, if links have an `mtu`.
        path_mtu: PathMtu,
        /// Initial receive window: bytes or segments. It is constant if `window_max` is not larger, or if it is given alone.
        window: Amount,
        /// Largest receive window, up to which it tunes itself by the data that arrive in an RTT.
        window_max: Amount,
        /// Initial congestion window: segments or bytes. "4380 B" is RFC 2414's with an mss of 1460.
        initial_window: Amount,
        /// Number of duplicate acknowledgments that signal a loss.
        dupack_threshold: u32,
        /// True to raise that threshold, up to 300, when segments prove to be late and not lost. Variants that track single
        /// segments (sack, sack1, fack) notice it, the others need `dsack`.
        adaptive_reordering: bool,
        /// True to undo the effect of a timeout or recovery on the window when it proves spurious: by timestamps, DSACK or F-RTO
        /// (RFC 3522, 4015, 5682).
        undo: bool,
        /// True to send new data on the first duplicate acknowledgments (RFC 3042).
        limited_transmit: bool,
        /// True to reopen the window to ssthresh at the end of recovery, and not to the outstanding data plus one segment (RFC 6582
        /// step 3, option 2 and not 1). HT figure 4.16 shows the effect.
        burst_after_recovery: bool,
        /// Growth in congestion avoidance, for variants with Reno's.
        increase: Increase,
        /// True if the window grows only while it limits the sender, and decays towards the used part otherwise (RFC 2861, 7661).
        validate_window: bool,
        /// Algorithm that ends slow start before a loss.
        hystart: Hystart,
        /// True for proportional rate reduction in recovery (RFC 9937), for recovery rfc6675 and rack.
        rate_reduction: bool,
        /// True to pace a window over its RTT: at twice its rate in slow start, 1.2 times later.
        pacing: bool,
        /// True for explicit congestion notification (RFC 3168): queues may mark packets, and a mark cuts the window as a loss does.
        ecn: bool,
        /// Connection establishment: with a handshake, or with data on the SYN.
        open: Open,
        /// Effect of an idle time longer than a timeout on the congestion window.
        after_idle: AfterIdle,
        /// True if a flow's connections start from the state of its earlier ones: RTT, ssthresh, and a share of the open windows
        /// (RFC 9040).
        share: bool,
        /// True if queues may mark acknowledgments, which then become fewer (ACK congestion control, RFC 3449 §5.1.1). Needs `ecn`
        /// and delayed acknowledgments.
        ack_congestion: bool,
        /// True for the timestamps option (RFC 7323).
        timestamps: bool,
        /// Number of SACK blocks in an acknowledgment, 1 to 4 (3 with timestamps).
        sack_blocks: u8,
        /// True to report duplicate segments (DSACK, RFC 2883); for recovery with SACK.
        dsack: bool,
        /// Times at which the receiver acknowledges.
        delayed_ack: DelayedAck,
        /// Number of segments in order that one acknowledgment covers, if acknowledgments are delayed.
        ack_every: u32,
        /// Number of lone acknowledgments into which a receiver divides each, so that a sender that counts acknowledgments speeds up
        /// (HT 4.1.6).
        ack_division: u32,
        /// Number of segments at the start, and after idle times, that are acknowledged at once in spite of delayed acknowledgments.
        quick_acks: u32,
        /// True to acknowledge at once a segment that fills a gap.
        ack_gap_fillers: bool,
        /// True if duplicates of what a recovery or a timeout has sent again begin no other recovery (RFC 6582 §3.2, ns-2's bugFix_);
        /// BSD's Reno has no such guard.
        avoid_multiple_fast_retransmits: bool,
        /// True if the sender waits for room for a full segment (silly window avoidance, RFC 9293 §3.8.6.2.1); otherwise parts of
        /// segments use up the windows to the byte.
        silly_window_avoidance: bool,
        /// True if the congestion window grows even beyond the receive window, as in ns-2.
        grow_unused: bool,
        /// True if half a window keeps its fraction of a segment, and the acknowledgment that ends recovery opens it further, as in
        /// ns-2; otherwise windows are cut to whole segments. For variants with Reno's window; always true for sack1.
        precise_halving: bool,
        /// True if a loss halves the data sent and not yet acknowledged (RFC 2581 §3.1); otherwise the window, which is larger where the
        /// application sends less, as in BSD and ns-2. For variants with Reno's window or RFC 9438's.
        halve_flight: bool,
        /// Largest random delay before each transmission (ns-2's overhead_), which breaks phase effects of drop-tail queues.
        overhead: Span,
        /// Timeout before the first RTT sample (RFC 6298).
        rto_initial: Span,
        /// Smallest timeout.
        rto_min: Span,
        /// Smallest difference between the timeout and the smoothed RTT, whatever the variation.
        rto_variation_min: Span,
        /// Largest timeout.
        rto_max: Span,
        /// Granularity of the clock by which the sender measures RTTs.
        rto_granularity: Span,
        /// Time between the ticks at which the retransmission timer may expire, counted from the beginning of the run: 4.4BSD's slow
        /// timer. Exact if zero.
        rto_tick: Span,
    }
    optional {
        /// Loss recovery, if it is not the default of the host or the variant.
        recovery: LossRecovery,
        /// Initial send buffer for written data that are not acknowledged: bytes or segments. Constant if given alone; without
        /// limit if left out with hosts that have none.
        send_buffer: Amount,
        /// Largest send buffer, up to which it tunes itself by the congestion window.
        send_buffer_max: Amount,
        /// Initial slow-start threshold; without limit if left out.
        initial_ssthresh: Amount,
        /// Largest number of new segments that one acknowledgment may release during fast recovery; without limit if left out
        /// (ns-2's NewReno takes 2).
        recovery_burst: u32,
        /// Byte counting in place of counting acknowledgments, at most this many segments for each: L of RFC 3465, 1 or 2. By
        /// acknowledgments if left out.
        byte_counting: u32,
        /// State of an earlier connection over the same path, to start from (Careful Resume, RFC 9959).
        resume: Resume,
    }
}

impl Default for Tcp {
    fn default() -> Self {
        TcpKeys::default().into()
    }
}

/// The growth of the window in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Increase {
    /// One segment per RTT.
    One,
    /// A number of segments per RTT, at most one per acknowledgment (HT 4.1.5).
    By {
        /// HT's K.
        segments: f64,
    },
    /// Growth of the sending rate by c segments per second each second, whatever the RTT: c RTT^2 segments per RTT, at most one per
    /// acknowledgment (HT 4.1.4).
    ConstantRate {
        /// HT's c.
        c: f64,
    },
}

/// The establishment of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Open {
    /// The three-way handshake: data are sent after an RTT.
    Handshake,
    /// T/TCP (RFC 1644): data and FIN are sent with the SYN, once the server has seen a connection of the client. For the variants
    /// of its time, from Tahoe to SACK and FACK.
    TTcp {
        /// True if the hosts have communicated before, so that the flow's first connection needs no handshake either.
        #[serde(default)]
        known: bool,
    },
    /// TCP Fast Open (RFC 7413): data are sent with the SYN, once the client has a cookie.
    FastOpen {
        /// True if the hosts have communicated before, so that the flow's first connection has a cookie.
        #[serde(default)]
        known: bool,
    },
}

/// State of an earlier connection over the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Its smallest RTT.
    pub rtt: Span,
    /// Its congestion window; half of it is used.
    pub window: Amount,
}

/// The times at which a receiver acknowledges data in order. Out-of-order data are acknowledged at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DelayedAck {
    /// Every segment at once.
    None,
    /// Every second segment (see `ack_every`), or a single one `timeout` after its arrival.
    OneShot {
        /// Time that a single segment waits.
        #[serde(default = "default_delack")]
        timeout: Span,
    },
    /// Every second segment, or a single one at the next tick of a clock with period `period` (BSD).
    Heartbeat {
        /// Period of the clock.
        #[serde(default = "default_delack")]
        period: Span,
    },
    /// Every second segment, or a single one after a time that adapts to the spacing of segments, as in Linux.
    Adaptive {
        /// Shortest time.
        #[serde(default = "default_delack_least")]
        least: Span,
        /// Longest time.
        #[serde(default = "default_delack")]
        most: Span,
    },
}

fn default_delack() -> Span {
    Span::from_millis(200)
}
fn default_delack_least() -> Span {
    Span::from_millis(40)
}
