//! A satellite flow beside one of a short round trip at the first router, held against ns-2 (thesis figure 4.20).
//!
//! The reference's topology: 100 Mbit/s, 1 ms - shared, 8 ms - 1.5 Mbit/s, rtt/2 - 9 ms for the satellite flow, 100 Mbit/s, 1 ms for
//! the other; 50 packets at both queues, hosts' delays of up to a packet time, 300 s. Means of as many seeds as there.

use skyhop_sim::Simulation;
use skyhop_sim::results::FlowKind;
use std::path::PathBuf;

struct Row {
    stack: String,
    rtt_ms: u64,
    shared_mbps: f64,
    seeds: u64,
    foreground: (f64, f64),
    background: (f64, f64),
}

fn reference() -> Option<Vec<Row>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/ns2/compete.csv");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: no reference at ../shared/reference/ns2/compete.csv");
        return None;
    };
    let rows = text.lines().skip(1).map(|line| {
        let f: Vec<&str> = line.split(',').collect();
        let number = |i: usize| f[i].parse::<f64>().unwrap();
        Row {
            stack: f[0].into(),
            rtt_ms: number(1) as u64,
            shared_mbps: number(2),
            seeds: number(3) as u64,
            foreground: (number(4), number(5)),
            background: (number(6), number(7)),
        }
    });
    Some(rows.collect())
}

fn transport(stack: &str, overhead_us: f64) -> String {
    let (variant, more) = match stack {
        "newreno" => ("newreno", "burst_after_recovery = true\nrecovery_burst = 2\nprecise_halving = true"),
        "newreno_sbs" => (
            "newreno-slow-but-steady",
            "burst_after_recovery = true\nrecovery_burst = 2\nprecise_halving = true",
        ),
        "sack" => ("sack1", ""),
        other => (other, ""),
    };
    format!(
        r#"
        [flows.transport]
        kind = "tcp"
        variant = "{variant}"
        mss = "1000 B"
        window = "240 segments"
        initial_window = "2 segments"
        initial_ssthresh = "240 segments"
        rto_initial = "3 s"
        grow_unused = true
        overhead = "{overhead_us} us"
        {more}
        "#
    )
}

/// Goodput of the satellite flow and of the other, kbit/s.
fn run(row: &Row, seed: u64) -> (f64, f64) {
    let Row { rtt_ms, shared_mbps, .. } = row;
    let satellite_ms = *rtt_ms as f64 / 2.0 - 9.0;
    let overhead_us = 8.0 * 1040.0 / shared_mbps;
    // Starts spread over the first second.
    let start_ms = (seed * 618) % 1000;
    let fast = "rate = \"100 Mbit/s\"\ndelay = \"1 ms\"\nqueue = { kind = \"drop-tail\", limit = \"10000 packets\" }";
    let text = format!(
        r#"
        duration = "300 s"
        [links.left]
        between = ["s", "r1"]
        {fast}
        [links.left2]
        between = ["b", "r1"]
        {fast}
        [links.shared]
        between = ["r1", "r2"]
        rate = "{shared_mbps} Mbit/s"
        delay = "8 ms"
        queue = {{ kind = "drop-tail", limit = "50 packets" }}
        [links.satellite]
        between = ["r2", "k"]
        rate = "1.5 Mbit/s"
        delay = "{satellite_ms} ms"
        queue = {{ kind = "drop-tail", limit = "50 packets" }}
        [links.right]
        between = ["r2", "bk"]
        {fast}
        [[flows]]
        name = "foreground"
        path = ["s", "left", "shared", "satellite", "k"]
        traffic = {{ kind = "bulk" }}
        {foreground}
        [[flows]]
        name = "background"
        path = ["b", "left2", "shared", "right", "bk"]
        start = "{start_ms} ms"
        traffic = {{ kind = "bulk" }}
        {background}
        "#,
        foreground = transport(&row.stack, overhead_us),
        background = transport("sack", overhead_us),
    );
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "compete.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.run_until(simulation.end());
    let result = simulation.finish();
    let goodput = |i: usize| {
        let FlowKind::Transfer(transfer) = &result.flows[i].kind else { panic!("not a transfer") };
        transfer.bytes_delivered as f64 * 8.0 / 300.0 / 1e3
    };
    (goodput(0), goodput(1))
}

/// Runs some of the rows and says how many means lie outside 15 % and two standard deviations of the reference's.
fn outside(rows: impl Iterator<Item = Row>) -> (usize, Vec<String>) {
    let (mut count, mut outside) = (0, Vec::new());
    println!(
        "{:<12} {:>6} {:>6} {:>9} {:>6} {:>9} {:>8}",
        "stack", "rtt ms", "shared", "ns-2", "sd", "skyhop", "dev %"
    );
    for row in rows {
        let runs: Vec<(f64, f64)> = (1..=row.seeds).map(|seed| run(&row, seed)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let ours = [mean(|r| r.0), mean(|r| r.1)];
        println!(
            "{:<12} {:>6} {:>6} {:>9.1} {:>6.1} {:>9.1} {:>8.1}",
            row.stack,
            row.rtt_ms,
            row.shared_mbps,
            row.foreground.0,
            row.foreground.1,
            ours[0],
            (ours[0] / row.foreground.0 - 1.0) * 100.0,
        );
        for (ours, (theirs, sd)) in [(ours[0], row.foreground), (ours[1], row.background)] {
            count += 1;
            if (ours - theirs).abs() > (0.15 * theirs).max(2.0 * sd) {
                let Row { stack, rtt_ms, shared_mbps, .. } = &row;
                outside.push(format!(
                    "{stack} {rtt_ms} ms {shared_mbps} Mbit/s: {ours:.0}, ns-2 {theirs:.0} +- {sd:.0}"
                ));
            }
        }
    }
    println!("{} of {count} outside: {outside:#?}", outside.len());
    (count, outside)
}

// Both sides have three to five seeds, so that a mean in twenty may lie beyond two of the reference's deviations by chance.
#[test]
fn a_short_flow_takes_from_a_satellite_flow_what_it_takes_in_ns2() {
    let Some(rows) = reference() else { return };
    let (count, outside) = outside(rows.into_iter().filter(|row| [20, 300].contains(&row.rtt_ms)));
    assert_eq!(count, 56);
    judge(outside, 1, 2);
}

/// Vegas has more than in ns-2 beside another flow, a seventh over 10 Mbit/s with any number of seeds; the others are where they
/// should be but for chance.
fn judge(outside: Vec<String>, most: usize, most_vegas: usize) {
    let (vegas, others): (Vec<_>, Vec<_>) = outside.into_iter().partition(|row| row.starts_with("vegas"));
    assert!(others.len() <= most, "{} means differ: {others:#?}", others.len());
    assert!(vegas.len() <= most_vegas, "{} means of Vegas differ: {vegas:#?}", vegas.len());
}

#[test]
#[ignore = "a minute; the other test has a third of it"]
fn every_row() {
    let Some(rows) = reference() else { return };
    let (count, outside) = outside(rows.into_iter());
    assert_eq!(count, 168);
    assert!(outside.len() <= 5, "{} of {count} means differ: {outside:#?}", outside.len());
}
