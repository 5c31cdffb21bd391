//! Any bytes as a key file: it is rejected with its name but none of its contents, or gives the same key when written.
//!
//! The file of a host's key, and separated by NUL those of its peers' public keys.
//! Differs from the tests: no file here was written by the command.
//! Leaves out the permissions of files, which do not depend on their bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skyhop_live::keys::{KeyError, Keys, create_secret};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |b| *b == 0);
    let folder = Path::new("/dev/shm");
    let name = |what: &str| folder.join(format!("skyhop-fuzz-{}.{what}", std::process::id()));
    let own = file(name("key"), parts.next().unwrap_or_default());
    let peer = parts.next().map(|bytes| file(name("pub"), bytes));
    match Keys::read(&own, peer.as_slice()) {
        Ok(keys) => {
            let copy = name("copy");
            let _ = fs::remove_file(&copy);
            keys.write(&copy).expect("a new file");
            let again = Keys::read(&copy, peer.as_slice()).expect("what is written reads");
            match (&keys, &again) {
                (Keys::Shared(a), Keys::Shared(b)) => assert!(a == b),
                (Keys::Pair { private: a, peers: p }, Keys::Pair { private: b, peers: q }) => {
                    assert!(a == b && p == q && !p.is_empty());
                }
                _ => panic!("another kind of key"),
            }
        }
        Err(e) => {
            let line = e.to_string();
            assert!(!line.contains(['\n', '\u{1b}']), "{line:?}");
            // Nothing of the file but its name: what stands in it may be a secret that is misspelt.
            let names = line.matches("/dev/shm/skyhop-fuzz-").count();
            assert!(matches!(e, KeyError::Io(..)) || (1..=2).contains(&names), "{line}");
            assert!(line.len() < 200, "{line}");
        }
    }
});

fn file(path: PathBuf, bytes: &[u8]) -> PathBuf {
    let _ = fs::remove_file(&path);
    create_secret(&path).and_then(|mut file| file.write_all(bytes)).expect("a file in memory");
    path
}
