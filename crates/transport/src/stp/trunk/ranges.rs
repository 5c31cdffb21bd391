//! A set of used numbers, as ranges.
//!
//! Follows docs/stp.md §15.3: a late copy of an opening frame must not open its stream again.
//! Differs from a set: numbers used from zero on without holes take one entry.
//! Leaves out numbers that become free again.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct NumberRanges(BTreeMap<u64, u64>);

impl NumberRanges {
    pub fn has(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    pub fn add(&mut self, number: u64) {
        if self.has(number) {
            return;
        }
        let end = self.0.remove(&(number + 1)).unwrap_or(number + 1);
        match self.0.range_mut(..number).next_back() {
            Some((_, before)) if *before == number => *before = end,
            _ => drop(self.0.insert(number, end)),
        }
    }

    /// One more than the highest number.
    pub fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(_, end)| *end)
    }

    #[cfg(test)]
    pub fn ranges(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_of_numbers() {
        let mut chance = Seed(1).stream("ranges");
        let (mut ranges, mut set) = (NumberRanges::default(), BTreeSet::new());
        for _ in 0..400 {
            let number = chance.bits() % 200;
            ranges.add(number);
            set.insert(number);
            let runs = set.iter().filter(|n| !set.contains(&(**n + 1))).count();
            assert_eq!(ranges.ranges(), runs);
            assert!((0..202).all(|n| ranges.has(n) == set.contains(&n)));
        }
    }
}
