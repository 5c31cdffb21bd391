//! Any bytes as a capture to be decrypted, and as a key log: both are rejected in order, or the capture is rewritten.
//!
//! If the first byte selects it, the key log comes first, up to a NUL; then the capture.
//! Differs from the tests: the only expectation is that the output can be read with as many packets.
//! Leaves out packets that can be decrypted: random bytes never can, so replacements are invented too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_live::key_log::{KeyLog, Reader, Seen};
use skyhop_record::rewrite::{RewriteError, rewrite};

const LINE: &str = "SKYHOP_STP 000001 000002 aes-128-gcm \
    0000000000000000000000000000000000000000000000000000000000000000 \
    1111111111111111111111111111111111111111111111111111111111111111\n";

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, mut file)) = bytes.split_first() else { return };
    let mut log = KeyLog::default();
    log.add(LINE).expect("a line of a key log");
    if choice & 1 != 0 {
        let end = file.iter().position(|b| *b == 0).unwrap_or(file.len());
        let (text, rest) = file.split_at(end);
        if let Err(e) = log.add(&String::from_utf8_lossy(text)) {
            one_line(&e.to_string());
        }
        file = rest.get(1..).unwrap_or_default();
    }
    // As the command does it, and with the payload of each datagram replaced by its beginning, once and in two pieces.
    let mut reader = Reader::new(&log);
    let plain = look(file, |from, to, payload, whole| match reader.datagram(from, to, payload, whole) {
        Seen::Opened { packets, .. } => Some(packets),
        _ => None,
    });
    let tally = reader.tally();
    if let Some((packets, _)) = plain {
        assert!(tally.handshake + tally.unopened() + tally.foreign <= packets);
    }
    let shorter = |payload: &[u8]| payload[..payload.len() / 2].to_vec();
    look(file, |_, _, payload, _| Some(vec![shorter(payload)]));
    look(file, |_, _, payload, _| Some(vec![shorter(payload), Vec::new()]));
});

/// Writes it again, reads what was written, and returns how many packets were read and written.
fn look(
    file: &[u8],
    mut change: impl FnMut(std::net::SocketAddr, std::net::SocketAddr, &[u8], bool) -> Option<Vec<Vec<u8>>>,
) -> Option<(u64, u64)> {
    let mut out = Vec::new();
    match rewrite(file, &mut out, |d| change(d.source, d.destination, d.payload, d.whole)) {
        Ok(done) => {
            let mut again = Vec::new();
            let read = rewrite(&out[..], &mut again, |_| None).expect("what is written reads");
            assert_eq!((read.packets, read.written, read.cut), (done.written, done.written, false));
            assert!(again == out, "what nobody changes is copied");
            Some((done.packets, done.written))
        }
        Err(RewriteError::Read(e)) => {
            one_line(&e.to_string());
            None
        }
        Err(RewriteError::Write(e)) => panic!("memory is full: {e}"),
    }
}

fn one_line(text: &str) {
    assert!(!text.is_empty() && !text.contains(['\n', '\u{1b}']), "{text:?}");
    assert!(!text.contains("1111111"), "a secret: {text}");
}
