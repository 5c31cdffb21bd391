//! Logs of measurements: tables with a column of times and columns of rate, RTT or delay, and loss.
//!
//! Follows the user's description of the columns, or that of two published logs. Differs from a trace: times start anywhere, may be
//! dates, and may have pauses; half of an RTT is taken for each direction.
//! Leaves out all other columns.

use crate::{HIGHEST_RATE_BPS, LATEST, LONGEST_DELAY, Losses, Read, Sample, Trace};
use skyhop_orbit::Epoch;
use skyhop_text::spelling;
use skyhop_text::table::{TableError, TableRow, number, rows, shown};
use skyhop_units::{Span, Time};

/// A column and its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit, in SI units.
    pub unit: f64,
}

impl Column {
    fn new(name: &str, unit: f64) -> Self {
        Column { name: name.into(), unit }
    }
}

/// The columns of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogColumns {
    /// Times: numbers in this unit, or dates and times, in UTC or with a time zone.
    pub time: Column,
    /// Rates.
    pub rate: Option<Column>,
    /// Round-trip times, of which half is the one-way delay.
    pub rtt: Option<Column>,
    /// One-way delays.
    pub delay: Option<Column>,
    /// Shares of lost packets.
    pub loss: Option<Column>,
}

impl LogColumns {
    /// Columns of FjordLink's logs of a Starlink terminal at sea.
    pub fn fjordlink() -> Self {
        LogColumns {
            time: Column::new("@timestamp", 1.0),
            rate: None,
            rtt: Some(Column::new("dish_status.pop_ping_latency_ms", 1e-3)),
            delay: None,
            loss: Some(Column::new("dish_status.pop_ping_drop_rate", 1.0)),
        }
    }

    /// Columns of the throughput logs of Starlink on the Autobahn, down or up.
    pub fn autobahn(up: bool) -> Self {
        let (time, rate) =
            if up { ("timestamp_start_ul", "upload") } else { ("timestamp_start_dl", "download") };
        LogColumns {
            time: Column::new(time, 1.0),
            rate: Some(Column::new(rate, 1e6)),
            rtt: None,
            delay: None,
            loss: None,
        }
    }

    fn values(&self) -> [Option<&Column>; 4] {
        [self.rate.as_ref(), self.rtt.as_ref(), self.delay.as_ref(), self.loss.as_ref()]
    }
}

/// Reads a log. Pauses longer than `pause` are removed: the next row follows one usual interval later.
pub fn read(bytes: &[u8], columns: &LogColumns, pause: Option<Span>) -> Result<Read, TableError> {
    let mut rows = rows(bytes)?;
    let Some(head) = rows.next().transpose()? else {
        return Err(TableError::whole("is empty; expected a line of column names"));
    };
    let time = place(&head, &columns.time)?;
    let mut places = [None; 4];
    for (found, column) in places.iter_mut().zip(columns.values()) {
        *found = column.map(|column| Ok((place(&head, column)?, column))).transpose()?;
    }
    let (mut samples, mut clock): (Vec<Sample>, _) = (vec![], LogClock::default());
    let (mut empty, mut twice) = ([0_u64; 4], 0_u64);
    for row in rows {
        let row = row?;
        let cell = |at: usize| row.cells().nth(at).unwrap_or_default();
        let at = clock
            .at(cell(time), columns.time.unit)
            .map_err(|e| row.wrong(format!("{}: {e}", columns.time.name)))?;
        let from = Time::ZERO + at;
        // Logs that were merged from several files have some rows twice.
        if samples.last().is_some_and(|last| last.from == from) {
            samples.pop();
            twice += 1;
        }
        if let Some(last) = samples.last().filter(|last| last.from > from) {
            return Err(row.wrong(format!(
                "{}: {from} after the first row is before {}, the row above",
                columns.time.name, last.from
            )));
        }
        let mut values = [None; 4];
        for (i, (at, column)) in places.iter().enumerate().filter_map(|(i, place)| Some((i, (*place)?))) {
            values[i] = value(&row, cell(at), column, i)?;
            empty[i] += u64::from(values[i].is_none());
        }
        samples.push(sample(from, values));
    }
    let mut got = finish(samples, columns, empty, pause)?;
    if twice > 0 {
        got.notes.push(format!("rows at the instant of the row above: {twice}; the later one holds"));
    }
    Ok(got)
}

/// Index of a column.
fn place(head: &TableRow, column: &Column) -> Result<usize, TableError> {
    let name = column.name.as_str();
    head.cells().position(|cell| cell == name).ok_or_else(|| {
        let near = spelling::hint(name, head.cells());
        let some: Vec<String> = head.cells().take(12).map(shown).collect();
        let more = if head.len() > 12 { ", ..." } else { "" };
        head.wrong(format!("no column \"{}\"; there are {}{more}{near}", shown(name), some.join(", ")))
    })
}

const LIMITS: [(f64, &str); 4] = [
    (HIGHEST_RATE_BPS as f64, "bit/s"),
    (2.0 * LONGEST_DELAY.as_nanos() as f64 / 1e9, "s"),
    (LONGEST_DELAY.as_nanos() as f64 / 1e9, "s"),
    (1.0, "of all"),
];

/// A cell in SI units; `None` if it is empty or says that there is no value.
fn value(row: &TableRow, cell: &str, column: &Column, which: usize) -> Result<Option<f64>, TableError> {
    if ["", "nan", "null", "none", "na"].contains(&cell.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let wrong = |e: String| row.wrong(format!("{}: {e}", column.name));
    let value = number(cell).map_err(wrong)? * column.unit;
    let (most, unit) = LIMITS[which];
    if !(0.0..=most).contains(&value) {
        return Err(wrong(format!("{} is outside 0 to {most} {unit}", shown(cell))));
    }
    Ok(Some(value))
}

fn sample(from: Time, [rate, rtt, delay, loss]: [Option<f64>; 4]) -> Sample {
    Sample {
        from,
        rate_bps: rate.map(|bps| bps.round() as u64),
        delay: rtt.map(|rtt| rtt / 2.0).or(delay).map(Span::from_secs_f64),
        losses: loss.map(Losses::Packets),
    }
}

/// The first row's time, from which all times are counted.
#[derive(Default)]
struct LogClock {
    date: Option<Epoch>,
    /// Offset of its time zone from UTC, s.
    ahead_s: Option<f64>,
    number: Option<f64>,
}

/// Splits a date and time from its time zone; returns the zone's offset from UTC, s, for +01:00 or -0930.
fn zone(cell: &str) -> (&str, f64) {
    let found = || {
        let at = cell.rfind(['+', '-']).filter(|at| cell[..*at].contains(':'))?;
        let digits: String = cell[at + 1..].chars().filter(|c| *c != ':').collect();
        let minutes = match digits.len() {
            4 if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits[..2].parse::<f64>().ok()? * 60.0 + digits[2..].parse::<f64>().ok()?
            }
            _ => return None,
        };
        let sign = if cell[at..].starts_with('-') { -60.0 } else { 60.0 };
        Some((&cell[..at], minutes * sign))
    };
    found().unwrap_or((cell, 0.0))
}

impl LogClock {
    fn at(&mut self, cell: &str, unit: f64) -> Result<Span, String> {
        let seconds = match cell.parse::<f64>() {
            Ok(number) if self.date.is_none() => (number - *self.number.get_or_insert(number)) * unit,
            _ if self.number.is_none() => {
                let (bare, ahead_s) = zone(cell);
                let date: Epoch = bare.parse().map_err(|e: skyhop_orbit::EpochError| e.to_string())?;
                let first = *self.date.get_or_insert(date);
                let first_ahead_s = *self.ahead_s.get_or_insert(ahead_s);
                date.seconds_since(first) - (ahead_s - first_ahead_s)
            }
            _ => return Err(format!("\"{}\" is not a time as in the rows above", shown(cell))),
        };
        if !(0.0..=LATEST.as_secs_f64()).contains(&seconds) {
            return Err(format!("{seconds} s after the first row; expected 0 to {LATEST}, rising"));
        }
        Ok(Span::from_secs_f64(seconds))
    }
}

/// Removes pauses, and notes assumptions.
fn finish(
    mut samples: Vec<Sample>,
    columns: &LogColumns,
    empty: [u64; 4],
    pause: Option<Span>,
) -> Result<Read, TableError> {
    if samples.is_empty() {
        return Err(TableError::whole("has no rows"));
    }
    let mut steps: Vec<Span> = samples.windows(2).map(|pair| pair[1].from.since(pair[0].from)).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(Span::from_secs(1));
    let mut notes = vec![format!("{} rows, one each {usual}", samples.len())];
    if columns.rtt.is_some() {
        notes.push(
            "delay is half the RTT in each direction, and has the waiting of that measurement in it".into(),
        );
    }
    if columns.rate.is_some() {
        notes.push("rate is the throughput that was measured: the link may have carried more".into());
    }
    let values = ["rates", "delays", "delays", "losses"];
    for (count, what) in empty.into_iter().zip(values).filter(|(count, _)| *count > 0) {
        notes.push(format!("empty {what}: {count}; the link's own value applies there"));
    }
    let limit = pause.unwrap_or(usual * 3);
    let mut closed = Span::ZERO;
    let (mut pauses, mut before) = (0, Time::ZERO);
    for sample in &mut samples {
        let step = sample.from.since(before);
        before = sample.from;
        if step > limit {
            pauses += 1;
            closed += step.saturating_sub(usual);
        }
        if pause.is_some() {
            sample.from = Time::ZERO + sample.from.since(Time::ZERO).saturating_sub(closed);
        }
    }
    if pauses > 0 {
        let done = match pause {
            Some(_) => format!("closed up, {closed} are left out"),
            None => {
                format!("of {closed} in all, in which the row before holds; --close-pauses leaves them out")
            }
        };
        notes.push(format!("pauses of more than {limit}: {pauses}, {done}"));
    }
    let length = samples.last().map(|last| last.from.since(Time::ZERO) + usual);
    let mut trace = Trace { length, ..Trace::default() };
    samples.into_iter().for_each(|sample| trace.put(sample));
    Ok(Read { trace, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn columns() -> LogColumns {
        LogColumns {
            time: Column::new("time", 1e-3),
            rate: Some(Column::new("down", 1e6)),
            rtt: Some(Column::new("rtt", 1e-3)),
            delay: None,
            loss: Some(Column::new("lost", 0.01)),
        }
    }

    #[test]
    fn columns_are_taken_in_their_units() {
        let text = "time,x,down,rtt,lost\n5000,a,10.5,40,0\n6000,b,,41,50\n7000,c,0,NaN,100\n";
        let Read { trace, notes } = read(text.as_bytes(), &columns(), None).unwrap();
        assert_eq!(
            table::write(&trace),
            "t_s,rate_bps,delay_s,loss\n0,10500000,0.02,0\n1,,0.0205,0.5\n2,0,,1\n"
        );
        assert_eq!(trace.length, Some(Span::from_secs(3)));
        assert_eq!(notes[0], "3 rows, one each 1 s");
        assert!(notes.iter().any(|n| n.starts_with("empty rates: 1;")), "{notes:?}");
        assert!(notes.iter().any(|n| n.contains("half the RTT")), "{notes:?}");
    }

    #[test]
    fn zones_are_taken_for_what_they_are() {
        assert_eq!(zone("2024-12-12T09:06:37.7+01:00"), ("2024-12-12T09:06:37.7", 3600.0));
        assert_eq!(zone("2024-12-12 09:06:37-0930"), ("2024-12-12 09:06:37", -34_200.0));
        for bare in ["2024-12-12T09:06:37Z", "2024-12-12", "-5", "2024-12-12 09:06-x"] {
            assert_eq!(zone(bare), (bare, 0.0));
        }
        // When summer time ends, an hour occurs twice.
        let text = "@timestamp,dish_status.pop_ping_latency_ms,dish_status.pop_ping_drop_rate\n\
                    2024-10-27T02:59:59.5+02:00,30,0\n2024-10-27T02:00:00.5+01:00,40,0.5\n";
        let trace = read(text.as_bytes(), &LogColumns::fjordlink(), None).unwrap().trace;
        assert_eq!(table::write(&trace), "t_s,delay_s,loss\n0,0.015,0\n1,0.02,0.5\n");
    }

    #[test]
    fn of_rows_at_one_instant_the_later_holds() {
        let text = "time,down,rtt,lost\n0,1,2,0\n0,5,2,0\n1000,6,2,0\n";
        let Read { trace, notes } = read(text.as_bytes(), &columns(), None).unwrap();
        assert_eq!((trace.samples.len(), trace.samples[0].rate_bps), (2, Some(5_000_000)));
        assert!(
            notes.iter().any(|n| n == "rows at the instant of the row above: 1; the later one holds"),
            "{notes:?}"
        );
    }

    #[test]
    fn dates_are_times_and_pauses_are_said_or_closed() {
        let text = "timestamp_start_dl,download\n2024-04-19 16:23:00.5,1\n2024-04-19 16:23:01.5,2\n\
                    2024-04-19 16:23:02.5,3\n2024-04-19 17:00:00.5,4\n";
        let got = read(text.as_bytes(), &LogColumns::autobahn(false), None).unwrap();
        assert_eq!(got.trace.samples[3].from, Time::ZERO + Span::from_secs(2220));
        assert!(
            got.notes.iter().any(|n| n.starts_with("pauses of more than 3 s: 1, of 2217 s in all")),
            "{:?}",
            got.notes
        );
        let closed = read(text.as_bytes(), &LogColumns::autobahn(false), Some(Span::from_secs(2))).unwrap();
        assert_eq!(closed.trace.samples[3].from, Time::ZERO + Span::from_secs(3));
        assert_eq!(closed.trace.samples[2].rate_bps, Some(3_000_000));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("time,down,rtt\n", "line 1: no column \"lost\"; there are time, down, rtt"),
            ("time,down,rtt,lsot\n", "did you mean \"lsot\"?"),
            ("time,down,rtt,lost\n", "has no rows"),
            ("time,down,rtt,lost\n1,2,3,x\n", "line 2: lost: \"x\" is not a number"),
            ("time,down,rtt,lost\n1,2,-3,0\n", "line 2: rtt: -3 is outside 0 to 200000 s"),
            ("time,down,rtt,lost\n1,2,3,101\n", "line 2: lost: 101 is outside 0 to 1 of all"),
            (
                "time,down,rtt,lost\n5,2,3,0\n4,2,3,0\n",
                "line 3: time: -0.001 s after the first row; expected 0 to",
            ),
            (
                "time,down,rtt,lost\n5,2,3,0\n7,2,3,0\n6,2,3,0\n",
                "line 4: time: 1 ms after the first row is before 2 ms, the row above",
            ),
            ("time,down,rtt,lost\nnoon,2,3,0\n", "line 2: time: epoch \"noon\"; expected UTC"),
            (
                "time,down,rtt,lost\n5,2,3,0\n2024-01-01,2,3,0\n",
                "line 3: time: \"2024-01-01\" is not a time as in the rows above",
            ),
        ] {
            let error = read(text.as_bytes(), &columns(), None).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
