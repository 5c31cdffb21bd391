//! A measured distribution, from a file in ns-2's format.
//!
//! Follows ns-2's `RandomVariable/Empirical`: a line has a value, a count or another number, and the share at or below the value.
//! Differs: columns may also be separated as in a table, shares and values must not decrease, the last share must be 1, and
//! errors have the line. Leaves out writing such files.

use skyhop_text::table::{TableError, number, rows};

/// Values and the shares of draws at or below them, both ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    points: Vec<(f64, f64)>,
    between: Interpolation,
}

/// Interpolation between two values of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interpolation {
    /// No interpolation: the upper of the two, so that only values of the file are drawn.
    Step,
    /// Linear interpolation.
    #[default]
    Line,
}

impl Measured {
    /// Reads a file with two or three columns per line: first the value, last the share of draws at or below it. Text after a `#`
    /// is a comment. Fails with the line of the mistake.
    pub fn parse(bytes: &[u8], between: Interpolation) -> Result<Self, TableError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut last_line = 0;
        for row in rows(bytes)? {
            let row = row?;
            let point = point(row.cells()).and_then(|point| follows(points.last(), point));
            points.push(point.map_err(|message| row.wrong(message))?);
            last_line = row.line;
        }
        let Some((_, share)) = points.last() else {
            return Err(TableError::whole("is empty; expected lines of value, count and share"));
        };
        // Shares are printed with a limited number of digits; the last one may be below 1 by no more than rounding.
        if *share < 0.999_999 {
            return Err(TableError::at(last_line, format!("the last share is {share}; expected 1")));
        }
        if let Some(last) = points.last_mut() {
            last.1 = 1.0;
        }
        Ok(Self { points, between })
    }

    /// The quantile at `u`, 0 to 1.
    pub fn at(&self, u: f64) -> f64 {
        let above = self.points.partition_point(|(_, share)| *share < u).min(self.points.len() - 1);
        let (value, share) = self.points[above];
        match (self.between, above.checked_sub(1).map(|below| self.points[below])) {
            (Interpolation::Line, Some((low, before))) if share > before => {
                low + (value - low) * ((u - before) / (share - before)).clamp(0.0, 1.0)
            }
            _ => value,
        }
    }

    /// Probability that a draw is at most `x`.
    pub fn share_up_to(&self, x: f64) -> f64 {
        let above = self.points.partition_point(|(value, _)| *value <= x);
        let Some((low, before)) = above.checked_sub(1).map(|below| self.points[below]) else { return 0.0 };
        match (self.between, self.points.get(above)) {
            (Interpolation::Line, Some((value, share))) => {
                before + (share - before) * (x - low) / (value - low)
            }
            _ => before,
        }
    }

    /// The mean of the draws.
    pub fn mean(&self) -> f64 {
        let mut mean = self.points[0].0 * self.points[0].1;
        for pair in self.points.windows(2) {
            let [(low, before), (value, share)] = [pair[0], pair[1]];
            let middle = if self.between == Interpolation::Line { (low + value) / 2.0 } else { value };
            mean += middle * (share - before);
        }
        mean
    }

    /// Values and shares as in the file.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }
}

/// Value and share of a row, whose columns may be separated by blanks alone.
fn point<'a>(cells: impl Iterator<Item = &'a str>) -> Result<(f64, f64), String> {
    let mut numbers = [0.0; 3];
    let mut count = 0;
    let columns = cells.flat_map(str::split_whitespace).take_while(|column| !column.starts_with('#'));
    for column in columns {
        let column = column.split('#').next().unwrap_or_default();
        let Some(slot) = numbers.get_mut(count) else {
            return Err("more than three columns; expected value, count and share".into());
        };
        *slot = number(column)?;
        count += 1;
    }
    if count < 2 {
        return Err("one column; expected value, count and share".into());
    }
    Ok((numbers[0], numbers[count - 1]))
}

fn follows(before: Option<&(f64, f64)>, point: (f64, f64)) -> Result<(f64, f64), String> {
    let (value, share) = point;
    if !(0.0..=1e15).contains(&value) {
        return Err(format!("value {value} is outside 0 to 1e15"));
    }
    if !(0.0..=1.000_001).contains(&share) {
        return Err(format!("share {share} is outside 0 to 1"));
    }
    if let Some((low, _)) = before.filter(|(low, _)| *low >= value) {
        return Err(format!("value {value} is not above {low}, the one before; values rise"));
    }
    if let Some((_, lower)) = before.filter(|(_, lower)| *lower > share) {
        return Err(format!("share {share} is below {lower}, the one before; shares do not fall"));
    }
    Ok(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"# value count share\n1 5 0.5\n\n2 3 0.8 # most\n10 2 1\n";

    #[test]
    fn values_are_found_by_their_shares() {
        let steps = Measured::parse(TEXT, Interpolation::Step).unwrap();
        let lines = Measured::parse(TEXT, Interpolation::Line).unwrap();
        let at = |measured: &Measured| [0.0, 0.4, 0.5, 0.65, 0.8, 0.9, 1.0].map(|u| measured.at(u));
        assert_eq!(at(&steps), [1.0, 1.0, 1.0, 2.0, 2.0, 10.0, 10.0]);
        let expected = [1.0, 1.0, 1.0, 1.5, 2.0, 6.0, 10.0];
        assert!(at(&lines).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", at(&lines));
        assert_eq!(
            [0.5, 1.0, 1.9, 2.0, 6.0, 11.0].map(|x| steps.share_up_to(x)),
            [0.0, 0.5, 0.5, 0.8, 0.8, 1.0]
        );
        assert!((lines.share_up_to(6.0) - 0.9).abs() < 1e-12);
        assert!((steps.mean() - (0.5 + 0.6 + 2.0)).abs() < 1e-12);
        assert!((lines.mean() - (0.5 + 0.45 + 1.2)).abs() < 1e-12);
    }

    #[test]
    fn tables_of_spreadsheets_are_read() {
        let expected = Measured::parse(TEXT, Interpolation::Step).unwrap();
        for text in [
            &b"\xef\xbb\xbf1,5,0.5\r\n2,3,0.8 # most\r\n10,2,1\r\n"[..],
            b"1;0.5\n2;0.8\n10;1\n",
            b"1\t5\t0.5\n2\t3\t0.8\n10\t2\t1\n",
        ] {
            assert_eq!(Measured::parse(text, Interpolation::Step).unwrap(), expected);
        }
        let comma = Measured::parse(b"1;0,5\n2;1\n", Interpolation::Step).unwrap_err();
        assert_eq!(comma.to_string(), "line 1: \"0,5\" has a decimal comma; write 0.5");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            (&b""[..], "is empty; expected lines of value, count and share"),
            (b"# nothing\n", "is empty; expected lines of value, count and share"),
            (b"1 1 0.5\n\n2\n", "line 3: one column; expected value, count and share"),
            (b"1 2 3 4\n", "line 1: more than three columns; expected value, count and share"),
            (b"1 1 x\n", "line 1: \"x\" is not a number"),
            (b"1 1 0.5\n1 1 1\n", "line 2: value 1 is not above 1, the one before; values rise"),
            (
                b"1 1 0.5\n2 1 0.4\n3 1 1\n",
                "line 2: share 0.4 is below 0.5, the one before; shares do not fall",
            ),
            (b"-1 1 1\n", "line 1: value -1 is outside 0 to 1e15"),
            (b"nan 1 1\n", "line 1: value NaN is outside 0 to 1e15"),
            (b"1 1 1.5\n", "line 1: share 1.5 is outside 0 to 1"),
            (b"1 1 0.5\n2 1 0.9\n", "line 2: the last share is 0.9; expected 1"),
            (b"1 1 0.5\n\xff 1 1\n", "line 2: is not text in UTF-8"),
        ] {
            let error = Measured::parse(text, Interpolation::Line).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
