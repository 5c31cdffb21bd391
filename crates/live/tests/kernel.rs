//! A TCP endpoint and the kernel's, over a TUN device in a network namespace.
//!
//! Follows RFC 9293 as implemented by Linux: the same bytes arrive in both directions at once, over a path that loses, delays,
//! duplicates and alters 1 % of the packets each; SACK, timestamps and window scale are negotiated, as the kernel's TCP_INFO shows
//! (`ss`). Ten megabytes in each direction, or with SKYHOP_FULL a hundred. Needs root and /dev/net/tun; without them it prints the
//! reason and is skipped. Leaves out speed.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod common {
    pub mod lane;
    pub mod namespace;
    pub mod tun;
}

use common::tun::{CLEAN, Errors, KERNEL, OURS, PORT, Tun, address};
use skyhop_chance::Seed;
use skyhop_transport::tcp::{Config, DelayedAck, Event, State, Variant};
use skyhop_units::Span;
use skyhop_wire::Version;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const ROUGH: Errors = Errors { lost: 0.01, late: 0.01, doubled: 0.01, corrupted: 0.01 };

fn size() -> usize {
    if std::env::var_os("SKYHOP_FULL").is_some() { 100_000_000 } else { 10_000_000 }
}

/// The options of a current host.
fn config(version: Version) -> Config {
    Config {
        ip: version,
        variant: Variant::Cubic,
        mss: 1480 - version.header_len(),
        timestamps: true,
        dsack: true,
        window: 1_000_000,
        window_max: 6_000_000,
        initial_window: 14_600,
        delayed_ack: DelayedAck::Adaptive { least: Span::from_millis(40), most: Span::from_millis(200) },
        rto_min: Span::from_millis(200),
        ..Config::default()
    }
}

fn tun(errors: Errors, delay: Span, version: Version, seed: u64) -> Option<Tun> {
    match Tun::new(errors, delay, seed) {
        Ok(mut tun) => {
            tun.config = config(version);
            Some(tun)
        }
        Err(e) => {
            println!(
                "skipped: no TUN device in a network namespace here: {e} (root, /dev/net/tun and iproute2 are needed)"
            );
            None
        }
    }
}

/// Bytes from `from` on of a stream known to both ends.
struct Expected {
    stream: skyhop_chance::Stream,
    left: Vec<u8>,
}

impl Expected {
    fn new(name: &str) -> Self {
        Expected { stream: Seed(1).stream(name), left: Vec::new() }
    }

    /// The next `count` bytes.
    fn next(&mut self, count: usize) -> Vec<u8> {
        while self.left.len() < count {
            self.left.extend_from_slice(&self.stream.bits().to_be_bytes());
        }
        self.left.drain(..count).collect()
    }
}

/// The kernel's application: writes a stream and reads one, both at once. Returns the number of bytes read, and the output of `ss`.
fn kernel_end(mut stream: TcpStream, size: usize) -> (usize, String) {
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let mut expected = Expected::new("kernel");
        let mut left = size;
        while left > 0 {
            let part = expected.next(left.min(100_000));
            writing.write_all(&part).unwrap();
            left -= part.len();
        }
    });
    let (mut read, mut expected) = (0, Expected::new("carry"));
    let mut buffer = vec![0; 100_000];
    let mut told = String::new();
    loop {
        let count = match stream.read(&mut buffer) {
            // A process that was stopped goes on waiting.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            count => count.unwrap(),
        };
        if count == 0 {
            break;
        }
        assert!(buffer[..count] == expected.next(count), "other bytes within {count} from {read} on");
        read += count;
        if read >= size / 2 && told.is_empty() {
            told = ss();
        }
    }
    writer.join().unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    (read, told)
}

/// TCP_INFO of the connection, as `ss` prints it.
fn ss() -> String {
    let out = Command::new("ss").args(["-tinoH", "state", "established"]).output().expect("ss");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// The endpoint's application: the same, until both have closed. Returns the number of bytes read.
fn our_end(tun: &mut Tun, size: usize) -> usize {
    let (mut to_write, mut expected) = (Expected::new("carry"), Expected::new("kernel"));
    let (mut left, mut read, mut pending) = (size, 0, Vec::new());
    let mut buffer = vec![0; 100_000];
    let mut moved = Instant::now();
    loop {
        tun.step();
        assert!(moved.elapsed() < Duration::from_secs(60), "nothing has come for a minute: {read} of {size}");
        let Some(carry) = &mut tun.carry else { continue };
        while let Some(event) = carry.poll_event() {
            moved = Instant::now();
            assert_ne!(event, Event::Reset);
        }
        loop {
            let count = carry.read(&mut buffer);
            assert!(buffer[..count] == expected.next(count), "other bytes within {count} from {read} on");
            read += count;
            if count == 0 {
                break;
            }
        }
        loop {
            if pending.is_empty() {
                pending = to_write.next(left.min(65_536));
                left -= pending.len();
            }
            let taken = carry.write(&pending);
            pending.drain(..taken);
            if taken == 0 {
                break;
            }
        }
        let state = carry.machine().state();
        if left == 0 && pending.is_empty() && state == State::Established {
            carry.shutdown();
        }
        if matches!(state, State::Closed | State::TimeWait) {
            return read;
        }
    }
}

/// The text after `key` in the output of `ss`.
fn after<'a>(told: &'a str, key: &str) -> &'a str {
    let at = told.find(key).unwrap_or_else(|| panic!("{key} in {told}"));
    told[at + key.len()..].split_whitespace().next().unwrap_or_default()
}

fn transfer(version: Version, we_connect: bool, seed: u64) {
    let Some(mut tun) = tun(ROUGH, Span::from_millis(1), version, seed) else { return };
    let size = size();
    let begin = Instant::now();
    let there = if we_connect {
        let listener = tun.kernel.run(move || TcpListener::bind((address(KERNEL, version), PORT)).unwrap());
        tun.connect(PORT);
        tun.kernel.begin(move || kernel_end(listener.accept().unwrap().0, size))
    } else {
        tun.kernel.begin(move || {
            let stream = TcpStream::connect((address(OURS, version), PORT)).unwrap();
            kernel_end(stream, size)
        })
    };
    let read = our_end(&mut tun, size);
    // The kernel may still ask for the last acknowledgment.
    let (kernel_read, told) = loop {
        tun.step();
        match there.try_recv() {
            Ok(found) => break found,
            Err(std::sync::mpsc::TryRecvError::Empty) => {}
            Err(e) => panic!("the kernel's application: {e}"),
        }
    };
    assert_eq!((read, kernel_read), (size, size));
    let (carry, stats) = (tun.carry.as_ref().unwrap(), tun.stats());
    println!(
        "{version:?}, we connect: {we_connect}: {:.1} s; to the kernel {:?}; from it {:?}; {:?}",
        begin.elapsed().as_secs_f64(),
        stats[0],
        stats[1],
        carry.refused(),
    );
    let line = told.lines().last().unwrap_or_default().trim();
    println!("ss: {line}");
    // Agreed on: the kernel's scale for our window, and ours of 6 MB, which 7 bits bring below 64 kB.
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(words.contains(&"ts") && words.contains(&"sack"), "{line}");
    let (theirs, ours) = after(line, "wscale:").split_once(',').expect("both scales");
    assert_eq!(theirs.parse::<u8>().unwrap(), config(version).window_scale(), "{line}");
    assert!((1..=14).contains(&ours.parse::<u8>().unwrap()), "{line}");
    let (mss, expected) = (after(line, "mss:"), 1480 - version.header_len() - 12);
    assert_eq!(mss.trim_end_matches(','), expected.to_string(), "{line}");
    // The path did what it is for, and what it corrupted was noticed.
    for stats in stats {
        let share = |count: u64| count as f64 / stats.packets as f64;
        assert!((0.005..0.016).contains(&share(stats.packets_corrupted)), "{stats:?}");
        assert!((0.005..0.016).contains(&share(stats.packets_duplicated)), "{stats:?}");
        assert!((0.012..0.028).contains(&share(stats.packets_lost)), "{stats:?}");
    }
    let refused = carry.refused();
    let noticed = refused.corrupt + refused.malformed + refused.unsupported;
    let corrupted = stats[1].packets_corrupted;
    // Packets of the kernel's own, as its calls for routers, are not understood either.
    assert!((corrupted * 9 / 10..=corrupted + 20).contains(&noticed), "{refused:?} of {corrupted}");
}

#[test]
fn we_connect_to_the_kernel_over_ipv4() {
    transfer(Version::V4, true, 1);
}

#[test]
fn we_connect_to_the_kernel_over_ipv6() {
    transfer(Version::V6, true, 2);
}

#[test]
fn the_kernel_connects_to_us_over_ipv4() {
    transfer(Version::V4, false, 3);
}

#[test]
fn the_kernel_connects_to_us_over_ipv6() {
    transfer(Version::V6, false, 4);
}

/// Runs until `done`, for forty seconds at most. Returns the states of the endpoint, and its events.
fn until(tun: &mut Tun, mut done: impl FnMut(&mut Tun) -> bool) -> (Vec<State>, Vec<Event>) {
    let (begin, mut states, mut events) = (Instant::now(), Vec::new(), Vec::new());
    loop {
        tun.step();
        if let Some(carry) = &mut tun.carry {
            let state = carry.machine().state();
            if states.last() != Some(&state) {
                states.push(state);
            }
            while let Some(event) = carry.poll_event() {
                events.push(event);
            }
        }
        if done(tun) {
            return (states, events);
        }
        assert!(begin.elapsed() < Duration::from_secs(40), "{states:?} {events:?}");
    }
}

fn state(tun: &Tun) -> State {
    tun.carry.as_ref().map_or(State::Closed, |carry| carry.machine().state())
}

/// A connection over an error-free path with an RTT of 100 ms, and the kernel's end of it.
fn connection() -> Option<(Tun, TcpStream)> {
    let mut tun = tun(CLEAN, Span::from_millis(50), Version::V4, 5)?;
    let listener = tun.kernel.run(|| TcpListener::bind((KERNEL, PORT)).unwrap());
    tun.connect(PORT);
    let accepted = tun.kernel.begin(move || listener.accept().unwrap().0);
    let mut stream = None;
    until(&mut tun, |_| {
        stream = stream.take().or_else(|| accepted.try_recv().ok());
        stream.is_some()
    });
    let stream = stream.unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    Some((tun, stream))
}

#[test]
fn either_end_closes_first_and_the_other_goes_on() {
    let Some((mut tun, mut stream)) = connection() else { return };
    // The kernel has nothing more to say, and reads on.
    stream.shutdown(Shutdown::Write).unwrap();
    until(&mut tun, |tun| state(tun) == State::CloseWait);
    assert_eq!(tun.carry.as_mut().unwrap().write(b"the rest"), 8);
    tun.carry.as_mut().unwrap().shutdown();
    let read = tun.kernel.begin(move || {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all)
    });
    let (states, events) = until(&mut tun, |tun| state(tun) == State::Closed);
    assert_eq!(read.recv().unwrap().unwrap(), b"the rest");
    assert_eq!((states, events.last()), (vec![State::LastAck, State::Closed], Some(&Event::Closed)));

    let Some((mut tun, mut stream)) = connection() else { return };
    tun.carry.as_mut().unwrap().shutdown();
    until(&mut tun, |tun| state(tun) == State::FinWait2);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    stream.write_all(b"the rest").unwrap();
    drop(stream);
    let (states, _) = until(&mut tun, |tun| state(tun) == State::TimeWait);
    let mut buffer = [0; 16];
    let count = tun.carry.as_mut().unwrap().read(&mut buffer);
    assert_eq!(&buffer[..count], b"the rest");
    assert_eq!(states, [State::FinWait2, State::TimeWait]);
    until(&mut tun, |tun| state(tun) == State::Closed);
}

#[test]
fn both_ends_close_at_once() {
    let Some((mut tun, stream)) = connection() else { return };
    // Each FIN is under way for 50 ms when the other sets out.
    stream.shutdown(Shutdown::Write).unwrap();
    tun.carry.as_mut().unwrap().shutdown();
    let (states, events) = until(&mut tun, |tun| state(tun) == State::TimeWait);
    assert_eq!(states, [State::FinWait1, State::Closing, State::TimeWait]);
    let told: Vec<&Event> = events.iter().filter(|event| **event != Event::AllAcknowledged).collect();
    assert_eq!(told, [&Event::PeerFinished, &Event::Closed]);
}

#[test]
fn resets_go_both_ways() {
    let Some((mut tun, stream)) = connection() else { return };
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    let (_, events) = until(&mut tun, |tun| state(tun) == State::Closed);
    assert_eq!(events.last(), Some(&Event::Reset));

    let Some((mut tun, mut stream)) = connection() else { return };
    tun.carry.as_mut().unwrap().reset();
    let read = tun.kernel.begin(move || stream.read(&mut [0]).unwrap_err().kind());
    let mut kind = None;
    until(&mut tun, |_| {
        kind = kind.or_else(|| read.try_recv().ok());
        kind.is_some()
    });
    assert_eq!(kind, Some(ErrorKind::ConnectionReset));

    // No listener.
    let Some(mut tun) = self::tun(CLEAN, Span::from_millis(1), Version::V6, 6) else { return };
    tun.connect(PORT + 1);
    let (states, events) = until(&mut tun, |tun| state(tun) == State::Closed);
    assert_eq!((states, events), (vec![State::SynSent, State::Closed], vec![Event::Reset]));
}
