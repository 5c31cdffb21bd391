//! The states of a connection.
//!
//! Follows HT figure 5.4 and docs/stp.md §5: the states before a BGNAK tell what has been sent meanwhile.
//! Differs: a state is read off what has been sent and answered, and is never stored beside it.
//! Leaves out the application's calls.

/// States of docs/stp.md §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits for a BGN.
    Listen,
    /// A BGN has gone out, without data.
    BgnSent,
    /// A BGN and data have gone out.
    BgnDataSent,
    /// A BGN, all data and an END have gone out.
    BgnDataEndSent,
    /// Both know of each other; data flow.
    Established,
    /// This end has sent its END; the peer may still send.
    EndSent,
    /// The peer has sent its END; this end may still send.
    EndReceived,
    /// Both have sent theirs; at least one is not answered.
    Closing,
    /// Everything is acknowledged; copies of the peer's END are still answered.
    Linger,
    /// The connection is over.
    Closed,
}
