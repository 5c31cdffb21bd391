//! Valid names of links, flows, hosts and scenarios.
//!
//! Follows their use as keys of results, names of files, and elements of paths.
//! Differs from identifiers of a programming language: digits may come first.
//! Leaves out whether a name is in use.

use crate::error::quoted;
use crate::finding::FindingList;
use crate::path::KeyPath;

/// Notes a finding at `path` if `name` is not valid.
pub fn is_plain(name: &str, path: impl FnOnce() -> KeyPath, out: &mut FindingList) {
    const LONGEST: usize = 64;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() {
        out.push(path, || "name is empty; expected letters, digits, \"_\", \".\" or \"-\"".into());
    } else if let Some(c) = name.chars().find(|c| !plain(*c)) {
        let c = c.escape_debug();
        out.push(path, || {
            format!(
                "character '{c}' in name {}; expected letters, digits, \"_\", \".\" or \"-\"",
                quoted(name)
            )
        });
    } else if name.len() > LONGEST {
        out.push(path, || format!("name of {} characters; expected at most {LONGEST}", name.len()));
    } else if name.starts_with(['.', '-']) {
        out.push(path, || {
            format!("name {} begins with \"{}\"; expected a letter, digit or \"_\"", quoted(name), &name[..1])
        });
    }
}
