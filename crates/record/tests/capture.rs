//! Captures of whole runs, checked by the programs with which people read captures.
//!
//! The sender's access link is captured, where every packet passes before it can be lost: tshark and tcptrace must count the
//! retransmissions that the summary counts, and report no errors. Tests are skipped where those programs are missing.
//! Differs from `pcapng.rs`, which tests the file format: this tests the headers that the simulator writes.
//! Leaves out constellations, whose packets are built by the same code.

use crate::common::Scratch;
use skyhop_record::{RunOptions, run_scenario};
use skyhop_results::{FlowKind, PingResult, TransferResult};
use skyhop_scenario::parse;
use skyhop_wire::aal5::{Reassembler, cells_of_packet, segment};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const VARIANTS: [&str; 3] = ["reno", "newreno", "sack-newreno"];

/// A queue that overflows, alone and with losses in both directions, some of which cause timeouts.
const LOSSES: [f64; 2] = [0.0, 0.02];

#[test]
fn tshark_counts_the_repeats_and_finds_nothing_wrong() {
    for &Case { ref case, variant, loss, ref transfer, ref packets } in seen() {
        assert!(packets.len() > 3000, "{case}: {} packets", packets.len());
        for packet in packets {
            assert_eq!(
                ["_ws.malformed", "ip.checksum.status", "tcp.checksum.status"].map(|f| &packet[f][..]),
                ["", GOOD, GOOD],
                "{case}: {packet:?}"
            );
        }
        let sent: Vec<&Fields> = packets.iter().filter(|p| forward(p) && counts_as_segment(p)).collect();
        assert_eq!(sent.len() as u64, transfer.segments_sent, "{case}");

        // tshark calls a repeat a retransmission; fast and spurious ones bear that name too, so those flags add nothing.
        // Older tsharks call it out of order if it comes within the handshake's RTT of the newest data, as SACK's
        // repeats do; ours is spared that because it remembers unacknowledged segments, ten thousand of them. On the
        // link where the sender sends, nothing but a repeat can be out of order, so either name means one.
        let named = |p: &&&Fields| {
            !p["tcp.analysis.retransmission"].is_empty() || !p["tcp.analysis.out_of_order"].is_empty()
        };
        let retransmissions = sent.iter().filter(named).count() as u64;
        assert_eq!(retransmissions, transfer.segments_retransmitted, "{case}");
        for flag in ["tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission"] {
            let alone = sent.iter().filter(|p| !p[flag].is_empty()).filter(|p| !named(p)).count();
            assert_eq!(alone, 0, "{case}: {flag}");
        }
        assert!((60..1500).contains(&retransmissions), "{case}: {retransmissions} repeats");
        if loss > 0.0 && variant == "reno" {
            assert!(transfer.timeouts > 0, "{case}: a test of repeats after timeouts");
        }

        // And without tshark's opinion: a repeat lies below what has been sent.
        let mut next = 0;
        let repeats = sent.iter().filter(|p| {
            let begin = number(p, "tcp.seq");
            let end = begin + number(p, "tcp.len").max(1);
            let repeat = end <= next;
            assert!(repeat || begin >= next, "{case}: partly sent before: {p:?}");
            next = next.max(end);
            repeat
        });
        assert_eq!(repeats.count() as u64, transfer.segments_retransmitted, "{case}");
    }
}

/// Every variant, and every option that is visible in headers.
const STACKS: [&str; 20] = [
    r#"variant = "tahoe""#,
    r#"variant = "reno", recovery = "rack""#,
    r#"variant = "newreno-slow-but-steady""#,
    r#"variant = "sack-reno", sack_blocks = 4"#,
    r#"variant = "sack-newreno", dsack = true, timestamps = true"#,
    r#"variant = "sack", rate_reduction = true"#,
    r#"variant = "sack1""#,
    r#"variant = "fack""#,
    r#"variant = "vegas""#,
    r#"variant = "cubic", timestamps = true, dsack = true"#,
    r#"variant = "hybla", initial_ssthresh = "100 segments", pacing = true"#,
    r#"variant = "bbr""#,
    r#"variant = "cubic", resume = { rtt = "600 ms", window = "200 kB" }"#,
    r#"variant = "sack", ecn = true, ack_congestion = true"#,
    r#"variant = "sack-newreno", open = { kind = "t-tcp" }"#,
    r#"variant = "reno", open = { kind = "t-tcp", known = true }"#,
    r#"variant = "sack", sack_blocks = 3, timestamps = true, open = { kind = "t-tcp", known = true }"#,
    r#"variant = "cubic", open = { kind = "fast-open" }"#,
    r#"variant = "bbr", timestamps = true, open = { kind = "fast-open", known = true }"#,
    r#"variant = "newreno", after_idle = "spread", open = { kind = "fast-open", known = true }"#,
];

/// Anomalies that tshark reports: segments or acknowledgments without a counterpart, and exceeded windows.
const REMARKS: [&str; 5] = [
    "tcp.analysis.ack_lost_segment",
    "tcp.analysis.lost_segment",
    "tcp.analysis.window_full",
    "tcp.analysis.zero_window",
    "tcp.analysis.keep_alive",
];

#[test]
fn no_variant_and_no_option_gives_tshark_cause_for_complaint() {
    let scratch = Scratch::new("capture-stacks");
    for stack in STACKS {
        let flow = format!(
            r#"
traffic = {{ kind = "bulk", size = "1 MB" }}
transport = {{ kind = "tcp", mss = "1000 B", window = "1 MB", {stack} }}"#
        );
        let (kind, capture) = record(&scratch, &flow, 0.01);
        let FlowKind::Transfer(transfer) = kind else { panic!("a transfer gives a transfer's results") };
        assert_eq!(transfer.bytes_delivered, 1_000_000, "{stack}");
        let fields: Vec<&'static str> = TCP_FIELDS
            .into_iter()
            .chain(REMARKS)
            .chain(["tcp.option_kind", "tcp.options.cc_value"])
            .collect();
        let Some(packets) = tshark(&capture, &fields) else { return };
        assert!((1_300..4_000).contains(&packets.len()), "{stack}: {} packets", packets.len());
        let (mut sent_to, mut shift, mut edge) = (0, 0, 1);
        let mut options = BTreeSet::new();
        for packet in &packets {
            assert_eq!(
                ["_ws.malformed", "ip.checksum.status", "tcp.checksum.status"].map(|f| &packet[f][..]),
                ["", GOOD, GOOD],
                "{stack}: {packet:?}"
            );
            assert!(REMARKS.iter().all(|remark| packet[remark].is_empty()), "{stack}: {packet:?}");
            let syn = packet["tcp.flags.syn"] == YES;
            options.extend(packet["tcp.option_kind"].split(',').filter(|k| !k.is_empty()).map(str::to_owned));
            if forward(packet) {
                let end = number(packet, "tcp.seq") + number(packet, "tcp.len");
                assert!(syn || end <= edge, "{stack}: {end} is beyond {edge}: {packet:?}");
                sent_to = sent_to.max(end + syn as u64);
                continue;
            }
            if syn {
                shift = number(packet, "tcp.options.wscale.shift");
            }
            let scale = if syn { 0 } else { shift };
            let ack = number(packet, "tcp.ack");
            edge = edge.max(ack + (number(packet, "tcp.window_size_value") << scale));
            let [left, right] =
                ["tcp.options.sack_le", "tcp.options.sack_re"].map(|field| numbers(packet, field));
            assert_eq!(left.len(), right.len(), "{stack}");
            for (place, (&left, &right)) in left.iter().zip(&right).enumerate() {
                // RFC 2883: the first may report what came twice.
                let twice = place == 0 && stack.contains("dsack") && right <= ack;
                assert!((ack < left || twice) && left < right && right <= sent_to, "{stack}: {packet:?}");
            }
        }
        let sent = packets.iter().filter(|p| forward(p) && counts_as_segment(p)).count();
        assert_eq!(sent as u64, transfer.segments_sent, "{stack}");
        let has = |kind: &str| options.contains(kind);
        assert_eq!([has("11") || has("12"), has("13")], [stack.contains("t-tcp"); 2], "{stack}: {options:?}");
        assert_eq!(has("34"), stack.contains("fast-open"), "{stack}: {options:?}");
        assert_eq!(has("8"), stack.contains("timestamps"), "{stack}: {options:?}");
        // Data with a SYN are in the very first packet if the hosts have communicated before.
        assert_eq!(number(&packets[0], "tcp.len") > 0, stack.contains("known = true"), "{stack}");
    }
}

#[test]
fn data_stays_within_the_window_that_was_advertised() {
    for Case { case, packets, .. } in seen() {
        let mut shift = None;
        let (mut right_edge, mut largest) = (0, 0);
        for packet in packets {
            let syn = packet["tcp.flags.syn"] == YES;
            if forward(packet) {
                if syn {
                    continue;
                }
                let end = number(packet, "tcp.seq") + number(packet, "tcp.len");
                assert!(end <= right_edge, "{case}: {end} is beyond {right_edge}: {packet:?}");
                largest = largest.max(end + 240_000 - right_edge);
            } else {
                if syn {
                    shift = Some(number(packet, "tcp.options.wscale.shift"));
                }
                // The window in a SYN is not scaled.
                let scale = if syn { 0 } else { shift.expect("a SYN comes first") };
                let window = number(packet, "tcp.window_size_value") << scale;
                assert!(
                    syn || window == 240_000,
                    "{case}: a reader that never lags advertises all: {packet:?}"
                );
                right_edge = right_edge.max(number(packet, "tcp.ack") + window);
            }
        }
        assert!(largest > 50_000, "{case}: never more than {largest} bytes were outstanding");
    }
}

#[test]
fn sack_blocks_are_whole_and_lie_above_the_acknowledgment() {
    for &Case { ref case, variant, ref transfer, ref packets, .. } in seen() {
        let (mut sent_to, mut blocks, mut most) = (0, 0, 0);
        for packet in packets {
            if forward(packet) {
                sent_to = sent_to.max(number(packet, "tcp.seq") + number(packet, "tcp.len"));
            }
            let [left, right] =
                ["tcp.options.sack_le", "tcp.options.sack_re"].map(|field| numbers(packet, field));
            assert_eq!(left.len(), right.len());
            for (&left, &right) in left.iter().zip(&right) {
                let ack = number(packet, "tcp.ack");
                assert!(ack < left && left < right && right <= sent_to, "{case}: {packet:?}");
            }
            let mut sorted: Vec<_> = left.iter().zip(&right).collect();
            sorted.sort();
            // Blocks that touch would be one block.
            assert!(sorted.windows(2).all(|w| w[0].1 < w[1].0), "{case}: {packet:?}");
            blocks += left.len();
            most = most.max(left.len());
        }
        if variant == "sack-newreno" {
            assert_eq!(most, 3, "{case}");
            assert!(blocks > 100 && transfer.segments_retransmitted > 50, "{case}: {blocks} blocks");
        } else {
            assert_eq!(blocks, 0, "{case}");
        }
    }
}

#[test]
fn tcptrace_counts_the_same_bytes_and_repeats() {
    let scratch = Scratch::new("capture-tcptrace");
    for (variant, timestamps) in with_and_without_timestamps() {
        let (transfer, capture) = transfer(&scratch, variant, timestamps, 0.0);
        let classic = scratch.0.join("classic.pcap");
        let mut editcap = Command::new("editcap");
        if run(editcap.args(["-F", "pcap"]).arg(&capture).arg(&classic)).is_none() {
            return;
        }
        let Some(text) = run(Command::new("tcptrace").arg("-l").arg(&classic)) else { return };
        let of_sender = |name: &str| -> u64 {
            let (_, rest) = text.split_once(name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        let case = format!("{variant}, timestamps {timestamps}");
        assert_eq!(of_sender("unique bytes sent:"), transfer.bytes_delivered, "{case}");
        assert_eq!(of_sender("rexmt data pkts:"), transfer.segments_retransmitted, "{case}");
        // The SYN has no data; the FIN comes with the last of it.
        assert_eq!(of_sender("actual data pkts:"), transfer.segments_sent - 1, "{case}");
        assert_eq!(of_sender("outoforder pkts:"), 0, "{case}");
        assert!(transfer.segments_retransmitted > 50, "{case}");
    }
}

#[test]
fn echo_requests_and_answers_belong_together() {
    let scratch = Scratch::new("capture-ping");
    let (ping, capture) = ping(&scratch);
    assert!(ping.sent == 60 && (40..58).contains(&ping.answers_received), "{ping:?}");
    let Some(packets) = tshark(&capture, &ICMP_FIELDS) else { return };
    for packet in &packets {
        assert_eq!(
            ["_ws.malformed", "ip.checksum.status", "icmp.checksum.status"].map(|f| &packet[f][..]),
            ["", GOOD, GOOD],
            "{packet:?}"
        );
    }
    let of_type = |kind: &str| packets.iter().filter(|p| p["icmp.type"] == kind).collect::<Vec<_>>();
    let (requests, answers) = (of_type("8"), of_type("0"));
    assert_eq!((requests.len() as u64, answers.len() as u64), (ping.sent, ping.answers_received));
    assert_eq!(requests.len() + answers.len(), packets.len());
    // Each answer to one request, by number and by bytes.
    let mut answered = BTreeSet::new();
    for answer in &answers {
        let request = requests.iter().find(|r| r["frame.number"] == answer["icmp.resp_to"]);
        let request = request.unwrap_or_else(|| panic!("nobody asked for {answer:?}"));
        assert!(answered.insert(&request["frame.number"]), "answered twice: {request:?}");
        assert!(["icmp.seq", "icmp.ident", "ip.len"].iter().all(|f| request[f] == answer[f]), "{answer:?}");
        assert!(!forward(answer) && forward(request));
    }
}

#[test]
fn datagrams_have_right_lengths_and_checksums() {
    let scratch = Scratch::new("capture-udp");
    let flow = r#"
stop = "20 s"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "64 kbit/s", size = "161 B" }"#;
    let (kind, capture) = record(&scratch, flow, 0.1);
    let FlowKind::Datagrams(found) = kind else { panic!("a constant rate gives datagrams' results") };
    // 20.125 ms apart.
    assert_eq!(found.sent, 994);
    assert!((850..940).contains(&found.received), "{found:?}");
    let Some(packets) = tshark(&capture, &UDP_FIELDS) else { return };
    assert_eq!(packets.len() as u64, found.sent);
    for packet in &packets {
        let seen = UDP_FIELDS.map(|field| &packet[field][..]);
        assert_eq!(seen, ["", GOOD, GOOD, "189", "169", "49152", "9", ""], "{packet:?}");
    }
}

/// RFC 1191: routers' errors are right byte by byte, and a transfer adapts to them.
#[test]
fn messages_of_packets_that_are_too_large_quote_them() {
    let scratch = Scratch::new("capture-mtu");
    for path_mtu in ["icmp", "probe"] {
        let flow = format!(
            r#"
traffic = {{ kind = "bulk", size = "300 kB" }}
transport = {{ kind = "tcp", path_mtu = "{path_mtu}", initial_window = "10 segments" }}
"#
        );
        let scenario = format!(
            r#"
host = "1999"
duration = "2000 s"
[links.access]
rate = "10 Mbit/s"
delay = "1 ms"
mtu = "1500 B"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.satellite]
rate = "1.5 Mbit/s"
delay = "298 ms"
mtu = "1500 B"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.narrow]
rate = "10 Mbit/s"
delay = "1 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
mtu = "576 B"
[record]
pcap = ["access"]
[[flows]]
path = ["server", "access", "satellite", "narrow", "user"]
{flow}"#
        );
        let loaded = parse(scenario.as_bytes(), "mtu.toml", &[]).unwrap();
        let out = scratch.0.join("out");
        let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
        let (mut result, _) = run_scenario(&loaded, &options, |_| true).unwrap();
        let FlowKind::Transfer(transfer) = result.flows.remove(0).kind else { panic!("not a transfer") };
        assert_eq!(transfer.bytes_delivered, 300_000, "{path_mtu}");
        let fields: Vec<&'static str> = TCP_FIELDS
            .into_iter()
            .chain(REMARKS)
            .chain(["icmp.type", "icmp.code", "icmp.mtu", "icmp.checksum.status", "ip.len", "tcp.seq_raw"])
            .collect();
        let Some(packets) = tshark(&out.join("packets.pcapng"), &fields) else { return };
        let (mut messages, mut large) = (Vec::new(), Vec::new());
        for packet in &packets {
            assert_eq!(packet["_ws.malformed"], "", "{packet:?}");
            assert!(REMARKS.iter().all(|remark| packet[remark].is_empty()), "{packet:?}");
            if packet["icmp.type"].is_empty() {
                assert_eq!([&packet["ip.checksum.status"], &packet["tcp.checksum.status"]], [GOOD; 2]);
                large.extend((number(packet, "ip.len") > 576).then(|| packet["tcp.seq_raw"].clone()));
                continue;
            }
            assert!(!forward(packet), "{packet:?}");
            assert_eq!(
                ["icmp.type", "icmp.code", "icmp.mtu", "icmp.checksum.status"].map(|f| &packet[f][..]),
                ["3", "4", "576", GOOD],
                "{packet:?}"
            );
            // Its own header's length, and that of the packet that it quotes.
            assert!(packet["ip.len"].starts_with("56,"), "{packet:?}");
            assert_eq!(packet["ip.checksum.status"], format!("{GOOD},{GOOD}"), "{packet:?}");
            // The quoted sequence number is the one on the wire.
            messages.push(packet["tcp.seq"].clone());
        }
        // A message for each packet that was too large, in order, with its sequence number.
        assert!(messages.len() >= 10, "{path_mtu}: {} messages", messages.len());
        assert_eq!(messages, large, "{path_mtu}");
    }
}

/// A link of cells: tshark finds LLC, IP and TCP in the PDUs, whose trailers are right by the other end's reassembly.
#[test]
fn cells_are_captured_as_pdus_down_to_tcp() {
    let scratch = Scratch::new("capture-aal5");
    let flow = "[[flows]]\npath = [\"server\", \"satellite\", \"user\"]\ntraffic = { kind = \"bulk\", size = \"20 kB\" }\n";
    let scenario = format!(
        "duration = \"30 s\"\nhost = \"1999\"\nrecord = {{ pcap = [\"satellite\"] }}\n\
         [links.satellite]\nrate = \"5 Mbit/s\"\ndelay = \"10 ms\"\nframing = \"aal5\"\n{flow}{flow}"
    );
    let loaded = parse(scenario.as_bytes(), "cells.toml", &[]).unwrap();
    let out = scratch.0.join("out");
    let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
    run_scenario(&loaded, &options, |_| true).unwrap();
    let fields = [
        "frame.len",
        "_ws.malformed",
        "frame.protocols",
        "atm.vci",
        "ip.len",
        "tcp.checksum.status",
        "frame.interface_name",
    ];
    let capture = out.join("packets.pcapng");
    let Some(packets) = tshark(&capture, &fields) else { return };
    let mut channels = BTreeSet::new();
    for packet in &packets {
        assert_eq!(
            ["_ws.malformed", "tcp.checksum.status"].map(|f| &packet[f][..]),
            ["", GOOD],
            "{packet:?}"
        );
        assert!(packet["frame.protocols"].starts_with("atm:llc:ip:tcp"), "{packet:?}");
        let cells = cells_of_packet(number(packet, "ip.len") as usize) as u64;
        // tshark takes the four bytes before the PDU for a header of the capture.
        assert_eq!(number(packet, "frame.len"), 48 * cells, "{packet:?}");
        channels.insert(number(packet, "atm.vci"));
    }
    assert!(packets.len() > 40, "{}", packets.len());
    assert_eq!(channels, [32, 33].into(), "a virtual channel for each flow");

    // Blocks of the file: each packet's bytes begin 28 behind the type of its block.
    let bytes = std::fs::read(&capture).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut whole) = (0, 0);
    while at < bytes.len() {
        if word(at) == 6 {
            let pdu = &bytes[at + 32..at + 28 + word(at + 20)];
            let mut reassembler = Reassembler::default();
            let payload = segment(pdu, 0, 32).find_map(|cell| reassembler.handle_cell(&cell));
            assert!(payload.unwrap().unwrap().starts_with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]));
            whole += 1;
        }
        at += word(at + 4);
    }
    assert_eq!(whole, packets.len());
}

/// RFC 8200, RFC 4443 and RFC 8201: every kind of packet, a router's error with its quoted packet, and lengths.
#[test]
fn packets_of_ipv6_are_whole_and_their_sums_are_right() {
    let scratch = Scratch::new("capture-ipv6");
    let flows = r#"
[[flows]]
path = ["server", "access", "satellite", "user"]
traffic = { kind = "bulk", size = "200 kB" }
transport = { kind = "tcp", host = "1999", ecn = true }
[[flows]]
path = ["server", "access", "satellite", "user"]
traffic = { kind = "ping", size = "57 B" }
[[flows]]
path = ["server", "access", "satellite", "user"]
traffic = { kind = "cbr", rate = "8 kbit/s", size = "501 B" }
[[flows]]
path = ["server", "access", "satellite", "user"]
traffic = { kind = "bulk", size = "20 kB" }
transport = { kind = "stp" }
[[flows]]
path = ["server", "access", "satellite", "user"]
traffic = { kind = "bulk", size = "20 kB" }
transport = { kind = "stp", format = "plain" }"#;
    let scenario = format!(
        "duration = \"30 s\"\nip = \"v6\"\nrecord = {{ pcap = [\"access\"] }}\n\
         [links.access]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\nmtu = \"1500 B\"\n\
         [links.satellite]\nrate = \"5 Mbit/s\"\ndelay = \"100 ms\"\nmtu = \"1400 B\"\n{flows}"
    );
    let loaded = parse(scenario.as_bytes(), "ipv6.toml", &[]).unwrap();
    let out = scratch.0.join("out");
    let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
    run_scenario(&loaded, &options, |_| true).unwrap();
    let fields = [
        "frame.len",
        "_ws.malformed",
        "ipv6.nxt",
        "ipv6.plen",
        "ipv6.src",
        "ipv6.tclass.ecn",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmpv6.checksum.status",
        "icmpv6.type",
        "icmpv6.mtu",
        "tcp.options.mss_val",
        "tcp.seq_raw",
    ];
    let Some(packets) = tshark(&out.join("packets.pcapng"), &fields) else { return };
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let (mut told, mut large) = (Vec::new(), Vec::new());
    for packet in &packets {
        let len: u64 = number(packet, "frame.len");
        // A message has a second header, of what it quotes.
        let first = |field: &str| packet[field].split(',').next().unwrap_or_default().to_owned();
        assert_eq!(packet["_ws.malformed"], "", "{packet:?}");
        assert_eq!(first("ipv6.plen").parse(), Ok(len - 40), "{packet:?}");
        assert!(packet["ipv6.src"].starts_with("2001:db8::a00:"), "{packet:?}");
        let sum = match &first("ipv6.nxt")[..] {
            "6" => "tcp.checksum.status",
            "17" => "udp.checksum.status",
            "58" => "icmpv6.checksum.status",
            other => {
                assert_eq!(other, "253", "{packet:?}");
                "_ws.malformed"
            }
        };
        assert!(sum == "_ws.malformed" || first(sum) == GOOD, "{packet:?}");
        if !packet["tcp.options.mss_val"].is_empty() {
            assert_eq!(packet["tcp.options.mss_val"], "1440");
        }
        let kind = first("ipv6.nxt") + &first("icmpv6.type");
        if kind == "582" {
            assert_eq!((len, &packet["icmpv6.mtu"][..]), (1280, "1400"));
            told.extend((packet["ipv6.nxt"] == "58,6").then(|| packet["tcp.seq_raw"].clone()));
        } else if kind == "6" && len > 1400 {
            assert_eq!((len, &packet["ipv6.tclass.ecn"][..]), (1500, "2"));
            large.push(packet["tcp.seq_raw"].clone());
        }
        *kinds.entry(kind).or_default() += 1;
    }
    assert_eq!(
        kinds.keys().map(String::as_str).collect::<Vec<_>>(),
        ["17", "253", "58128", "58129", "582", "6"]
    );
    assert!(!told.is_empty() && told == large, "{told:?} {large:?}");
}

/// tshark's "the checksum has been verified and is right".
const GOOD: &str = "1";
const YES: &str = "1";

const TCP_FIELDS: [&str; 18] = [
    "frame.interface_name",
    "_ws.malformed",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.seq",
    "tcp.len",
    "tcp.ack",
    "tcp.flags.syn",
    "tcp.flags.fin",
    "tcp.window_size_value",
    "tcp.options.wscale.shift",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "frame.number",
];

const UDP_FIELDS: [&str; 8] = [
    "_ws.malformed",
    "ip.checksum.status",
    "udp.checksum.status",
    "ip.len",
    "udp.length",
    "udp.srcport",
    "udp.dstport",
    "_ws.expert.severity",
];

const ICMP_FIELDS: [&str; 10] = [
    "frame.interface_name",
    "frame.number",
    "_ws.malformed",
    "ip.checksum.status",
    "ip.len",
    "icmp.checksum.status",
    "icmp.type",
    "icmp.seq",
    "icmp.ident",
    "icmp.resp_to",
];

/// A packet's fields by tshark, by name; empty if the packet does not have the field.
type Fields = BTreeMap<&'static str, String>;

/// A transfer, and tshark's fields of its packets.
struct Case {
    case: String,
    variant: &'static str,
    loss: f64,
    transfer: TransferResult,
    packets: Vec<Fields>,
}

/// Every variant with and without timestamps and losses, simulated and read once for all tests; empty without tshark.
fn seen() -> &'static [Case] {
    static SEEN: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let scratch = Scratch::new("capture-tshark");
        let mut cases = Vec::new();
        for (variant, timestamps) in with_and_without_timestamps() {
            for loss in LOSSES {
                let (transfer, capture) = transfer(&scratch, variant, timestamps, loss);
                let Some(packets) = tshark(&capture, &TCP_FIELDS) else { return cases };
                let case = format!("{variant}, timestamps {timestamps}, loss {loss}");
                cases.push(Case { case, variant, loss, transfer, packets });
            }
        }
        cases
    });
    if SEEN.is_empty() {
        println!("skipped: tshark is not installed");
    }
    &SEEN
}

fn with_and_without_timestamps() -> impl Iterator<Item = (&'static str, bool)> {
    VARIANTS.into_iter().flat_map(|variant| [false, true].map(|timestamps| (variant, timestamps)))
}

/// 3 MB over a geostationary link, captured at the sender.
fn transfer(scratch: &Scratch, variant: &str, timestamps: bool, loss: f64) -> (TransferResult, PathBuf) {
    let flow = format!(
        r#"
traffic = {{ kind = "bulk", size = "3 MB" }}
transport = {{ kind = "tcp", variant = "{variant}", timestamps = {timestamps}, mss = "1000 B", window = "240 kB" }}"#
    );
    let (kind, capture) = record(scratch, &flow, loss);
    let FlowKind::Transfer(transfer) = kind else { panic!("a transfer gives a transfer's results") };
    assert_eq!(transfer.bytes_delivered, 3_000_000);
    (transfer, capture)
}

/// A minute of echo requests, some of which are lost.
fn ping(scratch: &Scratch) -> (PingResult, PathBuf) {
    let flow = "stop = \"59.5 s\"\ntraffic = { kind = \"ping\", interval = \"1 s\" }";
    let (kind, capture) = record(scratch, flow, 0.1);
    let FlowKind::Ping(ping) = kind else { panic!("a ping gives a ping's results") };
    (ping, capture)
}

fn record(scratch: &Scratch, flow: &str, loss: f64) -> (FlowKind, PathBuf) {
    let scenario = format!(
        r#"
host = "1999"
duration = "2000 s"
[links.access]
rate = "10 Mbit/s"
delay = "1 ms"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.satellite]
rate = "1.5 Mbit/s"
delay = "298 ms"
queue = {{ kind = "drop-tail", limit = "50 packets" }}
loss = {{ kind = "packets", probability = {loss:?} }}
[links.lan]
rate = "10 Mbit/s"
delay = "1 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
[record]
pcap = ["access"]
[[flows]]
path = ["server", "access", "satellite", "lan", "user"]
{flow}
"#
    );
    let loaded = parse(scenario.as_bytes(), "capture.toml", &[]).unwrap();
    let out = scratch.0.join("out");
    let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
    let (mut result, _) = run_scenario(&loaded, &options, |_| true).unwrap();
    (result.flows.remove(0).kind, out.join("packets.pcapng"))
}

/// All packets of a capture; `None`, with a message, if there is no tshark.
fn tshark(capture: &Path, fields: &[&'static str]) -> Option<Vec<Fields>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(capture).args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for preference in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
        "tcp.relative_sequence_numbers:TRUE",
        "tcp.analyze_sequence_numbers:TRUE",
    ] {
        tshark.args(["-o", preference]);
    }
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let text = run(&mut tshark)?;
    let packet = |line: &str| {
        let values: Vec<&str> = line.split('|').collect();
        assert_eq!(values.len(), fields.len(), "{line}");
        fields.iter().copied().zip(values.into_iter().map(str::to_owned)).collect()
    };
    Some(text.lines().map(packet).collect())
}

/// Output of a program; `None`, with a message, if it is not installed.
fn run(command: &mut Command) -> Option<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let Ok(out) = command.output() else {
        println!("skipped: {name} is not installed");
        return None;
    };
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

fn forward(packet: &Fields) -> bool {
    packet["frame.interface_name"] == "access/forward"
}

/// Returns true if the summary counts it among `segments_sent`: it has data, a SYN or a FIN.
fn counts_as_segment(packet: &Fields) -> bool {
    number(packet, "tcp.len") > 0 || packet["tcp.flags.syn"] == YES || packet["tcp.flags.fin"] == YES
}

fn number(packet: &Fields, field: &str) -> u64 {
    packet[field].parse().unwrap_or_else(|_| panic!("{field} of {packet:?}"))
}

fn numbers(packet: &Fields, field: &str) -> Vec<u64> {
    packet[field].split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect()
}

/// STP over UDP, whose packets tshark returns as bytes: they are valid STP, and as many as the summary counts.
#[test]
fn stp_packets_are_captured_as_they_are() {
    let scratch = Scratch::new("capture-stp");
    for format in ["full", "plain\", over = \"udp"] {
        let flow = format!(
            r#"
traffic = {{ kind = "bulk", size = "1 MB" }}
transport = {{ kind = "stp", format = "{format}" }}"#
        );
        let (kind, capture) = record(&scratch, &flow, 0.01);
        let FlowKind::Transfer(transfer) = kind else { panic!("a transfer gives a transfer's results") };
        let fields = ["ip.src", "udp.srcport", "udp.dstport", "udp.checksum.status", "udp.payload", "ip.len"];
        let Some(packets) = tshark(&capture, &fields) else { return };
        let (mut sent, mut bytes, mut stats) = (0, 0, 0);
        for packet in &packets {
            let port = skyhop_wire::stp::UDP_PORT.to_string();
            assert!(packet["udp.dstport"] == port || packet["udp.srcport"] == port, "{packet:?}");
            assert_eq!(packet["udp.checksum.status"], GOOD, "{packet:?}");
            let hex = packet["udp.payload"].replace(':', "");
            let payload: Vec<u8> =
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
            assert_eq!(packet["ip.len"], (payload.len() + 28).to_string(), "{packet:?}");
            let stp = skyhop_wire::stp::parse(&payload).unwrap_or_else(|e| panic!("{e}: {packet:?}"));
            assert_eq!(packet["udp.srcport"], stp.source_port.to_string());
            if let Some(data) = stp.data {
                sent += 1;
                bytes += data.len();
            }
            stats += u32::from(stp.control.is_some_and(|control| control.stat.is_some()));
        }
        assert_eq!(sent, transfer.segments_sent, "{format}");
        assert!((1_000_000..1_100_000).contains(&bytes), "{format}: {bytes}");
        assert!((5..600).contains(&stats), "{format}: {stats}");
    }
}
