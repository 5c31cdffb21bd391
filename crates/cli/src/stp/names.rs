//! Names of files from a peer: those that may be stored, and a form for terminals and logs.
//!
//! Follows POSIX's file names, without those that lead out of a folder; Unicode TR 36 section 2.10 for characters that deceive the
//! reader.
//! Leaves out letters that look alike.

/// Longest name in bytes: 255 of the usual file systems, less the marks of a part.
const LENGTH_MAX: usize = 200;
/// Longest text of a peer in a log, characters.
const SHOWN_MAX: usize = 60;

/// Returns true if a character has a shape or is a space, and does not alter how its neighbours are shown.
pub fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..='\u{e007f}')
}

/// A name without folders, all of which can be shown; fails for any other.
pub fn plain_name(name: &str) -> Result<&str, String> {
    if name.len() > LENGTH_MAX {
        return Err(format!("a name of {} bytes; up to {LENGTH_MAX} are possible", name.len()));
    }
    if let Some(c) = name.chars().find(|c| !is_shown(*c)) {
        return Err(format!("the name has a character that cannot be shown, U+{:04X}", c as u32));
    }
    if name.trim().is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        return Err("that is no plain file name: no folders, no leading dot".into());
    }
    Ok(name)
}

/// A name in a printable form: unprintable characters are escaped in ASCII, and a long name is cut.
pub fn shown(name: &str) -> String {
    let escape = |c: char| match is_shown(c) {
        true => c.to_string(),
        false => c.escape_default().to_string(),
    };
    let text: String = name.chars().take(SHOWN_MAX).map(escape).collect();
    match name.chars().nth(SHOWN_MAX) {
        Some(_) => format!("{text}... ({} bytes)", name.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{plain_name, shown};

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["a", "results.tar", "größe", "a b", "عربي", "a..b", &"a".repeat(200)] {
            assert_eq!(plain_name(name), Ok(name));
        }
        for name in ["", " ", ".", "..", "../a", "/etc/passwd", "a/b", ".ssh", "a\\b"] {
            assert!(plain_name(name).unwrap_err().contains("no plain file name"), "{name:?}");
        }
        assert_eq!(plain_name(&"a".repeat(201)).unwrap_err(), "a name of 201 bytes; up to 200 are possible");
    }

    #[test]
    fn names_that_deceive_are_refused() {
        for name in [
            "a\nb",
            "n\0ul",
            "\u{1b}[2J",
            "exe\u{202e}fdp.",
            "a\u{2066}b",
            "a\u{200b}",
            "\u{feff}a",
            "a\u{fffd}",
        ] {
            let why = plain_name(name).unwrap_err();
            assert!(why.starts_with("the name has a character that cannot be shown, U+"), "{name:?}: {why}");
        }
        assert_eq!(
            plain_name("a\u{202e}b").unwrap_err(),
            "the name has a character that cannot be shown, U+202E"
        );
    }

    #[test]
    fn a_log_has_short_names_on_one_line() {
        assert_eq!(shown("größe.tar"), "größe.tar");
        assert_eq!(shown("a\nb\u{202e}"), "a\\nb\\u{202e}");
        assert_eq!(shown(&"é".repeat(500)), format!("{}... (1000 bytes)", "é".repeat(60)));
    }
}
