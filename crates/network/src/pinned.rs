//! Paths pinned by a scenario: step by step over links, and through given constellations.
//!
//! Follows source routes (RFC 791: strict over links, loose through satellites): a packet knows its step.
//! Differs: the steps belong to the route and use no space in packets. Leaves out the satellites on a step, which routing finds.

use skyhop_topology::NodeId;

/// The part of the network that a step crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOver {
    /// A wire.
    Wire(u32),
    /// The satellites of a constellation, by number; any that routing chooses if `None`.
    Space(Option<u32>),
}

/// A step of a pinned path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedStep {
    /// The part of the network that it crosses.
    pub over: StepOver,
    /// The node at its end.
    pub to: NodeId,
}

/// A pinned path, in both directions.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// Its first and last node.
    pub ends: [NodeId; 2],
    /// Steps of the forward and of the backward path.
    pub steps: [Box<[PinnedStep]>; 2],
}

impl Pinned {
    /// The path from `from` over `steps`, and back over the same.
    pub fn new(from: NodeId, steps: Vec<PinnedStep>) -> Self {
        let to = steps.last().map_or(from, |step| step.to);
        let back = (0..steps.len()).rev().map(|at| {
            let over = match steps[at].over {
                StepOver::Wire(wire) => StepOver::Wire(wire ^ 1),
                space => space,
            };
            PinnedStep { over, to: at.checked_sub(1).map_or(from, |before| steps[before].to) }
        });
        let back = back.collect();
        Self { ends: [from, to], steps: [steps.into(), back] }
    }

    /// The step of a packet at `node` whose last step was `at`; it moves to the next one at the end of a step. `None` at the end
    /// of the path.
    pub(crate) fn step(&self, backward: bool, at: &mut u8, node: NodeId) -> Option<PinnedStep> {
        let steps = &self.steps[usize::from(backward)];
        let step = *steps.get(usize::from(*at))?;
        if step.to != node {
            return Some(step);
        }
        *at += 1;
        steps.get(usize::from(*at)).copied()
    }

    /// The first step of a packet that is returned from within step `at`.
    pub(crate) fn turned(&self, at: u8) -> u8 {
        self.steps[0].len() as u8 - at
    }

    /// The constellations that it crosses, `None` for any.
    pub(crate) fn fleets(&self) -> impl Iterator<Item = Option<u32>> {
        self.steps[0].iter().filter_map(|step| match step.over {
            StepOver::Space(fleet) => Some(fleet),
            StepOver::Wire(_) => None,
        })
    }
}

/// Steps of packets on pinned paths, by the numbers of their frames.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<u8>);

impl Steps {
    /// Sets the step of a new packet.
    pub fn begin(&mut self, id: u32, step: u8) {
        let id = id as usize;
        if self.0.len() <= id {
            self.0.resize(id + 1, 0);
        }
        self.0[id] = step;
    }

    /// The step of a packet.
    pub fn of(&mut self, id: u32) -> &mut u8 {
        &mut self.0[id as usize]
    }
}
