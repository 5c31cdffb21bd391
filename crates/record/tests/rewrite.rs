//! Rewritten captures: replaced datagrams read as they should, in every encapsulation, and the rest keeps its bytes.
//!
//! Follows draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap, whose blocks are built by hand here.
//! Differs from a round trip: tshark reads the lengths, checksums, times and comments.
//! Leaves out decryption, which the command's tests have.

use crate::common::Scratch;
use etherparse::PacketBuilder;
use skyhop_record::rewrite::{Datagram, ReadError, RewriteError, Rewritten, rewrite};
use std::process::Command;

const LONG: &[u8] = b"LONG: this is to be shortened to its first word, once or twice";

/// Replaces `LONG` by two packets, `LONG` and `twice`; keeps everything else.
fn shorten(datagram: &Datagram<'_>) -> Option<Vec<Vec<u8>>> {
    (datagram.whole && datagram.payload == LONG).then(|| vec![b"LONG".to_vec(), b"twice".to_vec()])
}

fn written(capture: &[u8]) -> (Rewritten, Vec<u8>) {
    let mut out = Vec::new();
    let done = rewrite(capture, &mut out, shorten).unwrap();
    (done, out)
}

fn udp(frame: etherparse::PacketBuilderStep<etherparse::UdpHeader>, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame.write(&mut out, payload).unwrap();
    out
}

const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

fn ethernet4(payload: &[u8]) -> Vec<u8> {
    udp(
        PacketBuilder::ethernet2(MACS.0, MACS.1).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(40_001, 40_002),
        payload,
    )
}

fn vlan6(payload: &[u8]) -> Vec<u8> {
    let id = 7.try_into().unwrap();
    let frame = PacketBuilder::ethernet2(MACS.0, MACS.1).single_vlan(id);
    udp(frame.ipv6([0xfd; 16], [0xfe; 16], 64).udp(40_001, 40_002), payload)
}

fn bare4(payload: &[u8]) -> Vec<u8> {
    udp(PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(40_001, 40_002), payload)
}

/// A handmade pcapng file.
struct Pcapng {
    bytes: Vec<u8>,
    big: bool,
}

impl Pcapng {
    fn new(big: bool) -> Self {
        let mut capture = Pcapng { bytes: Vec::new(), big };
        capture.section();
        capture
    }

    fn section(&mut self) {
        let (magic, version) = (self.n(0x1a2b_3c4d), if self.big { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
        // A length that becomes wrong when packets change.
        self.block(0x0a0d_0d0a, &[&magic[..], &version, &[0, 0, 0, 0, 0, 0, 1, 0]].concat());
    }

    fn n(&self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn interface(&mut self, link_type: u16, snaplen: u32) {
        let kind = if self.big { u32::from(link_type) << 16 } else { u32::from(link_type) };
        let body = [self.n(kind), self.n(snaplen)].concat();
        self.block(1, &body);
    }

    fn packet(&mut self, interface: u32, us: u32, frame: &[u8], original: u32, comment: &str) {
        let words = [interface, 0, us, frame.len() as u32, original];
        let mut body: Vec<u8> = words.iter().flat_map(|n| self.n(*n)).collect();
        body.extend_from_slice(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        if !comment.is_empty() {
            let len = comment.len() as u32;
            let code = if self.big { 1 << 16 | len } else { len << 16 | 1 };
            body.extend_from_slice(&self.n(code));
            body.extend_from_slice(comment.as_bytes());
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend_from_slice(&[0; 4]);
        }
        self.block(6, &body);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let body_len = body.len().next_multiple_of(4);
        let len = self.n(body_len as u32 + 12);
        self.bytes.extend_from_slice(&self.n(kind));
        self.bytes.extend_from_slice(&len);
        self.bytes.extend_from_slice(body);
        self.bytes.resize(self.bytes.len() + body_len - body.len(), 0);
        self.bytes.extend_from_slice(&len);
    }
}

#[test]
fn every_wrapping_of_a_datagram_is_replaced_and_tshark_finds_nothing_wrong() {
    for big in [false, true] {
        let mut capture = Pcapng::new(big);
        let linked = [
            (1, ethernet4(LONG)),
            (1, vlan6(LONG)),
            (101, bare4(LONG)),
            (228, bare4(LONG)),
            (113, [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], &bare4(LONG)].concat()),
            (276, [&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &bare4(LONG)].concat()),
            (0, [&[2, 0, 0, 0][..], &bare4(LONG)].concat()),
        ];
        for (link_type, _) in &linked {
            capture.interface(*link_type, 262_144);
        }
        for (n, (_, frame)) in (0u32..).zip(&linked) {
            capture.packet(n, 1_000 * n + 1, frame, frame.len() as u32, ["", "a remark"][n as usize % 2]);
        }
        let (done, out) = written(&capture.bytes);
        let n = linked.len() as u64;
        assert_eq!(done, Rewritten { packets: n, others: 0, written: 2 * n, cut: false });
        let fields = [
            "data.data",
            "udp.length",
            "udp.checksum.status",
            "ip.checksum.status",
            "frame.time_epoch",
            "frame.comment",
            "_ws.malformed",
        ];
        let Some(lines) = tshark("wrappings", &out, &fields) else { return };
        assert_eq!(lines.len(), 2 * linked.len());
        for (i, line) in lines.iter().enumerate() {
            let n = i / 2;
            let (data, length) = [("4c4f4e47", "12"), ("7477696365", "13")][i % 2];
            // 1 is good; IPv6 has none. Where the first packet had no checksum there is none.
            let header = if n == 1 { "" } else { "1" };
            let time = format!("0.{:06}000", 1_000 * n + 1);
            let remark = ["", "a remark"][n % 2];
            assert_eq!(line[..], [data, length, "1", header, &time, remark, ""], "packet {i}");
        }
    }
}

#[test]
fn what_is_not_replaced_keeps_its_bytes() {
    let mut capture = Pcapng::new(true);
    capture.interface(1, 0);
    let tcp = {
        let mut out = Vec::new();
        let frame = PacketBuilder::ethernet2(MACS.0, MACS.1).ipv4([1; 4], [2; 4], 9).tcp(1, 2, 3, 4);
        frame.write(&mut out, LONG).unwrap();
        out
    };
    let fragment = {
        let mut frame = ethernet4(LONG);
        // More fragments follow.
        frame[20] |= 0x20;
        frame
    };
    let whole = ethernet4(LONG);
    let cut = &whole[..60];
    capture.packet(0, 1, &tcp, tcp.len() as u32, "tcp");
    capture.packet(0, 2, &fragment, fragment.len() as u32, "");
    capture.packet(0, 3, cut, whole.len() as u32, "cut");
    capture.packet(0, 4, &ethernet4(b"short"), 47, "");
    capture.packet(9, 5, &whole, whole.len() as u32, "of no interface");
    capture.packet(0, 6, &[], 0, "");
    // Blocks of unknown kinds, and names.
    capture.block(4, &[0; 4]);
    capture.block(0x8000_0bad, b"ours alone");
    let (done, out) = written(&capture.bytes);
    assert_eq!(done, Rewritten { packets: 6, others: 4, written: 6, cut: false });
    let mut expected = capture.bytes.clone();
    // But for the section's length, which says that it is not known.
    expected[16..24].fill(0xff);
    assert!(out == expected);

    // A second section forgets the interfaces of the first.
    capture.section();
    capture.packet(0, 7, &whole, whole.len() as u32, "");
    assert_eq!(written(&capture.bytes).0.others, 5);
    capture.interface(1, 0);
    capture.packet(0, 8, &whole, whole.len() as u32, "");
    assert_eq!(written(&capture.bytes).0, Rewritten { packets: 8, others: 5, written: 9, cut: false });
}

#[test]
fn simple_packets_have_no_length_of_their_own() {
    let mut capture = Pcapng::new(false);
    capture.interface(101, 0);
    let frame = bare4(LONG);
    let body = [&capture.n(frame.len() as u32)[..], &frame].concat();
    capture.block(3, &body);
    let (done, out) = written(&capture.bytes);
    assert_eq!((done.packets, done.written), (1, 2));
    let Some(lines) = tshark("simple", &out, &["data.data", "frame.len", "ip.len"]) else { return };
    assert_eq!(lines, [["4c4f4e47", "32", "32"], ["7477696365", "33", "33"]]);
}

#[test]
fn pcap_becomes_the_pcapng_that_says_the_same() {
    for (magic, fraction, big) in [
        (0xa1b2_c3d4_u32, 250_000_u32, false),
        (0xa1b2_c3d4, 250_000, true),
        (0xa1b2_3c4d, 250_000_001, false),
    ] {
        let n = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut capture = [&n(magic)[..], &version, &[0; 8], &n(65_535), &n(1)].concat();
        for payload in [LONG, b"other"] {
            let frame = ethernet4(payload);
            let len = n(frame.len() as u32);
            capture.extend_from_slice(&[n(1_700_000_000), n(fraction), len, len].concat());
            capture.extend_from_slice(&frame);
        }
        let (done, out) = written(&capture);
        assert_eq!(done, Rewritten { packets: 2, others: 0, written: 3, cut: false });
        if let Some(lines) = tshark("pcap", &out, &["data.data", "frame.time_epoch"]) {
            let time = format!("1700000000.25000000{}", fraction % 10);
            assert_eq!(lines, [["4c4f4e47", &time], ["7477696365", &time], ["6f74686572", &time]]);
        }
        let (done, _) = written(&capture[..capture.len() - 1]);
        assert_eq!(done, Rewritten { packets: 1, others: 0, written: 2, cut: true });
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    let broken = |from: usize, bytes: &[u8]| {
        let mut capture = Pcapng::new(false);
        capture.interface(1, 0);
        capture.packet(0, 1, &ethernet4(LONG), 104, "");
        capture.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        match rewrite(&capture.bytes[..], Vec::new(), shorten) {
            Err(RewriteError::Read(e)) => e.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(broken(8, &[0]), "byte 0: a section without its order of bytes");
    assert_eq!(broken(32, &[21]), "byte 28: a block whose length cannot be");
    assert_eq!(broken(32, &[24]), "byte 28: a block whose two lengths differ");
    assert_eq!(broken(55, &[1]), "byte 48: a block that claims more than 16 MB");
    assert_eq!(broken(68, &[200]), "byte 48: a packet that is longer than its block");
    for bytes in [&[][..], &[1], b"GET / HTTP/1.1"] {
        let refused = rewrite(bytes, Vec::new(), shorten);
        assert!(matches!(refused, Err(RewriteError::Read(ReadError::NoCapture(_)))), "{refused:?}");
    }
}

/// Fields of each packet by tshark; `None` without tshark.
fn tshark(name: &str, capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let scratch = Scratch::new(&format!("rewrite-{name}"));
    let path = scratch.0.join("out.pcapng");
    std::fs::write(&path, capture).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.env("HOME", &scratch.0).args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-r",
    ]);
    tshark.arg(&path).args(["-T", "fields", "-E", "separator=|"]).args(fields.iter().flat_map(|f| ["-e", f]));
    let Ok(out) = tshark.output() else {
        println!("skipped: tshark is not installed");
        return None;
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}
