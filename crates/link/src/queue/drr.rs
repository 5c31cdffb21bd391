//! Deficit round robin: flows take turns by bytes.
//!
//! Follows Shreedhar and Varghese 1995: a flow has a quantum per round and keeps the unused part while it has packets.
//! Differs: each flow has its own queue, found by its number, and none shares one; the paper's stealing drops from the longest queue.
//! Leaves out weights.

use super::flow_index::FlowIndex;
use super::heaviest::Heaviest;
use super::{Discarded, Fifo, Limit, Next, Waiting};
use std::collections::VecDeque;

/// Parameters of deficit round robin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrrConfig {
    /// Capacity of all flows together.
    pub limit: Limit,
    /// Bytes that a flow may send in one round.
    pub quantum: u32,
}

struct DrrFlow<T> {
    id: u32,
    fifo: Fifo<T>,
    deficit: u64,
}

pub(crate) struct Drr<T> {
    config: DrrConfig,
    /// State of flows. A flow without packets is removed at its turn, and its entry and buffer go to the next new flow.
    places: Vec<DrrFlow<T>>,
    free: Vec<u32>,
    index: FlowIndex,
    /// Indices of `places` in the order of their turns.
    round: VecDeque<u32>,
    /// True if the first flow of the round has had its quantum.
    granted: bool,
    heaviest: Heaviest,
    packets: usize,
    bytes: u64,
}

impl<T: Copy> Drr<T> {
    pub fn new(config: DrrConfig) -> Self {
        Drr {
            config,
            places: Vec::new(),
            free: Vec::new(),
            index: FlowIndex::default(),
            round: VecDeque::new(),
            granted: false,
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
        while !self.config.limit.admits(self.packets as u64, self.bytes, packet.size, sending) {
            if !self.heaviest.watches() {
                self.heaviest.begin(self.places.iter().map(|flow| flow.fifo.bytes));
            }
            let longest = self.heaviest.first();
            let Some(flow) = self.places.get_mut(longest) else { return false };
            // The longest queue is the packet's own, or no packet is left to drop.
            if flow.id == packet.label.flow {
                return false;
            }
            let Some(stolen) = flow.fifo.pop_back() else { return false };
            out.push_back(stolen.packet);
            self.gone(longest, stolen.size);
            self.forget_the_empty();
        }
        let place = self.place(packet.label.flow);
        let fifo = &mut self.places[place].fifo;
        self.packets += 1;
        self.bytes += packet.size as u64;
        fifo.push(packet);
        if self.heaviest.watches() {
            self.heaviest.set(place, fifo.bytes);
        }
        true
    }

    /// Index of the flow's entry, a new one if it has none.
    fn place(&mut self, id: u32) -> usize {
        let places = &self.places;
        if let Some(place) = self.index.find(id, |place| places[place as usize].id) {
            return place as usize;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(DrrFlow { id, fifo: Fifo::default(), deficit: 0 });
            self.places.len() as u32 - 1
        });
        let flow = &mut self.places[place as usize];
        (flow.id, flow.deficit) = (id, 0);
        let places = &self.places;
        self.index.insert(place, |place| places[place as usize].id);
        self.round.push_back(place);
        place as usize
    }

    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        let places = &self.places;
        let Some(place) = self.index.find(packet.label.flow, |place| places[place as usize].id) else {
            return false;
        };
        let fifo = &mut self.places[place as usize].fifo;
        let before = fifo.bytes;
        let filtered = fifo.filter(packet, out);
        self.bytes = self.bytes - before + fifo.bytes;
        if self.heaviest.watches() {
            self.heaviest.set(place as usize, fifo.bytes);
        }
        filtered
    }

    /// Records that a packet of `size` bytes has left a place.
    fn gone(&mut self, place: usize, size: u32) {
        self.packets -= 1;
        self.bytes -= size as u64;
        if !self.heaviest.watches() {
        } else if self.packets == 0 {
            self.heaviest.end();
        } else {
            self.heaviest.set(place, self.places[place].fifo.bytes);
        }
    }

    /// Removes flows without packets from the front of the round, and with them their deficits.
    fn forget_the_empty(&mut self) {
        while let Some(&place) = self.round.front()
            && self.places[place as usize].fifo.len() == 0
        {
            let places = &self.places;
            self.index.remove(place, |place| places[place as usize].id);
            self.round.pop_front();
            self.free.push(place);
            self.granted = false;
        }
    }

    pub fn pop(&mut self) -> Option<Next<T>> {
        loop {
            let place = *self.round.front()? as usize;
            let flow = &mut self.places[place];
            if !std::mem::replace(&mut self.granted, true) {
                flow.deficit += u64::from(self.config.quantum);
            }
            let Some(next) = flow.fifo.front() else {
                // All of its packets were dropped to make room.
                self.forget_the_empty();
                continue;
            };
            let size = next.size;
            if u64::from(size) > flow.deficit {
                self.round.rotate_left(1);
                self.granted = false;
                continue;
            }
            flow.deficit -= u64::from(size);
            let packet = flow.fifo.pop()?;
            self.gone(place, size);
            self.forget_the_empty();
            return Some(packet.into());
        }
    }

    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        // In the order of their turns.
        for place in &self.round {
            self.places[*place as usize].fifo.retain(lost, dropped);
        }
        self.packets = self.places.iter().map(|f| f.fifo.len()).sum();
        self.bytes = self.places.iter().map(|f| f.fifo.bytes).sum();
        self.heaviest.end();
        self.forget_the_empty();
    }
}
