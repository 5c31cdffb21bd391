//! Sealing and opening packets: AEAD with an explicit counter, an authenticated header, and keys that change automatically.
//!
//! Follows RFC 8446 §5.3 for the nonce (a secret vector xor the counter) and §7.2 for the ratchet of secrets (HKDF).
//! Differs: a key's number is the upper part of the counter, so that a change of keys needs no message.
//! Leaves out changes of the cipher, which stays the same during an association.

use ring::aead::{self, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Size of the header of a sealed packet: type, receiver's index, counter; bytes.
pub const HEADER_LEN: usize = 12;
/// Size of the tag of a sealed packet, bytes.
pub const TAG_LEN: usize = 16;
/// Bytes that sealing adds to a packet.
pub const OVERHEAD: usize = HEADER_LEN + TAG_LEN;
// The simulator's packets are longer by the same amount.
const _: () = assert!(OVERHEAD == skyhop_wire::stp::SEAL_LEN as usize);

/// The secret from which the keys of one direction are derived.
pub type Secret = Zeroizing<[u8; 32]>;

/// The cipher of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cipher {
    /// AES-128 in GCM: faster on processors with AES instructions.
    #[default]
    Aes128Gcm = 1,
    /// ChaCha20 with Poly1305: faster on others.
    ChaCha20Poly1305 = 2,
}

impl Cipher {
    /// The cipher with this number in a first packet.
    pub fn from_number(number: u8) -> Option<Self> {
        [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305].into_iter().find(|c| *c as u8 == number)
    }

    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Cipher::Aes128Gcm => &aead::AES_128_GCM,
            Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cipher::Aes128Gcm => "aes-128-gcm",
            Cipher::ChaCha20Poly1305 => "chacha20-poly1305",
        })
    }
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305]
            .into_iter()
            .find(|c| c.to_string() == s)
            .ok_or_else(|| format!("\"{s}\" is no cipher: aes-128-gcm or chacha20-poly1305"))
    }
}

/// Binary logarithm of the number of packets per key. An AES-128-GCM key is safe for 2^28 packets of up to 2 kB (RFC 9001 §B.1).
pub const EPOCH_BITS: u32 = 26;

struct KeyEpoch {
    key: LessSafeKey,
    iv: [u8; 12],
    next: Secret,
}

struct KeyLength(usize);

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

/// Derives `out` from a secret, for the purpose `label`.
pub(crate) fn expand(secret: &[u8; 32], label: &[u8], out: &mut [u8]) {
    let prk = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, secret);
    // Both fail only for more than 255 hashes of output, and the longest here is one.
    prk.expand(&[label], KeyLength(out.len()))
        .and_then(|okm| okm.fill(out))
        .expect("a hash of output at most");
}

impl KeyEpoch {
    fn new(cipher: Cipher, secret: &Secret) -> Self {
        let algorithm = cipher.algorithm();
        let mut key = Zeroizing::new([0; 32]);
        let key = &mut key[..algorithm.key_len()];
        expand(secret, b"skyhop stp key", key);
        let mut iv = [0; 12];
        expand(secret, b"skyhop stp iv", &mut iv);
        let mut next = Zeroizing::new([0; 32]);
        expand(secret, b"skyhop stp next", &mut next[..]);
        let key = LessSafeKey::new(UnboundKey::new(algorithm, key).expect("a key of the cipher's length"));
        KeyEpoch { key, iv, next }
    }

    fn nonce(&self, counter: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, counter) in nonce[4..].iter_mut().zip(counter.to_be_bytes()) {
            *byte ^= counter;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Seals the packets of one direction, each under a counter of its own.
pub struct Sealer {
    cipher: Cipher,
    epoch: KeyEpoch,
    epoch_bits: u32,
    counter: u64,
}

impl Sealer {
    /// A sealer whose keys come from `secret` and change every 2^`epoch_bits` packets.
    pub fn new(cipher: Cipher, secret: &Secret, epoch_bits: u32) -> Self {
        Sealer { cipher, epoch: KeyEpoch::new(cipher, secret), epoch_bits, counter: 0 }
    }

    /// The counter of the next packet.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Seals the contents of `buffer` from `start` + [`HEADER_LEN`] on: writes the header with `kind` and the receiver's `index`
    /// before them, and appends the tag.
    pub fn seal(&mut self, kind: u8, index: u32, buffer: &mut Vec<u8>, start: usize) {
        let counter = self.counter;
        self.counter += 1;
        if counter != 0 && counter.trailing_zeros() >= self.epoch_bits {
            self.epoch = KeyEpoch::new(self.cipher, &self.epoch.next);
        }
        let (header, body) = buffer[start..].split_at_mut(HEADER_LEN);
        header[..4].copy_from_slice(&(u32::from(kind) << 24 | index).to_be_bytes());
        header[4..].copy_from_slice(&counter.to_be_bytes());
        let tag = self
            .epoch
            .key
            .seal_in_place_separate_tag(self.epoch.nonce(counter), aead::Aad::from(&*header), body)
            .expect("packets are shorter than 64 GB");
        buffer.extend_from_slice(tag.as_ref());
    }
}

/// Opens the packets of one direction.
pub struct Opener {
    cipher: Cipher,
    epoch_bits: u32,
    /// Number of `current`.
    number: u64,
    previous: Option<KeyEpoch>,
    current: KeyEpoch,
    next: Option<KeyEpoch>,
}

impl Opener {
    /// The counterpart of [`Sealer::new`].
    pub fn new(cipher: Cipher, secret: &Secret, epoch_bits: u32) -> Self {
        let current = KeyEpoch::new(cipher, secret);
        Opener { cipher, epoch_bits, number: 0, previous: None, current, next: None }
    }

    /// An opener that starts with the key of `counter`, at most `most` keys ahead; otherwise `None`. The counter is unproven: keep
    /// the opener only if it opens the packet.
    pub(crate) fn ahead(&self, counter: u64, most: u64) -> Option<Self> {
        let number = counter >> self.epoch_bits;
        let steps = number.checked_sub(self.number).filter(|steps| (1..=most).contains(steps))?;
        let (cipher, epoch_bits) = (self.cipher, self.epoch_bits);
        let current = (1..steps)
            .fold(KeyEpoch::new(cipher, &self.current.next), |epoch, _| KeyEpoch::new(cipher, &epoch.next));
        Some(Opener { cipher, epoch_bits, number, previous: None, current, next: None })
    }

    /// Opens a packet in place. Its contents then begin at [`HEADER_LEN`], with the length returned. `None` if it was not sealed
    /// under this direction's keys; its bytes are then unusable.
    pub fn open(&mut self, packet: &mut [u8]) -> Option<usize> {
        let (header, body) = packet.split_at_mut_checked(HEADER_LEN)?;
        let counter = u64::from_be_bytes(header[4..].try_into().ok()?);
        let number = counter >> self.epoch_bits;
        let epoch = if number == self.number {
            &self.current
        } else if number == self.number + 1 {
            // Derived at the first use and kept, so that forged packets do not cause a derivation each.
            self.next.get_or_insert_with(|| KeyEpoch::new(self.cipher, &self.current.next))
        } else if number + 1 == self.number {
            self.previous.as_ref()?
        } else {
            return None;
        };
        let opened =
            epoch.key.open_in_place(epoch.nonce(counter), aead::Aad::from(&*header), body).ok()?.len();
        if number > self.number {
            self.number = number;
            let next = self.next.take().expect("it has just opened a packet");
            self.previous = Some(std::mem::replace(&mut self.current, next));
        }
        Some(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(cipher: Cipher, epoch_bits: u32) -> (Sealer, Opener) {
        let secret = Zeroizing::new([7; 32]);
        (Sealer::new(cipher, &secret, epoch_bits), Opener::new(cipher, &secret, epoch_bits))
    }

    fn sealed(sealer: &mut Sealer, text: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; HEADER_LEN];
        packet.extend_from_slice(text);
        sealer.seal(5, 0x123456, &mut packet, 0);
        packet
    }

    #[test]
    fn every_bit_is_authenticated() {
        for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
            let (mut sealer, mut opener) = pair(cipher, EPOCH_BITS);
            let packet = sealed(&mut sealer, b"forty-two");
            assert_eq!(packet.len(), 9 + OVERHEAD);
            for bit in 0..packet.len() * 8 {
                let mut forged = packet.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(opener.open(&mut forged), None, "bit {bit}");
            }
            for len in 0..packet.len() {
                assert_eq!(opener.open(&mut packet[..len].to_vec()), None, "{len} bytes of it");
            }
            let mut right = packet;
            assert_eq!(opener.open(&mut right), Some(9));
            assert_eq!(&right[HEADER_LEN..HEADER_LEN + 9], b"forty-two");
        }
    }

    /// The bytes of the first packet, computed with another library, follow from the key schedule alone.
    #[test]
    fn keys_are_those_of_the_schedule() {
        let secret = [7; 32];
        let (mut key, mut iv) = ([0; 16], [0; 12]);
        expand(&secret, b"skyhop stp key", &mut key);
        expand(&secret, b"skyhop stp iv", &mut iv);
        let (mut sealer, _) = pair(Cipher::Aes128Gcm, EPOCH_BITS);
        sealed(&mut sealer, b"first");
        let mut packet = sealed(&mut sealer, b"second");
        iv[11] ^= 1;
        let key = LessSafeKey::new(UnboundKey::new(&aead::AES_128_GCM, &key).unwrap());
        let (header, body) = packet.split_at_mut(HEADER_LEN);
        assert_eq!(header, [5, 0x12, 0x34, 0x56, 0, 0, 0, 0, 0, 0, 0, 1]);
        let text =
            key.open_in_place(Nonce::assume_unique_for_key(iv), aead::Aad::from(&*header), body).unwrap();
        assert_eq!(text, b"second");
    }

    #[test]
    fn keys_move_on_and_stragglers_still_open() {
        let (mut sealer, mut opener) = pair(Cipher::Aes128Gcm, 4);
        let packets: Vec<_> = (0..100_u8).map(|n| sealed(&mut sealer, &[n])).collect();
        // In pairs in the wrong order, so that at each change of keys an old packet follows a new one.
        for pair in packets.chunks(2) {
            for packet in pair.iter().rev() {
                assert_eq!(opener.open(&mut packet.clone()), Some(1));
            }
        }
        assert_eq!(opener.open(&mut packets[85].clone()), Some(1), "the key before this one is kept");
        assert_eq!(opener.open(&mut packets[10].clone()), None, "older ones are gone");
        // A forged packet with the next key's number does not change the keys.
        let mut forged = packets[99].clone();
        forged[11] = 7 * 16;
        assert_eq!(opener.open(&mut forged), None);
        assert_eq!(opener.open(&mut packets[98].clone()), Some(1));
    }

    #[test]
    fn a_capture_that_begins_late_is_opened() {
        let (mut sealer, opener) = pair(Cipher::ChaCha20Poly1305, 4);
        let packets: Vec<_> = (0..100_u8).map(|n| sealed(&mut sealer, &[n])).collect();
        assert!(opener.ahead(5, 9).is_none(), "that is its own key");
        assert!(opener.ahead(99, 5).is_none(), "too far ahead");
        let mut late = opener.ahead(99, 6).unwrap();
        assert_eq!(late.open(&mut packets[99].clone()), Some(1));
        assert_eq!(late.open(&mut packets[95].clone()), None, "what came before is gone");
        assert_eq!(opener.ahead(40, 2).unwrap().open(&mut packets[40].clone()), Some(1));
    }
}
