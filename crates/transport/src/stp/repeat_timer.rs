//! The timer of a packet that is repeated until it is answered: a BGN or an END.
//!
//! Follows HT §5.1.1 and docs/stp.md §5: the timeout doubles with each repetition.
//! Differs from POLLs, which ask anew each time and are spread over a round trip (`timers`).
//! Leaves out the timeout, which depends on the path.

use skyhop_units::{Span, Time};

#[derive(Debug, Default)]
pub(super) struct RepeatTimer {
    at: Option<Time>,
    /// Number of times that it has expired since the last answer.
    pub backoff: u32,
    /// True if the packet is to be sent again.
    pub due: bool,
}

impl RepeatTimer {
    /// Starts with the packet's transmission.
    pub fn start(&mut self, now: Time, timeout: Span) {
        (self.due, self.at) = (false, Some(now + timeout));
    }

    /// Begins again with the first timeout: the peer answers.
    pub fn answered(&mut self) {
        self.backoff = 0;
    }

    /// Handles the expiry, if it is due. If the packet no longer `waits` for its answer, nothing is repeated.
    pub fn handle_timeout(&mut self, now: Time, waits: bool) {
        if self.at.take_if(|at| *at <= now).is_some() && waits {
            self.due = true;
            self.backoff += 1;
        }
    }

    /// Time of the expiry.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_packet_is_due_once_after_each_timeout() {
        let mut timer = RepeatTimer::default();
        timer.start(at(0), Span::from_millis(10));
        timer.handle_timeout(at(9), true);
        assert_eq!((timer.due, timer.poll_timeout()), (false, Some(at(10))));
        timer.handle_timeout(at(10), true);
        assert_eq!((timer.due, timer.backoff, timer.poll_timeout()), (true, 1, None));
        timer.handle_timeout(at(100), true);
        assert_eq!(timer.backoff, 1, "it has not been sent again");
        timer.start(at(100), Span::from_millis(20));
        timer.handle_timeout(at(120), true);
        assert_eq!((timer.due, timer.backoff), (true, 2));
        timer.answered();
        assert_eq!((timer.due, timer.backoff), (true, 0));
    }

    #[test]
    fn an_answered_packet_is_not_repeated() {
        let mut timer = RepeatTimer::default();
        timer.start(at(0), Span::from_millis(10));
        timer.handle_timeout(at(10), false);
        assert_eq!((timer.due, timer.backoff, timer.poll_timeout()), (false, 0, None));
    }
}
