//! Connections through a hub and a terminal of `skyhop gateway`.
//!
//! Follows docs/gateway.md for what passes from end to end: data, ends, resets, and nothing that only looks whole.
//! Leaves out interception, and what users share (`gateway_users`).

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

#[path = "common/gateway_lab.rs"]
mod gateway_lab;

use gateway_lab::*;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn bytes_pass_both_ways_at_once_unaltered() {
    let lab = Lab::new("both-ways");
    let (mut client, mut server) = lab.pair();
    let (up, down) = (content(20_000_000, 1), content(30_000_000, 2));
    let writers =
        [send(client.try_clone().unwrap(), up.clone()), send(server.try_clone().unwrap(), down.clone())];
    let reader = thread::spawn(move || read_all(&mut server));
    assert!(read_all(&mut client).unwrap() == down);
    assert!(reader.join().unwrap().unwrap() == up);
    writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
    lab.wait(|lab| lab.connections() == (0, 0), "the connection stays");
    let metrics = lab.get(lab.metrics, "/metrics");
    assert!(metrics.contains("skyhop_gateway_connections_over_total{end=\"closed\"} 1"), "{metrics}");
    assert!(
        metrics.contains("skyhop_gateway_connection_bytes_total{direction=\"to-link\"} 20000001"),
        "{metrics}"
    );
    assert!(metrics.contains("skyhop_gateway_peer_up{peer=\"hub\"} 1"), "{metrics}");
}

#[test]
fn a_half_close_passes_and_the_answer_comes_behind_it() {
    let lab = Lab::new("half-close");
    for len in [0, 1, 100_000, 3_000_000] {
        let (mut client, mut server) = lab.pair();
        let up = content(len, 3);
        let writer = send(client.try_clone().unwrap(), up.clone());
        assert!(read_all(&mut server).unwrap() == up);
        writer.join().unwrap().unwrap();
        thread::sleep(Duration::from_millis(50));
        server.write_all(b"got it").unwrap();
        drop(server);
        assert_eq!(read_all(&mut client).unwrap(), b"got it");
    }
    lab.wait(|lab| lab.connections() == (0, 0), "connections stay");
}

#[test]
fn the_server_may_end_first_and_the_client_go_on() {
    let lab = Lab::new("server-first");
    let (mut client, mut server) = lab.pair();
    server.write_all(b"banner").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut client).unwrap(), b"banner");
    let up = content(2_000_000, 4);
    let writer = send(client, up.clone());
    assert!(read_all(&mut server).unwrap() == up);
    writer.join().unwrap().unwrap();
}

#[test]
fn a_proxy_says_what_has_become_of_the_connection() {
    let lab = Lab::new("socks");
    let (mut client, reply) = lab.socks_to(lab.server.local_addr().unwrap());
    assert_eq!(reply[..2], [5, 0]);
    let mut server = lab.accept();
    client.write_all(b"hello").unwrap();
    let mut got = [0; 5];
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"hello");
    // By name, with data sent behind the request before it was answered.
    let port = lab.server.local_addr().unwrap().port();
    let mut request = b"\x05\x01\x00\x03\x09localhost".to_vec();
    request.extend(port.to_be_bytes());
    request.extend(b"early");
    let (_client, reply) = lab.ask_socks(&request);
    assert_eq!(reply[..2], [5, 0]);
    let mut server = lab.accept();
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"early");
    // No listener; a name that is none; a place of special purpose that the file does not name.
    let (_, reply) = lab.socks_to(SocketAddr::from(([127, 0, 0, 1], free_port(false))));
    assert_eq!(reply[1], 5, "refused");
    let (_, reply) = lab.ask_socks(b"\x05\x01\x00\x03\x0cname.invalid\x00\x50");
    assert_eq!(reply[1], 4, "no such name");
    let (_, reply) = lab.socks_to("169.254.169.254:80".parse().unwrap());
    assert_eq!(reply[1], 2, "forbidden");
    // A program that offers a password only, which this proxy does not ask for, reads the refusal and then the end.
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, lab.socks)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&[5, 1, 2]).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, [5, 255]);
}

#[test]
fn a_hosts_programs_need_a_terminals_file_and_no_privileges() {
    let mut lab = Lab::new("proxy");
    lab.terminal.signal("-TERM");
    assert_eq!(lab.terminal.wait(PATIENCE), Some(0));
    let at = lab.folder.0.clone();
    let text = fs::read_to_string(at.join("home.toml")).unwrap();
    // A file of a router of the users' network.
    let (head, tail) = text.split_once("[socks]").unwrap();
    let (_, forward) = tail.split_once("[[forward]]").unwrap();
    let text = format!("{head}[intercept]\ninterfaces = [\"lan0\"]\nudp = \"carry\"\n\n[[forward]]{forward}");
    fs::write(at.join("home.toml"), text).unwrap();
    let (local, to) = (free_port(false), lab.server.local_addr().unwrap());
    let (socks, forwards) = (format!("127.0.0.1:{}", lab.socks), format!("{local}={to}"));
    let told = skyhop(&at, &["stp", "proxy", "home.toml", "--socks", "0.0.0.0:1080"]);
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.code() == Some(2) && said.contains("open to everybody"), "{told:?}");
    let told = skyhop(&at, &["stp", "proxy", "hub.toml"]);
    assert!(
        told.status.code() == Some(2) && String::from_utf8_lossy(&told.stderr).contains("the file of a hub")
    );
    let told = skyhop(&at, &["stp", "proxy", "home.toml", "--forward", "80:www.example"]);
    assert!(
        told.status.code() == Some(2)
            && String::from_utf8_lossy(&told.stderr).contains("8080=www.example:80")
    );
    lab.terminal = Running::command(
        &at,
        "home.toml",
        &["stp", "proxy", "home.toml", "--socks", &socks, "--forward", &forwards],
    );
    lab.wait_until_up();
    for port in [local, lab.forward] {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        client.write_all(b"hello").unwrap();
        let mut got = [0; 5];
        lab.accept().read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
    }
    let (_client, reply) = lab.socks_to(to);
    assert_eq!(reply[..2], [5, 0]);
}

#[test]
fn the_hub_itself_and_its_network_are_forbidden_unless_named() {
    let lab = Lab::with("forbidden", "");
    for to in ["127.0.0.1:22", "0.0.0.0:22", "169.254.169.254:80", "224.0.0.1:80", "255.255.255.255:80"] {
        let (_, reply) = lab.socks_to(to.parse().unwrap());
        assert_eq!(reply[1], 2, "{to}");
    }
    let (_, reply) = lab.ask_socks(b"\x05\x01\x00\x03\x09localhost\x00\x16");
    assert_eq!(reply[1], 2, "by name");
    let (_, reply) = lab.ask_socks(&[&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat());
    assert_eq!(reply[1], 2, "::1");
    let mapped = [&[5, 1, 0, 4][..], &[0; 10], &[255, 255, 127, 0, 0, 1, 0, 80]].concat();
    assert_eq!(lab.ask_socks(&mapped).1[1], 2, "an address of IPv4 in the form of IPv6");
}

#[test]
fn a_diagnosis_believes_of_a_learnt_rate_what_data_in_flight_have_proven() {
    let lab = Lab::new("diagnosis");
    let most = || {
        let status = lab.status();
        let value = status.lines().find_map(|line| line.trim().strip_prefix("\"in_flight_max_bytes\": "));
        value.and_then(|value| value.trim_end_matches(',').parse::<u64>().ok()).expect("a status with it")
    };
    let (client, mut server) = lab.pair();
    let up = content(3_000_000, 5);
    let writer = send(client, up.clone());
    assert!(read_all(&mut server).unwrap() == up);
    writer.join().unwrap().unwrap();
    assert!((10_000..4_000_000).contains(&most()), "{} bytes of 3 MB in flight", most());
    let said = skyhop(&lab.folder.0, &["gateway", "diagnose", "home.toml"]);
    let text = String::from_utf8_lossy(&said.stdout);
    // At a rate that a few packets of loopback were taken for, two round trips of it can be more than the memory.
    assert!(text.contains("ok     memory of 64 MB for "), "{text}");
}

#[test]
fn a_reset_passes_from_end_to_end() {
    let mut lab = Lab::new("reset");
    for from_client in [true, false] {
        let (client, server) = lab.pair();
        let (ends, other) = if from_client { (client, server) } else { (server, client) };
        let told = read_to_any_end(other);
        rustix::net::sockopt::set_socket_linger(&ends, Some(Duration::ZERO)).unwrap();
        drop(ends);
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), (0, true));
    }
    // The server has no listener: the client, whose handshake was completed here, is reset.
    lab.server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, lab.forward)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(client.read(&mut [0; 9]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn a_gateway_that_is_killed_resets_both_ends() {
    thread::scope(|scope| {
        for case in 0..12 {
            scope.spawn(move || killed(case));
        }
    });
}

fn killed(case: usize) {
    let (kills_hub, down, when_ms) = (case & 1 == 0, case & 2 == 0, [0, 30, 200][case >> 2]);
    let mut lab = Lab::impatient(&format!("killed-{case}"), "");
    let (client, server) = lab.pair();
    let (mut from, to) = if down { (server, client) } else { (client, server) };
    let reader = read_to_any_end(to);
    let writer = thread::spawn(move || (0..100_000).try_for_each(|_| from.write_all(&[case as u8; 65_536])));
    thread::sleep(Duration::from_millis(when_ms));
    let killed = if kills_hub { &mut lab.hub } else { &mut lab.terminal };
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    let since = Instant::now();
    let (bytes, reset) = reader.recv_timeout(Duration::from_secs(40)).expect("an end");
    assert!(reset, "a clean end behind {bytes} bytes in case {case}");
    assert!(writer.join().unwrap().is_err(), "all was taken in case {case}");
    // `silence`, within which a gateway notices, and three times as much for a machine that is busy.
    assert!(since.elapsed() < Duration::from_secs(20), "{:?} in case {case}", since.elapsed());
}

#[test]
fn a_hub_that_starts_again_is_found_again() {
    let mut lab = Lab::impatient("restart", "");
    let (client, _server) = lab.pair();
    let told = read_to_any_end(client);
    lab.hub.0.kill().unwrap();
    lab.hub.0.wait().unwrap();
    thread::sleep(Duration::from_millis(300));
    lab.hub = Running::start(&lab.folder.0, "hub.toml");
    let since = Instant::now();
    // A connection that has something to send finds out; until the terminal knows, new ones may be reset.
    lab.server.set_nonblocking(true).unwrap();
    loop {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, lab.forward)).unwrap();
        let _ = stream.write_all(b"?");
        thread::sleep(Duration::from_millis(100));
        if lab.server.accept().is_ok() {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{}{}", lab.log("hub.toml"), lab.log("home.toml"));
    }
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), (0, true), "the connection of before");
}

#[test]
fn connections_beyond_what_the_hub_takes_wait_and_end_with_the_association() {
    let mut lab = Lab::impatient("waiting", "connections = 16\n");
    let mut pairs: Vec<_> = (0..16).map(|_| lab.pair()).collect();
    let ask = |lab: &Lab, byte: u8| {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, lab.forward)).unwrap();
        client.write_all(&[byte]).unwrap();
        client
    };
    // The hub has given credit for so many streams.
    let _next = ask(&lab, b'n');
    thread::sleep(Duration::from_millis(500));
    lab.server.set_nonblocking(true).unwrap();
    assert!(lab.server.accept().is_err(), "one more was opened");
    // A place that is free again is the next one's, though all others stay.
    drop(pairs.pop());
    let until = Instant::now() + PATIENCE;
    let mut accepted = loop {
        match lab.server.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => assert!(Instant::now() < until, "it waits: {}", lab.log("home.toml")),
        }
        thread::sleep(Duration::from_millis(20));
    };
    accepted.set_nonblocking(false).unwrap();
    let mut got = [0];
    accepted.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"n");
    // One that waits when the association is lost is reset.
    let told = read_to_any_end(ask(&lab, b'l'));
    thread::sleep(Duration::from_millis(300));
    lab.hub.0.kill().unwrap();
    lab.hub.0.wait().unwrap();
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), (0, true));
}

#[test]
fn a_terminal_that_is_taken_out_of_the_file_is_out() {
    let lab = Lab::new("revoked");
    let (client, server) = lab.pair();
    let ends = [client, server].map(read_to_any_end);
    let file = lab.folder.0.join("hub.toml");
    let before = fs::read_to_string(&file).unwrap();
    // A mistake changes nothing.
    fs::write(&file, before.replace("memory", "memroy")).unwrap();
    lab.hub.signal("-HUP");
    lab.wait(|lab| lab.log("hub.toml").contains("not reloaded"), "no word of the mistake");
    assert!(lab.log("hub.toml").contains("did you mean \"memory\"?"), "{}", lab.log("hub.toml"));
    assert_eq!(lab.connections(), (1, 1));
    fs::write(&file, before.split("[terminals").next().unwrap()).unwrap();
    lab.hub.signal("-HUP");
    for end in &ends {
        assert_eq!(end.recv_timeout(PATIENCE).unwrap(), (0, true));
    }
    lab.wait(|lab| lab.status().contains("\"up\": false"), "the association stays");
    thread::sleep(Duration::from_secs(2));
    assert!(lab.status().contains("\"up\": false"), "it was let in again");
}

#[test]
fn a_quota_that_is_used_up_refuses_new_connections_and_is_kept_over_a_restart() {
    let mut lab = Lab::new("quota");
    let file = lab.folder.0.join("hub.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}quota = \"1 MB\"\nquota_period = \"1 h\"\n")).unwrap();
    lab.hub.signal("-HUP");
    lab.wait(|lab| lab.log("hub.toml").contains("reloaded"), "no reload");
    let (mut client, mut server) = lab.pair();
    let hub_status = |lab: &Lab| lab.get(lab.hub_metrics, "/status");
    assert!(hub_status(&lab).contains("\"quota_bytes\": 1000000"), "{}", hub_status(&lab));
    let down = content(2_000_000, 5);
    let writer = send(server.try_clone().unwrap(), down.clone());
    assert!(read_all(&mut client).unwrap() == down, "what is open goes on");
    writer.join().unwrap().unwrap();
    let used = |lab: &Lab| {
        let text = hub_status(lab);
        let at = text.find("\"quota_used_bytes\": ").map(|at| at + 20);
        at.and_then(|at| text[at..].split([',', '\n']).next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    // Once a second it is counted; the seal, headers and acknowledgments are a tenth at most.
    lab.wait(|lab| used(lab) > 2_000_000, "not counted");
    assert!(used(&lab) < 2_400_000, "{}", used(&lab));
    let refused = |lab: &Lab| {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, lab.forward)).unwrap();
        read_to_any_end(stream).recv_timeout(PATIENCE).unwrap() == (0, true)
    };
    assert!(refused(&lab));
    drop(client);
    assert!(read_all(&mut server).unwrap().is_empty());
    lab.hub.signal("-TERM");
    assert_eq!(lab.hub.wait(PATIENCE), Some(0));
    assert!(fs::read_to_string(lab.folder.0.join("hub.usage")).unwrap().contains("\"home\""));
    // Before there is another hub: the terminal finds it within a moment.
    lab.wait(|lab| lab.status().contains("\"up\": false"), "the association stays");
    lab.hub = Running::start(&lab.folder.0, "hub.toml");
    lab.wait_until_up();
    assert!(used(&lab) > 2_000_000 && refused(&lab), "forgotten: {}", used(&lab));
    let metrics = lab.get(lab.metrics, "/metrics");
    assert!(metrics.contains("skyhop_gateway_refused_total{reason=\"over-quota\"} 2"), "{metrics}");
}

#[test]
fn a_capture_has_the_packets_in_the_clear_and_ends_at_its_size() {
    let mut lab = Lab::new("capture");
    lab.terminal.signal("-TERM");
    assert_eq!(lab.terminal.wait(PATIENCE), Some(0));
    let folder = lab.folder.0.clone();
    let log = fs::File::create(folder.join("captured.log")).unwrap();
    let mut command = Command::new(SKYHOP);
    command.args(["gateway", "run", "home.toml", "--capture", "home.pcapng", "--capture-size", "300 kB"]);
    lab.terminal = Running(command.current_dir(&folder).stderr(log).stdout(Stdio::null()).spawn().unwrap());
    lab.wait(|lab| lab.status().contains("\"up\": true"), "no association");
    let (mut client, mut server) = lab.pair();
    let secret = b"this can be read in the capture and nowhere else";
    client.write_all(secret).unwrap();
    let mut got = vec![0; secret.len()];
    server.read_exact(&mut got).unwrap();
    let writer = send(server, content(2_000_000, 6));
    assert_eq!(read_all(&mut client).unwrap().len(), 2_000_000);
    writer.join().unwrap().unwrap();
    let said = fs::read_to_string(folder.join("captured.log")).unwrap();
    assert!(said.contains("the capture ends: home.pcapng is as large as it may be"), "{said}");
    let bytes = fs::read(folder.join("home.pcapng")).unwrap();
    assert!((200_000..300_000).contains(&bytes.len()), "{}", bytes.len());
    assert!(bytes.windows(secret.len()).any(|window| window == secret));
    // Blocks of pcapng, and packets of UDP over IPv4 with good checksums in them.
    let (mut at, mut packets) = (0, 0);
    while at + 12 <= bytes.len() {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (kind, len) = (word(at), word(at + 4) as usize);
        if kind == 6 {
            let packet = &bytes[at + 28..at + 28 + word(at + 20) as usize];
            let sum = |bytes: &[u8]| {
                let words = bytes
                    .chunks(2)
                    .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
                words.sum::<u64>() % 0xffff
            };
            let udp = &packet[20..];
            let pseudo = sum(&packet[12..20]) + 17 + udp.len() as u64;
            assert_eq!((packet[0], sum(&packet[..20]), (sum(udp) + pseudo) % 0xffff), (0x45, 0, 0));
            packets += 1;
        }
        at += len;
    }
    assert!(packets > 100, "{packets}");
}

#[test]
fn told_to_end_it_lets_connections_end() {
    let mut lab = Lab::new("drain");
    let (mut client, mut server) = lab.pair();
    lab.terminal.signal("-TERM");
    lab.wait(|lab| lab.log("home.toml").contains("ending"), "no word");
    let data = content(1_000_000, 7);
    let writer = send(server.try_clone().unwrap(), data.clone());
    assert!(read_all(&mut client).unwrap() == data);
    writer.join().unwrap().unwrap();
    assert_eq!(lab.terminal.wait(Duration::from_millis(200)), None, "it ends before its connection");
    drop(client);
    assert!(read_all(&mut server).unwrap().is_empty());
    assert_eq!(lab.terminal.wait(PATIENCE), Some(0));
}

#[test]
fn a_second_gateway_of_the_same_role_is_told_that_the_first_has_its_port() {
    let lab = Lab::new("twice");
    lab.wait_until_up();
    for (file, key) in [("hub.toml", "listen: "), ("home.toml", "metrics: ")] {
        let out = skyhop(&lab.folder.0, &["gateway", "run", file]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("error: {file}: {key}")), "{said}");
        let why = "in use: another gateway runs on this host, or another program has the port\n";
        assert!(said.ends_with(why), "{said}");
    }
    // The first ones go on.
    let (mut client, mut server) = lab.pair();
    client.write_all(b"still here").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut server).unwrap(), b"still here");
}

/// The second byte of a first packet is its version.
#[test]
fn a_peer_of_another_version_is_refused_and_its_log_says_so() {
    let lab = Lab::new("version");
    lab.wait_until_up();
    let between = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let text = fs::read_to_string(lab.folder.0.join("home.toml")).unwrap();
    let hub_line = text.lines().find(|line| line.starts_with("hub = ")).unwrap();
    let hub: SocketAddr = hub_line.split('"').nth(1).unwrap().parse().unwrap();
    // The same terminal elsewhere, whose first packet passes through a host that makes another version of it.
    let [socks, metrics] = [(); 2].map(|()| free_port(false));
    let mut other = text.replace(hub_line, &format!("hub = \"{}\"", between.local_addr().unwrap()));
    for (own, new) in [(lab.socks, socks), (lab.metrics, metrics), (lab.forward, free_port(false))] {
        other = other.replace(&format!(":{own}\""), &format!(":{new}\""));
    }
    fs::write(lab.folder.0.join("other.toml"), other).unwrap();
    let _running = Running::start(&lab.folder.0, "other.toml");
    between.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let why = "refused: the two hosts speak different versions of the association";
    let (mut packet, mut terminal, mut last) = ([0; 2048], None, 0);
    // Anyone can send a refusal, so the terminal goes on trying until several packets were refused, or its time is over.
    let until = Instant::now() + Duration::from_secs(60);
    while !lab.log("other.toml").contains(&format!("hub: no association: {why}")) {
        assert!(Instant::now() < until, "no word of the version: {}", lab.log("other.toml"));
        let Ok((len, from)) = between.recv_from(&mut packet) else { continue };
        if from == hub {
            // A stranger gets no more than it sends.
            assert!(len <= last, "{len} bytes for {last}");
            between.send_to(&packet[..len], terminal.unwrap()).unwrap();
        } else {
            packet[1] = if last == 0 { packet[1] - 1 } else { packet[1] + 1 };
            (terminal, last) = (Some(from), len);
            between.send_to(&packet[..len], hub).unwrap();
        }
    }
    assert!(lab.log("hub.toml").contains(why), "{}", lab.log("hub.toml"));
    lab.wait(|lab| lab.get(lab.hub_metrics, "/metrics").contains("skyhop_gateway"), "the hub is gone");
}
