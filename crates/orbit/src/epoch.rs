//! The UTC instant of t = 0 in a constellation.
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
    /// A UTC date and time, to the microsecond. Fails if its year is not between 1957 and 2200.
    pub fn new(utc: NaiveDateTime) -> Result<Self, EpochError> {
        if !(1957..=2200).contains(&utc.year()) {
            return Err(EpochError { text: utc.to_string() });
        }
        // A TLE resolves 0.9 ms; digits of its day fraction below a microsecond are rounding noise.
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

    /// Greenwich mean sidereal time in radians (IAU 1982), by which TEME is rotated.
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

/// The error for a text that is not a date and time between 1957 and 2200.
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
