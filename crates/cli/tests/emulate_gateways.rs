//! Programs behind real gateways: `skyhop emulate` of a scenario whose path splices divide.
//!
//! The program is this test's own binary. Needs namespaces, TUN devices and nft; without them each test prints a message and is skipped.
//! Leaves out the precision of times, which depends on the machine.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod common {
    pub mod folder;
}

use common::folder::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// The user is behind the terminal, and requests go from it to the server.
const SCENARIO: &str = r#"
duration = "3 s"
[links.internet]
between = ["shore", "hub"]
rate = "100 Mbit/s"
delay = "5 ms"
[links.satellite]
between = ["hub", "terminal"]
rate = "10 Mbit/s"
delay = "100 ms"
[links.satellite.reverse]
rate = "1 Mbit/s"
[links.lan]
between = ["terminal", "ship"]
rate = "100 Mbit/s"
delay = "1 ms"
[splices.hub]
at = "hub"
association = "satellite"
transport = { kind = "stp", over = "sealed-udp" }
[splices.terminal]
at = "terminal"
association = "satellite"
transport = { kind = "stp", over = "sealed-udp" }
[[flows]]
name = "download"
from = "shore"
to = "ship"
traffic = { kind = "bulk" }
"#;

/// The reason why gateways are impossible here, if there is one.
fn cannot() -> Option<String> {
    let rule = "table inet t { chain c { type filter hook prerouting priority mangle; meta l4proto tcp tproxy to :1; }; }";
    match Command::new("unshare").args(["-rn", "nft", rule]).output() {
        Ok(done) if !done.status.success() => {
            return Some(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        Ok(_) => {}
        Err(why) => return Some(format!("unshare: {why}")),
    }
    let folder = Folder::new("gateways-probe");
    let text = "duration = \"1 s\"\n[links.a]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"server\", \"a\", \
                \"user\"]\ntraffic = { kind = \"bulk\" }\n";
    let out = emulate(&folder.write("a.toml", text), &["-q"], &["true"]);
    (!out.status.success()).then(|| String::from_utf8_lossy(&out.stderr).into_owned())
}

macro_rules! needs_gateways {
    () => {
        if let Some(why) = cannot() {
            println!("skipped: {why}");
            return;
        }
    };
}

fn command(scenario: &Path, options: &[&str], command: &[&str]) -> Command {
    let mut skyhop = Command::new(SKYHOP);
    skyhop.arg("emulate").arg(scenario).args(options).arg("--").args(command);
    skyhop.stdin(Stdio::null());
    skyhop
}

fn emulate(scenario: &Path, options: &[&str], words: &[&str]) -> Output {
    command(scenario, options, words).output().unwrap()
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

/// Waits for the file that `SKYHOP_INSIDE` names, then downloads from each address of the server.
#[test]
#[ignore = "a program inside a host"]
fn downloads() {
    let Ok(go) = std::env::var("SKYHOP_INSIDE") else { return };
    println!("found ready");
    while !Path::new(&go).exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for address in ("server", 80).to_socket_addrs().unwrap() {
        let began = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /file HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        println!("found {} {} {}", answer.len() - body, sum(&answer[body..]), began.elapsed().as_secs_f64());
    }
    println!("found end");
}

/// The next line of the program.
fn found(text: &mut impl BufRead) -> String {
    let mut line = String::new();
    while !line.contains("found ") {
        line.clear();
        assert!(text.read_line(&mut line).unwrap() > 0, "the program has ended");
    }
    line.trim().rsplit("found ").next().unwrap().to_owned()
}

#[test]
fn a_download_goes_through_both_gateways_and_links_change_by_name() {
    needs_gateways!();
    let folder = Folder::new("gateways");
    let file = folder.write("a.toml", SCENARIO);
    let bytes: Vec<u8> = (0..1_500_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let (out, go) = (folder.path().join("out"), folder.path().join("go"));
    let own = std::env::current_exe().unwrap();
    let options =
        ["--out", out.to_str().unwrap(), "--folder", folder.path().to_str().unwrap(), "--tcp", "cubic"];
    let words = [own.to_str().unwrap(), "--exact", "downloads", "--ignored", "--nocapture"];
    let mut skyhop = command(&file, &options, &words);
    let mut child =
        skyhop.env("SKYHOP_INSIDE", &go).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(found(&mut text), "ready");
    // Each leg is an emulation of its own, and the link's name tells which is meant.
    let pid = child.id().to_string();
    let set = |sets: &[&str]| {
        let done = Command::new(SKYHOP).args(["emulate", "set", "--pid", &pid]).args(sets).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(set(&["links.satellite.rate=5 Mbit/s"]), (Some(0), String::new()));
    for (sets, told) in [
        (
            &["links.lan.delay=2 ms", "links.satellite.delay=9 ms"][..],
            "links of several legs between gateways",
        ),
        (&["links.lam.delay=2 ms"], "links.lam.delay=2 ms: expected a link of lan, satellite, internet"),
        (&["links.lan.queue.limit=9 packets"], "only rate, delay and loss of a link can be changed"),
    ] {
        let (code, said) = set(sets);
        assert!(code == Some(2) && said.contains(told), "{said}");
    }
    let watch = ["emulate", "watch", "--json", "--pid", &pid];
    let mut watch = Command::new(SKYHOP).args(watch).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();
    let state: Value = serde_json::from_str(&line).unwrap();
    assert!(state["hosts"]["ship"].is_object() && state["hosts"]["shore"].is_object(), "{state:#}");
    assert!(state["flows"]["download, terminal to hub"].is_object(), "{state:#}");
    fs::write(&go, "").unwrap();
    let lines: Vec<String> =
        std::iter::from_fn(|| Some(found(&mut text)).filter(|line| line != "end")).collect();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    // IPv4, and IPv6 if the kernel has it.
    assert_eq!(lines.len(), 1 + usize::from(Path::new("/proc/sys/net/ipv6").exists()), "{lines:?}");
    for line in &lines {
        let parts: Vec<&str> = line.split(' ').collect();
        assert_eq!(parts[..2], ["1500000", &sum(&bytes).to_string()]);
        // 1.5 MB at 5 Mbit/s take 2.4 s, at 10 half of it.
        let took: f64 = parts[2].parse().unwrap();
        assert!(took > 2.4, "{took} s at 5 Mbit/s");
    }
    assert!(
        said.contains("real gateways at terminal and hub; the command runs at ship, the server at shore"),
        "{said}"
    );

    let read = |name: &str| serde_json::from_slice::<Value>(&fs::read(out.join(name)).unwrap()).unwrap();
    let summary = read("summary.json");
    assert_eq!(
        (&summary["emulation"]["user"], &summary["emulation"]["server"]),
        (&"ship".into(), &"shore".into())
    );
    assert_eq!(summary["gateways"]["terminal"]["connections_opened"], lines.len(), "{summary:#}");
    assert_eq!(summary["gateways"]["hub"]["connections_accepted"], lines.len(), "{summary:#}");
    let nodes: Vec<&Value> = summary["legs"].as_array().unwrap().iter().map(|leg| &leg["nodes"]).collect();
    assert_eq!(format!("{nodes:?}").matches("String").count(), 6, "{nodes:?}");
    for (place, link) in [(0, "lan"), (1, "satellite"), (2, "internet")] {
        let leg = &summary["legs"][place]["summary"];
        assert_eq!(*leg, read(&format!("leg-{}-summary.json", place + 1)));
        let bytes = leg["links"][link]["forward"]["bytes"].as_f64().unwrap();
        assert!(bytes > 1.5e6, "{link}: {bytes}");
    }
    // Acknowledgements of STP and not of TCP return over the satellite.
    let back = |place: usize, link: &str| {
        summary["legs"][place]["summary"]["links"][link]["reverse"]["bytes"].as_f64().unwrap()
    };
    assert!(back(1, "satellite") < 0.5 * back(0, "lan"), "{} and {}", back(1, "satellite"), back(0, "lan"));
}

#[test]
fn exit_codes_and_refusals_are_those_of_an_emulation() {
    needs_gateways!();
    let folder = Folder::new("gateways-codes");
    let file = folder.write("a.toml", SCENARIO);
    assert_eq!(emulate(&file, &["-q"], &["sh", "-c", "exit 7"]).status.code(), Some(7));
    let names = emulate(&file, &["-q", "--at", "shore"], &["cat", "/etc/hosts"]);
    let text = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(text.contains("10.1.0.1 shore user\n") && text.contains("10.6.0.2 ship server\n"), "{text}");
    let v6 = ["fd00:1::1 shore user\n", "fd00:6::2 ship server\n"].iter().all(|line| text.contains(line));
    assert_eq!(v6, Path::new("/proc/sys/net/ipv6").exists(), "{text}");
    // Without a command the run has the scenario's duration.
    let began = Instant::now();
    let alone =
        Command::new(SKYHOP).args(["emulate", "-q"]).arg(&file).stdin(Stdio::null()).output().unwrap();
    assert!(alone.status.success() && began.elapsed() > Duration::from_secs(3), "{alone:?}");

    let beside = |more: &str| format!("{}real = true\n{SCENARIO_BESIDE}{more}", SCENARIO);
    for (text, options, told) in [
        (SCENARIO.to_owned(), &["--at", "hub"][..], "--at: no host \"hub\"; there are shore, ship"),
        (SCENARIO.to_owned(), &["--tcp", "cubik"], "--tcp: this kernel has no \"cubik\""),
        (SCENARIO.to_owned(), &["--device", "ship=lo"], "--device: hosts beyond gateways"),
        (
            format!("{SCENARIO}[nodes.ship]\ndevice = \"lo\"\n"),
            &[],
            "nodes.ship.device: hosts beyond gateways",
        ),
        (beside(""), &[], "flows.1: connections that gateways split are not simulated beside real ones"),
        (beside("real = true\n"), &[], "flows.1.real: programs use flow download already"),
        (beside("real = \"from\"\n"), &[], "flows.1.real: leaves one end that is simulated"),
    ] {
        let wrong = emulate(&folder.write("wrong.toml", &text), options, &["true"]);
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(wrong.status.code() == Some(2) && said.contains(told), "{told}: {said}");
    }
    assert_eq!(emulate(&file, &[], &["no-such-command-here"]).status.code(), Some(127));
}

/// A second download, to be continued by its last keys.
const SCENARIO_BESIDE: &str = r#"
[[flows]]
name = "second"
from = "shore"
to = "ship"
traffic = { kind = "bulk" }
"#;

/// Processes whose ancestors include one.
fn below(root: u32) -> BTreeSet<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, text.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = BTreeSet::from([root]);
    while let Some((pid, _)) =
        parents.iter().find(|(pid, parent)| found.contains(parent) && !found.contains(pid))
    {
        found.insert(*pid);
    }
    found
}

fn there(pid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn laboratories() -> BTreeSet<std::path::PathBuf> {
    let all = fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("skyhop-lab-")).collect()
}

#[test]
fn nothing_is_left_of_one_that_was_killed() {
    needs_gateways!();
    let folder = Folder::new("gateways-killed");
    let file = folder.write("a.toml", SCENARIO);
    let mut skyhop = command(&file, &["-q"], &["sh", "-c", "echo found ready; sleep 100"]);
    let mut child: Child = skyhop.stdout(Stdio::piped()).spawn().unwrap();
    let mut text = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(found(&mut text), "ready");
    let all = below(child.id());
    // Itself, three legs, two gateways, and the program with the processes that are around it.
    assert!(all.len() >= 8, "{all:?}");
    let own = format!("skyhop-lab-{}-", child.id());
    let is_own = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&own);
    assert!(laboratories().iter().any(is_own));
    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    while all.iter().any(|pid| there(*pid)) {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            all.iter().filter(|pid| there(**pid)).collect::<Vec<_>>()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    // Its files go when the next one starts.
    assert!(emulate(&file, &["-q"], &["true"]).status.success());
    assert!(!laboratories().iter().any(is_own), "{:?}", laboratories());
}
