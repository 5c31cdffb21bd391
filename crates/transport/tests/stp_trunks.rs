//! Two ends of an association and a channel that loses, duplicates, delays, reorders, alters, changes its MTU and delay, and fails.
//!
//! Follows docs/stp.md §15: no data twice, out of order, altered or lost silently; budgets are respected.
//! Differs from `stp_pairs`: streams and datagrams; a case is a number.
//! Leaves out rates (`stp_crowds`) and a lying peer.

use crate::stp_trunk::net::{Net, Seen};

fn number(name: &str, other: u64) -> u64 {
    std::env::var(name).map_or(other, |n| n.parse().expect("a number"))
}

/// `STP_CASES=1000000 cargo test --release -p skyhop-transport --test all stp_trunks:: -- --nocapture` for the million;
/// `STP_FIRST=n STP_CASES=1 STP_TRACE=` for one of them.
#[test]
fn random_cases() {
    let (first, count) = (number("STP_FIRST", 0), number("STP_CASES", 3_000));
    let mut all = Seen::default();
    for case in first..first + count {
        let mut net = Net::new(case);
        let run = std::panic::AssertUnwindSafe(|| net.run());
        assert!(std::panic::catch_unwind(run).is_ok(), "case {case}");
        let seen = net.seen;
        all.packets += seen.packets;
        all.streams += seen.streams;
        all.resets += seen.resets;
        all.datagrams += seen.datagrams;
        all.refused += seen.refused;
        all.split += seen.split;
        all.again += seen.again;
        all.ended += seen.ended;
    }
    println!("{count} cases from {first}: {all:?}");
    if count >= 1_000 {
        assert!(all.streams > 2 * count && all.datagrams > count && all.resets * 10 > count, "{all:?}");
        assert!(all.again > count && all.split > count && all.ended * 40 > count, "{all:?}");
    }
}
