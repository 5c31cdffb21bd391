//! Failures of connections, as an application sees them.
//!
//! Follows the kinds of `std::io::Error` that TCP's streams return.
//! Differs: the text names the cause. Leaves out time-outs of a call, after which the connection is as before.

use skyhop_transport::stp::Reason;
use std::io;

/// The failure of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    kind: io::ErrorKind,
    message: String,
}

impl Failed {
    pub fn new(kind: io::ErrorKind, message: impl Into<String>) -> Self {
        Failed { kind, message: message.into() }
    }

    /// The failure that the machine reports for this reason.
    pub(super) fn reset(reason: Reason) -> Self {
        let (kind, message) = match reason {
            Reason::Refused => {
                (io::ErrorKind::ConnectionRefused, "the peer does not listen at that port, or is full")
            }
            Reason::Silent => (io::ErrorKind::TimedOut, "the peer has been silent for too long"),
            Reason::Protocol => (io::ErrorKind::InvalidData, "the peer speaks another version of STP"),
            Reason::Versions(lowest, highest) => {
                let message = format!("the peer speaks STP's versions {lowest} to {highest}");
                return Failed::new(io::ErrorKind::InvalidData, message);
            }
            _ => (io::ErrorKind::ConnectionReset, "the peer has broken the connection off"),
        };
        Failed::new(kind, message)
    }

    pub(super) fn kind(&self) -> io::ErrorKind {
        self.kind
    }

    pub fn error(&self) -> io::Error {
        io::Error::new(self.kind, self.message.clone())
    }
}
