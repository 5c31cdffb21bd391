//! Mistakes in a scenario as messages: place, key, value, what is allowed, nearest spelling.
//!
//! Follows compilers: `file:line: key: message`, one problem per line, so that editors can jump there.
//! Differs from serde: all problems are reported, not only the first.
//! Leaves out error codes.

use skyhop_text::spelling::hint;
use std::fmt;

/// Largest number of problems that are kept; the rest are only counted.
pub(crate) const MOST_PROBLEMS: usize = 50;

/// The place of a problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The file as a whole, for example if it cannot be read.
    File {
        /// Name of the file as the caller gave it.
        file: String,
    },
    /// A line of the file, counted from 1.
    Line {
        /// Name of the file as the caller gave it.
        file: String,
        /// Number of the line.
        line: usize,
    },
    /// A value given with `--set`.
    Set {
        /// Path of the value; empty if it is unknown.
        path: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { file } => f.write_str(file),
            Place::Line { file, line } => write!(f, "{file}:{line}"),
            Place::Set { path } if path.is_empty() => f.write_str("--set"),
            Place::Set { path } => write!(f, "--set {path}"),
        }
    }
}

/// A mistake, or a warning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Place of the problem.
    pub place: Place,
    /// The dotted key, such as `links.satellite.queue.kind`; empty if the problem has none.
    pub key: String,
    /// The mistake, with the value, what is allowed and the nearest valid spelling.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = matches!(&self.place, Place::Set { path } if *path == self.key);
        if self.key.is_empty() || said {
            write!(f, "{}: {}", self.place, self.message)
        } else {
            write!(f, "{}: {}: {}", self.place, self.key, self.message)
        }
    }
}

/// All mistakes in a scenario, in the order of the file. Printed as one problem per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    /// The problems; at least one.
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub more: usize,
}

impl Errors {
    pub(crate) fn one(place: Place, key: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { place, key: key.into(), message: message.into() }.into()
    }

    /// The same problems without line numbers, for a scenario whose text the user has not seen.
    pub(crate) fn without_lines(mut self) -> Self {
        for problem in &mut self.problems {
            if let Place::Line { file, .. } = &problem.place {
                problem.place = Place::File { file: file.clone() };
            }
        }
        self
    }
}

impl From<Problem> for Errors {
    fn from(problem: Problem) -> Self {
        Errors { problems: vec![problem], more: 0 }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let end = if i + 1 < self.problems.len() || self.more > 0 { "\n" } else { "" };
            write!(f, "{problem}{end}")?;
        }
        if self.more > 0 { write!(f, "and {} more", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for Errors {}

/// A value in quotes, shortened and with control characters escaped, so that it cannot affect a terminal.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("\"");
    for c in text.chars().take(LONGEST) {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push_str(if text.chars().nth(LONGEST).is_some() { "...\"" } else { "\"" });
    out
}

/// `; expected one of a, b, c`, and the nearest of them if one is near.
pub(crate) fn expected<'a>(value: &str, allowed: impl Iterator<Item = &'a str> + Clone) -> String {
    const LISTED: usize = 20;
    let all = allowed.clone().count();
    let mut out = match all {
        0 => return "; none is allowed here".into(),
        1 => String::from("; expected "),
        _ => String::from("; expected one of "),
    };
    let listed: Vec<&str> = allowed.clone().take(LISTED).collect();
    out.push_str(&listed.join(", "));
    if all > LISTED {
        out.push_str(&format!(" and {} more", all - LISTED));
    }
    out + &hint(value, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shortened_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2Jb"), "\"a\\u{1b}[2Jb\"");
        assert!(quoted(&"x".repeat(1 << 20)).len() < 80);
    }
}
