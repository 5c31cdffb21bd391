//! Scheduled failures of satellites, links and stations.
//!
//! Follows HT 6.5's failed links: a failed object is down, whatever orbits and rules say.
//! Differs: a failed satellite takes its links down and releases its terminals, but its position can still be asked for.
//! Left out: partial failures, such as a slow link; `reliability` draws random failures.

use crate::link::LinkId;

/// An object that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// A satellite with all its links.
    Satellite(u32),
    /// One link.
    Link(LinkId),
    /// A terminal or gateway with all its links, by index.
    Station(u32),
}

/// A failure and its repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    /// The object that fails.
    pub what: Failing,
    /// Start of the failure, s.
    pub from_s: f64,
    /// End of the failure, exclusive, s; infinite if it is never repaired.
    pub to_s: f64,
}

impl Outage {
    /// A failure of `what` for the whole run.
    pub fn lasting(what: Failing) -> Self {
        Self { what, from_s: f64::NEG_INFINITY, to_s: f64::INFINITY }
    }

    /// Returns true if the failure lasts at `t_s`.
    pub fn is_at(&self, t_s: f64) -> bool {
        (self.from_s..self.to_s).contains(&t_s)
    }
}

/// The scheduled failures, and the objects that had failed at the last update.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScheduledFailures {
    outages: Vec<Outage>,
    satellites: Vec<u32>,
    links: Vec<LinkId>,
    stations: Vec<u32>,
}

impl ScheduledFailures {
    /// Sets the schedule, which takes effect at the next update.
    pub fn schedule(&mut self, outages: Vec<Outage>) {
        self.outages = outages;
    }

    /// Returns true if nothing ever fails.
    pub fn is_empty(&self) -> bool {
        self.outages.is_empty()
    }

    /// Updates the failed objects to `t_s`; returns the failed satellites.
    pub fn at(&mut self, t_s: f64) -> impl Iterator<Item = u32> {
        // A large network has many random failures; each is read once.
        self.satellites.clear();
        self.links.clear();
        self.stations.clear();
        for outage in self.outages.iter().filter(|outage| outage.is_at(t_s)) {
            match outage.what {
                Failing::Satellite(satellite) => self.satellites.push(satellite),
                Failing::Link(link) => self.links.push(link),
                Failing::Station(station) => self.stations.push(station),
            }
        }
        self.links.sort_unstable();
        self.stations.sort_unstable();
        self.satellites.iter().copied()
    }

    /// Returns true if a link has failed.
    pub fn link_fails(&self, link: LinkId) -> bool {
        !self.links.is_empty() && self.links.binary_search(&link).is_ok()
    }

    /// Returns true if a station has failed.
    pub fn station_fails(&self, station: u32) -> bool {
        self.stations.binary_search(&station).is_ok()
    }
}
