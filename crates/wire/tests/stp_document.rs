//! The packets that docs/stp.md §13 shows byte by byte, against the text beside them.
//!
//! Follows docs/stp.md: its bytes were written by the peer of python/tests/stp_peer.py, which shares no line with this crate.
//! Differs from `stp_packets`: the bytes are the document's, so that the document cannot go stale.
//! Leaves out the effect of a packet on a connection.

use bytes::Bytes;
use skyhop_wire::stp::{
    Begin, Control, End, Features, Gap, MarkCounts, Packet, ParseError, Reason, Report, Stat, Ustat, emit,
    kind, parse,
};

const DOCUMENT: &str = include_str!("../../../docs/stp.md");
const FIRST: u32 = 0xff_fffd;
const INITIATOR: u16 = 50_000;
const LISTENER: u16 = 57_824;

/// Titles and bytes of the packets in the document.
fn shown() -> Vec<(&'static str, Vec<u8>)> {
    let section = DOCUMENT.split("\n## 13.").nth(1).expect("section 13");
    let block =
        section.split("```hex\n").nth(1).and_then(|b| b.split("```").next()).expect("a block of packets");
    let mut packets: Vec<(&str, Vec<u8>)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("# ") {
            Some(title) => packets.push((title, Vec::new())),
            None => packets.last_mut().expect("a title").1.extend(
                line.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits")),
            ),
        }
    }
    packets
}

fn packet(from: u16, seq: u32) -> Packet<Bytes> {
    let to = if from == INITIATOR { LISTENER } else { INITIATOR };
    Packet {
        source_port: from,
        destination_port: to,
        instance: 0x1234,
        seq,
        poll: None,
        data: None,
        control: None,
    }
}

/// A packet from the initiator.
fn there(seq: u32, poll: Option<u32>, data: &'static str, control: Control) -> Packet<Bytes> {
    let data = (!data.is_empty()).then(|| Bytes::from_static(data.as_bytes()));
    let control = (!control.is_empty()).then(|| Box::new(control));
    Packet { poll, data, control, ..packet(INITIATOR, seq) }
}

/// A packet from the listener, whose next SD is its first.
fn back(control: Control) -> Packet<Bytes> {
    Packet { control: Some(Box::new(control)), ..packet(LISTENER, 0x0a_0b0c) }
}

fn none() -> Control {
    Control::default()
}

fn end() -> Option<End> {
    Some(End { reason: Reason::Finished })
}

fn gaps(of: &[(u32, u32)]) -> Vec<Gap> {
    of.iter().map(|&(start, end)| Gap { start, end }).collect()
}

fn stat(echo: u32, next: u32, credit: u32, range: (u32, u32), missing: &[(u32, u32)]) -> Stat {
    let (from, upto) = range;
    Stat { echo, next, credit, from, upto, gaps: gaps(missing), report: None, compact: false }
}

fn short(stat: Stat, report: (u32, u32, u32)) -> Option<Stat> {
    let (received, at, delayed) = report;
    Some(Stat { report: Some(Report { received, at, delayed, marks: None }), compact: true, ..stat })
}

/// The packets that the document's text describes, in order.
fn said() -> Vec<Packet<Bytes>> {
    let bgn = Begin {
        version: 1,
        features: Features::COMPACT.with(Features::REPORT),
        max_payload: 1460,
        first: FIRST,
        credit: 1000,
        count: 7,
    };
    // Numbers wrap: 0xfffffd + 1000 is 0x3e5.
    let bgnak = Begin { first: 0x0a_0b0c, credit: 0x3e5, ..bgn };
    let offered = Begin { features: bgn.features.with(Features::ECN), ..bgn };
    let began = Control { begin: Some(bgn), ..none() };
    let answered = Control { begin_ack: Some(bgnak), ..none() };
    let first = 0xffff_f000;
    let all = short(stat(first, FIRST + 1, 0x3e6, (FIRST + 1, FIRST + 1), &[]), (1, 500_000, 120));
    let later = 0xffff_f123;
    let missing = [(FIRST, FIRST + 1), (FIRST + 2, 1)];
    let holes = stat(later, FIRST, 0x3e5, (FIRST, 2), &missing);
    let report = (2, 900_000, 2000);
    let part = |from, upto, hole| stat(later, FIRST, 0x3e5, (from, upto), &missing[hole..=hole]);
    let done = stat(0x456, 2, 1002, (2, 2), &[]);
    let last = short(Stat { echo: 0x124, ..done.clone() }, (5, 950_000, 0));
    let marks = Some(MarkCounts { marked: 1, erased: 0 });
    let counted = last
        .clone()
        .map(|stat| Stat { report: stat.report.map(|report| Report { marks, ..report }), ..stat });
    vec![
        there(FIRST, None, "", began.clone()),
        there(FIRST, None, "", Control { begin: Some(offered), ..none() }),
        there(FIRST, None, "GET /\n", began.clone()),
        there(FIRST, Some(first), "GET /\n", Control { end: end(), ..began }),
        back(answered.clone()),
        back(Control { stat: all.clone(), ..answered.clone() }),
        Packet {
            poll: Some(500_120),
            data: Some(Bytes::from_static(b"200\n")),
            ..back(Control { stat: all, end: end(), end_ack: true, ..answered.clone() })
        },
        back(Control { end: end(), ..answered.clone() }),
        back(Control { end: Some(End { reason: Reason::Protocol }), ..none() }),
        there(2, None, "", Control { end: end(), ..none() }),
        back(Control { end_ack: true, ..none() }),
        Packet { seq: 0x0a_0b0d, ..back(Control { end: end(), end_ack: true, ..none() }) },
        back(Control { end_ack: true, ..answered }),
        there(0xff_ffff, None, "data", none()),
        there(0, Some(later), "data", none()),
        there(1, Some(0x124), "last", Control { end: end(), ..none() }),
        there(2, Some(0x456), "", none()),
        there(2, Some(0x789), "", Control { padding: 12, ..none() }),
        back(Control { stat: Some(done.clone()), ..none() }),
        back(Control { stat: Some(holes.clone()), ..none() }),
        back(Control { stat: short(holes, report), ..none() }),
        back(Control { stat: short(part(FIRST, FIRST + 2, 0), report), ..none() }),
        back(Control { stat: short(part(FIRST + 2, 2, 1), report), ..none() }),
        back(Control { stat: Some(Stat { credit: 1502, compact: true, ..done.clone() }), ..none() }),
        back(Control { stat: last, end_ack: true, ..none() }),
        back(Control { stat: counted, ..none() }),
        back(Control { ustat: Some(ustat(&[(0xff_ffff, 1)], false)), ..none() }),
        back(Control { ustat: Some(ustat(&[(0xff_ffff, 1), (100, 103)], true)), ..none() }),
    ]
}

fn ustat(missing: &[(u32, u32)], compact: bool) -> Ustat {
    Ustat { next: 0xff_ffff, credit: 0x3e5, gaps: gaps(missing), compact }
}

#[test]
fn the_documents_packets_are_what_it_says() {
    let (shown, said) = (shown(), said());
    assert_eq!(shown.len(), said.len());
    for ((title, bytes), packet) in shown.iter().zip(&said) {
        let parsed = parse(bytes).unwrap_or_else(|e| panic!("{title}: {e}"));
        assert_eq!(&parsed.map(Bytes::copy_from_slice), packet, "{title}");
        let mut emitted = Vec::new();
        emit(packet, &mut emitted);
        assert_eq!(&emitted, bytes, "{title}");
        assert_eq!(kind_of(title), packet.kind(), "{title}");
        // No byte can be altered or left out unnoticed.
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 0x40;
            assert_eq!(parse(&altered), Err(ParseError::Checksum), "{title}, byte {at}");
        }
    }
}

#[test]
fn the_document_shows_every_type() {
    let kinds = || shown().into_iter().map(|(title, _)| kind_of(title));
    for bit in 0..8 {
        assert!(kinds().any(|kind| kind & (1 << bit) != 0), "bit {bit}");
        assert!(kinds().any(|kind| kind == 1 << bit), "bit {bit} alone");
    }
}

/// The packet type that a title names.
fn kind_of(title: &str) -> u8 {
    let name = title.split([':', ',']).next().expect("a name");
    name.split('+').fold(0, |kind, part| {
        kind | match part {
            "SD" => kind::SD,
            "POLL" => kind::POLL,
            "STAT" => kind::STAT,
            "USTAT" => kind::USTAT,
            "BGN" => kind::BGN,
            "BGNAK" => kind::BGNAK,
            "END" => kind::END,
            "ENDAK" => kind::ENDAK,
            other => panic!("{other} is no type"),
        }
    })
}
