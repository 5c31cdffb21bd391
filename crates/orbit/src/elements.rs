//! Orbital elements of one catalogued object, and the errors in a file of them.
//!
//! Follows the field definitions of CCSDS 502.0-B (OMM); TLE files carry the same numbers.
//! Differs: fields that SGP4 does not use may be absent.
//! Left out: covariance, manoeuvres, and elements for propagators other than SGP4.

use std::collections::BTreeMap;
use std::fmt;

use crate::epoch::Epoch;

/// Location of an object in its file, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementsPlace {
    /// A line of a TLE file.
    Line(usize),
    /// An object of an OMM array.
    Object(usize),
}

impl fmt::Display for ElementsPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Object(number) => write!(f, "object {number}"),
        }
    }
}

/// Mean elements of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct ElementSet {
    /// The object's name; `norad-<id>` where the file has none. Not always unique.
    pub name: String,
    /// Catalogue number, up to nine digits.
    pub norad_id: u64,
    /// Epoch of the elements.
    pub epoch: Epoch,
    /// Location in the file.
    pub place: ElementsPlace,
    pub(crate) mean: sgp4::Elements,
}

impl ElementSet {
    pub(crate) fn new(mean: sgp4::Elements, place: ElementsPlace) -> Result<Self, ElementsError> {
        for (field, value, low, high) in [
            ("mean motion (rev/day)", mean.mean_motion, 0.01, 18.0),
            ("eccentricity", mean.eccentricity, 0.0, 0.999),
            ("inclination (deg)", mean.inclination, 0.0, 180.0),
            ("raan (deg)", mean.right_ascension, -360.0, 360.0),
            ("argument of perigee (deg)", mean.argument_of_perigee, -360.0, 360.0),
            ("mean anomaly (deg)", mean.mean_anomaly, -360.0, 360.0),
            ("bstar", mean.drag_term, -10.0, 10.0),
        ] {
            if !(low..=high).contains(&value) {
                return Err(ElementsError::Range { place, field, value, low, high });
            }
        }
        let epoch = Epoch::new(mean.datetime)
            .map_err(|error| ElementsError::Field { place, problem: error.to_string() })?;
        let name = mean.object_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            name: name.map_or_else(|| format!("norad-{}", mean.norad_id), str::to_owned),
            norad_id: mean.norad_id,
            epoch,
            place,
            mean,
        })
    }

    /// The international designator as "1998-067A", if the file has it.
    pub fn designator(&self) -> Option<String> {
        let text = self.mean.international_designator.as_deref()?.trim();
        let (year, launch) = text.split_once('-')?;
        // Two lines have the last two digits of the year; nothing flew before 1957.
        let year = match year.parse::<u32>().ok()? {
            short @ 0..57 => 2000 + short,
            short @ 57..100 => 1900 + short,
            whole => whole,
        };
        (!launch.is_empty()).then(|| format!("{year}-{launch}"))
    }

    /// Revolutions per day.
    pub fn mean_motion_rev_day(&self) -> f64 {
        self.mean.mean_motion
    }

    /// Inclination in radians.
    pub fn inclination_rad(&self) -> f64 {
        self.mean.inclination.to_radians()
    }
}

/// Largest number of objects in a file; four times the whole public catalogue.
pub const MAX_OBJECTS: usize = 200_000;
/// Largest file, bytes; larger ones are refused before they are read.
pub const MAX_FILE_BYTES: usize = 160 << 20;

/// Refuses a file that is too large to be held in memory.
pub(crate) fn check_size(file: &[u8]) -> Result<(), ElementsError> {
    let bytes = file.len();
    if bytes > MAX_FILE_BYTES { Err(ElementsError::TooLarge { bytes }) } else { Ok(()) }
}

/// Refuses an empty file and a duplicate catalogue number.
pub(crate) fn check_file(sets: Vec<ElementSet>) -> Result<Vec<ElementSet>, ElementsError> {
    if sets.is_empty() {
        return Err(ElementsError::Empty);
    }
    if sets.len() > MAX_OBJECTS {
        return Err(ElementsError::TooMany);
    }
    let mut seen = BTreeMap::new();
    for set in &sets {
        if let Some(first) = seen.insert(set.norad_id, set.place) {
            return Err(ElementsError::Duplicate { place: set.place, norad_id: set.norad_id, first });
        }
    }
    Ok(sets)
}

/// The beginning of foreign text, as a message quotes it.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '.' } else { c }).collect()
}

/// The error for a file of elements that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementsError {
    /// The file has no objects.
    Empty,
    /// The file has more than [`MAX_OBJECTS`] objects.
    TooMany,
    /// The file has more than [`MAX_FILE_BYTES`] bytes.
    TooLarge {
        /// Size of the file, bytes.
        bytes: usize,
    },
    /// The file is not text.
    NotText {
        /// Line with the first invalid byte.
        line: usize,
    },
    /// The file is text in another encoding.
    Encoding {
        /// The encoding, and the remedy.
        problem: String,
    },
    /// An element line is missing.
    ExpectedLine {
        /// Line where it is expected.
        line: usize,
        /// 1 or 2.
        expected: u8,
        /// The text of that line.
        found: String,
    },
    /// An element line has the wrong length.
    Length {
        /// The line.
        line: usize,
        /// Its length in characters.
        length: usize,
    },
    /// The last digit of an element line does not match its other digits.
    Checksum {
        /// The line.
        line: usize,
        /// The last character of the line.
        found: char,
        /// The correct checksum.
        expected: u8,
    },
    /// The file is not JSON.
    NotJson {
        /// Line of the JSON text.
        line: usize,
        /// The parser's message.
        problem: String,
    },
    /// A field is missing or malformed.
    Field {
        /// The object.
        place: ElementsPlace,
        /// The parser's message.
        problem: String,
    },
    /// A field has a value that is impossible for an orbit.
    Range {
        /// The object.
        place: ElementsPlace,
        /// The field with its unit.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Lowest value allowed.
        low: f64,
        /// Highest value allowed.
        high: f64,
    },
    /// A catalogue number occurs twice.
    Duplicate {
        /// The second object.
        place: ElementsPlace,
        /// The number.
        norad_id: u64,
        /// The first object.
        first: ElementsPlace,
    },
    /// The elements put the object below the ground at their own epoch.
    Decayed {
        /// The object.
        place: ElementsPlace,
        /// Its name.
        name: String,
        /// SGP4's message.
        reason: String,
    },
}

impl fmt::Display for ElementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no elements in the file; expected at least one object"),
            Self::TooMany => write!(f, "more than {MAX_OBJECTS} objects; expected {MAX_OBJECTS} at most"),
            Self::TooLarge { bytes } => {
                write!(f, "file of {bytes} bytes; expected {MAX_FILE_BYTES} at most")
            }
            Self::NotText { line } => {
                write!(f, "line {line}: not utf-8 text; expected a TLE or OMM file")
            }
            Self::Encoding { problem } => f.write_str(problem),
            Self::ExpectedLine { line, expected, found } => {
                write!(f, "line {line}: found \"{found}\"; expected element line {expected}")
            }
            Self::Length { line, length } => {
                write!(f, "line {line}: element line of {length} characters; expected 69")
            }
            Self::Checksum { line, found, expected } => {
                write!(f, "line {line}: checksum '{found}'; expected {expected} from the line's digits")
            }
            Self::NotJson { line, problem } => write!(f, "line {line}: not omm json: {problem}"),
            Self::Field { place, problem } => write!(f, "{place}: {problem}"),
            Self::Range { place, field, value, low, high } => {
                write!(f, "{place}: {field} of {value}; expected {low} to {high}")
            }
            Self::Duplicate { place, norad_id, first } => {
                write!(f, "{place}: catalogue number {norad_id} again; first at {first}, expected once")
            }
            Self::Decayed { place, name, reason } => {
                write!(
                    f,
                    "{place}: \"{name}\" has decayed: {reason}; expected an orbit above the ground at its epoch"
                )
            }
        }
    }
}

impl std::error::Error for ElementsError {}
