//! Transmission in granted slots: bytes leave in bursts, and packets are cut to fill them.
//!
//! Follows RLE of DVB-RCS2 (ETSI EN 301 545-2), which cuts packets across slots and frames, and AAL5 if packets are cells.
//! Differs: fragments and frames have no headers; the scenario states the payload of a slot.
//! Leaves out slots for single packets, and repair of a packet that has lost a burst.

use super::queue::Next;
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// The size and duration of the slots in which a link sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotShape {
    /// Payload of a slot, bytes.
    pub bytes: u32,
    /// Duration of a slot.
    pub time: Span,
}

/// Consecutive slots.
#[derive(Debug, Clone, Copy)]
struct Granted {
    /// Start of the first of them.
    begins: Time,
    slots: u32,
}

/// The cells or the packet on the transmitter.
pub(crate) enum Load<T> {
    Packet(Next<T>),
    /// Cells of packets that a switch has cut.
    Remains,
}

pub(crate) struct PartSent<T> {
    pub load: Load<T>,
    /// Bytes that have not been sent.
    left: u32,
    pub size: u32,
    /// Start of its first slot.
    pub began: Time,
    /// True if the far end can no longer reassemble it.
    pub spoilt: bool,
}

/// A packet or train whose last byte leaves.
pub(crate) struct Departed<T> {
    pub sending: PartSent<T>,
    /// End of its last slot.
    pub leaves: Time,
}

/// The slots granted to a link, and the packet that it is sending in them.
pub(crate) struct SlotBursts<T> {
    shape: SlotShape,
    granted: VecDeque<Granted>,
    sending: Option<PartSent<T>>,
    /// Bytes accepted so far.
    pub came: u64,
    /// Slots in which something was sent.
    pub used: u64,
    /// Packets accepted so far, and the sum of the times that they have spent in the link until `known`, ns.
    accepted: u64,
    inside_ns: u128,
    known: Time,
}

impl<T> SlotBursts<T> {
    pub fn new(shape: SlotShape) -> Self {
        Self {
            shape,
            granted: VecDeque::new(),
            sending: None,
            came: 0,
            used: 0,
            accepted: 0,
            inside_ns: 0,
            known: Time::ZERO,
        }
    }

    /// Counts the time up to `now` for `inside` packets.
    pub fn pass(&mut self, now: Time, inside: usize) {
        let passed = u128::from(now.since(self.known).as_nanos());
        self.inside_ns += passed * inside as u128;
        self.known = self.known.max(now);
    }

    /// Adds `span` to the sum for each of `count` packets that leave.
    pub fn stay(&mut self, span: Span, count: usize) {
        self.inside_ns += u128::from(span.as_nanos()) * count as u128;
    }

    /// Counts a packet that has been accepted.
    pub fn accept(&mut self, size: u32) {
        self.came += u64::from(size);
        self.accepted += 1;
    }

    /// Mean time from a packet's acceptance to the end of the slot in which its last byte leaves, s, and the packets accepted.
    pub fn access_delay(&self) -> Option<(f64, u64)> {
        (self.accepted > 0).then(|| (self.inside_ns as f64 / 1e9 / self.accepted as f64, self.accepted))
    }

    /// Adds `slots` from `begins` on, which is not before the end of the slots granted earlier.
    pub fn grant(&mut self, begins: Time, slots: u32) {
        self.granted.push_back(Granted { begins, slots });
    }

    pub fn sending(&self) -> Option<&PartSent<T>> {
        self.sending.as_ref()
    }

    /// Remaining bytes of the packet being sent.
    pub fn left(&self) -> u64 {
        self.sending.as_ref().map_or(0, |sending| u64::from(sending.left))
    }

    /// Marks the packet being sent as incomplete, because a part of it went to another receiver.
    pub fn spoil(&mut self) {
        if let Some(sending) = &mut self.sending {
            sending.spoilt = true;
        }
    }

    /// Takes back all slots that have not begun.
    pub fn revoke(&mut self) {
        self.granted.clear();
    }

    /// Takes back all slots, and the packet being sent, whose remainder is dropped.
    pub fn cut(&mut self) -> Option<PartSent<T>> {
        self.revoke();
        self.sending.take()
    }

    /// Start of the next slot; `None` if no more are granted.
    pub fn next_slot(&self) -> Option<Time> {
        self.granted.front().map(|granted| granted.begins)
    }

    /// Lets slots that begin by `now` pass unused.
    pub fn skip(&mut self, now: Time) {
        while let Some(first) = self.granted.front_mut()
            && first.begins <= now
        {
            let passed = now.since(first.begins).as_nanos() / self.shape.time.as_nanos().max(1) + 1;
            let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(first.slots);
            first.begins += self.shape.time * u64::from(passed);
            first.slots -= passed;
            if first.slots == 0 {
                self.granted.pop_front();
            }
        }
    }

    /// Sends in the next slot, which begins at `at`. `next` returns the following packet with its size, and `gone` takes each packet whose
    /// last byte has left. Returns the part of the slot that was used.
    pub fn send(
        &mut self,
        at: Time,
        mut next: impl FnMut() -> Option<(Load<T>, u32)>,
        mut gone: impl FnMut(Departed<T>),
    ) -> Span {
        let Some(first) = self.granted.front_mut() else { return Span::ZERO };
        first.begins += self.shape.time;
        first.slots -= 1;
        if first.slots == 0 {
            self.granted.pop_front();
        }
        let (mut room, leaves) = (self.shape.bytes, at + self.shape.time);
        while room > 0 {
            let mut sending = match self.sending.take() {
                Some(sending) => sending,
                None => {
                    let Some((load, size)) = next() else { break };
                    PartSent { load, left: size, size, began: at, spoilt: false }
                }
            };
            let part = sending.left.min(room);
            sending.left -= part;
            room -= part;
            if sending.left > 0 {
                self.sending = Some(sending);
            } else {
                gone(Departed { sending, leaves });
            }
        }
        if room == self.shape.bytes {
            return Span::ZERO;
        }
        self.used += 1;
        self.shape.time
    }
}
