//! Hosts by name: the defaults of a flow's TCP.
//!
//! Follows Linux 6.18 (its `tcp_*` settings as shipped, HyStart, RACK-TLP, automatic buffers), Windows 11
//! (`Get-NetTCPSetting Internet`) and, as `1999`, the TCPs of HT, HK and ns-2's time. Differs from the kernels: a host is a table
//! of the keys of [`Tcp`], each of which a scenario may change. Leaves out settings of administrators, and segmentation offload.

use super::{DelayedAck, Increase, Open, Tcp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_transport::tcp::{AfterIdle, Hystart, LossRecovery, PathMtu, Variant};
use skyhop_units::{Amount, Bytes, Span};

/// The type of the hosts at both ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// Linux 6.18 as shipped: CUBIC over RACK-TLP, 10 segments, buffers that tune themselves up to 32 MiB to receive and 4 MiB to send.
    /// Windows grow by delivered data, so that the end of a repair adds nothing for data that SACK had reported.
    #[default]
    Linux,
    /// Windows 11 as shipped: CUBIC with HyStart++ over RACK-TLP, 10 segments, a window that tunes itself up to 16 MB.
    Windows,
    /// A host of the 1990s as described in publications: SACK with NewReno's recovery, 2 segments, a fixed window of 256 kB.
    #[serde(rename = "1999")]
    Y1999,
}

/// Initial window of a Linux receiver: 44 segments of 1460 bytes.
const LINUX_WINDOW: Bytes = Bytes::new(64_240);
/// Largest window of a Linux receiver, with `tcp_rmem[2]` of 32 MiB: 162/256 of it with packets of 1500 bytes, since the kernel's
/// own structures count too (measured: `crates/live/tests/linux.rs`).
const LINUX_WINDOW_MAX: Bytes = Bytes::new(21_233_664);
/// Payload in a Linux send buffer with room for ten segments: 20 times 2,304 bytes of memory.
const LINUX_SEND_BUFFER: Bytes = Bytes::new(45_600);
/// Payload in the largest Linux send buffer, with `tcp_wmem[2]` of 4 MiB, when it is filled by large writes (measured there too).
const LINUX_SEND_BUFFER_MAX: Bytes = Bytes::new(4_150_000);

impl Host {
    /// The host's TCP, with another variant and recovery if they are given.
    pub fn tcp(self, variant: Option<Variant>, recovery: Option<LossRecovery>) -> Tcp {
        match self {
            Host::Linux => linux(variant.unwrap_or(Variant::Cubic), recovery),
            Host::Windows => windows(variant.unwrap_or(Variant::Cubic), recovery),
            Host::Y1999 => y1999(variant.unwrap_or(Variant::SackNewReno)),
        }
    }
}

fn linux(variant: Variant, recovery: Option<LossRecovery>) -> Tcp {
    // These two variants detect losses with their own clocks and windows, and work with no other recovery.
    let own = matches!(variant, Variant::Tahoe | Variant::Vegas);
    let recovery = recovery.or((!own).then_some(LossRecovery::Rack));
    let pipe = matches!(recovery, Some(LossRecovery::Rack | LossRecovery::Rfc6675));
    Tcp {
        host: Host::Linux,
        recovery,
        window: Amount::Bytes(LINUX_WINDOW),
        window_max: Amount::Bytes(LINUX_WINDOW_MAX),
        send_buffer: Some(Amount::Bytes(LINUX_SEND_BUFFER)),
        send_buffer_max: Some(Amount::Bytes(LINUX_SEND_BUFFER_MAX)),
        initial_window: Amount::Packets(10),
        adaptive_reordering: true,
        undo: true,
        validate_window: !variant.law().needs_model(),
        hystart: if variant == Variant::Cubic { Hystart::Linux } else { Hystart::Off },
        rate_reduction: pipe && !variant.law().needs_model(),
        // Reno's window grows by the number of acknowledged segments, however many an acknowledgment covers.
        byte_counting: (variant.is_recovery() || variant == Variant::Reno).then_some(64),
        after_idle: if variant.law().needs_model() { AfterIdle::Keep } else { AfterIdle::Decay },
        timestamps: true,
        dsack: !own,
        delayed_ack: DelayedAck::Adaptive { least: Span::from_millis(40), most: Span::from_millis(200) },
        quick_acks: 16,
        rto_min: Span::from_millis(200),
        rto_variation_min: Span::from_millis(200),
        rto_max: Span::from_secs(120),
        rto_granularity: Span::from_millis(1),
        ..y1999(variant)
    }
}

fn windows(variant: Variant, recovery: Option<LossRecovery>) -> Tcp {
    let linux = linux(variant, recovery);
    Tcp {
        host: Host::Windows,
        window: Amount::Bytes(Bytes::new(65_535)),
        window_max: Amount::Bytes(Bytes::new(16 << 20)),
        send_buffer: None,
        send_buffer_max: None,
        hystart: if variant == Variant::Cubic { Hystart::Rfc9406 } else { Hystart::Off },
        after_idle: if variant.law().needs_model() { AfterIdle::Keep } else { AfterIdle::Restart },
        timestamps: false,
        delayed_ack: DelayedAck::OneShot { timeout: Span::from_millis(40) },
        quick_acks: 0,
        rto_min: Span::from_millis(300),
        rto_variation_min: Span::ZERO,
        ..linux
    }
}

fn y1999(variant: Variant) -> Tcp {
    let cubic = variant == Variant::Cubic;
    Tcp {
        host: Host::Y1999,
        variant,
        recovery: None,
        mss: Bytes::new(1460),
        path_mtu: PathMtu::Icmp,
        window: Amount::Bytes(Bytes::new(256_000)),
        window_max: Amount::Bytes(Bytes::new(256_000)),
        send_buffer: None,
        send_buffer_max: None,
        initial_window: Amount::Packets(2),
        initial_ssthresh: None,
        dupack_threshold: 3,
        adaptive_reordering: false,
        undo: false,
        validate_window: false,
        limited_transmit: true,
        burst_after_recovery: false,
        recovery_burst: None,
        increase: Increase::One,
        byte_counting: None,
        hystart: if cubic { Hystart::Rfc9406 } else { Hystart::Off },
        rate_reduction: cubic,
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
        delayed_ack: DelayedAck::OneShot { timeout: Span::from_millis(200) },
        ack_every: 2,
        ack_division: 1,
        quick_acks: 0,
        ack_gap_fillers: true,
        avoid_multiple_fast_retransmits: true,
        silly_window_avoidance: true,
        grow_unused: false,
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
