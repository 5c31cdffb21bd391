//! HyStart, as in Linux's CUBIC: ends slow start before the queue overflows.
//!
//! Follows Ha and Rhee (2011) in the form of Linux 6.18: `cubictcp_acked`, `hystart_update`, `hystart_ack_delay`.
//! Differs: nanoseconds and not microseconds.
//! Leaves out the rule that ignores samples in the second after a recovery, since slow start does not follow one.

use super::{Acked, Window};
use skyhop_units::{Span, Time};

/// Window, in segments, below which slow start is not ended.
const LOW_WINDOW: f64 = 16.0;
/// Largest interval between acknowledgments of a train.
const ACK_DELTA: Span = Span::from_millis(2);
const MIN_SAMPLES: u32 = 8;
const DELAY_MIN: Span = Span::from_millis(4);
const DELAY_MAX: Span = Span::from_millis(16);
/// Largest time by which offloading delays packets: four of its largest at the sending rate, at most a millisecond.
const OFFLOADED: f64 = 4.0 * 65_536.0;
const OFFLOAD_MAX: Span = Span::from_millis(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct AckTrain {
    paced: bool,
    found: bool,
    delay_min: Option<Span>,
    /// The round trip ends when more than this is acknowledged; then its start, and the latest acknowledgment of its train.
    round_end: u64,
    round_start: Time,
    last_ack: Time,
    /// Smallest sample of the round trip, and the number of samples, up to the number needed.
    rtt: Option<Span>,
    samples: u32,
}

impl AckTrain {
    pub fn new(paced: bool) -> Self {
        Self { paced, ..Self::default() }
    }

    /// Starts again after a timeout.
    pub fn reset(&mut self) {
        *self = Self { round_end: self.round_end, ..Self::new(self.paced) };
    }

    /// Handles an acknowledgment with its round-trip time, in slow start or not. Sets ssthresh when slow start ends.
    #[inline(never)]
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let Some(rtt) = acked.rtt else { return };
        let delay_min = self.delay_min.map_or(rtt, |min| min.min(rtt));
        self.delay_min = Some(delay_min);
        if self.found || !window.slow_start() {
            return;
        }
        if acked.una > self.round_end {
            (self.round_end, self.round_start, self.last_ack) = (acked.next, acked.now, acked.now);
            (self.rtt, self.samples) = (None, 0);
        }
        if window.cwnd < LOW_WINDOW * window.mss {
            return;
        }
        if acked.now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = acked.now;
            let mut longest = delay_min + self.offload_delay(window, acked);
            if !self.paced {
                longest = longest / 2;
            }
            self.found |= acked.now.since(self.round_start) > longest;
        }
        let smallest = self.rtt.map_or(rtt, |min| min.min(rtt));
        self.rtt = Some(smallest);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            self.found |= smallest > delay_min + (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX);
        }
        if self.found {
            window.ssthresh = window.cwnd as u64;
        }
    }

    /// Delay by offloading. In slow start the kernel's rate is two windows per round-trip time, even without pacing.
    fn offload_delay(&self, window: &Window, acked: &Acked) -> Span {
        let Some(srtt) = acked.srtt else { return Span::ZERO };
        let rate = 2.0 * window.cwnd / srtt.as_secs_f64().max(1e-9);
        Span::from_secs_f64(OFFLOADED / rate).min(OFFLOAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::tests::{acked, window};

    const US: u64 = 1_000;

    /// A round of acknowledgments of a segment each, `gap_us` apart from `from_us` on, with round-trip times given by `rtt_us`.
    /// Returns the number of acknowledgments after which slow start had ended.
    fn round(
        t: &mut AckTrain,
        w: &mut Window,
        from_us: u64,
        n: u64,
        gap_us: u64,
        rtt_us: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let una = t.round_end;
        for i in 0..n {
            let mut a = acked(1000, 1);
            a.now = Time::from_nanos((from_us + i * gap_us) * US);
            a.rtt = Some(Span::from_nanos(rtt_us(i) * US));
            a.srtt = a.rtt;
            (a.una, a.next) = (una + 1 + i, una + 1 + n);
            t.on_ack(w, &a);
            if !w.slow_start() {
                return Some(i + 1);
            }
        }
        None
    }

    // hystart_update, the train: with 100 ms, and a millisecond for offloading at 40 segments (262,144 bytes at 800,000 bytes/s
    // would be more), the limit is 50.5 ms; with pacing 101 ms. Gaps of 2 ms belong to it, longer ones do not.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        for (paced, gap_us, n, expected) in [
            (false, 1_000, 100, Some(52)),
            (false, 2_000, 100, Some(27)),
            (false, 2_001, 100, None),
            (true, 1_000, 101, None),
            (true, 1_000, 110, Some(103)),
        ] {
            let (mut t, mut w) = (AckTrain::new(paced), window(40_000));
            let over = round(&mut t, &mut w, 1_000_000, n, gap_us, |_| 100_000);
            assert_eq!(over, expected, "{paced} {gap_us} us");
            if over.is_some() {
                assert_eq!(w.ssthresh, 40_000);
            }
        }
        // Half a millisecond at a rate of 524 MB/s: 100 ms of two windows of 26.2 MB.
        let (mut t, mut w) = (AckTrain::new(false), window(26_214_400));
        assert_eq!(round(&mut t, &mut w, 1_000_000, 3_000, 50, |_| 100_000), Some(1 + 50_250 / 50 + 1));
    }

    // The delay: from the ninth sample of a round trip on, if its smallest is above the smallest of all by more than an eighth,
    // limited to 4 to 16 ms.
    #[test]
    fn round_trips_that_grow_end_slow_start() {
        for (base, more, expected) in [
            (100_000, 12_500, None),
            (100_000, 12_501, Some(9)),
            (10_000, 4_000, None),
            (10_000, 4_001, Some(9)),
            (600_000, 16_000, None),
            (600_000, 16_001, Some(9)),
        ] {
            let (mut t, mut w) = (AckTrain::new(false), window(40_000));
            assert_eq!(round(&mut t, &mut w, 1_000_000, 20, 3_000, |_| base), None);
            assert_eq!(
                round(&mut t, &mut w, 2_000_000, 20, 3_000, |_| base + more),
                expected,
                "{base} and {more}"
            );
        }
        // One small sample of the round trip suffices to continue, even a late one.
        let (mut t, mut w) = (AckTrain::new(false), window(40_000));
        round(&mut t, &mut w, 1_000_000, 20, 3_000, |_| 100_000);
        assert_eq!(
            round(&mut t, &mut w, 2_000_000, 20, 3_000, |i| if i == 8 { 101_000 } else { 150_000 }),
            None
        );
    }

    #[test]
    fn nothing_is_found_in_a_small_window_and_a_timeout_begins_again() {
        let (mut t, mut w) = (AckTrain::new(false), window(15_999));
        assert_eq!(round(&mut t, &mut w, 1_000_000, 100, 1_000, |_| 100_000), None);
        w.cwnd = 16_000.0;
        assert_eq!(round(&mut t, &mut w, 2_000_000, 100, 1_000, |_| 100_000), Some(52));
        w.ssthresh = u64::MAX;
        assert_eq!(round(&mut t, &mut w, 3_000_000, 100, 1_000, |_| 100_000), None, "found once");
        t.reset();
        assert_eq!(
            round(&mut t, &mut w, 4_000_000, 200, 1_000, |_| 300_000),
            Some(152),
            "and the delay is a new one"
        );
    }
}
