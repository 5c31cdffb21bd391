//! The surroundings of every crate's tests: data beside the repository, and the wish to run whole.
//!
//! Taken in by `#[path = "../../../tools/testing.rs"] mod testing;`. CONTRIBUTING.md says what both variables are for.
//! Differs from a crate: nothing depends on it but tests. Leaves out programs that may be missing, such as tshark.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

/// A file or folder of `../shared`. Without it the test is to be skipped, which is said, or with SKYHOP_REQUIRE_SHARED fails.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(
        !wanted("SKYHOP_REQUIRE_SHARED"),
        "SKYHOP_REQUIRE_SHARED is set, and there is no ../shared/{name}"
    );
    println!("skipped: no ../shared/{name}");
    None
}

/// The same, read.
pub fn shared_text(name: &str) -> Option<String> {
    shared(name).map(|path| std::fs::read_to_string(path).expect("a file of text"))
}

/// True if tests that run a smaller part by default are to run whole.
pub fn full() -> bool {
    wanted("SKYHOP_FULL")
}

pub fn wanted(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}
