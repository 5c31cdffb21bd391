//! Why a checked scenario still cannot be built.
//!
//! Follows the scenario's errors: the key that leads to the cause, and a message with the value and what is allowed.
//! Differs: files and lines are not known here; whoever read the scenario adds them.
//! Leaves out what checking finds before.

use std::fmt;

/// Why a scenario cannot be built, beyond what checking it has found: most often the orbital elements it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The scenario's key that leads to the cause.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

impl BuildError {
    /// What is wrong with a key.
    pub fn new(key: &str, message: impl fmt::Display) -> Self {
        Self { key: key.to_string(), message: message.to_string() }
    }

    /// What is wrong in the file that a key names.
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
