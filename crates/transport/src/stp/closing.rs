//! The close of a connection: of each direction by an END, or of both at once.
//!
//! Follows docs/stp.md §5: the timer of the END, LINGER, and an END with another reason than 0.
//! Differs from TCP's TIME-WAIT: each end lingers, whichever of them has closed first.
//! Leaves out the answers to ENDs (`ending`) and the peer's silence (`timers`).

use super::ending::EndExchange;
use super::repeat_timer::RepeatTimer;
use skyhop_units::{Span, Time};
use skyhop_wire::stp::Reason;

#[derive(Debug, Default)]
pub(super) struct Closing {
    /// The ENDs of both directions, and their answers.
    pub ends: EndExchange,
    pub end_timer: RepeatTimer,
    /// True if the application writes no more.
    write_closed: bool,
    /// True if the connection has ended, or is broken.
    closed: bool,
    /// Reason that the peer is to be told.
    reset_due: Option<Reason>,
    linger_until: Option<Time>,
}

impl Closing {
    /// Returns true if the connection has ended, or is broken.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if both directions are closed and answered, and copies of the peer's END are still answered.
    pub fn lingers(&self) -> bool {
        self.ends.both() && !self.closed
    }

    /// Closes the sending direction.
    pub fn shutdown(&mut self) {
        self.write_closed = true;
    }

    /// Returns true if the application writes no more.
    pub fn is_shut_down(&self) -> bool {
        self.write_closed
    }

    /// Returns true if the application writes no more and all data have been sent, of which `unsent` bytes have not.
    pub fn all_sent(&self, unsent: u64) -> bool {
        self.write_closed && unsent == 0
    }

    /// Returns true if an END is to be sent.
    pub fn end_is_due(&self, unsent: u64) -> bool {
        self.all_sent(unsent) && !self.ends.acked && (self.ends.sent == 0 || self.end_timer.due)
    }

    /// Records an END that its timer repeats. Returns true if it is to carry an ENDAK.
    pub fn send_end(&mut self, now: Time, timeout: Span) -> bool {
        self.end_timer.start(now, timeout);
        self.ends.send()
    }

    /// Breaks the connection, and informs the peer if it is `known` to it.
    pub fn reset(&mut self, reason: Reason, known: bool) {
        if !self.closed {
            self.reset_due = known.then_some(reason);
            self.closed = true;
        }
    }

    /// Ends the connection without a word to the peer.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Takes the reason that the peer is to be told.
    pub fn take_reset(&mut self) -> Option<Reason> {
        self.reset_due.take()
    }

    /// Returns true if the peer is to be told a reason.
    pub fn reset_is_due(&self) -> bool {
        self.reset_due.is_some()
    }

    /// Handles a packet of the peer: LINGER begins again.
    pub fn heard(&mut self) {
        self.linger_until = None;
    }

    /// Begins LINGER, unless it has begun.
    pub fn linger(&mut self, until: Time) {
        self.linger_until.get_or_insert(until);
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.end_timer.handle_timeout(now, !self.ends.acked);
        self.closed |= self.linger_until.take_if(|at| *at <= now).is_some();
    }

    /// Times of the END's timer and of the end of LINGER.
    pub fn timeouts(&self) -> [Option<Time>; 2] {
        [self.end_timer.poll_timeout().filter(|_| !self.ends.acked), self.linger_until]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn an_end_follows_the_last_data_and_is_repeated_until_it_is_answered() {
        let mut closing = Closing::default();
        assert!(!closing.end_is_due(0));
        closing.shutdown();
        assert!(!closing.end_is_due(1) && closing.end_is_due(0));
        assert!(!closing.send_end(at(0), Span::from_millis(10)), "no END of the peer to answer");
        closing.handle_timeout(at(9));
        assert!(!closing.end_is_due(0));
        assert_eq!(closing.timeouts(), [Some(at(10)), None]);
        closing.handle_timeout(at(10));
        assert!(closing.end_is_due(0));
        closing.send_end(at(10), Span::from_millis(20));
        assert!(closing.ends.on_answer() && !closing.end_is_due(0));
        assert_eq!(closing.timeouts(), [None, None]);
    }

    #[test]
    fn a_connection_ends_once() {
        let mut closing = Closing::default();
        closing.reset(Reason::Aborted, true);
        closing.reset(Reason::Silent, true);
        assert!(closing.is_closed() && closing.reset_is_due());
        assert_eq!((closing.take_reset(), closing.take_reset()), (Some(Reason::Aborted), None));
        let mut ended = Closing::default();
        ended.close();
        ended.reset(Reason::Aborted, true);
        assert!(ended.is_closed() && !ended.reset_is_due(), "the peer has broken it");
        let mut unknown = Closing::default();
        unknown.reset(Reason::Aborted, false);
        assert!(unknown.is_closed() && !unknown.reset_is_due());
    }

    /// docs/stp.md §5: LINGER ends after a time in which the peer sends nothing.
    #[test]
    fn linger_begins_again_with_each_packet() {
        let mut closing = Closing::default();
        closing.ends.send();
        closing.ends.on_answer();
        assert!(!closing.lingers(), "the peer may still send");
        assert!(closing.ends.finish_peer(true) && closing.ends.take_answer() && closing.lingers());
        closing.linger(at(30));
        closing.linger(at(31));
        closing.handle_timeout(at(29));
        closing.heard();
        closing.linger(at(60));
        assert_eq!(closing.timeouts(), [None, Some(at(60))]);
        closing.handle_timeout(at(59));
        assert!(closing.lingers());
        closing.handle_timeout(at(60));
        assert!(closing.is_closed() && !closing.lingers());
    }
}
