//! Epochs: links, handovers and routes of future instants, computed before they are due.
//!
//! The basis is that orbits are functions of time: the next state of the network does not depend on packets.
//! Differs from the simulator, which updates when it is due: a real-time driver lets another thread call [`Outlook::next`], and
//! packets never wait for the positions of thousands of satellites. Both produce the same epochs.
//! Leaves out threads and clocks, and routes within one constellation or by the satellites' own knowledge, which are still
//! computed when needed.

use crate::tables::NodeTables;
use skyhop_topology::{LinkChange, NodeId, Topology};
use skyhop_units::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// The state of a network from an instant on, and the instant of the next.
#[derive(Debug)]
pub struct NetworkEpoch {
    pub(crate) at: Time,
    /// True if all links were updated, false if only those that were due.
    pub(crate) whole: bool,
    pub(crate) changes: Vec<LinkChange>,
    pub(crate) topology: Topology,
    pub(crate) promised: Option<Box<Topology>>,
    pub(crate) tables: Option<NodeTables>,
    pub(crate) next: Time,
}

impl NetworkEpoch {
    /// The instant from which it holds.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// A copy of a network that runs ahead of time.
#[derive(Debug)]
pub struct Outlook {
    pub(crate) topology: Topology,
    pub(crate) promised: Option<Box<Topology>>,
    pub(crate) update_interval: Span,
    pub(crate) next_update: Time,
    /// Time of the next epoch.
    pub(crate) next: Time,
    /// Tables without routes, if nodes have global tables without delay, and the destinations of packets.
    pub(crate) tables: Option<(NodeTables, BTreeSet<NodeId>)>,
}

impl Outlook {
    /// Time of the next epoch.
    pub fn next_at(&self) -> Time {
        self.next
    }

    /// Computes the next epoch. Epochs must be passed to [`crate::Network::look_ahead`] in order.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and whoever iterates wants to know when"
    )]
    pub fn next(&mut self) -> NetworkEpoch {
        let at = self.next;
        let t_s = at.as_secs_f64();
        let whole = at >= self.next_update;
        let mut changes = look(&mut self.topology, t_s, whole);
        changes.retain(|change| change.was != change.is);
        if let Some(promised) = &mut self.promised {
            look(promised, t_s, whole);
        }
        if whole {
            self.next_update = at + self.update_interval;
        }
        self.next = next_look(&self.topology, self.next_update, at);
        let tables = self.tables.as_ref().map(|(empty, destinations)| {
            let mut tables = empty.clone();
            tables.refresh(&self.topology, t_s);
            destinations.iter().for_each(|&destination| tables.search(destination));
            tables
        });
        let (topology, promised) = (self.topology.clone(), self.promised.clone());
        NetworkEpoch { at, whole, changes, topology, promised, tables, next: self.next }
    }
}

/// Updates all links if `whole`, else those that are due between updates.
pub(crate) fn look(topology: &mut Topology, t_s: f64, whole: bool) -> Vec<LinkChange> {
    if !whole {
        return topology.settle(t_s).to_vec();
    }
    let mut changes = topology.update(t_s).to_vec();
    if topology.next_event_s().is_some_and(|event_s| event_s <= t_s) {
        changes.extend_from_slice(topology.settle(t_s));
    }
    changes
}

/// Time of the next update of a topology that was updated at `now`; all links are due at `next_update`.
pub(crate) fn next_look(topology: &Topology, next_update: Time, now: Time) -> Time {
    // Rounded up, so that the event is due at that time.
    let event = |t_s: f64| Time::ZERO + Span::from_nanos((t_s * 1e9).ceil().max(0.0) as u64);
    let next = topology.next_event_s().map_or(next_update, |event_s| event(event_s).min(next_update));
    next.max(now + Span::from_nanos(1))
}

/// Future epochs of a network that does not update satellites itself.
#[derive(Debug)]
pub(crate) struct FutureEpochs {
    epochs: VecDeque<NetworkEpoch>,
    /// Time at which the next epoch is due.
    next: Time,
    /// Number of late epochs, and the time at which the last of them was due.
    late: (u64, Option<Time>),
}

/// Time after which the network asks again for a late epoch.
const AGAIN: Span = Span::from_millis(1);

impl FutureEpochs {
    pub fn new(next: Time) -> Self {
        Self { epochs: VecDeque::new(), next, late: (0, None) }
    }

    pub fn add(&mut self, epoch: NetworkEpoch) {
        self.epochs.push_back(epoch);
    }

    /// The epoch that is due, if it has arrived.
    pub fn take(&mut self, now: Time) -> Option<NetworkEpoch> {
        if self.next > now {
            return None;
        }
        let epoch = self.epochs.pop_front();
        match &epoch {
            Some(epoch) => self.next = epoch.next,
            // A late epoch is asked for repeatedly, and counted once.
            None if self.late.1 != Some(self.next) => self.late = (self.late.0 + 1, Some(self.next)),
            None => {}
        }
        epoch
    }

    /// Time at which to take the next epoch.
    pub fn next_look(&self, now: Time) -> Time {
        if self.next > now { self.next } else { now + AGAIN }
    }

    pub fn late(&self) -> u64 {
        self.late.0
    }
}
