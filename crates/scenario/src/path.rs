//! The path of a value in a scenario: `links.satellite.queue.kind`, `flows.0.path.1`.
//!
//! Follows TOML's dotted keys; a key that is not bare is quoted.
//! Differs: elements of arrays are numbered from 0, so that one spelling serves errors and `--set`.
//! Leaves out wildcards.

use std::fmt;

/// One step into a table or an array.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyStep {
    /// A key of a table.
    Key(String),
    /// An element of an array.
    Index(usize),
}

/// The path from the top of the scenario to a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct KeyPath(pub Vec<KeyStep>);

impl KeyPath {
    /// The key `key` below this path.
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(KeyStep::Key(key.to_owned()));
        KeyPath(steps)
    }
    /// Element `index` of the array at this path.
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(KeyStep::Index(index));
        KeyPath(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            match step {
                KeyStep::Index(n) => write!(f, "{n}")?,
                KeyStep::Key(key) if is_bare(key) => f.write_str(key)?,
                KeyStep::Key(key) => f.write_str(&crate::error::quoted(key))?,
            }
        }
        Ok(())
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 60
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Splits `links."a.b".rate` at the dots outside quotes. `None` if a part is empty or a quote is not closed.
pub(crate) fn split(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.chars().next()? {
            quote @ ('"' | '\'') => {
                let close = rest[1..].find(quote)? + 1;
                (rest[1..close].to_owned(), &rest[close + 1..])
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_paths_split_again() {
        let path = KeyPath::default().key("links").key("a.b").key("rate");
        assert_eq!(path.to_string(), "links.\"a.b\".rate");
        assert_eq!(split(&path.to_string()).unwrap(), ["links", "a.b", "rate"]);
        assert_eq!(split("flows.0.start").unwrap(), ["flows", "0", "start"]);
        for wrong in ["", ".", "a..b", "a.", "\"a", "\"a\"b"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
