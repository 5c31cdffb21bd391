//! Events of a connection for its application.
//!
//! Follows docs/stp.md §5 for the ends of the directions.
//! Differs from TCP's: a connection that a peer or a silence has broken says why.
//! Leaves out the data, which the application reads from the connection.

use skyhop_wire::stp::Reason;

/// Events for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered, or a BGN has arrived.
    Connected,
    /// Number of bytes that have come into order since the last event of this kind.
    Received(u64),
    /// Everything written so far has been acknowledged.
    AllAcknowledged,
    /// All data of the peer have arrived in order; no more will follow.
    PeerFinished,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The connection is broken: by a packet of the peer, or by its silence.
    Reset(Reason),
}
