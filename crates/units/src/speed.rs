//! Speeds over the ground, in metres per second.
//!
//! Follows the SI, and the knot of the sea and the air: a nautical mile of 1852 m an hour.
//! Differs: a 64-bit float, because a track is interpolated anyway.
//! Leaves out statute miles and Mach numbers.

use crate::parse::{UnitError, split};
use crate::serde_text::text_quantity;
use std::fmt;
use std::str::FromStr;

/// A speed, held in the unit that it was written in so that it prints back unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    number: f64,
    unit: &'static str,
}

/// Units, and metres of each number of seconds: km/h is 1000 m in 3600 s.
const UNITS: &[(&str, f64, f64)] =
    &[("m/s", 1.0, 1.0), ("km/s", 1000.0, 1.0), ("km/h", 1000.0, 3600.0), ("kn", 1852.0, 3600.0)];

impl Speed {
    /// Metres per second.
    pub fn as_m_s(self) -> f64 {
        let (metres, seconds) =
            UNITS.iter().find(|(unit, ..)| *unit == self.unit).map_or((1.0, 1.0), |(_, m, s)| (*m, *s));
        self.number * metres / seconds
    }
}

impl FromStr for Speed {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text)
            .ok_or_else(|| UnitError::new(format!("\"{text}\" is not a speed; write \"900 km/h\"")))?;
        if unit.is_empty() {
            let text = text.trim();
            return Err(UnitError::new(format!("\"{text}\" has no unit; write a speed as \"900 km/h\"")));
        }
        let known: Vec<&str> = UNITS.iter().map(|(unit, ..)| *unit).collect();
        let unit = UNITS.iter().map(|(known, ..)| *known).find(|known| *known == unit);
        let unit = unit.ok_or_else(|| {
            UnitError::unknown("a speed", text, split(text).map_or("", |(_, unit)| unit), &known)
        })?;
        Some(number.to_f64(0))
            .filter(|number| number.is_finite() && (0.0..1e9).contains(number))
            .map(|number| Speed { number, unit })
            .ok_or_else(|| UnitError::new(format!("speed \"{}\" is negative or too large", text.trim())))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.number, self.unit))
    }
}

text_quantity!(Speed, "a speed", "\"900 km/h\"", r"^\s*-?[0-9.]+([eE][+-]?[0-9]+)?\s*(m/s|km/s|km/h|kn)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knot_is_a_nautical_mile_an_hour() {
        for (text, m_s) in [("900 km/h", 250.0), ("3600 kn", 1852.0), ("7.5 km/s", 7500.0), ("12 m/s", 12.0)]
        {
            let speed: Speed = text.parse().unwrap();
            assert!((speed.as_m_s() - m_s).abs() < 1e-9, "{text}: {}", speed.as_m_s());
            assert_eq!(speed.to_string(), text);
        }
        for (text, told) in [
            ("900", "has no unit; write a speed as \"900 km/h\""),
            ("500 knots", "did you mean \"kn\"?"),
            ("900 kph", "did you mean \"km/h\"?"),
            ("560 mph", "expected one of m/s, km/s, km/h, kn"),
            ("-1 m/s", "negative"),
            ("fast", "is not a speed"),
        ] {
            let error = text.parse::<Speed>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
