//! A terminal with a key that breaks each rule, beside a good one: streams with any bytes, resets at any time, packets altered on the way.
//!
//! Follows docs/stp.md §16 for what a stream begins with. Differs from the fuzz targets: a whole hub, over sockets.
//! Longer: `SKYHOP_FUZZ_SECONDS=600 cargo test --release -p skyhop-gateway --test hostile -- --nocapture`.

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

mod common;

use bytes::Bytes;
use common::{Folder, Hub, Terminal, clock, port};
use polling::{Events, Poller};
use skyhop_live::engine::Event;
use skyhop_live::keys::Keys;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_transport::stp::{Class, Reason, TrunkEvent};
use skyhop_units::{Span, Time};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

#[test]
#[ignore = "a program of the other tests"]
fn hub() {
    common::run_hub();
}

/// A stream of numbers (Marsaglia's xorshift), so that a failing run can be repeated.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.next(most)).map(|_| self.next(256) as u8).collect()
    }

    /// The beginning of a stream: any bytes, or a preamble with some of its bytes altered, cut off or added.
    fn beginning(&mut self, echo: SocketAddr) -> Vec<u8> {
        let to = match self.next(6) {
            0 => return self.bytes(700),
            1 => Destination::Address(SocketAddr::from((Ipv4Addr::new(10, 0, 0, self.next(256) as u8), 80))),
            2 => Destination::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, 1 + self.next(9) as u16))),
            3 => Destination::Name("a.invalid".into(), 80),
            _ => Destination::Address(echo),
        };
        let source = (self.next(3) == 0).then(|| SocketAddr::from(([10, 1, 0, 9], 5)));
        let dscp = (self.next(3) == 0).then(|| self.next(64) as u8);
        let mut bytes = Vec::new();
        Preamble { source, dscp, ..Preamble::to(to) }.emit(&mut bytes);
        if self.next(2) == 0 {
            let at = self.next(bytes.len() as u64) as usize;
            bytes[at] = self.next(256) as u8;
        }
        if self.next(8) == 0 {
            bytes.truncate(self.next(bytes.len() as u64) as usize);
        }
        bytes.extend(self.bytes(2000));
        bytes
    }
}

/// Answers each connection with its own bytes.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut stream, mut buffer) = (stream, [0; 4096]);
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                while let Ok(read) = stream.read(&mut buffer)
                    && read > 0
                    && stream.write_all(&buffer[..read]).is_ok()
                {}
            });
        }
    });
    address
}

struct Fuzz {
    poller: Poller,
    terminals: [Terminal; 2],
    hub_at: SocketAddr,
    echo: SocketAddr,
    numbers: Numbers,
    stranger: UdpSocket,
    /// The hostile terminal's streams.
    streams: Vec<u64>,
    opened: u64,
    altered: u64,
    /// Exchanges of the good terminal, and the time of the last.
    echoes: u64,
    echoed_at: Time,
}

impl Fuzz {
    fn step(&mut self, now: impl Fn() -> Time + Copy) {
        let mut events = Events::new();
        self.poller.wait(&mut events, Some(Duration::from_millis(2))).unwrap();
        for event in events.iter() {
            self.terminals[event.key].receive(&now).unwrap();
        }
        for place in [0, 1] {
            let at = now();
            let engine = &mut self.terminals[place].engine;
            if engine.poll_timeout().is_some_and(|due| due <= at) {
                engine.handle_timeout(at);
            }
            self.handle_events(place, at);
            self.terminals[place].send(at).unwrap();
        }
    }

    fn handle_events(&mut self, place: usize, now: Time) {
        let terminal = &mut self.terminals[place];
        while let Some(event) = terminal.engine.poll_event() {
            match event {
                Event::Up { id, .. } => terminal.link = Some(id),
                Event::Down { .. } | Event::Failed { .. } => {
                    (terminal.link, terminal.stream, terminal.lost) = (None, None, true);
                    self.streams.retain(|_| place == 0);
                    let _ = terminal.engine.connect(now, self.hub_at);
                }
                Event::Stream(link, TrunkEvent::Received(id, _)) if place == 0 => {
                    let trunk = terminal.engine.trunk(link).unwrap();
                    while let Some(data) = trunk.read(id, 1 << 16) {
                        let answered = std::mem::replace(&mut terminal.answered, true);
                        let begun = usize::from(!answered);
                        if !answered {
                            assert_eq!(
                                Answer::from_number(data[0]),
                                Answer::Connected,
                                "to the good terminal"
                            );
                        }
                        terminal.received += (data.len() - begun) as u64;
                        assert!(
                            data[begun..].iter().all(|byte| *byte == b'g'),
                            "only its own bytes come back"
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// The good terminal sends and hears a thousand bytes, again and again.
    fn be_good(&mut self, now: Time) {
        let terminal = &mut self.terminals[0];
        let Some(trunk) = terminal.link.and_then(|link| terminal.engine.trunk(link)) else { return };
        match terminal.stream {
            None => {
                let Some(id) = trunk.open(Class::default()) else { return };
                let mut bytes = Vec::new();
                Preamble::to(Destination::Address(self.echo)).emit(&mut bytes);
                bytes.extend([b'g'; 1000]);
                trunk.write(id, bytes.into());
                (terminal.stream, terminal.answered, terminal.received) = (Some(id), false, 0);
            }
            Some(id) if terminal.received == 1000 => {
                trunk.shutdown(id);
                trunk.reset(id, Reason::Aborted);
                (terminal.stream, self.echoes, self.echoed_at) = (None, self.echoes + 1, now);
            }
            Some(_) => {}
        }
    }

    fn be_hostile(&mut self) {
        let (numbers, terminal) = (&mut self.numbers, &mut self.terminals[1]);
        // Any bytes, and a beginning as of a packet of the association.
        if numbers.next(4) == 0 {
            let mut packet = numbers.bytes(1400);
            if let Some(first) = packet.first_mut() {
                *first %= 8;
            }
            self.altered += 1;
            let _ = self.stranger.send_to(&packet, self.hub_at);
        }
        let Some(trunk) = terminal.link.and_then(|link| terminal.engine.trunk(link)) else { return };
        for _ in 0..numbers.next(8) {
            let some = (!self.streams.is_empty()).then(|| numbers.next(self.streams.len() as u64) as usize);
            match (numbers.next(10), some) {
                (0..4, _) => {
                    let class =
                        Class { priority: numbers.next(8) as u8, weight: 1 + numbers.next(255) as u8 };
                    if let Some(id) = trunk.open(class) {
                        trunk.write(id, Bytes::from(numbers.beginning(self.echo)));
                        self.opened += 1;
                        self.streams.push(id);
                    }
                }
                (4, Some(at)) => _ = trunk.write(self.streams[at], Bytes::from(numbers.bytes(20_000))),
                (5, Some(at)) => trunk.shutdown(self.streams[at]),
                (6 | 7, Some(at)) => trunk.reset(self.streams.swap_remove(at), Reason::Aborted),
                (8, Some(at)) => while trunk.read(self.streams[at], 1 << 16).is_some() {},
                (9, _) => {
                    let (channel, data) = (numbers.next(64), Bytes::from(numbers.bytes(1200)));
                    trunk.send_datagram(channel, data, Time::ZERO + Span::from_secs(1 << 30));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_hostile_terminal_neither_ends_the_hub_nor_hinders_others() {
    let seconds = std::env::var("SKYHOP_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let seed =
        std::env::var("SKYHOP_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_124);
    let folder = Folder(std::env::temp_dir().join(format!("skyhop-hostile-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let (poller, now, echo) = (Poller::new().unwrap(), clock(), echo());
    let (hub_keys, hub_public) = Keys::generate_pair();
    hub_keys.write(&folder.0.join("hub.key")).unwrap();
    let hub_at = SocketAddr::from((Ipv4Addr::LOCALHOST, port()));
    let [(good, good_key), (bad, bad_key)] =
        [0, 1].map(|n| Terminal::new(&folder.0, n, hub_public, &poller, now()).unwrap());
    let file = format!(
        "role = \"hub\"\nkey = \"hub.key\"\nlisten = \"{hub_at}\"\nmemory = \"4 MB\"\nconnections = 300\nallow = [\"127.0.0.0/8\"]\n\
         connect_timeout = \"1 s\"\n[terminals.good]\nkey = \"{good_key}\"\n[terminals.bad]\nkey = \"{bad_key}\"\n"
    );
    std::fs::write(folder.0.join("hub.toml"), file).unwrap();
    let mut hub = Hub::start(&folder.0);
    std::thread::sleep(Duration::from_millis(500));
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut fuzz = Fuzz {
        poller,
        terminals: [good, bad],
        hub_at,
        echo,
        numbers: Numbers(seed),
        stranger,
        streams: Vec::new(),
        opened: 0,
        altered: 0,
        echoes: 0,
        echoed_at: now(),
    };
    for terminal in &mut fuzz.terminals {
        assert!(terminal.engine.connect(now(), hub_at).is_some());
    }
    let (begun, mut most) = (Instant::now(), 0);
    // A process that others keep from running has done less in that time, and goes on for a while.
    let enough = |fuzz: &Fuzz| fuzz.opened > 10 * seconds && fuzz.echoes > seconds;
    while begun.elapsed() < Duration::from_secs(seconds)
        || !enough(&fuzz) && begun.elapsed() < Duration::from_secs(seconds + 30)
    {
        fuzz.step(now);
        fuzz.be_good(now());
        fuzz.be_hostile();
        hub.check();
        most = most.max(hub.usage().0);
        let waits = now().since(fuzz.echoed_at);
        assert!(
            waits < Span::from_secs(20),
            "seed {seed}: no echo for {waits:?} after {} of them",
            fuzz.echoes
        );
    }
    let (opened, altered, echoes) = (fuzz.opened, fuzz.altered, fuzz.echoes);
    println!(
        "seed {seed}: {opened} streams, {altered} packets of strangers, {echoes} echoes, hub {:.1} MB",
        most as f64 / 1048576.0
    );
    assert!(!fuzz.terminals[0].lost, "the good association stays");
    assert!(enough(&fuzz), "{opened} {echoes}");
    // The buffers of both associations in both directions, and what a process holds without them.
    assert!(most < 48 << 20, "{most} bytes");
}
