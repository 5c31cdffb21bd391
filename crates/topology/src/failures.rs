//! Failures of satellites, links and stations, by schedule.
//!
//! Follows HT 6.5's failed links: what has failed is down, whatever orbits and rules say.
//! Differs: a failed satellite takes its links down and lets its terminals go, but can still be asked where it is.
//! Left out: partial failures, such as a link that has become slow; `reliability` draws failures at random.

use crate::link::LinkId;

/// Something that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// A satellite with all its links.
    Satellite(u32),
    /// One link.
    Link(LinkId),
    /// A terminal or gateway with all its links, by its index.
    Station(u32),
}

/// A failure and its repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    /// What fails.
    pub what: Failing,
    /// From this instant on, in seconds.
    pub from_s: f64,
    /// Until just before this one; infinite if it is never repaired.
    pub to_s: f64,
}

impl Outage {
    /// Something that never works.
    pub fn lasting(what: Failing) -> Self {
        Self { what, from_s: f64::NEG_INFINITY, to_s: f64::INFINITY }
    }

    /// Whether it lasts at `t_s`.
    pub fn is_at(&self, t_s: f64) -> bool {
        (self.from_s..self.to_s).contains(&t_s)
    }
}

/// What is to fail, and what has failed at the last look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures {
    outages: Vec<Outage>,
    satellites: Vec<u32>,
    links: Vec<LinkId>,
    stations: Vec<u32>,
}

impl Failures {
    /// What fails when, in force from the next look on.
    pub fn schedule(&mut self, outages: Vec<Outage>) {
        self.outages = outages;
    }

    /// Whether nothing ever fails.
    pub fn is_empty(&self) -> bool {
        self.outages.is_empty()
    }

    /// Looks what has failed at `t_s`; the satellites of it.
    pub fn at(&mut self, t_s: f64) -> impl Iterator<Item = u32> {
        // Random failures of a large network are many; each is looked at once.
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

    /// Whether a link has failed.
    pub fn link_fails(&self, link: LinkId) -> bool {
        !self.links.is_empty() && self.links.binary_search(&link).is_ok()
    }

    /// Whether a station has failed.
    pub fn station_fails(&self, station: u32) -> bool {
        self.stations.binary_search(&station).is_ok()
    }
}
