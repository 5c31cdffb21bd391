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
