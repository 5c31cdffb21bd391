//! Two machines and a channel that loses, duplicates, delays, reorders and alters packets.
//!
//! Follows docs/stp.md §9: bytes arrive once, in order and unaltered, or the connection ends with a reason.
//! Differs from the simulator: no rates; every case has a few dozen packets, and there are many cases.
//! Leaves out a lying peer (`stp_adversary`).

use crate::stp_pair::net::{Net, Outcome};
use crate::stp_pair::plan::Plan;
use proptest::prelude::*;
use skyhop_chance::Seed;

#[test]
fn a_quiet_path() {
    let mut net = Net::new(Plan::from_bytes(&[]));
    assert_eq!(net.run(), Outcome::Done);
}

/// `STP_CASE=1,2,3 STP_TRACE= cargo test --release -p skyhop-transport --test all stp_pairs::replay -- --nocapture`
#[test]
fn replay() {
    let Ok(case) = std::env::var("STP_CASE") else { return };
    let bytes: Vec<u8> = case.split(',').map(|b| b.trim().parse().expect("a byte")).collect();
    let size = std::env::var("STP_PACKETS").map_or(150, |n| n.parse().expect("a number"));
    println!("{:?}", Net::new(Plan::of_size(&bytes, size)).run());
}

/// Small cases by number: `cargo test --release -p skyhop-transport --test all stp_pairs::million -- --ignored --nocapture`
#[test]
#[ignore = "ten minutes; run before a release"]
fn a_million_cases() {
    let number = |name: &str, other: u64| std::env::var(name).map_or(other, |n| n.parse().expect("a number"));
    let (first, count) = (number("STP_FIRST", 0), number("STP_CASES", 1_000_000));
    let most = number("STP_PACKETS", 12) as usize;
    let (mut done, mut wrapped, mut repeats, mut packets) = (0u64, 0u64, 0, 0);
    for case in first..first + count {
        let mut stream = Seed(case).stream("case");
        let len = stream.bits() as usize % 96;
        let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
        let mut net = Net::new(Plan::of_size(&bytes, most));
        let run = std::panic::AssertUnwindSafe(|| net.run());
        let Ok(outcome) = std::panic::catch_unwind(run) else { panic!("case {case}: STP_CASE={bytes:?}") };
        done += u64::from(outcome == Outcome::Done);
        wrapped += u64::from(net.observer.wrapped());
        repeats += net.observer.repeats;
        packets += net.count[0] + net.count[1];
    }
    println!(
        "{count} cases from {first}: {done} delivered all, {} gave up and said so; {packets} packets, {repeats} repeats, \
         {wrapped} cases across 2^24",
        count - done
    );
    assert!(done * 10 >= count * 8 && wrapped * 20 >= count, "the cases are not what they are meant to be");
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
