//! The retransmission timer: its expiry, and the acknowledgments that measure its RTT.
//!
//! Follows RFC 6298 §3 (Karn's rule) and §5, RFC 7323 §4.1 (timestamps), Linux for timing every segment, and ns-2's agents where
//! they differ. Differs from a kernel: one segment per RTT is timed, except with RACK, which needs all.
//! Leaves out the estimate from the samples (`rtt`).

use super::config::{Config, LossRecovery};
use super::rtt::RttEstimator;
use super::sender::Sender;
use skyhop_units::{Span, Time};

/// The timer, and the segment that is timed.
#[derive(Debug)]
pub(crate) struct RetransmissionTimer {
    pub at: Option<Time>,
    pub rtt: RttEstimator,
    /// The segment being timed.
    pub timed: Option<Timed>,
}

impl RetransmissionTimer {
    pub fn new(config: &Config) -> Self {
        Self { at: None, rtt: RttEstimator::new(config), timed: None }
    }

    /// §5.1: starts or restarts the timer.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        self.at = Some(now + self.rtt.rto());
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

    /// The timed segment, if the arrival of all below `ack` ends its timing.
    #[inline]
    fn take_timed(&mut self, ack: u64) -> Option<Timed> {
        let timed = self.timed.filter(|timed| ack >= timed.end);
        if timed.is_some() {
            self.timed = None;
        }
        timed
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

impl Sender {
    /// Handles an acknowledgment of everything below `ack`; `sample` is the RTT by a timestamp, if there is one.
    pub(super) fn measure(&mut self, now: Time, ack: u64, sample: Option<Span>) {
        if self.flight.how == LossRecovery::Fack && self.fack_ages(now, ack) {
            return;
        }
        let timed = self.timer.take_timed(ack);
        if self.flight.how == LossRecovery::Rack && self.flight.snd_una > 0 {
            return;
        }
        match (sample, timed) {
            (None, Some(Timed { at, in_repair: true, .. })) => {
                // For the timer only, and not reported as an RTT.
                self.timer.rtt.smooth(now.since(at));
                self.timer.rtt.reset_backoff();
            }
            _ => {
                let Some(rtt) = sample.or(timed.map(|timed| now.since(timed.at))) else { return };
                if self.flight.snd_una == 0 {
                    self.flight.segments.min_rtt = Some(rtt);
                }
                self.timer.rtt.sample(rtt);
            }
        }
    }

    /// Adds the RTT of delivered data; for retransmitted data only that of a timestamp, if one was `echoed`.
    pub(super) fn note_rtt(&mut self, echoed: Option<Span>) {
        let measured = self.flight.segments.progress.rtt();
        if let Some(rtt) = measured {
            self.flight.segments.min_rtt = Some(self.flight.segments.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.flight.how == LossRecovery::Rack
            && let Some(rtt) = measured.or(echoed)
        {
            // Each segment is timed: with one at a time, each retransmission would spoil the sample while the queue grows.
            self.timer.rtt.sample(rtt);
            self.pipe.rack.measured = true;
        }
    }
}
