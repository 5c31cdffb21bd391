//! Angles: latitudes, longitudes, inclinations, elevations.
//!
//! Follows the usage of the field: degrees outside, radians inside.
//! Differs: north and east are positive; "74 deg W" is written "-74 deg".
//! Leaves out minutes and seconds of arc.

use crate::parse::{UnitError, split};
use crate::serde_text::text_quantity;
use std::fmt;
use std::str::FromStr;

/// An angle, held in the degrees it was written in so that it prints back unchanged.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Angle(f64);

impl Angle {
    /// An angle of `deg` degrees.
    pub const fn from_deg(deg: f64) -> Self {
        Angle(deg)
    }
    /// Degrees.
    pub const fn as_deg(self) -> f64 {
        self.0
    }
    /// Radians.
    pub const fn as_rad(self) -> f64 {
        self.0.to_radians()
    }
}

impl FromStr for Angle {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text)
            .ok_or_else(|| UnitError::new(format!("\"{text}\" is not an angle; write \"53 deg\"")))?;
        let deg = match unit {
            "deg" => number.to_f64(0),
            "rad" => number.to_f64(0).to_degrees(),
            "" => {
                return Err(UnitError::new(format!(
                    "\"{}\" has no unit; write an angle as \"53 deg\"",
                    text.trim()
                )));
            }
            _ => {
                return Err(UnitError::unknown("an angle", text, unit, &["deg", "rad"]));
            }
        };
        Some(deg)
            .filter(|d| d.is_finite() && d.abs() <= 1e6)
            .map(Angle)
            .ok_or_else(|| UnitError::new(format!("angle \"{}\" is too large", text.trim())))
    }
}
impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} deg", self.0))
    }
}

text_quantity!(Angle, "an angle", "\"53 deg\"", r"^\s*-?[0-9.]+([eE][+-]?[0-9]+)?\s*(deg|rad)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_outside_radians_inside() {
        let angle: Angle = "-74.0060 deg".parse().unwrap();
        assert_eq!(angle.as_deg(), -74.006);
        assert!((angle.as_rad() + 1.291_648_366).abs() < 1e-9);
        for text in ["-122.21 deg", "0.1 deg", "86.4 deg", "1e-3 deg"] {
            let angle: Angle = text.parse().unwrap();
            assert_eq!(angle.to_string().parse::<Angle>().unwrap(), angle, "{text}");
        }
        assert_eq!("-122.21 deg".parse::<Angle>().unwrap().as_deg(), -122.21);
        assert!("40.7".parse::<Angle>().is_err() && "40 grad".parse::<Angle>().is_err());
    }
}
