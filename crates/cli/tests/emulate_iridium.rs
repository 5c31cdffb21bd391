//! Pings through emulated Iridium, against simulated delays for the same places and times.
//!
//! Follows `skyhop emulate --profile iridium`, first unchanged and then with a mask that causes a handover within seconds. The
//! program is this test's own binary.
//! Differs from `emulate.rs`: the precision of times is tested, so a run that reports itself as not valid, because the machine
//! was too busy, is repeated, and is not judged if none of three is valid.
//! Leaves out queues: there is one ping at a time.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use rustix::net::{AddressFamily, SocketType, ipproto};
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");
const PLACES: [&str; 2] = ["New York", "San Francisco"];
/// Largest difference between a ping and the simulated delay.
const TOLERANCE_S: f64 = 1e-3;
/// Largest difference between the clocks of the pings and of the run: the end of the program is seen that much later.
const CLOCK_S: f64 = 0.3;
/// Time between two simulated delays.
const STEP_S: f64 = 0.1;
/// Time between two pings.
const REST: Duration = Duration::from_millis(20);

fn skyhop(arguments: &[&str]) -> Output {
    Command::new(SKYHOP).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The profile's scenario, written to a file.
fn scenario(folder: &Path) -> String {
    let profile = ["emulate", "--profile", "iridium", "--from", PLACES[0], "--to", PLACES[1], "--print"];
    let file = folder.join("iridium.toml");
    fs::write(&file, skyhop(&profile).stdout).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "a program inside a host"]
fn pings() {
    let Some(count) = std::env::var("SKYHOP_INSIDE").ok().and_then(|count| count.parse::<u32>().ok()) else {
        return;
    };
    let began = Instant::now();
    // The other end's kernel answers, so that no program is waited for there.
    let icmp = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP));
    let socket = UdpSocket::from(icmp.unwrap());
    socket.connect(("server", 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut found = Vec::new();
    for number in 0..count {
        let sent = began.elapsed();
        // An echo request; the kernel has its own identifier and checksum in it.
        let [a, b] = (number as u16).to_be_bytes();
        socket.send(&[8, 0, 0, 0, 0, 0, a, b]).unwrap();
        let mut answer = [0; 64];
        // One that comes after its second was given up.
        while let Ok(len) = socket.recv(&mut answer) {
            if len == 8 && answer[0] == 0 && answer[6..8] == [a, b] {
                found.push((sent, began.elapsed() - sent));
                break;
            }
        }
        std::thread::sleep(REST);
    }
    let ended = began.elapsed();
    for (sent, rtt) in found {
        println!("found {} {}", (ended - sent).as_secs_f64(), rtt.as_secs_f64());
    }
}

/// Pings of a run: for each its sending time, in the run's time, and its RTT; and the summary. `None` where emulation is impossible.
fn emulated(folder: &Path, sets: &[&str], count: u32) -> Option<(Vec<(f64, f64)>, Value)> {
    let results = folder.join("results");
    let mut command = Command::new(SKYHOP);
    command.args(["emulate", "--profile", "iridium", "--from", PLACES[0], "--to", PLACES[1], "--out"]);
    command.arg(&results).args(sets).args(["--sysctl", "net.ipv4.ping_group_range=0 0"]);
    // With that permission the program is woken as soon as its answer is there.
    command.args(["--", "sh", "-c", "chrt -f 40 true 2>&- && exec chrt -f 40 \"$@\"; exec \"$@\"", "sh"]);
    command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "pings", "--ignored", "--nocapture"])
        .env("SKYHOP_INSIDE", count.to_string());
    let out = command.stdin(Stdio::null()).output().unwrap();
    let (text, told) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let lacks = ["network namespaces, which need", "/dev/net/tun", "cannot make", "cannot open"];
    if !out.status.success() && lacks.iter().any(|lack| told.contains(lack)) {
        println!("skipped: {told}");
        return None;
    }
    assert!(out.status.success(), "{text}\n{told}");
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(results.join("summary.json")).unwrap()).unwrap();
    let end_s = summary["simulated_s"].as_f64().unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("found ")?.split_once(' '));
    let pair = |(before_end, rtt): (&str, &str)| {
        (end_s - before_end.parse::<f64>().unwrap(), rtt.parse::<f64>().unwrap())
    };
    Some((lines.map(pair).collect(), summary))
}

/// Simulated one-way delays at every [`STEP_S`].
fn simulated(scenario: &str, sets: &[&str], duration_s: f64) -> Vec<f64> {
    let (duration, step) = (duration_s.to_string(), STEP_S.to_string());
    let mut arguments = vec!["delay", PLACES[0], PLACES[1], "--scenario", scenario, "--csv"];
    arguments.extend(["--duration", &duration, "--step", &step]);
    arguments.extend(sets);
    let out = skyhop(&arguments);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let delay = |line: &str| line.split(',').nth(1).unwrap().parse::<f64>().unwrap() * 1e-3;
    text.lines().skip(1).map(delay).collect()
}

/// Returns true if an RTT agrees with the simulated delays around its time: each direction may be before or after a handover.
fn agrees(delays_s: &[f64], (sent_s, rtt_s): (f64, f64)) -> bool {
    let index = |time_s: f64| ((time_s / STEP_S).max(0.0) as usize).min(delays_s.len() - 1);
    let window = &delays_s[index(sent_s - CLOCK_S)..=index(sent_s + rtt_s + CLOCK_S) + 1];
    // A packet of 28 bytes takes 22 us up and down again each.
    let near = |there: &f64, back: &f64| (rtt_s - there - back).abs() <= TOLERANCE_S;
    window.iter().any(|there| window.iter().any(|back| near(there, back)))
}

/// Compares the pings of a valid run with simulated delays.
fn held(name: &str, sets: &[&str], count: u32, handover: bool) {
    let folder = std::env::temp_dir().join(format!("skyhop-iridium-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = scenario(&folder);
    let mut last = Value::Null;
    for attempt in 0..3 {
        let Some((pings, summary)) = emulated(&folder, sets, count) else { return };
        last = summary["emulation"]["objections"].clone();
        if summary["emulation"]["valid"] != true {
            println!("repeated: {last}");
            continue;
        }
        let end_s = summary["simulated_s"].as_f64().unwrap();
        let delays = simulated(&file, sets, end_s + 2.0);
        if attempt < 2 && pings.len() * 100 < count as usize * 98 {
            println!("repeated: {} answers to {count}", pings.len());
            continue;
        }
        let jumps = delays.windows(2).any(|pair| (pair[1] - pair[0]).abs() > 2e-3);
        assert_eq!(jumps, handover, "{delays:?}");
        assert!(pings.len() * 100 >= count as usize * 98, "{} answers to {count}", pings.len());
        let good = pings.iter().filter(|ping| agrees(&delays, **ping)).count();
        println!("{name}: {good} of {} pings within 1 ms, {end_s:.1} s", pings.len());
        let far: Vec<_> = pings.iter().filter(|ping| !agrees(&delays, **ping)).take(10).collect();
        // A busy machine wakes the program that pings late, which no loop sees; three times in a row it is the path.
        if good * 100 < pings.len() * 99 && attempt < 2 {
            println!("repeated: {far:?}");
            continue;
        }
        assert!(good * 100 >= pings.len() * 99, "{good} of {}: {far:?}", pings.len());
        // The wait within a window of either side of a handover hides nothing: both are far apart, and each side has its own pings.
        // The median of seven: one in a hundred may be late.
        let middle = |pings: &[(f64, f64)]| {
            let mut rtts: Vec<f64> = pings.iter().map(|(_, rtt)| *rtt).collect();
            rtts.sort_by(f64::total_cmp);
            rtts[rtts.len() / 2]
        };
        let (first, ended) = (middle(&pings[..7]), middle(&pings[pings.len() - 7..]));
        assert_eq!((ended - first).abs() > 10e-3, handover, "{first} s at first, {ended} s at last");
        let _ = fs::remove_dir_all(&folder);
        return;
    }
    let _ = fs::remove_dir_all(&folder);
    println!("not judged: none of three runs was valid: {last}");
}

/// The runs are made one after the other.
#[test]
fn pings_take_as_long_as_is_simulated_and_over_a_handover_too() {
    held("still", &[], 120, false);
    let sets = ["--set", "constellation.elevation_mask=18 deg", "--set", "constellation.update_interval=1 s"];
    held("handover", &sets, 300, true);
}
