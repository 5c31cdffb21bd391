//! The window after idle times, state shared between connections, and congestion control of acknowledgments.
//!
//! RFC 5681 §4.1, Visweswaraiah and Heidemann 1997, RFC 9040, RFC 3449 §5.1.1 (Balakrishnan's ACK congestion control).
//! Differs: 50 ms in each direction and no rate; the tests set the marks.
//! Leaves out the effect of losses, which `properties.rs` has.

use skyhop_transport::tcp::{
    AfterIdle, Config, Connection, Event, Memory, PathMemory, State, Variant, divide,
};
use skyhop_units::{Span, Time};
use skyhop_wire::{Ecn, Flags, Packet, TcpHeader, Transport};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

struct Talk {
    now: Time,
    ends: [Connection; 2],
    wire: VecDeque<(Time, usize, Packet)>,
    /// Selects, by number, the acknowledgments of the second end that are marked on the path.
    mark: fn(usize) -> bool,
    acknowledgments: usize,
    /// True if applications read what arrives.
    reads: bool,
    log: Vec<(Time, usize, Packet)>,
}

impl Talk {
    fn new(config: Config, memory: Option<Memory>) -> Self {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let mut first = Connection::connect(config.clone(), a, b, 1);
        if let Some(memory) = memory {
            first = first.with_memory(memory);
        }
        let ends = [first, Connection::listen(config, b, a, 2)];
        Self {
            now: Time::ZERO,
            ends,
            wire: VecDeque::new(),
            mark: |_| false,
            acknowledgments: 0,
            reads: true,
            log: Vec::new(),
        }
    }

    fn write(&mut self, bytes: u64) {
        self.ends[0].write(bytes);
    }

    fn run(&mut self, until_ms: u64) {
        let until = Time::ZERO + Span::from_millis(until_ms);
        loop {
            self.drain();
            let timers = self.ends.iter().filter_map(Connection::poll_timeout);
            let next = timers.chain(self.wire.front().map(|w| w.0)).min();
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.now = next;
            if let Some((_, to, packet)) = self.wire.pop_front_if(|w| w.0 <= next) {
                self.ends[to].handle_packet(next, &packet);
            } else {
                for end in self.ends.iter_mut().filter(|e| e.poll_timeout().is_some_and(|at| at <= next)) {
                    end.handle_timeout(next);
                }
            }
        }
        self.now = until;
    }

    fn drain(&mut self) {
        for from in [0, 1] {
            loop {
                while let Some(event) = self.ends[from].poll_event() {
                    if let Event::Received(_) = event
                        && self.reads
                    {
                        self.ends[from].read();
                    }
                }
                let Some(mut packet) = self.ends[from].poll_transmit(self.now) else { break };
                self.log.push((self.now, from, packet));
                if from == 1 && packet.payload_len == 0 {
                    if (self.mark)(self.acknowledgments) && packet.ip.ecn != Ecn::NotCapable {
                        packet.ip.ecn = Ecn::Marked;
                    }
                    self.acknowledgments += 1;
                }
                self.wire.push_back((self.now + Span::from_millis(50), 1 - from, packet));
            }
        }
    }

    /// Times at which each data segment was sent, from `since` on.
    fn departures(&self, since_ms: u64) -> Vec<f64> {
        let since = Time::ZERO + Span::from_millis(since_ms);
        let data = self.log.iter().filter(|(at, from, p)| *at >= since && *from == 0 && p.payload_len > 0);
        data.map(|(at, ..)| at.since(since).as_secs_f64() * 1e3).collect()
    }
}

fn tcp(packet: &Packet) -> TcpHeader {
    let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
    tcp
}

fn config(after_idle: AfterIdle) -> Config {
    Config { variant: Variant::NewReno, mss: 1000, initial_window: 2_000, after_idle, ..Config::default() }
}

#[test]
fn a_window_is_kept_restarted_or_spread_after_a_silence() {
    for variant in [Variant::NewReno, Variant::Sack, Variant::Cubic] {
        let departures = |after_idle, pause_ms: u64| {
            let mut talk = Talk::new(Config { variant, ..config(after_idle) }, None);
            talk.write(100_000);
            talk.run(3_000);
            assert_eq!(talk.ends[1].delivered(), 100_000);
            let last = talk.log.iter().rev().find(|(_, from, p)| *from == 0 && p.payload_len > 0).unwrap().0;
            let resumed = last.since(Time::ZERO).as_secs_f64() * 1e3 + pause_ms as f64;
            let resumed = resumed as u64;
            talk.run(resumed);
            let window = talk.ends[0].cwnd() / 1_000;
            talk.write(40_000);
            talk.run(resumed + 3_000);
            assert_eq!(talk.ends[1].delivered(), 140_000);
            (window, talk.departures(resumed))
        };
        let at_once = |d: &[f64]| d.iter().filter(|at| **at < 1.0).count() as u64;
        let (window, kept) = departures(AfterIdle::Keep, 5_000);
        assert!(window > 30, "{variant:?}: {window}");
        assert_eq!(at_once(&kept), window.min(40), "{variant:?}");
        let (_, restarted) = departures(AfterIdle::Restart, 5_000);
        assert_eq!(at_once(&restarted), 2, "{variant:?}");
        // Slow start with delayed ACKs from two segments: 2, 3, 5, 8, 12, 18: five or six round trips.
        let took = restarted.last().unwrap();
        assert!((390.0..=610.0).contains(took), "{variant:?}: {took} ms");
        // A round trip of 100 ms holds a window: forty of it go evenly in its share of them.
        let (window, spread) = departures(AfterIdle::Spread, 5_000);
        assert_eq!(at_once(&spread), 1, "{variant:?}");
        let share = 100.0 * spread.len().min(window as usize) as f64 / window as f64;
        let took = spread.last().unwrap();
        assert!((0.8 * share..=1.2 * share + 10.0).contains(took), "{variant:?}: {took} of {share} ms");
        let widest = spread.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        assert!(widest < 3.0 * 100.0 / window as f64, "{variant:?}: a gap of {widest} ms");
        // Half a second is no idle time: the timeout is a second.
        let (window, soon) = departures(AfterIdle::Restart, 500);
        assert_eq!(at_once(&soon), window.min(40), "{variant:?}");
    }
}

/// A host whose data the peer's closed window withholds may be asked at any time: only packets and timers change its windows.
#[test]
fn questions_while_the_window_is_closed_do_not_count_as_ends_of_the_silence() {
    for variant in [Variant::NewReno, Variant::Cubic] {
        for (after_idle, linux_windows) in
            [AfterIdle::Restart, AfterIdle::Decay].into_iter().flat_map(|a| [(a, false), (a, true)])
        {
            let asked = |every_ms: usize| {
                let config = Config { variant, window: 40_000, linux_windows, ..config(after_idle) };
                let mut talk = Talk::new(config, None);
                talk.write(40_000);
                talk.run(3_000);
                talk.reads = false;
                talk.write(200_000);
                for until_ms in (4_000..=30_000).step_by(every_ms) {
                    talk.run(until_ms);
                }
                talk.reads = true;
                talk.ends[1].read();
                talk.run(60_000);
                assert_eq!(talk.ends[1].delivered(), 240_000);
                talk.log
            };
            let (seldom, often) = (asked(26_000), asked(50));
            let probes =
                seldom.iter().filter(|(at, from, _)| *from == 0 && *at > at_ms(5_000) && *at < at_ms(30_000));
            assert!(probes.count() > 2, "the window was closed for half a minute");
            assert_eq!(seldom, often, "{variant:?}, {after_idle:?}, {linux_windows}");
        }
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

// RFC 9040 §6 and §8.
#[test]
fn connections_share_what_they_know() {
    let sharing = Config { share: true, ..config(AfterIdle::Keep) };
    let mut first = Talk::new(sharing.clone(), None);
    first.write(50_000);
    first.run(2_000);
    let memory = first.ends[0].memory();
    let path = memory.path.expect("it has measured");
    assert_eq!(path.srtt, Span::from_millis(100));
    assert_eq!(Talk::new(config(AfterIdle::Keep), None).ends[0].memory().path, None);
    let before = first.ends[0].cwnd();
    let cwnd = divide(&mut [&mut first.ends[0]]).unwrap();
    assert_eq!(cwnd + first.ends[0].cwnd(), before, "together no more than before");
    assert!(cwnd > 10_000, "{cwnd}");
    let memory = Memory { path: Some(PathMemory { cwnd, ssthresh: Some(12_000), ..path }), ..memory };
    let mut second = Talk::new(sharing, Some(memory));
    second.write(100_000);
    second.run(120);
    assert_eq!(second.ends[0].state(), State::Established);
    assert_eq!(second.ends[0].in_flight() / 1_000, cwnd / 1_000, "its first flight is its share");
    assert_eq!(second.ends[0].ssthresh(), Some(12_000));
    assert_eq!(divide(&mut []), None);
}

// RFC 3449 §5.1.1: a marked acknowledgment halves their number, once in two round trips, and each round trip takes a step
// back; data are not slowed down by it.
#[test]
fn marked_acknowledgments_become_fewer_and_data_do_not() {
    let run = |ack_congestion, mark: fn(usize) -> bool| {
        let config = Config {
            ecn: true,
            ack_congestion,
            byte_counting: Some(2),
            window: 64_000,
            ..config(AfterIdle::Keep)
        };
        let mut talk = Talk::new(config, None);
        talk.mark = mark;
        talk.write(4_000_000);
        talk.run(20_000);
        assert_eq!(talk.ends[1].delivered(), 4_000_000);
        assert_eq!(talk.ends[0].stats().ecn_reductions + talk.ends[1].stats().ecn_reductions, 0);
        assert_eq!(talk.ends[0].stats().segments_retransmitted, 0);
        talk
    };
    let plain = run(false, |_| true);
    assert!(plain.log.iter().all(|(_, from, p)| *from == 0 || p.ip.ecn == Ecn::NotCapable));
    let unmarked = run(true, |_| false);
    assert_eq!(plain.acknowledgments, unmarked.acknowledgments);
    assert!((1_990..2_030).contains(&plain.acknowledgments), "{}", plain.acknowledgments);
    // With every acknowledgment marked there is a sixteenth of them: four for a window of 64 segments.
    let marked = run(true, |_| true);
    assert!((240..330).contains(&marked.acknowledgments), "{}", marked.acknowledgments);
    // One mark: four segments for an acknowledgment in what is left of that flight, three in the next, then two again. A flight
    // of 64 has 32, and by threes 21: up to 16 fewer, and 11.
    let once = run(true, |n| n == 500);
    let fewer = unmarked.acknowledgments - once.acknowledgments;
    assert!((11..=28).contains(&fewer), "{fewer} fewer");
    let told = |from: usize, flag: Flags| {
        let flagged = once
            .log
            .iter()
            .filter(|(_, f, p)| *f == from && tcp(p).flags.has(flag) && !tcp(p).flags.has(Flags::SYN));
        flagged.count()
    };
    // The sender echoes the mark in its data until it is told that there are fewer, a round trip; each echo is answered.
    assert!((32..=66).contains(&told(0, Flags::ECE)), "{}", told(0, Flags::ECE));
    assert!((8..=32).contains(&told(1, Flags::CWR)), "{}", told(1, Flags::CWR));
}
