//! A lying peer of STP: answers to POLLs never sent, edges that move back, impossible gaps, floods.
//!
//! Follows docs/stp.md §6.2, §7 and §9: an invalid report is ignored, memory is bounded by the windows, and the honest part of the
//! conversation continues.
//! Leaves out forged packets with correct numbers, against which there is encryption.

use bytes::Bytes;
use proptest::prelude::*;
use skyhop_transport::stp::{Config, Congestion, Connection, Ends, Event, Features, Packet, Reason, State};
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::stp::{Begin, Control, End, Gap, Stat, Ustat};

const FIRST: u32 = 0x00ff_fffa;
const PEER: u32 = 0x00ff_fff0;

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut v = Victim::sender(10);
    let honest = v.stat(0);
    let wrong = [
        Stat { next: num(11), from: num(11), upto: num(11), ..honest.clone() },
        Stat { upto: num(11), ..honest.clone() },
        Stat { next: num(5), from: num(4), upto: num(10), ..honest.clone() },
        Stat { from: num(7), upto: num(6), ..honest.clone() },
        Stat { next: num(-1), ..honest.clone() },
        Stat { next: num(1 << 22), from: num(1 << 22), upto: num(1 << 22), ..honest.clone() },
        Stat { upto: num(10), gaps: vec![Gap { start: num(9), end: num(11) }], ..honest.clone() },
        Stat { upto: num(10), gaps: vec![Gap { start: num(-1), end: num(1) }], ..honest.clone() },
        Stat { upto: num(10), gaps: vec![Gap { start: num(3), end: num(3) }], ..honest.clone() },
        // A POLL from the future, and one that was never sent.
        Stat {
            echo: honest.echo.wrapping_add(1),
            next: num(10),
            from: num(10),
            upto: num(10),
            ..honest.clone()
        },
        Stat {
            echo: honest.echo.wrapping_sub(1_000_000),
            next: num(9),
            from: num(9),
            upto: num(9),
            ..honest
        },
    ];
    for stat in wrong {
        let before = v.end.stats().ignored;
        assert_eq!(v.feed(|c| c.stat = Some(stat.clone())).len(), 0, "{stat:?}");
        assert_eq!((v.end.stats().ignored, v.end.acknowledged()), (before + 1, 0), "{stat:?}");
    }
    for (next, start, end) in [(11, 11, 12), (0, 9, 11), (0, 5, 5), (-1, 0, 1), (5, 3, 4)] {
        let gaps = vec![Gap { start: num(start), end: num(end) }];
        let ustat = Ustat { next: num(next), credit: num(60), gaps, compact: true };
        assert_eq!(v.feed(|c| c.ustat = Some(ustat)).len(), 0, "{next} {start} {end}");
        assert_eq!(v.end.acknowledged(), 0);
    }
    assert_eq!(v.feed(|c| c.end_ack = true).len(), 0);
    assert_eq!(v.end.acknowledged(), 0, "an ENDAK without an END");
    v.goes_on(10);
}

#[test]
fn an_edge_never_moves_back_and_is_never_crossed() {
    let mut v = Victim::sender(10);
    let at = |v: &Victim, credit: i64| {
        let stat = Stat { next: num(10), from: num(10), upto: num(10), credit: num(credit), ..v.stat(0) };
        Some(stat)
    };
    let stat = at(&v, 20);
    v.feed(|c| c.stat = stat);
    let stat = at(&v, 12);
    v.feed(|c| c.stat = stat);
    v.write(50);
    v.wait(1000);
    assert_eq!(v.sent, 10 + 50, "as far as the BGNAK said, and no further");
    v.write(50);
    v.wait(1000);
    assert_eq!(v.sent, 60);
    let stat = Some(Stat { next: num(60), from: num(60), upto: num(60), credit: num(70), ..v.stat(0) });
    v.feed(|c| c.stat = stat);
    v.wait(2000);
    assert_eq!(v.sent, 70);
}

#[test]
fn a_flood_of_reports_resends_each_packet_once() {
    let mut v = Victim::sender(10);
    let gaps = vec![Gap { start: num(2), end: num(5) }];
    let before = v.stat(0);
    let ustat = Ustat { next: num(0), credit: num(60), gaps: gaps.clone(), compact: true };
    for _ in 0..10_000 {
        v.feed(|c| c.ustat = Some(ustat.clone()));
    }
    v.wait(100);
    let after = v.end.stats().packets_retransmitted;
    assert!((3..=12).contains(&after), "{after} repeats: three and three tail copies of each");
    // A STAT that answers a POLL from before the repeats has no effect, however often it comes.
    let stat = Stat { upto: num(10), gaps, ..before };
    for _ in 0..10_000 {
        v.feed(|c| c.stat = Some(stat.clone()));
    }
    v.wait(100);
    assert!(v.end.stats().packets_retransmitted == after, "{:?}", v.end.stats());
    v.goes_on(10);
}

#[test]
fn strangers_are_ignored() {
    let mut v = Victim::sender(5);
    for change in [
        |p: &mut Packet<Bytes>| p.instance = 8,
        |p: &mut Packet<Bytes>| p.source_port = 10,
        |p: &mut Packet<Bytes>| p.destination_port = 10,
    ] {
        let control = Control { end: Some(End { reason: Reason::Aborted }), ..Control::default() };
        let mut packet = v.packet(PEER, None, control);
        change(&mut packet);
        v.end.handle_packet(v.now, &packet);
    }
    assert!(v.end.poll_event().is_none());
    v.goes_on(5);
    let control = Control { end: Some(End { reason: Reason::Aborted }), ..Control::default() };
    v.end.handle_packet(v.now, &v.packet(PEER, None, control));
    assert_eq!((v.end.poll_event(), v.end.state()), (Some(Event::Reset(Reason::Aborted)), State::Closed));
}

#[test]
fn an_end_that_contradicts_what_has_come_is_ignored() {
    let mut v = Victim::sender(1);
    v.data(0, 100);
    v.data(1, 100);
    v.data(3, 100);
    for behind in [0, 1, 2, 3] {
        let control = Control { end: Some(End { reason: Reason::Finished }), ..Control::default() };
        v.end.handle_packet(v.now, &v.packet(peer(behind), None, control));
        assert_eq!(v.end.state(), State::Established, "END behind {behind}");
    }
    let control = Control { end: Some(End { reason: Reason::Finished }), ..Control::default() };
    v.end.handle_packet(v.now, &v.packet(peer(5), None, control.clone()));
    v.end.handle_packet(v.now, &v.packet(peer(6), None, control));
    v.data(5, 100);
    v.data(6, 100);
    v.data(2, 100);
    v.data(4, 100);
    assert_eq!((v.end.delivered(), v.end.state()), (500, State::EndReceived));
}

#[test]
fn every_second_packet_costs_no_more_than_the_window_and_is_reported_in_whole_packets() {
    let config = Config { window: 8 << 20, ..config() };
    let window = config.window / u64::from(config.max_payload());
    let mut v = Victim::with(config, 1);
    for n in 0..100_000u64 {
        v.data(1 + 2 * n as i64, 1);
        assert!(v.end.held().1 as u64 <= window, "{} of {window} packets", v.end.held().1);
    }
    let mut packet = v.packet(peer(200_000), None, Control::default());
    packet.poll = Some(9);
    v.end.handle_packet(v.now, &packet);
    v.now += Span::from_millis(50);
    v.end.handle_timeout(v.now);
    let (mut parts, mut gaps, mut upto) = (0, 0, peer(0));
    while let Some(packet) = v.end.poll_transmit(v.now) {
        assert!(packet.wire_len() <= 1440);
        let Some(stat) = packet.control.and_then(|c| c.stat) else { continue };
        // The parts are consecutive, without gaps.
        assert!(stat.from == upto, "part {parts} from {} after {upto}", stat.from);
        (parts, gaps, upto) = (parts + 1, gaps + stat.gaps.len() as u64, stat.upto);
    }
    assert!((2..=10).contains(&parts) && gaps.abs_diff(window / 2) <= 1, "{parts} parts, {gaps} gaps");
    assert_eq!(upto, peer(window as i64));
}

#[test]
fn packets_larger_than_agreed_do_not_hold_more_than_twice_the_window() {
    let config = Config { window: 1 << 20, ..config() };
    let mut v = Victim::with(config, 1);
    for n in 0..700 {
        // Out of order: the first is missing.
        v.data(1 + n, 60_000);
    }
    let held = v.end.held().1 as u64 * 60_000;
    let holes = v.end.held().1;
    assert!(holes <= 1 + (1 << 20) / 60_000 + 1, "{held} bytes in {holes} places");
    for n in 0..700 {
        v.data(n, 60_000);
        assert!(v.end.readable() <= (1 << 20) + 60_000 + (1 << 20));
    }
    // Reading by the application makes room: nothing is stuck.
    for _ in 0..2_000 {
        let next = v.end.delivered() as i64 / 60_000;
        while v.end.read(usize::MAX).is_some() {}
        v.data(next, 60_000);
    }
    assert!(v.end.delivered() >= 700 * 60_000, "{}", v.end.delivered());
}

#[test]
fn data_before_and_beyond_the_window_are_dropped() {
    let config = Config { window: 20 * 1428, ..config() };
    let mut v = Victim::with(config, 1);
    for n in [-1, -100, 20, 21, 1 << 22, -(1 << 22)] {
        v.data(n, 10);
        assert_eq!((v.end.delivered(), v.end.held().1), (0, 0), "SD {n}");
    }
    (0..20).for_each(|n| v.data(n, 10));
    v.data(20, 10);
    assert_eq!(v.end.delivered(), 200);
    assert!(v.end.read(usize::MAX).is_some());
    v.data(20, 10);
    v.data(21, 10);
    assert_eq!(v.end.delivered(), 210, "as much as was read");
}

#[test]
fn a_peer_that_takes_less_than_has_left_gets_the_rest_later() {
    // The BGNAK of a small receiver: 64 SDs were sent on assumed credit.
    let mut v = Victim::start(Config { initial_window: 64 * 1428, ..config() }, 64);
    let early = v.sent;
    assert!((40..=64).contains(&early), "{early}");
    v.begin_ack(3);
    assert_eq!(v.end.poll_event(), Some(Event::Connected));
    v.wait(10);
    assert_eq!(v.sent, early);
    v.goes_on(early);
}

#[test]
fn time_in_which_nothing_was_asked_is_no_silence() {
    let mut v = Victim::sender(5);
    v.goes_on(5);
    v.now += Span::from_secs(3_600);
    v.end.handle_timeout(v.now);
    v.write(3);
    v.wait(5);
    assert_eq!((v.end.state(), v.end.poll_event()), (State::Established, None));
    v.goes_on(8);
    // A peer that does not answer is given up after the configured time, not before.
    v.write(1);
    let from = v.now;
    while v.end.state() != State::Closed {
        v.now = v.end.poll_timeout().expect("a timer").max(v.now);
        v.end.handle_timeout(v.now);
        v.drain();
    }
    assert!((120.0..=121.0).contains(&v.now.since(from).as_secs_f64()), "{}", v.now);
}

/// docs/stp.md §6.3: what was reported before the BGNAK did not count, so that a POLL follows it in a silence; and §8.3, rule 5: in a
/// silence before it nobody is looked for.
#[test]
fn a_late_bgnak_is_followed_by_a_poll() {
    let config = Config { congestion: Congestion::Delay, ..Config::default() };
    let mut few = Victim::start(config.clone(), 100);
    few.wait(990);
    // 90 packets wait: a POLL every 55 ms from 100 ms on.
    assert!((12..25).contains(&few.polls.len()), "{}", few.polls.len());
    let mut v = Victim::start(config.clone(), 1000);
    v.wait(990);
    let looked = v.polls.len();
    // A POLL every 7 ms.
    assert!((100..160).contains(&looked), "{looked}");
    v.wait(200);
    let silent = v.polls.len();
    v.wait(1_800);
    let asked = v.polls.len() - silent;
    assert!((1..10).contains(&asked), "{asked}");
    let before = v.polls.len();
    v.begin_ack(60);
    assert_eq!(v.polls.len(), before + 1);
    // In time it is followed by none.
    let mut v = Victim::start(config, 100);
    v.wait(40);
    let before = v.polls.len();
    v.begin_ack(60);
    assert_eq!((v.end.state(), v.polls.len()), (State::Established, before));
}

#[test]
fn a_dead_peer_without_credit_is_found_out() {
    let mut v = Victim::sender(5);
    let stat = Stat { next: num(5), from: num(5), upto: num(5), credit: num(5), ..v.stat(0) };
    v.feed(|c| c.stat = Some(stat));
    v.write(3);
    let from = v.now;
    let mut packets = 0;
    while v.end.state() != State::Closed {
        v.now = v.end.poll_timeout().expect("a timer").max(v.now);
        v.end.handle_timeout(v.now);
        packets += v.drain().len();
    }
    let took = v.now.since(from).as_secs_f64();
    assert!((120.0..=185.0).contains(&took) && (5..=90).contains(&packets), "{took} s, {packets} packets");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_whatever_breaks_an_end(
        lies in prop::collection::vec(lie(), 1..40),
        plain in any::<bool>(),
        rate in any::<bool>(),
        opened in any::<bool>(),
    ) {
        let mut config = if plain { Config::plain() } else { Config::default() };
        if rate {
            config.congestion = Congestion::Rate;
            config.max_rate = Some(Rate::mbit(10));
        }
        config.window = 100_000;
        let mut v = if opened { Victim::with(config, 5) } else { Victim::start(config, 5) };
        for lie in lies {
            let packet = lie.packet(&v);
            v.end.handle_packet(v.now, &packet);
            let answers = v.drain();
            prop_assert!(answers.len() < 3_000);
            while v.end.poll_event().is_some() {}
            // Places in the window; each holds a packet at most.
            prop_assert!(v.end.held().1 <= 110, "{:?}", v.end.held());
            v.now += Span::from_millis(lie.wait_ms);
            v.end.handle_timeout(v.now);
            v.drain();
            if lie.read {
                while v.end.read(777).is_some() {}
            }
        }
        // It terminates or ends with an error, in any state, and does not loop.
        for _ in 0..3_000 {
            let Some(at) = v.end.poll_timeout() else { return Ok(()) };
            v.now = at.max(v.now);
            v.end.handle_timeout(v.now);
            v.drain();
        }
        prop_assert!(v.now >= Time::ZERO + Span::from_secs(3), "{} s after 3000 timers", v.now);
    }
}

/// A packet by its differences from an honest one.
#[derive(Debug, Clone)]
struct Lie {
    seq: i64,
    data: usize,
    poll: Option<u32>,
    kinds: u8,
    numbers: Vec<i64>,
    echo: i64,
    compact: bool,
    reason: u8,
    wait_ms: u64,
    read: bool,
}

fn lie() -> impl Strategy<Value = Lie> {
    let near = || prop_oneof![3 => -3i64..12, 1 => -200i64..200, 1 => -(1i64 << 24)..1 << 24];
    let reason = prop_oneof![20 => Just(0u8), 1 => any::<u8>()];
    let rest = (near(), any::<bool>(), reason, 0u64..400, any::<bool>());
    (
        near(),
        0usize..2_000,
        prop::option::of(any::<u32>()),
        any::<u8>(),
        prop::collection::vec(near(), 16),
        rest,
    )
        .prop_map(|(seq, data, poll, kinds, numbers, (echo, compact, reason, wait_ms, read))| Lie {
            seq,
            data,
            poll,
            kinds,
            numbers,
            echo,
            compact,
            reason,
            wait_ms,
            read,
        })
}

impl Lie {
    fn packet(&self, v: &Victim) -> Packet<Bytes> {
        let has = |bit: u8| self.kinds & bit != 0;
        let n = |i: usize| num(self.numbers[i]);
        let gaps = (0..self.kinds as usize % 4)
            .map(|i| Gap { start: n(4 + 2 * i), end: n(5 + 2 * i) })
            .collect::<Vec<_>>();
        let begin = |i: usize| Begin {
            version: 1 + u8::from(self.numbers[i] == 7),
            features: Features(self.kinds),
            max_payload: self.numbers[i].unsigned_abs() as u16,
            first: peer(0),
            credit: if self.numbers[i + 1] > 1_000 { 0xff_ffff } else { n(i + 1) },
            count: 3,
        };
        let control = Control {
            begin: (self.kinds & 0x11 == 0x11).then(|| begin(12)),
            begin_ack: (self.kinds & 0x31 == 0x30).then(|| begin(13)),
            end: (self.kinds & 0xc0 == 0xc0).then_some(End { reason: Reason::from_number(self.reason) }),
            end_ack: self.kinds & 0xe0 == 0x60,
            stat: has(4).then(|| Stat {
                echo: v.polls.last().copied().unwrap_or(0).wrapping_add(self.echo.clamp(-5, 1) as u32),
                next: n(0),
                credit: n(1),
                from: n(2),
                upto: n(3),
                gaps: gaps.clone(),
                report: None,
                compact: self.compact,
            }),
            ustat: has(8).then(|| Ustat { next: n(0), credit: n(1), gaps, compact: self.compact }),
            ..Control::default()
        };
        let data = (self.data > 0).then(|| Bytes::from(vec![7; self.data]));
        Packet { poll: self.poll, ..v.packet(peer(self.seq), data, control) }
    }
}

fn num(offset: i64) -> u32 {
    (i64::from(FIRST) + offset) as u32 & 0x00ff_ffff
}

fn peer(offset: i64) -> u32 {
    (i64::from(PEER) + offset) as u32 & 0x00ff_ffff
}

fn config() -> Config {
    Config { congestion: Congestion::Rate, max_rate: Some(Rate::mbit(1_000)), ..Config::default() }
}

/// An honest end that opens a connection and receives lies.
struct Victim {
    end: Connection<Bytes>,
    now: Time,
    /// Number of different SDs it has sent.
    sent: u64,
    polls: Vec<u32>,
}

impl Victim {
    /// Before the BGNAK; it has this many packets to send.
    fn start(config: Config, packets: usize) -> Self {
        let ends = Ends { local_port: 7, remote_port: 9, instance: 1, count: 3 };
        let mut v = Self {
            end: Connection::connect(config, ends, FIRST),
            now: Time::ZERO,
            sent: 0,
            polls: Vec::new(),
        };
        v.write(packets);
        v.wait(10);
        v
    }

    fn with(config: Config, packets: usize) -> Self {
        let mut v = Self::start(config, 0);
        v.begin_ack(60);
        assert_eq!(v.end.poll_event(), Some(Event::Connected));
        v.write(packets);
        v.wait(100);
        v
    }

    fn sender(packets: usize) -> Self {
        let v = Self::with(config(), packets);
        assert_eq!((v.sent, v.polls.is_empty()), (packets as u64, false));
        v
    }

    fn write(&mut self, packets: usize) {
        for _ in 0..packets {
            self.end.write(Bytes::from(vec![1; 1000]));
        }
        self.drain();
    }

    fn begin_ack(&mut self, credit: i64) {
        let begin = Begin {
            version: 1,
            features: Features::COMPACT,
            max_payload: 1000,
            first: PEER,
            credit: num(credit),
            count: 3,
        };
        let control = Control { begin_ack: Some(begin), ..Control::default() };
        let packet = self.packet(PEER, None, control);
        self.end.handle_packet(self.now, &packet);
        self.drain();
    }

    fn packet(&self, seq: u32, data: Option<Bytes>, control: Control) -> Packet<Bytes> {
        let control = (control != Control::default()).then(|| Box::new(control));
        Packet { source_port: 9, destination_port: 7, instance: 1, seq, poll: None, data, control }
    }

    fn data(&mut self, n: i64, len: usize) {
        let packet = self.packet(peer(n), Some(Bytes::from(vec![2; len])), Control::default());
        self.end.handle_packet(self.now, &packet);
    }

    /// A STAT without gaps, in answer to the last POLL.
    fn stat(&self, next: i64) -> Stat {
        let echo = *self.polls.last().expect("a POLL");
        let (from, upto) = (num(next), num(next));
        Stat {
            echo,
            next: num(next),
            credit: num(60),
            from,
            upto,
            gaps: Vec::new(),
            report: None,
            compact: true,
        }
    }

    fn feed(&mut self, fill: impl FnOnce(&mut Control)) -> Vec<Packet<Bytes>> {
        let mut control = Control::default();
        fill(&mut control);
        let packet = self.packet(PEER, None, control);
        self.end.handle_packet(self.now, &packet);
        self.drain()
    }

    fn drain(&mut self) -> Vec<Packet<Bytes>> {
        let packets: Vec<_> = std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect();
        for packet in &packets {
            self.polls.extend(packet.poll);
            if packet.data.is_some() {
                let offset = packet.seq.wrapping_sub(FIRST) & 0x00ff_ffff;
                self.sent = self.sent.max(u64::from(offset) + 1);
            }
        }
        packets
    }

    /// Advances the time.
    fn wait(&mut self, ms: u64) {
        let until = self.now + Span::from_millis(ms);
        while let Some(at) = self.end.poll_timeout().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.end.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// An honest peer from here on: accepts and acknowledges all, until everything has arrived.
    fn goes_on(&mut self, packets: u64) {
        for _ in 0..200 {
            let next = self.sent as i64;
            let stat = Stat { credit: num(next + 60), ..self.stat(next) };
            self.feed(|c| c.stat = Some(stat));
            self.wait(300);
            if self.end.unsent() == 0 && self.sent == packets && self.end.in_flight() == 0 {
                let stat = Stat { credit: num(next + 60), ..self.stat(next) };
                self.feed(|c| c.stat = Some(stat));
                while self.end.poll_event().is_some() {}
                return;
            }
        }
        panic!("{} of {packets} packets, {:?}", self.sent, self.end.stats());
    }
}
