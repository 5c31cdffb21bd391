//! Frames of associations: the bytes of docs/stp.md §15.9, random frames that are written, and random bytes that are read.
//!
//! Follows docs/stp.md §15.2; its bytes were written by python/tests/stp_frames.py, which shares no line with this crate.
//! Differs from `stp_packets`: tests the data inside the packets.
//! Leaves out the effect of a frame on a stream.

use bytes::Bytes;
use skyhop_chance::{Seed, Stream};
use skyhop_wire::stp::{
    Begin, Class, Contents, Control, End, Features, Frame, FrameError, Frames, MOST, Packet, PayloadLength,
    Reason, emit, parse,
};

const DOCUMENT: &str = include_str!("../../../docs/stp.md");

type Shown = Vec<(&'static str, Vec<u8>)>;

/// Titles and bytes of a block of the document.
fn shown(block: usize) -> Shown {
    let section = DOCUMENT.split("### 15.9 ").nth(1).expect("section 15.9");
    let block = section.split("```hex\n").nth(block).and_then(|b| b.split("```").next()).expect("a block");
    let mut all: Shown = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("# ") {
            Some(title) => all.push((title, Vec::new())),
            None => all.last_mut().expect("a title").1.extend(
                line.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits")),
            ),
        }
    }
    all
}

fn class(priority: u8, weight: u8) -> Class {
    Class { priority, weight }
}

fn stream(id: u64, opening: Option<Class>, offset: u64, end: bool, data: &'static str) -> Frame<Bytes> {
    let data = (!data.is_empty()).then(|| Bytes::from_static(data.as_bytes()));
    Frame::Stream { id, opening, offset, end, data }
}

fn datagram(channel: u64, offset: u64, data: &'static str) -> Frame<Bytes> {
    Frame::Datagram { channel, offset, data: Bytes::from_static(data.as_bytes()) }
}

/// The frames that the document's text describes, in order.
fn said() -> Vec<Vec<Frame<Bytes>>> {
    let usual = Some(Class::default());
    vec![
        vec![stream(0, usual, 0, false, "GET /\n")],
        vec![stream(6, None, 1400, false, "data")],
        vec![stream(1, Some(class(0, 255)), 0, true, "")],
        vec![stream(0, None, 6, true, "")],
        vec![stream(2, usual, 0, true, "abc"), stream(16384, None, 1 << 30, false, "de")],
        vec![Frame::Reset { id: 4, reason: 1, end: 100_000 }],
        vec![Frame::Class { id: 4, change: 1, class: class(1, 32) }],
        vec![
            Frame::Credit { id: 2, limit: 48 << 20 },
            Frame::CreditEach { limit: 1 << 20 },
            Frame::CreditAll { limit: 64 << 20 },
            Frame::CreditStreams { limit: 4096 },
            Frame::CreditDatagrams { limit: 256 << 10 },
        ],
        vec![Frame::Ends { ids: vec![0, 2, 4, 202, 1202] }],
        vec![datagram(7, 63, "voice")],
        vec![Frame::DatagramsBefore { offset: 68 }, datagram(7, 68, "more")],
        vec![],
    ]
}

fn put(frames: &Frames<Bytes>) -> Vec<u8> {
    let mut out = Vec::new();
    frames.put(&mut out);
    assert_eq!(out.len(), frames.len());
    let lengths = frames.clone().map(|data| PayloadLength(data.len() as u64));
    assert_eq!(lengths.len(), out.len(), "a length in place of the bytes is as long");
    out
}

#[test]
fn the_documents_frames_are_what_it_says() {
    let (shown, said) = (shown(1), said());
    assert_eq!(shown.len(), said.len());
    for ((title, bytes), frames) in shown.iter().zip(said) {
        let frames = Frames(frames.into());
        let read = Frames::parse(bytes).unwrap_or_else(|e| panic!("{title}: {e}"));
        assert_eq!(read.map(Bytes::copy_from_slice), frames, "{title}");
        assert_eq!(&put(&frames), bytes, "{title}");
    }
}

#[test]
fn the_documents_packets_of_version_2_are_what_it_says() {
    let begin = Begin {
        version: 2,
        features: Features::COMPACT.with(Features::REPORT),
        max_payload: 1460,
        first: 0xff_fffd,
        credit: 1000,
        count: 7,
    };
    let packet = |here: bool, seq, poll, data: Option<Vec<Frame<Bytes>>>, control: Control| Packet {
        source_port: if here { 50_000 } else { 57_824 },
        destination_port: if here { 57_824 } else { 50_000 },
        instance: 0x1234,
        seq,
        poll,
        data: data.map(|frames| Frames(frames.into())),
        control: (!control.is_empty()).then(|| Box::new(control)),
    };
    let none = Control::default;
    let opening = vec![stream(0, Some(Class::default()), 0, false, "GET /\n")];
    let refusal = Control { end: Some(End { reason: Reason::Versions(1, 2) }), ..none() };
    let said = [
        packet(true, 0xff_fffd, Some(0xffff_f000), Some(opening), Control { begin: Some(begin), ..none() }),
        packet(false, 0x0a_0b0c, None, Some(vec![Frame::CreditAll { limit: 64 << 20 }]), none()),
        packet(false, 0x0a_0b0c, None, None, refusal),
    ];
    let shown = shown(2);
    assert_eq!(shown.len(), said.len());
    for ((title, bytes), packet) in shown.iter().zip(&said) {
        let mut emitted = Vec::new();
        emit(packet, &mut emitted);
        assert_eq!(&emitted, bytes, "{title}");
        let read = parse(bytes).expect(title);
        let read = read.map(|data| Frames::parse(data).expect(title).map(Bytes::copy_from_slice));
        assert_eq!(&read, packet, "{title}");
    }
}

/// A refusal followed by zeros, as before version 2, or by an impossible version range names no versions.
#[test]
fn a_refusal_names_versions_or_none() {
    let refusal = |detail: [u8; 3]| {
        let head = [0xe1, 0xe0, 0xc3, 0x50, 0x40, 0, 0, 1, 0, 0, 0x12, 0x34, 4];
        let mut bytes = [&head[..], &detail].concat();
        let sum: u32 = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        bytes[8..10].copy_from_slice(&(!((sum & 0xffff) as u16 + (sum >> 16) as u16)).to_be_bytes());
        parse(&bytes).expect("an END").control.and_then(|c| c.end).expect("an END").reason
    };
    assert_eq!(refusal([0, 0, 0]), Reason::Protocol);
    assert_eq!(refusal([1, 1, 0]), Reason::Versions(1, 1));
    assert_eq!(refusal([1, 2, 0]), Reason::Versions(1, 2));
    assert_eq!(refusal([2, 1, 0]), Reason::Protocol);
    assert_eq!(refusal([0, 2, 0]), Reason::Protocol);
}

fn number(chance: &mut Stream) -> u64 {
    let bits = chance.bits() % 63;
    chance.bits() & ((1 << bits) - 1)
}

fn frame(chance: &mut Stream) -> Frame<Bytes> {
    let mut some = |most: u64| chance.bits() % most;
    let (which, long, open, end) = (some(11), some(40), some(2) == 0, some(2) == 0);
    let class = class(some(8) as u8, 1 + some(255) as u8);
    let data = Bytes::from((0..long).map(|_| some(256) as u8).collect::<Vec<u8>>());
    let reason = some(256) as u8;
    let (id, value) = (number(chance), number(chance).min(MOST - 64));
    match which {
        0 => Frame::Reset { id, reason, end: value },
        1 => Frame::Class { id, change: value, class },
        2 => Frame::Credit { id, limit: value },
        3 => Frame::CreditAll { limit: value },
        4 => Frame::CreditStreams { limit: value },
        5 => Frame::CreditDatagrams { limit: value },
        6 => Frame::DatagramsBefore { offset: value },
        7 => Frame::CreditEach { limit: value },
        8 => {
            let mut ids: Vec<u64> = (0..1 + long).map(|_| number(chance)).collect();
            ids.sort_unstable();
            ids.dedup();
            Frame::Ends { ids }
        }
        9 if long > 0 => Frame::Datagram { channel: id, offset: value, data },
        _ => {
            let says = open || end || long > 0;
            let data = (long > 0).then_some(data);
            Frame::Stream { id, opening: open.then_some(class), offset: value, end: end || !says, data }
        }
    }
}

#[test]
fn whatever_is_written_reads_the_same() {
    let mut chance = Seed(20).stream("frames");
    for case in 0..20_000 {
        let count = chance.bits() % 6;
        let frames = Frames((0..count).map(|_| frame(&mut chance)).collect());
        let bytes = put(&frames);
        let read = Frames::parse(&bytes).unwrap_or_else(|e| panic!("case {case}: {e} in {frames:?}"));
        assert_eq!(read.map(Bytes::copy_from_slice), frames, "case {case}");
    }
}

/// Altered or truncated frames are never read as more than they are; frames that are read are written in at most as many bytes.
#[test]
fn whatever_is_read_is_written_no_longer() {
    let mut chance = Seed(21).stream("frames");
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..100_000 {
        let count = 1 + chance.bits() % 4;
        let mut bytes = put(&Frames((0..count).map(|_| frame(&mut chance)).collect()));
        let at = chance.bits() as usize % bytes.len();
        bytes[at] ^= chance.bits() as u8;
        bytes.truncate(1 + chance.bits() as usize % (2 * bytes.len()));
        match Frames::parse(&bytes) {
            Ok(read) => {
                let read = read.map(Bytes::copy_from_slice);
                let again = put(&read);
                assert!(again.len() <= bytes.len());
                assert_eq!(Frames::parse(&again).map(|f| f.map(Bytes::copy_from_slice)), Ok(read));
                taken += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 10_000 && refused > 10_000, "{taken} taken, {refused} refused");
}

#[test]
fn what_is_no_frames_is_refused_whole() {
    let cases: [(&[u8], FrameError); 14] = [
        (&[1], FrameError::Short),
        (&[1, 0], FrameError::Short),
        (&[0x40], FrameError::Kind(0x40)),
        (&[0x14], FrameError::Kind(0x14)),
        (&[0x13, 0], FrameError::Range),
        (&[0x13, 3, 4, 2], FrameError::Range),
        (&[0x13, 2, 4, 0], FrameError::Range),
        (&[3, 0x40], FrameError::Short),
        (&[2, 0, 0, 8, 16], FrameError::Class),
        (&[2, 0, 0, 7, 0], FrameError::Class),
        (&[8, 0, 0, 2, 0x61], FrameError::Short),
        (&[9, 0, 0], FrameError::Range),
        (&[0x11, 0, 0], FrameError::Range),
        (&[0x0f, 0, 3, 16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x61], FrameError::Range),
    ];
    for (bytes, error) in cases {
        assert_eq!(Frames::parse(bytes), Err(error), "{bytes:02x?}");
        assert!(!error.to_string().is_empty());
    }
    // Padding is read anywhere, and never written but alone.
    let padded = Frames::parse(&[0, 0, 4, 5, 0]).expect("padding");
    assert_eq!(padded.0[..], [Frame::CreditAll { limit: 5 }]);
}
