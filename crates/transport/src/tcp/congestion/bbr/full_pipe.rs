//! Detection of a full pipe: three rounds in which the bandwidth grows by less than a quarter.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3.1.2.
//! Leaves out detection by heavy losses (§5.3.1.3), which is in `bbr`.

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Rate that must be exceeded, bytes per second, and the number of rounds that have not.
    bw: f64,
    count: u32,
    /// `now` is true if the pipe is full by measurements since the latest `begin`; `reached` if it ever was.
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    /// Starts comparing rates with `bw`.
    pub fn begin(&mut self, bw: f64) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }

    /// Handles the start of a round with a sample of `rate` that the application did not limit.
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
        // Growth by a quarter restarts the count.
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
