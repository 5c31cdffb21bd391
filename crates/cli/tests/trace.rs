//! `skyhop trace` as seen by a user: files in, files out, messages, and the behaviour of a simulated link.
//!
//! Follows the forms of other programs with texts of our own; published traces are compared if they exist in the folder
//! SKYHOP_DATA or beside the repository. Differs from the crate's tests: each starts a process and whole runs.
//! Leaves out the other programs.

mod common;

use common::{code, empty_folder, path, skyhop, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    empty_folder("trace", name)
}

/// Imports `text`; returns the trace and the messages.
fn imported(name: &str, form: &str, text: &str, options: &[&str]) -> (String, String) {
    let file = folder(name).join("in");
    fs::write(&file, text).unwrap();
    let out = skyhop(&[&["trace", "import", form, path(&file)], options].concat());
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    (stdout(&out), stderr(&out))
}

/// The summary of a run over a link of 1 Gbit/s and 5 ms with a trace, and one flow.
fn replayed(dir: &Path, trace: &str, link: &str, flow: &str, seconds: u32) -> serde_json::Value {
    let scenario = format!(
        "duration = \"{seconds} s\"\n[links.l]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\nqueue = {{ kind = \"drop-tail\", \
            limit = \"300 packets\" }}\n\
         trace = \"{trace}\"\n{link}\nreverse = {{ schedule = [] }}\n[[flows]]\nname = \"f\"\npath = [\"a\", \"l\", \"b\"]\n{flow}\n"
    );
    let file = dir.join("run.toml");
    fs::write(&file, scenario).unwrap();
    let out = skyhop(&["run", path(&file), "--json", "--quiet"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    serde_json::from_str(&stdout(&out)).unwrap()
}

const FLOOD: &str = "traffic = { kind = \"cbr\", rate = \"RATE\", size = \"1472 B\" }";

/// Goodput of a link with a trace under a larger offered load, bit/s.
fn rate_bps(dir: &Path, trace: &str, offered: &str, seconds: u32) -> f64 {
    let summary = replayed(dir, trace, "", &FLOOD.replace("RATE", offered), seconds);
    let flow = &summary["flows"]["f"];
    let received = flow["packets_delivered"].as_f64().unwrap_or_else(|| panic!("{flow:#}"));
    received * 12_000.0 / f64::from(seconds)
}

#[test]
fn a_steady_trace_of_mahimahi_gives_its_rate_as_it_is_and_imported() {
    let dir = folder("steady");
    fs::write(dir.join("12.mahi"), "1\n").unwrap();
    let (table, said) = imported("steady-in", "mahimahi", "1\n", &[]);
    assert_eq!(table, "t_s,rate_bps\n0,12000000\n");
    assert!(said.contains("repeat = \"1 ms\""), "{said}");
    fs::write(dir.join("12.csv"), table).unwrap();
    for trace in ["12.mahi", "12.csv"] {
        let bps = rate_bps(&dir, trace, "20 Mbit/s", 20);
        assert!((bps / 12e6 - 1.0).abs() < 0.01, "{trace}: {bps}");
    }
}

#[test]
fn leocc_gives_its_mean_rate_and_its_delays() {
    // 36, 0, 12 Mbit/s in turn for 10 ms each: 16 Mbit/s; 20 ms of delay for half a second, 30 ms for the next.
    let dir = folder("leocc");
    let mut bw = String::new();
    for ms in 1..=1000 {
        let packets = [3, 0, 1][(ms - 1) / 10 % 3];
        bw.push_str(&format!("{ms}\n").repeat(packets));
    }
    let delays = "20\n".repeat(50) + &"30\n".repeat(50);
    fs::write(dir.join("bw_1.txt"), &bw).unwrap();
    fs::write(dir.join("delay_1.txt"), &delays).unwrap();
    let out = dir.join("t.csv");
    let [bw_file, delay_file] = ["bw_1.txt", "delay_1.txt"].map(|name| dir.join(name));
    let import =
        skyhop(&["trace", "import", "leocc", path(&bw_file), path(&delay_file), "--out", path(&out)]);
    assert_eq!(code(&import), 0, "{}", stderr(&import));
    assert_eq!(
        stderr(&import),
        "note: lasts 1 s; repeat = \"1 s\" with the link's trace repeats it from there\n"
    );
    let mean_bps = bw.lines().count() as f64 * 12_000.0;
    let flood = replayed(&dir, "t.csv", "repeat = \"1 s\"", &FLOOD.replace("RATE", "60 Mbit/s"), 20);
    let bps = flood["flows"]["f"]["packets_delivered"].as_f64().unwrap() * 12_000.0 / 20.0;
    assert!((bps / mean_bps - 1.0).abs() < 0.01, "{bps} for {mean_bps}");
    let ping = "traffic = { kind = \"ping\", interval = \"17 ms\", size = \"10 B\" }";
    let pings = replayed(&dir, "t.csv", "repeat = \"1 s\"", ping, 20);
    let [least, most] = ["delay_min_s", "delay_max_s"].map(|key| pings["flows"]["f"][key].as_f64().unwrap());
    // One way. A ping may wait 10 ms for a rate.
    assert!((0.02..0.0201).contains(&least) && (0.03..0.041).contains(&most), "{least} {most}");
    // And back into its files, as they were.
    let export =
        skyhop(&["trace", "export", "leocc", path(&out), "--duration", "1 s", "--out", path(&dir.join("1"))]);
    assert_eq!(code(&export), 0, "{}", stderr(&export));
    assert_eq!(fs::read_to_string(dir.join("1/bw_1.txt")).unwrap(), bw);
    assert_eq!(fs::read_to_string(dir.join("1/delay_1.txt")).unwrap(), delays);
    let again = skyhop(&["trace", "export", "leocc", path(&out), "--out", path(&dir.join("1"))]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("exists; expected a folder that is yet to be"), "{}", stderr(&again));
}

#[test]
fn theaterq_netsatbench_and_linkem_are_replayed() {
    let dir = folder("others");
    let (table, said) = imported(
        "tq",
        "theaterq",
        "5000000,40000000,8000000,0,500\n5000000,40000000,4000000,2147483648,500\n",
        &[],
    );
    assert!(said.contains("LIMIT of 500 is left out"), "{said}");
    fs::write(dir.join("tq.csv"), table).unwrap();
    let flood = replayed(&dir, "tq.csv", "", &FLOOD.replace("RATE", "20 Mbit/s"), 10);
    // 8 Mbit/s for 5 s, then 4 of which half are lost.
    let bps = flood["flows"]["f"]["packets_delivered"].as_f64().unwrap() * 1.2e3;
    assert!((bps / 5e6 - 1.0).abs() < 0.02, "{bps}");

    let epochs = dir.join("epochs");
    fs::create_dir(&epochs).unwrap();
    let link = "\"endpoint1\": \"u\", \"endpoint2\": \"s\"";
    for (name, text) in [
        (
            "e0.json",
            format!(
                "{{\"time\": \"2025-01-01T00:00:00Z\", \"links-add\": [{{{link}, \"rate\": \"10mbit\", \"delay\": \"20ms\", \
                    \"loss\": 0}}]}}"
            ),
        ),
        (
            "e1.json",
            format!(
                "{{\"time\": \"2025-01-01T00:00:04Z\", \"links-update\": [{{{link}, \"rate\": \"5mbit\"}}]}}"
            ),
        ),
        ("e2.json", format!("{{\"time\": \"2025-01-01T00:00:08Z\", \"links-del\": [{{{link}}}]}}")),
    ] {
        fs::write(epochs.join(name), text).unwrap();
    }
    let files = ["e2.json", "e1.json", "e0.json"].map(|name| epochs.join(name));
    let mut arguments = vec!["trace", "import", "netsatbench"];
    arguments.extend(files.iter().map(|file| path(file)));
    let out = skyhop(&arguments);
    assert_eq!(
        stdout(&out),
        "t_s,rate_bps,delay_s,loss\n0,10000000,0.02,0\n4,5000000,0.02,0\n8,,,1\n",
        "{}",
        stderr(&out)
    );
    fs::write(dir.join("nsb.csv"), stdout(&out)).unwrap();
    let bps = rate_bps(&dir, "nsb.csv", "20 Mbit/s", 10);
    assert!((bps / 6e6 - 1.0).abs() < 0.01, "{bps}");

    let (table, _) = imported("le", "linkem-loss", "1110", &["--interval", "1 s"]);
    assert_eq!(table, "t_s,loss\n0,0\n3,1\n");
    let (table, _) = imported("ld", "linkem-delay", "40 40 90 ", &["--interval", "1 s"]);
    fs::write(dir.join("ld.csv"), table).unwrap();
    let ping = "traffic = { kind = \"ping\", interval = \"100 ms\", size = \"10 B\" }";
    let pings = replayed(&dir, "ld.csv", "repeat = \"3 s\"", ping, 9);
    let told =
        ["delay_min_s", "delay_max_s"].map(|key| (pings["flows"]["f"][key].as_f64().unwrap() * 1e3).round());
    assert_eq!(told, [40.0, 90.0]);
}

#[test]
fn a_path_through_a_constellation_is_replayed_as_it_is() {
    let dir = folder("profile");
    let file = dir.join("path.csv");
    let out = skyhop(&[
        "delay",
        "quito",
        "london",
        "--constellation",
        "iridium",
        "--trace",
        "--frequency",
        "1.6 GHz",
        "--start",
        "100",
        "--step",
        "1",
        "--duration",
        "60 s",
        "--out",
        path(&file),
    ]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let text = fs::read_to_string(&file).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(text.lines().next(), Some("t_s,delay_s,loss,doppler_hz"));
    assert_eq!((rows.len(), rows[0][0], rows[59][0]), (60, 0.0, 59.0));
    // The shift is what the delay's change makes of the carrier, while the path stays.
    let mut compared = 0;
    for pair in rows.windows(2) {
        let change_hz = -(pair[1][1] - pair[0][1]) * 1.6e9;
        let mean_hz = (pair[0][3] + pair[1][3]) / 2.0;
        if (change_hz - mean_hz).abs() < 20.0 {
            compared += 1;
        } else {
            // Another path begins between two rows.
            assert!((pair[1][1] - pair[0][1]).abs() > 1e-5, "{pair:?}");
        }
    }
    assert!(compared >= 50, "{compared} of 59 steps");
    // The same packets over satellites, and over a link with that trace.
    let csv = skyhop(&[
        "delay",
        "quito",
        "london",
        "--constellation",
        "iridium",
        "--csv",
        "--start",
        "100",
        "--step",
        "1",
        "--duration",
        "60 s",
    ]);
    for (line, row) in stdout(&csv).lines().skip(1).zip(&rows) {
        let delay_ms: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        assert!((delay_ms * 1e-3 - row[1]).abs() < 2e-9, "{line} {row:?}");
    }
    let ping = "traffic = { kind = \"ping\", interval = \"1 s\", size = \"10 B\" }";
    let pings = replayed(&dir, "path.csv", "", ping, 60);
    let mean_s = rows.iter().map(|row| row[1]).sum::<f64>() / 60.0;
    let told_s = pings["flows"]["f"]["delay_mean_s"].as_f64().unwrap();
    assert!((told_s - mean_s).abs() < 2e-5, "{told_s} for {mean_s}");
}

#[test]
fn bad_input_is_2_with_its_line_and_leaves_nothing() {
    let dir = folder("bad");
    let long = "7\n".repeat(1000) + "6\n";
    for (form, text, options, expected) in [
        ("mahimahi", "5\n3\n", &[][..], "in: line 2: 3 ms is before 5 ms"),
        ("mahimahi", &long, &[], "in: line 1001: 6 ms is before 7 ms"),
        ("mahimahi", "", &[], "in: is empty"),
        ("leocc", "20\n-1\n", &[], "in: line 2: \"-1\" is not a whole number; expected a delay in ms"),
        ("linkem-delay", "1 2", &[], "--interval: missing; linkem-delay does not say"),
        ("linkem-delay", "1 two", &["--interval", "1 s"], "in: line 1: \"two\" is not a whole number"),
        (
            "mahimahi",
            "1\n",
            &["--interval", "1 s"],
            "--interval: mahimahi has no use for it; it goes with linkem-delay, linkem-loss",
        ),
        ("theaterq", "0,1,1,0,1\n", &[], "in: line 1: KEEP: 0 is outside 1 to"),
        ("netsatbench", "{", &[], "in: is not JSON: EOF"),
        ("log", "t,x\n0,1\n", &["--time", "t"], "expected a column: --rate, --rtt"),
        (
            "log",
            "t,x\n0,1\n",
            &["--time", "t", "--rtt", "y=ms"],
            "in: line 1: no column \"y\"; there are t, x",
        ),
        (
            "log",
            "t,x\n0,1\n2,2\n1,2\n",
            &["--time", "t", "--rtt", "x=ms"],
            "in: line 4: t: 1 s after the first row is before 2 s",
        ),
        ("log", "t,x\n0,1\n", &["--time", "t", "--rtt", "x=mbps"], "unit \"mbps\""),
        ("fjordlink", "PAR1", &[], "no column \"@timestamp\""),
    ] {
        let (file, out) = (dir.join("in"), dir.join("out.csv"));
        fs::write(&file, text).unwrap();
        let said = skyhop(&[&["trace", "import", form, path(&file), "--out", path(&out)], options].concat());
        assert_eq!(code(&said), 2, "{form} {text}");
        assert!(stderr(&said).contains(expected), "{form} {expected}: {}", stderr(&said));
        assert!(!out.exists() && stdout(&said).is_empty(), "{form}");
    }
    // Larger than any trace: refused before it is read.
    let huge = dir.join("huge");
    fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let said = skyhop(&["trace", "import", "mahimahi", path(&huge)]);
    assert_eq!(code(&said), 2);
    assert!(
        stderr(&said).contains("file of 1099511627776 bytes; expected 167772160 at most"),
        "{}",
        stderr(&said)
    );
    fs::remove_file(&huge).unwrap();
    let missing = skyhop(&["trace", "import", "mahimahi", path(&dir.join("nowhere"))]);
    assert_eq!((code(&missing), stderr(&missing).contains("no such file")), (2, true));
    fs::write(dir.join("in"), "t_s,delay_s\n0,0.1\n1,0.2\n").unwrap();
    for (form, options, expected) in [
        ("mahimahi", &[][..], "in: no rate at t_s 0; give the link's own with --rate"),
        ("leocc", &["--rate", "1 Mbit/s"], "--out: missing; leocc is a folder of files"),
        ("linkem-loss", &[], "--interval: missing; linkem-loss has packets"),
        ("theaterq", &["--rate", "10 mbps"], "unit \"mbps\""),
        ("mahimahi", &["--limit", "5"], "--limit: mahimahi has no use for it"),
    ] {
        let said = skyhop(&[&["trace", "export", form, path(&dir.join("in"))], options].concat());
        assert_eq!((code(&said), stdout(&said)), (2, String::new()), "{form}");
        assert!(stderr(&said).contains(expected), "{form} {expected}: {}", stderr(&said));
    }
}

/// A published file; `None`, with a message, if it does not exist.
fn published(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = std::env::var_os("SKYHOP_DATA").map_or(beside, PathBuf::from).join(name);
    if !file.exists() {
        eprintln!("skipped: {} is not at hand", file.display());
        return None;
    }
    Some(file)
}

/// The output of a program for a file.
fn unpacked(program: &str, options: &[&str], file: &Path) -> Option<Vec<u8>> {
    let out = Command::new(program).args(options).arg(file).output();
    if out.is_err() {
        eprintln!("skipped: no {program}");
    }
    out.ok().filter(|out| out.status.success()).map(|out| out.stdout)
}

#[test]
fn a_published_trace_of_starlink_gives_its_mean_rate() {
    let Some(packed) = published("starlink-leocc-example/bw_example.txt.gz") else { return };
    let Some(delays) = published("starlink-leocc-example/delay_example.txt") else { return };
    let Some(bw) = unpacked("gzip", &["-dc"], &packed) else { return };
    let dir = folder("published-leocc");
    let (bw_file, out) = (dir.join("bw.txt"), dir.join("t.csv"));
    fs::write(&bw_file, &bw).unwrap();
    let import = skyhop(&["trace", "import", "leocc", path(&bw_file), path(&delays), "--out", path(&out)]);
    assert_eq!(code(&import), 0, "{}", stderr(&import));
    assert!(
        stderr(&import).contains("the last 62 ms of the rates are left out: both end at 119.99 s"),
        "{}",
        stderr(&import)
    );
    let seconds = 119;
    let lines = String::from_utf8(bw).unwrap();
    let opportunities = lines.lines().filter(|line| line.parse::<u32>().unwrap() <= seconds * 1000).count();
    let mean_bps = opportunities as f64 * 12_000.0 / f64::from(seconds);
    let bps = rate_bps(&dir, "t.csv", "400 Mbit/s", seconds);
    assert!((bps / mean_bps - 1.0).abs() < 0.01, "{bps} for {mean_bps}");
    // All of it comes back, but for what is beyond the end of the delays.
    let folder = dir.join("back");
    let export =
        skyhop(&["trace", "export", "leocc", path(&out), "--duration", "119990 ms", "--out", path(&folder)]);
    assert_eq!(code(&export), 0, "{}", stderr(&export));
    let kept: String = lines
        .lines()
        .filter(|line| line.parse::<u32>().unwrap() <= 119_990)
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_eq!(fs::read_to_string(folder.join("bw_back.txt")).unwrap(), kept);
    assert_eq!(
        fs::read_to_string(folder.join("delay_back.txt")).unwrap(),
        fs::read_to_string(delays).unwrap()
    );
}

#[test]
fn a_published_log_of_the_autobahn_gives_its_mean_rate() {
    let Some(packed) = published("autobahn/throughput.zip") else { return };
    let Some(csv) = unpacked("unzip", &["-p"], &packed) else { return };
    let dir = folder("published-autobahn");
    let (file, out) = (dir.join("throughput.csv"), dir.join("t.csv"));
    fs::write(&file, &csv).unwrap();
    let import =
        skyhop(&["trace", "import", "autobahn", path(&file), "--close-pauses", "1.5 s", "--out", path(&out)]);
    assert_eq!(code(&import), 0, "{}", stderr(&import));
    assert!(
        stderr(&import).contains("4860 rows, one each")
            && stderr(&import).contains("pauses of more than 1.5 s: 84"),
        "{}",
        stderr(&import)
    );
    let text = String::from_utf8(csv).unwrap();
    let mbit = |line: &str| line.split(',').nth(2).unwrap().parse::<f64>().unwrap();
    let mean_bps = text.lines().skip(1).take(300).map(mbit).sum::<f64>() / 300.0 * 1e6;
    let bps = rate_bps(&dir, "t.csv", "600 Mbit/s", 300);
    assert!((bps / mean_bps - 1.0).abs() < 0.01, "{bps} for {mean_bps}");
}
