//! The command as seen by a user: help, exit codes, errors, files.
//!
//! Follows the help texts.
//! Differs from the library's tests: each starts a process.
//! Leaves out the progress bar, which appears on terminals only.

#![allow(clippy::disallowed_methods, reason = "processes are waited for")]

mod common;

use common::{code, command, path, skyhop, stderr, stdout};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

#[test]
fn help_has_examples_for_each_command() {
    for command in [&[][..], &["run"], &["check"], &["schema"], &["demo"]] {
        let mut args = command.to_vec();
        args.push("--help");
        let out = skyhop(&args);
        assert_eq!(code(&out), 0);
        assert!(stdout(&out).contains("Examples:\n  skyhop "), "{command:?}: {}", stdout(&out));
    }
    assert_eq!(stdout(&skyhop(&["--version"])), concat!("skyhop ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn usage_and_scenario_errors_are_2() {
    for args in [
        &["fly"][..],
        &["run"],
        &["run", "geo.toml", "--seed", "x"],
        &["run", "geo.toml", "--seeds", "0"],
        &[],
    ] {
        assert_eq!(code(&skyhop(args)), 2, "{args:?}");
    }
    let missing = skyhop(&["run", "/nowhere/geo.toml"]);
    assert_eq!((code(&missing), stderr(&missing)), (2, "error: /nowhere/geo.toml: no such file\n".into()));
    let dir = folder("wrong");
    let file = dir.join("geo.toml");
    fs::write(&file, "").unwrap();
    let slip = dir.join("goe.tml");
    let told = format!("error: {}: no such file; did you mean \"{}\"?\n", slip.display(), file.display());
    assert_eq!(stderr(&skyhop(&["run", path(&slip)])), told);
    assert!(!stderr(&skyhop(&["run", path(&dir.join("iridium.toml"))])).contains("mean"));
    fs::write(&file, GEO.replace("drop-tail", "droptail").replace("10 Mbit/s", "10 mbps")).unwrap();
    for command in ["run", "check"] {
        let out = skyhop(&[command, file.to_str().unwrap()]);
        let lines: Vec<String> = stderr(&out).lines().map(str::to_owned).collect();
        assert_eq!((code(&out), lines.len(), stdout(&out)), (2, 2, String::new()));
        assert!(
            lines[0].starts_with(&format!("error: {}:3: links.access.rate: unit \"mbps\"", file.display())),
            "{}",
            lines[0]
        );
        assert!(
            lines[1].contains(":8: links.satellite.queue.kind: ")
                && lines[1].ends_with("did you mean \"drop-tail\"?")
        );
    }
    for seed in [&["--seed=-1"][..], &["--seed", "-1"], &["--seed", "x"]] {
        let told = stderr(&skyhop(&[&["run", "geo.toml"], seed].concat()));
        let expected = ": expected a whole number from 0 to 18446744073709551615\n";
        assert!(told.starts_with("error: invalid value '") && told.contains(expected), "{told}");
    }
    let set = skyhop(&["check", path(&right(&dir)), "--set", "links.satelite.rate=1"]);
    assert_eq!(code(&set), 2);
    assert!(
        stderr(&set).starts_with("error: --set links.satelite.rate: unknown name \"satelite\""),
        "{}",
        stderr(&set)
    );
}

#[test]
fn check_tells_what_a_scenario_means() {
    let file = right(&folder("check"));
    let out = skyhop(&["check", path(&file)]);
    let text = stdout(&out);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(text.contains("ok: 1 flow, 2 links, 60 s at most\n"), "{text}");
    assert!(text.contains("download: server -access-> access~satellite -satellite-> user\n"), "{text}");
    // 1.5 Mbit/s times 602 ms; 50 packets of 1040 B are 46 % of it.
    let numbers =
        "narrowest links.satellite at 1.5 Mbit/s, rtt 602 ms, product 112.9 kB, window up to 4.15 MB";
    assert!(text.contains(numbers), "{text}");
    assert!(text.contains("queue 50 packets, 4"), "{text}");
}

#[test]
fn resolved_is_a_scenario_with_every_key_that_means_the_same() {
    let dir = folder("resolved");
    let file = right(&dir);
    let resolved = skyhop(&["check", "--resolved", path(&file)]);
    assert_eq!(code(&resolved), 0, "{}", stderr(&resolved));
    let whole = dir.join("geo-resolved.toml");
    fs::write(&whole, &resolved.stdout).unwrap();
    for key in ["window_max", "send_buffer_max", "rto_min", "quick_acks", "recovery", "hystart"] {
        assert!(stdout(&resolved).contains(&format!("\n{key} = ")), "{key}: {}", stdout(&resolved));
    }
    // The resolved file has every value, so that another `host` changes nothing.
    for host in ["linux", "1999"] {
        let again = skyhop(&["check", "--resolved", path(&whole), "--set", &format!("host={host}")]);
        let flows = |out: &Output| stdout(out).split_once("[[flows]]").unwrap().1.to_owned();
        assert_eq!(flows(&again), flows(&resolved));
    }
    let summary = |file: &Path| {
        let out = skyhop(&["run", path(file), "--json", "--quiet"]);
        let mut summary: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        for key in ["wall_s", "scenario_sha256", "scenario"] {
            summary.as_object_mut().unwrap().remove(key);
        }
        summary
    };
    assert_eq!(summary(&file), summary(&whole));
}

#[test]
fn elements_that_do_not_parse_are_found_at_their_key() {
    let dir = folder("elements");
    let file = dir.join("own.toml");
    fs::write(&file, SPACE).unwrap();
    fs::write(dir.join("own.tle"), "not elements\n").unwrap();
    let out = skyhop(&["check", path(&file)]);
    assert_eq!(code(&out), 2);
    assert!(
        stderr(&out).starts_with(&format!("error: {}:3: constellation.tle: own.tle: ", file.display())),
        "{}",
        stderr(&out)
    );
}

#[test]
fn an_interrupt_ends_each_command_and_leaves_nothing_half_written() {
    let _ = fs::remove_dir_all(folder("interrupt"));
    let dir = folder("interrupt");
    let long = ["--constellation", "starlink", "--duration", "100 d"];
    let delay = ["delay", "london", "sydney", "--step", "1", "--csv", "--out", "out"];
    let passes = ["passes", "--at", "london", "--csv", "--out", "out"];
    let export = ["constellation", "export", "kuiper-630", "--hypatia", "out", "--duration", "1 d"];
    for args in [[&delay[..], &long].concat(), [&passes[..], &long].concat(), export.to_vec()] {
        // A shell without job control starts background jobs with SIGINT ignored.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_skyhop")])
            .args(&args)
            .current_dir(&dir)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It must end, working or still loading.
        std::thread::sleep(Duration::from_millis(400));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let mut ended = None;
        for _ in 0..600 {
            ended = child.try_wait().unwrap();
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        if ended.is_none() {
            child.kill().unwrap();
        }
        let ended = ended.unwrap_or_else(|| panic!("{args:?} goes on"));
        assert!(ended.code() == Some(130) || ended.signal() == Some(2), "{args:?}: {ended}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "{args:?}");
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let _ = fs::remove_dir_all(folder("whole"));
    let dir = folder("whole");
    let (file, blocked) = (dir.join("delays.csv"), dir.join("blocked"));
    let args =
        ["delay", "quito", "london", "--constellation", "iridium", "--duration", "180", "--csv", "--out"];
    let to = |file: &Path| skyhop(&[&args[..], &[path(file)]].concat());
    for _ in 0..2 {
        assert_eq!(code(&to(&file)), 0);
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 4);
    }
    fs::create_dir(&blocked).unwrap();
    let out = to(&blocked);
    assert_eq!(code(&out), 1);
    assert_eq!(stderr(&out), format!("error: cannot write {}: is a directory\n", blocked.display()));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
    // A device is written to, and not replaced.
    assert_eq!(code(&to(Path::new("/dev/null"))), 0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_negative_number_is_a_wrong_value() {
    for args in [
        &["run", "geo.toml", "--seed", "-1"][..],
        &["run", "geo.toml", "--seeds", "-1"],
        &["delay", "quito", "london", "--constellation", "iridium", "--step", "-5"],
        &["route", "quito", "london", "--constellation", "iridium", "--time", "-5"],
    ] {
        let out = skyhop(args);
        assert_eq!(code(&out), 2, "{args:?}");
        let said = stderr(&out);
        assert!(said.contains(args[args.len() - 1]) && !said.contains("unexpected"), "{args:?}: {said}");
    }
}

#[test]
fn schema_is_json() {
    let out = skyhop(&["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&stdout(&out)).unwrap();
    assert_eq!(schema["title"], "Scenario");
}

#[test]
fn a_run_prints_tables_or_json_and_writes_a_folder() {
    let dir = folder("run");
    let (file, results) = (right(&dir), dir.join("results"));
    let _ = fs::remove_dir_all(&results);
    let out = skyhop(&["run", path(&file)]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert_eq!(stderr(&out), "");
    let text = stdout(&out);
    assert!(
        text.contains("goodput") && text.contains("download") && text.contains("satellite  forward"),
        "{text}"
    );

    let args = [
        "run",
        path(&file),
        "--json",
        "--seed",
        "7",
        "--out",
        path(&results),
        "--set",
        "record.pcap=satellite",
    ];
    let out = skyhop(&args);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let printed: serde_json::Value = serde_json::from_str(&stdout(&out)).unwrap();
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(results.join("summary.json")).unwrap()).unwrap();
    assert_eq!(printed, written);
    assert_eq!(printed["seed"], 7);
    assert_eq!(printed["scenario"], "geo");
    assert_eq!(printed["set"][0], "record.pcap=satellite");
    assert_eq!(printed["flows"]["download"]["bytes_delivered"], 1_000_000);
    let mut names: Vec<_> =
        fs::read_dir(&results).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["flows.parquet", "packets.pcapng", "series.parquet", "summary.json"]);
}

#[test]
fn seeds_give_intervals_in_the_same_order_every_time() {
    let file = right(&folder("seeds"));
    let loss = "links.satellite.loss={ kind = \"packets\", probability = 0.01 }";
    let run = || {
        let out = skyhop(&["run", path(&file), "--json", "--seeds", "5", "--seed", "3", "--set", loss]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let mut json: serde_json::Value = serde_json::from_str(&stdout(&out)).unwrap();
        json["wall_s"] = 0.into();
        json
    };
    let json = run();
    assert_eq!(json["seeds"], serde_json::json!([3, 4, 5, 6, 7]));
    let goodput = &json["flows"]["download"]["goodput_bps"];
    let (mean, half) = (goodput["mean"].as_f64().unwrap(), goodput["ci95_half_width"].as_f64().unwrap());
    assert!(goodput["min"].as_f64().unwrap() < mean && mean < goodput["max"].as_f64().unwrap() && half > 0.0);
    assert_eq!(json, run());
    let same = skyhop(&["run", path(&file), "--seeds", "2"]);
    assert!(stderr(&same).contains("all runs are the same"), "{}", stderr(&same));
    assert!(stdout(&same).contains("95 % interval"));
}

#[test]
fn a_folder_that_cannot_be_written_is_1_and_leaves_nothing() {
    let dir = folder("full");
    let file = right(&dir);
    let in_the_way = dir.join("occupied");
    fs::write(&in_the_way, "").unwrap();
    let out = skyhop(&["run", path(&file), "--out", path(&in_the_way)]);
    assert_eq!(code(&out), 1);
    assert!(
        stderr(&out).starts_with("error: cannot write ") && stderr(&out).lines().count() == 1,
        "{}",
        stderr(&out)
    );
    if Path::new("/dev/full").exists() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = command(&["run", path(&file)]).stdout(full).output().unwrap();
        assert_eq!(
            (code(&out), stderr(&out)),
            (1, "error: cannot print the results: no space left on device\n".into())
        );
    }
}

const GEO: &str = r#"duration = "60 s"
[links.access]
rate = "10 Mbit/s"
delay = "1 ms"
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
queue = { kind = "drop-tail", limit = "50 packets" }
[[flows]]
name = "download"
path = ["server", "access", "satellite", "user"]
transport = { kind = "tcp", mss = "1000 B" }
traffic = { kind = "bulk", size = "1 MB" }
"#;

const SPACE: &str = r#"duration = "1 h"
[constellation]
tle = "own.tle"
[terminals]
a = { lat = "40 deg", lon = "-74 deg" }
b = { lat = "37 deg", lon = "-122 deg" }
[[flows]]
from = "a"
to = "b"
traffic = { kind = "ping" }
"#;

fn right(dir: &Path) -> PathBuf {
    let file = dir.join("geo.toml");
    fs::write(&file, GEO).unwrap();
    file
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}
