//! Emulations from the outside: hosts, programs in them, and the state of the machine afterwards.
//!
//! The programs are this test's own binary, so that nothing has to be installed. Needs namespaces and TUN devices; without them
//! each test prints a message and is skipped.
//! Leaves out the precision of times, which depends on the machine: they are only never too short here; `make bench` measures the rest.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod common {
    pub mod folder;
}

use common::folder::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// The reason why emulation is impossible here, if there is one.
fn cannot() -> Option<String> {
    let folder = Folder::new("emulate-probe");
    let out = emulate(&folder.write("a.toml", &wire("1 ms", "1 Gbit/s", "")), &[], &["true"]);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    let lacks = [
        "network namespaces, which need",
        "there is no /dev/net/tun",
        "may not open /dev/net/tun",
        "cannot make",
        "cannot open",
    ];
    (!out.status.success() && lacks.iter().any(|lack| told.contains(lack))).then_some(told)
}

macro_rules! needs_hosts {
    () => {
        if let Some(why) = cannot() {
            println!("skipped: {why}");
            return;
        }
    };
}

fn wire(delay: &str, rate: &str, more: &str) -> String {
    format!(
        "duration = \"60 s\"\n[links.satellite]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{more}\n[[flows]]\npath = [\"server\", \
            \"satellite\", \"user\"]\ntraffic = {{ kind = \"bulk\" }}\n"
    )
}

fn emulate(scenario: &Path, options: &[&str], command: &[&str]) -> Output {
    let mut skyhop = Command::new(SKYHOP);
    skyhop.arg("emulate").arg(scenario).args(options).arg("--").args(command);
    skyhop.stdin(Stdio::null()).output().unwrap()
}

/// Emulates while one of the programs below runs at the user's end. Returns its output, and the summary.
fn program(
    folder: &Folder,
    scenario: &str,
    options: &[&str],
    name: &str,
    argument: &str,
) -> (Vec<String>, Value) {
    let file = folder.write("scenario.toml", scenario);
    let results = folder.path().join("results");
    let own = std::env::current_exe().unwrap();
    let mut all = vec!["--out", results.to_str().unwrap(), "--folder", folder.path().to_str().unwrap()];
    all.extend(options);
    let mut skyhop = Command::new(SKYHOP);
    skyhop.arg("emulate").arg(&file).args(all).arg("--").arg(own);
    skyhop.args(["--exact", name, "--ignored", "--nocapture"]).env("SKYHOP_INSIDE", argument);
    let out = skyhop.stdin(Stdio::null()).output().unwrap();
    let (text, told) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{text}\n{told}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("found ")).map(str::to_owned).collect();
    let summary = fs::read_to_string(results.join("summary.json")).unwrap();
    (lines, serde_json::from_str(&summary).unwrap())
}

fn argument() -> Option<String> {
    std::env::var("SKYHOP_INSIDE").ok()
}

/// The server's IPv4 or IPv6 address.
fn server(port: u16, v6: bool) -> std::net::SocketAddr {
    ("server", port).to_socket_addrs().unwrap().find(|a| a.is_ipv6() == v6).unwrap()
}

#[test]
#[ignore = "a program inside a host"]
fn echoes() {
    let Some(argument) = argument() else { return };
    // A number, or a file: fifteen more after it is there are the last ones.
    let (mut count, v6) = (argument.trim_end_matches('6').parse::<u32>().ok(), argument.ends_with('6'));
    let socket = UdpSocket::bind(if v6 { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
    socket.connect(server(7, v6)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for number in 0.. {
        if count.is_none() && Path::new(&argument).exists() {
            count = Some(number + 15);
        }
        if count == Some(number) {
            break;
        }
        let began = Instant::now();
        socket.send(&number.to_be_bytes()).unwrap();
        let mut answer = [0; 64];
        let len = loop {
            match socket.recv(&mut answer) {
                // A process that was stopped goes on waiting.
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                len => break len.unwrap(),
            }
        };
        println!("found {}", began.elapsed().as_nanos());
        assert_eq!(answer[..len], number.to_be_bytes());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "a program inside a host"]
fn downloads() {
    let Some(argument) = argument() else { return };
    let (path, v6) = argument.split_once(' ').unwrap();
    let began = Instant::now();
    let mut stream = TcpStream::connect(server(80, v6 == "6")).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let sum =
        answer[body..].iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    println!("found {} {sum} {}", answer.len() - body, began.elapsed().as_nanos());
}

#[test]
#[ignore = "a program inside a host"]
fn floods() {
    let Some(argument) = argument() else { return };
    let (count, size) = argument.split_once(' ').unwrap();
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(server(9, false)).unwrap();
    let datagram = vec![0; size.parse().unwrap()];
    for _ in 0..count.parse::<u32>().unwrap() {
        socket.send(&datagram).unwrap();
    }
    // All of them are in the network by then, and none has left the queue's end.
    std::thread::sleep(Duration::from_millis(1500));
    println!("found {count}");
}

/// Bytes that were written to a connection and are not acknowledged.
fn outstanding(stream: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the number lives through the call.
    let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(done, 0);
    bytes as u64
}

#[test]
#[ignore = "a program inside a host"]
fn uploads() {
    let Some(argument) = argument() else { return };
    let piece = vec![0; argument.parse().unwrap()];
    let mut stream = TcpStream::connect(server(9, false)).unwrap();
    let mut most = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(7) {
        stream.write_all(&piece).unwrap();
        most = most.max(outstanding(&stream));
    }
    println!("found {most}");
}

#[test]
fn a_send_buffer_holds_as_behind_a_network_card() {
    needs_hosts!();
    let folder = Folder::new("emulate-buffer");
    for (rate, interface) in [("100 Mbit/s", Some(1_000_000_000_u64)), ("2 Gbit/s", None)] {
        let scenario = wire("150 ms", rate, "queue = { kind = \"drop-tail\", limit = \"20 MB\" }");
        let options = ["--tcp", "cubic", "--sysctl", "net.ipv4.tcp_wmem=4096 16384 1000000"];
        let (lines, summary) = program(&folder, &scenario, &options, "uploads", "1000000");
        let [most] = &lines[..] else { panic!("{lines:?}") };
        let most: u64 = most.parse().unwrap();
        let hosts = &summary["emulation"]["hosts"];
        for host in ["user", "server"] {
            assert_eq!(hosts[host]["interface_bps"].as_u64(), interface, "{rate}");
        }
        // The buffer counts memory, more than its bytes, and is checked before a piece of 64 kB is added.
        let limit = if interface.is_some() { 1_000_000 + 65_536 } else { u64::MAX };
        assert!((300_000..=limit).contains(&most), "{rate}: {most} bytes outstanding");
    }
}

#[test]
fn an_answer_takes_the_paths_time_and_never_less() {
    needs_hosts!();
    let folder = Folder::new("emulate-rtt");
    for (delay_ms, v6) in [(20u64, false), (20, true), (250, false)] {
        let scenario = wire(&format!("{delay_ms} ms"), "1 Gbit/s", "");
        let argument = if v6 { "206" } else { "20" };
        let (lines, summary) = program(&folder, &scenario, &[], "echoes", argument);
        let rtts: Vec<u64> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert_eq!(rtts.len(), 20);
        let least = *rtts.iter().min().unwrap();
        assert!(least >= 2_000_000 * delay_ms, "{least} ns is less than both delays of {delay_ms} ms");
        // A busy machine is late, and says so.
        let emulation = &summary["emulation"];
        let late = emulation["release"]["late_max_s"].as_f64().unwrap()
            + emulation["wake"]["late_max_s"].as_f64().unwrap();
        assert!((least as f64) < 2e6 * delay_ms as f64 + 2e9 * late + 20e6, "{least} ns: {emulation}");
        let flow = &summary["flows"]["flow-1"];
        assert_eq!((&flow["received"], &flow["packets_delivered"]), (&20.into(), &40.into()));
        let mean = flow["delay_mean_s"].as_f64().unwrap();
        assert!((mean - delay_ms as f64 * 1e-3).abs() < 2e-6, "{mean}");
    }
}

#[test]
fn bytes_come_whole_through_losses_with_offloads_and_without() {
    needs_hosts!();
    let folder = Folder::new("emulate-bytes");
    let mut state = 1u64;
    let bytes: Vec<u8> = (0..3_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let sum = bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let losses = "loss = { kind = \"packets\", probability = 0.01 }";
    for (options, version) in
        [(&[][..], "4"), (&[], "6"), (&["--no-offload", "--tcp", "cubic"], "4"), (&["--no-offload"], "6")]
    {
        let (lines, summary) = program(
            &folder,
            &wire("5 ms", "100 Mbit/s", losses),
            options,
            "downloads",
            &format!("file {version}"),
        );
        let found: Vec<&str> = lines[0].split(' ').collect();
        assert_eq!(found[..2], ["3000000", &sum.to_string()], "{options:?} {version}");
        let link = &summary["links"]["satellite"]["forward"];
        let (packets, lost) = (link["packets"].as_f64().unwrap(), link["packets_lost"].as_f64().unwrap());
        assert!(packets > 2000.0 && lost > 0.003 * packets && lost < 0.025 * packets, "{lost} of {packets}");
        let frames = summary["emulation"]["hosts"]["server"]["read_frames"].as_f64().unwrap();
        assert_eq!(
            frames < 0.8 * packets,
            options.is_empty(),
            "{frames} frames, {packets} packets, {options:?}"
        );
        let flow = &summary["flows"]["flow-1"];
        let all = |key: &str| flow[key].as_u64().unwrap();
        let ended = all("packets_delivered") + all("packets_dropped") + all("packets_lost");
        assert_eq!(all("packets_sent"), ended + all("packets_in_flight"));
    }
}

#[test]
fn bytes_come_whole_where_packets_come_twice_late_or_altered() {
    needs_hosts!();
    let folder = Folder::new("emulate-faults");
    let bytes: Vec<u8> = (0..2_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let sum = bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let faults = "duplication = { probability = 0.05 }\ncorruption = { probability = 0.01 }\nreordering = { probability = 0.01, \
        delay = \"3 ms\" }";
    for (options, version) in [(&[][..], "4"), (&[], "6"), (&["--no-offload"], "4")] {
        let (lines, summary) = program(
            &folder,
            &wire("5 ms", "50 Mbit/s", faults),
            options,
            "downloads",
            &format!("file {version}"),
        );
        assert!(lines[0].starts_with(&format!("2000000 {sum} ")), "{options:?} {version}: {lines:?}");
        let link = &summary["links"]["satellite"]["forward"];
        let of = |key: &str| link[key].as_u64().unwrap();
        let packets = of("packets");
        assert!((packets / 40..packets / 14).contains(&of("packets_duplicated")), "{link}");
        assert!((packets / 400..packets / 40).contains(&of("packets_corrupted")), "{link}");
        let emulation = &summary["emulation"];
        assert_eq!(emulation["missed_not_taken_packets"], 0, "{emulation}");
        let written = emulation["hosts"]["user"]["written_packets"].as_u64().unwrap();
        // Copies are written too; altered ones unless they are no packets any more.
        let all = packets + of("packets_duplicated");
        assert!(written > all - of("packets_corrupted") - 50 && written <= all, "{written} of {all}: {link}");
    }
}

#[test]
fn a_queue_is_as_deep_as_the_scenario_says() {
    needs_hosts!();
    let folder = Folder::new("emulate-queue");
    // At 100 kbit/s next to nothing leaves while the datagrams come.
    let queue = "queue = { kind = \"drop-tail\", limit = \"5000 packets\" }";
    let flood = || program(&folder, &wire("1 ms", "100 kbit/s", queue), &[], "floods", "8000 1000").1;
    // A busy machine's kernel loses packets before they are read, and says so; a deaf emulator loses them always.
    let missed = |summary: &Value| summary["emulation"]["missed_before_read_packets"] != 0;
    let mut summary = flood();
    for _ in 0..2 {
        if missed(&summary) {
            println!("repeated: {}", summary["emulation"]);
            summary = flood();
        }
    }
    let link = &summary["links"]["satellite"]["reverse"];
    let (sent, dropped) = (link["packets"].as_u64().unwrap(), link["packets_dropped"].as_u64().unwrap());
    assert_eq!(link["queue_max_packets"], 4999, "{link}");
    assert_eq!(summary["emulation"]["missed_before_read_packets"], 0);
    // One is being sent beside those that wait, and some have left.
    assert!(sent > 10 && sent < 300, "{sent}");
    let taken = 8000 - dropped;
    assert!((5000..5000 + sent).contains(&taken), "{taken} were taken, {sent} sent");
}

#[test]
fn simulated_flows_share_queues_with_programs() {
    needs_hosts!();
    let folder = Folder::new("emulate-beside");
    let alone = wire("10 ms", "20 Mbit/s", "");
    let more = alone.replace("[[flows]]", "[[flows]]\nname = \"real\"\nreal = true")
        + "[[flows]]\nname = \"other\"\npath = [\"server\", \"satellite\", \"user\"]\ntraffic = { kind = \"cbr\", rate = \"10 Mbit/s\" }\n";
    let took = |scenario: &str| {
        let options = ["--tcp", "cubic"];
        let (lines, summary) = program(&folder, scenario, &options, "downloads", "bytes/5MB 4");
        (lines[0].rsplit(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9, summary)
    };
    // A program that others keep from running takes longer: three tries, of which one has to be undisturbed.
    let mut found = String::new();
    for _ in 0..3 {
        let (alone_s, _) = took(&alone);
        let (beside_s, summary) = took(&more);
        // 5 MB and their headers take 2.1 s at 20 Mbit/s, and twice as long at the half of it.
        assert!(alone_s > 2.1, "{alone_s} s alone");
        let other = &summary["flows"]["other"];
        let rate = other["received"].as_f64().unwrap() * 8000.0 / summary["simulated_s"].as_f64().unwrap();
        assert!(rate <= 10.1e6, "{rate}: {other}");
        if alone_s < 3.2 && (1.5..4.0).contains(&(beside_s / alone_s)) && rate >= 8e6 {
            return;
        }
        found = format!("{beside_s} s beside {rate} bit/s, {alone_s} s alone");
        println!("repeated: {found}");
    }
    panic!("three times {found}");
}

#[test]
fn exit_codes_are_the_commands() {
    needs_hosts!();
    let folder = Folder::new("emulate-codes");
    let file = folder.write("a.toml", &wire("1 ms", "1 Gbit/s", ""));
    let code = |command: &[&str]| emulate(&file, &[], command).status.code();
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["no-such-command-here"]), Some(127));
    assert_eq!(code(&["/etc/hostname"]), Some(126));
    let wrong = emulate(&file, &["--at", "nobody"], &["true"]);
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(told.contains("no host \"nobody\"; there are server, user"), "{told}");
    assert_eq!(wrong.status.code(), Some(2));
    let wrong = emulate(&file, &["--tcp", "cubik"], &["true"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
    for (sysctl, why) in [
        ("net.ipv4.no_such=1", "net.ipv4.no_such: a host has no such parameter"),
        ("net.ipv4.tcp_rmem=many", "the kernel does not take \"many\""),
        ("kernel.ostype=1", "\"kernel.ostype\" is not below net."),
        ("net.ipv4.tcp_rmem", "expected a name and a value"),
    ] {
        let wrong = emulate(&file, &["--sysctl", sysctl], &["true"]);
        let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(wrong.status.code() == Some(2) && told.contains(why), "{told}");
    }
    let given = emulate(
        &file,
        &["--sysctl", "net.ipv4.tcp_rmem=4096 131072 67108864"],
        &["cat", "/proc/sys/net/ipv4/tcp_rmem"],
    );
    assert!(String::from_utf8_lossy(&given.stdout).contains("67108864"));
    let none = folder.write(
        "none.toml",
        &wire("1 ms", "1 Gbit/s", "").replace("server\"", "a\"").replace("user\"", "b\""),
    );
    let names = emulate(&none, &[], &["sh", "-c", "cat /etc/hosts"]);
    let text = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(text.contains("10.0.0.1 a server\n") && text.contains("10.0.0.2 b user\n"), "{text}");
}

/// The kernel's work for many hosts is spread over all processors; that for a few is not, as each packet would be late.
#[test]
fn the_work_of_many_hosts_is_spread_over_the_processors() {
    needs_hosts!();
    let default = fs::read_to_string("/proc/sys/net/core/rps_default_mask");
    let processors = std::thread::available_parallelism().unwrap().get();
    if default.is_err() || processors == 1 {
        return eprintln!("skipped: {processors} processors, and the kernel's default mask is {default:?}");
    }
    let folder = Folder::new("emulate-many");
    for paths in [2, 16] {
        let mut text = "duration = \"5 s\"\n".to_owned();
        for i in 0..paths {
            text +=
                &format!("[links.l{i}]\nrate = \"16 Mbit/s\"\ndelay = \"10 ms\"\n[[flows]]\nreal = true\n");
            text += &format!("path = [\"s{i}\", \"l{i}\", \"u{i}\"]\ntraffic = {{ kind = \"bulk\" }}\n");
        }
        let mask = "/sys/class/net/sky0/queues/rx-0/rps_cpus";
        let given = emulate(&folder.write("many.toml", &text), &[], &["cat", mask]);
        let found = String::from_utf8_lossy(&given.stdout).trim().to_owned();
        let set: u32 = found.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum();
        let expected = if paths == 16 { processors } else { 0 };
        assert_eq!(
            set as usize,
            expected,
            "{paths} paths: \"{found}\", {}",
            String::from_utf8_lossy(&given.stderr)
        );
    }
}

#[test]
fn links_change_while_it_runs_and_only_what_may() {
    needs_hosts!();
    let folder = Folder::new("emulate-change");
    let file = folder.write("a.toml", &wire("5 ms", "500 Mbit/s", ""));
    let out = folder.path().join("out");
    let own = std::env::current_exe().unwrap();
    let mut skyhop = Command::new(SKYHOP);
    skyhop.arg("emulate").arg(&file).arg("--quiet").arg("--out").arg(&out).arg("--").arg(own);
    let enough = folder.path().join("enough");
    skyhop.args(["--exact", "echoes", "--ignored", "--nocapture"]).env("SKYHOP_INSIDE", &enough);
    let mut child = skyhop.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    // It runs when the first answer is there, and until the last command of this test is done.
    let mut text = BufReader::new(child.stdout.take().unwrap());
    let mut told_first = String::new();
    while !told_first.contains("found ") {
        assert!(text.read_line(&mut told_first).unwrap() > 0, "{told_first}");
    }
    let pid = child.id().to_string();
    let about = |arguments: &[&str]| {
        let ask =
            || Command::new(SKYHOP).arg("emulate").args(arguments).args(["--pid", &pid]).output().unwrap();
        // Who does not speak within a second of connecting is not heard.
        let unheard = |out: &Output| String::from_utf8_lossy(&out.stderr).contains("does not answer");
        let out = ask();
        if unheard(&out) { ask() } else { out }
    };
    let look = Command::new("timeout")
        .args(["3", SKYHOP, "emulate", "watch", "--json", "--pid", &pid])
        .output()
        .unwrap();
    let look = String::from_utf8_lossy(&look.stdout).into_owned();
    assert!(look.contains("\"queue_packets\":0") && look.contains("\"flow-1\""), "{look}");
    let refused = about(&["set", "links.satellite.queue.limit=5 packets"]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("only rate, delay and loss of a link can be changed while it runs"), "{told}");
    // A host's interface has the rate that it began with.
    let fast = about(&["set", "links.satellite.rate=2 Gbit/s"]);
    assert_eq!(fast.status.code(), Some(2));
    let told = String::from_utf8_lossy(&fast.stderr).into_owned();
    assert!(
        told.contains("links.satellite.rate: 2 Gbit/s is more than") && told.contains("at most 1 Gbit/s"),
        "{told}"
    );
    let slip = about(&["set", "links.satelite.delay=40 ms"]);
    assert_eq!(slip.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&slip.stderr).contains("did you mean \"satellite\""));
    let done = about(&["set", "links.satellite.delay=40 ms"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::write(&enough, "").unwrap();
    text.read_to_string(&mut told_first).unwrap();
    assert!(child.wait().unwrap().success(), "{told_first}");
    let rtts: Vec<u64> =
        told_first.lines().filter_map(|line| line.strip_prefix("found ")?.parse().ok()).collect();
    // A busy machine makes answers late, and none too early: some before the change took less than the later path has, none after it. The
    // change takes effect within ten milliseconds of the loop's, which ten answers take.
    let (before, after) = rtts.split_at(rtts.len() - 5);
    assert!(
        before.iter().any(|rtt| *rtt < 60_000_000) && rtts.iter().all(|rtt| *rtt >= 10_000_000),
        "{rtts:?}"
    );
    assert!(after.iter().all(|rtt| *rtt >= 80_000_000), "{rtts:?}");
    assert_eq!(about(&["set", "links.satellite.delay=40 ms"]).status.code(), Some(1), "it has ended");
    // The path over time, as a trace that a link can follow.
    for name in ["path-flow-1.csv", "path-flow-1-reverse.csv"] {
        let trace = fs::read_to_string(out.join(name)).unwrap();
        let rows: Vec<Vec<&str>> = trace.lines().map(|line| line.split(',').collect()).collect();
        let [head, first, last] = &rows[..] else { panic!("{trace}") };
        assert_eq!(
            (&head[..], &first[..]),
            (&["t_s", "rate_bps", "delay_s"][..], &["0", "500000000", "0.005"][..])
        );
        let at: f64 = last[0].parse().unwrap();
        assert!((0.01..60.0).contains(&at) && last[1..] == ["500000000", "0.04"], "{trace}");
    }
}

/// Processes that run inside hosts of an emulation, or belong to it.
fn left(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let words = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
    lines.filter(|line| line.contains(mark) && !line.contains("--exact")).collect()
}

#[test]
fn nothing_is_left_whatever_ends_it() {
    needs_hosts!();
    let folder = Folder::new("emulate-left");
    let file = folder.write("a.toml", &wire("1 ms", "1 Gbit/s", ""));
    let devices = || {
        let names = fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    let before = devices();
    // The command leaves a process behind, which no longer knows its parent.
    let mark = format!("sleep 98{}", std::process::id());
    let line = format!("setsid {mark} & echo ready; {mark}");
    for signal in ["-INT", "-TERM", "-KILL"] {
        let mut skyhop = Command::new(SKYHOP);
        skyhop.arg("emulate").arg(&file).args(["--", "sh", "-c", &line]);
        let mut child = skyhop.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
        let mut ready = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(left(&mark).len() >= 2, "{:?}", left(&mark));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let _ = child.wait();
        let began = Instant::now();
        while !left(&mark).is_empty() && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(left(&mark).is_empty(), "after kill {signal}: {:?}", left(&mark));
    }
    let short = format!("setsid {mark} & exit 3");
    assert_eq!(emulate(&file, &[], &["sh", "-c", &short]).status.code(), Some(3));
    assert!(left(&mark).is_empty(), "{:?}", left(&mark));
    // Other tests may make devices and take them away meanwhile.
    let began = Instant::now();
    while !devices().is_subset(&before) && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(devices().is_subset(&before), "{:?} of {before:?}", devices());
}

#[test]
fn twenty_run_side_by_side() {
    needs_hosts!();
    let folder = Folder::new("emulate-twenty");
    let file = folder.write("a.toml", &wire("1 ms", "1 Gbit/s", ""));
    let start = |_| {
        let mut skyhop = Command::new(SKYHOP);
        skyhop.arg("emulate").arg(&file).args(["--quiet", "--", "sh", "-c", "ls /sys/class/net; exit 5"]);
        skyhop.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..20).map(start).collect();
    for one in all {
        let out = one.wait_with_output().unwrap();
        assert_eq!(
            (out.status.code(), String::from_utf8_lossy(&out.stdout).as_ref()),
            (Some(5), "lo\nsky0\n")
        );
    }
}

#[test]
fn a_server_of_the_users_own_is_there_when_the_command_begins() {
    needs_hosts!();
    let folder = Folder::new("emulate-server");
    let own = std::env::current_exe().unwrap();
    let server = format!("SKYHOP_INSIDE=x {} --exact answers --ignored --nocapture", own.display());
    let (lines, _) = program(&folder, &wire("1 ms", "1 Gbit/s", ""), &["--server", &server], "asks", "x");
    assert_eq!(lines, ["answered"]);
}

#[test]
#[ignore = "a program inside a host"]
fn answers() {
    if argument().is_none() {
        return;
    }
    std::thread::sleep(Duration::from_millis(300));
    let listener = TcpListener::bind("0.0.0.0:4321").unwrap();
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"answered").unwrap();
    }
}

#[test]
#[ignore = "a program inside a host"]
fn asks() {
    if argument().is_none() {
        return;
    }
    let mut stream = TcpStream::connect(server(4321, false)).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!("found {answer}");
}

#[test]
fn a_capture_has_the_programs_own_bytes() {
    needs_hosts!();
    let folder = Folder::new("emulate-capture");
    fs::write(folder.path().join("file"), "skyhop was here").unwrap();
    let pcap = folder.path().join("packets.pcapng");
    let options = ["--pcap", pcap.to_str().unwrap()];
    let (lines, summary) = program(&folder, &wire("1 ms", "1 Gbit/s", ""), &options, "downloads", "file 4");
    assert!(lines[0].starts_with("15 "));
    assert_eq!(summary["emulation"]["not_captured_packets"], 0);
    let bytes = fs::read(&pcap).unwrap();
    // Once where it leaves the server, and once where it comes to the user.
    let found = bytes.windows(15).filter(|part| *part == b"skyhop was here").count();
    assert_eq!(found, 2);
}
