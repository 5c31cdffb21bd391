//! Names with a star: the names that match, the text that the star stands for, and natural order.
//!
//! Follows shell globs and pattern rules of make: the star stands for the same text in all names of a rule.
//! Differs: one star per name, for at least one character. Names with numbers are ordered by number.
//! Leaves out brackets and question marks.

use std::cmp::Ordering;

/// A name with one star.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern<'a> {
    before: &'a str,
    behind: &'a str,
}

impl<'a> Pattern<'a> {
    /// The pattern in `text`; `None` if it has no star or several.
    pub fn of(text: &'a str) -> Option<Self> {
        let (before, behind) = text.split_once('*')?;
        (!behind.contains('*')).then_some(Self { before, behind })
    }

    /// The text that the star stands for in `name`; `None` if it does not match.
    pub fn stem<'n>(&self, name: &'n str) -> Option<&'n str> {
        let stem = name.strip_prefix(self.before)?.strip_suffix(self.behind)?;
        (!stem.is_empty()).then_some(stem)
    }

    /// The name with `stem` in place of the star.
    pub fn fill(&self, stem: &str) -> String {
        [self.before, stem, self.behind].concat()
    }
}

/// `text` with `stem` in place of its star; unchanged without one.
pub(super) fn fill(text: &str, stem: &str) -> String {
    Pattern::of(text).map_or_else(|| text.to_owned(), |pattern| pattern.fill(stem))
}

/// Natural order: `user-2` before `user-10`.
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
            // `a-1` and `a-01` are different names.
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
