//! The sending half of a stream: what is written and has not left, and what of it has arrived.
//!
//! Follows docs/stp.md §15.3 and §15.5.
//! Differs from a connection's: what is under way lies in the path's packets, and comes back from there when it is to go elsewhere.
//! Leaves out whose turn it is (`rounds`) and packets (`outgoing`).

use super::super::source::{Source, WrittenData};
use super::rounds::Turn;
use skyhop_wire::stp::{Class, Payload};
use std::collections::BTreeMap;

/// State of a direction's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// More may be written.
    Open,
    /// The end is to leave, with the last data or alone.
    Due,
    Sent,
    Arrived,
}

#[derive(Debug)]
pub(super) struct StreamSending<P> {
    fresh: WrittenData<P>,
    /// Data left out of packets that were sent again, which is to leave in other packets.
    again: BTreeMap<u64, P>,
    again_bytes: u64,
    /// Offset of the next new byte.
    pub next: u64,
    /// The first byte that the peer does not accept.
    pub limit: u64,
    pub acked: u64,
    pub ending: Ending,
    /// The opening's class, sent with every frame until one has arrived.
    pub opening: Option<Class>,
    /// A frame of the stream has left.
    pub announced: bool,
    /// Number of changes of this half's class by the peer.
    pub change: u64,
    pub turn: Turn,
    /// The stream is among those served first.
    pub queued: bool,
    /// Its part of the bytes that could leave now, as counted.
    pub counted: u64,
    /// True if written data are not all known to have arrived, and their end will be reported.
    pub busy: bool,
    /// Bytes that may still wait to leave when the writer is to be told.
    pub wanted: Option<u64>,
}

impl<P: Payload> StreamSending<P> {
    pub fn new(class: Class, opens: bool, limit: u64) -> Self {
        Self {
            fresh: WrittenData::default(),
            again: BTreeMap::new(),
            again_bytes: 0,
            next: 0,
            limit,
            acked: 0,
            ending: Ending::Open,
            opening: opens.then_some(class),
            announced: !opens,
            change: 0,
            turn: Turn::new(class),
            queued: false,
            counted: 0,
            busy: false,
            wanted: None,
        }
    }

    pub fn write(&mut self, data: P, packet: usize) {
        self.busy = true;
        self.fresh.write(data, packet);
    }

    /// Bytes written and never sent.
    pub fn unsent(&self) -> u64 {
        self.fresh.waiting()
    }

    /// Bytes written and not known to have arrived.
    pub fn unacknowledged(&self) -> u64 {
        self.next - self.acked + self.unsent()
    }

    /// New bytes that the peer takes.
    pub fn ready(&self) -> u64 {
        self.unsent().min(self.limit.saturating_sub(self.next))
    }

    pub fn pieces(&self) -> usize {
        self.fresh.pieces() + self.again.len()
    }

    /// Takes back what never left.
    pub fn forget_unsent(&mut self) {
        self.fresh.clear();
    }

    /// New data of at most `most` bytes, with their offset, and whether the direction ends behind them.
    pub fn take(&mut self, most: usize) -> Option<(u64, P, bool)> {
        let data = self.fresh.take(most)?;
        let offset = self.next;
        self.next += data.len() as u64;
        Some((offset, data, self.end_rides()))
    }

    /// Returns true if what has just been taken is the last, and the end goes with it.
    fn end_rides(&mut self) -> bool {
        let rides = self.ending == Ending::Due && self.unsent() == 0;
        if rides {
            self.ending = Ending::Sent;
        }
        rides
    }

    /// Data that were left out of a packet.
    pub fn put_back(&mut self, offset: u64, data: P) {
        self.again_bytes += data.len() as u64;
        self.again.insert(offset, data);
    }

    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Offset and length of the first of them.
    pub fn again(&self) -> Option<(u64, usize)> {
        self.again.first_key_value().map(|(offset, data)| (*offset, data.len()))
    }

    /// The first of them, of at most `most` bytes.
    pub fn take_again(&mut self, most: usize) -> Option<(u64, P)> {
        let (offset, mut data) = self.again.pop_first()?;
        let taken = if data.len() > most {
            let head = data.split_to(most);
            self.again.insert(offset + most as u64, data);
            head
        } else {
            data
        };
        self.again_bytes -= taken.len() as u64;
        Some((offset, taken))
    }

    /// Returns true if an opening or an end has to go without data.
    pub fn is_bare(&self) -> bool {
        let opens = !self.announced && self.ready() == 0;
        (self.unsent() == 0 && self.ending == Ending::Due) || opens
    }

    /// Returns true if it ends with nothing sent, and needs no opening.
    pub fn ends_empty(&self) -> bool {
        self.ending == Ending::Due && self.opening.is_none() && self.next == 0 && self.unsent() == 0
    }

    /// Returns true if everything has arrived, the end included.
    pub fn complete(&self) -> bool {
        self.ending == Ending::Arrived && self.acked == self.next && self.unsent() == 0
    }

    /// Returns true if so little waits to leave that the writer is to be told, once.
    pub fn has_room(&mut self) -> bool {
        let unsent = self.unsent();
        self.wanted.take_if(|most| unsent <= *most).is_some()
    }

    /// Returns true if all that was written has arrived, and has not been told yet.
    pub fn all_arrived(&mut self) -> bool {
        self.busy && self.unacknowledged() == 0 && std::mem::take(&mut self.busy)
    }
}
