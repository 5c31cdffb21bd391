//! Any bytes as IPv4 packets with TCP, ICMP or UDP inside: the parser must answer, what it takes must read the same when it is
//! written again, and a compressing link makes no packet longer.
//!
//! Follows RFC 791, 793, 792, 1191, 768 and 1144. Lengths and checksums are made right first, so that what lies behind them is reached.
//! Differs from the tests: nothing is expected of the bytes. Packets follow one another, each behind its length.
//! Leaves out STP, which is `stp_packet`'s.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_wire::{Compressor, Packet, Transport, emit, parse};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut compressor = Compressor::default();
    while let Some((&len, after)) = rest.split_first() {
        let (packet, after) = after.split_at((4 * len as usize).min(after.len()));
        rest = after;
        look(packet, &mut compressor);
        look(&mended(packet), &mut compressor);
    }
});

fn look(bytes: &[u8], compressor: &mut Compressor) {
    let packet = match parse(bytes) {
        Ok(packet) => packet,
        Err(e) => {
            let line = e.to_string();
            assert!(!line.is_empty() && !line.contains(['\n', '\u{1b}']), "{line:?}");
            return;
        }
    };
    let mut written = Vec::new();
    let len = emit(&packet, usize::MAX, &mut written);
    assert_eq!((len, len as usize), (packet.wire_len(), written.len()), "{packet:?}");
    let again = parse(&written).unwrap_or_else(|e| panic!("what was written does not read: {e}: {packet:?}"));
    assert_eq!(again, packet);
    shortens(&packet, compressor);
}

/// RFC 1144 §3.2.2: three to sixteen bytes in place of the headers, behind a packet of the same connection.
fn shortens(packet: &Packet, compressor: &mut Compressor) {
    if let Some(len) = compressor.compressed_len(packet) {
        let header = len - packet.payload_len;
        assert!((3..=16).contains(&header) && len < packet.wire_len(), "{header} bytes for {packet:?}");
        assert!(matches!(packet.transport, Transport::Tcp(_)));
    }
    compressor.sent(packet);
}

/// The packet with version, length and checksums as they should be.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() < 20 {
        return bytes;
    }
    let header = 4 * (bytes[0] as usize & 15).clamp(5, bytes.len() / 4).min(15);
    bytes[0] = 0x40 | (header / 4) as u8;
    let len = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    // Not a fragment, and of a protocol that is known.
    bytes[6] &= 0x40;
    bytes[7] = 0;
    bytes[9] = [6, 1, 17, 6][bytes[9] as usize % 4];
    bytes[10..12].fill(0);
    let sum = checksum(&[&bytes[..header]]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    let body = bytes.len() - header;
    let at = header
        + match bytes[9] {
            6 => 16,
            1 => 2,
            _ => 6,
        };
    if at + 2 > bytes.len() {
        return bytes;
    }
    if bytes[9] == 6 {
        let most = (body / 4).clamp(5, 15) as u8;
        bytes[header + 12] = (bytes[header + 12] >> 4).clamp(5, most) << 4;
    }
    if bytes[9] == 17 {
        bytes[header + 4..header + 6].copy_from_slice(&(body as u16).to_be_bytes());
    }
    bytes[at..at + 2].fill(0);
    let pseudo = [&bytes[12..20], &[0, bytes[9]][..], &(body as u16).to_be_bytes()[..]].concat();
    let parts: &[&[u8]] = if bytes[9] == 1 { &[&bytes[header..]] } else { &[&pseudo, &bytes[header..]] };
    let sum = checksum(parts);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 = words.map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
