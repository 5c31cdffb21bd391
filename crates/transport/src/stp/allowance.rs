//! Bytes that may go to an address that has not proven to be the peer's.
//!
//! Follows docs/stp-hosts.md, as RFC 9000 §8.1: the caller knows what has come from there and counts.
//! Differs from holding packets back: answers, BGNAKs and POLLs are small and leave; only data and what is padded wait, and a POLL asks
//! for the proof, later and later.

use super::connection::Connection;
use super::source::Source;
use skyhop_wire::stp::{Contents, HEADER_LEN};

/// Bytes that a POLL and an END may add to data.
const BESIDE: u64 = 8;

#[derive(Debug)]
pub(super) struct Allowance {
    bytes: u64,
    /// A POLL has asked since data began to wait.
    asked: bool,
}

impl Default for Allowance {
    fn default() -> Self {
        Allowance { bytes: u64::MAX, asked: false }
    }
}

impl Allowance {
    /// Returns true if so much may leave.
    pub fn allows(&self, bytes: u64) -> bool {
        bytes <= self.bytes
    }
}

impl<P: Contents, S: Source<P>> Connection<P, S> {
    /// The next packet has at most so many bytes, STP's header included, if data are in it. Without a call there is no limit.
    pub fn allow(&mut self, bytes: u64) {
        self.allowance.bytes = bytes;
    }

    /// Returns true if the next data may leave beside so many bytes of control.
    pub(super) fn allowed(&self, control: usize) -> bool {
        let packet = HEADER_LEN as u64 + control as u64 + BESIDE;
        self.allowance.bytes == u64::MAX || self.allowance.allows(packet + self.sender.next_size())
    }

    /// Returns true if data wait for nothing but the proof.
    pub(super) fn waits_for_proof(&self) -> bool {
        !self.allowed(0) && self.established() && (self.sender.has_new() || self.sender.has_retransmissions())
    }

    /// True once, when data begin to wait: the question is asked at once.
    pub(super) fn begins_to_wait(&mut self) -> bool {
        self.waits_for_proof() && !std::mem::replace(&mut self.allowance.asked, true)
    }
}
