//! Simulated ends of flows whose other end is a program, stepped with the network: each acts at the exact instant at which a packet
//! arrives or its timer is due, however late the loop is.
//!
//! Follows the ports of real hosts: packets have tags, and their bytes are stored with those of programs.
//! Differs from a port: no device is read or written, so nothing is late.
//! Leaves out the behaviour of a simulated host (`simulated`).

use crate::bursts::{Bursts, Tag};
use crate::offload::{FrameShape, Offload};
use crate::simulated::SimulatedHost;
use skyhop_link::FlippedBit;
use skyhop_sim::{Arrived, Content, Simulation};
use skyhop_units::Time;
use skyhop_wire::{Observed, mark, observe};

/// A simulated end of a flow with programs.
pub struct SimulatedEnd {
    /// Its flow, by its index in the scenario.
    pub flow: u32,
    /// True if it is the flow's `to`.
    pub to: bool,
    /// The host.
    pub host: SimulatedHost,
}

/// All simulated ends of flows with programs.
#[derive(Default)]
pub struct Beside {
    ends: Vec<SimulatedEnd>,
    /// Packets that were dropped for want of memory.
    pub no_room: u64,
    bytes: Vec<u8>,
}

impl Beside {
    /// Ends in the order of their flows; the simulation is told to hold their packets.
    pub fn new(ends: Vec<SimulatedEnd>, simulation: &mut Simulation) -> Self {
        ends.iter().for_each(|end| simulation.hold(end.flow as usize, end.to));
        Self { ends, no_room: 0, bytes: Vec::new() }
    }

    /// The ends.
    pub fn ends(&self) -> &[SimulatedEnd] {
        &self.ends
    }

    /// Time of the next timer of any end.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.ends.iter().filter_map(|end| end.host.poll_timeout()).min()
    }

    /// Runs the simulation and the ends until `until`.
    pub fn run_until(&mut self, simulation: &mut Simulation, bursts: &mut Bursts, until: Time) {
        if self.ends.is_empty() {
            return simulation.run_until(until);
        }
        let last = until.min(simulation.end());
        loop {
            let due = self.poll_timeout().unwrap_or(Time::MAX);
            simulation.run_until_held(due.min(until));
            let now = simulation.now();
            while let Some(tag) = simulation.poll_copied() {
                bursts.copied(Tag(tag).burst());
            }
            let mut idle = true;
            while let Some((arrived, bits)) = simulation.poll_held() {
                idle = false;
                self.take(now, &arrived, &bits, bursts);
            }
            for end in &mut self.ends {
                if end.host.poll_timeout().is_some_and(|due| due <= now) {
                    idle = false;
                    end.host.handle_timeout(now);
                }
            }
            self.send(now, simulation, bursts);
            if idle && now >= last {
                return;
            }
        }
    }

    /// Passes a packet to one of the ends.
    fn take(&mut self, now: Time, arrived: &Arrived, bits: &[FlippedBit], bursts: &mut Bursts) {
        let end = self.ends.iter_mut().find(|end| end.flow == arrived.flow);
        let (Content::Tagged { tag, .. } | Content::Message { tag, .. }) = arrived.what;
        if let Some(end) = end {
            match &arrived.what {
                Content::Tagged { marked, .. } => {
                    let mut packet = bursts.whole(Tag(tag));
                    if *marked {
                        mark(&mut packet);
                    }
                    bits.iter().for_each(|bit| bit.flip(&mut packet));
                    end.host.handle_bytes(now, &packet);
                }
                Content::Message { packet, .. } => end.host.handle_message(now, packet),
            }
        }
        bursts.release(Tag(tag).burst(), 1);
    }

    /// Sends the packets of the ends into the network.
    fn send(&mut self, now: Time, simulation: &mut Simulation, bursts: &mut Bursts) {
        let Self { ends, no_room, bytes, .. } = self;
        for end in ends {
            loop {
                bytes.clear();
                if !end.host.transmit(now, bytes) {
                    break;
                }
                let whole = FrameShape::of(Offload::default(), bytes);
                let burst = whole.and_then(|shape| bursts.insert(bytes, shape));
                let (Some(burst), Ok(Observed { packet, flow })) = (burst, observe(bytes)) else {
                    *no_room += 1;
                    continue;
                };
                simulation.send_for(now, (end.flow, end.to), [flow, Tag::new(burst, 0).0], packet);
            }
        }
    }
}
