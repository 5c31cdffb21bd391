//! The sending half of a stream: unsent data, and the arrival of sent data.
//!
//! Follows docs/stp.md §15.3 and §15.5.
//! Differs from a connection's: data in flight are in the path's packets, and return from there if they are to be sent in others.
//! Leaves out turns (`rounds`) and packets (`outgoing`).

use super::super::source::{Source, WrittenData};
use super::rounds::Turn;
use skyhop_wire::stp::{Class, Payload};
use std::collections::BTreeMap;

/// State of a direction's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// More data may be written.
    Open,
    /// The end must be sent, with the last data or alone.
    Due,
    Sent,
    Arrived,
}

impl Ending {
    /// Returns true once the end has left.
    pub fn is_sent(self) -> bool {
        matches!(self, Self::Sent | Self::Arrived)
    }
}

#[derive(Debug)]
pub(super) struct StreamSending<P> {
    fresh: WrittenData<P>,
    /// Data left out of retransmitted packets, to be sent in other packets.
    again: BTreeMap<u64, P>,
    again_bytes: u64,
    /// Offset of the next new byte.
    pub next: u64,
    /// The first byte that the peer does not accept.
    pub limit: u64,
    pub acked: u64,
    pub ending: Ending,
    /// Class in the opening, sent with every frame until one has arrived.
    pub opening: Option<Class>,
    /// True if a frame of the stream has been sent.
    pub announced: bool,
    /// Number of changes of this half's class by the peer.
    pub change: u64,
    pub turn: Turn,
    /// True if the stream is queued among the urgent frames.
    pub queued: bool,
    /// Its part of the count of bytes that could be sent now.
    pub counted: u64,
    /// True if written data are not all known to have arrived, so that their arrival will be reported.
    pub busy: bool,
    /// Number of unsent bytes at which the writer is to be notified.
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

    /// Bytes written and not sent.
    pub fn unsent(&self) -> u64 {
        self.fresh.waiting()
    }

    /// Bytes written and not known to have arrived.
    pub fn unacknowledged(&self) -> u64 {
        self.next - self.acked + self.unsent()
    }

    /// New bytes that the peer accepts.
    pub fn ready(&self) -> u64 {
        self.unsent().min(self.limit.saturating_sub(self.next))
    }

    pub fn pieces(&self) -> usize {
        self.fresh.pieces() + self.again.len()
    }

    /// Withdraws unsent data.
    pub fn forget_unsent(&mut self) {
        self.fresh.clear();
    }

    /// New data of at most `most` bytes, their offset, and true if the direction ends after them.
    pub fn take(&mut self, most: usize) -> Option<(u64, P, bool)> {
        let data = self.fresh.take(most)?;
        let offset = self.next;
        self.next += data.len() as u64;
        Some((offset, data, self.end_rides()))
    }

    /// Returns true if the data just taken are the last, so that they carry the end.
    fn end_rides(&mut self) -> bool {
        let rides = self.ending == Ending::Due && self.unsent() == 0;
        if rides {
            self.ending = Ending::Sent;
        }
        rides
    }

    /// Takes back data that were left out of a packet.
    pub fn put_back(&mut self, offset: u64, data: P) {
        self.again_bytes += data.len() as u64;
        self.again.insert(offset, data);
    }

    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Offset and length of the first such data.
    pub fn again(&self) -> Option<(u64, usize)> {
        self.again.first_key_value().map(|(offset, data)| (*offset, data.len()))
    }

    /// The first such data, of at most `most` bytes.
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

    /// Returns true if an opening or an end must be sent without data.
    pub fn is_bare(&self) -> bool {
        let opens = !self.announced && self.ready() == 0;
        (self.unsent() == 0 && self.ending == Ending::Due) || opens
    }

    /// Returns true if it ends with nothing sent, and needs no opening.
    pub fn ends_empty(&self) -> bool {
        self.ending == Ending::Due && self.opening.is_none() && self.next == 0 && self.unsent() == 0
    }

    /// Returns true if all data and the end have arrived.
    pub fn complete(&self) -> bool {
        self.ending == Ending::Arrived && self.acked == self.next && self.unsent() == 0
    }

    /// Returns true, once, if so little is unsent that the writer is to be notified.
    pub fn has_room(&mut self) -> bool {
        let unsent = self.unsent();
        self.wanted.take_if(|most| unsent <= *most).is_some()
    }

    /// Returns true, once, if all written data have arrived.
    pub fn all_arrived(&mut self) -> bool {
        self.busy && self.unacknowledged() == 0 && std::mem::take(&mut self.busy)
    }
}
