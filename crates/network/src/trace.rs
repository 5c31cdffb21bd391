//! What changes on a link by the clock, as it was measured: a table, or a trace of Mahimahi's.
//!
//! A table has a row of column names first: t_s, and any of rate_bps, delay_s, loss, bit_error_rate. Each row holds until the next
//! one's time, an empty cell is the link's own value, and at a rate of 0 the link waits.
//! Mahimahi's trace has a line for each packet of 1500 bytes that may leave, the millisecond from the start, and begins again after
//! its last line. Differs: the bytes of a millisecond leave evenly in the one that ends there, and not all at its end.

use skyhop_link::{Loss, Outage, Step};
use skyhop_text::table::{Row, TableError, number, rows, shown, text};
use skyhop_units::{Rate, Span, Time};

const COLUMNS: [&str; 5] = ["t_s", "rate_bps", "delay_s", "loss", "bit_error_rate"];

/// What a trace says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trace {
    pub steps: Vec<Step>,
    /// After which time it begins again, if it says so itself.
    pub repeat: Option<Span>,
}

/// Reads a trace. An error names the line.
pub(crate) fn read(bytes: &[u8]) -> Result<Trace, TableError> {
    let first = text(bytes)?.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    match first {
        Some(line) if line.bytes().all(|byte| byte.is_ascii_digit()) => mahimahi(bytes),
        _ => Ok(Trace { steps: table(bytes)?, repeat: None }),
    }
}

fn table(bytes: &[u8]) -> Result<Vec<Step>, TableError> {
    let mut rows = rows(bytes)?;
    let Some(head) = rows.next().transpose()? else {
        return Err(TableError::whole("is empty; expected a line of column names"));
    };
    let names: Vec<&str> = head.cells().collect();
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
    let mut steps: Vec<Step> = Vec::new();
    for row in rows {
        let row = row?;
        let step = step(&names, &row).map_err(|message| row.wrong(message))?;
        if let Some(before) = steps.last().filter(|before| before.from >= step.from) {
            return Err(row.wrong(format!("t_s of {} is not after {}", step.from, before.from)));
        }
        steps.push(step);
    }
    if steps.is_empty() { Err(TableError::whole("has no rows")) } else { Ok(steps) }
}

fn step(names: &[&str], row: &Row) -> Result<Step, String> {
    if row.len() != names.len() {
        return Err(format!("{} values for {} columns", row.len(), names.len()));
    }
    let mut step = Step::default();
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
            "t_s" => step.from = Time::ZERO + Span::from_secs_f64(within(0.0, 1e9)?),
            "rate_bps" => at_rate(&mut step, within(0.0, 1e15)?.round() as u64),
            "delay_s" => step.delay = Some(Span::from_secs_f64(within(0.0, 1e5)?)),
            "loss" => step.loss = Some(Loss::Packets { probability: within(0.0, 1.0)? }),
            _ => step.loss = Some(Loss::bit_errors(within(0.0, 1.0)?)),
        }
    }
    Ok(step)
}

/// Without a rate nothing leaves: what is half sent goes on when there is one again.
fn at_rate(step: &mut Step, bps: u64) {
    step.rate = Rate::from_bps(bps);
    step.outage = step.rate.is_none().then_some(Outage::Wait);
}

/// Packets per millisecond as rates; a millisecond of none waits.
fn mahimahi(bytes: &[u8]) -> Result<Trace, TableError> {
    const BYTES: u64 = 1500;
    const LATEST_MS: u64 = 1_000_000_000;
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
    // What may leave at 0 may leave at the end of the round before, which is the same instant.
    let at_zero = opportunities.first().filter(|(at_ms, _)| *at_ms == 0).map_or(0, |(_, count)| *count);
    let Some((period_ms, last)) = opportunities.last_mut().filter(|(at_ms, _)| *at_ms > 0) else {
        return Err(TableError::whole("ends at 0 ms; expected some time to begin again after"));
    };
    *last += at_zero;
    let (period_ms, mut steps, mut until) = (*period_ms, Vec::new(), 0);
    let mut put = |from_ms: u64, count: u64| {
        let mut step = Step { from: Time::ZERO + Span::from_millis(from_ms), ..Step::default() };
        at_rate(&mut step, count * BYTES * 8 * 1000);
        let same = |last: &Step| (last.rate, last.outage) == (step.rate, step.outage);
        if !steps.last().is_some_and(same) {
            steps.push(step);
        }
    };
    for &(at_ms, count) in opportunities.iter().filter(|(at_ms, _)| *at_ms > 0) {
        if at_ms - 1 > until {
            put(until, 0);
        }
        put(at_ms - 1, count);
        until = at_ms;
    }
    Ok(Trace { steps, repeat: Some(Span::from_millis(period_ms)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_what_it_says_and_an_empty_cell_nothing() {
        for text in [
            &b"t_s,rate_bps,loss\n0,1e6,\n\n2.5, ,0.25\r\n"[..],
            b"\xef\xbb\xbft_s;rate_bps;loss\r\n0;1e6;\r\n2.5;;0.25\r\n",
        ] {
            let Trace { steps, repeat } = read(text).unwrap();
            assert_eq!(repeat, None);
            assert_eq!(steps[0], Step { rate: Rate::from_bps(1_000_000), ..Step::default() });
            let loss = Some(Loss::Packets { probability: 0.25 });
            assert_eq!(steps[1], Step { from: Time::from_nanos(2_500_000_000), loss, ..Step::default() });
            assert_eq!(steps.len(), 2);
        }
    }

    #[test]
    fn a_rate_of_zero_waits() {
        let steps = read(b"t_s,rate_bps\n0,0\n1,0.4\n2,5\n").unwrap().steps;
        assert_eq!(
            steps.iter().map(|s| s.outage).collect::<Vec<_>>(),
            [Some(Outage::Wait), Some(Outage::Wait), None]
        );
        assert_eq!(steps.iter().map(|s| s.rate.map(Rate::as_bps)).collect::<Vec<_>>(), [None, None, Some(5)]);
    }

    #[test]
    fn opportunities_of_mahimahi_become_rates_of_a_millisecond() {
        // Two packets in the first millisecond, one each in the 4th and 5th, and the one at 0 in the 6th, which is the last.
        let trace = read(b"0\n1\n1\n4\n5\n6\n").unwrap();
        assert_eq!(trace.repeat, Some(Span::from_millis(6)));
        let told: Vec<_> =
            trace.steps.iter().map(|s| (s.from.as_nanos() / 1_000_000, s.rate.map(Rate::as_bps))).collect();
        assert_eq!(told, [(0, Some(24_000_000)), (1, None), (3, Some(12_000_000)), (5, Some(24_000_000))]);
        assert!(trace.steps.iter().all(|s| s.outage.is_some() == s.rate.is_none()));
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
                "line 1: unknown column \"rate_kbps\"; expected some of t_s, rate_bps, delay_s, loss, bit_error_rate; did you mean \"rate_bps\"?",
            ),
            ("5\n3\n", "line 2: 3 ms is before 5 ms, the line above"),
            ("5\n\n6 7\n", "line 3: \"6 7\" is not a whole number; expected milliseconds"),
            ("5\n6,7\n", "line 2: 2 cells; expected milliseconds"),
            ("5\n9999999999\n", "line 2: 9999999999 ms is beyond 1000000000"),
            ("0\n0\n", "ends at 0 ms"),
            ("t_s,loss\n,0.5\n", "line 2: t_s: \"\" is not a number"),
            ("t_s,delay_s\n0,nan\n", "line 2: delay_s: nan is outside"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert!(read(b"t_s,loss\n\xff").unwrap_err().message.contains("is not text"));
    }
}
