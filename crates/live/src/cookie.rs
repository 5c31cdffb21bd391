//! The stateless cookie: proof that a peer receives packets at its address.
//!
//! Follows RFC 9147 §5.1: the responder keeps no state, and recognises its own code over address and first packet.
//! Differs: the secret changes at intervals, and the previous one remains valid.
//! Leaves out keys: a cookie proves an address, not an identity.

use crate::entropy::{Entropy, random};
use ring::hmac;
use skyhop_units::{Span, Time};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a cookie.
pub const COOKIE_LEN: usize = 16;

/// Lifetime of a secret; a cookie is valid for one to two lifetimes.
const LIFETIME: Span = Span::from_secs(60);

/// A cookie.
pub type Cookie = [u8; COOKIE_LEN];

/// Creates and verifies cookies.
pub struct Cookies {
    secrets: [hmac::Key; 2],
    since: Time,
}

impl Cookies {
    /// A source of cookies with secrets drawn from `entropy`.
    pub fn new(now: Time, entropy: &dyn Entropy) -> Self {
        Cookies { secrets: [secret(entropy), secret(entropy)], since: now }
    }

    /// The cookie for an address and the ephemeral key of a first packet.
    pub fn make(&mut self, now: Time, from: SocketAddr, ephemeral: &[u8], entropy: &dyn Entropy) -> Cookie {
        self.turn(now, entropy);
        code(&self.secrets[0], from, ephemeral)
    }

    /// Returns true if the cookie is valid and not too old.
    pub fn good(
        &mut self,
        now: Time,
        from: SocketAddr,
        ephemeral: &[u8],
        cookie: &[u8],
        entropy: &dyn Entropy,
    ) -> bool {
        self.turn(now, entropy);
        // Compares all bytes, so that the time does not reveal how much of a guess was right.
        self.secrets.iter().any(|secret| {
            let right = code(secret, from, ephemeral);
            cookie.len() == COOKIE_LEN && right.iter().zip(cookie).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
        })
    }

    fn turn(&mut self, now: Time, entropy: &dyn Entropy) {
        let turns = now.since(self.since).as_nanos() / LIFETIME.as_nanos();
        for _ in 0..turns.min(2) {
            self.secrets.swap(0, 1);
            self.secrets[0] = secret(entropy);
        }
        self.since += LIFETIME * turns;
    }
}

fn secret(entropy: &dyn Entropy) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &random::<32>(entropy))
}

fn code(secret: &hmac::Key, from: SocketAddr, ephemeral: &[u8]) -> Cookie {
    let mut context = hmac::Context::with_key(secret);
    match from.ip() {
        IpAddr::V4(ip) => context.update(&ip.octets()),
        IpAddr::V6(ip) => context.update(&ip.octets()),
    }
    context.update(&from.port().to_be_bytes());
    context.update(ephemeral);
    let mut cookie = [0; COOKIE_LEN];
    cookie.copy_from_slice(&context.sign().as_ref()[..COOKIE_LEN]);
    cookie
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_cookie_is_good_where_it_was_made_and_for_two_minutes() {
        let entropy = SystemEntropy;
        let at = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut cookies = Cookies::new(at(0), &entropy);
        let (here, there) = ("192.0.2.1:9".parse().unwrap(), "192.0.2.1:10".parse().unwrap());
        let cookie = cookies.make(at(1), here, b"ephemeral", &entropy);
        assert!(cookies.good(at(2), here, b"ephemeral", &cookie, &entropy));
        assert!(!cookies.good(at(2), there, b"ephemeral", &cookie, &entropy));
        assert!(!cookies.good(at(2), here, b"another", &cookie, &entropy));
        assert!(!cookies.good(at(2), here, b"ephemeral", &cookie[..15], &entropy));
        assert!(cookies.good(at(61), here, b"ephemeral", &cookie, &entropy));
        assert!(!cookies.good(at(121), here, b"ephemeral", &cookie, &entropy));
    }
}
