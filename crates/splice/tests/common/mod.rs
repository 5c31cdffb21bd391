//! A client, a splice, a server and the two paths between them, in virtual time.
//!
//! Paths lose, delay, duplicate and reorder by lists that are used once in order and then in an irregular order: a fixed period
//! could match a protocol's timers and starve it for ever.

#![allow(dead_code, reason = "each test file uses a part")]

use proptest::prelude::*;
use skyhop_splice::{Close, Config, Event, Protocol, ServerOpening, Side, Splice};
use skyhop_transport::tcp::{self, Connection, DelayedAck, Open, State, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Packet, TcpHeader, Transport};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The impairments of a path.
#[derive(Debug, Clone)]
pub struct Path {
    pub delay_ms: u64,
    /// For packets towards the splice and away from it, true if the packet arrives.
    pub pass: [Vec<bool>; 2],
    /// Additional delay of each packet, ms.
    pub late_ms: Vec<u64>,
    /// True for packets that arrive twice.
    pub twice: Vec<bool>,
}

impl Path {
    pub fn clean(delay_ms: u64) -> Self {
        Self { delay_ms, pass: [vec![true], vec![true]], late_ms: vec![0], twice: vec![false] }
    }
}

pub fn path() -> impl Strategy<Value = Path> {
    let late = prop_oneof![Just(vec![0]), prop::collection::vec(0u64..80, 1..30)];
    let twice = prop_oneof![Just(vec![false]), prop::collection::vec(any::<bool>(), 1..30)];
    (1u64..300, [pass(), pass()], late, twice).prop_map(|(delay_ms, pass, late_ms, twice)| Path {
        delay_ms,
        pass,
        late_ms,
        twice,
    })
}

/// Any pattern of losses in which at least one packet in ten arrives.
fn pass() -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![
        2 => Just(vec![true]),
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

pub fn tcp() -> impl Strategy<Value = tcp::Config> {
    let variant = prop::sample::select(vec![
        Variant::Reno,
        Variant::NewReno,
        Variant::SackNewReno,
        Variant::Sack,
        Variant::Cubic,
        Variant::Bbr,
    ]);
    let delayed_ack = prop_oneof![Just(DelayedAck::None), Just(DelayedAck::OneShot(Span::from_millis(200)))];
    let known = any::<bool>();
    let open = (0..3, known).prop_map(|(kind, known)| match kind {
        0 => Open::Handshake,
        1 => Open::Transactions { known },
        _ => Open::FastOpen { known },
    });
    (variant, delayed_ack, any::<bool>(), 300u32..1500, 2_000u64..60_000, open).prop_map(
        |(variant, delayed_ack, timestamps, mss, window, open)| tcp::Config {
            open,
            variant,
            delayed_ack,
            timestamps,
            mss,
            window,
            // One packet in ten gets through: a longer wait would only make the run longer.
            rto_max: Span::from_secs(4),
            ..tcp::Config::default()
        },
    )
}

pub fn config() -> impl Strategy<Value = Config> {
    let opening =
        prop::sample::select(vec![ServerOpening::Syn, ServerOpening::Data, ServerOpening::EndToEnd]);
    (tcp(), tcp(), 1_500u64..40_000, opening).prop_map(|(client, server, buffer, opening)| Config {
        sides: [Protocol::Tcp(Box::new(client)), Protocol::Tcp(Box::new(server))],
        buffer,
        opening,
        asks: false,
        close: Close::EndToEnd,
        give_up: Span::from_secs(100_000),
    })
}

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// Client, splice, server and paths.
pub struct Net {
    pub now: Time,
    pub ends: [Connection; 2],
    pub splice: Splice,
    pub buffer: u64,
    paths: [Path; 2],
    /// Number of bytes that each end writes before it closes.
    pub bytes: [u64; 2],
    offered: [bool; 2],
    /// Packets on their way: true if to the splice, and the end on whose side.
    wire: BTreeMap<(Time, u64), (usize, bool, Packet)>,
    serial: u64,
    count: [[u64; 2]; 2],
    /// True if a clean close must mean that everything has arrived.
    pub promises_kept: bool,
    /// True if the test itself writes and closes.
    pub writes_itself: bool,
    /// True if bytes may be created on the way.
    pub ends_may_be_beyond: bool,
    /// For each side, true if its path is cut.
    pub cut: [bool; 2],
    /// Every packet: time, side, true if towards the splice, and the packet.
    pub log: Vec<(Time, usize, bool, Packet)>,
    pub told: [Vec<tcp::Event>; 2],
    pub events: Vec<Event>,
    pub moved: [u64; 2],
    pub released: [u64; 2],
}

impl Net {
    pub fn new(ends: [tcp::Config; 2], config: Config, paths: [Path; 2], initial: [u32; 4]) -> Self {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let [client, server] = ends;
        Self {
            now: Time::ZERO,
            ends: [
                Connection::connect(client, a, b, initial[0]),
                Connection::listen(server, b, a, initial[1]),
            ],
            buffer: config.buffer,
            splice: Splice::new(config, [initial[2], initial[3]]),
            paths,
            bytes: [0; 2],
            offered: [false; 2],
            wire: BTreeMap::new(),
            serial: 0,
            count: [[0; 2]; 2],
            promises_kept: true,
            writes_itself: false,
            ends_may_be_beyond: false,
            cut: [false; 2],
            log: Vec::new(),
            told: [Vec::new(), Vec::new()],
            events: Vec::new(),
            moved: [0; 2],
            released: [0; 2],
        }
    }

    pub fn offer(&mut self, bytes: [u64; 2]) {
        self.bytes = bytes;
        self.drain();
    }

    pub fn run(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        let states = self.ends.each_ref().map(Connection::state);
        panic!(
            "no end by {}: {states:?}, {:?} of {:?}",
            self.now,
            self.ends.each_ref().map(|e| e.delivered()),
            self.bytes
        );
    }

    pub fn run_until(&mut self, at: Time) {
        while self.next().is_some_and(|next| next <= at) && self.step() {}
        self.now = self.now.max(at);
    }

    fn next(&self) -> Option<Time> {
        let timers = self.ends.iter().map(Connection::poll_timeout).chain([self.splice.poll_timeout()]);
        timers.chain([self.wire.first_key_value().map(|(key, _)| key.0)]).flatten().min()
    }

    pub fn step(&mut self) -> bool {
        let Some(at) = self.next() else { return false };
        assert!(at >= self.now, "something was due at {at}, and it is {}", self.now);
        self.now = at;
        if self.wire.first_key_value().is_some_and(|(key, _)| key.0 == at) {
            let (_, (end, inwards, packet)) = self.wire.pop_first().expect("it is there");
            match inwards {
                true => self.splice.handle_packet(at, Side::BOTH[end], &packet),
                false => self.ends[end].handle_packet(at, &packet),
            }
        } else {
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|t| t <= at) {
                    end.handle_timeout(at);
                }
            }
            if self.splice.poll_timeout().is_some_and(|t| t <= at) {
                self.splice.handle_timeout(at);
            }
        }
        self.drain();
        self.check();
        true
    }

    /// Checks the invariants.
    fn check(&self) {
        for side in Side::BOTH {
            let held = self.splice.held_from(side);
            assert!(held <= self.buffer, "{held} held of {}", self.buffer);
            if self.writes_itself {
                // Answers of the owner's are released too.
                continue;
            }
            let kept = self.moved[side as usize] - self.released[side as usize];
            assert!(kept <= self.buffer, "{kept} bytes kept of {}", self.buffer);
        }
        for end in [CLIENT, SERVER] {
            let far = self.ends[1 - end].delivered();
            assert!(
                far <= self.bytes[end] || self.ends_may_be_beyond,
                "{far} delivered of {}",
                self.bytes[end]
            );
            // A FIN that is acknowledged says that the far end has it all.
            if self.promises_kept && self.ends[end].fin_acknowledged() {
                assert_eq!(far, self.bytes[end], "a clean close of end {end}");
            }
        }
    }

    pub fn drain(&mut self) {
        for end in [CLIENT, SERVER] {
            let mut burst = 0;
            loop {
                while let Some(event) = self.ends[end].poll_event() {
                    self.ends[end].read();
                    if event == tcp::Event::Connected
                        && !self.writes_itself
                        && !std::mem::replace(&mut self.offered[end], true)
                    {
                        self.ends[end].write(self.bytes[end]);
                        self.ends[end].shutdown();
                    }
                    self.told[end].push(event);
                }
                let Some(packet) = self.ends[end].poll_transmit(self.now) else { break };
                self.carry(end, true, packet);
                burst += 1;
                assert!(burst < 5_000, "an endless burst");
            }
        }
        let mut burst = 0;
        loop {
            while let Some(event) = self.splice.poll_event() {
                match event {
                    Event::Moved { from, bytes } => self.moved[from as usize] += bytes,
                    Event::Released { from, bytes } => self.released[from as usize] += bytes,
                    _ => self.events.push(event),
                }
            }
            let Some((side, packet)) = self.splice.poll_transmit(self.now) else { break };
            self.carry(side as usize, false, packet);
            burst += 1;
            assert!(burst < 5_000, "an endless burst");
        }
    }

    fn carry(&mut self, end: usize, inwards: bool, packet: Packet) {
        let n = self.count[end][inwards as usize];
        self.count[end][inwards as usize] += 1;
        self.log.push((self.now, end, inwards, packet));
        let Path { delay_ms, pass, late_ms, twice } = &self.paths[end];
        let scrambled = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n << 7) >> 33;
        let of = |len: usize| (if n < len as u64 { n } else { scrambled(n) } % len as u64) as usize;
        if self.cut[end] || !pass[inwards as usize][of(pass[inwards as usize].len())] {
            return;
        }
        let at = self.now + Span::from_millis(delay_ms + late_ms[of(late_ms.len())]);
        self.serial += 1;
        self.wire.insert((at, self.serial), (end, inwards, packet));
        if twice[of(twice.len())] {
            self.serial += 1;
            self.wire.insert((at + Span::from_millis(*delay_ms), self.serial), (end, inwards, packet));
        }
    }

    /// Cuts the path of a side: packets on their way and all later ones are lost.
    pub fn cut(&mut self, end: usize) {
        self.cut[end] = true;
        self.wire.retain(|_, (of, ..)| *of != end);
    }

    /// Returns true if an end knows that the connection failed: it was reset, or closed without its FIN acknowledged (RFC 9293
    /// §3.10.7.4 treats a reset in LAST-ACK and CLOSING as the end and not as an error).
    pub fn reset(&self, end: usize) -> bool {
        let unanswered = self.ends[end].state() == State::Closed && !self.ends[end].fin_acknowledged();
        self.told[end].contains(&tcp::Event::Reset) || unanswered
    }

    /// Returns true if any reset was sent.
    pub fn reset_seen(&self) -> bool {
        self.log.iter().any(|(.., p)| header(p).flags.has(Flags::RST))
    }

    /// Returns true if an end has received everything, and knows that the other has.
    pub fn clean(&self, end: usize) -> bool {
        self.ends[end].fin_acknowledged() && self.told[end].contains(&tcp::Event::PeerFinished)
    }

    pub fn states(&self) -> [State; 2] {
        self.ends.each_ref().map(Connection::state)
    }
}

pub fn header(packet: &Packet) -> TcpHeader {
    let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP: {packet:?}") };
    tcp
}

pub fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}
