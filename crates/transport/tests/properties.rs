//! Invariants of every loss pattern, order and configuration: all data, in order, once, and an orderly end.
//!
//! At least one packet in ten arrives; packets are late, duplicated and in any order. RFC 9293 3.8.6 bounds the data in flight.
//! Random headers, and timers called too early, must do no harm.

use proptest::prelude::*;
use skyhop_transport::tcp::{
    AfterIdle, Config, Connection, DelayedAck, Event, Hystart, Increase, LossRecovery, Open, Saved, State,
    Variant,
};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Packet, SackBlocks, TcpHeader, Timestamps, Transport, expand};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        config in config(),
        path in path(),
        initial in any::<[u32; 2]>(),
        bytes in [0u64..40_000, 0u64..40_000],
    ) {
        let mut net = Net::new(config, path, initial);
        net.offer(bytes);
        net.run();
        for end in [0, 1] {
            prop_assert_eq!(net.ends[end].delivered(), bytes[1 - end], "end {}", end);
            prop_assert_eq!(net.reported[end], bytes[1 - end], "end {}", end);
            // An end may learn of the fate of its last flight only by the peer's RST.
            let gone = net.sent.iter().any(|s| s.1 == 1 - end && tcp(&s.2).flags.has(Flags::RST));
            let acknowledged = net.ends[end].acknowledged();
            prop_assert!(acknowledged == bytes[end] || gone && acknowledged < bytes[end], "{}", acknowledged);
            prop_assert_eq!(net.ends[end].state(), State::Closed, "end {}", end);
            prop_assert_eq!(net.ends[end].poll_timeout(), None, "end {}", end);
            let [connected, finished, closed, reset] = net.told[end];
            prop_assert_eq!((connected, finished, closed, reset), (1, 1, 1, 0), "end {}", end);
        }
    }

    #[test]
    fn what_is_in_flight_fits_the_window_that_the_peer_announced(
        config in config(),
        path in path(),
        bytes in 1u64..60_000,
    ) {
        let mut net = Net::new(config, path, [7, u32::MAX - 7]);
        net.offer([bytes, bytes]);
        // `carry` compares each segment with the windows that have reached its sender.
        net.run();
        prop_assert_eq!(net.beyond_window, 0);
        // Less than nothing would be a number without end. SYN, FIN, and what goes with a SYN before any window is known.
        let most = net.config.window.max(net.config.window_max) + net.config.mss as u64 + 3;
        prop_assert!(net.in_flight <= most, "{} of {}", net.in_flight, most);
    }

    #[test]
    fn a_timer_does_nothing_before_its_time(config in config(), path in path(), bytes in 1u64..40_000) {
        let mut net = Net::new(config.clone(), path.clone(), [1, 2]);
        net.offer([bytes, 0]);
        net.run();
        let mut hurried = Net::new(config, path, [1, 2]);
        hurried.too_early = true;
        hurried.offer([bytes, 0]);
        hurried.run();
        prop_assert_eq!(net.sent, hurried.sent);
    }

    #[test]
    fn random_headers_never_panic_and_never_deliver_what_was_not_sent(
        config in config(),
        start in 0usize..40,
        lies in prop::collection::vec((0usize..2, lie()), 1..60),
    ) {
        let honest = Path { delay_ms: 10, pass: [vec![true], vec![true]], late_ms: vec![0], twice: vec![false] };
        let mut net = Net::new(config, honest, [1000, 9000]);
        net.offer([20_000, 20_000]);
        for _ in 0..start {
            net.step();
        }
        for (to, lie) in lies {
            let before = net.ends[to].delivered();
            net.deceive(to, &lie);
            let fresh = net.ends[to].delivered() - before;
            // At most a window's worth comes into order at once.
            prop_assert!(fresh <= net.config.window.max(net.config.window_max), "{} bytes", fresh);
            net.step();
        }
        // Ends that received contradictory segments may answer each other for ever (RFC 5961 7 describes it), but only once per
        // round trip.
        let from = net.now;
        let steps = (0..2_000).take_while(|_| net.step()).count();
        let took = net.now.since(from);
        prop_assert!(steps < 2_000 || took >= Span::from_millis(200), "{} steps in {}", steps, took);
    }
}

const ALL: [Variant; 14] = [
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
    Variant::Bbr1,
];

/// Loss recoveries that a scenario may combine with a variant: Tahoe and Vegas only have their own, BBR those that its model
/// supports.
fn recoveries(variant: Variant) -> Vec<Option<LossRecovery>> {
    use LossRecovery::*;
    let others: &[LossRecovery] = match variant {
        Variant::Tahoe | Variant::Vegas => &[],
        Variant::Bbr | Variant::Bbr1 => &[Rfc6675, Rack],
        _ => &[Reno, NewReno, NewRenoSlowButSteady, SackReno, SackNewReno, Rfc6675, Sack1, Fack, Rack],
    };
    std::iter::once(None).chain(others.iter().copied().map(Some)).collect()
}

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 1000,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Effects of the path on packets: the lists are used in order once, and then in an order that no timer can synchronise with, since
/// a path that selects the important packets could starve any protocol.
#[derive(Debug, Clone)]
struct Path {
    delay_ms: u64,
    /// For each sender, which packets arrive.
    pass: [Vec<bool>; 2],
    /// How much later a packet arrives.
    late_ms: Vec<u64>,
    /// Which packets arrive a second time.
    twice: Vec<bool>,
}

fn path() -> impl Strategy<Value = Path> {
    let late = prop_oneof![Just(vec![0]), prop::collection::vec(0u64..80, 1..30)];
    let twice = prop_oneof![Just(vec![false]), prop::collection::vec(any::<bool>(), 1..30)];
    (1u64..300, [pass(), pass()], late, twice).prop_map(|(delay_ms, pass, late_ms, twice)| Path {
        delay_ms,
        pass,
        late_ms,
        twice,
    })
}

/// Any pattern of losses in which at least one packet in ten arrives: all, most, a few, or exactly one in ten.
fn pass() -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![
        1 => Just(vec![true]),
        4 => prop::collection::vec(prop::bool::weighted(0.9), 1..60),
        3 => prop::collection::vec(prop::bool::weighted(0.5), 1..60),
        1 => prop::collection::vec(prop::bool::weighted(0.1), 1..60),
    ]
    .prop_map(|mut pattern| {
        let len = pattern.len();
        for (n, tenth) in pattern.chunks_mut(10).enumerate() {
            if tenth.iter().all(|pass| !pass) {
                let one = (n * 7 + len) % tenth.len();
                tenth[one] = true;
            }
        }
        pattern
    })
}

/// Hosts of 1999, and with any features of a current Linux host.
fn config() -> impl Strategy<Value = Config> {
    let flags = any::<[bool; 6]>();
    let sizes = (0u64..1_000_000, 500u64..100_000, 0u64..1_000_000, 0u32..20);
    (config_of_then(), prop::option::of((flags, sizes))).prop_map(|(mut config, current)| {
        if let Some((flags, (window_max, send_buffer, send_buffer_max, quick_acks))) = current {
            config.window_max = window_max;
            if flags[0] {
                (config.send_buffer, config.send_buffer_max) = (send_buffer, send_buffer_max);
            }
            if flags[1] {
                config.hystart = Hystart::Linux;
            }
            config.undo = flags[2];
            config.quick_acks = quick_acks;
            config.validate_window = flags[3];
            if flags[4] {
                config.rto_variation_min = Span::from_millis(200);
                config.after_idle = AfterIdle::Decay;
            }
            if flags[5] {
                let [least, most] = [40, 200].map(Span::from_millis);
                config.delayed_ack = DelayedAck::Adaptive { least, most };
            }
        }
        config
    })
}

fn config_of_then() -> impl Strategy<Value = Config> {
    let combinations: Vec<_> =
        ALL.into_iter().flat_map(|v| recoveries(v).into_iter().map(move |r| (v, r))).collect();
    let variant = prop::sample::select(combinations);
    let open = prop_oneof![
        2 => Just(Open::Handshake),
        1 => any::<bool>().prop_map(|known| Open::Transactions { known }),
        1 => any::<bool>().prop_map(|known| Open::FastOpen { known })
    ];
    let increase = prop_oneof![
        Just(Increase::One),
        (1.0f64..8.0).prop_map(Increase::By),
        (0.1f64..100.0).prop_map(Increase::ConstantRate)
    ];
    let saved = prop::option::of(
        (1u64..1000, 1_000u64..1_000_000).prop_map(|(ms, cwnd)| Saved { rtt: Span::from_millis(ms), cwnd }),
    );
    let more = (any::<[bool; 11]>(), increase, saved, prop::option::of(1u32..3), 1u32..5, 0u64..20, open);
    let delayed_ack = prop_oneof![
        Just(DelayedAck::None),
        Just(DelayedAck::OneShot(Span::from_millis(200))),
        Just(DelayedAck::Heartbeat(Span::from_millis(200)))
    ];
    let sizes = (300u32..1500, 200u64..100_000, 1u64..11, 1u8..5);
    (variant, any::<[bool; 4]>(), delayed_ack, sizes, more).prop_map(
        |((variant, recovery), flags, delayed_ack, (mss, window, initial, sack_blocks), more)| Config {
            variant,
            recovery,
            open: more.6,
            after_idle: [AfterIdle::Keep, AfterIdle::Restart, AfterIdle::Spread][more.5 as usize % 3],
            ack_congestion: more.4 == 4,
            ecn: more.0[8],
            adaptive_reordering: more.0[0],
            hystart: if more.0[1] { Hystart::Rfc9406 } else { Hystart::Off },
            rate_reduction: more.0[2],
            pacing: more.0[3],
            dsack: more.0[4],
            ack_gap_fillers: more.0[5],
            grow_unused: more.0[6],
            silly_window_avoidance: more.0[9],
            avoid_multiple_fast_retransmits: more.0[10],
            precise_halving: flags[1] ^ flags[2],
            halve_flight: flags[0] ^ flags[3],
            increase: more.1,
            resume: more.2,
            byte_counting: more.3,
            ack_every: more.4,
            overhead: if more.0[7] { Span::from_millis(more.5) } else { Span::ZERO },
            timestamps: flags[0],
            limited_transmit: flags[1],
            burst_after_recovery: flags[2],
            recovery_burst: flags[3].then_some(2),
            delayed_ack,
            mss,
            window,
            initial_window: initial * mss as u64,
            sack_blocks,
            ..Config::default()
        },
    )
}

/// A forged header, by differences from an honest one.
#[derive(Debug, Clone)]
struct Lie {
    flags: u8,
    seq: i64,
    ack: i64,
    window: u16,
    payload: u32,
    timestamps: Option<(u32, u32)>,
    sack: Vec<(i64, i64)>,
    syn_options: bool,
}

fn lie() -> impl Strategy<Value = Lie> {
    let near =
        || prop_oneof![Just(0i64), -3_000i64..3_000, -100_000i64..100_000, any::<i32>().prop_map(i64::from)];
    let payload = prop_oneof![Just(0u32), 1u32..3_000, 0u32..65_000];
    let flags = prop_oneof![3 => Just(0x10u8), 1 => any::<u8>()];
    let sack = prop::collection::vec((near(), near()), 0..4);
    let timestamps = prop::option::of(any::<(u32, u32)>());
    (flags, near(), near(), any::<u16>(), payload, timestamps, sack, any::<bool>()).prop_map(
        |(flags, seq, ack, window, payload, timestamps, sack, syn_options)| Lie {
            flags,
            seq,
            ack,
            window,
            payload,
            timestamps,
            sack,
            syn_options,
        },
    )
}

/// Two ends and a path.
struct Net {
    config: Config,
    path: Path,
    now: Time,
    ends: [Connection; 2],
    initial: [u32; 2],
    bytes: [u64; 2],
    offered: [bool; 2],
    /// True if timers are also called before their time.
    too_early: bool,
    /// In order of arrival, then of sending.
    wire: BTreeMap<(Time, u64), (usize, Packet)>,
    count: [u64; 2],
    sent: Vec<(Time, usize, Packet)>,
    /// Bytes of events of kind Received.
    reported: [u64; 2],
    /// Connected, PeerFinished, Closed, Reset.
    told: [[u32; 4]; 2],
    /// One past the last byte that each end has been allowed to send, as an offset from its initial number.
    edge: [u64; 2],
    /// The peer's shift, from its SYN.
    shift: [u8; 2],
    beyond_window: u64,
    /// Largest amount in flight.
    in_flight: u64,
}

impl Net {
    fn new(config: Config, path: Path, initial: [u32; 2]) -> Self {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let ends = [
            Connection::connect(config.clone(), a, b, initial[0]),
            Connection::listen(config.clone(), b, a, initial[1]),
        ];
        Self {
            config,
            path,
            now: Time::ZERO,
            ends,
            initial,
            bytes: [0; 2],
            offered: [false; 2],
            too_early: false,
            wire: BTreeMap::new(),
            count: [0; 2],
            sent: Vec::new(),
            reported: [0; 2],
            told: [[0; 4]; 2],
            edge: [1; 2],
            shift: [0; 2],
            beyond_window: 0,
            in_flight: 0,
        }
    }

    /// Sets the bytes that each end writes once it is connected; it closes after them.
    fn offer(&mut self, bytes: [u64; 2]) {
        self.bytes = bytes;
        if self.config.open != Open::Handshake {
            // Data for the SYN has to be written before it is sent.
            self.offered[0] = true;
            self.ends[0].write(bytes[0]);
            self.ends[0].shutdown();
        }
        self.drain();
    }

    fn run(&mut self) {
        for _ in 0..400_000 {
            if !self.step() {
                return;
            }
        }
        let states = self.ends.each_ref().map(Connection::state);
        panic!("no end by {}: {states:?}, {:?} reported of {:?}", self.now, self.reported, self.bytes);
    }

    /// The next arrival or timer; false if there is none.
    fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|(key, _)| key.0);
        let timers = self.ends.each_ref().map(Connection::poll_timeout);
        let Some(at) = timers.into_iter().chain([arrival]).flatten().min() else { return false };
        assert!(at >= self.now, "something was due at {at}, and it is {}", self.now);
        if self.too_early {
            let halfway = self.now + at.since(self.now) / 2;
            if halfway < at {
                for end in &mut self.ends {
                    end.handle_timeout(halfway);
                }
                let before = self.sent.len();
                self.now = halfway;
                self.drain();
                assert_eq!(self.sent.len(), before, "a packet at {halfway}, with the next timer at {at}");
            }
        }
        self.now = at;
        if arrival == Some(at) {
            let (_, (to, packet)) = self.wire.pop_first().expect("it is there");
            self.learn_window(to, &packet);
            self.ends[to].handle_packet(at, &packet);
        } else {
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|t| t <= at) {
                    end.handle_timeout(at);
                }
            }
        }
        self.drain();
        true
    }

    fn drain(&mut self) {
        for from in [0, 1] {
            loop {
                while let Some(event) = self.ends[from].poll_event() {
                    self.tell(from, event);
                }
                let Some(packet) = self.ends[from].poll_transmit(self.now) else { break };
                self.carry(from, packet);
            }
        }
    }

    fn tell(&mut self, end: usize, event: Event) {
        match event {
            Event::Connected => {
                self.told[end][0] += 1;
                if !std::mem::replace(&mut self.offered[end], true) {
                    self.ends[end].write(self.bytes[end]);
                    self.ends[end].shutdown();
                }
            }
            Event::Received(n) => {
                self.reported[end] += n;
                self.ends[end].read();
            }
            Event::AllAcknowledged => {}
            Event::PeerFinished => self.told[end][1] += 1,
            Event::Closed => self.told[end][2] += 1,
            Event::Reset => self.told[end][3] += 1,
        }
    }

    fn carry(&mut self, from: usize, packet: Packet) {
        let tcp = tcp(&packet);
        // RFC 1644 §2.3, RFC 7413 §4.2: what goes with a SYN goes before any window is known.
        if packet.payload_len > 0 && !tcp.flags.has(Flags::SYN) {
            let near = self.ends[from].acknowledged() + 1;
            let start = expand(self.initial[from], tcp.seq, near).expect("a number of its own");
            self.beyond_window =
                self.beyond_window.max((start + packet.payload_len as u64).saturating_sub(self.edge[from]));
        }
        self.in_flight = self.in_flight.max(self.ends[from].in_flight());
        let n = self.count[from];
        self.count[from] += 1;
        self.sent.push((self.now, from, packet));
        let Path { delay_ms, pass, late_ms, twice } = &self.path;
        let scrambled = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n << 7) >> 33;
        let of = |len: usize| (if n < len as u64 { n } else { scrambled(n) } % len as u64) as usize;
        if !pass[from][of(pass[from].len())] {
            return;
        }
        let at = self.now + Span::from_millis(delay_ms + late_ms[of(late_ms.len())]);
        let serial = self.sent.len() as u64 * 2;
        self.wire.insert((at, serial), (1 - from, packet));
        if twice[of(twice.len())] {
            self.wire.insert((at + Span::from_millis(*delay_ms), serial + 1), (1 - from, packet));
        }
    }

    /// Records the window received by `to`. Acknowledgments of data never sent do not occur here.
    fn learn_window(&mut self, to: usize, packet: &Packet) {
        let tcp = tcp(packet);
        if tcp.flags.has(Flags::SYN) {
            self.shift[to] = tcp.window_scale.unwrap_or(0);
            let ack = expand(self.initial[to], tcp.ack, 1).filter(|_| tcp.flags.has(Flags::ACK)).unwrap_or(1);
            self.edge[to] = self.edge[to].max(ack + tcp.window as u64);
        } else if tcp.flags.has(Flags::ACK)
            && let Some(ack) = expand(self.initial[to], tcp.ack, self.ends[to].acknowledged() + 1)
        {
            self.edge[to] = self.edge[to].max(ack + ((tcp.window as u64) << self.shift[to]));
        }
    }

    fn deceive(&mut self, to: usize, lie: &Lie) {
        let shifted = |base: u32, by: i64| base.wrapping_add(by as u32);
        let seq = self.initial[1 - to].wrapping_add(1 + self.ends[to].delivered() as u32);
        let ack = self.initial[to].wrapping_add(1 + self.ends[to].acknowledged() as u32);
        let mut sack = SackBlocks::default();
        for &(left, right) in &lie.sack {
            sack.push(shifted(ack, left), shifted(ack, right));
        }
        let header = TcpHeader {
            source_port: 9,
            destination_port: 9,
            seq: shifted(seq, lie.seq),
            ack: shifted(ack, lie.ack),
            flags: Flags(lie.flags),
            window: lie.window,
            mss: lie.syn_options.then_some(lie.window),
            window_scale: lie.syn_options.then_some(lie.payload as u8),
            sack_permitted: lie.syn_options,
            timestamps: lie.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack,
            opening: None,
        };
        let ip = self.sent[0].2.ip;
        let packet = Packet { ip, transport: Transport::Tcp(header), payload_len: lie.payload };
        self.ends[to].handle_packet(self.now, &packet);
        for end in [0, 1] {
            while let Some(event) = self.ends[end].poll_event() {
                self.tell(end, event);
            }
            let mut packets = 0;
            while let Some(packet) = self.ends[end].poll_transmit(self.now) {
                packets += 1;
                assert!(packets <= 2_000, "an endless burst");
                self.count[end] += 1;
                let at = self.now + Span::from_millis(self.path.delay_ms);
                self.sent.push((self.now, end, packet));
                self.wire.insert((at, self.sent.len() as u64 * 2), (1 - end, packet));
            }
        }
    }
}

fn tcp(packet: &Packet) -> TcpHeader {
    let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP: {packet:?}") };
    tcp
}

/// A sender with a remembered window towards a receiver whose window is smaller than a packet, and grows.
#[test]
fn a_window_smaller_than_a_packet_never_halts_a_resumed_transfer() {
    let config = Config {
        variant: Variant::NewReno,
        mss: 481,
        window: 384,
        window_max: 262_144,
        initial_window: 481,
        byte_counting: Some(1),
        grow_unused: true,
        silly_window_avoidance: true,
        sack_blocks: 1,
        delayed_ack: DelayedAck::None,
        ack_every: 1,
        resume: Some(Saved { rtt: Span::from_millis(21), cwnd: 1731 }),
        ..Config::default()
    };
    let path = Path { delay_ms: 1, pass: [vec![true], vec![true]], late_ms: vec![7], twice: vec![false] };
    let mut net = Net::new(config, path, [0, 0]);
    net.offer([0, 1825]);
    net.run();
    assert_eq!(net.ends[0].delivered(), 1825);
}
