//! Tables of delays in the form of NIST Net and netem: equally likely integers, of which 8192 is one standard deviation.
//!
//! Follows the files that netem's tools make; lines that begin with # are comments.
//! Leaves out tables of more than 65,536 numbers.

use crate::error::BuildError;
use std::sync::Arc;

/// One standard deviation in a table.
const UNIT: f64 = 8192.0;
const MOST: usize = 65_536;

/// Reads the table in `file`, which `key` of the scenario names. Fails with the line of an invalid number.
pub(crate) fn read(bytes: &[u8], key: &str, file: &str) -> Result<Arc<[f64]>, BuildError> {
    let wrong = |message: String| BuildError::in_file(key, file, message);
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("is not text".into()))?;
    let mut table = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        for word in line.split_whitespace() {
            let Ok(value) = word.parse::<i32>() else {
                let shown = skyhop_text::table::shown(word);
                let expected = "expected whole numbers, of which 8192 are a deviation";
                return Err(wrong(format!(
                    "line {}: \"{shown}\" is no whole number; {expected}",
                    number + 1
                )));
            };
            table.push(f64::from(value) / UNIT);
        }
    }
    if !(2..=MOST).contains(&table.len()) {
        return Err(wrong(format!("has {} numbers; expected 2 to {MOST}", table.len())));
    }
    table.sort_by(f64::total_cmp);
    Ok(table.into())
}
