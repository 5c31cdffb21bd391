//! The limit of a queue: packets, bytes, or the bytes that the link sends in a given time.
//!
//! Follows how routers are configured: "50 packets", "64 kB", "250 ms".
//! Differs from a kernel's queue: a time is turned into bytes once, at the nominal rate of the link.
//! Leaves out the rate, which is the link's.

use crate::parse::{UnitError, split};
use crate::serde_text::text_quantity;
use crate::{Amount, Bytes, Rate, Span};
use std::fmt;
use std::str::FromStr;

/// Limit of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Packets or bytes.
    Amount(Amount),
    /// As many bytes as the link sends in this time, at least [`Depth::LEAST`].
    Time(Span),
}

impl Depth {
    /// The least that a time stands for: ten packets of 1500 bytes, so that a first window fits a slow link's queue.
    pub const LEAST: Bytes = Bytes::new(15_000);

    /// A number of packets.
    pub const fn packets(n: u64) -> Self {
        Depth::Amount(Amount::Packets(n))
    }

    /// Packets or bytes on a link of `rate`.
    pub fn at(self, rate: Rate) -> Amount {
        match self {
            Depth::Amount(amount) => amount,
            Depth::Time(span) => Amount::Bytes(rate.bytes_in(span).max(Self::LEAST)),
        }
    }
}

impl FromStr for Depth {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        // Only a text that ends in a unit of time is read as one; for any other the error of an amount lists what may be written.
        if split(text).is_some_and(|(_, unit)| unit.parse::<TimeUnit>().is_ok()) {
            return text.parse().map(Depth::Time);
        }
        text.parse().map(Depth::Amount).map_err(|e| UnitError::new(format!("{e}; or a time, \"250 ms\"")))
    }
}

/// A unit that a time may have.
struct TimeUnit;

impl FromStr for TimeUnit {
    type Err = UnitError;
    fn from_str(unit: &str) -> Result<Self, UnitError> {
        format!("1 {unit}").parse::<Span>().map(|_| TimeUnit)
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Amount(amount) => amount.fmt(f),
            Depth::Time(span) => span.fmt(f),
        }
    }
}

text_quantity!(
    Depth,
    "a limit",
    "\"50 packets\", \"64 kB\" or \"250 ms\"",
    r"^\s*([0-9]+\s*(packets?|segments?)|[0-9.]+([eE][+-]?[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|ns|us|µs|μs|ms|s|min|h|d))\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_the_link_sends_in_it_and_at_least_ten_packets() {
        let depth: Depth = "250 ms".parse().unwrap();
        for (rate, bytes) in [("50 Mbit/s", 1_562_500), ("480 kbit/s", 15_000), ("64 kbit/s", 15_000)] {
            assert_eq!(depth.at(rate.parse().unwrap()), Amount::Bytes(Bytes::new(bytes)));
        }
        assert_eq!(depth.to_string().parse::<Depth>().unwrap(), depth);
    }

    #[test]
    fn packets_and_bytes_are_the_same_at_every_rate() {
        for (text, amount) in
            [("50 packets", Amount::Packets(50)), ("64 kB", Amount::Bytes(Bytes::new(64_000)))]
        {
            let depth: Depth = text.parse().unwrap();
            assert_eq!(depth.at("1 bit/s".parse().unwrap()), amount);
        }
        let error = "50 pakets".parse::<Depth>().unwrap_err().to_string();
        assert!(error.contains(", packets, segments, cells; or a time, \"250 ms\""), "{error}");
    }
}
