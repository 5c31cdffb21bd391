//! The same scenario and seed give the same bytes.
//!
//! This holds for every file; in the summary only `wall_s`, from the wall clock, is excluded.
//! Differs from a golden file: the contents are not judged here.
//! Leaves out other machines: floating-point results are the same wherever IEEE 754 holds.

use crate::common::Scratch;
use skyhop_record::{RunOptions, run_scenario};
use skyhop_scenario::parse;

const FILES: [&str; 4] = ["summary.json", "flows.parquet", "series.parquet", "packets.pcapng"];

#[test]
fn the_same_seed_leaves_the_same_bytes_on_a_path_with_loss() {
    let scratch = Scratch::new("reproducible-loss");
    let [a, b] = ["a", "b"].map(|name| files(&scratch, name, &lossy(0.01), 7));
    assert_eq!(differing(&a, &b), NONE);
    assert!(a[3].len() > 50_000, "a capture of {} bytes", a[3].len());
}

#[test]
fn the_same_seed_leaves_the_same_bytes_over_a_constellation() {
    let scratch = Scratch::new("reproducible-space");
    let [a, b] = ["a", "b"].map(|name| files(&scratch, name, SPACE, 7));
    assert_eq!(differing(&a, &b), NONE);
    assert!(a[3].len() > 10_000, "a capture of {} bytes", a[3].len());
}

#[test]
fn another_seed_loses_other_packets() {
    let scratch = Scratch::new("reproducible-seeds");
    let a = files(&scratch, "a", &lossy(0.01), 7);
    let b = files(&scratch, "b", &lossy(0.01), 8);
    assert_eq!(differing(&a, &b), FILES);
    assert_ne!(summary_without_seed(&a, 7), summary_without_seed(&b, 8));
}

#[test]
fn where_nothing_is_random_another_seed_changes_only_the_sequence_numbers() {
    let scratch = Scratch::new("reproducible-clean");
    let a = files(&scratch, "a", &lossy(0.0), 7);
    let b = files(&scratch, "b", &lossy(0.0), 8);
    // A row of flows.parquet tells its seed, as the summary does.
    assert_eq!(differing(&a, &b), ["summary.json", "flows.parquet", "packets.pcapng"]);
    assert_eq!(summary_without_seed(&a, 7), summary_without_seed(&b, 8));
    assert_eq!(a[3].len(), b[3].len());
}

const NONE: [&str; 0] = [];

fn lossy(probability: f64) -> String {
    format!(
        r#"
name = "reproducible"
host = "1999"
duration = "30 s"
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
queue = {{ kind = "drop-tail", limit = "50 packets" }}
loss = {{ kind = "packets", probability = {probability:?} }}
[[flows]]
name = "download"
traffic = {{ kind = "bulk" }}
path = ["server", "satellite", "user"]
[[flows]]
name = "echo"
traffic = {{ kind = "ping", interval = "1 s" }}
path = ["server", "satellite", "user"]
[record]
pcap = ["satellite"]
"#
    )
}

const SPACE: &str = r#"
name = "reproducible"
host = "1999"
duration = "5 min"
[constellation]
preset = "iridium"
[terminals]
a = { lat = "40.7 deg", lon = "-74.0 deg" }
b = { lat = "37.8 deg", lon = "-122.4 deg" }
[[flows]]
name = "download"
from = "a"
to = "b"
traffic = { kind = "bulk", size = "100 kB" }
[record]
pcap = ["*"]
"#;

/// Runs a scenario and reads [`FILES`], the summary without its wall-clock time.
fn files(scratch: &Scratch, name: &str, scenario: &str, seed: u64) -> [Vec<u8>; 4] {
    let loaded = parse(scenario.as_bytes(), "reproducible.toml", &[]).unwrap();
    let out = scratch.0.join(name);
    let options = RunOptions { seed: Some(seed), out: Some(out.clone()), snaplen: Some(64) };
    run_scenario(&loaded, &options, |_| true).unwrap();
    FILES.map(|file| {
        let bytes = std::fs::read(out.join(file)).unwrap();
        if file != "summary.json" {
            return bytes;
        }
        let text = String::from_utf8(bytes).unwrap();
        let (kept, left_out): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| !line.contains("\"wall_s\""));
        assert_eq!(left_out.len(), 1);
        kept.join("\n").into_bytes()
    })
}

/// The summary without its seed.
fn summary_without_seed(files: &[Vec<u8>; 4], seed: u64) -> String {
    let text = String::from_utf8(files[0].clone()).unwrap();
    let told = format!("\"seed\": {seed},");
    assert_eq!(text.matches(&told).count(), 1);
    text.replace(&told, "")
}

fn differing(a: &[Vec<u8>; 4], b: &[Vec<u8>; 4]) -> Vec<&'static str> {
    (0..4).filter(|&i| a[i] != b[i]).map(|i| FILES[i]).collect()
}
