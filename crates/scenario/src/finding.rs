//! Mistakes in a scenario, with their keys.
//!
//! Follows compilers: a list of findings, of which the first few are reported.
//! Differs from an error that stops the reader: all checks are made.
//! Leaves out file and line, which the reader of the file knows.

use crate::error::MOST_PROBLEMS;
use crate::path::KeyPath;

/// A mistake at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Key of the mistake.
    pub path: KeyPath,
    /// Description of the mistake.
    pub message: String,
}

/// Findings, up to a largest number.
#[derive(Debug, Default)]
pub(crate) struct FindingList {
    pub list: Vec<Finding>,
    pub more: usize,
}

impl FindingList {
    // Path and message are made only if they are kept: the search for the nearest of many names takes time.
    pub fn push(&mut self, path: impl FnOnce() -> KeyPath, message: impl FnOnce() -> String) {
        if self.list.len() < MOST_PROBLEMS {
            self.list.push(Finding { path: path(), message: message() });
        } else {
            self.more += 1;
        }
    }

    /// Notes a finding at `path` unless `fine` is true.
    pub fn require(&mut self, fine: bool, path: impl FnOnce() -> KeyPath, message: impl FnOnce() -> String) {
        if !fine {
            self.push(path, message);
        }
    }
}
