//! Execution of a case: two machines, packets as bytes between them, and the invariants at each step.
//!
//! Follows docs/stp.md §15.3 to §15.7.
//! Differs from the simulator: time jumps from event to event, and nothing has a rate.
//! Leaves out fairness, which `rounds` has.

use super::plan::{Chance, Disaster, Plan};
use bytes::Bytes;
use skyhop_transport::stp::{Budgets, Ends, Frames, Packet, Reason, Trunk, TrunkEvent};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{emit, parse};
use std::collections::{BTreeMap, BTreeSet};

/// The byte at `offset` of the data written by `from` in a stream.
fn pattern(id: u64, from: usize, offset: u64) -> u8 {
    ((offset + 1 + (id << 20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8 ^ [0x5a, 0xc3][from]
}

/// An end's knowledge of a stream.
#[derive(Debug, Default, Clone)]
struct View {
    planned: usize,
    written: u64,
    to_write: u64,
    shut: bool,
    read: u64,
    in_order: u64,
    finished: bool,
    all_acknowledged: bool,
    closed: bool,
    reset: bool,
}

impl View {
    fn over(&self) -> bool {
        self.closed || self.reset
    }
}

pub struct Net {
    plan: Plan,
    chance: Chance,
    now: Time,
    ends: [Trunk<Bytes>; 2],
    views: [BTreeMap<u64, View>; 2],
    ended: [Option<Reason>; 2],
    closed: bool,
    /// Indices of the plan's streams by their ids, once they are open.
    opened: BTreeMap<u64, usize>,
    waiting: BTreeSet<(u64, usize)>,
    datagrams: BTreeSet<(u64, usize)>,
    resets: BTreeSet<(u64, usize, u64)>,
    sent_datagrams: [BTreeMap<u64, Bytes>; 2],
    read_at: [Time; 2],
    wire: BTreeMap<(Time, u64), (usize, Bytes)>,
    count: [u64; 2],
    serial: u64,
    blocked_until: Time,
    delay: Span,
    restarted: bool,
    trace: bool,
    /// Numbers of situations reached, over all cases.
    pub seen: Seen,
}

/// Situations that cases have reached.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub packets: u64,
    pub streams: u64,
    pub resets: u64,
    pub datagrams: u64,
    pub refused: u64,
    pub split: u64,
    pub again: u64,
    pub ended: u64,
}

fn ends_of(side: usize) -> Ends {
    match side {
        0 => Ends { local_port: 7, remote_port: 9, instance: 1234, count: 5 },
        _ => Ends { local_port: 9, remote_port: 0, instance: 0, count: 0 },
    }
}

impl Net {
    pub fn new(case: u64) -> Self {
        Self::of(Plan::new(case))
    }

    pub fn of(plan: Plan) -> Self {
        let [a, b] = [0, 1].map(|side| (plan.configs[side].clone(), plan.budgets[side], ends_of(side)));
        let ends =
            [Trunk::connect(a.0, a.1, a.2, plan.firsts[0]), Trunk::listen(b.0, b.1, b.2, plan.firsts[1])];
        Self {
            chance: Chance::new(plan.case, "channel"),
            now: Time::ZERO,
            ends,
            views: Default::default(),
            ended: [None; 2],
            closed: false,
            opened: BTreeMap::new(),
            waiting: plan.streams.iter().enumerate().map(|(n, s)| (s.at_ms, n)).collect(),
            datagrams: plan.datagrams.iter().enumerate().map(|(n, d)| (d.at_ms, n)).collect(),
            resets: BTreeSet::new(),
            sent_datagrams: Default::default(),
            read_at: [Time::ZERO; 2],
            wire: BTreeMap::new(),
            count: [0; 2],
            serial: 0,
            blocked_until: Time::ZERO,
            delay: plan.delay,
            restarted: false,
            trace: std::env::var_os("STP_TRACE").is_some(),
            seen: Seen::default(),
            plan,
        }
    }

    pub fn run(&mut self) {
        self.settle();
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 40_000, "no end by {}: {}", self.now, self.state());
        }
        self.judge();
    }

    fn state(&self) -> String {
        format!("ended {:?}, views {:?}, {:?}", self.ended, self.views, self.plan)
    }

    fn judge(&mut self) {
        for side in [0, 1] {
            let stats = self.ends[side].stats();
            self.seen.refused += stats.refused;
            self.seen.split += stats.split;
            self.seen.again += self.ends[side].path_stats().packets_retransmitted;
            self.seen.packets += self.count[side];
            self.seen.ended += u64::from(self.ended[side].is_some_and(|r| r != Reason::Finished));
        }
        self.seen.streams += self.opened.len() as u64;
        if !self.plan.must_succeed() {
            // An end with outstanding data is informed in the end; the other may not know.
            for side in [0, 1] {
                let told = self.ended[side].is_some() || (side == 1 && self.restarted);
                let owes = self.views[side].iter().any(|(id, _)| self.ends[side].unacknowledged(*id) > 0);
                // A listener without a peer has nobody to wait for.
                let met = self.ends[side].established();
                assert!(told || !owes || !met, "{side} waits and nobody tells it: {}", self.state());
            }
            return;
        }
        assert_eq!(self.ended, [Some(Reason::Finished); 2], "{}", self.state());
        assert_eq!(self.opened.len(), self.plan.streams.len(), "{}", self.state());
        for (id, plan) in &self.opened {
            let (here, there) = (self.views[0].get(id), self.views[1].get(id));
            let broken = [here, there].into_iter().flatten().any(|view| view.reset);
            if broken {
                assert!([here, there].into_iter().flatten().all(View::over), "{id}: {}", self.state());
                continue;
            }
            let opener = self.plan.streams[*plan].opener;
            for side in [0, 1] {
                let (own, other) = (&self.views[side][id], &self.views[1 - side][id]);
                let size = self.plan.streams[*plan].sizes[usize::from(side != opener)];
                assert_eq!((own.written, other.read), (size, size), "{id} from {side}: {}", self.state());
                assert!(own.closed && own.finished && own.all_acknowledged | (size == 0), "{}", self.state());
            }
        }
    }

    fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
        let timers = self.ends.each_ref().map(Trunk::poll_timeout);
        let wishes = self.wishes();
        let Some(at) = timers.into_iter().chain([arrival, wishes]).flatten().min() else { return false };
        // An end that is due at once may say so in the past.
        self.now = self.now.max(at);
        if arrival == Some(at) {
            let (_, (to, bytes)) = self.wire.pop_first().expect("it is there");
            self.arrive(to, &bytes);
        } else if wishes == Some(at) {
            self.act();
        }
        for side in [0, 1] {
            if timers[side].is_some_and(|due| due <= self.now) {
                self.ends[side].handle_timeout(self.now);
            }
        }
        self.settle();
        true
    }

    fn ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    fn wishes(&self) -> Option<Time> {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000).max(self.now);
        let open = self.waiting.first().filter(|(_, n)| self.can_open(*n)).map(|(ms, _)| at(*ms));
        let datagram = self.datagrams.first().map(|(ms, _)| at(*ms));
        let reset = self.resets.first().map(|(ms, ..)| at(*ms));
        let read =
            [0, 1].into_iter().filter(|side| self.unread(*side)).map(|side| self.read_at[side].max(self.now));
        [open, datagram, reset].into_iter().flatten().chain(read).min()
    }

    fn unread(&self, side: usize) -> bool {
        self.views[side].iter().any(|(id, view)| !view.reset && self.ends[side].readable(*id) > 0)
    }

    fn can_open(&self, n: usize) -> bool {
        let side = self.plan.streams[n].opener;
        self.ended[side].is_some() || self.ends[side].may_open()
    }

    fn act(&mut self) {
        let ms = self.ms();
        while let Some(&(at, n)) = self.waiting.first()
            && at <= ms
            && self.can_open(n)
        {
            self.waiting.pop_first();
            self.open(n);
        }
        while let Some(&(at, n)) = self.datagrams.first()
            && at <= ms
        {
            self.datagrams.pop_first();
            self.send_datagram(n);
        }
        while let Some(&(at, side, id)) = self.resets.first()
            && at <= ms
        {
            self.resets.pop_first();
            let view = self.views[side].entry(id).or_default();
            if !view.over() && self.ended[side].is_none() {
                view.reset = true;
                self.ends[side].reset(id, Reason::Aborted);
                self.seen.resets += 1;
            }
        }
        for side in [0, 1] {
            if self.unread(side) && self.read_at[side] <= self.now {
                self.read_at[side] = self.now + Span::from_millis(self.plan.reads[side].1);
                self.read(side);
            }
        }
    }

    fn open(&mut self, n: usize) {
        let plan = self.plan.streams[n];
        let side = plan.opener;
        if self.ended[side].is_some() {
            return;
        }
        let Some(id) = self.ends[side].open(plan.class) else { return };
        assert_eq!(id % 2, side as u64);
        assert!(self.opened.insert(id, n).is_none());
        self.views[side].insert(id, View { planned: n, to_write: plan.sizes[0], ..View::default() });
        if let Some((who, after)) = plan.reset {
            self.resets.insert((self.ms() + after, who, id));
        }
        if let Some(class) = plan.reclass {
            self.ends[side].prioritize(id, class);
        }
    }

    fn send_datagram(&mut self, n: usize) {
        let plan = self.plan.datagrams[n];
        let side = plan.from;
        let data: Vec<u8> = (0..plan.len).map(|at| pattern(n as u64, side, at)).collect();
        let data = Bytes::from(data);
        let until = self.now + Span::from_millis(plan.lives_ms);
        if self.ended[side].is_none() && self.ends[side].send_datagram(n as u64, data.clone(), until) {
            self.sent_datagrams[side].insert(n as u64, data);
        }
    }

    /// Applications write as much as there is room for, while they have data.
    fn write(&mut self, side: usize) {
        for (&id, view) in &mut self.views[side] {
            if view.over() || view.shut {
                continue;
            }
            let step = self.plan.streams[view.planned].write;
            while view.to_write > 0 {
                let len = view.to_write.min(step);
                let data: Vec<u8> =
                    (view.written..view.written + len).map(|at| pattern(id, side, at)).collect();
                let left = self.ends[side].write(id, Bytes::from(data)).map_or(0, |left| left.len() as u64);
                (view.written, view.to_write) = (view.written + len - left, view.to_write - (len - left));
                if left > 0 {
                    break;
                }
            }
            if view.to_write == 0 {
                view.shut = true;
                self.ends[side].shutdown(id);
            }
        }
    }

    fn read(&mut self, side: usize) {
        let (most, pause) = self.plan.reads[side];
        let ids: Vec<u64> = self.views[side].keys().copied().collect();
        for id in ids {
            while let Some(data) = self.ends[side].read(id, most) {
                let view = self.views[side].get_mut(&id).expect("it is there");
                assert!(!data.is_empty() && data.len() <= most && !view.closed);
                let from = view.read;
                let right =
                    data.iter().enumerate().all(|(i, b)| *b == pattern(id, 1 - side, from + i as u64));
                view.read += data.len() as u64;
                let read = view.read;
                assert!(right, "stream {id} altered, twice or out of order at {from}: {}", self.state());
                let written = self.views[1 - side].get(&id).map_or(0, |view| view.written);
                assert!(read <= written || self.restarted, "more than was written");
                if pause > 0 {
                    break;
                }
            }
        }
    }

    fn tell(&mut self, side: usize, event: TrunkEvent) {
        let known = |id: u64| self.opened.get(&id).copied();
        match event {
            TrunkEvent::Opened(id) => {
                let n = known(id).expect("somebody has opened it");
                assert_eq!(self.plan.streams[n].opener, 1 - side);
                let view = View { planned: n, to_write: self.plan.streams[n].sizes[1], ..View::default() };
                assert!(self.views[side].get(&id).is_none_or(|view| view.reset), "opened twice: {id}");
                let reset = self.views[side].get(&id).is_some_and(|view| view.reset);
                self.views[side].insert(id, view);
                if reset {
                    self.ends[side].reset(id, Reason::Aborted);
                    self.views[side].get_mut(&id).expect("it is there").reset = true;
                }
            }
            TrunkEvent::Datagram => {
                while let Some((channel, data)) = self.ends[side].read_datagram() {
                    let sent = self.sent_datagrams[1 - side].remove(&channel);
                    assert_eq!(sent, Some(data), "twice, altered or never sent: {}", self.state());
                    self.seen.datagrams += 1;
                }
            }
            TrunkEvent::Ended(reason) => {
                assert!(self.ended[side].is_none(), "ended twice");
                self.ended[side] = Some(reason);
                if reason != Reason::Finished {
                    self.views[side].values_mut().for_each(|view| view.reset = !view.closed);
                }
            }
            TrunkEvent::Connected | TrunkEvent::MayOpen | TrunkEvent::Writable(_) => {}
            TrunkEvent::Received(id, bytes) => {
                let view = self.views[side].get_mut(&id).expect("it is open");
                view.in_order += bytes;
            }
            TrunkEvent::AllAcknowledged(id) => {
                let view = self.views[side].get_mut(&id).expect("it is open");
                view.all_acknowledged = true;
            }
            TrunkEvent::PeerFinished(id) => {
                let view = self.views[side].get_mut(&id).expect("it is open");
                assert!(!view.finished, "finished twice");
                view.finished = true;
                let in_order = view.in_order;
                let written = &self.views[1 - side][&id];
                assert!(written.shut && written.written == in_order, "finished before all came");
            }
            TrunkEvent::Closed(id) => {
                let view = self.views[side].get_mut(&id).expect("it is open");
                assert!(view.finished && view.shut && !view.closed && !view.reset, "{}", self.state());
                self.views[side].get_mut(&id).expect("it is open").closed = true;
            }
            TrunkEvent::Reset(id, _) => {
                let view = self.views[side].get_mut(&id).expect("it is open");
                assert!(!view.over(), "over twice");
                view.reset = true;
            }
        }
    }

    /// Closes both ends when the plan is complete.
    fn maybe_close(&mut self) {
        let done = |views: &BTreeMap<u64, View>| views.values().all(View::over);
        let all = self.waiting.is_empty() && self.datagrams.is_empty() && self.views.iter().all(done);
        let same = self.opened.keys().all(|id| {
            let [a, b] = self.views.each_ref().map(|views| views.get(id).is_some_and(View::over));
            let broken = self.views.iter().any(|views| views.get(id).is_some_and(|view| view.reset));
            (a && b) || broken
        });
        if all && same && !self.closed {
            self.closed = true;
            self.ends[self.plan.case as usize % 2].close();
        }
    }

    fn arrive(&mut self, to: usize, bytes: &Bytes) {
        let Ok(packet) = parse(bytes) else { return };
        let Ok(packet) = packet.try_map(Frames::parse) else { panic!("not frames: {bytes:?}") };
        // No connection count is accepted twice: a lower layer ensures it (docs/stp.md §5).
        if to == 1 && self.restarted && packet.control.as_ref().is_some_and(|control| control.begin.is_some())
        {
            return;
        }
        let packet = packet.map(|frames| frames.map(|data| bytes.slice_ref(data)));
        self.ends[to].handle_packet(self.now, &packet);
    }

    fn settle(&mut self) {
        let (mut side, mut quiet) = (0, 0);
        while quiet < 2 {
            (side, quiet) = (1 - side, quiet + 1);
            let closed = self.closed;
            self.events(side);
            self.write(side);
            let mut burst = 0;
            while let Some(packet) = self.ends[side].poll_transmit(self.now) {
                (burst, quiet) = (burst + 1, 0);
                assert!(burst < 5_000, "an endless burst: {packet:?} {}", self.state());
                self.carry(side, &packet);
                self.events(side);
                self.write(side);
            }
            self.bounds(side);
            self.maybe_close();
            if self.closed != closed {
                quiet = 0;
            }
        }
    }

    fn events(&mut self, side: usize) {
        while let Some(event) = self.ends[side].poll_event() {
            self.tell(side, event);
        }
    }

    fn bounds(&self, side: usize) {
        let window = self.plan.configs[side].window.max(64 << 10);
        assert!(self.ends[side].held_bytes() <= window, "{} held", self.ends[side].held_bytes());
        let most = self.plan.budgets[side].send_buffer;
        let window = self.plan.budgets[side].stream_window.max(Budgets::LEAST.stream_window);
        for id in self.views[side].keys() {
            assert!(self.ends[side].unacknowledged(*id) <= most);
            assert!(self.ends[side].readable(*id) <= window);
        }
    }

    fn carry(&mut self, from: usize, packet: &Packet<Frames<Bytes>>) {
        let mut bytes = Vec::new();
        emit(packet, &mut bytes);
        assert_eq!(bytes.len(), packet.wire_len());
        let most = self.plan.configs[from].packet_size as usize;
        assert!(bytes.len() <= most, "a packet of {} bytes, and {most} are the most", bytes.len());
        let bytes = Bytes::from(bytes);
        let n = self.count[from];
        self.count[from] += 1;
        if self.trace {
            println!(
                "{} {from} #{n} {} of {}: {packet:?}",
                self.now,
                bytes.len(),
                self.ends[from].packet_size()
            );
        }
        let all = self.count[0] + self.count[1];
        match self.plan.disaster {
            Disaster::Dies(at) if all > at => return,
            Disaster::Restart(at) if all > at && !self.restarted => self.restart(),
            _ => {}
        }
        if let Some((at, outage, delay)) = self.plan.moves
            && all == at
        {
            self.blocked_until = self.now + Span::from_millis(outage);
            self.delay = Span::from_millis(delay);
        }
        let narrow = self.plan.narrows.is_some_and(|(at, most)| n >= at && bytes.len() > most);
        // A path that loses everything would be another failure: losses become rarer in the end.
        let lost = if all > 3_000 { self.plan.lost / 4 } else { self.plan.lost };
        if self.chance.per_mille(lost) || narrow || self.now < self.blocked_until {
            return;
        }
        let mut arrives = bytes.clone();
        if self.chance.per_mille(self.plan.altered) {
            let mut spoilt = bytes.to_vec();
            let bit = self.chance.some(spoilt.len() as u64 * 8) as usize;
            spoilt[bit / 8] ^= 1 << (bit % 8);
            arrives = Bytes::from(spoilt);
            assert!(parse(&arrives).is_err(), "a flipped bit is not noticed");
        }
        let late =
            if self.chance.per_mille(self.plan.late.0) { self.chance.some(self.plan.late.1) } else { 0 };
        let at = self.now + self.delay + Span::from_millis(late);
        self.serial += 2;
        self.wire.insert((at, self.serial), (1 - from, arrives));
        if self.chance.per_mille(self.plan.twice) {
            self.wire.insert((at + self.delay, self.serial + 1), (1 - from, bytes));
        }
    }

    /// The listener's host restarts without state.
    fn restart(&mut self) {
        if !self.ends[0].established() {
            return;
        }
        self.restarted = true;
        let (config, budgets) = (self.plan.configs[1].clone(), self.plan.budgets[1]);
        self.ends[1] = Trunk::listen(config, budgets, ends_of(1), self.plan.firsts[1] ^ 0x55);
        self.ended[1] = Some(Reason::Silent);
        self.views[1].values_mut().for_each(|view| view.reset = true);
    }
}
