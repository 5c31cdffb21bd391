//! Any bytes as the data of an association's packet: the parser must return, and accepted frames must read the same when written
//! again.
//!
//! Follows docs/stp.md §15.2.
//! Differs from the tests: there are no expectations on the bytes.
//! Leaves out the packet around them, which `stp_packet` has.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use skyhop_wire::stp::{Contents, Frames};

fuzz_target!(|bytes: &[u8]| {
    let Ok(frames) = Frames::parse(bytes) else { return };
    let frames = frames.map(Bytes::copy_from_slice);
    let mut again = Vec::new();
    frames.put(&mut again);
    assert_eq!(again.len(), frames.len());
    assert!(again.len() <= bytes.len().max(1));
    let read = Frames::parse(&again).expect("what is written is frames");
    assert_eq!(read.map(Bytes::copy_from_slice), frames);
});
