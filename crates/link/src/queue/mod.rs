//! Queue disciplines: which packets wait, which are dropped or marked, and which is sent next.
//!
//! Follows ns-2's drop-tail and RED, RFC 8289 (CoDel), RFC 8290 (FQ-CoDel), Shreedhar and Varghese (deficit round robin), RFC 3449,
//! Kota et al. 1999 (UBR+).
//! Differs from a kernel's: a packet is a number with a [`Label`], and one enum holds all disciplines, so that calls are static.
//! Leaves out shaping; the link's rate is the only one.

mod ack_filter;
mod codel;
mod drd;
mod drop_tail;
mod drr;
mod flow_index;
mod fq_codel;
mod heaviest;
mod ports;
mod priority;
mod red;
mod ubr;

pub use ack_filter::Ack;
pub use codel::CodelConfig;
pub use drd::DrdConfig;
pub use drr::DrrConfig;
pub use fq_codel::FqCodelConfig;
pub use priority::PriorityConfig;
pub use red::RedConfig;
pub use ubr::{CELL, CellOrder, UbrConfig, UbrPolicy, cells_of};

use ack_filter::Tail;
use codel::Codel;
use drd::Drd;
pub(crate) use drop_tail::DropTail;
use drr::Drr;
use fq_codel::FqCodel;
use priority::Priority;
use red::Red;
use skyhop_chance::Stream;
use skyhop_units::{Amount, Rate, Time};
use std::collections::VecDeque;
use ubr::Ubr;

/// Capacity of a queue, including the packet on the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Amount);

impl Limit {
    /// A limit of `n` packets.
    pub const fn packets(n: u64) -> Self {
        Limit(Amount::Packets(n))
    }

    /// Returns true if a packet of `size` bytes fits, with `packets` waiting ones of `bytes` in all and one of `sending` bytes on
    /// the transmitter.
    pub(crate) fn admits(self, packets: u64, bytes: u64, size: u32, sending: Option<u32>) -> bool {
        let Some(sending) = sending else { return true };
        match self.0 {
            Amount::Packets(limit) => packets + 1 < limit,
            Amount::Bytes(limit) => bytes + sending as u64 + size as u64 <= limit.get(),
        }
    }
}

/// The properties of a packet that queues can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Label {
    /// Number of the packet's flow.
    pub flow: u32,
    /// Priority band; 0 is sent first.
    pub band: u8,
    /// True if the packet is ECN-capable.
    pub ecn: bool,
    /// Classification of the packet for the acknowledgment filter.
    pub ack: Ack,
}

/// A queue discipline and its parameters.
#[derive(Debug, Clone)]
pub enum Discipline {
    /// First in, first out.
    DropTail(Limit),
    /// Random early detection, with the stream it draws from.
    Red(RedConfig, Stream),
    /// Derivative random drop, with the stream it draws from.
    Drd(DrdConfig, Stream),
    /// Controlled delay.
    Codel(CodelConfig),
    /// Flow queues with controlled delay.
    FqCodel(FqCodelConfig),
    /// Deficit round robin.
    Drr(DrrConfig),
    /// Strict priority.
    Priority(PriorityConfig),
    /// The buffer of an ATM switch; sizes of packets are those of their cells.
    Ubr(UbrConfig),
}

impl From<Limit> for Discipline {
    fn from(limit: Limit) -> Self {
        Discipline::DropTail(limit)
    }
}

/// A waiting packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<T> {
    pub packet: T,
    pub size: u32,
    pub label: Label,
    pub marked: bool,
    /// Time of arrival at the queue.
    pub since: Time,
}

/// The next packet to be sent.
pub(crate) struct Next<T> {
    pub packet: T,
    pub size: u32,
    pub marked: bool,
}

impl<T> From<Waiting<T>> for Next<T> {
    fn from(w: Waiting<T>) -> Self {
        Next { packet: w.packet, size: w.size, marked: w.marked }
    }
}

/// Waiting packets that a discipline has discarded.
pub(crate) type Discarded<T> = VecDeque<T>;

pub(crate) enum Queue<T> {
    DropTail(DropTail<T>),
    Tail(Box<Tail<T>>),
    Red(Box<Red<T>>),
    Drd(Box<Drd<T>>),
    Codel(Box<Codel<T>>),
    FqCodel(Box<FqCodel<T>>),
    Drr(Box<Drr<T>>),
    Priority(Box<Priority<T>>),
    Ubr(Box<Ubr<T>>),
}

impl<T: Copy> Queue<T> {
    pub fn new(discipline: Discipline, rate: Rate) -> Self {
        match discipline {
            Discipline::DropTail(limit) => Queue::DropTail(DropTail::new(limit)),
            Discipline::Red(config, chance) => Queue::Red(Box::new(Red::new(config, rate, chance))),
            Discipline::Drd(config, chance) => Queue::Drd(Box::new(Drd::new(config, chance))),
            Discipline::Codel(config) => Queue::Codel(Box::new(Codel::new(config))),
            Discipline::FqCodel(config) => Queue::FqCodel(Box::new(FqCodel::new(config))),
            Discipline::Drr(config) => Queue::Drr(Box::new(Drr::new(config))),
            Discipline::Priority(config) => Queue::Priority(Box::new(Priority::new(config))),
            Discipline::Ubr(config) => Queue::Ubr(Box::new(Ubr::new(config, rate))),
        }
    }

    /// Returns true if the discipline reads labels.
    pub fn reads_labels(&self) -> bool {
        !matches!(self, Queue::DropTail(_))
    }

    /// Makes the queue keep labels, so that acknowledgments can be filtered.
    pub fn keep_labels(&mut self) {
        if let Queue::DropTail(queue) = self {
            *self = Queue::Tail(Box::new(Tail::new(queue.limit())));
        }
    }

    /// Lets an acknowledgment replace an earlier one, which goes to `out`. Returns false if it must be offered to the queue.
    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        match self {
            Queue::DropTail(_) | Queue::Ubr(_) => false,
            Queue::Tail(queue) => queue.fifo.filter(packet, out),
            Queue::Red(queue) => queue.fifo.filter(packet, out),
            Queue::Drd(queue) => queue.fifo.filter(packet, out),
            Queue::Codel(queue) => queue.fifo.filter(packet, out),
            Queue::FqCodel(queue) => queue.filter(packet, out),
            Queue::Drr(queue) => queue.filter(packet, out),
            Queue::Priority(queue) => queue.filter(packet, out),
        }
    }

    /// Adds a packet; returns false if it is refused. `sending` is the size of the packet on the transmitter, if there is one.
    /// Packets discarded to make room go to `out`.
    #[inline(never)]
    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>, out: &mut Discarded<T>) -> bool {
        match self {
            Queue::DropTail(queue) => {
                let fits = queue.admits(packet.size, sending);
                if fits {
                    queue.push(packet.packet, packet.size);
                }
                fits
            }
            Queue::Tail(queue) => queue.offer(packet, sending),
            Queue::Red(queue) => queue.offer(packet, sending),
            Queue::Drd(queue) => queue.offer(packet, sending),
            Queue::Codel(queue) => queue.offer(packet, sending),
            Queue::FqCodel(queue) => queue.offer(packet, sending, out),
            Queue::Drr(queue) => queue.offer(packet, sending, out),
            Queue::Priority(queue) => queue.offer(packet, sending),
            Queue::Ubr(queue) => queue.offer(packet),
        }
    }

    /// The next packet to be sent at `now`. Packets dropped before it go to `out`.
    #[inline(never)]
    pub fn pop(&mut self, now: Time, out: &mut Discarded<T>) -> Option<Next<T>> {
        match self {
            Queue::DropTail(queue) => {
                let (packet, size) = queue.pop()?;
                Some(Next { packet, size, marked: false })
            }
            Queue::Tail(queue) => queue.pop(),
            Queue::Red(queue) => queue.pop(now),
            Queue::Drd(queue) => queue.pop(),
            Queue::Codel(queue) => queue.pop(now, out),
            Queue::FqCodel(queue) => queue.pop(now, out),
            Queue::Drr(queue) => queue.pop(),
            Queue::Priority(queue) => queue.pop(),
            Queue::Ubr(queue) => queue.pop(now),
        }
    }

    /// Removes every packet for which `lost` returns true, in the order of service (for several queues, first come first served).
    pub fn retain(&mut self, mut lost: impl FnMut() -> bool, mut dropped: impl FnMut(T)) {
        match self {
            Queue::DropTail(queue) => {
                for _ in 0..queue.len() {
                    let Some((packet, size)) = queue.pop() else { break };
                    if lost() {
                        dropped(packet);
                    } else {
                        queue.push(packet, size);
                    }
                }
            }
            Queue::Tail(queue) => queue.fifo.retain(&mut lost, &mut dropped),
            Queue::Red(queue) => queue.fifo.retain(&mut lost, &mut dropped),
            Queue::Drd(queue) => queue.fifo.retain(&mut lost, &mut dropped),
            Queue::Codel(queue) => queue.fifo.retain(&mut lost, &mut dropped),
            Queue::FqCodel(queue) => queue.retain(&mut lost, &mut dropped),
            Queue::Drr(queue) => queue.retain(&mut lost, &mut dropped),
            Queue::Priority(queue) => queue.retain(&mut lost, &mut dropped),
            Queue::Ubr(queue) => queue.retain(&mut lost, &mut dropped),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Queue::DropTail(queue) => queue.len(),
            Queue::Tail(queue) => queue.fifo.len(),
            Queue::Red(queue) => queue.fifo.len(),
            Queue::Drd(queue) => queue.fifo.len(),
            Queue::Codel(queue) => queue.fifo.len(),
            Queue::FqCodel(queue) => queue.len(),
            Queue::Drr(queue) => queue.len(),
            Queue::Priority(queue) => queue.len(),
            Queue::Ubr(queue) => queue.len(),
        }
    }

    /// Bytes by which errors spoil the packet that has just left with `size` bytes: those of its cells that left before it count too.
    #[inline]
    pub fn exposed(&self, size: u32) -> u32 {
        match self {
            Queue::Ubr(queue) => queue.whole(),
            _ => size,
        }
    }

    /// Bytes of all packets that wait.
    pub fn bytes(&self) -> u64 {
        match self {
            Queue::DropTail(queue) => queue.bytes(),
            Queue::Tail(queue) => queue.fifo.bytes,
            Queue::Red(queue) => queue.fifo.bytes,
            Queue::Drd(queue) => queue.fifo.bytes,
            Queue::Codel(queue) => queue.fifo.bytes,
            Queue::FqCodel(queue) => queue.bytes(),
            Queue::Drr(queue) => queue.bytes(),
            Queue::Priority(queue) => queue.bytes(),
            Queue::Ubr(queue) => queue.bytes(),
        }
    }

    /// Bytes of cells that go before the next packet and belong to none, sent from `now` on. Packets that have lost a cell by then go
    /// to `out`.
    pub fn take_remains(&mut self, now: Time, out: &mut Discarded<T>) -> Option<u32> {
        match self {
            Queue::Ubr(queue) => {
                queue.absorb(now, out);
                queue.take_remains(now)
            }
            _ => None,
        }
    }

    /// Time from which the next packet may leave, if the transmitter is free at `free`; `None` if there is none.
    #[inline]
    pub fn next_at(&self, free: Time) -> Option<Time> {
        match self {
            Queue::Ubr(queue) => queue.next_at(free),
            _ => (self.len() > 0).then_some(free),
        }
    }

    /// Time at which a cell comes to an input port of an idle switch.
    pub fn next_cell(&self) -> Option<Time> {
        match self {
            Queue::Ubr(queue) => queue.next_cell(),
            _ => None,
        }
    }
}

/// A FIFO of packets with their total length.
pub(crate) struct Fifo<T> {
    waiting: VecDeque<Waiting<T>>,
    pub bytes: u64,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Fifo { waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Fifo<T> {
    pub fn push(&mut self, packet: Waiting<T>) {
        self.bytes += packet.size as u64;
        self.waiting.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Waiting<T>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.size as u64;
        Some(packet)
    }

    pub fn pop_back(&mut self) -> Option<Waiting<T>> {
        let packet = self.waiting.pop_back()?;
        self.bytes -= packet.size as u64;
        Some(packet)
    }

    pub fn front(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        for _ in 0..self.waiting.len() {
            let Some(packet) = self.pop() else { break };
            if lost() {
                dropped(packet.packet);
            } else {
                self.push(packet);
            }
        }
    }
}
