//! A scenario, run and recorded: the basis of the command and of Python.
//!
//! The path is the geostationary one of the design, shortened for a test.
//! Differs from the simulator's tests: the numbers are not judged here, only that they reach the files.
//! Leaves out constellations.

use crate::common::Scratch;
use skyhop_record::{Meta, RunError, RunOptions, run_scenario, summary_json, summary_text};
use skyhop_scenario::{Loaded, parse};
use std::process::Command;

const SCENARIO: &str = r#"
name = "geo"
host = "1999"
duration = "20 s"
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
queue = { kind = "drop-tail", limit = "50 packets" }
[[flows]]
name = "download"
traffic = { kind = "bulk", size = "1 MB" }
path = ["server", "satellite", "user"]
[record]
pcap = ["satellite"]
"#;

#[test]
fn a_run_leaves_its_summary_tables_and_packets() {
    let scratch = Scratch::new("session");
    let out = scratch.0.join("out");
    let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
    let (result, meta) = run_scenario(&loaded(), &options, |_| true).unwrap();
    assert_eq!(scratch.names("out"), ["flows.parquet", "packets.pcapng", "series.parquet", "summary.json"]);
    let text = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert_eq!(text, summary_text(&summary_json(&result, &meta)));
    assert_eq!(summary_json(&result, &meta)["flows"]["download"]["bytes_delivered"], 1_000_000);

    let Ok(seen) = Command::new("tshark")
        .arg("-r")
        .arg(out.join("packets.pcapng"))
        .arg("-q")
        .args(["-z", "io,phs"])
        .output()
    else {
        println!("skipped in part: tshark is not installed");
        return;
    };
    let direction = result.links[0].forward.packets + result.links[0].reverse.packets;
    let text = String::from_utf8(seen.stdout).unwrap();
    assert!(text.contains(&format!("frames:{direction} ")), "{direction} packets in\n{text}");
}

#[test]
fn the_same_seed_leaves_the_same_files_but_for_the_wall_clock() {
    let scratch = Scratch::new("same");
    for name in ["a", "b"] {
        let options =
            RunOptions { out: Some(scratch.0.join(name)), snaplen: Some(64), ..RunOptions::default() };
        run_scenario(&loaded(), &options, |_| true).unwrap();
    }
    for file in ["flows.parquet", "series.parquet", "packets.pcapng"] {
        let read = |run: &str| std::fs::read(scratch.0.join(run).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file} differs");
    }
}

#[test]
fn a_run_that_is_stopped_leaves_nothing() {
    let scratch = Scratch::new("stopped");
    let mut long = loaded();
    long.scenario.duration = "1000 h".parse().unwrap();
    long.scenario.flows[0].traffic = skyhop_scenario::Traffic::Bulk { size: None, connections: 1 };
    let options = RunOptions { out: Some(scratch.0.join("out")), ..RunOptions::default() };
    let mut asked = 0;
    let stopped = run_scenario(&long, &options, |_| {
        asked += 1;
        asked < 3
    });
    assert!(matches!(stopped, Err(RunError::Stopped)));
    assert_eq!((asked, scratch.names("")), (3, Vec::new()));
}

#[test]
fn the_caller_is_asked_from_the_first_event_on_and_seldom_compared_with_events() {
    let mut asked = Vec::new();
    let outcome = run_scenario(&loaded(), &RunOptions::default(), |simulation| {
        asked.push(simulation.now());
        true
    });
    let (result, _) = outcome.unwrap();
    assert!(asked.is_sorted());
    // Shares at most double, so that even a machine that needs no time at all asks this often.
    let fewest = u64::from(result.events.ilog2());
    let questions = asked.len() as u64;
    assert!((fewest..result.events / 10).contains(&questions), "{questions} for {} events", result.events);
}

#[test]
fn without_a_folder_nothing_is_written() {
    let (result, meta) =
        run_scenario(&loaded(), &RunOptions { seed: Some(9), ..RunOptions::default() }, |_| true).unwrap();
    assert_eq!((result.seed, result.scenario.as_str()), (9, "geo"));
    let expected = Meta { scenario_sha256: loaded().sha256, sets: Vec::new(), ..meta.clone() };
    assert_eq!(meta, expected);
    // Defaults of keys that the scenario left out are recorded with the results.
    assert_eq!(meta.resolved["flows"][0]["transport"]["rto_min"], "1 s");
}

#[test]
fn a_disk_that_fills_up_under_a_capture_ends_the_run_with_its_name() {
    let scratch = Scratch::new("capture-full");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&scratch.0).status();
    if !mount.is_ok_and(|s| s.success()) {
        println!("skipped: cannot mount a tmpfs");
        return;
    }
    let options = RunOptions { out: Some(scratch.0.join("out")), ..RunOptions::default() };
    let outcome = run_scenario(&loaded(), &options, |_| true);
    let left = scratch.names("");
    let _ = Command::new("umount").arg("-l").arg(&scratch.0).status();
    let error = outcome.expect_err("no room").to_string();
    assert!(error.ends_with("packets.pcapng: no space left on device"), "{error}");
    assert!(left.is_empty(), "{left:?}");
}

fn loaded() -> Loaded {
    parse(SCENARIO.as_bytes(), "geo.toml", &[]).unwrap()
}
