//! Paths on which one link has a smaller MTU, with and without messages of routers.
//!
//! Expectations are computed from RFC 1191 (a message comes back from the router), RFC 6298 (two timeouts) and the links' rates and
//! delays. Leaves out the sender's own rules, which the transport crate's tests have.

use skyhop_results::{FlowKind, PingResult, RunResult, TransferResult};
use skyhop_scenario::Loaded;
use skyhop_sim::Simulation;

const VARIANTS: [&str; 13] = [
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

/// 1500, 1500 and 576 bytes, in this order; `tunnel` has more keys for the last.
fn load(tunnel: &str, flow: &str) -> Loaded {
    let text = format!(
        r#"
host = "1999"
duration = "600 s"
[links.lan]
rate = "10 Mbit/s"
delay = "5 ms"
mtu = "1500 B"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.satellite]
rate = "1.5 Mbit/s"
delay = "250 ms"
mtu = "1500 B"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.tunnel]
rate = "10 Mbit/s"
delay = "5 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
{tunnel}
[[flows]]
path = ["server", "lan", "satellite", "tunnel", "user"]
{flow}
"#
    );
    skyhop_scenario::parse(text.as_bytes(), "mtu.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn run(loaded: &Loaded) -> RunResult {
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    while simulation.step() {
        simulation.check_conservation().unwrap();
    }
    simulation.finish()
}

fn transfer(tunnel: &str, size: &str, transport: &str) -> (TransferResult, RunResult) {
    let flow = format!(
        "transport = {{ kind = \"tcp\", delayed_ack = {{ kind = \"none\" }}, {transport} }}\n\
         traffic = {{ kind = \"bulk\", size = \"{size}\" }}"
    );
    let result = run(&load(tunnel, &flow));
    let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!("not a transfer") };
    (transfer, result)
}

/// One-way time of a packet of this size over a link, ms.
fn ms(bytes: f64, mbit_s: f64, delay_ms: f64) -> f64 {
    bytes * 8.0 / mbit_s / 1000.0 + delay_ms
}

const NARROW: &str = "mtu = \"576 B\"";
const HOLE: &str = "mtu = \"576 B\"\nmtu_black_hole = true";

#[test]
fn a_message_costs_the_way_to_the_narrow_link_and_back() {
    // The first segment, 1112 bytes, to the router before the tunnel; 56 bytes of ICMP back.
    let there = ms(1112.0, 10.0, 5.0) + ms(1112.0, 1.5, 250.0);
    let back = ms(56.0, 1.5, 250.0) + ms(56.0, 10.0, 5.0);
    let lost_s = (there + back) / 1e3;
    assert!((lost_s - 0.517_164).abs() < 1e-6, "{lost_s}");
    for variant in VARIANTS.into_iter().filter(|v| !["vegas", "hybla", "bbr"].contains(v)) {
        let stack = |more: &str| format!("variant = \"{variant}\", initial_window = \"2144 B\", {more}");
        let (found, result) = transfer(NARROW, "1 MB", &stack("mss = \"1072 B\", path_mtu = \"icmp\""));
        let (known, _) = transfer(NARROW, "1 MB", &stack("mss = \"536 B\""));
        let late = found.completed_s.unwrap() - known.completed_s.unwrap();
        // Segments of the same size are sent upon the same acknowledgments, later by this time. Timers count from other events.
        println!("{variant}: {late:.6} s later, {lost_s:.6} s by hand");
        assert!((late - lost_s).abs() < 0.001, "{variant}: {late} {lost_s}");
        assert_eq!((found.bytes_delivered, found.timeouts), (1_000_000, 0), "{variant}");
        assert_eq!(found.segments_sent, known.segments_sent + 2, "{variant}");
        let tunnel = &result.links[2];
        assert_eq!((tunnel.name.as_str(), tunnel.forward.packets_too_large), ("tunnel", 2));
        assert_eq!((tunnel.reverse.packets_too_large, tunnel.forward.packets_dropped), (0, 2));
        assert_eq!(result.flows[0].packets_dropped, 2, "{variant}");
        assert_eq!(result.warnings, ["link tunnel: 2 packets were larger than its mtu"]);
    }
}

#[test]
fn every_variant_delivers_every_byte_over_a_narrow_link_and_out_of_a_black_hole() {
    for variant in VARIANTS {
        for (tunnel, path_mtu, timeouts) in [(NARROW, "icmp", 0), (NARROW, "probe", 0), (HOLE, "probe", 2)] {
            // A window at which the RTT does not exceed the timer, which each repeat deprives of a sample.
            let stack = format!("variant = \"{variant}\", window = \"64 kB\", path_mtu = \"{path_mtu}\"");
            let (found, result) = transfer(tunnel, "1 MB", &stack);
            let case = format!("{variant} {path_mtu} {tunnel}");
            assert_eq!((found.bytes_delivered, found.timeouts), (1_000_000, timeouts), "{case}");
            assert!(found.completed_s.is_some(), "{case}");
            let dropped = result.links[2].forward.packets_too_large;
            // In the black hole: the first flight, the repeats by the timer and RACK's probes of the tail, and three probes of each
            // of four sizes.
            let most = if tunnel == HOLE { 2 + 3 + 12 } else { 2 };
            assert!((1..=most).contains(&dropped), "{case}: {dropped}");
        }
    }
}

#[test]
fn a_black_hole_costs_two_timeouts() {
    // A kilobyte: 1040 bytes on the wire, which no message stops. RTT of the handshake: a SYN and its answer of 52
    // bytes (RFC 6298 2.2: RTO = R + 4 R/2, in steps of 10 ms), then twice that.
    let small = |bytes: f64| ms(bytes, 10.0, 5.0) + ms(bytes, 1.5, 250.0) + ms(bytes, 10.0, 5.0);
    let (found, result) = transfer(HOLE, "1000 B", "path_mtu = \"probe\"");
    let syn = found.rtt_min_s.unwrap() * 1e3;
    assert!((syn - 2.0 * small(52.0)).abs() < 0.5, "{syn}");
    let measured = (syn / 10.0).round() * 10.0;
    let rto = 3.0 * measured;
    // Then 536 bytes, their acknowledgment, 464 bytes and theirs.
    let rounds = small(576.0) + small(40.0) + small(504.0) + small(40.0);
    let expected_s = (syn + rto + 2.0 * rto + rounds) / 1e3;
    let took_s = found.completed_s.unwrap();
    println!("{took_s:.4} s, {expected_s:.4} s by hand");
    assert!((took_s - expected_s).abs() < 0.005, "{took_s} {expected_s}");
    assert_eq!((found.timeouts, result.links[2].forward.packets_too_large), (2, 2));
}

#[test]
fn who_ignores_messages_gets_nothing_through_and_is_told() {
    let (found, result) = transfer(NARROW, "1 MB", "path_mtu = \"none\"");
    assert_eq!((found.bytes_delivered, found.completed_s), (0, None));
    assert!(found.timeouts > 8, "{found:?}");
    let [warning] = &result.warnings[..] else { panic!("{:?}", result.warnings) };
    assert!(warning.ends_with(" packets were larger than its mtu"), "{warning}");
}

/// docs/stp.md §6.4: data first sent in larger packets are sent again in fragments, later ones in smaller packets.
#[test]
fn stp_crosses_a_link_narrower_than_its_first_packets() {
    for mtu in [1228, 1000, 576] {
        let fits = mtu == 1228;
        for more in ["", "mtu_black_hole = true"] {
            let tunnel = format!("mtu = \"{mtu} B\"\n{more}");
            let flow = "transport = { kind = \"stp\" }\ntraffic = { kind = \"bulk\", size = \"1 MB\" }";
            let result = run(&load(&tunnel, flow));
            let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
            println!("{mtu} {more}: {:?} s, {:?}", transfer.completed_s, result.warnings);
            assert_eq!(transfer.bytes_delivered, 1_000_000);
            assert!(transfer.completed_s.is_some_and(|at| at < 17.0), "{transfer:?}");
            let cut = result.warnings.iter().find_map(|warning| {
                warning.strip_prefix("link tunnel: ")?.strip_suffix(" packets crossed it in fragments")
            });
            let cut: u64 = cut.map_or(0, |number| number.parse().unwrap());
            assert!(if fits { cut == 0 } else { (10..700).contains(&cut) }, "{cut} in fragments");
        }
    }
}

/// docs/stp.md §6.4: a transfer that ends before the path's MTU is known crosses in fragments, without a timeout.
#[test]
fn a_small_transfer_of_stp_waits_for_no_timer_on_a_narrow_link() {
    let seconds = |mtu: u32| {
        let flow = "transport = { kind = \"stp\" }\ntraffic = { kind = \"bulk\", size = \"10 kB\" }";
        let result = run(&load(&format!("mtu = \"{mtu} B\""), flow));
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
        assert_eq!((transfer.bytes_delivered, transfer.timeouts), (10_000, 0), "{mtu}");
        transfer.completed_s.unwrap()
    };
    let wide = seconds(1500);
    for mtu in [1200, 1000, 576] {
        let narrow = seconds(mtu);
        println!("{mtu}: {narrow:.3} s for {wide:.3}");
        assert!((0.95 * wide..1.1 * wide).contains(&narrow), "{mtu}: {narrow} for {wide}");
    }
}

/// docs/stp.md §6.4: a list of many gaps that is longer than the path's MTU crosses in fragments. While none did, transfers stood still.
#[test]
fn long_answers_of_stp_cross_a_narrow_link() {
    let text = "duration = \"60 s\"\n[links.l]\nrate = \"100 Mbit/s\"\ndelay = \"17 ms\"\nmtu = \"773 B\"\n\
                queue = { kind = \"drop-tail\", limit = \"45 kB\" }\n\
                loss = { kind = \"gilbert-elliott\", good = \"630 ms\", bad = \"22 ms\" }\n\
                [[flows]]\npath = [\"server\", \"l\", \"user\"]\ntransport = { kind = \"stp\" }\n\
                traffic = { kind = \"bulk\", size = \"50 MB\" }\n";
    let loaded = skyhop_scenario::parse(text.as_bytes(), "answers.toml", &[]).unwrap();
    for seed in 1..9 {
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
        while simulation.step() {}
        let result = simulation.finish();
        let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
        println!("seed {seed}: {:?} s", transfer.completed_s);
        assert!(
            transfer.completed_s.is_some_and(|at| (4.0..15.0).contains(&at)),
            "seed {seed}: {transfer:?}"
        );
    }
}

#[test]
fn a_lost_message_is_asked_for_again_by_the_timer() {
    // The tunnel's router answers over a satellite that loses every packet on the return path for a while after the handshake.
    let hidden = "mtu = \"576 B\"\n[links.satellite.reverse]\nschedule = [{ from = \"600 ms\", to = \"1500 ms\", outage = \"lose\" }]";
    let (found, result) = transfer(hidden, "100 kB", "path_mtu = \"icmp\"");
    assert_eq!((found.bytes_delivered, found.timeouts), (100_000, 1));
    assert_eq!(result.links[2].forward.packets_too_large, 3);
}

#[test]
fn an_ends_own_link_is_known_to_it() {
    // The first link is the server's own: no larger packet is ever sent.
    let text = r#"
host = "1999"
duration = "60 s"
[links.dsl]
rate = "1 Mbit/s"
delay = "15 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
mtu = "576 B"
[links.lan]
rate = "10 Mbit/s"
delay = "5 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
mtu = "1500 B"
[[flows]]
path = ["server", "dsl", "lan", "user"]
transport = { kind = "tcp", path_mtu = "none" }
traffic = { kind = "bulk", size = "100 kB" }
"#;
    let loaded = skyhop_scenario::parse(text.as_bytes(), "mtu.toml", &[]).unwrap();
    let result = run(&loaded);
    let FlowKind::Transfer(found) = &result.flows[0].kind else { panic!("not a transfer") };
    assert_eq!((found.bytes_delivered, found.segments_retransmitted), (100_000, 0));
    // A SYN, and 187 segments of which the last carries the FIN.
    assert_eq!(found.segments_sent, 1 + 100_000u64.div_ceil(536));
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}

#[test]
fn pings_and_datagrams_that_are_too_large_never_arrive() {
    let ping = |size: u32| -> (PingResult, u64) {
        let flow = format!("stop = \"100 s\"\ntraffic = {{ kind = \"ping\", size = \"{size} B\" }}");
        let result = run(&load(NARROW, &flow));
        let FlowKind::Ping(ping) = result.flows[0].kind.clone() else { panic!("not a ping") };
        (ping, result.links[2].forward.packets_too_large)
    };
    let (fits, too_large) = ping(548);
    assert_eq!((fits.received, too_large), (fits.sent, 0));
    let (lost, too_large) = ping(549);
    assert_eq!((lost.received, too_large, lost.sent), (0, 100, 100));
    let flow = "stop = \"10 s\"\ntransport = { kind = \"udp\" }\n\
                traffic = { kind = \"cbr\", rate = \"80 kbit/s\", size = \"1000 B\" }";
    let result = run(&load(NARROW, flow));
    let FlowKind::Datagrams(datagrams) = &result.flows[0].kind else { panic!("not datagrams") };
    assert!(datagrams.sent > 80 && datagrams.received == 0, "{datagrams:?}");
    assert_eq!(result.links[2].forward.packets_too_large, datagrams.sent);
}
