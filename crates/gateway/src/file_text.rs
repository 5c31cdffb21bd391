//! The text of a gateway's file: its values, and errors with their lines.
//!
//! Follows CONTRIBUTING.md for messages: file, line, key, value, and the allowed values.
//! Leaves out the keys themselves (`config`).

use serde::de::DeserializeOwned;
use skyhop_text::spelling;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;

/// An error in the file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(message: String) -> Self {
        ConfigError(message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The file's text, from which the line of a value is found.
pub struct Text<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Text<'_> {
    pub fn error(&self, offset: usize, message: impl fmt::Display) -> ConfigError {
        let line =
            1 + self.text.as_bytes()[..offset.min(self.text.len())].iter().filter(|b| **b == b'\n').count();
        ConfigError::new(format!("{}:{line}: {message}", self.path.display()))
    }

    pub fn value<T: FromStr>(&self, key: &str, value: &Spanned<String>) -> Result<T, ConfigError>
    where
        T::Err: fmt::Display,
    {
        value.get_ref().parse().map_err(|e| self.error(value.span().start, format_args!("{key}: {e}")))
    }

    pub fn values<T: FromStr>(&self, key: &str, values: &[Spanned<String>]) -> Result<Vec<T>, ConfigError>
    where
        T::Err: fmt::Display,
    {
        values.iter().map(|value| self.value(key, value)).collect()
    }

    pub fn number(
        &self,
        key: &str,
        value: &Option<Spanned<i64>>,
        allowed: RangeInclusive<i64>,
        default: i64,
    ) -> Result<i64, ConfigError> {
        let Some(value) = value else { return Ok(default) };
        let number = *value.get_ref();
        if allowed.contains(&number) {
            return Ok(number);
        }
        let (from, to) = allowed.into_inner();
        Err(self.error(value.span().start, format_args!("{key}: {number}; {from} to {to} are allowed")))
    }

    /// Numbers of a list, each within these bounds.
    pub fn numbers(
        &self,
        key: &str,
        values: &[Spanned<i64>],
        allowed: RangeInclusive<i64>,
    ) -> Result<Vec<i64>, ConfigError> {
        values.iter().map(|value| self.number(key, &Some(value.clone()), allowed.clone(), 0)).collect()
    }

    pub fn address(
        &self,
        key: &str,
        value: &Spanned<String>,
        port: Option<u16>,
    ) -> Result<SocketAddr, ConfigError> {
        let text = value.get_ref();
        let bare = text.parse::<IpAddr>().ok().zip(port).map(|(ip, port)| SocketAddr::new(ip, port));
        bare.or_else(|| text.parse().ok()).ok_or_else(|| {
            let message = format!("{key}: \"{text}\" is no address with a port; \"192.0.2.1:57824\" is");
            self.error(value.span().start, message)
        })
    }

    /// The error of the TOML library, with the nearest of the valid keys that it lists.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|e| {
            let message = e.message();
            let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
            let hint = match quoted.split_first() {
                Some((unknown, known)) if message.starts_with("unknown") => {
                    spelling::hint(unknown, known.iter().copied())
                }
                _ => String::new(),
            };
            self.error(e.span().map_or(0, |span| span.start), format_args!("{message}{hint}"))
        })
    }
}

/// One port or a range of them.
pub struct Ports(pub RangeInclusive<u16>);

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse::<u16>(), last.trim().parse::<u16>()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Ports(first..=last)),
            _ => Err(format!("\"{text}\" is no port or range of ports; \"443\" and \"8000-8999\" are")),
        }
    }
}
