//! Flows over IPv6 compared with the same over IPv4: twenty bytes more in each packet, otherwise equal.
//!
//! Follows RFC 8200 (a header of 40 bytes), RFC 8201 (path MTU discovery) and RFC 6691 (an mss is the MTU less the fixed headers).
//! Leaves out the format of packets, which `wire` and the captures of `record` test.

use crate::common;
use skyhop_results::{FlowKind, FlowResult, RunResult, TransferResult};
use std::collections::BTreeMap;

/// A path without congestion, whose keys `link` extends, and one flow.
fn run(ip: &str, link: &str, flow: &str) -> RunResult {
    let text = format!(
        r#"
        duration = "100 s"
        ip = "{ip}"
        [links.near]
        rate = "1 Gbit/s"
        delay = "5 ms"
        [links.far]
        rate = "1 Gbit/s"
        delay = "20 ms"
        {link}
        [[flows]]
        path = ["client", "near", "far", "server"]
        {flow}
        "#
    );
    common::run_by_steps(&text, 3)
}

/// Packets and bytes by link and direction.
fn carried(result: &RunResult) -> BTreeMap<String, (u64, u64)> {
    let ways = result
        .links
        .iter()
        .flat_map(|link| [(&link.name, "there", &link.forward), (&link.name, "back", &link.reverse)]);
    ways.map(|(name, way, d)| (format!("{name} {way}"), (d.packets, d.bytes))).collect()
}

fn transfer(flow: &FlowResult) -> &TransferResult {
    let FlowKind::Transfer(transfer) = &flow.kind else { panic!("not a transfer: {flow:?}") };
    transfer
}

#[test]
fn a_packet_has_twenty_bytes_more_and_all_else_is_as_over_ipv4() {
    let bulk = "traffic = { kind = \"bulk\", size = \"400 kB\" }";
    let tcp = |more: &str| format!("{bulk}\ntransport = {{ kind = \"tcp\", mss = \"1000 B\"{more} }}");
    for flow in [
        tcp(""),
        tcp(", timestamps = false, ecn = true"),
        tcp(", host = \"1999\", variant = \"reno\""),
        tcp(", open = { kind = \"fast-open\", known = true }"),
        format!("{bulk}\ntransport = {{ kind = \"stp\", format = \"plain\" }}"),
        "traffic = { kind = \"ping\", size = \"100 B\" }".to_owned(),
        "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", size = \"333 B\" }".to_owned(),
        "traffic = { kind = \"request-response\", reply = { kind = \"fixed\", value = \"50 kB\" }, count = 7 }\n\
         transport = { kind = \"tcp\", mss = \"1000 B\" }"
            .to_owned(),
    ] {
        let [four, six] = ["v4", "v6"].map(|ip| run(ip, "", &flow));
        let (before, after) = (carried(&four), carried(&six));
        assert!(before["near there"].0 > 10, "{flow}");
        for (way, (packets, bytes)) in &before {
            assert_eq!(after[way], (*packets, bytes + 20 * packets), "{flow}: {way}");
        }
        let [of_four, of_six] = [&four.flows[0], &six.flows[0]];
        assert_eq!((of_four.packets_sent, of_four.packets_lost), (of_six.packets_sent, of_six.packets_lost));
        if let FlowKind::Transfer(a) = &of_four.kind {
            let b = transfer(of_six);
            assert_eq!((a.segments_sent, a.segments_retransmitted), (b.segments_sent, b.segments_retransmitted));
            assert_eq!(a.bytes_delivered, 400_000);
            let (a, b) = (a.completed_s.expect("complete"), b.completed_s.expect("complete"));
            assert!(b >= a && b - a < 0.001, "{flow}: {a} {b}");
        }
    }
}

#[test]
fn an_mss_that_is_left_out_fills_the_same_packet() {
    let bulk = "traffic = { kind = \"bulk\", size = \"1440 kB\" }\n";
    for (transport, mss) in [
        ("", 1428),
        ("transport = { kind = \"tcp\", host = \"1999\" }", 1440),
        ("transport = { kind = \"tcp\", host = \"1999\", mss = \"1000 B\" }", 1000),
    ] {
        let result = run("v6", "mtu = \"1500 B\"", &format!("{bulk}{transport}"));
        let transfer = transfer(&result.flows[0]);
        assert_eq!(
            transfer.segments_sent,
            1_440_000_u64.div_ceil(mss) + 1,
            "{transport}: the data and a SYN"
        );
        assert_eq!(result.flows[0].packets_dropped, 0);
    }
    // A flow that names its own version, in a scenario of another.
    let own = format!("{bulk}ip = \"v4\"\ntransport = {{ kind = \"tcp\", host = \"1999\" }}");
    assert_eq!(transfer(&run("v6", "", &own).flows[0]).segments_sent, 1_440_000_u64.div_ceil(1460) + 1);
}

/// RFC 8201 §3: the first packets are too large, a router reports its MTU, and later packets have that size.
#[test]
fn a_packet_too_big_is_heard() {
    for (mtu, path_mtu) in [(1280, "icmp"), (1400, "icmp"), (1480, "icmp"), (1280, "probe"), (1400, "probe")]
    {
        let flow = format!(
            "traffic = {{ kind = \"bulk\", size = \"2 MB\" }}\n\
             transport = {{ kind = \"tcp\", host = \"1999\", path_mtu = \"{path_mtu}\", initial_window = \"4 segments\" }}"
        );
        let result = run("v6", &format!("mtu = \"{mtu} B\""), &flow);
        let (flow, transfer) = (&result.flows[0], transfer(&result.flows[0]));
        assert!(
            transfer.bytes_delivered == 2_000_000 && transfer.timeouts == 0,
            "{mtu} {path_mtu}: {transfer:?}"
        );
        let (packets, bytes) = carried(&result)["far there"];
        assert!(bytes >= 2_000_000 + 60 * (packets - 2), "{bytes} of {packets}");
        let least = 2_000_000 / (mtu - 60);
        let most = least + if path_mtu == "icmp" { 20 } else { 40 };
        assert!((least..=most).contains(&packets), "{mtu} {path_mtu}: {packets} of {least} to {most}");
        assert!((1..=10).contains(&flow.packets_dropped), "{mtu} {path_mtu}: {}", flow.packets_dropped);
    }
}

/// A router without messages: the search begins with the minimum MTU of IPv6.
#[test]
fn a_black_hole_is_left_by_1280_bytes() {
    let hole = "mtu = \"1300 B\"\nmtu_black_hole = true";
    for (path_mtu, delivered) in [("icmp", 0), ("probe", 500_000)] {
        let flow = format!(
            "traffic = {{ kind = \"bulk\", size = \"500 kB\" }}\n\
             transport = {{ kind = \"tcp\", host = \"1999\", path_mtu = \"{path_mtu}\" }}"
        );
        let result = run("v6", hole, &flow);
        assert_eq!(transfer(&result.flows[0]).bytes_delivered, delivered, "{path_mtu}");
        let (packets, _) = carried(&result)["far there"];
        let least = delivered / 1220;
        assert!((least..=least + 20).contains(&packets), "{path_mtu}: {packets}");
    }
}

#[test]
fn splices_of_either_transport_speak_the_flow_s_version() {
    for transport in ["{ kind = \"tcp\", mss = \"1000 B\" }", "{ kind = \"stp\" }"] {
        let link = format!(
            "[splices.gateway]\nat = \"near~far\"\ntransport = {transport}\ntransport_back = {{ kind = \"tcp\", mss = \"1000 B\" }}"
        );
        let flow = "traffic = { kind = \"bulk\", size = \"400 kB\" }\ntransport = { kind = \"tcp\", mss = \"1000 B\" }";
        let [four, six] = ["v4", "v6"].map(|ip| run(ip, &link, flow));
        let (before, after) = (carried(&four), carried(&six));
        for (way, (packets, bytes)) in before {
            let (packets_of_six, bytes_of_six) = after[&way];
            let more = bytes_of_six as f64 / packets_of_six as f64 - bytes as f64 / packets as f64;
            assert!((more - 20.0).abs() < 2.0, "{transport}: {way}: {more}");
        }
        assert_eq!(transfer(&six.flows[0]).bytes_delivered, 400_000);
    }
}
