//! Configuration of an end of an STP connection.
//!
//! Follows HT §5.1 and §5.2.1 (polls per round trip, threshold of a USTAT, window threshold); docs/stp.md §10 lists the defaults.
//! Differs: `Config::plain` is the papers' protocol, `Config::default` the extended one.
//! Leaves out addresses and keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Rate, Span};
use skyhop_wire::stp::Features;

/// Congestion control of an STP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StpCongestion")]
pub enum Congestion {
    /// TCP's slow start and congestion avoidance, counted in bytes, spread over the RTT (HT 5.1.2).
    Window,
    /// `max_rate` at all times, as promised by the network (HT 5.2.3).
    Rate,
    /// The path's rate, estimated from the spacing of packets at the receiver, and reduced when RTTs grow.
    Delay,
}

/// State of the path saved by an earlier connection (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedRate {
    /// Smallest round-trip time.
    pub rtt: Span,
    /// Rate reached, in network-layer bits.
    pub rate: Rate,
}

/// Configuration of one end.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Largest packet, STP's header included, bytes.
    pub packet_size: u32,
    /// Packet size that is known to pass; if it is smaller than `packet_size`, larger ones are probed.
    pub base_size: u32,
    /// Bytes of headers below STP that count against rates: 20 straight over IPv4, 28 over UDP.
    pub overhead: u32,
    /// Largest number of bytes that the receiver holds, unread or behind gaps; announced in packets of the largest size.
    pub window: u64,
    /// Features offered to the peer.
    pub features: Features,
    /// Congestion control.
    pub congestion: Congestion,
    /// Bytes that may be sent before the first answer.
    pub initial_window: u64,
    /// Packets that may be sent before the peer has announced its window.
    pub initial_credit: u32,
    /// Initial slow-start threshold, bytes; `None` means until the first loss.
    pub initial_ssthresh: Option<u64>,
    /// Lowest rate that the network allows, in network-layer bits per second.
    pub min_rate: Option<Rate>,
    /// Highest rate that the network allows, in network-layer bits per second.
    pub max_rate: Option<Rate>,
    /// Share of the round-trip time over which a window's packets are spread.
    pub spread: f64,
    /// Step of the timer that releases packets; at zero each leaves at its own time.
    pub granularity: Span,
    /// Largest part of a late timer's delay that is made up for by packets leaving together, if it exceeds `granularity`. In the
    /// simulator timers are never late.
    pub catch_up: Span,
    /// POLLs per round-trip time for a large window.
    pub polls_per_rtt: u32,
    /// Window, in packets, below which the last packet of each burst carries a POLL and no timer sends any.
    pub poll_threshold: u32,
    /// Smallest interval between POLLs.
    pub poll_interval_min: Span,
    /// Number of packets after a gap, including the one that reveals it, before the gap is reported.
    pub ustat_threshold: u32,
    /// Time that a USTAT waits for more gaps; unused in the plain format.
    pub ustat_delay: Span,
    /// Time that a STAT waits for packets that its POLL has overtaken.
    pub reordering_delay: Span,
    /// Largest number of copies of a retransmission if no new data wait: one, and more if losses are frequent.
    pub tail_copies: u32,
    /// Number of packets in which the first BGN is sent.
    pub begin_copies: u32,
    /// For congestion control by delay: round-trip times that exceed the smallest by this much, or by a quarter of it if that is
    /// more, indicate a queue.
    pub queue_target: Span,
    /// Timeout of BGN, END and unanswered POLLs before the first sample.
    pub rto_initial: Span,
    /// Smallest such timeout.
    pub rto_min: Span,
    /// Largest such timeout.
    pub rto_max: Span,
    /// Time without progress after which the connection is given up.
    pub silence: Span,
    /// Interval between POLLs of an idle connection.
    pub keep_alive: Option<Span>,
    /// Time for which a closed connection still answers.
    pub linger: Span,
    /// Saved state of an earlier connection.
    pub saved: Option<SavedRate>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_size: 1440,
            base_size: u32::MAX,
            overhead: 28,
            window: 64 << 20,
            features: Features::COMPACT.with(Features::REPORT),
            congestion: Congestion::Delay,
            initial_window: 10 * 1428,
            initial_credit: 64,
            initial_ssthresh: None,
            min_rate: None,
            max_rate: None,
            spread: 1.0,
            granularity: Span::ZERO,
            catch_up: Span::from_millis(20),
            polls_per_rtt: 3,
            poll_threshold: 10,
            poll_interval_min: Span::from_millis(10),
            ustat_threshold: 3,
            ustat_delay: Span::from_millis(20),
            reordering_delay: Span::from_millis(2),
            tail_copies: 3,
            begin_copies: 3,
            queue_target: Span::from_millis(10),
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(60),
            silence: Span::from_secs(120),
            keep_alive: None,
            linger: Span::from_secs(30),
            saved: None,
        }
    }
}

impl Config {
    /// The papers' protocol: plain packets of 1000 bytes with IP's header, TCP's window, one gap per USTAT.
    pub fn plain() -> Self {
        Self {
            packet_size: 980,
            overhead: 20,
            features: Features::PLAIN,
            congestion: Congestion::Window,
            initial_window: 968,
            poll_interval_min: Span::ZERO,
            ustat_delay: Span::ZERO,
            reordering_delay: Span::ZERO,
            tail_copies: 0,
            begin_copies: 1,
            ..Self::default()
        }
    }

    /// Payload of a packet that carries only data, bytes.
    pub fn max_payload(&self) -> u32 {
        self.packet_size.saturating_sub(skyhop_wire::stp::HEADER_LEN as u32).max(1)
    }

    /// Packets that may be sent before the peer has announced its window. With a promised rate the sender does not wait a round
    /// trip for that: it assumes that the peer's window equals its own.
    pub fn early_packets(&self) -> u64 {
        let promised = self.congestion == Congestion::Rate && self.max_rate.is_some();
        u64::from(self.initial_credit).max(if promised { self.window_packets() } else { 0 })
    }

    /// Window of the receiver in packets, limited to less than half the space of numbers.
    pub(super) fn window_packets(&self) -> u64 {
        (self.window / u64::from(self.max_payload())).clamp(1, (1 << 23) - 1)
    }
}
