//! STP packets byte by byte, written by hand from docs/stp.md §3.
//!
//! One description serves both ways: its bytes must parse to the packet, and the packet must be emitted as its bytes.
//! Differs from a round trip: the expected bytes do not come from our own emit.
//! Leaves out the meaning of a number in a connection.

use skyhop_wire::stp::{
    Begin, Contents, Control, End, Features, Gap, MarkCounts, Packet, ParseError, Payload, PayloadLength,
    Reason, Report, Stat, Ustat, emit, expand, parse, wire_number,
};

#[test]
fn a_header_is_twelve_bytes_and_data_are_the_rest() {
    let packet = Packet { data: Some(Data(vec![1, 2, 3])), ..plain(0xab_cdef) };
    let by_hand =
        [&[0xe1, 0xe0, 0x01, 0xbb, 0x01, 0xab, 0xcd, 0xef, 0, 0, 0x12, 0x34][..], &[1, 2, 3]].concat();
    same(&packet, &by_hand);
    assert_eq!((packet.kind(), packet.behind()), (1, 0xab_cdf0));
    assert_eq!(
        Packet { data: Some(Data(vec![0])), ..plain(0xff_ffff) }.behind(),
        0,
        "behind the last number is the first"
    );
    assert_eq!(plain(0xff_ffff).behind(), 0xff_ffff);
}

#[test]
fn contents_stand_in_the_documents_order() {
    let begin = Begin {
        version: 1,
        features: Features(3),
        max_payload: 0x0594,
        first: 0x112233,
        credit: 0x445566,
        count: 0x778899aa,
    };
    let stat = Stat {
        echo: 0xdead_beef,
        next: 0xff_fffe,
        credit: 0x40,
        from: 0xff_fffe,
        upto: 0x10,
        gaps: vec![Gap { start: 0xff_fffe, end: 1 }, Gap { start: 5, end: 6 }],
        report: Some(Report { received: 7, at: 8, delayed: 9, marks: None }),
        compact: false,
    };
    let ustat = Ustat { next: 1, credit: 2, gaps: vec![Gap { start: 3, end: 4 }], compact: false };
    let control = Control {
        begin: Some(begin),
        begin_ack: Some(Begin { version: 9, ..begin }),
        end: Some(End { reason: Reason::Silent }),
        end_ack: true,
        stat: Some(stat),
        ustat: Some(ustat),
        ..Control::default()
    };
    let packet = Packet {
        poll: Some(0x0102_0304),
        data: Some(Data(vec![0x55])),
        control: Some(Box::new(control)),
        ..plain(1)
    };
    let begin = [1, 3, 0x05, 0x94, 0, 0x11, 0x22, 0x33, 0, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa];
    let stat = [
        0x02, 0xff, 0xff, 0xfe, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0x40, 0, 0xff, 0xff, 0xfe, 0, 0, 0, 0x10, 0,
        0, 0, 2, //
        0, 0xff, 0xff, 0xfe, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 6, //
        0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9,
    ];
    let by_hand = [
        &[0xe1, 0xe0, 0x01, 0xbb, 0xff, 0, 0, 1, 0, 0, 0x12, 0x34][..],
        &begin,
        &[9],
        &begin[1..],
        &[2, 0, 0, 0],
        &stat,
        &[0, 0, 0, 1, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4],
        &[1, 2, 3, 4, 0x55],
    ];
    same(&packet, &by_hand.concat());
}

#[test]
fn a_plain_stat_that_misses_nothing_has_twelve_bytes() {
    let next = 0xff_fffe;
    let stat = Stat {
        echo: 0xdead_beef,
        next,
        credit: 0x40,
        from: next,
        upto: next,
        gaps: vec![],
        report: None,
        compact: false,
    };
    let report = Some(Report { received: 7, at: 8, delayed: 9, marks: None });
    let packet = |stat: Stat| Packet {
        control: Some(Box::new(Control { stat: Some(stat), ..Control::default() })),
        ..plain(1)
    };
    let head = [0xe1, 0xe0, 0x01, 0xbb, 4, 0, 0, 1, 0, 0, 0x12, 0x34];
    let bare = [4, 0xff, 0xff, 0xfe, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0x40];
    same(&packet(stat.clone()), &[&head[..], &bare].concat());
    let told = [&[6], &bare[1..], &[0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9]].concat();
    same(&packet(Stat { report, ..stat.clone() }), &[&head[..], &told].concat());
    // All that the list speaks of has arrived, but it does not begin at N(R): it is a part of a longer one.
    let part = [&[0], &bare[1..], &[0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0]].concat();
    same(&packet(Stat { from: 5, upto: 9, ..stat.clone() }), &[&head[..], &part].concat());
    // The long form without a list is read as well.
    let long = [&[0], &bare[1..], &[0, 0xff, 0xff, 0xfe, 0, 0xff, 0xff, 0xfe, 0, 0, 0, 0]].concat();
    let long = sealed(&[&head[..], &long].concat());
    assert_eq!(parse(&long).map(|p| p.map(|d| Data(d.to_vec()))), Ok(packet(stat)));
}

#[test]
fn the_short_form_counts_distances() {
    let gaps = vec![
        Gap { start: 0xff_fff8, end: 0xff_fffa },
        Gap { start: 0x30, end: 0x31 },
        Gap { start: 0x31 + 0x3fff, end: 0x40_4030 },
    ];
    let stat = Stat {
        echo: 5,
        next: 0xff_fff0,
        credit: 0x30,
        from: 0xff_fff5,
        upto: 0x41_0000,
        gaps,
        report: None,
        compact: true,
    };
    let control = Control { stat: Some(stat), ..Control::default() };
    let packet = Packet { control: Some(Box::new(control)), ..plain(9) };
    let by_hand = [
        &[0xe1, 0xe0, 0x01, 0xbb, 0x04, 0, 0, 9, 0, 0, 0x12, 0x34][..],
        &[0x01, 0xff, 0xff, 0xf0, 0, 0, 0, 5],
        // N(MR)-N(R) = 64 takes two bytes, from-N(R) = 5 one, upto-from = 0x41000b four.
        &[0x40, 0x40, 0x05, 0x80, 0x41, 0x00, 0x0b, 3],
        // Starts less the end before: 3, 0x36, 0x3fff; lengths 2, 1, 0x400000.
        &[3, 2, 0x36, 1, 0x7f, 0xff, 0x80, 0x40, 0x00, 0x00],
    ];
    same(&packet, &by_hand.concat());
    let gaps = vec![Gap { start: 0xff_ffff, end: 0 }, Gap { start: 63, end: 127 }];
    let ustat = Ustat { next: 0xff_ff00, credit: 0xff_ff00, gaps, compact: true };
    let control = Control { ustat: Some(ustat), ..Control::default() };
    let by_hand = [
        &[0xe1, 0xe0, 0x01, 0xbb, 0x08, 0, 0, 9, 0, 0, 0x12, 0x34][..],
        &[0x01, 0xff, 0xff, 0x00, 0, 2, 0x40, 0xff, 1, 63, 0x40, 64],
    ];
    same(&Packet { control: Some(Box::new(control)), ..plain(9) }, &by_hand.concat());
}

#[test]
fn distances_may_be_longer_than_need_be_but_not_of_eight_bytes_or_out_of_the_space() {
    let stat = |numbers: &[u8]| {
        let head = [0xe1, 0xe0, 0x01, 0xbb, 0x04, 0, 0, 9, 0, 0, 0x12, 0x34, 0x01, 0, 0, 0, 0, 0, 0, 5];
        parse(&sealed(&[&head[..], numbers].concat())).map(|p| p.control.unwrap().stat.unwrap().upto)
    };
    assert_eq!(stat(&[0, 0, 7, 0]), Ok(7));
    assert_eq!(stat(&[0x40, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 7, 0x40, 0]), Ok(7));
    assert_eq!(stat(&[0, 0, 0x80, 0xff, 0xff, 0xff, 0]), Ok(0xff_ffff));
    assert!(stat(&[0, 0, 0x81, 0, 0, 0, 0]).is_err(), "2^24");
    assert!(stat(&[0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 7, 0]).is_err(), "eight bytes");
}

#[test]
fn every_combination_of_types_and_every_prefix_of_it() {
    for kind in 1..=255u8 {
        for compact in [false, true] {
            let packet = combination(kind, compact);
            assert_eq!(packet.kind(), kind);
            let bytes = bytes(&packet);
            assert_eq!(bytes.len(), packet.wire_len());
            assert_eq!(parse(&bytes).map(|p| p.map(|d| Data(d.to_vec()))), Ok(packet.clone()));
            for len in 0..bytes.len() {
                let cut = parse(&bytes[..len]);
                assert!(cut.is_err(), "{kind:#x} {len}: {cut:?}");
                // With a checksum that is right, only data and padding may be cut shorter.
                let cut = (len >= 12).then(|| parse(&sealed(&bytes[..len])).is_ok());
                let may = kind & 1 != 0 && len > bytes.len() - 5;
                assert_eq!(cut.unwrap_or(false), may, "{kind:#x} cut to {len} of {}", bytes.len());
            }
            let longer = parse(&sealed(&[&bytes[..], &[0, 0, 0]].concat())).is_ok();
            assert_eq!(longer, kind & 3 != 0, "{kind:#x} with more behind it");
        }
    }
    assert_eq!(parse(&sealed(&[0; 12])).unwrap_err(), ParseError::NoKind);
}

#[test]
fn every_flipped_bit_is_noticed() {
    for kind in [0x01, 0x03, 0x04, 0x08, 0x13, 0x24, 0x41, 0xc4, 0xff] {
        let bytes = bytes(&combination(kind, true));
        for bit in 0..bytes.len() * 8 {
            let mut spoilt = bytes.clone();
            spoilt[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&spoilt).unwrap_err(), ParseError::Checksum, "bit {bit} of type {kind:#x}");
        }
        // Bursts of up to 15 bits cannot cancel themselves in 16-bit words either.
        for start in 0..bytes.len() * 8 - 16 {
            for width in [2, 7, 15] {
                let mut spoilt = bytes.clone();
                (start..start + width).for_each(|bit| spoilt[bit / 8] ^= 0x80 >> (bit % 8));
                assert!(parse(&spoilt).is_err(), "{width} bits from {start} of type {kind:#x}");
            }
        }
    }
}

#[test]
fn lists_that_cannot_be_are_refused() {
    let gap = |start: u32, end: u32| Gap { start, end };
    let lists: [(&[Gap], bool); 8] = [
        (&[gap(10, 12), gap(12, 14)], true),
        (&[gap(10, 10)], false),
        (&[gap(12, 10)], false),
        (&[gap(10, 12), gap(11, 14)], false),
        (&[gap(20, 22), gap(10, 12)], false),
        (&[gap(4, 6)], false),
        (&[gap(99, 101)], false),
        (&[gap(99, 100)], true),
    ];
    for (gaps, fine) in lists {
        let gaps = gaps.to_vec();
        let stat =
            Stat { echo: 1, next: 5, credit: 500, from: 5, upto: 100, gaps, report: None, compact: false };
        let control = Control { stat: Some(stat), ..Control::default() };
        let packet = Packet { control: Some(Box::new(control)), ..plain(1) };
        assert_eq!(parse(&bytes(&packet)).is_ok(), fine, "{packet:?}");
    }
    // A count of gaps that are not there must not cost memory.
    let head = [0xe1, 0xe0, 0x01, 0xbb, 0x04, 0, 0, 9, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 5];
    let numbers = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff];
    assert_eq!(parse(&sealed(&[&head[..], &numbers].concat())).unwrap_err(), ParseError::List);
}

#[test]
fn numbers_are_read_as_the_nearest_across_the_wrap() {
    const SPACE: u64 = 1 << 24;
    for near in [
        0,
        1,
        100,
        SPACE / 2 - 1,
        SPACE / 2,
        SPACE - 1,
        SPACE,
        SPACE + 5,
        7 * SPACE - 3,
        7 * SPACE + SPACE / 2,
    ] {
        for distance in [0, 1, 2, 1000, SPACE / 2 - 1] {
            assert_eq!(
                expand(wire_number(near + distance), near),
                Some(near + distance),
                "{near} + {distance}"
            );
            let below = near.checked_sub(distance);
            assert_eq!(expand(wire_number(near.wrapping_sub(distance)), near), below, "{near} - {distance}");
        }
        // Exactly half the space away both would be as near; it is taken for the past.
        let half = expand(wire_number(near + SPACE / 2), near);
        assert_eq!(half, near.checked_sub(SPACE / 2), "{near}");
    }
}

#[test]
fn padding_behind_a_poll_is_ignored() {
    let head = [0xe1, 0xe0, 0x01, 0xbb, 0x02, 0, 0, 9, 0, 0, 0x12, 0x34, 0, 0, 0, 77];
    for padding in [0, 1, 1000] {
        let packet = sealed(&[&head[..], &vec![0xaa; padding]].concat());
        let packet = parse(&packet).expect("a POLL");
        assert_eq!((packet.poll, packet.data), (Some(77), None));
    }
}

/// A payload of real bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Data(Vec<u8>);

impl Contents for Data {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

impl Payload for Data {
    fn split_to(&mut self, n: usize) -> Self {
        Data(self.0.drain(..n).collect())
    }
    fn join(&mut self, more: Self, _packet: usize) -> Option<Self> {
        self.0.extend(more.0);
        None
    }
}

fn plain(seq: u32) -> Packet<Data> {
    Packet {
        source_port: 57_824,
        destination_port: 443,
        instance: 0x1234,
        seq,
        poll: None,
        data: None,
        control: None,
    }
}

fn combination(kind: u8, compact: bool) -> Packet<Data> {
    let has = |bit: u8| kind & bit != 0;
    let n = u32::from(kind);
    let begin = Begin {
        version: 1,
        features: Features(kind),
        max_payload: 1000,
        first: 0xff_ff00 + n,
        credit: n,
        count: n << 20,
    };
    let gaps: Vec<Gap> = (0..1 + n % 5)
        .map(|i| Gap { start: (0xff_fffc + i * 3) & 0xff_ffff, end: (0xff_fffe + i * 3) & 0xff_ffff })
        .collect();
    let report = (n % 2 == 0).then_some(Report {
        received: n,
        at: !n,
        delayed: n << 8,
        marks: (n % 4 == 0).then_some(MarkCounts { marked: n, erased: !n }),
    });
    let stat = Stat {
        echo: !n,
        next: 0xff_fff0,
        credit: 0x77,
        from: 0xff_fff8,
        upto: 0x66,
        gaps: gaps.clone(),
        report,
        compact,
    };
    let gaps = if compact { gaps } else { gaps[..1].to_vec() };
    let control = Control {
        begin: has(0x10).then_some(begin),
        begin_ack: has(0x20).then_some(begin),
        end: has(0x40).then_some(End { reason: Reason::from_number(kind % 6) }),
        end_ack: has(0x80),
        stat: has(4).then_some(stat),
        ustat: has(8).then_some(Ustat { next: 0xff_fff1, credit: 0x55, gaps, compact }),
        ..Control::default()
    };
    let control = (control != Control::default()).then(|| Box::new(control));
    Packet {
        poll: has(2).then_some(n << 24 | 5),
        data: has(1).then(|| Data(vec![kind, 1, 2, 3, 4])),
        control,
        ..plain(0xff_ffff - n)
    }
}

fn bytes<P: Payload>(packet: &Packet<P>) -> Vec<u8> {
    let mut out = vec![0xee];
    emit(packet, &mut out);
    assert_eq!(out[0], 0xee, "emit writes behind what is there");
    out.split_off(1)
}

/// The packet with its RFC 1071 checksum, computed as in its §4.1: big-endian words, carries folded at the end.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out[8..10].fill(0);
    let mut sum: u32 = out.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    out[8..10].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    out
}

fn same(packet: &Packet<Data>, by_hand: &[u8]) {
    let by_hand = sealed(by_hand);
    assert_eq!(bytes(packet), by_hand);
    assert_eq!(parse(&by_hand).map(|p| p.map(|d| Data(d.to_vec()))), Ok(packet.clone()));
    assert_eq!(packet.wire_len(), by_hand.len());
    // A length in place of the bytes gives a packet as long.
    let length = packet.clone().map(|data| PayloadLength(data.0.len() as u64));
    assert_eq!(length.wire_len(), by_hand.len());
}
