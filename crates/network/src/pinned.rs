//! Ways that a scenario pins: step by step over links, and through the constellations that it names.
//!
//! Follows source routes (RFC 791's strict ones over links, loose ones through satellites): a packet knows at which step it is.
//! Differs: the steps are the route's, and take no room in packets. Leaves out which satellites lie on a step, which routing finds.

use skyhop_topology::NodeId;

/// The part of the network that a step crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A wire.
    Wire(u32),
    /// The satellites of a constellation, by its number; whatever routing finds if there is none.
    Space(Option<u32>),
}

/// A step of a pinned way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The part of the network that it crosses.
    pub over: Over,
    /// Where it ends.
    pub to: NodeId,
}

/// A pinned way, there and back.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// Where it begins and ends.
    pub ends: [NodeId; 2],
    /// Its steps, and those of the way back.
    pub steps: [Box<[Step]>; 2],
}

impl Pinned {
    /// The way from a node over `steps`, and back over the same.
    pub fn new(from: NodeId, steps: Vec<Step>) -> Self {
        let to = steps.last().map_or(from, |step| step.to);
        let back = (0..steps.len()).rev().map(|at| {
            let over = match steps[at].over {
                Over::Wire(wire) => Over::Wire(wire ^ 1),
                space => space,
            };
            Step { over, to: at.checked_sub(1).map_or(from, |before| steps[before].to) }
        });
        let back = back.collect();
        Self { ends: [from, to], steps: [steps.into(), back] }
    }

    /// The step of a packet that is at `node` and was last at step `at`; it goes on with the next one where that ends. `None` at the
    /// end of the way.
    pub(crate) fn step(&self, backward: bool, at: &mut u8, node: NodeId) -> Option<Step> {
        let steps = &self.steps[usize::from(backward)];
        let step = *steps.get(usize::from(*at))?;
        if step.to != node {
            return Some(step);
        }
        *at += 1;
        steps.get(usize::from(*at)).copied()
    }

    /// The step at which a packet begins that turns round before the end of step `at`, where it has been.
    pub(crate) fn turned(&self, at: u8) -> u8 {
        self.steps[0].len() as u8 - at
    }

    /// The constellations that it leads through, `None` for any.
    pub(crate) fn fleets(&self) -> impl Iterator<Item = Option<u32>> {
        self.steps[0].iter().filter_map(|step| match step.over {
            Over::Space(fleet) => Some(fleet),
            Over::Wire(_) => None,
        })
    }
}

/// The steps of packets on pinned ways, by the numbers of their frames.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<u8>);

impl Steps {
    /// The packet of a frame begins at a step.
    pub fn begin(&mut self, id: u32, step: u8) {
        let id = id as usize;
        if self.0.len() <= id {
            self.0.resize(id + 1, 0);
        }
        self.0[id] = step;
    }

    /// The step of a packet that has begun.
    pub fn of(&mut self, id: u32) -> &mut u8 {
        &mut self.0[id as usize]
    }
}
