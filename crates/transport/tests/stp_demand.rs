//! An association that has little to send, between hosts that are late: its rate stays, and is there when there is demand.
//!
//! Follows docs/stp.md §8.3: samples that lacked data lower nothing.
//! Differs from `stp_crowds`: hosts handle packets and timers in turns, as a busy machine does, and the application is the limit.
//! Leaves out rivals.

#[allow(dead_code)]
use crate::common::Link;
use skyhop_chance::{Seed, Stream};
use skyhop_transport::stp::{
    Budgets, Class, Config, Congestion, Ends, Frames, Packet, PayloadLength, Trunk, TrunkEvent,
};
use skyhop_units::{Rate, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Round trips that bulk data may lose beyond the time that a promised rate takes: six until the rate is full again, as after any
/// change of the path, the four of the trains and their answers if no rate was ever measured, and two for losses among those.
const LOST: f64 = 12.0;
/// Packets in ten samples of eight, which may take longer than round trips where few packets make one.
const SAMPLES: f64 = 80.0;
/// Round trips by which a request in a hundred may be later than at a promised rate: four for the first trains, four for repeats.
const LATER: f64 = 8.0;

/// A host that handles all that waits in turns; others have the processor for a part of the time.
struct Host {
    trunk: Trunk<PayloadLength>,
    /// The next turn is no earlier than this.
    turn: Time,
    /// Part of the time in which others have the processor, and the mean of such times, seconds.
    late: (f64, f64),
    /// The present or next such time.
    others: (Time, Time),
    chance: Stream,
    arrived: VecDeque<Packet<Frames<PayloadLength>>>,
}

impl Host {
    /// Time at which the host handles something that is due.
    fn handles(&self, due: Option<Time>) -> Option<Time> {
        if self.arrived.is_empty() { due.map(|at| at.max(self.turn)) } else { Some(self.turn) }
    }

    fn rest(&mut self, now: Time) {
        self.turn = now + Span::from_micros(20);
        let (part, mean) = self.late;
        while part > 0.0 && self.others.1 <= self.turn {
            let mut wait = |mean: f64| Span::from_secs_f64(-mean * (1.0 - self.chance.uniform()).ln());
            let from = self.others.1 + wait(mean * (1.0 - part) / part);
            self.others = (from, from + wait(mean));
        }
        if self.others.0 <= self.turn {
            self.turn = self.turn.max(self.others.1);
        }
    }
}

/// A case: a path, hosts and the load of the first end.
#[derive(Debug, Clone)]
struct Case {
    mbps: [f64; 2],
    rtt: f64,
    loss: f64,
    late: (f64, f64),
    /// Requests a second; their answers' largest size; part of them that come many at a time.
    requests: f64,
    answer: f64,
    bursts: f64,
    seconds: f64,
    seed: u64,
}

impl Case {
    fn of(seed: u64) -> Self {
        let mut chance = Seed(seed).stream("case");
        let mut one = |of: &[f64]| of[(chance.uniform() * of.len() as f64) as usize];
        let mbps = one(&[2.0, 10.0, 10.0, 50.0, 250.0]);
        let bursts = one(&[0.0, 0.05, 0.5]);
        // Half of the link at most, or the link would be the limit.
        let most = 0.5 * mbps * 1e6 / 8.0 / 500.0 / (1.0 + 39.0 * bursts);
        Self {
            mbps: [mbps, mbps * one(&[1.0, 2.0, 5.0])],
            rtt: one(&[0.01, 0.04, 0.06, 0.3, 0.6]),
            loss: one(&[0.0, 0.0, 0.001, 0.01, 0.03]),
            late: (one(&[0.0, 0.03, 0.1, 0.3]), one(&[0.001, 0.005, 0.02, 0.05])),
            requests: one(&[0.5, 5.0, 50.0, 200.0]).min(most),
            answer: one(&[100.0, 3000.0, 20_000.0]),
            bursts,
            seconds: one(&[3.0, 20.0, 60.0]),
            seed,
        }
    }
}

/// A packet on the way to a host.
type Underway = (usize, Packet<Frames<PayloadLength>>);

struct Net {
    now: Time,
    hosts: [Host; 2],
    links: [Link; 2],
    wire: BTreeMap<(Time, u64), Underway>,
    serial: u64,
    chance: Stream,
    case: Case,
    began: BTreeMap<u64, Time>,
    took: Vec<f64>,
    received: u64,
    /// The stream of bulk data, open from the start.
    bulk: u64,
}

impl Net {
    fn new(case: &Case, promised: bool) -> Self {
        let chance = |name: &str| Seed(case.seed).stream(name);
        let product = |mbps: f64| (mbps * 125e3 * (case.rtt + 0.02)).max(30_000.0) as u64;
        let link = |at: usize, name: &str| {
            let one_way = Span::from_secs_f64(case.rtt / 2.0);
            Link::new(case.mbps[at] * 1e6, one_way, product(case.mbps[at]), case.loss, chance(name))
        };
        let config = |mbps: f64| Config {
            granularity: Span::from_millis(1),
            congestion: if promised { Congestion::Rate } else { Congestion::Delay },
            max_rate: promised.then(|| Rate::from_bps((0.97 * mbps * 1e6) as u64).expect("positive")),
            ..Config::default()
        };
        let ends = Ends { local_port: 1, remote_port: 2, instance: 3, count: 4 };
        let host = |trunk, name: &str| Host {
            trunk,
            turn: Time::ZERO,
            others: (Time::ZERO, Time::ZERO),
            late: case.late,
            chance: chance(name),
            arrived: VecDeque::new(),
        };
        let there = Ends { local_port: 2, ..Ends::default() };
        Self {
            now: Time::ZERO,
            hosts: [
                host(Trunk::connect(config(case.mbps[0]), Budgets::default(), ends, 77), "host a"),
                host(Trunk::listen(config(case.mbps[1]), Budgets::default(), there, 99), "host b"),
            ],
            links: [link(0, "there"), link(1, "back")],
            wire: BTreeMap::new(),
            serial: 0,
            chance: chance("requests"),
            case: case.clone(),
            began: BTreeMap::new(),
            took: Vec::new(),
            received: 0,
            bulk: 0,
        }
    }

    fn drain(&mut self, side: usize) {
        while let Some(event) = self.hosts[side].trunk.poll_event() {
            let trunk = &mut self.hosts[side].trunk;
            match event {
                TrunkEvent::Received(id, bytes) => {
                    while trunk.read(id, usize::MAX).is_some() {}
                    self.received += if self.bulk == id { bytes } else { 0 };
                }
                TrunkEvent::PeerFinished(id) if side == 1 => {
                    if let Some(began) = self.began.remove(&id) {
                        self.took.push(self.now.since(began).as_secs_f64());
                    }
                    let answer = 1 + (self.chance.uniform() * self.case.answer) as u64;
                    trunk.write(id, PayloadLength(answer));
                    trunk.shutdown(id);
                }
                TrunkEvent::Ended(reason) => panic!("{side} ended at {}: {reason:?}", self.now),
                _ => {}
            }
        }
        while let Some(packet) = self.hosts[side].trunk.poll_transmit(self.now) {
            if let Some(at) = self.links[side].carry(self.now, packet.wire_len()) {
                self.serial += 1;
                self.wire.insert((at, self.serial), (1 - side, packet));
            }
        }
    }

    /// Steps until `until`, or returns false.
    fn step(&mut self, until: Time) -> bool {
        let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
        let turns = self.hosts.each_ref().map(|host| host.handles(host.trunk.poll_timeout()));
        let next = turns.into_iter().chain([arrival]).flatten().min();
        let Some(at) = next.filter(|at| *at < until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(at);
        if arrival == Some(at) {
            let (_, (to, packet)) = self.wire.pop_first().expect("it is there");
            self.hosts[to].arrived.push_back(packet);
            return true;
        }
        for side in [0, 1] {
            if turns[side].is_some_and(|due| due <= self.now) {
                self.turn(side);
            }
        }
        true
    }

    fn turn(&mut self, side: usize) {
        let host = &mut self.hosts[side];
        host.trunk.handle_timeout(self.now);
        while let Some(packet) = host.arrived.pop_front() {
            host.trunk.handle_packet(self.now, &packet);
        }
        self.drain(side);
        self.hosts[side].rest(self.now);
    }

    fn request(&mut self) {
        let trunk = &mut self.hosts[0].trunk;
        if let Some(id) = trunk.open(Class::default()) {
            trunk.write(id, PayloadLength(50 + (self.chance.uniform() * 800.0) as u64));
            trunk.shutdown(id);
            self.began.insert(id, self.now);
        }
    }

    /// Requests until `until`; the lowest rate after the first two seconds, as a part of the link's.
    fn requests(&mut self, until: Time) -> f64 {
        let mut least = f64::INFINITY;
        loop {
            let wait = -(1.0 - self.chance.uniform()).ln() / self.case.requests;
            let at = self.now + Span::from_secs_f64(wait);
            let end = at.min(until);
            while self.step(end) {
                if self.now > Time::ZERO + Span::from_secs(2) {
                    let rate = self.hosts[0].trunk.rate_bps().unwrap_or(f64::INFINITY);
                    least = least.min(rate / self.case.mbps[0] / 1e6);
                }
            }
            if at >= until {
                return least;
            }
            let many = if self.chance.happens(self.case.bursts) { 40 } else { 1 };
            (0..many).for_each(|_| self.request());
            self.turn(0);
        }
    }

    /// Seconds that data of so many round trips at the link's rate take.
    fn bulk(&mut self, products: f64) -> f64 {
        let bytes = (self.case.mbps[0] * 125e3 * products * self.case.rtt).max(20_000.0) as u64;
        self.hosts[0].trunk.write(self.bulk, PayloadLength(bytes));
        let began = self.now;
        self.turn(0);
        while self.received <= bytes {
            if !self.step(began + Span::from_secs(600)) {
                return f64::INFINITY;
            }
        }
        self.now.since(began).as_secs_f64()
    }
}

#[derive(Debug)]
struct Outcome {
    least: f64,
    p99: f64,
    bulk: f64,
}

fn run(case: &Case, promised: bool) -> Outcome {
    let mut net = Net::new(case, promised);
    net.bulk = net.hosts[0].trunk.open(Class::default()).expect("it may");
    net.hosts[0].trunk.write(net.bulk, PayloadLength(1));
    let least = net.requests(Time::ZERO + Span::from_secs_f64(case.seconds));
    net.took.sort_by(f64::total_cmp);
    let p99 = if net.took.len() < 200 { 0.0 } else { net.took[net.took.len() * 99 / 100] };
    Outcome { least, p99, bulk: net.bulk(20.0) }
}

/// Judges cases; prints those that miss and the worst.
fn judge(cases: impl Iterator<Item = Case>) {
    let (mut all, mut missed, mut worst) = (0, Vec::new(), Vec::new());
    for case in cases {
        let (learnt, promised) = (run(&case, false), run(&case, true));
        // A round trip of the hosts, with what they add.
        let rtt = case.rtt + 4.0 * case.late.0 * case.late.1;
        let packets = SAMPLES * 1440.0 * 8e-6 / case.mbps[0];
        let lost = (learnt.bulk - promised.bulk) / (rtt + packets / 10.0);
        let waits = (learnt.p99 - promised.p99) / (rtt + packets / 10.0);
        all += 1;
        worst.push((lost, waits, case.seed));
        if lost > LOST || waits > LATER {
            println!(
                "{case:?}\n  lost {lost:.1} waits {waits:.1} least {:.4} {learnt:?} {promised:?}",
                learnt.least
            );
            missed.push(case.seed);
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("{} of {all} miss; lost most {:.2?}", missed.len(), &worst[..worst.len().min(5)]);
    worst.sort_by(|a, b| b.1.total_cmp(&a.1));
    println!("waited longest {:.2?}", &worst[..worst.len().min(5)]);
    assert!(missed.is_empty(), "{missed:?}");
}

fn cases(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = number("STP_FIRST").unwrap_or(0);
    first..first + number("STP_CASES").unwrap_or(usual)
}

#[test]
fn demand_finds_a_rate() {
    judge(cases(40).map(Case::of));
}

#[test]
#[ignore = "a quarter of an hour: STP_CASES=1000"]
fn demand_finds_a_rate_in_a_thousand_cases() {
    judge(cases(1000).map(Case::of));
}
