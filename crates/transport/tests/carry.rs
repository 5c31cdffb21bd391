//! Two ends with bytes as payload, over a path that loses, delays, duplicates and corrupts packets, in virtual time.
//!
//! RFC 9293: for any path, the bytes read are the bytes written, each once and in order, and both ends close. Packets are real
//! ones, of IPv4 and IPv6; corruption is detected by the checksum.

use skyhop_chance::{Seed, Stream};
use skyhop_link::{Corruption, Duplication, Fixed, Label, Limit, Link, Loss, Reordering};
use skyhop_transport::tcp::{Carry, Config, DelayedAck, Event, Refused, State, Variant};
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::{Flags, Packet, TcpHeader, Transport, Version, emit_with, parse, parse_with_payload};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Probabilities of the path's effects on packets.
#[derive(Clone, Copy)]
struct Errors {
    lost: f64,
    late: f64,
    doubled: f64,
    corrupted: f64,
}

const CLEAN: Errors = Errors { lost: 0.0, late: 0.0, doubled: 0.0, corrupted: 0.0 };
const ROUGH: Errors = Errors { lost: 0.01, late: 0.01, doubled: 0.01, corrupted: 0.01 };

const MEDIUM: Fixed = Fixed(Span::from_millis(20));

/// One end: the data it has still to write, and the data it has read.
struct End {
    carry: Carry,
    to_write: Vec<u8>,
    read: Vec<u8>,
    /// Closes only after the peer; otherwise as soon as all data are written.
    closes_last: bool,
    /// Largest read, and the interval between reads.
    reads: (usize, Span),
    reads_at: Time,
    /// Numbers of events: connected, peer finished, closed, reset.
    told: [u32; 4],
}

struct World {
    now: Time,
    ends: [End; 2],
    links: [Link<u32>; 2],
    packets: BTreeMap<u32, Vec<u8>>,
    next: u32,
    /// The largest packet of each end.
    largest: [u32; 2],
}

fn bytes(seed: u64, name: &str, count: usize) -> Vec<u8> {
    let mut stream = Seed(seed).stream(name);
    let mut bytes: Vec<u8> = (0..count.div_ceil(8)).flat_map(|_| stream.bits().to_be_bytes()).collect();
    bytes.truncate(count);
    bytes
}

fn address(host: u8, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), port)
}

impl World {
    fn new(config: &Config, errors: Errors, seed: u64, sizes: [usize; 2]) -> Self {
        let mut chance = Seed(seed).stream("initial-sequences");
        let [a, b] = [address(1, 40_000), address(2, 443)];
        // Numbers wrap within the transfer in one run of three.
        let mut first = || (chance.bits() as u32) | if chance.happens(0.3) { 0xffff_0000 } else { 0 };
        let carries =
            [Carry::connect(config.clone(), a, b, first()), Carry::listen(config.clone(), b, a, first())];
        let mut sizes = sizes.into_iter().zip(["there", "back"]);
        let ends = carries.map(|carry| {
            let (size, name) = sizes.next().unwrap();
            End {
                carry,
                to_write: bytes(seed, name, size),
                read: Vec::new(),
                closes_last: false,
                reads: (usize::MAX, Span::ZERO),
                reads_at: Time::ZERO,
                told: [0; 4],
            }
        });
        let links = ["there", "back"].map(|name| {
            let stream = |what: &str| Seed(seed).stream(&format!("{name}/{what}"));
            let loss = Loss::Packets { probability: errors.lost };
            let reordering = Reordering { probability: errors.late, delay: Span::from_millis(7) };
            let duplication = Duplication { probability: errors.doubled, delay: Span::from_millis(3) };
            let corruption = Corruption { probability: errors.corrupted };
            Link::new(Rate::mbit(50), Limit::packets(300), loss, Some(stream("loss")))
                .with_reordering(reordering, stream("reordering"))
                .with_duplication(duplication, stream("duplication"))
                .with_corruption(corruption, stream("corruption"))
        });
        World { now: Time::ZERO, ends, links, packets: BTreeMap::new(), next: 0, largest: [0; 2] }
    }

    fn hold(&mut self, bytes: Vec<u8>) -> u32 {
        self.next += 1;
        self.packets.insert(self.next, bytes);
        self.next
    }

    /// Writes and reads of an end's application.
    fn application(&mut self, side: usize) {
        let now = self.now;
        let end = &mut self.ends[side];
        while let Some(event) = end.carry.poll_event() {
            match event {
                Event::Connected => end.told[0] += 1,
                Event::PeerFinished => end.told[1] += 1,
                Event::Closed => end.told[2] += 1,
                Event::Reset => end.told[3] += 1,
                Event::Received(_) | Event::AllAcknowledged => {}
            }
        }
        if end.reads_at <= now {
            let mut buffer = vec![0; end.reads.0.min(end.carry.readable())];
            let taken = end.carry.read(&mut buffer);
            assert_eq!(taken, buffer.len());
            end.read.extend_from_slice(&buffer);
            end.reads_at = now + end.reads.1;
        }
        let taken = end.carry.write(&end.to_write);
        end.to_write.drain(..taken);
        // A server that shuts down before a client connects stops listening.
        let opened = side == 0 || end.told[0] > 0;
        if opened && end.to_write.is_empty() && (!end.closes_last || end.told[1] > 0) {
            end.carry.shutdown();
        }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            self.application(side);
            let mut out = Vec::new();
            while self.ends[side].carry.transmit(self.now, &mut out) {
                let size = out.len() as u32;
                self.largest[side] = self.largest[side].max(size);
                let id = self.hold(std::mem::take(&mut out));
                if self.links[side].handle_packet(self.now, id, size, Label::default(), &MEDIUM).is_err() {
                    self.packets.remove(&id);
                }
            }
        }
    }

    /// Runs until no event is left.
    fn run(&mut self) {
        self.drain();
        let end_of_time = Time::ZERO + Span::from_secs(3600);
        loop {
            let reads = self.ends.iter().filter(|e| e.carry.readable() > 0).map(|e| e.reads_at);
            let timers = self.ends.iter().filter_map(|end| end.carry.poll_timeout());
            let links = self.links.iter().filter_map(Link::poll_timeout);
            let Some(next) = reads.chain(timers).chain(links).min() else { return };
            assert!(next < end_of_time, "it ends");
            self.now = self.now.max(next);
            for side in 0..2 {
                while let Some(arrival) = self.links[side].poll_arrival(self.now, &MEDIUM) {
                    let mut bytes = self.packets.remove(&arrival.packet).expect("each arrives once");
                    if arrival.duplicated {
                        let copy = self.hold(bytes.clone());
                        self.links[side].duplicate(self.now, &arrival, copy);
                    }
                    match arrival.corrupted {
                        Some(bit) => bit.flip(&mut bytes),
                        None if arrival.lost => continue,
                        None => {}
                    }
                    let _ = self.ends[1 - side].carry.handle_bytes(self.now, &bytes);
                }
                if self.ends[side].carry.poll_timeout().is_some_and(|at| at <= self.now) {
                    self.ends[side].carry.handle_timeout(self.now);
                }
            }
            self.drain();
        }
    }

    /// Asserts that all data arrived as written, and both ends are closed.
    fn check(&self, seed: u64, sizes: [usize; 2]) {
        assert!(self.largest.iter().all(|size| *size <= 1500), "{:?}", self.largest);
        for (side, name) in [(0, "back"), (1, "there")] {
            let end = &self.ends[side];
            let expected = bytes(seed, name, sizes[1 - side]);
            let differs = end.read.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!((end.read.len(), differs), (expected.len(), None), "seed {seed}, end {side}");
            assert_eq!(end.carry.machine().state(), State::Closed, "seed {seed}, end {side}");
            assert_eq!(end.told, [1, 1, 1, 0], "seed {seed}, end {side}");
        }
    }
}

/// Configurations of a current host, and of one of 1999.
fn configs() -> [Config; 3] {
    let current = Config {
        variant: Variant::Cubic,
        timestamps: true,
        dsack: true,
        window: 1_000_000,
        window_max: 6_000_000,
        initial_window: 14_600,
        limited_transmit: true,
        delayed_ack: DelayedAck::Adaptive { least: Span::from_millis(40), most: Span::from_millis(200) },
        rto_min: Span::from_millis(200),
        ..Config::default()
    };
    // A window of 30 kB, which has to close.
    let narrow = Config { window: 30_000, variant: Variant::Reno, ..Config::default() };
    [current, Config::default(), narrow]
}

#[test]
fn ten_megabytes_arrive_as_they_were_written() {
    for (version, seed) in [(Version::V4, 1), (Version::V6, 2), (Version::V4, 3), (Version::V6, 4)] {
        let config = Config { ip: version, mss: 1480 - version.header_len(), ..configs()[0].clone() };
        let sizes = [10_000_000, 500_000];
        let mut world = World::new(&config, ROUGH, seed, sizes);
        world.run();
        world.check(seed, sizes);
        let forward = world.links[0].stats();
        let refused = world.ends[1].carry.refused();
        println!("seed {seed}, {version:?}: {:.1} s, {forward:?}, {refused:?}", world.now.as_secs_f64());
        // About 1 % of at least 7000 packets for each effect.
        for count in [forward.packets_corrupted, forward.packets_duplicated, forward.packets_lost / 2] {
            let share = count as f64 / forward.packets as f64;
            assert!((0.006..0.014).contains(&share), "{share}");
        }
        // The checksum of IPv4 covers every bit of a packet; that of IPv6 excludes traffic class, label and hop limit.
        let Refused { corrupt, malformed, unsupported, strays } = refused;
        let noticed = corrupt + malformed + unsupported;
        let least = if version == Version::V4 {
            forward.packets_corrupted
        } else {
            forward.packets_corrupted * 9 / 10
        };
        assert!((least..=forward.packets_corrupted).contains(&noticed), "{refused:?}");
        assert_eq!(strays, 0);
    }
}

// RFC 6691: options take their room from the data, so that no packet is larger than what the peer has announced and 40 bytes.
#[test]
fn options_beside_data_have_their_room() {
    let config = &configs()[0];
    let sizes = [400_000, 400_000];
    let mut world = World::new(config, Errors { lost: 0.03, ..CLEAN }, 11, sizes);
    let narrow = Config { mss: 1000, ..config.clone() };
    world.ends[1].carry = Carry::listen(narrow, address(2, 443), address(1, 40_000), 99);
    world.run();
    world.check(11, sizes);
    assert_eq!(world.largest, [1040; 2]);
}

#[test]
fn a_thousand_small_transfers_arrive_as_they_were_written() {
    let mut refused = 0;
    for seed in 0..1000 {
        let mut chance = Seed(seed).stream("test");
        let mut pick = |most: u64| ((u128::from(chance.bits()) * u128::from(most)) >> 64) as u64;
        let config = configs()[pick(3) as usize].clone();
        let version = [Version::V4, Version::V6][pick(2) as usize];
        let config = Config { ip: version, mss: 1480 - version.header_len(), ..config };
        let errors = Errors { lost: 0.05, late: 0.1, doubled: 0.1, corrupted: 0.05 };
        let sizes = [pick(60_000) as usize, pick(60_000) as usize];
        let mut world = World::new(&config, errors, seed, sizes);
        for end in &mut world.ends {
            end.reads = (1 + pick(5_000) as usize, Span::from_millis(pick(20)));
        }
        // Half of them close in turn, the others at once.
        world.ends[1].closes_last = pick(2) == 0;
        world.run();
        world.check(seed, sizes);
        refused += world.ends.iter().map(|end| end.carry.refused().corrupt).sum::<u64>();
    }
    assert!((1000..10_000).contains(&refused), "{refused}");
}

#[test]
fn a_written_buffer_is_bounded_and_empties_as_it_is_acknowledged() {
    let client = || Carry::connect(Config::default(), address(1, 40_000), address(2, 443), 7);
    let mut carry = client().with_capacity(10_000);
    assert_eq!((carry.writable(), carry.write(&[1; 12_000])), (10_000, 10_000));
    assert_eq!((carry.writable(), carry.write(&[1])), (0, 0));
    carry.stop_writing();
    assert_eq!((carry.writable(), carry.write(&[1])), (0, 0), "behind a FIN there is nothing");
    let sizes = [300_000, 0];
    let mut world = World::new(&configs()[0], CLEAN, 5, sizes);
    world.ends[0].carry = client().with_capacity(10_000);
    world.run();
    world.check(5, sizes);
}

/// Two ends that are connected over a path without errors, before any write.
fn connected(config: &Config) -> World {
    let mut world = World::new(config, CLEAN, 9, [0, 0]);
    for end in &mut world.ends {
        end.closes_last = true;
    }
    world.run();
    assert_eq!(world.ends.each_ref().map(|end| end.carry.machine().state()), [State::Established; 2]);
    world
}

#[test]
fn ends_close_in_either_order_and_together() {
    // The end that shuts down first; both at once is the simultaneous close of RFC 9293 §3.6.
    for first in [vec![0], vec![1], vec![0, 1]] {
        let mut world = connected(&configs()[0]);
        for side in &first {
            world.ends[*side].closes_last = false;
        }
        world.run();
        world.check(9, [0, 0]);
    }
}

#[test]
fn one_direction_goes_on_when_the_other_is_closed() {
    let mut world = connected(&configs()[0]);
    world.ends[0].closes_last = false;
    world.ends[1].to_write = bytes(9, "late", 0);
    world.drain();
    // The client has closed; the server continues to write.
    world.ends[1].closes_last = true;
    world.ends[1].to_write = bytes(9, "back", 400_000);
    world.run();
    world.check(9, [0, 400_000]);
}

#[test]
fn a_reset_ends_both() {
    let mut world = connected(&configs()[0]);
    world.ends[1].carry.write(&[7; 5000]);
    world.ends[1].carry.reset();
    assert_eq!((world.ends[1].carry.write(&[7]), world.ends[1].carry.writable()), (0, 0));
    world.run();
    assert_eq!(world.ends.each_ref().map(|end| end.carry.machine().state()), [State::Closed; 2]);
    assert_eq!(world.ends[0].told, [1, 0, 0, 1]);
}

#[test]
fn an_end_takes_its_addresses_from_the_syn_that_opens_it() {
    let config = Config { ip: Version::V6, ..configs()[0].clone() };
    let mut client = Carry::connect(config.clone(), address(1, 40_000), address(2, 443), 7);
    let mut bytes = Vec::new();
    assert!(client.transmit(Time::ZERO, &mut bytes));
    let syn = parse(&bytes).unwrap();
    let mut server = Carry::accept(configs()[0].clone(), &syn, 99).expect("a SYN");
    server.handle_bytes(Time::ZERO, &bytes).unwrap();
    bytes.clear();
    assert!(server.transmit(Time::ZERO, &mut bytes));
    let answer = parse(&bytes).unwrap();
    assert_eq!(answer.ip.version, Version::V6);
    assert!(Carry::accept(config, &answer, 1).is_none(), "an answer opens nothing");
    client.handle_bytes(Time::ZERO, &bytes).unwrap();
    assert_eq!(client.machine().state(), State::Established);
    // A packet of another port, and one with a wrong checksum.
    let Transport::Tcp(tcp) = &answer.transport else { panic!("TCP") };
    let stray = Packet { transport: Transport::Tcp(TcpHeader { source_port: 80, ..*tcp }), ..answer };
    client.handle_packet(Time::ZERO, &stray, &[]);
    bytes[50] ^= 1;
    client.handle_bytes(Time::ZERO, &bytes).unwrap_err();
    client.handle_bytes(Time::ZERO, &[]).unwrap_err();
    client.handle_bytes(Time::ZERO, &[0x45; 70_000]).unwrap_err();
    let Refused { corrupt, strays, .. } = client.refused();
    assert_eq!(strays, 1);
    assert!(corrupt >= 1, "{:?}", client.refused());
}

/// A connected server, and a segment for it with `payload` at this offset from the stream's beginning.
fn server() -> (Carry, impl Fn(i64, &[u8], Flags) -> Vec<u8>) {
    let config = Config { window: 5000, ..Config::default() };
    let (client, server) = (address(1, 40_000), address(2, 443));
    let base = Packet {
        ip: skyhop_wire::Ip {
            identification: 1,
            ..skyhop_wire::Ip::new(Version::V4, *client.ip(), *server.ip())
        },
        transport: Transport::Tcp(TcpHeader::default()),
        payload_len: 0,
    };
    let segment = move |at: i64, payload: &[u8], flags: Flags| {
        let (acknowledges, opens) = (flags.has(Flags::ACK), flags.has(Flags::SYN));
        let tcp = TcpHeader {
            source_port: 40_000,
            destination_port: 443,
            seq: (0xffff_fff0 + i64::from(!opens) + at) as u32,
            ack: if acknowledges { 1001 } else { 0 },
            flags,
            window: 60_000,
            mss: opens.then_some(1460),
            ..TcpHeader::default()
        };
        let packet = Packet { transport: Transport::Tcp(tcp), payload_len: payload.len() as u32, ..base };
        let mut bytes = Vec::new();
        emit_with(&packet, payload, usize::MAX, &mut bytes);
        bytes
    };
    let mut carry = Carry::listen(config, server, client, 1000);
    let mut out = Vec::new();
    for bytes in [segment(0, &[], Flags::SYN), segment(0, &[], Flags::ACK)] {
        carry.handle_bytes(Time::ZERO, &bytes).unwrap();
        while carry.transmit(Time::ZERO, &mut out) {}
    }
    assert_eq!(carry.machine().state(), State::Established);
    (carry, segment)
}

fn read_all(carry: &mut Carry) -> Vec<u8> {
    let mut bytes = vec![0; carry.readable()];
    let taken = carry.read(&mut bytes);
    assert_eq!(taken, bytes.len());
    bytes
}

#[test]
fn of_bytes_that_differ_the_first_to_arrive_count() {
    let (mut carry, segment) = server();
    // Two pieces behind a gap, then one over both, then the beginning, which overlaps them too.
    for (at, value, len) in [(20, 1, 10), (50, 2, 10), (15, 3, 60), (0, 4, 40), (0, 5, 75), (70, 6, 10)] {
        let payload = vec![value; len];
        carry.handle_bytes(Time::ZERO, &segment(at, &payload, Flags::ACK)).unwrap();
    }
    let runs = [(4, 15), (3, 5), (1, 10), (3, 20), (2, 10), (3, 15), (6, 5)];
    let expected: Vec<u8> = runs.into_iter().flat_map(|(value, len)| vec![value; len]).collect();
    assert_eq!(read_all(&mut carry), expected);
    // Data already read are not delivered again.
    carry.handle_bytes(Time::ZERO, &segment(0, &[9; 90], Flags::ACK)).unwrap();
    assert_eq!(read_all(&mut carry), [9; 10]);
}

#[test]
fn what_lies_outside_the_window_or_is_not_taken_is_not_kept() {
    let (mut carry, segment) = server();
    // The window is 5000: the part of a segment beyond it is sent again later, possibly with other data.
    carry.handle_bytes(Time::ZERO, &segment(4_000, &[1; 1400], Flags::ACK)).unwrap();
    carry.handle_bytes(Time::ZERO, &segment(9_000, &[2; 1400], Flags::ACK)).unwrap();
    // A segment with an acknowledgment of data never sent is discarded (RFC 5961 §5).
    let mut liar = segment(0, &[3; 1000], Flags::ACK);
    let (packet, payload) = parse_with_payload(&liar).unwrap();
    let Transport::Tcp(tcp) = packet.transport else { panic!("TCP") };
    let lie = Packet { transport: Transport::Tcp(TcpHeader { ack: 77_777, ..tcp }), ..packet };
    carry.handle_packet(Time::ZERO, &lie, payload);
    assert_eq!(carry.readable(), 0);
    for at in [0, 1000, 2000, 3000] {
        liar = segment(at, &[4; 1000], Flags::ACK);
        carry.handle_bytes(Time::ZERO, &liar).unwrap();
    }
    assert_eq!(read_all(&mut carry), [[4; 4000].as_slice(), &[1; 1000]].concat());
    let mut out = Vec::new();
    while carry.transmit(Time::ZERO, &mut out) {}
    carry.handle_bytes(Time::ZERO, &segment(5_000, &[5; 400], Flags::ACK | Flags::FIN)).unwrap();
    assert_eq!(read_all(&mut carry), [5; 400]);
    assert_eq!(carry.machine().state(), State::CloseWait);
}

#[test]
fn data_behind_a_fin_is_not_read() {
    let (mut carry, segment) = server();
    carry.handle_bytes(Time::ZERO, &segment(30, &[1; 10], Flags::ACK)).unwrap();
    carry.handle_bytes(Time::ZERO, &segment(20, &[2; 5], Flags::ACK | Flags::FIN)).unwrap();
    carry.handle_bytes(Time::ZERO, &segment(20, &[3; 20], Flags::ACK)).unwrap();
    carry.handle_bytes(Time::ZERO, &segment(0, &[4; 20], Flags::ACK)).unwrap();
    assert_eq!(read_all(&mut carry), [[4; 20].as_slice(), &[2; 5]].concat());
    assert_eq!(carry.machine().state(), State::CloseWait);
}

/// The next packet sent by an end, and its payload.
fn sent(carry: &mut Carry, now: Time) -> Option<(Packet, Vec<u8>)> {
    let segment = carry.poll_transmit(now)?;
    let payload = carry.payload(&segment).to_vec();
    let mut bytes = Vec::new();
    emit_with(&segment.packet, &payload, usize::MAX, &mut bytes);
    let (packet, read) = parse_with_payload(&bytes).expect("its sums are right");
    assert_eq!((packet, read), (segment.packet, payload.as_slice()));
    Some((packet, payload))
}

#[test]
fn what_is_sent_again_is_what_was_sent() {
    let (mut carry, segment) = server();
    let written: Vec<u8> = (0..2000).map(|n| (n % 251) as u8).collect();
    assert_eq!(carry.write(&written), 2000);
    let now = Time::ZERO + Span::from_millis(1);
    let first: Vec<u8> = std::iter::from_fn(|| sent(&mut carry, now)).flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(first, written);
    let later = carry.poll_timeout().expect("a timeout");
    carry.handle_timeout(later);
    let (_, again) = sent(&mut carry, later).expect("it is sent again");
    assert_eq!(again, written[..again.len()]);
    assert!(again.len() > 500);
    // Padding after a packet is not part of it.
    let mut padded = segment(0, &[8; 3], Flags::ACK);
    padded.extend_from_slice(&[0xff; 7]);
    carry.handle_bytes(later, &padded).unwrap();
    assert_eq!(read_all(&mut carry), [8; 3]);
}

/// Separate streams, so that an additional test does not change the draws of others.
#[test]
fn seeds_make_other_paths() {
    let draw = |seed: u64| -> Vec<u64> {
        let mut stream: Stream = Seed(seed).stream("there/duplication");
        (0..4).map(|_| stream.bits()).collect()
    };
    assert_ne!(draw(1), draw(2));
}
