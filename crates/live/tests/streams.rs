//! Streams over real sockets on this host: they behave as TCP's, and report the reason of failures.
//!
//! Follows the conventions of `std::net`: half-close, both directions at once, addresses, refusals as kinds of `io::Error`.
//! Differs: when `finish` returns, all written data have arrived.
//! Leaves out delay and loss, which `namespaces` has.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

#[path = "common/hosts.rs"]
mod hosts;

use hosts::{any, options};
use skyhop_live::keys::Keys;
use skyhop_live::socket::{Carrier, Part, Socket};
use skyhop_live::{Endpoint, Options, StpListener, StpStream};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes that differ by position.
fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|n| (n as u8) ^ (n >> 8) as u8 ^ (n >> 16) as u8 ^ salt).collect()
}

fn kinds() -> [Option<Keys>; 2] {
    [Some(Keys::generate_shared()), None]
}

#[test]
fn both_directions_carry_and_close_by_themselves() {
    for keys in kinds() {
        let listener = StpListener::bind(any(), options(keys.as_ref())).unwrap();
        let server = listener.local_addr().unwrap();
        let there = pattern(3_000_000, 1);
        let back = pattern(2_000_000, 2);
        let (expected, answer) = (there.clone(), back.clone());
        let far = thread::spawn(move || {
            let (mut stream, peer) = listener.accept().unwrap();
            assert_eq!(stream.peer_addr().unwrap(), peer);
            let mut received = Vec::new();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == expected);
            // The peer has closed its direction; this one still works.
            stream.write_all(&answer).unwrap();
            stream.finish(Some(PATIENCE)).unwrap();
            assert_eq!(stream.stats().acknowledged, answer.len() as u64);
        });
        let mut stream = StpStream::connect(server, options(keys.as_ref())).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), server);
        assert_ne!(stream.local_addr().unwrap().port(), 0);
        stream.write_all(&there).unwrap();
        stream.finish(Some(PATIENCE)).unwrap();
        let e = stream.write(b"more").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::BrokenPipe);
        let mut received = Vec::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == back);
        assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
        far.join().unwrap();
        let stats = stream.stats();
        assert_eq!((stats.acknowledged, stats.delivered), (3_000_000, 2_000_000));
        assert!(stats.traffic.bytes_sent > 3_000_000 && stats.traffic.bytes_sent < 3_500_000, "{stats:?}");
    }
}

#[test]
fn many_connections_share_an_association() {
    let keys = Keys::generate_shared();
    let listener = StpListener::bind(any(), options(Some(&keys))).unwrap();
    let server = listener.local_addr().unwrap();
    let far = thread::spawn(move || {
        for _ in 0..20 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut first = [0; 1];
            stream.read_exact(&mut first).unwrap();
            stream.write_all(&pattern(100_000, first[0])).unwrap();
            stream.finish(Some(PATIENCE)).unwrap();
        }
    });
    let client = Endpoint::bind(any(), options(Some(&keys))).unwrap();
    for n in 0..20_u8 {
        let mut stream = client.connect(server).unwrap();
        stream.write_all(&[n]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == pattern(100_000, n));
    }
    far.join().unwrap();
    let counters = client.counters().unwrap();
    assert!(counters.opened > 20 && counters.forged == 0 && counters.replayed == 0, "{counters:?}");
}

#[test]
fn what_goes_wrong_at_the_beginning_has_its_name() {
    let (ours, theirs) = (Keys::generate_shared(), Keys::generate_shared());
    // No peer: the kernel says so. Nobody else uses this address, so its port stays free.
    let alone = SocketAddr::from(([127, 77, 0, 2], 0));
    let free = UdpSocket::bind(alone).unwrap().local_addr().unwrap();
    let e = StpStream::connect(free, options(Some(&ours))).err().expect("nobody is there");
    assert_eq!(e.kind(), ErrorKind::ConnectionRefused, "{e}");
    // The port is in use.
    let taken = UdpSocket::bind(any()).unwrap();
    let e = StpListener::bind(taken.local_addr().unwrap(), options(Some(&ours))).err().expect("in use");
    assert_eq!(e.kind(), ErrorKind::AddrInUse, "{e}");
    // Another key.
    let listener = StpListener::bind(any(), options(Some(&theirs))).unwrap();
    let server = listener.local_addr().unwrap();
    let e = StpStream::connect(server, options(Some(&ours))).err().expect("another key");
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert_eq!(e.to_string(), format!("{server}: refused: the keys of the two hosts do not match"));
    // One encrypts and the other does not.
    let plain = StpStream::connect(server, options(None)).unwrap();
    let e = plain.wait_connected(Some(PATIENCE)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert!(e.to_string().contains("the peer speaks with encryption only"), "{e}");
    let listener = StpListener::bind(any(), options(None)).unwrap();
    let e =
        StpStream::connect(listener.local_addr().unwrap(), options(Some(&ours))).err().expect("plain only");
    assert!(e.to_string().contains("the peer speaks without encryption only"), "{e}");
    // Something else answers there.
    let other = UdpSocket::bind(any()).unwrap();
    let address = other.local_addr().unwrap();
    let chatter = thread::spawn(move || {
        let mut buffer = [0; 2000];
        for _ in 0..3 {
            let (_, from) = other.recv_from(&mut buffer).unwrap();
            other.send_to(b"HTTP/1.1 400 Bad Request\r\n", from).unwrap();
        }
    });
    let e = StpStream::connect(address, options(Some(&ours))).err().expect("another protocol");
    assert_eq!(e.kind(), ErrorKind::InvalidData);
    assert!(e.to_string().contains("does not use this protocol"), "{e}");
    chatter.join().unwrap();
    // Sizes that cannot be.
    for mtu in [0, 575, 65_536] {
        let mut options = options(Some(&ours));
        options.mtu = mtu;
        let e = StpListener::bind(any(), options).err().expect("no such MTU");
        assert_eq!(e.to_string(), format!("an MTU of {mtu} bytes; 576 to 65535 are possible"));
    }
}

#[test]
fn letting_go_with_data_unread_breaks_the_connection_off() {
    for keys in kinds() {
        let listener = StpListener::bind(any(), options(keys.as_ref())).unwrap();
        let mut stream = StpStream::connect(listener.local_addr().unwrap(), options(keys.as_ref())).unwrap();
        stream.write_all(&pattern(200_000, 0)).unwrap();
        let (far, _) = listener.accept().unwrap();
        let mut some = [0; 10];
        (&far).read_exact(&mut some).unwrap();
        drop(far);
        let e = stream.finish(Some(PATIENCE)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ConnectionReset, "{e}");
        let e = stream.read(&mut some).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ConnectionReset, "{e}");
    }
}

#[test]
fn a_slow_reader_holds_the_writer_back() {
    let keys = Keys::generate_shared();
    let small = |mut options: Options| {
        options.stp.window = 200_000;
        options.send_buffer = 100_000;
        options
    };
    let listener = StpListener::bind(any(), small(options(Some(&keys)))).unwrap();
    let stream = StpStream::connect(listener.local_addr().unwrap(), small(options(Some(&keys)))).unwrap();
    let data = pattern(2_000_000, 9);
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // A wait may be over because nobody ran meanwhile: five in a row without progress are the window's.
    let (mut written, mut waits) = (0, 0);
    while waits < 5 {
        match (&stream).write(&data[written..]) {
            Ok(n) => (written, waits) = (written + n, 0),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::TimedOut);
                waits += 1;
            }
        }
    }
    assert!((150_000..320_000).contains(&written), "{written} of window and buffer");
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let (far, _) = listener.accept().unwrap();
    let expected = data.clone();
    let reader = thread::spawn(move || {
        let mut received = Vec::new();
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        (&far).read_to_end(&mut received).unwrap();
        assert!(received == expected);
    });
    (&stream).write_all(&data[written..]).unwrap();
    stream.finish(Some(PATIENCE)).unwrap();
    reader.join().unwrap();
}

#[test]
fn an_unproven_address_gets_three_times_what_it_sends() {
    let listener = StpListener::bind(any(), options(None)).unwrap();
    let server = listener.local_addr().unwrap();
    // A BGN of a host that sends nothing else: the answer to it, and the application's, must stay small.
    let mut bgn = Vec::new();
    let begin = skyhop_wire::stp::Begin {
        version: skyhop_wire::stp::VERSION,
        features: Default::default(),
        max_payload: 1400,
        first: 1,
        credit: 10_000,
        count: 1,
    };
    let packet = skyhop_wire::stp::Packet::<skyhop_wire::stp::PayloadLength> {
        source_port: 50_000,
        destination_port: server.port(),
        instance: 7,
        seq: 1,
        poll: None,
        data: None,
        control: Some(Box::new(skyhop_wire::stp::Control { begin: Some(begin), ..Default::default() })),
    };
    skyhop_wire::stp::emit(&packet, &mut bgn);
    let forger = UdpSocket::bind(any()).unwrap();
    forger.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    forger.send_to(&bgn, server).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    // Nor is much kept for it.
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(stream.write(&pattern(100_000, 3)).unwrap(), 8 << 10);
    assert_eq!(stream.write(&pattern(100_000, 3)).unwrap_err().kind(), ErrorKind::TimedOut);
    let mut buffer = [0; 2000];
    let mut out = 0;
    while let Ok((len, _)) = forger.recv_from(&mut buffer) {
        out += len + 28;
    }
    assert!(out > 0 && out <= 3 * (bgn.len() + 28), "{out} bytes for {}", bgn.len() + 28);
    // The same BGN from the same host once more, after the connection is gone, does nothing.
    stream.reset().unwrap();
    drop(stream);
    thread::sleep(Duration::from_millis(50));
    forger.send_to(&bgn, server).unwrap();
    let e = listener.accept_timeout(Duration::from_millis(300)).err().expect("a BGN counts once");
    assert_eq!(e.kind(), ErrorKind::TimedOut);
}

#[test]
fn each_question_has_its_answer_though_all_come_at_once() {
    let listener = StpListener::bind(any(), options(None)).unwrap();
    let server = listener.local_addr().unwrap();
    // Three packets with a POLL each in one piece, as a sender's first burst reaches a host that wakes late: what their answers tell
    // of the spacing is how a sender finds its rate.
    let mut burst = Vec::new();
    let mut ends = Vec::new();
    for number in 1..=3 {
        let begin = skyhop_wire::stp::Begin {
            version: skyhop_wire::stp::VERSION,
            features: Default::default(),
            max_payload: 1400,
            first: 1,
            credit: 10_000,
            count: 1,
        };
        let packet = skyhop_wire::stp::Packet {
            source_port: 50_000,
            destination_port: server.port(),
            instance: 7,
            seq: number,
            poll: Some(1000 * number),
            data: Some(skyhop_wire::stp::PayloadLength(1000)),
            control: Some(Box::new(skyhop_wire::stp::Control { begin: Some(begin), ..Default::default() })),
        };
        skyhop_wire::stp::emit(&packet, &mut burst);
        ends.push(burst.len());
    }
    let mut socket = Socket::bind(Carrier::Udp, any(), 1 << 20).unwrap();
    if socket.segments_max() < 3 {
        println!("skipped: this kernel takes no datagrams together");
        return;
    }
    let part = Part {
        to: server,
        from: None,
        start: 0,
        end: burst.len(),
        segment: ends[0],
        fragments: false,
        capable: false,
    };
    socket.send(&burst, &part).unwrap();
    let (mut echoes, begin) = (Vec::new(), Instant::now());
    while echoes.len() < 3 && begin.elapsed() < PATIENCE {
        for run in 0..socket.receive().unwrap() {
            for datagram in socket.received(run).2 {
                let packet = skyhop_wire::stp::parse(datagram).unwrap();
                let stat = packet.control.and_then(|control| control.stat.clone());
                echoes.extend(stat.map(|stat| stat.echo));
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(echoes, [1000, 2000, 3000]);
}

#[test]
fn a_long_answer_to_a_short_question_without_encryption() {
    // No probe of the path's MTU gives the listener room: its POLL goes ahead of the data, and the STAT proves the address.
    let known = || {
        let mut options = options(None);
        options.mtu_base = None;
        options
    };
    let listener = StpListener::bind(any(), known()).unwrap();
    let server = listener.local_addr().unwrap();
    let answer = pattern(200_000, 9);
    for _ in 0..20 {
        let mut client = StpStream::connect(server, known()).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(b"?").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        // The BGN is answered before the application has anything to say.
        thread::sleep(Duration::from_millis(2));
        stream.write_all(&answer).unwrap();
        let mut heard = vec![0; answer.len()];
        client.read_exact(&mut heard).unwrap();
        assert!(heard == answer);
    }
}

/// A name may resolve to either family first. Addresses of IPv4 appear as such, since limits and tickets are by address.
#[test]
fn a_socket_at_all_addresses_serves_both_families() {
    for keys in kinds() {
        let all = SocketAddr::from(([0_u16; 8], 0));
        let endpoint = match Endpoint::bind(all, options(keys.as_ref())) {
            Err(e) => {
                println!("skipped: no IPv6 here: {e}");
                return;
            }
            Ok(endpoint) => endpoint,
        };
        let listener = endpoint.listen();
        let port = endpoint.local_addr().port();
        for to in
            [SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port))]
        {
            let mut stream = StpStream::connect(to, options(keys.as_ref())).unwrap();
            let (there, back) = (pattern(1_000_000, 3), pattern(500_000, 4));
            stream.write_all(&there).unwrap();
            let (mut far, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), to.ip(), "the peer's address");
            let sent = thread::spawn(move || stream.finish(Some(PATIENCE)).map(|()| stream));
            let mut received = Vec::new();
            far.set_read_timeout(Some(PATIENCE)).unwrap();
            far.read_to_end(&mut received).unwrap();
            assert!(received == there);
            far.write_all(&back).unwrap();
            far.finish(Some(PATIENCE)).unwrap();
            let mut stream = sent.join().unwrap().unwrap();
            let mut received = Vec::new();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == back);
        }
        // A refusal by ICMP is recognised although the kernel reports a mapped address.
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let e =
            endpoint.connect(nobody).and_then(|stream| stream.wait_connected(Some(PATIENCE))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ConnectionRefused, "{e}");
    }
}

#[test]
fn straight_over_ip_without_udp() {
    // A protocol of its own for each kind: a raw socket hears all of its protocol, and hosts of one kind still listen as the next begins.
    for (keys, protocol) in kinds().into_iter().zip([253, 254]) {
        let over_ip = || {
            let mut options = options(keys.as_ref());
            options.carrier = Carrier::Ip(protocol);
            options
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 7000));
        let listener = match StpListener::bind(address, over_ip()) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                println!("skipped: no raw sockets here: {e}");
                return;
            }
            other => other.unwrap(),
        };
        let data = pattern(1_000_000, 5);
        let expected = data.clone();
        let far = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == expected);
            stream.write_all(b"thanks").unwrap();
            stream.finish(Some(PATIENCE)).unwrap();
        });
        let mut stream = StpStream::connect(address, over_ip()).unwrap();
        stream.write_all(&data).unwrap();
        stream.finish(Some(PATIENCE)).unwrap();
        let mut thanks = String::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_to_string(&mut thanks).unwrap();
        assert_eq!(thanks, "thanks");
        far.join().unwrap();
    }
}
