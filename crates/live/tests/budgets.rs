//! The budget of a host's memory, against peers that have the key and take all they can get: it holds, whatever comes, and those that are
//! let in go on.
//!
//! Follows docs/stp-hosts.md (`--memory`). Differs from `strangers`: many connections that each hold little, and budgets from the least.
//! Leaves out altered packets, which `guests` sends.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

#[path = "common/heap.rs"]
mod heap;
#[path = "common/path.rs"]
mod path;
#[path = "common/two.rs"]
mod two;

#[path = "common/hosts.rs"]
mod hosts;

use bytes::Bytes;
use heap::Heap;
use hosts::{alone, any, options};
use path::{Path, address};
use skyhop_live::engine::Event;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, StpListener, StpStream};
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::Span;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A host with a budget, and the largest amount that it has held at any time.
struct Watched {
    endpoint: Arc<Endpoint>,
    most: Arc<AtomicU64>,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watched {
    fn new(keys: Option<&Keys>, memory: u64) -> Self {
        let mut options = options(keys);
        (options.memory, options.backlog) = (memory, 4000);
        let endpoint = Arc::new(Endpoint::bind(any(), options).unwrap());
        let (most, end) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (watched, seen, ended) = (endpoint.clone(), most.clone(), end.clone());
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                seen.fetch_max(watched.memory(), Ordering::Relaxed);
                thread::sleep(Duration::from_micros(200));
            }
        });
        Watched { endpoint, most, end, thread: Some(thread) }
    }

    fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Up to so many connections, until one is refused.
fn connect_many(from: &Endpoint, to: SocketAddr, many: usize) -> Vec<StpStream> {
    let mut streams = Vec::new();
    for _ in 0..many {
        let stream = match from.connect(to) {
            Ok(stream) => stream,
            // The answer to an earlier one, of the same association.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => break,
            Err(e) => panic!("connection {}: {e}", streams.len()),
        };
        if stream.wait_connected(Some(PATIENCE)).is_err() {
            break;
        }
        streams.push(stream);
    }
    streams
}

fn accept_many(listener: &StpListener, many: usize) -> Vec<StpStream> {
    (0..many).map(|_| listener.accept_timeout(PATIENCE).unwrap().0).collect()
}

/// Writes as much as is taken, until nothing more is taken for half a second: of rounds, of which a process that is not run makes none.
fn fill(streams: &mut [StpStream]) -> Vec<u64> {
    let mut written = vec![0; streams.len()];
    let mut idle = 0;
    while idle < 500 {
        idle += 1;
        for (stream, written) in streams.iter_mut().zip(&mut written) {
            stream.set_write_timeout(Some(Duration::ZERO)).unwrap();
            if let Ok(len) = stream.write(&[7; 64 << 10]) {
                *written += len as u64;
                idle = 0;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    written
}

/// Reads a number of bytes of each stream.
fn read_all(streams: Vec<(StpStream, u64)>) {
    thread::scope(|scope| {
        for (mut stream, bytes) in streams {
            scope.spawn(move || {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut left = bytes;
                let mut buffer = [0; 16 << 10];
                while left > 0 {
                    let len = stream.read(&mut buffer).unwrap();
                    assert!(len > 0 && buffer[..len].iter().all(|byte| *byte == 7));
                    left -= len as u64;
                }
            });
        }
    });
}

/// Connections whose data nobody reads, each of which holds little: as many as are let in, and no more than the budget.
#[test]
fn many_connections_that_nobody_reads_stay_within_the_budget_and_go_on() {
    let _alone = alone();
    for keys in [Some(Keys::generate_shared()), None] {
        for memory in [1 << 20, 4 << 20, 16 << 20_u64] {
            let heap = Heap::now();
            let server = Watched::new(keys.as_ref(), memory);
            let listener = server.endpoint.listen();
            let client = Endpoint::bind(any(), options(keys.as_ref())).unwrap();
            let to = server.endpoint.local_addr();
            let mut streams = connect_many(&client, to, 600);
            let written = fill(&mut streams);
            let (held, refused) = (server.most(), server.endpoint.refused());
            let grown = heap.peak_growth() as u64;
            println!(
                "sealed {}, budget {} kB: {} of 600 connections, {} kB held at most, {} kB written, heap {} kB of both; {refused:?}",
                keys.is_some(),
                memory >> 10,
                streams.len(),
                held >> 10,
                written.iter().sum::<u64>() >> 10,
                grown >> 10
            );
            assert!((memory / 12..=memory).contains(&held), "{held} bytes of {memory}");
            assert_eq!(streams.len() < 600, refused.memory > 0);
            assert!(memory > 4 << 20 || refused.memory > 0);
            // Those that are in go on as soon as somebody reads.
            let far = accept_many(&listener, streams.len());
            read_all(far.into_iter().zip(written).collect());
            assert!(server.most() <= memory);
            drop(streams);
            // There is room again.
            let begin = Instant::now();
            while connect_many(&client, to, 1).is_empty() {
                assert!(begin.elapsed() < PATIENCE, "no room");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// A host whose own application writes to all that do not read.
#[test]
fn an_application_that_writes_to_all_is_held_within_the_budget() {
    let _alone = alone();
    for keys in [Some(Keys::generate_shared()), None] {
        for memory in [1 << 20, 4 << 20_u64] {
            let server = Watched::new(keys.as_ref(), memory);
            let listener = server.endpoint.listen();
            let mut narrow = options(keys.as_ref());
            narrow.stp.window = 2 << 10;
            let client = Endpoint::bind(any(), narrow).unwrap();
            let streams = connect_many(&client, server.endpoint.local_addr(), 600);
            let mut far = accept_many(&listener, streams.len());
            let written = fill(&mut far);
            let held = server.most();
            println!("sealed {}, budget {} kB: {} kB held", keys.is_some(), memory >> 10, held >> 10);
            assert!((memory / 12..=memory).contains(&held), "{held} bytes of {memory}");
            assert!(written.iter().all(|bytes| *bytes > 0), "each has written something");
            read_all(streams.into_iter().zip(written).collect());
            assert!(server.most() <= memory);
        }
    }
}

/// Packets that wait for long between packets that are read at once: what waits is all that is kept in memory.
#[test]
fn a_packet_that_waits_keeps_no_other_in_memory() {
    let _alone = alone();
    let keys = Keys::generate_shared();
    let server = Watched::new(Some(&keys), 16 << 20);
    let listener = server.endpoint.listen();
    let client = Endpoint::bind(any(), options(Some(&keys))).unwrap();
    let mut streams = connect_many(&client, server.endpoint.local_addr(), 301);
    assert_eq!(streams.len(), 301);
    let mut far: Vec<StpStream> = accept_many(&listener, 301);
    let (mut bulk, mut sink) = (streams.pop().unwrap(), far.pop().unwrap());
    sink.set_read_timeout(Some(PATIENCE)).unwrap();
    let heap = Heap::now();
    let mut buffer = vec![0; 100_000];
    for stream in &mut streams {
        stream.write_all(&[7; 1000]).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        bulk.write_all(&buffer).unwrap();
        sink.read_exact(&mut buffer).unwrap();
    }
    let (grown, held) = (heap.growth(), server.endpoint.memory());
    println!("{} kB held by packets that wait, heap {} kB", held >> 10, grown >> 10);
    assert!(held >= 300_000 && grown < 8 << 20, "{held} and {grown}");
}

/// Lets time pass, five milliseconds at a time. Returns the most that the server has held.
fn watch(path: &mut Path, span: Span, mut each: impl FnMut(&mut Path)) -> u64 {
    let mut most = 0;
    for _ in 0..span.as_nanos() / 5_000_000 {
        path.run(Span::from_millis(5));
        most = most.max(path.ends[1].memory());
        each(path);
    }
    most
}

/// The server reads all that has come into order. Returns the number of bytes.
fn read_events(path: &mut Path) -> u64 {
    let mut bytes = 0;
    for event in std::mem::take(&mut path.events[1]) {
        if let Event::Stream(id, TrunkEvent::Received(stream, _)) = event
            && let Some(trunk) = path.ends[1].trunk(id)
        {
            while let Some(data) = trunk.read(stream, usize::MAX) {
                bytes += data.len() as u64;
            }
        }
    }
    bytes
}

/// Associations, each with streams, each of which is promised more than there is for all.
#[test]
fn associations_and_streams_that_nobody_reads_stay_within_the_budget_and_go_on() {
    let _alone = alone();
    for memory in [1 << 20, 4 << 20, 16 << 20_u64] {
        let mut path = Path::new(|config| {
            // The client has room for all.
            config.memory = if config.associations.accepts { memory } else { 1 << 30 };
            (config.associations.cookie_above, config.stp.window) = (1_000_000, 4 << 20);
        });
        for _ in 0..400 {
            path.ends[0].connect(path.now, address(1)).unwrap();
            path.run(Span::from_millis(20));
        }
        path.run(Span::from_secs(1));
        let up = path.up(0);
        let refused = path.ends[1].refused();
        let mut written = 0;
        for &id in &up {
            let Some(trunk) = path.ends[0].trunk(id) else { continue };
            let stream = trunk.open(Default::default()).unwrap();
            assert!(trunk.write(stream, Bytes::from(vec![7; 200 << 10])).is_none());
            written += 200 << 10;
        }
        let most = watch(&mut path, Span::from_secs(3), |_| {});
        println!(
            "budget {} kB: {} of 400 associations, {refused} refused; {} kB held of {} kB",
            memory >> 10,
            up.len(),
            most >> 10,
            written >> 10
        );
        assert!((memory / 5..=memory).contains(&most), "{most} bytes of {memory}");
        assert_eq!(up.len() as u64 + refused, 400);
        assert!(refused > 0 && up.len() as u64 >= memory / (256 << 10));
        // As soon as somebody reads, all arrives.
        let mut read = 0;
        let most = watch(&mut path, Span::from_secs(30), |path| read += read_events(path));
        assert_eq!(read, written, "of {written}");
        assert!(most <= memory);
    }
}

/// Streams cost memory even if they hold a byte each: there are no more of them than the budget allows until others end.
#[test]
fn streams_of_a_byte_stay_within_the_budget() {
    let _alone = alone();
    let memory = 4 << 20;
    let mut path = Path::new(|config| {
        config.memory = memory;
        config.budgets.streams = 20_000;
    });
    path.ends[0].connect(path.now, address(1)).unwrap();
    path.run(Span::from_secs(2));
    let client = path.up(0)[0];
    let heap = Heap::now();
    let trunk = path.ends[0].trunk(client).unwrap();
    let mut opened = 0;
    while let Some(stream) = trunk.open(Default::default()) {
        assert!(trunk.write(stream, Bytes::from_static(&[7])).is_none());
        opened += 1;
    }
    let most = watch(&mut path, Span::from_secs(3), |_| {});
    println!("{opened} streams, {} kB held, heap {} kB of both", most >> 10, heap.growth() >> 10);
    assert!(
        (16..memory / 1024).contains(&opened) && (opened..=memory).contains(&most),
        "{most} bytes of {memory}"
    );
}
