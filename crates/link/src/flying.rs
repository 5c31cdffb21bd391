//! Packets on their way to the far end of a link.
//!
//! Follows propagation: a packet that has left arrives, whatever happens to the transmitter.
//! Differs from a queue: a packet that is held back, or a copy, takes the place that its time of arrival has.
//! Leaves out the times of arrival, which the link determines when a packet leaves.

use crate::FlippedBit;
use skyhop_units::Time;
use std::collections::VecDeque;

/// A packet that has reached the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The packet, as it was handed in.
    pub packet: T,
    /// The far end when the packet was sent: the value of [`crate::Link::set_peer`] at that time.
    pub peer: u32,
    /// True if the packet is lost to errors; it used the link all the same.
    pub lost: bool,
    /// True if the queue has marked the packet (RFC 3168).
    pub marked: bool,
    /// True if the packet has a copy, which the caller must make and pass to [`crate::Link::duplicate`].
    pub duplicated: bool,
    /// The flipped bit of a corrupted packet; `lost` is also set, for callers without the bytes.
    pub corrupted: Option<FlippedBit>,
}

/// A packet and the time at which it arrives.
pub(crate) struct Flying<T> {
    pub at: Time,
    pub arrival: Arrival<T>,
}

/// All packets in flight, in order of arrival.
pub(crate) struct FlyingPackets<T> {
    flying: VecDeque<Flying<T>>,
}

impl<T: Copy> FlyingPackets<T> {
    pub fn new() -> Self {
        Self { flying: VecDeque::new() }
    }

    /// Number of packets in flight.
    pub fn len(&self) -> usize {
        self.flying.len()
    }

    /// Time of the first arrival.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.flying.front().map(|flying| flying.at)
    }

    /// Adds a packet that keeps its order: it arrives no earlier than the one before it.
    #[inline(always)]
    pub fn push(&mut self, at: Time, arrival: Arrival<T>) {
        let after = self.flying.back().map_or(Time::ZERO, |flying| flying.at);
        self.flying.push_back(Flying { at: at.max(after), arrival });
    }

    /// Adds a packet that keeps no order, after all that arrive no later.
    pub fn insert(&mut self, at: Time, arrival: Arrival<T>) {
        let place = self.flying.iter().rposition(|flying| flying.at <= at).map_or(0, |place| place + 1);
        self.flying.insert(place, Flying { at, arrival });
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Arrival<T>> {
        if self.flying.front()?.at > now {
            return None;
        }
        Some(self.flying.pop_front()?.arrival)
    }

    /// Loses each packet that arrives after `now` for which `lost` returns true; it arrives as lost. Returns their number.
    pub fn disturb(&mut self, now: Time, mut lost: impl FnMut() -> bool) -> u64 {
        let mut count = 0;
        let after = self.flying.iter_mut().filter(|flying| flying.at > now);
        for arrival in after.map(|flying| &mut flying.arrival).filter(|arrival| !arrival.lost) {
            arrival.lost = lost();
            arrival.duplicated &= !arrival.lost;
            count += u64::from(arrival.lost);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u32) -> Arrival<u32> {
        Arrival { packet: number, peer: 0, lost: false, marked: false, duplicated: true, corrupted: None }
    }

    #[test]
    fn packets_keep_their_order_unless_they_are_inserted() {
        let at = Time::from_nanos;
        let mut flying = FlyingPackets::new();
        // The second would overtake the first, as its receiver has come nearer.
        flying.push(at(10), packet(0));
        flying.push(at(8), packet(1));
        flying.insert(at(10), packet(2));
        flying.insert(at(9), packet(3));
        assert_eq!((flying.len(), flying.next_at()), (4, Some(at(9))));
        assert_eq!(flying.poll(at(8)), None);
        let order: Vec<_> =
            std::iter::from_fn(|| flying.poll(at(10))).map(|arrival| arrival.packet).collect();
        assert_eq!(order, [3, 0, 1, 2]);
    }

    #[test]
    fn a_disturbance_loses_packets_that_have_not_arrived_and_their_copies() {
        let at = Time::from_nanos;
        let mut flying = FlyingPackets::new();
        (0..4).for_each(|number| flying.push(at(number.into()), packet(number)));
        let mut drawn = 0;
        let mut every_second = || {
            drawn += 1;
            drawn % 2 == 1
        };
        assert_eq!(flying.disturb(at(0), &mut every_second), 2);
        assert_eq!(flying.disturb(at(0), || true), 1, "a lost packet is not lost again");
        let lost: Vec<_> =
            std::iter::from_fn(|| flying.poll(at(9))).map(|one| (one.lost, one.duplicated)).collect();
        assert_eq!(lost, [(false, true), (true, false), (true, false), (true, false)]);
    }
}
