//! Current transports: CUBIC, Hybla, BBR, RACK-TLP and Careful Resume over a geostationary path.
//!
//! 10 Mbit/s, RTT 600 ms, a queue of one bandwidth-delay product, 100 s. Expectations are closed forms: what a link of this rate
//! can carry, the square-root law of Reno under random losses (Mathis 1997), what BBR's draft promises of its probes.

use crate::common;
use skyhop_results::{FlowKind, TransferResult};
use skyhop_sim::Simulation;

/// Payload share of a full packet.
const SHARE: f64 = 1460.0 / 1500.0;

fn run(transport: &str, loss: f64, traffic: &str, rtt_ms: u64) -> TransferResult {
    let text = format!(
        r#"
        host = "1999"
        duration = "100 s"
        [links.satellite]
        rate = "10 Mbit/s"
        delay = "{one_way} ms"
        queue = {{ kind = "drop-tail", limit = "500 packets" }}
        loss = {{ kind = "packets", probability = {loss:?} }}
        reverse = {{ loss = {{ kind = "none" }} }}
        [[flows]]
        name = "download"
        path = ["server", "satellite", "user"]
        traffic = {{ kind = "bulk"{traffic} }}
        transport = {{ kind = "tcp", window = "6 MB", initial_window = "10 segments", {transport} }}
        "#,
        one_way = rtt_ms / 2,
    );
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "modern.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 3).unwrap();
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    let FlowKind::Transfer(transfer) = simulation.finish().flows[0].kind.clone() else { panic!() };
    println!(
        "{transport:<40} loss {loss:<6} rtt {rtt_ms:<4} {:>8.3} Mbit/s, {:>6} again, {:>3} timeouts, {:?} s",
        transfer.goodput_bps / 1e6,
        transfer.segments_retransmitted,
        transfer.timeouts,
        transfer.completed_s
    );
    transfer
}

/// Results over `links.satellite` with these keys, seed by seed.
fn over(satellite: &str, transport: &str, seeds: std::ops::RangeInclusive<u64>) -> Vec<TransferResult> {
    let text = format!(
        r#"
        duration = "100 s"
        host = "1999"
        [links.satellite]
        {satellite}
        [[flows]]
        name = "download"
        path = ["server", "satellite", "user"]
        traffic = {{ kind = "bulk" }}
        transport = {{ kind = "tcp", {transport} }}
        "#
    );
    let loaded = skyhop_scenario::parse(text.as_bytes(), "over.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    seeds
        .map(|seed| {
            let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
            simulation.run_until(simulation.end());
            let FlowKind::Transfer(t) = simulation.finish().flows[0].kind.clone() else { panic!() };
            let (again, mbps) = (t.segments_retransmitted, t.goodput_bps / 1e6);
            println!(
                "{transport}: {mbps:.3} Mbit/s, {again} of {} again, {} timeouts",
                t.segments_sent, t.timeouts
            );
            t
        })
        .collect()
}

// The paper asks for an ssthresh by packet pairs and for spaced packets: without them the first acknowledgment released 65,535
// segments into a queue of 50, and two thirds of what was sent went again, at 0.08 Mbit/s.
#[test]
fn hyblas_first_step_ends_at_the_product_and_is_spaced() {
    let satellite = "rate = \"50 Mbit/s\"\ndelay = \"280 ms\"\nqueue = { kind = \"drop-tail\", limit = \"50 packets\" }\nloss = { \
        kind = \"packets\", probability = 0.001 }\nreverse = { loss = { kind = \"none\" } }";
    for t in over(satellite, "variant = \"hybla\", window = \"16 MB\"", 1..=3) {
        assert!((5e6..=20e6).contains(&t.goodput_bps), "{}", t.goodput_bps);
        let again = t.segments_retransmitted as f64 / t.segments_sent as f64;
        assert!((0.0005..=0.02).contains(&again), "{again} of the segments again");
    }
}

// RFC 8985 6.2 waits a share of the round trip once packets come late; the retransmission timer must not run out meanwhile. It did,
// up to eight times in 100 s, where without late packets there is no timeout.
#[test]
fn the_timer_leaves_rack_its_reordering_window() {
    let satellite = "rate = \"10 Mbit/s\"\ndelay = \"300 ms\"\nqueue = { kind = \"drop-tail\", \
        limit = \"500 packets\" }\nreordering = { probability = 0.001, delay = \"20 ms\" }\nreverse = { reordering = { \
        probability = 0, delay = \"0 s\" } }";
    let all = over(satellite, "variant = \"cubic\", window = \"2 MB\", dsack = true", 1..=6);
    let timeouts: u64 = all.iter().map(|t| t.timeouts).sum();
    assert!(timeouts <= 2, "{timeouts} timeouts in six runs");
    let mean = all.iter().map(|t| t.goodput_bps).sum::<f64>() / 6e6;
    assert!((8.5..=9.5).contains(&mean), "{mean} Mbit/s");
}

fn mbps(transport: &str, loss: f64) -> f64 {
    run(transport, loss, "", 600).goodput_bps / 1e6
}

/// Capacity of the link for payload, Mbit/s.
const MOST: f64 = 10.0 * SHARE;

#[test]
fn without_losses_all_but_bbr_fill_a_geostationary_link() {
    for transport in [
        "variant = \"sack\"",
        "variant = \"cubic\"",
        "variant = \"hybla\", initial_ssthresh = \"500 segments\", pacing = true",
    ] {
        let goodput = mbps(transport, 0.0);
        assert!((0.93 * MOST..=MOST).contains(&goodput), "{transport}: {goodput} Mbit/s");
    }
    // BBR halves its window for 200 ms and a round trip every 5 s (draft 5.3.4), and takes a round to come back: three of
    // eight round trips at half the rate at worst.
    let bbr = mbps("variant = \"bbr\"", 0.0);
    assert!((0.80 * MOST..=0.95 * MOST).contains(&bbr), "{bbr} Mbit/s");
}

#[test]
fn over_a_short_path_bbr_loses_the_two_percent_of_its_draft_and_no_packet() {
    let bbr = run("variant = \"bbr\"", 0.0, "", 40);
    assert_eq!((bbr.segments_retransmitted, bbr.timeouts), (0, 0));
    let share = bbr.goodput_bps / 1e6 / MOST;
    // 0.98 (5.3.4.2), 0.99 (the pacing margin), and the rounds of less than 1.
    assert!((0.92..=0.985).contains(&share), "{share}");
    let queue = bbr.rtt_mean_s.unwrap() / 0.04;
    assert!((1.0..=2.0).contains(&queue), "a mean of {queue} round trips");
    let cubic = run("variant = \"cubic\"", 0.0, "", 40);
    assert!((0.97..=1.0).contains(&(cubic.goodput_bps / 1e6 / MOST)), "{}", cubic.goodput_bps);
    assert!(cubic.rtt_mean_s.unwrap() > 0.3, "CUBIC fills the queue of 600 ms");
}

// One packet in a hundred is lost by errors: variants that interpret losses as congestion have the square-root law's rate, a window
// of about sqrt(1.5 / p) = 12 segments per round trip, 0.24 Mbit/s (with delayed ACKs less); BBR's bound is 2 %.
#[test]
fn random_losses_stop_all_but_bbr() {
    let sack = mbps("variant = \"sack\"", 0.01);
    assert!((0.12..=0.30).contains(&sack), "{sack}");
    let rack = mbps("variant = \"sack\", recovery = \"rack\"", 0.01);
    assert!((0.12..=0.30).contains(&rack), "{rack}");
    let cubic = mbps("variant = \"cubic\"", 0.01);
    assert!((0.25..=1.0).contains(&cubic), "{cubic}");
    let hybla = mbps("variant = \"hybla\"", 0.01);
    assert!((1.5..=6.0).contains(&hybla), "{hybla}: rho is 24, and the rate would be 24 times as much");
    let bbr = mbps("variant = \"bbr\"", 0.01);
    assert!((0.75 * MOST..=0.99 * MOST).contains(&bbr), "{bbr}");
}

// RFC 9959: from ten segments a megabyte takes slow start seven round trips, with half of a remembered 750 kB the initial window's
// round trip and then the jump.
#[test]
fn a_remembered_window_saves_round_trips() {
    let time = |transport: &str| run(transport, 0.0, ", size = \"1 MB\"", 600).completed_s.unwrap();
    let plain = time("variant = \"cubic\"");
    let resumed = time("variant = \"cubic\", resume = { rtt = \"600 ms\", window = \"750 kB\" }");
    let saved = (plain - resumed) / 0.6;
    assert!((2.0..=4.0).contains(&saved), "{saved} round trips of {plain} s");
    // Handshake, initial window, the jump spread over a round trip, and its last acknowledgment.
    assert!((2.4..=3.6).contains(&resumed), "{resumed} s");
    let other_path = time("variant = \"cubic\", resume = { rtt = \"40 ms\", window = \"750 kB\" }");
    assert_eq!(other_path, plain, "an RTT ten times the saved one is another path");
}

// RFC 1644 and RFC 7413: a transfer of one segment takes two round trips with a handshake, and one without. Hosts that have not
// spoken before shake hands in any case.
#[test]
fn data_on_the_syn_saves_a_round_trip() {
    let time = |open: &str| {
        let transport = format!("variant = \"sack-newreno\", open = {open}");
        run(&transport, 0.0, ", size = \"1 kB\"", 600).completed_s.unwrap()
    };
    let plain = time("{ kind = \"handshake\" }");
    // Two round trips and the serialisation of SYN, data and their answers: less than 4 ms at 10 Mbit/s.
    assert!((1.2..=1.204).contains(&plain), "{plain}");
    for kind in ["t-tcp", "fast-open"] {
        let known = time(&format!("{{ kind = \"{kind}\", known = true }}"));
        assert!((0.6..=0.602).contains(&known), "{kind}: {known}");
        let first = time(&format!("{{ kind = \"{kind}\" }}"));
        assert!((plain - 0.0001..=plain + 0.0001).contains(&first), "{kind}: {first} and {plain}");
    }
}

// RFC 3449 §5.1.1: 50 kbit/s of return link carry 120 acknowledgments of 52 bytes a second, for 240 segments or 2.8 Mbit/s. A queue
// that marks them is heard: the receiver acknowledges more at once, and what it sends arrives. (Lost ones do little harm here,
// where the sender counts bytes and paces.)
#[test]
fn marked_acknowledgments_become_as_many_as_a_thin_return_link_carries() {
    let run = |options: &str| {
        let text = format!(
            r#"
            host = "1999"
            duration = "300 s"
            [links.satellite]
            rate = "10 Mbit/s"
            delay = "300 ms"
            queue = {{ kind = "drop-tail", limit = "500 packets" }}
            reverse.rate = "50 kbit/s"
            reverse.queue = {{ kind = "red", limit = "50 packets", min = "5 packets", max = "15 packets", ecn = true }}
            [[flows]]
            path = ["server", "satellite", "user"]
            traffic = {{ kind = "bulk" }}
            transport = {{ kind = "tcp", variant = "sack", window = "6 MB", byte_counting = 2, pacing = true,
                initial_ssthresh = "500 segments", {options} }}
            "#
        );
        let result = common::run(&text, 3);
        let FlowKind::Transfer(transfer) = result.flows[0].kind.clone() else { panic!() };
        let sent = result.flows[0].packets_sent - transfer.segments_sent;
        let dropped = result.flows[0].packets_dropped;
        println!("{options}: {:.3} Mbit/s, {dropped} of {sent} dropped", transfer.goodput_bps / 1e6);
        (transfer.goodput_bps / 1e6, sent, dropped)
    };
    let (plain, many, dropped) = run("ecn = true");
    assert!((0.90 * MOST..=MOST).contains(&plain), "{plain} Mbit/s");
    let (goodput, sent, spared) = run("ecn = true, ack_congestion = true");
    assert!((0.90 * MOST..=MOST).contains(&goodput), "{goodput} Mbit/s");
    assert!(dropped * 2 > many && spared * 5 < sent, "{dropped} of {many} dropped, {spared} of {sent}");
    assert!(sent * 2 < many && sent * 4 > many, "{sent} acknowledgments instead of {many}");
}
