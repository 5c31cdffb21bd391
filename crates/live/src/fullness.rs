//! Connections and associations that a host refuses because it has no place for them, by reason.
//!
//! Follows docs/stp-hosts.md (strangers and greedy guests). Leaves out the answer to the peer, which is `refusals`'.

use skyhop_units::{Span, Time};
use std::fmt;

/// Reason for which a host has no place for another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReason {
    /// As many as may wait for the application do.
    Backlog,
    /// The host has as many connections as it may.
    Connections,
    /// The peer has as many of the host's connections as one may have.
    Association,
    /// The host's memory, or the peer's share of it, is used up.
    Memory,
}

impl fmt::Display for FullReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FullReason::Backlog => "as many connections as may wait to be accepted",
            FullReason::Connections => "as many connections as this host may have",
            FullReason::Association => "as many connections as one peer may have",
            FullReason::Memory => "the memory for connections is used up",
        })
    }
}

/// Connections that were refused because there was no place for them, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusedConnections {
    /// As many as may wait for the application did.
    pub backlog: u64,
    /// The host had as many connections as it may.
    pub connections: u64,
    /// The peer had as many as one may have.
    pub association: u64,
    /// The memory of the host, or the peer's share of it, was used up.
    pub memory: u64,
    noticed_at: Option<Time>,
}

/// Time between two notices of refused connections.
const NOTICE_INTERVAL: Span = Span::from_secs(10);

impl RefusedConnections {
    /// The sum over all reasons.
    pub fn total(&self) -> u64 {
        self.backlog + self.connections + self.association + self.memory
    }

    pub(crate) fn count(&mut self, why: FullReason) {
        *match why {
            FullReason::Backlog => &mut self.backlog,
            FullReason::Connections => &mut self.connections,
            FullReason::Association => &mut self.association,
            FullReason::Memory => &mut self.memory,
        } += 1;
    }

    /// Returns true if the last notice of one was long ago.
    pub(crate) fn is_worth_a_notice(&mut self, now: Time) -> bool {
        let worth = self.noticed_at.is_none_or(|at| now.since(at) >= NOTICE_INTERVAL);
        if worth {
            self.noticed_at = Some(now);
        }
        worth
    }
}
