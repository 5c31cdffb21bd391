//! The numbers of missing packets, as ranges.
//!
//! Follows docs/stp.md §7: a gap is a range of numbers before VR(H) that have not arrived.
//! Differs from a set of numbers: each change costs the logarithm of the number of gaps, however long they are.
//! Leaves out the order in which gaps were found (`gap_reports`).

use std::collections::BTreeMap;

/// Missing numbers: each range by its start, with the number after its end.
#[derive(Debug, Default)]
pub(super) struct MissingRanges(BTreeMap<u64, u64>);

impl MissingRanges {
    /// Adds a gap beyond all others.
    pub fn add(&mut self, start: u64, end: u64) {
        self.0.insert(start, end);
    }

    /// Removes a number from its gap. Returns false if it is in none.
    pub fn fill(&mut self, number: u64) -> bool {
        let Some((&start, &end)) = self.0.range(..=number).next_back() else { return false };
        if number >= end {
            return false;
        }
        self.0.remove(&start);
        if start < number {
            self.0.insert(start, number);
        }
        if number + 1 < end {
            self.0.insert(number + 1, end);
        }
        true
    }

    /// Missing packets between two numbers.
    pub fn between(&self, from: u64, upto: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.0.range(..from).next_back().filter(|&(_, &end)| end > from);
        first
            .into_iter()
            .chain(self.0.range(from..upto))
            .map(move |(&start, &end)| (start.max(from), end.min(upto)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;
    use std::collections::BTreeSet;

    /// As a set of numbers, of which ranges list every part.
    #[test]
    fn gaps_are_filled_in_any_order() {
        let mut chance = Seed(5).stream("missing");
        let mut some = move |most: u64| chance.bits() % most;
        for _ in 0..50 {
            let (mut missing, mut set, mut high) = (MissingRanges::default(), BTreeSet::new(), 0);
            for _ in 0..200 {
                if some(4) == 0 {
                    let start = high + some(3);
                    high = start + 1 + some(20);
                    missing.add(start, high);
                    set.extend(start..high);
                } else if high > 0 {
                    let number = some(high + 2);
                    assert_eq!(missing.fill(number), set.remove(&number));
                }
                let from = some(high + 1);
                let upto = from + 1 + some(high + 1);
                let listed: Vec<u64> =
                    missing.between(from, upto).flat_map(|(start, end)| start..end).collect();
                assert_eq!(listed, set.range(from..upto).copied().collect::<Vec<_>>());
                assert!(missing.between(from, upto).all(|(start, end)| start < end));
            }
        }
    }
}
