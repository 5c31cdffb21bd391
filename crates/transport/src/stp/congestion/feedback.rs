//! The consequences of an answer, from which the congestion control learns.
//!
//! Follows docs/stp.md §6 and §8: bytes that have arrived, bytes that are missing, and the answered POLL.
//! Differs from a STAT, which lists packets by number: the sender has compared it with what it had sent.
//! Leaves out the state of the sender ([`super::AnswerSignals`]).

use super::answer::PollAnswer;
use skyhop_units::Span;

/// Consequences of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Feedback {
    pub rtt: Option<Span>,
    /// True if the answered POLL had been given up: the path is slower than its timeout, and not silent.
    pub late: bool,
    /// Bytes newly known to have arrived.
    pub acked: u64,
    /// Bytes newly known to be missing.
    pub lost: u64,
    /// Of those, the packets that were sent once, with numbers from the trial of a rate on.
    pub lost_on_trial: u32,
    /// Highest number newly known to be missing.
    pub lost_number: Option<u64>,
    /// SDs sent when the answered POLL left, and SDs arrived when it came.
    pub answer: Option<PollAnswer>,
    /// First number that the report does not cover.
    pub seen: u64,
    /// Data bytes of the largest packet newly known to have arrived, and of the largest that is missing again.
    pub largest: Largest,
}

/// Evidence that distinguishes a decreased MTU from losses.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Largest {
    pub arrived: usize,
    /// Size of the largest retransmitted packet that is missing again.
    pub missed_again: usize,
    /// Size of the largest packet that is missing, and whose contents are not all sent again.
    pub missed_once: usize,
}
