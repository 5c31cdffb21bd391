//! Handovers packet by packet: gaps in which packets wait, random losses, gateways, random failures.
//!
//! Follows the rules of the `topology` crate; instants and shares are computed from the intervals given.
//! Differs: the gap of 80 ms every 15 s is that of measurements of Starlink.
//! Leaves out routes, which `schemes.rs` has.

use crate::common;
use skyhop_results::{FlowKind, PingResult, RunResult};

fn run(text: &str, seed: u64) -> RunResult {
    common::run_by_steps(text, seed)
}

fn ping(result: &RunResult) -> PingResult {
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    ping.clone()
}

/// London to Paris over one satellite at a time, a ping every 20 ms for two minutes.
fn bent_pipe(extra: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "2 min"
        [constellation]
        preset = "starlink-550"
        isls = false
        handover = "synchronous"
        update_interval = "5 s"
        isl = {{ rate = "1 Tbit/s" }}
        gsl = {{ rate = "1 Gbit/s" }}
        {extra}
        [terminals]
        london = {{ lat = "51.51 deg", lon = "-0.13 deg", antennas = 1 }}
        gateway = {{ lat = "49.4 deg", lon = "1.1 deg", gateway = true, antennas = "all" }}
        frankfurt = {{ lat = "50.11 deg", lon = "8.68 deg", gateway = true, antennas = "all" }}
        [[flows]]
        from = "london"
        to = "frankfurt"
        traffic = {{ kind = "ping", interval = "20 ms", size = "0 B" }}
        "#
    )
}

#[test]
fn packets_wait_through_a_gap_and_none_is_lost() {
    let plain = run(&bent_pipe(""), 1);
    let gaps = run(&bent_pipe("handover_gap = \"80 ms\""), 1);
    let [a, b] = [ping(&plain), ping(&gaps)];
    assert_eq!((a.sent, a.received), (6000, 6000));
    assert_eq!(b.sent, 6000);
    let london =
        |result: &RunResult| result.handovers.iter().find(|h| h.terminal == "london").unwrap().clone();
    let (without, with) = (london(&plain), london(&gaps));
    println!("{without:?} {with:?}, delay at most {:?} and {:?} s", a.delay_max_s, b.delay_max_s);
    // At 15, 30, ... 105 s the highest satellite may have become another.
    assert!((3..=7).contains(&with.handovers) && with.handovers == without.handovers);
    assert!((with.gap_s - 0.08 * with.handovers as f64).abs() < 1e-6, "{with:?}");
    assert_eq!((without.gap_s, with.packets_lost), (0.0, 0));
    // A packet sent as the gap begins waits for all of it; of ten, one may be on the downlink of the old satellite.
    assert!(6000 - b.received <= with.handovers, "{b:?}");
    let waited_s = b.delay_max_s.unwrap() - a.delay_max_s.unwrap();
    assert!((0.07..0.085).contains(&waited_s), "{waited_s}");
}

#[test]
fn a_gap_made_before_break_is_none() {
    let result =
        run(&bent_pipe("handover_gap = \"80 ms\"\ngsl_acquisition = \"2 s\"\nmake_before_break = true"), 1);
    let (ping, london) = (ping(&result), &result.handovers[2]);
    assert_eq!(london.terminal, "london");
    assert!((1..=14).contains(&london.handovers) && london.gap_s < 1e-9, "{london:?}");
    assert!(ping.delay_max_s.unwrap() < 0.02 && ping.received >= 5990, "{ping:?}");
}

#[test]
fn handover_loss_is_drawn_for_each_packet_on_the_link() {
    // Ten seconds of queue before a link of 1 Mbit/s: each handover finds it full.
    let text = |loss: f64| {
        bent_pipe(&format!("handover_loss = {loss}"))
            .replace("1 Gbit/s\"", "1 Mbit/s\", queue = { kind = \"drop-tail\", limit = \"1000 packets\" }")
            .replace("interval = \"20 ms\", size = \"0 B\"", "interval = \"5 ms\", size = \"972 B\"")
    };
    let share = |loss: f64, seed: u64| {
        let result = run(&text(loss), seed);
        let london = result.handovers.iter().find(|h| h.terminal == "london").unwrap().clone();
        (london.packets_lost as f64 / london.handovers as f64, result)
    };
    let (none, half, all) = (share(0.0, 1), share(0.5, 1), share(1.0, 1));
    println!("lost a handover: {} {} {}", none.0, half.0, all.0);
    assert_eq!(none.0, 0.0);
    // 8 ms a packet: the queue grows by 75 packets a second until it is full, and a handover takes all or half of it.
    assert!((500.0..1010.0).contains(&all.0), "{}", all.0);
    assert!((0.35..0.75).contains(&(half.0 / all.0)), "{} of {}", half.0, all.0);
    let again = share(0.5, 1);
    assert_eq!((again.1.flows, again.1.events), (half.1.flows.clone(), half.1.events));
    assert_ne!(share(0.5, 2).1.flows, half.1.flows);
}

// A hundred packets of 22 cells, 0.93 s of the link, come within 0.1 s before each instant at which London's satellite may change.
#[test]
fn a_switch_loses_what_waits_for_a_terminal_that_leaves_it_and_the_terminal_keeps_its_own() {
    for service in ["fifo", "channels"] {
        let switch = format!(
            r#"antennas = 1, gsl = {{ rate = "1 Mbit/s", queue = {{ kind = "ubr", limit = "5000 cells", service = "{service}" }} }} }}"#
        );
        let mut text = bent_pipe("").replacen("antennas = 1 }", &switch, 1);
        for (from, to) in [("london", "frankfurt"), ("frankfurt", "london")] {
            for k in 1..8 {
                text += &format!(
                    r#"
                    [[flows]]
                    from = "{from}"
                    to = "{to}"
                    start = "{} ms"
                    stop = "{} ms"
                    traffic = {{ kind = "cbr", rate = "8 Mbit/s", size = "1000 B" }}
                    "#,
                    15_000 * k - 100,
                    15_000 * k
                );
            }
        }
        let result = run(&text, 1);
        let handovers = result.handovers.iter().find(|h| h.terminal == "london").unwrap().handovers;
        let counts = |from: usize| {
            let all = result.flows[from..from + 7].iter().map(|flow| match &flow.kind {
                FlowKind::Datagrams(datagrams) => (datagrams.sent, datagrams.received),
                _ => panic!("not datagrams"),
            });
            all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let ((up, arrived), (down, received)) = (counts(1), counts(8));
        println!("{service}: {handovers} handovers, {arrived} of {up} up, {received} of {down} down");
        assert!(handovers >= 3 && up >= 700 && up == down);
        assert_eq!(up - arrived, 0, "what waits at the terminal goes to its next satellite");
        let lost = (down - received) as f64 / handovers as f64;
        assert!((86.0..91.0).contains(&lost), "{lost} at a handover");
    }
}

#[test]
fn gateways_and_fibre_join_terminals_far_apart() {
    let text = bent_pipe("").replace("to = \"frankfurt\"", "to = \"rome\"").replace(
        "[[flows]]",
        "rome = { lat = \"41.9 deg\", lon = \"12.5 deg\" }\nnaples = { lat = \"40.85 deg\", \
            lon = \"14.27 deg\", gateway = true, antennas = \"all\" }\n[[flows]]",
    );
    let result = run(&text, 1);
    let found = ping(&result);
    let fibre = result.links.iter().filter(|l| l.name.starts_with("fibre:") && l.name.ends_with("-naples"));
    let fibre: u64 = fibre.map(|l| l.forward.packets).sum();
    println!("{found:?}, {fibre} packets through fibre to Naples");
    // Most of the time a gateway sees the satellites of both ends.
    assert!((100..=5000).contains(&fibre), "{fibre}");
    // Up and down twice over 550 km are 7.3 ms, and London to Rome another 4.8 ms at the speed of light.
    assert!((0.0085..0.0250).contains(&found.delay_mean_s.unwrap()), "{found:?}");
    assert!((5990..=6000).contains(&found.received), "{found:?}");
}

#[test]
fn failures_by_chance_follow_the_seed_and_their_means() {
    let text = |mtbf: &str| {
        format!(
            r#"
            host = "1999"
            duration = "2 h"
            [constellation]
            preset = "iridium"
            isl = {{ rate = "1 Tbit/s" }}
            gsl = {{ rate = "1 Tbit/s" }}
            [random_failures]
            station_mtbf = "{mtbf}"
            mttr = "5 min"
            [terminals]
            a = {{ lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }}
            b = {{ lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }}
            [[flows]]
            from = "a"
            to = "b"
            traffic = {{ kind = "ping", interval = "10 s" }}
            "#
        )
    };
    // Each end works two thirds of the time.
    let mean = |mtbf: &str| {
        (1..=20).map(|seed| ping(&run(&text(mtbf), seed)).received as f64 / 720.0).sum::<f64>() / 20.0
    };
    let (share, rare) = (mean("10 min"), mean("1000 d"));
    println!("{share:.3} of the pings arrive, {rare:.3} if next to nothing fails");
    assert!((0.38..0.52).contains(&share), "{share}; expected 4/9");
    assert!(rare > 0.99, "{rare}");
    assert_eq!(ping(&run(&text("10 min"), 3)), ping(&run(&text("10 min"), 3)));
}

#[test]
fn what_fails_is_in_the_results_and_a_share_fails_at_once() {
    let text = |failures: &str| {
        format!(
            r#"
            duration = "1 min"
            {failures}
            [constellation]
            preset = "iridium"
            [terminals]
            a = {{ lat = "40.71 deg", lon = "-74.01 deg" }}
            b = {{ lat = "37.77 deg", lon = "-122.42 deg" }}
            [[flows]]
            from = "a"
            to = "b"
            traffic = {{ kind = "ping", interval = "10 s" }}
            "#
        )
    };
    let failed = |failures: &str, seed| run(&text(failures), seed).failures;
    assert_eq!(failed("", 1), []);
    let listed = failed(
        "failures = [{ satellite = \"3.4\", from = \"20 s\", until = \"30 s\" }, { station = \"a\" }, { station = \"b\", \
            from = \"2 min\" }]",
        1,
    );
    let told: Vec<_> = listed.iter().map(|f| (f.kind, f.name.as_str(), f.from_s, f.until_s)).collect();
    assert_eq!(told, [("station", "a", 0.0, None), ("satellite", "3.4", 20.0, Some(30.0))]);
    // A tenth of 66 satellites, and of 66 links in planes and 55 or 66 between them, to the nearest; others with another seed.
    let drawn = |seed| failed("random_failures = { satellite_share = 0.1, isl_share = 0.1 }", seed);
    let first = drawn(1);
    let count = |kind| first.iter().filter(|f| f.kind == kind).count();
    assert!(
        (count("satellite"), count("link")) == (7, 12) || (count("satellite"), count("link")) == (7, 13),
        "{first:?}"
    );
    assert!(first.iter().all(|f| f.from_s == 0.0 && f.until_s.is_none()));
    let mut names: Vec<&str> = first.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), first.len());
    assert_eq!(drawn(1), first);
    assert_ne!(drawn(2), first);
    // With every satellite failed nothing arrives; with none as many as without failures.
    let arrive = |share: &str| {
        ping(&run(&text(&format!("random_failures = {{ satellite_share = {share} }}")), 1)).received
    };
    assert_eq!((arrive("1"), arrive("0")), (0, ping(&run(&text(""), 1)).received));
}

#[test]
fn terminals_that_look_at_odd_times_hand_over_at_odd_times() {
    let text = |check: &str| {
        format!(
            r#"
            host = "1999"
            duration = "1 h"
            [constellation]
            preset = "teledesic"
            {check}
            [terminals]
            a = {{ lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }}
            b = {{ lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }}
            [[flows]]
            from = "a"
            to = "b"
            traffic = {{ kind = "ping", interval = "1 s" }}
            "#
        )
    };
    let count = |result: &RunResult| result.handovers.iter().map(|h| h.handovers).sum::<u64>();
    let (plain, odd) =
        (run(&text(""), 1), run(&text("handover_check = \"10 s\"\nhandover_check_dither = \"5 s\""), 1));
    println!("{} and {} handovers", count(&plain), count(&odd));
    // Satellites stay for minutes; the time of a check has little effect.
    assert!((10..200).contains(&count(&plain)) && count(&plain).abs_diff(count(&odd)) <= 10);
    assert_ne!(ping(&plain).delay_mean_s, ping(&odd).delay_mean_s);
    assert!(ping(&odd).received > 3500, "{:?}", ping(&odd));
}
