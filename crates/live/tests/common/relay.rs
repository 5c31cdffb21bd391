//! A path between two network namespaces: rate, delay, a queue, and everything that the Internet does to packets.
//!
//! Follows `skyhop_link` for the order of things: queue, transmitter, errors, delay.
//! Differs: time is the clock's, so packets may leave late; by how much is counted.
//! Leaves out more than two hosts.

use skyhop_chance::{Seed, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What the path does, each way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub rate_bps: f64,
    pub delay: Duration,
    pub queue_bytes: f64,
    pub lost: f64,
    pub duplicated: f64,
    pub reordered: f64,
    pub corrupted: f64,
}

/// What it has done, both ways.
#[derive(Debug, Default)]
pub struct Done {
    pub forwarded: AtomicU64,
    pub lost: AtomicU64,
    pub duplicated: AtomicU64,
    pub reordered: AtomicU64,
    pub corrupted: AtomicU64,
    pub overflown: AtomicU64,
    /// Packets that left more than 5 ms after their time.
    pub late: AtomicU64,
}

/// Two namespaces with a relay in a third. They vanish with the threads that are in them, whatever happens.
pub struct Net {
    /// Where hosts of the first namespace reach the second.
    pub far: SocketAddr,
    /// The address of the second namespace.
    pub server: SocketAddr,
    pub done: Arc<Done>,
    left: Namespace,
    right: Namespace,
    stop: Arc<AtomicBool>,
    relay: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own, which does what it is sent.
struct Namespace {
    path: PathBuf,
    jobs: mpsc::Sender<Job>,
}

impl Namespace {
    fn new() -> io::Result<Self> {
        let (tell, told) = mpsc::channel();
        let (jobs, inbox) = mpsc::channel::<Job>();
        thread::spawn(move || {
            // SAFETY: a namespace for the network changes no memory and no file descriptor of this thread.
            let done = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) };
            let tid = rustix::thread::gettid().as_raw_nonzero();
            let path = PathBuf::from(format!("/proc/{}/task/{tid}/ns/net", std::process::id()));
            let _ = tell.send(done.map(|()| path).map_err(io::Error::from));
            if done.is_ok() {
                for job in inbox {
                    job();
                }
            }
        });
        Ok(Namespace { path: told.recv().expect("the thread tells")?, jobs })
    }

    /// Does something in the namespace and waits for it.
    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = mpsc::channel();
        let sent = self.jobs.send(Box::new(move || {
            let _ = tell.send(job());
        }));
        sent.expect("the thread is there");
        told.recv().expect("the job ends")
    }
}

/// Calls `ip` in the namespace of this thread.
pub fn ip(args: &str) -> io::Result<()> {
    let out = Command::new("ip").args(args.split_whitespace()).output()?;
    if out.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {args}: {}", String::from_utf8_lossy(&out.stderr).trim())))
}

impl Net {
    /// The namespaces with the path between them; the server is to listen at port 57824. The error says why there are none.
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
        let done = Arc::new(Done::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (counted, stopped) = (done.clone(), stop.clone());
        let relay =
            thread::spawn(move || relay(path, seed, &near_socket, &far_socket, server, &counted, &stopped));
        Ok(Net { far, server, done, left, right, stop, relay: Some(relay) })
    }

    /// Does something in the first namespace.
    pub fn left<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.left.run(job)
    }

    /// Does something in the second namespace.
    pub fn right<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.right.run(job)
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

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20)?;
    Ok(socket)
}

/// One direction.
struct Direction {
    path: Path,
    chance: Stream,
    free_at: Duration,
    number: u64,
    packets: BinaryHeap<Reverse<(Duration, u64, Vec<u8>)>>,
}

impl Direction {
    fn new(path: Path, seed: u64, name: &str) -> Self {
        let chance = Seed(seed).stream(name);
        Direction { path, chance, free_at: Duration::ZERO, number: 0, packets: BinaryHeap::new() }
    }

    fn take(&mut self, now: Duration, packet: &[u8], done: &Done) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let waits = self.free_at.saturating_sub(now);
        if waits.as_secs_f64() * self.path.rate_bps / 8.0 > self.path.queue_bytes {
            count(&done.overflown);
            return;
        }
        // With the headers of UDP and IP, as a link would count.
        let serialisation = (packet.len() + 28) as f64 * 8.0 / self.path.rate_bps;
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(serialisation);
        if self.chance.happens(self.path.lost) {
            count(&done.lost);
            return;
        }
        let mut packet = packet.to_vec();
        if self.chance.happens(self.path.corrupted) {
            count(&done.corrupted);
            let at = (self.chance.uniform() * packet.len() as f64) as usize;
            packet[at] ^= 1 << (self.chance.bits() % 8);
        }
        let mut due = self.free_at + self.path.delay;
        if self.chance.happens(self.path.reordered) {
            count(&done.reordered);
            due += Duration::from_secs_f64(0.003 * self.chance.uniform());
        }
        if self.chance.happens(self.path.duplicated) {
            count(&done.duplicated);
            self.number += 1;
            self.packets.push(Reverse((due + Duration::from_millis(1), self.number, packet.clone())));
        }
        self.number += 1;
        self.packets.push(Reverse((due, self.number, packet)));
    }

    fn next(&mut self, now: Duration, done: &Done) -> Option<Vec<u8>> {
        let Reverse((due, ..)) = self.packets.peek()?;
        if *due > now {
            return None;
        }
        done.late.fetch_add(u64::from(now - *due > Duration::from_millis(5)), Ordering::Relaxed);
        done.forwarded.fetch_add(1, Ordering::Relaxed);
        self.packets.pop().map(|Reverse((_, _, packet))| packet)
    }
}

fn relay(
    path: Path,
    seed: u64,
    near: &UdpSocket,
    far: &UdpSocket,
    server: SocketAddr,
    done: &Done,
    stop: &AtomicBool,
) {
    let begin = Instant::now();
    let mut there = Direction::new(path, seed, "relay/forward");
    let mut back = Direction::new(path, seed, "relay/reverse");
    let mut client = None;
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        while let Ok((len, from)) = near.recv_from(&mut buffer) {
            client = Some(from);
            there.take(begin.elapsed(), &buffer[..len], done);
        }
        while let Ok((len, _)) = far.recv_from(&mut buffer) {
            back.take(begin.elapsed(), &buffer[..len], done);
        }
        let now = begin.elapsed();
        while let Some(packet) = there.next(now, done) {
            let _ = far.send_to(&packet, server);
        }
        while let Some(packet) = back.next(now, done) {
            let _ = client.map(|client| near.send_to(&packet, client));
        }
        thread::sleep(Duration::from_micros(100));
    }
}
