//! Limits of an association's memory at one end.
//!
//! Follows docs/stp.md §15.4 and §15.8: the defaults, and the minimum of every end.
//! Differs from `Config`, which has the limits of the path, such as the association's window; these are for streams and datagrams.
//! Leaves out packets held by the path.

use skyhop_units::Span;

/// Smallest receive window of any end for all its streams together, bytes; a peer assumes it until it is announced more.
pub(super) const LEAST_WINDOW: u64 = 64 << 10;

/// Bytes that count for each datagram that waits to be read, beside its data.
pub(super) const DATAGRAM_COST: u64 = 96;
/// Bytes that count for each stream, beside its data.
pub(super) const STREAM_COST: u64 = 1024;

/// The delay of datagrams that wait to leave, beyond which the oldest are dropped (CoDel, RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramDelay {
    /// Acceptable delay.
    pub target: Span,
    /// Time for which the delay may exceed the target: about the round trip of what is sent in them.
    pub interval: Span,
}

/// Budgets of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Largest number of bytes that a stream may hold, unread and behind gaps.
    pub stream_window: u64,
    /// Bytes that a stream may hold at its beginning. If it is less than `stream_window`, a stream that is read gets more, from
    /// memory not promised to others, so that streams that are not read leave room.
    pub first_window: u64,
    /// Largest number of streams that the peer may have open.
    pub streams: u64,
    /// Largest number of bytes of datagrams that wait to be read, and, up to 256 KiB, that wait to be sent.
    pub datagram_window: u64,
    /// The delay of datagrams that wait to leave, if it is to be bounded.
    pub datagram_delay: Option<DatagramDelay>,
    /// Largest number of bytes written to a stream and not known to have arrived.
    pub send_buffer: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            stream_window: 48 << 20,
            first_window: 48 << 20,
            streams: 4096,
            datagram_window: 256 << 10,
            datagram_delay: None,
            send_buffer: u64::MAX,
        }
    }
}

impl Budgets {
    /// The smallest budgets of any end, which a peer assumes until it is announced more.
    pub const LEAST: Budgets = Budgets {
        stream_window: 16 << 10,
        first_window: 16 << 10,
        streams: 16,
        datagram_window: 4 << 10,
        datagram_delay: None,
        send_buffer: u64::MAX,
    };

    /// These budgets and a window, such that an association which is used to the full takes at most `bytes` (three quarters of them for
    /// data, the rest for the costs of streams and datagrams), but no less than every end must have.
    pub fn within(self, window: u64, bytes: u64) -> (Self, u64) {
        let part = bytes / 8;
        let budgets = Self {
            streams: self.streams.min(part / STREAM_COST),
            // Datagrams of 32 bytes each are as many as are kept.
            datagram_window: self.datagram_window.min(part / (1 + DATAGRAM_COST / 32)),
            ..self
        };
        (budgets.at_least(), window.min(bytes / 4 * 3).max(LEAST_WINDOW))
    }

    /// Bytes that an association with these budgets and this window takes when it is used to the full.
    pub fn bytes_at_most(&self, window: u64) -> u64 {
        let all = self.at_least();
        // This end opens streams too.
        let datagrams = all.datagram_window + DATAGRAM_COST * all.datagram_window.div_ceil(32);
        window.max(LEAST_WINDOW) + STREAM_COST * all.streams + datagrams
    }

    /// These budgets, raised to the minimum where they are below it.
    pub(super) fn at_least(self) -> Self {
        let least = Self::LEAST;
        let stream_window = self.stream_window.max(least.stream_window);
        Self {
            stream_window,
            first_window: self.first_window.clamp(least.first_window, stream_window),
            streams: self.streams.max(least.streams),
            datagram_window: self.datagram_window.max(least.datagram_window),
            datagram_delay: self.datagram_delay,
            send_buffer: self.send_buffer.max(1),
        }
    }
}
