//! Column names, and patterns of them with `*` for any text.
//!
//! Follows the shell's star; every other character matches itself.
//! Differs from the shell: a star crosses dots.
//! Leaves out classes and escapes; names have neither brackets nor stars.

/// Returns true if `name` matches `pattern`.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    if !pattern.contains('*') {
        return rest.is_empty();
    }
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("*.goodput_bps", "download.goodput_bps", true),
            ("*.goodput_bps", "goodput_bps", false),
            ("*", "", true),
            ("links.*.utilisation", "links.sat.forward.utilisation", true),
            ("links.*.reverse.*", "links.sat.forward.utilisation", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
