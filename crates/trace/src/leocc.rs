//! Traces of LeoCC's replayer: rates in Mahimahi's format in `bw_N.txt`, and a line of one-way delay per 10 ms in `delay_N.txt`.
//!
//! Follows traces/README.md of SpaceNetLab/LeoCC. Differs: there each file repeats separately; here both end with the shorter.
//! Leaves out losses, which that replayer takes as one number for a whole run.

use crate::{Pieces, Sample, Trace, WrittenTrace, linkem, mahimahi};
use skyhop_text::table::TableError;
use skyhop_units::{Span, Time};

/// Time for which a line of delay holds.
const INTERVAL: Span = Span::from_millis(10);

/// Reads a trace of delays only.
pub fn read_delays(bytes: &[u8]) -> Result<Trace, TableError> {
    linkem::read_delays(bytes, INTERVAL)
}

/// Combines rates and delays, up to the end of the shorter. The note says how much of the other is left out.
pub fn join(rates: &Trace, delays: &Trace) -> (Trace, Option<String>) {
    let [rates_end, delays_end] = [rates, delays].map(|trace| trace.length.unwrap_or(Span::MAX));
    let length = rates_end.min(delays_end);
    let note = (rates_end != delays_end).then(|| {
        let (longer, by) = match rates_end > delays_end {
            true => ("rates", rates_end.saturating_sub(length)),
            false => ("delays", delays_end.saturating_sub(length)),
        };
        format!("the last {by} of the {longer} are left out: both end at {length}")
    });
    let mut joined = Trace { length: Some(length), ..Trace::default() };
    let mut now = Sample::default();
    let (mut rates, mut delays) = (rates.samples.iter().peekable(), delays.samples.iter().peekable());
    loop {
        let next = [rates.peek(), delays.peek()].into_iter().flatten().map(|sample| sample.from).min();
        let Some(from) = next.filter(|from| *from < Time::ZERO + length) else {
            return (joined, note);
        };
        if let Some(sample) = rates.next_if(|sample| sample.from == from) {
            now.rate_bps = sample.rate_bps;
        }
        if let Some(sample) = delays.next_if(|sample| sample.from == from) {
            now.delay = sample.delay;
        }
        joined.put(Sample { from, ..now });
    }
}

/// Writes both files: rates, then delays.
pub fn write(pieces: &Pieces) -> Result<[WrittenTrace; 2], String> {
    let rates = mahimahi::write(pieces)?;
    let mut notes = Vec::new();
    let text = linkem::delays(pieces, INTERVAL, "\n", &mut notes)?;
    // The other file has the delays, and neither has losses.
    let said = rates.notes.into_iter().filter(|note| !note.contains("delays")).map(|note| match note {
        note if note.contains("losses") => note.replace("mahimahi", "leocc"),
        note => note,
    });
    Ok([WrittenTrace { text: rates.text, notes: said.collect() }, WrittenTrace { text, notes }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, pieces};

    #[test]
    fn rates_and_delays_are_joined_and_written_apart_again() {
        let (bw, delay) = ("1\n1\n4\n15\n20\n", "22\n22\n");
        let rates = mahimahi::read(bw.as_bytes()).unwrap();
        let (trace, note) = join(&rates, &read_delays(delay.as_bytes()).unwrap());
        assert_eq!((trace.length, note), (Some(Span::from_millis(20)), None));
        let [a, b] = write(&pieces(&trace, Own::default(), None).unwrap()).unwrap();
        assert_eq!((a.text.as_str(), b.text.as_str()), (bw, delay));
        assert!(a.notes.is_empty() && b.notes.is_empty(), "{a:?} {b:?}");
        // Delays change at other times than rates.
        let (trace, _) = join(&mahimahi::read(b"20\n").unwrap(), &read_delays(b"5\n6\n").unwrap());
        let told: Vec<_> = trace.samples.iter().map(|s| (s.from.as_nanos() / 1_000_000, s.delay)).collect();
        let ms = |ms| Some(Span::from_millis(ms));
        assert_eq!(told, [(0, ms(5)), (10, ms(6)), (19, ms(6))]);
    }

    #[test]
    fn both_end_with_the_shorter() {
        let rates = mahimahi::read(b"5\n30\n").unwrap();
        let (trace, note) = join(&rates, &read_delays(b"1\n2\n").unwrap());
        assert_eq!(trace.length, Some(Span::from_millis(20)));
        assert!(trace.samples.iter().all(|s| s.from < Time::ZERO + Span::from_millis(20)));
        assert_eq!(note.unwrap(), "the last 10 ms of the rates are left out: both end at 20 ms");
        let (_, note) = join(&mahimahi::read(b"5\n").unwrap(), &read_delays(b"1\n2\n").unwrap());
        assert_eq!(note.unwrap(), "the last 15 ms of the delays are left out: both end at 5 ms");
    }
}
