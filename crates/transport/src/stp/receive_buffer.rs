//! Packets that have arrived: in order for the application, and behind gaps.
//!
//! Follows Q.2110's VR(R) and VR(H), and docs/stp.md §7 for the bound on what is stored.
//! Differs from a sequence of bytes: whole packets are kept, of any length up to the agreed maximum.
//! Leaves out the window in packets (`credit`) and the gaps themselves (`missing`).

use super::ready::ReadyData;
use skyhop_wire::stp::{Contents, Payload};
use std::collections::VecDeque;

/// Bound on the data that wait for the application, including those behind gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct HoldBound {
    /// The bound, bytes.
    pub bytes: u64,
    /// Bytes that count for each packet held or missing, in addition to its data. With zero the bound holds for data alone, and the next
    /// packet in order may exceed it.
    pub packet_cost: u64,
    /// Bytes that packets behind a gap leave free, so that the packet which closes the gap has room.
    pub next_packet: u64,
}

#[derive(Debug)]
pub(super) struct ReceiveBuffer<P> {
    /// VR(R): all packets before it have arrived.
    pub next: u64,
    /// VR(H): one past the highest number that has arrived or was announced.
    pub high: u64,
    /// The numbers from `next` to `high`.
    slots: VecDeque<Option<P>>,
    ready: ReadyData<P>,
    /// Bytes held behind gaps.
    behind_bytes: u64,
    pub bound: HoldBound,
    /// True if packets are put in order before they are passed on.
    ordered: bool,
}

impl<P: Payload> ReceiveBuffer<P> {
    /// Reads data in order: at most `most` bytes, and at most a packet.
    pub fn read(&mut self, most: usize) -> Option<P> {
        self.ready.read(most)
    }
}

impl<P: Contents> ReceiveBuffer<P> {
    pub fn new(first: u64, bound: HoldBound, ordered: bool) -> Self {
        Self {
            next: first,
            high: first,
            slots: VecDeque::new(),
            ready: ReadyData::default(),
            behind_bytes: 0,
            bound,
            ordered,
        }
    }

    /// The number before which the application has read all packets; packets that are not put in order have been passed on.
    pub fn unread(&self) -> u64 {
        if self.ordered { self.next - self.ready.pieces() as u64 } else { self.next }
    }

    /// Bytes in order that the application has not read.
    pub fn ready_bytes(&self) -> u64 {
        self.ready.bytes()
    }

    /// Packets held: in order for the application, and behind gaps.
    pub fn held(&self) -> usize {
        self.ready.pieces() + self.slots.len()
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> u64 {
        self.ready_bytes() + self.behind_bytes
    }

    /// Bytes held, and the cost of each packet that is held or missing.
    pub fn held_with_cost(&self, packet_cost: u64) -> u64 {
        self.held_bytes() + packet_cost * self.held() as u64
    }

    /// Returns true if there is room for data, and for the numbers before `high`.
    pub fn has_room(&self, number: u64, bytes: u64, high: u64) -> bool {
        let HoldBound { bytes: most, packet_cost, next_packet } = self.bound;
        if packet_cost == 0 {
            // Packets of the agreed size fit if their number does; the peer may have sent larger ones, before agreement or by mistake.
            return if number == self.next {
                self.ready_bytes() == 0 || self.ready_bytes() + bytes <= most
            } else {
                self.held_bytes() + bytes <= most
            };
        }
        let left = if number == self.next { 0 } else { next_packet };
        let numbers = high.saturating_sub(self.high);
        self.held_with_cost(packet_cost) + packet_cost * numbers + bytes + left <= most
    }

    /// Returns true if the numbers before `high` may be missing, as far as each of them has a cost.
    pub fn has_room_for_gap(&self, high: u64) -> bool {
        self.bound.packet_cost == 0 || self.has_room(high, 0, high)
    }

    /// The highest VR(H) for which there is room.
    pub fn high_most(&self) -> u64 {
        let HoldBound { bytes, packet_cost, next_packet } = self.bound;
        let room = bytes.saturating_sub(self.held_with_cost(packet_cost) + next_packet);
        room.checked_div(packet_cost).map_or(u64::MAX, |numbers| self.high + numbers)
    }

    /// Raises VR(H).
    pub fn extend(&mut self, high: u64) {
        self.slots.resize((high - self.next) as usize, None);
        self.high = high;
    }

    /// Stores a packet that was missing, of a number before VR(H). Returns the number of bytes that came into order.
    pub fn insert(&mut self, number: u64, data: P) -> u64 {
        if self.ordered { self.put_in_order(number, data) } else { self.hand_on(number, data) }
    }

    /// Stores a packet until all before it have arrived.
    fn put_in_order(&mut self, number: u64, data: P) -> u64 {
        self.behind_bytes += data.len() as u64;
        self.slots[(number - self.next) as usize] = Some(data);
        let mut bytes = 0;
        while let Some(slot) = self.slots.front_mut()
            && let Some(data) = slot.take()
        {
            self.slots.pop_front();
            self.next += 1;
            bytes += data.len() as u64;
            self.ready.push(data);
        }
        self.behind_bytes -= bytes;
        bytes
    }

    /// Passes a packet on at once, and only records its arrival.
    fn hand_on(&mut self, number: u64, data: P) -> u64 {
        self.slots[(number - self.next) as usize] = Some(P::default());
        while let Some(Some(_)) = self.slots.front() {
            self.slots.pop_front();
            self.next += 1;
        }
        let bytes = data.len() as u64;
        self.ready.push(data);
        bytes
    }

    /// The next packet, in order of arrival.
    pub fn take(&mut self) -> Option<P> {
        self.ready.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::stp::PayloadLength;

    fn buffer(bytes: u64, packet_cost: u64, ordered: bool) -> ReceiveBuffer<PayloadLength> {
        ReceiveBuffer::new(7, HoldBound { bytes, packet_cost, next_packet: 100 }, ordered)
    }

    #[test]
    fn packets_wait_behind_a_gap_or_are_handed_on() {
        for ordered in [true, false] {
            let mut buffer = buffer(1000, 0, ordered);
            buffer.extend(9);
            assert_eq!(buffer.insert(8, PayloadLength(30)), if ordered { 0 } else { 30 });
            assert_eq!((buffer.next, buffer.high, buffer.held_bytes()), (7, 9, 30));
            assert_eq!(buffer.insert(7, PayloadLength(20)), if ordered { 50 } else { 20 });
            assert_eq!((buffer.next, buffer.high, buffer.ready_bytes()), (9, 9, 50));
            let order = if ordered { [20, 30] } else { [30, 20] };
            assert_eq!([(); 2].map(|()| buffer.take()), order.map(|len| Some(PayloadLength(len))));
            assert_eq!((buffer.held(), buffer.held_bytes(), buffer.take()), (0, 0, None));
        }
    }

    #[test]
    fn a_packet_is_read_in_parts_and_counts_until_its_end() {
        let mut buffer = buffer(1000, 0, true);
        buffer.extend(8);
        buffer.insert(7, PayloadLength(50));
        assert_eq!((buffer.read(0), buffer.unread()), (None, 7));
        assert_eq!((buffer.read(20), buffer.unread()), (Some(PayloadLength(20)), 7));
        assert_eq!((buffer.read(99), buffer.unread()), (Some(PayloadLength(30)), 8));
        assert_eq!((buffer.read(99), buffer.ready_bytes()), (None, 0));
    }

    /// docs/stp.md §7: a receiver does not store more than its bound, but the application can always go on.
    #[test]
    fn the_bound_is_of_bytes_or_with_a_cost_of_each_packet() {
        let mut bytes = buffer(100, 0, true);
        assert!(bytes.has_room(7, 500, 8), "nothing waits, and it is the next");
        assert!(bytes.has_room(8, 100, 9) && !bytes.has_room(8, 101, 9));
        assert!(bytes.has_room_for_gap(1000) && bytes.high_most() == u64::MAX);
        bytes.extend(8);
        bytes.insert(7, PayloadLength(60));
        assert!(bytes.has_room(8, 40, 9) && !bytes.has_room(8, 41, 9));

        let mut costs = buffer(1000, 50, true);
        costs.extend(8);
        costs.insert(7, PayloadLength(50));
        assert_eq!(costs.held_with_cost(50), 100);
        assert!(costs.has_room(8, 850, 9) && !costs.has_room(8, 851, 9), "the next packet, and its cost");
        assert!(
            costs.has_room(9, 700, 10) && !costs.has_room(9, 701, 10),
            "another, which leaves room for the next"
        );
        assert_eq!(costs.high_most(), 8 + 16);
        assert!(costs.has_room_for_gap(24) && !costs.has_room_for_gap(25));
    }
}
