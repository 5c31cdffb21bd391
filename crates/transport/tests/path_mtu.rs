//! Path MTU discovery, with messages of routers and without.
//!
//! Expectations are from RFC 1191 6 (messages), RFC 5927 4.1 (plausible messages), RFC 4821 7.6 and RFC 8899 4.3, 5.1.2 (a lost
//! probe is no congestion, three lost ones are too large, black holes).
//! Leaves out routers and links, which the simulator's tests have.

use proptest::prelude::*;
use skyhop_transport::tcp::{
    Config, Connection, DelayedAck, LossRecovery, Open, PathMtu, SenderStats, State, Variant,
};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Ip, Packet, TcpHeader, TooLarge, Transport, Version};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;

const ALL: [Variant; 13] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::NewRenoSlowButSteady,
    Variant::SackReno,
    Variant::SackNewReno,
    Variant::Sack,
    Variant::Sack1,
    Variant::Fack,
    Variant::Vegas,
    Variant::Cubic,
    Variant::Hybla,
    Variant::Bbr,
];

/// Two ends with a router half way between them, before a link of some MTU.
struct Net {
    ends: [Connection; 2],
    now: Time,
    delay: Span,
    mtu: u32,
    /// MTU in the router's message, if it sends one.
    says: Option<u16>,
    /// Pattern of the packets that arrive, repeated.
    pass: Vec<bool>,
    wire: BTreeMap<(Time, u64), (usize, Packet)>,
    count: u64,
    /// All packets of the first end: time, length, and whether they passed.
    sent: Vec<(Time, u32, bool)>,
    /// Its first packet with data.
    first: Option<Packet>,
    heard: u32,
}

impl Net {
    fn new(config: &Config, mtu: u32, says: Option<u16>) -> Self {
        let [a, b]: [SocketAddrV4; 2] = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()];
        let ends =
            [Connection::connect(config.clone(), a, b, 100), Connection::listen(config.clone(), b, a, 900)];
        Self {
            ends,
            now: Time::ZERO,
            delay: Span::from_millis(50),
            mtu,
            says,
            pass: vec![true],
            wire: BTreeMap::new(),
            count: 0,
            sent: Vec::new(),
            first: None,
            heard: 0,
        }
    }

    fn offer(&mut self, bytes: [u64; 2]) {
        for (end, bytes) in self.ends.iter_mut().zip(bytes) {
            end.write(bytes);
        }
        self.ends[0].shutdown();
    }

    fn step(&mut self) -> bool {
        for from in [0, 1] {
            while let Some(packet) = self.ends[from].poll_transmit(self.now) {
                self.carry(from, packet);
            }
        }
        let timers = self.ends.iter().filter_map(Connection::poll_timeout);
        let Some(next) = timers.chain(self.wire.keys().next().map(|k| k.0)).min() else { return false };
        self.now = next;
        for end in &mut self.ends {
            if end.poll_timeout().is_some_and(|at| at <= next) {
                end.handle_timeout(next);
            }
        }
        while let Some((&(at, _), _)) = self.wire.first_key_value()
            && at <= next
        {
            let Some((_, (to, packet))) = self.wire.pop_first() else { break };
            self.heard += u32::from(matches!(packet.transport, Transport::TooLarge(_)));
            self.ends[to].handle_packet(next, &packet);
            self.ends[to].read();
            while let Some(packet) = self.ends[to].poll_transmit(next) {
                self.carry(to, packet);
            }
            if to == 1 && matches!(self.ends[1].state(), State::CloseWait) {
                self.ends[1].shutdown();
            }
        }
        true
    }

    fn carry(&mut self, from: usize, packet: Packet) {
        let n = self.count as usize;
        self.count += 1;
        // Beyond the pattern's first passage no timer can fall in step with it.
        let mixed = (self.count ^ self.count >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let turn = if n < self.pass.len() { n } else { (mixed >> 33) as usize };
        let fits = packet.wire_len() <= self.mtu;
        if from == 0 {
            self.sent.push((self.now, packet.wire_len(), fits));
            self.first = self.first.or(Some(packet).filter(|packet| packet.payload_len > 0));
        }
        if !self.pass[turn % self.pass.len()] {
            return;
        }
        let (to, packet) = if fits {
            (1 - from, packet)
        } else if let Some(mtu) = self.says {
            let ip = Ip { source: [10, 0, 0, 3].into(), destination: packet.ip.source, ..packet.ip };
            let transport = Transport::TooLarge(TooLarge::quoting(&packet, mtu));
            (from, Packet { ip, transport, payload_len: 0 })
        } else {
            return;
        };
        self.wire.insert((self.now + self.delay, self.count), (to, packet));
    }

    fn run(&mut self) {
        for _ in 0..400_000 {
            let done = self.ends.iter().all(|end| matches!(end.state(), State::Closed));
            if done || !self.step() {
                return;
            }
        }
        panic!("never over: {:?}, {:?}", self.ends[0].state(), self.ends[1].state());
    }

    fn stats(&self) -> SenderStats {
        self.ends[0].stats()
    }
}

fn config(variant: Variant, path_mtu: PathMtu) -> Config {
    Config {
        variant,
        path_mtu,
        initial_window: 14_600,
        window: 200_000,
        delayed_ack: DelayedAck::None,
        ..Config::default()
    }
}

#[test]
fn a_routers_word_is_followed_at_once_and_the_window_is_not_cut() {
    for variant in ALL {
        for (mtu, says) in [(576, 576), (1499, 1499), (296, 296), (1492, 0)] {
            let mut net = Net::new(&config(variant, PathMtu::Icmp), mtu, Some(says));
            net.offer([300_000, 0]);
            while net.heard == 0 {
                net.step();
            }
            let before = net.ends[0].cwnd();
            net.run();
            let case = format!("{variant:?} {mtu}");
            assert_eq!((net.ends[1].delivered(), net.ends[0].state()), (300_000, State::Closed), "{case}");
            let stats = net.stats();
            assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0), "{case}");
            assert!(before >= if variant == Variant::Vegas { 1 } else { 14_600 }, "{case}: {before}");
            // The first flight is too large and repeated as a whole; no later packet is too large: 100 ms for the handshake, 50 ms
            // to the router half way, and 50 ms back.
            let large: Vec<_> = net.sent.iter().filter(|s| !s.2).collect();
            let first = if variant == Variant::Vegas { 1 } else { 10 };
            // BBR paces.
            let (most, until) = if variant == Variant::Bbr { (10, 149) } else { (first, 100) };
            assert!((first.min(3)..=most).contains(&large.len()), "{case}: {}", large.len());
            assert!(large.iter().all(|s| s.0 <= Time::ZERO + Span::from_millis(until)), "{case}");
            let again = net.sent.iter().find(|s| s.0 > large[large.len() - 1].0).unwrap();
            // An old router leaves the size to be guessed (RFC 1191 7.1): the next smaller one of the table.
            let expected = if says == 0 { 1492 } else { mtu };
            assert_eq!((again.0, again.1), (Time::ZERO + Span::from_millis(150), expected), "{case}");
        }
    }
}

/// The largest size of the table that passes the path, the number of failed sizes during the search, and of timeouts until a black
/// hole is left: two for the first step down, one for each further one.
const SEARCHES: [(u32, u32, u32, u64); 7] = [
    (1500, 1500, 0, 0),
    (1499, 1492, 1, 0),
    (1400, 1400, 3, 0),
    (1250, 1200, 5, 0),
    (1100, 1006, 3, 2),
    (576, 576, 4, 2),
    (300, 296, 4, 3),
];

#[test]
fn a_search_finds_the_largest_size_that_passes_and_costs_no_window() {
    for variant in ALL {
        for (mtu, expected, failed, timeouts) in SEARCHES {
            let mut net = Net::new(&config(variant, PathMtu::Probe), mtu, None);
            net.offer([3_000_000, 0]);
            net.run();
            let case = format!("{variant:?} {mtu}");
            assert_eq!((net.ends[1].delivered(), net.ends[0].state()), (3_000_000, State::Closed), "{case}");
            let most = net.sent.iter().filter(|s| s.2).map(|s| s.1).max();
            assert_eq!(most, Some(expected), "{case}");
            let stats = net.stats();
            assert_eq!((stats.timeouts, stats.fast_retransmits), (timeouts, 0), "{case}");
            // Three of each size that does not pass (RFC 8899 5.1.2), once it is known what does.
            let known = net.sent.iter().position(|s| s.2 && s.1 > 100).unwrap_or(0);
            let probes = net.sent[known..].iter().filter(|s| !s.2).count() as u32;
            assert_eq!(probes, 3 * failed, "{case}");
        }
    }
}

#[test]
fn a_router_spares_a_search_its_guesses() {
    for variant in ALL {
        let mut net = Net::new(&config(variant, PathMtu::Probe), 1333, Some(1333));
        net.offer([1_000_000, 0]);
        net.run();
        let large: Vec<_> = net.sent.iter().filter(|s| !s.2).map(|s| s.1).collect();
        assert_eq!(large, [1500], "{variant:?}: one probe, and the router's answer to it");
        assert_eq!(net.sent.iter().filter(|s| s.2).map(|s| s.1).max(), Some(1333), "{variant:?}");
        let stats = net.stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0), "{variant:?}");
    }
}

#[test]
fn who_does_not_listen_stays_in_the_hole() {
    let mut net = Net::new(&config(Variant::Sack, PathMtu::None), 576, Some(576));
    net.offer([100_000, 0]);
    while net.now < Time::ZERO + Span::from_secs(300) && net.step() {}
    assert_eq!(net.ends[1].delivered(), 0);
    assert!(net.heard > 5 && net.stats().timeouts > 5, "{} {:?}", net.heard, net.stats());
}

#[test]
fn an_end_sends_nothing_larger_than_its_own_link_carries() {
    let config = Config { link_mtu: Some(1000), ..config(Variant::SackNewReno, PathMtu::None) };
    let mut net = Net::new(&config, 1000, None);
    net.offer([300_000, 300_000]);
    net.pass = vec![true, true, true, true, true, true, true, true, true, false, true];
    net.run();
    assert_eq!([net.ends[0].delivered(), net.ends[1].delivered()], [300_000; 2]);
    // SACK blocks in data packets are included if there is room.
    assert_eq!(net.sent.iter().map(|s| s.1).max(), Some(1000));
}

/// A message that nobody on the path can have sent.
#[test]
fn only_what_is_outstanding_can_have_been_too_large() {
    let mut net = Net::new(&config(Variant::Cubic, PathMtu::Icmp), 1500, None);
    net.offer([200_000, 0]);
    while net.ends[0].in_flight() < 14_600 {
        net.step();
    }
    let header = |seq: u32, port: u16| TcpHeader {
        source_port: 1,
        destination_port: port,
        seq,
        flags: Flags::ACK,
        ..TcpHeader::default()
    };
    let ip = |source: u8, destination: u8| Ip {
        identification: 1,
        ttl: 60,
        ..Ip::new(Version::V4, [10, 0, 0, source].into(), [10, 0, 0, destination].into())
    };
    let lie = |ip: Ip, tcp: TcpHeader, mtu: u16| {
        let quoted = Packet { ip, transport: Transport::Tcp(tcp), payload_len: 1460 };
        Packet { transport: Transport::TooLarge(TooLarge::quoting(&quoted, mtu)), payload_len: 0, ..quoted }
    };
    let lies = [
        lie(ip(1, 2), header(100, 2), 576),
        lie(ip(1, 2), header(101 + 14_600, 2), 576),
        lie(ip(1, 2), header(0x8000_0000, 2), 576),
        lie(ip(1, 2), header(101, 3), 576),
        lie(ip(1, 3), header(101, 2), 576),
        lie(ip(2, 1), header(101, 2), 576),
        lie(ip(1, 2), header(101, 2), 1500),
        lie(ip(1, 2), header(101, 2), 9000),
    ];
    for lie in lies {
        net.ends[0].handle_packet(net.now, &lie);
        assert_eq!(net.ends[0].poll_transmit(net.now), None, "{lie:?}");
    }
    // An end may believe a router's message, but only down to the 68 bytes that every link carries.
    net.ends[0].handle_packet(net.now, &lie(ip(1, 2), header(101, 2), 1));
    assert_eq!(net.ends[0].poll_transmit(net.now).map(|p| p.wire_len()), Some(68));
    net.run();
    assert_eq!(net.ends[1].delivered(), 200_000);
}

/// RFC 8201 §4: an end ignores messages with less than the minimum MTU of IPv6, and never goes below it.
#[test]
fn over_ipv6_no_packet_becomes_smaller_than_1280_bytes() {
    let config = Config { ip: Version::V6, mss: 1440, ..config(Variant::Cubic, PathMtu::Icmp) };
    for (says, largest) in [(0, 1500), (68, 1500), (1279, 1500), (1280, 1280), (1400, 1400)] {
        let mut net = Net::new(&config, 1500, None);
        net.offer([200_000, 0]);
        while net.ends[0].in_flight() < 10_000 {
            net.step();
        }
        let first = net.first.expect("data has left");
        let message = Transport::TooLarge(TooLarge::quoting(&first, says));
        net.ends[0].handle_packet(net.now, &Packet { transport: message, payload_len: 0, ..first });
        let from = net.sent.len();
        net.run();
        assert_eq!(net.sent[from..].iter().map(|sent| sent.1).max(), Some(largest), "{says}");
        assert_eq!(net.ends[1].delivered(), 200_000);
    }
}

/// A later connection begins with the MTU that it is given.
#[test]
fn what_was_found_is_remembered() {
    for (path_mtu, says) in [(PathMtu::Icmp, Some(576)), (PathMtu::Probe, None)] {
        let config = config(Variant::SackNewReno, path_mtu);
        let mut first = Net::new(&config, 576, says);
        first.offer([3_000_000, 0]);
        first.run();
        let memory = first.ends[0].memory();
        assert_eq!(memory.path_mtu, Some(576), "{path_mtu:?}");
        let mut later = Net::new(&config, 576, says);
        let [a, b] = later.ends;
        later.ends = [a.with_memory(memory), b];
        later.offer([300_000, 0]);
        later.run();
        assert_eq!(later.ends[1].delivered(), 300_000);
        assert!(later.sent.iter().all(|s| s.2), "{path_mtu:?}");
        assert_eq!(later.stats().segments_retransmitted, 0, "{path_mtu:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_whatever_the_path_carries_and_loses(
        variant in prop::sample::select(combinations()),
        (mtu, mss) in (128u32..2200, 100u32..2200),
        (says, old, own) in (any::<bool>(), any::<bool>(), prop::option::of(68u32..2000)),
        flags in any::<[bool; 6]>(),
        open in 0..5,
        pass in prop::collection::vec(prop::bool::weighted(0.9), 1..80),
        bytes in [0u64..60_000, 0u64..20_000],
    ) {
        let known = open % 2 == 0;
        let config = Config {
            recovery: variant.1,
            mss,
            link_mtu: own,
            window: 60_000,
            initial_window: 4_380,
            timestamps: flags[0],
            dsack: flags[1],
            limited_transmit: flags[2],
            pacing: flags[3],
            rate_reduction: flags[4],
            delayed_ack: if flags[5] { DelayedAck::None } else { DelayedAck::OneShot(Span::from_millis(200)) },
            open: match open {
                0 => Open::Handshake,
                1 | 2 => Open::Transactions { known },
                _ => Open::FastOpen { known },
            },
            ..config(variant.0, if says { PathMtu::Icmp } else { PathMtu::Probe })
        };
        // A link of an end has at least the MTU of the path; a smaller one the end would know.
        let config = Config { link_mtu: config.link_mtu.map(|own| own.max(mtu)), ..config };
        let word = says.then_some(if old { 0 } else { mtu as u16 });
        let mut net = Net::new(&config, mtu, word);
        net.pass = pass;
        net.pass.push(true);
        net.offer(bytes);
        net.run();
        prop_assert_eq!(net.ends[1].delivered(), bytes[0]);
        prop_assert_eq!(net.ends[0].delivered(), bytes[1]);
        if let Some(own) = config.link_mtu {
            prop_assert!(net.sent.iter().all(|s| s.1 <= own.max(68)), "an end's own link carries {}", own);
        }
    }
}

fn combinations() -> Vec<(Variant, Option<LossRecovery>)> {
    use LossRecovery::*;
    let others = [Reno, NewReno, SackReno, SackNewReno, Rfc6675, Sack1, Fack, Rack];
    ALL.into_iter()
        .map(|variant| (variant, None))
        .chain(others.map(|recovery| (Variant::Sack, Some(recovery))))
        .chain([(Variant::Bbr, Some(Rfc6675)), (Variant::Cubic, Some(SackNewReno))])
        .collect()
}
