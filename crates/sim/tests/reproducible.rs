//! A run is a function of its scenario and its seed, and its memory depends on the data in flight.
//!
//! Random numbers come from named streams: additions to a scenario do not affect the others.

use crate::common;
use skyhop_results::{FlowKind, RunResult};
use skyhop_sim::Simulation;

#[test]
fn the_same_seed_gives_the_same_result_to_the_last_digit() {
    for text in [lossy(""), constellation(), spliced()] {
        let [first, second, other] = [7, 7, 8].map(|seed| run(&text, seed));
        assert!(first.flows.iter().any(|f| f.packets_lost > 0), "chance plays a part");
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
        let outcome = |r: &RunResult| format!("{:?}", (&r.flows, &r.links));
        assert_ne!(outcome(&first), outcome(&other));
    }
}

#[test]
fn without_chance_seeds_make_no_difference() {
    let text = lossy("").replace("probability = 0.01", "probability = 0.0");
    let [first, other] = [7, 8].map(|seed| run(&text, seed));
    assert_eq!(format!("{:?}", (&first.flows, &first.links)), format!("{:?}", (&other.flows, &other.links)));
}

#[test]
fn a_second_link_and_flow_do_not_disturb_the_first() {
    let alone = run(&lossy(""), 3);
    // A name that sorts before the first link's and one that sorts after it: neither position may matter.
    for name in ["aaa", "zzz"] {
        let more = format!(
            r#"
            [links.{name}]
            rate = "2 Mbit/s"
            delay = "20 ms"
            queue.kind = "drop-tail"
            queue.limit = "100 packets"
            loss = {{ kind = "packets", probability = 0.02 }}
            [[flows]]
            name = "other"
            path = ["c", "{name}", "d"]
            traffic = {{ kind = "bulk" }}
            "#
        );
        let both = run(&lossy(&more), 3);
        assert_eq!(both.flows.len(), 2);
        assert!(both.flows[1].packets_lost > 0);
        assert_eq!(alone.flows[0], both.flows[0]);
        assert_eq!(alone.links[0], *both.links.iter().find(|l| l.name == "satellite").unwrap());
        for series in &alone.series {
            let same = both.series.iter().find(|s| (&s.entity, s.metric) == (&series.entity, series.metric));
            assert_eq!(Some(series), same);
        }
    }
}

#[test]
fn running_in_pieces_changes_nothing() {
    let loaded = skyhop_scenario::parse(lossy("").as_bytes(), "test.toml", &[]).unwrap();
    let mut pieces = Simulation::new(&loaded.scenario, &loaded.files, 3).unwrap();
    while !pieces.finished() {
        let until = pieces.now() + skyhop_units::Span::from_millis(37);
        pieces.run_until(until);
    }
    assert_eq!(format!("{:?}", pieces.finish()), format!("{:?}", run(&lossy(""), 3)));
}

#[test]
fn memory_grows_with_packets_in_flight_and_not_with_packets_sent() {
    let most = |size: &str, window: &str| {
        let text = format!(
            r#"
            host = "1999"
            duration = "1000 s"
            [links.satellite]
            rate = "10 Mbit/s"
            delay = "250 ms"
            queue = {{ kind = "drop-tail", limit = "2000 packets" }}
            [[flows]]
            path = ["a", "satellite", "b"]
            traffic = {{ kind = "bulk", size = "{size}" }}
            transport = {{ kind = "tcp", window = "{window}" }}
            "#
        );
        let loaded =
            skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
        let mut entries = 0;
        while simulation.step() {
            entries = entries.max(simulation.footprint().1);
        }
        let packets = simulation.footprint().0;
        let result = simulation.finish();
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
        assert!(transfer.completed_s.is_some(), "{size} are transferred");
        (packets as f64, entries as f64)
    };
    let (ten, hundred) = (most("10 MB", "600 kB"), most("100 MB", "600 kB"));
    assert!((0.9..=1.1).contains(&(hundred.0 / ten.0)), "packets held: {} and {}", ten.0, hundred.0);
    assert!((0.9..=1.1).contains(&(hundred.1 / ten.1)), "entries held: {} and {}", ten.1, hundred.1);
    let wide = most("100 MB", "1200 kB");
    assert!((1.6..=2.4).contains(&(wide.0 / hundred.0)), "twice the window: {} and {}", hundred.0, wide.0);
}

fn lossy(more: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "30 s"
        [record]
        sample_interval = "50 ms"
        [links.satellite]
        rate = "4 Mbit/s"
        delay = "100 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        loss = {{ kind = "packets", probability = 0.01 }}
        [[flows]]
        name = "download"
        path = ["a", "satellite", "b"]
        traffic = {{ kind = "bulk" }}
        {more}
        "#
    )
}

fn constellation() -> String {
    String::from(
        r#"
        host = "1999"
        duration = "10 min"
        [constellation]
        preset = "iridium"
        isl = { rate = "1 Mbit/s" }
        gsl = { rate = "100 kbit/s", loss = { kind = "packets", probability = 0.01 } }
        [terminals]
        new-york = { lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }
        san-francisco = { lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }
        [[flows]]
        from = "new-york"
        to = "san-francisco"
        traffic = { kind = "bulk" }
        "#,
    )
}

/// The same loss after a gateway, which draws numbers and delays of its own.
fn spliced() -> String {
    let splice = r#"
        [links.lan]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [splices.gateway]
        at = "lan~satellite"
        buffer = "100 kB"
        transport = { kind = "tcp", overhead = "2 ms" }
        "#;
    lossy(splice).replace("[\"a\", \"satellite\"", "[\"a\", \"lan\", \"satellite\"")
}

fn run(text: &str, seed: u64) -> RunResult {
    common::run(text, seed)
}
