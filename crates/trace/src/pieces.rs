//! A trace without gaps: intervals with all values, as the formats of other programs require.
//!
//! Follows the use of a trace by a link: before the first sample, and where a cell is empty, the link's own values apply.
//! Differs: a trace without a duration gets an end, since formats that repeat have one.
//! Leaves out bit errors, which are converted to losses of packets of 1500 bytes.

use crate::{Losses, Trace, seconds};
use skyhop_units::{Span, Time};

/// Bits of the packet for which bit errors are converted to losses.
const BITS: f64 = 1500.0 * 8.0;

/// The link's own values, which apply where the trace has none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Own {
    /// Rate, bit/s.
    pub rate_bps: Option<u64>,
    /// One-way delay.
    pub delay: Span,
    /// Share of lost packets.
    pub loss: f64,
}

/// An interval in which nothing changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval.
    pub to: Time,
    /// Rate, bit/s; `None` if neither trace nor link has one.
    pub rate_bps: Option<u64>,
    /// One-way delay.
    pub delay: Span,
    /// Share of lost packets.
    pub loss: f64,
}

/// A trace as intervals, from 0 to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pieces {
    /// The intervals, in sequence.
    pub all: Vec<Piece>,
    /// Assumptions, as notes for the user.
    pub notes: Vec<String>,
}

impl Pieces {
    /// End of the last interval.
    pub fn end(&self) -> Time {
        self.all.last().map_or(Time::ZERO, |piece| piece.to)
    }

    /// The interval that contains an instant.
    pub fn at(&self, at: Time) -> Option<&Piece> {
        self.all.get(self.all.partition_point(|piece| piece.to <= at))
    }

    /// Rates of all intervals; the error says how to provide a missing one.
    pub fn rates_bps(&self) -> Result<Vec<u64>, String> {
        let rate = |piece: &Piece| {
            let none = || {
                format!("no rate at t_s {}; give the link's own with --rate", seconds(piece.from.as_nanos()))
            };
            piece.rate_bps.ok_or_else(none)
        };
        self.all.iter().map(rate).collect()
    }

    /// Adds a note that the format has no delays, if there are any.
    pub fn without_delays(&self, form: &str, notes: &mut Vec<String>) {
        if self.all.iter().any(|piece| piece.delay > Span::ZERO) {
            notes.push(format!("{form} has no delays: they are left out"));
        }
    }

    /// Adds a note that the format has no losses, if there are any.
    pub fn without_losses(&self, form: &str, notes: &mut Vec<String>) {
        if self.all.iter().any(|piece| piece.loss > 0.0) {
            notes.push(format!("{form} has no losses: they are left out"));
        }
    }

    /// Adds a note that the format has no rates, if there are any.
    pub fn without_rates(&self, form: &str, notes: &mut Vec<String>) {
        if self.all.iter().any(|piece| piece.rate_bps.is_some()) {
            notes.push(format!("{form} has no rates: they are left out"));
        }
    }
}

/// The intervals of a trace up to `length`: by default its own duration, or else as if its last row lasted as long as the one
/// before. The error names the option to give.
pub fn pieces(trace: &Trace, own: Own, length: Option<Span>) -> Result<Pieces, String> {
    let mut notes = Vec::new();
    let samples = &trace.samples;
    let end = match (length.or(trace.length), &samples[..]) {
        (Some(length), _) => Time::ZERO + length,
        (None, [.., before, last]) => {
            let end = last.from + last.from.since(before.from);
            notes.push(format!(
                "ends at {end}, as if the last row lasted as long as the one before it; --duration sets another end"
            ));
            end
        }
        (None, _) => return Err("has one row; say with --duration how long it holds".into()),
    };
    if end == Time::ZERO {
        return Err("lasts 0 s; expected more".into());
    }
    let later = samples.iter().filter(|sample| sample.from >= end).count();
    if later > 0 {
        notes.push(format!("rows from {end} on are left out: {later}"));
    }
    let bits = samples.iter().any(|sample| matches!(sample.losses, Some(Losses::Bits(_))));
    if bits {
        notes.push("bit errors are given as losses of packets of 1500 bytes".into());
    }
    let mut all: Vec<Piece> = Vec::new();
    let mut put = |piece: Piece| {
        if piece.to > piece.from {
            all.push(piece);
        }
    };
    let before = Piece {
        from: Time::ZERO,
        to: samples.first().map_or(end, |sample| sample.from.min(end)),
        rate_bps: own.rate_bps,
        delay: own.delay,
        loss: own.loss,
    };
    put(before);
    for (i, sample) in samples.iter().enumerate() {
        put(Piece {
            from: sample.from,
            to: samples.get(i + 1).map_or(end, |next| next.from.min(end)),
            rate_bps: sample.rate_bps.or(own.rate_bps),
            delay: sample.delay.unwrap_or(own.delay),
            loss: sample.losses.map_or(own.loss, packets),
        });
    }
    Ok(Pieces { all, notes })
}

fn packets(losses: Losses) -> f64 {
    match losses {
        Losses::Packets(share) => share,
        Losses::Bits(rate) => -f64::exp_m1(BITS * f64::ln_1p(-rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn of(text: &str, length: Option<Span>) -> Result<Pieces, String> {
        let own = Own { rate_bps: Some(7), delay: Span::from_millis(3), loss: 0.0 };
        pieces(&table::read(text.as_bytes()).unwrap(), own, length)
    }

    #[test]
    fn the_links_own_values_hold_where_the_trace_says_nothing() {
        let got = of("t_s,rate_bps,delay_s\n1,5,\n2,,0.1\n", None).unwrap();
        let told: Vec<_> = got.all.iter().map(|p| (p.from, p.to, p.rate_bps, p.delay)).collect();
        let s = |s: u64| Time::ZERO + Span::from_secs(s);
        let ms = Span::from_millis;
        assert_eq!(
            told,
            [(s(0), s(1), Some(7), ms(3)), (s(1), s(2), Some(5), ms(3)), (s(2), s(3), Some(7), ms(100))]
        );
        assert!(got.notes[0].contains("ends at 3 s"), "{:?}", got.notes);
        assert_eq!(got.at(s(2)).unwrap().rate_bps, Some(7));
        assert!(got.at(s(3)).is_none());
    }

    #[test]
    fn rows_beyond_the_end_are_left_out_and_one_row_needs_an_end() {
        let got = of("t_s,loss\n0,0\n2,1\n4,0\n", Some(Span::from_secs(2))).unwrap();
        assert_eq!((got.all.len(), got.end()), (1, Time::ZERO + Span::from_secs(2)));
        assert_eq!(got.notes, ["rows from 2 s on are left out: 2"]);
        assert!(of("t_s,loss\n0,0\n", None).unwrap_err().contains("--duration"));
    }

    #[test]
    fn bit_errors_become_losses_of_whole_packets() {
        let got = of("t_s,bit_error_rate\n0,8.34e-8\n", Some(Span::from_secs(1))).unwrap();
        assert!((got.all[0].loss - 0.001).abs() < 1e-6);
    }
}
