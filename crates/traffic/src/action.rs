//! Actions that an application requests of its connections, and notices that it is handed.
//!
//! Follows the sockets of RFC 9293 §3.9.1 (open, send, close), and the events that a host reports to its user.
//! Differs: both ends of a flow are one machine, so requests need no parsing; payload is a number of bytes.
//! Leaves out the execution of actions, by a simulator or by a program with sockets.

/// One of the two hosts of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The host that opens connections.
    Client = 0,
    /// The host that accepts them.
    Server = 1,
}

/// An action that the application requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Opens connection number `connection`, which has not been used before.
    Open {
        /// Number of the connection.
        connection: u32,
    },
    /// Writes bytes after all that was written before.
    Write {
        /// Number of the connection.
        connection: u32,
        /// The writing end.
        end: End,
        /// Number of bytes.
        bytes: u64,
    },
    /// Closes one direction after all that was written.
    Shutdown {
        /// Number of the connection.
        connection: u32,
        /// The end whose direction closes.
        end: End,
    },
    /// Discards the bytes that are written but not sent, and closes this direction.
    StopWriting {
        /// Number of the connection.
        connection: u32,
        /// The end whose direction closes.
        end: End,
    },
}

/// A notice to the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppNotice {
    /// The handshake is complete at `end`.
    Opened {
        /// Number of the connection.
        connection: u32,
        /// The end that completed it.
        end: End,
    },
    /// Bytes have arrived in order at `end` since the last notice of this kind.
    Delivered {
        /// Number of the connection.
        connection: u32,
        /// The receiving end.
        end: End,
        /// Number of bytes.
        bytes: u64,
    },
    /// All bytes written by `end` are acknowledged.
    AllAcknowledged {
        /// Number of the connection.
        connection: u32,
        /// The end that wrote them.
        end: End,
        /// Number of bytes since the connection was opened.
        bytes: u64,
    },
    /// The other end has closed its direction, and `end` has received everything.
    PeerFinished {
        /// Number of the connection.
        connection: u32,
        /// The receiving end.
        end: End,
    },
    /// The peer of `end` has reset the connection.
    Reset {
        /// Number of the connection.
        connection: u32,
        /// The end that was reset.
        end: End,
    },
}
