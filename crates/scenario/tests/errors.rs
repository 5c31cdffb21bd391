//! The message for each mistake in a scenario: line, key, value, what is allowed, nearest spelling.
//!
//! Follows the format `file:line: key: message`; each test is a mistake and the complete message.
//! Differs from tests of values: the wording is tested too, because it is all that the user sees.
//! Leaves out files that cannot be read, which `files.rs` tests.

use skyhop_scenario::{Loss, Place, Transport, parse, parse_set};
use skyhop_transport::tcp::Variant;

const GOOD: &str = r#"duration = "60 s"
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
traffic = { kind = "bulk", size = "10 MB" }
"#;

const SPACE: &str = r#"duration = "1 h"
[constellation]
preset = "iridium"
[terminals]
new-york = { lat = "40.7 deg", lon = "-74 deg" }
san-francisco = { lat = "37.8 deg", lon = "-122.4 deg" }
[[flows]]
from = "new-york"
to = "san-francisco"
traffic = { kind = "ping" }
"#;

const SIDE_BY_SIDE: &str = r#"duration = "1 h"
[constellations.leo]
preset = "iridium"
[constellations.geo]
geostationary = ["-30 deg"]
[terminals]
farm = { lat = "38.5 deg", lon = "-28 deg" }
teleport = { lat = "41.2 deg", lon = "-8.6 deg", gateway = true }
[links.internet]
between = ["server", "teleport"]
rate = "1 Gbit/s"
delay = "10 ms"
[[flows]]
path = ["server", "internet", "teleport", "leo", "farm"]
traffic = { kind = "ping" }
"#;

#[test]
fn each_mistake_is_told_what_the_list_says() {
    let (mut base, mut file, mut count) = (GOOD, "geo.toml", 0);
    // To be read through and committed with what changed the words.
    let update = std::env::var_os("SKYHOP_UPDATE").is_some();
    let mut written: Vec<String> = Vec::new();
    let list = include_str!("mistakes.txt").replace("\r\n", "\n");
    for block in list.split("\n\n") {
        if let Some(title) = block.strip_prefix("== ") {
            (base, file) = match title.split_once(' ').map_or(title, |(first, _)| first) {
                "satellites" | "satellites:" => (SPACE, "iridium.toml"),
                "constellations" => (SIDE_BY_SIDE, "two.toml"),
                _ => (GOOD, "geo.toml"),
            };
            written.push(block.to_owned());
            continue;
        }
        let mut lines = block.lines().filter(|l| !l.starts_with('#'));
        let Some(right) = lines.next() else {
            written.push(block.to_owned());
            continue;
        };
        let unescape = |line: &str| line.get(2..).unwrap_or("").replace("\\n", "\n");
        let (right, wrong) = (unescape(right), unescape(lines.next().unwrap()));
        assert!(base.contains(&right), "{right}");
        let text = base.replacen(&right, &wrong, 1);
        let error = parse(text.as_bytes(), file, &[]).expect_err(&wrong).to_string();
        if update {
            let head = block.lines().take_while(|l| l.starts_with('#') || l.starts_with("- "));
            let slip = block.lines().find(|l| l.starts_with("+ "));
            let told = error.lines().map(|l| l.strip_prefix(&format!("{file}:")).unwrap_or(l));
            written.push(head.chain(slip).chain(told).collect::<Vec<_>>().join("\n"));
            count += 1;
            continue;
        }
        let expected: Vec<String> = lines.map(|line| format!("{file}:{line}")).collect();
        assert_eq!(error, expected.join("\n"), "{wrong}");
        count += 1;
    }
    assert!(count > 80, "{count}");
    if update {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mistakes.txt");
        std::fs::write(path, written.join("\n\n").trim_end().to_owned() + "\n").unwrap();
    }
}

#[test]
fn values_set_beside_the_file() {
    for (set, expected) in [
        (
            "links.satelite.rate=1 Mbit/s",
            r#"links.satelite.rate: unknown name "satelite"; expected one of access, satellite; did you mean "satellite"?"#,
        ),
        (
            "links.satellite.rat=1 Mbit/s",
            concat!(
                r#"links.satellite.rat: unknown key "rat"; expected one of between, count, rate, delay, queue, loss, "#,
                r#"schedule, trace, repeat, jitter, reordering, duplication, corruption, "#,
                r#"header_compression, header_twice, header_requests, ack_reconstruction, framing, uplink, mtu and 2 more; "#,
                r#"did you mean "rate"?"#,
            ),
        ),
        (
            "links.satellite.rate=1",
            r#"links.satellite.rate: integer 1 has no unit; expected a rate with its unit, such as "1.5 Mbit/s""#,
        ),
        ("flows.9.start=1 s", r#"flows.9.start: there is no "9"; expected 0, or download"#),
        (
            "flows.downlod.start=1 s",
            r#"flows.downlod.start: there is no "downlod"; expected 0, or download; did you mean "download"?"#,
        ),
        (
            "flows.download.start=70 s",
            "flows.0.start: start at 70 s is not before the end of the run at 60 s",
        ),
        (
            "flows.download.transport.variant=rino",
            concat!(
                r#"flows.0.transport.variant: unknown variant "rino"; expected one of tahoe, reno, newreno, newreno-slow-but-steady, "#,
                r#"sack-reno, sack-newreno, sack, sack1, fack, vegas, cubic, hybla, bbr, bbr1, linux-bbr; did you mean "reno"?"#,
            ),
        ),
        ("foo", r#""foo" has no "="; write path=value, such as links.satellite.rate="1 Mbit/s""#),
        ("a..b=1", r#""a..b" is not a dotted key, such as links.satellite.rate"#),
        ("duration.x=5", r#"duration.x: string "60 s" has no keys, so "x" is not one"#),
        (
            "links.satellite.loss.probability=0.5",
            r#"links.satellite.loss.probability: unknown key "probability" for kind "none"; it belongs to kind "packets""#,
        ),
        (
            "links.satellite.loss.kind=packets",
            r#"links.satellite.loss: missing key "probability"; expected a number"#,
        ),
        ("seed=x", r#"seed: expected a whole number from 0 to 9223372036854775807, found string "x""#),
        (
            r#"links.new={rate="1 kbit/s"}"#,
            r#"links.new: missing key "delay"; expected a time with its unit, such as "600 ms""#,
        ),
        ("flows.0.path.1=lan", r#"flows.0.path.1: unknown link "lan"; expected one of access, satellite"#),
        (
            "links.satellite.queue.kind=codle",
            concat!(
                r#"links.satellite.queue.kind: unknown queue "codle"; expected one of drop-tail, red, drd, codel, fq-codel, "#,
                r#"drr, priority, ubr; did you mean "codel"?"#,
            ),
        ),
        (
            "links.satellite.queue.limt=5",
            r#"links.satellite.queue.limt: unknown key "limt"; expected one of kind, limit, ack_filter; did you mean "limit"?"#,
        ),
        (
            r#"links.satellite.loss={kind="packets",probability=2}"#,
            "links.satellite.loss.probability: probability 2 is outside 0 to 1",
        ),
    ] {
        let error = parse_set(set).and_then(|s| parse(GOOD.as_bytes(), "geo.toml", &[s])).unwrap_err();
        // Which of several it was stands before the key, unless it is the key.
        let path = set.split('=').next().unwrap_or_default();
        let place = match expected {
            _ if expected.starts_with('"') => "--set: ".to_owned(),
            _ if expected.starts_with(&format!("{path}: ")) => "--set ".to_owned(),
            _ => format!("--set {path}: "),
        };
        assert_eq!(error.to_string(), format!("{place}{expected}"), "{set}");
    }
}

#[test]
fn of_several_values_set_the_wrong_one_is_named() {
    let sets =
        ["links.satellite={ delay = \"1 s\" }", "flows.dl.transport.mss=9"].map(|s| parse_set(s).unwrap());
    let error = parse(GOOD.as_bytes(), "geo.toml", &sets).unwrap_err().to_string();
    assert_eq!(error, "--set flows.dl.transport.mss: there is no \"dl\"; expected 0, or download");
    let sets = ["seed=2", "links.satellite={ delay = \"1 s\" }"].map(|s| parse_set(s).unwrap());
    let error = parse(GOOD.as_bytes(), "geo.toml", &sets).unwrap_err().to_string();
    assert_eq!(
        error,
        "--set links.satellite: missing key \"rate\"; expected a rate with its unit, such as \"1.5 Mbit/s\""
    );
}

#[test]
fn values_set_beside_the_file_take_effect() {
    let with = |set: &str| parse(GOOD.as_bytes(), "geo.toml", &[parse_set(set).unwrap()]).unwrap().scenario;
    assert_eq!(with("name=5").name.as_deref(), Some("5"));
    assert_eq!(with("record.pcap=*").record.pcap, ["*"]);
    assert_eq!(with("record.pcap=[\"access\", \"satellite\"]").record.pcap.len(), 2);
    assert_eq!(with("links.access.rate=\"2 Mbit/s\"").links["access"].rate.as_bps(), 2_000_000);
    assert_eq!(with("links.access.rate = 2 Mbit/s").links["access"].rate.as_bps(), 2_000_000);
    assert_eq!(with("flows.download.start=5 s").flows[0].start.as_secs_f64(), 5.0);
    assert_eq!(with("flows.0.start=5 s").flows[0].start.as_secs_f64(), 5.0);
    assert_eq!(
        with("links.access.reverse.rate=1 kbit/s").links["access"]
            .reverse
            .as_ref()
            .unwrap()
            .rate
            .unwrap()
            .as_bps(),
        1000
    );
    // A flow without a transport has TCP, so its variant can be set without saying so; a later set goes before an earlier.
    let sets = [
        "flows.flow-1.transport.variant=reno",
        "links.satellite.loss.kind=packets",
        "links.satellite.loss.probability=1",
        "links.satellite.loss.probability=0.5",
    ]
    .map(|s| parse_set(s).unwrap());
    let text = GOOD
        .replace("transport = { kind = \"tcp\", mss = \"1000 B\" }\n", "")
        .replace("name = \"download\"\n", "");
    let changed = parse(text.as_bytes(), "geo.toml", &sets).unwrap().scenario;
    assert_eq!(changed.links["satellite"].loss, Loss::Packets { probability: 0.5 });
    let Transport::Tcp(tcp) = &changed.flows[0].transport else { panic!("not TCP") };
    assert_eq!(tcp.variant, Variant::Reno);
}

#[test]
fn a_ping_with_a_transport_is_warned_of() {
    let text = GOOD.replace("kind = \"bulk\", size = \"10 MB\"", "kind = \"ping\"");
    let loaded = parse(text.as_bytes(), "geo.toml", &[]).unwrap();
    let warning = "geo.toml:12: flows.0.transport: a ping has no transport; this table is not used";
    assert_eq!(loaded.warnings.iter().map(|w| w.to_string()).collect::<Vec<_>>(), [warning]);
}

#[test]
fn lines_are_right_behind_a_mark_and_with_any_line_end() {
    for text in [
        format!("\u{feff}{GOOD}"),
        GOOD.replace('\n', "\r\n"),
        format!("\u{feff}{}", GOOD.replace('\n', "\r\n")),
    ] {
        let wrong = text.replace("drop-tail", "codle");
        let error = parse(wrong.as_bytes(), "geo.toml", &[]).unwrap_err();
        assert_eq!(error.problems[0].place, Place::Line { file: "geo.toml".into(), line: 8 });
        let wrong = text.replace("duration", "duraton");
        let error = parse(wrong.as_bytes(), "geo.toml", &[]).unwrap_err();
        assert_eq!(error.problems[0].place, Place::Line { file: "geo.toml".into(), line: 1 });
    }
}

#[test]
fn all_mistakes_are_listed_up_to_a_limit() {
    let text = GOOD.replace("10 Mbit/s", "10").replace("300 ms", "300").replace("drop-tail", "tail");
    let error = parse(text.as_bytes(), "geo.toml", &[]).unwrap_err();
    assert_eq!(error.problems.len(), 3);
    assert_eq!(error.to_string().lines().count(), 3);
    let many: String = (0..1000).map(|i| format!("x{i} = 1\n")).collect();
    let error = parse((many + GOOD).as_bytes(), "geo.toml", &[]).unwrap_err();
    assert_eq!((error.problems.len(), error.more), (50, 950));
    assert!(error.to_string().ends_with("\nand 950 more"));
}
