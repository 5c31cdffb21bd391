//! Reasons for which a scenario cannot be emulated.

use std::fmt;
use std::io;

/// A failure, with a message that says what was attempted.
#[derive(Debug)]
pub enum Error {
    /// The scenario lacks something: the key, and the reason.
    Scenario(String, String),
    /// The system refused: the attempted action, and the system's error.
    System(String, io::Error),
    /// The system lacks something; the message says what to do about it.
    Lacking(String),
    /// A running emulation refused a request.
    Refused(String),
    /// The command cannot be started; with the exit code that shells use.
    Command(String, u8),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Scenario(key, why) => write!(f, "{key}: {why}"),
            Error::System(what, why) => write!(f, "{what}: {why}"),
            Error::Lacking(what) | Error::Refused(what) | Error::Command(what, _) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

/// Adds the attempted action to an error.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|why| Error::System(what(), why.into()))
    }
}
