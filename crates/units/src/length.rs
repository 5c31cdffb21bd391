//! Lengths and heights in metres.
//!
//! Follows the SI; orbits are given in kilometres.
//! Differs: a 64-bit float of metres, because a slant range is never a whole number of anything.
//! Leaves out miles and nautical miles.

use crate::parse::{UnitError, split};
use crate::serde_text::text_quantity;
use std::fmt;
use std::str::FromStr;

/// A length in metres; may be negative (a terminal below the ellipsoid).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Length(f64);

impl Length {
    /// A length of `m` metres.
    pub const fn from_m(m: f64) -> Self {
        Length(m)
    }
    /// A length of `km` kilometres.
    pub const fn from_km(km: f64) -> Self {
        Length(km * 1e3)
    }
    /// Metres.
    pub const fn as_m(self) -> f64 {
        self.0
    }
    /// Kilometres.
    pub const fn as_km(self) -> f64 {
        self.0 / 1e3
    }
}

impl FromStr for Length {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text)
            .ok_or_else(|| UnitError::new(format!("\"{text}\" is not a length; write \"550 km\"")))?;
        let power = match unit {
            "m" => 0,
            "km" => 3,
            "" => {
                return Err(UnitError::new(format!(
                    "\"{}\" has no unit; write a length as \"550 km\"",
                    text.trim()
                )));
            }
            _ => {
                return Err(UnitError::unknown("a length", text, unit, &["m", "km"]));
            }
        };
        Some(number.to_f64(power))
            .filter(|m| m.is_finite() && m.abs() < 1e13)
            .map(Length)
            .ok_or_else(|| UnitError::new(format!("length \"{}\" is too large", text.trim())))
    }
}
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() >= 1e3 {
            f.pad(&format!("{} km", self.0 / 1e3))
        } else {
            f.pad(&format!("{} m", self.0))
        }
    }
}

text_quantity!(Length, "a length", "\"550 km\"", r"^\s*-?[0-9.]+([eE][+-]?[0-9]+)?\s*(m|km)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilometres_are_a_thousand_metres() {
        assert_eq!("780 km".parse::<Length>().unwrap().as_m(), 780_000.0);
        assert_eq!("-430 m".parse::<Length>().unwrap().as_m(), -430.0);
        assert!("780".parse::<Length>().unwrap_err().to_string().contains("550 km"));
        for text in ["780 km", "780.123 km", "0.1 km", "780123.4567 m", "1e-3 m", "35786.03 km"] {
            let length: Length = text.parse().unwrap();
            assert_eq!(length.to_string().parse::<Length>().unwrap(), length, "{text}");
        }
        assert!("1e400 km".parse::<Length>().is_err());
    }
}
