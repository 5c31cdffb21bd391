//! The retransmission timeout: smoothed round trip and its variation.
//!
//! Follows RFC 6298 §2, with alpha 1/8, beta 1/4 and K 4.
//! Differs: samples are rounded to the granularity, as a clock of that step would measure them.
//! Leaves out the variance correction for many samples per round trip (RFC 7323 appendix G).

use super::config::Config;
use skyhop_units::Span;

/// Smoothed round trip and its variation (RFC 6298 §2.2 and §2.3), for TCP and STP.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Smoothed(Option<(Span, Span)>);

impl Smoothed {
    pub fn add(&mut self, rtt: Span) {
        let rtt = rtt.as_nanos();
        let (srtt, rttvar) = match self.0 {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let (srtt, rttvar) = (srtt.as_nanos(), rttvar.as_nanos());
                ((7 * srtt + rtt) / 8, (3 * rttvar + srtt.abs_diff(rtt)) / 4)
            }
        };
        self.0 = Some((Span::from_nanos(srtt), Span::from_nanos(rttvar)));
    }

    /// Begins with what another connection has measured, varied by half of it as after a first sample.
    pub fn seed(&mut self, srtt: Span) {
        self.0.get_or_insert((srtt, srtt / 2));
    }

    /// SRTT.
    pub fn srtt(&self) -> Option<Span> {
        self.0.map(|(srtt, _)| srtt)
    }

    /// SRTT and what is to be added to it for a timeout: four times the variation, or `least` if that is more.
    pub fn patience(&self, least: Span) -> Option<Span> {
        self.0.map(|(srtt, rttvar)| srtt + (rttvar * 4).max(least))
    }
}

/// Smoothed round trip, timeout, and statistics of the samples.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    smoothed: Smoothed,
    backoff: u32,
    initial: Span,
    min: Span,
    max: Span,
    granularity: Span,
    pub samples: RttSamples,
}

/// Statistics of round-trip samples, before rounding.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RttSamples {
    /// Number of samples.
    pub count: u64,
    /// Their sum.
    pub sum: Span,
    /// The smallest.
    pub min: Option<Span>,
    /// The largest.
    pub max: Option<Span>,
}

impl RttSamples {
    /// Adds another connection's samples.
    pub fn merge(&mut self, other: RttSamples) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = [self.max, other.max].into_iter().flatten().max();
    }

    /// Adds a sample.
    pub(crate) fn add(&mut self, sample: Span) {
        self.count += 1;
        self.sum += sample;
        self.min = Some(self.min.map_or(sample, |m| m.min(sample)));
        self.max = Some(self.max.map_or(sample, |m| m.max(sample)));
    }
}

impl RttEstimator {
    pub fn new(config: &Config) -> Self {
        Self {
            smoothed: Smoothed::default(),
            backoff: 0,
            initial: config.rto_initial,
            min: config.rto_min,
            max: config.rto_max,
            granularity: config.rto_granularity,
            samples: RttSamples::default(),
        }
    }

    pub fn sample(&mut self, rtt: Span) {
        self.samples.add(rtt);
        let step = self.granularity.as_nanos().max(1);
        let rtt = ((rtt.as_nanos() + step / 2) / step).max(1) * step;
        self.smoothed.add(Span::from_nanos(rtt));
        self.backoff = 0;
    }

    /// Begins with another connection's smoothed round trip.
    pub fn seed(&mut self, srtt: Span) {
        self.smoothed.seed(srtt);
    }

    /// The smoothed round trip.
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed.srtt()
    }

    pub fn rto(&self) -> Span {
        let base = self.smoothed.patience(self.granularity).unwrap_or(self.initial);
        (base.max(self.min) * (1 << self.backoff)).min(self.max)
    }

    /// §5.5: the timer doubles at each timeout until a sample of new data arrives.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_follows_the_rules_of_rfc_6298() {
        let config = Config { rto_granularity: Span::from_millis(1), ..Config::default() };
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        // (2.2) first sample: SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
        rtt.sample(Span::from_millis(600));
        assert_eq!(rtt.rto(), Span::from_millis(1800));
        // (2.3) RTTVAR = 3/4 * 300 + 1/4 * 80 = 245, SRTT = 7/8 * 600 + 1/8 * 680 = 610.
        rtt.sample(Span::from_millis(680));
        assert_eq!(rtt.rto(), Span::from_millis(610 + 4 * 245));
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_millis(2 * 1590));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(60));
        // (2.4) the minimum, however short the path.
        let mut short = RttEstimator::new(&config);
        short.sample(Span::from_millis(20));
        assert_eq!(short.rto(), Span::from_secs(1));
    }
}
