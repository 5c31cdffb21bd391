//! Rates of single users of a gateway with an association.
//!
//! Follows docs/gateway.md, whose daemon has the same rule (`splice::user_rates`), and docs/splice.md for the keys.
//! Differs from the daemon's tests: the rate is measured at the user's host, behind the gateway's TCP.
//! Leaves out quotas, which are not simulated.

use crate::common::{between_gateways, lan};
use skyhop_results::{FlowKind, RunResult};
use skyhop_scenario::Loaded;
use skyhop_sim::Simulation;

/// 10 and 1 Mbit/s, 580 ms, then a LAN. What exceeds a rate fills the gateways' memory first, which is small here. `users` are keys of
/// the terminal's gateway, `more` those of the satellite link.
fn path(duration_s: u32, more: &str, users: &str) -> String {
    let gateway = |name: &str| {
        format!(
            "[splices.{name}]\nat = \"{name}\"\nassociation = \"sky\"\nbuffer = \"4 MB\"\n\
             transport = {{ kind = \"stp\", over = \"sealed-udp\", silence = \"60 s\" }}\n"
        )
    };
    let record = "record = { sample_interval = \"100 ms\" }";
    [between_gateways(duration_s, record, "", more), gateway("hub"), gateway("terminal"), users.into()]
        .concat()
}

fn limit(hosts: &str, rates: &str) -> String {
    format!("[[splices.terminal.users]]\nhosts = {hosts}\n{rates}\n")
}

fn flow(name: &str, [from, to]: [&str; 2], traffic: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic = {{ {traffic} }}\n")
}

const BULK: &str = "kind = \"bulk\"";

fn loaded(text: &str) -> Loaded {
    skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, seed: u64) -> RunResult {
    let loaded = loaded(text);
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

/// Bytes that have arrived, every 100 ms.
fn arrived(result: &RunResult, flow: &str) -> Vec<f64> {
    let entity = format!("flow/{flow}");
    let series =
        result.series.iter().find(|series| series.entity == entity && series.metric == "bytes_delivered");
    series.unwrap().samples.iter().map(|(_, value)| *value).collect()
}

/// Mean rate between two times, Mbit/s.
fn mbps(arrived: &[f64], [from, to]: [usize; 2]) -> f64 {
    (arrived[(10 * to).min(arrived.len() - 1)] - arrived[10 * from]) * 8.0 / 1e6 / (to - from) as f64
}

/// The most that arrives in a second, bytes.
fn largest_second(arrived: &[f64]) -> f64 {
    arrived.windows(11).map(|second| second[10] - second[0]).fold(0.0, f64::max)
}

#[test]
fn a_user_has_its_rate_and_the_other_has_the_rest() {
    for (rate, seed) in [(0.1, 7), (1.0, 7), (1.0, 8), (4.0, 7)] {
        let text = path(90, "", &limit("[\"ann\"]", &format!("down = \"{rate} Mbit/s\"")))
            + &lan("ann")
            + &lan("bob")
            + &flow("one", ["server", "ann"], BULK)
            + &flow("other", ["server", "bob"], BULK);
        let result = run(&text, seed);
        let [one, other] = ["one", "other"].map(|name| arrived(&result, name));
        let [of_one, of_other] = [&one, &other].map(|arrived| mbps(arrived, [30, 90]));
        println!("{rate}: {of_one:.4} and {of_other:.4} Mbit/s, {} B in a second", largest_second(&one));
        assert!((0.95 * rate..=1.005 * rate).contains(&of_one), "{rate}: {of_one}");
        assert!((9.0..9.55).contains(&(of_one + of_other)), "{rate}: {of_one} and {of_other}");
        // What an idle user saves up, a turn, and a packet.
        let most = rate * 125e3 + (rate * 12.5e3).max(16384.0) + 16384.0 + 1500.0;
        assert!(largest_second(&one) <= most, "{rate}: {} of {most}", largest_second(&one));
    }
}

/// A user's connections in both directions, opened by either end: the rate is of all in one direction together.
#[test]
fn the_connections_of_a_user_share_its_rate_whichever_end_opens_them() {
    let rates = "up = \"200 kbit/s\"\ndown = \"2 Mbit/s\"";
    let page = "kind = \"request-response\", reply = { kind = \"fixed\", value = \"3 MB\" }";
    let text = path(120, "", &limit("[\"ann\"]", rates))
        + &lan("ann")
        + &lan("bob")
        + &flow("bulk", ["server", "ann"], BULK)
        + &flow("also", ["server", "ann"], BULK)
        + &flow("asked", ["ann", "server"], page)
        + &flow("up", ["ann", "server"], BULK)
        + &flow("free", ["bob", "server"], BULK);
    let result = run(&text, 7);
    let of = |name: &str| mbps(&arrived(&result, name), [30, 120]);
    let FlowKind::Completions(asked) = &result.flows[2].kind else { panic!("no completions") };
    let replies = asked.completed as f64 * 3e6 * 8.0 / 1e6 / 120.0;
    let [bulk, also, up, free] = ["bulk", "also", "up", "free"].map(of);
    println!("down {bulk:.3} {also:.3} and about {replies:.3}, up {up:.4}, of another {free:.3}");
    assert!((0.9..1.1).contains(&(bulk / also)), "{bulk} {also}");
    assert!((1.8..=2.1).contains(&(bulk + also + replies)), "{bulk} {also} {replies}");
    assert!((0.19..=0.201).contains(&up), "{up}");
    assert!(free > 0.6, "{free}");
}

#[test]
fn a_rate_holds_through_loss_and_an_outage() {
    for seed in [1, 2, 3] {
        let more = "loss = { kind = \"packets\", probability = 0.01 }\n\
                    schedule = [{ from = \"40 s\", to = \"75 s\", outage = \"lose\" }]";
        let text = path(120, more, &limit("[\"ann\"]", "down = \"1 Mbit/s\""))
            + &lan("ann")
            + &flow("one", ["server", "ann"], BULK);
        let result = run(&text, seed);
        let one = arrived(&result, "one");
        let [before, during, after] = [[15, 40], [65, 75], [80, 120]].map(|span| mbps(&one, span));
        println!("{before:.3}, {during:.3}, {after:.3} Mbit/s, {} B in a second", largest_second(&one));
        assert!((0.93..=1.005).contains(&before) && during < 0.1, "{before}, then {during}");
        assert!((0.93..=1.005).contains(&after), "{after}");
        let most = 125e3 + 2.0 * 16384.0 + 1500.0;
        assert!(largest_second(&one) <= most, "{} of {most}", largest_second(&one));
    }
}

#[test]
fn a_thousand_users_have_a_rate_each() {
    let text = path(150, "", &limit("[\"user-*\"]", "down = \"8 kbit/s\""))
        + "[links.\"lan-*\"]\nbetween = [\"terminal\", \"user-*\"]\ncount = 1000\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n"
        + &flow("each", ["server", "user-*"], BULK).replace("traffic", "count = 1000\ntraffic");
    let result = run(&text.replace("sample_interval = \"100 ms\"", ""), 7);
    let bytes: Vec<u64> = result
        .flows
        .iter()
        .map(|flow| match &flow.kind {
            FlowKind::Transfer(transfer) => transfer.bytes_delivered,
            _ => panic!("no transfer"),
        })
        .collect();
    let (least, most) = (*bytes.iter().min().unwrap(), *bytes.iter().max().unwrap());
    println!("{} users: {least} to {most} B", bytes.len());
    // 8 kbit/s for 150 s are 150 kB, and 16 KiB each are what is saved up, and a turn. The first turns of all take 15 s.
    assert_eq!(bytes.len(), 1000);
    assert!(most <= 150_000 + 2 * 16384, "{most}");
    assert!(least >= 120_000, "{least}");
}

#[test]
fn the_first_entry_with_a_host_holds() {
    let entries = limit("[\"bob\"]", "") + "[[splices.terminal.users]]\ndown = \"1 Mbit/s\"\n";
    let text = path(60, "", &entries)
        + &lan("ann")
        + &lan("bob")
        + &flow("one", ["server", "ann"], BULK)
        + &flow("other", ["server", "bob"], BULK);
    let result = run(&text, 7);
    let [one, other] = ["one", "other"].map(|name| mbps(&arrived(&result, name), [20, 60]));
    println!("{one:.3} and {other:.3} Mbit/s");
    assert!((0.95..=1.005).contains(&one) && other > 8.0, "{one} and {other}");
}

/// Connections that come and go: none keeps a turn that it does not use.
#[test]
fn short_connections_of_a_user_have_its_rate() {
    let files = "kind = \"request-response\", reply = { kind = \"fixed\", value = \"40 kB\" }";
    let text = path(120, "", &limit("[\"ann\"]", "down = \"1 Mbit/s\""))
        + &lan("ann")
        + &(0..13).map(|n| flow(&format!("files-{n}"), ["ann", "server"], files)).collect::<String>();
    let result = run(&text, 7);
    let completed: u64 = result
        .flows
        .iter()
        .map(|flow| match &flow.kind {
            FlowKind::Completions(all) => all.completed,
            _ => panic!("no completions"),
        })
        .sum();
    let rate = completed as f64 * 40_000.0 * 8.0 / 1e6 / 120.0;
    println!("{completed} replies, {rate:.3} Mbit/s");
    assert!((0.9..=1.01).contains(&rate), "{rate}");
}

/// Megabytes that arrive within 2, 5 and 20 s from a time on.
fn arrived_within(arrived: &[f64], from: usize) -> [f64; 3] {
    [2, 5, 20].map(|span| (arrived[10 * (from + span)] - arrived[10 * from]) / 1e6)
}

/// The hub sends for a slow user what the user's rate drains in two round trips, whatever memory there is, and whoever opens the
/// connections: the other user has the rest of the link from the beginning. A connection's first credit, 16 kB of 4 MB and 64 kB of
/// 64 MB, is sent at once: two fifths of what leaves in the first two seconds of an association, and of eight connections a quarter of what
/// a link at its rate carries in two.
#[test]
fn a_slow_user_takes_no_more_of_the_link_than_its_rate() {
    let page = "kind = \"request-response\", reply = { kind = \"fixed\", value = \"64 MB\" }";
    let lossy = "loss = { kind = \"packets\", probability = 0.003 }";
    let cases = [
        ("4 MB", "1 Mbit/s", 1, "", 7),
        ("64 MB", "1 Mbit/s", 1, "", 7),
        ("64 MB", "1 Mbit/s", 1, "", 8),
        ("64 MB", "1 Mbit/s", 8, "", 7),
        ("64 MB", "100 kbit/s", 1, "", 7),
        ("64 MB", "1 Mbit/s", 1, lossy, 7),
    ];
    let mut short = false;
    for (memory, rate, connections, more, seed) in cases {
        let of = |limit: &str, ann: &str| {
            let bob = lan("ann") + &lan("bob") + &flow("other", ["server", "bob"], BULK);
            run(&(path(31, more, limit).replace("4 MB", memory) + &bob + ann), seed)
        };
        let slow = limit("[\"ann\"]", &format!("down = \"{rate}\""));
        let alone = arrived(&of("", ""), "other");
        let rest = 1.0 - rate.parse::<skyhop_units::Rate>().unwrap().as_bps() as f64 / 10e6;
        for (from, ends, traffic) in
            [(0, ["server", "ann"], BULK), (10, ["server", "ann"], BULK), (10, ["ann", "server"], page)]
        {
            let begins = format!("count = {connections}\nstart = \"{from} s\"\ntraffic");
            let result = of(&slow, &flow("one", ends, traffic).replace("traffic", &begins));
            let with = arrived_within(&arrived(&result, "other"), from);
            let free = arrived_within(&alone, from);
            let parts = [0, 1, 2].map(|at| with[at] / (free[at] * rest));
            let terminal = result.splices.iter().find(|splice| splice.name == "terminal").unwrap();
            let held = terminal.connection_held_max_bytes;
            println!("{memory}, {rate}, {connections} from {from} s: {parts:.3?} of the rest, {held} B held");
            let floor = match (memory, from, connections) {
                ("64 MB", 0, _) => 0.55,
                ("64 MB", _, 8) => 0.8,
                _ => 0.85,
            };
            short |=
                parts[0] < floor || parts[1] < 0.93 || parts[2] < 0.98 || (more.is_empty() && held > 180_000);
        }
    }
    assert!(!short, "above");
}

/// A rate above the link's costs nothing, nor does one just below it, also with many connections.
#[test]
fn a_rate_that_the_link_does_not_reach_costs_nothing() {
    for (rate, connections) in [("20 Mbit/s", 1), ("20 Mbit/s", 8), ("9 Mbit/s", 1), ("9 Mbit/s", 8)] {
        let all = |users: &str| {
            let text = path(60, "", users).replace("4 MB", "64 MB")
                + &lan("ann")
                + &(0..connections)
                    .map(|n| flow(&format!("one-{n}"), ["server", "ann"], BULK))
                    .collect::<String>();
            let result = run(&text, 7);
            let flows = (0..connections).map(|n| arrived(&result, &format!("one-{n}")));
            let rates: Vec<[f64; 2]> =
                flows.map(|flow| [mbps(&flow, [0, 5]), mbps(&flow, [5, 60])]).collect();
            [0, 1].map(|at| rates.iter().map(|rates| rates[at]).sum::<f64>())
        };
        let [free, limited] = [all(""), all(&limit("[\"ann\"]", &format!("down = \"{rate}\"")))];
        println!("{rate}, {connections}: {limited:.3?}, and {free:.3?} Mbit/s without it");
        let most = if rate == "9 Mbit/s" { 9.0 } else { free[1] };
        assert!(limited[1] >= 0.97 * most && limited[1] <= 1.01 * free[1], "{limited:?} and {free:?}");
        assert!(limited[0] >= 0.9 * free[0], "{limited:?} and {free:?}");
    }
}
