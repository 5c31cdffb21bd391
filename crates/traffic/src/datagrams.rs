//! Datagrams at a constant rate, all the time or by turns.
//!
//! Follows ns-2's CBR and Pareto on/off sources; Willinger et al. 1997 for what many of the latter come to.
//! Differs: the times of packets are whole multiples from the start of a burst, so that nothing drifts.
//! Leaves out hosts; whoever has the network sends what is due.

use crate::Distribution;
use crate::web::span;
use skyhop_chance::Stream;
use skyhop_units::{Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Datagrams at a constant rate, all the time or by turns, from one or many sources.
#[derive(Debug)]
pub struct Datagrams {
    size: u32,
    rate: Rate,
    sources: Vec<Source>,
    /// Which source is next, and when.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Debug)]
struct Source {
    /// When its burst began and ends, and the packets it has had.
    begun: Time,
    ends: Option<Time>,
    packets: u64,
    turns: Option<Turns>,
}

/// How long a source sends, and how long it does not, s.
#[derive(Debug)]
struct Turns {
    on: Distribution,
    off: Distribution,
    chance: Stream,
}

impl Datagrams {
    /// One source that always sends `size` bytes of payload at a time, at `rate` of payload.
    pub fn constant(rate: Rate, size: u32) -> Self {
        Self { size, rate, sources: vec![Source::new(None)], due: BinaryHeap::new() }
    }

    /// Sources that send for a time drawn from `on` and are silent for one drawn from `off`, s; one for each of `streams`.
    pub fn by_turns(
        rate: Rate,
        size: u32,
        on: &Distribution,
        off: &Distribution,
        streams: impl Iterator<Item = Stream>,
    ) -> Self {
        let turns = |chance| Turns { on: on.clone(), off: off.clone(), chance };
        let sources = streams.map(|chance| Source::new(Some(turns(chance)))).collect();
        Self { size, rate, sources, due: BinaryHeap::new() }
    }

    /// Payload of a datagram, bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The flow begins. Sources that go by turns begin with either, with the odds of their means.
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

    /// When the next datagram is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a datagram that is due by `now`. False if there is none.
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
            // A burst of no length would let time stand still.
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

impl Source {
    fn new(turns: Option<Turns>) -> Self {
        Self { begun: Time::ZERO, ends: None, packets: 0, turns }
    }
}

/// What `packets` packets of `size` bytes take at `rate`.
fn interval(rate: Rate, size: u32, packets: u64) -> Span {
    let bits = u128::from(packets) * u128::from(size) * 8;
    let ns = bits * 1_000_000_000 / u128::from(rate.as_bps().max(1));
    Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX / 4))
}
