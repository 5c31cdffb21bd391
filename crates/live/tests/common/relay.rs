//! A path between two network namespaces: rate, delay, a queue, and the faults of the Internet.
//!
//! Follows `skyhop_link` for the order of effects: queue, transmitter, errors, delay.
//! Differs: time is real, so packets may leave late; the lateness is measured.
//! Leaves out more than two hosts.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use super::lane::{Lane, Path};
use super::namespace::{Namespace, ip};
use polling::{Event, Events, PollMode, Poller};
use skyhop_link::{Duplication, Reordering, Stats};
use skyhop_live::socket::{Carrier, Part, Socket};
use skyhop_units::{Bytes, Rate, Span, Time};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// 100 Mbit/s, a round trip of 600 ms, a queue of one bandwidth-delay product, and errors in both directions.
pub const PATH: Path = Path {
    rate: Rate::mbit(100),
    delay: Span::from_millis(300),
    queue: Bytes::new(7_500_000),
    headers: 28,
    lost: 0.01,
    corrupted: 0.01,
    reordering: Reordering { probability: 0.01, delay: Span::from_micros(1500) },
    duplication: Duplication { probability: 0.001, delay: Span::from_millis(1) },
};

fn time(since: Duration) -> Time {
    Time::from_nanos(since.as_nanos() as u64)
}

/// Two namespaces with a relay in a third. They are removed with the threads in them in any case.
pub struct Net {
    /// Address at which hosts of the first namespace reach the second.
    pub far: SocketAddr,
    /// The address of the second namespace.
    pub server: SocketAddr,
    /// Counters of the path, in both directions.
    pub done: Arc<Mutex<[Stats; 2]>>,
    left: Namespace,
    right: Namespace,
    stop: Arc<AtomicBool>,
    relay: Option<JoinHandle<[Lane; 2]>>,
}

impl Net {
    /// The namespaces with the path between them; the server should listen at port 57824. The error has the reason if there are
    /// none.
    pub fn new(path: Path, seed: u64) -> io::Result<Self> {
        let (left, right, middle) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let (left_path, right_path) = (left.path.display().to_string(), right.path.display().to_string());
        middle.run(move || {
            ip("link set lo up")?;
            for (name, peer, net) in [("left", left_path, 0), ("right", right_path, 1)] {
                ip(&format!("link add {name} type veth peer name eth0 netns {peer}"))?;
                ip(&format!("addr add 198.18.{net}.1/24 dev {name}"))?;
                ip(&format!("link set {name} up"))?;
            }
            Ok::<_, io::Error>(())
        })?;
        for (namespace, net) in [(&left, 0), (&right, 1)] {
            namespace.run(move || {
                ip("link set lo up")?;
                ip(&format!("addr add 198.18.{net}.2/24 dev eth0"))?;
                ip("link set eth0 up")
            })?;
        }
        let server = SocketAddr::from((Ipv4Addr::new(198, 18, 1, 2), 57_824));
        let far = SocketAddr::from((Ipv4Addr::new(198, 18, 0, 1), 57_824));
        let (near_socket, far_socket) = middle.run(move || {
            let near = bind(far)?;
            let far = bind(SocketAddr::from((Ipv4Addr::new(198, 18, 1, 1), 0)))?;
            Ok::<_, io::Error>((near, far))
        })?;
        let done = Arc::new(Mutex::new([Stats::default(); 2]));
        let stop = Arc::new(AtomicBool::new(false));
        let (counted, stopped) = (done.clone(), stop.clone());
        let relay =
            thread::spawn(move || relay(path, seed, near_socket, far_socket, server, &counted, &stopped));
        Ok(Net { far, server, done, left, right, stop, relay: Some(relay) })
    }

    /// Runs a job in the first namespace.
    pub fn left<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.left.run(job)
    }

    /// Runs a job in the second namespace.
    pub fn right<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.right.run(job)
    }
}

impl Net {
    /// Stops the relay. Returns the 99th percentile of the packets' lateness, for the worse direction.
    pub fn stop(mut self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        let directions =
            self.relay.take().and_then(|relay| relay.join().ok()).expect("the relay has run until now");
        let of_most = directions.map(|mut direction| {
            direction.late.sort_unstable();
            let late = direction.late.get(direction.late.len() * 99 / 100).copied().unwrap_or_default();
            Duration::from_nanos(late.as_nanos())
        });
        of_most[0].max(of_most[1])
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}

/// A socket with receive timestamps of the kernel.
fn bind(address: SocketAddr) -> io::Result<Socket> {
    Socket::bind(Carrier::Udp, address, 4 << 20)
}

/// Gives this thread real-time priority, so that the path does not depend on other load. False if that is not permitted.
fn run_first() -> bool {
    let tid = rustix::thread::gettid().as_raw_nonzero().to_string();
    let done = Command::new("chrt").args(["--fifo", "--pid", "20", &tid]).output();
    done.is_ok_and(|out| out.status.success())
}

/// Reads the received packets; the time of each packet is the kernel's.
fn read(socket: &mut Socket, begin: Instant, mut take: impl FnMut(Duration, SocketAddr, &[u8])) {
    while let Ok(runs @ 1..) = socket.receive() {
        let now = begin.elapsed();
        for run in 0..runs {
            let at = now.saturating_sub(socket.age(run));
            let (from, _, datagrams) = socket.received(run);
            for datagram in datagrams {
                take(at, from, datagram);
            }
        }
    }
}

fn send(socket: &Socket, to: SocketAddr, packet: &[u8]) {
    // A packet that the kernel has no room for is lost, as on any path.
    let part = Part {
        to,
        from: None,
        start: 0,
        end: packet.len(),
        segment: packet.len(),
        fragments: false,
        capable: false,
    };
    let _ = socket.send(packet, &part);
}

fn relay(
    path: Path,
    seed: u64,
    mut near: Socket,
    mut far: Socket,
    server: SocketAddr,
    done: &Mutex<[Stats; 2]>,
    stop: &AtomicBool,
) -> [Lane; 2] {
    run_first();
    let begin = Instant::now();
    let mut there = Lane::new(path, seed, "relay/forward");
    let mut back = Lane::new(path, seed, "relay/reverse");
    let mut client = None;
    let poller = Poller::new().expect("a poller");
    // SAFETY: both sockets are taken out again below, before they are dropped.
    unsafe {
        poller.add_with_mode(near.io(), Event::readable(0), PollMode::Level).expect("a socket to wait for");
        poller.add_with_mode(far.io(), Event::readable(1), PollMode::Level).expect("a socket to wait for");
    }
    let mut events = Events::new();
    while !stop.load(Ordering::Relaxed) {
        read(&mut near, begin, |at, from, packet| {
            client = Some(from);
            there.take(time(at), packet);
        });
        read(&mut far, begin, |at, _, packet| back.take(time(at), packet));
        while let Some(packet) = there.next(time(begin.elapsed())) {
            send(&far, server, &packet);
        }
        while let Some(packet) = back.next(time(begin.elapsed())) {
            client.inspect(|client| send(&near, *client, &packet));
        }
        let due = there.due().into_iter().chain(back.due()).min();
        let patience = due.map_or(PATIENCE, |due| {
            Duration::from_nanos(due.since(time(begin.elapsed())).as_nanos()).min(PATIENCE)
        });
        *done.lock().expect("nobody panics with it") = [there.stats(), back.stats()];
        events.clear();
        let _ = poller.wait(&mut events, Some(patience));
    }
    let _ = (poller.delete(near.io()), poller.delete(far.io()));
    [there, back]
}

/// Longest wait of the relay without an event.
const PATIENCE: Duration = Duration::from_millis(20);
