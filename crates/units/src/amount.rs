//! A limit that is counted either in packets (or segments) or in bytes.
//!
//! Follows how routers and TCPs are configured: "50 packets", "2 segments", "64 kB".
//! Differs: packets and segments share one variant; each key of this type says which it counts.
//! Leaves out limits in time ("100 ms of queue").

use crate::Bytes;
use crate::bytes::BYTES;
use crate::parse::{UnitError, split};
use crate::serde_text::text_quantity;
use std::fmt;
use std::str::FromStr;

/// Bytes of an ATM cell, header included.
const ATM_CELL: u64 = 53;

/// A limit in packets or in bytes, which may be written as ATM cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// A number of packets or segments, whatever their size.
    Packets(u64),
    /// A number of bytes, headers included where packets are meant.
    Bytes(Bytes),
}

impl Amount {
    /// The amount in bytes when a packet or segment has `size` bytes.
    pub const fn in_bytes(self, size: u64) -> u64 {
        match self {
            Amount::Packets(n) => n.saturating_mul(size),
            Amount::Bytes(b) => b.get(),
        }
    }
}

impl FromStr for Amount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Some((_, unit)) = split(text)
            && matches!(unit, "packets" | "packet" | "segments" | "segment")
        {
            let digits = text.trim().trim_end_matches(unit).trim();
            return digits
                .parse::<u64>()
                .ok()
                .filter(|n| *n <= u32::MAX as u64)
                .map(Amount::Packets)
                .ok_or_else(|| {
                    UnitError::new(format!(
                        "\"{}\" is not a whole number of {unit}; write \"100 {unit}\"",
                        text.trim()
                    ))
                });
        }
        if let Some((_, unit @ ("cells" | "cell"))) = split(text) {
            let digits = text.trim().trim_end_matches(unit).trim();
            let cells = digits.parse::<u64>().ok().filter(|n| *n <= u32::MAX as u64);
            return cells.map(|n| Amount::Bytes(Bytes::new(n * ATM_CELL))).ok_or_else(|| {
                UnitError::new(format!(
                    "\"{}\" is not a whole number of {unit}; write \"100 {unit}\"",
                    text.trim()
                ))
            });
        }
        let sizes = || BYTES.units.iter().map(|(name, ..)| *name);
        if let Some((_, unit)) = split(text)
            && !unit.is_empty()
            && !sizes().any(|name| name == unit)
        {
            let known: Vec<&str> = sizes().chain(["packets", "segments", "cells"]).collect();
            return Err(UnitError::unknown("a limit", text, unit, &known));
        }
        BYTES.parse(text).map(|n| Amount::Bytes(Bytes::new(n))).map_err(|e| {
            UnitError::new(format!(
                "{e}; or write a number of packets, \"50 packets\", or segments, \"2 segments\""
            ))
        })
    }
}
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Packets(n) => f.pad(&format!("{n} packets")),
            Amount::Bytes(b) => fmt::Display::fmt(b, f),
        }
    }
}

text_quantity!(
    Amount,
    "a limit",
    "\"50 packets\" or \"64 kB\"",
    r"^\s*([0-9]+\s*(packets?|segments?|cells?)|[0-9.]+([eE][+-]?[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB))\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_bytes_are_told_apart() {
        assert_eq!("50 packets".parse::<Amount>().unwrap(), Amount::Packets(50));
        assert_eq!("2 segments".parse::<Amount>().unwrap(), Amount::Packets(2));
        assert_eq!("64 kB".parse::<Amount>().unwrap(), Amount::Bytes(Bytes::new(64_000)));
        assert_eq!("531 cells".parse::<Amount>().unwrap(), Amount::Bytes(Bytes::new(28_143)));
        for text in ["50", "1.5 cells", "1.5 packets", "-3 packets", "5 pakets"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
