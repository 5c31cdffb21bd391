//! The packets that open an association, with a Noise handshake.
//!
//! Follows the Noise Protocol Framework, revision 34: NNpsk0 for a shared key, IK for a pair of keys; the cookie is that of RFC
//! 9147 §5.1. Differs: Noise ends with the second message; packets are then sealed by [`crate::seal`], with keys derived from
//! Noise's.
//! Leaves out data in the first packet: a packet that can be replayed must have no effect, so BGN and its data follow in the third.

use crate::cookie::COOKIE_LEN;
use crate::entropy::{Entropy, noise};
use crate::keys::{Keys, PATTERN, PublicKey};
use crate::seal::{Cipher, Secret};
use snow::{Builder, HandshakeState};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// First bytes of the packets of an association.
pub mod kind {
    /// First packet: version, pattern, cipher, index, length of the cookie, cookie, first message of Noise.
    pub const HELLO: u8 = 1;
    /// Answer: the peer's index, second message of Noise with the own index in it.
    pub const ANSWER: u8 = 2;
    /// Request to send the first packet again with this cookie.
    pub const COOKIE: u8 = 3;
    /// Refusal, with a reason.
    pub const REFUSED: u8 = 4;
    /// A sealed packet.
    pub const SEALED: u8 = 5;
    /// Message that the association of a sealed packet is unknown.
    pub const UNKNOWN: u8 = 6;
}

/// Version of the packet formats.
pub const VERSION: u8 = 1;
/// The pattern for a shared key, NNpsk0.
pub const SHARED: u8 = 1;
/// The pattern for a pair of keys, IK.
pub const PAIR: u8 = 2;

/// Indices of associations have 24 bits.
pub const INDEX_MASK: u32 = 0xff_ffff;

const HELLO_FIXED: usize = 8;
const ANSWER_FIXED: usize = 4;
const INDEX_LEN: usize = 3;
/// Bytes of an ephemeral key in cookies and refusals, so that only a host that has seen the first packet can forge them.
pub const ECHO_LEN: usize = 8;

/// The builder of a handshake.
fn builder(pattern: u8, entropy: &Arc<dyn Entropy>) -> Builder<'static> {
    let name = match pattern {
        SHARED => "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s",
        _ => PATTERN,
    };
    noise(name, entropy)
}

/// Reason of a peer for refusing an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The first packet cannot be opened: another key, or none of those allowed.
    Key = 1,
    /// Another version of the packets.
    Version = 2,
    /// One host has a shared key, the other a pair.
    Pattern = 3,
    /// The peer communicates without encryption only.
    PlainOnly = 4,
    /// The peer communicates with encryption only.
    SealedOnly = 5,
    /// The peer has reached its limit of associations.
    Full = 6,
}

impl RefusalReason {
    fn from_number(number: u8) -> Option<Self> {
        use RefusalReason::*;
        [Key, Version, Pattern, PlainOnly, SealedOnly, Full].into_iter().find(|r| *r as u8 == number)
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RefusalReason::Key => "the keys of the two hosts do not match",
            RefusalReason::Version => "the two hosts speak different versions of the association",
            RefusalReason::Pattern => "one host has a shared key and the other a pair of keys",
            RefusalReason::PlainOnly => "the peer speaks without encryption only (--insecure)",
            RefusalReason::SealedOnly => {
                "the peer speaks with encryption only, and this host does not (--insecure)"
            }
            RefusalReason::Full => "the peer has as many associations as it can",
        })
    }
}

/// A first packet.
#[derive(Debug, Clone, Copy)]
pub struct Hello<'a> {
    /// Version of the packets.
    pub version: u8,
    /// Pattern of the handshake.
    pub pattern: u8,
    /// Number of the cipher.
    pub cipher: u8,
    /// The initiator's index of the association.
    pub index: u32,
    /// The cookie, if there is one.
    pub cookie: &'a [u8],
    /// First message of Noise; begins with the ephemeral key.
    pub noise: &'a [u8],
    fixed: [u8; 6],
}

impl<'a> Hello<'a> {
    /// Parses a first packet of any version.
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = packet.split_at_checked(HELLO_FIXED)?;
        if fixed[0] != kind::HELLO || !matches!(usize::from(fixed[7]), 0 | COOKIE_LEN) {
            return None;
        }
        let (cookie, noise) = rest.split_at_checked(usize::from(fixed[7]))?;
        Some(Hello {
            version: fixed[1],
            pattern: fixed[2],
            cipher: fixed[3],
            index: index_of(&fixed[4..7]),
            cookie,
            // Shorter ones have no room for an ephemeral key and a tag.
            noise: (noise.len() >= 48).then_some(noise)?,
            fixed: fixed[1..7].try_into().ok()?,
        })
    }

    /// The ephemeral key, which identifies the attempt.
    pub fn ephemeral(&self) -> [u8; 32] {
        self.noise[..32].try_into().expect("parsing has seen to it")
    }
}

/// Parts of an answer: the initiator's index, the second message of Noise.
pub fn parse_answer(packet: &[u8]) -> Option<(u32, &[u8])> {
    let (fixed, noise) = packet.split_at_checked(ANSWER_FIXED)?;
    (fixed[0] == kind::ANSWER).then(|| (index_of(&fixed[1..4]), noise))
}

/// The packet that requires `cookie`.
pub fn cookie_packet(hello: &Hello<'_>, cookie: &[u8; COOKIE_LEN]) -> Vec<u8> {
    let mut packet = head(kind::COOKIE, hello.index);
    packet.extend_from_slice(&hello.noise[..ECHO_LEN]);
    packet.extend_from_slice(cookie);
    packet
}

/// The packet that refuses a first packet with this index and echo.
pub fn refusal_packet(reason: RefusalReason, index: u32, echo: &[u8; ECHO_LEN]) -> Vec<u8> {
    let mut packet = head(kind::REFUSED, index);
    packet.extend_from_slice(echo);
    packet.push(reason as u8);
    packet
}

/// Parts of a cookie packet: index, echo, cookie.
pub fn parse_cookie(packet: &[u8]) -> Option<(u32, &[u8], [u8; COOKIE_LEN])> {
    let cookie = packet.get(4 + ECHO_LEN..)?.try_into().ok()?;
    (packet[0] == kind::COOKIE).then(|| (index_of(&packet[1..4]), &packet[4..4 + ECHO_LEN], cookie))
}

/// Parts of a refusal: index, echo, reason.
pub fn parse_refusal(packet: &[u8]) -> Option<(u32, &[u8], RefusalReason)> {
    let reason = RefusalReason::from_number(*packet.get(4 + ECHO_LEN)?)?;
    let whole = packet.len() == 5 + ECHO_LEN && packet[0] == kind::REFUSED;
    whole.then(|| (index_of(&packet[1..4]), &packet[4..4 + ECHO_LEN], reason))
}

fn head(kind: u8, index: u32) -> Vec<u8> {
    (u32::from(kind) << 24 | index & INDEX_MASK).to_be_bytes().to_vec()
}

pub(crate) fn index_of(bytes: &[u8]) -> u32 {
    bytes.iter().take(3).fold(0, |index, byte| index << 8 | u32::from(*byte))
}

/// The secrets of both directions.
#[derive(Clone)]
pub struct Secrets {
    /// From initiator to responder.
    pub forward: Secret,
    /// From responder to initiator.
    pub back: Secret,
}

/// The initiator's side of a handshake.
pub struct Initiator {
    noise: HandshakeState,
    fixed: [u8; HELLO_FIXED],
    message: Vec<u8>,
    cookie: Option<[u8; COOKIE_LEN]>,
}

/// Constant prefix of the data that both sides mix into the handshake; the fixed part of the first packet follows it.
const PROLOGUE: &[u8] = b"skyhop stp association";

fn prologue(fixed: &[u8]) -> Vec<u8> {
    [PROLOGUE, fixed].concat()
}

impl Initiator {
    /// A handshake with these keys, and an ephemeral key drawn from `entropy`. `None` if the keys are invalid.
    pub fn new(keys: &Keys, cipher: Cipher, index: u32, entropy: &Arc<dyn Entropy>) -> Option<Self> {
        let number = pattern_of(keys);
        let i = index.to_be_bytes();
        let fixed = [kind::HELLO, VERSION, number, cipher as u8, i[1], i[2], i[3], 0];
        let prologue = prologue(&fixed[1..7]);
        let builder = builder(number, entropy).prologue(&prologue).ok()?;
        let mut noise = match keys {
            Keys::Shared(key) => builder.psk(0, key).ok()?,
            Keys::Pair { private, peers } => {
                builder.local_private_key(&private[..]).ok()?.remote_public_key(&peers.first()?.0).ok()?
            }
        }
        .build_initiator()
        .ok()?;
        let mut message = vec![0; 128];
        let len = noise.write_message(&[], &mut message).ok()?;
        message.truncate(len);
        Some(Initiator { noise, fixed, message, cookie: None })
    }

    /// The first packet, with the cookie if the responder has required one.
    pub fn packet(&self) -> Vec<u8> {
        let mut packet = self.fixed.to_vec();
        if let Some(cookie) = &self.cookie {
            packet[HELLO_FIXED - 1] = COOKIE_LEN as u8;
            packet.extend_from_slice(cookie);
        }
        packet.extend_from_slice(&self.message);
        packet
    }

    /// Returns true if `echo` is the beginning of this attempt's ephemeral key.
    pub fn echoes(&self, echo: &[u8]) -> bool {
        self.message.starts_with(echo)
    }

    /// Returns true if `quote` is the beginning of the first packet and includes its ephemeral key.
    pub fn begins(&self, quote: &[u8]) -> bool {
        let packet = self.packet();
        let told = packet.len() - self.message.len() + ECHO_LEN;
        let len = quote.len().min(packet.len());
        len >= told && packet[..len] == quote[..len]
    }

    /// The ephemeral key, which identifies this attempt.
    pub fn ephemeral(&self) -> [u8; 32] {
        self.message[..32].try_into().expect("Noise begins with it")
    }

    /// Stores the responder's cookie for the next first packet.
    pub fn take_cookie(&mut self, cookie: [u8; COOKIE_LEN]) {
        self.cookie = Some(cookie);
    }

    /// Handles the second message of Noise: returns the responder's index and the secrets. `None` if it was not made with the keys;
    /// a valid one may still arrive.
    pub fn finish(&mut self, message: &[u8]) -> Option<(u32, Secrets)> {
        let mut payload = [0; 64];
        let len = self.noise.read_message(message, &mut payload).ok()?;
        (len == INDEX_LEN).then(|| (index_of(&payload), split(&mut self.noise)))
    }
}

/// A responder's answer to a first packet.
pub struct HandshakeAnswer {
    /// The packet to send.
    pub packet: Vec<u8>,
    /// The secrets.
    pub secrets: Secrets,
    /// Public key of the initiator, if the hosts have pairs of keys.
    pub peer: Option<PublicKey>,
}

/// Answers a first packet. All failures look the same, whatever the cause.
pub fn answer(
    keys: &Keys,
    hello: &Hello<'_>,
    index: u32,
    entropy: &Arc<dyn Entropy>,
) -> Option<HandshakeAnswer> {
    let prologue = prologue(&hello.fixed);
    let builder = builder(hello.pattern, entropy).prologue(&prologue).ok()?;
    let mut noise = match keys {
        Keys::Shared(key) => builder.psk(0, key).ok()?,
        Keys::Pair { private, .. } => builder.local_private_key(&private[..]).ok()?,
    }
    .build_responder()
    .ok()?;
    let mut payload = [0; 64];
    if noise.read_message(hello.noise, &mut payload).ok()? != 0 {
        return None;
    }
    let mut peer = None;
    if let Keys::Pair { peers, .. } = keys {
        let key = PublicKey(noise.get_remote_static()?.try_into().ok()?);
        peer = Some(*peers.iter().find(|known| **known == key)?);
    }
    let mut packet = head(kind::ANSWER, hello.index);
    let mut message = [0; 128];
    // Inside the handshake, so that an alteration is noticed.
    let len = noise.write_message(&index.to_be_bytes()[4 - INDEX_LEN..], &mut message).ok()?;
    packet.extend_from_slice(&message[..len]);
    Some(HandshakeAnswer { packet, secrets: split(&mut noise), peer })
}

/// The handshake pattern for these keys.
pub fn pattern_of(keys: &Keys) -> u8 {
    match keys {
        Keys::Shared(_) => SHARED,
        Keys::Pair { .. } => PAIR,
    }
}

fn split(noise: &mut HandshakeState) -> Secrets {
    let (forward, back) = noise.dangerously_get_raw_split();
    Secrets { forward: Zeroizing::new(forward), back: Zeroizing::new(back) }
}
