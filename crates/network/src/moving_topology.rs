//! The topology of the moving part, with and without failures, and the clock of its updates.
//!
//! Follows HT 6.2: all links are updated every `update_interval`. Between two updates follow those that are due: the end of an
//! acquisition, or a terminal's check.
//! Leaves out the effect of changes on wires and routes.

use skyhop_topology::{LinkChange, Outage, Topology};
use skyhop_units::{Span, Time};

/// A topology at its last update, and the times of updates.
#[derive(Debug, Clone)]
pub(crate) struct MovingTopology {
    actual: Topology,
    /// The topology without failures, if they must be distinguished from links that orbits switch off.
    promised: Option<Box<Topology>>,
    /// Time of the last change of links or distances.
    looked_at: Time,
    update_interval: Span,
    /// Time at which all links are due.
    next_update: Time,
}

impl MovingTopology {
    /// The state before the first update. A second topology goes without the `outages` if failures must be told from changes by
    /// orbits (`tells_failures`).
    pub fn new(
        mut actual: Topology,
        outages: &[Outage],
        tells_failures: bool,
        update_interval: Span,
    ) -> Self {
        let twin = !outages.is_empty() && tells_failures;
        let promised = twin.then(|| Box::new(actual.clone()));
        actual.schedule(outages.to_vec());
        Self { actual, promised, looked_at: Time::ZERO, update_interval, next_update: Time::ZERO }
    }

    /// The topology with failures.
    #[inline]
    pub fn actual(&self) -> &Topology {
        &self.actual
    }

    /// The topology without failures, if there is one, else the actual one.
    pub fn promised(&self) -> &Topology {
        self.promised.as_deref().unwrap_or(&self.actual)
    }

    /// Time of the last change of links or distances.
    #[inline]
    pub fn looked_at(&self) -> Time {
        self.looked_at
    }

    /// Updates links to `now`; returns the changes, and true if all links were updated.
    pub fn update(&mut self, now: Time) -> (Vec<LinkChange>, bool) {
        let t_s = now.as_secs_f64();
        let whole = now >= self.next_update;
        let mut changes = look(&mut self.actual, t_s, whole);
        changes.retain(|change| change.was != change.is);
        if let Some(promised) = &mut self.promised {
            look(promised, t_s, whole);
        }
        if whole {
            self.next_update = now + self.update_interval;
        }
        if whole || !changes.is_empty() {
            self.looked_at = now;
        }
        (changes, whole)
    }

    /// Time of the next update, after one at `now`.
    pub fn next_look(&self, now: Time) -> Time {
        // Rounded up, so that the event is due at that time.
        let event = |t_s: f64| Time::ZERO + Span::from_nanos((t_s * 1e9).ceil().max(0.0) as u64);
        let next_event = self.actual.next_event_s().map(event);
        let next = next_event.map_or(self.next_update, |event| event.min(self.next_update));
        next.max(now + Span::from_nanos(1))
    }

    /// Returns true before the first update.
    pub fn is_new(&self) -> bool {
        self.next_update == Time::ZERO
    }
}

/// Updates all links if `whole`, else those that are due between updates.
fn look(topology: &mut Topology, t_s: f64, whole: bool) -> Vec<LinkChange> {
    if !whole {
        return topology.settle(t_s).to_vec();
    }
    let mut changes = topology.update(t_s).to_vec();
    if topology.next_event_s().is_some_and(|event_s| event_s <= t_s) {
        changes.extend_from_slice(topology.settle(t_s));
    }
    changes
}
