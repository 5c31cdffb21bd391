//! Transmitters shared by the links of several terminals: a satellite's or a beam's, up and down.
//!
//! Follows deficit round robin (Shreedhar and Varghese 1995) among the terminals with packets to send, in the form of RFC 8290
//! §4.2: a turn lasts until the deficit is used up, so that no packet has to be inspected before it leaves its queue.
//! Differs from one queue for all: each link keeps its queue and rate, and the shared transmitter decides when its next packet begins.
//! A terminal whose own transmitter is busy for longer than a turn lets others pass; at a handover it changes rounds.
//! Leaves out requests for capacity, which take a round trip on a real uplink, and framing and coding.

use crate::wire::Wire;
use skyhop_scenario::{self as scenario, network::Direction};
use skyhop_topology::{NodeId, Topology};
use skyhop_units::{Bytes, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Bytes of a turn: a full packet, as in the queue "drr".
const QUANTUM: i64 = 1514;

/// A shared transmitter: satellite, beam, and true for the uplink.
type TransmitterKey = (NodeId, u32, bool);

struct Transmitter {
    rate: Rate,
    /// Time at which it has sent all that it has begun.
    free_at: Time,
    /// Wires with packets to send, in the order of their turns.
    round: VecDeque<u32>,
    /// Wires with packets to send that take no turn before a time, as their own transmitters are busy.
    busy: BinaryHeap<Reverse<(Time, u32)>>,
    /// Time of its next event, and the wire whose slot has it.
    wakes: Option<(Time, u32)>,
}

impl Transmitter {
    fn new(rate: Rate) -> Self {
        let (round, busy) = (VecDeque::new(), BinaryHeap::new());
        Self { rate, free_at: Time::ZERO, round, busy, wakes: None }
    }
}

/// A wire that takes turns.
#[derive(Debug, Clone, Copy)]
struct SharingWire {
    beam: u32,
    /// True for an uplink.
    up: bool,
    rate: Rate,
    transmitter: Option<u32>,
    /// True if it is in the round or among the busy.
    waits: bool,
    deficit: i64,
}

/// All shared transmitters of a network.
pub(crate) struct SharedTransmitters {
    /// Rates of each constellation, up and down.
    rates: Vec<[Option<Rate>; 2]>,
    /// Number of each terminal's beam, 0 without one; `None` for gateways, which share nothing.
    beams: Vec<Option<u32>>,
    /// State of each wire that takes turns.
    members: Vec<Option<SharingWire>>,
    transmitters: Vec<Transmitter>,
    numbers: BTreeMap<TransmitterKey, u32>,
}

impl SharedTransmitters {
    /// The shared transmitters of a scenario; `None` if there are none.
    pub fn of(scenario: &scenario::Scenario, topology: &Topology) -> Option<Box<Self>> {
        let of = |fleet: scenario::PlacedFleet<'_>| {
            [Direction::Forward, Direction::Reverse].map(|direction| fleet.model.gsl.shared(direction))
        };
        let rates: Vec<[Option<Rate>; 2]> = scenario.fleets().map(of).collect();
        rates.iter().flatten().any(Option::is_some).then(|| {
            let terminals = &scenario.terminals;
            let names: BTreeSet<&str> = terminals.values().filter_map(|t| t.beam.as_deref()).collect();
            let beam = |terminal: &skyhop_orbit::Terminal| {
                let terminal = terminals.get(&terminal.name).filter(|terminal| !terminal.gateway)?;
                let name = terminal.beam.as_deref();
                Some(name.map_or(0, |name| 1 + names.range(..name).count() as u32))
            };
            Box::new(Self {
                rates,
                beams: topology.terminals().iter().map(beam).collect(),
                members: Vec::new(),
                transmitters: Vec::new(),
                numbers: BTreeMap::new(),
            })
        })
    }

    /// Makes a wire of `terminal` to constellation `fleet` take turns if its direction is shared; `index` is its number.
    pub fn join(&mut self, index: usize, wire: &mut Wire, [terminal, fleet]: [usize; 2], up: bool) {
        let rate = self.rates[fleet][usize::from(!up)];
        let Some((beam, rate)) = self.beams[terminal].zip(rate) else { return };
        wire.link.take_turns(rate, QUANTUM as u32);
        self.members.resize(index + 1, None);
        self.members[index] =
            Some(SharingWire { beam, up, rate, transmitter: None, waits: false, deficit: 0 });
    }

    /// Moves wires to the transmitters of their present satellites after links have changed. Returns the wires whose transmitters
    /// must be polled.
    pub fn follow(&mut self, wires: &[Wire]) -> Vec<u32> {
        let mut awake = Vec::new();
        for (index, wire) in wires.iter().enumerate().take(self.members.len()) {
            let Some(member) = &mut self.members[index] else { continue };
            let satellite = if member.up { wire.to } else { wire.from };
            let key = wire.link.is_up().then_some((satellite, member.beam, member.up));
            let (transmitters, rate) = (&mut self.transmitters, member.rate);
            let now_at = key.map(|key| {
                *self.numbers.entry(key).or_insert_with(|| {
                    transmitters.push(Transmitter::new(rate));
                    transmitters.len() as u32 - 1
                })
            });
            if member.transmitter == now_at {
                continue;
            }
            if let Some(old) = std::mem::replace(&mut member.transmitter, now_at) {
                (member.waits, member.deficit) = (false, 0);
                let old = &mut transmitters[old as usize];
                old.round.retain(|wire| *wire != index as u32);
                old.busy.retain(|Reverse((_, wire))| *wire != index as u32);
                // Another wire of this transmitter schedules the next turn.
                old.wakes = old.wakes.filter(|(_, wire)| *wire != index as u32);
                let other = old.round.front().copied();
                awake.extend(other.or(old.busy.peek().map(|Reverse((_, wire))| *wire)));
            }
            awake.push(index as u32);
        }
        awake
    }

    /// Gives a turn on the transmitter of wire `index`, if it is free and a wire waits. Returns the wire that had it; the caller
    /// handles its reports, and calls again.
    pub fn turn(
        &mut self,
        now: Time,
        index: u32,
        wires: &mut [Wire],
        topology: Option<&Topology>,
    ) -> Option<u32> {
        let member = self.members.get_mut(index as usize)?.as_mut()?;
        let transmitter = &mut self.transmitters[member.transmitter? as usize];
        if !member.waits
            && let Some(from) = wires[index as usize].link.wants_turn()
        {
            member.waits = true;
            transmitter.busy.push(Reverse((from, index)));
        }
        while let Some(&Reverse((from, wire))) = transmitter.busy.peek()
            && from <= now
        {
            transmitter.busy.pop();
            transmitter.round.push_back(wire);
        }
        while transmitter.free_at <= now
            && let Some(&first) = transmitter.round.front()
        {
            let Some(member) = &mut self.members[first as usize] else { unreachable!("it waits here") };
            let wire = &mut wires[first as usize];
            let wants = wire.link.wants_turn();
            let Some(from) = wants else {
                // The packets that waited are gone. A negative deficit is kept.
                (member.waits, member.deficit) = (false, member.deficit.min(0));
                transmitter.round.pop_front();
                continue;
            };
            if from > now {
                transmitter.round.pop_front();
                transmitter.busy.push(Reverse((from, first)));
                continue;
            }
            if member.deficit <= 0 {
                member.deficit += QUANTUM;
                transmitter.round.rotate_left(1);
                continue;
            }
            let medium = wire.medium(topology);
            if let Some(size) = wire.link.take_turn(now, &medium) {
                member.deficit -= i64::from(size);
                transmitter.free_at = now + transmitter.rate.serialisation(Bytes::new(u64::from(size)));
            }
            return Some(first);
        }
        None
    }

    /// Time of the next event of wire `index`'s transmitter, for the slot of that wire; `None` if another wire's slot has it.
    pub fn next_look(&mut self, now: Time, index: u32) -> Option<Time> {
        let member = self.members.get(index as usize)?.as_ref()?;
        let transmitter = &mut self.transmitters[member.transmitter? as usize];
        let next = match (transmitter.round.is_empty(), transmitter.busy.peek()) {
            (false, _) => transmitter.free_at,
            (true, Some(Reverse((from, _)))) => transmitter.free_at.max(*from),
            (true, None) => {
                transmitter.wakes = None;
                return None;
            }
        };
        let seen_to = transmitter.wakes.is_some_and(|(at, by)| by != index && now < at && at <= next);
        if !seen_to {
            transmitter.wakes = Some((next, index));
        }
        (!seen_to).then_some(next)
    }
}
