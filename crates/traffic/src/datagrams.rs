//! Datagrams at a constant rate, continuously or on and off.
//!
//! Follows ns-2's CBR and Pareto on/off sources; Willinger et al. 1997 for the aggregate of many of the latter.
//! Differs: packet times are exact multiples from the start of a burst, so that rounding does not accumulate.
//! Leaves out hosts; the driver of the network sends the datagrams that are due.

use crate::Distribution;
use crate::web::span;
use skyhop_chance::Stream;
use skyhop_units::{Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Datagrams at a constant rate, continuously or on and off, from one or many sources.
#[derive(Debug)]
pub struct Datagrams {
    size: u32,
    rate: Rate,
    sources: Vec<DatagramSource>,
    /// Time of the next datagram of each source, and the source.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Debug)]
struct DatagramSource {
    /// Start and end of its burst, and the number of packets sent in it.
    begun: Time,
    ends: Option<Time>,
    packets: u64,
    turns: Option<OnOffTimes>,
}

/// Distributions of a source's on and off times, s.
#[derive(Debug)]
struct OnOffTimes {
    on: Distribution,
    off: Distribution,
    chance: Stream,
}

impl Datagrams {
    /// One source that continuously sends `size` bytes of payload at a time, at `rate` of payload.
    pub fn constant(rate: Rate, size: u32) -> Self {
        Self { size, rate, sources: vec![DatagramSource::new(None)], due: BinaryHeap::new() }
    }

    /// Sources with on times drawn from `on` and off times drawn from `off`, s; one for each of `streams`.
    pub fn by_turns(
        rate: Rate,
        size: u32,
        on: &Distribution,
        off: &Distribution,
        streams: impl Iterator<Item = Stream>,
    ) -> Self {
        let turns = |chance| OnOffTimes { on: on.clone(), off: off.clone(), chance };
        let sources = streams.map(|chance| DatagramSource::new(Some(turns(chance)))).collect();
        Self { size, rate, sources, due: BinaryHeap::new() }
    }

    /// Payload of a datagram, bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Starts the flow. On-off sources start on or off with the odds of the mean times.
    pub fn start(&mut self, now: Time) {
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.begun = now;
            if let Some(turns) = &mut source.turns {
                let (on, off) = (turns.on.mean(), turns.off.mean());
                let share = if (on + off).is_finite() { on / (on + off) } else { 0.5 };
                if !turns.chance.happens(share) {
                    source.begun = now + span(turns.off.draw(&mut turns.chance));
                }
                source.ends = Some(source.begun + span(turns.on.draw(&mut turns.chance)));
            }
            self.due.push(Reverse((source.begun, index as u32)));
        }
    }

    /// Time at which the next datagram is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a datagram that is due by `now`. Returns false if there is none.
    pub fn poll_transmit(&mut self, now: Time) -> bool {
        let Some(Reverse((_, index))) = self.due.peek().copied().filter(|Reverse((at, _))| *at <= now) else {
            return false;
        };
        self.due.pop();
        let source = &mut self.sources[index as usize];
        source.packets += 1;
        let mut next = source.begun + interval(self.rate, self.size, source.packets);
        if let (Some(ends), Some(turns)) = (source.ends, &mut source.turns)
            && next >= ends
        {
            // A burst of zero length would stop time.
            let off = span(turns.off.draw(&mut turns.chance)).max(Span::from_nanos(1));
            source.begun = ends.max(now) + off;
            source.ends = Some(source.begun + span(turns.on.draw(&mut turns.chance)));
            source.packets = 0;
            next = source.begun;
        }
        self.due.push(Reverse((next, index)));
        true
    }
}

impl DatagramSource {
    fn new(turns: Option<OnOffTimes>) -> Self {
        Self { begun: Time::ZERO, ends: None, packets: 0, turns }
    }
}

/// Transmission time of `packets` packets of `size` bytes at `rate`.
fn interval(rate: Rate, size: u32, packets: u64) -> Span {
    let bits = u128::from(packets) * u128::from(size) * 8;
    let ns = bits * 1_000_000_000 / u128::from(rate.as_bps().max(1));
    Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX / 4))
}
