//! A flow of a population is the same as if written alone: same packets, same draws, same numbers.
//!
//! Follows the rule that a random stream belongs to a name. Scenarios draw losses, pages and starts, so a missing or additional
//! stream is detected. Leaves out the members of populations, which `crates/scenario/tests/many.rs` tests.

use skyhop_results::RunResult;
use skyhop_scenario::{Loaded, parse};
use skyhop_sim::Simulation;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn load(text: &str) -> Loaded {
    parse(text.as_bytes(), "many.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run(loaded: &Loaded) -> RunResult {
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, loaded.scenario.seed).unwrap();
    while simulation.step() {}
    simulation.check_conservation().unwrap();
    simulation.finish()
}

/// The flows of a scenario, each as a table of its own.
fn written_out(loaded: &Loaded, keys: &str) -> String {
    let mut out = String::new();
    for flow in &loaded.scenario.flows {
        let (name, start) = (flow.name.as_deref().unwrap(), flow.start);
        write!(out, "[[flows]]\nname = \"{name}\"\nstart = \"{} ns\"\n{keys}\n", start.as_nanos()).unwrap();
        for (key, end) in [("from", &flow.from), ("to", &flow.to)] {
            if let Some(end) = end {
                writeln!(out, "{key} = \"{}\"", end.name()).unwrap();
            }
        }
    }
    out
}

fn compare(head: &str, kind: &str, keys: &str) -> RunResult {
    let many = load(&format!("{head}\n[[flows]]\nname = \"many\"\n{kind}\n{keys}\n"));
    let out = load(&format!("{head}\n{}", written_out(&many, keys)));
    let [a, b] = [run(&many), run(&out)];
    assert_eq!(a.flows, b.flows);
    assert_eq!((&a.links, a.packet_hops), (&b.links, b.packet_hops));
    assert!(a.flows.iter().all(|flow| flow.packets_sent > 0));
    // Members are only sampled individually on request.
    assert!(a.series.iter().all(|series| !series.entity.starts_with("flow/")));
    assert!(b.series.iter().any(|series| series.entity.starts_with("flow/")));
    a
}

const LOSSY: &str = "duration = \"90 s\"\nseed = 5\n[links.\"lan-*\"]\ncount = 7\nbetween = [\"user-*\", \"hub\"]\nrate = \"2 Mbit/s\"\n\
    delay = \"5 ms\"\n[links.sky]\nbetween = [\"hub\", \"server\"]\nrate = \"3 Mbit/s\"\ndelay = \"250 ms\"\n\
    loss = { kind = \"packets\", probability = 0.01 }\n";

#[test]
fn transfers_pages_pings_and_datagrams_are_as_written_out() {
    for keys in [
        "traffic = { kind = \"bulk\", size = \"60 kB\" }",
        "traffic = { kind = \"web\" }",
        "traffic = { kind = \"ping\" }",
        "traffic = { kind = \"on-off\", rate = \"40 kbit/s\", on = { kind = \"exponential\", mean = \"1 s\" }, off = { \
            kind = \"exponential\", mean = \"1 s\" } }",
    ] {
        compare(LOSSY, "from = \"server\"\nto = \"user-*\"\ncount = 20\nstart_spread = \"7 s\"", keys);
        compare(LOSSY, "from = \"user-*\"\nto = [\"server\", \"hub\"]\npair = \"random\"\ncount = 9", keys);
    }
}

#[test]
fn a_flow_is_the_same_alone_and_first_of_many() {
    // On a separate link at a separate time, other flows affect only the shared draws of losses, which are off here.
    let head = LOSSY.replace("0.01", "0.0").replace("3 Mbit/s", "900 Mbit/s");
    let keys = "from = \"server\"\nto = \"user-*\"\ntraffic = { kind = \"web\" }";
    let of = |count: usize| {
        let text = format!("{head}\n[[flows]]\nname = \"many\"\ncount = {count}\n{keys}\n");
        run(&load(&text)).flows
    };
    let (one, seven) = (of(1), of(7));
    assert_eq!((one.len(), seven.len()), (1, 7));
    let same = |a: &skyhop_results::FlowResult, b: &skyhop_results::FlowResult| {
        (a.forward_bytes, a.return_bytes) == (b.forward_bytes, b.return_bytes)
    };
    assert!(same(&one[0], &seven[0]) && !same(&one[0], &seven[1]));
}

#[test]
fn through_satellites_members_are_as_written_out() {
    let head = "duration = \"20 s\"\n[constellation]\npreset = \"iridium\"\ngsl = { rate = \"1 Mbit/s\" }\n\
        [terminals]\nusers-1 = { lat = \"48 deg\", lon = \"11 deg\" }\nusers-2 = { lat = \"47 deg\", lon = \"8 deg\" }\n\
        gate = { lat = \"40 deg\", lon = \"-74 deg\" }\n";
    let result = compare(
        head,
        "from = \"users-*\"\nto = \"gate\"\ncount = 6",
        "traffic = { kind = \"bulk\", size = \"50 kB\" }",
    );
    assert_eq!(result.populations.len(), 1);
    assert_eq!(result.populations[0].members(&result).len(), 6);
}

#[test]
fn members_are_sampled_on_request() {
    let keys = "from = \"server\"\nto = \"user-*\"\ntraffic = { kind = \"bulk\", size = \"60 kB\" }";
    let text = format!("{LOSSY}\n[record]\nmembers = true\n[[flows]]\nname = \"many\"\ncount = 3\n{keys}\n");
    let result = run(&load(&text));
    assert!(result.each_member && result.series.iter().any(|series| series.entity == "flow/many.3"));
    assert_eq!(result.listed().count(), 3);
}

/// The time for loading a scenario until it could run.
#[expect(clippy::disallowed_methods, reason = "two times of one run are compared; no result hangs on them")]
fn loads_in(text: &str) -> Duration {
    let began = Instant::now();
    let loaded = load(text);
    Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
    began.elapsed()
}

#[test]
fn loading_grows_with_the_number_and_not_with_its_square() {
    const TIMES: usize = 8;
    let links = |n: usize| {
        format!(
            "duration = \"9 s\"\n[links.\"lan-*\"]\ncount = {}\nbetween = [\"pc-*\", \"hub\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 \
                ms\"\nmtu = \"1000 B\"\n\
             [[flows]]\nfrom = \"pc-*\"\nto = \"hub\"\ncount = {n}\ntraffic = {{ kind = \"bulk\" }}\n",
            2 * n
        )
    };
    let satellites = |n: usize| {
        format!(
            "duration = \"9 s\"\n[constellation]\npreset = \"iridium\"\ngsl = {{ rate = \"1 Mbit/s\", shared = {{ up = \"5 Mbit/s\" }} }}\n\
             [terminals]\ngate = {{ lat = \"48 deg\", lon = \"11 deg\" }}\n[populations.users]\n\
             around = {{ lat = \"48 deg\", lon = \"11 deg\" }}\nradius = \"300 km\"\ncount = {n}\n\
             [links.\"lan-*\"]\nbetween = [\"users\", \"home-*\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nmtu = \"1000 B\"\n\
             [splices.pep]\nat = \"gate\"\nflows = [\"web\"]\n[links.wan]\nbetween = [\"gate\", \"server\"]\nrate = \"1 \
             Gbit/s\"\ndelay = \"1 ms\"\n\
             [[flows]]\nname = \"web\"\nfrom = \"home-*\"\nto = \"server\"\ncount = {n}\ntraffic = {{ kind = \"web\" }}\n"
        )
    };
    for (what, few, many) in [
        ("links", links(2000), links(2000 * TIMES)),
        ("satellites", satellites(300), satellites(300 * TIMES)),
    ] {
        // With quadratic time it would be 64 times in each attempt, and not only while other processes keep the processors.
        let ratios = (0..10).map(|_| {
            let [few, many] = [loads_in(&few), loads_in(&many)];
            println!("{what}: {few:?}, {many:?}");
            many.as_secs_f64() / few.as_secs_f64()
        });
        let most = 3.0 * TIMES as f64;
        assert!(
            ratios.into_iter().any(|ratio| ratio < most),
            "{what}: more than {most} times as long for {TIMES} times as many"
        );
    }
}
