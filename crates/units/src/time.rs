//! Instants and spans of simulated time in whole nanoseconds.
//!
//! An instant is counted from the start of the run, so it prints, compares and starts where a scenario says it does.
//! Differs from `std::time`: 64-bit integers, serialisable, and no way to ask the machine's clock.
//! Leaves out calendar dates; `epoch` in the scenario ties a run to UTC.

use crate::parse::{Dimension, UnitError};
use crate::serde_text::text_quantity;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

/// An instant: nanoseconds since the start of the run. Holds 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(u64);

/// A span of time: nanoseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Span(u64);

pub(crate) const TIME: Dimension = Dimension {
    name: "time",
    example: "\"600 ms\"",
    units: &[
        ("ns", 1, 1),
        ("us", 1_000, 1),
        ("ms", 1_000_000, 1),
        ("s", 1_000_000_000, 1),
        ("min", 60_000_000_000, 1),
        ("h", 3_600_000_000_000, 1),
        ("d", 86_400_000_000_000, 1),
    ],
};

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The greatest instant, later than every event.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }
    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The span from `earlier` to here; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The time by `span` earlier; time zero at the earliest.
    pub const fn before(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// The span of no length.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }
    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Span(us * 1_000)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * 1_000_000_000)
    }
    /// A span of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Span((s * 1e9).round() as u64)
    }
    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// `self - other`, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
    /// This span rounded up to a whole number of `step`s; unchanged if `step` is zero.
    pub const fn round_up(self, step: Span) -> Span {
        if step.0 == 0 { self } else { Span(self.0.div_ceil(step.0) * step.0) }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}
impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        self.saturating_sub(other)
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIME.parse(text).map(Span)
    }
}
impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIME.parse(text).map(Time)
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0 s");
        }
        f.pad(&TIME.format(self.0, &["s", "ms", "us", "ns"]))
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}

text_quantity!(
    Span,
    "a time",
    "\"600 ms\"",
    r"^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*(ns|us|µs|μs|ms|s|min|h|d)\s*$"
);
text_quantity!(Time, "a time", "\"20 s\"", r"^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*(ns|us|µs|μs|ms|s|min|h|d)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_fractions_are_exact() {
        assert_eq!("0.1 s".parse::<Span>().unwrap(), Span::from_nanos(100_000_000));
        assert_eq!("600ms".parse::<Span>().unwrap(), Span::from_millis(600));
        assert_eq!("24 h".parse::<Span>().unwrap().as_secs_f64(), 86_400.0);
        assert_eq!("1e-3 s".parse::<Span>().unwrap(), Span::from_millis(1));
    }

    #[test]
    fn what_is_printed_reads_back() {
        for ns in [0, 1, 999, 1_000, 1_500_000, 299_000_000, 1_000_000_000, 86_400_000_000_000, u64::MAX / 4]
        {
            let span = Span::from_nanos(ns);
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span, "{span}");
        }
        assert_eq!(Span::from_millis(1500).to_string(), "1.5 s");
        assert_eq!(Span::from_millis(300).to_string(), "300 ms");
    }

    #[test]
    fn refusals_say_what_to_write() {
        let bare = "600".parse::<Span>().unwrap_err().to_string();
        assert!(bare.contains("no unit") && bare.contains("600 ms"), "{bare}");
        let unit = "5 sec".parse::<Span>().unwrap_err().to_string();
        assert!(unit.contains("\"sec\"") && unit.contains("ms"), "{unit}");
        assert!("-1 s".parse::<Span>().unwrap_err().to_string().contains("negative"));
        assert!("1e30 s".parse::<Span>().unwrap_err().to_string().contains("too large"));
        assert!(
            "".parse::<Span>().is_err()
                && "ms".parse::<Span>().is_err()
                && "1.2.3 s".parse::<Span>().is_err()
        );
    }
}
