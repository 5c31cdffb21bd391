//! The reports of a link to its caller beside arrivals: for a capture, the start of each transmission.
//!
//! Follows the sans-IO contract: a caller polls what has happened until `now`.
//! Differs from an event queue: a link of which nobody wants reports keeps none, and is not polled between arrivals.
//! Leaves out packets that the queue discards (`buffer`).

use skyhop_units::Time;
use std::collections::VecDeque;

/// The start of a transmission, for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<T> {
    /// The packet.
    pub packet: T,
    /// Instant at which the first bit left.
    pub at: Time,
    /// True if the queue has marked the packet.
    pub marked: bool,
}

/// The transmissions to be reported, and the times at which the caller polls.
pub(crate) struct LinkReports<T> {
    /// True if the link must be polled when a transmission begins: it is captured, or packets may overtake each other.
    wakes_to_send: bool,
    /// True if the caller polls after each call: the link is captured or takes turns.
    watched: bool,
    capture: Option<VecDeque<Sent<T>>>,
}

impl<T> LinkReports<T> {
    /// No reports.
    pub fn new() -> Self {
        Self { wakes_to_send: false, watched: false, capture: None }
    }

    /// Starts a list of transmissions.
    pub fn capture(&mut self) {
        *self = Self { wakes_to_send: true, watched: true, capture: Some(VecDeque::new()) };
    }

    /// Makes the caller poll after each call.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// Makes the caller poll when a transmission begins, if `wakes` is true.
    pub fn wake_to_send(&mut self, wakes: bool) {
        self.wakes_to_send |= wakes;
    }

    #[inline]
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    #[inline]
    pub fn wakes_to_send(&self) -> bool {
        self.wakes_to_send
    }

    /// Lists a transmission if the link is captured.
    #[inline(always)]
    pub fn sent(&mut self, sent: Sent<T>) {
        if let Some(capture) = &mut self.capture {
            capture.push_back(sent);
        }
    }

    /// The next transmission that began by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Sent<T>> {
        self.capture.as_mut()?.pop_front_if(|sent| sent.at <= now)
    }

    /// Start of the next transmission in the list.
    pub fn next_at(&self) -> Option<Time> {
        Some(self.capture.as_ref()?.front()?.at)
    }
}
