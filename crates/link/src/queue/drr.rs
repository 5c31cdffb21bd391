//! Deficit round robin: flows take turns by bytes.
//!
//! Follows Shreedhar and Varghese 1995: a quantum a round, what is not used is kept while the flow has packets.
//! Differs: each flow has a queue of its own, found by its number; their `stealing` drops from the longest queue.
//! Leaves out weights.

use super::{Discarded, Fifo, Limit, Next, Waiting};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of deficit round robin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrrConfig {
    /// The most that all flows together may hold.
    pub limit: Limit,
    /// Bytes that a flow may send in a round.
    pub quantum: u32,
}

struct Flow<T> {
    fifo: Fifo<T>,
    deficit: u64,
}

pub(crate) struct Drr<T> {
    config: DrrConfig,
    /// Flows that have packets; one that has none is forgotten, and its deficit with it.
    flows: BTreeMap<u32, Flow<T>>,
    round: VecDeque<u32>,
    /// Whether the first of the round has had its quantum.
    granted: bool,
    packets: usize,
    bytes: u64,
}

impl<T: Copy> Drr<T> {
    pub fn new(config: DrrConfig) -> Self {
        Drr { config, flows: BTreeMap::new(), round: VecDeque::new(), granted: false, packets: 0, bytes: 0 }
    }

    pub fn len(&self) -> usize {
        self.packets
    }

    pub fn offer(&mut self, packet: Waiting<T>, sending: Option<u32>, out: &mut Discarded<T>) -> bool {
        while !self.config.limit.admits(self.packets as u64, self.bytes, packet.size, sending) {
            let longest = self.flows.iter_mut().max_by_key(|(_, flow)| flow.fifo.bytes);
            let own = |id: u32| id == packet.label.flow;
            match longest {
                Some((id, flow)) if !own(*id) => {
                    let id = *id;
                    let Some(stolen) = flow.fifo.waiting.pop_back() else { return false };
                    flow.fifo.bytes -= stolen.size as u64;
                    self.packets -= 1;
                    self.bytes -= stolen.size as u64;
                    out.push_back(stolen.packet);
                    if flow.fifo.len() == 0 {
                        self.leave(id);
                    }
                }
                // The longest is the packet's own, or nothing is left to be stolen.
                _ => return false,
            }
        }
        self.packets += 1;
        self.bytes += packet.size as u64;
        let id = packet.label.flow;
        let round = &mut self.round;
        let flow = self.flows.entry(id).or_insert_with(|| {
            round.push_back(id);
            Flow { fifo: Fifo::default(), deficit: 0 }
        });
        flow.fifo.push(packet);
        true
    }

    pub fn filter(&mut self, packet: &mut Waiting<T>, out: &mut Discarded<T>) -> bool {
        let Some(flow) = self.flows.get_mut(&packet.label.flow) else { return false };
        let before = flow.fifo.bytes;
        let filtered = flow.fifo.filter(packet, out);
        self.bytes = self.bytes - before + flow.fifo.bytes;
        filtered
    }

    fn leave(&mut self, id: u32) {
        self.flows.remove(&id);
        if self.round.front() == Some(&id) {
            self.granted = false;
            self.round.pop_front();
        } else {
            self.round.retain(|other| *other != id);
        }
    }

    pub fn pop(&mut self) -> Option<Next<T>> {
        loop {
            let id = *self.round.front()?;
            let flow = self.flows.get_mut(&id)?;
            if !std::mem::replace(&mut self.granted, true) {
                flow.deficit += u64::from(self.config.quantum);
            }
            let size = flow.fifo.front()?.size;
            if u64::from(size) > flow.deficit {
                self.round.rotate_left(1);
                self.granted = false;
                continue;
            }
            flow.deficit -= u64::from(size);
            let packet = flow.fifo.pop()?;
            self.packets -= 1;
            self.bytes -= size as u64;
            if flow.fifo.len() == 0 {
                self.leave(id);
            }
            return Some(packet.into());
        }
    }

    pub fn retain(&mut self, lost: &mut dyn FnMut() -> bool, dropped: &mut dyn FnMut(T)) {
        for flow in self.flows.values_mut() {
            flow.fifo.retain(lost, dropped);
        }
        let empty: Vec<u32> =
            self.flows.iter().filter(|(_, f)| f.fifo.len() == 0).map(|(id, _)| *id).collect();
        empty.into_iter().for_each(|id| self.leave(id));
        self.packets = self.flows.values().map(|f| f.fifo.len()).sum();
        self.bytes = self.flows.values().map(|f| f.fifo.bytes).sum();
    }
}
