//! Flow queues with controlled delay: each flow has its own queue with CoDel, and new flows go first.
//!
//! Follows RFC 8290 §4: hashing, the lists of new and old queues, deficits, and dropping from the longest queue.
//! Differs: flows are numbered, so the hash is of the number; each arriving packet makes room for itself, and not half a queue at once.
//! Leaves out classifiers other than the flow.

use super::codel::Control;
use super::flow_index::spread;
use super::heaviest::Heaviest;
use super::{Discarded, Fifo, Limit, Next, Waiting};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FqCodelConfig {
    /// Capacity of all queues together.
    pub limit: Limit,
    /// CoDel's target.
    pub target: Span,
    /// CoDel's interval.
    pub interval: Span,
    /// True to mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
    /// Bytes that a queue may send in one round.
    pub quantum: u32,
    /// Number of queues; flows with the same hash share one.
    pub queues: u32,
}

struct FqFlow<T> {
    fifo: Fifo<T>,
    control: Control,
    deficit: i64,
    listed: bool,
}

pub(crate) struct FqCodel<T> {
    config: FqCodelConfig,
    flows: Vec<FqFlow<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    heaviest: Heaviest,
    packets: usize,
    bytes: u64,
}

impl<T: Copy> FqCodel<T> {
    pub fn new(config: FqCodelConfig) -> Self {
        let flow = |_| FqFlow {
            fifo: Fifo::default(),
            control: Control::new(config.target, config.interval, config.ecn),
            deficit: 0,
            listed: false,
        };
        FqCodel {
            config,
            flows: (0..config.queues.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            heaviest: Heaviest::default(),
            packets: 0,
            bytes: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.packets
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>, out: &mut Discarded<T>) -> bool {
        let index = spread(packet.label.flow) % self.flows.len() as u32;
        let flow = &mut self.flows[index as usize];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.config.quantum);
            self.new.push_back(index);
        }
        self.packets += 1;
        self.bytes += packet.size as u64;
        let size = packet.size;
        flow.fifo.push(packet);
        // RFC 8290 §4.1: room is made at the head of the longest queue. The new packet is already in.
        let limit = self.config.limit;
        let over = |packets: usize, bytes: u64| {
            let (packets, bytes) = (packets as u64 - 1, bytes - u64::from(size));
            !limit.admits(packets, bytes, size, sending)
        };
        self.weigh(index as usize);
        while self.packets > 0 && self.bytes >= u64::from(size) && over(self.packets, self.bytes) {
            if !self.heaviest.watches() {
                self.heaviest.begin(self.flows.iter().map(|flow| flow.fifo.bytes));
            }
            let fattest = self.heaviest.first();
            let Some(dropped) = self.flows[fattest].fifo.pop() else { break };
            self.packets -= 1;
            self.bytes -= dropped.size as u64;
            out.push_back(dropped.packet);
            self.weigh(fattest);
        }
        true
    }

    /// Updates [`Heaviest`] after a change in length of queue `index`.
    #[inline]
    fn weigh(&mut self, index: usize) {
        if !self.heaviest.watches() {
            return;
        }
        if self.packets == 0 {
            self.heaviest.end();
        } else {
            self.heaviest.set(index, self.flows[index].fifo.bytes);
        }
    }

    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        let index = spread(packet.label.flow) % self.flows.len() as u32;
        let fifo = &mut self.flows[index as usize].fifo;
        let before = fifo.bytes;
        let filtered = fifo.filter(packet, out);
        self.bytes = self.bytes - before + fifo.bytes;
        self.weigh(index as usize);
        filtered
    }

    pub fn pop(&mut self, now: Time, out: &mut Discarded<T>) -> Option<Next<T>> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *if from_new { self.new.front() } else { self.old.front() }?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                if from_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                self.old.push_back(index);
                continue;
            }
            let (packets, bytes) = (flow.fifo.len(), flow.fifo.bytes);
            let next = flow.control.next(now, &mut flow.fifo, out);
            self.packets -= packets - flow.fifo.len();
            self.bytes -= bytes - flow.fifo.bytes;
            if let Some(packet) = next {
                flow.deficit -= i64::from(packet.size);
                self.weigh(index as usize);
                return Some(packet.into());
            }
            self.weigh(index as usize);
            let flow = &mut self.flows[index as usize];
            // RFC 8290 §4.2: an empty new queue becomes an old one for a round, so that it does not return as new at once.
            if from_new {
                self.new.pop_front();
                self.old.push_back(index);
            } else {
                self.old.pop_front();
                flow.listed = false;
            }
        }
    }

    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        for flow in &mut self.flows {
            flow.fifo.retain(lost, dropped);
        }
        self.packets = self.flows.iter().map(|f| f.fifo.len()).sum();
        self.bytes = self.flows.iter().map(|f| f.fifo.bytes).sum();
        self.heaviest.end();
    }
}
