//! What is wrong with a scenario, and at which key.
//!
//! Follows compilers: a list of findings, of which the first few are told.
//! Differs from an error, which ends the reading: meaning is checked to the end.
//! Leaves out file and line; whoever read the file knows where a key stands.

use crate::error::MOST_PROBLEMS;
use crate::path::KeyPath;

/// Something wrong at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The key.
    pub path: KeyPath,
    /// What is wrong with it.
    pub message: String,
}

/// Findings, of which only so many are kept.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub list: Vec<Finding>,
    pub more: usize,
}

impl Findings {
    // Path and message are made only if they are kept: looking for the nearest of many names takes time.
    pub fn push(&mut self, path: impl FnOnce() -> KeyPath, message: impl FnOnce() -> String) {
        if self.list.len() < MOST_PROBLEMS {
            self.list.push(Finding { path: path(), message: message() });
        } else {
            self.more += 1;
        }
    }

    /// Notes a finding at `path` unless `fine`.
    pub fn require(&mut self, fine: bool, path: impl FnOnce() -> KeyPath, message: impl FnOnce() -> String) {
        if !fine {
            self.push(path, message);
        }
    }
}
