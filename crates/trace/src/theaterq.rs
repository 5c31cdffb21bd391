//! Traces of TheaterQ, a queueing discipline for Linux: lines of KEEP, LATENCY, RATE, LOSS, LIMIT, and extended ones.
//!
//! Follows the README of cs7org/TheaterQ: microseconds, nanoseconds, bit/s, a share of 2^32 - 1, packets. Lines of 8 or 9 numbers
//! are its extended form, with JITTER third, and duplicates and a route at the end. A rate of 0 means no limit there; here packets
//! wait.
//! Leaves out limits, jitter, duplicates and routes, which are not part of a link's trace.

use crate::{HIGHEST_RATE_BPS, LATEST, LONGEST_DELAY, Losses, Pieces, Read, Sample, Trace, WrittenTrace};
use skyhop_text::table::{TableError, shown, text};
use skyhop_units::{Span, Time};
use std::fmt::Write;

const WHOLE: u32 = u32::MAX;

/// Reads a trace, simple or extended.
pub fn read(bytes: &[u8]) -> Result<Read, TableError> {
    let (mut trace, mut end) = (Trace::default(), Span::ZERO);
    let (mut width, mut left_out) = (0, [false; 4]);
    let mut limits: Option<(u64, u64)> = None;
    for (index, line) in text(bytes)?.lines().enumerate() {
        // Comments and names of columns are ignored, as by the kernel's reader.
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let wrong = |message: String| TableError::at(index + 1, message);
        let numbers = numbers(line).map_err(wrong)?;
        if width != 0 && width != numbers.len() {
            return Err(wrong(format!("{} numbers, where lines above have {width}", numbers.len())));
        }
        width = numbers.len();
        let entry = TraceLine::of(&numbers).map_err(wrong)?;
        trace.put(entry.sample(Time::ZERO + end));
        end += Span::from_micros(entry.keep_us);
        if end > LATEST {
            return Err(wrong(format!("goes on to {end}; expected {LATEST} at most")));
        }
        let (least, most) = limits.unwrap_or((entry.limit, entry.limit));
        limits = Some((least.min(entry.limit), most.max(entry.limit)));
        for (any, said) in
            left_out.iter_mut().zip([entry.rate_bps == 0, entry.jitter, entry.duplicates, entry.routes])
        {
            *any |= said;
        }
    }
    let Some((least, most)) = limits else {
        return Err(TableError::whole("has no lines of numbers; expected KEEP,LATENCY,RATE,LOSS,LIMIT"));
    };
    trace.length = Some(end);
    let packets = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    let mut notes = vec![format!("LIMIT of {packets} is left out: it is the key queue of a link")];
    for (_, note) in left_out.into_iter().zip(LEFT_OUT).filter(|(any, _)| *any) {
        notes.push(note.into());
    }
    Ok(Read { trace, notes })
}

const LEFT_OUT: [&str; 4] = [
    "a RATE of 0 is no limit there; its cells are empty, which is the link's own rate",
    "JITTER is left out: it is the key jitter of a link",
    "duplicates (DUP_PROB) are left out, as traces of links have none",
    "ROUTE_ID is left out, as a link keeps the order",
];

fn numbers(line: &str) -> Result<Vec<u64>, String> {
    let number = |cell: &str| {
        let cell = cell.trim();
        cell.parse().map_err(|_| format!("\"{}\" is not a whole number", shown(cell)))
    };
    let numbers: Vec<u64> = line.split(',').map(number).collect::<Result<_, _>>()?;
    match numbers.len() {
        5 | 8 | 9 => Ok(numbers),
        count => {
            Err(format!("{count} numbers; expected 5 (KEEP,LATENCY,RATE,LOSS,LIMIT), or 8 or 9 (extended)"))
        }
    }
}

/// A line.
struct TraceLine {
    keep_us: u64,
    delay: Span,
    rate_bps: u64,
    loss: f64,
    limit: u64,
    jitter: bool,
    duplicates: bool,
    routes: bool,
}

impl TraceLine {
    fn of(numbers: &[u64]) -> Result<Self, String> {
        let extended = numbers.len() > 5;
        let at = |simple: usize| numbers[if extended && simple > 1 { simple + 1 } else { simple }];
        let within = |name: &str, value: u64, least: u64, most: u64| match value {
            _ if (least..=most).contains(&value) => Ok(value),
            _ => Err(format!("{name}: {value} is outside {least} to {most}")),
        };
        let lost = within("LOSS", at(3), 0, u64::from(WHOLE))?;
        Ok(TraceLine {
            keep_us: within("KEEP", at(0), 1, LATEST.as_nanos() / 1000)?,
            delay: Span::from_nanos(within("LATENCY", at(1), 0, LONGEST_DELAY.as_nanos())?),
            rate_bps: within("RATE", at(2), 0, HIGHEST_RATE_BPS)?,
            loss: lost as f64 / f64::from(WHOLE),
            limit: within("LIMIT", at(4), 0, u64::from(WHOLE))?,
            jitter: extended && numbers[2] > 0,
            duplicates: extended && numbers[6] > 0,
            routes: numbers.get(8).is_some_and(|route| *route > 0),
        })
    }

    fn sample(&self, from: Time) -> Sample {
        Sample {
            from,
            rate_bps: (self.rate_bps > 0).then_some(self.rate_bps),
            delay: Some(self.delay),
            losses: Some(Losses::Packets(self.loss)),
        }
    }
}

/// Writes the simple form, with one limit for all lines.
pub fn write(pieces: &Pieces, limit: u32) -> Result<WrittenTrace, String> {
    let mut text = String::from("# KEEP,LATENCY,RATE,LOSS,LIMIT\n");
    let mut notes = vec![format!("LIMIT is {limit} packets in each line, which --limit changes")];
    let (mut told_us, mut waits, mut unlimited, mut rounded) = (0, false, false, 0);
    for piece in &pieces.all {
        let until_us = (piece.to.as_nanos() + 500) / 1000;
        if until_us <= told_us {
            rounded += 1;
            continue;
        }
        // Below 8 bit/s its whole bytes per second are 0, which means no limit.
        let out = piece.rate_bps.is_some_and(|bps| bps < 8);
        waits |= out;
        unlimited |= piece.rate_bps.is_none();
        let rate_bps = piece.rate_bps.filter(|_| !out).unwrap_or(0);
        let loss = if out { 1.0 } else { piece.loss };
        let lost = (loss * f64::from(WHOLE)).round() as u32;
        let _ = writeln!(text, "{},{},{rate_bps},{lost},{limit}", until_us - told_us, piece.delay.as_nanos());
        told_us = until_us;
    }
    if waits {
        notes.push("where the rate is 0 packets are lost, since theaterq cannot make them wait".into());
    }
    if unlimited {
        notes.push("times without a rate have 0, which is no limit; --rate sets one".into());
    }
    if rounded > 0 {
        notes.push(format!("rows of less than 1 us are left out: {rounded}"));
    }
    Ok(WrittenTrace { text, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, pieces, table};

    #[test]
    fn what_is_read_is_written_line_by_line() {
        let text = "# KEEP,LATENCY,RATE,LOSS,LIMIT\n\
                    1000000,23456789,100000000,0,500\n500,20000000,50000000,42949673,500\n1,0,12345678,4294967295,500\n";
        let Read { trace, notes } = read(text.as_bytes()).unwrap();
        assert_eq!(trace.length, Some(Span::from_micros(1_000_501)));
        assert_eq!(trace.samples[1].from, Time::ZERO + Span::from_secs(1));
        assert_eq!(trace.samples[0].delay, Some(Span::from_nanos(23_456_789)));
        assert_eq!(trace.samples[2].losses, Some(Losses::Packets(1.0)));
        assert_eq!(notes, ["LIMIT of 500 is left out: it is the key queue of a link"]);
        assert_eq!(write(&pieces(&trace, Own::default(), None).unwrap(), 500).unwrap().text, text);
    }

    #[test]
    fn the_extended_form_says_what_is_left_out() {
        for text in [
            "KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY\n10,5,7,0,0,9,1,1\n10,5,0,800,0,8,0,0\n",
            "10,5,7,0,0,9,1,1,1\n10,5,0,800,0,8,0,0,0\n",
        ] {
            let Read { trace, notes } = read(text.as_bytes()).unwrap();
            assert_eq!(trace.samples[0].rate_bps, None);
            assert_eq!(trace.samples[1].rate_bps, Some(800));
            assert_eq!(notes[0], "LIMIT of 8 to 9 is left out: it is the key queue of a link");
            assert_eq!(notes.len(), if text.starts_with('K') { 4 } else { 5 }, "{notes:?}");
        }
    }

    #[test]
    fn what_it_cannot_hold_is_said() {
        let trace =
            table::read(b"t_s,rate_bps,delay_s\n0,0,0.1\n0.0000001,,0.1\n0.0000002,5000,0.1\n1,,\n").unwrap();
        let WrittenTrace { text, notes } =
            write(&pieces(&trace, Own::default(), None).unwrap(), 1000).unwrap();
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            ["1000000,100000000,5000,0,1000", "1000000,0,0,0,1000"]
        );
        assert!(notes.iter().any(|n| n == "rows of less than 1 us are left out: 2"), "{notes:?}");
        let trace = table::read(b"t_s,rate_bps\n0,0\n1,9\n").unwrap();
        let WrittenTrace { text, notes } = write(&pieces(&trace, Own::default(), None).unwrap(), 1).unwrap();
        assert!(text.contains("\n1000000,0,0,4294967295,1\n"), "{text}");
        assert!(notes.iter().any(|n| n.contains("cannot make them wait")), "{notes:?}");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("", "has no lines of numbers"),
            ("a header\n1,2,3\n", "line 2: 3 numbers; expected 5"),
            ("1,2,3,4,5\n1,2,3,4,5,6,7,8\n", "line 2: 8 numbers, where lines above have 5"),
            ("1,x,3,4,5\n", "line 1: \"x\" is not a whole number"),
            ("1,-2,3,4,5\n", "line 1: \"-2\" is not a whole number"),
            ("0,2,3,4,5\n", "line 1: KEEP: 0 is outside 1 to"),
            ("1,2,3,4294967296,5\n", "line 1: LOSS: 4294967296 is outside 0 to 4294967295"),
            ("1000000000000000,2,3,4,5\n1,2,3,4,5\n", "line 2: goes on to"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
