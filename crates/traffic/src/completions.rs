//! Completed pages and transfers, each with its start, duration and size.
//!
//! Follows HT 4.2.4, where the measure of short transfers is the time that the user waits.
//! Differs: each is stored, so that medians and percentiles are exact.
//! Leaves out those in progress; their number is `started` minus the others.

use skyhop_units::{Span, Time};

/// A completed page or transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Time of the user's click, or of the arrival of the transfer.
    pub started: Time,
    /// Time from the start to its last byte.
    pub took: Span,
    /// Bytes of its replies, or of the transfer.
    pub bytes: u64,
    /// Number of replies.
    pub files: u32,
}

/// All completions of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// Number begun.
    pub started: u64,
    /// Number abandoned after a reset, or not begun because too many were open.
    pub failed: u64,
    /// Completions in order of time.
    pub all: Vec<Completion>,
}

impl Completions {
    /// All durations in ascending order, s.
    pub fn sorted_s(&self) -> Vec<f64> {
        let mut times: Vec<Span> = self.all.iter().map(|c| c.took).collect();
        times.sort_unstable();
        times.into_iter().map(Span::as_secs_f64).collect()
    }
}
