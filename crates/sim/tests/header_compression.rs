//! Header compression over a slow link: its savings, and the cost of a loss.
//!
//! RFC 1144: 3 bytes for a segment of a transfer one way, 5 or 6 for its acknowledgment; after a loss nothing of the connection can
//! be read until a whole header comes. TH 3.6.3. Closed forms; 64 kbit/s each way, 300 ms.
//! Leaves out SACK blocks: headers with them are not compressed.

use skyhop_results::{FlowKind, TransferResult};
use skyhop_sim::Simulation;

fn run(header_compression: bool, transport: &str, loss: f64) -> TransferResult {
    repaired(header_compression, "", transport, loss)
}

fn repaired(header_compression: bool, repair: &str, transport: &str, loss: f64) -> TransferResult {
    let loss = format!("{{ kind = \"packets\", probability = {loss:?} }}");
    repaired_with(header_compression, repair, transport, &loss)
}

fn repaired_with(header_compression: bool, repair: &str, transport: &str, loss: &str) -> TransferResult {
    let text = format!(
        r#"
        host = "1999"
        duration = "300 s"
        [links.slow]
        rate = "64 kbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "100 packets" }}
        loss = {loss}
        header_compression = {header_compression}
        {repair}
        [[flows]]
        path = ["server", "slow", "user"]
        traffic = {{ kind = "bulk" }}
        transport = {{ kind = "tcp", mss = "200 B", window = "12 kB", {transport} }}
        "#
    );
    let loaded = skyhop_scenario::parse(text.as_bytes(), "slow.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 5).unwrap();
    simulation.run_until(simulation.end());
    simulation.check_conservation().unwrap();
    let FlowKind::Transfer(transfer) = simulation.finish().flows[0].kind.clone() else { panic!() };
    println!("{header_compression} {transport} {loss}: {transfer:?}");
    transfer
}

fn kbps(transfer: &TransferResult) -> f64 {
    transfer.goodput_bps / 1e3
}

#[test]
fn a_full_link_carries_three_bytes_instead_of_forty() {
    // 200 of 240 bytes, and 200 of 203; slow start takes a few of the 300 seconds.
    let reno = "variant = \"newreno\"";
    let (whole, compressed) = (kbps(&run(false, reno, 0.0)), kbps(&run(true, reno, 0.0)));
    assert!((0.98 * 64.0 * 200.0 / 240.0..=64.0 * 200.0 / 240.0).contains(&whole), "{whole}");
    assert!((0.98 * 64.0 * 200.0 / 203.0..=64.0 * 200.0 / 203.0).contains(&compressed), "{compressed}");
    // With timestamps a segment of 188 bytes goes whole unless its clock reads as that of the one before, which holds for the second
    // of the two that an acknowledgment releases: 52 and 3 bytes in turn.
    let stamped = kbps(&run(true, "variant = \"newreno\", timestamps = true", 0.0));
    let closed = 64.0 * 188.0 / (188.0 + (52.0 + 3.0) / 2.0);
    assert!((0.97 * closed..=1.01 * closed).contains(&stamped), "{stamped}, {closed}");
}

// Without compression a loss costs a repeat; with it all later packets are discarded until the timer sends a full header, since no
// duplicate acknowledgment arrives (RFC 1144 §4.1).
#[test]
fn a_loss_silences_a_connection_until_its_timer_runs_out() {
    let reno = "variant = \"newreno\"";
    let (whole, compressed) = (run(false, reno, 0.002), run(true, reno, 0.002));
    assert!(
        whole.segments_retransmitted > 5 && whole.timeouts * 4 < whole.segments_retransmitted,
        "{whole:?}"
    );
    assert!(compressed.timeouts > 5, "{compressed:?}");
    assert!(compressed.segments_retransmitted > 10 * compressed.timeouts, "{compressed:?}");
    assert!(kbps(&compressed) < kbps(&whole), "{} and {}", kbps(&compressed), kbps(&whole));
}

// RFC 2507 §10.1: the differences of the packet after a loss, applied twice, give its header, and the loss costs a repeat.
#[test]
fn differences_applied_twice_repair_what_a_loss_breaks() {
    let reno = "variant = \"newreno\"";
    let with = |repair: &str| repaired(true, repair, reno, 0.002);
    let (plain, twice, both) =
        (with(""), with("header_twice = true"), with("header_twice = true\nheader_requests = true"));
    let whole = run(false, reno, 0.002);
    assert!(twice.timeouts * 4 < plain.timeouts, "{twice:?}");
    for (name, repaired) in [("twice", &twice), ("both", &both)] {
        // A loss costs what it costs without compression, and no more.
        assert!(kbps(repaired) > 1.1 * kbps(&plain), "{name}: {}", kbps(repaired));
        let share = kbps(repaired) / kbps(&whole);
        assert!((0.97..=1.19).contains(&share), "{name}: {share}");
    }
}

// §10.2: a request over the way back brings a whole header in a round trip, while packets wait in the queue; no timer has to run out.
#[test]
fn a_request_brings_a_whole_header_in_a_round_trip() {
    let loss = "{ kind = \"list\", packets = [1000] }\nreverse = { loss = { kind = \"none\" } }";
    let with = |repair: &str| repaired_with(true, repair, "variant = \"sack1\"", loss);
    let (plain, requests) = (with(""), with("header_requests = true"));
    assert_eq!((plain.timeouts, requests.timeouts), (1, 0));
    // 600 ms of packets of 203 bytes are 24, and a packet in service at either end; without requests all 60 of the window are lost.
    assert!((24..=28).contains(&requests.segments_retransmitted), "{requests:?}");
    assert!(plain.segments_retransmitted >= 55, "{plain:?}");
}
