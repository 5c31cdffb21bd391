//! The UTC instant that a constellation calls t = 0.
//!
//! Follows ISO 8601 as OMM writes it (CCSDS 502.0-B, 6.3): `2025-10-07T12:00:00.123456`, with or without `Z`.
//! Differs: a space may stand for the `T`, and a date alone is its midnight.
//! Left out: leap seconds, UT1 (under a second away), and years outside 1957 to 2200.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, NaiveDate, NaiveDateTime, SubsecRound};

/// A UTC date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(NaiveDateTime);

impl Epoch {
    /// Takes a UTC date and time, to the microsecond, if its year is between 1957 and 2200.
    pub fn new(utc: NaiveDateTime) -> Result<Self, EpochError> {
        if !(1957..=2200).contains(&utc.year()) {
            return Err(EpochError { text: utc.to_string() });
        }
        // A TLE has 0.9 ms; what its day fraction leaves below a microsecond is noise of the conversion.
        Ok(Self(utc.round_subsecs(6)))
    }

    /// The UTC date and time.
    pub fn utc(self) -> NaiveDateTime {
        self.0
    }

    /// Seconds from `earlier` to this epoch.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        let gap = self.0 - earlier.0;
        gap.num_seconds() as f64 + f64::from(gap.subsec_nanos()) * 1e-9
    }

    /// Angle of Greenwich from the mean equinox in radians (GMST, IAU 1982), the one TEME is turned by.
    pub fn greenwich_rad(self) -> f64 {
        sgp4::iau_epoch_to_sidereal_time(sgp4::julian_years_since_j2000(&self.0))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.0.format("%Y-%m-%dT%H:%M:%S%.f"))
    }
}

impl FromStr for Epoch {
    type Err = EpochError;

    fn from_str(text: &str) -> Result<Self, EpochError> {
        let error = || EpochError { text: text.to_owned() };
        let bare = text.trim().trim_end_matches(['Z', 'z']);
        let utc = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(bare, format).ok())
            .or_else(|| NaiveDate::parse_from_str(bare, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0))
            .ok_or_else(error)?;
        Self::new(utc).map_err(|_| error())
    }
}

/// Not a date and time that satellites have flown at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochError {
    text: String,
}

impl fmt::Display for EpochError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch \"{}\"; expected UTC like 2025-10-07T12:00:00Z, years 1957 to 2200", self.text)
    }
}

impl std::error::Error for EpochError {}
