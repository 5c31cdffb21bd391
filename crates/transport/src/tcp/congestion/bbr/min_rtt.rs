//! The smallest round-trip time of ten seconds, and the time of its next probe.
//!
//! Follows draft-ietf-ccwg-bbr-06 §5.3.4.3 (UpdateMinRTT).
//! Leaves out PROBE_RTT, which is a state of `bbr`.

use skyhop_units::{Span, Time};

const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);

#[derive(Debug)]
pub(super) struct MinRtt {
    pub min: Option<Span>,
    stamp: Time,
    /// Smallest sample since the last probe, and its time.
    probed: Option<Span>,
    probed_stamp: Time,
    /// True if it has not been seen again for five seconds.
    pub expired: bool,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { min: None, stamp: Time::ZERO, probed: None, probed_stamp: Time::ZERO, expired: false }
    }
}

impl MinRtt {
    /// Starts with the round-trip time of the handshake, if it is known.
    pub fn begin(&mut self, now: Time, rtt: Option<Span>) {
        (self.stamp, self.probed_stamp) = (now, now);
        if rtt.is_some() {
            (self.min, self.probed) = (rtt, rtt);
        }
    }

    /// Handles an acknowledgment, and its round-trip time if it has one.
    pub fn on_ack(&mut self, now: Time, rtt: Option<Span>) {
        self.expired = now > self.probed_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rtt
            && (self.expired || self.probed.is_none_or(|min| rtt < min))
        {
            (self.probed, self.probed_stamp) = (Some(rtt), now);
        }
        let expired = now > self.stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = self.probed
            && (expired || self.min.is_none_or(|min| delay < min))
        {
            (self.min, self.stamp) = (Some(delay), self.probed_stamp);
        }
    }

    /// Handles the end of PROBE_RTT.
    pub fn probed(&mut self, now: Time) {
        self.probed_stamp = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_forgotten_after_ten_seconds_and_missed_after_five() {
        let at = |s: f64| Time::ZERO + Span::from_secs_f64(s);
        let ms = Span::from_millis;
        let mut rtt = MinRtt::default();
        rtt.begin(at(0.0), Some(ms(100)));
        rtt.on_ack(at(1.0), Some(ms(120)));
        assert_eq!((rtt.min, rtt.expired), (Some(ms(100)), false));
        rtt.on_ack(at(2.0), Some(ms(90)));
        assert_eq!((rtt.min, rtt.expired), (Some(ms(90)), false));
        rtt.on_ack(at(7.0), Some(ms(110)));
        assert_eq!((rtt.min, rtt.expired), (Some(ms(90)), false));
        rtt.on_ack(at(7.1), Some(ms(110)));
        assert_eq!((rtt.min, rtt.expired), (Some(ms(90)), true));
        rtt.on_ack(at(12.0), Some(ms(130)));
        assert_eq!((rtt.min, rtt.expired), (Some(ms(90)), false));
        rtt.on_ack(at(12.05), Some(ms(130)));
        assert_eq!(rtt.min, Some(ms(110)));
    }
}
