//! Minimised tables against the fewest possible entries, on tables small enough for exhaustive search.
//!
//! Follows HT 6.6.3: the best aggregation is the minimum sum of Boolean logic.
//! Differs: the reference is an exhaustive search over all values and masks.
//! Left out: tables of satellites, which are in `central.rs`.

use skyhop_routing::aggregation::{Addresses, aggregate_greedy};
use skyhop_routing::cells::{Address, Masked};
use skyhop_routing::minimise::{Lookup, first_match, minimise};

/// Tables of 16 addresses with up to three next hops and some unused addresses.
fn tables() -> impl Iterator<Item = Vec<Option<u8>>> {
    (0..1_500u64).map(|table| {
        let mut state = table * 0x9e37_79b9 + 1;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..16).map(|_| Some((draw() % (2 + table % 3)) as u8).filter(|&next| next < 3)).collect()
    })
}

fn fewest(next: &[Option<u8>], hop: u8) -> usize {
    let set = |wanted: &dyn Fn(Option<u8>) -> bool| {
        (0..16).filter(|&address| wanted(next[address])).fold(0u16, |set, address| set | 1 << address)
    };
    let (needed, allowed) =
        (set(&|next| next == Some(hop)), set(&|next| next.is_none_or(|next| next == hop)));
    let all = (0..16u16).flat_map(|mask| (0..16u16).map(move |value| Masked { value: value & mask, mask }));
    let addresses = |block: Masked| {
        (0..16).filter(|&it| block.matches(Address(it))).fold(0u16, |set, address| set | 1 << address)
    };
    let mut blocks: Vec<u16> = all.map(addresses).filter(|set| set & !allowed == 0).collect();
    blocks.sort_unstable();
    blocks.dedup();
    (0..).find(|&limit| can_cover(needed, &blocks, limit)).expect("single addresses will do")
}

fn can_cover(left: u16, blocks: &[u16], limit: usize) -> bool {
    let lowest = left & left.wrapping_neg();
    left == 0
        || limit > 0
            && blocks.iter().any(|block| block & lowest != 0 && can_cover(left & !block, blocks, limit - 1))
}

#[test]
fn small_tables_have_the_fewest_entries_there_can_be() {
    let (mut ours, mut least, mut greedy) = (0, 0, 0);
    for next in tables() {
        let entries = minimise(&next, Lookup::AnyOrder, 4);
        for (address, &next) in (0..).map(Address).zip(&next).filter(|(_, next)| next.is_some()) {
            let mut matching = entries.iter().filter(|entry| entry.block.matches(address)).peekable();
            assert!(matching.peek().is_some() && matching.all(|entry| Some(entry.next) == next));
        }
        ours += entries.len();
        least += (0..3).map(|hop| fewest(&next, hop)).sum::<usize>();
        greedy += aggregate_greedy(Addresses { row_bits: 2, column_bits: 2, next: &next }).len();
    }
    println!("entries of 1,500 tables: {ours} minimised, {least} at least, {greedy} as in the thesis");
    assert!(least <= ours && ours <= least + least / 500, "{ours} entries, {least} would do");
    assert!((ours + ours / 25..2 * ours).contains(&greedy), "{greedy}");
}

#[test]
fn first_matches_forward_as_the_table_says_with_fewer_entries() {
    let (mut ordered, mut unordered) = (0, 0);
    for next in tables() {
        let entries = minimise(&next, Lookup::FirstMatch, 4);
        for (address, &next) in (0..).map(Address).zip(&next).filter(|(_, next)| next.is_some()) {
            assert_eq!(first_match(&entries, address), next);
        }
        ordered += entries.len();
        unordered += minimise(&next, Lookup::AnyOrder, 4).len();
    }
    println!("entries of 1,500 tables: {ordered} in order, {unordered} in any order");
    assert!((unordered / 3..unordered * 9 / 10).contains(&ordered), "{ordered} of {unordered}");
}

#[test]
fn tables_without_choice_have_one_entry_or_none() {
    for lookup in [Lookup::AnyOrder, Lookup::FirstMatch] {
        assert_eq!(minimise(&[Some(4); 64], lookup, 4).len(), 1);
        assert_eq!(minimise(&[None; 64], lookup, 4), []);
        assert_eq!(minimise(&[Some(9)], lookup, 4).len(), 1);
    }
}
