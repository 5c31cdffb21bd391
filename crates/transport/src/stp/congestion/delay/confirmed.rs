//! Rates that the path has been seen to carry: the last, and the highest of late.
//!
//! Follows docs/stp.md §8.3 rules 6 and 9: the highest of the last 30 s is tried again if the path's rate seems to have returned.
//! Leaves out what confirms a rate (`delay`, `climb`).

use skyhop_units::{Span, Time};

/// Time for which the highest rate is remembered.
const MEMORY: Span = Span::from_secs(30);

/// Rates in network-layer bytes per second, zero while there is none.
#[derive(Debug, Default)]
pub(super) struct ConfirmedRates {
    rate: f64,
    highest: f64,
    highest_at: Time,
    ever: f64,
}

impl ConfirmedRates {
    /// The rate that arrived without a queue, or less if the path was seen to carry less since.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The highest rate that was confirmed within [`MEMORY`], or the last one.
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// The highest rate that was confirmed at any time.
    pub fn ever(&self) -> f64 {
        self.ever
    }

    /// Confirms a rate.
    pub fn confirm(&mut self, now: Time, rate: f64) {
        self.rate = self.rate.max(rate);
        if rate >= self.highest || now.since(self.highest_at) > MEMORY {
            self.remember(now, rate);
        }
    }

    /// Replaces the rate by what the path carries now.
    pub fn replace(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Lowers the rate: the path was seen to carry no more.
    pub fn lower(&mut self, rate: f64) {
        self.rate = self.rate.min(rate);
    }

    /// Replaces the highest rate by one that is to be tried again.
    pub fn remember(&mut self, now: Time, rate: f64) {
        (self.highest, self.highest_at) = (rate, now);
        self.ever = self.ever.max(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_remembered_for_thirty_seconds() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut rates = ConfirmedRates::default();
        rates.confirm(at(1), 100.0);
        rates.confirm(at(20), 50.0);
        rates.lower(10.0);
        assert_eq!((rates.rate(), rates.highest()), (10.0, 100.0));
        rates.confirm(at(31), 50.0);
        assert_eq!((rates.rate(), rates.highest()), (50.0, 100.0));
        rates.confirm(at(32), 40.0);
        assert_eq!((rates.rate(), rates.highest()), (50.0, 40.0));
        assert_eq!(rates.ever(), 100.0);
    }
}
