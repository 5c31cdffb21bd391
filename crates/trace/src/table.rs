//! skyhop's own trace format: a table of values, each row from an instant on.
//!
//! The first row has the column names: t_s, and any of rate_bps, delay_s, loss, bit_error_rate. Each row applies until the next
//! one's time, an empty cell stands for the link's own value, and at a rate of 0 packets wait. A column doppler_hz is ignored,
//! since packets have no carrier.

use crate::{HIGHEST_RATE_BPS, LATEST, LONGEST_DELAY, Losses, Sample, Trace, seconds};
use skyhop_text::table::{TableError, TableRow, number, rows, shown};
use skyhop_units::{Span, Time};
use std::fmt::Write;

const COLUMNS: [&str; 6] = ["t_s", "rate_bps", "delay_s", "loss", "bit_error_rate", "doppler_hz"];

/// Reads a table.
pub fn read(bytes: &[u8]) -> Result<Trace, TableError> {
    let mut rows = rows(bytes)?;
    let Some(head) = rows.next().transpose()? else {
        return Err(TableError::whole("is empty; expected a line of column names"));
    };
    let names: Vec<&str> = head.cells().collect();
    check_names(&head, &names)?;
    let mut samples: Vec<Sample> = Vec::new();
    for row in rows {
        let row = row?;
        let sample = sample(&names, &row).map_err(|message| row.wrong(message))?;
        if let Some(before) = samples.last().filter(|before| before.from >= sample.from) {
            return Err(row.wrong(format!("t_s of {} is not after {}", sample.from, before.from)));
        }
        samples.push(sample);
    }
    if samples.is_empty() {
        return Err(TableError::whole("has no rows"));
    }
    Ok(Trace { samples, length: None })
}

fn check_names(head: &TableRow, names: &[&str]) -> Result<(), TableError> {
    for (i, name) in names.iter().enumerate() {
        if !COLUMNS.contains(name) {
            let near = skyhop_text::spelling::hint(name, COLUMNS);
            let (name, all) = (shown(name), COLUMNS.join(", "));
            return Err(head.wrong(format!("unknown column \"{name}\"; expected some of {all}{near}")));
        }
        if names[..i].contains(name) {
            return Err(head.wrong(format!("column {name} is there twice")));
        }
    }
    if names.first() != Some(&"t_s") || names.len() < 2 {
        return Err(head.wrong(format!("expected t_s and some of {}", COLUMNS[1..].join(", "))));
    }
    if names.contains(&"loss") && names.contains(&"bit_error_rate") {
        return Err(head.wrong("loss and bit_error_rate are both there; expected one of both"));
    }
    Ok(())
}

fn sample(names: &[&str], row: &TableRow) -> Result<Sample, String> {
    if row.len() != names.len() {
        return Err(format!("{} values for {} columns", row.len(), names.len()));
    }
    let mut sample = Sample::default();
    for (name, cell) in names.iter().zip(row.cells()) {
        if cell.is_empty() && *name != "t_s" {
            continue;
        }
        let value = number(cell).map_err(|e| format!("{name}: {e}"))?;
        let within = |least: f64, most: f64| {
            let fits = (least..=most).contains(&value);
            fits.then_some(value)
                .ok_or_else(|| format!("{name}: {} is outside {least} to {most}", shown(cell)))
        };
        match *name {
            "t_s" => {
                sample.from = Time::ZERO + Span::from_secs_f64(within(0.0, LATEST.as_secs_f64())?);
            }
            "rate_bps" => sample.rate_bps = Some(within(0.0, HIGHEST_RATE_BPS as f64)?.round() as u64),
            "delay_s" => {
                sample.delay = Some(Span::from_secs_f64(within(0.0, LONGEST_DELAY.as_secs_f64())?));
            }
            "loss" => sample.losses = Some(Losses::Packets(within(0.0, 1.0)?)),
            "bit_error_rate" => sample.losses = Some(Losses::Bits(within(0.0, 1.0)?)),
            _ => within(-1e15, 1e15).map(|_| ())?,
        }
    }
    Ok(sample)
}

/// Writes a table, with the columns for which any sample has a value.
pub fn write(trace: &Trace) -> String {
    let samples = &trace.samples;
    let bits = samples.iter().any(|s| matches!(s.losses, Some(Losses::Bits(_))));
    let delays = samples.iter().any(|s| s.delay.is_some());
    let losses = samples.iter().any(|s| s.losses.is_some());
    // There must be a column, even an empty one.
    let rates = samples.iter().any(|s| s.rate_bps.is_some()) || !(delays || losses);
    let columns =
        [("rate_bps", rates), ("delay_s", delays), (if bits { "bit_error_rate" } else { "loss" }, losses)];
    let mut out = String::from("t_s");
    for (name, _) in columns.iter().filter(|(_, there)| *there) {
        out.push(',');
        out.push_str(name);
    }
    out.push('\n');
    for sample in samples {
        out.push_str(&seconds(sample.from.as_nanos()));
        let cells = [
            sample.rate_bps.map(|bps| bps.to_string()),
            sample.delay.map(|delay| seconds(delay.as_nanos())),
            sample.losses.map(|losses| match losses {
                Losses::Packets(share) | Losses::Bits(share) => share.to_string(),
            }),
        ];
        for (cell, _) in cells.into_iter().zip(columns).filter(|(_, (_, there))| *there) {
            let _ = write!(out, ",{}", cell.unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_what_it_says_and_an_empty_cell_nothing() {
        for text in [
            &b"t_s,rate_bps,loss\n0,1e6,\n\n2.5, ,0.25\r\n"[..],
            b"\xef\xbb\xbft_s;rate_bps;loss\r\n0;1e6;\r\n2.5;;0.25\r\n",
            b"t_s,rate_bps,doppler_hz,loss\n0,1e6,-7000.5,\n2.5,,,0.25\n",
        ] {
            let Trace { samples, length } = read(text).unwrap();
            assert_eq!(length, None);
            assert_eq!(samples[0], Sample { rate_bps: Some(1_000_000), ..Sample::default() });
            let losses = Some(Losses::Packets(0.25));
            assert_eq!(
                samples[1],
                Sample { from: Time::from_nanos(2_500_000_000), losses, ..Sample::default() }
            );
            assert_eq!(samples.len(), 2);
        }
    }

    #[test]
    fn what_is_written_reads_as_it_was() {
        for text in [
            "t_s,rate_bps\n0,0\n0.000000001,1000000000000000\n999999.999999999,5\n",
            "t_s,delay_s,loss\n0.5,0.123456789,\n1,,0.0001\n2,0,1\n",
            "t_s,bit_error_rate\n0,0.0000001\n",
            "t_s,rate_bps,delay_s,loss\n0,10000000,0.3,0\n",
        ] {
            let trace = read(text.as_bytes()).unwrap();
            assert_eq!(write(&trace), text);
            assert_eq!(read(write(&trace).as_bytes()).unwrap(), trace);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("t_s,rate\n", "line 1: unknown column \"rate\"; expected some of t_s, rate_bps"),
            ("t_s,\u{1b}[31m\n", "line 1: unknown column \"\\u{1b}[31m\";"),
            ("rate_bps,t_s\n", "line 1: expected t_s"),
            ("t_s\n0\n", "line 1: expected t_s and some of"),
            ("t_s,loss,loss\n", "line 1: column loss is there twice"),
            ("t_s,loss,bit_error_rate\n", "one of both"),
            ("t_s,loss\n", "has no rows"),
            ("t_s,loss\n0,0.1\n0,0.2\n", "line 3: t_s of 0 s is not after 0 s"),
            ("t_s,loss\n0\n", "line 2: 1 values for 2 columns"),
            ("t_s,loss\n0,x\n", "line 2: loss: \"x\" is not a number"),
            ("t_s,loss\n0,1.5\n", "line 2: loss: 1.5 is outside 0 to 1"),
            ("t_s,rate_bps\n0,-1\n", "line 2: rate_bps: -1 is outside 0 to"),
            ("t_s;loss\n0;0,5\n", "line 2: loss: \"0,5\" has a decimal comma; write 0.5"),
            (
                "t_s,rate_kbps\n",
                "line 1: unknown column \"rate_kbps\"; expected some of t_s, rate_bps, delay_s, loss, bit_error_rate, doppler_hz; \
                    did you mean \"rate_bps\"?",
            ),
            ("t_s,loss\n,0.5\n", "line 2: t_s: \"\" is not a number"),
            ("t_s,delay_s\n0,nan\n", "line 2: delay_s: nan is outside"),
            ("t_s,delay_s,doppler_hz\n0,1,inf\n", "line 2: doppler_hz: inf is outside"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert!(read(b"t_s,loss\n\xff").unwrap_err().message.contains("is not text"));
    }
}
