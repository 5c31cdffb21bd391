//! Forwarding tables of few entries, with masks that need not stand for contiguous cells.
//!
//! Follows two-level logic minimisers (expand, irredundant, reduce) on the covering problem of HT 6.6.3.
//! Differs: expansion is exact, since all prime implicants are known; reduction takes out a whole neighbourhood.
//! Left out: a proof that no smaller table exists, and tables that change little from state to state.

use crate::aggregation::Entry;
use crate::cells::{Address, Masked};
use crate::cover::cover;
use crate::prime::{Cubes, addresses};

/// How a satellite looks an address up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// In any order: entries that match one address have one next hop, as in the thesis.
    AnyOrder,
    /// In order, the first match counts: an entry may reach over addresses of entries before it, and the next hop
    /// that would need most entries takes what is left.
    FirstMatch,
}

/// Most next hops that a table may have.
pub const MAX_HOPS: usize = 16;

/// Entries that forward each address as `next` says.
///
/// Addresses without a next hop in `next` are ones that nobody has, and may be forwarded anyhow. `next` has a power of
/// two of addresses, at most 2^15. `effort` is how often entries are taken out in places and others put in, per entry:
/// 4 is within a few entries of what 64 finds.
///
/// # Panics
///
/// If the addresses are too many or no power of two, or there are more than [`MAX_HOPS`] next hops.
pub fn minimise(next: &[Option<u8>], lookup: Lookup, effort: usize) -> Vec<Entry> {
    assert!(next.len().is_power_of_two() && next.len() <= 1 << 15, "{} addresses", next.len());
    let mut hops: Vec<u8> = next.iter().flatten().copied().collect();
    hops.sort_unstable();
    hops.dedup();
    assert!(hops.len() <= MAX_HOPS, "{} next hops; expected at most {MAX_HOPS}", hops.len());
    let mut table: Vec<u16> = next
        .iter()
        .map(|next| next.map_or(0, |hop| 1 << hops.binary_search(&hop).expect("all hops are listed")))
        .collect();
    let primes = Cubes::new(&table).primes();
    let mut groups: Vec<(usize, Vec<Entry>)> = (0..hops.len())
        .map(|index| (index, entries_for(&primes[index], &table, index, hops[index], effort)))
        .collect();
    if lookup == Lookup::FirstMatch {
        groups.sort_by_key(|(index, entries)| (entries.len(), *index));
        for (index, entries) in &mut groups {
            let primes = Cubes::new(&table).primes_of(*index);
            *entries = entries_for(&primes, &table, *index, hops[*index], effort);
            // Whatever comes later may reach over these.
            table.iter_mut().filter(|hop| **hop == 1 << *index).for_each(|hop| *hop = 0);
        }
    }
    groups.into_iter().flat_map(|(_, entries)| entries).collect()
}

/// The next hop of an address by these entries, the first that matches.
pub fn first_match(entries: &[Entry], address: Address) -> Option<u8> {
    entries.iter().find(|entry| entry.block.matches(address)).map(|entry| entry.next)
}

fn entries_for(primes: &[Masked], table: &[u16], index: usize, next: u8, effort: usize) -> Vec<Entry> {
    let hop = 1 << index;
    let bits = table.len().ilog2();
    // Points that need an entry are numbered by themselves.
    let mut numbers = vec![u32::MAX; table.len()];
    let mut points = 0;
    for (number, _) in numbers.iter_mut().zip(table).filter(|(_, bit)| **bit == hop) {
        *number = points;
        points += 1;
    }
    let sets: Vec<Vec<u32>> = primes
        .iter()
        .map(|&prime| {
            let numbered = addresses(prime, bits).map(|address| numbers[usize::from(address)]);
            numbered.filter(|&number| number != u32::MAX).collect()
        })
        .collect();
    cover(&sets, points as usize, effort).into_iter().map(|set| Entry { block: primes[set], next }).collect()
}
