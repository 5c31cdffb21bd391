//! The events of a connection for its application.
//!
//! Follows the interface of RFC 9293 §3.9.1 to the user of a connection.
//! Differs: data that arrive before the application asks are one event.
//! Leaves out the data themselves, which the application reads from the connection.

use std::collections::VecDeque;

/// Events for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// Number of bytes that have come into order since the last event of this kind.
    Received(u64),
    /// All data written so far have been acknowledged.
    AllAcknowledged,
    /// The peer has closed its direction; no more data will arrive.
    PeerFinished,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The peer has refused or reset the connection.
    Reset,
}

/// Events that the application has not taken. That all data are acknowledged is told once after each write.
#[derive(Debug, Default)]
pub(super) struct PendingEvents {
    events: VecDeque<Event>,
    /// True if all data written so far are told to be acknowledged.
    told_all: bool,
}

impl PendingEvents {
    pub fn add(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Tells of bytes that have come into order.
    pub fn received(&mut self, bytes: u64) {
        match self.events.back_mut() {
            Some(Event::Received(before)) => *before += bytes,
            _ => self.events.push_back(Event::Received(bytes)),
        }
    }

    /// Data were written, whose acknowledgment is to be told.
    pub fn wrote(&mut self) {
        self.told_all = false;
    }

    /// All data written so far are acknowledged.
    pub fn acknowledged_all(&mut self) {
        if !std::mem::replace(&mut self.told_all, true) {
            self.events.push_back(Event::AllAcknowledged);
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

    #[test]
    fn data_are_told_in_order_of_the_events_and_acknowledgments_once_a_write() {
        let mut events = PendingEvents::default();
        events.add(Event::Connected);
        events.received(10);
        events.received(5);
        events.wrote();
        events.acknowledged_all();
        events.acknowledged_all();
        events.received(1);
        assert_eq!(events.poll(), Some(Event::Connected));
        assert_eq!(events.poll(), Some(Event::Received(15)));
        assert_eq!(events.poll(), Some(Event::AllAcknowledged));
        // The last one is still there, so that more data join it.
        events.received(1);
        assert_eq!((events.poll(), events.poll()), (Some(Event::Received(2)), None));
        events.acknowledged_all();
        assert_eq!(events.poll(), None);
        events.wrote();
        events.acknowledged_all();
        assert_eq!(events.poll(), Some(Event::AllAcknowledged));
    }
}
