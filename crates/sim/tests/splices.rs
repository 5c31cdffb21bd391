//! Splices in a network, compared with the thesis (figures 4.20, 4.23 and 4.24) and ns-2.
//!
//! The reference's topology: 100 Mbit/s, 1 ms - 10 Mbit/s, 8 ms - 1.5 Mbit/s, 291 ms for the satellite flow, 100 Mbit/s, 1 ms for
//! the other; 50 packets at both queues, hosts' delays of up to a packet time, 300 s. The splice is at the second router.

use crate::{common, testing};
use skyhop_results::{CompletionsResult, FlowKind, RunResult, TransferResult};
use skyhop_sim::Simulation;
use skyhop_units::{Span, Time};

const TCP: &str = r#"{ kind = "tcp", variant = "sack1", mss = "1000 B", window = "240 segments", initial_window = "2 segments",
    initial_ssthresh = "240 segments", rto_initial = "3 s", grow_unused = true, overhead = "832 us" }"#;

/// ns-2's goodput of a satellite flow of 600 ms that shares a router of 10 Mbit/s with one of 20 ms, kbit/s.
fn ns2_end_to_end() -> Option<f64> {
    let text = testing::shared_text("reference/ns2/compete.csv")?;
    let row = text.lines().find(|line| line.starts_with("sack,600,10.0,"))?;
    row.split(',').nth(4)?.parse().ok()
}

fn compete(background: bool, splice: &str) -> String {
    let fast = "rate = \"100 Mbit/s\"\ndelay = \"1 ms\"\nqueue = { kind = \"drop-tail\", limit = \"10000 packets\" }";
    let slow = "queue = { kind = \"drop-tail\", limit = \"50 packets\" }";
    let other = format!(
        r#"
        [links.left2]
        between = ["b", "r1"]
        {fast}
        [links.right]
        between = ["r2", "bk"]
        {fast}
        [[flows]]
        name = "background"
        path = ["b", "left2", "shared", "right", "bk"]
        start = "618 ms"
        traffic = {{ kind = "bulk" }}
        transport = {TCP}
        "#
    );
    format!(
        r#"
        host = "1999"
        duration = "300 s"
        [links.left]
        between = ["s", "r1"]
        {fast}
        [links.shared]
        between = ["r1", "r2"]
        rate = "10 Mbit/s"
        delay = "8 ms"
        {slow}
        [links.satellite]
        between = ["r2", "k"]
        rate = "1.5 Mbit/s"
        delay = "291 ms"
        {slow}
        [[flows]]
        name = "foreground"
        path = ["s", "left", "shared", "satellite", "k"]
        traffic = {{ kind = "bulk" }}
        transport = {TCP}
        {splice}
        {other}
        "#,
        other = if background { &other } else { "" },
    )
}

const AT_ROUTER: &str = "[splices.gateway]\nat = \"r2\"\nflows = [\"foreground\"]\nbuffer = \"500 kB\"\n";

fn run(text: &str, seed: u64) -> RunResult {
    common::run(text, seed)
}

fn transfer(result: &RunResult, flow: usize) -> &TransferResult {
    let FlowKind::Transfer(transfer) = &result.flows[flow].kind else { panic!("not a transfer") };
    transfer
}

fn mean(seeds: u64, of: impl Fn(u64) -> f64) -> f64 {
    (1..=seeds).map(of).sum::<f64>() / seeds as f64
}

#[test]
fn splitting_gives_a_satellite_flow_back_what_a_short_one_takes() {
    let Some(reference) = ns2_end_to_end() else { return };
    let goodput = |background, splice: &str| {
        mean(3, |seed| transfer(&run(&compete(background, splice), seed), 0).goodput_bps / 1e3)
    };
    let alone = goodput(false, "");
    let beside = goodput(true, "");
    let spoofed = goodput(true, &AT_ROUTER.replace("buffer", "kind = \"spoof\"\nbuffer"));
    let split = goodput(true, AT_ROUTER);
    println!(
        "alone {alone:.0}, beside {beside:.0} (ns-2 {reference:.0}), spoofed {spoofed:.0}, split {split:.0} kbit/s"
    );
    assert!((1150.0..1442.0).contains(&alone), "{alone}");
    assert!((0.85..1.15).contains(&(beside / reference)), "{beside}, ns-2 {reference}");
    // HT figure 4.23; the ceiling is the link's rate less headers, 1442 kbit/s.
    let ceiling = 1500.0 * 1000.0 / 1040.0;
    for (what, goodput) in [("split", split), ("spoofed", spoofed)] {
        assert!((0.85 * ceiling..=ceiling).contains(&goodput), "{what}: {goodput} of {ceiling}");
    }
}

#[test]
fn the_return_channel_of_a_split_connection_is_two_percent_of_its_forward_one() {
    let result = run(&compete(true, AT_ROUTER), 1);
    let satellite = result.links.iter().find(|l| l.name == "satellite").unwrap();
    let share = satellite.reverse.bytes as f64 / transfer(&result, 0).bytes_delivered as f64;
    println!("return {:.2} % of forward", share * 100.0);
    // HT figure 4.24 and HK 6.B: roughly 2 % with segments of 1000 bytes, which is 40 bytes for every second.
    assert!((0.018..0.026).contains(&share), "{share}");
    let [gateway] = &result.splices[..] else { panic!("one splice") };
    assert_eq!((gateway.name.as_str(), gateway.connections, gateway.connections_broken), ("gateway", 1, 0));
    let held = gateway.forward_bytes - transfer(&result, 0).bytes_delivered;
    assert!(held <= 500_000 + 240_000, "{held}");
    assert_eq!(gateway.held_max_bytes, gateway.connection_held_max_bytes);
    assert!((300_000..=500_000).contains(&gateway.held_max_bytes), "{}", gateway.held_max_bytes);
    assert_eq!(gateway.return_bytes, 0);
}

/// A transfer over a terrestrial link of 20 ms and a satellite's of 540 ms.
fn two_links(size: &str, splice: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "300 s"
        [links.access]
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "drop-tail", limit = "2000 packets" }}
        [links.satellite]
        rate = "2 Mbit/s"
        delay = "270 ms"
        queue = {{ kind = "drop-tail", limit = "200 packets" }}
        [[flows]]
        name = "download"
        path = ["server", "access", "satellite", "user"]
        transport = {{ kind = "tcp", mss = "1000 B", window = "500 kB" }}
        traffic = {{ kind = "bulk", size = "{size}" }}
        {splice}
        "#
    )
}

#[test]
fn a_transfer_is_complete_when_the_far_end_has_it() {
    // 100 kB: the gateway has all after a few of the 20 ms round trips, the user after slow start over 560 ms.
    let plain = run(&two_links("100 kB", ""), 1);
    let split = run(&two_links("100 kB", "[splices.gateway]\nat = \"access~satellite\""), 1);
    let spoof =
        run(&two_links("100 kB", "[splices.gateway]\nat = \"access~satellite\"\nkind = \"spoof\""), 1);
    let [plain_s, split_s, spoof_s] = [&plain, &split, &spoof].map(|r| transfer(r, 0).completed_s.unwrap());
    println!("complete after {plain_s:.3} s, split {split_s:.3} s, spoofed {spoof_s:.3} s");
    assert_eq!(transfer(&split, 0).bytes_delivered, 100_000);
    // Slow start from two segments with an acknowledgment for every second: 2, 3, 4, 6, 9, 13, 19, 28, 42 in a round trip.
    let least = 0.56 + 7.0 * 0.54;
    assert!(split_s > least && plain_s > least && spoof_s > least);
    // The split one saves the 20 ms of each of those round trips, the spoofed one the same less a handshake.
    assert!((0.1..0.4).contains(&(plain_s - split_s)), "{plain_s} {split_s}");
    assert!((0.0..0.05).contains(&(spoof_s - split_s)), "{spoof_s} {split_s}");
    // The gateway has received everything long before: 20 ms for the handshake and each of eight round trips, and the sending of
    // 100 kB.
    let text = two_links("100 kB", "[splices.gateway]\nat = \"access~satellite\"");
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap();
    let has = |at_ms: u64| {
        let mut early = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
        early.run_until(Time::ZERO + Span::from_millis(at_ms));
        early.finish().splices[0].forward_bytes
    };
    assert!(has(100) < 50_000 && has(270) == 100_000, "{} {}", has(100), has(270));
    // The sender's own measure ends at the gateway.
    assert!(transfer(&split, 0).rtt_max_s.unwrap() < 0.2 && transfer(&plain, 0).rtt_min_s.unwrap() > 0.56);
    assert_eq!(split.splices[0].held_max_bytes, split.splices[0].connection_held_max_bytes);
    assert!((80_000..=100_000).contains(&split.splices[0].held_max_bytes));
}

#[test]
fn the_buffer_holds_back_a_sender_that_is_too_fast() {
    for kb in [50, 100, 200] {
        let splice = format!("[splices.gateway]\nat = \"access~satellite\"\nbuffer = \"{kb} kB\"");
        let result = run(&two_links("10 MB", &splice), 1);
        let held = result.splices[0].held_max_bytes;
        assert!(held <= kb * 1000 && held >= kb * 900, "{held} held of {kb} kB");
        // A window of the buffer per round trip of 540 ms plus its transmission time, or the link's rate.
        let goodput = transfer(&result, 0).goodput_bps;
        let most = (kb as f64 * 8000.0 / 0.54).min(2e6 / 1.04);
        println!("{kb} kB: {:.0} of at most {:.0} kbit/s", goodput / 1e3, most / 1e3);
        assert!((0.8 * most..=most).contains(&goodput), "{goodput} of {most}");
    }
}

#[test]
fn what_a_link_loses_beyond_the_gateway_costs_the_sender_nothing() {
    let splice = "[splices.gateway]\nat = \"access~satellite\"\n";
    for kind in ["split", "spoof"] {
        let text = two_links("2 MB", &format!("{splice}kind = \"{kind}\"")).replace(
            "limit = \"200 packets\" }",
            "limit = \"200 packets\" }\nloss = { kind = \"packets\", probability = 0.01 }",
        );
        let result = run(&text, 1);
        let t = transfer(&result, 0);
        assert_eq!((t.bytes_delivered, t.completed_s.is_some()), (2_000_000, true));
        // Only the FIN, which waits for the other end, and window probes.
        assert!(t.segments_retransmitted <= 10, "{kind}: {} repeats", t.segments_retransmitted);
        let lost = result.links.iter().map(|l| l.forward.packets_lost).sum::<u64>();
        assert!((10..40).contains(&lost), "{lost}");
    }
}

#[test]
fn a_server_that_is_never_reached_breaks_the_connection() {
    let text = two_links("1 MB", "[splices.gateway]\nat = \"access~satellite\"\ngive_up = \"30 s\"").replace(
        "delay = \"270 ms\"",
        "delay = \"270 ms\"\nloss = { kind = \"packets\", probability = 1.0 }",
    );
    let result = run(&text, 1);
    assert_eq!(transfer(&result, 0).completed_s, None);
    assert_eq!(result.splices[0].connections_broken, 1);
    assert_eq!(result.warnings, ["flow download was reset by its peer"]);
    assert!((30.0..31.0).contains(&result.simulated_s), "{}", result.simulated_s);
}

#[test]
fn two_gateways_with_transports_of_their_own_between_them() {
    let gateways = r#"
        [splices.hub]
        at = "access~satellite"
        transport = { kind = "tcp", mss = "1000 B", variant = "hybla", initial_window = "10 segments" }
        [splices.terminal]
        at = "satellite~home"
        transport_back = { kind = "tcp", mss = "500 B" }
        [links.home]
        rate = "10 Mbit/s"
        delay = "1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        "#;
    let text =
        two_links("1 MB", gateways).replace("\"satellite\", \"user\"", "\"satellite\", \"home\", \"user\"");
    let result = run(&text, 1);
    assert_eq!(transfer(&result, 0).bytes_delivered, 1_000_000);
    assert!(transfer(&result, 0).completed_s.is_some());
    let packets = |name: &str| {
        let link = result.links.iter().find(|l| l.name == name).unwrap().forward;
        link.packets
    };
    // Segments of 1000 bytes, of the terminal's 500, and then of the data available.
    let [access, satellite, home] = ["access", "satellite", "home"].map(packets);
    assert!((1000..1020).contains(&access) && (1000..2020).contains(&home), "{access} {home}");
    assert!((2000..2300).contains(&satellite), "{satellite}");
    for splice in &result.splices {
        assert_eq!((splice.connections, splice.forward_bytes, splice.return_bytes), (1, 1_000_000, 0));
    }
}

#[test]
fn a_flow_through_a_constellation_goes_by_the_terminal_of_its_splice() {
    let run_with = |splices: &str| {
        let text = format!(
            r#"
            host = "1999"
            duration = "10 min"
            [constellation]
            preset = "iridium"
            isl = {{ rate = "1 Mbit/s" }}
            gsl = {{ rate = "500 kbit/s" }}
            [terminals]
            london = {{ lat = "51.5 deg", lon = "-0.1 deg", antennas = 1 }}
            chicago = {{ lat = "41.9 deg", lon = "-87.6 deg", antennas = 1 }}
            tokyo = {{ lat = "35.7 deg", lon = "139.7 deg", antennas = 1 }}
            [[flows]]
            name = "call"
            from = "london"
            to = "tokyo"
            traffic = {{ kind = "bulk", size = "1 MB" }}
            {splices}
            "#
        );
        run(&text, 1)
    };
    let direct = run_with("");
    let spliced = run_with("[splices.hub]\nat = \"chicago\"\nflows = [\"call\"]");
    assert_eq!(transfer(&spliced, 0).bytes_delivered, 1_000_000);
    assert_eq!(spliced.splices[0].forward_bytes, 1_000_000);
    let by_chicago = |result: &RunResult| result.links.iter().any(|l| l.name == "gsl:chicago");
    assert!(by_chicago(&spliced) && !by_chicago(&direct));
}

#[test]
fn openings_that_carry_data_pass_a_splice() {
    for kind in ["split", "spoof"] {
        for open in ["t-tcp", "fast-open"] {
            let splice = format!("[splices.gateway]\nat = \"access~satellite\"\nkind = \"{kind}\"");
            let text = two_links("3 kB", &splice).replace(
                "window = \"500 kB\" }",
                &format!("window = \"500 kB\", open = {{ kind = \"{open}\", known = true }} }}"),
            );
            let result = run(&text, 1);
            let t = transfer(&result, 0);
            assert_eq!((t.bytes_delivered, t.completed_s.is_some()), (3_000, true), "{kind} {open}");
            assert_eq!((result.splices[0].forward_bytes, result.splices[0].connections_broken), (3_000, 0));
            println!("{kind} {open}: {:.3} s", t.completed_s.unwrap());
        }
    }
}

/// Exchanges of 300 bytes for 10 kB between a user behind a satellite and a server 100 ms behind the gateway.
fn exchanges(persistent: bool, splice: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "2 h"
        [links.satellite]
        between = ["user", "gateway"]
        rate = "2 Mbit/s"
        delay = "270 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [links.wide]
        between = ["gateway", "server"]
        rate = "10 Mbit/s"
        delay = "100 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        name = "get"
        from = "user"
        to = "server"
        transport = {{ kind = "tcp", mss = "1000 B", delayed_ack = {{ kind = "none" }} }}
        [flows.traffic]
        kind = "request-response"
        request = {{ kind = "fixed", value = "300 B" }}
        reply = {{ kind = "fixed", value = "10 kB" }}
        think = {{ kind = "fixed", value = "100 ms" }}
        persistent = {persistent}
        count = 200
        {splice}
        "#
    )
}

fn completions(result: &RunResult) -> &CompletionsResult {
    let FlowKind::Completions(c) = &result.flows[0].kind else { panic!("no exchanges") };
    assert_eq!((c.completed, c.failed, c.bytes_delivered), (200, 0, 2_000_000));
    c
}

#[test]
fn a_cache_that_has_everything_is_a_server_at_the_gateway() {
    for persistent in [false, true] {
        let cache = "[splices.cache]\nat = \"gateway\"\nkind = \"cache\"\nhit_ratio = 1.0";
        let cached = run(&exchanges(persistent, cache), 1);
        // The same without the path behind the gateway.
        let near = exchanges(persistent, "").replace(
            "[links.wide]\n        between = [\"gateway\", \"server\"]",
            "[links.wide]\n        between = [\"gateway\", \"far\"]",
        );
        let near = run(&near.replace("to = \"server\"", "to = \"gateway\""), 1);
        let times = [&cached, &near].map(|r| completions(r).completion_mean_s.unwrap());
        println!("persistent {persistent}: {:.4} s, at the gateway {:.4} s", times[0], times[1]);
        assert!((times[0] / times[1] - 1.0).abs() < 1e-3, "{times:?}");
        let [splice] = &cached.splices[..] else { panic!("one splice") };
        assert_eq!((splice.hits, splice.misses, splice.return_bytes), (200, 0, 0));
        assert_eq!(splice.forward_bytes, 60_000);
        let wide = cached.links.iter().find(|l| l.name == "wide").unwrap();
        assert_eq!(wide.forward.packets + wide.reverse.packets, 0);
    }
}

#[test]
fn what_a_cache_does_not_have_it_fetches_over_a_connection_of_its_own() {
    for persistent in [false, true] {
        let with = |ratio: f64| {
            let cache = format!("[splices.cache]\nat = \"gateway\"\nkind = \"cache\"\nhit_ratio = {ratio:?}");
            run(&exchanges(persistent, &cache), 1)
        };
        let none = with(0.0);
        let split = run(&exchanges(persistent, "[splices.gateway]\nat = \"gateway\"\nopens = \"data\""), 1);
        let half = with(0.5);
        let all = with(1.0);
        let mean = |r: &RunResult| completions(r).completion_mean_s.unwrap();
        let [none_s, split_s, half_s, all_s] = [&none, &split, &half, &all].map(mean);
        println!(
            "persistent {persistent}: no hits {none_s:.3} s, split {split_s:.3} s, half {half_s:.3} s, all {all_s:.3} s"
        );
        assert!((none_s / split_s - 1.0).abs() < 1e-3);
        assert_eq!((none.splices[0].hits, none.splices[0].misses), (0, 200));
        assert_eq!((none.splices[0].forward_bytes, none.splices[0].return_bytes), (60_000, 2_000_000));
        let hits = half.splices[0].hits;
        assert!((70..130).contains(&hits) && hits + half.splices[0].misses == 200, "{hits} hits");
        assert_eq!(half.splices[0].return_bytes, 10_000 * half.splices[0].misses);
        // Each exchange takes as long as alone; a persistent connection to the server exists after the first miss.
        let expected = none_s + (all_s - none_s) * hits as f64 / 200.0;
        assert!((half_s / expected - 1.0).abs() < 0.05, "{half_s}, expected {expected}");
    }
}

#[test]
fn a_cache_on_lossy_links_loses_and_leaks_nothing() {
    let lossy = "rate = \"2 Mbit/s\"\nloss = { kind = \"packets\", probability = 0.03 }";
    let cache = "[splices.cache]\nat = \"gateway\"\nkind = \"cache\"\nhit_ratio = 0.5";
    let text = exchanges(false, cache).replace("rate = \"2 Mbit/s\"", lossy);
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
    let mut most = 0;
    while simulation.step() {
        simulation.check_conservation().unwrap();
        most = most.max(simulation.footprint().1);
    }
    let result = simulation.finish();
    completions(&result);
    assert_eq!(result.splices[0].connections, 200);
    // Closed connections return their slots in the agenda.
    assert!(most < 100, "{most} entries");
}
