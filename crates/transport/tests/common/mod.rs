//! Two STP machines and the path between them, in virtual time.
//!
//! Follows the simulator with one link in each direction: a rate, a delay, a buffer, random losses.
//! Differs: short enough to verify by reading, so its results depend on the machines only.
//! Leaves out topology, other traffic, and everything above the connection.

use skyhop_chance::Stream;
use skyhop_transport::stp::{Config, Connection, Ends, Event, Packet, PayloadLength};
use skyhop_units::{Span, Time};
use std::collections::BTreeMap;

/// One direction.
pub struct Link {
    pub bps: f64,
    pub delay: Span,
    /// Largest number of waiting bytes, with network-layer headers.
    pub buffer: u64,
    pub loss: f64,
    /// Size of the largest STP packet that is transmitted.
    pub mtu: usize,
    /// Bytes of headers below STP's packet.
    pub overhead: usize,
    pub chance: Stream,
    busy_until: Time,
    pub packets: u64,
    pub bytes: u64,
    pub overflows: u64,
    pub lost: u64,
}

impl Link {
    pub fn new(bps: f64, delay: Span, buffer: u64, loss: f64, chance: Stream) -> Self {
        let (busy_until, overhead, mtu) = (Time::ZERO, 28, usize::MAX);
        Self {
            bps,
            delay,
            buffer,
            loss,
            mtu,
            overhead,
            chance,
            busy_until,
            packets: 0,
            bytes: 0,
            overflows: 0,
            lost: 0,
        }
    }

    /// Arrival time of a packet that enters now; `None` if it is lost.
    pub fn carry(&mut self, now: Time, len: usize) -> Option<Time> {
        if len > self.mtu {
            return None;
        }
        let len = len + self.overhead;
        let queued = self.busy_until.since(now).as_secs_f64() * self.bps / 8.0;
        if queued > self.buffer as f64 {
            self.overflows += 1;
            return None;
        }
        self.packets += 1;
        self.bytes += len as u64;
        self.busy_until = self.busy_until.max(now) + Span::from_secs_f64(len as f64 * 8.0 / self.bps);
        if self.loss > 0.0 && self.chance.uniform() < self.loss {
            self.lost += 1;
            return None;
        }
        Some(self.busy_until + self.delay)
    }
}

pub struct Path {
    pub now: Time,
    /// The initiator, and the listener.
    pub ends: [Connection<PayloadLength>; 2],
    /// From the initiator, and to it.
    pub links: [Link; 2],
    agenda: BTreeMap<(Time, u64), (usize, Packet<PayloadLength>)>,
    order: u64,
    pub events: [Vec<(Time, Event)>; 2],
    /// True if each end's application reads.
    pub reads: bool,
    /// Time by which timers are late.
    pub late: Span,
    /// Interval of the turns, of one packet each, in which the initiator's host lets it send data; zero if it sends when it likes.
    pub turns: Span,
    turn: Time,
}

impl Path {
    pub fn new(config: [Config; 2], links: [Link; 2]) -> Self {
        let [one, other] = config;
        let ends = Ends { local_port: 4000, remote_port: 5000, instance: 7, count: 1 };
        let listener = Ends { local_port: 5000, remote_port: 0, instance: 0, count: 0 };
        let first = (1 << 24) - 100;
        Self {
            now: Time::ZERO,
            ends: [Connection::connect(one, ends, first), Connection::listen(other, listener, 77)],
            links,
            agenda: BTreeMap::new(),
            order: 0,
            events: [Vec::new(), Vec::new()],
            reads: true,
            late: Span::ZERO,
            turns: Span::ZERO,
            turn: Time::ZERO,
        }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(packet) = self.take(side) {
                if let Some(at) = self.links[side].carry(self.now, packet.wire_len()) {
                    self.order += 1;
                    self.agenda.insert((at, self.order), (1 - side, packet));
                }
            }
            while let Some(event) = self.ends[side].poll_event() {
                self.events[side].push((self.now, event));
            }
            while self.reads && self.ends[side].read(usize::MAX).is_some() {}
        }
    }

    fn take(&mut self, side: usize) -> Option<Packet<PayloadLength>> {
        let held = side == 0 && self.turn > self.now;
        self.ends[side].hold_back(held);
        let packet = self.ends[side].poll_transmit(self.now)?;
        if side == 0 && packet.data.is_some() {
            self.turn = self.now + self.turns;
        }
        Some(packet)
    }

    /// Runs until `done`, until no event is left, or until `until`; returns `done`.
    pub fn run(&mut self, until: Time, mut done: impl FnMut(&Self) -> bool) -> bool {
        self.drain();
        let mut still = 0;
        while !done(self) {
            let timers = self.ends.iter().filter_map(|end| end.poll_timeout()).min();
            let turn = self.ends[0].waits_for_turn().then_some(self.turn);
            let timers = timers.map(|at| at + self.late).into_iter().chain(turn).min();
            let packet = self.agenda.first_key_value().map(|(&(at, _), _)| at);
            let Some(next) = timers.into_iter().chain(packet).min() else { return false };
            if next > until {
                return false;
            }
            still = if next > self.now { 0 } else { still + 1 };
            assert!(still < 100_000, "no time passes at {:?}: {:?}", self.now, self.ends);
            self.now = self.now.max(next);
            while let Some(entry) = self.agenda.first_entry()
                && entry.key().0 <= self.now
            {
                let (side, packet) = entry.remove();
                self.ends[side].handle_packet(self.now, &packet);
            }
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.drain();
        }
        true
    }
}

/// Sends `bytes` in one direction and closes; seconds until the last byte is acknowledged.
pub fn transfer(path: &mut Path, bytes: u64, until: f64) -> Option<f64> {
    path.ends[0].write(PayloadLength(bytes));
    path.ends[0].shutdown();
    path.ends[1].shutdown();
    path.run(Time::ZERO + Span::from_secs_f64(until), |path| path.ends[0].end_acknowledged());
    path.ends[0].end_acknowledged().then(|| path.now.as_secs_f64())
}
