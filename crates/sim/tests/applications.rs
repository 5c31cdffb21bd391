//! Web pages, exchanges, short transfers and datagrams in whole runs: compared with closed forms and with ns-2.
//!
//! Follows HT 3.2.1 and 4.2.4; each test has its formula. The reference's short transfers are its section 5.
//! Differs from the transport crate's test of them: here an application sends requests and replies over the simulator's links.
//! Leaves out the quality of the fits of the web models, which the `traffic` crate tests.

use crate::testing;
use skyhop_results::{CompletionsResult, DatagramResult, FlowKind, RunResult};
use skyhop_scenario::Files;
use skyhop_sim::Simulation;
use std::sync::Arc;

fn run_with(text: &str, files: &Files, seed: u64) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation =
        Simulation::new(&loaded.scenario, files, seed).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn run(text: &str, seed: u64) -> RunResult {
    run_with(text, &Files::new(), seed)
}

fn completions(result: &RunResult) -> &CompletionsResult {
    let FlowKind::Completions(found) = &result.flows[0].kind else { panic!("no completions") };
    found
}

fn datagrams(result: &RunResult) -> &DatagramResult {
    let FlowKind::Datagrams(found) = &result.flows[0].kind else { panic!("no datagrams") };
    found
}

/// Start times in seconds, and values.
fn series(result: &RunResult, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let found = result.series.iter().find(|s| s.entity == entity && s.metric == metric);
    found.expect(metric).samples.iter().map(|(at, v)| (at.as_secs_f64(), *v)).collect()
}

/// Pages of `files` files of `reply` bytes; a round trip takes 600 ms.
fn web(rate: &str, files: u32, reply: u32, more: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "1000 s"
        [links.only]
        rate = "{rate}"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "10000 packets" }}
        [[flows]]
        path = ["user", "only", "server"]
        [flows.transport]
        kind = "tcp"
        mss = "1000 B"
        window = "1000 segments"
        initial_window = "100 segments"
        delayed_ack = {{ kind = "none" }}
        [flows.traffic]
        kind = "web"
        pages = 2
        request = {{ kind = "fixed", value = "100 B" }}
        reply = {{ kind = "fixed", value = "{reply} B" }}
        files = {{ kind = "fixed", value = {files}.0 }}
        stay = {{ kind = "fixed", value = 100.0 }}
        think = {{ kind = "fixed", value = "7 s" }}
        {more}
        "#
    )
}

// A file on a new connection is two round trips, on one that is open a single one; the first file comes before the others.
#[test]
fn pages_over_an_idle_link_take_their_round_trips() {
    for (files, more, first, second, connections) in [
        (1, "connections = 1", 2, 2, 2),
        (5, "connections = 1", 10, 10, 10),
        (5, "connections = 4", 4, 4, 10),
        (6, "connections = 4", 6, 6, 12),
        (5, "connections = 1\npersistent = true", 6, 5, 1),
        (5, "connections = 1\npersistent = true\npipelining = true", 3, 2, 1),
        (5, "connections = 4\npersistent = true", 4, 2, 4),
        (9, "connections = 4\npersistent = true\npipelining = true", 4, 2, 4),
    ] {
        let result = run(&web("100 Gbit/s", files, 5000, more), 1);
        let found = completions(&result);
        assert_eq!((found.started, found.completed, found.failed), (2, 2, 0), "{more}");
        assert_eq!((found.files, found.connections), (2 * u64::from(files), connections), "{more}");
        let pages = series(&result, "flow/flow-1", "completion_s");
        for (page, trips) in pages.iter().zip([first, second]) {
            let apart = page.1 - 0.6 * f64::from(trips);
            assert!((0.0..1e-4).contains(&apart), "{files} files, {more}: {} s, {trips} trips", page.1);
        }
        let thought = pages[1].0 - pages[0].0 - pages[0].1;
        assert!((thought - 7.0).abs() < 1e-6, "{thought} s of thinking");
    }
}

// Two round trips, SYN, SYN and ACK, 140 B of request, and 100 packets of 1040 B at 1 Mbit/s; options make a SYN up to 60 B.
#[test]
fn a_page_over_a_slow_link_takes_its_bits_besides() {
    let result = run(&web("1 Mbit/s", 1, 100_000, ""), 1);
    let took = completions(&result).completion_min_s.unwrap();
    let bits = |small: f64| (2.0 * small + 140.0 + 100.0 * 1040.0) * 8.0 / 1e6;
    assert!((1.2 + bits(40.0)..=1.2 + bits(60.0) + 1e-6).contains(&took), "{took} s");
    assert_eq!(completions(&result).bytes_delivered, 200_000);
}

#[test]
fn a_server_takes_its_time_for_each_file() {
    let server = "server_time = { kind = \"fixed\", value = \"50 ms\" }\nconnections = 1\npersistent = true";
    let result = run(&web("100 Gbit/s", 5, 5000, server), 1);
    let took = completions(&result).completion_max_s.unwrap();
    assert!((took - (6.0 * 0.6 + 5.0 * 0.05)).abs() < 1e-4, "{took} s");
}

#[test]
fn going_to_another_server_takes_new_connections() {
    let text = web("100 Gbit/s", 1, 5000, "connections = 1\npersistent = true")
        .replace("value = 100.0", "value = 2.0")
        .replace("pages = 2", "pages = 6");
    let result = run(&text, 1);
    let trips: Vec<f64> =
        series(&result, "flow/flow-1", "completion_s").iter().map(|p| (p.1 / 0.6).round()).collect();
    assert_eq!(trips, [2.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
    assert_eq!(completions(&result).connections, 3);
}

/// One exchange of 300 bytes for `reply` bytes over 600 ms: packets of both ends, and the time until the reply.
fn exchange(opening: &str, reply: u32, half_close: bool) -> (u64, f64) {
    let result = run(
        &format!(
            r#"
            host = "1999"
            duration = "60 s"
            [links.satellite]
            rate = "10 Mbit/s"
            delay = "300 ms"
            [[flows]]
            path = ["client", "satellite", "server"]
            transport = {{ kind = "tcp", {opening} }}
            [flows.traffic]
            kind = "request-response"
            request = {{ kind = "fixed", value = "300 B" }}
            reply = {{ kind = "fixed", value = "{reply} B" }}
            half_close = {half_close}
            count = 1
            "#
        ),
        1,
    );
    let found = completions(&result);
    assert_eq!((found.completed, found.failed), (1, 0));
    (result.flows[0].packets_sent, found.completion_mean_s.unwrap())
}

// HT figure 2.1b: request and reply of a segment each are three packets over T/TCP, SYN, data and FIN in one.
#[test]
fn a_half_close_with_the_request_makes_three_packets_of_an_exchange() {
    let t_tcp = "open = { kind = \"t-tcp\", known = true }";
    assert_eq!(exchange(t_tcp, 1000, true).0, 3);
    assert_eq!(exchange(t_tcp, 1000, false).0, 4);
    // SYN, SYN and ACK, request and FIN, reply and FIN, ACK; without it the client's FIN goes with its last ACK.
    assert_eq!(exchange("open = { kind = \"handshake\" }", 1000, true).0, 5);
    assert_eq!(exchange("open = { kind = \"handshake\" }", 1000, false).0, 6);
    // The time of the reply does not change.
    for reply in [1000, 100_000] {
        let [with, without] = [true, false].map(|half| exchange(t_tcp, reply, half).1);
        assert!((with - without).abs() < 0.001, "{with} and {without}");
    }
}

#[test]
fn a_browser_that_stops_asks_no_more() {
    let text = web("100 Gbit/s", 5, 5000, "").replace("pages = 2\n", "");
    let text = text.replace("path =", "stop = \"100 s\"\npath =");
    let result = run(&text, 1);
    let found = completions(&result);
    // 2.4 s of loading and 7 s of thinking: eleven pages began by 100 s, and the eleventh was complete.
    assert_eq!((found.started, found.completed), (11, 11));
    assert!((100.0..102.0).contains(&result.simulated_s), "{} s", result.simulated_s);
}

#[test]
fn response_times_are_those_of_ns2() {
    let Some(rows) = testing::shared_text("reference/ns2/short_transfers.csv") else { return };
    let (mut worst, mut outside, mut count) = (0.0f64, Vec::new(), 0);
    for row in rows.lines().skip(1) {
        let f: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let [segments, mss, rtt_ms, initial, delayed_s, expected, _, mbps] = f[..] else { panic!("{row}") };
        let delayed = match delayed_s {
            0.0 => "{ kind = \"none\" }".to_owned(),
            // ns-2's FullTcp sends delayed acknowledgments at multiples of the interval.
            s => format!("{{ kind = \"heartbeat\", period = \"{} ms\" }}", s * 1e3),
        };
        let text = format!(
            r#"
            host = "1999"
            duration = "200 s"
            [links.only]
            rate = "{mbps} Mbit/s"
            delay = "{} us"
            queue = {{ kind = "drop-tail", limit = "10000 packets" }}
            [[flows]]
            path = ["client", "only", "server"]
            [flows.transport]
            kind = "tcp"
            variant = "newreno"
            mss = "{mss} B"
            window = "1000 segments"
            initial_window = "{initial} segments"
            delayed_ack = {delayed}
            rto_initial = "3 s"
            [flows.traffic]
            kind = "request-response"
            reply = {{ kind = "fixed", value = "{} B" }}
            count = 1
            "#,
            rtt_ms * 500.0,
            segments * mss,
        );
        let took = completions(&run(&text, 1)).completion_max_s.expect("it completes");
        let apart = (took - expected).abs();
        worst = worst.max(apart / expected);
        count += 1;
        if apart > (0.02 * expected).max(0.01) {
            outside.push(format!("{row}: {took:.4} s"));
        }
    }
    println!("worst of {count} rows: {:.2} %", worst * 100.0);
    assert_eq!(count, 1056);
    assert!(
        outside.is_empty(),
        "{} of {count} rows differ: {:#?}",
        outside.len(),
        &outside[..outside.len().min(9)]
    );
}

fn poisson(arrivals: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "1000 s"
        [links.only]
        rate = "100 Mbit/s"
        delay = "5 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        path = ["a", "only", "b"]
        transport = {{ kind = "tcp", mss = "1000 B", delayed_ack = {{ kind = "none" }} }}
        traffic = {{ kind = "poisson", {arrivals}, size = {{ kind = "fixed", value = "10 kB" }} }}
        "#
    )
}

#[test]
fn transfers_arrive_as_a_poisson_process() {
    let result = run(&poisson("arrivals_per_s = 20.0"), 1);
    let found = completions(&result);
    // 20,000 with a deviation of 141; the squared coefficient of variation of the times between them is 1.
    assert!((19_577..20_424).contains(&found.started), "{} arrivals", found.started);
    let mut times: Vec<f64> =
        series(&result, "flow/flow-1", "completion_s").iter().map(|(at, _)| *at).collect();
    times.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    let squared = variance / (mean * mean);
    assert!((0.95..1.05).contains(&squared), "{squared}");
    // Two segments, four, the other four: a round trip for the handshake, two more, and half of one.
    let least = found.completion_min_s.unwrap();
    assert!((0.035..0.037).contains(&least), "{least} s");
    assert!(found.started - found.completed - found.failed < 10);
}

#[test]
fn a_load_is_a_share_of_the_link() {
    let result = run(&poisson("load = 0.2, link = \"only\""), 1);
    // 0.2 in full packets; SYN, FIN and their acknowledgment come to a hundredth of that.
    let utilisation = result.links[0].forward.utilisation;
    assert!((0.195..0.21).contains(&utilisation), "{utilisation}");
}

fn stream(traffic: &str, link: &str) -> String {
    format!(
        r#"
        host = "1999"
        duration = "20 s"
        [links.only]
        rate = "2 Mbit/s"
        delay = "10 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        {link}
        [[flows]]
        path = ["a", "only", "b"]
        stop = "10 s"
        transport = {{ kind = "udp" }}
        traffic = {{ {traffic} }}
        "#
    )
}

#[test]
fn a_constant_rate_has_the_delay_of_its_link_and_no_jitter() {
    let cbr = "kind = \"cbr\", rate = \"1 Mbit/s\", size = \"1000 B\"";
    let result = run(&stream(cbr, ""), 1);
    let found = datagrams(&result);
    // 8 ms apart for 10 s; 1028 B at 2 Mbit/s take 4.112 ms.
    assert_eq!((found.sent, found.received, found.reordered, found.loss), (1250, 1250, 0, Some(0.0)));
    for delay in [found.delay_min_s, found.delay_mean_s, found.delay_max_s] {
        assert!((delay.unwrap() - 0.014_112).abs() < 1e-9, "{delay:?}");
    }
    assert_eq!((found.jitter_s, found.jitter_mean_s), (Some(0.0), Some(0.0)));
    assert_eq!(found.bytes_delivered, 1_250_000);
    assert!((found.goodput_bps - 1e6).abs() < 1.0, "{}", found.goodput_bps);
    let lossy = run(&stream(cbr, "loss = { kind = \"packets\", probability = 0.1 }"), 1);
    let loss = datagrams(&lossy).loss.unwrap();
    assert!((0.0746..0.1254).contains(&loss), "{loss}");
    assert_eq!(datagrams(&lossy).sent - datagrams(&lossy).received, lossy.flows[0].packets_lost);
}

// Delays that are uniform over 30 ms differ by a third of that on average; at 80 ms apart none overtakes another.
#[test]
fn jitter_is_the_mean_difference_of_delays() {
    let cbr = "kind = \"cbr\", rate = \"100 kbit/s\", size = \"1000 B\"";
    let text = stream(cbr, "jitter = { kind = \"uniform\", most = \"30 ms\" }").replace("10 s", "1000 s");
    let result = run(&text.replace("20 s", "1001 s"), 1);
    let found = datagrams(&result);
    let [smooth, mean] = [found.jitter_s, found.jitter_mean_s].map(Option::unwrap);
    assert!((0.0097..0.0103).contains(&mean), "{mean} s");
    assert!((0.003..0.02).contains(&smooth), "{smooth} s");
    assert_eq!((found.reordered, found.received), (0, 12_500));
}

const TWO: &str = r#"
    host = "1999"
    duration = "300 s"
    [links.one]
    rate = "1 Mbit/s"
    delay = "20 ms"
    queue.kind = "drop-tail"
    queue.limit = "100 packets"
    between = ["user", "server"]
    [links.two]
    rate = "1 Mbit/s"
    delay = "20 ms"
    queue.kind = "drop-tail"
    queue.limit = "100 packets"
    between = ["a", "b"]
    [[flows]]
    name = "browser"
    from = "user"
    to = "server"
    traffic = { kind = "web", think = { kind = "exponential", mean = "3 s" } }
"#;

#[test]
fn draws_are_those_of_the_flow_and_the_seed_alone() {
    let pages = |text: &str, seed| series(&run(text, seed), "flow/browser", "completion_bytes");
    let alone = pages(TWO, 1);
    assert!(alone.len() > 30, "{}", alone.len());
    let on_off = "on = { kind = \"pareto\", least = \"1 s\", shape = 1.5 }, off = { kind = \"exponential\", mean = \"2 s\" }";
    let beside = format!(
        "{TWO}[[flows]]\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ kind = \"web\" }}\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n\
         traffic = {{ kind = \"on-off\", rate = \"64 kbit/s\", sources = 3, {on_off} }}\n"
    );
    assert_eq!(pages(&beside, 1), alone);
    assert_eq!(pages(TWO, 1), alone);
    assert_ne!(pages(TWO, 2), alone);
}

#[test]
fn files_of_distributions_are_drawn_from_or_told_their_mistake() {
    let text = web("100 Mbit/s", 1, 1000, "").replace(
        "reply = { kind = \"fixed\", value = \"1000 B\" }",
        "reply = { kind = \"measured\", file = \"replies.cdf\", between = \"step\" }",
    );
    let text = text.replace("pages = 2", "pages = 100");
    let files = |bytes: &[u8]| Files::from([("replies.cdf".to_owned(), Arc::from(bytes))]);
    let result = run_with(&text, &files(b"500 1 0.5\n4000 1 1\n"), 1);
    let bytes = series(&result, "flow/flow-1", "completion_bytes");
    let small = bytes.iter().filter(|(_, b)| *b == 500.0).count();
    let large = bytes.iter().filter(|(_, b)| *b == 4000.0).count();
    assert_eq!(small + large, 100);
    assert!((35..=65).contains(&small), "{small}");
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap();
    let Err(error) = Simulation::new(&loaded.scenario, &files(b"500 1 0.5\n400 1 1\n"), 1) else { panic!() };
    assert_eq!(
        error.to_string(),
        "flows.0.traffic.reply.file: replies.cdf: line 2: value 400 is not above 500, the one before; values rise"
    );
}

// RFC 8290 1.2: flows are connections. A short transfer of one packet needs one and a half round trips of 20 ms, 60 + 60 + 1040 B
// at 2 Mbit/s, and waits twice for the packet on the transmitter; one behind another's window of 100 segments would wait 416 ms.
#[test]
fn connections_of_one_flow_have_queues_of_their_own() {
    let text = |queue: &str| {
        format!(
            r#"
            duration = "600 s"
            [links.only]
            rate = "2 Mbit/s"
            delay = "10 ms"
            queue = {{ kind = "{queue}" }}
            [[flows]]
            path = ["a", "only", "b"]
            [flows.transport]
            kind = "tcp"
            mss = "1000 B"
            window = "100 segments"
            delayed_ack = {{ kind = "none" }}
            [flows.traffic]
            kind = "poisson"
            arrivals_per_s = 1.0
            size = {{ kind = "measured", file = "sizes.cdf", between = "step" }}
            "#
        )
    };
    let files = Files::from([("sizes.cdf".to_owned(), Arc::from(&b"1000 1 0.9\n1000000 1 1\n"[..]))]);
    let overtaking = |queue: &str| {
        let result = run_with(&text(queue), &files, 1);
        let took = series(&result, "flow/flow-1", "completion_s");
        let bytes = series(&result, "flow/flow-1", "completion_bytes");
        let of = |size: f64| -> Vec<(f64, f64)> {
            let all = took.iter().zip(&bytes).filter(|(_, (_, bytes))| *bytes == size);
            all.map(|((began, took), _)| (*began, began + took)).collect()
        };
        let (short, long) = (of(1e3), of(1e6));
        assert!(short.len() > 400 && long.len() > 30, "{} and {}", short.len(), long.len());
        let within = |s: &&(f64, f64)| long.iter().any(|l| l.0 + 1.0 < s.0 && s.1 < l.1);
        let mut beside: Vec<f64> = short.iter().filter(within).map(|s| s.1 - s.0).collect();
        beside.sort_by(f64::total_cmp);
        assert!(beside.len() > 100, "{} beside a long one", beside.len());
        (beside[0], beside[beside.len() * 9 / 10], beside[beside.len() - 1])
    };
    let alone = 0.03 + (40.0 + 40.0 + 1040.0) * 8.0 / 2e6;
    let fair = overtaking(
        "fq-codel\", target = \"1 s\", interval = \"10 s\", queues = 65536, limit = \"1000 packets",
    );
    // Data sent once wait for a round: two packets of each long transfer, of which there are few.
    assert!(fair.0 >= alone && fair.1 < alone + 4.0 * 0.004_16 && fair.2 < 0.1, "{fair:?}");
    let shared = overtaking("drop-tail\", limit = \"1000 packets");
    assert!(shared.1 > 0.4, "{shared:?}");
}

#[test]
fn a_browser_that_thinks_for_longer_than_the_run_is_warned_of() {
    let warnings = |duration: &str, traffic: &str| {
        let text = format!(
            "duration = \"{duration}\"\n[links.sat]\nrate = \"1 Mbit/s\"\ndelay = \"250 ms\"\n\
             [[flows]]\npath = [\"a\", \"sat\", \"b\"]\ntraffic = {{ kind = \"web\"{traffic} }}\n"
        );
        let loaded = skyhop_scenario::parse(text.as_bytes(), "web.toml", &[]).unwrap();
        loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // The mean is the distribution's own.
    let mean_s = skyhop_traffic::Mah::Think.distribution().mean();
    let [told] = &warnings("30 min", "")[..] else { panic!("one warning") };
    assert!(
        told.starts_with(&format!(
            "web.toml:7: flows.0.traffic.think: thinking takes {mean_s:.0} s in the mean"
        )),
        "{told}"
    );
    let ten_s = ", think = { kind = \"exponential\", mean = \"10 s\" }";
    assert_eq!(
        warnings("30 min", ten_s).len()
            + warnings("24 h", "").len()
            + warnings("30 min", ", pages = 1").len(),
        0
    );
    assert_eq!(warnings("49 s", ten_s).len(), 1);
}
