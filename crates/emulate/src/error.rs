//! Why a scenario cannot be emulated.

use std::fmt;
use std::io;

/// A failure, in words that say what was tried.
#[derive(Debug)]
pub enum Error {
    /// The scenario does not say what is needed: the key, and why.
    Scenario(String, String),
    /// The system refuses: what was tried, and its reason.
    System(String, io::Error),
    /// The system lacks something, and what to do about it.
    Lacking(String),
    /// An emulation that runs cannot do what is asked of it.
    Refused(String),
    /// The command cannot be started; the exit code of shells for it.
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

/// Adds what was tried.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|why| Error::System(what(), why.into()))
    }
}
