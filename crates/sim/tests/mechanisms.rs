//! Mechanisms that HT, TH and WP describe without numbers: divided and reconstructed acknowledgments, routers that divert packets
//! when they are congested, edges that put packets back into order.
//!
//! Closed forms where there are any: rounds of slow start, what two paths carry, one path's goodput.
//! Leaves out header compression, which has a file of its own.

use crate::common;
use skyhop_results::{FlowKind, RunResult, TransferResult};

fn run(text: &str) -> RunResult {
    common::run_by_steps(text, 5)
}

fn transfer(result: &RunResult) -> TransferResult {
    let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!() };
    println!("{transfer:?}");
    transfer
}

fn completed_s(result: &RunResult) -> f64 {
    transfer(result).completed_s.expect("the transfer completes")
}

/// Time of 500 segments over 600 ms, whose sender begins with one.
fn divided(division: u32, more: &str) -> f64 {
    completed_s(&run(&format!(
        r#"
        host = "1999"
        duration = "100 s"
        [links.satellite]
        rate = "1 Gbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "10000 packets" }}
        [[flows]]
        path = ["server", "satellite", "user"]
        traffic = {{ kind = "bulk", size = "500 kB" }}
        [flows.transport]
        kind = "tcp"
        variant = "newreno"
        mss = "1000 B"
        window = "4 MB"
        initial_window = "1 segment"
        delayed_ack = {{ kind = "none" }}
        ack_division = {division}
        {more}
        "#
    )))
}

// HT 4.1.6: each acknowledgment opens the window by a segment, so that four of a segment make it five times as large in a round trip.
#[test]
fn divided_acknowledgments_open_the_window_of_a_sender_that_counts_them() {
    let (whole, four, counting) = (divided(1, ""), divided(4, ""), divided(4, "byte_counting = 1"));
    // 1 + 2 + 4 + ... reaches 500 in 9 rounds, 1 + 5 + 25 + ... in 5.
    assert!((whole - four - 4.0 * 0.6).abs() < 0.05, "{whole} and {four}");
    assert!((whole - counting).abs() < 0.05, "{whole} and, where bytes count, {counting}");
}

/// 2 MB over 10 Mbit/s and 500 ms, with 10 kbit/s back that a filter thins.
fn thinned(every: &str) -> RunResult {
    run(&format!(
        r#"
        host = "1999"
        duration = "200 s"
        [links.lan]
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = {{ kind = "drop-tail", limit = "1000 packets" }}
        [links.satellite]
        rate = "10 Mbit/s"
        delay = "250 ms"
        queue = {{ kind = "drop-tail", limit = "1000 packets" }}
        {every}
        [links.satellite.reverse]
        rate = "10 kbit/s"
        queue = {{ kind = "drop-tail", limit = "10 packets", ack_filter = true }}
        [[flows]]
        path = ["server", "lan", "satellite", "user"]
        traffic = {{ kind = "bulk", size = "2 MB" }}
        [flows.transport]
        kind = "tcp"
        variant = "newreno"
        mss = "1000 B"
        window = "500 kB"
        initial_window = "2 segments"
        "#
    ))
}

// HT 2.1.2, TH 3.6.4: a filter alone asks for senders that are adapted; behind it the missing acknowledgments are made again.
#[test]
fn reconstructed_acknowledgments_open_the_window_of_a_sender_that_counts_them() {
    let (filtered, rebuilt) = (thinned(""), thinned("ack_reconstruction = \"2000 B\""));
    let (slow, quick) = (completed_s(&filtered), completed_s(&rebuilt));
    assert!((0.4..=0.9).contains(&(quick / slow)), "{quick} of {slow} s");
    assert_eq!(transfer(&rebuilt).segments_retransmitted, 0);
}

/// Datagrams over a square of links of 1 Mbit/s: delivered, and what each way carried.
fn square(spread: &str, rate: &str) -> (f64, [u64; 2]) {
    let links: String = [("a-b", "a", "b"), ("a-c", "a", "c"), ("b-d", "b", "d"), ("c-d", "c", "d")]
        .map(|(name, from, to)| {
            format!(
                "[links.{name}]\nbetween = [\"{from}\", \"{to}\"]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n\
                 queue = {{ kind = \"drop-tail\", limit = \"50 packets\" }}\n"
            )
        })
        .concat();
    let result = run(&format!(
        "duration = \"21 s\"\n{links}[routing]\nscheme = \"multipath\"\nspread = \"{spread}\"\n\
         [[flows]]\nfrom = \"a\"\nto = \"d\"\nstop = \"20 s\"\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\", size = \"972 B\" }}\n"
    ));
    let carried = |name: &str| result.links.iter().find(|l| l.name == name).unwrap().forward.packets;
    let dropped: u64 = result.links.iter().map(|l| l.forward.packets_dropped).sum();
    let all = carried("a-b") + carried("a-c");
    println!("{spread} {rate}: {} {}, {dropped} dropped", carried("a-b"), carried("a-c"));
    (all as f64 / (all + dropped) as f64, [carried("a-b"), carried("a-c")])
}

// WP: routers divert packets, instead of dropping them, to another and less congested path.
#[test]
fn a_congested_router_diverts_what_it_would_drop() {
    let (all, ways) = square("congestion", "0.9 Mbit/s");
    assert_eq!((all, ways[1]), (1.0, 0), "one path does");
    let (all, [first, second]) = square("congestion", "1.8 Mbit/s");
    assert_eq!(all, 1.0, "nothing is dropped");
    // 1.85 Mbit/s with headers: the first path is full.
    let share = second as f64 / (first + second) as f64;
    assert!((0.44..=0.49).contains(&share), "{share}");
    let (all, [first, second]) = square("congestion", "2.9 Mbit/s");
    assert!((0.66..=0.69).contains(&all), "two of three: {all}");
    assert!(first.abs_diff(second) < first / 50, "{first} and {second}");
}

/// Goodput over a mesh of paths of 30 and 50 ms, packet by packet.
fn mesh(scheme: &str, more: &str) -> TransferResult {
    let text = include_str!("../../../scenarios/mesh.toml");
    let text = text.replace("scheme = \"multipath\"", &format!("scheme = \"{scheme}\""));
    let text = text.replace("traffic = ", &format!("{more}\ntraffic = "));
    transfer(&run(&text))
}

// WP: several paths can be compensated for by putting packets back into order at the gateways.
#[test]
fn an_edge_that_keeps_order_spares_tcp_the_disorder_of_several_paths() {
    let edge = "resequencing = \"100 ms\"";
    let (one, several, ordered) = (mesh("shortest", ""), mesh("multipath", ""), mesh("multipath", edge));
    assert!(several.segments_retransmitted > 10, "{several:?}");
    assert_eq!((ordered.segments_retransmitted, ordered.timeouts), (0, 0));
    // The one path is the first by name, and with 140 ms the slowest: packets in order mostly wait for those that took it.
    let share = ordered.goodput_bps / one.goodput_bps;
    assert!((0.98..=1.2).contains(&share), "{share}");
    assert!(
        ordered.goodput_bps > 2.0 * several.goodput_bps,
        "{} and {}",
        ordered.goodput_bps,
        several.goodput_bps
    );
}

/// 4 MB from sources behind 4 and 1 Mbit/s: pieces of each, and the time until the last.
fn fetched(sources: &[(&str, &str)]) -> (Vec<u64>, f64) {
    let mut text = String::from(
        "duration = \"100 s\"\n[links.lan]\nbetween = [\"hub\", \"client\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n",
    );
    for (name, rate) in sources {
        text += &format!(
            "[links.to-{name}]\nbetween = [\"{name}\", \"hub\"]\nrate = \"{rate}\"\ndelay = \"20 ms\"\n"
        );
    }
    for (name, _) in sources {
        text += &format!(
            "[[flows]]\nname = \"from-{name}\"\nfrom = \"client\"\nto = \"{name}\"\n\
             traffic = {{ kind = \"fetch\", file = \"film\", size = \"4 MB\", piece = \"100 kB\" }}\n"
        );
    }
    let result = run(&text);
    let pieces = result.flows.iter().map(|flow| {
        let FlowKind::Completions(all) = &flow.kind else { panic!() };
        all.completed
    });
    (pieces.collect(), result.simulated_s)
}

// TH 3.7.1: different sources provide different parts of the data; here each gives as much as it can.
#[test]
fn a_file_comes_from_several_sources_by_what_each_can_give() {
    let (one, alone) = fetched(&[("quick", "4 Mbit/s")]);
    let (pieces, together) = fetched(&[("quick", "4 Mbit/s"), ("slow", "1 Mbit/s")]);
    println!("{one:?} {alone} s, {pieces:?} {together} s");
    assert_eq!((one[0], pieces[0] + pieces[1]), (40, 40));
    // A round trip of 42 ms between pieces of 200 and 800 ms: 4.1 to 1, and four fifths of the time, give or take the last piece.
    assert!((7..=9).contains(&pieces[1]), "{pieces:?}");
    assert!((0.76..=0.9).contains(&(together / alone)), "{together} of {alone} s");
}
