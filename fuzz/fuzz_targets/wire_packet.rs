//! Any bytes as packets of IPv4 or IPv6 with TCP, ICMP or UDP inside: the parser must return, accepted packets must read the same
//! when written again, other packets still have a length and a mark, and a compressing link makes no packet longer.
//!
//! Follows RFC 791, 8200, 793, 792, 4443, 1191, 768 and 1144. Lengths and checksums are corrected first, so that the code after
//! them is reached.
//! Differs from the tests: there are no expectations on the bytes. Packets follow one another, each after its length.
//! Leaves out STP, which `stp_packet` has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_wire::{Compressor, Ecn, Packet, Transport, Version, emit, mark, observe, parse};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut compressor = Compressor::default();
    while let Some((&len, after)) = rest.split_first() {
        let (packet, after) = after.split_at((4 * len as usize).min(after.len()));
        rest = after;
        look(packet, &mut compressor);
        let mended = if packet.first().is_some_and(|first| first >> 4 == 6) { mended_v6(packet) } else { mended(packet) };
        look(&mended, &mut compressor);
    }
});

fn look(bytes: &[u8], compressor: &mut Compressor) {
    seen(bytes);
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

/// A packet of a real host: its length is that of its header, what is understood is what the parser reads, and a mark is seen.
fn seen(bytes: &[u8]) {
    let Ok(seen) = observe(bytes) else { return assert!(parse(bytes).is_err()) };
    let field = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let len = match seen.packet.ip.version {
        Version::V4 => field(2),
        Version::V6 => 40 + field(4),
    };
    assert!(seen.packet.wire_len() as usize == len && len <= bytes.len(), "{seen:?}");
    let mut marked = bytes.to_vec();
    mark(&mut marked);
    let again = observe(&marked).expect("a mark is no mistake");
    assert_eq!((again.packet.ip.ecn, again.packet.wire_len(), again.flow), (Ecn::Marked, len as u32, seen.flow));
    if let Ok(packet) = parse(bytes).map(|packet| Packet { ip: skyhop_wire::Ip { ecn: Ecn::Marked, ..packet.ip }, ..packet }) {
        assert_eq!(parse(&marked), Ok(packet));
    }
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

/// The same of IPv6, with addresses that are known.
fn mended_v6(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() < 48 {
        return bytes;
    }
    let body = (bytes.len() - 40) as u16;
    bytes[4..6].copy_from_slice(&body.to_be_bytes());
    bytes[6] = [6, 58, 17, 6][bytes[6] as usize % 4];
    let prefix = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[8..20].copy_from_slice(&prefix);
    bytes[24..36].copy_from_slice(&prefix);
    let at = match bytes[6] {
        6 => 56,
        58 => 42,
        _ => 46,
    };
    if at + 2 > bytes.len() {
        return bytes;
    }
    match bytes[6] {
        6 => {
            let most = (body / 4).clamp(5, 15) as u8;
            bytes[52] = (bytes[52] >> 4).clamp(5, most) << 4;
        }
        17 => bytes[44..46].copy_from_slice(&body.to_be_bytes()),
        _ => {
            // Messages about packets of this version, by chance, and the addresses in them.
            if bytes[40] & 3 == 2 && bytes.len() >= 96 {
                (bytes[40], bytes[41], bytes[48]) = (2, 0, 0x60 | bytes[48] & 15);
                bytes[56..68].copy_from_slice(&prefix);
                bytes[72..84].copy_from_slice(&prefix);
            } else {
                bytes[40] = 128 | bytes[40] & 1;
                bytes[41] = 0;
            }
        }
    }
    bytes[at..at + 2].fill(0);
    let pseudo = [&bytes[8..40], &[0, 0], &body.to_be_bytes()[..], &[0, 0, 0, bytes[6]]].concat();
    let sum = match checksum(&[&pseudo, &bytes[40..]]) {
        // Of a datagram 0 would say that there is none.
        0 if bytes[6] == 17 => 0xffff,
        sum => sum,
    };
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
