//! `skyhop stp serve` among strangers and greedy guests: what they cost, and who is served meanwhile.
//!
//! Follows docs/stp-hosts.md; a real server process, whose resident memory is read, and packets of peers that do not behave.
//! Differs from `skyhop-live`'s `strangers`: here are the command's places, files and buffers.
//! Leaves out attacks on the opening of associations, which that has.

#![expect(clippy::disallowed_methods, reason = "a server that is attacked is measured by the clock")]

mod common;
#[path = "common/hosts.rs"]
mod hosts;

use common::{code, skyhop, stderr};
use hosts::{Folder, Server, key, start};
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security, StpStream};
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const MB: u64 = 1_000_000;

/// Resident memory of a process, bytes.
fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// A request for a file (2), or an announcement of one (1).
fn request(ask: u8, name: &str) -> Vec<u8> {
    let mut bytes = b"SKYSTP-1".to_vec();
    bytes.push(ask);
    bytes.extend_from_slice(&u64::MAX.to_be_bytes());
    bytes.extend_from_slice(&(name.len() as u16).to_be_bytes());
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

/// A plain packet with BGN, POLL and these data, checksum and all.
fn opening(to: SocketAddr, port: u16, count: u32, data: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    packet.extend_from_slice(&port.to_be_bytes());
    packet.extend_from_slice(&to.port().to_be_bytes());
    packet.extend_from_slice(&[0x13, 0, 0, 1, 0, 0, 0, 7]);
    // BGN: version 1, no features, 1400 bytes an SD, first 1, 50,000 SDs are taken.
    packet.extend_from_slice(&[1, 0, 5, 0x78, 0, 0, 0, 1, 0, 0, 0xc3, 0x50]);
    packet.extend_from_slice(&count.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 1]);
    packet.extend_from_slice(data);
    let mut sum = packet
        .chunks(2)
        .map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)))
        .sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[8..10].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet
}

#[test]
fn addresses_that_nobody_has_proven_cost_little() {
    let folder = Folder::new("spoofed");
    folder.file("in/big.bin", 64_000_000);
    folder.file("in/small.bin", 100_000);
    let server = Server::new(&["--insecure", "--dir", &folder.path("in")]);
    let to: SocketAddr = server.address.parse().unwrap();
    let receive = |out: &str| {
        let begin = Instant::now();
        let done = skyhop(&[
            "stp",
            "receive",
            "small.bin",
            &server.address,
            "--insecure",
            "--out",
            &folder.path(out),
        ]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        begin.elapsed()
    };
    receive("before.bin");
    let before = resident(&server);
    let sockets: Vec<_> =
        (1..=50).map(|n| UdpSocket::bind(SocketAddr::from(([127, 8, 0, n], 0))).unwrap()).collect();
    for n in 0..1000_u32 {
        let packet = opening(to, 40_000 + n as u16, n, &request(2, "big.bin"));
        sockets[n as usize % 50].send_to(&packet, to).unwrap();
        if n % 50 == 49 {
            pause(5);
        }
    }
    // The first one is answered.
    sockets[0].set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert!(sockets[0].recv(&mut [0; 2000]).unwrap() > 12);
    pause(1000);
    let grown = resident(&server).saturating_sub(before);
    let took = receive("during.bin");
    println!("1,000 spoofed openings: {} kB; a file of 100 kB meanwhile in {took:?}", grown / 1000);
    assert!(grown < 16 * MB, "{grown} bytes");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

fn options(key: &str) -> Options {
    let keys = Keys::read(key.as_ref(), &[]).unwrap();
    Options::new(Security::Sealed(Box::new(Config::new(keys))))
}

#[test]
fn readers_that_do_not_read_hold_little() {
    let folder = Folder::new("unread");
    let key = key(&folder, "link.key");
    folder.file("in/big.bin", 64_000_000);
    let server = Server::new(&["--key", &key, "--dir", &folder.path("in")]);
    let to: SocketAddr = server.address.parse().unwrap();
    let before = resident(&server);
    let mut options = options(&key);
    // A window that is full long before the file is sent.
    options.stp.window = 2_000_000;
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), options).unwrap();
    let streams: Vec<StpStream> = (0..10)
        .map(|_| {
            let mut stream = endpoint.connect(to).unwrap();
            stream.write_all(&request(2, "big.bin")).unwrap();
            stream
        })
        .collect();
    let begin = Instant::now();
    while endpoint.memory() < 10 * 1_500_000 && begin.elapsed() < Duration::from_secs(20) {
        pause(20);
    }
    assert!(endpoint.memory() >= 10 * 1_500_000, "{} bytes have come", endpoint.memory());
    pause(500);
    let grown = resident(&server).saturating_sub(before);
    println!("ten readers that do not read: {} kB", grown / 1000);
    assert!((MB..64 * MB).contains(&grown), "{grown} bytes");
    drop(streams);
}

#[test]
fn transfers_that_say_nothing_leave_their_places_to_others() {
    let folder = Folder::new("places");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 1_000_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let to: SocketAddr = server.address.parse().unwrap();
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), options(&key)).unwrap();
    let first = Instant::now();
    let silent: Vec<StpStream> = (0..64)
        .map(|n| {
            let mut stream = endpoint.connect(to).unwrap();
            stream.write_all(&request(1, &format!("silent-{n}"))).unwrap();
            stream.wait_connected(Some(Duration::from_secs(10))).unwrap();
            stream
        })
        .collect();
    pause(1000);
    let begin = Instant::now();
    let data = folder.path("data.bin");
    let sender = start(&["stp", "send", &data, &server.address, "--key", &key]);
    let done = sender.wait_with_output().unwrap();
    let took = begin.elapsed();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    println!("64 silent transfers: the next was done after {took:?}");
    // Ten seconds of silence are allowed to the first of them; then it goes at once.
    let since_first = first.elapsed();
    assert!(
        since_first > Duration::from_secs(9) && took < Duration::from_secs(40),
        "{since_first:?}, {took:?}"
    );
    drop(silent);
}

#[test]
fn a_budget_too_small_for_one_stream_is_refused() {
    let out = skyhop(&[
        "stp",
        "serve",
        "--insecure",
        "--dir",
        ".",
        "--listen",
        "127.0.0.1:0",
        "--memory",
        "100 kB",
    ]);
    assert_eq!(code(&out), 2);
    assert!(
        stderr(&out).contains("error: --memory: 100 kB is too small for one stream: at least 262.144 kB"),
        "{}",
        stderr(&out)
    );
}
