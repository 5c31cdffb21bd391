//! Events of a connection for its application, in order.
//!
//! Follows docs/stp.md §5 for the ends of the directions.
//! Differs from TCP's: a connection that a peer or a silence has broken says why.
//! Leaves out the data, which the application reads from the connection.

use skyhop_wire::stp::Reason;
use std::collections::VecDeque;

/// Events for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered, or a BGN has arrived.
    Connected,
    /// Number of bytes that have come into order since the last event of this kind.
    Received(u64),
    /// Everything written so far has been acknowledged.
    AllAcknowledged,
    /// All data of the peer have arrived in order; no more will follow.
    PeerFinished,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The connection is broken: by a packet of the peer, or by its silence.
    Reset(Reason),
}

/// Events that the application has not taken.
#[derive(Debug)]
pub(super) struct EventQueue {
    events: VecDeque<Event>,
    /// True if the arrival of all data written so far has been reported.
    reported_all: bool,
    /// True if the end of both directions has been reported.
    reported_closed: bool,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self { events: VecDeque::new(), reported_all: true, reported_closed: false }
    }
}

impl EventQueue {
    pub fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Reports bytes that have come into order; they add to those that the application has not been informed of.
    pub fn received(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        match self.events.back_mut() {
            Some(Event::Received(before)) => *before += bytes,
            _ => self.events.push_back(Event::Received(bytes)),
        }
    }

    /// Records that data were written, whose arrival is to be reported.
    pub fn written(&mut self) {
        self.reported_all = false;
    }

    /// Reports, once after each write, that all data have arrived.
    pub fn acknowledged_all(&mut self) {
        if !std::mem::replace(&mut self.reported_all, true) {
            self.events.push_back(Event::AllAcknowledged);
        }
    }

    /// Reports, once, that both directions are closed.
    pub fn closed(&mut self) {
        if !std::mem::replace(&mut self.reported_closed, true) {
            self.events.push_back(Event::Closed);
        }
    }

    /// The next event.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(events: &mut EventQueue) -> Vec<Event> {
        std::iter::from_fn(|| events.poll()).collect()
    }

    #[test]
    fn bytes_add_up_until_another_event_follows() {
        let mut events = EventQueue::default();
        for bytes in [0, 100, 20, 0] {
            events.received(bytes);
        }
        events.push(Event::PeerFinished);
        events.received(3);
        assert_eq!(all(&mut events), [Event::Received(120), Event::PeerFinished, Event::Received(3)]);
        events.received(4);
        assert_eq!(all(&mut events), [Event::Received(4)], "what was taken is not reported again");
    }

    #[test]
    fn arrival_is_reported_once_after_each_write_and_the_end_once() {
        let mut events = EventQueue::default();
        events.acknowledged_all();
        assert_eq!(all(&mut events), [], "nothing has been written");
        for _ in 0..2 {
            events.written();
            events.written();
            events.acknowledged_all();
            events.acknowledged_all();
            assert_eq!(all(&mut events), [Event::AllAcknowledged]);
        }
        events.closed();
        events.closed();
        assert_eq!(all(&mut events), [Event::Closed]);
    }
}
