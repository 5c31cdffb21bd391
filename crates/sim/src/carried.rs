//! Datagrams of flows on their way through an association: in its queue, in its packets, and in the streams of large ones.
//!
//! Follows docs/stp.md §15.7: datagrams leave the queue in order, and those dropped are the oldest; each that leaves has an offset.
//! Differs from hosts, whose datagrams carry their bytes: here the association knows only lengths, and the rest is found by offset.
//! Leaves out the rules (`skyhop_splice::datagrams`), and the two gateways, which `carrying` drives.

use crate::twins::Twins;
use skyhop_splice::datagrams::{DatagramLoad, EarlyDatagrams};
use skyhop_transport::stp::{DatagramStats, Frames, PayloadLength};
use skyhop_units::Time;
use skyhop_wire::stp::{Frame, Packet};
use std::collections::VecDeque;

/// Datagrams kept after one that left later has arrived, in case the network has reordered them.
const OVERTAKEN_MOST: usize = 256;

/// A datagram of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CarriedDatagram {
    pub flow: u32,
    pub sent_at: Time,
    pub identification: u16,
}

/// A datagram in a packet of the association.
#[derive(Debug, Clone, Copy)]
struct InPacket {
    offset: u64,
    datagram: CarriedDatagram,
    /// One that left later has arrived, so that this one counts as lost.
    overtaken: bool,
}

/// The outcome of a datagram, for its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarriedFate {
    /// Dropped before it left: it was late, or the queue was full.
    Late,
    /// A later one has arrived.
    Lost,
    /// It has arrived after all.
    Found,
}

/// Datagrams that one side of an association sends.
#[derive(Debug, Default)]
pub(crate) struct DatagramSide {
    pub load: DatagramLoad,
    /// Datagrams that have arrived at the far side before their stream.
    pub early: EarlyDatagrams<u64, CarriedDatagram>,
    /// Datagrams in the association's queue, in order, and the number of those that have left it.
    waiting: VecDeque<CarriedDatagram>,
    left: u64,
    /// Datagrams in packets, in order of their offsets, and the first offset that has not been sent.
    sent: VecDeque<InPacket>,
    next: u64,
}

impl DatagramSide {
    /// Adds a datagram that the association's queue has taken.
    pub fn wait(&mut self, datagram: CarriedDatagram) {
        self.waiting.push_back(datagram);
    }

    /// Returns true if datagrams wait in the association's queue.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Notes the datagrams that have left the queue: those in a packet, and before them those that were dropped.
    pub fn leave(
        &mut self,
        stats: DatagramStats,
        packet: Option<&Packet<Frames<PayloadLength>>>,
        mut tell: impl FnMut(CarriedDatagram, CarriedFate),
    ) {
        let next = self.next;
        // A copy of a packet has nothing new.
        let fresh = |frame: &Frame<PayloadLength>| match frame {
            Frame::Datagram { offset, data: PayloadLength(bytes), .. } if *offset >= next => {
                Some((*offset, *bytes))
            }
            _ => None,
        };
        let frames = || packet.into_iter().flat_map(|packet| &packet.data).flat_map(|frames| &frames.0);
        let taken = frames().filter_map(fresh).count() as u64;
        let dropped = (stats.sent + stats.late).saturating_sub(self.left + taken) as usize;
        for datagram in self.waiting.drain(..dropped.min(self.waiting.len())) {
            tell(datagram, CarriedFate::Late);
        }
        for (offset, bytes) in frames().filter_map(fresh) {
            if let Some(datagram) = self.waiting.pop_front() {
                self.sent.push_back(InPacket { offset, datagram, overtaken: false });
            }
            self.next = offset + bytes;
        }
        self.left = stats.sent + stats.late;
    }

    /// Finds the datagram that has arrived with an offset. Those that left before it and have not arrived are lost, unless they come.
    pub fn arrive(
        &mut self,
        offset: u64,
        mut tell: impl FnMut(CarriedDatagram, CarriedFate),
    ) -> Option<CarriedDatagram> {
        let place = self.sent.binary_search_by_key(&offset, |one| one.offset).ok()?;
        let InPacket { datagram, overtaken, .. } = self.sent.remove(place)?;
        if overtaken {
            tell(datagram, CarriedFate::Found);
        }
        let before = self.sent.iter_mut().take(place).rev();
        for one in before.take_while(|one| !one.overtaken) {
            one.overtaken = true;
            tell(one.datagram, CarriedFate::Lost);
        }
        let overtaken = self.sent.partition_point(|one| one.overtaken);
        self.sent.drain(..overtaken.saturating_sub(OVERTAKEN_MOST));
        Some(datagram)
    }

    /// Forgets all, with the association. Those that have not arrived are lost.
    pub fn end(&mut self, mut tell: impl FnMut(CarriedDatagram, CarriedFate)) {
        let sent = self.sent.drain(..).filter(|one| !one.overtaken).map(|one| one.datagram);
        sent.chain(self.waiting.drain(..)).for_each(|datagram| tell(datagram, CarriedFate::Lost));
        *self = Self::default();
    }
}

/// The passage of a flow's datagrams between two gateways.
pub(crate) struct DatagramCarrier {
    /// Leg of the association on the flow's path; the one before leads to the near gateway, the one after on from the far one.
    pub leg: u8,
    /// Number of the association, and its side at the near gateway.
    pub association: u32,
    pub side: u8,
    /// Length of the preamble.
    pub preamble: u64,
    /// Number of the stream, once there is one.
    pub stream: Option<u64>,
    /// The far gateway has read the preamble.
    pub accepted: bool,
    /// Bytes written to the stream, and read from it.
    pub written: u64,
    pub read: u64,
    /// Datagrams in the stream, with the number of its bytes up to their ends.
    pub large: VecDeque<(u64, CarriedDatagram)>,
    pub twins: Twins,
}

impl DatagramCarrier {
    pub fn new(leg: u8, (association, side): (u32, u8), preamble: u64) -> Self {
        let (written, read) = (0, 0);
        let (stream, accepted, large) = (None, false, VecDeque::new());
        Self {
            leg,
            association,
            side,
            preamble,
            stream,
            accepted,
            written,
            read,
            large,
            twins: Twins::default(),
        }
    }

    /// Forgets the stream, which has ended. Returns the number of datagrams in it that are lost.
    pub fn end(&mut self) -> u64 {
        (self.stream, self.accepted, self.written, self.read) = (None, false, 0, 0);
        self.large.drain(..).count() as u64
    }

    /// The next datagram of which all bytes have been read.
    pub fn whole(&mut self) -> Option<CarriedDatagram> {
        self.large.pop_front_if(|(end, _)| *end <= self.read).map(|(_, datagram)| datagram)
    }
}

/// Datagrams of a flow in the associations on its path, by outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CarriedCounts {
    /// Datagrams that came to a gateway.
    pub entered: u64,
    /// Those that have left the far gateway.
    pub delivered: u64,
    /// Those dropped because they were late, or because too much waited.
    pub late: u64,
    /// Those that were lost, as far as that is known.
    pub lost: u64,
}

impl CarriedCounts {
    /// Datagrams of which the outcome is not known.
    pub fn pending(&self) -> u64 {
        self.entered - (self.delivered + self.late + self.lost).min(self.entered)
    }

    pub fn add(&mut self, fate: CarriedFate) {
        match fate {
            CarriedFate::Late => self.late += 1,
            CarriedFate::Lost => self.lost += 1,
            CarriedFate::Found => self.lost -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(n: u16) -> CarriedDatagram {
        CarriedDatagram { flow: 0, sent_at: Time::ZERO, identification: n }
    }

    /// A packet with datagrams of 100 bytes at these offsets.
    fn packet(offsets: &[u64]) -> Packet<Frames<PayloadLength>> {
        let frame = |&offset: &u64| Frame::Datagram { channel: 4, offset, data: PayloadLength(100) };
        Packet {
            source_port: 1,
            destination_port: 2,
            instance: 0,
            seq: 0,
            poll: None,
            data: Some(Frames(offsets.iter().map(frame).collect())),
            control: None,
        }
    }

    #[test]
    fn datagrams_are_found_by_offset_whatever_was_dropped_before_them() {
        let mut side = DatagramSide::default();
        (0..8).for_each(|n| side.wait(datagram(n)));
        let mut fates = Vec::new();
        let mut tell = |of: CarriedDatagram, fate| fates.push((of.identification, fate));
        let stats = |sent, late| DatagramStats { sent, late, ..DatagramStats::default() };
        // Two are late, two leave, and a copy of their packet follows.
        side.leave(stats(2, 2), Some(&packet(&[0, 100])), &mut tell);
        side.leave(stats(2, 2), Some(&packet(&[0, 100])), &mut tell);
        // One is late without a packet, then one more, and two leave.
        side.leave(stats(2, 3), None, &mut tell);
        side.leave(stats(4, 4), Some(&packet(&[200, 300])), &mut tell);
        assert!(!side.waits());
        let came = [100, 300, 0, 0].map(|offset| side.arrive(offset, &mut tell).map(|of| of.identification));
        assert_eq!(came, [Some(3), Some(7), Some(2), None]);
        use CarriedFate::{Found, Late, Lost};
        assert_eq!(fates, [(0, Late), (1, Late), (4, Late), (5, Late), (2, Lost), (6, Lost), (2, Found)]);
    }

    #[test]
    fn what_never_arrives_is_not_kept_for_ever() {
        let mut side = DatagramSide::default();
        let mut lost = 0;
        for n in 0..10_000_u64 {
            side.wait(datagram(n as u16));
            let stats = DatagramStats { sent: n + 1, ..DatagramStats::default() };
            side.leave(stats, Some(&packet(&[100 * n])), |_, _| lost += 1);
            if n % 2 == 0 {
                assert_eq!(side.arrive(100 * n, |_, _| lost += 1), Some(datagram(n as u16)));
            }
        }
        assert!(side.sent.len() <= OVERTAKEN_MOST + 2, "{}", side.sent.len());
        assert_eq!(lost, 4_999);
    }
}
