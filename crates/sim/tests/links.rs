//! Links with fading, bursts of errors, jitter and reordering, under a whole transfer.
//!
//! Follows docs/scenario.md: the effect of each key of a link on pings and TCP.
//! Differs from the link crate's tests: scenarios, files and transports are real.
//! Leaves out queues, which `fairness.rs` and the link crate's tests have.

use skyhop_results::{FlowKind, PingResult, RunResult, TransferResult};
use skyhop_scenario::Loaded;
use skyhop_sim::Simulation;

fn load(link: &str, flow: &str) -> Loaded {
    let queue = if link.contains("queue =") {
        ""
    } else {
        "queue = { kind = \"drop-tail\", limit = \"100 packets\" }"
    };
    let text = format!(
        "host = \"1999\"\nduration = \"100 s\"\n[links.sat]\nrate = \"1 Mbit/s\"\ndelay = \"250 ms\"\n{queue}\n{link}\n\
         [[flows]]\nname = \"f\"\npath = [\"a\", \"sat\", \"b\"]\n{flow}\n"
    );
    skyhop_scenario::parse(text.as_bytes(), "links.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn run(loaded: &Loaded) -> RunResult {
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

const PINGS: &str = "traffic = { kind = \"ping\", interval = \"100 ms\", size = \"972 B\" }";

fn pings(link: &str) -> (PingResult, RunResult) {
    let result = run(&load(link, PINGS));
    let FlowKind::Ping(ping) = result.flows[0].kind.clone() else { panic!("not a ping") };
    (ping, result)
}

fn transfer(link: &str, transport: &str) -> TransferResult {
    let flow = format!("transport = {{ kind = \"tcp\", {transport} }}\ntraffic = {{ kind = \"bulk\" }}");
    let result = run(&load(link, &flow));
    let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!("not a transfer") };
    transfer
}

#[test]
fn a_scheduled_outage_costs_what_is_sent_in_it() {
    // 972 + 28 bytes take 8 ms, so that two pings and five answers are on their way at the end. One in 100 ms from 0 on, there
    // at 10.0 to 10.008 s and so on: 50 of them in 10 to 15 s.
    let (ping, _) = pings(
        "schedule = [{ from = \"10 s\", to = \"15 s\", outage = \"lose\" }]\nreverse = { schedule = [] }",
    );
    assert_eq!((ping.sent, ping.received, ping.answers_received), (1000, 948, 945));
    // All waiting packets arrive, the last with the delay it should have.
    let (ping, _) = pings(
        "schedule = [{ from = \"10 s\", to = \"15 s\", outage = \"wait\" }]\nreverse = { schedule = [] }",
    );
    assert_eq!(ping.received, 998);
    // The first of those that waited goes on when the link is there again.
    assert!((ping.delay_max_s.unwrap() - 5.258).abs() < 1e-9, "{:?}", ping.delay_max_s);
}

#[test]
fn a_list_loses_the_pings_and_the_answers_that_it_names() {
    let (ping, _) =
        pings("loss = { kind = \"list\", packets = [3, 5, 1000] }\nreverse = { loss = { kind = \"none\" } }");
    // Two are on their way at the end, the thousandth among them.
    assert_eq!((ping.sent, ping.received, ping.answers_received), (1000, 996, 993));
    // Both ways: the third answer is that to the fourth ping.
    let (ping, _) = pings("loss = { kind = \"list\", packets = [3] }");
    assert_eq!((ping.received, ping.answers_received), (997, 993));
}

#[test]
fn one_lost_packet_costs_a_transfer_what_the_rfcs_say() {
    let fetch = |packets: &str| {
        let link = format!(
            "loss = {{ kind = \"list\", packets = {packets} }}\nreverse = {{ loss = {{ kind = \"none\" }} }}"
        );
        let flow = "transport = { kind = \"tcp\", variant = \"sack\", mss = \"960 B\", window = \"64 segments\", \
            initial_window = \"10 segments\" }\n\
                    traffic = { kind = \"bulk\", size = \"96 kB\" }";
        let result = run(&load(&link, flow));
        let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!("not a transfer") };
        assert_eq!(transfer.bytes_delivered, 96_000);
        (transfer.completed_s.unwrap(), transfer.segments_retransmitted, transfer.timeouts)
    };
    let (clean, ..) = fetch("[]");
    // The SYN is number 1 and comes again after a second (RFC 6298 section 2.1).
    let (late, repeats, _) = fetch("[1]");
    assert!((late - clean - 1.0).abs() < 1e-9, "{late} {clean} {repeats}");
    // The first data, which carries the handshake's ACK, in an initial window of ten: one repeat, no timeout, and a window of 5, 6,
    // 7...: the other 90 take ten round trips of half a second, and not 20, 40 and 30 in three of them, and the repair one more.
    let (late, repeats, timeouts) = fetch("[2]");
    assert_eq!((repeats, timeouts), (1, 0));
    assert!((3.5..5.0).contains(&(late - clean)), "{late} {clean}");
    // The last of a hundred: no later packet reveals the loss, a timeout does.
    let (late, repeats, timeouts) = fetch("[101]");
    assert_eq!((repeats, timeouts), (1, 1));
    assert!((1.0..2.0).contains(&(late - clean)), "{late} {clean}");
}

#[test]
fn a_rate_that_changes_is_what_a_transfer_gets() {
    // 1 Mbit/s, and 250 kbit/s for 40 of 100 s: 70 % of the bits of a link that does not change.
    let link = "schedule = [{ from = \"30 s\", to = \"70 s\", rate = \"250 kbit/s\" }]";
    let transport = "variant = \"sack\", window = \"200 kB\"";
    let (steady, faded) = (transfer("", transport).goodput_bps, transfer(link, transport).goodput_bps);
    // Headers leave 973 kbit/s, and slow start takes seconds.
    assert!((0.92e6..0.973e6).contains(&steady), "{steady}");
    assert!((faded / steady - 0.7).abs() < 0.02, "{faded} of {steady}");
}

#[test]
fn a_trace_does_what_the_schedule_does_that_it_spells_out() {
    let schedule = "schedule = [{ from = \"30 s\", to = \"70 s\", rate = \"250 kbit/s\", delay = \"400 ms\", \
                    loss = { kind = \"packets\", probability = 0.01 } }]";
    let transport = "transport = { kind = \"tcp\" }\ntraffic = { kind = \"bulk\" }";
    let mut traced = load("trace = \"fade.csv\"", transport);
    let csv = b"t_s,rate_bps,delay_s,loss\n30,250e3,0.4,0.01\n70,,,\n";
    traced.files.insert("fade.csv".into(), csv.to_vec().into());
    let (traced, scheduled) = (run(&traced), run(&load(schedule, transport)));
    assert_eq!((&traced.flows, &traced.links), (&scheduled.flows, &scheduled.links));
    assert!(traced.flows[0].packets_lost > 5);
    let mut wrong = load("trace = \"fade.csv\"", transport);
    wrong.files.insert("fade.csv".into(), b"t_s,loss\n1,2\n".to_vec().into());
    let error = Simulation::new(&wrong.scenario, &wrong.files, 1).err().unwrap().to_string();
    assert_eq!(error, "links.sat.trace: fade.csv: line 2: loss: 2 is outside 0 to 1");
}

fn with_trace(flow: &str, trace: &[u8]) -> RunResult {
    let mut loaded = load("trace = \"measured\"\nreverse = { schedule = [] }", flow);
    loaded.files.insert("measured".into(), trace.to_vec().into());
    run(&loaded)
}

#[test]
fn at_a_rate_of_zero_the_link_waits_and_what_is_half_sent_goes_on() {
    let result = with_trace(PINGS, b"t_s,rate_bps\n10.004,0\n15,1e6\n");
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    // Half of the ping at 10 s, which takes 8 ms, has left; the other half goes from 15 s on. All of the 50 behind it waited, and
    // two are on their way at the end.
    assert_eq!((ping.received, result.flows[0].packets_lost), (998, 0));
    assert!((ping.delay_max_s.unwrap() - 5.254).abs() < 1e-9, "{:?}", ping.delay_max_s);
    assert_eq!(result.links[0].forward.queue_max_packets, 50, "those of 10.1 to 15.0 s");
    // Until the end of the run nothing is sent any more, and nothing is lost.
    let result = with_trace(PINGS, b"t_s,rate_bps\n10.004,0\n");
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    assert_eq!((ping.received, result.flows[0].packets_lost), (100, 0));
}

#[test]
fn a_trace_of_mahimahi_lets_a_packet_leave_at_each_opportunity() {
    // One of 1500 bytes every 12 ms. A ping every 100 ms comes 0, 4 or 8 ms after one, and leaves at the next.
    let pings = "traffic = { kind = \"ping\", interval = \"100 ms\", size = \"1472 B\" }";
    let result = with_trace(pings, b"12\n");
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    let told =
        [ping.delay_min_s, ping.delay_mean_s, ping.delay_max_s].map(|s| (s.unwrap() * 1e6).round() as u64);
    assert_eq!((told[0], told[2]), (254_000, 262_000));
    assert!(told[1].abs_diff(258_000) < 20, "{told:?}");
    // A transfer has the rate of a link of 1 Mbit/s, to the packet.
    let bulk = "transport = { kind = \"tcp\", window = \"200 kB\" }\ntraffic = { kind = \"bulk\" }";
    let sent = |result: RunResult| {
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
        transfer.bytes_delivered as f64
    };
    let (steady, traced) = (sent(run(&load("", bulk))), sent(with_trace(bulk, b"12\n24\n36\n")));
    assert!((traced / steady - 1.0).abs() < 0.005, "{traced} {steady}");
}

#[test]
fn bursts_cost_a_transfer_less_than_as_many_single_losses() {
    // Both lose 1 % of the packets; in bursts of ten packets there are ten times fewer events for TCP to back off from.
    let single =
        "loss = { kind = \"packets\", probability = 0.01 }\nreverse = { loss = { kind = \"none\" } }";
    let bursts = "loss = { kind = \"gilbert-elliott-packets\", to_bad = 0.00101, to_good = 0.1 }\n\
                  reverse = { loss = { kind = \"none\" } }";
    let sack = "variant = \"sack\"";
    let (single, bursts) = (transfer(single, sack), transfer(bursts, sack));
    assert!(
        bursts.goodput_bps > 1.5 * single.goodput_bps,
        "{} and {}",
        single.goodput_bps,
        bursts.goodput_bps
    );
    let loss = |t: &TransferResult| t.segments_retransmitted as f64 / t.segments_sent as f64;
    assert!((0.005..0.02).contains(&loss(&single)), "{}", loss(&single));
    assert!((0.002..0.04).contains(&loss(&bursts)), "{}", loss(&bursts));
}

#[test]
fn jitter_is_in_the_delays_and_reordering_in_the_repeats() {
    let (ping, _) = pings("jitter = { kind = \"exponential\", mean = \"20 ms\" }");
    let (min, mean) = (ping.delay_min_s.unwrap(), ping.delay_mean_s.unwrap());
    assert!((min - 0.258).abs() < 0.001, "{min}");
    assert!((mean - 0.278).abs() < 0.003, "{mean}");
    // Packets delayed by 60 ms are overtaken by seven: enough for three duplicates, without a loss. RACK waits.
    let late = "reordering = { probability = 0.005, delay = \"60 ms\" }\nreverse = { reordering = { probability = 0, delay = \"0 s\" } }";
    let sack = transfer(late, "variant = \"sack\", window = \"100 kB\"");
    let cubic = transfer(late, "variant = \"cubic\", window = \"100 kB\", timestamps = true, dsack = true");
    assert!(sack.segments_retransmitted >= 10, "{}", sack.segments_retransmitted);
    assert!(
        cubic.segments_retransmitted < sack.segments_retransmitted,
        "{} of {}",
        cubic.segments_retransmitted,
        sack.segments_retransmitted
    );
    assert!(cubic.goodput_bps > sack.goodput_bps, "{} and {}", cubic.goodput_bps, sack.goodput_bps);
}

#[test]
fn marks_keep_a_queue_short_without_a_repeat() {
    let red = |ecn| {
        format!(
            "queue = {{ kind = \"red\", limit = \"100 packets\", min = \"10 packets\", max = \"40 packets\", \
             weight = 0.02, gentle = true, ecn = {ecn} }}"
        )
    };
    let tcp = |ecn| {
        format!("variant = \"newreno\", window = \"200 kB\", ecn = {ecn}, initial_ssthresh = \"60 kB\"")
    };
    let (marked, dropped) = (transfer(&red(true), &tcp(true)), transfer(&red(true), &tcp(false)));
    assert_eq!((marked.segments_retransmitted, marked.timeouts), (0, 0));
    assert!(dropped.segments_retransmitted > 0);
    // A queue of 40 packets is less than the path holds, so that halving empties it.
    assert!((0.8e6..0.973e6).contains(&marked.goodput_bps), "{}", marked.goodput_bps);
    assert!(marked.goodput_bps > dropped.goodput_bps, "{}", dropped.goodput_bps);
}

#[test]
fn filtered_acknowledgments_do_not_wait_for_each_other() {
    let goodput = |filter: bool| {
        let queue =
            format!("queue = {{ kind = \"drop-tail\", limit = \"100 packets\", ack_filter = {filter} }}");
        let link = format!("reverse = {{ rate = \"16 kbit/s\", {queue} }}");
        let tcp = "transport = { kind = \"tcp\", variant = \"sack\", window = \"256 kB\" }";
        let mut loaded = load(&link, &format!("{tcp}\ntraffic = {{ kind = \"bulk\" }}"));
        loaded.scenario.links.get_mut("sat").unwrap().rate = skyhop_units::Rate::mbit(10);
        let result = run(&loaded);
        let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!("not a transfer") };
        assert_eq!((transfer.segments_retransmitted, transfer.timeouts), (0, 0));
        (transfer.goodput_bps, result.links[0].reverse)
    };
    let ((all, every), (few, last)) = (goodput(false), goodput(true));
    // Each acknowledgment takes 20 ms and stands for two segments of 1460 bytes: 1.168 Mbit/s, and some seconds to begin.
    assert!((1.12e6..1.168e6).contains(&all), "{all}");
    assert_eq!((every.packets_filtered, every.packets_dropped), (0, 0));
    // A single one waits at most for the one in transmission: 256 kB each 0.52 to 0.56 s, and some seconds to begin.
    assert!((0.95 * 256e3 * 8.0 / 0.56..256e3 * 8.0 / 0.52).contains(&few), "{few}");
    assert_eq!((last.queue_max_packets, last.packets_filtered), (1, last.packets_dropped));
}

#[test]
fn copies_and_corrupted_packets_are_counted_and_nothing_arrives_twice() {
    let text = |faults: &str| {
        format!(
            r#"
            duration = "60 s"
            [links.satellite]
            rate = "2 Mbit/s"
            delay = "100 ms"
            {faults}
            [[flows]]
            name = "download"
            path = ["server", "satellite", "user"]
            traffic = {{ kind = "bulk", size = "2 MB" }}
            [[flows]]
            name = "voice"
            path = ["user", "satellite", "server"]
            transport = {{ kind = "udp" }}
            traffic = {{ kind = "cbr", rate = "64 kbit/s", size = "160 B" }}
            [[flows]]
            name = "ping"
            path = ["user", "satellite", "server"]
            traffic = {{ kind = "ping", interval = "100 ms" }}
            [[flows]]
            name = "file"
            path = ["server", "satellite", "user"]
            transport = {{ kind = "stp" }}
            traffic = {{ kind = "bulk", size = "2 MB" }}
            "#
        )
    };
    let run = |faults: &str| {
        let loaded = skyhop_scenario::parse(text(faults).as_bytes(), "test.toml", &[]).unwrap();
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
        while simulation.step() {
            simulation.check_conservation().unwrap();
        }
        simulation.finish()
    };
    let twice = "duplication = { probability = 0.1, delay = \"5 ms\" }\ncorruption = { probability = 0.02 }";
    let result = run(twice);
    for flow in &result.flows {
        let gone = flow.packets_delivered + flow.packets_dropped + flow.packets_lost + flow.packets_in_flight;
        assert_eq!(flow.packets_sent + flow.packets_duplicated, gone, "{}", flow.name);
        let share = flow.packets_duplicated as f64 / flow.packets_sent as f64;
        assert!((0.06..0.14).contains(&share), "{}: {share}", flow.name);
        match &flow.kind {
            FlowKind::Transfer(transfer) => assert_eq!(transfer.bytes_delivered, 2_000_000),
            FlowKind::Datagrams(voice) => {
                assert!((0.012..0.03).contains(&voice.loss.unwrap()), "{voice:?}");
                assert!(voice.received < voice.sent && voice.reordered == 0, "{voice:?}");
            }
            FlowKind::Ping(ping) => {
                assert!(ping.received <= ping.sent && ping.answers_received <= ping.received, "{ping:?}")
            }
            other => panic!("{other:?}"),
        }
    }
    let link = &result.links[0].forward;
    assert!(link.packets_duplicated > 100 && link.packets_corrupted > 30, "{link:?}");
    assert_eq!(link.packets_corrupted, link.packets_lost);
    // The reverse direction may have none.
    let forward = format!("{twice}\nreverse = {{ duplication = {{ probability = 0 }} }}");
    let link = run(&forward).links[0].clone();
    assert!(link.reverse.packets_duplicated == 0 && link.reverse.packets_corrupted > 0, "{link:?}");
    let none = run("");
    assert!(none.flows.iter().all(|flow| flow.packets_duplicated == 0));
}

#[test]
fn delays_come_from_a_table_and_each_direction_has_its_own() {
    let text =
        "jitter = { kind = \"table\", file = \"delays.dist\", mean = \"10 ms\", deviation = \"4 ms\" }";
    let with = |text: &str, table: &[u8]| {
        let mut loaded = load(text, PINGS);
        loaded.files.insert("delays.dist".into(), table.to_vec().into());
        loaded
    };
    // A deviation below the mean, and two above: 6 ms, or 18 ms, beside the 258 ms of way and sending.
    let table = b"# mean 0\n -8192\n 16384 -8192\n";
    let result = run(&with(text, table));
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    assert!(
        (ping.delay_min_s.unwrap() - 0.264).abs() < 1e-9 && (ping.delay_max_s.unwrap() - 0.276).abs() < 1e-9
    );
    assert!((ping.delay_mean_s.unwrap() - 0.268).abs() < 0.000_8, "{ping:?}");
    // There and back two tables' delays; with another in reverse, its own.
    let both = ping.rtt_mean_s.unwrap();
    assert!((both - 2.0 * 0.268).abs() < 0.001_2, "{both}");
    let back = format!("{text}\nreverse = {{ jitter = {{ kind = \"uniform\", most = \"0 s\" }} }}");
    let result = run(&with(&back, table));
    let FlowKind::Ping(ping) = &result.flows[0].kind else { panic!("not a ping") };
    assert!((ping.rtt_mean_s.unwrap() - 0.268 - 0.258).abs() < 0.000_8, "{ping:?}");
    for (table, expected) in [
        (
            &b"1 2\n# 3\n4 x"[..],
            "line 3: \"x\" is no whole number; expected whole numbers, of which 8192 are a deviation",
        ),
        (b"1", "has 1 numbers; expected 2 to 65536"),
        (b"\xff", "is not text"),
    ] {
        let wrong = with(text, table);
        let error = Simulation::new(&wrong.scenario, &wrong.files, 1).err().unwrap().to_string();
        assert_eq!(error, format!("links.sat.jitter.file: delays.dist: {expected}"));
    }
}

#[test]
fn drops_by_the_length_of_the_queue_and_losses_by_size_reach_the_results() {
    let drd =
        "queue = { kind = \"drd\", limit = \"100 packets\", min = \"5 packets\", max = \"20 packets\" }";
    let transfer = "transport = { kind = \"tcp\", variant = \"newreno\", window = \"200 kB\" }\ntraffic = { kind = \"bulk\" }";
    let forward = run(&load(drd, transfer)).links[0].forward;
    // The queue holds more than 5 of 100 packets and never many beyond 20, as 19 of 20 that come then are dropped.
    assert!((6..32).contains(&forward.queue_max_packets), "{forward:?}");
    assert!(forward.packets_dropped > 5, "{forward:?}");
    // Pings of 1000 bytes one way; acknowledgments of a transfer are short.
    let sizes = "loss = { kind = \"by-size\", sizes = [{ up_to = \"100 B\", probability = 0 }, { up_to = \"1500 B\", \
        probability = 0.02 }] }";
    let result = run(&load(sizes, transfer));
    let (forward, reverse) = (result.links[0].forward, result.links[0].reverse);
    let share = forward.packets_lost as f64 / forward.packets as f64;
    assert!(
        (0.01..0.03).contains(&share) && reverse.packets_lost == 0 && reverse.packets > 500,
        "{result:?}"
    );
}
