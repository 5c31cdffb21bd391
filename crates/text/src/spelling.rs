//! The name that was probably meant by a misspelt one.
//!
//! Follows Damerau's and Levenshtein's distance: letters inserted, dropped, changed, or swapped with their neighbour.
//! Differs: a guess is made only if at most a third of the letters are wrong, or one is the beginning or the end of the other.
//! Leaves out sounds, abbreviations and other languages.

use std::path::Path;

/// The longest name that is compared, in bytes: the distance takes time in proportion to both lengths.
const LONGEST: usize = 64;

/// A name in lower case with hyphens between words, as built-in names are written.
pub fn plain(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

/// The candidate nearest to `name`, the first of several; `None` if none is near enough to be worth saying.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let alike = |name: &str| name.to_lowercase().replace('_', "-");
    let typed = alike(name);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().filter(|c| c.len() <= LONGEST) {
        let meant = alike(candidate);
        let (short, long) = if meant.len() < typed.len() { (&meant, &typed) } else { (&typed, &meant) };
        let slips = strsim::damerau_levenshtein(&typed, &meant);
        let near = slips <= (long.chars().count() / 3).max(1)
            || (short.len() >= 3 && (long.starts_with(short.as_str()) || long.ends_with(short.as_str())));
        if near && best.is_none_or(|(least, _)| slips < least) {
            best = Some((slips, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// `; did you mean "x"?` if one of `candidates` is near `name`.
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

/// `; did you mean "x"?` for a file that does not exist, if another in its folder has a similar name.
pub fn hint_of_file(path: &Path) -> String {
    const MOST: usize = 10_000;
    let (Some(name), Some(folder)) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else {
        return String::new();
    };
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = listed.read_dir() else { return String::new() };
    let mut names: Vec<String> =
        entries.take(MOST).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    // A long common ending such as `.parquet` does not make two file names alike.
    let (stem, ending) = split(name);
    let near = |other: &&str| {
        let (other_stem, other_ending) = split(other);
        (stem == other_stem || nearest(stem, [other_stem]).is_some())
            && (ending == other_ending || nearest(ending, [other_ending]).is_some())
    };
    let meant = nearest(name, names.iter().map(String::as_str).filter(near));
    meant.map(|name| format!("; did you mean \"{}\"?", folder.join(name).display())).unwrap_or_default()
}

/// The parts of a file's name before and after its last dot.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_refuses_strangers() {
        let links = ["access", "satellite", "lan"];
        assert_eq!(nearest("satelite", links), Some("satellite"));
        assert_eq!(nearest("satlelite", links), Some("satellite"));
        assert_eq!(nearest("sat", links), Some("satellite"));
        assert_eq!(nearest("LAN", links), Some("lan"));
        assert_eq!(nearest("microwave", links), None);
        assert_eq!(nearest("", links), None);
        assert_eq!(nearest(&"a".repeat(1 << 20), links), None);
        assert_eq!(nearest("sack_newreno", ["newreno", "sack-newreno"]), Some("sack-newreno"));
        assert_eq!(nearest("teledesik", ["iridium", "teledesic", "teledesic-840"]), Some("teledesic"));
        assert_eq!(nearest("xyz", ["iridium", "geo-3"]), None);
        assert_eq!(nearest("goodput_bps", ["f.sent", "f.goodput_bps"]), Some("f.goodput_bps"));
        assert_eq!(hint("irdiium", ["iridium"]), "; did you mean \"iridium\"?");
        assert_eq!(hint("geo", ["iridium"]), "");
    }

    #[test]
    fn spaces_hyphens_and_capitals_do_not_matter() {
        assert_eq!(plain("  New  York_City "), "new-york-city");
    }
}
