//! A peer whose address changes, because a NAT has dropped its binding or it has moved to another network.
//!
//! Follows RFC 9000 §9 and §8.2: a genuine packet from another address, newer than all others, makes this host challenge that
//! address, and the answer moves the association. Differs: until then all packets go to the old address, so that a copied packet
//! with another source diverts nothing, and the new address gets at most one small packet per interval.
//! Leaves out responders that move, and peers without encryption, which are identified by their addresses.

use crate::entropy::{Entropy, random};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;

/// Shortest interval between challenges.
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

/// A challenge of an address.
#[derive(Debug)]
struct PathChallenge {
    to: SocketAddr,
    token: [u8; 8],
    asked_at: Time,
}

/// The validation of the address to which a peer seems to have moved.
#[derive(Debug, Default)]
pub(crate) struct PathValidation {
    /// The last challenge, until it is answered.
    asked: Option<PathChallenge>,
}

impl PathValidation {
    /// Challenges an address: returns the bytes that are expected from there. `None` if the last challenge was just now.
    pub fn challenge(&mut self, now: Time, to: SocketAddr, entropy: &dyn Entropy) -> Option<[u8; 8]> {
        if self.asked.as_ref().is_some_and(|asked| now.since(asked.asked_at) < CHALLENGE_INTERVAL) {
            return None;
        }
        // The same challenge again: on a path longer than the interval its first answer is still in flight.
        let again = self.asked.as_ref().filter(|asked| asked.to == to).map(|asked| asked.token);
        let token = again.unwrap_or_else(|| random(entropy));
        self.asked = Some(PathChallenge { to, token, asked_at: now });
        Some(token)
    }

    /// Handles the bytes of a challenge. Returns true if they prove that the peer is at this address.
    pub fn handle_response(&mut self, from: SocketAddr, token: [u8; 8]) -> bool {
        self.asked.take_if(|asked| asked.to == from && asked.token == token).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn peer(host: u8) -> SocketAddr {
        ([192, 0, 2, host], 1).into()
    }

    #[test]
    fn an_address_is_proven_once_by_the_bytes_of_its_challenge() {
        let mut validation = PathValidation::default();
        let token = validation.challenge(NOW, peer(1), &SystemEntropy).expect("the first");
        assert!(!validation.handle_response(peer(2), token), "from elsewhere");
        assert!(!validation.handle_response(peer(1), token.map(|byte| !byte)), "other bytes");
        assert!(validation.handle_response(peer(1), token) && !validation.handle_response(peer(1), token));
    }

    #[test]
    fn a_challenge_is_repeated_after_an_interval_and_another_address_replaces_it() {
        let mut validation = PathValidation::default();
        let mut challenge =
            |ms, host| validation.challenge(NOW + Span::from_millis(ms), peer(host), &SystemEntropy);
        let first = challenge(0, 1);
        assert!(first.is_some() && [challenge(499, 1), challenge(499, 2)] == [None, None]);
        assert_eq!(challenge(500, 1), first);
        let other = challenge(1000, 2).expect("long after the last");
        assert_ne!(Some(other), first);
        assert!(!validation.handle_response(peer(1), first.expect("a challenge")));
        assert!(validation.handle_response(peer(2), other));
    }
}
