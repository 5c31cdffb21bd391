//! Sizes in bytes.
//!
//! Follows IEC 80000-13: k = 1000 and Ki = 1024, B = byte.
//! Differs: whole bytes; a size in bits is refused.
//! Leaves out everything above terabytes.

use crate::parse::{Dimension, UnitError};
use crate::serde_text::text_quantity;
use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Bytes(u64);

pub(crate) const BYTES: Dimension = Dimension {
    name: "size",
    example: "\"10 MB\"",
    units: &[
        ("B", 1, 1),
        ("kB", 1_000, 1),
        ("MB", 1_000_000, 1),
        ("GB", 1_000_000_000, 1),
        ("TB", 1_000_000_000_000, 1),
        ("KiB", 1 << 10, 1),
        ("MiB", 1 << 20, 1),
        ("GiB", 1 << 30, 1),
    ],
};

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The number of bits.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.parse(text).map(Bytes)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BYTES.format(self.0, &["GB", "MB", "kB", "B"]))
    }
}

text_quantity!(
    Bytes,
    "a size",
    "\"10 MB\"",
    r"^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB)\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilo_is_a_thousand_and_kibi_is_not() {
        assert_eq!("240 kB".parse::<Bytes>().unwrap().get(), 240_000);
        assert_eq!("64 KiB".parse::<Bytes>().unwrap().get(), 65_536);
        assert!("64 KB".parse::<Bytes>().unwrap_err().to_string().contains("\"kB\""));
        assert!("-1 B".parse::<Bytes>().is_err());
        assert!("5 Mbit".parse::<Bytes>().is_err());
    }

    #[test]
    fn what_is_printed_reads_back() {
        for n in [0, 1, 1460, 65_535, 10_000_000, 1_234_567_890] {
            assert_eq!(Bytes::new(n).to_string().parse::<Bytes>().unwrap().get(), n);
        }
    }
}
