//! A path whose MTU decreases and increases under a connection: three hosts, of which the middle one is the kernel's router.
//!
//! Follows docs/stp.md §6.4: the packet size falls, older packets are fragmented, and the connection continues.
//! Differs from `namespaces`: no delay and no losses; the router's interface changes its MTU, and its ICMP is blocked or not.
//! Leaves out the search from the start, which `namespaces` has.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

#[path = "common/namespace.rs"]
mod namespace;

use namespace::{Namespace, ip};
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const BLOCK: usize = 200_000;

/// Host, router, host.
struct Path {
    near: Namespace,
    router: Namespace,
    far: Namespace,
}

fn tid(of: &Namespace) -> String {
    let path = of.path.to_string_lossy().into_owned();
    path.split('/').nth(4).expect("/proc/PID/task/TID/ns/net").into()
}

impl Path {
    fn new() -> io::Result<Self> {
        let path = Path { near: Namespace::new()?, router: Namespace::new()?, far: Namespace::new()? };
        for (host, number) in [(&path.near, 1), (&path.far, 2)] {
            let router = tid(&path.router);
            host.run(move || {
                ip(&format!("link add eth0 type veth peer name r{number} netns {router}"))?;
                ip(&format!("addr add 10.0.{number}.2/24 dev eth0"))?;
                ip(&format!("addr add fd00:{number}::2/64 dev eth0 nodad"))?;
                ip("link set lo up")?;
                ip("link set eth0 up")
            })?;
            path.router.run(move || {
                ip(&format!("addr add 10.0.{number}.1/24 dev r{number}"))?;
                ip(&format!("addr add fd00:{number}::1/64 dev r{number} nodad"))?;
                ip(&format!("link set r{number} up"))
            })?;
            host.run(move || {
                ip(&format!("route add default via 10.0.{number}.1"))?;
                ip(&format!("-6 route add default via fd00:{number}::1"))
            })?;
        }
        path.router.run(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
        })?;
        Ok(path)
    }

    fn set_mtu(&self, mtu: u32) {
        self.router.run(move || ip(&format!("link set r2 mtu {mtu}"))).unwrap();
    }
}

fn path() -> Option<Path> {
    match Path::new() {
        Ok(path) => Some(path),
        Err(e) => {
            println!("skipped: no hosts of our own here: {e}");
            None
        }
    }
}

/// A reader that counts the bytes received, all of them as they were written.
fn count(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<u64> {
    thread::spawn(move || {
        let (mut buffer, mut came) = (vec![0; 65_536], 0u64);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return came,
                len => {
                    for (at, byte) in buffer[..len].iter().enumerate() {
                        assert_eq!(*byte, value(came + at as u64));
                    }
                    came += len as u64;
                }
            }
        }
    })
}

fn value(at: u64) -> u8 {
    (at % 251) as u8
}

/// One transfer, over a path whose MTU changes every half second; the longest time for a block.
fn transfer(path: &Path, far: IpAddr, mtus: &[u32]) -> Duration {
    let keys = Keys::generate_shared();
    let options = || Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))));
    let (near_options, far_options) = (options(), options());
    // A port of its own: a server of before may not have let go of its.
    static PORTS: AtomicU16 = AtomicU16::new(4000);
    let far = SocketAddr::new(far, PORTS.fetch_add(1, Ordering::Relaxed));
    let any = SocketAddr::new(if far.is_ipv4() { [0; 4].into() } else { IpAddr::from([0u16; 8]) }, 0);
    let server = path.far.run(move || Endpoint::bind(far, far_options)).unwrap();
    let listener = server.listen();
    let client = path.near.run(move || Endpoint::bind(any, near_options)).unwrap();
    path.set_mtu(1500);
    let mut stream = client.connect(far).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let (mut written, mut longest, mut reader) = (0u64, Duration::ZERO, None);
    for &mtu in mtus {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(500) {
            let block: Vec<u8> = (written..written + BLOCK as u64).map(value).collect();
            let at = Instant::now();
            stream.write_all(&block).unwrap();
            longest = longest.max(at.elapsed());
            written += BLOCK as u64;
            reader.get_or_insert_with(|| count(listener.accept_timeout(PATIENCE).unwrap().0));
        }
        path.set_mtu(mtu);
    }
    stream.finish(Some(PATIENCE)).unwrap();
    assert_eq!(reader.expect("begun").join().unwrap(), written);
    println!("{far}: {written} bytes, the longest block took {longest:?}");
    longest
}

/// Asserts that no block takes longer, of transfers of which other programs have kept all but one from running.
fn within(most: Duration, path: &Path, far: &str, mtus: &[u32]) {
    let mut tries = Vec::new();
    while tries.len() < 3 {
        let longest = transfer(path, far.parse().unwrap(), mtus);
        if longest < most {
            return;
        }
        tries.push(longest);
    }
    panic!("{tries:?}");
}

/// The packet size falls to the path MTU, by a third and below the size confirmed at the start, and rises: nothing is lost, no
/// connection ends.
#[test]
fn a_connection_outlives_a_path_that_becomes_narrower() {
    let Some(path) = path() else { return };
    for far in ["10.0.2.2", "fd00:2::2"] {
        within(Duration::from_secs(5), &path, far, &[1400, 1500, 1280, 1500, 1400]);
    }
    // IPv4 may be narrower than any IPv6.
    within(Duration::from_secs(8), &path, "10.0.2.2", &[1000, 576, 1500]);
}

/// The same without messages: the router's ICMP is blocked.
#[test]
fn nobody_has_to_say_that_a_path_became_narrower() {
    let Some(path) = path() else { return };
    let silent = path.near.run(|| {
        // A packet from the router itself has no way into this host.
        ip("rule add from 10.0.1.1 blackhole")
    });
    if let Err(e) = silent {
        println!("skipped: {e}");
        return;
    }
    within(Duration::from_secs(8), &path, "10.0.2.2", &[1400, 1280, 1000]);
}
