//! Which acknowledgments measure a round trip, and of which segments.
//!
//! Follows Karn's rule (RFC 6298 §3), RFC 7323 §4.1 (timestamps), Linux where every segment is timed; ns-2's agents where they differ.
//! Differs from a kernel: one segment a round trip is timed but for RACK, which needs each.
//! Leaves out what the samples become, which is `rtt`'s.

use super::config::LossRecovery;
use super::sender::Sender;
use skyhop_units::{Span, Time};

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
    /// [start, end) is sent again: nothing is timed any more, or in ns-2's way nothing but other segments.
    pub(super) fn time_no_repeat(&mut self, start: u64, end: u64) {
        use LossRecovery::*;
        self.timed = self
            .timed
            .filter(|_| matches!(self.how, Sack1 | Fack | Vegas))
            .and_then(|timed| timed.unless_sent_again(start, end))
            .map(|timed| Timed { in_repair: true, ..timed });
    }

    /// Everything below `ack` is acknowledged; `sample` is what a timestamp says, if there is one.
    pub(super) fn measure(&mut self, now: Time, ack: u64, sample: Option<Span>) {
        if self.how == LossRecovery::Fack && self.fack_ages(now, ack) {
            return;
        }
        let timed = self.timed.filter(|timed| ack >= timed.end);
        if timed.is_some() {
            self.timed = None;
        }
        if self.how == LossRecovery::Rack && self.snd_una > 0 {
            return;
        }
        match (sample, timed) {
            (None, Some(Timed { at, in_repair: true, .. })) => {
                // It is the timer's, and no round trip to be told.
                self.rtt.smooth(now.since(at));
                self.rtt.reset_backoff();
            }
            _ => {
                let Some(rtt) = sample.or(timed.map(|timed| now.since(timed.at))) else { return };
                if self.snd_una == 0 {
                    self.segments.min_rtt = Some(rtt);
                }
                self.rtt.sample(rtt);
            }
        }
    }

    /// The round trip of what has been delivered; where that was sent twice only what a timestamp says, if one was `echoed`.
    pub(super) fn note_rtt(&mut self, echoed: Option<Span>) {
        let measured = self.segments.progress.rtt();
        if let Some(rtt) = measured {
            self.segments.min_rtt = Some(self.segments.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.how == LossRecovery::Rack
            && let Some(rtt) = measured.or(echoed)
        {
            // Each segment is timed: one at a time would be spoilt by each repeat, while the queue grows.
            self.rtt.sample(rtt);
            self.pipe.rack.measured = true;
        }
    }
}
