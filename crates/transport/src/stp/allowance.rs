//! Bytes that may go to an address that has not proven to be the peer's.
//!
//! Follows docs/stp-hosts.md, as RFC 9000 §8.1: the caller knows what has come from there and counts.
//! Differs from holding packets back: answers, BGNAKs and POLLs are small and leave; only data and what is padded wait, and a POLL asks
//! for the proof, later and later.

use skyhop_wire::stp::HEADER_LEN;

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
    /// Limits the next packet with data to `bytes`, STP's header included.
    pub fn set(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Returns true if there is no limit.
    pub fn is_off(&self) -> bool {
        self.bytes == u64::MAX
    }

    /// Returns true if a packet of this many bytes may leave.
    pub fn allows(&self, packet: u64) -> bool {
        packet <= self.bytes
    }

    /// Returns true if `data` bytes of data may leave beside `control` bytes.
    pub fn allows_data(&self, data: u64, control: usize) -> bool {
        self.allows(HEADER_LEN as u64 + control as u64 + BESIDE + data)
    }

    /// True once: the proof is asked for when data begin to wait.
    pub fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.asked, true)
    }
}
