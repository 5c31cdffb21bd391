//! A TCP endpoint on one side of a TUN device, the kernel of a network namespace on the other, and a path between them.
//!
//! Follows the kernel's Documentation/networking/tuntap.rst: a read returns a packet that the kernel sends, a write delivers one to
//! it. The path is `skyhop_link` in both directions.
//! Differs from a network: packets leave when this thread runs.
//! Leaves out more than one connection at a time.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use super::lane::{Lane, Path};
use super::namespace::{Namespace, ip};
use polling::{Event, Events, PollMode, Poller};
use rustix::ioctl::{Updater, ioctl};
use skyhop_link::{Duplication, Reordering, Stats};
use skyhop_transport::tcp::{Carry, Config};
use skyhop_units::{Bytes, Rate, Span, Time};
use skyhop_wire::{Transport, Version, parse};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::time::{Duration, Instant};

/// Addresses of the kernel and of the other end; 10.0.0.1 is 2001:db8::a00:1.
pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub const PORT: u16 = 57_824;

/// An address as a socket of the kernel's names it.
pub fn address(of: Ipv4Addr, version: Version) -> IpAddr {
    match version {
        Version::V4 => of.into(),
        Version::V6 => {
            let [a, b, c, d] = of.octets().map(u16::from);
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, a << 8 | b, c << 8 | d).into()
        }
    }
}

/// `TUNSETIFF`, and the flags of `struct ifreq`: packets without a header of the device.
const TUNSETIFF: rustix::ioctl::Opcode = 0x4004_54ca;
const IFF_TUN_NO_PI: u16 = 0x1001;

/// A TUN device in the namespace of this thread.
fn open() -> io::Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut request = [0u8; 40];
    request[..4].copy_from_slice(b"tun0");
    request[16..18].copy_from_slice(&IFF_TUN_NO_PI.to_ne_bytes());
    // SAFETY: the kernel reads and writes a `struct ifreq`, which has 40 bytes on 64-bit machines and fewer on others.
    unsafe { ioctl(&file, Updater::<TUNSETIFF, _>::new(&mut request)) }?;
    ip("link set lo up")?;
    for address in [address(KERNEL, Version::V4), address(KERNEL, Version::V6)] {
        let (bits, more) = if address.is_ipv4() { (24, "") } else { (96, "nodad") };
        ip(&format!("addr add {address}/{bits} dev tun0 {more}"))?;
    }
    ip("link set tun0 mtu 1500 up")?;
    Ok(file)
}

/// Probabilities of the path's effects on packets, in each direction.
#[derive(Clone, Copy)]
pub struct Errors {
    pub lost: f64,
    pub late: f64,
    pub doubled: f64,
    pub corrupted: f64,
}

pub const CLEAN: Errors = Errors { lost: 0.0, late: 0.0, doubled: 0.0, corrupted: 0.0 };

/// The endpoint, the path and the device.
pub struct Tun {
    pub carry: Option<Carry>,
    /// Configuration of an endpoint created for an arriving SYN.
    pub config: Config,
    pub kernel: Namespace,
    file: File,
    poller: Poller,
    begin: Instant,
    /// To the kernel, and from it.
    lanes: [Lane; 2],
}

impl Tun {
    /// A path with a one-way delay. The error has the reason if there is none.
    pub fn new(errors: Errors, delay: Span, seed: u64) -> io::Result<Self> {
        let kernel = Namespace::new()?;
        let file = kernel.run(open)?;
        rustix::io::ioctl_fionbio(&file, true)?;
        let poller = Poller::new()?;
        // SAFETY: the device is taken out again before it is dropped.
        unsafe { poller.add_with_mode(&file, Event::readable(0), PollMode::Level) }?;
        let path = Path {
            rate: Rate::mbit(400),
            delay,
            queue: Bytes::new(1_500_000),
            headers: 0,
            lost: errors.lost,
            corrupted: errors.corrupted,
            reordering: Reordering { probability: errors.late, delay: Span::from_millis(2) },
            duplication: Duplication { probability: errors.doubled, delay: Span::from_millis(1) },
        };
        let lanes = ["there", "back"].map(|name| Lane::new(path, seed, name));
        Ok(Tun { carry: None, config: Config::default(), kernel, file, poller, begin: Instant::now(), lanes })
    }

    /// An end that connects to a port of the kernel's.
    pub fn connect(&mut self, port: u16) {
        let (local, remote) = (SocketAddrV4::new(OURS, 40_000), SocketAddrV4::new(KERNEL, port));
        self.carry = Some(Carry::connect(self.config.clone(), local, remote, 0xffff_f000));
    }

    /// Counters of the path: to the kernel, and from it.
    pub fn stats(&self) -> [Stats; 2] {
        self.lanes.each_ref().map(Lane::stats)
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.begin.elapsed().as_nanos() as u64)
    }

    /// Reads received packets, sends those that are due, and waits for more, at most until one is due.
    pub fn step(&mut self) {
        let mut buffer = [0; 2048];
        while let Ok(size @ 1..) = self.file.read(&mut buffer) {
            let now = self.now();
            self.lanes[1].take(now, &buffer[..size]);
        }
        while let Some(bytes) = self.arrived(1) {
            let now = self.now();
            if self.carry.is_none()
                && let Ok(packet) = parse(&bytes)
                && matches!(&packet.transport, Transport::Tcp(tcp) if tcp.destination_port == PORT)
            {
                self.carry = Carry::accept(self.config.clone(), &packet, 0xffff_f000);
            }
            if let Some(carry) = &mut self.carry {
                // It counts what it does not understand.
                let _ = carry.handle_bytes(now, &bytes);
            }
        }
        let now = self.now();
        if let Some(carry) = &mut self.carry {
            if carry.poll_timeout().is_some_and(|at| at <= now) {
                carry.handle_timeout(now);
            }
            let mut out = Vec::new();
            while carry.transmit(now, &mut out) {
                self.lanes[0].take(now, &out);
                out.clear();
            }
        }
        while let Some(bytes) = self.arrived(0) {
            // A packet that the kernel does not take is lost, as on any path.
            let _ = self.file.write(&bytes);
        }
        self.wait();
    }

    fn arrived(&mut self, lane: usize) -> Option<Vec<u8>> {
        let now = self.now();
        self.lanes[lane].next(now)
    }

    fn wait(&mut self) {
        let timer = self.carry.as_ref().and_then(Carry::poll_timeout);
        let due = self.lanes.iter().filter_map(Lane::due).chain(timer).min();
        let patience = due.map_or(PATIENCE, |at| at.since(self.now()).as_nanos().into()).min(PATIENCE);
        if patience > 0 {
            let mut events = Events::new();
            let _ = self.poller.wait(&mut events, Some(Duration::from_nanos(patience as u64)));
        }
    }
}

/// Longest wait without an event, nanoseconds: the application may have data.
const PATIENCE: u128 = 1_000_000;

impl Drop for Tun {
    fn drop(&mut self) {
        let _ = self.poller.delete(&self.file);
    }
}
