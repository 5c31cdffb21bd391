//! Datagrams through gateways with an association, carried in it or beside it.
//!
//! Follows docs/gateway.md, "Datagrams, QUIC and DNS": a datagram waits 500 ms at most, a standing queue is shortened, nothing is sent
//! again but what goes in the stream.
//! Differs from `gateways`, whose flows are connections.
//! Leaves out real hosts, whose daemon `crates/gateway/tests` have.

use crate::common::{between_gateways, lan};
use skyhop_results::{DatagramResult, FlowKind, RunResult};
use skyhop_sim::Simulation;

/// One-way delay of the path, s: 10, 290 and 1 ms.
const ONE_WAY_S: f64 = 0.301;
/// The time for which a datagram may wait at a gateway, s.
const LATE_S: f64 = 0.5;

/// The rates at which the two gateways send.
#[derive(Debug, Clone, Copy)]
enum Rates {
    /// They are not known.
    Learnt,
    /// Those of the link are the highest.
    Given,
    /// They send at those of the link, which are theirs.
    Promised,
}

/// The path of `gateways`: 100 Mbit/s and 20 ms, then 10 and 1 Mbit/s and 580 ms, then users with 2 ms. `udp` is a line of the
/// terminal's table, and `more` are keys of the satellite link.
fn path(duration_s: u32, rates: Rates, udp: &str, more: &str) -> String {
    let gateway = |name: &str, rate: &str, udp: &str| {
        let rate = match rates {
            Rates::Learnt => String::new(),
            Rates::Given => format!(", max_rate = \"{rate}\""),
            Rates::Promised => format!(", max_rate = \"{rate}\", congestion = \"rate\""),
        };
        format!(
            "[splices.{name}]\nat = \"{name}\"\nassociation = \"sky\"\n{udp}\n\
             transport = {{ kind = \"stp\", over = \"sealed-udp\", silence = \"60 s\"{rate} }}\n"
        )
    };
    let internet = "queue = { kind = \"drop-tail\", limit = \"2000 packets\" }";
    [
        between_gateways(duration_s, "record = { sample_interval = \"5 ms\" }", internet, more),
        gateway("hub", "10 Mbit/s", ""),
        gateway("terminal", "1 Mbit/s", udp),
        lan("ann"),
        lan("bob"),
    ]
    .concat()
}

const CARRY: &str = "udp = \"carry\"";

fn datagrams(name: &str, [from, to]: [&str; 2], rate: &str, size: u32, [start, stop]: [&str; 2]) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}\"\nstop = \"{stop}\"\n\
         transport = {{ kind = \"udp\" }}\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\", size = \"{size} B\" }}\n"
    )
}

fn bulk(name: &str, [from, to]: [&str; 2]) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic = {{ kind = \"bulk\" }}\n\
         transport = {{ kind = \"tcp\", variant = \"cubic\" }}\n"
    )
}

/// A run, with conservation of packets checked after every event.
fn run(text: &str) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 7).unwrap();
    while simulation.step() {
        simulation.check_conservation().unwrap();
    }
    simulation.finish()
}

fn of<'a>(result: &'a RunResult, name: &str) -> &'a DatagramResult {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"));
    let FlowKind::Datagrams(datagrams) = &flow.kind else { panic!("{name} has no datagrams") };
    datagrams
}

/// Times of sending, s, and one-way delays, s, of the datagrams of a flow that arrived.
fn delays(result: &RunResult, name: &str) -> Vec<(f64, f64)> {
    let entity = format!("flow/{name}");
    let series = result.series.iter().find(|one| one.entity == entity && one.metric == "delay_s").unwrap();
    series.samples.iter().map(|(at, delay)| (at.as_secs_f64(), *delay)).collect()
}

fn quantile(delays: &[(f64, f64)], part: f64) -> f64 {
    let mut sorted: Vec<f64> = delays.iter().map(|(_, delay)| *delay).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

const DOWN: [&str; 2] = ["server", "ann"];

/// A call of 64 kbit/s in 160 bytes, 50 a second, both ways, beside downloads and an upload. Delays beyond those of the path, s: of 99
/// in 100 to the user, and back.
#[test]
fn a_call_that_is_carried_does_not_wait_for_downloads() {
    let call = ["20 s", "80 s"];
    let more = [
        bulk("first", ["server", "ann"]),
        bulk("second", ["server", "bob"]),
        bulk("up", ["bob", "server"]),
        datagrams("there", DOWN, "64 kbit/s", 160, call),
        datagrams("back", ["ann", "server"], "64 kbit/s", 160, call),
    ]
    .concat();
    let waits = |rates, udp: &str| {
        let result = run(&(path(90, rates, udp, "") + &more));
        let sky = &result.associations[0];
        println!("{rates:?} {udp}: {:.3} Mbit/s of streams", sky.bytes_delivered as f64 * 8.0 / 90e6);
        ["there", "back"].map(|name| {
            let call = of(&result, name);
            let delays = delays(&result, name);
            assert_eq!(delays.len() as u64, call.received);
            let [median, high] = [0.5, 0.99].map(|part| quantile(&delays, part) - ONE_WAY_S);
            println!("    {name}: {:.1} {:.1} ms, {:?} lost", median * 1e3, high * 1e3, call.loss);
            assert_eq!((call.sent, call.dropped_late.is_some()), (3000, udp == CARRY), "{name}");
            (high, call.loss.unwrap())
        })
    };
    for rates in [Rates::Learnt, Rates::Given, Rates::Promised] {
        let [none, pass, carry] = ["", "udp = \"pass\"", CARRY].map(|udp| waits(rates, udp));
        assert_eq!(none, pass, "it passes unless told otherwise");
        let [(pass, _), (pass_back, lost_back)] = pass;
        let [(carry, loss), (carry_back, loss_back)] = carry;
        assert_eq!([loss, loss_back], [0.0; 2], "{rates:?}");
        match rates {
            // STP's own queue at the link is there for both, and its longest differs with what else is sent.
            Rates::Learnt => {
                assert!((0.04..0.3).contains(&carry) && (0.04..0.3).contains(&pass), "{carry} {pass}");
            }
            Rates::Given => assert!((0.3 * pass..0.7 * pass).contains(&carry), "{carry} {pass}"),
            // Beside it, the call is too much for the link, whose queue is full then.
            Rates::Promised => {
                assert!(carry < 0.06 && carry_back < 0.35, "{carry} {carry_back}");
                assert!(pass > 0.3 && pass_back > 2.0 && lost_back > 0.005, "{pass} {pass_back} {lost_back}");
            }
        }
    }
}

#[test]
fn losses_are_not_repaired() {
    let loss = "loss = { kind = \"packets\", probability = 0.1 }";
    let flow = datagrams("call", DOWN, "400 kbit/s", 500, ["5 s", "105 s"]);
    let result = run(&(path(120, Rates::Given, CARRY, loss) + &flow));
    let call = of(&result, "call");
    println!("{call:?}\n{:?}", result.associations);
    assert_eq!((call.sent, call.reordered), (10_000, 0));
    // An idle association begins with its initial window, from which some are late.
    assert!(call.dropped_late.unwrap() < 150, "{:?}", call.dropped_late);
    let later: Vec<_> = delays(&result, "call").into_iter().filter(|(at, _)| *at >= 10.0).collect();
    // Three standard deviations of 9,500 losses with 0.1 are 88.
    let loss = 1.0 - later.len() as f64 / 9500.0;
    assert!((0.09..0.11).contains(&loss), "{loss}");
    // None waits for a retransmission, which takes 0.6 s.
    let most = later.iter().map(|(_, delay)| *delay).fold(0.0, f64::max);
    assert!((ONE_WAY_S..ONE_WAY_S + 0.1).contains(&most), "{most}");
}

/// Datagrams that no packet has room for are in the stream, so that they are retransmitted and keep their order.
#[test]
fn what_is_too_large_for_a_packet_goes_in_the_stream_and_arrives_whole() {
    let loss = "loss = { kind = \"packets\", probability = 0.1 }";
    let flow = datagrams("large", DOWN, "480 kbit/s", 3000, ["5 s", "55 s"]);
    let result = run(&(path(120, Rates::Given, CARRY, loss) + &flow));
    let large = of(&result, "large");
    println!("{large:?}\n{:?}", result.associations);
    // The path's first packets may wait for longer than a datagram does: of 60 seeds two lose some.
    let late = large.dropped_late.unwrap();
    assert_eq!((large.sent, large.received + late, large.reordered), (1000, 1000, 0));
    assert!(late <= 10, "{late} late");
    let most = large.delay_max_s.unwrap();
    assert!((0.9..5.0).contains(&most), "a retransmission takes a round trip more: {most}");
    assert!(result.associations[0].segments_retransmitted > 50);
}

/// A burst of a thousand, 1 MB at 100 Mbit/s, over 10 Mbit/s: of the 256 KiB of the queue only those of half a second leave.
#[test]
fn of_a_burst_those_leave_that_have_not_waited_too_long() {
    let burst = datagrams("burst", DOWN, "96 Mbit/s", 1000, ["30 s", "30.0833 s"]);
    let flows = [burst, bulk("other", ["server", "bob"])].concat();
    let result = run(&(path(60, Rates::Given, CARRY, "") + &flows));
    let burst = of(&result, "burst");
    println!("{burst:?}");
    assert_eq!(burst.sent, 1000);
    let late = burst.dropped_late.unwrap();
    assert_eq!(burst.received + late, 1000, "each arrived, or was dropped in time");
    assert!((200..600).contains(&burst.received), "{}", burst.received);
    let most = burst.delay_max_s.unwrap();
    assert!((ONE_WAY_S + 0.1..ONE_WAY_S + LATE_S + 0.1).contains(&most), "{most}");
}

/// During an outage nothing leaves that was late at its end.
#[test]
fn after_an_outage_no_old_datagrams_come() {
    for outage in ["lose", "wait"] {
        let schedule = format!("schedule = [{{ from = \"30 s\", to = \"60 s\", outage = \"{outage}\" }}]");
        let calls = [
            datagrams("call", DOWN, "64 kbit/s", 160, ["10 s", "110 s"]),
            datagrams("answer", ["bob", "server"], "64 kbit/s", 160, ["10 s", "110 s"]),
        ]
        .concat();
        let result = run(&(path(130, Rates::Given, CARRY, &schedule) + &calls));
        for name in ["call", "answer"] {
            let call = of(&result, name);
            println!("{outage} {name}: {call:?}");
            assert_eq!(call.sent, 5000);
            let delays = delays(&result, name);
            if outage == "wait" {
                // Those in the link's queue of 500 packets are no longer the gateway's.
                let old = delays.iter().filter(|(_, delay)| *delay > ONE_WAY_S + LATE_S + 0.2).count();
                assert!(old <= 520, "{name}: {old}");
            } else {
                let most = delays.iter().map(|(_, delay)| *delay).fold(0.0, f64::max);
                assert!((ONE_WAY_S..ONE_WAY_S + LATE_S + 0.2).contains(&most), "{name}: {most}");
                let within = delays.iter().filter(|(at, _)| (30.0..59.4).contains(at)).count();
                assert_eq!(within, 0, "{name}");
            }
            let after = delays.iter().filter(|(at, _)| *at > 65.0).count();
            assert!((2240..=2250).contains(&after), "{outage} {name}: {after}");
        }
    }
}

#[test]
fn two_users_and_both_directions_share_an_association() {
    let all = ["5 s", "25 s"];
    let flows = [
        datagrams("ann", DOWN, "200 kbit/s", 250, all),
        datagrams("bob", ["server", "bob"], "400 kbit/s", 1000, all),
        datagrams("up", ["ann", "server"], "80 kbit/s", 200, all),
    ]
    .concat();
    let result = run(&(path(40, Rates::Given, CARRY, "") + &flows));
    for (name, sent, later) in [("ann", 2000, 1850), ("bob", 1000, 925), ("up", 1000, 925)] {
        let flow = of(&result, name);
        println!("{flow:?}");
        assert_eq!((flow.sent, flow.received + flow.dropped_late.unwrap()), (sent, sent), "{name}");
        // An idle association begins with its initial window.
        assert!(flow.dropped_late.unwrap() < 100, "{name}: {:?}", flow.dropped_late);
        let came = delays(&result, name).iter().filter(|(at, _)| *at >= 6.4999).count();
        assert!((later - 3..=later + 1).contains(&came), "{name}: {came}");
    }
    let sky = &result.associations[0];
    assert_eq!(sky.streams, 3, "one stream for each flow");
    // Preambles and answers only.
    assert!((3 * 19..200).contains(&sky.bytes_delivered), "{}", sky.bytes_delivered);
}

/// Ten sources at twice the rate of the link: CoDel keeps the queue short, as no datagram waits for 500 ms.
#[test]
fn a_standing_queue_is_shortened() {
    let flow = datagrams("much", DOWN, "20 Mbit/s", 1000, ["10 s", "60 s"]);
    let result = run(&(path(70, Rates::Given, CARRY, "") + &flow));
    let much = of(&result, "much");
    let steady: Vec<_> = delays(&result, "much").into_iter().filter(|(at, _)| *at > 40.0).collect();
    let median = quantile(&steady, 0.5);
    println!("{median} {much:?}");
    assert!((0.4..0.6).contains(&much.loss.unwrap()), "{:?}", much.loss);
    assert!((ONE_WAY_S..ONE_WAY_S + LATE_S).contains(&median), "{median}");
    assert!((0.85..0.97).contains(&(much.received as f64 * 8000.0 / 50.0 / 10e6)), "{}", much.received);
}

/// Copies and late packets on every link: each datagram counts once, and nothing is left over.
#[test]
fn copies_and_late_packets_on_any_link_are_counted_once() {
    let disturbed = "duplication = { probability = 0.2, delay = \"3 ms\" }\n\
                     reordering = { probability = 0.1, delay = \"15 ms\" }\n\
                     loss = { kind = \"packets\", probability = 0.02 }";
    let flows = [
        datagrams("small", DOWN, "320 kbit/s", 400, ["5 s", "35 s"]),
        datagrams("large", ["ann", "server"], "120 kbit/s", 3000, ["5 s", "35 s"]),
    ]
    .concat();
    let text = path(60, Rates::Given, CARRY, disturbed) + &flows;
    let text = text.replace("rate = \"100 Mbit/s\"\n", &format!("rate = \"100 Mbit/s\"\n{disturbed}\n"));
    let result = run(&text);
    for (name, sent) in [("small", 3000), ("large", 150)] {
        let flow = of(&result, name);
        println!("{flow:?}");
        assert_eq!(flow.sent, sent, "{name}");
        // Two links lose 2 in 100 of each, and the association's those of small ones.
        let loss = flow.loss.unwrap() - flow.dropped_late.unwrap() as f64 / sent as f64;
        assert!((0.005..0.09).contains(&loss), "{name}: {loss}");
    }
    assert!(of(&result, "small").reordered > 100);
}

/// The association is given up after 10 s of a silent link, and the next datagram after that opens another.
#[test]
fn a_lost_association_is_followed_by_another() {
    let schedule = "schedule = [{ from = \"20 s\", to = \"60 s\", outage = \"lose\" }]";
    let calls = [
        datagrams("call", DOWN, "64 kbit/s", 160, ["10 s", "90 s"]),
        datagrams("large", ["bob", "server"], "24 kbit/s", 3000, ["10 s", "90 s"]),
    ]
    .concat();
    let text = path(120, Rates::Given, CARRY, schedule).replace("silence = \"60 s\"", "silence = \"10 s\"");
    let result = run(&(text + &calls));
    for (name, sent, least) in [("call", 4000, 1400), ("large", 80, 26)] {
        let flow = of(&result, name);
        println!("{flow:?}");
        assert_eq!(flow.sent, sent, "{name}");
        // Half of the time there is no link; another association may take some seconds to open.
        assert!((least..sent / 2 + 8).contains(&flow.received), "{name}: {}", flow.received);
        let lost = flow.received + flow.dropped_late.unwrap() < sent;
        assert!(lost && flow.reordered == 0, "{name}");
    }
    println!("{:?}", result.associations);
    assert!(result.associations[0].streams > 2, "{}", result.associations[0].streams);
}

/// No later datagram shows that the last ones are lost.
#[test]
fn what_never_arrives_is_lost_at_the_end_and_not_in_flight() {
    let schedule = "schedule = [{ from = \"20 s\", to = \"300 s\", outage = \"lose\" }]";
    let call = datagrams("call", DOWN, "64 kbit/s", 160, ["10 s", "21 s"]);
    let result = run(&(path(120, Rates::Given, CARRY, schedule) + &call));
    let call = of(&result, "call");
    println!("{call:?}");
    assert_eq!(call.sent, 550);
    let loss = call.loss.unwrap();
    assert!((0.09..0.14).contains(&loss), "{loss}");
}
