//! Four rows of the table of fidelity: a simulated transfer, and the same with this machine's kernel on the emulator.
//!
//! The tolerances are those of `skyhop compare`. A row spoilt three times by a busy machine is not judged, with a message.
//! Needs root or user namespaces, and /dev/net/tun; without them it is skipped with a message.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

fn fidelity(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/fidelity").join(name)
}

fn compare(arguments: &[&str], files: &[PathBuf]) -> Output {
    Command::new(SKYHOP).arg("compare").args(arguments).args(files).output().unwrap()
}

/// The reason why hosts are impossible here, if there is one.
fn no_hosts() -> Option<&'static String> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(why_no_hosts).as_ref()
}

fn why_no_hosts() -> Option<String> {
    let scenario = "duration = \"1 s\"\n[links.a]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"server\", \"a\", \
        \"user\"]\ntraffic = { kind = \"bulk\" }\n";
    let file = std::env::temp_dir().join(format!("skyhop-compare-{}.toml", std::process::id()));
    std::fs::write(&file, scenario).unwrap();
    let done = Command::new(SKYHOP).args(["emulate", "-q"]).arg(&file).args(["--", "true"]).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    (!done.status.success()).then(|| String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Rows that were judged; each must agree.
fn judged(arguments: &[&str], names: &[&str]) -> Vec<Value> {
    let files: Vec<_> = names.iter().map(|name| fidelity(name)).collect();
    let done = compare(&[arguments, &["--json", "--quiet", "--buffers", "equal"]].concat(), &files);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
    let (spoilt, judged): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row["verdict"] == "not valid");
    for row in spoilt {
        println!("not judged, this machine is too busy: {row:#}");
    }
    judged
}

#[test]
fn the_kernels_transfers_take_the_simulated_time() {
    if let Some(why) = no_hosts() {
        println!("skipped: {why}");
        return;
    }
    // One true row in twenty lies outside the bounds of chance, and a busy machine holds up threads of real hosts, which no loop sees: only
    // what differs three times, with other losses, is wrong.
    let thrice = |arguments: &[&str], names: &[&str]| {
        let rows = judged(&[arguments, &["--seed", "1"]].concat(), names);
        let stands = |row: &Value| row["verdict"] == "holds" && row["held_verdict"] != "differs";
        ["101", "201"].into_iter().fold(rows, |rows, seed| match rows.iter().all(stands) {
            true => rows,
            false => judged(&[arguments, &["--seed", seed]].concat(), names),
        })
    };
    let mut rows = thrice(&["--transport", "reno", "--runs", "3"], &["12-10mbit-100ms-loss.toml"]);
    rows.extend(thrice(&["--transport", "cubic"], &["15-requests-600ms.toml"]));
    rows.extend(thrice(&["--transport", "cubic,stp"], &["05-10mbit-20ms-shallow.toml"]));
    for row in &rows {
        assert_eq!(row["verdict"], "holds", "{row:#}");
        assert_ne!(row["held_verdict"], "differs", "{row:#}");
        let (least, most) = (row["least"].as_f64().unwrap(), row["most"].as_f64().unwrap());
        assert!(0.0 < least && least < most && most < 4.0 * least, "bounds that can fail: {row:#}");
    }
}

/// The verdict has power: a kernel's transport other than the simulated one differs.
#[test]
fn another_transport_differs() {
    if let Some(why) = no_hosts() {
        println!("skipped: {why}");
        return;
    }
    // On this path a window that halves at every loss is slower than a model of the path.
    let loaded = skyhop_scenario::load(&fidelity("12-10mbit-100ms-loss.toml"), &[]).unwrap();
    let (of, buffers) =
        (skyhop_compare::contender::Contender::Reno, skyhop_compare::contender::Buffers::Equal);
    let seeds: Vec<u64> = (1..=200).collect();
    let simulated = skyhop_compare::simulated::measure(&loaded, (of, buffers), &seeds, 2).unwrap();
    let with = (skyhop_compare::contender::Contender::Bbr, buffers);
    if !with.0.available() {
        println!("skipped: this kernel has no bbr");
        return;
    }
    let simulated: Vec<_> = simulated.iter().map(|run| run[0]).collect();
    // A transfer that a busy machine holds up may take as long as the other transport's: one of three has to be undisturbed.
    let mut all = Vec::new();
    while all.len() < 3 {
        let run = skyhop_compare::emulated::measure(&loaded, with, 1, &|| true).unwrap();
        let judged = skyhop_compare::verdict::Judged::of(of, &simulated, &run.flows).unwrap();
        assert!(judged.by_chance, "{judged:?}");
        if !judged.holds() {
            return;
        }
        all.push(judged);
    }
    panic!("{all:?}");
}

#[test]
fn what_cannot_be_compared_is_told_with_its_place() {
    let folder = std::env::temp_dir().join(format!("skyhop-compare-wrong-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("ping.toml");
    let text = "duration = \"1 s\"\n[links.a]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"server\", \"a\", \
        \"user\"]\ntraffic = { kind = \"ping\" }\n";
    std::fs::write(&file, text).unwrap();
    let done = compare(&[], std::slice::from_ref(&file));
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("ping.toml:7: flows.0.traffic: ") && told.contains("expected bulk, web"), "{told}");
    let done = compare(&["--transport", "vegas"], &[file]);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(2) && told.contains("expected one of reno, cubic, bbr, stp"),
        "{told}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two downloads and a page through a hub and a terminal, at the same time.
const THROUGH: &str = r#"duration = "60 s"
[links.internet]
between = ["server", "hub"]
rate = "100 Mbit/s"
delay = "5 ms"
[links.satellite]
between = ["hub", "terminal"]
rate = "10 Mbit/s"
delay = "20 ms"
[links.lan]
between = ["terminal", "user"]
rate = "100 Mbit/s"
delay = "1 ms"
[splices.hub]
at = "hub"
association = "sky"
transport = { kind = "stp", over = "sealed-udp" }
[splices.terminal]
at = "terminal"
association = "sky"
transport = { kind = "stp", over = "sealed-udp" }
[[flows]]
name = "first"
from = "server"
to = "user"
real = true
traffic = { kind = "bulk", size = "1 MB" }
[[flows]]
name = "second"
from = "server"
to = "user"
start = "200 ms"
real = true
traffic = { kind = "bulk", size = "300 kB" }
[[flows]]
name = "asks"
from = "server"
to = "user"
real = true
traffic = { kind = "request-response", reply = { kind = "fixed", value = "10 kB" }, count = 3 }
"#;

/// The reason why gateways cannot take connections here, if there is one.
fn no_gateways() -> Option<String> {
    let rule = "table inet t { chain c { type filter hook prerouting priority mangle; meta l4proto tcp tproxy to :1; }; }";
    match Command::new("unshare").args(["-rn", "nft", rule]).output() {
        Ok(done) if done.status.success() => None,
        Ok(done) => Some(String::from_utf8_lossy(&done.stderr).into_owned()),
        Err(why) => Some(format!("unshare: {why}")),
    }
}

#[test]
fn several_flows_through_gateways_have_a_row_each() {
    if let Some(why) = no_hosts().cloned().or_else(no_gateways) {
        println!("skipped: {why}");
        return;
    }
    let folder = std::env::temp_dir().join(format!("skyhop-compare-through-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("through.toml");
    std::fs::write(&file, THROUGH).unwrap();
    let arguments = ["--json", "--quiet", "--transport", "cubic"];
    let done = compare(&arguments, std::slice::from_ref(&file));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
    // Times are not judged here, since a busy machine changes them: each flow has its own, and all of its data have come.
    let metrics = [("first", "completed_s"), ("second", "completed_s"), ("asks", "completion_mean_s")];
    assert_eq!(rows.len(), metrics.len(), "{rows:#?}");
    for (row, (flow, metric)) in rows.iter().zip(metrics) {
        assert_eq!((row["flow"].as_str(), row["metric"].as_str()), (Some(flow), Some(metric)), "{row:#}");
        for side in ["simulated", "emulated"] {
            assert!(row[side].as_f64().is_some_and(|s| 0.0 < s && s < 60.0), "{row:#}");
        }
    }
    let call = "[[flows]]\nfrom = \"user\"\nto = \"server\"\ntransport = { kind = \"udp\" }\n\
                traffic = { kind = \"cbr\", rate = \"64 kbit/s\" }\n";
    // A flow that ends at the hub passes no splice.
    let other = "[[flows]]\nname = \"beside\"\nfrom = \"server\"\nto = \"hub\"\nreal = true\ntraffic = { kind = \"bulk\" }\n";
    let simulated =
        |to: &str| other.replace("real = true\n", "").replace("to = \"hub\"", &format!("to = \"{to}\""));
    // No splice of this one divides the second flow's path.
    let left_out = THROUGH
        .replace("at = \"hub\"\n", "at = \"hub\"\nflows = [\"first\", \"second\", \"asks\"]\n")
        .replace("at = \"terminal\"\n", "at = \"terminal\"\nflows = [\"first\", \"second\", \"asks\"]\n");
    for (text, told) in [
        (
            format!("{THROUGH}{}", simulated("user")),
            "flows.3: connections that gateways split are not simulated",
        ),
        (
            format!("{left_out}{}", simulated("user")),
            "flows.3: legs between gateways are emulated each for itself",
        ),
        (format!("{THROUGH}{other}"), "flows.3: over other links or splices than the real flow \"first\""),
        (
            THROUGH.replacen("name = \"second\"\n", "name = \"second\"\npriority = 1\n", 1),
            "flows.1.priority: ",
        ),
        (
            THROUGH.replacen("[splices.terminal]\n", "[splices.terminal]\nudp = \"carry\"\n", 1) + call,
            "flows.3.traffic.kind: datagrams that gateways carry are not simulated beside real ones",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let done = compare(&arguments, std::slice::from_ref(&file));
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(told), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The daemon's rule and the simulated gateway's: a user with 1 of 10 Mbit/s.
#[test]
fn a_users_rate_is_that_of_the_daemons() {
    let links = &THROUGH[..THROUGH.find("[[flows]]\nname = \"second\"").unwrap()];
    let users = |splice: &str, host: &str, key: &str| {
        format!("{links}[[splices.{splice}.users]]\nhosts = [\"{host}\"]\n{key} = \"1 Mbit/s\"\n")
    };
    let folder = std::env::temp_dir().join(format!("skyhop-compare-user-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("user.toml");
    std::fs::write(&file, users("terminal", "user", "down")).unwrap();
    let done = compare(&[], std::slice::from_ref(&file));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let told = "splices.terminal.users: user does not open the real connections";
    assert!(done.status.code() == Some(2) && said.contains(told), "{said}");
    if let Some(why) = no_hosts().cloned().or_else(no_gateways) {
        println!("skipped: {why}");
    } else {
        std::fs::write(&file, users("hub", "server", "up")).unwrap();
        let done = compare(&["--json", "--quiet", "--transport", "cubic"], std::slice::from_ref(&file));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
        let [simulated, emulated] = ["simulated", "emulated"].map(|side| rows[0][side].as_f64().unwrap());
        println!("{simulated} and {emulated} s");
        // 8 s at 1 Mbit/s, and 0.9 s without it.
        assert!((7.0..9.0).contains(&simulated), "{simulated}");
        assert!((emulated / simulated - 1.0).abs() < 0.1, "{simulated} and {emulated}");
        // A download of the user's over 600 ms, whose stream has credit for two round trips.
        let page = "kind = \"request-response\", reply = { kind = \"fixed\", value = \"4 MB\" }, count = 1";
        let download = format!(
            "{}[[flows]]\nfrom = \"user\"\nto = \"server\"\nreal = true\ntraffic = {{ {page} }}\n",
            users("terminal", "user", "down").replace("\"1 Mbit/s\"", "\"4 Mbit/s\"")
        );
        let begins = download.find("[[flows]]\nname = \"first\"").unwrap();
        let ends = download.find("[[splices.terminal.users]]").unwrap();
        let download = format!("{}{}", &download[..begins], &download[ends..]).replace("20 ms", "290 ms");
        std::fs::write(&file, download).unwrap();
        let done = compare(&["--json", "--quiet", "--transport", "cubic"], std::slice::from_ref(&file));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
        let [simulated, emulated] = ["simulated", "emulated"].map(|side| rows[0][side].as_f64().unwrap());
        println!("{simulated} and {emulated} s");
        // 8 s at 4 Mbit/s, and slow start.
        assert!((8.0..11.5).contains(&simulated), "{simulated}");
        assert!((emulated / simulated - 1.0).abs() < 0.1, "{simulated} and {emulated}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A call through the gateways of [`THROUGH`], which carry it, from the side where its path begins.
const CALL: &str = r#"
[[flows]]
name = "call"
from = "server"
to = "user"
start = "1 s"
stop = "6 s"
real = true
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
"#;

#[test]
fn datagrams_that_gateways_carry_are_compared() {
    let links = &THROUGH[..THROUGH.find("[[flows]]").unwrap()];
    // A rate that is too low for the call, which only what is carried meets.
    let slow = "over = \"sealed-udp\", max_rate = \"40 kbit/s\", congestion = \"rate\"";
    let carry = links.replacen("[splices.terminal]\n", "[splices.terminal]\nudp = \"carry\"\n", 1).replacen(
        "over = \"sealed-udp\"",
        slow,
        1,
    );
    let folder = std::env::temp_dir().join(format!("skyhop-compare-call-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("call.toml");
    std::fs::write(&file, format!("{carry}{CALL}").replace("60 s", "10 s").replace("160 B", "3 B")).unwrap();
    let done = compare(&[], std::slice::from_ref(&file));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(2) && said.contains("flows.0.traffic.size: 3 B; expected at least 4 B"),
        "{said}"
    );
    if let Some(why) = no_hosts().cloned().or_else(no_gateways) {
        println!("skipped: {why}");
        return;
    }
    // 26 ms of links, and at most 500 ms at a gateway; 50 datagrams a second for 5 s. A busy machine receives late.
    let cases = [
        ("carried", &carry[..], [60.0, 210.0], [0.2, 0.6]),
        ("without", &THROUGH[..THROUGH.find("[splices.").unwrap()], [225.0, 250.0], [0.026, 0.06]),
    ];
    for (what, scenario, arrive, p50) in cases {
        std::fs::write(&file, format!("{scenario}{CALL}").replace("60 s", "10 s")).unwrap();
        // Without connections, other transports are no other rows.
        let done = compare(&["--json", "--quiet"], std::slice::from_ref(&file));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
        let [row] = &rows[..] else { panic!("{what}: {rows:#?}") };
        assert_eq!(
            (row["transport"].as_str(), row["metric"].as_str()),
            (Some("udp"), Some("delay_p50_s")),
            "{row:#}"
        );
        for side in ["simulated", "emulated"] {
            let of = |key: &str| row[format!("{side}_{key}")].as_f64().unwrap();
            assert_eq!(of("datagrams_sent"), 250.0, "{what}: {row:#}");
            assert!((arrive[0]..=arrive[1]).contains(&of("datagrams_received")), "{what}: {row:#}");
            let median = row[side].as_f64().unwrap();
            assert!((p50[0]..p50[1]).contains(&median) && median <= of("delay_p99_s"), "{what}: {row:#}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
