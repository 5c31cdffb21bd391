//! Numbers of HT chapter 4, as tests if a run is short: table 4.1, figures 4.14 to 4.18, table 4.2's experiments.
//!
//! Follows sections 4.1.5, 4.2.3 and 4.2.4; `papers/henderson1999` has all of the chapter, with its figures.
//! Differs: the web load of table 4.1 is Poisson transfers of 10 packets; replies are the fit to Mah's that is shipped.
//! Leaves out figures 4.20, 4.23 and 4.24, which `compete.rs` and `splices.rs` have.

use crate::common;
use skyhop_results::{FlowKind, RunResult, TransferResult};
use std::fmt::Write;

fn run(text: &str, seed: u64) -> RunResult {
    common::run(text, seed)
}

fn transfer(result: &RunResult, flow: usize) -> &TransferResult {
    let FlowKind::Transfer(transfer) = &result.flows[flow].kind else { panic!("not a transfer") };
    transfer
}

/// Samples of a flow's metric, by seconds.
fn series(result: &RunResult, flow: &str, metric: &str) -> Vec<(f64, f64)> {
    let entity = format!("flow/{flow}");
    let found = result.series.iter().find(|s| s.entity == entity && s.metric == metric).unwrap();
    found.samples.iter().map(|(t, v)| (t.as_secs_f64(), *v)).collect()
}

const RTTS_MS: [u64; 6] = [10, 20, 100, 200, 300, 600];

/// Topology 2: six flows behind a RED queue of 1.5 Mbit/s, one of which may grow by 4.
fn topology_2(by_4: Option<u64>) -> String {
    let fast = "rate = \"10 Mbit/s\"\nqueue = { kind = \"drop-tail\", limit = \"10000 packets\" }";
    let tcp = |more: &str| {
        format!(
            "transport = {{ kind = \"tcp\", variant = \"sack1\", mss = \"960 B\", window = \"240 segments\", \
             initial_ssthresh = \"240 segments\", rto_initial = \"3 s\", grow_unused = true, \
             delayed_ack = {{ kind = \"none\" }}{more} }}"
        )
    };
    let mut text = format!(
        r#"
        host = "1999"
        duration = "320 s"
        record = {{ sample_interval = "20 s" }}
        [links.bottleneck]
        between = ["left", "right"]
        rate = "1.5 Mbit/s"
        delay = "1 ms"
        queue = {{ kind = "red", limit = "51 packets", min = "20 packets", max = "40 packets", weight = 0.002, max_p = 0.1,
            wait = true, gentle = false }}
        reverse = {{ queue = {{ kind = "drop-tail", limit = "10000 packets" }} }}
        [links.to-servers]
        between = ["servers", "left"]
        delay = "23 ms"
        {fast}
        [links.to-users]
        between = ["right", "users"]
        delay = "1 ms"
        {fast}
        "#
    );
    let mut flows = String::new();
    for (i, rtt_ms) in RTTS_MS.into_iter().enumerate() {
        let growth = if by_4 == Some(rtt_ms) { ", increase = { kind = \"by\", segments = 4 }" } else { "" };
        write!(
            text,
            "[links.l{i}]\nbetween = [\"s{i}\", \"left\"]\ndelay = \"{} ms\"\n{fast}\n\
             [links.r{i}]\nbetween = [\"right\", \"k{i}\"]\ndelay = \"1 ms\"\n{fast}\n",
            rtt_ms / 2 - 2
        )
        .unwrap();
        write!(
            flows,
            "[[flows]]\nname = \"rtt-{rtt_ms}\"\nfrom = \"s{i}\"\nto = \"k{i}\"\nstart = \"{} ms\"\ntraffic = {{ kind = \"bulk\" }}\n{}\n",
            // Somewhere in the first five seconds.
            (i * 1733 + 211) % 5000,
            tcp(growth)
        )
        .unwrap();
    }
    write!(
        flows,
        "[[flows]]\nname = \"web\"\nfrom = \"servers\"\nto = \"users\"\n\
         traffic = {{ kind = \"poisson\", arrivals_per_s = 3.75, size = {{ kind = \"fixed\", value = \"9600 B\" }} }}\n{}\n",
        tcp("")
    )
    .unwrap();
    text + &flows
}

fn jain(x: &[f64]) -> f64 {
    x.iter().sum::<f64>().powi(2) / (x.len() as f64 * x.iter().map(|v| v * v).sum::<f64>())
}

/// Mean throughputs on the wire from 20 s on, kbit/s, and utilisation of the bottleneck.
fn shares(by_4: Option<u64>) -> ([f64; 6], f64) {
    const SEEDS: u64 = 6;
    let (mut sum, mut busy) = ([0.0; 6], 0.0);
    for seed in 1..=SEEDS {
        let result = run(&topology_2(by_4), seed);
        for (i, rtt_ms) in RTTS_MS.into_iter().enumerate() {
            let samples = series(&result, &format!("rtt-{rtt_ms}"), "bytes_delivered");
            let early = samples.iter().rfind(|(t, _)| *t <= 20.0).unwrap().1;
            let payload = transfer(&result, i).bytes_delivered as f64 - early;
            sum[i] += payload / 960.0 * 8.0 / 300.0 / SEEDS as f64;
        }
        let bottleneck = result.links.iter().find(|l| l.name == "bottleneck").unwrap();
        busy += bottleneck.forward.bytes as f64 * 8.0 / 1.5e6 / 320.0 / SEEDS as f64;
    }
    (sum, busy)
}

#[test]
fn table_4_1_increase_by_4_makes_sharing_fairer_and_wastes_nothing() {
    // Fairness, then 600, 300, 200 and 100 ms in kbit/s.
    let printed = [
        (None, 0.807, [68.1, 116.2, 156.6, 217.1]),
        (Some(300), 0.861, [59.6, 240.8, 139.8, 188.1]),
        (Some(600), 0.873, [138.7, 109.1, 151.6, 207.0]),
    ];
    let mut usual = None;
    for (by_4, fairness, kbps) in printed {
        let (ours, busy) = shares(by_4);
        let index = jain(&ours);
        println!("{by_4:?}: {ours:.1?}, fairness {index:.3} ({fairness}), busy {busy:.4}; printed {kbps:?}");
        for (ours, printed) in ours.iter().rev().zip(kbps) {
            assert!((0.8..1.2).contains(&(ours / printed)), "{by_4:?}: {ours} kbit/s, printed {printed}");
        }
        assert!((index - fairness).abs() < 0.04, "{by_4:?}: {index}, printed {fairness}");
        assert!((0.97..=1.0).contains(&busy), "{by_4:?}: {busy}");
        let (index_before, busy_before) = *usual.get_or_insert((index, busy));
        if by_4.is_some() {
            assert!((0.015..0.1).contains(&(index - index_before)), "{by_4:?}: {index_before}, then {index}");
            assert!((busy - busy_before).abs() < 0.01, "{by_4:?}: {busy_before}, then {busy}");
        }
    }
}

/// The first minute over the emulated geostationary path of section 4.2.2.
struct Minute {
    first_reduction_s: f64,
    reductions: usize,
    /// Until all data sent at the first reduction were acknowledged.
    recovery_s: f64,
    /// From the end of the recovery to the second reduction.
    again_s: Option<f64>,
    transfer: TransferResult,
}

fn minute(variant: &str) -> Minute {
    let result = run(
        &format!(
            r#"
            host = "1999"
            duration = "60 s"
            record = {{ sample_interval = "20 ms" }}
            [links.ethernet]
            rate = "100 Mbit/s"
            delay = "0.1 ms"
            queue.kind = "drop-tail"
            queue.limit = "100 packets"
            [links.satellite]
            rate = "1.3 Mbit/s"
            delay = "299.8 ms"
            queue = {{ kind = "drop-tail", limit = "50 packets" }}
            [links.transit]
            rate = "10 Mbit/s"
            delay = "0.1 ms"
            queue.kind = "drop-tail"
            queue.limit = "100 packets"
            [[flows]]
            name = "transfer"
            path = ["source", "ethernet", "satellite", "transit", "sink"]
            traffic = {{ kind = "bulk" }}
            [flows.transport]
            kind = "tcp"
            variant = {variant}
            window = "240 kB"
            initial_window = "1 segments"
            limited_transmit = false
            rto_granularity = "500 ms"
            delayed_ack = {{ kind = "heartbeat", period = "200 ms" }}
            "#
        ),
        1,
    );
    let threshold = series(&result, "transfer", "ssthresh_bytes");
    let mut falls = vec![threshold[0].0];
    falls.extend(threshold.windows(2).filter(|w| w[1].1 < w[0].1).map(|w| w[1].0));
    let acked = series(&result, "transfer", "bytes_acked");
    let flight = series(&result, "transfer", "in_flight_bytes");
    let until = |t: f64| acked.iter().zip(&flight).filter(move |(a, _)| a.0 <= t);
    let sent = until(falls[0]).map(|(a, f)| a.1 + f.1).fold(0.0, f64::max);
    let end = acked.iter().find(|(_, bytes)| *bytes >= sent).map_or(f64::INFINITY, |(t, _)| *t);
    Minute {
        first_reduction_s: falls[0],
        reductions: falls.len(),
        recovery_s: end - falls[0],
        again_s: falls.get(1).map(|t| t - end),
        transfer: transfer(&result, 0).clone(),
    }
}

#[test]
fn figures_4_14_to_4_18_what_four_variants_make_of_an_overshoot() {
    let reno = minute("\"reno\"");
    let bsd = minute("\"reno\"\navoid_multiple_fast_retransmits = false");
    let newreno = minute("\"newreno-slow-but-steady\"");
    let burst = minute("\"newreno-slow-but-steady\"\nburst_after_recovery = true");
    let sack = minute("\"sack-newreno\"");
    for (name, m) in
        [("reno", &reno), ("BSD's", &bsd), ("newreno", &newreno), ("with a burst", &burst), ("sack", &sack)]
    {
        println!(
            "{name}: first reduction after {:.2} s, recovery {:.2} s, {} reductions, {} timeouts, {:.0} kbit/s",
            m.first_reduction_s,
            m.recovery_s,
            m.reductions,
            m.transfer.timeouts,
            m.transfer.goodput_bps / 1e3
        );
        // Within the first 10 s for all: slow start is the same.
        assert!((5.0..10.0).contains(&m.first_reduction_s), "{name}: {}", m.first_reduction_s);
    }
    // 4.14: a timeout, and a threshold that is reduced again.
    assert!((1..=3).contains(&reno.transfer.timeouts), "{}", reno.transfer.timeouts);
    assert!((2..=8).contains(&reno.reductions), "{}", reno.reductions);
    // False fast retransmissions after it take the threshold to the least, two segments, and most of the goodput.
    assert_eq!(bsd.transfer.timeouts, 1);
    assert!(bsd.reductions >= 2 + reno.reductions, "{} and {}", bsd.reductions, reno.reductions);
    assert!(bsd.transfer.goodput_bps < 0.5 * reno.transfer.goodput_bps, "{}", bsd.transfer.goodput_bps);
    // 4.15: over half a minute for one burst of losses, a round trip for each, with neither a timeout nor a second reduction.
    assert!((28.0..45.0).contains(&newreno.recovery_s), "{}", newreno.recovery_s);
    let per_repeat = newreno.recovery_s / newreno.transfer.segments_retransmitted as f64;
    assert!((0.59..0.66).contains(&per_repeat), "{per_repeat}");
    assert_eq!((newreno.transfer.timeouts, newreno.reductions), (0, 1));
    // 4.16: the burst at the end of recovery is itself lost, at once.
    let again = burst.again_s.expect("a second reduction");
    assert!((0.6..3.0).contains(&again), "{again}");
    assert_eq!(burst.transfer.timeouts, 0);
    // 4.17 and 4.18: one reduction, all repaired in more than a round trip and less than two seconds.
    assert_eq!((sack.transfer.timeouts, sack.reductions), (0, 1));
    assert!((0.6..2.0).contains(&sack.recovery_s), "{}", sack.recovery_s);
    let of_the_link = sack.transfer.goodput_bps / (1.3e6 * 1460.0 / 1500.0);
    assert!((0.85..1.0).contains(&of_the_link), "{of_the_link}");
}

/// Mean time of 1000 requests and replies of the web of 1995 over 1.3 Mbit/s, between Ethernets.
fn web(rtt_ms: f64, mss: u32, at_once: bool, window: u32, seed: u64) -> f64 {
    let opening = if at_once { "open = { kind = \"t-tcp\", known = true }" } else { "" };
    let result = run(
        &format!(
            r#"
            host = "1999"
            duration = "60000 s"
            record = {{ sample_interval = "1000 s" }}
            [links.ethernet]
            between = ["client", "near"]
            rate = "10 Mbit/s"
            delay = "0.1 ms"
            queue.kind = "drop-tail"
            queue.limit = "100 packets"
            [links.transit]
            between = ["far", "server"]
            rate = "100 Mbit/s"
            delay = "0.1 ms"
            queue.kind = "drop-tail"
            queue.limit = "100 packets"
            [links.satellite]
            between = ["near", "far"]
            rate = "1.3 Mbit/s"
            delay = "{} ms"
            queue = {{ kind = "drop-tail", limit = "50 packets" }}
            [[flows]]
            from = "client"
            to = "server"
            [flows.traffic]
            kind = "request-response"
            request = {{ kind = "mah" }}
            reply = {{ kind = "mah" }}
            think = {{ kind = "uniform", least = "10 s", most = "12 s" }}
            count = 1000
            [flows.transport]
            kind = "tcp"
            mss = "{mss} B"
            window = "240 kB"
            initial_window = "{window} B"
            limited_transmit = false
            rto_initial = "3 s"
            rto_granularity = "500 ms"
            delayed_ack = {{ kind = "heartbeat", period = "200 ms" }}
            {opening}
            "#,
            rtt_ms / 2.0 - 0.2
        ),
        seed,
    );
    let FlowKind::Completions(web) = &result.flows[0].kind else { panic!("not requests and replies") };
    assert_eq!((web.started, web.completed, web.failed), (1000, 1000, 0));
    web.completion_mean_s.unwrap()
}

#[test]
fn table_4_2_what_a_thousand_transfers_take() {
    // By RTT: segments on the wire, then TCP, T/TCP, "4KSS" and both, in seconds.
    let printed = [
        (600.0, 0.15, 1500, [2.0, 1.4, 1.6, 1.0]),
        (600.0, 0.15, 500, [2.6, 2.0, 1.9, 1.3]),
        (80.0, 0.06, 1500, [0.37, 0.28, 0.25, 0.16]),
        (80.0, 0.06, 500, [0.55, 0.47, 0.31, 0.23]),
    ];
    let mut compared = 0;
    for (rtt_ms, accepted, wire, row) in printed {
        for (kind, printed) in row.into_iter().enumerate() {
            let mss: u32 = wire - 40;
            // RFC 2414.
            let window = if kind >= 2 { (4 * mss).min((2 * mss).max(4380)) } else { mss };
            let seeds = 1..=3;
            let ours = seeds.map(|seed| web(rtt_ms, mss, kind % 2 == 1, window, seed)).sum::<f64>() / 3.0;
            println!("{rtt_ms} ms, {wire} B, kind {kind}: {ours:.3} s, printed {printed}");
            compared += 1;
            // Known, docs/deviations.md: slow start with small segments, and what T/TCP saves at a short round trip.
            let known = (wire == 500 && kind < 2) || (rtt_ms == 80.0 && kind == 1);
            let accepted = match (known, rtt_ms == 600.0) {
                (false, _) => -accepted..accepted,
                (true, true) => 0.1..0.4,
                (true, false) => -0.17..-0.03,
            };
            assert!(
                accepted.contains(&(ours - printed)),
                "{rtt_ms} ms, {wire} B, kind {kind}: {ours}, printed {printed}"
            );
        }
    }
    assert_eq!(compared, 16);
}
