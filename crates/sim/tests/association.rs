//! Flows that are streams of one association: together as fast as one, and small ones next to a large one.
//!
//! Follows docs/stp.md §15.10, whose numbers are of the machine alone: here applications, links and results are those of any run.
//! Differs from `stp_today`: many flows have one congestion control; packets and their counts belong to the association.
//! Leaves out the format of frames, which `skyhop-wire` and the captures of `record` test.

use crate::common;
use skyhop_network::{Capture, Inside};
use skyhop_results::{AssociationResult, Cause, CompletionsResult, FlowKind, RunResult, TransferResult};
use skyhop_sim::Simulation;
use skyhop_units::Time;
use skyhop_wire::stp::{Frame, Frames, emit, parse};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The path of docs/stp.md §11: 250 Mbit/s forward and 3 back, 600 ms, queues of one bandwidth-delay product; `more` are keys of
/// the link.
fn path(duration_s: u32, more: &str) -> String {
    format!(
        r#"
        duration = "{duration_s} s"
        [links.satellite]
        between = ["server", "user"]
        rate = "250 Mbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "18750000 B" }}
        {more}
        reverse = {{ rate = "3 Mbit/s", queue = {{ kind = "drop-tail", limit = "225000 B" }} }}
        "#
    )
}

/// A flow from the server to the user; `transport` are keys after `kind`.
fn down(name: &str, transport: &str, rest: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"user\"\ntransport = {{ kind = \"stp\"{transport} }}\n{rest}\n"
    )
}

/// A flow in the other direction.
fn up(name: &str, transport: &str, rest: &str) -> String {
    down(name, transport, rest).replacen(
        "from = \"server\"\nto = \"user\"",
        "from = \"user\"\nto = \"server\"",
        1,
    )
}

/// A run without series, checked after each event if `every`.
fn run_checked(text: &str, seed: u64, every: bool) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    if every {
        while simulation.step() {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn run(text: &str, seed: u64) -> RunResult {
    run_checked(text, seed, false)
}

fn transfer<'a>(result: &'a RunResult, name: &str) -> &'a TransferResult {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"));
    let FlowKind::Transfer(transfer) = &flow.kind else { panic!("{name} is no transfer") };
    transfer
}

fn completions<'a>(result: &'a RunResult, name: &str) -> &'a CompletionsResult {
    let flow = result.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"));
    let FlowKind::Completions(completions) = &flow.kind else { panic!("{name} has no completions") };
    completions
}

fn completed_s(result: &RunResult, name: &str) -> f64 {
    transfer(result, name).completed_s.unwrap_or_else(|| panic!("{name} is not complete"))
}

/// Completion time in seconds of the last transfer of a population or flow, all having begun at 0.
fn last_s(result: &RunResult) -> f64 {
    let of = |flow: &skyhop_results::FlowResult| match &flow.kind {
        FlowKind::Transfer(transfer) => transfer.completed_s.expect("it completes"),
        other => panic!("{} is {}", flow.name, other.name()),
    };
    result.flows.iter().map(of).fold(0.0, f64::max)
}

/// The share of repeats among an association's packets of data.
fn again(association: &AssociationResult) -> f64 {
    association.segments_retransmitted as f64 / association.segments_sent as f64
}

/// This many flows of one association share this many bytes; all begin at once.
fn crowd(flows: u64, megabytes: u64, transport: &str, more: &str, seed: u64) -> RunResult {
    let size = megabytes * 1_000_000 / flows;
    let rest = format!(
        "count = {flows}\nstart_spread = \"0 s\"\ntraffic = {{ kind = \"bulk\", size = \"{size} B\" }}"
    );
    let text = path(900, more) + &down("file", &format!(", association = \"one\"{transport}"), &rest);
    let result = run(&text, seed);
    let delivered: u64 = result
        .flows
        .iter()
        .map(|flow| match &flow.kind {
            FlowKind::Transfer(transfer) => transfer.bytes_delivered,
            _ => 0,
        })
        .sum();
    assert_eq!((result.flows.len() as u64, delivered), (flows, size * flows));
    assert_eq!(result.associations[0].bytes_delivered, delivered);
    assert_eq!(result.associations[0].streams, flows);
    result
}

#[test]
fn many_flows_of_an_association_take_no_longer_than_one() {
    let mut one = None;
    for flows in [1, 10, 100, 1000] {
        let result = crowd(flows, 100, "", "", 1);
        let [association] = &result.associations[..] else { panic!("one association") };
        let (seconds, again, back) = (last_s(&result), again(association), association.return_bytes);
        println!(
            "{flows} flows: {seconds:.3} s, {:.2} % again, {back} B back, {association:?}",
            again * 100.0
        );
        let (first_s, first_back) = *one.get_or_insert((seconds, back));
        assert!((3.86..1.3 * first_s).contains(&seconds), "{flows} flows: {seconds} s; one: {first_s} s");
        assert!(again <= 0.01, "{flows} flows: {again}");
        assert!((200..=3 * first_back).contains(&back), "{flows} flows: {back} B back; one: {first_back} B");
        assert_eq!(result.links[0].forward.bytes, association.forward_bytes);
    }
}

#[test]
fn many_flows_share_equally_and_by_weight() {
    let result = crowd(10, 20, "", "", 1);
    let times: Vec<f64> = (1..=10).map(|n| completed_s(&result, &format!("file.{n}"))).collect();
    let (first, last) = (times.iter().copied().fold(f64::MAX, f64::min), last_s(&result));
    // Ten equal ones in turn end together.
    assert!(last - first < 0.1, "{times:?}");
    // Between two endless flows, three times the weight gives three times the goodput; a lower priority gets nothing.
    let bulk = "traffic = { kind = \"bulk\" }";
    let weighty = down("heavy", ", association = \"a\", weight = 48", bulk)
        + &down("light", ", association = \"a\", weight = 16", bulk)
        + &down("late", ", association = \"a\", priority = 4", bulk);
    let result = run(&(path(20, "") + &weighty), 1);
    let bytes = |name: &str| transfer(&result, name).bytes_delivered as f64;
    let share = bytes("heavy") / bytes("light");
    assert!((2.9..3.1).contains(&share), "{share}");
    assert!(bytes("late") < 0.02 * bytes("light"), "{}", bytes("late"));
}

/// Times in seconds of requests of 2 kB, fifty per second, next to the flows `more`; sorted.
fn requests_beside(more: &str) -> Vec<f64> {
    let requests = down(
        "requests",
        ", association = \"home\"",
        "traffic = { kind = \"poisson\", arrivals_per_s = 50, size = { kind = \"fixed\", value = \"2 kB\" } }\nstart = \"4 \
            s\"\nstop = \"24 s\"",
    );
    let loaded = path(30, "") + more + &requests;
    let result = run_with_series(&loaded);
    let times = result.series.iter().find(|s| s.entity == "flow/requests" && s.metric == "completion_s");
    let mut times: Vec<f64> = times.expect("requests").samples.iter().map(|(_, s)| *s).collect();
    let all = completions(&result, "requests");
    assert!((all.started - all.completed, all.failed) == (0, 0) && times.len() > 800, "{all:?}");
    times.sort_by(f64::total_cmp);
    times
}

fn run_with_series(text: &str) -> RunResult {
    common::run(text, 1)
}

#[test]
fn requests_beside_a_large_transfer_wait_no_longer_than_a_round_trip() {
    let p99 = |times: &[f64]| times[times.len() * 99 / 100];
    // A flow that has found the path's rate before the first request.
    let before =
        down("before", ", association = \"home\"", "traffic = { kind = \"bulk\", size = \"20 MB\" }");
    let empty = requests_beside(&before);
    let bulk = "traffic = { kind = \"bulk\" }";
    let beside = requests_beside(&down("bulk", ", association = \"home\"", bulk));
    println!("empty {:.3} to {:.3} s, p99 {:.3}", empty[0], empty[empty.len() - 1], p99(&empty));
    println!("beside {:.3} to {:.3} s, p99 {:.3}", beside[0], beside[beside.len() - 1], p99(&beside));
    assert!(p99(&empty) < 0.32, "{}", p99(&empty));
    // Less than a repeat would take: they wait for the queue that the transfer keeps, and for one turn.
    assert!(p99(&beside) <= p99(&empty) + 0.2, "{} and {}", p99(&beside), p99(&empty));
}

const IMPAIRED: &str = r#"
    loss = { kind = "packets", probability = 0.01 }
    duplication = { probability = 0.02, delay = "3 ms" }
    reordering = { probability = 0.02, delay = "4 ms" }
    corruption = { probability = 0.01 }
"#;

#[test]
fn every_byte_comes_once_and_in_order_over_a_path_that_loses_copies_reorders_and_alters() {
    let named = ", association = \"one\"";
    let mut flows = String::new();
    for n in 0..12 {
        let size = [1, 700, 1428, 40_000, 1_000_000, 3_000_000][n % 6];
        let rest = format!("start = \"{} ms\"\ntraffic = {{ kind = \"bulk\", size = \"{size} B\" }}", 70 * n);
        flows += &if n % 2 == 0 {
            down(&format!("d{n}"), named, &rest)
        } else {
            up(&format!("u{n}"), named, &rest)
        };
    }
    // Pages arrive in order or not at all, and the browser waits for all bytes.
    flows += &up(
        "asks",
        named,
        "traffic = { kind = \"request-response\", request = { kind = \"fixed\", value = \"300 B\" }, reply = { kind = \"fixed\", \
            value = \"9 kB\" }, count = 5 }",
    );
    flows += &down("striped", named, "traffic = { kind = \"bulk\", size = \"100001 B\", connections = 7 }");
    for seed in 1..=4 {
        let text = path(120, IMPAIRED).replace(
            "reverse = { rate",
            &format!("reverse = {{ {}, rate", IMPAIRED.trim().replace('\n', ",")),
        );
        let result = run_checked(&(text + &flows), seed, seed == 1);
        for n in 0..12 {
            let size = [1, 700, 1428, 40_000, 1_000_000, 3_000_000][n % 6];
            let name = format!("{}{n}", if n % 2 == 0 { 'd' } else { 'u' });
            assert_eq!(transfer(&result, &name).bytes_delivered, size, "{name}, seed {seed}");
            assert!(completed_s(&result, &name) > 0.6, "{name}, seed {seed}");
        }
        assert_eq!(transfer(&result, "striped").bytes_delivered, 100_001);
        let asks = completions(&result, "asks");
        assert_eq!((asks.completed, asks.failed, asks.bytes_delivered), (5, 0, 45_000), "seed {seed}");
        let [association] = &result.associations[..] else { panic!("one association") };
        let direction = result.links[0].forward;
        assert!(association.segments_retransmitted > 20 && direction.packets_corrupted > 10);
        assert!(direction.packets_duplicated > 10);
        // Seven streams of the striped flow, and as many of the requests as they need.
        assert!((24..=29).contains(&association.streams), "{}", association.streams);
        println!("seed {seed}: {} s, {association:?}", result.simulated_s);
    }
}

#[test]
fn the_packets_of_an_association_add_up() {
    let named = ", association = \"one\"";
    let flows =
        down("a", named, "traffic = { kind = \"bulk\" }") + &up("b", named, "traffic = { kind = \"bulk\" }");
    let result = run(&(path(9, "loss = { kind = \"packets\", probability = 0.01 }") + &flows), 3);
    let [one] = &result.associations[..] else { panic!("one association") };
    let ended = one.packets_delivered + one.packets_dropped + one.packets_lost + one.packets_in_flight;
    assert_eq!(one.packets_sent, ended);
    assert!(one.packets_in_flight > 0 && one.packets_lost > 0, "{one:?}");
    let directions = || result.links.iter().flat_map(|link| [link.forward, link.reverse]);
    assert!(directions().map(|d| d.packets).sum::<u64>() <= one.packets_sent);
    for flow in &result.flows {
        // Nothing is counted twice: a flow has no packets of its own.
        assert_eq!((flow.packets_sent, flow.forward_bytes, flow.association.as_deref()), (0, 0, Some("one")));
        let limits = flow.limits.as_ref().expect("it has a stream");
        let whole = limits.total_ns() as f64 / 9e9;
        assert!((0.999..1.001).contains(&whole), "{}: {whole} of its time, {limits:?}", flow.name);
    }
}

#[test]
fn both_ends_open_streams_and_each_direction_is_filled() {
    let (bulk, named) = ("traffic = { kind = \"bulk\" }", ", association = \"one\"");
    // Independent of the flow named first, and of the flow that begins first.
    for flows in [
        down("down", named, bulk) + &up("up", named, bulk),
        up("up", named, bulk) + &down("down", named, bulk),
        down("down", named, &format!("{bulk}\nstart = \"50 ms\"")) + &up("up", named, bulk),
    ] {
        // Compared with two connections, which a loaded return path does not slow down (docs/stp.md §8.3).
        let apart = flows.replace(named, "");
        let [together, apart] = [&flows, &apart].map(|flows| {
            let result = run(&(path(30, "") + flows), 1);
            ["down", "up"].map(|name| transfer(&result, name).goodput_bps / 1e6)
        });
        println!("{together:.3?} Mbit/s down and up; as two connections {apart:.3?}");
        assert!(together[0] > 0.9 * apart[0], "{together:?} and {apart:?} Mbit/s down");
        assert!(apart[0] > 210.0 && apart[1] > 2.2, "{apart:?} Mbit/s as two connections");
        assert!(together[1] > 0.9 * apart[1] && together[1] > 2.2, "{together:?} and {apart:?} Mbit/s up");
    }
}

#[test]
fn two_associations_beside_each_other_share_the_path_whatever_they_carry() {
    let bulk = "traffic = { kind = \"bulk\" }";
    let mut flows = down("alone", ", association = \"b\"", bulk);
    for n in 0..8 {
        flows += &down(&format!("many{n}"), ", association = \"a\"", bulk);
    }
    let result = run(&(path(60, "") + &flows), 1);
    let [a, b] = &result.associations[..] else { panic!("two associations") };
    assert_eq!((a.name.as_str(), a.streams, b.name.as_str(), b.streams), ("a", 8, "b", 1));
    let rates = [a, b].map(|one| one.bytes_delivered as f64 * 8.0 / 60e6);
    println!("{rates:?} Mbit/s");
    let many: u64 = (0..8).map(|n| transfer(&result, &format!("many{n}")).bytes_delivered).sum();
    assert_eq!((many, transfer(&result, "alone").bytes_delivered), (a.bytes_delivered, b.bytes_delivered));
    assert!(rates.iter().sum::<f64>() > 200.0, "{rates:?}");
    // Eight streams are one sender: eight connections would leave the ninth a ninth.
    let share = rates[0] / rates.iter().sum::<f64>();
    assert!((0.25..0.75).contains(&share), "{share} of the path for the association of eight");
}

#[test]
fn an_association_of_one_flow_is_like_its_connection() {
    let rest = |size: &str| format!("traffic = {{ kind = \"bulk\", size = \"{size}\" }}");
    for (size, more, keys, most) in [
        ("100 MB", "", "", 1.03),
        ("10 MB", "", "", 1.03),
        ("30 kB", "", "", 1.03),
        ("100 MB", "", ", congestion = \"rate\", max_rate = \"200 Mbit/s\", initial_credit = 20000", 1.03),
        ("100 MB", "", ", saved = { rtt = \"600 ms\", rate = \"250 Mbit/s\" }", 1.03),
        ("100 MB", "", ", congestion = \"window\"", 1.06),
        ("30 MB", "mtu = \"1400 B\"", "", 1.06),
    ] {
        let own = run(&(path(900, more) + &down("file", keys, &rest(size))), 1);
        let as_stream = run(
            &(path(900, more) + &down("file", &format!("{keys}, association = \"one\""), &rest(size))),
            1,
        );
        let [own_s, stream_s] = [&own, &as_stream].map(|result| completed_s(result, "file"));
        println!("{size}{keys} {more}: {own_s:.3} s by itself, {stream_s:.3} s as a stream");
        assert!((1.0 / most..most).contains(&(stream_s / own_s)), "{size}{keys}: {own_s} and {stream_s} s");
        let limits = [&own, &as_stream].map(|result| result.flows[0].limits.clone().expect("limits"));
        let shares = |cause: Cause| limits.each_ref().map(|limits| limits.share(cause).expect("it has time"));
        for cause in Cause::ALL {
            let [own, stream] = shares(cause);
            assert!((own - stream).abs() < 0.08, "{size}{keys}, {}: {own:.3} and {stream:.3}", cause.name());
        }
    }
}

#[test]
fn streams_together_never_exceed_the_rate_of_their_association() {
    let keys = ", association = \"one\", congestion = \"rate\", max_rate = \"40 Mbit/s\"";
    let mut flows = String::new();
    for n in 0..20 {
        flows += &down(
            &format!("f{n}"),
            keys,
            &format!("start = \"{} ms\"\ntraffic = {{ kind = \"bulk\" }}", 100 * n),
        );
    }
    for (more, seed) in [("", 1), ("loss = { kind = \"packets\", probability = 0.02 }", 2)] {
        let result = run(&(path(20, more) + &flows), seed);
        let sent = result.links[0].forward.bytes as f64 * 8.0 / result.simulated_s / 1e6;
        println!("{sent:.3} Mbit/s of 40");
        assert!(sent <= 40.0 * 1.001, "{sent} Mbit/s");
        assert!(sent >= 40.0 * 0.97, "{sent} Mbit/s");
        let first = transfer(&result, "f0").bytes_delivered;
        let last = transfer(&result, "f19").bytes_delivered;
        assert!(first > last && last > 1_000_000, "{first} and {last}");
    }
}

#[test]
fn flows_start_and_stop_within_an_association() {
    let named = ", association = \"one\"";
    let flows = down("stopped", named, "stop = \"5 s\"\ntraffic = { kind = \"bulk\" }")
        + &down("later", named, "start = \"5 s\"\ntraffic = { kind = \"bulk\", size = \"100 MB\" }")
        + &down("much-later", named, "start = \"300 s\"\ntraffic = { kind = \"bulk\", size = \"10 MB\" }");
    let result = run(&(path(400, "") + &flows), 1);
    // It knows the path: no round trip to open, none to find the rate, and the other stream's data are in flight.
    let later = completed_s(&result, "later");
    assert!((3.5..4.9).contains(&later), "{later} s");
    let stopped = transfer(&result, "stopped");
    assert_eq!(stopped.completed_s, None);
    assert!((50_000_000..160_000_000).contains(&stopped.bytes_delivered), "{}", stopped.bytes_delivered);
    let much_later = completed_s(&result, "much-later");
    assert!((0.9..3.0).contains(&much_later), "{much_later} s");
    assert!(result.simulated_s < 310.0, "the run ends with the last flow: {} s", result.simulated_s);
    assert_eq!((result.associations[0].streams, result.associations[0].streams_max), (3, 2));
}

#[test]
fn more_streams_than_the_peer_takes_wait_for_their_numbers() {
    // Sixteen before the first announcement, 4096 from then on.
    let rest = "count = 6000\nstart_spread = \"0 s\"\ntraffic = { kind = \"bulk\", size = \"10 kB\" }";
    let result = run(&(path(60, "") + &down("file", ", association = \"one\"", rest)), 1);
    let [one] = &result.associations[..] else { panic!("one association") };
    assert_eq!((one.streams, one.streams_max, one.bytes_delivered), (6000, 4096, 60_000_000));
    let limits = result.flows[5999].limits.as_ref().expect("it has a stream");
    assert!(limits.share(Cause::ReceiveWindow) > Some(0.2), "{limits:?}");
}

#[test]
fn a_link_that_goes_out_for_good_breaks_every_flow_of_the_association() {
    let flows = down("a", ", association = \"one\", silence = \"20 s\"", "traffic = { kind = \"bulk\" }")
        + &down(
            "b",
            ", association = \"one\", silence = \"20 s\"",
            "start = \"3 s\"\ntraffic = { kind = \"bulk\" }",
        )
        + &down(
            "c",
            ", association = \"one\", silence = \"20 s\"",
            "start = \"90 s\"\ntraffic = { kind = \"bulk\", size = \"1 MB\" }",
        );
    let out = "schedule = [{ from = \"8 s\", to = \"70 s\", outage = \"lose\" }]";
    let result = run(&(path(200, out) + &flows), 1);
    let warned = |name: &str| {
        result.warnings.iter().any(|warning| warning.contains(&format!("flow {name} was reset")))
    };
    assert!(warned("a") && warned("b") && !warned("c"), "{:?}", result.warnings);
    // A stream that begins after that begins another association.
    assert!(completed_s(&result, "c") < 3.0);
    assert_eq!(result.associations[0].streams, 3);
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let named = ", association = \"one\"";
    let flows = down("a", named, "count = 30\ntraffic = { kind = \"bulk\", size = \"1 MB\" }")
        + &up(
            "b",
            named,
            "traffic = { kind = \"poisson\", arrivals_per_s = 20, size = { kind = \"pareto\", least = \"1 kB\", shape = 1.2, \
                most = \"1 MB\" } }",
        );
    let text = path(20, IMPAIRED) + &flows;
    let [one, two, other] = [1, 1, 2].map(|seed| format!("{:?}", run(&text, seed)));
    assert!(one == two, "two runs of one seed differ");
    assert!(one != other, "another seed changes nothing");
}

/// Bytes of a stream's direction in packets, by offset: length, and whether the direction ends there.
type Pieces = BTreeMap<(u64, bool), BTreeMap<u64, u64>>;

/// Parses the captured bytes.
struct Tap(Arc<Mutex<(Pieces, u64)>>);

impl Capture for Tap {
    fn packet(&mut self, interface: u32, _: Time, packet: &skyhop_wire::Packet, inside: Option<&Inside>) {
        let Some(Inside::Association(inside)) = inside else { panic!("{packet:?} is no association's") };
        let mut bytes = Vec::new();
        emit(inside, &mut bytes);
        assert_eq!((bytes.len(), packet.payload_len as usize), (inside.wire_len(), inside.wire_len()));
        let read = parse(&bytes).unwrap_or_else(|e| panic!("{e}: {inside:?}"));
        let mut seen = self.0.lock().unwrap();
        seen.1 += 1;
        let Some(data) = read.data else { return };
        for frame in Frames::parse(data).unwrap_or_else(|e| panic!("{e}: {inside:?}")).0 {
            if let Frame::Stream { id, offset, data: Some(data), .. } = frame {
                assert!(data.iter().all(|byte| *byte == 0));
                let pieces = seen.0.entry((id, interface == 1)).or_default();
                let longest = pieces.entry(offset).or_default();
                *longest = (*longest).max(data.len() as u64);
            }
        }
    }
}

#[test]
fn packets_of_an_association_are_captured_as_they_are() {
    let named = ", association = \"one\"";
    let flows = down("a", named, "traffic = { kind = \"bulk\", size = \"300 kB\" }")
        + &down("b", named, "traffic = { kind = \"bulk\", size = \"20 kB\" }")
        + &up("c", named, "start = \"1 s\"\ntraffic = { kind = \"bulk\", size = \"50 kB\" }");
    let text = path(60, IMPAIRED) + &flows + "[record]\npcap = [\"satellite\"]\n";
    let loaded = skyhop_scenario::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
    let seen = Arc::new(Mutex::new((Pieces::new(), 0)));
    simulation.set_capture(Box::new(Tap(seen.clone())));
    simulation.run_until(simulation.end());
    let result = simulation.finish();
    let (pieces, packets) = &*seen.lock().unwrap();
    // All packets put on the wire; copies are made after it.
    let on_wires = result.links[0].forward.packets + result.links[0].reverse.packets;
    assert_eq!(*packets, on_wires);
    let mut whole: Vec<u64> = Vec::new();
    for pieces in pieces.values() {
        let end = pieces.iter().fold(0, |end, (offset, len)| {
            assert!(*offset <= end, "a hole before {offset}");
            end.max(offset + len)
        });
        whole.push(end);
    }
    assert_eq!(
        whole,
        [300_000, 50_000, 20_000],
        "streams 0 and 2 of the server's, 1 of the user's: {pieces:?}"
    );
}
