//! An open association: seals packets for the peer, and opens each of the peer's packets once.
//!
//! Follows RFC 4303 §3.4.3 for the order of steps: check the window, open, then mark.
//! Differs: a responder's address is fixed when the handshake ends, so packets from another address are dropped; an initiator may
//! move (`roaming`). Leaves out the end of an association (`associations`).

use crate::control::Message;
use crate::entropy::Entropy;
use crate::handshake::{Secrets, index_of, kind};
use crate::keys::PublicKey;
use crate::replay::{ReplayVerdict, ReplayWindow};
use crate::roaming::PathValidation;
use crate::seal::{Cipher, HEADER_LEN, OVERHEAD, Opener, Sealer};
use skyhop_units::{Span, Time};
use std::net::SocketAddr;
use std::ops::Range;

/// Counters of packets, by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Sealed packets that were opened.
    pub opened: u64,
    /// Packets dropped because they had been seen before.
    pub replayed: u64,
    /// Packets dropped because they were below the replay window.
    pub too_old: u64,
    /// Packets dropped because they were altered, or not sealed under the keys.
    pub forged: u64,
    /// Packets dropped because they belong to no known association, or did not come from the peer's address.
    pub unknown: u64,
    /// Packets dropped because they were of none of these protocols.
    pub garbage: u64,
    /// First packets.
    pub hellos: u64,
    /// First packets that had been seen before.
    pub repeated_hellos: u64,
    /// First packets of this host that were sent back to it.
    pub reflected_hellos: u64,
    /// Unused associations that were ended to make room for others.
    pub evicted: u64,
    /// Refused first packets.
    pub refused: u64,
    /// First packets that were answered with a cookie.
    pub cookies: u64,
}

/// Parameters of sealing and opening.
#[derive(Debug, Clone, Copy)]
pub struct Sealing {
    /// The cipher.
    pub cipher: Cipher,
    /// Smallest number of counters in the replay window: at least a bandwidth-delay product of packets.
    pub replay_window: u32,
    /// Binary logarithm of the number of packets per key.
    pub epoch_bits: u32,
}

/// Shortest interval between doubts about an association.
const DOUBT_INTERVAL: Span = Span::from_secs(2);

/// An open association.
pub struct Association {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The peer's public key, if the hosts have pairs of keys.
    pub key: Option<PublicKey>,
    /// Time at which a packet of the peer was last opened.
    pub heard_at: Time,
    /// True if the packet opened last is newer than all before.
    pub(crate) newest: bool,
    initiator: bool,
    peer_index: u32,
    sealer: Sealer,
    opener: Opener,
    window: ReplayWindow,
    validation: PathValidation,
    /// Time at which the peer was last suspected of having lost the association.
    doubted_at: Option<Time>,
}

impl Association {
    pub(crate) fn new(
        now: Time,
        peer: SocketAddr,
        peer_index: u32,
        sealing: Sealing,
        secrets: &Secrets,
        initiator: bool,
    ) -> Self {
        let (ours, theirs) =
            if initiator { (&secrets.forward, &secrets.back) } else { (&secrets.back, &secrets.forward) };
        Association {
            peer,
            key: None,
            heard_at: now,
            newest: false,
            initiator,
            peer_index,
            sealer: Sealer::new(sealing.cipher, ours, sealing.epoch_bits),
            opener: Opener::new(sealing.cipher, theirs, sealing.epoch_bits),
            window: ReplayWindow::new(sealing.replay_window),
            validation: PathValidation::default(),
            doubted_at: None,
        }
    }

    /// Seals the contents of `buffer` from `start` + [`HEADER_LEN`] on, and completes them to a datagram for the peer.
    pub fn seal(&mut self, buffer: &mut Vec<u8>, start: usize) {
        self.sealer.seal(kind::SEALED, self.peer_index, buffer, start);
    }

    /// A sealed packet with a control message.
    pub(crate) fn seal_message(&mut self, message: Message) -> Vec<u8> {
        let mut packet = vec![0; HEADER_LEN];
        message.emit(&mut packet);
        self.seal(&mut packet, 0);
        packet
    }

    /// Returns true if this host has opened the association.
    pub fn initiator(&self) -> bool {
        self.initiator
    }

    /// The peer's index of the association.
    pub(crate) fn peer_index(&self) -> u32 {
        self.peer_index
    }

    /// Returns true if `quote` is the beginning of a sealed packet that this host may have sent. Only a host that has seen such a packet
    /// knows its index and counter.
    pub(crate) fn has_sent(&self, quote: &[u8]) -> bool {
        let counter =
            quote.get(4..HEADER_LEN).and_then(|counter| counter.try_into().ok()).map(u64::from_be_bytes);
        quote.first() == Some(&kind::SEALED)
            && counter.is_some_and(|counter| self.has_sealed(index_of(&quote[1..]), counter))
    }

    /// Returns true if this host has sealed a packet with this index of the peer and this counter.
    pub(crate) fn has_sealed(&self, index: u32, counter: u64) -> bool {
        index == self.peer_index && counter < self.sealed()
    }

    /// The peer is suspected of having lost the association. Returns false if it was just now.
    pub(crate) fn doubt(&mut self, now: Time) -> bool {
        if self.doubted_at.is_some_and(|at| now.since(at) < DOUBT_INTERVAL) {
            return false;
        }
        self.doubted_at = Some(now);
        true
    }

    /// Challenges an address from which a packet newer than all before came: returns the bytes for it. `None` if the peer may not move, or
    /// if the last challenge was just now.
    pub(crate) fn challenge(&mut self, now: Time, to: SocketAddr, entropy: &dyn Entropy) -> Option<[u8; 8]> {
        if self.initiator {
            return None;
        }
        self.validation.challenge(now, to, entropy)
    }

    /// Handles the bytes of a challenge. Returns true if they prove that the peer is at this address.
    pub(crate) fn handle_response(&mut self, from: SocketAddr, token: [u8; 8]) -> bool {
        self.validation.handle_response(from, token)
    }

    /// Packets sealed so far.
    pub fn sealed(&self) -> u64 {
        self.sealer.counter()
    }

    /// Opens a sealed packet in place. Returns the position of its contents if it is genuine and new; from any address, if this
    /// host has not opened the association.
    pub fn open(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<Range<usize>> {
        if self.initiator && from != self.peer {
            counters.unknown += 1;
            return None;
        }
        if packet.len() < OVERHEAD {
            counters.garbage += 1;
            return None;
        }
        let counter = u64::from_be_bytes(packet[4..HEADER_LEN].try_into().ok()?);
        match self.window.check(counter) {
            ReplayVerdict::Fresh => {}
            ReplayVerdict::Replayed => {
                counters.replayed += 1;
                return None;
            }
            ReplayVerdict::TooOld => {
                counters.too_old += 1;
                return None;
            }
        }
        let Some(len) = self.opener.open(packet) else {
            counters.forged += 1;
            return None;
        };
        self.newest = self.window.is_newest(counter);
        self.window.mark(counter);
        self.heard_at = now;
        counters.opened += 1;
        Some(HEADER_LEN..HEADER_LEN + len)
    }
}

/// The receiver's index in a sealed packet.
pub(crate) fn sealed_index(packet: &[u8]) -> Option<u32> {
    (packet.len() >= OVERHEAD && packet[0] == kind::SEALED).then(|| index_of(&packet[1..4]))
}
