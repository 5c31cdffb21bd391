//! A link that sends in granted slots.
//!
//! Follows [`crate::bursts`] for the transmission of packets in slots.
//! Differs from other links: its transmitter never starts on its own.
//! Leaves out the assignment of slots ([`crate::demand`]).

use crate::bursts::{Departed, Load, SlotBursts, SlotShape};
use crate::queue::Next;
use crate::{Link, Medium};
use skyhop_units::Time;

impl<T: Copy> Link<T> {
    /// Makes the link send only in slots of this shape, which [`Link::grant`] grants.
    pub fn send_in_slots(&mut self, shape: SlotShape) {
        self.bursts = Some(Box::new(SlotBursts::new(shape)));
        self.transmitter.command();
        self.wakes_to_send = true;
    }

    /// Grants consecutive `slots` from `begins` on; grants are in order of time.
    pub fn grant(&mut self, now: Time, begins: Time, slots: u32, medium: &impl Medium) {
        self.advance(now, medium);
        if let Some(bursts) = self.bursts.as_mut().filter(|_| slots > 0) {
            bursts.grant(begins, slots);
        }
    }

    /// For a link that sends in slots: waiting bytes, including the remainder of the packet being sent, and bytes accepted so far.
    pub fn demand(&mut self, now: Time, medium: &impl Medium) -> (u64, u64) {
        self.advance(now, medium);
        let Some(bursts) = &self.bursts else { return (0, 0) };
        (self.queue.bytes() + bursts.left(), bursts.came)
    }

    /// For a link that sends in slots: mean time from a packet's acceptance until its last byte leaves, up to `now`, s, and the number of
    /// accepted packets; `None` without any.
    pub fn access_delay(&mut self, now: Time, medium: &impl Medium) -> Option<(f64, u64)> {
        self.advance(now, medium);
        self.pass(now);
        self.bursts.as_ref()?.access_delay()
    }

    /// Slots in which the link has sent something.
    pub fn used_slots(&self) -> u64 {
        self.bursts.as_ref().map_or(0, |bursts| bursts.used)
    }

    /// Size of the packet that is being sent in slots, 0 for none.
    #[cold]
    pub(crate) fn sent_in_bursts(&self) -> u32 {
        self.bursts.as_ref().and_then(|bursts| bursts.sending()).map_or(0, |sending| sending.size)
    }

    #[cold]
    pub(crate) fn count_demand(&mut self, size: u32) {
        if let Some(bursts) = &mut self.bursts {
            bursts.accept(size);
        }
    }

    /// Counts the time that packets have been in a link that sends in slots, up to `now`.
    #[cold]
    pub(crate) fn pass(&mut self, now: Time) {
        let inside = self.queue.len();
        if let Some(bursts) = &mut self.bursts {
            bursts.pass(now, inside + usize::from(bursts.sending().is_some()));
        }
    }

    /// Sends in the slots that have begun by `now`; does nothing on a link without slots.
    #[inline(never)]
    pub(crate) fn burst(&mut self, now: Time, medium: &impl Medium) {
        let Some(mut bursts) = self.bursts.take_if(|bursts| bursts.next_slot().is_some_and(|at| at <= now))
        else {
            return;
        };
        let mut departed = Vec::new();
        while let Some(at) = bursts.next_slot().filter(|at| *at <= now) {
            let waits = self.extras.as_ref().is_some_and(|extras| extras.timeline.waits(at));
            if self.transmitter.is_paused() || waits {
                bursts.skip(at);
                continue;
            }
            if self.queue.len() == 0 && bursts.sending().is_none() {
                bursts.skip(now);
                continue;
            }
            let inside = self.queue.len() + usize::from(bursts.sending().is_some());
            bursts.pass(at, inside);
            let next = || {
                if let Some(size) = self.queue.take_remains(at, &mut self.discarded) {
                    return Some((Load::Remains, size));
                }
                let next = self.queue.pop(at, &mut self.discarded)?;
                let size = next.size;
                Some((Load::Packet(next), size))
            };
            let used = bursts.send(at, next, |left| departed.push(left));
            // Packets leave at the end of the slot.
            bursts.stay(used, departed.len());
            self.stats.busy += used;
            for Departed { sending, leaves } in departed.drain(..) {
                match sending.load {
                    Load::Packet(next) => self.leave(sending.began, leaves, sending.spoilt, next, medium),
                    Load::Remains => self.stats.bytes += u64::from(sending.size),
                }
            }
        }
        self.bursts = Some(bursts);
    }

    /// Completes a packet whose first byte was sent at `at`, on a link that sends in slots.
    pub(crate) fn leave(
        &mut self,
        at: Time,
        leaves: Time,
        spoilt: bool,
        next: Next<T>,
        medium: &impl Medium,
    ) {
        // The transmitter is free between slots, and its time is counted by slots.
        let (transmitter, busy) = (self.transmitter, self.stats.busy);
        match &self.extras {
            Some(extras) => {
                let out = extras.timeline.loses_at(leaves);
                self.leave_with_extras(at, leaves, out || spoilt, next, medium);
            }
            None => self.leave_plainly(at, leaves, spoilt, next, medium),
        }
        (self.transmitter, self.stats.busy) = (transmitter, busy);
    }
}
