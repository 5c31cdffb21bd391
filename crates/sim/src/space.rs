//! The moving part of a network: satellites, their links, and the way through them.
//!
//! Follows HT 6.2: links and routes are looked at anew every `update_interval`, delays at the instant of sending.
//! Differs: routes are worked out when a packet first needs them after a change.
//! Leaves out how routes come about, which `routes.rs` holds.

use crate::constellation;
use crate::error::BuildError;
use crate::results::RoutingResult;
use crate::routes::{Routes, Stuck};
use crate::wire::Wire;
use skyhop_scenario as scenario;
use skyhop_topology::{Change, NodeId, Topology};
use skyhop_units::{Span, Time};

pub(crate) struct Space {
    pub topology: Topology,
    /// The same without failures, if somebody has to tell them from what orbits switch off.
    promised: Option<Box<Topology>>,
    pub routes: Routes,
    /// When the topology was last looked at.
    looked_at: Time,
    pub update_interval: Span,
    /// Index of the first wire of space link 0; link k has two wires from there.
    pub first_wire: usize,
}

impl Space {
    pub fn build(
        model: &scenario::Constellation,
        scenario: &scenario::Scenario,
        elements: Option<&[u8]>,
        first_wire: usize,
    ) -> Result<Self, BuildError> {
        let mut topology = constellation::topology(model, scenario, elements)?;
        let outages = constellation::outages(scenario, &topology)?;
        let twin = !outages.is_empty() && Routes::tells_failures(&scenario.routing);
        let promised = twin.then(|| Box::new(topology.clone()));
        topology.schedule(outages);
        Ok(Self {
            topology,
            promised,
            routes: Routes::new(&scenario.routing),
            looked_at: Time::ZERO,
            update_interval: model.update_interval,
            first_wire,
        })
    }

    /// Looks at links and handovers at `now`. Wires of links that change are taken along by [`Space::apply`].
    pub fn update(&mut self, now: Time) -> Vec<Change> {
        self.looked_at = now;
        let t_s = now.as_secs_f64();
        let changes = self.topology.update(t_s).to_vec();
        if let Some(promised) = &mut self.promised {
            promised.update(t_s);
        }
        let promised = self.promised.as_deref().unwrap_or(&self.topology);
        self.routes.refresh(promised, &self.topology, &changes, now);
        changes
    }

    /// Makes a change of link true of its two wires; `dropped` takes the packets that waited on what went away.
    pub fn apply(&self, change: &Change, now: Time, wires: &mut [Wire], mut dropped: impl FnMut(u32)) {
        let at = self.first_wire + 2 * change.link.index();
        let (was, is) = (change.was, change.is);
        for (index, from, to) in [(at, is.a, is.b), (at + 1, is.b, is.a)] {
            let wire = &mut wires[index];
            let old = wire.medium(Some(&self.topology));
            // Going up, a terminal's packets wait for its next satellite; going down, they wait in the satellite
            // that has lost it.
            let moved = was.up && is.up && (wire.from, wire.to) != (from, to);
            if (was.up && !is.up) || (moved && wire.from != from) {
                wire.link.set_down(now, &old, &mut dropped);
            }
            wire.link.set_peer(now, to.0, &old);
            (wire.from, wire.to) = (from, to);
            if is.up {
                wire.link.set_up();
            }
        }
    }

    /// The wire that leads from `node` towards `destination`, for the packet in frame `id`.
    pub fn next_wire(&mut self, node: NodeId, destination: NodeId, id: u32, now: Time) -> Result<u32, Stuck> {
        let link = self.routes.next_hop(&self.topology, node, destination, id, now, self.looked_at)?;
        let reverse = self.topology.links()[link.index()].a != node;
        Ok((self.first_wire + 2 * link.index() + reverse as usize) as u32)
    }

    /// The path as it stands: one-way delay in seconds of propagation, and satellites on it.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<(f64, usize)> {
        let nodes = self.routes.path(&self.topology, from, to, self.looked_at)?;
        let t_s = self.looked_at.as_secs_f64();
        let delay =
            nodes.windows(2).map(|w| self.topology.one_way_delay_s(w[0], w[1], t_s)).sum::<Option<f64>>()?;
        let satellites = nodes.iter().filter(|node| self.topology.is_satellite(**node)).count();
        Some((delay, satellites))
    }

    pub fn routing_result(&self) -> RoutingResult {
        self.routes.result(&self.topology)
    }
}
