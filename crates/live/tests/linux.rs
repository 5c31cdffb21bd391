//! This machine's kernel against the limits of `host = "linux"`: windows and buffers in bytes of payload, measured between two
//! namespaces.
//!
//! The numbers are those of Linux 6.18 with its default `tcp_rmem` and `tcp_wmem`; with another kernel or other limits the test
//! prints that there is nothing to compare. Leaves out the growth of windows, which needs a path.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Bytes of window: the first; the largest part of the buffer's memory that is window with full frames; the largest.
const WINDOW: u64 = 64_240;
const WINDOW_SHARE: (u64, u64) = (162, 256);
const WINDOW_MAX: u64 = 21_233_664;
/// Bytes of payload in the send buffer: the memory of a segment, of which a window of ten segments has twenty; the largest.
const SEGMENT_MEMORY: u64 = 2_304;
const SEND_BUFFER_MAX: u64 = 4_150_000;

fn limits(name: &str) -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// The reason if this is not the kernel of the numbers.
fn other_kernel() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (rmem, wmem) = (limits("tcp_rmem"), limits("tcp_wmem"));
    let same = release.starts_with("6.18.")
        && rmem == Some(vec![4_096, 131_072, 33_554_432])
        && wmem == Some(vec![4_096, 16_384, 4_194_304]);
    (!same).then(|| format!("Linux {}, tcp_rmem {rmem:?}, tcp_wmem {wmem:?}", release.trim()))
}

/// Moves the thread into a network namespace of its own.
fn enter_namespace() -> std::io::Result<String> {
    // SAFETY: a namespace for the network changes no memory and no file descriptor of this thread.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }?;
    Ok(format!("/proc/{}/task/{}/ns/net", std::process::id(), rustix::thread::gettid().as_raw_nonzero()))
}

fn run(command: &str) -> String {
    let mut words = command.split_whitespace();
    let out = Command::new(words.next().unwrap()).args(words).output().expect(command);
    assert!(out.status.success(), "{command}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Number after `key` in the output of `ss -tmin` for the only connection.
fn number(ss: &str, key: &str) -> u64 {
    let rest = &ss[ss.find(key).unwrap_or_else(|| panic!("{key} in {ss}")) + key.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn unacknowledged(ss: &str) -> u64 {
    let line = ss.lines().find(|line| line.starts_with("ESTAB")).expect("a connection");
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// Two ends of a connection, each in its namespace; the sender joins at most `segments`. Returns the results of both.
fn between<A: Send + 'static, B: Send + 'static>(
    segments: u32,
    client: impl FnOnce(TcpStream) -> A + Send + 'static,
    server: impl FnOnce(TcpStream) -> B + Send + 'static,
) -> std::io::Result<(A, B)> {
    let (tell_path, path) = mpsc::channel();
    let (tell_ready, ready) = mpsc::channel();
    let (tell_link, link) = mpsc::channel();
    let serving = thread::spawn(move || {
        tell_path.send(enter_namespace()).unwrap();
        link.recv().unwrap();
        run("ip addr add 198.18.2.2/24 dev eth0");
        run("ip link set eth0 up");
        let listener = TcpListener::bind((Ipv4Addr::new(198, 18, 2, 2), 57_824)).unwrap();
        tell_ready.send(()).unwrap();
        server(listener.accept().unwrap().0)
    });
    let path = path.recv().unwrap()?;
    let calling = thread::spawn(move || {
        enter_namespace().unwrap();
        run(&format!("ip link add eth0 type veth peer name eth0 netns {path}"));
        run("ip addr add 198.18.2.1/24 dev eth0");
        run(&format!("ip link set eth0 up gso_max_segs {segments}"));
        tell_link.send(()).unwrap();
        ready.recv().unwrap();
        client(TcpStream::connect((Ipv4Addr::new(198, 18, 2, 2), 57_824)).unwrap())
    });
    Ok((calling.join().unwrap(), serving.join().unwrap()))
}

fn read(stream: &mut TcpStream, mut bytes: usize) {
    let mut buffer = vec![0; 1 << 20];
    while bytes > 0 {
        let most = bytes.min(buffer.len());
        bytes -= stream.read(&mut buffer[..most]).unwrap();
    }
}

/// Returns true if a share of the receiver's memory, of 256, is that of full frames.
fn expected_share(share: u64) -> bool {
    (WINDOW_SHARE.0..WINDOW_SHARE.0 + 2).contains(&share)
}

#[test]
fn windows_and_buffers_are_those_of_the_named_kernel() {
    if let Some(found) = other_kernel() {
        println!("skipped: the numbers are of Linux 6.18 with its own limits, and this is {found}");
        return;
    }
    assert_eq!(131_072 / 2 / 1_460 * 1_460, WINDOW);
    assert_eq!(33_554_432 * WINDOW_SHARE.0 / WINDOW_SHARE.1, WINDOW_MAX);

    // A frame for each segment, as a network card has them. The window is told in units of 1024 bytes.
    const BYTES: usize = 30_000_000;
    let transfer = || {
        between(
            1,
            |mut stream| {
                let before = run("ss -tmin");
                stream.write_all(&vec![0; BYTES]).unwrap();
                let mut last = [0];
                stream.read_exact(&mut last).unwrap();
                before
            },
            |mut stream| {
                let before = run("ss -tmin");
                read(&mut stream, BYTES);
                let after = run("ss -tmin");
                stream.write_all(&[0]).unwrap();
                (before, after)
            },
        )
    };
    // The kernel takes a mean over the frames that it has seen, and short ones, which a busy machine makes, pull it down.
    const TRIES: usize = 5;
    let mut sender = String::new();
    let mut shares = Vec::new();
    while shares.len() < TRIES && !shares.iter().any(|share| expected_share(*share)) {
        let (sent, (before, after)) = match transfer() {
            Ok(found) => found,
            Err(e) => return println!("skipped: no network namespaces here: {e} (root is needed)"),
        };
        sender = sent;
        assert_eq!(number(&before, "snd_wnd:"), WINDOW.next_multiple_of(1024));
        let (window, memory) = (number(&after, "rcv_ssthresh:"), number(&after, ",rb"));
        let share = window as f64 / memory as f64 * 256.0;
        println!("a window of {window} in {memory} bytes of memory, {share:.1} of 256");
        shares.push((window * 256).div_ceil(memory));
    }
    assert!(shares.iter().any(|share| expected_share(*share)), "{shares:?} of 256");
    assert!(shares.iter().all(|share| *share < WINDOW_SHARE.0 + 2), "{shares:?} of 256");
    // Two windows of ten segments; BBR has three.
    let windows = if sender.contains(" bbr ") { 3 } else { 2 };
    assert_eq!(number(&sender, ",tb"), windows * 10 * SEGMENT_MEMORY);

    // Segments joined to large ones, as each current card lets the kernel do: most of the memory is payload.
    let fill = || {
        let (tell, measured) = mpsc::channel();
        between(
            65_535,
            move |mut stream| {
                read(&mut stream, 200_000_000);
                // It stays open until the other end has been looked at.
                let _ = measured.recv_timeout(Duration::from_secs(60));
            },
            move |mut stream| {
                let buffer = vec![0; 1 << 16];
                socket2::SockRef::from(&stream).set_tcp_congestion(b"reno").unwrap();
                stream.write_all(&vec![0; 200_000_000]).unwrap();
                stream.set_nonblocking(true).unwrap();
                // The reader has stopped: its window fills up first, and then the buffer.
                for _ in 0..10 {
                    loop {
                        match stream.write(&buffer) {
                            Ok(_) => {}
                            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                            Err(e) => panic!("the reader has gone: {e}"),
                        }
                    }
                    thread::sleep(Duration::from_millis(50));
                }
                let filled = run("ss -tmin");
                let _ = tell.send(());
                filled
            },
        )
        .unwrap()
        .1
    };
    // The buffer grows with the congestion window, which a busy machine may stop short of the largest.
    let mut tries = (0..TRIES).map(|_| {
        let filled = fill();
        let (payload, memory) = (unacknowledged(&filled), number(&filled, ",tb"));
        println!("{payload} bytes of payload in {memory} of memory");
        (payload, memory)
    });
    let (payload, memory) =
        tries.find(|(_, memory)| *memory >= 4_194_304).expect("a buffer of 4 MB in one of the tries");
    assert_eq!(memory, 4_194_304);
    // All at once it is 0.99 of the memory; what comes in as small pieces become free takes more, down to 0.55.
    assert!((SEND_BUFFER_MAX * 55 / 100..=SEND_BUFFER_MAX * 102 / 100).contains(&payload), "{payload}");
}
