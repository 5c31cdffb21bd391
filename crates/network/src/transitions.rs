//! Handovers: gaps in which packets wait, losses, and counts of both.
//!
//! Follows the `topology` crate's rules for the time between two satellites.
//! Differs: both ends queue for the link that is being acquired; packets that wait in a satellite that has lost its terminal are
//! dropped, as in ns-2. Leaves out the procedure of acquisition.

use crate::wire::Wire;
use crate::wire_numbers::WireNumbers;
use skyhop_chance::{Seed, Stream};
use skyhop_results::HandoverResult;
use skyhop_topology::{LinkChange, LinkId, LinkKind, Topology};
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// Counters of one terminal.
struct TransitionTally {
    /// Decides which packets a handover loses.
    chance: Stream,
    handovers: u64,
    gap: Span,
    lost: u64,
}

/// Gaps and losses of a run.
pub(crate) struct Transitions {
    /// True if links are ever acquired.
    gaps: bool,
    /// Probability of a loss at a handover, for each constellation.
    loss: Vec<f64>,
    tallies: Vec<TransitionTally>,
    /// Links that are being acquired, and the time since when.
    waiting: BTreeMap<LinkId, Time>,
}

impl Transitions {
    pub fn new(topology: &Topology, seed: Seed) -> Self {
        let mut fleets = topology.fleets().iter();
        let tally = |terminal: &skyhop_orbit::Terminal| TransitionTally {
            chance: seed.stream(&format!("constellation/handover-loss/{}", terminal.name)),
            handovers: 0,
            gap: Span::ZERO,
            lost: 0,
        };
        Self {
            gaps: fleets.any(|fleet| fleet.rules.handover_gap_s + fleet.rules.gsl_acquisition_s > 0.0),
            loss: topology.fleets().iter().map(|fleet| fleet.rules.handover_loss).collect(),
            tallies: topology.terminals().iter().map(tally).collect(),
            waiting: BTreeMap::new(),
        }
    }

    /// Counts a change of a terminal's satellite, and applies its losses. Called before the wires change.
    pub fn count(
        &mut self,
        change: &LinkChange,
        topology: &Topology,
        now: Time,
        wires: &mut [Wire],
        mut dropped: impl FnMut(u32),
    ) {
        let handover = change.is.kind == LinkKind::Gsl && change.was.up && change.was.b != change.is.b;
        let Some(terminal) = topology.terminal_index(change.is.a).filter(|_| handover) else { return };
        // A terminal that lost its satellite and sees no other keeps the number of the old one.
        if !change.is.up && !topology.is_acquiring(change.link) {
            return;
        }
        let tally = &mut self.tallies[terminal];
        tally.handovers += 1;
        let loss = self.loss[topology.fleets().index_of(change.is.b)];
        if loss > 0.0 {
            for wire in wires {
                let medium = wire.medium(Some(topology));
                let chance = &mut tally.chance;
                tally.lost += wire.link.disturb(now, &medium, || chance.happens(loss), &mut dropped);
            }
        }
    }

    /// Pauses the links that are being acquired, and resumes those that have been. Returns the wires to be scheduled again.
    pub fn hold(
        &mut self,
        topology: &Topology,
        numbers: WireNumbers,
        now: Time,
        wires: &mut [Wire],
        mut dropped: impl FnMut(u32),
    ) -> Vec<u32> {
        let mut awake = Vec::new();
        if !self.gaps {
            return awake;
        }
        for link in (0..topology.terminals().len()).flat_map(|terminal| topology.gsls(terminal)) {
            let Some(state) = topology.link(link) else { continue };
            let acquiring = topology.is_acquiring(link);
            let began = self.waiting.get(&link).copied();
            if !acquiring && began.is_none() {
                continue;
            }
            let at = numbers.of(link);
            for (index, from, to) in [(at, state.a, state.b), (at + 1, state.b, state.a)] {
                let wire = &mut wires[index];
                let medium = wire.medium(Some(topology));
                if acquiring {
                    wire.link.set_peer(now, to.0, &medium);
                    (wire.from, wire.to) = (from, to);
                    wire.link.set_up();
                    wire.link.hold(now, &medium);
                } else if state.up {
                    wire.link.release(now, &medium);
                    awake.push(index as u32);
                } else {
                    wire.link.set_down(now, &medium, &mut dropped);
                }
            }
            if acquiring {
                self.waiting.entry(link).or_insert(now);
            } else if let (Some(began), Some(terminal)) = (began, topology.terminal_index(state.a)) {
                self.waiting.remove(&link);
                self.tallies[terminal].gap += now.since(began);
            }
        }
        awake
    }

    /// Number of handovers of a terminal so far; `None` if there is no such terminal.
    pub fn handovers(&self, terminal: usize) -> Option<u64> {
        self.tallies.get(terminal).map(|tally| tally.handovers)
    }

    /// The counters of all terminals.
    pub fn results(&self, topology: &Topology) -> Vec<HandoverResult> {
        let of = |(terminal, tally): (&skyhop_orbit::Terminal, &TransitionTally)| HandoverResult {
            terminal: terminal.name.clone(),
            handovers: tally.handovers,
            gap_s: tally.gap.as_secs_f64(),
            packets_lost: tally.lost,
        };
        topology.terminals().iter().zip(&self.tallies).map(of).collect()
    }
}
