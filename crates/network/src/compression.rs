//! Header compression on a wire, at both of its ends: the effect of a lost packet on the headers after it, and their repair.
//!
//! Follows RFC 1144 §4 (after a loss headers cannot be restored until a full one arrives) and RFC 2507 §10.1 and §10.2: if a header
//! fails its check, its differences are applied twice, as if the lost packet had had the same ones (`twice`); and the far end requests
//! a full header on the reverse direction (`requests`).
//! Differs: the checksum finds every wrongly restored header. A packet's length is fixed when it enters the queue: if packets wait when a
//! request arrives, the first to leave has the full header, and its additional bytes follow as a message.
//! Leaves out a store of packets whose headers may be restored later.

use skyhop_units::{Span, Time};
use skyhop_wire::{Compressor, DeltaFields, Packet};
use std::collections::BTreeMap;

/// Largest number of times that a header's differences are applied, for two lost packets.
const MOST_TIMES: u32 = 3;
/// Bytes of a request: type, count, kind and number of the connection, and the framing's type (RFC 2507 §10.2).
pub(crate) const REQUEST_B: u32 = 5;
/// Interval after which an unanswered request is repeated.
const ASK_AGAIN: Span = Span::from_secs(1);

/// Header compression on a wire.
#[derive(Default)]
pub(crate) struct Compression {
    pub twice: bool,
    pub requests: bool,
    compressor: Compressor,
    /// Compressed packets in the queue or in flight, with the differences in their headers.
    under_way: BTreeMap<u32, Option<DeltaFields>>,
    /// Connections, by account and number, that have lost a packet, and the time at which a full header was requested.
    broken: BTreeMap<(u32, u32), Option<Time>>,
    /// The last headers that were restored, if differences may be applied again.
    restored: BTreeMap<(u32, u32), DeltaFields>,
    /// Connections whose packets have full headers from this time on, until one has arrived.
    whole_from: BTreeMap<(u32, u32), Time>,
    /// Messages on this wire: requests to the compressor of the other direction, with a packet of the connection; `None` for the additional
    /// bytes of a full header.
    messages: BTreeMap<u32, Option<HeaderRequest>>,
}

/// A request for a full header: the connection, and a packet of it.
pub(crate) type HeaderRequest = ((u32, u32), Packet);

/// Additional bytes of a full header over a compressed one.
pub(crate) const WHOLE_B: u32 = 37;

/// Outcome of a packet at the far end of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restored {
    /// The packet is lost, on the wire or by decompression.
    pub lost: bool,
    /// A full header must be requested.
    pub asks: bool,
}

impl Compression {
    pub fn new(twice: bool, requests: bool) -> Self {
        Self { twice, requests, ..Self::default() }
    }

    /// Length of the packet with a compressed header, bytes; `None` if the header cannot be compressed.
    pub fn compressed_len(&self, packet: &Packet) -> Option<u32> {
        self.compressor.compressed_len(packet)
    }

    /// Records that the link has accepted the packet.
    pub fn taken(&mut self, id: u32, packet: &Packet, compressed: bool) {
        if compressed {
            let carried = self.twice.then(|| self.compressor.difference(packet)).flatten();
            self.under_way.insert(id, carried);
        } else {
            self.under_way.remove(&id);
        }
        self.compressor.sent(packet);
    }

    /// Handles a packet, sent from `left` on, that has reached the end of the wire or was lost on it.
    pub fn arrives(
        &mut self,
        [now, left]: [Time; 2],
        id: u32,
        connection: (u32, u32),
        packet: &Packet,
        lost: bool,
    ) -> Restored {
        let compressed = self.under_way.remove(&id);
        let broken = self.broken.get(&connection).copied();
        if lost {
            self.broken.entry(connection).or_default();
            return Restored { lost: true, asks: false };
        }
        let fits = match (compressed, broken) {
            (None, _) | (_, None) => true,
            (Some(carried), Some(_)) => {
                self.whole_from.get(&connection).is_some_and(|from| *from <= left)
                    || self.fits_again(connection, carried, packet)
            }
        };
        if fits {
            self.whole_from.remove(&connection);
            if broken.is_some() {
                self.broken.remove(&connection);
            }
            if self.twice
                && let Some(fields) = DeltaFields::of(packet)
            {
                self.restored.insert(connection, fields);
            }
            return Restored { lost: false, asks: false };
        }
        let asks = self.requests && broken.flatten().is_none_or(|at| now.since(at) >= ASK_AGAIN);
        if asks {
            self.broken.insert(connection, Some(now));
        }
        Restored { lost: true, asks }
    }

    /// Returns true if the differences, applied once more for one or two lost packets, restore the header.
    fn fits_again(&self, connection: (u32, u32), carried: Option<DeltaFields>, packet: &Packet) -> bool {
        let known = self.restored.get(&connection).zip(carried).zip(DeltaFields::of(packet));
        known.is_some_and(|((last, carried), header)| {
            (2..=MOST_TIMES).any(|times| last.plus(carried, times) == header)
        })
    }

    /// Records a message on this wire.
    pub fn send(&mut self, id: u32, message: Option<HeaderRequest>) {
        self.messages.insert(id, message);
    }

    /// Removes and returns the message with number `id`, if there is one.
    pub fn take_message(&mut self, id: u32) -> Option<Option<HeaderRequest>> {
        if self.messages.is_empty() { None } else { self.messages.remove(&id) }
    }

    /// Returns true if `id` is a message.
    pub fn is_message(&self, id: u32) -> bool {
        self.messages.contains_key(&id)
    }

    /// Handles a request for a full header: the next packet goes uncompressed, and so does the first of the waiting ones.
    pub fn refresh(&mut self, now: Time, (connection, packet): HeaderRequest) {
        self.compressor.forget(&packet);
        self.whole_from.insert(connection, now);
    }
}
