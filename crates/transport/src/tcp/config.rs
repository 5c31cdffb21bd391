//! TCP's parameters.
//!
//! Follows the names of the RFCs that define them.
//! Differs from a kernel's: windows are what the scenario says, never tuned on the way.
//! Leaves out per-route metrics.

use skyhop_units::Span;

/// Loss recovery and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Fast recovery ends with the first new acknowledgment (RFC 2001, 5681).
    Reno,
    /// Fast recovery ends when all that was outstanding is acknowledged; the timer restarts at the first partial
    /// acknowledgment only (RFC 6582 §4, "impatient").
    NewReno,
    /// The same, but the timer restarts at each partial acknowledgment ("slow but steady", HT 4.2.3).
    NewRenoSlowButSteady,
    /// Selective acknowledgments with NewReno's recovery phase (HK appendix).
    SackNewReno,
}

/// When data that arrived in order is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayedAck {
    /// Each segment at once.
    None,
    /// Every second segment, or a lone one after this time.
    OneShot(Span),
    /// Every second segment, or a lone one at the next beat of a clock with this period.
    Heartbeat(Span),
}

/// Parameters of a connection. The defaults suit a 1.5 Mbit/s geostationary path of 600 ms.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Loss recovery and congestion avoidance.
    pub variant: Variant,
    /// Largest payload plus options of a segment, as announced to the peer (RFC 6691).
    pub mss: u32,
    /// Receive buffer, bytes.
    pub window: u64,
    /// Congestion window after the handshake, bytes.
    pub initial_window: u64,
    /// First slow-start threshold, bytes; `None` is without limit.
    pub initial_ssthresh: Option<u64>,
    /// Duplicate acknowledgments that signal a loss.
    pub dupack_threshold: u32,
    /// New data on the duplicates before that (RFC 3042).
    pub limited_transmit: bool,
    /// When recovery ends, take the whole of ssthresh at once (RFC 6582 step 3, option 2) and not what is outstanding
    /// plus a segment (option 1).
    pub burst_after_recovery: bool,
    /// The most new segments that one acknowledgment may release during fast recovery; `None` is without limit.
    pub recovery_burst: Option<u32>,
    /// Timestamps option.
    pub timestamps: bool,
    /// SACK blocks in an acknowledgment, 1 to 4.
    pub sack_blocks: u8,
    /// When data is acknowledged.
    pub delayed_ack: DelayedAck,
    /// Timeout before the first sample.
    pub rto_initial: Span,
    /// Smallest timeout.
    pub rto_min: Span,
    /// Largest timeout.
    pub rto_max: Span,
    /// Step of the clock that measures round trips.
    pub rto_granularity: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            variant: Variant::SackNewReno,
            mss: 1460,
            window: 256_000,
            initial_window: 2920,
            initial_ssthresh: None,
            dupack_threshold: 3,
            limited_transmit: true,
            burst_after_recovery: false,
            recovery_burst: None,
            timestamps: false,
            sack_blocks: 3,
            delayed_ack: DelayedAck::OneShot(Span::from_millis(200)),
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_granularity: Span::from_millis(10),
        }
    }
}

impl Config {
    /// The shift that lets the window field announce `window` (RFC 7323 §2.2), 0 to 14.
    pub fn window_scale(&self) -> u8 {
        (0..14).find(|scale| self.window >> scale <= 65_535).unwrap_or(14)
    }

    /// Whether SACK is offered and accepted.
    pub fn sack(&self) -> bool {
        self.variant == Variant::SackNewReno
    }
}
