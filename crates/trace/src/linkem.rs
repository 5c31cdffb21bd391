//! Traces of Link'Em, packet by packet: delays in whole milliseconds separated by blanks, losses as a row of 0 (lost) and 1.
//!
//! Follows the README of sys-uos/linkem. Differs: there an entry applies to a packet at any time; here packets are assumed at even
//! intervals, and an entry applies to an interval.
//! Leaves out Link'Em's models of losses, which are netem's.

use crate::{LATEST, LONGEST_DELAY, Losses, Pieces, Sample, Trace, WrittenTrace};
use skyhop_text::table::{TableError, shown, text};
use skyhop_units::{Span, Time};
use std::fmt::Write;

/// Largest number of entries written.
const MOST: u64 = 10_000_000;

/// Reads delays, one per `interval`.
pub fn read_delays(bytes: &[u8], interval: Span) -> Result<Trace, TableError> {
    let mut entries = Entries::new(interval);
    for (line, words) in text(bytes)?.lines().enumerate() {
        for word in words.split_ascii_whitespace() {
            let wrong = |message: String| TableError::at(line + 1, message);
            let most_ms = LONGEST_DELAY.as_nanos() / 1_000_000;
            let delay_ms: u64 = word.parse().map_err(|_| {
                wrong(format!("\"{}\" is not a whole number; expected a delay in ms", shown(word)))
            })?;
            if delay_ms > most_ms {
                return Err(wrong(format!("{delay_ms} ms is beyond {most_ms}; expected a delay in ms")));
            }
            let delay = Some(Span::from_millis(delay_ms));
            entries.put(Sample { delay, ..Sample::default() }).map_err(wrong)?;
        }
    }
    entries.trace("is empty; expected delays in ms, whole numbers")
}

/// Reads losses, one packet per `interval`.
pub fn read_losses(bytes: &[u8], interval: Span) -> Result<Trace, TableError> {
    let mut entries = Entries::new(interval);
    for (line, packets) in text(bytes)?.lines().enumerate() {
        for packet in packets.chars().filter(|c| !c.is_ascii_whitespace()) {
            let wrong = |message: String| TableError::at(line + 1, message);
            let share = match packet {
                '0' => 1.0,
                '1' => 0.0,
                other => {
                    let other = shown(other.encode_utf8(&mut [0; 4]));
                    return Err(wrong(format!("\"{other}\"; expected 0, a lost packet, or 1, another")));
                }
            };
            let losses = Some(Losses::Packets(share));
            entries.put(Sample { losses, ..Sample::default() }).map_err(wrong)?;
        }
    }
    entries.trace("is empty; expected a row of 0 and 1")
}

/// Entries at even intervals.
struct Entries {
    trace: Trace,
    count: u64,
    interval: Span,
}

impl Entries {
    fn new(interval: Span) -> Self {
        Entries { trace: Trace::default(), count: 0, interval }
    }

    fn put(&mut self, sample: Sample) -> Result<(), String> {
        let from = self.interval * self.count;
        if from > LATEST {
            return Err(format!("entry {} is at {from}; expected {LATEST} at most", self.count + 1));
        }
        self.trace.put(Sample { from: Time::ZERO + from, ..sample });
        self.count += 1;
        Ok(())
    }

    fn trace(mut self, empty: &str) -> Result<Trace, TableError> {
        if self.count == 0 {
            return Err(TableError::whole(empty));
        }
        self.trace.length = Some(self.interval * self.count);
        Ok(self.trace)
    }
}

/// Writes delays, one per `interval`, with a blank after the last.
pub fn write_delays(pieces: &Pieces, interval: Span) -> Result<WrittenTrace, String> {
    let mut notes = Vec::new();
    pieces.without_rates("linkem-delay", &mut notes);
    pieces.without_losses("linkem-delay", &mut notes);
    let text = delays(pieces, interval, " ", &mut notes)?;
    Ok(WrittenTrace { text, notes })
}

/// Delays in whole milliseconds, one per `interval`, each followed by `end`.
pub(crate) fn delays(
    pieces: &Pieces,
    interval: Span,
    end: &str,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut worst = 0;
    for at in instants(pieces, interval)? {
        let delay = pieces.at(at).map_or(0, |piece| piece.delay.as_nanos());
        let delay_ms = (delay + 500_000) / 1_000_000;
        worst = worst.max(delay.abs_diff(delay_ms * 1_000_000));
        let _ = write!(out, "{delay_ms}{end}");
    }
    if worst > 0 {
        notes.push(format!("delays are rounded to milliseconds, by {} at most", Span::from_nanos(worst)));
    }
    between(pieces, interval, |a, b| a.delay != b.delay, "delay", notes);
    Ok(out)
}

/// Writes losses, one packet per `interval`. Fails where the loss is neither 0 nor 1.
pub fn write_losses(pieces: &Pieces, interval: Span) -> Result<WrittenTrace, String> {
    let mut notes = Vec::new();
    pieces.without_rates("linkem-loss", &mut notes);
    pieces.without_delays("linkem-loss", &mut notes);
    let mut text = String::new();
    for at in instants(pieces, interval)? {
        let loss = pieces.at(at).map_or(0.0, |piece| piece.loss);
        text.push(match loss {
            0.0 => '1',
            1.0 => '0',
            _ => return Err(format!("loss of {loss} at {at}; linkem-loss holds 0 and 1, packet by packet")),
        });
    }
    between(pieces, interval, |a, b| a.loss != b.loss, "loss", &mut notes);
    Ok(WrittenTrace { text, notes })
}

fn instants(pieces: &Pieces, interval: Span) -> Result<impl Iterator<Item = Time>, String> {
    if interval == Span::ZERO {
        return Err("--interval: 0 s; expected more".into());
    }
    let count = pieces.end().as_nanos().div_ceil(interval.as_nanos());
    if count > MOST {
        return Err(format!("makes {count} entries; expected {MOST} at most: a longer --interval"));
    }
    Ok((0..count).map(move |k| Time::ZERO + interval * k))
}

/// A note on the number of changes between two entries.
fn between(
    pieces: &Pieces,
    interval: Span,
    differ: impl Fn(&crate::Piece, &crate::Piece) -> bool,
    of: &str,
    notes: &mut Vec<String>,
) {
    let changes = pieces.all.windows(2).filter(|pair| differ(&pair[0], &pair[1]));
    let off = changes.filter(|pair| pair[1].from.as_nanos() % interval.as_nanos() != 0).count();
    if off > 0 {
        notes.push(format!("changes of {of} between entries, which take hold at the next one: {off}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Own, pieces, table};

    const INTERVAL: Span = Span::from_millis(10);

    fn whole(trace: &Trace) -> Pieces {
        pieces(trace, Own::default(), None).unwrap()
    }

    #[test]
    fn what_is_read_is_written_entry_by_entry() {
        let text = "42 39 25 25 65 54 51 33 454 0 0 ";
        let trace = read_delays(text.as_bytes(), INTERVAL).unwrap();
        assert_eq!(trace.length, Some(Span::from_millis(110)));
        assert_eq!(trace.samples[2].from, Time::ZERO + Span::from_millis(20));
        assert_eq!(trace.samples.len(), 9);
        assert_eq!(
            write_delays(&whole(&trace), INTERVAL).unwrap(),
            WrittenTrace { text: text.into(), notes: vec![] }
        );
        // Lines are joined.
        assert_eq!(read_delays(b"42 39\n25\n25 65 54 51 33 454 0 0", INTERVAL).unwrap(), trace);
        let text = "0101111010101011101010110";
        let trace = read_losses(text.as_bytes(), INTERVAL).unwrap();
        assert_eq!(trace.samples[0].losses, Some(Losses::Packets(1.0)));
        assert_eq!(
            write_losses(&whole(&trace), INTERVAL).unwrap(),
            WrittenTrace { text: text.into(), notes: vec![] }
        );
    }

    #[test]
    fn what_it_cannot_hold_is_said() {
        let trace = table::read(b"t_s,rate_bps,delay_s,loss\n0,5,0.0204,0\n0.015,5,0.0306,0\n0.03,5,0,0.5\n")
            .unwrap();
        let written = write_delays(&whole(&trace), INTERVAL).unwrap();
        assert_eq!(written.text, "20 20 31 0 0 ");
        assert_eq!(
            written.notes,
            [
                "linkem-delay has no rates: they are left out",
                "linkem-delay has no losses: they are left out",
                "delays are rounded to milliseconds, by 400 us at most",
                "changes of delay between entries, which take hold at the next one: 1"
            ]
        );
        assert_eq!(
            write_losses(&whole(&trace), INTERVAL).unwrap_err(),
            "loss of 0.5 at 30 ms; linkem-loss holds 0 and 1, packet by packet"
        );
        assert!(write_losses(&whole(&trace), Span::from_nanos(1)).unwrap_err().contains("10000000 at most"));
        assert!(write_delays(&whole(&trace), Span::ZERO).unwrap_err().contains("--interval"));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("5 6\n7 x\n", "line 2: \"x\" is not a whole number; expected a delay in ms"),
            ("5 -6", "line 1: \"-6\" is not a whole number"),
            ("5 200000000", "line 1: 200000000 ms is beyond 100000000"),
            (" \n", "is empty"),
        ] {
            let error = read_delays(text.as_bytes(), INTERVAL).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        for (text, expected) in [("01\n012", "line 2: \"2\"; expected 0"), ("", "is empty")] {
            let error = read_losses(text.as_bytes(), INTERVAL).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let far = read_delays(b"1 2 3", Span::from_secs(600_000_000)).unwrap_err();
        assert!(far.message.contains("entry 3 is at"), "{far}");
    }
}
