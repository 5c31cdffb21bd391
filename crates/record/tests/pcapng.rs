//! Captures, read by the program with which people read them.
//!
//! Blocks are first checked by hand, so that the format is tested even where tshark is missing.
//! Differs from a round trip: the reader is another program.
//! Leaves out IPv6 and TCP options, which the wire crate's own tests cover.

use crate::common::{Scratch, SmallDisk};
use skyhop_record::{PcapngError, PcapngWriter};
use std::process::Command;

#[test]
fn a_capture_holds_to_the_format_and_names_no_date() {
    let bytes = capture(None);
    let blocks = blocks(&bytes);
    let kinds: Vec<u32> = blocks.iter().map(|b| u32::from_le_bytes(b[..4].try_into().unwrap())).collect();
    assert_eq!(kinds, [0x0A0D_0D0A, 1, 1, 6, 6]);
    assert_eq!(bytes, capture(None));
}

#[test]
fn a_snap_length_keeps_the_headers_and_the_packets_length() {
    let bytes = capture(Some(40));
    let packet = blocks(&bytes)[3];
    let field = |i: usize| u32::from_le_bytes(packet[8 + 4 * i..12 + 4 * i].try_into().unwrap());
    assert_eq!((field(3), field(4)), (40, 1500));
}

#[test]
fn tshark_reads_names_nanoseconds_and_lengths() {
    let scratch = Scratch::new("tshark");
    let path = scratch.0.join("packets.pcapng");
    for (snaplen, captured) in [(None, 60), (Some(40), 40)] {
        std::fs::write(&path, capture(snaplen)).unwrap();
        let fields = [
            "frame.interface_name",
            "frame.time_epoch",
            "frame.len",
            "frame.cap_len",
            "ip.src",
            "tcp.dstport",
        ];
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=|"]);
        tshark.args(fields.iter().flat_map(|f| ["-e", f]));
        let Ok(out) = tshark.output() else {
            println!("skipped: tshark is not installed");
            return;
        };
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        let expected = format!(
            "satellite/forward|0.000000001|1500|{captured}|10.0.0.1|80\n\
             satellite/reverse|5000000000.123456789|1500|{captured}|10.0.0.1|80\n"
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn capinfos_sees_interfaces_and_nanosecond_precision() {
    let scratch = Scratch::new("capinfos");
    let path = scratch.0.join("packets.pcapng");
    std::fs::write(&path, capture(None)).unwrap();
    let Ok(out) = Command::new("capinfos").arg(&path).output() else {
        println!("skipped: capinfos is not installed");
        return;
    };
    let text = String::from_utf8(out.stdout).unwrap();
    for expected in
        ["Number of interfaces in file: 2", "nanoseconds (9)", "Raw IP", "Name = satellite/forward"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}

#[test]
fn what_does_not_fit_the_format_is_refused() {
    let mut writer = PcapngWriter::new(Vec::new(), &["a".into()], None).unwrap();
    assert!(matches!(
        writer.packet(1, 0, &[], 0),
        Err(PcapngError::UnknownInterface { interface: 1, count: 1 })
    ));
    let error = writer.packet(0, 0, &vec![0; 300_000], 0).unwrap_err();
    assert_eq!(error.to_string(), "packet of 300000 bytes exceeds the limit of 262144");
    assert!(writer.packet(0, u64::MAX, &vec![0; 262_144], 0).is_ok());
    let error = PcapngWriter::new(Vec::new(), &["x".repeat(70_000)], None).err().unwrap();
    assert!(matches!(error, PcapngError::NameTooLong { len: 70_000 }));
}

#[test]
fn a_disk_that_fills_up_is_an_error_and_leaves_whole_blocks_or_a_torn_last_one() {
    let len = capture(None).len();
    for room in 0..len {
        let written = PcapngWriter::new(SmallDisk { room }, &interfaces(), None).and_then(|mut w| {
            w.packet(0, 1, &packet(), 1500)?;
            w.packet(1, 5_000_000_000_123_456_789, &packet(), 1500)?;
            w.finish()
        });
        assert!(matches!(written, Err(PcapngError::Io(_))), "{room} of {len}");
    }
}

fn interfaces() -> Vec<String> {
    vec!["satellite/forward".into(), "satellite/reverse".into()]
}

fn capture(snaplen: Option<u32>) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &interfaces(), snaplen).unwrap();
    writer.packet(0, 1, &packet(), 1500).unwrap();
    writer.packet(1, 5_000_000_000_123_456_789, &packet(), 1500).unwrap();
    writer.finish().unwrap()
}

/// An IPv4 and a TCP header and 20 of the payload's 1460 bytes.
fn packet() -> Vec<u8> {
    let mut p = vec![0u8; 60];
    p[0] = 0x45;
    p[2..4].copy_from_slice(&1500u16.to_be_bytes());
    (p[8], p[9]) = (64, 6);
    p[12..16].copy_from_slice(&[10, 0, 0, 1]);
    p[16..20].copy_from_slice(&[10, 0, 0, 2]);
    p[20..22].copy_from_slice(&5000u16.to_be_bytes());
    p[22..24].copy_from_slice(&80u16.to_be_bytes());
    (p[32], p[33]) = (0x50, 0x10);
    p
}

/// Cuts a file into blocks; both length fields must agree and be whole words.
fn blocks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let len = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
        assert_eq!(len % 4, 0);
        assert_eq!(bytes[4..8], bytes[len - 4..len]);
        blocks.push(&bytes[..len]);
        bytes = &bytes[len..];
    }
    blocks
}
