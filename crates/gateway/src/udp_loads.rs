//! The class of UDP datagrams in an association: first while they are few, and with other traffic when they are many.
//!
//! Follows docs/gateway.md. Differs from the classes of connections: all datagrams of an association are one member of its round.
//! Leaves out the datagrams themselves.

use skyhop_transport::stp::Class;
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// The part of the rate below which datagrams go first; above it they share with new connections and precede old ones.
const FEW: f64 = 0.25;
pub const FIRST: Class = Class { priority: 2, weight: 128 };
const AMONG_OTHERS: Class = Class { priority: 5, weight: 255 };
/// The period after which the class is decided anew.
const PERIOD: Span = Span::from_millis(500);

/// Bytes of datagrams of an association in this period.
#[derive(Debug)]
struct UdpLoad {
    since: Time,
    bytes: u64,
    first: bool,
}

/// The load and class of each association's datagrams.
#[derive(Debug, Default)]
pub struct UdpLoads {
    loads: BTreeMap<u32, UdpLoad>,
}

impl UdpLoads {
    /// Counts a datagram of an association. Returns the new class of its datagrams if it changes.
    pub fn add(&mut self, now: Time, link: u32, bytes: usize, rate_bps: Option<f64>) -> Option<Class> {
        let is_new = !self.loads.contains_key(&link);
        let load = self.loads.entry(link).or_insert(UdpLoad { since: now, bytes: 0, first: true });
        load.bytes += bytes as u64;
        let age = now.since(load.since);
        if age < PERIOD {
            return is_new.then_some(FIRST);
        }
        let used = load.bytes as f64 * 8.0 / age.as_secs_f64();
        let first = rate_bps.is_none_or(|rate| used < FEW * rate);
        (load.since, load.bytes) = (now, 0);
        let changes = std::mem::replace(&mut load.first, first) != first;
        (changes || is_new).then_some(if first { FIRST } else { AMONG_OTHERS })
    }

    pub fn forget(&mut self, link: u32) {
        self.loads.remove(&link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_datagrams_go_first_and_many_take_turns() {
        let mut loads = UdpLoads::default();
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        // 50 calls of 80 kbit/s over 1 Mbit/s are too many to go first; one is not.
        assert_eq!(loads.add(at(0), 1, 200, Some(1e6)), Some(FIRST));
        for ms in (20..2_000).step_by(20) {
            assert_eq!(loads.add(at(ms), 1, 200, Some(1e6)), None, "{ms}");
        }
        let changes: Vec<Class> =
            (2_000..4_000).filter_map(|ms| loads.add(at(ms), 1, 500, Some(1e6))).collect();
        assert_eq!(changes, [AMONG_OTHERS]);
        let changes: Vec<Class> =
            (4_000..6_000).step_by(20).filter_map(|ms| loads.add(at(ms), 1, 200, Some(1e6))).collect();
        assert_eq!(changes, [FIRST]);
    }
}
