//! The retransmission timer: its expiry, and the acknowledgments that measure its RTT.
//!
//! Follows RFC 6298 §3 (Karn's rule) and §5, RFC 7323 §4.1 (timestamps), Linux for timing every segment, and ns-2's agents where
//! they differ. Differs from a kernel: one segment per RTT is timed, except with RACK, which needs all.
//! Leaves out the estimate from the samples (`rtt`).

use super::config::{Config, LossRecovery};
use super::flight::Flight;
use super::rtt::RttEstimator;
use skyhop_units::{Span, Time};

/// The timer, and the segment that is timed.
#[derive(Debug)]
pub(crate) struct RetransmissionTimer {
    pub at: Option<Time>,
    pub rtt: RttEstimator,
    /// The segment being timed.
    pub timed: Option<Timed>,
    tick: Span,
}

impl RetransmissionTimer {
    pub fn new(config: &Config) -> Self {
        Self { at: None, rtt: RttEstimator::new(config), timed: None, tick: config.rto_tick }
    }

    /// §5.1: starts or restarts the timer.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        let rto = self.rtt.rto();
        self.at = Some(if self.tick == Span::ZERO { now + rto } else { self.tick_after(now, rto) });
    }

    /// The tick that ends a timeout of `rto`: the first one counts as a whole, as in 4.4BSD.
    #[cold]
    fn tick_after(&self, now: Time, rto: Span) -> Time {
        let tick = self.tick.as_nanos();
        Time::from_nanos((now.as_nanos() / tick + rto.as_nanos().div_ceil(tick)) * tick)
    }

    /// Starts the timer, if it does not run.
    #[inline]
    pub fn start(&mut self, now: Time) {
        if self.at.is_none() {
            self.restart(now);
        }
    }

    /// Restarts the timer, if it runs.
    pub fn put_off(&mut self, now: Time) {
        if self.at.is_some() {
            self.restart(now);
        }
    }

    /// §5.5 and §5.6: handles an expiry, and doubles the next timeout. Karn's rule: no segment is timed any more.
    pub fn back_off(&mut self, now: Time) {
        self.rtt.back_off();
        self.timed = None;
        self.restart(now);
    }

    /// Times a segment up to `end`, sent for the first time, if none is timed.
    #[inline]
    pub fn time(&mut self, now: Time, end: u64) {
        if self.timed.is_none() {
            self.timed = Some(Timed::new(end, now));
        }
    }

    /// Records that [start, end) is sent again: no segment is timed any more, or, as in ns-2, none but others.
    pub fn time_no_repeat(&mut self, how: LossRecovery, start: u64, end: u64) {
        use LossRecovery::*;
        self.timed = self
            .timed
            .filter(|_| matches!(how, Sack1 | Fack | Vegas))
            .and_then(|timed| timed.unless_sent_again(start, end))
            .map(|timed| Timed { in_repair: true, ..timed });
    }

    /// Defers the expiry until after `at`, if the timer runs: in Linux one timer also serves RACK's wait for late segments, which
    /// this one therefore does not shorten.
    pub fn defer(&mut self, at: Time) {
        self.at = self.at.map(|rto| rto.max(at + self.rtt.granularity));
    }

    /// The timed segment, if the arrival of all below `ack` ends its timing.
    #[inline]
    fn take_timed(&mut self, ack: u64) -> Option<Timed> {
        let timed = self.timed.filter(|timed| ack >= timed.end);
        if timed.is_some() {
            self.timed = None;
        }
        timed
    }

    /// Measures by an acknowledgment of everything below `ack`, before it moves `snd_una`; `sample` is the RTT by a timestamp, if
    /// there is one.
    pub fn measure(&mut self, now: Time, ack: u64, sample: Option<Span>, flight: &mut Flight) {
        let timed = self.take_timed(ack);
        let rack = flight.how == LossRecovery::Rack;
        if rack && flight.snd_una > 0 {
            return;
        }
        // Linux times the handshake by its own clock, of microseconds, unless the SYN was sent again (`tcp_synack_rtt_meas`). By
        // timestamps of milliseconds it would be shorter than any later RTT, which BBR's smallest RTT would keep for ten seconds.
        let own = timed.filter(|timed| rack && !timed.in_repair).map(|timed| now.since(timed.at));
        match (own.or(sample), timed) {
            (None, Some(Timed { at, in_repair: true, .. })) => {
                // For the timer only, and not reported as an RTT.
                self.rtt.smooth(now.since(at));
                self.rtt.reset_backoff();
            }
            _ => {
                let Some(rtt) = own.or(sample).or(timed.map(|timed| now.since(timed.at))) else { return };
                if flight.snd_una == 0 {
                    flight.segments.min_rtt = Some(rtt);
                }
                self.rtt.sample(rtt);
            }
        }
    }

    /// Adds the RTT of delivered data; for retransmitted data that of a timestamp, if one was `echoed`. In Linux the latter also
    /// counts for the smallest RTT and for congestion control (`tcp_ack_update_rtt`). Returns true if it was a sample.
    pub fn measure_delivery(&mut self, echoed: Option<Span>, flight: &mut Flight) -> bool {
        let rack = flight.how == LossRecovery::Rack;
        let segments = &mut flight.segments;
        segments.progress.echoed = echoed.filter(|_| rack && segments.progress.rtt().is_none());
        let measured = segments.progress.rtt().or(segments.progress.echoed);
        if let Some(rtt) = measured {
            segments.min_rtt = Some(segments.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let Some(rtt) = measured.filter(|_| rack) else { return false };
        // Each segment is timed: with one at a time, each retransmission would spoil the sample while the queue grows.
        self.rtt.sample(rtt);
        true
    }
}

/// A segment being timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    /// One past its last byte.
    pub end: u64,
    at: Time,
    /// True if another segment was retransmitted meanwhile, so that its age may include a repair.
    in_repair: bool,
}

impl Timed {
    pub fn new(end: u64, at: Time) -> Self {
        Self { end, at, in_repair: false }
    }

    /// The segment, unless [start, end), sent again, is part of it.
    pub fn unless_sent_again(self, start: u64, end: u64) -> Option<Self> {
        (self.end <= start || self.end > end).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 4.4BSD: a timer of n ticks is decremented at each, the next one included, so that it expires after n - 1 to n of them.
    #[test]
    fn a_timer_with_ticks_expires_at_one_of_them() {
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let tick = Span::from_millis(100);
        let config = Config { rto_tick: tick, rto_granularity: tick, rto_min: tick * 2, ..Config::default() };
        let mut timer = RetransmissionTimer::new(&config);
        let mut at = |now| {
            timer.restart(now);
            timer.at
        };
        assert_eq!(at(ms(50)), Some(ms(1000)), "ten ticks until the first sample");
        assert_eq!(at(ms(100)), Some(ms(1100)));
        assert_eq!(at(ms(199)), Some(ms(1100)));
        timer.back_off(ms(250));
        assert_eq!(timer.at, Some(ms(2200)), "twenty");
        for _ in 0..20 {
            timer.rtt.sample(Span::from_millis(20));
        }
        // SRTT and the least of four times its variation: a tick each.
        timer.restart(ms(330));
        assert_eq!(timer.at, Some(ms(500)));
        let mut exact = RetransmissionTimer::new(&Config { rto_tick: Span::ZERO, ..config });
        exact.restart(ms(50));
        assert_eq!(exact.at, Some(ms(1050)));
    }
}
