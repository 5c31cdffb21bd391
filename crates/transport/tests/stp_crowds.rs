//! Many streams of one association over a satellite path: together as fast as one, and small ones next to a large one.
//!
//! Follows docs/stp.md §15.6 and its bounds in §15.10.
//! Differs from `satellite_stp`: streams of a trunk, not a connection.
//! Leaves out several associations that share a path by congestion control.

#[allow(dead_code)]
use crate::common::Link;
use skyhop_chance::Seed;
use skyhop_transport::stp::{Budgets, Class, Config, Ends, Frames, Packet, PayloadLength, Trunk, TrunkEvent};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

const GEO: Span = Span::from_millis(300);

/// Destination and packet.
type Arrival = (usize, Packet<Frames<PayloadLength>>);

struct Path {
    now: Time,
    ends: [Trunk<PayloadLength>; 2],
    links: [Link; 2],
    wire: BTreeMap<(Time, u64), Arrival>,
    serial: u64,
    /// Times at which the server's application had read all bytes of each stream.
    finished: BTreeMap<u64, Time>,
    acknowledged: usize,
    /// Bytes in order at the server.
    received: BTreeMap<u64, u64>,
}

impl Path {
    /// 250 Mbit/s forward and 3 back, a buffer of one bandwidth-delay product.
    fn new(loss: f64, seed: u64) -> Self {
        let product = |bps: f64| (bps / 8.0 * 0.6) as u64;
        let chance = Seed(seed);
        let links = [
            Link::new(250e6, GEO, product(250e6), loss, chance.stream("forward")),
            Link::new(3e6, GEO, product(3e6), loss, chance.stream("back")),
        ];
        let here = Ends { local_port: 1, remote_port: 2, instance: 3, count: 4 };
        let there = Ends { local_port: 2, ..Ends::default() };
        let ends = [
            Trunk::connect(Config::default(), Budgets::default(), here, 77),
            Trunk::listen(Config::default(), Budgets::default(), there, 99),
        ];
        Self {
            now: Time::ZERO,
            ends,
            links,
            wire: BTreeMap::new(),
            serial: 0,
            finished: BTreeMap::new(),
            acknowledged: 0,
            received: BTreeMap::new(),
        }
    }

    fn drain(&mut self) {
        for side in [0, 1] {
            while let Some(event) = self.ends[side].poll_event() {
                match event {
                    TrunkEvent::Received(id, bytes) => {
                        *self.received.entry(id).or_default() += bytes;
                        while self.ends[side].read(id, usize::MAX).is_some() {}
                    }
                    TrunkEvent::PeerFinished(id) if side == 1 => {
                        self.finished.insert(id, self.now);
                        self.ends[side].shutdown(id);
                    }
                    TrunkEvent::AllAcknowledged(_) if side == 0 => self.acknowledged += 1,
                    TrunkEvent::Ended(reason) => panic!("{side} ended at {}: {reason:?}", self.now),
                    _ => {}
                }
            }
            while let Some(packet) = self.ends[side].poll_transmit(self.now) {
                if let Some(at) = self.links[side].carry(self.now, packet.wire_len()) {
                    self.serial += 1;
                    self.wire.insert((at, self.serial), (1 - side, packet));
                }
            }
        }
    }

    /// Steps until `until`, or until no event is left.
    fn step(&mut self, until: Time) -> bool {
        self.drain();
        let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
        let timers = self.ends.each_ref().map(Trunk::poll_timeout);
        let next = timers.into_iter().chain([arrival]).flatten().min();
        let Some(at) = next.filter(|at| *at < until) else {
            self.now = until;
            self.drain();
            return false;
        };
        self.now = self.now.max(at);
        if arrival == Some(at) {
            let (_, (to, packet)) = self.wire.pop_first().expect("it is there");
            self.ends[to].handle_packet(self.now, &packet);
        }
        for side in [0, 1] {
            if timers[side].is_some_and(|due| due <= self.now) {
                self.ends[side].handle_timeout(self.now);
            }
        }
        true
    }
}

#[derive(Debug)]
struct Crowd {
    seconds: f64,
    again: f64,
    back: u64,
}

/// This many streams share this many bytes, all written at once; until the sender knows that all have arrived.
fn crowd(streams: u64, bytes: u64, loss: f64, seed: u64) -> Crowd {
    let mut path = Path::new(loss, seed);
    let mut waiting: VecDeque<u64> =
        (0..streams).map(|n| bytes / streams + u64::from(n < bytes % streams)).collect();
    while path.acknowledged < streams as usize {
        while path.ends[0].may_open()
            && let Some(size) = waiting.pop_front()
        {
            let id = path.ends[0].open(Class::default()).expect("it may");
            assert_eq!(path.ends[0].write(id, PayloadLength(size)), None);
            path.ends[0].shutdown(id);
        }
        assert!(path.step(Time::ZERO + Span::from_secs(200)), "no end");
    }
    let seconds = path.now.as_secs_f64();
    // Answers that are still sent belong to the stream.
    while path.ends[1].streams() > 0 && path.step(path.now + Span::from_secs(30)) {}
    assert_eq!(path.received.values().sum::<u64>(), bytes);
    assert_eq!(path.finished.len() as u64, streams);
    let stats = path.ends[0].path_stats();
    let crowd = Crowd {
        seconds,
        again: stats.packets_retransmitted as f64 / stats.packets_sent as f64,
        back: path.links[1].bytes,
    };
    println!(
        "{streams} streams, loss {loss}, seed {seed}: {crowd:?}, {} SDs, {} overflows",
        stats.packets_sent, path.links[0].overflows
    );
    crowd
}

#[test]
fn a_crowd_of_streams_is_as_fast_as_one() {
    let one = crowd(1, 100_000_000, 0.0, 1);
    for streams in [10, 100, 1000] {
        let many = crowd(streams, 100_000_000, 0.0, 1);
        assert!(many.seconds <= 1.3 * one.seconds, "{streams}: {many:?}, one: {one:?}");
        assert!(many.again <= 0.01, "{streams}: {many:?}");
        assert!(many.back <= 3 * one.back, "{streams}: {many:?}, one: {one:?}");
    }
}

#[test]
fn a_crowd_over_a_lossy_path() {
    for seed in 1..4 {
        let one = crowd(1, 100_000_000, 1.0 / 64.0, seed);
        let many = crowd(1000, 100_000_000, 1.0 / 64.0, seed);
        assert!(many.seconds <= 1.3 * one.seconds, "{many:?}, one: {one:?}");
        assert!(many.back <= 3 * one.back, "{many:?}, one: {one:?}");
    }
}

/// Requests of 2 kB, fifty per second, with or without a bulk stream; the 99th percentile of their times.
fn requests(bulk: bool, class: Class, seed: u64) -> f64 {
    let mut path = Path::new(0.0, seed);
    if bulk {
        let id = path.ends[0].open(Class::default()).expect("it may");
        path.ends[0].write(id, PayloadLength(2_000_000_000));
    }
    let (first, count) = (400, 1000);
    let mut began = BTreeMap::new();
    for n in 0..count {
        let at = Time::ZERO + Span::from_millis(8_000 + 20 * n);
        while path.step(at) {}
        let id = path.ends[0].open(class).expect("it may");
        path.ends[0].write(id, PayloadLength(2_000));
        path.ends[0].shutdown(id);
        began.insert(id, path.now);
    }
    let end = path.now + Span::from_secs(5);
    while path.step(end) {}
    let mut times: Vec<f64> =
        began.iter().map(|(id, at)| path.finished[id].since(*at).as_secs_f64()).collect();
    let times = &mut times[first..];
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100];
    println!("requests, bulk {bulk}, {class:?}: p99 {p99:.4} s, median {:.4} s", times[times.len() / 2]);
    p99
}

#[test]
fn requests_beside_a_bulk_stream() {
    let empty = requests(false, Class::default(), 1);
    for class in [Class::default(), Class { priority: 1, ..Class::default() }] {
        let beside = requests(true, class, 1);
        assert!(beside <= empty + 0.6 + 0.05, "{beside} s beside a bulk stream, {empty} s alone");
    }
}
