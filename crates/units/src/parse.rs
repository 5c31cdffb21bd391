//! The parser and the printer that all quantities share.
//!
//! Grammar: optional sign, decimal digits with an optional fraction and exponent, optional blank, unit.
//! Differs: numbers are kept as decimal digits, so that "0.1 s" is exactly 100,000,000 ns.
//! Leaves out thousands separators and expressions.

use crate::cure;
use std::fmt;

/// The error for a text that is not a quantity. The message has the value, the expected form and, if known, a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    message: String,
}

impl UnitError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The error of an unknown `unit` in `text`, where `known` are the units of `what` ("a rate"), with a cure if there is one.
    pub(crate) fn unknown(what: &str, text: &str, unit: &str, known: &[&str]) -> Self {
        Self::new(cure::unknown_unit(what, text, unit, known))
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UnitError {}

/// The name of a quantity, an example of it, and its units with their size in the smallest step it can hold.
pub(crate) struct Dimension {
    pub name: &'static str,
    pub example: &'static str,
    /// (unit, numerator, denominator): one unit is numerator/denominator steps.
    pub units: &'static [(&'static str, u128, u128)],
}

impl Dimension {
    /// Reads a non-negative text as whole steps, rounded to the nearest.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let (negative, steps) = self.parse_signed(text)?;
        if negative && steps != 0 {
            return Err(UnitError::new(format!(
                "{} \"{}\" is negative; expected 0 or more",
                self.name,
                text.trim()
            )));
        }
        Ok(steps)
    }

    /// Reads a text as a sign and whole steps.
    pub fn parse_signed(&self, text: &str) -> Result<(bool, u64), UnitError> {
        let (number, unit) = split(text).ok_or_else(|| {
            UnitError::new(format!("\"{text}\" is not a {}; write {}", self.name, self.example))
        })?;
        if unit.is_empty() {
            return Err(UnitError::new(format!(
                "\"{}\" has no unit; write a {} as {}",
                text.trim(),
                self.name,
                self.example
            )));
        }
        let Some(&(_, numerator, denominator)) = self.units.iter().find(|(name, ..)| names(name, unit))
        else {
            let known: Vec<&str> = self.units.iter().map(|(name, ..)| *name).collect();
            return Err(UnitError::unknown(&format!("a {}", self.name), text, unit, &known));
        };
        let steps = number
            .scaled(numerator, denominator)
            .and_then(|v| u64::try_from(v).ok())
            .filter(|v| *v <= i64::MAX as u64)
            .ok_or_else(|| UnitError::new(format!("{} \"{}\" is too large", self.name, text.trim())))?;
        Ok((number.negative, steps))
    }

    /// Prints steps in the largest unit of `preferred` that leaves at most six decimals and at least one whole.
    pub fn format(&self, steps: u64, preferred: &[&str]) -> String {
        for wanted in preferred {
            let Some(&(unit, numerator, denominator)) = self.units.iter().find(|(u, ..)| u == wanted) else {
                continue;
            };
            let micro = steps as u128 * denominator * 1_000_000;
            if micro.is_multiple_of(numerator) && micro / numerator >= 1_000_000 {
                return format!("{} {unit}", decimal(micro / numerator));
            }
        }
        let last = preferred.last().copied().unwrap_or_default();
        let &(unit, numerator, denominator) =
            self.units.iter().find(|(u, ..)| *u == last).unwrap_or(&self.units[self.units.len() - 1]);
        format!("{} {unit}", decimal(steps as u128 * denominator * 1_000_000 / numerator))
    }
}

/// Returns true if `unit` is `name`, whose u may also be a micro sign or the Greek letter.
fn names(name: &str, unit: &str) -> bool {
    let micro = || unit.strip_prefix(['\u{b5}', '\u{3bc}']);
    name == unit || name.strip_prefix('u').is_some_and(|rest| micro() == Some(rest))
}

fn decimal(micro: u128) -> String {
    let (whole, fraction) = (micro / 1_000_000, micro % 1_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{fraction:06}").trim_end_matches('0'))
}

pub(crate) struct Number {
    negative: bool,
    digits: u128,
    /// The value is digits * 10^exponent.
    exponent: i32,
}

impl Number {
    /// The magnitude times numerator / denominator, rounded half up; `None` beyond u128.
    fn scaled(&self, numerator: u128, denominator: u128) -> Option<u128> {
        if self.digits == 0 {
            return Some(0);
        }
        let (mut top, mut bottom) = (self.digits.checked_mul(numerator)?, denominator);
        if self.exponent >= 0 {
            top = top.checked_mul(10u128.checked_pow(self.exponent as u32)?)?;
        } else if let Some(scale) = 10u128.checked_pow(self.exponent.unsigned_abs()) {
            bottom = bottom.checked_mul(scale)?;
        } else {
            return Some(0);
        }
        Some((top + bottom / 2) / bottom)
    }

    /// The 64-bit float nearest to the number times 10^`power`, so that what is printed reads back as the same number.
    pub fn to_f64(&self, power: i32) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // Digits and an exponent are always a float's text; one beyond the range reads as infinite or zero.
        format!("{sign}{}e{}", self.digits, self.exponent.saturating_add(power)).parse().unwrap_or(f64::NAN)
    }
}

/// Splits "-1.5 Mbit/s" into its number and its unit; `None` if it does not begin with a number.
pub(crate) fn split(text: &str) -> Option<(Number, &str)> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut digits: u128 = 0;
    let mut exponent: i32 = 0;
    let (mut seen, mut point, mut end) = (false, false, rest.len());
    for (i, c) in rest.char_indices() {
        match c {
            '0'..='9' => {
                seen = true;
                // Past 27 significant digits the rest cannot change a 64-bit result.
                if digits < 10u128.pow(26) {
                    digits = digits * 10 + (c as u8 - b'0') as u128;
                    exponent -= point as i32;
                } else {
                    exponent += !point as i32;
                }
            }
            '.' if !point => point = true,
            '_' if seen && !point => {}
            _ => {
                end = i;
                break;
            }
        }
    }
    if !seen {
        return None;
    }
    let mut unit = &rest[end..];
    // "1e3 s": an exponent is an e followed by a digit or a signed digit; "1 e" is a unit.
    if let Some(tail) = unit.strip_prefix(['e', 'E']) {
        let digits_at = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        let n = digits_at.len() - digits_at.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if n > 0 {
            let upto = tail.len() - digits_at.len() + n;
            exponent = exponent.saturating_add(tail[..upto].parse::<i32>().ok()?.clamp(-1000, 1000));
            unit = &tail[upto..];
        }
    }
    Some((Number { negative, digits, exponent }, unit.trim()))
}
