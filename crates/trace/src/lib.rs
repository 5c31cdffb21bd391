//! Traces of links: rate, delay and loss over time, from measurements or in the formats of other programs.
//!
//! A map of the code: [`table`] is skyhop's own format, [`log`] any table of measurements, and each other module reads and writes
//! the format of one program. Differs from those programs: times and delays are whole nanoseconds, and notes state what a format
//! cannot express.
//! Leaves out the effect of a trace on a link. Traces packet by packet are converted to times.

pub mod leocc;
pub mod linkem;
pub mod log;
pub mod mahimahi;
pub mod netsatbench;
mod pieces;
pub mod table;
pub mod theaterq;

pub use pieces::{Own, Piece, Pieces, pieces};

use skyhop_text::table::{TableError, text};
use skyhop_units::{Span, Time};

/// Latest time in a trace.
const LATEST: Span = Span::from_secs(1_000_000_000);
/// Longest delay in a trace.
const LONGEST_DELAY: Span = Span::from_secs(100_000);
/// Highest rate in a trace, bit/s.
const HIGHEST_RATE_BPS: u64 = 1_000_000_000_000_000;

/// The losses of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Losses {
    /// Probability that a packet is lost, independent of its size.
    Packets(f64),
    /// Bit error rate.
    Bits(f64),
}

/// Values from an instant until the next sample; `None` stands for the link's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Time from which the sample holds.
    pub from: Time,
    /// Rate, bit/s; packets wait at 0.
    pub rate_bps: Option<u64>,
    /// One-way delay.
    pub delay: Option<Span>,
    /// Losses.
    pub losses: Option<Losses>,
}

impl Sample {
    /// The sample at another instant.
    fn since(self, from: Time) -> Self {
        Sample { from, ..self }
    }

    /// Returns true if the values equal those of `other`; times are not compared.
    fn says_as(&self, other: &Self) -> bool {
        self.since(other.from) == *other
    }
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Samples in order of time, at most one per instant.
    pub samples: Vec<Sample>,
    /// Duration of the trace, if it has one: the time after which Mahimahi repeats it.
    pub length: Option<Span>,
}

impl Trace {
    /// Adds a sample: one at the time of the last replaces it, one with the same values is omitted.
    pub fn put(&mut self, sample: Sample) {
        if self.samples.last().is_some_and(|last| last.from == sample.from) {
            self.samples.pop();
        }
        if !self.samples.last().is_some_and(|last| last.says_as(&sample)) {
            self.samples.push(sample);
        }
    }
}

/// A trace that was read, with assumptions and omissions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Read {
    /// The trace.
    pub trace: Trace,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A file in another format, and the values that it cannot express.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenTrace {
    /// Contents of the file.
    pub text: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Reads a trace that a scenario names: a table, or a trace of Mahimahi. An error has the line.
pub fn read(bytes: &[u8]) -> Result<Trace, TableError> {
    let first = text(bytes)?.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    match first {
        Some(line) if line.bytes().all(|byte| byte.is_ascii_digit()) => mahimahi::read(bytes),
        _ => table::read(bytes),
    }
}

/// Nanoseconds as seconds, without trailing zeros.
fn seconds(nanos: u64) -> String {
    decimal(nanos, 9)
}

/// `number` / 10^`places`, with `places` above zero, without trailing zeros.
fn decimal(number: u64, places: u32) -> String {
    let one = 10_u64.pow(places);
    let digits = format!("{}.{:0width$}", number / one, number % one, width = places as usize);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_are_needed() {
        assert_eq!(seconds(0), "0");
        assert_eq!(seconds(1_500_000_000), "1.5");
        assert_eq!(seconds(1), "0.000000001");
        assert_eq!(seconds(10_000_000_000), "10");
        assert_eq!(decimal(12_345, 3), "12.345");
    }

    /// Every reader gets texts of every format with altered bytes, and every writer the results.
    #[test]
    fn whatever_is_in_a_file_it_is_read_or_refused() {
        let texts: [&[u8]; 8] = [
            b"t_s,rate_bps,delay_s,loss\n0,1e6,0.1,0\n2.5,,,0.25\n",
            b"t_s,bit_error_rate\n0,1e-7\n9,0\n",
            b"0\n1\n1\n40\n",
            b"20 30\n41 5 ",
            b"010110",
            b"1000,2000,300000,0,50\n5,5,5,5,5\n",
            b"{\"time\":\"2024-06-01T12:00:00Z\",\"links-add\":[{\"endpoint1\":\"a\",\"endpoint2\":\"b\",\"rate\":\"9mbit\"}]}",
            b"timestamp_start_dl,download\n2024-04-19 16:23:00.5,1\n2024-04-19 17:23:01.5,2\n",
        ];
        let (mut state, mut good) = (1_u64, 0);
        for round in 0..20_000 {
            let mut bytes = texts[round % texts.len()].to_vec();
            for _ in 0..round % 4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = b"0123456789,.-e\n \xff{"[(state >> 20) as usize % 18];
            }
            let second = Span::from_secs(1);
            let epochs = netsatbench::read(&[("e1.json", &bytes)], None).ok();
            let log = log::read(&bytes, &log::LogColumns::autobahn(false), Some(second)).ok();
            let theaterq = theaterq::read(&bytes).ok();
            let read = [
                read(&bytes).ok(),
                linkem::read_delays(&bytes, second).ok(),
                linkem::read_losses(&bytes, second).ok(),
                epochs.map(|read| read.trace),
                log.map(|read| read.trace),
                theaterq.map(|read| read.trace),
            ];
            for trace in read.into_iter().flatten() {
                good += 1;
                assert!(trace.samples.windows(2).all(|pair| pair[0].from < pair[1].from));
                let own = Own { rate_bps: Some(5_000), ..Own::default() };
                // As long as no writer has thousands of lines to write.
                let Ok(pieces) = pieces(&trace, own, Some(Span::from_millis(1_500))) else { continue };
                assert_eq!(
                    table::read(table::write(&trace).as_bytes()).map(|back| back.samples),
                    Ok(trace.samples)
                );
                if pieces.all.iter().all(|piece| piece.rate_bps < Some(10_000_000)) {
                    let _ = (mahimahi::write(&pieces), leocc::write(&pieces));
                }
                let _ = (linkem::write_delays(&pieces, second), linkem::write_losses(&pieces, second));
                let _ = theaterq::write(&pieces, 1);
            }
        }
        assert!(good > 5_000, "{good}");
    }

    #[test]
    fn a_file_of_whole_numbers_is_a_trace_of_mahimahi_and_another_a_table() {
        assert_eq!(read(b"1\n").unwrap().length, Some(Span::from_millis(1)));
        assert_eq!(read(b"# 5\nt_s,loss\n0,0.5\n").unwrap().length, None);
        assert!(read(b"").unwrap_err().message.contains("is empty"));
    }
}
