//! Adaptive delayed acknowledgments: at once at the start, later after a time that adapts to the spacing of segments.
//!
//! Follows Linux 6.18: `tcp_event_data_recv`, `tcp_incr_quickack`, `tcp_cleanup_rbuf`, `tcp_send_delayed_ack`,
//! `tcp_delack_timer_handler`.
//! Differs: every second segment is acknowledged by their number (`ack_every`) and not by their bytes.
//! Leaves out compressed SACKs (at most a millisecond for several segments out of order), and offloading.

use super::config::{Config, DelayedAck};
use skyhop_units::{Span, Time};

/// Smallest delay that is distinguished (TCP_ATO_MIN); also the initial one if the configuration has none.
const ATO_MIN: Span = Span::from_millis(40);

/// The acknowledgment timeout, and the number of immediate acknowledgments.
#[derive(Debug, Clone)]
pub(crate) struct Ato {
    /// Shortest and longest delay; `None` if another policy decides how long a single segment waits.
    bounds: Option<(Span, Span)>,
    /// Largest number of immediate acknowledgments in a row.
    most_quick: u32,
    /// The timeout, after the first data; and the arrival of the latest data.
    ato: Option<Span>,
    last_data: Time,
    /// Immediate acknowledgments left, unless this end answers data with data.
    quick: u32,
    answers: bool,
    /// Payload of the largest segment.
    largest: u64,
    /// Number of segments since the last acknowledgment that ended a message (pushed or short), and true if the latest was pushed.
    ends: u32,
    pushed: bool,
    /// The sending half's retransmission timeout and smoothed round-trip time.
    rto: Span,
    srtt: Option<Span>,
}

impl Ato {
    /// `None` if nothing adapts.
    pub fn new(config: &Config) -> Option<Box<Self>> {
        let bounds = match config.delayed_ack {
            DelayedAck::Adaptive { least, most } => Some((least, most)),
            _ => None,
        };
        (bounds.is_some() || config.quick_acks > 0).then(|| {
            Box::new(Self {
                bounds,
                most_quick: config.quick_acks,
                ato: None,
                last_data: Time::ZERO,
                quick: 0,
                answers: false,
                largest: 1,
                ends: 0,
                pushed: false,
                rto: config.rto_initial,
                srtt: None,
            })
        })
    }

    fn least(&self) -> Span {
        self.bounds.map_or(ATO_MIN, |(least, _)| least)
    }

    /// Takes the sending half's timers, and true if the arriving segment was pushed.
    pub fn know(&mut self, rto: Span, srtt: Option<Span>, pushed: bool) {
        (self.rto, self.srtt, self.pushed) = (rto, srtt, pushed);
    }

    /// Handles a segment of `len` bytes in order; `window` is the announced window.
    pub fn on_data(&mut self, now: Time, len: u64, window: u64) {
        self.largest = self.largest.max(len);
        self.ends += (self.pushed || len < self.largest) as u32;
        let least = self.least();
        match self.ato {
            None => {
                self.quicken(window);
                self.ato = Some(least);
            }
            Some(ato) => {
                let interval = now.since(self.last_data);
                if interval <= least / 2 {
                    self.ato = Some(ato / 2 + least / 2);
                } else if interval < ato {
                    self.ato = Some((ato / 2 + interval).min(self.rto));
                } else if interval > self.rto {
                    // The sender restarts with a small window.
                    self.quicken(window);
                }
            }
        }
        self.last_data = now;
    }

    fn quicken(&mut self, window: u64) {
        let half = (window / (2 * self.largest)).max(2);
        self.quick = self.quick.max(half.min(self.most_quick as u64) as u32);
    }

    /// Handles a segment without new data: the sender has missed acknowledgments.
    pub fn on_duplicate(&mut self, window: u64) {
        if self.most_quick > 0 {
            self.quicken(window);
            (self.answers, self.ato) = (false, Some(self.least()));
        }
    }

    /// Handles a segment that let the window grow, or after which little of it is left.
    pub fn on_window(&mut self, grew: bool, scarce: bool) {
        if scarce {
            self.quick = 0;
        } else if grew && self.most_quick > 0 {
            self.quick |= 1;
        }
    }

    /// Returns true if a read of all data acknowledges them at once, since no more are expected soon (`tcp_cleanup_rbuf`).
    pub fn is_end(&self) -> bool {
        self.bounds.is_some() && self.ends > self.answers as u32
    }

    /// Returns true if a segment is acknowledged without delay.
    pub fn is_quick(&self) -> bool {
        self.quick > 0 && !self.answers
    }

    /// Delay of a single segment's acknowledgment, if this policy decides it.
    pub fn delay(&self) -> Option<Span> {
        let (least, most) = self.bounds?;
        let mut delay = self.ato.unwrap_or(least);
        if delay > least {
            // At most a round-trip time.
            delay = delay.min(self.srtt.map_or(most, |srtt| srtt.max(least)));
        }
        Some(delay.min(most))
    }

    /// Handles a delay in which no data was sent that could have carried the acknowledgment.
    pub fn on_missed(&mut self) {
        self.ato = Some(if self.answers {
            self.least()
        } else {
            (self.ato.unwrap_or(self.least()) * 2).min(self.rto)
        });
        self.answers = false;
    }

    /// Records an acknowledgment that was sent, with `data` or alone; `due` if there was something to acknowledge.
    pub fn on_sent(&mut self, now: Time, data: bool, due: bool) {
        self.ends = 0;
        if due && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = Some(self.least());
            }
        }
        // Data soon after data are an answer: the next acknowledgment may be carried by one, too.
        if data && self.ato.is_some_and(|ato| now.since(self.last_data) < ato) {
            self.answers = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn ato(quick_acks: u32) -> Ato {
        let delayed_ack = DelayedAck::Adaptive { least: ms(40), most: ms(200) };
        *Ato::new(&Config { delayed_ack, quick_acks, ..Config::default() }).unwrap()
    }

    // tcp_event_data_recv with TCP_ATO_MIN 40 ms: the first segment sets 40 ms; an interval of at most 20 ms gives ato/2 + 20 ms; one
    // below ato gives ato/2 + interval; a longer one leaves it. The delay is at most a round trip and 200 ms.
    #[test]
    fn the_timeout_follows_the_intervals_of_segments() {
        let mut a = ato(0);
        let mut now = 1000;
        a.on_data(at(now), 1460, 64_000);
        assert_eq!(a.delay(), Some(ms(40)));
        for (interval, expected) in
            [(30, 50), (45, 70), (60, 95), (90, 137), (130, 198), (190, 289), (10, 164)]
        {
            now += interval;
            a.on_data(at(now), 1460, 64_000);
            assert_eq!(a.ato.unwrap().as_nanos() / MS, expected, "after {interval} ms");
        }
        // 300 ms is neither an interval between segments nor, with a timeout of 1 s, an idle time.
        now += 300;
        a.on_data(at(now), 1460, 64_000);
        assert_eq!((a.ato.unwrap().as_nanos() / MS, a.quick), (164, 0));
        assert_eq!(a.delay().unwrap().as_nanos() / MS, 164);
        a.know(ms(300), Some(ms(100)), false);
        assert_eq!(a.delay(), Some(ms(100)));
        a.know(ms(300), Some(ms(10)), false);
        assert_eq!(a.delay(), Some(ms(40)));
        // The timer has expired: twice as long, up to the timeout of the other direction; but never above 200 ms.
        a.know(ms(300), None, false);
        a.on_missed();
        assert_eq!((a.ato, a.delay()), (Some(ms(300)), Some(ms(200))));
    }

    // tcp_incr_quickack: rcv_wnd / (2 rcv_mss) segments, from 2 to 16; again after an idle time of more than a timeout.
    #[test]
    fn acknowledgments_are_quick_at_the_start_and_after_a_silence() {
        for (window, expected) in [(64_240, 16), (29_200, 10), (4_000, 2)] {
            let mut a = ato(16);
            let mut quick = 0;
            for n in 0..40 {
                a.on_data(at(1000 + n), 1460, window);
                quick += a.is_quick() as u32;
                a.on_sent(at(1000 + n), false, true);
            }
            assert_eq!(quick, expected, "{window}");
            a.know(ms(250), None, false);
            a.on_data(at(1039 + 250), 1460, window);
            assert!(!a.is_quick(), "250 ms are not more than a timeout");
            a.on_data(at(1039 + 250 + 251), 1460, window);
            assert_eq!(a.quick, expected);
        }
        assert!(!ato(0).is_quick());
    }

    // tcp_cleanup_rbuf: a pushed or a short segment, read at once, is acknowledged at once; by an end that answers the second of them.
    #[test]
    fn what_ends_a_message_does_not_wait() {
        let mut a = ato(0);
        let end = |a: &mut Ato, len, pushed| {
            a.know(ms(1000), None, pushed);
            a.on_data(at(1000), len, 64_240);
            a.is_end()
        };
        assert!(!end(&mut a, 1460, false));
        assert!(end(&mut a, 1460, true));
        a.on_sent(at(1000), true, true);
        assert!(!end(&mut a, 1459, false) && end(&mut a, 1459, false));
        a.bounds = None;
        assert!(!a.is_end());
    }

    // tcp_enter_quickack_mode, and inet_csk_in_pingpong_mode: an end that answers waits for an answer to carry the acknowledgment.
    #[test]
    fn an_end_that_answers_waits_and_a_duplicate_makes_it_quick_again() {
        let mut a = ato(16);
        a.on_data(at(1000), 200, 64_240);
        assert!(a.is_quick());
        a.on_sent(at(1039), true, true);
        assert!(!a.is_quick());
        a.on_duplicate(64_240);
        assert!(a.is_quick());
        // Data 40 ms later are no answer.
        let mut late = ato(16);
        late.on_data(at(1000), 200, 64_240);
        late.on_sent(at(1040), true, true);
        assert!(late.is_quick());
        // It waited in vain: it no longer counts as an end that answers.
        a.on_sent(at(1001), true, true);
        a.on_missed();
        assert_eq!((a.is_quick(), a.ato), (true, Some(ms(40))));
    }
}
