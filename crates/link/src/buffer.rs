//! The packets that wait at a link: its queue, and the packets that the queue has discarded.
//!
//! Follows the queue's discipline (`queue`), and RFC 3449 §5.2.1 where acknowledgments are filtered.
//! Differs from the queue: discarded packets stay until the caller has polled them, as they were accepted.
//! Leaves out the transmitter, whose state the link tells at each call.

use crate::queue::{Discarded, Discipline, DropTail, Next, Queue, Waiting};
use skyhop_units::{Rate, Time};

/// A queue and its discarded packets.
pub(crate) struct LinkBuffer<T> {
    queue: Queue<T>,
    discarded: Discarded<T>,
    ack_filter: bool,
}

impl<T: Copy> LinkBuffer<T> {
    pub fn new(discipline: Discipline, rate: Rate) -> Self {
        Self { queue: Queue::new(discipline, rate), discarded: Discarded::new(), ack_filter: false }
    }

    /// Lets a later acknowledgment replace a waiting one of its connection.
    pub fn filter_acks(&mut self) {
        self.ack_filter = true;
        self.queue.keep_labels();
    }

    /// The queue, if it is a drop-tail queue: the common case, in which nothing is discarded.
    #[inline(always)]
    pub fn drop_tail(&mut self) -> Option<&mut DropTail<T>> {
        match &mut self.queue {
            Queue::DropTail(queue) => Some(queue),
            _ => None,
        }
    }

    /// Returns true if a switch cuts packets into cells, some of which may leave without their packet.
    pub fn cuts(&self) -> bool {
        matches!(self.queue, Queue::Ubr(_))
    }

    /// Returns true if the queue reads labels; if not, any label will do.
    pub fn reads_labels(&self) -> bool {
        self.queue.reads_labels()
    }

    /// Number of packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes of all packets that wait.
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Number of packets that are discarded and not yet polled.
    pub fn discarded(&self) -> usize {
        self.discarded.len()
    }

    /// Returns true if a discarded packet has not been polled.
    #[inline]
    pub fn has_discarded(&self) -> bool {
        !self.discarded.is_empty()
    }

    /// The next packet that the queue accepted and later discarded.
    #[inline]
    pub fn poll_discarded(&mut self) -> Option<T> {
        self.discarded.pop_front()
    }

    /// Lets an acknowledgment replace an earlier one, if acknowledgments are filtered. Returns false if it must be offered.
    #[inline]
    pub fn filter(&mut self, packet: &mut Waiting<T>) -> bool {
        self.ack_filter && self.queue.filter(packet, &mut self.discarded)
    }

    /// Adds a packet; returns false if it is refused. `sending` is the size of the packet on the transmitter, if there is one.
    #[inline]
    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>) -> bool {
        self.queue.offer(packet, sending, &mut self.discarded)
    }

    /// The next packet to be sent at `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Next<T>> {
        self.queue.pop(now, &mut self.discarded)
    }

    /// Bytes of cells that go before the next packet and belong to none, sent from `now` on.
    #[inline]
    pub fn take_remains(&mut self, now: Time) -> Option<u32> {
        self.queue.take_remains(now, &mut self.discarded)
    }

    /// Removes every packet for which `lost` returns true, in the order of service.
    pub fn retain(&mut self, lost: impl FnMut() -> bool, dropped: impl FnMut(T)) {
        self.queue.retain(lost, dropped);
    }

    /// Bytes by which errors spoil the packet that has just left with `size` bytes.
    #[inline]
    pub fn exposed(&self, size: u32) -> u32 {
        self.queue.exposed(size)
    }

    /// Time from which the next packet may leave, if the transmitter is free at `free`; `None` if there is none.
    #[inline]
    pub fn next_at(&self, free: Time) -> Option<Time> {
        self.queue.next_at(free)
    }

    /// Time at which a cell comes to an input port of an idle switch.
    pub fn next_cell(&self) -> Option<Time> {
        self.queue.next_cell()
    }
}
