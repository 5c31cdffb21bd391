//! What came to an end: pages, exchanges and transfers, each with its start, its time and its size.
//!
//! Follows HT 4.2.4, where what counts for short transfers is how long the user waits.
//! Differs: every one is kept, so that medians and percentiles are exact.
//! Leaves out those that are under way; the difference of `started` and the rest says how many.

use skyhop_units::{Span, Time};

/// One that came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// When it began: the user clicked, the transfer was offered.
    pub started: Time,
    /// Until its last byte was there.
    pub took: Span,
    /// Bytes of its replies, or of the transfer.
    pub bytes: u64,
    /// Replies that it is made of.
    pub files: u32,
}

/// All of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// How many were begun.
    pub started: u64,
    /// How many were given up because a connection was broken, or not begun because too many were open.
    pub failed: u64,
    /// Those that came to an end, in the order in which they did.
    pub all: Vec<Completion>,
}

impl Completions {
    /// The times of all, shortest first, s.
    pub fn sorted_s(&self) -> Vec<f64> {
        let mut times: Vec<Span> = self.all.iter().map(|c| c.took).collect();
        times.sort_unstable();
        times.into_iter().map(Span::as_secs_f64).collect()
    }
}
