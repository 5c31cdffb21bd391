//! Two ends of an association and a path between them with a round trip of 100 ms; and a peer that writes its own packets.
//!
//! Follows docs/stp.md §15: each case is written by hand for one rule.
//! Differs from `net`: nothing is random, and packets are passed on as they are.

use bytes::Bytes;
use skyhop_transport::stp::{Budgets, Config, Ends, Frames, Packet, Trunk, TrunkEvent};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Begin, Control, Features, Frame, VERSION_STREAMS};
use std::collections::BTreeMap;

pub type Sent = Packet<Frames<Bytes>>;

pub const HERE: Ends = Ends { local_port: 7, remote_port: 9, instance: 12, count: 5 };
pub const THERE: Ends = Ends { local_port: 9, remote_port: 0, instance: 0, count: 0 };
pub const DELAY: Span = Span::from_millis(50);

/// Two ends and a path with a round trip of 100 ms, with selected losses.
pub struct Pair {
    pub now: Time,
    pub ends: [Trunk<Bytes>; 2],
    pub wire: BTreeMap<(Time, u64), (usize, Sent)>,
    pub serial: u64,
    /// Events of each end, with their times.
    pub events: [Vec<(Time, TrunkEvent)>; 2],
    pub sent: [Vec<Sent>; 2],
}

impl Pair {
    pub fn new(configs: [(Config, Budgets); 2]) -> Self {
        let [(a, one), (b, other)] = configs;
        Self {
            now: Time::ZERO,
            ends: [Trunk::connect(a, one, HERE, 1), Trunk::listen(b, other, THERE, 1000)],
            wire: BTreeMap::new(),
            serial: 0,
            events: Default::default(),
            sent: Default::default(),
        }
    }

    pub fn usual() -> Self {
        Self::new([(Config::default(), Budgets::default()), (Config::default(), Budgets::default())])
    }

    /// A pair that has exchanged budgets.
    pub fn met(configs: [(Config, Budgets); 2]) -> Self {
        let mut pair = Self::new(configs);
        pair.run(1000, |_, _| false);
        assert!(pair.ends.iter().all(Trunk::established));
        pair
    }

    pub fn drain(&mut self, loses: &mut impl FnMut(usize, &Sent) -> bool) {
        for side in [0, 1] {
            while let Some(packet) = self.ends[side].poll_transmit(self.now) {
                if !loses(side, &packet) {
                    self.serial += 1;
                    self.wire.insert((self.now + DELAY, self.serial), (1 - side, packet.clone()));
                }
                self.sent[side].push(packet);
            }
            while let Some(event) = self.ends[side].poll_event() {
                self.events[side].push((self.now, event));
            }
        }
    }

    pub fn run(&mut self, ms: u64, mut loses: impl FnMut(usize, &Sent) -> bool) {
        let until = self.now + Span::from_millis(ms);
        loop {
            self.drain(&mut loses);
            let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
            let timers = self.ends.each_ref().map(Trunk::poll_timeout);
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(at) = next.filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            if arrival == Some(at) {
                let (_, (to, packet)) = self.wire.pop_first().expect("it is there");
                self.ends[to].handle_packet(self.now, &packet);
            }
            for (end, due) in self.ends.iter_mut().zip(timers) {
                if due.is_some_and(|due| due <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
        }
        self.now = until;
    }

    pub fn at(&self, side: usize, event: TrunkEvent) -> Option<Time> {
        self.events[side].iter().find(|(_, other)| *other == event).map(|(at, _)| *at)
    }

    pub fn read(&mut self, side: usize, id: u64) -> usize {
        std::iter::from_fn(|| self.ends[side].read(id, usize::MAX)).map(|data| data.len()).sum()
    }
}

pub fn bytes(len: usize) -> Bytes {
    Bytes::from(vec![7; len])
}

/// A peer that writes its own packets.
pub struct Liar {
    pub end: Trunk<Bytes>,
    pub next: u32,
}

impl Liar {
    pub fn new(config: Config, budgets: Budgets) -> Self {
        let mut liar = Liar { end: Trunk::listen(config, budgets, THERE, 9), next: 100 };
        let begin = Begin {
            version: VERSION_STREAMS,
            features: Features::COMPACT.with(Features::REPORT),
            max_payload: 1400,
            first: 100,
            credit: 1000,
            count: 5,
        };
        let control = Control { begin: Some(begin), ..Control::default() };
        liar.end.handle_packet(Time::ZERO, &liar.packet(None, Some(control)));
        assert!(liar.end.established());
        liar
    }

    pub fn packet(&self, data: Option<Vec<Frame<Bytes>>>, control: Option<Control>) -> Sent {
        Packet {
            source_port: 7,
            destination_port: 9,
            instance: 12,
            seq: self.next,
            poll: None,
            data: data.map(|frames| Frames(frames.into())),
            control: control.map(Box::new),
        }
    }

    /// Sends the frames in a packet of its own; true if it was accepted.
    pub fn say(&mut self, frames: Vec<Frame<Bytes>>) -> bool {
        let refused = self.end.stats().refused;
        let packet = self.packet(Some(frames), None);
        self.end.handle_packet(Time::ZERO, &packet);
        let taken = self.end.stats().refused == refused;
        self.next += u32::from(taken);
        taken
    }
}
