//! Guests who have the key and send anything: what they should, altered, cut, twice, in another order, under good seals.
//!
//! Follows docs/stp.md; connections of version 1 go to a host with a socket, streams of version 2 to an engine.
//! Differs from `fuzz/`, whose cases are looked for: here they are drawn, as long as SKYHOP_FUZZ_SECONDS says (1 s each by default).
//! Leaves out keyless packets, which `strangers` and `associations` have.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

#[path = "common/heap.rs"]
mod heap;
#[path = "common/two.rs"]
mod two;

use bytes::Bytes;
use heap::Heap;
use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::batch::Batch;
use skyhop_live::engine::{self, Engine};
use skyhop_live::keys::Keys;
use skyhop_live::seal::HEADER_LEN;
use skyhop_live::{Endpoint, Options, Security, StpStream};
use skyhop_transport::stp::{self, Budgets, Ends, Trunk, TrunkEvent};
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use skyhop_wire::stp::{emit, parse};
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn duration() -> Duration {
    let seconds = std::env::var("SKYHOP_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Time for what takes less than the duration, of a process that others keep from running.
const PATIENCE: Duration = Duration::from_secs(60);

static ALONE: Mutex<()> = Mutex::new(());

/// Random numbers of a seed; what matters is that they are the same each time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn number(&mut self) -> u8 {
        [0, 1, 2, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff, self.below(256) as u8][self.below(10)]
    }
}

/// A packet of STP altered in a few places, its checksum right most of the time.
fn alter(draws: &mut Draws, packet: &mut Vec<u8>) {
    match draws.below(8) {
        0 => return,
        1 => packet.truncate(12 + draws.below(packet.len())),
        2 => {
            // A larger piece of it once more.
            let at = draws.below(packet.len());
            let piece = packet[at..].to_vec();
            packet.extend(piece);
            packet.truncate(1400);
        }
        _ => {}
    }
    for _ in 0..draws.below(4) {
        // The first bytes say most: the header, and the frame's head.
        let span = if draws.one_in(2) { 40 } else { packet.len() };
        let at = draws.below(span.min(packet.len()));
        packet[at] = draws.number();
    }
    if packet.len() >= 12 && !draws.one_in(50) {
        packet[8..10].fill(0);
        let mut sum: u32 =
            packet.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        packet[8..10].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn options(keys: &Keys) -> Options {
    Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))))
}

/// An association of the guest's own, over a socket.
struct Guest {
    socket: UdpSocket,
    associations: Associations,
    id: u32,
    begin: Instant,
}

impl Guest {
    fn open(keys: &Keys, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        socket.connect(server).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let begin = Instant::now();
        let start = Time::ZERO + Span::from_secs(1);
        let mut associations = Associations::new(start, Config::new(keys.clone()), two::seeded("guest"));
        let id = associations.connect(start, server).unwrap();
        let mut guest = Guest { socket, associations, id, begin };
        for _ in 0..100 {
            let now = guest.now();
            guest.associations.handle_timeout(now);
            guest.flush();
            guest.read();
            if let Some(Event::Opened { .. }) = guest.associations.poll_event() {
                guest.socket.set_nonblocking(true).unwrap();
                return guest;
            }
        }
        panic!("no association");
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_secs(1) + Span::from_nanos(self.begin.elapsed().as_nanos() as u64)
    }

    fn flush(&mut self) {
        while let Some((_, packet)) = self.associations.poll_transmit() {
            let _ = self.socket.send(&packet);
        }
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 2000];
        let len = self.socket.recv(&mut buffer).ok()?;
        let (now, server) = (self.now(), self.socket.peer_addr().unwrap());
        let (_, contents) = self.associations.handle_datagram(now, server, &mut buffer[..len])?;
        Some(buffer[contents].to_vec())
    }

    fn send(&mut self, packet: &[u8]) {
        let mut sealed = vec![0; HEADER_LEN];
        sealed.extend_from_slice(packet);
        let Some(association) = self.associations.get_mut(self.id) else { return };
        association.seal(&mut sealed, 0);
        let _ = self.socket.send(&sealed);
    }
}

/// Answers what it reads, on up to eight threads; ends what is silent for two seconds.
fn echo(endpoint: &Endpoint, end: &AtomicBool) {
    let listener = endpoint.listen();
    std::thread::scope(|scope| {
        let mut threads: Vec<std::thread::ScopedJoinHandle<'_, ()>> = Vec::new();
        while !end.load(Ordering::Relaxed) {
            threads.retain(|thread| !thread.is_finished());
            if threads.len() >= 8 {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            let Ok((mut stream, _)) = listener.accept_timeout(Duration::from_millis(20)) else { continue };
            threads.push(scope.spawn(move || {
                stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
                let mut buffer = vec![0; 10_000];
                while let Ok(len @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..len]).is_err() {
                        break;
                    }
                }
            }));
        }
    });
}

#[test]
fn a_guest_s_connections_do_no_harm_whatever_they_say() {
    let _alone = ALONE.lock().unwrap_or_else(|p| p.into_inner());
    let keys = Keys::generate_shared();
    let mut host = options(&keys);
    (host.memory, host.stp.linger) = (16 << 20, Span::from_millis(50));
    let endpoint = Arc::new(Endpoint::bind(([127, 0, 0, 1], 0).into(), host).unwrap());
    let (server, end) = (endpoint.local_addr(), Arc::new(AtomicBool::new(false)));
    let (host, ended) = (endpoint.clone(), end.clone());
    let serving = std::thread::spawn(move || echo(&host, &ended));
    let (mut draws, mut guest, mut most, mut packets) = (Draws(3), Guest::open(&keys, server), 0, 0_u64);
    let (heap, begin) = (Heap::now(), Instant::now());
    while begin.elapsed() < duration() || packets <= 1000 && begin.elapsed() < PATIENCE {
        // A connection of some data, which is good but for what is altered on its way out.
        let ends = Ends {
            local_port: draws.below(65_536) as u16 | 0x8000,
            remote_port: server.port(),
            instance: draws.below(3) as u16,
            count: draws.below(1 << 20) as u32,
        };
        let mut machine = stp::Connection::connect(stp::Config::default(), ends, draws.below(1 << 24) as u32);
        machine.write(Bytes::from(vec![7; draws.below(50_000)]));
        if draws.one_in(3) {
            machine.shutdown();
        }
        for _ in 0..draws.below(40) {
            let now = guest.now();
            machine.handle_timeout(now);
            for _ in 0..8 {
                let Some(packet) = machine.poll_transmit(now) else { break };
                let mut bytes = Vec::new();
                emit(&packet, &mut bytes);
                alter(&mut draws, &mut bytes);
                guest.send(&bytes);
                packets += 1;
                if draws.one_in(10) {
                    guest.send(&bytes);
                }
            }
            while let Some(answer) = guest.read() {
                if let Ok(packet) = parse(&answer)
                    && !draws.one_in(5)
                {
                    machine.handle_packet(now, &packet.map(Bytes::copy_from_slice));
                }
            }
            guest.associations.handle_timeout(now);
            guest.flush();
        }
        most = most.max(endpoint.memory());
        if guest.associations.is_empty() {
            guest = Guest::open(&keys, server);
        }
    }
    let grown = heap.peak_growth() as u64;
    println!("{packets} packets; at most {} kB held, heap {} kB", most >> 10, grown >> 10);
    assert!(packets > 1000 && most <= 16 << 20 && grown < 64 << 20, "{packets}, {most}, {grown}");
    // Who behaves is served.
    let began = Instant::now();
    let served = || -> std::io::Result<()> {
        let mut stream = StpStream::connect(server, options(&keys))?;
        stream.write_all(b"still there?")?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.read_exact(&mut [0; 12])
    };
    // The listener's backlog may be full of a guest's connections, until they are accepted.
    while let Err(why) = served() {
        assert!(began.elapsed() < PATIENCE, "{why}");
        std::thread::sleep(Duration::from_millis(50));
    }
    end.store(true, Ordering::Relaxed);
    serving.join().unwrap();
}

/// The victim's streams are read and answered; the guest's trunk is good but for what is altered.
#[test]
fn a_guest_s_streams_do_no_harm_whatever_they_say() {
    let _alone = ALONE.lock().unwrap_or_else(|p| p.into_inner());
    let keys = Keys::generate_shared();
    let budgets =
        Budgets { streams: 100, stream_window: 256 << 10, first_window: 32 << 10, ..Budgets::default() };
    let window = 4 << 20;
    let mut config = engine::Config::new(keys.clone());
    (config.associations.accepts, config.budgets, config.stp.window) = (true, budgets, window);
    let mut now = Time::ZERO + Span::from_secs(1000);
    let mut victim = Engine::new(now, config, two::seeded("victim"));
    let (here, there) = (two::client(), two::server());
    let (mut draws, mut batch, begin, heap) = (Draws(5), Batch::new(1), Instant::now(), Heap::now());
    let (mut packets, mut lives, mut most) = (0_u64, 0_u64, 0);
    while begin.elapsed() < duration() || packets <= 1000 && begin.elapsed() < PATIENCE {
        lives += 1;
        let mut guest = Associations::new(now, Config::new(keys.clone()), two::seeded(&format!("{lives}")));
        let id = guest.connect(now, there).unwrap();
        let ends = Ends {
            local_port: 57_824,
            remote_port: 57_824,
            instance: draws.below(65_536) as u16,
            count: lives as u32,
        };
        let first = draws.below(1 << 24) as u32;
        let mut trunk = Trunk::<Bytes>::connect(stp::Config::default(), Budgets::default(), ends, first);
        let mut streams = Vec::new();
        for round in 0..200 {
            now += Span::from_millis(draws.below(50) as u64);
            guest.handle_timeout(now);
            trunk.handle_timeout(now);
            victim.handle_timeout(now);
            if draws.one_in(3) {
                streams.extend(trunk.open(Default::default()));
            }
            for _ in 0..draws.below(4) {
                let Some(&stream) = streams.get(draws.below(streams.len())) else { break };
                match draws.below(8) {
                    0 => trunk.shutdown(stream),
                    1 => trunk.reset(stream, skyhop_wire::stp::Reason::Aborted),
                    2 => {
                        _ = trunk.send_datagram(
                            3,
                            Bytes::from(vec![1; draws.below(500) + 1]),
                            now + Span::from_secs(1),
                        )
                    }
                    _ => _ = trunk.write(stream, Bytes::from(vec![7; draws.below(20_000)])),
                }
            }
            let mut out = Vec::new();
            while let Some((_, packet)) = guest.poll_transmit() {
                out.push(packet);
            }
            if guest.get_mut(id).is_some() {
                for _ in 0..16 {
                    let Some(packet) = trunk.poll_transmit(now) else { break };
                    let mut bytes = Vec::new();
                    emit(&packet, &mut bytes);
                    // The beginning is let through, so that there are streams to be hurt.
                    if round > 3 {
                        alter(&mut draws, &mut bytes);
                    }
                    let mut sealed = vec![0; HEADER_LEN];
                    sealed.extend(bytes);
                    guest.get_mut(id).unwrap().seal(&mut sealed, 0);
                    out.push(sealed);
                    packets += 1;
                }
            }
            for mut packet in out {
                victim.handle_datagram(now, (here, None, Ecn::NotCapable), &mut packet);
            }
            loop {
                let more = victim.fill(now, &mut batch);
                while let Some(part) = batch.next().copied() {
                    let mut packet = batch.buffer[part.start..part.end].to_vec();
                    batch.advance();
                    let Some((_, contents)) = guest.handle_datagram(now, there, &mut packet) else {
                        continue;
                    };
                    let Ok(packet) = parse(&packet[contents]) else { continue };
                    let whole = packet.data.map(Bytes::copy_from_slice).unwrap_or_default();
                    let Ok(frames) = stp::Frames::parse(&whole) else { continue };
                    let frames = frames.map(|data| whole.slice_ref(data));
                    if !draws.one_in(8) {
                        trunk.handle_packet(now, &packet.map(|_| frames.clone()));
                    }
                }
                if !more {
                    break;
                }
            }
            while let Some(event) = victim.poll_event() {
                if let engine::Event::Stream(id, TrunkEvent::Received(stream, _)) = event
                    && let Some(trunk) = victim.trunk(id)
                    && !draws.one_in(4)
                {
                    while let Some(data) = trunk.read(stream, usize::MAX) {
                        let _ = trunk.write(stream, data.slice(..data.len().min(100)));
                    }
                }
            }
            let held = victim.links().map(|(_, link)| link.trunk.held_bytes()).max().unwrap_or(0);
            most = most.max(held);
            assert!(held <= window, "{held} bytes held");
        }
        while guest.poll_event().is_some() || trunk.poll_event().is_some() {}
        now += Span::from_secs(200);
        victim.handle_timeout(now);
    }
    let grown = heap.peak_growth() as u64;
    println!(
        "{packets} packets in {lives} associations; at most {} kB held, heap {} kB",
        most >> 10,
        grown >> 10
    );
    assert!(packets > 1000 && most > 10_000 && grown < 256 << 20, "{packets}, {most}, {grown}");
}
