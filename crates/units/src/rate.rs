//! Bits per second.
//!
//! Follows the SI prefixes: 1 Mbit/s is 10^6 bit/s and 1 MB/s is 8 * 10^6 bit/s.
//! Differs: whole bits per second; slower links than 1 bit/s do not exist here.
//! Leaves out symbol rates and spectral efficiency.

use crate::parse::{Dimension, UnitError};
use crate::serde_text::text_quantity;
use crate::{Bytes, Span};
use std::fmt;
use std::str::FromStr;

/// A data rate in whole bits per second, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

const RATE: Dimension = Dimension {
    name: "rate",
    example: "\"1.5 Mbit/s\"",
    units: &[
        ("bit/s", 1, 1),
        ("kbit/s", 1_000, 1),
        ("Mbit/s", 1_000_000, 1),
        ("Gbit/s", 1_000_000_000, 1),
        ("Tbit/s", 1_000_000_000_000, 1),
        ("B/s", 8, 1),
        ("kB/s", 8_000, 1),
        ("MB/s", 8_000_000, 1),
        ("GB/s", 8_000_000_000, 1),
    ],
};

impl Rate {
    /// A rate of `bps` bits per second, or `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Rate(bps)) }
    }
    /// A rate of `mbps` megabits (10^6 bits) per second; zero is taken as 1 bit/s.
    pub const fn mbit(mbps: u64) -> Self {
        Rate(if mbps == 0 { 1 } else { mbps * 1_000_000 })
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// The time to put `size` on the wire, rounded to the nearest nanosecond.
    pub fn serialisation(self, size: Bytes) -> Span {
        let bits = size.get().saturating_mul(8);
        // The product of a packet's bits and 10^9 fits 64 bits for every packet below 2.3 GB.
        match bits.checked_mul(1_000_000_000) {
            Some(product) => Span::from_nanos((product + self.0 / 2) / self.0),
            None => {
                let ns = (bits as u128 * 1_000_000_000 + self.0 as u128 / 2) / self.0 as u128;
                Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        }
    }
    /// The bytes that this rate carries in `span`, rounded down: the bandwidth-delay product when `span` is the RTT.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        Rate::from_bps(RATE.parse(text)?)
            .ok_or_else(|| UnitError::new(format!("rate \"{}\" is below 1 bit/s", text.trim())))
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&RATE.format(self.0, &["Gbit/s", "Mbit/s", "kbit/s", "bit/s"]))
    }
}

text_quantity!(
    Rate,
    "a rate",
    "\"1.5 Mbit/s\"",
    r"^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*(bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s|B/s|kB/s|MB/s|GB/s)\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_bytes_differ_by_eight() {
        assert_eq!("1.5 Mbit/s".parse::<Rate>().unwrap().as_bps(), 1_500_000);
        assert_eq!("1.5 MB/s".parse::<Rate>().unwrap().as_bps(), 12_000_000);
    }

    #[test]
    fn ambiguous_units_name_both_readings() {
        for text in ["5 mbps", "5 Mbps", "64kbps", "1 Gbps"] {
            let message = text.parse::<Rate>().unwrap_err().to_string();
            assert!(message.contains("Mbit/s") && message.contains("MB/s"), "{message}");
        }
        assert!("0 bit/s".parse::<Rate>().is_err());
    }

    #[test]
    fn serialisation_is_exact_to_the_nanosecond() {
        let t1: Rate = "1.5 Mbit/s".parse().unwrap();
        assert_eq!(t1.serialisation(Bytes::new(1040)).as_nanos(), 5_546_667);
        assert_eq!(Rate::mbit(622).serialisation(Bytes::new(1500)).as_nanos(), 19_293);
        assert_eq!(t1.bytes_in(Span::from_millis(600)).get(), 112_500);
    }

    #[test]
    fn what_is_printed_reads_back() {
        for bps in [1, 999, 64_000, 1_500_000, 1_544_000, 622_080_000, 10_000_000_000] {
            let rate = Rate::from_bps(bps).unwrap();
            assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
        }
    }
}
