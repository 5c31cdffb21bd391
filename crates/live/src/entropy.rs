//! Random bytes for machines: from the operating system on hosts, from a seed in tests.
//!
//! Differs from `ring`'s trait for the same purpose, which only the operating system's source implements.
//! Leaves out generators.

use ring::rand::{SecureRandom, SystemRandom};
use snow::Builder;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use std::sync::Arc;

/// Source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills all of `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's random numbers, suitable for keys.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "the one place where they come from")]
    fn fill(&self, bytes: &mut [u8]) {
        SystemRandom::new().fill(bytes).expect("the operating system has random numbers");
    }
}

/// `N` random bytes.
pub(crate) fn random<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

/// The builder of a Noise handshake by its name, with random numbers from `entropy`. Ciphers are `ring`'s, as in `seal`; X25519 and BLAKE2s
/// are `snow`'s own, because `ring` takes no private key from outside and has no BLAKE2.
pub(crate) fn noise(name: &str, entropy: &Arc<dyn Entropy>) -> Builder<'static> {
    let params = name.parse().expect("a name of the framework");
    Builder::with_resolver(params, Box::new(Primitives(entropy.clone())))
}

/// The public key of a private one.
pub(crate) fn public_of(private: &[u8; 32]) -> [u8; 32] {
    let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519).expect("a feature of the library");
    dh.set(private);
    dh.pubkey().try_into().expect("Curve25519's keys have 32 bytes")
}

struct Primitives(Arc<dyn Entropy>);

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Draws(self.0.clone())))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

struct Draws(Arc<dyn Entropy>);

impl Random for Draws {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill(bytes);
        Ok(())
    }
}
