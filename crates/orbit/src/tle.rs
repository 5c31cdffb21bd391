//! Two-line element files, with or without name lines.
//!
//! Follows CelesTrak's description of the format, Alpha-5 catalogue numbers included.
//! Differs: a leading `0 ` before a name is dropped, blank lines and trailing blanks are ignored.
//! Left out: lines without a checksum, and catalogue numbers past Alpha-5 (the format has no room: use OMM).

use crate::elements::{ElementSet, ElementsError, MAX_OBJECTS, Place, check_file, check_size, excerpt};

const LINE_LENGTH: usize = 69;

/// Reads all objects of a TLE file.
pub fn parse(file: &[u8]) -> Result<Vec<ElementSet>, ElementsError> {
    check_size(file)?;
    let lines = text_lines(file)?;
    let mut sets = Vec::new();
    let mut rest = lines.as_slice();
    while let [first, tail @ ..] = rest {
        let (name, pair) = if starts_pair(rest) { (None, rest) } else { (Some(first.1), tail) };
        let (number, line1) = element_line(pair.first(), 1, first.0)?;
        let (_, line2) = element_line(pair.get(1), 2, number)?;
        let name = name.map(|name| name.strip_prefix("0 ").unwrap_or(name).trim().to_owned());
        let place = Place::Line(number);
        let mean = sgp4::Elements::from_tle(name, line1.as_bytes(), line2.as_bytes())
            .map_err(|error| ElementsError::Field { place, problem: error.to_string().to_lowercase() })?;
        if sets.len() == MAX_OBJECTS {
            return Err(ElementsError::TooMany);
        }
        sets.push(ElementSet::new(mean, place)?);
        rest = &pair[2..];
    }
    check_file(sets)
}

/// The lines that are not blank, with their numbers.
fn text_lines(file: &[u8]) -> Result<Vec<(usize, &str)>, ElementsError> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut lines = Vec::new();
    for (number, bytes) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        let line =
            std::str::from_utf8(bytes).map_err(|_| ElementsError::NotText { line: number })?.trim_end();
        if !line.is_empty() {
            lines.push((number, line));
        }
    }
    Ok(lines)
}

/// Whether element lines begin here rather than a name. A name may itself begin with `1 `.
fn starts_pair(lines: &[(usize, &str)]) -> bool {
    let begins = |index: usize, prefix| lines.get(index).is_some_and(|line| line.1.starts_with(prefix));
    begins(0, "1 ") && !(begins(1, "1 ") && begins(2, "2 "))
}

/// Checks what `sgp4` reports without saying in which line of the file, or takes for granted.
fn element_line<'a>(
    line: Option<&(usize, &'a str)>,
    expected: u8,
    previous: usize,
) -> Result<(usize, &'a str), ElementsError> {
    let &(number, text) = line.ok_or(ElementsError::ExpectedLine {
        line: previous + 1,
        expected,
        found: "end of file".into(),
    })?;
    if !text.is_ascii() || !text.starts_with(if expected == 1 { "1 " } else { "2 " }) {
        return Err(ElementsError::ExpectedLine { line: number, expected, found: excerpt(text) });
    }
    if text.len() != LINE_LENGTH {
        return Err(ElementsError::Length { line: number, length: text.len() });
    }
    let (body, last) = text.as_bytes().split_at(LINE_LENGTH - 1);
    let sum: u32 = body
        .iter()
        .map(|&byte| match byte {
            b'-' => 1,
            b'0'..=b'9' => u32::from(byte - b'0'),
            _ => 0,
        })
        .sum();
    let computed = (sum % 10) as u8;
    if last[0] != b'0' + computed {
        return Err(ElementsError::Checksum { line: number, found: char::from(last[0]), expected: computed });
    }
    Ok((number, text))
}
