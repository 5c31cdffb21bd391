//! Any bytes as the beginning of a stream between two gateways, in any pieces: what is read is bounded, does not depend on the pieces,
//! and means the same when it is written again.
//!
//! Follows docs/stp.md §16. The first byte says in which pieces the others come.
//! Differs from the tests: nothing is expected of the bytes.
//! Leaves out the association, which `associations`, `stp_packet` and `stp_frames` have.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_splice::preamble::{Answer, MOST, Preamble, READ_MOST};

fuzz_target!(|bytes: &[u8]| {
    let Some((&step, bytes)) = bytes.split_first() else { return };
    let whole = Preamble::parse(bytes);
    let mut come = 0;
    while come < bytes.len() {
        come = (come + 1 + usize::from(step)).min(bytes.len());
        match Preamble::parse(&bytes[..come]) {
            // More is asked for within bounds only.
            Ok(None) => assert!(come < READ_MOST),
            early => {
                assert_eq!(early, whole);
                break;
            }
        }
    }
    if let Ok(Some((preamble, len))) = whole {
        assert!(len <= READ_MOST && len <= bytes.len());
        let mut again = Vec::new();
        preamble.emit(&mut again);
        assert!(again.len() <= len.min(MOST));
        assert_eq!(Preamble::parse(&again), Ok(Some((preamble, again.len()))));
    }
    for number in bytes {
        let answer = Answer::from_number(*number);
        assert!(answer.number() == *number || answer == Answer::NotUnderstood);
    }
});
