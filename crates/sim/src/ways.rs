//! Whether the ways of flows are there, told to connections when that changes; and which links lie on them.
//!
//! Follows schedules, traces and the constellation's changes: a way is out while a link of it is, while a satellite is being
//! acquired on it, or while there is none.
//! Differs from what hosts can know: this is for results, no machine acts on it.
//! Leaves out packets.

use crate::agenda::{Rank, Slot};
use crate::flow::{App, Flow, Way};
use crate::mesh::Mesh;
use crate::simulation::{Owner, Simulation};
use crate::space::Space;
use crate::wire::Wire;
use skyhop_units::Time;
use std::collections::BTreeSet;

/// The ways of a run.
#[derive(Default)]
pub(crate) struct Ways {
    /// Wires that go out by the clock, and the slot that wakes for them.
    timed: BTreeSet<u32>,
    slot: Slot,
    /// By flow and leg.
    legs: Vec<Vec<Leg>>,
}

#[derive(Default)]
struct Leg {
    out: bool,
    /// Wires from its flow's `from` on that have lain on the way.
    wires: BTreeSet<u32>,
}

impl Ways {
    /// The ways of `flows` before anything has changed.
    pub fn new(flows: &[Flow], wires: &[Wire], mesh: Option<&mut Mesh>) -> Self {
        let goes_out =
            |wire: &Wire| wire.link.is_out(Time::ZERO) || wire.link.next_outage(Time::ZERO).is_some();
        let timed =
            wires.iter().enumerate().filter(|(_, wire)| goes_out(wire)).map(|(index, _)| index as u32);
        let mut mesh = mesh;
        let mut leg = |way: &Way| {
            let wires = match (way, &mut mesh) {
                (Way::Wires([there, _]), _) => there.iter().copied().collect(),
                (Way::Mesh([from, to]), Some(mesh)) => mesh.wires(*from, *to, |_| false),
                _ => BTreeSet::new(),
            };
            Leg { out: false, wires }
        };
        let legs = flows.iter().map(|flow| match &flow.app {
            App::Stream(_) => flow.legs.iter().map(&mut leg).collect(),
            App::Ping(_) | App::Datagrams(_) => Vec::new(),
        });
        Self { legs: legs.collect(), timed: timed.collect(), slot: 0 }
    }

    /// Whether a leg of a flow is out.
    pub fn out(&self, flow: usize, leg: usize) -> bool {
        self.legs[flow].get(leg).is_some_and(|leg| leg.out)
    }

    /// The wires that have lain on a flow's way, from its `from` to its `to`.
    pub fn wires(&self, flow: usize) -> impl Iterator<Item = u32> {
        self.legs[flow].iter().flat_map(|leg| leg.wires.iter().copied())
    }

    /// Whether packets get over a leg now, there and back.
    fn there(
        &mut self,
        (flow, leg): (usize, usize),
        way: &Way,
        out: &BTreeSet<u32>,
        mesh: Option<&mut Mesh>,
        space: Option<&mut Space>,
    ) -> bool {
        match (way, mesh, space) {
            (Way::Wires(both), ..) => !both.iter().any(|wires| wires.iter().any(|wire| out.contains(wire))),
            // The reverse of a wire is its neighbour.
            (Way::Mesh([from, to]), Some(mesh), _) => {
                let skip = |wire: u32| out.contains(&wire) || out.contains(&(wire ^ 1));
                !mesh.wires(*from, *to, skip).is_empty()
            }
            (Way::Space([from, to]), _, Some(space)) => match space.way(*from, *to) {
                Some(wires) => {
                    self.legs[flow][leg].wires.extend(wires);
                    true
                }
                None => false,
            },
            _ => true,
        }
    }
}

impl Simulation {
    /// Asks to be woken when a link goes out by the clock.
    pub(crate) fn watch_outages(&mut self) {
        if self.ways.timed.is_empty() {
            return;
        }
        self.ways.slot = self.agenda.add(Rank::clock(1));
        self.owners.push(Owner::Outages);
        self.agenda.wake(self.ways.slot, Time::ZERO);
    }

    /// A link has gone out by the clock, or is back.
    pub(crate) fn handle_outages(&mut self) {
        let now = self.now;
        let next = self.ways.timed.iter().filter_map(|&wire| self.wires[wire as usize].link.next_outage(now));
        if let Some(next) = next.min() {
            self.agenda.wake(self.ways.slot, next);
        }
        self.look_at_ways(false);
    }

    /// Tells connections whether their ways are there: those over satellites, or the others.
    pub(crate) fn look_at_ways(&mut self, over_satellites: bool) {
        let now = self.now;
        let Self { ways, wires, flows, mesh, space, .. } = self;
        let is_out = |wire: &u32| wires[*wire as usize].link.is_out(now);
        let out: BTreeSet<u32> = ways.timed.iter().copied().filter(is_out).collect();
        for (index, flow) in flows.iter_mut().enumerate() {
            let App::Stream(stream) = &mut flow.app else { continue };
            for (leg, way) in flow.legs.iter().enumerate() {
                if matches!(way, Way::Space(_)) != over_satellites {
                    continue;
                }
                let there = ways.there((index, leg), way, &out, mesh.as_deref_mut(), space.as_mut());
                let was_out = std::mem::replace(&mut ways.legs[index][leg].out, !there);
                if was_out == there {
                    stream.conversations.set_path_up(leg, flow.legs.len(), now, there);
                }
            }
        }
    }
}
