//! Datagrams of UDP in an association, for the daemon and the simulator: their class, the time for which they may wait, and the way
//! of those that are too large for a packet.
//!
//! Follows docs/gateway.md, "Datagrams, QUIC and DNS", and docs/stp.md §15.7 and §16.
//! Differs from the classes of connections: all datagrams of an association are one member of its round.
//! Leaves out sockets, addresses, and the queue itself, which is the association's.

use skyhop_transport::stp::{Class, Payload, Trunk};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// The time in the queue after which a datagram is late.
const LATE: Span = Span::from_millis(500);
/// Limit of large datagrams that wait in a stream, bytes.
const LARGE_MOST: u64 = 128 << 10;
/// The part of the rate below which datagrams go first; above it they share with new connections and precede old ones.
const FEW: f64 = 0.25;
/// The class of few datagrams, and the priority of the streams that belong to them.
pub const FIRST: Class = Class { priority: 2, weight: 128 };
/// The class of many.
pub const AMONG_OTHERS: Class = Class { priority: 5, weight: 255 };
/// The period after which the class is decided anew.
const PERIOD: Span = Span::from_millis(500);
/// Limit of datagrams that arrive before the preamble of their stream, and the time that they are kept.
const EARLY_MOST: usize = 256;
const EARLY: Span = Span::from_secs(2);

/// The load of an association's datagrams in this period, and the class that follows from it.
#[derive(Debug, Default)]
pub struct DatagramLoad {
    since: Option<Time>,
    bytes: u64,
    many: bool,
}

impl DatagramLoad {
    /// Counts a datagram. Returns the new class of the association's datagrams if it changes.
    pub fn add(&mut self, now: Time, bytes: usize, rate_bps: Option<f64>) -> Option<Class> {
        let is_new = self.since.is_none();
        let since = *self.since.get_or_insert(now);
        self.bytes += bytes as u64;
        let age = now.since(since);
        if age < PERIOD {
            return is_new.then_some(FIRST);
        }
        let used = self.bytes as f64 * 8.0 / age.as_secs_f64();
        let many = rate_bps.is_some_and(|rate| used >= FEW * rate);
        (self.since, self.bytes) = (Some(now), 0);
        let changes = std::mem::replace(&mut self.many, many) != many;
        changes.then_some(if many { AMONG_OTHERS } else { FIRST })
    }
}

/// The way of a datagram to the far gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramWay {
    /// It waits among the association's datagrams.
    Datagram,
    /// It is too large for a packet, or empty, and goes in the stream, after two bytes with its length.
    Stream,
    /// Too much waits in the stream already.
    Refused,
}

/// Passes a datagram of the stream `id` to its association. `framed` is the datagram after its length.
pub fn send_datagram<P: Payload>(
    now: Time,
    load: &mut DatagramLoad,
    trunk: &mut Trunk<P>,
    id: u64,
    data: P,
    framed: impl FnOnce() -> P,
) -> DatagramWay {
    if let Some(class) = load.add(now, data.len(), trunk.rate_bps()) {
        trunk.prioritize_datagrams(class);
    }
    if trunk.send_datagram(id, data, now + LATE) {
        DatagramWay::Datagram
    } else if trunk.unsent(id) < LARGE_MOST {
        trunk.write(id, framed());
        DatagramWay::Stream
    } else {
        DatagramWay::Refused
    }
}

/// Datagrams that arrive before the preamble of their stream. `K` names a stream.
#[derive(Debug)]
pub struct EarlyDatagrams<K, T> {
    kept: VecDeque<(Time, K, T)>,
}

impl<K, T> Default for EarlyDatagrams<K, T> {
    fn default() -> Self {
        Self { kept: VecDeque::new() }
    }
}

impl<K: PartialEq, T> EarlyDatagrams<K, T> {
    /// Keeps a datagram whose stream has not been opened yet; old ones, and the oldest of too many, are dropped.
    pub fn keep(&mut self, now: Time, stream: K, data: T) {
        while self.kept.len() >= EARLY_MOST
            || self.kept.front().is_some_and(|(at, ..)| now.since(*at) > EARLY)
        {
            self.kept.pop_front();
        }
        self.kept.push_back((now, stream, data));
    }

    /// Takes the datagrams that arrived before their stream.
    pub fn take(&mut self, stream: K) -> Vec<T> {
        let (own, others): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.kept).into_iter().partition(|(_, name, _)| *name == stream);
        self.kept = others;
        own.into_iter().map(|(.., data)| data).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_datagrams_go_first_and_many_take_turns() {
        let mut load = DatagramLoad::default();
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        // 50 calls of 80 kbit/s over 1 Mbit/s are too many to go first; one is not.
        assert_eq!(load.add(at(0), 200, Some(1e6)), Some(FIRST));
        for ms in (20..2_000).step_by(20) {
            assert_eq!(load.add(at(ms), 200, Some(1e6)), None, "{ms}");
        }
        let changes: Vec<Class> = (2_000..4_000).filter_map(|ms| load.add(at(ms), 500, Some(1e6))).collect();
        assert_eq!(changes, [AMONG_OTHERS]);
        let changes: Vec<Class> =
            (4_000..6_000).step_by(20).filter_map(|ms| load.add(at(ms), 200, Some(1e6))).collect();
        assert_eq!(changes, [FIRST]);
    }

    #[test]
    fn what_comes_before_its_stream_waits_for_it() {
        let mut early = EarlyDatagrams::default();
        let at = |s| Time::ZERO + Span::from_secs(s);
        for n in 0..10_u64 {
            early.keep(at(10), (1, n % 2), n);
        }
        assert_eq!(early.take((1, 1)), [1, 3, 5, 7, 9]);
        assert!(early.take((1, 1)).is_empty());
        early.keep(at(20), (2, 0), 10);
        assert!(early.take((1, 0)).is_empty(), "old ones make room");
        for n in 0..1000 {
            early.keep(at(20), (3, 0), n);
        }
        assert_eq!(early.take((3, 0)).len(), EARLY_MOST);
    }
}
