//! Limit on the bytes sent to an address that has not proven to be the peer's.
//!
//! Follows docs/stp-hosts.md, as RFC 9000 §8.1: the caller counts the bytes received from the address.
//! Differs from holding back all packets: answers, BGNAKs and POLLs are small and leave; only data and padded packets wait, and POLLs
//! at growing intervals request the proof.

use skyhop_wire::stp::HEADER_LEN;

/// Bytes that a POLL and an END can add to a packet of data.
const BESIDE: u64 = 8;

#[derive(Debug)]
pub(super) struct Allowance {
    bytes: u64,
    /// True if a POLL has requested the proof since data began to wait.
    asked: bool,
    /// True if the proof is required although no data wait.
    demanded: bool,
}

impl Default for Allowance {
    fn default() -> Self {
        Allowance { bytes: u64::MAX, asked: false, demanded: false }
    }
}

impl Allowance {
    /// Limits the next packet with data to `bytes`, STP's header included.
    pub fn set(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Requires the proof, whether or not data wait for it.
    pub fn demand(&mut self) {
        self.demanded = true;
    }

    /// Returns true if the proof is required: for the next data, of `next` bytes, or although none wait.
    pub fn lacks_proof(&self, next: Option<u64>) -> bool {
        let demanded = self.demanded && self.is_limited();
        demanded || next.is_some_and(|data| !self.allows_data(data, 0))
    }

    /// Returns true if the proof is missing.
    pub fn is_limited(&self) -> bool {
        self.bytes != u64::MAX
    }

    /// Returns true if a packet of `packet` bytes may leave.
    pub fn allows(&self, packet: u64) -> bool {
        packet <= self.bytes
    }

    /// Returns true if `data` bytes of data may leave together with `control` bytes.
    pub fn allows_data(&self, data: u64, control: usize) -> bool {
        self.allows(HEADER_LEN as u64 + control as u64 + BESIDE + data)
    }

    /// Returns true once when data begin to wait, so that the proof is requested.
    pub fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.asked, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_no_proof_is_required() {
        let mut allowance = Allowance::default();
        allowance.demand();
        assert!(!allowance.lacks_proof(Some(9000)) && !allowance.lacks_proof(None));
        allowance.set(100);
        assert!(allowance.lacks_proof(None));
    }

    #[test]
    fn data_wait_for_the_proof_with_what_leaves_beside_them() {
        let mut allowance = Allowance::default();
        let fits = 1000 - HEADER_LEN as u64 - BESIDE;
        allowance.set(1000);
        assert!(allowance.allows_data(fits, 0) && !allowance.allows_data(fits, 1) && allowance.allows(1000));
        assert!(!allowance.lacks_proof(Some(fits)) && allowance.lacks_proof(Some(fits + 1)));
        assert!(allowance.ask() && !allowance.ask(), "once when data begin to wait");
    }
}
