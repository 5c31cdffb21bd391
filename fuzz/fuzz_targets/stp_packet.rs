//! Any bytes as an STP packet: the parser must return, and accepted packets must read the same when written again.
//!
//! Follows docs/stp.md §3 and §9. The checksum is corrected first, so that the code after it is reached.
//! Differs from the tests: there are no expectations on the bytes.
//! Leaves out the machine, which `stp_pair` drives.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_wire::stp::{HEADER_LEN, emit, parse};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse(bytes);
    if bytes.len() < HEADER_LEN || bytes.len() > 65_535 {
        return;
    }
    let mut bytes = bytes.to_vec();
    bytes[8..10].fill(0);
    let mut sum: u64 =
        bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[8..10].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let Ok(packet) = parse(&bytes) else { return };
    let packet = packet.map(|data| bytes::Bytes::copy_from_slice(data));
    let mut again = Vec::new();
    emit(&packet, &mut again);
    // Distances may have been written longer than need be; never shorter.
    assert_eq!(again.len(), packet.wire_len());
    assert!(again.len() <= bytes.len());
    let read =
        parse(&again).expect("what is emitted is a packet").map(|data| bytes::Bytes::copy_from_slice(data));
    assert_eq!(read, packet);
});
