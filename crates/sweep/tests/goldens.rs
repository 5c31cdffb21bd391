//! Skyhop's present results, byte by byte, so that a change of any number is noticed.
//!
//! Runs every point of `goldens/*.toml` and some of `../../../scenarios`. `goldens/goldens.txt` has the numbers of each flow and
//! network, rounded to four digits, to be read in a diff; `goldens/goldens.sha256` has the digest of every file of the runs.
//! `SKYHOP_UPDATE=1` rewrites both. Of the summary `wall_s`, the version, and copies of the scenario are excluded; its resolved
//! keys have a digest of their own.
//! Differs from a comparison with a reference: it does not show that a number is right.
//! Leaves out other machines: sine and logarithm may differ in the last bit there, so digests are tested on x86-64 Linux only,
//! and on others the table. Another release of the parquet library changes the digests of tables and nothing else.

#[path = "../../../tools/testing.rs"]
mod testing;

use serde_json::Value;
use sha2::{Digest, Sha256};
use skyhop_record::{RunOptions, run_scenario};
use skyhop_results::{DirectionResult, FlowMetric, FlowResult, Measure, RunResult};
use skyhop_scenario::{Loaded, load};
use skyhop_sweep::Plan;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const SCENARIOS: &str = "../../scenarios";
const NETWORKS: &str = "tests/goldens";

/// Paths and values, as for `--set`.
type Sets = &'static [(&'static str, &'static str)];

/// Scenarios with overrides that shorten them, and the stride between points of their sweep that are run.
const SHORTENED: &[(&str, Sets, u64)] = &[
    ("association", &[("duration", "8 s"), ("flows.download.count", "6")], 1),
    ("flight", &[("duration", "10 min")], 1),
    ("gateway", &[("flows.download.traffic.size", "5 MB"), ("duration", "20 s")], 1),
    ("geo", &[], 1),
    ("geo-and-leo", &[("duration", "5 min")], 1),
    ("iridium", &[("duration", "4 h")], 1),
    ("iridium-download", &[("duration", "5 min")], 1),
    ("late-packets", &[("duration", "15 s")], 5),
    ("losses", &[("duration", "40 s")], 4),
    ("mesh", &[("duration", "40 s")], 1),
    ("on-demand", &[("duration", "60 s")], 3),
    ("queues", &[("duration", "15 s")], 5),
    ("remote-site", &[("duration", "40 s")], 1),
    ("split", &[("duration", "60 s")], 1),
    ("starlink-bent-pipe", &[("duration", "60 s")], 1),
    ("stp", &[("flows.download.traffic.size", "40 MB")], 1),
    ("town", &[("flows.download.count", "40"), ("populations.users.count", "60")], 1),
    ("web-geo", &[("duration", "10 min")], 1),
    ("which-tcp", &[("duration", "20 s")], 11),
];

/// Keys of the summary that are excluded: the clock's, the program's, and copies of the input.
const LEFT_OUT: [&str; 5] = ["wall_s", "version", "scenario_sha256", "set", "resolved"];

/// Number of bytes of a packet that captures keep: all headers, and the beginning of the payload.
const SNAPLEN: u32 = 128;

/// Metrics of flows in the table, with the headings of their columns.
const COLUMNS: [(&str, &str); 12] = [
    ("packets_sent", "sent"),
    ("packets_delivered", "delivered"),
    ("packets_dropped", "dropped"),
    ("packets_lost", "lost"),
    ("goodput_bps", "goodput"),
    ("completed_s", "completed"),
    ("completion_mean_s", "mean"),
    ("delay_mean_s", "delay"),
    ("rtt_mean_s", "rtt"),
    ("segments_retransmitted", "repeated"),
    ("timeouts", "timeouts"),
    ("limited_by", "limited by"),
];

/// The results of the runs of one file.
#[derive(Default)]
struct Found {
    table: String,
    digests: String,
}

#[test]
fn every_number_is_what_it_was() {
    let scratch = Scratch::new();
    let mut found = Found::default();
    head(&mut found.table);
    for name in names(SCENARIOS) {
        let Some((_, sets, every)) = SHORTENED.iter().find(|(known, ..)| *known == name) else {
            panic!("scenarios/{name}.toml is new: say in SHORTENED how it is run in a second or two");
        };
        found.add(SCENARIOS, &name, sets, *every, &scratch.0);
    }
    for name in names(NETWORKS) {
        found.add(NETWORKS, &name, &[], 1, &scratch.0);
    }
    let mut differing = Vec::from_iter(compare("goldens.txt", &found.table));
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        differing.extend(compare("goldens.sha256", &found.digests));
    } else {
        println!("digests are held on x86-64 Linux alone");
    }
    assert!(
        differing.is_empty(),
        "{}; if that is meant, SKYHOP_UPDATE=1 writes them anew",
        differing.join("; ")
    );
}

/// Names of the scenario files in a folder, in order, without their extension.
fn names(folder: &str) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        files.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
    names.sort();
    names
}

impl Found {
    /// Runs every `every`th point of a scenario's sweep, or the scenario if it has none.
    fn add(&mut self, folder: &str, name: &str, sets: &[(&str, &str)], every: u64, scratch: &Path) {
        let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        let file = Path::new(folder).join(format!("{name}.toml"));
        let loaded = load(&file, &sets).unwrap_or_else(|e| panic!("{e}"));
        let name = format!("{}/{name}", Path::new(folder).file_name().unwrap().display());
        if loaded.scenario.sweep.is_none() {
            return self.run(&name, &loaded, scratch);
        }
        let plan = Plan::new(&loaded).unwrap_or_else(|e| panic!("{e}"));
        let alone = loaded.without_sweep();
        for point in (0..plan.points().unwrap()).step_by(every as usize) {
            let name = format!("{name}/{point:02}");
            let loaded = alone.with(&plan.point(point).sets).unwrap_or_else(|e| panic!("{name}: {e}"));
            self.run(&name, &loaded, scratch);
        }
    }

    fn run(&mut self, name: &str, loaded: &Loaded, scratch: &Path) {
        let out = scratch.join(name);
        let options = RunOptions { seed: None, out: Some(out.clone()), snaplen: Some(SNAPLEN) };
        let (result, _) = run_scenario(loaded, &options, |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
        rows(&mut self.table, name, &result);
        let mut files: Vec<String> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        for file in files {
            let bytes = fs::read(out.join(&file)).unwrap();
            if file == "summary.json" {
                let mut summary: Value = serde_json::from_slice(&bytes).unwrap();
                let resolved = summary["resolved"].to_string();
                for key in LEFT_OUT {
                    summary.as_object_mut().unwrap().remove(key);
                }
                self.digest(name, "resolved", resolved.as_bytes());
                self.digest(name, &file, summary.to_string().as_bytes());
            } else {
                self.digest(name, &file, &bytes);
            }
        }
        fs::remove_dir_all(out).unwrap();
    }

    fn digest(&mut self, name: &str, file: &str, bytes: &[u8]) {
        let digest = Sha256::digest(bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.digests, "{hex}  {name}/{file}").unwrap();
    }
}

/// Writes the headings of the tables of flows and of networks.
fn head(table: &mut String) {
    write!(table, "{:<40}", "flow").unwrap();
    for (_, title) in COLUMNS {
        write!(table, "{title:>11}").unwrap();
    }
    table.push('\n');
    let network = ["events", "hops", "simulated", "dropped", "lost", "filtered", "too large", "marked"];
    write!(table, "{:<40}", "network").unwrap();
    for title in network.into_iter().chain(["handovers", "gap", "splices", "messages"]) {
        write!(table, "{title:>11}").unwrap();
    }
    table.push('\n');
}

/// Writes a row for each flow and one for the network.
fn rows(table: &mut String, name: &str, result: &RunResult) {
    for flow in &result.flows {
        write!(table, "{:<40}", format!("{name} {}", flow.name)).unwrap();
        for (metric, _) in COLUMNS {
            write!(table, "{:>11}", cell(flow, metric)).unwrap();
        }
        table.push('\n');
    }
    let directions = || result.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    let sum = |get: fn(&DirectionResult) -> u64| Some(directions().map(get).sum::<u64>() as f64);
    let handovers = &result.handovers;
    let changes = handovers.iter().map(|h| h.handovers).sum::<u64>() as f64;
    let gap = handovers.iter().map(|h| h.gap_s).sum::<f64>();
    let spliced = result.splices.iter().map(|s| s.forward_bytes + s.return_bytes).sum::<u64>() as f64;
    let cells = [
        Some(result.events as f64),
        Some(result.packet_hops as f64),
        Some(result.simulated_s),
        sum(|d| d.packets_dropped),
        sum(|d| d.packets_lost),
        sum(|d| d.packets_filtered),
        sum(|d| d.packets_too_large),
        sum(|d| d.packets_marked),
        (!handovers.is_empty()).then_some(changes),
        (!handovers.is_empty()).then_some(gap),
        (!result.splices.is_empty()).then_some(spliced),
        result.routing.and_then(|r| r.messages).map(|n| n as f64),
    ];
    write!(table, "{:<40}", format!("{name} network")).unwrap();
    for value in cells {
        write!(table, "{:>11}", value.map_or("-".to_owned(), rounded)).unwrap();
    }
    table.push('\n');
}

/// The text of a flow's metric in the table.
fn cell(flow: &FlowResult, name: &str) -> String {
    let metric = FlowMetric::all().iter().find(|metric| metric.name == name).unwrap();
    let text = match metric.of(flow) {
        // Causes are told by their first letters, so that a row stays a line.
        Measure::Text(text) => text.map(|text| text.chars().take(9).collect()),
        value => value.number().map(rounded),
    };
    text.unwrap_or_else(|| "-".to_owned())
}

/// A number with four significant digits; a small whole number is exact.
fn rounded(value: f64) -> String {
    let size = value.abs();
    if size < 1e4 && value.fract() == 0.0 {
        return format!("{value}");
    }
    let scientific = format!("{value:.3e}");
    // The exponent after rounding: 999.96 is 1000 and has no decimals then.
    let exponent: i32 = scientific.rsplit('e').next().unwrap().parse().unwrap();
    if (-3..4).contains(&exponent) { format!("{value:.*}", (3 - exponent) as usize) } else { scientific }
}

/// Compares `text` with a committed file and returns the differences, or rewrites the file.
fn compare(file: &str, text: &str) -> Option<String> {
    let path = Path::new(NETWORKS).join(file);
    if testing::wanted("SKYHOP_UPDATE") {
        fs::write(path, text).unwrap();
        return None;
    }
    let committed = fs::read_to_string(path).unwrap();
    let (old, new): (Vec<&str>, Vec<&str>) = (committed.lines().collect(), text.lines().collect());
    let gone: Vec<&&str> = old.iter().filter(|line| !new.contains(line)).collect();
    let come: Vec<&&str> = new.iter().filter(|line| !old.contains(line)).collect();
    if old == new {
        return None;
    }
    const SHOWN: usize = 60;
    for (sign, lines) in [("-", &gone), ("+", &come)] {
        lines.iter().take(SHOWN).for_each(|line| println!("{sign} {line}"));
        if lines.len() > SHOWN {
            println!("{sign} and {} more", lines.len() - SHOWN);
        }
    }
    Some(format!("{file}: {} of {} lines differ", come.len().max(gone.len()), new.len()))
}

/// A folder that is removed with its contents.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("skyhop-goldens-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
