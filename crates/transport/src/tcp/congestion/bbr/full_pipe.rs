//! Detection of a full pipe: three rounds without a quarter more of bandwidth.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3.1.2.
//! Differs from nothing there.
//! Leaves out what heavy losses say of it (§5.3.1.3), which is `bbr`'s.

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// The rate that has to be exceeded, bytes a second, and rounds that have not.
    bw: f64,
    count: u32,
    /// True if full by the measurements since the latest `begin`; `reached` if it ever was.
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    /// Rates from now on are held against `bw`.
    pub fn begin(&mut self, bw: f64) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }

    /// A round has begun with a sample of `rate` that the application did not limit.
    pub fn on_round(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= self.bw * GROWTH {
            return self.begin(rate);
        }
        self.count += 1;
        self.now = self.count >= ROUNDS;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let mut full = FullPipe::default();
        for (rate, count, now) in [(100.0, 0, false), (125.0, 0, false), (156.0, 1, false), (156.0, 2, false)]
        {
            full.on_round(rate);
            assert_eq!((full.count, full.now), (count, now), "{rate}");
        }
        // A quarter more than the last that grew begins the count again.
        full.on_round(156.25);
        assert_eq!((full.bw, full.count), (156.25, 0));
        for _ in 0..3 {
            full.on_round(100.0);
        }
        assert!(full.now && full.reached);
        full.begin(10.0);
        assert!(!full.now && full.reached);
    }
}
