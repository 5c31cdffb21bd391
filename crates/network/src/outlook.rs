//! Epochs: links, handovers and routes of future instants, computed before they are due.
//!
//! The basis is that orbits are functions of time: the next state of the network does not depend on packets.
//! Differs from the simulator, which updates when it is due: a real-time driver lets another thread call [`Outlook::next`], and
//! packets never wait for the positions of thousands of satellites. Both produce the same epochs.
//! Leaves out threads and clocks, and routes within one constellation or by the satellites' own knowledge, which are still
//! computed when needed.

use crate::moving_topology::MovingTopology;
use crate::tables::NodeTables;
use skyhop_topology::{LinkChange, NodeId};
use skyhop_units::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// The state of a network from an instant on, and the instant of the next.
#[derive(Debug)]
pub struct NetworkEpoch {
    pub(crate) at: Time,
    /// True if all links were updated, false if only those that were due.
    pub(crate) whole: bool,
    pub(crate) changes: Vec<LinkChange>,
    pub(crate) topology: MovingTopology,
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
    pub(crate) topology: MovingTopology,
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
        let (changes, whole) = self.topology.update(at);
        self.next = self.topology.next_look(at);
        let tables = self.tables.as_ref().map(|(empty, destinations)| {
            let mut tables = empty.clone();
            tables.refresh(self.topology.actual(), at.as_secs_f64());
            destinations.iter().for_each(|&destination| tables.search(destination));
            tables
        });
        NetworkEpoch { at, whole, changes, topology: self.topology.clone(), tables, next: self.next }
    }
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
