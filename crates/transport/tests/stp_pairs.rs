//! Two machines and a channel that loses, doubles, delays, overtakes and spoils as it likes.
//!
//! Follows docs/stp.md §9: bytes come once, in order and unaltered, or the connection ends with a reason.
//! Differs from the simulator: no rates; every case is a few dozen packets, and there are many cases.
//! Leaves out a peer that lies (`stp_adversary`).

mod stp_pair;

use proptest::prelude::*;
use stp_pair::net::{Net, Outcome};
use stp_pair::plan::Plan;

#[test]
fn a_quiet_path() {
    let mut net = Net::new(Plan::from_bytes(&[]));
    assert_eq!(net.run(), Outcome::Done);
}

/// `STP_CASE=1,2,3 STP_TRACE= cargo test --release -p skyhop-transport --test stp_pairs replay -- --nocapture`
#[test]
fn replay() {
    let Ok(case) = std::env::var("STP_CASE") else { return };
    let bytes: Vec<u8> = case.split(',').map(|b| b.trim().parse().expect("a byte")).collect();
    println!("{:?}", Net::new(Plan::from_bytes(&bytes)).run());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_twice_out_of_order_or_altered_and_always_an_end(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        Net::new(Plan::from_bytes(&bytes)).run();
    }
}
