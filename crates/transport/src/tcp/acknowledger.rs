//! The time of an acknowledgment: at once, with every second segment, or when a timer expires.
//!
//! Follows RFC 5681 §4.2 and RFC 9293 §3.8.6.3; RFC 3449 §5.1.1 for fewer acknowledgments where they fill a queue.
//! Differs: the timer may also be a heartbeat, as in BSD, or follow the segments' intervals (`ato`).
//! Leaves out the contents of an acknowledgment (`receiver`).

use super::ato::Ato;
use super::config::{Config, DelayedAck};
use skyhop_units::{Span, Time};

#[derive(Debug)]
pub(crate) struct Acknowledger {
    policy: DelayedAck,
    /// State of adaptive delayed acknowledgments.
    pub ato: Option<Box<Ato>>,
    /// Number of in-order segments per acknowledgment: at present, and while acknowledgments are not marked.
    every: u32,
    usual: u32,
    /// Time of the latest change of `every`, and the round-trip time after which it falls by one.
    changed: Time,
    relax: Span,
    /// Time at which the acknowledgment rate was last halved.
    halved: Option<Time>,
    /// True if a segment that fills a gap is acknowledged at once.
    pub gap_fillers: bool,
    unacknowledged: u32,
    /// Acknowledgments into which one is divided, and those of them that are still to be sent.
    division: u32,
    parts: u32,
    /// Number of the latest acknowledgment.
    last: u64,
    /// True if an acknowledgment is due now.
    pub now: bool,
    /// Time at which a single segment is acknowledged.
    pub at: Option<Time>,
}

impl Acknowledger {
    pub fn new(config: &Config) -> Self {
        Self {
            policy: config.delayed_ack,
            ato: Ato::new(config),
            every: config.ack_every.max(1),
            usual: config.ack_every.max(1),
            changed: Time::ZERO,
            relax: Span::ZERO,
            halved: None,
            gap_fillers: config.ack_gap_fillers,
            unacknowledged: 0,
            division: config.ack_division.max(1),
            parts: 0,
            last: 0,
            now: false,
            at: None,
        }
    }

    /// Stops acknowledging.
    pub fn stop(&mut self) {
        (self.at, self.now) = (None, false);
    }

    /// Returns true if the adaptive policy wants a segment acknowledged at once.
    pub fn is_quick(&self) -> bool {
        self.ato.as_ref().is_some_and(|ato| ato.is_quick())
    }

    /// Handles a read of all arrived data by the application.
    pub fn read_all(&mut self) {
        if self.unacknowledged > 0 {
            self.now |= self.ato.as_ref().is_some_and(|ato| ato.is_end());
        }
    }

    /// Takes the sending half's timers, and true if the arriving segment was pushed.
    #[cold]
    pub fn know(&mut self, rto: Span, srtt: Option<Span>, pushed: bool) {
        if let Some(ato) = &mut self.ato {
            ato.know(rto, srtt, pushed);
        }
    }

    /// Handles the expiry of the timer for a single segment.
    pub fn stop_waiting(&mut self) {
        (self.at, self.now) = (None, true);
        if let Some(ato) = &mut self.ato {
            ato.on_missed();
        }
    }

    /// Number of the acknowledgment that leaves now, of bytes up to `next`: with data all of them, else those of the next part.
    #[inline]
    pub fn number(&mut self, next: u64, data: bool) -> u64 {
        if self.division > 1 { self.divide(next, data) } else { next }
    }

    #[cold]
    fn divide(&mut self, next: u64, data: bool) -> u64 {
        self.last = self.last.max(1);
        let fresh = next.saturating_sub(self.last);
        if data || fresh == 0 {
            (self.parts, self.last) = (0, next);
            return next;
        }
        if self.parts == 0 {
            self.parts = self.division.min(u32::try_from(fresh).unwrap_or(u32::MAX));
        }
        self.last += fresh / u64::from(self.parts);
        self.parts -= 1;
        self.last
    }

    /// Records an acknowledgment that was sent, with data or alone.
    pub fn acknowledged(&mut self, now: Time, data: bool) {
        if let Some(ato) = &mut self.ato {
            ato.on_sent(now, data, self.now || self.unacknowledged > 0);
        }
        (self.now, self.at, self.unacknowledged) = (self.parts > 0, None, 0);
    }

    /// Halves the acknowledgment rate after a mark on an acknowledgment, at most once in two round-trip times (RFC 3449 §5.1.1,
    /// after Balakrishnan); at least four acknowledgments remain for a receive window of `window` bytes.
    pub fn acknowledge_less(&mut self, now: Time, rtt: Option<Span>, window: u64, mss: u64) {
        let rtt = rtt.unwrap_or(Span::from_millis(500));
        // The echo continues until the sender has received it, for a round trip or more.
        if self.halved.is_some_and(|at| now.since(at) < rtt * 2) {
            return;
        }
        let most = (window / mss / 4).clamp(self.usual as u64, 1 << 16) as u32;
        self.every = (self.every * 2).min(most);
        (self.changed, self.relax, self.halved) = (now, rtt, Some(now));
    }

    /// Handles a segment in order, to be acknowledged `at_once`, with others, or by the timer.
    #[inline]
    pub fn delay(&mut self, now: Time, at_once: bool) {
        if self.every > self.usual && now.since(self.changed) >= self.relax {
            self.every -= 1;
            self.changed = now;
        }
        self.unacknowledged += 1;
        if at_once || self.unacknowledged >= self.every {
            self.now = true;
            return;
        }
        match self.policy {
            DelayedAck::None => self.now = true,
            // The first waiting segment starts the timer.
            DelayedAck::OneShot(timeout) => {
                self.at.get_or_insert(now + timeout);
            }
            DelayedAck::Heartbeat(period) => {
                let beat = period.as_nanos().max(1);
                self.at = Some(Time::from_nanos((now.as_nanos() / beat + 1) * beat));
            }
            DelayedAck::Adaptive { least, .. } => {
                let delay = self.ato.as_ref().and_then(|ato| ato.delay()).unwrap_or(least);
                match self.at {
                    // A timer that is about to expire is not waited for.
                    Some(at) if at <= now + delay / 4 => self.now = true,
                    Some(at) => self.at = Some(at.min(now + delay)),
                    None => self.at = Some(now + delay),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn acknowledger(delayed_ack: DelayedAck, ack_every: u32) -> Acknowledger {
        Acknowledger::new(&Config { delayed_ack, ack_every, ..Config::default() })
    }

    #[test]
    fn a_timer_of_one_shot_starts_with_the_first_that_waits() {
        let mut acks = acknowledger(DelayedAck::OneShot(Span::from_millis(200)), 3);
        acks.delay(at(30), false);
        acks.delay(at(60), false);
        assert_eq!((acks.now, acks.at), (false, Some(at(230))));
        acks.delay(at(90), false);
        assert!(acks.now);
        acks.acknowledged(at(90), false);
        assert_eq!((acks.now, acks.at), (false, None));
        acks.delay(at(100), true);
        assert_eq!((acks.now, acks.at), (true, None));
    }

    // HT 4.1.6: a segment of 1000 bytes in four acknowledgments, of 250 bytes each.
    #[test]
    fn an_acknowledgment_is_divided_into_parts_of_its_bytes() {
        let mut acks = Acknowledger::new(&Config { ack_division: 4, ..Config::default() });
        let mut sent = |next, data| {
            let number = acks.number(next, data);
            acks.acknowledged(at(0), data);
            (number, acks.now)
        };
        assert_eq!(sent(1, false), (1, false), "the SYN's");
        assert_eq!([0; 4].map(|_| sent(1001, false)), [(251, true), (501, true), (751, true), (1001, false)]);
        assert_eq!(sent(1001, false), (1001, false), "a duplicate goes once");
        assert_eq!(sent(2001, false), (1251, true));
        assert_eq!(sent(3001, true), (3001, false), "data acknowledge all at once");
        assert_eq!([0; 3].map(|_| sent(3004, false)), [(3002, true), (3003, true), (3004, false)]);
    }

    // RFC 3449 §5.1.1: doubled by a mark, at most once in two round-trip times, up to a quarter of the window; less by one each
    // round trip.
    #[test]
    fn marked_acknowledgments_become_half_as_many_and_slowly_as_many_again() {
        let rtt = Span::from_millis(100);
        let mut acks = acknowledger(DelayedAck::OneShot(Span::from_millis(200)), 2);
        for (ms, every) in [(0, 4), (150, 4), (200, 8), (400, 10), (600, 10)] {
            acks.acknowledge_less(at(ms), Some(rtt), 40_000, 1000);
            assert_eq!(acks.every, every, "at {ms} ms");
        }
        for (ms, every) in [(650, 10), (700, 9), (750, 9), (800, 8), (2000, 7)] {
            acks.delay(at(ms), false);
            assert_eq!(acks.every, every, "at {ms} ms");
        }
    }
}
