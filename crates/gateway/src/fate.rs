//! The result of a connection's turn, and the causes of its end.
//!
//! Follows docs/stp.md §16 for the answers to clients and far gateways.
//! Leaves out the counters of ends (`counters`), and ending a connection (`gateway`).

use skyhop_splice::preamble::Answer;

/// The result of a connection's turn.
pub enum Fate {
    Stays,
    /// The connection has more work at once.
    Again,
    Over(End),
}

/// The cause of a connection's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both ends have received everything.
    Closed,
    /// The socket here and the stream are reset.
    Reset,
    /// The association is lost.
    Lost,
    /// The client is refused: here, or by the far gateway.
    Refused(Answer),
    /// The far gateway's client is refused, by this answer.
    Answered(Answer),
    /// The stream carries datagrams, and is passed to a flow of UDP.
    HandedOver,
}
