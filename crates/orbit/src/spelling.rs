//! The name that somebody probably meant.
//!
//! Follows Damerau's and Levenshtein's count of single-letter slips (optimal string alignment).
//! Differs: a guess is made only if at most a third of the letters, and at least one, may be wrong.
//! Left out: sounds, abbreviations and other languages.

/// A name in lower case with hyphens between words, as built-in names are written.
pub fn plain(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

/// The candidate with the fewest slips from `name`, the first of several; `None` if all are too far away.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = name.chars().take(64).collect();
    let allowed = (typed.len() / 3).max(1);
    let counted = candidates.into_iter().map(|candidate| (slips(&typed, candidate), candidate));
    counted.filter(|(slips, _)| *slips <= allowed).min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

/// Letters to insert, drop, change or swap with their neighbour.
fn slips(typed: &[char], meant: &str) -> usize {
    let meant: Vec<char> = meant.chars().collect();
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=meant.len()).collect();
    for (i, &t) in typed.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &m) in meant.iter().enumerate() {
            let mut least = (last[j] + usize::from(t != m)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && t == meant[j - 1] && typed[i - 1] == m {
                let swapped: &Vec<usize> = &before;
                least = least.min(swapped[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[meant.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted_and_guesses_bounded() {
        let count = |typed: &str, meant| slips(&typed.chars().collect::<Vec<_>>(), meant);
        assert_eq!(count("iridium", "iridium"), 0);
        assert_eq!((count("iridum", "iridium"), count("irdiium", "iridium")), (1, 1));
        assert_eq!((count("", "abc"), count("abc", "")), (3, 3));
        assert_eq!(nearest("teledesik", ["iridium", "teledesic", "teledesic-840"]), Some("teledesic"));
        assert_eq!(nearest("xyz", ["iridium", "geo-3"]), None);
        assert_eq!(plain("  New  York_City "), "new-york-city");
    }
}
