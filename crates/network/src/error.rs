//! The error for a checked scenario that cannot be built.
//!
//! Follows the scenario's errors: the key of the cause, and a message with the value and what is allowed.
//! Differs: file and line are not known here; the reader of the scenario adds them.
//! Leaves out mistakes that checking finds.

use std::fmt;

/// The error for a scenario that passes its checks but cannot be built, most often because of its orbital elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Key of the scenario that leads to the cause.
    pub key: String,
    /// The message, with the value and what is allowed.
    pub message: String,
}

impl BuildError {
    /// An error at a key.
    pub fn new(key: &str, message: impl fmt::Display) -> Self {
        Self { key: key.to_string(), message: message.to_string() }
    }

    /// An error in the file that a key names.
    pub fn in_file(key: &str, file: &str, message: impl fmt::Display) -> Self {
        Self { key: key.to_string(), message: format!("{file}: {message}") }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for BuildError {}
