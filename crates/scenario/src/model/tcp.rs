//! TCP: its variants and their parameters.
//!
//! Follows the names that the RFCs give to TCP's parameters, and HT, TH and WP for what they varied.
//! Differs from a kernel's settings: every key can be given for one flow, and what is left out comes from a host by name.
//! Leaves out socket options that change no packet.

use super::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_transport::tcp::{AfterIdle, Hystart, LossRecovery, PathMtu, Variant};
use skyhop_units::{Amount, Bytes, Span};

/// Defines [`Tcp`], in which every key has a value, and [`TcpKeys`], in which a file may leave out any of them. Keys in
/// `optional` may be without a value in both.
macro_rules! tcp_keys {
    (
        keys { $($(#[$doc:meta])* $name:ident: $ty:ty,)* }
        optional { $($(#[$odoc:meta])* $oname:ident: $oty:ty,)* }
    ) => {
        /// TCP's parameters, each as the file gives it or else as the host has it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "TcpKeys")]
        pub struct Tcp {
            /// The host from which the other keys came where the file left them out.
            pub host: Host,
            /// The law of the congestion window, and with host `1999` loss recovery too.
            pub variant: Variant,
            $($(#[$doc])* pub $name: $ty,)*
            $($(#[$odoc])* #[serde(skip_serializing_if = "Option::is_none")] pub $oname: Option<$oty>,)*
        }

        /// TCP's parameters as a file may give them. What is left out is as `host` has it.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct TcpKeys {
            /// The host whose TCP it is: from it comes every key that is left out. The scenario's `host` if left out.
            pub host: Option<Host>,
            /// The law of the congestion window. It decides on loss recovery too with host `1999`; other hosts keep their own.
            pub variant: Option<Variant>,
            $($(#[$doc])* pub $name: Option<$ty>,)*
            $($(#[$odoc])* pub $oname: Option<$oty>,)*
        }

        impl From<TcpKeys> for Tcp {
            fn from(keys: TcpKeys) -> Tcp {
                let host = keys.host.unwrap_or_default();
                let mut base = host.tcp(keys.variant, keys.recovery);
                // A window or buffer that is given without the limit to its growth does not grow.
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
        /// How the largest packet that the path carries is found, if links have an `mtu`.
        path_mtu: PathMtu,
        /// Receive window at the start: bytes or segments. It stays so if `window_max` is not more; given alone, it is the window for good.
        window: Amount,
        /// Up to which the receive window tunes itself, by what arrives in an RTT.
        window_max: Amount,
        /// Congestion window after the handshake: segments or bytes. "4380 B" is RFC 2414's with an mss of 1460.
        initial_window: Amount,
        /// Duplicate acknowledgments that signal a loss.
        dupack_threshold: u32,
        /// Raise the threshold when segments prove to be late and not lost, up to 300. Variants that know segments one by one (sack, sack1, fack) see lateness, the others need `dsack`.
        adaptive_reordering: bool,
        /// Undo what a timeout or a recovery did to the window when it proves to have been needless: by timestamps, DSACK or F-RTO (RFC 3522, 4015, 5682).
        undo: bool,
        /// Send new data on the first duplicate acknowledgments (RFC 3042).
        limited_transmit: bool,
        /// When recovery ends, reopen the window to ssthresh at once, and not to what is outstanding plus one segment (RFC 6582 step 3, option 2 and not 1). HT figure 4.16 shows what that does.
        burst_after_recovery: bool,
        /// Growth in congestion avoidance, for variants that have Reno's.
        increase: Increase,
        /// The window grows only where it was what held the sender up, and falls towards what is used where it was not (RFC 2861, 7661).
        validate_window: bool,
        /// How slow start is left before a loss ends it.
        hystart: Hystart,
        /// Proportional rate reduction in recovery (RFC 9937), for recovery rfc6675 and rack.
        rate_reduction: bool,
        /// Spread a window over its RTT: twice its rate in slow start, 1.2 times later.
        pacing: bool,
        /// Explicit congestion notification (RFC 3168): packets say that queues may mark them, and a mark cuts the window as a loss does.
        ecn: bool,
        /// How connections are opened: with a handshake, or with data on the SYN.
        open: Open,
        /// What a silence of more than a timeout does to the congestion window.
        after_idle: AfterIdle,
        /// A flow's connections begin with what its earlier ones have learnt: RTT, ssthresh, and a share of the windows that are open (RFC 9040).
        share: bool,
        /// Acknowledgments may be marked by queues, and become fewer by it (ACK congestion control, RFC 3449 5.1.1). Needs `ecn` and delayed acknowledgments.
        ack_congestion: bool,
        /// Timestamps option (RFC 7323).
        timestamps: bool,
        /// SACK blocks in an acknowledgment, 1 to 4 (3 with timestamps).
        sack_blocks: u8,
        /// Report segments that came twice (DSACK, RFC 2883); for recovery with SACK.
        dsack: bool,
        /// When the receiver acknowledges.
        delayed_ack: DelayedAck,
        /// Segments in order that are acknowledged together, if acknowledgments are delayed.
        ack_every: u32,
        /// Segments at the start, and after a silence, that are acknowledged at once although acknowledgments are delayed.
        quick_acks: u32,
        /// Acknowledge at once what fills a gap.
        ack_gap_fillers: bool,
        /// The congestion window grows even beyond what the receiver's lets be used, as in ns-2.
        grow_unused: bool,
        /// Half a window keeps its fraction of a segment, and the acknowledgment that ends recovery opens it further, as in ns-2; otherwise windows are cut to whole segments. For variants with Reno's window; sack1 has it in any case.
        precise_halving: bool,
        /// A host's own delay: each time it may send, it waits a random time up to this first (ns-2's overhead_), which breaks phase effects of drop-tail queues.
        overhead: Span,
        /// Timeout before the first RTT sample (RFC 6298).
        rto_initial: Span,
        /// Smallest timeout.
        rto_min: Span,
        /// Least that is added to the smoothed RTT for a timeout, whatever the variation.
        rto_variation_min: Span,
        /// Largest timeout.
        rto_max: Span,
        /// Step in which the sender's clock measures RTTs.
        rto_granularity: Span,
    }
    optional {
        /// Another way of finding and repairing losses than the host's or the variant's own.
        recovery: LossRecovery,
        /// The most bytes that an end holds of what was written and not acknowledged, at the start: bytes or segments. Given alone, it is the send buffer for good; without limit if left out with hosts that have none.
        send_buffer: Amount,
        /// Up to which the send buffer tunes itself, by the congestion window.
        send_buffer_max: Amount,
        /// First slow-start threshold; without limit if left out.
        initial_ssthresh: Amount,
        /// The most new segments that one acknowledgment may release during fast recovery; without limit if left out (ns-2's NewReno takes 2).
        recovery_burst: u32,
        /// Count bytes and not acknowledgments, at most this many segments for each: L of RFC 3465, 1 or 2. By acknowledgments if left out.
        byte_counting: u32,
        /// What an earlier connection over the same path has learnt, to begin from (Careful Resume, RFC 9959).
        resume: Resume,
    }
}

impl Default for Tcp {
    fn default() -> Self {
        TcpKeys::default().into()
    }
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
    /// Every second segment, or a lone one after a time that follows how far apart segments arrive, as Linux has it.
    Adaptive {
        /// The least.
        #[serde(default = "default_delack_least")]
        least: Span,
        /// The most.
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
