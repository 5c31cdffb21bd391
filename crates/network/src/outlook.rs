//! Epochs: links, handovers and routes of coming instants, worked out before they are due.
//!
//! Follows from orbits being functions of time: what the network looks like next hangs on nothing that packets do.
//! Differs from looking when it is due, which the simulator does: a driver by the clock has another thread call [`Outlook::next`], and
//! packets never wait for the positions of thousands of satellites. Both give the same epochs.
//! Leaves out threads and clocks, and routes within one constellation or by what satellites know, which are still worked out when
//! they are needed.

use crate::tables::Tables;
use skyhop_topology::{Change, NodeId, Topology};
use skyhop_units::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// The state of a network from an instant on, and the instant of the next.
#[derive(Debug)]
pub struct Epoch {
    pub(crate) at: Time,
    /// All links were looked at, and not only those that were due.
    pub(crate) whole: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) topology: Topology,
    pub(crate) promised: Option<Box<Topology>>,
    pub(crate) tables: Option<Tables>,
    pub(crate) next: Time,
}

impl Epoch {
    /// The instant from which it holds.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// The same network, ahead of time.
#[derive(Debug)]
pub struct Outlook {
    pub(crate) topology: Topology,
    pub(crate) promised: Option<Box<Topology>>,
    pub(crate) update_interval: Span,
    pub(crate) next_update: Time,
    /// The instant of the next epoch.
    pub(crate) next: Time,
    /// Tables without routes, if nodes have global ones and hear of changes at once; and the nodes that packets go to.
    pub(crate) tables: Option<(Tables, BTreeSet<NodeId>)>,
}

impl Outlook {
    /// The instant of the next epoch.
    pub fn next_at(&self) -> Time {
        self.next
    }

    /// The next epoch. Epochs are to be handed to [`crate::Network::look_ahead`] in their order.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and whoever iterates wants to know when"
    )]
    pub fn next(&mut self) -> Epoch {
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
        Epoch { at, whole, changes, topology, promised, tables, next: self.next }
    }
}

/// All links if it is time for that, else what is due in between.
pub(crate) fn look(topology: &mut Topology, t_s: f64, whole: bool) -> Vec<Change> {
    if !whole {
        return topology.settle(t_s).to_vec();
    }
    let mut changes = topology.update(t_s).to_vec();
    if topology.next_event_s().is_some_and(|event_s| event_s <= t_s) {
        changes.extend_from_slice(topology.settle(t_s));
    }
    changes
}

/// When to look at a topology again that was looked at `now`, given when all of it is due.
pub(crate) fn next_look(topology: &Topology, next_update: Time, now: Time) -> Time {
    // Rounded up, so that what is due has come by then.
    let event = |t_s: f64| Time::ZERO + Span::from_nanos((t_s * 1e9).ceil().max(0.0) as u64);
    let next = topology.next_event_s().map_or(next_update, |event_s| event(event_s).min(next_update));
    next.max(now + Span::from_nanos(1))
}

/// Epochs that are to come, of a network that does not look by itself.
#[derive(Debug)]
pub(crate) struct Ahead {
    epochs: VecDeque<Epoch>,
    /// When the next one is due.
    next: Time,
    /// How many were due and not there, and when the last of them was due.
    late: (u64, Option<Time>),
}

/// How soon a network asks again for an epoch that was not there.
const AGAIN: Span = Span::from_millis(1);

impl Ahead {
    pub fn new(next: Time) -> Self {
        Self { epochs: VecDeque::new(), next, late: (0, None) }
    }

    pub fn add(&mut self, epoch: Epoch) {
        self.epochs.push_back(epoch);
    }

    /// The epoch that is due, if it is there.
    pub fn take(&mut self, now: Time) -> Option<Epoch> {
        if self.next > now {
            return None;
        }
        let epoch = self.epochs.pop_front();
        match &epoch {
            Some(epoch) => self.next = epoch.next,
            // It is asked for until it comes, and counts once.
            None if self.late.1 != Some(self.next) => self.late = (self.late.0 + 1, Some(self.next)),
            None => {}
        }
        epoch
    }

    /// When to take the next one.
    pub fn next_look(&self, now: Time) -> Time {
        if self.next > now { self.next } else { now + AGAIN }
    }

    pub fn late(&self) -> u64 {
        self.late.0
    }
}
