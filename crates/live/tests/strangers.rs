//! Attacks with real packets, by those who have no key and by those who have one, beside a client that wants nothing but to be served.
//!
//! Follows the attacks that were once tried on this protocol with success; docs/stp-hosts.md lists them.
//! Differs from `endings`, which drives the same machines without sockets: here an attacker has addresses, and memory is counted.
//! Leaves out the command, whose places and files are `skyhop-cli`'s (`stp_strangers`).

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

#[path = "common/heap.rs"]
mod heap;
#[path = "common/hosts.rs"]
mod hosts;

use heap::Heap;
use hosts::{alone, any, options};
use skyhop_live::handshake::{RefusalReason, kind, refusal_packet};
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security, StpListener, StpStream};
use skyhop_wire::stp as wire;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn kinds() -> [Option<Keys>; 2] {
    [Some(Keys::generate_shared()), None]
}

/// A BGN with data and a POLL of a client that it names by its ports, its instance and its count.
fn bgn(to: SocketAddr, port: u16, instance: u16, count: u32, data: &[u8]) -> Vec<u8> {
    let begin = wire::Begin {
        version: wire::VERSION,
        features: Default::default(),
        max_payload: 1400,
        first: 1,
        credit: 50_000,
        count,
    };
    let packet = wire::Packet::<bytes::Bytes> {
        source_port: port,
        destination_port: to.port(),
        instance,
        seq: 1,
        poll: Some(1),
        data: (!data.is_empty()).then(|| bytes::Bytes::copy_from_slice(data)),
        control: Some(Box::new(wire::Control { begin: Some(begin), ..Default::default() })),
    };
    let mut bytes = Vec::new();
    wire::emit(&packet, &mut bytes);
    bytes
}

/// A server that answers every first byte with as much data as it may write, on up to 64 threads, as `skyhop stp serve` does.
struct Server {
    endpoint: Arc<Endpoint>,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn start(options: Options) -> Self {
        let endpoint = Arc::new(Endpoint::bind(any(), options).unwrap());
        let listener = endpoint.listen();
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let thread = thread::spawn(move || serve(&listener, &ended));
        Server { endpoint, end, thread: Some(thread) }
    }

    fn address(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let done = self.thread.take().unwrap().join();
        assert!(done.is_ok() || thread::panicking());
    }
}

fn serve(listener: &StpListener, end: &AtomicBool) {
    thread::scope(|scope| {
        let mut threads = Vec::new();
        while !end.load(Ordering::Relaxed) {
            threads.retain(|thread: &thread::ScopedJoinHandle<'_, ()>| !thread.is_finished());
            if threads.len() >= 64 {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let Ok((stream, _)) = listener.accept_timeout(Duration::from_millis(20)) else { continue };
            threads.push(scope.spawn(move || give(stream, end)));
        }
    });
}

/// Waits for a request of one byte, and gives data without an end, until nobody takes any for two seconds.
fn give(mut stream: StpStream, end: &AtomicBool) {
    let block = vec![7; 64 << 10];
    // In waits of 50 ms: a process that is not run for two seconds has missed one of them.
    let mut idle = 0;
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut asked = false;
    while !end.load(Ordering::Relaxed) && idle < 40 {
        let done = if asked { stream.write(&block) } else { stream.read(&mut [0]) };
        match done {
            Ok(0) => return,
            Ok(_) => (asked, idle) = (true, 0),
            Err(e) if e.kind() == ErrorKind::TimedOut && e.to_string() == skyhop_live::NOTHING_HAPPENED => {
                idle += 1
            }
            Err(_) => return,
        }
    }
}

/// A client's time until it is connected, and until it has a megabyte.
fn good_client(server: SocketAddr, keys: Option<&Keys>) -> (Duration, Duration) {
    try_client(server, keys).unwrap()
}

fn try_client(server: SocketAddr, keys: Option<&Keys>) -> std::io::Result<(Duration, Duration)> {
    let begin = Instant::now();
    let mut stream = StpStream::connect(server, options(keys))?;
    stream.write_all(b"?")?;
    stream.wait_connected(Some(PATIENCE))?;
    let connected = begin.elapsed();
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut data = vec![0; 1 << 20];
    stream.read_exact(&mut data)?;
    Ok((connected, begin.elapsed()))
}

/// A client during an attack: the median of five is in, within the fifth of a second. Other programs may take the processors meanwhile,
/// and the attack goes on during all of three tries. A client without a key that is not run for a tenth of a second, in which a thousand
/// others open, has lost its place: it counts as the slowest.
fn gets_in(attack: &str, server: SocketAddr, keys: Option<&Keys>) {
    let mut tries = Vec::new();
    for _ in 0..3 {
        let mut times: Vec<_> = (0..5)
            .map(|_| match try_client(server, keys) {
                Err(e) if keys.is_none() && e.kind() == ErrorKind::TimedOut => (Duration::MAX, Duration::MAX),
                done => done.unwrap(),
            })
            .collect();
        times.sort();
        println!("{attack}: connected after {:?}, a megabyte after {:?}", times[2].0, times[2].1);
        if times[2].0 < IN_TIME {
            return;
        }
        tries.push(times);
    }
    panic!("{attack}: {tries:?}");
}

/// Longest time until a client is connected, in the median: a client whose first packet is lost takes longer.
const IN_TIME: Duration = Duration::from_millis(200);

/// Receives a datagram; a process that was stopped goes on waiting.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> std::io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Ends what goes on beside a test, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs something again and again while something else goes on.
fn during<T>(mut attack: impl FnMut() + Send, f: impl FnOnce() -> T) -> T {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Ordering::Relaxed) {
                attack();
            }
        });
        let _ends = Ends(&end);
        f()
    })
}

/// Sockets of a hundred addresses: all of 127/8 is this host's.
fn addresses() -> Vec<UdpSocket> {
    let socket = |n: u8| {
        let socket = UdpSocket::bind(SocketAddr::from(([127, 9, 0, n], 0))).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    (1..=100).map(socket).collect()
}

/// A first packet as an eavesdropper has it: of somebody who has the key, or of somebody who has another.
fn hello(keys: &Keys) -> Vec<u8> {
    let trap = UdpSocket::bind(any()).unwrap();
    let endpoint = Endpoint::bind(any(), options(Some(keys))).unwrap();
    let to = trap.local_addr().unwrap();
    thread::spawn(move || drop(endpoint.connect(to)));
    let mut buffer = [0; 2000];
    let (len, _) = trap.recv_from(&mut buffer).unwrap();
    buffer[..len].to_vec()
}

/// 10,000 openings of hosts that are not there, each of which asks for more than the server may hold.
#[test]
fn ten_thousand_spoofed_openings_cost_sixteen_megabytes_at_most() {
    let _alone = alone();
    let sockets = addresses();
    for keys in kinds() {
        let server = Server::start(options(keys.as_ref()));
        let to = server.address();
        // Threads and buffers of the first clients are there once and for all; data that it has not taken are not.
        good_client(to, keys.as_ref());
        let begin = Instant::now();
        while server.endpoint.memory() > 0 {
            assert!(
                begin.elapsed() < PATIENCE,
                "{} bytes of a client that has gone",
                server.endpoint.memory()
            );
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(100));
        let (ours, other) = (keys.as_ref().map(hello), hello(&Keys::generate_shared()));
        let mut n = 0_u32;
        let mut one = || {
            n += 1;
            let socket = &sockets[n as usize % sockets.len()];
            let packet = match &ours {
                None => bgn(to, (n % 50_000) as u16, (n / 50_000) as u16, n, b"?"),
                // Copies of a good one, and packets that nobody's key opens.
                Some(ours) if n.is_multiple_of(2) => ours.clone(),
                Some(_) => {
                    let mut packet = other.clone();
                    packet[8..12].copy_from_slice(&n.to_be_bytes());
                    packet
                }
            };
            let _ = socket.send_to(&packet, to);
            if n.is_multiple_of(50) {
                // Ten thousand a second.
                thread::sleep(Duration::from_millis(5));
            }
        };
        let heap = Heap::now();
        (0..10_000).for_each(|_| one());
        thread::sleep(Duration::from_millis(300));
        let cost = heap.peak_growth();
        println!("10,000 spoofed openings, sealed {}: {} kB at the peak", keys.is_some(), cost >> 10);
        assert!((10 << 10..16 << 20).contains(&cost), "{cost} bytes");
        during(&mut one, || gets_in("spoofed openings", to, keys.as_ref()));
        // Nobody takes places any more.
        good_client(to, keys.as_ref());
        gets_in("after spoofed openings", to, keys.as_ref());
    }
}

/// A peer whose proof is lost on the way, and more after it than may be unproven, all of which are proven.
#[test]
fn those_that_are_proven_displace_nobody() {
    let _alone = alone();
    let mut small = options(None);
    small.memory = 1 << 20;
    let listener = StpListener::bind(any(), small).unwrap();
    let to = listener.local_addr().unwrap();
    let silent = UdpSocket::bind(any()).unwrap();
    silent.send_to(&bgn(to, 40_000, 1, 7, b"first"), to).unwrap();
    let (mut first, from) = listener.accept_timeout(PATIENCE).unwrap();
    assert_eq!(from, silent.local_addr().unwrap());
    let endpoint = Endpoint::bind(any(), options(None)).unwrap();
    let others: Vec<_> = (0..60)
        .map(|_| {
            let stream = endpoint.connect(to).unwrap();
            stream.wait_connected(Some(PATIENCE)).unwrap();
            (stream, listener.accept_timeout(PATIENCE).unwrap())
        })
        .collect();
    let mut data = [0; 5];
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    first.read_exact(&mut data).unwrap();
    first.write_all(b"still there").unwrap();
    assert_eq!((&data, others.len()), (b"first", 60));
}

/// What clients send to a server, as an attacker on the path sees it, who may answer and send on from elsewhere. To the server each
/// client has an address of its own, as behind a NAT.
fn on_path(
    server: SocketAddr,
    mut see: impl FnMut(&UdpSocket, SocketAddr, &[u8]) + Send + 'static,
) -> SocketAddr {
    let near = UdpSocket::bind(any()).unwrap();
    let address = near.local_addr().unwrap();
    near.set_read_timeout(Some(PATIENCE)).unwrap();
    thread::spawn(move || {
        let (mut buffer, mut clients) = (vec![0; 65_536], BTreeMap::<SocketAddr, UdpSocket>::new());
        while let Ok((len, client)) = receive(&near, &mut buffer) {
            see(&near, client, &buffer[..len]);
            let far = clients.entry(client).or_insert_with(|| {
                let far = UdpSocket::bind(any()).unwrap();
                far.set_read_timeout(Some(PATIENCE)).unwrap();
                let (back, near) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                thread::spawn(move || {
                    let mut buffer = vec![0; 65_536];
                    while let Ok((len, _)) = receive(&back, &mut buffer) {
                        let _ = near.send_to(&buffer[..len], client);
                    }
                });
                far
            });
            let _ = far.send_to(&buffer[..len], server);
        }
    });
    address
}

#[test]
fn a_copy_of_the_first_packet_from_elsewhere_blocks_nobody() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let server = Server::start(options(Some(&keys)));
    let to = server.address();
    let sockets = addresses();
    let path = on_path(to, move |_, _, packet| {
        if packet[0] == kind::HELLO {
            for socket in &sockets {
                let _ = socket.send_to(packet, to);
            }
        }
    });
    gets_in("copied first packets", path, Some(&keys));
}

#[test]
fn copies_of_a_forged_refusal_end_no_attempt() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let server = Server::start(options(Some(&keys)));
    let path = on_path(server.address(), |socket, client, packet| {
        if packet[0] == kind::HELLO {
            let start = if packet[7] == 0 { 8 } else { 24 };
            let echo = packet[start..start + 8].try_into().unwrap();
            let index = u32::from_be_bytes([0, packet[4], packet[5], packet[6]]);
            for _ in 0..10 {
                let _ = socket.send_to(&refusal_packet(RefusalReason::Key, index, &echo), client);
            }
        }
    });
    gets_in("copied refusals", path, Some(&keys));
}

/// With a key that both ends share either may open: whoever sends a host's packets back to it becomes its peer, if it lets itself be.
#[test]
fn a_reflected_first_packet_opens_no_association_with_oneself() {
    let _alone = alone();
    let mirror = UdpSocket::bind(any()).unwrap();
    let to = mirror.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((len, from)) = mirror.recv_from(&mut buffer) {
            let _ = mirror.send_to(&buffer[..len], from);
        }
    });
    let mut options = options(Some(&Keys::generate_shared()));
    let Security::Sealed(config) = &mut options.security else { unreachable!() };
    (config.opening, config.hello_interval) =
        (skyhop_units::Span::from_millis(1500), skyhop_units::Span::from_millis(500));
    let endpoint = Endpoint::bind(any(), options).unwrap();
    let listener = endpoint.listen();
    let e = endpoint.connect(to).err().expect("nobody is there");
    assert_eq!(e.kind(), ErrorKind::TimedOut);
    assert_eq!(
        listener.accept_timeout(Duration::from_millis(200)).err().unwrap().kind(),
        ErrorKind::TimedOut
    );
    assert_eq!((endpoint.associations(), endpoint.counters().unwrap().reflected_hellos), (0, 2));
}

#[test]
fn junk_and_replays_keep_nobody_out() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let server = Server::start(options(Some(&keys)));
    let to = server.address();
    let record = Arc::new(Mutex::new(Vec::new()));
    let recorded = record.clone();
    let path = on_path(to, move |_, _, packet| recorded.lock().unwrap().push(packet.to_vec()));
    good_client(path, Some(&keys));
    let packets = record.lock().unwrap().clone();
    assert!(packets.len() > 2);
    let sockets = addresses();
    let heap = Heap::now();
    let mut n = 0_usize;
    let mut flood = || {
        n += 1;
        let mut packet = packets[n / 2 % packets.len()].clone();
        if n.is_multiple_of(2) {
            let at = n % packet.len();
            packet[at] ^= 1 << (n % 8);
        }
        let _ = sockets[n % sockets.len()].send_to(&packet, to);
        if n.is_multiple_of(64) {
            thread::sleep(Duration::from_micros(500));
        }
    };
    (0..5000).for_each(|_| flood());
    let cost = heap.peak_growth();
    println!("5,000 packets, {} kB", cost >> 10);
    assert!(cost < 4 << 20, "{cost} bytes");
    during(flood, || gets_in("replays and junk", to, Some(&keys)));
}

/// Duration of a long attack: as long as SKYHOP_FUZZ_SECONDS says, 1 s by default.
fn long() -> Duration {
    let seconds = std::env::var("SKYHOP_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// A client's time until it is connected; it wants nothing more. Without encryption all have one endpoint: those that a flood displaces
/// know nothing of it for two minutes, and memory of theirs is not the server's.
fn enters(server: SocketAddr, keys: Option<&Keys>, plain: &Endpoint) -> Duration {
    let begin = Instant::now();
    let stream = match keys {
        Some(_) => StpStream::connect(server, options(keys)).unwrap(),
        None => plain.connect(server).unwrap(),
    };
    stream.wait_connected(Some(PATIENCE)).unwrap();
    begin.elapsed()
}

/// An attack that lasts, and a client that comes again and again.
fn lasting(attack: &str, server: &Server, keys: Option<&Keys>, mut one: impl FnMut(usize) + Send) {
    let to = server.address();
    let plain = Endpoint::bind(any(), options(None)).unwrap();
    enters(to, keys, &plain);
    thread::sleep(Duration::from_secs(1));
    let (heap, begin) = (Heap::now(), Instant::now());
    let (mut n, mut times, mut held) = (0, Vec::new(), 0);
    let mut next = || {
        n += 1;
        one(n);
        if n.is_multiple_of(64) {
            thread::sleep(Duration::from_micros(500));
        }
    };
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    // Other programs may take the processors meanwhile, and the attack goes on during all of it.
    while begin.elapsed() < long() || times.len() < 5 || times.len() < 25 && median(&mut times) >= IN_TIME {
        let turn = Instant::now();
        while turn.elapsed() < Duration::from_millis(500) {
            next();
        }
        during(&mut next, || times.push(enters(to, keys, &plain)));
        held = held.max(server.endpoint.memory());
    }
    let (median, worst, most) = (median(&mut times), times[times.len() - 1], heap.peak_growth());
    println!(
        "{attack}, sealed {}: {n} packets in {:?}; heap {} kB, held {} kB; {} clients in after {median:?}, at worst {worst:?}",
        keys.is_some(),
        begin.elapsed(),
        most >> 10,
        held >> 10,
        times.len()
    );
    assert!(n > 1000 && most < 16 << 20 && held < 16 << 20, "{n}, {most}, {held}");
    assert!(median < IN_TIME, "{times:?}");
}

/// Everything that can be sent without a key, from a hundred addresses, as fast as one thread can.
#[test]
fn a_keyless_flood_costs_little_for_as_long_as_it_lasts() {
    let _alone = alone();
    let sockets = addresses();
    for keys in kinds() {
        let server = Server::start(options(keys.as_ref()));
        let to = server.address();
        let hellos = [keys.as_ref().map_or_else(Vec::new, hello), hello(&Keys::generate_shared())];
        lasting("a keyless flood", &server, keys.as_ref(), |n| {
            let random = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
            let count = (n as u32).to_be_bytes();
            let packet = match random % 8 {
                // Openings in the clear, with and without data; a half of them have come before.
                0 | 1 => bgn(to, (random >> 8) as u16, (random >> 40) as u16 % 3, n as u32 / 2, b"?"),
                2 => bgn(to, n as u16, 0, n as u32, &[]),
                // First packets: a good one again, and those whose key, cipher, cookie or version is none.
                3 => hellos[n % 2].clone(),
                4 | 5 => {
                    let mut packet = hellos[1].clone();
                    packet[8 + n % 4..12 + n % 4].copy_from_slice(&count);
                    packet[random as usize % 8] ^= u8::from(n.is_multiple_of(5));
                    packet
                }
                // The other kinds of packets, and sealed ones that nobody has sealed.
                6 => {
                    let mut packet = vec![(n % 9) as u8; 20 + n % 200];
                    packet[1..5].copy_from_slice(&count);
                    packet
                }
                _ => random.to_be_bytes().repeat(1 + n % 150),
            };
            let _ = sockets[n % sockets.len()].send_to(&packet, to);
        });
    }
}

/// A client's packets once more, in order and not, from other addresses, altered or not. Without encryption they are
/// good packets of whoever has these addresses.
#[test]
fn replays_cost_little_for_as_long_as_they_last() {
    let _alone = alone();
    let sockets = addresses();
    let keys = Keys::generate_shared();
    let server = Server::start(options(Some(&keys)));
    let to = server.address();
    let record = Arc::new(Mutex::new(Vec::new()));
    let recorded = record.clone();
    let path = on_path(to, move |_, _, packet| recorded.lock().unwrap().push(packet.to_vec()));
    (0..20).for_each(|_| _ = good_client(path, Some(&keys)));
    while server.endpoint.memory() > 0 {
        thread::sleep(Duration::from_millis(20));
    }
    let packets = record.lock().unwrap().clone();
    assert!(packets.len() > 40);
    lasting("replays", &server, Some(&keys), |n| {
        let random = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let at = if n / 10_000 % 2 == 0 { n } else { random as usize };
        let mut packet = packets[at % packets.len()].clone();
        if random.is_multiple_of(4) {
            let at = (random >> 8) as usize % packet.len();
            packet[at] ^= 1 << (random >> 32 & 7);
        }
        let _ = sockets[n % sockets.len()].send_to(&packet, to);
    });
}

/// Slow readers: they ask, and do not read.
fn slow_readers(endpoint: &Endpoint, server: SocketAddr, many: usize) -> Vec<StpStream> {
    let ask = |_| {
        let mut stream = endpoint.connect(server).unwrap();
        stream.write_all(b"?").unwrap();
        stream
    };
    (0..many).map(ask).collect()
}

/// A server that gives data without an end to as many streams as ask: on one thread to those that ask with ?, on one of their own to
/// those that ask with !.
fn serve_many(listener: StpListener, end: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let (mut streams, block) = (Vec::<StpStream>::new(), vec![7; 64 << 10]);
        thread::scope(|scope| {
            while !end.load(Ordering::Relaxed) {
                while let Ok((mut stream, _)) = listener.accept_timeout(Duration::from_millis(5)) {
                    let mut asked = [0];
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    stream.read_exact(&mut asked).unwrap();
                    if asked == *b"!" {
                        scope.spawn(move || while stream.write_all(&[7; 64 << 10]).is_ok() {});
                    } else {
                        stream.set_write_timeout(Some(Duration::ZERO)).unwrap();
                        streams.push(stream);
                    }
                }
                for stream in &mut streams {
                    while stream.write(&block).is_ok() {}
                }
            }
        });
    })
}

#[test]
fn a_thousand_slow_readers_stay_within_the_budget_and_others_keep_their_rate() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let mut budget = options(Some(&keys));
    (budget.memory, budget.backlog) = (128 << 20, 2000);
    // What the path gives, and not what processors give that other tests want too.
    budget.stp.max_rate = skyhop_units::Rate::from_bps(100_000_000);
    let endpoint = Endpoint::bind(any(), budget).unwrap();
    let (end, server) = (Arc::new(AtomicBool::new(false)), endpoint.local_addr());
    let serving = serve_many(endpoint.listen(), end.clone());
    let rate = || {
        let mut stream = StpStream::connect(server, options(Some(&keys))).unwrap();
        stream.write_all(b"!").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (begin, mut left) = (Instant::now(), 10_000_000_u64);
        while left > 0 {
            left = left.saturating_sub(stream.read_bytes().unwrap().unwrap().len() as u64);
        }
        let rate = 80.0 / begin.elapsed().as_secs_f64();
        stream.reset().unwrap();
        rate
    };
    let before = rate().max(rate()).max(rate());
    let heap = Heap::now();
    let mut small = options(Some(&keys));
    small.stp.window = 64 << 10;
    let slow = Endpoint::bind(any(), small).unwrap();
    let streams = slow_readers(&slow, server, 1000);
    let begin = Instant::now();
    while slow.memory() < 1000 * (40 << 10) && begin.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    // Another program may take the processors during one measurement; slow readers are there during all.
    let mut after = 0.0_f64;
    for _ in 0..12 {
        after = after.max(rate());
        if after > 0.8 * before {
            break;
        }
    }
    let (held, unread) = (endpoint.memory(), slow.memory());
    let grown = heap.peak_growth() as u64;
    println!(
        "{} MB held of 134 and {} MB unread, heap {} MB; {before:.1} and {after:.1} Mbit/s",
        held / 1_000_000,
        unread / 1_000_000,
        grown / 1_000_000
    );
    assert!(unread > 1000 * (40 << 10), "{unread} bytes unread");
    assert!((1 << 20..128 << 20).contains(&held));
    assert!(grown < unread + (128 << 20) * 5 / 4, "{grown} of heap for both ends");
    assert!(after > 0.8 * before, "{before} and {after}");
    drop(streams);
    end.store(true, Ordering::Relaxed);
    serving.join().unwrap();
}

/// A server behind somebody who forwards another port than its own.
#[test]
fn a_forwarded_port_needs_not_be_the_servers() {
    let _alone = alone();
    for keys in kinds() {
        let server = Server::start(options(keys.as_ref()));
        let path = on_path(server.address(), |_, _, _| {});
        assert_ne!(path.port(), server.address().port());
        good_client(path, keys.as_ref());
    }
}

/// One holder of the key, association after association: there is room for others, and the one at work is left alone.
#[test]
fn associations_of_one_key_holder_do_not_fill_the_host() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let mut few = options(Some(&keys));
    let Security::Sealed(config) = &mut few.security else { unreachable!() };
    config.associations_max = 50;
    let server = Server::start(few);
    let (to, mut working) =
        (server.address(), StpStream::connect(server.address(), options(Some(&keys))).unwrap());
    working.write_all(b"?").unwrap();
    working.set_read_timeout(Some(PATIENCE)).unwrap();
    working.read_exact(&mut [0; 1000]).unwrap();
    let held: Vec<_> = (0..200)
        .map(|_| {
            let endpoint = Endpoint::bind(any(), options(Some(&keys))).unwrap();
            let stream = endpoint.connect(to).unwrap();
            (&stream).write_all(b"?").unwrap();
            stream.wait_connected(Some(PATIENCE)).unwrap();
            stream.reset().unwrap();
            drop(stream);
            endpoint
        })
        .collect();
    assert!(server.endpoint.associations() <= 50);
    gets_in("many associations", to, Some(&keys));
    working.read_exact(&mut vec![0; 1 << 20]).unwrap();
    drop(held);
}

/// Who is done says so, and is forgotten at once.
#[test]
fn an_association_ends_when_its_endpoint_does() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let server = Server::start(options(Some(&keys)));
    let client = Endpoint::bind(any(), options(Some(&keys))).unwrap();
    let mut stream = client.connect(server.address()).unwrap();
    stream.write_all(b"?").unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    assert_eq!(server.endpoint.associations(), 1);
    stream.reset().unwrap();
    drop(stream);
    assert!(client.close(PATIENCE));
    let begin = Instant::now();
    while server.endpoint.associations() > 0 && begin.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.endpoint.associations(), 0);
}

/// ICMP's code of "fragmentation needed", here with at most 600 bytes, and of "port unreachable".
const TOO_BIG: u8 = 4;
const UNREACHABLE: u8 = 3;

/// ICMP's report about a datagram, as a router or somebody else would send it to this host.
fn icmp(raw: &socket2::Socket, code: u8, from_port: u16, to: SocketAddr, quote: &[u8]) {
    let mut inner = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
    inner[2..4].copy_from_slice(&(28 + quote.len() as u16).to_be_bytes());
    inner.extend_from_slice(&from_port.to_be_bytes());
    inner.extend_from_slice(&to.port().to_be_bytes());
    inner.extend_from_slice(&(8 + quote.len() as u16).to_be_bytes());
    inner.extend_from_slice(&[0, 0]);
    inner.extend_from_slice(quote);
    let mut message = vec![3, code, 0, 0, 0, 0];
    message.extend_from_slice(&if code == TOO_BIG { 600_u16 } else { 0 }.to_be_bytes());
    message.extend_from_slice(&inner);
    let mut sum: u32 = message
        .chunks(2)
        .map(|two| u32::from(two[0]) << 8 | u32::from(two.get(1).copied().unwrap_or(0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    message[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    raw.send_to(&message, &SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
}

/// A connection that makes no progress because its peer does not read, and ICMP that says its packets are too large.
#[test]
fn icmp_counts_for_the_packet_that_it_repeats() {
    let _alone = alone();
    let raw = match socket2::Socket::new(
        socket2::Domain::IPV4,
        socket2::Type::RAW,
        Some(socket2::Protocol::ICMPV4),
    ) {
        Ok(raw) => raw,
        Err(e) => return println!("skipped: no raw socket: {e}"),
    };
    for keys in kinds() {
        let mut small = options(keys.as_ref());
        small.stp.window = 64 << 10;
        let listener = StpListener::bind(any(), small).unwrap();
        let record = Arc::new(Mutex::new(Vec::new()));
        let recorded = record.clone();
        let path = on_path(listener.local_addr().unwrap(), move |_, _, packet| {
            recorded.lock().unwrap().push(packet.to_vec());
        });
        let endpoint = Endpoint::bind(any(), options(keys.as_ref())).unwrap();
        let port = endpoint.local_addr().port();
        let mut stream = endpoint.connect(path).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let _far = thread::spawn(move || listener.accept().map(|far| (far, thread::sleep(PATIENCE))));
        while stream.write(&[7; 10_000]).is_ok() {}
        let packets = record.lock().unwrap().clone();
        let mut altered = packets[packets.len() - 2].clone();
        let genuine = altered.clone();
        altered[2] ^= 1;
        let elsewhere = SocketAddr::from(([127, 0, 0, 1], 9));
        for _ in 0..10 {
            for code in [TOO_BIG, UNREACHABLE] {
                icmp(&raw, code, port, path, &altered);
                icmp(&raw, code, port, path, &genuine[..8]);
                icmp(&raw, code, port, elsewhere, &genuine);
            }
        }
        stream.set_write_timeout(Some(Duration::from_secs(4))).unwrap();
        let e = stream.write_all(&[7; 10_000_000]).unwrap_err();
        assert_eq!(e.to_string(), skyhop_live::NOTHING_HAPPENED);
        icmp(&raw, TOO_BIG, port, path, &genuine);
        let e = stream.write_all(&[7; 10_000_000]).unwrap_err();
        assert!(
            e.to_string().ends_with("the path carries packets of 600 bytes and not of 1280: use --mtu 600"),
            "{e}"
        );
    }
}
