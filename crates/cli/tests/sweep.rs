//! Sweeps as seen by a user: tables, kills, shards, changed scenarios, full disks.
//!
//! A run is done when its row is in a finished part, and the same command continues a sweep.
//! Differs from tests of the library: processes are killed and disks are full.
//! Leaves out speed, and the use of a table in Python.

#![allow(clippy::disallowed_methods, reason = "processes are waited for")]

mod common;

#[path = "../../../tools/testing.rs"]
mod testing;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use common::{command, empty_folder, path, skyhop, stderr, stdout};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

const SCENARIO: &str = r#"host = "1999"
duration = "20 s"
[links.satellite]
rate = "1 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", limit = "30 packets" }
loss = { kind = "bit-errors", bit_error_rate = 2e-7 }
[[flows]]
name = "bulk"
path = ["a", "satellite", "b"]
transport = { kind = "tcp", mss = "1000 B" }
traffic = { kind = "bulk", size = "1 MB" }
"#;

const SWEEP: &str = r#"
[sweep]
seeds = 3
[sweep.grid]
"links.satellite.rate" = ["500 kbit/s", "2 Mbit/s"]
"flows.bulk.transport.variant" = ["reno", "sack"]
[sweep.zip]
"links.satellite.delay" = ["10 ms", "250 ms"]
"links.satellite.queue.limit" = ["10 packets", "50 packets"]
"#;

#[test]
fn each_row_is_what_a_run_of_its_own_says() {
    let dir = folder("rows");
    let file = scenario(&dir, SWEEP);
    let out = skyhop(&["sweep", path(&file), "--out", path(&dir.join("out"))]);
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(stdout(&out).starts_with("24 runs of 8 points in "), "{}", stdout(&out));
    let table = table(&dir.join("out"));
    assert_eq!(table.num_rows(), 24);
    let real = |name: &str, row: usize| column(&table, name).as_primitive::<Float64Type>().value(row);
    let text = |name: &str, row: usize| column(&table, name).as_string::<i32>().value(row).to_owned();
    let mut seen = Vec::new();
    for row in 0..24 {
        let point = column(&table, "point").as_primitive::<Int64Type>().value(row);
        let seed = column(&table, "seed").as_primitive::<UInt64Type>().value(row);
        assert_eq!((point, seed), (row as i64 / 3, row as u64 % 3 + 1));
        let variant = text("flows.bulk.transport.variant", row);
        let rate = real("links.satellite.rate_bps", row);
        let delay = real("links.satellite.delay_s", row);
        let limit = real("links.satellite.queue.limit_packets", row);
        assert_eq!(delay == 0.25, limit == 50.0, "what is zipped changes together");
        seen.push((variant.clone(), rate as u64, delay.to_bits(), seed));
        if row % 5 != 0 {
            continue;
        }
        let sets = [
            format!("links.satellite.rate={rate} bit/s"),
            format!("links.satellite.delay={delay} s"),
            format!("links.satellite.queue.limit={limit} packets"),
            format!("flows.bulk.transport.variant={variant}"),
        ];
        let mut args = vec!["run", path(&file), "--json", "--quiet"];
        let seed = seed.to_string();
        args.extend(["--seed", &seed]);
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let run: serde_json::Value = serde_json::from_slice(&skyhop(&args).stdout).unwrap();
        let flow = &run["flows"]["bulk"];
        assert_eq!(flow["goodput_bps"].as_f64().unwrap(), real("bulk.goodput_bps", row), "row {row}: {run}");
        let dropped = column(&table, "links.satellite.forward.packets_dropped");
        let dropped = dropped.as_primitive::<Int64Type>();
        let link = &run["links"]["satellite"]["forward"];
        assert_eq!(link["packets_dropped"].as_i64().unwrap(), dropped.value(row), "row {row}");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 24, "every combination once");
    assert!(table.column_by_name("bulk.delay_mean_s").is_none(), "a transfer has no one-way delay");
}

/// 100 points of three seeds, or with SKYHOP_FULL 400.
fn many_points() -> String {
    let rates: Vec<String> =
        (1..=if testing::full() { 100 } else { 25 }).map(|i| format!("\"{} kbit/s\"", 50 * i)).collect();
    SWEEP.replace("[\"500 kbit/s\", \"2 Mbit/s\"]", &format!("[{}]", rates.join(", ")))
}

/// The folder of that sweep, run without interruption.
fn whole() -> &'static Path {
    static WHOLE: LazyLock<PathBuf> = LazyLock::new(|| {
        let dir = folder("undisturbed");
        let (file, whole) = (scenario(&dir, &many_points()), dir.join("whole"));
        assert!(skyhop(&["sweep", path(&file), "--out", path(&whole)]).status.success());
        whole
    });
    &WHOLE
}

#[test]
fn a_sweep_that_is_killed_ends_as_one_that_is_not() {
    let dir = folder("killed");
    let file = scenario(&dir, &many_points());
    let (whole, parts) = (whole(), dir.join("parts"));
    let all = finished_parts(whole);
    assert!((100..1000).contains(&all), "{all} parts");
    let mut chance = moments();
    let (mut finished, mut late) = (Vec::new(), 0);
    while finished.len() < 10 {
        // Once more from here if it has ended when this test, which others may keep from running, kills it.
        let saved = copy(&parts, &dir.join("saved"));
        let before = finished_parts(&parts);
        let args = ["sweep", path(&file), "--out", path(&parts), "--threads", "2"];
        let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A random moment of the sweep, however fast the machine is: so many parts later, and a little.
        let later = chance() % 8;
        while finished_parts(&parts) < before + later as usize && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(chance() % 3000));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if finished_parts(&parts) == all && late < 20 {
            late += 1;
            println!("it had ended: {status}");
            copy(&saved, &parts);
            continue;
        }
        assert_eq!(status.code(), None, "killed, and not at its end: {status}");
        assert!(!parts.join("runs.parquet").exists());
        finished.push(finished_parts(&parts));
        let finished = finished_parts(&parts);
        assert!(finished < all && finished >= before, "{finished} of {all} parts, {before} before");
    }
    println!("parts finished at each kill: {finished:?}");
    let out = skyhop(&["sweep", path(&file), "--out", path(&parts)]);
    assert!(out.status.success(), "{}", stderr(&out));
    let runs = table(whole).num_rows();
    assert!(stderr(&out).contains(&format!("of {runs} runs were done before")), "{}", stderr(&out));
    assert_eq!(table(&parts), table(whole), "row for row");
    assert_eq!(fs::read(parts.join("runs.parquet")).unwrap(), fs::read(whole.join("runs.parquet")).unwrap());
    let status = stdout(&skyhop(&["sweep", "status", path(&parts)]));
    assert_eq!(status, format!("scenario: {runs} of {runs} runs done (100.0 % of the parts), 0 failed\n"));
}

/// Makes `to` a copy of a folder, or nothing where that is not there; returns its path.
fn copy(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    if from.exists() {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    }
    to.to_owned()
}

#[test]
fn ctrl_c_ends_a_sweep_and_the_same_command_goes_on() {
    let dir = folder("interrupted");
    let file = scenario(&dir, &many_points());
    let (whole, parts) = (whole(), dir.join("parts"));
    let args = ["sweep", path(&file), "--out", path(&parts), "--threads", "1"];
    let interrupted = || {
        let _ = fs::remove_dir_all(&parts);
        let child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while finished_parts(&parts) < 3 {
            std::thread::sleep(Duration::from_micros(200));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        child.wait_with_output().unwrap()
    };
    let mut out = interrupted();
    for _ in 0..20 {
        // It may have ended when this test, which others keep from running, interrupts it.
        if parts.join("runs.parquet").exists() {
            out = interrupted();
        }
    }
    assert_eq!(out.status.code(), Some(130), "{}", stderr(&out));
    assert!(stderr(&out).contains("the same command continues"), "{}", stderr(&out));
    assert!((3..finished_parts(whole)).contains(&finished_parts(&parts)));
    let leftovers = fs::read_dir(parts.join("parts")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !name.to_str().unwrap().ends_with(".parquet")
    });
    assert_eq!(leftovers.count(), 0, "nothing half-written");
    assert!(skyhop(&args).status.success());
    assert_eq!(fs::read(parts.join("runs.parquet")).unwrap(), fs::read(whole.join("runs.parquet")).unwrap());
}

/// 2,000 and 20,000 runs, or with SKYHOP_FULL 10,000 and 100,000. Memory per run would show: a list of its parameters, 200 bytes,
/// would be 4 MB more.
#[test]
fn ten_times_as_many_runs_take_no_more_memory() {
    let dir = folder("memory");
    let list = |unit: &str, n: u32| {
        let values: Vec<String> = (1..=n).map(|i| format!("\"{i} {unit}\"")).collect();
        values.join(", ")
    };
    let grid = |rates: u32| {
        format!(
            "\n[sweep.grid]\n\"links.satellite.rate\" = [{}]\n\"links.satellite.delay\" = [{}]\n",
            list("kbit/s", rates),
            list("ms", 100)
        )
    };
    let peak = |name: &str, sweep: &str, runs: u32, points: u32| {
        let tiny = SCENARIO.replace("1 MB", "2 kB") + sweep;
        let (file, out) = (dir.join(format!("{name}.toml")), dir.join(name));
        fs::write(&file, tiny).unwrap();
        let args = ["sweep", path(&file), "--out", path(&out), "--threads", "2"];
        let mut child = command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak_kb = 0;
        while child.try_wait().unwrap().is_none() {
            // The most that it ever had, as the system counts; nothing is left to read once it has ended.
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kb = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak_kb = peak_kb.max(kb.unwrap_or(0));
            std::thread::sleep(Duration::from_micros(500));
        }
        let said = stdout(&child.wait_with_output().unwrap());
        assert!(
            said.starts_with(&format!("{runs} runs of {points} point{}", if points == 1 { "" } else { "s" })),
            "{said}"
        );
        let file = fs::File::open(out.join("runs.parquet")).unwrap();
        let rows =
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().file_metadata().num_rows();
        assert_eq!(rows, i64::from(runs));
        peak_kb
    };
    let (runs, more_kb) = if testing::full() { (100_000, 8_000) } else { (20_000, 3_000) };
    let few: u64 = peak("few", &grid(runs / 1000), runs / 10, runs / 10);
    let many: u64 = peak("many", &grid(runs / 100), runs, runs);
    let seeds: u64 = peak("seeds", &format!("\n[sweep]\nseeds = {runs}\n"), runs, 1);
    println!(
        "{} points: {few} kB at most, {runs} points: {many} kB, {runs} seeds of one: {seeds} kB",
        runs / 10
    );
    assert_eq!(finished_parts(&dir.join("seeds")), 500, "seeds are shared out too");
    assert!(seeds < few + more_kb, "{seeds} kB");
    assert!(few > 4_000, "{few} kB is no reading");
    assert!(many < few + more_kb, "{} runs: {few} kB, {runs} runs: {many} kB", runs / 10);
}

#[test]
fn shards_make_the_same_table() {
    let dir = folder("shards");
    let file = scenario(&dir, SWEEP);
    let (whole, shared) = (dir.join("whole"), dir.join("shared"));
    assert!(skyhop(&["sweep", path(&file), "--out", path(&whole)]).status.success());
    let shard = |n: &str| {
        let args = ["sweep", path(&file), "--out", path(&shared), "--shard", n];
        command(&args).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut two: Vec<_> = ["1/3", "2/3"].into_iter().map(shard).collect();
    assert!(two.iter_mut().all(|child| child.wait().unwrap().success()));
    let last = stdout(&skyhop(&["sweep", path(&file), "--out", path(&shared), "--shard", "3/3"]));
    assert_eq!(last, format!("24 runs of 8 points in {}\n", shared.join("runs.parquet").display()));
    let merged = skyhop(&["sweep", "merge", path(&shared)]);
    assert_eq!(stdout(&merged), format!("24 runs in {}\n", shared.join("runs.parquet").display()));
    assert_eq!(fs::read(shared.join("runs.parquet")).unwrap(), fs::read(whole.join("runs.parquet")).unwrap());
}

#[test]
fn points_may_have_seeds_of_their_own() {
    let dir = folder("seeds");
    let file = scenario(&dir, &SWEEP.replace("seeds = 3", "seeds = 3\ncommon_seeds = false"));
    assert!(skyhop(&["sweep", path(&file), "--out", path(&dir.join("out"))]).status.success());
    let table = table(&dir.join("out"));
    let seeds = column(&table, "seed");
    let seeds: Vec<u64> = seeds.as_primitive::<UInt64Type>().values().to_vec();
    assert_eq!(seeds, (1..=24).collect::<Vec<u64>>());
}

#[test]
fn a_run_that_fails_is_a_row_and_not_the_end() {
    let dir = folder("failing");
    // A queue of less than a packet is a mistake, but only together with the segments of the file.
    let sweep = "\n[sweep.grid]\n\"links.satellite.queue.limit\" = [\"64 kB\", \"500 B\"]\n";
    let file = scenario(&dir, sweep);
    let out = skyhop(&["sweep", path(&file), "--out", path(&dir.join("out"))]);
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(stdout(&out).contains("1 of them failed"), "{}", stdout(&out));
    let table = table(&dir.join("out"));
    let error = column(&table, "error");
    let error = error.as_string::<i32>();
    assert!(error.is_null(0) && error.value(1).contains("500 B"), "{:?}", error);
    let goodput = column(&table, "bulk.goodput_bps");
    assert!(goodput.is_valid(0) && goodput.is_null(1));
}

#[test]
fn seeds_are_added_until_the_mean_is_known() {
    let dir = folder("until");
    let sweep = "\n[sweep]\nuntil = { metric = \"bulk.goodput_bps\", within = 0.1, most_seeds = 40 }\n\
                 metrics = [\"bulk.*\"]\n[sweep.grid]\n\"links.satellite.loss.bit_error_rate\" = [0.0, 1e-6]\n";
    let file = scenario(&dir, sweep);
    let out = skyhop(&["sweep", path(&file), "--out", path(&dir.join("out"))]);
    assert!(out.status.success(), "{}", stderr(&out));
    let table = table(&dir.join("out"));
    let points = column(&table, "point");
    let points = points.as_primitive::<Int64Type>();
    let goodput = column(&table, "bulk.goodput_bps");
    let goodput = goodput.as_primitive::<Float64Type>();
    let of = |point: i64| -> Vec<f64> {
        (0..table.num_rows()).filter(|i| points.value(*i) == point).map(|i| goodput.value(i)).collect()
    };
    let spread = |x: &[f64]| {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (variance / n).sqrt() / mean
    };
    let rows = table.num_rows();
    let status = stdout(&skyhop(&["sweep", "status", path(&dir.join("out"))]));
    assert_eq!(status, format!("scenario: {rows} runs done (100.0 % of the parts), 0 failed\n"));
    assert_eq!(of(0).len(), 2, "without errors two runs are the same");
    let lossy = of(1);
    assert!(lossy.len() > 2 && lossy.len() < 40, "{}", lossy.len());
    assert!(spread(&lossy) <= 0.1 && spread(&lossy[..lossy.len() - 1]) > 0.1, "the first that is enough");
}

#[test]
fn what_cannot_be_swept_is_told_before_anything_is_written() {
    let dir = folder("wrong");
    let out = dir.join("out");
    for (sweep, expected) in [
        ("", "sweep: missing table; write [sweep.grid]"),
        ("[sweep.grid]\n\"links.satelite.rate\" = [\"1 Mbit/s\"]\n", "did you mean \"satellite\"?"),
        ("[sweep.grid]\n\"links.satellite.rate\" = []\n", "no values to try"),
        ("[sweep]\nseeds = 2000000\n", "sweep: 2000000 runs; --yes does more than a million"),
        (
            "[sweep]\nseeds = 2\nmetrics = [\"bulk.godput\"]\n",
            "sweep.metrics.0: no column fits \"bulk.godput\"",
        ),
        (
            "[sweep]\nuntil = { metric = \"bulk.goodput\", within = 0.1 }\n",
            "sweep.until.metric: no column \"bulk.goodput\"; did you mean \"bulk.goodput_bps\"?",
        ),
    ] {
        let file = scenario(&dir, sweep);
        let told = skyhop(&["sweep", path(&file), "--out", path(&out)]);
        assert_eq!(told.status.code(), Some(2), "{sweep}");
        assert!(stderr(&told).contains(expected), "{sweep}: {}", stderr(&told));
        assert!(!out.exists(), "{sweep}");
    }
    for shard in ["0/2", "3/2", "x", "1/0"] {
        assert_eq!(skyhop(&["sweep", "x.toml", "--shard", shard]).status.code(), Some(2), "{shard}");
    }
    let told = skyhop(&["sweep", "status", path(&dir)]);
    assert_eq!(
        (told.status.code(), stderr(&told).contains("there is no sweep in this folder")),
        (Some(2), true)
    );
}

#[test]
fn a_folder_is_for_one_sweep_and_one_process() {
    let dir = folder("one");
    let out = dir.join("out");
    let file = scenario(&dir, SWEEP);
    assert!(skyhop(&["sweep", path(&file), "--out", path(&out)]).status.success());
    let parts = fs::read_dir(out.join("parts")).unwrap().count();
    let told = skyhop(&["sweep", path(&file), "--out", path(&out), "--set", "duration=10 s"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(stderr(&told).ends_with("\n  duration: was \"20 s\", is \"10 s\"\n"), "{}", stderr(&told));
    let fewer = scenario(&dir, &SWEEP.replace("seeds = 3", "seeds = 2"));
    let told = skyhop(&["sweep", path(&fewer), "--out", path(&out)]);
    assert!(stderr(&told).ends_with("\n  sweep.seeds: was 3, is 2\n"), "{}", stderr(&told));
    assert_eq!(fs::read_dir(out.join("parts")).unwrap().count(), parts);

    // Long enough to be met at work.
    let long = scenario(&dir, &SWEEP.replace("seeds = 3", "seeds = 100000"));
    let folder = dir.join("long");
    let args = ["sweep", path(&long), "--out", path(&folder)];
    let mut first = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !folder.join("sweep.json").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = skyhop(&args);
    let busy = stdout(&skyhop(&["sweep", "status", path(&folder)]));
    let _ = first.kill();
    let _ = first.wait();
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("another sweep is running in this folder"), "{}", stderr(&second));
    assert!(busy.contains(", running"), "{busy}");
}

// Disks do this rarely, and Parquet alone does not notice: two dropped packets became 514.
#[test]
fn a_part_with_a_flipped_bit_is_named_and_done_again() {
    let dir = folder("flipped");
    let file = scenario(&dir, SWEEP);
    let out = dir.join("out");
    let args = ["sweep", path(&file), "--out", path(&out)];
    assert!(skyhop(&args).status.success());
    let table = fs::read(out.join("runs.parquet")).unwrap();
    let part = out.join("parts/part-000005.parquet");
    let whole = fs::read(&part).unwrap();
    for place in 0..16 {
        let mut flipped = whole.clone();
        flipped[place * (whole.len() - 1) / 15] ^= 1 << (place % 8);
        fs::write(&part, &flipped).unwrap();
        let merged = skyhop(&["sweep", "merge", path(&out)]);
        assert_eq!(merged.status.code(), Some(1), "{}", stdout(&merged));
        assert!(stderr(&merged).contains("part-000005.parquet: damaged"), "{}", stderr(&merged));
    }
    let status = stdout(&skyhop(&["sweep", "status", path(&out)]));
    assert!(status.contains(": 23 of 24 runs done") && status.contains("; 1 part damaged"), "{status}");
    let again = skyhop(&args);
    assert!(again.status.success(), "{}", stderr(&again));
    assert!(stderr(&again).contains("part-000005.parquet: damaged"), "{}", stderr(&again));
    assert_eq!(fs::read(&part).unwrap(), whole);
    assert_eq!(fs::read(out.join("runs.parquet")).unwrap(), table);
    assert!(!stderr(&skyhop(&args)).contains("damaged"));
}

#[test]
fn a_full_disk_ends_a_sweep_that_goes_on_when_there_is_room() {
    let dir = folder("full");
    let disk = dir.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = |options: &str| {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&disk)
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !mount("size=100k") {
        println!("skipped: cannot mount a tmpfs");
        return;
    }
    let _unmount = Unmount(&disk);
    let file = scenario(&dir, SWEEP);
    let whole = dir.join("whole");
    assert!(skyhop(&["sweep", path(&file), "--out", path(&whole)]).status.success());
    let parts = disk.join("out");
    let args = ["sweep", path(&file), "--out", path(&parts)];
    let out = skyhop(&args);
    assert_eq!(out.status.code(), Some(1), "{}{}", stdout(&out), stderr(&out));
    assert!((1..24).contains(&finished_parts(&parts)), "midway: {}", finished_parts(&parts));
    assert!(stderr(&out).contains("no space left on device"), "{}", stderr(&out));
    assert!(mount("remount,size=10m"));
    let out = skyhop(&args);
    assert!(out.status.success() && stderr(&out).contains("of 24 runs were done before"), "{}", stderr(&out));
    assert_eq!(table(&parts).num_rows(), 24);
    assert_eq!(fs::read(parts.join("runs.parquet")).unwrap(), fs::read(whole.join("runs.parquet")).unwrap());
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Number of finished parts of a sweep.
#[test]
fn effects_of_what_was_varied_are_told_with_their_shares() {
    let dir = folder("effects");
    let file = scenario(&dir, SWEEP);
    assert_eq!(
        skyhop(&["sweep", path(&file), "--out", path(&dir.join("all")), "--quiet"]).status.code(),
        Some(0)
    );
    let of = |more: &[&str]| {
        let sweep = dir.join("all");
        let begin = ["sweep", "effects", path(&sweep), "--response", "bulk.goodput_bps"];
        skyhop(&[&begin[..], more].concat())
    };
    let factors = "links.satellite.rate_bps,flows.bulk.transport.variant,links.satellite.delay_s";
    let text = of(&["--factors", factors]);
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
    assert!(stdout(&text).contains("of 24 runs, 3 a cell\n"), "{}", stdout(&text));
    assert!(stdout(&text).contains("links.satellite.delay_s explains "), "{}", stdout(&text));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&of(&["--factors", factors, "--json"]))).unwrap();
    let shares: f64 =
        json["components"].as_array().unwrap().iter().map(|c| c["percent"].as_f64().unwrap()).sum();
    assert!((shares - 100.0).abs() < 1e-9, "{shares}");
    assert_eq!((json["error"]["df"].as_u64(), json["paper"]["df"].as_u64()), (Some(16), Some(1)));
    assert!(stdout(&of(&["--factors", factors, "--markdown"])).contains("| component | sum of squares |"));
    for (more, why) in [
        (&["--factors", "links.satellite.rate"][..], "did you mean \"links.satellite.rate_bps\"?"),
        (&["--factors", "links.satellite.rate_bps"], "expected it among the factors"),
        (&[], "the grid is incomplete: 8 of 16 cells have no run\n"),
        (&["--factors", factors, "--confidence", "90"], "expected more than 0 and less than 1"),
    ] {
        let refused = of(more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(stderr(&refused).contains(why), "{more:?}: {}", stderr(&refused));
    }
    let none = skyhop(&["sweep", "effects", path(&dir), "--response", "x"]);
    assert!(
        none.status.code() == Some(2) && stderr(&none).contains("no sweep in this folder"),
        "{}",
        stderr(&none)
    );
}

fn finished_parts(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir.join("parts")) else { return 0 };
    entries.filter(|e| e.as_ref().unwrap().file_name().to_str().unwrap().ends_with(".parquet")).count()
}

/// Random numbers (xorshift) that differ each time: the property must hold at any moment.
fn moments() -> impl FnMut() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut state = now.as_nanos() as u64 | 1;
    println!("seed {state}");
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    }
}

fn scenario(dir: &Path, sweep: &str) -> PathBuf {
    let file = dir.join("scenario.toml");
    fs::write(&file, format!("{SCENARIO}{sweep}")).unwrap();
    file
}

fn table(dir: &Path) -> RecordBatch {
    let file = fs::File::open(dir.join("runs.parquet")).unwrap();
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(1 << 20).build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    batches.into_iter().next().unwrap()
}

fn column(table: &RecordBatch, name: &str) -> arrow_array::ArrayRef {
    let names = || table.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    table.column_by_name(name).unwrap_or_else(|| panic!("no {name} among {:?}", names())).clone()
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    empty_folder("sweep", name)
}
