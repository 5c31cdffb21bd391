//! Limits of flows: a case for each cause, shares in closed form, sums over every scenario of the repository.
//!
//! Follows docs/results.md, which has the rules; the expected shares are computed at each case.
//! Differs from the machine's own tests: scenarios, links and transports are real.
//! Leaves out the output of results, which `record` tests.

use skyhop_results::{Cause, FlowKind, FlowResult, LimitsResult, RunResult};
use skyhop_scenario::Loaded;
use skyhop_sim::Simulation;
use std::path::Path;

/// Tolerance for differences from the computed shares.
const TOLERANCE: f64 = 0.002;

fn load(text: &str) -> Loaded {
    skyhop_scenario::parse(text.as_bytes(), "limits.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run(loaded: &Loaded) -> RunResult {
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, loaded.scenario.seed)
        .unwrap_or_else(|e| panic!("{e}"));
    simulation.without_series();
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    let result = simulation.finish();
    result.flows.iter().for_each(|flow| adds_up(flow, &result, loaded));
    result
}

/// Asserts that each instant of a transfer has one cause.
fn adds_up(flow: &FlowResult, result: &RunResult, loaded: &Loaded) {
    let connections = matches!(flow.kind, FlowKind::Transfer(_) | FlowKind::Completions(_));
    assert_eq!(flow.limits.is_some(), connections, "{}", flow.name);
    let Some(limits) = &flow.limits else { return };
    let model =
        &loaded.scenario.flows.iter().zip(0..).find(|(_, i)| loaded.scenario.flow_name(*i) == flow.name);
    let (model, _) = model.unwrap();
    if let (FlowKind::Transfer(transfer), skyhop_scenario::Traffic::Bulk { connections, .. }) =
        (&flow.kind, &model.traffic)
    {
        let end = transfer.completed_s.map_or(result.simulated_s, |s| s + model.start.as_secs_f64());
        let life_ns = ((end - model.start.as_secs_f64()).max(0.0) * 1e9).round() as u64;
        if *connections == 1 && model.stop.is_none() {
            assert_eq!(limits.total_ns(), life_ns, "{}: {limits:?}", flow.name);
        } else {
            assert!(limits.total_ns() <= life_ns * u64::from(*connections), "{}: {limits:?}", flow.name);
        }
    }
    if limits.total_ns() == 0 {
        assert_eq!((limits.limited_by(), limits.share(Cause::Recovery)), (None, None));
        return;
    }
    let sum: f64 = Cause::ALL.iter().map(|cause| limits.share(*cause).unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{}: {sum}", flow.name);
}

fn limits(result: &RunResult) -> &LimitsResult {
    result.flows[0].limits.as_ref().unwrap()
}

/// A flow "f" over one link, or over the links in `link`.
fn over(link: &str, flow: &str) -> Loaded {
    load(&format!(
        "host = \"1999\"\nduration = \"100 s\"\n[links.sat]\n{link}\n[[flows]]\nname = \"f\"\npath = [\"a\", \"sat\", \"b\"]\n{flow}\n"
    ))
}

fn shares(loaded: &Loaded) -> LimitsResult {
    limits(&run(loaded)).clone()
}

/// Asserts the share of the cause.
fn named(limits: &LimitsResult, cause: Cause, range: std::ops::RangeInclusive<f64>) {
    let share = limits.share(cause).unwrap();
    println!("{:18} {:6.2} %  {:?}", cause.name(), 100.0 * share, limits.spent_ns);
    assert_eq!(limits.limited_by(), Some(cause), "{limits:?}");
    assert!(range.contains(&share), "{}: {share}, expected {range:?}; {limits:?}", cause.name());
}

fn near(share: f64) -> std::ops::RangeInclusive<f64> {
    share - TOLERANCE..=share + TOLERANCE
}

/// A link with a negligible transmission time, with a queue that never drops.
const LONG: &str =
    "rate = \"100 Gbit/s\"\ndelay = \"300 ms\"\nqueue = { kind = \"drop-tail\", limit = \"100000 packets\" }";

#[test]
fn a_window_of_64_segments_holds_ten_megabytes_for_all_rounds_but_the_first_and_the_last() {
    // 10,000 segments are 156 windows of 64 and a rest. A round trip for the handshake, 156 that wait for the window, one for the
    // acknowledgment of the rest.
    let loaded = over(
        LONG,
        "transport = { kind = \"tcp\", mss = \"1000 B\", window = \"64 segments\", initial_window = \"64 segments\", \
            delayed_ack = { kind = \"none\" } }\n\
         traffic = { kind = \"bulk\", size = \"10 MB\" }",
    );
    let limits = shares(&loaded);
    named(&limits, Cause::ReceiveWindow, near(156.0 / 158.0));
    assert!(near(1.0 / 158.0).contains(&limits.share(Cause::Handshake).unwrap()), "{limits:?}");
    assert!(near(1.0 / 158.0).contains(&limits.share(Cause::Application).unwrap()), "{limits:?}");
}

#[test]
fn slow_start_is_the_congestion_windows_round_by_round() {
    // 2, 4, 8 ... 1024 segments: 2046 in ten rounds, the last of which has nothing more to send.
    let loaded = over(
        LONG,
        "transport = { kind = \"tcp\", variant = \"reno\", mss = \"1000 B\", window = \"10 MB\", initial_window = \"2 segments\", \
            delayed_ack = { kind = \"none\" } }\n\
         traffic = { kind = \"bulk\", size = \"2046 kB\" }",
    );
    let limits = shares(&loaded);
    named(&limits, Cause::CongestionWindow, near(9.0 / 11.0));
    assert!(near(1.0 / 11.0).contains(&limits.share(Cause::Handshake).unwrap()), "{limits:?}");
    assert!(near(1.0 / 11.0).contains(&limits.share(Cause::Application).unwrap()), "{limits:?}");
}

#[test]
fn without_losses_and_bounds_it_is_the_congestion_window_from_the_handshake_on() {
    // 100 s, of which the handshake takes two propagations and two SYNs of less than a millisecond.
    for variant in ["reno", "sack-newreno", "sack", "cubic"] {
        let loaded = over(
            "rate = \"1 Mbit/s\"\ndelay = \"250 ms\"\nqueue = { kind = \"drop-tail\", limit = \"100000 packets\" }",
            &format!(
                "transport = {{ kind = \"tcp\", variant = \"{variant}\", window = \"500 MB\" }}\ntraffic = {{ kind = \"bulk\" }}"
            ),
        );
        named(&shares(&loaded), Cause::CongestionWindow, near(1.0 - 0.5 / 100.0));
    }
    // A pace that follows the window is the window.
    let loaded = over(
        "rate = \"1 Mbit/s\"\ndelay = \"250 ms\"\nqueue = { kind = \"drop-tail\", limit = \"100000 packets\" }",
        "transport = { kind = \"tcp\", variant = \"sack\", pacing = true, window = \"500 MB\" }\ntraffic = { kind = \"bulk\" }",
    );
    named(&shares(&loaded), Cause::CongestionWindow, near(1.0 - 0.5 / 100.0));
}

#[test]
fn a_window_below_the_product_is_told_whatever_the_law_and_the_pace() {
    let link = "rate = \"20 Mbit/s\"\ndelay = \"300 ms\"\nqueue = { kind = \"drop-tail\", limit = \"1000 packets\" }";
    for transport in [
        "variant = \"cubic\"",
        "variant = \"cubic\", pacing = true",
        "variant = \"hybla\"",
        "variant = \"hybla\", pacing = true",
        "variant = \"bbr\"",
        "variant = \"sack-newreno\"",
    ] {
        let flow = format!(
            "transport = {{ kind = \"tcp\", {transport}, window = \"256 kB\", initial_window = \"10 segments\" }}\ntraffic = {{ \
                kind = \"bulk\" }}"
        );
        let result = run(&over(link, &flow));
        println!("{transport}");
        named(limits(&result), Cause::ReceiveWindow, 0.9..=0.99);
        // 20 Mbit/s and 600 ms are 1.5 MB; the queue of 1000 packets holds 1.5 MB more.
        let [warning] = &result.warnings[..] else { panic!("{:?}", result.warnings) };
        assert!(warning.contains("flow f ") && warning.contains("window of 256 kB"), "{warning}");
        assert!(warning.ends_with("write transport.window = \"3.1 MB\""), "{warning}");
        assert_eq!(limits(&result).bottleneck.as_deref(), Some("sat"));
        // The warning's advice helps.
        let better = flow.replace("256 kB", "3.1 MB");
        let result = run(&over(link, &better));
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    }
    let stp = "transport = { kind = \"stp\", window = \"256 kB\" }\ntraffic = { kind = \"bulk\" }";
    let result = run(&over(link, stp));
    named(limits(&result), Cause::ReceiveWindow, 0.9..=0.999);
    assert!(result.warnings[0].contains("transport.window = \"3.0 MB\""), "{:?}", result.warnings);
}

#[test]
fn connections_side_by_side_need_a_part_of_the_window_each() {
    // 10 Mbit/s and 600 ms are 750 kB, the queue another 750 kB: 375 kB for each of four.
    let link =
        "rate = \"10 Mbit/s\"\ndelay = \"300 ms\"\nqueue = { kind = \"drop-tail\", limit = \"500 packets\" }";
    let flow = |window: &str| {
        format!(
            "transport = {{ kind = \"tcp\", window = \"{window}\" }}\ntraffic = {{ kind = \"bulk\", connections = 4 }}"
        )
    };
    let result = run(&over(link, &flow("100 kB")));
    named(limits(&result), Cause::ReceiveWindow, 0.9..=0.99);
    assert!(result.warnings[0].ends_with("transport.window = \"380 kB\""), "{:?}", result.warnings);
    assert!(run(&over(link, &flow("380 kB"))).warnings.is_empty());
}

#[test]
fn a_window_that_fills_the_path_is_no_mistake() {
    // 64 kB are four times what 1 Mbit/s and 100 ms hold: the receive window keeps the queue short.
    let loaded = over(
        "rate = \"1 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"drop-tail\", limit = \"100 packets\" }",
        "transport = { kind = \"tcp\", window = \"64 kB\" }\ntraffic = { kind = \"bulk\" }",
    );
    let result = run(&loaded);
    named(limits(&result), Cause::ReceiveWindow, 0.9..=0.999);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}

#[test]
fn a_lost_syn_is_the_handshakes() {
    // A timeout of 3 s and three crossings of 10 ms; then one round trip for the kilobyte.
    let loaded = over(
        "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nloss = { kind = \"list\", packets = [1] }\nreverse = { loss = { kind = \"none\" } }",
        "transport = { kind = \"tcp\", rto_initial = \"3 s\" }\ntraffic = { kind = \"bulk\", size = \"1 kB\" }",
    );
    named(&shares(&loaded), Cause::Handshake, 0.99..=0.995);
}

#[test]
fn an_application_that_offers_a_tenth_is_the_applications() {
    // At most 100 kB per second are offered where 1.25 MB would pass; a reply of 10 kB fits one window.
    for kind in ["tcp\", initial_window = \"10 segments", "stp"] {
        let loaded = over(
            "rate = \"10 Mbit/s\"\ndelay = \"5 ms\"",
            &format!(
                "transport = {{ kind = \"{kind}\" }}\ntraffic = {{ kind = \"request-response\", persistent = true, request = {{ \
                    kind = \"fixed\", value = \"100 B\" }}, reply = {{ kind = \"fixed\", value = \"10 kB\" }}, think = {{ \
                    kind = \"fixed\", value = \"90 ms\" }} }}"
            ),
        );
        // The handshake is not: 5 ms.
        named(&shares(&loaded), Cause::Application, 0.9..=0.99996);
    }
}

#[test]
fn a_promised_rate_below_the_links_is_a_pace() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"300 ms\"\nqueue = { kind = \"drop-tail\", limit = \"1000 packets\" }";
    let promised = "transport = { kind = \"stp\", congestion = \"rate\", max_rate = \"2 Mbit/s\" }\ntraffic = { kind = \"bulk\" }";
    named(&shares(&over(link, promised)), Cause::Pacing, 0.99..=1.0);
    // Repairs are sent at the same pace.
    let lossy = format!("{link}\nloss = {{ kind = \"packets\", probability = 0.02 }}");
    named(&shares(&over(&lossy, promised)), Cause::Pacing, 0.9..=1.0);
    // Measured rates.
    let found = "transport = { kind = \"stp\" }\ntraffic = { kind = \"bulk\" }";
    named(&shares(&over(link, found)), Cause::Pacing, 0.9..=1.0);
    let bbr = "transport = { kind = \"tcp\", variant = \"bbr\", window = \"20 MB\" }\ntraffic = { kind = \"bulk\" }";
    named(&shares(&over(link, bbr)), Cause::Pacing, 0.7..=0.99);
    named(&shares(&over(&lossy.replace("0.02", "0.01"), bbr)), Cause::Pacing, 0.5..=0.99);
    // A host with a processing delay: 100 ms before each transmission, 20 ms of round trip.
    let slow = "transport = { kind = \"tcp\", overhead = \"1 s\", window = \"1 MB\", initial_window = \"1 segments\" }\ntraffic = { \
        kind = \"bulk\" }";
    named(&shares(&over("rate = \"100 Mbit/s\"\ndelay = \"5 ms\"", slow)), Cause::Pacing, 0.9..=0.9999);
}

#[test]
fn heavy_losses_are_recovery() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nloss = { kind = \"packets\", probability = 0.3 }\nreverse = { loss = { \
        kind = \"none\" } }";
    for variant in ["tahoe", "reno", "newreno", "sack-newreno", "sack", "fack", "cubic"] {
        let flow = format!(
            "transport = {{ kind = \"tcp\", variant = \"{variant}\", initial_window = \"2 segments\" }}\ntraffic = {{ kind = \"bulk\" }}"
        );
        let limits = shares(&over(link, &flow));
        println!("{variant}");
        // With RACK a round trip passes before a loss is detected.
        named(&limits, Cause::Recovery, if variant == "cubic" { 0.8 } else { 0.9 }..=0.9999);
    }
}

#[test]
fn the_silence_before_a_timeout_is_recovery() {
    // The second of two segments is lost, with no data after it: it is detected by a timeout of 10 s, and repaired in one round
    // trip of 20 ms.
    let loaded = over(
        "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nloss = { kind = \"list\", packets = [3] }\nreverse = { loss = { kind = \"none\" } }",
        "transport = { kind = \"tcp\", mss = \"1000 B\", rto_min = \"10 s\", rto_initial = \"10 s\", delayed_ack = { \
            kind = \"none\" } }\ntraffic = { kind = \"bulk\", size = \"2 kB\" }",
    );
    let limits = shares(&loaded);
    named(&limits, Cause::Recovery, 0.99..=0.999);
    // Reno's share in closed form: of 60 ms and 10 s the timeout and the repair.
    assert!((limits.spent_ns[Cause::Recovery as usize] as f64 / 1e9 - 10.02).abs() < 0.025, "{limits:?}");
}

#[test]
fn an_outage_is_no_link_and_what_waits_for_the_timeout_after_it_recovery() {
    for outage in ["lose", "wait"] {
        let link = format!(
            "rate = \"1 Mbit/s\"\ndelay = \"100 ms\"\nqueue = {{ kind = \"drop-tail\", limit = \"50 packets\" }}\nschedule = [{{ \
                from = \"2 s\", to = \"95 s\", outage = \"{outage}\" }}]"
        );
        for transport in ["kind = \"tcp\"", "kind = \"tcp\", variant = \"cubic\"", "kind = \"stp\""] {
            let flow = format!("transport = {{ {transport} }}\ntraffic = {{ kind = \"bulk\" }}");
            let limits = shares(&over(&link, &flow));
            println!("{outage} {transport}");
            // Exactly the outage, whatever happens in it.
            named(&limits, Cause::NoLink, 0.93..=0.93);
            assert_eq!(limits.spent_ns[Cause::NoLink as usize], 93_000_000_000);
            if outage == "lose" {
                assert!(limits.spent_ns[Cause::Recovery as usize] > 0, "{limits:?}");
            }
        }
    }
    // To the nanosecond, from its beginning on: one that outlasts the run.
    let endless = "rate = \"1 Mbit/s\"\ndelay = \"100 ms\"\nschedule = [{ from = \"2 s\", to = \"200 s\", outage = \"lose\" }]";
    let limits = shares(&over(endless, "traffic = { kind = \"bulk\" }"));
    assert_eq!(limits.spent_ns[Cause::NoLink as usize], 98_000_000_000);
    // Too short for a timeout during the outage: the loss is detected by a timeout a second later.
    let loaded = over(
        "rate = \"1 Mbit/s\"\ndelay = \"100 ms\"\nqueue = { kind = \"drop-tail\", limit = \"500 packets\" }\nschedule = [{ \
            from = \"2 s\", to = \"2500 ms\", outage = \"lose\" }]",
        "transport = { kind = \"tcp\", variant = \"reno\", window = \"8 segments\", rto_min = \"5 s\" }\ntraffic = { kind = \"bulk\" }",
    );
    let limits = shares(&loaded);
    assert_eq!(limits.spent_ns[Cause::NoLink as usize], 500_000_000);
    let waited = limits.spent_ns[Cause::Recovery as usize] as f64 / 1e9;
    assert!((4.3..5.6).contains(&waited), "{waited}");
}

#[test]
fn rows_of_a_trace_that_lose_all_are_an_outage_and_a_repeat_brings_it_back() {
    let text = "host = \"1999\"\nduration = \"100 s\"\n[links.sat]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nrepeat = \"10 s\"\n\
                schedule = [{ from = \"4 s\", to = \"5 s\", loss = { kind = \"packets\", probability = 1.0 } }]\n\
                [[flows]]\npath = [\"a\", \"sat\", \"b\"]\ntraffic = { kind = \"bulk\" }\n";
    let limits = shares(&load(text));
    assert_eq!(limits.spent_ns[Cause::NoLink as usize], 10_000_000_000, "{limits:?}");
    // With 0.5 it is no outage.
    let limits = shares(&load(&text.replace("probability = 1.0", "probability = 0.5")));
    assert_eq!(limits.spent_ns[Cause::NoLink as usize], 0, "{limits:?}");
}

#[test]
fn an_idle_sender_is_not_held_up_by_an_outage() {
    // One exchange in 30 s; the outage is while the user reads.
    let loaded = over(
        "rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nschedule = [{ from = \"10 s\", to = \"20 s\", outage = \"lose\" }]",
        "traffic = { kind = \"request-response\", persistent = true, request = { kind = \"fixed\", value = \"100 B\" }, reply = { \
            kind = \"fixed\", value = \"1 kB\" }, think = { kind = \"fixed\", value = \"30 s\" } }",
    );
    let limits = shares(&loaded);
    assert_eq!(limits.spent_ns[Cause::NoLink as usize], 0, "{limits:?}");
    named(&limits, Cause::Application, 0.99..=0.9999);
}

#[test]
fn connections_side_by_side_are_added_up() {
    // Four lives of 100 s.
    let loaded =
        over("rate = \"1 Mbit/s\"\ndelay = \"100 ms\"", "traffic = { kind = \"bulk\", connections = 4 }");
    assert_eq!(shares(&loaded).total_ns(), 400_000_000_000);
}

#[test]
fn the_gaps_of_handovers_are_no_link() {
    // A flow that always has data, so that each gap of the terminal limits it.
    let text = r#"
        host = "1999"
        duration = "2 min"
        [constellation]
        preset = "starlink-550"
        isls = false
        handover = "synchronous"
        handover_period = "15 s"
        handover_gap = "80 ms"
        update_interval = "5 s"
        gsl = { rate = "20 Mbit/s" }
        fibre = { rate = "10 Gbit/s" }
        [terminals]
        london = { lat = "51.51 deg", lon = "-0.13 deg" }
        rouen = { lat = "49.44 deg", lon = "1.10 deg", gateway = true, antennas = "all" }
        [[flows]]
        from = "london"
        to = "rouen"
        transport = { kind = "tcp", variant = "cubic" }
        traffic = { kind = "bulk" }
    "#;
    let result = run(&load(text));
    let gaps: f64 = result.handovers.iter().filter(|h| h.terminal == "london").map(|h| h.gap_s).sum();
    let out = limits(&result).spent_ns[Cause::NoLink as usize] as f64 / 1e9;
    println!("{gaps} s of gaps, {out} s without a link");
    assert!(gaps > 0.2 && (out - gaps).abs() < 1e-6, "{gaps} {out}");
    assert!(limits(&result).bottleneck.as_ref().is_some_and(|link| link == "gsl:london"), "{result:?}");
}

#[test]
fn a_network_without_a_route_is_no_link() {
    // The gateway fails for fifty seconds of a hundred.
    let text = r#"
        host = "1999"
        duration = "100 s"
        failures = [{ station = "rouen", from = "20 s", until = "70 s" }]
        [constellation]
        preset = "starlink-550"
        isls = false
        update_interval = "1 s"
        gsl = { rate = "20 Mbit/s" }
        [terminals]
        london = { lat = "51.51 deg", lon = "-0.13 deg" }
        rouen = { lat = "49.44 deg", lon = "1.10 deg", gateway = true, antennas = "all" }
        [[flows]]
        from = "london"
        to = "rouen"
        transport = { kind = "tcp", variant = "cubic" }
        traffic = { kind = "bulk" }
    "#;
    let limits = shares(&load(text));
    let out = limits.spent_ns[Cause::NoLink as usize] as f64 / 1e9;
    assert!((out - 50.0).abs() < 1.01, "{out}: {limits:?}");
}

#[test]
fn the_bottleneck_is_the_busiest_link_in_the_direction_of_the_data() {
    let text = |access: &str, satellite: &str, traffic: &str| {
        format!(
            "host = \"1999\"\nduration = \"60 s\"\n[links.access]\nrate = \"{access}\"\ndelay = \"1 ms\"\nreverse = {{ \
                rate = \"{satellite}\" }}\n\
             [links.satellite]\nrate = \"{satellite}\"\ndelay = \"100 ms\"\nreverse = {{ rate = \"{access}\" }}\n[links.z]\nrate = \
             \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
             [[flows]]\npath = [\"a\", \"access\", \"satellite\", \"z\", \"b\"]\ntransport = {{ kind = \"tcp\", \
             variant = \"cubic\" }}\ntraffic = {traffic}\n"
        )
    };
    let bottleneck = |access, satellite, traffic| {
        let result = run(&load(&text(access, satellite, traffic)));
        limits(&result).bottleneck.clone()
    };
    let bulk = "{ kind = \"bulk\" }";
    assert_eq!(bottleneck("10 Mbit/s", "1 Mbit/s", bulk).as_deref(), Some("satellite"));
    assert_eq!(bottleneck("1 Mbit/s", "10 Mbit/s", bulk).as_deref(), Some("access"));
    // The first of two equal links has the queue.
    assert_eq!(bottleneck("2 Mbit/s", "2 Mbit/s", bulk).as_deref(), Some("access"));
    // Replies take the opposite path, where the slow direction is that of the other link.
    let reply = "{ kind = \"request-response\", request = { kind = \"fixed\", value = \"100 B\" }, reply = { kind = \"fixed\", \
        value = \"500 kB\" }, think = { kind = \"fixed\", value = \"0 s\" } }";
    assert_eq!(bottleneck("10 Mbit/s", "1 Mbit/s", reply).as_deref(), Some("access"));
}

#[test]
fn causes_fill_the_life_of_every_transfer_whatever_happens() {
    let link = |loss: &str, schedule: &str| {
        format!(
            "rate = \"2 Mbit/s\"\ndelay = \"60 ms\"\nqueue = {{ kind = \"drop-tail\", limit = \"20 packets\" }}\nloss = {{ \
                kind = \"packets\", probability = {loss} }}\nschedule = [{schedule}]"
        )
    };
    let variants = [
        "tahoe",
        "reno",
        "newreno",
        "newreno-slow-but-steady",
        "sack-reno",
        "sack-newreno",
        "sack",
        "sack1",
        "fack",
        "vegas",
        "cubic",
        "hybla",
        "bbr",
    ];
    let mut transports: Vec<String> =
        variants.iter().map(|variant| format!("kind = \"tcp\", variant = \"{variant}\"")).collect();
    transports.extend(
        ["kind = \"stp\"", "kind = \"stp\", format = \"plain\"", "kind = \"tcp\", pacing = true"]
            .map(String::from),
    );
    let outage = "{ from = \"4 s\", to = \"9 s\", outage = \"lose\" }, { from = \"12 s\", to = \"12500 ms\", outage = \"wait\" }";
    for transport in &transports {
        for (loss, schedule) in [("0.0", ""), ("0.02", ""), ("0.0", outage), ("0.2", outage)] {
            for traffic in [
                "kind = \"bulk\", size = \"2 MB\"",
                "kind = \"bulk\"",
                "kind = \"web\"",
                "kind = \"poisson\", arrivals_per_s = 2, size = { kind = \"fixed\", value = \"20 kB\" }",
            ] {
                let flow =
                    format!("start = \"1500 ms\"\ntransport = {{ {transport} }}\ntraffic = {{ {traffic} }}");
                // `run` checks the sums.
                let result = run(&over(&link(loss, schedule), &flow));
                let limits = limits(&result);
                assert!(limits.total_ns() > 0, "{transport} {loss} {traffic}: {limits:?}");
                let out = limits.spent_ns[Cause::NoLink as usize];
                assert_eq!(
                    out > 0 || traffic.contains("web"),
                    !schedule.is_empty() || traffic.contains("web"),
                    "{transport} {traffic}: {limits:?}"
                );
            }
        }
    }
}

#[test]
fn causes_fill_the_life_of_every_transfer_of_the_repositorys_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        // An hour of pings is sufficient here instead of a day.
        let text = std::fs::read_to_string(&file).unwrap();
        let day = [("duration".to_owned(), "10 min".to_owned())];
        let sets: &[_] = if text.contains("duration = \"24 h\"") { &day } else { &[] };
        let loaded = skyhop_scenario::load(&file, sets).unwrap_or_else(|e| panic!("{e}"));
        let result = run(&loaded);
        for flow in &result.flows {
            let limits = flow.limits.as_ref().map(|limits| (limits.limited_by(), &limits.bottleneck));
            println!("{:24} {:16} {limits:?}", result.scenario, flow.name);
        }
    }
}
