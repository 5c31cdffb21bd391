//! Two-line element files, with or without name lines: read, and written.
//!
//! Follows CelesTrak's description of the format, Alpha-5 catalogue numbers included.
//! Differs: a leading `0 ` before a name is dropped, blank lines and trailing blanks are ignored.
//! Left out: lines without a checksum, and catalogue numbers past Alpha-5 (the format has no room: use OMM).

use chrono::{Datelike, Timelike};

use crate::elements::{
    ElementSet, ElementsError, ElementsPlace, MAX_OBJECTS, check_file, check_size, excerpt,
};

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
        let place = ElementsPlace::Line(number);
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

/// Name and elements as three lines; `None` if the catalogue number or a value does not fit the format.
///
/// Elements read from a TLE file are written as they stood there, except for blanks around the name and the sign of an exponent
/// of zero.
pub fn write(set: &ElementSet) -> Option<String> {
    let mean = &set.mean;
    let id = catalogue_number(set.norad_id)?;
    let class = match mean.classification {
        sgp4::Classification::Unclassified => 'U',
        sgp4::Classification::Classified => 'C',
        sgp4::Classification::Secret => 'S',
    };
    // "1998-067A" is 98067A.
    let designator = mean.international_designator.as_deref().and_then(|text| text.split_once('-'));
    let designator = designator.map_or_else(String::new, |(year, launch)| {
        format!("{}{launch}", year.get(year.len().saturating_sub(2)..).unwrap_or_default())
    });
    let utc = mean.datetime;
    let fraction = f64::from(utc.num_seconds_from_midnight()) + f64::from(utc.nanosecond()) * 1e-9;
    let day = f64::from(utc.ordinal()) + fraction / 86_400.0;
    let dot = format!("{:.8}", mean.mean_motion_dot.abs());
    let dot = format!("{}{}", if mean.mean_motion_dot < 0.0 { '-' } else { ' ' }, dot.strip_prefix('0')?);
    let line1 = format!(
        "1 {id}{class} {designator:<8} {:02}{day:012.8} {dot} {} {} 0 {:4}",
        utc.year().rem_euclid(100),
        with_exponent(mean.mean_motion_ddot)?,
        with_exponent(mean.drag_term)?,
        mean.element_set_number % 10_000,
    );
    let line2 = format!(
        "2 {id} {:8.4} {:8.4} {:07} {:8.4} {:8.4} {:11.8}{:5}",
        mean.inclination,
        mean.right_ascension,
        (mean.eccentricity * 1e7).round() as u64,
        mean.argument_of_perigee,
        mean.mean_anomaly,
        mean.mean_motion,
        mean.revolution_number % 100_000,
    );
    let fits = [&line1, &line2].iter().all(|line| line.is_ascii() && line.len() == LINE_LENGTH - 1);
    fits.then(|| {
        format!(
            "{}\n{line1}{}\n{line2}{}\n",
            set.name,
            checksum(line1.as_bytes()),
            checksum(line2.as_bytes())
        )
    })
}

/// A catalogue number in five characters; above 99999 the first is a letter (Alpha-5).
fn catalogue_number(id: u64) -> Option<String> {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
    if id < 100_000 {
        return Some(format!("{id:05}"));
    }
    let letter = LETTERS.get(usize::try_from(id / 10_000).ok()?.checked_sub(10)?)?;
    Some(format!("{}{:04}", char::from(*letter), id % 10_000))
}

/// A value as five digits after an assumed point, and an exponent: ` 36508-3` is 0.36508e-3.
fn with_exponent(value: f64) -> Option<String> {
    if value == 0.0 {
        return Some(" 00000+0".into());
    }
    let text = format!("{:.4e}", value.abs());
    let (digits, exponent) = text.split_once('e')?;
    let exponent = exponent.parse::<i32>().ok()? + 1;
    let sign = if value < 0.0 { '-' } else { ' ' };
    let (digits, exponent) = match exponent {
        // The value is below the smallest of the format.
        ..=-10 => return Some(" 00000+0".into()),
        -9..=9 => (digits.replace('.', ""), exponent),
        _ => return None,
    };
    Some(format!("{sign}{digits}{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs()))
}

/// The checksum of an element line, its last digit.
fn checksum(line: &[u8]) -> u8 {
    let digit = |&byte: &u8| match byte {
        b'-' => 1,
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => 0,
    };
    (line.iter().map(digit).sum::<u32>() % 10) as u8
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

/// Returns true if element lines begin here and not a name. A name may itself begin with `1 `.
fn starts_pair(lines: &[(usize, &str)]) -> bool {
    let begins = |index: usize, prefix| lines.get(index).is_some_and(|line| line.1.starts_with(prefix));
    begins(0, "1 ") && !(begins(1, "1 ") && begins(2, "2 "))
}

/// Checks an element line for mistakes that `sgp4` reports without a line number, or does not check.
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
    let computed = checksum(body);
    if last[0] != b'0' + computed {
        return Err(ElementsError::Checksum { line: number, found: char::from(last[0]), expected: computed });
    }
    Ok((number, text))
}
