//! The states of a connection.
//!
//! Follows HT figure 5.4 and docs/stp.md §5: the states before a BGNAK depend on the packets sent meanwhile.
//! Differs: a state is derived from the packets sent and answered, and is not stored.
//! Leaves out the application's calls.

/// States of docs/stp.md §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits for a BGN.
    Listen,
    /// A BGN has been sent, without data.
    BgnSent,
    /// A BGN and data have been sent.
    BgnDataSent,
    /// A BGN, all data and an END have been sent.
    BgnDataEndSent,
    /// Both ends know of each other; data flow.
    Established,
    /// This end has sent its END; the peer may still send.
    EndSent,
    /// The peer has sent its END; this end may still send.
    EndReceived,
    /// Both ends have sent END; at least one is not answered.
    Closing,
    /// Everything is acknowledged; copies of the peer's END are still answered.
    Linger,
    /// The connection has ended.
    Closed,
}
