//! Limits of an association's memory at one end.
//!
//! Follows docs/stp.md §15.4 and §15.8: defaults, and what every end has at least.
//! Differs from `Config`: these are of streams and datagrams, that is of the path; the association's window is there.
//! Leaves out what the path itself holds.

/// The least receive window of any end for all its streams together, bytes: a peer assumes it until it hears of more.
pub(super) const LEAST_WINDOW: u64 = 64 << 10;

/// Budgets of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Most bytes that each stream may hold, unread and behind gaps.
    pub stream_window: u64,
    /// Bytes that each stream may hold from its beginning. If less than `stream_window`, a stream that is read gets more out of what
    /// others have not been promised, so that those that are not read leave room.
    pub first_window: u64,
    /// Streams that the peer may have open.
    pub streams: u64,
    /// Most bytes of datagrams that wait to be read, and most that wait to be sent.
    pub datagram_window: u64,
    /// Bytes written to a stream and not known to have arrived.
    pub send_buffer: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            stream_window: 48 << 20,
            first_window: 48 << 20,
            streams: 4096,
            datagram_window: 256 << 10,
            send_buffer: u64::MAX,
        }
    }
}

impl Budgets {
    /// The least budgets of any end, which a peer assumes until it hears of more.
    pub const LEAST: Budgets = Budgets {
        stream_window: 16 << 10,
        first_window: 16 << 10,
        streams: 16,
        datagram_window: 4 << 10,
        send_buffer: u64::MAX,
    };

    /// These, or the least where they are less.
    pub(super) fn at_least(self) -> Self {
        let least = Self::LEAST;
        let stream_window = self.stream_window.max(least.stream_window);
        Self {
            stream_window,
            first_window: self.first_window.clamp(least.first_window, stream_window),
            streams: self.streams.max(least.streams),
            datagram_window: self.datagram_window.max(least.datagram_window),
            send_buffer: self.send_buffer.max(1),
        }
    }
}
