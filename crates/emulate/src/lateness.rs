//! Lateness of an emulator: a histogram of times in microseconds.
//!
//! Follows HdrHistogram's idea: buckets of equal relative width, here a thirty-second of a power of two, so that quantiles are
//! exact to 4 %.
//! Differs from it: below 64 us a bucket is a microsecond wide.
//! Leaves out the consequences of lateness (`verdict`).

use skyhop_units::Span;

/// Buckets for each power of two, and the power that this number is.
const SUB: u64 = 1 << SUB_POWER;
const SUB_POWER: u64 = 5;
const BUCKETS: usize = 1024;
/// Limit of a histogram without a limit.
const NONE: Span = Span::from_secs(u32::MAX as u64);

/// Counts of times by length.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    count: u64,
    sum_ns: u128,
    max: Span,
    /// Longest time within the limit, and the number of longer ones.
    limit: Span,
    beyond: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0, sum_ns: 0, max: Span::ZERO, limit: NONE, beyond: 0 }
    }
}

fn bucket(us: u64) -> usize {
    if us < SUB {
        return us as usize;
    }
    let power = 63 - us.leading_zeros() as u64;
    let place = (us >> (power - SUB_POWER)) - SUB;
    (((power - SUB_POWER + 1) * SUB + place) as usize).min(BUCKETS - 1)
}

/// First time beyond a bucket, us.
fn end_us(bucket: usize) -> u64 {
    let bucket = bucket as u64 + 1;
    if bucket <= SUB {
        return bucket;
    }
    let (power, place) = (bucket / SUB - 1, bucket % SUB);
    (SUB + place) << power
}

impl Histogram {
    /// A histogram that counts times beyond `limit` exactly.
    pub fn with_limit(limit: Span) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Exact number of times beyond the limit.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Adds a time, `times` times.
    pub fn add(&mut self, time: Span, times: u64) {
        self.counts[bucket(time.as_nanos() / 1000)] += times;
        self.count += times;
        self.beyond += if time > self.limit { times } else { 0 };
        self.sum_ns += u128::from(time.as_nanos()) * u128::from(times);
        self.max = self.max.max(time);
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Longest time.
    pub fn max(&self) -> Span {
        self.max
    }

    /// Mean, s; `None` if empty.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 * 1e-9)
    }

    /// The time that `share` of all do not exceed: the end of its bucket, but not more than the longest. `None` if empty.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.filter(|_| self.count > 0).map(|bucket| Span::from_micros(end_us(bucket)).min(self.max))
    }

    /// Buckets that are not empty: the first time beyond each, s, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let all = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        all.map(|(bucket, count)| (end_us(bucket) as f64 * 1e-6, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for us in 0..1_000_000 {
            let found = bucket(us);
            assert!(us < end_us(found), "{us} us lies in a bucket that ends at {}", end_us(found));
            assert!(found == 0 || us >= end_us(found - 1), "{us} us belongs to an earlier bucket");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_to_a_thirty_second() {
        let mut histogram = Histogram::default();
        for us in 1..=10_000 {
            histogram.add(Span::from_micros(us), 1);
        }
        for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let found = histogram.quantile(share).unwrap().as_secs_f64() * 1e6;
            let exact = share * 10_000.0;
            assert!(found >= exact && found <= exact * 1.04 + 1.0, "{share}: {found} us for {exact}");
        }
        assert_eq!(histogram.max(), Span::from_millis(10));
        assert!((histogram.mean_s().unwrap() - 5.0005e-3).abs() < 1e-9);
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(histogram.buckets().map(|(_, n)| n).sum::<u64>(), 10_000);
    }
}
