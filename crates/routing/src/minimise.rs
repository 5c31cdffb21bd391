//! Forwarding tables with few entries, whose masks need not match contiguous cells.
//!
//! Follows two-level logic minimisers (expand, irredundant, reduce) on the covering problem of HT 6.6.3.
//! Differs: expansion is exact, since all prime implicants are known; reduction removes a whole neighbourhood.
//! Left out: a proof that no smaller table exists, and tables that change little from state to state.

use crate::aggregation::ForwardingEntry;
use crate::cells::{Address, Masked};
use crate::cover::cover;
use crate::prime::{Cubes, addresses};

/// The order in which a satellite matches an address against entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Any order: all entries that match an address have the same next hop, as in the thesis.
    AnyOrder,
    /// First match: an entry may match addresses of earlier entries, and the next hop that would need the most entries takes the
    /// rest.
    FirstMatch,
}

/// Largest number of next hops in a table.
pub const MAX_HOPS: usize = 16;

/// Entries that forward each address by `next`.
///
/// An address without a next hop in `next` is unused, and may be forwarded anywhere. The length of `next` is a power of two, at
/// most 2^15. `effort` is the number of improvement steps per entry: 4 comes within a few entries of 64.
///
/// # Panics
///
/// If the number of addresses is too large or no power of two, or there are more than [`MAX_HOPS`] next hops.
pub fn minimise(next: &[Option<u8>], lookup: Lookup, effort: usize) -> Vec<ForwardingEntry> {
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
    let mut groups: Vec<(usize, Vec<ForwardingEntry>)> = (0..hops.len())
        .map(|index| (index, entries_for(&primes[index], &table, index, hops[index], effort)))
        .collect();
    if lookup == Lookup::FirstMatch {
        groups.sort_by_key(|(index, entries)| (entries.len(), *index));
        for (index, entries) in &mut groups {
            let primes = Cubes::new(&table).primes_of(*index);
            *entries = entries_for(&primes, &table, *index, hops[*index], effort);
            // Later entries may match these addresses.
            table.iter_mut().filter(|hop| **hop == 1 << *index).for_each(|hop| *hop = 0);
        }
    }
    groups.into_iter().flat_map(|(_, entries)| entries).collect()
}

/// Next hop of an address: that of the first entry that matches.
pub fn first_match(entries: &[ForwardingEntry], address: Address) -> Option<u8> {
    entries.iter().find(|entry| entry.block.matches(address)).map(|entry| entry.next)
}

fn entries_for(
    primes: &[Masked],
    table: &[u16],
    index: usize,
    next: u8,
    effort: usize,
) -> Vec<ForwardingEntry> {
    let hop = 1 << index;
    let bits = table.len().ilog2();
    // Points that need an entry have numbers of their own.
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
    cover(&sets, points as usize, effort)
        .into_iter()
        .map(|set| ForwardingEntry { block: primes[set], next })
        .collect()
}
