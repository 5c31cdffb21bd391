//! Traces of Mahimahi's `mm-link`: a line for each opportunity to send 1500 bytes, with its millisecond from the start.
//!
//! Follows mm-link(1): several lines with one millisecond are several opportunities, and the trace repeats after the last line.
//! Differs: the bytes of a millisecond leave evenly in the millisecond that ends there, and not all at its end.
//! Leaves out delays and losses, for which Mahimahi has other shells.

use crate::{Pieces, Sample, Trace, WrittenTrace};
use skyhop_text::table::{TableError, rows, shown};
use skyhop_units::{Span, Time};
use std::fmt::Write;

/// Bits per opportunity.
const BITS: u64 = 1500 * 8;
const LATEST_MS: u64 = 1_000_000_000;
/// Largest number of lines written: 12 Mbit/s for a day.
const MOST_LINES: u64 = 100_000_000;
const MS: u64 = 1_000_000;

/// Reads a trace; opportunities become rates per millisecond, and packets wait in a millisecond without any.
pub fn read(bytes: &[u8]) -> Result<Trace, TableError> {
    let mut opportunities: Vec<(u64, u64)> = Vec::new();
    for row in rows(bytes)? {
        let row = row?;
        let cell = row.cells().next().unwrap_or_default();
        let expected = "expected milliseconds, a line for each packet of 1500 bytes";
        if row.len() > 1 {
            return Err(row.wrong(format!("{} cells; {expected}", row.len())));
        }
        let Ok(at_ms) = cell.parse::<u64>() else {
            return Err(row.wrong(format!("\"{}\" is not a whole number; {expected}", shown(cell))));
        };
        if at_ms > LATEST_MS {
            return Err(row.wrong(format!("{at_ms} ms is beyond {LATEST_MS}; {expected}")));
        }
        match opportunities.last_mut() {
            Some((last, _)) if *last > at_ms => {
                return Err(row.wrong(format!("{at_ms} ms is before {last} ms, the line above")));
            }
            Some((last, count)) if *last == at_ms => *count += 1,
            _ => opportunities.push((at_ms, 1)),
        }
    }
    if opportunities.is_empty() {
        return Err(TableError::whole(
            "is empty; expected milliseconds, a line for each packet of 1500 bytes",
        ));
    }
    rates(opportunities)
}

/// Rates from opportunities: milliseconds, and the number of opportunities in each.
fn rates(mut opportunities: Vec<(u64, u64)>) -> Result<Trace, TableError> {
    // An opportunity at 0 is one at the end of the round before, which is the same instant.
    let at_zero = opportunities.first().filter(|(at_ms, _)| *at_ms == 0).map_or(0, |(_, count)| *count);
    let Some((period_ms, last)) = opportunities.last_mut().filter(|(at_ms, _)| *at_ms > 0) else {
        return Err(TableError::whole("ends at 0 ms; expected some time to begin again after"));
    };
    *last += at_zero;
    let (length, mut until) = (Span::from_millis(*period_ms), 0);
    let mut trace = Trace { length: Some(length), ..Trace::default() };
    let mut put = |from_ms: u64, count: u64| {
        let from = Time::ZERO + Span::from_millis(from_ms);
        trace.put(Sample { from, rate_bps: Some(count * BITS * 1000), ..Sample::default() });
    };
    for &(at_ms, count) in opportunities.iter().filter(|(at_ms, _)| *at_ms > 0) {
        if at_ms - 1 > until {
            put(until, 0);
        }
        put(at_ms - 1, count);
        until = at_ms;
    }
    Ok(trace)
}

/// Writes a trace: an opportunity at the end of each millisecond in which 1500 bytes are complete.
pub fn write(pieces: &Pieces) -> Result<WrittenTrace, String> {
    let mut notes = Vec::new();
    pieces.without_delays("mahimahi", &mut notes);
    pieces.without_losses("mahimahi", &mut notes);
    let rates = pieces.rates_bps()?;
    let bits: u128 =
        pieces.all.iter().zip(&rates).map(|(p, bps)| u128::from(*bps) * nanos(p.from, p.to)).sum();
    let lines = bits / (u128::from(BITS) * 1_000_000_000);
    if lines > u128::from(MOST_LINES) {
        return Err(format!("makes {lines} lines; expected {MOST_LINES} at most, of 1500 bytes each"));
    }
    if pieces.end() > Time::ZERO + Span::from_millis(LATEST_MS) {
        return Err(format!("ends at {}; expected {LATEST_MS} ms at most", pieces.end()));
    }
    let (mut text, mut left, mut last_ms) = (String::new(), 0, 0);
    let opportunity = u128::from(BITS) * 1_000_000_000;
    for (piece, &bps) in pieces.all.iter().zip(&rates).filter(|(_, bps)| **bps > 0) {
        let carried = left + u128::from(bps) * nanos(piece.from, piece.to);
        for complete in (1..=carried / opportunity).map(|packets| packets * opportunity - left) {
            let at = u128::from(piece.from.as_nanos()) + complete.div_ceil(u128::from(bps));
            last_ms = at.div_ceil(u128::from(MS)) as u64;
            let _ = writeln!(text, "{last_ms}");
        }
        left = carried % opportunity;
    }
    if last_ms == 0 {
        return Err("has no 1500 bytes in it; expected one opportunity at least".into());
    }
    let end_ms = pieces.end().as_nanos().div_ceil(MS);
    if last_ms < end_ms {
        notes.push(format!(
            "the last opportunity is at {last_ms} ms, where Mahimahi begins again, and not at {end_ms} ms"
        ));
    }
    Ok(WrittenTrace { text, notes })
}

fn nanos(from: Time, to: Time) -> u128 {
    u128::from(to.since(from).as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, pieces};

    fn back(trace: &Trace) -> WrittenTrace {
        write(&pieces(trace, Own::default(), None).unwrap()).unwrap()
    }

    #[test]
    fn opportunities_become_rates_of_a_millisecond() {
        // Two packets in the first millisecond, one each in the 4th and 5th, and the one at 0 in the 6th, which is the last.
        let trace = read(b"0\n1\n1\n4\n5\n6\n").unwrap();
        assert_eq!(trace.length, Some(Span::from_millis(6)));
        let told: Vec<_> = trace.samples.iter().map(|s| (s.from.as_nanos() / MS, s.rate_bps)).collect();
        assert_eq!(told, [(0, Some(24_000_000)), (1, Some(0)), (3, Some(12_000_000)), (5, Some(24_000_000))]);
    }

    #[test]
    fn what_is_read_is_written_line_by_line() {
        for text in ["1\n", "1\n1\n4\n5\n6\n", "22\n22\n22\n30\n45\n45\n120\n"] {
            assert_eq!(
                back(&read(text.as_bytes()).unwrap()),
                WrittenTrace { text: text.into(), notes: vec![] }
            );
        }
        // The same instants, seen from the round before.
        assert_eq!(back(&read(b"0\n1\n3\n").unwrap()).text, "1\n3\n3\n");
    }

    #[test]
    fn any_rate_is_met_to_a_packet() {
        for (rates, of) in [
            ("0,10000000\n0.5,3333333\n2.25,0\n", 10.0e6 * 0.5 + 3_333_333.0 * 1.75),
            ("0.1,123456\n", 123_456.0 * 9.9),
        ] {
            let trace = crate::table::read(format!("t_s,rate_bps\n{rates}").as_bytes()).unwrap();
            let own = Own { rate_bps: Some(0), ..Own::default() };
            let written = write(&pieces(&trace, own, Some(Span::from_secs(10))).unwrap()).unwrap();
            let lines = written.text.lines().count() as f64;
            assert!((lines * 12_000.0 - of).abs() < 12_000.0, "{lines} lines for {of} bits");
            assert!(written.text.lines().map(|l| l.parse::<u64>().unwrap()).is_sorted());
        }
    }

    #[test]
    fn what_it_cannot_hold_is_said() {
        let trace =
            crate::table::read(b"t_s,rate_bps,delay_s,loss\n0,12e6,0.1,0.5\n1,12e6,,\n1.5,0,,\n").unwrap();
        let notes = back(&trace).notes;
        assert!(notes.iter().any(|n| n == "mahimahi has no delays: they are left out"), "{notes:?}");
        assert!(notes.iter().any(|n| n == "mahimahi has no losses: they are left out"), "{notes:?}");
        assert!(
            notes.iter().any(|n| n.contains("at 1500 ms, where Mahimahi begins again, and not at 2000 ms")),
            "{notes:?}"
        );
        let none = crate::table::read(b"t_s,delay_s\n0,0.1\n2.5,0.2\n").unwrap();
        let pieces = |own| pieces(&none, own, None).unwrap();
        assert_eq!(
            write(&pieces(Own::default())).unwrap_err(),
            "no rate at t_s 0; give the link's own with --rate"
        );
        let fast = Own { rate_bps: Some(1_000_000_000_000_000), ..Own::default() };
        assert!(write(&pieces(fast)).unwrap_err().contains("expected 100000000 at most"));
        assert!(
            write(&pieces(Own { rate_bps: Some(1), ..Own::default() }))
                .unwrap_err()
                .contains("no 1500 bytes")
        );
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("5\n3\n", "line 2: 3 ms is before 5 ms, the line above"),
            ("5\n\n6 7\n", "line 3: \"6 7\" is not a whole number; expected milliseconds"),
            ("5\n6,7\n", "line 2: 2 cells; expected milliseconds"),
            ("5\n-6\n", "line 2: \"-6\" is not a whole number"),
            ("5\n9999999999\n", "line 2: 9999999999 ms is beyond 1000000000"),
            ("0\n0\n", "ends at 0 ms"),
            ("", "is empty"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
