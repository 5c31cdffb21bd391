//! Reconstruction of acknowledgments behind a link with a filter: missing ones are generated again, evenly spaced.
//!
//! Follows RFC 3449 §5.3.3: a gap of more than `every` bytes in the acknowledgments of a connection is filled over the mean interval
//! between recent acknowledgments, which restores the sender's acknowledgment clock.
//! Differs: the interval is a mean with a weight of one eighth, as for round trips (the RFC leaves the filter open).
//! Leaves out acknowledgments with SACK blocks, ECE or a mark, and duplicates: they pass, behind held ones.

use skyhop_link::Ack;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Largest number of acknowledgments for one gap; a wider gap belongs to a new connection or a repaired loss.
const MOST: u32 = 64;

/// The reconstructor at the far end of a link.
#[derive(Debug)]
pub(crate) struct Reconstructor {
    /// Bytes that an acknowledgment covers after reconstruction.
    every: u32,
    /// State by connection and direction.
    streams: BTreeMap<(u32, u32, bool), AckStream>,
}

#[derive(Debug)]
struct AckStream {
    /// Number and time of the latest acknowledgment.
    last: (u32, Time),
    /// Mean time between acknowledgments of new data.
    apart: Option<Span>,
    held: VecDeque<(Time, u32)>,
}

/// Acknowledgments to be generated before one that arrived, in order.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Missing {
    /// Numbers, and times at which they leave.
    pub numbers: Vec<(u32, Time)>,
    /// Time at which the one that arrived leaves.
    pub last: Option<Time>,
}

impl Reconstructor {
    pub fn new(every: u32) -> Self {
        Self { every, streams: BTreeMap::new() }
    }

    /// Handles an acknowledgment that has arrived: returns those missing before it, or `None` if it may pass.
    pub fn handle(&mut self, now: Time, stream: (u32, u32, bool), ack: Ack) -> Option<Missing> {
        let (number, plain) = match ack {
            Ack::No => return None,
            Ack::Plain(number) => (number, true),
            Ack::Kept(number) => (number, false),
        };
        let Some(known) = self.streams.get_mut(&stream) else {
            self.streams
                .insert(stream, AckStream { last: (number, now), apart: None, held: VecDeque::new() });
            return None;
        };
        let (last, at) = known.last;
        let free = known.held.back().map_or(now, |(at, _)| (*at).max(now));
        let gap = number.wrapping_sub(last);
        let fresh = gap != 0 && gap < 1 << 31;
        if fresh {
            let since = now.since(at);
            known.apart = Some(known.apart.map_or(since, |apart| apart * 7 / 8 + since / 8));
            known.last = (number, now);
        }
        let count = if fresh && plain { gap.div_ceil(self.every) } else { 1 };
        if count == 1 || count > MOST {
            return (!known.held.is_empty()).then(|| Missing { last: Some(free), ..Missing::default() });
        }
        let step = known.apart.unwrap_or(Span::ZERO) / u64::from(count);
        let numbers = (1..count).map(|part| {
            let number = last.wrapping_add((u64::from(gap) * u64::from(part) / u64::from(count)) as u32);
            (number, free + step * u64::from(part - 1))
        });
        Some(Missing { numbers: numbers.collect(), last: Some(free + step * u64::from(count - 1)) })
    }

    /// Holds frame `id` of a connection until `at`.
    pub fn hold(&mut self, stream: (u32, u32, bool), at: Time, id: u32) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.held.push_back((at, id));
        }
    }

    /// The next frame that is due by `now`.
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        let due =
            self.streams.values_mut().filter(|stream| stream.held.front().is_some_and(|(at, _)| *at <= now));
        due.min_by_key(|stream| stream.held[0].0)?.held.pop_front().map(|(_, id)| id)
    }

    /// Time at which the next frame is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.streams.values().filter_map(|stream| stream.held.front()).map(|(at, _)| *at).min()
    }

    /// Number of frames held.
    pub fn held(&self) -> usize {
        self.streams.values().map(|stream| stream.held.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: (u32, u32, bool) = (0, 0, true);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_gap_is_filled_evenly_over_the_time_that_acknowledgments_are_apart() {
        let mut box_ = Reconstructor::new(2000);
        assert_eq!(box_.handle(at(0), STREAM, Ack::Plain(1000)), None, "the first");
        assert_eq!(box_.handle(at(80), STREAM, Ack::Plain(3000)), None, "no gap");
        let filled = box_.handle(at(160), STREAM, Ack::Plain(11_000)).unwrap();
        assert_eq!(filled.numbers, [(5000, at(160)), (7000, at(180)), (9000, at(200))]);
        assert_eq!(filled.last, Some(at(220)));
    }

    #[test]
    fn what_comes_while_others_are_held_goes_behind_them() {
        let mut box_ = Reconstructor::new(2000);
        box_.handle(at(0), STREAM, Ack::Plain(1000));
        let filled = box_.handle(at(40), STREAM, Ack::Plain(5000)).unwrap();
        assert_eq!((filled.numbers.len(), filled.last), (1, Some(at(60))));
        box_.hold(STREAM, at(40), 7);
        box_.hold(STREAM, at(60), 8);
        let duplicate = box_.handle(at(50), STREAM, Ack::Kept(5000)).unwrap();
        assert_eq!((duplicate.numbers.len(), duplicate.last), (0, Some(at(60))));
        assert_eq!((box_.held(), box_.poll_timeout()), (2, Some(at(40))));
        assert_eq!([box_.poll(at(50)), box_.poll(at(50)), box_.poll(at(60))], [Some(7), None, Some(8)]);
        assert_eq!(box_.handle(at(70), STREAM, Ack::Kept(5000)), None, "nothing is held");
    }

    #[test]
    fn data_old_numbers_and_leaps_pass() {
        let mut box_ = Reconstructor::new(1000);
        box_.handle(at(0), STREAM, Ack::Plain(10_000));
        assert_eq!(box_.handle(at(1), STREAM, Ack::No), None);
        assert_eq!(box_.handle(at(1), STREAM, Ack::Plain(9000)), None, "an old one");
        assert_eq!(box_.handle(at(2), STREAM, Ack::Plain(1_000_000)), None, "a leap");
        assert_eq!(box_.handle(at(3), (0, 1, true), Ack::Plain(5)), None, "another connection");
    }
}
