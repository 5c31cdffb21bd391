//! Ranges that the peer has selectively acknowledged.
//!
//! Follows RFC 2018 §5: ranges reported are not retransmitted, until a timeout forgets them.
//! Differs: ranges of bytes in an ordered map, so that the cost of an acknowledgment does not grow with the window.
//! Leaves out per-segment state.

use std::collections::BTreeMap;

/// Disjoint ranges [start, end) above the cumulative acknowledgment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    map: BTreeMap<u64, u64>,
    total: u64,
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn clear(&mut self) {
        self.map.clear();
        self.total = 0;
    }

    /// Adds [start, end) and merges it with the ranges that it touches.
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        // New data behind a gap nearly always follow the highest range, or extend it.
        if let Some(mut last) = self.map.last_entry() {
            let (s, e) = (*last.key(), *last.get());
            if (s..=e).contains(&start) {
                last.insert(e.max(end));
                self.total += end.saturating_sub(e);
                return;
            }
        }
        while let Some((&s, &e)) = self.map.range(..=end).next_back() {
            if e < start {
                break;
            }
            (start, end) = (start.min(s), end.max(e));
            self.map.remove(&s);
            self.total -= e - s;
        }
        self.map.insert(start, end);
        self.total += end - start;
    }

    /// Forgets everything below `floor`.
    pub fn remove_below(&mut self, floor: u64) {
        while let Some(first) = self.map.first_entry() {
            let (&start, &end) = (first.key(), first.get());
            if start >= floor {
                return;
            }
            first.remove();
            self.total -= end.min(floor) - start;
            if end > floor {
                self.map.insert(floor, end);
            }
        }
    }

    /// Bytes in all ranges.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The range that holds `position`.
    pub fn containing(&self, position: u64) -> Option<(u64, u64)> {
        let mut range = self.map.last_key_value()?;
        if position < *range.0 {
            range = self.map.range(..=position).next_back()?;
        }
        let (&start, &end) = range;
        (position < end).then_some((start, end))
    }

    /// The first position at or after `from` that no range holds.
    pub fn next_gap(&self, from: u64) -> u64 {
        self.containing(from).map_or(from, |(_, end)| end)
    }

    /// The first start of a range after `from`.
    pub fn next_start(&self, from: u64) -> Option<u64> {
        self.map.range(from + 1..).next().map(|(&start, _)| start)
    }

    /// Removes the range that begins at `start`, if there is one, and returns its end.
    pub fn take_at(&mut self, start: u64) -> Option<u64> {
        let end = self.map.remove(&start)?;
        self.total -= end - start;
        Some(end)
    }

    /// One past the highest position held.
    pub fn highest(&self) -> Option<u64> {
        self.map.last_key_value().map(|(_, &end)| end)
    }

    /// All ranges, lowest first.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.map.iter().map(|(&s, &e)| (s, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_behave_as_a_set_of_positions(inserts in prop::collection::vec((0u64..200, 0u64..20), 0..40), floor in 0u64..220) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (start, len) in inserts {
                ranges.insert(start, start + len);
                set.extend(start..start + len);
            }
            ranges.remove_below(floor);
            set.retain(|p| *p >= floor);
            let all: Vec<u64> = ranges.iter().flat_map(|(s, e)| s..e).collect();
            prop_assert_eq!(&all, &set.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(ranges.total(), all.len() as u64);
            let list: Vec<_> = ranges.iter().collect();
            prop_assert!(list.windows(2).all(|w| w[0].1 < w[1].0), "touching ranges are one: {:?}", list);
            for p in 0..230 {
                prop_assert_eq!(ranges.containing(p).is_some(), set.contains(&p));
                let gap = (p..).find(|q| !set.contains(q)).unwrap();
                prop_assert_eq!(ranges.next_gap(p), gap);
                prop_assert_eq!(ranges.next_start(p), list.iter().map(|r| r.0).find(|s| *s > p));
            }
            if let Some(&(start, end)) = list.first() {
                prop_assert_eq!(ranges.take_at(start), Some(end));
                prop_assert_eq!(ranges.total(), all.len() as u64 - (end - start));
            }
        }
    }
}
