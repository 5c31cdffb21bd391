//! Quotas of terminals: bytes on the satellite link per period, kept across restarts. Users' quotas have the same periods.
//!
//! Follows docs/gateway.md: both directions count as sent on the link, with encryption overhead and retransmissions.
//! Differs from a meter in the firewall: a terminal beyond its quota gets no new connections, and its open ones continue.
//! Leaves out the wall clock and the file, which the caller handles.

use serde::{Deserialize, Serialize};
use skyhop_units::Span;
use std::collections::BTreeMap;

/// A quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes per period, both directions together.
    pub bytes: u64,
    /// The length of the period.
    pub period: Span,
}

/// A terminal's usage in its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Beginning of the period, seconds since 1970.
    since: u64,
    /// Bytes in this period.
    bytes: u64,
}

/// The usage of all terminals, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quotas {
    usage: BTreeMap<String, Usage>,
}

impl Quotas {
    /// Adds bytes to a terminal's usage at `now` of the wall clock.
    pub fn carried(&mut self, now: u64, name: &str, quota: &Quota, bytes: u64) {
        let usage = self.usage.entry(name.to_owned()).or_insert(Usage { since: now, bytes: 0 });
        let period = (quota.period.as_secs_f64() as u64).max(1);
        match now.checked_sub(usage.since) {
            Some(age) if age < period => {}
            // Periods are contiguous, even if several pass without traffic.
            Some(age) => *usage = Usage { since: usage.since + age / period * period, bytes: 0 },
            // The clock was set back.
            None => usage.since = now,
        }
        usage.bytes = usage.bytes.saturating_add(bytes);
    }

    /// The names that have usage.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.usage.keys().map(String::as_str)
    }

    /// Forgets a usage.
    pub fn forget(&mut self, name: &str) {
        self.usage.remove(name);
    }

    /// Bytes that a terminal has used in its period.
    pub fn used(&self, name: &str) -> u64 {
        self.usage.get(name).map_or(0, |usage| usage.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_and_the_next_begins_where_it_ended() {
        let quota = Quota { bytes: 1000, period: Span::from_secs(100) };
        let mut quotas = Quotas::default();
        quotas.carried(5_000, "home", &quota, 600);
        quotas.carried(5_099, "home", &quota, 500);
        assert_eq!(quotas.used("home"), 1100);
        quotas.carried(5_100, "home", &quota, 1);
        assert_eq!(quotas.used("home"), 1);
        quotas.carried(5_350, "home", &quota, 2);
        assert_eq!(quotas.usage["home"], Usage { since: 5_300, bytes: 2 });
        assert_eq!(quotas.used("ship"), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing_away() {
        let quota = Quota { bytes: 1000, period: Span::from_secs(100) };
        let mut quotas = Quotas::default();
        quotas.carried(5_000, "home", &quota, 600);
        quotas.carried(20, "home", &quota, 10);
        assert_eq!(quotas.used("home"), 610);
        quotas.carried(119, "home", &quota, 10);
        assert_eq!(quotas.used("home"), 620);
        quotas.carried(121, "home", &quota, 10);
        assert_eq!(quotas.used("home"), 10);
    }
}
