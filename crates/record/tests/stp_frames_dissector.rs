//! Frames of associations in Wireshark: frames that our emitter and machines write, read by tshark with our dissector.
//!
//! Follows docs/stp.md §15.2 and the bytes of §15.9: every field of every frame must read as in the struct.
//! Differs from `stp_dissector`: tests the data inside the packets, and that the version of a connection is known.
//! Leaves out the effect of a frame on a stream, which the dissector does not follow.

use crate::tshark::{Capture, Under, bytes, join, tshark};
use skyhop_transport::stp::{Budgets, Config, Ends, PayloadLength, Reason, Trunk, TrunkEvent};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{
    Begin, Class, Contents, Control, Features, Frame, Frames, MOST, Packet, UDP_PORT, VERSION,
    VERSION_STREAMS,
};
use std::collections::BTreeMap;

/// Fields of frames, in the order of `fields`; the last is for what the dissector refuses.
const FRAME_FIELDS: [&str; 18] = [
    "skystp.frame.type",
    "skystp.frame.type.last",
    "skystp.frame.type.end",
    "skystp.frame.type.open",
    "skystp.frame.stream",
    "skystp.frame.offset",
    "skystp.frame.length",
    "skystp.frame.data",
    "skystp.frame.reason",
    "skystp.frame.end",
    "skystp.frame.change",
    "skystp.frame.priority",
    "skystp.frame.weight",
    "skystp.frame.limit",
    "skystp.frame.channel",
    "skystp.frame.streams",
    "skystp.data",
    "skystp.malformed",
];

/// Every frame with numbers of every length, alone and with all others, last and not last.
#[test]
fn every_field_of_every_frame_reads_as_it_was_meant() {
    let mut packets = vec![opening(1, VERSION_STREAMS)];
    for number in [0, 5, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, (1 << 53) + 1, MOST - 40] {
        let all = frames(number);
        packets.extend(all.iter().map(|frame| sd(1, vec![frame.clone()])));
        packets.extend((0..all.len()).map(|n| sd(1, [&all[n..], &all[..n]].concat())));
    }
    packets.push(sd(1, vec![]));
    assert_frames("frames", &packets);
}

#[test]
fn the_documents_frames_read_as_it_says() {
    let shown = shown();
    let is_packet = |bytes: &[u8]| bytes.starts_with(&[0xc3, 0x50]) || bytes.starts_with(&[0xe1, 0xe0]);
    let (whole, alone): (Vec<_>, Vec<_>) = shown.into_iter().partition(|bytes| is_packet(bytes));
    assert_eq!((alone.len(), whole.len()), (12, 3));
    let read = |bytes: &Vec<u8>| Frames::parse(bytes).expect("frames").map(|data| Raw(data.to_vec())).0;
    let packets: Vec<_> = alone.iter().map(|bytes| sd(1, read(bytes).into_vec())).collect();
    assert_frames("document", &[vec![opening(1, VERSION_STREAMS)], packets].concat());

    let mut capture = Capture::new();
    for bytes in &whole {
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        capture.put_bytes(0, Under::Udp, bytes, port(0), port(2));
    }
    let fields = [
        "begin.version",
        "version",
        "frame.type",
        "frame.stream",
        "frame.limit",
        "end.lowest",
        "end.highest",
    ];
    let fields = fields.map(|f| format!("skystp.{f}"));
    let Some(lines) = tshark("packets", capture, &fields.each_ref().map(String::as_str), &[]) else { return };
    assert_eq!(lines[0], ["2", "", "0x0d", "0", "", "", ""]);
    assert_eq!(lines[1], ["", "", "0x04", "", "67108864", "", ""]);
    assert_eq!(lines[2], ["", "", "", "", "", "1", "2"]);
}

/// The dissector calls malformed whatever `Frames::parse` refuses.
#[test]
fn data_that_are_no_frames_are_malformed() {
    let highest = [0xff; 8];
    let cases: [&[u8]; 16] = [
        &[1],
        &[1, 0],
        &[0x40],
        &[0x14],
        &[0x13, 0],
        &[0x13, 3, 4, 2],
        &[0x13, 2, 4, 0],
        &[&[0x13, 2, 1][..], &highest].concat(),
        &[3, 0x40],
        &[2, 0, 0, 8, 16],
        &[2, 0, 0, 7, 0],
        &[8, 0, 0, 2, 0x61],
        &[9, 0, 0],
        &[0x11, 0, 0],
        &[&[0x0f, 0, 3, 16][..], &highest, &[0x61]].concat(),
        // The frames before the wrong one do not save it.
        &[4, 5, 0, 0x20],
    ];
    let mut capture = Capture::new();
    capture.put(0, Under::Udp, &opening(1, VERSION_STREAMS));
    for case in cases {
        assert!(Frames::parse(case).is_err(), "{case:02x?}");
        capture.put(1, Under::Udp, &sd(1, vec![]).map(|_| Raw(case.to_vec())));
    }
    // Padding is read anywhere, and is one frame as far as it goes.
    capture.put(2, Under::Udp, &sd(1, vec![]).map(|_| Raw(vec![0, 0, 4, 5, 0])));
    let fields = ["skystp.malformed", "_ws.lua.error", "skystp.frame.type"];
    let Some(lines) = tshark("no-frames", capture, &fields, &[]) else { return };
    assert_eq!(lines[0], ["", "", ""]);
    assert_eq!(lines[cases.len() + 1], ["", "", "0x00,0x04,0x00"]);
    for (line, case) in lines[1..].iter().zip(cases) {
        assert_eq!(line[..2], ["1", ""], "{case:02x?}");
    }
    assert_eq!(lines.len(), cases.len() + 2);
}

#[test]
fn the_version_of_each_connection_is_its_own() {
    let said = || vec![Frame::CreditAll { limit: 5 }];
    let back = |packet: Packet<Frames<Raw>>| Packet { source_port: 9, destination_port: UDP_PORT, ..packet };
    let answer = |instance, version| {
        let mut packet = opening(instance, version);
        let control = packet.control.as_mut().expect("a BGN");
        control.begin_ack = control.begin.take();
        back(packet)
    };
    let packets = [
        opening(1, VERSION),
        opening(2, VERSION_STREAMS),
        sd(1, said()),
        sd(2, said()),
        back(sd(1, said())),
        back(sd(2, said())),
        // An answer suffices; without any there is only the setting; another version is not understood.
        answer(3, VERSION_STREAMS),
        sd(3, said()),
        sd(4, said()),
        opening(5, 3),
        sd(5, said()),
        // Refused, and opened again with the version that both know.
        opening(2, VERSION),
        sd(2, said()),
    ];
    let fields = ["skystp.data", "skystp.frame.limit", "skystp.version"];
    let (data, frames) = (["0405", "", ""], ["", "5", ""]);
    for (setting, unknown) in [("FALSE", data), ("TRUE", frames)] {
        let setting = format!("skystp.associations:{setting}");
        // Twice: at the second time everything has been seen before.
        for passes in [&["-o", &setting][..], &["-2", "-o", &setting]] {
            let mut capture = Capture::new();
            packets.iter().for_each(|packet| capture.put(0, Under::Udp, packet));
            let Some(lines) = tshark("versions", capture, &fields, passes) else { return };
            let none = [""; 3];
            let other = ["", "", "1"];
            let expected =
                [none, none, data, frames, data, frames, none, frames, unknown, other, data, none, data];
            assert_eq!(lines, expected, "{passes:?}");
        }
    }
}

#[test]
fn a_packet_that_the_capture_cut_off_is_not_malformed() {
    let packet = sd(1, vec![Frame::CreditAll { limit: 1 << 40 }, frames(300).remove(0)]);
    let whole = bytes(&packet);
    let mut capture = Capture::new();
    capture.put(0, Under::Udp, &opening(1, VERSION_STREAMS));
    (13..whole.len()).for_each(|keep| capture.put_cut(1, &whole, keep));
    let fields = ["skystp.malformed", "_ws.lua.error", "_ws.malformed", "skystp.frame.type"];
    let Some(lines) = tshark("cut", capture, &fields, &[]) else { return };
    assert_eq!(lines.len(), whole.len() - 12);
    for (line, keep) in lines[1..].iter().zip(13..) {
        // Type and limit are nine bytes.
        let types = if keep > 12 + 9 { "0x04,0x09" } else { "0x04" };
        assert_eq!(line, &["", "", "", types], "{keep} bytes");
    }
}

#[test]
fn an_association_over_a_lossy_path_is_told_frame_by_frame() {
    let packets = associate();
    println!("{} packets", packets.len());
    let seen = |wanted: fn(&Frame<PayloadLength>) -> bool| {
        packets.iter().flat_map(|p| &p.data).flat_map(|f| &f.0).filter(|f| wanted(f)).count()
    };
    assert!(seen(|f| matches!(f, Frame::Stream { .. })) > 100);
    assert!(seen(|f| matches!(f, Frame::Reset { .. })) > 0);
    assert!(seen(|f| matches!(f, Frame::Class { .. })) > 0);
    assert!(seen(|f| matches!(f, Frame::Datagram { .. })) > 0);
    assert_frames("association", &packets);
}

/// Data of frames: bytes that differ.
#[derive(Debug, Clone, Default)]
struct Raw(Vec<u8>);

impl Contents for Raw {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// Bytes of the blocks of docs/stp.md §15.9: frames alone, and whole packets.
fn shown() -> Vec<Vec<u8>> {
    let section = include_str!("../../../docs/stp.md").split("### 15.9 ").nth(1).expect("section 15.9");
    let section = section.split("### ").next().expect("its text");
    let mut all: Vec<Vec<u8>> = Vec::new();
    for block in section.split("```hex\n").skip(1) {
        for line in block.split("```").next().expect("a block").lines() {
            if line.starts_with('#') {
                all.push(Vec::new());
                continue;
            }
            let bytes = line.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal"));
            all.last_mut().expect("a title").extend(bytes);
        }
    }
    all
}

fn opening(instance: u16, version: u8) -> Packet<Frames<Raw>> {
    let features = Features::COMPACT.with(Features::REPORT);
    let begin = Begin { version, features, max_payload: 1428, first: 3, credit: 1000, count: 7 };
    let control = Control { begin: Some(begin), ..Control::default() };
    Packet { data: None, control: Some(Box::new(control)), ..sd(instance, vec![]) }
}

fn sd(instance: u16, frames: Vec<Frame<Raw>>) -> Packet<Frames<Raw>> {
    Packet {
        source_port: UDP_PORT,
        destination_port: 9,
        instance,
        seq: 3,
        poll: None,
        data: Some(Frames(frames.into())),
        control: None,
    }
}

/// One of each kind, and of each combination of a STREAM's flags; its numbers are `n` or near it.
fn frames(n: u64) -> Vec<Frame<Raw>> {
    let some = |len: u8| Raw((1..=len).map(|b| b.wrapping_mul(37)).collect());
    let class = Class { priority: (n % 8) as u8, weight: 255 - (n % 255) as u8 };
    let stream = |opening, end, len: u8| {
        let data = (len > 0).then(|| some(len));
        Frame::Stream { id: n, opening, offset: n + 1, end, data }
    };
    vec![
        stream(None, false, 20),
        stream(None, true, 0),
        stream(None, true, 3),
        stream(Some(class), false, 0),
        stream(Some(class), false, 4),
        stream(Some(class), true, 0),
        stream(Some(class), true, 5),
        Frame::Reset { id: n, reason: (n % 5) as u8, end: n + 2 },
        Frame::Class { id: n + 1, change: n, class },
        Frame::Credit { id: n + 2, limit: n },
        Frame::CreditAll { limit: n },
        Frame::CreditStreams { limit: n + 1 },
        Frame::CreditDatagrams { limit: n + 2 },
        Frame::DatagramsBefore { offset: n + 3 },
        Frame::CreditEach { limit: n + 4 },
        Frame::Ends { ids: vec![n] },
        Frame::Ends { ids: vec![n / 3, n + 1, n + 2, n + 40] },
        Frame::Datagram { channel: n + 6, offset: n, data: some(6) },
    ]
}

/// Compares what tshark says of each packet's frames with the frames.
fn assert_frames<P: Contents>(name: &str, packets: &[Packet<Frames<P>>]) {
    let mut capture = Capture::new();
    for (n, packet) in packets.iter().enumerate() {
        capture.put(n as u64, Under::Udp, packet);
    }
    let Some(lines) = tshark(name, capture, &FRAME_FIELDS, &[]) else { return };
    assert_eq!(lines.len(), packets.len());
    for (line, packet) in lines.iter().zip(packets) {
        let expected = expected_frames(packet.data.as_ref());
        for ((field, seen), meant) in FRAME_FIELDS.iter().zip(line).zip(&expected) {
            assert_eq!(seen, meant, "{field} of {:?}", packet.data);
        }
    }
}

/// The expected output of tshark for the data of an SD, in the order of FRAME_FIELDS.
fn expected_frames<P: Contents>(data: Option<&Frames<P>>) -> Vec<String> {
    let mut columns = vec![Vec::new(); FRAME_FIELDS.len()];
    let frames = data.map_or(&[][..], |frames| &frames.0[..]);
    if data.is_some() && frames.is_empty() {
        columns[0].push("0x00".to_owned());
    }
    for (n, frame) in frames.iter().enumerate() {
        for (field, value) in fields(frame, n + 1 == frames.len()) {
            let column =
                FRAME_FIELDS.iter().position(|name| name.strip_prefix("skystp.frame.") == Some(field));
            columns[column.expect(field)].push(value);
        }
    }
    columns.into_iter().map(join).collect()
}

/// Field and value, for each that a frame has.
fn fields<P: Contents>(frame: &Frame<P>, last: bool) -> Vec<(&'static str, String)> {
    let bit = |set: bool| u8::from(set).to_string();
    let number = |name, value: &u64| (name, value.to_string());
    let kind = |kind: u8| ("type", format!("0x{kind:02x}"));
    let class =
        |class: &Class| [("priority", class.priority.to_string()), ("weight", class.weight.to_string())];
    let piece = |data: Option<&P>| {
        let mut bytes = Vec::new();
        data.inspect(|data| data.put(&mut bytes));
        let hex = (!bytes.is_empty()).then(|| bytes.iter().map(|b| format!("{b:02x}")).collect());
        [("length", bytes.len().to_string())].into_iter().chain(hex.map(|hex| ("data", hex)))
    };
    match frame {
        Frame::Stream { id, opening, offset, end, data } => {
            let flags = u8::from(last) | u8::from(*end) << 1 | u8::from(opening.is_some()) << 2;
            let mut all = vec![kind(8 | flags), ("type.last", bit(last)), ("type.end", bit(*end))];
            all.extend([
                ("type.open", bit(opening.is_some())),
                number("stream", id),
                number("offset", offset),
            ]);
            all.extend(opening.iter().flat_map(class).chain(piece(data.as_ref())));
            all
        }
        Frame::Datagram { channel, offset, data } => {
            let all = [kind(0x10 | u8::from(last)), ("type.last", bit(last))];
            all.into_iter()
                .chain([number("channel", channel), number("offset", offset)])
                .chain(piece(Some(data)))
                .collect()
        }
        Frame::Reset { id, reason, end } => {
            vec![kind(1), number("stream", id), ("reason", reason.to_string()), number("end", end)]
        }
        Frame::Class { id, change, class: new } => {
            [kind(2), number("stream", id), number("change", change)].into_iter().chain(class(new)).collect()
        }
        Frame::Credit { id, limit } => vec![kind(3), number("stream", id), number("limit", limit)],
        Frame::CreditAll { limit } => vec![kind(4), number("limit", limit)],
        Frame::CreditStreams { limit } => vec![kind(5), number("limit", limit)],
        Frame::CreditDatagrams { limit } => vec![kind(6), number("limit", limit)],
        Frame::DatagramsBefore { offset } => vec![kind(7), number("offset", offset)],
        Frame::CreditEach { limit } => vec![kind(0x12), number("limit", limit)],
        Frame::Ends { ids } => {
            let head = [kind(0x13), number("streams", &(ids.len() as u64))];
            head.into_iter().chain(ids.iter().map(|id| number("stream", id))).collect()
        }
    }
}

/// To which end, and what.
type Arrival = (usize, Packet<Frames<PayloadLength>>);

/// All packets of an association of two machines, 100 ms apart; one packet in fourteen of the opener's is lost.
fn associate() -> Vec<Packet<Frames<PayloadLength>>> {
    let here = Ends { local_port: 40_000, remote_port: UDP_PORT, instance: 78, count: 1 };
    let there = Ends { local_port: UDP_PORT, ..Ends::default() };
    let (config, budgets) = (Config::default(), Budgets::default());
    let mut ends = [
        Trunk::connect(config.clone(), budgets, here, 0x00ff_ffe0),
        Trunk::listen(config, budgets, there, 5),
    ];
    for n in 0..16 {
        let id = ends[0].open(Class { priority: (n % 8) as u8, ..Class::default() }).expect("a stream");
        assert!(ends[0].write(id, PayloadLength(1000 << (n % 8))).is_none());
        ends[0].shutdown(id);
        ends[0].send_datagram(n, PayloadLength(10 + n), Time::MAX);
    }
    let (mut now, mut out) = (Time::ZERO, Vec::new());
    let mut wire: BTreeMap<(Time, usize), Arrival> = BTreeMap::new();
    for step in 0..2_000 {
        for from in [0, 1] {
            while let Some(event) = ends[from].poll_event() {
                match event {
                    TrunkEvent::Received(id, _) => while ends[from].read(id, usize::MAX).is_some() {},
                    TrunkEvent::PeerFinished(id) if from == 1 => ends[1].shutdown(id),
                    TrunkEvent::Ended(reason) => panic!("{reason:?}"),
                    _ => {}
                }
            }
            while let Some(packet) = ends[from].poll_transmit(now) {
                out.push(packet.clone());
                if from == 1 || out.len() % 14 != 0 {
                    wire.insert((now + Span::from_millis(100), out.len()), (1 - from, packet));
                }
            }
        }
        if step == 5 {
            ends[0].prioritize(14, Class { priority: 0, weight: 99 });
            ends[0].reset(30, Reason::Aborted);
        }
        let arrival = wire.first_key_value().map(|(key, _)| key.0);
        let timers = ends.each_ref().map(Trunk::poll_timeout);
        let Some(at) = timers.into_iter().chain([arrival]).flatten().min() else { break };
        now = at.max(now);
        if arrival == Some(at) {
            let (_, (to, packet)) = wire.pop_first().expect("it is there");
            ends[to].handle_packet(now, &packet);
        } else {
            ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
    }
    assert_eq!(ends[0].streams(), 0, "all are over");
    out
}
