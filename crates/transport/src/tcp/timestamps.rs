//! The timestamps option: this end's clock in each segment, and the echo of the peer's.
//!
//! Follows RFC 7323 §4.1 (round trips), §4.3 (choice of the echo) and §5.4 (the clock).
//! Differs: the clock begins at 1, so that an echo of 0 means that there is none.
//! Leaves out PAWS (§5): a simulated sequence number is not reused while an old segment may arrive.

use skyhop_units::{Span, Time};
use skyhop_wire::Timestamps;

/// Longest RTT that an echo of this end's clock can show.
const LONGEST: Span = Span::from_secs(3600);

#[derive(Debug)]
pub(super) struct Timestamping {
    /// True if both ends have the option.
    pub on: bool,
    /// TS.Recent: the peer's clock, to be echoed.
    pub recent: u32,
    /// Last.ACK.sent of RFC 7323.
    pub last_ack_sent: u64,
}

impl Timestamping {
    pub fn new(on: bool) -> Self {
        Self { on, recent: 0, last_ack_sent: 0 }
    }

    /// §4.3: records the timestamp of a segment that contains the next byte to be acknowledged, or an earlier one; never an older
    /// timestamp.
    #[inline]
    pub fn take(&mut self, option: Option<Timestamps>, seq: u64) {
        if let Some(ts) = option
            && self.on
            && seq <= self.last_ack_sent
            && ts.value.wrapping_sub(self.recent) as i32 >= 0
        {
            self.recent = ts.value;
        }
    }

    /// §4.1: the RTT shown by an echo.
    #[inline]
    pub fn sample(&self, now: Time, option: Option<Timestamps>) -> Option<Span> {
        let ts = option.filter(|ts| self.on && ts.echo != 0)?;
        Some(Span::from_millis(clock(now).wrapping_sub(ts.echo) as u64)).filter(|rtt| *rtt < LONGEST)
    }

    /// Timestamps option of a segment.
    #[inline]
    pub fn option(&self, now: Time) -> Option<Timestamps> {
        self.on.then(|| Timestamps { value: clock(now), echo: self.recent })
    }
}

/// The clock, milliseconds from 1.
pub(super) fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7323 §4.3: a delayed acknowledgment echoes the first of its segments, one behind a gap the last that came in order.
    #[test]
    fn what_is_echoed_is_the_earliest_that_is_acknowledged() {
        let mut t = Timestamping::new(true);
        let ts = |value| Some(Timestamps { value, echo: 0 });
        t.last_ack_sent = 1;
        for (seq, value, recent) in [(1, 10, 10), (1001, 20, 10), (1, 9, 10), (1, 11, 11)] {
            t.take(ts(value), seq);
            assert_eq!(t.recent, recent, "{seq} {value}");
        }
        t.last_ack_sent = 2001;
        t.take(ts(30), 2001);
        assert_eq!(t.recent, 30);
        // The clock wraps.
        t.recent = u32::MAX;
        t.take(ts(3), 2001);
        assert_eq!(t.recent, 3);
        t.on = false;
        t.take(ts(40), 1);
        assert_eq!((t.recent, t.option(Time::ZERO)), (3, None));
    }

    #[test]
    fn an_echo_tells_the_round_trip_and_none_or_a_strange_one_nothing() {
        let t = Timestamping::new(true);
        let now = Time::ZERO + Span::from_millis(5000);
        let echo = |echo| t.sample(now, Some(Timestamps { value: 7, echo }));
        assert_eq!(t.option(now), Some(Timestamps { value: 5001, echo: 0 }));
        assert_eq!((echo(4401), echo(0), echo(5002)), (Some(Span::from_millis(600)), None, None));
        assert_eq!(t.sample(now, None), None);
    }
}
