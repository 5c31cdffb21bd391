//! Programs over the kernel's stack at one end of a flow and skyhop's TCP at the other: bytes, options, resets, and duration.
//!
//! The programs are this test's own binary. Needs namespaces and TUN devices; without them each test prints a message and is skipped.
//! Leaves out the TCP machine itself, which `crates/live/tests/kernel.rs` tests against the kernel's over worse paths.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod common {
    pub mod folder;
}

use common::folder::Folder;
use serde_json::Value;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// Mild impairments of a path.
const FAULTS: &str = "loss = { kind = \"packets\", probability = 0.01 }\nduplication = { probability = 0.02 }\ncorruption = { \
    probability = 0.005 }\nreordering = { probability = 0.01, delay = \"3 ms\" }";

/// A scenario with a flow over one link, and additional keys of both.
fn scenario(rate: &str, link: &str, ends: [&str; 2], flow: &str) -> String {
    let [from, to] = ends;
    format!(
        "duration = \"60 s\"\n[links.satellite]\nrate = \"{rate}\"\ndelay = \"20 ms\"\n{link}\n[[flows]]\nname = \"talk\"\npath = \
            [\"{from}\", \"satellite\", \"{to}\"]\n{flow}\n"
    )
}

const ASKS: &str = "traffic = { kind = \"request-response\", reply = { kind = \"fixed\", value = \"100 kB\" }, server_time = { \
    kind = \"fixed\", value = \"50 ms\" }, think = { kind = \"fixed\", value = \"100 ms\" }, persistent = true, count = 5 }";

/// Emulates while one of the programs below runs at the user's end. Returns its output, and the summary; `None` where emulation
/// is impossible.
fn program(scenario: &str, options: &[&str], name: &str, argument: &str) -> Option<(Vec<String>, Value)> {
    let folder = Folder::new(&format!("beside-{name}"));
    let file = folder.write("scenario.toml", scenario);
    let results = folder.path().join("results");
    let own = std::env::current_exe().unwrap();
    let mut skyhop = Command::new(SKYHOP);
    skyhop.arg("emulate").arg(&file).arg("--out").arg(&results).args(options);
    if !name.is_empty() {
        skyhop.arg("--").arg(own).args(["--exact", name, "--ignored", "--nocapture"]);
    }
    let out = skyhop.env("SKYHOP_INSIDE", argument).stdin(Stdio::null()).output().unwrap();
    let (text, told) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let lacks = ["network namespaces, which need", "/dev/net/tun", "cannot make", "cannot open"];
    if !out.status.success() && lacks.iter().any(|lack| told.contains(lack)) {
        println!("skipped: {told}");
        return None;
    }
    assert!(out.status.success(), "{text}\n{told}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("found ")).map(str::to_owned).collect();
    let summary = fs::read_to_string(results.join("summary.json")).unwrap();
    Some((lines, serde_json::from_str(&summary).unwrap()))
}

/// The summary of the flow in the same scenario, simulated at both ends.
fn simulated(scenario: &str) -> Value {
    let folder = Folder::new("beside-twin");
    let file = folder.write("scenario.toml", scenario);
    let out = Command::new(SKYHOP).arg("run").arg(&file).arg("--json").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let summary: Value = serde_json::from_slice(&out.stdout).unwrap();
    summary["flows"]["talk"].clone()
}

fn argument() -> Option<String> {
    std::env::var("SKYHOP_INSIDE").ok()
}

/// The server's IPv4 or IPv6 address.
fn server(port: u16, v6: bool) -> SocketAddr {
    ("server", port).to_socket_addrs().unwrap().find(|a| a.is_ipv6() == v6).unwrap()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
#[ignore = "a program inside a host"]
fn echoes() {
    let Some(argument) = argument() else { return };
    let (len, v6) = argument.split_once(' ').unwrap();
    let sent = pattern(len.parse().unwrap());
    let mut stream = TcpStream::connect(server(7, v6 == "6")).unwrap();
    let (mut writing, bytes) = (stream.try_clone().unwrap(), sent.clone());
    let writer = std::thread::spawn(move || {
        writing.write_all(&bytes).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let (mut came, mut part) = (Vec::new(), vec![0; 100_000]);
    let mut told = None;
    loop {
        let count = stream.read(&mut part).unwrap();
        if count == 0 {
            break;
        }
        came.extend_from_slice(&part[..count]);
        if told.is_none()
            && let Ok(out) = Command::new("ss").args(["-tinoH", "state", "established"]).output()
        {
            told = Some(String::from_utf8_lossy(&out.stdout).replace('\n', " "));
        }
    }
    writer.join().unwrap();
    assert!(came == sent, "{} bytes of {} came, or others", came.len(), sent.len());
    println!("found {}", came.len());
    println!("found {}", told.unwrap_or_default());
}

#[test]
#[ignore = "a program inside a host"]
fn fetches() {
    let Some(argument) = argument() else { return };
    let (path, v6) = argument.split_once(' ').unwrap();
    let mut stream = TcpStream::connect(server(80, v6 == "6")).unwrap();
    let began = Instant::now();
    // In two parts, the second with the beginning of another.
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: ser").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    write!(stream, "ver\r\n\r\nGET /{path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let heads = answer.windows(15).filter(|w| *w == b"HTTP/1.1 200 OK").count();
    println!("found {heads} {} {}", answer.iter().filter(|b| **b == 0).count(), began.elapsed().as_nanos());
}

#[test]
#[ignore = "a program inside a host"]
fn takes() {
    let Some(argument) = argument() else { return };
    let any = if argument.ends_with('6') { "[::]:9" } else { "0.0.0.0:9" };
    // A client that connects meanwhile is refused, and tries again.
    std::thread::sleep(Duration::from_millis(300));
    let mut stream = TcpListener::bind(any).unwrap().accept().unwrap().0;
    let mut came = Vec::new();
    stream.read_to_end(&mut came).unwrap();
    assert!(came.iter().all(|byte| *byte == 0));
    drop(stream);
    // Its FIN is acknowledged before the host goes.
    std::thread::sleep(Duration::from_millis(300));
    println!("found {}", came.len());
}

#[test]
#[ignore = "a program inside a host"]
fn waits() {
    let Some(argument) = argument() else { return };
    let (took, _) = argument.rsplit_once(' ').unwrap();
    // Until the other program has told what it found; the sender is told of the end of its data before.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(40)
        && !fs::read_to_string(took).is_ok_and(|text| text.contains("found "))
    {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "a program inside a host"]
fn knocks() {
    if argument().is_none() {
        return;
    }
    for v6 in [false, true] {
        // The best of five: a busy machine wakes this program late.
        let knock = |_| {
            let began = Instant::now();
            let refused = TcpStream::connect(server(81, v6)).unwrap_err().kind();
            assert_eq!(refused, ErrorKind::ConnectionRefused);
            began.elapsed().as_nanos()
        };
        println!("found {}", (0..5).map(knock).min().unwrap());
        if let Ok(out) = Command::new("ping")
            .args(["-c", "3", "-i", "0.2", "-q", if v6 { "-6" } else { "-4" }, "server"])
            .output()
        {
            println!("found {}", String::from_utf8_lossy(&out.stdout).replace('\n', " "));
        }
    }
}

#[test]
fn bytes_come_back_whole_through_faults_with_options_agreed() {
    for (version, variant) in [("4", "cubic"), ("6", "bbr1")] {
        let transport =
            format!("real = \"from\"\ntransport = {{ kind = \"tcp\", variant = \"{variant}\" }}\n{ASKS}");
        let scenario = scenario("50 Mbit/s", FAULTS, ["user", "server"], &transport);
        let found = program(&scenario, &[], "echoes", &format!("2000000 {version}"));
        let Some((lines, summary)) = found else { return };
        assert_eq!(lines[0], "2000000");
        if lines[1].contains("wscale") {
            let words: Vec<&str> = lines[1].split_whitespace().collect();
            assert!(words.contains(&"ts") && words.contains(&"sack"), "{}", lines[1]);
        }
        let flow = &summary["flows"]["talk"];
        let of = |key: &str| flow[key].as_u64().unwrap();
        assert_eq!((of("bytes_delivered"), of("connections")), (2_000_000, 1), "{flow}");
        // Lost or corrupted both ways: what the simulated end repeats.
        let (sent, repeated) = (of("segments_sent"), of("segments_retransmitted"));
        assert!(sent > 1350 && repeated > sent / 250 && repeated < sent / 8, "{repeated} of {sent}");
        assert!(flow["rtt_min_s"].as_f64().unwrap() >= 0.04, "{flow}");
        assert!(of("packets_lost") > 10 && of("packets_duplicated") > 10, "{flow}");
        assert!(flow["limited_by"].is_string(), "{flow}");
    }
}

#[test]
fn a_simulated_server_answers_a_program_as_fast_as_a_simulated_client() {
    let real = scenario("20 Mbit/s", "", ["user", "server"], &format!("real = \"from\"\n{ASKS}"));
    for version in ["4", "6"] {
        let Some((lines, _)) = program(&real, &[], "fetches", &format!("page {version}")) else { return };
        let found: Vec<f64> = lines[0].split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!(found[..2], [2.0, 200_000.0], "two replies of the size that the scenario says");
        assert!(found[2] > 0.09e9, "{} ns are less than a round trip and the server's time", found[2]);
    }
    let twin = simulated(&scenario(
        "20 Mbit/s",
        "",
        ["server", "user"],
        "traffic = { kind = \"bulk\", size = \"10 MB\" }",
    ));
    // A program that others keep from running reads late, and its window holds the sender back: the best of three.
    let mut best = 0.0f64;
    for _ in 0..3 {
        let Some((_, summary)) = program(&real, &[], "fetches", "bytes/5MB 4") else { return };
        let flow = &summary["flows"]["talk"];
        assert!(flow["bytes_delivered"].as_u64().unwrap() > 9_900_000, "{flow}");
        let ratio = flow["goodput_bps"].as_f64().unwrap() / twin["goodput_bps"].as_f64().unwrap();
        assert!(ratio < 1.1, "{ratio} of the simulated goodput beside a program");
        best = best.max(ratio);
        if best > 0.85 {
            return;
        }
    }
    panic!("{best} of the simulated goodput beside a program, three times");
}

#[test]
fn a_simulated_sender_pushes_to_a_program() {
    let bulk =
        "transport = { kind = \"tcp\", variant = \"cubic\" }\ntraffic = { kind = \"bulk\", size = \"3 MB\" }";
    let loss = "loss = { kind = \"packets\", probability = 0.002 }";
    for version in ["v4", "v6"] {
        let flow = format!("ip = \"{version}\"\n{bulk}");
        let twin = simulated(&scenario("20 Mbit/s", loss, ["server", "user"], &flow));
        let real = scenario(
            "20 Mbit/s",
            loss,
            ["server", "user"],
            &format!("real = \"to\"\nstart = \"100 ms\"\n{flow}"),
        );
        let pushed = || {
            let folder = Folder::new("beside-took");
            let (own, took) = (std::env::current_exe().unwrap(), folder.path().join("took"));
            let server =
                format!("{} --exact takes --ignored --nocapture > {}", own.display(), took.display());
            let mut options = vec!["--server", server.as_str()];
            options.extend((version == "v6").then_some("--no-offload"));
            let argument = format!("{} {version}", took.display());
            let (_, summary) = program(&real, &options, "waits", &argument)?;
            let took = fs::read_to_string(took).unwrap();
            assert!(took.contains("found 3000000\n"), "{took}");
            let flow = &summary["flows"]["talk"];
            assert_eq!(
                (&flow["bytes_delivered"], &flow["connections"]),
                (&3_000_000.into(), &1.into()),
                "{flow}"
            );
            assert!(flow["completed_s"].as_f64().unwrap() > 1.2 && flow["limited_by"].is_string(), "{flow}");
            assert!(flow["segments_retransmitted"].as_u64().unwrap() > 0, "{flow}");
            let [real, twin] = [flow, &twin].map(|flow| flow["segments_sent"].as_f64().unwrap());
            println!("{real} segments beside a program, {twin} simulated");
            Some(real / twin)
        };
        // The delayed acknowledgments of the kernel's receiver are not those of the simulated one. Who is kept from running on a busy
        // machine repeats what is not lost: three tries, of which one has to be undisturbed.
        let mut ratios = Vec::new();
        while !ratios.last().is_some_and(|ratio| (0.98..1.03).contains(ratio)) {
            assert!(ratios.len() < 3, "{ratios:?} of the simulated segments");
            let Some(ratio) = pushed() else { return };
            ratios.push(ratio);
        }
    }
}

#[test]
fn a_simulated_client_asks_a_real_server() {
    let asks = format!("real = \"to\"\n{ASKS}");
    let scenario = scenario("20 Mbit/s", "", ["user", "server"], &asks).replace("60 s", "4 s");
    let twin = simulated(&scenario)["completion_mean_s"].as_f64().unwrap();
    // A server that others keep from running answers late: three tries, of which one has to be undisturbed.
    let mut found = Vec::new();
    for _ in 0..3 {
        let Some((_, summary)) = program(&scenario, &[], "", "") else { return };
        let flow = &summary["flows"]["talk"];
        let counts = ["completed", "failed", "connections"].map(|key| flow[key].as_u64().unwrap());
        let mean = flow["completion_mean_s"].as_f64().unwrap();
        // The server's time of the scenario is the simulated server's; a program has its own.
        assert!(mean > twin - 0.05 - 0.25 * twin, "{mean} s with a real server, {twin} s simulated");
        if counts == [5, 0, 1] && (mean - (twin - 0.05)).abs() < 0.25 * twin {
            return;
        }
        println!("repeated: {flow}");
        found.push((counts, mean));
    }
    panic!("{found:?}, {twin} s simulated");
}

#[test]
fn nobody_listens_and_pings_are_answered() {
    let real = scenario("20 Mbit/s", "", ["user", "server"], &format!("real = \"from\"\n{ASKS}"));
    let Some((lines, _)) = program(&real, &[], "knocks", "") else { return };
    let took = lines.iter().filter_map(|line| line.parse::<f64>().ok());
    assert!(took.clone().all(|ns| (40e6..500e6).contains(&ns)), "{lines:?}");
    assert_eq!(took.count(), 2);
    for ping in lines.iter().filter(|line| line.contains("packets transmitted")) {
        assert!(ping.contains("3 received"), "{ping}");
    }
}

#[test]
fn two_ways_between_two_hosts_are_refused() {
    let one = scenario("20 Mbit/s", "", ["user", "server"], &format!("real = \"from\"\n{ASKS}"));
    let flow = &one[one.find("[[flows]]").unwrap()..].replace("talk", "again");
    let folder = Folder::new("beside-twice");
    let file = folder.write("a.toml", &format!("{one}{flow}"));
    let out = Command::new(SKYHOP).arg("emulate").arg(&file).args(["--", "true"]).output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    let skipped = ["network namespaces, which need", "/dev/net/tun"].iter().any(|lack| told.contains(lack));
    assert!(
        skipped || told.contains("flows.1.real: programs of user and server use flow talk already"),
        "{told}"
    );
}
