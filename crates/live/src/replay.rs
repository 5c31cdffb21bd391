//! The replay window: the packet counters that have been seen.
//!
//! Follows the sliding bitmap of RFC 6479: a ring of words, so that moving on clears words and shifts nothing.
//! Differs: the size is a parameter; over satellites it has to hold a bandwidth-delay product of packets (13,400 at 250 Mbit/s
//! and 600 ms), where 64 or 2,048 packets would throw away what was merely reordered. The ring grows with the counters up to that size:
//! of ten thousand associations most have had few packets.
//! Leaves out any knowledge of keys: mark a counter only after its packet has opened.

/// Verdict on a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayVerdict {
    /// Not seen yet.
    Fresh,
    /// Seen before.
    Replayed,
    /// Below the window: it may have been seen.
    TooOld,
}

/// A window of at least the requested number of counters, up to the highest seen.
#[derive(Debug)]
pub struct ReplayWindow {
    /// All words from the first on until there are `most` of them.
    words: Vec<u64>,
    most: usize,
    /// One above the highest counter seen.
    next: u64,
}

/// Words at the beginning.
const WORDS: usize = 4;

impl ReplayWindow {
    /// A window of at least `packets` counters.
    pub fn new(packets: u32) -> Self {
        // One word more than the window: the one that is being filled.
        let most = (packets.max(64).div_ceil(64) as usize + 1).next_power_of_two();
        ReplayWindow { words: vec![0; most.min(WORDS)], most, next: 0 }
    }

    /// Number of counters in the window.
    pub fn size(&self) -> u64 {
        (self.most as u64 - 1) * 64
    }

    /// Checks `counter` without changing the window, since the packet may be forged.
    pub fn check(&self, counter: u64) -> ReplayVerdict {
        if counter >= self.next {
            ReplayVerdict::Fresh
        } else if self.next - counter > self.size() {
            ReplayVerdict::TooOld
        } else if self.words[self.word(counter)] & (1 << (counter % 64)) != 0 {
            ReplayVerdict::Replayed
        } else {
            ReplayVerdict::Fresh
        }
    }

    /// Returns true if `counter` is above all that have been seen.
    pub fn is_newest(&self, counter: u64) -> bool {
        counter >= self.next
    }

    /// Marks `counter`, whose packet was opened.
    pub fn mark(&mut self, counter: u64) {
        if counter >= self.next {
            self.grow(counter / 64);
            // The words between the last and the new one are those of counters that nobody has seen.
            let last = self.next.checked_sub(1).map_or(0, |last| last / 64);
            let ahead = (counter / 64 - last).min(self.words.len() as u64);
            for step in 1..=ahead {
                let word = self.word((last + step) * 64);
                self.words[word] = 0;
            }
            self.next = counter + 1;
        }
        let word = self.word(counter);
        self.words[word] |= 1 << (counter % 64);
    }

    /// Makes room for a word, so that none is dropped before there are as many as there may be.
    fn grow(&mut self, word: u64) {
        let len = self.words.len();
        if len == self.most || word < len as u64 {
            return;
        }
        let wanted = usize::try_from(word + 1).unwrap_or(usize::MAX);
        let grown = wanted.min(self.most).next_power_of_two();
        // The counters seen so far are all in place: as long as the ring grows, it has not been round.
        self.words.resize(grown, 0);
    }

    fn word(&self, counter: u64) -> usize {
        (counter / 64) as usize & (self.words.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn holds_a_bandwidth_delay_product() {
        let mut window = ReplayWindow::new(13_400);
        assert!((13_400..40_000).contains(&window.size()), "{}", window.size());
        window.mark(100_000);
        assert_eq!(window.check(100_000), ReplayVerdict::Replayed);
        assert_eq!(window.check(100_000 - 13_399), ReplayVerdict::Fresh);
        assert_eq!(window.check(100_000 - window.size()), ReplayVerdict::TooOld);
        assert_eq!(window.check(100_001), ReplayVerdict::Fresh);
    }

    #[test]
    fn memory_grows_with_the_counters_and_nothing_is_forgotten_by_it() {
        let mut window = ReplayWindow::new(65_536);
        assert_eq!(window.words.len(), WORDS);
        for counter in (0..70_000).step_by(3) {
            window.mark(counter);
            let bytes = window.words.len() as u64 * 8;
            assert!(bytes <= (counter / 4).clamp(64, 16_384), "{bytes} bytes for {counter} packets");
        }
        for counter in 70_000 - 65_536..70_000 {
            let seen = counter % 3 == 0;
            assert_eq!(window.check(counter) == ReplayVerdict::Replayed, seen, "{counter}");
        }
        // A leap takes what it may, and no more.
        let mut leap = ReplayWindow::new(65_536);
        leap.mark(5);
        leap.mark(u64::MAX / 2);
        assert_eq!((leap.words.len(), leap.check(5)), (2048, ReplayVerdict::TooOld));
        assert_eq!(leap.check(u64::MAX / 2 - 60_000), ReplayVerdict::Fresh);
    }

    #[test]
    fn only_what_is_above_all_seen_is_newest() {
        let mut window = ReplayWindow::new(64);
        assert!(window.is_newest(0));
        window.mark(7);
        assert!(!window.is_newest(6) && !window.is_newest(7) && window.is_newest(8) && window.is_newest(9));
    }

    #[test]
    fn agrees_with_a_set_under_disorder() {
        // A generator for this test: only disorder with repeats and jumps matters.
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut window = ReplayWindow::new(256);
        let (mut seen, mut highest, mut kinds) = (BTreeSet::new(), 0_u64, [0; 3]);
        for _ in 0..200_000 {
            let leap = if draw(1000) == 0 { 2000 } else { 4 };
            let counter = (highest + draw(leap)).saturating_sub(draw(500));
            let expected = if counter + window.size() < highest + 1 {
                ReplayVerdict::TooOld
            } else if seen.contains(&counter) {
                ReplayVerdict::Replayed
            } else {
                ReplayVerdict::Fresh
            };
            assert_eq!(window.check(counter), expected, "{counter} of {highest}");
            kinds[expected as usize] += 1;
            if expected == ReplayVerdict::Fresh {
                window.mark(counter);
                seen.insert(counter);
                highest = highest.max(counter);
            }
        }
        assert!(kinds.iter().all(|n| *n > 1000), "{kinds:?}");
    }
}
