//! The retransmission timer: when it runs out, and which acknowledgments measure the round trip behind it.
//!
//! Follows RFC 6298 §3 (Karn's rule) and §5, RFC 7323 §4.1 (timestamps), Linux where every segment is timed; ns-2's agents where
//! they differ. Differs from a kernel: one segment a round trip is timed but for RACK, which needs each.
//! Leaves out what the samples become, which is `rtt`'s.

use super::config::{Config, LossRecovery};
use super::rtt::RttEstimator;
use super::sender::Sender;
use skyhop_units::{Span, Time};

/// The timer, and the segment that is timed for it.
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

    /// §5.1: runs from now on, whether it did or not.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        self.at = Some(now + self.rtt.rto());
    }

    /// Runs from now on, if it does not.
    #[inline]
    pub fn start(&mut self, now: Time) {
        if self.at.is_none() {
            self.restart(now);
        }
    }

    /// Runs from now on, if it does.
    pub fn put_off(&mut self, now: Time) {
        if self.at.is_some() {
            self.restart(now);
        }
    }

    /// §5.5 and §5.6: it has run out, and waits twice as long for the next time. Karn's rule: nothing is timed any more.
    pub fn back_off(&mut self, now: Time) {
        self.rtt.back_off();
        self.timed = None;
        self.restart(now);
    }

    /// A segment up to `end` has been sent for the first time: it is timed if none is.
    #[inline]
    pub fn time(&mut self, now: Time, end: u64) {
        if self.timed.is_none() {
            self.timed = Some(Timed::new(end, now));
        }
    }

    /// [start, end) is sent again: nothing is timed any more, or in ns-2's way nothing but other segments.
    pub fn time_no_repeat(&mut self, how: LossRecovery, start: u64, end: u64) {
        use LossRecovery::*;
        self.timed = self
            .timed
            .filter(|_| matches!(how, Sack1 | Fack | Vegas))
            .and_then(|timed| timed.unless_sent_again(start, end))
            .map(|timed| Timed { in_repair: true, ..timed });
    }

    /// The segment that is timed, if all below `ack` having arrived ends that.
    #[inline]
    fn take_timed(&mut self, ack: u64) -> Option<Timed> {
        let timed = self.timed.filter(|timed| ack >= timed.end);
        if timed.is_some() {
            self.timed = None;
        }
        timed
    }
}

/// The segment being timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    /// One past its last byte.
    pub end: u64,
    at: Time,
    /// Another segment was sent again meanwhile, so that its age may be that of a repair.
    in_repair: bool,
}

impl Timed {
    pub fn new(end: u64, at: Time) -> Self {
        Self { end, at, in_repair: false }
    }

    /// The same, if [start, end) sent again is not what is timed.
    pub fn unless_sent_again(self, start: u64, end: u64) -> Option<Self> {
        (self.end <= start || self.end > end).then_some(self)
    }
}

impl Sender {
    /// Everything below `ack` is acknowledged; `sample` is what a timestamp says, if there is one.
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
                // It is the timer's, and no round trip to be told.
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

    /// The round trip of what has been delivered; where that was sent twice only what a timestamp says, if one was `echoed`.
    pub(super) fn note_rtt(&mut self, echoed: Option<Span>) {
        let measured = self.flight.segments.progress.rtt();
        if let Some(rtt) = measured {
            self.flight.segments.min_rtt = Some(self.flight.segments.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.flight.how == LossRecovery::Rack
            && let Some(rtt) = measured.or(echoed)
        {
            // Each segment is timed: one at a time would be spoilt by each repeat, while the queue grows.
            self.timer.rtt.sample(rtt);
            self.pipe.rack.measured = true;
        }
    }
}
