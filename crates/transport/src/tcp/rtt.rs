//! The retransmission timeout: smoothed RTT and its variation.
//!
//! Follows RFC 6298 §2, with alpha 1/8, beta 1/4 and K 4; or Linux 6.18 for the variation (`tcp_rtt_estimator`).
//! Differs: samples are rounded to the granularity, as a clock with such ticks would measure them.
//! Leaves out the variance correction for many samples per RTT (RFC 7323 appendix G).

use super::config::Config;
use skyhop_units::Span;

/// Smoothed RTT and its variation (RFC 6298 §2.2 and §2.3), for TCP and STP.
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

    /// Starts from another connection's measurement, with half of it as the variation, as after a first sample.
    pub fn seed(&mut self, srtt: Span) {
        self.0.get_or_insert((srtt, srtt / 2));
    }

    /// Smoothed RTT, SRTT.
    pub fn srtt(&self) -> Option<Span> {
        self.0.map(|(srtt, _)| srtt)
    }

    /// SRTT plus four times the variation, or plus `least` if that is more.
    pub fn patience(&self, least: Span) -> Option<Span> {
        self.0.map(|(srtt, rttvar)| srtt + (rttvar * 4).max(least))
    }
}

/// Four times the variation as in Linux: the largest of a round trip, never below a minimum.
#[derive(Debug, Clone)]
struct Variation {
    least: Span,
    /// Four times the mean deviation, its largest value in this round trip, and the timeout's excess over SRTT.
    mdev: Span,
    mdev_max: Span,
    rttvar: Span,
    /// The round trip ends when more than this is acknowledged.
    round_end: u64,
}

impl Variation {
    fn begin(&mut self, rtt: Span) {
        self.mdev = rtt * 2;
        self.rttvar = self.mdev.max(self.least);
        (self.mdev_max, self.round_end) = (self.rttvar, u64::MAX);
    }

    /// Adds a sample; `srtt` is SRTT before it.
    fn add(&mut self, rtt: Span, srtt: Span) {
        let (rtt, srtt, mdev) = (rtt.as_nanos() as i64, srtt.as_nanos() as i64, self.mdev.as_nanos() as i64);
        let mut change = (rtt - srtt).abs() - mdev / 4;
        if rtt < srtt && change > 0 {
            // An RTT that suddenly falls does not lengthen the timeout much.
            change /= 8;
        }
        self.mdev = Span::from_nanos((mdev + change).max(0) as u64);
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
    }

    /// Handles an acknowledgment of all below `una`; the next byte to send is `nxt`.
    fn acknowledged(&mut self, una: u64, nxt: u64) {
        if una > self.round_end {
            self.rttvar = self.rttvar - self.rttvar.saturating_sub(self.mdev_max) / 4;
            (self.round_end, self.mdev_max) = (nxt, self.least);
        } else if self.round_end == u64::MAX {
            self.round_end = nxt;
        }
    }
}

/// Smoothed RTT, timeout, and statistics of the samples.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    smoothed: Smoothed,
    variation: Option<Box<Variation>>,
    backoff: u32,
    initial: Span,
    min: Span,
    max: Span,
    pub granularity: Span,
    pub samples: RttSamples,
}

/// Statistics of RTT samples, before rounding.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RttSamples {
    /// Number of samples.
    pub count: u64,
    /// Sum of the samples.
    pub sum: Span,
    /// Smallest sample.
    pub min: Option<Span>,
    /// Largest sample.
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
            variation: (config.rto_variation_min > Span::ZERO).then(|| {
                let least = config.rto_variation_min;
                Box::new(Variation {
                    least,
                    mdev: least,
                    mdev_max: least,
                    rttvar: least,
                    round_end: u64::MAX,
                })
            }),
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
        self.smooth(rtt);
        self.reset_backoff();
    }

    /// Adds a time to the timeout's estimate that is no segment's RTT.
    pub fn smooth(&mut self, rtt: Span) {
        let step = self.granularity.as_nanos().max(1);
        let rtt = Span::from_nanos(((rtt.as_nanos() + step / 2) / step).max(1) * step);
        if let Some(variation) = &mut self.variation {
            match self.smoothed.srtt() {
                Some(srtt) => variation.add(rtt, srtt),
                None => variation.begin(rtt),
            }
        }
        self.smoothed.add(rtt);
    }

    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Handles an acknowledgment after its samples: all below `una` has arrived, and the next byte to send is `nxt`.
    #[inline]
    pub fn acknowledged(&mut self, una: u64, nxt: u64) {
        if let Some(variation) = &mut self.variation {
            variation.acknowledged(una, nxt);
        }
    }

    /// Starts from another connection's smoothed RTT.
    pub fn seed(&mut self, srtt: Span) {
        if let Some(variation) = &mut self.variation {
            variation.begin(srtt);
        }
        self.smoothed.seed(srtt);
    }

    /// Smoothed RTT.
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed.srtt()
    }

    pub fn rto(&self) -> Span {
        let base = match (&self.variation, self.smoothed.srtt()) {
            (Some(variation), Some(srtt)) => srtt + variation.rttvar,
            _ => self.smoothed.patience(self.granularity).unwrap_or(self.initial),
        };
        (base.max(self.min) * (1 << self.backoff)).min(self.max)
    }

    /// §5.5: doubles the timeout, until a sample of new data arrives.
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
        // (2.4) the minimum, for any shorter path.
        let mut short = RttEstimator::new(&config);
        short.sample(Span::from_millis(20));
        assert_eq!(short.rto(), Span::from_secs(1));
    }

    // tcp_rtt_estimator with tcp_rto_min 200 ms, by hand: m is 4 times the mean deviation; a sample of 640 over SRTT 600 changes m
    // by 40 - m/4; one of 560 by an eighth of that, if it is positive. The timeout exceeds SRTT by m's largest value in a round
    // trip, or by 200 ms.
    #[test]
    fn the_variation_is_kept_as_linux_keeps_it() {
        let ms = Span::from_millis;
        let config = Config {
            rto_granularity: ms(1),
            rto_variation_min: ms(200),
            rto_min: ms(200),
            ..Config::default()
        };
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        // m = 2 R = 1200: SRTT + 2 R, as in the RFC.
        rtt.sample(ms(600));
        rtt.acknowledged(1, 100);
        assert_eq!(rtt.rto(), ms(1800));
        let mut m = 1200.0;
        for una in 2..100 {
            rtt.sample(ms(600));
            rtt.acknowledged(una, 100);
            m *= 0.75;
        }
        // The first round lasts until more than 100 is acknowledged, and its initial value is its largest.
        assert_eq!((rtt.rto(), m < 1.0), (ms(1800), true));
        // From round to round the excess over the largest value of the round, or over 200 ms, falls by a quarter.
        let mut above: f64 = 1200.0;
        for round in 1..20u64 {
            rtt.sample(ms(600));
            rtt.acknowledged(round * 100 + 1, round * 100 + 100);
            let largest = if round == 1 { 1200.0 } else { 200.0 };
            above -= (above - largest) / 4.0;
            let rto = rtt.rto().as_secs_f64() * 1e3;
            assert!((rto - 600.0 - above).abs() < 0.01, "round {round}: {rto} and {above}");
        }
        // The limit: SRTT + 200 ms, however little RTTs vary.
        for round in 20..60u64 {
            rtt.sample(ms(600));
            rtt.acknowledged(round * 100 + 1, round * 100 + 100);
        }
        let rto = rtt.rto().as_secs_f64() * 1e3;
        assert!((800.0..800.1).contains(&rto), "{rto}");
        // A step up by 600 ms counts at once: m = 600, SRTT = 675. Down: 1/8 of (525 + 75 - 150) more, so not above the value
        // before.
        rtt.sample(ms(1200));
        let rto = rtt.rto().as_secs_f64() * 1e3;
        assert!((1274.9..1275.1).contains(&rto), "{rto}");
        rtt.sample(ms(75));
        // m = 600 + (600 - 150) / 8 = 656.25, SRTT = 600.
        let rto = rtt.rto().as_secs_f64() * 1e3;
        assert!((1256.1..1256.4).contains(&rto), "{rto}");
    }
}
