//! Packets are conserved after any event of any run.
//!
//! Sent = delivered + dropped + lost + in flight, for each flow and for each link, and the two counts agree. Every run here is
//! checked after each of its events, and its results for consistency.

use crate::common;
use skyhop_results::{DirectionResult, FlowKind, RunResult};

#[test]
fn a_congested_dumbbell_with_losses_both_ways() {
    let mut text = String::from(
        r#"
        host = "1999"
        duration = "60 s"
        [links.middle]
        rate = "1 Mbit/s"
        delay = "100 ms"
        queue = { kind = "drop-tail", limit = "10 packets" }
        loss = { kind = "packets", probability = 0.002 }
        reverse = { loss = { kind = "bit-errors", bit_error_rate = 1e-6 } }
        "#,
    );
    for n in 0..4 {
        text += &format!("[links.left-{n}]\nrate = \"10 Mbit/s\"\ndelay = \"{n} ms\"\n");
        text += &format!("[links.right-{n}]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n");
    }
    for (n, variant) in ["reno", "newreno", "newreno-slow-but-steady", "sack-newreno"].into_iter().enumerate()
    {
        text += &format!("[[flows]]\npath = [\"s{n}\", \"left-{n}\", \"middle\", \"right-{n}\", \"r{n}\"]\n");
        text += "traffic = { kind = \"bulk\" }\n";
        text += &format!("transport = {{ kind = \"tcp\", variant = \"{variant}\" }}\nstart = \"{n} s\"\n");
    }
    // And a flow in the other direction.
    text += "[[flows]]\npath = [\"r0\", \"right-0\", \"middle\", \"left-0\", \"s0\"]\n";
    text += "traffic = { kind = \"bulk\" }\n";
    let result = run(&text);
    let dropped: u64 = result.flows.iter().map(|f| f.packets_dropped).sum();
    let lost: u64 = result.flows.iter().map(|f| f.packets_lost).sum();
    assert!((50..5_000).contains(&dropped) && (10..5_000).contains(&lost), "{dropped} dropped, {lost} lost");
    let middle = result.links.iter().find(|l| l.name == "middle").unwrap();
    assert_eq!(middle.forward.queue_max_packets, 9, "ten, the one being sent included");
    every_link_packet_belongs_to_a_flow(&result);
}

#[test]
fn ping_beside_a_transfer() {
    let result = run(r#"
        host = "1999"
        duration = "59.95 s"
        [links.satellite]
        rate = "1.5 Mbit/s"
        delay = "270 ms"
        queue = { kind = "drop-tail", limit = "20 packets" }
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "bulk" }
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "ping", interval = "100 ms" }
        "#);
    let FlowKind::Ping(ping) = &result.flows[1].kind else { panic!("not a ping") };
    assert_eq!(ping.sent, 600);
    assert!((500..=600).contains(&ping.received), "{} of 600 received", ping.received);
    // A full queue of 20 packets of 1500 bytes holds a ping for 160 ms.
    let longest = ping.delay_max_s.unwrap();
    assert!((0.38..=0.435).contains(&longest), "{longest} s");
    every_link_packet_belongs_to_a_flow(&result);
}

#[test]
fn flows_that_stop_leave_nothing_behind() {
    let result = run(r#"
        host = "1999"
        duration = "100 s"
        [links.satellite]
        rate = "1.5 Mbit/s"
        delay = "270 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        loss = { kind = "packets", probability = 0.02 }
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "bulk" }
        stop = "20 s"
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "ping", interval = "330 ms" }
        start = "5 s"
        stop = "15 s"
        "#);
    assert!((20.0..60.0).contains(&result.simulated_s), "over when both are: {} s", result.simulated_s);
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("not a transfer") };
    let most = 1.5e6 / 8.0 * 20.0;
    assert!((0.05 * most..most).contains(&(transfer.bytes_delivered as f64)), "{}", transfer.bytes_delivered);
    let FlowKind::Ping(ping) = &result.flows[1].kind else { panic!("not a ping") };
    assert_eq!(ping.sent, 31, "at 5 s, 5.33 s ... 14.9 s");
    assert!(result.flows.iter().all(|f| f.packets_in_flight <= 1), "{:?}", result.flows);
    assert_eq!(result.warnings, [""; 0]);
    every_link_packet_belongs_to_a_flow(&result);
}

#[test]
fn spliced_flows_with_losses_on_every_link() {
    let lossy = "loss = { kind = \"packets\", probability = 0.01 }\nqueue = { kind = \"drop-tail\", limit = \"20 packets\" }";
    let result = run(&format!(
        r#"
        host = "1999"
        duration = "60 s"
        [links.lan]
        rate = "10 Mbit/s"
        delay = "2 ms"
        {lossy}
        [links.satellite]
        rate = "1.5 Mbit/s"
        delay = "270 ms"
        {lossy}
        [links.home]
        rate = "5 Mbit/s"
        delay = "5 ms"
        {lossy}
        [splices.gateway]
        at = "lan~satellite"
        buffer = "200 kB"
        [splices.terminal]
        at = "satellite~home"
        kind = "spoof"
        buffer = "100 kB"
        flows = ["download"]
        [[flows]]
        name = "download"
        path = ["server", "lan", "satellite", "home", "user"]
        traffic = {{ kind = "bulk", size = "2 MB" }}
        [[flows]]
        name = "upload"
        path = ["user", "home", "satellite", "lan", "server"]
        traffic = {{ kind = "bulk" }}
        stop = "40 s"
        [[flows]]
        path = ["server", "lan", "satellite", "home", "user"]
        traffic = {{ kind = "ping", interval = "500 ms" }}
        "#
    ));
    let FlowKind::Transfer(download) = &result.flows[0].kind else { panic!("not a transfer") };
    assert!(download.bytes_delivered <= 2_000_000 && download.bytes_delivered > 500_000);
    let FlowKind::Transfer(upload) = &result.flows[1].kind else { panic!("not a transfer") };
    let [gateway, terminal] = &result.splices[..] else { panic!("two splices") };
    assert_eq!((gateway.connections, terminal.connections), (2, 1));
    assert!(gateway.forward_bytes >= download.bytes_delivered + upload.bytes_delivered);
    assert!((10_000..=200_000).contains(&gateway.connection_held_max_bytes));
    assert!((10_000..=100_000).contains(&terminal.connection_held_max_bytes));
    assert!(gateway.held_max_bytes <= 800_000);
    every_link_packet_belongs_to_a_flow(&result);
}

#[test]
fn a_queue_limited_in_bytes() {
    let result = run(r#"
        host = "1999"
        duration = "30 s"
        [links.satellite]
        rate = "1 Mbit/s"
        delay = "100 ms"
        queue = { kind = "drop-tail", limit = "10 kB" }
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "bulk" }
        transport = { kind = "tcp", mss = "960 B" }
        [[flows]]
        path = ["a", "satellite", "b"]
        traffic = { kind = "ping", interval = "10 ms", size = "72 B" }
        "#);
    let forward = &result.links[0].forward;
    // 10 kB are ten packets of 1000 bytes or a hundred of 100, less the one being sent.
    assert!((10..=99).contains(&forward.queue_max_packets), "{} packets waited", forward.queue_max_packets);
    assert!((5..3_000).contains(&forward.packets_dropped), "{} dropped", forward.packets_dropped);
    every_link_packet_belongs_to_a_flow(&result);
}

#[test]
fn two_hours_of_iridium_with_handovers_and_losses() {
    let result = run(r#"
        host = "1999"
        duration = "2 h"
        [constellation]
        preset = "iridium"
        isl = { rate = "1 Mbit/s", loss = { kind = "packets", probability = 0.001 } }
        gsl = { rate = "48 kbit/s", queue = { kind = "drop-tail", limit = "20 packets" }, loss = { kind = "packets", probability = 0.002 } }
        [terminals]
        new-york = { lat = "40.71 deg", lon = "-74.01 deg", antennas = 1 }
        san-francisco = { lat = "37.77 deg", lon = "-122.42 deg", antennas = 1 }
        [[flows]]
        from = "new-york"
        to = "san-francisco"
        traffic = { kind = "bulk" }
        [[flows]]
        from = "san-francisco"
        to = "new-york"
        traffic = { kind = "ping", interval = "10 s" }
        start = "1 s"
        "#);
    let [transfer, ping] = &result.flows[..] else { panic!("two flows") };
    let FlowKind::Transfer(t) = &transfer.kind else { panic!("not a transfer") };
    let most = 48e3 / 8.0 * 7200.0;
    let share = t.bytes_delivered as f64 / most;
    assert!((0.5..1.0).contains(&share), "{share:.2} of what the terminal's link could carry");
    let FlowKind::Ping(p) = &ping.kind else { panic!("not a ping") };
    assert_eq!(p.sent, 720);
    assert!((650..=720).contains(&p.answers_received), "{} answers", p.answers_received);
    assert!((10..2_000).contains(&transfer.packets_lost), "{} lost", transfer.packets_lost);
    // Both cities change satellites every ten minutes or so, and each satellite has links of its own.
    let gsls = result.links.len();
    assert!((10..300).contains(&gsls), "{gsls} links used");
}

/// Runs a scenario, with a check after each event and of the results.
fn run(text: &str) -> RunResult {
    let result = common::run_by_steps(text, 1);
    let mut in_flight = 0;
    for flow in &result.flows {
        let accounted =
            flow.packets_delivered + flow.packets_dropped + flow.packets_lost + flow.packets_in_flight;
        assert_eq!(flow.packets_sent, accounted, "{}", flow.name);
        assert!(flow.packets_sent > 0, "{} sent nothing", flow.name);
        in_flight += flow.packets_in_flight;
    }
    let directions = || result.links.iter().flat_map(|l| [l.forward, l.reverse]);
    for DirectionResult { packets, bytes, packets_lost, utilisation, .. } in directions() {
        // From a bare acknowledgment to a full segment: 1460 bytes, 40 of headers, and options.
        assert!((28 * packets..=1560 * packets).contains(&bytes), "{packets} packets of {bytes} bytes");
        assert!(packets_lost <= packets && (0.0..=1.0 + 1e-9).contains(&utilisation));
    }
    // A packet put on a wire leaves it, unless the run ends before.
    let sum = |of: fn(&DirectionResult) -> u64| directions().map(|d| of(&d)).sum::<u64>();
    let packets = sum(|d| d.packets);
    assert!(packets >= result.packet_hops && packets - result.packet_hops <= in_flight);
    // Links count a loss when the packet is sent, flows when it would have arrived.
    let (on_links, of_flows) =
        (sum(|d| d.packets_lost), result.flows.iter().map(|f| f.packets_lost).sum::<u64>());
    assert!(
        on_links >= of_flows && on_links - of_flows <= in_flight,
        "{on_links} lost on links, {of_flows} of flows"
    );
    result
}

/// Without a constellation packets are only dropped at queues.
fn every_link_packet_belongs_to_a_flow(result: &RunResult) {
    let on_links: u64 =
        result.links.iter().map(|l| l.forward.packets_dropped + l.reverse.packets_dropped).sum();
    let of_flows: u64 = result.flows.iter().map(|f| f.packets_dropped).sum();
    assert_eq!(on_links, of_flows);
}
