//! STP beside flows that fill the queue, and alone on a path whose rate returns.
//!
//! Follows docs/stp.md §8.3 rules 6 and 8; the example `stp_tails` has more queues, neighbours and phases.
//! Differs: bounds on both sides, so that a flow that takes too much fails as well.
//! Leaves out its own kind (`stp_crowd`) and queues that mark (`stp_ecn`).

use skyhop_results::{FlowKind, RunResult};
use skyhop_sim::Simulation;

fn run(text: &str, seed: u64) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "beside.toml", &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
    simulation.finish()
}

/// Bytes of a flow that were delivered by a time, s.
fn delivered(result: &RunResult, flow: &str, at: f64) -> f64 {
    let entity = format!("flow/{flow}");
    let series = result.series.iter().find(|s| s.entity == entity && s.metric == "bytes_delivered").unwrap();
    series.samples.iter().rfind(|(t, _)| t.as_secs_f64() <= at + 1e-9).map_or(0.0, |(_, value)| *value)
}

fn drop_tail(limit_b: u32) -> String {
    format!("{{ kind = \"drop-tail\", limit = \"{limit_b} B\" }}")
}

const CODEL: &str = "{ kind = \"codel\", limit = \"10000 packets\" }";

/// STP's part of what two flows have of 50 Mbit/s from 24 to 60 s, the neighbour beginning at 0 s: mean of five times from 1 s on at which
/// STP begins, since one run shows little.
fn part(neighbour: &str, queue: &str) -> f64 {
    let parts: Vec<f64> = (0..5).map(|n| part_from(1.0 + 0.13 * f64::from(n), neighbour, queue)).collect();
    println!("{neighbour}, {queue}: {parts:.3?}");
    parts.iter().sum::<f64>() / 5.0
}

/// The same if STP begins at `start` seconds.
fn part_from(start: f64, neighbour: &str, queue: &str) -> f64 {
    let text = format!(
        "duration = \"60 s\"\nrecord = {{ sample_interval = \"1 s\" }}\n[links.l]\nrate = \"50 Mbit/s\"\ndelay = \"25 ms\"\n\
         queue = {queue}\n\
         [[flows]]\nname = \"a\"\npath = [\"s\", \"l\", \"u\"]\ntraffic = {{ kind = \"bulk\" }}\n\
         transport = {{ kind = \"tcp\", variant = \"{neighbour}\" }}\n\
         [[flows]]\nname = \"b\"\nstart = \"{start} s\"\npath = [\"s\", \"l\", \"u\"]\ntraffic = {{ kind = \"bulk\" }}\n\
         transport = {{ kind = \"stp\" }}\n"
    );
    let result = run(&text, 1);
    let [a, b] = ["a", "b"].map(|flow| delivered(&result, flow, 60.0) - delivered(&result, flow, 24.0));
    b / (a + b)
}

/// Beside CUBIC through a queue of one and four products, and beside Reno. STP had 0.21, 0.23 and 0.30 when it looked after each reduction
/// whether the queue goes with it, and did not know others by the share that they take.
#[test]
fn it_keeps_a_share_beside_flows_that_fill_the_queue() {
    for (neighbour, queue_b, least, most) in
        [("cubic", 312_500, 0.27, 0.55), ("cubic", 1_250_000, 0.27, 0.55), ("reno", 312_500, 0.38, 0.65)]
    {
        let part = part(neighbour, &drop_tail(queue_b));
        println!("mean {part:.3}");
        assert!((least..most).contains(&part), "{neighbour}, {queue_b} B: {part}");
    }
}

/// Through CoDel and a queue of a tenth of a product, which lose little before they are long: beside CUBIC through CoDel STP had 0.89
/// when such losses only made its own target shorter.
#[test]
fn it_leaves_a_share_where_a_queue_is_kept_short() {
    for (neighbour, queue) in [("cubic", CODEL), ("reno", CODEL), ("cubic", &drop_tail(31_250))] {
        let part = part(neighbour, queue);
        println!("mean {part:.3}");
        assert!((0.4..0.75).contains(&part), "{neighbour}, {queue}: {part}");
    }
}

/// Goodput of flows over 50 Mbit/s and 600 ms from 28.8 to 72 s, Mbit/s, through a drop-tail queue of so many products; each flow is its
/// start, s, and its transport.
fn long_path(products: u32, flows: &[(f64, &str)], seed: u64) -> Vec<f64> {
    let mut text = format!(
        "duration = \"72 s\"\nrecord = {{ sample_interval = \"100 ms\" }}\n[links.l]\nrate = \"50 Mbit/s\"\ndelay = \"300 ms\"\n\
         queue = {}\n",
        drop_tail(products * 3_750_000)
    );
    for (n, (start, transport)) in flows.iter().enumerate() {
        text += &format!(
            "[[flows]]\nname = \"f{n}\"\nstart = \"{start} s\"\npath = [\"s\", \"l\", \"u\"]\ntraffic = {{ kind = \"bulk\" }}\n\
             transport = {transport}\n"
        );
    }
    let result = run(&text, seed);
    let of = |n| delivered(&result, &format!("f{n}"), 72.0) - delivered(&result, &format!("f{n}"), 28.8);
    (0..flows.len()).map(|n| of(n) * 8e-6 / 43.2).collect()
}

const WIDE: &str =
    "{ kind = \"tcp\", variant = \"cubic\", window = \"200 MB\", send_buffer_max = \"200 MB\" }";

/// The first of two CUBIC flows through one product kept 41.7 and 41.3 Mbit/s, and the late one 7.5 and 7.0, in two runs of the kernel on
/// the emulator (`make bench-beside`). Within a twentieth of the link; with the send buffer of a host as shipped both have some 23.
#[test]
fn two_cubic_flows_share_as_the_kernels_do() {
    let rates = long_path(1, &[(0.0, WIDE), (6.0, WIDE)], 1);
    println!("{rates:.1?}");
    assert!((rates[0] - 41.5).abs() < 2.5 && (rates[1] - 7.2).abs() < 2.5, "{rates:?}");
}

/// Beside a flow that fills the queue for longer than 30 s, its queue does not become a part of the path: STP had 4.2 Mbit/s when it did.
#[test]
fn a_long_queue_of_others_does_not_become_a_part_of_the_path() {
    let rates = long_path(4, &[(0.0, WIDE), (6.0, "{ kind = \"stp\" }")], 1);
    println!("beside CUBIC: {rates:.1?}");
    assert!((6.0..24.0).contains(&rates[1]), "{rates:?}");
}

/// Four flows that begin 1.8 s apart through one product. Where a full queue was taken for a longer path, and what it lost for the
/// channel's, one climbed to 166 Mbit/s of 50, and the others had 0.1 for 40 s.
#[test]
fn a_queue_that_is_overloaded_does_not_become_a_part_of_the_path() {
    const STP: &str = "{ kind = \"stp\" }";
    for starts in [[0.0, 2.31724, 4.11724, 5.91724], [0.0, 10.5931, 12.3931, 14.1931]] {
        let rates = long_path(1, &starts.map(|start| (start, STP)), 1);
        println!("{starts:?}: {rates:.1?}");
        assert!(rates.iter().all(|rate| (1.5..30.0).contains(rate)), "{starts:?}: {rates:?}");
    }
}

/// One flow fills the link through queues that are short or kept short, where the channel loses nothing or one in 1,000. With steps of a
/// tenth whatever the path it had 38.2 Mbit/s through a tenth of a product at 50 ms.
#[test]
fn a_flow_that_is_alone_fills_the_link_through_short_queues() {
    for (rtt_ms, limit_b) in [(50, 31_250), (600, 375_000)] {
        for queue in [drop_tail(limit_b), CODEL.to_owned()] {
            for loss in [0.0, 0.001] {
                let text = format!(
                    "duration = \"72 s\"\nrecord = {{ sample_interval = \"1 s\" }}\n[links.l]\nrate = \"50 Mbit/s\"\n\
                     delay = \"{} ms\"\nqueue = {queue}\nloss = {{ kind = \"packets\", probability = {loss} }}\n\
                     [[flows]]\nname = \"a\"\npath = [\"s\", \"l\", \"u\"]\ntraffic = {{ kind = \"bulk\" }}\n\
                     transport = {{ kind = \"stp\" }}\n",
                    rtt_ms / 2
                );
                let result = run(&text, 1);
                let mbps = (delivered(&result, "a", 72.0) - delivered(&result, "a", 24.0)) * 8e-6 / 48.0;
                println!("{rtt_ms} ms, {queue}, loss {loss}: {mbps:.1}");
                assert!((45.5..49.3).contains(&mbps), "{rtt_ms} ms, {queue}, loss {loss}: {mbps}");
            }
        }
    }
}

/// A rate of 20 Mbit/s that falls to a tenth for some 12 s and returns is used again within 6 round trips of 40 ms, and 6.5 of 600 ms. With
/// two steps before the remembered rate is tried it takes 7.5 in the first phase of 600 ms. If losses may shorten the queue's target below
/// two packets, the flow takes its own queue for another's in phases 8, 13 and 15 of 40 ms, and uses the rate after 12 or more.
#[test]
fn a_rate_that_returns_is_used_soon() {
    let phases = [
        (40, 0),
        (40, 1),
        (40, 2),
        (40, 3),
        (40, 4),
        (40, 5),
        (40, 8),
        (40, 13),
        (40, 15),
        (600, 4),
        (600, 9),
    ];
    for (rtt_ms, phase) in phases {
        let (down, up) = (8.0 + 0.17 * f64::from(phase), 20.0 + 0.47 * f64::from(phase));
        // One product.
        let limit = 2_500 * rtt_ms;
        let text = format!(
            "duration = \"30 s\"\nrecord = {{ sample_interval = \"10 ms\" }}\n[links.l]\nrate = \"20 Mbit/s\"\ndelay = \"{} ms\"\n\
             queue = {{ kind = \"drop-tail\", limit = \"{limit} B\" }}\n\
             schedule = [{{ from = \"{down} s\", to = \"{up} s\", rate = \"2 Mbit/s\" }}]\n\
             [[flows]]\nname = \"a\"\npath = [\"s\", \"l\", \"u\"]\ntraffic = {{ kind = \"bulk\" }}\n\
             transport = {{ kind = \"stp\" }}\n",
            rtt_ms / 2
        );
        let result = run(&text, 1);
        // 9/10 of the rate, of which 4 % are headers.
        let full = |from: f64| {
            let bytes = delivered(&result, "a", from + 0.2) - delivered(&result, "a", from);
            bytes * 8.0 / 0.2 >= 0.9 * 0.96 * 20e6
        };
        let begun = (0..1000).map(|n| up + 0.01 * f64::from(n)).find(|from| full(*from));
        let round_trips = (begun.unwrap_or(f64::INFINITY) - up) / (f64::from(rtt_ms) / 1e3);
        println!("{rtt_ms} ms, phase {phase}: {round_trips:.1} round trips");
        let most = if rtt_ms == 40 { 6.0 } else { 6.5 };
        assert!((0.5..=most).contains(&round_trips), "{rtt_ms} ms, phase {phase}: {round_trips}");
    }
}

/// Datagrams that nothing slows fill a path whose rate falls below theirs for 7 of 10 s. The part that is left to STP becomes smaller the
/// less it sends, and was the bound of its least rate: it sent nothing for ever at two of 20 starts, as TCP does. Since the least rate
/// falls while most is lost, the worst is 48 s (31), and 1.2 times as many packets are sent again as arrive (2.0).
#[test]
fn it_goes_on_beside_datagrams_that_the_path_does_not_carry() {
    for start in 0..20 {
        let text = format!(
            "duration = \"200 s\"\n[links.l]\nrate = \"550 kbit/s\"\ndelay = \"100 ms\"\nqueue = {}\n\
             schedule = [{{ from = \"1 s\", to = \"8 s\", rate = \"200 kbit/s\" }}]\nrepeat = \"10 s\"\n\
             reverse = {{ schedule = [] }}\n\
             [[flows]]\nname = \"datagrams\"\npath = [\"s\", \"l\", \"u\"]\ntransport = {{ kind = \"udp\" }}\n\
             traffic = {{ kind = \"cbr\", rate = \"300 kbit/s\", size = \"1000 B\" }}\n\
             [[flows]]\nname = \"a\"\nstart = \"{} s\"\npath = [\"s\", \"l\", \"u\"]\n\
             transport = {{ kind = \"stp\" }}\ntraffic = {{ kind = \"bulk\", size = \"130 kB\" }}\n",
            drop_tail(15_000),
            0.5 * f64::from(start),
        );
        let result = run(&text, 1);
        let FlowKind::Transfer(transfer) = &result.flows[1].kind else { panic!("a transfer") };
        let seconds = transfer.completed_s.expect("it completes");
        assert!((2.0..55.0).contains(&seconds), "from {} s: {seconds:.1} s", 0.5 * f64::from(start));
    }
}

/// Answers that wait all the time behind an upload. The least time on the way back, which nothing showed, grew as if clocks drifted by the
/// most that they may, 0.2 ms a second, and that seemed a queue there: 26 to 39 s for 20 s worth of data.
#[test]
fn a_way_back_that_is_never_idle_takes_no_rate() {
    for seed in 1..=4 {
        let text = format!(
            "duration = \"100 s\"\n[links.l]\nbetween = [\"s\", \"u\"]\nrate = \"50 Mbit/s\"\ndelay = \"25 ms\"\n\
             queue = {}\nloss = {{ kind = \"packets\", probability = 0.005 }}\n\
             reverse = {{ rate = \"5 Mbit/s\", queue = {}, loss = {{ kind = \"none\" }} }}\n\
             [[flows]]\nname = \"down\"\nfrom = \"s\"\nto = \"u\"\ntransport = {{ kind = \"stp\" }}\n\
             traffic = {{ kind = \"bulk\", size = \"125 MB\" }}\n\
             [[flows]]\nname = \"up\"\nfrom = \"u\"\nto = \"s\"\ntransport = {{ kind = \"stp\" }}\n\
             traffic = {{ kind = \"bulk\", size = \"60 MB\" }}\n",
            drop_tail(312_500),
            drop_tail(31_250),
        );
        let result = run(&text, seed);
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
        let seconds = transfer.completed_s.expect("it completes");
        assert!((20.1..22.0).contains(&seconds), "seed {seed}: {seconds:.1} s");
    }
}
