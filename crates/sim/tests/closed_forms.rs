//! Runs with results in closed form: delays, pipes, slow start, the square-root law, growth by one.
//!
//! Each test has its formula. Packets of TCP are 1040 bytes: 1000 of payload, 40 of headers.

use crate::common;
use skyhop_results::{FlowKind, PingResult, RunResult, TransferResult};

#[test]
fn delay_over_one_link_is_propagation_and_serialisation() {
    // 100 bytes of payload, 28 of headers: 1024 bits at 1 Mbit/s take 1.024 ms.
    let result = run(
        r#"
        host = "1999"
        duration = "9.5 s"
        [links.only]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        path = ["a", "only", "b"]
        traffic = { kind = "ping", interval = "1 s", size = "100 B" }
        "#,
        1,
    );
    let ping = ping(&result);
    assert_eq!((ping.sent, ping.received, ping.answers_received), (10, 10, 10));
    let delays = [ping.delay_min_s, ping.delay_mean_s, ping.delay_max_s].map(ns);
    assert_eq!(delays, [11_024_000; 3]);
    assert_eq!([ping.rtt_min_s, ping.rtt_max_s].map(ns), [22_048_000; 2]);
}

#[test]
fn delay_over_three_links_is_the_sum_of_each_ones() {
    let result = run(
        r#"
        host = "1999"
        duration = "9.5 s"
        [links.access]
        rate = "8 Mbit/s"
        delay = "1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [links.satellite]
        rate = "64 kbit/s"
        delay = "270 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        reverse = { rate = "32 kbit/s", delay = "280 ms" }
        [links.lan]
        rate = "1 Gbit/s"
        delay = "17 us"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        path = ["a", "access", "satellite", "lan", "b"]
        traffic = { kind = "ping", interval = "1 s", size = "100 B" }
        "#,
        1,
    );
    let ping = ping(&result);
    // 1024 bits: 128 us, 16 ms and 1024 ns; back 1024 ns, 32 ms and 128 us.
    let there = 1_000_000 + 128_000 + 270_000_000 + 16_000_000 + 17_000 + 1_024;
    let back = 17_000 + 1_024 + 280_000_000 + 32_000_000 + 1_000_000 + 128_000;
    assert_eq!([ping.delay_min_s, ping.delay_max_s].map(ns), [there; 2]);
    assert_eq!([ping.rtt_min_s, ping.rtt_max_s].map(ns), [there + back; 2]);
}

#[test]
fn a_window_of_the_pipe_fills_it_and_half_a_window_fills_half() {
    // RTT = 100 ms + 1040 B and 40 B at 10 Mbit/s = 100.864 ms, in which 121.2 packets are sent.
    let rtt_s = 0.100_864;
    let pipe = 10e6 * rtt_s / 8.0 / 1040.0;
    for (segments, expected) in [(122, 1.0), (61, 61.0 / pipe), (30, 30.0 / pipe)] {
        let text = transfer("100 s", "10 Mbit/s", "50 ms", "", &format!("window = \"{segments} kB\""));
        let result = run(&text, 1);
        let utilisation = result.links[0].forward.utilisation;
        assert!(
            (0.97 * expected..=1.002 * expected).contains(&utilisation) && utilisation <= 1.0,
            "{segments} segments use {utilisation:.4} of the link, expected {expected:.4}"
        );
        let goodput = of(&result).goodput_bps;
        let ratio = goodput / (10e6 * expected * 1000.0 / 1040.0);
        assert!(
            (0.97..=1.002).contains(&ratio),
            "{segments} segments: {goodput:.0} bit/s, {ratio:.4} of expected"
        );
        assert_eq!(of(&result).segments_retransmitted, 0);
    }
}

#[test]
fn slow_start_fills_the_pipe_in_the_logarithm_of_its_size() {
    // 41.6 Mbit/s * 200 ms = 1000 packets. A round trip for the handshake, then a doubling in each.
    let rtt_s = 0.2;
    let reach = |initial: u64| {
        let tcp = format!("window = \"4 MB\"\ninitial_window = \"{initial} segments\"");
        let text =
            transfer("5 s", "41.6 Mbit/s", "100 ms", "", &tcp) + "[record]\nsample_interval = \"5 ms\"\n";
        let result = run(&text, 1);
        let cwnd = series(&result, "cwnd_bytes");
        cwnd.iter().find(|(_, cwnd)| *cwnd >= 1e6).expect("the pipe is filled").0
    };
    let mut times = Vec::new();
    for initial in [1, 2, 4, 16] {
        let expected = rtt_s * (1.0 + (1000.0 / initial as f64).log2());
        let took = reach(initial);
        assert!(
            (took - expected).abs() < rtt_s,
            "from {initial} segments in {took:.3} s, expected {expected:.3} s"
        );
        times.push(took);
    }
    // Eight times the initial window saves three round trips.
    let saved = (times[1] - times[3]) / rtt_s;
    assert!((2.8..3.2).contains(&saved), "16 segments save {saved:.2} round trips over 2");
}

#[test]
fn goodput_under_random_loss_follows_the_square_root_law() {
    // Mathis et al. 1997: mss / rtt * sqrt(3/2) / sqrt(p), for a receiver that acknowledges each segment.
    let goodput = |loss: f64, seconds: u32| {
        let link = format!(
            "loss = {{ kind = \"packets\", probability = {loss} }}\nreverse = {{ loss = {{ kind = \"none\" }} }}"
        );
        let tcp = "window = \"4 MB\"\ninitial_ssthresh = \"20 segments\"";
        let text = transfer(&format!("{seconds} s"), "1 Gbit/s", "50 ms", &link, tcp);
        let seeds = 1..=5;
        let sum: f64 = seeds.clone().map(|seed| of(&run(&text, seed)).goodput_bps).sum();
        sum / seeds.count() as f64
    };
    let law = |loss: f64| 8000.0 / 0.1 * (1.5 / loss).sqrt();
    let (often, seldom) = (goodput(0.01, 2000), goodput(0.001, 2000));
    let ratios = [often / law(0.01), seldom / law(0.001)];
    println!(
        "1 %: {often:.0} bit/s, {:.3} of the law; 0.1 %: {seldom:.0} bit/s, {:.3}",
        ratios[0], ratios[1]
    );
    for ratio in ratios {
        assert!((0.8..=1.2).contains(&ratio), "{ratios:.3?} of the law at 1 % and 0.1 %");
    }
    let factor = seldom / often;
    assert!(
        (0.85..=1.3).contains(&(factor / 10f64.sqrt())),
        "ten times less loss gives {factor:.2} times as much"
    );
}

#[test]
fn congestion_avoidance_grows_by_a_segment_a_round_trip_and_half_with_delayed_acknowledgments() {
    for (delayed_ack, expected) in [("none", 1.0), ("one-shot", 0.5)] {
        let tcp = format!(
            "window = \"4 MB\"\ninitial_ssthresh = \"10 segments\"\ndelayed_ack = {{ kind = \"{delayed_ack}\" }}"
        );
        let text =
            transfer("30 s", "1 Gbit/s", "50 ms", "", &tcp.replace("delayed_ack = { kind = \"none\" }", ""));
        let result = run(&(text + "[record]\nsample_interval = \"10 ms\"\n"), 1);
        let cwnd = series(&result, "cwnd_bytes");
        let at = |t: f64| cwnd.iter().find(|s| s.0 >= t).expect("a sample").1;
        let growth = (at(25.05) - at(5.05)) / 1000.0 / 200.0;
        assert!(
            (0.93 * expected..=1.01 * expected).contains(&growth),
            "{delayed_ack}: {growth:.3} segments a round trip"
        );
    }
}

/// An endless transfer over one link, with each segment acknowledged unless `tcp` overrides it.
fn transfer(duration: &str, rate: &str, delay: &str, link: &str, tcp: &str) -> String {
    let each = if tcp.contains("delayed_ack") { "" } else { "delayed_ack = { kind = \"none\" }" };
    format!(
        r#"
        host = "1999"
        duration = "{duration}"
        [links.only]
        rate = "{rate}"
        delay = "{delay}"
        queue = {{ kind = "drop-tail", limit = "100000 packets" }}
        {link}
        [[flows]]
        path = ["a", "only", "b"]
        traffic = {{ kind = "bulk" }}
        [flows.transport]
        kind = "tcp"
        variant = "sack-newreno"
        mss = "1000 B"
        {each}
        {tcp}
"#
    )
}

fn run(text: &str, seed: u64) -> RunResult {
    common::run(text, seed)
}

fn of(result: &RunResult) -> &TransferResult {
    match &result.flows[0].kind {
        FlowKind::Transfer(transfer) => transfer,
        other => panic!("not a transfer: {other:?}"),
    }
}

fn ping(result: &RunResult) -> &PingResult {
    match &result.flows[0].kind {
        FlowKind::Ping(ping) => ping,
        other => panic!("not a ping: {other:?}"),
    }
}

fn ns(seconds: Option<f64>) -> u64 {
    (seconds.expect("a delay") * 1e9).round() as u64
}

fn series(result: &RunResult, metric: &str) -> Vec<(f64, f64)> {
    let series = result.series.iter().find(|s| s.metric == metric).expect("a series");
    series.samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect()
}
