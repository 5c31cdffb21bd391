//! Names with a star: which names fit them, what the star stands for, and the order of what fits.
//!
//! Follows file names in a shell, and rules of make: what the star stands for in one name it stands for in another.
//! Differs: one star in a name, for one character at least. Names with numbers are in the order of their numbers.
//! Leaves out brackets and question marks.

use std::cmp::Ordering;

/// A name with one star.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern<'a> {
    before: &'a str,
    behind: &'a str,
}

impl<'a> Pattern<'a> {
    /// The pattern that `text` is; `None` without a star, or with a second.
    pub fn of(text: &'a str) -> Option<Self> {
        let (before, behind) = text.split_once('*')?;
        (!behind.contains('*')).then_some(Self { before, behind })
    }

    /// The text that the star stands for in `name`, if it fits.
    pub fn stem<'n>(&self, name: &'n str) -> Option<&'n str> {
        let stem = name.strip_prefix(self.before)?.strip_suffix(self.behind)?;
        (!stem.is_empty()).then_some(stem)
    }

    /// The name with `stem` for its star.
    pub fn fill(&self, stem: &str) -> String {
        [self.before, stem, self.behind].concat()
    }
}

/// `text` with `stem` for its star; as it is without one.
pub(super) fn fill(text: &str, stem: &str) -> String {
    Pattern::of(text).map_or_else(|| text.to_owned(), |pattern| pattern.fill(stem))
}

/// The order in which people count: `user-2` before `user-10`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (m, n) = (digits(left), digits(right));
        if m > 0 && n > 0 {
            let plain = |text: &str, end: usize| text[..end].trim_start_matches('0').to_owned();
            let (x, y) = (plain(left, m), plain(right, n));
            match x.len().cmp(&y.len()).then_with(|| x.cmp(&y)) {
                Ordering::Equal => (left, right) = (&left[m..], &right[n..]),
                unequal => return unequal,
            }
            continue;
        }
        let (mut rest, mut other) = (left.chars(), right.chars());
        match (rest.next(), other.next()) {
            (Some(x), Some(y)) if x == y => (left, right) = (rest.as_str(), other.as_str()),
            // `a-1` and `a-01` are not one name.
            (None, None) => return a.cmp(b),
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_character_at_least() {
        let pattern = Pattern::of("lan-*.x").unwrap();
        assert_eq!(pattern.stem("lan-17.x"), Some("17"));
        assert_eq!([pattern.stem("lan-.x"), pattern.stem("lan-17"), pattern.stem("wan-1.x")], [None; 3]);
        assert_eq!(Pattern::of("aa*aa").unwrap().stem("aaa"), None);
        assert_eq!((Pattern::of("lan"), Pattern::of("*-*")), (None, None));
        assert_eq!((fill("lan-*", "17"), fill("hub", "17")), ("lan-17".into(), "hub".into()));
    }

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["b", "a-10", "a-2", "a-01", "a-1", "a", "a-2b", "a-2b10", "a-2b9"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "a-01", "a-1", "a-2", "a-2b", "a-2b9", "a-2b10", "a-10", "b"]);
    }
}
