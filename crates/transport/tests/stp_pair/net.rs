//! Two machines joined by a channel that follows the plan, with bytes as payload and bytes on the wire.
//!
//! Every packet is emitted and parsed again, so that the protocol is tested, not the structs.
//! Differs from the simulator: time jumps from event to event, and every guarantee is asserted on the way.
//! Leaves out congestion: the channel has no rate.

use super::observer::Observer;
use super::plan::{Finish, Plan};
use bytes::Bytes;
use skyhop_transport::stp::{Connection, Ends, Event, Packet};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{emit, parse};
use std::collections::BTreeMap;

/// The byte at `offset` of the data written by `from`.
pub fn pattern(from: usize, offset: u64) -> u8 {
    ((offset + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8 ^ [0x5a, 0xc3][from]
}

/// Number of events of each kind at an end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    pub connected: u32,
    pub finished: u32,
    pub closed: u32,
    pub reset: u32,
}

/// Outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything arrived and both ends closed.
    Done,
    /// At least one end reported a failure, and nothing was delivered that had not been written.
    Reported,
}

/// Two machines and a channel.
pub struct Net {
    pub plan: Plan,
    pub now: Time,
    pub ends: [Connection<Bytes>; 2],
    pub observer: Observer,
    pub told: [Told; 2],
    /// Bytes written and read so far.
    pub written: [u64; 2],
    pub read: [u64; 2],
    /// In order of arrival, then of sending.
    wire: BTreeMap<(Time, u64), (usize, Bytes)>,
    /// Packets that each end has sent.
    pub count: [u64; 2],
    serial: u64,
    next_write: [usize; 2],
    write_at: [Time; 2],
    read_at: [Time; 2],
    unread: [bool; 2],
    /// Bytes of events of kind Received.
    received: [u64; 2],
    finished: [bool; 2],
    all_acknowledged: [bool; 2],
    pub steps: u64,
    /// Print each packet.
    pub trace: bool,
}

impl Net {
    pub fn new(plan: Plan) -> Self {
        let config = || plan.config.clone();
        let here = Ends { local_port: 7, remote_port: 9, instance: 1234, count: 5 };
        let there = Ends { local_port: 9, remote_port: 0, instance: 0, count: 0 };
        let ends = [
            Connection::connect(config(), here, plan.sides[0].initial),
            Connection::listen(config(), there, plan.sides[1].initial),
        ];
        let mut net = Self {
            unread: [false; 2],
            received: [0; 2],
            observer: Observer::new(&plan),
            now: Time::ZERO,
            ends,
            told: [Told::default(); 2],
            written: [0; 2],
            read: [0; 2],
            wire: BTreeMap::new(),
            count: [0; 2],
            serial: 0,
            next_write: [0; 2],
            write_at: [Time::ZERO; 2],
            read_at: [Time::ZERO; 2],
            finished: [false; 2],
            all_acknowledged: [true; 2],
            steps: 0,
            trace: std::env::var_os("STP_TRACE").is_some(),
            plan,
        };
        net.drain();
        net
    }

    /// Runs to the end, and returns the outcome.
    pub fn run(&mut self) -> Outcome {
        while self.step() {
            self.steps += 1;
            assert!(self.steps < 60_000, "no end by {}: {}", self.now, self.state());
        }
        self.outcome()
    }

    fn outcome(&self) -> Outcome {
        let done = |end: usize| self.told[end].closed == 1 && self.told[end].reset == 0;
        if done(0) && done(1) {
            assert_eq!(
                self.read,
                [self.written[1], self.written[0]],
                "closed with less than all: {}",
                self.state()
            );
            return Outcome::Done;
        }
        let reported = self.told.iter().any(|t| t.reset > 0);
        // On a dead path an end with nothing outstanding that does not poll has nothing to wait for.
        let idle = self.plan.dies.is_some() && self.ends.iter().all(|end| end.unacknowledged() == 0);
        assert!(reported || idle, "nothing is due, nobody is told: {}", self.state());
        assert!(!self.plan.must_succeed(), "gave up over a path that carries: {}", self.state());
        Outcome::Reported
    }

    pub fn state(&self) -> String {
        format!(
            "{:?}, written {:?}, read {:?}, {:?} packets, {:?} {:?}",
            self.told,
            self.written,
            self.read,
            self.count,
            self.ends.each_ref().map(|end| end.state()),
            self.plan
        )
    }

    /// Executes the next step; false if there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
        let timers = self.ends.each_ref().map(|end| end.poll_timeout());
        let wishes = [0, 1].map(|end| self.wish(end));
        let Some(at) = timers.into_iter().chain(wishes).chain([arrival]).flatten().min() else {
            return false;
        };
        assert!(at >= self.now, "something was due at {at}, and it is {}", self.now);
        if self.plan.too_early {
            self.call_too_early(at);
        }
        self.now = at;
        if arrival == Some(at) {
            let (_, (to, bytes)) = self.wire.pop_first().expect("it is there");
            self.arrive(to, bytes);
        } else if wishes.contains(&Some(at)) {
            [0, 1].into_iter().filter(|end| wishes[*end] == Some(at)).for_each(|end| self.act(end));
        } else {
            for end in [0, 1] {
                if timers[end] == Some(at) {
                    self.ends[end].handle_timeout(at);
                }
            }
        }
        self.drain();
        true
    }

    /// Time of the next write or read of the application of `end`.
    fn wish(&self, end: usize) -> Option<Time> {
        let side = &self.plan.sides[end];
        let ready = self.told[end].connected > 0 || (end == 0 && side.early);
        let alive = self.told[end].reset == 0 && self.told[end].closed == 0;
        let more = self.next_write[end] < side.writes.len();
        let write = (ready && alive && more).then(|| self.write_at[end].max(self.now));
        let unread = side.read_every_ms > 0 && self.unread[end];
        let read = unread.then(|| self.read_at[end].max(self.now));
        [write, read].into_iter().flatten().min()
    }

    /// Executes the due actions of the application of `end`.
    fn act(&mut self, end: usize) {
        let side = &self.plan.sides[end];
        if self.unread[end] && self.read_at[end] <= self.now {
            self.read_at[end] = self.now + Span::from_millis(side.read_every_ms);
            self.read_some(end);
        }
        let ready = self.told[end].connected > 0 || (end == 0 && self.plan.sides[end].early);
        if ready && self.write_at[end] <= self.now {
            self.write(end);
        }
    }

    fn read_some(&mut self, end: usize) {
        let most = if self.plan.sides[end].read_every_ms > 0 { 700 } else { usize::MAX };
        while let Some(data) = self.ends[end].read(most) {
            assert!(!data.is_empty() && data.len() <= most);
            let from = self.read[end];
            let right = data.iter().enumerate().all(|(i, b)| *b == pattern(1 - end, from + i as u64));
            assert!(right, "altered, twice or out of order at {from}: {}", self.state());
            self.read[end] += data.len() as u64;
            assert!(self.read[end] <= self.written[1 - end], "more than was written");
            if self.plan.sides[end].read_every_ms > 0 {
                break;
            }
        }
        self.unread[end] = self.ends[end].readable() > 0;
    }

    fn tell(&mut self, end: usize, event: Event) {
        match event {
            Event::Connected => {
                self.told[end].connected += 1;
                self.write_at[end] = self.now;
                self.maybe_finish(end);
            }
            Event::Received(bytes) => {
                assert!(bytes > 0);
                self.received[end] += bytes;
                self.unread[end] = true;
                if self.plan.sides[end].read_every_ms == 0 {
                    self.read_some(end);
                }
            }
            Event::AllAcknowledged => {
                self.all_acknowledged[end] = true;
                self.maybe_finish(end);
            }
            Event::PeerFinished => {
                self.told[end].finished += 1;
                assert!(self.finished[1 - end], "finished by itself");
                assert_eq!(self.ends[end].delivered(), self.written[1 - end], "finished before all came");
                self.maybe_finish(end);
            }
            Event::Closed => self.told[end].closed += 1,
            Event::Reset(_) => self.told[end].reset += 1,
        }
        let t = self.told[end];
        assert!(t.connected <= 1 && t.finished <= 1 && t.closed <= 1 && t.reset <= 1, "{t:?}");
        assert!(t.closed == 0 || t.finished == 1, "closed before the peer finished");
    }

    fn write(&mut self, end: usize) {
        let side = &self.plan.sides[end];
        if let Some(len) = side.writes.get(self.next_write[end]).copied() {
            self.next_write[end] += 1;
            self.write_at[end] = self.now + Span::from_millis(side.pause_ms);
            let from = self.written[end];
            let bytes: Vec<u8> = (from..from + len as u64).map(|at| pattern(end, at)).collect();
            self.written[end] += len as u64;
            self.all_acknowledged[end] &= len == 0;
            self.ends[end].write(Bytes::from(bytes));
        }
        self.maybe_finish(end);
    }

    fn maybe_finish(&mut self, end: usize) {
        let side = &self.plan.sides[end];
        if self.finished[end] || self.next_write[end] < side.writes.len() {
            return;
        }
        let due = match side.finish {
            Finish::AtOnce => true,
            Finish::Acknowledged => self.all_acknowledged[end],
            // One of two ends that wait for each other has to begin.
            Finish::AfterPeer => {
                self.told[end].finished > 0 || (end == 0 && self.plan.sides[1].finish == Finish::AfterPeer)
            }
        };
        if due {
            self.finished[end] = true;
            self.ends[end].shutdown();
        }
    }

    fn call_too_early(&mut self, at: Time) {
        let halfway = self.now + at.since(self.now) / 2;
        if halfway == at || halfway == self.now {
            return;
        }
        let before = self.count;
        self.now = halfway;
        for end in &mut self.ends {
            end.handle_timeout(halfway);
        }
        self.drain();
        assert_eq!(self.count, before, "a packet at {halfway}, with the next timer at {at}");
    }

    fn arrive(&mut self, to: usize, bytes: Bytes) {
        let Ok(packet) = parse(&bytes) else { return };
        let packet = packet.map(|data| bytes.slice_ref(data));
        self.observer.arrived(to, &packet);
        self.ends[to].handle_packet(self.now, &packet);
    }

    fn drain(&mut self) {
        for from in [0, 1] {
            let mut burst = 0;
            loop {
                while let Some(event) = self.ends[from].poll_event() {
                    self.tell(from, event);
                }
                let Some(packet) = self.ends[from].poll_transmit(self.now) else { break };
                burst += 1;
                assert!(burst < 5_000, "an endless burst");
                self.carry(from, packet);
            }
        }
    }

    fn carry(&mut self, from: usize, packet: Packet<Bytes>) {
        self.observer.sent(from, self.now, &packet);
        let mut bytes = Vec::new();
        emit(&packet, &mut bytes);
        assert_eq!(bytes.len(), packet.wire_len());
        let most = self.plan.config.packet_size as usize;
        assert!(bytes.len() <= most.max(100), "a packet of {} bytes, and {most} are the most", bytes.len());
        let bytes = Bytes::from(bytes);
        let read = parse(&bytes).map(|packet| packet.map(|data| bytes.slice_ref(data)));
        assert_eq!(read.as_ref(), Ok(&packet), "what is emitted reads back");
        let n = self.count[from];
        self.count[from] += 1;
        if self.trace {
            let data = packet.data.as_ref().map(Bytes::len);
            let fate = self.plan.fate(from, n);
            println!(
                "{} {from}: {} {data:?} {:?} {:?} {fate:?}",
                self.now, packet.seq, packet.poll, packet.control
            );
        }
        if self.plan.dies.is_some_and(|at| self.count[0] + self.count[1] > at) {
            return;
        }
        let fate = self.plan.fate(from, n);
        if fate.lost {
            return;
        }
        let mut arrives = bytes.clone();
        if let Some(bit) = fate.flip {
            let mut spoilt = bytes.to_vec();
            let bit = bit as usize % (spoilt.len() * 8);
            spoilt[bit / 8] ^= 1 << (bit % 8);
            arrives = Bytes::from(spoilt);
            assert!(parse(&arrives).is_err(), "a flipped bit is not noticed: {bit} of {packet:?}");
        }
        let at = self.now + self.plan.delay() + Span::from_millis(fate.late_ms);
        self.serial += 2;
        self.wire.insert((at, self.serial), (1 - from, arrives));
        if fate.twice {
            self.wire.insert((at + self.plan.delay(), self.serial + 1), (1 - from, bytes));
        }
    }
}
