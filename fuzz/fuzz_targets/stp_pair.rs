//! Any bytes as a case for two machines of STP: the data written, and the channel's effect on each packet.
//!
//! Follows docs/stp.md §9; the plan, the channel and the observer are those of the transport crate's tests.
//! Differs from them: the fuzzer looks for cases that reach new code.
//! Leaves out rates and lies.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/transport/tests/stp_pair/mod.rs"]
mod stp_pair;

fuzz_target!(|bytes: &[u8]| {
    stp_pair::net::Net::new(stp_pair::plan::Plan::of_size(bytes, 20)).run();
});
