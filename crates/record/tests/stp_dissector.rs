//! STP in Wireshark: packets that our machines emit, written by our captures, read by tshark with our dissector.
//!
//! Every field of every kind of packet must read as in the struct, and a conversation over a lossy path must be complete.
//! Differs from a round trip: the dissector is Lua and shares no code with the parser.
//! Leaves out frames, which `stp_frames_dissector` tests, and the contents of encrypted packets; `skyhop wireshark decrypt` has a
//! test of its own.

use crate::tshark::{Capture, Under, bytes, join, tshark};
use skyhop_transport::stp::{Config, Connection, Ends, Event, PayloadLength, Reason};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{
    Begin, Contents, Control, End, Features, Gap, MarkCounts, Packet, Report, Stat, UDP_PORT, Ustat,
};
use std::collections::BTreeMap;

const FIELDS: [&str; 33] = [
    "skystp.srcport",
    "skystp.dstport",
    "skystp.type",
    "skystp.ns",
    "skystp.instance",
    "skystp.checksum.status",
    "skystp.begin.version",
    "skystp.begin.features",
    "skystp.begin.most_payload",
    "skystp.begin.first",
    "skystp.begin.nmr",
    "skystp.begin.count",
    "skystp.end.reason",
    "skystp.list.flags",
    "skystp.list.nr",
    "skystp.list.nmr",
    "skystp.stat.echo",
    "skystp.stat.from",
    "skystp.stat.upto",
    "skystp.list.gaps",
    "skystp.gap.start",
    "skystp.gap.end",
    "skystp.report.received",
    "skystp.report.at",
    "skystp.report.delayed",
    "skystp.report.marked",
    "skystp.report.erased",
    "skystp.poll.timestamp",
    "skystp.data.len",
    "skystp.data",
    "skystp.type.sd",
    "skystp.type.endak",
    "skystp.malformed",
];

#[test]
fn every_field_of_every_combination_reads_as_it_was_meant() {
    let packets = packets();
    let mut capture = Capture::new();
    for (n, packet) in packets.iter().enumerate() {
        // UDP on the listener's port, UDP on ports that only the checksum gives away, and straight over IP.
        capture.put(n as u64 * 1000, [Under::Udp, Under::Ip][n % 5 / 4], packet);
    }
    let Some(lines) = tshark("combinations", capture, &FIELDS, &[]) else { return };
    assert_eq!(lines.len(), packets.len());
    for (line, packet) in lines.iter().zip(&packets) {
        let expected = expected(packet);
        for ((field, seen), meant) in FIELDS.iter().zip(line).zip(&expected) {
            assert_eq!(seen, meant, "{field} of {packet:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let good = bytes(&Packet { poll: Some(7), ..data(5, 10) });
    let cases: [(&str, Vec<u8>, &str); 6] = [
        (
            "checksum",
            {
                let mut b = good.clone();
                b[30 - 9] ^= 0x10;
                b
            },
            "skystp.checksum.bad",
        ),
        ("no type", sealed(&good, |b| b[4] = 0), "skystp.malformed"),
        ("no data", sealed(&good, |b| b.truncate(16)), "skystp.malformed"),
        (
            "short POLL",
            sealed(&good, |b| {
                b[4] = 2;
                b.truncate(14)
            }),
            "skystp.malformed",
        ),
        ("bytes behind", sealed(&good, |b| b[4] = 0x80), "skystp.malformed"),
        ("short STAT", sealed(&good, |b| b[4] = 4), "skystp.malformed"),
    ];
    for (name, wrong, expert) in cases {
        let mut capture = Capture::new();
        capture.put_bytes(0, Under::Udp, &wrong, UDP_PORT, 9);
        let Some(lines) = tshark("wrong", capture, &[expert, "_ws.malformed", "_ws.lua.error"], &[]) else {
            return;
        };
        // Wireshark's own mark comes with an expert info of that group; errors of the script do not come.
        let marked = if expert.ends_with("malformed") { "_ws.malformed" } else { "" };
        assert_eq!(lines, [["1", marked, ""]], "{name}");
    }
}

#[test]
fn a_conversation_over_a_lossy_path_is_told_as_it_went() {
    for config in [Config::default(), Config::plain()] {
        let talk = converse(config, 0x00ff_ffe0);
        let what = ["skystp.retransmission", "skystp.duplicate", "skystp.out_of_order", "skystp.gap_before"];
        let wrong = ["skystp.malformed", "skystp.checksum.bad", "_ws.malformed", "_ws.lua.error"];
        let more = [
            "skystp.ns",
            "skystp.type.sd",
            "ip.src",
            "skystp.stat.poll_in",
            "skystp.stat.time",
            "skystp.type.stat",
        ];
        let fields: Vec<&str> = what.iter().chain(&wrong).chain(&more).copied().collect();
        let Some(lines) = tshark("conversation", talk.capture, &fields, &[]) else { return };
        assert_eq!(lines.len() as u64, talk.packets);
        let count = |column: usize| lines.iter().filter(|line| !line[column].is_empty()).count() as u64;
        for (column, field) in wrong.iter().enumerate() {
            assert_eq!(count(what.len() + column), 0, "{field}");
        }
        // The capture stands at the sender: what is sent again has passed, and nothing is missing that was sent.
        let [again, twice, late, gap] = [0, 1, 2, 3].map(count);
        println!("{again} retransmissions, {twice} duplicates of {} packets", lines.len());
        assert_eq!((again + twice, late, gap), (talk.repeats, 0, 0));
        assert!(again >= 5 && twice * 3 <= again, "{again} and {twice}");
        // Every STAT is told which POLL it answers, and when it answers: a round trip, and no more than it may be held back.
        let stats: Vec<&Vec<String>> = lines.iter().filter(|line| line[13] == "1").collect();
        assert!(stats.len() >= 3);
        for line in stats {
            let time: f64 = line[12].parse().unwrap_or_else(|_| panic!("{line:?}"));
            assert!((0.199_999..=0.2021).contains(&time), "{time} s from POLL to STAT");
        }
    }
}

#[test]
fn it_is_recognised_on_any_port_and_other_datagrams_are_left_alone() {
    let mut capture = Capture::new();
    let on = |port: u16| Packet { source_port: port, destination_port: port + 1, ..data(1, 20) };
    capture.put(0, Under::Udp, &on(4000));
    capture.put_bytes(1, Under::Udp, &bytes(&on(4000)), 5000, 5001);
    capture.put_bytes(2, Under::Udp, &[0xab; 40], 6000, 6001);
    // Only the listener's port is both UDP's and STP's.
    capture.put_bytes(3, Under::Udp, &bytes(&on(4000)), 5000, 4001);
    let Some(lines) = tshark("ports", capture, &["skystp.ns", "data.len"], &[]) else { return };
    assert_eq!(lines, [["1", ""], ["", "32"], ["", "40"], ["1", ""]].map(|l| l.map(str::to_owned).to_vec()));
}

#[test]
fn packets_of_associations_are_told_by_their_form() {
    let fixed = |head: &[u8], len: usize| [head, &vec![0xab; len - head.len()]].concat();
    let index = [0x12, 0x34, 0x56];
    let with = |head: &[u8]| [head, &index].concat();
    let counter = [&with(&[5])[..], &[0, 0, 0, 0, 0, 0, 1, 0]].concat();
    let unknown = [&with(&[6])[..], &[0, 0, 0, 0, 0, 0, 1, 0]].concat();
    let cases: [(Vec<u8>, [&str; 6]); 9] = [
        (fixed(&[1, 1, 1, 1, 0x12, 0x34, 0x56, 0], 56), ["1", "0x123456", "", "1", "1", ""]),
        (fixed(&[1, 1, 2, 2, 0x12, 0x34, 0x56, 16], 120), ["1", "0x123456", "", "2", "2", ""]),
        (fixed(&with(&[2]), 55), ["2", "0x123456", "", "", "", ""]),
        (fixed(&with(&[3]), 28), ["3", "0x123456", "", "", "", ""]),
        ([fixed(&with(&[4]), 12), vec![1]].concat(), ["4", "0x123456", "", "", "", "1"]),
        (fixed(&counter, 28), ["5", "0x123456", "256", "", "", ""]),
        (unknown, ["6", "0x123456", "256", "", "", ""]),
        // Another version, and a length that none has: STP with a wrong checksum, and so is a counter without end.
        (fixed(&[1, 2, 1, 1, 0x12, 0x34, 0x56, 0], 56), [""; 6]),
        (fixed(&with(&[2]), 54), [""; 6]),
    ];
    let mut capture = Capture::new();
    for (n, (packet, _)) in cases.iter().enumerate() {
        capture.put_bytes(n as u64, Under::Udp, packet, UDP_PORT, 9);
    }
    let fields = ["type", "index", "counter", "pattern", "cipher", "reason"];
    let fields = fields.map(|f| format!("skystp.association.{f}"));
    let fields: Vec<&str> =
        fields.iter().map(String::as_str).chain(["skystp.checksum.bad", "_ws.lua.error"]).collect();
    let Some(lines) = tshark("associations", capture, &fields, &[]) else { return };
    assert_eq!(lines.len(), cases.len());
    for (line, (packet, expected)) in lines.iter().zip(&cases) {
        let bad = if expected[0].is_empty() { "1" } else { "" };
        assert_eq!(line[..6], expected[..], "{packet:?}");
        assert_eq!(line[6..], [bad, ""], "{packet:?}");
    }
}

/// What hosts say to each other inside an association, as in a decrypted capture: each by its name, and nothing else.
#[test]
fn messages_between_hosts_have_their_names() {
    let index = |kind: u8| vec![kind, 0x12, 0x34, 0x56];
    let token = |kind: u8| [&[kind][..], &[0xab; 8]].concat();
    let tokens = "ab".repeat(8);
    let cases: [(Vec<u8>, [&str; 3]); 9] = [
        (index(1), ["1", "0x123456", ""]),
        (index(2), ["2", "0x123456", ""]),
        (index(3), ["3", "0x123456", ""]),
        (token(4), ["4", "", &tokens]),
        (token(5), ["5", "", &tokens]),
        (vec![6], ["6", "", ""]),
        // Of a length that the type does not have, and of no type.
        (index(6), ["", "", ""]),
        (vec![1], ["", "", ""]),
        (vec![7], ["", "", ""]),
    ];
    let mut capture = Capture::new();
    for (n, (message, _)) in cases.iter().enumerate() {
        capture.put_bytes(n as u64, Under::Udp, message, UDP_PORT, 9);
    }
    let fields = ["skystp.message.type", "skystp.message.index", "skystp.message.token", "_ws.lua.error"];
    let Some(lines) = tshark("messages", capture, &fields, &[]) else { return };
    assert_eq!(lines.len(), cases.len());
    for (line, (message, expected)) in lines.iter().zip(&cases) {
        assert_eq!(line[..3], expected[..3], "{message:?}");
        assert_eq!(line[3], "", "{message:?}");
    }
}

/// Every kind alone, all pairs, and all at once; both forms of lists, with none, one and many gaps, across 2^24.
fn packets() -> Vec<Packet<PayloadLength>> {
    let begin = |n: u32| Begin {
        version: 1,
        features: Features(n as u8 & 7),
        max_payload: 1428 - n as u16,
        first: (0x00ff_ff00 + n) & 0x00ff_ffff,
        credit: 46_995 + n,
        count: 0xdead_0000 + n,
    };
    let gaps = |from: u32, n: u32| -> Vec<Gap> {
        let at = |k: u32| (from + k) & 0x00ff_ffff;
        (0..n).map(|i| Gap { start: at(i * i * 9 + 2), end: at(i * i * 9 + 3 + i) }).collect()
    };
    let stat = |n: u32, many: u32, compact: bool| {
        let next = (0x00ff_fff0 + n) & 0x00ff_ffff;
        let ahead = |k: u32| (next + k) & 0x00ff_ffff;
        Stat {
            echo: 0xffff_fff0 + n % 8,
            next,
            credit: ahead(70_000),
            from: ahead(5 * (n % 2)),
            upto: ahead(40_000),
            gaps: gaps(ahead(5 * (n % 2)), many),
            report: (!n.is_multiple_of(3)).then_some(Report {
                received: n,
                at: 0xffff_ff00 + n,
                delayed: 17 * n,
                marks: n.is_multiple_of(5).then_some(MarkCounts { marked: 3 * n, erased: n }),
            }),
            compact,
        }
    };
    let ustat = |n: u32, many: u32, compact: bool| {
        let next = 0x00ff_fffa + n % 3;
        let credit = (next + 60 + n) & 0x00ff_ffff;
        Ustat { next, credit, gaps: gaps(next, many), compact }
    };
    let mut out = Vec::new();
    for kind in 1..=255u32 {
        let has = |bit: u32| kind & bit != 0;
        let compact = kind % 2 == 0;
        let control = Control {
            begin: has(0x10).then(|| begin(kind)),
            begin_ack: has(0x20).then(|| begin(kind + 1000)),
            end: has(0x40).then(|| End { reason: Reason::from_number((kind % 7) as u8) }),
            end_ack: has(0x80),
            stat: has(4).then(|| stat(kind, kind % 12, compact)),
            ustat: has(8).then(|| ustat(kind, if compact { 1 + kind % 9 } else { 1 }, compact)),
            ..Control::default()
        };
        out.push(Packet {
            poll: has(2).then_some(0x8000_0000 + kind),
            control: (!control.is_empty()).then(|| Box::new(control)),
            data: has(1).then_some(PayloadLength(1 + u64::from(kind) * 3)),
            ..data(0x00ff_ff80 + kind / 2, 0)
        });
    }
    for compact in [false, true] {
        for many in [0, 1, 2, 20, 60] {
            let control = Control { stat: Some(stat(1, many, compact)), ..Control::default() };
            out.push(Packet { control: Some(Box::new(control)), data: None, ..data(3, 0) });
        }
        // Nothing is missing.
        for n in [1, 3] {
            let stat = stat(n, 0, compact);
            let stat = Stat { from: stat.next, upto: stat.next, ..stat };
            let control = Control { stat: Some(stat), ..Control::default() };
            out.push(Packet { control: Some(Box::new(control)), data: None, ..data(4, 0) });
        }
    }
    out
}

fn data(seq: u32, len: u64) -> Packet<PayloadLength> {
    let data = (len > 0).then_some(PayloadLength(len));
    Packet {
        source_port: UDP_PORT,
        destination_port: 9,
        instance: 4711,
        seq,
        poll: None,
        data,
        control: None,
    }
}

/// The expected output of tshark for the packet, in the order of FIELDS.
fn expected(packet: &Packet<PayloadLength>) -> Vec<String> {
    let none = Control::default();
    let control = packet.control.as_deref().unwrap_or(&none);
    let begins: Vec<&Begin> = control.begin.iter().chain(&control.begin_ack).collect();
    let begin = |get: &dyn Fn(&Begin) -> String| join(begins.iter().map(|b| get(b)));
    let (stat, ustat) = (control.stat.as_ref(), control.ustat.as_ref());
    let lists = |s: &dyn Fn(&Stat) -> u32, u: &dyn Fn(&Ustat) -> u32| {
        join(stat.map(s).into_iter().chain(ustat.map(u)).map(|n| n.to_string()))
    };
    let gaps: Vec<Gap> =
        stat.iter().flat_map(|s| &s.gaps).chain(ustat.iter().flat_map(|u| &u.gaps)).copied().collect();
    let report =
        |get: &dyn Fn(&Report) -> u32| join(stat.and_then(|s| s.report).map(|r| get(&r).to_string()));
    let marks = |get: &dyn Fn(&MarkCounts) -> u32| {
        let marks = stat.and_then(|s| s.report).and_then(|report| report.marks);
        join(marks.map(|marks| get(&marks).to_string()))
    };
    let kind = packet.kind();
    let counted = |s: &Stat| u32::from(s.report.is_some_and(|report| report.marks.is_some())) << 3;
    let flags = |compact: bool, report: bool| u32::from(compact) | u32::from(report) << 1;
    let bare =
        |s: &Stat| u32::from(!s.compact && s.gaps.is_empty() && (s.from, s.upto) == (s.next, s.next)) << 2;
    vec![
        packet.source_port.to_string(),
        packet.destination_port.to_string(),
        format!("0x{kind:02x}"),
        packet.seq.to_string(),
        packet.instance.to_string(),
        "1".into(),
        begin(&|b| b.version.to_string()),
        begin(&|b| format!("0x{:02x}", b.features.0)),
        begin(&|b| b.max_payload.to_string()),
        begin(&|b| b.first.to_string()),
        begin(&|b| b.credit.to_string()),
        begin(&|b| b.count.to_string()),
        join(control.end.map(|end| end.reason.number().to_string())),
        join(
            stat.map(|s| flags(s.compact, s.report.is_some()) | bare(s) | counted(s))
                .into_iter()
                .chain(ustat.map(|u| flags(u.compact, false)))
                .map(|n| format!("0x{n:02x}")),
        ),
        lists(&|s| s.next, &|u| u.next),
        lists(&|s| s.credit, &|u| u.credit),
        join(stat.map(|s| s.echo.to_string())),
        join(stat.map(|s| s.from.to_string())),
        join(stat.map(|s| s.upto.to_string())),
        lists(&|s| s.gaps.len() as u32, &|u| u.gaps.len() as u32),
        join(gaps.iter().map(|g| g.start.to_string())),
        join(gaps.iter().map(|g| g.end.to_string())),
        report(&|r| r.received),
        report(&|r| r.at),
        report(&|r| r.delayed),
        marks(&|m| m.marked),
        marks(&|m| m.erased),
        join(packet.poll.map(|p| p.to_string())),
        join(packet.data.map(|d| d.len().to_string())),
        join(packet.data.map(|d| "00".repeat(d.len()))),
        (kind & 1).to_string(),
        (kind >> 7).to_string(),
        String::new(),
    ]
}

/// Two machines, 100 ms apart; one packet in fourteen of the sender's is lost; captured at the sender.
struct Talk {
    capture: Capture,
    packets: u64,
    repeats: u64,
}

fn converse(config: Config, first: u32) -> Talk {
    let here = Ends { local_port: 40_000, remote_port: UDP_PORT, instance: 77, count: 1 };
    let there = Ends { local_port: UDP_PORT, ..Ends::default() };
    let mut ends = [Connection::connect(config.clone(), here, first), Connection::listen(config, there, 5)];
    ends[0].write(PayloadLength(200_000));
    ends.iter_mut().for_each(Connection::shutdown);
    let (mut capture, mut now, mut sent, mut packets) = (Capture::new(), Time::ZERO, 0u64, 0);
    let mut wire: BTreeMap<(Time, u64), (usize, Packet<PayloadLength>)> = BTreeMap::new();
    for _ in 0..100_000 {
        for from in [0, 1] {
            while let Some(event) = ends[from].poll_event() {
                assert!(!matches!(event, Event::Reset(_)), "{event:?}");
                while ends[from].read(usize::MAX).is_some() {}
            }
            while let Some(packet) = ends[from].poll_transmit(now) {
                sent += 1;
                if from == 0 {
                    capture.put(now.as_nanos(), Under::Udp, &packet);
                    packets += 1;
                }
                // Packets with a POLL come through, so that every STAT is asked for by one that was seen.
                if from == 1 || packet.poll.is_some() || sent % 14 != 0 {
                    wire.insert((now + Span::from_millis(100), sent), (1 - from, packet));
                }
            }
        }
        let arrival = wire.first_key_value().map(|(key, _)| key.0);
        let timers = ends.each_ref().map(Connection::poll_timeout);
        let Some(at) = timers.into_iter().chain([arrival]).flatten().min() else { break };
        now = at.max(now);
        if arrival == Some(at) {
            let (_, (to, packet)) = wire.pop_first().expect("it is there");
            if to == 0 {
                capture.put(now.as_nanos(), Under::Udp, &packet);
                packets += 1;
            }
            ends[to].handle_packet(now, &packet);
        } else {
            ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
    }
    assert_eq!(ends[1].delivered(), 200_000);
    Talk { capture, packets, repeats: ends[0].stats().packets_retransmitted }
}

/// A changed packet with a correct checksum (RFC 1071, by hand).
fn sealed(packet: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = packet.to_vec();
    change(&mut out);
    out[8..10].copy_from_slice(&[0, 0]);
    let mut sum: u32 = out.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    out[8..10].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    out
}
