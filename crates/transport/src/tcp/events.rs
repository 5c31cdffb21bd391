//! What a connection tells its application.

/// Events for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// Number of bytes that have come into order since the last event of this kind.
    Received(u64),
    /// All data written so far have been acknowledged.
    AllAcknowledged,
    /// The peer has closed its direction; no more data will arrive.
    PeerFinished,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The peer has refused or reset the connection.
    Reset,
}
